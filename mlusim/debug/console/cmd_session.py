"""The commands about the session itself."""

from typing import TYPE_CHECKING

from mlusim.counted import plural
from mlusim.debug.console.command import GROUPS, SESSION, Command, find_command, pairs
from mlusim.errors import UsageError
from mlusim.lazy import lazy

if TYPE_CHECKING:
    from mlusim.debug import recording
    from mlusim.debug.console.command import CommandContext
else:
    (recording,) = lazy("mlusim.debug.recording")


def help_(console: "CommandContext", words: str) -> str:
    """Return the table of commands, or one of them."""
    if words:
        return help_text(find_command(words.split(maxsplit=1)[0], console.commands))
    parts = []
    for group in GROUPS:
        rows = [(_head(c), c.summary) for c in console.commands if c.group == group]
        parts.append(f"{group}:\n" + "\n".join(f"  {line}" for line in pairs(rows).splitlines()))
    return "\n\n".join([*parts, "`help COMMAND` says more; an empty line repeats a step."])


def _head(command: Command) -> str:
    return ", ".join((command.name, *command.aliases)) + (f" {command.usage}" if command.usage else "")


def help_text(command: Command) -> str:
    """Return the text of `help COMMAND`."""
    lines = [_head(command), f"  {command.summary}"]
    return "\n".join([*lines, *(f"  {line}" for line in command.details.splitlines())])


def source(console: "CommandContext", words: str) -> str:
    """Execute the commands of a file."""
    if not words:
        raise UsageError("source takes a file of commands, one a line")
    return "\n".join(reply.text for reply in console.execute_file(words) if reply.text)


def record(console: "CommandContext", words: str) -> str:
    """Write a recording of the run."""
    if not words:
        raise UsageError("record takes a file, as in `record wrong.mlusim`")
    size = recording.save(console.session, words)
    return f"{console.session.program.name} at {console.session.position} recorded in {words}, {size} {plural(size, 'byte')}"


def replay(console: "CommandContext", words: str) -> str:
    """Go to the place of a recording."""
    if not words:
        raise UsageError("replay takes the file of a recording")
    name = words.removeprefix(TRUST).strip() if words.startswith(f"{TRUST} ") else words
    return "\n".join([*console.replay(name, trust=name != words), console.stop_text()])


def quit_(console: "CommandContext", words: str) -> str:
    """Leave the debugger, and with it the run."""
    del words
    console.leaves = True
    return ""


RECORDINGS = """The file holds an operator's name and arrays, a script's text, or the names and digests of BANG C sources with the
arrays of the call; `mlusim debug --replay FILE` or `replay FILE` stands at the same place, and says so if the state is
not the same to the byte.  Nothing that came with the file is executed before --trust: a script and sources are
refused, conditions of breakpoints are disabled.  A function that was given
to `DebugSession` in Python cannot be recorded."""
TRUST = "--trust"

COMMANDS = (
    Command("source", (), "FILE", SESSION, "execute the commands of a file, one a line; # begins a comment", source),
    Command("record", (), "FILE", SESSION, "write the program, this place and the breakpoints to a file, for another machine", record, RECORDINGS),
    Command("replay", (), "[--trust] FILE", SESSION, "leave this program, and stand at the place of a recording", replay),
    Command("help", ("h",), "[COMMAND]", SESSION, "list the commands, or say more about one", help_, completes="command"),
    Command("quit", ("q", "exit"), "", SESSION, "leave the debugger; the program ends where it is", quit_),
)  # fmt: skip
