"""Records out of the JSON that they were written to, by the types that their classes declare."""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve, frozen

from mlusim.errors import UsageError
from mlusim.files.typed import typed
from mlusim.report.record import FINDING_KEYS, CallRecord

NOT_STORED = frozenset(
    {"layouts", "spans", "excerpt", "advice", "achieved", "critical", "critical_busy", "waits_at"}
)
SPACES = ("NRAM", "WRAM", "SRAM")


@frozen
class _Errors:
    """The accuracy of one output, which records hold as a plain object."""

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

    It lacks what a document does not hold: spans of tasks, NRAM plans, and in older files the advice.
    Raises `UsageError`, which begins with *where*, for anything else.
    """
    try:
        inputs = [{"name": name, **one} for name, one in document["inputs"].items()]
        record: CallRecord = typed(CallRecord, dict(document) | {"inputs": inputs}, "the record", NOT_STORED)
        _refuse_lack(record.memory, SPACES, "the record.memory")
        if record.fault is not None:
            typed(_Fault, record.fault, "the record.fault")
        for finding in record.findings:
            _check_finding(finding)
        return evolve(record, accuracy={name: _errors(name, one) for name, one in record.accuracy.items()})
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        said = str(error) if isinstance(error, TypeError) else f"{type(error).__name__}: {error}"
        raise UsageError(f"{where} holds no record of mlusim ({said})") from None


def _errors(name: str, accuracy: Mapping[str, Any]) -> dict[str, Any]:
    found = typed(_Errors, accuracy, f"the record.accuracy.{name}")
    return {key: getattr(found, key) for key in accuracy}


def _refuse_lack(there: Mapping[str, Any], wanted: Iterable[str], where: str) -> None:
    missing = next((key for key in wanted if key not in there), None)
    if missing is not None:
        raise TypeError(f"{where} lacks {missing!r}")


def _check_finding(finding: Mapping[str, Any]) -> None:
    _refuse_lack(finding, (*FINDING_KEYS, "level"), "the record.findings")
    for key in ("message", "level"):
        typed(str, finding[key], f"the record.findings.{key}")
