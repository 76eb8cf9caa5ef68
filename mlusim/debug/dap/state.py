"""`State`: what the editor's requests share: the session, numbers for what they name, and how a stop is announced."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import define, field

from mlusim.debug.dap.protocol import Connection
from mlusim.debug.source.core_names import parse_name
from mlusim.debug.stop.breakpoints import Breakpoint, LineLocation, Watchpoint
from mlusim.debug.stop.moments import FAULT, Stop
from mlusim.errors import UsageError

if TYPE_CHECKING:
    from mlusim.debug.console.command import CommandContext
    from mlusim.debug.session import DebugSession

Arguments = Mapping[str, Any]
Body = dict[str, Any] | None
Handler = Callable[["State", Arguments], Body]
ENDED_THREAD = 1_000_000  # the thread that stands for a launch in which no task runs


@define
class Asked:
    """A breakpoint that the editor wants: ``owner`` is the request and the file that it came with."""

    owner: str
    made: Breakpoint


@define(eq=False)
class State:
    """One editor's session.

    ``targets`` are the numbers given out since the last stop for frames, scopes and values; ``asked`` are its
    breakpoints by their numbers.
    """

    connection: Connection
    console: "CommandContext | None" = None
    asked: dict[int, Asked] = field(factory=dict)
    targets: list[Any] = field(factory=list)
    faults: bool = True
    stop_at_end: bool = True
    begun: bool = False
    lines_from_1: bool = True
    shows_progress: bool = False
    untimed: dict[int, str] = field(factory=dict)  # launches without a predicted time, and why
    slow: int = 0  # works whose progress the editor was or could have been shown

    @property
    def session(self) -> "DebugSession":
        """The session; raises `UsageError` before the launch."""
        if self.console is None:
            raise UsageError("nothing is launched yet; send `launch` with a program first")
        return self.console.session

    # -- numbers ---------------------------------------------------------------------------------

    def number(self, target: object) -> int:
        """Return a number for *target*, which `target` gives back until the next stop."""
        self.targets.append(target)
        return len(self.targets)

    def target(self, number: object, kind: type[Any]) -> Any:
        """Return the target that a number was given to; raises `UsageError` for another kind, and for one of an earlier stop."""
        found = (
            self.targets[number - 1] if isinstance(number, int) and 0 < number <= len(self.targets) else None
        )
        if not isinstance(found, kind):
            raise UsageError(f"{number!r} belongs to an earlier stop; ask for the stack again")
        return found

    def focus(self, thread: object, level: int = 0) -> None:
        """Look at the task of a thread's number, and at one of its frames."""
        name = thread_name(thread)
        if name is not None and self.session.look().core(name) is not None:
            self.session.focus, self.session.level = name, level

    # -- announcing ------------------------------------------------------------------------------

    def announce(self, reason: str, text: str = "") -> None:
        """Tell the editor where the session stands, or that the program is over."""
        session, stop = self.session, self.session.stop
        self.targets.clear()
        self._loaded()
        if session.ended and session.position.at_end and session.recorded is session.launches[-1]:
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
        """Return the number of the first task that runs; of the launch itself where none does."""
        cores = [] if not self.session.launches or self.session.position.at_end else self.session.look().cores
        return (
            thread_number(f"task {cores[0].place.task}{'m' * cores[0].place.memory_core}")
            if cores
            else ENDED_THREAD
        )

    def leave(self) -> None:
        """Tell the editor that the program is over, and with what."""
        session = self.session
        failed = session.host.failure is not None or not getattr(session.host.result, "passed", True)
        self.connection.event("exited", {"exitCode": int(failed)})
        self.connection.event("terminated")

    def _loaded(self) -> None:
        """Report breakpoints whose file has been loaded meanwhile."""
        self.session.armed()
        for number, asked in self.asked.items():
            body = breakpoint_body(number, asked.made)
            if body["verified"] and not asked.made.announced:
                asked.made.announced = True
                self.connection.event("breakpoint", {"reason": "changed", "breakpoint": body})


def breakpoint_body(number: int, made: Breakpoint) -> dict[str, Any]:
    """Return a breakpoint as the protocol has it."""
    location = made.location
    body: dict[str, Any] = {"id": number, "verified": type(location).__name__ != "PendingLocation"}
    if isinstance(location, LineLocation):
        body |= {"line": location.line, "source": source_of(location.file)}
    elif isinstance(location, Watchpoint):
        body["message"] = str(location.span)
    elif not body["verified"]:
        body |= {"message": "nothing of this file is loaded yet", "reason": "pending"}
    return body


def source_of(file: str) -> dict[str, Any]:
    """Return a file as the protocol has it."""
    return {"name": file.replace("\\", "/").rpartition("/")[2], "path": file}


def thread_number(name: str) -> int:
    """Return the number of a task's thread: two for each task, the second is its cluster's memory core."""
    digits = name.removeprefix("task ")
    return 2 * int(digits.rstrip("m")) + digits.endswith("m") + 1


def thread_name(number: object) -> str | None:
    """Return the task of a thread's number; None for the launch itself."""
    if not isinstance(number, int) or number < 1 or number >= ENDED_THREAD:
        return None
    return parse_name(f"{(number - 1) // 2}{'m' * ((number - 1) % 2)}")


def _reason(stop: Stop, reason: str) -> str:
    if "interrupted" in stop.reasons:
        return "pause"
    if stop.error is not None or stop.kind is FAULT:
        return "exception"
    if stop.hits:
        return "data breakpoint" if stop.hits[0].location.watches else "breakpoint"
    return reason
