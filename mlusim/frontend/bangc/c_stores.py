"""Assignments by hand to what the variables of a frame of BANG C hold, with C's conversions."""

from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from mlusim.errors import UsageError
from mlusim.frontend.bangc import ir, scalars
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.c_syntax import Foreign, Item, MemberAccess, Name, NoExpression, Prefix, Tree
from mlusim.frontend.bangc.c_values import RegisterAddress, Typed, decayed, value_of
from mlusim.frontend.bangc.render.context import kept_casts
from mlusim.frontend.bangc.runtime.layouts import NULL
from mlusim.frontend.bangc.runtime.resolve import layout
from mlusim.frontend.bangc.runtime.variables import Cell

if TYPE_CHECKING:
    from mlusim.frontend.bangc.c_scope import FrameNames

Bind = Callable[[FrameType, str, Any], None]
"""Gives a local of a frame a value."""


@frozen
class Assignment:
    """An assignment that C allows: ``value`` is what the target holds behind it, and ``make`` makes it."""

    value: Typed
    make: Callable[[], None]


def assignment(target: Tree, given: Typed, scope: "FrameNames", bind: Bind) -> Assignment:
    """*given* as the next value of *target*, converted to its type as C does; nothing is stored yet.

    *bind* gives a local of the frame a value.  Raises `NoExpression` or `UsageError` for what is no variable, element or
    member, and for a value of another type; `Foreign` for what is no variable of the source.
    """
    match target:
        case Name():
            return _variable(target.text, given, scope, bind)
        case Item() | Prefix(op="*"):
            element = value_of(target, scope)
            return _through(element.place, given, element)
        case MemberAccess():
            return _member(target, given, scope)
    raise NoExpression("only a variable, an element or a member is given a value")


def in_cell(raw: object, kind: t.Type, local: ir.Local | None) -> bool:
    """Return whether *raw* is the cell of a variable; a pointer that is in none may be the cell that it points to."""
    plain = isinstance(kind, t.Pointer) and local is not None and local.storage is ir.Storage.VALUE
    return isinstance(raw, Cell) and not plain


def _variable(name: str, given: Typed, scope: "FrameNames", bind: Bind) -> Assignment:
    held, local = scope.find(name), scope.local(name)
    if local is None and all(g.name != name for g in scope.module.globals.values()):
        raise Foreign(f"{name} is no variable of the source")
    space = scope.frame.f_globals if local is None else scope.frame.f_locals
    raw = space[name if local is None else local.name]
    reference = local is not None and isinstance(local.type, t.Pointer) and local.type.reference
    aside = held.place is not None or in_cell(raw, held.type, local)
    # What has a place of its own keeps it: pointers to it see the new value.
    if isinstance(held.type, t.Record) or reference or aside:
        return _through(raw, given, held)
    value = _fit(given, held)

    def put() -> None:
        if local is None:
            space[name] = value
            return
        bind(scope.frame, local.name, value)
        # Those of the old value; code makes one again where it is None.
        for cast in kept_casts(local.name, list(space)):
            bind(scope.frame, cast, None)

    return Assignment(evolve(held, value=value), put)


def _through(pointer: Any, given: Typed, target: Typed) -> Assignment:
    """Return the assignment to what *pointer* points to."""
    value = _fit(given, target)

    def put() -> None:
        if isinstance(target.type, t.Record):
            getattr(pointer, "here", pointer).assign(value)
        else:
            pointer[0] = value

    return Assignment(evolve(target, value=value), put)


def _member(target: MemberAccess, given: Typed, scope: "FrameNames") -> Assignment:
    found, base = value_of(target, scope), value_of(target.base, scope).value
    if isinstance(found.type, t.Record):
        return _through(found.value, given, found)
    value = _fit(given, found)
    return Assignment(
        evolve(found, value=value), lambda: setattr(getattr(base, "here", base), target.name, value)
    )


def _fit(given: Typed, target: Typed) -> Any:
    """*given* as the target's type holds it."""
    to, given = target.type, decayed(given)
    if isinstance(to, t.Arithmetic) and isinstance(given.type, t.Arithmetic):
        return scalars.converted(given.number, to)
    if isinstance(to, t.Pointer) and isinstance(given.type, t.Pointer):
        return _pointer(given, to, target)
    if isinstance(to, t.Record) and isinstance(given.type, t.Record) and to.name == given.type.name:
        return given.value
    if isinstance(to, t.Array):
        raise NoExpression(f"{target.text} is an array; give its elements values, as {target.text}[0]")
    if isinstance(to, t.Pointer) and isinstance(given.type, t.Arithmetic) and given.number == 0:
        return _null(to)
    raise NoExpression(f"{target.text} has type {to}, and the value {given.type}")


def _pointer(given: Typed, to: t.Pointer, target: Typed) -> Any:
    if isinstance(given.value, RegisterAddress):
        raise UsageError(f"{given.value.text} is kept in a register, so that nothing can point to it here")
    if given.value is None:
        return _null(to)
    assert isinstance(given.type, t.Pointer)
    if given.type.to != to.to and not isinstance(to.to, t.Void):
        raise NoExpression(f"{target.text} has type {to}, and the value {given.type}; cast it")
    return given.value


def _null(to: t.Pointer) -> Any:
    return (
        NULL.cast(layout(to.to, lambda address, _: address, {})) if isinstance(to.to, t.Arithmetic) else NULL
    )
