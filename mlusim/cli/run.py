"""``mlusim run``: one BANG C kernel, or a program that makes its own launches; `mlusim.cli.run_operator` runs operators."""

import argparse
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mlusim.cli import entry, options, programs, show
from mlusim.document import Document, Part, Unfolded
from mlusim.errors import Fault, UsageError
from mlusim.files.writing import check_writable
from mlusim.lazy import lazy
from mlusim.machine.hub import EveryStep
from mlusim.report.figures import reached

if TYPE_CHECKING:
    from rich import text as texts

    from mlusim.cli import cases
    from mlusim.cli.launched import Launched
    from mlusim.programs import expectation, kernel_call as kernel_calls, native_program as natives
    from mlusim.programs.program import Program
    from mlusim.report import launch_files, launches, tables
else:  # one kernel needs no program, and only tables need rich
    texts, cases, natives, launch_files, launches, tables = lazy(
        "rich.text",
        "mlusim.cli.cases",
        "mlusim.programs.native_program",
        "mlusim.report.launch_files",
        "mlusim.report.launches",
        "mlusim.report.tables",
    )


OPERATOR, PROGRAM = "mlusim.cli.run_operator", "mlusim.cli.launched"
CHECK = "note: `mlusim check` of the same call looks for the cause: races, bytes that were never written, barriers, memory that is left"
OF_ONE_CALL = ("reference", "expect", "save")


def run(args: argparse.Namespace) -> int:
    """Run the subject; returns 1 for findings or failed accuracy, 2 for a refusal, 3 for a fault."""
    if args.program is None:
        raise UsageError(
            "name what to run, as in `mlusim run tin_shift_forward`; `mlusim ops` lists operators"
        )
    check_writable(args.save, args.trace)
    if programs.is_cases(args.program):
        entry.collect_as_usual()
        return cases.each(args, run)
    if not programs.is_program(args.program):
        return _advised(args, loaded(OPERATOR), args)
    for option, asked in (("--lines", args.lines), ("--trace", args.trace)):
        if asked:
            show.superseded(
                args, f"run {option} of a program", f"`mlusim profile` with the same words and {option}"
            )
    program = programs.program_and_kernel(args)[0]
    if programs.is_call(program, args):
        entry.collect_as_usual()
        return _advised(args, _run_call, args, program)
    return _run_program(args, program, loaded(PROGRAM, "launched"))


def _advised(args: argparse.Namespace, run: Callable[..., int], *words: object) -> int:
    """Call *run* with *words* and return its exit code; if it fails, add a note that names the verb that finds the cause."""
    try:
        code = run(*words)
    except Fault as fault:
        fault.add_note(CHECK)
        raise
    if code in (entry.FINDINGS, entry.FAULT) and not args.check:
        show.remark(CHECK)
    return code


def loaded(module: str, name: str = "run") -> Callable[..., Any]:
    """Return the function *name* of *module*, which only operators and whole programs need; garbage collection is no longer delayed."""
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    entry.collect_as_usual()
    return function


# -- one kernel of BANG C ------------------------------------------------------------------------------


def _run_call(args: argparse.Namespace, call: "kernel_calls.KernelCall") -> int:
    """Launch, show, compare, save; returns 1 for findings or failed accuracy."""
    expected = None
    if args.reference is not None or args.expect or getattr(args, "named_case", None) is not None:
        expected = programs.expectation_of(args)
    done = call.run([EveryStep()] if args.trace or args.lines else [])
    judged: Mapping[str, expectation.Compared] = (
        {} if expected is None else expected.compared(call.scope(), call.inputs, done.outputs)
    )
    passed = all(compared.accuracy.passed for compared in judged.values())
    remark = "" if passed else call.depends_on_memory_cores(done)
    told = Document(
        lambda: _call_facts(call, done, judged) | ({"remark": remark} if remark else {}),
        lambda: _call_parts(args, done, judged, remark),
    )
    show.say(told, json=args.json)
    options.write_outcome(args, done.outputs, lambda name: launch_files.write_launches(name, [done.launch]))
    return entry.CLEAN if passed and not done.findings else entry.FINDINGS


def _call_facts(
    call: "kernel_calls.KernelCall", done: "kernel_calls.Called", judged: Mapping[str, "expectation.Compared"]
) -> dict[str, Any]:
    launch = done.launch
    return {
        "program": call.asked.file,
        "kernel": launch.kernel,
        "board": launch.board,
        "accuracy": {name: compared.to_json() for name, compared in judged.items()},
        "launches": [launch_files.launch_facts(launch)],
        "instructions": dict(launch.instructions),
        "traffic": dict(launch.traffic),
        "memory": {n: {"capacity": u.capacity, "high_water": u.high_water} for n, u in launch.memory.items()},
        "findings": [f.to_json() for f in done.findings],
        "outputs": {n: {"shape": list(a.shape), "dtype": str(a.dtype)} for n, a in done.outputs.items()},
        "printed": list(launch.printed),
    }


def _call_parts(
    args: argparse.Namespace,
    done: "kernel_calls.Called",
    judged: Mapping[str, "expectation.Compared"],
    remark: str,
) -> Iterator[Part]:
    """Yield lines about the launch, its output and its findings; *remark* is what explains a wrong output."""
    launch, dim = done.launch, ",".join(map(str, done.launch.dim))
    yield Unfolded(
        f"{launch.kernel} on {launch.board}, {dim} {launch.kind}: {launch.time_us:.2f} us, bound by {launch.bound}"
    )
    if launch.tasks:
        yield Unfolded(f"  {reached(launch)}", "dim")
    for line in launch.printed:
        yield Unfolded(line.removesuffix("\n"))
    for name, array in done.outputs.items():
        flat = np.array2string(array.reshape(-1)[:8], separator=", ", max_line_width=500)
        yield Unfolded(f"  {name} {array.dtype}{list(array.shape)}: {flat}{' ...' if array.size > 8 else ''}")
    yield from show.judged_lines(judged)
    if remark:
        yield Unfolded(f"  {remark}", "bold red")
    yield from show.findings(done.findings)
    if args.lines:
        yield from ("", tables.launch_lines(done.launch), texts.Text(tables.LINES_NOTE, style="dim"))


# -- a program that makes its own launches: a script, a test, or BANG C with a ``main`` ----------------


def _run_program(args: argparse.Namespace, program: "Program", launched: Callable[..., "Launched"]) -> int:
    """Execute *program* by *launched*; returns its exit status, or if that is 0, the exit code of `mlusim profile` for findings, errors and faults."""
    only = "goes with one kernel; name it with --kernel, or write files in the program"
    options.refuse(args, OF_ONE_CALL, only)
    watched = bool(args.trace or args.lines)
    with show.printing_aside(args.json):
        done = launched(program, lines=watched, processes=False)
    # The program's output is on standard output already.
    printed = not isinstance(program, natives.CommandProgram | natives.HostProgram)
    told = Document(
        lambda: _program_facts(args, program, done), lambda: _program_parts(args, done, printed=printed)
    )
    show.say(told, json=args.json)
    if args.trace and done.launches:
        launch_files.write_launches(args.trace, done.launches)
        show.wrote("timeline", args.trace)
    if isinstance(done.ended, SystemExit):
        return _status(done.ended) or (entry.FINDINGS if done.findings else 0)
    return done.finish() if done.launches or done.ended is not None else 0


def _status(leaving: SystemExit) -> int:
    """Return the exit status; a status that is a sentence is printed, as by Python."""
    if leaving.code is None or isinstance(leaving.code, int):
        return leaving.code or 0
    print(leaving.code, file=sys.stderr)
    return 1


def _program_parts(args: argparse.Namespace, done: "Launched", *, printed: bool) -> Iterator[Part]:
    """Yield the output of kernels if *printed*, the times of lines, and the findings; the program's own output was printed before."""
    for launch in done.launches if printed else ():
        yield from (Unfolded(line.removesuffix("\n")) for line in launch.printed)
    if args.lines and done.launches:
        yield launches.launches_view(list(enumerate(done.launches, 1)), lines=True, every=True)
    else:
        yield from show.findings(done.findings)


def _program_facts(args: argparse.Namespace, program: "Program", done: "Launched") -> dict[str, Any]:
    boards = dict.fromkeys(launch.board for launch in done.launches)
    board = program.asked.board if isinstance(program, natives.HostProgram) else next(iter(boards), None)
    return {
        "program": args.program,
        "arguments": list(getattr(program, "arguments", ())),
        "board": board,
        "exit_status": _status(done.ended) if isinstance(done.ended, SystemExit) else 0,
        "launches": [launch_files.launch_facts(launch) for launch in done.launches],
        "findings": [finding.to_json() for finding in done.findings],
    }
