"""Coverage of lines and branches over many runs: a record that is kept and merged, as text, as lcov, as a page."""

import html
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, field, frozen

from mlusim.counted import counted
from mlusim.errors import UsageError, shown_file
from mlusim.files.reading import read_json, read_text
from mlusim.files.typed import typed
from mlusim.files.writing import write_text
from mlusim.report.json_values import json_text

FORM = "mlusim coverage 1"


OUTCOMES: Mapping[bool, str] = {True: "true", False: "false"}
"""The outcomes of a test, as a record has them."""
Counts = Mapping[str, Mapping[str, int]]


@frozen
class CoverageRecord:
    """By file, line and task, how often a line ran; a line without tasks could run and did not.

    ``branches`` has, by file, place of a test (line and column, as "12:7"), outcome and task, how often a test had it.
    Lines and tasks are texts, as JSON has keys.
    """

    form: str
    launches: int
    files: Mapping[str, Counts]
    branches: Mapping[str, Mapping[str, Counts]] = field(factory=dict)

    def counts(self, file: str) -> dict[int, int]:
        """Return how often each line of *file* that could run did, in all tasks."""
        return {int(line): sum(tasks.values()) for line, tasks in self.files[file].items()}

    def outcomes(self, file: str) -> dict[tuple[int, int], dict[str, int]]:
        """Return how often each test of *file*, by line and column, had each outcome, in all tasks."""
        return {
            place_of(place): {outcome: sum(tasks.values()) for outcome, tasks in of.items()}
            for place, of in self.branches.get(file, {}).items()
        }

    def to_json(self) -> dict[str, Any]:
        """Return the document: the record, and of each file how much of it ran."""
        made = []
        for name, counts in self.each():
            outcomes = self.outcomes(name)
            met = [count for of in outcomes.values() for count in of.values()]
            made.append(
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
        return asdict(self) | {"summary": made}

    def each(self) -> Iterator[tuple[str, dict[int, int]]]:
        """Yield each file with the counts of its lines."""
        for name in sorted(self.files):
            yield name, self.counts(name)


def place_of(text: str) -> tuple[int, int]:
    """Return the line and the column that "12:7" names.  Raises `ValueError` for another text."""
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
    """Return what all of *records* count together."""
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
    """Return the record in the file *name*.  Raises `UsageError` for a file of something else."""
    try:
        older = frozenset({"branches"})  # missing in the first records
        found: CoverageRecord = typed(CoverageRecord, read_json(name, "a record of coverage"), name, older)
        for lines in found.files.values():
            for line, tasks in lines.items():
                # JSON keys are strings: one that is not a line or a task number is found here, not while a page is made.
                _ = int(line), [int(task) for task in tasks]
        for tests in found.branches.values():
            for place, outcomes in tests.items():
                _ = (
                    place_of(place),
                    [int(task) for outcome in OUTCOMES.values() for task in outcomes[outcome]],
                )
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{name} is not a record of coverage: {error}; name another file") from None
    if found.form != FORM:
        raise UsageError(f"{name} is a record of another form, {found.form!r}; name another file")
    return found


def keep_record(name: str, record: CoverageRecord) -> CoverageRecord:
    """Add *record* to the file *name*, and return what is in it then."""
    known = [read_record(name)] if Path(name).exists() else []
    together = merged([*known, record])
    write_text(name, json_text(asdict(together)))
    return together


def coverage_lines(record: CoverageRecord) -> list[str]:
    """Return a line for each file, with the lines that never ran, and one for its tests, with the outcomes that never came."""
    made = []
    for name, counts in record.each():
        ran = sum(map(bool, counts.values()))
        missing = _missing(counts)
        never = f"; never: {', '.join(missing)}" if missing else ""
        told = f"{ran} of {counted(len(counts), 'line')} ran, {_percent(ran, len(counts))}{never}"
        made.append(f"{shown_file(name)}: {told}")
        outcomes = record.outcomes(name)
        met = [count for of in outcomes.values() for count in of.values()]
        if met:
            unmet = _unmet(outcomes)
            never = f"; never: {', '.join(unmet)}" if unmet else ""
            came = sum(map(bool, met))
            made.append(
                f"  {came} of {counted(len(met), 'branch', 'branches')} taken, {_percent(came, len(met))}{never}"
            )
    return made


def _unmet(outcomes: Mapping[tuple[int, int], Mapping[str, int]]) -> list[str]:
    """Return the outcomes that never came, as "12 false"; with the column if the line has several tests."""
    lines = Counter(line for line, _ in outcomes)
    return [
        f"{line}:{column} {outcome}" if lines[line] > 1 else f"{line} {outcome}"
        for (line, column), of in sorted(outcomes.items())
        for outcome, count in of.items()
        if not count
    ]


def coverage_text(record: CoverageRecord) -> str:
    """Return the lines of the files, and how many launches are counted."""
    return "\n".join([*coverage_lines(record), f"in {counted(record.launches, 'launch', 'launches')}"])


def _percent(ran: int, every: int) -> str:
    return f"{100 * ran / every:.1f} %" if every else "-"


def _missing(counts: Mapping[int, int]) -> list[str]:
    """Return the lines that never ran, neighbours among those that could as a range."""
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
    """Return the record in the form of lcov's tracefiles: lines, and as branches the outcomes of tests, true before false."""
    parts = []
    for name, counts in record.each():
        ran = sum(map(bool, counts.values()))
        tests, met, every = "", 0, 0
        blocks: Counter[int] = Counter()
        for (line, _), of in sorted(record.outcomes(name).items()):
            asked = any(of.values())
            for number, outcome in enumerate(OUTCOMES.values()):
                # lcov writes "-" for a test that was never come to, and 0 for an outcome that it never had.
                count = of[outcome]
                tests += f"BRDA:{line},{blocks[line]},{number},{count if asked else '-'}\n"
                met, every = met + bool(count), every + 1
            # Several tests in a line become its blocks, because lcov has no columns.
            blocks[line] += 1
        tests += f"BRF:{every}\nBRH:{met}\n" if every else ""
        lines = "".join(f"DA:{line},{counts[line]}\n" for line in sorted(counts))
        parts.append(
            f"TN:\nSF:{Path(name).resolve()}\n{tests}{lines}LF:{len(counts)}\nLH:{ran}\nend_of_record\n"
        )
    return "".join(parts)


_PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>coverage</title>
<style>
:root{{color-scheme:light dark;--ran:#dcf2dc;--part:#fbf0c8;--never:#f6d5d5}}
@media (prefers-color-scheme:dark){{:root{{--ran:#16361f;--part:#463a12;--never:#552222}}}}
body{{font:15px/1.45 system-ui,sans-serif;max-width:1400px;margin:2em auto;padding:0 1em}}pre{{font-size:13px;line-height:1.35;overflow-x:auto}}
.source>span{{display:block;min-width:max-content}}.n{{color:#888;display:inline-block;width:5em;text-align:right}}
.ran{{background:var(--ran)}}.part{{background:var(--part)}}.never{{background:var(--never)}}.key{{padding:1px 6px;margin-right:1em}}
</style>
<h1>Lines and branches of kernels that ran</h1>
<p><span class="ran key">ran</span><span class="part key">ran, and a test in it never came out one way</span><span class="never key">never ran</span></p>
<p>Beside each line are its number and how often it ran, added over all tasks; a line that is pointed at names the tasks and what its tests gave.</p>
{}
</html>
"""


def coverage_page(record: CoverageRecord) -> str:
    """Return a page of HTML with the sources, the count of each line, the tasks that ran it and the outcomes of its tests; yellow where one never came."""
    parts = [f"<pre>{html.escape(coverage_text(record))}</pre>"]
    for name, counts in record.each():
        try:
            text = read_text(name).splitlines()
        # A record travels: where the source is not there, the lines are, and their counts.
        except UsageError:
            text = []
        outcomes: dict[int, list[str]] = {}
        for (line, column), of in sorted(record.outcomes(name).items()):
            told = f"column {column}: " + ", ".join(f"{outcome} {count}" for outcome, count in of.items())
            outcomes.setdefault(line, []).append(told)
        unmet = {line for (line, _), of in record.outcomes(name).items() if not all(of.values())}
        rows = [
            _row(number, line, counts.get(number), record.files[name].get(str(number), {}), outcomes, unmet)
            for number, line in enumerate(text, 1)
        ]
        parts.append(f"<h2>{html.escape(shown_file(name))}</h2>\n<pre class='source'>{''.join(rows)}</pre>")
    return _PAGE.format("\n".join(parts))


def _row(
    number: int,
    line: str,
    count: int | None,
    tasks: Mapping[str, int],
    outcomes: Mapping[int, Sequence[str]],
    unmet: Collection[int],
) -> str:
    kind = "" if count is None else "never" if not count else "part" if number in unmet else "ran"
    told = "" if count is None else str(count)
    ran = ", ".join("memory core" if task == "-1" else f"task {task}: {n}" for task, n in tasks.items())
    # In the tooltip: a line of a kernel in a hundred tasks would be a page wide.
    title = "; ".join(filter(None, [ran, *outcomes.get(number, [])]))
    return f'<span class="{kind}" title="{title}"><span class="n">{number}</span><span class="n">{told}</span>  {html.escape(line)}</span>'
