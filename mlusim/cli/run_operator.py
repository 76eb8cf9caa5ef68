"""``mlusim run OP``: one operator on its cases or on the user's arrays."""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from rich.text import Text

from mlusim.arch.catalog import DEFAULT_BOARDS, find_board
from mlusim.cli import campaign, entry, programs, show
from mlusim.cli.options import names_in, parameters, read_inputs, write_outcome
from mlusim.document import Document, Part
from mlusim.errors import Fault, StatusError, UsageError
from mlusim.machine.hub import EveryStep
from mlusim.machine.launch import Launch
from mlusim.machine.options import LaunchOptions
from mlusim.observe.names import observers_of
from mlusim.operators.campaign import Job, executed, matching_cases, record_of, record_of_fault
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import SUCCESS, Run, attempt, judged, run_case
from mlusim.operators.spec import Case, Operator, policy_of
from mlusim.report.launch_files import write_launches
from mlusim.report.record import CallRecord
from mlusim.report.tables import detail, lines_table


def run(args: argparse.Namespace) -> int:
    """Run the operator; returns 1 for findings or failed accuracy, 2 for a refusal, 3 for a fault."""
    if more := programs.operators_behind(args):
        raise UsageError(f"mlusim run takes no {more[0]!r} behind an operator; see `mlusim run --help`")
    programs.refuse_call_arguments(args)
    operator = find_operator(args.program)
    if args.policy is not None:
        policy_of(operator.name, operator.policies, args.policy)
    observers_of(names_in(args.check))
    if args.case is not None and args.inputs is not None:
        raise UsageError("--case and --inputs exclude each other; give one of them")
    if args.set and args.inputs is None:
        raise UsageError("--set goes with --inputs; a case has its own parameters")
    if args.inputs is not None:
        return _own_arrays(args, operator)
    if args.case is not None:
        return _one_case(args, operator, find_case(operator, args.case))
    return _cases(args, operator)


# -- one call --------------------------------------------------------------------------------------


def _own_arrays(args: argparse.Namespace, operator: Operator) -> int:
    params = parameters(operator, args.set)
    board = find_board(args.board or DEFAULT_BOARDS[0]).name
    arrays = read_inputs(args.inputs, operator)
    options = _options(args)
    try:
        done = attempt(operator, arrays, params, board=board, policy=args.policy, options=options)
    except Fault as fault:
        # The document of --json comes before the error message, which `main` prints.
        _report(args, record_of_fault(fault, operator.name, None, board, SUCCESS.name, args.policy))
        raise
    if done.status != SUCCESS:
        if args.json:
            show.emit(record_of(done).to_json())
        raise StatusError(done.status, f"{done.status.name}: {done.message}")
    return _finish(args, judged(done, arrays, params))


def _one_case(args: argparse.Namespace, operator: Operator, case: Case) -> int:
    board = _board_of(args, operator, case)
    if args.save and case.status != SUCCESS:
        raise UsageError(
            f"case {case.name} is refused with {case.status.name}; there are no outputs for --save"
        )
    options = _options(args)
    try:
        done = run_case(operator, case, board=board, policy=args.policy, options=options)
    except Fault as fault:
        _report(args, record_of_fault(fault, operator.name, case.name, board, case.status.name, args.policy))
        raise
    return _finish(args, done)


def _board_of(args: argparse.Namespace, operator: Operator, case: Case) -> str:
    """Return the requested board, or else the first board of the case."""
    if args.board is None:
        return case.boards[0] if case.boards else DEFAULT_BOARDS[0]
    board = find_board(args.board).name
    if case.boards and board not in case.boards:
        raise UsageError(
            f"case {case.name} of {operator.name} is for {', '.join(case.boards)}, not for {board}"
        )
    return board


def _options(args: argparse.Namespace) -> LaunchOptions:
    """Return the options of the call's launches; ``--trace`` and ``--lines`` need every instruction."""
    observe = [*names_in(args.check), *([EveryStep()] if args.trace or args.lines else [])]
    return LaunchOptions(observe, args.seed, args.effects, args.engine)


def _finish(args: argparse.Namespace, done: Run) -> int:
    """Show the record, write the files, and return the exit code; the record is shown even if the disk is full."""
    record = record_of(done)
    _report(args, record, done.findings)
    outputs = done.outputs if done.status == SUCCESS else None
    write_outcome(args, outputs, lambda name: write_launches(name, done.launches))
    return entry.CLEAN if record.clean else entry.FINDINGS


def _report(args: argparse.Namespace, record: CallRecord, findings: Sequence[Any] = ()) -> None:
    show.say(Document(record.to_json, lambda: _parts(record, findings, lines=args.lines)), json=args.json)


def _parts(record: CallRecord, findings: Sequence[Any], *, lines: bool) -> Iterator[Part]:
    if record.fault is None:  # `main` prints the sentence of a fault
        yield detail(record)
        if lines:
            yield lines_table(record)
    yield from show.findings(findings)


# -- many cases ------------------------------------------------------------------------------------


def _cases(args: argparse.Namespace, operator: Operator) -> int:
    board = find_board(args.board or DEFAULT_BOARDS[0]).name
    jobs = [
        Job(
            operator.name,
            case.name,
            board,
            tuple(names_in(args.check)),
            args.seed,
            args.effects,
            policy=args.policy,
            engine=args.engine,
            lines=bool(args.lines or args.trace),
        )
        for case in matching_cases(operator, board)
    ]
    records = _kept(args, jobs) if args.save or args.trace else campaign.perform(jobs, args.jobs)
    about = {"operator": operator.name, "board": board, "passed": all(r.clean for r in records)}
    told = Document(
        lambda: about | {"runs": [record.to_json() for record in records]},
        lambda: _parts_of_all(records, lines=args.lines),
    )
    show.say(told, json=args.json)
    return campaign.exit_code(records)


def _parts_of_all(records: Sequence[CallRecord], *, lines: bool) -> Iterator[Part]:
    yield from campaign.parts(records)
    for record in records if lines else ():
        if record.launches:
            yield from ("", Text(str(record.case), style="bold"), lines_table(record))


def _kept(args: argparse.Namespace, jobs: Sequence[Job]) -> list[CallRecord]:
    """Run *jobs* one after the other in this process, to write their launches to one trace and their outputs to one file."""
    records: list[CallRecord] = []
    launches: list[Launch] = []
    outputs: dict[str, Any] = {}
    with show.progress("running", len(jobs)) as step:
        for job in jobs:
            record, done = executed(job)
            records.append(record)
            if done is not None and done.status == SUCCESS:
                launches += done.launches if args.trace else ()
                outputs |= {f"{job.case}/{name}": a for name, a in done.outputs.items()} if args.save else {}
            step(str(job.case))
    write_outcome(args, outputs, lambda name: write_launches(name, launches))
    return records
