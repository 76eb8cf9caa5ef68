"""Statements of the intermediate form."""

from typing import TYPE_CHECKING

from attrs import define

from mlusim.frontend.bangc.ir.names import Local, Span

if TYPE_CHECKING:
    from mlusim.frontend.bangc.ir.expressions import Expr


# Compared by identity, here and below: two statements of the same text are two places of the program.
@define(eq=False)
class Declare:
    """A local comes to life, with a value (a `Compose` for arrays and records) or without.

    Without one its bytes are unspecified.  STATIC: the value is computed once.
    """

    local: Local
    value: "Expr | None"
    span: Span


@define(eq=False)
class Evaluate:
    """An expression for its effect."""

    value: "Expr"
    span: Span


@define(eq=False)
class If:
    """``if``; *other* may be empty.  The test is a bool."""

    test: "Expr"
    then: "tuple[Statement, ...]"
    other: "tuple[Statement, ...]"
    span: Span


@define(eq=False)
class Loop:
    """``while`` and ``for``; with *late* ``do``, which tests after the body.

    ``continue`` goes to *step*, then to *test*; a test of None is true.  What a ``for`` declares is
    in a `Block` around the loop.
    """

    test: "Expr | None"
    step: "Expr | None"
    body: "tuple[Statement, ...]"
    late: bool
    span: Span


@define(eq=False)
class Section:
    """A part of a switch: the values that jump to it (``default`` too, where *default*), then its statements.

    Control falls through into the next section unless a `Break` leaves the switch.
    """

    # C++ wants constants here, and analysis has folded them.
    labels: tuple[int, ...]
    default: bool
    body: "tuple[Statement, ...]"
    span: Span


@define(eq=False)
class Switch:
    """A switch over an integer."""

    value: "Expr"
    sections: tuple[Section, ...]
    span: Span


@define(eq=False)
class Labelled:
    """Statements in sections, of which the first has no label and *labels* name the others; a `Goto` continues there."""

    sections: "tuple[tuple[Statement, ...], ...]"
    labels: tuple[str, ...]
    span: Span


@define(eq=False)
class Goto:
    """Continue at a label of a `Labelled` around."""

    label: str
    span: Span


@define(eq=False)
class Finally:
    """*body*, and *last* where it is left, in whatever way: the ends of objects with destructors."""

    body: "tuple[Statement, ...]"
    last: "tuple[Statement, ...]"
    span: Span


@define(eq=False)
class Break:
    """Leave the innermost loop or switch."""

    span: Span


@define(eq=False)
class Continue:
    """Go to the step of the innermost loop."""

    span: Span


@define(eq=False)
class Return:
    """Leave the function, with a value of its result type."""

    value: "Expr | None"
    span: Span


@define(eq=False)
class Block:
    """Statements with a scope of their own; without any it is a place to stop at: the invocation of a macro."""

    body: "tuple[Statement, ...]"
    span: Span


Statement = (
    Declare | Evaluate | If | Loop | Switch | Break | Continue | Return | Block | Labelled | Goto | Finally
)
