"""Variables at file scope that are no memory of the device."""

from collections.abc import Iterator
from typing import Any

from mlusim.frontend.bangc.runtime.layouts import ArrayLayout, Object, RecordLayout, fresh
from mlusim.frontend.bangc.runtime.pointers import Items
from mlusim.frontend.bangc.runtime.variables import Cell


def constant(layout: Any, initial: tuple[Any, ...] | None) -> Any:
    """A variable at file scope that is no memory of the device: from its scalars in order, or zeros."""
    values = None if initial is None else iter(initial)
    made = _built(layout, values)
    return made if isinstance(made, Items | Object) else Cell(layout, made)


def _built(layout: Any, values: Iterator[Any] | None) -> Any:
    if isinstance(layout, ArrayLayout):
        return layout.make(*(_built(layout.element, values) for _ in range(layout.count)))
    if isinstance(layout, RecordLayout):
        return layout.make(*(_built(inner, values) for inner, _ in layout.fields.values()))
    return fresh(layout) if values is None else next(values)
