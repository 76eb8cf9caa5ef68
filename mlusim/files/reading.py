"""Names of files as a user types them, why the system refuses one, and text files, read whole and with a bound."""

import os
import stat
from pathlib import Path

from mlusim.errors import UsageError

LONGEST = 120  # characters of a reason


def path_of(name: str) -> Path:
    """Return the path that *name* is; raises `UsageError` for a name that no file has."""
    if "\0" in name:
        raise UsageError(f"{shown(name)} is no name of a file: it holds a NUL")
    if not name:
        raise UsageError("the name of a file is empty")
    return Path(name)


def brief(error: Exception) -> str:
    """Return the reason of *error* alone, without the paths and codes around it."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return shown(" ".join(text.split())[:LONGEST])


def shown(text: str) -> str:
    """*text* with what would move the cursor, ring or recolour a terminal written as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def lines_shown(text: str) -> str:
    """*text* of several lines, as `shown`: ends of lines and tabs stay what they are."""
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or c.isprintable() else shown(c) for c in text)


# -- text files -----------------------------------------------------------------------------------------

LARGEST = 64 << 20
"""Bytes of the largest text that is read where a caller names no other bound."""


def read_text(name: str, *, largest: int = LARGEST, hint: str = "") -> str:
    """Return the text of the file *name*, at most *largest* bytes of UTF-8.

    Raises `UsageError` for anything else; *hint* says what to do where there is no such file.
    """
    path = path_of(name)
    try:
        if path.is_dir():
            raise UsageError(f"{name} is a directory; name a file")
        if path.exists() and not path.is_file():
            raise UsageError(f"{name} is no regular file; name one")
        with path.open("rb") as file:
            found = file.read(largest + 1)
    except OSError as error:
        more = f"; {hint}" if hint and isinstance(error, FileNotFoundError) else ""
        raise UsageError(f"{name} cannot be read: {brief(error)}{more}") from None
    if len(found) > largest:
        raise UsageError(f"{name} has more than {largest >> 20} MiB; no more are read")
    try:
        return found.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is no text: byte {error.start} is no UTF-8") from None


def refuse_no_file(name: str, wanted: str) -> Path:
    """Return the path of the regular file *name*; raises `UsageError`, which ends in *wanted*, for anything else."""
    path = path_of(name)
    try:
        kind = path.stat().st_mode
        if stat.S_ISREG(kind) and os.access(path, os.R_OK):
            return path
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"{name} is no file; {wanted}") from None
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {brief(error)}") from None
    if stat.S_ISREG(kind):
        raise UsageError(f"{name} cannot be read: permission denied")
    raise UsageError(f"{name} is {'a directory' if stat.S_ISDIR(kind) else 'no regular file'}; {wanted}")
