"""Records as files: JSON, CSV, and Markdown in the shape of the vendor's pull-request table."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from mlusim.counted import error, share, size
from mlusim.document import markdown_table
from mlusim.memory.space import DIRECTIONS
from mlusim.report.efficiency import engines, headline, verdicts
from mlusim.report.explain import WHY, Explanation, below_the_bar, explained
from mlusim.report.json_values import plain
from mlusim.report.record import CallRecord
from mlusim.time.timing import PIPES

SPACES = ("NRAM", "WRAM", "SRAM")
EXPLAINED = ("overlap", "balance", "slowest", "working", "cores", "waves", "last_wave")


def document(records: Sequence[CallRecord], version: str) -> dict[str, Any]:
    """Return the document of ``report --json``; *version* is mlusim's."""
    return {
        "mlusim": version,
        "boards": boards_of(records),
        "engines": sorted({engine for record in records for engine in record.engines}),
        "passed": all(record.clean for record in records),
        "verdicts": [verdict.to_json() for verdict in verdicts(records)],
        "runs": [record.to_json() for record in records],
    }


def boards_of(records: Iterable[CallRecord]) -> list[str]:
    """Return the boards of *records*, in their order."""
    return list(dict.fromkeys(record.board for record in records))


# -- CSV -------------------------------------------------------------------------------------------


def csv_text(records: Sequence[CallRecord]) -> str:
    """Return one line a call; bytes by direction have a column each, for the directions that occur."""
    directions = [d.name for d in DIRECTIONS if any(d.name in record.traffic for record in records)]
    rows = [_csv_row(record, directions) for record in records]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else ["operator"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _csv_row(record: CallRecord, directions: Sequence[str]) -> dict[str, Any]:
    found = record.efficiency
    row: dict[str, Any] = {
        "operator": record.operator,
        "case": record.case or "",
        "board": record.board,
        "policy": record.policy or "",
        "engine": "; ".join(record.engines),
        "dtype": record.inputs[0].dtype if record.inputs else "",
        "shape": "; ".join(map(str, record.inputs)),
        "status": record.status,
        "passed": record.passed,
        "findings": len(record.findings),
        "message": record.message,
    }
    for name in (
        "hardware_time_us",
        "io_efficiency",
        "compute_efficiency",
        "bottleneck",
        "theory_ops",
        "theory_ios",
    ):
        row[name] = "" if found is None else plain(getattr(found, name))
    for name in ("diff1", "diff2", "diff3"):
        row[name] = plain(max((float(a[name]) for a in record.accuracy.values()), default=""))
    row |= {f"bytes_{name}": record.traffic.get(name, 0) for name in directions}
    row["io_bytes"] = record.io_bytes
    row["instructions"] = sum(record.instructions.values())
    row |= _csv_explanation(explained(record))
    for space in SPACES:
        row[f"{space.lower()}_high_water"] = record.memory[space].high_water
        row[f"{space.lower()}_capacity"] = record.memory[space].capacity
    return row


def _csv_explanation(why: Explanation) -> dict[str, Any]:
    """Return the explanation of a call, a column each; empty where it launched nothing."""
    judged = why.acceptance
    row: dict[str, Any] = {
        "class": "" if judged is None else judged.grade,
        "accepted": "" if judged is None or not judged.asked else judged.accepted,
        "moved_of_theory": why.of_theory,
        "lane_padding": why.padding,
    }
    row |= {f"busy_{pipe}": (why.busy or {}).get(pipe) for pipe in PIPES}
    row |= {name: getattr(why, name) for name in EXPLAINED}
    return {name: "" if value is None else plain(value) for name, value in row.items()} | {
        "explanation": why.sentence
    }


# -- Markdown --------------------------------------------------------------------------------------

BELOW = "Below what the design document or the library's standard asks, and why:"

COLUMNS = (
    "operator",
    "mlu_hardware_time (us)",
    "mlu_interface_time (us)",
    "mlu_io_efficiency",
    "mlu_compute_efficiency",
    "mlu_workspace_size (Bytes)",
    "data_type",
    "shape",
)


def markdown_text(records: Sequence[CallRecord], version: str) -> str:
    """Return the vendor's performance table for each board, the table of accuracy, and why calls are below the bar."""
    parts = [f"**{headline(verdicts(records))}**"]
    for board in boards_of(records):
        own = [record for record in records if record.board == board]
        parts += [f"### {board}", markdown_table(COLUMNS, (_performance(record) for record in own))]
        slow = [f"- {_name(r)}: {explained(r).sentence}" for r in own if below_the_bar(r)]
        if slow:
            parts += [BELOW, "\n".join(slow)]
    judged = [(record, name) for record in records for name in record.accuracy]
    if judged:
        heads = ("operator", "case", "board", "output", "diff1", "diff2", "diff3", "passed")
        parts += ["### Accuracy", markdown_table(heads, (_accuracy(record, name) for record, name in judged))]
    moved = ("operator", "case", "board", "theory ops", "theory IO", "bytes moved", "instructions", "NRAM")
    parts += ["### Work", markdown_table(moved, map(_work, records))]
    whys = ("operator", "case", "board", "class", *(figure.markdown for figure in WHY))
    parts += ["### What explains it", markdown_table(whys, map(_explanation, records))]
    parts.append(
        f"Times are predicted by mlusim {version} without a card; the interface time, which is the "
        f"host's, is not predicted.  {engines(records)}".rstrip()
    )
    return "\n\n".join(parts) + "\n"


def _performance(record: CallRecord) -> list[str]:
    found = record.efficiency
    times = ["-", "-", "-", "-"]
    if found is not None:
        times = [
            f"{found.hardware_time_us:.1f}",
            "-",
            f"{found.io_efficiency:.4f}",
            f"{found.compute_efficiency:.4f}",
        ]
    dtype = record.inputs[0].dtype if record.inputs else "-"
    shapes = "; ".join(f"{a.name} {list(a.shape)}" for a in record.inputs)
    operator = record.operator if record.policy is None else f"{record.operator}, {record.policy}"
    return [operator, *times, str(record.workspace), dtype, shapes or record.message or "-"]


def _accuracy(record: CallRecord, output: str) -> list[str]:
    found = record.accuracy[output]
    errors = [error(plain(found[name])) for name in ("diff1", "diff2", "diff3")]
    return [
        record.operator,
        record.title,
        record.board,
        output,
        *errors,
        "yes" if found["passed"] else "**no**",
    ]


def _work(record: CallRecord) -> list[str]:
    found = record.efficiency
    nram = record.memory["NRAM"]
    return [
        record.operator,
        record.title,
        record.board,
        "-" if found is None else f"{found.theory_ops:,}",
        "-" if found is None else f"{found.theory_ios:,}",
        "; ".join(f"{name} {nbytes:,}" for name, nbytes in record.moved.items()) or "-",
        f"{sum(record.instructions.values()):,}",
        f"{size(nram.high_water)}, {share(nram.high_water / nram.capacity)}",
    ]


def _explanation(record: CallRecord) -> list[str]:
    why = explained(record)
    grade = "-" if why.acceptance is None else why.acceptance.grade
    return [record.operator, record.title, record.board, grade, *(figure.words(why) for figure in WHY)]


def _name(record: CallRecord) -> str:
    return f"{record.operator} {record.title}"
