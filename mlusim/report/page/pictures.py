"""The pictures of HTML reports: roofline, bytes by direction, NRAM, tasks on their cores, on-chip declarations."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from attrs import frozen

from mlusim.arch.board import Board
from mlusim.counted import count, plural, precise, share, size
from mlusim.machine.launch import Launch
from mlusim.plan.layout import Layout, declared_region, layout_of_regions
from mlusim.plan.svg import memories_svg
from mlusim.report.page.charts import COLORS, PLAIN, SMALL, Axis, Picture, bars, line, words
from mlusim.report.record import CallRecord, LaunchRecord
from mlusim.time.timing import PIPES, TaskSpan, launch_us

SERIES = 8  # colours c0 to c7; later series are grey
_LABELS, _BARS, _ROW, _TOP = 250.0, 560.0, 18.0, 24.0


def color(position: int) -> str:
    """Return the colour class of the series at *position*."""
    return f"c{position}" if position < SERIES else "other"


# -- roofline --------------------------------------------------------------------------------------


def roofline(records: Sequence[CallRecord], board: Board, colors: Mapping[str, str]) -> str:
    """Draw operations per second over operations per byte, both in theory, on log scales; *colors* by operator.

    Calls without operations are left out.
    """
    shown = [
        r
        for r in records
        if r.efficiency is not None and min(r.efficiency.theory_ops, r.efficiency.theory_ios) > 0
    ]
    picture = Picture(460, 330, f"Roofline of {board.name}")
    plot = _Roofline(picture, shown, board)
    for dtype in ("float", "half"):
        force = board.compute_force(dtype)
        used = any(r.efficiency is not None and r.efficiency.compute_force == force for r in shown)
        if used or dtype == "float":
            plot.roof(board, force, dtype)
    for record in shown:
        efficiency = record.efficiency
        assert efficiency is not None
        intensity = efficiency.theory_ops / efficiency.theory_ios
        rate = efficiency.theory_ops / efficiency.hardware_time_us * 1e6
        plot.point(intensity, rate, colors[record.operator], _point_tip(record))
    return picture.render()


class _Roofline:
    """Axes with powers of ten that contain the calls and the bend of the roof."""

    left, top, width, height = 52.0, 12.0, 396.0, 278.0

    def __init__(self, picture: Picture, records: Sequence[CallRecord], board: Board) -> None:
        found = [r.efficiency for r in records if r.efficiency is not None]
        force = max(board.compute_force(dtype) for dtype in ("float", "half"))
        bend = force / board.bandwidth
        self._x = _decades([*(e.theory_ops / e.theory_ios for e in found), bend / 30, bend * 3])
        rates = [e.theory_ops / e.hardware_time_us * 1e6 for e in found]
        self._y = _decades([*rates, force / 300, force * 1.5])
        self._picture = picture
        self._axes = picture.axes((self.left, self.top, self.width, self.height), self._x, self._y)
        self._grid()

    def _grid(self) -> None:
        """Draw a line and a label for each power of ten."""
        (low_x, high_x), (low_y, high_y) = self._x, self._y
        dx, dy = (high_x - low_x) / self.width, (high_y - low_y) / self.height
        for power in range(low_x, high_x + 1):
            line(self._axes, [power, power], [low_y, high_y], "line")
            words(self._axes, power, low_y - 15 * dy, f"{10.0**power:g}", across="center", up="baseline")
        for power in range(low_y, high_y + 1):
            line(self._axes, [low_x, high_x], [power, power], "line")
            tick = count(10.0**power).replace(".00", "").replace(".0", "")
            words(self._axes, low_x - 6 * dx, power, tick, across="right")
        style: dict[str, Any] = {"up": "baseline", "size": PLAIN, "color": COLORS["ink"]}
        middle = (low_x + high_x) / 2
        words(self._axes, middle, low_y - 33 * dy, "theory operations per byte", across="center", **style)
        words(self._axes, low_x + 4 * dx, high_y - 11 * dy, "operations per second", **style)

    def roof(self, board: Board, force: float, dtype: str) -> None:
        """Draw the memory's slope, and the flat roof of *force*."""
        (low_x, high_x), (low_y, high_y) = self._x, self._y
        bend, bandwidth = math.log10(force / board.bandwidth), math.log10(board.bandwidth)
        first = max(low_x, low_y - bandwidth)
        x, y = [first, bend, high_x], [first + bandwidth, math.log10(force), math.log10(force)]
        line(self._axes, x, y, "soft", linewidth=1.6, zorder=1)
        above = dtype == "half"  # the roofs are close together, so that their labels are on opposite sides
        at = y[-1] + (5 if above else -5) * (high_y - low_y) / self.height
        text, up = f"{dtype} {count(force)} ops/s", "bottom" if above else "top"
        words(self._axes, high_x - 4 * (high_x - low_x) / self.width, at, text, across="right", up=up)

    def point(self, intensity: float, rate: float, name: str, tip: str) -> None:
        """Draw one call as a point of the roofline."""
        from matplotlib.patches import Ellipse  # noqa: PLC0415 - an extra

        size_x = 9 * (self._x[1] - self._x[0]) / self.width
        size_y = 9 * (self._y[1] - self._y[0]) / self.height
        look: dict[str, Any] = {
            "facecolor": COLORS[name],
            "edgecolor": COLORS["card"],
            "linewidth": 1.2,
            "clip_on": False,
        }
        dot = Ellipse((math.log10(intensity), math.log10(rate)), size_x, size_y, zorder=3, **look)
        self._axes.add_patch(dot)
        self._picture.tip(dot, tip)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    return math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))


def _point_tip(record: CallRecord) -> str:
    efficiency = record.efficiency
    assert efficiency is not None
    return (
        f"{record.operator} {record.title}: {count(efficiency.theory_ops / efficiency.theory_ios)} ops/byte, "
        f"IO {share(efficiency.io_efficiency)}, compute {share(efficiency.compute_efficiency)}"
    )


# -- bars ------------------------------------------------------------------------------------------


def traffic(records: Sequence[CallRecord], directions: Sequence[str]) -> str:
    """Draw the off-chip bytes of each call, by direction, in multiples of the theory bytes."""
    shown = [r for r in records if r.efficiency is not None and r.efficiency.theory_ios > 0]
    most = max([1.0, *(_multiple(r, r.io_bytes) for r in shown)])
    unit = _BARS / most
    step = max(1, math.ceil(most / 8))
    places = sorted({1, *range(0, int(most) + 1, step)})
    marks = [(n * unit, f"{n}x", n == 1) for n in places]
    picture, axes, rows = _bar_picture("Bytes moved, relative to theory", shown, marks)
    for record, y in rows:
        x = _LABELS
        for position, name in enumerate(directions):
            nbytes = record.off_chip.get(name, 0)
            if nbytes:
                width = _multiple(record, nbytes) * unit
                shape = bars(axes, [(x, y, max(width - 1, 0.3), _ROW - 5)], color(position))
                picture.tip(
                    shape, f"{record.operator} {record.case}: {name} {nbytes:,} {plural(nbytes, 'byte')}"
                )
                x += width
        crossed = _LABELS + unit - 60 < x < _LABELS + unit  # the line at 1x would cross the number
        words(axes, (_LABELS + unit if crossed else x) + 5, y + 6.5, size(record.io_bytes))
    return picture.render()


def off_chip_directions(records: Sequence[CallRecord]) -> list[str]:
    """Return the off-chip directions, in the order of their first use."""
    return list(dict.fromkeys(name for record in records for name in record.off_chip))


def memory(records: Sequence[CallRecord]) -> str:
    """Draw the largest NRAM declaration of a core in each call, as a share of the usable NRAM."""
    shown = [record for record in records if record.launches]
    marks = [(_BARS * n / 4, f"{25 * n}%", False) for n in range(5)]
    picture, axes, rows = _bar_picture("NRAM used", shown, marks)
    for record, y in rows:
        usage = record.memory["NRAM"]
        part = usage.high_water / usage.capacity
        bars(axes, [(_LABELS, y, _BARS, _ROW - 5)], "track")
        shape = bars(axes, [(_LABELS, y, max(part * _BARS, 0.3), _ROW - 5)], color(0))
        picture.tip(
            shape, f"{record.operator} {record.case}: {usage.high_water:,} of {usage.capacity:,} bytes"
        )
        words(axes, _LABELS + _BARS + 5, y + 6.5, size(usage.high_water))
    return picture.render()


def _multiple(record: CallRecord, nbytes: int) -> float:
    return nbytes / record.efficiency.theory_ios if record.efficiency is not None else 0.0


def _bar_picture(
    title: str, records: Sequence[CallRecord], marks: Sequence[tuple[float, str, bool]]
) -> tuple[Picture, Any, list[tuple[CallRecord, float]]]:
    """Return a picture with a labelled row for each record under its operator's name, its axes, and the positions of the rows.

    *marks* are lines of the axis: position, label, and whether it is the reference line.
    """
    heads = len({record.operator for record in records})
    bottom = _TOP + (len(records) + heads) * _ROW
    width, height = _LABELS + _BARS + 90, bottom + 6
    picture = Picture(width, height, title)
    axes = picture.axes((0, 0, width, height), (0, width), (height, 0))
    for at, text, chief in marks:
        x = _LABELS + at
        words(axes, x, 8, text, across="center")
        line(axes, [x, x], [18, bottom], "ink" if chief else "line", zorder=2 if chief else 0.5)
    rows: list[tuple[CallRecord, float]] = []
    y = _TOP
    for operator, calls in groupby(records, key=lambda record: record.operator):
        words(axes, 0, y + 6.5, operator, size=PLAIN, color=COLORS["ink"], weight="bold")
        for record in calls:
            y += _ROW
            words(axes, _LABELS - 8, y + 6.5, record.title, across="right", size=SMALL)
            rows.append((record, y))
        y += _ROW
    return picture, axes, rows


# -- tasks: which core runs which task, when, and its busiest pipe ----------------------------------

IO = PIPES.index("IO-DMA")
_NAMES, _TIMES, _UNDER_AXIS = 70.0, 820.0, 22.0
_TOLD = 300  # bars with individual tooltips
_FINEST = 0.5  # tasks closer than this, in units of the picture, are merged


@frozen
class Ran:
    """The data of a launch that the picture needs; a launch's record has the same."""

    kernel: str
    kind: str
    time_us: float
    bound: str
    spans: Sequence[TaskSpan]


@frozen
class _Bar:
    """A task, or several tasks of one core, on the time axis in us."""

    core: int
    start: float
    end: float
    pipe: int
    label: str


def timeline(title: str, launches: Sequence[Ran | LaunchRecord], board: Board) -> str:
    """Draw one row per core and one bar per task, the launches one after the other; the colour is that of the busiest pipe.

    If the bandwidth that all cores share sets the launch's time, the IO-DMA keeps them busy.
    """
    total = sum(launch.time_us for launch in launches)
    every = sorted(_bars(launches, board), key=lambda bar: (bar.core, bar.start))
    rows = 1 + max((bar.core for bar in every), default=0)
    height = max(5.0, min(12.0, 300.0 / rows))
    bottom = rows * height
    picture = Picture(_NAMES + _TIMES + 20, _UNDER_AXIS + bottom + 10, f"Tasks of {title}")
    axes = picture.axes((_NAMES, _UNDER_AXIS, _TIMES, bottom), (0.0, total or 1.0), (bottom, 0.0))
    unit = _TIMES / (total or 1.0)
    for value, told in Axis(0.0, total or 1.0, _TIMES).ticks():
        line(axes, [value, value], [-4, bottom], "line")
        words(axes, value, -6, told, across="center", up="bottom")
    words(axes, -8 / unit, height / 2, "core 0", across="right")
    if rows > 2:
        words(axes, -8 / unit, bottom - height / 2, f"core {rows - 1}", across="right")
    _draw(picture, axes, list(_merged(every, unit)), height, unit)
    return picture.render()


def queues(launches: Sequence[Launch]) -> str:
    """Draw one row per queue and one bar per launch, in the colour of the pipe that sets its time."""
    names, every = _queues(launches)
    end = max((bar.end for bar in every), default=0.0) or 1.0
    height, bottom = 18.0, 18.0 * len(names)
    picture = Picture(_NAMES + _TIMES + 20, _UNDER_AXIS + bottom + 10, "Launches of each queue")
    axes = picture.axes((_NAMES, _UNDER_AXIS, _TIMES, bottom), (0.0, end), (bottom, 0.0))
    for value, told in Axis(0.0, end, _TIMES).ticks():
        line(axes, [value, value], [-4, bottom], "line")
        words(axes, value, -6, told, across="center", up="bottom")
    for row, name in enumerate(names):
        words(axes, -8 * end / _TIMES, (row + 0.5) * height, name, across="right")
    _draw(picture, axes, list(_merged(every, _TIMES / end)), height, _TIMES / end)
    return picture.render()


def end_of_queues(launches: Sequence[Launch]) -> tuple[int, float]:
    """Return the number of queues with *launches* of one board, and the time in us at which the last of them ends."""
    names, every = _queues(launches)
    return len(names), max((bar.end for bar in every), default=0.0)


def _queues(launches: Sequence[Launch]) -> tuple[list[str], list[_Bar]]:
    """Return the names of the queues of *launches*, and a bar for each launch; those without a queue follow each other on their board."""
    rows: dict[tuple[str, int | None], int] = {}
    made, clocks = [], dict.fromkeys((launch.board for launch in launches), 0.0)
    for number, launch in enumerate(launches, 1):
        queue = launch.queue
        row = rows.setdefault((launch.board, None if queue is None else queue.number), len(rows))
        start = clocks[launch.board] if queue is None else queue.begin()
        if queue is None:
            clocks[launch.board] += launch.time_us
        pipe = PIPES.index(launch.bound) if launch.bound in PIPES else 0
        told = f"launch {number}, {launch.kernel}: {precise(launch.time_us)} us, bound by {launch.bound or 'nothing'}"
        made.append(_Bar(row, start, start + launch.time_us, pipe, told))
    own = [
        board if len(clocks) > 1 else "launches" if number is None else f"queue {n + 1}"
        for n, (board, number) in enumerate(rows)
    ]
    names = [f"{name}, queue {n + 1}" if own.count(name) > 1 else name for n, name in enumerate(own)]
    return names, sorted(made, key=lambda bar: (bar.core, bar.start))


def _draw(picture: Picture, axes: object, shown: list[_Bar], height: float, unit: float) -> None:
    """Draw each bar with its own tooltip, or, if there are very many, the bars of each pipe as one shape."""
    if len(shown) <= _TOLD:
        groups = [(bar.label, bar.pipe, [bar]) for bar in shown]
    else:
        groups = [(name, n, [bar for bar in shown if bar.pipe == n]) for n, name in enumerate(PIPES)]
    for label, pipe, own in groups:
        boxes = [
            (bar.start, bar.core * height, max((bar.end - bar.start) - 0.3 / unit, 0.3 / unit), height - 1)
            for bar in own
        ]
        if boxes:
            picture.tip(bars(axes, boxes, color(pipe)), label)


def _bars(launches: Sequence[Ran | LaunchRecord], board: Board) -> Iterator[_Bar]:
    begin = 0.0
    cost = launch_us(board)
    for launch in launches:
        last = max((span.end_us for span in launch.spans), default=0.0)
        stretch = max(1.0, (launch.time_us - cost) / last) if last > 0 else 1.0
        for core, span in _placed(launch, board):
            if max(span.busy_us) > 0:
                start, end = (begin + cost + stretch * t for t in (span.start_us, span.end_us))
                pipe = IO if launch.bound == PIPES[IO] else span.busy_us.index(max(span.busy_us))
                label = f"{launch.kernel} task {span.task}: {PIPES[pipe]}"
                yield _Bar(core, start, end, pipe, label)
        begin += launch.time_us


def _placed(launch: Ran | LaunchRecord, board: Board) -> Iterator[tuple[int, TaskSpan]]:
    """Yield each IPU task with the number of its core on the board."""
    unions = int(launch.kind.removeprefix("UNION")) if launch.kind.startswith("UNION") else 0
    width = max(1, unions * board.arch.cores_per_cluster)
    tasks = sorted((s for s in launch.spans if not s.memory_core), key=lambda s: (s.slot, s.start_us, s.task))
    for (slot, _), group in groupby(tasks, key=lambda s: (s.slot, s.start_us)):
        for nth, span in enumerate(group):
            yield slot * width + nth % width, span


def _merged(bars: list[_Bar], unit: float) -> Iterator[_Bar]:
    """Yield the bars, with neighbours that look like one merged."""
    held: _Bar | None = None
    for bar in bars:
        near = held is not None and (bar.core, bar.pipe) == (held.core, held.pipe)
        if held is not None and near and (bar.end - held.start) * unit < _FINEST:
            held = _Bar(held.core, held.start, max(held.end, bar.end), held.pipe, f"{held.label} and more")
            continue
        if held is not None:
            yield held
        held = bar
    if held is not None:
        yield held


# -- the on-chip declarations of a launch -----------------------------------------------------------


def layouts_of_launch(launch: Launch) -> list[Layout]:
    """Return a layout of each memory with declarations of the first task that ended."""
    return [
        layout_of_regions(
            launch.kernel,
            launch.forecast.board,
            space,
            launch.memory[space].capacity,
            (declared_region(allocation, base) for allocation in declared),
        )
        for base, declared in launch.declared
        if (space := declared[0].space.name) in launch.memory
    ]


def memories_of(launch: Launch) -> str:
    """Return the maps as one SVG picture, "" if nothing was declared."""
    layouts = layouts_of_launch(launch)
    return memories_svg(layouts) if layouts else ""
