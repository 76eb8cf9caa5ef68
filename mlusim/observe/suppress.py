"""Accepted findings: suppressions in a TOML file, each with its reason, and comments in kernels.

::

    [[suppress]]
    id = "racecheck-tasks-same-word"
    place = "ops/fill.py:31"
    reason = "every task writes the same zero"
"""

import inspect
import linecache
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Any

from attrs import frozen

from mlusim.errors import UsageError
from mlusim.files.reading import toml_in
from mlusim.kernel_frames import file_of
from mlusim.near import near
from mlusim.observe.checker import COMMENT, Allowed
from mlusim.observe.finding import NOTE, Finding
from mlusim.observe.names import CHECKERS
from mlusim.observe.rules import RULES

KEYS = ("id", "place", "reason")
UNUSED = "suppression-unused"


@frozen
class Suppression:
    """One entry: the rule, the place (a file, or ``file:line``), the reason, and the entry's own place.

    The file is compared from its end, component by component, and may have wildcards: ``ops/*/kernel.py``.
    ``*`` alone also covers findings that have no place.
    """

    id: str
    place: str
    reason: str
    file: str
    line: int

    def covers(self, finding: Finding) -> bool:
        """Return whether the suppression covers *finding*."""
        path, line = split_place(self.place)
        if finding.id != self.id or (line is not None and line != finding.line):
            return False
        if finding.file is None:
            return path == "*"
        return PurePath(finding.file).match(path)


def split_place(place: str) -> tuple[str, int | None]:
    """Return the file and the line of ``file`` or ``file:line``."""
    match = re.fullmatch(r"(?P<path>.+):(?P<line>\d+)", place)
    return (match["path"], int(match["line"])) if match else (place, None)


def suppressions_in(text: str, name: str) -> tuple[Suppression, ...]:
    """Return the entries of the TOML document *text*, which the file *name* holds.

    Raises `UsageError` for invalid TOML, an unknown or missing key, an unknown rule of mlusim's own
    checkers, and an entry without a reason.
    """
    document = toml_in(text, name)
    entries = document.pop("suppress", [])
    if document or not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise UsageError(f"{name} may hold [[suppress]] tables only, each with {', '.join(KEYS)}")
    lines = [n for n, line in enumerate(text.splitlines(), 1) if re.match(r"\s*\[\[\s*suppress\s*\]\]", line)]
    lines += [1] * (len(entries) - len(lines))  # written in another way, as suppress = [{...}]
    return tuple(_entry(entry, name, line) for entry, line in zip(entries, lines, strict=False))


def _entry(entry: dict[str, Any], name: str, line: int) -> Suppression:
    at = f"the suppression at {name}:{line}"
    unknown = [key for key in entry if key not in KEYS]
    if unknown:
        raise UsageError(f"{at} has the unknown key {unknown[0]!r}; its keys are {', '.join(KEYS)}")
    for key in KEYS:
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            why = "; say why the finding is accepted" if key == "reason" else ""
            raise UsageError(f"{at} has no {key}{why}")
    rule = entry["id"].strip()
    if rule.partition("-")[0] in CHECKERS and rule not in RULES:
        similar = [other for other in RULES if other.startswith(rule.partition("-")[0])]
        raise UsageError(f"{at} names the unknown rule {rule!r}; known: {', '.join(similar)}")
    return Suppression(rule, entry["place"].strip(), entry["reason"].strip(), name, line)


def sift(
    findings: Iterable[Finding], suppressions: Sequence[Suppression]
) -> tuple[tuple[Finding, ...], tuple[Allowed, ...]]:
    """Return the findings that no suppression covers, and the others with the reason of the first suppression that does."""
    remaining: list[Finding] = []
    allowed: list[Allowed] = []
    for finding in findings:
        reason = next((s.reason for s in suppressions if s.covers(finding)), None)
        if reason is None:
            remaining.append(finding)
        else:
            allowed.append(Allowed(finding, reason))
    return tuple(remaining), tuple(allowed)


def unused(findings: Iterable[Finding], suppressions: Iterable[Suppression]) -> tuple[Finding, ...]:
    """Return a note for each suppression that covers none of *findings*."""
    seen = tuple(findings)
    return tuple(
        Finding(
            UNUSED,
            f"the suppression of {s.id} at {s.place} covers no finding of this run",
            file=s.file,
            line=s.line,
            hint="remove it, or check the programs that it is for",
            level=NOTE,
        )
        for s in suppressions
        if not any(s.covers(finding) for finding in seen)
    )


# -- comments in kernels, and those that allow no finding ----------------------------------------------


@frozen
class Comment:
    """``# mlusim: allow <id>: <reason>`` (in C after ``//``) in a line of a kernel; *alone* in its line, it is about the next line."""

    id: str
    reason: str
    file: str
    line: int
    alone: bool

    def covers(self, finding: Finding) -> bool:
        """Return whether the comment allows *finding*."""
        lines = (self.line, self.line + 1) if self.alone else (self.line,)
        return (
            bool(self.reason) and (self.id, self.file) == (finding.id, finding.file) and finding.line in lines
        )


def comments_in(function: object) -> Iterator[Comment]:
    """Yield the comments of a kernel's *function*; yield none if its source is not available."""
    for file, lines, start in _texts(function):
        for number, line in enumerate(lines, start):
            match = COMMENT.search(line.rstrip("\r\n"))
            if match is not None:
                alone = line.lstrip().startswith(("#", "//"))
                yield Comment(match["id"], (match["reason"] or "").strip(), file, number, alone)


def _texts(function: Any) -> Iterator[tuple[str, list[str], int]]:
    """Yield the file, lines and first line of the source; for a BANG C kernel, of the files of all functions that it reaches."""
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
    """Return a note for each of *comments* that allows none of *allowed*, or has no reason."""
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
