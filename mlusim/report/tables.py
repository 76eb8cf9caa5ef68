"""Tables for a terminal: of records, of the reasons for the calls' times, and of the lines of a kernel."""

import linecache
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from mlusim.counted import band, brief, count, error, gain, microseconds, plural, precise, share, size, whole
from mlusim.errors import shown_file
from mlusim.report.advice import Advice
from mlusim.report.efficiency import Acceptance, Rule, acceptance, engines, summaries
from mlusim.report.explain import WHY, Explanation, WhyFigure, explained
from mlusim.report.figures import OVER
from mlusim.report.record import NO_COPY, SPACES, CallRecord, LaunchRecord
from mlusim.text_grid import Cell, NameCell, PageCell, facts, table
from mlusim.time.lines import Line
from mlusim.time.timing import PIPES

if TYPE_CHECKING:
    from mlusim.machine.launch import Launch


def verdict(record: CallRecord) -> str:
    """Return one word for the outcome of the call."""
    if record.fault is not None:
        return "fault"
    if record.status != record.expected:
        return "status"
    if not record.passed:
        return "FAILED"
    if record.complaints:
        return f"{record.complaints} found"
    return "refused" if record.message else "passed" if record.accuracy else "ran"


def _styled(record: CallRecord) -> Text:
    return Text(verdict(record), style="green" if record.clean else "bold red")


def efficiency_table(records: Sequence[CallRecord]) -> RenderableType:
    """Return the time, efficiency, NRAM and verdict of each call, under a line for each operator."""
    numbers = ("time us", "band", "IO", "compute", "class", "NRAM")
    boards = {record.board for record in records}
    # Times in microseconds, efficiencies and NRAM in per cent.
    shown = table("case", *numbers, "verdict", right=numbers, fold=("case",))
    before = ""
    for (operator, board), calls in groupby(records, key=lambda record: (record.operator, record.board)):
        if operator != before:
            shown.add_row(heading(operator))
        # An operator on several boards has several groups, but one heading.
        before = operator
        if len(boards) > 1:
            shown.add_row(NameCell(f"on {board}", indent=1, style="italic"))
        for record in calls:
            shown.add_row(case_cell(record), *_efficiency_cells(record), _styled(record))
    model = "each board" if len(boards) > 1 else ", ".join(boards)
    return Group(shown, _notes(f"Predicted by the model of {model}; no card was used.", records))


def _notes(first: str, records: Sequence[CallRecord]) -> Text:
    figures = [record.efficiency for record in records if record.efficiency is not None]
    # The sentence is printed only below tables to which it applies.
    over = any(efficiency.io_efficiency > 1 for efficiency in figures)
    return Text(" ".join(filter(None, (first, engines(records), OVER if over else ""))), style="dim")


def heading(operator: str) -> NameCell:
    """Return the heading above the cases of *operator*."""
    return NameCell(operator, style="bold")


def case_cell(record: CallRecord) -> NameCell:
    """Return the cell with the case of *record*, indented under its operator."""
    return NameCell(record.title, indent=2)


def _efficiency_cells(record: CallRecord) -> list[str]:
    efficiency = record.efficiency
    if efficiency is None:
        return ["-", "-", "-", "-", "-", "-"]
    nram = record.memory["NRAM"]
    return [
        microseconds(efficiency.hardware_time_us),
        band(record.time_band),
        share(efficiency.io_efficiency),
        share(efficiency.compute_efficiency),
        acceptance(efficiency, record.group).grade,
        whole(nram.high_water / nram.capacity),
    ]


def work_table(records: Sequence[CallRecord], board: str) -> RenderableType:
    """Return the theory and the actual work of each call on *board*: operations, off-chip bytes, instructions, NRAM."""
    numbers = ("ops", "theory", "read", "write", "other", "instr", "NRAM")
    shown = table("case", *numbers, right=numbers, fold=("case",), title=f"work on {board}")
    for operator, calls in groupby((r for r in records if r.board == board), key=lambda r: r.operator):
        shown.add_row(heading(operator))
        for record in calls:
            shown.add_row(case_cell(record), *_work_cells(record))
    note = (
        "theory, read, write, other: bytes between GDRAM and the chip, as the vendor counts them, by copies to "
        "the chip, by copies from it, by atomics and fills.  NRAM: bytes, the most that a core declares."
    )
    return Group(shown, Text(note, style="dim"))


def _work_cells(record: CallRecord) -> Iterator[str]:
    efficiency = record.efficiency
    yield "-" if efficiency is None else brief(count(efficiency.theory_ops))
    yield "-" if efficiency is None else _short(efficiency.theory_ios)
    # Names of directions: GDRAM2... is from GDRAM and ...2GDRAM to it.
    for which in ("GDRAM2", "2GDRAM", NO_COPY):
        yield _short(sum(nbytes for name, nbytes in record.off_chip.items() if which in name))
    yield brief(count(sum(record.instructions.values())))
    yield _short(record.memory["NRAM"].high_water)


def _short(nbytes: int) -> str:
    # The unit is stated below the table, since the column is narrow.
    return brief(size(nbytes)).replace("iB", "").replace(" B", "").replace(" ", "")


def problems(records: Sequence[CallRecord]) -> Iterator[Text]:
    """Yield a line for each call that is not clean, with the sentence of its fault, refusal or finding."""
    for record in records:
        name = f"{record.operator} {record.title} on {record.board}"
        if record.fault is not None or record.status != record.expected:
            # A refusal that the case expects is not a problem.
            yield Text(f"{name}: {record.message or f'{record.status}, expected {record.expected}'}")
        for output, accuracy in record.accuracy.items():
            if not accuracy["passed"]:
                yield Text(f"{name}: {output}: {_errors(accuracy)}; worst at {accuracy['worst_index']}")
        for finding in record.findings:
            yield Text(f"{name}: {_finding(finding)}")


def _errors(accuracy: Mapping[str, Any]) -> str:
    text = ", ".join(f"{name} {error(accuracy[name])}" for name in ("diff1", "diff2", "diff3"))
    return f"{text} ({accuracy['note']})" if accuracy.get("note") else text


def _finding(finding: Mapping[str, Any]) -> str:
    where = (
        f" ({shown_file(finding['file'])}:{finding['line']}, task {finding['task']})"
        if finding["file"]
        else ""
    )
    hint = f"; {finding['hint']}" if finding["hint"] else ""
    return f"{finding['id'] or 'finding'}: {finding['message']}{hint}{where}"


def detail(record: CallRecord) -> RenderableType:
    """Return all facts about one call except its findings."""
    parts: list[RenderableType] = [facts(list(_about(record)))]
    for title, unit, amounts in (
        ("moved", "bytes", record.moved),
        ("instruction", "count", record.instructions),
    ):
        if amounts:
            shown = table(title, unit, right=(unit,))
            for name, amount in amounts.items():
                shown.add_row(name, f"{amount:,}")
            parts += ["", shown]
    return Group(*parts)


def _about(record: CallRecord) -> Iterator[tuple[str, Any]]:
    yield "operator", record.operator
    if record.case:
        yield "case", record.case
    yield "board", record.board
    for argument in record.inputs:
        yield "input", str(argument)
    for name, value in record.params.items():
        yield "parameter", f"{name} = {value}"
    if record.policy is not None:
        yield "policy", record.policy
    yield "status", record.status + (f": {record.message}" if record.message else "")
    yield "verdict", _styled(record)
    for name, accuracy in record.accuracy.items():
        yield "accuracy", f"{name}: {_errors(accuracy)}, {'passed' if accuracy['passed'] else 'FAILED'}"
    yield from _timing(record)
    for space, usage in record.memory.items():
        # Without a launch nothing was declared, and 0 % would look like a measurement.
        if record.launches and usage.capacity:
            used = share(usage.high_water / usage.capacity)
            yield space, f"{usage.high_water:,} of {usage.capacity:,} bytes, {used}"


def _timing(record: CallRecord) -> Iterator[tuple[str, str]]:
    efficiency = record.efficiency
    if efficiency is not None:
        force = count(efficiency.compute_force)
        told = f"{microseconds(efficiency.hardware_time_us)} us, predicted"
        ends = f"; {band(record.time_band)} us by the band of the model" if record.time_band else ""
        yield "hardware time", told + ends
        wide = dict.fromkeys(str(part) for launch in record.launches for part in launch.unsure)
        if wide:
            yield "wide band", "; ".join(wide)
        yield (
            "IO efficiency",
            f"{share(efficiency.io_efficiency)} of {efficiency.io_bandwidth:g} GB/s, theory {size(efficiency.theory_ios)}",
        )
        yield (
            "compute efficiency",
            f"{share(efficiency.compute_efficiency)} of {force} ops/s, theory {count(efficiency.theory_ops)} ops",
        )
        yield "bottleneck", f"{efficiency.bottleneck}, by the formulas: the larger of both efficiencies"
        judged = acceptance(efficiency, record.group, record.rule)
        yield "class", judged.grade
        yield "rule", _met(judged, record.rule)
    yield from _causes(explained(record))
    for part in record.advice:
        yield "would help", str(part)
    for launch in record.launches:
        dim = ", ".join(map(str, launch.dim))
        yield "launch", f"{launch.kernel}<<<({dim}), {launch.kind}>>>, {microseconds(launch.time_us)} us"
        if launch.achieved:
            yield "achieved", "; ".join(map(str, launch.achieved))
    if record.engines:
        yield "engine", ", ".join(record.engines)


def _met(judged: Acceptance, rule: Rule) -> str:
    """Return the verdict of the *rule* on a call, and the rule in words."""
    if not judged.asked:
        return f"none: {rule.words} ({rule.source})"
    return f"{'met' if judged.accepted else 'NOT met'}: {rule.words}"


def _causes(why: Explanation) -> Iterator[tuple[str, str]]:
    """Yield every reason, and the numbers on which it is based."""
    for reason in why.reasons:
        yield "because", reason
    if why.busy:
        pipes = ", ".join(f"{pipe} {share(part)}" for pipe, part in why.busy.items() if part)
        both = "" if why.overlap is None else f"; two or more at once {share(why.overlap)}"
        yield "pipes busy", f"{pipes or 'none'}{both}"
    if why.balance is not None:
        slow = f"the slowest, {why.slowest}, {why.balance:.2f} times the mean"
        yield "cores", f"{why.working} of {why.cores} work; {slow}"
        yield "waves", f"{why.waves}, the last fills {share(why.last_wave or 0.0)} of the places"
    if why.padding is not None:
        yield "vector lanes", f"{share(1 - why.padding)} of those paid for hold an element"


def summary_table(records: Sequence[CallRecord]) -> RenderableType:
    """Return a summary line for each operator and board."""
    numbers = ("time us", "IO", "compute", "NRAM")
    shown = table("operator", "board", *numbers, "passed", right=numbers, fold=("operator",))
    before = ""
    for s in summaries(records):
        io, compute = ("-" if e is None else share(e) for e in (s.io_efficiency, s.compute_efficiency))
        shown.add_row(
            Text("" if s.operator == before else s.operator, style="bold"),
            s.board,
            microseconds(s.time_us),
            io,
            compute,
            whole(s.nram),
            Text(f"{s.clean}/{s.cases}", style="green" if s.clean == s.cases else "bold red"),
        )
        before = s.operator
    first = "Predicted by the model of each board, all cases together; no card was used."
    return Group(shown, _notes(first, records))


# -- explanations: a table of numbers, and a sentence for each call ------------------------------------

EXPLANATION_NOTE = (
    "moved: bytes off the chip over those of the theory.  pad: lanes of vector instructions that hold no element.  "
    "{pipes}: how much of the time the pipes of a working core are busy; two: of the time of the second busiest pipe, two or more at once.  slow: slowest "
    "core over the mean.  cores: with work.  waves: of tasks or unions, and how full the last is."
)


def why_table(records: Sequence[CallRecord], board: str, *, page: bool = False) -> RenderableType:
    """Return the numbers that explain the calls on *board*; launches that were not timed have none.

    On a *page* each call has its class, its use of on-chip memories and its sentence, too.
    """
    shown_calls = [(record, explained(record)) for record in records if record.board == board]
    pipes = {pipe for _, why in shown_calls for pipe, part in (why.busy or {}).items() if part > 0}
    columns = [figure for figure in WHY if not figure.pipe or figure.pipe in pipes]
    numbers = [figure.heading for figure in columns]
    # It is of interest that NRAM is unused, so that it is always shown.
    spaces = [
        n
        for n in SPACES
        if n == SPACES[0] or any(r.memory[n].high_water for r, _ in shown_calls if n in r.memory)
    ]
    more = ["class", *spaces] if page else []
    title = f"what explains it on {board}"
    shown = table("case", *numbers, *more, right=(*numbers, *more), fold=("case",), title=title, tight=True)
    for operator, calls in groupby(shown_calls, key=lambda pair: pair[0].operator):
        shown.add_row(heading(operator))
        for record, why in calls:
            words: list[Cell] = [figure.words(why) for figure in columns]
            shown.add_row(case_cell(record), *(_page_cells(why, columns, spaces) if page else words))
            if page:
                told = [why.sentence, *(f"Would help: {change}." for change in record.advice)]
                shown.add_row(Text("\n".join(told), style="dim"))
    note = EXPLANATION_NOTE.format(pipes=", ".join(figure.heading for figure in columns if figure.pipe))
    if page:
        note += "  class: by the vendor's standard, red where the operator's own rule is missed."
    return Group(shown, Text(note, style="dim"))


def _page_cells(why: Explanation, columns: Sequence[WhyFigure], spaces: Sequence[str]) -> list[Cell]:
    """Return the numbers of a call, a bar beside each pipe's, its class, and the used share of each memory."""
    cells: list[Cell] = []
    for figure in columns:
        bars = []
        if figure.pipe and why.busy:
            busy = why.busy[figure.pipe]
            bars = [(f"c{PIPES.index(figure.pipe)}", busy, f"{figure.pipe} {share(busy)}")]
        cells.append(PageCell(figure.words(why), bars=bars) if bars else figure.words(why))
    judged = why.acceptance
    style = "" if judged is None else "dim" if not judged.asked else "green" if judged.accepted else "red"
    cells.append(Text("-" if judged is None else judged.grade, style))
    return [*cells, *(whole((why.memory or {}).get(space)) for space in spaces)]


def sentences(records: Sequence[CallRecord]) -> Iterator[Text]:
    """Yield a sentence for each call with its class and the reasons; then the advice."""
    for record in records:
        name = f"{record.operator} {record.title} on {record.board}"
        yield Text.assemble((name, "bold"), f": {explained(record).sentence}")
        yield from (Text(f"  would help: {change}", style="dim") for change in record.advice)


# -- the time of each line -------------------------------------------------------------------------

LEAST = 0.001  # of the time of a launch; lines with less are summed up
NUMBERS = ("time", "us", "count", "scalar", "vector", "tensor", "IO", "move", "wait", "bytes")

END = "end of the tasks"
LINES_NOTE = (
    "time: a line's share of everything that cores do or wait for.  us: that, added over all cores; then the share "
    "of it by pipe and in waiting, for pipes, other cores and the memory that all share."
)


def lines_table(record: CallRecord) -> RenderableType:
    """Return a table for each launch of *record* with recorded instructions: its lines, the most expensive first."""
    parts: list[RenderableType] = []
    for launch in record.launches:
        if launch.lines:
            parts += [Text(), launch_lines(launch)]
    return (
        Group(*parts, Text(LINES_NOTE, style="dim")) if parts else Text("no launch, so no lines", style="dim")
    )


def launch_lines(launch: "LaunchRecord | Launch", most: int | None = None) -> RenderableType:
    """Return the lines of *launch*, with recorded instructions, the most expensive first; at most *most* individually."""
    total = sum(line.time_us for line in launch.lines)
    ordered = sorted(launch.lines, key=lambda line: -line.time_us)
    dear = [line for line in ordered if line.time_us >= LEAST * total and line.time_us][:most]
    files = {line.file for line in dear if line.line}
    title, inside = f"lines of {launch.kernel}", False
    if len(files) == 1 and (file := shown_file(*files)) != Path(file).name:
        title, inside = f"{title} in {file}", True
    shown = table("line", *NUMBERS, right=NUMBERS, title=title, tight=True)
    for line in dear:
        shown.add_row(_place(line, inside=inside), *_line_cells(line, total))
    rest = ordered[len(dear) :]
    if rest:
        time_us = sum(line.time_us for line in rest)
        number = sum(line.count for line in rest)
        part = share(time_us / total) if total else "-"
        shown.add_row(
            f"{len(rest)} {plural(len(rest), 'other')}",
            part,
            brief(count(time_us)),
            brief(count(number)),
            *[""] * 7,
        )
    return shown


def _place(line: Line, *, inside: bool) -> str:
    """Return the line's file and number, without folders if the title has them (*inside*); without a line, the end of tasks."""
    file = shown_file(line.file)
    return f"{Path(file).name if inside else file}:{line.line}" if line.line else END


def _line_cells(line: Line, total: float) -> Iterator[str]:
    time_us = line.time_us
    yield share(time_us / total)
    yield brief(count(round(time_us, 3)))
    yield brief(count(line.count))
    waits = line.wait_us + line.memory_us
    for part in (*line.busy_us.values(), waits):
        yield whole(part / time_us) if part else ""
    yield _short(line.nbytes) if line.nbytes else ""


def source_lines(lines: Sequence[Line]) -> dict[str, list[str]]:
    """Return the text of each file of *lines* that is readable, without line ends."""
    files = dict.fromkeys(line.file for line in lines if line.line)
    return {file: [text.rstrip("\n") for text in linecache.getlines(file)] for file in files}


def advice_table(changes: Sequence[Advice]) -> RenderableType:
    """Return *changes* as a table for a terminal."""
    title = "  what would help, each by itself"
    shown = table("change", "us", "faster", right=("us", "faster"), fold=("change",), title=title)
    for change in changes:
        shown.add_row(change.change, precise(change.time_us), gain(change.gain))
    return shown
