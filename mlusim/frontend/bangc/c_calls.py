"""Calls of functions of the sources in expressions of the debugger: of those that change nothing but their own variables."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mlusim.counted import plural
from mlusim.errors import UsageError, shown_file
from mlusim.frontend.bangc import ir, scalars
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.c_syntax import NoExpression
from mlusim.frontend.bangc.c_values import Typed, decayed
from mlusim.frontend.bangc.ir.walk import walk
from mlusim.frontend.bangc.runtime.layouts import NULL
from mlusim.frontend.bangc.runtime.resolve import layout
from mlusim.frontend.bangc.runtime.variables import Cell

if TYPE_CHECKING:
    from mlusim.frontend.bangc.c_scope import FrameNames


def functions_called(name: str, form: ir.TranslationUnit) -> list[ir.Function]:
    """Return the device functions of the source that a call of *name* may mean."""
    return [
        f
        for f in form.functions.values()
        if f.kind != "host" and (name in (f.name, f.scope + f.name) or f.name.partition("<")[0] == name)
    ]


def called(name: str, given: Sequence[Typed], scope: "FrameNames") -> Typed | None:
    """Return what a call of *name* returns; None where the source has no function of that name.

    Raises `NoExpression` for arguments that no function of the name takes, and `UsageError` for a function that
    changes more than its own variables, or that the kernel does not reach.
    """
    every = functions_called(name, scope.module)
    if not every:
        return None
    fitting = [f for f in every if len(f.parameters) == len(given)]
    if not fitting:
        counts = " or ".join(dict.fromkeys(str(len(f.parameters)) for f in every))
        raise NoExpression(
            f"{name} takes {counts} {plural(len(every[0].parameters), 'argument')}, not {len(given)}"
        )
    best = min(_distance(f, given) for f in fitting)
    chosen = [f for f in fitting if _distance(f, given) == best]
    if len(chosen) > 1:
        where = ", ".join(f"{shown_file(f.span.file)}:{f.span.line}" for f in chosen)
        raise NoExpression(f"{name} may be any of the functions at {where}; cast the arguments")
    function = chosen[0]
    # Its text decides, not a trial: what a call has changed in the machine could not be taken back.
    reason = _effect(function, scope.module, set())
    if reason:
        raise UsageError(f"{function.name} {reason}; an expression of the debugger changes nothing")
    code = scope.frame.f_globals.get(function.symbol)
    if code is None:
        raise UsageError(f"the kernel does not reach {function.name}, so it cannot be called here")
    made = [_argument(one, p) for one, p in zip(given, function.parameters, strict=True)]
    value = code(*made)
    kind = function.result
    if isinstance(kind, t.Pointer) and kind.reference:
        kind, value = kind.to, value[0]
    return Typed(value, kind, value if isinstance(kind, t.Record) else None, f"{name}()")


def _distance(function: ir.Function, given: Sequence[Typed]) -> int:
    """How many arguments are not of the type of their parameter."""
    return sum(
        str(decayed(one).type) != str(_plain(p.type))
        for one, p in zip(given, function.parameters, strict=True)
    )


def _plain(kind: t.Type) -> t.Type:
    return kind.to if isinstance(kind, t.Pointer) and kind.reference else kind


def _argument(given: Typed, parameter: ir.Local) -> Any:
    """*given* as the parameter holds it."""
    to = parameter.type
    reference = isinstance(to, t.Pointer) and to.reference
    kind, given = _plain(to), decayed(given)
    name = parameter.source_name or parameter.name
    if isinstance(kind, t.Arithmetic) and isinstance(given.type, t.Arithmetic):
        value = scalars.converted(given.number, kind)
        return Cell(layout(kind, lambda address, _: address, {}), value) if reference else value
    if isinstance(kind, t.Record) and isinstance(given.type, t.Record) and kind.name == given.type.name:
        return given.value
    same = isinstance(kind, t.Pointer) and isinstance(given.type, t.Pointer)
    if same and not reference and (kind == given.type or isinstance(kind.to, t.Void)):  # type: ignore[union-attr]
        return NULL if given.value is None else given.value
    raise NoExpression(f"parameter {name} has type {parameter.spelling}, and the value {given.type}; cast it")


# -- which functions change nothing ------------------------------------------------------------------


def _effect(function: ir.Function, form: ir.TranslationUnit, asked: set[str]) -> str:
    """Return what *function* changes besides its own variables, with the line; nothing where it only computes."""
    asked.add(function.symbol)
    if function.problem is not None or function.external:
        return "is not defined in a file that was loaded"
    for node in walk(function.body):
        what = _changes(node, form, asked)
        if what:
            return what if " of " in what else f"{what} at {shown_file(node.span.file)}:{node.span.line}"
    return ""


def _changes(node: object, form: ir.TranslationUnit, asked: set[str]) -> str:
    """Return what one node changes that is not the function's own."""
    match node:
        case ir.Assign() | ir.Update():
            return "" if _own(node.place) else "stores to what is not its own"
        case ir.Declare():
            kept = node.local.storage in (ir.Storage.STATIC, ir.Storage.MEMORY)
            return f"declares memory, {node.local.source_name}," if kept else ""
        case ir.Call():
            callee = form.functions.get(node.symbol)
            if callee is None:
                return f"calls {node.name}, which is in another file,"
            # A recursive call adds nothing to what is being looked at already.
            return "" if callee.symbol in asked else _effect(callee, form, asked)
        case ir.LibraryCall():
            # Functions of numbers compute; those that take a pointer, or return nothing, are there for their effect.
            plain = not isinstance(node.type, t.Void) and all(_number(a.type) for a in node.arguments)
            return "" if plain else f"calls {node.name}"
        case ir.IntrinsicCall():
            return f"executes {node.row}"
        case ir.Invoke() | ir.Dispatch() | ir.Asm():
            return "calls what is known only as it runs"
    return ""


def _number(kind: t.Type) -> bool:
    return isinstance(kind, t.Arithmetic)


def _own(place: object) -> bool:
    """Return whether *place* is a variable of the function itself, or a member of one."""
    inside = False
    while isinstance(place, ir.Member):
        place, inside = place.base, True
    if not isinstance(place, ir.LocalStorage):
        return False
    local = place.local
    reference = isinstance(local.type, t.Pointer) and local.type.reference
    given = inside and local.parameter  # the caller's own record, which the debugger hands over as it is
    return not (reference or given) and local.storage in (ir.Storage.VALUE, ir.Storage.CELL)
