"""A representative piece of a launch's timeline: some cores of one task, pipe by pipe; its picture."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from attrs import frozen

from mlusim.report.page.figure import COLORS, SMALL, Picture, bars, line, marks, words
from mlusim.report.page.live import Boxes
from mlusim.report.quantities import microseconds
from mlusim.time.timeline import PLACES, WAIT, Arrow, Scene, TimeSpan

if TYPE_CHECKING:
    from mlusim.machine.launch import Launch

MOST_CORES = 4  # IPU cores that are shown
WHOLE = 400  # spans of the shown cores, up to which everything is shown
SHOWN = 60  # spans of the first core, otherwise
LOOKED_AT = 100_000  # spans from which the piece is taken

ROW, GAP, LEFT, WIDTH, TOP = 15.0, 7.0, 150.0, 830.0, 22.0


@frozen
class Excerpt:
    """Rows of (core, pipe or "wait"), bars (row, start, end in us), arrows ((row, us), (row, us)), and which piece it is."""

    kernel: str
    rows: tuple[tuple[str, str], ...]
    bars: tuple[tuple[int, float, float], ...]
    arrows: tuple[tuple[tuple[int, float], tuple[int, float]], ...]
    start_us: float
    end_us: float
    says: str


def excerpt_of(launch: "Launch") -> Excerpt | None:
    """The piece of *launch* that stands for it; None where it does nothing.

    It is the whole of the first task or union that has work if that is short, else its middle, of its first cores.
    """
    scene = next((s for s in launch.timeline.scenes(LOOKED_AT) if s.spans), None)
    if scene is None:
        return None
    members = _members(scene)
    own = [n for n, span in enumerate(scene.spans) if span.member in members]
    start, end = _window(scene, own, members[0])
    shown = {n for n in own if scene.spans[n].end_us > start and scene.spans[n].start_us < end}
    rows = sorted(
        {(scene.spans[n].member, PLACES.index(scene.spans[n].where)) for n in shown},
        key=lambda row: (members.index(row[0]), row[1]),
    )
    number = {row: at for at, row in enumerate(rows)}
    at = {n: number[scene.spans[n].member, PLACES.index(scene.spans[n].where)] for n in shown}
    return Excerpt(
        launch.kernel,
        tuple((_core(scene, member), PLACES[where]) for member, where in rows),
        tuple(
            (at[n], max(start, scene.spans[n].start_us), min(end, scene.spans[n].end_us))
            for n in sorted(shown)
        ),
        tuple(_arrows(scene.spans, scene.arrows, at, end)),
        start,
        end,
        _says(scene, members, start, end),
    )


def _members(scene: Scene) -> list[int]:
    """The first IPU cores, and the first memory core if it does something."""
    active = {span.member for span in scene.spans}
    ipu = [n for n, core in enumerate(scene.cores) if not core.memory_core and n in active]
    memory = [n for n, core in enumerate(scene.cores) if core.memory_core and n in active]
    return ipu[:MOST_CORES] + memory[:1] if ipu else memory[:1]


def _window(scene: Scene, own: Sequence[int], first: int) -> tuple[float, float]:
    """From when to when: everything, or the middle of what the first core does."""
    spans = [scene.spans[n] for n in own]
    if len(spans) <= WHOLE and scene.complete:
        return scene.cores[first].start_us, max(scene.cores[span.member].end_us for span in spans)
    lead = [span for span in spans if span.member == first]
    begin = max(0, len(lead) // 2 - SHOWN // 2)
    part = lead[begin : begin + SHOWN]
    return part[0].start_us, max(span.end_us for span in part if span.where != WAIT or span is part[-1])


def _arrows(
    spans: Sequence[TimeSpan], arrows: Sequence[Arrow], at: dict[int, int], end: float
) -> Iterator[tuple[tuple[int, float], tuple[int, float]]]:
    for arrow in arrows:
        if arrow.cause in at and arrow.wait in at and spans[arrow.wait].end_us <= end:
            cause, wait = spans[arrow.cause], spans[arrow.wait]
            left = cause.start_us if arrow.barrier else cause.end_us
            yield (at[arrow.cause], left), (at[arrow.wait], wait.end_us)


def _core(scene: Scene, member: int) -> str:
    core = scene.cores[member]
    which = "memory core" if core.memory_core else f"core {core.core}"
    return f"cluster {core.cluster} {which}"


def _says(scene: Scene, members: Sequence[int], start: float, end: float) -> str:
    last = max(core.end_us for core in scene.cores)
    cores = [core for n, core in enumerate(scene.cores) if n in members]
    whose = "one task" if len(cores) == 1 else f"{len(cores)} cores of one task"
    if len(scene.cores) > 1:
        whose = f"{len(members)} of the {len(scene.cores)} cores of the first union"
    if start <= scene.cores[members[0]].start_us and end >= last:
        return f"{whose}, from beginning to end"
    begin = scene.cores[members[0]].start_us
    return f"{whose}: {microseconds(start - begin)} to {microseconds(end - begin)} us of its {microseconds(last - begin)} us"


# -- the picture -----------------------------------------------------------------------------------


def pipe_picture(excerpt: Excerpt) -> str:
    """One row for each core and pipe, bars where it is busy, pale bars where the core waits, arrows to what ends a wait."""
    tops, height = _tops(excerpt.rows)
    picture = Picture(LEFT + WIDTH + 20, TOP + height + 6, f"Pipes of {excerpt.kernel}: {excerpt.says}")
    lasting = max(excerpt.end_us - excerpt.start_us, 1e-9)
    axes = picture.axes((LEFT, TOP, WIDTH, height), (0.0, lasting), (height, 0.0))
    unit = WIDTH / lasting
    at = marks(excerpt.start_us, excerpt.start_us + lasting)
    for value in at:
        x = value - excerpt.start_us
        line(axes, [x, x], [-3, height], "line")
        across = "right" if x * unit > WIDTH - 16 else "center"
        words(axes, x, -6, f"{value:,.6g}" + (" us" if value == at[-1] else ""), across=across, up="bottom")
    for place in PLACES:
        boxes = [
            (start - excerpt.start_us, tops[row] + 1.0, max(end - start, 0.4 / unit), ROW - 3.0)
            for row, start, end in excerpt.bars
            if excerpt.rows[row][1] == place
        ]
        if boxes:
            name, alpha = ("other", 0.35) if place == WAIT else (f"c{PLACES.index(place)}", 1.0)
            picture.tip(bars(axes, boxes, name, alpha=alpha), place)
    _labels(axes, excerpt, tops, unit)
    for (row, begin), (other, end) in excerpt.arrows:
        ends = (
            (begin - excerpt.start_us, tops[row] + ROW / 2),
            (end - excerpt.start_us, tops[other] + ROW / 2),
        )
        _arrow(axes, *ends)
    return picture.render()


def pipe_data(excerpt: Excerpt) -> str:
    """The chart of `pipe_picture`, without its arrows."""
    chart = Boxes([f"{core} {pipe}" for core, pipe in excerpt.rows], "us")
    for row, start, end in excerpt.bars:
        place = excerpt.rows[row][1]
        name = "other" if place == WAIT else f"c{PLACES.index(place)}"
        chart.add(row, start, end, name, f"{place}, {start:,.6g} to {end:,.6g} us")
    return chart.data()


def _tops(rows: Sequence[tuple[str, str]]) -> tuple[list[float], float]:
    """Where each row begins, with a gap between cores, and the height of all."""
    tops, y = [], 0.0
    for n, (core, _) in enumerate(rows):
        y += GAP if n and rows[n - 1][0] != core else 0.0
        tops.append(y)
        y += ROW
    return tops, y


def _labels(axes: object, excerpt: Excerpt, tops: Sequence[float], unit: float) -> None:
    before = ""
    for (core, pipe), top in zip(excerpt.rows, tops, strict=True):
        words(axes, -6 / unit, top + ROW / 2, pipe, across="right")
        if core != before:
            words(
                axes,
                -LEFT / unit,
                top + ROW / 2,
                core.replace("memory core", "memory"),
                color=COLORS["ink"],
                size=SMALL,
            )
        before = core


def _arrow(axes: object, start: tuple[float, float], end: tuple[float, float]) -> None:
    axes.annotate(  # type: ignore[attr-defined]
        "",
        end,
        start,
        annotation_clip=False,
        arrowprops={
            "arrowstyle": "-|>,head_length=0.25,head_width=0.12",
            "color": COLORS["ink"],
            "linewidth": 0.7,
            "alpha": 0.75,
            "shrinkA": 0,
            "shrinkB": 0,
        },
    )
