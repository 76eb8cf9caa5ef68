"""The commands that look around: where, list, focus, info, history."""

import linecache
from typing import TYPE_CHECKING

from mlusim.debug import regions, states
from mlusim.debug.breakpoints import LineLocation
from mlusim.debug.cmd_stop import describe
from mlusim.debug.command import LOOKING, Command
from mlusim.debug.cores import full_name, name_of, parse_name
from mlusim.debug.describe import effect_text, launch_text, value_text, where_text
from mlusim.debug.frames import line_of
from mlusim.debug.table import pairs, table
from mlusim.debug.world import need_core
from mlusim.errors import UsageError
from mlusim.observe.finding import short
from mlusim.report.words import size

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from mlusim.debug.console import Console
    from mlusim.debug.session import DebugSession

AROUND = 5  # lines of source shown before and behind the current one
BAR = 32  # columns of a bar


def where(console: "Console", words: str) -> str:
    """The stack."""
    del words
    session = console.session
    stack, world = session.stack, session.world
    if not stack:
        return console.stop_text()
    level = min(session.level, len(stack) - 1)
    lines = []
    for n, frame in enumerate(stack):
        place = where_text(frame.f_code.co_filename, line_of(frame, world.stop.error), frame.f_code.co_name)
        lines.append(f"{'*' if n == level else ' '} {n}  {place}")
    assert session.core is not None
    return "\n".join([f"{full_name(session.core)}, {session.position}", *lines])


def up(console: "Console", words: str) -> str:
    """To the caller."""
    return _level(console.session, console.session.level + _steps(words))


def down(console: "Console", words: str) -> str:
    """To the function called."""
    return _level(console.session, console.session.level - _steps(words))


def frame_(console: "Console", words: str) -> str:
    """To a frame by its number."""
    if words and not words.isdigit():
        raise UsageError(f"{words!r} is no number of a frame; `where` shows them")
    return _level(console.session, int(words) if words else console.session.level)


def _steps(words: str) -> int:
    if words and not words.isdigit():
        raise UsageError(f"{words!r} is no count of frames")
    return int(words) if words else 1


def _level(session: "DebugSession", level: int) -> str:
    stack = session.stack
    if not stack:
        raise UsageError("no task is in the kernel here")
    if not 0 <= level < len(stack):
        raise UsageError(f"the stack has the frames 0 to {len(stack) - 1}; this would be frame {level}")
    session.level = level
    frame = stack[level]
    return f"frame {level}, {where_text(frame.f_code.co_filename, line_of(frame, session.stop.error), frame.f_code.co_name)}"


def list_(console: "Console", words: str) -> str:
    """Source around a line."""
    session = console.session
    site = session.site
    if words:
        file, _, line = words.rpartition(":")
        if not line.isdigit():
            raise UsageError(f"list takes a line, as in `list 94`, not {words!r}")
        files = [f.code.co_filename for f in session.recorded.functions]
        here = site[0] if site is not None else files[0]
        named = next((f for f in files if f.endswith(file)), None) if file else here
        if named is None:
            raise UsageError(f"no file of the kernel is called {file}; `info functions` lists them")
        site = named, int(line)
    if site is None:
        function = session.recorded.functions[0].code
        site = function.co_filename, function.co_firstlineno
    return listing(session, site[0], site[1], AROUND, AROUND)


def listing(session: "DebugSession", file: str, line: int, before: int, behind: int) -> str:
    """Lines of source with the current one and breakpoints marked."""
    source = linecache.getlines(file)
    if not source:
        raise UsageError(f"there is no source of {short(file)}")
    here = session.site
    stops = {
        (b.location.file, b.location.line)
        for b in session.breakpoints.values()
        if b.enabled and isinstance(b.location, LineLocation)
    }
    lines = []
    for n in range(max(1, line - before), min(len(source), line + behind) + 1):
        mark = "->" if here == (file, n) else "  "
        stop = "B" if (file, n) in stops else " "
        lines.append(f"{stop}{mark} {n:4}  {source[n - 1].rstrip()}".rstrip())
    return "\n".join(lines)


def task(console: "Console", words: str) -> str:
    """Look at another task."""
    session = console.session
    if not words:
        core = session.core
        return "no task is running here" if core is None else f"{full_name(core)} is in focus"
    name = parse_name(words)
    need_core(session.world, name)
    session.focus, session.level = name, 0
    core = session.core
    assert core is not None
    frame = session.frame
    if frame is None:
        return f"{full_name(core)}, which has not entered the kernel yet"
    line = line_of(frame, session.stop.error if core is session.world.cast.failed else None)
    text = f"{full_name(core)} in {where_text(frame.f_code.co_filename, line, frame.f_code.co_name)}"
    source = linecache.getline(frame.f_code.co_filename, line).rstrip()
    return f"{text}\n{line}\t{source}" if source else text


def history(console: "Console", words: str) -> str:
    """The last operations."""
    session = console.session
    given = words.split()
    mine = "task" in given
    numbers = [word for word in given if word != "task"]
    if len(numbers) > 1 or (numbers and not numbers[0].isdigit()):
        raise UsageError(f"history takes a count, and `task` for this task only, not {words!r}")
    count = int(numbers[0]) if numbers else 10
    world = session.watched_world(history=True)
    core = session.core
    recent = [op for op in world.recent if not mine or op.core is core]
    if not recent:
        return (
            "nothing has been watched here"
            if not world.watched
            else "nothing has happened yet in this launch"
        )
    rows = []
    for op in recent[-count:]:
        what = op.name if op.effect is None else f"{op.name}, {effect_text(world, op.effect)}"
        site = "" if op.effect is None else f"{short(op.effect.site.file)}:{op.effect.site.line}"
        rows.append([str(op.moment), "-" if op.core is None else name_of(op.core), op.kind, site, what])
    return table(["moment", "task", "", "line", "operation"], rows)


# -- info --------------------------------------------------------------------------------------------


def info(console: "Console", words: str) -> str:
    """One of the views."""
    name, _, rest = words.partition(" ")
    found = [view for view in INFO if view.startswith(name)] if name else []
    if name in INFO:
        found = [name]
    if len(found) != 1:
        raise UsageError(f"info shows one of: {', '.join(INFO)}")
    return INFO[found[0]][0](console.session, rest.strip())


def _tasks(session: "DebugSession", words: str) -> str:
    del words
    world = session.world
    focus = session.core
    rows = [
        [
            "*" if focus is not None and t.name == name_of(focus) else "",
            t.name,
            t.cluster,
            t.core,
            t.state,
            t.where,
            t.waits,
        ]
        for t in states.tasks(world)
    ]
    ended, waiting = states.others(world)
    count = f"{ended} ended, {waiting} not begun"
    return (
        table(["", "task", "cluster", "core", "state", "where", "waits for"], rows) + f"\n{count}"
        if rows
        else count
    )


def _cores(session: "DebugSession", words: str) -> str:
    del words
    rows = [[n, c, k, i, size(int(b))] for n, c, k, i, b in states.cores(session.world)]
    return (
        table(["task", "cluster", "core", "instructions", "NRAM declared"], rows)
        if rows
        else "no core is running here"
    )


def _clusters(session: "DebugSession", words: str) -> str:
    del words
    rows = [[name, members, size(int(nbytes))] for name, members, nbytes in states.clusters(session.world)]
    return (
        table(["cluster", "cores", "SRAM declared"], rows)
        if rows
        else "no cluster is running here; Block tasks have none"
    )


def _pipes(session: "DebugSession", words: str) -> str:
    world = session.watched_world()
    core = need_core(world, parse_name(words)) if words else session.core
    if core is None:
        return "no task is running here"
    lines = [full_name(core)]
    for pipe in states.pipes(world, core):
        what = [f"next: {pipe.issuing}"] * bool(pipe.issuing) + [
            f"in flight: {flight}" for flight in pipe.flights
        ]
        lines += [f"{pipe.pipe.ljust(8)}  {text}" for text in what or ["idle"]]
    return "\n".join(lines)


def _barriers(session: "DebugSession", words: str) -> str:
    del words
    lines = [
        f"{b.name} ({b.who}): {', '.join(b.arrived)} arrived; {', '.join(b.missing)} missing"
        for b in states.barriers(session.world)
    ]
    lines += [f"mutex {numbers}: held by {owner}" for numbers, owner in states.mutexes(session.world)]
    return "\n".join(lines) or "nobody waits at a barrier, and no mutex is held"


def _breakpoints(session: "DebugSession", words: str) -> str:
    del words
    lines = [
        describe(b) + (f"; {b.hits} hit{'s' * (b.hits != 1)}" if b.hits else "")
        for b in session.breakpoints.values()
    ]
    return "\n".join(lines) or "no breakpoints"


def _locals(session: "DebugSession", words: str) -> str:
    del words
    frame = session.frame
    if frame is None:
        return "no task is in the kernel here"
    rows = [(name, value_text(value, session.world)) for name, value in frame.f_locals.items()]
    return pairs(rows) or "this function has no variables yet"


def _launch(session: "DebugSession", words: str) -> str:
    del words
    world, recorded = session.world, session.recorded
    request = world.session.request
    head = [
        (f"launch {recorded.index}", launch_text(world)),
        (
            "effects",
            f"land {request.effects}" + (f", seed {request.seed}" if request.seed is not None else ""),
        ),
        ("moments", str(recorded.moments) if recorded.moments is not None else "not counted yet"),
    ]
    rows = [(n, value_text(a, world)) for n, a in zip(recorded.parameters, request.arguments, strict=True)]
    return pairs([*head, *rows])


def _launches(session: "DebugSession", words: str) -> str:
    del words
    rows = []
    for one in session.launches:
        mark = "*" if one is session.recorded else ""
        kept = "behind the history" if one.tensors is None else size(one.nbytes)
        count = str(one.moments) if one.moments is not None else ""
        rows.append([mark, str(one.index), one.kernel, count, kept])
    return table(["", "launch", "kernel", "moments", "tensors kept"], rows)


def _functions(session: "DebugSession", words: str) -> str:
    del words
    rows = [
        [f.name, f"{short(f.code.co_filename)}:{f.code.co_firstlineno}"] for f in session.recorded.functions
    ]
    return table(["function", "begins at"], rows)


def _state_rows(rows: list[regions.RegionState]) -> str:
    return table(
        ["name", "memory", "type", "elements", "offset", "bytes", "minimum", "maximum", "nan", "poison", "first"],
        [
            [r.name, r.memory, r.dtype, str(r.elements), f"{r.offset:#x}", str(r.nbytes), r.minimum, r.maximum, str(r.nan), str(r.poison), r.first]
            for r in rows
        ],
    )  # fmt: skip


def _regions(session: "DebugSession", words: str) -> str:
    del words
    world, core = session.world, session.core
    rows = regions.plan_regions(world, core) or regions.declarations(world, core)
    if not rows:
        return "no task has declared memory here; `info tensors` shows GDRAM"
    return _state_rows(rows)


def _tensors(session: "DebugSession", words: str) -> str:
    del words
    rows = regions.tensors(session.world)
    return _state_rows(rows) if rows else "the launch has no tensors"


def _nram(session: "DebugSession", words: str) -> str:
    del words
    world, core = session.world, session.core
    if core is None:
        return "no task is running here"
    lines = [full_name(core)]
    for space, arena in core.arenas.items():
        if arena.top:
            lines.append(f"{space}: {arena.top} of {arena.capacity} bytes declared")
    if core.cluster is not None and core.cluster.sram.top:
        lines.append(f"SRAM: {core.cluster.sram.top} of {core.cluster.sram.capacity} bytes declared")
    rows = regions.plan_regions(world, core) or [
        r for r in regions.declarations(world, core) if r.memory == "NRAM"
    ]
    extent = max((r.offset + r.nbytes for r in rows), default=1)
    width = max((len(r.name) for r in rows), default=0)
    for r in rows:
        left = r.offset * BAR // extent
        filled = max(1, -(-r.nbytes * BAR // extent))
        bar = (" " * left + "#" * filled)[:BAR].ljust(BAR)
        lines.append(f"  {r.name.ljust(width)} |{bar}| {r.offset:#x}, {r.nbytes} bytes")
    return "\n".join(lines)


def _line(session: "DebugSession", words: str) -> str:
    del words
    frame: FrameType | None = session.frame
    if frame is None:
        return "no task is in the kernel here"
    return where_text(frame.f_code.co_filename, line_of(frame, session.stop.error), frame.f_code.co_name)


INFO: "dict[str, tuple[Callable[[DebugSession, str], str], str]]" = {
    "tasks": (_tasks, "every running task and memory core: what it is doing, where, what it waits for"),
    "cores": (_cores, "the cores that run: instructions executed, NRAM declared"),
    "clusters": (_clusters, "the clusters that run: their cores, SRAM declared"),
    "pipes": (
        _pipes,
        "the pipes of this task, or of `task N`: what is in flight, and which bytes it will touch",
    ),
    "barriers": (
        _barriers,
        "barriers that some have reached: who arrived, who is missing; mutexes that are held",
    ),
    "regions": (
        _regions,
        "the regions of the plan, or the declarations, of this task, with values in numbers",
    ),
    "tensors": (_tensors, "the launch's tensors, with values in numbers"),
    "nram": (_nram, "a map of this task's memory on the chip"),
    "locals": (_locals, "the variables of the function in focus"),
    "line": (_line, "the line in focus"),
    "launch": (_launch, "the launch: kernel, grid, board, arguments"),
    "launches": (_launches, "the launches that the program has begun"),
    "functions": (_functions, "the functions that the kernel can reach"),
    "breakpoints": (_breakpoints, "the breakpoints, with hits"),
}

VIEWS = "\n".join(f"  info {name.ljust(12)} {text}" for name, (_, text) in INFO.items())

COMMANDS = (
    Command("where", ("bt", "backtrace"), "", LOOKING, "show the functions that this task is in, innermost first", where),
    Command("up", (), "[N]", LOOKING, "look at the function that called this one", up, repeats=True),
    Command("down", (), "[N]", LOOKING, "look at the function that this one called", down, repeats=True),
    Command("frame", ("f",), "[N]", LOOKING, "look at frame N of `where`", frame_),
    Command("list", ("l",), "[[FILE:]LINE]", LOOKING, "show source around the current line, or another", list_),
    Command("task", ("t",), "[N]", LOOKING, "look at task N, or at memory core Nm; the schedule is not changed", task, completes="task"),
    Command("info", ("i",), "VIEW", LOOKING, "show a view of the machine", info, VIEWS, completes="info"),
    Command("history", (), "[N] [task]", LOOKING, "show the last N operations of all tasks, or of this task", history),
)  # fmt: skip
