"""``mlusim report``: efficiency of operators x cases x boards, or the launches of a program on each board."""

import argparse
import csv
import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen
from rich.text import Text

import mlusim
from mlusim.arch.catalog import BOARDS, DEFAULT_BOARDS
from mlusim.cli import campaign, cases, entry, options, plain_text, programs, show
from mlusim.cli.arguments.shared import TEXT
from mlusim.cli.gate import comparison_parts, exists, report_gate, tell_comparison
from mlusim.cli.launched import Launched, kernel_wanted, launched_on, usual_boards
from mlusim.counted import counted
from mlusim.document import Part, markdown_table
from mlusim.engine.preference import AUTO, NATIVE, PYTHON
from mlusim.errors import UsageError, said
from mlusim.files.reading import lines_shown
from mlusim.files.writing import check_writable
from mlusim.machine.launch import Launch
from mlusim.operators.campaign import Job
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.sweep import jobs_of
from mlusim.programs.other_boards import elsewhere
from mlusim.programs.program import Program
from mlusim.report.compare import BaselineComparison, comparison_json, comparison_markdown, measured_call
from mlusim.report.efficiency import headline, verdicts
from mlusim.report.json_values import json_text
from mlusim.report.launches import launch_facts, launches_view
from mlusim.report.page.html import html_text
from mlusim.report.page.launches import page_text
from mlusim.report.record import CallRecord
from mlusim.report.record_files import boards_of, csv_text, document, markdown_text
from mlusim.report.tables import sentences, why_table, work_table
from mlusim.report.whatif import WhatIfStudy, what_if_markdown, what_if_table

# -- formats, and the studies that go with them --------------------------------------------------------


@frozen
class Extras:
    """Additions to the records: the comparison with a baseline, studies of other boards, and the words of the command line."""

    found: BaselineComparison | None
    studies: Sequence[WhatIfStudy]
    command: str = ""


def _document(records: Sequence[CallRecord], extras: Extras, version: str) -> dict[str, Any]:
    gated = {} if extras.found is None else {"comparison": comparison_json(extras.found)}
    asked = {"what_if": [study.to_json() for study in extras.studies]} if extras.studies else {}
    return document(records, version) | gated | asked


def _markdown(records: Sequence[CallRecord], extras: Extras, version: str) -> str:
    gated = "" if extras.found is None else comparison_markdown(extras.found, version)
    studies = "".join(f"\n{what_if_markdown(study)}" for study in extras.studies)
    return markdown_text(records, version) + gated + studies


FORMATS: Mapping[str, Callable[[Sequence[CallRecord], Extras, str], str]] = {
    "json": lambda records, extras, version: json_text(_document(records, extras, version)),
    "csv": lambda records, _, __: csv_text(records),
    "md": _markdown,
    "html": lambda records, extras, version: html_text(
        records, version, extras.studies, extras.found, extras.command
    ),
}
GATED = ("json", "md", "html")  # formats that have room for a comparison


def run(args: argparse.Namespace) -> int:
    """Run the cases and write the report; returns 1 for findings, failed accuracy or a regression, 3 for a fault."""
    form = options.format_of(args, {f".{name}": name for name in FORMATS}, TEXT)
    if form == TEXT and args.output:
        raise UsageError("a table goes to the terminal; give --format json, csv, md or html with -o")
    check_writable(args.output)
    args.program = next(iter(args.operators), None)
    if programs.is_cases(args.program):
        return _each_case(args, form)
    if programs.is_program(args.program):
        return _report_program(args, form)
    programs.refuse_call_arguments(args)
    args.operators += programs.operators_behind(args)
    if form == "html":
        html_text([], mlusim.__version__)  # an extra that is missing is said before the work, not after it
    policies = options.names_in(args.policy)
    # The key of a call in a baseline is operator, case and board: two policies would be one call.
    if policies and (args.baseline or args.write_baseline):
        raise UsageError("a baseline holds calls by their usual policy; leave --policy out")
    wanted = [
        evolve(job, lines=keeps_lines(args, form, job), engine=engine_of(args, job))
        for job in jobs_of(campaign.jobs(args), policies)
    ]
    gate = report_gate(args, wanted)
    records = campaign.perform(wanted, args.jobs)
    measured = [measured_call(record) for record in records]
    found = gate.compared(measured, exists)
    asked = form == "html" or args.what_if
    studies = campaign.studies_of(records, args.jobs) if asked else []
    try:
        _write(args, form, records, Extras(found, studies, args.typed))
    finally:  # neither file costs the other
        gate.store(measured, exists)
    return campaign.exit_code(records) or (entry.CLEAN if found is None or found.passed else entry.FINDINGS)


def keeps_lines(args: argparse.Namespace, form: str, job: Job) -> bool:
    """Return whether *job* keeps the times of lines: on a page, and of a slow case only where it is named."""
    # Lines are shown on the page alone, and keeping every step takes longer.
    if form != "html" or args.no_lines or args.engine == NATIVE:
        return False
    case = find_case(find_operator(job.operator), job.case)
    return not (case.long if args.case else case.slow)


def engine_of(args: argparse.Namespace, job: Job) -> str:
    """Return the engine of *job*: where a baseline compares NRAM, that of kernel.py unless one is asked for or it takes minutes."""
    gated = args.baseline or args.write_baseline
    long = find_case(find_operator(job.operator), job.case).long
    return PYTHON if gated and job.engine == AUTO and not long else job.engine


def _each_case(args: argparse.Namespace, form: str) -> int:
    """Report each case of a file, or all of them as one table or page."""
    args.arguments = args.operators[1:]
    if form not in {TEXT, "json"} and len(cases.chosen(args)) > 1:
        return _page_of_cases(args) if form == "html" else _table_of_cases(args, form)
    args.json, args.format = form == "json", None
    return cases.each(args, lambda one: _report_program(one, form))


def _table_of_cases(args: argparse.Namespace, form: str) -> int:
    """Write the launches of all cases as one table; the largest exit code, where one case ends in an error the others still run."""
    rows: list[list[Any]] = []
    codes = []
    for case in cases.chosen(args):

        def collect(one: argparse.Namespace, name: str = case.name) -> int:
            runs, _ = _on_boards(one, aside=not args.output)
            rows.extend([name, *row] for run in runs for row in _rows(run.launches))
            return max([run.finish() for run in runs])

        codes.append(cases.ended(collect, args, case)[0])
    _put(args, TABLES[form](("case", *COLUMNS), rows), counted(len(rows), "launch", "launches"))
    return max(codes)


def _page_of_cases(args: argparse.Namespace) -> int:
    """Write the launches of all cases as one page, each kernel with the name of its case; the largest exit code, as for a table."""
    made: list[Launch] = []
    told: list[str] = []
    codes = []
    for case in cases.chosen(args):

        def collect(one: argparse.Namespace, name: str = case.name) -> int:
            runs, _ = _on_boards(one, aside=not args.output)
            made.extend(
                evolve(launch, kernel=f"{launch.kernel} ({name})") for run in runs for launch in run.launches
            )
            told.extend(f"{name}: {run.told}" for run in runs if run.told)
            return max([run.finish() for run in runs])

        code, error = cases.ended(collect, args, case)
        codes.append(code)
        if error is not None:
            told.append(f"{case.name}: {said(error)}")
    page = page_text(made, args.program, command=args.typed, ended="\n".join(told))
    _put(args, page, counted(len(made), "launch", "launches"))
    return max(codes)


def _write(args: argparse.Namespace, form: str, records: Sequence[CallRecord], extras: Extras) -> None:
    """Show the report, or write it to where it goes; the comparison goes along, or to standard error."""
    found = extras.found
    if form == TEXT:
        show.put(_parts(records, extras, explain=args.explain))
        return
    text = FORMATS[form](records, extras, mlusim.__version__)
    if args.output:
        options.write_text(args.output, text)
        plain_text.remark(f"{args.output}: {counted(len(records), 'call')}")
    else:
        sys.stdout.write(text if form == "json" else lines_shown(text))
    if found is not None and (args.output or form not in GATED):
        tell_comparison(found)


def _parts(records: Sequence[CallRecord], extras: Extras, *, explain: bool) -> Iterator[Part]:
    """Yield the report as tables; the first line is the verdict."""
    found = verdicts(records)
    met = bool(found) and all(verdict.passed for verdict in found)
    yield Text(headline(found), style="bold green" if met else "bold red")
    yield ""
    yield from campaign.parts(records)
    for board in boards_of(records):
        yield from ("", work_table(records, board), "", why_table(records, board))
    for told in (*(sentences(records) if explain else ()), *map(what_if_table, extras.studies)):
        yield from ("", told)
    if extras.found is not None:
        yield from comparison_parts(extras.found)


# -- a program that is no operator: its launches on each board --------------------------------------------

OF_REPORTS = ("case", "group", "policy", "baseline", "write_baseline")
COLUMNS = (
    "kernel", "board", "dim", "kind", "time_us", "time_low_us", "time_high_us", "bound", "io_bytes", "instructions", "engine",
)  # fmt: skip


def _report_program(args: argparse.Namespace, form: str) -> int:
    """Report the launches of the program on each board; returns 1 for findings, 2 and 3 as `mlusim profile`."""
    if args.explain and form != TEXT:
        raise UsageError("--explain goes with the tables of the terminal; the page and --json say why anyway")
    only = "goes with operators; `mlusim profile` measures a program against a baseline"
    options.refuse(args, OF_REPORTS, only)
    runs, program = _on_boards(args, aside=form != TEXT and not args.output)
    made = [launch for run in runs for launch in run.launches]
    study = None
    if args.what_if and runs[0].launches:
        study = elsewhere(program, runs[0].launches, list(BOARDS), lambda launches: launches)
    if form == TEXT:
        show.put(_launches([run for run in runs if run.launches], study))
    elif made:
        ended = "\n".join(dict.fromkeys(run.told for run in runs if run.told))
        page = page_text(made, args.program, study, command=args.typed, ended=ended) if form == "html" else ""
        _write_launches(args, form, made, page)
    return max([run.finish() for run in runs])


def _on_boards(args: argparse.Namespace, *, aside: bool) -> tuple[list[Launched], Program]:
    """Run the program on each board; with *aside* what it prints goes to standard error."""
    boards = options.boards_in(args.board, ()) if args.board else usual_boards(args, DEFAULT_BOARDS)
    checks, kernel = tuple(options.names_in(args.check)), kernel_wanted(args)
    runs: list[Launched] = []
    program: Program | None = None
    with show.progress("boards", len(boards)) as step:
        for board in boards:
            moved, run = launched_on(args, board, checks, lines=not args.no_lines, aside=aside)
            program = program or moved
            runs.append(Launched([launch for _, launch in run.chosen(None, kernel)], run.ended))
            step(board or "")
            if not run.launches:
                break  # it ends so on any board
    assert program is not None
    return runs, program


def _launches(runs: Sequence[Launched], study: WhatIfStudy | None) -> Iterator[Part]:
    for number, run in enumerate(runs):
        yield from [""] if number else []
        yield launches_view(list(enumerate(run.launches, 1)), every=True)
    if study is not None:
        yield from ("", what_if_table(study))


def _write_launches(args: argparse.Namespace, form: str, made: Sequence[Launch], page: str) -> None:
    if form in TABLES:
        text = TABLES[form](COLUMNS, _rows(made))
    elif form == "json":
        facts = {"program": args.program, "launches": [launch_facts(launch) for launch in made]}
        if not args.output:
            show.emit(facts)
            return
        text = json_text(facts)
    else:
        text = page
    _put(args, text, counted(len(made), "launch", "launches"))


def _put(args: argparse.Namespace, text: str, what: str) -> None:
    """Write *text* to the file of ``-o``, told with *what* is in it, or to standard output."""
    if args.output:
        options.write_text(args.output, text)
        plain_text.remark(f"{args.output}: {what}")
    else:
        sys.stdout.write(text)


def _rows(made: Sequence[Launch]) -> Iterator[list[Any]]:
    for one in made:
        low, high = one.time_band
        yield [
            one.kernel, one.board, ",".join(map(str, one.dim)), one.kind, f"{one.time_us:.3f}", f"{low:.3f}",
            f"{high:.3f}", one.bound, one.io_bytes, sum(one.instructions.values()), one.engine,
        ]  # fmt: skip


def _csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


TABLES: Mapping[str, Callable[[Sequence[str], Iterable[Sequence[object]]], str]] = {
    "csv": _csv,
    "md": lambda columns, rows: f"{markdown_table(columns, rows)}\n",
}
"""What writes launches as a table, by format."""
