"""The user's cache directory: where mlusim keeps what it can make again at any time."""

import os
from collections.abc import Mapping
from pathlib import Path

from mlusim.files.ownership import own

FOLDER = "MLUSIM_CACHE"  # names another directory, and
OFF = "off"  # keeps nothing
_HOMES = "XDG_CACHE_HOME"  # names the directory of all programs


def user_cache(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the absolute path of the directory, which may not exist yet.

    None where nothing is kept, no home is known, or the directory is not the user's `own`.
    """
    folder = _named(environ)
    return folder if folder is not None and own(folder) else None


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
