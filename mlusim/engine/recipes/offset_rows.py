"""The recipes of rows with an operand at offsets: gathers, scatters, discrete atomics, repeated pieces.

Where such an operand lies is known when its offsets have been read, which blocking rows do behind the copies before them.
`engine.recipes.offset_code` renders these steps as Python; compiled code leaves the rows to that.
"""

from collections.abc import Iterator

from attrs import frozen

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import DType, uint32
from mlusim.engine.recipes import steps
from mlusim.isa.declare import Intrinsic, Offsets, Parameter
from mlusim.memory.space import GDRAM, NRAM, NRAM2NRAM, Direction, Space

# -- what is asked -----------------------------------------------------------------------------------


@frozen
class Arguments:
    """Put the arguments in the order of *names*; the operand *optional*, behind the first *front*, may be left out."""

    names: tuple[str, ...]
    optional: str | None
    front: int


@frozen
class DirectionOf:
    """The row's name, or the memory of *operand*, says which of *directions* it copies."""

    operand: str
    directions: tuple[Direction, ...]


# -- what is checked: each of these says what is wrong by itself ---------------------------------------


@frozen
class Positive:
    """The count *name* is 1 or more."""

    name: str


@frozen
class FitsInt:
    """The count *name* is an ``int`` of C."""

    name: str


@frozen
class PiecesApart:
    """No two pieces of a row of them, which is written, overlap."""


@frozen
class OneOf:
    """The direction is one of *directions*."""

    directions: tuple[Direction, ...]


@frozen
class Pointing:
    """*name* points into *space*, or (None) to its side of the direction; *unless* it is left out, or a number."""

    name: str
    space: Space | None
    unless: str = ""


@frozen
class Holding:
    """The elements of *name* are of one of *dtypes*; none: integers of any width."""

    name: str
    dtypes: tuple[DType, ...]


@frozen
class TypedAs:
    """The elements of *name* are of the type of *like*'s, where it is a pointer."""

    name: str
    like: str


@frozen
class Room:
    """The *extent* elements of *name* lie in its memory; *in_bytes*: each a byte."""

    name: str
    extent: str
    in_bytes: bool = False


@frozen
class Separate:
    """The vector *target* lies apart from *source*, or *exact*ly there."""

    target: str
    source: str
    exact: bool = False


@frozen
class ToWritable:
    """*name* is not const."""

    name: str


@frozen
class EachInside:
    """Each place in *name* has its bytes inside the memory; *at_offsets*: an offset is to blame, or a piece."""

    name: str
    at_offsets: bool


@frozen
class EachAligned:
    """Each place in *name* is that of an element."""

    name: str


@frozen
class RepeatsApart:
    """The pieces that are repeated, and how often, lie apart from what is written."""


Demanded = (
    Positive | FitsInt | PiecesApart | OneOf | Pointing | Holding | TypedAs | Room | Separate | ToWritable
    | EachInside | EachAligned | RepeatsApart
)  # fmt: skip


@frozen
class Demand:
    """All of *demanded* hold; the first that does not says why."""

    demanded: tuple[Demanded, ...]


# -- where it lies -----------------------------------------------------------------------------------


@frozen
class SettleDirection:
    """Complete the copies in flight on the pipe of the direction: a load of the offsets may be one of them."""


@frozen
class TakePart:
    """Read the offsets of the *count* elements that the mask lets take part."""

    count: str


@frozen
class PlacesAt:
    """Find the places of *name*, at the offsets."""

    name: str


@frozen
class PlacesInRow:
    """Find the places of *name*, one piece behind the other."""

    name: str


@frozen
class ReadRepeats:
    """Read how often each piece is repeated, and how many bytes that makes."""


@frozen
class ConstantFor:
    """Convert the scalar *name* to an element of *like*, as C does; a vector stays."""

    name: str
    like: str


# -- what is done ------------------------------------------------------------------------------------


@frozen
class AnnouncePlaces:
    """Tell the observers what is read and written, in the order of these parts, and what was *given*."""

    pipe: Pipe | None  # None: the direction's
    reads: tuple["Part", ...]
    writes: tuple["Part", ...]
    given: tuple[str, ...]
    waits: bool = True


@frozen
class ChosenOf:
    """The elements of the vector *name* that take part."""

    name: str
    each: bool = False  # one by one; else neighbours together


@frozen
class MaskOf:
    """The bits of the *count* elements, where there is a mask."""

    count: str


@frozen
class PiecesOf:
    """A piece at each place of *name*; *distinct*: each place once."""

    name: str
    distinct: bool = False


@frozen
class BytesOf:
    """The first *count* bytes of *name*."""

    name: str
    count: str


@frozen
class RepeatedOf:
    """The pieces that are repeated, each as often."""


@frozen
class RepeatsOf:
    """The pieces that the repetitions make."""


Part = ChosenOf | MaskOf | PiecesOf | BytesOf | RepeatedOf | RepeatsOf


@frozen
class MovePieces:
    """Move the pieces; one that does not *wait* flies and lands later."""

    waits: bool
    scatters: bool


@frozen
class UpdatePlaces:
    """Call the row's body with the elements at the places, each place once in a round."""


@frozen
class RepeatPieces:
    """Write each piece of src as often as its number of repetitions says."""


@frozen
class ChargePieces:
    """Bytes and transactions of pieces at places of their own; those in flight are in the core's log."""

    waits: bool


@frozen
class ChargePlaces:
    """Transactions of an atomic at each place."""


@frozen
class ChargeRepeats:
    """Lines of the vector unit."""


@frozen
class SpinPlaces:
    """Others may spin on what the atomics changed, or did not: let them run."""


OffsetStep = (
    Arguments | DirectionOf | Demand | SettleDirection | TakePart | PlacesAt | PlacesInRow | ReadRepeats | ConstantFor
    | AnnouncePlaces | MovePieces | UpdatePlaces | RepeatPieces | ChargePieces | ChargePlaces | ChargeRepeats | SpinPlaces
)  # fmt: skip


# -- the recipes ---------------------------------------------------------------------------------------


def offset_steps(row: Intrinsic) -> "Iterator[steps.Step | OffsetStep]":
    """Return the steps of *row*, some operand of which lies where data say."""
    if row.offsets is None:
        return _repeating(row)
    return _updating(row) if row.atomic else _moving(row, row.offsets)


def _arguments(row: Intrinsic) -> Arguments:
    """Return the arguments of *row* by their names: those in C's forms behind the ones that all forms have."""
    front = [p.name for p in row.given if p.kind != "rest"]
    forms = next((p.c for p in row.given if p.kind == "rest"), None) or ("",)
    # The longer form has the mask.
    named = sorted(
        ([part.split()[-1].lstrip("*") for part in form.split(",") if part] for form in forms), key=len
    )
    optional = next((name for name in named[-1] if name not in named[0]), None)
    return Arguments((*front, *named[-1]), optional, len(front))


def _counts(*names: str) -> steps.Integers:
    return steps.Integers(tuple(Parameter(name, "count") for name in names), padded=False)


def _mask(names: tuple[str, ...]) -> tuple[Pointing, ...]:
    return (Pointing("bitmask", NRAM, "is None"),) if "bitmask" in names else ()


def _moving(row: Intrinsic, at: Offsets) -> "Iterator[steps.Step | OffsetStep]":
    """Yield the steps of a gather or a scatter."""
    given = _arguments(row)
    scatters = at.operand == "dst"
    inline = "src" if scatters else "dst"
    yield given
    if "direction" not in given.names:
        yield DirectionOf("src", at.directions)
    yield _counts("size", "stride", "count")
    yield Demand(
        (
            *(Positive(name) for name in ("size", "count")),
            *(FitsInt(name) for name in ("size", "stride", "count")),
            *(() if scatters else (PiecesApart(),)),  # pieces that are only read may meet
            OneOf(at.directions),
            *(Pointing(name, None) for name in ("dst", "src")),
            Pointing("offset", NRAM),
            *_mask(given.names),
            Holding("offset", (uint32,)),
            Room("offset", "count"),
        )
    )
    if at.waits:
        yield SettleDirection()
    yield TakePart("count")
    yield PlacesAt(at.operand)
    yield PlacesInRow(inline)
    yield Demand((EachInside(at.operand, True), EachInside(inline, False), ToWritable("dst")))
    asked = ("dst", "src", "offset", "bitmask", "size", "direction", "stride", "count")
    reads = (ChosenOf("offset"), MaskOf("count"), PiecesOf("src"))
    yield AnnouncePlaces(None, reads, (PiecesOf("dst"),), asked, at.waits)
    yield MovePieces(at.waits, scatters)
    if at.waits:
        yield steps.Retire(False)
    yield ChargePieces(at.waits)
    yield steps.Count()


def _updating(row: Intrinsic) -> "Iterator[steps.Step | OffsetStep]":
    """Yield the steps of a discrete atomic."""
    given = _arguments(row)
    count = given.names[-1]
    yield given
    yield _counts(count)
    yield Demand(
        (
            Positive(count),
            Pointing("dst", NRAM),
            Pointing("base", GDRAM),
            Pointing("offset", NRAM),
            Pointing("src", NRAM, "number"),
            *_mask(given.names),
            ToWritable("base"),
            Holding("base", row.elements),
            TypedAs("dst", "base"),
            TypedAs("src", "base"),
            Holding("offset", ()),
            Room("dst", count),
            Room("offset", count),
            Separate("dst", "offset"),
            Room("src", count),
            Separate("dst", "src", exact=True),
        )
    )
    yield steps.Settle(Pipe.IO)
    yield TakePart(count)
    yield PlacesAt("base")
    yield Demand((EachInside("base", True), EachAligned("base")))
    yield ConstantFor("src", "base")
    updates = PiecesOf("base", distinct=True)
    reads = (ChosenOf("offset"), MaskOf(count), ChosenOf("src"), updates)
    yield AnnouncePlaces(Pipe.IO, reads, (updates, ChosenOf("dst", each=True)), given.names)
    yield UpdatePlaces()
    yield steps.Retire(False)
    yield ChargePlaces()
    yield steps.Count()
    yield SpinPlaces()


def _repeating(row: Intrinsic) -> "Iterator[steps.Step | OffsetStep]":
    """Yield the steps of pieces that are repeated as often as a vector of bytes says."""
    yield _counts("size", "count")
    operands = ("dst", "src", "repeats")
    yield Demand(
        (
            Positive("size"),
            Positive("count"),
            OneOf((NRAM2NRAM,)),
            *(Pointing(name, NRAM) for name in operands),
            Room("src", "count * size", in_bytes=True),
            Room("repeats", "count", in_bytes=True),
        )
    )
    yield ReadRepeats()
    yield Demand((Room("dst", "wide", in_bytes=True), RepeatsApart()))
    given = tuple(p.name for p in row.given)
    yield AnnouncePlaces(Pipe.VECTOR, (BytesOf("repeats", "count"), RepeatedOf()), (RepeatsOf(),), given)
    yield RepeatPieces()
    yield steps.Retire(False)
    yield ChargeRepeats()
    yield steps.Count()
