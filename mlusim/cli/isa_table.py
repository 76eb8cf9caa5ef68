"""``mlusim isa`` from the table itself: the list, one row, and words of kernels that are no intrinsics."""

from typing import Any

from mlusim.arch.catalog import ARCHES
from mlusim.cli import isa_kept, isa_page
from mlusim.cli.isa_page import unmarked
from mlusim.cli.isa_words import directions_of, word_of
from mlusim.cli.show import emit, output
from mlusim.formula.python import to_python
from mlusim.isa.declare import Approximation, Intrinsic, Operand
from mlusim.isa.table import ISA, find_intrinsic, is_intrinsic
from mlusim.text_grid import facts, table

CERTAINTY = {"C": "certain", "D": "derived", "I": "inferred", "U": "unknown, a default was chosen"}


def known(name: str) -> bool:
    """Return whether *name* is an intrinsic or another word of kernels, and not a part of names."""
    return word_of(name) is not None or is_intrinsic(name)


def show(name: str | None, *, json: bool) -> None:
    """Show the list, or what is called *name*; pages of all rows are kept for the next call."""
    if name is None:
        emit({"intrinsics": [row_document(row) for row in ISA.values()]}) if json else _list()
    elif (about := word_of(name)) is not None:
        emit(about) if json else _show_word(about)
    else:
        show_intrinsic(name, json=json)
        # Kept for the next call, because loading the table takes longer than printing a page.
        isa_kept.keep({row.name: page_of(row) for row in ISA.values()})


def show_intrinsic(name: str, *, json: bool) -> None:
    """Show the row of the intrinsic *name*; raises `UsageError` with the nearest names for an unknown one."""
    row = find_intrinsic(name)
    emit(row_document(row)) if json else isa_page.show(page_of(row))


def page_of(row: Intrinsic) -> dict[str, Any]:
    """Return all that is shown of *row*, as plain data."""
    return {
        "document": row_document(row),
        "same": list(row.same),
        "aligned": bool(row.aligned),
        "copies": row.form == "copy",
        "since": row.since,
        "approximation": "" if row.approximation is None else str(row.approximation),
    }


def _show_word(about: dict[str, Any]) -> None:
    console = output()
    console.print(about["name"], style="bold")
    console.print()
    console.print(unmarked(about["doc"]))
    console.print()
    console.print(facts([(what, about[what]) for what in ("kind", "python", "c")]))


def _operand(row: Intrinsic, o: Operand) -> dict[str, Any]:
    return {
        "name": o.name,
        "access": o.access,
        "extent": to_python(o.extent),
        "spaces": [space.name for space in o.spaces],
        "dtypes": [str(dtype) for dtype in o.dtypes],
        "partial": o.partial,
        # 372: on that architecture short element-wise arithmetic may overlap most, and one word must do for the list.
        "overlap": row.overlap_on(o.name, 372) if o.name in row.overlap else None,
    }


def row_document(row: Intrinsic) -> dict[str, Any]:
    """Return everything that the table says about *row*."""
    return {
        "name": row.name,
        "spelling": row.spelling,
        "signature": row.signature,
        "summary": row.summary,
        "doc": row.doc,
        "operands": [_operand(row, o) for o in row.operands.values()],
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
