"""Another board for a program that names its own: while it lasts every new device is of that board."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board

_INSTEAD: ContextVar[Board | None] = ContextVar("board instead", default=None)


@contextmanager
def devices_on(board: str | Board) -> Iterator[None]:
    """Make each `mlusim.Device` and `mlusim.host.Handle` of the block one of *board*, whatever board it is asked for.

    It holds for this thread.  Raises `UsageError` for an unknown board.
    """
    token = _INSTEAD.set(find_board(board))
    try:
        yield
    finally:
        _INSTEAD.reset(token)


def board_for(wanted: str | Board) -> Board:
    """Return the board of a device that is asked to be of *wanted*."""
    return _INSTEAD.get() or find_board(wanted)
