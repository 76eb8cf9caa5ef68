"""One launch while it runs: the state that its cores share.  Nothing here outlives the launch."""

import functools
import itertools
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from attrs import evolve

from mlusim.arch.board import Arch, Board
from mlusim.engine.copies import Routes, routes
from mlusim.engine.issue import mlu_class
from mlusim.engine.recipes.recipe import policies
from mlusim.errors import Fault, MlusimError
from mlusim.isa.table import ISA
from mlusim.machine.announcer import Accesses, Announcer
from mlusim.machine.cluster import Cluster, Union
from mlusim.machine.core import Core, RunningLaunch
from mlusim.machine.hub import Hub
from mlusim.machine.kernel import Kind
from mlusim.machine.limits import Meter, Overdue
from mlusim.machine.mlu import Mlu
from mlusim.machine.observed import TaskPlace
from mlusim.machine.options import Request
from mlusim.machine.scheduling.carrier import Carrier, Home
from mlusim.machine.scheduling.schedule import Choices, Drawn, begin_memory_cores_first
from mlusim.machine.scheduling.scheduler import BlockToCome, Scheduler, TakenUp, UnionToCome
from mlusim.machine.tally import NO_TRAFFIC, NOTHING, CoverCounts, Tally
from mlusim.machine.tensor import DeviceTensor, mapped
from mlusim.memory.allocation import Pool
from mlusim.memory.pointer import Ptr
from mlusim.memory.regions import RegionMap
from mlusim.memory.space import DIRECTIONS
from mlusim.time.log import NotedLog, Table

MEMORY_CORE_ID = 0x80
NOWHERE: Any = SimpleNamespace(
    current=True, frame=None
)  # the carrier of a prepared core, which makes its declarations
SPELLINGS = tuple(row.spelling for row in ISA.values())
SHARED_ROWS = tuple(
    number
    for number, row in enumerate(ISA.values())
    if not row.polls
    and any(o.access != "read" and any(s.shared for s in o.spaces) for o in row.operands.values())
)
SHARED_DIRECTIONS = tuple(d.value for d in DIRECTIONS if d.dst.shared)


@functools.lru_cache(maxsize=64)
def _limits(arch: Arch, *, compiled: bool) -> Mapping[str, int]:
    """Return the bytes of each on-chip memory that a kernel may declare, by its name."""
    return arch.limits(compiled=compiled)


@functools.lru_cache(maxsize=64)
def _built_ins(arch: Arch, dim: tuple[int, int, int], kind: Kind) -> tuple[int, ...]:
    """Return the built-in variables of an `Mlu` that are the same for all tasks of a launch, in its order."""
    x, y, z = dim
    sizes = arch.max_nram, arch.max_wram, arch.max_sram
    return x * y * z, x, y, z, kind.unions, arch.cores_per_cluster, *sizes, arch.bang_arch


@functools.lru_cache(maxsize=16)
def _block_tasks(dim: tuple[int, int, int], cores: int, each: int) -> "np.ndarray[Any, Any]":
    """Return the places of the Block tasks of *dim* on so many *cores*, with *each* cores per cluster."""
    (x, y, _), task = dim, np.arange(math.prod(dim))
    zero = np.zeros_like(task)
    core = task % cores % each
    return np.stack((task, task % x, task // x % y, task // (x * y), core, task, zero, zero), axis=1)


class Machine(RunningLaunch):
    """The machine of one launch: its schedule, its memories, its observers, its tally."""

    sums: Callable[[], Tally] | None = None
    """Computes the tally of a checked launch that was prepared."""
    shared_rows = SHARED_ROWS
    shared_directions = SHARED_DIRECTIONS

    def __init__(
        self,
        board: Board,
        request: Request,
        observers: Iterable[Any],
        choices: Choices | None = None,
        native: Any = None,
        meter: Meter | None = None,
        screen: Any = None,
        told: Collection[Any] = (),
    ) -> None:
        self.board = board
        self.request = request
        self.dim, self.kind, self.effects = request.dim, request.kind, request.options.effects
        self.timing = request.options.timing
        self.built_ins = _built_ins(board.arch, request.dim, request.kind)
        self.native = native  # the compiled kernel, if C runs it
        self._core_class: type[Core] = Core if native is None else native.core_class
        self.meter = meter  # the meter of the launch's limit, if it has one
        self.screen = screen  # the record of a run in C that searches for findings of checkers
        self.hub: Hub = Hub(observers, told)
        self.pool = Pool()
        self.pool_of_core: Callable[[], Pool] | None = None
        drawn = None if request.options.seed is None else Drawn(request.options.seed)
        self.choices = drawn if choices is None else choices  # None: the default schedule
        self.scheduler = Scheduler(self._run, self.choices)
        self.compiled = bool(request.kernel.compiled)
        self.memory_limits = _limits(board.arch, compiled=self.compiled)
        self.tally: Tally = Tally(board, self.memory_limits)
        self.printed: list[str] = []
        self.locks: dict[tuple[int, int], TaskPlace] = {}  # locked mutexes, and the task that holds each
        self.numbers = itertools.count(1)  # numbers of effects, in the order of their issue
        self.layouts: dict[Hashable, RegionMap] = {}  # layouts of the plans that kernels place, by their keys
        self.threads = 1  # the number of threads that ran its tasks
        self.crew: Any = None  # the other threads that run its Block tasks
        self.counts: Any = None  # C's counts of executed statements, if an observer needs them
        self.skip = 0  # number of groups of tasks that are skipped
        # C runs the tasks of this many groups at the beginning, Python those of the rest.
        self.native_groups: int | None = None
        self.native_members = 0  # in the next group, this many first cores run C, too
        self._members_in_c = 0  # the same for the group that is made next
        self._routes: dict[bool, Routes] = {}  # those of an IPU core and of a memory core
        self.steps = Table(SPELLINGS) if self.hub.every_step and self.timing else None
        deaf = self.hub.deaf or screen is not None  # no observer hears events inside
        self.alone = self.steps is None and self.choices is None and deaf
        limited = meter is not None and meter.limit.instructions is not None
        self._counted_together = self.scheduler.chains = self.alone and not limited
        self._ended: dict[Any, None] = {}  # cores that can run further tasks
        # Idle cores of ended unions, by their places there.
        self._idle: dict[tuple[int, int], list[Any]] = {}
        away = self.compiled and bool(self.kind.unions) and board.arch.memory_core
        # Cores that C runs keep a log of their own.
        self.policies = policies(board.arch, away, self.steps is not None and native is None)
        self._mlu_classes = tuple(mlu_class(Mlu, policy) for policy in self.policies)

    # -- the run -------------------------------------------------------------------------------

    def run(self, threaded: Callable[[], bool] | None = None) -> None:
        """Run every task; raises the exceptions of the kernel, with a note that names the task.

        *threaded* runs the tasks on several threads; it returns False if they have to run in order after all.
        """
        if self.hub.launch_begin is not None:
            self.hub.launch_begin(self)
        if threaded is None or not threaded():
            every = self._groups() if self.native_groups is None else self._by_engine(self.native_groups)
            groups = itertools.islice(every, self.skip, None)
            self._run_groups(groups, self.board.places(self.kind.unions))
        if self.hub.launch_end is not None:
            self.hub.launch_end(self)

    def run_some(self, numbers: Iterable[int]) -> None:
        """Run the groups of tasks (Block tasks, or unions) of these *numbers*, one after the other; no observer hears events inside."""
        self._run_groups(map(self._group, numbers), 1)

    def ready(self) -> Core:
        """Return a core at the first Block task of a launch that is prepared and not running yet."""
        core = self._block(self._block_place(0))
        core.carrier, self.scheduler.running = NOWHERE, core
        return core

    def bound(self, core: Core) -> list[Any]:
        """Return the arguments of the launch for the kernel on *core*."""
        return [_bound(core, argument) for argument in self.request.arguments]

    def take_up(self, core: Core, carrier: Carrier) -> None:
        """Let *core* run the first task, on the strand of *carrier*, which calls this, as if the launch had begun in the usual way; `go_on` follows."""
        self.scheduler.take_up(self._groups(), self.board.places(self.kind.unions), core, carrier)

    def take_up_unions(self, taken: TakenUp, home: Home) -> None:
        """Continue a launch of unions from the state *taken*, as if it had begun in the usual way; `go_on` follows on the strand *home*."""
        self.scheduler.take_up_unions(self._unions(), self.board.places(self.kind.unions), taken, home)  # type: ignore[arg-type]

    def carry(self, core: Core) -> None:
        """Run *core* and the following tasks on its strand."""
        self.scheduler.live(core)

    def go_on(self, error: BaseException | None) -> None:
        """Run the rest of a launch that was taken up, whose first task has parked or ended, or raised *error*."""
        self._finish(functools.partial(self.scheduler.go_on, error))

    def _run_groups(self, groups: Iterator[Any], room: int) -> None:
        self._finish(functools.partial(self.scheduler.run, groups, room))

    def _finish(self, runs: Callable[[], None]) -> None:
        try:
            self._scheduled(runs)
        except MlusimError as error:
            error.printed = tuple(self.printed)
            raise
        finally:
            for core in self._ended:
                self.tally.count(core)
                core.release()
            self.pool.clear()

    def _scheduled(self, runs: Callable[[], None]) -> None:
        try:
            runs()
        except Overdue as overdue:  # between two tasks
            raise self.late(overdue) from None

    def count_lines(self) -> CoverCounts:
        """Let C count how often each task executes what its program covers; return the counts."""
        self.counts = counts = CoverCounts(self.native.program.covers, math.prod(self.dim))
        return counts

    def beside(self, native: Any, notes: Any, observers: Iterable[Any] = ()) -> "Machine":
        """Return a machine of the same request for some of its tasks, in C, whose accesses to memory off chip are recorded in *notes*."""
        machine = Machine(self.board, self.request, observers, None, native, self.meter, notes)
        machine.counts = None if self.counts is None else self.counts.part()
        return machine

    def join(self, tallies: Iterable[Tally]) -> None:
        """Add the sums of the machines that ran some of its tasks in parallel."""
        self.tally.join(tallies)
        if self.counts is not None:
            self.counts.join()

    def leave(self) -> None:
        """Drop the counts of such machines: their tasks run again."""
        if self.counts is not None:
            self.counts.leave()

    def again(
        self,
        arguments: Iterable[Any],
        variables: Iterable[DeviceTensor],
        observers: Iterable[Any],
        skip: int = 0,
        choices: Choices | None = None,
        *,
        timing: bool = False,
        native_groups: int = 0,
        native_members: int = 0,
    ) -> "Machine":
        """Return the same launch once more, not yet run, with *timing* or without: *arguments* and *variables* replace those of the request.

        The first *skip* groups of tasks (Block tasks, or unions) are skipped, as if they had ended.  If C ran the
        launch, it runs the first *native_groups* again, including the skipped ones, and the first *native_members*
        cores of the next one to begin, and announces nothing about their tasks. *choices* are those of the schedule,
        from its beginning; without them the seed of the request is used.
        """
        options = evolve(self.request.options, timing=timing)
        request = evolve(
            self.request, arguments=tuple(arguments), variables=tuple(variables), options=options
        )
        some = native_groups > skip or native_members
        native = self.native.again() if self.native is not None and some else None
        machine = Machine(self.board, request, observers, choices, native)
        machine.skip = skip
        if native is not None:
            machine.native_groups, machine.native_members = native_groups, native_members
            machine.scheduler.chains = False  # a task in C may be followed by one in Python
        return machine

    def screened(
        self, observers: Iterable[Any], choices: Choices | None, native: Any, meter: Meter | None, screen: Any
    ) -> "Machine":
        """Return the same launch once more, not yet run, with the same arguments, in C with the record *screen*."""
        return Machine(self.board, self.request, observers, choices, native, meter, screen)

    def _run(self, core: Core) -> None:
        """Run one core from beginning to end, inside its own strand."""
        try:
            self._perform(core)
        except Fault as fault:
            if self.hub.fault is not None and not self.scheduler.ending:
                self.hub.fault(core, fault)
            raise
        except (Exception, SystemExit, GeneratorExit) as error:
            error.add_note(f"in {core.place.label} of kernel {self.request.kernel.name}")
            if self.hub.error is not None and not self.scheduler.ending:
                self.hub.error(core, error)
            raise
        finally:
            if core.ended and core.renewable:
                self._ended[core] = None
            else:
                core.release()
            if core.ended and core.union.clusters and core.union.finished():
                self._over(core.union)

    def _over(self, union: Union) -> None:
        """Record that all cores of *union* have ended; those that can will run others in later unions."""
        for cluster in union.clusters:
            self.tally.add_sram(cluster.sram)
            cluster.sram.release()
        for core in union.cores:
            if core.renewable:
                self._idle.setdefault((core.place.cluster_id, core.place.core_id), []).append(core)

    def _perform(self, core: Core) -> None:
        """Run the kernel on *core*, and count its work."""
        if self.hub.task_begin is not None:
            self.hub.task_begin(core)
        if core.arguments is None:
            core.arguments = self.bound(core)
        try:
            if self.meter is None:
                core.run(self.request.kernel, core.arguments)
            else:
                with self.meter.running(core):
                    core.run(self.request.kernel, core.arguments)
        except Overdue as overdue:
            raise self._late(overdue, core) from None
        self.scheduler.refuse_success()
        core.finish()
        self.tally.add(core)
        if not core.renewable:
            self.tally.count(core)
        if self.hub.task_end is not None:
            self.hub.task_end(core)

    def late(self, overdue: Overdue) -> BaseException:
        """Return the fault of this launch, which took too long between two tasks."""
        return self._late(overdue, self.scheduler.last)

    def _late(self, overdue: Overdue, core: Core | None) -> BaseException:
        """Return the fault of a launch that took too long, or the alarm itself if it belongs to another launch."""
        if self.meter is None or not self.meter.raised(overdue):
            return overdue
        return self.meter.late(core, overdue.__traceback__).with_traceback(overdue.__traceback__)

    @property
    def unwatched_in_c(self) -> bool:
        """Return whether C ran it without observers inside, counts of lines, or a limit."""
        return self.alone and self.native is not None and self.screen is self.meter is self.counts is None

    # -- cores and places ------------------------------------------------------------------------

    def _groups(self) -> Iterator[list[Core] | UnionToCome | BlockToCome]:
        return self._blocks() if self.kind.unions == 0 else self._unions()

    def _by_engine(self, many: int) -> Iterator[list[Core] | UnionToCome | BlockToCome]:
        """Yield the groups of tasks, the first *many* on cores that run C."""
        groups = self._groups()
        for number in itertools.count():
            self._core_class = self.native.core_class if number < many else Core
            self._members_in_c = self.native_members if number == many else 0
            group = next(groups, None)
            if group is None:
                return
            yield group

    def _blocks(self) -> Iterator[list[Core] | BlockToCome]:
        x, y, z = self.dim
        for task in range(x * y * z):
            place = self._block_place(task)
            yield BlockToCome(place, self._block) if self.alone else [self._block(place)]

    def _group(self, number: int) -> UnionToCome | BlockToCome:
        """Return group *number* of the launch, whose cores are created when it runs."""
        if self.kind.unions == 0:
            return BlockToCome(self._block_place(number), self._block)
        (x, y, _), width = self.dim, self.kind.unions * self.board.arch.cores_per_cluster
        row, start = divmod(number, -(-x // width))
        return self._union_to_come(start * width, row % y, row // y)

    def _union_to_come(self, start: int, row: int, plane: int) -> UnionToCome:
        many = self.kind.unions * (self.board.arch.cores_per_cluster + self.board.arch.memory_core)
        return UnionToCome(many, functools.partial(self._union, start, row, plane))

    def _block(self, place: TaskPlace) -> Core:
        """Return a core for the Block task at *place*: one that has ended another task, if there is one."""
        union = Union(block=True, number=place.task)
        core: Core = self._ended.popitem()[0] if self._ended else self._core_class(self, place, union, None)
        if core.renewable:
            core.renew(place, union)
        union.cores.append(core)
        return core

    def _block_place(self, task: int) -> TaskPlace:
        x, y, _ = self.dim
        number = task % self.board.cores % self.board.arch.cores_per_cluster
        return TaskPlace(task, task % x, task // x % y, task // (x * y), 0, number)

    def block_tasks(self) -> "np.ndarray[Any, Any]":
        """Return the places of all Block tasks: number, x, y, z, number of the core, and of the group."""
        return _block_tasks(self.dim, self.board.cores, self.board.arch.cores_per_cluster)

    def _unions(self) -> Iterator[list[Core] | UnionToCome]:
        (x, y, z), arch = self.dim, self.board.arch
        for plane in range(z):
            for row in range(y):
                for start in range(0, x, self.kind.unions * arch.cores_per_cluster):
                    coming = self._union_to_come(start, row, plane)
                    yield coming if self.alone else coming.make()

    def _union(self, start: int, row: int, plane: int) -> list[Core]:
        union, places = self._union_places(start, row, plane)
        # The order in which they begin.
        ordered = sorted(places, key=lambda p: not p.memory_core) if begin_memory_cores_first() else places
        in_c, self._members_in_c = ordered[: self._members_in_c], 0
        union.clusters.extend(self.new_cluster(number) for number in range(self.kind.unions))
        for place in places:
            cluster = union.clusters[place.cluster_id]
            core = self._member(place, union, cluster, in_c=place in in_c)
            cluster.cores.append(core)
            union.cores.append(core)
        if begin_memory_cores_first():  # both orders are legal (decision 0006)
            return sorted(union.cores, key=lambda core: not core.place.memory_core)
        return union.cores

    def _union_places(self, start: int, row: int, plane: int) -> tuple[Union, list[TaskPlace]]:
        """Return the union whose first task has x *start*, without cores, and the places of its cores."""
        arch, (x, y, _) = self.board.arch, self.dim
        union = Union(block=False, number=(plane * y + row) * x + start)
        places: list[TaskPlace] = []
        for number in range(self.kind.unions):
            first = start + number * arch.cores_per_cluster
            for core_id in range(arch.cores_per_cluster):
                task_x = first + core_id
                task = (plane * y + row) * x + task_x
                places.append(TaskPlace(task, task_x, row, plane, number, core_id))
            if arch.memory_core:
                # The memory core has the coordinates of its cluster's first task; inferred.
                task = (plane * y + row) * x + first
                before = union.number // arch.cores_per_cluster
                where = task, first, row, plane, number, MEMORY_CORE_ID
                places.append(TaskPlace(*where, memory_core=True, before=before))
        return union, places

    def ready_unions(self, many: int) -> list[list[Core]]:
        """Return the cores of *many* copies of the first union, in the order in which they begin; the launch is prepared and not running yet."""
        unions = [self._union(0, 0, 0) for _ in range(many)]
        for core in itertools.chain(*unions):
            core.carrier = NOWHERE
        return unions

    def union_places(self) -> list[tuple[Union, list[TaskPlace]]]:
        """Return all unions of the launch, without cores, and the places of their cores."""
        (x, y, z), width = self.dim, self.kind.unions * self.board.arch.cores_per_cluster
        return [
            self._union_places(start, row, plane)
            for plane in range(z)
            for row in range(y)
            for start in range(0, x, width)
        ]

    def _member(self, place: TaskPlace, union: Union, cluster: Cluster, *, in_c: bool) -> Core:
        """Return a core at *place* of *union*: one from the same place in another union, if there is one."""
        idle = self._idle.get((place.cluster_id, place.core_id))
        if not idle:
            core_class = self.native.core_class if in_c and self.native is not None else self._core_class
            return core_class(self, place, union, cluster)
        core: Core = idle.pop()
        core.cluster, core.shared_count = cluster, 0
        core.renew(place, union)
        return core

    # -- objects for cores --------------------------------------------------------------------

    def counters(self) -> tuple[list[int], list[int]]:
        """Return the lists in which a core counts instructions, and bytes by direction: shared lists if no observer needs them by core."""
        if self._counted_together:
            return self.tally.counts, self.tally.traffic_by
        return NOTHING.copy(), NO_TRAFFIC.copy()

    def make_mlu(self, core: Core) -> Mlu:
        """Return the `Mlu` of *core*."""
        of_memory, sums = core.place.memory_core, (self.tally.lines, self.tally.spare)
        directions = self.core_directions(memory_core=of_memory)
        mlu: Mlu = self._mlu_classes[of_memory](core, self.built_ins, self.counters(), sums, directions)
        return mlu

    def core_directions(self, *, memory_core: bool) -> Routes:
        """Return the copy directions that a core of this launch has."""
        directions = self._routes.get(memory_core)
        if directions is None:
            directions = routes(self.board.arch, memory_core=memory_core, block=self.kind.unions == 0)
            self._routes[memory_core] = directions
        return directions

    # -- announcements -------------------------------------------------------------------------

    def watches(self, core: Core) -> tuple[Announcer | None, Announcer | Accesses | None]:
        """Return the announcers of intrinsics and of scalar accesses of *core*; None if no observer listens."""
        if self.alone:
            return None, None
        every, scalars = self._watches(core)
        return every, Accesses(core.log, scalars) if isinstance(core.log, NotedLog) else scalars

    def _watches(self, core: Core) -> tuple[Announcer | None, Announcer | None]:
        hub = self.hub
        every = hub.watches or self.choices is not None
        if not every and hub.scalar is None:
            return None, None
        explore = None if self.choices is None else functools.partial(core.explore, self.choices)
        watch = Announcer(core, self.hub, self.numbers, explore)
        return watch if every else None, watch


def _bound(core: Core, argument: object) -> Any:
    """Return *argument* for the kernel on *core*: tensors and pointers, in structures too, become pointers whose accesses count for the core."""

    def bound(part: object) -> Any:
        if isinstance(part, DeviceTensor):
            return core.bind(part.allocation, part.dtype)
        if isinstance(part, Ptr):
            view = part.view
            return core.bind(view.allocation, view.dtype, view.phase, part.index)
        return part

    return mapped(argument, bound, compiled=core.machine.compiled)
