"""Cases of operators that a command line selects: run with a progress bar, shown, and predicted for other boards."""

import argparse
from collections.abc import Iterator, Sequence

from rich.text import Text

from mlusim.arch.catalog import BOARDS, DEFAULT_BOARDS
from mlusim.cli import entry, long_work, options
from mlusim.cli.arguments.shared import EVERY, GROUP
from mlusim.cli.show import progress, put
from mlusim.counted import plural
from mlusim.document import Part, Unfolded
from mlusim.errors import UsageError
from mlusim.files.writing import Unwritten
from mlusim.observe.names import observers_of
from mlusim.operators.campaign import Job, matching_cases, perform_all, spread, usual_workers
from mlusim.operators.registry import find_case, find_operator, operators
from mlusim.operators.sweep import sweep
from mlusim.operators.whatif import WhatIfQuestion, ask
from mlusim.report.record import CallRecord
from mlusim.report.tables import efficiency_table, problems
from mlusim.report.whatif import WhatIfStudy, representatives

NO_CASE = "no case matches; `mlusim ops OP` lists the cases and their boards"


def jobs(args: argparse.Namespace) -> list[Job]:
    """Return the calls that the command line selects, in the order operators, boards, cases."""
    wanted = [find_operator(name) for name in options.names_in(args.operators)] or list(operators().values())
    checks = tuple(options.names_in(args.check))
    observers_of(checks)
    names = options.names_in(args.case)
    if names and args.group:
        raise UsageError("--case and --group exclude each other; give one of them")
    for name in names:
        if not any(name == case.name for operator in wanted for case in operator.cases):
            find_case(wanted[0], name)  # raises, with similar names
    group = args.group or GROUP
    groups = sorted({case.group for operator in wanted for case in operator.cases})
    if args.group and group not in [*groups, EVERY]:
        raise UsageError(f"no case is of group {group!r}; the groups are {', '.join([*groups, EVERY])}")
    return [
        Job(operator.name, case.name, board, checks, engine=args.engine)
        for operator in wanted
        for board in options.boards_in(args.board, DEFAULT_BOARDS)
        for case in matching_cases(operator, board, group=None if group == EVERY else group, names=names)
    ]


def perform(jobs: Sequence[Job], workers: int | None, *, lines: bool = False) -> list[CallRecord]:
    """Run *jobs* with a progress bar, or with *lines* of progress; raises `UsageError` if there are no jobs."""
    if not jobs:
        raise UsageError(NO_CASE)
    with progress("running", len(jobs), lines=lines) as step:
        return perform_all(
            jobs, workers or usual_workers(jobs), lambda r: step(f"{r.operator} {r.case} {r.board}")
        )


def kept(args: argparse.Namespace, jobs: Sequence[Job], file: str | None) -> list[CallRecord]:
    """Run *jobs*, on the machines of ``--dask`` if it is given, and store each record in *file* at its end; return all records in order.

    A remark on standard error says how many records the file had already, and where those of an interrupted run are
    stored.
    """
    if not jobs:
        raise UsageError(NO_CASE)
    come: list[CallRecord] = []
    with long_work.machines(args) as executor, progress("running", len(jobs)) as step:

        def told(record: CallRecord) -> None:
            come.append(record)
            step(f"{record.operator} {record.case} {record.board}")

        try:
            swept = sweep(jobs, executor, keep=file, progress=told, workers=args.jobs, restart=args.restart)
            return long_work.collected(swept, file, "results")
        except Unwritten as refused:
            # A full disk must not lose results that took hours: without a file they are printed.
            if refused.kept is None and come:
                put(parts(come))
            raise


def parts(records: Sequence[CallRecord]) -> Iterator[Part]:
    """Yield the efficiency table, then the problems, then the count."""
    yield efficiency_table(records)
    wrong = list(problems(records))
    yield from map(Unfolded, wrong)
    clean = sum(record.clean for record in records)
    yield Text(f"{clean} of {len(records)} as expected.", style="green" if not wrong else "bold red")


def exit_code(records: Sequence[CallRecord]) -> int:
    """Return 3 after a fault, 1 after findings or failed accuracy, else 0."""
    if any(record.fault is not None for record in records):
        return entry.FAULT
    return entry.CLEAN if all(record.clean for record in records) else entry.FINDINGS


def studies_of(
    records: Sequence[CallRecord], workers: int | None, *, lines: bool = False
) -> list[WhatIfStudy]:
    """Return the predictions for the cases of *records* on every board, compared with the board of the first record."""
    if not records:
        return []
    base = records[0].board
    boards = (base, *(name for name in BOARDS if name != base))
    questions = [WhatIfQuestion(operator, case, boards) for operator, case in representatives(records)]
    with progress("other boards", len(questions), lines=lines) as step:
        return spread(
            ask,
            questions,
            workers or usual_workers(questions),
            lambda study: step(f"{study.operator} on {len(boards)} {plural(len(boards), 'board')}"),
        )
