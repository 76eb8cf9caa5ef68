"""The parts that several pages have: sources with the time of each line, pipes, advice, comparisons, other boards, the origin of a page."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from rich.text import Text

from mlusim.counted import changed, count, microseconds, share, size
from mlusim.document import Box, BulletList, Chart, ExcerptLine, Legend, PagePart, PageSection, SourceExcerpt
from mlusim.errors import shown_file
from mlusim.machine.launch import Launch
from mlusim.report.advice import Advice
from mlusim.report.compare import BaselineComparison, headline, lines
from mlusim.report.explain import CostliestLine
from mlusim.report.page.excerpt import Excerpt
from mlusim.report.page.pipes import legend, pipe_picture
from mlusim.report.record import CallRecord, LaunchRecord
from mlusim.report.tables import source_lines
from mlusim.report.whatif import WhatIfStudy, what_if_table
from mlusim.text_grid import NameCell, table
from mlusim.time.lines import Line
from mlusim.time.timing import PIPES

# -- the source of kernels with the time of each line, which the page shows with each call -------------

AROUND = 2  # lines without time that are shown around those with time
WORTH = 0.1  # share of a call's time: launches with less have no listing and no picture
LEAST = 0.0005  # lines with a smaller share have no colour


def worth_showing(record: CallRecord) -> tuple[LaunchRecord, ...]:
    """Return the launches of *record* with recorded instructions that take a tenth of its time or more."""
    total = sum(launch.time_us for launch in record.launches)
    return tuple(launch for launch in record.launches if launch.lines and launch.time_us >= WORTH * total)


def listings(launch: LaunchRecord | Launch) -> list[SourceExcerpt]:
    """Return the files of *launch*'s lines, with the time of each line; time outside of lines comes last."""
    total = sum(line.time_us for line in launch.lines) or 1.0
    most = max((line.time_us for line in launch.lines), default=0.0) or 1.0
    made = []
    for file, texts in source_lines(launch.lines).items():
        own = {line.line: line for line in launch.lines if line.file == file}
        runs = tuple(
            tuple(_heat_line(number, texts, own.get(number), total, most) for number in run)
            for run in _runs(sorted(own), len(texts))
        )
        made.append(SourceExcerpt(shown_file(file), runs))
    ends = [line for line in launch.lines if not line.line and line.time_us]
    if ends:
        made.append(SourceExcerpt("end of the tasks", ((_heat_line(0, [], ends[0], total, most),),)))
    return made


def _runs(numbers: Sequence[int], last: int) -> Iterator[range]:
    """Yield the ranges of lines around *numbers*, merged if they touch."""
    begin = end = 0
    for number in numbers:
        low, high = max(1, number - AROUND), max(number, min(last, number + AROUND))
        if begin and low <= end + AROUND:
            end = max(end, high)
            continue
        if begin:
            yield range(begin, end + 1)
        begin, end = low, high
    if begin:
        yield range(begin, end + 1)


def _heat_line(
    number: int, texts: Sequence[str], line: Line | None, total: float, most: float
) -> ExcerptLine:
    text = texts[number - 1] if 0 < number <= len(texts) else ""
    if line is None:
        return ExcerptLine(number, text)
    time_us = line.time_us
    waits = line.wait_us + line.memory_us
    amounts = [*((f"c{n}", part) for n, part in enumerate(line.busy_us.values())), ("other", waits)]
    part = time_us / total
    return ExcerptLine(
        number,
        text or ("what is in flight when a task ends is waited for" if not number else ""),
        heat=(time_us / most) ** 0.5 if part >= LEAST else 0.0,
        share=share(part) if part >= LEAST else "",
        count=count(line.count) if line.count else "",
        parts=tuple((name, 100 * amount / most) for name, amount in amounts if amount > 0.002 * most),
        tip=_tip(line, waits),
    )


def _tip(line: Line, waits: float) -> str:
    times = {**line.busy_us, "waiting": waits}
    words = [f"{name} {time_us:,.3g} us" for name, time_us in times.items() if time_us]
    moved = [size(line.nbytes)] if line.nbytes else []
    return "; ".join(part for part in (", ".join(line.names), *words, *moved) if part)


# -- parts that several pages have ----------------------------------------------------------------------

PIPE_MARKS = tuple(("work", f"c{n}", pipe) for n, pipe in enumerate(PIPES))
"""The colour of each pipe, for legends."""


def made(version: str, command: str, boards: Iterable[str]) -> dict[str, str]:
    """Return the date, the version, the command and the boards of a page."""
    return {
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "by": f"mlusim {version}",
        "command": command,
        "board": ", ".join(dict.fromkeys(boards)),
    }


def place_of(line: CostliestLine) -> Text:
    """Return the costliest line of a kernel with its effect and its text."""
    code = (":\n", (line.text, "code")) if line.text else ()
    return Text.assemble((line.where, "bold"), f" {line.words}", *code)


def helps(advice: Sequence[Advice]) -> list[Box]:
    """Return the box with what would help, none without *advice*."""
    note = Text("Each by itself, as the model times the changed work.", "dim")
    return [Box("What would help", [note, BulletList(map(str, advice))])] if advice else []


def pipes_of(kernel: str, excerpt: Excerpt | None) -> Iterator[PagePart]:
    """Yield the chart of *excerpt*, a part of the timeline of *kernel*, if there is one."""
    if excerpt is not None:
        yield Text(f"Pipes of {kernel}. {excerpt.headline}", "bold")
        words = "filled bars work, hollow ones wait. A bar that is pointed at says its line and its bytes."
        yield Text(f"{excerpt.says}; {words}", "dim")
        yield Legend(legend(excerpt))
        yield Chart(pipe_picture(excerpt))


def lines_of(launch: LaunchRecord | Launch, *, opened: bool = False) -> Iterator[PageSection]:
    """Yield the source of *launch* with the time of each line, if its lines are known."""
    if launch.lines:
        note = "The share of a line in everything that cores do or wait for, added over all tasks; the bar tells pipes apart, pale is waiting."
        inside: list[PagePart] = [Text(note, "dim"), *listings(launch)]
        yield PageSection(f"Time of each line of {launch.kernel}", inside, opened=opened)


def compared(comparison: BaselineComparison, version: str, *, theory: bool) -> PageSection:
    """Return the times before and now of each call; with *theory* the efficiencies, too."""
    of_theory = ("IO before", "IO now", "compute before", "compute now") if theory else ()
    numbers = ("time us before", "now", "change", *of_theory)
    shown = table("call", "board", *numbers, "within the model's band", right=numbers, fold=("call",))
    for pair in comparison.pairs:
        before, after = pair.before, pair.after
        style = (
            "red"
            if pair.share > comparison.threshold
            else "green"
            if pair.share < -comparison.threshold
            else ""
        )
        both = ((of.io_efficiency, of.compute_efficiency) for of in (before, after))
        parts = [share(part) for of in zip(*both, strict=True) for part in of] if theory else []
        shown.add_row(
            NameCell(f"{before.operator} {before.case}"),
            before.board,
            microseconds(before.hardware_time_us),
            microseconds(after.hardware_time_us),
            Text(changed(pair.share), style),
            *parts,
            "yes" if pair.within_band else "no",
        )
    moved = BulletList(Text.assemble((kind, "bold"), f": {text}") for kind, text in lines(comparison))
    verdict = Text(headline(comparison, version), "green" if comparison.passed else "red")
    return PageSection(
        f"Side by side: {comparison.name} and this run", [verdict, Box("", [shown, moved])], "compared"
    )


RETIMED_WORDS = "Re-timed: the time follows from a recorded run, because the work is the same there; run: it was run there, because it is not. The bar is the speed-up."


def what_if_section(
    studies: Sequence[WhatIfStudy],
    words: str = "",
    *,
    opened: bool = False,
    title: str = "What if it were another board",
) -> PageSection:
    """Return *studies* board by board, after *words*."""
    boxes = (Box("", [what_if_table(study)]) for study in studies)
    return PageSection(title, [Text(f"{words} {RETIMED_WORDS}".lstrip(), "dim"), *boxes], "what-if", opened)
