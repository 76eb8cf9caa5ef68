"""The supplied headers, precompiled for each architecture and language standard, and stored in the user's cache.

The header of intrinsics is generated from the instruction set. Without a writable cache, it is passed to the
parser as text, which takes one second longer per parse.
"""

import functools
import importlib.util
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from attrs import frozen

from mlusim import isa
from mlusim.arch.board import Board
from mlusim.bangc import cache, prelude
from mlusim.bangc.parse.library import Library, library
from mlusim.files.user_cache import make_own_folder, owned, user_cache
from mlusim.lazy import lazy

if TYPE_CHECKING:
    from mlusim.isa import prototypes
else:
    (prototypes,) = lazy("mlusim.isa.prototypes")

FLAGS = (
    "-x", "cuda", "--cuda-host-only", "-nocudainc", "-nocudalib", "-Xclang", "-fcuda-allow-variadic-functions", "-w", "-ferror-limit=100",
    "-nostdinc", "-nostdinc++", "-fspell-checking",
    "-target", "x86_64-unknown-linux-gnu",  # the type widths and signs of the vendor's hosts, on any machine
)  # fmt: skip
# CXTranslationUnit_Incomplete and _ForSerialization: prototypes without bodies, which are saved.
_INCOMPLETE = 0x02 | 0x10


@frozen
class Headers:
    """How a parse gets the supplied headers: flags, texts of virtual files, and rows by line of the intrinsics' header."""

    flags: tuple[str, ...]
    unsaved: Mapping[str, str]
    rows: Mapping[int, str]
    directory: str


def headers(library: Library, board: Board, standard: str, *, cached: bool = True) -> Headers:
    """Return the supplied headers for *board* and the language *standard*; with *cached* false, as text."""
    base = user_cache() if cached else None
    return _headers(library, (f"-std={standard}", *prelude.architecture_flags(board)), base)


@functools.lru_cache(maxsize=16)
def _headers(library: Library, chosen: tuple[str, ...], base: Path | None) -> Headers:
    common = (*FLAGS, *chosen, f"-I{prelude.INCLUDE}", f"-I{prelude.DRIVER}")
    if base is not None:
        place = base / cache.FOLDER / cache.key_of(state(), library.full_version, *common)
        try:
            if not (place / "mlu.pch").exists():
                _make(library, place, common)
            if not all(owned(path, base) for path in place.iterdir()):
                raise PermissionError(place)  # caught below: the headers are passed as text
            cache.bound_folders(place)
            rows = {int(n): row for n, row in json.loads((place / "rows.json").read_text()).items()}
        except (
            OSError,
            ValueError,
            library.ci.TranslationUnitSaveError,
            library.ci.TranslationUnitLoadError,
        ):
            pass
        else:
            flags = (*common, f"-I{place}", "-include-pch", str(place / "mlu.pch"))
            return Headers(flags, MappingProxyType({}), MappingProxyType(rows), str(place))
    text, rows = _intrinsics()
    header = prelude.INCLUDE / prelude.INTRINSICS
    flags = (*common, "-include", str(prelude.INCLUDE / "mlu.h"))
    return Headers(flags, MappingProxyType({str(header): text}), MappingProxyType(rows), str(prelude.INCLUDE))


def state() -> str:
    """Return a digest of the files on which the headers depend: those of the instruction set and the supplied headers."""
    rows = Path(isa.__file__).parent.glob("*.py")
    return cache.stamp_of([*rows, *prelude.INCLUDE.rglob("*.h"), Path(__file__)])


def library_state() -> str:
    """Return a digest of the library's file, without loading it. Raises like `library` if it is missing."""
    chosen = os.environ.get("MLUSIM_LIBCLANG")
    if chosen is None:
        spec = importlib.util.find_spec("clang")
        folders = () if spec is None else (spec.submodule_search_locations or ())
        files = [file for folder in folders for file in Path(folder, "native").glob("*clang*")]
    else:
        files = [Path(chosen)]
    try:
        return cache.stamp_of(files) if files else library().full_version
    except OSError:  # a name that the system's loader resolves
        return library().full_version


def _intrinsics() -> tuple[str, dict[int, str]]:
    """Return the header of the instruction set, and the row that each of its lines declares."""
    lines = list(prototypes.header_lines())
    first = next(n for n, line in enumerate(lines) if line.startswith("#define") and prelude.MARK in line) + 2
    return "\n".join(lines) + "\n", {first + n: p.row for n, p in enumerate(prototypes.all_prototypes())}


def _make(library: Library, place: Path, common: tuple[str, ...]) -> None:
    """Precompile the headers into *place*, atomically for other processes."""
    text, rows = _intrinsics()
    make_own_folder(place)
    # The precompiled header structs the modification time of the text: of several processes, the first writes
    # it.
    cache.put(place / prelude.INTRINSICS, text.encode(), once=True)
    cache.put(place / "rows.json", json.dumps(rows).encode(), once=True)
    unit = library.index.parse(str(prelude.INCLUDE / "mlu.h"), [*common, f"-I{place}"], options=_INCOMPLETE)
    try:
        with tempfile.TemporaryDirectory(dir=place) as scratch:
            unit.save(str(Path(scratch) / "mlu.pch"))
            (Path(scratch) / "mlu.pch").chmod(0o600)
            (Path(scratch) / "mlu.pch").replace(place / "mlu.pch")
    finally:
        library.dispose(unit)
