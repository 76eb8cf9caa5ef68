"""tin_shift from its definition, in NumPy: one copy of frames per group.

With cg = C / G channels per group and g = c // cg::

    out[n, t + shifts[n, g], c, hw] = in[n, t, c, hw]    where 0 <= t + shifts[n, g] < T
    out = 0 elsewhere

The backward direction moves by the same shift, not by its opposite: the vendor's board runs one
kernel for both, and so does mmcv.  Bits are copied, NaN payloads included.
"""

from typing import Any

import numpy as np

from mlusim.operators.spec import Arrays, Params, Theory

DIRECTIONS = (("input", "output"), ("grad_output", "grad_input"))


def reference(inputs: Arrays, params: Params) -> dict[str, np.ndarray[Any, Any]]:
    """Return {"output"} for `input`, {"grad_input"} for `grad_output`: [N, T, C, HW] like it.

    `shifts` is int32 [N, G].  The only memory used is the output's, whose zero frames are never accessed.
    """
    del params  # there are none
    source, target = next(pair for pair in DIRECTIONS if pair[0] in inputs)
    return {target: shifted(inputs[source], inputs["shifts"])}


def shifted(data: np.ndarray[Any, Any], shifts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return *data* [N, T, C, HW] with each of G groups of channels moved along T by *shifts* [N, G]."""
    words = np.dtype(f"u{data.itemsize}")  # integers, so that bits are copied whatever numbers they are
    result = np.zeros(data.shape, data.dtype)
    source, target = data.view(words), result.view(words)
    frames, width = data.shape[1], data.shape[2] // shifts.shape[1]
    for (batch, group), shift in np.ndenumerate(shifts):
        low, high = max(0, int(shift)), min(frames, frames + int(shift))
        if low < high:
            channels = slice(group * width, (group + 1) * width)
            target[batch, low:high, channels] = source[batch, low - int(shift) : high - int(shift), channels]
    return result


def theory(inputs: Arrays, params: Params) -> Theory:
    """Return the vendor's counts: one operation per output element; bytes of both tensors and shifts."""
    del params
    data = inputs[next(source for source, _ in DIRECTIONS if source in inputs)]
    return Theory(ops=data.size, ios=2 * data.nbytes + 4 * inputs["shifts"].size)
