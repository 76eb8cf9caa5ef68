"""How many calls of a report meet the rules of their operators, in figures and in words."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from attrs import asdict, frozen

from mlusim.counted import counted
from mlusim.report.acceptance import Rule, acceptance

if TYPE_CHECKING:
    from mlusim.report.record import CallRecord


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
