"""The charts of pages: drawn as SVG by matplotlib, zoomed by the script `page.js`, with tooltips; and times as bars."""

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, field, frozen

from mlusim.counted import precise
from mlusim.installing import missing_packages

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def require_drawing() -> None:
    """Raise `UsageError` if the extra mlusim[report] is not installed; a page is refused before the work that it shows."""
    try:
        import matplotlib as mpl  # noqa: PLC0415, F401 - an extra
    except ImportError as error:
        raise missing_packages("the HTML report", "report", error.name or "") from None


# -- pictures --------------------------------------------------------------------------------------

NAMES = ("ink", "soft", "line", "track", "card", *(f"c{n}" for n in range(8)), "other")
COLORS: Mapping[str, str] = {name: f"#01{n:02x}fe" for n, name in enumerate(NAMES, 16)}
"""The placeholder of each of the page's colours."""

POINTS = 72  # matplotlib's units per inch, and those of its SVG
SMALL, PLAIN = 10.5, 11.5  # font sizes
Box = tuple[float, float, float, float]

_SETTINGS: Mapping[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "mlusim",
    "font.family": "DejaVu Sans",  # part of matplotlib, so that it never searches for another font
    "font.size": PLAIN,
    "path.simplify": False,
    "text.color": COLORS["ink"],
    "axes.edgecolor": COLORS["line"],
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
}


def _styled() -> Any:
    """Make matplotlib draw with our settings until the block ends."""
    import matplotlib as mpl  # noqa: PLC0415 - an extra

    settings: Any = dict(_SETTINGS)  # matplotlib removes entries from it
    return mpl.rc_context(settings)


@define
class Picture:
    """A picture of *width* x *height* units, with the description *title* for screen readers."""

    width: float
    height: float
    title: str
    _figure: Any = field(init=False)
    _tips: dict[str, str] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

        with _styled():
            self._figure = Figure(figsize=(self.width / POINTS, self.height / POINTS), dpi=POINTS)

    def axes(self, box: Box, x: tuple[float, float], y: tuple[float, float], *, log: bool = False) -> "Axes":
        """Return axes in *box* (left, top, width, height), without frame and ticks, with the limits *x* and *y*."""
        left, top, width, height = box
        where = (
            left / self.width,
            1 - (top + height) / self.height,
            width / self.width,
            height / self.height,
        )
        with _styled():
            axes: Axes = self._figure.add_axes(where)
        if log:
            axes.set_xscale("log")
            axes.set_yscale("log")
        axes.set_xlim(*x)
        axes.set_ylim(*y)
        axes.set_axis_off()
        return axes

    def tip(self, artist: Any, words: str) -> None:
        """Show *words* as the tooltip of *artist*."""
        name = f"tip-{len(self._tips)}"
        artist.set_gid(name)
        self._tips[name] = words

    def render(self) -> str:
        """Return the picture as one SVG element."""
        out = io.StringIO()
        with _styled():
            self._figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        text = out.getvalue()
        inside = text[text.index("<g ") : text.rindex("</svg>")]
        inside = re.sub(r"<defs>.*?</defs>|<metadata>.*?</metadata>|<!--.*?-->", "", inside, flags=re.DOTALL)
        inside = re.sub(r' clip-path="[^"]*"', "", inside)
        inside = re.sub(r'<g id="([^"]*)">', self._group, inside)
        inside = re.sub(r"font: (?:(bold|\d{3}) )?([\d.]+px)[^;\"]*", _font, inside)
        inside = re.sub(r"font-family: [^;\"]*;? ?", "", inside)
        inside = re.sub(r"\n\s*", "\n", inside)
        for name, color in COLORS.items():
            inside = inside.replace(color, f"var(--{name})")
        inside = _tidy(inside)
        head = (
            f'<svg viewBox="0 0 {self.width:g} {self.height:g}" role="img" aria-label="{escape(self.title)}">'
        )
        return f"{head}{inside}</svg>"

    def _group(self, match: re.Match[str]) -> str:
        tip = self._tips.get(match[1])
        return "<g>" if tip is None else f"<g><title>{escape(tip)}</title>"


def _tidy(svg: str) -> str:
    """Return *svg* in a third of its bytes: without invisible parts, groups around a single path, and decimals beyond a hundredth of a unit."""
    svg = re.sub(r'<path d="[^"]*" style="fill: none"/>', "", svg)
    svg = re.sub(r' d="([^"]*)"', _path, svg)
    svg = re.sub(r"\s*\n\s*", "\n", svg)
    for unneeded in (r"<g>\n?(<path [^>]*/>)\n?</g>", r"<g>\n?()</g>"):
        svg = re.sub(unneeded, r"\1", svg)
    return svg


def _path(match: re.Match[str]) -> str:
    """Return the data of a path, with one number for horizontal and vertical lines."""
    parts: list[str] = []
    at: list[str] = []
    for letter, text in re.findall(r"([A-Za-z])([^A-Za-z]*)", match[1]):
        to = [f"{round(float(number), 2):g}" for number in text.split()]
        if letter == "L" and to[1] == at[1]:
            parts.append(f"H{to[0]}")
        elif letter == "L" and to[0] == at[0]:
            parts.append(f"V{to[1]}")
        else:
            parts.append(letter + " ".join(to))
        at = to[-2:] or at
    return f' d="{"".join(parts)}"'


def _font(match: re.Match[str]) -> str:
    """Return the size and the weight of a font; the family is the page's."""
    return f"font-size: {match[2]}" + (f"; font-weight: {match[1]}" if match[1] else "")


def words(
    axes: Any, x: float, y: float, text: str, *, across: str = "left", up: str = "center", **style: object
) -> None:
    """Write *text* at *x*, *y* of *axes*; "$" does not begin a formula."""
    given = {"size": SMALL, "color": COLORS["soft"]} | style
    axes.text(x, y, text, ha=across, va=up, parse_math=False, clip_on=False, **given)


def bars(axes: Any, boxes: Sequence[Box], color: str, **style: object) -> Any:
    """Draw many boxes (x, y, width, height in data units) of one colour as one shape, and return the shape."""
    from matplotlib import patches, path  # noqa: PLC0415 - an extra

    given = np.array(boxes, float).reshape(-1, 4)
    x, y, width, height = given.T
    corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y)]
    points = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1).reshape(-1, 2)
    codes = np.tile([path.Path.MOVETO, *[path.Path.LINETO] * 3, path.Path.CLOSEPOLY], len(given))
    looks = {"facecolor": COLORS[color], "edgecolor": "none", "linewidth": 0} | style
    shape = patches.PathPatch(path.Path(points, codes), clip_on=False, **looks)
    axes.add_patch(shape)
    return shape


def line(axes: Any, x: Sequence[float], y: Sequence[float], color: str, **style: Any) -> None:
    """Draw a line through points, behind everything else unless *style* has a zorder."""
    axes.plot(x, y, color=COLORS[color], clip_on=False, **{"linewidth": 1.0, "zorder": 0.5} | style)


# -- a time axis: round marks, and the end of the shown range, in a unit suitable for the times --------------

STEPS = (1, 2, 2.5, 5, 10)
_UNITS = ((1e6, 1e7, "s"), (1e3, 1e4, "ms"), (1.0, 0.0, "us"))  # us per unit, least end, name
_ROOM = 66.0  # units that a label needs


def marks(low: float, high: float, most: int = 6) -> list[float]:
    """Return at most *most* + 1 round numbers from *low* to *high*, for the marks of an axis."""
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
    """A time axis from *start* to *end*, in us, with a width of *width* units."""

    start: float
    end: float
    width: float

    def units(self, time_us: float) -> float:
        """Return the length of *time_us* in units."""
        return self.width * time_us / max(self.end - self.start, 1e-9)

    def at(self, time_us: float) -> float:
        """Return the position of *time_us* in units from the left."""
        return self.units(time_us - self.start)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Yield positions in us and their labels, none of which overlap; the last is the end, with the unit."""
        factor, name = next((us, name) for us, least, name in _UNITS if self.end >= least)
        # As many decimals as resolve a hundredth of what is shown.
        digits = 2 - math.floor(math.log10(max((self.end - self.start) / factor, 1e-6)))
        end = f"{self.end / factor:,.{min(6, max(0, digits))}f} {name}"
        for value in marks(self.start / factor, self.end / factor):
            at = value * factor
            if self.at(self.end) - self.at(at) > _ROOM:
                yield at, f"{value:,.12g}"
        yield self.end, end


_LABELS, _BARS, _ROW, _TOP = 250.0, 560.0, 18.0, 24.0
_LONGEST = 40  # characters of a label; a longer name is in the tooltip


@frozen
class TimeBar:
    """A time in us with its *band*, in one of the page's colours; *tip* is the tooltip."""

    name: str
    time_us: float
    band: tuple[float, float]
    color: str
    tip: str

    @property
    def label(self) -> str:
        """The name, shortened to the available room."""
        return self.name if len(self.name) <= _LONGEST else f"{self.name[: _LONGEST - 3]}..."


def times_picture(shown: Sequence[TimeBar], title: str) -> str:
    """Return the chart as an SVG element with the description *title*."""
    unit = _BARS / (max(one.band[1] for one in shown) or 1.0)
    width, height = _LABELS + _BARS + 90, _TOP + len(shown) * _ROW + 6
    picture = Picture(width, height, title)
    axes = picture.axes((0, 0, width, height), (0, width), (height, 0))
    for value in marks(0.0, _BARS / unit):
        x = _LABELS + value * unit
        words(axes, x, 8, f"{value:,.12g} us" if value == 0 else f"{value:,.12g}", across="center")
        line(axes, [x, x], [18, height - 6], "line")
    for row, one in enumerate(shown):
        y = _TOP + row * _ROW
        words(axes, _LABELS - 8, y + 6.5, one.label, across="right", size=SMALL)
        shape = bars(axes, [(_LABELS, y, max(one.time_us * unit, 0.3), _ROW - 5)], one.color)
        picture.tip(shape, one.tip)
        low, high = (_LABELS + us * unit for us in one.band)
        line(axes, [low, high], [y + 6.5, y + 6.5], "ink", linewidth=1.5, zorder=3)
        words(axes, high + 5, y + 6.5, precise(one.time_us), color=COLORS["ink"])
    return picture.render()
