"""The recipes of copies: a token decides their memories and their pipe, and the numbers behind it their form.

A form is what both engines have code for; what is legal in no form of its own, or is observed in rows, is left to the general
copy (`engine.copies.strided_copy`).  `engine.recipes.render` renders a form as Python, `machine.native.text.copies` as C.
"""

from typing import TYPE_CHECKING

from attrs import frozen

from mlusim.engine.recipes import steps

if TYPE_CHECKING:
    from mlusim.isa.declare import Intrinsic

MOST_SEGMENTS = 65535  # behind the first one
STRIDES = ("dst_stride", "src_stride", "segnum")

# -- what is checked ---------------------------------------------------------------------------------


@frozen
class PlainIntegers:
    """*names* are integers of Python, as those of C are."""

    names: tuple[str, ...]


@frozen
class Unobserved:
    """Nothing observes the copy: the general copy, which announces it, is called otherwise."""


@frozen
class HasBytes:
    """The size is 1 byte or more."""


@frozen
class Segments:
    """There are no more segments than a copy takes, and their strides fit: no two of the destination's overlap."""


@frozen
class OfThisCore:
    """The pointer *side* is one of this core."""

    side: str


@frozen
class Within:
    """The bytes of *side*, from its first segment to its last, lie in its memory."""

    side: str


@frozen
class Directed:
    """*side* points into the memory that the direction names."""

    side: str


@frozen
class TargetWritable:
    """The destination is not const."""


@frozen
class SidesApart:
    """In one memory the sides lie apart; *in_front*: the destination may begin at the source or before it."""

    in_front: bool


@frozen
class Grained:
    """Addresses and size are multiples of what the direction asks for."""


CopyCondition = (
    PlainIntegers | Unobserved | HasBytes | Segments | OfThisCore | Within | Directed | TargetWritable | SidesApart | Grained
)  # fmt: skip

# -- what is done ------------------------------------------------------------------------------------


@frozen
class SettlePipe:
    """Complete the copies in flight on the pipe of the direction first."""


@frozen
class MoveBytes:
    """Tell the observers, and move the bytes of one segment."""


@frozen
class MoveRows:
    """Move the segments.  The bytes move last: what runs right behind scattered stores may stall on them."""


@frozen
class StartFlight:
    """Let the segments fly, with what they take of their pipe."""


@frozen
class ChargeLine:
    """Charge the pipe for one segment."""


@frozen
class ChargeRows:
    """Charge the pipe for all segments."""


@frozen
class Traffic:
    """Count the bytes by their direction, and as read."""


@frozen
class Remember:
    """Remember where it read: copies of the same bytes again and again are polling."""


CopyStep = (
    SettlePipe | MoveBytes | MoveRows | StartFlight | ChargeLine | ChargeRows | Traffic | Remember | steps.Count
)  # fmt: skip


@frozen
class CopyForm:
    """One form of a copy: the directions that it has, by their name in `engine.copies.Routes`; what must hold; what is done.

    ``shaped``: the numbers `STRIDES` follow the direction; None: they may.  A form for which something does not hold goes to the
    general copy, or where there is none that could take it, is explained.
    """

    lanes: str
    shaped: bool | None
    conditions: tuple[CopyCondition, ...]
    steps: tuple[CopyStep, ...]


@frozen
class Copy:
    """Copy by the one of *forms* that the numbers behind the direction ask for; the general copy does or refuses what none has.

    What an *asynchronous* one moves lands later.
    """

    forms: tuple[CopyForm, ...]
    asynchronous: bool


_SIDES = ("dst", "src")
_ENDS: tuple[CopyCondition, ...] = (
    *map(OfThisCore, _SIDES),
    *map(Within, _SIDES),
    *map(Directed, _SIDES),
    TargetWritable(),
)
ONE = CopyForm(
    "one",
    shaped=False,
    conditions=(PlainIntegers(("size",)), HasBytes(), *_ENDS, SidesApart(in_front=True), Grained()),
    steps=(SettlePipe(), MoveBytes(), steps.Count(), Traffic(), ChargeLine(), Remember()),
)
ROWS = CopyForm(
    "rows",
    shaped=True,
    conditions=(
        Unobserved(),
        PlainIntegers(("size", *STRIDES)),
        HasBytes(),
        Segments(),
        *_ENDS,
        SidesApart(in_front=False),
    ),
    steps=(SettlePipe(), steps.Count(), Traffic(), ChargeRows(), MoveRows()),
)
STARTED = CopyForm(
    "started",
    shaped=None,
    conditions=(HasBytes(), Segments(), *_ENDS, SidesApart(in_front=False)),
    steps=(StartFlight(), steps.Count(), Traffic(), Remember()),
)


def copy_of(row: "Intrinsic") -> Copy:
    """Return the step of the copy *row*."""
    waits = row.name == "memcpy"
    return Copy((ROWS, ONE) if waits else (STARTED,), asynchronous=not waits)
