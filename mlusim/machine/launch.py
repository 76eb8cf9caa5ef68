"""The results of a launch, and its place in a queue of the program."""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property
from typing import Any

from attrs import evolve, frozen

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.errors import UsageError
from mlusim.machine.tally import Instructions, Tally, Usage
from mlusim.memory.allocation import Allocation
from mlusim.presenting import Presented, presenter
from mlusim.time.confidence import Unsure
from mlusim.time.lines import Line, lines
from mlusim.time.log import Lanes, TaskWork
from mlusim.time.profile import Profile
from mlusim.time.timeline import Forecast, Timeline

# The place of a launch in a queue of a program's driver, for charts of a whole program.


@frozen(eq=False)
class QueuePlace:
    """A queue by its number, and what tells when the launch begins there: us, by the predicted times of what is before it."""

    number: int
    begin: Callable[[], float]


_PLACE: ContextVar[QueuePlace | None] = ContextVar("queue_place", default=None)


class in_queue:  # noqa: N801 - reads as what it does
    """Gives the launches of the block to a queue at *place*."""

    __slots__ = ("_place", "_token")

    def __init__(self, place: QueuePlace) -> None:
        self._place = place

    def __enter__(self) -> None:
        self._token = _PLACE.set(self._place)

    def __exit__(self, *_: object) -> None:
        _PLACE.reset(self._token)


def queue_place() -> QueuePlace | None:
    """Return the place of a launch that is made now; None where no queue is known."""
    return _PLACE.get()


@frozen(eq=False)
class LaunchFacts:
    """The facts of a launch, as `Launch` says; there are no ``tasks`` where it was not timed."""

    instructions: Instructions
    traffic: Mapping[str, int]
    memory: Mapping[str, Usage]
    scalar_loads: Mapping[str, int]
    scalar_stores: Mapping[str, int]
    memory_core_stores: int
    io_bytes: int
    lanes: Mapping[str, Lanes]
    declared: tuple[tuple[int, tuple[Allocation, ...]], ...]
    tasks: Sequence[TaskWork]

    @classmethod
    def of(cls, tally: Tally, *, timed: bool) -> "LaunchFacts":
        """Return the facts that *tally* has summed up."""
        return cls(
            instructions=tally.instructions,
            traffic=tally.traffic,
            memory=tally.memory,
            scalar_loads=tally.scalar_loads,
            scalar_stores=tally.scalar_stores,
            memory_core_stores=tally.memory_core_stores,
            io_bytes=tally.io_bytes,
            lanes=tally.lanes,
            declared=tally.declared,
            tasks=tally.tasks if timed else (),
        )


class LaunchSums:
    """The facts of a launch, which *tell* works out when they are first asked for, and the prediction of its time on *board* with *unions* clusters a place."""

    def __init__(self, tell: Callable[[], LaunchFacts], board: Board, unions: int) -> None:
        self._tell: Callable[[], LaunchFacts] | None = tell
        self._board, self._unions = board, unions

    @cached_property
    def facts(self) -> LaunchFacts:
        """The facts, which are worked out once."""
        assert self._tell is not None
        tell, self._tell = self._tell, None  # what it is told from is needed no more
        return tell()

    @cached_property
    def forecast(self) -> Forecast:
        """The predicted time of the launch."""
        return Forecast(self.facts.tasks, self._board, self._unions)

    def on(self, board: Board) -> "LaunchSums":
        """Return the same work on another board of the architecture."""
        moved = LaunchSums(lambda: self.facts, board, self._unions)
        moved.forecast = self.forecast.on(board)
        return moved


@frozen(eq=False)
class Launch(Presented):
    """The result of a launch: counts, traffic, memory, predicted time and what observers found.

    ``instructions`` counts each intrinsic, ``traffic`` gives bytes by copy direction, ``io_bytes``
    what the IO-DMA carried for copies, atomics and fills together, ``lanes`` the lanes of the vector unit
    that each vector intrinsic used and paid for (bytes), ``memory`` the capacity and
    high-water mark (bytes) of each on-chip memory, ``findings`` what the observers have to say,
    ``printed`` the lines of ``__bang_printf``, ``engine`` what ran it: "python" or "native", ``threads`` on how many threads at once its tasks ran; ``queue`` where in a queue of its program it stood, if that is known;
    ``estimate`` what time and memory are, where the kernel was made into BANG C from another language; ``declared`` what the first task to end
    declared in NRAM and WRAM, behind the address at which each begins; ``time_us`` and what
    else is predicted is worked out from ``forecast`` when it is asked for.
    """

    kernel: str
    board: str
    dim: tuple[int, int, int]
    kind: str
    seed: int | None
    effects: str
    findings: tuple[Any, ...]
    printed: tuple[str, ...]
    sums: LaunchSums
    observers: tuple[Any, ...] = ()
    engine: str = "python"
    threads: int = 1
    queue: QueuePlace | None = None
    estimate: str = ""

    @property
    def instructions(self) -> Instructions:
        """The count of each intrinsic that was executed."""
        return self.sums.facts.instructions

    @property
    def traffic(self) -> Mapping[str, int]:
        """Bytes by copy direction."""
        return self.sums.facts.traffic

    @property
    def memory(self) -> Mapping[str, Usage]:
        """Capacity and high-water mark (bytes) of each on-chip memory."""
        return self.sums.facts.memory

    @property
    def scalar_loads(self) -> Mapping[str, int]:
        """Scalar loads by memory."""
        return self.sums.facts.scalar_loads

    @property
    def scalar_stores(self) -> Mapping[str, int]:
        """Scalar stores by memory."""
        return self.sums.facts.scalar_stores

    @property
    def io_bytes(self) -> int:
        """Bytes that the IO-DMA carried for copies, atomics and fills together."""
        return self.sums.facts.io_bytes

    @property
    def lanes(self) -> Mapping[str, Lanes]:
        """The lanes of the vector unit that each vector intrinsic used and paid for (bytes)."""
        return self.sums.facts.lanes

    @property
    def declared(self) -> tuple[tuple[int, tuple[Allocation, ...]], ...]:
        """The declarations in NRAM and WRAM of the first task that ended, behind the address at which each begins."""
        return self.sums.facts.declared

    @property
    def forecast(self) -> Forecast:
        """The prediction of its time."""
        return self.sums.forecast

    @property
    def tasks(self) -> tuple[TaskWork, ...]:
        """The work of each task, from which the time is predicted; none where the launch was not timed."""
        return self.forecast.tasks

    @property
    def time_us(self) -> float:
        """The predicted hardware time in us, worked out when it is first asked for; NaN where the launch was not timed."""
        return self.forecast.found.time_us

    @property
    def bound(self) -> str:
        """The pipe that sets the predicted time."""
        return self.forecast.found.bound

    @property
    def busy_us(self) -> Mapping[str, float]:
        """The predicted time for which the busiest core kept each pipe busy, in us."""
        return self.forecast.found.busy_us

    @property
    def timeline(self) -> Timeline:
        """Each task's span and what is in it, predicted."""
        return self.forecast.timeline

    @property
    def unsure(self) -> tuple[Unsure, ...]:
        """The mechanisms that make the band wide: those that at most one published measurement shows, with a tenth of the time or more."""
        return self.forecast.unsure

    @property
    def time_band(self) -> tuple[float, float]:
        """The lowest and the highest time in us that constants and model leave open; NaN where the launch was not timed."""
        return self.forecast.band

    @property
    def profile(self) -> Profile:
        """How the cores spend their time: busy by pipe, overlap, waits, balance, waves; worked out when it is first asked for.

        Empty where the launch was not timed.
        """
        return self.forecast.profile

    @property
    def lines(self) -> tuple[Line, ...]:
        """The time of each line of the kernel, over all tasks; computed when asked for.

        Raises `UsageError` where the launch kept no instructions; they are kept for an observer such as
        `mlusim.EveryStep`.
        """
        return lines(self.tasks, self.timeline, self.forecast.board)

    @property
    def because(self) -> tuple[str, ...]:
        """The causes of the time in words, the weightiest first; computed when asked for."""
        # By name: what presents a launch lies above the machine, and is imported when it is asked for.
        causes: tuple[str, ...] = presenter("explain").because(self)
        return causes

    @property
    def advice(self) -> tuple[Any, ...]:
        """The changes that would help most, each with the time predicted after it; computed when asked for.

        Each is a `mlusim.report.advice.Advice`, the largest gain first.
        """
        changes: tuple[Any, ...] = presenter("advice").advice(self)
        return changes

    def show(self) -> None:
        """Print what `mlusim profile` shows: time, bound, because, what would help, pipes, traffic, memory, dearest lines, findings."""
        presenter("launches").show([self])

    def trace(self, path: str) -> None:
        """Write the timeline to *path* as a trace for Perfetto and chrome://tracing.

        It has every instruction where the launch kept them, as with `mlusim.profiled` and `mlusim.EveryStep`.
        """
        presenter("launches").write_launches(path, [self])

    def html(self, path: str) -> None:
        """Write what `show` prints to *path* as one self-contained HTML page, with the source.

        Raises `UsageError` where the extra mlusim[report] is not installed.
        """
        presenter("page.launches").write_page(path, [self])

    def on(self, board: str | Board) -> "Launch":
        """Return the launch as the same work would run on *board*: only the time, its bound and timeline differ.

        A kernel sees of its board what the architecture has, so the work is the same on any board of
        the same architecture that can start the launch; raises `UsageError` for another.
        """
        target, origin, unions = find_board(board), self.forecast.board, self.forecast.unions
        # What a kernel does follows from its architecture: other sizes would have been other loops.
        if target.arch.name != origin.arch.name:
            raise UsageError(
                f"{target.name} is {target.arch.name} and {origin.name} is {origin.arch.name}: their memories and instructions "
                f"differ; launch the kernel on {target.name}"
            )
        if unions > target.max_union:
            raise UsageError(
                f"{target.name} cannot start {self.kind}; launch the kernel there with a smaller kind"
            )
        if not self.tasks:
            raise UsageError("the launch was not timed; launch it with timing")
        return evolve(self, board=target.name, sums=self.sums.on(target))

    def __getitem__(self, kind: type) -> Any:
        """Return the observer of class *kind* that watched this launch."""
        for observer in self.observers:
            if isinstance(observer, kind):
                return observer
        raise KeyError(kind.__name__)
