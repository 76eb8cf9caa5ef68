"""The arguments of ``mlusim what-if``."""

from argparse import ArgumentParser

from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.cli.arguments import shared
from mlusim.machine.limits import USUAL

EXAMPLES = """examples:
  mlusim what-if tin_shift_forward --case network_3x15x16x45435_half
  mlusim what-if three_interpolate_backward --case case_9 --board MLU370-S4 MLU370-X8 --from MLU370-X4
  mlusim what-if three_interpolate_backward --inputs my.npz --set m=64 --json
  mlusim what-if my_script.py --board MLU370-X8 MLU590-H8 -- --size 4096
  mlusim what-if scale.mlu --kernel 'Scale<float>' --arg dst=out:float32:1024 --arg src=in.npy --arg n=16"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim what-if``."""
    add = parser.add_argument
    shared.add_program(
        parser,
        "PROGRAM",
        "an operator; `mlusim ops` lists them; or a script, a test, BANG C files, a native program or cases.toml",
        "words for the script or main(); behind -- all are",
    )
    shared.add_call_arguments(parser)
    shared.add_param(parser)
    shared.add_draws(parser)
    add("--case", metavar="NAME", help="one of its cases, or of the file's (default there: all)")
    shared.add_inputs(parser)
    add("--policy", metavar="P", help="a policy of the operator; `mlusim ops OP` lists them")
    shared.add_boards(parser, "all of them")
    add(
        "--from",
        metavar="B",
        dest="base",
        help=f"the board of the recorded run (default: {DEFAULT_BOARDS[0]})",
    )
    shared.add_engine(parser)
    shared.add_threads(parser)
    add("--json", action="store_true", help="one JSON document on standard output")
    shared.add_limit(parser, USUAL)
    parser.epilog = EXAMPLES
