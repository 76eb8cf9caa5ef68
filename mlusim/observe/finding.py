"""`Finding`: a mistake in a kernel, its place, and how to correct it."""

import linecache
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from mlusim.counted import plural
from mlusim.errors import shown_file
from mlusim.lazy import lazy
from mlusim.presenting import Presented

if TYPE_CHECKING:
    from rich import text as rich_text
    from rich.console import Console, ConsoleOptions, RenderResult
else:
    (rich_text,) = lazy("rich.text")

ERROR, NOTE = "error", "note"


@frozen
class RelatedPlace:
    """A line of a kernel that is related to a finding, and what happened there.

    A *victim* suffers from the same mistake elsewhere, and is not part of its cause.  ``count`` says how often it
    happened in the launch, and ``about`` describes it without bytes and tasks, which differ between launches.
    """

    file: str
    line: int
    message: str
    victim: bool = False
    count: int = 1
    about: str = ""

    def __str__(self) -> str:
        return f"{shown_file(self.file)}:{self.line}: {self.told}"

    @property
    def told(self) -> str:
        """The message, with the count if it is more than one."""
        return (
            self.message if self.count == 1 else f"{self.message}, {self.count} {plural(self.count, 'time')}"
        )


@frozen
class Finding(Presented):
    """One finding of a checker.

    ``id`` names the rule (each has a page, ``docs/reference/rules/<id>.md``), ``message`` is a
    sentence about the mistake, ``context`` explains how it came about, ``places`` are other lines that are involved,
    ``note`` is additional information, ``hint`` says what to do.  ``file`` and ``line`` are the kernel's,
    ``task`` is the first task that made the mistake, and ``count`` says how often it happened in the launch.
    ``level`` is "error" or "note"; a note fails no run.
    """

    id: str
    message: str
    file: str | None = None
    line: int | None = None
    task: int | None = None
    intrinsic: str | None = None
    context: tuple[str, ...] = ()
    places: tuple[RelatedPlace, ...] = ()
    note: str | None = None
    hint: str | None = None
    level: str = ERROR
    kernel: str | None = None
    count: int = 1
    facts: Mapping[str, Any] = field(factory=dict)

    def __str__(self) -> str:
        where = [] if self.file is None else [f"{shown_file(self.file)}:{self.line}"]
        where += [] if self.task is None else [f"task {self.task}"]
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.id}: {self.message}{hint}" + (f" ({', '.join(where)})" if where else "")

    @property
    def page(self) -> str:
        """The documentation of the rule, from the root of the repository."""
        return f"docs/reference/rules/{self.id}.md"

    def times(self, count: int) -> "Finding":
        """Return the same finding with the count *count*."""
        return evolve(self, count=count)

    def to_json(self) -> dict[str, Any]:
        """Return all members as plain data."""
        return {
            "id": self.id,
            "level": self.level,
            "message": self.message,
            "kernel": self.kernel,
            "file": self.file,
            "line": self.line,
            "task": self.task,
            "intrinsic": self.intrinsic,
            "context": list(self.context),
            "places": [
                {"file": p.file, "line": p.line, "message": p.told, "count": p.count} for p in self.places
            ],
            "note": self.note,
            "hint": self.hint,
            "count": self.count,
            "facts": dict(self.facts),
        }

    def __rich_console__(self, _console: "Console", _options: "ConsoleOptions") -> "RenderResult":
        """Render in the manner of pip: the rule, the message, the place with its source line, the context, the hint."""
        color = "red" if self.level == ERROR else "cyan"
        yield rich_text.Text.assemble((self.level, f"bold {color}"), f": {self.id}")
        yield rich_text.Text.assemble(("× ", color), self.message)
        for line in (*self.context, *(str(place) for place in self.places)):
            yield rich_text.Text.assemble(("│   ", color), line)
        yield rich_text.Text.assemble(("╰─> ", color), self._where())
        # linecache instead of the file: it has the cells of notebooks, too.
        source = linecache.getline(self.file, self.line).strip() if self.file and self.line else ""
        if source:
            yield rich_text.Text(f"      {source}")
            yield rich_text.Text.assemble("      ", (caret(source, self.intrinsic), color))
        if self.note:
            yield rich_text.Text.assemble(("note", "bold magenta"), f": {self.note}")
        if self.hint:
            yield rich_text.Text.assemble(("hint", "bold cyan"), f": {self.hint}")

    def _where(self) -> str:
        """Return a phrase with the place, the task, the kernel, and the count."""
        parts = [] if self.file is None else [f"{shown_file(self.file)}:{self.line}"]
        parts += [] if self.task is None else [f"task {self.task}"]
        parts += [] if self.kernel is None else [f"kernel {self.kernel}"]
        parts += [] if self.count == 1 else [f"{self.count} {plural(self.count, 'time')}"]
        return ", ".join(parts) or "in the whole launch"


def columns(file: str, line: int | None, intrinsic: str | None) -> tuple[int, int] | None:
    """Return the first column of the call of *intrinsic* in *line* of *file*, or of the line's text, and the column after its last.

    Columns are characters, counted from 1; None if the line cannot be read.
    """
    whole = linecache.getline(file, line) if line else ""
    source = whole.strip()
    if not source:
        return None
    # The whole line if it does not contain the call, as in a macro.
    marks = caret(source, intrinsic)
    indent = len(whole) - len(whole.lstrip())
    return indent + marks.index("^") + 1, indent + len(marks) + 1


def caret(source: str, intrinsic: str | None) -> str:
    """Return spaces and carets that underline the call of *intrinsic* in *source*, or all of it."""
    call = (
        None if intrinsic is None else re.search(rf"[\w.]*\b_*{re.escape(intrinsic.lstrip('_'))}\b", source)
    )
    start, stop = call.span() if call else (0, len(source))
    return " " * start + "^" * (stop - start)
