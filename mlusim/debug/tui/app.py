"""The full-screen view of the debugger and its panes, built on Textual (the extra ``tui``)."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass  # Textual's message classes use its `__post_init__`
from textwrap import wrap
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar

from rich.syntax import Syntax
from rich.text import Text
from textual import events, on
from textual.app import App, ComposeResult, RenderResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.driver import Driver
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Footer, Input, RichLog, Static

from mlusim.debug.source.frames import place_of
from mlusim.debug.tui.engine import LineResult, LineRunner, Views
from mlusim.debug.tui.terminal import QUIT, Terminal
from mlusim.debug.values import TaskState
from mlusim.document import text_table
from mlusim.errors import shown_file

if TYPE_CHECKING:
    import rich.console as terminals

    from mlusim.debug.console.console import Console


class Source(Widget):
    """The source around the current line, which has an arrow; lines with breakpoints are marked by a B."""

    @dataclass
    class Clicked(Message):
        """The user has clicked a line of the source."""

        line: int

    DEFAULT_CSS = "Source { border: round $primary; text-wrap: nowrap; text-overflow: ellipsis; }"

    def __init__(self, *, id: str) -> None:  # noqa: A002 - the name of Textual
        super().__init__(id=id)
        self._views: Views | None = None
        self._first = 1
        self._lines: dict[str, list[Text]] = {}

    def show(self, views: Views) -> None:
        """Show the source at the position of *views*."""
        self._views = views
        self.border_title = f"{place_of(views.file)}:{views.line}" if views.file else "source"
        self.refresh()

    def recolour(self) -> None:
        """Colour the source again, after a change of theme."""
        self._lines.clear()
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Set or delete a breakpoint at the clicked line."""
        # The border takes the first row.
        self.post_message(self.Clicked(self._first + event.y - 1))

    def render(self) -> RenderResult:
        """Return the lines that fit, the current one in the middle."""
        views = self._views
        if views is None or not views.source:
            return Text("no source")
        # Colouring a file takes longer than drawing it, so that the result is cached until the theme changes.
        if views.file not in self._lines:
            theme = "ansi_dark" if self.app.current_theme.dark else "ansi_light"
            language = "python" if views.file.endswith(".py") else "cpp"
            colored = Syntax("", language, theme=theme).highlight("\n".join(views.source))
            self._lines[views.file] = list(colored.split("\n"))
        lines, height = self._lines[views.file], self.content_size.height
        self._first = first = max(1, min(views.line - height // 2, len(lines) - height + 1))
        shown = [self._line(views, lines, n) for n in range(first, min(first + height, len(lines) + 1))]
        return Text("\n").join(shown)

    def _line(self, views: Views, lines: list[Text], number: int) -> Text:
        current = number == views.line
        stop = Text("B", "bold red") if number in views.stops else Text(" ")
        arrow = Text("-> " if current else "   ", "bold yellow")
        text = Text.assemble(stop, arrow, Text(f"{number:4} ", "dim"), lines[number - 1])
        if current:
            text.stylize("on #3b3b00" if self.app.current_theme.dark else "on #fff3b0", 4)
        return text


HANGING = 2  # columns by which continuation lines are indented


class Folded:
    """Lines wrapped to the available width; continuation lines are indented further than their line."""

    def __init__(self, lines: Sequence[Text]) -> None:
        self._lines = lines

    def __rich_console__(
        self, _console: "terminals.Console", options: "terminals.ConsoleOptions"
    ) -> Iterator[Text]:
        width = max(options.max_width, 1)
        for line in self._lines:
            indent = len(line.plain) - len(line.plain.lstrip()) + HANGING
            # A narrow view keeps half of its width for text.
            behind = " " * min(indent, width // 2)
            parts = wrap(line.plain, width, subsequent_indent=behind, break_on_hyphens=False)
            yield from (Text(part, line.style) for part in parts or [""])


class Pane(VerticalScroll):
    """A titled text that scrolls; with *folds* its lines are wrapped, otherwise cut.  ``text`` is the current text."""

    DEFAULT_CSS = """
    Pane { border: round $primary; }
    Pane > Static { text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, title: str, *, id: str, folds: bool = False) -> None:  # noqa: A002 - the name of Textual
        super().__init__(id=id)
        self.border_title = title
        self.text = ""
        self._folds = folds
        self._shown = Static(Text(""), markup=False)

    def compose(self) -> list[Widget]:
        """Return the widget that holds the text."""
        return [self._shown]

    def show(self, text: str, changed: str | None = None) -> None:
        """Show *text*; if *changed* is the previous text, highlight the lines that it did not have."""
        # The first text of a pane has no previous one, so that nothing is highlighted.
        self.text = text
        before = set((changed or text).splitlines())
        lines = [Text(line, "" if line in before else "bold yellow") for line in text.splitlines()]
        self._shown.update(Folded(lines) if self._folds else Text("\n").join(lines))


def tasks_text(rows: tuple[TaskState, ...], focus: str, others: str, file: str = "") -> str:
    """Return the tasks as a narrow table with the one in focus marked, and *others* below it.

    For a place in *file*, which is on the screen, only the line is shown.
    """

    def where(task: TaskState) -> str:
        place = task.where.rpartition(" at ")[2]
        name, _, line = place.rpartition(":")
        return f"line {line}" if file and name == place_of(file) else place

    shown = [["*" if t.name == focus else "", t.name, t.state, where(t), t.waits] for t in rows]
    return (text_table(["", "task", "state", "where", "waits for"], shown) + "\n" if rows else "") + others


class CommandLine(Input):
    """The line for commands: up and down recall earlier ones, tab completes words."""

    DEFAULT_CSS = "CommandLine { height: 1; border: none; padding: 0; }"

    @dataclass
    class Complete(Message):
        """The user requests a completion."""

        text: str

    HISTORY: ClassVar[int] = 500

    def __init__(self, *, id: str) -> None:  # noqa: A002 - the name of Textual
        super().__init__(id=id, placeholder="a command; help lists them", compact=True)
        self._history: list[str] = []
        self._at = 0

    @dataclass
    class Entered(Message):
        """The user has entered a line."""

        line: str

    def enter(self) -> None:
        """Execute the typed line."""
        line, self.value = self.value, ""
        self.remember(line)
        self.post_message(self.Entered(line))

    def type_ahead(self, text: str) -> None:
        """Accept the text that was typed before the view existed."""
        *lines, rest = text.replace("\r", "\n").split("\n")
        for line in lines:
            self.value = line
            self.enter()
        self.value = rest
        self.cursor_position = len(rest)

    def remember(self, line: str) -> None:
        """Store a line for recalling."""
        if line.strip():
            self._history = [*self._history, line][-self.HISTORY :]
        self._at = len(self._history)

    def offer(self, words: list[str]) -> None:
        """Complete the last word by the common prefix of *words*."""
        if words:
            head, blank, last = self.value.rpartition(" ")
            common = words[0]
            while not all(word.startswith(common) for word in words):
                common = common[:-1]
            if len(common) >= len(last):
                self.value = f"{head}{blank}{common}" + (" " if len(words) == 1 else "")
                self.cursor_position = len(self.value)

    async def _on_key(self, event: events.Key) -> None:
        if event.key in ("up", "down") and self._history:
            event.prevent_default()
            self._at = max(0, min(len(self._history), self._at + (-1 if event.key == "up" else 1)))
            self.value = (*self._history, "")[self._at]
            self.cursor_position = len(self.value)
        elif event.key in ("enter", "ctrl+j"):  # at once: later keys belong to the next line
            event.prevent_default()
            event.stop()
            self.enter()
        elif event.key == "tab":
            event.prevent_default()
            event.stop()
            # Otherwise tab would move Textual's focus.
            self.post_message(self.Complete(self.value))
        else:
            await super()._on_key(event)


# A terminal driver for a screen that runs in another thread, since the session needs the main thread.
#
# Textual's driver for POSIX registers signal handlers itself, which Python allows in the main
# thread only. Here the driver's handlers are stored, and the main thread calls them.

PASSED = ("SIGWINCH", "SIGTSTP", "SIGCONT")  # a changed size, Ctrl-Z, and the return from it


class Signals:
    """Replaces the module `signal` in Textual's driver: it stores handlers instead of installing them."""

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(signal, name)

    def signal(self, number: int, handler: object) -> Any:
        """Store *handler*, and return the one that it replaces."""
        before, self._handlers[number] = self._handlers.get(number, signal.SIG_DFL), handler
        return before

    def _call(self, number: int, frame: FrameType | None) -> None:
        handler = self._handlers.get(number)
        if callable(handler):
            handler(number, frame)

    @contextlib.contextmanager
    def passed_on(self) -> Iterator[None]:
        """Let the calling main thread call the stored handlers during the block."""
        numbers = [getattr(signal, name) for name in PASSED if hasattr(signal, name)]
        before = {number: signal.signal(number, self._call) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextlib.contextmanager
def beside_main() -> Iterator[type[Driver] | None]:
    """Yield a driver that works in another thread until the block ends, None if Textual's own does; called in the main thread."""
    if os.name != "posix":
        yield None
        return
    from textual.drivers import linux_driver  # noqa: PLC0415 - it does not exist on other systems

    signals = Signals()
    own, linux_driver.signal = linux_driver.signal, signals  # type: ignore[attr-defined, assignment]
    try:
        with signals.passed_on():
            yield linux_driver.LinuxDriver
    finally:
        linux_driver.signal = own  # type: ignore[attr-defined]


PATIENCE = 3  # seconds in which a kernel must end when the user leaves
KILLED = 130  # the exit code of the process if the kernel does not end
WIDE = 120  # columns: from this width on all panes are shown at once
PANES = {
    "variables": "variables",
    "stack": "stack",
    "tasks": "tasks",
    "breakpoints": "breakpoints",
    "pipes": "pipes",
    "nram": "memory map",
    "memory": "memory",
    "chain": "why",
}
NOT_ASKED = "`why n`, `why branch` and `who-wrote buffer[0]` show here where a value comes from"
KEYS = (
    ("f5", "continue", "cont"),
    ("f10", "next", "next"),
    ("f11", "step", "step"),
    ("f8", "stepi", "stepi"),
    ("f6", "reverse-continue", "rc"),
    ("f9", "reverse-next", "rn"),
    ("f7", "reverse-stepi", "rsi"),
)


class DebuggerApp(App[None]):
    """Source, tasks, pipes, memory and the console on one screen; *engine* executes commands in the main thread.

    ``busy`` is true while a command is executed; ``views`` is the content of the screen.
    """

    @dataclass
    class Answered(Message):
        """The engine has executed a line."""

        answer: LineResult

    class Failed(Message):
        """The session could not be started, or has failed."""

    @dataclass
    class Offered(Message):
        """The completions of the last word of the command line are available."""

        words: list[str]

    TITLE = "mlusim debug"
    CSS = """
    #title { height: 1; background: $primary; color: $text; text-wrap: nowrap; text-overflow: ellipsis; }
    #title.running { background: $warning; }
    #body { height: 1fr; layout: vertical; }
    #left { height: 3fr; width: 1fr; }
    #source { height: 1fr; width: 1fr; }
    #panes { height: 2fr; width: 1fr; }
    #panes Pane { height: 1fr; display: none; }
    #panes Pane.shown, #chain.shown { display: block; }
    #panes.covered { display: none; }
    .wide #panes.covered { display: block; }
    #chain { height: 1fr; display: none; }
    #log { height: 5; border-top: solid $primary; }
    .wide #body { layout: horizontal; }
    .wide #left, .wide #panes { height: 1fr; }
    .wide #panes Pane { display: block; height: auto; }
    .wide #log { height: 12; }
    .wide #panes #variables { height: 2fr; min-height: 8; }
    .wide #panes #memory { height: 1fr; min-height: 5; }
    .wide #tasks { max-height: 8; }
    .wide #stack { max-height: 7; }
    .wide #breakpoints { max-height: 6; }
    .wide #breakpoints.empty { display: none; }
    .wide #pipes { max-height: 6; }
    .wide #nram { max-height: 8; }
    .wide #chain { display: block; height: auto; max-height: 12; }
    .wide #chain.empty { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key, f"line('{command}')", shown, priority=True) for key, command, shown in KEYS),
        Binding("f2", "breakpoint", "break", priority=True),
        Binding("ctrl+t", "pane", "pane", priority=True),
        Binding("ctrl+up", "task(-1)", "task before", show=False, priority=True),
        Binding("ctrl+down", "task(1)", "task behind", show=False, priority=True),
        Binding("ctrl+c", "interrupt", "interrupt", show=False, priority=True),
        Binding("ctrl+q", "quit", "quit", priority=True),
    ]

    def __init__(self, engine: LineRunner, driver: type[Driver] | None = None, typed: str = "") -> None:
        super().__init__(driver_class=driver)
        self.busy = True
        self.views: Views | None = None
        self.engine = engine
        self._waiting = 1
        self._before: dict[str, str] = {}
        self._typed = typed  # the text that was typed before the view existed
        self._printed = ""  # the incomplete line that the program is printing
        self._seconds = 0.0  # the time since the last answer

    # -- the screen ------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Make the title, source and panes, the log, the command line and the keys."""
        yield Static("starting", id="title", markup=False)
        with Container(id="body"):
            with Container(id="left"):
                yield Source(id="source")
                yield Pane(PANES["chain"], id="chain", folds=True)
                yield RichLog(id="log", wrap=True, markup=False, min_width=20)
            with Container(id="panes"):
                for name, title in PANES.items():
                    if name != "chain":  # its lines are long, so that it is below the source
                        yield Pane(title, id=name, folds=name == "pipes")
        yield CommandLine(id="line")
        yield Footer()

    def on_mount(self) -> None:
        """Start the session behind the screen."""
        self.query_one("#variables").add_class("shown")
        line = self.query_one(CommandLine)
        line.focus()
        line.type_ahead(self._typed.removesuffix(QUIT))
        self.begin_capture_print(self)
        self.set_interval(0.5, self._tick)
        # Called in the engine's thread; a view that has ended drops the message.
        self.engine.attach(
            lambda answer: self.post_message(self.Answered(answer)), lambda: self.post_message(self.Failed())
        )
        if self._typed.endswith(QUIT):
            self.exit()

    def on_resize(self, event: events.Resize) -> None:
        """Show one pane or all of them."""
        self.screen.set_class(event.size.width >= WIDE, "wide")

    def on_print(self, event: events.Print) -> None:
        """Show the program's output among the answers, line by line."""
        *whole, self._printed = (self._printed + event.text).split("\n")
        for line in whole:
            self._write(line)

    def _write(self, line: str) -> None:
        self.query_one(RichLog).write(Text(line, "dim"))

    def _tick(self) -> None:
        """While a command is running, show for how long, and its progress."""
        self._seconds = self._seconds + 0.5 if self.busy else 0.0
        title = self.query_one("#title", Static)
        title.set_class(self._seconds >= 1, "running")
        if self._seconds >= 1:
            title.update(f" running, {self._seconds:.0f} s: {self.engine.progress()}; ctrl+c stops it")

    def watch_theme(self, _name: str) -> None:
        """Colour the source by the new theme, too."""
        if self.query("#source"):
            self.query_one(Source).recolour()

    @on(Answered)
    def answered(self, message: Answered) -> None:
        """Show the answer to a line."""
        answer = message.answer
        log = self.query_one(RichLog)
        if self._printed:
            self._write(self._printed)
            self._printed = ""
        if answer.line:
            log.write(Text(f"(mlusim) {answer.line}", "bold"))
        if answer.reply.text:
            style = "" if answer.reply.ok else "red"
            lines = [Text(line, style) for line in answer.reply.text.expandtabs(8).splitlines()]
            log.write(Folded(lines), width=max(20, log.scrollable_content_region.width))
        if answer.views.chain and self.views is not None and answer.views.asked != self.views.asked:
            self._reveal("chain")  # the log of a small terminal is too narrow for it
        self._show(answer.views)
        self._waiting -= 1
        self.busy = self._waiting > 0
        if answer.reply.leaves:
            self.exit()

    def _show(self, views: Views) -> None:
        self.views = views
        self.query_one("#title", Static).update(
            f" {views.focus or 'no task'}, {views.where}  |  {views.title}"
        )
        self.query_one(Source).show(views)
        plain = ("stack", "variables", "breakpoints", "pipes", "nram", "memory")
        texts = {name: getattr(views, name) for name in plain}
        texts["tasks"] = tasks_text(views.tasks, views.focus, views.others, views.file)
        for name, text in texts.items():
            self.query_one(f"#{name}", Pane).show(text, self._before.get(name))
        self.query_one("#breakpoints").set_class(not views.breakpoints, "empty")
        self.query_one("#memory", Pane).border_title = f"memory: {views.place}" if views.place else "memory"
        self._before = texts
        chain = self.query_one("#chain", Pane)
        chain.show(views.chain or NOT_ASKED)
        chain.border_title = views.asked or PANES["chain"]
        chain.set_class(not views.chain, "empty")

    @on(Failed)
    def failed(self) -> None:
        """Leave, and let the caller report the reason."""
        self.busy = False
        self.exit()

    # -- actions of the user ---------------------------------------------------------------------

    def submit(self, line: str) -> None:
        """Execute a command line."""
        self._waiting += 1
        self.busy = True
        self.engine.submit(line)

    @on(CommandLine.Entered)
    def entered(self, event: CommandLine.Entered) -> None:
        """Execute the entered line."""
        self.submit(event.line)

    def on_key(self, event: events.Key) -> None:
        """Pass an unhandled key to the command line, such as one from before the line existed."""
        line = self.query_one(CommandLine)
        if self.focused is not line and (event.is_printable or event.key in ("enter", "ctrl+j")):
            line.focus()
            line.type_ahead(line.value + (event.character or "\n" if event.is_printable else "\n"))

    @on(CommandLine.Complete)
    def wanted(self, event: CommandLine.Complete) -> None:
        """Request the completions of the typed text."""
        self.engine.complete(event.text, lambda words: self.post_message(self.Offered(words)))

    @on(Offered)
    def offered(self, message: Offered) -> None:
        """Complete by the common prefix of the words."""
        self.query_one(CommandLine).offer(message.words)

    def action_line(self, line: str) -> None:
        """Execute the command of a key, after those that are waiting."""
        self.submit(line)

    def action_breakpoint(self) -> None:
        """Set or delete a breakpoint at the line in focus."""
        if self.views is not None and self.views.line:
            self.toggle(self.views.line)

    def toggle(self, line: int) -> None:
        """Set or delete a breakpoint at a line of the displayed file."""
        if self.views is not None and self.views.file:
            number = self.views.stops.get(line)
            self.submit(
                f"break {shown_file(self.views.file)}:{line}" if number is None else f"delete {number}"
            )

    @on(Source.Clicked)
    def clicked(self, message: Source.Clicked) -> None:
        """Set or delete a breakpoint at the clicked line."""
        self.toggle(message.line)

    def action_pane(self) -> None:
        """Show the next pane."""
        names = list(PANES)
        shown = next(name for name in names if self.query_one(f"#{name}").has_class("shown"))
        self._reveal(names[(names.index(shown) + 1) % len(names)])

    def _reveal(self, shown: str) -> None:
        """Show one pane instead of the others, if there is room for only one."""
        for name in PANES:
            self.query_one(f"#{name}").set_class(name == shown, "shown")
        self.query_one("#panes").set_class(shown == "chain", "covered")

    def action_task(self, by: int) -> None:
        """Put the previous or next task in focus."""
        names = [task.name for task in self.views.tasks] if self.views is not None else []
        if names and self.views is not None and not self.busy:
            at = names.index(self.views.focus) if self.views.focus in names else 0
            self.submit(names[(at + by) % len(names)])

    def action_interrupt(self) -> None:
        """Stop the running kernel."""
        self.engine.interrupt()

    def on_unmount(self) -> None:
        """End the session, even while a command is running."""
        self.engine.close()


def show(make: "Callable[[], Console]", terminal: Terminal) -> BaseException | None:
    """Debug the session of *make*'s console on the full screen of *terminal*; return the error that ended it.

    Called in the main thread.

    A kernel that catches the exception that should end it is ended with the process.
    """
    engine = LineRunner(make)

    def screen() -> None:
        app.run()
        engine.close()
        if not engine.worker.ended.wait(PATIENCE):
            terminal.give_back()
            os._exit(KILLED)  # the terminal is restored, and nothing else can end this kernel

    with beside_main() as driver:
        app = DebuggerApp(engine, driver, terminal.typed())
        engine.serve_beside(screen)
    return engine.failure
