"""``mlusim profile``: every launch of a script, an operator, a BANG C kernel, a test or the cases of a file, on one board or several."""

import argparse
import contextlib
import csv
import functools
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from attrs import evolve, frozen

from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.cli import cases, entry, options, programs, show
from mlusim.cli.arguments.shared import TEXT
from mlusim.cli.gate import Exists, Gate, comparison_parts, gate_in, tell_comparison
from mlusim.cli.launched import Launched, Numbered, chosen, launched
from mlusim.counted import counted
from mlusim.document import Document, Part, json_text, markdown_table
from mlusim.errors import MlusimError, UsageError
from mlusim.files.writing import check_writable
from mlusim.machine.launch import Launch
from mlusim.programs.other_boards import elsewhere
from mlusim.programs.program import Program
from mlusim.report import compare
from mlusim.report.compare import comparison_json
from mlusim.report.launch_files import launch_facts, write_launches
from mlusim.report.launches import launches_view
from mlusim.report.page.launches import page_text
from mlusim.report.whatif import WhatIfStudy, what_if_table

FORMATS = ("json", "csv", "md", "html")  # besides text, in the order of the option's choices
OF_PAGES = ("csv", "md", "html")  # formats with all cases of a file in one table or page
CASE, ESTIMATED = "case", "time_is"
COLUMNS = (
    "kernel", "board", "dim", "kind", "time_us", "time_low_us", "time_high_us", "bound", "io_bytes", "instructions", "engine",
)  # fmt: skip


@frozen
class ProfiledProgram:
    """One program, or one case of a file: its runs, one for each board, the comparison with a baseline, and the baseline to store."""

    case: str
    runs: Sequence[tuple[Launched, Sequence[Numbered]]]
    """Each run with its selected launches, by number."""
    study: WhatIfStudy | None
    comparison: compare.BaselineComparison | None
    store: Callable[[], None]

    @property
    def launches(self) -> list[Launch]:
        """Return the selected launches, on all boards."""
        return [launch for _, numbered in self.runs for _, launch in numbered]

    @property
    def told(self) -> Iterable[str]:
        """Return sentences about runs that failed."""
        return dict.fromkeys(run.told for run, _ in self.runs if run.told)

    def finish(self) -> int:
        """Return the exit code; raises the error that a run ended with."""
        # Findings of launches that were not selected do not count.
        code = max(
            Launched([launch for _, launch in numbered], run.ended).finish() for run, numbered in self.runs
        )
        return code or (entry.CLEAN if self.comparison is None or self.comparison.passed else entry.FINDINGS)


def run(args: argparse.Namespace) -> int:
    """Profile; returns 1 for findings, failed accuracy or a regression, 2 for an error of the program, 3 after a fault."""
    form = options.format_of(args, {f".{name}": name for name in FORMATS}, TEXT)
    if form == TEXT and args.output:
        raise UsageError("a table goes to the terminal; give --format json, csv, md or html with -o")
    check_writable(args.trace, args.html, args.output)
    args.json = form == "json"
    if programs.is_cases(args.program):
        return _profile_cases(args, form)
    done = _profiled(args, aside=form != TEXT and not args.output)
    with _document_to(args):
        _show(args, form, done)
    _write(args, form, [done])
    done.store()
    return done.finish()


def _profile_cases(args: argparse.Namespace, form: str) -> int:
    """Profile the cases of a file, into one table or page; return the largest exit code. After an error the other cases still run."""
    done: list[ProfiledProgram] = []
    failed: list[str] = []

    def profile_case(case_args: argparse.Namespace) -> int:
        try:
            profiled_case = _profiled(case_args, aside=form != TEXT and not args.output)
        except MlusimError as error:  # no launch was made
            failed.append(f"{case_args.named_case.name}: {Launched([], error).told}")
            raise
        done.append(profiled_case)
        if form in (TEXT, "json"):
            _show(case_args, form, profiled_case)
        profiled_case.store()
        return profiled_case.finish()

    # One page has the launches of all cases, so that the files are written here.
    quiet = argparse.Namespace(**{**vars(args), "trace": None, "html": None, "output": None})
    with _document_to(args):
        code = (
            max(cases.ended(profile_case, quiet, case)[0] for case in cases.chosen(args))
            if form in OF_PAGES
            else cases.each(quiet, profile_case)
        )
    _write(args, form, done, failed)
    return code


@contextlib.contextmanager
def _document_to(args: argparse.Namespace) -> Iterator[None]:
    """Write the JSON document of the block to the file of ``-o``, if it is given."""
    if not (args.json and args.output):
        yield
        return
    with show.caught() as documents:
        yield
    options.write_text(args.output, "".join(map(json_text, documents)))


# -- the runs ------------------------------------------------------------------------------------------


def _profiled(args: argparse.Namespace, *, aside: bool) -> ProfiledProgram:
    """Run the program on each board; with *aside* its output goes to standard error."""
    others = _other_boards(args)
    gate = gate_in(args, compare.LAUNCHES)
    boards, wanted = _boards(args), None if programs.is_source(args.program) else args.kernel
    runs: list[tuple[Launched, Sequence[Numbered]]] = []
    program: Program | None = None
    with show.progress("boards", len(boards)) as step, show.printing_aside(aside):
        for board in boards:
            moved, run = _run_on(args, board)
            program = program or moved
            runs.append((run, run.chosen(args.launch, wanted)))
            step(board or "")
            if not run.launches:
                break  # it fails in this way on any board
    assert program is not None
    first, shown = runs[0]
    study = None
    if others and shown:
        with show.printing_aside(aside):
            study = elsewhere(
                program,
                first.launches,
                others,
                lambda every: [launch for _, launch in chosen(every, args.launch, wanted)],
            )
    every = [launch for run, _ in runs for launch in run.launches]
    alone = [launch for _, numbered in runs for _, launch in numbered]
    case = getattr(args, "named_case", None)
    # The name of the program in a baseline; a case's begins with its file's name.
    name = str(args.program) if case is None else f"{case.path} {case.name}"
    comparison, store = _compared(gate, name, every, alone)
    return ProfiledProgram("" if case is None else case.name, runs, study, comparison, store)


def _boards(args: argparse.Namespace) -> Sequence[str | None]:
    """Return the boards to run on; None leaves the choice to the program."""
    if args.board:
        return options.boards_in(args.board, DEFAULT_BOARDS)
    # A script or a test chooses its boards itself.
    usual: Sequence[str | None] = args.usual_boards if programs.is_source(args.program) else (None,)
    return usual


def _run_on(args: argparse.Namespace, board: str | None) -> tuple[Program, Launched]:
    """Run the program on *board*; the devices of a script or a test are of that board, whichever it names."""
    moves = programs.is_script(args.program)
    moved = argparse.Namespace(**{**vars(args), "board": None if moves else board})
    program = programs.judged(programs.program_and_kernel(moved)[0], moved)
    return program, launched(program, lines=not args.no_lines, board=board if moves else None)


def _other_boards(args: argparse.Namespace) -> list[str]:
    """Return the boards of ``--what-if``, which another verb replaces."""
    if not args.what_if:
        return []
    show.superseded(
        args, f"{args.verb} --what-if", "`mlusim what-if PROGRAM --board B`, with --html for a page"
    )
    return list(options.boards_in(args.what_if, DEFAULT_BOARDS))


def _compared(
    gate: Gate, name: str, launches: Sequence[Launch], alone: Sequence[Launch]
) -> tuple[compare.BaselineComparison | None, Callable[[], None]]:
    """Return the comparison of *alone* with a baseline, and a function that stores *launches* as one."""
    program = os.path.normpath(name)
    every = compare.measured_launches(program, launches)
    keys = {call.key for call in every}
    compared = {id(launch) for launch in alone}
    timed = [launch for launch in launches if launch.tasks]
    measured = [call for call, launch in zip(every, timed, strict=True) if id(launch) in compared]

    # Launches that `--launch` leaves out still exist, and so do those of other programs in a baseline.
    def exists(key: compare.Key) -> bool:
        return key[0] != program or key in keys

    there: Exists = exists
    return gate.compared(measured, there), functools.partial(gate.store, measured, there)


# -- output --------------------------------------------------------------------------------------------


def _show(args: argparse.Namespace, form: str, done: ProfiledProgram) -> None:
    """Print the launches; with a table or a page, the comparison goes to standard error."""
    if form not in OF_PAGES:
        show.say(Document(lambda: _facts(args, done), lambda: _parts(args, done)), json=args.json)
        return
    for run, _ in done.runs:
        run.tell_judged()
    if done.comparison is not None:
        tell_comparison(done.comparison)


def _facts(args: argparse.Namespace, done: ProfiledProgram) -> dict[str, object]:
    document = {"program": args.program, "launches": [launch_facts(launch) for launch in done.launches]}
    asked: dict[str, object] = {} if done.study is None else {"what_if": done.study.to_json()}
    accuracy = {
        run.launches[0].board: {name: compared.to_json() for name, compared in run.judged.items()}
        for run, _ in done.runs
        if run.judged
    }
    asked |= {"accuracy": accuracy} if accuracy else {}
    return (
        document
        | asked
        | ({} if done.comparison is None else {"comparison": comparison_json(done.comparison)})
    )


def _parts(args: argparse.Namespace, done: ProfiledProgram) -> Iterator[Part]:
    if not done.launches:
        return
    every = args.lines or args.launch is not None or args.explain
    for at, (run, numbered) in enumerate(done.runs):
        yield from [""] if at else []
        yield launches_view(numbered, lines=args.lines, every=every)
        yield from run.judged_parts()
    if done.study is not None:
        yield from ("", what_if_table(done.study))
    if done.comparison is not None:
        yield from comparison_parts(done.comparison)


def _write(
    args: argparse.Namespace, form: str, done: Sequence[ProfiledProgram], failed: Sequence[str] = ()
) -> None:
    """Write all launches to the files that *args* name, and to standard output if a table or a page was requested."""
    launches = [launch for profiled in done for launch in profiled.launches]
    if args.trace and launches:
        write_launches(args.trace, launches)
        show.wrote("timeline", args.trace)
    if args.html and launches:
        options.write_text(args.html, _page(args, done, failed))
        show.wrote("page", args.html)
    if form in OF_PAGES and launches:
        text = (
            _page(args, done, failed)
            if form == "html"
            else TABLES[form](*_table(done, several=len(done) + len(failed) > 1))
        )
        options.write_text(args.output, text)
    if form != TEXT and args.output and launches:
        show.remark(f"{args.output}: {counted(len(launches), 'launch', 'launches')}")
    names = [name for name in (args.html, args.trace, args.output) if name]
    if names and not launches:
        verb = "are" if len(names) > 1 else "is"
        show.remark(f"note: no launch came to its end, so {' and '.join(names)} {verb} not written")


def _page(args: argparse.Namespace, done: Sequence[ProfiledProgram], failed: Sequence[str]) -> str:
    """Return the page of all launches; each kernel is named with its case."""
    alone = done[0] if len(done) + len(failed) == 1 else None
    told = [end if alone else f"{profiled.case}: {end}" for profiled in done for end in profiled.told]
    launches = [
        launch if alone else evolve(launch, kernel=f"{launch.kernel} ({profiled.case})")
        for profiled in done
        for launch in profiled.launches
    ]
    return page_text(
        launches,
        args.program if alone is None or not alone.case else f"{args.program} {alone.case}",
        None if alone is None else alone.study,
        None if alone is None else alone.comparison,
        command=args.typed,
        ended="\n".join([*told, *failed]),
    )


def _table(done: Sequence[ProfiledProgram], *, several: bool) -> tuple[Sequence[str], Iterator[list[object]]]:
    """Return the names of the columns, and a row for each launch; with *several* cases the first column is the case.

    If a kernel was written in another language, the last column says that its time is an estimate.
    """
    translated = any(launch.estimate for profiled in done for launch in profiled.launches)
    rows = (
        [*([profiled.case] if several else []), *_row(launch), *([launch.estimate] if translated else [])]
        for profiled in done
        for launch in profiled.launches
    )
    return [*([CASE] if several else []), *COLUMNS, *([ESTIMATED] if translated else [])], rows


def _row(launch: Launch) -> list[object]:
    low, high = launch.time_band
    return [
        launch.kernel, launch.board, ",".join(map(str, launch.dim)), launch.kind, f"{launch.time_us:.3f}", f"{low:.3f}",
        f"{high:.3f}", launch.bound, launch.io_bytes, sum(launch.instructions.values()), launch.engine,
    ]  # fmt: skip


def _csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


TABLES: Mapping[str, Callable[[Sequence[str], Iterable[Sequence[object]]], str]] = {
    "csv": _csv,
    "md": lambda columns, rows: f"{markdown_table(columns, rows)}\n",
}
"""The functions that write launches as a table, by format."""
