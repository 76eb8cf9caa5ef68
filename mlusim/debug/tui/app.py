"""The full-screen view of the debugger, built on Textual (the extra ``tui``)."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.driver import Driver
from textual.message import Message
from textual.widgets import Footer, RichLog, Static

from mlusim.debug.tui.engine import Engine
from mlusim.debug.tui.panes import CommandLine, Pane, Source, tasks_text
from mlusim.debug.tui.terminal import QUIT, Terminal
from mlusim.debug.tui.views import LineResult, Views
from mlusim.errors import shown_file

if TYPE_CHECKING:
    from mlusim.debug.console.console import Console


# A terminal driver for a screen that runs beside the main thread, which the session has.
#
# Textual's driver for POSIX registers handlers of signals itself, and Python allows that in the main
# thread only. Here the driver's registrations are kept, and the main thread calls them.

PASSED = ("SIGWINCH", "SIGTSTP", "SIGCONT")  # a changed size, Ctrl-Z, and back from it


class Signals:
    """Stands for the module `signal` in Textual's driver: keeps handlers instead of installing them."""

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(signal, name)

    def signal(self, number: int, handler: object) -> Any:
        """Keep *handler*; return the one of before."""
        before, self._handlers[number] = self._handlers.get(number, signal.SIG_DFL), handler
        return before

    def _call(self, number: int, frame: FrameType | None) -> None:
        handler = self._handlers.get(number)
        if callable(handler):
            handler(number, frame)

    @contextlib.contextmanager
    def passed_on(self) -> Iterator[None]:
        """While it lasts, the main thread calls the handlers that were kept; called there."""
        numbers = [getattr(signal, name) for name in PASSED if hasattr(signal, name)]
        before = {number: signal.signal(number, self._call) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextlib.contextmanager
def beside_main() -> Iterator[type[Driver] | None]:
    """A driver that works in another thread while it lasts; None where Textual's own does.  Called in the main thread."""
    if os.name != "posix":
        yield None
        return
    from textual.drivers import linux_driver  # noqa: PLC0415 - there is none of it elsewhere

    signals = Signals()
    own, linux_driver.signal = linux_driver.signal, signals  # type: ignore[attr-defined, assignment]
    try:
        with signals.passed_on():
            yield linux_driver.LinuxDriver
    finally:
        linux_driver.signal = own  # type: ignore[attr-defined]


PATIENCE = 3  # seconds that a kernel has to end in when the view is left
KILLED = 130  # what the process ends with where it does not
WIDE = 120  # columns from which all panes are shown at once
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
    """Source, tasks, pipes, memory and the console on one screen; *engine* executes, in the main thread.

    ``busy`` is true while a command is executed; ``views`` is what is shown.
    """

    class Answered(Message):
        """A line has been executed."""

        def __init__(self, answer: LineResult) -> None:
            super().__init__()
            self.answer = answer

    class Failed(Message):
        """The session could not be made, or broke."""

    class Offered(Message):
        """The words that the last word of the command line may become."""

        def __init__(self, words: list[str]) -> None:
            super().__init__()
            self.words = words

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
    #pipes > Static, #chain > Static { text-wrap: wrap; }
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

    def __init__(self, engine: Engine, driver: type[Driver] | None = None, typed: str = "") -> None:
        super().__init__(driver_class=driver)
        self.busy = True
        self.views: Views | None = None
        self.engine = engine
        self._waiting = 1
        self._before: dict[str, str] = {}
        self._typed = typed  # before the view was there
        self._printed = ""  # what the program has printed of a line that has not ended
        self._seconds = 0.0  # seconds since the last answer

    # -- the screen ------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Title, source and panes, the log, the command line, the keys."""
        yield Static("starting", id="title", markup=False)
        with Container(id="body"):
            with Container(id="left"):
                yield Source(id="source")
                yield Pane(PANES["chain"], id="chain")
                yield RichLog(id="log", wrap=True, markup=False, min_width=20)
            with Container(id="panes"):
                for name, title in PANES.items():
                    if name != "chain":  # its lines are long: it stands under the source
                        yield Pane(title, id=name)
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
        self.engine.attach(
            lambda answer: self._tell(self.Answered(answer)), lambda: self._tell(self.Failed())
        )
        if self._typed.endswith(QUIT):
            self.exit()

    def _tell(self, message: Message) -> None:
        """From the engine's thread; a view that has ended hears nothing."""
        self.post_message(message)

    def on_resize(self, event: events.Resize) -> None:
        """Show one pane or all of them."""
        self.screen.set_class(event.size.width >= WIDE, "wide")

    def on_print(self, event: events.Print) -> None:
        """Show what the program prints among the answers, line by line."""
        *whole, self._printed = (self._printed + event.text).split("\n")
        for line in whole:
            self._write(line)

    def _write(self, line: str) -> None:
        self.query_one(RichLog).write(Text(line, "dim"))

    def _tick(self) -> None:
        """While something runs, say for how long, and how far it has come."""
        self._seconds = self._seconds + 0.5 if self.busy else 0.0
        title = self.query_one("#title", Static)
        title.set_class(self._seconds >= 1, "running")
        if self._seconds >= 1:
            title.update(f" running, {self._seconds:.0f} s: {self.engine.progress()}; ctrl+c stops it")

    def watch_theme(self, name: str) -> None:
        """Colour the source by the theme, too."""
        del name
        if self.query("#source"):
            self.query_one(Source).recolour()

    @on(Answered)
    def answered(self, message: Answered) -> None:
        """Show what a line led to."""
        answer = message.answer
        log = self.query_one(RichLog)
        if self._printed:
            self._write(self._printed)
            self._printed = ""
        if answer.line:
            log.write(Text(f"(mlusim) {answer.line}", "bold"))
        if answer.reply.text:
            text = Text(answer.reply.text.expandtabs(8), "" if answer.reply.ok else "red")
            log.write(text, width=max(20, log.scrollable_content_region.width))
        if answer.views.chain and self.views is not None and answer.views.asked != self.views.asked:
            self._reveal("chain")  # the log of a small terminal has no room for it
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
        texts = {
            "tasks": tasks_text(views.tasks, views.focus, views.others, views.file),
            "stack": views.stack,
            "variables": views.variables,
            "breakpoints": views.breakpoints,
            "pipes": views.pipes,
            "nram": views.nram,
            "memory": views.memory,
        }
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
        """Leave, and let the caller say why."""
        self.busy = False
        self.exit()

    # -- what the user does ----------------------------------------------------------------------

    def submit(self, line: str) -> None:
        """Execute a line of the prompt."""
        self._waiting += 1
        self.busy = True
        self.engine.submit(line)

    @on(CommandLine.Entered)
    def entered(self, event: CommandLine.Entered) -> None:
        """Execute what was typed."""
        self.submit(event.line)

    def on_key(self, event: events.Key) -> None:
        """A key that nothing has taken, as one from before the command line was there, belongs to it."""
        line = self.query_one(CommandLine)
        if self.focused is not line and (event.is_printable or event.key in ("enter", "ctrl+j")):
            line.focus()
            line.type_ahead(line.value + (event.character or "\n" if event.is_printable else "\n"))

    @on(CommandLine.Complete)
    def wanted(self, event: CommandLine.Complete) -> None:
        """Complete what was typed."""
        self.engine.complete(event.text, lambda words: self._tell(self.Offered(words)))

    @on(Offered)
    def offered(self, message: Offered) -> None:
        """Complete as far as it is clear."""
        self.query_one(CommandLine).offer(message.words)

    def action_line(self, line: str) -> None:
        """Execute the command of a key, behind those that are being executed."""
        self.submit(line)

    def action_breakpoint(self) -> None:
        """Set a breakpoint at the line in focus, or take it away."""
        if self.views is not None and self.views.line:
            self.toggle(self.views.line)

    def toggle(self, line: int) -> None:
        """Set a breakpoint at a line of the file that is shown, or take it away."""
        if self.views is not None and self.views.file:
            number = self.views.stops.get(line)
            self.submit(
                f"break {shown_file(self.views.file)}:{line}" if number is None else f"delete {number}"
            )

    @on(Source.Clicked)
    def clicked(self, message: Source.Clicked) -> None:
        """Set a breakpoint where the source was clicked, or take it away."""
        self.toggle(message.line)

    def action_pane(self) -> None:
        """Show the next pane."""
        names = list(PANES)
        shown = next(name for name in names if self.query_one(f"#{name}").has_class("shown"))
        self._reveal(names[(names.index(shown) + 1) % len(names)])

    def _reveal(self, shown: str) -> None:
        """Show one pane in place of the others, where there is room for one."""
        for name in PANES:
            self.query_one(f"#{name}").set_class(name == shown, "shown")
        self.query_one("#panes").set_class(shown == "chain", "covered")

    def action_task(self, by: int) -> None:
        """Look at the task before or behind the one in focus."""
        names = [task.name for task in self.views.tasks] if self.views is not None else []
        if names and self.views is not None and not self.busy:
            at = names.index(self.views.focus) if self.views.focus in names else 0
            self.submit(names[(at + by) % len(names)])

    def action_interrupt(self) -> None:
        """Stop the kernel that runs."""
        self.engine.interrupt()

    def on_unmount(self) -> None:
        """End the session, whatever it is doing."""
        self.engine.close()


def show(make: "Callable[[], Console]", terminal: Terminal) -> BaseException | None:
    """Debug on the full screen what *make* makes, at *terminal*; return the error that ended it.

    Called in the main thread.

    A kernel that takes no end, because it catches what ends it, is left with the process.
    """
    engine = Engine(make)

    def screen() -> None:
        app.run()
        engine.close()
        if not engine.worker.ended.wait(PATIENCE):
            terminal.give_back()
            os._exit(KILLED)  # the terminal is the shell's again, and nothing else can end that kernel

    with beside_main() as driver:
        app = DebuggerApp(engine, driver, terminal.typed())
        engine.serve_beside(screen)
    return engine.failure
