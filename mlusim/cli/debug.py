"""``mlusim debug``: the kernel debugger on an operator or a script."""

import argparse
import contextlib
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve

from mlusim.cli import entry, options, programs, show
from mlusim.debug import Console, DebugSession, Reply
from mlusim.debug.run.launches import DEFAULT_HISTORY
from mlusim.debug.tui.terminal import Terminal, terminal_taken
from mlusim.debug.worker import interruptible
from mlusim.document import Document
from mlusim.errors import Fault, UsageError
from mlusim.files.reading import lines_shown, read_text
from mlusim.installing import missing_packages
from mlusim.lazy import lazy

if TYPE_CHECKING:
    import rich.console as terminals
    import rich.text as texts
    from rich import syntax

    from mlusim.cli import cases
    from mlusim.debug import recording as recordings
    from mlusim.debug.recording import Recording
    from mlusim.debug.tui import app as screen
else:  # a session that is not interactive has no colours
    cases, recordings, screen, terminals, syntax, texts = lazy(
        "mlusim.cli.cases",
        "mlusim.debug.recording",
        "mlusim.debug.tui.app",
        "rich.console",
        "rich.syntax",
        "rich.text",
    )


PROMPT = "(mlusim) "


def run(args: argparse.Namespace) -> int:
    """Debug; returns 2 if a command was invalid, 3 after a fault, 1 after failed accuracy."""
    history = DEFAULT_HISTORY if args.history is None else args.history << 20
    if history < 0:
        raise UsageError(f"--history {args.history} is negative; give MiB, 0 or more")
    if programs.is_cases(args.program):
        args = cases.applied(args, cases.one_case(args))
    recording = _recording(args)
    if args.show:
        return _shown(recording)
    if args.tui:
        return _full_screen(args, history, recording)
    if args.json and not (args.command or args.script):
        raise UsageError("--json goes with --command or --script")
    with show.printing_aside(args.json):
        console, notes = _console(args, history, recording)
        try:
            with interruptible(lambda: console.session.interrupt()):  # noqa: PLW0108 - `replay` changes the session
                for note in notes:
                    show.remark(f"note: {note}")
                if not (args.command or args.script):
                    return _interactive(console)
                replies = _scripted(args, console)
            facts, code = _facts(console, replies), _code(console, all(r.ok for _, r in replies))
        finally:
            console.session.close()
    # The text of each answer was printed as it came.
    show.say(Document(lambda: facts, lambda: ()), json=args.json)
    return code


def _recording(args: argparse.Namespace) -> "Recording | None":
    """Return the named recording; at a terminal the user is asked whether its code may run."""
    if args.replay is None:
        if args.trust or args.show:
            raise UsageError(f"--{'trust' if args.trust else 'show'} goes with --replay")
        return None
    if args.program is not None:
        raise UsageError("--replay names the program; leave the operator or script out")
    recording = recordings.load(args.replay, trust=args.trust)
    if recording.code and not (args.trust or args.show) and options.allowed(args.replay, recording.code):
        return evolve(recording, trusted=True)
    return recording


def _shown(recording: "Recording | None") -> int:
    """Print the code that the recording would run."""
    if recording is not None:
        show.text(
            options.listing(recording.code) or f"{recording.name} holds a call of {recording.stored_name}"
        )
        for breakpoint_ in recording.facts.breakpoints:
            if breakpoint_.condition:
                show.text(
                    options.listing(
                        {f"the condition of breakpoint {breakpoint_.words}": breakpoint_.condition}
                    )
                )
    return entry.CLEAN


def _console(
    args: argparse.Namespace, history: int, recording: "Recording | None"
) -> tuple[Console, list[str]]:
    """Return a console for the program or the recording, and sentences about its differences from the recording."""
    if recording is None:
        return Console(DebugSession(programs.judged_program_of(args), history=history)), []
    session = DebugSession(recordings.program_in(recording), history=history)
    return Console(session), recordings.stand(session, recording)


# -- the dialogue ------------------------------------------------------------------------------------


def _scripted(args: argparse.Namespace, console: Console) -> list[tuple[str, Reply]]:
    """Execute the given commands up to the first invalid one; with ``--json`` print nothing."""
    replies: list[tuple[str, Reply]] = []
    for text in _given(args):
        if not args.json:
            show.text(f"{PROMPT}{text}")
        reply = console.execute(text)
        replies.append((text, reply))
        if not args.json and reply.text:
            show.text(reply.text)
        if not reply.ok or reply.leaves:
            break
    return replies


def _given(args: argparse.Namespace) -> Iterator[str]:
    yield from args.command
    if args.script:
        text = read_text(args.script)
        yield from (line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))


def _facts(console: Console, replies: list[tuple[str, Reply]]) -> dict[str, Any]:
    session = console.session
    site = session.site() if session.launches else None
    return {
        "program": session.program.name,
        "commands": [reply.facts(line) for line, reply in replies],
        "ended": session.ended,
        "position": {"launch": session.position.launch, "moment": None if session.position.at_end else session.position.moment, "lines": session.position.lines if session.position.exact else None},
        "task": session.focus,
        "file": None if site is None else site[0],
        "line": None if site is None else site[1],
    }  # fmt: skip


def _code(console: Console, ok: bool) -> int:
    session = console.session
    if not ok:
        return entry.USAGE
    if isinstance(session.host.failure, Fault) or isinstance(session.stop.error, Fault):
        return entry.FAULT
    if session.ended and session.host.failure is not None:
        return entry.USAGE  # as `check` returns for a script that raises
    passed = getattr(session.host.result, "passed", True)
    return entry.CLEAN if passed or not session.ended else entry.FINDINGS


def _interactive(console: Console) -> int:
    """Read commands until one ends the debugger or the input ends."""
    terminal = sys.stdin.isatty()
    show.text(f"mlusim debug {console.session.program.name}: `help` lists the commands, `run` begins")
    answer(console.stop_text(), terminal=terminal)
    if not terminal:
        return _code(console, _conversation(console, terminal=False))
    with recalled(console):
        for text in begin(console):
            answer(text, terminal=True)
        _conversation(console, terminal=True)
    return entry.CLEAN


def _conversation(console: Console, *, terminal: bool) -> bool:
    """Read and execute commands; return whether the last one was valid."""
    ok = True
    while True:
        try:
            with foreground():
                line = input(PROMPT)
        except EOFError:
            print()
            break
        except KeyboardInterrupt:
            print("\n`quit` leaves")
            continue
        if not terminal:
            print(line)
        with ticking(lambda: console.session.progress()) if terminal else contextlib.nullcontext():  # noqa: PLW0108 - `replay` changes the session
            reply = console.execute(line)
        ok = reply.ok
        if reply.text:
            answer(reply.text, terminal=terminal)
        if reply.leaves:
            break
    return ok


def _full_screen(args: argparse.Namespace, history: int, recording: "Recording | None") -> int:
    """Run the Textual screen in a thread of its own, and return the exit code."""
    if args.json or args.command or args.script:
        raise UsageError("--tui is for people; leave --json, --command and --script out")
    with terminal_taken() as terminal:  # before Textual is imported, which takes time
        return _at(terminal, args, history, recording)


def _at(terminal: Terminal, args: argparse.Namespace, history: int, recording: "Recording | None") -> int:
    try:
        show_screen = screen.show
    except ImportError as error:
        raise missing_packages(f"the full-screen view ({error})", "tui", "textual") from None
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("--tui needs a terminal; without one give commands with --command or in a pipe")

    def make() -> Console:
        console = _console(args, history, recording)[0]
        list(begin(console))  # its settings count; its answers are not shown
        return console

    failure = show_screen(make, terminal)
    if failure is not None:
        raise failure
    return entry.CLEAN


# -- the console on a terminal -------------------------------------------------------------------------

HOME = Path("~/.mlusim")
INIT, HISTORY = "debug-init", "debug-history"
LINES = 1000  # lines stored for later sessions
PATIENCE = 1.0  # seconds after which a running command is reported
_SOURCE = re.compile(r"^(?P<head>\d+\t)(?P<code>.*)$")


def coloured(text: str) -> "texts.Text":
    """Return an answer with its source lines highlighted and the reason of a stop emphasized."""
    lines = []
    for line in text.split("\n"):
        source = _SOURCE.match(line)
        if source is not None:
            code = syntax.Syntax("", "python", theme="ansi_dark").highlight(source["code"])
            code.rstrip()
            lines.append(texts.Text.assemble((source["head"].expandtabs(8), "dim"), code))
        elif line.startswith(("Breakpoint ", "Watchpoint ")):
            lines.append(texts.Text(line, "bold"))
        else:
            lines.append(texts.Text(line, "red" if line.startswith(("error: ", "fault: ")) else ""))
    return texts.Text("\n").join(lines)


def answer(text: str, *, terminal: bool) -> None:
    """Print an answer; on a terminal with colours, unless NO_COLOR is set."""
    if terminal and sys.stdout.isatty():
        terminals.Console(soft_wrap=True, highlight=False, markup=False).print(coloured(lines_shown(text)))
    else:
        show.text(text)


def begin(console: "Console") -> Iterator[str]:
    """Execute the lines of the user's init file, if there is one, and yield the answers."""
    # Unlike the code of a recording, this file is the user's own, and runs without a question.
    path = HOME.expanduser() / INIT
    if path.is_file():
        for reply in console.execute_file(str(path)):
            if reply.text:
                yield reply.text if reply.ok else f"{path}: {reply.text}"


@contextlib.contextmanager
def recalled(console: "Console") -> Iterator[None]:
    """Let the user recall lines, also those of earlier sessions, and complete words with the tab key during the block."""
    try:
        import readline  # noqa: PLC0415 - not on every system
    except ImportError:
        yield
        return
    completions: list[str] = []

    def complete(text: str, state: int) -> str | None:
        if state == 0:
            completions[:] = console.complete(readline.get_line_buffer()[: readline.get_endidx()])
        del text
        return completions[state] if state < len(completions) else None

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
    """Show on standard error that the block is running, for how long, and how far it is."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    done, stream = threading.Event(), sys.stderr  # not the stream that replaces it while kernels run

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


# -- a terminal that a host debugger has given to the program that it runs -----------------------------


@contextlib.contextmanager
def foreground() -> Iterator[None]:
    """Take the terminal from a descendant process for the block and give it back: without it, a read would fail."""
    group = _group_below()
    if group is None:
        yield
        return
    held = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])  # or taking it would stop us
    try:
        os.tcsetpgrp(sys.stdin.fileno(), os.getpgrp())
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # the group has ended
                os.tcsetpgrp(sys.stdin.fileno(), group)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _group_below() -> int | None:
    """Return the process group that has the terminal, if its leader is a descendant of this process; otherwise None."""
    try:
        group = os.tcgetpgrp(sys.stdin.fileno())
    except (OSError, ValueError):  # no terminal
        return None
    return group if group != os.getpgrp() and _below(group) else None


def _below(pid: int) -> bool:
    """Return whether *pid* is a descendant of this process."""
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
        if pid == os.getpid():
            return True
    return False
