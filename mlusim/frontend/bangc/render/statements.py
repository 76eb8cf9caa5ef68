"""Rendering of statements in Python."""

import ast
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import define, field

from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir.walk import changed, walk
from mlusim.frontend.bangc.render import build as b
from mlusim.frontend.bangc.render import declarations, leaving, ranges, stores, switches
from mlusim.frontend.bangc.render.context import Context
from mlusim.frontend.bangc.render.expressions import condition, value

Statements = list[ast.stmt]
_EFFECTS = (
    ir.Assign, ir.Update, ir.Call, ir.IntrinsicCall, ir.LibraryCall, ir.Invoke,
    ir.Asm, ir.Dispatch,
)  # fmt: skip


@define(eq=False)
class BodyContext(Context):
    """A function whose statements are rendered; ``continues`` say what a `continue` becomes in the loops around."""

    symbol: str = ""
    continues: list[Callable[[], Statements]] = field(factory=list)
    breaks: list[Callable[[], Statements]] = field(factory=list)
    loops: int = 0  # of Python, around the statement
    machines: list[leaving.Machine] = field(factory=list)


def body(c: BodyContext, statements: "tuple[ir.Statement, ...]") -> Statements:
    """The statements in order; code behind a jump is left out."""
    made: Statements = []
    for node in statements:
        made += [
            b.at(s, node.span) if not hasattr(s, "lineno") else s for s in _STATEMENTS[type(node)](c, node)
        ]
        if isinstance(node, ir.Loop | ir.Switch | ir.Labelled):
            made += leaving.onward(c, node)
        if isinstance(node, ir.Break | ir.Continue | ir.Return | ir.Goto):
            break
    return made


def suite(c: BodyContext, statements: "tuple[ir.Statement, ...]", span: ir.Span) -> Statements:
    """The statements, of which Python wants one at least."""
    return body(c, statements) or [b.at(ast.Pass(), span)]


def _evaluate(c: BodyContext, node: ir.Evaluate) -> Statements:
    inner = node.value
    while isinstance(inner, ir.Convert):
        inner = inner.value
    if isinstance(inner, ir.Assign | ir.Update):
        return stores.statement(c, inner)
    if isinstance(inner, ir.Comma):
        return _evaluate(c, ir.Evaluate(inner.first, inner.span)) + _evaluate(
            c, ir.Evaluate(inner.second, inner.span)
        )
    if isinstance(inner, ir.Conditional):
        then, other = ir.Evaluate(inner.then, inner.span), ir.Evaluate(inner.other, inner.span)
        return _if(c, ir.If(inner.test, (then,), (other,), node.span))
    if isinstance(inner, ir.Load) and isinstance(inner.place, ir.Element):
        inner = inner.place.pointer  # what a reference is to is not read
    if isinstance(inner, ir.Const) or not any(isinstance(n, _EFFECTS) for n in walk(inner)):
        return []
    return [ast.Expr(value(c, inner))]


def _if(c: BodyContext, node: ir.If) -> Statements:
    return [ast.If(condition(c, node.test), suite(c, node.then, node.span), body(c, node.other))]


def _block(c: BodyContext, node: ir.Block) -> Statements:
    return body(c, node.body) if node.body else [ast.Pass()]


def _loop(c: BodyContext, node: ir.Loop) -> Statements:
    bounds = _bounds(c, node)
    outer = {name: c.known[name] for name in bounds if name in c.known}
    turns, c.turns = c.turns, True
    test = b.constant(True) if node.test is None else condition(c, node.test)
    c.known.update(bounds)
    c.loops += 1
    c.breaks.append(_leave)
    if node.late:
        made = _late(c, node, test)
    else:
        step = () if node.step is None else (ir.Evaluate(node.step, node.step.span),)

        def again() -> Statements:
            return [*_stepped(c, step), ast.Continue()]

        c.continues.append(again)
        inner = body(c, node.body)
        c.continues.pop()
        made = [ast.While(test, [*inner, *_stepped(c, step)] or [ast.Pass()], [])]
    c.turns = turns
    c.breaks.pop()
    c.loops -= 1
    for name in bounds:
        del c.known[name]
    c.known.update(outer)
    return made


def _stepped(c: BodyContext, step: tuple[ir.Evaluate, ...]) -> Statements:
    """Render the step of a loop behind each turn."""
    outer, c.stepping = c.stepping, True
    made = body(c, step)
    c.stepping = outer
    return made


def _late(c: BodyContext, node: ir.Loop, test: ast.expr) -> Statements:
    def again() -> Statements:
        assert node.test is not None
        return [ast.If(condition(c, node.test), [ast.Continue()], [ast.Break()])]

    c.continues.append(again)
    inner = body(c, node.body)
    c.continues.pop()
    ends = isinstance(test, ast.Constant) and test.value
    leave: Statements = (
        [] if ends else [b.at(ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], []), node.span)]
    )
    return [ast.While(b.constant(True), [*inner, *leave] or [ast.Pass()], [])]


def _bounds(c: BodyContext, node: ir.Loop) -> dict[str, ranges.Range]:
    """The values of a counter in ``for (...; i < n; ++i)``, where nothing else changes it."""
    test, step = node.test, node.step
    if not (
        isinstance(test, ir.Compare)
        and test.op in ("<", "<=")
        and isinstance(step, ir.Update)
        and step.op == "+"
    ):
        return {}
    counter = test.left.place if isinstance(test.left, ir.Load) else None
    if not (isinstance(counter, ir.LocalStorage) and isinstance(step.place, ir.LocalStorage)):
        return {}
    local, kind = counter.local, counter.local.type
    plain = local.storage is ir.Storage.VALUE and isinstance(kind, t.Arithmetic) and kind.whole
    if not plain or step.place.local is not local or not isinstance(step.value, ir.Const):
        return {}
    if c.changed.get(local) != 1 and local in changed(walk(node.body)):
        return {}
    assert isinstance(kind, t.Arithmetic)
    if step.value.value <= 0:
        return {}
    limit = min(ranges.of(test.right, c.known)[1] - (test.op == "<"), kind.high)
    only = c.changed.get(local) == 1 and limit + step.value.value <= kind.high  # and it never wraps
    first = c.begins.get(local.name, (kind.low, kind.high))[0] if only else kind.low
    return {local.name: (first, limit)}


def _leave() -> Statements:
    return [ast.Break()]


def _break(c: BodyContext, _node: ir.Break) -> Statements:
    return c.breaks[-1]() if c.breaks else _leave()


def _continue(c: BodyContext, _node: ir.Continue) -> Statements:
    return c.continues[-1]()


def _return(c: BodyContext, node: ir.Return) -> Statements:
    return [ast.Return(None if node.value is None else value(c, node.value))]


def _switch(c: BodyContext, node: ir.Switch) -> Statements:
    return switches.switch(c, node, body)


def _declare(c: BodyContext, node: ir.Declare) -> Statements:
    return declarations.declare(c, node, c.symbol)


_STATEMENTS: Mapping[type, Callable[[BodyContext, Any], Statements]] = MappingProxyType(
    {
        ir.Declare: _declare,
        ir.Evaluate: _evaluate,
        ir.If: _if,
        ir.Loop: _loop,
        ir.Switch: _switch,
        ir.Break: _break,
        ir.Continue: _continue,
        ir.Return: _return,
        ir.Block: _block,
        ir.Labelled: leaving.labelled,
        ir.Goto: leaving.goto,
        ir.Finally: leaving.ended,
    }
)
