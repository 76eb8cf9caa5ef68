"""``mlusim sweep``, which the next version removes: ``mlusim report --keep`` replaces it for operators, ``mlusim tune`` for a kernel."""

import argparse
import importlib
from collections.abc import Callable

import mlusim
from mlusim.cli import campaign, long_work, options, programs, show
from mlusim.document import Document
from mlusim.errors import UsageError
from mlusim.files.writing import check_writable, write_text
from mlusim.operators.sweep import jobs_of
from mlusim.report.page.html import html_text
from mlusim.report.record import document

SOURCE = "mlusim.cli.tune"


def run(args: argparse.Namespace) -> int:
    """Run everything that is not in the file yet; returns 1 for findings or failed accuracy, 3 for a fault."""
    check_writable(args.html)
    args.operators = [*args.operators, *args.arguments]
    first = args.operators[0] if args.operators else None
    if first and (
        programs.is_source(first)
        or programs.is_cases(first)
        or args.triton is not None
        or (args.param and programs.is_native(first))
    ):
        show.superseded(args, f"sweep of {first}", "`mlusim tune` with the same words")
        tried: Callable[[argparse.Namespace], int] = importlib.import_module(SOURCE).sweep
        return tried(args)
    show.superseded(args, "sweep", "`mlusim report` with the same words, and --keep for -o,")
    programs.refuse_call_arguments(args)
    if args.behind:
        raise UsageError(
            f"an operator takes no {args.behind[0]!r}; words behind -- go to a program with --param"
        )
    long_work.refuse_odd(args, args.output, "-o")
    records = campaign.kept(args, jobs_of(campaign.jobs(args), options.names_in(args.policy)), args.output)
    if args.html:
        write_text(args.html, html_text(records, mlusim.__version__, command=args.typed), keep=True)
        show.wrote("page", args.html)
    told = Document(lambda: document(records, mlusim.__version__), lambda: campaign.parts(records))
    show.say(told, json=args.json)
    return campaign.exit_code(records)
