"""The cores of unions that run and meet only in C: C's data about them, and their state when Python takes over.

C has the scheduler's queue of tasks (`machine.scheduling.scheduler`), and the meetings of unions (`machine.cluster`).
Each task that has begun is on a strand, which C leaves to run the next one.  There are cores for as many unions as
are resident at once, or for one if no task pauses; the cores of an ended union run a later one.
"""

import ctypes
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlusim.isa.table import ISA, NUMBERS
from mlusim.machine.cluster import Meeting, participants
from mlusim.machine.native.text import layout
from mlusim.machine.native.text.door import MEETS, barrier
from mlusim.machine.scheduling.scheduler import TakenUp
from mlusim.time.log import Rows

if TYPE_CHECKING:
    from mlusim.machine.cluster import Union
    from mlusim.machine.core import Core
    from mlusim.machine.machine import Machine
    from mlusim.machine.native.chain import Chain
    from mlusim.machine.native.core import NativeCore
    from mlusim.machine.native.seat import LongLog
    from mlusim.machine.scheduling.carrier import Carrier

OF_MEMORY = layout.CHAIN_TASK.index("memory_core")
TASK, STRAND, BEGUN, ENDED, SLOT = map(layout.TEAM_CORE.index, ("task", "strand", "begun", "ended", "slot"))
# The barriers that C implements, by their scopes.
NAMED = {barrier(name)[1]: name for name in MEETS}


def task_rows(machine: "Machine") -> Rows:
    """Return the places of all tasks of the unions of *machine*, rows of `layout.CHAIN_TASK`."""
    rows = [
        (p.task, p.task_x, p.task_y, p.task_z, p.core_id, union.number, p.cluster_id, p.memory_core)
        for union, places in machine.union_places()
        for p in places
    ]
    return np.array(rows, np.int64)


def slots_of(union: "Union") -> dict[tuple[str, int | None], "tuple[NativeCore, ...]"]:
    """Return the participants of the barriers of *union*, by scope and the number of the cluster, as in `Union.arrive`."""
    slots: dict[tuple[str, int | None], Any] = {}
    for core, scope in itertools.product(union.cores, NAMED):
        within = core.cluster.number if scope.startswith("cluster") and core.cluster is not None else None
        if core in participants(core, scope):
            slots.setdefault((scope, within), participants(core, scope))
    return slots


class Team:
    """The cores of *sets*, one set per union, in the order in which they begin, with their *chains*, for the *tasks* of all unions.

    The results of the tasks are recorded in *ledger*, a chain without arrays and pieces.  As many unions as *resident*
    would run at once on the board; there are fewer sets if each ends before the next one begins.
    """

    def __init__(
        self,
        sets: "Sequence[Sequence[NativeCore]]",
        chains: "dict[NativeCore, Chain]",
        tasks: Rows,
        ledger: "Chain",
        resident: int,
    ) -> None:
        self._sets: list[list[NativeCore]] = [list(cores[0].union.cores) for cores in sets]
        self._order = [self._sets[0].index(core) for core in sets[0]]
        self.cores: list[NativeCore] = list(itertools.chain(*self._sets))
        self.lead = self.cores[0]
        self.tasks = tasks
        self.ledger = ledger
        self._resident = resident
        self._slots = list(slots_of(self._sets[0][0].union).items())
        self.c = layout.Team()
        self.at = ctypes.addressof(self.c)
        self._kept: list[Any] = []  # objects that C reads
        self._describe(len(self._sets[0]), len(tasks) // len(self._sets[0]))
        for core in self.cores:
            chains[core].c.tasks, chains[core].c.team = tasks.ctypes.data, self.at

    def _describe(self, members: int, unions: int) -> None:
        c, sets, cores = self.c, len(self._sets), len(self.cores)
        c.unions, c.members, c.sets, c.slots, c.room = (
            unions,
            members,
            sets,
            len(self._slots),
            cores + sets + 1,
        )
        lead = self.lead.seat.c
        c.call, c.drop, c.tensor = lead.call, lead.drop, self.lead.first_tensor
        c.ledger = ctypes.addressof(self.ledger.c)
        self._table = self._words("table", (cores, len(layout.TEAM_CORE)))
        self.switches = self._words("switches", (cores + 1,))
        self._queue = self._words("queue", (c.room,))
        self._strands_left = self._words("strands_left", (cores + 1,))
        self._sets_left, self._met = self._words("sets_left", (sets,)), self._words("met", (sets,))
        self._words("left", (sets,))
        self._meetings = self._words("meetings", (sets, len(self._slots), members + 1))
        self._words("cores", (cores,))[:] = [core.seat.at for core in self.cores]
        self._words("order", (members,))[:] = self._order
        scopes, slot = self._words("scopes", (len(ISA),)), self._words("slot", (len(NAMED), members))
        slot[:] = -1
        expected = self._words("expected", (len(self._slots), members + 1))
        for nth, (scope, name) in enumerate(NAMED.items()):
            scopes[NUMBERS[name]] = nth
            for number, ((slot_scope, _), who) in enumerate(self._slots):
                numbers = [self._sets[0].index(core) for core in who]
                expected[number, 0], expected[number, 1 : 1 + len(who)] = len(who), numbers
                if slot_scope == scope:
                    slot[nth, numbers] = number
        shared = [
            [(a.where(), a.nbytes) for cluster in cores[0].union.clusters for a in cluster.sram.allocations]
            for cores in self._sets
        ]
        c.sram = len(shared[0])
        self._words("pieces", (sets, c.sram, 2))[:] = np.array(shared, np.int64).reshape(sets, c.sram, 2)

    def _words(self, name: str, shape: tuple[int, ...]) -> Rows:
        words = np.zeros(shape, np.int64)
        self._kept.append(words)
        setattr(self.c, name, words.ctypes.data)
        return words

    def calls(self, more: object, taken: object, longer: object) -> None:
        """Let C call *more* for another strand, *taken* for Python to copy the rows of the logs, and *longer* for space in a full log."""
        self.c.more, self.c.taken, self.c.longer = id(more), id(taken), id(longer)

    def begin(self) -> None:
        """Prepare the beginning of a launch, with the arguments of the first core."""
        self.c.words = self.lead.seat.given.at
        self.ledger.begin_again()
        self.ledger.c.nrows = 0

    def lengthen(self) -> None:
        """Provide more space for the full log of the running core."""
        self.cores[self.c.running].seat.lengthen()

    def taken(self) -> "Iterator[Rows | LongLog]":
        """Yield the logs of the ended tasks, which C drops: those in the ledger, and that of the last task if it has been full."""
        ledger, seat = self.ledger, self.cores[self.c.running].seat
        yield ledger.taken()
        ledger.c.nrows = 0
        if seat.c.packed_rows:
            yield seat.taken_log()

    def places(self, done: Rows) -> Rows:
        """Return the places of the tasks *done*, in their order; rows of IPU cores and of memory cores are different in *done* afterwards."""
        places = self.tasks[self.ledger.who(done)]
        self.ledger.who(done)[:] = places[:, OF_MEMORY]
        return places

    # -- the state when Python takes over ------------------------------------------------------

    def take_up(self, machine: "Machine", strands: "Sequence[Carrier]") -> TakenUp:
        """Give unions, clusters and cores the state that C has left; the tasks that have begun are on *strands*.

        A core that has not begun its task is replaced by a new one.
        """
        c, idle = self.c, self._sets_left[: self.c.idle_sets].tolist()
        places, cores = machine.union_places(), list(self.cores)
        first = {nth: int(self._table[nth * c.members, TASK]) for nth in range(c.sets) if nth not in idle}
        begun: dict[int, list[Any]] = {}
        for nth, task in sorted(first.items(), key=lambda item: item[1]):
            at, number = nth * c.members, task // c.members
            cores[at : at + c.members] = self._take_up_union(machine, nth, places[number])
            begun[number] = [cores[at + k] for k in self._order]
        for core, row in zip(self.cores, self._table.tolist(), strict=True):
            if row[BEGUN] and not row[ENDED]:
                core.carrier = strands[c.strand if core is self.cores[c.running] else row[STRAND]]
        queue = [int(self._queue[(c.first + k) % c.room]) for k in range(c.ready)]
        ready: list[Core | int] = [cores[what] if what >= 0 else -1 - what for what in queue]
        admitted = min(c.admitted + self._resident - c.sets, c.unions)
        return TakenUp(cores[c.running], begun, [*ready, *range(c.admitted, admitted)], admitted)

    def _take_up_union(
        self, machine: "Machine", nth: int, description: "tuple[Union, list[Any]]"
    ) -> "list[Any]":
        """Return the cores of the union in set *nth*; *description* is the union without cores, and their places."""
        cores, members = self._sets[nth], self.c.members
        rows = self._table[nth * members : (nth + 1) * members].tolist()
        union, places = description
        union.clusters.extend(cores[0].union.clusters)
        union.resumes_at(int(self._met[nth]))
        for cluster in union.clusters:
            cluster.cores.clear()
        for core, row, place in zip(cores, rows, places, strict=True):
            cluster = union.clusters[place.cluster_id]
            member: Core = core
            if row[BEGUN]:
                core.take_up(place, union, ended=bool(row[ENDED]))
            else:
                member = machine.native.core_class(machine, place, union, cluster)
            cluster.cores.append(member)
            union.cores.append(member)
        for ((scope, within), _), (many, *arrived) in zip(
            self._slots, self._meetings[nth].tolist(), strict=True
        ):
            if many:
                name = barrier(NAMED[scope])[0]
                first = union.cores[arrived[0]]
                meeting = Meeting(
                    name, scope, participants(first, scope), [union.cores[k] for k in arrived[:many]]
                )
                union.waits_in(meeting, within)
        return union.cores
