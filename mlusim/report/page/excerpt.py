"""A representative excerpt of a launch's timeline: some of its cores, pipe by pipe, with the causes of waits."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from mlusim.counted import counted, microseconds
from mlusim.errors import shown_file
from mlusim.report.explain import bottleneck
from mlusim.time.timeline import PLACES, STORE, WAIT, Arrow, CoreSpan, Scene, TimeSpan
from mlusim.time.timing import PIPES

if TYPE_CHECKING:
    from mlusim.machine.launch import Launch

MOST_CORES = 4  # IPU cores in the excerpt
WHOLE = 400  # spans of these cores, up to which the whole launch is shown
SHOWN = 60  # spans of the first core, otherwise
LOOKED_AT = 100_000  # spans from which the excerpt is chosen
LONGER = 1.02  # a place whose end is later than the first place's by this factor is shown
NEAR = 1e-6  # us

OTHERS = "other cores"
"""The cause of waits at a barrier."""
_ORDER = (
    *(PLACES.index(pipe) for pipe in PIPES[:4]),
    PLACES.index(STORE),
    PLACES.index(PIPES[4]),
    PLACES.index(WAIT),
)


@frozen
class ExcerptBar:
    """The bar in one row from *start* to *end*, in us from the start of the launch.

    ``where`` is its track.  ``cause`` is the cause of a wait: a track of the core, other cores, or "" if unknown;
    ``tip`` is the full description: the call, its line, its bytes.
    """

    row: int
    where: str
    start: float
    end: float
    cause: str
    tip: str


@frozen
class ExcerptArrow:
    """An arrow from the event that ended a wait to the wait's end: rows, and times in us; ``barrier``: another core's arrival."""

    row: int
    start: float
    other: int
    end: float
    barrier: bool


@frozen
class Excerpt:
    """Rows of (core, track), their bars and arrows, and the range of the launch; times in us from the launch's start.

    ``headline`` is the cause that sets the time.  The launch takes ``total_us``, of which the first ``begins_us`` are
    its start.
    """

    kernel: str
    headline: str
    rows: tuple[tuple[str, str], ...]
    bars: tuple[ExcerptBar, ...]
    arrows: tuple[ExcerptArrow, ...]
    start_us: float
    end_us: float
    total_us: float
    says: str
    begins_us: float

    @property
    def partial(self) -> bool:
        """True if the excerpt is less than the launch."""
        return self.start_us > 0 or self.end_us < self.total_us - NEAR


@frozen
class _Piece:
    """Spans and arrows of several scenes, in one numbering; ``core`` is the core of each span, ``cores`` are the shown ones, in order."""

    spans: tuple[TimeSpan, ...]
    arrows: tuple[Arrow, ...]
    core: tuple[tuple[int, int], ...]
    tasks: tuple[CoreSpan, ...]
    cores: tuple[tuple[int, int], ...]
    complete: bool
    begins: float  # in us from the start of the launch


def _bar(piece: _Piece, n: int, row: int, window: tuple[float, float], cause: Arrow | None) -> ExcerptBar:
    """Return the bar of span *n* in *row*, clipped to *window* (us)."""
    span, (start, end) = piece.spans[n], window
    return ExcerptBar(
        row,
        span.where,
        piece.begins + max(start, span.start_us),
        piece.begins + min(end, span.end_us),
        _cause(piece, cause) if span.where == WAIT else "",
        _tip(piece, n, cause),
    )


def excerpt_of(launch: "Launch") -> Excerpt | None:
    """Return the representative excerpt of *launch*; None if it does nothing.

    It is all of some cores if that is short, else the middle; the cores are the first ones, and the one that ends
    last.
    """
    piece = _piece(launch)
    if piece is None:
        return None
    total = max(launch.time_us, max(span.end_us for span in piece.spans) + piece.begins)
    start, end = _window(piece, total - piece.begins)
    shown = [n for n, span in enumerate(piece.spans) if span.end_us > start and span.start_us < end]
    rows = sorted(
        {(piece.core[n], PLACES.index(piece.spans[n].where)) for n in shown},
        key=lambda row: (piece.cores.index(row[0]), _ORDER.index(row[1])),
    )
    number = {row: at for at, row in enumerate(rows)}
    at = {n: number[piece.core[n], PLACES.index(piece.spans[n].where)] for n in shown}
    causes = {arrow.wait: arrow for arrow in piece.arrows}
    names = {(core.cluster, core.core): _named(core) for core in piece.tasks}
    whole = start < 0
    return Excerpt(
        launch.kernel,
        bottleneck(launch),
        tuple((names[core], PLACES[where]) for core, where in rows),
        tuple(_bar(piece, n, at[n], (start, end), causes.get(n)) for n in shown),
        tuple(_arrows(piece, at, end)),
        0.0 if whole else piece.begins + start,
        piece.begins + end,
        total,
        _says(launch, piece, None if whole else (piece.begins + start, piece.begins + end), total),
        piece.begins,
    )


# -- the choice of cores, and of a part of their time ----------------------------------------------


def _slots(launch: "Launch") -> list[int]:
    """Return the shown places of the board: one for unions, several for Block tasks; with the place that ends last."""
    ends: dict[int, float] = {}
    for span in launch.timeline:
        if max(span.busy_us) > 0 or span.end_us > span.start_us:
            ends[span.slot] = max(ends.get(span.slot, 0.0), span.end_us)
    places = sorted(ends)
    if not places:
        return []
    last = max(places, key=lambda place: ends[place])
    most = 1 if launch.kind.startswith("UNION") else MOST_CORES
    first = places[:most]
    if last not in first and ends[last] > LONGER * max(ends[place] for place in first):
        first[-1] = last
    return first


def _piece(launch: "Launch") -> _Piece | None:
    """Return the rows of the shown cores in the whole launch, up to the limit of spans."""
    scenes = list(launch.timeline.scenes(LOOKED_AT, frozenset(_slots(launch))))
    active = {
        (core.memory_core, core.cluster, core.core)
        for scene in scenes
        for core in (scene.cores[member] for member in {span.member for span in scene.spans})
    }
    ipu = [core[1:] for core in sorted(active) if not core[0]][:MOST_CORES]
    memory = [core[1:] for core in sorted(active) if core[0]][:1]
    cores = (*ipu, *memory)
    if not cores:
        return None
    spans: list[TimeSpan] = []
    arrows: list[Arrow] = []
    homes: list[tuple[int, int]] = []
    tasks: list[CoreSpan] = []
    for scene in scenes:
        kept = [n for n, span in enumerate(scene.spans) if _home(scene, span) in cores]
        number = {n: len(spans) + at for at, n in enumerate(kept)}
        spans += [evolve(scene.spans[n], member=len(tasks) + scene.spans[n].member) for n in kept]
        homes += [_home(scene, scene.spans[n]) for n in kept]
        arrows += [
            Arrow(number[a.cause], number[a.wait], a.barrier)
            for a in scene.arrows
            if a.cause in number and a.wait in number
        ]
        tasks += scene.cores
    complete = all(scene.complete for scene in scenes)
    begins = launch.forecast.start_us
    return _Piece(tuple(spans), tuple(arrows), tuple(homes), tuple(tasks), cores, complete, begins)


def _home(scene: Scene, span: TimeSpan) -> tuple[int, int]:
    core = scene.cores[span.member]
    return core.cluster, core.core


def _window(piece: _Piece, last: float) -> tuple[float, float]:
    """Return the shown range, in us from the start of the first task: everything from the start of the launch, or the middle."""
    if len(piece.spans) <= WHOLE and piece.complete:
        return -piece.begins, last
    lead = [span for span, core in zip(piece.spans, piece.core, strict=True) if core == piece.cores[0]]
    begin = max(0, len(lead) // 2 - SHOWN // 2)
    part = lead[begin : begin + SHOWN]
    return part[0].start_us, max(span.end_us for span in part if span.where != WAIT or span is part[-1])


def _arrows(piece: _Piece, at: dict[int, int], end: float) -> Iterator[ExcerptArrow]:
    for arrow in piece.arrows:
        if arrow.cause in at and arrow.wait in at and piece.spans[arrow.wait].end_us <= end + NEAR:
            cause, wait = piece.spans[arrow.cause], piece.spans[arrow.wait]
            left = cause.start_us if arrow.barrier else cause.end_us
            yield ExcerptArrow(
                at[arrow.cause],
                piece.begins + left,
                at[arrow.wait],
                piece.begins + wait.end_us,
                arrow.barrier,
            )


# -- words -----------------------------------------------------------------------------------------


def _cause(piece: _Piece, arrow: Arrow | None) -> str:
    if arrow is None:
        return ""
    return OTHERS if arrow.barrier else piece.spans[arrow.cause].where


def _tip(piece: _Piece, n: int, arrow: Arrow | None) -> str:
    """Return the tooltip of a bar: the call and its line, its data or its cause, its time, its duration, and its core."""
    span = piece.spans[n]
    lasting = span.end_us - span.start_us
    parts = [_call(span)]
    if span.where == WAIT:
        parts = [f"waits at {_call(span)}"] if span.line else ["waits"]
        if arrow is not None and arrow.barrier:
            other = piece.tasks[piece.spans[arrow.cause].member]
            parts.append(f"for task {other.task} on {_named(other)}, the last to arrive")
        elif arrow is not None:
            cause = piece.spans[arrow.cause]
            named = cause.where if "DMA" in cause.where else f"{cause.where} pipe"
            parts.append(f"for the {'IO-DMA' if cause.where == STORE else named}: {_call(cause)}")
    elif span.amount:
        parts.append(f"{span.direction} {span.amount:,} {span.unit}".strip())
    begin = piece.begins + span.start_us
    parts.append(f"{begin:,.3f} to {begin + lasting:,.3f} us, which is {lasting:,.4g} us")
    shared = lasting - span.busy_us
    if span.where != WAIT and shared > 0.01 * lasting:
        parts.append(f"of which {shared:,.3g} us for its share of the memory")
    return "; ".join([*parts, f"task {piece.tasks[span.member].task}"])


def _call(span: TimeSpan) -> str:
    return f"{span.name}, {shown_file(span.file)}:{span.line}" if span.line else span.name


def _named(core: CoreSpan) -> str:
    return f"cluster {core.cluster} {'memory core' if core.memory_core else f'core {core.core}'}"


def _says(launch: "Launch", piece: _Piece, window: tuple[float, float] | None, total: float) -> str:
    """Return a phrase with the shown cores, and the shown part of the launch."""
    of = sum(core.active_us > 0 for core in launch.profile.cores if not core.memory_core)
    kinds = {(task.cluster, task.core): task.memory_core for task in piece.tasks}
    ipu = sum(not kinds[core] for core in piece.cores)
    memory = " and a memory core" if ipu < len(piece.cores) else ""
    whose = f"{counted(ipu, 'core')}{memory}" if ipu else "a memory core"
    if of > ipu:
        whose = f"{ipu} of the {counted(of, 'core')} that work{memory}"
    if window is None:
        return f"{whose}, from beginning to end"
    start, end = window
    return f"{whose}: {microseconds(start)} to {microseconds(end)} us of {microseconds(total)} us"
