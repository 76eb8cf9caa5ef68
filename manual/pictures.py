"""The pictures of the documentation that mlusim draws itself: ``python -m manual.pictures`` writes them to ``docs/pictures``.

With words such as ``finding`` or ``debugger-80x24``, only those are drawn.  Pictures of pages need a Chromium, which
``BROWSER`` may name; without one they are left as they are, with a message.
"""

import asyncio
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from unittest import mock

import numpy as np
from rich.console import Console as Terminal
from rich.terminal_theme import MONOKAI
from rich.text import Text
from textual.pilot import Pilot

from manual.chosen import chosen
from mlusim import bangc
from mlusim.cli.demo import ARGUMENTS, BROKEN, COUNT, MENDED, TASKS
from mlusim.cli.main import main as mlusim
from mlusim.debug import Console, DebugSession, OperatorProgram, Program, ScriptProgram
from mlusim.debug.tui.app import DebuggerApp
from mlusim.debug.tui.engine import LineRunner
from mlusim.machine.device import Device
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import case_generator
from mlusim.plan.svg import layout_svg
from mlusim.report.page.excerpt import excerpt_of
from mlusim.report.page.pipes import LEFT, legend, pipe_picture
from mlusim.report.page.writer import MARKS
from mlusim.report.profiled import profiled

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
BOARD = "MLU370-X4"
EXAMPLE = ROOT / "examples" / "first"
CALL = f"--dim {TASKS} {' '.join(f'--arg {name}={text}' for name, text in ARGUMENTS.items())}"


# -- a terminal -------------------------------------------------------------------------------------

COLUMNS = 110  # of the terminal
DEBUGGED = ("break 13", "run", "who-wrote tile[1]", "reverse-step", "info pipes")
COMMANDS: Mapping[str, str] = {
    "finding": f"mlusim check {BROKEN} {CALL}",
    "back-in-time": " ".join(
        [f"mlusim debug {BROKEN} {CALL}", *(f"--command {shlex.quote(line)}" for line in DEBUGGED)]
    ),
}


class _Terminal(io.StringIO):
    """A stream that a program takes for a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True


def said(command: str) -> str:
    """Return the output of *command* of ``mlusim`` on a terminal in the folder of the example."""
    screen = _Terminal()
    settings = {"COLUMNS": str(COLUMNS), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    with (
        mock.patch.dict("os.environ", settings),
        contextlib.chdir(EXAMPLE),
        contextlib.redirect_stdout(screen),
    ):
        mlusim(shlex.split(command)[1:])
    return screen.getvalue()


def _typed(name: str) -> str:
    """Draw the terminal after the command of the picture *name*."""
    command = COMMANDS[name]
    page = Terminal(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    shown = Text("\n").join([Text(f"$ {command.partition(' --command')[0]}"), Text.from_ansi(said(command))])
    shown.highlight_regex(re.compile(r"^(?:\$|\(mlusim\)).*$", re.MULTILINE), "bold cyan")
    page.print(shown)
    return _offline(page.export_svg(title="mlusim", theme=MONOKAI, unique_id="mlusim"))


def _offline(drawn: str) -> str:
    """Return the picture with the reader's own fonts instead of fonts that it would download."""
    return re.sub(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", "", drawn, flags=re.DOTALL)


# -- drawings on paper of their own -----------------------------------------------------------------

_COLORS = {
    "ink": "#1d1d1b", "soft": "#5c5b57", "line": "#d9d8d3", "track": "#efeee9", "other": "#8a8984",
    "c0": "#2f6fe0", "c1": "#26a590", "c2": "#c87a15", "c3": "#8e59e2", "c4": "#c8453c", "c5": "#a9587a",
}  # fmt: skip


def _on_paper(drawn: str, title: str, marks: str = "", edge: int = 16, head: int = 44) -> str:
    """Return the SVG *drawn* on white below *title* and *marks*, because the page that shows it may be dark."""
    width, height = map(float, drawn.partition('viewBox="0 0 ')[2].partition('"')[0].split())
    inside = drawn.partition(">")[2]
    box = f'x="{edge}" y="{head + edge}" width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    whole = f"{width + 2 * edge:g}", f"{height + head + 2 * edge:g}"
    paper = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole[0]} {whole[1]}" font-family="system-ui, sans-serif"'
        f' font-size="12" fill="{_COLORS["ink"]}" color="{_COLORS["ink"]}">\n'
        f'<rect width="{whole[0]}" height="{whole[1]}" rx="8" fill="#ffffff" stroke="{_COLORS["line"]}"/>\n'
        f'<text x="{edge}" y="{edge + 12}" font-size="14" font-weight="600">{escape(title)}</text>\n'
        f"{marks}<svg {box}>{inside}</svg>\n"
    )
    return re.sub(r"var\(--(\w+)\)", lambda name: _COLORS[name[1]], paper)


def _pipes() -> str:
    """Draw what the pipes of `MENDED` do, and the reasons for which its cores wait."""
    module, device = bangc.load(EXAMPLE / MENDED, board=BOARD), Device(BOARD)
    data = np.random.default_rng(0).standard_normal(COUNT).astype(np.float32)
    with profiled() as profile:
        device.launch(
            module["Gelu"], TASKS, args=(device.empty(data.shape, data.dtype), device.put(data), COUNT)
        )
    excerpt = excerpt_of(profile.launches[0])
    assert excerpt is not None
    marks, x = "", LEFT
    for kind, look, told in legend(excerpt):
        width = 24 if kind in ("arrow", "dashed") else 14
        marks += f'<g transform="translate({x:g} 40)">{MARKS[kind].format(color=f"var(--{look})")}<text x="{width}" y="10">{escape(told)}</text></g>\n'
        x += width + 6.4 * len(told) + 18
    return _on_paper(pipe_picture(excerpt), f"{excerpt.kernel}: {excerpt.headline}", marks)


def _plan() -> str:
    """Draw the plan of an operator at the largest shape of its kind that fits."""
    (plan,) = find_operator("mutual_information_backward").plans
    return _on_paper(layout_svg(plan.layout(BOARD, S=15, T=3484)), "", edge=0, head=0)


# -- the debugger on a full screen ------------------------------------------------------------------

SCREENS: Mapping[str, tuple[tuple[int, int], Sequence[str]]] = {
    "debugger-80x24": ((80, 24), ("break sync_cluster task 3", "run", "info barriers")),
    "debugger-150x46": (
        (150, 46),
        (
            "break computePGrad",
            "run",
            "tbreak bang_add if i == 3",
            "c",
            "x/f cur_p_grad",
            "who-wrote cur_p_grad[1] 2",
            "history 3",
        ),
    ),
}


def _barriers() -> str:
    return _screen(ScriptProgram(str(ROOT / "examples" / "05_memory_core.py")), *SCREENS["debugger-80x24"])


def _operator() -> str:
    spec = find_operator("mutual_information_backward")
    case = find_case(spec, "network")
    inputs, params = case.make(case_generator(case))
    return _screen(OperatorProgram(spec, inputs, params, case=case.name), *SCREENS["debugger-150x46"])


def _screen(program: Program, size: tuple[int, int], lines: Iterable[str]) -> str:
    engine, drawn = LineRunner(lambda: Console(DebugSession(program))), list[str]()
    engine.serve_beside(lambda: drawn.append(asyncio.run(_after(DebuggerApp(engine), size, lines))))
    return _offline(drawn[0])


async def _after(app: DebuggerApp, size: tuple[int, int], lines: Iterable[str]) -> str:
    """Return the screen of *app* after *lines* were typed."""
    async with app.run_test(size=size) as pilot:
        await _idle(app, pilot)
        for line in lines:
            app.submit(line)
            await _idle(app, pilot)
        drawn = app.export_screenshot(title="mlusim debug")
        await pilot.press("ctrl+q")
    return drawn


async def _idle(app: DebuggerApp, pilot: "Pilot[None]") -> None:
    while app.busy:
        await pilot.pause(0.01)
    await pilot.pause()


# -- pages, as a browser shows them -----------------------------------------------------------------

BROWSERS = (os.environ.get("BROWSER", ""), "chromium", "chromium-browser", "google-chrome")
WIDTH = 1200  # of the window
HEIGHTS = {"report": 1100, "report-lines": 1500, "gallery": 1790}


def _report(page: Path) -> None:
    mlusim(["report", "tin_shift_forward", "border_align_backward", "--format", "html", "-o", str(page)])


def _lines(page: Path) -> None:
    """Write the part of a launch's page with its pipes, its cores and its lines; the head is that of every page."""
    mlusim(
        ["profile", "border_align_backward", "--case", "vendor_1x70x4x129", "--launch", "2", "-o", str(page)]
    )
    scroll = '<script>document.querySelector("main").replaceChildren(document.querySelector("details.part"))</script>'
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", f"{scroll}</body>"), encoding="utf-8")


def _gallery(page: Path) -> None:
    """Write some cells of the notebook of examples, with their outputs, which a test keeps current."""
    cells = json.loads((ROOT / "examples" / "gallery.ipynb").read_text(encoding="utf-8"))["cells"]
    parts = [GALLERY]
    for cell in cells:
        text = "".join(cell["source"])
        if text.startswith("## "):
            wanted = text.partition("\n")[0].removeprefix("## ") in SHOWN
            parts += [f"<h2>{escape(text.partition(chr(10))[0].removeprefix('## '))}</h2>"] if wanted else []
        elif cell["cell_type"] == "code" and len(parts) > 1 and wanted and not text.startswith(NOT_SHOWN):
            outputs = ("".join(output["data"]["text/html"]) for output in cell["outputs"])
            parts += [f'<pre class="cell">{escape(text)}</pre>', *outputs]
    page.write_text("\n".join(parts), encoding="utf-8")


SHOWN = ("A launch", "Findings", "Faults")
NOT_SHOWN = ("import numpy", "%%mlusim_profile")
GALLERY = (
    '<!doctype html><meta charset="utf-8"><style>body { font: 15px sans-serif; margin: 18px } '
    "pre.cell { background: #f3f4f1; border: 1px solid #ddd; padding: 10px } h2 { margin: 12px 0 }</style>"
)


PAGES: Mapping[str, Callable[[Path], None]] = {"report": _report, "report-lines": _lines, "gallery": _gallery}


def _photographed(name: str, browser: str) -> None:
    """Write the picture of a page as *browser* shows it."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / f"{name}.html"
        PAGES[name](page)
        words = [
            "--headless=new",
            "--no-sandbox",
            "--hide-scrollbars",
            "--blink-settings=preferredColorScheme=1",
        ]
        size = [
            f"--window-size={WIDTH},{HEIGHTS[name]}",
            f"--user-data-dir={folder}",
            "--virtual-time-budget=5000",
        ]
        picture = f"--screenshot={FOLDER / f'{name}.png'}"
        command = [browser, *words, *size, picture, page.as_uri()]
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - a browser, which draws the file just written


# -- all of them ------------------------------------------------------------------------------------

PICTURES: Mapping[str, Callable[[], str]] = {
    "finding": lambda: _typed("finding"),
    "back-in-time": lambda: _typed("back-in-time"),
    "pipes": _pipes,
    "plan": _plan,
    "debugger-80x24": _barriers,
    "debugger-150x46": _operator,
}


def main(names: Sequence[str]) -> int:
    """Draw again the pictures listed in *names*, or all of them."""
    wanted = chosen(names, [*PICTURES, *PAGES], "picture")
    browser = next(filter(None, map(shutil.which, filter(None, BROWSERS))), None)
    for name in wanted:
        if name in PICTURES:
            (FOLDER / f"{name}.svg").write_text(PICTURES[name](), encoding="utf-8")
        elif browser is not None:
            _photographed(name, browser)
        else:
            sys.stderr.write(f"{name}.png is left as it is: no Chromium is found; name one in BROWSER\n")
    return 0 if wanted else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
