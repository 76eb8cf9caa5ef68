"""A core while it runs one task: its memories, its pipes' pending effects, its counters, and the mutexes that it holds."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import DType, as_dtype
from mlusim.engine.contract import Flight, IssuingCore, ScalarWatch, Watch
from mlusim.engine.refuse import foreign
from mlusim.errors import Fault, Outside, RuleFault, Unsupported, shown_file
from mlusim.kernel_frames import kernel_site
from mlusim.machine.cluster import Cluster, Sync
from mlusim.machine.observed import Site, Step, TaskPlace
from mlusim.machine.scheduling.renewal import Placements, begin, forget, renew, run
from mlusim.machine.scheduling.scheduler import Scheduler
from mlusim.machine.scheduling.states import digest_of, frames_here, shows_all
from mlusim.memory.allocation import Absent, Allocation, Arena, MemoryDeclaration, Pool, elements
from mlusim.memory.pointer import Ptr, View, initialise
from mlusim.memory.regions import PlacedPlan, Placement
from mlusim.memory.space import LDRAM, LDRAM_BASE, LDRAM_SIZE, NRAM, SPACES, SRAM, WRAM, Space
from mlusim.time.log import END, FOR_ALL, MEET, WAITS, Log, NotedLog, Table
from mlusim.time.quantities import LOADS, OPENING, STORES, CopyLoad, Head

if TYPE_CHECKING:
    from mlusim.arch.board import Board
    from mlusim.machine.cluster import Union
    from mlusim.machine.limits import Meter
    from mlusim.machine.mlu import Mlu
    from mlusim.machine.options import Request
    from mlusim.machine.scheduling.carrier import Carrier
    from mlusim.machine.scheduling.schedule import Choices


class RunningLaunch:
    """A running launch as its cores and observers see it: what its cores share, and the memories that each of them gets.

    `mlusim.machine.machine.Machine` is one, and runs the cores.
    """

    board: "Board"
    request: "Request"
    effects: str
    timing: bool
    native: Any  # the compiled kernel, if C runs it
    hub: Any  # the `mlusim.machine.hub.Hub` of its observers
    tally: Any  # the `mlusim.machine.tally.Tally` of its cores' work
    steps: Table | None  # of every instruction, if one asks for them
    scheduler: Scheduler
    pool: Pool
    pool_of_core: Callable[[], Pool] | None  # makes one for each core, for its own memories
    memory_limits: Mapping[str, int]
    printed: list[str]
    locks: dict[tuple[int, int], TaskPlace]  # the locked mutexes, with the task that holds each
    dim: tuple[int, int, int]
    compiled: bool
    alone: bool
    meter: "Meter | None"  # of the launch's limit, if it has one
    shared_rows: tuple[int, ...]
    shared_directions: tuple[int, ...]

    def make_mlu(self, core: "Core") -> "Mlu":
        """Return the `Mlu` of *core*."""
        raise NotImplementedError

    def watches(self, core: "Core") -> tuple[Any, Any]:
        """Return the announcers of intrinsics and of scalar accesses of *core*; None if no observer listens."""
        raise NotImplementedError

    @property
    def given(self) -> list[Allocation]:
        """Return the memories of the launch's arguments, and of the kernel's variables in GDRAM, each once."""
        return self.request.allocations

    def make_log(self, core: "Core") -> Log | None:
        """Return the log of *core*: with every step if requested, None if time is not predicted."""
        if self.steps is not None:
            return (
                NotedLog(core, self.steps) if self.native is None else self.native.noted_log(core, self.steps)
            )
        return Log() if self.timing else None

    def _unit(self) -> int:
        """Return the alignment of declarations: that of 2xx vector operands; elements elsewhere (inferred)."""
        return 64 if self.board.arch.generation == 2 else 1

    def private_arenas(self, *, memory_core: bool) -> dict[Space, Arena]:
        """Return fresh NRAM, WRAM and LDRAM for one core, for a memory core LDRAM only.

        Their bytes are allocated at the first declaration.  Compiled code may declare on a memory core too: space
        that no instruction accesses, for its single numbers.
        """
        arch, unit = self.board.arch, self._unit()
        pool = self.pool if self.pool_of_core is None else self.pool_of_core()
        arenas = {LDRAM: Arena(LDRAM, LDRAM_BASE, LDRAM_SIZE, pool, unit)}
        if not memory_core or self.compiled:
            limits = self.memory_limits
            arenas[NRAM] = Arena(NRAM, arch.nram_base, limits["NRAM"], pool, unit)
            arenas[WRAM] = Arena(WRAM, arch.wram_base, limits["WRAM"], pool, max(unit, 8))
        return arenas

    def new_cluster(self, number: int) -> Cluster:
        """Return cluster *number* of a union, without cores."""
        arch = self.board.arch
        return Cluster(
            number, Arena(SRAM, arch.sram_base, self.memory_limits["SRAM"], self.pool, unit=self._unit())
        )

    def lone_cluster(self, core: "Core") -> Cluster | None:
        """Return a cluster with SRAM for a launch of a single Block task of compiled code, otherwise None.

        The vendor's library launches a kernel that stores to SRAM in this way; that the SRAM is the task's alone is
        inferred.
        """
        if not self.compiled or self.dim != (1, 1, 1):
            return None
        cluster = self.new_cluster(0)
        cluster.cores.append(core)
        return cluster


NO_LOADS, NO_STORES = LOADS.zeros(), STORES.zeros()


class Core(IssuingCore):
    """One IPU or memory core during one task.

    The kernel uses it through its `Mlu`; pointers report their scalar accesses here; the
    scheduler parks and resumes it.  ``in_python`` says that Python runs its kernel.
    """

    in_python = True

    def __init__(
        self, machine: "RunningLaunch", place: TaskPlace, union: "Union", cluster: "Cluster | None"
    ) -> None:
        self.machine = machine
        self.place = place
        self.union = union
        self.cluster = cluster
        self.flights: deque[Flight] = deque()
        self.bindings: list[dict[Any, View]] = []
        # Other clusters' SRAM, by our view of it and their number.
        self.away: dict[tuple[View, int], View] = {}
        self.shared_count = 0
        self.loads, self.stores = NO_LOADS.copy(), NO_STORES.copy()
        self.arguments: list[Any] | None = None
        self.renewable = False  # whether it may run another task when it has ended
        self.prepared: Callable[[], None] | None = None  # runs the kernel for each task in turn
        self.arguments_bound = 0  # number of bindings that belong to arguments
        self.carrier: Carrier | None = None
        self.waiting: Any = None
        self.ended = False
        self.number = 0  # in the order in which the cores of the launch begin
        self.source: Allocation | None = None  # source of the last large copy, and its byte offset
        self.source_at = 0
        self.late = machine.effects == "late"
        self.log: Log | None = machine.make_log(self)
        self.head = Head()
        self.pending = OPENING  # pipes with effects not waited for yet; and OPENING while the task begins
        self.fence = False  # set if it waited for its compute stream with nothing pending
        self.hub = machine.hub
        self.mlu: Mlu = machine.make_mlu(self)
        self.scalars: ScalarWatch | None = None
        self.direct = True  # scalar accesses are counted but not announced
        self.listen(*machine.watches(self))
        if machine.meter is not None:
            machine.meter.joins(self)

    def __repr__(self) -> str:
        return f"<{self.place.label}>"

    @cached_property
    def arenas(self) -> Mapping[Space, Arena]:
        """Return its own memories, made at the kernel's first declaration."""
        return self.machine.private_arenas(memory_core=self.place.memory_core)

    @property
    def used(self) -> Mapping[Space, Arena]:
        """Return its own memories, or none before the first declaration."""
        arenas: Mapping[Space, Arena] = self.__dict__.get("arenas", {})
        return arenas

    def listen(self, watch: Watch | None, scalars: ScalarWatch | None) -> None:
        """Report intrinsics to *watch* and scalar accesses to *scalars* from now on."""
        self.mlu.watch, self.scalars, self.direct = watch, scalars, scalars is None

    run, renew, begin = run, renew, begin  # methods defined in the modules of their subjects

    @cached_property
    def placements(self) -> Placements:
        """Return the plans of its buffers, made at the first one."""
        return Placements(self.machine, self)

    # -- where the kernel is -------------------------------------------------------------------

    def site(self) -> tuple[str, int]:
        """Return the file and line of the kernel statement at which this core is."""
        # If another core runs, the frames here belong to that core.
        if self.carrier is not None and self.machine.scheduler.running is not self:
            return kernel_site(self.carrier.frame)
        return kernel_site()

    def blame(self, fault: Fault) -> Fault:
        """Write the task and the kernel's file and line into *fault*.

        A kernel may catch the fault of its own instruction, as tests of kernels do; a fault that concerns
        other tasks too ends the launch even if it is caught.
        """
        fault.task, (fault.file, fault.line) = self.place.task, self.site()
        site = Site(fault.file, fault.line)
        if not site.python:  # a source of BANG C does not write `mlu.`
            fault.message = site.respelled(fault.message)
            fault.hint = fault.hint and site.respelled(fault.hint)
        if fault.ends_launch:
            self.machine.scheduler.doom(self, fault)
        return fault

    def refuse_elsewhere(self) -> None:
        """Raise `Outside` for a call from another task, from a thread of the kernel's own, or after the end."""
        if self.carrier is None or not self.carrier.current:
            raise self.blame(Outside(self.place.label))

    # -- queries by observers ----------------------------------------------------------------------

    def fresh_steps(self) -> list[Step]:
        """Return its steps since the last call, announced or not, each once; none if no observer listens to instructions.

        Only one observer may use it: the one that orders pipes.
        """
        return [] if self.mlu.watch is None else self.mlu.watch.mark()

    @property
    def plans(self) -> tuple[Placement, ...]:
        """Return the active plans of its buffers, the latest last."""
        return self.placements.live

    # -- memory --------------------------------------------------------------------------------

    def bind(self, allocation: Allocation, dtype: DType, phase: int = 0, index: int = 0) -> Ptr:
        """Return a pointer into *allocation* whose accesses count for this core."""
        view = View(allocation, dtype, self, phase)
        self.bindings.append(view.siblings)
        return Ptr(view, index)

    def declare(
        self,
        space: Space,
        dtype: object,
        count: int,
        values: Sequence[Any] | None,
        name: str | None = None,
        *,
        stack: bool = False,
        align: int = 1,
    ) -> Ptr:
        """Declare *count* elements of private memory, initially poison, or *values* and then zeros as in C.

        It begins at a multiple of *align* bytes, and of an element; with *stack* it lies on the compiler's stack.

        *name* is that of the variable, if it is known.
        """
        self.refuse_elsewhere()
        dtype = as_dtype(dtype)
        count = self._or_blame(elements, space, count)
        arena = self.arenas.get(space)
        declared = MemoryDeclaration(space, dtype, count, *self.site(), name, stack=stack, align=align)
        if arena is None:  # harmless above `if mlu.is_mpu(): return`; using it is a fault
            return self.bind(Absent(space, declared), dtype)
        allocation = self._or_blame(arena.allocate, count * dtype.size, dtype.size, declared)
        pointer = self.bind(allocation, dtype)
        if values is not None:
            fault = initialise(pointer.view, values)
            if fault is not None:
                raise self.blame(fault)
        elif self.place.memory_core and space in (NRAM, WRAM):
            initialise(pointer.view, ())  # in compiled code, space that nothing else accesses
        if self.hub.declare is not None:
            self.hub.declare(self, allocation)
        if space is NRAM:
            self.placements.declared(allocation)
        return pointer

    def restart(self, pointer: Ptr, values: object) -> None:
        """Set a declaration to its initial *values* again, with a scalar store for each (inferred)."""
        fault = initialise(pointer.view, values)
        if fault is not None:
            raise self.blame(fault)
        self.stores[pointer.view.number] += pointer.view.size
        if self.hub.declare is not None:
            self.hub.declare(self, pointer.view.allocation)

    def declare_shared(self, dtype: object, count: int, name: str | None = None, *, align: int = 1) -> Ptr:
        """Return the cluster's next SRAM declaration; every core of the cluster gets the same bytes."""
        self.refuse_elsewhere()
        dtype = as_dtype(dtype)
        count = self._or_blame(elements, SRAM, count)
        self.cluster = self.cluster or self.machine.lone_cluster(self)
        if self.cluster is None:
            hint = "launch as UNION1 or wider to use SRAM"
            raise self.blame(Unsupported("a Block task shares no SRAM", space="SRAM", hint=hint))
        declared = MemoryDeclaration(SRAM, dtype, count, *self.site(), name, align=align)
        allocation, fresh = self._or_blame(self.cluster.shared, self.shared_count, dtype, count, declared)
        self.shared_count += 1
        if fresh and self.hub.declare is not None:
            self.hub.declare(self, allocation)
        return self.bind(allocation, dtype)

    def _or_blame(self, act: Callable[..., Any], *args: object) -> Any:
        """Call *act* with *args*, and give any fault the kernel's statement."""
        try:
            return act(*args)
        except Fault as fault:
            raise self.blame(fault) from None

    def region_at(self, allocation: Allocation, offset: int) -> str:
        """Return the label that a pointer uses for the plan's regions at byte *offset* of *allocation*."""
        return self.placements.label(allocation, offset)

    def announce_again(self) -> None:
        """Have observers hear the steps of repeated instructions again, which were no longer announced (`Hub.renew`)."""
        self.hub.renew()

    def placed(self, allocation: Allocation, start: int, plan: PlacedPlan) -> None:
        """Record that the regions of *plan* begin at byte *start* of *allocation*."""
        self.placements.place(allocation, start, plan)

    # -- scalar accesses -----------------------------------------------------------------------

    def scalar_load(self, view: View, index: int, waits: int = 0) -> None:
        """Account for ``p[i]``, where *waits* says which pipe waits for it; a long run of shared loads lets other tasks run."""
        if self.machine.scheduler.running is not self:
            raise self._borrowed("scalar load", view, index)
        space = view.space
        self.loads[view.number + waits] += 1
        if self.scalars is not None:
            self.scalars.scalar("scalar load", view, index, None, waits)
        if space.shared:  # last, because it may let other tasks run
            self.polls.load(view.allocation.address + view.phase + index * view.itemsize)

    def scalar_store(self, view: View, index: int, value: object) -> None:
        """Account for ``p[i] = value``."""
        if self.machine.scheduler.running is not self:
            raise self._borrowed("scalar store", view, index)
        self.stores[view.number] += 1
        if self.scalars is not None:
            self.scalars.scalar("scalar store", view, index, value)

    def _borrowed(self, verb: str, view: View, index: int) -> Fault:
        """Return the fault of another core that uses a pointer of this one."""
        user = self.machine.scheduler.running or self
        fault = foreign(user.mlu, "the pointer", Ptr(view, index))
        assert fault is not None
        fault.intrinsic = verb
        return user.blame(fault)

    def say(self, text: str) -> None:
        """Store a line of device print for the launch."""
        self.machine.printed.append(text)
        if self.machine.meter is not None:
            self.machine.meter.grows(self, len(text))

    # -- waits for pipes -----------------------------------------------------------------------

    @property
    def in_flight(self) -> bool:
        """Return whether an effect has been issued that has not landed."""
        return bool(self.flights)

    def empty(self) -> None:
        """Wait for all pipes."""
        self._await(FOR_ALL)
        self.drain()

    def land_one(self, pipe: Pipe) -> None:
        """Land the oldest effect in flight on *pipe*, when a seed chooses the moment."""
        oldest = next((f for f in self.flights if f.pipe is pipe), None)
        if oldest is not None:
            self.flights.remove(oldest)
            self._land(oldest)

    def land(self) -> None:
        """Land the effects in flight, as they do in the end though the kernel does not wait for them."""
        self.drain()

    def wait(
        self, name: str, *pipes: Pipe, waiting: Sequence[Pipe] = (), route: tuple[str, ...] = ()
    ) -> None:
        """Wait for *pipes*, or for all if none is named; *waiting* names the pipes that wait, if not all do.

        *route* tells observers that the wait is only for copies between two spaces.
        """
        if self.hub.control is not None:
            self.hub.control(self, name)
        if pipes:
            waits = 0
            for pipe in pipes:
                waits |= WAITS[pipe]
            self._await(waits)
            for pipe in pipes:
                self.drain(pipe)
        else:
            self._await(FOR_ALL)
            self.drain()
        if self.hub.sync is not None:
            heads = tuple(p.value for p in waiting)
            self.hub.sync(Sync(name, self, tuple(p.value for p in pipes or Pipe), waiting=heads, route=route))

    # Copies from NRAM to NRAM are ordered with the compute stream of compiled code; the rule is inferred.

    def wait_inside(self, name: str) -> None:
        """Wait for the asynchronous copies inside NRAM, and for the move-DMA's earlier effects."""
        flights = [f for f in self.flights if f.pipe is Pipe.MOVE]
        last = max((n for n, f in enumerate(flights) if f.inside), default=-1)
        if last >= 0:
            self._await(WAITS[Pipe.MOVE])
            for flight in flights[: last + 1]:
                self.flights.remove(flight)
                self._land(flight)
            if flights[last + 1 :]:
                self.pending |= WAITS[Pipe.MOVE]
        if self.hub.sync is not None:
            self.hub.sync(Sync(name, self, (Pipe.MOVE.value,), route=(NRAM.name, NRAM.name)))

    # -- other cores ---------------------------------------------------------------------------

    def met(self, number: int, cores: int) -> None:
        """Log that the core takes part in meeting *number* of its union; *cores* is the number of participants, plus `time.log.ROLE` times this core's role."""
        self._note(MEET, number, CopyLoad(cores))

    def barrier(self, name: str, scope: str) -> None:
        """Wait for the core's own pipes, then for every core of *scope*."""
        self.refuse_elsewhere()
        if self.hub.control is not None:
            self.hub.control(self, name)
        if self.union.passes(self, scope):
            return
        self.empty()
        self.union.arrive(self, name, scope)

    def half_barrier(self, name: str, scope: str, ident: int, count: int, *, waits: bool) -> None:
        """Arrive at a barrier in two halves, or wait for it."""
        if self.hub.control is not None:
            self.hub.control(self, name)
        self.union.half(self, name, scope, ident, count, waits=waits)

    def lock(self, name: str, key: tuple[int, int]) -> None:
        """Take the mutex *key* of the launch; let others run until it is free."""
        self.refuse_elsewhere()
        if self.hub.control is not None:
            self.hub.control(self, name)
        locks, scheduler = self.machine.locks, self.machine.scheduler
        if locks.get(key) == self.place:
            raise self.blame(
                RuleFault(
                    f"this core already holds the mutex {key}",
                    intrinsic=name,
                    hint="release it before taking it again",
                )
            )
        while locks.setdefault(key, self.place) != self.place:  # the test itself locks a free mutex
            scheduler.spin(self, locked=True)
        self._tell_mutex(name, key)
        scheduler.pause(self)

    def unlock(self, name: str, key: tuple[int, int]) -> None:
        """Release the mutex *key*."""
        if self.hub.control is not None:
            self.hub.control(self, name)
        locks = self.machine.locks
        if locks.get(key) != self.place:
            raise self.blame(RuleFault(f"this core does not hold the mutex {key}", intrinsic=name))
        self._tell_mutex(name, key)
        del locks[key]
        self.machine.scheduler.changed()  # cores that spin on it test it again

    def _tell_mutex(self, name: str, key: tuple[int, int]) -> None:
        if self.hub.sync is not None:
            self.hub.sync(Sync(name, self, (), "mutex", (self,), key))

    def explore(self, choices: "Choices") -> None:
        """Land an effect in flight, or let another core run first, if the *choices* of another schedule say so."""
        pipe = choices.land(self.number, [flight.pipe for flight in self.flights])
        if pipe is not None:
            if choices.explains:
                file, line = self.site()
                choices.explain(
                    f"the oldest effect of {self.place.label} on the {pipe.value} pipe lands before "
                    f"{shown_file(file)}:{line}"
                )
            self.land_one(pipe)
        self.machine.scheduler.point(self)

    def state(self) -> bytes:
        """Return a digest of the kernel's variables, and of the contents of the core's own memories."""
        return digest_of(self.variables(), self.used)

    def variables(self) -> Iterable[bytes]:
        """Return the values of the kernel's variables outside the board's memories, and its position."""
        return frames_here()

    def shows_all(self) -> bool:
        """Return whether its `state` determines what the kernel does next, if nothing shared changes."""
        return self.machine.compiled or shows_all()

    def shared_progress(self) -> int:
        """Return a number that grows whenever the task may have changed memory that other tasks see."""
        machine, mlu = self.machine, self.mlu
        copied = sum(mlu.traffic[number] for number in machine.shared_directions)
        done = sum(mlu.counts[number] for number in machine.shared_rows)
        return copied + done + sum(n for space, n in zip(SPACES, self.stores, strict=True) if space.shared)

    def finish(self) -> None:
        """End the task: land the effects in flight."""
        self.drain()
        self._note(END, 0)
        self.ended = True

    def close_bindings(self, first: int) -> None:
        """Invalidate the pointers of all bindings from *first* on."""
        for binding in self.bindings[first:]:
            for view in binding.values():
                view.close()
            binding.clear()
        del self.bindings[first:]

    def release(self) -> None:
        """Close every pointer of this task and release its memories."""
        self.flights.clear()
        self.close_bindings(0)
        self.away.clear()
        self.source = None
        for arena in self.used.values():
            arena.release()
        if self.ended and self.machine.alone:
            forget(self)
