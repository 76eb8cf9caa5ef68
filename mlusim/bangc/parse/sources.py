"""The input of a parse: options, the texts of a translation unit's files, each read once, and macros in them."""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from mlusim.arch.board import Board
from mlusim.bangc import prelude
from mlusim.errors import UsageError
from mlusim.files.reading import read_bytes

_INCLUDED = re.compile(r"""^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]""", re.MULTILINE)
Position = tuple[int, int]  # line and column, from 1 on


def read(path: str) -> str:
    """Return the text of a file. Raises `UsageError` if it cannot be read or is not text."""
    refuse_special(Path(path))
    content = read_bytes(path)
    if (at := content.find(0)) >= 0:
        wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
        cure = "it is UTF-16; save it as UTF-8" if wide else "give the path of a source"
        raise UsageError(f"{path} is not text, its byte {at} is 0; {cure}")
    return content.decode("utf-8", "replace")


def refuse_special(path: Path) -> None:
    """Raise `UsageError` if *path* is a FIFO or a device, which would block or never end."""
    if _there(path) and not (path.is_file() or path.is_dir()):
        raise UsageError(f"{path} is not a regular file; give the path of a source")


def included_texts(path: str, text: str, directories: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the path and text of each file that *text*, the content of *path*, includes directly or indirectly, if it exists.

    Raises `UsageError` if one is a FIFO or a device.
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
    """Return whether the file exists; False if its folder is not searchable, which `read` reports later."""
    return os.path.exists(path)  # noqa: PTH110 - `Path.exists` raises there


class SourceTexts:
    """The texts of files, by path."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def of(self, path: str) -> str:
        """Return the text of a file. Raises `UsageError` if it cannot be read."""
        if path not in self._texts:
            self._texts[path] = read(path)
        return self._texts[path]

    def between(self, path: str, start: Position, end: Position) -> str:
        """Return the text from *start* to *end* (exclusive), with columns in bytes; "" if the file does not exist."""
        if path not in self._texts and not Path(path).is_file():
            return ""
        lines = [line.encode() for line in self.of(path).split("\n")[start[0] - 1 : end[0]]]
        if not lines:
            return ""
        lines[-1] = lines[-1][: end[1] - 1]
        lines[0] = lines[0][start[1] - 1 :]
        return b"\n".join(lines).decode(errors="replace")


# Parse options and digests of texts, which need no parser.


@frozen
class Options:
    """The parse options of a file: include directories, definitions, board.

    *vouched*: a host compiler with the real headers has accepted the file. An error outside device functions
    then only means that our substitute headers lack a name.
    """

    include: tuple[str, ...]
    define: tuple[tuple[str, str | None], ...]
    board: Board
    vouched: bool = False
    before: tuple[str, ...] = ()  # headers that are included first
    standard: str = prelude.LANGUAGE  # of C++

    @property
    def flags(self) -> list[str]:
        """Return the options as compiler flags, to follow those of the supplied headers."""
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
    """Return a short digest of the content of a file."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


# Macros of a source: their definitions and their invocations.

_QUOTED = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""")
_DEFINITION = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\b((?:.*\\\n)*.*)", re.MULTILINE)
_HEAD = re.compile(r"\s*\w+\s*")


def is_invocation(text: str) -> bool:
    """Return whether *text* consists of a name, optionally with arguments in parentheses."""
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
    """Return the macro definitions in *text*: for each name the first one, with its parameters, as one line."""
    definitions: dict[str, str] = {}
    for name, body in _DEFINITION.findall(text):
        definitions.setdefault(name, body.replace("\\\n", "\n"))
    return definitions


_WRITTEN = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)(.*?)(?<!\\)(?<!\\\r)$", re.MULTILINE | re.DOTALL)
_INSTANTIATION = re.compile(rb"\btemplate[\s\\]+(?![<\s\\])([^;]*)")


def instantiated_in_macros(
    texts: Mapping[str, str], invocation: bytes, name: bytes
) -> Iterator[tuple[str, int]]:
    """Yield where macros reached from *invocation* explicitly instantiate *name*: the path of one of *texts* and the offset after ``template``.

    A statement counts if it contains the name or pastes tokens to a name, as does the name in the arguments
    of another macro.
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
