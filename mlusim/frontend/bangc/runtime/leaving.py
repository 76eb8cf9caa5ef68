"""The ends of objects, and the classes of objects."""

import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn

from mlusim.errors import RuleFault, Unsupported
from mlusim.frontend.bangc.runtime.layouts import NULL, Object
from mlusim.frontend.bangc.runtime.pointers import Address, VariableAddress
from mlusim.frontend.bangc.runtime.referred import Pointer


def ending() -> bool:
    """Return whether the objects of a block end where it is left: not where the program stops."""
    return sys.exc_info()[1] is None


def class_of(pointer: Pointer) -> str:
    """Return the name of an object's class, which memory does not say where others are derived of it."""
    found = pointer.here
    if not isinstance(found, Object) and found.layout.derived:
        raise no_class(pointer)
    return _classes(found)[0]


def no_class(pointer: object) -> Unsupported:
    """Return the fault of a virtual call of an object whose class is not known, or that is not there."""
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
    """Return the names of an object's class and of its bases; of the one that is made, or ends, meanwhile."""
    if not isinstance(found, Object):
        return found.layout.names  # type: ignore[no-any-return]
    acting = getattr(found, "_c_acting", None)
    return type(found).layout.names if acting is None else acting


def become(pointer: Pointer, names: str) -> None:
    """Let an object be one of the class that *names* begin with; those of its bases follow, one a line."""
    found = pointer.here
    if isinstance(found, Object):
        found._c_acting = tuple(names.split("\n"))  # noqa: SLF001 - a name that no field has


def dynamic(pointer: Pointer, name: str) -> Any:
    """Return the pointer where it is to an object of that class, otherwise null."""
    if not pointer:
        return NULL
    class_of(pointer)
    return pointer if name in _classes(pointer.here) else NULL


LEAVING: Mapping[str, Callable[..., Any] | type] = MappingProxyType(
    {
        "_c_ending": ending,
        "_c_class": class_of,
        "_c_dynamic": dynamic,
        "_c_pure": lambda name: lambda *_: pure(name),
    }
)
