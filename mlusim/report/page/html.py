"""Records as one self-contained HTML page: the verdict, tables, zoomable charts; it loads nothing else."""

import functools
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from attrs import frozen

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.counted import counted, percent, plural, whole
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
from mlusim.report.page.frame import BAD, GOOD, Card, PageHead
from mlusim.report.page.pictures import color, memory, off_chip_directions, roofline, timeline, traffic
from mlusim.report.page.render import made, rendered
from mlusim.report.record import CallRecord
from mlusim.report.whatif import WhatIfStudy
from mlusim.time.timing import PIPES

SPACES = ("NRAM", "SRAM", "WRAM")


@frozen
class BoardPart:
    """The part of the page about one board."""

    board: Board
    records: tuple[CallRecord, ...]
    roofline: str
    traffic: str
    memory: str


PARTS: Mapping[str, str] = {
    "roofline": "Roofline",
    "calls": "Calls",
    "bytes": "Bytes between GDRAM and the chip",
    "nram": "NRAM",
    "why": "What explains it",
}


def html_text(
    records: Sequence[CallRecord],
    version: str,
    studies: Sequence[WhatIfStudy] = (),
    comparison: BaselineComparison | None = None,
    command: str = "",
) -> str:
    """Return the page, with predictions for other boards, *studies*, and the *comparison* with a stored run.

    *command* is the command that made it.  Raises `UsageError` if the extra mlusim[report] is not installed.
    """
    contents = _contents(records)
    parts = {"wrong": "What went wrong"} if contents["wrong"] else {}
    parts |= {"operators": "Operators"}
    parts |= {"compared": "Side by side: two runs"} if comparison is not None else {}
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
        found=comparison,
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
    groups = [(name, list(calls)) for name, calls in groupby(records, key=lambda record: record.operator)]
    dearest = _dearest(records)
    return {
        "summaries": totals,
        "boards": [_board_part(records, board, colors, directions) for board in boards],
        "colors": colors,
        "directions": {name: color(position) for position, name in enumerate(directions)},
        "groups": groups,
        "spaces": [
            n
            for n in SPACES
            # NRAM is always shown, since it is of interest that it is unused; others only if they are used.
            if n == SPACES[0] or any(n in r.memory and r.memory[n].high_water for r in records)
        ],
        "verdicts": verdicts(records),
        "rules": _rules(records),
        "top": _head(records, boards, dearest),
        "dearest": dearest,
        "set_by": _set_by(records),
        "told_of": {name: _told_of(calls) for name, calls in groups},
        "policies": side_by_side(records),
        "wrong": list(_wrong(records).items()),
        "engines": engines(records),
        "drawn": _drawn(records),
        "profile_of": lambda record: _next_commands(record).get(PIPES_AND_LINES, ""),
        "draw_layout": functools.partial(layout_svg, named=False),
        "draw_timeline": lambda record: timeline(
            f"{record.operator} {record.case}", record.launches, find_board(record.board)
        ),
        "pipes": {name: color(n) for n, name in enumerate(PIPES)},
        "over": any(r.efficiency is not None and r.efficiency.io_efficiency > 1 for r in records),
    }


MOST_DRAWN = (
    12  # calls whose tasks, pipes and lines are on the page; with those of all calls it would have megabytes
)
PIPES_AND_LINES = "its pipes and lines"


def _drawn(records: Sequence[CallRecord]) -> set[int]:
    """Return the positions in *records* of the calls to draw: the longest of each operator on each board, then other long ones."""
    times = [0.0 if record.efficiency is None else record.efficiency.hardware_time_us for record in records]
    longest = sorted(range(len(records)), key=lambda at: -times[at])
    first: dict[tuple[str, str], int] = {}
    for at in longest:
        first.setdefault((records[at].operator, records[at].board), at)
    return set(list(dict.fromkeys([*first.values(), *longest]))[:MOST_DRAWN])


@frozen
class DearestCall:
    """The head of the page: the longest of the calls that miss their rule, or of all; its most expensive line, and advice."""

    name: str
    words: str
    sentence: str
    place: CostliestLine | None
    advice: tuple[Advice, ...]
    time_us: float
    next: Mapping[str, str]


def _dearest(records: Sequence[CallRecord]) -> DearestCall | None:
    timed = [record for record in records if record.launches and record.efficiency is not None]
    missed = [record for record in timed if below_the_bar(record)]
    record = max(
        missed or timed, key=lambda call: sum(launch.time_us for launch in call.launches), default=None
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
        time_us,
        _next_commands(record),
    )


def _next_commands(record: CallRecord) -> dict[str, str]:
    """Return commands for further analysis of the call of *record*, by their purpose; none for a call with the user's arrays."""
    # A call with the user's arrays has no name for another command.
    if not record.case:
        return {}
    call = f"{record.operator} --case {record.case} --board {record.board}"
    return {
        PIPES_AND_LINES: f"mlusim profile {call} --html profile.html",
        "mistakes in it": f"mlusim check {call}",
        "where it stands still": f"mlusim debug {call}",
        "other boards": f"mlusim what-if {record.operator} --case {record.case} --from {record.board}",
    }


def _head(records: Sequence[CallRecord], boards: Sequence[Board], dearest: DearestCall | None) -> PageHead:
    """Return the head of the page: how many calls are right and meet their rule, and the figures of the longest one."""
    operators = len({record.operator for record in records})
    names = [board.name for board in boards]
    where = " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
    clean, judged = sum(record.clean for record in records), [v for v in verdicts(records) if v.rule.asked]
    met = sum(verdict.met for verdict in judged)
    told = first_words(verdicts(records))
    right = f"{clean:,} of {len(records):,} calls as expected"
    cards = [
        Card(
            f"{clean:,} of {len(records):,}", "calls as expected", "", GOOD if clean == len(records) else BAD
        )
    ]
    if judged:
        asked = sum(verdict.judged for verdict in judged)
        cards.append(Card(f"{met:,} of {asked:,}", "calls meet the efficiency that is asked for"))
    if dearest is not None:
        cards.append(Card(f"{dearest.time_us:,.1f} us", "the call to look at first", dearest.name))
        cards += [
            Card(f"{hint.gain:.2f}x", "as fast is within reach there", hint.change)
            for hint in dearest.advice[:1]
        ]
    fullest = max(records, key=_nram, default=None)
    if fullest is not None:
        call = f"{fullest.operator} {fullest.title} on {fullest.board}"
        cards.append(Card(whole(_nram(fullest)), "of NRAM where it is fullest", call))
    return PageHead(
        f"Efficiency of {counted(operators, 'operator')} on {where}",
        f"{right}; {told}" if told else right,
        cards,
        BAD if clean < len(records) else GOOD if judged and all(verdict.passed for verdict in judged) else "",
    )


def _nram(record: CallRecord) -> float:
    """Return the largest share of NRAM that a core declares."""
    used = record.memory.get(SPACES[0])
    return used.high_water / used.capacity if used is not None and used.capacity else 0.0


def _set_by(records: Sequence[CallRecord]) -> dict[tuple[str, str], str]:
    """Return, for each operator and board, the pipe that sets most of its time, with its share of the time."""
    spent: dict[tuple[str, str], dict[str, float]] = {}
    for record in records:
        shares = spent.setdefault((record.operator, record.board), {})
        for launch in record.launches:
            shares[launch.bound] = shares.get(launch.bound, 0.0) + launch.time_us
    return {key: _most_of(shares) for key, shares in spent.items()}


def _most_of(spent: Mapping[str, float]) -> str:
    total = sum(spent.values())
    if not total:
        return "-"
    name, time_us = max(spent.items(), key=lambda part: part[1])
    return name if time_us > 0.995 * total else f"{name}, {percent(time_us / total)} of it"


def _told_of(records: Sequence[CallRecord]) -> str:
    """Return the text beside the name of an operator with the calls *records*."""
    time_us = sum(launch.time_us for record in records for launch in record.launches)
    clean = sum(record.clean for record in records)
    return f"{counted(len(records), 'call')}, {time_us:,.1f} us, {clean:,} as expected"


def _rules(records: Sequence[CallRecord]) -> list[tuple[list[str], AcceptanceVerdict]]:
    """Return each rule's verdict with the operators that have the rule."""
    names: dict[Rule, list[str]] = {}
    for record in records:
        operators = names.setdefault(record.rule, [])
        if record.operator not in operators:
            operators.append(record.operator)
    return [(names[verdict.rule], verdict) for verdict in verdicts(records)]


def _wrong(records: Sequence[CallRecord]) -> dict[str, list[str]]:
    """Return the problems, each sentence once, with its calls."""
    problems: dict[str, list[str]] = {}
    for record in records:
        who = f"{record.operator} {record.title} on {record.board}"
        told = [] if record.clean else [record.message]
        if not record.passed and not record.message:
            bad = [name for name, judged in record.accuracy.items() if not judged["passed"]]
            told = [
                f"accuracy missed: {', '.join(bad)}" if bad else f"{record.status}, not {record.expected}"
            ]
        for finding in record.findings:
            where = f" ({finding['file']}:{finding['line']})" if finding.get("file") else ""
            told.append(f"{finding.get('id') or 'finding'}: {finding.get('message')}{where}")
        for sentence in filter(None, told):
            # One mistake on several boards becomes one sentence with several calls.
            problems.setdefault(sentence.replace(record.board, "the board"), []).append(who)
    return problems


def _board_part(
    records: Sequence[CallRecord], board: Board, colors: Mapping[str, str], directions: Sequence[str]
) -> BoardPart:
    calls = tuple(record for record in records if record.board == board.name)
    return BoardPart(board, calls, roofline(calls, board, colors), traffic(calls, directions), memory(calls))


# -- calls that ran under several policies, side by side -----------------------------------------------


@frozen
class PolicyRow:
    """One call: hardware time in us and bytes of NRAM by policy, the fastest policy, and the slowest time divided by its time."""

    operator: str
    case: str
    board: str
    times: Mapping[str, float]
    memory: Mapping[str, int]
    best: str
    gain: float | None


@frozen
class Policies:
    """The calls that ran under several policies, and the names of the policies."""

    names: tuple[str, ...]
    rows: tuple[PolicyRow, ...]


def side_by_side(records: Sequence[CallRecord]) -> Policies | None:
    """Return the calls of *records* by policy; None if no call ran under more than one."""
    calls: dict[tuple[str, str, str], list[CallRecord]] = {}
    for record in records:
        calls.setdefault((record.operator, record.case or "own arrays", record.board), []).append(record)
    rows = [_row(*key, several) for key, several in calls.items() if len({r.policy for r in several}) > 1]
    names = tuple(dict.fromkeys(name for row in rows for name in row.memory))
    return Policies(names, tuple(rows)) if rows else None


def _row(operator: str, case: str, board: str, records: Sequence[CallRecord]) -> PolicyRow:
    named = {record.policy or "usual": record for record in records}
    efficiencies = {name: record.efficiency for name, record in named.items()}
    times = {
        name: efficiency.hardware_time_us
        for name, efficiency in efficiencies.items()
        if efficiency is not None
    }
    memory = {name: record.memory["NRAM"].high_water for name, record in named.items()}
    best = min(times, key=lambda name: times[name]) if times else "-"
    gain = max(times.values()) / times[best] if len(times) > 1 and times[best] else None
    return PolicyRow(operator, case, board, times, memory, best, gain)
