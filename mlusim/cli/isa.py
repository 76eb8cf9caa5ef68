"""``mlusim isa``: the intrinsics of the table.

The page of one intrinsic is printed from plain data in the user's cache: loading the
table takes longer than printing a page.  The cached data is keyed by the state of the source files.
"""

import argparse
import functools
import importlib
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from mlusim.bangc import cache
from mlusim.cli.show import say
from mlusim.counted import plural
from mlusim.document import Document
from mlusim.errors import UsageError
from mlusim.lazy import lazy
from mlusim.text_grid import Grid, facts, table

if TYPE_CHECKING:
    from mlusim.cli import isa_coverage as coverage
else:  # the vendor's names need the table and the helper library
    (coverage,) = lazy("mlusim.cli.isa_coverage")

COVERAGE, TABLE = "mlusim.cli.isa_coverage", "mlusim.cli.isa_table"


def needs(args: argparse.Namespace) -> Sequence[str]:
    """Return the modules needed for the answer: a cached page needs no table."""
    if args.coverage:
        return (COVERAGE,)
    return () if args.name is not None and find(args.name) is not None else (TABLE,)


def run(args: argparse.Namespace) -> int:
    """List the intrinsics or the vendor's names, or show one."""
    if args.coverage:
        told = _coverage(args.name)
    elif args.name is not None and (page := find(args.name)) is not None:
        told = page_told(page)
    else:
        told = importlib.import_module(TABLE).told(args.name)
    say(told, json=args.json)
    return 0


# -- cached pages --------------------------------------------------------------------------------------

FOLDER = "isa"
# The files that rows and their directions depend on.
_ROOMS = ("isa", "arch", "memory", "formula", "engine", "cli", "machine", "time", ".")


def find(name: str) -> Mapping[str, Any] | None:
    """Return the cached page of the intrinsic *name*, in any case, with or without leading underscores; None if it is not cached."""
    bare = name.lstrip("_").lower()
    pages = _pages()
    page: Mapping[str, Any] | None = pages.get(bare) or pages.get(bare + "_")
    return page


def keep(pages: Mapping[str, Any]) -> None:
    """Cache *pages*, by the names of the rows, if the cache is writable."""
    cache.write(_name(), zlib.compress(json.dumps(pages).encode()))
    _pages.cache_clear()


@functools.cache
def _pages() -> dict[str, Any]:
    content = cache.read(_name())
    if content is None:
        return {}
    try:
        pages = json.loads(zlib.decompress(content))
    except (zlib.error, ValueError):  # the pages are made again
        return {}
    return pages if isinstance(pages, dict) else {}


@functools.cache
def _name() -> str:
    home = Path(__file__).parents[1]
    return f"{FOLDER}/{cache.stamp_of(path for room in _ROOMS for path in (home / room).glob('*.py'))}"


# -- one page for people -------------------------------------------------------------------------------

USUAL = "MLU370-X4"  # the board whose directions are shown
ACCESS = {"read": "reads", "write": "writes", "update": "reads and writes"}
OVERLAP = {
    "exact": "may start exactly where the destination does; any other overlap is a fault",
    "early": "may start exactly where the destination does, on mtp_372 behind its start too, and overlap one of up to 1024 bytes "
    "anyhow, which is written when all is read; any other overlap is a fault",
    "whole": "may be exactly the destination, as long as it; any other overlap is a fault",
    "tail": "may lie in the end of the destination, and end with it or behind; any other overlap is a fault",
    "piece": "may start exactly where the destination does, or consist of pieces as long as it, of which it is one; "
    "any other overlap is a fault",
    "disjoint": "must not overlap the destination",
    "free": "may overlap the destination",
}


def unmarked(doc: str) -> str:
    """Return *doc* without reStructuredText markup, which a terminal does not show, each paragraph in one line, which a terminal breaks."""
    flowing = re.sub(r"(?<!\n)\n(?!\n|\* ) *", " ", doc.replace("``", ""))
    return re.sub(r"(?<![\w*])(\*{1,2})(\w[^*]*)\1(?!\w)", r"\2", flowing)


def page_told(page: Mapping[str, Any]) -> Document:
    """Return the document of *page*, which `isa_table.page_of` makes."""
    return Document(lambda: page["document"], lambda: _page(page))


def _page(page: Mapping[str, Any]) -> Iterator[RenderableType]:
    about = page["document"]
    yield Text(about["signature"], style="bold")
    yield ""
    yield unmarked(about["doc"])
    yield ""
    if about["operands"]:
        shown = table("operand", "", "elements", "memory", "types", fold=("elements", "memory", "types"))
        for o in about["operands"]:
            access = f"{ACCESS[o['access']]} part of" if o["partial"] else ACCESS[o["access"]]
            shown.add_row(o["name"], access, o["extent"], ", ".join(o["spaces"]), ", ".join(o["dtypes"]))
        yield shown
        yield ""
    if page["copies"]:
        yield directions_table(about["directions"])
        yield f"on an {USUAL}; from __BANG_ARCH__ 322 on there is the 3-D form"
        yield ""
    yield facts(_facts(page))


def directions_table(directions: list[dict[str, Any]]) -> Grid:
    """Return the directions of a copy as a table."""
    shown = table("direction", "number", "pipe", "forms", right=("number",))
    for direction in directions:
        shown.add_row(
            direction["name"], str(direction["number"]), direction["pipe"], " ".join(direction["forms"])
        )
    return shown


def _facts(page: Mapping[str, Any]) -> list[tuple[str, Any]]:
    about = page["document"]
    lines: list[tuple[str, Any]] = []
    if len(page["same"]) > 1:
        lines.append(("one type for", ", ".join(page["same"])))
    lines.extend(
        (f"overlap of {o['name']}", OVERLAP[o["overlap"]]) for o in about["operands"] if o["overlap"]
    )
    for rule in about["rules"]:
        where = f" (on {', '.join(f'{g}xx' for g in rule['generations'])})" if rule["generations"] else ""
        lines.append(("rule", f"{rule['legal']}{where}; refused when {rule['fails']}"))
    if page["aligned"]:
        lines.append(("rule on 2xx", "addresses are multiples of 64 bytes, sizes of 128 bytes"))
    if page["approximation"]:
        lines.append(("on the hardware", page["approximation"]))
    architectures = (
        ", ".join(about["architectures"]) or f"none of the catalogue; from __BANG_ARCH__ {page['since']} on"
    )
    lines.append(("architectures", architectures))
    lines.append(("memory core", "yes" if about["memory_core"] else "no, IPU cores only"))
    lines.append(("pipe", about["pipe"]))
    if about["cost"]:
        lines.append(("cost", f"{about['cost']['extent']} elements of {about['cost']['operand']}"))
    lines.extend(("cycles", cycles_told(cycles)) for cycles in about["cycles"])
    lines.append(("flow", f"{about['flow']}: how undefined bytes travel from sources to destinations"))
    lines.append(("certainty", about["certainty"]))
    lines.append(("source", about["source"]))
    return lines


def cycles_told(cycles: Mapping[str, Any]) -> str:
    """Return the cycles of a call in words."""
    per, what = ("line", "a line of 128 bytes") if "line" in cycles else ("element", "an element")
    return (
        f"{cycles['call']:g} a call ({cycles['call_certainty']}) and {cycles[per]:g} {what} ({cycles['certainty']}), "
        f"on {cycles['on']}"
    )


# -- the vendor's names ---------------------------------------------------------------------------------


def _coverage(name: str | None) -> Document:
    """Return the vendor's names that contain *name*, or all.  Raises `UsageError` if no name contains it."""
    names = [vendor for vendor in coverage.vendor_names() if name is None or name in vendor.spelling]
    if not names:
        raise UsageError(f"none of the vendor's names contains {name!r}; leave it out to see all of them")
    return Document(lambda: {"names": [_vendor_facts(name) for name in names]}, lambda: _vendor_table(names))


def _vendor_table(names: "Sequence[coverage.VendorName]") -> Iterator[RenderableType]:
    shown = table("name", "uses", "here", "")
    for vendor in names:
        row = coverage.row_of(vendor)
        here = f"mlu.{row.name}" if row is not None else f"{vendor.bare}(mlu, ...)"
        shown.add_row(vendor.spelling, vendor.uses, here, row.certainty if row is not None else "-")
    yield shown
    used = sum(bool(vendor.uses) for vendor in names)
    yield (
        f"{used} names that kernels use, {len(names) - used} {plural(len(names) - used, 'other')}.  ?: how often is not known.  "
        "C: certain, D: derived, I: inferred, U: unknown with a default chosen, -: a helper made of intrinsics."
    )


def _vendor_facts(name: "coverage.VendorName") -> dict[str, Any]:
    row = coverage.row_of(name)
    return {
        "spelling": name.spelling,
        "name": name.bare if row is None else row.name,
        "helper": row is None,
        "used": bool(name.uses),
        "uses": int(name.uses) if name.uses.isdecimal() else None,
        "certainty": None if row is None else row.certainty,
    }
