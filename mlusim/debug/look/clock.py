"""Predicted times of moments: the beginning of each task's instructions in the launch's timeline.

Moments follow the schedule of the simulation, in which one task runs as far as it can before the next;
predicted times are those of the board, where tasks run concurrently.  A time is therefore a moment of each task.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any

from attrs import define, field, frozen

from mlusim.debug.run.launches import KeptLaunch
from mlusim.debug.run.output import Ear, ShownOutput
from mlusim.debug.run.runs import LaunchRun, RunListener, RunMaker
from mlusim.debug.run.tracer import Tracer
from mlusim.debug.source.frames import name_of
from mlusim.debug.stop.stops import END, Position
from mlusim.errors import Fault, UsageError
from mlusim.machine.hub import Effect, EveryStep
from mlusim.time.timeline import Timeline, TimeSpan
from mlusim.time.timing import GroupedTasks, predict

ISSUES = 1_000_000  # instructions whose moments are recorded
Key = tuple[str, str, str, int]  # the core, the instruction, and its line


@frozen
class PredictedTimes:
    """The moments of each core, and the predicted times in us at which they begin, both ascending; and the launch's time.

    ``costs`` has the duration of each instruction in us; that of an asynchronous one is its flight.
    """

    moments: dict[str, list[int]]
    times: dict[str, list[float]]
    costs: dict[str, list[float]]
    whole_us: float
    unknown: int

    def at(self, core: str, moment: int) -> tuple[int, float] | None:
        """Return the last moment of *core* up to *moment* with a known time, and that time; None if there is none."""
        moments = self.moments.get(core, [])
        at = bisect_right(moments, moment) - 1
        return (moments[at], self.times[core][at]) if at >= 0 else None

    def cost(self, core: str, moment: int) -> tuple[float, float] | None:
        """Return the begin and the duration, in us, of the instruction that *core* issues at *moment*; None if unknown."""
        moments = self.moments.get(core, [])
        at = bisect_left(moments, moment)
        if at == len(moments) or moments[at] != moment:
            return None
        return self.times[core][at], self.costs[core][at]

    def first(self, core: str, time_us: float) -> int | None:
        """Return the first moment of *core* that begins at *time_us* or later; None if all begin earlier."""
        at = bisect_left(self.times.get(core, []), time_us)
        moments = self.moments.get(core, [])
        return moments[at] if at < len(moments) else None


@define(eq=False)
class _Issues(RunListener):
    """Records the moments of every instruction, by core, name and line."""

    name = "issues"
    tracer: Tracer | None = None
    room: int = ISSUES
    found: "dict[Key, array[int]]" = field(factory=dict)

    def begin(self, run: LaunchRun) -> None:
        """Listen to the moments of *run*."""
        self.tracer = run.tracer

    def issue(self, effect: Effect) -> None:
        """Record the moment of an instruction."""
        if self.tracer is None or self.room <= 0:
            return
        self.room -= 1
        name = effect.step.row.spelling if effect.step.row is not None else effect.step.name
        key = (name_of(effect.core), name, effect.site.file, effect.site.line)
        self.found.setdefault(key, array("q")).append(self.tracer.moment)


def clock_of(runs: RunMaker, launch: int) -> PredictedTimes:
    """Return the predicted times of a launch; at the first call it runs twice, to count moments and to predict times.

    Raises `UsageError` if the launch fails, since a launch that does not complete has no time.
    """
    recorded = runs.recorded(launch)
    if recorded.edits:
        raise UsageError(f"launch {launch} has been changed by hand, so it has no predicted time")
    if recorded.clock is None:
        issues = _Issues()
        runs.aside(Position(launch, END), since=0, watching=issues).abandon()
        runs.holder.take(recorded.pins.hold())
        try:
            recorded.clock = _clock(issues.found, *_spans(recorded))
        finally:
            runs.holder.take(None)
    clock: PredictedTimes = recorded.clock
    return clock


def _spans(recorded: KeptLaunch) -> tuple[dict[Key, list[TimeSpan]], dict[Key, list[TimeSpan]], float]:
    """Return the spans of issues and of flights, in order, by core, name and line; and the launch's time."""
    machine, _ = recorded.again([EveryStep()], timing=True)
    ear = Ear(ShownOutput())
    ear.loud = False
    try:
        with ear.listening():
            machine.run()
    except (Fault, Exception) as error:  # noqa: BLE001 - any exception of the kernel
        raise UsageError(
            f"launch {recorded.index} ends with {type(error).__name__}, so it has no predicted time"
        ) from None
    unions, tasks = machine.kind.unions, machine.tally.tasks
    predicted = predict(GroupedTasks(tasks, machine.board), machine.board, machine.board.places(unions))
    spans: dict[Key, list[TimeSpan]] = {}
    flights: dict[Key, list[TimeSpan]] = {}
    for scene in Timeline(predicted.spans, tasks, machine.board, unions).scenes():
        for span in scene.spans:
            if span.where != "wait" and span.line:
                core = scene.cores[span.member]
                key = (f"task {core.task}{'m' * core.memory_core}", span.name, span.file, span.line)
                # The instruction begins with this span, unless it is the flight of an asynchronous copy.
                issued = span.where == "scalar" or not span.name.endswith("_async")
                (spans if issued else flights).setdefault(key, []).append(span)
    return spans, flights, predicted.time_us


def _clock(
    issues: dict[Key, Any],
    spans: dict[Key, list[TimeSpan]],
    flights: dict[Key, list[TimeSpan]],
    whole_us: float,
) -> PredictedTimes:
    """Match the n-th issue of an instruction at a line with its n-th span, if their numbers agree."""
    found: dict[str, list[tuple[int, float, float]]] = {}
    unknown = 0
    for key, moments in issues.items():
        begun = spans.get(key, [])
        if len(begun) != len(moments):
            unknown += len(moments)
            continue
        flown = flights.get(key, [])
        lasting = flown if len(flown) == len(moments) else begun
        rows = zip(moments, begun, lasting, strict=True)
        found.setdefault(key[0], []).extend((m, issue.start_us, work.busy_us) for m, issue, work in rows)
    ordered = {core: sorted(rows) for core, rows in found.items()}
    return PredictedTimes(
        {core: [moment for moment, _, _ in rows] for core, rows in ordered.items()},
        {core: _ascending(time for _, time, _ in rows) for core, rows in ordered.items()},
        {core: [cost for _, _, cost in rows] for core, rows in ordered.items()},
        whole_us,
        unknown,
    )


def _ascending(times: Iterable[float]) -> list[float]:
    """Return *times*, each raised to the one before it if it is earlier: a core issues in order."""
    kept: list[float] = []
    for time in times:
        kept.append(max(time, kept[-1]) if kept else time)
    return kept
