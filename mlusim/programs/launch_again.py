"""Launches of a program, stored so that they can be repeated on a new device."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen

from mlusim.bangc.module import BangKernel
from mlusim.engine.preference import AUTO, NATIVE, PYTHON
from mlusim.machine.core import RunningLaunch
from mlusim.machine.device import Device
from mlusim.machine.hub import Observer
from mlusim.machine.kernel import Kind
from mlusim.machine.launch import Launch
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.allocation import Allocation, Bytes
from mlusim.memory.pointer import Ptr

MOST = 16  # launches stored for one program
MOST_BYTES = 64 << 20  # of the memory of the arguments of one launch


@frozen(eq=False)
class Relaunched:
    """The results of a repeated launch."""

    launch: Launch


@frozen(eq=False)
class LaunchAgain:
    """A launch of a BANG C kernel, with the initial bytes of the memory that its arguments point to, and its length."""

    kernel: BangKernel
    board: Any
    dim: tuple[int, int, int]
    kind: Kind
    arguments: tuple[Any, ...]
    memory: dict[Allocation, Bytes]
    engine: str = AUTO
    length: int = 0  # instructions and scalar accesses

    def watched(self) -> "LaunchAgain":
        """Return the same launch on the engine whose instructions can be observed."""
        return evolve(self, engine=PYTHON)

    def natively(self) -> "LaunchAgain":
        """Return the same launch on the C engine."""
        return evolve(self, engine=NATIVE)

    def loaded(self) -> BangKernel:
        """Return the kernel of the launch."""
        return self.kernel

    def run(self, observe: Iterable[Any]) -> Relaunched:
        """Repeat the launch on a new device.  Raises `Fault` if it does not complete there."""
        device = Device(self.board)
        tensors = {allocation: _restored(device, allocation, raw) for allocation, raw in self.memory.items()}
        arguments = [_led(a, lambda pointer: _there(pointer, tensors)) for a in self.arguments]
        return Relaunched(
            device.launch(
                self.kernel, self.dim, self.kind, arguments, observe=tuple(observe), engine=self.engine
            )
        )


@define(eq=False)
class LaunchKeeper(Observer):
    """Stores the first launch of each BANG C kernel for each shape of its arguments, if it completes."""

    between = True
    launches: dict[Any, LaunchAgain] = field(factory=dict, init=False)
    name: str = field(default="keeper", init=False)
    _last: Any = field(default=None, init=False)
    _seen: set[Any] = field(factory=set, init=False)

    def launch_begin(self, launch: Any) -> None:
        """Store the arguments of the launch and the contents of their memory."""
        self._last = None
        request = launch.request
        memory = _memory_of(request.arguments)
        # By sizes and numbers, which decide how kernels divide their memory; addresses always differ.
        key = (
            request.kernel,
            request.dim,
            request.kind,
            tuple(a.nbytes for a in memory),
            # Integers, by which kernels divide their memory.
            tuple(int(a) if isinstance(a, int | np.integer) else None for a in request.arguments),
        )
        few = len(self.launches) < MOST and sum(a.nbytes for a in memory) <= MOST_BYTES
        if key in self._seen or not few or not isinstance(request.kernel, BangKernel):
            return
        self._seen.add(key)
        self._last = key
        self.launches[key] = LaunchAgain(
            request.kernel,
            launch.board,
            request.dim,
            request.kind,
            request.arguments,
            {a: a.raw.copy() for a in memory},
        )

    def launch_end(self, launch: RunningLaunch) -> None:
        """Note the length of the launch."""
        launched = self.launches.get(self._last)
        if launched is not None:
            self.launches[self._last] = evolve(launched, length=launch.tally.length)

    def fault(self, core: object, fault: BaseException) -> None:
        """Forget a launch that does not complete."""
        del core, fault
        self.launches.pop(self._last, None)

    def error(self, core: object, error: BaseException) -> None:
        """Forget a launch that does not complete."""
        self.fault(core, error)


def _restored(device: Device, allocation: Allocation, raw: Bytes) -> DeviceTensor:
    """Make a tensor with the bytes *raw*, in place of *allocation*."""
    tensor = device.put(raw) if allocation.writable else device.share(raw)
    tensor.allocation.declared = evolve(
        tensor.allocation.declared, name=allocation.declared.name, told=allocation.declared.told
    )
    return tensor


def _there(pointer: DeviceTensor | Ptr, tensors: dict[Allocation, DeviceTensor]) -> Ptr:
    """Translate *pointer* to the device that has *tensors*."""
    if isinstance(pointer, DeviceTensor):
        return tensors[pointer.allocation].ptr.cast(pointer.dtype)
    view = pointer.view
    return (tensors[view.allocation].ptr + pointer.offset).cast(view.dtype)


def _led(argument: object, follow: Callable[[Any], Any]) -> Any:
    """Return *argument* with every pointer in it replaced by *follow* of it."""
    if isinstance(argument, DeviceTensor | Ptr):
        return follow(argument)
    if isinstance(argument, tuple | list):
        return tuple(_led(part, follow) for part in argument)
    return argument


def _memory_of(arguments: Iterable[Any]) -> dict[Allocation, None]:
    memory: dict[Allocation, None] = {}

    def note(pointer: DeviceTensor | Ptr) -> None:
        memory[pointer.allocation if isinstance(pointer, DeviceTensor) else pointer.view.allocation] = None

    for argument in arguments:
        _led(argument, note)
    return memory
