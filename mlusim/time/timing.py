"""Predicted hardware time of a launch: its tasks' own durations, on the places of the board, sharing its memory.

A task or union takes what `mlusim.time.replay` says, at the rates of `mlusim.time.rates`, or longer where
the off-chip memory is shared: it is given its fair share among those that are active at that moment.
Before the first tasks can compute, all of them wait for their first loads together.
A place takes the next task when its own has ended.
"""

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence

from attrs import define, frozen

from mlusim.arch.board import Board
from mlusim.time.copy_costs import UNIT
from mlusim.time.grouped_tasks import GroupedTasks, GroupKey, Paces
from mlusim.time.log import TaskWork
from mlusim.time.pace import Pace
from mlusim.time.rates import INHERITED, LAUNCH, MODEL, TASK_START, Bound, printed_rows
from mlusim.time.replay import CoreSummary, TimedLog, ceiling, replay

PIPES = ("scalar", "vector", "tensor", "IO-DMA", "move-DMA")


def launch_us(board: Board) -> float:
    """Return the cost of a launch on *board* beside its tasks, in us."""
    return LAUNCH.on(board).value


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
class Alone:
    """A task or union by itself: the end of each core in us, what each was busy with, all off-chip bytes."""

    ends: tuple[float, ...]
    cores: tuple[CoreSummary, ...]

    @property
    def duration(self) -> float:
        """When the last core ends."""
        return max(self.ends)

    @property
    def moved(self) -> int:
        """Off-chip bytes of all cores."""
        return sum(core.moved for core in self.cores)


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
    busy = [
        max((core.busy[n] for kind in alone.values() for core in kind.cores), default=0.0)
        for n in range(len(PIPES))
    ]
    last = max(range(len(ran)), key=lambda n: ran[n].end)
    return Prediction(
        LAUNCH.at(bound, board) + ran[last].end,
        _bound(alone[work.keys[last]], needs[last][0], ran[last]),
        spans,
        dict(zip(PIPES, busy, strict=True)),
    )


def band(work: GroupedTasks, board: Board, slots: int, usual: float) -> tuple[float, float]:
    """Return the times in us between which a launch that is predicted to take *usual* may end on *board*.

    Two things leave it open, of which neither knows of the other: the constants, of which not all are wrong in one
    direction at once, so half of what all of them together make of it counts, in logarithms; and the model
    itself, by `MODEL`, on a board that printed nothing by `INHERITED` times that.
    """
    low, high = times(work, board, slots, (Bound.LOW, Bound.HIGH))
    model = math.log(MODEL if printed_rows(board) else MODEL * INHERITED)
    shorter, longer = (max(0.0, math.log(ratio)) / 2 for ratio in (usual / low, high / usual))
    return usual * math.exp(-math.hypot(shorter, model)), usual * math.exp(math.hypot(longer, model))


def times(work: GroupedTasks, board: Board, slots: int, bounds: Iterable[Bound]) -> list[float]:
    """Predict the time at each of *bounds*, in us."""
    return [LAUNCH.at(b, board) + max(slot.end for slot in _ran(work, board, slots, b)[2]) for b in bounds]


def _ran(
    work: GroupedTasks, board: Board, slots: int, bound: Bound
) -> tuple[dict[GroupKey, Alone], list[tuple[float, float]], list[Slot]]:
    """Return each kind of group by itself, what each group needs, and where and when it runs."""
    paces, most, apart = Paces(board, bound), ceiling(board, bound), TASK_START.at(bound, board) / 1000
    found = (_alone(logs, board, bound) for together in work.timed(paces) for logs in together)
    alone = dict(zip(work.kinds, found, strict=True))
    own = {key: [paces.at(role) for role in roles] for key, roles in work.roles.items()}
    needs = delayed(
        [
            _need(group, alone[key], hit, own[key])
            for group, key, hit in zip(work.groups, work.keys, work.hits, strict=True)
        ],
        slots,
        most,
        apart,
    )
    return alone, needs, schedule(needs, slots, most, apart)


def _alone(logs: Sequence[TimedLog], board: Board, bound: Bound) -> Alone:
    found = replay(logs, board, bound)
    return Alone(
        found.ends, tuple(log.summary(flying) for log, flying in zip(logs, found.flying, strict=True))
    )


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
    busiest = [max(core.busy[n] for core in last.cores) for n in range(len(PIPES))]
    return PIPES[busiest.index(max(busiest))]


# -- what the first loads wait for ------------------------------------------------------------------


def _need(group: Sequence[TaskWork], alone: Alone, hit: float, paces: Sequence[Pace]) -> Need:
    """Work out the needs of *group* on the board, at the *paces* of its cores; it finds *hit* bytes in the cache."""
    nbytes = max(0.0, alone.moved - hit)
    first = min(nbytes, float(UNIT * sum(task.head[0] for task in group)))
    lasting = max(
        max(pace.transaction, pace.port) * task.head[0] + (pace.setup + pace.off_chip) * task.head[1]
        for task, pace in zip(group, paces, strict=True)
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
    found = [(need.alone_us, need.nbytes) for need in needs]
    below = 0.0
    for nth, g in enumerate(together):
        need = needs[g]
        fair = (below + (len(together) - nth) * need.first) / ceiling
        below += need.first
        found[g] = need.alone_us + max(0.0, fair - g * apart - need.first_us), need.nbytes
    return found


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
        longest = max((max(us, slots * nbytes / ceiling) for us, nbytes in needs), default=0.0)
        steady = max((us for us, _ in needs), default=0.0)
        served = max((nbytes for _, nbytes in needs), default=0.0) / ceiling
        within = longest if served >= apart else steady
        self._slots = min(slots, 1 + int(within / apart)) if apart else slots

    def durations(self, active: Sequence[int]) -> dict[int, float]:
        """Return how long each of *active* takes where all of them run together from beginning to end."""
        ordered = sorted(active, key=lambda g: self._needs[g][1])
        found, below = {}, 0.0
        for nth, g in enumerate(ordered):
            alone, nbytes = self._needs[g]
            fair = min(below + (len(ordered) - nth) * nbytes, self._slots * nbytes) / self._ceiling
            late = g * self._apart if g < self._first else 0.0
            found[g] = max(alone, fair - late)
            below += nbytes
        return found


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
    last = max((slot.end for slot in ran), default=0.0)
    least = sum(nbytes for _, nbytes in needs) / ceiling
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
            running = [(now + (end - now) * _ratio(fresh[g], lasting[g]), n, g) for end, n, g in running]
            heapq.heapify(running)
            lasting = fresh
    return ran


def _ratio(fresh: float, before: float) -> float:
    return fresh / before if before else 1.0
