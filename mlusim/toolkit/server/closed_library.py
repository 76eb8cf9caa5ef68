"""Calls of the closed library (``cnnl...``) from a native program: its arguments as the stand-ins take them."""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen

from mlusim.errors import MlusimError, Unsupported, UsageError
from mlusim.frontend.bangc.runtime.cnnl.calls import calls
from mlusim.memory.pointer import Ptr

BAD_PARAM, NOT_SUPPORTED = 3, 7  # of cnnlStatus_t
_NUMBERS: Mapping[tuple[str, int], str] = {("f", 2): "e", ("f", 4): "f", ("f", 8): "d", **{("iu"[u], n): "bhiq"[k].upper() if u else "bhiq"[k] for u in (0, 1) for k, n in enumerate((1, 2, 4, 8))}}  # fmt: skip


@frozen
class NativeTensor:
    """A tensor descriptor: what was set."""

    dim: int
    dtype: int
    layout: int
    dims: tuple[int, ...]


@define
class Stores:
    """The stores of a stand-in to memory of the host, by address."""

    written: list[tuple[int, bytes]] = field(factory=list)

    def packed(self) -> bytes:
        """Return it as the program takes it."""
        return b"".join(struct.pack("<QI", address, len(data)) + data for address, data in self.written)


@define
class HostWords:
    """Numbers behind a pointer of the host: *data* is what was read there, *form* how one is read."""

    address: int
    data: bytes
    form: str
    stores: Stores

    def __getitem__(self, n: int) -> Any:
        size = struct.calcsize(self.form)
        if not self.form:
            raise Unsupported(
                "a stand-in of cnnl reads a number of the host without a type; give a typed pointer"
            )
        if (n + 1) * size > len(self.data):
            raise Unsupported(
                f"a stand-in of cnnl reads element {n} of the host at {self.address:#x}, which is not there"
            )
        return struct.unpack_from(f"<{self.form}", self.data, n * size)[0]

    def __setitem__(self, n: int, value: object) -> None:
        form = self.form or "Q"
        self.stores.written.append((self.address + n * struct.calcsize(form), struct.pack(f"<{form}", value)))

    def cast(self, layout: Any) -> "HostArray":
        """Return the same bytes as elements of *layout*."""
        return HostArray(self.data, layout.dtype)


@frozen
class HostArray:
    """Elements of NumPy's type *dtype* that were read from the host."""

    data: bytes
    dtype: Any

    def __getitem__(self, n: int) -> Any:
        return np.frombuffer(self.data, self.dtype, n + 1)[n].item()


@frozen
class HandlePlace:
    """The place in the program's memory to which a handle is stored when it is made."""

    address: int
    stores: Stores
    keep: Callable[[Any], int]

    def __setitem__(self, n: int, target: object) -> None:
        self.stores.written.append((self.address + 8 * n, struct.pack("<Q", self.keep(target))))


class Pointers(Sequence[Any]):
    """An array of pointers that the program gives, each found when it is read."""

    def __init__(self, addresses: Sequence[int], pointing: Callable[[int], Any]) -> None:
        self._addresses, self._pointing = addresses, pointing

    def __getitem__(self, n: Any) -> Any:
        return self._pointing(self._addresses[n])

    def __len__(self) -> int:
        return len(self._addresses)


class ClosedLibrary:
    """The stand-ins for one program, whose device pointers *pointing* finds; it returns None for other addresses."""

    def __init__(self, pointing: Callable[[int], Any]) -> None:
        self._pointing = pointing
        self._calls = dict(calls(self))
        self._handles: dict[int, Any] = {}

    def filled(self, pointer: Ptr, nbytes: int) -> None:
        """Note that a stand-in gave these bytes values."""
        pointer.view.allocation.give(pointer.offset, pointer.offset + nbytes)

    def call(self, payload: bytes) -> tuple[int, bytes]:
        """Do what *payload* asks for; the status and what is to be stored on the host.

        Raises `UsageError` for a call that has no stand-in, and what a stand-in raises.
        """
        stores = Stores()
        (_, name), *pieces = _parts(payload)
        function = self._calls.get(name.decode())
        if function is None:
            raise UsageError(f"{name.decode()} is of the closed library, and has no stand-in here")
        arguments = [self._argument(kind, data, stores) for kind, data in pieces]
        return function(*arguments), stores.packed()

    def _keep(self, target: object) -> int:
        number = len(self._handles) + 1  # 0 is the null handle
        self._handles[number] = target
        return number

    # i and f are numbers, t and T tensors, h a handle, H the place of a new one, P several pointers: see cnnl.cpp.
    def _argument(self, kind: str, data: bytes, stores: Stores) -> Any:
        if kind in "if":
            return struct.unpack("<q" if kind == "i" else "<d", data)[0]
        if kind == "t":
            return _tensor(data) if data else None
        if kind == "T":
            size = _TENSOR.size
            return [_tensor(data[at : at + size]) for at in range(0, len(data), size)]
        address = int.from_bytes(data[:8], "little")
        if kind == "h":
            return self._handles.get(address)
        if kind == "H":
            return HandlePlace(address, stores, self._keep)
        if kind == "P":
            held = self._on_device(address) if address and len(data) < 16 else data[8:]
            return Pointers(struct.unpack(f"<{len(held) // 8}Q", held[: len(held) // 8 * 8]), self._pointing)
        pointer = self._pointing(address) if address else None
        if pointer is not None or not address:
            return pointer
        return HostWords(address, data[10:], _NUMBERS.get((chr(data[8]), data[9]), ""), stores)

    def _on_device(self, address: int) -> bytes:
        """Return the pointers that an array on the device begins with, none where no memory is there."""
        pointer = self._pointing(address)
        if pointer is None:
            return b""
        return bytes(pointer.view.allocation.raw.data[pointer.offset : pointer.offset + 8 * _POINTERS])


_POINTERS = 256  # of an array on the device
_TENSOR = struct.Struct("<19q")  # dim, dtype, layout, and room for 16 sizes


def _tensor(data: bytes) -> NativeTensor:
    dim, dtype, layout, *dims = _TENSOR.unpack(data)
    return NativeTensor(dim, dtype, layout, tuple(dims[:dim]))


def _parts(payload: bytes) -> Iterator[tuple[str, bytes]]:
    at = 0
    while at < len(payload):
        length = int.from_bytes(payload[at + 1 : at + 5], "little")  # after the byte of the kind
        yield chr(payload[at]), payload[at + 5 : at + 5 + length]
        at += 5 + length


def status_of(error: MlusimError) -> int:
    """Return the status of a call that raised *error*."""
    return NOT_SUPPORTED if isinstance(error, Unsupported | UsageError) else BAD_PARAM
