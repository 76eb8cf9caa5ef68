"""``mlusim isa --coverage``: the vendor's names, and what they are here."""

from typing import Any

from mlusim.cli.show import emit, output
from mlusim.counted import plural
from mlusim.errors import UsageError
from mlusim.manual.coverage import VendorName, row_of, vendor_names
from mlusim.text_grid import table


def show_coverage(name: str | None, *, json: bool) -> None:
    """List the names that contain *name*, or all; as one JSON document with *json*.

    Raises `UsageError` where no name contains it.
    """
    names = [found for found in vendor_names() if name is None or name in found.spelling]
    if not names:
        raise UsageError(f"none of the vendor's names contains {name!r}; leave it out to see all of them")
    if json:
        emit({"names": [_document(found) for found in names]})
        return
    shown = table("name", "uses", "here", "")
    for found in names:
        row = row_of(found)
        here = f"mlu.{row.name}" if row is not None else f"{found.bare}(mlu, ...)"
        shown.add_row(found.spelling, found.uses, here, row.certainty if row is not None else "-")
    console = output()
    console.print(shown)
    used = sum(bool(found.uses) for found in names)
    console.print(
        f"{used} names that kernels use, {len(names) - used} {plural(len(names) - used, 'other')}.  ?: how often is not known.  "
        "C: certain, D: derived, I: inferred, U: unknown with a default chosen, -: a helper made of intrinsics."
    )


def _document(name: VendorName) -> dict[str, Any]:
    row = row_of(name)
    return {
        "spelling": name.spelling,
        "name": name.bare if row is None else row.name,
        "helper": row is None,
        "used": bool(name.uses),
        "uses": int(name.uses) if name.uses.isdecimal() else None,
        "certainty": None if row is None else row.certainty,
    }
