"""The lines of kernels that ran, and the outcomes of their conditions, counted by task."""

import ast
import functools
import linecache
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, cast

from attrs import frozen

from mlusim.kernel_frames import LIBRARIES, file_of, own_file
from mlusim.machine.hub import Observer

if TYPE_CHECKING:
    from mlusim.errors import Fault
    from mlusim.machine.core import Core, RunningLaunch

Trace = Callable[[FrameType, str, Any], Any]
Lines = dict[str, dict[int, Counter[int]]]
Cover = tuple[str, int, int, bool | None]
Place = tuple[int, int]
"""The line and the column of a condition."""
Outcomes = dict[bool, Counter[int]]


def _task(core: "Core") -> int:
    return -1 if core.place.memory_core else core.place.task


class LineCoverage(Observer):
    """Counts how often each line of launched kernels ran, and each outcome of their conditions, by task.

    ``lines`` has the runs of each line by task, ``branches`` the runs of each outcome, by file and place; a line or
    an outcome that never ran has no runs.  ``launches`` is a count.  A memory core counts as task -1.  With *once*
    only the first run of a line or an outcome is counted, and functions whose lines and outcomes have all run are no
    longer traced, so that many launches cost little.

    A line of BANG C has the runs of its most frequent statement or condition; the rendered code announces them, or C
    counts them.  Conditions are those of if, loops and ``?:``, and the operands of ``&&`` and ``||``; in Python those
    of ``if``, ``while`` and ``for`` whose body is on other lines.
    """

    name = "coverage"
    counts = True

    def __init__(self, *, once: bool = False) -> None:
        self._pending: dict[Any, tuple[Sequence[Cover], Any]] = {}
        self._branches: dict[str, dict[Place, Outcomes]] = defaultdict(
            lambda: defaultdict(lambda: {True: Counter(), False: Counter()})
        )
        self.launches = 0
        self._steps: dict[str, dict[Place, Counter[int]]] = defaultdict(lambda: defaultdict(Counter))
        self._lines: Lines = defaultdict(lambda: defaultdict(Counter))  # of Python kernels
        self._once = once
        self._whole: set[CodeType] = set()
        self._bodies: set[Any] = set()
        self._satisfied = False
        self._known: set[CodeType] = set()
        self._traces: dict[tuple[CodeType, int], Callable[[], Trace] | None] = {}
        self._before: dict[Core, Any] = {}

    @property
    def lines(self) -> Lines:
        """The runs of each line, by file, line and task."""
        self._take_apart()
        lines = {file: {line: Counter(ran) for line, ran in of.items()} for file, of in self._lines.items()}
        for file, steps in self._steps.items():
            into = lines.setdefault(file, {})
            for (line, _), ran in steps.items():
                into[line] = into.get(line, Counter()) | ran  # the larger of both counts
            for (line, _), outcomes in self._branches.get(file, {}).items():
                if line in into:
                    into[line] |= outcomes[True] + outcomes[False]
        return lines

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Note which lines and outcomes of the kernel and of other code in its files could run."""
        self.launches += 1
        self.stop()
        body = launch.request.kernel.body
        told = hasattr(body, "coverable")
        if body in self._bodies:
            self._satisfied = told or (self._once and self._all_ran())
            return
        self._satisfied = told
        self._bodies.add(body)
        if told:
            may_run = cast("Any", body).coverable()
            for file, (steps, tests) in may_run.items():
                for place in steps:
                    _ = self._steps[file][place]
                for place in tests:
                    _ = self._branches[file][place]
        elif isinstance(getattr(body, "__code__", None), CodeType):
            self._meet(body.__code__)

    def _all_ran(self) -> bool:
        """Return whether tracing can find no line or outcome that has not run."""
        return all(ran for lines in self._lines.values() for ran in lines.values()) and all(
            counter
            for file, tests in self._branches.items()
            if file in self._lines
            for outcomes in tests.values()
            for counter in outcomes.values()
        )

    def task_begin(self, core: "Core") -> None:
        """Trace the lines of the task, if some have not run yet."""
        if self._satisfied:
            return
        self._before[core] = sys.gettrace()
        sys.settrace(functools.partial(self._called, _task(core)))

    def task_end(self, core: "Core") -> None:
        """Restore the earlier trace function."""
        if core in self._before:
            sys.settrace(self._before.pop(core))

    def stop(self) -> None:
        """Restore the trace function after a launch that ended at its time limit, without an event."""
        for before in self._before.values():
            sys.settrace(before)
            break
        self._before.clear()

    def fault(self, core: "Core", _fault: "Fault") -> None:
        """Restore the trace function when the launch ends."""
        self.task_end(core)

    def error(self, core: "Core", _error: BaseException) -> None:
        """Restore the trace function when the launch ends."""
        self.task_end(core)

    def passed(self, core: "Core", place: tuple[str, int, int]) -> None:
        """Count a statement of BANG C."""
        file, line, column = place
        self._count(self._steps[file][line, column], _task(core))

    def branch(self, core: "Core", place: tuple[str, int, int], outcome: bool) -> None:
        """Count the outcome of a condition of BANG C."""
        file, line, column = place
        self._count(self._branches[file][line, column][outcome], _task(core))

    def counted(self, covers: Sequence[Cover], counts: Any) -> None:
        """Keep the *counts* of C; `lines` and `branches` evaluate them."""
        key = id(covers), counts.shape
        if key in self._pending:
            self._pending[key][1][...] += counts
        else:
            self._pending[key] = covers, counts

    def _take_apart(self) -> None:
        pending, self._pending = [*self._pending.values()], {}
        for covers, counts in pending:
            for row, number in zip(*(places.tolist() for places in counts.nonzero()), strict=True):
                file, line, column, outcome = covers[number]
                tests = self._branches[file]
                of = self._steps[file][line, column] if outcome is None else tests[line, column][outcome]
                task = row if row < len(counts) - 1 else -1
                if not (self._once and of):
                    of[task] += int(counts[row, number])

    @property
    def branches(self) -> dict[str, dict[Place, Outcomes]]:
        """The runs of each outcome of a condition, by file, place, outcome and task."""
        self._take_apart()
        return self._branches

    def _count(self, counter: "Counter[int]", task: int) -> None:
        if not (self._once and counter):
            counter[task] += 1

    def _called(self, task: int, frame: FrameType, _event: str, _argument: object) -> Trace | None:
        code = frame.f_code
        if code in self._whole:
            return None
        key = code, 0 if self._once else task
        if key not in self._traces:
            self._traces[key] = self._trace(code, task)
        make = self._traces[key]
        if make is None:
            return None
        trace = make()
        if frame.f_lineno:
            trace(frame, "line", None)
        return trace

    def _trace(self, code: CodeType, task: int) -> Callable[[], Trace] | None:
        """Return a factory of trace functions that count the lines of *code* for *task*; None for mlusim's own code and installed packages."""
        name = code.co_filename
        generated = name.startswith("<") and not name.startswith("<ipython-")
        if generated or own_file(name) or name.startswith(LIBRARIES):
            return None
        self._meet(code)
        lines = self._lines[file_of(code)]
        tests = tests_of(code)
        counted = self._reaching(code, task, lines) if self._once else self._counting(task, lines)
        if not tests:
            return lambda: counted
        branches = self._branches[file_of(code)]
        return lambda: self._testing(counted, tests, branches, task)

    @staticmethod
    def _counting(task: int, lines: Mapping[int, "Counter[int]"]) -> Trace:

        def count(frame: FrameType, event: str, _: object) -> Trace:
            if event == "line":
                lines[frame.f_lineno][task] += 1
            return count

        return count

    def _testing(
        self, counted: Trace, tests: Mapping[int, "PythonTest"], branches: Mapping[Place, Outcomes], task: int
    ) -> Trace:
        """Return a trace function for one call: *counted* counts lines, and the line after one of *tests* shows its outcome."""
        asked: PythonTest | None = None

        def follow(frame: FrameType, event: str, argument: Any) -> Trace:
            nonlocal asked
            line = frame.f_lineno
            if event == "exception":
                asked = asked if argument[0] is StopIteration else None
            elif asked is not None and (event == "return" or not asked.line <= line <= asked.last):
                self._count(branches[asked.line, asked.column][event == "line" and line == asked.then], task)
                asked = None
            if event == "line":
                asked = asked or tests.get(line)
                counted(frame, event, argument)
                frame.f_trace_lines = True  # the next line shows the outcome
            return follow

        return follow

    def _reaching(self, code: CodeType, task: int, lines: Mapping[int, Counter[int]]) -> Trace:
        left = lines_of(code)

        def reach(frame: FrameType, event: str, _: object) -> Trace:
            line = frame.f_lineno
            if event == "line" and line in left:
                left.discard(line)
                lines[line][task] += 1
                if not left and self._all_met(code):
                    self._whole.add(code)
            frame.f_trace_lines = bool(left)
            return reach

        return reach

    def _all_met(self, code: CodeType) -> bool:
        file = file_of(code)
        places = ((test.line, test.column) for test in tests_of(code).values())
        return all(counter for place in places for counter in self._branches[file][place].values())

    def _meet(self, code: CodeType) -> None:
        """Note the lines and the conditions of *code*, with no runs."""
        if code not in self._known:
            self._known.add(code)
            file = file_of(code)
            for line in lines_of(code):
                _ = self._lines[file][line]
            for test in tests_of(code).values():
                _ = self._branches[file][test.line, test.column]


@frozen
class PythonTest:
    """A condition of Python in the lines ``line`` to ``last``; line ``then`` runs next if it is true."""

    line: int
    column: int
    last: int
    then: int


@functools.lru_cache(maxsize=512)
def tests_of(code: CodeType) -> Mapping[int, PythonTest]:
    """Return the conditions of ``if``, ``while`` and ``for`` in a Python function by their first lines; none without its source.

    Code of BANG C announces outcomes itself.
    """
    name = code.co_filename
    if not (name.endswith(".py") or "ipykernel_" in name or name.startswith("<ipython-")):
        return {}
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError):
        return {}
    lines = lines_of(code)
    tests = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While | ast.For) and node.lineno in lines:
            head = node.iter if isinstance(node, ast.For) else node.test
            last, then = head.end_lineno or node.lineno, node.body[0].lineno
            if then > last and not isinstance(head, ast.Constant):
                tests[node.lineno] = PythonTest(node.lineno, node.col_offset + 1, last, then)
    return tests


def lines_of(code: CodeType) -> set[int]:
    """Return the lines of *code*, including that of the function's name."""
    return {line for _, _, line in code.co_lines() if line}
