"""``mlusim report``: efficiency of operators x cases x boards x policies; a named file stores the results, and an interrupted run is resumed."""

import argparse
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen
from rich.text import Text

import mlusim
from mlusim.arch.catalog import BOARDS, DEFAULT_BOARDS
from mlusim.cli import campaign, entry, long_work, options, programs, show
from mlusim.cli.arguments.shared import TEXT
from mlusim.cli.gate import comparison_parts, exists, report_gate, tell_comparison
from mlusim.cli.verbs import parser_of, verb_named
from mlusim.counted import counted
from mlusim.document import Part, json_text
from mlusim.engine.preference import AUTO, NATIVE, PYTHON
from mlusim.errors import UsageError
from mlusim.files.reading import lines_shown
from mlusim.files.writing import check_writable
from mlusim.operators.campaign import Job
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.sweep import jobs_of
from mlusim.report.compare import BaselineComparison, comparison_json, comparison_markdown, measured_call
from mlusim.report.efficiency import headline, verdicts
from mlusim.report.page.html import html_text
from mlusim.report.record import CallRecord, boards_of, csv_text, document, markdown_text
from mlusim.report.tables import sentences, why_table, work_table
from mlusim.report.whatif import WhatIfStudy, what_if_markdown, what_if_table

# -- formats, and additional parts ---------------------------------------------------------------------


@frozen
class Extras:
    """Additions to the records: the comparison with a baseline, predictions for other boards, and the command line."""

    comparison: BaselineComparison | None
    studies: Sequence[WhatIfStudy]
    command: str = ""


def _document(records: Sequence[CallRecord], extras: Extras, version: str) -> dict[str, Any]:
    gated = {} if extras.comparison is None else {"comparison": comparison_json(extras.comparison)}
    asked = {"what_if": [study.to_json() for study in extras.studies]} if extras.studies else {}
    return document(records, version) | gated | asked


def _markdown(records: Sequence[CallRecord], extras: Extras, version: str) -> str:
    gated = "" if extras.comparison is None else comparison_markdown(extras.comparison, version)
    studies = "".join(f"\n{what_if_markdown(study)}" for study in extras.studies)
    return markdown_text(records, version) + gated + studies


FORMATS: Mapping[str, Callable[[Sequence[CallRecord], Extras, str], str]] = {
    "json": lambda records, extras, version: json_text(_document(records, extras, version)),
    "csv": lambda records, _, __: csv_text(records),
    "md": _markdown,
    "html": lambda records, extras, version: html_text(
        records, version, extras.studies, extras.comparison, extras.command
    ),
}
GATED = ("json", "md", "html")  # formats that contain the comparison


def run(args: argparse.Namespace) -> int:
    """Run the cases and write the report; returns 1 for findings, failed accuracy or a regression, 3 for a fault."""
    form = options.format_of(args, {f".{name}": name for name in FORMATS}, TEXT)
    if form == TEXT and args.output:
        raise UsageError("a table goes to the terminal; give --format json, csv, md or html with -o")
    check_writable(args.output)
    args.program = next(iter(args.operators), None)
    if programs.is_cases(args.program) or programs.is_program(args.program):
        return _profiled(args, form)
    programs.refuse_call_arguments(args)
    args.operators += programs.operators_behind(args)
    if form == "html":
        html_text([], mlusim.__version__)  # a missing extra is reported before the work
    long_work.refuse_odd(args, args.keep, "--keep")
    policies = options.names_in(args.policy)
    # The key of a call in a baseline is operator, case and board, so that two policies would be one call.
    if policies and (args.baseline or args.write_baseline):
        raise UsageError("a baseline holds calls by their usual policy; leave --policy out")
    keeps = args.keep is not None or args.dask is not None
    wanted = [
        # A stored record has no lines.
        evolve(job, lines=not keeps and keeps_lines(args, form, job), engine=engine_of(args, job))
        for job in jobs_of(campaign.jobs(args), policies)
    ]
    gate = report_gate(args, wanted)
    records = campaign.kept(args, wanted, args.keep) if keeps else campaign.perform(wanted, args.jobs)
    gated = args.baseline or args.write_baseline
    measured = [measured_call(record) for record in records] if gated else []
    comparison = gate.compared(measured, exists)
    asked = form == "html" or args.what_if
    studies = campaign.studies_of(records, args.jobs) if asked else []
    try:
        _write(args, form, records, Extras(comparison, studies, args.typed))
    finally:  # an error of one file must not prevent the other
        gate.store(measured, exists)
    return campaign.exit_code(records) or (
        entry.CLEAN if comparison is None or comparison.passed else entry.FINDINGS
    )


def keeps_lines(args: argparse.Namespace, form: str, job: Job) -> bool:
    """Return whether *job* records the times of lines: only for a page, and of a slow case only if it is named."""
    # Only the page shows lines, and recording every step takes longer.
    if form != "html" or args.no_lines or args.engine == NATIVE:
        return False
    case = find_case(find_operator(job.operator), job.case)
    return not (case.long if args.case else case.slow)


def engine_of(args: argparse.Namespace, job: Job) -> str:
    """Return the engine of *job*: for a baseline, which compares NRAM, that of kernel.py, unless another is requested or it takes minutes."""
    gated = args.baseline or args.write_baseline
    long = find_case(find_operator(job.operator), job.case).long
    return PYTHON if gated and job.engine == AUTO and not long else job.engine


def _write(args: argparse.Namespace, form: str, records: Sequence[CallRecord], extras: Extras) -> None:
    """Print the report, or write it to its file; the comparison is in it, or goes to standard error."""
    comparison = extras.comparison
    if form == TEXT:
        show.put(_parts(records, extras, explain=args.explain))
        return
    text = FORMATS[form](records, extras, mlusim.__version__)
    options.write_text(args.output, text if args.output or form == "json" else lines_shown(text))
    if args.output:
        show.remark(f"{args.output}: {counted(len(records), 'call')}")
    if comparison is not None and (args.output or form not in GATED):
        tell_comparison(comparison)


def _parts(records: Sequence[CallRecord], extras: Extras, *, explain: bool) -> Iterator[Part]:
    """Yield the report as tables; the first line is the verdict."""
    judged = verdicts(records)
    met = bool(judged) and all(verdict.passed for verdict in judged)
    yield Text(headline(judged), style="bold green" if met else "bold red")
    yield ""
    yield from campaign.parts(records)
    for board in boards_of(records):
        yield from ("", work_table(records, board), "", why_table(records, board))
    for told in (*(sentences(records) if explain else ()), *map(what_if_table, extras.studies)):
        yield from ("", told)
    if extras.comparison is not None:
        yield from comparison_parts(extras.comparison)


# -- a program that is not an operator -----------------------------------------------------------------------

PROFILE = "mlusim.cli.profile"
OF_REPORTS = ("group", "policy", "keep", "restart", "dask")


def _profiled(args: argparse.Namespace, form: str) -> int:
    """Profile the program on the boards of a report, as `mlusim profile` does."""
    show.superseded(args, "report of a program", "`mlusim profile` with the same words")
    if args.explain and form != TEXT:
        raise UsageError("--explain goes with the tables of the terminal; the page and --json say why anyway")
    options.refuse(args, OF_REPORTS, "goes with operators; leave it out")
    if not programs.is_cases(args.program):
        options.refuse(args, ("case",), "goes with an operator or a file of cases; leave it out")
    words = vars(parser_of(verb_named("profile")).parse_args(["profile"]))
    moved = {
        "arguments": [*args.operators[1:], *args.arguments],
        "what_if": list(BOARDS) if args.what_if else [],
        "usual_boards": DEFAULT_BOARDS,
        "jobs": None,
    }
    run: Callable[[argparse.Namespace], int] = importlib.import_module(PROFILE).run
    return run(argparse.Namespace(**{**words, **vars(args), **moved}))
