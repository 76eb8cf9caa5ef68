"""Requests that move: forwards, backwards, to a line, to a cycle.

The editor is answered first and gets the stop afterwards, so that it can interrupt in between.
"""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from mlusim.debug import verbs
from mlusim.debug.dap.state import Arguments, Body, Handler, State, moved, thread_name
from mlusim.debug.source.functions import find_line
from mlusim.debug.stop.stops import LineLocation, Position
from mlusim.errors import UsageError


@frozen
class Target:
    """A target of `goto`: a line, and whether it is the last or the next time that it is reached."""

    file: str
    line: int
    back: bool


def _stepping(
    verb: Callable[..., Any], intrinsic: Callable[..., Any], reason: str = "step"
) -> Callable[[State, Arguments], None]:
    """Make the handler of a request to step: by lines, or by instructions where the granularity says so."""

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
        # Only a run can tell whether the line was reached before, so that it is searched for first.
        if target.back:
            found = session.last_before(session.position, [location])
            if found is None:
                raise UsageError(f"line {target.line} has not been reached before this in the launch")
            session.travel(found.position)
        else:
            session.forward([location])

    moved(state, move, "goto")


def _goto_targets(state: State, arguments: Arguments) -> Body:
    """Return two targets for a line, because time goes both ways: the last time it was reached, and the next."""
    session, line = state.session, int(arguments["line"])
    path = arguments["source"].get("path", "")
    file, line = find_line(path, line, session.functions, session.owned)
    back = f"back to the last time line {line} was reached"
    on = f"on to the next time line {line} is reached"
    targets = ((Target(file, line, back=True), back), (Target(file, line, back=False), on))
    return {"targets": [{"id": state.number(one), "label": text, "line": line} for one, text in targets]}


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
    """Answer with nothing; the stop is announced when it is reached."""
    # Checked before the answer: after it an error could only be an event.
    state.session.recorded  # noqa: B018 - refuses where there is no launch
    return None


def _continuing(state: State, arguments: Arguments) -> Body:
    standing(state, arguments)
    return {"allThreadsContinued": True}


def _terminate_threads(_state: State, arguments: Arguments) -> Body:
    names = ", ".join(str(thread_name(n)) for n in arguments.get("threadIds", ()))
    raise UsageError(f"a task of a launch cannot be ended by itself ({names})")


HANDLERS: dict[str, Handler] = {
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
