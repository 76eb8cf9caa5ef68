"""`Console`: lines of text in, text out; the table of all commands, and the commands about the session itself."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from mlusim.bangc.c_scope import macros_of
from mlusim.counted import plural
from mlusim.debug.console import cmd_info, cmd_look, cmd_memory, cmd_run
from mlusim.debug.console.command import (
    GROUPS,
    SESSION,
    STOPPING,
    Command,
    CommandContext,
    Reply,
    find_command,
)
from mlusim.debug.locations import location_of, names_at
from mlusim.debug.look.describe import elements, end_text, outcome_text, stop_text
from mlusim.debug.look.evaluate import c_scope, members_of
from mlusim.debug.look.paused_run import Focus
from mlusim.debug.look.places import owner_in
from mlusim.debug.look.regions import array_of, bytes_differ
from mlusim.debug.session import NOT_LAUNCHED, DebugSession
from mlusim.debug.source.frames import failed_text, name_of, parameters_of, variables_of
from mlusim.debug.stop.stops import LAUNCH_END, Breakpoint, Location, Position, Stop, Watchpoint
from mlusim.document import text_pairs
from mlusim.errors import MlusimError, UsageError, one_line
from mlusim.files.reading import read_text
from mlusim.isa.table import ISA
from mlusim.kernel_frames import SCOPES
from mlusim.lazy import lazy


def help_(console: CommandContext, words: str) -> str:
    """Return the table of commands, or the help of one command."""
    if words:
        return help_text(find_command(words.split(maxsplit=1)[0], console.commands))
    parts = []
    for group in GROUPS:
        rows = [(_head(c), c.summary) for c in console.commands if c.group == group]
        parts.append(f"{group}:\n" + "\n".join(f"  {line}" for line in text_pairs(rows).splitlines()))
    return "\n\n".join([*parts, "`help COMMAND` says more; an empty line repeats a step."])


def _head(command: Command) -> str:
    return ", ".join((command.name, *command.aliases)) + (f" {command.usage}" if command.usage else "")


def help_text(command: Command) -> str:
    """Return the text of `help COMMAND`."""
    lines = [_head(command), f"  {command.summary}"]
    return "\n".join([*lines, *(f"  {line}" for line in command.details.splitlines())])


def source(console: CommandContext, words: str) -> str:
    """Execute the commands of a file."""
    if not words:
        raise UsageError("source takes a file of commands, one a line, as in `source stops.txt`")
    return "\n".join(reply.text for reply in console.execute_file(words) if reply.text)


def record(console: CommandContext, words: str) -> str:
    """Write a recording of the run."""
    if not words:
        raise UsageError("record takes a file, as in `record wrong.mlusim`")
    size = recordings.save(console.session, words)
    return f"{console.session.program.name} at {console.session.position} recorded in {words}, {size} {plural(size, 'byte')}"


def replay(console: CommandContext, words: str) -> str:
    """Go to the position of a recording."""
    if not words:
        raise UsageError("replay takes the file of a recording, as in `replay wrong.mlusim`")
    name = words.removeprefix(TRUST).strip() if words.startswith(f"{TRUST} ") else words
    return "\n".join([*console.replay(name, trust=name != words), console.stop_text()])


def quit_(console: CommandContext, _words: str) -> str:
    """Leave the debugger and end the run."""
    console.leaves = True
    return ""


RECORDINGS = """The file holds an operator's name and arrays, a script's text, or the names and digests of BANG C sources with the
arrays of the call; `mlusim debug --replay FILE` or `replay FILE` stands at the same place, and says so if the state is
not the same to the byte.  Nothing that came with the file is executed before --trust: a script and sources are
refused, conditions of breakpoints are disabled.  A function that was given
to `DebugSession` in Python cannot be recorded."""
TRUST = "--trust"

SESSION_COMMANDS = (
    Command("source", (), "FILE", SESSION, "execute the commands of a file, one a line; # begins a comment", source),
    Command("record", (), "FILE", SESSION, "write the program, this place and the breakpoints to a file, for another machine", record, RECORDINGS),
    Command("replay", (), "[--trust] FILE", SESSION, "leave this program, and stand at the place of a recording", replay),
    Command("help", ("h",), "[COMMAND]", SESSION, "list the commands, or say more about one", help_, completes="command"),
    Command("quit", ("q", "exit"), "", SESSION, "leave the debugger; the program ends where it is", quit_),
)  # fmt: skip


if TYPE_CHECKING:
    from mlusim.debug import recording as recordings
else:
    (recordings,) = lazy("mlusim.debug.recording")

Array = np.ndarray[Any, Any]
SHOWN = 4  # elements of a watchpoint that are shown individually
FORMED = ("x", "print", "why", "display")  # commands that accept a /FORM


def change_of(session: "DebugSession", point: Breakpoint) -> str:
    """Return the elements that are about to change, as in ``buffer[3]: 0 -> 7``, or "" if they are not known.

    Their new values are read from another run of the launch, which continues for one more moment.
    """
    location, stop = point.location, session.stop
    if not (
        isinstance(location, Watchpoint) and location.writes and stop.op is not None and stop.core is not None
    ):
        return ""
    span = location.span
    if span.anyone:
        span = evolve(span, owner=owner_in(span.space, stop.core), anyone=False)
    try:
        before = array_of(Focus(session.look(), stop.core), span).reshape(-1)
        with session.beside(Position(stop.position.launch, stop.position.moment + 1)) as there:
            behind = array_of(Focus(there, there.observed.core(session.focus or "")), span).reshape(-1)
    except MlusimError:
        return ""
    return _told(span.text, before, behind)


def _told(text: str, before: Array, behind: Array) -> str:
    """Return the first elements that differ, with both values."""
    changed = np.flatnonzero(bytes_differ(before, behind))
    if not changed.size:
        more = ", ..." if before.size > SHOWN else ""
        return f"{text} keeps its value{'s' * (before.size > 1)}: {', '.join(elements(before[:SHOWN]))}{more}"
    names = [text if before.size == 1 else f"{text}[{at}]" for at in changed[:SHOWN]]
    pairs = zip(names, elements(before[changed[:SHOWN]]), elements(behind[changed[:SHOWN]]), strict=True)
    lines = [f"{name}: {old} -> {new}" for name, old, new in pairs]
    rest = changed.size - len(lines)
    return "\n".join(lines) + (f"\nand {rest} more" if rest else "")


COMMANDS: tuple[Command, ...] = (
    *cmd_run.COMMANDS,
    *cmd_look.COMMANDS,
    *cmd_info.COMMANDS,
    *cmd_memory.COMMANDS,
    *SESSION_COMMANDS,
)
"""Every command; help, completion and the manual page are made from this."""


_LAST = re.compile(r"(?P<head>.*?)(?P<name>(?:[A-Za-z_]\w*)?)$")


class Console(CommandContext):
    """Executes command lines on a session, and keeps the command that an empty line repeats.  Prints nothing."""

    def __init__(self, session: DebugSession) -> None:
        super().__init__(session, COMMANDS)
        self._again = ""

    def execute(self, line: str) -> Reply:
        """Execute one line, and the commands of the breakpoint at which it stops, if any.

        An error is a reply with ``ok`` false, and the session continues.
        """
        # While the commands of a breakpoint are being typed, every line is one of them.
        if self.collecting is not None:
            return self._collected(line.strip())
        stop = self.session.stop
        reply = self._execute(line)
        texts, waiting = [reply.text], self._attached(stop)
        while waiting and reply.ok and not reply.leaves:
            stop = self.session.stop
            reply = self._execute(waiting.pop(0))
            texts.append(reply.text)
            # A command that moves ends the list, as in gdb: the remaining ones were meant for the earlier
            # position.
            if self.session.stop is not stop:
                waiting = self._attached(stop)
        return Reply("\n".join(text for text in texts if text), reply.ok, reply.leaves)

    def _attached(self, before: Stop) -> list[str]:
        """Execute the commands of breakpoints at which the session stops now and did not stop *before*; return their answers."""
        stop = self.session.stop
        if stop is before:
            return []
        return [line for hit in stop.hits for line in self.attached.get(hit.number, ())]

    def _collected(self, line: str) -> Reply:
        """Store one more command of a breakpoint, or finish the list."""
        assert self.collecting is not None
        number, lines = self.collecting
        if line != "end":
            lines.append(line)
            return Reply("")
        self.collecting = None
        cmd_run.attach(self, number, lines)
        return Reply(cmd_run.told(self, number))

    def _execute(self, line: str) -> Reply:
        text = line.strip() or self._again
        # An empty line repeats only a command that succeeded.
        self._again = ""
        if not text or text.startswith("#"):
            return Reply("")
        if "\0" in text:
            return Reply("error: a command holds no NUL character; no file is called so", ok=False)
        try:
            command, words = self._parse(text)
            shown = self._run(command, words)
        except MlusimError as error:
            # An error message is one line, so that programs can distinguish it from other output.
            return Reply(f"error: {one_line(error)}", ok=False)
        except KeyboardInterrupt:
            return Reply("interrupted", ok=False)
        if command.repeats:
            self._again = text
        return Reply(shown, leaves=self.leaves)

    def _run(self, command: Command, words: str) -> str:
        """Run a command; afterwards the program's own variables are restored."""
        try:
            return command.run(self, words)
        finally:
            self.session.runs.holder.take(None)

    def execute_file(self, name: str) -> Iterator[Reply]:
        """Execute the lines of a file until one fails or ends the console; raises `UsageError` if the file cannot be read."""
        for line in read_text(name).splitlines():
            if line.strip():
                reply = self.execute(line)
                yield reply
                if not reply.ok or reply.leaves:
                    return

    def _parse(self, text: str) -> tuple[Command, str]:
        word, _, rest = text.partition(" ")
        name, slash, form = word.partition("/")
        command = find_command(name, self.commands)
        words = rest.strip()
        if slash:
            if command.name not in FORMED:
                raise UsageError(f"{command.name} takes no /{form}; {', '.join(FORMED)} take a form")
            words = f"/{form} {words}"
        return command, words

    def replay(self, name: str, *, trust: bool = False) -> list[str]:
        """Replace the session by that of a recording; return the differences from the recording."""
        recording = recordings.load(name, trust=trust)
        session = DebugSession(recordings.program_in(recording), history=self.session.host.history)
        self.session.close()
        self.session = session
        return recordings.stand(session, recording)

    def stop_text(self) -> str:
        """Return the reason and the place of the current stop, and the displayed expressions."""
        shown = cmd_memory.displays_text(self) if self.displays and self.session.launches else ""
        return self._stop_text() + (f"\n{shown}" if shown else "")

    def _stop_text(self) -> str:
        session = self.session
        if not session.launches:
            return NOT_LAUNCHED + self._ended()
        # Inspecting the machine would need another run of the launch, and no core is left in it.
        if session.stop.kind is LAUNCH_END:
            return end_text(session.recorded, session.stop) + self._ended()
        paused, stop = session.look(), session.stop
        text = stop_text(paused, paused.stop if stop.core is None else stop, self._ended())
        changes = [change for hit in stop.hits if (change := change_of(session, hit))]
        return "\n".join([text, *changes])

    def _ended(self) -> str:
        session = self.session
        if not session.over:
            return ""
        failure = session.host.failure
        if failure is not None:
            return f"\nthe program has ended with {failed_text(failure)}"
        return "\nthe program has ended" + outcome_text(session.host.result)

    def complete(self, text: str) -> list[str]:
        """Return the completions of the last word of *text*."""
        word, blank, rest = text.lstrip().partition(" ")
        if not blank:
            return sorted(c.name for c in COMMANDS if c.name.startswith(word))
        try:
            command = find_command(word.partition("/")[0], self.commands)
        except UsageError:
            # An error in the line means that there is nothing to complete.
            return []
        kind, last = command.completes, rest.split(" ")[-1]
        try:
            if (location := self._tested_at(command, rest)) is not None:
                begun = _LAST.match(last)
                head, name = (begun["head"], begun["name"]) if begun is not None else ("", last)
                if not head.endswith((".", "->")):
                    names = names_at(self.session, location)
                    return sorted({head + known for known in names if known.startswith(name)})
                kind = "place"
            if kind == "info" and " " in rest:
                kind = {"macro": "macro", "args": "argument", "pipes": "task"}.get(rest.split(" ")[0], "")
            if kind in ("place", "function") and (found := self._inside(last)) is not None:
                return found
            return sorted({name for name in self._names(kind) if name.startswith(last)})
        except MlusimError:
            return []
        finally:
            self.session.runs.holder.take(None)

    def _tested_at(self, command: Command, rest: str) -> Location | None:
        """Return the place of the breakpoint whose condition is being typed at the end of *rest*; None if there is none, or it is not loaded."""
        match = re.match(r"(?P<place>.*?)(?:^|\s)if\s", rest) if command.group == STOPPING else None
        if match is not None and command.name in ("break", "tbreak"):
            return location_of(self.session, re.sub(r"\s+(task|ignore)\s+\w+$", "", match["place"].strip()))
        number, behind, _ = rest.partition(" ")
        if command.name == "condition" and behind and number.isdigit():
            made = self.session.breakpoints.get(int(number))
            return None if made is None else made.location
        return None

    def _inside(self, last: str) -> list[str] | None:
        """Return the completions of the last name in an expression: members after ``.`` or ``->``, C names after an operator.

        Return None if the whole word is a single name.
        """
        form = _LAST.match(last)
        scope = c_scope(self.session.frame()) if form is not None and form["head"] else None
        if form is None or scope is None:
            return None
        head, begun = form["head"], form["name"]
        behind = re.search(r"([\w\]\[.>*-]+?)(\.|->)$", head)
        if behind is None:
            return sorted({head + name for name in self._names("place") if name.startswith(begun)})
        members = members_of(behind[1], self.session.frame(), self.session.core())
        return sorted(head + name for name in members if name.startswith(begun))

    def _names(self, kind: str) -> list[str]:
        session = self.session
        if kind == "command":
            return [c.name for c in COMMANDS]
        if kind == "info":
            return list(cmd_info.INFO)
        if kind == "breakpoint":
            return [str(n) for n in session.breakpoints]
        if kind == "task":
            return [name_of(core).removeprefix("task ") for core in session.look().cores]
        if kind == "macro":
            scope = session.scope()
            return [] if scope is None else list(macros_of(scope.module))
        if kind == "argument":
            frame = session.frame()
            return [] if frame is None else list(parameters_of(frame))
        if kind == "function":
            return [*(f.name for f in session.functions), *ISA]
        if kind == "place":
            frame = session.frame()
            names = session.names()
            scopes = names.pop(SCOPES, None)  # of a BANG C kernel, inside or outside of a function
            return [
                *names,
                *(variables_of(frame) if frame is not None else ()),
                *(() if scopes is None else scopes.names()),
            ]
        return []
