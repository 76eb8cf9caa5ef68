"""Switches: a chain of tests where every section ends, otherwise a loop that runs once and falls through."""

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc.ir.walk import parts_of
from mlusim.frontend.bangc.render import build as b
from mlusim.frontend.bangc.render.expressions import asked, value

if TYPE_CHECKING:
    from mlusim.frontend.bangc.render.statements import BodyContext

Statements = list[ast.stmt]
Body = tuple[ir.Statement, ...]
Render = Callable[["BodyContext", Body], Statements]


def switch(c: "BodyContext", node: ir.Switch, body: Render) -> Statements:
    """Render a switch: as a chain of tests where no section runs into the next, else as a machine."""
    name = c.temporary()
    made: Statements = [b.at(b.assign(b.target(name), asked(c, value(c, node.value), node.value)), node.span)]
    closed = [_closed(s.body, last=s is node.sections[-1]) for s in node.sections]
    if all(part is not None for part in closed):
        return made + _chain(c, node, name, [part or () for part in closed], body)
    return made + _machine(c, node, name, body)


def _flat(statements: Body) -> Body:
    """*statements* without the braces of a section around all of them."""
    out: list[ir.Statement] = []
    for node in statements:
        out.extend(_flat(node.body) if isinstance(node, ir.Block) else (node,))
    return tuple(out)


def _closed(statements: Body, *, last: bool) -> Body | None:
    """A section without its final break; None where it falls through or breaks in the middle."""
    flat = _flat(statements)
    ends = bool(flat) and isinstance(flat[-1], ir.Break | ir.Return | ir.Continue)
    if not ends and not last:
        return None
    if ends and isinstance(flat[-1], ir.Break):
        flat = flat[:-1]
    return None if any(_breaks(node) for node in flat) else flat


def _breaks(node: ir.Statement) -> bool:
    """Return whether a break in *node* belongs to the switch."""
    if isinstance(node, ir.Break):
        return True
    return any(_breaks(s) for part in parts_of(node) for s in part)


def _test(name: str, labels: tuple[int, ...]) -> ast.expr:
    if len(labels) == 1:
        return b.compare(b.name(name), ast.Eq(), b.constant(labels[0]))
    return b.compare(b.name(name), ast.In(), b.constant(labels))


def _chain(c: "BodyContext", node: ir.Switch, name: str, parts: list[Body], body: Render) -> Statements:
    tail: Statements = []
    made: list[tuple[ir.Section, Statements]] = []
    for section, part in zip(node.sections, parts, strict=True):
        inner = body(c, part) or [b.at(ast.Pass(), section.span)]
        if section.default:
            tail = inner
        else:
            made.append((section, inner))
    for section, inner in reversed(made):
        tail = [b.at(ast.If(_test(name, section.labels), inner, tail), section.span)]
    return tail


def _machine(c: "BodyContext", node: ir.Switch, name: str, body: Render) -> Statements:
    """``while True`` that runs once: a flag says that a label has matched."""
    inside, again = c.temporary(), c.temporary()
    every = tuple(label for s in node.sections for label in s.labels)
    outer = c.continues[-1] if c.continues else None

    def leave() -> Statements:
        return [b.at(b.assign(b.target(again), b.constant(True)), node.span), b.at(ast.Break(), node.span)]

    c.continues.append(leave)
    c.breaks.append(lambda: [b.at(ast.Break(), node.span)])
    c.loops += 1
    parts: Statements = []
    for section in node.sections:
        tests: list[ast.expr] = [b.name(inside)]
        if section.labels:
            tests.append(_test(name, section.labels))
        if section.default:
            tests.append(b.compare(b.name(name), ast.NotIn(), b.constant(every)))
        entered = b.at(b.assign(b.target(inside), b.constant(True)), section.span)
        parts.append(
            b.at(ast.If(ast.BoolOp(ast.Or(), tests), [entered, *body(c, section.body)], []), section.span)
        )
    c.loops -= 1
    c.breaks.pop()
    c.continues.pop()
    flags = ast.Assign([b.target(inside), b.target(again)], b.constant(False))
    made: Statements = [b.at(flags, node.span)]
    made.append(b.at(ast.While(b.constant(True), [*parts, b.at(ast.Break(), node.span)], []), node.span))
    if outer is not None:
        made.append(b.at(ast.If(b.name(again), outer(), []), node.span))
    return made
