"""``mlusim profile``: every launch of a script, an operator, a kernel of BANG C sources or a test."""

import argparse
import contextlib
import os
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.check.checking import printing_aside, problem_of, sentence_of
from mlusim.check.elsewhere import Forked, threads_watched
from mlusim.cli.arguments import add_call, add_checkers, add_program, add_schedule
from mlusim.cli.engines import add_engine
from mlusim.cli.exits import CLEAN, FAULT, FINDINGS, USAGE
from mlusim.cli.gate import Exists, Gate, add_gate, gate_in, show_comparison
from mlusim.cli.programs import program_of
from mlusim.cli.settings import add_limit, boards_in, whole
from mlusim.cli.show import emit, output
from mlusim.cli.sources import add_call_arguments, is_source
from mlusim.cli.tell import remark
from mlusim.errors import Fault, UsageError, said
from mlusim.files.writing import check_writable
from mlusim.machine.hub import attending
from mlusim.machine.launch import Launch
from mlusim.machine.limits import UNLIMITED
from mlusim.operators.runner import SUCCESS, Run
from mlusim.programs.elsewhere import elsewhere
from mlusim.programs.program import Program
from mlusim.report.baseline import LAUNCHES, Key
from mlusim.report.compare import BaselineComparison, Measured, comparison_json, measured_launches
from mlusim.report.launches import launch_facts, launches_view, write_launches, write_page
from mlusim.report.profiled import Profiled
from mlusim.report.tables.whatif import what_if_table

RUNS_PROGRAMS = True

EXAMPLES = """examples:
  mlusim profile my_script.py --lines
  mlusim profile my_script.py --kernel double --trace trace.json -- --size 4096
  mlusim profile tin_shift_forward --case golden_document --html profile.html
  mlusim profile tests/test_kernel.py::test_small --check memcheck,racecheck
  mlusim profile my_script.py --write-baseline times.json
  mlusim profile my_script.py --baseline times.json --what-if MLU370-X8 MLU590-H8
  mlusim profile scale.mlu --kernel 'Scale<float>' --arg dst=out:float32:1024 --arg src=in.npy --arg n=16"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add_program(
        parser,
        "PROGRAM",
        "a script, an operator, BANG C files, or a test as tests/test_x.py::test_y",
        "words for the script or pytest; behind -- all are",
    )
    add("--lines", action="store_true", help="all lines of the kernels, and every launch by itself")
    add("--trace", metavar="F.json", help="write a trace for Perfetto or chrome://tracing")
    add("--html", metavar="F.html", help="write a page with the source; needs the extra mlusim[report]")
    add("--launch", metavar="N", type=whole, help="the Nth launch alone, from 1")
    add_checkers(parser)
    add_call(parser)
    add_schedule(parser)
    add_call_arguments(parser)
    add_engine(
        parser,
        "native: C where it can be, which knows no lines (default: auto, which takes Python for the lines)",
    )
    parser.set_defaults(where_it_can=True)
    add(
        "--what-if",
        metavar="BOARD",
        nargs="+",
        default=[],
        help="the time on these boards as well: re-timed, or run there where the architecture is another",
    )
    add_gate(parser)
    add("--json", action="store_true", help="one JSON document on standard output")
    add_limit(parser, UNLIMITED)
    parser.epilog = EXAMPLES


def run(args: argparse.Namespace) -> int:
    """Profile; returns 1 for findings, failed accuracy or a regression, 2 for an error of the program, 3 after a fault."""
    check_writable(args.trace, args.html)
    boards = boards_in(args.what_if, DEFAULT_BOARDS) if args.what_if else []
    gate = gate_in(args, LAUNCHES)
    wanted = args.kernel
    if not is_source(args.program):
        args.kernel = None  # there it names the kernel that is launched; here, those that are shown
    program = program_of(args)
    kernel = None if is_source(args.program) else wanted
    with printing_aside() if args.json else contextlib.nullcontext():
        made, ended = _launches(program, args)
        chosen = _chosen(made, args.launch, kernel)
        alone = [launch for _, launch in chosen]
        study = None
        if boards and alone:
            study = elsewhere(
                program, made, boards, lambda all_: [one for _, one in _chosen(all_, args.launch, kernel)]
            )
    found, measured, exists = _compared(gate, args.program, made, alone)
    if args.json:
        document = {"program": args.program, "launches": [launch_facts(launch) for launch in alone]}
        asked = {} if study is None else {"what_if": study.to_json()}
        emit(document | asked | ({} if found is None else {"comparison": comparison_json(found)}))
    elif chosen:
        output().print(launches_view(chosen, lines=args.lines, every=args.lines or args.launch is not None))
        if study is not None:
            output().print("", what_if_table(study), sep="\n")
        if found is not None:
            show_comparison(found)
    if args.trace and alone:
        write_launches(args.trace, alone)
    if args.html and alone:
        write_page(args.html, alone, program=args.program, study=study, found=found, command=args.typed)
    gate.store(measured, exists)
    return _code(alone, ended) or (CLEAN if found is None or found.passed else FINDINGS)


def _compared(
    gate: Gate, name: str, made: Sequence[Launch], alone: Sequence[Launch]
) -> tuple[BaselineComparison | None, list[Measured], Exists]:
    """The comparison with a baseline, what was measured of *alone*, and which launches there are any more."""
    program = os.path.normpath(name)
    every = measured_launches(program, made)
    keys = {one.key for one in every}
    kept = {id(launch) for launch in alone}
    timed = [launch for launch in made if launch.tasks]
    measured = [one for one, launch in zip(every, timed, strict=True) if id(launch) in kept]

    def exists(key: Key) -> bool:
        return key[0] != program or key in keys

    return gate.compared(measured, exists), measured, exists


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
        away = forked.close()
    return found.launches, away or ended


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
        remark(f"error: {' '.join(sentence.split())}")
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
