"""The program ``mlusim``, from the first line of its process to the exit code: it answers Ctrl-C, and seldom looks for garbage.

Nothing of weight is imported before Ctrl-C leaves at once with a sentence: an interruption that is raised amid imports may be
swallowed by one of them, or come out as a traceback of a callback; there is nothing yet that would have to clean up.
Before the first line of this file Python starts by itself (its ``site``, and the finder of an editable install, 20 ms): an
interruption then is Python's own, with its traceback.  A package has one place that runs earlier, a ``.pth`` file, which every
Python of the user would run: that is worse than the traceback.
"""

import gc
import importlib
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

# The exit codes of every verb:
CLEAN = 0
FINDINGS = 1  # findings, failed accuracy, a regression, a plan that does not fit
USAGE = 2  # also: a host interface refused the user's arrays
FAULT = 3  # a fault in the simulated machine
INTERRUPTED = 130
BROKEN_PIPE = 141  # what a shell reports for a program ended by a closed pipe


def main() -> int:
    """Run the command line and return the exit code, as `mlusim.cli.main.main` does; imports may be interrupted, too."""
    try:
        leave_at_once()
        collect_rarely()
        code: int = importlib.import_module("mlusim.cli.main").main()  # after that, and not before
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        code = INTERRUPTED
    leave_with(code)
    return code


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
    """Let Ctrl-C raise `KeyboardInterrupt` again if `leave_at_once` has changed that."""
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
    """Have Python look as often as usual again, but never through the objects that exist now."""
    if gc.get_threshold()[0] == LOADING:
        gc.freeze()
        gc.set_threshold(*USUAL)
