"""Operands in the form in which the tensor unit multiplies them: floats, or integers as floats wide enough for exact sums.

Kernels multiply by the same weights many times, so the last weights with a slow conversion are cached
together with their source bytes: comparing bytes takes a tenth of the time of a conversion.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from mlusim.arch.dtypes import bfloat16

if TYPE_CHECKING:
    from mlusim.isa.declare import Tile

EXACT = 1 << 24  # float32 represents all integers up to here
TOGETHER = 1 << 20  # elements of a picture for one product of matrices: what fits in a cache
KEPT = 4096  # with this many elements or more, comparing is faster than converting
MOST = 4  # number of weights in the cache
FIRST = 32  # the first elements, which already differ between most weights


def factor(values: "Tile", generation: int, dtype: Any = np.float32) -> "Tile":
    """Return *values* as *dtype*, in the precision of the tensor unit."""
    if values.dtype.kind in "iu":
        return values.astype(dtype)
    wide = _wide(values)
    # From MLU5xx on floats are first rounded to tf32, with 10 bits of mantissa (inferred, see
    # `mlusim.isa.tensor`).
    if generation < 5 or values.dtype != np.float32:
        return wide
    bits = wide.view(np.uint32)
    # Round to nearest even at the 13 bits that tf32 lacks.
    rounded = (bits + 0xFFF + (bits >> 13 & 1)) & np.uint32(0xFFFFE000)
    # The addition above can carry the bits of a NaN into a number.
    return np.where(np.isfinite(wide), rounded.view(np.float32), wide)


def _wide(values: "Tile") -> "Tile":
    """Return the floats *values* in float32, exactly.

    Unaligned arrays are copied here; NumPy's own copy of such a matrix would be transposed, which changes the
    order of the sums.
    """
    if values.dtype == bfloat16.dtype:
        # bfloat16 is the upper half of a float.
        return (values.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float32, copy=not values.flags.aligned)


def sums_type(values: "Tile", weight: "Tile", terms: int) -> Any:
    """Return a type in which sums of *terms* products equal the tensor unit's; for integers it is wide enough to be exact."""
    if values.dtype.kind not in "iu":
        return np.float32
    if not values.size or not weight.size or _largest(values) * _largest(weight) * terms <= EXACT:
        return np.float32
    return np.float64  # exact: products of 16-bit integers, fewer than 2^22 terms


def _largest(values: "Tile") -> int:
    """Return the largest magnitude of the integers *values*."""
    return max(abs(int(values.max())), abs(int(values.min())))


@frozen(eq=False)
class KeptWeight:
    """A weight of *count* filters in WRAM, and the converted filters in *dtype*, one per row."""

    weight: "Tile"
    count: int
    generation: int
    dtype: Any
    rows: "Tile"

    def made_of(self, weight: "Tile", count: int, generation: int, dtype: Any) -> bool:
        """Return whether *weight* and the other arguments equal those of this entry."""
        stored = self.weight
        if (stored.dtype, stored.size, self.count, self.generation, self.dtype) != (
            weight.dtype,
            weight.size,
            count,
            generation,
            dtype,
        ):
            return False
        # Compare as integers: a NaN must equal itself, and -0 must differ from +0.
        mine, theirs = (values.view(f"i{values.itemsize}") for values in (stored, weight))
        return mine[:FIRST].tobytes() == theirs[:FIRST].tobytes() and bool((mine == theirs).all())


class WeightStore:
    """The most recent weights; threads may share the store, because its content is replaced as a whole."""

    def __init__(self) -> None:
        """Start without any weights."""
        self._kept: tuple[KeptWeight, ...] = ()

    def rows(self, weight: "Tile", count: int, run: int, runs: int, generation: int, dtype: Any) -> "Tile":
        """Return the *count* filters of *weight*, *runs* of *run* elements each, converted for the product, one per row; read-only."""
        if count % LANES:
            return factor(padded_filters(weight, count, run, runs, generation), generation, dtype)
        # Other types are converted by a shift or not at all, which takes no longer than comparing.
        dear = weight.dtype == np.float16 or (weight.dtype == np.float32 and generation >= 5)
        if not dear or weight.size < KEPT:
            return factor(filters(weight, count, generation), generation, dtype)
        recent = self._kept
        entry = next(
            (candidate for candidate in recent if candidate.made_of(weight, count, generation, dtype)), None
        )
        if entry is None:
            factors = factor(filters(weight, count, generation), generation, dtype)
            rows = factors.copy() if np.may_share_memory(factors, weight) else factors  # WRAM will change
            entry = KeptWeight(weight.copy(), count, generation, dtype, rows)
            self._kept = (entry, *recent[: MOST - 1])
        return entry.rows


WEIGHTS = WeightStore()


# -- filters in WRAM: 64 lanes, each with its filters in order; on MLU3xx four lanes are interleaved ------

LANES = 64
PAD = 64  # alignment, in bytes, of the runs of filters if their number is not a multiple of the lanes


def beside(generation: int) -> int:
    """Return how many lanes are interleaved in WRAM."""
    return 4 if generation == 3 else 1


def filters(weight: "Tile", count: int, generation: int) -> "Tile":
    """Return the *count* filters of a weight in WRAM, one per row."""
    near = beside(generation)
    return weight.reshape(LANES // near, count // LANES, near, -1).swapaxes(0, 1).reshape(count, -1)


def padded_filters(weight: "Tile", count: int, run: int, runs: int, generation: int) -> "Tile":
    """Return the *count* filters (not a multiple of the lanes), each of *runs* runs of *run* elements, one per row.

    Lanes without a filter are skipped, and each run begins at a multiple of 64 bytes (inferred from two
    published kernels for MLU370, one with one filter and one with three).
    """
    near, blocks = beside(generation), -(-count // LANES)
    step = -(-run * weight.itemsize // PAD) * PAD // weight.itemsize
    block, lane = np.divmod(np.arange(count), LANES)
    first = ((lane // near * blocks + block) * near + lane % near) * runs * step
    inside = (np.arange(runs)[:, None] * step + np.arange(run)).reshape(-1)
    rows: Tile = weight[first[:, None] + inside]
    return rows


def laid_out(rows: "Tile", count: int, generation: int) -> "Tile":
    """Return *count* contiguous filters in the layout of WRAM."""
    near = beside(generation)
    return rows.reshape(count // LANES, LANES // near, near, -1).swapaxes(0, 1)
