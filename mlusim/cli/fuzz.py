"""``mlusim fuzz``: calls of a kernel that are drawn where faults live, under the checkers, until one fails."""

import argparse
import shlex
from pathlib import Path

from rich.text import Text

from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.check.checking import report_of
from mlusim.check.findings_text import renderables
from mlusim.cli.arguments.fuzz import USUAL_SECONDS
from mlusim.cli.exits import CLEAN, FINDINGS
from mlusim.cli.settings import boards_in, names_in
from mlusim.cli.show import emit, output, progress
from mlusim.cli.sources import defines, is_source
from mlusim.counted import counted
from mlusim.errors import UsageError
from mlusim.fuzz.corpus import Corpus, KeptCall
from mlusim.fuzz.searching import FuzzResult, FuzzTask, refuse_unfit, search
from mlusim.fuzz.specification import CallDraw, specified
from mlusim.machine.scheduling.schedule import EFFECTS
from mlusim.observe.names import checkers, observers_of
from mlusim.programs.kernel_call import dim_of, kind_of, named_values
from mlusim.report.coverage import coverage_lines

EXAMPLE = (
    "as in `mlusim fuzz halve.mlu --arg 'n=int:1..20000' --arg 'x=in:float32:n' --arg 'y=out:float32:n'`"
)


def run(args: argparse.Namespace) -> int:
    """Search; returns 1 where a call fails."""
    task = _task(args)
    if args.record_of_lines is not None and args.jobs > 1:
        raise UsageError("--coverage counts lines in one process; leave --jobs out")
    corpus = Corpus(args.corpus or Path(task.paths[0]).with_suffix(".fuzz"))
    refuse_unfit(task)
    seconds = args.seconds if args.seconds or args.runs else USUAL_SECONDS
    with progress("fuzzing", args.runs or 0) as step:
        found = search(
            task,
            corpus,
            runs=args.runs,
            seconds=seconds,
            workers=args.jobs,
            restart=args.restart,
            typed=lambda call, place: _command(args, task, call, place),
            progress=step,
        )
    if args.json:
        emit(_document(task, found))
    else:
        _show(task, found)
    return CLEAN if found.failing is None else FINDINGS


def _task(args: argparse.Namespace) -> FuzzTask:
    if not is_source(args.program):
        raise UsageError(f"name a BANG C file, {EXAMPLE}")
    odd = next((word for word in args.arguments if not is_source(word)), None)
    if odd is not None:
        raise UsageError(
            f"{odd!r} is no BANG C file; arguments of the kernel are given with --arg, {EXAMPLE}"
        )
    names = tuple(names_in(args.only)) or tuple(checkers())
    observers_of(names)
    dims = tuple(dict.fromkeys(dim_of(one.strip()) for one in args.dim.split("|")))
    boards = tuple(boards_in(args.board, DEFAULT_BOARDS[:1]))
    return FuzzTask(
        (args.program, *args.arguments),
        tuple(args.include),
        tuple(defines(args.define).items()),
        args.kernel,
        kind_of(args.kind).name,
        CallDraw(specified(named_values(args.arg, "--arg")), dims, boards),
        args.reference,
        names,
        args.seed,
        args.limit,
    )


def _command(args: argparse.Namespace, task: FuzzTask, call: KeptCall, place: Path) -> str:
    """Return the line that makes *call* again, whose arrays are in *place*."""
    words = ["mlusim", "check", *task.paths]
    for folder in task.include:
        words += ["-I", folder]
    for define in args.define:
        words += ["-D", define]
    if args.kernel is not None:
        words += ["--kernel", args.kernel]
    words += ["--dim", ",".join(map(str, call.dim)).removesuffix(",1").removesuffix(",1")]
    if args.kind is not None:
        words += ["--kind", args.kind]
    words += ["--board", call.board]
    if call.effects != EFFECTS[0]:
        words += ["--effects", call.effects]
    if call.schedule is not None:
        words += ["--seed", str(call.schedule)]
    for name, text in call.arguments.items():
        words += ["--arg", f"{name}={_placed(name, text, place)}"]
    if args.only:
        words += ["--only", ",".join(task.checkers)]
    if task.reference is not None:
        words += ["--reference", task.reference]
    return shlex.join(words)


def _placed(name: str, text: str, place: Path) -> str:
    """Return the text of an argument with the file of its array where it is kept."""
    head, path = ("inout:", text[len("inout:") :]) if text.startswith("inout:") else ("", text)
    return f"{head}{place / path}" if path == f"{name}.npy" else text


def _document(task: FuzzTask, found: FuzzResult) -> dict[str, object]:
    failing = found.failing
    return {
        "program": task.paths[0],
        "seed": task.seed,
        "first": found.first,
        "draws": found.done - found.first,
        "kept": found.kept,
        "cut_off": found.cut_off,
        "lines": found.lines.to_json()["summary"],
        "failing": None
        if failing is None
        else {
            "id": failing.fault.id,
            "message": failing.fault.message,
            "file": failing.fault.file,
            "line": failing.fault.line,
            "kernel": failing.call.kernel,
            "dim": list(failing.call.dim),
            "board": failing.call.board,
            "effects": failing.call.effects,
            "arguments": dict(failing.call.arguments),
            "command": failing.call.command,
            "folder": str(failing.place),
            "draw": failing.number,
            "runs_to_shrink": failing.runs,
        },
    }


def _show(task: FuzzTask, found: FuzzResult) -> None:
    console, failing = output(), found.failing
    if failing is not None:
        for one in renderables(report_of(task.checkers, [failing.checked])):
            console.print(one, soft_wrap=True)
        come = (
            "a kept call"
            if failing.number is None
            else f"draw {failing.number}, made small in {counted(failing.runs, 'run')}"
        )
        console.print(Text(f"found by {come}; it fails again with"), soft_wrap=True)
        console.print(Text(f"  {failing.call.command}"), soft_wrap=True)
        return
    for line in coverage_lines(found.lines):
        console.print(Text(line), soft_wrap=True)
    kept = f"{counted(found.kept, 'kept call')} and " if found.kept else ""
    console.print(
        Text(
            f"{kept}{counted(found.done - found.first, 'draw')} without a finding: "
            f"{found.first} to {found.done} of seed {task.seed}"
        ),
        soft_wrap=True,
    )
    if found.cut_off:
        console.print(
            Text(
                f"{counted(found.cut_off, 'run')} went beyond {task.limit} and ended there; --limit says how far"
            ),
            soft_wrap=True,
        )
