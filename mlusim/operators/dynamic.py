"""The vendor's dynamic thresholds: an output may be so many times as far from the exact result as another device's.

By the checklist of the vendor's pull requests::

    diff1 <= max(10 * diff1 of the other device, static threshold)    and the same for diff2
    the static threshold is that of the operator's class in the accuracy standard, or its document's own

diff4, where it is asked for, passes where the errors of the other device have one sign only, too, as in the evaluator
of the vendor's tests.  The other device is a GPU there; here it is the operator's definition, computed in the type of
its tensors throughout (inferred: another order of additions would give another error of the same size).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import evolve

from mlusim.operators.accuracy import Accuracy, judge
from mlusim.operators.spec import Dynamic, Thresholds

Array = np.ndarray[Any, Any]


def judge_dynamic(
    output: Array, dynamic: Dynamic, exact: Array, device: Callable[[], Array], reference: Callable[[], Array]
) -> Accuracy:
    """Judge *output* by its distance from *exact*, the result in float64.

    *device* computes the other device's output, and is called only where the static threshold is missed;
    *reference* what the vendor's cpu mode compares with, only where the dynamic one is missed too.
    """
    floor = dynamic.half if output.dtype.itemsize <= 2 else dynamic.single
    found = judge(output, exact, Thresholds(diff1=floor, diff2=floor, diff4=dynamic.diff4))
    if found.passed:
        return found
    other = judge(device(), exact, Thresholds(diff4=dynamic.diff4))
    limits = Thresholds(
        diff1=max(dynamic.diff1 * other.diff1, floor),
        diff2=max(dynamic.diff2 * other.diff2, floor),
        diff4=None if other.diff4 in {0.0, 1.0} else dynamic.diff4,
    )
    found = judge(output, exact, limits)
    said = f"dynamic thresholds: diff1 {limits.diff1:.3g}, diff2 {limits.diff2:.3g}"
    if not found.passed and dynamic.cpu_mode:
        found = judge(output, reference(), Thresholds(diff1=floor, diff2=floor))
        said += f" missed; cpu mode: {floor:g}"
    return evolve(found, note=f"{found.note}; {said}" if found.note else said)
