"""Maximum and minimum, with the same results for -0, +0 and NaN on every host."""

from collections.abc import Callable
from typing import Any

import numpy as np

# In NumPy the sign of a zero result differs between processors, element types and positions in one array.
# Here -0 is below +0, as in IEEE 754-2019; that the device does the same is inferred. Of a signalling NaN and
# a float, vector code returns the float and the C library the NaN; NumPy uses the library for the last
# elements of an array, and on aarch64 for all. Here every NaN loses, as for halves and bfloat16.

ZEROS = "-0 is below +0 (inferred)."
"""The sentence on zeros in the pages of these rows."""
_SINGLE = np.dtype(np.float32)
_QUIET = np.uint32(1 << 22)


def _quiet(numbers: Any) -> Any:
    """Return the floats *numbers* with every signalling NaN made quiet."""
    bits = np.asarray(numbers, _SINGLE).view(np.uint32)
    return np.where(np.isnan(numbers), bits | _QUIET, bits).view(_SINGLE)


def _extreme(choose: np.ufunc, ties: np.ufunc, doc: str) -> Callable[..., Any]:
    """Return *choose* with a defined sign of zero: *ties* joins the bits of equal numbers. With fmax and fmin a NaN loses."""
    loses = choose in (np.fmax, np.fmin)

    def extreme(a: Any, b: Any, out: Any = None) -> Any:
        if loses and getattr(a, "dtype", None) == _SINGLE and np.count_nonzero(np.isnan(np.maximum(a, b))):
            a, b = _quiet(a), _quiet(b)
        equal = np.equal(a, b)
        # Equal integers have the same bits.
        if not np.count_nonzero(equal) or np.result_type(a, b).kind in "iu":
            return choose(a, b, out=out)
        dtype = np.result_type(a, b)
        word = np.dtype(f"u{dtype.itemsize}")
        # Equal floats differ in their bits only as +0 and -0: `and` gives -0 of a pair of -0, `or` of one -0.
        joined = ties(np.asarray(a, dtype).view(word), np.asarray(b, dtype).view(word))
        chosen = np.asarray(choose(a, b, out=out))
        np.copyto(chosen.view(word), joined, where=equal)
        return chosen if chosen.ndim else chosen[()]

    extreme.__doc__ = doc
    return extreme


maximum = _extreme(np.fmax, np.bitwise_and, "The larger number; a NaN loses against a number.")
minimum = _extreme(np.fmin, np.bitwise_or, "The smaller number; a NaN loses against a number.")
nan_maximum = _extreme(np.maximum, np.bitwise_and, "The larger number, or NaN where either is.")
nan_minimum = _extreme(np.minimum, np.bitwise_or, "The smaller number, or NaN where either is.")
EXTREMES = (maximum, minimum, nan_maximum, nan_minimum)
