"""Expressions that only host code has, in Python."""

import ast
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc.lower.endings import NAME as ENDS
from mlusim.frontend.bangc.render import build as b
from mlusim.frontend.bangc.render.context import Context
from mlusim.frontend.bangc.render.expressions import value


def _new(c: Context, node: ir.New) -> ast.expr:
    count = b.constant(None) if node.count is None else value(c, node.count)
    given = [value(c, a) for a in node.arguments]
    return b.call("_c_new", c.layout(node.of), count, b.constant(node.zero), *given)


def _delete(c: Context, node: ir.Delete) -> ast.expr:
    return b.call("_c_delete", value(c, node.pointer), b.constant(node.array))


def _launch(c: Context, node: ir.KernelLaunch) -> ast.expr:
    how = [value(c, a) for a in (node.dim, node.kind, node.queue)]
    return b.call("_c_launch", b.constant(node.symbol), *how, *(value(c, a) for a in node.arguments))


def _throw(c: Context, node: ir.Throw) -> ast.expr:
    if node.value is None:
        return b.call("_c_again")
    return b.call("_c_throw", value(c, node.value), *(b.constant(n) for n in node.names))


def _dispatch(c: Context, node: ir.Dispatch) -> ast.expr:
    c.uses.symbols.update(dict.fromkeys(node.targets.values()))
    first, *rest = node.arguments
    held = c.temporary()
    names: list[ast.expr | None] = [b.constant(n) for n in node.targets]
    targets = ast.Dict(names, [b.name(s) for s in node.targets.values()])
    chosen = b.call("_c_class", b.held(held, value(c, first)))
    absent = b.name("_c_nothing") if node.name == ENDS else b.call("_c_pure", b.constant(node.name))
    method = b.call(b.attribute(targets, "get"), chosen, absent)
    return b.call(method, b.name(held), *(value(c, a) for a in rest))


def _dynamic(c: Context, node: ir.DynamicCast) -> ast.expr:
    return b.call("_c_dynamic", value(c, node.value), b.constant(node.name))


VALUES: Mapping[type, Callable[[Context, Any], ast.expr]] = MappingProxyType(
    {
        ir.New: _new,
        ir.Delete: _delete,
        ir.KernelLaunch: _launch,
        ir.Throw: _throw,
        ir.Dispatch: _dispatch,
        ir.DynamicCast: _dynamic,
    }
)
