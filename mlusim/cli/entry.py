"""The program ``mlusim``, from the start of its process to the exit code: Ctrl-C at any time, and rare garbage collections.

Before Ctrl-C can end the process with a sentence, only small modules are imported: an interruption during an import
may be swallowed by a module, or cause a traceback in a callback; nothing needs cleaning up yet. Python itself runs
before the first line of this file (its ``site``, and the finder of an editable install, 20 ms); an interruption then
has Python's own traceback.  Only a ``.pth`` file of the package could run earlier, but every Python of the user would
run it, which is worse than the traceback.
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
BROKEN_PIPE = 141  # the status that a shell reports for a program that writes to a closed pipe


def main() -> int:
    """Run the command line and return the exit code, as `mlusim.cli.main.main` does; Ctrl-C may also interrupt imports."""
    try:
        leave_at_once()
        collect_rarely()
        code: int = importlib.import_module("mlusim.cli.main").main()  # only after Ctrl-C is handled
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        code = INTERRUPTED
    leave_with(code)
    return code


USUAL = gc.get_threshold()
LOADING = 1_000_000  # new objects; the modules of a run have a tenth of that


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    del number, frame
    os.write(2, b"error: interrupted\n")
    os._exit(INTERRUPTED)


def leave_at_once() -> None:
    """Make Ctrl-C end the process with a sentence until `listen`; from then on it raises.  An ignored Ctrl-C stays ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def listen() -> None:
    """Make Ctrl-C raise `KeyboardInterrupt` again if `leave_at_once` has changed that."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def leave_with(code: int) -> None:
    """Make Ctrl-C end the process with *code*, since only the end of the interpreter remains."""
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _leave):
        signal.signal(signal.SIGINT, lambda *_: os._exit(code))


def collect_rarely() -> None:
    """Make garbage collections rare while modules are loaded: they took a sixth of a short run."""
    gc.set_threshold(LOADING, *USUAL[1:])


def collect_as_usual() -> None:
    """Make garbage collections as frequent as usual again, but exclude the objects that exist now."""
    if gc.get_threshold()[0] == LOADING:
        gc.freeze()
        gc.set_threshold(*USUAL)
