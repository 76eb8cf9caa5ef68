"""Changes by hand in a run: variables of a kernel, elements and bytes of memory.

The run forks at a change: from there on it differs from the program.  Every later run of the launch
repeats the change at its place, so that moving back and forth keeps it.
"""

import ctypes
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from mlusim.arch.dtypes import as_elements
from mlusim.bangc.c_syntax import Foreign, NoExpression, parse_c
from mlusim.counted import plural
from mlusim.debug.look.evaluate import Expression, ask, c_scope, parse, reasons
from mlusim.debug.look.paused_run import Focus, PausedRun
from mlusim.debug.look.places import locate, names_of, resolve
from mlusim.debug.run.tracer import Tracer
from mlusim.debug.source.frames import kernel_frames, name_of, stack_of, variables_of
from mlusim.debug.stop.stops import LINE, ByteSpan, Stop
from mlusim.errors import UsageError

if TYPE_CHECKING:
    from mlusim.bangc.c_scope import Assignment
    from mlusim.debug.session import DebugSession
    from mlusim.machine.core import Core


# User-defined values of variables, elements and members in a frame of BANG C, converted as C does.


def assigned(
    target: str,
    expression: Expression,
    frame: FrameType | None,
    core: "Core | None",
    extra: Mapping[str, Any],
    bind: Callable[[FrameType, str, Any], None],
) -> "Assignment | None":
    """Return the C assignment of *expression* to *target* in *frame*; None if either is Python, or not an expression.

    *bind* sets a local of a frame.  Raises `UsageError` for a value that C does not convert to the target's type.
    """
    scope = c_scope(frame, extra)
    if scope is None:
        return None
    try:
        tree = parse_c(target, lambda name: scope.struct(name) is not None)
    except NoExpression:
        return None
    answer = ask(expression, frame, core, extra)
    value = answer.typed or scope.of_python(answer.value)
    try:
        with reasons(core):
            return scope.assignment(tree, value, bind)
    except Foreign:
        return None
    except NoExpression as refused:
        raise UsageError(f"{target} cannot be given {expression.text}: {refused}") from None


def assign(session: "DebugSession", target: str, text: str) -> str:
    """Assign the value of *text* to *target*, a variable of the frame in focus or elements in memory; return a sentence about it.

    In a frame of BANG C both are C, and the value is converted as in C.
    Raises `UsageError` for an invalid target, and for a value outside of the target's type.
    """
    core, target = session.core(), target.strip()
    if core is None:
        raise UsageError("no task is running here, so there is nothing to change")
    code, level = parse(text), session.level
    typed = assigned(target, code, session.frame(), core, session.names(), _bind)
    became = f"{target} = {text.strip() if typed is None else typed.value.shown}"
    label = name_of(core)

    def apply(tracer: Tracer) -> None:
        focus = _there(session, tracer, label, level)
        _, own, frame = focus
        names = names_of(focus)
        typed = assigned(target, code, frame, own, names, _bind)
        if typed is not None:
            with reasons(own, stores=True):  # the machine changes only in these bytes
                typed.make()
            return
        value = ask(code, frame, own, names).value
        if target.isidentifier():
            _bind(frame, target, value)
        else:
            _store(focus, target, value)

    return _changed(session, became, apply)


def patch(session: "DebugSession", span: ByteSpan, raw: bytes) -> str:
    """Write *raw* to the first bytes of *span*."""
    label = span.owner if span.owner is not None and span.owner.startswith("task") else session.focus

    def apply(tracer: Tracer) -> None:
        allocation, start = locate(span, _there(session, tracer, label or "", 0))
        if start + len(raw) > allocation.nbytes:
            raise UsageError(
                f"{len(raw)} {plural(len(raw), 'byte')} do not fit at {span.text}; {allocation.nbytes - start} do"
            )
        allocation.raw[start : start + len(raw)] = np.frombuffer(raw, np.uint8)

    return _changed(session, f"{len(raw)} {plural(len(raw), 'byte')} at {span}", apply)


def _changed(session: "DebugSession", text: str, apply: Any) -> str:
    forked = bool(session.recorded.edits)
    goes_on = session.change(text, apply)
    launch = session.position.launch
    if not forked:
        text += f"\nlaunch {launch} forks here: from {session.place} on it is not what the program does"
    if not goes_on:
        text += "\nthe program has passed this launch; what comes behind it stays as it was"
    return text


def _there(session: "DebugSession", tracer: Tracer, label: str, level: int) -> Focus:
    """Return the run of *tracer* at its current position, the core *label*, and frame *level* of that core."""
    assert tracer.machine is not None
    own = next((core for core in tracer.cores if name_of(core) == label), None)
    paused = PausedRun(session.recorded, tracer.machine, tracer, Stop(session.position, LINE, own))
    frames = [] if own is None else stack_of(own) or list(kernel_frames(tracer.frame_of(own)))
    return Focus(paused, own, frames[min(level, len(frames) - 1)] if frames else None)


def _bind(frame: FrameType | None, name: str, value: object) -> None:
    """Assign *value* to a local variable."""
    if frame is None or name not in frame.f_locals:
        known = "" if frame is None else f"; there are {', '.join(variables_of(frame))}"
        raise UsageError(
            f"there is no variable {name} here{known}; elements of memory are written as {name}[0]"
        )
    frame.f_locals[name] = value
    if sys.version_info < (3, 13):  # from 3.13 on f_locals is writable
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))


def _store(focus: Focus, target: str, value: object) -> None:
    """Assign *value* to elements of memory."""
    span = resolve(target, focus)
    allocation, start = locate(span, focus)
    if span.dtype is None:
        raise UsageError(
            f"{target} has no element type; write it as elements of a pointer, as in p.cast(float32)[0]"
        )
    count = max(1, span.nbytes // span.dtype.size)
    array = np.ndarray((count,), span.dtype.dtype, allocation.raw, start)
    try:
        given = as_elements(value, span.dtype) if isinstance(value, list | tuple) else None
        array[...] = np.asarray(value).astype(span.dtype.dtype) if given is None else given
    except (ValueError, TypeError, OverflowError) as error:
        raise UsageError(f"{target} cannot hold {value!r:.60}: {error}") from None
