"""``mlusim report``: efficiency of operators x cases x boards."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from attrs import evolve
from rich.text import Text

import mlusim
from mlusim.cli import report_program
from mlusim.cli.engines import add_engine
from mlusim.cli.exits import CLEAN, FINDINGS
from mlusim.cli.files import write_text
from mlusim.cli.formats import FORMATS, GATED, Extras
from mlusim.cli.gate import add_gate, exists, report_gate, show_comparison, tell_comparison
from mlusim.cli.jobs import EVERY, add_selection, jobs
from mlusim.cli.plain_text import remark
from mlusim.cli.programs import is_program, operators_behind
from mlusim.cli.results import exit_code, perform, show
from mlusim.cli.settings import add_limit, names_in, workers
from mlusim.cli.show import output
from mlusim.cli.sources import add_call_arguments, refuse_call_arguments
from mlusim.cli.studies import studies_of
from mlusim.counted import plural
from mlusim.engine.preference import NATIVE
from mlusim.errors import UsageError
from mlusim.files.paths import lines_shown
from mlusim.files.writing import check_writable
from mlusim.machine.limits import USUAL
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.sweep import jobs_of
from mlusim.report.acceptance import headline, verdicts
from mlusim.report.compare import measured_call
from mlusim.report.page.html import html_text
from mlusim.report.record import CallRecord
from mlusim.report.tables.explanations import sentences, why_table
from mlusim.report.tables.files import boards_of
from mlusim.report.tables.records import work_table
from mlusim.report.tables.whatif import what_if_table

RUNS_PROGRAMS = True

EXAMPLES = """examples:
  mlusim report
  mlusim report tin_shift_forward --board MLU370-X4 --board MLU590-H8 --format md
  mlusim report --format html -o report.html
  mlusim report dynamic_scatter_backward --policy all
  mlusim report --write-baseline efficiency.json
  mlusim report --baseline efficiency.json --threshold 2%
  mlusim report my_script.py --board MLU370-X4 MLU590-H8 -o launches.html -- --size 4096
  mlusim report scale.mlu --kernel 'Scale<float>' --arg dst=out:float32:1024 --arg src=in.npy --arg n=16
Bare, it runs every network case on two boards, which takes minutes; a bar on a terminal says how far it is, and Ctrl-C ends
it.  One operator takes a fraction of that, `--case golden_document` seconds; with --format html every call knows its lines,
and takes about twice as long unless --no-lines is given."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_selection(
        parser, "operators (default: all); or a script, a test or BANG C files, with words for it behind"
    )
    add_call_arguments(parser)
    add = parser.add_argument
    add(
        "--format",
        choices=("table", *FORMATS),
        help="what to write (default: as the name after -o ends, or a table)",
    )
    add("-o", "--output", metavar="F", help="the file to write to (default: standard output)")
    add("--check", metavar="NAMES", action="append", default=[], help="checkers to observe with")
    add(
        "--policy",
        metavar="P",
        nargs="+",
        action="extend",
        default=[],
        help=f"policies of the operators that declare them, or {EVERY}, side by side (default: the usual one)",
    )
    add_gate(parser)
    add(
        "--what-if",
        action="store_true",
        help="one case of each operator on every board; the HTML page has it anyway",
    )
    add("--explain", action="store_true", help="behind the tables, a sentence for each call that says why")
    add_engine(parser)
    add("--jobs", metavar="N", type=workers, help="processes (default: one per CPU, at most 4)")
    add("--json", action="store_true", help="the same as --format json")
    add(
        "--no-lines",
        action="store_true",
        help="no pipes and no time of each line in the HTML page; takes half the time",
    )
    add_limit(parser, USUAL)
    parser.epilog = EXAMPLES


def run(args: argparse.Namespace) -> int:
    """Run the cases and write the report; returns 1 for findings, failed accuracy or a regression, 3 for a fault."""
    form = _format(args)
    if form == "table" and args.output:
        raise UsageError("a table goes to the terminal; give --format json, csv, md or html with -o")
    check_writable(args.output)
    args.program = next(iter(args.operators), None)
    if is_program(args.program):
        return report_program.report(args, form)
    refuse_call_arguments(args)
    args.operators += operators_behind(args)
    if form == "html":
        html_text([], mlusim.__version__)  # an extra that is missing is said before the work, not after it
    policies = names_in(args.policy)
    if policies and (args.baseline or args.write_baseline):
        raise UsageError("a baseline holds calls by their usual policy; leave --policy out")
    lines = form == "html" and not args.no_lines and args.engine != NATIVE
    wanted = [
        evolve(job, lines=lines and not find_case(find_operator(job.operator), job.case).long)
        for job in jobs_of(jobs(args), policies)
    ]
    gate = report_gate(args, wanted)
    records = perform(wanted, args.jobs)
    measured = [measured_call(record) for record in records]
    found = gate.compared(measured, exists)
    asked = form == "html" or args.what_if
    studies = studies_of(records, args.jobs) if asked else []
    try:
        _write(args, form, records, Extras(found, studies, args.typed))
    finally:  # neither file costs the other
        gate.store(measured, exists)
    return exit_code(records) or (CLEAN if found is None or found.passed else FINDINGS)


def _write(args: argparse.Namespace, form: str, records: Sequence[CallRecord], extras: Extras) -> None:
    """Show the report, or write it to where it goes; the comparison goes along, or to standard error."""
    found = extras.found
    if form == "table":
        _show(records, extras, explain=args.explain)
        return
    text = FORMATS[form](records, extras, mlusim.__version__)
    if args.output:
        write_text(args.output, text)
        remark(f"{args.output}: {len(records)} {plural(len(records), 'call')}")
    else:
        sys.stdout.write(text if form == "json" else lines_shown(text))
    if found is not None and (args.output or form not in GATED):
        tell_comparison(found)


def _show(records: Sequence[CallRecord], extras: Extras, *, explain: bool) -> None:
    """The report as tables in the terminal; the first line is the verdict."""
    found = verdicts(records)
    met = bool(found) and all(verdict.passed for verdict in found)
    output().print(Text(headline(found), style="bold green" if met else "bold red"))
    output().print()
    show(records)
    for board in boards_of(records):
        output().print()
        output().print(work_table(records, board))
        output().print()
        output().print(why_table(records, board))
    for told in (*(sentences(records) if explain else ()), *map(what_if_table, extras.studies)):
        output().print()
        output().print(told)
    if extras.found is not None:
        show_comparison(extras.found)


def _format(args: argparse.Namespace) -> str:
    """The format that was asked for, or the one that the name of the output ends with."""
    if args.json:
        if args.format not in {None, "json"}:
            raise UsageError(f"--json and --format {args.format} exclude each other; give one of them")
        return "json"
    suffix = Path(args.output or "").suffix.removeprefix(".").lower()
    return str(args.format or (suffix if suffix in FORMATS else "table"))
