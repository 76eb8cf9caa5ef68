"""The full-screen view of the debugger, built on Textual (the extra ``tui``)."""

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Footer, Input, RichLog, Static

from mlusim.debug.console.console import Console
from mlusim.debug.tui.panes import CommandLine, Pane, Source, tasks_text
from mlusim.debug.tui.views import Answer, Views
from mlusim.debug.tui.worker import Engine

WIDE = 120  # columns from which all panes are shown at once
PANES = {
    "tasks": "tasks",
    "pipes": "pipes",
    "variables": "variables",
    "nram": "memory map",
    "memory": "memory",
}
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
    """Source, tasks, pipes, memory and the console on one screen; *make* makes the console, in a thread of its own.

    ``busy`` is true while a command is executed; ``views`` is what is shown.
    """

    TITLE = "mlusim debug"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #title { height: 1; background: $primary; color: $text; text-wrap: nowrap; text-overflow: ellipsis; }
    #body { height: 1fr; layout: vertical; }
    #source { height: 1fr; width: 1fr; }
    #panes { height: 1fr; width: 1fr; }
    #panes Pane { height: 1fr; display: none; }
    #panes Pane.shown { display: block; }
    #pipes > Static { text-wrap: wrap; }
    #log { height: 5; border-top: solid $primary; }
    .wide #body { layout: horizontal; }
    .wide #source { width: 1fr; height: 1fr; }
    .wide #panes Pane { display: block; }
    .wide #pipes { max-height: 8; height: auto; }
    .wide #tasks { max-height: 10; height: auto; }
    .wide #nram { height: 2fr; }
    .wide #log { height: 11; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key, f"line('{command}')", shown, priority=True) for key, command, shown in KEYS),
        Binding("ctrl+t", "pane", "pane", priority=True),
        Binding("ctrl+up", "task(-1)", "task before", show=False, priority=True),
        Binding("ctrl+down", "task(1)", "task behind", show=False, priority=True),
        Binding("ctrl+c", "interrupt", "interrupt", show=False, priority=True),
        Binding("ctrl+q", "quit", "quit", priority=True),
    ]

    def __init__(self, make: Callable[[], Console]) -> None:
        super().__init__()
        self.busy = True
        self.views: Views | None = None
        self.failure: BaseException | None = None
        self._make = make
        self._engine: Engine | None = None
        self._waiting = 1
        self._before: dict[str, str] = {}

    # -- the screen ------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Title, source and panes, the log, the command line, the keys."""
        yield Static("starting", id="title", markup=False)
        with Container(id="body"):
            yield Source(id="source")
            with Container(id="panes"):
                for name, title in PANES.items():
                    yield Pane(title, id=name)
        yield RichLog(id="log", wrap=True, markup=False, min_width=20)
        yield CommandLine(id="line")
        yield Footer()

    def on_mount(self) -> None:
        """Begin."""
        self.query_one("#tasks").add_class("shown")
        self.query_one(CommandLine).focus()
        self.begin_capture_print(self)
        self._engine = Engine(
            self._make,
            lambda answer: self.call_from_thread(self._answered, answer),
            lambda error: self.call_from_thread(self._failed, error),
        )

    def on_resize(self, event: events.Resize) -> None:
        """Show one pane or all of them."""
        self.screen.set_class(event.size.width >= WIDE, "wide")

    def on_print(self, event: events.Print) -> None:
        """Show what the program prints among the answers."""
        if event.text.strip("\n"):
            self.query_one(RichLog).write(Text(event.text.rstrip("\n"), "dim"))

    def _answered(self, answer: Answer) -> None:
        """Show what a line led to."""
        log = self.query_one(RichLog)
        if answer.line:
            log.write(Text(f"(mlusim) {answer.line}", "bold"))
        if answer.reply.text:
            text = Text(answer.reply.text.expandtabs(8), "" if answer.reply.ok else "red")
            log.write(text, width=max(20, log.scrollable_content_region.width))
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
            "pipes": views.pipes,
            "variables": views.variables,
            "nram": views.nram,
            "memory": views.memory,
        }
        for name, text in texts.items():
            self.query_one(f"#{name}", Pane).show(text, self._before.get(name))
        self.query_one("#memory", Pane).border_title = f"memory: {views.place}" if views.place else "memory"
        self._before = texts

    def _failed(self, error: BaseException) -> None:
        """The session could not be made, or broke: leave, and let the caller say why."""
        self.failure = error
        self.busy = False
        self.exit()

    # -- what the user does ----------------------------------------------------------------------

    def submit(self, line: str) -> None:
        """Execute a line."""
        if self._engine is not None:
            self._waiting += 1
            self.busy = True
            self._engine.submit(line)

    @on(Input.Submitted)
    def entered(self, event: Input.Submitted) -> None:
        """Execute what was typed."""
        line = self.query_one(CommandLine)
        line.remember(event.value)
        line.value = ""
        self.submit(event.value)

    @on(CommandLine.Complete)
    def wanted(self, event: CommandLine.Complete) -> None:
        """Complete what was typed."""
        offer = self.query_one(CommandLine).offer
        if self._engine is not None:
            self._engine.complete(event.text, lambda words: self.call_from_thread(offer, words))

    def action_line(self, line: str) -> None:
        """Execute the command of a key, unless one is being executed."""
        if not self.busy:
            self.submit(line)

    def action_pane(self) -> None:
        """Show the next pane."""
        names = list(PANES)
        shown = next(name for name in names if self.query_one(f"#{name}").has_class("shown"))
        self.query_one(f"#{shown}").remove_class("shown")
        self.query_one(f"#{names[(names.index(shown) + 1) % len(names)]}").add_class("shown")

    def action_task(self, by: int) -> None:
        """Look at the task before or behind the one in focus."""
        names = [task.name for task in self.views.tasks] if self.views is not None else []
        if names and self.views is not None and not self.busy:
            at = names.index(self.views.focus) if self.views.focus in names else 0
            self.submit(names[(at + by) % len(names)])

    def action_interrupt(self) -> None:
        """Stop the kernel that runs."""
        if self._engine is not None and self.busy:
            self._engine.interrupt()

    def on_unmount(self) -> None:
        """End the session."""
        if self._engine is not None:
            self._engine.close()
