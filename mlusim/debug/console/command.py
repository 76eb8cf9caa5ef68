"""`Command`: one row of the debugger's table of commands; help, completion and the manual are made from it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from mlusim.debug.console.console import Console

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
    run: "Callable[[Console, str], str]"
    details: str = ""
    repeats: bool = False
    completes: str = ""
