"""The three parts of a ``for``: the library leaves out those that are absent without saying which."""

import itertools
import re
from collections.abc import Iterator

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir import Span
from mlusim.frontend.bangc.lower.scope import FunctionScope
from mlusim.frontend.bangc.parse.nodes import Node

Parts = tuple[Node | None, Node | None, Node | None]
Spot = tuple[int, int]  # line and column

# What is skipped as a whole, and the marks that count.
_PIECE = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\b\'(?=\w)|\'(?:[^\'\\\n]|\\.)*\'|[()\[\]{};]', re.DOTALL
)


def parts(scope: FunctionScope, node: Node) -> Parts:
    """Return the initialisation of a loop, its test and its step."""
    found = [part for part in node.children[:-1] if part.kind != "VAR_DECL"]  # a test that declares follows
    if len(found) == 3:
        return found[0], found[1], found[2]
    if not found:
        return None, None, None
    made = _by_position(scope, node, found)
    if made is None:  # a macro wrote the parts, or some of them
        kinds = list(_by_kind(scope, found))
        if len(kinds) != 1:
            scope.refuse(
                "for",
                "a macro writes this for, and leaves out parts of it that cannot be told apart; write the loop without the macro",
                node.span,
            )
        made = kinds[0]
    return made


def _by_position(scope: FunctionScope, node: Node, found: list[Node]) -> Parts | None:
    """Return the parts by the semicolons of the header; None where they are not all written there."""
    reader = scope.around.unit.reader
    spans = [reader.spelled(n) for n in (node, *found)] if node.in_macro else [n.span for n in (node, *found)]
    stops = list(_semicolons(scope.around.unit.text_of(spans[0].file), spans[0]))
    if len(stops) != 3:
        return None
    where: list[Node | None] = [None, None, None]
    for part, span in zip(found, spans[1:], strict=True):
        at = (span.line, span.column)
        n = sum(at > stop for stop in stops)
        if (
            span.file != spans[0].file
            or at <= (spans[0].line, spans[0].column)
            or n > 2
            or where[n] is not None
        ):
            return None
        where[n] = part
    return where[0], where[1], where[2]


def divided(scope: FunctionScope, node: Node, word: str) -> bool:
    """Return whether the head of a statement that begins with *word* has an initialiser, which the library leaves out."""
    span = scope.around.unit.reader.spelled(node)
    return len([*_semicolons(scope.around.unit.text_of(span.file), span, word)]) > 1


def _semicolons(text: str, span: Span, word: str = "for") -> Iterator[Spot]:
    """Find the semicolons of the head, and the parenthesis behind; nothing where the text is no such statement's."""
    start = 0
    for _ in range(span.line - 1):
        start = text.find("\n", start) + 1
    start += span.column - 1
    if not re.compile(rf"{word}\b").match(text, start):
        return
    depth = 0
    for piece in _PIECE.finditer(text, start):
        mark = piece[0]
        if mark in ("(", "[", "{"):
            depth += 1
        elif mark in (")", "]", "}"):
            depth -= 1
        if (mark == ";" and depth == 1) or (mark == ")" and depth == 0):
            at = piece.start()
            yield text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        if depth == 0:
            return


def _by_kind(scope: FunctionScope, found: list[Node]) -> Iterator[Parts]:
    """Yield every way to take the parts: a declaration begins, a bool tests, what has no effect is no first part and no step."""
    for places in itertools.combinations(range(3), len(found)):
        if all(_may_be(scope, part, n) for part, n in zip(found, places, strict=True)):
            where: list[Node | None] = [None, None, None]
            for part, n in zip(found, places, strict=True):
                where[n] = part
            yield where[0], where[1], where[2]


def _may_be(scope: FunctionScope, part: Node, n: int) -> bool:
    if part.kind == "DECL_STMT":
        return n == 0
    # A test would have a load around it.
    stored = part.kind == "COMPOUND_ASSIGNMENT_OPERATOR" or part.op in ("=", "++x", "--x")
    return part.type == t.BOOL and not stored if n == 1 else scope.acts(part)
