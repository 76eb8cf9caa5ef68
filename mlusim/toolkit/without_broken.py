"""Host functions that do not compile: which they are by what the compiler says, and their files without their bodies."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from mlusim.frontend.bangc import ir

_ERROR = re.compile(
    r"^(?P<file>[^\n]+?):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<message>.*)$", re.MULTILINE
)


@frozen
class BrokenFunction:
    """A host function that does not compile: the place of its body, and the compiler's first error in it."""

    name: str
    body: ir.Span
    said: str

    @property
    def sentence(self) -> str:
        """Why it cannot be called."""
        return f"{self.name} does not compile: {self.said}"


def broken_functions(functions: Iterable[ir.Function], said: str) -> list[BrokenFunction] | None:
    """Return the functions whose bodies have the errors in what the compiler *said*; None where one stands elsewhere."""
    known = [(f, f.hosted) for f in functions if f.hosted is not None]
    found: dict[ir.Span, BrokenFunction] = {}
    for error in _ERROR.finditer(said):
        place = int(error["line"]), int(error["column"])
        file = os.path.realpath(error["file"])
        around = [
            (f, body)
            for f, body in known
            if (body.line, body.column) <= place <= (body.end_line, body.end_column)
            and os.path.realpath(body.file) == file
        ]
        if not around:
            return None
        function, body = max(around, key=lambda one: one[1][1:3])
        shown = f"{error['file']}:{error['line']}:{error['column']}: {error['message']}"
        found.setdefault(body, BrokenFunction(function.name, body, shown))
    return [*found.values()] or None


def first_error(said: str) -> str:
    """Return the first error in what the compiler *said*, with its place; "" where it has none."""
    found = _ERROR.search(said)
    return "" if found is None else found[0].replace(": fatal error: ", ": ").replace(": error: ", ": ")


def without(broken: Sequence[BrokenFunction]) -> Mapping[str, str] | None:
    """Return the files of *broken* functions, each with bodies that say what is wrong; None where a macro wrote a body."""
    texts: dict[str, bytes] = {}
    # The last first: the others keep their place.
    for one in sorted(broken, key=lambda one: one.body[1:3], reverse=True):
        body = one.body
        text = texts.get(body.file) or Path(body.file).read_bytes()
        first, end = _offset(text, body.line, body.column), _offset(text, body.end_line, body.end_column)
        if text[first : first + 1] != b"{" or text[end - 1 : end] != b"}":
            return None
        lines = b"\n" * text.count(b"\n", first, end)  # the others keep their lines
        texts[body.file] = b"%s{ __mlusim_broken(%s); %s}%s" % (
            text[:first],
            _literal(one.sentence),
            lines,
            text[end:],
        )
    return {file: text.decode("utf-8", "surrogateescape") for file, text in texts.items()}


def _offset(text: bytes, line: int, column: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = text.index(b"\n", start) + 1
    return start + column - 1


def _literal(text: str) -> bytes:
    return b'"%s"' % b"".join(_escaped(text))


def _escaped(text: str) -> Iterator[bytes]:
    for byte in text.encode("utf-8", "surrogateescape"):
        yield b"\\%03o" % byte if byte in b'"\\?' or not 32 <= byte < 127 else bytes((byte,))
