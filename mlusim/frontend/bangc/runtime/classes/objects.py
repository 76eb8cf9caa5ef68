"""Objects of the C++ library in a host program: what all of them have, and how they are made."""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from mlusim.counted import plural
from mlusim.errors import OutOfBounds
from mlusim.frontend.bangc.runtime.host_memory import HostMemory

SHOWN = 8  # elements of a container that a debugger shows


def braces(texts: Iterable[str], count: int) -> str:
    """What a container of *count* elements holds, as a debugger shows it; *texts* are the first ones."""
    given = list(islice(texts, SHOWN))
    more = [f"... {count} {plural(count, 'element')}"] if count > len(given) else []
    return "{" + ", ".join([*given, *more]) + "}"


class HostObject:
    """An object of a class; it is the pointer to itself, as records are."""

    __slots__ = ()
    CONVERTS = False  # whether other classes have constructors that take one

    @property
    def here(self) -> Any:
        """The object that is pointed to."""
        return self

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return self is other

    def __add__(self, n: int) -> "HostObject":
        if n:
            raise OutOfBounds(f"a pointer to one object is moved by {n}")
        return self

    def cast(self, _layout: Any) -> Any:
        """The pointer to this object."""
        return self


class ClassLayout:
    """How objects of a class are made: ``make`` takes what its constructor is given."""

    size = 8

    def __init__(
        self, build: Callable[..., Any], memory: HostMemory, arguments: tuple[Any, ...], name: str = ""
    ) -> None:
        self._copies_all = name == "std::string"
        self._build = build
        self.memory = memory
        self.arguments = arguments

    def make(self, *values: Any) -> Any:
        """A new object; of one that is given a copy."""
        given = values[0] if len(values) == 1 else None
        if (
            isinstance(given, HostObject)
            and hasattr(given, "copied")
            and (self._copies_all or not given.CONVERTS)
        ):
            return given.copied()
        return self._build(self, *values)

    def of(self, pointer: Any) -> Any:
        """*pointer* as one to this class."""
        return pointer
