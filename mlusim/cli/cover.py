"""``mlusim cover``: the lines of kernels that ran, by task, in one program or in several runs."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mlusim.cli import entry, programs, show
from mlusim.cli.cases import applied, chosen
from mlusim.cli.launched import Launched, launched
from mlusim.document import Document, Unfolded
from mlusim.errors import UsageError
from mlusim.files.reading import read_json
from mlusim.files.writing import check_writable, write_text
from mlusim.machine.hub import attending
from mlusim.observe.coverage import LineCoverage
from mlusim.report import coverage


def run(args: argparse.Namespace) -> int:
    """Run the program, or read a record, and show its coverage; the exit code is the program's."""
    check_writable(args.keep, args.lcov, args.html)
    done: Sequence[Launched] = ()
    if _is_record(args.program):
        records = [coverage.read_record(name) for name in (args.program, *args.arguments)]
        record = (
            coverage.merged(records)
            if args.keep is None
            else coverage.keep_record(args.keep, coverage.merged(records))
        )
    else:
        record, done = _ran(args)
        record = record if args.keep is None else coverage.keep_record(args.keep, record)
    judged = (part for each in done for part in each.judged_parts())
    shown = Document(record.to_json, lambda: [Unfolded(coverage.coverage_text(record)), *judged])
    show.say(shown, json=args.json)
    for each in done if args.json else ():
        each.tell_judged()  # the document is a record, to which other runs are added
    for name, text_of in ((args.lcov, coverage.lcov), (args.html, coverage.coverage_page)):
        if name is not None:
            write_text(name, text_of(record))
            show.wrote("coverage", name)
    return max((each.finish() for each in done), default=entry.CLEAN)


def _ran(args: argparse.Namespace) -> tuple[coverage.CoverageRecord, Sequence[Launched]]:
    """Run the program, or each case of a file, and return their merged coverage."""
    # Code that reads the program expects --check, which this verb lacks.
    args.check = ()
    calls = [applied(args, case) for case in chosen(args)] if programs.is_cases(args.program) else [args]
    run = [programs.judged_program_of(call) for call in calls]
    counting = LineCoverage()
    with show.printing_aside(args.json), attending([counting]):
        done = [launched(program, lines=False) for program in run]
    ends = [each.ended for each in done]
    if not counting.launches and all(end is None or isinstance(end, str) for end in ends):
        told = next(
            filter(None, ends), "nothing was launched that could be watched, so no line of a kernel ran"
        )
        raise UsageError(str(told))
    return coverage.record_of(counting.lines, counting.launches, counting.branches), done


def _is_record(name: str | None) -> bool:
    """Return whether *name* is a record of ``--keep``, not a program."""
    if name is None or not name.endswith(".json"):
        return False
    origin = f"`mlusim cover PROGRAM --keep {name}` makes one"
    if isinstance(read_json(name, f"a record of coverage; {origin}", hint=origin), dict):
        return True
    raise UsageError(f"{name} is not a record of coverage; {origin}")


# -- ``--coverage F.json`` of other verbs, which adds covered lines to a record ------------------------


@contextmanager
def covering(args: argparse.Namespace) -> Iterator[None]:
    """Count the lines of kernels that run in the block; then add them to the record, and print the share of each file.

    Operators' cases run in this process, where the lines are counted.
    """
    name = args.record_of_lines
    check_writable(name)
    if (
        hasattr(args, "jobs")
        and not programs.is_program(args.program)
        and not programs.is_cases(args.program)
    ):
        args.jobs = 1
    counting = LineCoverage()
    try:
        with attending([counting]):
            yield
    finally:
        counting.stop()
        if counting.launches:
            record = coverage.keep_record(
                name, coverage.record_of(counting.lines, counting.launches, counting.branches)
            )
            for line in coverage.coverage_text(record).splitlines():
                show.remark(line)
            show.wrote("coverage", name)
