"""Statements, declarations and whole functions in Python.

A switch is a chain of tests if no section falls through, else a loop that runs once. Statements with labels
are a loop that runs once, too; a goto sets the label at which the next iteration begins.
"""

import ast
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

from attrs import frozen

from mlusim.bangc import ir, names, types as t
from mlusim.bangc.ir.leaving import STAYING, Outliving
from mlusim.bangc.ir.waits import waits_of
from mlusim.bangc.ir.walk import casts, changed, parts_of, walk
from mlusim.bangc.render import emit as b
from mlusim.bangc.render.arithmetic import range_of
from mlusim.bangc.render.emit import PythonWalker, Range, StateMachine, Uses
from mlusim.bangc.render.values import VALUES, asked, assignment
from mlusim.bangc.runtime.ended import TEMPORARY
from mlusim.errors import Unsupported

Statements = list[ast.stmt]
Body = tuple[ir.Statement, ...]


def _suite(c: PythonWalker, statements: Body) -> Statements:
    """Return the statements, or ``pass`` if there are none, because Python requires one."""
    return c.body(statements) or [ast.Pass()]


def _loop(c: PythonWalker, node: ir.Loop) -> Statements:
    bounds = _bounds(c, node)
    outer = {name: c.ranges[name] for name in bounds if name in c.ranges}
    turns, c.turns = c.turns, True
    test = b.constant(True) if node.test is None else c.tested(node.test)
    c.ranges.update(bounds)
    c.loops += 1
    c.breaks.append(lambda: [ast.Break()])
    if node.late:
        loop = _late(c, node, test)
    else:

        def again() -> Statements:
            return [*_stepped(c, node.step), ast.Continue()]

        c.continues.append(again)
        inner = c.body(node.body)
        c.continues.pop()
        loop = [ast.While(test, [*inner, *_stepped(c, node.step)] or [ast.Pass()], [])]
    c.turns = turns
    c.breaks.pop()
    c.loops -= 1
    for name in bounds:
        del c.ranges[name]
    c.ranges.update(outer)
    return loop


def _stepped(c: PythonWalker, step: ir.Expr | None) -> Statements:
    """Render the step of a loop, which runs after each iteration."""
    if step is None:
        return []
    outer, c.stepping = c.stepping, True
    statements = c.located(c.evaluated(step), step)
    c.stepping = outer
    return statements


def _late(c: PythonWalker, node: ir.Loop, test: ast.expr) -> Statements:
    def again() -> Statements:
        assert node.test is not None
        return [ast.If(c.tested(node.test), [ast.Continue()], [ast.Break()])]

    c.continues.append(again)
    inner = c.body(node.body)
    c.continues.pop()
    ends = isinstance(test, ast.Constant) and test.value  # do ... while (true)
    leave: Statements = [] if ends else [ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], [])]
    return [ast.While(b.constant(True), [*inner, *leave] or [ast.Pass()], [])]


def _bounds(c: PythonWalker, node: ir.Loop) -> dict[str, Range]:
    """Return the range of the counter of ``for (...; i < n; ++i)`` in the loop body, if only the step changes it."""
    test, step = node.test, node.step
    if not (
        isinstance(test, ir.Compare)
        and test.op in ("<", "<=")
        and isinstance(step, ir.Update)
        and step.op == "+"
    ):
        return {}
    counter = test.left.place if isinstance(test.left, ir.Load) else None
    if not (isinstance(counter, ir.LocalStorage) and isinstance(step.place, ir.LocalStorage)):
        return {}
    local, kind = counter.local, counter.local.type
    plain = local.storage is ir.Storage.VALUE and isinstance(kind, t.Arithmetic) and kind.whole
    if not plain or step.place.local is not local or not isinstance(step.value, ir.Const):
        return {}
    if c.changed.get(local) != 1 and local in changed(walk(node.body)):  # not only the step
        return {}
    assert isinstance(kind, t.Arithmetic)
    if step.value.value <= 0:
        return {}
    limit = min(range_of(test.right, c.ranges)[1] - (test.op == "<"), kind.high)  # the test holds in the body
    only = c.changed.get(local) == 1 and limit + step.value.value <= kind.high  # and it never wraps
    first = c.begins.get(local.name, (kind.low, kind.high))[0] if only else kind.low
    return {local.name: (first, limit)}


# -- switches --------------------------------------------------------------------------------------


def _switch(c: PythonWalker, node: ir.Switch) -> Statements:
    """Render a switch: as a chain of tests if no section falls through, else as a loop that runs once."""
    name = c.temporary()
    assigned: Statements = [b.assign(b.target(name), asked(c, c.value(node.value), node.value))]
    closed = [_closed(s.body, last=s is node.sections[-1]) for s in node.sections]
    if len(closed) <= _MOST_CHAINED and all(part is not None for part in closed):
        return assigned + _chain(c, node, name, [part or () for part in closed])
    return assigned + _machine(c, node, name)


_MOST_CHAINED = 100  # limit of tests nested in else branches


def _flat(statements: Body) -> Body:
    """Return *statements* with blocks replaced by their contents."""
    out: list[ir.Statement] = []
    for node in statements:
        out.extend(_flat(node.body) if isinstance(node, ir.Block) else (node,))
    return tuple(out)


def _closed(statements: Body, *, last: bool) -> Body | None:
    """Return a section without its final break; None if it falls through or breaks in the middle."""
    flat = _flat(statements)
    ends = bool(flat) and isinstance(flat[-1], ir.Break | ir.Return | ir.Continue)
    if not ends and not last:
        return None
    if ends and isinstance(flat[-1], ir.Break):
        flat = flat[:-1]
    return None if any(_breaks(node) for node in flat) else flat


def _breaks(node: ir.Statement) -> bool:
    """Return whether *node* contains a break of the enclosing switch."""
    if isinstance(node, ir.Break):
        return True
    return any(_breaks(s) for part in parts_of(node) for s in part)


def _test(name: str, labels: tuple[int, ...]) -> ast.expr:
    if len(labels) == 1:
        return b.compare(b.name(name), ast.Eq(), b.constant(labels[0]))
    return b.compare(b.name(name), ast.In(), b.constant(labels))


def _chain(c: PythonWalker, node: ir.Switch, name: str, parts: list[Body]) -> Statements:
    tail: Statements = []
    cases: list[tuple[ir.Section, Statements]] = []
    for section, part in zip(node.sections, parts, strict=True):
        inner = c.body(part) or [b.at(ast.Pass(), section.span)]
        if section.default:
            tail = inner
        else:
            cases.append((section, inner))
    for section, inner in reversed(cases):
        tail = [b.at(ast.If(_test(name, section.labels), inner, tail), section.span)]
    return tail


def _machine(c: PythonWalker, node: ir.Switch, name: str) -> Statements:
    """Render a switch as a ``while True`` that runs once, with a flag that says that a label has matched."""
    inside, again = c.temporary(), c.temporary()
    every = tuple(label for s in node.sections for label in s.labels)
    outer = c.continues[-1] if c.continues else None

    # This loop is not in the source: a continue leaves it, and is repeated after it for the source's loop.
    def leave() -> Statements:
        return [b.at(b.assign(b.target(again), b.constant(True)), node.span), b.at(ast.Break(), node.span)]

    c.continues.append(leave)
    c.breaks.append(lambda: [b.at(ast.Break(), node.span)])
    c.loops += 1
    parts: Statements = []
    for section in node.sections:
        tests: list[ast.expr] = [b.name(inside)]
        if section.labels:
            tests.append(_test(name, section.labels))
        if section.default:
            # All labels are compared before default is chosen, wherever it is written.
            tests.append(b.compare(b.name(name), ast.NotIn(), b.constant(every)))
        entered = b.assign(b.target(inside), b.constant(True))
        entry = ast.If(ast.BoolOp(ast.Or(), tests), [entered, *c.body(section.body)], [])
        parts.append(b.at(entry, section.span))
    c.loops -= 1
    c.breaks.pop()
    c.continues.pop()
    statements: Statements = [
        ast.Assign([b.target(inside), b.target(again)], b.constant(False)),
        ast.While(b.constant(True), [*parts, ast.Break()], []),
    ]
    return statements if outer is None else [*statements, ast.If(b.name(again), outer(), [])]


# -- gotos, and the destruction of objects ---------------------------------------------------------


def _labelled(c: PythonWalker, node: ir.Labelled) -> Statements:
    """Render statements with labels."""
    left = c.temporary()  # 1: left by a break, 2: by a continue, of the enclosing loop or switch
    machine = StateMachine(c.temporary(), c.temporary(), node.labels, c.loops + 1)
    outer = [c.breaks[-1] if c.breaks else None, c.continues[-1] if c.continues else None]

    def leave(how: int) -> Statements:
        return [b.at(b.assign(b.target(left), b.constant(how)), node.span), b.at(ast.Break(), node.span)]

    c.machines.append(machine)
    c.breaks.append(lambda: leave(1))
    c.continues.append(lambda: leave(2))
    c.loops += 1
    turns, c.turns = c.turns, True  # a goto leads back
    turn: Statements = [b.assign(b.target(machine.pending), b.constant(False))]
    for n, section in enumerate(node.sections):
        inner = c.body(section)
        if inner:
            # Sections before the label of a goto are skipped.
            test = b.compare(b.name(machine.start), ast.LtE(), b.constant(n))
            turn.append(ast.If(test, inner, []))
    c.turns = turns
    c.loops -= 1
    c.continues.pop()
    c.breaks.pop()
    c.machines.pop()
    statements: Statements = [
        ast.Assign([b.target(machine.start), b.target(left)], b.constant(0)),
        ast.While(b.constant(True), [*turn, ast.Break()], []),
    ]
    for how, jump in enumerate(outer, 1):
        if jump is not None:
            test = b.compare(b.name(left), ast.Eq(), b.constant(how))
            statements.append(ast.If(test, jump(), []))
    return statements


def _goto(c: PythonWalker, node: ir.Goto) -> Statements:
    """Render a goto: the next iteration of its loop begins at the label."""
    machine = next(m for m in reversed(c.machines) if node.label in m.labels)
    number = machine.labels.index(node.label) + 1
    jump: Statements = [b.assign(b.target(machine.start), b.constant(number))]
    if machine.level == c.loops:  # no other Python loop must be left first
        return [*jump, ast.Continue()]
    return [*jump, b.assign(b.target(machine.pending), b.constant(True)), ast.Break()]


def _onward(c: PythonWalker, node: Any) -> Statements:
    """Render the jumps after a loop or a switch that a goto leaves."""
    wanted = {n.label for n in walk(node) if isinstance(n, ir.Goto)} if c.machines else set()
    jumps: Statements = []
    for machine in c.machines:
        if wanted & {*machine.labels}:
            jump: ast.stmt = ast.Continue() if machine.level == c.loops else ast.Break()
            jumps.append(b.at(ast.If(b.name(machine.pending), [jump], []), node.span))
    return jumps


def _ended(c: PythonWalker, node: ir.Finally) -> Statements:
    """Render a block, and the statements that run when it is left."""
    last = ast.If(b.call("_c_ending"), c.body(node.last), [])
    return [ast.Try(_suite(c, node.body), [], [], [last])]


# Declarations of locals, by storage class.


def _declare(c: PythonWalker, node: ir.Declare) -> list[ast.stmt]:
    """Return the statement that creates a local."""
    local = node.local
    if local.storage is ir.Storage.STATIC:
        c.inside = True
        body = local_object(c, local, node.value)
        if local.fixed:
            body = b.call("_c_fixed", body, b.constant(local.fixed))
        # A lambda, because a static variable is initialised only once: when its declaration is first reached.
        maker = ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)
        c.inside = False
        once = b.call("_c_static", b.constant(local.home), maker)
        return [b.assign(b.target(local.name), once)]
    _note(c, local, node.value)
    return [b.assign(b.target(local.name), _outliving(c, local, local_object(c, local, node.value)))]


def _outliving(c: PythonWalker, local: ir.Local, variable: ast.expr) -> ast.expr:
    """Return *variable*, the object of a local, registered if pointers may outlive it."""
    if local not in c.outliving.locals:
        return variable
    return b.registered(variable, local.name, local.source_name or TEMPORARY)


def _note(c: PythonWalker, local: ir.Local, initial: ir.Expr | None) -> None:
    """Record the range of a local whose initial value is *initial*."""
    kind = local.type
    # Outside loops it is declared once, so its range is valid to the end of the function.
    if not c.turns:
        c.steady.add(local)
    if initial is None or local.storage is not ir.Storage.VALUE or not isinstance(kind, t.Arithmetic):
        return
    if kind.whole:
        bounds = range_of(initial, c.ranges)
        c.begins[local.name] = bounds
        if local not in c.changed:
            c.ranges[local.name] = bounds


def _arrives(c: PythonWalker, local: ir.Local) -> list[ast.stmt]:
    """Render the preparation of a parameter that is not a plain value; the caller passed a number, a pointer or a copy."""
    if isinstance(local.type, t.VectorRegister):
        return [b.at(b.assign(b.target(local.name), b.call("_c_copy", b.name(local.name))), local.span)]
    if local.storage is ir.Storage.VALUE or isinstance(local.type, t.ClassType):
        return []
    if isinstance(local.type, t.Struct) and local.storage is ir.Storage.CELL:
        if local not in c.outliving.locals:
            return []
        registered = _outliving(c, local, b.name(local.name))
        return [b.at(b.assign(b.target(local.name), registered), local.span)]
    plain = ir.Local(local.name, local.source_name, local.type, local.spelling, local.span)
    argument = ir.Load(ir.LocalStorage(plain, local.span), local.span)
    arrived = _outliving(c, local, local_object(c, local, argument))
    return [b.at(b.assign(b.target(local.name), arrived), local.span)]


def local_object(c: PythonWalker, local: ir.Local, initial: ir.Expr | None) -> ast.expr:
    """Return the expression that creates the object of a local."""
    kind = local.type
    if local.in_memory:
        return _memory(c, local, initial)
    unset = c.checked and initial is None and local.begins_unset
    if isinstance(kind, t.Struct | t.ClassType | t.Array):
        whole = b.call(b.attribute(c.layout(kind), "make")) if initial is None else c.value(initial)
        return b.call("_c_unset", whole, b.constant(local.source_name)) if unset else whole
    if isinstance(kind, t.VectorRegister):
        if initial is None or isinstance(initial, ir.Compose):
            return b.call(b.attribute(c.layout(kind), "make"))
        return b.call("_c_copy", c.value(initial))
    value = zero(kind) if initial is None else c.value(initial)
    if unset:
        value = b.call("_c_unset", value, b.constant(local.source_name))
    if c.checked and local.constant and local.storage is ir.Storage.CELL:
        return b.call("_c_fixed_Cell", c.layout(kind), value, b.constant(local.constant))
    return value if local.storage is ir.Storage.VALUE else b.call("_c_Cell", c.layout(kind), value)


def zero(kind: t.Type) -> ast.expr:
    """Return the value of a variable without initialiser, which C leaves undefined."""
    if isinstance(kind, t.Arithmetic):
        return b.constant({"float": 0.0, "bool": False}.get(kind.kind, 0))
    return b.name("_c_null")


def _memory(c: PythonWalker, local: ir.Local, initial: ir.Expr | None) -> ast.expr:
    """Render a local in simulated memory; later calls of the function reuse the same bytes."""
    key = b.constant(f"{c.symbol}.{local.name}")
    if local.space == "ldram" and c.deep:  # on the stack: each recursive call has its own
        key = ast.Tuple([key, b.name(_LEVEL)], b.LOAD)
    space = "stack" if local.stack else local.space or "ldram"
    arguments = [b.constant((space, local.source_name, local.align)), key, c.layout(local.type)]
    if initial is not None:
        # A table of constants is one Python constant, not a list that every call builds.
        numbers = _numbers(initial)
        arguments.append(c.value(initial) if numbers is None else b.constant(numbers))
    constant = c.checked and local.constant and initial is not None
    return b.call("_c_constant_local" if constant else "_c_local", *arguments)


def _numbers(initial: ir.Expr) -> tuple[float, ...] | None:
    """Return the elements of an array of numbers with constant initialisers only, or None."""
    if not isinstance(initial, ir.Compose) or not isinstance(initial.type, t.Array):
        return None
    if not isinstance(initial.type.of, t.Arithmetic):
        return None
    numbers = tuple(v.value for v in initial.values if isinstance(v, ir.Const))
    return numbers if len(numbers) == len(initial.values) else None


STATEMENTS: Mapping[type, Callable[[PythonWalker, Any], Statements]] = {
    ir.Declare: _declare,
    ir.Evaluate: lambda c, node: c.evaluated(node.value),
    ir.If: lambda c, node: [ast.If(c.tested(node.test), _suite(c, node.then), c.body(node.other))],
    ir.Loop: _loop,
    ir.Switch: _switch,
    ir.Break: lambda c, _: c.breaks[-1]() if c.breaks else [ast.Break()],
    ir.Continue: lambda c, _: c.continues[-1](),
    ir.Return: lambda c, node: [ast.Return(None if node.value is None else c.value(node.value))],
    ir.Block: lambda c, node: c.body(node.body) if node.body else [ast.Pass()],
    ir.Labelled: _labelled,
    ir.Goto: _goto,
    ir.Finally: _ended,
}


class PythonFunction(PythonWalker):
    """A function during its rendering in Python, with this room's tables."""

    values, statements = VALUES, STATEMENTS

    def truth(self, test: ir.Expr) -> ast.expr:
        """Render the value of a number or a pointer as a condition: null pointers and zeros are false."""
        value = self.value(test)
        decided = isinstance(test, ir.Compare | ir.Logical) or (isinstance(test, ir.Unary) and test.op == "!")
        return value if decided else asked(self, value, test)

    def located(self, rendered: Statements, node: ir.Statement | ir.Expr) -> Statements:
        """Set the location of *rendered*, the statement or step *node*, and add the jumps of gotos that leave it."""
        placed = [b.at(s, node.span) if not hasattr(s, "lineno") else s for s in rendered]
        return placed + _onward(self, node) if isinstance(node, ir.Loop | ir.Switch | ir.Labelled) else placed

    def chosen(self, node: ir.Conditional) -> Statements:
        """Render a conditional expression for its effect."""
        test = self.tested(node.test)
        then, other = (self.located(self.evaluated(part), node) for part in (node.then, node.other))
        return [ast.If(test, then or [ast.Pass()], other)]

    def effect(self, node: ir.Expr) -> Statements:
        """Render the effect of any other expression."""
        return (
            assignment(self, node)
            if isinstance(node, ir.Assign | ir.Update)
            else [ast.Expr(self.value(node))]
        )


# Whole functions as code objects with their references.

_LEVEL = f"{names.OWN}level"  # recursion depth of a function
DEEPEST = 20  # limit of nested blocks in Python's compiler (CO_MAXBLOCKS)


@frozen(eq=False)
class Rendered:
    """A function rendered in Python: its code and its references."""

    function: ir.Function
    code: CodeType
    uses: Uses


def initial(variable: ir.Global, expression: ir.Expr) -> tuple[ast.expr, Uses]:
    """Render the initial value of a host variable at file scope, an expression evaluated once."""
    c = PythonFunction(symbol=variable.symbol)
    local = ir.Local(variable.name, variable.name, variable.type, "", variable.span, ir.Storage.CELL)
    return local_object(c, local, expression), c.uses


def _ending(function: ir.Function, inner: Statements) -> Statements:
    """Return the statements *inner* of a function, and the end of its variables after them, however it returns."""
    begun = b.at(b.assign(b.target(b.FRAME), ast.Dict([], [])), function.span)
    ended = ast.Expr(b.call("_c_end_all", b.name(b.FRAME), b.constant(function.name)))
    last = function.span._replace(
        line=function.end or function.span.line, end_line=function.end or function.span.line
    )
    return [begun, b.at(ast.Try(inner, [], [], [b.at(ended, last)]), function.span)]


def render(
    function: ir.Function,
    *,
    leaving: Outliving = STAYING,
    deep: bool = False,
    checked: bool = False,
    covered: bool = False,
) -> Rendered:
    """Render *function* as a code object with its file, lines and display name.

    When it returns, the variables *leaving* end. A *deep* function counts its recursion depth; a *checked* one
    reports values that change silently; a *covered* one reports statements and outcomes of tests.
    """
    c = PythonFunction(symbol=function.symbol, checked=checked, covered=covered, deep=deep, outliving=leaving)
    c.names = frozenset(local.name for local in function.locals)
    nodes = walk(function.body)
    c.changed, c.casts = changed(nodes), casts(nodes)
    c.steady.update(function.parameters)
    c.waits = waits_of(function)
    first = [s for p in function.parameters for s in _arrives(c, p)]
    inner = [*first, *c.body(function.body)] or [b.at(ast.Pass(), function.span)]
    if c.cast_names:
        none = ast.Assign([b.target(name) for name in c.cast_names], b.constant(None))
        inner.insert(0, ast.copy_location(none, inner[0]))
    inner = [*c.passed(function.span), *inner]
    if leaving:
        inner = _ending(function, inner)
    if deep:
        inner.insert(0, b.at(b.assign(b.target(_LEVEL), b.call("_c_deeper")), function.span))
    code = _compiled(function, inner)
    return Rendered(function, code.replace(co_name=function.name, co_qualname=function.name), c.uses)


def _compiled(function: ir.Function, inner: Statements) -> CodeType:
    """Return the code of *function*, whose statements are *inner*."""
    rest = ast.arg(ir.REST) if function.variadic else None
    arguments = ast.arguments([], [ast.arg(p.name) for p in function.parameters], rest, [], [], None, [])
    definition = ast.FunctionDef("_", arguments, inner, [], None, None)
    definition.type_params = []  # type: ignore[attr-defined]  # of newer Pythons
    b.at(definition, function.span)
    module = ast.Module([definition], [])
    try:
        b.located(module, (1, 0, 1, 0))
        code = compile(module, function.span.file, "exec")
    except (SyntaxError, RecursionError) as error:  # other errors cannot occur in rendered code
        where = f"{function.name} ({function.span.file}:{function.span.line})"
        if isinstance(error, RecursionError):
            raise Unsupported(f"{where} is nested too deeply; put parts of it into functions") from None
        raise Unsupported(
            f"{where} has loops inside each other, deeper than the {DEEPEST} that Python takes; put the inner ones into a function"
        ) from None
    return next(k for k in code.co_consts if isinstance(k, CodeType))
