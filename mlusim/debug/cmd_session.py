"""The commands about the session itself."""

from typing import TYPE_CHECKING

from mlusim.debug.command import GROUPS, SESSION, Command
from mlusim.debug.table import pairs
from mlusim.errors import UsageError

if TYPE_CHECKING:
    from mlusim.debug.console import Console


def help_(console: "Console", words: str) -> str:
    """The table of commands, or one of them."""
    del console
    from mlusim.debug.console import COMMANDS, find_command  # noqa: PLC0415 - the table holds this very command

    if words:
        return help_text(find_command(words.split(maxsplit=1)[0]))
    parts = []
    for group in GROUPS:
        rows = [(_head(c), c.summary) for c in COMMANDS if c.group == group]
        parts.append(f"{group}:\n" + "\n".join(f"  {line}" for line in pairs(rows).splitlines()))
    return "\n\n".join([*parts, "`help COMMAND` says more; an empty line repeats a step."])


def _head(command: Command) -> str:
    return ", ".join((command.name, *command.aliases)) + (f" {command.usage}" if command.usage else "")


def help_text(command: Command) -> str:
    """What `help COMMAND` shows."""
    lines = [_head(command), f"  {command.summary}"]
    return "\n".join([*lines, *(f"  {line}" for line in command.details.splitlines())])


def source(console: "Console", words: str) -> str:
    """Commands from a file."""
    if not words:
        raise UsageError("source takes a file of commands, one a line")
    return "\n".join(reply.text for reply in console.execute_file(words) if reply.text)


def quit_(console: "Console", words: str) -> str:
    """Leave."""
    del words
    console.leaves = True
    return ""


COMMANDS = (
    Command("source", (), "FILE", SESSION, "execute the commands of a file, one a line; # begins a comment", source),
    Command("help", ("h",), "[COMMAND]", SESSION, "list the commands, or say more about one", help_, completes="command"),
    Command("quit", ("q", "exit"), "", SESSION, "leave the debugger; the program ends where it is", quit_),
)  # fmt: skip
