"""Comments in kernels that allow findings: which there are, and which of them allow nothing."""

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import frozen

from mlusim.observe.checker import COMMENT, Allowed
from mlusim.observe.finding import NOTE, Finding
from mlusim.observe.suppress import UNUSED


@frozen
class Comment:
    """``# mlusim: allow <id>: <reason>`` at a line of a kernel; *alone* on it, it is about the line below."""

    id: str
    reason: str
    file: str
    line: int
    alone: bool

    def covers(self, finding: Finding) -> bool:
        """Whether it allows *finding*."""
        lines = (self.line, self.line + 1) if self.alone else (self.line,)
        return (
            bool(self.reason) and (self.id, self.file) == (finding.id, finding.file) and finding.line in lines
        )


def comments_in(function: Any) -> Iterator[Comment]:
    """Yield the comments of a kernel's *function*; none where its source is not to be had."""
    try:
        lines, start = inspect.getsourcelines(function)
    except (OSError, TypeError, SyntaxError):
        return
    file = inspect.unwrap(function).__code__.co_filename
    for number, line in enumerate(lines, start):
        found = COMMENT.search(line.rstrip("\r\n"))
        if found is not None:
            yield Comment(found["id"], (found["reason"] or "").strip(), file, number, line.lstrip()[0] == "#")


def unused_comments(comments: Iterable[Comment], allowed: Iterable[Allowed]) -> tuple[Finding, ...]:
    """Return a note for each of *comments* that has no part in *allowed*, or gives no reason."""
    seen = [a.finding for a in allowed]
    return tuple(
        Finding(
            UNUSED,
            f"the comment that allows {c.id} covers no finding of this run"
            if c.reason
            else f"the comment that allows {c.id} gives no reason, and allows nothing",
            file=c.file,
            line=c.line,
            hint="remove it, or check the runs that it is for"
            if c.reason
            else f"say why: `# mlusim: allow {c.id}: <reason>`",
            level=NOTE,
        )
        for c in dict.fromkeys(comments)
        if not any(c.covers(finding) for finding in seen)
    )
