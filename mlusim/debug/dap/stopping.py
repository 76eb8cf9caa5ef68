"""Requests that move and that set breakpoints, and the events about stops."""

import operator
import re
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from attrs import frozen

from mlusim.debug import verbs
from mlusim.debug.dap.state import (
    Arguments,
    Asked,
    Body,
    FrameAt,
    Handler,
    State,
    breakpoint_body,
    moved,
    name_in,
    thread_name,
)
from mlusim.debug.locations import break_at, watch_at, watched_as
from mlusim.debug.look.describe import value_text
from mlusim.debug.look.evaluate import ask, parse
from mlusim.debug.source.functions import code_lines, find_line, line_within
from mlusim.debug.stop.stops import Breakpoint, LineLocation, Position
from mlusim.errors import MlusimError, UsageError, one_line

if TYPE_CHECKING:
    from mlusim.machine.core import Core


FILTERS = [
    {
        "filter": "faults",
        "label": "Faults",
        "description": "what the hardware could not do, and errors of the kernel's own",
        "default": True,
    },
    {
        "filter": "findings",
        "label": "Findings",
        "description": "what a checker finds fault with; every checker watches, which takes longer",
        "default": False,
        "supportsCondition": True,
        "conditionDescription": "a checker or a rule, as racecheck or initcheck-load",
    },
]
_HITS = re.compile(r"(?P<operator>>=|<=|==|=|>|<|%)?\s*(?P<count>\d+)$")
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "%": lambda hits, count: hits % count == 0,
}
_PIECE = re.compile(r"\{([^{}]+)\}")


def _lines(state: State, arguments: Arguments) -> Body:
    path = arguments["source"].get("path") or arguments["source"].get("name", "")
    owner = f"lines of {path}"
    # The request has all breakpoints of the file: those that it does not list are removed.
    _forget(state, owner)
    wanted = arguments.get("breakpoints")
    if wanted is None:
        wanted = [{"line": line} for line in arguments.get("lines", ())]
    return {"breakpoints": [_line(state, owner, path, asked) for asked in wanted]}


def _line(state: State, owner: str, path: str, arguments: Arguments) -> dict[str, Any]:
    # A line without code moves to the next line with code, as editors expect, but never into another
    # function.
    line = line_within(path, int(arguments["line"]), state.session.functions_in(path))
    return _set(state, owner, arguments, f"{path}:{line}")


def _functions(state: State, arguments: Arguments) -> Body:
    _forget(state, "functions")
    return {
        "breakpoints": [
            _set(state, "functions", argument, argument["name"]) for argument in arguments["breakpoints"]
        ]
    }


def _data_info(state: State, arguments: Arguments) -> Body:
    """Return whether a name can be watched, and as which bytes or value."""
    if arguments.get("frameId") is not None:
        state.target(arguments["frameId"], FrameAt).focus(state.session)
    session, name = state.session, name_in(state, arguments.get("variablesReference"), str(arguments["name"]))
    if arguments.get("asAddress"):
        name = f"{name}:{arguments.get('bytes', 1)}"
    try:
        watched = watched_as(session, name)
    except MlusimError as error:
        return {"dataId": None, "description": one_line(error)}
    return {
        # The task is part of the id, since the editor returns nothing else when it sets the watchpoint.
        "dataId": f"{session.focus or ''}|{name}",
        "description": f"{name} ({watched})",
        "accessTypes": ["write"] if watched.startswith("the value") else ["read", "write", "readWrite"],
        # Not for a later session, in which the name refers to other bytes.
        "canPersist": False,
    }


def _data(state: State, arguments: Arguments) -> Body:
    _forget(state, "data")
    return {"breakpoints": [_watch(state, argument) for argument in arguments["breakpoints"]]}


def _watch(state: State, arguments: Arguments) -> dict[str, Any]:
    task, _, name = str(arguments["dataId"]).partition("|")
    access = arguments.get("accessType", "write")

    def make(text: str | None) -> Breakpoint:
        session = state.session
        if task and session.look().observed.core(task) is not None:
            session.focus = task
        # "write" and "readWrite" both contain "rite".
        return watch_at(session, name, writes="rite" in access, reads="read" in access, text=text)

    return _made(state, "data", arguments, make)


def _instructions(state: State, arguments: Arguments) -> Body:
    """Set breakpoints on instructions, whose addresses are their moments."""
    _forget(state, "instructions")
    bodies = []
    for argument in arguments["breakpoints"]:
        moment = _moment(argument["instructionReference"]) + int(argument.get("offset", 0))
        body = _set(state, "instructions", argument, f"moment {moment}")
        bodies.append(body | {"instructionReference": hex(moment)})
    return {"breakpoints": bodies}


def _moment(reference: object) -> int:
    try:
        return int(str(reference), 0)
    except ValueError:
        raise UsageError(f"{reference!r} is not an instruction; its address is its moment, as 0x57") from None


def _exceptions(state: State, arguments: Arguments) -> Body:
    _forget(state, "exceptions")
    plain = [{"filterId": name} for name in arguments.get("filters", ())]
    options = [*plain, *arguments.get("filterOptions", ())]
    names = [option["filterId"] for option in options]
    state.faults = "faults" in names
    bodies = []
    for name, option in zip(names, options, strict=True):
        if name == "findings":
            rule = (option.get("condition") or "").strip()
            bodies.append(_set(state, "exceptions", {}, f"finding {rule}".strip()))
        else:
            bodies.append({"verified": name == "faults"})
    return {"breakpoints": bodies}


def _locations(state: State, arguments: Arguments) -> Body:
    session = state.session
    first = int(arguments["line"])
    last = int(arguments.get("endLine") or first)
    path = arguments["source"].get("path", "")
    lines = code_lines(path, session.functions_in(path), session.owned)
    return {"breakpoints": [{"line": line} for line in lines if first <= line <= last]}


# -- setting breakpoints -----------------------------------------------------------------------------


def _set(state: State, owner: str, arguments: Arguments, place: str) -> dict[str, Any]:
    """Set a breakpoint at *place* with the editor's conditions."""
    return _made(state, owner, arguments, lambda text: break_at(state.session, place, text=text))


def _made(
    state: State, owner: str, arguments: Arguments, make: Callable[[str | None], Breakpoint]
) -> dict[str, Any]:
    """Set the breakpoint that *make* constructs, with the editor's conditions; if it cannot be set, return the reason."""
    try:
        counted, log = _hits(arguments.get("hitCondition")), _log(state, arguments.get("logMessage"))
        point = make(arguments.get("condition") or None)
    except MlusimError as error:
        return {"verified": False, "message": one_line(error), "reason": "failed"}
    point.counted, point.log = counted, log
    # The owner is stored, so that the next request of this kind replaces these breakpoints and no others.
    body = breakpoint_body(point.number, point)
    state.asked[point.number] = Asked(owner, point, body)
    return body


def _hits(text: str | None) -> Callable[[int], bool] | None:
    """Parse ``5``, ``>= 5`` or ``% 5`` as a condition on the number of hits."""
    if not text or not text.strip():
        return None
    match = _HITS.match(text.strip())
    if match is None or (match["operator"] == "%" and int(match["count"]) == 0):
        raise UsageError(f"{text!r} is not a count of hits; write 5, >= 5, or % 5 for every fifth")
    count = int(match["count"])
    compare: Callable[[int, int], bool] = _COMPARED.get(match["operator"], operator.eq)
    return lambda hits: compare(hits, count)


def _log(state: State, text: str | None) -> "Callable[[Core | None, FrameType | None], None] | None":
    """Return the action of a log point: show *text* with the expressions in braces evaluated, and continue."""
    if not text:
        return None
    # Parsed now, so that an error in the message is the answer to the request, not later output.
    codes = {piece: parse(piece) for piece in _PIECE.findall(text)}

    def log(core: "Core | None", frame: FrameType | None) -> None:
        def value(match: re.Match[str]) -> str:
            try:
                return value_text(ask(codes[match[1]], frame, core).value)
            except MlusimError as error:
                return f"<{error}>"

        state.connection.event("output", {"category": "console", "output": _PIECE.sub(value, text) + "\n"})

    return log


def _forget(state: State, owner: str) -> None:
    """Delete the breakpoints of an earlier request of the same kind."""
    for number in [number for number, asked in state.asked.items() if asked.owner == owner]:
        del state.asked[number]
        state.session.breakpoints.pop(number, None)


@frozen
class Target:
    """A target of `goto`: a line, and whether its last or its next execution is meant."""

    file: str
    line: int
    back: bool


def _stepping(
    verb: Callable[..., Any], intrinsic: Callable[..., Any], reason: str = "step"
) -> Callable[[State, Arguments], None]:
    """Make the handler of a step request: by lines, or by instructions if the granularity says so."""

    def follow(state: State, arguments: Arguments) -> None:
        chosen = intrinsic if arguments.get("granularity") == "instruction" else verb

        def move(state: State) -> None:
            state.focus(arguments.get("threadId"))
            chosen(state.session)

        moved(state, move, reason)

    return follow


def _continue(state: State, _arguments: Arguments) -> None:
    if state.session.over:
        state.leave()
        return
    moved(state, lambda state: verbs.resume(state.session), "breakpoint")


def _goto(state: State, arguments: Arguments) -> None:
    target = state.target(arguments["targetId"], Target)

    def move(state: State) -> None:
        session, location = state.session, LineLocation(target.file, target.line)
        # Only a run can show whether the line was reached before, so that this is searched first.
        if target.back:
            stop = session.last_before(session.position, [location])
            if stop is None:
                raise UsageError(f"line {target.line} has not been reached before this in the launch")
            session.travel(stop.position)
        else:
            session.forward([location])

    moved(state, move, "goto")


def _goto_targets(state: State, arguments: Arguments) -> Body:
    """Return two targets for a line, since time goes both ways: its last execution, and its next one."""
    session, line = state.session, int(arguments["line"])
    path = arguments["source"].get("path", "")
    file, line = find_line(path, line, session.functions, session.owned)
    back = f"back to the last time line {line} was reached"
    on = f"on to the next time line {line} is reached"
    targets = ((Target(file, line, back=True), back), (Target(file, line, back=False), on))
    return {
        "targets": [{"id": state.number(target), "label": text, "line": line} for target, text in targets]
    }


def _go_to_cycle(state: State, arguments: Arguments) -> None:
    def move(state: State) -> None:
        session = state.session
        launch = int(arguments.get("launch", session.position.launch))
        if "time_us" in arguments:
            session.travel(verbs.moment_at(session, launch, float(arguments["time_us"])))
        else:
            session.travel(Position(launch, int(arguments.get("cycle", arguments.get("moment", 0)))))

    moved(state, move, "goto")


def standing(state: State, _arguments: Arguments) -> Body:
    """Answer without a body; the stop is reported when it is reached."""
    # Checked before the answer: after it, an error could only be an event.
    state.session.recorded  # noqa: B018 - raises if there is no launch
    return None


def _continuing(state: State, arguments: Arguments) -> Body:
    standing(state, arguments)
    return {"allThreadsContinued": True}


def _terminate_threads(_state: State, arguments: Arguments) -> Body:
    names = ", ".join(str(thread_name(n)) for n in arguments.get("threadIds", ()))
    raise UsageError(f"a task of a launch cannot be ended by itself ({names})")


HANDLERS: dict[str, Handler] = {
    "setBreakpoints": _lines,
    "setFunctionBreakpoints": _functions,
    "dataBreakpointInfo": _data_info,
    "setDataBreakpoints": _data,
    "setInstructionBreakpoints": _instructions,
    "setExceptionBreakpoints": _exceptions,
    "breakpointLocations": _locations,
    "continue": _continuing,
    **dict.fromkeys(("next", "stepIn", "stepOut", "stepBack", "reverseContinue"), standing),
    **dict.fromkeys(("goto", "mlusim/goToCycle"), standing),
    "gotoTargets": _goto_targets,
    "terminateThreads": _terminate_threads,
}
FOLLOWS: dict[str, Callable[[State, Arguments], None]] = {
    "continue": _continue,
    "next": _stepping(verbs.next_line, verbs.step_intrinsic),
    "stepIn": _stepping(verbs.step, verbs.step_intrinsic),
    "stepOut": _stepping(verbs.finish, verbs.finish),
    "stepBack": _stepping(verbs.reverse_next, verbs.reverse_step_intrinsic),
    "reverseContinue": lambda state, _: moved(
        state, lambda s: verbs.reverse_continue(s.session), "breakpoint"
    ),
    "goto": _goto,
    "restart": lambda state, _: moved(state, lambda s: verbs.run(s.session), "entry"),
    "mlusim/goToCycle": _go_to_cycle,
}
