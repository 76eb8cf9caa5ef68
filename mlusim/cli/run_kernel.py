"""``mlusim run FILE.mlu``: one kernel of BANG C sources with arguments from the command line."""

import argparse
import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mlusim.cli.entry import CLEAN, FINDINGS
from mlusim.cli.plain_text import print_lines, wrote
from mlusim.files.writing import write_arrays
from mlusim.machine.hub import EveryStep
from mlusim.report.achieved import reached

if TYPE_CHECKING:
    from mlusim.programs.expectation import Compared
    from mlusim.programs.kernel_call import Called, KernelCall

SHOW = "mlusim.cli.show"  # loaded where there is more to show than lines of plain text
REFERENCE, LINES, LAUNCHES = "mlusim.cli.calls", "mlusim.report.tables.lines", "mlusim.report.launches"


def run(args: argparse.Namespace, call: "KernelCall") -> int:
    """Launch, show, compare, save; returns 1 for findings or failed accuracy."""
    expected = None
    if args.reference is not None or args.expect or getattr(args, "named_case", None) is not None:
        expected = importlib.import_module(REFERENCE).expectation_of(args)
    done = call.run([EveryStep()] if args.trace or args.lines else [])
    judged: Mapping[str, Compared] = {} if expected is None else expected.compared(call, done)
    passed = all(one.accuracy.passed for one in judged.values())
    if args.json:
        importlib.import_module(SHOW).emit(_document(call, done, judged))
    else:
        _show(done, judged)
        if args.lines:
            lines, show = importlib.import_module(LINES), importlib.import_module(SHOW)
            show.output().print(
                "", lines.launch_lines(done.launch), show.Text(lines.NOTE, style="dim"), sep="\n"
            )
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
    print_lines(_told(done, judged))
    if done.findings:
        show = importlib.import_module(SHOW)
        console = show.output()
        for finding in done.findings:
            shown = finding if hasattr(finding, "__rich_console__") else show.Text(str(finding))
            console.print("", shown, sep="\n")


def _told(done: "Called", judged: Mapping[str, "Compared"]) -> Iterator[tuple[str, str]]:
    """Yield each line about the launch, and its style."""
    launch, dim = done.launch, ",".join(map(str, done.launch.dim))
    yield (
        f"{launch.kernel} on {launch.board}, {dim} {launch.kind}: {launch.time_us:.2f} us, bound by {launch.bound}",
        "",
    )
    if launch.tasks:
        yield f"  {reached(launch)}", "dim"
    for line in launch.printed:
        yield line.removesuffix("\n"), ""
    for name, array in done.outputs.items():
        flat = np.array2string(array.reshape(-1)[:8], separator=", ", max_line_width=500)
        yield f"  {name} {array.dtype}{list(array.shape)}: {flat}{' ...' if array.size > 8 else ''}", ""
    for name, one in judged.items():
        yield f"  {name}: {one.told}", "green" if one.accuracy.passed else "bold red"
