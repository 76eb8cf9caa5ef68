"""The parts of the full-screen view: source, panes, and the line that commands are typed into."""

from typing import ClassVar

from rich.syntax import Syntax
from rich.text import Text
from textual import events
from textual.app import RenderResult
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from mlusim.debug.console.command import table
from mlusim.debug.look.states import TaskState
from mlusim.debug.source.frames import place_of
from mlusim.debug.tui.views import Views


class Source(Widget):
    """The source around the current line, which has an arrow; lines with breakpoints have a B."""

    class Clicked(Message):
        """A line of the source has been clicked."""

        def __init__(self, line: int) -> None:
            super().__init__()
            self.line = line

    DEFAULT_CSS = "Source { border: round $primary; text-wrap: nowrap; text-overflow: ellipsis; }"

    def __init__(self, *, id: str) -> None:  # noqa: A002 - the name of Textual
        super().__init__(id=id)
        self._views: Views | None = None
        self._first = 1
        self._lines: dict[str, list[Text]] = {}

    def show(self, views: Views) -> None:
        """Show the place of *views*."""
        self._views = views
        self.border_title = f"{place_of(views.file)}:{views.line}" if views.file else "source"
        self.refresh()

    def recolour(self) -> None:
        """Colour the source again, after a change of theme."""
        self._lines.clear()
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """A click on a line sets a breakpoint there, or takes it away."""
        # The border is the first row.
        self.post_message(self.Clicked(self._first + event.y - 1))

    def render(self) -> RenderResult:
        """Return the lines that fit, the current one in the middle."""
        views = self._views
        if views is None or not views.source:
            return Text("no source")
        # Colouring a file takes longer than drawing it, so it is kept until the theme changes.
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


class Pane(VerticalScroll):
    """A titled text that scrolls."""

    DEFAULT_CSS = """
    Pane { border: round $primary; }
    Pane > Static { text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, title: str, *, id: str) -> None:  # noqa: A002 - the name of Textual
        super().__init__(id=id)
        self.border_title = title
        self._text = Static(Text(""), markup=False)

    def compose(self) -> list[Widget]:
        """Make the widget that holds the text."""
        return [self._text]

    def show(self, text: str, changed: str | None = None) -> None:
        """Show *text*; with *changed*, the text of before, lines that differ from it stand out."""
        # Without a text of before nothing stands out.
        before = set((changed or text).splitlines())
        lines = [Text(line, "" if line in before else "bold yellow") for line in text.splitlines()]
        self._text.update(Text("\n").join(lines))


def tasks_text(rows: tuple[TaskState, ...], focus: str, others: str, file: str = "") -> str:
    """Return the tasks as a narrow table: the one in focus marked, then how many there are besides.

    Lines of *file*, which is on the screen, go without its name.
    """

    def where(task: TaskState) -> str:
        place = task.where.rpartition(" at ")[2]
        name, _, line = place.rpartition(":")
        return f"line {line}" if file and name == place_of(file) else place

    shown = [["*" if t.name == focus else "", t.name, t.state, where(t), t.waits] for t in rows]
    return (table(["", "task", "state", "where", "waits for"], shown) + "\n" if rows else "") + others


class CommandLine(Input):
    """The line where commands are typed: up and down recall them, tab completes."""

    DEFAULT_CSS = "CommandLine { height: 1; border: none; padding: 0; }"

    class Complete(Message):
        """The user wants the text completed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    HISTORY: ClassVar[int] = 500

    def __init__(self, *, id: str) -> None:  # noqa: A002 - the name of Textual
        super().__init__(id=id, placeholder="a command; help lists them", compact=True)
        self._history: list[str] = []
        self._at = 0

    class Entered(Message):
        """A line has been typed."""

        def __init__(self, line: str) -> None:
            super().__init__()
            self.line = line

    def enter(self) -> None:
        """Execute the typed line."""
        line, self.value = self.value, ""
        self.remember(line)
        self.post_message(self.Entered(line))

    def type_ahead(self, text: str) -> None:
        """Take what was typed before the view was there."""
        *lines, rest = text.replace("\r", "\n").split("\n")
        for line in lines:
            self.value = line
            self.enter()
        self.value = rest
        self.cursor_position = len(rest)

    def remember(self, line: str) -> None:
        """Keep a line for recalling."""
        if line.strip():
            self._history = [*self._history, line][-self.HISTORY :]
        self._at = len(self._history)

    def offer(self, words: list[str]) -> None:
        """Complete the last word as far as *words* agree."""
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
        elif event.key in ("enter", "ctrl+j"):  # at once, so that what is typed behind it is the next line
            event.prevent_default()
            event.stop()
            self.enter()
        elif event.key == "tab":
            event.prevent_default()
            event.stop()
            # Textual would move the focus with tab.
            self.post_message(self.Complete(self.value))
        else:
            await super()._on_key(event)
