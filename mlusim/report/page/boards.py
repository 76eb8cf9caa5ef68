"""Predictions for other boards as one self-contained HTML page."""

from collections.abc import Sequence

from attrs import frozen

import mlusim
from mlusim.counted import counted, share
from mlusim.report.page.charts import TimeBar, times_picture
from mlusim.report.page.frame import BAD, GOOD, Card, PageHead
from mlusim.report.page.render import made, rendered
from mlusim.report.whatif import RECORDED, RETIMED, WhatIfRow, WhatIfStudy


@frozen
class StudyPart:
    """The chart of one study; both texts are "" if the call works on no board."""

    name: str
    picture: str


def what_if_page(studies: Sequence[WhatIfStudy], command: str = "") -> str:
    """Return the page of *studies*; *command* is the command that made it.

    Raises `UsageError` if the extra mlusim[report] is not installed.
    """
    return rendered(
        "boards.html.j2",
        mlusim.__version__,
        top=_head(studies),
        parts=[_part(study) for study in studies],
        studies=studies,
        what_if_words="",
        facts=made(mlusim.__version__, command, [study.base for study in studies])
        | {"time": next((study.estimate for study in studies if study.estimate), "")},
    )


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
        return f"{_named(study)} is fastest on {row.board}, {time_us:,.1f} us"
    return f"{_named(study)} is fastest on {row.board}, {time_us:,.1f} us: {row.speed_up:.2f} times as fast as on {study.base}"


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
        Card(f"{best_us:,.1f} us", f"on {best.board}, the fastest", "" if io is None else f"{share(io)} of its bandwidth", GOOD),
        *([Card(f"{base[0]:,.1f} us", f"on {base[1].board}", "where it was recorded")] if base else []),
        Card(f"{worst_us:,.1f} us", f"on {worst.board}, the slowest"),
        Card(counted(len(timed), "board"), "it works on", f"it fails on {failed:,}" if failed else "", BAD if failed else ""),
        Card(f"{again:,}", "re-timed from the recorded run", "on the others it ran"),
    ]  # fmt: skip


def _part(study: WhatIfStudy) -> StudyPart:
    shown = [
        TimeBar(
            row.board,
            time_us,
            row.time_band or (time_us, time_us),
            "c0" if row.how == RECORDED else "c1" if row.how == RETIMED else "other",
            f"{row.board}, {row.arch}: {time_us:,.2f} us, {row.how}",
        )
        for time_us, row in _timed(study)
    ]
    if not shown:
        return StudyPart(_named(study), "")
    return StudyPart(_named(study), times_picture(shown, f"Time of {_named(study)} by board"))
