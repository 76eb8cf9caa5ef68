"""The pieces of a function of BANG C, from its intermediate form."""

import functools
import linecache
from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import Any

from attrs import define, field

from mlusim.bangc import ir, scalars, types as t
from mlusim.bangc.ir.walk import inner_names, parts_of, walk
from mlusim.debug.source.pieces import (
    BUILT_IN,
    CALLED,
    LOCAL,
    POINTEE,
    RETURNED,
    CallSite,
    FunctionPieces,
    Read,
    ReadChoice,
    Reads,
    SourcePiece,
    Store,
    Test,
    Values,
    merged,
    spelled,
)

LONGEST = 72  # characters of a statement's text
_CALLS = ir.Call | ir.Dispatch | ir.Invoke
_ALL_CALLS = _CALLS | ir.IntrinsicCall


def pieces_of(function: ir.Function, code: CodeType) -> FunctionPieces:
    """Return the pieces of *function*, whose code is *code*."""
    builder = _Builder(function.span.file)
    builder.statements(function.body, None, "")
    every = dict.fromkeys((*function.parameters, *function.locals))
    written = [v for v in every if v.source_name]
    return FunctionPieces(
        code,
        merged(builder.pieces),
        tuple(p.name for p in function.parameters),
        {v.name: v.source_name for v in written},
        # Those that a statement may change that does not name them, and those that may lead to another variable.
        tuple(v.name for v in written if v.storage is not ir.Storage.VALUE or isinstance(v.type, t.Struct)),
        tuple(
            v.name
            for v in written
            if isinstance(v.type, t.Pointer) and isinstance(v.type.to, t.Arithmetic | t.Struct)
        ),
    )


@define
class _Builder:
    """Makes the pieces of statements of one file."""

    file: str
    pieces: list[SourcePiece] = field(factory=list)

    def statements(
        self, body: Iterable[Any], parent: SourcePiece | None, role: str, guards: tuple[SourcePiece, ...] = ()
    ) -> None:
        """Add the pieces of *body*, which runs if the condition of *parent* has the outcome *role* and no statement of *guards* has jumped."""
        for node in body:
            piece = self._statement(node, parent, role, guards)
            if piece is not None and isinstance(node, ir.If) and (_jumps(node.then) or _jumps(node.other)):
                guards = (*guards, piece)

    def _statement(
        self, node: Any, parent: SourcePiece | None, role: str, guards: tuple[SourcePiece, ...]
    ) -> SourcePiece | None:
        if isinstance(node, ir.Block | ir.Labelled | ir.Finally):
            for part in parts_of(node):
                self.statements(part, parent, role, guards)
            return None
        piece = self._piece(node, parent, role)
        piece.guards = guards
        if isinstance(node, ir.If):
            piece.test = self._test(node.test)
            self.statements(node.then, piece, "true")
            self.statements(node.other, piece, "false")
        elif isinstance(node, ir.Loop):
            piece.test = None if node.test is None else self._test(node.test)
            self.statements(node.body, piece, "true")
            if node.step is not None:
                step = self._piece(ir.Evaluate(node.step, node.step.span), piece, "true")
                step.step = True
        elif isinstance(node, ir.Switch):
            piece.test, piece.several = self._test(node.value), True
            for section in node.sections:
                labels = [f"case {n}" for n in section.labels] + ["default"] * section.default
                self.statements(section.body, piece, " or ".join(labels))
        return piece

    def _test(self, node: ir.Expr) -> Test:
        return Test(text_of(node.span), self._reads(node))

    def _piece(self, node: Any, parent: SourcePiece | None, role: str) -> SourcePiece:
        parts = list(_own(node))
        piece = SourcePiece(tuple(node.span[1:]), text_of(node.span), parent, role)
        for inner in (n for part in parts for n in walk(part)):
            if isinstance(inner, ir.Assign | ir.Update):
                piece.stores.append(self._store(inner))
            elif isinstance(inner, _ALL_CALLS):
                arguments = tuple(
                    (text_of(a.span), self._reads(a), root_of(_address(a))) for a in inner.arguments
                )
                name = inner.row if isinstance(inner, ir.IntrinsicCall) else getattr(inner, "name", "")
                piece.calls.append(CallSite(name, text_of(inner.span), arguments))
        if isinstance(node, ir.Declare):
            value = node.value
            reads = () if value is None else self._reads(value)
            target = None if value is None else root_of(_address(value))
            piece.stores.append(Store(node.local.name, reads, unset=value is None, target=target))
        elif isinstance(node, ir.Return) and node.value is not None:
            piece.stores.append(Store(RETURNED, self._reads(node.value)))
        piece.values = tuple(r for part in parts for r in self._reads(part))
        if node.span.file == self.file:
            self.pieces.append(piece)
        return piece

    def _store(self, node: "ir.Assign | ir.Update") -> Store:
        root = root_of(node.place)
        reads = self._reads(node.value)
        if isinstance(node, ir.Update):
            reads = (*self._place_read(node.place), *reads)
        if root is None:
            return Store("", (*reads, *self._inside(node.place)))
        return Store(
            root.name, reads, root.path, through=root.kind == POINTEE, target=root_of(_address(node.value))
        )

    # -- what is read ------------------------------------------------------------------------------

    def _reads(self, node: Any) -> Reads:
        """Return the values that an expression reads, except targets of pointers, which are followed in memory."""
        if isinstance(node, ir.Load):
            return self._place_read(node.place)
        if isinstance(node, ir.Builtin):
            return (Read(BUILT_IN, node.name, node.name),)
        if isinstance(node, _CALLS):
            # The called function reads its arguments.
            return (Read(CALLED, getattr(node, "name", ""), text_of(node.span)),)
        if isinstance(node, ir.Conditional):
            sides = (self._reads(node.test), self._reads(node.then), self._reads(node.other))
            return (ReadChoice(text_of(node.test.span), *sides, _decider(node.test)),)
        if isinstance(node, ir.Update | ir.Assign):
            return (
                *(self._place_read(node.place) if isinstance(node, ir.Update) else ()),
                *self._reads(node.value),
            )
        return self._inside(node)

    def _inside(self, node: Any) -> Reads:
        if node.__class__ is tuple:
            return tuple(r for expression in node for r in self._reads(expression))
        names = inner_names(node.__class__)
        return tuple(r for name in names or () for r in self._reads(getattr(node, name)))

    def _place_read(self, place: Any) -> Reads:
        root = root_of(place)
        if root is None:
            return self._inside(place)
        kind = place.type
        if isinstance(kind, t.Pointer | t.Array) and not getattr(kind, "reference", False):
            return ()
        indices = tuple(r for index in _indices(place) for r in self._reads(index))
        return (*indices, root)


def _own(node: Any) -> Iterator[Any]:
    """Yield the expressions of a statement, without those of nested statements."""
    for name in ("test", "value"):
        value = getattr(node, name, None)
        if value is not None:
            yield value


def _jumps(body: Iterable[Any]) -> bool:
    """Return whether statements jump out of the enclosing block; a break of a loop or switch inside does not."""
    for node in body:
        if isinstance(node, ir.Break | ir.Continue | ir.Return | ir.Goto):
            return True
        inner = parts_of(node)
        if isinstance(node, ir.Loop | ir.Switch):
            if any(isinstance(one, ir.Return | ir.Goto) for one in walk(node)):
                return True
        elif any(_jumps(part) for part in inner):
            return True
    return False


def root_of(place: Any) -> Read | None:
    """Return the local, or the target of a local pointer, that contains *place*; None for other memory."""
    path: tuple[str, ...] = ()
    at, char = None, getattr(place, "type", None) in (t.INT8, t.UINT8)
    while True:
        pointer = place.pointer if isinstance(place, ir.Element) else None
        while isinstance(pointer, ir.Convert):
            pointer = pointer.value
        if isinstance(place, ir.Member):
            path, place = (place.name, *path), place.base
        elif isinstance(pointer, ir.AddressOf):
            constant = isinstance(place.index, ir.Const)
            at = at if constant else functools.partial(_value, place.index)
            path, place = (f"[{place.index.value}]" if constant else "[]", *path), pointer.place
        else:
            break
    if isinstance(place, ir.LocalStorage):
        local = place.local
        if local.storage is ir.Storage.MEMORY and any(part.startswith("[") for part in path):
            return None
        return Read(LOCAL, local.name, spelled(local.source_name or local.name, path), path, at=at, char=char)
    if isinstance(pointer, ir.Load) and isinstance(pointer.place, ir.LocalStorage):
        local = pointer.place.local
        name, kind = local.source_name or local.name, local.type
        if isinstance(kind, t.Pointer) and kind.reference:
            text = spelled(name, path)
        else:
            text = spelled(name, path).replace(".", "->", 1) if path else f"*{name}"
        return Read(POINTEE, local.name, text, path, at=at, char=char)
    return None


def _indices(place: Any) -> Iterator[ir.Expr]:
    """Yield the indices of the elements on the way to *place*."""
    while isinstance(place, ir.Member | ir.Element):
        if isinstance(place, ir.Member):
            place = place.base
            continue
        yield place.index
        pointer = place.pointer
        while isinstance(pointer, ir.Convert):
            pointer = pointer.value
        place = getattr(pointer, "place", None) if isinstance(pointer, ir.AddressOf) else None


def _address(node: Any) -> Any:
    """Return the place whose address an argument is; for a local pointer, its target."""
    while isinstance(node, ir.Convert):
        node = node.value
    if isinstance(node, ir.AddressOf):
        return node.place
    local = isinstance(node, ir.Load) and isinstance(node.place, ir.LocalStorage)
    if local and isinstance(node.type, t.Pointer):
        return ir.Element(node, ir.Const(0, t.INT32, node.span), node.span)
    return None


def text_of(span: ir.Span) -> str:
    """Return the source text of *span* on one line, shortened if it is long."""
    lines = [linecache.getline(span.file, n).rstrip("\n") for n in range(span.line, span.end_line + 1)]
    if not lines or not any(lines):
        return ""
    rows = [line.encode() for line in lines]
    rows[-1] = rows[-1][: span.end_column - 1]
    rows[0] = rows[0][span.column - 1 :]
    text = " ".join(b"\n".join(rows).decode(errors="replace").split())
    head, brace, _ = text.partition("{")
    if brace and head.startswith(("if", "for", "while", "switch", "do")):
        text = head.strip()
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


# -- evaluating conditions again -------------------------------------------------------------------


def _decider(test: ir.Expr) -> Callable[[Values], bool | None]:
    """Return a function that computes *test* from the values of locals, or returns None if *test* reads other values."""

    def decide(held: Values) -> bool | None:
        value = _value(test, held)
        return None if value is None else bool(value)

    return decide


def _value(node: ir.Expr, held: Values) -> Any:
    """Return the value of *node* as a number, from the values of locals in *held*; None if they do not determine it."""
    match node:
        case ir.Const():
            return node.value
        case ir.Load(place=ir.LocalStorage(local=local)):
            value = held(local.name)
            return value if isinstance(value, int | float) else None
        case ir.Convert() | ir.Unary():
            inner = _value(node.value, held)
            return None if inner is None else _made(node, inner)
        case ir.Binary() | ir.Compare():
            left, right = _value(node.left, held), _value(node.right, held)
            return None if left is None or right is None else _made(node, left, right)
        case ir.Logical():
            left = _value(node.left, held)
            return left if left is None or bool(left) == (node.op == "||") else _value(node.right, held)
    return None


def _made(node: Any, first: Any, second: Any = None) -> Any:
    """Return the result of *node* for one or two numbers; None if it is not arithmetic on scalars."""
    if isinstance(node, ir.Unary):
        return not first if node.op == "!" else -first if node.op == "-" else None
    if isinstance(node, ir.Compare):
        return scalars.compare(node.op, first, second)
    if not isinstance(node.type, t.Arithmetic):
        return None
    if isinstance(node, ir.Binary):
        return scalars.compute(node.op, first, second, node.type)
    return scalars.converted(first, node.type)
