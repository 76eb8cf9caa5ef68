"""`CallRecord`: one call of an operator as plain data for tables and pages; and as files: JSON, CSV, and Markdown like the vendor's pull-request table."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import asdict, evolve, field, frozen

from mlusim.counted import error, share, size
from mlusim.document import markdown_table, plain
from mlusim.errors import UsageError
from mlusim.files.reading import typed
from mlusim.machine.tally import Usage
from mlusim.memory.space import DIRECTIONS
from mlusim.plan.layout import Layout
from mlusim.report.advice import Advice
from mlusim.report.efficiency import STANDARD, Efficiency, Rule, engines, headline, verdicts
from mlusim.report.explain import WHY, Explanation, below_the_bar, explained
from mlusim.report.figures import Achieved, Figures
from mlusim.report.page.excerpt import Excerpt
from mlusim.time.confidence import Unsure
from mlusim.time.lines import Line
from mlusim.time.timing import PIPES, TaskSpan

FAULTED = "MLUOP_STATUS_EXECUTION_FAILED"
"""The status of a call that ended in a fault of the simulated machine."""

NO_COPY = "atomics, fills"
"""The name in tables for off-chip bytes that were not moved by copies."""

FINDING_KEYS = ("id", "message", "file", "line", "task", "hint")


@frozen
class Argument:
    """An array argument of a call: its name, its dtype, its shape in elements."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name} {self.dtype}{list(self.shape)}"


@frozen
class LaunchRecord:
    """One launch: times in us, the pipe that sets the time, each pipe's busiest core, the tasks' spans.

    ``time_band`` is the lowest and the highest time that the constants of the model allow, ``engine`` the engine that
    ran it. ``advice`` is computed for the most expensive launch of a call.
    """

    kernel: str
    dim: tuple[int, int, int]
    kind: str
    time_us: float
    bound: str
    busy_us: Mapping[str, float]
    io_bytes: int = 0
    spans: tuple[TaskSpan, ...] = ()
    figures: Figures | None = None
    lines: tuple[Line, ...] = ()
    excerpt: Excerpt | None = None
    time_band: tuple[float, float] | None = None
    engine: str = "python"
    advice: tuple[Advice, ...] = ()
    achieved: tuple[Achieved, ...] = ()
    unsure: tuple[Unsure, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return everything except the spans and the excerpt."""
        return {
            "kernel": self.kernel,
            "dim": self.dim,
            "kind": self.kind,
            "engine": self.engine,
            "time_us": self.time_us,
            "time_band": self.time_band,
            "unsure": [part.to_json() for part in self.unsure],
            "bound": self.bound,
            "busy_us": self.busy_us,
            "io_bytes": self.io_bytes,
            "figures": asdict(self.figures) if self.figures is not None else None,
            "advice": [part.to_json() for part in self.advice],
            "achieved": [part.to_json() for part in self.achieved],
            "lines": [asdict(line) for line in self.lines],
        }


@frozen
class CallRecord:
    """One call.

    ``accuracy`` maps each judged output to its errors and verdict, ``traffic`` directions to bytes,
    ``instructions`` intrinsics to counts, ``memory`` on-chip memories to bytes; ``workspace`` is in bytes.
    ``fault`` has the facts of a fault, ``message`` the sentence of a refusal or a fault.  ``policy`` is
    the requested one, if any; ``group`` is the case's; ``rule`` is the required efficiency.
    """

    operator: str
    case: str | None
    board: str
    status: str
    expected: str
    passed: bool
    message: str = ""
    inputs: tuple[Argument, ...] = ()
    params: Mapping[str, Any] = field(factory=dict)
    accuracy: Mapping[str, Mapping[str, Any]] = field(factory=dict)
    efficiency: Efficiency | None = None
    traffic: Mapping[str, int] = field(factory=dict)
    instructions: Mapping[str, int] = field(factory=dict)
    memory: Mapping[str, Usage] = field(factory=dict)
    workspace: int = 0
    launches: tuple[LaunchRecord, ...] = ()
    findings: tuple[Mapping[str, Any], ...] = ()
    fault: Mapping[str, Any] | None = None
    layouts: tuple[Layout, ...] = ()
    policy: str | None = None
    group: str | None = None
    rule: Rule = STANDARD

    @property
    def title(self) -> str:
        """The case and the requested policy."""
        return f"{self.case or 'own arrays'}{'' if self.policy is None else f', {self.policy}'}"

    @property
    def complaints(self) -> int:
        """The number of findings that are not notes."""
        return sum(finding.get("level") != "note" for finding in self.findings)

    @property
    def clean(self) -> bool:
        """True if the call gave the expected result and checkers have only notes."""
        return self.passed and self.complaints == 0

    @property
    def time_band(self) -> tuple[float, float] | None:
        """The lowest and the highest hardware time in us that the model's constants allow; None if unknown."""
        bands = [launch.time_band for launch in self.launches]
        # The band of only some launches would look like that of the call.
        measured = [band for band in bands if band is not None]
        if not measured or len(measured) < len(bands):
            return None
        return sum(low for low, _ in measured), sum(high for _, high in measured)

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that ran its launches, each once."""
        return tuple(dict.fromkeys(launch.engine for launch in self.launches))

    @property
    def advice(self) -> tuple[Advice, ...]:
        """The advice for its most expensive launch, the largest gain first."""
        return next((launch.advice for launch in self.launches if launch.advice), ())

    @property
    def io_bytes(self) -> int:
        """The bytes that were actually moved between the off-chip memory and the chip."""
        return sum([launch.io_bytes for launch in self.launches])

    @property
    def off_chip(self) -> dict[str, int]:
        """`io_bytes` by origin: the copy directions with an off-chip side, then the rest."""
        copies = {name: n for name, n in self.traffic.items() if "GDRAM" in name or "LDRAM" in name}
        # Atomics and fills are not copies, and have no direction.
        rest = self.io_bytes - sum(copies.values())
        return copies | {NO_COPY: rest} if rest > 0 else copies

    @property
    def moved(self) -> dict[str, int]:
        """Bytes by copy direction, including on-chip ones, and bytes that were not moved by copies."""
        return {**self.traffic, **self.off_chip}

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``run --json``."""
        return {
            "operator": self.operator,
            "case": self.case,
            "group": self.group,
            "rule": asdict(self.rule),
            "board": self.board,
            "policy": self.policy,
            "status": self.status,
            "expected": self.expected,
            "passed": self.passed,
            "message": self.message,
            "inputs": {a.name: {"dtype": a.dtype, "shape": a.shape} for a in self.inputs},
            "params": self.params,
            "accuracy": self.accuracy,
            "efficiency": asdict(self.efficiency) if self.efficiency is not None else None,
            "traffic": self.traffic,
            "io_bytes": self.io_bytes,
            "instructions": self.instructions,
            "memory": {space: asdict(usage) for space, usage in self.memory.items()},
            "workspace": self.workspace,
            "launches": [launch.to_json() for launch in self.launches],
            "findings": self.findings,
            "fault": self.fault,
            "explanation": explained(self).to_json(),
        }


# -- parsing records from JSON, by the types that their classes declare --------------------------------

NOT_STORED = frozenset(
    {"layouts", "spans", "excerpt", "advice", "achieved", "critical", "critical_busy", "waits_at"}
)
SPACES = ("NRAM", "WRAM", "SRAM")


@frozen
class _Errors:
    """The accuracy of one output, which is a plain object in records."""

    diff1: float
    diff2: float
    diff3: float
    diff3_2: float
    diff4: float | None
    passed: bool
    worst_index: tuple[int, ...] | None
    note: str


@frozen
class _Fault:
    """The facts of a fault that every reader needs."""

    type: str
    message: str


def restored(document: Any, where: str) -> CallRecord:
    """Return the record whose ``to_json`` is *document*.

    It lacks what documents do not contain: spans of tasks, NRAM plans, and in older files the advice.
    Raises `UsageError`, which begins with *where*, if *document* is not a record.
    """
    try:
        inputs = [{"name": name, **facts} for name, facts in document["inputs"].items()]
        record: CallRecord = typed(CallRecord, dict(document) | {"inputs": inputs}, "the record", NOT_STORED)
        _refuse_lack(record.memory, SPACES, "the record.memory")
        if record.fault is not None:
            typed(_Fault, record.fault, "the record.fault")
        for finding in record.findings:
            _refuse_lack(finding, (*FINDING_KEYS, "level"), "the record.findings")
            for key in ("message", "level"):
                typed(str, finding[key], f"the record.findings.{key}")
        return evolve(
            record, accuracy={name: _errors(name, facts) for name, facts in record.accuracy.items()}
        )
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        said = str(error) if isinstance(error, TypeError) else f"{type(error).__name__}: {error}"
        raise UsageError(f"{where} holds no record of mlusim ({said})") from None


def _errors(name: str, accuracy: Mapping[str, Any]) -> dict[str, Any]:
    typed_value = typed(_Errors, accuracy, f"the record.accuracy.{name}")
    return {key: getattr(typed_value, key) for key in accuracy}


def _refuse_lack(there: Mapping[str, Any], wanted: Iterable[str], where: str) -> None:
    missing = next((key for key in wanted if key not in there), None)
    if missing is not None:
        raise TypeError(f"{where} lacks {missing!r}")


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
    """Return one line per call; each occurring copy direction has a column for its bytes."""
    directions = [d.name for d in DIRECTIONS if any(d.name in record.traffic for record in records)]
    rows = [_csv_row(record, directions) for record in records]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else ["operator"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _csv_row(record: CallRecord, directions: Sequence[str]) -> dict[str, Any]:
    efficiency = record.efficiency
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
        row[name] = "" if efficiency is None else plain(getattr(efficiency, name))
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
    """Return the explanation of a call, one column each; "" for a call that launched nothing."""
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
    """Return the vendor's performance table for each board, the table of accuracy, and the reasons for calls below the bar."""
    parts = [f"**{headline(verdicts(records))}**"]
    for board in boards_of(records):
        of_board = [record for record in records if record.board == board]
        parts += [f"### {board}", markdown_table(COLUMNS, (_performance(record) for record in of_board))]
        slow = [f"- {r.operator} {r.title}: {explained(r).sentence}" for r in of_board if below_the_bar(r)]
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
    efficiency = record.efficiency
    times = ["-", "-", "-", "-"]
    if efficiency is not None:
        times = [
            f"{efficiency.hardware_time_us:.1f}",
            "-",
            f"{efficiency.io_efficiency:.4f}",
            f"{efficiency.compute_efficiency:.4f}",
        ]
    dtype = record.inputs[0].dtype if record.inputs else "-"
    shapes = "; ".join(f"{a.name} {list(a.shape)}" for a in record.inputs)
    operator = record.operator if record.policy is None else f"{record.operator}, {record.policy}"
    return [operator, *times, str(record.workspace), dtype, shapes or record.message or "-"]


def _accuracy(record: CallRecord, output: str) -> list[str]:
    measured = record.accuracy[output]
    errors = [error(plain(measured[name])) for name in ("diff1", "diff2", "diff3")]
    return [
        record.operator,
        record.title,
        record.board,
        output,
        *errors,
        "yes" if measured["passed"] else "**no**",
    ]


def _work(record: CallRecord) -> list[str]:
    efficiency = record.efficiency
    nram = record.memory["NRAM"]
    return [
        record.operator,
        record.title,
        record.board,
        "-" if efficiency is None else f"{efficiency.theory_ops:,}",
        "-" if efficiency is None else f"{efficiency.theory_ios:,}",
        "; ".join(f"{name} {nbytes:,}" for name, nbytes in record.moved.items()) or "-",
        f"{sum(record.instructions.values()):,}",
        f"{size(nram.high_water)}, {share(nram.high_water / nram.capacity)}",
    ]


def _explanation(record: CallRecord) -> list[str]:
    why = explained(record)
    grade = "-" if why.acceptance is None else why.acceptance.grade
    return [record.operator, record.title, record.board, grade, *(figure.words(why) for figure in WHY)]
