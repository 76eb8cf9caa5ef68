"""Pictures made with matplotlib, as SVG that takes its colours from the page and so is legible in light and dark.

Colours are drawn as stand-ins and become CSS variables (`--ink`, `--soft`, `--line`, `--track`, `--card`, `--c0` to
`--c7`, `--other`) at the end; words stay words, in the page's font; nothing is referred to, so that a page may
hold many pictures.  Units are those of the SVG: the width of the page's column is about 1,000.
"""

import io
import re
from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, field

from mlusim.installing import missing_packages

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = ("ink", "soft", "line", "track", "card", *(f"c{n}" for n in range(8)), "other")
COLORS: Mapping[str, str] = MappingProxyType({name: f"#01{n:02x}fe" for n, name in enumerate(NAMES, 16)})
"""The stand-in of each of the page's colours."""

POINTS = 72  # matplotlib's units of an inch, and so those of its SVG
SMALL, PLAIN = 10.5, 11.5  # sizes of words
Box = tuple[float, float, float, float]

_SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "mlusim",
        "font.family": "DejaVu Sans",  # comes with matplotlib, so that it never looks for another
        "font.size": PLAIN,
        "path.simplify": False,
        "text.color": COLORS["ink"],
        "axes.edgecolor": COLORS["line"],
        "axes.facecolor": "none",
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
    }
)


def _styled() -> Any:
    """Have matplotlib draw with our settings until the block ends."""
    import matplotlib as mpl  # noqa: PLC0415 - an extra

    settings: Any = dict(_SETTINGS)  # which it takes apart
    return mpl.rc_context(settings)


def require() -> None:
    """Raise `UsageError` where matplotlib is not installed."""
    try:
        import matplotlib as mpl  # noqa: PLC0415, F401 - an extra
    except ImportError:
        raise missing_packages("the HTML report", "report", "matplotlib") from None


@define
class Picture:
    """A picture of *width* x *height* units, described by *title* to those who cannot see it."""

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
        """Return the axes in *box* (left, top, width, height), without frame and ticks, whose limits are *x* and *y*."""
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
        """Let *words* show when the pointer rests on *artist*."""
        name = f"tip-{len(self._tips)}"
        artist.set_gid(name)
        self._tips[name] = words

    def render(self) -> str:
        """Return the whole as one SVG element."""
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
        head = (
            f'<svg viewBox="0 0 {self.width:g} {self.height:g}" role="img" aria-label="{escape(self.title)}">'
        )
        return f"{head}{inside}</svg>"

    def _group(self, found: re.Match[str]) -> str:
        tip = self._tips.get(found[1])
        return "<g>" if tip is None else f"<g><title>{escape(tip)}</title>"


def _font(found: re.Match[str]) -> str:
    """Return the size and the weight; the family is the page's."""
    return f"font-size: {found[2]}" + (f"; font-weight: {found[1]}" if found[1] else "")


def words(
    axes: Any, x: float, y: float, text: str, *, across: str = "left", up: str = "center", **style: object
) -> None:
    """Write *text* at *x*, *y* of *axes*; "$" is no formula."""
    given = {"size": SMALL, "color": COLORS["soft"]} | style
    axes.text(x, y, text, ha=across, va=up, parse_math=False, clip_on=False, **given)


def bars(axes: Any, boxes: Sequence[Box], color: str, **style: object) -> Any:
    """Draw many boxes (x, y, width, height in data units) of one colour as one shape, and return it."""
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
    """Draw a line through points; behind everything else unless *style* says where."""
    axes.plot(x, y, color=COLORS[color], clip_on=False, **{"linewidth": 1.0, "zorder": 0.5} | style)
