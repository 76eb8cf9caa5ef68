"""Statements that leave others: ``goto``, ``try``, and the ends of objects at the end of their block."""

from collections.abc import Callable

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir import (
    AddressOf,
    Declare,
    Element,
    Expr,
    Finally,
    Goto,
    Handler,
    If,
    Labelled,
    Load,
    Local,
    LocalStorage,
    Span,
    Statement,
    Throw,
    Try,
)  # fmt: skip
from mlusim.frontend.bangc.lower import endings
from mlusim.frontend.bangc.lower.scope import FunctionScope, number, temporary
from mlusim.frontend.bangc.parse.nodes import Declaration, Node

Body = tuple[Statement, ...]
Lower = Callable[[FunctionScope, Node], list[Statement]]  # what makes statements of a node
Inner = Callable[[FunctionScope, Node], Body]


def block(scope: FunctionScope, children: list[Node], statement: Lower) -> Body:
    """The statements of a block; objects that are declared there end with it."""
    if any(child.kind == "LABEL_STMT" for child in children):
        return (_labelled(scope, children, statement),)
    made: list[Statement] = []
    for n, child in enumerate(children):
        mark = len(scope.owned)
        made += statement(scope, child)
        owned = scope.owned[mark:]
        del scope.owned[mark:]
        if owned:
            if child.kind != "DECL_STMT":
                scope.refuse(
                    "destructor", "declare an object with a destructor in a block of its own", child.span
                )
            rest = block(scope, children[n + 1 :], statement)
            for local in reversed(owned):
                last = endings.of_local(scope, local)
                said = scope.elided.get(local)
                if said is not None:  # the caller ends what is the result
                    held = LocalStorage(said, t.BOOL, local.span)
                    last = (If(Load(held, t.BOOL, local.span), (), last, local.span),)
                rest = (Finally(rest, last, local.span),)
            return (*made, *rest)
    return tuple(made)


def _labelled(scope: FunctionScope, children: list[Node], statement: Lower) -> Labelled:
    names: list[str] = []
    sections: list[list[Node]] = [[]]
    for child in children:
        node = child
        while node.kind == "LABEL_STMT":
            names.append(scope.around.unit.reader.text(node))
            sections.append([])
            node = node.children[-1]
        sections[-1].append(node)
    scope.labels.append(names)
    scope.loops += 1  # a goto leads back
    made = []
    for section in sections:
        inner = block(scope, section, statement)
        if section is not sections[-1] and any(isinstance(s, Finally) for s in inner):
            scope.refuse(
                "goto", "a label behind an object with a destructor is not supported", section[0].span
            )
        made.append(inner)
    scope.loops -= 1
    scope.labels.pop()
    return Labelled(tuple(made), tuple(names), children[0].span)


def goto(scope: FunctionScope, node: Node) -> list[Statement]:
    """``goto``, to a label of a block around it."""
    label = scope.around.unit.reader.text(node.children[0])
    if not any(label in names for names in scope.labels):
        scope.refuse(
            "goto", f"{label} is in a block that this goto is not in, which is not supported", node.span
        )
    return [Goto(label, node.span)]


# -- exceptions --------------------------------------------------------------------------------------


def attempt(scope: FunctionScope, node: Node, body: Inner) -> list[Statement]:
    """``try`` and its handlers."""
    inner = body(scope, node.children[0])
    handlers = []
    for child in node.children[1:]:
        scope.blocks.append(child.span)
        handlers.append(_handler(scope, child, body))
        scope.blocks.pop()
    return [Try(inner, tuple(handlers), node.span)]


def _handler(scope: FunctionScope, node: Node, inner: Inner) -> Handler:
    declared = next((c.decl for c in node.children if c.kind == "VAR_DECL"), None)
    if declared is None:
        return Handler("", None, inner(scope, node.children[-1]), node.span)
    kind = declared.type
    reference = isinstance(kind, t.Pointer) and kind.reference
    caught = kind.to if isinstance(kind, t.Pointer) and kind.reference else kind
    held = scope.hold(t.Pointer(caught) if isinstance(caught, t.Record) else caught, node.span)
    bound = _bound(scope, declared, held, caught, reference=reference, span=node.span)
    body = (bound, *inner(scope, node.children[-1]))
    return Handler(str(caught), held, body, node.span)


def _bound(
    scope: FunctionScope, declared: Declaration, held: Local, caught: t.Type, *, reference: bool, span: Span
) -> Declare:
    """The variable of a handler."""
    value: Expr = Load(LocalStorage(held, held.type, span), held.type, span)
    if isinstance(caught, t.Record):
        if not reference:
            value = Load(Element(value, number(0, t.INT64, span), caught, span), caught, span)
    elif reference:
        value = AddressOf(temporary(value), declared.type, span)
    return Declare(scope.add(declared), value, span)


def throw(value: Expr | None, node: Node) -> Throw:
    """``throw value`` and ``throw``."""
    if value is None:
        return Throw(None, (), t.VOID, node.span)
    kind = value.type
    if isinstance(kind, t.Array):
        kind = t.Pointer(kind.of)
    names = kind.names if isinstance(kind, t.Record) else (str(kind),)
    return Throw(value, names, t.VOID, node.span)
