"""The debugger's console on a terminal: colours, recalled lines, an init file, and a progress line while something runs."""

import contextlib
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mlusim.cli.plain_text import say
from mlusim.files.paths import lines_shown
from mlusim.lazy import lazy

if TYPE_CHECKING:
    import rich.console as terminals
    import rich.text as texts
    from rich import syntax

    from mlusim.debug import Console
else:  # a session that is no person's has no colours
    terminals, syntax, texts = lazy("rich.console", "rich.syntax", "rich.text")

HOME = Path("~/.mlusim")
INIT, HISTORY = "debug-init", "debug-history"
LINES = 1000  # lines that are recalled in later sessions
PATIENCE = 1.0  # seconds before a command that still runs says so
_SOURCE = re.compile(r"^(?P<head>\d+\t)(?P<code>.*)$")


def coloured(text: str) -> "texts.Text":
    """Return an answer with its lines of source highlighted, and the reason of a stop standing out."""
    lines = []
    for line in text.split("\n"):
        found = _SOURCE.match(line)
        if found is not None:
            code = syntax.Syntax("", "python", theme="ansi_dark").highlight(found["code"])
            code.rstrip()
            lines.append(texts.Text.assemble((found["head"].expandtabs(8), "dim"), code))
        elif line.startswith(("Breakpoint ", "Watchpoint ")):
            lines.append(texts.Text(line, "bold"))
        else:
            lines.append(texts.Text(line, "red" if line.startswith(("error: ", "fault: ")) else ""))
    return texts.Text("\n").join(lines)


def show(text: str, *, terminal: bool) -> None:
    """Print an answer; on a terminal with colours, unless NO_COLOR says otherwise."""
    if terminal and sys.stdout.isatty():
        terminals.Console(soft_wrap=True, highlight=False, markup=False).print(coloured(lines_shown(text)))
    else:
        say(text)


def begin(console: "Console") -> Iterator[str]:
    """Execute the lines of the user's init file, if there is one; the answers."""
    path = HOME.expanduser() / INIT
    if path.is_file():
        for reply in console.execute_file(str(path)):
            if reply.text:
                yield reply.text if reply.ok else f"{path}: {reply.text}"


@contextlib.contextmanager
def recalled(console: "Console") -> Iterator[None]:
    """Let lines of the block be recalled, those of earlier sessions too, and complete words at the tab key."""
    try:
        import readline  # noqa: PLC0415 - not on every system
    except ImportError:
        yield
        return
    found: list[str] = []

    def complete(text: str, state: int) -> str | None:
        if state == 0:
            found[:] = console.complete(readline.get_line_buffer()[: readline.get_endidx()])
        del text
        return found[state] if state < len(found) else None

    readline.set_completer_delims(" ")
    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")
    path = HOME.expanduser() / HISTORY
    readline.set_history_length(LINES)
    with contextlib.suppress(OSError):
        readline.read_history_file(path)
    try:
        yield
    finally:
        readline.set_completer(None)
        with contextlib.suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            readline.write_history_file(path)
            path.chmod(0o600)


@contextlib.contextmanager
def ticking(progress: Callable[[], str]) -> Iterator[None]:
    """Show on standard error, while the block runs, that something runs, for how long, and how far it has come."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    done, stream = threading.Event(), sys.stderr  # not the one that stands for it while kernels run

    def tick() -> None:
        seconds = 0
        while not done.wait(PATIENCE):
            seconds += 1
            stream.write(f"\r\x1b[Krunning, {seconds} s: {progress()}; Ctrl-C stops it")
            stream.flush()
        if seconds:
            stream.write("\r\x1b[K")
            stream.flush()

    thread = threading.Thread(target=tick, name="mlusim progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
