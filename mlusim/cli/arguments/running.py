"""The arguments of verbs that run one program with all its launches, and of `dap`, which waits for an editor to do so."""

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
    add = shared.Adder(parser)
    add.program(
        "PROGRAM",
        "an operator; `mlusim ops` lists them; or a script, a test, BANG C files, a native program, or cases.toml",
        "more files, and arguments of the script or main(), and everything after --",
    )
    add.call_arguments()
    add.reference()
    add.call("one case; without it and --inputs, all cases")
    add.value(
        "--policy NAME", "a policy of the operator, as its order of growing tiles; `mlusim ops OP` lists them"
    )
    add.value("--save F.npz", "write the outputs, of several cases as CASE/OUTPUT")
    add.checkers()
    add.value("--trace F.json", "write a trace of the launches for Perfetto or chrome://tracing")
    add.flag("--lines", "the time of each line of the kernels")
    add.schedule()
    add.engine()
    add.threads()
    add.jobs()
    add.json()
    add.limit(USUAL)
    add.coverage()
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

# Code hosts show SARIF beside the changed lines; CI systems show JUnit as tests.
CHECK_FORMATS = ("text", "json", "sarif", "junit")


def check(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim check``."""
    add = shared.Adder(parser)
    add.program(
        "PROGRAM",
        "an operator, a script that launches kernels, BANG C files, a native program, cases.toml, or a test as tests/test_x.py::test_y",
        "arguments of the script, main() or pytest, and everything after --",
    )
    add.call_arguments()
    add.function()
    add.reference()
    add.flag("--all", "every operator, all cases except long ones, on every board of --board")
    add.flag("--long", "also cases that take over a minute when every instruction is observed")
    add.repeated("--only NAMES", "these checkers (default: all of them)")
    add.value("--case NAME", "one case of the operator or of cases.toml; without it all but the long ones")
    add.inputs()
    add.value("--board B", f"a board; {DEFAULT_BOARDS[0]} when none is named, with --all both defaults")
    add.value("--seed N", f"explore another legal schedule, and {argument_forms.SEED}", type=shared.whole)
    add.value("--effects", "when asynchronous effects of the operator land (default: late)", choices=EFFECTS)
    add.value("--schedules N", "compare the results of N other schedules, all different", type=shared.whole)
    add.value("--record F.json", "write the smallest schedule that differs to a replay file")
    add.value("--replay F.json", "repeat the schedule of a replay file, and compare")
    add.flag("--trust", "with --replay, the script that the file names may run")
    # Notes are optional: a run fails by errors, and a note, for example about an idle sync, is not one.
    add.flag("--notes", "also report notes, which are seldom news and fail no run")
    add.flag(
        "--values",
        "changes of numbers by vectors (the first infinity or NaN, overflow of integers) are findings, not notes",
    )
    add.value("--suppress F.toml", "findings that are accepted: id, place and reason of each")
    add.answer(CHECK_FORMATS)
    add.jobs()
    # An alternative to --format json, since the other verbs have --json.
    add.flag("--json", "the same as --format json")
    add.engine(shared.WHERE_CHECKED)
    add.threads()
    add.limit(USUAL)
    add.coverage()
    parser.epilog = CHECK_EXAMPLES


# In the order of `profile.FORMATS`, which a test compares; importing that would load half of the package.
PROFILE_FORMATS = ("json", "csv", "md", "html")
PROFILE_EXAMPLES = """examples:
  mlusim profile my_script.py --lines
  mlusim profile my_script.py --kernel double --trace trace.json -- --size 4096
  mlusim profile tin_shift_forward --case golden_document --html profile.html
  mlusim profile tests/test_kernel.py::test_small --check memcheck,racecheck
  mlusim profile cases.toml --case large --lines
  mlusim profile my_script.py --write-baseline times.json
  mlusim profile cases.toml --board MLU370-X4 MLU590-H8 -o launches.html
  mlusim profile scale.mlu --kernel 'Scale<float>' --arg dst=out:float32:1024 --arg src=in.npy --arg n=16"""


def profile(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim profile``."""
    add = shared.Adder(parser)
    add.program(
        "PROGRAM",
        "a script, an operator, BANG C files, a native program, cases.toml, or a test as tests/test_x.py::test_y",
        "arguments of the script or pytest, and everything after --",
    )
    add.flag("--lines", "all lines of the kernels, and every launch by itself")
    add.value("--trace F.json", "write a trace for Perfetto or chrome://tracing")
    add.value("--html F.html", "also write a page with the source; needs the extra mlusim[report]")
    add.answer((shared.TEXT, *PROFILE_FORMATS))
    add.value("--launch N", "the Nth launch alone, from 1", type=shared.whole)
    add.checkers()
    add.value(
        "--case NAME",
        "one of the operator's cases (default: its first), or of the file's (default there: all)",
    )
    add.inputs()
    add.boards("that of the program, or MLU370-X4")
    add.schedule()
    add.call_arguments()
    add.reference()
    add.engine()
    add.threads()
    # native means C where possible: `main.settled` replaces it by auto.
    parser.set_defaults(where_it_can=True)
    # `mlusim what-if` replaces this option.
    shared.Adder(parser, hidden=True).several("--what-if BOARD", "")
    add.gate()
    add.flag("--json", "the same as --format json")
    # Options that `mlusim report` had for a program.
    parser.set_defaults(usual_boards=(None,), explain=False, no_lines=False)
    add.limit(USUAL)
    add.coverage()
    parser.epilog = PROFILE_EXAMPLES


COVER_EXAMPLES = """examples:
  mlusim cover scale.mlu --kernel 'Scale<float>' --arg dst=out:float32:1024 --arg src=in:float32:1024 --arg n=16
  mlusim cover tests/test_kernel.py --keep coverage.json --lcov coverage.info
  mlusim cover ctest --keep coverage.json --html coverage.html -- --test-dir build
  mlusim cover coverage.json --lcov coverage.info"""


def cover(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim cover``."""
    add = shared.Adder(parser)
    add.program(
        "PROGRAM",
        "a script, an operator, BANG C files, cases.toml, a native program or a command that starts some, a test, or a record of --keep",
        "arguments of the script, main(), the program or pytest, and everything after --",
    )
    add.value("--keep F.json", "add the executed lines to this record, and show all of it")
    add.value("--lcov F.info", "write a tracefile of lcov")
    add.value("--html F.html", "write a page with the sources")
    add.json()
    add.call()
    add.schedule()
    add.engine(
        "the engine that runs kernels and counts lines: auto uses C for kernels of BANG C (default: auto)"
    )
    add.call_arguments()
    add.reference()
    add.limit(USUAL)
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
    add = shared.Adder(parser)
    add.program(
        "OP|SCRIPT.py|FILE.mlu|cases.toml",
        "an operator, a script that launches kernels, or BANG C",
        "arguments of the script",
    )
    add.call_arguments()
    add.reference()
    add.call()
    add.checkers()
    add.schedule()
    add.engine(
        "the engine up to the stop, from which Python continues: auto uses C for kernels of BANG C, "
        "native also for the kernel.mlu of an operator (default: auto)"
    )
    add.value("--history MIB", "MiB of tensors kept of earlier launches (default: 1024)", type=shared.whole)
    add.value("--replay F", "go to the position of a recording made by the command `record`")
    add.flag("--trust", f"with --replay, {DEBUG_TRUST}")
    add.flag("--show", "with --replay, print the code in the file, and run nothing")
    add.repeated("--command TEXT", "execute a command; may be repeated")
    add.value("--script F", "execute the commands of a file, one a line, after --command")
    add.flag("--tui", "the full-screen view; needs the extra mlusim[tui]")
    add.flag("--json", "the commands and their answers as one JSON document")
    parser.epilog = DEBUG_EXAMPLES


DAP_EXAMPLES = """examples:
  mlusim dap              (an editor starts it, and talks to it over standard input and output)
  mlusim dap --port 4711  (an editor connects to it; --port 0 takes any port that is free, and says which)
A launch takes program (an operator, a script or BANG C), args, cwd, and case, board, inputs, set, check, seed, effects as
`mlusim debug` does; kernel stops where it begins, stopOnEntry at the first line; stopAtEnd false ends with the program.
For BANG C kernel, dim, kind, arg, include and define say what is called, as on the command line."""


def dap(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim dap``."""
    add = shared.Adder(parser)
    add.value("--port N", "wait for an editor at this port of this machine", type=int)
    # Accepted, though not in the help: `mlusim dap` then explains why it has no such option.
    add.flag("--json", argparse.SUPPRESS)
    parser.epilog = DAP_EXAMPLES
