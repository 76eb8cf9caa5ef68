"""The records that ``cncc`` embeds, from the cache where nothing has changed that they follow from.

Nothing here imports the front end: a file that is compiled again needs it no more.
"""

import functools
import importlib.util
import json
import struct
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path

from attrs import field, frozen

import mlusim
from mlusim.arch.board import Board
from mlusim.frontend.bangc import cache, prelude
from mlusim.frontend.bangc.errors import Diagnostic

_HEAD = struct.Struct("<I")
_ROOT = Path(mlusim.__file__).parent


@frozen
class RecordSource:
    """The source of device code: the file, folders, macros, first headers and C++ of its parse, the boards of its architectures."""

    path: str
    include: tuple[str, ...]
    define: tuple[tuple[str, str | None], ...]
    boards: tuple[Board, ...]
    before: tuple[str, ...] = ()
    standard: str = prelude.LANGUAGE


@frozen
class EmbeddedRecord:
    """A record, what is to be said of its file, and the digests of all files that it follows from.

    ``no_kernel`` tells that the file has functions of the device alone.
    ``defined`` are the symbols of functions of the device that other files may call, ``needed`` those that this one calls of others;
    ``launched`` has the names by which objects of other compilers have its kernels, each with the symbol that clang gives it.
    """

    content: bytes
    warnings: tuple[Diagnostic, ...]
    no_kernel: bool
    defined: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    includes: Mapping[str, str] = field(factory=dict)
    launched: tuple[tuple[str, str], ...] = ()


def kept(source: RecordSource) -> EmbeddedRecord | None:
    """Return the cached record of *source*; None where there is none, or where a file has changed."""
    content = cache.read(_name(source))
    if content is None:
        return None
    try:
        found = unpack(content)
    # A file that was cut short, or that another version wrote: it is made again.
    except (struct.error, ValueError, TypeError, LookupError):
        return None
    fresh = all(digest(path) == known for path, known in found.includes.items())
    return found if fresh else None


def keep(source: RecordSource, made: EmbeddedRecord) -> None:
    """Keep what was *made* of *source*, where there is a cache."""
    cache.write(_name(source), pack(made))


def unpack(content: bytes) -> EmbeddedRecord:
    """Unpack the *content* that `pack` made.  Raises `ValueError`, `struct.error`, `TypeError` or `LookupError` for other bytes."""
    (size,) = _HEAD.unpack_from(content)
    head = json.loads(content[_HEAD.size : _HEAD.size + size])
    warnings = tuple(
        Diagnostic(file, line, column, message, excerpt, tuple(notes))
        for file, line, column, message, excerpt, notes in head["warnings"]
    )
    return EmbeddedRecord(
        content[_HEAD.size + size :],
        warnings,
        bool(head["no_kernel"]),
        tuple(head["defined"]),
        tuple(head["needed"]),
        dict(head["includes"]),
        tuple((name, stub) for name, stub in head["launched"]),
    )


def pack(made: EmbeddedRecord) -> bytes:
    """Pack what was *made* into bytes."""
    head = {
        "warnings": [[w.file, w.line, w.column, w.message, w.excerpt, w.notes] for w in made.warnings],
        "no_kernel": made.no_kernel,
        "defined": made.defined,
        "needed": made.needed,
        "includes": dict(made.includes),
        "launched": made.launched,
    }
    text = json.dumps(head).encode()
    return _HEAD.pack(len(text)) + text + made.content


def digest(path: str) -> str:
    """Return a short name for the content of a file; "" where it cannot be read."""
    try:
        return blake2b(Path(path).read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return ""


def _name(source: RecordSource) -> str:
    boards = ",".join(board.name for board in source.boards)
    parts = (
        source.path,
        repr(source.include),
        repr(source.define),
        boards,
        repr((source.before, source.standard)),
        mlusim.__version__,
    )
    return f"{cache.FOLDER}/{cache.key_of(state(), *parts)}.ir"


@functools.cache
def state() -> str:
    """Return the state of the front end, the instruction set and the parser's library."""
    return cache.stamp_of(_files())


def _files() -> Iterable[Path]:
    yield from (_ROOT / "frontend").rglob("*.py")
    yield from (_ROOT / "frontend").rglob("*.h")
    yield from (_ROOT / "isa").glob("*.py")
    yield from (_ROOT / "toolkit").glob("*.py")
    spec = importlib.util.find_spec("clang")
    for place in (spec.submodule_search_locations if spec is not None else None) or ():
        yield from Path(place).rglob("libclang*")
