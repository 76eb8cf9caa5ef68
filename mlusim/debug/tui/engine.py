"""`LineRunner`: a console in the main thread, which executes lines for a full-screen view in another thread; `Views`: its answers.

Nothing here needs Textual, so that it can be tested without a screen.
"""

import linecache
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from attrs import field, frozen

from mlusim.counted import plural
from mlusim.debug import values
from mlusim.debug.console.command import Reply, find_command
from mlusim.debug.look import regions
from mlusim.debug.look.places import resolve
from mlusim.debug.source.frames import name_of, place_of
from mlusim.debug.stop.stops import described
from mlusim.debug.values import TaskState
from mlusim.debug.worker import Worker
from mlusim.document import text_pairs
from mlusim.errors import UsageError
from mlusim.plan.layout import PlacedRegion, layout_of_regions
from mlusim.plan.render import map_text, region_keys

if TYPE_CHECKING:
    from mlusim.debug.console.console import Console
    from mlusim.debug.session import DebugSession

MEMORY = 64  # elements in the memory view
COLUMNS = 48  # columns of the map of memory


@frozen(kw_only=True)
class Views:
    """The contents of the screen: ``source`` are the lines of the file in focus, ``line`` is the current one.

    ``stops`` are the numbers of breakpoints by their lines in the file.  ``memory`` is the memory of the last `x`
    with its current contents, titled ``place``.  ``chain`` is the answer to the last `why` or `who-wrote`, from where
    it was ``asked``.
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
    """The result of a line: the reply, and the views after it."""

    line: str
    reply: Reply
    views: Views


class LineRunner:
    """Executes lines one after the other and delivers each answer; *make* constructs the console.

    `serve` is called in the main thread; it calls *deliver*, which must not wait for the view.
    """

    def __init__(self, make: "Callable[[], Console]") -> None:
        self._ready = threading.Event()  # set once the view exists and accepts the program's output

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
        self._asked = 0  # the number of interrupts so far
        self._views: Views | None = None

    @property
    def failure(self) -> BaseException | None:
        """The error that ended the session."""
        return self.worker.failure

    def attach(self, deliver: Callable[[LineResult], object], fail: Callable[[], object]) -> None:
        """Deliver answers from now on, beginning with the current stop; call *fail* if the session cannot be started, or fails."""
        self._deliver, self._fail = deliver, fail
        self.worker.submit(lambda console: self._answer(console, "", Reply(console.stop_text())))
        self._ready.set()
        if self.failure is not None:
            fail()

    def serve(self) -> None:
        """Execute lines until `close`; called in the main thread."""
        self.worker.serve()
        if self.failure is not None:
            self._fail()

    def close(self) -> None:
        """End the session, even while a line is running; may be called from any thread."""
        self.worker.close()
        self._ready.set()

    def serve_beside(self, screen: Callable[[], None]) -> None:
        """Do the same as `serve`, with *screen* in another thread; end with it, and raise its exception."""
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
        """Return the progress of the run, in words; may be called from any thread."""
        console = self.worker.subject
        return "starting" if console is None else console.session.progress()

    def interrupt(self) -> None:
        """Stop the running line, and drop those that wait; may be called from any thread."""
        self._asked += 1
        self.worker.interrupt()

    def submit(self, line: str) -> None:
        """Execute *line* after all lines submitted before it, and deliver the answer."""
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
        """Deliver the answer; if collecting the views is interrupted, with the previous views."""
        if self.worker.closing:
            return
        try:
            self._views = look(console, self._place, self._letters, self._answered)
        except KeyboardInterrupt:
            reply = Reply(f"{reply.text}\ninterrupted", ok=False)
        if self._views is not None:
            self._deliver(LineResult(line, reply, self._views))


# -- views -----------------------------------------------------------------------------------------


def look(
    console: "Console", place: str = "", letters: str = "", answered: tuple[str, str] = ("", "")
) -> Views:
    """Return the views of the current stop; *place* is the place of the memory view, shown in the form *letters*.

    *answered* is the last question for a cause, with its place, and its answer.
    """
    session = console.session
    if not session.launches:
        return Views(title=session.program.name, where=console.stop_text())
    paused, core, site = session.look(), session.core(), session.site()
    file, line = site or _kernel(console)
    ended, waiting = values.others(paused)
    place, memory = _memory(console, place, letters)
    shown = [v for s in values.scopes(session) if s.kind in ("locals", "arguments") for v in s.variables]
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
        variables=text_pairs((v.name, v.text) for v in shown) or "no task is in the kernel here",
        breakpoints="\n".join(described(made) for made in session.breakpoints.values()),
        pipes=_pipes(session),
        nram=_nram(session),
        place=place,
        memory=memory,
        asked=answered[0],
        chain=answered[1],
    )


def _stack(session: "DebugSession") -> str:
    """Return the stack of the task in focus; a function's file is named unless it is the one on the screen."""
    frames = values.frames(session)
    shown = frames[session.level].file if session.level < len(frames) else ""
    return "\n".join(
        f"{'*' if f.level == session.level else ' '} {f.level}  {f.function}"
        + (f", line {f.line}" if f.file == shown else f" at {place_of(f.file)}:{f.line}")
        for f in frames
    )


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
    """Return a map of the regions in the task's NRAM, and the declared size of each memory."""
    lines = [f"{m.name}: {m.text}" for m in values.memories(session.core())]
    rows = [r for r in values.on_chip(session) if r.memory == "NRAM"]
    if not rows:
        return "\n".join(lines)
    regions = [PlacedRegion(r.name, r.dtype, r.elements, r.offset, r.nbytes) for r in rows]
    launch = session.look().machine
    capacity = launch.memory_limits["NRAM"]
    layout = layout_of_regions(launch.request.kernel.name, launch.board, "NRAM", capacity, regions)
    width = max(len(r.name) for r in rows)
    for r in rows:
        key = region_keys(layout)[r.name]
        lines.append(f"{key} {r.name.ljust(width)} {r.offset:#x}, {r.nbytes} {plural(r.nbytes, 'byte')}")
    return "\n".join([*lines, *map_text(layout, COLUMNS)])


def _kernel(console: "Console") -> tuple[str, int]:
    """Return the file and first line of the kernel, to show while no task is in it."""
    functions = console.session.recorded.functions
    return (functions[0].code.co_filename, functions[0].code.co_firstlineno) if functions else ("", 0)


def _memory(console: "Console", place: str, letters: str) -> tuple[str, str]:
    """Return the displayed place and its elements: the requested one, else the task's first declaration, else a tensor."""
    session = console.session
    focus = session.in_focus()
    names = [place] if place else []
    names += [r.name for r in values.on_chip(session)]
    names += list(focus.paused.tensors)
    for name in names:
        try:
            span = resolve(name, focus)
            kind = "".join(c for c in letters if c in "fduxtc") if name == place else ""
            size = "".join(c for c in letters if c in "bhwg") if name == place else ""
            width = regions.SIZES[size] if size else 4 if span.dtype is None else span.dtype.size
            count = max(1, min(MEMORY, span.nbytes // width))
            return name, "\n".join(regions.examine(focus, span, count, kind, size))
        except UsageError:
            continue
    return place, "nothing is declared here"
