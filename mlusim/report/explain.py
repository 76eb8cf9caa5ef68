"""Why a call is as efficient as it is: sentences from the quantities of its record."""

from collections.abc import Iterator

from mlusim.machine.timing import LAUNCH_US
from mlusim.report.record import LaunchRecord, Record
from mlusim.report.words import share, size

GOOD_IO, GOOD_COMPUTE = 0.6, 0.3  # below both, the vendor's reviewers ask for an explanation


def below_the_bar(record: Record) -> bool:
    """Whether the vendor's reviewers would ask why: IO below 60 % and compute below 30 %."""
    found = record.efficiency
    return found is not None and found.io_efficiency < GOOD_IO and found.compute_efficiency < GOOD_COMPUTE


def reasons(record: Record) -> list[str]:
    """What keeps the call from its peak, or lifts it above, the weightiest first."""
    if record.efficiency is None:
        return [] if record.fault is not None else ["nothing was launched"]
    return list(_reasons(record))


def _reasons(record: Record) -> Iterator[str]:
    found = record.efficiency
    assert found is not None
    time_us, moved = found.hardware_time_us, record.io_bytes
    overhead = LAUNCH_US * len(record.launches) / time_us if time_us > 0 else 0.0
    if overhead > 0.2:
        launches = "one launch is" if len(record.launches) == 1 else f"{len(record.launches)} launches are"
        yield f"starting {launches} {share(min(overhead, 1.0))} of the time"
        if overhead > 0.9:
            return
    if found.theory_ios and moved > 1.1 * found.theory_ios:
        yield f"it moves {size(moved)}, {moved / found.theory_ios:.1f} times the theory bytes"
    elif found.theory_ios and moved < 0.9 * found.theory_ios:
        yield f"it moves {size(moved)}, less than the {size(found.theory_ios)} that the theory counts"
    main = max(record.launches, key=lambda launch: launch.time_us)
    yield from _balance(main)
    if main.bound != "IO-DMA":
        yield f"the {main.bound} pipe of the busiest core sets the time, not the bandwidth"


def _balance(launch: LaunchRecord) -> Iterator[str]:
    """How evenly the cores are loaded."""
    loads = [max(span.busy_us) for span in launch.spans if not span.memory_core]
    working = [load for load in loads if load > 0]
    if not working:
        return
    if len(working) < len(loads):
        yield f"{len(working)} of {len(loads)} tasks have work"
    uneven = max(working) * len(working) / sum(working)
    if uneven > 1.25:
        yield f"the busiest task works {uneven:.1f} times as long as the mean"
