"""The picture of a call's tasks: which core runs what, when, and which pipe keeps it busy."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from attrs import frozen

from mlusim.arch.board import Board
from mlusim.machine.launch import Launch
from mlusim.report.page.figure import Picture, bars, line, words
from mlusim.report.page.live import Axis, Boxes
from mlusim.report.page.pictures import color
from mlusim.report.record import LaunchRecord
from mlusim.time.timing import PIPES, TaskSpan, launch_us

IO = PIPES.index("IO-DMA")
_LEFT, _WIDTH, _TOP = 70.0, 820.0, 22.0
_TOLD = 300  # bars that each have words of their own
_FINEST = 0.5  # tasks closer than this, in units of the picture, become one


@frozen
class Ran:
    """A launch as the picture takes it; a launch's record will do as well."""

    kernel: str
    kind: str
    time_us: float
    bound: str
    spans: Sequence[TaskSpan]


@frozen
class _Bar:
    """A task, or several of one core, on the time axis in us."""

    core: int
    start: float
    end: float
    pipe: int
    label: str


def timeline(title: str, launches: Sequence[Ran | LaunchRecord], board: Board) -> str:
    """Draw one row a core, one bar a task, the launches one after the other; colour: the pipe that is busiest.

    Where the bandwidth that all cores share sets the launch's time, the IO-DMA is what keeps them busy.
    """
    total = sum(launch.time_us for launch in launches)
    every = sorted(_bars(launches, board), key=lambda bar: (bar.core, bar.start))
    rows = 1 + max((bar.core for bar in every), default=0)
    height = max(5.0, min(12.0, 300.0 / rows))
    bottom = rows * height
    picture = Picture(_LEFT + _WIDTH + 20, _TOP + bottom + 10, f"Tasks of {title}")
    axes = picture.axes((_LEFT, _TOP, _WIDTH, bottom), (0.0, total or 1.0), (bottom, 0.0))
    unit = _WIDTH / (total or 1.0)
    for value, told in Axis(0.0, total or 1.0, _WIDTH).ticks():
        line(axes, [value, value], [-4, bottom], "line")
        words(axes, value, -6, told, across="center", up="bottom")
    words(axes, -8 / unit, height / 2, "core 0", across="right")
    if rows > 2:
        words(axes, -8 / unit, bottom - height / 2, f"core {rows - 1}", across="right")
    _draw(picture, axes, list(_merged(every, unit)), height, unit)
    return picture.render()


def timeline_data(launches: Sequence[Ran | LaunchRecord], board: Board) -> str:
    """Return the chart of `timeline`."""
    total = sum(launch.time_us for launch in launches) or 1.0
    every = sorted(_bars(launches, board), key=lambda bar: (bar.core, bar.start))
    rows = 1 + max((bar.core for bar in every), default=0)
    chart = Boxes([f"core {core}" for core in range(rows)], "us", end=total)
    for bar in _merged(every, _WIDTH / total):
        chart.add(
            bar.core, bar.start, bar.end, color(bar.pipe), f"{bar.label}, {bar.end - bar.start:,.4g} us"
        )
    return chart.data()


def queues(launches: Sequence[Launch]) -> str:
    """Draw one row a queue, one bar a launch, in the colour of the pipe that sets its time."""
    names, every = _queues(launches)
    end = max((bar.end for bar in every), default=0.0) or 1.0
    height, bottom = 18.0, 18.0 * len(names)
    picture = Picture(_LEFT + _WIDTH + 20, _TOP + bottom + 10, "Launches of each queue")
    axes = picture.axes((_LEFT, _TOP, _WIDTH, bottom), (0.0, end), (bottom, 0.0))
    for value, told in Axis(0.0, end, _WIDTH).ticks():
        line(axes, [value, value], [-4, bottom], "line")
        words(axes, value, -6, told, across="center", up="bottom")
    for row, name in enumerate(names):
        words(axes, -8 * end / _WIDTH, (row + 0.5) * height, name, across="right")
    _draw(picture, axes, list(_merged(every, _WIDTH / end)), height, _WIDTH / end)
    return picture.render()


def queues_data(launches: Sequence[Launch]) -> str:
    """Return the chart of `queues`."""
    names, every = _queues(launches)
    end = max((bar.end for bar in every), default=0.0) or 1.0
    chart = Boxes(names, "us", end=end)
    for bar in _merged(every, _WIDTH / end):
        chart.add(bar.core, bar.start, bar.end, color(bar.pipe), bar.label)
    return chart.data()


def end_of_queues(launches: Sequence[Launch]) -> tuple[int, float]:
    """Return how many queues *launches* of one board are in, and at what us the last of them ends."""
    names, every = _queues(launches)
    return len(names), max((bar.end for bar in every), default=0.0)


def _queues(launches: Sequence[Launch]) -> tuple[list[str], list[_Bar]]:
    """Return the names of the queues of *launches*, and a bar for each launch; without a queue those of a board are one after the other."""
    rows: dict[tuple[str, int | None], int] = {}
    made, clocks = [], dict.fromkeys((launch.board for launch in launches), 0.0)
    for number, launch in enumerate(launches, 1):
        queue = launch.queue
        row = rows.setdefault((launch.board, None if queue is None else queue.number), len(rows))
        start = clocks[launch.board] if queue is None else queue.begin()
        if queue is None:
            clocks[launch.board] += launch.time_us
        pipe = PIPES.index(launch.bound) if launch.bound in PIPES else 0
        told = f"launch {number}, {launch.kernel}: {launch.time_us:,.2f} us, bound by {launch.bound or 'nothing'}"
        made.append(_Bar(row, start, start + launch.time_us, pipe, told))
    own = [
        board if len(clocks) > 1 else "launches" if number is None else f"queue {n + 1}"
        for n, (board, number) in enumerate(rows)
    ]
    names = [f"{name}, queue {n + 1}" if own.count(name) > 1 else name for n, name in enumerate(own)]
    return names, sorted(made, key=lambda bar: (bar.core, bar.start))


def _draw(picture: Picture, axes: object, shown: list[_Bar], height: float, unit: float) -> None:
    """Draw each bar with words of its own; of very many, those of a pipe as one."""
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
        stretch = _stretch(launch, cost)
        for core, span in _placed(launch, board):
            if max(span.busy_us) > 0:
                start, end = (begin + cost + stretch * t for t in (span.start_us, span.end_us))
                pipe = IO if launch.bound == PIPES[IO] else span.busy_us.index(max(span.busy_us))
                label = f"{launch.kernel} task {span.task}: {PIPES[pipe]}"
                yield _Bar(core, start, end, pipe, label)
        begin += launch.time_us


def _stretch(launch: Ran | LaunchRecord, cost: float) -> float:
    """Return the factor that stretches the spans when all cores wait for the bandwidth that they share; *cost*: of the launch, in us."""
    last = max((span.end_us for span in launch.spans), default=0.0)
    return max(1.0, (launch.time_us - cost) / last) if last > 0 else 1.0


def _placed(launch: Ran | LaunchRecord, board: Board) -> Iterator[tuple[int, TaskSpan]]:
    """Yield each IPU task with the number of its core on the board."""
    unions = int(launch.kind.removeprefix("UNION")) if launch.kind.startswith("UNION") else 0
    width = max(1, unions * board.arch.cores_per_cluster)
    tasks = sorted((s for s in launch.spans if not s.memory_core), key=lambda s: (s.slot, s.start_us, s.task))
    for (slot, _), group in groupby(tasks, key=lambda s: (s.slot, s.start_us)):
        for nth, span in enumerate(group):
            yield slot * width + nth % width, span


def _merged(bars: list[_Bar], unit: float) -> Iterator[_Bar]:
    """Yield the bars, with neighbours that no eye could tell apart made one."""
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
