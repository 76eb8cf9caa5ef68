"""Functions that take any number of arguments, and objects that are called: ``va_list`` and ``std::function``."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mlusim.errors import RuleFault
from mlusim.frontend.bangc.runtime.classes.objects import ClassLayout, HostObject


class Rest(HostObject):
    """A ``va_list``: the arguments behind the parameters, and how many of them were taken."""

    __slots__ = ("taken", "values")

    def __init__(self, values: tuple[Any, ...], taken: int = 0) -> None:
        self.values = values
        self.taken = taken

    def left(self) -> tuple[Any, ...]:
        """Those that were not taken yet."""
        return self.values[self.taken :]

    def next(self, kind: type | tuple[type, ...], wanted: str) -> Any:
        """The next one, which is *wanted*.  Raises `RuleFault` where there is none, or one of another kind."""
        if self.taken >= len(self.values):
            raise RuleFault(
                f"va_arg takes argument {self.taken + 1} behind the parameters, and {len(self.values)} were given",
                hint="give one argument for each va_arg",
            )
        value = self.values[self.taken]
        if isinstance(value, float) is not (kind is float) or isinstance(value, int | float) is (
            kind is object
        ):
            raise RuleFault(
                f"va_arg takes {wanted}, and argument {self.taken + 1} behind the parameters is {value!r:.60}",
                hint="name the type that the argument has: small integers are int, float is double",
            )
        self.taken += 1
        return value


FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "__mlusim_va_start": Rest,
        "__mlusim_va_copy": lambda rest: Rest(rest.values, rest.taken),
        "__mlusim_va_whole": lambda rest: rest.next(int, "an integer"),
        "__mlusim_va_real": lambda rest: rest.next(float, "a double"),
        "__mlusim_va_pointer": lambda rest: rest.next(object, "a pointer"),
    }
)


class StdFunction(HostObject):
    """``std::function``: a function, and the object whose method it is."""

    __slots__ = ("called", "owner")

    def __init__(self, called: Callable[..., Any] | None, owner: Any = None) -> None:
        self.called = called
        self.owner = owner

    def __call__(self, *arguments: Any) -> Any:
        """What the function returns.  Raises `RuleFault` where it is empty."""
        if self.called is None:
            raise RuleFault("an empty std::function is called", hint="give it a function first")
        return self.called(*arguments) if self.owner is None else self.called(self.owner, *arguments)

    def holds(self) -> bool:
        """Whether it has a function."""
        return self.called is not None

    def copied(self) -> "StdFunction":
        """Another that calls the same with an object of its own."""
        owner = self.owner
        return StdFunction(self.called, owner.copied() if hasattr(owner, "copied") else owner)

    def assign(self, other: "StdFunction") -> "StdFunction":
        """Call what another calls."""
        made = other.copied()
        self.called, self.owner = made.called, made.owner
        return self


def function(_layout: ClassLayout, *values: Any) -> StdFunction:
    """A function: none, or one with the object whose method it is."""
    called = values[0] if values and callable(values[0]) else None
    return StdFunction(called, values[1] if len(values) > 1 else None)
