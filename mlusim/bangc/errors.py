"""Errors and warnings of the front end about a source."""

import functools
import linecache
import re
from types import TracebackType
from typing import TYPE_CHECKING

from attrs import frozen

from mlusim.errors import Fault, Remark, UsageError, shown_file

if TYPE_CHECKING:
    from mlusim.bangc.ir import Function


ERROR = "error"  # the construct of a problem reported by the compiler instead of by the lowering
_MISSING = re.compile(
    r"(?:undeclared identifier|unknown type name|no (?:type|member|template) named) '([^']+)'"
)
_WIDEST = 160  # characters of a source line in an excerpt


@frozen
class Diagnostic:
    """One message of the parser: its location, text, source line with a caret, and notes."""

    file: str
    line: int
    column: int
    message: str
    excerpt: str = ""
    notes: tuple[str, ...] = ()

    @property
    def head(self) -> str:
        """The location and the message, on one line."""
        return f"{shown_file(self.file)}:{self.line}:{self.column}: {self.message}"

    @property
    def below(self) -> str:
        """The source line with its caret, and the notes."""
        return "\n".join([*([self.excerpt] if self.excerpt else []), *self.notes])

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.head, self.below)))


class SourceError(UsageError):
    """A source does not parse or translate; ``diagnostics`` has all reasons.

    ``file``, ``line`` and ``column`` are the location of the first reason.
    """

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        first = diagnostics[0]
        unknown = dict.fromkeys(name for d in diagnostics for name in _MISSING.findall(d.message))
        listed = f"; not known: {', '.join(unknown)}" if len(unknown) > 1 else ""
        more = f"(and {len(diagnostics) - 1} more{listed})" if len(diagnostics) > 1 else ""
        super().__init__(first.head)
        self.diagnostics = diagnostics
        self.shown = "\n".join(filter(None, (first.below, more, *_instead(diagnostics))))
        self.file, self.line, self.column = first.file, first.line, first.column

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows instead of a traceback, since the mistake is in the cell, not in Python code."""
        return str(self).splitlines()

    def __str__(self) -> str:
        return "\n".join(filter(None, (super().__str__(), self.shown)))


def _instead(diagnostics: tuple[Diagnostic, ...]) -> list[str]:
    """Return what to use in BANG C for unknown names after the first error, one line for names with the same answer."""
    answers: dict[str, dict[str, None]] = {}
    for diagnostic in diagnostics:
        name, quote, answer = diagnostic.message.partition("'; ")
        if quote and not answer.startswith("did you mean"):
            answers.setdefault(answer, {})[name.rpartition("'")[2]] = None
    first = diagnostics[0].message
    return [
        f"{', '.join(names)}: {answer}" for answer, names in answers.items() if not first.endswith(answer)
    ]


class SourceWarning(Remark):
    """A function of a file does not compile; the other functions of the file can run."""


def diagnostic_of(function: "Function") -> Diagnostic:
    """Return the diagnostic of *function*, which does not translate."""
    problem = function.problem
    assert problem is not None
    span = problem.span
    text = f"{function.name} does not translate: {problem.message}"
    return Diagnostic(span.file, span.line, span.column, text, problem.excerpt)


def excerpt_of(text: str, line: int, column: int) -> str:
    """Return line *line* of *text* with a caret under *column*; "" if there is no such line."""
    lines = _lines(text)
    if not 1 <= line <= len(lines):
        return ""
    shown = lines[line - 1]
    if len(shown) > _WIDEST:  # shorten a long line, as in generated code, to the text around the column
        start = max(0, min(column - 1 - _WIDEST // 2, len(shown) - _WIDEST))
        shown, column = shown[start : start + _WIDEST], column - start
    blank = "".join("\t" if c == "\t" else " " for c in shown[: column - 1])
    return f"{shown}\n{blank}^"


@functools.lru_cache(maxsize=2)
def _lines(text: str) -> list[str]:
    """Split *text* at the compiler's line ends, cached because a file of megabytes may have a hundred errors."""
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


_PYTHON = (".py", ".ipynb")


def excerpt_of_fault(fault: Fault) -> str:
    """Return the source line of *fault* with a caret; "" for a fault in Python code, whose line the traceback shows."""
    if not fault.file or not fault.line or fault.file.endswith(_PYTHON) or fault.file.startswith("<"):
        return ""
    text = "".join(linecache.getlines(fault.file))
    line = linecache.getline(fault.file, fault.line)
    column = _column(fault, fault.__traceback__) or len(line) - len(line.lstrip()) + 1
    return excerpt_of(text, fault.line, column)


def _column(fault: Fault, traceback: TracebackType | None) -> int | None:
    """Return the column of the code executed on the fault's line; None if it ran in C."""
    column = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename == fault.file and traceback.tb_lineno == fault.line:
            positions = list(code.co_positions())[traceback.tb_lasti // 2]
            column = None if positions[2] is None else positions[2] + 1
        traceback = traceback.tb_next
    return column
