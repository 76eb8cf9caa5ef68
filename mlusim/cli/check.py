"""``mlusim check``: an operator's cases, or any script that launches kernels, under the checkers."""

import argparse
import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

import mlusim
from mlusim.arch.catalog import DEFAULT_BOARDS, find_board
from mlusim.check import checking, schedules
from mlusim.check.findings import Checked, CheckReport
from mlusim.check.formats import findings_text, junit, renderables, sarif, summary
from mlusim.check.kernel_calls import PLANS, carved_again, check_call, check_program
from mlusim.cli import entry, programs, show
from mlusim.cli.arguments.shared import TEXT
from mlusim.cli.cases import applied, chosen
from mlusim.cli.options import (
    allowed,
    boards_in,
    format_of,
    names_in,
    parameters,
    read_inputs,
    refuse,
    write_text,
)
from mlusim.document import Unfolded, json_text
from mlusim.errors import UsageError, said
from mlusim.files.reading import read_text, shown
from mlusim.files.writing import check_writable
from mlusim.machine.hub import attending
from mlusim.machine.scheduling.schedule import EFFECTS
from mlusim.observe.names import VALUE_CHECK, VALUES, checkers, observers_of
from mlusim.observe.suppress import suppressions_in
from mlusim.operators.campaign import matching_cases, spread, usual_workers
from mlusim.operators.registry import find_case, find_operator, operators
from mlusim.operators.spec import Operator
from mlusim.programs.cases import KernelCase
from mlusim.programs.kernel_call import KernelCall
from mlusim.programs.launch_again import LaunchKeeper

if TYPE_CHECKING:
    from mlusim.programs.kernel_call import CallProgram

Array = np.ndarray[Any, Any]
FORMATS: Mapping[str, Callable[[CheckReport], str]] = {
    "text": findings_text,
    "json": lambda report: json_text(report.to_json()),
    "sarif": lambda report: json_text(sarif(report, mlusim.__version__, _root())),
    "junit": junit,
}
SUFFIXES: Mapping[str, str] = {".json": "json", ".sarif": "sarif", ".xml": "junit"}
OF_ONE_KERNEL = (
    "goes with one kernel of a BANG C file, as in `mlusim check scale.mlu --kernel Scale --reference F`"
)
OF_ONE_FUNCTION = (
    "goes with BANG C files, as in `mlusim check scale.mlu --function KernelScale --arg y=out:float32:64`"
)
OF_OPERATORS = ("case", "inputs", "set", "board", "seed", "effects", "jobs")


def _root() -> Path:
    """Return the folder for relative addresses in a log: the current directory, or the root if it no longer exists."""
    try:
        return Path.cwd()
    # The shell's current folder may have been removed.
    except FileNotFoundError:
        return Path(os.sep)


def run(args: argparse.Namespace) -> int:
    """Check; returns 3 after a fault, 1 for findings or failed accuracy, 2 for an error of the script."""
    form = format_of(args, SUFFIXES, TEXT)
    names = tuple(names_in(args.only)) or tuple(checkers())
    observers_of(names)
    if args.notes and args.engine == "native":
        raise UsageError("--notes has Python look at every instruction; leave out --engine native")
    _refuse_odd_schedules(args)
    _refuse_odd_extent(args)
    of_kernel = programs.is_source(args.program) or programs.is_cases(args.program)
    if not of_kernel and not programs.is_python_call(args):
        _refuse_expectation(args)
    if args.function is not None and not programs.is_source(args.program):
        raise UsageError(f"--function {OF_ONE_FUNCTION}")
    check_writable(args.output, args.record)
    accepted = () if args.suppress is None else suppressions_in(read_text(args.suppress), args.suppress)
    script = args.program is not None and args.program.endswith(".py")
    # With --values valuecheck also examines vectors.
    if args.values and VALUE_CHECK not in names:
        raise UsageError(f"--values goes with {VALUE_CHECK}; name it in --only, too")
    args.checkers = tuple(VALUES if args.values and name == VALUE_CHECK else name for name in names)
    runs = _runs(args, form, script=script)
    report = checking.report_of(names, runs, accepted, notes=args.notes or args.values)
    _write(args, form, report)
    if args.record is not None:
        _record(args.record, runs)
    if report.faults:
        return entry.FAULT
    # A script that could not run was not checked, which is not a checker's finding.
    if script and not programs.is_python_call(args) and report.problems and not report.errors:
        show.remark(f"error: {report.problems[0]}")
        return entry.USAGE
    return entry.CLEAN if report.clean else entry.FINDINGS


def _runs(args: argparse.Namespace, form: str, *, script: bool) -> list[Checked]:
    """Run the program of a replay file, a script, or the cases of an operator."""
    # A program that reads the report from standard output must not find other text there.
    with show.printing_aside(form != "text" and args.output is None):
        if args.replay is not None:
            return [_replayed(schedules.replay_in(read_text(args.replay), args.replay), args)]
        if script:
            return [_script(args)]
        if programs.is_cases(args.program):
            return [_case(args, case) for case in chosen(args)]
        if programs.is_program(args.program):
            return [_program(args)]
        programs.refuse_call_arguments(args)
        return _operator(args)


def _called(args: argparse.Namespace, call: "CallProgram") -> Checked:
    done = check_call(call, args.program, args.checkers, programs.expectation_of(args), notes=args.notes)
    others, enough = _others(args)
    # After a fault there is no result to compare.
    return (
        done
        if done.faults
        else checking.explored(done, schedules.CallSubject(call, args.program), others, enough)
    )


def _script(args: argparse.Namespace) -> Checked:
    if programs.is_python_call(args):
        return _called(args, programs.other_call(args))
    refuse(args, OF_OPERATORS, "goes with an operator; the script decides for itself")
    others, enough = _others(args)
    with _keeping(args.checkers) as keeper:
        done = checking.check_script(
            args.program,
            [*args.arguments, *programs.behind(args)],
            args.checkers,
            notes=args.notes,
            schedules=others,
            enough=enough,
        )
    return carved_again(done, keeper.launches.values())


@contextlib.contextmanager
def _keeping(names: tuple[str, ...]) -> Iterator[LaunchKeeper]:
    """Keep the launches of a program in the block if their plans are to be inferred."""
    keeper = LaunchKeeper()
    # Keeping a launch copies its arguments, which pays only if plans are inferred.
    with attending([keeper] if PLANS in names else []):
        yield keeper


def _program(args: argparse.Namespace) -> Checked:
    """Check BANG C files or a test."""
    args.check = ()
    if args.function is not None:
        with _keeping(args.checkers) as keeper:
            done = _called(args, programs.other_call(args))
        return carved_again(done, keeper.launches.values())
    program = programs.program_and_kernel(args)[0]
    if isinstance(program, KernelCall):
        return _called(args, program)
    _refuse_expectation(args)
    refuse(args, ("schedules",), "goes with an operator, a script or one call of a kernel")
    with _keeping(args.checkers) as keeper:
        done = check_program(program, args.program, args.checkers, notes=args.notes)
    return carved_again(done, keeper.launches.values())


def _case(args: argparse.Namespace, case: KernelCase) -> Checked:
    try:
        return evolve(_program(applied(args, case)), case=case.name)
    except UsageError as error:
        raise UsageError(f"case {case.name} at {case.place}: {said(error)}") from error


def _refuse_expectation(args: argparse.Namespace) -> None:
    refuse(args, ("reference", "expect"), OF_ONE_KERNEL)


def _operator(args: argparse.Namespace) -> list[Checked]:
    if more := programs.operators_behind(args):
        raise UsageError(f"an operator takes no {more[0]!r}; cases are named with --case")
    if args.inputs is not None:
        return [_own_arrays(args)]
    if args.set:
        raise UsageError("--set goes with --inputs; a case has its own parameters")
    jobs = _jobs(args)
    if not jobs:
        raise UsageError("no case matches; `mlusim ops OP` lists the cases and their boards")
    with show.progress("checking", len(jobs)) as step:
        return spread(
            checking.check_case, jobs, args.jobs or usual_workers(jobs), lambda done: step(done.name)
        )


def _own_arrays(args: argparse.Namespace) -> Checked:
    refuse(args, ("case", "schedules", "jobs"), "and --inputs exclude each other; give one of them")
    operator = find_operator(args.program)
    params = parameters(operator, args.set)
    board = find_board(args.board or DEFAULT_BOARDS[0]).name
    job = _job(args, operator, "", board)
    return checking.check_arrays(job, read_inputs(args.inputs, operator), params)


def _job(args: argparse.Namespace, operator: Operator, case: str, board: str) -> checking.CheckJob:
    how = (args.checkers, args.notes, args.seed, args.effects or EFFECTS[0], None, *_others(args))
    return checking.CheckJob(operator.name, case, board, *how)


def _every(args: argparse.Namespace) -> list[checking.CheckJob]:
    """Return the calls of ``--all``, in the order operators, boards, cases; long ones only on request."""
    return [
        _job(args, operator, case.name, board)
        for operator in operators().values()
        for board in boards_in([args.board] if args.board is not None else [], DEFAULT_BOARDS)
        for case in operator.cases
        if (args.long or not case.long) and (not case.boards or board in case.boards)
    ]


def _jobs(args: argparse.Namespace) -> list[checking.CheckJob]:
    """Return the selected calls: one case, or all cases of the board; long ones only on request."""
    if args.all:
        return _every(args)
    operator = find_operator(args.program)
    case = None if args.case is None else find_case(operator, args.case)
    usual = (case and case.boards) or DEFAULT_BOARDS
    board = find_board(args.board or usual[0]).name
    if case is not None and case.boards and board not in case.boards:
        raise UsageError(
            f"case {case.name} of {operator.name} is for {', '.join(case.boards)}, not for {board}"
        )
    every = (c for c in matching_cases(operator, board) if args.long or not c.long)
    return [_job(args, operator, c.name, board) for c in (every if case is None else [case])]


def _others(args: argparse.Namespace) -> tuple[tuple[schedules.Schedule, ...], int]:
    """Return the schedules to compare with, and how many comparisons are enough."""
    return (schedules.schedules(args.schedules), args.schedules) if args.schedules else ((), 0)


def _replayed(replay: schedules.Replay, args: argparse.Namespace) -> Checked:
    """Run the program of a replay file under the checkers in its schedule, and compare the results with those of the usual one."""
    subject, schedule = replay.subject, replay.schedule
    if isinstance(subject, schedules.OperatorSubject):
        operator, board = find_operator(subject.operator), find_board(subject.board)
        case, how = find_case(operator, subject.case), (schedule.seed, schedule.effects, schedule.decisions)
        job = checking.CheckJob(
            operator.name, case.name, board.name, args.checkers, args.notes, *how, schedules=(schedule,)
        )
        return checking.check_case(job)
    _refuse_untrusted(subject, args)
    return checking.check_script(
        subject.script,
        subject.arguments,
        args.checkers,
        notes=args.notes,
        schedules=(schedule,),
        directed=schedule,
    )


def _refuse_untrusted(subject: schedules.ScriptSubject, args: argparse.Namespace) -> None:
    """Ask the user whether a replay file, which may name any script of this machine, may run."""
    if args.trust:
        return
    words = " ".join(map(shown, (subject.script, *subject.arguments)))
    if not allowed(args.replay, {subject.script: read_text(subject.script)}, f" as `{words}`"):
        raise UsageError(
            f"{args.replay} would run `{words}`; read the script, and add --trust where it may run"
        )


def _refuse_odd_extent(args: argparse.Namespace) -> None:
    if args.long and args.case is not None:
        raise UsageError("--case names one case, long or not; leave --long out")
    if args.all:
        only = "goes with one operator, and --all checks every one on its cases; leave it out"
        refuse(args, ("case", "inputs", "set", "record", "replay"), only)
        if args.program is not None:
            raise UsageError(f"--all checks every operator on its cases; leave {args.program} out")


def _refuse_odd_schedules(args: argparse.Namespace) -> None:
    if args.trust and args.replay is None:
        raise UsageError("--trust goes with --replay")
    if args.program is None and args.replay is None and not args.all:
        raise UsageError("name an operator or a script, as in `mlusim check tin_shift_forward`")
    options = (*OF_OPERATORS, "schedules", "record")
    if args.replay is not None and (args.program or any(getattr(args, o) not in (None, []) for o in options)):
        raise UsageError("--replay says what to run, and how; leave the program and its options out")
    if args.schedules is not None and args.schedules < 1:
        raise UsageError(f"--schedules {args.schedules} is too few; give 1 or more")
    if args.schedules is not None and (args.seed is not None or args.effects is not None):
        raise UsageError("--schedules chooses seeds and effects; leave --seed and --effects out")
    script = args.program is not None and args.program.endswith(".py")
    if programs.is_source(args.program) or programs.is_cases(args.program):
        refuse(args, ("record",), "goes with an operator or a script")
    if args.record is not None and (args.schedules is None or not (script or args.case)):
        raise UsageError("--record goes with --schedules and takes one case; name it with --case")


# -- output ----------------------------------------------------------------------------------------


def _write(args: argparse.Namespace, form: str, report: CheckReport) -> None:
    if form == "text" and not args.output:
        show.put(map(Unfolded, renderables(report)))
        return
    write_text(args.output, FORMATS[form](report))
    if args.output:
        show.remark(f"{args.output}: {summary(report)}")


def _record(name: str, runs: Sequence[Checked]) -> None:
    """Write the replay file of the difference; without a difference only say so."""
    difference = next((f for run in runs for f in run.findings if f.id == schedules.RULE), None)
    if difference is None:
        show.remark(f"{name}: not written, for no schedule differs")
    else:
        write_text(name, json_text(schedules.replay_document(difference, mlusim.__version__)))
        show.remark(f"{name}: run it with `mlusim check --replay {name}`")
