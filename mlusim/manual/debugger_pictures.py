"""The pictures of the full-screen view in the documentation: ``python -m mlusim.manual.debugger_pictures FOLDER``."""

import asyncio
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from textual.pilot import Pilot

from mlusim.debug import Console, DebugSession, OperatorProgram, Program, ScriptProgram
from mlusim.debug.tui.app import DebuggerApp
from mlusim.debug.tui.engine import Engine
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import case_generator

EXAMPLE = Path(__file__).parents[2] / "examples" / "05_memory_core.py"


def main(words: list[str]) -> int:
    """Write ``debugger-80x24.svg`` and ``debugger-150x46.svg`` into the folder that is named."""
    folder = Path(words[0] if words else ".")
    barrier = ["break sync_cluster task 3", "run", "info barriers"]
    _drawn(ScriptProgram(str(EXAMPLE)), (80, 24), barrier, folder)
    addition = ["break computePGrad", "run", "tbreak bang_add if i == 3", "c", "x/f cur_p_grad"]
    addition += ["who-wrote cur_p_grad[1] 2", "history 3"]
    _drawn(_operator(), (150, 46), addition, folder)
    return 0


def _operator() -> Program:
    spec = find_operator("mutual_information_backward")
    case = find_case(spec, "network")
    inputs, params = case.make(case_generator(case))
    return OperatorProgram(spec, inputs, params, case=case.name)


def _drawn(program: Program, size: tuple[int, int], lines: Iterable[str], folder: Path) -> None:
    engine = Engine(lambda: Console(DebugSession(program)))
    engine.serve_beside(lambda: asyncio.run(_picture(DebuggerApp(engine), size, lines, folder)))


async def _picture(app: DebuggerApp, size: tuple[int, int], lines: Iterable[str], folder: Path) -> None:
    async with app.run_test(size=size) as pilot:
        await _idle(app, pilot)
        for line in lines:
            app.submit(line)
            await _idle(app, pilot)
        text = re.sub(r"@font-face \{.*?\}", "", app.export_screenshot(title="mlusim debug"), flags=re.DOTALL)
        (folder / f"debugger-{size[0]}x{size[1]}.svg").write_text(text, encoding="utf-8")
        await pilot.press("ctrl+q")


async def _idle(app: DebuggerApp, pilot: "Pilot[None]") -> None:
    while app.busy:
        await pilot.pause(0.01)
    await pilot.pause()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
