"""The C library of a host program: memory, texts, printing, random numbers, the clock, the end of the program."""

import functools
import re
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from mlusim.arch.dtypes import uint8
from mlusim.errors import MemoryFault, RuleFault, WrongSpace
from mlusim.frontend.bangc.runtime.classes import texts, variadic
from mlusim.frontend.bangc.runtime.classes.files import Disk, FileObject
from mlusim.frontend.bangc.runtime.classes.randoms import Rand
from mlusim.frontend.bangc.runtime.classes.streams import PARAMETRIC
from mlusim.frontend.bangc.runtime.classes.strings import String, text_of
from mlusim.frontend.bangc.runtime.classes.texts import number_at
from mlusim.frontend.bangc.runtime.host_bytes import host_bytes, plain
from mlusim.frontend.bangc.runtime.host_driver import SENTENCES
from mlusim.frontend.bangc.runtime.host_format import formatted
from mlusim.frontend.bangc.runtime.host_memory import POISON, HostBlock, HostMemory, HostPtr
from mlusim.frontend.bangc.runtime.layouts import NULL
from mlusim.frontend.bangc.runtime.pointers import Address, copy
from mlusim.frontend.bangc.runtime.variables import Cell
from mlusim.kernel_frames import kernel_site
from mlusim.memory.pointer import Ptr

Write = Callable[[str], None]


class ProgramExit(BaseException):
    """The program ends with ``code``: main returned it, or ``exit`` was called."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class HostClock:
    """Wall time of the host's own code, with launches counted at their predicted times."""

    def __init__(self) -> None:
        self.shift = -time.perf_counter()

    def __call__(self) -> float:
        """Seconds since the program began."""
        return time.perf_counter() + self.shift

    def simulated(self, since: float, us: float) -> None:
        """A launch that began at *since* has taken *us*, not what its simulation took."""
        self.shift -= self() - since - us * 1e-6


class CLibrary:
    """The functions that programs call by name."""

    def __init__(self, memory: HostMemory, out: Write, err: Write) -> None:
        self.memory = memory
        self.files = {"stdout": FileObject(out), "stderr": FileObject(err)}
        self.disk = Disk(memory)
        self.clock = HostClock()
        self.rand = Rand()
        self._started = time.time()
        self.refusal = ""  # the last check of a parameter that did not hold

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Every function of the library by its name."""
        return {
            "malloc": self.malloc, "calloc": self.calloc, "realloc": self.realloc, "free": self.free,
            "cnrtHostMalloc": self.host_malloc, "cnrtFreeHost": self.host_free,
            "printf": self.printf, "fprintf": self.fprintf, "sprintf": sprintf, "snprintf": snprintf,
            "puts": lambda text: self.printf_text(text_of(text) + "\n"), "putchar": self.putchar,
            "fflush": lambda _file: 0, "perror": self.perror, **self.disk.functions(),
            **texts.FUNCTIONS,
            **{name: functools.partial(_strict, name=name) for name in _WORDS},
            "to_string": self.to_string,
            "operator+": lambda a, b: self.string(_joined(a) + _joined(b)),
            "operator==": lambda a, b: text_of(a) == text_of(b), "operator!=": lambda a, b: text_of(a) != text_of(b),
            "operator<": lambda a, b: text_of(a) < text_of(b),
            "getenv": lambda _name: NULL,
            "getline": lambda stream, text, *end: stream.line(text, *end),
            "rand": self.rand, "srand": self.rand.seed, "qsort": qsort, "sort": sort, "__mlusim_sort": sort_by,
            **variadic.FUNCTIONS, "vprintf": lambda form, rest: self.printf(form, *rest.left()),
            "vfprintf": lambda file, form, rest: self.fprintf(file, form, *rest.left()),
            "vsprintf": lambda to, form, rest: sprintf(to, form, *rest.left()),
            "vsnprintf": lambda to, room, form, rest: snprintf(to, room, form, *rest.left()),
            "time": self.time, "clock": lambda: int(self.clock() * 1e6), "gettimeofday": self.gettimeofday,
            "__mlusim_ns": lambda: int(self.clock() * 1e9), "usleep": lambda _us: 0,
            "__mlusim_refused": self.refused, "__mlusim_check": failed, "exit": leave, "_Exit": leave, "abort": lambda: _aborted("abort was called"), "__assert_fail": _assertion,
            **PARAMETRIC,
        }  # fmt: skip

    def refused(self, condition: Any, file: Any, line: int) -> None:
        """A check of a parameter does not hold."""
        self.refusal = f"{text_of(condition)} does not hold ({text_of(file)}:{line})"

    # -- memory ----------------------------------------------------------------------------------

    def malloc(self, nbytes: int, fill: int = POISON, how: str = "malloc") -> Any:
        """Allocate uninitialised memory."""
        if nbytes >= 1 << 40:
            return NULL
        file, line = kernel_site()
        raw = bytearray(nbytes) if not fill else bytearray(bytes([fill])) * nbytes
        block = HostBlock(self.memory, raw, f"{nbytes} bytes from {how} at {file}:{line}", how)
        return HostPtr(block.view(uint8))

    def host_malloc(self, where: Any, nbytes: int) -> int:
        """``cnrtHostMalloc``: memory of the host that the driver pins."""
        where[0] = self.malloc(nbytes, how="cnrtHostMalloc")
        return 0

    def host_free(self, pointer: Any) -> int:
        """``cnrtFreeHost``."""
        self.free(pointer, "cnrtHostMalloc", "cnrtFreeHost")
        return 0

    def calloc(self, count: int, size: int) -> Any:
        """Allocate memory filled with zeros."""
        return self.malloc(count * size, 0)

    def realloc(self, pointer: Any, nbytes: int) -> Any:
        """A longer or a shorter block with the same values."""
        made = self.malloc(nbytes)
        old = plain(pointer)
        if isinstance(old, HostPtr):
            kept = min(nbytes, old.view.block.used)
            made.span(kept, "store")[:] = old.span(kept, "load")
        self.free(pointer)
        return made

    def free(self, pointer: Any, how: str = "malloc", call: str = "free") -> None:
        """Give a block back.  Raises `MemoryFault` where it was given back before, or is no block of *how*."""
        pointer = plain(pointer)
        if isinstance(pointer, Address) and not pointer:
            return
        if isinstance(pointer, Ptr):
            raise WrongSpace(f"{call} is given a pointer of the device", hint="give it back with cnrtFree")
        if not isinstance(pointer, HostPtr):
            raise MemoryFault(
                f"{call} is given a pointer that {how} did not give",
                hint="only what was allocated is given back",
            )
        block = pointer.view.block
        if block.freed:
            raise MemoryFault(
                f"{call} of {block.what}, which was freed at {block.freed}", hint="free it once"
            )
        if block.kind != how or pointer.offset:
            raise MemoryFault(
                f"{call} of a pointer to byte {pointer.offset} of {block.what}, which {how} did not give",
                hint="give back the first byte of what was allocated, in the way that it was",
            )
        block.end()

    # -- texts and printing ------------------------------------------------------------------------

    def string(self, text: str) -> String:
        """A ``std::string``."""
        return String(self.memory, text)

    def to_string(self, value: Any) -> String:
        """``std::to_string``: reals with six places."""
        return self.string(f"{value:f}" if isinstance(value, float) else str(int(value)))

    def printf(self, form: Any, *values: Any) -> int:
        """To standard output; how many characters."""
        return self.printf_text(formatted(text_of(form), values))

    def printf_text(self, text: str) -> int:
        """To standard output; how many characters."""
        self.files["stdout"].write(text)
        return len(text)

    def fprintf(self, file: FileObject, form: Any, *values: Any) -> int:
        """Print to a stream."""
        text = formatted(text_of(form), values)
        file.write(text)
        return len(text)

    def perror(self, text: Any) -> None:
        """A sentence about the last call that failed: mlusim keeps none."""
        self.files["stderr"].write(f"{text_of(text)}: the call failed\n")

    def putchar(self, character: int) -> int:
        """Print one character."""
        self.printf_text(chr(character & 0xFF))
        return character

    # -- time ------------------------------------------------------------------------------------

    def time(self, where: Any) -> int:
        """Seconds since 1970."""
        now = int(self._started + self.clock())
        if where:
            where[0] = now
        return now

    def gettimeofday(self, where: Any, _zone: Any) -> int:
        """Seconds and microseconds since 1970."""
        now = self._started + self.clock()
        where.here.tv_sec, where.here.tv_usec = int(now), int(now % 1 * 1e6)
        return 0


def leave(code: int) -> NoReturn:
    """``exit(code)``."""
    raise ProgramExit(code)


def _aborted(message: str) -> NoReturn:
    raise RuleFault(message)


def _assertion(text: Any, _file: Any, _line: int, function: Any) -> NoReturn:
    raise RuleFault(f"the assertion {text_of(text)!r} of {text_of(function)} does not hold")


def failed(code: int, call: Any, file: Any, line: int) -> None:
    """``CNRT_CHECK``: a call of the driver that failed ends the program."""
    if code:
        text = SENTENCES.get(code, "an unknown error")
        sys.stderr.write(f"{text_of(file)}:{line}: {text_of(call)} fails: {text}\n")
        raise ProgramExit(1)


def _joined(value: Any) -> str:
    return chr(value & 0xFF) if isinstance(value, int) else text_of(value)


def sprintf(target: Any, form: Any, *values: Any) -> int:
    """Print into memory."""
    raw = formatted(text_of(form), values).encode("utf-8", "surrogateescape")
    host_bytes(target, len(raw) + 1, "store")[:] = raw + b"\0"
    return len(raw)


def snprintf(target: Any, room: int, form: Any, *values: Any) -> int:
    """Print into *room* bytes of memory."""
    raw = formatted(text_of(form), values).encode("utf-8", "surrogateescape")
    if room:
        kept = raw[: room - 1] + b"\0"
        host_bytes(target, len(kept), "store")[:] = kept
    return len(raw)


_WORDS: dict[str, tuple[float, float]] = {
    "stoi": (-(1 << 31), (1 << 31) - 1),
    **dict.fromkeys(("stol", "stoll"), (-(1 << 63), (1 << 63) - 1)),
    **dict.fromkeys(("stoul", "stoull"), (-(1 << 64) + 1, (1 << 64) - 1)),
    "stof": (-float(np.finfo(np.float32).max), float(np.finfo(np.float32).max)),
    "stod": (-sys.float_info.max, sys.float_info.max),
}
_FLOATS = ("stof", "stod")
_NUMBERS = re.compile(r"[-+]?(\d|\.\d|inf|nan)", re.IGNORECASE), re.compile(r"[-+]?\d")


def _strict(text: Any, name: str) -> float:
    word, real = text_of(text).strip(), name in _FLOATS
    found = _NUMBERS[not real].match(word)
    if found is None:
        raise RuleFault(f"{word!r} is no number, which std::{name} wants", hint="test the text first")
    value = number_at(word, whole=not real)
    low, high = _WORDS[name]
    if not (low <= value <= high or (real and found[1].lower() in ("inf", "nan"))):
        raise RuleFault(
            f"{word} is out of the range of std::{name}", legal=f"{low} to {high}", hint="test the text first"
        )
    return value


def sort(first: Any, last: Any) -> None:
    """``std::sort``."""
    count = last - first
    values = [copy(first[n]) for n in range(count)]
    values.sort(key=text_of if count and isinstance(values[0], String) else None)
    for n, value in enumerate(values):
        first[n] = value


def sort_by(first: Any, last: Any, order: Any, before: Callable[[Any, Any, Any], bool]) -> None:
    """``std::sort`` by an *order*, which *before* calls with two pointers."""
    values = [copy(first[n]) for n in range(last - first)]

    def compare(a: Any, b: Any) -> int:
        a, b = _held(a), _held(b)
        return -1 if before(order, a, b) else int(before(order, b, a))

    values.sort(key=functools.cmp_to_key(compare))
    for n, value in enumerate(values):
        first[n] = value


def _held(value: Any) -> Any:
    """*value* as a reference: a number gets a cell."""
    return Cell(None, value) if isinstance(value, int | float) else value


def qsort(base: Any, count: int, size: int, order: Callable[[Any, Any], int]) -> None:
    """Sort by a function of the program."""
    raw = host_bytes(base, count * size, "load")
    parts = [bytes(raw[n * size : (n + 1) * size]) for n in range(count)]
    memory = HostMemory()

    def compare(a: Any, b: Any) -> int:
        return order(
            *(HostPtr(HostBlock(memory, bytearray(p), "an element to compare").view(uint8)) for p in (a, b))
        )

    raw[:] = b"".join(sorted(parts, key=functools.cmp_to_key(compare)))
