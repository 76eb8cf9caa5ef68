"""``mlusim run FILE.mlu``: one kernel of BANG C sources with arguments from the command line."""

import argparse
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from mlusim.cli.exits import CLEAN, FINDINGS
from mlusim.cli.plain_text import wrote
from mlusim.cli.show import emit, output
from mlusim.files.writing import write_arrays
from mlusim.observe.every_step import EveryStep
from mlusim.report.achieved import reached

if TYPE_CHECKING:
    from mlusim.programs.expectation import Compared
    from mlusim.programs.kernel_call import Called, KernelCall

REFERENCE, LINES, LAUNCHES = "mlusim.cli.reference", "mlusim.report.tables.lines", "mlusim.report.launches"


def run(args: argparse.Namespace, call: "KernelCall") -> int:
    """Launch, show, compare, save; returns 1 for findings or failed accuracy."""
    expected = None
    if args.reference is not None or args.expect or getattr(args, "named_case", None) is not None:
        expected = importlib.import_module(REFERENCE).expectation_of(args)
    done = call.run([EveryStep()] if args.trace or args.lines else [])
    judged: Mapping[str, Compared] = {} if expected is None else expected.compared(call, done)
    passed = all(one.accuracy.passed for one in judged.values())
    if args.json:
        emit(_document(call, done, judged))
    else:
        _show(done, judged)
        if args.lines:
            lines = importlib.import_module(LINES)
            output().print("", lines.launch_lines(done.launch), Text(lines.NOTE, style="dim"), sep="\n")
    try:
        if args.save:
            write_arrays(args.save, dict(done.outputs), keep=True)
            wrote("outputs", args.save)
    finally:  # neither file costs the other
        if args.trace:
            importlib.import_module(LAUNCHES).write_launches(args.trace, [done.launch])
            wrote("timeline", args.trace)
    return CLEAN if passed and not done.findings else FINDINGS


def _document(call: "KernelCall", done: "Called", judged: Mapping[str, "Compared"]) -> dict[str, Any]:
    launch = done.launch
    return {
        "program": call.sources.paths[0],
        "kernel": launch.kernel,
        "board": launch.board,
        "accuracy": {name: one.to_json() for name, one in judged.items()},
        "launches": [importlib.import_module(LAUNCHES).launch_facts(launch)],
        "instructions": dict(launch.instructions),
        "traffic": dict(launch.traffic),
        "memory": {n: {"capacity": u.capacity, "high_water": u.high_water} for n, u in launch.memory.items()},
        "findings": [f.to_json() for f in done.findings],
        "outputs": {n: {"shape": list(a.shape), "dtype": str(a.dtype)} for n, a in done.outputs.items()},
        "printed": list(launch.printed),
    }


def _show(done: "Called", judged: Mapping[str, "Compared"]) -> None:
    console, launch = output(), done.launch
    dim = ",".join(map(str, launch.dim))
    console.print(
        Text(
            f"{launch.kernel} on {launch.board}, {dim} {launch.kind}: {launch.time_us:.2f} us, bound by {launch.bound}"
        ),
        soft_wrap=True,
    )
    if launch.tasks:
        console.print(Text(f"  {reached(launch)}", style="dim"), soft_wrap=True)
    for line in launch.printed:
        console.print(Text(line.removesuffix("\n")), soft_wrap=True)
    for name, array in done.outputs.items():
        flat = np.array2string(array.reshape(-1)[:8], separator=", ", max_line_width=500)
        console.print(
            Text(f"  {name} {array.dtype}{list(array.shape)}: {flat}{' ...' if array.size > 8 else ''}"),
            soft_wrap=True,
        )
    for name, one in judged.items():
        a = one.accuracy
        told = Text(f"  {name}: {one.told}", style="green" if a.passed else "bold red")
        console.print(told, soft_wrap=True)
    for finding in done.findings:
        console.print("", finding if hasattr(finding, "__rich_console__") else Text(str(finding)), sep="\n")
