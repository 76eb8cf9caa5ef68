"""Comparison of an output with the reference, element by element, within a tolerance that no scale and no outlier can stretch.

An element is right within ``rtol x max(|r|, m) + atol`` of its reference r, where m is the median magnitude of the reference's
elements that are not zero: a constant that is near on the mean, or a tail that was left out, is not.
Integers and truth values are right where they are equal, NaN and infinities where they match.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import asdict, frozen

from mlusim.errors import UsageError
from mlusim.operators.accuracy import judge
from mlusim.operators.spec import Thresholds

Array = np.ndarray[Any, Any]
HALF, SINGLE = (
    1e-2,
    1e-3,
)  # relative tolerances of elements of two bytes, and of longer ones


@frozen
class Tolerance:
    """*rtol* of an element's magnitude or the median one, whichever is greater, and *atol* besides."""

    rtol: float
    atol: float = 0.0


@frozen
class Difference:
    """An output beside its reference: how many elements are ``wrong``, and the one that is farthest beyond its tolerance.

    ``got``, ``expected``, ``allowed`` and ``largest``, the absolute difference, are of the element at ``index``; None where all
    are equal.  ``typical`` is the median relative error of elements that are not zero; ``diff1``, ``diff2`` and ``diff3`` are the
    vendor's figures.
    """

    wrong: int
    elements: int
    index: tuple[int, ...] | None
    got: float | None
    expected: float | None
    largest: float
    allowed: float
    typical: float
    diff1: float
    diff2: float
    diff3: float

    @property
    def right(self) -> bool:
        """Return whether every element is right."""
        return self.wrong == 0

    @property
    def excess(self) -> float:
        """The largest difference as a multiple of what is allowed; what has no bound comes first."""
        if np.isnan(self.largest):
            return float("inf")
        return self.largest / self.allowed if self.allowed else float("inf") if self.largest else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as plain data."""
        return asdict(self) | {"right": self.right}


def usual(dtype: np.dtype[Any]) -> Tolerance:
    """Return the tolerance of elements of *dtype* where the reference names none."""
    if dtype.kind in "iub":
        return Tolerance(0.0)
    return Tolerance(HALF if dtype.itemsize <= 2 else SINGLE)


def compared(output: Array, expected: Array, tolerance: Tolerance) -> Difference:
    """Compare *output* with what was *expected*, of the same shape.  Raises `UsageError` for another one."""
    if output.shape != expected.shape:
        raise UsageError(f"an output of shape {list(output.shape)} where {list(expected.shape)} was expected")
    accuracy = judge(output, expected, Thresholds())
    figures = {"diff1": accuracy.diff1, "diff2": accuracy.diff2, "diff3": accuracy.diff3}
    o, r = (a.reshape(-1) for a in (output, expected))
    o, r = (a if a.dtype.kind in "iub" else a.astype(np.float64) for a in (o, r))
    exact = output.dtype.kind in "iub"
    same = o == r
    if not exact:
        same |= np.isnan(o) & np.isnan(r)
    if same.all():
        return Difference(0, o.size, None, None, None, 0.0, 0.0, 0.0, **figures)
    with np.errstate(all="ignore"):
        distance = np.abs(o.astype(np.float64) - r.astype(np.float64))
        magnitude = np.abs(r.astype(np.float64))
        allowed = tolerance.rtol * np.maximum(magnitude, _median(magnitude)) + tolerance.atol
        beyond = distance - allowed
        relative = distance[magnitude > 0] / magnitude[magnitude > 0]
    special = ~same & ~(np.isfinite(o) & np.isfinite(r)) if not exact else np.zeros(o.size, bool)
    wrong = ~same & (special | ~(beyond <= 0))
    score = np.where(special, np.inf, np.where(same, -np.inf, beyond))
    at = int(np.argmax(score))
    return Difference(
        int(np.count_nonzero(wrong)),
        o.size,
        tuple(int(i) for i in np.unravel_index(at, expected.shape)),
        _number(o[at]),
        _number(r[at]),
        float(distance[at]),
        0.0 if special[at] else float(allowed[at]),
        _median(relative, zero=True),
        **figures,
    )


def _median(values: Array, *, zero: bool = False) -> float:
    """Return the median of the finite ones of *values* that are greater than 0, or with *zero* of all that are finite."""
    told = values[np.isfinite(values) & ((values > 0) | zero)]
    return float(np.median(told)) if told.size else 0.0


def _number(value: Any) -> float:
    found: float = value.item()
    return found


def tolerances(given: object, outputs: Mapping[str, Array]) -> dict[str, Tolerance]:
    """Return the tolerance of each of *outputs*: *given* is None, a number, a mapping with "rtol" and "atol", or one by output."""
    if isinstance(given, Mapping) and not set(given) <= {"rtol", "atol"}:
        unknown = next((name for name in given if name not in outputs), None)
        if unknown is not None:
            raise UsageError(
                f"tolerance names {unknown!r}, which is no output; there are {', '.join(outputs)}"
            )
        return {name: _tolerance(given.get(name), array) for name, array in outputs.items()}
    return {name: _tolerance(given, array) for name, array in outputs.items()}


def _tolerance(given: Any, array: Array) -> Tolerance:
    if given is None:
        return usual(array.dtype)
    parts = given if isinstance(given, Mapping) else {"rtol": given}
    try:
        rtol, atol = float(parts.get("rtol", 0)), float(parts.get("atol", 0))
    except (TypeError, ValueError):
        rtol = atol = -1.0
    if not set(parts) <= {"rtol", "atol"} or not (0 <= rtol < 1 and 0 <= atol < np.inf):
        raise UsageError(
            f"tolerance = {given!r:.80} is none; give a number from 0 to 1, or {{'rtol': 1e-3, 'atol': 1e-5}}"
        )
    return Tolerance(rtol, atol)
