"""Places in a native program: the function, file and line of an address from debug information, if there is any."""

import shutil
import struct
import subprocess
from pathlib import Path
from typing import NamedTuple

from mlusim.bangc import prelude
from mlusim.errors import shown_file

_HEADERS = frozenset(p.name for p in prelude.DRIVER.glob("cn*.h"))  # headers with small inline functions


class Place(NamedTuple):
    """A place in a program, with the facts that are known."""

    function: str | None = None
    file: str | None = None
    line: int | None = None
    module: str | None = None

    def __str__(self) -> str:
        if self.file is not None:
            inside = f" in {self.function}" if self.function else ""
            return f"{shown_file(self.file)}:{self.line}{inside}"
        if self.function:
            return f"{self.function} of {self.module}"
        return self.module or "an unknown place"


class Places:
    """The places of the process *pid*; each is looked up once, at its first use."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._library = "", 0
        self._known: dict[int, Place] = {}

    def __call__(self, address: int) -> Place:
        """Return the place of the call that returns to *address*."""
        place = self._known.get(address)
        if place is None:
            place = self._known[address] = self._found(address)
        return place

    def lies(self, path: str, first: int) -> None:
        """Set the load address *first* of the library *path*, for a process whose memory map cannot be read."""
        self._library = path, first

    def _found(self, address: int) -> Place:
        if not address:
            return Place()
        try:
            lines = Path(f"/proc/{self._pid}/maps").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            path, start = self._library
            return _place_in(path, address - 1 - start) if 0 < start < address else Place()
        first: dict[str, int] = {}
        for line in lines:
            span, _, rest = line.partition(" ")
            low, high = (int(end, 16) for end in span.split("-"))
            words = rest.split(None, 4)
            path = words[4] if len(words) > 4 else ""
            first.setdefault(path, low)  # addresses of a library count from its first mapping
            if low <= address < high and path.startswith("/"):
                # Less 1, to be within the call, not after it.
                offset = address - 1 - (first[path] if _moves(path) else 0)
                return _place_in(path, offset)
        return Place()


def _moves(path: str) -> bool:
    """Return whether the file is position-independent, as libraries and most programs are."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(18)
    except OSError:
        return True
    return len(head) < 18 or struct.unpack_from("<H", head, 16)[0] == 3  # ET_DYN


def _place_in(path: str, offset: int) -> Place:
    module = f"{Path(path).name}+{offset:#x}"
    tool = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if tool is None:
        return Place(module=module)
    words = [tool, "-f", "-C", "-i", "-e", path, hex(offset)]
    try:
        done = subprocess.run(  # noqa: S603 - a file that the program has loaded
            words, capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return Place(module=module)
    lines = done.stdout.splitlines()
    frames = [
        frame
        for frame in (_frame(*pair, path) for pair in zip(lines[::2], lines[1::2], strict=False))
        if frame.file is None or Path(frame.file).name not in _HEADERS
    ]
    return frames[0] if frames else Place(module=module)


def _frame(function: str, where: str, path: str) -> Place:
    """Return one frame of the functions inlined at the address, the innermost first."""
    file, _, line = where.partition(" ")[0].rpartition(":")
    named = function.partition("(")[0] if function and not function.startswith("?") else None
    located = bool(file) and not file.startswith("?") and line.isdigit() and int(line) > 0
    return Place(named, file if located else None, int(line) if located else None, Path(path).name)
