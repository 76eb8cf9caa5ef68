"""The vendor's efficiency formulas, applied to a predicted hardware time, and the acceptance of what they give.

``io_efficiency = theory bytes / (time x bandwidth)`` and ``compute_efficiency = theory ops /
(time x compute force)``, as the vendor's test framework computes them; the larger one names the
bottleneck.  On a board with one cluster visible an MLU370 is given 128 GB/s, as there.

By the standard of the vendor's library the efficiency of the bottleneck side is to reach 60 % on the common shapes of
networks and 30 % on any other; what does not has to be explained.  A design document may ask for something else, or for
nothing, which its operator then declares.
"""

from attrs import frozen

from mlusim.arch.board import Board
from mlusim.report.quantities import percent


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
