"""The studies of other boards that go with a report: one case of each operator, asked in several processes."""

from collections.abc import Sequence

from mlusim.arch.catalog import BOARDS
from mlusim.cli.show import progress
from mlusim.counted import plural
from mlusim.operators.campaign import spread, usual_workers
from mlusim.operators.whatif import WhatIfQuestion, ask
from mlusim.report.record import CallRecord
from mlusim.report.tables.whatif import WhatIfStudy, representatives


def studies_of(records: Sequence[CallRecord], workers: int | None) -> list[WhatIfStudy]:
    """Return the studies of *records* on every board, from the board of the first record on."""
    if not records:
        return []
    base = records[0].board
    boards = (base, *(name for name in BOARDS if name != base))
    questions = [WhatIfQuestion(operator, case, boards) for operator, case in representatives(records)]
    with progress("other boards", len(questions)) as step:
        return spread(
            ask,
            questions,
            workers or usual_workers(questions),
            lambda study: step(f"{study.operator} on {len(boards)} {plural(len(boards), 'board')}"),
        )
