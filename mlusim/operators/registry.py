"""Finding operators: mlusim's own and those of third parties, by the entry-point group."""

import difflib
import functools
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any

from mlusim.errors import UsageError
from mlusim.operators.spec import Case, Operator

GROUP = "mlusim.operators"


@functools.cache
def operators() -> Mapping[str, Operator]:
    """Every registered operator by name, in alphabetical order.

    An entry point is an `Operator`, or a sequence of them.  Raises `UsageError` where one cannot be
    loaded, with the distribution to blame.
    """
    found: dict[str, Operator] = {}
    for entry in entry_points(group=GROUP):
        try:
            loaded = entry.load()
        except Exception as error:
            raise UsageError(
                f"the operator entry point {entry.name} = {entry.value} cannot be loaded: {error}"
            ) from error
        for operator in _flat(loaded):
            found[operator.name] = operator
    return MappingProxyType(dict(sorted(found.items())))


def _flat(loaded: Any) -> Iterable[Operator]:
    return (loaded,) if isinstance(loaded, Operator) else tuple(loaded)


def find_operator(name: str) -> Operator:
    """The operator called *name*.  Raises `UsageError` with the nearest names for an unknown one."""
    known = operators()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "`mlusim ops` lists them"
    raise UsageError(f"there is no operator {name!r}; {hint}")


def find_case(operator: Operator, name: str) -> Case:
    """The case of *operator* called *name*.  Raises `UsageError` for an unknown one."""
    for case in operator.cases:
        if case.name == name:
            return case
    near = difflib.get_close_matches(name, [c.name for c in operator.cases], n=3, cutoff=0.3)
    hint = f"did you mean {' or '.join(near)}?" if near else ""
    raise UsageError(
        f"{operator.name} has no case {name!r}; {hint or f'`mlusim ops {operator.name}` lists them'}"
    )
