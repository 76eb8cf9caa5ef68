"""Calls of the closed library (``cnnl...``) by a native program, with its arguments converted for the stand-ins."""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen

from mlusim.bangc.runtime.cnnl.calls import calls
from mlusim.errors import MlusimError, Unsupported, UsageError
from mlusim.memory.pointer import Ptr

BAD_PARAM, NOT_SUPPORTED = 3, 7  # of cnnlStatus_t
_NUMBERS: Mapping[tuple[str, int], str] = {("f", 2): "e", ("f", 4): "f", ("f", 8): "d", **{("iu"[u], n): "bhiq"[k].upper() if u else "bhiq"[k] for u in (0, 1) for k, n in enumerate((1, 2, 4, 8))}}  # fmt: skip


@frozen
class NativeTensor:
    """A tensor descriptor with the values that were set."""

    dim: int
    dtype: int
    layout: int
    dims: tuple[int, ...]


@define
class Stores:
    """The stores of a stand-in to the host's memory, by address."""

    written: list[tuple[int, bytes]] = field(factory=list)

    def packed(self) -> bytes:
        """Return the stores in the format for the program."""
        return b"".join(struct.pack("<QI", address, len(data)) + data for address, data in self.written)


@define
class HostWords:
    """Numbers behind a host pointer: *data* are the bytes read there, *form* is the format of one number."""

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
        """Return the same bytes as elements of the type *layout*."""
        return HostArray(self.data, layout.dtype)


@frozen
class HostArray:
    """Elements of the NumPy type *dtype*, read from the host's memory."""

    data: bytes
    dtype: Any

    def __getitem__(self, n: int) -> Any:
        return np.frombuffer(self.data, self.dtype, n + 1)[n].item()


@frozen
class HandlePlace:
    """The place in the program's memory to which a new handle is stored."""

    address: int
    stores: Stores
    keep: Callable[[Any], int]

    def __setitem__(self, n: int, target: object) -> None:
        self.stores.written.append((self.address + 8 * n, struct.pack("<Q", self.keep(target))))


class Pointers(Sequence[Any]):
    """An array of pointers from the program; each is resolved when it is read."""

    def __init__(self, addresses: Sequence[int], pointing: Callable[[int], Any]) -> None:
        self._addresses, self._pointing = addresses, pointing

    def __getitem__(self, n: Any) -> Any:
        return self._pointing(self._addresses[n])

    def __len__(self) -> int:
        return len(self._addresses)


class ClosedLibrary:
    """The stand-ins for one program; *pointing* returns the device pointer of an address, None for other addresses."""

    def __init__(self, pointing: Callable[[int], Any]) -> None:
        self._pointing = pointing
        self._calls = dict(calls(self))
        self._handles: dict[int, Any] = {}

    def filled(self, pointer: Ptr, nbytes: int) -> None:
        """Note that a stand-in stored *nbytes* bytes at *pointer*."""
        pointer.view.allocation.give(pointer.offset, pointer.offset + nbytes)

    def call(self, payload: bytes) -> tuple[int, bytes]:
        """Perform the call in *payload*; return the status and the stores to the host's memory.

        Raises `UsageError` for a call without a stand-in, and the exceptions of stand-ins.
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

    # i and f are numbers, t and T tensors, h a handle, H the place for a new one, P several pointers: see
    # cnnl.cpp.
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
        """Return the bytes of the array of pointers at a device *address*; none if no memory is there."""
        pointer = self._pointing(address)
        if pointer is None:
            return b""
        return bytes(pointer.view.allocation.raw.data[pointer.offset : pointer.offset + 8 * _POINTERS])


_POINTERS = 256  # pointers of a device array, at most
_TENSOR = struct.Struct("<19q")  # dim, dtype, layout, and up to 16 sizes


def _tensor(data: bytes) -> NativeTensor:
    dim, dtype, layout, *dims = _TENSOR.unpack(data)
    return NativeTensor(dim, dtype, layout, tuple(dims[:dim]))


def _parts(payload: bytes) -> Iterator[tuple[str, bytes]]:
    at = 0
    while at < len(payload):
        length = int.from_bytes(payload[at + 1 : at + 5], "little")  # after the byte with the kind
        yield chr(payload[at]), payload[at + 5 : at + 5 + length]
        at += 5 + length


def status_of(error: MlusimError) -> int:
    """Return the status for a call that raised *error*."""
    return NOT_SUPPORTED if isinstance(error, Unsupported | UsageError) else BAD_PARAM
