"""``mlusim run`` of a program that launches by itself: a script, a test, or BANG C with a ``main`` of its own."""

import argparse
import contextlib
import sys
from typing import Any

from rich.text import Text

from mlusim.check.checking import printing_aside
from mlusim.cli.entry import FINDINGS
from mlusim.cli.launched import Launched, launched
from mlusim.cli.plain_text import wrote
from mlusim.cli.show import emit, output
from mlusim.engine.preference import NATIVE
from mlusim.errors import UsageError
from mlusim.programs.command_program import CommandProgram
from mlusim.programs.host_program import HostProgram
from mlusim.programs.program import Program
from mlusim.report.launches import launch_facts, launches_view, write_launches

OF_ONE_CALL = ("reference", "expect", "save")


def run(args: argparse.Namespace, program: Program) -> int:
    """Execute it; returns its exit status, or where that is 0 what `mlusim profile` does for findings, errors and faults."""
    unfit = next((o for o in OF_ONE_CALL if getattr(args, o, None)), None)
    if unfit is not None:
        raise UsageError(
            f"--{unfit} goes with one kernel; name it with --kernel, or write files in the program"
        )
    watched = bool(args.trace or args.lines)
    with printing_aside() if args.json else contextlib.nullcontext():
        done = launched(program, lines=watched and args.engine != NATIVE, processes=False)
    if args.json:
        emit(_document(args, program, done))
    else:
        _show(args, done, printed=not isinstance(program, CommandProgram | HostProgram))
    if args.trace and done.launches:
        write_launches(args.trace, done.launches)
        wrote("timeline", args.trace)
    if isinstance(done.ended, SystemExit):
        return _status(done.ended) or (FINDINGS if done.findings else 0)
    return done.finish() if done.launches or done.ended is not None else 0


def _status(leaving: SystemExit) -> int:
    """Return the exit status; one that is a sentence is said, as Python does."""
    if leaving.code is None or isinstance(leaving.code, int):
        return leaving.code or 0
    print(leaving.code, file=sys.stderr)
    return 1


def _show(args: argparse.Namespace, done: Launched, *, printed: bool) -> None:
    """Print what kernels *printed*, their lines, and the findings; the program has printed the rest."""
    console = output()
    for launch in done.launches:
        for line in launch.printed if printed else ():
            console.print(Text(line.removesuffix("\n")), soft_wrap=True)
    if args.lines and done.launches:
        console.print(launches_view(list(enumerate(done.launches, 1)), lines=True, every=True))
        return
    for finding in done.findings:
        console.print("", finding if hasattr(finding, "__rich_console__") else Text(str(finding)), sep="\n")


def _document(args: argparse.Namespace, program: Program, done: Launched) -> dict[str, Any]:
    boards = dict.fromkeys(launch.board for launch in done.launches)
    own = program.sources.board.name if isinstance(program, HostProgram) else next(iter(boards), None)
    return {
        "program": args.program,
        "arguments": list(getattr(program, "arguments", ())),
        "board": own,
        "exit_status": _status(done.ended) if isinstance(done.ended, SystemExit) else 0,
        "launches": [launch_facts(launch) for launch in done.launches],
        "findings": [finding.to_json() for finding in done.findings],
    }
