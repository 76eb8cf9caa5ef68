"""Checkers by name: what ``observe=["memcheck"]`` means."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from mlusim.errors import UsageError
from mlusim.machine.hub import Observer

CHECKERS: Mapping[str, Callable[[], Observer]] = MappingProxyType({})


def observers_of(wanted: Iterable[Any]) -> tuple[Observer, ...]:
    """Observer objects for a mix of checker names and observers.

    Raises `UsageError` for an unknown name, with the known ones.
    """
    if isinstance(wanted, str):
        wanted = (wanted,)
    return tuple(_observer(item) for item in wanted)


def _observer(item: Any) -> Observer:
    if isinstance(item, Observer):
        return item
    if isinstance(item, str) and item in CHECKERS:
        return CHECKERS[item]()
    known = ", ".join(CHECKERS) or "none yet"
    raise UsageError(f"{item!r} is no checker; known by name: {known}; or pass an Observer object")
