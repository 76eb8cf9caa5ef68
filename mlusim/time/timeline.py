"""The timeline of a launch: its tasks, and on request every instruction on its pipe with its dependencies."""

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
from attrs import evolve, frozen

from mlusim.arch.board import Board
from mlusim.counted import plural
from mlusim.memory.space import DIRECTIONS
from mlusim.time import log, timing
from mlusim.time.confidence import Amounts, Certainty, Unsure, certainty, named
from mlusim.time.pace import Times
from mlusim.time.profile import NO_PROFILE, Profile, home, profile
from mlusim.time.quantities import TENSOR, VECTOR
from mlusim.time.row_times import (
    CAUSE,
    FIRST,
    HERE,
    ON_IO,
    ON_MOVE,
    ON_SCALAR,
    ON_STORE,
    ON_TENSOR,
    ON_VECTOR,
    START,
    WAITING,
    Pieces,
    Spans,
    Track,
    joined,
    pieces,
    tracks,
)

# -- times on the board, where cores share the off-chip memory -----------------------------------------
#
# The additional time of a task on the board is distributed evenly over its copies; a vector instruction
# takes the same time as without contention. Cores that meet at barriers share one conversion of times,
# other cores have one each.


@frozen(eq=False)
class Warp:
    """Converts times without contention (``alone``) to times on the board (``there``); pieces on the tracks ``where`` are stretched."""

    alone: Times
    there: Times
    where: tuple[int, ...]

    def __call__(self, times: Any) -> Any:
        """Convert *times* of a task without contention to times on the board."""
        return np.interp(times, self.alone, self.there)

    def ends(self, parts: Pieces) -> Any:
        """Return the end times of *parts* on the board."""
        # A wait lasts until the awaited effect is done.
        longer = np.isin(parts.where, (*self.where, WAITING))
        return np.where(longer, self(parts.end), self(parts.start) + parts.end - parts.start)


def warps(
    tracks: Sequence[Track], of_cores: Sequence[Pieces], spans: Sequence[timing.TaskSpan]
) -> list[Warp]:
    """Return the conversion for each core of a task or union that runs in *spans*; *of_cores* are the cores' pieces."""
    if any((track.kinds == log.MEET).any() for track in tracks):
        alone = max(track.end for track in tracks)
        begin, end = min(s.start_us for s in spans), max(s.end_us for s in spans)
        return [_warp(of_cores, alone, begin, end)] * len(tracks)
    return [
        _warp([of_core], track.end, span.start_us, span.end_us)
        for track, of_core, span in zip(tracks, of_cores, spans, strict=True)
    ]


def _warp(of_cores: Sequence[Pieces], alone: float, begin: float, end: float) -> Warp:
    """Return the conversion to times on the board: the time beyond *alone* is added to pieces that use the memory, if any."""
    where = next(
        # Copies use the memory; without copies, scalar accesses do.
        (
            places
            for places in ((ON_IO, ON_STORE), (ON_SCALAR,))
            if any(np.isin(of_core.where, places).any() for of_core in of_cores)
        ),
        tuple(range(ON_MOVE + 1)),
    )
    chosen = [of_core.chosen(np.isin(of_core.where, where)) for of_core in of_cores]
    starts, ends = np.concatenate([c.start for c in chosen]), np.concatenate([c.end for c in chosen])
    together = joined(Spans(np.zeros(len(starts), np.int64), starts, ends))
    low, high = together.starts, together.ends
    extra, total = max(0.0, end - begin - alone), float((high - low).sum())
    if not extra or not total:
        return Warp(np.array([0.0, max(alone, 1e-12)]), np.array([begin, max(end, begin)]), where)
    points = np.concatenate([[0.0], np.stack([low, high], axis=1).reshape(-1), [max(alone, high[-1])]])
    gained = np.cumsum(high - low) * (extra / total)
    late = np.stack([np.concatenate([[0.0], gained[:-1]]), gained], axis=1).reshape(-1)
    return Warp(points, begin + points + np.concatenate([[0.0], late, [extra]]), where)


MOST_SPANS = 200_000
"""Default limit of the spans that `Timeline.scenes` returns."""

WAIT = "wait"
STORE = "IO-DMA stores"
PLACES = (*timing.PIPES, WAIT, STORE)
"""The tracks of a core: its pipes, its waits, and the IO-DMA's channel for asynchronous stores."""
_UNNAMED = (
    "scalar work",
    "vector work",
    "tensor work",
    "off-chip copies",
    "on-chip copies",
    "wait",
    "off-chip stores",
)


@frozen
class CoreSpan:
    """A task on its core: cluster and number of the core, start and end in us."""

    task: int
    cluster: int
    core: int
    memory_core: bool
    start_us: float
    end_us: float


@frozen
class TimeSpan:
    """An activity or a wait of a core.

    ``member`` is the index of the task in its scene, ``where`` a pipe or "wait". ``busy_us`` is its time
    without contention; it lasts longer if the off-chip memory is shared. ``amount`` is in ``unit``: bytes,
    elements, cycles, products or operations; ``direction`` is that of a copy. A span without a line is a
    whole row of the log.
    """

    member: int
    where: str
    name: str
    file: str
    line: int
    start_us: float
    end_us: float
    busy_us: float
    amount: int = 0
    unit: str = ""
    direction: str = ""


@frozen
class Arrow:
    """A wait and the span that ended it, as indices into their scene's spans; ``barrier``: the arrival of another core."""

    cause: int
    wait: int
    barrier: bool


@frozen
class Scene:
    """A task or union: its cores, its spans ordered by start, its arrows; ``complete``: no span was omitted."""

    cores: tuple[CoreSpan, ...]
    spans: tuple[TimeSpan, ...]
    arrows: tuple[Arrow, ...]
    complete: bool


class Timeline(Sequence[timing.TaskSpan]):
    """The spans of the tasks; `scenes` returns their contents. Times are in us from the start of the first task."""

    __slots__ = ("_board", "_spans", "_tasks", "_unions")

    def __init__(
        self, spans: Sequence[timing.TaskSpan], tasks: Sequence[log.TaskWork], board: Board, unions: int
    ) -> None:
        self._spans, self._tasks = tuple(spans), tuple(tasks)
        self._board, self._unions = board, unions

    @overload
    def __getitem__(self, index: int) -> timing.TaskSpan: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[timing.TaskSpan, ...]: ...
    def __getitem__(self, index: int | slice) -> timing.TaskSpan | tuple[timing.TaskSpan, ...]:
        return self._spans[index]

    def __len__(self) -> int:
        return len(self._spans)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timeline) and self._spans == other._spans

    def __hash__(self) -> int:
        return hash(self._spans)

    def __repr__(self) -> str:
        return f"<Timeline of {len(self)} {plural(len(self), 'task')}>"

    @property
    def named(self) -> bool:
        """True if the launch kept its instructions, so that spans have names and lines."""
        return bool(self._tasks) and all(task.steps is not None for task in self._tasks)

    def scenes(self, most: int = MOST_SPANS, slots: Collection[int] | None = None) -> Iterator[Scene]:
        """Yield the tasks or unions in order of start, with at most *most* spans in total; with *slots*, only those on these slots.

        The scene that reaches the limit has its earliest spans only; later scenes have no spans.
        """
        for group in self._groups(slots):
            scene = _scene(group, most)
            most -= len(scene.spans)
            yield scene

    def _groups(self, slots: Collection[int] | None) -> Iterator["_Placed"]:
        at = 0
        last: tuple[Any, list[_Member]] = (None, [])
        for group in timing.groups_of(self._tasks):
            spans = self._spans[at : at + len(group)]
            at += len(group)
            if slots is not None and spans[0].slot not in slots:
                continue
            key = [(t.log, t.steps, t.memory_core, t.cluster) for t in group]
            if last[0] != key:
                timed = timing.timed_group(group, self._board, timing.neighbours(self._tasks, self._board))
                cores = zip(group, tracks(timed, self._board), strict=True)
                last = key, [_Member(t.steps, track, pieces(track, t.steps)) for t, track in cores]
            yield _Placed(group, spans, last[1], self._board, self._unions)


@frozen(eq=False)
class _Member:
    """The timeline of one core without contention."""

    steps: log.CoreSteps | None
    track: Track
    pieces: Pieces


@frozen(eq=False)
class _Placed:
    """A task or union with its position on the board."""

    tasks: Sequence[log.TaskWork]
    spans: Sequence[timing.TaskSpan]
    members: Sequence[_Member]
    board: Board
    unions: int

    def warps(self) -> list[Warp]:
        """Return, for each core, the conversion from its times without contention to times on the board."""
        return warps([m.track for m in self.members], [m.pieces for m in self.members], self.spans)


# -- scenes ----------------------------------------------------------------------------------------


def _scene(placed: _Placed, most: int) -> Scene:
    times, cores = placed.warps(), []
    for task, span, member, warp in zip(placed.tasks, placed.spans, placed.members, times, strict=True):
        cluster, core = home(span, task, placed.board, placed.unions)
        begin, end = (float(warp(t)) for t in (0.0, member.track.end))
        cores.append(CoreSpan(task.task, cluster, core, task.memory_core, begin, end))
    if most <= 0:
        return Scene(tuple(cores), (), (), complete=not any(len(m.pieces) for m in placed.members))
    members, complete = _first(placed.members, most)
    spans: list[TimeSpan] = []
    first = []
    for number, member in enumerate(members):
        first.append(len(spans))
        spans += _spans(number, member, times[number])
    arrows = [*_pipe_arrows(members, first), *_barrier_arrows(members, first)]
    order = sorted(range(len(spans)), key=lambda n: (spans[n].start_us, n))
    at = {old: new for new, old in enumerate(order)}
    moved = tuple(Arrow(at[a.cause], at[a.wait], a.barrier) for a in arrows)
    return Scene(tuple(cores), tuple(spans[n] for n in order), moved, complete)


def _first(members: Sequence[_Member], most: int) -> tuple[list[_Member], bool]:
    """Return the members with only the *most* earliest of all pieces, and whether no piece was omitted."""
    starts = np.concatenate([member.pieces.start for member in members])
    if len(starts) <= most:
        return list(members), True
    until = np.partition(starts, most)[most]
    return [evolve(m, pieces=m.pieces.chosen(m.pieces.start < until)) for m in members], False


def _spans(number: int, member: _Member, warp: Warp) -> Iterator[TimeSpan]:
    parts = member.pieces
    start, end, lasting = warp(parts.start), warp.ends(parts), parts.end - parts.start
    busy = np.where(parts.where == WAITING, end - start, lasting)
    rows = zip(
        parts.where.tolist(), parts.step.tolist(), start.tolist(), end.tolist(), busy.tolist(), strict=True
    )
    table = member.steps.table if member.steps is not None else log.Table()
    for where, step, begin, stop, alone in rows:
        if step < 0:
            yield TimeSpan(number, PLACES[where], _UNNAMED[where], *log.NOWHERE, begin, stop, alone)
            continue
        done = table.steps[step]
        file, line = table.sites[done.at.site]
        name = table.name(done.at.number)
        amount, unit = _amount(done, where)
        # A direction is stored as a negative number, a number of elements as a positive one.
        direction = DIRECTIONS[-1 - done.at.lanes].name if done.at.lanes < 0 else ""
        yield TimeSpan(number, PLACES[where], name, file, line, begin, stop, alone, amount, unit, direction)


def _amount(step: log.LoggedStep, where: int) -> tuple[int, str]:
    sums = step.row[log.SUMS :]
    if where in (ON_IO, ON_MOVE, ON_STORE):
        return step.nbytes, "bytes"
    if where == ON_VECTOR:
        return (step.at.lanes, "elements") if step.at.lanes > 0 else (sums[VECTOR], "cycles")
    if where == ON_TENSOR:
        return sums[TENSOR], "products"
    return (step.issued, "accesses") if log.LOAD <= step.at.number < log.LEAVE else (0, "")


def _pipe_arrows(members: Sequence[_Member], first: Sequence[int]) -> Iterator[Arrow]:
    """Yield arrows from the last effect on the awaited pipe to each wait."""
    for base, member in zip(first, members, strict=True):
        parts, kinds, times = member.pieces, member.track.kinds, member.track.times
        compute = np.flatnonzero((parts.where == ON_VECTOR) | (parts.where == ON_TENSOR))
        flies = kinds[parts.row]
        flights = {
            which: np.flatnonzero(np.isin(parts.where, pipes) & (flies == kind))
            for which, pipes, kind in (
                (log.FOR_IO, (ON_IO, ON_STORE), log.IO_FLIGHT),
                (log.FOR_MOVE, (ON_MOVE,), log.MOVE_FLIGHT),
            )
        }
        for n in np.flatnonzero(parts.where == WAITING).tolist():
            row = int(parts.row[n])
            queued = parts.start[n] < times[row, FIRST] and times[row, HERE] >= times[row, START]
            cause = log.FOR_COMPUTE if queued else 0 if kinds[row] == log.MEET else int(times[row, CAUSE])
            candidates = flights.get(cause, compute if cause == log.FOR_COMPUTE else None)
            if candidates is None:
                continue
            before = int(np.searchsorted(parts.row[candidates], row, side="left" if queued else "right"))
            if before:
                yield Arrow(base + int(candidates[before - 1]), base + n, barrier=False)


def _barrier_arrows(members: Sequence[_Member], first: Sequence[int]) -> Iterator[Arrow]:
    """Yield arrows from the last core that arrives at a barrier to the other cores."""
    meetings: dict[int, list[tuple[float, int, int]]] = {}
    held: dict[int, list[tuple[int, int]]] = {}
    for base, member in zip(first, members, strict=True):
        parts, track = member.pieces, member.track
        numbers, roles = track.column(log.ARGUMENT), track.column(log.OWN) // log.ROLE
        waits = np.flatnonzero((parts.where == WAITING) & (track.kinds[parts.row] == log.MEET))
        for n in waits.tolist():
            row = int(parts.row[n])
            if parts.start[n] < track.times[row, FIRST]:
                continue  # it waits for the compute stream
            number, role = int(numbers[row]), roles[row]
            if role != log.WAITS_FOR:
                meetings.setdefault(number, []).append((float(track.times[row, CAUSE]), base + n, base))
            if role != log.ARRIVES:
                held.setdefault(number, []).append((base + n, base))
    for number, met in meetings.items():
        _, last, base_of_last = max(met)
        yield from (
            Arrow(last, other, barrier=True) for other, core in held.get(number, ()) if core != base_of_last
        )


class Forecast:
    """The prediction for *tasks* on *board*; each place has *unions* clusters (0: a single core).

    Each part is computed on first use and cached, because reasons, advice and pages all need it. Without
    tasks, the launch was not timed.
    """

    def __init__(self, tasks: Sequence[log.TaskWork], board: Board, unions: int) -> None:
        self.tasks = tuple(tasks)
        self.board = board
        self.unions = unions
        self._amounts: Amounts = {}

    def __repr__(self) -> str:
        return f"<Forecast {self.found.time_us:.2f} us, bound by {self.found.bound}>"

    @cached_property
    def found(self) -> timing.Prediction:
        """The predicted time, the resource that bounds it, and the spans of the tasks."""
        places = self.board.places(self.unions)
        return timing.predict(self.work, self.board, places) if self.tasks else timing.UNTIMED

    @cached_property
    def start_us(self) -> float:
        """The time of the launch apart from its tasks, in us."""
        return timing.launch_us(self.board)

    @cached_property
    def band(self) -> tuple[float, float]:
        """The lowest and highest time in us within the uncertainty of constants and model; NaN if the launch was not timed."""
        usual = self.found.time_us
        if not self.tasks:
            return usual, usual
        off = self.certainty.factor(self.board)
        return timing.band(self.work, self.board, self.board.places(self.unions), usual, off)

    @cached_property
    def certainty(self) -> Certainty:
        """The composition of the time by kind, and its poorly measured parts."""
        spans = self.found.spans
        begun = timing.launch_us(self.board, len({span.slot for span in spans}))
        lasting = sum([span.end_us - span.start_us for span in spans])
        launching = min(1.0, begun / self.found.time_us)
        return certainty(self.tasks, self.board, lasting, launching, self._amounts)

    @property
    def unsure(self) -> tuple[Unsure, ...]:
        """The poorly measured mechanisms that widen the band: those with at least a tenth of the time."""
        return named(self.certainty.unsure)

    @cached_property
    def work(self) -> timing.GroupedTasks:
        """The tasks, grouped by what runs together."""
        return timing.GroupedTasks(self.tasks, self.board)

    @cached_property
    def timeline(self) -> Timeline:
        """The spans of the tasks, with their contents on request."""
        return Timeline(self.found.spans, self.tasks, self.board, self.unions)

    @cached_property
    def profile(self) -> Profile:
        """The time of the cores by activity."""
        return profile(self.work, self.timeline, self.board, self.unions) if self.tasks else NO_PROFILE

    def on(self, board: Board) -> "Forecast":
        """Return the same work on another board of the architecture."""
        moved = Forecast(self.tasks, board, self.unions)
        moved.work, moved._amounts = self.work.on(board), self._amounts
        return moved
