"""``mlusim what-if``: one call or program on every board, timed again from one run if the work is the same."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from attrs import evolve
from rich.text import Text

from mlusim.arch.catalog import BOARDS, DEFAULT_BOARDS, find_board
from mlusim.cli import cases, entry, programs, show
from mlusim.cli.launched import chosen, kernel_wanted, launched_on, usual_boards
from mlusim.cli.options import boards_in, names_in, parameters, read_inputs, refuse
from mlusim.document import Document, Unfolded
from mlusim.errors import Fault, UsageError, said
from mlusim.files.writing import check_writable, write_text
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.spec import Operator
from mlusim.operators.whatif import WhatIf, WhatIfQuestion, ask, study_of, what_if
from mlusim.programs.other_boards import elsewhere
from mlusim.report.page.boards import what_if_page
from mlusim.report.whatif import WhatIfStudy, what_if_table
from mlusim.tune import space


def run(args: argparse.Namespace) -> int:
    """Predict and show the times; returns 1 if the call works on no board."""
    check_writable(args.html)
    if programs.is_cases(args.program):
        return _what_if_cases(args)
    if programs.is_program(args.program):
        return _what_if_program(args)
    more = programs.operators_behind(args)
    if args.program is None or more:
        odd = f", and no {more[0]!r}" if more else ""
        raise UsageError(f"mlusim what-if takes one operator or program{odd}")
    programs.refuse_call_arguments(args)
    operator = find_operator(args.program)
    if (args.case is None) == (args.inputs is None):
        raise UsageError("what-if takes one call; name it with --case or --inputs")
    if args.set and args.inputs is None:
        raise UsageError("--set goes with --inputs; a case has its own parameters")
    base = find_board(args.base or DEFAULT_BOARDS[0]).name
    boards = [base, *(name for name in boards_in(args.board, list(BOARDS)) if name != base)]
    with show.progress("boards", len(boards)) as step:
        study = _study(args, operator, boards, lambda answer: step(answer.board))
    _show(args, study)
    return entry.CLEAN if study.works else entry.FINDINGS


def _what_if_cases(args: argparse.Namespace) -> int:
    """Predict each case of a file, with one page for all; return the largest exit code."""
    studies: list[WhatIfStudy] = []

    def ask(case_args: argparse.Namespace) -> int:
        case_args.studies = []
        try:
            return run(case_args)
        finally:
            name = case_args.named_case.name
            studies.extend(evolve(study, case=f"{name}, {study.case}") for study in case_args.studies)

    code = cases.each(argparse.Namespace(**{**vars(args), "html": None}), ask)
    _write(args, studies)
    return code


def _show(args: argparse.Namespace, study: WhatIfStudy) -> None:
    """Print *study*, and write its page."""
    show.say(Document(study.to_json, lambda: [what_if_table(study)]), json=args.json)
    _write(args, [study])


def _write(args: argparse.Namespace, studies: Sequence[WhatIfStudy]) -> None:
    """Write the page of *studies* if it is requested; those of a case are on the page of all cases."""
    args.studies += studies
    if args.html and studies:
        write_text(args.html, what_if_page(studies, args.typed), keep=True)
        show.wrote("page", args.html)


def _study(
    args: argparse.Namespace, operator: Operator, boards: list[str], done: Callable[[WhatIf], None]
) -> WhatIfStudy:
    if args.case is not None:
        find_case(operator, args.case)
        return ask(WhatIfQuestion(operator.name, args.case, tuple(boards), args.policy), done)
    arrays, params = read_inputs(args.inputs, operator), parameters(operator, names_in(args.set))
    answers = what_if(operator, arrays, params, boards=boards, policy=args.policy, outputs=False, done=done)
    return study_of(operator.name, None, answers)


# -- a program that is not an operator -----------------------------------------------------------------------

OF_STUDIES = ("case", "inputs", "set", "policy")


def _what_if_program(args: argparse.Namespace) -> int:
    """Run the program on every board, beginning with that of ``--from``; returns 1 if it works on none."""
    refuse(args, OF_STUDIES, "goes with an operator; leave it out")
    base = find_board(args.base).name if args.base else usual_boards(args, DEFAULT_BOARDS[:1])[0]
    if args.param:
        return _what_if_each(args, base)
    study, code = _program_study(args, base)
    if study is None:
        return code
    _show(args, study)
    return code or (entry.CLEAN if study.works else entry.FINDINGS)


def _program_study(args: argparse.Namespace, base: str | None) -> tuple[WhatIfStudy | None, int]:
    """Return the predictions for one program, None if it failed, and its exit code."""
    program, run = launched_on(args, base, (), aside=args.json)
    if args.json:
        run.tell_judged()
    else:
        show.put(run.judged_parts())
    code = run.finish()
    kernel = kernel_wanted(args)
    launches = [launch for _, launch in run.chosen(None, kernel)]
    if not launches or code not in (entry.CLEAN, entry.FINDINGS):
        return None, code
    usual = {launch.board for launch in launches}
    # A board on which all launches ran already would give the same figures.
    boards = [name for name in boards_in(args.board, list(BOARDS)) if {name} != usual]
    with show.progress("boards", len(boards)) as step:
        study = elsewhere(
            program,
            run.launches,
            boards,
            lambda all_launches: [launch for _, launch in chosen(all_launches, None, kernel)],
            step,
        )
    return study, code


def _what_if_each(args: argparse.Namespace, base: str | None) -> int:
    """Run each candidate of ``--param`` in this way, of a kernel or a program; the answer of one that does not run on *base* is a sentence."""
    refuse(args, ("reference", "expect"), "goes with one call; `mlusim tune` compares each candidate")
    candidates: list[dict[str, Any]] = []
    studies: list[WhatIfStudy] = []
    works = False
    program = programs.program_to_try(args, base or DEFAULT_BOARDS[0])
    parameters = (
        space.parameters_of(args.param, programs.kernel_call(args, base))
        if program is None
        else space.program_parameters(args.param, program)
    )
    for settings in space.grid(parameters):
        study, failure = None, ""
        try:
            with space.variables_set(settings):
                study, code = _program_study(_with_words(args, settings), base)
            if study is None:
                failure = f"it ends with exit code {code}" if code else "it launches no kernel"
        except (Fault, UsageError) as error:
            failure = said(error)
        works = works or (study is not None and study.works)
        candidates.append({"parameters": {s.name: s.value for s in settings}, "failure": failure or None})
        if study is not None:
            candidates[-1] |= study.to_json()
            studies.append(evolve(study, case=space.told(settings)))
        if not args.json:
            view = Unfolded(failure, "bold red") if study is None else what_if_table(study)
            gap = [""] if len(candidates) > 1 else []
            show.put((*gap, Text(space.told(settings), style="bold"), view))
    if args.json:
        show.emit({"program": args.program, "candidates": candidates})
    _write(args, studies)
    return entry.CLEAN if works else entry.FINDINGS


def _with_words(args: argparse.Namespace, settings: space.Settings) -> argparse.Namespace:
    """Return *args* as if *settings* had been typed as -D, --arg, --dim, --kind, and in the program's words."""
    words = {
        role: [f"{s.name}={s.value}" for s in settings if s.role == role]
        for role in (space.MACRO, space.ARGUMENT)
    }
    launch = {s.role: s.value for s in settings if s.role in (space.DIM, space.KIND)}
    changes = {
        "define": [*args.define, *words[space.MACRO]],
        "arg": [*args.arg, *words[space.ARGUMENT]],
        "param": [],
    }
    changes |= {
        name: [space.filled(word, settings) for word in getattr(args, name, ())]
        for name in ("arguments", "behind")
    }
    return argparse.Namespace(**{**vars(args), **changes, **launch})
