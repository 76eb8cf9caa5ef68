"""A program while it is rendered in C, as the files see it that render parts of its expressions.

C leaves the order of arguments open, so that what has effects goes through temporaries, from left to right.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import define, field

from mlusim.engine.contract import Mode
from mlusim.frontend.bangc import ir, types as t
from mlusim.frontend.bangc.ir.walk import effectful, is_branch
from mlusim.frontend.bangc.native.numbers import ctype
from mlusim.kernel_frames import own_file

if TYPE_CHECKING:
    from mlusim.arch.board import Arch


Signature = tuple[str, ...]  # of a function: the type of its result in C, and those of its parameters


@define(eq=False)
class Rendering(ABC):
    """A program while it is rendered: the things that it refers to, by number, and the rendering of its expressions."""

    arch: "Arch"
    sites: dict[tuple[str, int], int] = field(factory=dict)
    calls: dict[tuple[int, int], list[ir.IntrinsicCall]] = field(factory=dict)  # of each row at each place
    texts: dict[str, int] = field(factory=dict)
    library: dict[str, int] = field(factory=dict)
    places: dict[Any, int] = field(factory=dict)  # variables at file scope and arrays of functions
    symbol: str = ""  # of the function at hand
    deep: bool = False  # whether that calls itself
    waits: Mapping[int, int] = field(factory=dict)  # of its loads from memory, as `ir.waits` tells
    near: tuple[ir.Local, ...] = ()  # of the function at hand: see `records.looked_up`
    temporaries: int = 0
    values: list[ir.Local] = field(factory=list)  # of the function at hand: those whose address is taken
    # Static variables of functions, by the name of their home.
    statics: dict[str, ir.Local] = field(factory=dict)
    # Strings that are read, and the places of pointers to them.
    literals: dict[str, int] = field(factory=dict)
    pointed: dict[str, int] = field(factory=dict)  # functions whose address is taken
    classes: dict[tuple[str, ...], int] = field(factory=dict)  # with virtual methods, by their names
    dispatches: dict[int, tuple[int, ir.Dispatch]] = field(factory=dict)  # calls of virtual methods
    casts: dict[str, int] = field(factory=dict)  # classes that pointers are cast to dynamically
    # What is around the statement at hand: loops, switches, labels, and objects that end.
    leaving: list[Any] = field(factory=list)
    signatures: dict[Signature, int] = field(factory=dict)  # of what is called through pointers
    mode: Mode = Mode.ALONE
    covered: bool = False  # whether it counts what it passes
    covers: dict[tuple[str, int, int, bool | None], int] = field(factory=dict)
    """Statements (None) and outcomes of tests, by the numbers under which they are counted."""
    stepping: bool = False  # whether the code is the step of a loop
    unset: frozenset[ir.Local] = frozenset()
    """Of the function at hand: the variables that are declared without a value."""
    changes: dict[Any, int] = field(factory=dict)  # of values without a word, as a screen tells them
    symbols: dict[str, int] = field(factory=dict)  # functions, and
    locals: dict[ir.Local, int] = field(factory=dict)  # pointer variables that a screen follows
    given: Mapping[ir.Local, list[ir.Expr]] = field(factory=dict)
    """Of the function at hand: what is assigned to its variables, for a screen."""

    @property
    def screened(self) -> bool:
        """Return whether what checkers may report ends the run."""
        return self.mode is Mode.SCREENED

    def site(self, span: ir.Span) -> int:
        """Return the number of a place in the source."""
        return self.sites.setdefault((span.file, span.line), len(self.sites))

    def passed(self, span: ir.Span) -> list[str]:
        """Render the count of the statement at *span*; nothing in files of mlusim's own."""
        if not self.covered or own_file(span.file):
            return []
        return [f"PASSED_(m, {self._covered(span, None)});"]

    def tested(self, test: ir.Expr) -> str:
        """Render the value of a *test*, and the count of its outcome."""
        made, span = self.value(test), test.span
        if not self.covered or own_file(span.file) or not is_branch(test):
            return made
        return f"tested_(m, ({made}) ? 1 : 0, {self._covered(span, True)}, {self._covered(span, False)})"

    def _covered(self, span: ir.Span, outcome: bool | None) -> int:
        return self.covers.setdefault((span.file, span.line, span.column, outcome), len(self.covers))

    def text(self, text: str) -> int:
        """Return the number of a string."""
        return self.texts.setdefault(text, len(self.texts))

    def literal(self, text: str) -> int:
        """Return the place of the pointer to a string that is read."""
        place = self.place(("literal", text))
        return self.literals.setdefault(text, place)

    def function(self, name: str) -> int:
        """Return the number of a function of the C library."""
        return self.library.setdefault(name, len(self.library))

    def place(self, variable: object) -> int:
        """Return the number of a variable that Python declares."""
        return self.places.setdefault(variable, len(self.places))

    def static(self, local: ir.Local) -> int:
        """Return the number of a static variable, which several functions may see."""
        first = self.statics.setdefault(local.home, local)
        return self.place((local.home, first))

    def temporary(self) -> str:
        """Render a name that nothing else has."""
        self.temporaries += 1
        return f"t_{self.temporaries}"

    def in_order(self, nodes: tuple[ir.Expr, ...], make: Callable[..., str]) -> str:
        """Render ``make`` of the values of *nodes*, evaluated from left to right."""
        open_ = [n for n in nodes if not isinstance(n, ir.Const)]
        if len(open_) < 2 or not any(effectful(n) for n in open_):
            return make(*(self.value(n) for n in nodes))
        names = [self.temporary() for _ in nodes]
        kept = " ".join(
            f"{ctype(n.type)} {name} = {self.value(n)};" for n, name in zip(nodes, names, strict=True)
        )
        return f"({{ {kept} {make(*names)}; }})"

    @abstractmethod
    def value(self, node: ir.Expr) -> str:
        """Render the value of *node*."""

    @abstractmethod
    def address(self, at: ir.Place) -> str:
        """Render a pointer to a place."""

    @abstractmethod
    def spread(self, at: ir.Place, make: Callable[[str, str], str]) -> str:
        """Render ``make`` of a pointer and the index of the element that a place is."""

    @abstractmethod
    def fetched(self, kind: t.Type, pointer: str, index: str, span: ir.Span, waits: int = 0) -> str:
        """Render the load of element *index* behind *pointer*; *waits*: what waits for it."""

    @abstractmethod
    def put(self, kind: t.Type, pointer: str, index: str, given: str, span: ir.Span) -> str:
        """Render a store to element *index* behind *pointer*; its value is what was stored."""


def literal_bytes(text: str) -> bytes:
    """Return the bytes of a literal, with the zero at its end."""
    return text.encode("utf-8", "surrogateescape") + b"\0"


def literal_pointer(c: Rendering, node: ir.Text) -> str:
    """Render a pointer to the first character of a literal."""
    return f"PLACES_(m)[{c.literal(node.value)}]"
