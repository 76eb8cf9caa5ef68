"""The beginning and the end of a process, around its modules: answer Ctrl-C, and not look for garbage.

Ctrl-C leaves at once, and with a sentence.

An interruption that is raised amid imports may be swallowed by one of them, or come out as a traceback of a callback; there
is nothing yet that would have to clean up.
Before the first line of `mlusim.cli.entry` Python starts by itself (its ``site``, and the finder of an editable install, 20 ms): an
interruption then is Python's own, with its traceback.  A package has one place that runs earlier, a ``.pth`` file, which every
Python of the user would run: that is worse than the traceback.
"""

import gc
import os
import signal
from types import FrameType
from typing import NoReturn

from mlusim.cli.exits import INTERRUPTED

USUAL = gc.get_threshold()
LOADING = 1_000_000  # new objects; the modules of a run have a tenth


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    del number, frame
    os.write(2, b"error: interrupted\n")
    os._exit(INTERRUPTED)


def leave_at_once() -> None:
    """Let Ctrl-C end the process with a sentence until `listen`, where it would be raised; it may be ignored instead."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def listen() -> None:
    """Let Ctrl-C be raised as `KeyboardInterrupt` again, where `leave_at_once` has changed that."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def leave_with(code: int) -> None:
    """Let Ctrl-C end the process with *code*: all that is left is the end of the interpreter."""
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _leave):
        signal.signal(signal.SIGINT, lambda *_: os._exit(code))


def collect_rarely() -> None:
    """Have Python not look for objects that refer to each other while it loads: it took a sixth of a short run."""
    gc.set_threshold(LOADING, *USUAL[1:])


def collect_as_usual() -> None:
    """Have it look as often as usual, and no more through what is there now."""
    if gc.get_threshold()[0] == LOADING:
        gc.freeze()
        gc.set_threshold(*USUAL)
