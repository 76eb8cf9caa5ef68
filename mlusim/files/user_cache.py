"""The user's cache directory, for files that mlusim can make again at any time."""

import contextlib
import os
import stat
import time
import warnings
from collections.abc import Mapping
from pathlib import Path

from mlusim.errors import Remark

FOLDER = "MLUSIM_CACHE"  # the variable that names another directory, or
OFF = "off"  # for no cache at all
SWEEP_EVERY = 3600.0  # seconds between two sweeps of a folder
SWEPT = "swept"  # the file whose time of modification is the time of the last sweep
_HOMES = "XDG_CACHE_HOME"  # the variable that names the cache directory of all programs


def user_cache(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the absolute path of the directory, which may not exist yet.

    None if nothing is to be kept, no home directory is known, or the directory is not `owned` by the user.
    """
    folder = _named(environ)
    return folder if folder is not None and owned(folder) else None


def sweep_due(folder: Path) -> bool:
    """Return whether *folder* is to be swept now of files that are too old or too many; if so, the next sweep is due an hour later.

    Listing thousands of files takes longer than writing one more.
    """
    stamp = folder / SWEPT
    try:
        if time.time() - stamp.stat().st_mtime < SWEEP_EVERY:
            return False
    except OSError:  # the folder has not been swept yet
        pass
    with contextlib.suppress(OSError):
        stamp.touch()
    return True


def _named(environ: Mapping[str, str]) -> Path | None:
    setting, homes = environ.get(FOLDER), environ.get(_HOMES, "")
    if setting == OFF:
        return None
    try:
        if setting:
            return Path(setting).expanduser().absolute()
        # XDG's rule: a relative path does not count
        base = Path(homes) if Path(homes).is_absolute() else Path.home() / ".cache"
        return (base / "mlusim").absolute()
    except RuntimeError:  # there is no home directory
        return None


# -- ownership: a file that another user could have written is not read, since its contents are run later

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_said: set[Path] = set()


class CacheWarning(Remark):
    """A cached file or folder is ignored because other users can write it."""


def owned(path: Path, within: Path | None = None) -> bool:
    """Return whether *path* belongs to this user and no other may write it, and so do the folders above it up to *within*.

    A path that does not exist counts as the user's.  Otherwise a `CacheWarning` names the file or folder, once in a
    process.
    """
    if not hasattr(os, "getuid"):  # a system where files have no single owner
        return True
    for place in (path, *path.parents):
        if not _own(place):
            return False
        if within is None or place == within:
            return True
    return True


def read_own(path: Path, within: Path) -> bytes | None:
    """Return the bytes of *path*, or None if it or a folder above it up to *within* is not `owned`.  Raises `OSError`."""
    return path.read_bytes() if owned(path, within) else None


def make_own_folder(path: Path) -> None:
    """Make *path* and its missing parents with access for this user alone, whatever the umask.  Raises `OSError`."""
    for place in (*reversed(path.parents), path):
        if not place.exists():
            place.mkdir(mode=0o700, exist_ok=True)


def _own(place: Path) -> bool:
    try:
        state = place.stat()
    except OSError:  # it does not exist, or cannot be read anyway
        return True
    if state.st_uid != os.getuid():
        why, cure = f"belongs to another user (uid {state.st_uid})", "remove it"
    elif state.st_mode & _OTHERS:
        why, cure = f"may be written by others (mode {state.st_mode & 0o777:o})", f"`chmod go-w {place}`"
    else:
        return True
    if place not in _said:
        _said.add(place)
        kind = "cache folder" if stat.S_ISDIR(state.st_mode) else "cached file"
        warnings.warn(
            f"the {kind} {place} is not read: it {why}; {cure}, or name another folder in MLUSIM_CACHE",
            CacheWarning,
            stacklevel=3,
        )
    return False
