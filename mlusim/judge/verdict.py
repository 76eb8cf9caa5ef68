"""The verdict of one candidate: a document of plain data, the same for the same candidate, reference and seed."""

import math
import signal
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mlusim.arch.catalog import find_board
from mlusim.counted import counted
from mlusim.judge.bench import EndedProcess
from mlusim.judge.confine import Confinement
from mlusim.judge.origins import computed
from mlusim.judge.reference import Difference, Draw, compared
from mlusim.judge.wire import ArrayMessage
from mlusim.report.efficiency import efficiency

ROUGH, COARSE = 5e-5, 5e-3  # median relative errors of half precision, but not of float or other formulas
DEAREST = 8  # lines that a verdict lists
RIGHT, WRONG, UNTRANSLATED, REFUSED, FAULT, LIMIT, DIED = (
    "right", "wrong", "untranslated", "refused", "fault", "limit", "died",
)  # fmt: skip
WORDS = {
    RIGHT: "every output of every call is right, and no checker has found an error",
    WRONG: "an output is wrong, or a checker has found an error",
    UNTRANSLATED: "it does not compile or translate",
    REFUSED: "it cannot be read or called: its parameters do not fit, or it asks for what is not there",
    FAULT: "it did what the machine cannot do",
    LIMIT: "it took more time, memory, room or processes than it may",
    DIED: "its process ended before it had a result",
}
BEYOND = {
    "time": "it took longer than --seconds allows",
    "memory": "it held more memory than --memory allows",
    "room": "it wrote more to files than it may",
    "processes": "it started more processes than it may",
}


def verdict(
    candidate: str,
    ended: EndedProcess,
    draws: Sequence[Draw],
    about: Mapping[str, Any],
    weak: Sequence[str],
    held: Confinement | None,
) -> dict[str, Any]:
    """Return the verdict of *candidate*, whose process has *ended*, on the calls of *draws*.

    *about* are the facts that all verdicts of a run share: the reference, the board, the seed.  *weak* are sentences
    about weaknesses of the reference, *held* the limits of the process (None: there was no process).
    """
    row: dict[str, Any] = {"candidate": candidate, **about, **_empty(), "confinement": None}
    notes = list(weak)
    if held is not None:
        row["confinement"] = held.to_json()
    if held is not None and held.missing:
        notes.append(f"the system let the candidate {held.missing}")
    row["printed"] = ended.printed
    document = ended.document
    if document is None:
        row |= _lost(ended)
    else:
        try:
            _judged(row, document, draws, str(about["board"]), notes)
        except (KeyError, TypeError, ValueError, AttributeError):  # which no honest process sends
            row |= _empty() | {"verdict": DIED, "error": "what its process left is not a result"}
    row["notes"] = notes
    return row


def _empty() -> dict[str, Any]:
    return {
        "verdict": DIED, "translated": False, "errors": [], "includes": [], "right": False, "error": None, "function": None, "difference": None,
        "cases": [], "wrote_inputs": [], "findings": [], "more_findings": 0, "time_us": None, "time_band": None,
        "io_efficiency": None, "compute_efficiency": None, "bottleneck": None, "bound": None, "because": [], "advice": [],
        "lines": [], "launches": 0, "instructions": {}, "printed": "",
    }  # fmt: skip


def _lost(ended: EndedProcess) -> dict[str, Any]:
    """Return the sentence about a process that left no complete document."""
    beyond = {-signal.SIGXCPU: "time", -signal.SIGXFSZ: "room"}.get(ended.status, ended.beyond)
    if beyond in BEYOND:
        return {"verdict": LIMIT, "error": f"it was ended: {BEYOND[beyond]}"}
    if ended.status < 0:
        return {"verdict": DIED, "error": f"its process was ended by {signal.Signals(-ended.status).name}"}
    return {
        "verdict": DIED,
        "error": f"its process ended with exit code {ended.status} and without a whole result",
    }


def _judged(
    row: dict[str, Any], document: ArrayMessage, draws: Sequence[Draw], board: str, notes: list[str]
) -> None:
    facts = document.facts
    for name in ("translated", "errors", "includes", "findings", "more_findings"):
        row[name] = facts[name]
    row["function"] = facts.get("subject")
    calls = {(call["case"], call["draw"]): call for call in facts["calls"]}
    row["wrote_inputs"] = sorted({name for call in calls.values() for name in call["wrote"]})
    row["error"] = facts["error"]
    if facts["error"] is not None:
        row["verdict"] = _kind_of_end(facts)
    differences, cases = _compared(document, draws, calls)
    row["cases"] = list(cases.values())
    if differences:
        draw, name, worst = max(differences, key=lambda d: (not d[2].right, d[2].excess))
        if worst.index is not None:
            where = {"case": draw.case, "draw": draw.number, "output": name}
            row["difference"] = where | worst.to_json()
    _timed(row, calls, draws, board, cases)
    row |= {name: facts["dearest"][name] for name in ("bound", "because", "advice")}
    notes += _doubts(differences, calls)
    if facts["error"] is None:
        whole = len(calls) == len(draws)
        cheat = (
            _cheat(facts, calls, notes, host_work=draws[0].host_work)
            if whole
            else "it was not called with every draw"
        )
        errors = [f for f in row["findings"] if f["level"] != "note"]
        right = whole and all(difference.right for _, _, difference in differences) and cheat is None
        row["right"] = right
        row["verdict"] = RIGHT if right and not errors else WRONG
        row["error"] = cheat or _told(differences)


def _compared(
    document: ArrayMessage, draws: Sequence[Draw], calls: Mapping[tuple[str, int], Mapping[str, Any]]
) -> tuple[list[tuple[Draw, str, Difference]], dict[str, dict[str, Any]]]:
    """Return the differences of the outputs of all *calls* from the expected ones, and a summary for each case."""
    differences: list[tuple[Draw, str, Difference]] = []
    cases: dict[str, dict[str, Any]] = {}
    for draw in draws:
        if (draw.case, draw.number) not in calls:
            continue
        shown = cases.setdefault(draw.case, {"case": draw.case, "right": True, "outputs": {}})
        for name, expected in draw.expected.items():
            got = document.arrays[f"{draw.case}/{draw.number}/{name}"]
            if got.dtype != expected.dtype:
                raise ValueError(got.dtype)
            difference = compared(got, expected, draw.tolerance[name])
            differences.append((draw, name, difference))
            worst = shown["outputs"].get(name)
            if worst is None or difference.excess > worst["excess"]:
                shown["outputs"][name] = difference.to_json() | {
                    "draw": draw.number,
                    "excess": difference.excess,
                }
            shown["right"] = shown["right"] and difference.right
    return differences, cases


def _doubts(
    differences: Sequence[tuple[Draw, str, Difference]], calls: Mapping[tuple[str, int], Mapping[str, Any]]
) -> Iterator[str]:
    """Yield sentences about outputs that are suspicious although they may be right."""
    rough = sorted(
        {
            n
            for d, n, difference in differences
            if d.expected[n].dtype == np.float32 and ROUGH < difference.typical < COARSE
        }
    )
    if rough:
        yield f"the elements of {', '.join(rough)} are right to three digits or so, as if they were computed in half"
    first = {case: _shape(call) for (case, number), call in calls.items() if number == 1}
    if any(_shape(call) != first.get(case) for (case, _), call in calls.items()):
        yield "its launches differ from draw to draw of one case; times are those of the first draw"


def _shape(call: Mapping[str, Any]) -> list[Any]:
    """Return the launches of *call*, without facts that depend on the contents of its inputs."""
    return [(launch["kernel"], launch["instructions"]) for launch in call["launches"]]


def _kind_of_end(facts: Mapping[str, Any]) -> str:
    if facts["fault"] in ("limit", "memory"):
        return LIMIT
    if facts["fault"] is not None:
        return FAULT
    return REFUSED if facts["translated"] else UNTRANSLATED


def _told(differences: Sequence[tuple[Draw, str, Difference]]) -> str | None:
    """Return the sentence about the wrong outputs; None if all are right."""
    wrong = [d for d in differences if not d[2].right]
    if not wrong:
        return None
    draw, name, worst = max(wrong, key=lambda d: d[2].excess)
    place = ", ".join(map(str, worst.index or ()))
    return (
        f"{name}[{place}] is {worst.got:.6g} and {worst.expected:.6g} was expected, in draw {draw.number} of case {draw.case}; "
        f"{worst.wrong} of {counted(worst.elements, 'element is', 'elements are')} wrong there"
    )


def _cheat(
    facts: Mapping[str, Any],
    calls: Mapping[tuple[str, int], Mapping[str, Any]],
    notes: list[str],
    *,
    host_work: bool,
) -> str | None:
    """Return a sentence with the reason why the outputs are not the kernels' own work; None if they are."""
    idle = next((call for call in calls.values() if not call["launches"]), None)
    if idle is not None:
        name, case, number = facts["subject"], idle["case"], idle["draw"]
        return f"the host function {name} launches nothing in draw {number} of case {case}"
    if not facts["host"]:
        return None
    named = {what: _listed(calls.values(), what) for what in ("unstored", "refilled", "fetched")}
    if named["unstored"]:
        return f"no kernel has stored all of {named['unstored']}: the host function has filled it"
    if named["refilled"]:
        return f"the host function changes {named['refilled']} after its last kernel"
    told = []
    if named["fetched"]:
        told.append(f"the host function copies {named['fetched']} to the host before its last launch")
    by_case: dict[str, list[Mapping[str, Any]]] = {}
    for call in calls.values():
        by_case.setdefault(call["case"], []).append(call)
    told += [
        f"the host function computes {what} after it has copied {_listed(several, 'read')} to the host"
        for several in by_case.values()
        if (what := computed(several)) is not None
    ][:1]
    if told and not host_work:
        return f"{told[0]}: what it computes there is no kernel's work; host_work = True in the reference's file allows it"
    notes += told
    return None


def _listed(calls: Iterable[Mapping[str, Any]], what: str) -> str:
    return ", ".join(sorted({str(name) for call in calls for name in call[what]}))


def _timed(
    row: dict[str, Any],
    calls: Mapping[tuple[str, int], Mapping[str, Any]],
    draws: Sequence[Draw],
    board: str,
    cases: Mapping[str, dict[str, Any]],
) -> None:
    """Add the predicted times of the first draw of each case, and their sums over all cases."""
    every: list[Mapping[str, Any]] = []
    sizes, operations = 0, 0
    for draw in draws:
        call = calls.get((draw.case, draw.number))
        if call is None:
            continue
        row["launches"] += len(call["launches"])
        if draw.number != 1:
            continue
        launches = call["launches"]
        every += launches
        sizes += draw.nbytes
        of_case = _efficiencies(launches, board, draw, draw.nbytes, draw.operations)
        operations = -1 if draw.operations is None else operations + draw.operations
        cases[draw.case] |= of_case
    if not every:
        return
    row |= _efficiencies(every, board, draws[0], sizes, None if operations < 0 else operations)
    row["lines"] = _lines(every)
    total = Counter[str]()
    for launch in every:
        total.update(launch["instructions"])
    row["instructions"] = dict(sorted(total.items()))


def _efficiencies(
    launches: Sequence[Mapping[str, Any]], board: str, draw: Draw, nbytes: int, operations: int | None
) -> dict[str, Any]:
    """Return the time, band, efficiencies and bottleneck of *launches* together.

    The bytes are those of inputs and outputs, whatever the kernels move.  If the reference declares no operations,
    the compute efficiency is the utilization of the vector or tensor unit.
    """
    time = math.fsum(launch["time_us"] for launch in launches)
    low, high = (math.fsum(launch["time_band"][n] for launch in launches) for n in (0, 1))
    first = next(iter(draw.inputs.values()), next(iter(draw.expected.values())))
    reached = efficiency(find_board(board), str(np.dtype(first.dtype)), operations or 0, nbytes, time)
    compute = reached.compute_efficiency
    if operations is None:
        compute = _reached(launches, time)
    return {
        "time_us": time,
        "time_band": [low, high],
        "io_efficiency": reached.io_efficiency,
        "compute_efficiency": compute,
        "bottleneck": "io" if reached.io_efficiency > compute else "compute",
    }


def _reached(launches: Iterable[Mapping[str, Any]], time: float) -> float:
    """Return the utilization of the busiest compute unit over the *time* of all launches."""
    shares = Counter[str]()
    for launch in launches:
        for part in launch["achieved"]:
            if part["what"] in ("vector", "tensor"):
                shares[part["what"]] += part["share"] * launch["time_us"]
    return max(shares.values(), default=0.0) / time if time > 0 else 0.0


def _lines(launches: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    times: dict[tuple[str, int], float] = {}
    for launch in launches:
        for line in launch["lines"]:
            key = line["file"], line["line"]
            times[key] = times.get(key, 0.0) + line["time_us"]
    total = math.fsum(times.values())
    most = sorted(times.items(), key=lambda item: (-item[1], item[0]))[:DEAREST]
    return [
        {"file": file, "line": line, "time_us": time, "share": time / total if total else 0.0}
        for (file, line), time in most
    ]
