"""Exceptions of host code, the ends of objects, and the classes of objects."""

import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mlusim.errors import RuleFault
from mlusim.frontend.bangc.runtime.layouts import NULL, Object
from mlusim.frontend.bangc.runtime.pointers import copy


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
    """The name of an object's class."""
    found = pointer.here
    return str(type(found).layout.name if isinstance(found, Object) else found.layout.name)


def dynamic(pointer: Any, name: str) -> Any:
    """The pointer where it is to an object of that class, otherwise null."""
    if not pointer:
        return NULL
    return pointer if name in type(pointer.here).layout.names else NULL


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
    }
)
