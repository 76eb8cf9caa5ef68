"""``mlusim what-if``: one call on every board, re-timed from one run where the work is the same."""

import argparse
from collections.abc import Callable

from mlusim.arch.catalog import BOARDS, DEFAULT_BOARDS, find_board
from mlusim.cli import report_program
from mlusim.cli.arguments import add_inputs, add_program
from mlusim.cli.engines import add_engine
from mlusim.cli.exits import CLEAN, FINDINGS
from mlusim.cli.files import read_inputs
from mlusim.cli.programs import is_program, operators_behind
from mlusim.cli.settings import boards_in, names_in, parameters
from mlusim.cli.show import emit, output, progress
from mlusim.cli.sources import add_call_arguments, refuse_call_arguments
from mlusim.errors import UsageError
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.spec import Operator
from mlusim.operators.whatif import WhatIf, WhatIfQuestion, ask, study_of, what_if
from mlusim.report.tables.whatif import WhatIfStudy, what_if_table

RUNS_PROGRAMS = True

EXAMPLES = """examples:
  mlusim what-if tin_shift_forward --case network_3x15x16x45435_half
  mlusim what-if three_interpolate_backward --case case_9 --board MLU370-S4 MLU370-X8 --from MLU370-X4
  mlusim what-if three_interpolate_backward --inputs my.npz --set m=64 --json
  mlusim what-if my_script.py --board MLU370-X8 MLU590-H8 -- --size 4096
  mlusim what-if scale.mlu --kernel 'Scale<float>' --arg dst=out:float32:1024 --arg src=in.npy --arg n=16"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add_program(
        parser,
        "PROGRAM",
        "an operator; `mlusim ops` lists them; or a script, a test, BANG C files or a native program",
        "words for the script or main(); behind -- all are",
    )
    add_call_arguments(parser)
    add("--case", metavar="NAME", help="one of its cases")
    add_inputs(parser)
    add("--policy", metavar="P", help="a policy of the operator; `mlusim ops OP` lists them")
    add("--board", nargs="+", action="extend", default=[], metavar="B", help="boards (default: all of them)")
    add(
        "--from",
        metavar="B",
        dest="base",
        help=f"the board of the recorded run (default: {DEFAULT_BOARDS[0]})",
    )
    add_engine(parser)
    add("--json", action="store_true", help="one JSON document on standard output")
    parser.epilog = EXAMPLES


def run(args: argparse.Namespace) -> int:
    """Ask and show; returns 1 where the call works on no board."""
    if is_program(args.program):
        return report_program.what_if(args)
    more = operators_behind(args)
    if args.program is None or more:
        odd = f", and no {more[0]!r}" if more else ""
        raise UsageError(f"mlusim what-if takes one operator or program{odd}")
    refuse_call_arguments(args)
    operator = find_operator(args.program)
    if (args.case is None) == (args.inputs is None):
        raise UsageError("what-if takes one call; name it with --case or --inputs")
    if args.set and args.inputs is None:
        raise UsageError("--set goes with --inputs; a case has its own parameters")
    base = find_board(args.base or DEFAULT_BOARDS[0]).name
    boards = [base, *(name for name in boards_in(args.board, list(BOARDS)) if name != base)]
    with progress("boards", len(boards)) as step:
        study = _study(args, operator, boards, lambda answer: step(answer.board))
    if args.json:
        emit(study.to_json())
    else:
        output().print(what_if_table(study))
    return CLEAN if study.works else FINDINGS


def _study(
    args: argparse.Namespace, operator: Operator, boards: list[str], done: Callable[[WhatIf], None]
) -> WhatIfStudy:
    if args.case is not None:
        find_case(operator, args.case)
        return ask(WhatIfQuestion(operator.name, args.case, tuple(boards), args.policy), done)
    arrays, params = read_inputs(args.inputs, operator), parameters(operator, names_in(args.set))
    answers = what_if(operator, arrays, params, boards=boards, policy=args.policy, outputs=False, done=done)
    return study_of(operator.name, None, answers)
