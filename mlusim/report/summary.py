"""The calls of a report summed up: a line for each operator and board, and how many calls meet the rules of their operators."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import asdict, frozen

from mlusim.counted import counted
from mlusim.report.efficiency import Rule, acceptance

if TYPE_CHECKING:
    from mlusim.report.record import CallRecord


@frozen
class OperatorSummary:
    """One operator on one board over all its cases.

    Times are added; the efficiencies are those of all calls together, that is theory over time; None
    where nothing was launched.  ``nram`` is the largest share of the NRAM, ``accepted`` the number of calls
    that meet the operator's rule, of the ``judged`` ones: those that were timed, none where its document asks for nothing.
    """

    operator: str
    board: str
    cases: int
    clean: int
    time_us: float
    io_efficiency: float | None
    compute_efficiency: float | None
    bottleneck: str
    nram: float
    judged: int
    accepted: int


def summaries(records: "Sequence[CallRecord]") -> list[OperatorSummary]:
    """Return a summary for each operator and board, in the order of *records*."""
    groups: dict[tuple[str, str], list[CallRecord]] = {}
    for record in records:
        groups.setdefault((record.operator, record.board), []).append(record)
    return [_summary(operator, board, calls) for (operator, board), calls in groups.items()]


def _summary(operator: str, board: str, calls: "Sequence[CallRecord]") -> OperatorSummary:
    timed = [
        (r.efficiency, r) for r in calls if r.efficiency is not None and r.efficiency.hardware_time_us > 0
    ]
    judged = [(found, record) for found, record in timed if record.rule.asked]
    seconds = sum(e.hardware_time_us for e, _ in timed) / 1e6
    io = sum(e.theory_ios / (e.io_bandwidth * 1e9) for e, _ in timed) / seconds if timed else None
    compute = sum(e.theory_ops / e.compute_force for e, _ in timed) / seconds if timed else None
    return OperatorSummary(
        operator=operator,
        board=board,
        cases=len(calls),
        clean=sum(record.clean for record in calls),
        time_us=1e6 * seconds,
        io_efficiency=io,
        compute_efficiency=compute,
        bottleneck="-" if io is None or compute is None else "io" if io > compute else "compute",
        nram=max((r.memory["NRAM"].high_water / r.memory["NRAM"].capacity for r in calls), default=0.0),
        judged=len(judged),
        accepted=sum(acceptance(found, record.group, record.rule).accepted for found, record in judged),
    )


def engines(records: "Sequence[CallRecord]") -> str:
    """Return which engine ran the launches of *records*, as a sentence; empty where nothing was launched."""
    counts: dict[str, int] = {}
    for record in records:
        for launch in record.launches:
            counts[launch.engine] = counts.get(launch.engine, 0) + 1
    if len(counts) < 2:
        return "".join(f"Launched on the {name} engine." for name in counts)
    parts = ", ".join(
        f"{counted(many, 'launch', 'launches')} on the {name} engine" for name, many in sorted(counts.items())
    )
    return f"{parts}."


# -- how many calls meet the rules of their operators, in figures and in words -------------------------


@frozen
class AcceptanceVerdict:
    """How many of the timed ``calls`` a rule judges, all or none of them, and how many meet it."""

    rule: Rule
    met: int
    judged: int
    calls: int

    @property
    def passed(self) -> bool:
        """True where every call meets the rule."""
        return self.met == self.judged

    def to_json(self) -> dict[str, Any]:
        """Return the counts, and the rule with its phrase."""
        return {
            "met": self.met,
            "judged": self.judged,
            "calls": self.calls,
            "rule": asdict(self.rule) | {"words": self.rule.words},
        }


def verdicts(records: "Iterable[CallRecord]") -> list[AcceptanceVerdict]:
    """Return a verdict for each rule of *records*, in their order; calls that were not timed count nowhere."""
    found: dict[Rule, list[bool]] = {}
    for record in records:
        if record.efficiency is not None and record.efficiency.hardware_time_us > 0:
            judged = acceptance(record.efficiency, record.group, record.rule)
            found.setdefault(record.rule, []).append(judged.accepted)
    return [
        AcceptanceVerdict(rule, sum(calls), len(calls), len(calls))
        if rule.asked
        else AcceptanceVerdict(rule, 0, 0, len(calls))
        for rule, calls in found.items()
    ]


def headline(found: list[AcceptanceVerdict]) -> str:
    """Return the verdicts as the first line of a report."""
    judging = [v for v in found if v.rule.asked]
    if len(judging) < 2:
        return first_words(found)
    parts = "; ".join(f"{v.met} of {v.judged}: {v.rule.words}" for v in judging)
    return f"{first_words(found)} {parts}."


def first_words(found: list[AcceptanceVerdict]) -> str:
    """Return the verdicts as one sentence, with the rule where it is one for all."""
    judging = [v for v in found if v.rule.asked]
    met, judged = sum(v.met for v in judging), sum(v.judged for v in judging)
    free = sum(v.calls for v in found) - judged
    if not found:
        return "No call was timed, so there is no efficiency to judge."
    if not judging:
        return f"{counted(free, 'call')}, of which the design documents ask for no efficiency."
    rest = f"; of {free} more the design documents ask for no efficiency" if free else ""
    if len(judging) == 1:
        return f"{met} of {judged} calls meet the rule: {judging[0].rule.words}{rest}."
    return f"{met} of {judged} calls meet the rule of their operator{rest}."
