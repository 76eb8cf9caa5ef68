"""Comments in kernels that allow findings: which there are, and which of them allow nothing."""

import inspect
import linecache
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import frozen

from mlusim.kernel_frames import file_of
from mlusim.near import near
from mlusim.observe.checker import COMMENT, Allowed
from mlusim.observe.finding import NOTE, Finding
from mlusim.observe.rules import RULES
from mlusim.observe.suppress import UNUSED


@frozen
class Comment:
    """``# mlusim: allow <id>: <reason>`` (in C behind ``//``) at a line of a kernel; *alone* on it, it is about the line below."""

    id: str
    reason: str
    file: str
    line: int
    alone: bool

    def covers(self, finding: Finding) -> bool:
        """Return whether it allows *finding*."""
        lines = (self.line, self.line + 1) if self.alone else (self.line,)
        return (
            bool(self.reason) and (self.id, self.file) == (finding.id, finding.file) and finding.line in lines
        )


def comments_in(function: object) -> Iterator[Comment]:
    """Yield the comments of a kernel's *function*; none where its source is not to be had."""
    for file, lines, start in _texts(function):
        for number, line in enumerate(lines, start):
            found = COMMENT.search(line.rstrip("\r\n"))
            if found is not None:
                alone = line.lstrip().startswith(("#", "//"))
                yield Comment(found["id"], (found["reason"] or "").strip(), file, number, alone)


def _texts(function: Any) -> Iterator[tuple[str, list[str], int]]:
    """Yield the file, lines and first line of the source: of a kernel in C the files of all functions that it reaches."""
    inner = inspect.unwrap(function)
    code = getattr(inner, "__code__", None)
    if code is not None and not code.co_filename.endswith(".py") and code.co_filename[0] != "<":
        functions = [f for f in inner.__globals__.values() if hasattr(f, "__code__")]
        for file in dict.fromkeys(f.__code__.co_filename for f in (inner, *functions)):
            yield file, linecache.getlines(file), 1
        return
    try:
        lines, start = inspect.getsourcelines(inner)
    except (OSError, TypeError, SyntaxError):
        return
    yield file_of(inner.__code__), lines, start


def unused_comments(comments: Iterable[Comment], allowed: Iterable[Allowed]) -> tuple[Finding, ...]:
    """Return a note for each of *comments* that has no part in *allowed*, or gives no reason."""
    seen = [a.finding for a in allowed]
    return tuple(
        Finding(
            UNUSED,
            f"the comment allows {c.id}, a rule that mlusim does not have"
            if c.id not in RULES
            else f"the comment that allows {c.id} covers no finding of this run"
            if c.reason
            else f"the comment that allows {c.id} gives no reason, and allows nothing",
            file=c.file,
            line=c.line,
            hint=_hint(c),
            level=NOTE,
        )
        for c in dict.fromkeys(comments)
        if not any(c.covers(finding) for finding in seen)
    )


def _hint(comment: Comment) -> str:
    if comment.id not in RULES:
        guesses = near(comment.id, RULES, 1)
        return f"did you mean {guesses[0]}?" if guesses else "remove it, or load the checker that reports it"
    if comment.reason:
        return "remove it, or check the runs that it is for"
    mark = "#" if comment.file.endswith(".py") else "//"
    return f"say why: `{mark} mlusim: allow {comment.id}: <reason>`"
