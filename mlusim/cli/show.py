"""Output of the verbs: documents on standard output, as text or JSON; remarks and progress on standard error.

JSON, and lines where no terminal shows styles, are written without rich, whose import would take longer than they do.
"""

import argparse
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any

from mlusim.document import Document, Part, Unfolded, json_text
from mlusim.files.reading import lines_shown, shown
from mlusim.lazy import lazy

if TYPE_CHECKING:
    import logging

    from rich import console as rich_console, progress as rich_progress

    from mlusim.cli import terminal
    from mlusim.programs.expectation import Compared
else:
    logging, rich_console, rich_progress, terminal = lazy(
        "logging", "rich.console", "rich.progress", "mlusim.cli.terminal"
    )


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


# -- single lines on the two streams; control characters in names of files, members and operators are escaped


def text(lines: str) -> None:
    """Print *lines*, one or several, on standard output."""
    print(lines_shown(lines))


def judged_lines(judged: "Mapping[str, Compared]") -> Iterator[Unfolded]:
    """Yield the line of each compared output."""
    for name, compared in judged.items():
        yield Unfolded(f"  {name}: {compared.told}", "green" if compared.accuracy.passed else "bold red")


def printing_aside(aside: bool) -> AbstractContextManager[object]:
    """With *aside* send the output of a program in the block to standard error, since standard output has a report alone."""
    return redirect_stdout(sys.stderr) if aside else nullcontext()


def wrote(what: str, name: str) -> None:
    """Say on standard error that *what* was written to the file *name*."""
    remark(f"{what} written to {name}")


def superseded(args: argparse.Namespace, old: str, new: str) -> None:
    """Have `main` print, after a successful run, that *new* replaces *old*; the reason is in decision 0035."""
    args.superseded = [
        *getattr(args, "superseded", ()),
        f"note: {new} answers this; {old} will go with the next version",
    ]


def remark(text: str) -> None:
    """Print a line with additional information on standard error."""
    print(shown(text), file=sys.stderr)


def log_to_stderr(name: str) -> None:
    """Make the logger *name* write every record to standard error, escaped as in `text`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    usual = handler.format
    handler.format = lambda record: lines_shown(usual(record))  # type: ignore[method-assign]  # a subclass would load logging
    logging.basicConfig(handlers=[handler], force=True)
    logging.getLogger(name).setLevel(logging.DEBUG)
