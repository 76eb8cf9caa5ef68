"""What a launch did, added up: instructions, traffic, work by pipe, high-water marks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import frozen

from mlusim.arch.board import Board
from mlusim.isa.table import ISA
from mlusim.memory.allocation import Arena
from mlusim.memory.direction import DIRECTIONS
from mlusim.memory.space import GDRAM, NRAM, SPACES, SRAM, WRAM, Space
from mlusim.time.lanes import Lanes
from mlusim.time.log import CoreLog
from mlusim.time.step_log import CoreSteps, NotedLog
from mlusim.time.task_work import TaskWork
from mlusim.time.work import VECTOR_BYTES

if TYPE_CHECKING:
    from mlusim.machine.core import Core


NO_LOG = CoreLog(())
FOLD = 64  # cores whose counts are added up together


class Instructions(dict[str, int]):
    """Counts by intrinsic; ``counts["__bang_add"]`` and ``counts["bang_add"]`` are the same entry."""

    def __missing__(self, name: str) -> int:
        bare = name.lstrip("_")
        if bare == name and bare not in ISA:
            raise KeyError(name)
        return self.get(bare, 0)


@frozen
class Usage:
    """Bytes of one memory space: what a kernel may use, and the most that any core (cluster) declared."""

    capacity: int
    high_water: int


class Tally:
    """Collects what cores did as they end."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.tasks: list[TaskWork] = []
        self._counts = [0] * len(ISA)
        self._traffic = [0] * len(DIRECTIONS)
        self.lines, self.spare = [0] * len(ISA), [0] * len(ISA)  # all cores of the launch write here
        self._unfolded: list[tuple[Sequence[int], Sequence[int]]] = []  # of cores that have ended
        self._high: dict[Space, int] = {NRAM: 0, WRAM: 0, SRAM: 0}
        self.scalar_loads: dict[str, int] = {}
        self.scalar_stores: dict[str, int] = {}
        self._logs: dict[bytes, CoreLog] = {}  # tasks that do the same share a log
        self._steps: dict[bytes, CoreSteps] = {}  # and their steps

    def add(self, core: "Core") -> None:
        """Count what *core* did."""
        mlu = core.mlu
        self._unfolded.append((mlu.counts, mlu.traffic))
        if len(self._unfolded) == FOLD:
            self._fold()
        work = list(mlu.work)
        for counts, total in (
            (core.loads, self.scalar_loads),
            (core.stores, self.scalar_stores),
        ):
            for space, number in zip(SPACES, counts, strict=True):
                if number:
                    total[space.name] = total.get(space.name, 0) + number
                    work[0] += number
        for space, arena in core.arenas.items():
            if space in self._high:
                self._high[space] = max(self._high[space], arena.high_water)
        place = core.place
        log = core.log.finished() if core.log is not None else NO_LOG
        log = self._logs.setdefault(log.key, log)
        steps = core.log.steps() if isinstance(core.log, NotedLog) else None
        if steps is not None:
            steps = self._steps.setdefault(steps.key, steps)
        width = self.board.arch.cores_per_cluster
        number = width if place.memory_core else place.core_id
        union, cluster = core.union.number, place.cluster_id
        self.tasks.append(
            TaskWork(
                place.task,
                place.memory_core,
                union,
                cluster,
                tuple(work[:5]),
                log,
                number,
                steps,
                _reads(core) if core.log is not None else (),
                (core.head.transactions, core.head.transfers),
            )
        )

    def _fold(self) -> None:
        """Add up what the cores since the last time counted."""
        if not self._unfolded:
            return
        counts, traffic = zip(*self._unfolded, strict=True)
        self._unfolded.clear()
        self._counts = list(map(sum, zip(self._counts, *counts, strict=True)))
        self._traffic = list(map(sum, zip(self._traffic, *traffic, strict=True)))

    def add_sram(self, arena: Arena) -> None:
        """Note the high-water mark of a cluster's SRAM."""
        self._high[SRAM] = max(self._high[SRAM], arena.high_water)

    @property
    def instructions(self) -> Instructions:
        """Counts of the intrinsics that were executed, in the order of the table."""
        self._fold()
        return Instructions({name: n for name, n in zip(ISA, self._counts, strict=True) if n})

    @property
    def traffic(self) -> dict[str, int]:
        """Bytes copied by direction."""
        self._fold()
        return {d.name: n for d, n in zip(DIRECTIONS, self._traffic, strict=True) if n}

    @property
    def lanes(self) -> dict[str, Lanes]:
        """Lanes by vector intrinsic, for those that were executed."""
        rows = zip(ISA, self.lines, self.spare, strict=True)
        return {
            name: Lanes(lines * VECTOR_BYTES - spare, lines * VECTOR_BYTES)
            for name, lines, spare in rows
            if lines
        }

    @property
    def io_bytes(self) -> int:
        """Bytes that the IO-DMA carried, for copies, atomics and fills."""
        return sum(task.work[3] for task in self.tasks)

    @property
    def memory(self) -> dict[str, Usage]:
        """Capacity and high-water mark of each on-chip memory."""
        arch = self.board.arch
        capacity = {NRAM: arch.max_nram, WRAM: arch.max_wram, SRAM: arch.max_sram}
        return {space.name: Usage(capacity[space], high) for space, high in self._high.items()}


def _reads(core: "Core") -> tuple[tuple[int, int, int], ...]:
    """The tensors that *core* was given: address, bytes, and the bytes that its copies read."""
    found: dict[int, tuple[int, int, int]] = {}
    for views in core.bindings:
        for view in views.values():
            allocation = view.allocation
            if allocation.space is GDRAM:
                *_, read = found.get(allocation.address, (0, 0, 0))
                found[allocation.address] = allocation.address, allocation.nbytes, read + view.read
    return tuple(found.values())
