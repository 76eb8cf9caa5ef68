"""A parse in a child process, with a limit of time and memory: macros and includes can double without end.

The library can neither be stopped nor bounded while it parses, and a process that it takes down with it would be the user's.
What the child makes of the file comes back as bytes: one parse is enough.
"""

import faulthandler
import os
import signal
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mlusim.errors import UsageError
from mlusim.lazy import lazy

if TYPE_CHECKING:
    import resource
else:
    (resource,) = lazy("resource")  # not on every system

SECONDS = 10
"""CPU time of one parse; the largest sources of the vendor's take less than two seconds."""
GROWTH = 1 << 30
"""Bytes that one parse may take beyond what the process has."""

WAITING = 120
"""Seconds after which a parse is given up that does not even compute."""

_ONE = threading.Lock()  # the library holds locks while it parses, which a child would inherit for good


def in_child(path: str, make: Callable[[], bytes]) -> bytes | None:
    """Call *make* in a child process and return its result; None if it raises there, or if there is no child.

    Raises `UsageError` if a parse in it, in `bounded`, takes more than `SECONDS` of CPU time or `GROWTH` of memory, or if
    it ends the process.  There is no child on systems without ``fork``, nor if ``MLUSIM_PARSE_TRIAL`` is 0, by which users
    say that they trust their sources.
    """
    if not hasattr(os, "fork") or os.environ.get("MLUSIM_PARSE_TRIAL") == "0":
        return None
    with _ONE, warnings.catch_warnings():
        # The child of a process with threads runs the library alone, which needs none of their locks.
        warnings.simplefilter("ignore", DeprecationWarning)
        with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as output:
            child = os.fork()
            if child == 0:
                _make_and_exit(make, errors.fileno(), output.fileno())
            status = _ended(child)
            output.seek(0)
            content = output.read()
            errors.seek(0)
            text = errors.read()
            if any(word in text for word in _NO_MEMORY):
                raise UsageError(f"{path}: parsing takes more than {GROWTH >> 20} MiB of memory; {_CURE}")
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number in (signal.SIGXCPU, signal.SIGKILL):
            raise UsageError(f"{path}: parsing takes more than {SECONDS} s of CPU time; {_CURE}")
        if number == signal.SIGALRM:
            raise UsageError(
                f"{path}: parsing has waited for {WAITING} s; look for an include of a FIFO or a device"
            )
        raise UsageError(
            f"{path}: the parser ends with {signal.Signals(number).name}; an expression may be nested too deeply"
        )
    return content if status == 0 else None


@contextmanager
def bounded() -> Iterator[bool]:
    """Bound the time and memory that the block takes, in a child of `in_child` only; yield whether this is such a child."""
    if not _CHILD.is_set():
        yield False
        return
    spent = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(spent.ru_utime + spent.ru_stime) + SECONDS
    before = [(limit, resource.getrlimit(limit)) for limit in (resource.RLIMIT_CPU, resource.RLIMIT_AS)]
    signal.alarm(WAITING)
    _lower(resource.RLIMIT_CPU, seconds)
    _lower(resource.RLIMIT_AS, _size() + GROWTH)
    try:
        yield True
    finally:
        signal.alarm(0)
        for limit, bounds in before:
            resource.setrlimit(limit, bounds)


_CHILD = threading.Event()  # whether this process is a child of `in_child`
_CURE = (
    "look for macros, includes or templates that name each other more than once, and so double at each level"
)
# What LLVM, the C++ library and `_make_and_exit` say.  Memory in use tells it from other ends only roughly: the library
# asks for twice as much at each step, and a child takes what its parent has freed before it takes more.
_NO_MEMORY = (b"out of memory", b"bad_alloc", b"MemoryError")


def _make_and_exit(make: Callable[[], bytes], errors: int, output: int) -> None:
    """Write in the child the result of *make* to the file *output* and errors to *errors*; end with 0 if there was a result."""
    code = 1
    try:
        _CHILD.set()
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.dup2(errors, 2)
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # A library of the process may have handlers for these signals that turn them into an exit like any other.
        for number in (
            signal.SIGALRM,
            signal.SIGXCPU,
            signal.SIGSEGV,
            signal.SIGBUS,
            signal.SIGILL,
            signal.SIGABRT,
        ):
            signal.signal(number, signal.SIG_DFL)
        content = make()
        with os.fdopen(output, "wb", closefd=False) as file:
            file.write(content)
        code = 0
    except MemoryError:
        os.write(errors, b"MemoryError")
    finally:
        os._exit(code)


def _lower(limit: int, most: int) -> None:
    """Bound *limit* by *most*, unless a smaller bound is there."""
    soft, hard = resource.getrlimit(limit)
    if soft == resource.RLIM_INFINITY or soft > most:
        resource.setrlimit(limit, (most, hard))


def _size() -> int:
    """Return the bytes of address space of this process; where that is unknown, more than any has."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError):
        return 1 << 46
    return pages * os.sysconf("SC_PAGE_SIZE")


def _ended(child: int) -> int:
    """Wait for *child* and return its status."""
    try:
        _, status = os.waitpid(child, 0)
    except BaseException:
        # It may just have ended: an interrupt from the terminal goes to both.
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        raise
    return status
