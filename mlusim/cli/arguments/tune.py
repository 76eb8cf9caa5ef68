"""The arguments of ``mlusim tune``."""

from argparse import ArgumentParser

from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.cli.arguments import shared
from mlusim.machine.limits import USUAL

EXAMPLES = """examples:
  mlusim tune scale.mlu --param TILE=64,128,256 --arg dst=out:float32:8192 --arg src=in.npy --arg n=8192
  mlusim tune scale.mlu --param -DUNROLL=1,2 --param 'dim=4,1,1;4,8,1' --param kind=block,union1 --arg n=8192 ... --html tiles.html
  mlusim tune scale.mlu --param tile=64..1024:64 --arg n=8192 ... --reference reference:scale -o tiles.jsonl
  mlusim tune scale.mlu --param tile=16..4096:16 --param 'dim=4;4,2;4,4' --search halving --trials 60 --rungs n=4096,65536 ...
  mlusim tune lab.mlu --param TILE=64,128 --param env:TASKS=4,16 --param n=4096,65536 -- {n}
exit codes: 0 a candidate fits and is right, 1 none does, 2 usage"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim tune``."""
    add = parser.add_argument
    shared.add_program(
        parser,
        "FILE",
        "BANG C files with the kernel or a main, a native program, or a TOML file of cases",
        "more files, or arguments of the program",
    )
    shared.add_param(parser)
    add("--case", metavar="NAME", help="of a file of cases, where it holds several")
    shared.add_call_arguments(parser)
    shared.add_reference(parser)
    shared.add_draws(parser)
    shared.add_boards(parser, DEFAULT_BOARDS[0])
    add(
        "--objective",
        choices=("time", "io", "compute"),
        default="time",
        help="what is ranked by: the least time, or the largest IO or compute efficiency (default: time)",
    )
    add(
        "--search",
        choices=("random", "halving", "tpe"),
        help="try --trials candidates of a large space in place of all: drawn; drawn, of which the best third goes on to a larger call; "
        "or proposed by Optuna from the results so far",
    )
    add("--trials", metavar="N", type=shared.workers, help="candidates of a search; --seed draws others")
    add(
        "--rungs",
        metavar="NAME=V,V,...",
        help="of halving: what makes a call larger, the smallest value first, as n=1024,4096",
    )
    add("--html", metavar="F.html", help="write a page with a chart")
    shared.add_kept_output(parser, "candidate")
    shared.add_engine(parser)
    shared.add_threads(parser)
    shared.add_jobs(parser)
    shared.add_dask(parser, files=True)
    add("--json", action="store_true", help="one JSON document on standard output")
    shared.add_limit(parser, USUAL)
    parser.epilog = EXAMPLES
