"""Calls that ran by several policies, side by side."""

from collections.abc import Mapping, Sequence

from attrs import frozen

from mlusim.report.record import CallRecord


@frozen
class PolicyRow:
    """One call: hardware time in us and bytes of NRAM by policy, the quickest, and the slowest time over its time."""

    operator: str
    case: str
    board: str
    times: Mapping[str, float]
    memory: Mapping[str, int]
    best: str
    gain: float | None


@frozen
class Policies:
    """The calls that ran by several policies, and the names of these."""

    names: tuple[str, ...]
    rows: tuple[PolicyRow, ...]


def side_by_side(records: Sequence[CallRecord]) -> Policies | None:
    """Return the calls of *records* by policy; None where no call ran by more than one."""
    calls: dict[tuple[str, str, str], list[CallRecord]] = {}
    for record in records:
        calls.setdefault((record.operator, record.case or "own arrays", record.board), []).append(record)
    rows = [_row(*key, own) for key, own in calls.items() if len({r.policy for r in own}) > 1]
    names = tuple(dict.fromkeys(name for row in rows for name in row.memory))
    return Policies(names, tuple(rows)) if rows else None


def _row(operator: str, case: str, board: str, own: Sequence[CallRecord]) -> PolicyRow:
    named = {record.policy or "usual": record for record in own}
    found = {name: record.efficiency for name, record in named.items()}
    times = {name: one.hardware_time_us for name, one in found.items() if one is not None}
    memory = {name: record.memory["NRAM"].high_water for name, record in named.items()}
    best = min(times, key=lambda name: times[name]) if times else "-"
    gain = max(times.values()) / times[best] if len(times) > 1 and times[best] else None
    return PolicyRow(operator, case, board, times, memory, best, gain)
