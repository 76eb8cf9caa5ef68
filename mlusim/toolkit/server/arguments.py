"""The bytes of a launch's arguments as what `Device.launch` takes, by the types of the kernel's parameters."""

import struct
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

from mlusim.errors import LaunchError
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t

Reader = Callable[[bytes, int], Any]
Pointing = Callable[[int], Any]
"""What a device address is: a pointer; raises where no memory is."""

_FORMATS: Mapping[tuple[str, int], str] = MappingProxyType(
    {
        ("bool", 1): "<?", ("int", 1): "<b", ("int", 2): "<h", ("int", 4): "<i", ("int", 8): "<q", ("uint", 1): "<B",
        ("uint", 2): "<H", ("uint", 4): "<I", ("uint", 8): "<Q", ("float", 2): "<e", ("float", 4): "<f", ("float", 8): "<d",
    }
)  # fmt: skip


def reader(kind: t.Type, pointing: Pointing) -> Reader:
    """Return the reader of a value of type *kind* from bytes at an offset.  Raises `LaunchError` for a type that no host passes."""
    if isinstance(kind, t.Pointer):
        unpack = struct.Struct("<Q").unpack_from
        return lambda data, at: pointing(unpack(data, at)[0])
    if isinstance(kind, t.Arithmetic):
        if kind.name.startswith(("bfloat16", "__bf16")):  # struct has no letter for it
            return lambda data, at: float(np.frombuffer(data, bfloat16, 1, at)[0])
        number = struct.Struct(_FORMATS[kind.kind, kind.size]).unpack_from
        return lambda data, at: number(data, at)[0]
    if isinstance(kind, t.Array):
        one, size, count = reader(kind.of, pointing), kind.of.size, kind.count
        return lambda data, at: tuple(one(data, at + i * size) for i in range(count))
    if isinstance(kind, t.Record):
        fields = [(reader(f.type, pointing), f.offset) for f in kind.fields]
        return lambda data, at: tuple(read(data, at + offset) for read, offset in fields)
    raise LaunchError(
        f"a parameter of type {kind} cannot come from the host; pass a number, a pointer or a structure"
    )


class ArgumentReader:
    """The arguments of one kernel: their sizes in bytes, and their values from bytes that follow each other."""

    def __init__(self, parameters: Sequence[ir.Local], pointing: Pointing) -> None:
        self.sizes = [p.type.size for p in parameters]
        self._readers: list[tuple[Reader, int]] = []
        at = 0
        for parameter, size in zip(parameters, self.sizes, strict=True):
            self._readers.append((reader(parameter.type, pointing), at))
            at += size
        self.nbytes = at

    def __call__(self, data: bytes) -> list[Any]:
        """Return the values.  Raises `LaunchError` where a pointer points nowhere."""
        return [read(data, at) for read, at in self._readers]
