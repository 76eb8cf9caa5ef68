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
    """A queue by its number, and a function that returns when the launch begins there: us, by the predicted times of earlier work."""

    number: int
    begin: Callable[[], float]


_PLACE: ContextVar[QueuePlace | None] = ContextVar("queue_place", default=None)


class in_queue:  # noqa: N801 - reads like a verb
    """Assigns the launches of the block to a queue at *place*."""

    __slots__ = ("_place", "_token")

    def __init__(self, place: QueuePlace) -> None:
        self._place = place

    def __enter__(self) -> None:
        self._token = _PLACE.set(self._place)

    def __exit__(self, *_: object) -> None:
        _PLACE.reset(self._token)


def queue_place() -> QueuePlace | None:
    """Return the place of a launch that is made now; None if no queue is known."""
    return _PLACE.get()


@frozen(eq=False)
class LaunchFacts:
    """The facts of a launch, as described in `Launch`; ``tasks`` is empty if it was not timed."""

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
        """Return the facts of *tally*."""
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
    """The facts of a launch, which *tell* computes at their first use, and the prediction of its time on *board* with *unions* clusters per union."""

    def __init__(self, tell: Callable[[], LaunchFacts], board: Board, unions: int) -> None:
        self._tell: Callable[[], LaunchFacts] | None = tell
        self._board, self._unions = board, unions

    @cached_property
    def facts(self) -> LaunchFacts:
        """Return the facts, computed once."""
        assert self._tell is not None
        tell, self._tell = self._tell, None  # its data is no longer needed
        return tell()

    @cached_property
    def forecast(self) -> Forecast:
        """Return the predicted time of the launch."""
        return Forecast(self.facts.tasks, self._board, self._unions)

    def on(self, board: Board) -> "LaunchSums":
        """Return the same work on another board of the architecture."""
        moved = LaunchSums(lambda: self.facts, board, self._unions)
        moved.forecast = self.forecast.on(board)
        return moved


@frozen(eq=False)
class Launch(Presented):
    """The result of a launch: counts, traffic, memory, predicted time and the observers' findings.

    ``instructions`` counts each intrinsic, ``traffic`` gives bytes by copy direction, ``io_bytes`` is the total that
    the IO-DMA carried for copies, atomics and fills, ``lanes`` the lanes of the vector unit that each vector
    intrinsic used and paid for (bytes), ``memory`` the capacity and high-water mark (bytes) of each on-chip memory,
    ``findings`` the findings of the observers, ``printed`` the lines of ``__bang_printf``, ``engine`` the engine that
    ran it: "python" or "native", ``threads`` the number of threads that ran its tasks; ``queue`` its place in a queue
    of its program, if that is known; ``estimate`` a note on time and memory, if the kernel was generated from another
    language; ``declared`` the declarations in NRAM and WRAM of the first task to end, after the address at which each
    memory begins; ``time_us`` and the other predictions are computed from ``forecast`` at their first use.
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
        """Return how often each intrinsic was executed."""
        return self.sums.facts.instructions

    @property
    def traffic(self) -> Mapping[str, int]:
        """Return the bytes by copy direction."""
        return self.sums.facts.traffic

    @property
    def memory(self) -> Mapping[str, Usage]:
        """Return the capacity and high-water mark (bytes) of each on-chip memory."""
        return self.sums.facts.memory

    @property
    def scalar_loads(self) -> Mapping[str, int]:
        """Return the scalar loads by memory."""
        return self.sums.facts.scalar_loads

    @property
    def scalar_stores(self) -> Mapping[str, int]:
        """Return the scalar stores by memory."""
        return self.sums.facts.scalar_stores

    @property
    def io_bytes(self) -> int:
        """Return the bytes that the IO-DMA carried for copies, atomics and fills together."""
        return self.sums.facts.io_bytes

    @property
    def lanes(self) -> Mapping[str, Lanes]:
        """Return the lanes of the vector unit that each vector intrinsic used and paid for (bytes)."""
        return self.sums.facts.lanes

    @property
    def declared(self) -> tuple[tuple[int, tuple[Allocation, ...]], ...]:
        """Return the declarations in NRAM and WRAM of the first task that ended, after the address at which each memory begins."""
        return self.sums.facts.declared

    @property
    def forecast(self) -> Forecast:
        """Return the prediction of its time."""
        return self.sums.forecast

    @property
    def tasks(self) -> tuple[TaskWork, ...]:
        """Return the work of each task, from which the time is predicted; none if the launch was not timed."""
        return self.sums.forecast.tasks

    @property
    def time_us(self) -> float:
        """Return the predicted hardware time in us, computed at its first use; NaN if the launch was not timed."""
        return self.sums.forecast.found.time_us

    @property
    def bound(self) -> str:
        """Return the pipe that determines the predicted time."""
        return self.sums.forecast.found.bound

    @property
    def busy_us(self) -> Mapping[str, float]:
        """Return the predicted time for which the busiest core kept each pipe busy, in us."""
        return self.sums.forecast.found.busy_us

    @property
    def timeline(self) -> Timeline:
        """Return the predicted span and steps of each task."""
        return self.sums.forecast.timeline

    @property
    def unsure(self) -> tuple[Unsure, ...]:
        """Return the mechanisms that widen the band: those with a tenth of the time or more that at most one published measurement confirms."""
        return self.sums.forecast.unsure

    @property
    def time_band(self) -> tuple[float, float]:
        """Return the lowest and the highest time in us that constants and model allow; NaN if the launch was not timed."""
        return self.sums.forecast.band

    @property
    def profile(self) -> Profile:
        """Return how the cores spend their time: busy by pipe, overlap, waits, balance, waves; computed at its first use.

        It is empty if the launch was not timed.
        """
        return self.sums.forecast.profile

    @property
    def lines(self) -> tuple[Line, ...]:
        """Return the time of each line of the kernel, over all tasks; computed at each call.

        Raises `UsageError` if the launch recorded no instructions; they are recorded for an observer such as
        `mlusim.EveryStep`.
        """
        return lines(self.tasks, self.timeline, self.sums.forecast.board)

    @property
    def because(self) -> tuple[str, ...]:
        """Return the causes of the time in words, the largest first; computed at each call."""
        # Imported by name when needed, because the presentation of launches is in a higher layer than the
        # machine.
        causes: tuple[str, ...] = presenter("explain").because(self)
        return causes

    @property
    def advice(self) -> tuple[Any, ...]:
        """Return the changes that would help most, each with its predicted time; computed at each call.

        Each is a `mlusim.report.advice.Advice`, the largest gain first.
        """
        changes: tuple[Any, ...] = presenter("advice").advice(self)
        return changes

    def show(self) -> None:
        """Print the same as `mlusim profile`: time, bound, causes, advice, pipes, traffic, memory, most expensive lines, findings."""
        presenter("launches").show([self])

    def trace(self, path: str) -> None:
        """Write the timeline to *path* as a trace for Perfetto and chrome://tracing.

        It has every instruction if the launch recorded them, as with `mlusim.profiled` and `mlusim.EveryStep`.
        """
        presenter("launch_files").write_launches(path, [self])

    def html(self, path: str) -> None:
        """Write the output of `show` to *path* as one self-contained HTML page, with the source.

        Raises `UsageError` if the extra mlusim[report] is not installed.
        """
        presenter("page.launches").write_page(path, [self])

    def on(self, board: str | Board) -> "Launch":
        """Return the launch as the same work would run on *board*: only the time, its bound and timeline differ.

        A kernel sees only the architecture of its board, so the work is the same on any board of
        the same architecture that can start the launch; raises `UsageError` for another.
        """
        target, origin, unions = find_board(board), self.sums.forecast.board, self.sums.forecast.unions
        # The actions of a kernel follow from its architecture: other sizes would mean other loops.
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
        """Return the observer of class *kind* that observed this launch."""
        for observer in self.observers:
            if isinstance(observer, kind):
                return observer
        raise KeyError(kind.__name__)
