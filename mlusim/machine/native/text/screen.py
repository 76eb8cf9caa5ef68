"""A screen's part of a row's C door: whether its operands' bytes are initialized, which effects are pending, which memory is shared.

A screen is not a checker.  It runs the kernel in C and searches for anything that a checker might report; if there is
any, the launch is run again in Python, whose checkers report it (`machine.native.screen`).  The row itself declares,
for both engines, how its result depends on uninitialized bytes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from attrs import frozen

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import MEMORY_TYPES, DType
from mlusim.engine import values
from mlusim.isa.declare import Flow, Intrinsic, Operand
from mlusim.isa.reduce import BY_LINES, LINE
from mlusim.machine.native.text.templates import MODES, SUFFIX
from mlusim.machine.observed import Screened
from mlusim.machine.parts import APART, ELSEWHERE, MOVED
from mlusim.memory.space import GDRAM


class Suspicion(Exception):
    """Raised if a checker may have something to report about a run in C."""


HEAD = 64  # bytes before the flags of an allocation; the last of them says whether anything was stored
FLAG_LINE = 64  # bytes with one summary, which may say that all, or none, are initialized
ALL_HAVE, NONE_HAS, FLAGS_SAY = range(3)
"""The summaries of a line; with the first two its flags have no meaning."""
LISTS = "IO", "MOVE", "COMPUTE", "SCALAR", "STORES"
"""The lists of pending accesses of a core: in flight on two pipes, computed, accessed by scalar code, stored by it to shared memory."""

SPAN_LISTS, MOST_SPANS = len(LISTS), 256
SPAN_WORDS = SPAN_LISTS + SPAN_LISTS * MOST_SPANS * 4
MADE = 1 << 20  # larger than the numbers of tests of values: numbers for each row and rule
MIXED_ESCAPES = MADE - 1  # uninitialized bytes mixed by an instruction are stored to GDRAM
DECISIONS = MADE - 2  # a test depends on an uninitialized number
DECISIONS_LATE = 1 << 28  # and more: on one that a variable holds, loaded at the place of the number added
ESCAPES = MADE - 3  # uninitialized bytes are stored to GDRAM
MISPLACED = (
    ESCAPES - 2
)  # a scalar load, and next a store, that is misaligned or in memory without scalar access
ALONE = MISPLACED - (1 << 12)  # a barrier of the cluster in a Block task, by its row
MOST_AGAIN = 16  # tests of values whose further failures C counts by itself; a power of two
SPAN_HEAD = SPAN_WORDS + 3
SPAN_TYPES = SPAN_HEAD + 3 * MOST_AGAIN
SPAN_RECENT = SPAN_TYPES + 4 * values.MOST_TYPED
MOST_RECENT = 512  # a power of two
SPAN_BYTES = 8 * SPAN_RECENT + 32 * MOST_RECENT + 8
"""The space for pending accesses of a core, as `screen.h` lays it out: a number for each list, spans of four words, a row, two addresses; then
tests of values that have failed, with the place and the number of repetitions; the types that vectors wrote; and
recorded accesses to shared memory; and the place of the task among those that have begun, if C begins them."""

MOST_NOTED = 1 << 14  # operands of a core's events between two waits for all pipes
NOTED = np.dtype(
    [
        (name, "i8")
        for name in ("event", "site", "row", "how", "alloc", "low", "size", "more", "step", "rows", "far")
    ]
)
"""An operand of an event, as `screen.h` lays it out: ``more`` is -1 without distances, ``row`` is that of a scalar access."""
MOST_COMPARED = 64  # operands of a window that C compares with the previous one
WINDOW = np.dtype(
    [
        *((name, "i8") for name in ("many", "events", "met", "shared", "unclear")),
        *((name, "i8") for name in ("kept", "again")),
        ("noted", NOTED, MOST_NOTED),
        ("last", NOTED, MOST_COMPARED),
    ]
)
"""A core's events since it waited for all pipes, and whether two of them may be unordered.  On a core that is alone C keeps the last such window of
its task, with ``kept`` operands, and counts its repetitions in ``again``."""
HOW_READS, HOW_WRITES, HOW_FLIES, HOW_WAITS = 1, 2, 4, 8
HOW_PIPE, HOW_PLACE = 1 << 8, 1 << 16
"""The use of an operand: bits, plus the pipe of a copy and the operand's position in the row, multiplied by these factors; a wait has its flags in place of the pipe."""
WINDOW_MET, WINDOW_ENDS = 256, 512  # in addition to `Screened`: a window has an unordered event; it ends
STORES_CONST = 1024  # a store to memory that is only read
ESCAPED, MIXED_ESCAPED, DECIDED = 2048, 4096, 16384
"""Uninitialized bytes are stored to GDRAM; bytes of mixed lanes are stored, or loaded for a test; uninitialized bytes are loaded for a test."""
READ_FIRST = 8192  # a read of memory whose original bytes were not kept
SHARED_FULL = 32768  # no space for another row of `SHARED`

MOST_STORED = 1024  # places that store to partly uninitialized tensors; a power of two
WENT = np.dtype([("end", "i8"), ("number", "i8"), ("row", "i4"), ("segment", "i4")])
STORED = np.dtype([("key", "i8"), ("site", "i8"), ("last", WENT), ("furthest", WENT)])
"""The last store of a place to such a tensor, and the one that went furthest; without a row it is a scalar store."""
SHARED = np.dtype(
    [
        *((name, "i8") for name in ("low", "high", "time", "value")),
        *((name, "i4") for name in ("key", "segment", "site", "row", "kind", "pipe", "type", "how")),
    ]
)
"""An access to memory that tasks share, when each is recorded separately: its bytes, its position in the order of the launch, the bytes of a small store."""
TYPE_BYTES = -1  # a small store of copied bytes; ``type`` is one more than a scalar's element type, or 0
HOW_WORD, HOW_PENDING, HOW_UNCLEAR = 1, 2, 4
"""The effect of an atomic: on one word; with data of its core on its way to shared memory; or possibly so."""
MOST_LACKING, MOST_SOURCES, HOPS, MOST_ASKED = 64, 4, 12, 8
LACKING = np.dtype(
    [
        *((name, "u8") for name in ("low", "high")),
        ("number", "i8"),
        *((name, "i4") for name in ("site", "mixes", "clear", "itself", "many", "spare")),
        ("source", [("flags", "u8"), ("low", "i8"), ("bytes", "i8")], MOST_SOURCES),
    ]
)
"""The last write of a statement to a place on the chip that left bytes uninitialized: the addresses of their flags, and of the flags of its sources."""
STORES = np.dtype(
    [
        *((name, "i8") for name in ("stored", "number", "unclear", "alone")),
        *((name, "i8") for name in ("time", "pipe", "shared", "most", "many", "guessed", "far")),
        *((name, "i8") for name in ("mixes", "lacking", "writes", "odd", "turned", "decided")),
        *((name, "i8") for name in ("begun", "segments", "met", "most_met", "many_met")),
        ("lack", LACKING, MOST_LACKING),
        ("store", STORED, MOST_STORED),
        ("store_at", "i2", 2 * MOST_STORED),
    ]
)
"""All of them, for a launch, as `screen.h` lays them out: how many, the number of stores, whether some are unknown, and
whether a core begins its task when the previous one has ended.  Then the number of instructions that have accessed
shared memory, the pipe of the last, and the record of their accesses: the address of `SHARED`, its capacity, the
number of rows.  Then whether some byte with an uninitialized flag may be initialized, and whether uninitialized bytes
of a tensor were read; whether lanes were mixed with such bytes, the number of `LACKING` rows, the number of such
writes, whether some are unknown, whether an instruction that mixes lanes has not done so, and whether the number that is
being loaded is uninitialized and counted.  If C begins the tasks: the number that have begun, the number of segments, and the record of
tasks that begin and meet: its address, its capacity, the number of words."""

KEPT_PAGE = 1 << 12  # bytes of GDRAM copied together before a change, when tasks run at once
MOST_CONTEXTS, MOST_KEPT, MOST_TOUCHED, MOST_PIECES = 1024, 8192, 8192, 8  # the first three are powers of two

CONTEXT = np.dtype([("outer", "i4"), ("site", "i4"), ("function", "i4"), ("spare", "i4")])
"""A call of a function within another call, numbered from 1; the kernel itself is 0."""
KEPT = np.dtype(
    [*((n, "i4") for n in ("context", "local", "site", "spare")), ("first", "u8"), ("moved", "i8")]
)
"""A use of a pointer variable in a call: its first value, and the flags `MOVED`, `ELSEWHERE` and `APART` of `machine.parts`."""
TOUCHED = np.dtype(
    [
        *((name, "i4") for name in ("context", "site", "row", "given", "alloc", "kind", "many", "spare")),
        ("span", "i8", (MOST_PIECES, 2)),
    ]
)
"""Bytes accessed by an argument of a row at a place; for a scalar access row and argument are -1."""
HEAD_WORDS = 16
"""Words before the tables: the number of rows of each, and whether space was missing; `PART_WORDS` from `KNOWN` on."""
KNOWN = 4
PART_WORDS = "known", "first", "choices", "bytes", "alloc", "low", "size", "more", "step", "part"
"""For a launch that is repeated with known parts (`machine.parts.PartChoices`): the rows for which parts are known, and the
addresses of their choices and of the records of the memories' bytes by number; then a read of bytes that another part
wrote."""
PARTS = (("context", CONTEXT, MOST_CONTEXTS), ("keep", KEPT, MOST_KEPT), ("touch", TOUCHED, MOST_TOUCHED))
"""A core's tables about the parts of on-chip arrays, as `screen.h` lays them out after the head."""
PARTS_BYTES = 8 * HEAD_WORDS + sum((kind.itemsize + 4) * most for _, kind, most in PARTS)

MOST_CALLS, MOST_LEFT = 32, 64
LEAVING = np.dtype(
    [
        *((name, "i8") for name in ("calls", "many", "returned", "unclear")),
        ("call", "i4", MOST_CALLS),
        ("row", [(name, "i4") for name in ("number", "call", "outermost", "times")], MOST_LEFT),
    ]
)
"""A task's calls of functions that reach a barrier, of which the innermost is the last; how many rows there are of returns from them; one more than the
number of the return of its kernel; whether it has returned in another way, too."""


@frozen
class Returns:
    """The returns of a program's functions that may reach a barrier, and the calls of these, by C's numbers.

    A return has the function as `kernel_frames.function_of`, a call the name of the caller; both have the number of
    their place.
    """

    returns: Sequence[tuple[tuple[str, int, str], int]]
    calls: Sequence[tuple[str, int]]


CONSTANTS = (
    {f"SCREEN_{screened.name}": screened.value for screened in Screened}
    | {f"IN_{name}": number for number, name in enumerate(LISTS)}
    | {"HEAD_": HEAD, "FLAG_LINE": FLAG_LINE, "ALL_HAVE": ALL_HAVE, "NONE_HAS": NONE_HAS, "FLAGS_SAY": FLAGS_SAY, "LISTS": SPAN_LISTS, "MOST_SPANS": MOST_SPANS}
    | {
        "MOST_CALLS": MOST_CALLS, "MOST_LEFT": MOST_LEFT, "MOST_CONTEXTS": MOST_CONTEXTS, "MOST_KEPT": MOST_KEPT, "MOST_TOUCHED": MOST_TOUCHED, "MOST_PIECES": MOST_PIECES,
        "MOST_COMPARED": MOST_COMPARED, "MOST_STORED": MOST_STORED, "MOVED_": MOVED, "ELSEWHERE_": ELSEWHERE, "APART_": APART, "MOST_NOTED": MOST_NOTED,
        "WINDOW_MET": WINDOW_MET, "WINDOW_ENDS": WINDOW_ENDS, "STORES_CONST": STORES_CONST, "ESCAPED": ESCAPED, "MIXED_ESCAPED": MIXED_ESCAPED, "READ_FIRST": READ_FIRST, "SHARED_FULL": SHARED_FULL, "ESCAPES_": ESCAPES, "MIXED_ESCAPES_": MIXED_ESCAPES, "DECIDED": DECIDED, "DECISIONS_": DECISIONS, "DECISIONS_LATE_": DECISIONS_LATE,
        "MOST_LACKING": MOST_LACKING, "MOST_SOURCES": MOST_SOURCES, "HOPS_": HOPS, "MOST_ASKED": MOST_ASKED, "MISPLACED_": MISPLACED, "ALONE_": ALONE, "MOST_AGAIN": MOST_AGAIN, "MADE_": MADE, "RULES_": len(values.RULES), "MOST_TYPED": values.MOST_TYPED, "MOST_RECENT": MOST_RECENT, "SAMPLE": values.SAMPLE,
        "HOW_READS": HOW_READS, "HOW_WRITES": HOW_WRITES, "HOW_FLIES": HOW_FLIES, "HOW_WAITS": HOW_WAITS,
        "HOW_PIPE": HOW_PIPE, "HOW_PLACE": HOW_PLACE, "TYPE_BYTES": TYPE_BYTES,
        "HOW_WORD": HOW_WORD, "HOW_PENDING": HOW_PENDING, "HOW_UNCLEAR": HOW_UNCLEAR,
    }
)  # fmt: skip
"""The names of these structures in C."""


@frozen
class Footprint:
    """The bytes of an operand in C: pieces of ``extent`` bytes, ``more`` beyond the first at distances of ``step`` bytes.

    ``argument`` is the number of the argument; if ``shaped``, it has distances even with a single piece.
    """

    operand: Operand
    argument: int
    extent: str
    size: int
    more: str
    step: str
    shaped: bool = False
    dtype: DType | None = None

    @property
    def at(self) -> str:
        """Return its memory and its offset there, as a C name."""
        return f"a_{self.operand.name}"

    @property
    def whole(self) -> str:
        """Return the number of bytes from its first to its last."""
        return self.extent if self.more == "0" else f"({self.more} * {self.step} + {self.extent})"

    @property
    def reads(self) -> bool:
        """Return whether it is read."""
        return self.operand.access != "write"

    @property
    def writes(self) -> bool:
        """Return whether it is written."""
        return self.operand.access != "read"

    @property
    def exact(self) -> bool:
        """Return whether every byte of its pieces is written."""
        return not self.operand.partial

    @property
    def changes_some(self) -> bool:
        """Return whether the data decide which of its bytes are written."""
        return self.writes and not self.exact


def before(row: Intrinsic, number: int, spans: Sequence[Footprint], *, asked: bool) -> Iterator[str]:
    """Render the lines before the bytes change, for the row *number*, whose body is *asked* for the result of uninitialized bytes."""
    if not spans:
        return
    if row.form in ("load", "store"):
        for span in spans:
            kind = "WRITES_" if span.writes else "READS_"
            yield f"  element_(m, {span.at}, {span.size}, {kind}, site);"
            yield f"  accesses_(m, {span.at}, {span.size}, {kind}, {MEMORY_TYPES.index(span.dtype)}, site);"
        return
    operands = _operands(sorted(enumerate(spans), key=lambda pair: pair[1].argument))
    yield f"  if (HEARS(m)) operands_(m, {len(spans)}, {operands}, {number}, 0, site);"
    if any(space.shared for s in spans for space in s.operand.spaces):
        yield f"  begins_(m, {number}, {f'P_{row.pipe.name}' if row.pipe in (Pipe.IO, Pipe.MOVE) else 0});"
    yield from _in_order(row, spans)
    sources = [s for s in spans if s.reads]
    yield f"  const int lacks__ = {_lack(sources)};"
    if asked:
        yield f"  const int left__ = {_lack([s for s in spans if s.changes_some])};"
    elif sources and (row.returns != "None" or any(s.changes_some for s in spans)):
        yield "  if (UNLIKELY(lacks__)) suspect_(m, SCREEN_INIT, site);"


def _lack(spans: Sequence[Footprint]) -> str:
    """Render whether some bytes of the operands are uninitialized."""
    lacking = (
        f"lacks_({s.at}, {s.extent})"
        if s.more == "0"
        else f"lacks_rows_({s.at}, {s.extent}, {s.more}, {s.step})"
        for s in spans
    )
    return " | ".join(lacking) or "0"


def _operands(placed: Iterable[tuple[int, Footprint]]) -> str:
    """Render the operands, each with its position in the row."""
    operands = ", ".join(
        f"{{{s.at}, {s.extent}, {s.more}, {s.step}, {s.argument}, {int(s.reads)}, {int(s.writes)}, {place}, {int(s.shaped)}, {int(s.changes_some)}}}"
        for place, s in placed
    )
    return f"(Operand_[]){{{operands}}}"


def _in_order(row: Intrinsic, spans: Sequence[Footprint]) -> Iterator[str]:
    """Render the checks of the row's order with pending accesses, and its accesses to shared memory."""
    copies = row.pipe in (Pipe.IO, Pipe.MOVE)
    if row.pipe is Pipe.SCALAR:  # has no operands in memory
        yield "  suspect_(m, SCREEN_RACE, site);"
    for span in spans:
        kind = "READS_" if not span.writes else "CHANGES_" if row.atomic else "WRITES_"
        yield f"  {_user(row, span, kind)}"
        if copies and span.writes and span.reads and not row.atomic:
            yield f"  shares_rows_(m, {span.at}, {span.extent}, {span.more} + 1, {span.step}, READS_, site);"
        if copies and not span.exact:  # the data decide which bytes it changes
            yield f"  if (SHARED({span.at}.a->space)) suspect_(m, SCREEN_RACE, site);"
    if copies:
        yield f"  blocked_(m, P_{row.pipe.name});"
    for span in spans if row.atomic else ():
        if span.writes and any(space.shared for space in span.operand.spaces):
            yield f"  if (HEARS(m)) orders_(m, {span.at}.a->space, {span.extent} == {span.size});"


def beside(row: Intrinsic, spans: Sequence[Footprint]) -> Iterator[str]:
    """Render the lines that record off-chip accesses, before the bytes change, if several tasks run at once."""
    for span in spans:
        if GDRAM not in span.operand.spaces:
            continue
        for writes in (0,) * span.reads + (1,) * span.writes:
            if row.form in ("load", "store"):
                yield f"  touches_(m, {span.at}, {span.size}, {writes}, site);"
            else:
                yield f"  touches_rows_(m, {span.at}, {span.extent}, {span.more}, {span.step}, {writes}, site);"


def _user(row: Intrinsic, span: Footprint, kind: str) -> str:
    if row.pipe in (Pipe.IO, Pipe.MOVE):
        rows = f"{span.extent}, {span.more}, {span.step}"
        return f"blocks_(m, {span.at}, {rows}, {kind}, P_{row.pipe.name}, site);"
    return f"computes_(m, {span.at}, {span.whole}, {kind}, site);"


Settles = Callable[[Intrinsic, DType | None], bool]  # `mlusim.isa.table.settles`
_LANES = {Flow.LANEWISE: 1, Flow.REPEATING: 2}
_SETTLED = 3  # lane by lane, but a lane may be initialized anyway


def _lanes(row: Intrinsic, spans: Sequence[Footprint], settles: Settles) -> int:
    """Return how *row* propagates flags, as a constant for `flags_flow_`."""
    lanes = _LANES.get(row.flow, 0) * all(s.more == "0" for s in spans)
    alone = sum(s.writes for s in spans) == 1 and not settles(row, spans[0].dtype)
    return _SETTLED if lanes == 1 and not alone else lanes


def is_asked(row: Intrinsic, spans: Sequence[Footprint], settles: Settles) -> bool:
    """Return whether C tests the body of *row* with uninitialized bytes: no lane depends only on its own sources, or one *settles* the result."""
    return (
        row.form == "dense"
        and any(s.reads for s in spans)
        and (row.flow is not Flow.LANEWISE or settles(row, spans[0].dtype))
        and len(spans) <= MOST_ASKED
        and all(s.more == "0" for s in spans if s.changes_some or not s.writes)
        and not any(space.shared for s in spans for space in s.operand.spaces)
    )


def asking(
    row: Intrinsic, spans: Sequence[Footprint], types: Sequence[str], text: str, result: str
) -> Iterator[str]:
    """Render *text*, the body of *row*, so that uninitialized bytes cause a first run on copies of its operands of *types*, with several contents.

    A *result* that is not void must be the same each time; otherwise Python follows it.
    """
    many, operands = len(spans), _operands(enumerate(spans))
    names = [s.operand.name for s in spans]
    copies = "".join(
        f" {n} = ({t} *)(asked_.room[{k}] + asked_.begin);"
        for k, (n, t) in enumerate(zip(names, types, strict=True))
    )
    real = "".join(f" {n} = ({t} *)at(a_{n});" for n, t in zip(names, types, strict=True))
    partial = any(s.changes_some for s in spans)
    last = "UNCHANGED_" if partial else "CONTENTS_ - 1"
    every = partial or result != "void"  # whether each content needs copies
    line = LINE * (row.name in BY_LINES)
    text = _on_lines(text, names[0], last) if line else text
    yield f"  int content_ = {last} + 1;"
    if result != "void":
        yield f"  {result} first_ = 0; int depends_ = 0;"
    yield f"  if (UNLIKELY(lacks__ | left__)) {{ asks_(&asked_, {line}, {int(every)}, {many}, {operands}); content_ = 0; }}"
    yield "  for (;; content_++) {"
    yield f"    if (UNLIKELY(content_ <= {last})) {{ fills_(&asked_, {many}, {operands}, content_);{copies} }}"
    yield f"    {{ {text} }}"
    yield f"    if (LIKELY(content_ > {last})) break;"
    yield f"    takes_(&asked_, {many}, {operands}, content_);"
    if result != "void":
        yield "    if (content_ == 0) first_ = result; else depends_ |= memcmp(&first_, &result, sizeof result) != 0;"
    if partial:
        yield "    if (content_ == 0 && !lacks__) content_ = CONTENTS_ - 1; /* only what is left unchanged matters */"
    if every:
        yield f"    if (content_ == {last}) {{{real} }}"
    else:
        yield f"    if (content_ == asked_.last) {{{real} content_ = {last}; }}"
    yield "  }"
    if result != "void":
        yield "  if (UNLIKELY(depends_)) suspect_(m, SCREEN_INIT, site);"


def _on_lines(text: str, name: str, last: str) -> str:
    """Return *text* so that it runs on fewer elements of *name* on copies, for contents up to the *last*."""
    some = f"asked_.bytes / (int64_t)sizeof *{name}"
    return f"const int64_t many_ = content_ <= {last} ? {some} : elem_count; {{ const int64_t elem_count = many_; {text} }}"


def behind(row: Intrinsic, spans: Sequence[Footprint], settles: Settles) -> Iterator[str]:
    """Render the lines after the instruction: its result is initialized if all its sources are, or if one operand *settles* it."""
    if row.form in ("load", "store") or not spans:
        return
    sources = [s for s in spans if s.reads]
    if is_asked(row, spans, settles):
        answers = f"answers_(m, &asked_, {len(spans)}, {_operands(enumerate(spans))}, {int(row.flow is Flow.LANEWISE)}, site)"
        marks = "; ".join(_marks(s) for s in spans if s.writes and s.exact)
        yield f"  if (UNLIKELY(lacks__ | left__)) {answers}; else {{ {marks}; }}"
        return
    for span in (s for s in spans if s.writes):
        if not span.exact:
            yield f"  partly_given_(m, {span.at}, site);"
            continue
        marks = _marks(span)
        if not sources:
            yield f"  {marks};"
            continue
        pieces = ", ".join(f"{{{s.at}, {s.whole}, {s.size}}}" for s in sources)
        flow = f"flags_flow_(m, {_lanes(row, spans, settles)}, {len(sources)}, (Piece_[]){{{pieces}}}, (Piece_){{{span.at}, {span.whole}, {span.size}}}, site)"
        yield f"  if (UNLIKELY(lacks__)) {flow}; else {marks};"


def _marks(span: Footprint) -> str:
    """Render that all bytes of an operand are initialized."""
    if span.more == "0":
        return f"given_({span.at}, {span.extent})"
    return f"given_rows_(m, {span.at}, {span.extent}, {span.more}, {span.step})"


# -- changes of numbers by vectors: before the bytes change, and after ----------------------------------

_ONES = values.EXPONENTS


def _odd(span: Footprint) -> str:
    """Render whether some floats of an operand are not finite."""
    assert span.dtype is not None
    how = f"{span.size}, {_ONES[span.dtype.name]:#x}u"
    if span.more == "0":
        return f"odd_(at({span.at}), {span.extent}, {how})"
    return f"odd_rows_({span.at}, {span.extent}, {span.more}, {span.step}, {how})"


def _type(span: Footprint) -> str:
    """Render the size of the floats of an operand, the bits of their exponents, and the number of their type."""
    assert span.dtype is not None
    return f"{span.size}, {_ONES[span.dtype.name]:#x}u, {MEMORY_TYPES.index(span.dtype)}"


def _floats(spans: Sequence[Footprint]) -> tuple[list[Footprint], list[Footprint]]:
    """Return the float operands that are read, and those that are written."""
    floats = [s for s in spans if s.dtype is not None and s.dtype.kind == "float"]
    return [s for s in floats if s.reads], [s for s in floats if s.writes]


def _meets(source: Footprint, targets: Sequence[Footprint]) -> str:
    return " || ".join(f"overlap_({t.at}, {t.whole}, {source.at}, {source.whole})" for t in targets) or "0"


def numbers_before(
    row: Intrinsic, number: int, spans: Sequence[Footprint], floats: Sequence[str], *, returns: bool
) -> Iterator[str]:
    """Render the lines that check integers computed by a vector, or the floats that it may overwrite.

    *floats* are those among the arguments; with *returns* it returns one.
    """
    if not values.is_looked_at(row):
        return
    targets = [s for s in spans if s.writes]
    for s in _floats(spans)[0]:
        if s.more == "0":
            yield f"  if (VECTORS(m)) read_as_(m, {number}, {s.at}, {s.extent}, {_type(s)}, site);"
    if values.to_whole(row):
        yield from _saturates(row, number, spans)
    elif _is_whole(row, spans):
        yield from _wraps(row, number, spans, targets[0])
    elif values.makes_numbers(row) and (_floats(spans)[1] or returns):
        odd = [f"is_odd_({value})" for value in floats]
        odd += [f"(({_meets(s, targets)}) && {_odd(s)})" for s in _floats(spans)[0]] if targets else []
        yield f"  const int finite__ = VECTORS(m) && !({' || '.join(odd) or '0'});"


def numbers_behind(
    row: Intrinsic, number: int, spans: Sequence[Footprint], *, returns: bool
) -> Iterator[str]:
    """Render the lines that check the floats computed by a vector."""
    if not values.is_looked_at(row):
        return
    for s in spans:
        if s.writes and s.more == "0" and s.size > 1 and s.dtype is not None:
            how = s.size | 256 * (s.dtype.kind == "float")
            yield f"  if (VECTORS(m)) wrote_(m, {s.at}, {s.extent}, {MEMORY_TYPES.index(s.dtype)}, {how}, site);"
    sources, floats = _floats(spans)
    if not values.makes_numbers(row) or not (floats or returns) or _is_whole(row, spans):
        return
    targets = [s for s in spans if s.writes]
    late = "".join(f" && (({_meets(s, targets)}) || !{_odd(s)})" for s in sources)
    for position, t in enumerate(floats):
        told = f"not_finite_(m, {number}, {t.at}, {t.extent}, {t.more}, {t.step}, {_type(t)}, site)"
        other = "else " * (position > 0)
        yield f"  {other}if (finite__ && UNLIKELY({_odd(t)}){late}) {told};"
    if returns:
        yield f"  if (finite__ && UNLIKELY(is_odd_((double)result)){late}) returned_(m, {number}, (double)result, site);"


def _is_whole(row: Intrinsic, spans: Sequence[Footprint]) -> bool:
    """Return whether *row* computes signed integers, which are checked before the bytes change."""
    return (
        row.form == "dense"
        and values.is_ring(row)
        and [s.dtype.kind for s in spans if s.writes and s.dtype] == ["int"]
    )


def _wraps(row: Intrinsic, number: int, spans: Sequence[Footprint], target: Footprint) -> Iterator[str]:
    """Render a test of each element in a type that holds every result."""
    assert target.dtype is not None
    formula, names, repeats = values.in_c(row, {s.operand.name for s in spans})
    # 64 bits hold results of two 32-bit numbers, but not of three.
    wide = "__int128" if target.size > 4 or (formula is None and target.size == 4) else "int64_t"
    count = f"({target.extent}) / {target.size}"
    get = "".join(f" const {wide} {letter}_ = {text};" for letter, text in zip("abc", names, strict=False))
    op = "op" if formula is None else "0"
    told = f"wraps_(m, {number}, i, {', '.join(f'(int64_t){x}_' if n < len(names) else '0' for n, x in enumerate('abc'))}, {op}, {MEMORY_TYPES.index(target.dtype)}, site)"
    yield "  if (VECTORS(m)) {"
    yield f"    const int64_t n_ = {count}, m__ = {repeats or 'n_'};"
    for position, text in enumerate(values.FUSED_IN_C if formula is None else (formula,)):
        test = f"{get} const {wide} z_ = {text};"
        fits = f"z_ != (T_i{8 * target.dtype.size})z_"
        when = f"if (op == {position}) " if formula is None else ""
        yield f"    {when}{{ int bad_ = 0;"
        yield f"      for (int64_t k = 0; k < n_; k += m__) for (int64_t j = 0; j < m__; j++) {{ const int64_t i = k + j;{test} bad_ |= {fits}; }}"
        yield f"      if (UNLIKELY(bad_)) for (int64_t i = 0; i < n_; i++) {{ const int64_t j = i % m__; (void)j;{test} if ({fits}) {{ {told}; break; }} }} }}"
    yield "  }"


def _saturates(row: Intrinsic, number: int, spans: Sequence[Footprint]) -> Iterator[str]:
    """Render a test of each rounded float before its conversion to an integer saturates."""
    source, target = (next(s.dtype for s in spans if s.writes == writes) for writes in (False, True))
    assert source is not None
    assert target is not None
    value = f"scaled_((double)GET_{SUFFIX[source.name]}(src[i]), -pos)"
    to = SUFFIX[target.name]
    get = f"const double z_ = whole_({value}, {MODES[values.to_whole(row)]});"
    fits = f"(z_ >= LOW_{to} && z_ <= HIGH_{to})"
    told = f"saturates_(m, {number}, i, z_, {MEMORY_TYPES.index(target)}, site)"
    yield "  if (VECTORS(m)) { int bad_ = 0;"
    yield f"    for (int64_t i = 0; i < elem_count; i++) {{ {get} bad_ |= !{fits}; }}"
    yield f"    if (UNLIKELY(bad_)) for (int64_t i = 0; i < elem_count; i++) {{ {get} if (!{fits}) {{ {told}; break; }} }} }}"
