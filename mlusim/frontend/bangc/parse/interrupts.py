"""Ctrl-C while the parser calls back into Python."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def kept_interrupts() -> Iterator[None]:
    """Raise at the end of the block an interrupt that a callback from C has dropped inside of it.

    What Python raises in such a callback goes to `sys.unraisablehook`, which writes it, and C goes on.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is interrupted
        return
    before, dropped = sys.unraisablehook, list[KeyboardInterrupt]()

    def hear(told: Any) -> None:
        if isinstance(told.exc_value, KeyboardInterrupt):
            dropped.append(told.exc_value)
        else:
            before(told)

    sys.unraisablehook = hear
    try:
        yield
    finally:
        sys.unraisablehook = before
        if dropped:  # and whatever the block said of what was left out
            raise dropped[0]
