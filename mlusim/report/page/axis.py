"""A time axis: round marks, the end of what is shown always among them, in the unit that its times ask for."""

import math
from collections.abc import Iterator

from attrs import frozen

STEPS = (1, 2, 2.5, 5, 10)
_UNITS = ((1e6, 1e7, "s"), (1e3, 1e4, "ms"), (1.0, 0.0, "us"))  # us of a unit, from which end on, its name
_ROOM = 66.0  # units that a label takes


def marks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from *low* to *high*, at most *most* + 1, for the marks of an axis."""
    if not high > low:
        return [low]
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * s for s in STEPS if power * s >= rough * (1 - 1e-9))
    slack = 1e-9 * (high - low)
    first, last = math.ceil((low - slack) / step), math.floor((high + slack) / step)
    return [float(f"{n * step:.12g}") for n in range(first, last + 1)]


@frozen
class Axis:
    """Times from *start* to *end*, in us, on *width* units."""

    start: float
    end: float
    width: float

    def units(self, time_us: float) -> float:
        """Return how many units *time_us* takes."""
        return self.width * time_us / max(self.end - self.start, 1e-9)

    def at(self, time_us: float) -> float:
        """Return the place of *time_us*, from the left."""
        return self.units(time_us - self.start)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Yield the places in us and their labels, of which none touches another; the last is the end, with the unit."""
        factor, name = next((us, name) for us, least, name in _UNITS if self.end >= least)
        end = f"{self.end / factor:,.{_digits((self.end - self.start) / factor)}f} {name}"
        for value in marks(self.start / factor, self.end / factor):
            at = value * factor
            if self.at(self.end) - self.at(at) > _ROOM:
                yield at, f"{value:,.12g}"
        yield self.end, end


def _digits(lasting: float) -> int:
    """Return the decimals that tell a hundredth of *lasting*."""
    return min(6, max(0, 2 - math.floor(math.log10(max(lasting, 1e-6)))))
