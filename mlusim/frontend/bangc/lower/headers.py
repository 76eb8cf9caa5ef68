"""The three parts of a ``for``: the library leaves out those that are absent without saying which."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.parse.nodes import Node

if TYPE_CHECKING:
    from mlusim.frontend.bangc.parse.unit import ParsedFile

Parts = tuple[Node | None, Node | None, Node | None]


def parts(unit: "ParsedFile", node: Node) -> Parts:
    """What a loop begins with, its test and its step."""
    found = [part for part in node.children[:-1] if part.kind != "VAR_DECL"]  # a test that declares follows
    if len(found) == 3:
        return found[0], found[1], found[2]
    stops = list(_semicolons(unit.text_of(node.span.file), node))
    if len(stops) == 2:
        return _by_position(found, stops)
    return _by_kind(found)


def _by_position(found: list[Node], stops: list[tuple[int, int]]) -> Parts:
    where: list[Node | None] = [None, None, None]
    for part in found:
        at = (part.span.line, part.span.column)
        where[sum(at > stop for stop in stops)] = part
    return where[0], where[1], where[2]


def _by_kind(found: list[Node]) -> Parts:
    """In a macro there is no text to look at: declarations begin, bools test."""
    first = test = step = None
    for part in found:
        if part.kind == "DECL_STMT":
            first = part
        elif part.type == t.BOOL:
            test = part
        else:
            step = part
    return first, test, step


def _semicolons(text: str, node: Node) -> Iterator[tuple[int, int]]:
    """Where the semicolons of the header are; nothing where the text is not a loop's."""
    lines = text.split("\n")[node.span.line - 1 :]
    if not lines or not lines[0][node.span.column - 1 :].startswith("for"):
        return
    depth, column = 0, node.span.column - 1
    for n, line in enumerate(lines):
        for at in range(column, len(line)):
            mark = line[at]
            if mark in "([{":
                depth += 1
            elif mark in ")]}":
                depth -= 1
                if depth == 0:
                    return
            elif mark == ";" and depth == 1:
                yield node.span.line + n, at + 1
        column = 0
