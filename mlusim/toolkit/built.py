"""BANG C sources compiled for the host by ``cncc``; results are cached until one of their sources changes."""

import contextlib
import functools
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import frozen

from mlusim.arch.board import Board
from mlusim.arch.catalog import DEFAULT_BOARDS, find_board
from mlusim.bangc import cache
from mlusim.errors import UsageError
from mlusim.files.reading import shown
from mlusim.files.user_cache import SWEPT, make_own_folder, owned, sweep_due, user_cache
from mlusim.toolkit import image
from mlusim.toolkit.cncc import UNTRANSLATED, main
from mlusim.toolkit.compiler import host_compiler, overlay
from mlusim.toolkit.folder import INCLUDE, PYTHON, digest_of_libraries, make

FOLDER = cache.HOST
MOST_BUILT = 64
"""The most recently used programs and libraries, of which so many are cached."""
FLAGS = ("-g", "-O1")
OBJECT = ("-c", "-x", "bang", "-fPIC", UNTRANSLATED, *FLAGS)
LINKED = (
    "-Wl,-z,lazy",  # an undefined function fails when it is called, not when the program starts
    "-Wl,--as-needed",
    "-lcnnl_extra",
    "-lcnnl",
    "-lcndrv",
    "-lcndev",
    "-lcnpapi",
    "-Wl,--no-as-needed",
)


class HostBuildError(UsageError):
    """The sources do not compile; ``shown`` is the compiler's output."""


@frozen
class HostSources:
    """The files of a program, or with *library* of a shared library, for *board*.

    *texts* are generated sources, by name; *first* is a folder of the toolkit's headers that precedes
    those of *include*; *instead* has texts, by path, that the host's compiler reads in place of the files.
    """

    paths: tuple[str, ...]
    board: Board
    include: tuple[str, ...] = ()
    define: tuple[tuple[str, str | None], ...] = ()
    texts: tuple[tuple[str, str], ...] = ()
    library: bool = False
    first: str = ""
    instead: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """Return the key in the cache: a digest of sources, flags, mlusim and the compiler."""
        return cache.key_of(_state(self.board), repr((FLAGS, self)))


def built(sources: HostSources) -> Path:
    """Return the program, or the library, of *sources*.  Compiler warnings are written to standard error when it compiles.

    Raises `HostBuildError`, with the compiler's output, and `UsageError` if there is no compiler.
    """
    home = user_cache()
    if home is not None:
        with contextlib.suppress(OSError):
            return _kept(sources, home) or _made(sources, home / FOLDER, home)
    room = Path(_room().name)  # there is no cache
    _lend_toolkit(sources.board, home, room)
    return _kept(sources, room) or _made(sources, room / FOLDER, room)


@functools.cache
def _room() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="mlusim-")


def _kept(sources: HostSources, home: Path) -> Path | None:
    """Return the cached result for *sources*; None if a file has changed since, or if others could have written it."""
    path = home / FOLDER / sources.key
    note = path.with_suffix(".json")
    if not (owned(path, home) and owned(note, home) and _complete(sources.board, home)):
        return None
    if not path.is_file() or not image.unchanged(note):
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # used now: the least recently used ones are removed
    return path


def _made(sources: HostSources, folder: Path, home: Path) -> Path:
    make_own_folder(folder)
    toolkit = _toolkit(sources.board, home)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=folder) as scratch:
        # A source that changes during its compilation is compiled once more.
        before = {path: image.digest(path) for path in sources.paths}
        objects, read = [], set(before)
        # The compiler reads the generated texts under the names of files.
        instead = [((os.path.realpath(path),), text) for path, text in sources.instead]
        otherwise = [overlay(instead, Path(scratch))] if instead else []
        for number, path in enumerate(_files(sources, Path(scratch))):
            target, depends = f"{scratch}/{number}.o", f"{scratch}/{number}.d"
            flags = [*OBJECT, *_words(sources, toolkit), *otherwise, "-MMD", "-MF", depends]
            _compile([*flags, path, "-o", target], toolkit, sources)
            objects.append(target)
            read |= {
                dependency
                for dependency in image.depends_of(Path(depends))
                if not Path(dependency).is_relative_to(scratch)
            }
        target = f"{scratch}/built"
        _compile(
            [*objects, *(["-shared"] if sources.library else []), *FLAGS, *LINKED, "-o", target],
            toolkit,
            sources,
        )
        note = Path(scratch) / "note"
        note.write_text(
            json.dumps(
                {
                    dependency: before.get(dependency) or image.digest(dependency)
                    for dependency in sorted(read)
                }
            ),
            encoding="utf-8",
        )
        program = folder / sources.key
        for file, place in ((Path(target), program), (note, program.with_suffix(".json"))):
            file.chmod(0o700)
            file.replace(place)
    _bound(program)
    return program


def _files(sources: HostSources, scratch: Path) -> Iterator[str]:
    yield from sources.paths
    for name, text in sources.texts:
        (scratch / name).write_text(text, encoding="utf-8")
        yield str(scratch / name)


def _words(sources: HostSources, toolkit: Path) -> Iterator[str]:
    if sources.first:
        yield f"-I{toolkit / 'include' / sources.first}"
    yield from (f"-I{folder}" for folder in sources.include)
    yield from (f"-D{name}" + ("" if value is None else f"={value}") for name, value in sources.define)


def _compile(words: Sequence[str], toolkit: Path, sources: HostSources) -> None:
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        code = main(words, toolkit)
    if code:
        names = ", ".join(shown(os.path.relpath(path)) for path in sources.paths)
        error = HostBuildError(f"{names} cannot be compiled")
        error.shown = said.getvalue().rstrip("\n")
        raise error
    sys.stderr.write(said.getvalue())


def _bound(program: Path) -> None:
    """Remove, from time to time, the least recently used results."""
    if not sweep_due(program.parent):
        return
    with contextlib.suppress(OSError):
        every = [
            file
            for file in program.parent.iterdir()
            if file.is_file() and not file.suffix and file.name != SWEPT
        ]
        image.remove_oldest(every, MOST_BUILT)


# -- the toolkit folder ----------------------------------------------------------------------------


def toolkit_folder(board: str = "") -> Path:
    """Return the toolkit folder for *board* (a name) in the cache; make it if it does not exist.

    Raises `UsageError` if there is no cache or no compiler.
    """
    home = user_cache()
    if home is None:
        raise UsageError(
            "a toolkit folder is kept in the cache, which is off; make one with `mlusim toolkit DIR`"
        )
    return _toolkit(find_board(board or DEFAULT_BOARDS[0]), home)


def _toolkit(board: Board, home: Path) -> Path:
    """Return the toolkit folder for *board* in the cache; make it if it does not exist."""
    folder = _place(board, home)
    if not _complete(board, home):
        make_own_folder(folder.parent)
        make(folder, board)
        (folder / ".complete").touch(mode=0o600)  # last, so that an incomplete folder lacks it
    with contextlib.suppress(OSError):  # the cache may be read-only
        os.utime(folder)
    cache.bound_folders(folder)
    return folder


def prepare_toolkit(board: Board) -> None:
    """Make the toolkit folder for *board* in the user's cache, if it is missing and the cache is writable."""
    home = user_cache()
    if home is not None and not _complete(board, home):
        with contextlib.suppress(OSError):
            _toolkit(board, home)


def _lend_toolkit(board: Board, home: Path | None, to: Path) -> None:
    """Link the toolkit folder of the cache *home*, if there is one, into the cache *to*, for a process that may not write to *home*."""
    if home is not None and _complete(board, home) and not _complete(board, to):
        ours = _place(board, to)
        make_own_folder(ours.parent)
        ours.symlink_to(_place(board, home))


def _complete(board: Board, home: Path) -> bool:
    folder = _place(board, home)
    return (folder / ".complete").exists() and owned(folder / "lib64", home)


def _place(board: Board, home: Path) -> Path:
    return home / FOLDER / "toolkits" / _state(board)


def _state(board: Board) -> str:
    clang = host_compiler()
    return cache.key_of(
        image.state(),
        cache.stamp_of([*INCLUDE.rglob("*.h"), *PYTHON.rglob("*.py")]),
        digest_of_libraries(clang.argv),
        repr((clang, board.name, sys.executable)),
    )
