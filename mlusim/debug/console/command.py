"""`Command`: one row of the debugger's table of commands; help, completion and the manual are made from it."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from attrs import frozen

from mlusim.errors import UsageError
from mlusim.near import near

if TYPE_CHECKING:
    from mlusim.debug.console.context import CommandContext

RUNNING, BACK, STOPPING = "running", "going back", "breakpoints"
LOOKING, MEMORY, SESSION = "looking around", "memory and values", "the session"
GROUPS = (RUNNING, BACK, STOPPING, LOOKING, MEMORY, SESSION)


@frozen
class Command:
    """A command: its name, other spellings, its arguments, its group, and what it does.

    ``run`` gets the console and the rest of the line, and returns what to show; it raises `UsageError`
    for what the user got wrong.  ``repeats`` says that an empty line does it once more; ``completes``
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
    """Return the command called *name*, or the only one that begins so; raises `UsageError` for none and for several."""
    every = tuple(commands)
    for command in every:
        if name == command.name or name in command.aliases:
            return command
    begun = [c for c in every if c.name.startswith(name)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        raise UsageError(f"{name} may be {', '.join(c.name for c in begun)}; write more of it")
    guesses = near(name, [c.name for c in every], 2)
    hint = f"did you mean {' or '.join(guesses)}?" if guesses else "`help` lists them"
    raise UsageError(f"there is no command {name!r}; {hint}")
