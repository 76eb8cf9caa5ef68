"""Launches on tensors of PyTorch's device ``mlu``, through the driver's library, in the simulator that holds the tensors."""

import ctypes
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import frozen

from mlusim.arch.board import Board
from mlusim.bangc.module import BangKernel, Module
from mlusim.errors import LaunchError, UsageError
from mlusim.machine.kernel import Kind
from mlusim.toolkit import image

PACKAGE = "torch_mlu"
_FORMATS = {"i1": "i", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "fp16": "e", "fp32": "f", "fp64": "f"}
"""The struct format of a number, by Triton's type of the parameter; unsigned types have that of the signed ones."""
_UNION = 4
"""The driver's number for Union1; Union2 is twice that."""


def is_on_device(argument: object) -> bool:
    """Return whether *argument* is a tensor of PyTorch's device ``mlu``."""
    return str(getattr(argument, "device", "")).partition(":")[0] == "mlu"


def _package() -> Any:
    return sys.modules.get(PACKAGE)


def board_name() -> str:
    """Return the name of the board behind PyTorch's device; "" if ``torch_mlu`` is not imported."""
    package = _package()
    return "" if package is None else str(package.torch.mlu.get_device_name())


def device() -> Any:
    """Return PyTorch's device ``mlu``. Raises `UsageError` if ``torch_mlu`` is not imported."""
    package = _package()
    if package is None:
        raise UsageError("import torch_mlu first: PyTorch has no device mlu without it")
    return package.torch.device("mlu", package.torch.mlu.current_device())


@frozen
class TextKernel:
    """A kernel as text in the file *path*, and in the form that runs on arrays."""

    path: Path
    name: str
    module: Module
    bang: BangKernel
    board: Board


class _Modules:
    """The kernels loaded in the driver's library, by file and name of their text."""

    def __init__(self) -> None:
        self._handles: dict[tuple[str, str], ctypes.c_void_p] = {}
        self._library: ctypes.CDLL | None = None

    @property
    def library(self) -> ctypes.CDLL:
        """The driver's library, the same one that the tensors use."""
        if self._library is None:
            home = _package()._place.home()  # noqa: SLF001 - the toolkit folder of the tensors' library
            self._library = ctypes.CDLL(str(home / "lib64" / "libcndrv.so"))
        return self._library

    def handle(self, kernel: TextKernel) -> ctypes.c_void_p:
        """Return the driver's handle of *kernel*, which is compiled and loaded on first use. Raises `LaunchError`."""
        key = str(kernel.path), kernel.name
        if key not in self._handles:
            source = image.ImageSource(key[0], (), (), (kernel.board,))
            form = image.device_side(kernel.module.files[0].form)
            content = image.write(source, [form])
            module, handle = ctypes.c_void_p(), ctypes.c_void_p()
            self.checked(self.library.cnModuleLoadFatBinary(content, ctypes.byref(module)), kernel)
            name = kernel.name.encode()
            self.checked(self.library.cnModuleGetKernel(module, name, ctypes.byref(handle)), kernel)
            self._handles[key] = handle
        return self._handles[key]

    def checked(self, code: int, kernel: TextKernel) -> None:
        """Raise `LaunchError` if the driver refuses *kernel*; its message is on standard error."""
        if code:
            raise LaunchError(f"the driver's library refuses {kernel.name} with code {code}")


_MODULES = _Modules()
_TIMED: list[list[float]] = []


def launch(
    kernel: TextKernel, kind: Kind, dim: tuple[int, int, int], arguments: Sequence[tuple[str, Any]]
) -> None:
    """Launch *kernel* on the current stream; *arguments* are pairs of Triton's parameter type and a value."""
    torch = _package().torch
    _refuse_another_board(kernel.board)
    handle = _MODULES.handle(kernel)
    values = [_bytes_of(word, argument) for word, argument in arguments]
    events = [torch.mlu.Event(enable_timing=True) for _ in range(2 * bool(_TIMED))]
    for before in events[:1]:
        before.record()
    # In C++, which converts errors of the launch to Python exceptions.
    _package()._C.invoke(handle.value, dim, _UNION * kind.unions or 1, values)  # noqa: SLF001 - the compiled device
    for after in events[1:]:
        after.record()
        after.synchronize()
        for milliseconds in _TIMED:
            milliseconds.append(events[0].elapsed_time(after))


@contextmanager
def timing() -> Iterator[list[float]]:
    """Collect the predicted milliseconds of launches on tensors in this context."""
    milliseconds: list[float] = []
    _TIMED.append(milliseconds)
    try:
        yield milliseconds
    finally:
        _TIMED.pop()  # by position: equal lists are not distinguishable


def _refuse_another_board(board: Board) -> None:
    here = board_name()
    if here != board.name:
        raise UsageError(
            f"the kernel is compiled for {board.name} and the tensors are on {here}; call mlusim.triton.activate() without a board"
        )


def _bytes_of(word: str, argument: object) -> bytes:
    """Return *argument* as bytes for the driver. Raises `UsageError` unless it is a tensor of the device or a number."""
    if word.startswith("*"):
        if not is_on_device(argument):
            place = getattr(argument, "device", None)
            said = "no tensor" if place is None else f"on {place}"
            raise UsageError(
                f"one argument of a kernel is a tensor on mlu and another is {said}; pass x.mlu() for each"
            )
        address: int = getattr(argument, "data_ptr")()  # noqa: B009 - PyTorch is not imported here
        return struct.pack("=Q", address)
    form = _FORMATS.get(word.replace("u", "i"))
    if form is None or not isinstance(argument, int | float):
        raise UsageError(f"a number of type {word} is not a parameter of a kernel; pass it in a tensor")
    if form in "efd":
        return struct.pack(f"={form}", argument)
    half = 1 << 8 * struct.calcsize(form) - 1
    return struct.pack(f"={form}", (int(argument) + half) % (2 * half) - half)
