"""Launches as a trace-event file, which Perfetto and chrome://tracing display: a track per core and pipe, arrows for waits.

The spans are exactly those of the launch's timeline in the timing model.  A span has its line with
path and source text; that of a copy also has its direction and bytes.  The file depends on nothing but
the launches, so that files of two runs can be compared.
"""

import json
import linecache
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from attrs import define, field

from mlusim.machine.launch import Launch
from mlusim.time.timeline import MOST_SPANS, PLACES, STORE, CoreSpan, Scene, TimeSpan
from mlusim.time.timing import PIPES

TRACKS = ("task", *PLACES)
NEAR = 1e-5  # us; shorter spans have no arrow, since the format has six decimals of a microsecond

LAUNCHES = 1  # the process id of the launches; those of the cores follow
THREADS = 10  # threads of a process; thread ids are unique over all processes, and none is 0

Event = dict[str, Any]


def write_trace(file: BinaryIO, launches: Sequence[Launch], most: int = MOST_SPANS) -> None:
    """Write *launches*, one after the other, to *file*; times are in us, predicted.

    At most *most* spans are written, those of the first tasks; the file states what it leaves out, and still
    has a span for every task.
    """
    trace = _Trace(most)
    comma = ""
    file.write(b'{"displayTimeUnit": "ns", "traceEvents": [')
    for event in trace.events(launches):
        file.write(f"{comma}\n{json.dumps(event)}".encode())
        comma = ","
    about = {
        "board": launches[0].board if launches else "",
        "kernels": [launch.kernel for launch in launches],
        "time": "predicted, in us",
        "left out": trace.left_out,
    }
    file.write(f'\n], "otherData": {json.dumps(about)}}}\n'.encode())


@define
class _Trace:
    """The state of a trace while it is written: the remaining spans, the named tracks, the arrows."""

    most: int
    named: set[tuple[int, int]] = field(factory=set)
    arrows: int = 0
    tasks: int = 0
    partly: int = 0
    bare: int = 0

    @property
    def left_out(self) -> str:
        """The events for which the file has no room, in words; "" if it is complete."""
        short = self.partly + self.bare
        if not short:
            return ""
        words = f"instructions of the last {short} of {self.tasks} tasks; each task has its span all the same"
        return f"{words}, and {self.partly} of these their first instructions" if self.partly else words

    def events(self, launches: Sequence[Launch]) -> Iterator[Event]:
        """Yield every event of *launches*, one after the other."""
        yield _about(LAUNCHES, "process_name", 0, name="launches")
        yield _about(LAUNCHES, "thread_name", 0, name="launches")
        begin = 0.0
        for launch in launches:
            facts = {"dim": launch.dim, "kind": launch.kind, "bound": launch.bound, "time_us": launch.time_us}
            yield _complete(launch.kernel, "launch", begin, begin + launch.time_us, (LAUNCHES, 0), facts)
            counters, first = Counters(launch), begin + launch.forecast.start_us
            for scene in launch.timeline.scenes(self.most):
                counters.add(scene, first)
                self.most -= len(scene.spans)
                self.tasks += len(scene.cores)
                if not scene.complete and scene.spans:
                    self.partly += len(scene.cores)
                elif not scene.complete:
                    self.bare += len(scene.cores)
                yield from self._scene(scene, launch, first)
            yield from counters.events(LAUNCHES, _thread(LAUNCHES, 0))
            begin += launch.time_us

    def _scene(self, scene: Scene, launch: Launch, begin: float) -> Iterator[Event]:
        width = launch.forecast.board.arch.cores_per_cluster
        homes = [LAUNCHES + 1 + core.cluster * (width + 1) + core.core for core in scene.cores]
        for core, home in zip(scene.cores, homes, strict=True):
            yield from self._names(home, 0, core)
            left_out = "" if scene.complete else ", later" if scene.spans else ","
            yield _task(core, home, begin, f"{left_out} instructions left out" if left_out else "")
        tracks = []
        for span in scene.spans:
            track = homes[span.member], TRACKS.index(span.where)
            tracks.append(track)
            yield from self._names(*track, scene.cores[span.member])
            yield _event(span, scene.cores[span.member], track, begin)
        for arrow in scene.arrows:
            cause, wait = scene.spans[arrow.cause], scene.spans[arrow.wait]
            lasting = min(s.end_us - s.start_us for s in (cause, wait))
            if lasting > NEAR:
                self.arrows += 1
                left = cause.start_us if arrow.barrier else cause.end_us - lasting / 2
                places = (tracks[arrow.cause], tracks[arrow.wait])
                name = "barrier" if arrow.barrier else "sync"
                yield from _arrow(
                    name, self.arrows, places, (begin + left, begin + wait.end_us - lasting / 4)
                )

    def _names(self, home: int, track: int, core: CoreSpan) -> Iterator[Event]:
        if (home, track) in self.named:
            return
        self.named.add((home, track))
        if track == 0:
            which = "memory core" if core.memory_core else f"core {core.core}"
            yield _about(home, "process_name", 0, name=f"cluster {core.cluster} {which}")
            yield _about(home, "process_sort_index", 0, sort_index=home)
        yield _about(home, "thread_name", track, name=TRACKS[track])
        yield _about(home, "thread_sort_index", track, sort_index=track)


def _about(home: int, what: str, track: int, **facts: object) -> Event:
    return {"ph": "M", "name": what, "pid": home, "tid": _thread(home, track), "args": facts}


def _thread(home: int, track: int) -> int:
    return THREADS * home + track


def _task(core: CoreSpan, home: int, begin: float, left_out: str) -> Event:
    name = f"memory core beside task {core.task}" if core.memory_core else f"task {core.task}"
    return _complete(
        name + left_out, "task", begin + core.start_us, begin + core.end_us, (home, 0), {"task": core.task}
    )


def _event(span: TimeSpan, core: CoreSpan, track: tuple[int, int], begin: float) -> Event:
    facts: Event = {"task": core.task}
    if span.line:
        facts["line"] = f"{span.file}:{span.line}"
        facts["call"] = linecache.getline(span.file, span.line).strip()
    if span.direction:
        facts["direction"] = span.direction
    if span.amount:
        facts[span.unit] = span.amount
    waits = span.end_us - span.start_us - span.busy_us
    if waits > NEAR:
        facts["of it waiting for a share of the memory, us"] = round(waits, 6)
    return _complete(span.name, span.where, begin + span.start_us, begin + span.end_us, track, facts)


def _complete(
    name: str, category: str, start: float, end: float, track: tuple[int, int], facts: Event
) -> Event:
    first, last = round(start, 6), round(end, 6)
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "ts": first,
        "dur": round(last - first, 6),
        "pid": track[0],
        "tid": _thread(*track),
        "args": facts,
    }


def _arrow(
    name: str, number: int, tracks: tuple[tuple[int, int], tuple[int, int]], times: tuple[float, float]
) -> Iterator[Event]:
    """Yield an arrow from one slice to another; each end is within its slice."""
    for phase, (home, track), time in zip("sf", tracks, times, strict=True):
        event: Event = {"ph": phase, "id": number, "name": name, "cat": "sync", "ts": round(time, 6)}
        yield event | {"pid": home, "tid": _thread(home, track)} | ({"bp": "e"} if phase == "f" else {})


# -- counters: the activity of the whole board over time, summed over the spans of all cores -----------

RATE, FLIGHT, CORES, NRAM = "GB/s off the chip", "bytes in flight", "cores at work", "NRAM in use, bytes"
MOST_POINTS = 20_000
"""Points of one counter; if there are more, only every second, third or so is written."""

_IO = (PIPES[3], STORE)


@define
class Counters:
    """The counters of one launch.

    Bytes of an off-chip copy count as in flight, and its bytes divided by its duration as its rate, from its start to
    its end.  A core is at work while its task runs, and uses as much NRAM as the launch's high-water mark:
    declarations last as long as their task.
    """

    launch: Launch
    _changes: dict[str, list[tuple[float, float]]] = field(
        init=False, factory=lambda: {name: [] for name in (RATE, FLIGHT, CORES, NRAM)}
    )

    def add(self, scene: Scene, begin: float) -> None:
        """Add the spans of *scene*, whose launch begins at *begin* us."""
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
    """Return the value from each moment on, in order; moments that are equal after rounding are merged."""
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
