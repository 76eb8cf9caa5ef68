"""Advice for a launch: the changes with the largest predicted gain, each timed by the model on the changed work."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from attrs import asdict, frozen

from mlusim.arch.board import Board
from mlusim.counted import count, counted, precise
from mlusim.memory.space import DIRECTIONS
from mlusim.report.figures import Figures, figures
from mlusim.time import changed_work as work
from mlusim.time.lines import Line
from mlusim.time.log import KIND, MEET, CoreLog, TaskWork
from mlusim.time.timing import GroupedTasks, predict
from mlusim.time.work import READS, WRITES

if TYPE_CHECKING:
    from mlusim.machine.launch import Launch

MOST = 3
LEAST = 0.05
"""The least share of the time that a change must save; less does not justify a rewrite."""
MOST_START = 0.5
"""The share of the time for starting the launch above which only fewer launches would help."""
BARRIERS = 4  # per task: with fewer, none is called superfluous
LITTLE = 0.05  # of the time of copies; below it there is nothing to compute at the same time
UNEVEN = 1.1  # ratio of the slowest core's time to the mean


@frozen
class Advice:
    """One change: its ``name``, its description in ``words``, its place (a line of the kernel, or ""), and the time in us after it.

    ``gain`` is the time before divided by the time after.
    """

    name: str
    words: str
    where: str
    time_us: float
    gain: float

    @property
    def change(self) -> str:
        """The change and its place, as a phrase."""
        return f"{self.words} ({self.where})" if self.where else self.words

    def __str__(self) -> str:
        """Return the advice as a sentence."""
        return f"{self.change}: {precise(self.time_us)} us, {self.gain:.2f} times as fast"

    def to_json(self) -> dict[str, Any]:
        """Return the advice as plain data."""
        return asdict(self)


@frozen
class _Change:
    """A possible change: its name and words, the changed work, and the pipe whose most expensive line it affects, or the ``line`` itself."""

    name: str
    words: str
    tasks: list[TaskWork]
    pipe: str = ""
    line: int = 0


def advice(launch: "Launch") -> tuple[Advice, ...]:
    """Return at most `MOST` changes that would make *launch* faster, the largest gain first; none if it was not timed.

    Each is timed by the model for the same work with only this change, by `mlusim.time.changed_work`; whether the
    kernel can be rewritten in this way is for its author to decide.
    """
    # Advice on the kernel is useless if its start is most of the time.
    if not launch.tasks or launch.time_us * MOST_START < launch.forecast.start_us:
        return ()
    board = launch.forecast.board
    places, before = board.places(launch.forecast.unions), launch.time_us
    found: list[Advice] = []
    lines = launch.lines if launch.timeline.named else ()
    for change in _changes(launch, board, figures(launch)):
        # By the model instead of a rule of thumb: a change that shifts the bound gains less than it saves.
        after = predict(GroupedTasks(change.tasks, board), board, places).time_us
        if after < before * (1 - LEAST):
            where = f"line {change.line}" if change.line else _where(lines, change.pipe)
            found.append(Advice(change.name, change.words, where, after, before / after))
    return tuple(sorted(found, key=lambda one: one.time_us)[:MOST])


def _where(lines: "tuple[Line, ...]", pipe: str) -> str:
    """Return the line that keeps *pipe* busy longest; for "wait", the line that waits longest."""

    def cost(line: Line) -> float:
        return line.wait_us if pipe == "wait" else line.busy_us.get(pipe, 0.0)

    dearest = max((line for line in lines if line.line), key=cost, default=None)
    return f"line {dearest.line}" if dearest is not None and pipe and cost(dearest) > 0 else ""


def _changes(launch: "Launch", board: Board, about: Figures) -> Iterator[_Change]:
    yield from _placed(launch, board, about)
    yield from _scalars(launch)
    yield from _vectors(launch, about)
    yield from _copies(launch, about)
    yield from _again(launch, board)
    yield from _barriers(launch)
    yield from _overlap(launch, about)


def _placed(launch: "Launch", board: Board, about: Figures) -> Iterator[_Change]:
    """Yield the same work distributed evenly over all cores."""
    idle, ragged = about.working < about.cores, about.waves > 1 and about.last_wave < 1
    if not (idle or ragged or about.balance > UNEVEN):
        return
    times, at = [], 0
    for group in launch.forecast.work.groups:
        spans = launch.timeline[at : at + len(group)]
        times.append(max(span.end_us for span in spans) - min(span.start_us for span in spans))
        at += len(group)
    if not max(times):
        return
    unions = launch.forecast.unions
    used = about.cores if unions else min(about.cores, work.pieces_of(launch.forecast.work.groups))
    cores = f"all {about.cores} cores" if used == about.cores else f"{used} cores"
    words = (
        f"give {cores} work, of which {about.working} {'has' if about.working == 1 else 'have'} some"
        + ("" if used == about.cores else "; it divides into no more pieces")
        if idle
        else f"spread the work evenly over {cores}, of which core {about.slowest} does {about.balance:.1f} times the mean"
        if about.balance > UNEVEN
        else f"cut the work so that the last of {about.waves} waves fills {cores}"
    )
    yield _Change("cores", words, work.spread(launch.tasks, times, board.places(launch.forecast.unions)))


def _scalars(launch: "Launch") -> Iterator[_Change]:
    accesses = sum(launch.scalar_loads.values()) + sum(launch.scalar_stores.values())
    if accesses:
        words = f"vector instructions instead of the loop that makes {count(accesses)} scalar accesses"
        yield _Change("vectorise", words, work.changed(launch.tasks, work.vectorised), "scalar")


def _vectors(launch: "Launch", about: Figures) -> Iterator[_Change]:
    """Yield the work with fewer and longer vector instructions, whose lines are full."""
    used, paid = (sum(getattr(lanes, what) for lanes in about.lanes.values()) for what in ("used", "paid"))
    if not about.vectors or not used:
        return
    mean = used / about.vectors
    starts = about.starts * min(1.0, mean / work.LONG_COPY)
    part = starts + (1 - about.starts) * used / paid
    words = f"vector instructions of {work.LONG_COPY:,} bytes, not of {mean:,.0f}"
    yield _Change(
        "longer vectors",
        words,
        work.changed(launch.tasks, lambda log: work.longer_vectors(log, part)),
        "vector",
    )


def _copies(launch: "Launch", about: Figures) -> Iterator[_Change]:
    """Yield the work with fewer and longer off-chip copies, of whole lines."""
    if not about.transfers or not about.line_bytes:
        return
    mean = about.io_bytes / about.transfers
    fewer, lines = min(1.0, mean / work.LONG_COPY), min(1.0, about.io_bytes / about.line_bytes)
    words = f"off-chip copies of {work.LONG_COPY:,} bytes in whole lines, not of {mean:,.0f}"
    yield _Change(
        "longer copies",
        words,
        work.changed(launch.tasks, lambda log: work.longer_copies(log, fewer, lines)),
        "IO-DMA",
    )


def _again(launch: "Launch", board: Board) -> Iterator[_Change]:
    """Yield the work with data loaded once that each iteration loads again."""
    # Half of the memory is left for other data.
    tasks, kept = work.loaded_once(launch.tasks, board.arch.nram // 2)
    if kept:
        yield _Change(
            "load once", f"load the {counted(kept, 'byte')} once that each turn loads again", tasks, "IO-DMA"
        )


def _barriers(launch: "Launch") -> Iterator[_Change]:
    often = max(
        sum(
            int(times @ (distinct[:, KIND] == MEET))
            for (distinct, _), times in zip(log.chunks, log.times, strict=True)
        )
        for log in dict.fromkeys(task.log for task in launch.tasks)
    )
    if often >= BARRIERS:
        words = f"half of the {count(often)} barriers that a core meets"
        left_out: dict[int, bool] = {}
        tasks = work.changed(launch.tasks, lambda log: work.half_the_barriers(log, left_out))
        yield _Change("fewer barriers", words, tasks, "wait")


def _overlap(launch: "Launch", about: Figures) -> Iterator[_Change]:
    """Yield the work with copies that overlap computation, or other copies."""
    if not about.transfers:
        return
    if any(map(work.overlaps_loads, dict.fromkeys(task.log for task in launch.tasks))):
        words = "wait for a store when the next piece is computed, not at once"
        tasks = work.changed(launch.tasks, work.waits_later)
        yield _Change("wait later", words, tasks, line=_line_of(launch, work.waits_at_once))
        return
    stored, loaded = (
        sum(launch.traffic.get(d.name, 0) for d, there in zip(DIRECTIONS, sides, strict=True) if there)
        for sides in (WRITES, READS)
    )
    stores = stored / (stored + loaded) if stored + loaded else 0.0
    computes = max(about.busy.get(pipe, 0.0) for pipe in ("scalar", "vector", "tensor"))
    line = 0
    if computes < LITTLE * about.busy.get("IO-DMA", 0.0) and stored and loaded:
        name, words = "both directions", "use both directions: load a piece while the one before is stored"
    elif any(len(work.loads_at_once(log)) > 1 for log in dict.fromkeys(task.log for task in launch.tasks)):
        # Logs have no on-chip addresses: whether a second buffer exists already is for the author to see.
        name, line = "wait later", _line_of(launch, work.loads_at_once)
        words = "load into a second buffer, and wait for that load when the piece in the first is computed, not at once"
    else:
        name = "second buffer"
        words = "a second buffer, so that a piece is copied while the one before is computed"
    tasks = work.changed(launch.tasks, lambda log: work.second_buffer(log, stores))
    yield _Change(name, words, tasks, "IO-DMA", line)


def _line_of(launch: "Launch", waits: Callable[[CoreLog], list[int]]) -> int:
    """Return the line with most of the *waits*, rows of a log, in the first task that has any; 0 if lines are unknown."""
    for task in launch.tasks:
        if task.steps is None:
            continue
        table, rows = task.steps.table, task.steps.rows
        sites = Counter(table.steps[int(rows[at])].at.site for at in waits(task.log) if at < len(rows))
        if sites:
            return table.sites[sites.most_common(1)[0][0]][1]
    return 0
