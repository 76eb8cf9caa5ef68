"""``mlusim report FILE.mlu`` and ``mlusim what-if FILE.mlu``: a call of BANG C sources on several boards."""

import argparse
import csv
import io
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from mlusim.arch.catalog import BOARDS, DEFAULT_BOARDS, find_board
from mlusim.cli.exits import CLEAN, FINDINGS
from mlusim.cli.files import write_text
from mlusim.cli.programs import source_program
from mlusim.cli.settings import boards_in, names_in
from mlusim.cli.show import emit, output, progress
from mlusim.errors import UsageError
from mlusim.machine.hub import attending
from mlusim.machine.launch import Launch
from mlusim.programs.elsewhere import elsewhere
from mlusim.programs.program import Program
from mlusim.report.json_values import json_text
from mlusim.report.launches import launch_facts, launches_view
from mlusim.report.page.launches import page_text
from mlusim.report.profiled import Profiled
from mlusim.report.tables.whatif import what_if_table

OF_REPORTS = ("case", "group", "policy", "baseline", "write_baseline", "explain")
COLUMNS = (
    "kernel", "board", "dim", "kind", "time_us", "time_low_us", "time_high_us", "bound", "io_bytes", "instructions", "engine",
)  # fmt: skip


def what_if(args: argparse.Namespace, words: list[str]) -> int:
    """One call on every board, from that of ``--from``; returns 1 where it works on none."""
    unfit = next((o for o in ("case", "inputs", "set", "policy") if getattr(args, o)), None)
    if unfit is not None:
        raise UsageError(f"--{unfit} goes with an operator; a BANG C file takes --kernel and --arg")
    base = find_board(args.base or DEFAULT_BOARDS[0]).name
    boards = [name for name in boards_in(args.board, list(BOARDS)) if name != base]
    program, made = _launched(args, words, base, (), lines=False)
    study = elsewhere(program, made, boards, lambda launches: launches)
    if args.json:
        emit(study.to_json())
    else:
        output().print(what_if_table(study))
    return CLEAN if study.works else FINDINGS


def report(args: argparse.Namespace, words: list[str], form: str) -> int:
    """The launches of one call on each board; returns 1 for findings."""
    unfit = next((o for o in OF_REPORTS if getattr(args, o)), None)
    if unfit is not None:
        raise UsageError(
            f"--{unfit.replace('_', '-')} goes with operators; of a BANG C file --kernel and --arg say what is run"
        )
    boards, checks = boards_in(args.board, DEFAULT_BOARDS), tuple(names_in(args.check))
    made: list[Launch] = []
    program: Program | None = None
    with progress("boards", len(boards)) as step:
        for board in boards:
            moved, launches = _launched(args, words, board, checks, lines=not args.no_lines)
            program = program or moved
            made += launches
            step(board)
    assert program is not None
    study = None
    if args.what_if:
        first = [launch for launch in made if launch.board == made[0].board]
        study = elsewhere(program, first, list(BOARDS), lambda launches: launches)
    if form == "table":
        for number, board in enumerate(boards):
            own = [launch for launch in made if launch.board == board]
            output().print(
                *([""] if number else []), launches_view(list(enumerate(own, 1)), every=True), sep="\n"
            )
        if study is not None:
            output().print("", what_if_table(study), sep="\n")
    else:
        _write(args, form, made, page_text(made, words[0], study) if form == "html" else "")
    return FINDINGS if any(launch.findings for launch in made) else CLEAN


def _launched(
    args: argparse.Namespace, words: list[str], board: str, checks: tuple[str, ...], *, lines: bool
) -> tuple[Program, list[Launch]]:
    """The program that the command line describes for *board*, and what it launches there."""
    given = argparse.Namespace(
        **{**vars(args), "board": board, "case": None, "inputs": None, "policy": None, "jobs": None}
    )
    program = source_program(given, words, checks)
    found = Profiled(lines=lines)
    with attending([found]):
        program.run(())
    if not found.launches:
        raise UsageError(f"{words[0]} launched nothing")
    return program, found.launches


def _write(args: argparse.Namespace, form: str, made: Sequence[Launch], page: str) -> None:
    text = {
        "html": lambda: page,
        "json": lambda: _json(args, made),
        "csv": lambda: _csv(made),
        "md": lambda: _md(made),
    }[form]()
    if args.output:
        write_text(args.output, text)
        print(f"{args.output}: {len(made)} launches", file=sys.stderr)
    else:
        sys.stdout.write(text)


def _json(args: argparse.Namespace, made: Sequence[Launch]) -> str:
    return json_text({"program": args.operators[0], "launches": [launch_facts(launch) for launch in made]})


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
