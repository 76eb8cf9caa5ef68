"""The door: straight-line code for every row, through which each effect on memory passes.

`mlu_class` makes one Python method per row and architecture: resolve the operands to views, check
kinds, bounds, overlaps and rules, announce, account, perform.  The method is what the row says and
nothing else (`engine.render`); what a check has to say is composed by `engine.refuse`, off the
fast path.  `source_of` shows the code; a debugger shows it too.
"""

import functools
import linecache
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mlusim.arch.board import Arch
from mlusim.engine.contract import Mlu
from mlusim.engine.copies import COPY_METHODS
from mlusim.engine.discrete import discrete_method
from mlusim.engine.extension import EXTENSION_METHODS
from mlusim.engine.gather import GATHER_METHODS
from mlusim.engine.overload import either_form
from mlusim.engine.refuse import unsupported
from mlusim.engine.render import Writer
from mlusim.isa.declare import Intrinsic
from mlusim.isa.table import ISA

OFFSET_METHODS: Mapping[str, Callable[[Intrinsic, int], Callable[..., Any]]] = MappingProxyType(
    {**GATHER_METHODS, **EXTENSION_METHODS}
)  # whose operands lie where data say


@functools.cache
def mlu_class(base: Any, arch: Arch, *, memory_core: bool = False) -> type[Any]:
    """The `Mlu` of *arch*: the *base* class of the machine with one method per intrinsic."""
    methods: dict[str, Any] = {"__slots__": (), "__doc__": base.__doc__}
    for number, row in enumerate(ISA.values()):
        methods[row.name] = _method(row, number, arch, memory_core=memory_core)
    for row in ISA.values():
        if row.overload is not None:
            methods[row.name] = either_form(row, methods[row.name], methods[row.overload[0]])
    return type(f"Mlu_{arch.name}", (base,), methods)


def source_of(row: Intrinsic, arch: Arch) -> str:
    """The generated code of *row* on *arch*, for reading."""
    return "\n".join(Writer(row, 0, arch).lines()) + "\n"


def _method(row: Intrinsic, number: int, arch: Arch, *, memory_core: bool) -> Callable[..., Any]:
    if not row.available(arch.bang_arch) or (memory_core and not row.memory_core):

        def refused(mlu: Mlu, *_: Any, **__: Any) -> None:
            raise unsupported(mlu, row)

        return refused
    if row.form == "copy":
        return COPY_METHODS[row.name](row, number, arch)
    if row.form == "gather":
        return OFFSET_METHODS[row.name](row, number)
    if row.form == "discrete":
        return discrete_method(row, number)
    writer = Writer(row, number, arch)
    text = "\n".join(writer.lines()) + "\n"
    filename = f"<mlusim {arch.name} {row.name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names = writer.names()
    exec(compile(text, filename, "exec"), names)  # noqa: S102 - the text is generated from the row above
    method: Callable[..., Any] = names[row.name]
    method.__doc__ = row.doc
    return method
