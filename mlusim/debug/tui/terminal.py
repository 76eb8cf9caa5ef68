"""The terminal from the start on: keys typed before the view exists are kept for it.

Only small modules are imported here: until its settings are changed, the terminal itself consumes Ctrl-Q and Ctrl-S.
"""

import contextlib
import functools
import os
import select
import sys
from collections.abc import Callable, Iterator

QUIT = "\x11"  # Ctrl-Q


class Terminal:
    """The terminal of standard input, which neither echoes nor consumes keys until it is restored."""

    def __init__(self) -> None:
        self._restore: Callable[[], None] | None = None
        if os.name != "posix" or not sys.stdin.isatty():
            return
        import termios  # noqa: PLC0415 - it does not exist on other systems
        import tty  # noqa: PLC0415

        number = sys.stdin.fileno()
        self._restore = functools.partial(
            termios.tcsetattr, number, termios.TCSANOW, termios.tcgetattr(number)
        )
        tty.setcbreak(number, termios.TCSANOW)
        mode = termios.tcgetattr(number)
        mode[tty.IFLAG] &= ~termios.IXON
        termios.tcsetattr(number, termios.TCSANOW, mode)

    def typed(self) -> str:
        """Return the keys typed so far: text, line ends, and possibly `QUIT` at the end."""
        if self._restore is None:
            return ""
        number, raw = sys.stdin.fileno(), b""
        while select.select([number], [], [], 0)[0] and (piece := os.read(number, 4096)):
            raw += piece
        text = "".join(c for c in raw.decode("utf-8", "ignore") if c.isprintable() or c in ("\r", "\n", QUIT))
        before, quits, _ = text.partition(QUIT)
        return before + quits

    def give_back(self) -> None:
        """Restore the terminal's settings."""
        if self._restore is not None:
            self._restore()


@contextlib.contextmanager
def terminal_taken() -> Iterator[Terminal]:
    """Yield the terminal with its settings changed, and restore them at the end of the block."""
    taken = Terminal()
    try:
        yield taken
    finally:
        taken.give_back()
