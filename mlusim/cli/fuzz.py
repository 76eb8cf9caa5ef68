"""``mlusim fuzz``: calls of a kernel or an operator, drawn where faults are likely and run under checkers, until one fails."""

import argparse
import importlib
import itertools
import shlex
from collections.abc import Iterator
from pathlib import Path

from attrs import evolve

from mlusim.arch.catalog import DEFAULT_BOARDS, find_board
from mlusim.check.checking import report_of
from mlusim.check.formats import renderables
from mlusim.cli import cases, entry, long_work, options, programs, show
from mlusim.cli.arguments.comparing import USUAL_SECONDS
from mlusim.counted import counted
from mlusim.document import Document, Unfolded, members
from mlusim.errors import UsageError
from mlusim.fuzz import subjects
from mlusim.fuzz.corpus import Corpus, KeptCall
from mlusim.fuzz.draws import CallDraw, specified
from mlusim.fuzz.searching import FuzzResult, FuzzTask, refuse_unfit, search
from mlusim.machine.kernel import grid_of
from mlusim.observe.names import checkers, observers_of
from mlusim.operators.registry import find_operator
from mlusim.operators.spec import Operator
from mlusim.programs.argument_forms import AskedCall, Criterion
from mlusim.programs.cases import KernelCase
from mlusim.programs.kernel_call import dim_of, kind_of, named_values
from mlusim.report.coverage import coverage_lines

GOES_ON = "the same command goes on where the search came to"
OF_KERNELS = ("kernel", "function", "dim", "kind", "include", "define", "reference")
EXAMPLE = (
    "as in `mlusim fuzz halve.mlu --arg 'n=int:1..20000' --arg 'x=in:float32:n' --arg 'y=out:float32:n'`"
)


def run(args: argparse.Namespace) -> int:
    """Search; returns 1 if a call fails."""
    long_work.refuse_dask_with_jobs(args)
    # The record is in this process's memory: other processes would count separately.
    if args.record_of_lines is not None and (args.jobs or args.dask):
        raise UsageError("--coverage counts lines in one process; leave --jobs and --dask out")
    if programs.is_cases(args.program):
        if len(cases.chosen(args)) > 1:
            return cases.each(args, run, cases.named)
        args = _of_case(args)
    elif args.case is not None:
        raise UsageError(
            "--case names a case of a file of cases, as in `mlusim fuzz cases.toml --case small`"
        )
    task = _task(args)
    subject = task.subject
    where = Path(subject.files[0]).with_suffix(".fuzz") if subject.files else f"{subject.asked.file}.fuzz"
    corpus = Corpus(args.corpus or where)
    # Checked here, not in the search, which would draw calls that never fit until its time is over.
    refuse_unfit(task)
    seconds = args.seconds if args.seconds or args.runs else USUAL_SECONDS
    with long_work.machines(args, GOES_ON) as executor, show.progress("fuzzing", args.runs or 0) as step:
        result = search(
            task,
            corpus,
            runs=args.runs,
            seconds=seconds,
            workers=args.jobs or 1,
            executor=executor,
            restart=args.restart,
            typed=lambda call, place: _command(args, task, call, place),
            progress=step,
        )
    show.say(Document(lambda: _facts(task, result), lambda: _parts(task, result)), json=args.json)
    return entry.CLEAN if result.failing is None else entry.FINDINGS


def _of_case(args: argparse.Namespace) -> argparse.Namespace:
    """Return *args* with the call of the case that they name, and with its seed unless one was given.

    Raises `UsageError` for options that contradict drawn calls.
    """
    case = cases.one_case(args)
    if args.function is not None:
        raise UsageError(f"a case calls a kernel; leave --function out, or {case.path}")
    if case.asked.criterion.expect and args.reference is None:
        raise UsageError(
            f"case {case.name} at {case.place} has expect, arrays for one call, and others are drawn; "
            "give a --reference, or run `mlusim check` for this call"
        )
    applied = cases.applied(args, case)
    applied.seed = applied.draws
    return applied


def _task(args: argparse.Namespace) -> FuzzTask:
    if args.program is None:
        raise UsageError(f"name a BANG C file, {EXAMPLE}, or an operator")
    names = tuple(options.names_in(args.only)) or tuple(checkers())
    observers_of(names)
    values = named_values(args.arg, "--arg")
    subject: subjects.FuzzSubject
    if programs.is_source(args.program):
        subject = _source(args)
    elif args.triton is not None:
        subject = _triton(args)
    elif args.program.endswith(".py"):
        subject = _python(args)
    else:
        operator = _operator(args)
        values, subject = (
            {**operator.draws, **values},
            subjects.FuzzedOperator(AskedCall((operator.name,))),
        )
    dims = tuple(dict.fromkeys(dim_of(word.strip()) for word in (args.dim or "1").split("|")))
    boards = tuple(options.boards_in(args.board, DEFAULT_BOARDS[:1]))
    if subject.files and args.function is None:  # other subjects make their own launches
        # Refused now: a grid that the board does not have would fail in each draw.
        for board, dim in itertools.product(boards, dims):
            grid_of(find_board(board), dim, kind_of(args.kind))
    return FuzzTask(subject, CallDraw(specified(values), dims, boards), names, args.seed or 0, args.limit)


def _source(args: argparse.Namespace) -> subjects.FuzzedCall:
    odd = next((word for word in args.arguments if not programs.is_source(word)), None)
    if odd is not None:
        raise UsageError(
            f"{odd!r} is not a BANG C file; arguments of the kernel are given with --arg, {EXAMPLE}"
        )
    if args.function is not None and args.kernel is not None:
        raise UsageError("--kernel and --function exclude each other; the function launches by itself")
    asked = _asked(args, (args.program, *args.arguments))
    asked = evolve(asked, include=tuple(args.include), define=programs.defines(args.define))
    case: KernelCase | None = getattr(args, "named_case", None)
    # The command line overrides the case.
    if case is None or case.asked.criterion.reference is None or args.reference is not None:
        return subjects.FuzzedCall(asked)
    return subjects.FuzzedCall(evolve(asked, criterion=case.asked.criterion), (case.path, case.name))


def _asked(args: argparse.Namespace, files: tuple[str, ...]) -> AskedCall:
    """Return the call of *files* without the drawn arguments."""
    criterion = Criterion(args.reference)
    kind = kind_of(args.kind).name
    return AskedCall(files, args.kernel, args.function, kind=kind, criterion=criterion)


def _python(args: argparse.Namespace) -> subjects.FuzzedCall:
    only = "goes with BANG C files; a Python file takes --kernel and --arg"
    options.refuse(args, ("include", "define", "function"), only)
    if args.arguments:
        raise UsageError(f"one Python file is searched at a time; leave {args.arguments[0]!r} out")
    return subjects.FuzzedCall(_asked(args, (args.program,)))


def _triton(args: argparse.Namespace) -> subjects.FuzzSubject:
    if args.arguments:
        raise UsageError(f"one Python file is searched at a time; leave {args.arguments[0]!r} out")
    # Imported by name: Triton is an extra, and takes seconds to load.
    triton = importlib.import_module("mlusim.triton.fuzzed")
    asked = evolve(_asked(args, (args.program,)), define=dict(args.triton.constants))
    subject: subjects.FuzzSubject = triton.FuzzedTriton(asked, triton=args.triton)
    return subject


def _operator(args: argparse.Namespace) -> Operator:
    """Return the named operator.  Raises `UsageError` for options of kernels."""
    programs.refuse_file(
        args.program,
        f"calls are drawn of one kernel: name its BANG C or Python file, {EXAMPLE}, an operator, or cases.toml",
    )
    operator = find_operator(args.program)
    only = f"goes with a BANG C file; {operator.name} launches by itself, and has its own reference"
    options.refuse(args, OF_KERNELS, only)
    if args.arguments:
        raise UsageError(f"one operator is searched at a time; leave {args.arguments[0]!r} out")
    return operator


def _command(args: argparse.Namespace, task: FuzzTask, call: KeptCall, place: Path) -> str:
    """Return the command line that repeats *call*, whose arrays are in *place*."""
    words = ["mlusim", "check", *task.subject.words(call, place)]
    if args.only:
        words += ["--only", ",".join(task.checkers)]
    return shlex.join(words)


def _facts(task: FuzzTask, result: FuzzResult) -> dict[str, object]:
    failing = result.failing
    return {
        "program": task.subject.asked.file,
        "seed": task.seed,
        "first": result.first,
        "draws": result.done - result.first,
        **members(result, "kept", "cut_off", "refused"),
        "took": {"seconds": round(result.took.seconds, 3), "cpu_seconds": round(result.took.cpu, 3)},
        "lines": result.lines.to_json()["summary"],
        "failing": None
        if failing is None
        else {
            **members(failing.fault, "id", "message", "file", "line"),
            "kernel": failing.call.asked.called,
            **members(failing.call.asked, "dim", "board", "effects", "arguments"),
            "command": failing.call.command,
            "folder": str(failing.place),
            "draw": failing.number,
            "runs_to_shrink": failing.runs,
        },
    }


def _parts(task: FuzzTask, result: FuzzResult) -> Iterator[Unfolded]:
    failing = result.failing
    if failing is not None:
        yield from map(Unfolded, renderables(report_of(task.checkers, [failing.checked])))
        come = (
            "a kept call"
            if failing.number is None
            else f"draw {failing.number}, made small in {counted(failing.runs, 'run')}"
        )
        yield Unfolded(f"found by {come}, in {result.took}; it fails again with")
        yield Unfolded(f"  {failing.call.command}")
        return
    yield from map(Unfolded, coverage_lines(result.lines))
    if result.refused:
        were = "was" if result.refused == 1 else "were"
        yield Unfolded(f"{counted(result.refused, 'draw')} {were} refused, the first with {result.refusal}")
    if result.cut_off:
        yield Unfolded(
            f"{counted(result.cut_off, 'run')} went beyond {task.limit} and ended there; --limit says how far"
        )
    replayed = f"{counted(result.kept, 'kept call')} and " if result.kept else ""
    drawn = f"{counted(result.done - result.first, 'draw')} without a finding in {result.took}"
    yield Unfolded(f"{replayed}{drawn}: {result.first} to {result.done} of seed {task.seed}")
