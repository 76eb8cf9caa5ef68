"""The vendor's accuracy metrics, and the verdict of an output against its reference.

With o an output element and r its reference::

    diff1   = sum|o - r| / (sum|r| + 1e-9)
    diff2   = sqrt(sum (o - r)^2 / (sum r^2 + 1e-9))
    diff3   = max of |o - r| where |r| < t, of |o - r| / (|r| + 1e-9) elsewhere
              (t: 1e-6 for float, 1e-4 for half, 0 for integers)
    diff3_2 = max |o - r|
    diff4   = share of o < r among the distinct pairs (o, r) with o != r; -1 below 100 such pairs

An error passes when it is finite, not negative and at most its threshold.  diff4 passes unless it
is exactly 0 or 1, that is unless every error has the same sign.

NaN and infinity: a pair matches when both are NaN or both the same infinity.  One pair that does
not match fails the output.  When all match, thresholds above zero are not applied to the rest of
the values (the vendor's evaluator compares positions only), while a threshold of zero is applied
with the matching pairs set to zero.

Source: the evaluator of the vendor's operator tests.  Temporaries are bounded, whatever the size
of the arrays: work goes in chunks.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from attrs import define, evolve, frozen

from mlusim.errors import UsageError
from mlusim.operators.spec import Dynamic, Thresholds

Array = np.ndarray[Any, Any]

CHUNK = 1 << 18  # elements of a chunk; six float64 temporaries of this size take 12 MiB
PAIRS = 1 << 19  # distinct (o, r) pairs held at a time; one word of 8 bytes each
BELOW = np.uint64(1)  # the bit of such a word that is set if o < r
FEWEST_PAIRS = 100  # with fewer pairs diff4 is not judged
TINY = 1e-9  # keeps the denominators from zero


@frozen
class Accuracy:
    """The errors of one output and the verdict.

    The errors are infinite when a NaN or an infinity has no match.  *diff4* is None when it is not
    judged and more than `PAIRS` elements differ.  *worst_index* is the index of the largest |o - r|,
    or of the first NaN or infinity without a match; None when no value differs.  *note* names the rule
    that was applied, where the numbers do not show it.
    """

    diff1: float
    diff2: float
    diff3: float
    diff3_2: float
    diff4: float | None
    passed: bool
    worst_index: tuple[int, ...] | None = None
    note: str = ""


@define
class _Sums:
    """The sums over both arrays; *worst* and *unmatched* are flat indices or -1.

    ``scratch`` holds three chunks in float64 for reuse: touching fresh memory costs more than computing the sums.
    """

    floor: float
    scratch: Array
    difference: float = 0.0
    magnitude: float = 0.0
    difference2: float = 0.0
    magnitude2: float = 0.0
    diff3: float = 0.0
    diff3_2: float = 0.0
    unequal: int = 0
    worst: int = -1
    unmatched: int = -1
    special: bool = False


def bit_equal(a: Array, b: Array) -> bool:
    """Return whether *a* and *b* have the same shape, dtype and bytes (NaN payloads, signed zeros)."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return all(np.array_equal(_bits(x), _bits(y)) for _, x, y in _chunks(a, b))


def judge(output: Array, reference: Array, thresholds: Thresholds) -> Accuracy:
    """Measure *output* against *reference* and apply those *thresholds* that are not None.

    The shapes must agree; the dtypes may differ, and the output's dtype decides diff3's switch.  Arrays with
    equal bits are recognised at the speed of memory.  Raises `UsageError` for different shapes.
    """
    if output.shape != reference.shape:
        raise UsageError(f"cannot judge shape {output.shape} against shape {reference.shape}")
    if bit_equal(output, reference):
        return Accuracy(0.0, 0.0, 0.0, 0.0, -1.0, passed=True)
    # diff3's switch from absolute to relative; other 2-byte floats go with half (inferred).
    floor = 0.0 if output.dtype.kind in "biu" else 1e-4 if output.dtype.itemsize <= 2 else 1e-6
    sums = _Sums(floor, np.empty((3, min(output.size, CHUNK))))
    with np.errstate(over="ignore", invalid="ignore"):
        for start, o, r in _chunks(output, reference):
            _collect(sums, start, o, r)
        if sums.unmatched >= 0:
            return _unmatched(sums, output.shape, thresholds)
        diff4 = _diff4(output, reference, sums.unequal, judged=thresholds.diff4 is not None)
    return _verdict(sums, diff4, output.shape, thresholds)


def _verdict(sums: _Sums, diff4: float | None, shape: tuple[int, ...], thresholds: Thresholds) -> Accuracy:
    """Apply the thresholds to errors whose NaN and infinities all match."""
    diff1 = sums.difference / (sums.magnitude + TINY)
    diff2 = math.sqrt(sums.difference2 / (sums.magnitude2 + TINY))
    judged = ((diff1, thresholds.diff1), (diff2, thresholds.diff2), (sums.diff3, thresholds.diff3))
    # Beside NaN and infinities, which all match, only a threshold of 0 is judged.
    passed = all(
        threshold is None
        or (sums.special and threshold > 0)
        or (math.isfinite(error) and 0 <= error <= threshold)
        for error, threshold in judged
    )
    if thresholds.diff4 is not None and not sums.special:
        passed = passed and diff4 not in {0.0, 1.0}
    note = "" if sums.unequal else "equal in value, not in bits"
    if sums.special and any(threshold for _, threshold in judged):
        note = "NaN or infinity in both: only their positions were judged, and they agree"
    worst = _index(sums.worst, shape)
    return Accuracy(diff1, diff2, sums.diff3, sums.diff3_2, diff4, passed, worst, note)


def _unmatched(sums: _Sums, shape: tuple[int, ...], thresholds: Thresholds) -> Accuracy:
    """Return the verdict on an output with a NaN or an infinity that has no match."""
    wanted = (thresholds.diff1, thresholds.diff2, thresholds.diff3, thresholds.diff4)
    # An output that no threshold judges cannot fail, as in the vendor's evaluator.
    passed = all(threshold is None for threshold in wanted)
    note = "NaN or infinity where the other side has something else"
    worst, inf = _index(sums.unmatched, shape), math.inf
    return Accuracy(inf, inf, inf, inf, None, passed=passed, worst_index=worst, note=note)


def _collect(sums: _Sums, start: int, o: Array, r: Array) -> None:
    """Add one chunk, whose first element has the flat index *start*, to *sums*."""
    distance, magnitude, other = sums.scratch[:, : o.size]
    np.copyto(magnitude, r)
    _distance(o, r, magnitude, out=distance)
    np.abs(magnitude, out=magnitude)
    total = float(distance.sum())
    # One sum shows whether any value is special; testing each value would take as long as all the rest.
    if not math.isfinite(total):  # else every value is finite
        _settle_specials(sums, start, o, r, distance, magnitude)
        total = float(distance.sum())
    sums.difference += total
    sums.difference2 += float(np.square(distance, out=other).sum())
    sums.magnitude += float(magnitude.sum())
    sums.magnitude2 += float(np.square(magnitude, out=other).sum())
    worst = int(distance.argmax())
    if distance[worst] > sums.diff3_2:
        sums.diff3_2, sums.worst = float(distance[worst]), start + worst
    sums.unequal += int(np.count_nonzero(distance != 0))  # counting booleans is five times as fast
    relative = np.divide(distance, np.add(magnitude, TINY, out=other), out=other)
    if sums.floor:
        np.copyto(relative, distance, where=magnitude < sums.floor)
    sums.diff3 = max(sums.diff3, float(relative.max()))


def _settle_specials(sums: _Sums, start: int, o: Array, r: Array, distance: Array, magnitude: Array) -> None:
    """Count NaN and infinities, remember the first without a match, and set matching pairs to zero."""
    special = ~(np.isfinite(o) & np.isfinite(r))
    if not special.any():
        return
    sums.special = True
    matched = (o == r) | (np.isnan(o) & np.isnan(r))
    alone = np.flatnonzero(special & ~matched)
    if alone.size and sums.unmatched < 0:
        sums.unmatched = start + int(alone[0])
    distance[special] = 0
    magnitude[special] = 0


def _diff4(output: Array, reference: Array, unequal: int, *, judged: bool) -> float | None:
    """Return the share of o < r among distinct unequal pairs; pairs are split into parts that fit into memory."""
    if unequal < FEWEST_PAIRS:
        return -1.0
    # Split by hash, so that equal pairs are in one part, whichever chunks they come from.
    parts = -(-unequal // PAIRS)
    if parts > 1 and not judged:
        return None
    below = distinct = 0
    for part in range(parts):
        pairs = _distinct_pairs(output, reference, part, parts)
        below += int(np.count_nonzero(pairs & BELOW))
        distinct += pairs.size
    return below / distinct if distinct >= FEWEST_PAIRS else -1.0


def _distinct_pairs(output: Array, reference: Array, part: int, parts: int) -> Array:
    """Return the distinct finite pairs o != r whose hash is *part* modulo *parts*, one word each."""
    distinct = np.empty(0, np.uint64)
    waiting: list[Array] = []
    held = 0
    for _, o, r in _chunks(output, reference):
        pairs = _words(o.astype(np.float64) + 0.0, r.astype(np.float64) + 0.0)  # -0 is 0
        if parts > 1:
            pairs = pairs[(pairs >> np.uint64(20)) % np.uint64(parts) == part]
        waiting.append(pairs)
        held += pairs.size
        if held > PAIRS:
            distinct, waiting, held = _distinct([distinct, *waiting]), [], 0
    return _distinct([distinct, *waiting])


def _words(o: Array, r: Array) -> Array:
    """Return a word for each finite pair with o != r: 63 bits that mix the bits of both, and `BELOW`.

    Words are sorted five times as fast as pairs.  Among a million pairs two have the same word once in ten million
    runs; the share is then wrong by a millionth, but still 0 or 1 if every error has the same sign.
    """
    unequal = (o != r) & np.isfinite(o) & np.isfinite(r)
    o, r = o[unequal], r[unequal]
    mixed: Array = o.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    mixed += r.view(np.uint64)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed &= ~BELOW
    mixed |= o < r
    return mixed


def _distinct(words: list[Array]) -> Array:
    """Return each of *words* once; `np.unique` takes longer."""
    ordered = np.concatenate(words)
    ordered.sort()
    new = np.ones(ordered.size, bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered[new]


def _distance(o: Array, r: Array, wide: Array, *, out: Array) -> None:
    """Store |o - r| in float64 to *out*; integers of one type are subtracted exactly, even of 64 bits; *wide* is r in float64."""
    if o.dtype == r.dtype and o.dtype.kind in "biu":
        high, low = np.maximum(o, r).astype(np.uint64), np.minimum(o, r).astype(np.uint64)
        np.copyto(out, high - low)
        return
    np.copyto(out, o)
    np.abs(np.subtract(out, wide, out=out), out=out)


def _index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    return None if flat < 0 else tuple(int(i) for i in np.unravel_index(flat, shape))


def _chunks(a: Array, b: Array) -> Iterator[tuple[int, Array, Array]]:
    """Yield (flat index of the first element, chunk of *a*, chunk of *b*) in C order."""
    # flat iterates over a strided array without copying all of it, which may be gigabytes.
    x, y = (v.reshape(-1) if v.flags.c_contiguous else v.flat for v in (a, b))
    for start in range(0, a.size, CHUNK):
        yield start, x[start : start + CHUNK], y[start : start + CHUNK]


def _bits(chunk: Array) -> Array:
    """Return the one-dimensional *chunk* as unsigned integers of its elements' size."""
    return chunk.view(np.dtype(f"u{chunk.itemsize}"))


# -- dynamic thresholds: a multiple of the error of another device ------------------------------------------
#
# From the checklist of the vendor's pull requests::
#
#     diff1 <= max(10 * diff1 of the other device, static threshold)    and the same for diff2
#     the static threshold is that of the operator's class in the accuracy standard, or its document's own
#
# diff4, if it is asked for, also passes if the errors of the other device have only one sign, as in the evaluator
# of the vendor's tests.  The other device is a GPU there; here it is the operator's definition, computed in the type of
# its tensors throughout (inferred: another order of additions would give another error of the same size).


def judge_dynamic(
    output: Array, dynamic: Dynamic, exact: Array, device: Callable[[], Array], reference: Callable[[], Array]
) -> Accuracy:
    """Judge *output* by its distance from *exact*, the result in float64.

    *device* computes the other device's output; it is called only if an error exceeds its static threshold.
    *reference* computes what the vendor's cpu mode compares with; it is called only if an error exceeds its dynamic
    threshold, too.
    """
    floor = dynamic.half if output.dtype.itemsize <= 2 else dynamic.single
    accuracy = judge(output, exact, Thresholds(diff1=floor, diff2=floor, diff4=dynamic.diff4))
    if accuracy.passed:
        return accuracy
    other = judge(device(), exact, Thresholds(diff4=dynamic.diff4))
    limits = Thresholds(
        diff1=max(dynamic.diff1 * other.diff1, floor),
        diff2=max(dynamic.diff2 * other.diff2, floor),
        diff4=None if other.diff4 in {0.0, 1.0} else dynamic.diff4,
    )
    accuracy = judge(output, exact, limits)
    said = f"dynamic thresholds: diff1 {limits.diff1:.3g}, diff2 {limits.diff2:.3g}"
    if not accuracy.passed and dynamic.cpu_mode:
        accuracy = judge(output, reference(), Thresholds(diff1=floor, diff2=floor))
        said += f" missed; cpu mode: {floor:g}"
    return evolve(accuracy, note=f"{accuracy.note}; {said}" if accuracy.note else said)
