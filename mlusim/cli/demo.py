"""``mlusim demo``: every operator at network scale on two boards, judged, in one table and one page."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import mlusim
from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.cli import campaign, options, show
from mlusim.cli.arguments.shared import GROUP
from mlusim.files.writing import check_writable, write_text
from mlusim.operators.campaign import Job, matching_cases
from mlusim.operators.registry import operators
from mlusim.report.page.html import html_text
from mlusim.report.record_files import document
from mlusim.report.tables import problems, summary_table


def run(args: argparse.Namespace) -> int:
    """Run, print, write the page, and print where it is."""
    check_writable(args.output)
    html_text([], mlusim.__version__)
    boards = options.boards_in(args.board, DEFAULT_BOARDS)
    records = campaign.perform(demo_jobs(boards), args.jobs)
    studies = campaign.studies_of(records, args.jobs)
    page = html_text(records, mlusim.__version__, studies, command=args.typed)
    if args.json:
        show.emit(document(records, mlusim.__version__))
        write_text(args.output, page, keep=True)
        return campaign.exit_code(records)
    console = show.output()
    console.print(summary_table(records))
    for line in problems(records):
        console.print(line)
    write_text(args.output, page, keep=True)
    console.print(f"report: {Path(args.output).resolve()}", soft_wrap=True)
    return campaign.exit_code(records)


def demo_jobs(boards: Sequence[str]) -> list[Job]:
    """Return every case of the network on *boards*."""
    return [
        Job(operator.name, case.name, board)
        for operator in operators().values()
        for board in boards
        for case in matching_cases(operator, board, group=GROUP)
    ]
