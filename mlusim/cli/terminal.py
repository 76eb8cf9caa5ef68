"""A terminal as rich writes to it: only what has columns, colours or folded sentences needs it (`mlusim.cli.show`)."""

import sys
from typing import Any

from attrs import frozen
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment

from mlusim.files.reading import lines_shown


class Output(Console):
    """Standard output; a closed pipe raises an exception for `main`, instead of an exit in rich."""

    def on_broken_pipe(self) -> None:
        """Raise `BrokenPipeError`, which ends the command as other tools end."""
        raise BrokenPipeError

    def print(self, *objects: Any, **options: Any) -> None:
        """Print *objects*; lines wider than the terminal are not cropped."""
        super().print(*objects, **{"crop": False} | options)


@frozen
class _Trimmed:
    """Renderables without trailing blanks, which only fill columns, and with control bytes escaped."""

    shown: ConsoleRenderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the contents line by line."""
        line: list[Segment] = []
        for segment in console.render(self.shown, options):
            *ended, rest = (segment.text if segment.control else lines_shown(segment.text)).split("\n")
            for text in ended:
                yield from _trimmed([*line, Segment(text, segment.style)])
                yield Segment.line()
                line = []
            if rest or segment.control:
                line.append(Segment(rest, segment.style, segment.control))
        yield from line


def _trimmed(line: list[Segment]) -> list[Segment]:
    while line and not line[-1].control:
        text, style, _ = line.pop()
        visible = text if style and (style.reverse or style.bgcolor) else text.rstrip(" ")
        if visible:
            return [*line, Segment(visible, style)]
    return line


class _Trim(RenderHook):
    """Trims everything that a console shows."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Trim each of the *renderables*."""
        return [_Trimmed(shown) for shown in renderables]


def output() -> Output:
    """Return a console on the current standard output; styles only on a terminal and without ``NO_COLOR``."""
    console = Output(file=sys.stdout, highlight=False, emoji=False, markup=False)
    if console.no_color:  # rich would keep bold and dim
        console = Output(file=sys.stdout, highlight=False, emoji=False, markup=False, color_system=None)
    console.push_render_hook(_Trim())
    return console
