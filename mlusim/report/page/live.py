"""Charts that a reader may zoom and point at: data for Bokeh, beside a picture for paper and for pages without script.

The page carries BokehJS whole, so that it needs no network.  Python only lays out numbers: `charts.js.j2` draws a chart
when it comes into view, in the page's colours.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field

from mlusim.installing import missing_packages

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
