"""Names under which translated code finds the layout of a type, or a method."""

import functools
import hashlib
import re
from typing import Any

from mlusim.frontend.bangc import types as t

_METHODS = {
    "operator[]": "__getitem__",
    "operator<<": "__lshift__",
    "operator<<char": "put_char",
    "operator<<void": "put_address",
    "operator++": "increase",
    "operator()": "__call__",
    "operator=": "assign",
    "operator+=": "__iadd__",
    "operator->": "get",
    "operator bool": "holds",
    "operator!": "fail",
    "operator>>": "take",
}


BEGIN = "_c_"  # how the names of layouts begin


def of(kind: t.Type) -> tuple[str, t.Type]:
    """Return the name of the layout of a type, and the type."""
    while isinstance(kind, t.Pointer) and kind.reference:
        kind = t.Pointer(kind.to)
    if isinstance(kind, t.Arithmetic):
        plain = t.Arithmetic(_plain(kind), kind.kind, kind.size)
        return BEGIN + plain.name, plain
    if isinstance(kind, t.Void | t.FunctionType):
        return f"{BEGIN}void", t.VOID
    text = str(kind)
    word = re.sub(r"\W+", "_", text).strip("_")[:40]
    if re.fullmatch(r"\w+", text):
        return BEGIN + word, kind
    return f"{BEGIN}{word}_{hashlib.blake2b(text.encode(), digest_size=3).hexdigest()}", kind


def _plain(kind: t.Arithmetic) -> str:
    """Return the name of a number's element type; enumerations have that of their integers."""
    return (
        {"bool": "bool", "float": f"float{8 * kind.size}"}.get(kind.kind, f"{kind.kind}{8 * kind.size}")
        if kind.name not in (t.BFLOAT16.name, "bfloat16")  # the source's name, and a layout's
        else "bfloat16"
    )


def method(name: str) -> str:
    """Return a method of a library class as Python calls it."""
    return _METHODS.get(name, name)


NUMBER = f"{BEGIN}np_"  # how the names of number types begin


@functools.lru_cache(maxsize=256)
def dtype(kind: t.Arithmetic) -> Any:
    """Return the element type of memory that holds numbers of *kind*."""
    plain = next(
        s for s in t.SCALARS if (s.kind, s.size) == (kind.kind, kind.size) and _plain(s) == _plain(kind)
    )
    return t.DTYPE_OF[plain]
