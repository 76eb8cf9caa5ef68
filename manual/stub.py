"""The typed stub of `Mlu`, written from the table: ``python -m manual.stub`` writes ``mlu.pyi``.

The intrinsics are made at run time, so editors and type checkers read the stub instead: parameters by
name and type, results, documentation.
"""

import inspect
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mlusim.isa.declare import Intrinsic, Parameter
from mlusim.isa.table import ISA
from mlusim.machine.mlu import Mlu

STUB = Path(__file__).parents[1] / "mlusim" / "machine" / "mlu.pyi"
WIDTH = 110

HEAD = '''# ruff: noqa: PYI021, D, E501, PLR0904 - made by `python -m manual.stub`; do not edit
"""`Mlu`: what a kernel is handed, with every intrinsic."""

from collections.abc import Sequence
from typing import Any, TypeAlias, overload

import numpy as np

from mlusim.arch.dtypes import DType
from mlusim.engine.contract import IssuingMlu, Watch
from mlusim.isa.vv import Register
from mlusim.machine.core import Core
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import Direction

ElementType: TypeAlias = DType | type[Any] | np.dtype[Any] | str
Count: TypeAlias = int | np.integer[Any]
Scalar: TypeAlias = int | float | np.generic

class Mlu(IssuingMlu):
'''

BUILT_IN = (
    "BANG_ARCH",
    "MAX_NRAM_SIZE",
    "MAX_SRAM_SIZE",
    "MAX_WRAM_SIZE",
    "clusterDim",
    "clusterId",
    "coreDim",
    "coreId",
    "taskDim",
    "taskDimX",
    "taskDimY",
    "taskDimZ",
    "taskId",
    "taskIdX",
    "taskIdY",
    "taskIdZ",
)

MACHINE = """    core: Core
    watch: Watch | None
    def __init__(self, core: Core) -> None: ...
"""

# The type of the values that a caller may pass for each kind of parameter.
TYPES: Mapping[str, str] = {"tile": "Ptr", "count": "Count", "value": "Scalar", "either": "Ptr | Scalar"}
NAMED: Mapping[str, str] = {
    "value": "Scalar",
    "pointer": "Ptr",
    "op": "Count",
    "mode": "Count",
} | dict.fromkeys(("src", "src0", "src1", "src2", "start", "step"), "Register | Scalar")  # may be a register
MEMORY: Mapping[str, str] = {
    "nram": "dtype: ElementType, count: Count, values: Sequence[Any] | None = None",
    "wram": "dtype: ElementType, count: Count, values: Sequence[Any] | None = None",
    "ldram": "dtype: ElementType, count: Count, values: Sequence[Any] | None = None",
    "shared": "dtype: ElementType, count: Count",
}


def stub_text() -> str:
    """Return the whole text of the stub."""
    lines = [HEAD.rstrip("\n"), *_docstring(Mlu.__doc__ or "", 4), ""]
    lines += [f"    {name}: int" for name in BUILT_IN]
    lines.append(MACHINE.rstrip("\n"))
    for name, parameters in MEMORY.items():
        lines += _method(name, parameters.split(", "), "Ptr", getattr(Mlu, name).__doc__)
    for row in ISA.values():
        lines += _forms(row)
    return "\n".join(lines) + "\n"


def _forms(row: Intrinsic) -> Iterator[str]:
    """Yield the method of *row*, after that of its longer form if there is one."""
    if row.overload is not None:
        longer = ISA[row.overload[0]]
        yield "    @overload"
        yield from _method(
            row.name, [_parameter(longer, p) for p in longer.given], _result(longer), longer.doc
        )
        yield "    @overload"
    yield from _method(row.name, [_parameter(row, p) for p in row.given], _result(row), row.doc)


def _method(name: str, parameters: list[str], result: str, doc: str) -> Iterator[str]:
    line = f"    def {name}({', '.join(['self', *parameters])}) -> {result}:"
    if len(line) <= WIDTH:
        yield line
    else:
        yield f"    def {name}("
        yield from (f"        {p}," for p in ["self", *parameters])
        yield f"    ) -> {result}:"
    yield from _docstring(doc, 8)


def _docstring(doc: str, indent: int) -> Iterator[str]:
    text = inspect.cleandoc(doc).replace("\\", "\\\\")
    closing = "\n" if "\n" in text else ""
    yield from textwrap.indent(f'"""{text}{closing}"""', " " * indent).split("\n")


def _parameter(row: Intrinsic, p: Parameter) -> str:
    annotation = row.annotations.get(p.name, Any)
    annotation = getattr(annotation, "__origin__", annotation)
    kind = TYPES.get(p.kind) or NAMED.get(p.name) or getattr(annotation, "__name__", "Any")
    if p.kind == "rest":
        return f"*{p.name}: {kind if kind != 'int' else 'Count'}"
    if p.default is inspect.Parameter.empty:
        return f"{p.name}: {kind}"
    optional = " | None" if p.default is None else ""
    return f"{p.name}: {kind}{optional} = {p.default!r}".replace("'", '"')


def _result(row: Intrinsic) -> str:
    return row.returns if row.returns in ("None", "int", "bool", "Any") else f"np.{row.returns}"


if __name__ == "__main__":
    STUB.write_text(stub_text())
