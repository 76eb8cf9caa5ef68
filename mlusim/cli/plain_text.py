"""Plain text on the two streams; control characters in names of files, members and operators are escaped."""

import argparse
import contextlib
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mlusim.document import Unfolded
from mlusim.files.reading import lines_shown, shown
from mlusim.lazy import lazy

if TYPE_CHECKING:
    import logging

    from mlusim.programs.expectation import Compared
else:
    (logging,) = lazy("logging")


def log_to_stderr(name: str) -> None:
    """Make the logger *name* write every record to standard error, escaped as in `say`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    usual = handler.format
    handler.format = lambda record: lines_shown(usual(record))  # type: ignore[method-assign]  # a subclass would load logging
    logging.basicConfig(handlers=[handler], force=True)
    logging.getLogger(name).setLevel(logging.DEBUG)


def say(text: str) -> None:
    """Print *text*, of one line or several, on standard output."""
    print(lines_shown(text))


def judged_lines(judged: "Mapping[str, Compared]") -> Iterator[Unfolded]:
    """Yield the line of each compared output."""
    for name, compared in judged.items():
        yield Unfolded(f"  {name}: {compared.told}", "green" if compared.accuracy.passed else "bold red")


def printing_aside(aside: bool) -> contextlib.AbstractContextManager[object]:
    """With *aside* send the output of a program in the block to standard error, since standard output has a report alone."""
    return contextlib.redirect_stdout(sys.stderr) if aside else contextlib.nullcontext()


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
