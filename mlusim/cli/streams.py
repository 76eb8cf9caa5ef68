"""The three standard streams as a shell may leave them: closed, narrow, or fed with bytes that are no text."""

import contextlib
import errno
import os
import sys
from typing import TextIO, cast

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a write to a full or failing disk says."""

CLOSED = "standard output is closed; leave `>&-` out, or name a file with -o where the verb takes one"


def prepare() -> None:
    """Put something where a stream is closed, and let every stream take any text.

    Nothing can be read from a closed input, what goes to a closed error stream is lost, and a write to a
    closed output is an `OSError`, as it is in C: `main` says so.
    """
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:  # no other file may get this number
            os.open(os.devnull, mode)
    sys.stdin = sys.stdin or _opened(0, "r")
    sys.stdout = sys.stdout or _opened(1, "w")
    sys.stderr = sys.stderr or _opened(2, "w")
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _opened(number: int, mode: str) -> TextIO:
    """Return a text stream on an open file descriptor."""
    return cast(TextIO, os.fdopen(number, mode, encoding="utf-8", errors="replace", closefd=False))


def drop_output() -> None:
    """Keep the interpreter from complaining when it flushes at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complaint(error: OSError) -> str:
    """Return the sentence of an error of the system that no verb has made one of: what, and why."""
    if error.filename is not None:
        return f"{error.filename} cannot be used: {error.strerror}"
    if error.errno == errno.EBADF:
        return CLOSED
    if error.errno == errno.ENOENT:
        return "the current directory has been deleted; change to one that is there"
    if error.errno in NO_ROOM:
        return f"standard output cannot be written: {error.strerror}"
    return f"the system refuses: {error.strerror or error}"
