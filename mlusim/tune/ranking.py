"""Ranks candidates: best first, with equal rank if the model's bands overlap; rejected candidates come last."""

from collections.abc import Mapping, Sequence
from typing import Any

from mlusim.counted import counted
from mlusim.errors import Fault, LimitReached, said
from mlusim.machine.launch import Launch
from mlusim.time.timing import PIPES

# -- verdicts on a candidate: it fits and is right, or the kind of reason for its rejection ------------

OK, FAULT, LIMIT, OVERLAP, WRONG, UNTRANSLATED, REFUSED, DIED = (
    "ok", "fault", "limit", "overlap", "wrong", "untranslated", "refused", "died",
)  # fmt: skip


TIME, IO, COMPUTE = "time", "io", "compute"
OBJECTIVES: Mapping[str, str] = {TIME: "time_us", IO: "io_efficiency", COMPUTE: "compute_efficiency"}
"""The figure by which each objective ranks: the least time, or the largest efficiency."""
PRUNED = "pruned"
NAMED = 4  # limit of candidates named per reason for rejection
EQUAL = "Of equal rank: the bands of the model meet, so that it does not tell which is faster."
BESIDE = "Differences from the best are means of the cores that work; pipes work side by side, so that they do not add up."


def able(candidate: Mapping[str, Any]) -> bool:
    """Return whether a candidate fits, is not known to be wrong, and was not dropped by a search."""
    return bool(candidate["fits"]) and candidate["right"] is not False and candidate["verdict"] != PRUNED


def out(error: Exception) -> dict[str, Any]:
    """Return the part of the document for a candidate that ended with *error*."""
    word = LIMIT if isinstance(error, LimitReached) else FAULT if isinstance(error, Fault) else REFUSED
    return {"verdict": word, "fits": False, "why": said(error)}


def ranked(candidates: Sequence[Mapping[str, Any]], objective: str) -> list[dict[str, Any]]:
    """Return *candidates* with ``rank`` and, in ``why``, the differences from the best; rejected candidates come last, without rank.

    Candidates whose band overlaps that of the first of a group share its rank.
    """
    name = OBJECTIVES[objective]
    good = sorted(
        filter(able, candidates),
        key=lambda candidate: candidate[name] if objective == TIME else -candidate[name],
    )
    rows: list[dict[str, Any]] = []
    # Compared with the first of the group, not with the neighbour: a chain of overlapping bands would make
    # all candidates equal.
    leader: tuple[float, float] | None = None
    rank = 1
    for number, candidate in enumerate(good, 1):
        low, high = _band(candidate, name)
        if leader is None or low > leader[1] or leader[0] > high:
            leader, rank = (low, high), number
        why = "" if number == 1 else moved(candidate["mechanisms"], good[0]["mechanisms"], good[0]["time_us"])
        rows.append({**candidate, "rank": rank, "why": "; ".join(filter(None, (why, candidate["why"])))})
    return rows + [{**candidate, "rank": None} for candidate in candidates if not able(candidate)]


def together(cases: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]) -> list[dict[str, Any]]:
    """Return one candidate for each board and settings over all *cases* (by name): times are summed, efficiencies weighted by time.

    A candidate rejected in one case is rejected, and names that case.
    """
    rows: dict[tuple[object, ...], list[tuple[str, Mapping[str, Any]]]] = {}
    for case, candidates in cases:
        for candidate in candidates:
            key = candidate["board"], *candidate["parameters"].items()
            rows.setdefault(key, []).append((case, candidate))
    return [_joined(by_case) for by_case in rows.values()]


def _joined(by_case: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    every = [candidate for _, candidate in by_case]
    bad = next(((case, candidate) for case, candidate in by_case if not able(candidate)), None)
    if bad is not None:
        case, candidate = bad
        return {**candidate, "why": f"case {case}: {candidate['why']}"}
    total = sum(candidate["time_us"] for candidate in every)
    weights = [candidate["time_us"] / total if total else 1 / len(every) for candidate in every]
    longest = max(every, key=lambda candidate: candidate["time_us"])
    return {
        **longest,
        "right": None if any(candidate["right"] is None for candidate in every) else True,
        "carved": all(candidate["carved"] for candidate in every),
        "time_us": total,
        "time_band": [sum(candidate["time_band"][end] for candidate in every) for end in (0, 1)],
        **{
            name: sum(weight * candidate[name] for weight, candidate in zip(weights, every, strict=True))
            for name in ("io_efficiency", "compute_efficiency")
        },
        "mechanisms": {
            name: (max if name == "cores" else sum)(candidate["mechanisms"][name] for candidate in every)
            for name in longest["mechanisms"]
        },
        "cases": {case: candidate["time_us"] for case, candidate in by_case},
    }


def _band(candidate: Mapping[str, Any], name: str) -> tuple[float, float]:
    """Return the band of the figure for ranking, derived from the band of the time."""
    low, high = candidate["time_band"]
    if name == OBJECTIVES[TIME]:
        return low, high
    # An efficiency is work divided by time, so its low end belongs to the longest time.
    value, time = candidate[name], candidate["time_us"]
    return value * time / high, value * time / low


def settings_told(candidate: Mapping[str, Any]) -> str:
    """Return the settings in a candidate's document, on one line."""
    return " ".join(f"{name}={value}" for name, value in candidate["parameters"].items())


def _one_grid(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a note if only one grid was tried although its numbers may have been meant as several grids."""
    grids = {str(candidate["parameters"].get("dim", "")) for candidate in rows}
    grid = grids.pop()
    if grids or grid.count(",") != 2 or grid.endswith(",1"):
        return []
    return [f"dim={grid} is one grid; write ; between several: 'dim={grid.replace(',', ';')}'."]


def notes(document: Mapping[str, Any]) -> list[str]:
    """Return the notes for the table."""
    rows = document["candidates"]
    good = [candidate for candidate in rows if candidate["rank"] is not None]
    left = sum(candidate["verdict"] == PRUNED for candidate in rows)
    told = [
        f"{len(good)} of {counted(len(rows), 'candidate')} {'fits and is' if len(good) == 1 else 'fit and are'} right"
        + (f"; {left} did not go on to larger calls." if left else ".")
    ]
    told += _one_grid(rows)
    if len({candidate["rank"] for candidate in good}) < len(good):
        told.append(EQUAL)
    if len(good) > 1:
        told.append(BESIDE)
    if "estimate" in document:
        told.append(f"Times and NRAM are {document['estimate']}.")
    if document["judged_by"] == "exit code":
        return [
            *told,
            "Right is what ends with exit code 0: the program compares its results itself.  Times are of all its launches.",
        ]
    if document["compared_with"] is not None:
        first = settings_told({"parameters": document["compared_with"]})
        told.append(f"Right is what gives the same as {first}; --reference says what is right by itself.")
    elif (
        document["reference"] is None
        and not document["expect"]
        and any(candidate["right"] for candidate in rows)
    ):
        told.append(
            "Right is what gives the same as the first of its rung; --reference says what is right by itself."
        )
    elif document["reference"] is None and not document["expect"]:
        told.append("No results were compared: nothing comes back; give outputs as out:TYPE:SIZES.")
    unseen = sum(not candidate["carved"] for candidate in good)
    if unseen:
        told.append(
            f"How {counted(unseen, 'candidate')} divide{'s' if unseen == 1 else ''} on-chip arrays was not examined: it would take too long."
        )
    return told


def alike(out: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """Return a row for each verdict and reason of the rejected candidates *out*: their names, the verdict, the reason."""
    names_of: dict[tuple[str, str], list[str]] = {}
    for candidate in out:
        names_of.setdefault((candidate["verdict"], candidate["why"]), []).append(settings_told(candidate))
    rows = []
    for (verdict, reason), names in names_of.items():
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        rows.append((", ".join(names[:NAMED]) + more, verdict, reason))
    return rows


# -- the composition of launch times, and the differences between two candidates -----------------------

LAUNCH, BARRIERS, MEMORY, BALANCE = "launch", "waits at barriers", "waits for memory", "balance"
MECHANISMS = (*PIPES, BARRIERS, MEMORY, BALANCE, LAUNCH)
MOST_NAMED = 3  # mechanisms named in a sentence
LEAST = 0.01  # fraction of the time; smaller differences are not reported


def mechanisms(launches: Sequence[Launch]) -> dict[str, float]:
    """Return the time of *launches* in us by mechanism, and under ``cores`` the largest number of working cores in a launch.

    The time of a pipe is its busy time, averaged over the working cores. ``waits at barriers`` is the wait
    for other cores, ``waits for memory`` the additional time of tasks because they share the off-chip memory,
    ``balance`` the time in which a core has no task, ``launch`` the start of the launches. Pipes work in
    parallel, so the sum is not the time of the launches.
    """
    times = dict.fromkeys(("cores", *MECHANISMS), 0.0)
    for launch in launches:
        start, spent = launch.forecast.start_us, launch.profile
        working = max(1, len(spent.cores))
        times[LAUNCH] += start
        for pipe, us in spent.busy_us.items():
            times[pipe] += us / working
        times[BARRIERS] += spent.core_wait_us / working
        times[MEMORY] += spent.memory_wait_us / working
        times[BALANCE] += max(0.0, launch.time_us - start - spent.elapsed_us / working)
        times["cores"] = max(times["cores"], sum(not core.memory_core for core in spent.cores))
    return times


def moved(times: Mapping[str, Any], best: Mapping[str, Any], time_us: float) -> str:
    """Return in words how *times* differ from *best*, which takes *time_us*: by mechanism, largest first, and in the cores that work."""
    words = differences(times, best, time_us)[:MOST_NAMED]
    cores = round(times["cores"])
    if cores != round(best["cores"]):
        words.append(f"{counted(cores, 'core works', 'cores work')}, not {best['cores']:.0f}")
    return ", ".join(words) or "the same in every mechanism"


def differences(times: Mapping[str, Any], best: Mapping[str, Any], time_us: float) -> list[str]:
    """Return each mechanism in which *times* differ noticeably from *best*, which takes *time_us*; the largest difference first."""
    apart = {name: times[name] - best[name] for name in MECHANISMS}
    chief = sorted((n for n in apart if abs(apart[n]) > LEAST * time_us), key=lambda n: -abs(apart[n]))
    return [f"{name} {apart[name]:+,.2f} us" for name in chief]
