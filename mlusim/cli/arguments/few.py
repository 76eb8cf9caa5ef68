"""The arguments of verbs that take few, a function of its name each; the other verbs have a file of their own."""

import argparse

from mlusim.cli.arguments.shared import add_boards, add_jobs, add_source_arguments, add_threads

COMPILE_EXAMPLES = """examples:
  mlusim compile scale.mlu
  mlusim compile --clean-cache
  mlusim compile div.mlu -I include -D NDEBUG --board MLU590-H8 --json
exit codes: 0 everything translates, 1 something does not or declares more than the board has, 2 a file does not parse"""
TOOLKIT_EXAMPLES = """examples:
  mlusim toolkit ~/neuware
  mlusim toolkit ~/neuware590 --board MLU590-H8
exit codes: 0 the folder is there, 2 it cannot be made"""
DAP_EXAMPLES = """examples:
  mlusim dap              (an editor starts it, and talks to it over standard input and output)
  mlusim dap --port 4711  (an editor connects to it; --port 0 takes any port that is free, and says which)
A launch takes program (an operator, a script or BANG C), args, cwd, and case, board, inputs, set, check, seed, effects as
`mlusim debug` does; kernel stops where it begins, stopOnEntry at the first line; stopAtEnd false ends with the program.
For BANG C kernel, dim, kind, arg, include and define say what is called, as on the command line."""
PAGE = "mlusim-report.html"  # of mlusim demo


def boards(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``mlusim boards``."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="one board, with the source of each number")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.epilog = "example: mlusim boards MLU370-X4"


def isa(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``mlusim isa``."""
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="one intrinsic, built-in variable or copy direction in full; a part of a name lists all that have it",
    )
    parser.add_argument(
        "--coverage",
        action="store_true",
        help="the vendor's names, what each is here and which test executes it",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.epilog = "example: mlusim isa bang_add"


def ops(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``mlusim ops``."""
    parser.add_argument("name", nargs="?", metavar="OP", help="one operator: parameters, cases, limits")
    parser.add_argument(
        "--listing", action="store_true", help="the listing of OP's document beside its kernel in BANG C"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.epilog = "examples:\n  mlusim ops tin_shift_forward\n  mlusim ops border_align_backward --listing"


def compile(  # noqa: A001 - the verb
    parser: argparse.ArgumentParser,
) -> None:
    """Declare the arguments of ``mlusim compile``."""
    add = parser.add_argument
    add("files", metavar="FILE", nargs="*", help="BANG C files, which are linked with each other")
    add_source_arguments(parser)
    add("--board", metavar="B", help="the board whose architecture is compiled for")
    add(
        "--clean-cache",
        action="store_true",
        help="remove translations and compiled kernels of earlier runs from the user's cache",
    )
    add("--json", action="store_true", help="one JSON document on standard output")
    parser.epilog = COMPILE_EXAMPLES


def toolkit(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``mlusim toolkit``."""
    add = parser.add_argument
    add("directory", metavar="DIR", help="the folder; one that is there is brought up to date")
    add("--board", metavar="B", help="the board that programs find")
    add("--json", action="store_true", help="one JSON document on standard output")
    parser.epilog = TOOLKIT_EXAMPLES


def dap(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``mlusim dap``."""
    parser.add_argument(
        "--port", metavar="N", type=int, help="wait for an editor at this port of this machine"
    )
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    parser.epilog = DAP_EXAMPLES


def demo(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``mlusim demo``."""
    add = parser.add_argument
    add_boards(parser)
    add("-o", "--output", default=PAGE, metavar="F.html", help=f"where the page goes (default: {PAGE})")
    add_threads(parser)
    add_jobs(parser)
    add("--json", action="store_true", help="one JSON document on standard output, besides the page")
    parser.epilog = "example: mlusim demo -o report.html"
