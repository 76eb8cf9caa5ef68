"""The user's cache directory: where mlusim keeps what it can make again at any time."""

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path

from mlusim.files.ownership import own

FOLDER = "MLUSIM_CACHE"  # names another directory, and
OFF = "off"  # keeps nothing
SWEEP_EVERY = 3600.0  # seconds between two looks at all that is kept in a folder
SWEPT = "swept"  # the file whose time says when the last one was
_HOMES = "XDG_CACHE_HOME"  # names the directory of all programs


def user_cache(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the absolute path of the directory, which may not exist yet.

    None where nothing is kept, no home is known, or the directory is not the user's `own`.
    """
    folder = _named(environ)
    return folder if folder is not None and own(folder) else None


def sweep_due(folder: Path) -> bool:
    """Return whether *folder* is to be looked through now for what is too old or too much; the next look is an hour away then.

    To list thousands of files takes longer than to make one more.
    """
    stamp = folder / SWEPT
    try:
        if time.time() - stamp.stat().st_mtime < SWEEP_EVERY:
            return False
    except OSError:  # there was none yet
        pass
    with contextlib.suppress(OSError):
        stamp.touch()
    return True


def _named(environ: Mapping[str, str]) -> Path | None:
    given, homes = environ.get(FOLDER), environ.get(_HOMES, "")
    if given == OFF:
        return None
    try:
        if given:
            return Path(given).expanduser().absolute()
        # XDG's rule: a relative path does not count
        base = Path(homes) if Path(homes).is_absolute() else Path.home() / ".cache"
        return (base / "mlusim").absolute()
    except RuntimeError:  # there is no home directory
        return None
