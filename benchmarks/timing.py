"""Timing two functions fairly: in turn, many rounds, medians of ratios."""

import contextlib
import ctypes
import gc
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from attrs import frozen

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: processes left by a child become children of this one
_Result = TypeVar("_Result")


@frozen
class Row:
    """One line of the report: the measured value, its unit, and its limit."""

    work: str
    measured: float
    limit: float
    unit: str
    detail: str = ""

    @property
    def holds(self) -> bool:
        """Return whether the limit holds."""
        return self.measured <= self.limit


def seconds(function: Callable[[], object], number: int) -> float:
    """Return the seconds of one call, averaged over *number* calls in a row."""
    start = time.perf_counter()
    for _ in range(number):
        function()
    return (time.perf_counter() - start) / number


def ratio(
    ours: Callable[[], object], raw: Callable[[], object], number: int, rounds: int = 15
) -> tuple[float, float, float]:
    """Return the median over *rounds* of time(ours) / time(raw), and the medians of both in seconds."""
    pairs = []
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            base = seconds(raw, number)
            pairs.append((seconds(ours, number), base))
    finally:
        if enabled:
            gc.enable()
    return (
        statistics.median(a / b for a, b in pairs),
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
    )


def cpu_of(work: Callable[[], _Result]) -> tuple[_Result, float]:
    """Return the result of *work*, and the CPU seconds of all processes that it started.

    The simulator of a native program has no parent, so this process adopts it.
    """
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    try:
        older, before = _children(), os.times()
        result = work()
        while fresh := _children() - older:  # not the earlier ones, which may go on
            for child in fresh:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(child, 0)
        after = os.times()
    finally:
        ctypes.CDLL(None).prctl(_SUBREAPER, 0, 0, 0, 0)
    spent = after.children_user + after.children_system
    return result, spent - before.children_user - before.children_system


def _children() -> set[int]:
    """Return the processes whose parent is this one."""
    threads = Path("/proc/self/task").glob("*/children")
    return {int(child) for thread in threads for child in thread.read_text().split()}
