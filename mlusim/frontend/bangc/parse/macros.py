"""Macros of a source: their definitions and their invocations."""

import re

_QUOTED = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""")
_DEFINITION = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\b((?:.*\\\n)*.*)", re.MULTILINE)
_HEAD = re.compile(r"\s*\w+\s*")


def is_invocation(text: str) -> bool:
    """Return whether *text* is a name alone, or one with arguments in parentheses, and nothing behind them."""
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
    """Return the macros that *text* defines: the first definition of each name, with its parameters, as one line."""
    found: dict[str, str] = {}
    for name, body in _DEFINITION.findall(text):
        found.setdefault(name, body.replace("\\\n", "\n"))
    return found
