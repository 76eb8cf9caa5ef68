"""Counters of a trace: what the whole board does from moment to moment, added up from the spans of all cores."""

from collections.abc import Iterator
from typing import Any

from attrs import define, field

from mlusim.machine.launch import Launch
from mlusim.time.timeline import STORE, Scene
from mlusim.time.timing import PIPES

RATE, FLIGHT, CORES, NRAM = "GB/s off the chip", "bytes in flight", "cores at work", "NRAM in use, bytes"
MOST_POINTS = 20_000
"""Points of one counter; of more, every second, third or so is written."""

_IO = (PIPES[3], STORE)


@define
class Counters:
    """The counters of one launch.

    Bytes of an off-chip copy count as in flight, and its rate as its bytes over its time, from its start to its end.  A core
    is at work while its task runs, and has the NRAM of the launch's high-water mark in use: declarations last as long as
    their task.
    """

    launch: Launch
    _changes: dict[str, list[tuple[float, float]]] = field(
        init=False, factory=lambda: {name: [] for name in (RATE, FLIGHT, CORES, NRAM)}
    )

    def add(self, scene: Scene, begin: float) -> None:
        """Count what is in *scene*, whose launch begins at *begin* us."""
        used = self.launch.memory["NRAM"].high_water
        for core in scene.cores:
            if not core.memory_core:
                self._during(CORES, begin + core.start_us, begin + core.end_us, 1)
                self._during(NRAM, begin + core.start_us, begin + core.end_us, used)
        for span in scene.spans:
            lasting = span.end_us - span.start_us
            if span.where in _IO and span.unit == "bytes" and lasting > 0:
                ends = begin + span.start_us, begin + span.end_us
                self._during(RATE, *ends, span.amount / lasting / 1e3)
                self._during(FLIGHT, *ends, span.amount)

    def _during(self, name: str, start: float, end: float, amount: float) -> None:
        self._changes[name] += ((start, amount), (end, -amount))

    def events(self, pid: int, tid: int) -> Iterator[dict[str, Any]]:
        """Yield the counters as events of the process *pid*."""
        for name, changes in self._changes.items():
            for ts, value in _thinned(_steps(changes)):
                yield {"ph": "C", "name": name, "pid": pid, "tid": tid, "ts": ts, "args": {"value": value}}


def _steps(changes: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the value from each moment on, in order; moments that the format cannot tell apart are one."""
    values: dict[float, float] = {}
    level = 0.0
    for moment, change in sorted(changes):
        level += change
        values[round(moment, 6)] = level
    most = max(map(abs, values.values()), default=0.0)
    return [(ts, 0.0 if abs(value) < 1e-9 * most else round(value, 6)) for ts, value in values.items()]


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    step = -(-len(points) // MOST_POINTS) or 1
    return points if step == 1 else [*points[:-1:step], points[-1]]
