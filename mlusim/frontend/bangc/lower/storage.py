"""Storage of locals: when a variable becomes bytes of simulated memory."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir import (
    AddressOf,
    Convert,
    Expr,
    Function,
    Local,
    LocalStorage,
    Member,
    Offset,
    Place,
    Storage,
)


def to_memory(pointer: Expr) -> Local | None:
    """Return the local that *pointer* is the address of, which is memory: an instruction reads or writes its bytes."""
    while isinstance(pointer, Convert | Offset):
        pointer = pointer.value if isinstance(pointer, Convert) else pointer.pointer
    if isinstance(pointer, AddressOf):
        local = root(pointer.place)
        if local is not None:
            _move(local)
        return local
    return None


def root(place: Place) -> Local | None:
    """Return the local that *place* is or is a part of."""
    while isinstance(place, Member):
        place = place.base
    return place.local if isinstance(place, LocalStorage) else None


def settle(functions: Iterable[Function], as_bytes: AbstractSet[str]) -> None:
    """Give records that are seen as bytes somewhere or have members at the same bytes, and arrays of them, bytes."""
    for function in functions:
        for local in function.locals:
            kind = local.type
            while isinstance(kind, t.Array):
                kind = kind.of
            if isinstance(kind, t.Record) and (kind.name in as_bytes or _overlaps(kind)):
                _move(local)


def _overlaps(kind: t.Type) -> bool:
    """Return whether *kind* is a union or has one in it."""
    while isinstance(kind, t.Array):
        kind = kind.of
    return isinstance(kind, t.Record) and (kind.union or any(_overlaps(f.type) for f in kind.fields))


def _move(local: Local) -> None:
    if local.storage in (Storage.VALUE, Storage.CELL) and not isinstance(
        local.type, t.ClassType | t.VectorRegister
    ):
        local.storage, local.space = Storage.MEMORY, "ldram"  # where a task has its stack
