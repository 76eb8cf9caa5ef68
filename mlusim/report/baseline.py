"""Baselines: the few figures of each call, or launch, that a later run is compared with, one line of JSON each.

Figures are rounded to digits that mean something, and calls are sorted, so that two baselines differ in
the lines of the calls that differ.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import asdict, frozen

from mlusim.errors import UsageError
from mlusim.files.paths import shown
from mlusim.machine.launch import Launch
from mlusim.report.record import CallRecord

FORMAT = 1
CALLS, LAUNCHES = "calls", "launches"  # what the entries of a file may be of
ONE: Mapping[str, str] = MappingProxyType({CALLS: "call", LAUNCHES: "launch"})
WRITERS: Mapping[str, str] = MappingProxyType({CALLS: "mlusim report", LAUNCHES: "mlusim profile"})
Key = tuple[str, str, str]


@frozen
class Entry:
    """One call: time in us (6 digits), efficiencies as fractions (5 digits), bytes moved by direction.

    ``nram_high_water`` is in bytes, ``instructions`` a count.  Of a launch ``operator`` is the program, ``case`` which of
    its launches, and efficiencies are None: nothing says what the work is in theory.
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

    @property
    def key(self) -> Key:
        """The key by which figures are compared with the baseline's."""
        return self.operator, self.case, self.board

    def __str__(self) -> str:
        return shown(f"{self.operator} {self.case} on {self.board}")


@frozen
class Baseline:
    """The entries of a file by their keys, the version of mlusim that wrote it, and what they are of."""

    version: str
    entries: Mapping[Key, Entry]
    of: str = CALLS


def entry_of(record: CallRecord) -> Entry | None:
    """Return the entry of *record*; None where nothing was launched, or the call ended in a fault."""
    found = record.efficiency
    if found is None or record.case is None or record.fault is not None:
        return None
    return Entry(
        operator=record.operator,
        case=record.case,
        board=record.board,
        hardware_time_us=rounded(found.hardware_time_us, 6),
        io_efficiency=rounded(found.io_efficiency, 5),
        compute_efficiency=rounded(found.compute_efficiency, 5),
        bytes=dict(sorted((name, nbytes) for name, nbytes in record.moved.items() if nbytes)),
        nram_high_water=record.memory["NRAM"].high_water,
        instructions=sum(record.instructions.values()),
    )


def launch_entries(program: str, launches: Iterable[Launch]) -> list[Entry]:
    """Return the entries of *launches* of *program*, all of them timed, told apart by kernel, grid and board; of equal ones by their order."""
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
            )
        )
    return entries


def rounded(number: float, digits: int) -> float:
    """*number* with so many significant digits."""
    return float(f"{number:.{digits}g}")


def merged(
    before: Baseline | None,
    made: Iterable[Entry],
    version: str,
    exists: Callable[[Key], bool],
    of: str = CALLS,
) -> Baseline:
    """*before* with the entries *made* in place of what it had for them.

    Entries of which *exists* says that their case is gone, as one that was renamed, are left out.
    """
    kept = {} if before is None else {key: entry for key, entry in before.entries.items() if exists(key)}
    return Baseline(version, kept | {entry.key: entry for entry in made}, of)


def baseline_text(baseline: Baseline) -> str:
    """Return the file: a line for each call, in the order of operator, case and board."""
    calls = [json.dumps(asdict(entry), allow_nan=False) for _, entry in sorted(baseline.entries.items())]
    head = f'{{\n"mlusim baseline": {FORMAT},\n"written by": {json.dumps(baseline.version)},\n"{baseline.of}": [\n'
    return head + ",\n".join(calls) + "\n]\n}\n"


# -- reading ---------------------------------------------------------------------------------------


def baseline_in(text: str, name: str, of: str = CALLS) -> Baseline:
    """Return the baseline *of* calls or launches in *text*.

    Raises `UsageError`, a sentence that begins with *name*, for anything else.
    """
    try:
        document = json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise UsageError(f"{name} is no baseline: it is nested too deeply") from None
    except ValueError as error:
        raise UsageError(f"{name} is no JSON ({error!s:.80}); write it with --write-baseline") from None
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
    raise ValueError(f"{word} is no number of JSON")


def _entry(facts: object, where: str, of: str) -> Entry:
    if not isinstance(facts, dict):
        raise UsageError(f"{where} is no object but {facts!r:.40}")
    missing = [name for name in Entry.__annotations__ if name not in facts]
    surplus = [name for name in facts if name not in Entry.__annotations__]
    if missing or surplus:
        what = f"lacks {missing[0]!r}" if missing else f"has {surplus[0]!r:.40}, which no baseline has"
        raise UsageError(f"{where} {what}; write it again with --write-baseline")
    for name in facts:
        unknown = of == LAUNCHES and name in _EFFICIENCIES and facts[name] is None
        if not unknown and not _legal(name, facts[name]):
            raise UsageError(f"{where}: {name} = {facts[name]!r:.40} is not {_WANTED.get(name, 'a text')}")
    return Entry(**facts)


_COUNTS = ("nram_high_water", "instructions")
_EFFICIENCIES = ("io_efficiency", "compute_efficiency")
_NUMBERS = ("hardware_time_us", "io_efficiency", "compute_efficiency")
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
