"""The vendor's acceptance rule for the efficiency of an operator.

The efficiency of the bottleneck side, which is the larger of the two, is to reach 60 % on the common
shapes of networks and 30 % on any other; what does not has to be explained.
"""

from attrs import frozen

from mlusim.report.efficiency import Efficiency

NETWORK = "network"
NETWORK_BAR, OTHER_BAR = 0.6, 0.3
CLASSES = (">=60%", ">=30%", "<30%")


@frozen
class Acceptance:
    """What the rule says of a call.

    ``side`` is the bottleneck, "io" or "compute", ``efficiency`` that of this side as a fraction, ``bar``
    what the case has to reach, ``grade`` one of `CLASSES`.
    """

    side: str
    efficiency: float
    bar: float
    grade: str
    accepted: bool


def acceptance(found: Efficiency, group: str | None) -> Acceptance:
    """Judge *found*; *group* is that of the case, None for arrays of one's own."""
    value = max(found.io_efficiency, found.compute_efficiency)
    bar = NETWORK_BAR if group == NETWORK else OTHER_BAR
    grade = CLASSES[0] if value >= NETWORK_BAR else CLASSES[1] if value >= OTHER_BAR else CLASSES[2]
    return Acceptance(found.bottleneck, value, bar, grade, value >= bar)
