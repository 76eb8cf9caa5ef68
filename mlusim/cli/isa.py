"""``mlusim isa``: the intrinsics, as the table has them."""

import argparse
import importlib
import re
from collections.abc import Sequence
from typing import Any

from mlusim.arch.catalog import ARCHES
from mlusim.cli.isa_words import USUAL, directions_of, directions_table, word_of
from mlusim.cli.show import emit, output
from mlusim.formula.python import to_python
from mlusim.isa.approximation import Approximation
from mlusim.isa.declare import Intrinsic, Operand, OperandRule
from mlusim.isa.table import ISA, find_intrinsic, is_intrinsic
from mlusim.text_grid import facts, table

COVERAGE, SEARCH = "mlusim.cli.coverage", "mlusim.cli.isa_search"
CERTAINTY = {"C": "certain", "D": "derived", "I": "inferred", "U": "unknown, a default was chosen"}
OVERLAP = {
    "exact": "may start exactly where the destination does; any other overlap is a fault",
    "whole": "may be exactly the destination, as long as it; any other overlap is a fault",
    "tail": "may lie in the end of the destination, and end with it or behind; any other overlap is a fault",
    "piece": "may start exactly where the destination does, or consist of pieces as long as it, of which it is one; "
    "any other overlap is a fault",
    "disjoint": "must not overlap the destination",
    "free": "may overlap the destination",
}


def needs(args: argparse.Namespace) -> Sequence[str]:
    """The modules that show what is no row of the table."""
    if args.coverage:
        return (COVERAGE,)
    known = args.name is None or word_of(args.name) is not None or is_intrinsic(args.name)
    return () if known else (SEARCH,)


def run(args: argparse.Namespace) -> int:
    """List the intrinsics or the vendor's names, or show one."""
    if args.coverage:
        importlib.import_module(COVERAGE).show_coverage(args.name, json=args.json)
    elif args.name is not None:
        _one(args.name, json=args.json)
    elif args.json:
        emit({"intrinsics": [row_document(row) for row in ISA.values()]})
    else:
        _list()
    return 0


def _one(name: str, *, json: bool) -> None:
    """Show what is called *name*, or everything that has it in its name."""
    if (about := word_of(name)) is not None:
        emit(about) if json else _show_word(about)
    elif is_intrinsic(name):
        show_intrinsic(name, json=json)
    else:
        importlib.import_module(SEARCH).show(name, json=json)


def show_intrinsic(name: str, *, json: bool) -> None:
    """Show the row of the intrinsic *name*; raises `UsageError` with the nearest names for an unknown one."""
    row = find_intrinsic(name)
    emit(row_document(row)) if json else _show(row)


def _show_word(about: dict[str, Any]) -> None:
    console = output()
    console.print(about["name"], style="bold")
    console.print()
    console.print(unmarked(about["doc"]))
    console.print()
    console.print(facts([(what, about[what]) for what in ("kind", "python", "c")]))


def row_document(row: Intrinsic) -> dict[str, Any]:
    """Everything that the table says about *row*."""
    return {
        "name": row.name,
        "spelling": row.spelling,
        "signature": row.signature,
        "summary": row.summary,
        "doc": row.doc,
        "operands": [
            {
                "name": o.name,
                "access": o.access,
                "extent": to_python(o.extent),
                "spaces": [space.name for space in o.spaces],
                "dtypes": [str(dtype) for dtype in o.dtypes],
                "partial": o.partial,
                "overlap": row.overlap.get(o.name),
            }
            for o in row.operands.values()
        ],
        "rules": [
            {
                "fails": to_python(r.fails),
                "message": r.sentence,
                "legal": r.legal,
                "generations": r.generations,
            }
            for r in row.rules
        ],
        "pipe": row.pipe.value,
        "flow": row.flow.value,
        "cost": None
        if row.cost is None
        else {"extent": to_python(row.cost.extent), "operand": row.cost.operand},
        "approximation": None if row.approximation is None else _approximation(row.approximation),
        "architectures": _architectures(row),
        "directions": [
            {"name": token.name, "number": token.value, "pipe": pipe, "forms": forms}
            for token, (pipe, forms) in (directions_of(row.name) if row.form == "copy" else {}).items()
        ],
        "memory_core": row.memory_core,
        "certainty": CERTAINTY.get(row.certainty, row.certainty),
        "source": row.source,
    }


def _approximation(approximation: Approximation) -> dict[str, Any]:
    ranges = {name: list(ends) for name, ends in approximation.ranges.items()}
    return {"average_relative_error": approximation.error, "ranges": ranges}


def _architectures(row: Intrinsic) -> list[str]:
    return [arch.name for arch in ARCHES.values() if row.available(arch.bang_arch)]


def _list() -> None:
    shown = table("intrinsic", "pipe", "", "what it does", fold=("what it does",))
    for row in ISA.values():
        shown.add_row(
            row.spelling,
            row.pipe.value,
            "" if row.certainty == "C" else row.certainty,
            unmarked(row.summary),
        )
    console = output()
    console.print(shown)
    console.print(
        f"{len(ISA)} intrinsics.  D: derived, I: inferred, U: unknown with a default chosen; the others are certain.  "
        "`mlusim isa NAME` shows one in full."
    )


def unmarked(doc: str) -> str:
    """*doc* without the marks of reStructuredText, which a terminal does not show."""
    return re.sub(r"(?<![\w*])(\*{1,2})(\w[^*]*)\1(?!\w)", r"\2", doc.replace("``", ""))


def _show(row: Intrinsic) -> None:
    console = output()
    console.print(row.signature, style="bold")
    console.print()
    console.print(unmarked(row.doc))
    console.print()
    if row.operands:
        shown = table("operand", "", "elements", "memory", "types", fold=("elements", "memory", "types"))
        for o in row.operands.values():
            shown.add_row(o.name, _access(o), to_python(o.extent), _names(o.spaces), _names(o.dtypes))
        console.print(shown)
        console.print()
    if row.form == "copy":
        console.print(directions_table(row.name))
        console.print(f"on an {USUAL}; from __BANG_ARCH__ 322 on there is the 3-D form")
        console.print()
    console.print(facts(_about(row)))


def _access(operand: Operand) -> str:
    verb = {"read": "reads", "write": "writes", "update": "reads and writes"}[operand.access]
    return f"{verb} part of" if operand.partial else verb


def _names(things: tuple[Any, ...]) -> str:
    return ", ".join(str(thing) for thing in things)


def _about(row: Intrinsic) -> list[tuple[str, Any]]:
    lines: list[tuple[str, Any]] = []
    if len(row.same) > 1:
        lines.append(("one type for", ", ".join(row.same)))
    lines.extend((f"overlap of {name}", OVERLAP[how]) for name, how in row.overlap.items())
    lines.extend(("rule", _rule(rule)) for rule in row.rules)
    if row.aligned:
        lines.append(("rule on 2xx", "addresses are multiples of 64 bytes, sizes of 128 bytes"))
    if row.approximation is not None:
        lines.append(("on the hardware", str(row.approximation)))
    known = ", ".join(_architectures(row)) or f"none of the catalogue; from __BANG_ARCH__ {row.since} on"
    lines.append(("architectures", known))
    lines.append(("memory core", "yes" if row.memory_core else "no, IPU cores only"))
    lines.append(("pipe", row.pipe.value))
    if row.cost is not None:
        lines.append(("cost", f"{to_python(row.cost.extent)} elements of {row.cost.operand}"))
    lines.append(("flow", f"{row.flow.value}: how undefined bytes travel from sources to destinations"))
    lines.append(("certainty", CERTAINTY.get(row.certainty, row.certainty)))
    lines.append(("source", row.source))
    return lines


def _rule(rule: OperandRule) -> str:
    where = f" (on {', '.join(f'{g}xx' for g in rule.generations)})" if rule.generations else ""
    return f"{rule.legal}{where}; refused when {to_python(rule.fails)}"
