"""Coverage of lines and branches over many runs: a record that is stored and merged, as text, as an lcov file, as a page."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, field, frozen
from rich.text import Text

from mlusim.counted import counted, plural
from mlusim.document import (
    BAD,
    GOOD,
    Box,
    Card,
    ExcerptLine,
    Legend,
    PageHead,
    PagePart,
    PageSection,
    SourceExcerpt,
    json_text,
)
from mlusim.errors import UsageError, shown_file
from mlusim.files.reading import read_json, read_text, typed
from mlusim.files.writing import write_text
from mlusim.report.page.writer import page
from mlusim.text_grid import Grid, PageCell, table

FORM = "mlusim coverage 1"


OUTCOMES: Mapping[bool, str] = {True: "true", False: "false"}
"""The outcomes of a condition, as spelled in a record."""
Counts = Mapping[str, Mapping[str, int]]


@frozen
class CoverageRecord:
    """How often each line ran, by file, line and task; a line without tasks could run but did not.

    ``branches`` counts, by file, place of a condition (line and column, as "12:7"), outcome and task, how often the
    condition had the outcome. Lines and tasks are strings, since they are keys in JSON.
    """

    form: str
    launches: int
    files: Mapping[str, Counts]
    branches: Mapping[str, Mapping[str, Counts]] = field(factory=dict)

    def counts(self, file: str) -> dict[int, int]:
        """Return how often each executable line of *file* was executed, summed over all tasks."""
        return {int(line): sum(tasks.values()) for line, tasks in self.files[file].items()}

    def outcomes(self, file: str) -> dict[tuple[int, int], dict[str, int]]:
        """Return how often each condition of *file*, by line and column, had each outcome, summed over all tasks."""
        return {
            place_of(place): {outcome: sum(tasks.values()) for outcome, tasks in of.items()}
            for place, of in self.branches.get(file, {}).items()
        }

    def to_json(self) -> dict[str, Any]:
        """Return the document: the record, and a summary for each file."""
        rows = []
        for name, counts in self.each():
            outcomes = self.outcomes(name)
            met = [count for of in outcomes.values() for count in of.values()]
            rows.append(
                {
                    "file": name,
                    "lines": len(counts),
                    "ran": sum(map(bool, counts.values())),
                    "missing": _missing(counts),
                    "branches": len(met),
                    "branches_ran": sum(map(bool, met)),
                    "branches_missing": _unmet(outcomes),
                }
            )
        return asdict(self) | {"summary": rows}

    def each(self) -> Iterator[tuple[str, dict[int, int]]]:
        """Yield each file with the counts of its lines."""
        for name in sorted(self.files):
            yield name, self.counts(name)


def place_of(text: str) -> tuple[int, int]:
    """Parse the line and the column in "12:7".  Raises `ValueError` for other text."""
    line, _, column = text.partition(":")
    return int(line), int(column)


def record_of(
    lines: Mapping[str, Mapping[int, Mapping[int, int]]],
    launches: int,
    branches: Mapping[str, Mapping[tuple[int, int], Mapping[bool, Mapping[int, int]]]],
) -> CoverageRecord:
    """Return the record of one run."""
    files = {
        file: {str(line): _by_task(tasks) for line, tasks in sorted(of.items())}
        for file, of in sorted(lines.items())
    }
    tests = {
        file: {
            f"{line}:{column}": {OUTCOMES[outcome]: _by_task(outcomes[outcome]) for outcome in OUTCOMES}
            for (line, column), outcomes in sorted(of.items())
        }
        for file, of in sorted(branches.items())
        if of
    }
    return CoverageRecord(FORM, launches, files, tests)


def _by_task(tasks: Mapping[int, int]) -> dict[str, int]:
    return {str(task): n for task, n in sorted(tasks.items())}


def merged(records: Sequence[CoverageRecord]) -> CoverageRecord:
    """Return the sum of *records*."""
    files: dict[str, dict[str, dict[str, int]]] = {}
    branches: dict[str, dict[str, dict[str, dict[str, int]]]] = {}
    for record in records:
        for file, lines in record.files.items():
            for line, tasks in lines.items():
                _add(files.setdefault(file, {}).setdefault(line, {}), tasks)
        for file, tests in record.branches.items():
            for place, outcomes in tests.items():
                into = branches.setdefault(file, {}).setdefault(place, {})
                for outcome, tasks in outcomes.items():
                    _add(into.setdefault(outcome, {}), tasks)
    return CoverageRecord(FORM, sum(record.launches for record in records), files, branches)


def _add(into: dict[str, int], tasks: Mapping[str, int]) -> None:
    for task, count in tasks.items():
        into[task] = into.get(task, 0) + count


def read_record(name: str) -> CoverageRecord:
    """Read the record in the file *name*.  Raises `UsageError` if the file is not a record."""
    try:
        older = frozenset({"branches"})  # missing in the first records
        record: CoverageRecord = typed(CoverageRecord, read_json(name, "a record of coverage"), name, older)
        for lines in record.files.values():
            for line, tasks in lines.items():
                # JSON keys are strings: an invalid line or task number is reported here, not while a page is
                # made.
                _ = int(line), [int(task) for task in tasks]
        for tests in record.branches.values():
            for place, outcomes in tests.items():
                _ = (
                    place_of(place),
                    [int(task) for outcome in OUTCOMES.values() for task in outcomes[outcome]],
                )
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{name} is not a record of coverage: {error}; name another file") from None
    if record.form != FORM:
        raise UsageError(f"{name} is a record of another form, {record.form!r}; name another file")
    return record


def keep_record(name: str, record: CoverageRecord) -> CoverageRecord:
    """Add *record* to the record in the file *name*, and return the sum."""
    stored = [read_record(name)] if Path(name).exists() else []
    together = merged([*stored, record])
    write_text(name, json_text(asdict(together)))
    return together


def coverage_lines(record: CoverageRecord) -> list[str]:
    """Return a line for each file, with the lines that never ran, and one for its conditions, with the outcomes that never occurred."""
    lines = []
    for name, counts in record.each():
        ran = sum(map(bool, counts.values()))
        missing = _missing(counts)
        never = f"; never: {', '.join(missing)}" if missing else ""
        told = f"{ran} of {counted(len(counts), 'line')} ran, {_percent(ran, len(counts))}{never}"
        lines.append(f"{shown_file(name)}: {told}")
        outcomes = record.outcomes(name)
        met = [count for of in outcomes.values() for count in of.values()]
        if met:
            unmet = _unmet(outcomes)
            never = f"; never: {', '.join(unmet)}" if unmet else ""
            came = sum(map(bool, met))
            lines.append(
                f"  {came} of {counted(len(met), 'branch', 'branches')} taken, {_percent(came, len(met))}{never}"
            )
    return lines


def _unmet(outcomes: Mapping[tuple[int, int], Mapping[str, int]]) -> list[str]:
    """Return the outcomes that never occurred, as "12 false"; with the column if the line has several conditions."""
    lines = Counter(line for line, _ in outcomes)
    return [
        f"{line}:{column} {outcome}" if lines[line] > 1 else f"{line} {outcome}"
        for (line, column), of in sorted(outcomes.items())
        for outcome, count in of.items()
        if not count
    ]


def coverage_text(record: CoverageRecord) -> str:
    """Return the lines of the files, and the number of launches."""
    return "\n".join([*coverage_lines(record), f"in {counted(record.launches, 'launch', 'launches')}"])


def _percent(ran: int, every: int) -> str:
    return f"{100 * ran / every:.1f} %" if every else "-"


def _missing(counts: Mapping[int, int]) -> list[str]:
    """Return the lines that never ran; adjacent ones among those that could run are joined to a range."""
    spans: list[list[int]] = []
    open_ = False
    for line in sorted(counts):
        if counts[line]:
            open_ = False
        elif open_:
            spans[-1][1] = line
        else:
            spans.append([line, line])
            open_ = True
    return [str(a) if a == b else f"{a}-{b}" for a, b in spans]


def lcov(record: CoverageRecord) -> str:
    """Return the record as an lcov tracefile: lines, and outcomes of conditions as branches, true before false."""
    parts = []
    for name, counts in record.each():
        ran = sum(map(bool, counts.values()))
        tests, met, every = "", 0, 0
        blocks: Counter[int] = Counter()
        for (line, _), of in sorted(record.outcomes(name).items()):
            asked = any(of.values())
            for number, outcome in enumerate(OUTCOMES.values()):
                # lcov writes "-" for a condition that was never evaluated, and 0 for an outcome that never
                # occurred.
                count = of[outcome]
                tests += f"BRDA:{line},{blocks[line]},{number},{count if asked else '-'}\n"
                met, every = met + bool(count), every + 1
            # Several conditions in a line become its blocks, since lcov has no columns.
            blocks[line] += 1
        tests += f"BRF:{every}\nBRH:{met}\n" if every else ""
        lines = "".join(f"DA:{line},{counts[line]}\n" for line in sorted(counts))
        parts.append(
            f"TN:\nSF:{Path(name).resolve()}\n{tests}{lines}LF:{len(counts)}\nLH:{ran}\nend_of_record\n"
        )
    return "".join(parts)


_KEYS = (
    ("work", "ran", "ran"),
    ("work", "part-ran", "ran, and a test in it never came out one way"),
    ("work", "never", "never ran"),
)
_NOTE = (
    "SideBySide each line are its number and how often it ran, added over all tasks; a line that is pointed at names the "
    "tasks and what its tests gave."
)


def coverage_page(record: CoverageRecord) -> str:
    """Return an HTML page: the figures, an index of the files, and the sources with their coverage.

    A line has its count, the tasks that ran it and the outcomes of its conditions, and is yellow if an outcome never
    occurred.  A file that is completely covered is folded.
    """
    summary = record.to_json()["summary"]
    whole = [file["ran"] == file["lines"] and file["branches_ran"] == file["branches"] for file in summary]
    sources = [
        PageSection(
            shown_file(file["file"]),
            [_source(record, file["file"])],
            f"file{number}",
            opened=not every or len(summary) == 1,
        )
        for number, (file, every) in enumerate(zip(summary, whole, strict=True))
    ]
    parts: list[PagePart] = [
        Box("", [_index(summary)]),
        Legend(_KEYS),
        Text(_NOTE, "dim"),
        *sources,
    ]
    return page(_head(record, summary, whole), parts)


def _head(record: CoverageRecord, summary: Sequence[Mapping[str, Any]], whole: Sequence[bool]) -> PageHead:
    """Return the head of the page: how much ran, and how many files are completely covered."""
    lines, ran, branches, taken = (
        sum(file[name] for file in summary) for name in ("lines", "ran", "branches", "branches_ran")
    )
    told = f"{ran:,} of {counted(lines, 'line')} ran"
    told += f", {taken:,} of {counted(branches, 'branch', 'branches')} taken" if branches else ""
    told += f", in {counted(record.launches, 'launch', 'launches')}"
    cards = [
        Card(_part(ran, lines), "of the lines ran", f"{lines - ran:,} never did"),
        Card(_part(taken, branches), "of the branches taken", f"{branches - taken:,} never were"),
        Card(f"{sum(whole):,} of {len(summary):,}", "files ran whole"),
        Card(f"{record.launches:,}", plural(record.launches, "launch", "launches")),
    ]
    return PageHead("Lines and branches of kernels that ran", told, cards, GOOD if all(whole) else BAD)


def _part(some: int, every: int) -> str:
    """Return the share; anything less than all is never shown as 100 %."""
    return "-" if not every else "100%" if some == every else f"{min(100 * some / every, 99.9):.1f}%"


def _index(summary: Sequence[Mapping[str, Any]]) -> Grid:
    """Return the table of the files, the least covered first; each links to its source."""
    shown = table(
        "file",
        "lines",
        "ran",
        "branches",
        "never ran",
        right=("lines", "branches"),
        fold=("file", "never ran"),
    )
    for number, file in sorted(enumerate(summary), key=lambda row: row[1]["ran"] - row[1]["lines"]):
        shown.add_row(
            Text(shown_file(file["file"]), f"link #file{number}"),
            f"{file['ran']:,} of {file['lines']:,}",
            PageCell("", bars=[("c6", file["ran"] / max(file["lines"], 1), "")]),
            f"{file['branches_ran']:,} of {file['branches']:,}",
            ", ".join([*file["missing"], *file["branches_missing"]]),
        )
    return shown


def _source(record: CoverageRecord, name: str) -> SourceExcerpt | Text:
    """Return the source of the file *name* with its coverage."""
    counts = record.counts(name)
    try:
        text = read_text(name).splitlines()
    # A record may be read on another machine, where its summary is shown alone.
    except UsageError:
        text = []
    outcomes: dict[int, list[str]] = {}
    for (line, column), of in sorted(record.outcomes(name).items()):
        told = f"column {column}: " + ", ".join(f"{outcome} {count}" for outcome, count in of.items())
        outcomes.setdefault(line, []).append(told)
    unmet = {line for (line, _), of in record.outcomes(name).items() if not all(of.values())}
    rows = tuple(
        _row(number, line, counts.get(number), record.files[name].get(str(number), {}), outcomes, unmet)
        for number, line in enumerate(text, 1)
    )
    return SourceExcerpt("", (rows,)) if rows else Text("The source is not here.", "dim")


def _row(
    number: int,
    line: str,
    count: int | None,
    tasks: Mapping[str, int],
    outcomes: Mapping[int, Sequence[str]],
    unmet: Collection[int],
) -> ExcerptLine:
    look = "" if count is None else "never" if not count else "part-ran" if number in unmet else "ran"
    ran = ", ".join("memory core" if task == "-1" else f"task {task}: {n}" for task, n in tasks.items())
    # In the tooltip, since the list of a hundred tasks would be a page wide.
    tip = "; ".join(filter(None, [ran, *outcomes.get(number, [])]))
    return ExcerptLine(number, line, count="" if count is None else str(count), tip=tip, look=look)
