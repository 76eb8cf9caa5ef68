"""Streams that are read: ``std::cin``, files and texts; those of files and texts are written, too."""

import io
import os
from typing import Any

from mlusim.arch.dtypes import DType
from mlusim.errors import Unsupported
from mlusim.frontend.bangc.runtime.classes.files import END, Characters, opened, standard_input
from mlusim.frontend.bangc.runtime.classes.objects import ClassLayout
from mlusim.frontend.bangc.runtime.classes.scanning import REAL, WHOLE, skip, word
from mlusim.frontend.bangc.runtime.classes.streams import Stream
from mlusim.frontend.bangc.runtime.classes.strings import String, text_of
from mlusim.frontend.bangc.runtime.host_bytes import host_bytes
from mlusim.frontend.bangc.runtime.host_memory import HostMemory

_APP, _ATE, _IN, _OUT, _TRUNC = 1, 2, 8, 16, 32  # of std::ios_base


class Reader(Stream):
    """A stream that is read from ``source`` and, where that is a file or a text, written."""

    __slots__ = ("failed", "last", "memory", "source")

    def __init__(self, memory: HostMemory, source: Characters | None = None) -> None:
        super().__init__(self._write)
        self.memory = memory
        self.source = source
        self.failed = False
        self.last = 0  # bytes that the last read has given

    def _write(self, text: str) -> None:
        self.put_bytes(text.encode("utf-8", "surrogateescape"))

    def put_bytes(self, raw: bytes) -> None:
        """Write bytes; a stream of no file takes none."""
        if self.source is None or self.source.raw.closed:
            self.failed = True
        else:
            self.source.raw.write(raw)

    def write(self, source: Any, count: int) -> "Reader":
        """Write bytes of memory."""
        self.put_bytes(bytes(host_bytes(source, count, "load")))
        return self

    # -- state -----------------------------------------------------------------------------------

    def holds(self) -> bool:
        """Whether nothing has failed."""
        return not self.failed

    def fail(self) -> bool:
        """Whether something has failed."""
        return self.failed

    def good(self) -> bool:
        """Whether nothing has failed and the end was not met."""
        return not self.failed and not self.eof()

    def eof(self) -> bool:
        """Whether a read has met the end."""
        return self.source is not None and self.source.at_end

    def clear(self) -> None:
        """Forget failures and the end."""
        self.failed = False
        if self.source is not None:
            self.source.at_end = False

    # -- reading ---------------------------------------------------------------------------------

    def take(self, to: Any) -> "Reader":
        """``stream >> to``: a word, a letter or a number, by what *to* refers to."""
        source = self._ready()
        if source is None:
            return self
        skip(source)
        if isinstance(to, String):
            self._keep(to, word(source))
            return self
        kind: DType | None = getattr(to, "dtype", None) or getattr(to, "layout", None)
        if kind is None:
            raise Unsupported("a stream is read into something that is no text and no number")
        if kind.size == 1:
            one = source.next()
            self.failed = one == END
            to[0] = 0 if one == END else one if one < 128 or kind.kind == "uint" else one - 256
            return self
        text = word(source, 0, REAL if kind.kind == "float" else WHOLE)
        try:
            to[0] = kind.dtype.type(float(text)).item() if kind.kind == "float" else int(text)
        except ValueError:
            self.failed = True
        return self

    def _ready(self) -> Characters | None:
        if self.source is None:
            self.failed = True
        return None if self.failed else self.source

    def _keep(self, to: String, text: str) -> None:
        self.failed = not text
        if text:
            to.put(text)

    def line(self, to: String, end: int = 10) -> "Reader":
        """``std::getline``."""
        source = self._ready()
        if source is not None:
            mark = bytes([end & 0xFF])
            found = source.line(end=mark)
            self.failed = not found
            to.put(found.removesuffix(mark).decode("utf-8", "surrogateescape"))
        return self

    def get(self, to: Any = None) -> Any:
        """The next byte."""
        source = self._ready()
        one = END if source is None else source.next()
        if one == END:
            self.failed = True
        if to is None:
            return one
        if one != END:
            to[0] = one if one < 128 else one - 256
        return self

    def peek(self) -> int:
        """The byte that is next."""
        source = self._ready()
        return END if source is None else source.peek()

    def ignore(self, count: int = 1, end: int = END) -> "Reader":
        """Pass over bytes, up to *end*."""
        source = self._ready()
        while source is not None and count > 0:
            one = source.next()
            count -= 1
            if one in (END, end):
                break
        return self

    def read(self, to: Any, count: int) -> "Reader":
        """Bytes into memory."""
        source = self._ready()
        if source is not None:
            room = host_bytes(to, count, "store")
            found = source.raw.read(count)
            room[: len(found)] = found
            self.last = len(found)
            self.failed = source.at_end = len(found) < count
        return self

    def gcount(self) -> int:
        """Bytes that the last read has given."""
        return self.last

    def seekg(self, offset: int, origin: int = 0) -> "Reader":
        """Go on elsewhere."""
        if self.source is not None:
            self.clear()
            self.source.raw.seek(offset, origin)
        return self

    def tellg(self) -> int:
        """Where the next byte is."""
        return -1 if self.source is None else int(self.source.raw.tell())


class FileStream(Reader):
    """``std::ifstream``, ``std::ofstream`` and ``std::fstream``."""

    __slots__ = ("usual",)

    def __init__(self, memory: HostMemory, usual: int) -> None:
        super().__init__(memory)
        self.usual = usual

    def open(self, name: Any, mode: int) -> None:
        """Open a file; a stream of one that cannot be opened has failed."""
        mode |= self.usual
        writes = mode & (_OUT | _APP)
        if not writes:
            word_ = "r"
        elif mode & _APP:
            word_ = "a+"
        else:
            word_ = "w+" if not mode & _IN or mode & _TRUNC else "r+"
        raw = opened(self.memory, text_of(name), word_)
        self.failed = raw is None
        self.source = None if raw is None else Characters(raw)
        if raw is not None and mode & _ATE:
            raw.seek(0, os.SEEK_END)

    def is_open(self) -> bool:
        """Whether it has a file."""
        return self.source is not None and not self.source.raw.closed

    def close(self) -> None:
        """Write what is held back, and have no file."""
        if self.source is None:
            self.failed = True
        else:
            self.source.raw.close()
            self.source = None


class TextStream(Reader):
    """``std::stringstream``: it is written at its end and read from where reading was."""

    __slots__ = ("at",)

    def __init__(self, memory: HostMemory, text: str = "") -> None:
        super().__init__(memory, Characters(io.BytesIO(text.encode("utf-8", "surrogateescape"))))

    def put_bytes(self, raw: bytes) -> None:
        """Append bytes."""
        assert self.source is not None
        at = self.source.raw.tell()
        self.source.raw.seek(0, os.SEEK_END)
        self.source.raw.write(raw)
        self.source.raw.seek(at)

    def str(self, text: Any = None) -> Any:
        """What was written; with *text* that is there instead."""
        assert self.source is not None
        if text is not None:
            self.source.raw = io.BytesIO(text_of(text).encode("utf-8", "surrogateescape"))
            return None
        return String(self.memory, self.source.raw.getvalue().decode("utf-8", "surrogateescape"))


class StandardInput(Reader):
    """``std::cin``."""

    __slots__ = ()

    def _ready(self) -> Characters | None:
        if self.source is None:
            self.source = standard_input()
        return super()._ready()


def text_stream(layout: ClassLayout, text: Any = None, *_: Any) -> TextStream:
    """A stream that keeps what is written."""
    return TextStream(layout.memory, "" if text is None else text_of(text))


def _file(usual: int, layout: ClassLayout, given: tuple[Any, ...]) -> FileStream:
    made = FileStream(layout.memory, usual)
    if given:
        made.open(*given)
    return made


def input_file(layout: ClassLayout, *given: Any) -> FileStream:
    """``std::ifstream``: of no file, or of one by name."""
    return _file(_IN, layout, given)


def output_file(layout: ClassLayout, *given: Any) -> FileStream:
    """``std::ofstream``."""
    return _file(_OUT, layout, given)


def both_file(layout: ClassLayout, *given: Any) -> FileStream:
    """``std::fstream``."""
    return _file(0, layout, given)
