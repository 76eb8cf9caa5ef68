"""The texts of the files that a translation unit consists of, each read once."""

from pathlib import Path

from mlusim.errors import UsageError

Position = tuple[int, int]  # line and column, from 1 on


def read(path: str) -> str:
    """The text of a file.  Raises `UsageError` where it cannot be read."""
    try:
        return Path(path).read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None


class SourceTexts:
    """The texts of files, by path."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def of(self, path: str) -> str:
        """The text of a file.  Raises `UsageError` where it cannot be read."""
        if path not in self._texts:
            self._texts[path] = read(path)
        return self._texts[path]

    def between(self, path: str, start: Position, end: Position) -> str:
        """The text from *start* to in front of *end*, whose columns count bytes; "" where there is no such file."""
        if path not in self._texts and not Path(path).is_file():
            return ""
        found = [line.encode() for line in self.of(path).split("\n")[start[0] - 1 : end[0]]]
        if not found:
            return ""
        found[-1] = found[-1][: end[1] - 1]
        found[0] = found[0][start[1] - 1 :]
        return b"\n".join(found).decode(errors="replace")
