"""BANG C in the user's cache directory: translations and compiled headers."""

import contextlib
import hashlib
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path

from mlusim.files.user_cache import make_own_folder, read_own, user_cache

FOLDER = "bangc"
"""Holds what belongs to BANG C in the cache."""
HOST = "host"
"""Holds what is compiled of host code in the cache, and what it is compiled with."""
MOST_BYTES = 128 << 20
"""Translations that are kept, the ones used last."""
SELDOM = 64
"""One translation in so many also looks for old ones to remove: the folder may have ten thousand files."""
MOST_FOLDERS = 16
"""Headers that are kept, each for one state of mlusim and one architecture."""


def key_of(*parts: str | bytes) -> str:
    """Return a short name for what follows from *parts*."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        digest.update(f"{len(raw)}:".encode() + raw)
    return digest.hexdigest()


def stamp_of(paths: Iterable[Path]) -> str:
    """Return a name for the state of files: their names, sizes and times of change."""
    states = []
    for path in sorted(paths):
        state = path.stat()
        states.append(f"{path} {state.st_size} {state.st_mtime_ns}")
    return key_of(*states)


def read(name: str) -> bytes | None:
    """Return the bytes that are kept under *name*; None where there are none, or none that can be read."""
    base = user_cache()
    if base is None:
        return None
    try:
        content = read_own(base / name, base)
    except OSError:
        return None
    if content is not None:
        with contextlib.suppress(OSError):
            os.utime(base / name)  # used now: the oldest go first
    return content


def write(name: str, content: bytes) -> None:
    """Keep *content* under *name*, where the directory can be written."""
    base = user_cache()
    if base is not None:
        with contextlib.suppress(OSError):
            put(base / name, content)
            if zlib.crc32(name.encode()) % SELDOM == 0:  # by its name: most processes write one
                _bound(base / name)


def bound_folders(newest: Path) -> None:
    """Remove the folders of headers beside *newest* that were not used for longest, beyond `MOST_FOLDERS`."""
    with contextlib.suppress(OSError):
        os.utime(newest)
        others = sorted(
            (p.stat().st_mtime_ns, p) for p in newest.parent.iterdir() if p.is_dir() and p != newest
        )
        for _, path in others[: max(0, len(others) + 1 - MOST_FOLDERS)]:
            shutil.rmtree(path, ignore_errors=True)


def _bound(newest: Path) -> None:
    """Remove the translations beside *newest* that were not used for longest, and half-written files, beyond `MOST_BYTES`."""
    files = []
    with os.scandir(newest.parent) as entries:  # a path for each of tens of thousands takes ten times as long
        for entry in entries:
            with contextlib.suppress(OSError):
                if Path(entry.name).suffix in (".ir", "") and entry.is_file():
                    state = entry.stat()
                    files.append((state.st_mtime_ns, state.st_size, entry.path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= MOST_BYTES:
            return
        if path != str(newest):
            Path(path).unlink(missing_ok=True)
            total -= size


def clean() -> int:
    """Remove what is kept: translations, headers and compiled host code; returns how many translations there were."""
    base = user_cache()
    if base is None:
        return 0
    removed = sum(1 for _ in (base / FOLDER).glob("*.ir"))
    shutil.rmtree(base / FOLDER, ignore_errors=True)
    shutil.rmtree(base / HOST, ignore_errors=True)
    return removed


def put(path: Path, content: bytes, *, once: bool = False) -> None:
    """Write a file in one step, so that no reader sees half of it; with *once* only if there is none yet."""
    make_own_folder(path.parent)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        if not once:
            Path(temporary).replace(path)
            return
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
        Path(temporary).unlink()
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
