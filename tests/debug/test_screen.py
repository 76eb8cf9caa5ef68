"""The full-screen view, driven by keys in a small and in a big terminal."""

import asyncio
import contextlib
import functools
import importlib
import io
import os
import pty
import subprocess
import sys
import termios
import threading
from pathlib import Path

import rich.console
from debug_kernels import line, scale_program, staged_program
from rich.text import Text
from textual.widgets import RichLog

import mlusim
from mlusim.bang import float32, kernel
from mlusim.debug import Console, DebugSession, ScriptProgram
from mlusim.debug.tui.app import PANES, CommandLine, DebuggerApp, Folded, Pane, Source
from mlusim.debug.tui.engine import LineRunner

SMALL, BIG = (80, 24), (160, 48)


def on_screen(scenario, program=scale_program, size=SMALL):
    """Run *scenario*, a coroutine of an app and its pilot, on a program; every key is followed by a wait."""

    async def run(app):
        async with app.run_test(size=size) as pilot:
            await idle(app, pilot)
            await scenario(app, pilot)
            await pilot.press("ctrl+q")

    beside(run, lambda: Console(DebugSession(program)))


def beside(run, make):
    """Run the coroutine *run* of an app in a thread, and what *make* makes in this one; return the engine."""
    engine = LineRunner(make)
    engine.serve_beside(lambda: asyncio.run(run(DebuggerApp(engine))))
    return engine


async def idle(app, pilot):
    """Wait until no command is being executed."""
    while app.busy:
        await pilot.pause(0.01)
    await pilot.pause()


async def typed(app, pilot, text):
    """Enter a line."""
    app.query_one(CommandLine).value = text
    await pilot.press("enter")
    await idle(app, pilot)


async def pressed(app, pilot, *keys):
    """Press keys, one after the other."""
    for key in keys:
        await pilot.press(key)
        await idle(app, pilot)


def log(app):
    """What the log shows."""
    return "\n".join(strip.text.rstrip() for strip in app.query_one(RichLog).lines)


def pane(app, name):
    """The text of a pane."""
    return app.query_one(f"#{name}", Pane).text


def source(app):
    """The lines of source that are shown."""
    shown = app.query_one(Source).render()
    assert isinstance(shown, Text)
    return shown.plain.splitlines()


def test_a_session_in_a_small_terminal():
    """Breakpoints, steps and reverse steps by keys; the source follows, with an arrow and a B."""

    async def scenario(app, pilot):
        assert "no task, moment 0" in str(app.query_one("#title").visual)
        await pressed(app, pilot, *("space" if c == " " else c for c in "break scaled"), "enter", "f5")
        assert "Breakpoint 1, scaled" in log(app)
        arrow = next(text for text in source(app) if text[1:3] == "->")
        assert f"{line('scaled-mul')}     mlu.bang_mul_scalar" in arrow
        await typed(app, pilot, f"break {line('scale-add')}")
        await pressed(app, pilot, "f10", "f10", "f10")
        assert any(text.startswith("B->") for text in source(app))
        await pressed(app, pilot, "f9")
        assert app.views.line == line("scale-call")
        await pressed(app, pilot, "f6", "f8", "f7", "f11")
        assert app.views.where.startswith("moment")
        assert 5 == len(source(app))

    on_screen(scenario)


def test_every_part_fits_into_80_by_24():
    """One pane at a time, and nothing reaches over the edge; `ctrl+t` shows the next pane."""

    async def scenario(app, pilot):
        await typed(app, pilot, "break bang_add_scalar")
        await pressed(app, pilot, "f5")
        for name in (*PANES, next(iter(PANES))):
            shown = [p for p in PANES if app.query_one(f"#{p}").display]
            assert [name] == shown
            parts = [app.query_one(s) for s in ("#title", "#source", f"#{name}", "#log", "#line", "Footer")]
            assert all(p.region.width <= 80 and p.region.height >= 1 and p.region.bottom <= 24 for p in parts)
            assert sum(p.region.height for p in parts) <= 24
            await pressed(app, pilot, "ctrl+t")
        await typed(app, pilot, "who-wrote buffer[0]")
        assert ["chain"] == [p for p in PANES if app.query_one(f"#{p}").display]
        asked = f"who-wrote buffer[0], asked at {app.views.where}"
        answer = pane(app, "chain")
        assert "buffer[0]: written at moment" in answer
        await pressed(app, pilot, "f8")
        assert (asked, answer) == (app.query_one("#chain").border_title, pane(app, "chain"))

    on_screen(scenario)


def test_what_is_folded_keeps_the_indent_of_its_line():
    """It stands further in by two columns, so that the next line is seen to begin; no word is lost."""
    lines = ["sum[5] = -0.478: written at moment 9 by task 0", "    from in[4101]: as the host gave it"]
    console = rich.console.Console(width=30, file=io.StringIO())
    console.print(Folded([Text(text) for text in lines]))
    shown = console.file.getvalue().splitlines()

    assert ["sum[5] = -0.478: written at", "  moment 9 by task 0"] == [line.rstrip() for line in shown[:2]]
    assert ["    from in[4101]: as the host", "      gave it"] == [line.rstrip() for line in shown[2:]]


def test_a_cause_is_folded_to_the_pane():
    """At 80 columns the lines of `why` go to the next row without a word cut off."""

    async def scenario(app, pilot):
        await typed(app, pilot, "break bang_add_scalar")
        await pressed(app, pilot, "f5")
        await typed(app, pilot, "who-wrote buffer[0]")
        static = app.query_one("#chain", Pane).query_one("Static")
        rows = [strip.text.rstrip() for strip in static.render_lines(static.size.region)]

        assert pane(app, "chain").split() == " ".join(rows).split()
        assert all(len(row) <= static.size.width for row in rows)

    on_screen(scenario)


def test_a_big_terminal_shows_all_panes():
    """Tasks, pipes, variables, memory map and memory beside the source; what has changed stands out."""

    async def scenario(app, pilot):
        await typed(app, pilot, f"break {line('staged-barrier')} task 3")
        await pressed(app, pilot, "f5")
        assert ["chain"] == [name for name in PANES if not app.query_one(f"#{name}").display]
        assert f"waiting  line {line('staged-barrier')}" in pane(app, "tasks")
        assert "__sync_cluster: task 3 missing" in pane(app, "tasks")
        assert "in flight: memcpy_async" in pane(app, "pipes")
        assert "idle: scalar, vector, tensor, move-DMA" in pane(app, "pipes")
        assert "shared" in pane(app, "variables")
        await typed(app, pilot, "x/4f sram+0")
        assert "56  57" in pane(app, "memory")
        assert "memory: sram+0" == app.query_one("#memory").border_title
        await typed(app, pilot, "who-wrote data[0]")
        parts = [app.query_one(f"#{name}") for name in (*PANES, "source", "log")]
        assert all(p.display and p.region.height >= 3 and p.region.bottom <= BIG[1] - 2 for p in parts)
        await pressed(app, pilot, "ctrl+down")
        assert "task 0" == app.views.focus
        await pilot.resize_terminal(*SMALL)
        await pilot.pause()
        assert 1 == sum(app.query_one(f"#{name}").display for name in PANES)

    on_screen(scenario, staged_program, BIG)


def test_a_key_and_a_click_toggle_a_breakpoint():
    """At the line in focus, and at the line that was clicked; the pane lists them."""

    async def scenario(app, pilot):
        await typed(app, pilot, "start")
        await pressed(app, pilot, "f2")
        assert f"debug_kernels.py:{app.views.line}" in pane(app, "breakpoints")
        shown = app.query_one(Source)
        row = next(n for n, text in enumerate(source(app)) if str(line("scale-load")) in text)
        await pilot.click(shown, offset=(8, row + 1))
        await idle(app, pilot)
        assert {app.views.line, line("scale-load")} == set(app.views.stops)
        await pressed(app, pilot, "f2")
        assert [line("scale-load")] == list(app.views.stops)

    on_screen(scenario, size=BIG)


def test_what_is_printed_stays_whole_and_themes_change():
    """Pieces of a printed line are one line; the source follows the theme; keys of a busy view are kept."""

    def program(observe):
        print("one", "two", 3, sep=" + ")  # noqa: T201
        scale_program(observe)

    async def scenario(app, pilot):
        assert "one + two + 3" in log(app)
        app.theme = "textual-light"
        await pilot.press("f11", "f11", "f10")
        await idle(app, pilot)
        assert line("scale-first") + 2 == app.views.line
        assert "0  scale, line" in pane(app, "stack")

    on_screen(scenario, program, size=BIG)


def test_paths_have_one_form_everywhere(tmp_path, monkeypatch):
    """Relative to the current folder: the commands of keys, the source, breakpoints, and callers in another file."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "loads_of_a_screen.py").write_text(
        "from mlusim.bang import GDRAM2NRAM\n"
        "def load(mlu, buffer, data):\n    mlu.memcpy(buffer, data, 256, GDRAM2NRAM)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "parts"))
    load = importlib.import_module("loads_of_a_screen").load

    @kernel
    def call(mlu, data):
        buffer = mlu.nram(float32, 64)
        load(mlu, buffer, data)

    async def scenario(app, pilot):
        await typed(app, pilot, "break load")
        await typed(app, pilot, "run")
        app.toggle(3)
        await idle(app, pilot)
        short = "parts/loads_of_a_screen.py:3"
        assert f"(mlusim) break {short}" in log(app)
        assert short in app.query_one("#source").border_title
        assert short in pane(app, "breakpoints")
        own, caller = pane(app, "stack").splitlines()[:2]
        assert own.endswith("load, line 3")
        assert Path(__file__).name in caller
        assert str(tmp_path) not in log(app) + pane(app, "stack") + pane(app, "tasks")

    device = mlusim.Device()
    on_screen(
        scenario,
        lambda observe: device.launch(call, args=(device.empty(64, "float32"),), observe=observe),
        BIG,
    )


def test_the_line_recalls_and_completes():
    """Up brings the last line back, tab completes as far as it is clear."""

    async def scenario(app, pilot):
        await typed(app, pilot, "break scaled")
        await pilot.press("up")
        assert "break scaled" == app.query_one(CommandLine).value
        await pilot.press("down", "r", "e", "v", "tab")
        for _ in range(200):
            await pilot.pause(0.01)
            if app.query_one(CommandLine).value != "rev":
                break
        assert "reverse-" == app.query_one(CommandLine).value

    on_screen(scenario)


def test_mistakes_and_prints_go_to_the_log(tmp_path):
    """A wrong command is one line, and what the program prints does not disturb the screen."""
    script = tmp_path / "prints.py"
    text = (Path(mlusim.__file__).parents[1] / "examples" / "05_memory_core.py").read_text()
    script.write_text(text + "\nprint('SAID')\n")

    async def scenario(app, pilot):
        await typed(app, pilot, "florp")
        await typed(app, pilot, "run")
        await pilot.pause(0.1)
        assert "error: there is no command 'florp'" in log(app)
        assert "SAID" in log(app)
        assert "the program has ended" in log(app)

    on_screen(scenario, ScriptProgram(str(script)))


def test_a_watched_kernel_can_be_interrupted():
    """A kernel without an end stops at its next line or instruction."""

    @kernel
    def endless(mlu):
        buffer = mlu.nram(float32, 64)
        while True:
            mlu.bang_add(buffer, buffer, buffer, 64)

    def program(observe):
        mlusim.Device("MLU370-X4").launch(endless, observe=observe)

    async def scenario(app, pilot):
        await typed(app, pilot, "break bang_mul")
        await pilot.press("f5")
        await pilot.pause(0.2)
        assert app.busy
        await pressed(app, pilot, "ctrl+c")
        assert "interrupted" in log(app)
        assert "task 0 in endless" in log(app)

    on_screen(scenario, program)


RUNAWAY = """
import mlusim
from mlusim.bang import kernel

@kernel
def runaway(mlu):
    print("STARTED", flush=True)
    rounds = 0
    while True:
        rounds = rounds + 1

mlusim.Device("MLU370-X4").launch(runaway)
"""


def test_a_kernel_that_nobody_watches_can_be_interrupted(tmp_path):
    """A loop that never calls the machine stops where it is, and can be stepped from there; Ctrl-Q ends it."""
    script = tmp_path / "runaway.py"
    script.write_text(RUNAWAY)

    async def scenario(app, pilot):
        app.query_one(CommandLine).value = "run"
        await pilot.press("enter")
        await pilot.pause(0.2)
        assert app.busy
        app._seconds = 5
        app._tick()
        assert "running, 6 s: launch 1" in str(app.query_one("#title").visual)
        await pressed(app, pilot, "ctrl+c")
        assert "interrupted" in log(app)
        assert "rounds" in pane(app, "variables")
        await typed(app, pilot, "step")
        assert "rounds = rounds + 1" in log(app) or "while True" in log(app)
        app.query_one(CommandLine).value = "continue"
        await pilot.press("enter")
        await pilot.pause(0.2)
        assert app.busy

    on_screen(scenario, ScriptProgram(str(script)))


def test_the_real_screen_ends_a_runaway_kernel(tmp_path):
    """In a terminal, Ctrl-Q while the kernel runs ends the process without a signal."""
    script = tmp_path / "runaway.py"
    script.write_text(RUNAWAY)
    terminal, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "mlusim", "debug", str(script), "--tui"],
        stdin=side, stdout=side, stderr=side, start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color"},
    )  # fmt: skip
    os.close(side)
    shown = b""
    for wanted, keys in ((b"launch 1 begins", b"run\r"), (b"STARTED", b"\x11")):
        while wanted not in shown:
            shown += os.read(terminal, 65536)
        os.write(terminal, keys)
    with contextlib.suppress(OSError):
        while os.read(terminal, 65536):
            pass

    assert 0 == process.wait(60)


def test_a_quit_that_is_typed_ahead_is_heard(tmp_path):
    """Ctrl-Q before anything is drawn ends the view, and the terminal is as it was."""
    script = tmp_path / "runaway.py"
    script.write_text(RUNAWAY)
    terminal, side = pty.openpty()
    before = termios.tcgetattr(side)
    before[0] &= ~termios.IXON  # else the terminal eats the key before the program has begun
    termios.tcsetattr(side, termios.TCSANOW, before)
    os.write(terminal, b"\x11")
    process = subprocess.Popen(
        [sys.executable, "-m", "mlusim", "debug", str(script), "--tui"],
        stdin=side, stdout=side, stderr=side, start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color"},
    )  # fmt: skip
    drain = threading.Thread(target=_drained, args=(terminal,), daemon=True)
    drain.start()

    assert 0 == process.wait(120)
    assert before == termios.tcgetattr(side)
    os.close(side)
    drain.join()


def _drained(terminal):
    """Read until the other side is closed."""
    with contextlib.suppress(OSError):
        while os.read(terminal, 65536):
            pass


def test_a_program_that_cannot_begin_is_told_about():
    """The view leaves, and keeps the error for its caller."""

    async def run(app):
        async with app.run_test() as pilot:
            while app.busy:
                await pilot.pause(0.01)

    assert isinstance(beside(run, functools.partial(next, iter(()))).failure, StopIteration)


def test_without_a_terminal_there_is_no_screen(capsys):
    """The sentence says what to do instead."""
    from mlusim.cli.main import main  # noqa: PLC0415

    assert 2 == main(["debug", "tin_shift_forward", "--tui"])  # the standard output is a test's
    assert "--tui needs a terminal" in capsys.readouterr().err
