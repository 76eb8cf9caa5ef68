"""Resolves the layout names in translated code."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from mlusim.arch.dtypes import DType
from mlusim.bangc import names, types as t
from mlusim.bangc.runtime.layouts import ArrayLayout, PointerLayout, StructLayout
from mlusim.bangc.runtime.pointers import Layout, Pointer, no_number
from mlusim.bangc.runtime.variables import LonePointer
from mlusim.errors import Unsupported
from mlusim.isa.vv import BYTES, Register
from mlusim.memory.pointer import Ptr

Find = Callable[[int, Any], Any]


class RegisterOfC(LonePointer, Register):
    """A vector register of BANG C, which is also the pointer to itself."""

    __slots__ = ()

    @property
    def here(self) -> "RegisterOfC":
        """The register at which the pointer points: itself."""
        return self

    def part(self, at: int, layout: object) -> Any:  # noqa: ARG002 - it is alone
        """Return the register, if it begins at byte *at*."""
        return self if at == 0 else None

    @property
    def layout(self) -> "RegisterLayout":
        """The layout of the register."""
        return _register_layout(self.dtype)

    def copied(self) -> "RegisterOfC":
        """Return a copy by value."""
        register = RegisterOfC(self.dtype)
        register.assign(self)
        return register

    def assign(self, other: Register) -> None:
        """Take the value of another register, or become unwritten like it."""
        self.values = None if other.values is None else other.values.copy()

    def cast(self, layout: Layout) -> "RegisterOfC":
        """Return the pointer to this register cast to *layout*."""
        if layout is self.layout:
            return self
        raise Unsupported(f"a register is seen as {layout}", hint="store it with __vv_store")

    @property
    def address(self) -> int:
        """Refuse: a register has no address."""
        raise no_number()


class RegisterLayout:
    """The layout of a vector register."""

    size = BYTES

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype

    def make(self, *_values: object) -> RegisterOfC:
        """Return a register without a value."""
        return RegisterOfC(self.dtype)

    def of(self, pointer: Pointer) -> Any:
        """Return *pointer* as a pointer to registers."""
        if isinstance(pointer, Ptr):
            raise Unsupported(
                f"memory is seen as a register of {self.dtype}",
                hint="load it with __vv_load",
            )
        return pointer.cast(self)

    def __repr__(self) -> str:
        return f"vv_{self.dtype}"


@functools.cache
def _register_layout(dtype: DType) -> RegisterLayout:
    return RegisterLayout(dtype)


def resolve(wanted: Mapping[str, t.Type], find: Find) -> dict[str, Any]:
    """Return the layouts for layout names; *find* resolves integers to pointers."""
    structs: dict[str, StructLayout] = {}
    meanings: dict[str, Any] = {}
    for name, kind in wanted.items():
        if name.startswith(names.NUMBER) and isinstance(kind, t.Arithmetic):
            meanings[name] = t.memory_dtype(kind).dtype.type
        else:
            meanings[name] = layout(kind, find, structs)
    return meanings


def layout(kind: t.Type, find: Find, structs: dict[str, StructLayout]) -> Any:
    """Return the layout of a type."""
    while isinstance(kind, t.Pointer) and kind.reference:
        kind = t.Pointer(kind.to)
    if isinstance(kind, t.Arithmetic):
        return t.memory_dtype(kind)
    if isinstance(kind, t.Pointer):
        return PointerLayout(layout(kind.to, find, structs), find)
    if isinstance(kind, t.Array):
        return ArrayLayout(layout(kind.of, find, structs), kind.count)
    if isinstance(kind, t.VectorRegister):
        return _register_layout(kind.dtype)
    if isinstance(kind, t.Struct):
        struct = structs.get(kind.name)
        if struct is None:
            # Registered before its fields: a struct may contain a pointer to itself.
            struct = structs[kind.name] = StructLayout(kind)
            struct.fields = {
                t.attribute_of(f.name): (layout(f.type, find, structs), f.offset) for f in kind.fields
            }
        return struct
    # void, or a class of the host: such a pointer moves by bytes.
    return t.DTYPE_OF[t.UINT8]
