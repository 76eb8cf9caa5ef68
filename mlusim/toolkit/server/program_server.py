"""The server of one program: it performs each request and returns the reply."""

import contextlib
import functools
import gc
import importlib
import mmap
import os
import struct
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from attrs import define, evolve, field, frozen

from mlusim.bangc.runtime.pointers import Address
from mlusim.counted import counted, plural
from mlusim.engine.preference import MEMORY_CORES
from mlusim.errors import Fault, LaunchError, MlusimError, OutOfMemory, UsageError, said, shown_file
from mlusim.machine.device import Device
from mlusim.machine.hub import attendants, hears_of_mistakes, launched_from, tell_fetched, tell_mistake
from mlusim.machine.kernel import KINDS, Kind
from mlusim.machine.launch import Launch, QueuePlace, in_queue
from mlusim.machine.options import LaunchOptions
from mlusim.machine.scheduling.schedule import begin_memory_cores_first
from mlusim.memory.allocation import Allocation
from mlusim.memory.space import GDRAM_BASE
from mlusim.near import near
from mlusim.observe.finding import Finding
from mlusim.observe.rules import RULES
from mlusim.toolkit.server import queues
from mlusim.toolkit.server.closed_library import ClosedLibrary, status_of
from mlusim.toolkit.server.memory import HostMistake, MappedMemory, Piece
from mlusim.toolkit.server.places import Places
from mlusim.toolkit.server.protocol import (
    ATTRIBUTES,
    CODES,
    OPS,
    ArgumentReader,
    ProgramReply,
    ProgramRequest,
)

ARGS, NO_MEMORY, TRAP, NO_KERNEL, NO_QUEUE, NO_NOTIFIER, NO_DEVICE, NO_SYMBOL = (
    CODES[f"cnrtError{name}"]
    for name in (
        "ArgsInvalid",
        "NoMem",
        "KernelTrap",
        "NoKernel",
        "Queue",
        "InvalidResourceHandle",
        "NoDevice",
        "InvalidSymbol",
    )
)
# Smaller numbers are not handles: 0 and 2 are the usual queue, waited for or not, 1 is all queues.
FIRST_HANDLE = 0x100
EVERY, UNWAITED = 1, 2
# cnrtFunctionType_t: Block is 1, UnionN the number of its cores, 4 * N.
_KINDS: Mapping[int, Kind] = {1: KINDS[0], **{4 * k.unions: k for k in KINDS if k.unions}}
NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)  # missing in Python 3.11
TO_DEVICE = (True, True, False, False, True)  # by the number of the direction
FROM_DEVICE = (False, True, True, False, True)
MOVED = 2
"""The reply to a copy or a set that the simulator has performed itself."""
# Requests whose methods have other names, since `queue` and `notifier` look up existing ones.
_NAMES: Mapping[str, str] = {
    "QUEUE": "make_queue",
    "QUEUE_END": "end_queue",
    "QUEUE_WAIT": "queue_waits",
    "NOTIFIER": "make_notifier",
    "NOTIFIER_END": "end_notifier",
}
GIVEN = OPS["GIVEN"]
# Requests that do not change the meaning of addresses and handles.
_PLAIN = {
    OPS[name]
    for name in (
        "LAUNCH",
        "GIVEN",
        "SETTLED",
        "COPY",
        "SET",
        "SYNC",
        "PLACE",
        "WAIT",
        "DURATION",
        "QUEUE_WAIT",
    )
}
MOST_AGAIN = 64  # launches of each kind whose parsed arguments are cached
_READER = "mlusim.toolkit.server.image_module"  # by name: only kernels need the front end


class DriverRefusal(MlusimError):
    """The driver refuses the request with *code*."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@frozen
class NativeKernel:
    """A kernel of the program: its symbol and the number of its image."""

    symbol: str
    image: int


@frozen(eq=False)
class LoadedKernel:
    """A kernel loaded for an architecture, with the reader of its arguments."""

    kernel: Any
    arguments: ArgumentReader


@define(eq=False)
class LaunchedBefore:
    """A kind of launch that was made before: its queue, device, kernel, grid and type, and its parsed arguments, by their bytes."""

    queue: queues.NativeQueue
    board: "BoardMemory"
    loaded: LoadedKernel
    dim: tuple[int, int, int]
    kind: Kind
    arguments: dict[bytes, list[Any]] = field(factory=dict)

    def keep(self, payload: bytes, arguments: list[Any]) -> None:
        """Cache the *arguments* parsed from *payload*."""
        if len(self.arguments) >= MOST_AGAIN:
            self.arguments.clear()
        self.arguments[payload] = arguments


@define(eq=False)
class BoardMemory:
    """A device of the program with its memory and its usual queue."""

    device: Device
    memory: MappedMemory
    usual: queues.NativeQueue = field(factory=lambda: queues.NativeQueue(0))


class ProgramServer:
    """The devices, kernels, queues and notifiers of the process *pid*, whose memory is the file *memory_fd*.

    *boards* has the board's name of each device, or a device; *options* apply to every launch; ``fault`` is the first
    fault of a kernel.
    """

    memory_kind: ClassVar[type[MappedMemory]] = MappedMemory
    # Whether repeated launches may take a short path that reports nothing else.
    repeats: ClassVar[bool] = True

    def __init__(
        self, boards: Sequence[str | Device], memory_fd: int, pid: int, options: Mapping[str, Any]
    ) -> None:
        bytes_of_map = os.fstat(memory_fd).st_size
        self._map = mmap.mmap(memory_fd, bytes_of_map, flags=mmap.MAP_SHARED | NO_RESERVE)
        self._addresses = range(GDRAM_BASE, GDRAM_BASE + bytes_of_map)
        whole = np.frombuffer(self._map, np.uint8)
        share = bytes_of_map // len(boards) // mmap.PAGESIZE * mmap.PAGESIZE
        self.places = Places(pid)
        self.boards: list[BoardMemory] = []
        for number, board in enumerate(boards):
            base = GDRAM_BASE + number * share
            device = board if isinstance(board, Device) else Device(board, base=base)
            first = number * share
            memory = self.memory_kind(device, whole[first : first + share], self._map, first, self.places)
            if device is not board:  # otherwise its memory is the caller's
                memory.hold_variables()
            self.boards.append(BoardMemory(device, memory))
        self._options = LaunchOptions(**options)
        begin_memory_cores_first()  # raises for an unknown word before the first launch
        self.fault: Fault | None = None
        self._images: list[bytes] = []
        self._modules: dict[tuple[int, int], Any] = {}  # by image and architecture
        self._kernels: dict[int, NativeKernel] = {}
        self._loaded: dict[tuple[int, int], LoadedKernel] = {}  # by stub and architecture
        self._queues: dict[int, queues.NativeQueue] = {}
        self._notifiers: dict[int, queues.NativeNotifier] = {}
        self._next = FIRST_HANDLE
        self._closed: ClosedLibrary | None = None
        self._target: BoardMemory | None = None  # the device of the kernel whose arguments are being parsed
        self._order = queues.QueueOrder()  # of work, for observers
        self._guards: dict[int, queues.QueueWork] = {}  # incomplete copies with memory of the host
        # Memory that kernels have written since the host last copied something back, with the calls that
        # launched them.
        self._unseen: dict[Allocation, int] = {}
        self._unguarded: set[LoadedKernel] = set()  # kernels for which that was reported
        self._strided: list[str] = []  # the strided tensors among the arguments of the current launch
        self._gaps: set[tuple[LoadedKernel, str]] = set()  # parameters for which that was reported
        self._line = ""  # the Python line of the next launch
        self._mistaken = False  # whether the host has made a mistake
        self._timed = False  # whether a notifier was created
        self._before: dict[Any, LaunchedBefore] = {}  # by the words of their requests and the device
        # Replies that unanswered launches owe, by thread.
        self._owed: list[tuple[int, ProgramReply]] = []
        # OP_MALLOC is performed by `malloc`, and so on.
        self._methods = {op: getattr(self, _NAMES.get(name, name.lower())) for name, op in OPS.items()}

    def close(self) -> None:
        """Release the program: its memory is unmapped as soon as no observer has an array of it."""
        self._order = queues.QueueOrder()
        for held in (self._methods, self.boards, self._kernels, self._modules):
            held.clear()
        gc.collect()  # arrays of the map may be part of reference cycles, which would keep it mapped

    def handle(self, request: ProgramRequest) -> ProgramReply | None:
        """Perform *request*; return None for an unanswered launch, whose texts and code come with the next reply."""
        if request.op not in _PLAIN:
            self._before.clear()
        reply = self._done(request)
        if request.op != GIVEN:
            return self._with_owed(reply) if self._owed else reply
        if reply.code or reply.said or reply.printed:
            self._owed.append((request.words[4], reply))
        return None

    def _with_owed(self, reply: ProgramReply) -> ProgramReply:
        """Return *reply* with the texts and codes of unanswered launches before its own."""
        owed, self._owed = self._owed, []
        failed = (struct.pack("<2Q", thread, r.code) for thread, r in owed if r.code)
        replies = [*(r for _, r in owed), reply]
        said, printed = ("".join(getattr(r, text) for r in replies) for text in ("said", "printed"))
        return reply._replace(said=said, printed=printed, failed=b"".join(failed))

    def _done(self, request: ProgramRequest) -> ProgramReply:
        try:
            reply: ProgramReply = self._methods.get(request.op, self._unknown)(request)
        except MlusimError as error:
            code = _code_of(error)
            return self._said(request, code, error) if code == TRAP else self._refused(request, code, error)
        except Exception as error:  # noqa: BLE001 - a program never sees a traceback
            return self._unexpected(request, error)
        return reply

    def _unexpected(self, request: ProgramRequest, error: Exception) -> ProgramReply:
        at = traceback.extract_tb(sys.exc_info()[2])[-1]
        text = f"unexpected {type(error).__name__} at {Path(at.filename).name}:{at.lineno}: {said(error)}; this is a bug of mlusim"
        return self._refused(request, CODES["cnrtErrorUnknown"], MlusimError(text))

    def _refused(self, request: ProgramRequest, code: int, error: MlusimError) -> ProgramReply:
        rule = getattr(error, "rule", None) or "hostcheck-refused"  # faults without a finding have none
        self._mistake(request.caller, rule, _sentence(error))
        return self._said(request, code, error)

    def _said(self, request: ProgramRequest, code: int, error: MlusimError) -> ProgramReply:
        called = f" (called at {self.places(request.caller)})" if request.caller else ""
        shown = f"\n{error.shown}" if error.shown else ""
        printed, error.printed = _lines(error.printed), ()  # printed here
        return ProgramReply(code=code, said=f"error: {_sentence(error)}{called}{shown}\n", printed=printed)

    def _mistake(self, caller: int, rule: str, message: str, **more: Any) -> None:
        """Report a mistake of the host to observers, with the place of the call."""
        self._mistaken = True
        if attendants():
            place = self.places(caller)
            function = () if place.function is None else (f"in {place.function}",)
            at: dict[str, Any] = {"file": place.file, "line": place.line, "context": function}
            tell_mistake(Finding(rule, message, level=RULES[rule].level, **at, **more))

    def _unknown(self, request: ProgramRequest) -> ProgramReply:
        raise UsageError(f"the program asks for {request.op}, which this version of mlusim does not know")

    def board(self, request: ProgramRequest) -> BoardMemory:
        """Return the device of *request*.  Raises `DriverRefusal` if it does not exist."""
        if not 0 <= request.device < len(self.boards):
            raise DriverRefusal(
                NO_DEVICE,
                f"there is no device {request.device}; {counted(len(self.boards), 'is', 'are')} there",
            )
        return self.boards[request.device]

    def memory_at(self, address: int) -> MappedMemory:
        """Return the memory that contains *address*; if there is none, that of the last device."""
        return next(
            (b.memory for b in self.boards if b.memory.find(address) is not None), self.boards[-1].memory
        )

    # -- kernels ---------------------------------------------------------------------------------

    def image(self, request: ProgramRequest) -> ProgramReply:
        """Store the image that the compiler embedded in a file of the program."""
        self._images.append(request.payload)
        return ProgramReply(len(self._images) - 1)

    def kernel(self, request: ProgramRequest) -> ProgramReply:
        """Store the name of a kernel."""
        image, stub = request.words[:2]
        self._kernels[stub] = NativeKernel(request.payload.decode(), image)
        for loaded in [key for key in self._loaded if key[0] == stub]:  # of a library that was unloaded
            del self._loaded[loaded]
        return ProgramReply()

    def sizes(self, request: ProgramRequest) -> ProgramReply:
        """Return the sizes of the parameters of a kernel, for a launch or a lookup in a module."""
        try:
            loaded = self._loaded_for(request.words[0], self.board(request).device)
        except MlusimError as error:
            if request.words[1] != EVERY:
                self._not_launched(request.words[1], request, error)
            raise
        prints = "bang_printf" in loaded.kernel.plan.rows
        sizes = struct.pack(f"<{len(loaded.arguments.sizes)}I", *loaded.arguments.sizes)
        return ProgramReply(prints, sizes)

    def _loaded_for(self, stub: int, device: Device) -> LoadedKernel:
        """Return the kernel of *stub* for the architecture of *device*; it is loaded at its first use."""
        named = self._kernels.get(stub)
        if named is None:
            raise DriverRefusal(NO_KERNEL, "what is launched is not a kernel of this program")
        bang_arch = device.board.arch.bang_arch
        loaded = self._loaded.get((stub, bang_arch))
        if loaded is None:
            try:
                kernel = self._module(named.image, bang_arch)[named.symbol]
            except UsageError as error:
                raise DriverRefusal(NO_KERNEL, str(error)) from None
            kernel.beside = functools.partial(self._files, bang_arch)
            loaded = LoadedKernel(kernel, ArgumentReader(kernel.form.parameters, self._pointing))
            self._loaded[stub, bang_arch] = loaded
        return loaded

    def _module(self, image: int, bang_arch: int) -> Any:
        module = self._modules.get((image, bang_arch))
        if module is None:
            read = importlib.import_module(_READER).read
            module = self._modules[image, bang_arch] = read(self._images[image], self._images, bang_arch)
        return module

    def _files(self, bang_arch: int) -> Iterator[Any]:
        """Yield the program's files with kernels, including those of which nothing was launched yet."""
        for image in range(len(self._images)):
            with contextlib.suppress(UsageError):  # an unreadable one is an error at its launch
                yield from self._module(image, bang_arch).module.files

    def _pointing(self, address: int, *, inside: bool = False) -> Any:
        """Return the pointer with the value *address*; *inside* of a structure, which may be incomplete, an invalid one is accepted."""
        if not address:
            return None
        for number, board in enumerate(self.boards):
            piece = board.memory.find(address)
            if piece is not None:
                if self._target is not None and board is not self._target:
                    raise UsageError(
                        f"an argument points to {board.memory.told(address)} of device {number}, and the launch is on device "
                        f"{self.boards.index(self._target)}; make device {number} the current one first"
                    )
                piece.poison()
                if piece.strided and self._target is not None:
                    self._strided.append(piece.managed)
                return piece.ptr + (address - piece.start) if address != piece.start else piece.ptr
        if inside:
            return Address(address)
        memory = self.boards[-1].memory
        raise memory.mistaken(
            address, f"an argument points to {memory.told(address)}; {memory.remedy(address)}"
        )

    def symbol(self, request: ProgramRequest) -> ProgramReply:
        """Return the address of a variable at file scope, by its image and mangled name."""
        board, name = self.board(request), request.payload.decode()
        variable = self._module(request.words[0], board.device.board.arch.bang_arch).variable(name)
        if variable is None:
            raise DriverRefusal(
                NO_SYMBOL, f"the variable {name} is not in code of the device; use it in a kernel of its file"
            )
        allocation = board.device.variable(variable).allocation
        board.memory.lend_variable(allocation)
        return ProgramReply(allocation.address)

    def constant(self, request: ProgramRequest) -> ProgramReply:
        """Return the address and the size of a ``__mlu_const__`` variable, by its place on the host."""
        board, path = self.board(request), Path(request.payload.decode())
        bang_arch = board.device.board.arch.bang_arch
        modules = [self._module(image, bang_arch) for image in range(len(self._images))]
        try:
            variable = importlib.import_module(_READER).constant_at(path, request.words[0], modules)
        except UsageError as error:
            raise DriverRefusal(NO_SYMBOL, str(error)) from None
        allocation = board.device.variable(variable).allocation
        board.memory.lend_variable(allocation)
        nbytes = variable.declared.count * variable.declared.dtype.size
        return ProgramReply(allocation.address, payload=struct.pack("<Q", nbytes))

    def launch(self, request: ProgramRequest) -> ProgramReply:
        """Launch a kernel at once.  A fault or a refusal is also an error of the queue, which the next wait returns."""
        try:
            before = self._before.get((request.words[:4], request.device))
            reply = None if before is None else self._launched_again(before, request)
            return self._launched_first(request) if reply is None else reply
        except MlusimError as error:
            self._not_launched(request.words[3], request, error)
            raise

    def _not_launched(self, handle: int, request: ProgramRequest, error: MlusimError) -> None:
        queue = self._queues.get(handle) or self.board(request).usual
        if isinstance(error, Fault):
            queue.fault = queue.fault or request.caller
            self.fault = self.fault or error
        else:
            queue.refused = queue.refused or _code_of(error)

    given = launch

    def settled(self, _: ProgramRequest) -> ProgramReply:
        """Tell the client that all earlier requests have finished."""
        return ProgramReply()

    def _launched_again(self, before: LaunchedBefore, request: ProgramRequest) -> ProgramReply | None:
        """Repeat the launch *before* on a short path if nothing observes it and no notifier needs its time; None if the usual path is needed."""
        if before.queue.failed or self._timed or self._line or attendants():
            return None
        arguments = before.arguments.get(request.payload)
        if arguments is None:
            arguments = self._arguments_of(before.loaded, before.board, request.payload)
            before.keep(request.payload, arguments)
        printed = before.board.device.launch_again(
            self._options, before.loaded.kernel, before.dim, before.kind, arguments
        )
        return None if printed is None else ProgramReply(printed=_lines(printed))

    def _arguments_of(self, loaded: LoadedKernel, board: BoardMemory, payload: bytes) -> list[Any]:
        """Parse the arguments of a launch of *loaded* on *board*.  Raises `LaunchError` if there are more or fewer."""
        if len(payload) != loaded.arguments.nbytes:
            raise LaunchError(
                f"{loaded.kernel.name} takes {loaded.arguments.nbytes} {plural(loaded.arguments.nbytes, 'byte')} of arguments and is given {len(payload)}; "
                "compile all files of the program with one declaration of it"
            )
        self._target = board
        self._strided.clear()
        try:
            arguments = loaded.arguments(payload)
        finally:
            self._target = None
        if self._strided:
            self._tell_strided(loaded)
        return arguments

    def _launched_first(self, request: ProgramRequest) -> ProgramReply:
        stub, xy, z_kind, handle = request.words[:4]
        queue, board = self._working(handle, request), self.board(request)
        loaded = self._loaded_for(stub, board.device)
        kind = _KINDS.get(z_kind >> 32)
        if kind is None:
            raise LaunchError(
                f"{z_kind >> 32} is not a task type; use cnrtFuncTypeBlock or one of the unions"
            )
        dim = xy & 0xFFFFFFFF, xy >> 32, z_kind & 0xFFFFFFFF
        arguments = self._arguments_of(loaded, board, request.payload)
        heard = queues.TouchedGdram() if hears_of_mistakes() else None
        place = QueuePlace(queue.number, functools.partial(queue.at, queue.steps))
        line, self._line = self._line, ""
        told = functools.partial(self._told_launch, request.caller, line)
        with launched_from(told, shown=bool(line)), in_queue(place):
            observe = () if heard is None else (heard,)
            launch = self._started(board, observe, loaded.kernel, dim, kind, arguments)
        if heard is not None:
            self._work("launch", queue, request, heard.touched)
            self._unseen.update(
                (allocation, request.caller) for allocation in heard.touched.writes if allocation is not None
            )
        # Memory cores may execute stores that it intends for IPU cores, and no warning was given.
        may_be_unguarded = bool(kind.unions) and loaded not in self._unguarded and loaded.kernel.unguarded
        if may_be_unguarded:
            self._tell_unguarded(loaded, launch)
        if self._timed or attendants():  # otherwise its time is not needed, and the queue would only grow
            queue.add(launch)
        elif self.repeats and not may_be_unguarded:
            before = LaunchedBefore(queue, board, loaded, dim, kind)
            before.keep(request.payload, arguments)
            self._before[request.words[:4], request.device] = before
        return ProgramReply(printed=_lines(launch.printed))

    def _started(self, board: BoardMemory, observe: Sequence[Any], *launched: Any) -> Launch:
        """Launch *launched*: a kernel, its grid and kind, and its arguments."""
        options = evolve(self._options, observe=observe) if observe else self._options
        return board.device.launch_with(options, *launched)

    def _told_launch(self, caller: int, line: str) -> str:
        """Return the place of a launch in the program, and the Python line that led to it."""
        file, _, number = line.rpartition(":")
        return f"{self.places(caller)}" + (f", called at {shown_file(file)}:{number}" if line else "")

    def _tell_strided(self, loaded: LoadedKernel) -> None:
        """Warn on standard error that addresses of strided tensors are passed to *loaded*, once for each parameter."""
        for managed in self._strided:
            name = managed.partition(",")[0]
            if (loaded, name) not in self._gaps:
                self._gaps.add((loaded, name))
                sys.stderr.write(
                    f"note: {loaded.kernel.name} is given the address of {managed}: its elements do not follow one another there in the tensor's order; "
                    f"give {name}.contiguous(), or let the kernel count with the strides\n"
                )

    def _tell_unguarded(self, loaded: LoadedKernel, launch: Launch) -> None:
        """Warn once on standard error that memory cores have executed stores that *loaded* intends for IPU cores; checkers report more."""
        if not hears_of_mistakes() and launch.sums.facts.memory_core_stores:
            self._unguarded.add(loaded)
            order = "first" if begin_memory_cores_first() else "last"
            sys.stderr.write(
                f"note: {loaded.kernel.name} also runs on memory cores, which store to GDRAM {order} here, as {MEMORY_CORES} may say; whose "
                "value a card keeps is not known: `if (__is_mpu()) return;` (coreId == 0x80) is missing\n"
            )

    # -- work that is not ordered ----------------------------------------------------------------------

    def _work(
        self, what: str, queue: queues.NativeQueue, request: ProgramRequest, touched: queues.Touched
    ) -> queues.QueueWork | None:
        """Report earlier work with which new work in *queue* is not ordered, and record the new work; None if no observer needs it."""
        if not hears_of_mistakes():
            return None
        for clash in self._order.clashes(queue.number, touched):
            self._unordered(what, clash, request)
        return self._order.give(what, queue.number, request.caller, touched)

    def _watched(self, work: queues.QueueWork | None, handle: int, direction: int) -> bytes:
        """Return the payload of the reply to a copy: its number if it may still use memory of the host, else as `_pending`."""
        if work is None or not handle:
            return self._pending()
        if TO_DEVICE[direction] == FROM_DEVICE[direction]:
            return b""
        self._next += 1
        self._guards[self._next] = work
        return struct.pack("<Q", self._next)

    def _pending(self) -> bytes:
        """Return the numbers of the tracked copies that are not complete."""
        self._guards = {number: work for number, work in self._guards.items() if not self._order.over(work)}
        return struct.pack(f"<{len(self._guards)}Q", *self._guards)

    def touched(self, request: ProgramRequest) -> ProgramReply:
        """Report that the host uses its own memory before a copy in a queue that reads or writes it is complete."""
        number, byte = request.words[:2]
        work = self._guards.pop(number, None)
        if work is not None:
            written = None in work.touched.writes
            nbytes = (work.touched.writes if written else work.touched.reads)[None].nbytes
            place = self.places(work.caller)
            does, may = ("uses", "may not have written") if written else ("changes", "may not have read")
            self._mistake(
                request.caller,
                "hostcheck-read-without-sync" if written else "hostcheck-no-order",
                f"the program {does} byte {byte} of {nbytes} bytes of the host, which the copy at {place} {may} yet",
                hint="wait for the queue of the copy first: cnrtQueueSync(queue)",
            )
        return ProgramReply()

    def _unordered(self, what: str, clash: queues.QueueClash, request: ProgramRequest) -> None:
        """Report that *what*, a launch, a copy or a set, accesses memory that other work still uses."""
        first = clash.first
        if clash.allocation is None:
            bytes_ = f"{clash.high - clash.low} {plural(clash.high - clash.low, 'byte')} of the host at {clash.low:#x}"
        else:
            bytes_ = f"bytes [{clash.low}, {clash.high}) of {clash.allocation.site}"
        may = (
            "may still read"
            if not clash.first_wrote
            else "may not have written yet"
            if clash.does == "reads"
            else "may still write"
        )
        result = what == "copy" and clash.does == "reads"
        self._mistake(
            request.caller,
            "hostcheck-read-without-sync" if result else "hostcheck-no-order",
            f"a {what} {clash.does} {bytes_}, which the {first.what} at {self.places(first.caller)} in another queue {may}",
            hint=f"wait for the queue of the {first.what} first: cnrtQueueSync(queue), or cnrtQueueWaitNotifier in a queue",
        )

    def _waits(self, request: ProgramRequest, handle: int) -> int:
        """Order work without a queue after the work of the usual queue; return the error of that queue."""
        if handle:
            return 0
        usual = self.board(request).usual
        self._order.waited(usual.number)
        return self._error_of(usual)

    # -- memory ----------------------------------------------------------------------------------

    def malloc(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtMalloc``: allocate device memory."""
        managed = request.payload.decode("utf-8", "replace")
        return ProgramReply(self.board(request).memory.malloc(request.words[0], request.caller, managed))

    def describe(self, request: ProgramRequest) -> ProgramReply:
        """Record a library's name for a piece of memory that it manages."""
        address, strided = request.words[:2]
        words = request.payload.decode("utf-8", "replace")
        self.memory_at(address).describe(address, words, strided=bool(strided))
        return ProgramReply()

    def line(self, request: ProgramRequest) -> ProgramReply:
        """Record the Python line of the next launch; reply whether such lines are needed."""
        self._line = request.payload.decode("utf-8", "replace")
        return ProgramReply(int(hears_of_mistakes()))

    def free(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtFree``: free device memory."""
        address = request.words[0]
        memory = self.memory_at(address)
        piece = memory.find(address)
        # A library that manages memory reuses a piece only for later work in the same queue.
        if piece is not None and piece.start == address and not piece.managed and hears_of_mistakes():
            self._freed_in_use(piece, request)
        memory.free(address, request.caller)
        return ProgramReply()

    def _freed_in_use(self, piece: Piece, request: ProgramRequest) -> None:
        """Report the last work without a wait that uses *piece*, which is about to be freed."""
        whole = queues.bytes_at(piece.tensor.allocation, 0, piece.nbytes)
        for clash in [*self._order.clashes(queues.HOST, queues.Touched(writes=whole))][-1:]:
            first, verb = clash.first, "writes" if clash.first_wrote else "reads"
            self._mistake(
                request.caller,
                "hostcheck-freed-in-use",
                f"the {first.what} at {self.places(first.caller)}, which {verb} {piece.tensor.allocation.site}, may not be over when that memory is freed",
                hint=f"wait for the queue of the {first.what} first: cnrtQueueSync(queue)",
            )

    def copy(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtMemcpy`` and its variants: the program copies the bytes if both sides are valid; the value is 1 if the target was never written."""
        fresh = False
        target, source, nbytes, direction, handle = request.words[:5]
        reads, writes = queues.bytes_at(None, source, nbytes), queues.bytes_at(None, target, nbytes)
        if FROM_DEVICE[direction]:
            piece = self._side(source, nbytes, "a copy reads", target, source)
            piece.poison()
            low = source - piece.start
            if not TO_DEVICE[direction]:
                tell_fetched(piece.tensor.allocation, low, low + nbytes)
                self._unseen.clear()
            reads = queues.bytes_at(piece.tensor.allocation, low, nbytes)
        elif self.memory_at(source).find(source) is not None:
            raise self._misdirected("from the host reads", source, target, source)
        if TO_DEVICE[direction]:
            piece = self._side(target, nbytes, "a copy writes", target, source)
            fresh = piece.is_fresh(target - piece.start, target - piece.start + nbytes)
            piece.tensor.allocation.give(target - piece.start, target - piece.start + nbytes)
            writes = queues.bytes_at(piece.tensor.allocation, target - piece.start, nbytes)
        elif self.memory_at(target).find(target) is not None:
            raise self._misdirected("to the host writes", target, target, source)
        work = self._work("copy", self._working(handle, request), request, queues.Touched(reads, writes))
        code = self._waits(request, handle)
        return ProgramReply(value=int(fresh), code=code, payload=self._watched(work, handle, direction))

    def _side(self, address: int, nbytes: int, what: str, target: int, source: int) -> Piece:
        """Return the piece with the bytes of one side of a copy.  Raises `HostMistake`, with the fitting direction if another one was meant."""
        memory = self.memory_at(address)
        try:
            return memory.span(address, nbytes, what)
        except HostMistake as mistake:
            if mistake.rule == "hostcheck-no-memory" and address not in self._addresses:
                message = (
                    f"{what} {nbytes} {plural(nbytes, 'byte')} at {address:#x}, which is memory of the host"
                )
                raise HostMistake(mistake.rule, f"{message}; {self._fitting(target, source)}") from None
            raise

    def _misdirected(self, what: str, address: int, target: int, source: int) -> UsageError:
        return UsageError(
            f"a copy {what} {self.memory_at(address).told(address)}; {self._fitting(target, source)}"
        )

    def _fitting(self, target: int, source: int) -> str:
        """Return the direction of a copy between two addresses."""
        sides = [
            "Dev" if self.memory_at(address).find(address) is not None else "Host"
            for address in (source, target)
        ]
        return f"the direction that fits is cnrtMemcpy{sides[0]}To{sides[1]}"

    def set(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtMemset`` and its variants: set bytes to one value."""
        address, nbytes, handle = request.words[:3]
        piece = self.memory_at(address).span(address, nbytes, "cnrtMemset writes")
        low = address - piece.start
        piece.tensor.allocation.give(low, low + nbytes)
        touched = queues.Touched(writes=queues.bytes_at(piece.tensor.allocation, low, nbytes))
        self._work("set", self._working(handle, request), request, touched)
        code = self._waits(request, handle)
        return ProgramReply(code=code, payload=b"" if handle else self._pending())

    def where(self, request: ProgramRequest) -> ProgramReply:
        """Describe the memory at an address as a phrase."""
        address = request.words[0]
        return ProgramReply(payload=self.memory_at(address).told(address).encode())

    def kind(self, request: ProgramRequest) -> ProgramReply:
        """Return the number of the device that has memory at an address, -1 for none."""
        numbers = (n for n, b in enumerate(self.boards) if b.memory.find(request.words[0]) is not None)
        return ProgramReply(next(numbers, -1))

    def range(self, request: ProgramRequest) -> ProgramReply:
        """Return the beginning and the size of the allocation that contains an address."""
        address = request.words[0]
        piece = self.memory_at(address).span(address, 1, "cnMemGetAddressRange asks for")
        return ProgramReply(payload=struct.pack("<QQ", piece.start, piece.nbytes))

    def memory(self, request: ProgramRequest) -> ProgramReply:
        """Return the free and the total bytes of GDRAM."""
        device = self.board(request).device
        return ProgramReply(payload=struct.pack("<QQ", device.board.gdram - device.used, device.board.gdram))

    def reset(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtDeviceReset``: free all memory, and drop the order of queues and the errors of the usual one."""
        self.board(request).memory.clear(request.caller)
        self.board(request).usual.forget()
        self._order, self._guards = queues.QueueOrder(), {}
        return ProgramReply()

    def share(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtAcquireMemHandle``: let other processes map an allocation."""
        address = request.words[0]
        return ProgramReply(self.memory_at(address).share(address, request.payload.decode()).nbytes)

    def map(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtMapMemHandle``: map memory of another process."""
        first, nbytes = request.words[:2]
        memory = self.board(request).memory
        return ProgramReply(memory.map_file(request.payload.decode(), first, nbytes, request.caller))

    def unmap(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtUnMapMemHandle``: unmap memory of another process."""
        address = request.words[0]
        return ProgramReply(self.memory_at(address).unmap(address, request.caller))

    # -- queues and notifiers --------------------------------------------------------------------

    def queue(self, handle: int, request: ProgramRequest) -> queues.NativeQueue:
        """Return the queue with the handle *handle*.  Raises `DriverRefusal` if there is none."""
        if handle in (0, UNWAITED):
            return self.board(request).usual
        queue = self._queues.get(handle)
        if queue is None:
            raise DriverRefusal(
                NO_QUEUE, "this is not a queue, or one that was destroyed; make one with cnrtQueueCreate"
            )
        return queue

    def _working(self, handle: int, request: ProgramRequest) -> queues.NativeQueue:
        """Return the queue with the handle *handle*, for new work.

        Raises `DriverRefusal` if there is none, and if a wait has reported that the queue has failed: a card then
        accepts no more work. Work without a queue is performed all the same.
        """
        queue = self.queue(handle, request)
        if queue.failed and (handle or request.op == OPS["LAUNCH"]):
            where = "this is a queue" if queue.number else "the usual queue is one"
            again = "destroy it and make another" if queue.number else "call cnrtDeviceReset"
            raise DriverRefusal(
                NO_QUEUE,
                f"{where} that has failed: the kernel launched at {self.places(queue.fault)} had a fault, and "
                f"a queue takes no more work when a wait has returned that; {again}",
            )
        return queue

    def notifier(self, handle: int) -> queues.NativeNotifier:
        """Return the notifier with the handle *handle*.  Raises `DriverRefusal` if there is none."""
        notifier = self._notifiers.get(handle)
        if notifier is None:
            raise DriverRefusal(
                NO_NOTIFIER,
                "this is not a notifier, or one that was destroyed; make one with cnrtNotifierCreate",
            )
        return notifier

    def _placed(self, handle: int) -> queues.NativeNotifier:
        notifier = self.notifier(handle)
        if notifier.queue is None and not notifier.foreign:
            raise DriverRefusal(
                NO_NOTIFIER, "this notifier was placed in no queue; place it with cnrtPlaceNotifier first"
            )
        return notifier

    def make_queue(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtQueueCreate``: make a queue."""
        self._next += 1
        self._queues[self._next] = queues.NativeQueue(self._next, request.caller)
        return ProgramReply(self._next)

    def end_queue(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtQueueDestroy``: end a queue; return its error unless a wait has returned it."""
        queue = self.queue(request.words[0], request)
        code = 0 if queue.failed else self._error_of(queue)
        for work in self._guards.values():
            if work.queue == queue.number and None in work.touched.writes and not self._order.over(work):
                self._mistake(
                    work.caller,
                    "hostcheck-never-waited",
                    f"its queue is destroyed at {self.places(request.caller)} without a wait for this copy to the host",
                    hint="wait for its queue with cnrtQueueSync before its bytes are used",
                )
        self._order.waited(queue.number)
        self._queues.pop(request.words[0], None)
        return ProgramReply(code=code, payload=self._pending())

    def sync(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtQueueSync`` and ``cnrtSyncDevice``: return a fault at every call, and a refusal since the last call once.

        If the second word is not 0, the queue's errors are dropped, since the caller has reported them.
        """
        handle, forgets = request.words[:2]
        every = handle == EVERY
        waited = (
            [self.board(request).usual, *self._queues.values()] if every else [self.queue(handle, request)]
        )
        codes = [self._error_of(queue) for queue in waited]
        for queue in waited:
            if forgets:
                queue.forget()
            self._order.waited(queue.number)
        return ProgramReply(code=next(filter(None, codes), 0), payload=self._pending())

    def _error_of(self, queue: queues.NativeQueue) -> int:
        """Return the code for a wait for *queue*; a refusal is returned once, a fault every time."""
        queue.failed = bool(queue.fault)
        code, queue.refused = TRAP if queue.failed else queue.refused, 0
        return code

    def make_notifier(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtNotifierCreate``: from now on launches record their work for the timing, unless this notifier has none."""
        timed = not request.words[0]
        self._timed |= timed
        self._next += 1
        self._notifiers[self._next] = queues.NativeNotifier(timed, bool(request.words[1]))
        return ProgramReply(self._next)

    def end_notifier(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtNotifierDestroy``: end a notifier."""
        self.notifier(request.words[0])
        del self._notifiers[request.words[0]]
        return ProgramReply()

    def place(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtPlaceNotifier``: the notifier is reached when the launches before it are complete."""
        notifier, queue = self.notifier(request.words[0]), self.queue(request.words[1], request)
        notifier.queue, notifier.step, notifier.clock = queue, queue.steps, self._order.place(queue.number)
        return ProgramReply()

    def wait(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtWaitNotifier``: wait for a notifier, which reports that the work before it is complete, but not its errors."""
        self._order.met(self._placed(request.words[0]).clock)
        return ProgramReply(payload=self._pending())

    def duration(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtNotifierDuration``: return the us from one notifier to another."""
        first, second = (self._placed(handle) for handle in request.words[:2])
        if not (first.timed and second.timed):
            raise UsageError(
                "no time can be asked of a notifier that was made with CNRT_NOTIFIER_DISABLE_TIMING_ALL; make it without that flag"
            )
        # The bits of a double in the value of the reply.
        return ProgramReply(struct.unpack("<Q", struct.pack("<d", second.us - first.us))[0])

    def queue_waits(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtQueueWaitNotifier``: let a queue wait for a notifier."""
        queue, notifier = self.queue(request.words[0], request), self._placed(request.words[1])
        if notifier.queue is not None and notifier.queue is not queue:
            queue.add((notifier.queue, notifier.step))
            self._order.queue_waits(queue.number, notifier.clock)
        return ProgramReply()

    # -- the closed library ----------------------------------------------------------------------

    def cnnl(self, request: ProgramRequest) -> ProgramReply:
        """Perform a call of the closed library, whose stand-in works at once; the value is its status."""
        if self._closed is None:
            self._closed = ClosedLibrary(self._found)
        try:
            status, stores = self._closed.call(request.payload)
        except MlusimError as error:
            return self._refused(request, 0, error)._replace(value=status_of(error))
        return ProgramReply(status, stores)

    def _found(self, address: int) -> Any:
        """Return the device pointer with the value *address*; None if no device has memory there."""
        near = self.memory_at(address).find(address)
        return None if near is None else self._pointing(address)

    # -- the board -------------------------------------------------------------------------------

    def attribute(self, request: ProgramRequest) -> ProgramReply:
        """Return the attribute of the board with the given name."""
        name = request.payload.decode()
        answer = ATTRIBUTES.get(name)
        if answer is None:
            guess = "".join(f"; {other} is known" for other in near(name, list(ATTRIBUTES), 1))
            raise UsageError(f"the simulator does not know the attribute {name}{guess}")
        return ProgramReply(answer(self.board(request).device.board))

    def name(self, request: ProgramRequest) -> ProgramReply:
        """Return the name of the board."""
        return ProgramReply(payload=self.board(request).device.board.name.encode())

    def devices(self, _: ProgramRequest) -> ProgramReply:
        """Return the number of devices."""
        return ProgramReply(len(self.boards))

    # -- the end ---------------------------------------------------------------------------------

    def refused(self, request: ProgramRequest) -> ProgramReply:
        """Report what the library refused itself; for a launch it is also an error of the queue."""
        launched, handle, code = request.words[:3]
        if launched:
            queue = self._queues.get(handle) or self.board(request).usual
            queue.refused = queue.refused or code
        return self._refused(request, 0, UsageError(request.payload.decode("utf-8", "replace")))

    def end(self, request: ProgramRequest) -> ProgramReply:
        """End the server, and report what the program leaves behind."""
        for work in self._order.unwaited():
            self._mistake(
                work.caller,
                "hostcheck-never-waited",
                f"the program ends without a wait for this {work.what}",
                hint="wait for its queue with cnrtQueueSync, which also says whether a launch went wrong",
            )
        self._never_seen()
        pinned = struct.iter_unpack("<QQ", request.payload)
        self._left("cnrtHostMalloc", pinned)
        # Memory that a library manages ends with the program.
        pieces = (piece for board in self.boards for piece in board.memory.pieces() if not piece.managed)
        self._left("cnrtMalloc", ((piece.caller, piece.nbytes) for piece in pieces))
        return ProgramReply()

    def _never_seen(self) -> None:
        """Report results of kernels that the host neither copies back later nor only times."""
        private = {
            piece.tensor.allocation
            for b in self.boards
            for piece in b.memory.every()
            if not (piece.managed or piece.shared)
        }
        # Not for a program that measures times, or that ends early after an error.
        done = self._timed or self._mistaken or self.fault is not None
        callers = [] if done else [c for allocation, c in self._unseen.items() if allocation in private]
        for caller in dict.fromkeys(callers):
            self._mistake(
                caller,
                "hostcheck-never-copied-back",
                "the program ends and copies nothing back of what this launch writes",
                hint="copy the result with cnrtMemcpy(host, device, bytes, cnrtMemcpyDevToHost), behind a wait for the queue",
            )

    def _left(self, call: str, pieces: Iterable[tuple[int, int]]) -> None:
        """Report memory from *call* that is never freed; *pieces* are the callers and sizes."""
        left: dict[int, list[int]] = {}
        for caller, nbytes in pieces:
            left.setdefault(caller, []).append(nbytes)
        for caller, sizes in left.items():
            total = f"{sum(sizes)} {plural(sum(sizes), 'byte')}"
            self._mistake(
                caller, "hostcheck-never-freed", f"{total} of {call} are never freed", count=len(sizes)
            )


def _code_of(error: MlusimError) -> int:
    """Return the driver's code for *error*."""
    if isinstance(error, OutOfMemory):
        return NO_MEMORY
    return TRAP if isinstance(error, Fault) else getattr(error, "code", ARGS)


def _lines(printed: Sequence[str]) -> str:
    """Return the lines of ``__bang_printf`` in the form for a terminal."""
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in printed)


def _sentence(error: MlusimError) -> str:
    """Return the message of *error* on one line; for a fault with its place."""
    return " ".join((str(error) if isinstance(error, Fault) else said(error)).split())
