"""Records as one self-contained HTML page: the verdict, tables, zoomable charts; it loads nothing else."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, groupby

from rich.text import Text

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.counted import counted, error, gain, microseconds, percent, plural, precise, share, size, whole
from mlusim.document import (
    BAD,
    GOOD,
    Box,
    BulletList,
    Card,
    Chart,
    Contents,
    Legend,
    PageHead,
    PagePart,
    PageSection,
    SideBySide,
)
from mlusim.plan.svg import layout_svg, legend
from mlusim.report.compare import BaselineComparison
from mlusim.report.efficiency import Rule, engines, first_words, summaries, verdicts
from mlusim.report.explain import Explanation, below_the_bar, costliest_of, explained
from mlusim.report.figures import OVER
from mlusim.report.page.charts import require_drawing
from mlusim.report.page.parts import (
    PIPE_MARKS,
    compared,
    helps,
    lines_of,
    made,
    pipes_of,
    place_of,
    what_if_section,
    worth_showing,
)
from mlusim.report.page.pictures import color, memory, off_chip_directions, roofline, timeline, traffic
from mlusim.report.page.writer import page
from mlusim.report.record import CallRecord
from mlusim.report.tables import verdict, why_table
from mlusim.report.whatif import WhatIfStudy
from mlusim.text_grid import Grid, NameCell, PageCell, table

EFFICIENCIES = "IO efficiency is theory bytes over time and bandwidth, compute efficiency theory operations over time and compute force, as the vendor's test framework computes them."


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
    require_drawing()
    boards = [find_board(name) for name in dict.fromkeys(record.board for record in records)]
    record = _dearest(records)
    sections = [*_results(records)]
    if comparison is not None:
        sections.append(compared(comparison, version, theory=True))
    sections += [*_policies(records), _rooflines(records, boards), _calls(records), *_folded(records, boards)]
    if studies:
        number = len(studies[0].rows)
        words = f"Of each operator the largest case that is quickly run again, on {number} {plural(number, 'board')}."
        sections.append(what_if_section(studies, words))
    parts: list[PagePart] = [
        Text(f"{engines(records)} {EFFICIENCIES}", "dim"),
        Contents(sections),
        *([] if record is None else [_first(records, record)]),
        *sections,
    ]
    return page(
        _head(records, boards, record), parts, made(version, command, [board.name for board in boards])
    )


# -- the head: how many calls are right, and the call to look at first ---------------------------------


def _dearest(records: Sequence[CallRecord]) -> CallRecord | None:
    """Return the longest of the calls that miss their rule, or of all; None if none was timed."""
    timed = _timed(records)
    return max(list(filter(below_the_bar, timed)) or timed, key=_time_us, default=None)


def _timed(records: Sequence[CallRecord]) -> list[CallRecord]:
    return [record for record in records if record.launches and record.efficiency is not None]


def _time_us(record: CallRecord) -> float:
    return sum(launch.time_us for launch in record.launches)


def _called(record: CallRecord) -> str:
    return f"{record.operator} {record.title} on {record.board}"


def _first(records: Sequence[CallRecord], record: CallRecord) -> SideBySide:
    """Return what explains *record*, the call to look at first: the reasons, its most expensive line, advice, and commands."""
    timed = _timed(records)
    missed = sum(map(below_the_bar, timed))
    told = f"{precise(_time_us(record))} us"
    if record.time_band is not None:
        told += f", between {precise(record.time_band[0])} and {precise(record.time_band[1])} by the model's constants"
    if len(timed) > 1:
        told += (
            f"; no other of the {counted(missed, 'call')} that miss their rule takes longer"
            if missed
            else "; no other call takes longer"
        )
    main = max(record.launches, key=lambda launch: launch.time_us)
    line = costliest_of(main.lines, main.bound)
    why: list[PagePart] = [
        explained(record).sentence,
        Text(f"{told}.", "dim"),
        *([place_of(line)] if line else []),
    ]
    commands = table("", "", fold=("",))
    for purpose, command in _next_commands(record).items():
        commands.add_row(purpose, Text(command, "code"))
    following = [Box("What to do next", [commands])] if commands.rows else []
    return SideBySide([Box(_called(record), why), *helps(record.advice), *following])


PIPES_AND_LINES = "its pipes and lines"


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


def _head(records: Sequence[CallRecord], boards: Sequence[Board], dearest: CallRecord | None) -> PageHead:
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
            f"{clean:,} of {len(records):,}",
            "calls as expected",
            "",
            GOOD if clean == len(records) else BAD,
        )
    ]
    if judged:
        asked = sum(verdict.judged for verdict in judged)
        cards.append(Card(f"{met:,} of {asked:,}", "calls meet the efficiency that is asked for"))
    if dearest is not None:
        cards.append(
            Card(f"{microseconds(_time_us(dearest))} us", "the call to look at first", _called(dearest))
        )
        cards += [
            Card(gain(hint.gain), "as fast is within reach there", hint.change) for hint in dearest.advice[:1]
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
    used = record.memory.get("NRAM")
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
    return f"{counted(len(records), 'call')}, {microseconds(time_us)} us, {clean:,} as expected"


# -- what went wrong, and the operators --------------------------------------------------------------


def _results(records: Sequence[CallRecord]) -> Iterator[PageSection]:
    wrong = [
        Text.assemble((sentence, "red"), ("\n" + "; ".join(calls), "dim"))
        for sentence, calls in _wrong(records).items()
    ]
    if wrong:
        yield PageSection("What went wrong", [Box("", [BulletList(wrong)])], "wrong")
    over = any(r.efficiency is not None and r.efficiency.io_efficiency > 1 for r in records)
    words = (
        "Times are added over the cases, the efficiencies are those of all cases together, NRAM is the fullest. "
        "The rule is the operator's, by its design document or the standard of the vendor's library."
    )
    note = Text(f"{words} {OVER}" if over else words, "dim")
    yield PageSection("Operators", [Box("", [_operators(records)]), *_rules(records), note], "operators")


def _operators(records: Sequence[CallRecord]) -> Grid:
    numbers = ("cases", "time us", "IO efficiency", "compute efficiency")
    shown = table(
        "operator", "board", *numbers, "time set by", "NRAM", "meet the rule", "as expected",
        right=(*numbers, "NRAM"), fold=("operator", "time set by", "meet the rule", "as expected"),
    )  # fmt: skip
    set_by = _set_by(records)
    for s in summaries(records):
        shown.add_row(
            NameCell(s.operator),
            s.board,
            str(s.cases),
            microseconds(s.time_us),
            *(
                "-" if part is None else PageCell(share(part), bars=[("c0", part, "")])
                for part in (s.io_efficiency, s.compute_efficiency)
            ),
            set_by[s.operator, s.board],
            share(s.nram),
            f"{s.accepted} of {s.judged}" if s.judged else "-",
            Text(f"{s.clean} of {s.cases}", "green" if s.clean == s.cases else "red"),
        )
    return shown


def _rules(records: Sequence[CallRecord]) -> Iterator[PagePart]:
    """Yield each rule with its verdict and the operators that have it."""
    judged = verdicts(records)
    if len(judged) == 1:
        yield Text(f"The rule: {judged[0].rule.source}.", "dim")
        return
    names: dict[Rule, dict[str, None]] = {}
    for record in records:
        names.setdefault(record.rule, {})[record.operator] = None
    yield BulletList(
        Text.assemble(
            f"{', '.join(names[v.rule])}: ",
            f"{v.met} of {v.judged}, by" if v.rule.asked else f"{v.calls} timed,",
            f" {v.rule.words} ",
            (f"({v.rule.source})", "dim"),
            style="dim" if not v.rule.asked else "green" if v.passed else "red",
        )
        for v in judged
    )


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


# -- policies side by side ---------------------------------------------------------------------------


def _policies(records: Sequence[CallRecord]) -> Iterator[PageSection]:
    """Yield the calls that ran under several policies: their times, the quickest policy, and their NRAM."""
    calls: dict[tuple[str, str, str], dict[str, CallRecord]] = {}
    for record in records:
        key = record.operator, record.case or "own arrays", record.board
        calls.setdefault(key, {})[record.policy or "usual"] = record
    calls = {key: policies for key, policies in calls.items() if len(policies) > 1}
    names = list(dict.fromkeys(name for policies in calls.values() for name in policies))
    if not names:
        return
    times, memories = ([f"{name} {what}" for name in names] for what in ("us", "NRAM"))
    shown = table(
        "call", "board", *times, "quickest", *memories, right=(*times, *memories), fold=("call", "quickest")
    )
    for (operator, case, board), policies in calls.items():
        nram = [size(policies[n].memory["NRAM"].high_water) if n in policies else "-" for n in names]
        shown.add_row(NameCell(f"{operator} {case}"), board, *_times_by_policy(policies, names), *nram)
    yield PageSection("Side by side: policies", [Box("", [shown])], "policies")


def _times_by_policy(policies: Mapping[str, CallRecord], names: Sequence[str]) -> Iterator[str | Text]:
    """Yield the time under each of *names*, and the quickest of them with its gain over the slowest."""
    times = {
        name: record.efficiency.hardware_time_us
        for name, record in policies.items()
        if record.efficiency is not None
    }
    best = min(times, key=lambda name: times[name], default="-")
    for name in names:
        told = microseconds(times[name]) if name in times else "-"
        yield Text(told, "green" if name == best else "")
    faster = f", {max(times.values()) / times[best]:.2f} times as quick as the slowest"
    yield best + (faster if len(times) > 1 and times[best] else "")


# -- the calls ---------------------------------------------------------------------------------------


def _rooflines(records: Sequence[CallRecord], boards: Sequence[Board]) -> PageSection:
    colors = {name: color(n) for n, name in enumerate(dict.fromkeys(record.operator for record in records))}
    shown = [
        Box(
            board.name,
            [Chart(roofline([r for r in records if r.board == board.name], board, colors))],
        )
        for board in boards
    ]
    marks = [("work", look, operator) for operator, look in colors.items()]
    return PageSection("Roofline", [SideBySide(shown), Legend(marks)], "roofline")


MOST_DRAWN = (
    12  # calls whose tasks, pipes and lines are on the page; with those of all calls it would have megabytes
)


def _drawn(records: Sequence[CallRecord]) -> set[int]:
    """Return the positions in *records* of the calls to draw: the longest of each operator on each board, then other long ones."""
    times = [0.0 if record.efficiency is None else record.efficiency.hardware_time_us for record in records]
    longest = sorted(range(len(records)), key=lambda at: -times[at])
    first: dict[tuple[str, str], int] = {}
    for at in longest:
        first.setdefault((records[at].operator, records[at].board), at)
    return set(list(dict.fromkeys([*first.values(), *longest]))[:MOST_DRAWN])


def _calls(records: Sequence[CallRecord]) -> PageSection:
    drawn, number = _drawn(records), count()
    groups = [(name, list(calls)) for name, calls in groupby(records, key=lambda record: record.operator)]
    words = (
        "Open a call for its accuracy, its instructions, and when its tasks run on which core. "
        "The colour of a task is that of its busiest pipe:"
    )
    shown = [
        PageSection(
            Text.assemble(f"{operator} ", (_told_of(calls), "dim")),
            [_call(record, drawn=next(number) in drawn) for record in calls],
            opened=len(groups) == 1,
        )
        for operator, calls in groups
    ]
    return PageSection("Calls", [Legend(PIPE_MARKS, words), *shown], "calls")


def _call(record: CallRecord, *, drawn: bool) -> PageSection:
    efficiency = record.efficiency
    told = f"{record.title} on {record.board}: "
    if efficiency is not None:
        io, compute = share(efficiency.io_efficiency), share(efficiency.compute_efficiency)
        told += f"{microseconds(efficiency.hardware_time_us)} us, IO {io}, compute {compute}, "
    title = Text.assemble(told, (verdict(record), "green" if record.clean else "red"))
    return PageSection(title, _about(record, drawn=drawn), opened=False)


def _about(record: CallRecord, *, drawn: bool) -> Iterator[PagePart]:
    arguments = [*map(str, record.inputs), *(f"{name} = {value}" for name, value in record.params.items())]
    yield Text("; ".join(arguments), "dim")
    if not record.clean or record.findings:
        yield Text.assemble(("What went wrong", "link #wrong"), " says why.")
    elif record.message:
        yield record.message
    why = explained(record)
    if record.launches:
        yield why.sentence
        yield Text(f"Besides: {'; '.join(why.reasons[3:])}." if why.reasons[3:] else "", "dim")
    yield SideBySide(_amounts(record, why))
    if record.launches:
        yield _launches(record)
    if drawn:
        yield from _pictures(record)
    elif record.launches and (commands := _next_commands(record)):
        yield Text.assemble("Its tasks, pipes and lines: ", (commands[PIPES_AND_LINES], "code"), style="dim")


def _pictures(record: CallRecord) -> Iterator[PagePart]:
    if record.launches:
        name = f"{record.operator} {record.case}"
        yield Chart(timeline(name, record.launches, find_board(record.board)))
    for launch in worth_showing(record):
        yield from (*pipes_of(launch.kernel, launch.excerpt), *lines_of(launch))
    for layout in record.layouts:
        yield Chart(layout_svg(layout, named=False), zooms=False)
        if small := legend(layout):
            yield Legend(
                [("work", one.color, f"{one.stage}, {one.words}") for one in small], "Small regions:"
            )


def _amounts(record: CallRecord, why: Explanation) -> Iterator[Grid]:
    """Yield the accuracy of the outputs, the bytes by direction, and the instructions of a call."""
    errors = ("diff1", "diff2", "diff3")
    if record.accuracy:
        shown = table("output", *errors, "", right=errors)
        for name, judged in record.accuracy.items():
            passed = Text("passed", "green") if judged["passed"] else Text("FAILED", "red")
            shown.add_row(name, *(error(judged[diff]) for diff in errors), passed)
        yield shown
    if record.launches:
        shown = table("moved", "bytes", "of theory", right=("bytes", "of theory"))
        for name, nbytes in record.moved.items():
            shown.add_row(name, f"{nbytes:,}", whole((why.directions or {}).get(name)))
        if record.efficiency is not None:
            shown.add_row("theory", f"{record.efficiency.theory_ios:,}", style="dim")
        yield shown
    if record.instructions:
        shown = table("instruction", "count", "padding", right=("count", "padding"))
        padding = why.lanes or {}
        for name, number in record.instructions.items():
            shown.add_row(name, f"{number:,}", whole(padding[name]) if name in padding else "")
        yield shown


def _launches(record: CallRecord) -> Grid:
    shown = table("launch", "tasks", "time us", "set by", right=("time us",), fold=("launch",))
    for launch in record.launches:
        ends = launch.time_band
        note = "" if ends is None else f"({microseconds(ends[0])} to {microseconds(ends[1])})"
        tasks = f"({', '.join(map(str, launch.dim))}) {launch.kind}"
        shown.add_row(launch.kernel, tasks, PageCell(microseconds(launch.time_us), note=note), launch.bound)
    return shown


# -- bytes, NRAM and reasons, which are folded -------------------------------------------------------


def _folded(records: Sequence[CallRecord], boards: Sequence[Board]) -> Iterator[PageSection]:
    directions = off_chip_directions(records)
    on_board = [(board, [record for record in records if record.board == board.name]) for board in boards]
    marks = [("work", color(n), name) for n, name in enumerate(directions)]
    words = Text("In multiples of the bytes that the theory counts; the number is what really moves.", "dim")
    moved = [Box(board.name, [Chart(traffic(calls, directions))]) for board, calls in on_board]
    yield PageSection(
        "Bytes between GDRAM and the chip", [words, Legend(marks), *moved], "bytes", opened=False
    )
    words = Text("The most that a core declares, of what the board leaves to a kernel.", "dim")
    used = [
        Box(f"{board.name}, {size(board.arch.max_nram)} a core", [Chart(memory(calls))])
        for board, calls in on_board
    ]
    yield PageSection("NRAM", [words, *used], "nram", opened=False)
    told = [Box("", [why_table(records, board.name, page=True)]) for board in boards]
    yield PageSection("What explains it", told, "why", opened=False)
