"""`Command`: one row of the debugger's table of commands, from which help, completion and the manual are made.

`CommandContext` is the part of the console that a command may use.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from attrs import frozen

from mlusim.errors import UsageError
from mlusim.near import near

if TYPE_CHECKING:
    from mlusim.debug.session import DebugSession
    from mlusim.debug.stop.stops import Stop


RUNNING, BACK, STOPPING = "running", "going back", "breakpoints"
LOOKING, MEMORY, SESSION = "looking around", "memory and values", "the session"
# The order of the groups in help.
GROUPS = (RUNNING, BACK, STOPPING, LOOKING, MEMORY, SESSION)


@frozen
class Command:
    """A command: its name, aliases, arguments, group, and summary.

    ``run`` receives the console and the rest of the line, and returns the text to show; it raises `UsageError`
    for an error of the user's.  With ``repeats`` an empty line executes the command again; ``completes``
    names the kind of its argument: "function", "breakpoint", "task", "place", "info", "command" or "".
    """

    name: str
    aliases: tuple[str, ...]
    usage: str
    group: str
    summary: str
    run: "Callable[[CommandContext, str], str]"
    details: str = ""
    repeats: bool = False
    completes: str = ""


def find_command(name: str, commands: Iterable[Command]) -> Command:
    """Return the command *name*, or the only one that begins with *name*; raises `UsageError` if there is none, or more than one."""
    every = tuple(commands)
    for command in every:
        if name == command.name or name in command.aliases:
            return command
    # Unambiguous first letters are enough, as in gdb.
    begun = [c for c in every if c.name.startswith(name)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        raise UsageError(f"{name} may be {', '.join(c.name for c in begun)}; write more of it")
    guesses = near(name, [c.name for c in every], 2)
    hint = f"did you mean {' or '.join(guesses)}?" if guesses else "`help` lists them"
    raise UsageError(f"there is no command {name!r}; {hint}")


@frozen
class Reply:
    """The answer to a line: ``text`` to show; ``ok`` is false after an error; with ``leaves`` the console ends."""

    text: str
    ok: bool = True
    leaves: bool = False

    def facts(self, line: str) -> dict[str, str | bool]:
        """Return what JSON has of the answer to *line*."""
        return {"command": line, "ok": self.ok, "answer": self.text}


class CommandContext(ABC):
    """The session, the table of commands, and the operations of the console that commands use.

    ``leaves`` is set by the command that ends the console; ``displays`` are the expressions shown at every stop, by
    number, ``attached`` the commands of breakpoints by number, ``collecting`` the breakpoint's commands that are
    being typed.
    """

    def __init__(self, session: "DebugSession", commands: tuple[Command, ...]) -> None:
        self.session = session
        self.commands = commands
        self.leaves = False
        self.displays: dict[int, str] = {}
        # The number of the last display; it only grows, so that a number is never reused for another
        # expression.
        self.displayed = 0
        self.attached: dict[int, list[str]] = {}
        self.collecting: tuple[int, list[str]] | None = None
        # The stop of the last `list`, its file, and its first and last line.
        self.listed: tuple[Stop, str, int, int] | None = None

    @abstractmethod
    def execute(self, line: str) -> Reply:
        """Execute one line; an error is a reply with ``ok`` false."""

    @abstractmethod
    def stop_text(self) -> str:
        """Return a text about the current stop: its reason and its place."""

    @abstractmethod
    def execute_file(self, name: str) -> Iterator[Reply]:
        """Execute the lines of a file until one fails or ends the console; raises `UsageError` if the file cannot be read."""

    @abstractmethod
    def replay(self, name: str, *, trust: bool = False) -> list[str]:
        """Replace the session by that of a recording, whose code runs only with *trust*; return the differences from the recording."""

    @abstractmethod
    def complete(self, text: str) -> list[str]:
        """Return the completions of the last word of *text*."""


def declared_as(kind: str, name: str) -> str:
    """Return a variable's declaration in C: ``const float *src``; without a type only its name."""
    if not kind:
        return name
    head, bracket, sizes = kind.partition("[")
    space = "" if head.endswith(("*", "&")) else " "
    return f"{head.rstrip() if bracket else head}{space}{name}{bracket}{sizes}"
