"""Reading the user's files: paths, reasons of the system, whole files with a limit of bytes, and JSON values converted to declared types."""

import itertools
import json
import math
import os
import re
import stat
import tomllib
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from attrs import fields_dict, has

from mlusim.errors import UsageError, shown_file
from mlusim.near import near

LONGEST = 120  # characters of a reason
LOOKED_AT = 1000  # files of a folder that are compared with a name


def path_of(name: str) -> Path:
    """Return *name* as a path; raises `UsageError` for a name that no file can have."""
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
    """Return a question with the name of a similar file in the folder of *path*; "" if there is no similar one."""
    try:
        with os.scandir(path.parent) as there:
            names = [entry.name for entry in itertools.islice(there, LOOKED_AT) if entry.is_file()]
    except OSError:
        return ""
    guess = near(path.stem, [Path(name).stem for name in names if Path(name).suffix == path.suffix], 1)
    return f"did you mean {shown(shown_file(str(path.with_name(guess[0] + path.suffix))))}?" if guess else ""


_BEYOND_LINES = re.compile(r"[^\n\t -~]+")


def lines_shown(text: str) -> str:
    """Return *text* of several lines as `shown` does, but keep its newlines and tabs."""
    return _BEYOND_LINES.sub(lambda run: shown(run[0]), text)


# -- files, read whole ------------------------------------------------------------------------------------

LARGEST = 64 << 20
"""Bytes of the largest file that is read if the caller gives no other limit."""


def read_bytes(name: str, *, largest: int = LARGEST, hint: str = "") -> bytes:
    """Return the bytes of the file *name*, at most *largest*: every file that a user names and that is read whole is opened here.

    Raises `UsageError` for anything but a regular file: a pipe could make the caller wait, and a device has no end.
    *hint* says what to do if there is no such file.
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
    """Return the text of the file *name*, at most *largest* bytes of UTF-8; raises `UsageError` as `read_bytes` does, and for bytes that are not UTF-8."""
    content = read_bytes(name, largest=largest, hint=hint)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not text: byte {error.start} is not UTF-8") from None


# -- documents, whose values take many times the memory of their text -------------------------------------

LARGEST_DOCUMENT = 16 << 20
"""Bytes of the largest JSON file that is read."""
LARGEST_TOML = 1 << 20
"""Bytes of the largest TOML file that is read; parsing it takes 3 seconds and 250 MB, since the library's parser is in Python."""
DEEPEST = 64
"""Parts of the longest key of a TOML file: each part makes a table, and the time grows with the square of their number."""
_LONG_KEY = re.compile(rf"(?:[\w\"'-]+[ \t]*\.[ \t]*){{{DEEPEST}}}")


def read_json(name: str, kind: str, *, hint: str = "") -> Any:
    """Return the value in the JSON file *name*; raises `UsageError`, which says that the file is not *kind*, if it has no JSON."""
    text = read_text(name, largest=LARGEST_DOCUMENT, hint=hint)
    try:
        return json.loads(text)
    except RecursionError:
        raise UsageError(f"{name} is not {kind}: it is nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"{name} is not {kind}: it is not JSON ({error!s:.80})") from None


def read_toml(name: str, *, hint: str = "") -> tuple[dict[str, Any], str]:
    """Return the document in the TOML file *name*, and its text; raises `UsageError` if the file is not TOML."""
    text = read_text(name, largest=LARGEST_TOML, hint=hint)
    return toml_in(text, name), text


def toml_in(text: str, name: str) -> dict[str, Any]:
    """Return the TOML document *text*, which the file *name* holds; raises `UsageError` if it is not TOML."""
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
    """Return the path of the regular file *name*; raises `UsageError`, which ends in *wanted*, if there is no such file."""
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


WORDS = ("nan", "inf", "-inf")
"""How numbers that JSON has no syntax for are written."""

PLAIN: Mapping[type, str] = {
    int: "whole number",
    str: "text",
    bool: "true or false",
    float: "number",
    bytes: "bytes",
}


def typed(kind: Any, value: Any, where: str = "it", absent: frozenset[str] = frozenset()) -> Any:
    """Convert *value*, read from JSON, to the type *kind*: objects to classes of attrs, lists to tuples; plain values stay.

    A field may be missing only if its name is in *absent*; keys of an object that the class does not declare are
    ignored. Raises `TypeError`, which says *where* in the document the value is, if it does not fit.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if has(kind):
        return _instance(kind, value, where, absent)
    if origin in {Union, types.UnionType}:
        return _one_of(inner, value, where, absent)
    if origin is tuple and isinstance(value, list):
        kinds = inner[:1] * len(value) if inner[1:] == (...,) else inner
        if len(kinds) != len(value):
            raise TypeError(f"{where} has {len(value)} parts, not {len(kinds)}")
        return tuple(
            typed(k, part, f"{where}[{n}]", absent)
            for n, (k, part) in enumerate(zip(kinds, value, strict=True))
        )
    if origin is Mapping and isinstance(value, Mapping):
        return {key: typed(inner[1], part, f"{where}.{_short(key)}", absent) for key, part in value.items()}
    return _simple(kind, value, where)


def _one_of(kinds: tuple[Any, ...], value: Any, where: str, absent: frozenset[str]) -> Any:
    """Return *value* as the first of *kinds* that it fits; raises the `TypeError` of the first kind if it fits none."""
    if value is None and types.NoneType in kinds:
        return None
    said: TypeError | None = None
    for kind in kinds:
        if kind is not types.NoneType:
            try:
                return typed(kind, value, where, absent)
            except TypeError as error:
                said = said or error
    raise said or TypeError(f"{where} is {_short(value)}")


def _instance(kind: Any, value: Any, where: str, absent: frozenset[str]) -> Any:
    if not isinstance(value, Mapping):
        raise TypeError(f"{where} is {_short(value)}, no object")
    hints, fields = get_type_hints(kind), fields_dict(kind)
    missing = next((name for name in fields if name not in value and name not in absent), None)
    if missing is not None:
        raise TypeError(f"{where} lacks {missing!r}")
    try:
        return kind(**{n: typed(hints[n], value[n], f"{where}.{n}", absent) for n in fields if n in value})
    except ValueError as error:  # a validator of the class
        raise TypeError(f"{where}: {error}") from None


def _simple(kind: Any, value: Any, where: str) -> Any:
    if kind is float and (value in WORDS or type(value) in {int, float}):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if kind in {int, str, bool} and type(value) is kind:
        return value
    raise TypeError(f"{where} is {_short(value)}, no {PLAIN.get(kind, getattr(kind, '__name__', kind))}")


def _short(value: Any) -> str:
    """Describe *value* in a few characters."""
    if isinstance(value, Mapping | list):
        return "an object" if isinstance(value, Mapping) else "a list"
    return shown(value if isinstance(value, str) and value.isidentifier() else f"{value!r:.40}")[:60]
