"""`Command`: one row of the debugger's table of commands; help, completion and the manual are made from it.

`CommandContext` is what a command may touch of the console that runs it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from attrs import frozen

from mlusim.errors import UsageError
from mlusim.near import near

if TYPE_CHECKING:
    from mlusim.debug.session import DebugSession
    from mlusim.debug.stop.stops import Stop


RUNNING, BACK, STOPPING = "running", "going back", "breakpoints"
LOOKING, MEMORY, SESSION = "looking around", "memory and values", "the session"
# The order in which help lists the groups.
GROUPS = (RUNNING, BACK, STOPPING, LOOKING, MEMORY, SESSION)


@frozen
class Command:
    """A command: its name, other spellings, its arguments, its group, and what it does.

    ``run`` gets the console and the rest of the line, and returns the text to show; it raises `UsageError`
    for a mistake of the user's.  ``repeats`` says that an empty line executes it once more; ``completes``
    names what its argument can be: "function", "breakpoint", "task", "place", "info", "command" or "".
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
    """Return the command called *name*, or the only one whose name begins so; raises `UsageError` if there is none, or more than one."""
    every = tuple(commands)
    for command in every:
        if name == command.name or name in command.aliases:
            return command
    # The first letters are enough where they are unambiguous, as in gdb.
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
    """The answer to a line: ``text`` to show; ``ok`` is false for a mistake; ``leaves`` ends the console."""

    text: str
    ok: bool = True
    leaves: bool = False


class CommandContext(ABC):
    """The session, the table of commands, and what a command may ask of the console.

    ``leaves`` is set by the command that ends the console; ``displays`` are the expressions that every stop
    shows, by number, ``attached`` the commands of breakpoints by number, ``collecting`` those that are being typed.
    """

    def __init__(self, session: "DebugSession", commands: tuple[Command, ...]) -> None:
        self.session = session
        self.commands = commands
        self.leaves = False
        self.displays: dict[int, str] = {}
        # The number of the last display: it only grows, so that no number ever means another expression.
        self.displayed = 0
        self.attached: dict[int, list[str]] = {}
        self.collecting: tuple[int, list[str]] | None = None
        # The stop of the last `list`, its file, and its first and last line.
        self.listed: tuple[Stop, str, int, int] | None = None

    @abstractmethod
    def execute(self, line: str) -> Reply:
        """Execute one line; a mistake is a reply with ``ok`` false."""

    @abstractmethod
    def stop_text(self) -> str:
        """Return why and where the session stands."""

    @abstractmethod
    def execute_file(self, name: str) -> Iterator[Reply]:
        """Execute the lines of a file until one fails or leaves; raises `UsageError` where it cannot be read."""

    @abstractmethod
    def replay(self, name: str, *, trust: bool = False) -> list[str]:
        """Leave the session for that of a recording, whose code runs with *trust* only; return how it differs from the recording."""

    @abstractmethod
    def complete(self, text: str) -> list[str]:
        """Return the words that the last word of *text* may become."""


# Plain tables: columns as wide as their texts, whatever the terminal's width, so that a test sees what a user does.


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of text, its columns two blanks apart; empty columns are left out."""
    kept = [list(row) for row in rows]
    shown = [n for n in range(len(heads)) if any(row[n] for row in kept)]
    lines = [[heads[n] for n in shown], *([row[n] for n in shown] for row in kept)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(shown))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def pairs(rows: Iterable[tuple[str, str]]) -> str:
    """Return names and values as text, one pair a line."""
    kept = list(rows)
    width = max((len(name) for name, _ in kept), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in kept)


def declared_as(kind: str, name: str) -> str:
    """Return a variable as C declares it: ``const float *src``; without a type its name."""
    if not kind:
        return name
    head, bracket, sizes = kind.partition("[")
    space = "" if head.endswith(("*", "&")) else " "
    return f"{head.rstrip() if bracket else head}{space}{name}{bracket}{sizes}"
