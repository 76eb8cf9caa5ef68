"""Classes of the C++ library that hold numbered elements."""

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir import Expr, Method, Offset, Place, Span

CONTAINERS = ("std::vector", "std::array", "std::string")
MAPS = ("std::map", "std::unordered_map")
LISTED = ("std::vector", "std::set", "std::unordered_set")  # made from a list of their elements
ITERATED = (*CONTAINERS, *MAPS, "std::set", "std::unordered_set", "std::initializer_list")


def element(kind: t.ClassType) -> t.Type:
    """What an iterator of a container points to."""
    inner = kind.arguments[-1 if kind.name in MAPS else 0] if kind.arguments else t.INT8
    assert not isinstance(inner, int)
    return inner


def indexed(kind: t.Type, name: str) -> bool:
    """Whether a method is the element of a container by its number."""
    return isinstance(kind, t.ClassType) and kind.name in CONTAINERS and name in ("operator[]", "at")


def item(receiver: Place | Expr, kind: t.ClassType, index: Expr, span: Span) -> Expr:
    """A reference to an element of a container: a step from its first, which a place takes apart again."""
    pointer = t.Pointer(element(kind))
    first = Method("data", receiver, (), pointer, span)
    return Offset(first, index, False, t.Pointer(element(kind), reference=True), span)
