"""The commands that go with breakpoints and tasks: what is done at a stop, what is kept for another session."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mlusim.debug.console.command import STOPPING, Command
from mlusim.debug.source.core_names import name_of, parse_name
from mlusim.debug.stop.breakpoints import Breakpoint, LineLocation, Watchpoint
from mlusim.debug.stop.value_watch import ValueWatch
from mlusim.errors import UsageError
from mlusim.files.writing import write_text

if TYPE_CHECKING:
    from mlusim.debug.console.command import CommandContext
    from mlusim.debug.session import DebugSession


def commands(console: "CommandContext", words: str) -> str:
    """Return the commands that are executed where a breakpoint stops."""
    number, _, rest = words.partition(" ")
    if not number:
        # Without a number the newest breakpoint is meant, as in gdb.
        number = str(max(console.session.breakpoints, default=0))
    if not number.isdigit() or int(number) not in console.session.breakpoints:
        known = ", ".join(map(str, console.session.breakpoints)) or "none"
        raise UsageError(f"there is no breakpoint {number!r}; there are: {known}")
    if rest.strip():
        attach(console, int(number), rest.split(";"))
        return told(console, int(number))
    console.collecting = int(number), []
    return f"commands for breakpoint {number}, one a line, until `end`"


def attach(console: "CommandContext", number: int, lines: list[str]) -> None:
    """Keep the commands of a breakpoint; none of them: forget them."""
    kept = [line.strip() for line in lines if line.strip()]
    console.attached[number] = kept
    if not kept:
        del console.attached[number]


def told(console: "CommandContext", number: int) -> str:
    """Return the commands that are executed at a breakpoint."""
    lines = console.attached.get(number, [])
    return f"breakpoint {number}: {'; '.join(lines) if lines else 'no commands'}"


def save(console: "CommandContext", words: str) -> str:
    """Write the breakpoints to a file, as commands."""
    kind, _, name = words.partition(" ")
    if kind not in ("breakpoints", "b") or not name.strip():
        raise UsageError("save takes `breakpoints` and a file, as in `save breakpoints stops.txt`")
    lines = [line for made in console.session.breakpoints.values() for line in _lines(console, made)]
    write_text(name.strip(), "".join(f"{line}\n" for line in lines), keep=True)
    return f"{len(console.session.breakpoints)} written to {name.strip()}; `source {name.strip()}` sets them again"


def _lines(console: "CommandContext", made: Breakpoint) -> Iterator[str]:
    """Yield the commands that set a breakpoint again."""
    location, place = made.location, made.words
    verb = "tbreak" if made.temporary else "break"
    if isinstance(location, Watchpoint):
        verb = "awatch" if location.writes and location.reads else "watch" if location.writes else "rwatch"
        # The words say it only where it was typed; the span always knows.
        place += " all" if location.span.anyone and not place.endswith(" all") else ""
    elif isinstance(location, ValueWatch):
        verb, place = "watch", place + " all" * (location.label is None)
    elif isinstance(location, LineLocation):
        # The line that was found, with its file: a bare number means another file where another frame is in focus.
        place = f"{location.file}:{location.line}"
    limits = f" {made.task}" * bool(made.task) + f" ignore {made.ignore}" * bool(made.ignore)
    yield f"{verb} {place}{limits}" + (f" if {made.condition}" if made.condition else "")
    attached = console.attached.get(made.number)
    if attached:
        yield from ("commands", *attached, "end")
    if not made.enabled:
        # $ is the newest breakpoint: in the session that reads the file it has another number.
        yield "disable $"


def apply(console: "CommandContext", words: str) -> str:
    """Run one command for several tasks, one after the other."""
    who, _, line = words.partition(" ")
    session = console.session
    cores = [name_of(core) for core in session.look().cores]
    chosen = cores if who == "all" else [parse_name(one) for one in who.split(",") if one]
    if not chosen or not line.strip():
        raise UsageError(
            "task apply takes `all` or numbers, and a command, as in `task apply all print i` or `task apply 0,3 where`"
        )
    unknown = [name for name in chosen if name not in cores]
    if unknown:
        raise UsageError(f"{', '.join(unknown)} is not running here; running now: {', '.join(cores)}")
    return "\n".join(_applied(console, session, chosen, line.strip()))


def _applied(
    console: "CommandContext", session: "DebugSession", chosen: list[str], line: str
) -> Iterator[str]:
    # The stop is compared by identity: one at an equal place later is another.
    before, stop = (session.focus, session.level), session.stop
    for name in chosen:
        session.focus, session.level = name, 0
        reply = console.execute(line)
        yield f"{name}:\n{reply.text}"
        # The launch stands elsewhere now, and the command was meant for the place before.
        if session.stop is not stop:
            yield "the command has moved; the tasks behind are left out"
            return
    session.focus, session.level = before


COMMANDS = (
    Command("commands", (), "[NUMBER] [COMMAND; ...]", STOPPING, "execute commands where a breakpoint stops; without any, lines follow until `end`", commands, "The commands of a stop end where one of them moves: those of the next stop come then.", completes="breakpoint"),
    Command("save", (), "breakpoints FILE", STOPPING, "write the breakpoints to a file of commands, for `source`", save),
)  # fmt: skip
