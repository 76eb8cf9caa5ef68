"""The costs of copies in one table, from which the functions in Python (`time.work`) and C (`machine.native.text.copies`) are generated.

Amounts are text with the same meaning in both languages: integers, ``+ - * >> & |``, comparisons, calls of
`FUNCTIONS`, and parentheses wherever the precedences differ.
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
    """A function used in costs: ``parts`` names subexpressions that occur more than once in its *value*."""

    name: str
    parameters: tuple[str, ...]
    value: str
    parts: Mapping[str, str] = MappingProxyType({})


@frozen
class Charge:
    """An *amount* that a copy adds to a counter, or to a quantity of its load, if all of *where* are nonzero."""

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
    # A line that is written partially is read first: the first line, the last line, or both.
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
    # The worst offset in a line at which a segment begins. If segments begin at different offsets, the worst
    # one counts for all: *spread* is the bitwise or of all strides, and its lowest bit is the step between
    # offsets.
    CostFunction(
        "worst_place",
        ("start", "spread"),
        f"alike * (start & {UNIT - 1}) + (1 - alike) * ({UNIT} - (grain & -grain))",
        {"alike": f"(spread & {UNIT - 1}) == 0", "grain": f"spread | start | {UNIT}"},
    ),
    # The lines of an atomic of *size* bytes for which cores contend: all of them if it covers at least half
    # of its tensor of *whole* bytes. Atomics on smaller parts are assumed to use different lines.
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
"""The functions, each after those that it calls."""

OFF_CHIP, ON_CHIP, VECTOR = "off_chip", "on_chip", "vector"  # the unit that a copy occupies

LINE_COPY: Mapping[str, tuple[Charge, ...]] = {
    OFF_CHIP: (
        Charge("IO", "size"),
        Charge("IO_STARTS", "1"),
        Charge("STORE_STARTS", "1", ("reads == 0",)),
        Charge("TRANSACTIONS", "transactions_of(frm, size)", ("reads",)),
        Charge("TRANSACTIONS", "transactions_of(to, size)", ("writes",)),
        # Complete lines are written without being read.
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
"""The amounts that a blocking copy of *size* bytes without strides adds to the counters, from byte *frm* to byte *to*.

*reads* and *writes* say whether the source and the destination are off chip; *shared* is the number of sides
in SRAM.
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
        # As off the chip, a line is read before it is written partially.
        Charge("stalls", "rows", ("rows > 1", f"size & {LINE - 1}")),
        Charge("sram", "rows * size * shared"),
    ),
}
"""The load of *rows* segments of *size* bytes with strides; the strides of a single segment are 0."""

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
"""The amounts that a blocking copy of *nbytes* bytes adds to the counters, computed from its load."""


# -- as Python -------------------------------------------------------------------------------------


def in_python(text: str, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return an amount as Python, with *names* replaced; functions of a single expression are inlined."""
    tree = _Inlined({name: ast.parse(replacement, mode="eval").body for name, replacement in names.items()})
    return ast.unparse(tree.visit(ast.parse(text, mode="eval").body))


class _Inlined(ast.NodeTransformer):
    """Replaces names by expressions, and calls by their bodies: a call would cost more than the sum that it computes."""

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
    """Yield Python statements that add *charges*; *counter* renders the target of an addition."""
    asked = ""
    for charge in charges:
        first, *others = [in_python(condition, names) for condition in charge.where] or [""]
        if first and first != asked:  # a first condition common to several charges is tested once
            yield f"if {first}:"
        asked = first
        test = f"if {' and '.join(others)}: " if others else ""
        added = f"{counter(charge.to)} += {in_python(charge.amount, names)}"
        yield f"{'    ' if first else ''}{test}{added}"


def made(source: str, names: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the Python functions defined by *source*, which may use *names* and `FUNCTIONS`."""
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
