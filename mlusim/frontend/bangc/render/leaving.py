"""Statements that leave others, in Python: gotos, and the ends of objects.

Statements with labels are a loop that runs once; a goto says at which label the next turn begins.
"""

import ast
from typing import TYPE_CHECKING, Any

from attrs import define

from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc.ir.walk import walk
from mlusim.frontend.bangc.render import build as b

if TYPE_CHECKING:
    from mlusim.frontend.bangc.render.statements import BodyContext

Statements = list[ast.stmt]


@define
class Machine:
    """The loop that a `Labelled` is: its variables, its labels, and how many loops are around its sections."""

    start: str
    pending: str
    labels: tuple[str, ...]
    level: int


def labelled(c: "BodyContext", node: ir.Labelled) -> Statements:
    """Render statements that have labels among them."""
    from mlusim.frontend.bangc.render.statements import body  # noqa: PLC0415 - two halves of one subject

    left = c.temporary()
    machine = Machine(c.temporary(), c.temporary(), node.labels, c.loops + 1)
    outer = [c.breaks[-1] if c.breaks else None, c.continues[-1] if c.continues else None]

    def leave(how: int) -> Statements:
        return [b.at(b.assign(b.target(left), b.constant(how)), node.span), b.at(ast.Break(), node.span)]

    c.machines.append(machine)
    c.breaks.append(lambda: leave(1))
    c.continues.append(lambda: leave(2))
    c.loops += 1
    turns, c.turns = c.turns, True  # a goto leads back
    turn: Statements = [b.at(b.assign(b.target(machine.pending), b.constant(False)), node.span)]
    for n, section in enumerate(node.sections):
        inner = body(c, section)
        if inner:
            test = b.compare(b.name(machine.start), ast.LtE(), b.constant(n))
            turn.append(b.at(ast.If(test, inner, []), node.span))
    c.turns = turns
    c.loops -= 1
    c.continues.pop()
    c.breaks.pop()
    c.machines.pop()
    zero = ast.Assign([b.target(machine.start), b.target(left)], b.constant(0))
    made: Statements = [
        b.at(zero, node.span),
        b.at(ast.While(b.constant(True), [*turn, b.at(ast.Break(), node.span)], []), node.span),
    ]
    for how, jump in enumerate(outer, 1):
        if jump is not None:
            test = b.compare(b.name(left), ast.Eq(), b.constant(how))
            made.append(b.at(ast.If(test, jump(), []), node.span))
    return made


def goto(c: "BodyContext", node: ir.Goto) -> Statements:
    """A goto: the next turn of its loop begins at the label."""
    machine = next(m for m in reversed(c.machines) if node.label in m.labels)
    number = machine.labels.index(node.label) + 1
    made: Statements = [b.assign(b.target(machine.start), b.constant(number))]
    if machine.level == c.loops:
        return [*made, ast.Continue()]
    return [*made, b.assign(b.target(machine.pending), b.constant(True)), ast.Break()]


def onward(c: "BodyContext", node: Any) -> Statements:
    """Render the statements behind a loop out of which there are gotos."""
    wanted = {n.label for n in walk(node) if isinstance(n, ir.Goto)} if c.machines else set()
    made: Statements = []
    for machine in c.machines:
        if wanted & {*machine.labels}:
            jump: ast.stmt = ast.Continue() if machine.level == c.loops else ast.Break()
            made.append(b.at(ast.If(b.name(machine.pending), [b.at(jump, node.span)], []), node.span))
    return made


def ended(c: "BodyContext", node: ir.Finally) -> Statements:
    """A block, and what happens where it is left."""
    from mlusim.frontend.bangc.render.statements import body, suite  # noqa: PLC0415 - two halves of one subject

    last = b.at(ast.If(b.call("_c_ending"), body(c, node.last), []), node.span)
    return [ast.Try(suite(c, node.body, node.span), [], [], [last])]
