"""The page of the debugger's commands, written from their table: ``python -m mlusim.manual.debugger > PAGE``."""

from collections.abc import Iterator

from mlusim.debug.console.command import GROUPS, Command
from mlusim.debug.console.console import COMMANDS

HEAD = """# The debugger's commands

Made from the debugger's own table by `make docs`; `help` shows the same.

`mlusim debug OP` debugs a case of an operator, `mlusim debug SCRIPT.py` any script that launches kernels;
[the command line](command-line.md) has the options.
A command may be shortened as long as it stays unique, and an empty line repeats a step.
`tab` completes commands, functions, intrinsics, tasks, regions and variables.
In Python the same table is `mlusim.debug.Console(session).execute(line)`; the session is
`mlusim.debug.DebugSession(program)`, where *program* is a function that takes observers and hands them to its launches.
"""


def manual() -> str:
    """Return the page as Markdown."""
    return "\n".join([HEAD, *(line for group in GROUPS for line in _group(group))])


def _group(group: str) -> Iterator[str]:
    yield f"## {group[0].upper()}{group[1:]}\n"
    yield "| command | short | does |"
    yield "| --- | --- | --- |"
    rows = [command for command in COMMANDS if command.group == group]
    for command in rows:
        short = ", ".join(f"`{alias}`" for alias in command.aliases)
        spelling = " ".join(part for part in (command.name, command.usage) if part).replace("|", "\\|")
        yield f"| `{spelling}` | {short} | {command.summary.replace('|', chr(92) + '|')} |"
    yield ""
    for command in rows:
        yield from _details(command)


def _details(command: Command) -> Iterator[str]:
    if command.details:
        yield f"`{command.name}`:\n"
        yield f"```text\n{command.details}\n```\n"


if __name__ == "__main__":
    print(manual(), end="")
