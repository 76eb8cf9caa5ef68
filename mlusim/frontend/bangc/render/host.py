"""Expressions that only host code has, in Python."""

import ast
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mlusim.frontend.bangc import ir
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


VALUES: Mapping[type, Callable[[Context, Any], ast.expr]] = MappingProxyType(
    {ir.New: _new, ir.Delete: _delete, ir.KernelLaunch: _launch}
)
