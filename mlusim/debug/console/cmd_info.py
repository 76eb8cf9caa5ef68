"""The command `info`, and its views of the machine."""

from typing import TYPE_CHECKING, Any

from attrs import astuple

from mlusim.bangc.c_scope import macros_of
from mlusim.counted import plural, size
from mlusim.debug import values
from mlusim.debug.console.command import LOOKING, Command, CommandContext, declared_as
from mlusim.debug.look import regions
from mlusim.debug.look.c_shown import shown_local, shown_variables
from mlusim.debug.look.clock import clock_of
from mlusim.debug.look.describe import frame_text, launch_text, value_text
from mlusim.debug.look.evaluate import c_scope
from mlusim.debug.look.paused_run import need_core
from mlusim.debug.source.frames import full_name, name_of, parameters_of, parse_name, place_of
from mlusim.debug.stop.stops import Breakpoint, ValueWatch, Watchpoint, described
from mlusim.document import text_pairs, text_table
from mlusim.errors import UsageError
from mlusim.near import near

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import FrameType

    from mlusim.debug.session import DebugSession


# Prefixes that match several views, and the view that each selects.
SHORT = {"b": "breakpoints", "l": "locals", "la": "launch", "t": "tasks"}
BAR = 32  # columns of a bar that shows a share


def info(console: CommandContext, words: str) -> str:
    """Show one of the views."""
    name, _, rest = words.partition(" ")
    views = [view for view in INFO if view.startswith(name)] if name else []
    if name in INFO or name in SHORT:
        views = [SHORT.get(name, name)]
    if len(views) != 1:
        raise UsageError(f"info shows one of: {', '.join(INFO)}")
    return INFO[views[0]][0](console.session, rest.strip())


def _tasks(session: "DebugSession", _words: str) -> str:
    paused = session.look()
    focus = session.core()
    mine = "" if focus is None else name_of(focus)
    rows = [["*" * (t.name == mine), *astuple(t)] for t in values.begun_tasks(paused)]
    ended, waiting = values.others(paused)
    count = f"{ended} ended, {waiting} not begun"
    heads = ["", "task", "cluster", "core", "state", "where", "waits for"]
    return text_table(heads, rows) + f"\n{count}" if rows else count


def _cores(session: "DebugSession", _words: str) -> str:
    rows = [[n, c, k, i, size(int(b))] for n, c, k, i, b in values.cores(session.look())]
    heads = ["task", "cluster", "core", "instructions", "NRAM declared"]
    return text_table(heads, rows) if rows else "no core is running here"


def _clusters(session: "DebugSession", _words: str) -> str:
    rows = [[name, members, size(int(nbytes))] for name, members, nbytes in values.clusters(session.look())]
    heads = ["cluster", "cores", "SRAM declared"]
    return text_table(heads, rows) if rows else "no cluster is running here; Block tasks have none"


def _pipes(session: "DebugSession", words: str) -> str:
    paused = session.watched()
    core = need_core(paused, parse_name(words)) if words else session.core()
    if core is None:
        return "no task is running here"
    lines = [full_name(core)]
    for pipe in values.pipes(paused, core):
        lines += [f"{pipe.pipe.ljust(8)}  {text}" for text in pipe.texts or ["idle"]]
    return "\n".join(lines)


def _barriers(session: "DebugSession", _words: str) -> str:
    lines = [
        f"{b.name} ({b.who}): {', '.join(b.arrived) or 'none'} arrived; "
        + (f"{', '.join(b.waiting)} waiting; " if b.waiting else "")
        + f"{', '.join(b.missing)} missing"
        for b in values.barriers(session.look())
    ]
    lines += [f"mutex {numbers}: held by {owner}" for numbers, owner in values.mutexes(session.look())]
    return "\n".join(lines) or "no core waits at a barrier, and no mutex is held"


def _watchpoints(session: "DebugSession", _words: str) -> str:
    every = session.breakpoints.values()
    return _described(b for b in every if isinstance(b.location, Watchpoint | ValueWatch)) or "no watchpoints"


def _described(points: "Iterable[Breakpoint]") -> str:
    return "\n".join(
        described(b) + (f"; {b.hits} hit{'s' * (b.hits != 1)}" if b.hits else "") for b in points
    )


def _locals(session: "DebugSession", words: str) -> str:
    if words not in ("", "all"):
        raise UsageError(f"info locals takes nothing, or `all`, not {words!r}")
    frame = session.frame()
    if frame is None:
        return "no task is in the kernel here"
    here, parameters = shown_variables(frame), parameters_of(frame)
    variables = {name: value for name, value in here.items() if name not in parameters}
    text = (
        text_pairs(_declared(session, frame, variables))
        or "no variables yet; `info args` shows the arguments"
    )
    scope = c_scope(frame, beyond=True)
    if words == "all" and scope is not None:
        every = ((n, getattr(v, "shown", v)) for n, v in scope.values().items())
        last = {n: shown_local(scope, n, v) for n, v in every if n not in {*here, *parameters}}
        gone = text_pairs(_declared(session, frame, last))
        text += f"\nout of scope, with the last value:\n{gone}" if gone else ""
    return text


def _declared(
    session: "DebugSession", frame: "FrameType", held: "Mapping[str, Any]"
) -> list[tuple[str, str]]:
    """Return the declarations of the variables of *frame*, as in the source, with their values from *held*."""
    scope = c_scope(frame, beyond=True)
    types = {} if scope is None else scope.types()
    paused = session.look()
    return [(declared_as(types.get(name, ""), name), value_text(v, paused)) for name, v in held.items()]


def _args(session: "DebugSession", words: str) -> str:
    frame = session.frame()
    if frame is None:
        return "no task is in the kernel here"
    here = shown_variables(frame)
    arguments = {name: here[name] for name in parameters_of(frame) if name in here and name != "mlu"}
    if words and words not in arguments:
        raise UsageError(
            f"the function in focus takes no {words!r}; its arguments: {', '.join(arguments) or 'none'}"
        )
    arguments = {words: arguments[words]} if words else arguments
    return text_pairs(_declared(session, frame, arguments)) or "this function takes no arguments"


def _macro(session: "DebugSession", words: str) -> str:
    scope = session.scope()
    if scope is None:
        raise UsageError(
            "this kernel is written in Python, which has no macros; `info locals` lists its variables"
        )
    macros = macros_of(scope.module)
    if not words:
        definitions = [m[-1] for m in macros.values() if m[-1].file == scope.module.path]
        return (
            "\n".join(f"{place_of(m.file)}:{m.line}  {m}" for m in definitions)
            or "the source defines no macros"
        )
    macro = macros.get(words, ())
    if not macro:
        guesses = near(words, list(macros), 2)
        hint = (
            f"did you mean {' or '.join(guesses)}?" if guesses else "-D on the command line is in no source"
        )
        raise UsageError(f"no file of the source defines a macro {words!r}; {hint}")
    used = scope.macro(words)
    return "\n".join(
        f"{'*' if m is used and len(macro) > 1 else ' '} {place_of(m.file)}:{m.line}  {m}".removeprefix("  ")
        for m in macro
    )


def _launch(session: "DebugSession", _words: str) -> str:
    paused, recorded = session.look(), session.recorded
    request, options = paused.machine.request, paused.machine.request.options
    seed = f", seed {options.seed}" if options.seed is not None else ""
    head = [
        (f"launch {recorded.index}", launch_text(paused)),
        ("effects", f"land {options.effects}{seed}"),
        ("moments", str(recorded.moments) if recorded.moments is not None else "not counted yet"),
    ]
    rows = [(n, value_text(a, paused)) for n, a in zip(recorded.parameters, request.arguments, strict=True)]
    return text_pairs([*head, *rows])


def _launches(session: "DebugSession", _words: str) -> str:
    rows = []
    for launch in session.launches:
        mark = "*" if launch is session.recorded else ""
        memory = "no longer kept" if launch.tensors is None else size(launch.nbytes)
        count = str(launch.moments) if launch.moments is not None else ""
        rows.append([mark, str(launch.index), launch.kernel, count, memory])
    return text_table(["", "launch", "kernel", "moments", "tensors kept"], rows)


def _time(session: "DebugSession", _words: str) -> str:
    clock = clock_of(session.runs, session.recorded.index)
    mhz = session.recorded.machine.board.clock_mhz
    rows = []
    for core in session.look().cores:
        time = clock.at(name_of(core), session.position.moment)
        told = ["-", "", ""] if time is None else [str(time[0]), f"{time[1]:.3f}", f"{time[1] * mhz:.0f}"]
        rows.append(["*" * (core is session.core()), name_of(core), *told])
    whole = f"the launch is predicted to take {clock.whole_us:.3f} us, {clock.whole_us * mhz:.0f} cycles at {mhz} MHz"
    many = f"{clock.unknown} {plural(clock.unknown, 'instruction')}"
    note = f"\nthe time of {many} is not known one by one" if clock.unknown else ""
    heads = ["", "task", "last instruction at moment", "begins at us", "cycle"]
    return (text_table(heads, rows) + "\n" if rows else "") + whole + note


def _changes(session: "DebugSession", _words: str) -> str:
    lines = [f"{edit.position}: {edit.text}" for edit in session.recorded.edits]
    return "\n".join(lines) or "nothing has been changed by hand in this launch"


def _printed(session: "DebugSession", _words: str) -> str:
    lines = [line.removesuffix("\n") for line in session.look().machine.printed]
    return "\n".join(lines) or "__bang_printf has printed nothing yet"


def _functions(session: "DebugSession", _words: str) -> str:
    rows = [[f.name, f"{place_of(f.code.co_filename)}:{f.code.co_firstlineno}"] for f in session.functions]
    return text_table(["function", "begins at"], rows)


def _state_rows(rows: list[regions.RegionState]) -> str:
    return text_table(
        ["name", "memory", "type", "elements", "offset", "bytes", "minimum", "maximum", "nan", "poison", "first"],
        [
            [r.name, r.memory, r.dtype, str(r.elements), f"{r.offset:#x}", str(r.nbytes), r.minimum, r.maximum, str(r.nan), str(r.poison), r.first]
            for r in rows
        ],
    )  # fmt: skip


def _regions(session: "DebugSession", _words: str) -> str:
    focus = session.in_focus()
    rows = regions.plan_regions(focus) or [*regions.declarations(focus), *regions.carved(focus)]
    return _state_rows(rows) if rows else "no task has declared memory here; `info tensors` shows GDRAM"


def _tensors(session: "DebugSession", _words: str) -> str:
    rows = regions.tensors(session.look())
    return _state_rows(rows) if rows else "the launch has no tensors"


def _nram(session: "DebugSession", _words: str) -> str:
    focus = session.in_focus()
    core = focus.core
    if core is None:
        return "no task is running here"
    lines = [full_name(core), *(f"{memory.name}: {memory.text}" for memory in values.memories(core))]
    rows = regions.plan_regions(focus) or [r for r in regions.declarations(focus) if r.memory == "NRAM"]
    extent = max((r.offset + r.nbytes for r in rows), default=1)
    width = max((len(r.name) for r in rows), default=0)
    for r in rows:
        left = r.offset * BAR // extent
        filled = max(1, -(-r.nbytes * BAR // extent))
        bar = (" " * left + "#" * filled)[:BAR].ljust(BAR)
        lines.append(f"  {r.name.ljust(width)} |{bar}| {r.offset:#x}, {r.nbytes} {plural(r.nbytes, 'byte')}")
    return "\n".join(lines)


def _line(session: "DebugSession", _words: str) -> str:
    frame = session.frame()
    if frame is None:
        return "no task is in the kernel here"
    return frame_text(frame, session.stop.error)


INFO: "dict[str, tuple[Callable[[DebugSession, str], str], str]]" = {
    "tasks": (_tasks, "every running task and memory core: what it is doing, where, what it waits for"),
    "threads": (_tasks, "the tasks, under the name that gdb has for them"),
    "cores": (_cores, "the cores that run: instructions executed, NRAM declared"),
    "clusters": (_clusters, "the clusters that run: their cores, SRAM declared"),
    "pipes": (_pipes, "the pipes of this task, or of `task N`: what is in flight, and which bytes it will touch"),
    "barriers": (_barriers, "barriers that some have reached: who arrived, who is missing; mutexes that are held"),
    "regions": (_regions, "the regions of the plan, or the declarations, of this task, with values in numbers"),
    "tensors": (_tensors, "the launch's tensors, with values in numbers"),
    "nram": (_nram, "a map of this task's memory on the chip"),
    "locals": (_locals, "the variables of the function in focus, without its arguments; with `all` the last values of those out of scope too"),
    "args": (_args, "the arguments of the function in focus"),
    "macro": (_macro, "the definitions of a macro, as in `info macro TILE`; without a name those of the source itself"),
    "line": (_line, "the line in focus"),
    "launch": (_launch, "the launch: kernel, grid, board, arguments"),
    "launches": (_launches, "the launches that the program has begun"),
    "time": (_time, "the predicted time on the board: of the launch, and of what each task did last"),
    "changes": (_changes, "what has been changed by hand in this launch"),
    "printed": (_printed, "the lines that __bang_printf has printed so far in this launch"),
    "functions": (_functions, "the functions that the kernel can reach"),
    "breakpoints": (lambda session, _words: _described(session.breakpoints.values()) or "no breakpoints", "the breakpoints, with hits"),
    "watchpoints": (_watchpoints, "those of the breakpoints that watch bytes or a value"),
}  # fmt: skip

VIEWS = "\n".join(f"  info {name.ljust(12)} {text}" for name, (_, text) in INFO.items())

COMMANDS = (
    Command("info", ("i",), "VIEW", LOOKING, "show a view of the machine", info, VIEWS, completes="info"),
)
