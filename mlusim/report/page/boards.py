"""Predictions for other boards as one self-contained HTML page."""

from collections.abc import Sequence

import mlusim
from mlusim.counted import counted, microseconds, precise, share
from mlusim.document import BAD, GOOD, Box, Card, Chart, Legend, PageHead, PagePart
from mlusim.report.page.charts import TimeBar, require_drawing, times_picture
from mlusim.report.page.parts import made, what_if_section
from mlusim.report.page.writer import page
from mlusim.report.whatif import RECORDED, RETIMED, RUN, WhatIfRow, WhatIfStudy


def what_if_page(studies: Sequence[WhatIfStudy], command: str = "") -> str:
    """Return the page of *studies*; *command* is the command that made it.

    Raises `UsageError` if the extra mlusim[report] is not installed.
    """
    require_drawing()
    charts = [_chart(study) for study in studies if _timed(study)]
    title = "Each board in figures, and why it was run again"
    parts: list[PagePart] = [*charts, what_if_section(studies, opened=not charts, title=title)]
    estimate = next((study.estimate for study in studies if study.estimate), "")
    about = made(mlusim.__version__, command, [study.base for study in studies]) | {"time": estimate}
    return page(_head(studies), parts, about)


def _named(study: WhatIfStudy) -> str:
    words = " " in (study.case or "")  # "1 launch" of a program, in place of an operator's case
    return f"{study.operator} {f'({study.case})' if words else study.case or ''}".rstrip()


def _timed(study: WhatIfStudy) -> list[tuple[float, WhatIfRow]]:
    """Return the boards on which the call works with their times in us, the fastest first."""
    rows = [(row.time_us, row) for row in study.rows if row.time_us is not None]
    return sorted(rows, key=lambda timed: timed[0])


def _head(studies: Sequence[WhatIfStudy]) -> PageHead:
    first = studies[0]
    told = "; ".join(map(_answer, studies))
    tone = GOOD if all(study.works for study in studies) else BAD
    return PageHead(f"{first.operator} on other boards", told, _cards(first), tone)


def _answer(study: WhatIfStudy) -> str:
    timed = _timed(study)
    if not timed:
        return f"{_named(study)} works on no board"
    time_us, row = timed[0]
    if row.board == study.base or row.speed_up is None:
        return f"{_named(study)} is fastest on {row.board}, {microseconds(time_us)} us"
    return f"{_named(study)} is fastest on {row.board}, {microseconds(time_us)} us: {row.speed_up:.2f} times as fast as on {study.base}"


def _cards(study: WhatIfStudy) -> list[Card]:
    timed = _timed(study)
    if not timed:
        return [Card(f"{len(study.rows):,}", "boards, and it fails on each", "", BAD)]
    (best_us, best), (worst_us, worst) = timed[0], timed[-1]
    base = next(((time_us, row) for time_us, row in timed if row.how == RECORDED), None)
    failed = len(study.rows) - len(timed)
    again = sum(row.how == RETIMED for _, row in timed)
    # The theory bytes of a program are unknown; the reached rates of its launches are known.
    io = best.io_efficiency if best.io_efficiency is not None else best.bandwidth_share
    return [
        Card(f"{microseconds(best_us)} us", f"on {best.board}, the fastest", "" if io is None else f"{share(io)} of its bandwidth", GOOD),
        *([Card(f"{microseconds(base[0])} us", f"on {base[1].board}", "where it was recorded")] if base else []),
        Card(f"{microseconds(worst_us)} us", f"on {worst.board}, the slowest"),
        Card(counted(len(timed), "board"), "it works on", f"it fails on {failed:,}" if failed else "", BAD if failed else ""),
        Card(f"{again:,}", "re-timed from the recorded run", "on the others it ran"),
    ]  # fmt: skip


def _chart(study: WhatIfStudy) -> Box:
    shown = [
        TimeBar(
            row.board,
            time_us,
            row.time_band or (time_us, time_us),
            "c0" if row.how == RECORDED else "c1" if row.how == RETIMED else "other",
            f"{row.board}, {row.arch}: {precise(time_us)} us, {row.how}",
        )
        for time_us, row in _timed(study)
    ]
    colors = (("c0", RECORDED), ("c1", RETIMED), ("other", RUN))
    legend = Legend([("work", *color) for color in colors], "The line on a bar is the band of the model:")
    chart = Chart(times_picture(shown, f"Time of {_named(study)} by board"))
    return Box(f"Predicted time of {_named(study)} by board, in us", [legend, chart])
