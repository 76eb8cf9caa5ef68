"""Plain text on the two streams; names of files, members and operators in it move no cursor and ring no bell."""

import logging
import sys

from mlusim.files.paths import lines_shown, shown


class LogFormatter(logging.Formatter):
    """Lines of a log, as `say` prints text."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of *record*."""
        return lines_shown(super().format(record))


def say(text: str) -> None:
    """Print *text*, of one line or several, on standard output."""
    print(lines_shown(text))


def wrote(what: str, name: str) -> None:
    """Say on standard error that *what* is in the file *name* now."""
    remark(f"{what} written to {name}")


def remark(text: str) -> None:
    """Print a line on standard error, which says what happened besides."""
    print(shown(text), file=sys.stderr)
