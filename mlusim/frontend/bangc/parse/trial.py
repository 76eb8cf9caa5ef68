"""A parse in a child process first, with a limit of time and memory: macros and includes can double without end.

The library can neither be stopped nor bounded while it parses, and a process that it takes down with it would be the user's.
The child parses the same from the same flags, says by its end how that went, and costs about as much as the parse itself.
"""

import os
import signal
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mlusim.errors import UsageError

SECONDS = 10
"""CPU time of one parse; the largest sources of the vendor's take less than two seconds."""
GROWTH = 1 << 30
"""Bytes that one parse may take beyond what the process has."""

WAITING = 120
"""Seconds after which a parse is given up that does not even compute."""

_ONE = threading.Lock()  # the library holds locks while it parses, which a child would inherit for good


def tried(path: str, parse: Callable[[], Any]) -> None:
    """Call *parse* in a child process and forget its result.

    Raises `UsageError` where it takes more than `SECONDS` of CPU time or `GROWTH` of memory, or ends the process.  Systems
    without ``fork`` try nothing, and neither does who trusts his sources: where ``MLUSIM_PARSE_TRIAL`` is 0.
    """
    if not hasattr(os, "fork") or os.environ.get("MLUSIM_PARSE_TRIAL") == "0":
        return
    with _ONE, warnings.catch_warnings():
        # The child of a process with threads runs the library alone, which needs none of their locks.
        warnings.simplefilter("ignore", DeprecationWarning)
        with tempfile.TemporaryFile() as said:
            child = os.fork()
            if child == 0:
                _parse_and_exit(parse, said.fileno())
            status = _ended(child)
            said.seek(0)
            text = said.read()
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


_CURE = (
    "look for macros, includes or templates that name each other more than once, and so double at each level"
)
# What LLVM, the C++ library and `_parse_and_exit` say.  Memory in use tells it from other ends only roughly: the library
# asks for twice as much at each step, and a child takes what its parent has freed before it takes more.
_NO_MEMORY = (b"out of memory", b"bad_alloc", b"MemoryError")


def _parse_and_exit(parse: Callable[[], Any], said: int) -> None:
    """In the child: parse under the limits, write errors to the file *said*, and end with 0 where the library gave a tree."""
    code = 1
    try:
        import faulthandler  # noqa: PLC0415 - of the child alone
        import resource  # noqa: PLC0415 - not on every system

        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.dup2(said, 2)
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(WAITING)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        _lower(resource, _size() + GROWTH)
        code = 0 if parse() is not None else 1
    except MemoryError:
        os.write(said, b"MemoryError")
    finally:
        os._exit(code)


def _lower(resource: Any, most: int) -> None:
    """Bound the address space by *most* bytes, unless a smaller bound is there."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY or soft > most:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _size() -> int:
    """The bytes of address space of this process; where that is unknown, more than any has."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError):
        return 1 << 46
    return pages * os.sysconf("SC_PAGE_SIZE")


def _ended(child: int) -> int:
    """Wait for *child*; its status."""
    try:
        _, status = os.waitpid(child, 0)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    return status
