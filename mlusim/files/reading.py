"""Names of files as a user types them, why the system refuses one, and files, texts and documents, read whole and with a bound."""

import itertools
import json
import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from mlusim.errors import UsageError, shown_file
from mlusim.near import near

LONGEST = 120  # characters of a reason
LOOKED_AT = 1000  # files of a folder that are compared with a name


def path_of(name: str) -> Path:
    """Return the path that *name* is; raises `UsageError` for a name that no file has."""
    if "\0" in name:
        raise UsageError(f"{shown(name)} is not a name of a file: it holds a NUL")
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


def alike(path: Path) -> str:
    """Ask whether a file of the folder of *path* was meant whose name is like it; "" where there is none."""
    try:
        with os.scandir(path.parent) as there:
            names = [entry.name for entry in itertools.islice(there, LOOKED_AT) if entry.is_file()]
    except OSError:
        return ""
    guess = near(path.stem, [Path(name).stem for name in names if Path(name).suffix == path.suffix], 1)
    return f"did you mean {shown(shown_file(str(path.with_name(guess[0] + path.suffix))))}?" if guess else ""


def lines_shown(text: str) -> str:
    """*text* of several lines, as `shown`: ends of lines and tabs stay what they are."""
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or c.isprintable() else shown(c) for c in text)


# -- files, read whole ------------------------------------------------------------------------------------

LARGEST = 64 << 20
"""Bytes of the largest file that is read where a caller names no other bound."""


def read_bytes(name: str, *, largest: int = LARGEST, hint: str = "") -> bytes:
    """Return the bytes of the file *name*, at most *largest*: the one way to open what a user names and reads whole.

    Raises `UsageError` for anything but a regular file, so that nothing is waited for and nothing is read without end;
    *hint* says what to do where there is no such file.
    """
    path = path_of(name)
    try:
        if path.is_dir():
            raise UsageError(f"{name} is a directory; name a file")
        if path.exists() and not path.is_file():
            raise UsageError(f"{name} is not a regular file; name one")
        with path.open("rb") as file:
            content = file.read(largest + 1)
    except OSError as error:
        told = (alike(path), hint) if isinstance(error, FileNotFoundError) else ()
        reason = f"{shown_file(name)} cannot be read: {brief(error)}"
        raise UsageError("; ".join([reason, *filter(None, told)])) from None
    if len(content) > largest:
        raise UsageError(f"{name} has more than {largest >> 20} MiB; no more are read")
    return content


def read_text(name: str, *, largest: int = LARGEST, hint: str = "") -> str:
    """Return the text of the file *name*, at most *largest* bytes of UTF-8; raises `UsageError` as `read_bytes` does, and for other bytes."""
    content = read_bytes(name, largest=largest, hint=hint)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not text: byte {error.start} is not UTF-8") from None


# -- documents, whose values take many times the room of their text ---------------------------------------

LARGEST_DOCUMENT = 16 << 20
"""Bytes of the largest JSON file that is read."""
LARGEST_TOML = 1 << 20
"""Bytes of the largest TOML file that is read, which takes 3 seconds and 250 MB: the library's reader is in Python."""
DEEPEST = 64
"""Parts of the longest key of a TOML file: one of thousands makes as many tables, and takes the square of that."""
_LONG_KEY = re.compile(rf"(?:[\w\"'-]+[ \t]*\.[ \t]*){{{DEEPEST}}}")


def read_json(name: str, kind: str, *, hint: str = "") -> Any:
    """Return the value in the JSON file *name*; raises `UsageError`, which says that it is not *kind*, for anything else."""
    text = read_text(name, largest=LARGEST_DOCUMENT, hint=hint)
    try:
        return json.loads(text)
    except RecursionError:
        raise UsageError(f"{name} is not {kind}: it is nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"{name} is not {kind}: it is not JSON ({error!s:.80})") from None


def read_toml(name: str, *, hint: str = "") -> tuple[dict[str, Any], str]:
    """Return the document in the TOML file *name*, and its text; raises `UsageError` for anything else."""
    text = read_text(name, largest=LARGEST_TOML, hint=hint)
    return toml_in(text, name), text


def toml_in(text: str, name: str) -> dict[str, Any]:
    """Return the TOML document *text*, which the file *name* holds; raises `UsageError` for anything else."""
    long = _LONG_KEY.search(text)
    if long is not None:
        line = text.count("\n", 0, long.start()) + 1
        raise UsageError(f"{name}:{line} has a key of more than {DEEPEST} parts; no file needs so many")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise UsageError(f"{name} is not TOML: it is nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name} is not TOML: {error}") from None


def refuse_no_file(name: str, wanted: str) -> Path:
    """Return the path of the regular file *name*; raises `UsageError`, which ends in *wanted*, for anything else."""
    path = path_of(name)
    try:
        kind = path.stat().st_mode
        if stat.S_ISREG(kind) and os.access(path, os.R_OK):
            return path
    except (FileNotFoundError, NotADirectoryError):
        told = filter(None, (f"{name} is not a file", alike(path), wanted))
        raise UsageError("; ".join(told)) from None
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {brief(error)}") from None
    if stat.S_ISREG(kind):
        raise UsageError(f"{name} cannot be read: permission denied")
    raise UsageError(f"{name} is {'a directory' if stat.S_ISDIR(kind) else 'not a regular file'}; {wanted}")
