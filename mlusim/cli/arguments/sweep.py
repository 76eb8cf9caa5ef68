"""The arguments of ``mlusim sweep``."""

from argparse import ArgumentParser

from mlusim.cli.arguments.shared import (
    EVERY,
    add_call_arguments,
    add_dask,
    add_draws,
    add_engine,
    add_jobs,
    add_kept_output,
    add_limit,
    add_param,
    add_reference,
    add_selection,
    add_threads,
)
from mlusim.machine.limits import USUAL

EXAMPLES = """examples:
  mlusim sweep three_interpolate_backward --policy all -o tiles.jsonl
  mlusim sweep --group all --board MLU370-X4 MLU590-H8 -o everything.jsonl
  mlusim sweep --group all -o everything.jsonl --dask tcp://scheduler:8786
  mlusim sweep scale.mlu --param TILE=64,128 --arg dst=out:float32:8192 --arg src=in.npy --arg n=8192 -o tiles.jsonl"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim sweep``."""
    add = parser.add_argument
    add_selection(
        parser,
        "operators (default: all), or BANG C files, cases.toml or a program, with words for its main behind --",
    )
    add_param(parser)
    add_call_arguments(parser)
    add_reference(parser)
    add_draws(parser)
    add(
        "--policy",
        nargs="+",
        action="extend",
        default=[],
        metavar="P",
        help=f"policies of the operators that declare them, or {EVERY} (default: each operator's usual one)",
    )
    add("--check", metavar="NAMES", action="append", default=[], help="checkers to observe with")
    add_kept_output(parser, "result")
    add_engine(parser)
    add_threads(parser)
    add_jobs(parser)
    add_dask(parser, files=False)
    add("--json", action="store_true", help="one JSON document on standard output")
    add_limit(parser, USUAL)
    parser.epilog = EXAMPLES
