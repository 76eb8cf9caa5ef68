"""The user's cache directory for BANG C: translations and precompiled headers."""

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
"""The folder of BANG C in the cache."""
HOST = "host"
"""The folder of compiled host code in the cache, with the files needed to compile it."""
MOST_BYTES = 128 << 20
"""Limit, in bytes, of the stored translations; the most recently used ones stay."""
SELDOM = 64
"""Only one translation in this many also removes old ones, because the folder may have ten thousand files."""
MOST_FOLDERS = 16
"""Number of header folders to keep; there is one per state of mlusim and architecture."""


def key_of(*parts: str | bytes) -> str:
    """Return a short key that identifies the contents of *parts*."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        digest.update(f"{len(raw)}:".encode() + raw)
    return digest.hexdigest()


def stamp_of(paths: Iterable[Path]) -> str:
    """Return a key for the state of the files *paths*: their names, sizes and modification times."""
    states = []
    for path in sorted(paths):
        state = path.stat()
        states.append(f"{path} {state.st_size} {state.st_mtime_ns}")
    return key_of(*states)


def read(name: str) -> bytes | None:
    """Return the bytes stored under *name*, or None if there are none or they cannot be read."""
    base = user_cache()
    if base is None:
        return None
    try:
        content = read_own(base / name, base)
    except OSError:
        return None
    if content is not None:
        with contextlib.suppress(OSError):
            os.utime(base / name)  # mark as used now: the oldest files are removed first
    return content


def write(name: str, content: bytes) -> None:
    """Store *content* under *name*, if the directory is writable."""
    base = user_cache()
    if base is not None:
        with contextlib.suppress(OSError):
            put(base / name, content)
            if zlib.crc32(name.encode()) % SELDOM == 0:  # by its name: most processes write one
                _bound(base / name)


def bound_folders(newest: Path) -> None:
    """Remove the least recently used header folders beside *newest*, beyond `MOST_FOLDERS`."""
    with contextlib.suppress(OSError):
        os.utime(newest)
        others = sorted(
            (p.stat().st_mtime_ns, p) for p in newest.parent.iterdir() if p.is_dir() and p != newest
        )
        for _, path in others[: max(0, len(others) + 1 - MOST_FOLDERS)]:
            shutil.rmtree(path, ignore_errors=True)


def _bound(newest: Path) -> None:
    """Remove half-written files, and the least recently used translations beside *newest* beyond `MOST_BYTES`."""
    files = []
    with os.scandir(newest.parent) as entries:  # Path.iterdir takes ten times as long for tens of thousands
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
    """Remove all translations, headers and compiled host code; return the number of translations."""
    base = user_cache()
    if base is None:
        return 0
    removed = sum(1 for _ in (base / FOLDER).glob("*.ir"))
    shutil.rmtree(base / FOLDER, ignore_errors=True)
    shutil.rmtree(base / HOST, ignore_errors=True)
    return removed


def put(path: Path, content: bytes, *, once: bool = False) -> None:
    """Write a file atomically, so that readers never see a part of it; with *once* only if it does not exist yet."""
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
