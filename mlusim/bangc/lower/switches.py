"""Switches: their labels, also when nested in other statements, and variables declared in their heads.

The body of most switches is a list of sections. A label may also be inside another statement, such as a loop
that the switch enters in the middle. Then a variable holds the number of the target label: statements before
the label are skipped, tests lead to it, and at the label the variable is set to 0.
"""

from collections.abc import Iterator

from attrs import define

from mlusim.bangc import ir, types as t
from mlusim.bangc.lower.scope import FunctionScope, number
from mlusim.bangc.parse.nodes import Declaration, Node

Statements = list[ir.Statement]
_LABELS = ("CASE_STMT", "DEFAULT_STMT")
_MOST = 1024  # values in a case range of GNU C


def switch(scope: FunctionScope, node: Node) -> Statements:
    """Lower a switch without the variables in its head."""
    value, inner = scope.value(node.children[-2]), node.children[-1]
    children = inner.children if inner.kind == "COMPOUND_STMT" else [inner]
    if any(_has_label(_labelled(child)) for child in children):
        return _entered(scope, node, value, children)
    before: Statements = []
    sections: list[ir.Section] = []
    for child in children:
        labels, default = _labels(scope, child)
        if labels or default:
            sections.append(ir.Section(tuple(labels), default, (), child.span))
        if sections:
            sections[-1].body += tuple(scope.statement(_labelled(child)))
        elif child.kind == "DECL_STMT":
            before += scope.statement(child)  # other statements before the first label never run
    return [*before, ir.Switch(value, tuple(sections), node.span)]


def head(scope: FunctionScope, node: Node, text: str) -> list[Declaration]:
    """Return the variables in ``switch (int n = f(); n)``, which the library omits; *text* ends at the semicolon."""
    variables: dict[int, Declaration] = {}
    first, last = _start(node), _start(node.children[-1])
    for inner in _below(node):
        declared = inner.decl
        if inner.kind != "DECL_REF_EXPR" or declared is None or declared.kind != "VAR_DECL":
            continue
        if (
            first < (declared.span.line, declared.span.column) < last
            and not scope.knows(declared)
            and declared.span.file == node.span.file
        ):
            variables[id(declared)] = declared
    if len(variables) != _declarators(text):
        scope.refuse(
            "switch",
            "the compiler library leaves out the initialiser of this switch; write it in front of the switch",
            node.span,
        )
    return sorted(variables.values(), key=lambda variable: variable.span)


def _start(node: Node) -> tuple[int, int]:
    return node.span.line, node.span.column


def _declarators(text: str) -> int:
    """Return the number of declared variables: one more than the commas outside brackets."""
    depth, commas = 0, 0
    for mark in text:
        depth += (mark in "([{<") - (mark in ")]}>")
        commas += mark == "," and depth == 0
    return commas + 1


def _below(node: Node) -> Iterator[Node]:
    for child in node.children:
        yield child
        yield from _below(child)


# -- labels ----------------------------------------------------------------------------------------


def _labelled(node: Node) -> Node:
    """Return the statement after the labels in front of it."""
    while node.kind in _LABELS:
        node = node.children[-1]
    return node


def _has_label(node: Node) -> bool:
    """Return whether *node* contains a label of the enclosing switch."""
    if node.kind in _LABELS:
        return True
    return node.kind not in ("SWITCH_STMT", "LAMBDA_EXPR") and any(map(_has_label, node.children))


def _labels(scope: FunctionScope, node: Node) -> tuple[list[int], bool]:
    """Return the values of the labels in front of a statement, and whether one is ``default``."""
    labels: list[int] = []
    default = False
    while node.kind in _LABELS:
        if node.kind == "DEFAULT_STMT":
            default = True
        else:
            labels += _numbers(scope, node)
        node = node.children[-1]
    return labels, default


def _numbers(scope: FunctionScope, node: Node) -> range | list[int]:
    values = [scope.reader.value(child) for child in node.children[:-1]]
    ends = [int(value) for value in values if value is not None]
    if len(ends) != len(values) or ends[-1] - ends[0] >= _MOST:
        scope.refuse("case", f"a case is a constant, or a range of up to {_MOST} of them", node.span)
    return range(ends[0], ends[-1] + 1)


# -- labels inside other statements ---------------------------------------------------------------------


@define(eq=False)
class _Way:
    """The way to a label: the variable with the target's number (0 once reached), and ``numbers`` of the labels by node id."""

    scope: FunctionScope
    to: ir.LocalStorage
    numbers: dict[int, int]

    def test(self, op: str, value: int, span: ir.Span) -> ir.Compare:
        """Return the comparison of the variable with *value* by *op*."""
        return ir.Compare(op, ir.Load(self.to, span), number(value, t.INT32, span), span)

    def set(self, value: ir.Expr, span: ir.Span) -> ir.Evaluate:
        """Return a store of *value* to the variable."""
        return ir.Evaluate(ir.Assign(self.to, value, span), span)


def _entered(scope: FunctionScope, node: Node, value: ir.Expr, children: list[Node]) -> Statements:
    """Lower a switch with labels inside other statements."""
    span = node.span
    way = _Way(scope, scope.hold(t.INT32, span), {})
    sections = []
    for label in _labels_below(children):
        n = way.numbers[id(label)] = len(way.numbers) + 1
        default = label.kind == "DEFAULT_STMT"
        numbers = () if default else tuple(_numbers(scope, label))
        body = (way.set(number(n, t.INT32, span), span), ir.Break(span))
        sections.append(ir.Section(numbers, default, body, label.span))
    chosen = ir.Switch(value, tuple(sections), span)
    mark = len(scope.owned)
    inner = tuple(s for child in children for s in _toward(way, child))
    if len(scope.owned) > mark:
        scope.refuse("destructor", "declare an object with a destructor in front of this switch", span)
    none = way.set(number(-1, t.INT32, span), span)  # no label has this number
    # A switch of one section, which a break in the body leaves.
    whole = ir.Section((), True, inner, span)
    return [none, chosen, ir.Switch(number(0, t.INT32, span), (whole,), span)]


def _labels_below(children: list[Node]) -> Iterator[Node]:
    for child in children:
        if child.kind in _LABELS:
            yield child
        if child.kind not in ("SWITCH_STMT", "LAMBDA_EXPR"):
            yield from _labels_below(child.children)


def _toward(way: _Way, node: Node) -> Statements:
    """Lower a statement of the body, which runs once the label has been reached."""
    scope, span = way.scope, node.span
    if node.kind in _LABELS:
        met = ir.If(
            way.test("==", way.numbers[id(node)], span), (way.set(number(0, t.INT32, span), span),), (), span
        )
        return [met, *_toward(way, node.children[-1])]
    if not _has_label(node):
        statements = scope.statement(node)
        if not statements or (
            node.kind == "DECL_STMT"
            and all(isinstance(s, ir.Declare) and s.value is None for s in statements)
        ):
            return statements
        return [ir.If(way.test("==", 0, span), tuple(statements), (), span)]
    if node.kind == "COMPOUND_STMT":
        scope.blocks.append(span)
        inner = tuple(s for child in node.children for s in _toward(way, child))
        scope.blocks.pop()
        return [ir.Block(inner, span)]
    if node.kind == "IF_STMT" and all(part.type is not None for part in node.children[:1]):
        return [_if(way, node)]
    if node.kind in ("DO_STMT", "WHILE_STMT", "FOR_STMT"):
        return _loop(way, node)
    return scope.refuse(
        "case", "a case inside of this statement is not supported; put it into the body of the switch", span
    )


def _leads_into(way: _Way, node: Node, otherwise: ir.Expr) -> ir.Expr:
    """Return a test for a target label inside *node*, or else the test *otherwise*."""
    for label in _labels_below([node]):
        met = way.test("==", way.numbers[id(label)], node.span)
        otherwise = ir.Logical("||", met, otherwise, node.span)
    return otherwise


def _if(way: _Way, node: Node) -> ir.If:
    test, then, *other = node.children
    span = node.span
    # Before the label is reached, the label decides; after it, the test.
    behind = ir.Logical("&&", way.test("==", 0, span), way.scope.valued(test, t.BOOL), span)
    otherwise = tuple(s for part in other for s in _toward(way, part))
    return ir.If(_leads_into(way, then, behind), tuple(_toward(way, then)), otherwise, span)


def _loop(way: _Way, node: Node) -> Statements:
    scope, span = way.scope, node.span
    first, tested, step = scope.loop_parts(node)
    before = [] if first is None else _toward(way, first)
    test = None if tested is None else scope.valued(tested, t.BOOL)
    if test is not None and node.kind != "DO_STMT":
        test = ir.Logical("||", way.test("!=", 0, span), test, span)
    scope.loops += 1
    inner = tuple(_toward(way, node.children[0 if node.kind == "DO_STMT" else -1]))
    scope.loops -= 1
    loop = ir.Loop(test, step, inner, node.kind == "DO_STMT", span)
    return [*before, ir.If(_leads_into(way, node, way.test("==", 0, span)), (loop,), (), span)]
