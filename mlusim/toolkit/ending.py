"""Cleaning up at the end: also after a signal, this process leaves no temporary folder, and its compilers remove their files."""

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
"""The signals that end a process by default and can be handled, except those that Python handles and those for errors in the process."""


@contextlib.contextmanager
def ended_in_order() -> Iterator[None]:
    """Convert the signals that would end this process to `SystemExit` during the block, so that child processes and files are cleaned up.

    Existing handlers stay, and outside of the main thread nothing changes, since Python allows only that thread to
    set handlers.
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


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Delay the handlers of signals that would end this process, or interrupt it, to the end of the block."""
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    main = threading.current_thread() is threading.main_thread()  # no other thread has handlers
    handled = [s for s in (signal.SIGINT, *ENDING) if main and callable(signal.getsignal(s))]
    before = {signum: signal.signal(signum, note) for signum in handled}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
        for number in came[:1]:
            signal.raise_signal(number)


def run_compiler(words: Sequence[str]) -> tuple[int, bytes]:
    """Run a compiler with our standard output; return its exit code and its standard error."""
    # Otherwise a signal between the compiler's start and the block that ends it would leave it running.
    with contextlib.ExitStack() as held:
        held.enter_context(signals_held())
        with subprocess.Popen(  # noqa: S603 - that is what it is for
            words,
            stderr=subprocess.PIPE,
            process_group=0,  # with its child processes
        ) as running:
            try:
                held.close()
                said = running.communicate()[1]
            except BaseException:
                with contextlib.suppress(OSError):
                    os.killpg(running.pid, signal.SIGTERM)  # compilers remove their files at this signal
                raise
    return running.returncode, said
