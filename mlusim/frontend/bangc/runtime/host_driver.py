"""The driver's interface (``cnrt...``) on a simulated device: memory, queues, notifiers, errors.

Work runs when it is given to a queue; a queue's clock, which notifiers read, moves by the predicted time of its
launches alone.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field

from mlusim.arch.dtypes import int8, uint8
from mlusim.errors import Ended, MemoryFault, OutOfMemory, WrongSpace, shown_file
from mlusim.frontend.bangc import prelude
from mlusim.frontend.bangc.runtime.classes.objects import HostObject
from mlusim.frontend.bangc.runtime.host_bytes import device_bytes, host_bytes, plain, put_variable
from mlusim.frontend.bangc.runtime.host_memory import HostBlock, HostMemory, HostPtr, float64
from mlusim.frontend.bangc.runtime.pointers import Address
from mlusim.frontend.bangc.runtime.variables import Cell
from mlusim.kernel_frames import kernel_site
from mlusim.machine.hub import tell_mistake
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.allocation import Allocation
from mlusim.memory.pointer import Ptr

if TYPE_CHECKING:
    from mlusim.machine.device import Device

_HEADER = (prelude.INCLUDE / "cnrt.h").read_text()
CODES: Mapping[str, int] = MappingProxyType(
    {name: int(n) for name, n in re.findall(r"\b(cnrt(?:Success|Error\w+)) = (\d+)", _HEADER)}
)
SENTENCES: Mapping[int, str] = MappingProxyType(
    {int(n): text for n, text in re.findall(r"\bcnrt(?:Success|Error\w+) = (\d+),  // (.*)", _HEADER)}
)
OK, ARGS, MEMORY, NO_DEVICE = (
    CODES[n] for n in ("cnrtSuccess", "cnrtErrorArgsInvalid", "cnrtErrorNoMem", "cnrtErrorNoDevice")
)
_DIRECTIONS = (
    (False, True),
    (True, True),
    (True, False),
    (False, False),
)  # whether source and target are the device's


@define(eq=False)
class Queue(HostObject):
    """A queue: ``us`` is its clock."""

    us: float = 0.0
    live: bool = True
    running: dict[Allocation, str] = field(
        factory=dict
    )  # what launches that were not waited for may write: where


@define(eq=False)
class Notifier(HostObject):
    """A notifier; ``us`` is when it was met, None before, ``met`` what the launches before it may have written."""

    us: float | None = None
    live: bool = True
    queue: Queue | None = None
    met: dict[Allocation, str] = field(factory=dict)


@define(eq=False)
class Driver:
    """The state of the driver in one program."""

    device: "Device"
    memory: HostMemory
    usual: Queue = field(factory=Queue)  # of launches without a queue
    last: int = OK
    tensors: dict[int, DeviceTensor] = field(factory=dict)  # by address
    lent: dict[int, DeviceTensor] = field(factory=dict)
    freed: dict[int, str] = field(factory=dict)  # where memory was given back, by address
    queues: list[Queue] = field(factory=list)

    def functions(self) -> Iterator[tuple[str, Callable[..., Any]]]:
        """The calls by the names that programs have for them."""
        for name, method in _CALLS.items():
            yield name, method.__get__(self)

    def find(self, address: int) -> Ptr | None:
        """The device pointer that an integer is."""
        for start, tensor in (*self.tensors.items(), *self.lent.items()):
            if start <= address <= start + tensor.nbytes:
                return tensor.ptr.cast(uint8) + (address - start)
        return None

    def lend(self, tensor: DeviceTensor) -> None:
        """Let pointers into *tensor* be found; it is the caller's, and not for cnrtFree."""
        self.lent[tensor.address] = tensor

    def queue(self, given: Any) -> Queue:
        """The queue that a program names; the usual one for null."""
        if isinstance(given, Queue):
            if not given.live:
                raise MemoryFault("this queue was destroyed", hint="destroy it after its last use")
            return given
        if isinstance(given, Address) and not given:
            return self.usual
        raise MemoryFault("this is no queue", hint="make one with cnrtQueueCreate")

    def _done(self, code: int) -> int:
        if code != OK:
            self.last = code
        return code

    # -- errors and devices ----------------------------------------------------------------------

    def get_last_error(self) -> int:
        """``cnrtGetLastError``: the last error, which is forgotten."""
        code, self.last = self.last, OK
        return code

    def peek_at_last_error(self) -> int:
        """``cnrtPeekAtLastError``."""
        return self.last

    def get_error_str(self, code: int) -> HostPtr:
        """``cnrtGetErrorStr``."""
        return self._text(SENTENCES.get(code, "unknown error"))

    def get_error_name(self, code: int) -> HostPtr:
        """``cnrtGetErrorName``."""
        return self._text(next((n for n, known in CODES.items() if known == code), "cnrtErrorUnknown"))

    def _text(self, text: str) -> HostPtr:
        block = HostBlock(self.memory, text.encode() + b"\0", "a text of the driver")
        return HostPtr(block.view(int8))

    def set_device(self, number: int) -> int:
        """``cnrtSetDevice``: there is one."""
        return self._done(OK if number == 0 else NO_DEVICE)

    def get_device(self, number: Any) -> int:
        """``cnrtGetDevice``."""
        number[0] = 0
        return OK

    def get_device_count(self, count: Any) -> int:
        """``cnrtGetDeviceCount``."""
        count[0] = 1
        return OK

    def init(self, _flags: int = 0) -> int:
        """``cnrtInit`` and ``cnrtDestroy`` of older programs."""
        return OK

    def get_cn_attribute(self, value: Any, attribute: int, _number: int) -> int:
        """``cnDeviceGetAttribute``; a grid's axes reach as far as its 32 bits [I]."""
        board = self.device.board
        arch = board.arch
        known = (
            board.clusters,
            arch.cores_per_cluster,
            arch.nram,
            arch.wram,
            arch.sram,
            *[(1 << 31) - 1] * 3,
        )
        value[0] = known[attribute]
        return OK

    def get_context(self, where: Any) -> int:
        """``cnCtxGetCurrent``: the one that there is."""
        where[0] = Address(1)
        return OK

    def get_context_config(self, _context: Any, which: int, found: Any) -> int:
        """``cnGetCtxConfigParam``: every cluster of the board is seen."""
        if which == 0:
            found.here.unionLimit = self.device.board.max_union
        else:
            found.here.visibleClusterNumber = self.device.board.clusters
        return OK

    def get_attribute(self, value: Any, attribute: int, number: int) -> int:
        """``cnrtDeviceGetAttribute``."""
        board = self.device.board
        arch = board.arch
        known = (board.clusters, arch.cores_per_cluster, arch.nram, arch.wram, arch.sram, board.max_union)
        if number != 0 or not 0 <= attribute < len(known):
            return self._done(NO_DEVICE if number else ARGS)
        value[0] = known[attribute]
        return OK

    # -- memory ----------------------------------------------------------------------------------

    def malloc(self, pointer: Any, nbytes: int) -> int:
        """``cnrtMalloc``."""
        if not pointer or nbytes == 0:
            return self._done(ARGS)
        try:
            tensor = self.device.empty(nbytes, uint8)
        except OutOfMemory:
            return self._done(MEMORY)
        file, line = kernel_site()
        allocation, where = tensor.allocation, f"{PurePath(file).name}:{line}"
        allocation.declared = evolve(
            allocation.declared, told=lambda: f"{nbytes} bytes of cnrtMalloc at {where}"
        )
        self.tensors[tensor.address] = tensor
        pointer[0] = tensor.ptr
        return OK

    def free(self, pointer: Any) -> int:
        """``cnrtFree``."""
        pointer = plain(pointer)
        if isinstance(pointer, Address) and not pointer:
            return OK
        if not isinstance(pointer, Ptr):
            raise WrongSpace(
                "cnrtFree is given a pointer of the host", hint="give back what malloc gave with free"
            )
        start = pointer.view.allocation.address
        tensor = self.tensors.pop(start, None)
        if tensor is None or pointer.offset:
            where = self.freed.get(start)
            said = f"that was freed at {where}" if where else "that cnrtMalloc did not give"
            raise MemoryFault(
                f"cnrtFree of memory {said}", address=pointer.address, hint="free it once, by its first byte"
            )
        file, line = kernel_site()
        self.freed[start] = f"{shown_file(file)}:{line}"
        self.device.free(tensor)
        return OK

    def given(self, queue: Queue, arguments: Iterable[tuple[Any, bool]]) -> None:
        """Note a launch in *queue*: its *arguments*, each with whether the kernel may write through it.

        Raises `Ended` for memory that was freed.
        """
        file, line = kernel_site()
        where = f"{shown_file(file)}:{line}"
        for argument, writes in arguments:
            if not isinstance(argument, Ptr):
                continue
            allocation = argument.view.allocation
            if not allocation.live:
                freed = self.freed.get(allocation.address)
                told = f" at {freed}" if freed else ""
                fault = Ended(
                    f"a launch is given device memory that was freed{told}", address=argument.address
                )
                fault.rule, (fault.file, fault.line) = "hostcheck-use-after-free", kernel_site()
                raise fault
            if writes and queue is not self.usual:
                queue.running[allocation] = where

    def _read(self, source: Any, reading: Queue | None) -> None:
        """Tell a read of what a launch in another queue than *reading*, which was not waited for, may still write.

        What is copied without a queue is in order with launches without one.
        """
        allocation = source.view.allocation if isinstance(source, Ptr) else None
        for queue in self.queues:
            if queue is not reading and allocation in queue.running:
                fault = MemoryFault(
                    f"a copy reads {allocation.site}, which the launch at {queue.running.pop(allocation)} in a queue may "
                    "not have written yet",
                    hint="wait for the queue of the launch first: cnrtQueueSync(queue)",
                )
                fault.rule, (fault.file, fault.line) = "hostcheck-read-without-sync", kernel_site()
                tell_mistake(fault)

    def copy(
        self,
        target: Any,
        source: Any,
        nbytes: int,
        direction: int,
        call: str = "cnrtMemcpy",
        queue: Queue | None = None,
    ) -> int:
        """``cnrtMemcpy``."""
        if not 0 <= direction < len(_DIRECTIONS):
            return self._done(ARGS)
        from_device, to_device = _DIRECTIONS[direction]
        if from_device and not to_device:
            self._read(plain(source), queue)
        read = (device_bytes if from_device else host_bytes)(source, nbytes, call)
        if not to_device and put_variable(target, bytes(read)):
            return OK
        store = (device_bytes if to_device else host_bytes)(target, nbytes, call)
        store[:] = bytes(read)
        if to_device:
            self.filled(plain(target), nbytes)
        return OK

    def copy_async(self, target: Any, source: Any, nbytes: int, queue: Any, direction: int) -> int:
        """``cnrtMemcpyAsync``: at once; bytes have no time here."""
        return self.copy(target, source, nbytes, direction, "cnrtMemcpyAsync", self.queue(queue))

    def set(self, pointer: Any, value: int, nbytes: int) -> int:
        """``cnrtMemset``."""
        device_bytes(pointer, nbytes, "cnrtMemset")[:] = bytes([value & 0xFF]) * nbytes
        self.filled(plain(pointer), nbytes)
        return OK

    def set_async(self, pointer: Any, value: int, nbytes: int, queue: Any) -> int:
        """``cnrtMemsetAsync``."""
        self.queue(queue)
        return self.set(pointer, value, nbytes)

    def filled(self, pointer: Ptr, nbytes: int) -> None:
        """Note that the host gave these bytes values."""
        pointer.view.allocation.give(pointer.offset, pointer.offset + nbytes)

    # -- queues and notifiers --------------------------------------------------------------------

    def queue_create(self, queue: Any) -> int:
        """``cnrtQueueCreate``."""
        if not queue:
            return self._done(ARGS)
        queue[0] = made = Queue()
        self.queues.append(made)
        return OK

    def queue_destroy(self, queue: Any) -> int:
        """``cnrtQueueDestroy``."""
        if not isinstance(queue, Queue):
            return self._done(ARGS)
        self.queue(queue).live = False
        self.queues.remove(queue)
        return OK

    def queue_sync(self, queue: Any) -> int:
        """``cnrtQueueSync``: what was given to it is done."""
        self.queue(queue).running.clear()
        return OK

    def sync_device(self) -> int:
        """``cnrtSyncDevice``."""
        for queue in self.queues:
            queue.running.clear()
        return OK

    def notifier_create(self, notifier: Any) -> int:
        """``cnrtNotifierCreate``."""
        if not notifier:
            return self._done(ARGS)
        notifier[0] = Notifier()
        return OK

    def notifier_destroy(self, notifier: Any) -> int:
        """``cnrtNotifierDestroy``."""
        if not isinstance(notifier, Notifier) or not notifier.live:
            return self._done(ARGS)
        notifier.live = False
        return OK

    def place_notifier(self, notifier: Any, queue: Any) -> int:
        """``cnrtPlaceNotifier``: it is met when the launches before it are done."""
        if not isinstance(notifier, Notifier) or not notifier.live:
            return self._done(ARGS)
        notifier.queue = self.queue(queue)
        notifier.us, notifier.met = notifier.queue.us, dict(notifier.queue.running)
        return OK

    def wait_notifier(self, notifier: Any) -> int:
        """``cnrtWaitNotifier`` and ``cnrtQueryNotifier``."""
        if isinstance(notifier, Notifier) and notifier.queue is not None:
            running = notifier.queue.running
            for allocation in [a for a, where in notifier.met.items() if running.get(a) == where]:
                del running[allocation]
        return self._done(OK if isinstance(notifier, Notifier) and notifier.us is not None else ARGS)

    def duration(self, start: Any, end: Any, us: Any) -> int:
        """``cnrtNotifierDuration``: us between two notifiers."""
        known = all(isinstance(n, Notifier) and n.us is not None for n in (start, end))
        if not known:
            return self._done(ARGS)
        us[0] = float(end.us - start.us)
        return OK

    def elapsed(self, start: Any, end: Any, ms: Any) -> int:
        """``cnrtNotifierElapsedTime``: ms between two notifiers."""
        us = Cell(float64, 0.0)
        code = self.duration(start, end, us)
        if code == OK:
            ms[0] = us.v / 1000
        return code


_CALLS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "cnrtGetLastError": Driver.get_last_error,
        "cnrtPeekAtLastError": Driver.peek_at_last_error,
        "cnrtGetErrorStr": Driver.get_error_str,
        "cnrtGetErrorName": Driver.get_error_name,
        "cnrtInit": Driver.init,
        "cnrtDestroy": Driver.sync_device,
        "cnrtSetDevice": Driver.set_device,
        "cnrtGetDevice": Driver.get_device,
        "cnrtGetDeviceCount": Driver.get_device_count,
        "cnrtDeviceGetAttribute": Driver.get_attribute,
        "cnCtxGetCurrent": Driver.get_context,
        "cnDeviceGetAttribute": Driver.get_cn_attribute,
        "cnGetCtxConfigParam": Driver.get_context_config,
        "cnrtMalloc": Driver.malloc,
        "cnrtFree": Driver.free,
        "cnrtMemcpy": Driver.copy,
        "cnrtMemcpyAsync": Driver.copy_async,
        "cnrtMemset": Driver.set,
        "cnrtMemsetAsync": Driver.set_async,
        "cnrtQueueCreate": Driver.queue_create,
        "cnrtQueueDestroy": Driver.queue_destroy,
        "cnrtQueueSync": Driver.queue_sync,
        "cnrtSyncDevice": Driver.sync_device,
        "cnrtNotifierCreate": Driver.notifier_create,
        "cnrtNotifierDestroy": Driver.notifier_destroy,
        "cnrtPlaceNotifier": Driver.place_notifier,
        "cnrtWaitNotifier": Driver.wait_notifier,
        "cnrtQueryNotifier": Driver.wait_notifier,
        "cnrtNotifierDuration": Driver.duration,
        "cnrtNotifierElapsedTime": Driver.elapsed,
    }
)
