"""Finds the part of a launch that needs no observation: launches in which no breakpoint can stop, and tasks before the first possible stop.

C runs the launch, and counts the lines of each task.
"""

import functools
from collections.abc import Iterable
from types import CodeType
from typing import TYPE_CHECKING, Any

from attrs import frozen

from mlusim.bangc.ir import Block, Labelled, Switch
from mlusim.bangc.ir.walk import inner_names, is_counted
from mlusim.debug.run.launches import KeptLaunch, Lines, PassedLaunch, PassedTask
from mlusim.debug.run.moments import HEARD, RunObserver, explored, mark_here
from mlusim.debug.source.frames import name_of
from mlusim.debug.stop import stops
from mlusim.engine.preference import NATIVE
from mlusim.kernel_frames import function_of
from mlusim.machine.engine import Engine
from mlusim.memory.space import GDRAM
from mlusim.observe.names import observers_of

if TYPE_CHECKING:
    from mlusim.bangc.link import LinkPlan
    from mlusim.machine.core import Core


OF_TASKS = (
    stops.IntrinsicLocation,
    stops.PipeLocation,
    stops.Watchpoint,
    stops.MomentLocation,
    stops.TimeLocation,
)
"""Locations at which a single task can stop, if the breakpoint is for one task."""


@frozen
class Sought:
    """The lines at which a breakpoint stops, and its *task*; None stands for any line, and for any task."""

    task: str | None
    lines: Lines | None


class _Order(RunObserver):
    """Records the tasks of a run in the order of their begin, and its marks."""

    between = True

    def __init__(self, recorded: KeptLaunch) -> None:
        super().__init__()
        self.tasks: list[PassedTask] = []
        self._milestones = recorded.milestones
        self._groups = 0

    def task_begin(self, core: "Core") -> None:
        """Record the task that begins, at a moment of its own."""
        before = self.latest
        super().task_begin(core)
        self._groups += core.union is not before
        mark = mark_here(self, self._groups)
        ended = None
        if mark is not None:
            self._milestones.note(mark)
            if len(self.cores) == 1 and mark.members == self.begun - 1:
                ended = mark.groups, mark.members
        self.tasks.append(PassedTask(name_of(core), -1 if core.place.memory_core else core.place.task, ended))


def first_stop(
    points: Iterable[stops.Breakpoint], recorded: KeptLaunch, here: RunObserver | None
) -> tuple[int, int] | None:
    """Return how many groups of tasks, and cores of the next group, C may run before one of the breakpoints *points* can stop.

    None means that C has run the launch, on copies of its tensors, and that no breakpoint can stop in it.  (0, 0) means
    that everything has to be observed: a task that is active in the run *here* may reach a breakpoint, or nothing is
    known, since Python runs the launch or compiling would take longer.
    """
    machine, sought = recorded.machine, [_sought(place) for place in points]
    # C follows the default schedule on the program's own bytes; anything else needs observation in Python.
    if machine.native is None or recorded.edits or explored(machine):
        return 0, 0
    engine = Engine.asked(machine.request.options.engine)
    if None in sought or not engine.is_worth_compiling(machine.request):
        return 0, 0
    wanted = [place for place in sought if place is not None]
    # A line could be missed if C does not count every visit.
    plan: LinkPlan = machine.request.kernel.plan  # type: ignore[attr-defined] # of BANG C
    if not Lines().union(*(place.lines or () for place in wanted)) <= told_lines(plan):
        return 0, 0
    if recorded.passed is None:
        recorded.passed = _passed(recorded, engine)
    passed = recorded.passed
    begun = set[str]() if here is None else {*here.ended, *(name_of(core) for core in here.cores)}
    start, ahead = 0, (0, 0)
    for number, (task, lines) in enumerate(zip(passed.tasks, passed.lines, strict=True)):
        if task.in_c is not None:
            start, ahead = number, task.in_c
        if here is not None and task.name in here.ended:
            continue
        last = passed.failed and number == len(passed.tasks) - 1
        if last or any(
            place.task in (None, task.name) and (place.lines is None or place.lines & lines)
            for place in wanted
        ):
            again = any(other.name in begun for other in passed.tasks[start:])
            return (0, 0) if again else ahead
    return (0, 0) if passed.failed else None


def _sought(point: stops.Breakpoint) -> Sought | None:
    """Return the lines and the task of a breakpoint; None if it could stop anywhere."""
    location = point.location
    match location:
        case stops.LineLocation():
            return Sought(point.task, frozenset({(location.file, location.line)}))
        case stops.CallLocation():
            return Sought(point.task, location.places)
        case stops.FunctionLocation(codes=codes):  # the first line represents the entry
            return Sought(point.task, frozenset((code.co_filename, code.co_firstlineno) for code in codes))
        case stops.TaskLocation():
            return Sought(location.label, None)
    return Sought(point.task, None) if isinstance(location, OF_TASKS) and point.task is not None else None


def _passed(recorded: KeptLaunch, engine: Engine) -> PassedLaunch:
    """Let C run the launch, on copies of its tensors, and count the lines of its tasks; return a failed launch without tasks if C cannot."""
    machine = recorded.machine
    loaded = engine.counting(machine.request.kernel, machine.board.arch)
    if loaded is None:
        return PassedLaunch((), (), failed=True)
    covers, order = loaded.program.covers, _Order(recorded)
    copied, _ = recorded.again(())
    run = copied.screened((order,), None, loaded, None, None)
    counts = run.count_lines()
    failed = False
    try:
        run.run()
    except Exception:  # noqa: BLE001 - the failing task is observed in another run
        failed = True
    places = [(file, line) for file, line, *_ in covers]
    rows = {
        row: frozenset(places[number] for number in counts.counts[row].nonzero()[0])
        for row in {task.row for task in order.tasks}
    }
    return PassedLaunch(order.tasks, [rows[task.row] for task in order.tasks], failed)


@functools.lru_cache(maxsize=64)
def told_lines(plan: "LinkPlan") -> Lines:
    """Return the lines in the functions of *plan* whose visits C counts, except lines that a task may also reach uncounted."""
    counted: set[tuple[str, int]] = set()
    other: set[tuple[str, int]] = set()
    for part in plan.parts:
        for symbol in part.code:
            form = part.file.form.functions[symbol]
            counted.add((form.span.file, form.span.line))
            _sort_lines(form.body, frozenset(), counted, other)
    return frozenset(counted - other)


def _sort_lines(
    node: object, before: Lines, counted: set[tuple[str, int]], other: set[tuple[str, int]]
) -> Lines:
    """Sort the lines of *node* into *counted*, and into *other* if a task may reach a line uncounted.

    *before* are the lines counted before a task reaches *node*; return the lines counted when it leaves *node*.
    """
    if isinstance(node, tuple):
        for part in node:
            before = _sort_lines(part, before, counted, other)
        return before
    kind: type[Any] = type(node)
    names = inner_names(kind)  # type: ignore[arg-type]
    if names is None:
        return before
    span, here = getattr(node, "span", None), before
    if span is not None:
        at = span.file, span.line
        if is_counted(node):
            counted.add(at)
            here = frozenset({at})
        elif at not in before and not (isinstance(node, Block) and node.body):
            other.add(at)
    for name in names:
        inside = getattr(node, name)
        if isinstance(node, Switch | Labelled) and name == "sections":
            for section in inside:  # a task may enter at each of them
                _sort_lines(section, here, counted, other)
        else:
            after = _sort_lines(inside, here, counted, other)
            here = after if isinstance(node, Block) else here
    return here | before


# The breakpoints that can stop in a BANG C launch at all: the others need no observation, and a launch
# without any runs at full speed.  For a Python kernel this is unknown, since it may call code that none of
# its functions names.


def reaching(points: Iterable[stops.Breakpoint], recorded: KeptLaunch) -> list[stops.Breakpoint]:
    """Return the breakpoints of *points* that can stop in a launch, as far as its code and its tensors show."""
    plan = getattr(recorded.machine.request.kernel, "plan", None)
    if plan is None:
        return list(points)
    return [point for point in points if _reaches(point.location, recorded, plan)]


def _reaches(location: stops.Location, recorded: KeptLaunch, plan: Any) -> bool:
    """Return whether the launch, whose code is that of *plan*, can reach *location*; True if unknown."""
    match location:
        case stops.LineLocation():
            return (location.file, location.line) in _lines(plan)
        case stops.CallLocation():
            return bool(location.places & _lines(plan))
        case stops.FunctionLocation() | stops.ValueWatch():
            codes = location.codes if isinstance(location, stops.FunctionLocation) else (location.code,)
            return any(function_of(code) in map(function_of, codes) for code in _codes(plan))
        case stops.PendingLocation():
            return False
        case stops.TimeLocation():
            return location.launch == recorded.index
        case stops.IntrinsicLocation():
            return location.name not in HEARD or location.name in plan.rows
        case stops.Watchpoint(span=span):
            homes = ((a.address, a.address + a.nbytes) for a in recorded.homes)
            return span.space is not GDRAM or any(low < span.high and span.low < high for low, high in homes)
    return True


def _codes(plan: Any) -> Iterable[CodeType]:
    return (code for part in plan.parts for code in part.code.values())


def _lines(plan: object) -> Lines:
    """Return the lines of all functions that the kernel reaches."""
    return frozenset(
        (code.co_filename, line) for code in _codes(plan) for _, _, line in code.co_lines() if line
    )


# Breakpoints on findings: C first runs the launch for their checkers.  If these find nothing, no such
# breakpoint can stop in it.


def finds_nothing(recorded: KeptLaunch, checks: Iterable[str]) -> bool:
    """Return whether C has run the launch on copies of its tensors, and *checks* have no findings; False if C cannot tell."""
    if recorded.machine.native is None or recorded.edits or explored(recorded.machine):
        return False
    copied, _ = recorded.again(())
    checkers = observers_of(checks)
    screening = Engine.asked(NATIVE).screening(
        copied.request, copied.board, checkers, counted=False, drawn=False
    )
    if screening is None or screening.run(copied.screened, None) is None:
        return False
    return not any(checker.findings for checker in checkers)
