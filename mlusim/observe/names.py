"""Checkers by name, as in ``observe=["memcheck"]``.

Other packages register theirs in the entry-point group ``mlusim.checkers``: each is a callable without arguments
that returns an `Observer`.
"""

import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from attrs import frozen

from mlusim.errors import UsageError, said
from mlusim.machine.hub import Observer

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

GROUP = "mlusim.checkers"

# The class of each checker, in the file of its name.
_OWN = (
    "MemCheck",
    "InitCheck",
    "RaceCheck",
    "SyncCheck",
    "PlanCheck",
    "ValueCheck",
)


class OwnChecker:
    """A checker of mlusim, whose class *name* in *module* is imported at its first use: a run without checkers imports none."""

    def __init__(self, module: str, name: str) -> None:
        self._place = module, name

    def __call__(self) -> Observer:
        """Construct the observer; import its module first."""
        observer: Observer = self._class()()
        return observer

    def __getattr__(self, name: str) -> object:
        return getattr(self._class(), name)

    def _class(self) -> Any:
        module, name = self._place
        return getattr(importlib.import_module(f"mlusim.observe.{module}"), name)


CHECKERS: Mapping[str, Callable[[], Observer]] = MappingProxyType(
    {name.lower(): OwnChecker(name.lower(), name) for name in _OWN}
)
VALUE_CHECK, VALUES = "valuecheck", "values"
"""The second names the first with findings instead of notes about results of vectors; the list of all checkers does not include it."""


def entry_points(group: str) -> "EntryPoints":
    """Return the entry points of *group*; importlib.metadata is imported only here."""
    points: EntryPoints = importlib.import_module("importlib.metadata").entry_points(group=group)
    return points


@frozen
class RegisteredCheckers:
    """The checkers that entry points declare, by name, and a sentence for each entry point that cannot be loaded."""

    checkers: Mapping[str, Callable[[], Observer]]
    refusals: Mapping[str, str]


@functools.cache
def registered() -> RegisteredCheckers:
    """Return the checkers of mlusim, then those of installed packages; one that cannot be loaded is left out with a sentence."""
    by_name, refusals = dict(CHECKERS), {}
    for entry in entry_points(group=GROUP):
        try:
            by_name.setdefault(entry.name, entry.load())
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a package may raise anything
            refusals[entry.name] = (
                f"the checker entry point {entry.name} = {entry.value} cannot be loaded: {said(error)}"
            )
    return RegisteredCheckers(MappingProxyType(by_name), MappingProxyType(refusals))


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
    if item == VALUES:
        return OwnChecker(VALUE_CHECK, "strict")()
    if isinstance(item, str) and item in checkers():
        return checkers()[item]()
    refused = registered().refusals.get(item) if isinstance(item, str) else None
    if refused is not None:
        raise UsageError(refused)
    names = ", ".join(checkers())
    raise UsageError(f"{item!r} is not a checker; known by name: {names}; or pass an Observer object")
