"""The arguments of ``mlusim run``."""

from argparse import ArgumentParser

from mlusim.cli.arguments import shared
from mlusim.machine.limits import USUAL

EXAMPLES = """examples:
  mlusim run tin_shift_forward
  mlusim run tin_shift_forward --case golden_document --check memcheck --trace trace.json
  mlusim run three_interpolate_backward --inputs my.npz --set m=64 --board MLU590-H8 --save out.npz
  mlusim run scale.mlu --kernel 'Scale<float>' --dim 4 --arg dst=out:float32:1024 --arg src=in.npy --arg n=16
  mlusim run lab.mlu -- 500
  mlusim run cases.toml --case small
  mlusim run my_script.py --lines --trace trace.json -- --size 4096"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim run``."""
    add = parser.add_argument
    shared.add_program(
        parser,
        "PROGRAM",
        "an operator; `mlusim ops` lists them; or a script, a test, BANG C files, a native program, or cases.toml",
        "more files, and words for the script or main(); behind -- all are",
    )
    shared.add_call_arguments(parser)
    shared.add_reference(parser)
    shared.add_call(parser, "one case; without it and --inputs, all cases")
    add(
        "--policy",
        metavar="NAME",
        help="a policy of the operator, as its order of growing tiles; `mlusim ops OP` lists them",
    )
    add("--save", metavar="F.npz", help="write the outputs, of several cases as CASE/OUTPUT")
    shared.add_checkers(parser)
    add("--trace", metavar="F.json", help="write a trace of the launches for Perfetto or chrome://tracing")
    add("--lines", action="store_true", help="the time of each line of the kernels")
    shared.add_schedule(parser)
    shared.add_engine(parser)
    shared.add_threads(parser)
    shared.add_jobs(parser)
    add("--json", action="store_true", help="one JSON document on standard output")
    shared.add_limit(parser, USUAL)
    shared.add_coverage(parser)
    parser.epilog = EXAMPLES
