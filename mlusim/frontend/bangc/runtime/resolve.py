"""The layouts that the names in translated code stand for."""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from mlusim.arch.dtypes import DType
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.render import layouts
from mlusim.frontend.bangc.runtime.layouts import ArrayLayout, PointerLayout, RecordLayout
from mlusim.isa.register import Register

Find = Callable[[int, Any], Any]


@frozen
class HostTypes:
    """What types are on the host alone: ``double``, and classes by name and arguments."""

    double: DType
    classes: Callable[[str, tuple[Any, ...]], Any]


class RegisterLayout:
    """A vector register."""

    size = 2048

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype

    def make(self, *_values: Any) -> Register:
        """A register that nothing has written."""
        return Register(self.dtype)


def resolve(wanted: Mapping[str, t.Type], find: Find, host: HostTypes | None = None) -> dict[str, Any]:
    """What the names of layouts mean to who finds by *find* what an integer points to."""
    records: dict[str, RecordLayout] = {}
    made: dict[str, Any] = {}
    for name, kind in wanted.items():
        if name.startswith(layouts.NUMBER) and isinstance(kind, t.Arithmetic):
            made[name] = layouts.dtype(kind).dtype.type
        else:
            made[name] = layout(kind, find, records, host)
    return made


def layout(kind: t.Type, find: Find, records: dict[str, RecordLayout], host: HostTypes | None = None) -> Any:
    """The layout of a type."""
    while isinstance(kind, t.Pointer) and kind.reference:
        kind = t.Pointer(kind.to)
    if isinstance(kind, t.Arithmetic):
        double = host is not None and (kind.kind, kind.size) == ("float", 8)
        return host.double if host is not None and double else layouts.dtype(kind)
    if isinstance(kind, t.Pointer):
        return PointerLayout(layout(kind.to, find, records, host), find)
    if isinstance(kind, t.Array):
        return ArrayLayout(layout(kind.of, find, records, host), kind.count)
    if isinstance(kind, t.VectorRegister):
        return RegisterLayout(layouts.dtype(kind.of))
    if isinstance(kind, t.Record):
        found = records.get(kind.name)
        if found is None:
            found = records[kind.name] = RecordLayout(kind)
            found.fields = {f.name: (layout(f.type, find, records, host), f.offset) for f in kind.fields}
        return found
    if isinstance(kind, t.ClassType) and host is not None:
        inner = (a if isinstance(a, int) else layout(a, find, records, host) for a in kind.arguments)
        return host.classes(kind.name, tuple(inner))
    return t.DTYPE_OF[t.UINT8]
