"""The table: every row of the instruction set, by name, in the order of the modules below."""

import inspect
from collections.abc import Mapping
from types import MappingProxyType, ModuleType

from attrs import frozen

from mlusim.errors import UsageError
from mlusim.isa import (
    atomic,
    compare,
    control,
    cycle,
    functions,
    fusion,
    gather,
    libdevice,
    logic,
    lut,
    minmax,
    mlisa,
    move,
    pool,
    reduce,
    scalar,
    select,
    shape,
    tensor,
    to_float,
    to_int,
    transpose,
    vector,
    vv,
)
from mlusim.isa.declare import Intrinsic
from mlusim.near import near

MODULES = (
    control,
    scalar,
    move,
    gather,
    vector,
    minmax,
    functions,
    fusion,
    libdevice,
    cycle,
    compare,
    logic,
    select,
    reduce,
    lut,
    transpose,
    shape,
    pool,
    tensor,
    to_int,
    to_float,
    atomic,
    vv,
    mlisa,
)


@frozen
class Family:
    """The rows of one module: ``name`` of the module, ``title`` and ``text`` of its documentation."""

    name: str
    title: str
    text: str
    rows: tuple[Intrinsic, ...]


def _family(module: ModuleType) -> Family:
    title, _, text = inspect.cleandoc(module.__doc__ or "").partition("\n")
    # In the order of the module's text.
    rows = tuple(row for row in vars(module).values() if isinstance(row, Intrinsic))
    return Family(module.__name__.rpartition(".")[2], title, text.strip(), rows)


FAMILIES: tuple[Family, ...] = tuple(_family(module) for module in MODULES)
ISA: Mapping[str, Intrinsic] = MappingProxyType({row.name: row for family in FAMILIES for row in family.rows})


def is_intrinsic(name: str) -> bool:
    """Return whether there is a row called *name*, with or without leading underscores, in any case."""
    bare = name.lstrip("_").lower()
    return bare in ISA or bare + "_" in ISA  # not_ and the like: Python's keywords


def find_intrinsic(name: str) -> Intrinsic:
    """Return the row called *name*, with or without leading underscores.

    Raises `UsageError` with the nearest names for an unknown one.
    """
    bare = name.lstrip("_").lower()
    row = ISA.get(bare) or ISA.get(bare + "_")
    if row is None:
        guesses = near(bare, ISA, beside="bang_")
        hint = f"did you mean {', '.join(guesses)}?" if guesses else "`mlusim isa` lists them all"
        raise UsageError(f"there is no intrinsic {name!r}; {hint}")
    return row
