"""`State`, which all requests share: the session, the numbers given to the editor, and the reports of stops and slow requests."""

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from mlusim.debug import verbs
from mlusim.debug.dap.protocol import Connection
from mlusim.debug.look.describe import outcome_text
from mlusim.debug.source.frames import name_of, parse_name
from mlusim.debug.stop import stops
from mlusim.debug.values import Variable
from mlusim.errors import MlusimError, UsageError, one_line
from mlusim.memory.space import SPACES

if TYPE_CHECKING:
    from mlusim.debug.console.command import CommandContext
    from mlusim.debug.session import DebugSession


Arguments = Mapping[str, Any]
Body = dict[str, Any] | None
Handler = Callable[["State", Arguments], Body]
ENDED_THREAD = 1_000_000  # the number of the thread that represents a launch in which no task runs


@define
class Asked:
    """A breakpoint requested by the editor: ``owner`` is the request and the file, ``told`` is what was last reported about it."""

    owner: str
    made: stops.Breakpoint
    told: dict[str, Any]


@define(eq=False)
class State:
    """The state of one editor's session.

    ``targets`` have the numbers from ``passed`` + 1 on, given since the last stop to frames, scopes and values;
    ``asked`` are the breakpoints by their numbers.
    """

    connection: Connection
    console: "CommandContext | None" = None
    asked: dict[int, Asked] = field(factory=dict)
    targets: list[Any] = field(factory=list)
    passed: int = 0
    told: object = None  # the run of the program whose outcome was reported to the editor
    told_end: bool = False  # whether that run had ended, or had stopped at a fault
    faults: bool = True
    stop_at_end: bool = True
    begun: bool = False
    lines_from_1: bool = True
    shows_progress: bool = False
    untimed: dict[int, str] = field(factory=dict)  # launches without a predicted time, with the reasons
    slow: int = 0  # the number of slow requests so far, which identifies their reports

    @property
    def session(self) -> "DebugSession":
        """The session; raises `UsageError` before the launch."""
        if self.console is None:
            raise UsageError("nothing is launched yet; send `launch` with a program first")
        return self.console.session

    # -- numbers ---------------------------------------------------------------------------------

    def number(self, target: object) -> int:
        """Return a number for *target*, which `target` finds by it until the next stop; numbers are not reused."""
        self.targets.append(target)
        return self.passed + len(self.targets)

    def target(self, number: object, kind: type[Any]) -> Any:
        """Return the target with a number; raises `UsageError` if it has another type, or belongs to an earlier stop."""
        at = number - self.passed - 1 if isinstance(number, int) else -1
        target = self.targets[at] if 0 <= at < len(self.targets) else None
        if not isinstance(target, kind):
            raise UsageError(f"{number!r} belongs to an earlier stop; ask for the stack again")
        return target

    def focus(self, thread: object, level: int = 0) -> None:
        """Put the task of a thread in focus, with one of its frames."""
        name = thread_name(thread)
        if name is not None and self.session.look().observed.core(name) is not None:
            self.session.focus, self.session.level = name, level

    # -- reports ---------------------------------------------------------------------------------

    def announce(self, reason: str, text: str = "") -> None:
        """Report the current stop to the editor, or the end of the program."""
        session, stop = self.session, self.session.stop
        self.passed += len(self.targets)
        self.targets.clear()
        self._loaded()
        self._tell_outcome()
        if session.over:
            if not self.stop_at_end:
                self.leave()
                return
            reason = "exception" if stop.error is not None or session.host.failure is not None else "pause"
        thread = None if session.focus is None or stop.core is None else thread_number(session.focus)
        assert self.console is not None
        text = text or self.console.stop_text()
        hits = [b.number for b in stop.hits if b.number in self.asked]
        self.connection.event(
            "stopped",
            {
                "reason": _reason(stop, reason),
                "description": text.partition("\n")[0],
                "text": text,
                "threadId": thread if thread is not None else self.first_thread(),
                "allThreadsStopped": True,
                **({"hitBreakpointIds": hits} if hits else {}),
            },
        )

    def first_thread(self) -> int:
        """Return the number of the first running task's thread; if no task runs, that of the launch itself."""
        cores = [] if not self.session.launches or self.session.position.at_end else self.session.look().cores
        return thread_number(name_of(cores[0])) if cores else ENDED_THREAD

    def _tell_outcome(self) -> None:
        """Report to the editor, once for each run of the program, how it has ended or that it has stopped at a fault."""
        session = self.session
        host, error = session.host, session.stop.error
        if not session.ended and error is None:
            return
        # The user may undo the fault at which the run has stopped, so that it continues to another end.
        if self.told is host and self.told_end == session.ended:
            return
        self.told, self.told_end = host, session.ended
        text = outcome_text(host.result) if session.ended else ""
        if text:
            self.connection.event(
                "output", {"category": "console", "output": f"the program has ended{text}\n"}
            )
        said = error or host.failure
        body = {"passed": not self.failed, "edited": any(launch.edits for launch in session.launches)}
        self.connection.event("mlusim/outcome", body | {"text": text.strip() if said is None else str(said)})

    @property
    def failed(self) -> bool:
        """Return whether the program has ended with an error, its outputs are inaccurate, or it has stopped at a fault."""
        host = self.session.host
        wrong = self.session.stop.error is not None or host.failure is not None
        return wrong or not getattr(host.result, "passed", True)

    def leave(self) -> None:
        """Report the end of the program, and its exit code."""
        self.connection.event("exited", {"exitCode": int(self.failed)})
        self.connection.event("terminated")

    def _loaded(self) -> None:
        """Report the breakpoints whose code has been loaded since they were set."""
        self.session.armed()
        for number, asked in self.asked.items():
            body = breakpoint_body(number, asked.made)
            if body != asked.told:
                asked.told = body
                self.connection.event("breakpoint", {"reason": "changed", "breakpoint": body})


def breakpoint_body(number: int, point: stops.Breakpoint) -> dict[str, Any]:
    """Return a breakpoint in the form of the protocol."""
    location = point.location
    body: dict[str, Any] = {"id": number, "verified": not isinstance(location, stops.PendingLocation)}
    if isinstance(location, stops.LineLocation):
        body |= {"line": location.line, "source": source_of(location.file)}
    elif isinstance(location, stops.Watchpoint):
        body["message"] = str(location.span)
    elif isinstance(location, stops.PendingLocation):
        body |= {"message": location.why, "reason": "pending"}
    return body


def source_of(file: str) -> dict[str, Any]:
    """Return a file in the form of the protocol."""
    return {"name": file.replace("\\", "/").rpartition("/")[2], "path": file}


def thread_number(name: str) -> int:
    """Return the number of a task's thread: two for each task; the second is that of its cluster's memory core."""
    digits = name.removeprefix("task ")
    return 2 * int(digits.rstrip("m")) + digits.endswith("m") + 1


def thread_name(number: object) -> str | None:
    """Return the task of a thread; None for the launch itself."""
    if not isinstance(number, int) or number < 1 or number >= ENDED_THREAD:
        return None
    return parse_name(f"{(number - 1) // 2}{'m' * ((number - 1) % 2)}")


def found_by(stop: stops.Stop) -> tuple[str, str] | None:
    """Return the rule and the sentence of the finding at which a breakpoint has stopped, or None if there is none."""
    checker = next((hit for hit in stop.hits if isinstance(hit.location, stops.FindingLocation)), None)
    if checker is None:
        return None
    begin = f"Breakpoint {checker.number}, "
    told = next((hit.removeprefix(begin) for hit in stop.reasons if hit.startswith(begin)), "")
    rule, _, sentence = told.partition(": ")
    return rule, sentence


def _reason(stop: stops.Stop, reason: str) -> str:
    if "interrupted" in stop.reasons:
        return "pause"
    if stop.error is not None or stop.kind is stops.FAULT:
        return "exception"
    if found_by(stop) is not None:
        return "exception"  # an editor shows an exception's message beside the line
    if stop.hits:
        return "data breakpoint" if stop.hits[0].location.watches else "breakpoint"
    return reason


# Progress of slow requests: after a moment the editor shows what is running and for how long, and may
# cancel it.

PATIENCE, EVERY = 0.5, 1.0  # seconds: before the first report, and between two reports


@contextmanager
def progressing(state: State, title: str) -> Iterator[None]:
    """Show *title* as progress in an editor that supports it, once the block has lasted `PATIENCE` seconds.

    Cancelling works like pausing: the running request is interrupted.
    """
    if not state.shows_progress:
        yield
        return
    state.slow += 1
    name, done = f"mlusim {state.slow}", threading.Event()
    teller = threading.Thread(
        target=_tell, args=(state, name, title, done), name="mlusim progress", daemon=True
    )
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()  # the last report must precede the stop


def _tell(state: State, name: str, title: str, done: threading.Event) -> None:
    if done.wait(PATIENCE):
        return
    event, seconds = state.connection.event, PATIENCE
    event("progressStart", {"progressId": name, "title": title, "cancellable": True})
    while not done.wait(EVERY):
        seconds += EVERY
        event("progressUpdate", {"progressId": name, "message": f"{seconds:.0f} s"})
    event("progressEnd", {"progressId": name})


# The numbers and addresses that the editor uses for frames, groups of values and bytes.

_REFERENCE = re.compile(r"(?:(?P<owner>[^/]*)/)?(?:(?P<space>\w+)/)?(?P<address>0x[0-9a-fA-F]+)$")


@frozen
class FrameAt:
    """A frame of a task, by its level."""

    task: str
    level: int

    def focus(self, session: "DebugSession") -> None:
        """Put this frame in focus."""
        if self.task and session.look().observed.core(self.task) is not None:
            session.focus, session.level = self.task, self.level


@frozen
class VariableGroup:
    """Variables of a frame, or the parts of one value."""

    frame: FrameAt
    variables: tuple[Variable, ...]
    whole: Variable | None = None


def child_of(held: VariableGroup, name: str) -> str:
    """Return the expression for the part *name* of *held*."""
    if held.whole is None:
        child = next((variable for variable in held.variables if variable.name == name), None)
        return child.path or child.place or name if child is not None else name
    if not held.whole.path:
        raise UsageError(
            f"{name} is part of a value that has no name; type an expression for it in the console"
        )
    return f"{held.whole.path}{name}" if name.startswith("[") else f"{held.whole.path}[{name}]"


def name_in(state: "State", reference: object, name: str) -> str:
    """Return the expression for *name*, which a request took from a group of values, or which the user typed."""
    if not isinstance(reference, int) or reference < 1:
        return name
    held: VariableGroup = state.target(reference, VariableGroup)
    held.frame.focus(state.session)
    return child_of(held, name)


def memory_reference(session: "DebugSession", variable: Variable) -> str | None:
    """Return a reference to a variable's bytes, as ``task 3/NRAM/0x200100``; None if it is not in memory."""
    if not variable.place:
        return None
    try:
        span = session.resolve(variable.place)
    except MlusimError:
        return None
    return f"{span.owner or ''}/{span.space}/{span.low:#x}"


def span_at(session: "DebugSession", reference: str, offset: int) -> stops.ByteSpan:
    """Return the bytes from *offset* after a reference on; raises `UsageError` for an invalid reference."""
    match = _REFERENCE.match(reference)
    if match is None:
        raise UsageError(
            f"{reference!r} is not a place in memory; the values of pointers and regions have one"
        )
    low = int(match["address"], 16) + offset
    if match["space"] is None:
        return session.resolve(hex(low))
    space = next((s for s in SPACES if s.name == match["space"]), None)
    if space is None:
        raise UsageError(
            f"there is no memory {match['space']!r}; there are {', '.join(s.name for s in SPACES)}"
        )
    owner = match["owner"] or None
    if owner is not None and owner.startswith("task") and session.look().observed.core(owner) is not None:
        session.focus = owner
    return stops.ByteSpan(space, low, low + 1, reference, None, owner)


Move = Callable[[State], Any]
_TITLES: Mapping[str, str] = {"step": "stepping", "goto": "going there"}


def moved(state: State, move: Move, reason: str) -> None:
    """Move, and report the stop to the editor; if moving fails, report the reason and that the position has not changed."""
    text = ""
    try:
        with progressing(state, _TITLES.get(reason, "running")):
            move(state)
    except KeyboardInterrupt:
        reason = "pause"
    except MlusimError as error:
        text = one_line(error)
        state.connection.event("output", {"category": "important", "output": f"{text}\n"})
    else:
        # Without stops at faults, the program runs as it would without a debugger.
        while not state.faults and state.session.stop.error is not None and not state.session.ended:
            verbs.resume(state.session)
    state.announce(reason, text)
