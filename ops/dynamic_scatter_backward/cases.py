"""The cases of dynamic_scatter_backward.

A limit case has exactly as many points as one pass over the NRAM holds, or one more: ``n`` points with
``n * (20*C + 4) + 4*C <= usable NRAM`` bytes, per core.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from mlusim.host import Status
from mlusim.operators.spec import Case

Array = np.ndarray[Any, Any]
Made = tuple[dict[str, Array], dict[str, Any]]
Maker = Callable[[np.random.Generator], Made]

BAD_PARAM = Status.MLUOP_STATUS_BAD_PARAM
# Board: (bytes of NRAM a kernel may declare, cores that share the points).
BOARDS = {"MLU370-X4": (655360, 32), "MLU590-H8": (393216, 48)}


def _call(
    feats: Array, grads: Array, maxima: Array, voxel_of: Array, voxels: int, reduce_type: str = "max"
) -> Made:
    """Return the inputs and parameters of a call; counts are taken from the map."""
    counted = np.clip(voxel_of, -1, len(maxima) - 1)
    counts = np.bincount(counted + 1, minlength=len(maxima) + 1)[1:]
    inputs = {
        "grad_voxel_feats": grads.astype(np.float32),
        "feats": feats.astype(np.float32),
        "voxel_feats": maxima.astype(np.float32),
        "point2voxel_map": voxel_of.astype(np.int32),
        "voxel_points_count": counts.astype(np.int32),
        "voxel_num": np.array([voxels], np.int32),
    }
    return inputs, {"reduce_type": reduce_type}


def _maxima(feats: Array, voxel_of: Array, rows: int) -> Array:
    """Return [rows, C]: each voxel's maximum, NaN ignored; -inf where a voxel has no number."""
    result = np.full((rows, feats.shape[1]), -np.inf, feats.dtype)
    order = np.argsort(voxel_of, kind="stable")
    order = order[voxel_of[order] >= 0]
    if order.size and feats.shape[1]:
        used, starts = np.unique(voxel_of[order], return_index=True)
        result[used] = np.fmax(np.fmax.reduceat(feats[order], starts, axis=0), result[used])
    return result


def _drawn(
    points: int,
    rows: int,
    width: int,
    voxels: int | None = None,
    *,
    unmapped: float = 0.0,
    levels: int | None = None,
) -> Maker:
    """Return a maker of N *points*, M *rows*, C = *width*, of which *voxels* rows are in use.

    Every voxel gets a point while points remain; the share *unmapped* of the points has no voxel.  With
    *levels*, features take so few values that several points of a voxel share the maximum.
    """

    def make(generator: np.random.Generator) -> Made:
        used = rows if voxels is None else voxels
        feats = generator.standard_normal((points, width), np.float32)
        if levels is not None:
            feats = generator.integers(0, levels, (points, width)).astype(np.float32)
        voxel_of = np.full(points, -1)
        mapped = generator.permutation(points)[: points - round(unmapped * points)]
        if used:
            voxel_of[mapped] = np.concatenate(
                [np.arange(used), generator.integers(0, used, max(0, points - used))]
            )[: len(mapped)]
        grads = generator.standard_normal((rows, width), np.float32)
        return _call(feats, grads, _maxima(feats, voxel_of, rows), voxel_of, used)

    return make


def _network() -> Iterator[Case]:
    """Yield the document's network scale and the vendor's own test scale."""
    yield Case("network_17176x13743x128", "network", _drawn(17176, 13743, 128, unmapped=0.01))
    yield Case(
        "vendor_34x34x5",
        "network",
        _drawn(34, 34, 5, 30, unmapped=4 / 34),
        note="four points without a voxel, one point for each of 30 voxels",
    )


def _golden() -> Iterator[Case]:
    """Yield one call small enough to work out on paper: ties, no voxel, padding, NaN, infinity."""

    def make(_: np.random.Generator) -> Made:
        nan, inf = np.nan, np.inf
        feats = np.array([[1, 5], [3, 5], [9, 9], [3, nan], [nan, -0.0], [inf, 2]])
        voxel_of = np.array([0, 0, -1, 0, 1, 2])
        maxima = np.array([[3, 5], [-inf, 0.0], [inf, 2], [1, 5]])
        grads = np.array([[10, 20], [30, 40], [50, 60], [70, 80]])
        return _call(feats, grads, maxima, voxel_of, 3)

    yield Case("golden_by_hand", "golden", make)


def _boundary() -> Iterator[Case]:
    """Yield ties, points without voxel, NaN, padding, and point counts around the core counts."""
    yield Case("ties", "boundary", _drawn(200, 20, 7, levels=2))
    yield Case(
        "all_equal", "boundary", _drawn(70, 3, 5, levels=1), note="the first point of a voxel gets all"
    )
    yield Case("no_point_mapped", "boundary", _drawn(40, 8, 6, unmapped=1.0))
    yield Case("half_unmapped", "boundary", _drawn(100, 30, 6, unmapped=0.5))
    yield Case("padded_rows", "boundary", _drawn(60, 50, 9, 20))
    yield Case("padded_rows_match", "boundary", _padding_that_matches)
    yield Case("no_voxel_in_use", "boundary", _drawn(20, 10, 4, 0), note="voxel_num = 0: all zeros")
    yield Case("voxel_of_nan", "boundary", _nan_voxel)
    yield Case("infinite_maxima", "boundary", _infinite)
    yield Case("nan_gradients", "boundary", _nan_gradients)
    yield Case("maximum_of_nobody", "boundary", _nobody, note="voxel features that no point has")
    yield Case("one_voxel", "boundary", _drawn(129, 1, 33))
    yield Case("one_point", "boundary", _drawn(1, 1, 1))
    yield Case("one_channel", "boundary", _drawn(97, 40, 1, levels=3))
    for points in (4, 5, 31, 32, 33, 48, 49):
        yield Case(f"points_{points}", "boundary", _drawn(points, points // 2, 6, levels=4))


def _padding_that_matches(generator: np.random.Generator) -> Made:
    """Rows at and past voxel_num hold features of real points; they must be ignored."""
    inputs, _ = _drawn(30, 12, 4, 6)(generator)
    maxima = inputs["voxel_feats"]
    maxima[6:] = inputs["feats"][:6]
    return _call(inputs["feats"], inputs["grad_voxel_feats"], maxima, inputs["point2voxel_map"], 6)


def _nan_voxel(generator: np.random.Generator) -> Made:
    """Voxel 1 has only NaN points, voxel 2 one NaN among numbers."""
    voxel_of = np.resize([0, 1, 2], 18)
    feats = generator.standard_normal((18, 5), np.float32)
    feats[voxel_of == 1] = np.nan
    feats[2, :3] = np.nan
    grads = generator.standard_normal((3, 5), np.float32)
    return _call(feats, grads, _maxima(feats, voxel_of, 3), voxel_of, 3)


def _infinite(generator: np.random.Generator) -> Made:
    """Infinities of both signs are equal to themselves, and zeros of both signs to each other."""
    feats = generator.choice(np.array([-np.inf, np.inf, -0.0, 0.0], np.float32), (40, 6))
    voxel_of = generator.integers(0, 9, 40)
    maxima = _maxima(feats, voxel_of, 9)
    maxima[maxima == 0] *= -1
    return _call(feats, generator.standard_normal((9, 6), np.float32), maxima, voxel_of, 9)


def _nan_gradients(generator: np.random.Generator) -> Made:
    """Gradients that are NaN, infinite or negative zero are stored like any other gradient."""
    inputs, _ = _drawn(50, 16, 6)(generator)
    grads = generator.choice(np.array([np.nan, np.inf, -np.inf, -0.0, 1], np.float32), (16, 6))
    return _call(inputs["feats"], grads, inputs["voxel_feats"], inputs["point2voxel_map"], 16)


def _nobody(generator: np.random.Generator) -> Made:
    """No point has the features of its voxel in the even channels."""
    inputs, _ = _drawn(50, 16, 6)(generator)
    maxima = inputs["voxel_feats"]
    maxima[:, ::2] += 1
    return _call(inputs["feats"], inputs["grad_voxel_feats"], maxima, inputs["point2voxel_map"], 16)


def _random() -> Iterator[Case]:
    """Yield shapes drawn at random, with points that have no voxel and maxima that are shared."""

    def make(generator: np.random.Generator) -> Made:
        points, width = int(generator.integers(1, 400)), int(generator.integers(1, 70))
        rows = int(generator.integers(1, points + 1))
        used = int(generator.integers(0, rows + 1))
        return _drawn(points, rows, width, used, unmapped=0.2, levels=int(generator.integers(2, 60)))(
            generator
        )

    for index in range(6):
        yield Case(f"random_{index}", "random", make)


def _limit() -> Iterator[Case]:
    """Yield, for each board, both sides of a full pass per core, and the widest rows that fit."""
    for board, (nram, cores) in BOARDS.items():
        width = 5000
        pass_points = (nram - 4 * width) // (20 * width + 4)
        for label, each in (
            ("full", pass_points),
            ("full_and_one", pass_points + 1),
            ("two", 2 * pass_points),
        ):
            make = _drawn(cores * each, cores, width)
            yield Case(f"pass_{label}_{board}", "limit", make, boards=(board,))
        widest = (nram - 4) // 24
        yield Case(f"widest_{board}", "limit", _drawn(3, 2, widest), boards=(board,))
        yield Case(
            f"wider_than_widest_{board}",
            "limit",
            _drawn(3, 2, widest + 1),
            status=BAD_PARAM,
            boards=(board,),
            note="not one point fits the NRAM; the vendor answers its own NRAM limit the same way",
        )


def _zero() -> Iterator[Case]:
    """Yield zero elements: always success, and grad_feats is zero wherever it has elements."""
    yield Case("zero_channels", "zero", _drawn(8, 4, 0))
    yield Case("zero_points_and_rows", "zero", _drawn(0, 0, 5))
    yield Case("zero_rows", "zero", _drawn(8, 0, 5), note="no voxel: grad_feats is zero-filled")


def _refused() -> Iterator[Case]:
    """Yield calls that the host refuses, each one change away from a good one."""
    yield Case("refused_more_rows_than_points", "limit", _drawn(4, 8, 3, 4), status=BAD_PARAM)
    for mode in ("mean", "sum"):
        yield Case(f"refused_reduce_{mode}", "limit", _changed(reduce_type=mode), status=BAD_PARAM)
    for name in ("grad_voxel_feats", "feats", "voxel_feats"):
        yield Case(f"refused_{name}_half", "limit", _changed(name, _as_half), status=BAD_PARAM)
    for name in ("point2voxel_map", "voxel_points_count", "voxel_num"):
        yield Case(f"refused_{name}_int64", "limit", _changed(name, _as_int64), status=BAD_PARAM)
    for name in ("grad_voxel_feats", "voxel_feats"):
        yield Case(f"refused_{name}_rank", "limit", _changed(name, _deeper), status=BAD_PARAM)
        yield Case(f"refused_{name}_channels", "limit", _changed(name, _narrower), status=BAD_PARAM)
    for name in ("voxel_feats", "point2voxel_map", "voxel_points_count"):
        yield Case(f"refused_{name}_rows", "limit", _changed(name, _shorter), status=BAD_PARAM)
    for name in ("point2voxel_map", "voxel_points_count", "voxel_num"):
        yield Case(f"refused_{name}_rank", "limit", _changed(name, _deeper), status=BAD_PARAM)
    yield Case("refused_voxel_num_two", "limit", _changed("voxel_num", _twice), status=BAD_PARAM)


def _changed(name: str = "", change: Callable[[Array], Array] | None = None, **params: Any) -> Maker:
    """Return a maker of a good call with one input changed, or with other *params*."""

    def make(generator: np.random.Generator) -> Made:
        inputs, good = _drawn(8, 4, 6)(generator)
        if change is not None:
            inputs[name] = np.ascontiguousarray(change(inputs[name]))
        return inputs, good | params

    return make


def _as_half(a: Array) -> Array:
    return a.astype(np.float16)


def _as_int64(a: Array) -> Array:
    return a.astype(np.int64)


def _deeper(a: Array) -> Array:
    return a[..., None]


def _narrower(a: Array) -> Array:
    return a[:, :-1]


def _shorter(a: Array) -> Array:
    return a[:-1]


def _twice(a: Array) -> Array:
    return np.repeat(a, 2)


CASES = tuple(chain(_network(), _golden(), _boundary(), _random(), _limit(), _zero(), _refused()))
