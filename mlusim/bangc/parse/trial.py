"""A parse in a child process with limits of time and memory, because macros and includes can grow exponentially.

The library can neither be interrupted nor limited while it parses, and a crash would end the user's process.
The child returns its result as bytes, so the file is parsed only once.
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
"""Limit of CPU time of one parse; the largest sources of the vendor's take less than two seconds."""
GROWTH = 1 << 30
"""Limit of additional memory of one parse, in bytes."""

WAITING = 120
"""Seconds after which a parse is aborted even if it uses no CPU time."""

_ONE = threading.Lock()  # a child would inherit the library's locks of a concurrent parse


def in_child(path: str, make: Callable[[], bytes]) -> bytes | None:
    """Call *make* in a child process and return its result; None if it raises there, or without a child.

    Raises `UsageError` if a parse in it, inside `bounded`, exceeds `SECONDS` of CPU time or `GROWTH` of
    memory, or crashes. There is no child on systems without ``fork``, or if ``MLUSIM_PARSE_TRIAL`` is 0, for
    users who trust their sources.
    """
    if not hasattr(os, "fork") or os.environ.get("MLUSIM_PARSE_TRIAL") == "0":
        return None
    with _ONE, warnings.catch_warnings():
        # The child of a threaded process only runs the library, which needs none of the threads' locks.
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
    """Limit time and memory of the block, in a child of `in_child` only; yield whether this is such a child."""
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
# Messages of LLVM, the C++ library and `_make_and_exit`. The memory in use separates this from other crashes
# only roughly: the library doubles its allocations, and a child first uses memory that its parent has freed.
_NO_MEMORY = (b"out of memory", b"bad_alloc", b"MemoryError")


def _make_and_exit(make: Callable[[], bytes], errors: int, output: int) -> None:
    """In the child: write the result of *make* to the file *output*, and errors to *errors*; exit with 0 if there is a result."""
    code = 1
    try:
        _CHILD.set()
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.dup2(errors, 2)
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # A library in the process may handle these signals by an ordinary exit.
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
    """Set *limit* to *most*, unless it is already lower."""
    soft, hard = resource.getrlimit(limit)
    if soft == resource.RLIM_INFINITY or soft > most:
        resource.setrlimit(limit, (most, hard))


def _size() -> int:
    """Return the size of this process's address space in bytes, or a huge number if it is unknown."""
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
        # The child may just have ended: an interrupt from the terminal goes to both processes.
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        raise
    return status
