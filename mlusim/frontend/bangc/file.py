"""One translation unit of a module: its intermediate form, and its functions as Python where they are wanted."""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.render import layouts
from mlusim.frontend.bangc.render.functions import Rendered, render
from mlusim.frontend.bangc.runtime.layouts import ArrayLayout, PointerLayout, RecordLayout, RegisterLayout

Find = Callable[[int, Any], Any]


@define(eq=False)
class File:
    """A file that was lowered; ``rendered`` grows as functions are wanted."""

    form: ir.Module
    rendered: dict[str, Rendered] = field(factory=dict)

    def function(self, symbol: str) -> Rendered:
        """The function called *symbol*, rendered."""
        found = self.rendered.get(symbol)
        if found is None:
            found = self.rendered[symbol] = render(self.form.functions[symbol])
        return found


def resolve(wanted: Mapping[str, t.Type], find: Find) -> dict[str, Any]:
    """What the names of layouts mean to a core that finds by *find* what an integer points to."""
    records: dict[str, RecordLayout] = {}
    made: dict[str, Any] = {}
    for name, kind in wanted.items():
        if name.startswith(layouts.NUMBER) and isinstance(kind, t.Scalar):
            made[name] = layouts.dtype(kind).dtype.type
        else:
            made[name] = layout(kind, find, records)
    return made


def layout(kind: t.Type, find: Find, records: dict[str, RecordLayout]) -> Any:
    """What the run-time knows of a type."""
    while isinstance(kind, t.Pointer) and kind.reference:
        kind = t.Pointer(kind.to)
    if isinstance(kind, t.Scalar):
        return layouts.dtype(kind)
    if isinstance(kind, t.Pointer):
        return PointerLayout(layout(kind.to, find, records), find)
    if isinstance(kind, t.Array):
        return ArrayLayout(layout(kind.of, find, records), kind.count)
    if isinstance(kind, t.VectorRegister):
        return RegisterLayout(layouts.dtype(kind.of))
    if isinstance(kind, t.Record):
        found = records.get(kind.name)
        if found is None:
            found = records[kind.name] = RecordLayout(kind)
            found.fields = {f.name: (layout(f.type, find, records), f.offset) for f in kind.fields}
        return found
    return t.DTYPE_OF[t.UINT8]
