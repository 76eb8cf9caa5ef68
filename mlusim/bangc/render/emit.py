"""Helpers that build Python syntax trees, and the walker over a function with the references of its code."""

import ast
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import define, field

from mlusim.bangc import ir, names, types as t
from mlusim.bangc.ir import Span
from mlusim.bangc.ir.leaving import STAYING, Outliving
from mlusim.bangc.walker import Walker

Range = tuple[int, int]
"""The smallest and the largest possible value of an integer."""

FRAME = f"{names.OWN}frame"  # the variables of a function that pointers may outlive
LOAD, STORE = ast.Load(), ast.Store()


def name(text: str) -> ast.Name:
    """Return a name in load context."""
    return ast.Name(text, LOAD)


def target(text: str) -> ast.Name:
    """Return a name in store context."""
    return ast.Name(text, STORE)


def constant(value: Any) -> ast.expr:
    """Make the node of a literal."""
    return ast.Constant(value)


def call(function: str | ast.expr, *arguments: ast.expr) -> ast.Call:
    """Return a call; a string names the function."""
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


def registered(variable: ast.expr, key: str, called: str) -> ast.expr:
    """Return an expression with the value of *variable*, which ends with the function or before *key* is registered again."""
    return call("_c_register", name(FRAME), variable, constant(key), constant(called))


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
    """Return an expression that evaluates all *parts* and has the value of the last."""
    # A tuple evaluates its elements from left to right, like C's comma.
    return item(ast.Tuple(list(parts), LOAD), ast.Constant(-1))


def first(*parts: ast.expr) -> ast.Subscript:
    """Return an expression that evaluates all *parts* and has the value of the first."""
    return item(ast.Tuple(list(parts), LOAD), ast.Constant(0))


def simple(node: ast.expr) -> bool:
    """Return whether *node* may be evaluated twice: a name or a literal. An attribute may be a charged load."""
    return isinstance(node, ast.Name | ast.Constant)


def twice(node: ast.expr, scratch: str) -> tuple[ast.expr, ast.expr]:
    """Return two expressions: one that evaluates *node*, and one that gives the same value again right after it."""
    return (node, node) if simple(node) else (held(scratch, node), name(scratch))


def located(node: ast.AST, around: tuple[int, int, int, int]) -> None:
    """Give every node below *node* without location that of the enclosing *around*; faster than `ast.fix_missing_locations`."""
    for part in node.__dict__.values():
        for child in part if part.__class__ is list else (part,):
            if isinstance(child, ast.AST):
                fields = child.__dict__
                if "lineno" in fields:
                    inner = (
                        fields["lineno"],
                        fields["col_offset"],
                        fields["end_lineno"],
                        fields["end_col_offset"],
                    )
                else:
                    inner = around
                    fields["lineno"], fields["col_offset"], fields["end_lineno"], fields["end_col_offset"] = (
                        around
                    )
                located(child, inner)


def at(node: Any, span: Span) -> Any:
    """Set the location of *node* to *span*, and return it."""
    node.lineno, node.col_offset = max(span.line, 1), max(span.column - 1, 0)  # ast counts columns from 0
    node.end_lineno, node.end_col_offset = max(span.end_line, 1), max(span.end_column - 1, 0)
    return node


@define(eq=False)
class Uses:
    """The names to which a function's code refers."""

    symbols: dict[str, None] = field(factory=dict)  # functions of the sources
    pointed: dict[str, None] = field(factory=dict)  # those whose address is taken
    invokes: bool = False  # whether a function pointer is called
    rows: dict[str, None] = field(factory=dict)  # of the instruction set
    globals: dict[str, None] = field(factory=dict)  # variables at file scope
    layouts: dict[str, Any] = field(factory=dict)  # the layouts of structs and registers


@define
class StateMachine:
    """The loop that implements a `Labelled`: its variables, its labels, and its nesting depth."""

    start: str
    pending: str
    labels: tuple[str, ...]
    level: int


@define(eq=False)
class PythonWalker(Walker[ast.expr, ast.stmt]):
    """A function during its rendering in Python; ``breaks`` and ``continues`` render these jumps in the enclosing loops."""

    prefix = names.OWN
    uses: Uses = field(factory=Uses)
    ranges: dict[str, Range] = field(factory=dict)  # ranges of locals
    begins: dict[str, Range] = field(factory=dict)  # initial values of locals
    changed: Mapping[ir.Local, int] = field(factory=dict)  # number of stores to each local
    # Number of casts of each local to each type.
    casts: Mapping[tuple[ir.Local, t.Type], int] = field(factory=dict)
    steady: set[ir.Local] = field(factory=set)  # parameters, and locals that are created once per call
    cast_names: dict[str, None] = field(factory=dict)  # cached casts of pointers; None until the first cast
    names: frozenset[str] = frozenset()  # of locals
    turns: bool = False  # whether the code is in a loop
    inside: bool = False  # whether the code is a nested function, with names of its own
    breaks: list[Callable[[], list[ast.stmt]]] = field(factory=list)
    continues: list[Callable[[], list[ast.stmt]]] = field(factory=list)
    loops: int = 0  # Python loops around the statement
    machines: list[StateMachine] = field(factory=list)
    outliving: Outliving = STAYING  # the variables whose addresses leave the function

    def variable(self, variable: ir.Global) -> ast.Name:
        """Return the name of a variable at file scope: its source name, unless another variable or a local has it."""
        self.uses.globals[variable.symbol] = None
        return name(variable.alias if variable.name in self.names else variable.called)

    def layout(self, kind: t.Type) -> ast.expr:
        """Return the name of the layout of a type in memory."""
        text, plain = named_layout(kind)
        self.uses.layouts[text] = plain
        return name(text)

    def valued(self, rendered: ast.expr, node: ir.Expr) -> ast.expr:
        """Set the source location of *rendered*, the value of *node*, and return it."""
        return at(rendered, node.span)  # type: ignore[no-any-return]

    def outcome(self, rendered: ast.expr, span: Span) -> ast.expr:
        """Render the value of the test at *span* together with the count of its outcome."""
        return call("_c_branch", rendered, constant((span.file, span.line, span.column)))

    def count(self, span: Span) -> ast.stmt:
        """Render the call that counts the statement at *span* for coverage."""
        reported = call("_c_passed", constant((span.file, span.line, span.column)))
        return at(ast.Expr(reported), span)  # type: ignore[no-any-return]


def named_layout(kind: t.Type) -> tuple[str, t.Type]:
    """Return the name of a type's layout, and the type."""
    while isinstance(kind, t.Pointer) and kind.reference:
        kind = t.Pointer(kind.to)
    if isinstance(kind, t.Arithmetic):
        plain = t.Arithmetic(t.element_name(kind), kind.kind, kind.size)
        return names.LAYOUT + plain.name, plain
    if isinstance(kind, t.Void | t.FunctionType):
        return f"{names.LAYOUT}void", t.VOID
    # A structure may be called float32 too, and two type names may differ only in characters that are dropped
    # here.
    text = str(kind)
    word = re.sub(r"\W+", "_", text).strip("_")[:40]
    return f"{names.LAYOUT}{word}_{hashlib.blake2b(text.encode(), digest_size=3).hexdigest()}", kind


def kept_casts(local: str, there: Iterable[str]) -> list[str]:
    """Return those of *names* in a frame that cache casts of the pointer *local* (None until the first cast)."""
    return [name for name in there if name.startswith(f"{names.KEPT}{local}{names.LAYOUT}")]
