"""``mlusim profile``: every launch of a script, an operator, a kernel of BANG C sources or a test."""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.cli import cases, entry, options, plain_text, programs, show
from mlusim.cli.gate import Exists, Gate, comparison_parts, gate_in
from mlusim.cli.launched import Launched, chosen, launched
from mlusim.document import Document, Part
from mlusim.files.writing import check_writable
from mlusim.machine.launch import Launch
from mlusim.programs.other_boards import elsewhere
from mlusim.report import compare
from mlusim.report.launches import launch_facts, launches_view, write_launches
from mlusim.report.page.launches import write_page
from mlusim.report.whatif import WhatIfStudy, what_if_table


def run(args: argparse.Namespace) -> int:
    """Profile; returns 1 for findings, failed accuracy or a regression, 2 for an error of the program, 3 after a fault."""
    check_writable(args.trace, args.html)
    if programs.is_cases(args.program):
        return cases.each(args, run)
    boards = _other_boards(args)
    gate = gate_in(args, compare.LAUNCHES)
    program, kernel = programs.program_and_kernel(args)
    with plain_text.printing_aside(args.json):
        run_ = launched(program, lines=True)
        made, shown = run_.launches, run_.chosen(args.launch, kernel)
        alone = [launch for _, launch in shown]
        study = None
        if boards and alone:
            study = elsewhere(
                program, made, boards, lambda all_: [one for _, one in chosen(all_, args.launch, kernel)]
            )
    found, measured, exists = _compared(gate, _measured(args), made, alone)
    told = Document(
        lambda: _facts(args.program, alone, study, found), lambda: _parts(args, shown, study, found)
    )
    show.say(told, json=args.json)
    more = {"study": study, "found": found, "ended": run_.told}
    _write(args, alone, more)
    gate.store(measured, exists)
    # Findings of launches that were not asked for do not count.
    return Launched(alone, run_.ended).finish() or (
        entry.CLEAN if found is None or found.passed else entry.FINDINGS
    )


def _facts(
    program: str,
    alone: Sequence[Launch],
    study: WhatIfStudy | None,
    found: compare.BaselineComparison | None,
) -> dict[str, Any]:
    document = {"program": program, "launches": [launch_facts(launch) for launch in alone]}
    asked = {} if study is None else {"what_if": study.to_json()}
    return document | asked | ({} if found is None else {"comparison": compare.comparison_json(found)})


def _parts(
    args: argparse.Namespace,
    shown: Sequence[tuple[int, Launch]],
    study: WhatIfStudy | None,
    found: compare.BaselineComparison | None,
) -> Iterator[Part]:
    if not shown:
        return
    yield launches_view(shown, lines=args.lines, every=args.lines or args.launch is not None)
    if study is not None:
        yield from ("", what_if_table(study))
    if found is not None:
        yield from comparison_parts(found)


def _other_boards(args: argparse.Namespace) -> list[str]:
    """Return the boards of ``--what-if``, for which another verb stands now."""
    if not args.what_if:
        return []
    plain_text.superseded("profile --what-if", "`mlusim what-if PROGRAM --board B`, with --html for a page")
    return list(options.boards_in(args.what_if, DEFAULT_BOARDS))


def _measured(args: argparse.Namespace) -> str:
    """Return the name under which a baseline keeps the program: that of a case has its file's name, too."""
    case = getattr(args, "named_case", None)
    return str(args.program) if case is None else f"{case.path} {case.name}"


def _write(args: argparse.Namespace, alone: Sequence[Launch], more: Mapping[str, Any]) -> None:
    """Write the launches to the files that *args* name; *more* is what a page has besides."""
    if args.trace and alone:
        write_launches(args.trace, alone)
        plain_text.wrote("timeline", args.trace)
    if args.html and alone:
        write_page(args.html, alone, program=args.program, command=args.typed, **more)
        plain_text.wrote("page", args.html)
    names = [name for name in (args.html, args.trace) if name]
    if names and not alone:
        verb = "are" if len(names) > 1 else "is"
        plain_text.remark(f"note: no launch came to its end, so {' and '.join(names)} {verb} not written")


def _compared(
    gate: Gate, name: str, made: Sequence[Launch], alone: Sequence[Launch]
) -> tuple[compare.BaselineComparison | None, list[compare.Measured], Exists]:
    """Return the comparison with a baseline, the measurements of *alone*, and a function that says whether a launch still exists."""
    program = os.path.normpath(name)
    every = compare.measured_launches(program, made)
    keys = {one.key for one in every}
    kept = {id(launch) for launch in alone}
    timed = [launch for launch in made if launch.tasks]
    measured = [one for one, launch in zip(every, timed, strict=True) if id(launch) in kept]

    # What `--launch` leaves out is not gone, nor is what a baseline keeps of other programs.
    def exists(key: compare.Key) -> bool:
        return key[0] != program or key in keys

    return gate.compared(measured, exists), measured, exists
