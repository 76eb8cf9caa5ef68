"""The texts of the files that a translation unit consists of, each read once."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mlusim.errors import UsageError

_INCLUDED = re.compile(r"""^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]""", re.MULTILINE)
Position = tuple[int, int]  # line and column, from 1 on


def read(path: str) -> str:
    """Return the text of a file.  Raises `UsageError` where it cannot be read."""
    refuse_special(Path(path))
    try:
        return Path(path).read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None


def refuse_special(path: Path) -> None:
    """Raise `UsageError` where *path* is a FIFO or a device, which would be waited for, or read without end."""
    if _there(path) and not (path.is_file() or path.is_dir()):
        raise UsageError(f"{path} is no regular file; give the path of a source")


def included_texts(path: str, text: str, directories: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the files that *text*, the file *path*, includes, and those that are included there, as far as they are found: path and text.

    Raises `UsageError` where one is a FIFO or a device.
    """
    waiting, seen = [(Path(path), text)], {Path(path)}
    while waiting:
        file, content = waiting.pop()
        for name in _INCLUDED.findall(content):
            for folder in (file.parent, *map(Path, directories)):
                found = folder / name
                if found in seen or not _there(found):
                    continue
                seen.add(found)
                refuse_special(found)
                if found.is_file():
                    inner = read(str(found))
                    waiting.append((found, inner))
                    yield str(found), inner


def _there(path: Path) -> bool:
    """Return whether there is such a file; no where its folder may not be searched, which `read` then says."""
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
        """Return the text from *start* to in front of *end*, whose columns count bytes; "" where there is no such file."""
        if path not in self._texts and not Path(path).is_file():
            return ""
        found = [line.encode() for line in self.of(path).split("\n")[start[0] - 1 : end[0]]]
        if not found:
            return ""
        found[-1] = found[-1][: end[1] - 1]
        found[0] = found[0][start[1] - 1 :]
        return b"\n".join(found).decode(errors="replace")
