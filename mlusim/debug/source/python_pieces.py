"""The pieces of a function of Python, from its source."""

import ast
import functools
import linecache
from collections.abc import Iterable, Iterator
from types import CodeType

from attrs import define, field

from mlusim.debug.source.pieces import (
    CALLED,
    LOCAL,
    RETURNED,
    CallSite,
    FunctionPieces,
    Read,
    Reads,
    SourcePiece,
    Store,
    Test,
)

LONGEST = 72  # characters of a statement that is shown


def pieces_of(code: CodeType) -> FunctionPieces | None:
    """Return the pieces of the function whose code is *code*; None where there is no source of it."""
    tree = _parsed(code.co_filename, "".join(linecache.getlines(code.co_filename)))
    found = next((n for n in ast.walk(tree) if _is(n, code)), None) if tree is not None else None
    if not isinstance(found, ast.FunctionDef):
        return None
    names = (*code.co_varnames, *code.co_cellvars)
    builder = _Builder(frozenset(names))
    builder.statements(found.body, None, "")
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return FunctionPieces(code, builder.pieces, parameters, {name: name for name in names})


@functools.lru_cache(maxsize=16)
def _parsed(file: str, text: str) -> ast.Module | None:
    try:
        return ast.parse(text, file)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _is(node: ast.AST, code: CodeType) -> bool:
    """Return whether *node* is the definition that *code* was compiled of."""
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
        """Add the pieces of *body*, to which control comes by the outcome *role* of the test of *parent*."""
        guards: tuple[SourcePiece, ...] = ()
        for node in body:
            made = self._statement(node, parent, role)
            made.guards = guards
            if isinstance(node, ast.If) and (_jumps(node.body) or _jumps(node.orelse)):
                guards = (*guards, made)

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
        own = list(_own(node))
        reads = tuple(r for one in own for r in self._reads(one))
        piece.values = reads
        for one in (n for part in own for n in ast.walk(part)):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and one.id in self.names:
                old = self._name(one.id) if isinstance(node, ast.AugAssign) else ()
                piece.stores.append(Store(one.id, (*old, *reads)))
            elif isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store):
                piece.stores.append(Store("", reads))
            elif isinstance(one, ast.Call):
                given = tuple((ast.unparse(a), self._reads(a), None) for a in one.args)
                name = one.func.id if isinstance(one.func, ast.Name) else getattr(one.func, "attr", "")
                piece.calls.append(CallSite(name, ast.unparse(one), given))
        if isinstance(node, ast.Return) and node.value is not None:
            piece.stores.append(Store(RETURNED, reads))
        self.pieces.append(piece)
        return piece

    def _reads(self, node: ast.AST) -> Reads:
        if isinstance(node, ast.Name):
            return self._name(node.id) if isinstance(node.ctx, ast.Load) and node.id in self.names else ()
        inner = tuple(r for one in ast.iter_child_nodes(node) for r in self._reads(one))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return (Read(CALLED, node.func.id, ast.unparse(node), given=inner),)
        return inner

    def _name(self, name: str) -> tuple[Read]:
        return (Read(LOCAL, name, name),)


def _jumps(body: Iterable[ast.stmt]) -> bool:
    """Return whether statements, or those of an ``if`` among them, leave what is around them by a jump."""
    return any(
        isinstance(node, ast.Break | ast.Continue | ast.Return | ast.Raise)
        or (isinstance(node, ast.If) and (_jumps(node.body) or _jumps(node.orelse)))
        for node in body
    )


def _own(node: ast.stmt) -> Iterator[ast.AST]:
    """Yield the expressions of a statement itself, without those of statements inside it."""
    for name in ("targets", "target", "test", "iter", "value", "items", "exc"):
        found = getattr(node, name, None)
        yield from found if isinstance(found, list) else () if found is None else (found,)


def _text(node: ast.stmt) -> str:
    """Return a statement on one line, of a compound one its head, shortened where it is long."""
    text = " ".join(ast.unparse(node).splitlines()[0].split())
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
