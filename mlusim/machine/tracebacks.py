"""Tracebacks that end in the kernel's frame: post-mortem debuggers open there, not inside mlusim."""

import os
from collections.abc import Iterator
from types import TracebackType

from mlusim.errors import MlusimError
from mlusim.kernel_frames import is_own

FULL = "MLUSIM_TRACEBACK"
"""The environment variable that shows all frames where it is "full", for work on mlusim itself."""


def show_kernel(error: BaseException) -> None:
    """Leave mlusim's own frames out of the traceback of *error*, which a kernel raised or ran into.

    Of an error that mlusim raises on purpose all are left out, so that its last frame is the kernel's; of another
    those before the kernel's only.  Nothing is left out where no kernel takes part, or where the environment
    variable ``MLUSIM_TRACEBACK`` is "full".
    """
    entries = list(_entries(error.__traceback__))
    foreign = [n for n, entry in enumerate(entries) if not is_own(entry.tb_frame)]
    if not foreign or os.environ.get(FULL) == "full":
        return
    on_purpose = isinstance(error, MlusimError)
    kept = [entries[n] for n in foreign] if on_purpose else entries[foreign[0] :]
    shown = None
    for entry in reversed(kept):
        shown = TracebackType(shown, entry.tb_frame, entry.tb_lasti, _line(entry))
    error.__traceback__ = shown


def _line(entry: TracebackType) -> int:
    """Return the line of *entry*, or its function's first: an alarm may come at an instruction that belongs to no line."""
    line: int | None = entry.tb_lineno  # typeshed leaves None out
    return entry.tb_frame.f_code.co_firstlineno if line is None else line


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next
