"""The pages of ``mlusim isa NAME``, kept for the next call in the user's cache: the table takes longer to load than to read.

They are data, and hold for the state of the files that they follow from.
"""

import functools
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlusim.frontend.bangc import cache

FOLDER = "isa"
_ROOMS = (
    "isa",
    "arch",
    "memory",
    "formula",
    "engine",
    "cli",
    "machine",
    ".",
)  # what rows and their directions follow from


def find(name: str) -> Mapping[str, Any] | None:
    """Return the page of the intrinsic *name*, with or without leading underscores and in any case; None where none is kept."""
    bare = name.lstrip("_").lower()
    pages = _pages()
    found: Mapping[str, Any] | None = pages.get(bare) or pages.get(bare + "_")
    return found


def keep(pages: Mapping[str, Any]) -> None:
    """Keep *pages*, by the names of the rows, where the cache can be written."""
    cache.write(_name(), zlib.compress(json.dumps(pages).encode()))
    _pages.cache_clear()


@functools.cache
def _pages() -> dict[str, Any]:
    content = cache.read(_name())
    if content is None:
        return {}
    try:
        pages = json.loads(zlib.decompress(content))
    except (zlib.error, ValueError):  # it is made again
        return {}
    return pages if isinstance(pages, dict) else {}


@functools.cache
def _name() -> str:
    home = Path(__file__).parents[1]
    return f"{FOLDER}/{cache.stamp_of(path for room in _ROOMS for path in (home / room).glob('*.py'))}"
