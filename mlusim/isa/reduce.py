"""Reductions and searches: sums, counts, extremes with their index, and the first or last element that is not zero."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlusim.arch.dtypes import float32, half, uint16, uint32
from mlusim.isa.declare import (
    FLOATS,
    NUMBERS,
    Cost,
    Flow,
    Generation,
    Intrinsic,
    Passes,
    Tile,
    Unsigned,
    intrinsic,
)

LINE = 128  # bytes
BY_LINES = frozenset({"bang_reduce_sum"})
"""Reductions in which each line of results depends on the same line of the sources only."""
NONE_FOUND = 0xFFFF_FFFF
WITH_INDEX = "1 + 8 // sizeof(T)"  # a value and an 8-byte index


def _searching(spelling: str, native: str) -> Callable[[Callable[..., Any]], Intrinsic]:
    """Declare a row of ``(src, elem_count)`` that returns a number; a call with *dst* first is its older form."""
    return intrinsic(
        spelling,
        reads={"src": "elem_count"},
        dtypes=NUMBERS,
        dtypes_2xx=FLOATS,
        flow=Flow.MIXING,
        overload=(f"{spelling.lstrip('_')}_stored", "dst"),
        source="vendor declaration header, selection and search",
        native=native,
    )


@_searching(
    "__bang_count",
    "result = 0; for (int64_t i = 0; i < elem_count; i++) result += GET_$src(src[i]) != 0;",
)
def bang_count(src: Tile, elem_count: int) -> Unsigned:
    """Count: how many elements are not zero, ``sum(src[i] != 0)``; NaN counts, -0.0 does not (inferred)."""
    return int(np.count_nonzero(src))


@_searching(
    "__bang_findfirst1",
    (
        "result = 0xffffffff; for (int64_t i = 0; i < elem_count; i++) if (GET_$src(src[i]) != 0) { "
        "result = i; break; }"
    ),
)
def bang_findfirst1(src: Tile, elem_count: int) -> Unsigned:
    """Find the first: the smallest i with ``src[i] != 0``, or 0xffffffff if all are zero."""
    nonzero = np.flatnonzero(src)
    return int(nonzero[0]) if nonzero.size else NONE_FOUND


@_searching(
    "__bang_findlast1",
    (
        "result = 0xffffffff; for (int64_t i = elem_count; i-- > 0;) if (GET_$src(src[i]) != 0) { "
        "result = i; break; }"
    ),
)
def bang_findlast1(src: Tile, elem_count: int) -> Unsigned:
    """Find the last: the largest i with ``src[i] != 0``, or 0xffffffff if all are zero."""
    nonzero = np.flatnonzero(src)
    return int(nonzero[-1]) if nonzero.size else NONE_FOUND


def _stored(row: Intrinsic, what: str) -> Intrinsic:
    """``(dst, src, elem_count)``: the older form of *row*, which stores its result."""

    def body(dst: Tile, src: Tile, elem_count: int) -> None:
        dst[0] = row.body(src, elem_count)

    body.__doc__ = (
        f"Store {what}: ``dst[0] = {row.spelling}(src, elem_count)``.\n\n"
        f"The older form of ``{row.spelling}``: a call of it with *dst* first means this one."
    )
    return intrinsic(
        f"{row.spelling}_stored",
        writes={"dst": "1"},
        reads={"src": "elem_count"},
        dtypes={"dst": (uint32,), "src": NUMBERS},
        dtypes_2xx=(*FLOATS, uint32),
        same=False,
        in_place=False,
        cost=Cost("elem_count", "src"),
        flow=Flow.MIXING,
        passes=Passes.REDUCTION,
        aligned=("src",),
        source=row.source,
        native=f"int64_t result; {row.native} dst[0] = (uint32_t)result;",
    )(body)


bang_count_stored = _stored(bang_count, "how many elements are not zero")
bang_findfirst1_stored = _stored(bang_findfirst1, "the index of the first element that is not zero")
bang_findlast1_stored = _stored(bang_findlast1, "the index of the last element that is not zero")


@intrinsic(
    "__bang_popcnt",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count"},
    dtypes=(uint16, uint32),
    certainty="U",
    source="vendor declaration header, selection and search",
    native="for (int64_t i = 0; i < elem_count; i++) dst[i] = (T_$dst)__builtin_popcount(src[i]);",
)
def bang_popcnt(dst: Tile, src: Tile, elem_count: int) -> None:
    """Count bits: ``dst[i] =`` the number of bits set in ``src[i]`` (per element: unknown, default chosen)."""
    dst[...] = np.bitwise_count(src)


def _lane_sum(src: Tile) -> Any:
    """Return the sum of each lane over all lines, then a tree over the lanes, with every step in the type of *src*."""
    lanes = LINE // src.itemsize
    whole = len(src) // lanes * lanes
    partial = np.add.reduce(src[:whole].reshape(-1, lanes), axis=0, initial=src.dtype.type(0))
    partial[: len(src) - whole] += src[whole:]
    return _added_up(partial)


def _added_up(lanes: Tile) -> Any:
    """Return the sums along the last axis, as a tree: each step adds the second half to the first."""
    while lanes.shape[-1] > 1:
        half = lanes.shape[-1] // 2
        lanes = lanes[..., :half] + lanes[..., half:]
    return lanes[..., 0]


@intrinsic(
    "__bang_sum",
    reads={"src": "elem_count"},
    flow=Flow.MIXING,
    passes=Passes.REDUCTION,
    certainty="I",
    source="vendor declaration header, selection and search",
    native="result = GET_$src(lane_sum_$src(src, elem_count));",
)
def bang_sum(src: Tile, elem_count: int) -> Any:
    """Sum: returns ``sum(src[i])`` in the type of *src*.

    The order is unknown; inferred and chosen: element i adds to lane ``i % (128 / itemsize)``, then the
    lanes are added pairwise, first half to second half.
    """
    return _lane_sum(src)


@intrinsic(
    "__bang_reduce_sum",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count"},
    steps={"dst": f"{LINE} // sizeof(T) if generation > 2 else 1"},
    flow=Flow.MIXING,
    passes=Passes.REDUCTION,
    source="vendor declaration header, selection and search",
    native=(
        "int64_t n = 128 / (int64_t)sizeof *src; for (int64_t k = 0; k < elem_count; k += n) { "
        "const int64_t many_ = smaller_(n, elem_count - k); const T_$dst sum_ = lane_sum_$src(src + k, many_); "
        "if (generation == 2) memset(dst + k, 0, (size_t)(many_ * (int64_t)sizeof *dst)); dst[k] = sum_; }"
    ),
)
def bang_reduce_sum(dst: Tile, src: Tile, elem_count: int, generation: Generation) -> None:
    """Sum every 128 bytes: ``dst[k * n] = src[k * n] + ... + src[k * n + n - 1]`` with ``n = 128 / itemsize``.

    The other elements of *dst* stay as they are (on MLU2xx: zero).  *dst* may be exactly *src*.
    """
    n = LINE // src.itemsize
    lines = np.zeros(-(-len(src) // n) * n, src.dtype)
    lines[: len(src)] += src
    sums = _added_up(lines.reshape(-1, n))
    if generation == 2:
        dst[...] = 0
        dst[::n] = sums
    else:
        dst[...] = sums


def _extreme(
    spelling: str,
    find: Callable[..., Any],
    what: str,
    key: Callable[..., Any] | None = None,
    **properties: Any,
) -> Intrinsic:
    worst = -np.inf if find is np.argmax else np.inf

    def body(dst: Tile, src: Tile, elem_count: int) -> None:
        keys = src if key is None else key(src)
        at = find(keys)
        if keys[at] != keys[at]:  # NumPy finds a NaN first; here it loses against every number
            at = find(np.where(np.isnan(keys), worst, keys))
            # Where a number equals the substitute for NaN, a NaN may have been found first.
            at = at if keys[at] == keys[at] else np.argmin(np.isnan(keys))
        value = keys[at]  # before anything is stored, as dst may be src
        dst[1:].view(np.uint64)[0] = at
        dst[0] = value

    body.__doc__ = (
        f"Find the {what}: ``dst[0]`` = its value, the eight bytes behind it its first index.\n\n"
        "In float memory the index is uint32 ``dst[1]``; in half and bfloat16 memory uint16 ``dst[1]`` and ``dst[2]``, "
        "low half first.  A NaN loses against every number (unknown, default chosen)."
    )
    return intrinsic(
        spelling,
        writes={"dst": WITH_INDEX},
        reads={"src": "elem_count"},
        flow=Flow.MIXING,
        passes=Passes.REDUCTION,
        aligned=("src",),
        native=("extreme", ">" if find is np.argmax else "<", key is not None),
        **{"source": "vendor declaration header, selection and search", "dtypes": (half, float32)}
        | properties,
    )(body)


# bfloat16 as in public kernels for MLU590; that the index is stored as in half memory is inferred.
bang_argmax = _extreme("__bang_argmax", np.argmax, "largest element", since=322, dtypes=FLOATS)
bang_argmin = _extreme("__bang_argmin", np.argmin, "smallest element", since=322, dtypes=FLOATS)
bang_max = _extreme("__bang_max", np.argmax, "largest element", in_place=False)
bang_min = _extreme("__bang_min", np.argmin, "smallest element", in_place=False)
bang_fabsmax = _extreme("__bang_fabsmax", np.argmax, "largest absolute value", np.absolute, in_place=False)
bang_fabsmin = _extreme("__bang_fabsmin", np.argmin, "smallest absolute value", np.absolute, in_place=False)
