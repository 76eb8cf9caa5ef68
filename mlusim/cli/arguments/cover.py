"""The arguments of ``mlusim cover``."""

from argparse import ArgumentParser

from mlusim.cli.arguments import shared
from mlusim.machine.limits import USUAL

EXAMPLES = """examples:
  mlusim cover scale.mlu --kernel 'Scale<float>' --arg dst=out:float32:1024 --arg src=in:float32:1024 --arg n=16
  mlusim cover tests/test_kernel.py --keep coverage.json --lcov coverage.info
  mlusim cover ctest --keep coverage.json --html coverage.html -- --test-dir build
  mlusim cover coverage.json --lcov coverage.info"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim cover``."""
    add = parser.add_argument
    shared.add_program(
        parser,
        "PROGRAM",
        "a script, an operator, BANG C files, a native program or what starts some, a test, or a record of --keep",
        "words for the script, main(), the program or pytest; behind -- all are",
    )
    add("--keep", metavar="F.json", help="add what ran to this record, and show all that is in it")
    add("--lcov", metavar="F.info", help="write a tracefile of lcov")
    add("--html", metavar="F.html", help="write a page with the sources")
    add("--json", action="store_true", help="one JSON document on standard output")
    shared.add_call(parser)
    shared.add_schedule(parser)
    shared.add_engine(
        parser,
        "what executes the kernels and counts their lines: auto takes C for kernels of BANG C (default: auto)",
    )
    shared.add_call_arguments(parser)
    shared.add_limit(parser, USUAL)
    parser.epilog = EXAMPLES
