"""Lines of kernels that ran, counted by task."""

import functools
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from mlusim.kernel_frames import LIBRARIES, file_of, own_file
from mlusim.machine.hub import Observer

if TYPE_CHECKING:
    from mlusim.errors import Fault
    from mlusim.machine.observed import Core, Launch

Trace = Callable[[FrameType, str, Any], Any]
Lines = dict[str, dict[int, Counter[int]]]


class LineCoverage(Observer):
    """Counts how often each line of the kernels that are launched ran, and in which tasks.

    ``lines`` has, by file and line, the runs by task; a line that could run and did not has none.  ``launches`` counts.
    A memory core counts as task -1.  With *once* a line is counted the first time alone, and functions all of whose lines
    ran are followed no more, so that many launches cost little.
    """

    name = "coverage"

    def __init__(self, *, once: bool = False) -> None:
        self.lines: Lines = defaultdict(lambda: defaultdict(Counter))
        self.launches = 0
        self._once = once
        self._whole: set[CodeType] = set()
        self._bodies: set[Any] = set()
        self._satisfied = False
        self._known: set[CodeType] = set()
        self._traces: dict[tuple[CodeType, int], Trace | None] = {}
        self._before: dict[Core, Any] = {}

    def launch_begin(self, launch: "Launch") -> None:
        """Note the lines that the kernel, and what else is in its files, could run."""
        self.launches += 1
        self._before.clear()  # of a launch that ended in a fault
        body = launch.request.kernel.body
        if body in self._bodies:
            self._satisfied = self._once and all(
                ran for lines in self.lines.values() for ran in lines.values()
            )
            return
        self._satisfied = False
        self._bodies.add(body)
        if hasattr(body, "coverable"):
            for file, lines in body.coverable().items():
                for line in lines:
                    _ = self.lines[file][line]
        elif isinstance(getattr(body, "__code__", None), CodeType):
            self._meet(body.__code__)

    def task_begin(self, core: "Core") -> None:
        """Follow the lines of the task, where there is one to be met."""
        if self._satisfied:
            return
        self._before[core] = sys.gettrace()
        task = -1 if core.place.memory_core else core.place.task
        sys.settrace(functools.partial(self._called, task))

    def task_end(self, core: "Core") -> None:
        """Restore the trace function that was there before."""
        if core in self._before:
            sys.settrace(self._before.pop(core))

    def fault(self, core: "Core", fault: "Fault") -> None:
        """Restore it where the launch ends."""
        del fault
        self.task_end(core)

    def error(self, core: "Core", error: BaseException) -> None:
        """Restore it where the launch ends."""
        del error
        self.task_end(core)

    def _called(self, task: int, frame: FrameType, _event: str, _argument: Any) -> Trace | None:
        code = frame.f_code
        if code in self._whole:
            return None
        key = code, 0 if self._once else task
        if key not in self._traces:
            self._traces[key] = self._trace(code, task)
        found = self._traces[key]
        if found is not None and frame.f_lineno:
            found(frame, "line", None)
        return found

    def _trace(self, code: CodeType, task: int) -> Trace | None:
        """Return what counts the lines of a function for *task*; None for mlusim's own and for installed packages."""
        name = code.co_filename
        generated = name.startswith("<") and not name.startswith("<ipython-")
        if generated or own_file(name) or name.startswith(LIBRARIES):
            return None
        self._meet(code)
        lines = self.lines[file_of(code)]
        if self._once:
            return self._reaching(code, task, lines)

        def count(frame: FrameType, event: str, _: Any) -> Trace:
            if event == "line":
                lines[frame.f_lineno][task] += 1
            return count

        return count

    def _reaching(self, code: CodeType, task: int, lines: Mapping[int, Counter[int]]) -> Trace:
        """Return what counts each line of *code* once, for *task*."""
        left = lines_of(code)

        def reach(frame: FrameType, event: str, _: Any) -> Trace:
            line = frame.f_lineno
            if event == "line" and line in left:
                left.discard(line)
                lines[line][task] += 1
                if not left:
                    self._whole.add(code)
            frame.f_trace_lines = bool(left)
            return reach

        return reach

    def _meet(self, code: CodeType) -> None:
        """Note the lines that *code* could run."""
        if code not in self._known:
            self._known.add(code)
            for line in lines_of(code):
                _ = self.lines[file_of(code)][line]


def lines_of(code: CodeType) -> set[int]:
    """Return the lines of *code*, that of its function's name among them."""
    return {line for _, _, line in code.co_lines() if line}
