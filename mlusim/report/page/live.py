"""Charts that a reader may zoom and point at: data for Bokeh, beside a picture for paper and for pages without script.

The page carries BokehJS whole, so that it needs no network.  Python only lays out numbers: `charts.js.j2` draws a chart
when it comes into view, in the page's colours.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from mlusim.installing import missing_packages

# -- a time axis: round marks, the end of what is shown always among them, in the unit that its times ask for

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


SCRIPTS = ("bokeh.min.js", "bokeh-api.min.js")


@define
class Boxes:
    """Horizontal boxes on named rows: bars, or spans of time.

    ``rows`` are the names from top to bottom, ``axis`` names the horizontal axis, ``marks`` are lines across, ``end`` is where a time axis ends.
    """

    rows: Sequence[str]
    axis: str
    marks: Sequence[float] = ()
    ticks: Mapping[float, str] = field(factory=dict)
    end: float = 0.0
    _boxes: dict[str, list[list[Any]]] = field(factory=dict)
    _bands: list[list[Any]] = field(factory=list)

    def add(self, row: int, left: float, right: float, color: str, tip: str) -> None:
        """Draw a box on *row* from *left* to *right* in one of the page's colours; *tip* shows at the pointer."""
        self._boxes.setdefault(color, []).append([row, _short(left), _short(right), tip])

    def band(self, row: int, low: float, high: float) -> None:
        """Draw a thin line on *row* from *low* to *high*: between which values what a box shows may be."""
        self._bands.append([row, _short(low), _short(high)])

    def data(self) -> str:
        """Return the chart as text for the page."""
        return text(
            {
                "kind": "boxes",
                "rows": list(self.rows),
                "axis": self.axis,
                "marks": list(self.marks),
                "end": _short(self.end),
                "ticks": {str(at): words for at, words in self.ticks.items()},
                "boxes": self._boxes,
                "bands": self._bands,
            }
        )


def points(
    axes: tuple[str, str],
    roofs: Iterable[tuple[str, Sequence[float], Sequence[float]]],
    dots: Iterable[tuple[float, float, str, str]],
) -> str:
    """Return a chart of *dots* (x, y, colour, tip) under *roofs* (name, xs, ys) on logarithmic *axes*, as text for the page."""
    return text(
        {
            "kind": "points",
            "axes": list(axes),
            "roofs": [[name, list(x), list(y)] for name, x, y in roofs],
            "dots": [list(dot) for dot in dots],
        }
    )


def library() -> str:
    """Return BokehJS as text that may stand in a page.  Raises `UsageError` where Bokeh is not installed."""
    try:
        import bokeh  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_packages("the HTML report", "report", "bokeh") from None
    folder = Path(bokeh.__file__).parent / "server" / "static" / "js"
    text = "\n".join((folder / name).read_text(encoding="utf-8") for name in SCRIPTS)
    return text.replace("</script", r"<\/script").replace("<!--", r"<\!--")


def text(chart: Mapping[str, Any]) -> str:
    """*chart* as text that may stand in a page."""
    return json.dumps(chart, separators=(",", ":")).replace("<", r"\u003c")


def _short(number: float) -> float:
    return float(f"{number:.7g}")
