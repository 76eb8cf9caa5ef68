"""Python as it is rendered: pieces of syntax trees, and the walker over a function with what its code refers to."""

import ast
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import define, field

from mlusim.frontend.bangc import ir, names, types as t
from mlusim.frontend.bangc.ir import Span
from mlusim.frontend.bangc.walker import Walker

Range = tuple[int, int]
"""The least and the greatest value of an integer, both of them possible."""

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
    """Set the place of *node* to *span*, and return it."""
    node.lineno, node.col_offset = max(span.line, 1), max(span.column - 1, 0)  # ast counts columns from 0
    node.end_lineno, node.end_col_offset = max(span.end_line, 1), max(span.end_column - 1, 0)
    return node


@define(eq=False)
class Uses:
    """The names that a function's code refers to."""

    symbols: dict[str, None] = field(factory=dict)  # functions of the sources
    pointed: dict[str, None] = field(factory=dict)  # those of them whose address is taken
    invokes: bool = False  # whether a pointer to a function is called
    rows: dict[str, None] = field(factory=dict)  # of the instruction set
    globals: dict[str, None] = field(factory=dict)  # variables at file scope
    layouts: dict[str, Any] = field(factory=dict)  # what records and registers are made by


@define
class Machine:
    """The loop that a `Labelled` is: its variables, its labels, and how many loops are around its sections."""

    start: str
    pending: str
    labels: tuple[str, ...]
    level: int


@define(eq=False)
class PythonWalker(Walker[ast.expr, ast.stmt]):
    """A function while it is rendered in Python; ``breaks`` and ``continues`` say what these become in the loops around."""

    prefix = names.OWN
    uses: Uses = field(factory=Uses)
    ranges: dict[str, Range] = field(factory=dict)  # values of locals that are bounded
    begins: dict[str, Range] = field(factory=dict)  # values that locals have at first
    changed: Mapping[ir.Local, int] = field(factory=dict)  # how many places store to a local
    # How many places cast a local to a type.
    casts: Mapping[tuple[ir.Local, t.Type], int] = field(factory=dict)
    steady: set[ir.Local] = field(factory=set)  # parameters, and locals that are made once in a call
    cast_names: dict[str, None] = field(factory=dict)  # names of casts that are made once; None until then
    names: frozenset[str] = frozenset()  # of locals
    turns: bool = False  # whether the code is in a loop
    inside: bool = False  # whether the code is a function of its own, which has no other's names
    breaks: list[Callable[[], list[ast.stmt]]] = field(factory=list)
    continues: list[Callable[[], list[ast.stmt]]] = field(factory=list)
    loops: int = 0  # of Python, around the statement
    machines: list[Machine] = field(factory=list)

    def variable(self, variable: ir.Global) -> ast.Name:
        """Return the name of a variable at file scope: its own, unless another variable or a local has the same."""
        self.uses.globals[variable.symbol] = None
        return name(variable.alias if variable.name in self.names else variable.called)

    def layout(self, kind: t.Type) -> ast.expr:
        """Return the name of the layout of a type that memory holds."""
        text, plain = named_layout(kind)
        self.uses.layouts[text] = plain
        return name(text)

    def valued(self, rendered: ast.expr, node: ir.Expr) -> ast.expr:
        """Return *rendered*, the value of *node*, with its place in the source."""
        return at(rendered, node.span)  # type: ignore[no-any-return]

    def outcome(self, rendered: ast.expr, span: Span) -> ast.expr:
        """Render *rendered*, the value of the test at *span*, and the count of its outcome."""
        return call("_c_branch", rendered, constant((span.file, span.line, span.column)))

    def count(self, span: Span) -> ast.stmt:
        """Render the call that reports to coverage that control has reached *span*."""
        reported = call("_c_passed", constant((span.file, span.line, span.column)))
        return at(ast.Expr(reported), span)  # type: ignore[no-any-return]


def named_layout(kind: t.Type) -> tuple[str, t.Type]:
    """Return the name of the layout of a type, and the type."""
    while isinstance(kind, t.Pointer) and kind.reference:
        kind = t.Pointer(kind.to)
    if isinstance(kind, t.Arithmetic):
        plain = t.Arithmetic(t.element_name(kind), kind.kind, kind.size)
        return names.LAYOUT + plain.name, plain
    if isinstance(kind, t.Void | t.FunctionType):
        return f"{names.LAYOUT}void", t.VOID
    # A structure may be called float32, too, and two types may have names of which the same is left.
    text = str(kind)
    word = re.sub(r"\W+", "_", text).strip("_")[:40]
    return f"{names.LAYOUT}{word}_{hashlib.blake2b(text.encode(), digest_size=3).hexdigest()}", kind


def kept_casts(local: str, there: Iterable[str]) -> list[str]:
    """Return those of the names *there*, in a frame, that hold casts of the pointer *local*, or None until they are made."""
    return [name for name in there if name.startswith(f"{names.KEPT}{local}{names.LAYOUT}")]
