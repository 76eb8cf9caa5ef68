"""The walk over a function's form that renders Python and C: each language has a table with a renderer for each node."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from attrs import define, field

from mlusim.bangc import ir
from mlusim.bangc.ir.walk import effectful, is_branch, is_counted, within
from mlusim.kernel_frames import own_file

V = TypeVar("V")  # an expression of the target language
S = TypeVar("S")  # a statement of the target language, or a line

_JUMPS = (ir.Break, ir.Continue, ir.Return, ir.Goto)


@define(eq=False)
class Walker(ABC, Generic[V, S]):
    """A function during its rendering.

    ``values`` and ``statements`` are the tables of the language: a renderer for each kind of node.
    """

    values: ClassVar[Mapping[type, Callable[[Any, Any], Any]]]
    statements: ClassVar[Mapping[type, Callable[[Any, Any], list[Any]]]]
    prefix: ClassVar[str]  # of generated names
    symbol: str = ""  # of the function
    deep: bool = False  # whether it is recursive
    waits: Mapping[int, int] = field(factory=dict)  # wait classes of its loads from memory, by `ir.waits`
    checked: bool = False  # whether silent changes of values are reported
    covered: bool = False  # whether statements and outcomes of tests are counted
    stepping: bool = False  # whether the current code is the step of a loop
    temporaries: int = 0

    def value(self, node: ir.Expr) -> V:
        """Render the value of *node*."""
        rendered: V = self.values[type(node)](self, node)
        return self.valued(rendered, node)

    def temporary(self) -> str:
        """Return a new unique name."""
        self.temporaries += 1
        return f"{self.prefix}{self.temporaries}"

    def tested(self, test: ir.Expr) -> V:
        """Render the value of a *test*; with coverage, also count its outcome."""
        rendered = self.truth(test)
        if not self.covered or own_file(test.span.file) or not is_branch(test):
            return rendered
        return self.outcome(rendered, test.span)

    def body(self, nodes: Sequence[ir.Statement]) -> list[S]:
        """Render statements in order; unreachable code after a jump is omitted."""
        rendered: list[S] = []
        for node in nodes:
            passed = self.passed(node.span) if is_counted(node) else []
            rendered += self.located([*passed, *self.statements[type(node)](self, node)], node)
            if isinstance(node, _JUMPS):
                break
        return rendered

    def steps(self, node: ir.Update) -> bool:
        """Return whether *node* increments or decrements a loop counter."""
        return self.stepping and node.op in ("+", "-")

    def passed(self, span: ir.Span) -> list[S]:
        """Render the count of the statement at *span*; nothing in mlusim's own files."""
        return [self.count(span)] if self.covered and not own_file(span.file) else []

    def evaluated(self, node: ir.Expr) -> list[S]:
        """Render an expression for its effect; nothing without an effect. As in C++, an unused load is not executed."""
        while isinstance(node, ir.Convert):
            node = node.value
        if not effectful(node):
            return []
        if isinstance(node, ir.Comma):
            return [*self.evaluated(node.first), *self.evaluated(node.second)]
        if isinstance(node, ir.Load):
            return [step for part in within(node.place) for step in self.evaluated(part)]
        return self.chosen(node) if isinstance(node, ir.Conditional) else self.effect(node)

    @abstractmethod
    def valued(self, rendered: V, node: ir.Expr) -> V:
        """Return *rendered*, the value of *node*, with its source location."""

    @abstractmethod
    def located(self, rendered: list[S], node: ir.Statement | ir.Expr) -> list[S]:
        """Return *rendered*, the statement or step *node*, with its source location."""

    @abstractmethod
    def truth(self, test: ir.Expr) -> V:
        """Render the value of a number or a pointer as a condition."""

    @abstractmethod
    def outcome(self, rendered: V, span: ir.Span) -> V:
        """Render the value of the test at *span* together with the count of its outcome."""

    @abstractmethod
    def count(self, span: ir.Span) -> S:
        """Render the count of the statement at *span*."""

    @abstractmethod
    def chosen(self, node: ir.Conditional) -> list[S]:
        """Render a conditional expression for its effect."""

    @abstractmethod
    def effect(self, node: ir.Expr) -> list[S]:
        """Render the effect of any other expression."""
