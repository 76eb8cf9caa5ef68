"""Prepared launches: the machine, the core and the chain of tasks of one launch are reused for the next of the same kernel on the same grid.

The initial state of a launch follows from the kernel, its grid and its options; only the tensors and numbers differ
between launches. So a launch only writes its arguments, lets C run all tasks, and copies the counts; its results are
computed when they are requested.  If a task calls Python, the machine continues as if the launch had begun in the
usual way, and the launch is not prepared again.
"""

import functools
import itertools
import math
import threading
import weakref
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from attrs import evolve

from mlusim.engine.preference import AUTO, PYTHON, debugged, preferred
from mlusim.isa.table import ISA
from mlusim.machine.kernel import Kernel, Kind
from mlusim.machine.native.build import available
from mlusim.machine.native.chain import Chain, doings
from mlusim.machine.native.screen import ReadyLaunch, Screen
from mlusim.machine.native.seat import LongLog, joined
from mlusim.machine.native.team import Team, task_rows
from mlusim.machine.native.text.layout import OFFSET_BITS
from mlusim.machine.native.text.screen import Suspicion
from mlusim.machine.observed import Screened
from mlusim.machine.options import USUAL_OPTIONS, LaunchOptions
from mlusim.machine.scheduling.carrier import Carrier, Carriers
from mlusim.machine.scheduling.schedule import begin_memory_cores_first
from mlusim.machine.scheduling.scheduler import QUIET
from mlusim.machine.tally import SilentTasks, Tally
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.allocation import Allocation, Bytes, Heap, Pool, on_chip_bytes
from mlusim.memory.pointer import Ptr, View
from mlusim.memory.space import DIRECTIONS, NRAM, SRAM, WRAM, Space
from mlusim.time.log import Rows

if TYPE_CHECKING:
    from mlusim.machine.machine import Machine
    from mlusim.machine.native.core import NativeCore
    from mlusim.machine.native.run import Loaded
    from mlusim.machine.options import Request

MOST_TASKS = 4096  # tasks of a launch, each with a row of counters
one_at_a_time = threading.Lock()
"""Held while a prepared launch runs: one within it, or on another thread, runs in the usual way."""


class _Shared(Pool):
    """The on-chip memories of a prepared launch, which all prepared launches share, since only one runs at a time."""

    _made: ClassVar[dict[tuple[Space, int, int], Bytes]] = {}

    def __init__(self) -> None:
        self._taken: dict[tuple[Space, int], int] = {}

    def take(self, space: Space, nbytes: int) -> Bytes:
        """Return a byte array of *nbytes* bytes that the launch has not used yet."""
        number = self._taken.get((space, nbytes), 0)
        key = space, nbytes, number
        self._taken[space, nbytes] = number + 1
        raw = self._made.get(key)
        if raw is None:
            raw = self._made[key] = on_chip_bytes(nbytes)
        return raw

    def give(self, space: Space, raw: Bytes) -> None:
        """Do nothing: the array stays for the next launch."""


class Unfit(Exception):
    """The arguments differ from those for which the launch was prepared."""


class LaunchCounts(NamedTuple):
    """The counts of a launch: of its tasks, the rows of their logs in pieces, and the non-zero bytes, instructions and lines in the form of `mlusim_counted`."""

    done: Rows
    logs: Sequence[Rows | LongLog]
    sums: Rows


class Counted:
    """The counts of a launch with the memories *given*, which stay in C until they are requested, or until the next launch of *prepared*."""

    __slots__ = ("__weakref__", "_counts", "_prepared", "given")

    def __init__(self, prepared: "Prepared", allocations: tuple[Allocation, ...]) -> None:
        self._prepared, self.given = prepared, allocations
        self._counts: LaunchCounts | None = None

    printed: ClassVar[tuple[str, ...]] = ()  # it has not called Python

    @property
    def request(self) -> "Request":
        """Return the request for such launches, without arguments."""
        return self._prepared.request

    def tally(self) -> Tally:
        """Return the sums of the launch."""
        return self._prepared.tally(self)

    def taken(self) -> LaunchCounts:
        """Return a copy of the counts."""
        with self._prepared.taking:
            if self._counts is None:
                self._counts = self._prepared.counts()
            return self._counts


def _nothing() -> None:
    """Return None: C has no counts."""


class Prepared:
    """The launch of *machine*, which has not run, prepared for other arguments; `fits` says whether that is possible."""

    def __init__(self, machine: "Machine", heap: Heap) -> None:
        self.heap = heap  # the heap of its tensors
        self._machine = machine
        machine.pool = _Shared()
        self._loaded: Loaded = machine.native
        # If no task pauses, one core's memory serves all, since it is renewed for each task: the host's caches hold it.
        machine.pool_of_core = None if self._loaded.program.pauses else _Shared
        self.compiler = available()
        self._given = len(machine.request.allocations)
        self._core: NativeCore
        self.chain: Chain | None
        self._core, self.chain = self._ready(machine)
        self._first = self._core.first_tensor
        machine.request = evolve(machine.request, arguments=())
        self._numbers: dict[Allocation, int] = {}
        # State of the running launch.
        self._allocations: tuple[Allocation, ...] = ()
        self._arguments: Sequence[Any] = ()
        self._carrier: Carrier | None = None  # the carrier of its strand
        self._broken = False  # whether it has called Python
        self._outcome: BaseException | None = None
        self._pieces: list[Rows | LongLog] = []  # rows of the logs
        self._sums = np.empty(2 * (len(DIRECTIONS) + 3 * len(ISA)), np.int64)
        self._sums_at = self._sums.ctypes.data
        # State of the launch whose counts C still has; weak, so that it keeps no tensors alive.
        self._last: Callable[[], Counted | None] = _nothing
        self.taking = threading.Lock()  # held while these counts are copied

    def _ready(self, machine: "Machine") -> "tuple[NativeCore, Chain | None]":
        """Create the initial state of the launches; return the core for the arguments, and its chain, or None if they cannot be prepared."""
        core: NativeCore = machine.ready()  # type: ignore[assignment]
        chain = core.make_ready(machine.request.kernel, machine.bound(core), machine.block_tasks())
        if chain is not None:
            core.seat.called = self._called
            self._memories = _Memories(core, chain)
        return core, chain

    @property
    def cores(self) -> int:
        """Return the number of its cores."""
        return 1

    # -- the run -----------------------------------------------------------------------------------

    def run(
        self, device: object, arguments: Sequence[Any], running: "list[Collection[Allocation]]"
    ) -> "Counted | Machine | None":
        """Run the launch with *arguments*, which fit; None if they differ from those for which it was prepared.

        Returns the counts, or the machine after a task has called Python: it is then `broken`.  While it runs, its
        memories are in the list *running*.  Raises the exceptions of the launch.
        """
        if not one_at_a_time.acquire(blocking=False):
            return None
        try:
            allocations = self._take(device, arguments)
            if allocations is None:
                return None
            running.append(allocations)
            try:
                return self._run(allocations, arguments)
            finally:
                running.remove(allocations)
                for allocation in allocations:
                    allocation.launches += 1
        finally:
            one_at_a_time.release()

    def _take(self, device: object, arguments: Sequence[Any]) -> tuple[Allocation, ...] | None:
        """Write the *arguments* for C; return their memories."""
        # An address that the kernel reads may lead to any of these.
        if self._loaded.program.follows and self.heap.kept:
            return None
        numbers, seat = self._numbers, self._core.seat

        def word(argument: DeviceTensor | Ptr) -> int:
            if isinstance(argument, DeviceTensor):
                allocation, offset, ours = argument.allocation, 0, argument.device is device
            else:
                allocation, offset = argument.view.allocation, argument.offset
                ours = allocation.heap is self.heap
            number = numbers.get(allocation)
            if number is None:
                number = self._first + len(numbers)
                if not (ours and allocation.live) or len(numbers) == self._given:
                    raise Unfit
                numbers[allocation] = number
                seat.describe(number, allocation)
            return pointer_word(number, offset)

        try:
            words = self._machine.request.kernel.native.numbers(arguments, word)
            if words is None or len(numbers) != self._given:
                return None
            seat.given.write(words)
            return tuple(numbers)
        except Unfit:
            return None
        finally:
            numbers.clear()

    def _give_counts_up(self) -> None:
        """Give the last launch a copy of its counts if they may still be requested: C is about to overwrite them."""
        last, self._last = self._last(), _nothing
        if last is not None:
            last.taken()
        self._pieces.clear()

    def _run(self, allocations: tuple[Allocation, ...], arguments: Sequence[Any]) -> "Counted | Machine":
        chain = self.chain
        assert chain is not None
        self._give_counts_up()
        chain.begin_again()
        self._allocations, self._arguments = allocations, arguments
        carriers = Carriers(QUIET)
        self._carrier = carriers.carry(self._carry)
        try:
            self._resumed(self._carrier)
        finally:
            carriers.close()
            self._allocations, self._arguments, self._carrier = (), (), None
        return self._machine if self._broken else self._counted(allocations)

    def _resumed(self, strand: Carrier) -> None:
        """Run all tasks, the first on *strand*."""
        try:
            strand.resume()
        except BaseException as error:
            if not self._broken:
                raise
            self._machine.go_on(error)
        if self._broken:
            self._machine.go_on(None)

    def _counted(self, allocations: tuple[Allocation, ...]) -> Counted:
        counted = Counted(self, allocations)
        self._last = weakref.ref(counted)
        return counted

    def counts(self) -> LaunchCounts:
        """Return a copy of the last launch's counts."""
        chain = self.chain
        assert chain is not None
        many = self._loaded.library.mlusim_counted(self._core.seat.at, self._sums_at)
        return LaunchCounts(chain.done(), (*self._pieces, chain.taken()), self._sums[:many].copy())

    def _carry(self) -> None:
        """Let C run all tasks, on a strand; if one calls Python, continue as any launch does."""
        try:
            self._run_tasks()
        except BaseException as error:  # noqa: BLE001 - raised again in the continued launch
            if not self._broken:
                self._break()
            self._outcome = error
        if self._broken:
            self._machine.carry(self._core)

    def _run_tasks(self) -> None:
        """Let C run tasks until all are done; when the log is full, copy its rows and continue."""
        seat, left = self._core.seat, 0
        while not left:
            left = self._loaded.run_again(seat.at, seat.given.at)
            if not left:
                self._pieces.append(self.chain.taken())  # type: ignore[union-attr]

    def _called(self, why: int, a: int, b: int) -> None:
        self._break()
        self._core.called(why, a, b)

    def _break(self) -> None:
        """Continue the launch in its machine, as if it had begun in the usual way, because a task calls Python."""
        core, machine, chain = self._core, self._machine, self.chain
        assert chain is not None
        assert self._carrier is not None
        self._broken = True
        # Other cores of this launch need this.
        machine.pool, machine.pool_of_core = Pool(), None
        machine.request = evolve(machine.request, arguments=tuple(self._arguments))
        if self._pieces:
            chain.knows(joined([*self._pieces, chain.taken()]))
        core.seat.called = core.called
        views = [View(a, a.declared.dtype, core) for a in self._allocations]
        core.resume(views, self._resume)
        machine.take_up(core, self._carrier)

    def _resume(self) -> None:
        """Continue after C has returned."""
        outcome, self._outcome = self._outcome, None
        if outcome is not None:
            raise outcome

    @property
    def request(self) -> "Request":
        """Return its request, without arguments."""
        return self._machine.request

    @property
    def broken(self) -> bool:
        """Return whether it has been continued in Python, and will not run again."""
        return self._broken

    def close(self) -> None:
        """Release its memories; it is not used again."""
        self._give_counts_up()
        if self._core.seat is not None:
            self._core.release()

    # -- results --------------------------------------------------------------------------

    def tally(self, counted: Counted) -> Tally:
        """Return the sums of a launch with the counts *counted*."""
        machine = self._machine
        tally = Tally(machine.board, machine.memory_limits)
        totals = tally.traffic_by, tally.counts, tally.lines, tally.spare
        ends, counts = itertools.accumulate(map(len, totals)), counted.taken()
        sums = dict(zip(counts.sums[::2].tolist(), counts.sums[1::2].tolist(), strict=True))
        for total, end in zip(totals, ends, strict=True):
            first = end - len(total)
            for place in range(len(total)):
                total[place] = sums.get(first + place, 0)
        self._add_tasks(tally, counts.done, joined(counts.logs), counted.given)
        return tally

    def _add_tasks(self, tally: Tally, done: Rows, rows: Rows, allocations: Sequence[Allocation]) -> None:
        """Add to *tally* the results *done* of tasks, with the *rows* of their logs, in launches with *allocations*."""
        tensors = {a: n for n, a in enumerate(allocations, self._first)} if self._machine.timing else None
        for tasks in doings(done, rows, self._places(done)):
            self._memories_of(tasks).tell(tally, tasks)
            tally.add_silent(tasks, tensors)

    def _places(self, _done: Rows) -> Rows:
        assert self.chain is not None
        return self.chain.places()

    def _memories_of(self, _tasks: SilentTasks) -> "_Memories":
        return self._memories


class PreparedUnions(Prepared):
    """A prepared launch of unions: there are cores for as many unions as run at once in C, each prepared for any of its tasks."""

    def _ready(self, machine: "Machine") -> "tuple[NativeCore, Chain | None]":
        places = task_rows(machine)
        resident = min(machine.board.places(machine.kind.unions), len(machine.union_places()))
        # If no task pauses, each union ends before the next one begins.
        sets: list[list[Any]] = machine.ready_unions(resident if self._loaded.program.pauses else 1)
        self._every: list[NativeCore] = list(itertools.chain(*sets))
        chains: dict[NativeCore, Chain] = {}
        for core in self._every:
            machine.scheduler.running = core
            chain = core.make_ready(machine.request.kernel, machine.bound(core), places[:1], team=True)
            if chain is None:
                return core, None
            core.seat.called = functools.partial(self._called_by, core)
            chains[core] = chain
        ledger = Chain(chains[self._every[0]].c.given, (), b"", (), len(places))
        self._team = Team(sets, chains, places, ledger, resident)
        lead = self._team.lead
        # C copies the first core's arguments to the others.
        if any(
            (c.first_tensor, chains[c].c.given) != (lead.first_tensor, chains[lead].c.given)
            for c in self._every
        ):
            return lead, None
        kinds = {core.place.memory_core: core for core in reversed(self._every)}
        self._of_kind = {kind: _Memories(core, chains[core]) for kind, core in kinds.items()}
        self._tail: dict[int, NativeCore] = {}  # by strand, the task that Python continues after taking over
        self._outcomes: dict[NativeCore, BaseException] = {}
        self._strands: list[Carrier] = []
        self._switches: list[Any] = []
        # Called by C.
        self._called_of = self._more, self._taken, self._team.lengthen
        self._team.calls(*self._called_of)
        return lead, self._team.ledger

    @property
    def cores(self) -> int:
        """Return the number of its cores."""
        return len(self._every)

    def _run(self, allocations: tuple[Allocation, ...], arguments: Sequence[Any]) -> "Counted | Machine":
        self._give_counts_up()
        self._allocations, self._arguments = allocations, arguments
        self._carriers = Carriers(QUIET)
        self._team.begin()
        self._loaded.library.mlusim_team_begins(self._team.at)
        try:
            self._resumed(self._strand())
        finally:
            for strand in self._strands:
                if self._broken or self._team.c.called or self._team.c.ready:
                    strand.kill()
                elif not strand.ended:  # the strand is unused
                    strand.resume()
            self._carriers.close()
            self._strands.clear()
            self._switches.clear()
            self._allocations, self._arguments = (), ()
        return self._machine if self._broken else self._counted(allocations)

    def counts(self) -> LaunchCounts:
        """Return a copy of the cores' counts in the last launch."""
        self._loaded.library.mlusim_team_ends(self._team.at)
        return super().counts()

    def _strand(self) -> Carrier:
        """Return another strand for tasks."""
        number = len(self._strands)
        carrier = self._carriers.carry(functools.partial(self._carry_on, number), self._carriers.home)
        switch = carrier.strand.switch
        self._strands.append(carrier)
        self._switches.append(switch)
        self._team.switches[number] = id(switch)
        return carrier

    def _more(self) -> None:
        """Let tasks run on a new strand; return when this one continues."""
        strand = self._strand()
        strand.begun = True
        strand.strand.switch()

    def _taken(self) -> None:
        """Take the rows of the logs so far."""
        self._pieces.extend(self._team.taken())

    def _carry_on(self, number: int) -> None:
        """Let C run tasks on strand *number*; continue one that has called Python as any launch does."""
        error = None
        try:
            if not self._loaded.run_team(self._team.at):
                return
        except BaseException as raised:  # noqa: BLE001 - raised again in the task
            error = raised
        if not self._broken and (error is None or self._team.c.called):
            self._break()
        core = self._tail.pop(number, None)
        if core is None:
            assert error is not None
            raise error
        if error is not None:
            self._outcomes[core] = error
        self._machine.carry(core)

    def _called_by(self, core: "NativeCore", why: int, a: int, b: int) -> None:
        self._break()
        core.called(why, a, b)

    def _break(self) -> None:
        """Continue the launch in its machine, as if it had begun in the usual way, because a task calls Python."""
        machine, team, ledger = self._machine, self._team, self._team.ledger
        self._broken, team.c.called = True, 1
        machine.pool, machine.pool_of_core = Pool(), None
        machine.request = evolve(machine.request, arguments=tuple(self._arguments))
        done, pieces = ledger.done(), self._pieces
        if len(done):
            self._add_tasks(machine.tally, done, joined([*pieces, ledger.taken()]), self._allocations)
        state = team.take_up(machine, self._strands)
        taken = {core for cores in state.begun.values() for core in cores if not core.ended}
        for core in self._every:
            if core in taken:
                views = [View(a, a.declared.dtype, core) for a in self._allocations]
                core.resume(views, functools.partial(self._goes_on, core))
                self._tail[self._strands.index(core.carrier)] = core  # type: ignore[arg-type]
            else:
                machine.tally.add_counts(core.mlu.counts, core.mlu.traffic, (), ())
        machine.take_up_unions(state, self._carriers.home)

    def _goes_on(self, core: "NativeCore") -> None:
        """Continue *core* after C has returned."""
        outcome = self._outcomes.pop(core, None)
        if outcome is not None:
            raise outcome

    def close(self) -> None:
        """Release its memories; it is not used again."""
        self._give_counts_up()
        for core in self._every:
            if core.seat is not None:
                core.release()

    def _places(self, done: Rows) -> Rows:
        return self._team.places(done)

    def _memories_of(self, tasks: SilentTasks) -> "_Memories":
        return self._of_kind[tasks.of_memory]


# Checked launches: C begins each task, lets tasks meet at barriers, and records the order of both, from which unordered accesses are found.
# If a task calls Python, for example because a checker may have something to report, the attempt ends, and the launch runs in the usual way.


class ReadyScreen(Screen):
    """The screen of the cores of a prepared launch, with the flags of their memories; it watches no core."""

    knows_declarations = False

    def __init__(self, looks: Screened) -> None:
        super().__init__(looks & ~Screened.RACE, lambda *_: None)  # without space for accesses
        self.looks = looks


class CheckedBlocks(Prepared):
    """A checked launch of Block tasks that is prepared."""

    @property
    def _members(self) -> "list[NativeCore]":
        return [self._core]

    @property
    def fit(self) -> bool:
        """Return whether C can begin each task: none has arrays of functions, whose flags are new, or memory of the cluster."""
        return self.chain is not None and not any(self._loaded.program.locals.values())

    def check(self, screen: Screen, arguments: Sequence[Any]) -> Callable[[], Tally] | None:
        """Run the launch with *arguments*, all of one device, and record it in *screen*; return how to compute its sums, or None if a task has called Python or the arguments do not fit."""
        if not one_at_a_time.acquire(blocking=False):
            return None
        try:
            for core in self._members:
                core.screen = screen
                screen.equip(core)
            device = next((a.device for a in arguments if isinstance(a, DeviceTensor)), None)
            allocations = self._take(device, arguments)
            if allocations is None:
                return None
            for number, allocation in enumerate(allocations, self._first):
                self._core.seat.look_at(number, *screen.tensor(allocation))
            screen.c_begins_tasks()
            counted = self._run(allocations, arguments)
            return counted.tally if isinstance(counted, Counted) and screen.takes_meetings() else None
        except Suspicion:
            return None
        finally:
            for core in self._members:
                core.screen = self._machine.screen
            one_at_a_time.release()

    def machine_of(self, request: "Request") -> "Machine":
        """Return its machine, which is that of *request* until this is called again."""
        self._machine.request = request
        return self._machine

    def _carry(self) -> None:
        self._run_tasks()

    def _break(self) -> None:
        raise Suspicion


class CheckedUnions(CheckedBlocks, PreparedUnions):
    """A checked launch of unions that is prepared."""

    @property
    def _members(self) -> "list[NativeCore]":
        return self._every

    @property
    def fit(self) -> bool:
        """Return the same of unions, whose tasks have no memory of the cluster."""
        return super().fit and not self._team.c.sram

    def _carry_on(self, number: int) -> None:
        del number
        try:
            left = self._loaded.run_team(self._team.at)
        except BaseException:
            self._team.c.called = 1
            raise
        if left:
            self._team.c.called = 1
            raise Suspicion


PLAIN = (str, bool, str)  # usual types of effects, timing and engine
MOST_PREPARED = 32  # prepared launches of a device, the last ones
MOST_CORES = 256  # cores of these launches together
_Key = tuple[Any, ...]


class Preparations:
    """The prepared launches of a device, by kernel, grid and options; and those that ran once, or cannot be prepared."""

    def __init__(self, heap: Heap) -> None:
        self._heap = heap
        self.by_key: dict[_Key, Prepared | bool] = {}  # True: it ran once; False: it cannot be prepared
        # The last launch of Block tasks found.
        self._last: tuple[LaunchOptions, object, object, object, Prepared] | None = None

    def find(
        self,
        options: LaunchOptions,
        kernel: object,
        dim: object,
        kind: object,
        machine_of: "Callable[[], Machine] | None" = None,
    ) -> "Prepared | None":
        """Return the prepared launch of *kernel* on the grid *dim*; None if there is none, or if the usual way is required.

        A launch that ran once is prepared here, from the machine in C that *machine_of* makes.
        """
        last = self._last
        if last and options is last[0] and kernel is last[1] and kind is last[2] and dim is last[3]:
            prepared: Prepared | None = last[4]
        elif {*map(type, dim if isinstance(dim, tuple) else (dim,))} == {int}:
            prepared = self._found(options, kernel, dim, kind, machine_of)
        else:  # equal objects may still differ: a dictionary finds 1.0 under 1
            return None
        # The engine may have changed since.
        asked = options.engine if options.engine != AUTO else preferred()
        if (
            prepared is None
            or asked == PYTHON
            or (asked == AUTO and debugged())
            or available() != prepared.compiler
        ):
            return None
        return prepared

    def _found(
        self,
        options: LaunchOptions,
        kernel: object,
        dim: object,
        kind: object,
        machine_of: "Callable[[], Machine] | None",
    ) -> "Prepared | None":
        # Compared by identity: a wrong argument, such as an array, is rejected later, where it is read.
        if options.observe is not USUAL_OPTIONS.observe or options.seed is not None:
            return None
        if options.layout is not None or options.threads is not None:
            return None
        plain = (options.effects.__class__, options.timing.__class__, options.engine.__class__) == PLAIN
        if not plain or not isinstance(kernel, Kernel) or not isinstance(kind, Kind):
            return None
        prepared = self.by_key.get(_key(kernel, dim, kind, options))
        if prepared is True and machine_of is not None:
            return self._prepared(machine_of())
        if not isinstance(prepared, Prepared):
            return None
        if not kind.unions:  # otherwise the order of memory cores counts, too
            self._last = options, kernel, kind, dim, prepared
        return prepared

    def note(self, machine: "Machine") -> None:
        """Record that a launch like that of *machine*, without observers, has run once in C."""
        if machine.unwatched_in_c and machine.threads == 1:
            request = machine.request
            key = _key(request.kernel, machine.dim, machine.kind, request.options)
            plain = not any(argument.__class__ in (tuple, list) for argument in request.arguments)
            few = math.prod(request.dim) <= MOST_TASKS
            usual = not request.variables and request.options.layout is None
            if key not in self.by_key and plain and few and usual:
                self._keep(request, prepared=True)

    def _prepared(self, machine: "Machine") -> "Prepared | None":
        """Prepare the launch of *machine*; return None, and never try it again, if it cannot be prepared."""
        request, prepared = machine.request, None
        if not (machine.native.program.follows and self._heap.kept):
            prepares = PreparedUnions if request.kind.unions else Prepared
            prepared = prepares(machine, self._heap)
            if prepared.chain is None:
                prepared.close()
                prepared = None
        self._keep(request, prepared=prepared or False)
        return prepared

    def checked(
        self, request: "Request", looks: Screened, machine_of: "Callable[[Screen], Machine | None]"
    ) -> ReadyLaunch | None:
        """Return the prepared launch like *request*, checked for *looks*; one that ran once is prepared here, with *machine_of*.  Return None if there is none."""
        key = *_key(request.kernel, request.dim, request.kind, request.options), looks
        prepared = self.by_key.get(key)
        if prepared is True:
            screen = ReadyScreen(looks)
            machine = machine_of(screen)
            prepared = self.by_key[key] = (machine is not None and self._checked(machine)) or False
            self._bound()
        if not isinstance(prepared, CheckedBlocks) or prepared.compiler != available():
            return None
        return ReadyLaunch(prepared.machine_of, prepared.check, functools.partial(self.end, prepared))

    def _checked(self, machine: "Machine") -> "CheckedBlocks | None":
        prepares = CheckedUnions if machine.kind.unions else CheckedBlocks
        prepared = prepares(machine, self._heap)
        if prepared.fit:
            return prepared
        prepared.close()
        return None

    def note_checked(self, request: "Request", looks: Screened) -> None:
        """Record that a launch like *request*, checked for *looks*, has run once and had nothing to report."""
        if math.prod(request.dim) <= MOST_TASKS:
            self.by_key.setdefault(
                (*_key(request.kernel, request.dim, request.kind, request.options), looks), True
            )
            self._bound()

    def _keep(self, request: "Request", *, prepared: "Prepared | bool") -> None:
        self._last = None
        kernel, dim, kind = request.kernel, request.dim, request.kind
        self.by_key[_key(kernel, dim, kind, request.options)] = prepared
        if dim[1:] == (1, 1):
            self.by_key[_key(kernel, dim[0], kind, request.options)] = prepared
        self._bound()

    def _bound(self) -> None:
        """Discard the oldest launches if there are too many."""
        while len(self.by_key) > 2 * MOST_PREPARED or self._cores > MOST_CORES:
            self.forget(next(iter(self.by_key)))

    @property
    def _cores(self) -> int:
        return sum([prepared.cores for prepared in {*self.by_key.values()} if isinstance(prepared, Prepared)])

    def take(self, earlier: "Preparations") -> None:
        """Move the launches of *earlier*, which belong to a device of the same board, to this object."""
        self.by_key.update(earlier.by_key)
        earlier.clear()
        for prepared in self.by_key.values():
            if isinstance(prepared, Prepared):
                prepared.heap = self._heap

    def clear(self) -> None:
        """Drop all launches, and forget which cannot be prepared."""
        self.by_key, self._last = {}, None

    def forget(self, key: _Key) -> None:
        """Discard all knowledge of *key*."""
        self._last = None
        dropped = self.by_key.pop(key)
        if isinstance(dropped, Prepared):
            for other in [other for other, prepared in self.by_key.items() if prepared is dropped]:
                del self.by_key[other]
            dropped.close()

    def end(self, prepared: "Prepared") -> None:
        """Prepare no launch like *prepared* again, because it has called Python."""
        self._last = None
        for key in [key for key, other in self.by_key.items() if other is prepared]:
            self.by_key[key] = False


def _key(kernel: object, dim: object, kind: Kind, options: LaunchOptions) -> _Key:
    order = kind.unions and begin_memory_cores_first()
    return kernel, dim, kind.unions, order, options.effects, options.timing, options.engine


class _Memories:
    """The on-chip declarations of the tasks of *chain*, which *core* runs."""

    def __init__(self, core: "NativeCore", chain: Chain) -> None:
        arenas = ((space, core.used[space]) for space in (NRAM, WRAM) if space in core.used)
        self._own = [(s, arena.base, tuple(arena.allocations), arena.high_water) for s, arena in arenas]
        self._arrays = [array.allocation for array in chain.arrays]
        if core.cluster is not None:
            sram = core.cluster.sram
            shared = sram.allocations[: core.shared_count]
            self._own.append(
                (SRAM, sram.base, (), max([0, *(a.address - sram.base + a.nbytes for a in shared)]))
            )

    def tell(self, tally: Tally, tasks: SilentTasks) -> None:
        """Add to *tally* the *tasks* that have declared the first arrays of functions."""
        met, declared = self._arrays[: tasks.met], []
        for space, base, first, high in self._own:
            arrays = [a for a in met if a.space is space]
            tally.reaches(space, max([high, *(a.address - base + a.nbytes for a in arrays)]))
            if space is not SRAM:
                declared.append((base, (*first, *arrays)))
        if not tasks.of_memory:
            tally.declared = tally.declared or tuple((base, every) for base, every in declared if every)


def pointer_word(number: int, offset: int) -> int:
    """Return C's word for byte *offset* of allocation *number*."""
    return ((number << OFFSET_BITS) + offset) & (1 << 64) - 1
