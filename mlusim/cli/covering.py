"""``--coverage F.json`` of verbs that run kernels: the lines that ran are added to a record of ``mlusim cover``."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from mlusim.cli.plain_text import remark, wrote
from mlusim.cli.programs import is_program
from mlusim.cli.sources import is_cases
from mlusim.files.writing import check_writable
from mlusim.machine.hub import attending
from mlusim.observe.coverage import LineCoverage
from mlusim.report.coverage import coverage_text, keep_record, record_of


@contextmanager
def covering(args: argparse.Namespace) -> Iterator[None]:
    """Count the lines of kernels that run in the block; then add them to the record, and tell how much of each file ran.

    The cases of operators run in this process, where they are counted.
    """
    name = args.record_of_lines
    check_writable(name)
    if hasattr(args, "jobs") and not is_program(args.program) and not is_cases(args.program):
        args.jobs = 1
    counting = LineCoverage()
    try:
        with attending([counting]):
            yield
    finally:
        counting.stop()
        if counting.launches:
            record = keep_record(name, record_of(counting.lines, counting.launches, counting.branches))
            for line in coverage_text(record).splitlines():
                remark(line)
            wrote("coverage", name)
