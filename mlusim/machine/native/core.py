"""A core whose kernel runs in C: its counters are in the C structure, and Python does the rare work.

The schedule, barriers, the log, the tally and the predicted time are those of `machine.core`; the body runs on the
same greenlet, and a call from C may switch to another core.
"""

import contextlib
import ctypes
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import MEMORY_TYPES, DType, boolean, uint8
from mlusim.engine.contract import BUILT_INS, Flight
from mlusim.engine.issue import has_no_effect
from mlusim.engine.values import RULES, made_by
from mlusim.errors import Fault, LaunchError, shown_file
from mlusim.isa.declare import Flow
from mlusim.isa.table import ISA
from mlusim.isa.vv import BYTES, Register
from mlusim.machine.cluster import Cluster, Union
from mlusim.machine.core import Core
from mlusim.machine.hub import MetAlone, MisplacedScalar, TaskRan
from mlusim.machine.native.chain import MOST_TASKS, Chain, DeclaredLocal, FreshMemory
from mlusim.machine.native.seat import Seat, Start, give, joined, taken
from mlusim.machine.native.steps import StepLog
from mlusim.machine.native.text import layout
from mlusim.machine.native.text.door import barrier, is_native
from mlusim.machine.native.text.screen import DECIDED, NONE_HAS, Suspicion
from mlusim.machine.observed import SCALAR_ACCESSES, Escape, EscapedAt, Screened, Site, Step, TaskPlace
from mlusim.machine.scheduling.renewal import repeats
from mlusim.memory.allocation import POISON, Allocation
from mlusim.memory.footprint import Access
from mlusim.memory.pointer import Ptr, View, moved_to
from mlusim.memory.space import GDRAM, NRAM, SRAM, WRAM, Space, direction_of
from mlusim.time.log import FOR_ALL, WAITS
from mlusim.time.quantities import COUNTS, LOADS, STORES, TRAFFIC, WORK, CopyLoad

if TYPE_CHECKING:
    from mlusim.machine.kernel import Kernel
    from mlusim.machine.machine import Machine
    from mlusim.machine.native.run import Loaded
    from mlusim.machine.native.screen import Looks


class RegisterInC(Register):
    """A vector register whose bytes C stores."""

    __slots__ = ("_raw",)

    def __init__(self, dtype: DType, address: int) -> None:
        self.dtype = dtype
        self._raw = np.frombuffer(memoryview((ctypes.c_uint8 * BYTES).from_address(address)), np.uint8)

    @property
    def values(self) -> np.ndarray[Any, Any] | None:
        """Return its elements; None if nothing has written it."""
        unset = self._raw[: len(layout.UNSET)].tobytes() == layout.UNSET
        return None if unset else self._raw.view(self.dtype.dtype)

    @values.setter
    def values(self, elements: np.ndarray[Any, Any] | None) -> None:
        assert elements is not None
        self._raw.view(self.dtype.dtype)[:] = elements


_marking: set[Callable[..., Any]] = set()


def marks(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare that *function*, which C calls by name, accesses no bytes of the memory to which its arguments point."""
    _marking.add(function)
    return function


def answer(core: "NativeCore", value: Any) -> None:
    """Return *value* to C as the result of its call on *core*."""
    place = core.c.argv[0]
    if value is None:
        place.kind, place.bits = layout.INTEGER, 0
    elif isinstance(value, Ptr):
        place.kind, place.bits = layout.POINTER, core.pointer(value)
    # bfloat16 is not a class of NumPy's floats.
    elif isinstance(value, float | np.floating) or getattr(value, "dtype", None) == MEMORY_TYPES[1].dtype:
        place.kind = layout.FLOAT
        place.bits = int(np.float64(value).view(np.uint64))
    else:
        place.kind = layout.INTEGER
        place.bits = int(value) & (1 << 64) - 1


def value_of(core: "NativeCore", argument: Any) -> Any:
    """Return the Python value of an argument that C passed on *core*."""
    kind, bits, dtype = argument.kind, argument.bits, argument.dtype
    if kind == layout.POINTER:
        return core.pointer_of(bits, dtype)
    if kind == layout.REGISTER:
        return RegisterInC(boolean if dtype < 0 else MEMORY_TYPES[dtype], bits)
    if kind == layout.TEXT:
        return core.texts[bits]
    if kind == layout.FLOAT:
        number = np.uint64(bits).view(np.float64)
        return float(number) if dtype < 0 else MEMORY_TYPES[dtype].dtype.type(number)
    whole = bits - (1 << 64) if bits >> 63 and kind != layout.UNSIGNED else bits
    if kind == layout.DIRECTION:
        return direction_of(whole)
    return whole if dtype < 0 else MEMORY_TYPES[dtype](whole)


class NativePolls:
    """`engine.contract.Polls` over the C structure, for instructions that Python executes for the kernel."""

    __slots__ = ("_at", "_library")

    def __init__(self, at: int, library: ctypes.PyDLL) -> None:
        self._at, self._library = at, library

    def load(self, address: int) -> None:
        """Account for a scalar load."""
        self._library.mlusim_poll_load(self._at, address)

    def copy(self, address: int, nbytes: int) -> None:
        """Account for a small copy."""
        self._library.mlusim_poll_copy(self._at, address, nbytes)

    def again(self, nbytes: int) -> None:
        """Account for a copy of bytes that were copied before."""
        self._library.mlusim_poll_again(self._at, nbytes)


MOST_LOCALS = 256  # arrays of functions, each at its place, that a core keeps for further tasks
ROWS = tuple(ISA.values())
YIELDS = layout.MEET, layout.ATOMIC, layout.SPIN  # calls that only let other tasks run
_built_in = operator.attrgetter(*BUILT_INS)


class NativeCore(Core):
    """One core whose kernel is C."""

    machine: "Machine"
    seat: Seat  # None before the first task, and once the core is released
    in_python = False

    def __init__(self, machine: "Machine", place: TaskPlace, union: Union, cluster: Cluster | None) -> None:
        self.c: Any = None
        super().__init__(machine, place, union, cluster)
        self._numbers: dict[Allocation, int] = {}
        self.views: list[View | None] = [None]  # the first view of each allocation, by number
        self._pythons: dict[int, Flight] = {}  # effects in flight that Python issued
        self._issued = 0
        self._meets = False  # whether it is in a barrier at C's request
        self._declaring: tuple[str, int] | None = None
        self._loaded: Loaded = machine.native
        self.texts = self._loaded.program.texts  # string literals of the kernel
        self.screen: Looks | None = machine.screen
        self.seat = None  # type: ignore[assignment]
        self._start: Start | None = None
        self._shares = False  # whether it has cluster memory at file scope: it then runs no further task
        self._locals: dict[tuple[int, int, int], Ptr] = {}
        self._declared: list[tuple[int, int, Ptr]] = []  # declarations of the first task, in this order
        self._chain: Chain | None = None
        self._tried = False  # whether the possibility of a chain has been checked
        self._most = MOST_TASKS  # most tasks of a chain
        self.first_tensor = 0  # the number of its first tensor argument, once it is ready
        self._resumes: Callable[[], None] | None = None  # continues a chain that has begun and called Python

    # -- the run ---------------------------------------------------------------------------------

    def run(self, kernel: "Kernel", arguments: Sequence[Any]) -> None:
        """Run the kernel's C; raises exceptions of Python code that ran for it."""
        if self.seat is None:
            self._prepare(kernel, arguments)
            if self._start is not None:
                self._chain = self._foreseen(self._start)
        start, c, seat = self._start, self.c, self.seat
        if self.machine.counts is not None:
            c.cover = self.machine.counts.at(-1 if self.place.memory_core else self.place.task)
        try:
            if self._chain is None:
                self._loaded.run(seat.at, seat.given.at)
            else:
                self._run_chain(self._chain, seat)
            self._from_c()
            if self.flights or c.nflights:
                self.drain()
            for number, view in enumerate(self.views):
                if view is not None:
                    view.read += seat.read(number)
            self.renewable = start is not None and not self._shares
            if start is not None and not self._tried and self._may_follow:
                self._tried, self._chain = True, self._chained(start)
        except KeyboardInterrupt as stop:
            file, line = self.site()
            stop.add_note(f"at {shown_file(file)}:{line} in {self.place.label} of kernel {kernel.name}")
            raise

    @property
    def _may_follow(self) -> bool:
        """Return whether a chain is of use: another task may follow, or this is the first, whose arrays the next launch foresees."""
        machine = self.machine
        return self.place.task == 0 or machine.crew is not None or machine.scheduler.more_to_begin

    def _foreseen(self, start: Start, *, team: bool = False) -> Chain | None:
        """Return the chain for all tasks, if an earlier launch has shown the arrays declared by the first one; None otherwise.

        They are declared here for their addresses and numbers, and end before a task begins.  In a *team* the core
        may be a memory core, and have memory of the cluster, which begins with each union.
        """
        located = self._loaded.program.locals.get(self._limits)
        if located is None or not self._chains(team=team):
            return None
        if not team and any(space is SRAM for _, _, space, *_ in located):
            return None
        tops, shared = {space: arena.high_water for space, arena in self.used.items()}, self.shared_count
        for place, site, space, dtype, count, name, stack, align in located:
            self.c.site = site
            self.pointer(self._declare_first(place, space, dtype, count, name, stack=stack, align=align))
        self.c.site = 0
        chain = self._chained(start, team=team)
        assert chain is not None
        self._tried = True
        self._undeclare(chain, start)
        for space, arena in self.used.items():
            arena.high_water = tops.get(space, 0)
        self.shared_count = shared
        return chain

    @property
    def _limits(self) -> tuple[int, ...]:
        """Return the sizes of the launch's memories, which determine the addresses of its arrays; a memory core has its own arrays."""
        sizes = tuple(self.machine.memory_limits.values())
        return (*sizes, 0) if self.place.memory_core else sizes

    def _chains(self, *, team: bool = False) -> bool:
        """Return whether there may be a chain: not if an observer needs each task."""
        return not self._hears_declarations and (team or not (self.place.memory_core or self._shares))

    def _chained(self, start: Start, *, team: bool = False) -> Chain | None:
        """Return the chain for further tasks, the first of which has ended; None if an observer needs each task."""
        # If the first task accessed other memory, too, that has a number: then Python declares the arrays.
        same = len(self.views) == start.views + len(self._declared)
        if same and self.place.task == 0:  # on threads another task may be first, and may declare less
            self._loaded.program.locals[self._limits] = [
                (
                    place,
                    site,
                    p.view.space,
                    p.view.dtype,
                    p.view.size,
                    declared.name or "",
                    declared.stack,
                    declared.align,
                )
                for place, site, p in self._declared
                for declared in (p.view.allocation.declared,)
            ]
        same = same and (team or all(p.view.space is not SRAM for _, _, p in self._declared))
        if not self._chains(team=team):
            return None
        arrays = [
            DeclaredLocal(place, site, pointer.view, self.pointer(pointer), self._fill_of(pointer))
            for place, site, pointer in (self._declared if same else ())
        ]
        crew = self.machine.crew
        most = self._most if crew is None else len(crew.tasks)
        return Chain(start.views - 1, self._fresh(start), start.places, arrays, most)

    def _fresh(self, start: Start) -> list[FreshMemory]:
        """Return the memory that is renewed for each task: filled pieces, and poison, where large allocations are separate pieces."""
        filled = {allocation for allocation, _ in start.filled}
        pieces = []
        for space, arena in self.used.items():
            top, many = start.declared.get(space, (0, 0))
            fresh = [a for a in arena.allocations[:many] if a not in filled]
            if arena.raw is None or not fresh:
                continue
            if top > layout.FIRST_POISON and space is not SRAM:
                pieces += [
                    FreshMemory(space, a.where(), a.nbytes, number=self._numbers.get(a, 0)) for a in fresh
                ]
            else:
                pieces.append(FreshMemory(space, arena.raw.ctypes.data, top))
        pieces += [FreshMemory(a.space, a.where(), a.nbytes, content) for a, content in start.filled]
        return pieces if self.screen is None else [*pieces, *self._no_values()]

    def _no_values(self) -> Iterator[FreshMemory]:
        """Yield what a screen says of the lines of memories that begin afresh: no byte has a value."""
        for space, arena in self.used.items():
            for allocation in arena.allocations:
                first, many = self.seat.lines_of(self._numbers.get(allocation, 0))
                if many:
                    yield FreshMemory(space, first, many, np.full(many, NONE_HAS, np.uint8))

    def _fill_of(self, pointer: Ptr) -> int:
        """Return the fill of an array of a function: zeros on a memory core; none for a cluster's arrays, which are filled once."""
        if pointer.view.space is SRAM:
            return -1
        return 0 if self.place.memory_core and pointer.view.space in (NRAM, WRAM) else POISON

    def _run_chain(self, chain: Chain, seat: Seat) -> None:
        machine = self.machine
        crew, resumes = machine.crew, self._resumes
        if resumes is not None:
            tasks, self._resumes = chain.places(), None
        elif crew is None:
            coming = machine.scheduler.ahead(chain.most - 1) if machine.counts is None else ()
            places = [self.place, *(block.place for block in coming)]
            tasks = np.array([(*p[:4], p.core_id, p.task, *p[4:5], *p[6:7]) for p in places], np.int64)
        else:
            tasks = crew.tasks
        if resumes is None:
            seat.c.chain = chain.begin(tasks, seat.bytes)
        try:
            if resumes is not None:
                resumes()
            elif crew is None:
                self._loaded.run_chain(seat.at, seat.given.at)
            else:
                crew.run(self, chain, self._loaded, machine.tally)
        except BaseException:
            if crew is not None:
                self.place = chain.stops()
            raise
        finally:
            seat.c.chain = None
            self._catch_up(chain)

    def _catch_up(self, chain: Chain) -> None:
        """Bring this core to C's current task of *chain*: count those before it, and make the declarations that C has made."""
        if chain.c.at > chain.begun:
            machine, before = self.machine, chain.begun
            bound = (v.allocation for views in self.bindings for v in views.values() if v.space is GDRAM)
            tensors = None if self.log is None else {a: self._numbers.get(a, 0) for a in bound}
            for tasks in chain.ended():
                arrays = [array.allocation for array in chain.arrays[: tasks.met]]
                for allocation in arrays:
                    self.arenas[allocation.space].reaches(allocation)
                machine.tally.declares(self, arrays)
                machine.tally.add_silent(tasks, tensors)
            if machine.crew is None:  # otherwise it has begun at the last of them
                machine.scheduler.passed(self, chain.begun - before)
            union = Union(block=True, number=chain.place.task)
            union.cores.append(self)
            self.begin(chain.place, union)
        for view in chain.declares():
            if view.space is SRAM:
                self.shared_count += 1
            else:
                self.arenas[view.space].allocate_again(view.allocation, poison=False)
            view.open_again()
            self.bindings.append(view.siblings)

    def _prepare(self, kernel: "Kernel", arguments: Sequence[Any]) -> None:
        """Create everything that the C of *kernel* needs at its beginning, the same for each task of this core."""
        self.seat = seat = taken()
        self.c = seat.c
        self._sit(seat)
        if self.screen is not None:
            self.screen.begin(self)
        seat.hand(*kernel.native.words(self, arguments, self.pointer))
        if self._loaded.program.follows:
            self._keep()
        self._shares = self.shared_count > 0
        if repeats(self):
            self._start = Start.of(self, seat)

    def make_ready(
        self, kernel: "Kernel", arguments: Sequence[Any], tasks: "np.ndarray[Any, Any]", *, team: bool = False
    ) -> Chain | None:
        """Create everything that launches of *kernel* need at their beginning, and return the chain of all their *tasks*; None if an observer needs each task.

        Also None if no launch has shown yet which arrays the tasks declare.  In a *team* it is a chain of any single
        task.
        """
        self.arguments = list(arguments)
        bound, self._most = len(self.bindings), len(tasks)
        self._prepare(kernel, self.arguments)
        if self._shares and not team:
            return None
        start = self._start = Start.of(self, self.seat)
        self._chain = chain = self._foreseen(start, team=team)
        if chain is not None:
            self.seat.c.chain = chain.begin(tasks, self.seat.bytes)
        # Nothing keeps the tensors of this launch: another launch has others, with the same numbers.
        tensors = [n for n, view in enumerate(self.views) if view is not None and view.space is GDRAM]
        self.first_tensor = min(tensors, default=0)
        for number in tensors:
            del self._numbers[self.views[number].allocation]  # type: ignore[union-attr]
            self.views[number] = None
        self.bindings[:bound] = [{} for _ in range(bound)]
        self.arguments = []
        return chain

    def resume(self, views: Sequence[View], resumes: Callable[[], None]) -> None:
        """Enter the first task that called Python in a prepared launch: *views* are those of its tensor arguments.

        *resumes* continues with C when the task runs.
        """
        for nth, view in enumerate(views):
            number = self.first_tensor + nth
            self.views[number] = view
            self._numbers[view.allocation] = number
            self.bindings[nth] = view.siblings
        self._resumes = resumes

    def take_up(self, place: TaskPlace, union: Union, *, ended: bool) -> None:
        """Enter the task at *place*, which C runs and Python takes over, or which has *ended* in C; no other follows."""
        self.begin(place, union)
        self.ended, self._shares = ended, True
        self._meets = not ended
        self.seat.called = self.called

    def _keep(self) -> None:
        """Describe to C the allocations that a driver keeps in the heaps of the kernel's pointer arguments."""
        heaps = dict.fromkeys(a.heap for a in self.machine.given)
        for heap in heaps:
            for allocation in () if heap is None else tuple(heap.kept.values()):
                self.pointer(self.bind(allocation, uint8))

    def renew(self, place: TaskPlace, union: Union) -> None:
        """Run the task at *place* next, with the same arguments and declarations, whose bytes are poison again."""
        start, seat = self._start, self.seat
        assert start is not None
        self.away.clear()
        count = start.views + (0 if self._chain is None else len(self._chain.arrays))
        if len(self.views) > count:
            for view in self.views[count:]:
                if view is not None:
                    del self._numbers[view.allocation]
        seat.forget(count, len(self.views), self.c.most_cells)
        del self.views[count:]
        self._undeclare(self._chain, start)
        self.begin(place, union)
        start.again(seat)
        seat.place(place)
        if self.screen is not None:
            self.screen.begin(self)
            self.screen.again(self)
        self._pythons.clear()

    def _undeclare(self, chain: Chain | None, start: Start) -> None:
        """End the declarations after those that every task begins with; the numbers of a chain's arrays have no bytes until a task declares them again."""
        for array in () if chain is None else chain.arrays:
            self.seat.describes_nothing(array.word >> layout.OFFSET_BITS)
        self.close_bindings(start.bindings)
        for space, arena in self.used.items():
            arena.cut(*start.declared.get(space, (0, 0)))
        # All of an arena is poison again then, including the part that every task begins with.
        for allocation, content in start.filled:
            allocation.raw[:] = content

    def release(self) -> None:
        """Close every pointer, and release the memories and the seat; no further task will follow."""
        super().release()
        if self.seat is not None:
            self._declaring = self.site()  # its last position
            self.seat.forget(1, len(self.views), self.c.most_cells)
            give(self.seat)
            self.seat = self.c = self._start = self._chain = None  # type: ignore[assignment]
            self._locals.clear()

    def _sit(self, seat: Seat) -> None:
        machine, mlu, tally = self.machine, self.mlu, self.machine.tally
        directions = self._loaded.directions(
            mlu.directions,
            machine.board.arch.generation,
            memory_core=self.place.memory_core,
            away=machine.policies[0].compiled,
        )
        facts = self.place.memory_core, self.log is not None, self.late, machine.compiled
        if self._loaded.program.recursive:
            seat.deepen()
        seat.take(self, (*_built_in(mlu), *facts, *directions), *self._loaded.sums(tally))
        if isinstance(self.log, StepLog):
            self.c.steps = self.log.at
        if self._loaded.stack_end:
            self.c.stack_end = self._loaded.stack_end
        mlu.lines, mlu.spare = tally.lines, tally.spare  # for rows that Python executes
        counters = seat.counters
        self.loads, self.stores = counters[LOADS.name], counters[STORES.name]  # type: ignore[assignment]
        for field in (WORK, TRAFFIC, COUNTS):
            setattr(mlu, field.name, counters[field.name])
        self.polls = NativePolls(seat.at, self._loaded.library)  # type: ignore[assignment]

    # -- exchange between C and Python -------------------------------------------------------

    def _from_c(self) -> None:
        """Copy C's changes to the Python core, before Python acts."""
        c = self.c
        self.pending, self.fence = c.pending, bool(c.fence)
        self.head.transactions, self.head.transfers = c.head_transactions, c.head_transfers
        if c.nlog or c.packed_rows:
            if self.log is not None:
                rows = joined([self.seat.taken_log()]) if c.packed_rows else self.seat.log[: c.nlog]
                grown = self.log.extend(rows)
                if grown and self.machine.meter is not None:
                    self.machine.meter.grows(self, grown)
            c.nlog = 0

    def _to_c(self) -> None:
        self.c.pending, self.c.fence = self.pending, self.fence
        self.c.head_transactions, self.c.head_transfers = self.head.transactions, self.head.transfers

    def called(self, why: int, a: int, b: int) -> None:
        """Handle a call from C for the reason *why* with *a* and *b*; exceptions raised here end the kernel."""
        if why == layout.STEPS:  # no other state for Python has changed
            assert isinstance(self.log, StepLog)
            self.log.grow(of_core=bool(a))
            return
        self._meets = False
        try:
            if why in YIELDS:
                self._yields(why, a)
            else:
                chain = self._chain
                if chain is not None and (why != layout.SUSPECT or a):
                    if chain.c.crew:
                        raise Suspicion
                    self._catch_up(chain)
                    chain.c.known = chain.c.met  # from now on Python makes the declarations
                self._from_c()
                self._UPS[why](self, a, b)
                self._to_c()
        except Fault as error:
            if error.file is None:
                self.blame(error)
            raise

    def _yields(self, why: int, a: int) -> None:
        """Let other tasks run for the reason *why*, which uses none of C's changes."""
        chain = self._chain
        if chain is not None and chain.c.crew:
            raise Suspicion
        if why == layout.MEET:
            self._meet(a)
            return
        if chain is not None and (chain.c.at > chain.begun or chain.c.met > chain.declared):
            self._catch_up(chain)  # before one runs, and before this one's memory is looked at
        if why == layout.SPIN:  # C has read the same shared bytes many times
            self.machine.scheduler.spin(self)
        else:
            self.atomic_step(bool(a))

    def _meet(self, number: int) -> None:
        """Meet others at a barrier, before which C has waited for the core's own pipes."""
        self._meets = True
        try:
            self.union.arrive(self, *barrier(ROWS[number].name))
        finally:
            self._meets = False

    def met(self, number: int, cores: int) -> None:
        """Log the *number*-th meeting of the union, of *cores*; C logs it if it waits for it."""
        if self._meets and self.seat is not None:
            self.seat.met[0], self.seat.met[1] = number, cores
        else:
            super().met(number, cores)

    def _row(self, number: int, _: int) -> None:
        c, row = self.c, ROWS[number]
        arguments = [value_of(self, c.argv[k]) for k in range(c.argc)]
        idle = True
        if self.screen is not None:
            policy = self.machine.policies[self.place.memory_core]
            idle = has_no_effect(row, policy, arguments)
            if not idle:
                self.screen.row(self, row, arguments, native=is_native(row, policy.arch))
        answer(self, getattr(self.mlu, row.name)(*arguments))
        if self.screen is not None and not idle:
            self.screen.executed(self, row)

    def _access(self, store: int, _: int) -> None:
        pointer, index = value_of(self, self.c.argv[0]), value_of(self, self.c.argv[1])
        if store and self.screen is not None and not self.screen.may_undo(pointer):
            raise Suspicion
        if store:
            pointer[index] = value_of(self, self.c.argv[2])
        else:
            answer(self, pointer[index])
        if self.screen is not None:  # it does not know of this access, which was not a fault
            raise Suspicion

    def _library(self, number: int, _: int) -> None:
        c = self.c
        function = self._loaded.program.library[number]
        arguments = [value_of(self, c.argv[k]) for k in range(c.argc)]
        if self.screen is not None and function not in _marking and not self.screen.allows(arguments):
            raise Suspicion
        answer(self, function(self, *arguments))

    @property
    def source(self) -> Allocation | None:
        """Return the allocation that the last large copy read."""
        number = -1 if self.c is None else self.c.source
        view = self.views[number] if number > 0 else None
        return None if view is None else view.allocation

    @source.setter
    def source(self, allocation: Allocation | None) -> None:
        if self.c is not None:
            self.c.source = self._numbers.get(allocation, -1) if allocation is not None else -1

    @property
    def source_at(self) -> int:
        """Return the byte offset in the source that is executed."""
        return 0 if self.c is None else int(self.c.source_at)

    @source_at.setter
    def source_at(self, start: int) -> None:
        if self.c is not None:
            self.c.source_at = start

    # -- pointers --------------------------------------------------------------------------------

    def pointer(self, pointer: Ptr) -> int:
        """Return the word of *pointer* in C: the number of its allocation above a signed offset in bytes."""
        allocation = pointer.view.allocation
        number = self._numbers.get(allocation)
        if number is None:
            number = self._adopt(pointer.view)
        return ((number << layout.OFFSET_BITS) + pointer.offset) & (1 << 64) - 1

    def _adopt(self, view: View) -> int:
        allocation, seat = view.allocation, self.seat
        number = len(self.views)
        if number > layout.MOST_ALLOCATIONS:
            raise LaunchError(
                f"the native engine names at most {layout.MOST_ALLOCATIONS} allocations in one launch; launch with engine='python'"
            )
        self._numbers[allocation] = number
        self.views.append(view)
        seat.describe(number, allocation)
        if self.screen is not None:
            seat.look_at(number, *self.screen.looked_at(self, allocation))
        self.c.nallocs = len(self.views)
        return number

    @property
    def flies(self) -> bool:
        """Return whether a screened run records the possible conflicts of asynchronous effects."""
        return self._loaded.program.flies

    def number_of(self, allocation: Allocation) -> int:
        """Return the number of *allocation*, which this core's C or Python accesses."""
        if allocation not in self._numbers:
            self.pointer(self.bind(allocation, uint8))
        return self._numbers[allocation]

    def described_again(self, pointer: Ptr) -> None:
        """Update C's description of the memory of *pointer*."""
        self.seat.describe(self._numbers[pointer.view.allocation], pointer.view.allocation)

    def pointer_of(self, word: int, dtype: int) -> Any:
        """Return the pointer for *word*, with elements of *dtype* (-1: as declared)."""
        # Half of the range is added first, so that a negative offset does not borrow from the number.
        number = (word + (1 << layout.OFFSET_BITS - 1) & (1 << 64) - 1) >> layout.OFFSET_BITS
        offset = (word - (number << layout.OFFSET_BITS) + (1 << 63) & (1 << 64) - 1) - (1 << 63)
        if number:
            offset = moved_to(offset)
        view = self.views[number] if 0 < number < len(self.views) else None
        if view is None:
            size = 1 if dtype < 0 else MEMORY_TYPES[dtype].size
            nbytes, inner, fixed = self.seat.variable(number)
            words = "" if fixed < 0 else self.texts[fixed]
            return self._loaded.program.nowhere(number, offset, size, nbytes, inner, words)
        element = view.dtype if dtype < 0 else MEMORY_TYPES[dtype]
        index, phase = divmod(offset, element.size)
        same = view.dtype is element and view.phase == phase
        return Ptr(view if same else view.recast(element, phase), index)

    # -- declarations ----------------------------------------------------------------------------

    @property
    def _hears_declarations(self) -> bool:
        screen = self.screen
        return self.hub.declare is not None or (screen is not None and screen.knows_declarations)

    def declare_local(
        self, place: int, space: Space, dtype: DType, count: int, name: str, *, stack: bool, align: int = 1
    ) -> Ptr:
        """Declare an array of a function, with the number *place* in the program, as `declare` does.

        A core that runs task after task reuses an earlier task's declaration there, if the memory is as full as it
        was.
        """
        arena = self.arenas.get(space)
        if self._start is None or self._hears_declarations or self.place.memory_core or arena is None:
            return self._declare_first(place, space, dtype, count, name, stack=stack, align=align)
        key = place, self.c.site, arena.top
        pointer = self._locals.get(key)
        if pointer is None:
            pointer = self._declare_first(place, space, dtype, count, name, stack=stack, align=align)
        else:
            view = pointer.view
            arena.allocate_again(view.allocation)
            view.open_again()
            self.bindings.append(view.siblings)
            if view.allocation in self._numbers:  # an array of the chain, whose number had no bytes
                self.described_again(pointer)
        return pointer

    def _declare_first(
        self, place: int, space: Space, dtype: DType, count: int, name: str, *, stack: bool, align: int = 1
    ) -> Ptr:
        """Declare an array of a function that no earlier task has declared there, and keep it for further tasks."""
        arena = self.arenas.get(space)
        top = 0 if arena is None else arena.top
        if space is SRAM:
            pointer = self.declare_shared(dtype, count, name, align=align)
        else:
            pointer = self.declare(space, dtype, count, None, name, stack=stack, align=align)
        if self._start is None:
            return pointer
        if space is not SRAM and len(self._locals) < MOST_LOCALS:
            self._locals[place, self.c.site, top] = pointer
        if not self._tried:
            self._declared.append((place, self.c.site, pointer))
        return pointer

    # -- effects in flight -----------------------------------------------------------------------

    def fly(self, flight: Flight, load: CopyLoad) -> None:
        """Accept an asynchronous effect that Python issued, after those of C."""
        if self.c is None:
            super().fly(flight, load)
            return
        self._take(flight, load)
        self.flights.pop()
        self._issued += 1
        self._pythons[self._issued] = flight
        c = self.c
        # The array belongs to Python, which alone can enlarge it.
        if c.nflights == c.most_flights:
            self.seat.grow()
        last = self.seat.flights[c.nflights]
        last.pipe, last.number, last.size, last.rows = WAITS[flight.pipe], self._issued, flight.inside, 1
        c.nflights += 1
        if not self.late:
            self.drain(flight.pipe)
        elif flight.inside and self.machine.compiled:
            self._act(self._loaded.library.mlusim_land_inside, 0)

    @property
    def in_flight(self) -> bool:
        """Return whether an effect has been issued that has not landed, by C or by Python."""
        return bool(self.flights) or (self.c is not None and self.c.nflights > 0)

    def drain(self, pipe: Pipe | None = None) -> None:
        """Land the effects in flight, C's and Python's in the order of their issue."""
        if self.c is not None and self.c.nflights:
            self._act(self._loaded.library.mlusim_drain, FOR_ALL if pipe is None else WAITS[pipe])
        elif self.flights:
            super().drain(pipe)

    def land(self) -> None:
        """Land the effects in flight, which C may have issued after its last call that passed on its changes."""
        if self.c is not None:
            self._from_c()
        super().land()

    def _act(self, function: Callable[[int, int], object], argument: int) -> None:
        """Let C act during Python's work for it: calls from C then see Python's changes so far."""
        self._to_c()
        try:
            function(ctypes.addressof(self.c), argument)
        finally:
            self._from_c()

    # -- where the kernel is ---------------------------------------------------------------------

    def site(self) -> tuple[str, int]:
        """Return the file and line of the current statement."""
        if self._declaring is not None:
            return self._declaring
        if self.c is None:
            return super().site()
        file, line = self._loaded.program.sites[self.c.site]
        return file, line

    def variables(self) -> Iterator[bytes]:
        """Yield the bytes of C's own variables, of those that have an address, and of those at file scope."""
        yield self.c.state.to_bytes(8, "little")
        yield from self.seat.variables()

    @contextlib.contextmanager
    def declaring(self, file: str, line: int) -> Iterator[None]:
        """Attribute declarations in the block to this line of the source."""
        self._declaring = file, line
        try:
            yield
        finally:
            self._declaring = None

    def _fault(self, why: int, many: int) -> None:
        values = [value_of(self, self.c.argv[k]) for k in range(many)]
        raise self.blame(self._loaded.program.fault(why, *values))

    def _suspect(self, why: int, change: int) -> None:
        """Record that C has found a possible report of a checker, or that its record is full; *change* is one more than the number of a change of a value, or of a row."""
        assert self.screen is not None
        if not change:
            self.screen.suspected(self, why)
            return
        if why == DECIDED:
            loaded = Site(*self._loaded.program.sites[change - 1])
            self.screen.suspected(self, why, EscapedAt(Site(*self.site()), Escape.DECIDES, loaded))
            return
        if why == Screened.SYNC:
            ran, name = TaskRan(self.place, self.union, self.cluster), f"__{ROWS[change - 1].name}"
            self.screen.suspected(self, why, MetAlone(ran, Site(*self.site()), name, 1))
            return
        if why == Screened.MEMORY:
            self.screen.suspected(self, why, self._misplaced(store=change > 1))
            return
        if why == Screened.VECTORS:
            told = [value_of(self, self.c.argv[k]) for k in range(self.c.argc)]
            row, rule = divmod(change - 1, len(RULES))
            types, sites = (self.c.argv[0].dtype, self.c.argv[1].dtype), self._loaded.program.sites
            self.screen.suspected(self, why, made_by(ROWS[row], RULES[rule], *types, told, sites))
            return
        values = (value_of(self, self.c.argv[k]) for k in range(2))
        self.screen.suspected(self, why, self._loaded.program.changes[change - 1](*values))

    def _misplaced(self, *, store: bool) -> MisplacedScalar:
        """Return the scalar load or *store* at which C is."""
        place, start = self.c.argv[0], self.c.argv[1].bits
        dtype, view, site = MEMORY_TYPES[place.dtype], self.views[place.bits], Site(*self.site())
        assert view is not None
        access = (Access(view.allocation, start, dtype.dtype.itemsize),)
        reads, writes = ((), access) if store else (access, ())
        step = Step(SCALAR_ACCESSES[store], None, Pipe.SCALAR, Flow.LANEWISE, reads, writes, site)
        return MisplacedScalar(TaskRan(self.place, self.union, self.cluster), step, dtype, 1)

    _UPS: ClassVar[dict[int, Callable[["NativeCore", int, int], None]]] = {
        layout.ROW: _row,
        layout.ACCESS: _access,
        layout.LOG: lambda *_: None,  # the log has already been copied
        layout.LAND: lambda self, number, _: self._land(self._pythons.pop(number)),
        layout.TICK: lambda *_: None,  # Python has already handled signals
        layout.LIBRARY: _library,
        layout.GROW: lambda self, *_: self.seat.grow(),
        layout.DISTANCE: lambda self, *_: answer(
            self, value_of(self, self.c.argv[0]) - value_of(self, self.c.argv[1])
        ),
        layout.SUSPECT: _suspect,
        layout.FAULT: _fault,
    }
