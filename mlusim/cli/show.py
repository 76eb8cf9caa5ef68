"""Output of the verbs: tables and JSON on standard output, progress on standard error.

JSON, and lines where no terminal shows styles, are written without rich, whose import would take longer than they do.
"""

import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mlusim.document import Document, Part, Unfolded, json_text
from mlusim.files.reading import lines_shown, shown
from mlusim.lazy import lazy

if TYPE_CHECKING:
    from rich import console as rich_console, progress as rich_progress

    from mlusim.cli import terminal
else:
    rich_console, rich_progress, terminal = lazy("rich.console", "rich.progress", "mlusim.cli.terminal")


LINES = 20
"""The most lines of progress if there is no terminal."""


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


STYLED = ("FORCE_COLOR", "TTY_COMPATIBLE", "JUPYTER_COLUMNS")  # make rich treat a stream as a terminal
_CONTROLS = dict.fromkeys(map(ord, "\a\b\v\f\r"))  # rich omits them


def put(parts: "Iterable[Part]") -> None:
    """Write *parts* as text, each as soon as it is available."""
    bare = not (sys.stdout.isatty() or any(name in os.environ for name in STYLED))
    console: terminal.Output | None = None
    for part in parts:
        if bare and isinstance(part, Unfolded) and isinstance(part.shown, str):
            for row in lines_shown(part.shown.translate(_CONTROLS)).split("\n"):
                print(row.expandtabs(8).rstrip(" "))
            continue
        console = console or terminal.output()
        if isinstance(part, Unfolded):
            console.print(part.shown, style=part.style or None, soft_wrap=True)
        else:
            console.print(part)


def findings(reported: Iterable[Any]) -> "Iterator[Part]":
    """Yield the findings with a blank line before each; those of other packages' checkers may have any type."""
    for finding in reported:
        yield ""
        yield finding if hasattr(finding, "__rich_console__") else str(finding)


def kib(nbytes: int) -> str:
    """Return the bytes in KiB, without a fraction if it is 0."""
    return f"{nbytes // 1024}" if nbytes % 1024 == 0 else f"{nbytes / 1024:.1f}"


@contextmanager
def progress(what: str, total: int, *, lines: bool = False) -> Iterator[Callable[[str], None]]:
    """Show a progress bar of *total* steps on standard error if that is a terminal; otherwise, with *lines*, at most `LINES` lines.

    Yields a function to call after each step, with the step's name.
    """
    console = rich_console.Console(stderr=True)
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
