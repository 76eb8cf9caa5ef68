"""The terminal, where a debugger of the host that was started here has given it to the program that it runs."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def foreground() -> Iterator[None]:
    """Have the terminal for the block where a process below this one has it, and give it back: a read would fail."""
    group = _group_below()
    if group is None:
        yield
        return
    held = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])  # else taking it stops this process
    try:
        os.tcsetpgrp(sys.stdin.fileno(), os.getpgrp())
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # the group has ended
                os.tcsetpgrp(sys.stdin.fileno(), group)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _group_below() -> int | None:
    """Return the group of processes that has the terminal, where its leader is below this process; None for any other."""
    try:
        group = os.tcgetpgrp(sys.stdin.fileno())
    except (OSError, ValueError):  # no terminal
        return None
    return group if group != os.getpgrp() and _below(group) else None


def _below(pid: int) -> bool:
    """Return whether this process has started *pid*, or what started it."""
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
        if pid == os.getpid():
            return True
    return False
