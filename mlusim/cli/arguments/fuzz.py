"""The arguments of ``mlusim fuzz``."""

from argparse import ArgumentParser

from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.cli.arguments import shared
from mlusim.cli.arguments.judge import seconds
from mlusim.machine.limits import Limit, limit_in
from mlusim.programs.argument_forms import HELP, REAL_FORMS

EXAMPLES = """examples:
  mlusim fuzz halve.mlu --kernel Halve --dim 4 --arg 'n=int:1..20000' --arg 'x=in:float32:n' --arg 'y=out:float32:n' --reference ref:halve
  mlusim fuzz gather.mlu --arg 'm=int:1..500' --arg 'n=int:0..m' --arg 'table=in:float32:m' --arg 'index=int:0..m:int32:n' --arg 'y=out:float32:n'
  mlusim fuzz tin_shift_forward --board MLU370-X4 MLU590-H8 --arg 'T=int:1..5'
  mlusim fuzz scale.mlu --function KernelScale --arg 'n=int:1..9000' --arg 'data=inout:in:float32:n'
  mlusim fuzz my_kernels.py --kernel scale --arg 'n=int:1..9000' --arg 'x=in:float32:n' --arg 'y=out:float32:n'
  mlusim fuzz cases.toml --case small --arg 'n=int:1..64'
  mlusim fuzz scale.mlu --arg 'n=int:0..9000' --arg 'x=float:-8..8:float32:n' --arg 'weight=null|in:float32:n' --arg 'y=out:float32:n' --runs 500 --seed 7"""
USUAL_SECONDS = 60.0
USUAL = limit_in("seconds=60", Limit(growth=1 << 30))


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim fuzz``."""
    add = parser.add_argument
    shared.add_program(
        parser,
        "PROGRAM",
        "a BANG C file, a Python file with a kernel, an operator, or cases.toml",
        "more BANG C files",
    )
    add("--case", metavar="NAME", help="one case of cases.toml")
    add("--kernel", metavar="K<float>", help="the kernel: K, ns::K, 'K(float *)', or K<float> of a template")
    add(
        "--dim",
        metavar="X,Y,Z",
        help="tasks of the kernel (default: 1,1,1); | separates alternatives",
    )
    add("--kind", metavar="KIND", help="block (default), union1, union2, ...")
    add(
        "--arg",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=f"{HELP}, as `mlusim check` takes them; {REAL_FORMS}, of floats; | separates alternatives, the simplest first; "
        "of an operator in place of what it declares",
    )
    shared.add_source_arguments(parser)
    shared.add_function(parser)
    add("--reference", metavar="module:function", help="what the outputs of the kernel are compared with")
    add("--only", metavar="NAMES", action="append", default=[], help="these checkers (default: all of them)")
    shared.add_boards(parser, DEFAULT_BOARDS[0], "boards to draw from")
    add(
        "--seconds",
        metavar="S",
        type=seconds,
        help=f"seconds of the clock for the search, kept calls aside (default without --runs: {USUAL_SECONDS:g})",
    )
    add("--runs", metavar="N", type=shared.workers, help="calls to draw, at most")
    add("--seed", metavar="N", type=shared.whole, help="draw other calls (default: 0, or that of the case)")
    add(
        "--corpus",
        metavar="DIR",
        help="the folder that keeps failing calls, tried first, and how far the search came (default: FILE.fuzz beside the first file)",
    )
    add("--restart", action="store_true", help="begin with the first draw, wherever the last search ended")
    shared.add_engine(parser, shared.WHERE_CHECKED)
    shared.add_threads(parser)
    shared.add_jobs(parser, "1")
    shared.add_dask(parser, files=True)
    add("--json", action="store_true", help="one JSON document on standard output")
    shared.add_limit(parser, USUAL)
    shared.add_coverage(parser)
    parser.epilog = EXAMPLES
