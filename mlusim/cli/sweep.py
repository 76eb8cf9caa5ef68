"""``mlusim sweep``: operators x cases x boards x policies, kept as they come, and resumed."""

import argparse
import importlib
from concurrent.futures import Executor

import mlusim
from mlusim.cli import campaign, long_work, options, plain_text, programs, show
from mlusim.document import Document
from mlusim.errors import UsageError
from mlusim.files.writing import Unwritten, check_writable, write_text
from mlusim.operators.campaign import Job
from mlusim.operators.sweep import jobs_of, sweep
from mlusim.report.page.html import html_text
from mlusim.report.record import CallRecord
from mlusim.report.record_files import document

SOURCE = "mlusim.cli.tune"


def run(args: argparse.Namespace) -> int:
    """Run what is not in the file yet; returns 1 for findings or failed accuracy, 3 for a fault."""
    check_writable(args.html)
    args.operators = [*args.operators, *args.arguments]
    first = args.operators[0] if args.operators else None
    if first and (
        programs.is_source(first)
        or programs.is_cases(first)
        or args.triton is not None
        or (args.param and programs.is_native(first))
    ):
        plain_text.superseded(f"sweep of {first}", "`mlusim tune` with the same words")
        return importlib.import_module(SOURCE).sweep(args)  # type: ignore[no-any-return]
    programs.refuse_call_arguments(args)
    if args.behind:
        raise UsageError(
            f"an operator takes no {args.behind[0]!r}; words behind -- go to a program with --param"
        )
    long_work.refuse_odd(args)
    wanted = jobs_of(campaign.jobs(args), options.names_in(args.policy))
    if not wanted:
        raise UsageError("no case matches; `mlusim ops OP` lists the cases and their boards")
    come: list[CallRecord] = []
    try:
        with long_work.machines(args) as executor:
            records = _swept(args, wanted, executor, come)
    except Unwritten as refused:
        # A full disk must not take results that took hours: they are shown where no file holds them.
        if refused.kept is None and come:
            _show(args, come)
        raise
    _show(args, records)
    return campaign.exit_code(records)


def _show(args: argparse.Namespace, records: list[CallRecord]) -> None:
    if args.html:
        write_text(args.html, html_text(records, mlusim.__version__, command=args.typed), keep=True)
        plain_text.wrote("page", args.html)
    told = Document(lambda: document(records, mlusim.__version__), lambda: campaign.parts(records))
    show.say(told, json=args.json)


def _swept(
    args: argparse.Namespace, wanted: list[Job], executor: Executor | None, come: list[CallRecord]
) -> list[CallRecord]:
    """Return all records in order; says on standard error what is reused, and where an interrupted sweep is kept.

    *come* takes the records as they come.
    """
    with show.progress("sweeping", len(wanted)) as step:

        def told(record: CallRecord) -> None:
            come.append(record)
            step(f"{record.operator} {record.case} {record.board}")

        swept = sweep(
            wanted, executor, keep=args.output, progress=told, workers=args.jobs, restart=args.restart
        )
        return long_work.collected(swept, args.output, "results")
