"""The reasons for a call's efficiency: numbers and sentences from the quantities in its record."""

import linecache
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from attrs import asdict, frozen

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.counted import count, counted, percent, size, times, whole
from mlusim.errors import shown_file
from mlusim.report.efficiency import Acceptance, acceptance
from mlusim.report.figures import Figures, figures
from mlusim.time.lines import Line
from mlusim.time.rates import DRAM_CEILING
from mlusim.time.timing import PIPES, launch_us

if TYPE_CHECKING:
    from mlusim.machine.launch import Launch
    from mlusim.report.record import CallRecord, LaunchRecord

GOOD_TRANSFER = 512  # bytes; the vendor's helpers state that transfers of this size or more are best
FULL = 0.9  # of the off-chip bandwidth: above it, cores and vectors do not matter
LEAST = 0.04  # a reason with less weight, as a share of the time, is not given
ALL = 1.9  # a weight that leaves nothing to explain: starting takes more than 0.9 of the time
MOST = 3  # reasons in a sentence
_OF_THE_LONGEST = ("balance", "slowest", "working", "cores", "waves", "last_wave")  # figures of one launch
_BOUND = {"io": "IO", "compute": "Compute"}
_WORD = {"io": "IO", "compute": "compute"}
_PEAK = {"io": "bandwidth", "compute": "compute force"}


class Reason(NamedTuple):
    """A cause in words, and roughly the share of the time that it costs or saves.

    ``chief`` is the headline of the cause that sets the time, "" for all others.
    """

    weight: float
    words: str
    chief: str = ""


@frozen
class Explanation:
    """The explanation of one call.

    ``of_theory`` is the ratio of the bytes moved off the chip to the theory bytes, ``directions`` the same by copy
    direction; ``padding`` is the share of vector lanes without an element, ``lanes`` the same by intrinsic.  ``busy``
    is each pipe's share of the time, the mean of the working cores; ``overlap`` the part of the busy time in which
    two or more pipes are busy; ``waits`` the shares of the tasks' time in which they wait for their own "pipes", for
    other "cores" and for the "memory", all over all launches.  ``balance`` (slowest over mean core), ``slowest`` (its
    number) and the waves are those of the longest launch.  ``memory`` is the used share of each on-chip memory.
    """

    sentence: str
    reasons: tuple[str, ...]
    acceptance: Acceptance | None = None
    of_theory: float | None = None
    directions: Mapping[str, float] | None = None
    padding: float | None = None
    lanes: Mapping[str, float] | None = None
    busy: Mapping[str, float] | None = None
    overlap: float | None = None
    waits: Mapping[str, float] | None = None
    balance: float | None = None
    slowest: int | None = None
    working: int | None = None
    cores: int | None = None
    waves: int | None = None
    last_wave: float | None = None
    memory: Mapping[str, float] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as plain data."""
        return asdict(self)


def explained(record: "CallRecord") -> Explanation:
    """Return the explanation of *record*; if the call launched nothing, it is only a sentence."""
    efficiency = record.efficiency
    if efficiency is None or not record.launches:
        return Explanation(record.message or "Nothing was launched.", ())
    judged = acceptance(efficiency, record.group, record.rule)
    causes = [reason.words for reason in sorted(_reasons(record), key=lambda r: -r.weight)]
    main = _main(record)
    about = main.figures
    shares = {name: lanes.used / lanes.paid for name, lanes in _lanes(record).items()}
    return Explanation(
        sentence=_sentence(judged, causes, main.bound),
        reasons=tuple(causes),
        acceptance=judged,
        of_theory=record.io_bytes / efficiency.theory_ios if efficiency.theory_ios else None,
        directions={n: b / efficiency.theory_ios for n, b in record.off_chip.items()}
        if efficiency.theory_ios
        else None,
        padding=_padding(record),
        lanes={name: 1 - used for name, used in shares.items()},
        busy=busy_of(record),
        overlap=weighted(record, lambda launch: launch.overlap),
        waits=waits_of(record),
        memory={n: u.high_water / u.capacity for n, u in record.memory.items() if u.capacity},
        **({} if about is None else {name: getattr(about, name) for name in _OF_THE_LONGEST}),
    )


def because(launch: "Launch") -> tuple[str, ...]:
    """Return the causes of the time of *launch*, the most important first; none if it was not timed."""
    return tuple(cause.words for cause in _causes(launch))


def _causes(launch: "Launch") -> list[Reason]:
    """Return the causes for `because`."""
    if not launch.tasks:
        return []
    causes = [*_start(1, launch.forecast.start_us, launch.time_us)]
    # If starting takes nearly all of the time, figures of the rest would explain noise.
    if not any(cause.weight > ALL for cause in causes):
        spent = launch.time_us - launch.forecast.start_us
        causes += [
            one
            for one in _launch(launch.bound, figures(launch), spent, launch.forecast.board)
            if one.weight > LEAST
        ]
    return sorted(causes, key=lambda cause: -cause.weight)


def bottleneck(launch: "Launch") -> str:
    """Return the cause that sets the time of *launch*: "The IO-DMA sets the time: busy 68% of it; 4 of 32 cores have work".

    The most important other cause follows it.  Return "" if the launch was not timed.
    """
    causes = _causes(launch)
    if not causes:
        return ""
    chief = next((cause for cause in causes if cause.chief), causes[0])
    others = [cause.words for cause in causes if cause is not chief]
    return "; ".join([chief.chief, *others[:1]])


@frozen
class CostliestLine:
    """A line of a kernel, its text, and its effect on the time in words."""

    where: str
    text: str
    words: str


def costliest_line(launch: "Launch") -> CostliestLine | None:
    """Return the line that keeps the pipe that sets the time of *launch* busy longest, or else the most expensive line; None without lines."""
    named = launch.tasks and launch.timeline.named
    return costliest_of(launch.lines, launch.bound) if named else None


def costliest_of(every: Sequence[Line], bound: str) -> CostliestLine | None:
    """Return the costliest line of a launch whose time *bound* sets; *every* has all its lines."""
    lines = [line for line in every if line.line]
    total = sum(line.busy_us.get(bound, 0.0) for line in lines)
    if bound in PIPES and total > 0:
        line = max(lines, key=lambda each: each.busy_us.get(bound, 0.0))
        pipe = bound if "DMA" in bound else f"{bound} pipe"
        words = f"keeps the {pipe} busy for {percent(line.busy_us[bound] / total)} of what it is busy"
    elif any(line.time_us for line in lines):
        line = max(lines, key=lambda each: each.time_us)
        words = (
            f"costs {percent(line.time_us / sum(each.time_us for each in lines))} of the time of all cores"
        )
    else:
        return None
    text = linecache.getline(line.file, line.line).strip()
    return CostliestLine(f"{shown_file(line.file)}:{line.line}", text, words)


def waves(why: Explanation) -> str:
    """Return the number of waves and, if there are several, the fill of the last one: "2:12%"."""
    if why.waves is None:
        return "-"
    return f"{why.waves}:{whole(why.last_wave)}" if why.waves > 1 and why.last_wave != 1 else f"{why.waves}"


@frozen
class WhyFigure:
    """A figure of an `Explanation`: its headings in tables and in Markdown, and its text; *pipe* is the pipe that it describes, or ""."""

    heading: str
    markdown: str
    words: Callable[[Explanation], str]
    pipe: str = ""


def _busy_of_pipe(pipe: str, short: str) -> WhyFigure:
    return WhyFigure(short, pipe, lambda why: whole((why.busy or {}).get(pipe)), pipe)


WHY = (
    WhyFigure("moved", "moved / theory", lambda why: times(why.of_theory)),
    WhyFigure("pad", "lanes padded", lambda why: whole(why.padding)),
    *map(_busy_of_pipe, PIPES, ("scal", "vec", "tens", "IO", "move")),
    WhyFigure("two", "overlap", lambda why: whole(why.overlap)),
    WhyFigure("slow", "slowest / mean core", lambda why: times(why.balance)),
    WhyFigure("cores", "cores", lambda why: "-" if why.working is None else f"{why.working}/{why.cores}"),
    WhyFigure("waves", "waves", waves),
)
"""The figures that explain a call, in the order of every table of them."""


def below_the_bar(record: "CallRecord") -> bool:
    """Return True if the call misses its operator's rule, so that reviewers would ask for the reason."""
    efficiency = record.efficiency
    return efficiency is not None and not acceptance(efficiency, record.group, record.rule).accepted


def reasons(record: "CallRecord") -> list[str]:
    """Return the causes that keep the call below its peak, or lift it above, the most important first."""
    if record.efficiency is None:
        return [] if record.fault is not None else ["nothing was launched"]
    return list(explained(record).reasons)


def _sentence(judged: Acceptance, causes: list[str], bound: str) -> str:
    """Return the verdict and the causes.

    The vendor calls the side with the larger efficiency the bottleneck; if in the model the other side sets the time,
    the sentence mentions only the efficiency.
    """
    meets = "meets" if judged.accepted else "misses"
    side, part, peak = _BOUND[judged.side], percent(judged.efficiency), _PEAK[judged.side]
    # The vendor's bottleneck is by efficiency, the model's by time; both in one sentence would contradict
    # each other.
    agree = (judged.side == "io") == (bound == "IO-DMA")
    at = (
        f"{side} bound at {part} of the {peak}"
        if agree
        else f"The larger efficiency is {_WORD[judged.side]}, {part} of the {peak}"
    )
    if judged.asked:
        head = f"{at}, which {meets} the {percent(judged.bar)} asked of {judged.shapes}"
    else:
        head = f"{at}; its document asks for no efficiency, the library's standard for {percent(judged.bar)} on {judged.shapes}"
    return f"{head}: {'; '.join(causes[:MOST])}." if causes else f"{head}."


def _main(record: "CallRecord") -> "LaunchRecord":
    return max(record.launches, key=lambda launch: launch.time_us)


def _lanes(record: "CallRecord") -> dict[str, Any]:
    """Return the lanes by intrinsic, summed over all launches."""
    total: dict[str, Any] = {}
    for launch in record.launches:
        for name, lanes in (launch.figures.lanes if launch.figures is not None else {}).items():
            total[name] = (
                lanes
                if name not in total
                else type(lanes)(total[name].used + lanes.used, total[name].paid + lanes.paid)
            )
    return total


def _padding(record: "CallRecord") -> float | None:
    lanes = _lanes(record).values()
    paid = sum(lane.paid for lane in lanes)
    return 1 - sum(lane.used for lane in lanes) / paid if paid else None


def waits_of(record: "CallRecord") -> dict[str, float]:
    """Return the shares of the tasks' time that are waits, over all launches."""
    return _shares(record, lambda launch: launch.waits)


def busy_of(record: "CallRecord") -> dict[str, float]:
    """Return each pipe's share of the time of all launches, the mean of the working cores."""
    return _shares(record, lambda launch: launch.busy)


def _shares(record: "CallRecord", of: Callable[[Figures], Mapping[str, float]]) -> dict[str, float]:
    """Return the means of the shares *of* a launch's figures over all launches, weighted by their times."""
    timed = [(launch.time_us, of(launch.figures)) for launch in record.launches if launch.figures is not None]
    whole = sum([time for time, _ in timed])
    names = dict.fromkeys([name for _, shares in timed for name in shares])
    return {name: sum([t * shares[name] for t, shares in timed]) / whole if whole else 0.0 for name in names}


def weighted(record: "CallRecord", of: Callable[[Figures], float]) -> float | None:
    """Return the mean of a figure over all launches, weighted by their times; None if none was timed."""
    timed = [(launch.time_us, of(launch.figures)) for launch in record.launches if launch.figures is not None]
    whole = sum([time for time, _ in timed])
    return sum([time * value for time, value in timed]) / whole if whole else None


# -- causes ----------------------------------------------------------------------------------------


def _reasons(record: "CallRecord") -> Iterator[Reason]:
    efficiency = record.efficiency
    assert efficiency is not None
    time_us, board = efficiency.hardware_time_us, find_board(record.board)
    for reason in _start(len(record.launches), launch_us(board), time_us):
        yield reason
        if reason.weight > ALL:
            return
    yield from _theory(record, efficiency.theory_ios)
    main = _main(record)
    if main.figures is not None:
        # Only causes of the longest launch, since those of a short one explain little of the call.
        part = main.time_us / time_us if time_us > 0 else 0.0
        for reason in _launch(main.bound, main.figures, main.time_us - launch_us(board), board):
            if reason.weight * part > LEAST:
                yield Reason(reason.weight * part, reason.words)


def _start(number: int, each_us: float, time_us: float) -> Iterator[Reason]:
    """Yield the share of *time_us* for starting *number* launches, at *each_us*, if it is large."""
    overhead = min(1.0, each_us * number / time_us) if time_us > 0 else 0.0
    if overhead > 0.2:
        launches = "one launch is" if number == 1 else f"{counted(number, 'launch', 'launches')} are"
        words = f"starting {launches} {percent(overhead)} of the time"
        chief = f"Starting the launch sets the time: {percent(overhead)} of it" if 1 + overhead > ALL else ""
        yield Reason(1 + overhead, words, chief)


def _theory(record: "CallRecord", theory: int) -> Iterator[Reason]:
    """Compare the moved bytes with the theory bytes; mention bytes of atomics and fills if they are many."""
    moved = record.io_bytes
    if theory and moved > 1.1 * theory:
        rest = sum(nbytes for name, nbytes in record.off_chip.items() if name not in record.traffic) / moved
        atomics = f", {percent(rest)} of them by atomics and fills" if rest > 0.25 else ""
        words = f"it moves {size(moved)}, {moved / theory:.1f} times the theory bytes{atomics}"
        yield Reason(1 - theory / moved, words)
    elif theory and moved < 0.9 * theory:
        words = f"it moves {size(moved)}, less than the {size(theory)} that the theory counts"
        yield Reason(1 - moved / theory, words)


def _launch(bound: str, about: Figures, spent_us: float, board: Board) -> Iterator[Reason]:
    reached = board.bandwidth * DRAM_CEILING.on(board).value / 1e6
    rate = about.line_bytes / (spent_us * reached) if spent_us > 0 else 0.0
    if rate > FULL:
        moved = f"moves {percent(rate)} of what it can"
        yield Reason(1.0, f"the off-chip memory {moved}", f"The off-chip memory sets the time: it {moved}")
    else:
        yield _pace(bound, about)
        yield from _cores(about)
        yield from _waits(about)
        yield from _vector(about)
    yield from _transfers(about)


def _pace(bound: str, about: Figures) -> Reason:
    """Return the pipe that sets the time; name the core if it does much more than the mean."""
    pipe = f"the {bound}" if "DMA" in bound else f"the {bound} pipe"
    share = about.busy.get(bound, 0.0)
    waits = ""
    if about.critical:
        pipe, share = f"{pipe} of {about.critical}", about.critical_busy
        waits = f"; the cores wait at {about.waits_at}" if about.waits_at else ""
    busy = f"busy {percent(share)} of it{waits}"
    return Reason(1.0, f"{pipe} sets the time, {busy}", f"T{pipe[1:]} sets the time: {busy}")


def _cores(about: Figures) -> Iterator[Reason]:
    """Yield reasons about the distribution of work over the cores."""
    if about.working < about.cores:
        yield Reason(
            1 - about.working / about.cores,
            f"{about.working} of {about.cores} cores {'has' if about.working == 1 else 'have'} work",
        )
    if about.balance > 1.1:
        words = f"core {about.slowest} works {about.balance:.1f} times the mean"
        yield Reason(1 - 1 / about.balance, words)
    if about.waves > 1 and about.last_wave < 0.9:
        words = f"the last of {about.waves} waves fills {percent(about.last_wave)} of the places"
        yield Reason((1 - about.last_wave) / about.waves, words)


def _waits(about: Figures) -> Iterator[Reason]:
    """Yield reasons about pipes that alternate, and about cores that wait for each other or for the memory."""
    busiest = sorted(about.busy, key=lambda pipe: -about.busy[pipe])[:2]
    second = about.busy[busiest[1]] if len(busiest) > 1 else 0.0
    # Below a tenth there is nothing to overlap that would be worth a second buffer.
    if second > 0.1 and about.overlap < 0.25:
        both = (
            f"overlap for only {percent(about.overlap)} of the shorter one's time"
            if about.overlap
            else "never overlap"
        )
        words = f"{' and '.join(busiest)} take turns: they {both}"
        yield Reason(second * (1 - about.overlap), words)
    if about.waits["cores"] > 0.1:
        words = f"cores wait {percent(about.waits['cores'])} of the time for others at barriers"
        yield Reason(about.waits["cores"], words)
    if about.waits["memory"] > 0.1:
        words = (
            f"tasks take {percent(about.waits['memory'])} of their time waiting for the memory that all share"
        )
        yield Reason(about.waits["memory"], words)


def _transfers(about: Figures) -> Iterator[Reason]:
    """Yield reasons about the size of off-chip transfers, and about their use of memory lines."""
    share = about.busy.get("IO-DMA", 0.0)
    mean = about.io_bytes / about.transfers if about.transfers else GOOD_TRANSFER
    if mean < GOOD_TRANSFER:
        words = f"its {count(about.transfers)} off-chip transfers carry {mean:.0f} bytes each, {GOOD_TRANSFER} and more are best"
        yield Reason(share * (1 - mean / GOOD_TRANSFER), words)
    # If all accesses are scalar, no bytes are counted.
    used = about.io_bytes / about.line_bytes if about.io_bytes else 1.0
    if used < 0.75:
        words = f"lines of 64 bytes that are used in part make the off-chip memory move {1 / used:.1f} times the bytes"
        yield Reason(share * (1 - used), words)


def _vector(about: Figures) -> Iterator[Reason]:
    """Yield reasons about work of the vector pipe that is not on elements."""
    share = about.busy.get("vector", 0.0)
    lines = share * (1 - about.starts)
    paid = sum(lanes.paid for lanes in about.lanes.values())
    if paid:
        name, worst = max(about.lanes.items(), key=lambda item: item[1].paid - item[1].used)
        words = f"{percent(1 - worst.used / worst.paid)} of the lanes of {name} are padding"
        yield Reason(lines * (worst.paid - worst.used) / paid, words)
    if about.starts > 0.25:
        mean = sum(lanes.used for lanes in about.lanes.values()) / about.vectors if about.vectors else 0.0
        words = f"{percent(about.starts)} of the vector cycles only start instructions, which take {mean:.0f} bytes in the mean"
        yield Reason(share * about.starts, words)
