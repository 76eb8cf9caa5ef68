"""Values that a user gives to variables, elements and members in a frame of BANG C, as C assigns them."""

from collections.abc import Callable, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any

from mlusim.debug.look.evaluate import Expression, c_scope, evaluate, reasons, typed
from mlusim.errors import UsageError
from mlusim.frontend.bangc.c_syntax import Foreign, NoExpression, parse_c

if TYPE_CHECKING:
    from mlusim.frontend.bangc.c_stores import Assignment
    from mlusim.machine.core import Core


def assigned(
    target: str,
    given: Expression,
    frame: FrameType | None,
    core: "Core | None",
    extra: Mapping[str, Any],
    bind: Callable[[FrameType, str, Any], None],
) -> "Assignment | None":
    """Return the assignment of *given* to *target* of C in *frame*; None where either is Python's, or no expression at all.

    *bind* gives a local of a frame a value.  Raises `UsageError` for a value that C does not convert to the target's type.
    """
    scope = c_scope(frame, extra)
    if scope is None:
        return None
    try:
        tree = parse_c(target, lambda name: scope.record(name) is not None)
    except NoExpression:
        return None
    value = typed(given, frame, core, extra)
    if value is None:
        value = scope.of_python(evaluate(given, frame, core, extra))
    try:
        with reasons(core):
            return scope.assignment(tree, value, bind)
    except Foreign:
        return None
    except NoExpression as refused:
        raise UsageError(f"{target} cannot be given {given.text}: {refused}") from None


def make(assignment: "Assignment", core: "Core | None") -> None:
    """Make an assignment without a trace in the machine but the bytes."""
    with reasons(core, stores=True):
        assignment.make()
