"""``mlusim report`` and ``mlusim what-if`` of a program that is no operator, on several boards."""

import argparse
import contextlib
import csv
import io
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from rich.text import Text

from mlusim.arch.catalog import BOARDS, DEFAULT_BOARDS, find_board
from mlusim.check.checking import printing_aside
from mlusim.cli.arguments.shared import TEXT
from mlusim.cli.entry import CLEAN, FINDINGS
from mlusim.cli.launched import Launched, chosen, launched
from mlusim.cli.options import boards_in, names_in, write_text
from mlusim.cli.plain_text import remark
from mlusim.cli.programs import is_source, kernel_call, program_on, program_to_try
from mlusim.cli.show import emit, output, progress
from mlusim.engine.preference import NATIVE
from mlusim.errors import Fault, UsageError, said
from mlusim.machine.launch import Launch
from mlusim.programs.other_boards import elsewhere
from mlusim.programs.program import Program
from mlusim.report.json_values import json_text
from mlusim.report.launches import launch_facts, launches_view
from mlusim.report.page.launches import page_text
from mlusim.report.whatif import WhatIfStudy, what_if_table
from mlusim.tune.space import (
    ARGUMENT,
    DIM,
    KIND,
    MACRO,
    Settings,
    filled,
    grid,
    parameters_of,
    program_parameters,
    told,
    variables_set,
)

OF_REPORTS = ("case", "group", "policy", "baseline", "write_baseline", "explain")
OF_STUDIES = ("case", "inputs", "set", "policy")
COLUMNS = (
    "kernel", "board", "dim", "kind", "time_us", "time_low_us", "time_high_us", "bound", "io_bytes", "instructions", "engine",
)  # fmt: skip


def what_if(args: argparse.Namespace) -> int:
    """Run the program on every board, from that of ``--from``; returns 1 where it works on none."""
    _refuse(args, OF_STUDIES, "goes with an operator; leave it out")
    base = find_board(args.base).name if args.base else _usual(args, DEFAULT_BOARDS[:1])[0]
    if args.param:
        return _what_if_each(args, base)
    study, code = _study(args, base)
    if study is None:
        return code
    if args.json:
        emit(study.to_json())
    else:
        output().print(what_if_table(study))
    return code or (CLEAN if study.works else FINDINGS)


def _study(args: argparse.Namespace, base: str | None) -> tuple[WhatIfStudy | None, int]:
    """Return the answers for one program, None where it did not end well, and its exit code."""
    program, run = _launched(args, base, (), lines=False, aside=args.json)
    code = run.finish()
    kernel = _kernel(args)
    kept = [launch for _, launch in run.chosen(None, kernel)]
    if not kept or code not in (CLEAN, FINDINGS):
        return None, code
    own = {launch.board for launch in kept}
    # A board on which all launches ran already would answer with the same figures.
    boards = [name for name in boards_in(args.board, list(BOARDS)) if {name} != own]
    with progress("boards", len(boards)) as step:
        study = elsewhere(
            program, run.launches, boards, lambda made: [one for _, one in chosen(made, None, kernel)], step
        )
    return study, code


def _what_if_each(args: argparse.Namespace, base: str | None) -> int:
    """Run each candidate of ``--param`` so, of a kernel or a program; one that does not run on *base* has a sentence for an answer."""
    found: list[dict[str, Any]] = []
    works = False
    program = program_to_try(args, base or DEFAULT_BOARDS[0])
    parameters = (
        parameters_of(args.param, kernel_call(args, base))
        if program is None
        else program_parameters(args.param, program)
    )
    for settings in grid(parameters):
        study, failure = None, ""
        try:
            with variables_set(settings):
                study, code = _study(_with_words(args, settings), base)
            if study is None:
                failure = f"it ends with exit code {code}" if code else "it launches no kernel"
        except (Fault, UsageError) as error:
            failure = said(error)
        works = works or (study is not None and study.works)
        found.append({"parameters": {s.name: s.value for s in settings}, "failure": failure or None})
        found[-1] |= {} if study is None else study.to_json()
        if not args.json:
            view = Text(failure, style="bold red") if study is None else what_if_table(study)
            gap = [""] if len(found) > 1 else []
            output().print(*gap, Text(told(settings), style="bold"), view, sep="\n", soft_wrap=study is None)
    if args.json:
        emit({"program": args.program, "candidates": found})
    return CLEAN if works else FINDINGS


def _with_words(args: argparse.Namespace, settings: Settings) -> argparse.Namespace:
    """*args* as they are where *settings* are typed as -D, --arg, --dim, --kind, and in the words of a program."""
    words = {role: [f"{s.name}={s.value}" for s in settings if s.role == role] for role in (MACRO, ARGUMENT)}
    launch = {s.role: s.value for s in settings if s.role in (DIM, KIND)}
    changes = {"define": [*args.define, *words[MACRO]], "arg": [*args.arg, *words[ARGUMENT]], "param": []}
    changes |= {
        name: [filled(word, settings) for word in getattr(args, name, ())] for name in ("arguments", "behind")
    }
    return argparse.Namespace(**{**vars(args), **changes, **launch})


def report(args: argparse.Namespace, form: str) -> int:
    """Report the launches of the program on each board; returns 1 for findings, 2 and 3 as `mlusim profile`."""
    _refuse(args, OF_REPORTS, "goes with operators; `mlusim profile` measures a program against a baseline")
    boards = boards_in(args.board, ()) if args.board else _usual(args, DEFAULT_BOARDS)
    checks, kernel = tuple(names_in(args.check)), _kernel(args)
    aside = form != TEXT and not args.output
    runs: list[Launched] = []
    program: Program | None = None
    with progress("boards", len(boards)) as step:
        for board in boards:
            lines = not args.no_lines and args.engine != NATIVE
            moved, run = _launched(args, board, checks, lines=lines, aside=aside)
            program = program or moved
            runs.append(Launched([launch for _, launch in run.chosen(None, kernel)], run.ended))
            step(board or "")
            if not run.launches:
                break  # it ends so on any board
    assert program is not None
    made = [launch for run in runs for launch in run.launches]
    study = _studied(program, runs[0]) if args.what_if and runs[0].launches else None
    if form == TEXT:
        _show([run for run in runs if run.launches], study)
    elif made:
        ended = "\n".join(dict.fromkeys(run.told for run in runs if run.told))
        page = page_text(made, args.program, study, command=args.typed, ended=ended) if form == "html" else ""
        _write(args, form, made, page)
    return max([run.finish() for run in runs])


def _kernel(args: argparse.Namespace) -> str | None:
    """Return the kernel whose launches are wanted; of a BANG C file ``--kernel`` says what is launched."""
    return None if is_source(args.program) else args.kernel


def _studied(program: Program, run: Launched) -> WhatIfStudy:
    return elsewhere(program, run.launches, list(BOARDS), lambda launches: launches)


def _refuse(args: argparse.Namespace, options: Sequence[str], words: str) -> None:
    unfit = next((o for o in options if getattr(args, o, None)), None)
    if unfit is not None:
        raise UsageError(f"--{unfit.replace('_', '-')} {words}")


def _usual(args: argparse.Namespace, boards: Sequence[str]) -> Sequence[str | None]:
    """Return the boards where none is named: a script or a test has boards of its own."""
    return boards if is_source(args.program) else (None,)


def _launched(
    args: argparse.Namespace, board: str | None, checks: tuple[str, ...], *, lines: bool, aside: bool
) -> tuple[Program, Launched]:
    """Return the program that the command line describes for *board*, and what it launches there; None is a script's own."""
    program = program_on(args, checks, board)
    where = None if is_source(args.program) else board
    with printing_aside() if aside else contextlib.nullcontext():
        return program, launched(program, lines=lines, processes=lines, board=where)


def _show(runs: Sequence[Launched], study: WhatIfStudy | None) -> None:
    for number, run in enumerate(runs):
        view = launches_view(list(enumerate(run.launches, 1)), every=True)
        output().print(*([""] if number else []), view, sep="\n")
    if study is not None:
        output().print("", what_if_table(study), sep="\n")


def _write(args: argparse.Namespace, form: str, made: Sequence[Launch], page: str) -> None:
    text = {
        "html": lambda: page,
        "json": lambda: _json(args, made),
        "csv": lambda: _csv(made),
        "md": lambda: _md(made),
    }[form]()
    if args.output:
        write_text(args.output, text)
        remark(f"{args.output}: {len(made)} launch{'' if len(made) == 1 else 'es'}")
    else:
        sys.stdout.write(text)


def _json(args: argparse.Namespace, made: Sequence[Launch]) -> str:
    return json_text({"program": args.program, "launches": [launch_facts(launch) for launch in made]})


def _rows(made: Sequence[Launch]) -> Iterator[list[Any]]:
    for one in made:
        low, high = one.time_band
        yield [
            one.kernel, one.board, ",".join(map(str, one.dim)), one.kind, f"{one.time_us:.3f}", f"{low:.3f}",
            f"{high:.3f}", one.bound, one.io_bytes, sum(one.instructions.values()), one.engine,
        ]  # fmt: skip


def _csv(made: Sequence[Launch]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_rows(made))
    return text.getvalue()


def _md(made: Sequence[Launch]) -> str:
    lines = [COLUMNS, ["---"] * len(COLUMNS), *_rows(made)]
    return "".join(f"| {' | '.join(str(cell) for cell in line)} |\n" for line in lines)
