"""The pieces of a function: its statements and its loop steps; `pieces_of` makes those of a Python function.

`why` follows a kernel by its pieces: which piece wrote a variable, from which values, and which condition led there.
A piece begins at certain Python instructions, by which a run records that it has reached the piece.
"""

import ast
import dis
import functools
import linecache
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import CodeType
from typing import Any

from attrs import define, field, frozen

LOCAL, POINTEE, CALLED, BUILT_IN = "local", "pointee", "called", "built-in"
RETURNED = "return"
"""The name for a function's result."""
Values = Callable[[str], Any]
"""A function that returns the value of a local by its name in the code."""
Place = tuple[int, int, int, int]  # line, column, end line, end column; all count from 1


@frozen
class Read:
    """A value that a piece reads: a local, the target of a local pointer, or the result of a call.

    ``name`` is the local's name in the code, ``text`` its spelling in the source.  ``path`` are the members and
    elements after the name; ``[]`` is an element whose index ``at`` computes.  ``given`` are the reads of a call's
    arguments, if the call is not followed.  ``char`` is true of a C char, which is shown with its letter.
    """

    kind: str
    name: str
    text: str
    path: tuple[str, ...] = ()
    given: "Reads" = ()
    at: "Callable[[Values], Any] | None" = None
    char: bool = field(default=False, eq=False)

    @property
    def key(self) -> str:
        """The name under which a trail records its value."""
        return f"*{self.name}" if self.kind == POINTEE else self.name


def spelled(name: str, path: Iterable[str]) -> str:
    """Return a name followed by members and elements, in the syntax of the source."""
    return name + "".join(part if part.startswith("[") else f".{part}" for part in path)


@frozen
class ReadChoice:
    """The reads of a ``?:``, which evaluates one side; ``decide`` computes the condition from the values of locals, None if it cannot."""

    text: str
    test: "tuple[Read | ReadChoice, ...]"
    then: "tuple[Read | ReadChoice, ...]"
    other: "tuple[Read | ReadChoice, ...]"
    decide: Callable[[Values], bool | None]


Reads = tuple[Read | ReadChoice, ...]


@frozen
class Store:
    """A write of a piece: to the local ``name``, or with ``through`` to the target of that pointer; its value depends on ``reads``.

    An empty name stands for memory.  ``unset`` marks a declaration without a value.  ``target`` is the variable whose
    address is stored, if there is one.
    """

    name: str
    reads: Reads
    path: tuple[str, ...] = ()
    through: bool = False
    unset: bool = False
    target: Read | None = None


@frozen
class CallSite:
    """A call of a function of the source; ``given`` has each argument's text, its reads, and the variable whose address it is."""

    name: str
    text: str
    given: "tuple[tuple[str, Reads, Read | None], ...]"


@frozen
class Test:
    """The condition of a statement; ``text`` is its source."""

    text: str
    reads: Reads


@define(eq=False)
class SourcePiece:
    """A statement, without those nested in it, or the step of a loop.

    ``role`` is the outcome of the ``parent``'s condition with which control reaches it.  ``guards`` are earlier
    statements that would have jumped past it with another outcome.  ``several`` marks a switch.
    """

    place: Place
    text: str
    parent: "SourcePiece | None" = None
    role: str = ""
    test: Test | None = None
    stores: list[Store] = field(factory=list)
    calls: list[CallSite] = field(factory=list)
    values: Reads = ()
    step: bool = False
    guards: "tuple[SourcePiece, ...]" = ()
    several: bool = False

    @property
    def line(self) -> int:
        """The line at which it begins."""
        return self.place[0]

    def holds(self, place: Place) -> bool:
        """Return whether *place* is within the piece, including nested ones."""
        return self.place[:2] <= place[:2] and place[2:] <= self.place[2:]

    @property
    def names(self) -> Iterator[str]:
        """The locals to which it writes."""
        return (store.name for store in self.stores if store.name and not store.through)


@define(eq=False)
class FunctionPieces:
    """The pieces of the function with the code ``code``; ``named`` maps its locals to their names in the source.

    ``watched`` are the locals that can change without being named, through an address or as members.  ``leading`` are
    pointers and references: the values of their targets are recorded, too, under the local's name with a star before
    it.
    """

    code: CodeType
    pieces: list[SourcePiece]
    parameters: tuple[str, ...]
    named: Mapping[str, str]
    watched: tuple[str, ...] = ()
    leading: tuple[str, ...] = ()

    @cached_property
    def looked_at(self) -> tuple[tuple[str, str], ...]:
        """The locals whose values are recorded after every statement, each with the name under which its value is recorded."""
        return (
            *((n, n) for n in self.watched if n not in self.leading),
            *((n, f"*{n}") for n in self.leading),
        )

    @cached_property
    def begins(self) -> dict[int, tuple[SourcePiece, bool]]:
        """The piece that begins at each instruction, by offset; True if that is a new beginning even directly after the same piece."""
        rows = self._by_line()
        innermost: dict[Place, SourcePiece | None] = {}
        beginnings: dict[int, tuple[SourcePiece, bool]] = {}
        seen: set[int] = set()
        last: SourcePiece | None = None
        instructions = list(dis.get_instructions(self.code))
        back = {
            i.argval
            for i in instructions
            if "JUMP" in i.opname and isinstance(i.argval, int) and i.argval <= i.offset
        }
        for instruction in instructions:
            place = _place(instruction.positions)
            if place is None or instruction.opname in ("RESUME", "NOP"):
                continue
            if place not in innermost:
                innermost[place] = min(
                    (p for p in rows.get(place[0], ()) if p.holds(place)), key=_extent, default=None
                )
            piece = innermost[place]
            if piece is None:
                continue
            again = instruction.offset in back
            if piece is not last or again:
                beginnings[instruction.offset] = piece, again or id(piece) not in seen
                seen.add(id(piece))
            last = piece
        return beginnings

    def _by_line(self) -> dict[int, list[SourcePiece]]:
        rows: dict[int, list[SourcePiece]] = {}
        for piece in self.pieces:
            for line in range(piece.place[0], piece.place[2] + 1):
                rows.setdefault(line, []).append(piece)
        return rows


def _place(positions: dis.Positions | None) -> Place | None:
    """Return the source range of an instruction, with columns from 1; None if it has none."""
    if positions is None or positions.lineno is None:
        return None
    line, column = positions.lineno, positions.col_offset
    if column is None:  # Python was started without columns (-X no_debug_ranges)
        return line, 1, line, 1
    return line, column + 1, positions.end_lineno or line, (positions.end_col_offset or column) + 1


def _extent(piece: SourcePiece) -> tuple[int, int]:
    line, column, end_line, end_column = piece.place
    return end_line - line, end_column - column


def merged(pieces: list[SourcePiece]) -> list[SourcePiece]:
    """Return *pieces* with those at the same place joined: all statements of a macro are at the place of its use."""
    by_place: dict[Place, SourcePiece] = {}
    for piece in pieces:
        first = by_place.setdefault(piece.place, piece)
        if first is not piece:
            first.stores += piece.stores
            first.calls += piece.calls
            first.values += piece.values
    return list(by_place.values())


def reads_in(reads: Reads, held: Values) -> Iterator[Read]:
    """Yield those of *reads* that were evaluated, given the values of locals in *held*; if a choice is undecided, both sides."""
    for read in reads:
        if isinstance(read, Read):
            yield read
            continue
        outcome = read.decide(held)
        yield from reads_in(read.test, held)
        if outcome is not False:
            yield from reads_in(read.then, held)
        if outcome is not True:
            yield from reads_in(read.other, held)


LONGEST = 72  # characters of a statement's text


def pieces_of(code: CodeType) -> FunctionPieces | None:
    """Return the pieces of the function whose code is *code*; None if there is no source for it."""
    tree = _parsed(code.co_filename, "".join(linecache.getlines(code.co_filename)))
    function = next((n for n in ast.walk(tree) if _is(n, code)), None) if tree is not None else None
    if not isinstance(function, ast.FunctionDef):
        return None
    names = (*code.co_varnames, *code.co_cellvars)
    builder = _Builder(frozenset(names))
    builder.statements(function.body, None, "")
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return FunctionPieces(code, builder.pieces, parameters, {name: name for name in names})


@functools.lru_cache(maxsize=16)
def _parsed(file: str, text: str) -> ast.Module | None:
    try:
        return ast.parse(text, file)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _is(node: ast.AST, code: CodeType) -> bool:
    """Return whether *code* was compiled from the definition *node*."""
    if not isinstance(node, ast.FunctionDef) or node.name != code.co_name:
        return False
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return first == code.co_firstlineno


@define
class _Builder:
    """Makes the pieces of statements; ``names`` are the function's locals."""

    names: frozenset[str]
    pieces: list[SourcePiece] = field(factory=list)

    def statements(self, body: Iterable[ast.stmt], parent: SourcePiece | None, role: str) -> None:
        """Add the pieces of *body*, which runs if the condition of *parent* has the outcome *role*."""
        guards: tuple[SourcePiece, ...] = ()
        for node in body:
            piece = self._statement(node, parent, role)
            piece.guards = guards
            if isinstance(node, ast.If) and (_jumps(node.body) or _jumps(node.orelse)):
                guards = (*guards, piece)

    def _statement(self, node: ast.stmt, parent: SourcePiece | None, role: str) -> SourcePiece:
        piece = self._piece(node, parent, role)
        if isinstance(node, ast.If | ast.While):
            piece.test = Test(ast.unparse(node.test), self._reads(node.test))
            self.statements(node.body, piece, "true")
            self.statements(node.orelse, piece, "false" if isinstance(node, ast.If) else "")
        elif isinstance(node, ast.For):
            piece.test = Test(_text(node), self._reads(node.iter))
            self.statements(node.body, piece, "true")
            self.statements(node.orelse, piece, "")
        elif isinstance(node, ast.With | ast.Try):
            for name in ("body", "orelse", "finalbody"):
                self.statements(getattr(node, name, ()), parent, role)
        return piece

    def _piece(self, node: ast.stmt, parent: SourcePiece | None, role: str) -> SourcePiece:
        place = (
            node.lineno,
            node.col_offset + 1,
            node.end_lineno or node.lineno,
            (node.end_col_offset or 0) + 1,
        )
        piece = SourcePiece(place, _text(node), parent, role)
        parts = list(_own(node))
        reads = tuple(r for part in parts for r in self._reads(part))
        piece.values = reads
        for inner in (n for part in parts for n in ast.walk(part)):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store) and inner.id in self.names:
                old = self._name(inner.id) if isinstance(node, ast.AugAssign) else ()
                piece.stores.append(Store(inner.id, (*old, *reads)))
            elif isinstance(inner, ast.Subscript) and isinstance(inner.ctx, ast.Store):
                piece.stores.append(Store("", reads))
            elif isinstance(inner, ast.Call):
                arguments = tuple((ast.unparse(a), self._reads(a), None) for a in inner.args)
                name = inner.func.id if isinstance(inner.func, ast.Name) else getattr(inner.func, "attr", "")
                piece.calls.append(CallSite(name, ast.unparse(inner), arguments))
        if isinstance(node, ast.Return) and node.value is not None:
            piece.stores.append(Store(RETURNED, reads))
        self.pieces.append(piece)
        return piece

    def _reads(self, node: ast.AST) -> Reads:
        if isinstance(node, ast.Name):
            return self._name(node.id) if isinstance(node.ctx, ast.Load) and node.id in self.names else ()
        inner = tuple(r for child in ast.iter_child_nodes(node) for r in self._reads(child))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return (Read(CALLED, node.func.id, ast.unparse(node), given=inner),)
        return inner

    def _name(self, name: str) -> tuple[Read]:
        return (Read(LOCAL, name, name),)


def _jumps(body: Iterable[ast.stmt]) -> bool:
    """Return whether statements, or those of an ``if`` among them, jump out of the enclosing block."""
    return any(
        isinstance(node, ast.Break | ast.Continue | ast.Return | ast.Raise)
        or (isinstance(node, ast.If) and (_jumps(node.body) or _jumps(node.orelse)))
        for node in body
    )


def _own(node: ast.stmt) -> Iterator[ast.AST]:
    """Yield the expressions of a statement, without those of nested statements."""
    for name in ("targets", "target", "test", "iter", "value", "items", "exc"):
        parts = getattr(node, name, None)
        yield from parts if isinstance(parts, list) else () if parts is None else (parts,)


def _text(node: ast.stmt) -> str:
    """Return the text of a statement on one line, shortened if it is long; only the head of a compound statement."""
    text = " ".join(ast.unparse(node).splitlines()[0].split())
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
