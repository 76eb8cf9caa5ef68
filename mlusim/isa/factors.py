"""Operands of the tensor unit as it multiplies them: floats, or integers in floats that are wide enough for exact sums.

A kernel multiplies by the same weights again and again, so that the last ones whose conversion takes long are kept with the bytes that
they were made of: to compare the bytes takes a tenth of the time.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from mlusim.arch.dtypes import bfloat16

if TYPE_CHECKING:
    from mlusim.isa.declare import Tile

EXACT = 1 << 24  # up to where float32 has every integer
TOGETHER = 1 << 20  # elements of a picture that are laid side by side for one product: what a cache holds
KEPT = 4096  # elements from which on to compare is quicker than to convert
MOST = 4  # weights that are kept
FIRST = 32  # elements that tell most other weights apart


def factor(values: "Tile", generation: int, dtype: Any = np.float32) -> "Tile":
    """*values* in *dtype*, as the tensor unit multiplies them."""
    if values.dtype.kind in "iu":
        return values.astype(dtype)
    wide = _wide(values)
    # From MLU5xx on floats become tf32 first, 10 bits of mantissa (inferred, see `mlusim.isa.tensor`).
    if generation < 5 or values.dtype != np.float32:
        return wide
    bits = wide.view(np.uint32)
    # To nearest even, at the 13 bits that tf32 lacks.
    rounded = (bits + 0xFFF + (bits >> 13 & 1)) & np.uint32(0xFFFFE000)
    # The sum above may carry the bits of a NaN over into a number.
    return np.where(np.isfinite(wide), rounded.view(np.float32), wide)


def _wide(values: "Tile") -> "Tile":
    """*values*, floats, in float32; exact.

    What lies at odd places is copied here: NumPy would turn the copy of a matrix that it makes, and add up in another order.
    """
    if values.dtype == bfloat16.dtype:
        # bfloat16 is the upper half of a float.
        return (values.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float32, copy=not values.flags.aligned)


def sums_type(values: "Tile", weight: "Tile", terms: int) -> Any:
    """Return the type whose sums of *terms* products equal the tensor unit's: for integers one that is wide enough to be exact."""
    if values.dtype.kind not in "iu":
        return np.float32
    if not values.size or not weight.size or _largest(values) * _largest(weight) * terms <= EXACT:
        return np.float32
    return np.float64  # exact: products of 16 bits, fewer than 2^22 of them


def _largest(values: "Tile") -> int:
    """Return the largest magnitude in *values*, integers."""
    return max(abs(int(values.max())), abs(int(values.min())))


@frozen(eq=False)
class KeptWeight:
    """A weight of *count* filters in WRAM, and the filters in *dtype* as the tensor unit multiplies them, one a row."""

    weight: "Tile"
    count: int
    generation: int
    dtype: Any
    rows: "Tile"

    def made_of(self, weight: "Tile", count: int, generation: int, dtype: Any) -> bool:
        """Return whether *weight* has the same bytes, and is asked for in the same way."""
        stored = self.weight
        if (stored.dtype, stored.size, self.count, self.generation, self.dtype) != (
            weight.dtype,
            weight.size,
            count,
            generation,
            dtype,
        ):
            return False
        # As integers: a NaN has to equal itself, and -0 is another factor than +0.
        mine, theirs = (values.view(f"i{values.itemsize}") for values in (stored, weight))
        return mine[:FIRST].tobytes() == theirs[:FIRST].tobytes() and bool((mine == theirs).all())


class WeightStore:
    """The weights that were asked for last; threads may share it, for what it holds is replaced as a whole."""

    def __init__(self) -> None:
        """Hold no weights yet."""
        self._kept: tuple[KeptWeight, ...] = ()

    def rows(self, weight: "Tile", count: int, run: int, runs: int, generation: int, dtype: Any) -> "Tile":
        """Return the *count* filters of *weight*, *runs* of *run* elements each, as the tensor unit multiplies them, one a row; not to be written to."""
        if count % LANES:
            return factor(padded_filters(weight, count, run, runs, generation), generation, dtype)
        # Other types are converted by a shift or not at all, which takes no longer than to compare.
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


# -- the place of filters in WRAM: 64 lanes, each with its filters in order; on MLU3xx four lanes lie side by side

LANES = 64
PAD = (
    64  # bytes at whose multiples the runs of filters begin where their number is not a multiple of the lanes
)


def beside(generation: int) -> int:
    """Return how many lanes lie side by side in WRAM."""
    return 4 if generation == 3 else 1


def filters(weight: "Tile", count: int, generation: int) -> "Tile":
    """Return the *count* filters of a weight in WRAM, one a row."""
    near = beside(generation)
    return weight.reshape(LANES // near, count // LANES, near, -1).swapaxes(0, 1).reshape(count, -1)


def padded_filters(weight: "Tile", count: int, run: int, runs: int, generation: int) -> "Tile":
    """Return the *count* filters, no multiple of the lanes, each of *runs* runs of *run* elements, one a row.

    The lanes without a filter are left as they are, and each run begins at a multiple of 64 bytes (inferred: a published kernel
    for MLU370 has one filter, another three).
    """
    near, blocks = beside(generation), -(-count // LANES)
    step = -(-run * weight.itemsize // PAD) * PAD // weight.itemsize
    block, lane = np.divmod(np.arange(count), LANES)
    first = ((lane // near * blocks + block) * near + lane % near) * runs * step
    inside = (np.arange(runs)[:, None] * step + np.arange(run)).reshape(-1)
    rows: Tile = weight[first[:, None] + inside]
    return rows


def laid_out(rows: "Tile", count: int, generation: int) -> "Tile":
    """*count* filters, given one behind the other, as WRAM has them."""
    near = beside(generation)
    return rows.reshape(count // LANES, LANES // near, near, -1).swapaxes(0, 1)
