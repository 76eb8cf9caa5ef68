"""Statements that leave others: ``goto``, and the ends of objects at the end of their block."""

from collections.abc import Callable

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir import (
    Finally,
    Goto,
    If,
    Labelled,
    Load,
    LocalStorage,
    Statement,
)  # fmt: skip
from mlusim.frontend.bangc.lower import endings
from mlusim.frontend.bangc.lower.scope import FunctionScope
from mlusim.frontend.bangc.parse.nodes import Node

Body = tuple[Statement, ...]
Lower = Callable[[FunctionScope, Node], list[Statement]]  # what makes statements of a node


def block(scope: FunctionScope, children: list[Node], statement: Lower) -> Body:
    """Return the statements of a block; objects that are declared there end with it."""
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
        scope.refuse("goto", f"this goto leads into the block of {label}, which is not supported", node.span)
    return [Goto(label, node.span)]
