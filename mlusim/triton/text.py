"""BANG C text during its generation: its lines, the blocks of NRAM and WRAM that they use, and the offset of each block.

A block is alive from the first line that names it to the last, and during the whole of a loop that does not
create it. A new block may take the place of one whose last use is in the same line. The resulting use of NRAM
is an estimate of this lowering, not of the vendor's compiler.
"""

import keyword
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count as numbers

from attrs import define, evolve, frozen

from mlusim.counted import counted
from mlusim.errors import MlusimError
from mlusim.machine.kernel import ESTIMATE
from mlusim.triton.ttir import SourceLine
from mlusim.triton.values import BYTES, Shape, Tile, bytes_of

NRAM, WRAM = "NRAM", "WRAM"


class OutOfRoom(MlusimError):
    """A kernel needs more memory than a core has; the message begins like that of the card's Triton launcher."""

    def __init__(self, memory: str, required: int, limit: int, detail: str) -> None:
        super().__init__(
            f"out of resource: {memory}, Required: {required}, Hardware limit: {limit}; {detail}"
        )
        self.memory, self.required, self.limit, self.detail = memory, required, limit, detail


@define
class TextLine:
    """A line of C; the block that it creates completely, and the blocks whose place that block may take."""

    text: str
    place: SourceLine | None
    depth: int
    makes: str = ""
    over: tuple[str, ...] = ()


@define
class Room:
    """The memory of a block; ``why`` is the operation that needs it."""

    bytes: int
    type: str
    memory: str
    why: str
    place: SourceLine | None
    first: int = -1
    last: int = -1
    offset: int = 0
    inside: str = ""  # the block in whose place it is


@frozen
class Held:
    """A block that is alive where the use of NRAM peaks: its bytes, its purpose, and the line of the kernel."""

    bytes: int
    why: str
    place: SourceLine | None


@frozen
class Written:
    """A kernel in BANG C: its text, the bytes of both memories, the blocks in NRAM at the peak, and remarks by line."""

    name: str
    text: str
    nram: int
    wram: int
    fullest: tuple[Held, ...]
    remarks: tuple[tuple[SourceLine | None, str], ...]
    notes: tuple[str, ...] = ()

    def comments(self, limit: int) -> Iterator[str]:
        """Yield the comments before the text: the use of NRAM (of *limit* bytes), and the remarks by line."""
        yield f"// {self.name}: {estimate_of(self.nram, limit)}"
        if self.fullest:
            yield f"// where NRAM is fullest it holds {self.told()}"
        for place, told in self.remarks:
            yield f"//{_at(place)} {told}"

    def over(self, memory: str, needed: int, limit: int) -> str:
        """Return a description of the *needed* bytes of *memory*, which exceed *limit*, and of how much smaller it would have to be."""
        # The size of a Triton block is a power of two.
        part = 1 << (-(-needed // limit) - 1).bit_length()
        close = (
            f"; within {BAND:.0%} of the limit, so that the vendor's compiler may fit it"
            if needed < limit * (1 + BAND)
            else ""
        )
        takes = f", chiefly of {self.told()}," if memory == NRAM else " of filters of matrices"
        return f"that is {ESTIMATE}{takes} and would fit at about 1/{part} of the size{close}"

    def told(self) -> str:
        """Return the blocks at the peak in words, the largest first."""
        more = len(self.fullest) - MOST_TOLD
        told = [
            f"{room.why} {counted(room.bytes, 'byte')}{_at(room.place)}" for room in self.fullest[:MOST_TOLD]
        ]
        return ", ".join([*told, *([f"and {more} more"] if more > 0 else [])])


MOST_TOLD = 6
BAND = 0.2
"""Relative uncertainty of the use of NRAM: this lowering differs from the formulas of a public library by up to a sixth [I]."""


def estimate_of(nram: int, limit: int) -> str:
    """Return the sentence that NRAM bytes and times are estimates; near the *limit*, that the vendor's compiler may not fit them."""
    told = f"{counted(nram, 'byte')} of NRAM and all times are {ESTIMATE}"
    close = f"; within {BAND:.0%} of the limit of {limit:,}, so that it may not fit there"
    return told + (close if nram > limit * (1 - BAND) else "")


_PROLOGUE = """\
#include <bang.h>
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define MOST(a, b) ((a) > (b) ? (a) : (b))
#define WITHIN(x, a, b) ((x) < (a) ? (a) : (x) > (b) ? (b) : (x))
"""
GUARD = "  if (__is_mpu()) return;"
"""A program is a task of an IPU core; the memory core of a cluster runs the body of a Union kernel too, and returns."""
TAKEN = frozenset(
    [
        "auto",
        "bool",
        "break",
        "case",
        "char",
        "class",
        "const",
        "continue",
        "default",
        "delete",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "false",
        "float",
        "for",
        "goto",
        "half",
        "if",
        "inline",
        "int",
        "long",
        "namespace",
        "new",
        "operator",
        "private",
        "public",
        "register",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "template",
        "this",
        "true",
        "typedef",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
        "while",
        "nram",
        "wram",
        "coreId",
        "clusterId",
        "taskId",
        "taskDim",
        "taskIdX",
        "taskIdY",
        "taskIdZ",
        "taskDimX",
        "taskDimY",
        "taskDimZ",
        "LEAST",
        "MOST",
        "WITHIN",
        "NAN",
        "INFINITY",
    ]
)


class KernelText:
    """Collects the text of a kernel."""

    def __init__(self, parameters: Iterable[str], results: Iterable[str] = ()) -> None:
        # Triton also gives names to values on the way to a variable; the last of these values keeps the name.
        self._last = {_stem(word): word for word in results}
        self.place: SourceLine | None = None  # of the current operation
        self.remarks: list[tuple[SourceLine | None, str]] = []
        self.notes: list[tuple[SourceLine | None, str]] = []  # the remarks that are shown by default
        self._lines: list[TextLine] = []
        self._rooms: dict[str, Room] = {}
        self._loops: list[tuple[int, int]] = []
        self._depth = 0
        self._names = set(parameters) | TAKEN
        self._numbers = numbers(1)

    # -- writing ---------------------------------------------------------------------------------------

    def line(self, text: str, makes: str = "", over: Sequence[str] = ()) -> None:
        """Write *text*, which creates block *makes* completely, possibly in the place of one of the blocks *over*."""
        self._lines.append(TextLine(text, self.place, self._depth, makes, tuple(over)))

    def name(self, word: str) -> str:
        """Return an unused C name that begins with *word*."""
        stem = _stem(word)
        stem = stem if self._last.get(stem, word) == word else f"{stem}_part"
        stem = stem if stem.isidentifier() and not keyword.iskeyword(stem) else f"t_{stem}".rstrip("_")
        name = stem
        while name in self._names:
            name = f"{stem}_{next(self._numbers)}"
        self._names.add(name)
        return name

    def variable(self, expression: str, kind: str = "int", word: str = "n") -> str:
        """Return the name of a variable for *expression*; a name or a number is returned unchanged."""
        if re.fullmatch(r"\w+", expression):
            return expression
        name = self.name(word)
        self.line(f"{kind} {name} = {expression};")
        return name

    def block(
        self, kind: str, shape: Shape, why: str, *, word: str = "t", memory: str = NRAM, logic: bool = False
    ) -> Tile:
        """Return a new block; *why* is its purpose."""
        name = self.name(word)
        self._rooms[name] = Room(bytes_of(kind, shape), kind, memory, why, self.place)
        return Tile(name, kind, shape, shape, logic)

    def blocks(self, memory: str = "") -> frozenset[str]:
        """Return the names of all blocks so far, of one *memory* or of both."""
        return frozenset(name for name, room in self._rooms.items() if memory in ("", room.memory))

    def doubled(self, name: str) -> tuple[str, int]:
        """Double block *name*; return the name of the doubled block, and the offset of its second copy in elements.

        Afterwards *name* is no block any more: the text declares a pointer of this name.
        """
        room = self._rooms.pop(name)
        both = self.name(f"{name}_both")
        self._rooms[both] = evolve(room, bytes=2 * room.bytes, why=f"{room.why}, two copies")
        return both, room.bytes // BYTES[room.type]

    def placeholder(self) -> TextLine:
        """Write a line whose text is filled in later; if it stays empty, it is omitted."""
        self.line("")
        return self._lines[-1]

    def note(self, text: str) -> None:
        """Add *text* as a note for the user about the current line."""
        self.notes.append((self.place, text))
        self.remark(text)

    def remark(self, text: str) -> None:
        """Add *text* as a remark about the current line, once."""
        if (self.place, text) not in self.remarks:
            self.remarks.append((self.place, text))

    @contextmanager
    def inside(self, head: str, *, loop: bool = False) -> Iterator[None]:
        """Write the following lines in a block after *head*, between ``{`` and ``}``."""
        first = len(self._lines)
        self.line(f"{head} {{")
        self._depth += 1
        yield
        self._depth -= 1
        self.line("}")
        if loop:
            self._loops.append((first, len(self._lines) - 1))

    # Branches are not loops: a block created in one stays alive after it as long as it is named.
    def otherwise(self) -> None:
        """Continue in the else branch of the block opened by `inside`."""
        self._depth -= 1
        self.line("} else {")
        self._depth += 1

    # -- the end ---------------------------------------------------------------------------------------

    def written(self, name: str, parameters: Sequence[tuple[str, str]], limits: Mapping[str, int]) -> Written:
        """Return the finished kernel *name* with *parameters*, each a C type and a name.

        Raises `OutOfRoom` if it needs more than *limits* (bytes by memory).
        """
        self._live()
        self._share()
        used = {memory: self._arrange(memory) for memory in (NRAM, WRAM)}
        fullest = self._fullest()
        notes = tuple(
            text if place is None else f"{place.file}:{place.line}: {text}" for place, text in self.notes
        )
        done = Written(name, "", used[NRAM], used[WRAM], fullest, tuple(self.remarks), notes)
        for memory, needed in used.items():
            if needed > limits[memory]:
                raise OutOfRoom(memory, needed, limits[memory], done.over(memory, needed, limits[memory]))
        arrays = [f"__nram__ char nram[{max(used[NRAM], 128)}];"]
        arrays += [f"__wram__ char wram[{used[WRAM]}];"] if used[WRAM] else []
        formals = ", ".join(
            f"{kind} {word}" if not kind.endswith("*") else f"{kind}{word}" for kind, word in parameters
        )
        head = [f"__mlu_global__ void {name}({formals}) {{", GUARD, *self._declarations()]
        # Remarks that belong to no line of the body are attached to the line of the function.
        around = [line for text in (*arrays, *head) for line in self._at_place(text)]
        body = [*self._numbered(), *self._at_place("}")]
        text = "\n".join([*done.comments(limits[NRAM]), _PROLOGUE, *around, *body, ""])
        return evolve(done, text=text)

    def _at_place(self, text: str) -> list[str]:
        return [text] if self.place is None else [_directive(self.place), text]

    def _declarations(self) -> Iterator[str]:
        for name, room in self._rooms.items():
            if room.first >= 0:
                array = f"{room.memory.lower()} + {self._outer(name).offset}"
                yield f"  {room.type} *{name} = ({room.type} *)({array});"

    def _numbered(self) -> Iterator[str]:
        for line in filter(lambda line: line.text, self._lines):
            if line.place is not None:
                yield _directive(line.place)
            yield f"  {'  ' * line.depth}{line.text}"

    def _live(self) -> None:
        """Find the first and the last line that names each block."""
        # From the words in the text itself, so that no separate declaration can be forgotten.
        for number, line in enumerate(self._lines):
            for word in re.findall(r"\b[A-Za-z_]\w*\b", line.text):
                room = self._rooms.get(word)
                if room is not None:
                    room.first = number if room.first < 0 else room.first
                    room.last = number
        for room in self._rooms.values():
            # A block created before a loop and used in it is needed in every iteration.
            for begin, end in self._loops:
                if room.first < begin <= room.last <= end:
                    room.last = end
                # A block that a loop fills piece by piece and that is read after it must survive all
                # iterations.
                elif begin < room.first <= end < room.last:
                    room.first = begin

    def _share(self) -> None:
        """Let a block take the place of one whose last use is in the line that creates the new one."""
        for number, line in enumerate(self._lines):
            room = self._rooms.get(line.makes)
            if room is None or room.first != number or room.inside:
                continue
            # Only at its last use: a later reader would get the new values.
            for word in line.over:
                old = self._rooms.get(word)
                if old is None or old.last != number or old.first == number:
                    continue
                outer = self._outer(word)
                if room.bytes <= outer.bytes and room.memory == outer.memory and outer.last <= number:
                    room.inside = word
                    outer.last = max(outer.last, room.last)
                    break

    def _outer(self, name: str) -> Room:
        while self._rooms[name].inside:
            name = self._rooms[name].inside
        return self._rooms[name]

    def _arrange(self, memory: str) -> int:
        """Assign an offset to every block of *memory*, the largest first; return the total bytes."""
        # First fit by size: close to optimal for nested lifetimes, and deterministic.
        peak, laid = 0, list[Room]()
        rooms = [r for r in self._rooms.values() if r.memory == memory and r.first >= 0 and not r.inside]
        for room in sorted(rooms, key=lambda r: (-r.bytes, r.first)):
            offset = 0
            for other in sorted(
                (o for o in laid if o.first <= room.last and room.first <= o.last), key=lambda o: o.offset
            ):
                if offset + room.bytes <= other.offset:
                    break
                offset = max(offset, other.offset + other.bytes)
            room.offset = offset
            peak = max(peak, offset + room.bytes)
            laid.append(room)
        return peak

    def _fullest(self) -> tuple[Held, ...]:
        rooms = [r for r in self._rooms.values() if r.memory == NRAM and r.first >= 0 and not r.inside]
        moments = sorted({r.first for r in rooms})

        def at(moment: int) -> list[Room]:
            return [r for r in rooms if r.first <= moment <= r.last]

        moment = max(moments, key=lambda m: sum(r.bytes for r in at(m)), default=-1)
        return tuple(Held(r.bytes, r.why, r.place) for r in sorted(at(moment), key=lambda r: -r.bytes))


def _stem(word: str) -> str:
    """Return a TTIR name without its distinguishing number."""
    return re.sub(r"\W", "_", re.sub(r"(?:_\d+)?(?:#\d+)?$", "", word))


def _directive(place: SourceLine) -> str:
    name = place.file.replace("\\", "\\\\").replace('"', '\\"')
    return f'#line {place.line} "{name}"'


def _at(place: SourceLine | None) -> str:
    return "" if place is None else f" ({place.file.rsplit('/', 1)[-1]}:{place.line})"
