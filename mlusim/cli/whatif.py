"""``mlusim what-if``: one call on every board, re-timed from one run where the work is the same."""

import argparse
from collections.abc import Callable

from mlusim.arch.catalog import BOARDS, DEFAULT_BOARDS, find_board
from mlusim.cli import report_program
from mlusim.cli.cases import each
from mlusim.cli.entry import CLEAN, FINDINGS
from mlusim.cli.options import boards_in, names_in, parameters, read_inputs
from mlusim.cli.programs import is_cases, is_program, operators_behind, refuse_call_arguments
from mlusim.cli.show import emit, output, progress
from mlusim.errors import UsageError
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.spec import Operator
from mlusim.operators.whatif import WhatIf, WhatIfQuestion, ask, study_of, what_if
from mlusim.report.whatif import WhatIfStudy, what_if_table


def run(args: argparse.Namespace) -> int:
    """Ask and show; returns 1 where the call works on no board."""
    if is_cases(args.program):
        return each(args, run)
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
