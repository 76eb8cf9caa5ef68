"""A terminal driver for a screen that runs beside the main thread, which the session has.

Textual's driver for POSIX registers handlers of signals itself, and Python allows that in the main thread only.
Here the driver's registrations are kept, and the main thread calls them.
"""

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any

from textual.driver import Driver

PASSED = ("SIGWINCH", "SIGTSTP", "SIGCONT")  # a changed size, Ctrl-Z, and back from it


class Signals:
    """Stands for the module `signal` in Textual's driver: keeps handlers instead of installing them."""

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(signal, name)

    def signal(self, number: int, handler: object) -> Any:
        """Keep *handler*; return the one of before."""
        before, self._handlers[number] = self._handlers.get(number, signal.SIG_DFL), handler
        return before

    def _call(self, number: int, frame: FrameType | None) -> None:
        handler = self._handlers.get(number)
        if callable(handler):
            handler(number, frame)

    @contextlib.contextmanager
    def passed_on(self) -> Iterator[None]:
        """While it lasts, the main thread calls the handlers that were kept; called there."""
        numbers = [getattr(signal, name) for name in PASSED if hasattr(signal, name)]
        before = {number: signal.signal(number, self._call) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextlib.contextmanager
def beside_main() -> Iterator[type[Driver] | None]:
    """A driver that works in another thread while it lasts; None where Textual's own does.  Called in the main thread."""
    if os.name != "posix":
        yield None
        return
    from textual.drivers import linux_driver  # noqa: PLC0415 - there is none of it elsewhere

    signals = Signals()
    own, linux_driver.signal = linux_driver.signal, signals  # type: ignore[attr-defined, assignment]
    try:
        with signals.passed_on():
            yield linux_driver.LinuxDriver
    finally:
        linux_driver.signal = own  # type: ignore[attr-defined]
