"""Pieces of Python's syntax trees."""

import ast
from typing import Any

from mlusim.frontend.bangc.ir import Span

LOAD, STORE = ast.Load(), ast.Store()


def name(text: str) -> ast.Name:
    """Return a name that is read."""
    return ast.Name(text, LOAD)


def target(text: str) -> ast.Name:
    """Return a name that is assigned to."""
    return ast.Name(text, STORE)


def constant(value: Any) -> ast.expr:
    """Make the node of a literal."""
    return ast.Constant(value)


def call(function: str | ast.expr, *arguments: ast.expr) -> ast.Call:
    """Return a call; a text names the function."""
    return ast.Call(name(function) if isinstance(function, str) else function, list(arguments), [])


def attribute(value: ast.expr, text: str) -> ast.Attribute:
    """Make the node of ``value.text``."""
    return ast.Attribute(value, text, LOAD)


def item(value: ast.expr, index: ast.expr) -> ast.Subscript:
    """Make the node of ``value[index]``."""
    return ast.Subscript(value, index, LOAD)


def binary(left: ast.expr, op: ast.operator, right: ast.expr) -> ast.BinOp:
    """Make the node of ``left op right``."""
    return ast.BinOp(left, op, right)


def compare(left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.Compare:
    """Make the node of ``left op right``, a comparison."""
    return ast.Compare(left, [op], [right])


def between(low: float, value: ast.expr, high: float) -> ast.Compare:
    """Make the node of ``low <= value <= high``."""
    return ast.Compare(constant(low), [ast.LtE(), ast.LtE()], [value, constant(high)])


def assign(to: ast.expr, value: ast.expr) -> ast.Assign:
    """Make the node of ``to = value``."""
    return ast.Assign([to], value)


def held(text: str, value: ast.expr) -> ast.NamedExpr:
    """Make the node of ``(text := value)``."""
    return ast.NamedExpr(target(text), value)


def last(*parts: ast.expr) -> ast.Subscript:
    """Evaluate all of *parts*; the value is that of the last."""
    # Elements are evaluated from the left, as C's comma has it.
    return item(ast.Tuple(list(parts), LOAD), ast.Constant(-1))


def first(*parts: ast.expr) -> ast.Subscript:
    """Evaluate all of *parts*; the value is that of the first."""
    return item(ast.Tuple(list(parts), LOAD), ast.Constant(0))


def simple(node: ast.expr) -> bool:
    """Return whether *node* may be evaluated twice: a name or a literal; an attribute may be a load that is accounted for."""
    return isinstance(node, ast.Name | ast.Constant)


def twice(node: ast.expr, scratch: str) -> tuple[ast.expr, ast.expr]:
    """Return two nodes: one that evaluates *node*, and one that gives the same value again right after it."""
    return (node, node) if simple(node) else (held(scratch, node), name(scratch))


def located(node: ast.AST, around: tuple[int, int, int, int]) -> None:
    """Give every node below *node* that has no place the one *around* it; faster than `ast.fix_missing_locations`."""
    for part in node.__dict__.values():
        for child in part if part.__class__ is list else (part,):
            if isinstance(child, ast.AST):
                own = child.__dict__
                if "lineno" in own:
                    inner = own["lineno"], own["col_offset"], own["end_lineno"], own["end_col_offset"]
                else:
                    inner = around
                    own["lineno"], own["col_offset"], own["end_lineno"], own["end_col_offset"] = around
                located(child, inner)


def at(node: Any, span: Span) -> Any:
    """Set the place of *node* to *span*, and return it."""
    node.lineno, node.col_offset = max(span.line, 1), max(span.column - 1, 0)  # ast counts columns from 0
    node.end_lineno, node.end_col_offset = max(span.end_line, 1), max(span.end_column - 1, 0)
    return node
