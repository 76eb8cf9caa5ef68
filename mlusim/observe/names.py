"""Checkers by name: what ``observe=["memcheck"]`` means.

Others register theirs through the entry-point group ``mlusim.checkers``: a callable that takes nothing
and returns an `Observer`.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any

from mlusim.errors import UsageError
from mlusim.machine.hub import Observer
from mlusim.observe.initcheck import InitCheck
from mlusim.observe.memcheck import MemCheck
from mlusim.observe.plancheck import PlanCheck
from mlusim.observe.racecheck import RaceCheck
from mlusim.observe.synccheck import SyncCheck

GROUP = "mlusim.checkers"

CHECKERS: Mapping[str, Callable[[], Observer]] = MappingProxyType(
    {checker.name: checker for checker in (MemCheck, InitCheck, RaceCheck, SyncCheck, PlanCheck)}
)


@functools.cache
def checkers() -> Mapping[str, Callable[[], Observer]]:
    """Every checker by name: mlusim's own, then those of installed packages.

    Raises `UsageError` where a package's checker cannot be loaded, with the entry point to blame.
    """
    found = dict(CHECKERS)
    for entry in entry_points(group=GROUP):
        try:
            found.setdefault(entry.name, entry.load())
        except Exception as error:
            raise UsageError(
                f"the checker entry point {entry.name} = {entry.value} cannot be loaded: {error}"
            ) from error
    return MappingProxyType(found)


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
    if isinstance(item, str) and item in checkers():
        return checkers()[item]()
    known = ", ".join(checkers())
    raise UsageError(f"{item!r} is no checker; known by name: {known}; or pass an Observer object")
