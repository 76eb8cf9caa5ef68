"""The predicted hardware time of a launch: the durations of its tasks on the places of the board, sharing its memory.

A task or union takes its time in `mlusim.time.replay`, at the rates of `mlusim.time.rates`, or longer if the
off-chip memory is shared: each gets its fair share among the active ones. Before the first tasks can compute,
all of them wait for their first loads at the same time. A place starts the next task when its current one
ends.
"""

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property
from operator import attrgetter
from typing import Any

from attrs import define, frozen

from mlusim.arch.board import Board
from mlusim.time import quantities
from mlusim.time.copy_costs import UNIT
from mlusim.time.log import MEET, SUMS, CoreLog, TaskWork
from mlusim.time.pace import Pace
from mlusim.time.rates import LAUNCH, TASK_START, Bound
from mlusim.time.replay import Alone, Stack, TimedLog, barrier_us, ceiling, replay

MOST_ROWS = 1 << 16  # limit of distinct rows that are timed together, to bound the memory
FEW_ROWS = 1 << 12  # limit up to which stacks are cached for the next bound: a megabyte
GroupKey = tuple[tuple[CoreLog, bool, int], ...]
# The inputs of a core's pace: whether it is a memory core; the cores that share its SRAM; the cores that run
# beside it; the cores with contending atomics; and in sixteenths the cached fraction of memory cores' reads.
Role = tuple[bool, int, int, int, int]
Stacks = list[tuple[Role, Stack]]  # the logs of the cores of a role, each once


def groups_of(tasks: Sequence[TaskWork]) -> list[list[TaskWork]]:
    """Return the groups of tasks that run together, in the order in which they begin; in a Block launch each task is a group."""
    groups: dict[int, list[TaskWork]] = {}
    for task in sorted(tasks, key=attrgetter("task", "memory_core")):
        groups.setdefault(task.union, []).append(task)
    return list(groups.values())


def key_of(group: Sequence[TaskWork]) -> GroupKey:
    """Return the facts that determine the time of *group* without contention."""
    return tuple([(task.log, task.memory_core, task.cluster) for task in group])


@frozen
class Beside:
    """The rest of the launch beside a core: ``tasks`` on the cluster of a Block task; ``rivals`` and ``cached`` as in `Role`."""

    tasks: int
    rivals: int
    cached: int


def roles_of(group: Sequence[TaskWork], beside: Beside) -> list[Role]:
    """Return the inputs of the pace of each core in *group*; cores of one cluster share its SRAM and its port."""
    users: dict[int, int] = {}
    cores: dict[int, int] = {}
    for task in group:
        users[task.cluster] = users.get(task.cluster, 0) + uses_sram(task.log)
        cores[task.cluster] = cores.get(task.cluster, 0) + (not task.memory_core and moves_off_chip(task.log))
    if len(group) == 1:
        return [(t.memory_core, users[t.cluster], beside.tasks, beside.rivals, beside.cached) for t in group]
    return [
        (
            t.memory_core,
            users[t.cluster],
            1 if t.memory_core else max(1, cores[t.cluster]),
            beside.rivals,
            beside.cached if t.memory_core else 0,
        )
        for t in group
    ]


def neighbours(tasks: Sequence[TaskWork], board: Board) -> Beside:
    """Return what runs beside a core of a launch; the tasks of a Block launch fill one cluster after the other."""
    together = max(1, min(len(tasks), board.arch.cores_per_cluster))
    return Beside(together, rivals_of(tasks, board), _cached(tasks, board))


def rivals_of(tasks: Sequence[TaskWork], board: Board) -> int:
    """Return how many cores simultaneously do atomics that cover at least half of their tensor; at least one."""
    crowded = SUMS + quantities.CROWDED
    # Tasks with equal work share a log, so most launches have few logs.
    meeting = {id(task.log): bool(task.log.total[crowded]) for task in tasks}
    rivals = sum(meeting[id(task.log)] for task in tasks) if any(meeting.values()) else 1
    return max(1, min(board.cores, rivals))


def _cached(tasks: Sequence[TaskWork], board: Board) -> int:
    """Return the fraction, in sixteenths, of memory cores' reads that hit the cache."""
    groups = [[task] for task in tasks if task.memory_core and task.reads]
    read = sum([nbytes for (task,) in groups for _, _, nbytes in task.reads])
    return round(16 * sum(found_in_cache(groups, board.l2)) / read) if read else 0


def moves_off_chip(log: CoreLog) -> bool:
    """Return whether a core copied from or to the off-chip memory."""
    return bool(log.total[SUMS + quantities.IO])


def uses_sram(log: CoreLog) -> bool:
    """Return whether a core copied to or from SRAM."""
    total = log.total
    return bool(total[SUMS + quantities.SRAM_BYTES] or total[SUMS - 1])


class Paces(dict[Role, Pace]):
    """The paces of the cores of *board* by their roles, with every constant at one end of its band, or at its usual value, as *bound* says."""

    def __init__(self, board: Board, bound: Bound = Bound.USUAL) -> None:
        super().__init__()
        self._board = board
        self._bound = bound

    def __missing__(self, role: Role) -> Pace:
        memory_core, sharers, beside, rivals, cached = role
        pace = Pace.of(
            self._board,
            memory_core=memory_core,
            sharers=sharers,
            beside=beside,
            rivals=rivals,
            cached=cached / 16,
            bound=self._bound,
        )
        return self.setdefault(role, pace)


class GroupedTasks:
    """The tasks of a launch, grouped by what runs together, with everything that does not depend on the bound.

    ``groups`` are in order of start; equal ``keys`` mark equal groups, and ``kinds`` has one group of each
    key. *beside* says what runs beside a core, if *tasks* are only a part of the launch.
    """

    def __init__(self, tasks: Sequence[TaskWork], board: Board, beside: Beside | None = None) -> None:
        self.groups = groups_of(tasks)
        self.keys = [key_of(group) for group in self.groups]
        self.kinds = dict(zip(self.keys, self.groups, strict=True))
        self._tasks, self._board, self._beside = tasks, board, beside or neighbours(tasks, board)
        self.roles = {key: roles_of(group, self._beside) for key, group in self.kinds.items()}
        self._hits: dict[int, list[float]] = {}
        self._replayed: dict[Any, dict[GroupKey, Alone]] = {}

    @cached_property
    def _stacks(self) -> Stacks | None:
        """The logs of all kinds, for every bound and board; None if they have more than `FEW_ROWS` rows."""
        rows = sum([len(distinct) for key in self.kinds for log, _, _ in key for distinct, _ in log.chunks])
        return self._stacked(list(self.kinds)) if rows <= FEW_ROWS else None

    @cached_property
    def _meets(self) -> bool:
        """True if cores meet at barriers, in stacks that are cached."""
        return any(MEET in stack.lists[0] for _, stack in self._stacks or ())

    def on(self, board: Board) -> "GroupedTasks":
        """Return the same tasks on another board of the architecture; both share what is the same there."""
        beside = neighbours(self._tasks, board)
        if beside != self._beside:
            return GroupedTasks(self._tasks, board, beside)
        moved = copy(self)
        moved._board = board  # noqa: SLF001 - a copy of this one
        return moved

    @property
    def hits(self) -> list[float]:
        """The bytes of each group that hit the cache."""
        capacity = self._board.l2
        if capacity not in self._hits:
            self._hits[capacity] = found_in_cache(self.groups, capacity)
        return self._hits[capacity]

    def alone(self, paces: Paces, bound: Bound) -> dict[GroupKey, Alone]:
        """Return each kind without contention at *paces*, with barriers at an end of their band.

        It is replayed once for all boards on which it is the same.
        """
        board, same = self._board, None
        if self._stacks is not None:
            meeting = (barrier_us(board, bound), ceiling(board, bound)) if self._meets else None
            same = meeting, *map(paces.__getitem__, [role for role, _ in self._stacks])
            if same in self._replayed:
                return self._replayed[same]
        each = [replay(logs, board, bound) for together in self.timed(paces) for logs in together]
        replayed = dict(zip(self.kinds, each, strict=True))
        if same is not None:
            self._replayed[same] = replayed
        return replayed

    def timed(self, paces: Paces) -> Iterator[list[list[TimedLog]]]:
        """Yield the logs of each kind at *paces*, in batches of at most `MOST_ROWS` rows."""
        if self._stacks is not None:
            yield self._together(list(self.kinds), self._stacks, paces)
            return
        waiting: list[GroupKey] = []
        rows = 0
        for key in self.kinds:
            waiting.append(key)
            rows += sum([len(distinct) for log, _, _ in key for distinct, _ in log.chunks])
            if rows >= MOST_ROWS:
                yield self._together(waiting, self._stacked(waiting), paces)
                waiting, rows = [], 0
        if waiting:
            yield self._together(waiting, self._stacked(waiting), paces)

    def _stacked(self, keys: Sequence[GroupKey]) -> Stacks:
        """Return the logs of the kinds *keys*, by the role of their cores."""
        members: dict[Role, dict[CoreLog, None]] = {}
        for key in keys:
            for (log, _, _), role in zip(key, self.roles[key], strict=True):
                members.setdefault(role, {})[log] = None
        return [(role, Stack.of(list(logs))) for role, logs in members.items()]

    def _together(self, keys: Sequence[GroupKey], stacks: Stacks, paces: Paces) -> list[list[TimedLog]]:
        timed = {(log.log, role): log for role, stack in stacks for log in stack.at(paces[role])}
        return [
            [timed[log, role] for (log, _, _), role in zip(key, self.roles[key], strict=True)] for key in keys
        ]


def timed_group(group: Sequence[TaskWork], board: Board, beside: Beside) -> list[TimedLog]:
    """Return the logs of *group*, in a launch with *beside*, at the paces of their cores."""
    ((logs,),) = GroupedTasks(group, board, beside).timed(Paces(board))
    return logs


# -- the last-level cache: tensors that a launch reads again come from off-chip memory once, if they fit ---
#
# The model is coarse (inferred): of the tensors of which more bytes are read than their size, the smallest
# are held in the cache as long as they fit together; the first tasks that read one fetch it, and all others
# hit the cache. Scalar loads fetch one line each, and hit the cache if all tensors of the launch fit. Stores
# are never delayed.


def found_in_cache(groups: "Sequence[Sequence[TaskWork]]", capacity: int) -> list[float]:
    """Return the bytes that each of *groups*, in order of start, finds in a cache of *capacity* bytes."""
    tensors, read = _tensors([task for group in groups for task in group])
    left = _held(tensors, read, capacity)
    scalar = _scalar_share(groups, sum(tensors.values()), capacity)
    cached = []
    for group in groups:
        hits = 0.0
        for task in group:
            for address, _, nbytes in task.reads:
                if address in left:
                    fetched = min(nbytes, left[address])
                    left[address] -= fetched
                    hits += nbytes - fetched
            if scalar:
                hits += UNIT * task.log.far_loads * scalar
        cached.append(hits)
    return cached


def _tensors(tasks: "Iterable[TaskWork]") -> tuple[dict[int, int], dict[int, int]]:
    """Return, by address, the size of each tensor and the bytes that all *tasks* read from it."""
    sizes: dict[int, int] = {}
    read: dict[int, int] = {}
    for task in tasks:
        for address, size, nbytes in task.reads:
            sizes[address] = size
            read[address] = read.get(address, 0) + nbytes
    return sizes, read


def _held(sizes: dict[int, int], read: dict[int, int], capacity: int) -> dict[int, int]:
    """Return the tensors that are read repeatedly and held in the cache, by address, with the bytes that must be fetched once."""
    again = sorted((size, address) for address, size in sizes.items() if read[address] > size)
    held: dict[int, int] = {}
    for size, address in again:
        if size > capacity:  # tensors are sorted by size, so no later one fits
            break
        capacity -= size
        held[address] = size
    return held


def _scalar_share(groups: "Sequence[Sequence[TaskWork]]", whole: int, capacity: int) -> float:
    """Return the fraction of scalar loads that hit the cache: all but one fetch of every tensor, if all tensors fit."""
    if not capacity or whole > capacity:
        return 0.0
    nbytes = UNIT * sum([task.log.far_loads for group in groups for task in group])
    return max(0.0, 1 - whole / nbytes) if nbytes else 0.0


PIPES = ("scalar", "vector", "tensor", "IO-DMA", "move-DMA")


def launch_us(board: Board, tasks: int = 1) -> float:
    """Return the time of a launch on *board* apart from its tasks, in us, until *tasks* tasks have begun."""
    return LAUNCH.at(Bound.USUAL, board) + (tasks - 1) * TASK_START.at(Bound.USUAL, board) / 1000


@frozen
class TaskSpan:
    """The span of a task: its core (or union slot), start and end in us, and each pipe's busy time in us."""

    task: int
    memory_core: bool
    slot: int
    start_us: float
    end_us: float
    busy_us: tuple[float, ...]


@frozen
class Prediction:
    """The predicted time of a launch in us, the resource that bounds it, and the spans of the tasks."""

    time_us: float
    bound: str
    spans: tuple[TaskSpan, ...]
    busy_us: dict[str, float]


UNTIMED = Prediction(float("nan"), "not timed", (), {})


@frozen
class Need:
    """The needs of a group: its time without contention in us, and its off-chip bytes.

    ``first`` are the bytes that it must load before it can compute, ``first_us`` their time.
    """

    alone_us: float
    nbytes: float
    first: float = 0.0
    first_us: float = 0.0


@define
class Slot:
    """The place and time of a group of cores; ``share`` is its time in us if its share of the memory bounds it."""

    place: int
    start: float
    end: float = 0.0


def predict(work: GroupedTasks, board: Board, slots: int, bound: Bound = Bound.USUAL) -> Prediction:
    """Return the predicted time of a launch with *work* (tasks or unions) on *slots* places of *board*.

    *bound* selects an end of the band of every constant.
    """
    alone, needs, ran = _ran(work, board, slots, bound)
    spans = _spans(work.groups, [alone[key] for key in work.keys], ran)
    busy = map(max, zip(*[core.busy for kind in alone.values() for core in kind.cores], strict=True))
    last = max(range(len(ran)), key=lambda n: ran[n].end)
    return Prediction(
        LAUNCH.at(bound, board) + ran[last].end,
        _bound(alone[work.keys[last]], needs[last][0], ran[last]),
        spans,
        dict(zip(PIPES, busy, strict=True)),
    )


def band(work: GroupedTasks, board: Board, slots: int, usual: float, off: float) -> tuple[float, float]:
    """Return the lowest and highest time in us of a launch on *board* whose predicted time is *usual*.

    There are two sources of uncertainty. The constants are not all wrong in one direction at once, so half of
    their joint effect counts, in logarithms. The model as a whole may be off by the factor *off*
    (`time.confidence`), which was measured together with the constants, so the larger of the two effects
    counts.
    """
    low, high = times(work, board, slots, (Bound.LOW, Bound.HIGH))
    shorter, longer = [max(off, math.sqrt(max(1.0, ratio))) for ratio in (usual / low, high / usual)]
    return usual / shorter, usual * longer


def times(work: GroupedTasks, board: Board, slots: int, bounds: Iterable[Bound]) -> list[float]:
    """Return the predicted time at each of *bounds*, in us."""
    return [LAUNCH.at(b, board) + max([slot.end for slot in _ran(work, board, slots, b)[2]]) for b in bounds]


def _ran(
    work: GroupedTasks, board: Board, slots: int, bound: Bound
) -> tuple[dict[GroupKey, Alone], list[tuple[float, float]], list[Slot]]:
    """Return each kind of group without contention, the needs of each group, and its place and time."""
    paces, most, apart = Paces(board, bound), ceiling(board, bound), TASK_START.at(bound, board) / 1000
    alone = work.alone(paces, bound)
    of_kind = {key: [paces[role] for role in roles] for key, roles in work.roles.items()}
    needs = delayed(
        [
            _need(group, alone[key], hit, of_kind[key])
            for group, key, hit in zip(work.groups, work.keys, work.hits, strict=True)
        ],
        slots,
        most,
        apart,
    )
    return alone, needs, schedule(needs, slots, most, apart)


def _spans(
    groups: Sequence[list[TaskWork]], alone: Sequence[Alone], ran: Sequence[Slot]
) -> tuple[TaskSpan, ...]:
    spans = []
    for group, by_itself, slot in zip(groups, alone, ran, strict=True):
        stretch = (slot.end - slot.start) / by_itself.duration if by_itself.duration else 1.0
        for task, end, core in zip(group, by_itself.ends, by_itself.cores, strict=True):
            until = slot.start + stretch * end
            spans.append(TaskSpan(task.task, task.memory_core, slot.place, slot.start, until, core.busy))
    return tuple(spans)


def _bound(last: Alone, alone_us: float, slot: Slot) -> str:
    """Return "IO-DMA" if the last group waits for its share of the memory; else its busiest pipe."""
    if slot.end - slot.start > 1.001 * alone_us:  # smaller differences are rounding errors
        return "IO-DMA"
    busiest = list(map(max, zip(*[core.busy for core in last.cores], strict=True)))
    return PIPES[busiest.index(max(busiest))]


# -- the wait for the first loads -------------------------------------------------------------------


def _need(group: Sequence[TaskWork], alone: Alone, hit: float, paces: Sequence[Pace]) -> Need:
    """Return the needs of *group* at the *paces* of its cores; *hit* of its bytes are in the cache."""
    nbytes = max(0.0, alone.moved - hit)
    first = min(nbytes, float(UNIT * sum([task.head[0] for task in group])))
    lasting = max(
        [
            max(pace.transaction, pace.port) * task.head[0] + (pace.setup + pace.off_chip) * task.head[1]
            for task, pace in zip(group, paces, strict=True)
        ]
    )
    return Need(alone.duration, nbytes, first, lasting)


def delayed(
    needs: Sequence[Need], slots: int, ceiling: float, apart: float = 0.0
) -> list[tuple[float, float]]:
    """Return time (us) and bytes of each group, after the groups that begin together have waited for their first loads.

    All groups of the first wave load at the same time, so no computation overlaps these loads; *ceiling* is
    the memory's rate in bytes per us, *apart* the delay between consecutive starts. Later groups begin while
    others compute.
    """
    together = sorted(range(min(slots, len(needs))), key=lambda g: needs[g].first)
    times = [(need.alone_us, need.nbytes) for need in needs]
    below = 0.0
    for nth, g in enumerate(together):
        need = needs[g]
        fair = (below + (len(together) - nth) * need.first) / ceiling
        below += need.first
        times[g] = need.alone_us + max(0.0, fair - g * apart - need.first_us), need.nbytes
    return times


# -- places, and the shared memory -----------------------------------------------------------------


class _Sharing:
    """The fair shares of the off-chip memory.

    While the bytes of a group are transferred, every other active group can transfer as many bytes, but not
    more. So with the ceiling W and the bytes B, group g takes at least the sum over h of min(B_h, B_g) / W.
    Groups that wait for a place count as active, up to the number of places; if each begins *apart* us after
    the previous one, up to as many as can begin while the longest of them runs. The shares of the first wave
    count from the start of its first group.
    """

    def __init__(
        self, needs: Sequence[tuple[float, float]], slots: int, ceiling: float, apart: float
    ) -> None:
        self._needs = needs
        self._first = slots
        self._apart = apart
        self._ceiling = ceiling
        lasting, loads = zip(*needs, strict=True) if needs else ((0.0,), (0.0,))
        steady, most = max(lasting), max(loads)
        longest, served = max(steady, slots * most / ceiling), most / ceiling
        within = longest if served >= apart else steady
        self._slots = min(slots, 1 + int(within / apart)) if apart else slots

    def durations(self, active: Sequence[int]) -> dict[int, float]:
        """Return the duration of each of *active* if all of them run together from start to end."""
        ordered = sorted(active, key=lambda g: self._needs[g][1])
        durations, below = {}, 0.0
        for nth, g in enumerate(ordered):
            alone, nbytes = self._needs[g]
            fair = min(below + (len(ordered) - nth) * nbytes, self._slots * nbytes) / self._ceiling
            late = g * self._apart if g < self._first else 0.0
            durations[g] = max(alone, fair - late)
            below += nbytes
        return durations


def schedule(
    needs: Sequence[tuple[float, float]], slots: int, ceiling: float, apart: float = 0.0
) -> list[Slot]:
    """Schedule groups with needs (us without contention, off-chip bytes) on *slots* places, first come, first served.

    Each group begins at least *apart* us after the previous one.

    Shares grow as groups end; when only two rounds of groups are left, they are recomputed at each end.
    Shares depend on bytes only, and a longer group only stays longer, so adding work to a group never makes
    any group end earlier.
    """
    sharing = _Sharing(needs, slots, ceiling, apart)
    ran = _run(needs, slots, sharing, apart)
    last = max([slot.end for slot in ran], default=0.0)
    least = sum([nbytes for _, nbytes in needs]) / ceiling
    if last < least:  # rounding: unequal groups' shares can exceed the total
        for slot in ran:
            slot.start, slot.end = slot.start * least / last, slot.end * least / last
    return ran


def _run(needs: Sequence[tuple[float, float]], slots: int, sharing: _Sharing, apart: float) -> list[Slot]:
    lasting = sharing.durations(range(len(needs)))
    active = set(range(len(needs)))
    ran: list[Slot] = []
    running: list[tuple[float, int, int]] = []  # end, order among equals, group
    free = [(0.0, place, place) for place in range(slots)]
    turn = slots
    while active:
        while free and len(ran) < len(needs):
            start, _, place = heapq.heappop(free)
            group = len(ran)
            start = max(start, group * apart)
            ran.append(Slot(place, start))
            heapq.heappush(running, (start + lasting[group], turn, group))
            turn += 1
        now, nth, group = heapq.heappop(running)
        ran[group].end = now
        active.discard(group)
        heapq.heappush(free, (now, nth, ran[group].place))
        # Earlier ends change the shares little, and recomputing all of them takes quadratic time.
        if len(active) <= 2 * slots:
            fresh = sharing.durations(tuple(active))
            running = [
                (now + (end - now) * (fresh[g] / lasting[g] if lasting[g] else 1.0), n, g)
                for end, n, g in running
            ]
            heapq.heapify(running)
            lasting = fresh
    return ran
