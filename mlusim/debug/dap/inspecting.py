"""Requests that inspect: threads, stack, scopes, values, memory, sources, the writer of a byte, the cause of a value."""

import base64
import binascii
from pathlib import Path
from typing import Any

from mlusim.counted import plural
from mlusim.debug import editing, values
from mlusim.debug.asking import cause_of, writer_of
from mlusim.debug.console.command import find_command
from mlusim.debug.dap.state import (
    ENDED_THREAD,
    Arguments,
    Body,
    FrameAt,
    Handler,
    State,
    VariableGroup,
    child_of,
    found_by,
    memory_reference,
    moved,
    name_in,
    progressing,
    source_of,
    span_at,
    thread_name,
    thread_number,
)
from mlusim.debug.look.c_shown import displayed
from mlusim.debug.look.clock import PredictedTimes, clock_of
from mlusim.debug.look.describe import op_text
from mlusim.debug.look.origins import DEPTH, Origin
from mlusim.debug.look.paused_run import PausedRun
from mlusim.debug.look.places import locate
from mlusim.debug.run.runs import RunListener
from mlusim.debug.source.frames import name_of, place_of, variables_of
from mlusim.debug.stop.stops import BEGIN, FINISH, ISSUE, Op, Position
from mlusim.errors import Fault, UsageError

LONGEST = 1 << 20  # bytes of memory that one request reads


# -- tasks and frames --------------------------------------------------------------------------------


def _threads(state: State, _arguments: Arguments) -> Body:
    session = state.session
    # At the end all tasks have ended; after a fault they are still where they stopped.
    tasks = () if session.position.at_end and session.stop.error is None else values.tasks(session)
    threads = [
        {"id": thread_number(t.name), "name": f"{t.name}: {t.state}" + (f", {t.waits}" if t.waits else "")}
        for t in tasks
    ]
    recorded = session.recorded  # its thread represents everything outside of tasks
    launch = {"id": ENDED_THREAD, "name": f"launch {recorded.index}: {recorded.kernel}"}
    return {"threads": threads or [launch]}


def _stack(state: State, arguments: Arguments) -> Body:
    session = state.session
    name = thread_name(arguments["threadId"])
    if name is None:
        return {"stackFrames": [], "totalFrames": 0}
    frames = values.frames(session, name)
    first = int(arguments.get("startFrame") or 0)
    levels = int(arguments.get("levels") or 0) or len(frames)
    stop = session.stop
    # The address is the next moment, which is one more than the last one if lines of the kernel have run
    # since.  The moment of an end exceeds the addresses that editors can write, so that a smaller number
    # represents it.
    passed = session.position.moment + (session.position.lines > 0)
    here = hex(stop.op.moment if stop.op is not None else min(passed, 1 << 40))
    shown = [
        {
            "id": state.number(FrameAt(name, frame.level)),
            "name": frame.function,
            "source": source_of(frame.file),
            "line": frame.line,
            "column": 1,
            "instructionPointerReference": here,
        }
        for frame in frames[first : first + levels]
    ]
    return {"stackFrames": shown, "totalFrames": len(frames)}


def _scopes(state: State, arguments: Arguments) -> Body:
    frame = state.target(arguments["frameId"], FrameAt)
    frame.focus(state.session)
    hints = {"locals": "locals", "arguments": "arguments"}
    return {
        "scopes": [
            {
                "name": scope.title,
                "variablesReference": state.number(VariableGroup(frame, scope.variables)),
                "namedVariables": len(scope.variables),
                # Editors expand cheap scopes automatically; these read many bytes.
                "expensive": scope.kind in ("tensors", "memories"),
                **({"presentationHint": hints[scope.kind]} if scope.kind in hints else {}),
            }
            for scope in values.scopes(state.session)
        ]
    }


def _variables(state: State, arguments: Arguments) -> Body:
    held = state.target(arguments["variablesReference"], VariableGroup)
    held.frame.focus(state.session)
    first = int(arguments.get("start") or 0)
    count = int(arguments.get("count") or 0) or None
    if held.whole is None:
        parts = list(held.variables)[first : None if count is None else first + count]
    else:
        parts = values.parts(held.whole, first, count, state.session.look())
    return {"variables": [_variable(state, held.frame, part) for part in parts]}


def _variable(state: State, frame: FrameAt, variable: values.Variable) -> dict[str, Any]:
    body: dict[str, Any] = {"name": variable.name, **_shown(state, frame, variable), "value": variable.text}
    if variable.path:
        body["evaluateName"] = variable.path
    return body


def _shown(state: State, frame: FrameAt, variable: values.Variable) -> dict[str, Any]:
    """Return the type, the number of parts and the memory reference of a value, for variables and results."""
    count = variable.count
    body: dict[str, Any] = {
        "type": variable.type,
        "variablesReference": state.number(VariableGroup(frame, (), variable)) if count else 0,
    }
    if count:
        body["indexedVariables"] = count
    reference = memory_reference(state.session, variable)
    if reference is not None:
        body["memoryReference"] = reference
    return body


# -- assignments and evaluation ----------------------------------------------------------------------


def _set_variable(state: State, arguments: Arguments) -> Body:
    held = state.target(arguments["variablesReference"], VariableGroup)
    held.frame.focus(state.session)
    name = child_of(held, str(arguments["name"]))
    return _assigned(state, held.frame, name, str(arguments["value"]))


def _set_expression(state: State, arguments: Arguments) -> Body:
    frame = _frame(state, arguments)
    return _assigned(state, frame, str(arguments["expression"]), str(arguments["value"]))


def _assigned(state: State, frame: FrameAt, name: str, text: str) -> Body:
    told = editing.assign(state.session, name, text)
    # The editor shows the new value itself; the rest of the answer goes to its console.
    if "\n" in told:
        state.connection.event("output", {"category": "important", "output": told + "\n"})
    evaluated = _evaluated(state, name)
    return {"value": evaluated.text, **_shown(state, frame, evaluated)}


def _evaluate(state: State, arguments: Arguments) -> Body:
    """Return the value of an expression; in the editor's console also execute a command of the debugger."""
    frame = _frame(state, arguments)
    text = str(arguments["expression"]).strip()
    if arguments.get("context") == "repl" and _is_command(state, text):
        return {"result": _commanded(state, text), "variablesReference": 0}
    # A comma before it marks an expression, even if it looks like a command.
    text = text.removeprefix(",")
    evaluated = _evaluated(state, text)
    return {"result": evaluated.text, **_shown(state, frame, evaluated)}


def _is_command(state: State, text: str) -> bool:
    """Return whether *text* is a command, not an expression that begins with a variable of that name."""
    word = text.partition(" ")[0].partition("/")[0]
    if word in _names(state):
        return False
    assert state.console is not None
    try:
        find_command(word, state.console.commands)
    except UsageError:
        return False
    return True


def _commanded(state: State, text: str) -> str:
    """Execute a command and return its text; if it has moved, report the stop to the editor."""
    assert state.console is not None
    before = state.session.stop
    reply = state.console.execute(text)
    if not reply.ok:
        raise UsageError(reply.text.removeprefix("error: "))
    if state.session.stop is not before:
        moved(state, lambda _: None, "goto")
    return reply.text


def _evaluated(state: State, text: str) -> values.Variable:
    session = state.session
    return values.variable(text, displayed(session.ask(text)), session.look())


def _frame(state: State, arguments: Arguments) -> FrameAt:
    """Return the frame named in a request, or the one in focus."""
    number = arguments.get("frameId")
    if number is None:
        return FrameAt(state.session.focus or "", state.session.level)
    frame: FrameAt = state.target(number, FrameAt)
    frame.focus(state.session)
    return frame


def _completions(state: State, arguments: Arguments) -> Body:
    _frame(state, arguments)
    # The protocol counts columns from 1.
    text = str(arguments["text"])[: max(0, int(arguments["column"]) - 1)]
    assert state.console is not None
    last = text.split(" ")[-1]
    words = state.console.complete(text)
    if " " not in text.strip():
        words = sorted({*words, *(n for n in _names(state) if n.startswith(last))})
    start = len(text) - len(last)
    return {"targets": [{"label": word, "start": start, "length": len(last)} for word in words]}


def _names(state: State) -> list[str]:
    frame = state.session.frame()
    return [] if frame is None else list(variables_of(frame))


# -- memory ------------------------------------------------------------------------------------------


def _read_memory(state: State, arguments: Arguments) -> Body:
    session = state.session
    reference, offset = str(arguments["memoryReference"]), int(arguments.get("offset") or 0)
    # An invalid reference is an error, whatever the offset.
    begins = span_at(session, reference, 0)
    count = int(arguments["count"])
    if not 0 <= count <= LONGEST:
        raise UsageError(
            f"{count} {plural(count, 'byte is', 'bytes are')} not read at once; at most {LONGEST} are"
        )
    try:
        span = span_at(session, reference, offset)
        allocation, start = locate(span, session.in_focus())
    except UsageError:
        # The protocol's answer for unreadable memory is not an error; the next readable byte is that of the
        # reference.
        missing = min(count, -offset) if offset < 0 else count
        return {"address": hex(max(begins.low + offset, 0)), "unreadableBytes": missing}
    raw = bytes(allocation.raw[start : start + count])
    body: dict[str, Any] = {"address": hex(span.low), "data": base64.b64encode(raw).decode()}
    return body | ({"unreadableBytes": count - len(raw)} if len(raw) < count else {})


def _write_memory(state: State, arguments: Arguments) -> Body:
    span = span_at(state.session, str(arguments["memoryReference"]), int(arguments.get("offset") or 0))
    try:
        raw = base64.b64decode(str(arguments["data"]), validate=True)
    except (binascii.Error, ValueError) as error:
        raise UsageError(f"the bytes to write are not base64: {error}") from None
    told = editing.patch(state.session, span, raw)
    state.connection.event("output", {"category": "important", "output": told + "\n"})
    return {"bytesWritten": len(raw)}


def _disassemble(state: State, arguments: Arguments) -> Body:
    """Return operations as instructions with their predicted cost; the address of each is its moment.

    Later operations are read from a run of the launch that continues; a launch without a predicted time may be
    endless.
    """
    session = state.session
    clock = _clock(state)
    first = int(str(arguments["memoryReference"]), 0) + int(arguments.get("instructionOffset") or 0)
    # Limited here, since the editor chooses the count.
    last = first + min(int(arguments["instructionCount"]), 4096) - 1
    paused = session.watched(history=True)
    shown = {op.moment: _instruction(clock, paused, op) for op in paused.recent}
    ends = session.recorded.moments
    if clock is not None and not session.position.at_end and last > session.position.moment:
        here = session.position
        with session.beside(Position(here.launch, last), since=here.moment, watching=_Passing()) as coming:
            shown = {op.moment: _instruction(clock, coming, op) for op in coming.recent} | shown
        ends = session.recorded.moments
    rows = []
    for moment in range(first, last + 1):
        behind = ends is not None and moment > ends
        text = (
            "(the launch is over)" if behind else "(before the launch)" if moment < 1 else "(not known here)"
        )
        nothing = {"instruction": text, "presentationHint": "invalid"}
        rows.append({"address": hex(max(moment, 0))} | shown.get(moment, nothing))
    return {"instructions": rows}


class _Passing(RunListener):
    """Listens to a run that may end before its target moment; the run itself records its last operations."""

    name = "passing"


def _instruction(clock: PredictedTimes | None, paused: PausedRun, op: Op) -> dict[str, Any]:
    """Return an operation as an instruction of the protocol."""
    if op.core is None:
        return {"instruction": op.name}
    who = name_of(op.core)
    bounds = {BEGIN: f"{who} begins", FINISH: f"{who} ends"}
    text = (
        bounds.get(op.kind)
        or f"{who}: {op_text(paused, op).removeprefix('about to ').removeprefix('execute ') or op.name}"
    )
    # The cost comes before the text, which may be wider than the view.
    body: dict[str, Any] = {"instruction": _cost(clock, op) + text}
    if op.effect is not None:
        body |= {"location": source_of(op.effect.site.file), "line": op.effect.site.line}
    return body


def _clock(state: State) -> PredictedTimes | None:
    """Return the predicted times of the launch; if it has none, report the reason to the editor once and return None."""
    recorded = state.session.recorded
    if recorded.index in state.untimed and not recorded.edits:
        return None
    try:
        with progressing(state, "predicting the time of each instruction"):
            return clock_of(state.session.runs, recorded.index)
    except UsageError as error:
        reason = str(error)
    except KeyboardInterrupt:  # the launch may be endless: the editor gets its instructions without times
        reason = f"the prediction of launch {recorded.index} was interrupted, so its instructions are shown without time"
    if state.untimed.get(recorded.index) != reason:
        state.connection.event("output", {"category": "important", "output": f"{reason}\n"})
    state.untimed[recorded.index] = reason
    return None


def _cost(clock: PredictedTimes | None, op: Op) -> str:
    """Return the time of an instruction and its begin, as the beginning of its line; "" if they are unknown."""
    if clock is None or op.kind is not ISSUE or op.core is None:
        return ""
    cost = clock.cost(name_of(op.core), op.moment)
    return f"{cost[1]:.3f} us from {cost[0]:.3f} us; " if cost is not None else ""


# -- sources, faults, origins ------------------------------------------------------------------------


def _files(state: State) -> list[str]:
    every = [f for recorded in state.session.launches for f in recorded.functions]
    return list(dict.fromkeys(f.code.co_filename for f in every))


def _modules(state: State, _arguments: Arguments) -> Body:
    files = _files(state)
    modules = [{"id": file, "name": Path(file).stem, "path": file, "isUserCode": True} for file in files]
    return {"modules": modules, "totalModules": len(modules)}


def _source(state: State, arguments: Arguments) -> Body:
    path = arguments.get("source", {}).get("path", "")
    if path not in _files(state):
        raise UsageError(f"{path} is not a file of the program's kernels")
    return {"content": Path(path).read_text(encoding="utf-8", errors="replace")}


def _exception_info(state: State, _arguments: Arguments) -> Body:
    error = state.session.stop.error
    finding = found_by(state.session.stop)
    if error is None and finding is not None:
        return {"exceptionId": finding[0], "description": finding[1], "breakMode": "always"}
    if error is None:
        raise UsageError("there is no fault and no finding here")
    kind = type(error).__name__
    details: dict[str, Any] = {"message": str(error), "typeName": kind}
    if isinstance(error, Fault):
        details["fullTypeName"] = f"mlusim.errors.{kind}"
    return {"exceptionId": kind, "description": str(error), "breakMode": "always", "details": details}


def _who_wrote(state: State, arguments: Arguments) -> Body:
    """Return the last writer of a byte, and the origins of its sources, as text and as data."""
    _frame(state, arguments)
    name = name_in(state, arguments.get("variablesReference"), str(arguments["expression"]))
    return {"origin": _origin(writer_of(state.session, name, int(arguments.get("depth") or DEPTH)))}


def _why(state: State, arguments: Arguments) -> Body:
    """Return the cause of a value, or of a branch if the expression is ``branch``, optionally with a line."""
    _frame(state, arguments)
    return {"origin": _origin(cause_of(state.session, str(arguments["expression"])))}


def _origin(origin: Origin) -> dict[str, Any]:
    inner = [_origin(source) for source in origin.sources]
    if not origin.moment:
        return {"place": origin.place, "note": origin.note, **({"sources": inner} if inner else {})}
    return {
        "place": origin.place,
        "launch": origin.launch,
        "cycle": origin.moment,
        "task": origin.task,
        "instruction": origin.instruction,
        "source": source_of(origin.file),
        "line": origin.line,
        "text": f"{origin.place}: {origin.verb} at moment {origin.moment} by {origin.task}, {origin.instruction} at {place_of(origin.file)}:{origin.line}",
        "because": origin.because,
        "sources": inner,
    }


HANDLERS: dict[str, Handler] = {
    "threads": _threads,
    "stackTrace": _stack,
    "scopes": _scopes,
    "variables": _variables,
    "setVariable": _set_variable,
    "setExpression": _set_expression,
    "evaluate": _evaluate,
    "completions": _completions,
    "readMemory": _read_memory,
    "writeMemory": _write_memory,
    "disassemble": _disassemble,
    "loadedSources": lambda state, _arguments: {"sources": [source_of(file) for file in _files(state)]},
    "modules": _modules,
    "source": _source,
    "exceptionInfo": _exception_info,
    "mlusim/whoWrote": _who_wrote,
    "mlusim/why": _why,
}
