"""Where the instructions of a recorded launch lie in time.

Each core runs its steps in order: a blocking instruction holds it until the pipe is done, an
asynchronous one only takes its turn on the pipe, a wait holds the core until its pipes are done, a
barrier until all have come.  Cores that copy at the same time share the bandwidth evenly.  The whole
is then scaled to the launch's predicted time, so that order and overlap are the program's and the
total is the prediction's.
"""

from collections.abc import Iterator

from attrs import define, field, frozen

from mlusim.arch.board import Board
from mlusim.machine.launch import Launch
from mlusim.machine.timing import LAUNCH_US, PIPES, pipe_times
from mlusim.observe.recorder import RecordedCore, Recording, Step

IO = PIPES.index("IO-DMA")


@frozen
class Slice:
    """A step's or a task's span in us on a track of a core; *step* None: the task itself."""

    core: int
    start: float
    duration: float
    step: Step | None


@define
class _Clock:
    """One core's time and the times at which its pipes are free, from the start of its union."""

    now: float = 0.0
    free: dict[str, float] = field(factory=dict)

    def idle(self) -> float:
        """When the core and all its pipes are done."""
        return max([self.now, *self.free.values()])


def placed(recording: Recording, launch: Launch, board: Board) -> list[Slice]:
    """The slices of *launch*, from 0 to its predicted time less the start-up, in us."""
    clocks = [_Clock() for _ in recording.cores]
    sharing = _sharing(recording, launch)
    slices = list(_steps(recording, clocks, board, sharing))
    starts = _starts(recording.cores, [clock.idle() for clock in clocks], launch)
    tasks = [Slice(n, 0.0, clock.idle(), None) for n, clock in enumerate(clocks)]
    total = max((starts[s.core] + s.start + s.duration for s in tasks), default=0.0)
    scale = max(launch.time_us - LAUNCH_US, 0.0) / total if total else 0.0
    return [
        Slice(s.core, scale * (starts[s.core] + s.start), scale * s.duration, s.step)
        for s in (*tasks, *slices)
    ]


def slots(launch: Launch) -> dict[tuple[int, bool], int]:
    """The place (core, or union slot) of each task and memory core of *launch*."""
    return {(span.task, span.memory_core): span.slot for span in launch.timeline}


def _sharing(recording: Recording, launch: Launch) -> int:
    """How many cores copy off the chip at once: those that do, as far as there is room."""
    copying = {step.core for step in recording.steps if step.work[IO]}
    width = max(1, sum(1 for core in recording.cores if core.union == 0))
    return max(1, min(len(copying), len(set(slots(launch).values())) * width))


def _steps(recording: Recording, clocks: list[_Clock], board: Board, sharing: int) -> Iterator[Slice]:
    for step in recording.steps:
        clock = clocks[step.core]
        if step.meets:
            yield from _meet(step, clocks)
            continue
        if step.waits:
            until = max([clock.now, *(clock.free.get(pipe, 0.0) for pipe in step.waits)])
            yield Slice(step.core, clock.now, until - clock.now, step)
            clock.now = until
            continue
        times = pipe_times(step.work, board)
        start = max(clock.now, clock.free.get(step.pipe, 0.0))
        end = start + max(t * sharing if n == IO else t for n, t in enumerate(times))
        clock.free[step.pipe] = end
        if not step.asynchronous:
            clock.now = end
        yield Slice(step.core, start, end - start, step)


def _meet(step: Step, clocks: list[_Clock]) -> Iterator[Slice]:
    """A barrier: everybody waits for the own pipes, then for the last."""
    until = max(clocks[core].idle() for core in step.meets)
    for core in step.meets:
        yield Slice(core, clocks[core].now, until - clocks[core].now, step)
        clocks[core].now = until


def _starts(cores: list[RecordedCore], lengths: list[float], launch: Launch) -> list[float]:
    """When each core's union begins: when the one before it on the same place has ended."""
    place = slots(launch)
    length: dict[int, float] = {}
    for core, own in zip(cores, lengths, strict=True):
        length[core.union] = max(length.get(core.union, 0.0), own)
    free: dict[int, float] = {}
    begin: dict[int, float] = {}
    for core in sorted(cores, key=lambda core: (core.task, core.memory_core)):
        if core.union not in begin:
            slot = place[core.task, core.memory_core]
            begin[core.union] = free.get(slot, 0.0)
            free[slot] = begin[core.union] + length[core.union]
    return [begin[core.union] for core in cores]
