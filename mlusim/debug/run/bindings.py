"""The closures and modules that a kernel reads, kept for its launch: the program rebinds them for the next.

A run of an earlier launch gets the bindings that were there when it began; the program gets its own back
before it goes on.  Objects are not copied: what the program changes in place stays changed.
"""

from collections.abc import Callable
from types import CellType
from typing import Any

from attrs import define, field, frozen

from mlusim.debug.source.frames import Owned
from mlusim.debug.source.functions import functions_of

_MISSING = object()


@frozen(eq=False)
class _Cell:
    """A variable of a function around the kernel."""

    cell: CellType

    def exchange(self, value: object) -> Any:
        """Bind *value*, and return what was bound."""
        try:
            before = self.cell.cell_contents
        except ValueError:
            before = _MISSING
        if value is not _MISSING:
            self.cell.cell_contents = value
        elif before is not _MISSING:
            del self.cell.cell_contents
        return before


@frozen(eq=False)
class _Global:
    """A variable of a module."""

    names: dict[str, Any]
    name: str

    def exchange(self, value: object) -> Any:
        """Bind *value*, and return what was bound."""
        before = self.names.get(self.name, _MISSING)
        if value is not _MISSING:
            self.names[self.name] = value
        elif before is not _MISSING:
            del self.names[self.name]
        return before


@define(eq=False)
class Hold:
    """The bindings of one run: its own while others are in place, the others' while its own are."""

    variables: tuple[_Cell | _Global, ...]
    values: list[Any]

    def exchange(self) -> None:
        """Put the one in the place of the other."""
        self.values = [
            variable.exchange(value) for variable, value in zip(self.variables, self.values, strict=True)
        ]


@frozen(eq=False)
class Pins:
    """The bindings that a launch began with."""

    variables: tuple[_Cell | _Global, ...]
    values: tuple[Any, ...]

    @classmethod
    def of(cls, body: Callable[..., Any], owned: Owned) -> "Pins":
        """Return those that *body* and the functions it can reach name."""
        found: dict[Any, tuple[_Cell | _Global, Any]] = {}
        for function in functions_of(body, owned):
            for cell in function.__closure__ or ():
                try:
                    found.setdefault(id(cell), (_Cell(cell), cell.cell_contents))
                except ValueError:
                    continue  # not bound yet
            names = function.__globals__
            for name in function.__code__.co_names:
                if name in names:
                    found.setdefault((id(names), name), (_Global(names, name), names[name]))
        pairs = list(found.values())
        return cls(tuple(variable for variable, _ in pairs), tuple(value for _, value in pairs))

    def hold(self) -> Hold:
        """Return the bindings for one more run."""
        return Hold(self.variables, list(self.values))


@define(eq=False)
class Holder:
    """Says whose bindings are in place: those of one run, or the program's own."""

    current: Hold | None = field(default=None, init=False)

    def take(self, hold: Hold | None) -> None:
        """Put the bindings of *hold* in place, or the program's own."""
        if self.current is hold:
            return
        if self.current is not None:
            self.current.exchange()
        self.current = hold
        if hold is not None:
            hold.exchange()
