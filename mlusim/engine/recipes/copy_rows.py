"""The recipes of copies: the direction decides memories and pipe, the integers after it decide the form.

Both engines have code for each form.  The general copy (`engine.copies.strided_copy`) handles other legal copies, and
observed copies of several rows.  `engine.recipes.render` renders a form as Python, `machine.native.text.copies` as C.
"""

from typing import TYPE_CHECKING

from attrs import frozen

from mlusim.engine.recipes import actions

if TYPE_CHECKING:
    from mlusim.isa.declare import Intrinsic

MOST_SEGMENTS = 65535  # after the first one
STRIDES = ("dst_stride", "src_stride", "segnum")

# -- checks -------------------------------------------------------------------------------------------


@frozen
class PlainIntegers:
    """The arguments *names* are plain integers, like those of C."""

    names: tuple[str, ...]


@frozen
class Unobserved:
    """Nothing observes the copy; an observed copy is announced by the general copy."""


@frozen
class HasBytes:
    """The size is 1 byte or more."""


@frozen
class Segments:
    """The number of segments is within the limit, and no two segments of the destination overlap."""


@frozen
class OfThisCore:
    """The pointer *side* belongs to this core."""

    side: str


@frozen
class Within:
    """The bytes of *side*, from the first segment to the last, lie in its memory."""

    side: str


@frozen
class Directed:
    """*side* points into the memory that the direction names."""

    side: str


@frozen
class TargetWritable:
    """The destination is not const memory."""


@frozen
class SidesApart:
    """In one memory both sides are apart; with *in_front* the destination may begin at or before the source."""

    in_front: bool


@frozen
class Grained:
    """Addresses and size have the alignment that the direction requires."""


CopyCondition = (
    PlainIntegers | Unobserved | HasBytes | Segments | OfThisCore | Within | Directed | TargetWritable | SidesApart | Grained
)  # fmt: skip

# -- effects ------------------------------------------------------------------------------------------


@frozen
class SettlePipe:
    """First complete the copies in flight on the pipe of the direction."""


@frozen
class MoveBytes:
    """Announce the copy, and move the bytes of one segment."""


@frozen
class MoveRows:
    """Move the segments, as the last action: instructions right behind scattered stores may stall on the host."""


@frozen
class StartFlight:
    """Start the asynchronous segments, with their load of the pipe."""


@frozen
class ChargeLine:
    """Charge the pipe for one segment."""


@frozen
class ChargeRows:
    """Charge the pipe for all segments."""


@frozen
class Traffic:
    """Count the bytes by direction, and as read."""


@frozen
class Remember:
    """Record the source of the copy: repeated copies of the same bytes are polling."""


CopyAction = (
    SettlePipe | MoveBytes | MoveRows | StartFlight | ChargeLine | ChargeRows | Traffic | Remember | actions.Count
)  # fmt: skip


@frozen
class CopyForm:
    """One form of a copy: its directions, by their attribute in `engine.copies.Routes`, its checks and its effects.

    ``shaped``: whether the integers `STRIDES` follow the direction; None: optional. If a check fails, the
    general copy takes over, or the fault is reported if no general copy could handle the call.
    """

    lanes: str
    shaped: bool | None
    conditions: tuple[CopyCondition, ...]
    actions: tuple[CopyAction, ...]


@frozen
class Copy:
    """Copy in the form that the integers after the direction select; the general copy handles or refuses all other calls.

    The bytes of an *asynchronous* copy land later.
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
    actions=(SettlePipe(), MoveBytes(), actions.Count(), Traffic(), ChargeLine(), Remember()),
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
    actions=(SettlePipe(), actions.Count(), Traffic(), ChargeRows(), MoveRows()),
)
STARTED = CopyForm(
    "started",
    shaped=None,
    conditions=(HasBytes(), Segments(), *_ENDS, SidesApart(in_front=False)),
    actions=(StartFlight(), actions.Count(), Traffic(), Remember()),
)


def copy_of(row: "Intrinsic") -> Copy:
    """Return the recipe action of the copy *row*."""
    waits = row.name == "memcpy"
    return Copy((ROWS, ONE) if waits else (STARTED,), asynchronous=not waits)
