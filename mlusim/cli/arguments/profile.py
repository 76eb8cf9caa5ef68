"""The arguments of ``mlusim profile``."""

from argparse import ArgumentParser

from mlusim.cli.arguments import shared
from mlusim.machine.limits import USUAL

EXAMPLES = """examples:
  mlusim profile my_script.py --lines
  mlusim profile my_script.py --kernel double --trace trace.json -- --size 4096
  mlusim profile tin_shift_forward --case golden_document --html profile.html
  mlusim profile tests/test_kernel.py::test_small --check memcheck,racecheck
  mlusim profile cases.toml --case large --lines
  mlusim profile my_script.py --write-baseline times.json
  mlusim profile my_script.py --baseline times.json --what-if MLU370-X8 MLU590-H8
  mlusim profile scale.mlu --kernel 'Scale<float>' --arg dst=out:float32:1024 --arg src=in.npy --arg n=16"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim profile``."""
    add = parser.add_argument
    shared.add_program(
        parser,
        "PROGRAM",
        "a script, an operator, BANG C files, a native program, cases.toml, or a test as tests/test_x.py::test_y",
        "words for the script or pytest; behind -- all are",
    )
    add("--lines", action="store_true", help="all lines of the kernels, and every launch by itself")
    add("--trace", metavar="F.json", help="write a trace for Perfetto or chrome://tracing")
    add("--html", metavar="F.html", help="write a page with the source; needs the extra mlusim[report]")
    add("--launch", metavar="N", type=shared.whole, help="the Nth launch alone, from 1")
    shared.add_checkers(parser)
    shared.add_call(parser)
    shared.add_schedule(parser)
    shared.add_call_arguments(parser)
    shared.add_engine(
        parser,
        "native: C where it can be, which knows no lines (default: auto, which takes Python for the lines)",
    )
    shared.add_threads(parser)
    parser.set_defaults(where_it_can=True)
    add(
        "--what-if",
        metavar="BOARD",
        nargs="+",
        default=[],
        help="the time on these boards as well: re-timed, or run there where the architecture is another",
    )
    shared.add_gate(parser)
    add("--json", action="store_true", help="one JSON document on standard output")
    shared.add_limit(parser, USUAL)
    shared.add_coverage(parser)
    parser.epilog = EXAMPLES
