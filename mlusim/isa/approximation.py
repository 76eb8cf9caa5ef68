"""How far a result of the hardware may be from the formula."""

from collections.abc import Mapping

from attrs import frozen


def _range(low: float | None, high: float | None) -> str:
    if low is None:
        return "anywhere" if high is None else f"up to {high:g}"
    return f"from {low:g}" if high is None else f"from {low:g} to {high:g}"


@frozen
class Approximation:
    """The documented error of an approximate instruction; the simulator gives the formula itself.

    ``error`` is the average relative error for sources in ``ranges``: by type, (lowest, highest), None: unbounded.
    """

    error: float
    ranges: Mapping[str, tuple[float | None, float | None]]

    def __str__(self) -> str:
        ranges = "; ".join(f"{name} {_range(*ends)}" for name, ends in self.ranges.items())
        return f"average relative error {self.error:g} ({ranges})"
