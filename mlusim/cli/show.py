"""Output of the verbs: tables and JSON on standard output, progress on standard error."""

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attrs import frozen
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment
from rich.text import Text

from mlusim.document import Document, Part, Unfolded, json_text
from mlusim.files.reading import lines_shown, shown
from mlusim.lazy import lazy

if TYPE_CHECKING:
    from rich import progress as rich_progress
else:
    (rich_progress,) = lazy("rich.progress")


LINES = 20
"""The most lines of progress if there is no terminal."""


class Output(Console):
    """Standard output; a closed pipe raises an exception for `main`, instead of an exit in rich."""

    def on_broken_pipe(self) -> None:
        """Raise `BrokenPipeError`, which ends the command as other tools end."""
        raise BrokenPipeError

    def print(self, *objects: Any, **options: Any) -> None:
        """Print *objects*; lines wider than the terminal are not cropped."""
        super().print(*objects, **{"crop": False} | options)


@frozen
class _Trimmed:
    """Renderables without trailing blanks, which only fill columns, and with control bytes escaped."""

    shown: ConsoleRenderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the contents line by line."""
        line: list[Segment] = []
        for segment in console.render(self.shown, options):
            *ended, rest = (segment.text if segment.control else lines_shown(segment.text)).split("\n")
            for text in ended:
                yield from _trimmed([*line, Segment(text, segment.style)])
                yield Segment.line()
                line = []
            if rest or segment.control:
                line.append(Segment(rest, segment.style, segment.control))
        yield from line


def _trimmed(line: list[Segment]) -> list[Segment]:
    while line and not line[-1].control:
        text, style, _ = line.pop()
        visible = text if style and (style.reverse or style.bgcolor) else text.rstrip(" ")
        if visible:
            return [*line, Segment(visible, style)]
    return line


class _Trim(RenderHook):
    """Trims everything that a console shows."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Trim each of the *renderables*."""
        return [_Trimmed(shown) for shown in renderables]


def output() -> Output:
    """Return a console on the current standard output; styles only on a terminal and without ``NO_COLOR``."""
    console = Output(file=sys.stdout, highlight=False, emoji=False, markup=False)
    if console.no_color:  # rich would keep bold and dim
        console = Output(file=sys.stdout, highlight=False, emoji=False, markup=False, color_system=None)
    console.push_render_hook(_Trim())
    return console


_caught: list[list[Mapping[str, Any]]] = []


@contextmanager
def caught() -> Iterator[list[Mapping[str, Any]]]:
    """Yield a list that collects the JSON documents of the block, which are then not written."""
    documents: list[Mapping[str, Any]] = []
    _caught.append(documents)
    try:
        yield documents
    finally:
        _caught.pop()


def emit(document: Mapping[str, Any]) -> None:
    """Write *document* as the one JSON document on standard output."""
    if _caught:
        _caught[-1].append(document)
    else:
        sys.stdout.write(json_text(document))


def say(document: Document, *, json: bool) -> None:
    """Write *document*: its facts as JSON with *json*, otherwise its parts, one by one."""
    if json:
        emit(document.facts())
    else:
        put(document.parts())


def put(parts: "Iterable[Part]") -> None:
    """Write *parts* as text, each as soon as it is available."""
    console = output()
    for part in parts:
        if isinstance(part, Unfolded):
            console.print(part.shown, style=part.style or None, soft_wrap=True)
        else:
            console.print(part)


def findings(reported: Iterable[Any]) -> "Iterator[Part]":
    """Yield the findings with a blank line before each; those of other packages' checkers may have any type."""
    for finding in reported:
        yield ""
        yield finding if hasattr(finding, "__rich_console__") else Text(str(finding))


def kib(nbytes: int) -> str:
    """Return the bytes in KiB, without a fraction if it is 0."""
    return f"{nbytes // 1024}" if nbytes % 1024 == 0 else f"{nbytes / 1024:.1f}"


@contextmanager
def progress(what: str, total: int, *, lines: bool = False) -> Iterator[Callable[[str], None]]:
    """Show a progress bar of *total* steps on standard error if that is a terminal; otherwise, with *lines*, at most `LINES` lines.

    Yields a function to call after each step, with the step's name.
    """
    console = Console(stderr=True)
    if lines and not console.is_terminal:
        done = itertools.count(1)

        def tell(name: str) -> None:
            number = next(done)
            if number * LINES // total > (number - 1) * LINES // total:
                sys.stderr.write(f"{what}: {number} of {total}, {shown(name)}\n")

        yield tell
        return
    # A bar of one step would show nothing until the step is over.
    if not console.is_terminal or total < 2:
        yield lambda _: None
        return
    columns = (
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TimeElapsedColumn(),
    )
    with rich_progress.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)

        def step(name: str) -> None:
            bar.update(task, advance=1, description=shown(name))

        yield step
