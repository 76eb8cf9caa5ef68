"""Acceptance of an operator's efficiency: the rule that it declares, and its verdict on a call.

By the standard of the vendor's library the efficiency of the bottleneck side, which is the larger of the two, is to
reach 60 % on the common shapes of networks and 30 % on any other; what does not has to be explained.  A design
document may ask for something else, or for nothing, which its operator then declares.
"""

from attrs import frozen

from mlusim.report.efficiency import Efficiency
from mlusim.report.quantities import percent

NETWORK = "network"
HIGH, LOW = 0.6, 0.3
CLASSES = (">=60%", ">=30%", "<30%")


@frozen
class Rule:
    """The least that one of the two efficiencies has to reach, as fractions: on shapes of networks, and on others.

    ``source`` is where that is asked.  Where not ``asked`` the operator's document asks for no efficiency: its calls are
    not judged, and the fractions are only what the library's standard would ask.
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
        """Return which shapes the bar of a case of *group* is for."""
        if self.network == self.other:
            return "every shape"
        return "network shapes" if group == NETWORK else "shapes beside those of networks"


STANDARD = Rule()


@frozen
class Acceptance:
    """The verdict of the rule on a call.

    ``side`` is the bottleneck, "io" or "compute", ``efficiency`` that of this side as a fraction, ``bar``
    what the case has to reach and ``shapes`` which shapes have to, ``grade`` one of `CLASSES`.  Where nothing is
    ``asked`` every call is accepted, and the bar is the library's standard for all operators.
    """

    side: str
    efficiency: float
    bar: float
    grade: str
    accepted: bool
    shapes: str = ""
    asked: bool = True


def acceptance(found: Efficiency, group: str | None, rule: Rule = STANDARD) -> Acceptance:
    """Judge *found* by *rule*; *group* is that of the case, None for arrays of one's own."""
    value = max(found.io_efficiency, found.compute_efficiency)
    bar = rule.network if group == NETWORK else rule.other
    grade = CLASSES[0] if value >= HIGH else CLASSES[1] if value >= LOW else CLASSES[2]
    accepted = value >= bar or not rule.asked
    return Acceptance(found.bottleneck, value, bar, grade, accepted, rule.shapes(group), rule.asked)
