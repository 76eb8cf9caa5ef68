"""Timing two functions fairly: in turn, many rounds, medians of ratios."""

import gc
import statistics
import time
from collections.abc import Callable

from attrs import frozen


@frozen
class Row:
    """One line of the report: what was measured, in which unit, and what it may cost at most."""

    work: str
    measured: float
    limit: float
    unit: str
    detail: str = ""

    @property
    def holds(self) -> bool:
        """Whether the limit holds."""
        return self.measured <= self.limit


def seconds(function: Callable[[], object], number: int) -> float:
    """Seconds of one call, over *number* calls in a row."""
    start = time.perf_counter()
    for _ in range(number):
        function()
    return (time.perf_counter() - start) / number


def ratio(
    ours: Callable[[], object], raw: Callable[[], object], number: int, rounds: int = 15
) -> tuple[float, float, float]:
    """The median over *rounds* of time(ours) / time(raw), and the medians of both in seconds."""
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
