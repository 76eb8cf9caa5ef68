"""Finding operators, both mlusim's own and those of third parties, by the entry-point group."""

import functools
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType

from attrs import frozen

from mlusim.errors import UsageError, said
from mlusim.files.reading import shown
from mlusim.near import near
from mlusim.operators.spec import Case, Operator

GROUP = "mlusim.operators"


@frozen
class Registered:
    """The operators that entry points declare, by name, and a sentence for each entry point that was refused."""

    operators: Mapping[str, Operator]
    refusals: tuple[str, ...]


@functools.cache
def registered() -> Registered:
    """Load every entry point: an `Operator`, or a sequence of them.

    An entry point that cannot be loaded, is something else, or has the name of another one is refused, with a
    sentence that names its distribution; the other entry points are not affected.
    """
    by_name: dict[str, tuple[Operator, str]] = {}
    refusals: list[str] = []
    for entry in entry_points(group=GROUP):
        distribution = getattr(entry, "dist", None)
        source = f" of {distribution.name}" if distribution is not None else ""
        at = f"the operator entry point {entry.name} = {entry.value}{source}"
        try:
            loaded = _loaded(entry, at)
        except UsageError as error:
            refusals.append(str(error))
            continue
        for operator in loaded:
            first, other = by_name.setdefault(operator.name, (operator, at))
            if first is not operator:
                refusals.append(
                    f"{at} and {other} both have an operator {operator.name!r}; the first is left out, "
                    "uninstall one of them"
                )
    return Registered(
        MappingProxyType({name: operator for name, (operator, _) in sorted(by_name.items())}), tuple(refusals)
    )


def operators() -> Mapping[str, Operator]:
    """Return every registered operator by name, in alphabetical order."""
    return registered().operators


def _loaded(entry: EntryPoint, at: str) -> tuple[Operator, ...]:
    try:
        loaded = entry.load()
        many = (loaded,) if isinstance(loaded, Operator) else tuple(loaded)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{at} cannot be loaded: {type(error).__name__}: {said(error)}") from error
    for operator in many:
        if not isinstance(operator, Operator):
            raise UsageError(f"{at} gives {operator!r:.80}; it must give an Operator, or a sequence of them")
    return many


def find_operator(name: str) -> Operator:
    """Return the operator called *name*.  Raises `UsageError` with the nearest names for an unknown one."""
    declared = operators()
    if not isinstance(name, str):
        raise UsageError(f"{name!r:.80} is not an operator; give a name or an Operator")
    if name in declared:
        return declared[name]
    # Commands accept either an operator or a file here: say which of them is missing.
    if Path(name).exists():
        raise UsageError(
            f"{shown(name)} is neither an operator nor a file that can be run: a script, a BANG C file or a program"
        )
    if "/" in name or Path(name).suffix:
        raise UsageError(f"there is no file {shown(name)}, and no operator of that name")
    guesses = near(name, declared)
    hint = f"did you mean {' or '.join(guesses)}?" if guesses else "`mlusim ops` lists them"
    refusals = "".join(f"; {sentence}" for sentence in registered().refusals)
    raise UsageError(f"there is no operator {name!r}; {hint}{refusals}")


def find_case(operator: Operator, name: str) -> Case:
    """Return the case of *operator* called *name*.  Raises `UsageError` for an unknown one."""
    for case in operator.cases:
        if case.name == name:
            return case
    names = [c.name for c in operator.cases]
    guesses = near(name, names)
    hint = f"did you mean {' or '.join(guesses)}?" if guesses else ""
    raise UsageError(
        f"{operator.name} has no case {name!r}; {hint or f'`mlusim ops {operator.name}` lists them'}"
    )
