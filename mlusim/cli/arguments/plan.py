"""The arguments of ``mlusim plan``."""

import argparse

from mlusim.cli.arguments.shared import add_answer, add_call_arguments, add_draws, add_engine, add_function

FORMATS = ("text", "json", "svg", "csv", "html")
EXAMPLES = """examples:
  mlusim plan mutual_information_backward --set S=15,T=104
  mlusim plan mutual_information_backward --max T --set S=15 --board MLU370-X4 MLU590-H8
  mlusim plan mutual_information_backward --frontier S,T -o frontier.svg
  mlusim plan mutual_information_backward --claim "S*T <= 50000"
  mlusim plan my_kernel_plan.py --max n
  mlusim plan scale.mlu --kernel 'Scale<float>' --arg dst=out:float32:1024 --arg src=in.npy --arg n=16
  mlusim plan scale.mlu --arg dst=out:float32:1024 --arg src=in.npy --arg n=16 --board MLU370-X4 MLU590-H8 -o plan.json
  mlusim plan scale.mlu --arg dst=out:float32:n --arg src=randn:float32:n --arg n=16 --max n
  mlusim plan scale.mlu --arg dst=out:float32:n --arg src=randn:float32:n --arg n=16 --max -DTILE --board MLU370-X4 MLU590-H8
  mlusim plan scale.mlu --function KernelScale --arg data=inout:rand:float32:n --arg n=64 --max n
  mlusim plan add.mlu --arg y=out:float32:rows,cols --arg x=in:float32:rows,cols --arg rows=8 --arg cols=64 --frontier rows,cols
  mlusim plan add.mlu --arg y=out:float32:rows,cols --arg x=in:float32:rows,cols --arg rows=8 --arg cols=64 --claim "rows*cols*8 <= NRAM"

exit codes: 0 fits, 1 does not fit (or a stated limit is too generous), 2 usage"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``mlusim plan``."""
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "operator",
        metavar="OP|FILE",
        nargs="+",
        help="an operator, a Python file that holds a Plan, or BANG C files or cases.toml, whose plan one launch shows",
    )
    parser.add_argument("--case", metavar="NAME", help="one case of cases.toml")
    add_call_arguments(parser)
    add_function(parser)
    add_draws(parser)
    parser.add_argument(
        "--board", nargs="+", action="extend", default=[], metavar="B", help="one board or several"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="S=15,T=104", help="values of the plan's variables"
    )
    parser.add_argument(
        "--dtype",
        nargs="+",
        action="extend",
        metavar="D",
        help="one element type or several, for plans that can hold more than one",
    )
    _add_questions(parser)
    add_engine(parser, "taken as everywhere; a plan is solved, and no engine runs; of BANG C, Python's does")
    parser.set_defaults(launches=False)
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    add_answer(parser, FORMATS, "; csv is for a frontier")


def _add_questions(parser: argparse.ArgumentParser) -> None:
    """Declare the questions of a plan, of which one is asked at a time."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--max",
        metavar="VAR",
        help="the largest VAR that fits, the others as set; of a BANG C file an integer --arg, a macro (-DNAME or NAME) or dim.x, found by running",
    )
    what.add_argument(
        "--frontier", metavar="X,Y", help="for every X the largest Y; of a BANG C file for sampled X"
    )
    what.add_argument(
        "--claim",
        nargs="?",
        const="",
        metavar="FORMULA",
        help="hold the documents' limits, or the one you state, against the plan; of a BANG C file against runs",
    )
