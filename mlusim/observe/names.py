"""Checkers by name: what ``observe=["memcheck"]`` means.

Others register theirs through the entry-point group ``mlusim.checkers``: a callable that takes nothing
and returns an `Observer`.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any

from attrs import frozen

from mlusim.errors import UsageError, said
from mlusim.machine.hub import Observer
from mlusim.observe.initcheck import InitCheck
from mlusim.observe.memcheck import MemCheck
from mlusim.observe.plancheck import PlanCheck
from mlusim.observe.racecheck import RaceCheck
from mlusim.observe.synccheck import SyncCheck
from mlusim.observe.valuecheck import ValueCheck

GROUP = "mlusim.checkers"

_OWN = (
    MemCheck,
    InitCheck,
    RaceCheck,
    SyncCheck,
    PlanCheck,
    ValueCheck,
)
CHECKERS: Mapping[str, Callable[[], Observer]] = MappingProxyType({checker.name: checker for checker in _OWN})


@frozen
class RegisteredCheckers:
    """The checkers that entry points gave, by name, and a sentence for each that is left out."""

    checkers: Mapping[str, Callable[[], Observer]]
    refusals: Mapping[str, str]


@functools.cache
def registered() -> RegisteredCheckers:
    """Return the checkers of mlusim, then those of installed packages; one that cannot be loaded disables itself alone."""
    found, refusals = dict(CHECKERS), {}
    for entry in entry_points(group=GROUP):
        try:
            found.setdefault(entry.name, entry.load())
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a package may raise anything
            refusals[entry.name] = (
                f"the checker entry point {entry.name} = {entry.value} cannot be loaded: {said(error)}"
            )
    return RegisteredCheckers(MappingProxyType(found), MappingProxyType(refusals))


def checkers() -> Mapping[str, Callable[[], Observer]]:
    """Return every checker by name: mlusim's own, then those of installed packages."""
    return registered().checkers


def observers_of(wanted: Iterable[Any]) -> tuple[Observer, ...]:
    """Return observers for a mix of checker names and observers.

    Raises `UsageError` for an unknown name, with the known ones.
    """
    if isinstance(wanted, str):
        wanted = (wanted,)
    return tuple(_observer(item) for item in wanted)


def _observer(item: object) -> Observer:
    if isinstance(item, Observer):
        return item
    if isinstance(item, str) and item in checkers():
        return checkers()[item]()
    refused = registered().refusals.get(item) if isinstance(item, str) else None
    if refused is not None:
        raise UsageError(refused)
    known = ", ".join(checkers())
    raise UsageError(f"{item!r} is no checker; known by name: {known}; or pass an Observer object")
