"""``mlusim profile``: every launch of a script, an operator, a kernel of BANG C sources or a test."""

import argparse
import contextlib
import sys
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.check.checking import printing_aside, problem_of, sentence_of
from mlusim.check.elsewhere import Forked, threads_watched
from mlusim.cli.exits import CLEAN, FAULT, FINDINGS, USAGE
from mlusim.cli.programs import program_of
from mlusim.cli.settings import add_limit, boards_in, whole
from mlusim.cli.show import emit, output
from mlusim.cli.sources import add_call_arguments, is_source
from mlusim.engine.native.choose import ENGINES
from mlusim.errors import Fault, UsageError, said
from mlusim.files.writing import check_writable
from mlusim.machine.device import EFFECTS
from mlusim.machine.hub import attending
from mlusim.machine.launch import Launch
from mlusim.machine.limits import UNLIMITED
from mlusim.operators.runner import SUCCESS, Run
from mlusim.programs.program import Program
from mlusim.report.launches import elsewhere, launch_facts, launches_view, write_launches, write_page
from mlusim.report.profiled import Profiled

RUNS_PROGRAMS = True

EXAMPLES = """examples:
  mlusim profile my_script.py --lines
  mlusim profile my_script.py --kernel double --trace trace.json -- --size 4096
  mlusim profile tin_shift_forward --case golden_document --html profile.html
  mlusim profile tests/test_kernel.py::test_small --check memcheck,racecheck
  mlusim profile scale.mlu --kernel 'Scale<float>' --arg dst=out:float32:1024 --arg src=in.npy --arg n=16"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add(
        "program",
        metavar="PROGRAM",
        nargs="?",
        help="a script, an operator, BANG C files, or a test as tests/test_x.py::test_y",
    )
    add("arguments", metavar="ARG", nargs="*", help="words for the script or pytest; behind -- all are")
    add("--lines", action="store_true", help="all lines of the kernels, and every launch by itself")
    add("--trace", metavar="F.json", help="write a trace for Perfetto or chrome://tracing")
    add("--html", metavar="F.html", help="write a page with the source; needs the extra mlusim[report]")
    add("--launch", metavar="N", type=whole, help="the Nth launch alone, from 1")
    add(
        "--check",
        metavar="NAMES",
        action="append",
        default=[],
        help="checkers that watch, as memcheck,racecheck",
    )
    add("--case", metavar="NAME", help="one of the operator's cases (default: its first)")
    add("--inputs", metavar="F.npz", help="your arrays, under the names of the operator's inputs")
    add("--set", metavar="k=v,...", action="append", default=[], help="parameters that go with --inputs")
    add("--board", metavar="B", help=f"a board; {DEFAULT_BOARDS[0]} when none is named")
    add("--seed", metavar="N", type=whole, help="explore another legal schedule")
    add("--effects", choices=EFFECTS, default=EFFECTS[0], help="when asynchronous effects land")
    add_call_arguments(parser)
    add(
        "--engine",
        choices=ENGINES,
        default=ENGINES[0],
        help="native: C where it can be, which knows no lines (default: auto, which takes Python for the lines)",
    )
    add(
        "--what-if",
        metavar="BOARD",
        nargs="+",
        default=[],
        help="re-time the launches on these boards as well",
    )
    add("--json", action="store_true", help="one JSON document on standard output")
    add_limit(parser, UNLIMITED)
    parser.epilog = EXAMPLES


def run(args: argparse.Namespace) -> int:
    """Profile; returns 1 for findings or failed accuracy, 2 for an error of the program, 3 after a fault."""
    check_writable(args.trace, args.html)
    boards_in(args.what_if, DEFAULT_BOARDS)
    wanted = args.kernel
    if not is_source(args.program):
        args.kernel = None  # there it names the kernel that is launched; here, those that are shown
    program = program_of(args)
    with printing_aside() if args.json else contextlib.nullcontext():
        made, ended = _launches(program, args)
    chosen = _chosen(made, args.launch, None if is_source(args.program) else wanted)
    others = elsewhere([launch for _, launch in chosen], args.what_if)
    if args.json:
        document = {"program": args.program, "launches": [launch_facts(launch) for _, launch in chosen]}
        emit(document | ({"what_if": others} if others else {}))
    elif chosen:
        output().print(launches_view(chosen, lines=args.lines, every=args.lines or args.launch is not None))
        for row in others:
            told = row["why"] or f"{row['time_us']:,.2f} us"
            output().print(Text(f"{row['kernel']} on {row['board']}: {told}"), soft_wrap=True)
    alone = [launch for _, launch in chosen]
    if args.trace and alone:
        write_launches(args.trace, alone)
    if args.html and alone:
        write_page(args.html, alone, args.program)
    return _code(alone, ended)


def _launches(program: Program, args: argparse.Namespace) -> tuple[list[Launch], Any]:
    """What *program* launched, and how it ended: a `Run`, an exception, a sentence, or anything else."""
    found, forked = Profiled(lines=args.engine != "native"), Forked()
    ended: Any = None
    try:
        with attending([found, *([] if args.engine == "native" else [forked])]), threads_watched():
            ended = program.run(())
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if not found.launches and isinstance(error, UsageError):
            raise
        ended = error
    finally:
        elsewhere = forked.close()
    return found.launches, elsewhere or ended


def _chosen(made: Sequence[Launch], number: int | None, kernel: str | None) -> list[tuple[int, Launch]]:
    """The launches that are asked for, with their numbers from 1; raises `UsageError` where there are none."""
    numbered = list(enumerate(made, 1))
    if number is not None:
        if not 1 <= number <= len(made):
            raise UsageError(
                f"--launch {number} is not there; {len(made)} launches were made, counted from 1"
            )
        numbered = [numbered[number - 1]]
    if kernel is not None:
        names = ", ".join(dict.fromkeys(launch.kernel for launch in made)) or "none"
        numbered = [one for one in numbered if one[1].kernel == kernel]
        if not numbered:
            raise UsageError(f"no launch of a kernel {kernel!r}; what was launched: {names}")
    return numbered


def _code(launches: Sequence[Launch], ended: Any) -> int:
    """Say how the program ended where it did not end well; the exit code."""
    if isinstance(ended, Run) and ended.status == SUCCESS and problem_of(ended):
        output().print(Text(problem_of(ended), style="bold red"))
        return FINDINGS
    sentence = _ending(ended)
    if not sentence and not launches:
        sentence = "nothing was launched" + (f": {ended.message}" if isinstance(ended, Run) else "")
    if sentence:
        print(f"error: {' '.join(sentence.split())}", file=sys.stderr)
        return FAULT if isinstance(ended, Fault) else USAGE
    complaints = (finding for launch in launches for finding in launch.findings)
    return FINDINGS if any(getattr(found, "level", "") != "note" for found in complaints) else CLEAN


def _ending(ended: Any) -> str:
    if isinstance(ended, str):
        return ended
    if isinstance(ended, SystemExit):
        return f"the program ended with exit code {said(ended)}"
    if isinstance(ended, UsageError | Fault):
        return said(ended)
    if isinstance(ended, BaseException):
        return f"the program raises {sentence_of(ended, '')}"
    return ""
