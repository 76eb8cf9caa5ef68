"""The vendor's efficiency formulas, applied to a predicted hardware time, and the number of calls of a report that meet them.

``io_efficiency = theory bytes / (time x bandwidth)`` and ``compute_efficiency = theory ops /
(time x compute force)``, as in the vendor's test framework; the larger one names the
bottleneck.  On a board with one visible cluster an MLU370 has 128 GB/s, as there.

The standard of the vendor's library requires an efficiency on the bottleneck side of 60 % for common shapes of
networks and 30 % for any other; a lower one has to be explained.  A design document may require other values, or
none, as declared by its operator.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import asdict, frozen

from mlusim.arch.board import Board
from mlusim.counted import counted, percent

if TYPE_CHECKING:
    from mlusim.report.record import CallRecord


@frozen
class Efficiency:
    """Hardware time in us, efficiencies as fractions, theory in operations and bytes.

    ``compute_force`` is in operations per second, ``io_bandwidth`` in GB/s, ``bottleneck`` is "io"
    or "compute".
    """

    hardware_time_us: float
    io_efficiency: float
    compute_efficiency: float
    theory_ops: int
    theory_ios: int
    compute_force: float
    io_bandwidth: float
    bottleneck: str


def efficiency(board: Board, dtype: str, theory_ops: int, theory_ios: int, time_us: float) -> Efficiency:
    """Return the efficiency of a call that takes *time_us* on *board*; *dtype* is that of its first input."""
    force = board.compute_force(dtype)
    bandwidth = board.io_bandwidth_gbs
    seconds = time_us / 1e6
    compute = theory_ops / (seconds * force) if seconds > 0 else 0.0
    io = theory_ios / (seconds * bandwidth * 1e9) if seconds > 0 else 0.0
    return Efficiency(
        hardware_time_us=time_us,
        io_efficiency=io,
        compute_efficiency=compute,
        theory_ops=theory_ops,
        theory_ios=theory_ios,
        compute_force=force,
        io_bandwidth=bandwidth,
        bottleneck="io" if io > compute else "compute",
    )


# -- acceptance ----------------------------------------------------------------------------------------

NETWORK = "network"
HIGH, LOW = 0.6, 0.3
CLASSES = (">=60%", ">=30%", "<30%")


@frozen
class Rule:
    """The least efficiency that the higher side must reach, as fractions: for network shapes, and for others.

    ``source`` names the document with the requirement.  If ``asked`` is false, the operator's document requires no
    efficiency: its calls are not judged, and the fractions are only those of the library's standard.
    """

    network: float = HIGH
    other: float = LOW
    source: str = "performance acceptance standard of the vendor's library"
    asked: bool = True

    @property
    def words(self) -> str:
        """The rule as a phrase."""
        if not self.asked:
            return "no efficiency is asked for"
        if self.network == self.other:
            return f"at least one efficiency of {percent(self.network)} or more"
        return (
            f"at least one efficiency of {percent(self.network)} or more on network shapes, "
            f"of {percent(self.other)} or more on others"
        )

    def shapes(self, group: str | None) -> str:
        """Return a phrase with the shapes to which the bar for a case of *group* applies."""
        if self.network == self.other:
            return "every shape"
        return "network shapes" if group == NETWORK else "shapes beside those of networks"


STANDARD = Rule()


@frozen
class Acceptance:
    """The verdict of the rule on a call.

    ``side`` is the bottleneck, "io" or "compute"; ``efficiency`` is that side's, as a fraction; ``bar`` is the
    required efficiency and ``shapes`` a phrase with the shapes that it applies to; ``grade`` is one of `CLASSES`. If
    nothing is ``asked``, every call is accepted, and the bar is that of the library's standard.
    """

    side: str
    efficiency: float
    bar: float
    grade: str
    accepted: bool
    shapes: str = ""
    asked: bool = True


def acceptance(efficiency: Efficiency, group: str | None, rule: Rule = STANDARD) -> Acceptance:
    """Judge *efficiency* by *rule*; *group* is the group of the case, None for the user's own arrays."""
    value = max(efficiency.io_efficiency, efficiency.compute_efficiency)
    bar = rule.network if group == NETWORK else rule.other
    grade = CLASSES[0] if value >= HIGH else CLASSES[1] if value >= LOW else CLASSES[2]
    accepted = value >= bar or not rule.asked
    return Acceptance(efficiency.bottleneck, value, bar, grade, accepted, rule.shapes(group), rule.asked)


# -- the calls of a report: a line for each operator and board -------------------------------------


@frozen
class OperatorSummary:
    """One operator on one board over all its cases.

    Times are summed; the efficiencies are those of all calls together (theory over time), or None if nothing was
    launched. ``nram`` is the largest share of NRAM; ``accepted`` is the number of calls that meet the operator's
    rule, among the ``judged`` ones: the timed ones, or none if its document requires nothing.
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
    """Return a sentence with the engines that ran the launches of *records*; "" if nothing was launched."""
    return launched_by(launch.engine for record in records for launch in record.launches)


def launched_by(names: Iterable[str]) -> str:
    """Return the sentence of `engines` for launches on the engines *names*."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    if len(counts) < 2:
        return "".join(f"Launched on the {name} engine." for name in counts)
    parts = ", ".join(
        f"{counted(many, 'launch', 'launches')} on the {name} engine" for name, many in sorted(counts.items())
    )
    return f"{parts}."


# -- the number of calls that meet their operators' rules, in figures and in words ---------------------


@frozen
class AcceptanceVerdict:
    """How many of the timed ``calls`` a rule judges (all or none), and how many of them meet it."""

    rule: Rule
    met: int
    judged: int
    calls: int

    @property
    def passed(self) -> bool:
        """True if every judged call meets the rule."""
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
    """Return a verdict for each rule of *records*, in their order; calls that were not timed are ignored."""
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


def headline(verdicts: list[AcceptanceVerdict]) -> str:
    """Return the verdicts as the first line of a report."""
    judging = [v for v in verdicts if v.rule.asked]
    if len(judging) < 2:
        return first_words(verdicts)
    parts = "; ".join(f"{v.met} of {v.judged}: {v.rule.words}" for v in judging)
    return f"{first_words(verdicts)} {parts}."


def first_words(verdicts: list[AcceptanceVerdict]) -> str:
    """Return the verdicts as one sentence, with the rule if all have the same one."""
    judging = [v for v in verdicts if v.rule.asked]
    met, judged = sum(v.met for v in judging), sum(v.judged for v in judging)
    free = sum(v.calls for v in verdicts) - judged
    if not verdicts:
        return "No call was timed, so there is no efficiency to judge."
    if not judging:
        return f"{counted(free, 'call')}, of which the design documents ask for no efficiency."
    rest = f"; of {free} more the design documents ask for no efficiency" if free else ""
    if len(judging) == 1:
        return f"{met} of {judged} calls meet the rule: {judging[0].rule.words}{rest}."
    return f"{met} of {judged} calls meet the rule of their operator{rest}."
