"""The recipes of rows with an operand at offsets: gathers, scatters, discrete atomics, repeated pieces.

Where such an operand lies is known when its offsets have been read, which blocking rows do behind the copies before them.
`engine.recipes.offset_code` renders these steps as Python; compiled code leaves the rows to that.
"""

from collections.abc import Iterator

from attrs import frozen

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import uint32
from mlusim.engine.recipes import steps
from mlusim.isa.declare import Intrinsic, Offsets, Parameter
from mlusim.memory.space import NRAM2NRAM, Direction

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


# -- what is checked ---------------------------------------------------------------------------------


@frozen
class Demand:
    """All of *asked* hold: each is a call of a function of `engine.offsets` that returns what is wrong, or None; the first fault is raised."""

    asked: tuple[str, ...]


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
    """Tell the observers what is read and written, in the order of these calls of functions of `engine.offsets`, and what was *given*."""

    pipe: Pipe | None  # None: the direction's
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    given: tuple[str, ...]
    waits: bool = True


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


def _named(function: str, *names: str) -> Iterator[str]:
    """Yield a call of *function* about each of *names*, which are arguments of the row."""
    return (f"{function}({name!r}, {name})" for name in names)


def _pointing(space: str, *names: str) -> Iterator[str]:
    """Yield what asks whether each of *names* points into *space*."""
    return (f"misplaced(mlu, {name!r}, {name}, {space})" for name in names)


def _mask(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return what is asked of the mask, if it is among *names*, the arguments of the row."""
    asked = "bitmask is not None and misplaced(mlu, 'bitmask', bitmask, NRAM)"
    return (asked,) if "bitmask" in names else ()


def _asked_of_pieces(names: tuple[str, ...], at: Offsets, *, scatters: bool) -> Demand:
    return Demand(
        (
            *_named("not_positive", "size", "count"),
            *_named("no_int", "size", "stride", "count"),
            # Pieces that are only read may meet.
            *(() if scatters else ("pieces_meet(size, stride, count)",)),
            f"not_directed(direction, ({', '.join(map(str, at.directions))},))",
            *_pointing("direction.dst", "dst"),
            *_pointing("direction.src", "src"),
            *_pointing("NRAM", "offset"),
            *_mask(names),
            f"mistyped('offset', offset, ({uint32.name!r},))",
            "no_room(offset, 'offset', count)",
        )
    )


def _moving(row: "Intrinsic", at: "Offsets") -> "Iterator[steps.Step | OffsetStep]":
    """Yield the steps of a gather or a scatter."""
    given = _arguments(row)
    scatters = at.operand == "dst"
    inline = "src" if scatters else "dst"
    yield given
    if "direction" not in given.names:
        yield DirectionOf("src", at.directions)
    yield _counts("size", "stride", "count")
    yield _asked_of_pieces(given.names, at, scatters=scatters)
    if at.waits:
        yield SettleDirection()
    yield TakePart("count")
    yield PlacesAt(at.operand)
    yield PlacesInRow(inline)
    yield Demand(
        (
            f"outside({at.operand!r}, {at.operand}, at_{at.operand}, size, chosen, offset)",
            f"outside({inline!r}, {inline}, at_{inline}, size, chosen, None)",
            "not_writable(dst, 'dst')",
        )
    )
    asked = ("dst", "src", "offset", "bitmask", "size", "direction", "stride", "count")
    reads = ("*elements_of(offset, chosen)", "*mask_of(bitmask, count)", "*pieces_of(src, at_src, size)")
    yield AnnouncePlaces(None, reads, ("*pieces_of(dst, at_dst, size)",), asked, at.waits)
    yield MovePieces(at.waits, scatters)
    if at.waits:
        yield steps.Retire(False)
    yield ChargePieces(at.waits)
    yield steps.Count()


def _asked_of_atomics(row: Intrinsic, names: tuple[str, ...], count: str) -> Demand:
    return Demand(
        (
            *_named("not_positive", count),
            *_pointing("NRAM", "dst"),
            *_pointing("GDRAM", "base"),
            *_pointing("NRAM", "offset"),
            "isinstance(src, Ptr) and misplaced(mlu, 'src', src, NRAM)",
            *_mask(names),
            "not_writable(base, 'base')",
            f"mistyped('base', base, {tuple(d.name for d in row.elements)})",
            "unlike('dst', dst, 'base', base)",
            "unlike('src', src, 'base', base)",
            "no_integers('offset', offset)",
            f"no_room(dst, 'dst', {count})",
            f"no_room(offset, 'offset', {count})",
            f"meeting(dst, offset, 'offset', {count}, False)",
            f"no_room(src, 'src', {count})",
            f"meeting(dst, src, 'src', {count}, True)",
        )
    )


def _updating(row: "Intrinsic") -> "Iterator[steps.Step | OffsetStep]":
    """Yield the steps of a discrete atomic."""
    given = _arguments(row)
    count = given.names[-1]
    yield given
    yield _counts(count)
    yield _asked_of_atomics(row, given.names, count)
    yield steps.Settle(Pipe.IO)
    yield TakePart(count)
    yield PlacesAt("base")
    inside = "outside('base', base, at_base, base.view.itemsize, chosen, offset)"
    yield Demand((inside, "unaligned(base, at_base, chosen, offset)"))
    yield ConstantFor("src", "base")
    updates = "*distinct_of(base, at_base)"
    reads = (
        *("*elements_of(offset, chosen)", f"*mask_of(bitmask, {count})", "*elements_of(src, chosen)"),
        updates,
    )
    yield AnnouncePlaces(Pipe.IO, reads, (updates, "*each_of(dst, chosen)"), given.names)
    yield UpdatePlaces()
    yield steps.Retire(False)
    yield ChargePlaces()
    yield steps.Count()
    yield SpinPlaces()


def _repeating(row: "Intrinsic") -> "Iterator[steps.Step | OffsetStep]":
    """Yield the steps of pieces that are repeated as often as a vector of bytes says."""
    yield _counts("size", "count")
    yield Demand(
        (
            *_named("not_positive", "size", "count"),
            f"not_directed(direction, ({NRAM2NRAM},))",
            *_pointing("NRAM", "dst", "src", "repeats"),
            "no_room(src.cast('uint8'), 'src', count * size)",
            "no_room(repeats.cast('uint8'), 'repeats', count)",
        )
    )
    yield ReadRepeats()
    yield Demand(
        (
            "no_room(dst.cast('uint8'), 'dst', wide)",
            "repeats_meet(dst, wide, src, count * size, repeats, count)",
        )
    )
    reads = ("bytes_of(repeats, 0, count)", "*(bytes_of(src, i * size, size) for i in repeated(times))")
    writes = ("*(bytes_of(dst, n * size, size) for n in range(int(times.sum())))",)
    yield AnnouncePlaces(Pipe.VECTOR, reads, writes, tuple(p.name for p in row.given))
    yield RepeatPieces()
    yield steps.Retire(False)
    yield ChargeRepeats()
    yield steps.Count()
