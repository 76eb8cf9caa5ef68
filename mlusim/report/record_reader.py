"""Records out of the JSON that they were written to, by the types that their classes declare."""

import types
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints

from attrs import fields_dict, has

from mlusim.errors import UsageError
from mlusim.report.record import Record

WORDS = ("nan", "inf", "-inf")
"""How numbers that JSON lacks are written."""


def restored(document: Any, where: str) -> Record:
    """The record whose ``to_json`` is *document*, without what is not in there: spans of tasks, NRAM plans.

    Raises `UsageError`, which begins with *where*, for anything else.
    """
    try:
        inputs = [{"name": name, **one} for name, one in document["inputs"].items()]
        accuracy = {name: _errors(one) for name, one in document["accuracy"].items()}
        record: Record = _made(Record, dict(document) | {"inputs": inputs, "accuracy": accuracy})
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"{where} holds no record of mlusim ({type(error).__name__}: {error})") from None
    return record


def _errors(accuracy: Mapping[str, Any]) -> dict[str, Any]:
    """The accuracy of one output, whose types no class declares."""
    found: dict[str, Any] = {name: float(part) if part in WORDS else part for name, part in accuracy.items()}
    if found.get("worst_index") is not None:
        found["worst_index"] = tuple(found["worst_index"])
    return found | {"note": accuracy["note"]}


def _made(kind: Any, value: Any) -> Any:
    """*value* as the type *kind* has it; raises `TypeError` where it is something else."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if has(kind):
        return _instance(kind, value)
    if origin in {Union, types.UnionType}:
        return None if value is None and types.NoneType in inner else _made(inner[0], value)
    if origin is tuple and isinstance(value, list):
        kinds = inner[:1] * len(value) if inner[1:] == (...,) else inner
        return tuple(_made(one, part) for one, part in zip(kinds, value, strict=True))
    if origin is Mapping and isinstance(value, Mapping):
        return {key: _made(inner[1], part) for key, part in value.items()}
    return _simple(kind, value)


def _simple(kind: Any, value: Any) -> Any:
    if kind is float and (value in WORDS or type(value) in {int, float}):
        return float(value)
    if kind in {int, str, bool} and type(value) is kind:
        return value
    raise TypeError(f"{value!r:.40} is no {getattr(kind, '__name__', kind)}")


def _instance(kind: Any, value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r:.40} is no {kind.__name__}")
    hints = get_type_hints(kind)
    return kind(**{name: _made(hints[name], value[name]) for name in fields_dict(kind) if name in value})
