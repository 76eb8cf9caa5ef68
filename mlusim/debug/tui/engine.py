"""`Engine`: a console in the main thread, which executes lines for a full-screen view in another; `Views`: its answers.

Nothing here needs Textual, so that the full-screen view can be tested without a screen.
"""

import linecache
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from attrs import field, frozen

from mlusim.counted import plural
from mlusim.debug import values
from mlusim.debug.console.command import Reply, find_command, pairs
from mlusim.debug.look import regions
from mlusim.debug.look.places import resolve
from mlusim.debug.source.frames import name_of, place_of
from mlusim.debug.stop.stops import described
from mlusim.debug.values import TaskState
from mlusim.debug.worker import Worker
from mlusim.errors import UsageError
from mlusim.plan.layout import PlacedRegion, layout_of_regions
from mlusim.plan.render import map_text, region_keys

if TYPE_CHECKING:
    from mlusim.debug.console.console import Console
    from mlusim.debug.session import DebugSession

MEMORY = 64  # elements that the memory view shows
COLUMNS = 48  # of the map of memory


@frozen(kw_only=True)
class Views:
    """The contents of the screen: ``source`` are the lines of the file in focus, ``line`` the current one.

    ``stops`` are the numbers of breakpoints by their lines in the file.  ``memory`` is what the last `x` showed, as
    it is now, under ``place``.  ``chain`` answers the last `why` or `who-wrote`, as it was where it was ``asked``.
    """

    title: str
    where: str
    file: str = ""
    source: tuple[str, ...] = ()
    line: int = 0
    stops: Mapping[int, int] = field(factory=dict)
    focus: str = ""
    tasks: tuple[TaskState, ...] = ()
    others: str = ""
    stack: str = ""
    variables: str = ""
    breakpoints: str = ""
    pipes: str = ""
    nram: str = ""
    place: str = ""
    memory: str = ""
    asked: str = ""
    chain: str = ""


@frozen
class LineResult:
    """The result of a line: the reply, and the views afterwards."""

    line: str
    reply: Reply
    views: Views


class LineRunner:
    """Executes lines one after the other and delivers each answer; *make* makes the console.

    `serve` is called in the main thread; *deliver* is called there too, and must not wait for the view.
    """

    def __init__(self, make: "Callable[[], Console]") -> None:
        self._ready = threading.Event()  # set once the view is there, and takes what the program prints

        def begin() -> "Console":
            self._ready.wait()
            if self.worker.closing:
                raise KeyboardInterrupt
            return make()

        self.worker = Worker(
            begin, lambda console: console.session.interrupt(), lambda console: console.session.close()
        )
        self._deliver: Callable[[LineResult], object] = lambda _: None
        self._fail: Callable[[], object] = lambda: None
        self._place = self._letters = ""
        self._answered = ("", "")  # the last question for a cause, with its place, and its answer
        self._asked = 0  # interrupts so far
        self._views: Views | None = None

    @property
    def failure(self) -> BaseException | None:
        """The error that ended the session."""
        return self.worker.failure

    def attach(self, deliver: Callable[[LineResult], object], fail: Callable[[], object]) -> None:
        """Deliver answers from now on, first one that says where the session is; call *fail* if it could not be made, or broke."""
        self._deliver, self._fail = deliver, fail
        self.worker.submit(lambda console: self._answer(console, "", Reply(console.stop_text())))
        self._ready.set()
        if self.failure is not None:
            fail()

    def serve(self) -> None:
        """Execute until `close`; in the main thread."""
        self.worker.serve()
        if self.failure is not None:
            self._fail()

    def close(self) -> None:
        """End the session, whatever it is doing; from any thread."""
        self.worker.close()
        self._ready.set()

    def serve_beside(self, screen: Callable[[], None]) -> None:
        """As `serve`, while *screen* runs in a thread of its own; ends with it, and raises what it raises."""
        errors: list[BaseException] = []

        def shown() -> None:
            try:
                screen()
            except BaseException as error:  # noqa: BLE001 - raised again below
                errors.append(error)
            finally:
                self.close()

        thread = threading.Thread(target=shown, name="mlusim screen")
        thread.start()
        self.serve()
        thread.join()
        if errors:
            raise errors[0]

    def progress(self) -> str:
        """Return how far the run has come, in words; from any thread."""
        console = self.worker.subject
        return "starting" if console is None else console.session.progress()

    def interrupt(self) -> None:
        """Stop the line that is being executed, and leave out those that wait; from any thread."""
        self._asked += 1
        self.worker.interrupt()

    def submit(self, line: str) -> None:
        """Execute *line* after everything that was submitted before it, and deliver the answer."""
        asked = self._asked
        self.worker.submit(lambda console: self._execute(console, line, asked))

    def complete(self, text: str, tell: Callable[[list[str]], object]) -> None:
        """Call *tell* with the completions of the last word of *text*."""
        self.worker.submit(lambda console: tell(console.complete(text)))

    def _execute(self, console: "Console", line: str, asked: int) -> None:
        left_out = Reply("left out, because of the interrupt", ok=False)
        reply = console.execute(line) if asked == self._asked else left_out
        word, _, place = line.strip().partition(" ")
        name, _, form = word.partition("/")
        if name == "x" and reply.ok:
            self._place, self._letters = place.strip(), form.lstrip("0123456789")
        if reply.ok and name and find_command(name, console.commands).name in ("why", "who-wrote"):
            self._answered = f"{line.strip()}, asked at {console.session.place}", reply.text
        self._answer(console, line, reply)

    def _answer(self, console: "Console", line: str, reply: Reply) -> None:
        """Deliver the answer; where looking is interrupted, with the views from before."""
        if self.worker.closing:
            return
        try:
            self._views = look(console, self._place, self._letters, self._answered)
        except KeyboardInterrupt:
            reply = Reply(f"{reply.text}\ninterrupted", ok=False)
        if self._views is not None:
            self._deliver(LineResult(line, reply, self._views))


# -- looking ---------------------------------------------------------------------------------------


def look(
    console: "Console", place: str = "", letters: str = "", answered: tuple[str, str] = ("", "")
) -> Views:
    """Return the views of the place where the session stands; *place* is what the memory view shows, in the form *letters*.

    *answered* is the last question for a cause, with its place, and its answer.
    """
    session = console.session
    if not session.launches:
        return Views(title=session.program.name, where=console.stop_text())
    paused, core, site = session.look(), session.core(), session.site()
    file, line = site or _kernel(console)
    ended, waiting = values.others(paused)
    place, memory = _memory(console, place, letters)
    return Views(
        title=f"{session.program.name}, launch {session.recorded.index}: {session.recorded.kernel}",
        where=session.place,
        file=file,
        source=tuple(text.rstrip("\n") for text in linecache.getlines(file)),
        line=line if site is not None else 0,
        stops=values.line_stops(session, file),
        focus="" if core is None else name_of(core),
        tasks=values.tasks(session),
        others=f"{ended} ended, {waiting} not begun",
        stack=_stack(session),
        variables=_variables(session),
        breakpoints="\n".join(described(made) for made in session.breakpoints.values()),
        pipes=_pipes(session),
        nram=_nram(session),
        place=place,
        memory=memory,
        asked=answered[0],
        chain=answered[1],
    )


def _stack(session: "DebugSession") -> str:
    """Return the stack of the task in focus; a function's file is named where it is not the one on the screen."""
    frames = values.frames(session)
    shown = frames[session.level].file if session.level < len(frames) else ""
    return "\n".join(
        f"{'*' if f.level == session.level else ' '} {f.level}  {f.function}"
        + (f", line {f.line}" if f.file == shown else f" at {place_of(f.file)}:{f.line}")
        for f in frames
    )


def _variables(session: "DebugSession") -> str:
    """Return the variables of the function in focus, its arguments last."""
    shown = [v for s in values.scopes(session) if s.kind in ("locals", "arguments") for v in s.variables]
    return pairs((v.name, v.text) for v in shown) or "no task is in the kernel here"


def _pipes(session: "DebugSession") -> str:
    """Return the state of the pipes of the task in focus, the idle ones on one line."""
    paused = session.watched()
    core = session.core()
    if core is None:
        return ""
    lines, idle = [], []
    for pipe in values.pipes(paused, core):
        lines += [f"{pipe.pipe}  {text}" for text in pipe.texts]
        idle += [pipe.pipe] * (not pipe.texts)
    return "\n".join([*lines, f"idle: {', '.join(idle)}"] if idle else lines)


def _nram(session: "DebugSession") -> str:
    """Return a map of what lies in the task's NRAM, and how much of each memory is declared."""
    lines = [f"{m.name}: {m.text}" for m in values.memories(session.core())]
    rows = [r for r in values.on_chip(session) if r.memory == "NRAM"]
    if not rows:
        return "\n".join(lines)
    regions = [PlacedRegion(r.name, r.dtype, r.elements, r.offset, r.nbytes) for r in rows]
    launch = session.look().session
    capacity = launch.memory_limits["NRAM"]
    layout = layout_of_regions(launch.request.kernel.name, launch.board, "NRAM", capacity, regions)
    width = max(len(r.name) for r in rows)
    for r in rows:
        key = region_keys(layout)[r.name]
        lines.append(f"{key} {r.name.ljust(width)} {r.offset:#x}, {r.nbytes} {plural(r.nbytes, 'byte')}")
    return "\n".join([*lines, *map_text(layout, COLUMNS)])


def _kernel(console: "Console") -> tuple[str, int]:
    """Return the file and line where the kernel begins, to show while no task is in it."""
    functions = console.session.recorded.functions
    return (functions[0].code.co_filename, functions[0].code.co_firstlineno) if functions else ("", 0)


def _memory(console: "Console", place: str, letters: str) -> tuple[str, str]:
    """Return the place that is shown, and its elements: the one asked for, else the task's first declaration, else a tensor."""
    session = console.session
    paused, core = session.look(), session.core()
    names = [place] if place else []
    names += [r.name for r in values.on_chip(session)]
    names += list(paused.tensors)
    for name in names:
        try:
            span = resolve(name, paused, core, session.frame())
            kind = "".join(c for c in letters if c in "fduxtc") if name == place else ""
            size = "".join(c for c in letters if c in "bhwg") if name == place else ""
            width = regions.SIZES[size] if size else 4 if span.dtype is None else span.dtype.size
            count = max(1, min(MEMORY, span.nbytes // width))
            return name, "\n".join(regions.examine(paused, core, span, count, kind, size))
        except UsageError:
            continue
    return place, "nothing is declared here"
