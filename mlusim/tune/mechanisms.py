"""The parts of a launch's time, by mechanism, and which of them a change has moved."""

from collections.abc import Mapping, Sequence
from typing import Any

from mlusim.arch.catalog import find_board
from mlusim.counted import counted
from mlusim.machine.launch import Launch
from mlusim.time.timing import PIPES, launch_us

LAUNCH, BARRIERS, MEMORY, BALANCE = "launch", "waits at barriers", "waits for memory", "balance"
MECHANISMS = (*PIPES, BARRIERS, MEMORY, BALANCE, LAUNCH)
MOST = 3  # that a sentence names
LEAST = 0.01  # of the time, below which a difference is not worth a word


def mechanisms(launches: Sequence[Launch]) -> dict[str, float]:
    """Return the time of *launches* in us by mechanism, and under ``cores`` how many cores of a launch work at most.

    A pipe's is how long it is busy, in the mean of the cores that work; ``waits at barriers`` how long they wait there for others,
    ``waits for memory`` by how much their tasks are longer for sharing the off-chip memory, ``balance`` for how long a core has no
    task, ``launch`` the start of the launches.  Pipes work side by side, so that the sum is no time.
    """
    found = dict.fromkeys(("cores", *MECHANISMS), 0.0)
    for launch in launches:
        start, spent = launch_us(find_board(launch.board)), launch.profile
        working = max(1, len(spent.cores))
        found[LAUNCH] += start
        for pipe, us in spent.busy_us.items():
            found[pipe] += us / working
        found[BARRIERS] += spent.core_wait_us / working
        found[MEMORY] += spent.memory_wait_us / working
        found[BALANCE] += max(0.0, launch.time_us - start - spent.elapsed_us / working)
        found["cores"] = max(found["cores"], sum(not core.memory_core for core in spent.cores))
    return found


def moved(own: Mapping[str, Any], best: Mapping[str, Any], time_us: float) -> str:
    """Say in which mechanisms *own* differs from *best*, which takes *time_us*, the largest difference first; how many cores work."""
    words = differences(own, best, time_us)[:MOST]
    cores = round(own["cores"])
    if cores != round(best["cores"]):
        words.append(f"{counted(cores, 'core works', 'cores work')}, not {best['cores']:.0f}")
    return ", ".join(words) or "the same in every mechanism"


def differences(own: Mapping[str, Any], best: Mapping[str, Any], time_us: float) -> list[str]:
    """Return each mechanism in which *own* differs from *best*, which takes *time_us*, by enough for a word; the largest first."""
    apart = {name: own[name] - best[name] for name in MECHANISMS}
    chief = sorted((n for n in apart if abs(apart[n]) > LEAST * time_us), key=lambda n: -abs(apart[n]))
    return [f"{name} {apart[name]:+,.2f} us" for name in chief]
