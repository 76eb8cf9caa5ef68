"""Predicted hardware time of a launch: its tasks' own durations, on the places of the board, sharing its memory.

A task or union takes what `mlusim.time.replay` says, at the rates of `mlusim.time.rates`, or longer where
the off-chip memory is shared: it is given its fair share among those that are active at that moment.
Before the first tasks can compute, all of them wait for their first loads together.
A place takes the next task when its own has ended.
"""

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from operator import attrgetter

from attrs import define, frozen

from mlusim.arch.board import Board
from mlusim.time import quantities
from mlusim.time.copy_costs import UNIT
from mlusim.time.log import SUMS, CoreLog, TaskWork, loads_of
from mlusim.time.pace import Pace
from mlusim.time.rates import LAUNCH, TASK_START, Bound
from mlusim.time.replay import Alone, Stack, TimedLog, ceiling, replay

MOST_ROWS = 1 << 16  # distinct rows that are timed together, which bounds the memory
FEW_ROWS = 1 << 12  # up to which the stacks are kept for the next bound: a megabyte
GroupKey = tuple[tuple[CoreLog, bool, int], ...]
# What a core's pace depends on: whether it is a memory core; cores that share its SRAM, and that run beside it; cores of the launch whose
# atomics meet; sixteenths of what memory cores read that are in the cache.
Role = tuple[bool, int, int, int, int]
Stacks = list[tuple[Role, Stack]]  # the logs of the cores of a role, each once


def groups_of(tasks: Sequence[TaskWork]) -> list[list[TaskWork]]:
    """Return the tasks that run together, in the order in which they begin; of a Block launch each by itself."""
    groups: dict[int, list[TaskWork]] = {}
    for task in sorted(tasks, key=attrgetter("task", "memory_core")):
        groups.setdefault(task.union, []).append(task)
    return list(groups.values())


def key_of(group: Sequence[TaskWork]) -> GroupKey:
    """Return the facts on which the time of *group* by itself depends."""
    return tuple([(task.log, task.memory_core, task.cluster) for task in group])


@frozen
class Beside:
    """The others of a launch beside a core: ``tasks`` on the cluster of a Block task, ``rivals`` and ``cached`` as `Role` has them."""

    tasks: int
    rivals: int
    cached: int


def roles_of(group: Sequence[TaskWork], beside: Beside) -> list[Role]:
    """Return the facts on which the pace of each core of *group* depends; those of a cluster share its SRAM and its port."""
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
    """Return what runs beside a core of a launch: tasks of a Block launch fill one cluster after the other."""
    together = max(1, min(len(tasks), board.arch.cores_per_cluster))
    return Beside(together, rivals_of(tasks, board), _cached(tasks, board))


def rivals_of(tasks: Sequence[TaskWork], board: Board) -> int:
    """Return how many cores at once do atomics that cover half of their tensor or more, at least one."""
    crowded = SUMS + quantities.CROWDED
    # Tasks that do the same share a log, and most launches have few.
    meeting = {id(task.log): bool(task.log.total[crowded]) for task in tasks}
    rivals = sum(meeting[id(task.log)] for task in tasks) if any(meeting.values()) else 1
    return max(1, min(board.cores, rivals))


def _cached(tasks: Sequence[TaskWork], board: Board) -> int:
    """Return how many sixteenths of what memory cores read are in the cache when they do."""
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
    """The tasks of a launch by the groups that run together, and what of their time is the same at every bound.

    ``groups`` are in the order in which they begin, ``keys`` says which are alike, and ``kinds`` has one of each.
    *beside* says what runs beside a core, where *tasks* are not all of the launch.
    """

    def __init__(self, tasks: Sequence[TaskWork], board: Board, beside: Beside | None = None) -> None:
        self.groups = groups_of(tasks)
        self.keys = [key_of(group) for group in self.groups]
        self.kinds = dict(zip(self.keys, self.groups, strict=True))
        self._tasks, self._board, self._beside = tasks, board, beside or neighbours(tasks, board)
        self.roles = {key: roles_of(group, self._beside) for key, group in self.kinds.items()}
        self._hits: dict[int, list[float]] = {}
        self._kept: Stacks | None = None

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
        """The bytes that each group finds in the cache."""
        capacity = self._board.l2
        if capacity not in self._hits:
            self._hits[capacity] = found_in_cache(self.groups, capacity)
        return self._hits[capacity]

    def timed(self, paces: Paces) -> Iterator[list[list[TimedLog]]]:
        """Yield the logs of each kind at *paces*, as many kinds at once as have `MOST_ROWS` rows."""
        waiting: list[GroupKey] = []
        rows = 0
        for key in self.kinds:
            waiting.append(key)
            rows += sum([len(distinct) for log, _, _ in key for distinct, _ in log.chunks])
            if rows >= MOST_ROWS:
                yield self._together(waiting, self._stacked(waiting), paces)
                waiting, rows = [], 0
        if not waiting:
            return
        stacks = self._kept or self._stacked(waiting)
        if rows <= FEW_ROWS and len(waiting) == len(self.kinds):
            self._kept = stacks
        yield self._together(waiting, stacks, paces)

    def _stacked(self, keys: Sequence[GroupKey]) -> Stacks:
        """Return the logs of the kinds *keys*, by the roles of their cores."""
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
    """Return the logs of *group*, of a launch that has *beside* its cores what that says, at their paces."""
    ((logs,),) = GroupedTasks(group, board, beside).timed(Paces(board))
    return logs


# -- the last-level cache: what a launch reads again comes from the off-chip memory once, while it fits
#
# The model is coarse (inferred): of the tensors of which more bytes are read than they have, the smallest
# are held as far as they fit together; the first tasks to read one fetch it, all others find it. Loads by
# scalar code, a line each, find their lines where all tensors of the launch fit. Stores are never held
# back.


def found_in_cache(groups: "Sequence[Sequence[TaskWork]]", capacity: int) -> list[float]:
    """Return the bytes that each of *groups*, in the order of their start, finds in a cache of *capacity* bytes."""
    tensors, read = _tensors(task for group in groups for task in group)
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
                hits += _scalar_bytes(task) * scalar
        cached.append(hits)
    return cached


def _tensors(tasks: "Iterable[TaskWork]") -> tuple[dict[int, int], dict[int, int]]:
    """Return, by address, the bytes of each tensor and those that all *tasks* read of it."""
    sizes: dict[int, int] = {}
    read: dict[int, int] = {}
    for task in tasks:
        for address, size, nbytes in task.reads:
            sizes[address] = size
            read[address] = read.get(address, 0) + nbytes
    return sizes, read


def _held(sizes: dict[int, int], read: dict[int, int], capacity: int) -> dict[int, int]:
    """Return the tensors that are read again and held, by address, with the bytes that have to be fetched once."""
    again = sorted((size, address) for address, size in sizes.items() if read[address] > size)
    held: dict[int, int] = {}
    for size, address in again:
        if size > capacity:  # the smallest come first, so that none of the others fits either
            break
        capacity -= size
        held[address] = size
    return held


def _scalar_share(groups: "Sequence[Sequence[TaskWork]]", whole: int, capacity: int) -> float:
    """Return the share of scalar loads that hit the cache: all but one fetch of every tensor, where all tensors fit."""
    if not capacity or whole > capacity:
        return 0.0
    nbytes = sum([_scalar_bytes(task) for group in groups for task in group])
    return max(0.0, 1 - whole / nbytes) if nbytes else 0.0


def _scalar_bytes(task: "TaskWork") -> int:
    return UNIT * int(loads_of(task.log.total[None])[0, :, 0].sum())


PIPES = ("scalar", "vector", "tensor", "IO-DMA", "move-DMA")


def launch_us(board: Board, tasks: int = 1) -> float:
    """Return the cost of a launch on *board* beside its tasks, in us, until as many *tasks* have begun."""
    return LAUNCH.at(Bound.USUAL, board) + (tasks - 1) * TASK_START.at(Bound.USUAL, board) / 1000


@frozen
class TaskSpan:
    """When a task runs: its core (or union slot), start and end in us, and each pipe's busy time in us."""

    task: int
    memory_core: bool
    slot: int
    start_us: float
    end_us: float
    busy_us: tuple[float, ...]


@frozen
class Prediction:
    """The predicted time of a launch in us, the name of what sets it, and the tasks' spans."""

    time_us: float
    bound: str
    spans: tuple[TaskSpan, ...]
    busy_us: dict[str, float]


UNTIMED = Prediction(float("nan"), "not timed", (), {})


@frozen
class Need:
    """The needs of a task or union: us by itself, off-chip bytes; of these ``first`` before it can compute, in ``first_us``."""

    alone_us: float
    nbytes: float
    first: float = 0.0
    first_us: float = 0.0


@define
class Slot:
    """The place and time of a group of cores: ``share`` us if its share of the memory sets the time."""

    place: int
    start: float
    end: float = 0.0


def predict(work: GroupedTasks, board: Board, slots: int, bound: Bound = Bound.USUAL) -> Prediction:
    """Return the time of a launch whose *work*, tasks or unions of tasks, runs on *slots* places of *board*.

    *bound* takes every constant at an end of its band.
    """
    alone, needs, ran = _ran(work, board, slots, bound)
    spans = tuple(_spans(work.groups, [alone[key] for key in work.keys], ran))
    busy = map(max, zip(*[core.busy for kind in alone.values() for core in kind.cores], strict=True))
    last = max(range(len(ran)), key=lambda n: ran[n].end)
    return Prediction(
        LAUNCH.at(bound, board) + ran[last].end,
        _bound(alone[work.keys[last]], needs[last][0], ran[last]),
        spans,
        dict(zip(PIPES, busy, strict=True)),
    )


def band(work: GroupedTasks, board: Board, slots: int, usual: float, off: float) -> tuple[float, float]:
    """Return the times in us between which a launch that is predicted to take *usual* may end on *board*.

    Two things leave it open: the constants, of which not all are wrong in one direction at once, so half of what all of them together make of
    it counts, in logarithms; and the model as a whole, by the factor *off* (`time.confidence`). Published kernels are off by that factor with their
    constants, so that the larger of the two counts.
    """
    low, high = times(work, board, slots, (Bound.LOW, Bound.HIGH))
    shorter, longer = (max(off, math.sqrt(max(1.0, ratio))) for ratio in (usual / low, high / usual))
    return usual / shorter, usual * longer


def times(work: GroupedTasks, board: Board, slots: int, bounds: Iterable[Bound]) -> list[float]:
    """Predict the time at each of *bounds*, in us."""
    return [LAUNCH.at(b, board) + max(slot.end for slot in _ran(work, board, slots, b)[2]) for b in bounds]


def _ran(
    work: GroupedTasks, board: Board, slots: int, bound: Bound
) -> tuple[dict[GroupKey, Alone], list[tuple[float, float]], list[Slot]]:
    """Return each kind of group by itself, what each group needs, and where and when it runs."""
    paces, most, apart = Paces(board, bound), ceiling(board, bound), TASK_START.at(bound, board) / 1000
    each_alone = [replay(logs, board, bound) for together in work.timed(paces) for logs in together]
    alone = dict(zip(work.kinds, each_alone, strict=True))
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
) -> Iterator[TaskSpan]:
    for group, by_itself, slot in zip(groups, alone, ran, strict=True):
        stretch = (slot.end - slot.start) / by_itself.duration if by_itself.duration else 1.0
        for task, end, core in zip(group, by_itself.ends, by_itself.cores, strict=True):
            yield TaskSpan(
                task.task, task.memory_core, slot.place, slot.start, slot.start + stretch * end, core.busy
            )


def _bound(last: Alone, alone_us: float, slot: Slot) -> str:
    """Return the memory where the last group waits for its share; else the pipe that is busiest in it."""
    if slot.end - slot.start > 1.001 * alone_us:  # sums of floats differ by less
        return "IO-DMA"
    busiest = list(map(max, zip(*[core.busy for core in last.cores], strict=True)))
    return PIPES[busiest.index(max(busiest))]


# -- what the first loads wait for ------------------------------------------------------------------


def _need(group: Sequence[TaskWork], alone: Alone, hit: float, paces: Sequence[Pace]) -> Need:
    """Work out the needs of *group* on the board, at the *paces* of its cores; it finds *hit* bytes in the cache."""
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
    """Return us and bytes of each group, where those that begin together wait for their first loads together.

    All of the first wave ask at once, so nothing of one hides the loads of another; *ceiling* is what the
    memory gives them, in bytes a us, *apart* how long each begins after the one before.  Later groups begin when
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


# -- places, and the memory that all share ---------------------------------------------------------


class _Sharing:
    """The fair shares of the off-chip memory.

    While a group's bytes are served, each other active group can be served as many and no more, so
    with the ceiling W and the bytes B, group g takes at least sum over h of min(B_h, B_g) / W.
    Groups that wait for a place count as active, up to the number of places; where each begins *apart* us after
    the one before, up to as many as can begin while the longest of them runs.  What the first wave shares is
    counted from the moment at which the first begins.
    """

    def __init__(
        self, needs: Sequence[tuple[float, float]], slots: int, ceiling: float, apart: float
    ) -> None:
        self._needs = needs
        self._first = slots
        self._apart = apart
        self._ceiling = ceiling
        longest = max([max(us, slots * nbytes / ceiling) for us, nbytes in needs], default=0.0)
        steady = max([us for us, _ in needs], default=0.0)
        served = max([nbytes for _, nbytes in needs], default=0.0) / ceiling
        within = longest if served >= apart else steady
        self._slots = min(slots, 1 + int(within / apart)) if apart else slots

    def durations(self, active: Sequence[int]) -> dict[int, float]:
        """Return how long each of *active* takes where all of them run together from beginning to end."""
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
    """Run groups that need (us alone, off-chip bytes), first come, first served, on *slots* places.

    Each begins *apart* us after the one before it at the earliest.

    Shares grow as groups end; they are settled again at each end once two rounds of groups are left.
    Since shares depend on bytes alone and a longer group only stays longer, nothing that is added to a
    group ends any group earlier.
    """
    sharing = _Sharing(needs, slots, ceiling, apart)
    ran = _run(needs, slots, sharing, apart)
    last = max([slot.end for slot in ran], default=0.0)
    least = sum([nbytes for _, nbytes in needs]) / ceiling
    if last < least:  # shares of groups of unlike bytes can add up to more than there is
        for slot in ran:
            slot.start, slot.end = slot.start * least / last, slot.end * least / last
    return ran


def _run(needs: Sequence[tuple[float, float]], slots: int, sharing: _Sharing, apart: float) -> list[Slot]:
    lasting = sharing.durations(range(len(needs)))
    active = set(range(len(needs)))
    ran: list[Slot] = []
    running: list[tuple[float, int, int]] = []  # end, whose turn among equals, group
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
        # Earlier an end changes a share little, and to work all of them out takes the square of their number.
        if len(active) <= 2 * slots:
            fresh = sharing.durations(tuple(active))
            running = [
                (now + (end - now) * (fresh[g] / lasting[g] if lasting[g] else 1.0), n, g)
                for end, n, g in running
            ]
            heapq.heapify(running)
            lasting = fresh
    return ran
