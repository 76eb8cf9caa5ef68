"""Values out of JSON by the types that classes declare: the class is the schema of what is read back."""

import math
import types
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints

from attrs import fields_dict, has

from mlusim.files.reading import shown

WORDS = ("nan", "inf", "-inf")
"""How numbers that JSON lacks are written."""

PLAIN: Mapping[type, str] = {
    int: "whole number",
    str: "text",
    bool: "true or false",
    float: "number",
    bytes: "bytes",
}


def typed(kind: Any, value: Any, where: str = "it", absent: frozenset[str] = frozenset()) -> Any:
    """*value* as the type *kind* has it: classes of attrs out of objects, tuples out of lists, plain values.

    Every field must be there but those whose names are *absent*; what a class does not know is left out.
    Raises `TypeError`, whose sentence says *where* inside the value, for anything else.
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
    """Return the first of *kinds* that *value* is an instance of; the refusal of the first kind, where it is of none."""
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
