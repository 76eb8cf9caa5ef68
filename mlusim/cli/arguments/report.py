"""The arguments of ``mlusim report``."""

from argparse import ArgumentParser

from mlusim.cli.arguments.shared import (
    EVERY,
    TEXT,
    add_answer,
    add_call_arguments,
    add_draws,
    add_engine,
    add_gate,
    add_jobs,
    add_limit,
    add_selection,
    add_threads,
)
from mlusim.machine.limits import USUAL

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

FORMATS = ("json", "csv", "md", "html")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim report``."""
    add_selection(
        parser,
        "operators (default: all); or a script, a test, BANG C files or cases.toml, with words for it behind",
    )
    add_call_arguments(parser)
    add_draws(parser)
    add = parser.add_argument
    add_answer(parser, (TEXT, *FORMATS))
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
    _add_parts(parser)
    add_engine(parser)
    add_threads(parser)
    add_jobs(parser)
    add("--json", action="store_true", help="the same as --format json")
    add(
        "--no-lines",
        action="store_true",
        help="no pipes and no time of each line in the HTML page; takes half the time",
    )
    add_limit(parser, USUAL)
    parser.epilog = EXAMPLES


def _add_parts(parser: ArgumentParser) -> None:
    """Declare what a report may have besides its tables."""
    add = parser.add_argument
    add(
        "--what-if",
        action="store_true",
        help="one case of each operator on every board; the HTML page has it anyway",
    )
    add("--explain", action="store_true", help="behind the tables, a sentence for each call that says why")
