"""``mlusim isa``: the intrinsics, as the table has them."""

import argparse
import importlib
from collections.abc import Sequence
from typing import Any

from mlusim.cli import isa_kept
from mlusim.cli.show import emit

COVERAGE, PAGE = "mlusim.cli.coverage", "mlusim.cli.isa_page"
TABLE, SEARCH = "mlusim.cli.isa_table", "mlusim.cli.isa_search"


def needs(args: argparse.Namespace) -> Sequence[str]:
    """Return the modules that show what is asked for: a page that is kept needs no table."""
    if args.coverage:
        return (COVERAGE,)
    if args.name is not None and isa_kept.find(args.name) is not None:
        return (PAGE,)
    return (TABLE,) if args.name is None or _module(TABLE).known(args.name) else (SEARCH,)


def run(args: argparse.Namespace) -> int:
    """List the intrinsics or the vendor's names, or show one."""
    if args.coverage:
        _module(COVERAGE).show_coverage(args.name, json=args.json)
    elif args.name is not None and (page := isa_kept.find(args.name)) is not None:
        emit(page["document"]) if args.json else _module(PAGE).show(page)
    elif args.name is None or _module(TABLE).known(args.name):
        _module(TABLE).show(args.name, json=args.json)
    else:
        _module(SEARCH).show(args.name, json=args.json)
    return 0


def _module(name: str) -> Any:
    return importlib.import_module(name)
