"""The costs of copies as one table, of which Python (`time.work`) and C (`machine.native.text.copies`) have their functions.

Amounts are text that both languages read alike: whole numbers, ``+ - * >> & |``, comparisons, calls of `FUNCTIONS`, and
parentheses around whatever the two bind differently.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from attrs import frozen

from mlusim.time.rates import MOVE_LINE, PART, TRANSACTION, VECTOR_START

LINE = int(MOVE_LINE.value)
UNIT = int(TRANSACTION.value)
START = int(VECTOR_START.value)
PARTLY = int(PART.value)
_LINE_SHIFT, _UNIT_SHIFT = LINE.bit_length() - 1, UNIT.bit_length() - 1


@frozen
class CostFunction:
    """A number that costs are made of: ``parts`` are names for what occurs in its *value* more than once."""

    name: str
    parameters: tuple[str, ...]
    value: str
    parts: Mapping[str, str] = MappingProxyType({})


@frozen
class Charge:
    """An *amount* that a copy adds to a counter, or to a quantity of its load, where all of *where* are other than 0."""

    to: str
    amount: str
    where: tuple[str, ...] = ()


FUNCTIONS = (
    CostFunction("chip_lines", ("size",), f"(size + {LINE - 1}) >> {_LINE_SHIFT}"),
    CostFunction(
        "transactions_of",
        ("start", "size"),
        f"((start + size + {UNIT - 1}) >> {_UNIT_SHIFT}) - (start >> {_UNIT_SHIFT})",
    ),
    # A line that is written in part is read first: the first one, the last, or both.
    CostFunction(
        "read_first",
        ("start", "size"),
        "first + last - (first & last & single)",
        {
            "first": f"(start & {UNIT - 1}) > 0",
            "last": f"((start + size) & {UNIT - 1}) > 0",
            "single": f"(start >> {_UNIT_SHIFT}) == ((start + size - 1) >> {_UNIT_SHIFT})",
        },
    ),
    CostFunction("written", ("start", "size"), "transactions_of(start, size) + read_first(start, size)"),
    # The place in its line at which a segment begins.  Where segments begin at different places, the most unlucky one
    # counts for all: *spread* is all strides, or-ed, and the lowest bit is the step in which places differ.
    CostFunction(
        "worst_place",
        ("start", "spread"),
        f"alike * (start & {UNIT - 1}) + (1 - alike) * ({UNIT} - (grain & -grain))",
        {"alike": f"(spread & {UNIT - 1}) == 0", "grain": f"spread | start | {UNIT}"},
    ),
    # The lines of an atomic of *size* bytes at which other cores wait: all of them where it covers half of its tensor, of *whole* bytes, or
    # more. Atomics that take a part each are taken to be at different ones.
    CostFunction(
        "crowded",
        ("size", "whole"),
        "lines * (2 * lines >= every)",
        {
            name: f"({nbytes} + {UNIT - 1}) >> {_UNIT_SHIFT}"
            for name, nbytes in (("lines", "size"), ("every", "whole"))
        },
    ),
)
"""In the order in which they call each other."""

OFF_CHIP, ON_CHIP, VECTOR = "off_chip", "on_chip", "vector"  # what a copy keeps busy

LINE_COPY: Mapping[str, tuple[Charge, ...]] = {
    OFF_CHIP: (
        Charge("IO", "size"),
        Charge("IO_STARTS", "1"),
        Charge("STORE_STARTS", "1", ("reads == 0",)),
        Charge("TRANSACTIONS", "transactions_of(frm, size)", ("reads",)),
        Charge("TRANSACTIONS", "transactions_of(to, size)", ("writes",)),
        # Whole lines are written without being read.
        Charge("TRANSACTIONS", "read_first(to, size)", ("writes", f"(to | size) & {UNIT - 1}")),
    ),
    ON_CHIP: (
        Charge("MOVE", "size"),
        Charge("MOVE_STARTS", "1"),
        Charge("LINES", "chip_lines(size)"),
        Charge("SRAM_BYTES", "size * shared"),
    ),
    VECTOR: (Charge("VECTOR", f"chip_lines(size) + {START}"),),
}
"""What a blocking copy of *size* bytes without strides adds to the counters, from byte *frm* to byte *to*.

*reads* and *writes* are whether it does so off the chip, *shared* is how many of its sides are in SRAM.
"""

ROWS_LOAD: Mapping[str, tuple[Charge, ...]] = {
    OFF_CHIP: (
        Charge("transactions", "rows * transactions_of(worst_place(frm, from_stride), size)", ("reads",)),
        Charge("stores", "rows * written(worst_place(to, to_stride), size)", ("writes",)),
        Charge("transactions", "stores", ("writes",)),
        Charge(
            "lines",
            "rows",
            ("rows > 1", "(reads & (from_stride != size)) | (writes & (to_stride != size))"),
        ),
        Charge(
            "stalls",
            f"rows * {PARTLY}",
            ("rows > 1", "writes & ((to_stride != size) | (from_stride != size))", f"size < {UNIT}"),
        ),
    ),
    ON_CHIP: (
        Charge("lines", "rows * chip_lines(size)"),
        # As off the chip, a line is read before a part of it is written.
        Charge("stalls", "rows", ("rows > 1", f"size & {LINE - 1}")),
        Charge("sram", "rows * size * shared"),
    ),
}
"""The load of *rows* segments of *size* bytes at strides, which are 0 of a single one."""

LOADED: Mapping[str, tuple[Charge, ...]] = {
    OFF_CHIP: (
        Charge("IO", "nbytes"),
        Charge("IO_STARTS", "1"),
        Charge("TRANSACTIONS", "transactions"),
        Charge("STALLS", "stalls"),
        Charge("STORE_STARTS", "1", ("stores == transactions",)),
        Charge("SEGMENTS", "lines"),
        Charge("STORED", "lines", ("stores",)),
    ),
    ON_CHIP: (
        Charge("MOVE", "nbytes"),
        Charge("MOVE_STARTS", "1"),
        Charge("LINES", "lines"),
        Charge("PARTS", "stalls"),
        Charge("SRAM_BYTES", "sram"),
    ),
    VECTOR: (Charge("VECTOR", f"lines + {START}"),),
}
"""What a blocking copy of *nbytes* bytes in all adds to the counters, from its load."""


# -- as Python -------------------------------------------------------------------------------------


def in_python(text: str, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return an amount as Python, with other *names*; functions of one expression stand in place of their calls."""
    tree = _Inlined({name: ast.parse(replacement, mode="eval").body for name, replacement in names.items()})
    return ast.unparse(tree.visit(ast.parse(text, mode="eval").body))


class _Inlined(ast.NodeTransformer):
    """Puts expressions in place of names, and of calls: a call costs more than the sum that it computes."""

    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.names.get(node.id, node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        called = next(f for f in FUNCTIONS if isinstance(node.func, ast.Name) and f.name == node.func.id)
        arguments = [self.visit(argument) for argument in node.args]
        if called.parts or any(isinstance(argument, ast.Call) for argument in arguments):
            return ast.Call(node.func, arguments, [])
        value = ast.parse(called.value, mode="eval").body
        return _Inlined(dict(zip(called.parameters, arguments, strict=True))).visit(value)  # type: ignore[no-any-return]


def charged(
    charges: tuple[Charge, ...], counter: Callable[[str], str], names: Mapping[str, str]
) -> Iterator[str]:
    """Yield statements of Python that add *charges*; *counter* writes what one is added to."""
    asked = ""
    for charge in charges:
        first, *others = [in_python(condition, names) for condition in charge.where] or [""]
        if first and first != asked:  # what several ask first is asked once
            yield f"if {first}:"
        asked = first
        test = f"if {' and '.join(others)}: " if others else ""
        added = f"{counter(charge.to)} += {in_python(charge.amount, names)}"
        yield f"{'    ' if first else ''}{test}{added}"


def made(source: str, names: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the functions of Python that *source* defines over *names* and `FUNCTIONS`."""
    space = dict(names)
    exec(compile(_definitions() + source, "<mlusim copy costs>", "exec"), space)  # noqa: S102 - the text is made above
    return space


def _definitions() -> str:
    lines = []
    for function in FUNCTIONS:
        lines.append(f"def {function.name}({', '.join(function.parameters)}):")
        lines += [f"    {name} = {in_python(part)}" for name, part in function.parts.items()]
        lines.append(f"    return {in_python(function.value)}")
    return "\n".join([*lines, ""])
