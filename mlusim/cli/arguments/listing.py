"""The arguments of verbs that show tables, sources and plans, most of them without running a program."""

import argparse
from argparse import ArgumentParser

from mlusim.cli.arguments import shared
from mlusim.programs import argument_forms


def boards(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim boards``."""
    add = shared.Adder(parser)
    parser.add_argument("name", nargs="?", metavar="NAME", help="one board, with the source of each number")
    add.json()
    parser.epilog = "example: mlusim boards MLU370-X4"


def isa(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim isa``."""
    add = shared.Adder(parser)
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="one intrinsic, built-in variable or copy direction in full; a part of a name lists all that have it",
    )
    add.flag("--coverage", "the vendor's names, the counterpart of each and the test that executes it")
    add.json()
    parser.epilog = "example: mlusim isa bang_add"


def ops(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim ops``."""
    add = shared.Adder(parser)
    parser.add_argument("name", nargs="?", metavar="OP", help="one operator: parameters, cases, limits")
    add.flag("--listing", "the listing of OP's document beside its kernel in BANG C")
    add.json()
    parser.epilog = "examples:\n  mlusim ops tin_shift_forward\n  mlusim ops border_align_backward --listing"


COMPILE_EXAMPLES = """examples:
  mlusim compile scale.mlu
  mlusim compile --clean-cache
  mlusim compile softmax.py --kernel softmax --arg x=randn:half:64,781 --arg n=781 --constexpr BLOCK=1024
  mlusim compile div.mlu -I include -D NDEBUG --board MLU590-H8 --json
exit codes: 0 everything translates, 1 something does not or declares more than the board has, 2 a file does not parse"""


def compile(parser: ArgumentParser) -> None:  # noqa: A001 - the verb
    """Declare the arguments of ``mlusim compile``."""
    add = shared.Adder(parser)
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="BANG C files, which are linked with each other; or a Python file with a Triton kernel, whose BANG C text is shown",
    )
    add.source_arguments()
    add.value("--kernel K", "the Triton kernel")
    add.repeated("--arg NAME=VALUE", argument_forms.HELP)
    add.triton()
    add.value("--board B", "the board whose architecture is compiled for")
    add.flag(
        "--clean-cache", "remove translations and compiled kernels of earlier runs from the user's cache"
    )
    add.json()
    parser.epilog = COMPILE_EXAMPLES


TOOLKIT_EXAMPLES = """examples:
  mlusim toolkit ~/neuware
  mlusim toolkit ~/neuware590 --board MLU590-H8
exit codes: 0 the folder is there, 2 it cannot be made"""


def toolkit(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim toolkit``."""
    add = shared.Adder(parser)
    parser.add_argument(
        "directory", metavar="DIR", help="the folder; one that is there is brought up to date"
    )
    add.value("--board B", "the board that programs find")
    add.json()
    parser.epilog = TOOLKIT_EXAMPLES


# svg is one picture, for documents; csv is a table of points, which only a frontier has.
PLAN_FORMATS = ("text", "json", "svg", "csv", "html")
PLAN_EXAMPLES = """examples:
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


def plan(parser: ArgumentParser) -> None:
    """Declare the options of ``mlusim plan``."""
    add = shared.Adder(parser)
    parser.epilog = PLAN_EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "operator",
        metavar="OP|FILE",
        nargs="+",
        help="an operator, a Python file that holds a Plan, or BANG C files or cases.toml, whose plan one launch shows",
    )
    add.value("--case NAME", "one case of cases.toml")
    add.call_arguments()
    add.function()
    add.draws()
    add.several("--board B", "one board or several")
    add.repeated("--set S=15,T=104", "values of the plan's variables")
    add.several("--dtype D", "one element type or several, for plans that can hold more than one")
    _add_questions(parser)
    add.engine("no effect: a plan is solved without an engine; for BANG C, Python's runs")
    # A plan chooses no engine, so that a missing compiler is not reported (`main.settled`).
    parser.set_defaults(launches=False)
    add.flag("--json", "the same as --format json")
    add.answer(PLAN_FORMATS, "; csv is for a frontier")


def _add_questions(parser: ArgumentParser) -> None:
    """Declare the questions about a plan, which exclude each other."""
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
        help="compare the documents' limits, or yours, with the plan; for a BANG C file with runs",
    )
