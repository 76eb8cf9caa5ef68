"""``mlusim run LAB.mlu``: a program of BANG C sources with a ``main`` of its own."""

import argparse
import contextlib
from typing import TYPE_CHECKING, Any

from rich.text import Text

from mlusim.check.checking import printing_aside
from mlusim.cli.exits import FINDINGS
from mlusim.cli.show import emit, output
from mlusim.errors import UsageError
from mlusim.files.writing import write
from mlusim.observe.every_step import EveryStep
from mlusim.report.chrome import write_trace

if TYPE_CHECKING:
    from mlusim.programs.host_program import HostProgram

OF_CALLS = ("reference", "save", "lines")


def run(args: argparse.Namespace, program: "HostProgram") -> int:
    """Execute ``main``; returns its exit status, or 1 where that is 0 and there are findings."""
    unfit = next((o for o in OF_CALLS if getattr(args, o, None)), None)
    if unfit is not None:
        raise UsageError(f"--{unfit} goes with one kernel; name it with --kernel, or use `mlusim profile`")
    status = 0
    with printing_aside() if args.json else contextlib.nullcontext():
        try:
            program.run([EveryStep()] if args.trace else [])
        except SystemExit as leaving:
            status = int(leaving.code or 0)
    findings = [finding for launch in program.launches for finding in launch.findings]
    if args.json:
        emit(_document(program, status, findings))
    else:
        _show(program, findings)
    if args.trace:
        write(args.trace, lambda file: write_trace(file, program.launches), keep=True)
    return status or (FINDINGS if findings else status)


def _show(program: "HostProgram", findings: list[Any]) -> None:
    """What kernels printed, and what the checkers found; the program has printed the rest."""
    console = output()
    for launch in program.launches:
        for line in launch.printed:
            console.print(Text(line), soft_wrap=True)
    for finding in findings:
        console.print("", finding if hasattr(finding, "__rich_console__") else Text(str(finding)), sep="\n")


def _document(program: "HostProgram", status: int, findings: list[Any]) -> dict[str, Any]:
    return {
        "program": program.sources.paths[0],
        "arguments": list(program.arguments),
        "board": program.sources.board.name,
        "exit_status": status,
        "launches": [
            {
                "kernel": launch.kernel,
                "dim": list(launch.dim),
                "kind": launch.kind,
                "engine": launch.engine,
                "time_us": launch.time_us,
            }
            for launch in program.launches
        ],
        "findings": [finding.to_json() for finding in findings],
    }
