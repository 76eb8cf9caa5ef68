"""What of a source is the definition of a macro, and what an invocation."""

import re
from pathlib import Path

_QUOTED = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""")
_DEFINITION = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\b((?:.*\\\n)*.*)", re.MULTILINE)
_HEAD = re.compile(r"\s*\w+\s*")

Position = tuple[int, int]  # line and column, from 1 on


class SourceText:
    """The lines of the files that the parser has read."""

    def __init__(self) -> None:
        self._lines: dict[str, list[bytes]] = {}

    def between(self, path: str, start: Position, end: Position) -> str:
        """The text from *start* to in front of *end*; "" where there is no such file."""
        lines = self._lines.get(path)
        if lines is None:
            file = Path(path)
            lines = self._lines[path] = file.read_bytes().splitlines() if file.is_file() else []
        found = lines[start[0] - 1 : end[0]]
        if not found:
            return ""
        found[-1] = found[-1][: end[1] - 1]
        found[0] = found[0][start[1] - 1 :]
        return b"\n".join(found).decode(errors="replace")


def is_invocation(text: str) -> bool:
    """Whether *text* is a name alone, or one with arguments in parentheses, and nothing behind them."""
    text = _QUOTED.sub("0", text)
    head = _HEAD.match(text)
    rest = text[head.end() :] if head else "?"
    depth = 0
    for n, character in enumerate(rest):
        depth += (character == "(") - (character == ")")
        if depth <= 0:
            return n == len(rest) - 1 and character == ")"
    return not rest


def definitions(text: str) -> dict[str, str]:
    """What *text* defines: the first definition of each name, with its parameters, as one line."""
    found: dict[str, str] = {}
    for name, body in _DEFINITION.findall(text):
        found.setdefault(name, body.replace("\\\n", "\n"))
    return found
