"""The commands about the current position: where, list, focus, history."""

import linecache
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mlusim.debug.console.command import LOOKING, Command, CommandContext
from mlusim.debug.look.describe import effect_text, frame_text
from mlusim.debug.look.paused_run import need_core
from mlusim.debug.source.frames import full_name, name_of, parse_name, place_of, source_line
from mlusim.debug.source.functions import find_function
from mlusim.debug.values import line_stops
from mlusim.document import text_table
from mlusim.errors import UsageError

if TYPE_CHECKING:
    from mlusim.debug.session import DebugSession

AROUND = 5  # lines of source shown before and after the current one


def where(console: CommandContext, _words: str) -> str:
    """Show the stack of the current task."""
    session = console.session
    stack, paused = session.stack(), session.look()
    if not stack:
        return console.stop_text()
    level = min(session.level, len(stack) - 1)
    lines = [
        f"{'*' if n == level else ' '} {n}  {frame_text(frame, paused.stop.error)}"
        for n, frame in enumerate(stack)
    ]
    core = session.core()
    who = "host" if core is None else f"{full_name(core)}, {session.place}"
    return "\n".join([who, *lines])


def up(console: CommandContext, words: str) -> str:
    """Select the caller's frame."""
    return _level(console.session, console.session.level + _steps(words))


def down(console: CommandContext, words: str) -> str:
    """Select the frame of the called function."""
    return _level(console.session, console.session.level - _steps(words))


def frame_(console: CommandContext, words: str) -> str:
    """Select a frame by its number."""
    if words and not words.isdigit():
        raise UsageError(f"{words!r} is not a number of a frame; `where` shows them")
    return _level(console.session, int(words) if words else console.session.level)


def _steps(words: str) -> int:
    if words and not words.isdigit():
        raise UsageError(f"{words!r} is not a count of frames; give a whole number, as in `up 2`")
    return int(words) if words else 1


def _level(session: "DebugSession", level: int) -> str:
    stack = session.stack()
    if not stack:
        raise UsageError("no task is in the kernel here; `stepi all` goes to whichever comes first")
    if not 0 <= level < len(stack):
        raise UsageError(f"the stack has the frames 0 to {len(stack) - 1}; this would be frame {level}")
    session.level = level
    return f"frame {level}, {frame_text(stack[level], session.stop.error)}"


def list_(console: CommandContext, words: str) -> str:
    """Show the source around a line; without an argument, the lines after the last ones shown at this stop."""
    session = console.session
    # `list` continues after the last lines only at the same stop; at another one it begins at its line.
    known = console.listed if console.listed is not None and console.listed[0] is session.stop else None
    if words == "-" or (not words and known is not None):
        if known is None:
            raise UsageError("nothing has been listed at this stop; `list` shows the lines around it")
        _, file, first, last = known
        if words:
            first, last = max(1, first - 2 * AROUND), first - 1
        else:
            first, last = last + 1, last + 2 * AROUND
    else:
        file, first, last = _meant(session, words)
    # Without a source there is no line to compare, and `listing` reports that.
    count = len(linecache.getlines(file))
    if count and not 1 <= first <= min(last, count):
        raise UsageError(f"there are no more lines there; {place_of(file)} has the lines 1 to {count}")
    text = listing(session, file, first, 0, last - first)
    console.listed = session.stop, file, first, min(last, count)
    return text


def _meant(session: "DebugSession", words: str) -> tuple[str, int, int]:
    """Return the file and the lines of *words*: around a line or a function, or from one place to another."""
    if not words:
        site = session.site()
        if site is None:
            # Before the launch's first line the kernel itself is shown.
            function = session.functions[0].code
            site = function.co_filename, function.co_firstlineno
        return site[0], max(1, site[1] - AROUND), site[1] + AROUND
    begin, comma, end = (word.strip() for word in words.partition(","))
    if not comma:
        file, line = _place(session, begin)
        # A function is shown from its first line on, a line with those around it.
        before = 1 if begin.isidentifier() else AROUND
        return file, max(1, line - before), line + 2 * AROUND - 1 - before + (before == AROUND)
    if not begin and not end:
        raise UsageError(
            "list takes a line on one side of the comma at least, as in `list 60,` or `list 60,80`"
        )
    file, first = _place(session, begin) if begin else ("", 0)
    other, last = _place(session, end) if end else (file, first + 2 * AROUND - 1)
    if not begin:
        return other, max(1, last - 2 * AROUND + 1), last
    # A bare number after the comma is a line of the first place's file, not of the file in focus.
    if other != file and ":" not in end and end.isdigit():
        other = file
    if other != file or last < first:
        raise UsageError(f"list {words} names no lines; the first comes first, in the same file")
    return file, first, last


def _place(session: "DebugSession", word: str) -> tuple[str, int]:
    """Return the file and line of a number, FILE:LINE or the name of a function."""
    if word.isidentifier():
        code = find_function(word, session.functions, session.owned).code
        return code.co_filename, code.co_firstlineno
    file, _, line = word.rpartition(":")
    if not line.isdigit():
        raise UsageError(
            f"list takes lines or functions, as in `list 94`, `list 94,` or `list f,g`, not {word!r}"
        )
    return _line(session, file, int(line))


def _line(session: "DebugSession", file: str, line: int) -> tuple[str, int]:
    """Return *line* of *file*, or of the file in focus if *file* is empty; raises `UsageError` if there is no such line."""
    site, files = session.site(), [f.code.co_filename for f in session.functions]
    here = site[0] if site is not None else files[0]
    named = next((f for f in files if f.endswith(file)), None) if file else here
    if named is None:
        raise UsageError(f"no file of the kernel is called {file}; `info functions` lists them")
    last = len(linecache.getlines(named))
    if not 1 <= line <= last:
        raise UsageError(f"{place_of(named)} has the lines 1 to {last}")
    return named, line


def listing(session: "DebugSession", file: str, line: int, before: int, behind: int) -> str:
    """Return the lines of source with the current one and breakpoints marked."""
    source = linecache.getlines(file)
    if not source:
        raise UsageError(f"there is no source of {place_of(file)}")
    here = session.site()
    stops = line_stops(session, file)
    lines = []
    for n in range(max(1, line - before), min(len(source), line + behind) + 1):
        mark = "->" if here == (file, n) else "  "
        stop = "B" if n in stops else " "
        lines.append(f"{stop}{mark} {n:4}  {source[n - 1].rstrip()}".rstrip())
    return "\n".join(lines)


def task(console: CommandContext, words: str) -> str:
    """Select another task, with its innermost frame."""
    session = console.session
    if words.startswith("apply "):
        return _apply(console, words.removeprefix("apply ").strip())
    if not words:
        core = session.core()
        return "no task is running here" if core is None else f"{full_name(core)} is in focus"
    name = parse_name(words)
    need_core(session.look(), name)
    # Another task has other frames: its innermost one is selected.
    session.focus, session.level = name, 0
    core = session.core()
    assert core is not None
    frame = session.frame()
    if frame is None:
        return f"{full_name(core)}, which has not entered the kernel yet"
    error = session.stop.error if core is session.look().observed.failed else None
    return "\n".join([f"{full_name(core)} in {frame_text(frame, error)}", *source_line(frame, error)])


def _apply(console: CommandContext, words: str) -> str:
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


def _applied(console: CommandContext, session: "DebugSession", chosen: list[str], line: str) -> Iterator[str]:
    # Compared by identity: a later stop at an equal position is another stop.
    before, stop = (session.focus, session.level), session.stop
    for name in chosen:
        session.focus, session.level = name, 0
        reply = console.execute(line)
        yield f"{name}:\n{reply.text}"
        # The launch has moved, and the command was meant for the earlier position.
        if session.stop is not stop:
            yield "the command has moved; the tasks behind are left out"
            return
    session.focus, session.level = before


def history(console: CommandContext, words: str) -> str:
    """Show the last operations."""
    session = console.session
    parts = words.split()
    mine = "task" in parts
    numbers = [word for word in parts if word != "task"]
    if len(numbers) > 1 or (numbers and not numbers[0].isdigit()):
        raise UsageError(f"history takes a count, and `task` for this task only, not {words!r}")
    count = int(numbers[0]) if numbers else 10
    paused = session.watched(history=True)
    core = session.core()
    recent = [op for op in paused.recent if not mine or op.core is core]
    if not recent:
        nothing = "nothing has happened yet in this launch"
        return nothing if paused.watched else "nothing has been watched here"
    rows = []
    for op in recent[-count:]:
        what = op.name if op.effect is None else f"{op.name}, {effect_text(paused, op.effect)}"
        site = "" if op.effect is None else f"{place_of(op.effect.site.file)}:{op.effect.site.line}"
        rows.append([str(op.moment), "-" if op.core is None else name_of(op.core), op.kind, site, what])
    return text_table(["moment", "task", "", "line", "operation"], rows)


COMMANDS = (
    Command("where", ("bt", "backtrace"), "", LOOKING, "show the functions that this task is in, innermost first", where),
    Command("up", (), "[N]", LOOKING, "look at the function that called this one", up, repeats=True),
    Command("down", (), "[N]", LOOKING, "look at the function that this one called", down, repeats=True),
    Command("frame", ("f",), "[N]", LOOKING, "look at frame N of `where`", frame_),
    Command("list", ("l",), "[PLACE | PLACE,PLACE | PLACE, | ,PLACE | -]", LOOKING, "show source around the current line or a place, from a place to a place, then the lines behind, with - those before", list_, completes="function"),
    Command("task", ("t", "thread"), "[N | apply all|N,N COMMAND]", LOOKING, "look at task N, or at memory core Nm; the schedule is not changed; with `apply` execute a command for several tasks", task, completes="task"),
    Command("history", (), "[N] [task]", LOOKING, "show the last N operations of all tasks, or of this task", history),
)  # fmt: skip
