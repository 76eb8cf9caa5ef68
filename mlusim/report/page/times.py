"""Times as bars over the full width, each with the band of the model: candidates of a tune, or boards."""

from collections.abc import Sequence

from attrs import frozen

from mlusim.report.page.charts import COLORS, SMALL, Picture, bars, line, marks, words

_LABELS, _BARS, _ROW, _TOP = 250.0, 560.0, 18.0, 24.0
_LONGEST = 40  # characters of a label; a longer one is shown in full by the tooltip


@frozen
class TimeBar:
    """A time in us with its *band*, in one of the page's colours; *tip* shows at the pointer."""

    name: str
    time_us: float
    band: tuple[float, float]
    color: str
    tip: str

    @property
    def label(self) -> str:
        """The name, cut to what the picture has room for."""
        return self.name if len(self.name) <= _LONGEST else f"{self.name[: _LONGEST - 3]}..."


def times_picture(shown: Sequence[TimeBar], title: str) -> str:
    """Return the chart as an SVG element called *title*."""
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
        words(axes, high + 5, y + 6.5, f"{one.time_us:,.2f}", color=COLORS["ink"])
    return picture.render()
