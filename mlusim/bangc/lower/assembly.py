"""Inline assembly: its text and its operands."""

import ast
import re
from collections.abc import Iterator

from mlusim.bangc import ir, types as t
from mlusim.bangc.lower import places
from mlusim.bangc.lower.scope import FunctionScope
from mlusim.bangc.parse.nodes import Node

_WORD = re.compile(r"\b(?:__asm__|__asm|asm)\b(?:\s*(?:__)?volatile(?:__)?)?\s*\(")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_OPERAND = re.compile(r'(?:\[\s*(\w+)\s*\]\s*)?"([^"]*)"\s*\(')


def statement(scope: FunctionScope, node: Node) -> list[ir.Statement]:
    """Lower ``asm volatile("text" : outputs : inputs : clobbers)``."""
    text = next(_texts(scope, node), None)
    if text is None:
        return scope.refuse(
            "assembly",
            "the text of this assembly is not found; write the statement itself, not a macro with it",
            node.span,
        )
    sections = _split(text)
    code = "".join(ast.literal_eval(s) for s in _STRING.findall(sections[0]))
    wanted = [_OPERAND.findall(s) for s in sections[1:3]]
    outputs, inputs = [*wanted, [], []][:2]
    nodes = [c for c in node.children if c.type is not None]
    if len(nodes) != len(outputs) + len(inputs):
        return scope.refuse(
            "assembly",
            'the operands of this assembly are not found; write each as "constraint"(expression)',
            node.span,
        )
    operands = [
        ir.AsmOperand(name or str(n), constraint, _operand(scope, child, constraint))
        for n, ((name, constraint), child) in enumerate(zip((*outputs, *inputs), nodes, strict=True))
    ]
    cut = len(outputs)
    return [ir.Evaluate(ir.Asm(code, tuple(operands[:cut]), tuple(operands[cut:]), node.span), node.span)]


def _operand(scope: FunctionScope, child: Node, constraint: str) -> ir.Expr | ir.Place:
    if constraint.startswith(("=", "+")):
        place = places.place(scope, child)
        if not isinstance(place.type, t.VectorRegister):
            scope.address(place, t.Pointer(place.type), child.span)  # it is written through its address
        return place
    return scope.value(child)


def _texts(scope: FunctionScope, node: Node) -> Iterator[str]:
    """Yield the text between the parentheses of the statement, or of the macro from which it comes."""
    whole = scope.around.unit.text_of(node.span.file)
    lines = whole.split("\n")
    here = "\n".join(
        [lines[node.span.line - 1][node.span.column - 1 :], *lines[node.span.line : node.span.line + 60]]
    )
    if _WORD.match(here):
        yield _inside(here)
        return
    name = re.match(r"\w+", here)
    if name is not None:
        yield from _of_macro(scope, name[0], set())


def _of_macro(scope: FunctionScope, name: str, seen: set[str]) -> Iterator[str]:
    """Yield the assembly text in the definition of a macro, or in the macros that it uses."""
    if name in seen:
        return
    seen.add(name)
    text = scope.around.unit.macros.get(name)
    if text is None:
        return
    start = _WORD.search(text)
    if start is not None:
        yield _inside(text[start.start() :])
    for inner in re.findall(r"\b[A-Za-z_]\w*", text):
        yield from _of_macro(scope, inner, seen)


def _inside(text: str) -> str:
    """Return the text between the first parenthesis and its closing one."""
    start = text.index("(")
    depth, quoted, at = 0, False, start
    while at < len(text):
        mark = text[at]
        if quoted and mark == "\\":
            at += 1
        elif mark == '"':
            quoted = not quoted
        elif not quoted and mark in "([":
            depth += 1
        elif not quoted and mark in ")]":
            depth -= 1
            if depth == 0:
                break
        at += 1
    return text[start + 1 : at]


def _split(text: str) -> list[str]:
    """Split *text* at colons outside strings and parentheses."""
    parts, depth, quoted = [""], 0, False
    for mark in text:
        if mark == '"':
            quoted = not quoted
        elif not quoted and mark in "([":
            depth += 1
        elif not quoted and mark in ")]":
            depth -= 1
        if mark == ":" and not quoted and depth == 0:
            parts.append("")
        else:
            parts[-1] += mark
    return parts
