"""The arguments of verbs that run one program, with all its launches, or wait for an editor that does."""

import argparse
from argparse import ArgumentParser

from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.cli.arguments import shared
from mlusim.machine.limits import USUAL
from mlusim.machine.scheduling.schedule import EFFECTS
from mlusim.programs import argument_forms

RUN_EXAMPLES = """examples:
  mlusim run tin_shift_forward
  mlusim run tin_shift_forward --case golden_document --check memcheck --trace trace.json
  mlusim run three_interpolate_backward --inputs my.npz --set m=64 --board MLU590-H8 --save out.npz
  mlusim run scale.mlu --kernel 'Scale<float>' --dim 4 --arg dst=out:float32:1024 --arg src=in.npy --arg n=16
  mlusim run lab.mlu -- 500
  mlusim run cases.toml --case small
  mlusim run my_script.py --lines --trace trace.json -- --size 4096"""


def run(parser: ArgumentParser) -> None:
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
    parser.epilog = RUN_EXAMPLES


CHECK_EXAMPLES = """examples:
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
CHECK_FORMATS = ("text", "json", "sarif", "junit")


def check(parser: ArgumentParser) -> None:
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
    _add_checked(parser)
    _add_schedules(parser)
    # Notes are opt-in: a run is judged by its errors, and a remark, such as an idle sync, is none.
    add("--notes", action="store_true", help="report remarks too, which fail no run")
    add("--suppress", metavar="F.toml", help="findings that are accepted: id, place and reason of each")
    shared.add_answer(parser, CHECK_FORMATS)
    shared.add_jobs(parser)
    # Kept beside --format, because the other verbs have --json.
    add("--json", action="store_true", help="the same as --format json")
    shared.add_engine(parser, shared.WHERE_CHECKED)
    shared.add_threads(parser)
    shared.add_limit(parser, USUAL)
    shared.add_coverage(parser)
    parser.epilog = CHECK_EXAMPLES


def _add_checked(parser: ArgumentParser) -> None:
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
    add(
        "--seed",
        metavar="N",
        type=shared.whole,
        help=f"explore another legal schedule, and {argument_forms.SEED}",
    )
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


PROFILE_EXAMPLES = """examples:
  mlusim profile my_script.py --lines
  mlusim profile my_script.py --kernel double --trace trace.json -- --size 4096
  mlusim profile tin_shift_forward --case golden_document --html profile.html
  mlusim profile tests/test_kernel.py::test_small --check memcheck,racecheck
  mlusim profile cases.toml --case large --lines
  mlusim profile my_script.py --write-baseline times.json
  mlusim profile my_script.py --baseline times.json --what-if MLU370-X8 MLU590-H8
  mlusim profile scale.mlu --kernel 'Scale<float>' --arg dst=out:float32:1024 --arg src=in.npy --arg n=16"""


def profile(parser: ArgumentParser) -> None:
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
    parser.epilog = PROFILE_EXAMPLES


COVER_EXAMPLES = """examples:
  mlusim cover scale.mlu --kernel 'Scale<float>' --arg dst=out:float32:1024 --arg src=in:float32:1024 --arg n=16
  mlusim cover tests/test_kernel.py --keep coverage.json --lcov coverage.info
  mlusim cover ctest --keep coverage.json --html coverage.html -- --test-dir build
  mlusim cover coverage.json --lcov coverage.info"""


def cover(parser: ArgumentParser) -> None:
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
    parser.epilog = COVER_EXAMPLES


DEBUG_TRUST = "code in the file may run: the script that it holds or names, the sources that it names, conditions of its breakpoints"
DEBUG_EXAMPLES = """examples:
  mlusim debug tin_shift_forward --case golden_document
  mlusim debug mutual_information_backward --command "break bang_pow2" --command run --command where
  mlusim debug my_script.py --script commands.txt
  mlusim debug scale.mlu --kernel 'Scale<float>' --arg dst=out:float32:1024 --arg src=in.npy --arg n=16
Without --command and --script it reads commands from the terminal, or from a pipe; `help` lists them.
A launch in which a breakpoint may stop takes a multiple of its time in `mlusim run`, and lines that are followed more; what goes
on is shown, and Ctrl-C stops it where it is."""


def debug(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim debug``."""
    add = parser.add_argument
    shared.add_program(
        parser,
        "OP|SCRIPT.py|FILE.mlu|cases.toml",
        "an operator, a script that launches kernels, or BANG C",
        "arguments of the script",
    )
    shared.add_call_arguments(parser)
    shared.add_call(parser)
    shared.add_checkers(parser)
    shared.add_schedule(parser)
    shared.add_engine(
        parser,
        "what runs the kernels up to the place of interest, where Python takes over: auto takes C for kernels of BANG C, "
        "native the kernel.mlu of an operator too (default: auto)",
    )
    add(
        "--history",
        metavar="MIB",
        type=shared.whole,
        help="MiB of tensors kept of earlier launches (default: 1024)",
    )
    add("--replay", metavar="F", help="stand at the place of a recording that the command `record` has made")
    add("--trust", action="store_true", help=f"with --replay, {DEBUG_TRUST}")
    add("--show", action="store_true", help="with --replay, print the code in the file, and run nothing")
    add("--command", metavar="TEXT", action="append", default=[], help="execute a command; may be repeated")
    add("--script", metavar="F", help="execute the commands of a file, one a line, after --command")
    add("--tui", action="store_true", help="the full-screen view; needs the extra mlusim[tui]")
    add("--json", action="store_true", help="the commands and their answers as one JSON document")
    parser.epilog = DEBUG_EXAMPLES


DAP_EXAMPLES = """examples:
  mlusim dap              (an editor starts it, and talks to it over standard input and output)
  mlusim dap --port 4711  (an editor connects to it; --port 0 takes any port that is free, and says which)
A launch takes program (an operator, a script or BANG C), args, cwd, and case, board, inputs, set, check, seed, effects as
`mlusim debug` does; kernel stops where it begins, stopOnEntry at the first line; stopAtEnd false ends with the program.
For BANG C kernel, dim, kind, arg, include and define say what is called, as on the command line."""


def dap(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim dap``."""
    parser.add_argument(
        "--port", metavar="N", type=int, help="wait for an editor at this port of this machine"
    )
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    parser.epilog = DAP_EXAMPLES
