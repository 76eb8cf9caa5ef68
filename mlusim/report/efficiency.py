"""The vendor's efficiency formulas, applied to a predicted hardware time.

``io_efficiency = theory bytes / (time x bandwidth)`` and ``compute_efficiency = theory ops /
(time x compute force)``, as the vendor's test framework computes them; the larger one names the
bottleneck.  On a board with one cluster visible an MLU370 is given 128 GB/s, as there.
"""

from attrs import frozen

from mlusim.arch.board import Board


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
