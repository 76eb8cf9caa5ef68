"""The input of a parse: options, the texts of the files of a translation unit, each read once, and their macros."""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from mlusim.arch.board import Board
from mlusim.errors import UsageError
from mlusim.files.reading import read_bytes
from mlusim.frontend.bangc import prelude

_INCLUDED = re.compile(r"""^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]""", re.MULTILINE)
Position = tuple[int, int]  # line and column, from 1 on


def read(path: str) -> str:
    """Return the text of a file.  Raises `UsageError` where it cannot be read, or is not text."""
    refuse_special(Path(path))
    content = read_bytes(path)
    if (at := content.find(0)) >= 0:
        wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
        cure = "it is UTF-16; save it as UTF-8" if wide else "give the path of a source"
        raise UsageError(f"{path} is not text, its byte {at} is 0; {cure}")
    return content.decode("utf-8", "replace")


def refuse_special(path: Path) -> None:
    """Raise `UsageError` where *path* is a FIFO or a device, which would be waited for, or read without end."""
    if _there(path) and not (path.is_file() or path.is_dir()):
        raise UsageError(f"{path} is not a regular file; give the path of a source")


def included_texts(path: str, text: str, directories: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the files that *text*, the file *path*, includes, and those that are included there, as far as they are found: path and text.

    Raises `UsageError` where one is a FIFO or a device.
    """
    waiting, seen = [(Path(path), text)], {Path(path)}
    while waiting:
        file, content = waiting.pop()
        for name in _INCLUDED.findall(content):
            for folder in (file.parent, *map(Path, directories)):
                candidate = folder / name
                if candidate in seen or not _there(candidate):
                    continue
                seen.add(candidate)
                refuse_special(candidate)
                if candidate.is_file():
                    inner = read(str(candidate))
                    waiting.append((candidate, inner))
                    yield str(candidate), inner


def _there(path: Path) -> bool:
    """Return whether there is such a file; False if its folder may not be searched, which `read` reports later."""
    return os.path.exists(path)  # noqa: PTH110 - `Path.exists` raises there


class SourceTexts:
    """The texts of files, by path."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def of(self, path: str) -> str:
        """Return the text of a file.  Raises `UsageError` where it cannot be read."""
        if path not in self._texts:
            self._texts[path] = read(path)
        return self._texts[path]

    def between(self, path: str, start: Position, end: Position) -> str:
        """Return the text from *start* up to *end*, exclusive, whose columns count bytes; "" if there is no such file."""
        if path not in self._texts and not Path(path).is_file():
            return ""
        lines = [line.encode() for line in self.of(path).split("\n")[start[0] - 1 : end[0]]]
        if not lines:
            return ""
        lines[-1] = lines[-1][: end[1] - 1]
        lines[0] = lines[0][start[1] - 1 :]
        return b"\n".join(lines).decode(errors="replace")


# How a file is parsed, and a name for what it holds: known without a parser.


@frozen
class Options:
    """How a file is parsed: include directories, definitions, the board.

    With *vouched* a compiler that has the real headers of host code accepts the file: what is an error here, and stands in no
    function of the device, is only unknown to the headers that stand in.
    """

    include: tuple[str, ...]
    define: tuple[tuple[str, str | None], ...]
    board: Board
    vouched: bool = False
    before: tuple[str, ...] = ()  # headers that are included first
    standard: str = prelude.LANGUAGE  # of C++

    @property
    def flags(self) -> list[str]:
        """As the compiler's flags, behind those of the supplied headers."""
        defines = [f"-D{name}" + ("" if value is None else f"={value}") for name, value in self.define]
        return [
            *(
                f"{'-idirafter' if prelude.is_replaced(Path(directory)) else '-I'}{directory}"
                for directory in self.include
            ),
            "-isystem",
            str(prelude.STANDARD),
            *defines,
            *(word for header in self.before for word in ("-include", header)),
        ]


def digest(text: str) -> str:
    """Return a short name for the content of a file."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


# Macros of a source: their definitions and their invocations.

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


def macro_definitions(text: str) -> dict[str, str]:
    """Return the macros that *text* defines: the first definition of each name, with its parameters, as one line."""
    definitions: dict[str, str] = {}
    for name, body in _DEFINITION.findall(text):
        definitions.setdefault(name, body.replace("\\\n", "\n"))
    return definitions


_WRITTEN = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)(.*?)(?<!\\)(?<!\\\r)$", re.MULTILINE | re.DOTALL)
_INSTANTIATION = re.compile(rb"\btemplate[\s\\]+(?![<\s\\])([^;]*)")


def instantiated_in_macros(
    texts: Mapping[str, str], invocation: bytes, name: bytes
) -> Iterator[tuple[str, int]]:
    """Yield where a macro that *invocation* leads to instantiates *name*: the path of one of *texts*, and the offset behind ``template``.

    A statement counts that has the name, or that pastes one together; so does the name as an argument of another macro.
    """
    passed_on = re.compile(rb"[(,]\s*(%s)\s*(?=[,)])" % name)
    macros: dict[bytes, list[tuple[str, int, bytes]]] = {}
    for path, text in texts.items():
        for definition in _WRITTEN.finditer(text.encode()):
            macros.setdefault(definition[1], []).append((path, definition.start(2), definition[2]))
    waiting, met = set(re.findall(rb"\w+", invocation)), set[bytes]()
    while waiting:
        met.add(word := waiting.pop())
        for path, start, body in macros.get(word, ()):
            waiting |= set(re.findall(rb"\w+", body)) - met
            for head in _INSTANTIATION.finditer(body):
                if b"##" in head[1] or re.search(rb"\b%s\b" % name, head[1]):
                    yield path, start + head.start(1)
            blanked = _INSTANTIATION.sub(lambda statement: b" " * len(statement[0]), body)
            for argument in passed_on.finditer(blanked):
                yield path, start + argument.start(1)
