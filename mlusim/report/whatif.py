"""Predictions for other boards: rows as plain data, a table for the terminal, a table in Markdown."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import asdict, frozen
from rich.console import Group, RenderableType
from rich.text import Text

from mlusim.counted import band, gain, microseconds, share
from mlusim.document import markdown_table
from mlusim.report.efficiency import launched_by
from mlusim.report.figures import BEYOND, OVER
from mlusim.report.record import CallRecord
from mlusim.text_grid import PageCell, table

RECORDED, RETIMED, RUN, FAILS = "recorded", "re-timed", "run", "fails"
WORK = 300_000  # instructions, roughly, that a case may take on one board to be run again on many
BYTES = 2000  # bytes that take the host about as long as an instruction


@frozen
class WhatIfRow:
    """One board: times in us, efficiencies as fractions, and the ``grade`` by `mlusim.report.efficiency`.

    ``how`` is "recorded", "re-timed", "run" or "fails", ``why`` the reason for that; ``failure`` is the sentence
    about a failure of the call there, in which case the numbers are None.  ``speed_up`` is relative to the recorded
    run.  The efficiencies are those of an operator's theory; ``bandwidth_share`` and ``compute_share`` are the
    reached shares of the board's peaks, by `mlusim.report.figures`.  ``engines`` ran its launches, also re-timed
    ones.
    """

    board: str
    arch: str
    how: str
    why: str
    failure: str = ""
    time_us: float | None = None
    speed_up: float | None = None
    io_efficiency: float | None = None
    compute_efficiency: float | None = None
    bottleneck: str | None = None
    grade: str | None = None
    launches: tuple[str, ...] = ()
    time_band: tuple[float, float] | None = None
    bandwidth_share: float | None = None
    compute_share: float | None = None
    engines: tuple[str, ...] = ()


@frozen
class WhatIfStudy:
    """One call on many boards; ``base`` is the board of the recorded run, ``case`` is None for the user's own arrays.

    ``estimate`` is the launches' phrase about estimated figures, or "".
    """

    operator: str
    case: str | None
    base: str
    rows: tuple[WhatIfRow, ...]
    estimate: str = ""

    @property
    def works(self) -> bool:
        """True if the call works on any board."""
        return any(not row.failure for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``what-if --json``."""
        return {name: value for name, value in asdict(self).items() if name != "estimate" or value}


def representatives(records: Sequence[CallRecord]) -> list[tuple[str, str]]:
    """Return the (operator, case) pairs to predict: for each operator, its largest call that can quickly be run again.

    The largest call has the most theory bytes among those of at most `WORK`; if all take more, the shortest one is
    chosen.  Calls that fail, are refused or have no case do not count.
    """
    work: dict[str, dict[str, tuple[float, int]]] = {}
    for record in records:
        if record.efficiency is not None and record.case is not None and record.passed:
            cases = work.setdefault(record.operator, {})
            took = sum(record.instructions.values()) + record.io_bytes / BYTES
            before, _ = cases.get(record.case, (0.0, 0))
            cases[record.case] = max(before, took), record.efficiency.theory_ios
    return [(operator, _representative(cases)) for operator, cases in work.items()]


def _representative(cases: Mapping[str, tuple[float, int]]) -> str:
    quick = {name: ios for name, (took, ios) in cases.items() if took <= WORK}
    return max(quick, key=lambda name: quick[name]) if quick else min(cases, key=lambda name: cases[name])


# -- text ------------------------------------------------------------------------------------------


FIGURES = ("us", "band", "speed-up", "IO", "compute", "class")
"""The heads of `cells`."""


def what_if_table(study: WhatIfStudy) -> RenderableType:
    """Return the time, speed-up and efficiencies by board, then the reasons for runs and for failures."""
    title = f"{study.operator} {study.case or 'own arrays'}"
    shown = table("board", "arch", *FIGURES, "how", right=FIGURES, title=title)
    best = max((row.speed_up or 0.0 for row in study.rows), default=0.0) or 1.0
    for row in study.rows:
        style = "bold red" if row.failure else "bold" if row.how == RECORDED else ""
        time_us, ends, faster, *others = cells(row)
        bars = [] if row.speed_up is None else [("c0", row.speed_up / best, "")]
        shown.add_row(
            row.board,
            row.arch,
            time_us,
            ends,
            PageCell(faster, bars=bars),
            *others,
            Text(row.how, style=style),
        )
    lines = [Text.assemble((", ".join(boards), "bold"), f": {sentence}") for sentence, boards in notes(study)]
    return Group(shown, *lines, Text("  ".join(remarks(study)), style="dim"))


def remarks(study: WhatIfStudy) -> Iterator[str]:
    """Yield the sentences below the figures: what they are, who ran the launches, and why one is over 100 %."""
    yield f"speed-up: against {study.base}."
    yield "Predicted by the model of each board; no card was used."
    if ran := launched_by(name for row in study.rows if row.how in (RECORDED, RUN) for name in row.engines):
        yield ran
    if all(row.io_efficiency is None for row in study.rows):
        yield "IO, compute: bytes moved and operations done, of what the board can do."
    if why := beyond(study):
        yield why


def cells(row: WhatIfRow) -> list[str]:
    """Return the numbers of *row* as text, dashes for missing ones."""
    io = row.bandwidth_share if row.io_efficiency is None else row.io_efficiency
    compute = row.compute_share if row.compute_efficiency is None else row.compute_efficiency
    return [
        "-" if row.time_us is None else microseconds(row.time_us),
        band(row.time_band),
        gain(row.speed_up),
        "-" if io is None else share(io),
        "-" if compute is None else share(compute),
        row.grade or "-",
    ]


def notes(study: WhatIfStudy) -> list[tuple[str, list[str]]]:
    """Return each sentence about a reason with its boards; failures last."""
    found: dict[str, list[str]] = {}
    for row in sorted(study.rows, key=lambda row: bool(row.failure)):
        sentence = f"fails: {general(row)}" if row.failure else f"{row.how}: {row.why}"
        if row.how != RECORDED or row.failure:
            found.setdefault(sentence, []).append(row.board)
    return list(found.items())


def beyond(study: WhatIfStudy) -> str:
    """Return the sentence about a call that moves more on a board than its off-chip memory can; "" if none does."""
    found = [row for row in study.rows if (row.bandwidth_share or 0) > 1 or (row.io_efficiency or 0) > 1]
    if any((row.io_efficiency or 0) > 1 for row in found):
        return OVER
    return f"IO over 100%: {BEYOND}." if any(row.io_efficiency is None for row in found) else ""


def general(row: WhatIfRow) -> str:
    """Return the sentence of a failure without the board's name, so that equal failures of several boards are reported once."""
    return row.failure.replace(row.board, "the board")


def what_if_markdown(study: WhatIfStudy) -> str:
    """Return the study as a table in Markdown, under a heading."""
    heads = (
        "board",
        "arch",
        "time (us)",
        "band (us)",
        "speed-up",
        "io_efficiency",
        "compute_efficiency",
        "class",
        "how",
    )
    hows = (f"fails: {row.failure}" if row.failure else f"{row.how}: {row.why}" for row in study.rows)
    rows = [(row.board, row.arch, *cells(row), how) for row, how in zip(study.rows, hows, strict=True)]
    title = f"### What if: {study.operator} {study.case or 'own arrays'}, recorded on {study.base}"
    why = beyond(study)
    return "\n".join([title, "", markdown_table(heads, rows), *(["", why] if why else [])]) + "\n"
