"""Small pictures as SVG text.  Colours are classes, which the page sets for light and for dark."""

from collections.abc import Iterable
from html import escape

from attrs import define, field


def number(value: float) -> str:
    """A coordinate with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


@define
class Drawing:
    """A picture of *width* x *height* units, described by *title* to those who cannot see it."""

    width: float
    height: float
    title: str
    parts: list[str] = field(factory=list)

    def rect(self, x: float, y: float, width: float, height: float, look: str, tip: str = "") -> None:
        """Add a rectangle; *tip* shows when the pointer rests on it."""
        at = f'x="{number(x)}" y="{number(y)}" width="{number(max(width, 0.3))}" height="{number(height)}"'
        self._add("rect", at, look, tip)

    def circle(self, x: float, y: float, radius: float, look: str, tip: str = "") -> None:
        """Add a circle."""
        self._add("circle", f'cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"', look, tip)

    def line(self, points: Iterable[tuple[float, float]], look: str) -> None:
        """Add a line through *points*."""
        path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" class="{look}"/>')

    def text(self, x: float, y: float, words: str, look: str = "label", anchor: str = "start") -> None:
        """Add words whose baseline begins, or ends, at x, y."""
        self.parts.append(
            f'<text x="{number(x)}" y="{number(y)}" class="{look}" text-anchor="{anchor}">{escape(words)}</text>'
        )

    def render(self) -> str:
        """The whole as one element."""
        size = f"{number(self.width)} {number(self.height)}"
        head = f'<svg viewBox="0 0 {size}" role="img" aria-label="{escape(self.title, quote=True)}">'
        return "\n".join([head, *self.parts, "</svg>"])

    def _add(self, shape: str, at: str, look: str, tip: str) -> None:
        inner = f"<title>{escape(tip)}</title>" if tip else ""
        self.parts.append(f'<{shape} {at} class="{look}">{inner}</{shape}>')
