"""Locks on files: one process at a time reads, changes and writes a file, or holds it while it works."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mlusim.errors import UsageError

PATIENCE = 60.0  # seconds: a change takes milliseconds
PAUSE = 0.02


@contextlib.contextmanager
def changing(name: str) -> Iterator[None]:
    """Keep other processes from changing the file *name*, or another of its folder, this way in the block.

    The folder carries the lock, since the file itself is replaced.  A folder that cannot be opened, a file
    system or a system without locks has none.  Raises `UsageError` after a minute of waiting.
    """
    folder = Path(name).resolve().parent
    try:
        number = os.open(folder, os.O_RDONLY)
    except OSError:
        yield
        return
    try:
        until = time.monotonic() + PATIENCE
        while not lock(number):
            if time.monotonic() > until:
                raise UsageError(f"{name} is being changed by another process for more than {PATIENCE:g} s")
            time.sleep(PAUSE)
        yield
    finally:
        os.close(number)


def lock(file: Any) -> bool:
    """Hold *file* (open, or its number) for this process alone; false where another has it.

    True where the system has no locks.  The system lets go when the file is closed, or the process ends.
    """
    try:
        import fcntl  # noqa: PLC0415 - not on every system
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return True
