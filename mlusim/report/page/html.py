"""Records as one self-contained HTML page: the verdict, tables, charts that can be zoomed; nothing is fetched."""

import functools
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from attrs import frozen

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.counted import counted, plural
from mlusim.plan.svg import layout_svg
from mlusim.report.advice import Advice
from mlusim.report.compare import BaselineComparison
from mlusim.report.efficiency import (
    AcceptanceVerdict,
    OperatorSummary,
    Rule,
    engines,
    first_words,
    summaries,
    verdicts,
)
from mlusim.report.explain import CostliestLine, below_the_bar, costliest_of, explained
from mlusim.report.page.pictures import (
    color,
    memory,
    memory_data,
    off_chip_directions,
    roofline,
    roofline_data,
    timeline,
    timeline_data,
    traffic,
    traffic_data,
)
from mlusim.report.page.render import made, rendered
from mlusim.report.record import CallRecord
from mlusim.report.whatif import WhatIfStudy

SPACES = ("NRAM", "SRAM", "WRAM")


@frozen
class BoardPart:
    """The part of the page about one board."""

    board: Board
    records: tuple[CallRecord, ...]
    roofline: str
    traffic: str
    memory: str
    roofline_data: str
    traffic_data: str
    memory_data: str


PARTS: Mapping[str, str] = {
    "calls": "Calls",
    "roofline": "Roofline",
    "bytes": "Bytes between GDRAM and the chip",
    "nram": "NRAM",
    "why": "What explains it",
}


def html_text(
    records: Sequence[CallRecord],
    version: str,
    studies: Sequence[WhatIfStudy] = (),
    found: BaselineComparison | None = None,
    command: str = "",
) -> str:
    """Return the page, with the *studies* of other boards and the comparison with a stored run, *found*.

    *command* is what made it.  Raises `UsageError` where the extra mlusim[report] is not installed.
    """
    contents = _contents(records)
    parts = {"wrong": "What went wrong"} if contents["wrong"] else {}
    parts |= {"operators": "Operators"}
    parts |= {"compared": "Side by side: two runs"} if found is not None else {}
    parts |= {"policies": "Side by side: policies"} if contents["policies"] else {}
    parts |= PARTS
    if studies:
        parts["what-if"] = "What if it were another board"
        number = len(studies[0].rows)
        contents["what_if_words"] = (
            f"Of each operator the largest case that is quickly run again, on {number} {plural(number, 'board')}."
        )
    return rendered(
        "report.html.j2",
        version,
        **contents,
        studies=studies,
        found=found,
        theory=True,
        parts=parts,
        facts=made(version, command, [record.board for record in records]),
    )


def _contents(records: Sequence[CallRecord]) -> dict[str, Any]:
    operators = list(dict.fromkeys(record.operator for record in records))
    colors = {operator: color(position) for position, operator in enumerate(operators)}
    directions = off_chip_directions(records)
    boards = [find_board(name) for name in dict.fromkeys(record.board for record in records)]
    totals: list[OperatorSummary] = summaries(records)
    return {
        "summaries": totals,
        "boards": [_board_part(records, board, colors, directions) for board in boards],
        "colors": colors,
        "directions": {name: color(position) for position, name in enumerate(directions)},
        "groups": [(name, list(own)) for name, own in groupby(records, key=lambda record: record.operator)],
        "spaces": [
            n
            for n in SPACES
            # NRAM is always shown, because it is worth knowing that it is empty; other spaces only if they are used.
            if n == SPACES[0] or any(n in r.memory and r.memory[n].high_water for r in records)
        ],
        "verdicts": verdicts(records),
        "rules": _rules(records),
        "headline": first_words(verdicts(records)),
        "dearest": _dearest(records),
        "policies": side_by_side(records),
        "wrong": list(_wrong(records).items()),
        "clean": sum(record.clean for record in records),
        "total": len(records),
        "engines": engines(records),
        "draw_layout": functools.partial(layout_svg, named=False),
        "draw_timeline": lambda record: timeline(
            f"{record.operator} {record.case}", record.launches, find_board(record.board)
        ),
        "timeline_data": lambda record: timeline_data(record.launches, find_board(record.board)),
        "pipes": {
            name: color(n) for n, name in enumerate(("scalar", "vector", "tensor", "IO-DMA", "move-DMA"))
        },
        "over": any(r.efficiency is not None and r.efficiency.io_efficiency > 1 for r in records),
    }


@frozen
class DearestCall:
    """The head of the page: of the calls that miss their rule, or of all, the one that takes longest; its place, and what would help."""

    name: str
    words: str
    sentence: str
    place: CostliestLine | None
    advice: tuple[Advice, ...]


def _dearest(records: Sequence[CallRecord]) -> DearestCall | None:
    timed = [record for record in records if record.launches and record.efficiency is not None]
    missed = [record for record in timed if below_the_bar(record)]
    record = max(
        missed or timed, key=lambda one: sum(launch.time_us for launch in one.launches), default=None
    )
    if record is None:
        return None
    main = max(record.launches, key=lambda launch: launch.time_us)
    time_us = sum(launch.time_us for launch in record.launches)
    told = f"{time_us:,.2f} us"
    if record.time_band is not None:
        told += (
            f", between {record.time_band[0]:,.2f} and {record.time_band[1]:,.2f} by the model's constants"
        )
    if len(timed) > 1:
        told += (
            f"; no other of the {counted(len(missed), 'call')} that miss their rule takes longer"
            if missed
            else "; no other call takes longer"
        )
    return DearestCall(
        f"{record.operator} {record.title} on {record.board}",
        told,
        explained(record).sentence,
        costliest_of(main.lines, main.bound),
        record.advice,
    )


def _rules(records: Sequence[CallRecord]) -> list[tuple[list[str], AcceptanceVerdict]]:
    """Return each rule's verdict with the operators that it is of."""
    names: dict[Rule, list[str]] = {}
    for record in records:
        own = names.setdefault(record.rule, [])
        if record.operator not in own:
            own.append(record.operator)
    return [(names[one.rule], one) for one in verdicts(records)]


def _wrong(records: Sequence[CallRecord]) -> dict[str, list[str]]:
    """Collect the problems, each sentence once, with the calls that it is of."""
    found: dict[str, list[str]] = {}
    for record in records:
        who = f"{record.operator} {record.title} on {record.board}"
        told = [] if record.clean else [record.message]
        if not record.passed and not record.message:
            bad = [name for name, one in record.accuracy.items() if not one["passed"]]
            told = [
                f"accuracy missed: {', '.join(bad)}" if bad else f"{record.status}, not {record.expected}"
            ]
        for one in record.findings:
            where = f" ({one['file']}:{one['line']})" if one.get("file") else ""
            told.append(f"{one.get('id') or 'finding'}: {one.get('message')}{where}")
        for sentence in filter(None, told):
            # So that one mistake on several boards is one sentence with several calls.
            found.setdefault(sentence.replace(record.board, "the board"), []).append(who)
    return found


def _board_part(
    records: Sequence[CallRecord], board: Board, colors: Mapping[str, str], directions: Sequence[str]
) -> BoardPart:
    own = tuple(record for record in records if record.board == board.name)
    return BoardPart(
        board, own, roofline(own, board, colors), traffic(own, directions), memory(own),
        roofline_data(own, board, colors), traffic_data(own, directions), memory_data(own),
    )  # fmt: skip


# -- calls that ran by several policies, side by side --------------------------------------------------


@frozen
class PolicyRow:
    """One call: hardware time in us and bytes of NRAM by policy, the quickest, and the slowest time over its time."""

    operator: str
    case: str
    board: str
    times: Mapping[str, float]
    memory: Mapping[str, int]
    best: str
    gain: float | None


@frozen
class Policies:
    """The calls that ran by several policies, and the names of these."""

    names: tuple[str, ...]
    rows: tuple[PolicyRow, ...]


def side_by_side(records: Sequence[CallRecord]) -> Policies | None:
    """Return the calls of *records* by policy; None where no call ran by more than one."""
    calls: dict[tuple[str, str, str], list[CallRecord]] = {}
    for record in records:
        calls.setdefault((record.operator, record.case or "own arrays", record.board), []).append(record)
    rows = [_row(*key, own) for key, own in calls.items() if len({r.policy for r in own}) > 1]
    names = tuple(dict.fromkeys(name for row in rows for name in row.memory))
    return Policies(names, tuple(rows)) if rows else None


def _row(operator: str, case: str, board: str, own: Sequence[CallRecord]) -> PolicyRow:
    named = {record.policy or "usual": record for record in own}
    found = {name: record.efficiency for name, record in named.items()}
    times = {name: one.hardware_time_us for name, one in found.items() if one is not None}
    memory = {name: record.memory["NRAM"].high_water for name, record in named.items()}
    best = min(times, key=lambda name: times[name]) if times else "-"
    gain = max(times.values()) / times[best] if len(times) > 1 and times[best] else None
    return PolicyRow(operator, case, board, times, memory, best, gain)
