"""Coverage of lines over many runs: a record that is kept and merged, as text, as lcov, as a page."""

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from mlusim.counted import counted
from mlusim.errors import UsageError, shown_file
from mlusim.files.reading import read_text
from mlusim.files.typed import typed
from mlusim.files.writing import write_text
from mlusim.report.json_values import json_text

FORM = "mlusim coverage 1"


@frozen
class CoverageRecord:
    """By file, line and task, how often a line ran; a line without tasks could run and did not.

    Lines and tasks are texts, as JSON has keys.
    """

    form: str
    launches: int
    files: Mapping[str, Mapping[str, Mapping[str, int]]]

    def counts(self, file: str) -> dict[int, int]:
        """Return how often each line of *file* that could run did, in all tasks."""
        return {int(line): sum(tasks.values()) for line, tasks in self.files[file].items()}

    def to_json(self) -> dict[str, Any]:
        """Return the document: the record, and of each file how much of it ran."""
        return asdict(self) | {
            "summary": [
                {
                    "file": name,
                    "lines": len(counts),
                    "ran": sum(map(bool, counts.values())),
                    "missing": _missing(counts),
                }
                for name, counts in self._each()
            ]
        }

    def _each(self) -> Iterator[tuple[str, dict[int, int]]]:
        for name in sorted(self.files):
            yield name, self.counts(name)


def record_of(lines: Mapping[str, Mapping[int, Mapping[int, int]]], launches: int) -> CoverageRecord:
    """Return the record of one run."""
    files = {
        file: {
            str(line): {str(task): n for task, n in sorted(tasks.items())}
            for line, tasks in sorted(of.items())
        }
        for file, of in sorted(lines.items())
    }
    return CoverageRecord(FORM, launches, files)


def merged(records: Sequence[CoverageRecord]) -> CoverageRecord:
    """Return what all of *records* count together."""
    files: dict[str, dict[str, dict[str, int]]] = {}
    for record in records:
        for file, lines in record.files.items():
            for line, tasks in lines.items():
                into = files.setdefault(file, {}).setdefault(line, {})
                for task, count in tasks.items():
                    into[task] = into.get(task, 0) + count
    return CoverageRecord(FORM, sum(record.launches for record in records), files)


def read_record(name: str) -> CoverageRecord:
    """Return the record in the file *name*.  Raises `UsageError` for a file of something else."""
    try:
        found: CoverageRecord = typed(CoverageRecord, json.loads(read_text(name)), name)
        for lines in found.files.values():
            for line, tasks in lines.items():
                _ = int(line), [int(task) for task in tasks]
    except (ValueError, TypeError) as error:
        raise UsageError(f"{name} is no record of coverage: {error}; name another file") from None
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
    """Return a line for each file, with the lines that never ran."""
    made = []
    for name, counts in record._each():  # noqa: SLF001 - of this file
        ran = sum(map(bool, counts.values()))
        missing = _missing(counts)
        never = f"; never: {', '.join(missing)}" if missing else ""
        told = f"{ran} of {counted(len(counts), 'line')} ran, {_percent(ran, len(counts))}{never}"
        made.append(f"{shown_file(name)}: {told}")
    return made


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
    """Return the record in the form of lcov's tracefiles."""
    parts = []
    for name, counts in record._each():  # noqa: SLF001 - of this file
        ran = sum(map(bool, counts.values()))
        lines = "".join(f"DA:{line},{counts[line]}\n" for line in sorted(counts))
        parts.append(f"TN:\nSF:{Path(name).resolve()}\n{lines}LF:{len(counts)}\nLH:{ran}\nend_of_record\n")
    return "".join(parts)


_PAGE = """<!DOCTYPE html>
<meta charset="utf-8"><title>coverage</title>
<style>body{{font-family:sans-serif;margin:2em}}pre{{line-height:1.35}}.n{{color:#777;display:inline-block;width:5em;text-align:right}}
.ran{{background:#dcf2dc}}.never{{background:#f6d5d5}}</style>
<h1>Lines of kernels that ran</h1>
{}
"""


def coverage_page(record: CoverageRecord) -> str:
    """Return a page of HTML with the sources, the count of each line, and the tasks that ran it."""
    parts = [f"<pre>{html.escape(coverage_text(record))}</pre>"]
    for name, counts in record._each():  # noqa: SLF001 - of this file
        try:
            text = read_text(name).splitlines()
        except UsageError:
            text = []
        rows = [
            _row(number, line, counts.get(number), record.files[name].get(str(number), {}))
            for number, line in enumerate(text, 1)
        ]
        parts.append(f"<h2>{html.escape(shown_file(name))}</h2>\n<pre>{chr(10).join(rows)}</pre>")
    return _PAGE.format("\n".join(parts))


def _row(number: int, line: str, count: int | None, tasks: Mapping[str, int]) -> str:
    kind = "" if count is None else "ran" if count else "never"
    told = "" if count is None else str(count)
    ran = ", ".join("memory core" if task == "-1" else f"task {task}: {n}" for task, n in tasks.items())
    return f'<span class="{kind}" title="{ran}"><span class="n">{number}</span><span class="n">{told}</span>  {html.escape(line)}</span>'
