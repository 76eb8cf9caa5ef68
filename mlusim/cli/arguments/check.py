"""The arguments of ``mlusim check``."""

from argparse import ArgumentParser

from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.cli.arguments import shared
from mlusim.machine.limits import USUAL
from mlusim.machine.scheduling.schedule import EFFECTS
from mlusim.programs.argument_forms import SEED

EXAMPLES = """examples:
  mlusim check tin_shift_forward --case golden_document
  mlusim check my_kernels.py --only memcheck,racecheck
  mlusim check three_interpolate_backward --board MLU590-H8 --format sarif -o findings.sarif
  mlusim check my_kernels.py --suppress accepted.toml --notes
  mlusim check scale.mlu --kernel 'Scale<float>' --arg dst=out:float32:1024 --arg src=in.npy --arg n=16
  mlusim check scale.mlu --arg dst=out:float32:1024 --arg src=in.npy --arg n=16 --reference reference:scale
  mlusim check scale.mlu --function KernelScale --dim 4 --arg data=inout:float32:64 --arg n=64
  mlusim check my_kernels.py --kernel scale --arg y=out:float32:64 --arg x=in:float32:64 --arg n=64
  mlusim check tin_shift_backward --case golden_document --schedules 5 --record replay.json
  mlusim check --replay replay.json
  mlusim check cases.toml --format junit -o cases.xml
  mlusim check --all"""

# SARIF is what code hosts show beside the lines of a change, JUnit what CI systems show as tests.
FORMATS = ("text", "json", "sarif", "junit")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim check``."""
    add = parser.add_argument
    shared.add_program(
        parser,
        "PROGRAM",
        "an operator, a script that launches kernels, BANG C files, a native program, cases.toml, or a test as tests/test_x.py::test_y",
        "words for the script, main() or pytest; behind -- all are",
    )
    shared.add_call_arguments(parser)
    shared.add_function(parser)
    shared.add_reference(parser)
    _add_selection(parser)
    _add_schedules(parser)
    # Notes are opt-in: a run is judged by its errors, and a remark, such as an idle sync, is none.
    add("--notes", action="store_true", help="report remarks too, which fail no run")
    add("--suppress", metavar="F.toml", help="findings that are accepted: id, place and reason of each")
    shared.add_answer(parser, FORMATS)
    shared.add_jobs(parser)
    # Kept beside --format, because the other verbs have --json.
    add("--json", action="store_true", help="the same as --format json")
    shared.add_engine(parser, shared.WHERE_CHECKED)
    shared.add_threads(parser)
    shared.add_limit(parser, USUAL)
    shared.add_coverage(parser)
    parser.epilog = EXAMPLES


def _add_selection(parser: ArgumentParser) -> None:
    """Declare which operators, cases, checkers and boards are meant."""
    add = parser.add_argument
    add(
        "--all", action="store_true", help="every operator, all cases but the long, on every board of --board"
    )
    add(
        "--long",
        action="store_true",
        help="the cases, too, that take over a minute where every instruction is watched",
    )
    add("--only", metavar="NAMES", action="append", default=[], help="these checkers (default: all of them)")
    add(
        "--case",
        metavar="NAME",
        help="one case of the operator or of cases.toml; without it all but the long ones",
    )
    shared.add_inputs(parser)
    add(
        "--board",
        metavar="B",
        help=f"a board; {DEFAULT_BOARDS[0]} when none is named, with --all both defaults",
    )


def _add_schedules(parser: ArgumentParser) -> None:
    """Declare in which schedules the program runs, and the files that keep one."""
    add = parser.add_argument
    add("--seed", metavar="N", type=shared.whole, help=f"explore another legal schedule, and {SEED}")
    add("--effects", choices=EFFECTS, help="when asynchronous effects of the operator land (default: late)")
    add(
        "--schedules",
        metavar="N",
        type=shared.whole,
        help="compare what N other schedules give, no two alike",
    )
    add("--record", metavar="F.json", help="write the smallest schedule that differs to a replay file")
    add("--replay", metavar="F.json", help="run exactly what a replay file says, and compare")
    add("--trust", action="store_true", help="with --replay, the script that the file names may run")
