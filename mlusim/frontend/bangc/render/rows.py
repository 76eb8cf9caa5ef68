"""The facts that translated code needs of the rows that it calls."""

import functools

from mlusim.isa.table import ISA


@functools.cache
def typed_arguments(name: str) -> frozenset[int]:
    """Return the arguments of row *name* whose types say how an untyped operand is seen."""
    row = ISA[name]
    named = set(row.void.values())
    return frozenset(n for n, p in enumerate(row.given) if p.name in named)
