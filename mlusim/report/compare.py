"""Runs compared with a baseline: which figures got worse, by how much, and what changed in the work.

A baseline is a file with the main figures of each call, or launch, one line of JSON each.  Figures are rounded to
significant digits, and calls are sorted, so that two baselines differ only in the lines of calls that differ.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import asdict, field, frozen

from mlusim.errors import UsageError
from mlusim.files.reading import shown
from mlusim.machine.launch import Launch
from mlusim.report.explain import because, explained, weighted
from mlusim.report.record import CallRecord

# -- baselines -------------------------------------------------------------------------------------

FORMAT = 1
CALLS, LAUNCHES = "calls", "launches"  # the kinds of a file's entries
ONE: Mapping[str, str] = {CALLS: "call", LAUNCHES: "launch"}
WRITERS: Mapping[str, str] = {CALLS: "mlusim report", LAUNCHES: "mlusim profile"}
OVERLAP = "overlap"
"""The figure that older baselines lack."""
Key = tuple[str, str, str]


@frozen
class Entry:
    """One call: time in us (6 digits), efficiencies as fractions (5 digits), bytes by copy direction.

    ``nram_high_water`` is in bytes, ``instructions`` a count, ``overlap`` the part of the second busiest pipe's time
    in which two pipes are busy (3 digits; None in older baselines).  For a launch, ``operator`` is the program,
    ``case`` identifies the launch, and efficiencies are None, since its theoretical work is unknown.
    """

    operator: str
    case: str
    board: str
    hardware_time_us: float
    io_efficiency: float | None
    compute_efficiency: float | None
    bytes: Mapping[str, int]
    nram_high_water: int
    instructions: int
    overlap: float | None = None

    @property
    def key(self) -> Key:
        """The key by which the baseline's entry is found."""
        return self.operator, self.case, self.board

    def __str__(self) -> str:
        return shown(f"{self.operator} {self.case} on {self.board}")


@frozen
class Baseline:
    """The entries of a file by their keys, the version of mlusim that wrote it, and the kind of the entries."""

    version: str
    entries: Mapping[Key, Entry]
    of: str = CALLS


def entry_of(record: CallRecord) -> Entry | None:
    """Return the entry of *record*; None if nothing was launched, or the call ended in a fault."""
    efficiency = record.efficiency
    if efficiency is None or record.case is None or record.fault is not None:
        return None
    return Entry(
        operator=record.operator,
        case=record.case,
        board=record.board,
        hardware_time_us=rounded(efficiency.hardware_time_us, 6),
        io_efficiency=rounded(efficiency.io_efficiency, 5),
        compute_efficiency=rounded(efficiency.compute_efficiency, 5),
        bytes=dict(sorted((name, nbytes) for name, nbytes in record.moved.items() if nbytes)),
        nram_high_water=record.memory["NRAM"].high_water,
        instructions=sum(record.instructions.values()),
        overlap=None if (part := weighted(record, lambda e: e.overlap)) is None else rounded(part, 3),
    )


def launch_entries(program: str, launches: Iterable[Launch]) -> list[Entry]:
    """Return the entries of the timed *launches* of *program*, identified by kernel, grid and board, and equal ones by their order."""
    met: Counter[tuple[str, str]] = Counter()
    entries = []
    for launch in launches:
        name = f"{launch.kernel} {','.join(map(str, launch.dim))} {launch.kind}"
        met[name, launch.board] += 1
        again = met[name, launch.board]
        entries.append(
            Entry(
                operator=program,
                case=name if again == 1 else f"{name} #{again}",
                board=launch.board,
                hardware_time_us=rounded(launch.time_us, 6),
                io_efficiency=None,
                compute_efficiency=None,
                bytes=dict(sorted((direction, n) for direction, n in launch.traffic.items() if n)),
                nram_high_water=launch.memory["NRAM"].high_water,
                instructions=sum(launch.instructions.values()),
                overlap=rounded(launch.profile.overlap, 3),
            )
        )
    return entries


def rounded(number: float, digits: int) -> float:
    """Return *number* rounded to *digits* significant digits."""
    return float(f"{number:.{digits}g}")


def merged(
    before: Baseline | None,
    entries: Iterable[Entry],
    version: str,
    exists: Callable[[Key], bool],
    of: str = CALLS,
) -> Baseline:
    """Return *before* with *entries* added or replaced.

    Entries whose case no longer exists according to *exists* are left out, for example after it was renamed.
    """
    earlier = {} if before is None else {key: entry for key, entry in before.entries.items() if exists(key)}
    return Baseline(version, earlier | {entry.key: entry for entry in entries}, of)


def baseline_text(baseline: Baseline) -> str:
    """Return the text of the file: a line for each call, in the order of operator, case and board."""
    calls = [json.dumps(asdict(entry), allow_nan=False) for _, entry in sorted(baseline.entries.items())]
    head = f'{{\n"mlusim baseline": {FORMAT},\n"written by": {json.dumps(baseline.version)},\n"{baseline.of}": [\n'
    return head + ",\n".join(calls) + "\n]\n}\n"


# -- reading a baseline ---------------------------------------------------------------------------------------


def baseline_in(text: str, name: str, of: str = CALLS) -> Baseline:
    """Parse a baseline *of* calls or launches.

    Raises `UsageError`, whose sentence begins with *name*, for any other text.
    """
    try:
        document = json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise UsageError(f"{name} is not a baseline: it is nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"{name} is not JSON ({error!s:.80}); write it with --write-baseline") from None
    if not isinstance(document, dict) or "mlusim baseline" not in document:
        raise UsageError(f"{name} is JSON, but no baseline of mlusim; write one with --write-baseline")
    if document["mlusim baseline"] != FORMAT or isinstance(document["mlusim baseline"], bool):
        raise UsageError(
            f"{name} is a baseline of format {document['mlusim baseline']!r:.20}, and this mlusim reads format "
            f"{FORMAT}; write it again with --write-baseline under another name"
        )
    other = next((kind for kind in WRITERS if kind != of and kind in document), None)
    if other is not None:
        raise UsageError(
            f"{name} is a baseline of {other}, as `{WRITERS[other]}` writes; {WRITERS[of]} takes one of {of}"
        )
    calls, version = document.get(of), document.get("written by")
    if not isinstance(calls, list) or not isinstance(version, str):
        raise UsageError(
            f"{name} lacks its {of}, or who it was written by; write it again with --write-baseline"
        )
    entries: dict[Key, Entry] = {}
    for number, facts in enumerate(calls, 1):
        entry = _entry(facts, where := f"{name}, {ONE[of]} {number}", of)
        if entries.setdefault(entry.key, entry) is not entry:
            raise UsageError(f"{where}: {entry} is there twice; remove one of the lines")
    return Baseline(version, entries, of)


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is not a number of JSON")


def _entry(facts: object, where: str, of: str) -> Entry:
    if not isinstance(facts, dict):
        raise UsageError(f"{where} is not an object but {facts!r:.40}")
    missing = [name for name in Entry.__annotations__ if name not in facts and name != OVERLAP]
    surplus = [name for name in facts if name not in Entry.__annotations__]
    if missing or surplus:
        what = f"lacks {missing[0]!r}" if missing else f"has {surplus[0]!r:.40}, which no baseline has"
        raise UsageError(f"{where} {what}; write it again with --write-baseline")
    for name in facts:
        unknown = facts[name] is None and (name == OVERLAP or (of == LAUNCHES and name in _EFFICIENCIES))
        if not unknown and not _legal(name, facts[name]):
            raise UsageError(f"{where}: {name} = {facts[name]!r:.40} is not {_WANTED.get(name, 'a text')}")
    return Entry(**facts)


_COUNTS = ("nram_high_water", "instructions")
_EFFICIENCIES = ("io_efficiency", "compute_efficiency")
_NUMBERS = ("hardware_time_us", "io_efficiency", "compute_efficiency", "overlap")
_WANTED: Mapping[str, str] = {
    **dict.fromkeys(_COUNTS, "a whole number of 0 or more"),
    **dict.fromkeys(_NUMBERS, "a number of 0 or more"),
    "bytes": "an object of whole numbers of 0 or more by direction",
}


def _legal(name: str, value: Any) -> bool:
    if name == "bytes":
        return isinstance(value, dict) and all(map(_is_count, value.values()))
    if name in _COUNTS:
        return _is_count(value)
    if name in _NUMBERS:
        return type(value) in {int, float} and value < 1e300 and math.isfinite(value) and value >= 0
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63


# -- the comparison --------------------------------------------------------------------------------

TIME = "hardware time"
NRAM = "NRAM bytes"
EFFICIENCIES = ("IO efficiency", "compute efficiency")
PIPES_AT_ONCE = "overlap of pipes"
MUCH = 0.1  # a change that alone counts as a cause
SAME = "bytes, instructions and NRAM are as before: the order of the work differs, or the model of its time"


@frozen
class Change:
    """One figure before and after, in *unit*; ``less_is_worse`` is true of efficiencies.

    ``band`` is the model's range for the later value: a change inside it may not exist on the board.
    """

    figure: str
    before: float
    after: float
    unit: str = ""
    less_is_worse: bool = False
    band: tuple[float, float] | None = None

    @property
    def share(self) -> float | None:
        """The change as a fraction of the earlier value; None if that was 0."""
        return (self.after - self.before) / self.before if self.before else None

    @property
    def worsening(self) -> float:
        """The degradation as a fraction; negative for an improvement; infinite if the earlier value was 0."""
        if self.before == self.after:
            return 0.0
        # An increase from 0 exceeds any threshold.
        share = float("inf") if self.share is None else self.share
        return -share if self.less_is_worse else share

    def __str__(self) -> str:
        moved = "new" if self.share is None else f"{100 * self.share:+.1f}%"
        moved += ", within the model's band" if self.within_band else ""
        return f"{self.figure} {self._shown(self.before)} -> {self._shown(self.after)}{self.unit} ({moved})"

    @property
    def within_band(self) -> bool:
        """True if the earlier value is within the model's range for the later work."""
        return self.band is not None and self.band[0] <= self.before <= self.band[1]

    def _shown(self, value: float) -> str:
        if self.less_is_worse:
            return f"{100 * value:.4g}%"
        return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"

    def to_json(self) -> dict[str, Any]:
        """Return the figure, both values, and the change as a fraction (null if the earlier value was 0)."""
        facts = {"figure": self.figure, "before": self.before, "after": self.after, "change": self.share}
        return facts | ({"within_band": True} if self.within_band else {})


@frozen
class MovedCall:
    """A call whose figures changed.

    ``worse`` and ``better`` exceed the threshold, ``seen`` are all changes of its work, ``now`` is what costs the
    call most in this run, and ``lost`` is the reason why it has no figures any more.
    """

    entry: Entry
    worse: tuple[Change, ...] = ()
    better: tuple[Change, ...] = ()
    seen: tuple[Change, ...] = ()
    now: tuple[str, ...] = ()
    lost: str = ""

    @property
    def is_trade(self) -> bool:
        """True if only the work grew, while the time shrank by more than the threshold."""
        # Bytes and instructions matter only by the time that they take.
        faster = any(change.figure == TIME for change in self.better)
        return faster and bool(self.worse) and not any(map(_is_result, self.worse))

    def __str__(self) -> str:
        if self.lost:
            return f"{self.entry}: {self.lost}"
        told = self.better if self.is_trade else self.worse or self.better
        results = ", ".join(str(change) for change in told if _is_result(change))
        if self.is_trade:
            return f"{self.entry}: {results}, for {', '.join(map(str, self.worse))}"
        if not results:
            return f"{self.entry}: {', '.join(map(str, told))}"
        costs = f"; what costs it most now: {', '.join(self.now)}" if self.worse and self.now else ""
        return f"{self.entry}: {results}; {self._because()}{costs}"

    def _because(self) -> str:
        """Return the part of the work that changed in the same direction as the result; else other changes; else a phrase that nothing else changed."""
        sign = 1 if self.worse else -1
        causes = [c for c in self.seen if c.figure != NRAM and c.worsening * sign > 0]
        if any(c.figure == PIPES_AT_ONCE and abs(c.after - c.before) > MUCH for c in causes):
            # A few more instructions, such as another wait, do not explain that pipes no longer overlap.
            moved = max(abs(c.worsening) for c in (*self.worse, *self.better) if _is_result(c)) / 2
            causes = [c for c in causes if c.figure == PIPES_AT_ONCE or abs(c.worsening) > moved]
        if causes:
            return f"because {', '.join(map(str, causes))}"
        return f"with {', '.join(map(str, self.seen))}" if self.seen else SAME

    def to_json(self) -> dict[str, Any]:
        """Return the call's key, its changes, and the sentence."""
        changes = {name: [c.to_json() for c in getattr(self, name)] for name in ("worse", "better", "seen")}
        return {
            "operator": self.entry.operator,
            "case": self.entry.case,
            "board": self.entry.board,
            **changes,
            "now": self.now,
            "message": str(self),
        }


@frozen
class Pair:
    """A call before and after; ``band`` is the model's range for its later time."""

    before: Entry
    after: Entry
    band: tuple[float, float] | None = None

    @property
    def share(self) -> float:
        """The change of the time as a fraction; 0 if the earlier time was 0."""
        before = self.before.hardware_time_us
        return (self.after.hardware_time_us - before) / before if before else 0.0

    @property
    def within_band(self) -> bool:
        """True if the earlier time is within the model's range for the later work."""
        return self.band is not None and self.band[0] <= self.before.hardware_time_us <= self.band[1]


@frozen
class BaselineComparison:
    """The comparison of a run with a baseline; ``absent`` calls of the baseline exist, but were not run."""

    name: str
    threshold: float
    version: str
    compared: int
    regressions: tuple[MovedCall, ...] = ()
    trades: tuple[MovedCall, ...] = ()
    improvements: tuple[MovedCall, ...] = ()
    new: tuple[Entry, ...] = ()
    missing: tuple[Entry, ...] = ()
    absent: int = field(default=0)
    of: str = CALLS
    pairs: tuple[Pair, ...] = ()
    allow_missing: bool = False

    @property
    def incomplete(self) -> str:
        """The reason why the comparison is too incomplete to pass, for the headline; "" if it is complete.

        Otherwise a renamed kernel or another dim would pass every gate, since its old figures are compared with
        nothing.
        """
        if self.allow_missing:
            return ""
        if not self.compared:
            return "nothing was compared"
        return f"{len(self.missing)} missing" if self.missing else ""

    @property
    def passed(self) -> bool:
        """True if the comparison is complete, and every degradation beyond the threshold is outweighed by a gain in time."""
        return not self.regressions and not self.incomplete


def _is_result(change: Change) -> bool:
    """Return whether a figure is a result of the work, such as a time, rather than a quantity of work."""
    return change.figure == TIME or change.figure in EFFICIENCIES


def changes(before: Entry, after: Entry, band: tuple[float, float] | None = None) -> Iterator[Change]:
    """Yield every figure of a call, the most important first; *band* is that of the later time."""
    yield Change(TIME, before.hardware_time_us, after.hardware_time_us, " us", band=band)
    for figure in EFFICIENCIES:
        name = figure.lower().replace(" ", "_")
        old, new = getattr(before, name), getattr(after, name)
        if old is not None and new is not None:
            yield Change(figure, old, new, less_is_worse=True)
    for name in dict.fromkeys([*before.bytes, *after.bytes]):
        yield Change(f"{name} bytes", before.bytes.get(name, 0), after.bytes.get(name, 0))
    if before.overlap is not None and after.overlap is not None:
        yield Change(PIPES_AT_ONCE, before.overlap, after.overlap, less_is_worse=True)
    yield Change("instructions", before.instructions, after.instructions)
    yield Change(NRAM, before.nram_high_water, after.nram_high_water)


def verdict(
    before: Entry,
    after: Entry,
    threshold: float,
    now: tuple[str, ...] = (),
    band: tuple[float, float] | None = None,
) -> MovedCall:
    """Judge one call against its baseline; *now* is its most expensive line, *band* the model's range for its time."""
    changed = [change for change in changes(before, after, band) if change.before != change.after]
    # A smaller overlap of pipes is a cause, and not a loss by itself.
    judged = [change for change in changed if change.figure != PIPES_AT_ONCE]
    return MovedCall(
        entry=after,
        worse=tuple(change for change in judged if change.worsening > threshold),
        better=tuple(change for change in judged if -change.worsening > threshold),
        seen=tuple(change for change in changed if not _is_result(change)),
        now=now,
    )


@frozen
class Measured:
    """A call or a launch of this run: its ``entry``, or in ``lost`` the reason why it has none.

    ``now`` is what costs it most, ``band`` the model's range for its time; ``fit`` says whether it may be stored.
    """

    key: Key
    entry: Entry | None
    lost: str = ""
    now: tuple[str, ...] = ()
    band: tuple[float, float] | None = None
    fit: bool = True


def measured_call(record: CallRecord) -> Measured:
    """Return the figures of a call from *record*."""
    key = (record.operator, record.case or "", record.board)
    return Measured(
        key,
        entry_of(record),
        f"it ends in {record.message or record.status}" if record.fault else "nothing is launched",
        explained(record).reasons[:2],
        record.time_band,
        record.passed,
    )


def measured_launches(program: str, launches: Sequence[Launch]) -> list[Measured]:
    """Return the figures of *launches* of *program*."""
    timed = [launch for launch in launches if launch.tasks]
    return [
        Measured(entry.key, entry, now=because(launch)[:2], band=launch.time_band)
        for entry, launch in zip(launch_entries(program, timed), timed, strict=True)
    ]


def _moved(before: Entry, measured: Measured, threshold: float) -> MovedCall:
    """Return the change of a call since *before*, or that it did not complete."""
    if measured.entry is None:
        return MovedCall(before, lost=f"it took {before.hardware_time_us:g} us, and now {measured.lost}")
    return verdict(before, measured.entry, threshold, measured.now, measured.band)


def compare(
    baseline: Baseline,
    measured: Iterable[Measured],
    name: str,
    threshold: float,
    exists: Callable[[Key], bool],
    *,
    allow_missing: bool = False,
) -> BaselineComparison:
    """Compare the *measured* calls with *baseline*, the file *name*; *exists* says whether a call still exists.

    A call regresses if a figure gets worse by more than *threshold*, a fraction.  More work (bytes,
    instructions, NRAM) with a gain in time beyond the threshold is a trade, not a regression.
    """
    entries, calls = baseline.entries, list(measured)
    ran = {call.key for call in calls}
    both = [(before, call) for call in calls if (before := entries.get(call.key)) is not None]
    verdicts = [_moved(before, call, threshold) for before, call in both]
    regressions = [v for v in verdicts if v.lost or (v.worse and not v.is_trade)]
    rest = [entry for key, entry in sorted(entries.items()) if key not in ran]
    # A call that exists but was not selected is not lost; one that no longer exists may hide a regression.
    missing = [entry for entry in rest if not exists(entry.key)]
    return BaselineComparison(
        name=name,
        threshold=threshold,
        version=baseline.version,
        compared=len(verdicts),
        regressions=tuple(regressions),
        trades=tuple(v for v in verdicts if v.is_trade),
        improvements=tuple(v for v in verdicts if v.better and not v.worse),
        new=tuple(c.entry for c in calls if c.entry is not None and c.key not in entries),
        missing=tuple(missing),
        absent=len(rest) - len(missing),
        of=baseline.of,
        pairs=tuple(Pair(before, c.entry, c.band) for before, c in both if c.entry is not None),
        allow_missing=allow_missing,
    )


# -- as text and JSON ------------------------------------------------------------------------------


def headline(comparison: BaselineComparison, version: str) -> str:
    """Return one sentence with the baseline and the result; *version* is this mlusim's."""
    counts = [
        (len(comparison.regressions), "regression"),
        (len(comparison.improvements), "improvement"),
        (len(comparison.trades), "trade"),
    ]
    moves = [f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts if n]
    if comparison.incomplete:
        moves.append(f"{comparison.incomplete}, which fails unless --allow-missing is given")
    told = ", ".join(moves) or "nothing moved"
    other = (
        f" (written by mlusim {shown(comparison.version)}, this is {version})"
        if comparison.version != version
        else ""
    )
    calls = f"{comparison.compared} {ONE[comparison.of] if comparison.compared == 1 else comparison.of}"
    return (
        f"{calls} compared with {comparison.name}{other}, threshold {100 * comparison.threshold:g}%: {told}."
    )


def lines(comparison: BaselineComparison) -> Iterator[tuple[str, str]]:
    """Yield the changes as (kind, sentence): regressions, trades, improvements, then calls that only one side has."""
    for kind in ("regression", "trade", "improvement"):
        for call in getattr(comparison, f"{kind}s"):
            yield kind, str(call)
    yield from (("new", f"{entry} is not in the baseline") for entry in comparison.new)
    yield from (
        ("missing", f"{entry} is in the baseline, and there is no such {ONE[comparison.of]} any more")
        for entry in comparison.missing
    )
    if comparison.absent:
        yield "note", f"not part of this run: {comparison.absent} more of the baseline's {comparison.of}"


def comparison_markdown(comparison: BaselineComparison, version: str) -> str:
    """Return the comparison as a section for a pull request."""
    items = [f"- **{kind}**: {text}" for kind, text in lines(comparison)]
    return (
        "\n".join(
            [f"\n### Compared with {comparison.name}\n", headline(comparison, version), "", *items]
        ).rstrip()
        + "\n"
    )


def comparison_json(comparison: BaselineComparison) -> dict[str, Any]:
    """Return the member ``comparison`` of ``report --json``."""
    return {
        "baseline": comparison.name,
        "written_by": comparison.version,
        "threshold": comparison.threshold,
        "passed": comparison.passed,
        "compared": comparison.compared,
        **{
            kind: [call.to_json() for call in getattr(comparison, kind)]
            for kind in ("regressions", "trades", "improvements")
        },
        **{
            kind: [
                {"operator": e.operator, "case": e.case, "board": e.board} for e in getattr(comparison, kind)
            ]
            for kind in ("new", "missing")
        },
        "not_run": comparison.absent,
    }
