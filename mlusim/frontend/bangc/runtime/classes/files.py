"""Files of a host program: what ``fopen`` gives, and bytes that are read one by one."""

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mlusim.errors import RuleFault
from mlusim.frontend.bangc.runtime.classes.objects import HostObject
from mlusim.frontend.bangc.runtime.classes.scanning import scanned
from mlusim.frontend.bangc.runtime.classes.strings import text_of
from mlusim.frontend.bangc.runtime.host_bytes import host_bytes
from mlusim.frontend.bangc.runtime.host_memory import HostMemory
from mlusim.frontend.bangc.runtime.layouts import NULL

END = -1


class Characters:
    """Bytes from something that is read, with one step back."""

    __slots__ = ("at_end", "raw")

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        self.at_end = False

    def next(self) -> int:
        """The next byte, or `END`."""
        found = self.raw.read(1)
        self.at_end = not found
        return found[0] if found else END

    def peek(self) -> int:
        """The byte that is next, or `END`."""
        found = self.next()
        if found != END:
            self.raw.seek(-1, os.SEEK_CUR)
        return found

    def line(self, limit: int = -1, end: bytes = b"\n") -> bytes:
        """Bytes up to *end*, which is among them, or to the limit."""
        if end == b"\n":
            found: bytes = self.raw.readline(limit)
        else:
            kept = bytearray()
            while not kept.endswith(end) and (one := self.raw.read(1)):
                kept += one
            found = bytes(kept)
        self.at_end = not found.endswith(end) and len(found) != limit
        return found


def standard_input() -> Characters:
    """What the program is given on standard input, all of it."""
    source = getattr(sys.stdin, "buffer", None)
    return Characters(io.BytesIO(source.read() if source is not None else sys.stdin.read().encode()))


class FileObject(HostObject):
    """``stdout`` and ``stderr``."""

    __slots__ = ("write",)

    def __init__(self, write: Callable[[str], Any]) -> None:
        self.write = write

    def put(self, raw: bytes) -> None:
        """Write bytes."""
        self.write(raw.decode("utf-8", "surrogateescape"))


class DiskFile(FileObject):
    """A file that ``fopen`` opened."""

    __slots__ = ("characters", "name", "raw")

    def __init__(self, raw: Any, name: str) -> None:
        super().__init__(lambda text: self.put(text.encode("utf-8", "surrogateescape")))
        self.raw = raw
        self.name = name
        self.characters = Characters(raw)

    def put(self, raw: bytes) -> None:
        """Write bytes."""
        self.raw.write(raw)


def opened(memory: HostMemory, name: str, mode: str) -> Any:
    """A file of the disk; None where it cannot be opened.  What others have written is there."""
    memory.files[:] = [f for f in memory.files if not f.closed]
    for other in memory.files:
        other.flush()
    try:
        raw = Path(name).open(mode.replace("b", "") + "b")  # noqa: SIM115 - the program closes it
    except (OSError, ValueError):
        return None
    memory.files.append(raw)
    return raw


class Disk:
    """The functions of the C library on files."""

    def __init__(self, memory: HostMemory) -> None:
        self._memory = memory
        self._input: Characters | None = None

    def functions(self) -> dict[str, Callable[..., Any]]:
        """All of them by name."""
        return {
            "fopen": self.open, "fclose": close, "fread": read, "fwrite": write, "fseek": seek,
            "ftell": lambda file: of(file, "ftell").raw.tell(), "rewind": lambda file: seek(file, 0, 0),
            "feof": lambda file: int(of(file, "feof").characters.at_end), "ferror": lambda _file: 0,
            "fgets": line, "fgetc": lambda file: of(file, "fgetc").characters.next(),
            "fputs": put_text, "fputc": put_one, "remove": remove,
            "sscanf": lambda text, form, *to: scanned(_reader(text), text_of(form), to),
            "fscanf": lambda file, form, *to: scanned(of(file, "fscanf").characters, text_of(form), to),
            "scanf": lambda form, *to: scanned(self.input(), text_of(form), to),
        }  # fmt: skip

    def input(self) -> Characters:
        """Standard input."""
        if self._input is None:
            self._input = standard_input()
        return self._input

    def open(self, name: Any, mode: Any) -> Any:
        """``fopen``: null where the file cannot be opened."""
        raw = opened(self._memory, text_of(name), text_of(mode))
        return NULL if raw is None else DiskFile(raw, text_of(name))


def _reader(text: Any) -> Characters:
    return Characters(io.BytesIO(text_of(text).encode("utf-8", "surrogateescape")))


def of(file: Any, call: str) -> DiskFile:
    """The open file.  Raises `RuleFault` for the null pointer and for one that was closed."""
    if not isinstance(file, DiskFile):
        raise RuleFault(f"{call} is given no file: {file!r:.40}", hint="test what fopen returned")
    if file.raw.closed:
        raise RuleFault(f"{call} of {file.name}, which was closed", hint="close it after its last use")
    return file


def close(file: Any) -> int:
    """``fclose``."""
    of(file, "fclose").raw.close()
    return 0


def read(to: Any, size: int, count: int, file: Any) -> int:
    """``fread``: how many elements were there."""
    opened_file = of(file, "fread")
    room = host_bytes(to, size * count, "store")
    found = opened_file.raw.read(size * count)
    room[: len(found)] = found
    opened_file.characters.at_end = len(found) < size * count
    return len(found) // size if size else 0


def write(source: Any, size: int, count: int, file: Any) -> int:
    """``fwrite``."""
    raw = bytes(host_bytes(source, size * count, "load"))
    (file if type(file) is FileObject else of(file, "fwrite")).put(raw)
    return count


def seek(file: Any, offset: int, origin: int) -> int:
    """``fseek``: 0, or -1 where there is no such place."""
    opened_file = of(file, "fseek")
    opened_file.characters.at_end = False
    try:
        opened_file.raw.seek(offset, origin)
    except (OSError, ValueError):
        return -1
    return 0


def line(to: Any, room: int, file: Any) -> Any:
    """``fgets``: null at the end."""
    found = of(file, "fgets").characters.line(room - 1)
    if not found:
        return NULL
    host_bytes(to, len(found) + 1, "store")[:] = found + b"\0"
    return to


def put_text(text: Any, file: Any) -> int:
    """``fputs``."""
    (file if type(file) is FileObject else of(file, "fputs")).write(text_of(text))
    return 0


def put_one(character: int, file: Any) -> int:
    """``fputc``."""
    (file if type(file) is FileObject else of(file, "fputc")).put(bytes([character & 0xFF]))
    return character


def remove(name: Any) -> int:
    """``remove``: 0, or -1 where there is no such file."""
    try:
        Path(text_of(name)).unlink()
    except OSError:
        return -1
    return 0
