"""Ends in order: by a signal too, this process leaves no folder, and the compilers that it runs remove their files."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from types import FrameType

ENDING = (
    *(signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU),
    *(signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGUSR1, signal.SIGUSR2),
)
"""The signals that end a process by default and can be handled, but for those of Python's own and of mistakes in the process."""


@contextlib.contextmanager
def ended_in_order() -> Iterator[None]:
    """Let the signals that end this process leave the block by `SystemExit`, so that what it began is ended and no file stays.

    Handlers that are there stay, and outside of the main thread nothing is changed: Python lets that one alone set handlers.
    """

    def leave(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    ours = [signum for signum in ENDING if signal.getsignal(signum) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        ours = []
    for signum in ours:
        signal.signal(signum, leave)
    try:
        yield
    finally:
        for signum in ours:
            signal.signal(signum, signal.SIG_DFL)


def run_compiler(words: Sequence[str]) -> tuple[int, bytes]:
    """Run a compiler whose output goes where ours does; return its exit code and what it writes to standard error."""
    with subprocess.Popen(  # noqa: S603 - that is what it is for
        words,
        stderr=subprocess.PIPE,
        process_group=0,  # with the programs that it starts
    ) as running:
        try:
            said = running.communicate()[1]
        except BaseException:
            with contextlib.suppress(OSError):
                os.killpg(running.pid, signal.SIGTERM)  # by which compilers remove their files
            raise
    return running.returncode, said
