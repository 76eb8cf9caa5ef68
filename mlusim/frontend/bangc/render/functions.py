"""Whole functions: code objects, and what they refer to."""

import ast
from types import CodeType

from attrs import frozen

from mlusim.errors import Unsupported
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc.ir.walk import casts, changed, walk
from mlusim.frontend.bangc.render import build as b
from mlusim.frontend.bangc.render import declarations, statements
from mlusim.frontend.bangc.render.context import Uses

DEEPEST = 20  # blocks of Python inside each other


@frozen(eq=False)
class Rendered:
    """A function as Python: its code, and what it refers to."""

    function: ir.Function
    code: CodeType
    uses: Uses


def initial(variable: ir.Global, expression: ir.Expr) -> tuple[ast.expr, Uses]:
    """Render the initial value of a host variable at file scope, an expression that is evaluated once."""
    c = statements.BodyContext()
    local = ir.Local(variable.name, variable.name, variable.type, "", variable.span, ir.Storage.CELL)
    return declarations.made(c, local, expression, variable.symbol), c.uses


def render(
    function: ir.Function, *, deep: bool = False, checked: bool = False, covered: bool = False
) -> Rendered:
    """*function* as a code object with its file, its lines and its display name.

    *deep* ones look how deep they are, *checked* ones report values that change without a word, *covered* ones statements and the outcomes of tests.
    """
    c = statements.BodyContext(symbol=function.symbol)
    c.names = frozenset(local.name for local in function.locals)
    c.checked, c.covered = checked, covered
    nodes = walk(function.body)
    c.changed, c.casts = changed(nodes), casts(nodes)
    c.steady.update(function.parameters)
    first = [s for p in function.parameters for s in declarations.arrives(c, p, function.symbol)]
    inner = [*first, *statements.body(c, function.body)] or [b.at(ast.Pass(), function.span)]
    if c.kept:
        none = ast.Assign([b.target(name) for name in c.kept], b.constant(None))
        inner.insert(0, ast.copy_location(none, inner[0]))
    if covered:
        inner = [*statements.passed(function.span), *inner]
    if deep:
        inner.insert(0, b.at(ast.Expr(b.call("_c_deeper")), function.span))
    rest = ast.arg(ir.REST) if function.variadic else None
    arguments = ast.arguments([], [ast.arg(p.name) for p in function.parameters], rest, [], [], None, [])
    definition = ast.FunctionDef("_", arguments, inner, [], None, None)
    definition.type_params = []  # type: ignore[attr-defined]  # of newer Pythons
    b.at(definition, function.span)
    module = ast.Module([definition], [])
    b.located(module, (1, 0, 1, 0))
    try:
        code = compile(module, function.span.file, "exec")
    except SyntaxError:  # nothing else can be wrong with the code that is made here
        where = f"{function.span.file}:{function.span.line}"
        raise Unsupported(
            f"{function.name} ({where}) has loops inside each other, deeper than the {DEEPEST} that Python takes; "
            "put the inner ones into a function"
        ) from None
    own = next(k for k in code.co_consts if isinstance(k, CodeType))
    return Rendered(function, own.replace(co_name=function.name, co_qualname=function.name), c.uses)
