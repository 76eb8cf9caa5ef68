"""Tasks that run together: which do, which of them do the same, and at what paces their cores work."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import count

from mlusim.arch.board import Board
from mlusim.time import quantities
from mlusim.time.copy_costs import UNIT
from mlusim.time.log import LOADS, SUMS, CoreLog, TaskWork
from mlusim.time.pace import Pace
from mlusim.time.rates import Bound
from mlusim.time.replay import Stack, TimedLog

MOST_ROWS = 1 << 16  # distinct rows that are timed together, which bounds the memory
FEW_ROWS = 1 << 12  # up to which the stacks are kept for the next bound: a megabyte
GroupKey = tuple[tuple[CoreLog, bool, int], ...]
# What a core's pace depends on: whether it is a memory core; cores that share its SRAM, and that run beside it.
Role = tuple[bool, int, int]
Stacks = list[tuple[Role, list[int], Stack]]  # of a role: the numbers of its cores, and their logs


def groups_of(tasks: Sequence[TaskWork]) -> list[list[TaskWork]]:
    """Return the tasks that run together, in the order in which they begin; of a Block launch each by itself."""
    groups: dict[int, list[TaskWork]] = {}
    for task in sorted(tasks, key=lambda t: (t.task, t.memory_core)):
        groups.setdefault(task.union, []).append(task)
    return list(groups.values())


def key_of(group: Sequence[TaskWork]) -> GroupKey:
    """Return the facts on which the time of *group* by itself depends."""
    return tuple([(task.log, task.memory_core, task.cluster) for task in group])


def roles_of(group: Sequence[TaskWork], beside: int) -> list[Role]:
    """Return the facts on which the pace of each core of *group* depends; those of a cluster share its SRAM and its port.

    *beside* tasks run on the cluster of a Block task, which is a group by itself.
    """
    users: dict[int, int] = {}
    cores: dict[int, int] = {}
    for task in group:
        users[task.cluster] = users.get(task.cluster, 0) + uses_sram(task.log)
        cores[task.cluster] = cores.get(task.cluster, 0) + (not task.memory_core and moves_off_chip(task.log))
    if len(group) == 1:
        return [(task.memory_core, users[task.cluster], beside) for task in group]
    return [
        (t.memory_core, users[t.cluster], 1 if t.memory_core else max(1, cores[t.cluster])) for t in group
    ]


def neighbours(tasks: Sequence[TaskWork], board: Board) -> int:
    """Return how many tasks of a Block launch run on a cluster at once: they fill one after the other."""
    return max(1, min(len(tasks), board.arch.cores_per_cluster))


def moves_off_chip(log: CoreLog) -> bool:
    """Return whether a core copied from or to the off-chip memory."""
    return bool(log.total[SUMS + quantities.IO])


def uses_sram(log: CoreLog) -> bool:
    """Return whether a core copied to or from SRAM."""
    total = log.total
    return bool(total[SUMS + quantities.SRAM_BYTES] or total[SUMS - 1])


class Paces:
    """The paces of the cores of *board*, with every constant at one end of its band, or at its usual value, as *bound* says."""

    def __init__(self, board: Board, bound: Bound = Bound.USUAL) -> None:
        self._board = board
        self._bound = bound
        self._known: dict[Role, Pace] = {}

    def at(self, role: Role) -> Pace:
        """Return the pace of a core of *role*."""
        pace = self._known.get(role)
        if pace is None:
            memory_core, sharers, beside = role
            pace = Pace.of(
                self._board, memory_core=memory_core, sharers=sharers, beside=beside, bound=self._bound
            )
            self._known[role] = pace
        return pace


class GroupedTasks:
    """The tasks of a launch by the groups that run together, and what of their time is the same at every bound.

    ``groups`` are in the order in which they begin, ``keys`` says which are alike, and ``kinds`` has one of each.
    *beside* says how many Block tasks run on a cluster, where *tasks* are not all of the launch.
    """

    def __init__(self, tasks: Sequence[TaskWork], board: Board, beside: int = 0) -> None:
        self.groups = groups_of(tasks)
        self.keys = [key_of(group) for group in self.groups]
        self.kinds = dict(zip(self.keys, self.groups, strict=True))
        self.roles = {
            key: roles_of(group, beside or neighbours(tasks, board)) for key, group in self.kinds.items()
        }
        self._board = board
        self._kept: Stacks | None = None

    @cached_property
    def hits(self) -> list[float]:
        """The bytes that each group finds in the cache."""
        return found_in_cache(self.groups, self._board.l2)

    def timed(self, paces: Paces) -> Iterator[list[list[TimedLog]]]:
        """Yield the logs of each kind at *paces*, as many kinds at once as have `MOST_ROWS` rows."""
        waiting: list[GroupKey] = []
        rows = 0
        for key in self.kinds:
            waiting.append(key)
            rows += sum([len(found) for log, _, _ in key for found, _ in log.chunks])
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
        logs = [log for key in keys for log, _, _ in key]
        members: dict[Role, list[int]] = {}
        for number, role in enumerate([role for key in keys for role in self.roles[key]]):
            members.setdefault(role, []).append(number)
        return [
            (role, numbers, Stack.of([logs[number] for number in numbers]))
            for role, numbers in members.items()
        ]

    @staticmethod
    def _together(keys: Sequence[GroupKey], stacks: Stacks, paces: Paces) -> list[list[TimedLog]]:
        found: dict[int, TimedLog] = {}
        for role, numbers, stack in stacks:
            found.update(zip(numbers, stack.at(paces.at(role)), strict=True))
        numbered = count()
        return [[found[next(numbered)] for _ in key] for key in keys]


def timed_group(group: Sequence[TaskWork], board: Board, beside: int) -> list[TimedLog]:
    """Return the logs of *group*, of a launch with *beside* tasks on a cluster, at the paces of their cores."""
    ((found,),) = GroupedTasks(group, board, beside).timed(Paces(board))
    return found


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
    found = []
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
        found.append(hits)
    return found


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
    nbytes = sum(_scalar_bytes(task) for group in groups for task in group)
    return max(0.0, 1 - whole / nbytes) if nbytes else 0.0


def _scalar_bytes(task: "TaskWork") -> int:
    return UNIT * int(task.log.total[LOADS])
