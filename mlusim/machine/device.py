"""`Device`: a board with GDRAM, tensors on it, and launches."""

import contextlib
import math
import sys
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.arch.dtypes import DType, as_dtype, uint8
from mlusim.engine.preference import NATIVE, threads_of
from mlusim.errors import Fault, LaunchError, UsageError
from mlusim.kernel_frames import show_kernel
from mlusim.lazy import lazy
from mlusim.machine.engine import Course, Engine, PreparedCounts, PreparedRun
from mlusim.machine.hub import Observer, attendants, handed, looks_inside, tell_fetched, turn
from mlusim.machine.kernel import BLOCK, DeviceVariable, Kernel, Kind, grid_of
from mlusim.machine.launch import Launch, LaunchFacts, LaunchSums, queue_place
from mlusim.machine.limits import UNLIMITED, Limit, Meter, limit_of
from mlusim.machine.machine import Machine
from mlusim.machine.options import LaunchOptions, Request, listed, options_of
from mlusim.machine.repeated import Repeatable, repeatable
from mlusim.machine.scheduling.schedule import choices_of, directed
from mlusim.machine.tensor import DeviceTensor, host_array, name_by_variables, shape_of
from mlusim.memory.allocation import POISON, Allocation, Bytes, Heap, MemoryDeclaration, as_bytes, fresh_bytes
from mlusim.memory.pointer import Ptr
from mlusim.memory.regions import RegionMap
from mlusim.memory.space import GDRAM, GDRAM_BASE
from mlusim.presenting import Presented

if TYPE_CHECKING:
    from mlusim.observe import names as checkers
else:
    (checkers,) = lazy("mlusim.observe.names")


class Device(Presented):
    """A simulated board.  Its GDRAM and its launches are its own; many devices may exist at once.

    *base* is the address at which its GDRAM begins.  The native engine runs the tasks of a launch on *threads*
    threads if their order cannot matter: None means the value of `MLUSIM_THREADS`, or 1.
    """

    def __init__(
        self, board: str | Board = "MLU370-X4", *, base: int = GDRAM_BASE, threads: int | None = None
    ) -> None:
        self.board = board_for(board)
        self.threads = threads_of(threads)
        self.base = base
        self._heap = Heap(GDRAM, base, self.board.gdram)
        self._running: list[Collection[Allocation]] = []  # the arguments' memories of each running launch
        self.preparations = Engine.preparations(self._heap)
        # Variables in GDRAM by symbol, for each loaded file.
        self._variables: weakref.WeakKeyDictionary[Any, dict[str, DeviceTensor]] = weakref.WeakKeyDictionary()
        self._of_variables: Bytes | None = None

    def __repr__(self) -> str:
        return f"<Device {self.board.name}>"

    # -- memory --------------------------------------------------------------------------------

    def put(self, array: object) -> DeviceTensor:
        """Copy a host array to GDRAM, with its shape and dtype.

        Raises `UsageError` for a dtype that the board does not know and `OutOfMemory` when GDRAM is full.
        """
        host = host_array(array)
        dtype = as_dtype(host.dtype)
        self._heap.reserve(host.nbytes)  # checked before host memory is allocated
        raw = fresh_bytes(host.nbytes)
        raw.view(host.dtype).reshape(host.shape)[...] = host
        return self._adopt(raw, host.shape, dtype, filled=True)

    def share(self, array: object) -> DeviceTensor:
        """Lend a host array to the device without a copy; a kernel may read it but not write it."""
        host = host_array(array)
        dtype = as_dtype(host.dtype)
        self._heap.reserve(host.nbytes)
        raw = as_bytes(np.ascontiguousarray(host))  # copies only an array with gaps
        return self._adopt(raw, host.shape, dtype, filled=True, writable=False)

    def empty(self, shape: int | Sequence[int], dtype: object) -> DeviceTensor:
        """Return a tensor of *shape* in GDRAM, poisoned: NaN in floats, -1 in integers."""
        sizes = shape_of(shape)
        element = as_dtype(dtype)
        nbytes = math.prod(sizes) * element.size
        self._heap.reserve(nbytes)
        raw = fresh_bytes(nbytes)
        raw.fill(POISON)
        return self._adopt(raw, sizes, element, filled=False)

    def advise(self, advice: str) -> None:
        """Give *advice* when GDRAM is exhausted, instead of the advice for programs in Python."""
        self._heap.advice = advice

    def cut(self, memory: Bytes, nbytes: int, told: Callable[[], str] | None = None) -> DeviceTensor:
        """Return a tensor of *nbytes* bytes in *memory*, which represents this GDRAM from its first byte on.

        The bytes stay unchanged: they are not poisoned, and none counts as initialized.  *told* returns a description
        of them.  Raises `OutOfMemory` when the board's GDRAM, or *memory*, is exhausted.
        """
        declared = MemoryDeclaration(GDRAM, uint8, nbytes, shape=(nbytes,), told=told)
        start = self._heap.place_of(nbytes, memory.size)
        allocation = self._heap.allocate(memory[start : start + nbytes], declared)
        self._heap.kept[allocation.address] = allocation
        return DeviceTensor(self, allocation, (nbytes,), uint8)

    def cut_pages(
        self, memory: Bytes, page: int, within: int, nbytes: int, told: Callable[[], str]
    ) -> DeviceTensor:
        """Return a tensor as `cut` does, *within* bytes after the first byte of a page; its pages, of *page* bytes, hold nothing else.

        All of its bytes count as initialized: the other user of these pages initializes them.
        """
        self._heap.skip_to(page, within)
        tensor = self.cut(memory, nbytes, told)
        self._heap.skip_to(page)
        tensor.allocation.filled = True
        return tensor

    @property
    def used(self) -> int:
        """Return the bytes of GDRAM that are allocated."""
        return self._heap.used

    def get(self, tensor: DeviceTensor) -> np.ndarray[Any, Any]:
        """Copy a tensor from GDRAM to the host."""
        return self._fetched(tensor).copy()

    def elements(self, tensor: DeviceTensor) -> np.ndarray[Any, Any]:
        """Return a view of a tensor in GDRAM without a copy, so that later launches' writes are seen in it."""
        return self._fetched(tensor)

    def take(self, tensor: DeviceTensor) -> np.ndarray[Any, Any]:
        """Move a tensor to the host without a copy; the device no longer has it."""
        array = self._fetched(tensor)
        self.free(tensor)
        return array

    def set(self, tensor: DeviceTensor, value: int) -> None:
        """Set every byte of *tensor* to *value*, 0 to 255, as the driver's memset does."""
        self._check(tensor)
        if not isinstance(value, int | np.integer) or not 0 <= value <= 255:
            raise UsageError(f"value = {value!r} is not a byte; give an integer from 0 to 255")
        if not tensor.allocation.writable:
            raise UsageError(
                f"{tensor!r} was lent with share(), which makes it const; put() a copy to change it"
            )
        tensor.allocation.raw.fill(value)
        tensor.allocation.filled = True

    def free(self, tensor: DeviceTensor) -> None:
        """Free a tensor's bytes; a later use is refused."""
        self._check(tensor)
        if any(tensor.allocation in used for used in self._running):
            raise UsageError(f"{tensor!r} is an argument of a launch that runs; free it afterwards")
        self._heap.free(tensor.allocation)

    def _fetched(self, tensor: DeviceTensor) -> np.ndarray[Any, Any]:
        self._check(tensor)
        tell_fetched(tensor.allocation, 0, tensor.allocation.nbytes)
        return tensor.allocation.raw.view(tensor.dtype.dtype).reshape(tensor.shape)

    def _check(self, tensor: DeviceTensor) -> None:
        if not isinstance(tensor, DeviceTensor):
            raise UsageError(
                f"{tensor!r} is not a device tensor; make one with device.put() or device.empty()"
            )
        if tensor.device is not self:
            raise UsageError(
                f"{tensor!r} belongs to another device than {self!r}; copy it with get() and put()"
            )
        if not tensor.allocation.live:
            raise UsageError(f"{tensor!r} was freed; put() the data again")

    def _adopt(
        self, raw: Bytes, shape: tuple[int, ...], dtype: DType, *, filled: bool, writable: bool = True
    ) -> DeviceTensor:
        declared = MemoryDeclaration(GDRAM, dtype, math.prod(shape), shape=shape, const=not writable)
        allocation = self._heap.allocate(raw, declared, writable=writable)
        allocation.filled = filled
        return DeviceTensor(self, allocation, shape, dtype)

    def hold_variables_in(self, memory: Bytes) -> None:
        """Let variables at file scope lie in *memory* from now on, as the tensors of `cut` do."""
        self._of_variables = memory

    def _bytes_of_variable(self, nbytes: int) -> Bytes:
        """Return the bytes of the next allocation.  Raises `OutOfMemory` as `cut` does."""
        memory = self._of_variables
        if memory is None:
            self._heap.reserve(nbytes)
            return fresh_bytes(nbytes)
        start = self._heap.place_of(nbytes, memory.size)
        return memory[start : start + nbytes]

    def variable(self, variable: DeviceVariable) -> DeviceTensor:
        """Return the memory of *variable*: made at the first call, and the same bytes afterwards."""
        by_symbol = self._variables.setdefault(variable.home, {})
        if variable.symbol not in by_symbol:
            declared, content = variable.declared, variable.content
            raw = self._bytes_of_variable(variable.nbytes)
            raw[: len(content)] = np.frombuffer(content, np.uint8)
            raw[len(content) :] = 0
            allocation = self._heap.allocate(raw, declared, writable=not declared.const)
            allocation.filled = True
            by_symbol[variable.symbol] = DeviceTensor(self, allocation, (declared.count,), declared.dtype)
        return by_symbol[variable.symbol]

    # -- launches ------------------------------------------------------------------------------

    def launch(
        self,
        kernel: object,
        dim: int | Sequence[int] = (1, 1, 1),
        kind: Kind = BLOCK,
        args: Sequence[Any] = (),
        *,
        observe: Iterable[Any] = (),
        seed: int | None = None,
        effects: str = "late",
        timing: bool = True,
        layout: RegionMap | None = None,
        engine: str = "auto",
        limit: Limit | str | int | None = None,
        threads: int | None = None,
    ) -> Launch:
        """Run *kernel* once per task of *dim* and return the results.

        *dim* is (x, y, z) tasks; *kind* groups them.  Tensors among *args* become pointers. *observe* takes observer
        objects or checker names.  *seed* picks another legal schedule; *effects* says when asynchronous effects land:
        "late" (at the sync that waits for them) or "eager"; without *timing* the time is not predicted (``time_us``
        is NaN).  *layout* is the plan of the kernel's NRAM, by default the first `mlusim.plan.Layout` among *args*; a
        kernel that calls ``PLAN.place`` needs neither.  *engine* is "python", "native" (C, for kernels of BANG C
        sources without observers other than checkers, which see them in Python if they may have something to report)
        or "auto", which uses the native one if possible.  *limit* bounds simulated instructions, wall time and
        growth: a `Limit`, its text, such as "seconds=60", or a number of instructions.  *threads* is the number of
        threads of the native engine for this launch, by default the device's; results are the same for any number.
        Raises `LaunchError` for a launch that the board would refuse, and `Fault` for an error of the kernel, among
        them `LimitReached` for a launch that exceeds its limit.
        """
        __tracebackhide__ = True  # for pytest

        options = options_of(observe, seed, effects, engine, timing, layout, limit, threads)
        try:
            return self.launch_with(options, kernel, dim, kind, args)
        except BaseException as error:
            show_kernel(error)  # here too, because this frame comes before the kernel's
            raise

    def launch_with(
        self, options: LaunchOptions, kernel: Any, dim: int | Sequence[int], kind: Kind, args: Sequence[Any]
    ) -> Launch:
        """Run *kernel* as `launch` does, with its keywords in *options*."""
        __tracebackhide__ = True

        again = self._repeated(self._ran_again(options, kernel, dim, kind, args), options)
        return self._launched(options, kernel, dim, kind, args) if again is None else again

    def launch_again(
        self, options: LaunchOptions, kernel: Any, dim: int | Sequence[int], kind: Kind, args: Sequence[Any]
    ) -> Sequence[str] | None:
        """Run *kernel* as `launch` does if such a launch is prepared, and return only its printed lines; return None if it is not."""
        ran = self._ran_again(options, kernel, dim, kind, args)
        return ran if ran is None else ran.printed

    def _launched(
        self, options: LaunchOptions, kernel: Any, dim: int | Sequence[int], kind: Kind, args: Sequence[Any]
    ) -> Launch:
        if isinstance(args, DeviceTensor | Ptr | str | np.ndarray):
            raise LaunchError(f"args = {args!r:.80} is one argument; give a sequence, as (argument,)")
        call = _kernel(kernel), grid_of(self.board, dim, kind), kind, tuple(listed("args", args))
        variables = tuple(map(self.variable, call[0].variables))
        request = Request(*call, options.checked(args), variables)
        watching = (*attendants(), *request.options.observers)
        if not all(isinstance(observer, Observer) for observer in watching):
            watching = checkers.observers_of(watching)  # checker names are defined above the machine
        self._check_arguments(request)
        inside = bool(watching) and looks_inside(watching)
        if inside:
            name_by_variables(request.arguments)
        choices, bound = choices_of(request.options.seed), limit_of(request.options.limit)
        drawn = choices is not None or request.options.seed is not None
        asked = request.options.threads
        engine = Engine.asked(request.options.engine, self.threads if asked is None else threads_of(asked))
        repeat = repeatable(request, self.board, watching, bound, drawn=drawn) if inside else None
        counted = bound.instructions is not None
        course = engine.course(request, self.board, watching, inside=inside, counted=counted, drawn=drawn)
        if choices is None and bound is UNLIMITED and not watching:
            second = self._second(options, request, course)
            if second is not None:
                return second
        try:
            with self._written(request), turn():
                machine = self._spared(repeat, course, bound)
                if machine is None:
                    machine = self._ran(course, bound, watching, choices)
                    if repeat is not None:
                        repeat.keep(machine)
        except BaseException as error:
            if isinstance(error, Fault):
                error.findings = _findings(watching)
            show_kernel(error)
            raise
        self.preparations.note(machine)
        return handed(watching, self._result(machine, watching))

    def _second(self, options: LaunchOptions, request: Request, course: Course) -> Launch | None:
        """Return the result of the second launch of its kind without observers, which is prepared here, or None if it runs in the usual way."""
        if course.loaded is None or course.most > 1 or sys.gettrace():
            return None

        def machine_of() -> Machine:
            return self._machine(request, (), None, course.loaded)

        kernel, dim, kind = request.kernel, request.dim, request.kind
        ran = self._ran_again(options, kernel, dim, kind, request.arguments, machine_of)
        return self._repeated(ran, options)

    def _repeated(self, ran: "PreparedRun | None", options: LaunchOptions) -> Launch | None:
        """Return the result of a prepared launch *ran*, from `_ran_again`; None if the launch runs in the usual way."""
        if ran is None:
            return None
        return self._result(ran, ()) if isinstance(ran, Machine) else self._told(ran, options)

    def _ran_again(
        self,
        options: LaunchOptions,
        kernel: Any,
        dim: object,
        kind: Kind,
        args: Sequence[Any],
        machine_of: Callable[[], Machine] | None = None,
    ) -> "PreparedRun | None":
        """Run a launch for which earlier ones of the kernel are prepared; return its counts, or its machine if a task has called Python.

        Return None if the launch runs in the usual way.  With *machine_of*, for a checked launch, it is prepared now
        if it is the second.
        """
        prepared = self.preparations.find(options, kernel, dim, kind, machine_of)
        if prepared is None or args.__class__ not in (tuple, list):
            return None
        if machine_of is None and (not _nobody_asks(options.limit) or kernel.complaint(args) is not None):
            return None
        try:
            return prepared.run(self, args, self._running)
        except BaseException as error:
            if isinstance(error, Fault):
                error.findings = ()
            show_kernel(error)
            raise
        finally:
            if prepared.broken:
                self.preparations.end(prepared)

    def _told(self, counted: PreparedCounts, options: LaunchOptions) -> Launch:
        """Return the result of a prepared launch with the counts *counted*; its facts are computed when one is requested."""
        request, timed = counted.request, options.timing
        sums = LaunchSums(
            lambda: LaunchFacts.of(counted.tally(), timed=timed), self.board, request.kind.unions
        )
        return Launch(
            request.kernel.name,
            self.board.name,
            request.dim,
            request.kind.name,
            None,
            options.effects,
            findings=(),
            printed=(),
            sums=sums,
            engine=NATIVE,
            queue=queue_place(),
            estimate=request.kernel.estimate,
        )

    @contextlib.contextmanager
    def _written(self, request: Request) -> Iterator[None]:
        """Prevent the tensors that *request* can access from being freed while the block runs."""
        written = set(request.allocations)
        self._running.append(written)
        try:
            yield
        finally:
            self._running.remove(written)
            for allocation in written:
                allocation.launches += 1

    def _spared(self, repeat: Repeatable | None, course: Course, bound: Limit) -> Machine | None:
        """Return a launch that need not run in Python: one equal to *repeat*, or one in C without findings."""
        machine = None if repeat is None else repeat.again(lambda: self._machine(repeat.request, ()))
        if machine is not None or course.screening is None:
            return machine
        with _metered(bound) as meter:
            return course.spared(lambda *args: self._machine(course.request, *args), meter, self.preparations)

    def _ran(self, course: Course, bound: Limit, watching: Sequence[Observer], choices: object) -> Machine:
        """Run a launch that the observers *watching* see, and return its machine."""
        seeing, told = course.seeing(watching)
        counting = [o for o in seeing if o.counts and course.loaded is not None]
        others = [o for o in seeing if o not in counting]
        with _metered(bound) as meter:
            machine = self._machine(course.request, others, choices, course.loaded, meter, told=told)
            with _counting(machine, counting):
                course.run(machine)
        return machine

    def _machine(self, request: Request, watching: Sequence[Observer], *how: Any, **more: Any) -> Machine:
        return Machine(self.board, request, watching, *how, **more)

    def _check_arguments(self, request: Request) -> None:
        for argument in request.leaves:
            if isinstance(argument, DeviceTensor):
                self._check(argument)
            elif isinstance(argument, Ptr):
                self._check_pointer(argument)
            elif isinstance(argument, np.ndarray):
                raise LaunchError(
                    f"an argument of {request.kernel.name} is a host array of shape {argument.shape}; "
                    "put it on the device first with device.put()"
                )

        kernel = request.kernel
        complaint = kernel.complaint(request.arguments) or kernel.oversize(self.board.arch)
        if complaint is not None:
            raise LaunchError(complaint)

    def _check_pointer(self, pointer: Ptr) -> None:
        allocation = pointer.view.allocation
        if not allocation.live:
            raise UsageError(f"{allocation.site} no longer exists, so a pointer to it cannot be an argument")
        if allocation.heap is not self._heap:
            where = "another device" if allocation.space is GDRAM else f"{allocation.space} of another launch"
            raise UsageError(
                f"a pointer into {where}, to {allocation.site}, cannot be an argument on {self!r}"
            )

    def _result(self, machine: Machine, watching: tuple[Any, ...]) -> Launch:
        request = machine.request
        return Launch(
            kernel=request.kernel.name,
            board=self.board.name,
            dim=request.dim,
            kind=request.kind.name,
            seed=request.options.seed,
            effects=request.options.effects,
            findings=_findings(watching),
            printed=tuple(machine.printed),
            sums=LaunchSums(_facts_of(machine), self.board, request.kind.unions),
            observers=watching,
            engine="python" if machine.native is None else machine.native.engine,
            threads=machine.threads,
            queue=queue_place(),
            estimate=request.kernel.estimate,
        )


def _facts_of(machine: Machine) -> Callable[[], LaunchFacts]:
    """Return a function that returns the facts of the launch of *machine*, and computes them when called if the launch was prepared."""
    timed, sums = machine.timing, machine.sums
    if sums is None:
        facts = LaunchFacts.of(machine.tally, timed=timed)
        return lambda: facts
    machine.sums = None  # the machine serves further launches
    return lambda: LaunchFacts.of(sums(), timed=timed)


def _nobody_asks(limit: object) -> bool:
    """Return whether a launch with this *limit* has no observer, limit or schedule of its own, and this thread has no trace function."""
    return not (limit or attendants() or directed() or sys.gettrace()) and limit_of(None) is UNLIMITED


@contextlib.contextmanager
def _metered(bound: Limit) -> Iterator[Meter | None]:
    """Yield the observer of the limit *bound* of a run, or None if there is no limit."""
    if bound == UNLIMITED:
        yield None
        return
    meter = Meter(bound)
    with meter:
        yield meter


@contextlib.contextmanager
def _counting(machine: Machine, counting: Sequence[Observer]) -> Iterator[None]:
    """Let C count within the block for the observers *counting*, which otherwise hear only the beginning of the launch."""
    if not counting:
        yield
        return
    counts = machine.count_lines()
    for observer in counting:
        observer.launch_begin(machine)
    try:
        yield
    finally:
        for observer in counting:
            observer.counted(counts.covers, counts.counts)


def _findings(observers: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(finding for observer in observers for finding in observer.findings)


def _kernel(kernel: object) -> Kernel:
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return Kernel(kernel)
    raise LaunchError(f"{kernel!r} is not a kernel; decorate a function with @kernel")


# A substitute board for a program that names its own: within the block every new device is of that board.

_INSTEAD: ContextVar[Board | None] = ContextVar("board instead", default=None)


@contextlib.contextmanager
def devices_on(board: str | Board) -> Iterator[None]:
    """Make each `mlusim.Device` and `mlusim.host.Handle` of the block one of *board*, whatever board the program names.

    It holds for this thread.  Raises `UsageError` for an unknown board.
    """
    token = _INSTEAD.set(find_board(board))
    try:
        yield
    finally:
        _INSTEAD.reset(token)


def board_for(wanted: str | Board) -> Board:
    """Return the board of a new device for which the program names *wanted*."""
    return _INSTEAD.get() or find_board(wanted)
