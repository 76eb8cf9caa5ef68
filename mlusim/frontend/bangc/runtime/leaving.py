"""Exceptions of host code, the ends of objects, and the classes of objects."""

import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn

from mlusim.errors import RuleFault, Unsupported
from mlusim.frontend.bangc.runtime.layouts import NULL, Object
from mlusim.frontend.bangc.runtime.pointers import Address, VariableAddress, copy


class Thrown(Exception):
    """An exception of C++: its value, and the names of its type and of the bases."""

    def __init__(self, value: Any, names: tuple[str, ...]) -> None:
        super().__init__(names[0])
        self.value = value
        self.names = names


def throw(value: Any, *names: str) -> None:
    """``throw value``."""
    raise Thrown(copy(value), names)


def again() -> None:
    """``throw`` in a handler."""
    caught = sys.exc_info()[1]
    if isinstance(caught, Thrown):
        raise caught
    raise RuleFault("throw without a value outside of a handler", hint="there is no exception to throw again")


def ending() -> bool:
    """Whether the objects of a block end where it is left: not where the program stops."""
    error = sys.exc_info()[1]
    return error is None or isinstance(error, Thrown)


def class_of(pointer: Any) -> str:
    """The name of an object's class, which memory does not say where others are derived of it."""
    found = pointer.here
    if not isinstance(found, Object) and found.layout.derived:
        raise no_class(pointer)
    return _classes(found)[0]


def no_class(pointer: Any) -> Unsupported:
    """The fault of a virtual call of an object whose class is not known, or that is not there."""
    if isinstance(pointer, Address):
        pointer.refuse("a load")
    if isinstance(pointer, VariableAddress):
        return pointer[0]  # type: ignore[index, no-any-return]  # which is refused
    return Unsupported(
        "an object in simulated memory is asked which class it is of",
        hint="keep it in a variable of the function, or call the method by its class: object.Class::method()",
    )


def pure(name: str) -> NoReturn:
    """Refuse a call of the virtual method *name*, which the object's class has not."""
    raise RuleFault(f"{name} is called, which is virtual and has no body in the object's class")


def _classes(found: Any) -> tuple[str, ...]:
    """The names of an object's class and of its bases; of the one that is made, or ends, meanwhile."""
    if not isinstance(found, Object):
        return found.layout.names  # type: ignore[no-any-return]
    acting = getattr(found, "_c_acting", None)
    return type(found).layout.names if acting is None else acting


def become(pointer: Any, text: Any) -> None:
    """Let an object be one of the class whose name begins *text*; those of its bases follow."""
    found = pointer.here
    if isinstance(found, Object):
        said = text if isinstance(text, str) else text.view.block.text
        found._c_acting = tuple(said.split("\n"))  # noqa: SLF001 - a name that no field has


def dynamic(pointer: Any, name: str) -> Any:
    """The pointer where it is to an object of that class, otherwise null."""
    if not pointer:
        return NULL
    class_of(pointer)
    return pointer if name in _classes(pointer.here) else NULL


def nothing(*_: Any) -> None:
    """The end of an object without a destructor."""


def uncaught(thrown: Thrown) -> RuleFault:
    """The fault of an exception that nothing catches."""
    value = thrown.value
    what = getattr(value, "text", None)
    if what is None:
        what = "" if isinstance(value, Object) else value
    text = f"an exception of {thrown.names[0]} is not caught"
    return RuleFault(f"{text}: {what!s:.200}" if str(what) else text, hint="catch it in main")


LEAVING: Mapping[str, Callable[..., Any] | type] = MappingProxyType(
    {
        "_c_Thrown": Thrown,
        "_c_throw": throw,
        "_c_again": again,
        "_c_ending": ending,
        "_c_class": class_of,
        "_c_dynamic": dynamic,
        "_c_nothing": nothing,
        "_c_pure": lambda name: lambda *_: pure(name),
    }
)
