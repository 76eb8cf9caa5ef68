"""The cases of border_align_backward; H * W = K throughout, as the host demands.

A limit case has as many channels as one pass over the NRAM holds, one more, or two passes.
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
EFFORT = 2.5e-6  # estimated seconds for each element of the gradients
HALF, FLOAT = np.float16, np.float32
TYPES = (("float", FLOAT), ("half", HALF))
USABLE_NRAM = {"MLU370-X4": 655360, "MLU590-H8": 393216}  # bytes a kernel may declare

GOLDEN_GRADS = (
    (3, 6, 1, 2),
    (4, 7, -1, 1),
    (3, 7, 1, 2),
    (4, 6, -1, 1),
    (2, 12, -1, -1),
    (3, 12, -1, 2),
    (3, 7, 1, 2),
    (4, 7, -1, 1),
    (6, 12, -1, -2),
    (4, 12, -1, 1),
    (4, 9, -1, 1),
    (4, 11, -1, 1),
)
GOLDEN_BOXES = (
    (0, 0, 2, 1),
    (1, 0, 3, 1),
    (1, 0, 2, 1),
    (0, 0, 3, 1),
    (0, 0, 1, 2),
    (0, 0, 2, 2),
    (1, 0, 2, 1),
    (1, 0, 3, 1),
    (0, 1, 1, 2),
    (0, 0, 3, 2),
    (1, 0, 3, 2),
    (2, 0, 3, 2),
)
GOLDEN_PICKS = (
    (1, 0, 0, 1),
    (1, 0, 0, 1),
    (1, 0, 0, 1),
    (1, 0, 0, 1),
    (1, 1, 0, 1),
    (1, 1, 0, 1),
    (1, 0, 0, 1),
    (1, 0, 0, 1),
    (1, 1, 0, 0),
    (1, 1, 0, 1),
    (1, 1, 0, 1),
    (1, 1, 0, 1),
)


def _call(
    grads: Array, boxes: Array, picks: Array, size: tuple[int, int], pool_size: int, dtype: Any
) -> Made:
    """Return the inputs, in *dtype*, and the parameters of a call; *size* is (height, width)."""
    inputs = {
        "grad_output": grads.astype(dtype),
        "boxes": boxes.astype(dtype),
        "argmax_idx": picks.astype(np.int32),
    }
    return inputs, {"pool_size": pool_size, "height": size[0], "width": size[1]}


def _drawn(
    images: int,
    size: tuple[int, int],
    channels: int,
    pool_size: int,
    dtype: Any = FLOAT,
    *,
    reach: float = 0.0,
    picks: tuple[int, int] | None = None,
) -> Maker:
    """Return a maker of boxes inside, or up to *reach* pixels outside, features of *size* (H, W).

    argmax is drawn from *picks*, both ends included; by default every one of the P + 1 points.
    """
    height, width = size
    count = height * width

    def make(generator: np.random.Generator) -> Made:
        first, last = (0, pool_size) if picks is None else picks
        shape = (images, count, 4, channels)
        x = np.sort(generator.uniform(-reach, max(width - 1, 0) + reach, (images, count, 2)), axis=2)
        y = np.sort(generator.uniform(-reach, max(height - 1, 0) + reach, (images, count, 2)), axis=2)
        boxes = np.stack([x[..., 0], y[..., 0], x[..., 1], y[..., 1]], axis=2)
        picked = generator.integers(first, last, shape, np.int32, endpoint=True)
        return _call(generator.standard_normal(shape, FLOAT), boxes, picked, size, pool_size, dtype)

    return make


def _placed(boxes: Any, size: tuple[int, int], pool_size: int, channels: int, dtype: Any = FLOAT) -> Maker:
    """Return a maker with these *boxes* [K, 4]; channel c of every border takes point c mod (P + 1)."""

    def make(generator: np.random.Generator) -> Made:
        corners = np.array([boxes], np.float64)
        shape = (1, corners.shape[1], 4, channels)
        picks = np.broadcast_to(np.arange(channels) % (pool_size + 1), shape)
        return _call(generator.standard_normal(shape, FLOAT), corners, picks, size, pool_size, dtype)

    return make


def _network() -> Iterator[Case]:
    """Yield the document's three network scales and the vendor's own test scale."""
    for label, dtype in TYPES:
        for size, channels in (((7, 10), 256), ((25, 38), 256), ((7, 10), 128)):
            name = f"network_2x{size[0] * size[1]}x4x{channels}_{label}"
            effort = EFFORT * 2 * size[0] * size[1] * 4 * channels
            yield Case(name, "network", _drawn(2, size, channels, 10, dtype), effort=effort)

    def vendor(generator: np.random.Generator) -> Made:
        boxes = generator.random((1, 70, 4))
        picks = generator.integers(0, 2, (1, 70, 4, 129))
        return _call(generator.standard_normal((1, 70, 4, 129), FLOAT), boxes, picks, (10, 7), 10, FLOAT)

    yield Case(
        "vendor_1x70x4x129", "network", vendor, note="boxes in [0, 1), so x1 < x0 occurs; argmax 0 or 1"
    )


def _golden() -> Iterator[Case]:
    """Yield the document's example, from its layout [N, C, K, 4] to the operator's [N, K, 4, C]."""
    for label, dtype in TYPES:

        def make(_: np.random.Generator, dtype: Any = dtype) -> Made:
            grads, picks = (np.array([[a]]).transpose(0, 2, 3, 1) for a in (GOLDEN_GRADS, GOLDEN_PICKS))
            return _call(grads, np.array([GOLDEN_BOXES]), picks, (3, 4), 1, dtype)

        note = "the document prints twice this gradient: it called the operator twice on one tensor"
        yield Case(f"golden_document_{label}", "golden", make, note=note)


EDGE_BOXES = (
    (-1, -1, 4, 3),  # on the last pixel that counts, on all four sides
    (-1.25, -1.25, 4.25, 3.25),  # just outside
    (3, 2, 0, 0),  # from the last cell to the first: negative strides
    (0.5, 0.5, 0.5, 0.5),  # no extent
    (2.75, 1.75, 3.25, 2.25),  # across the start of the last cell
    (-0.5, -0.5, 0.5, 0.5),  # across zero
    (0, 0, 3, 2),
    (1, 1, 2, 2),
    (-9, -9, -5, -5),  # far outside
    (9, 9, 12, 12),
    (0, -2, 3, 1),  # the top is outside, the rest is not
    (-2, 0, 3, 4),
)


def _boundary() -> Iterator[Case]:
    """Yield points on and outside every edge, odd boxes, argmax out of range, tiny dimensions."""
    for label, dtype in TYPES:
        yield Case(f"edges_{label}", "boundary", _placed(EDGE_BOXES, (3, 4), 4, 15, dtype))
        yield Case(f"far_outside_{label}", "boundary", _drawn(2, (5, 6), 17, 7, dtype, reach=4))
        yield Case(f"argmax_out_of_range_{label}", "boundary", _drawn(1, (3, 3), 40, 3, dtype, picks=(-3, 7)))
        yield Case(f"never_sampled_{label}", "boundary", _drawn(1, (2, 3), 5, 3, dtype, picks=(4, 9)))
        yield Case(f"one_cell_{label}", "boundary", _drawn(2, (1, 1), 3, 5, dtype, reach=1.5))
        yield Case(f"one_row_{label}", "boundary", _drawn(1, (1, 9), 6, 2, dtype, reach=1))
        yield Case(f"one_column_{label}", "boundary", _drawn(1, (9, 1), 6, 2, dtype, reach=1))
        yield Case(f"pool_size_1_{label}", "boundary", _drawn(2, (3, 4), 33, 1, dtype))
        yield Case(
            f"one_cell_collects_all_{label}", "boundary", _placed([(1, 1, 1, 1)] * 12, (3, 4), 3, 8, dtype)
        )
    for channels in (1, 31, 32, 33, 63, 64, 65):
        yield Case(
            f"channels_{channels}",
            "boundary",
            _drawn(1, (2, 2), channels, 3, HALF if channels > 33 else FLOAT),
        )
    note = "half coordinates above 256 move in quarters"
    yield Case("half_wide", "boundary", _drawn(1, (1, 300), 4, 3, HALF), note=note)
    note = "argmax above 2048 is not exact in half; it is compared as an integer"
    yield Case(
        "half_large_argmax", "boundary", _drawn(1, (1, 2), 64, 2100, HALF, picks=(2040, 2100)), note=note
    )
    yield Case("infinite_gradients", "boundary", _infinite)
    yield Case("nan_in_unsampled_channels", "boundary", _unsampled_nan)


def _infinite(generator: np.random.Generator) -> Made:
    """Infinite and NaN gradients: a tap of weight zero turns an infinity into NaN in its cell."""
    inputs, params = _drawn(1, (4, 5), 12, 2)(generator)
    odd = generator.choice(np.array([np.inf, -np.inf, np.nan, 1, 2, -3], FLOAT), inputs["grad_output"].shape)
    keep = generator.random(odd.shape) < 0.9
    inputs["grad_output"] = np.where(keep, inputs["grad_output"], odd)
    return inputs, params


def _unsampled_nan(generator: np.random.Generator) -> Made:
    """Gradients of channels that no point picked are NaN and must not reach any cell."""
    inputs, params = _drawn(1, (4, 5), 12, 2, picks=(0, 4))(generator)
    inputs["grad_output"][inputs["argmax_idx"] > 2] = np.nan
    return inputs, params


def _random() -> Iterator[Case]:
    """Yield the document's random scale that is legal, and shapes drawn at random."""

    def drawn(dtype: Any) -> Maker:
        def make(generator: np.random.Generator) -> Made:
            images, height, width, channels, pool = (
                int(generator.integers(1, top)) for top in (4, 7, 7, 90, 9)
            )
            return _drawn(images, (height, width), channels, pool, dtype, reach=1.2)(generator)

        return make

    for label, dtype in TYPES:
        yield Case(f"random_document_3x5x4x1_{label}", "random", _drawn(3, (1, 5), 1, 8, dtype))
        for index in range(3):
            yield Case(f"random_{index}_{label}", "random", drawn(dtype))


def _limit() -> Iterator[Case]:
    """Yield, for each board and type, channels that fill one pass exactly, exceed it, fill two."""
    for board, nram in USABLE_NRAM.items():
        for label, dtype in TYPES:
            size = np.dtype(dtype).itemsize
            align = 128 // size
            deal = (nram - 256) // (4 * size + 4) // align * align
            for name, channels in (
                ("full", deal),
                ("full_and_one", deal + 1),
                ("two", 2 * deal),
                ("less", deal - 1),
            ):
                make = _drawn(1, (1, 1), channels, 1, dtype)
                yield Case(f"pass_{name}_{label}_{board}", "limit", make, boards=(board,))


def _zero() -> Iterator[Case]:
    """Yield zero elements: refused in every dimension."""
    yield Case("zero_images", "zero", _drawn(0, (2, 2), 3, 2), status=BAD_PARAM)
    yield Case("zero_channels", "zero", _drawn(1, (2, 2), 0, 2), status=BAD_PARAM)
    yield Case("zero_height", "zero", _drawn(1, (0, 2), 3, 2), status=BAD_PARAM)
    yield Case("zero_width", "zero", _drawn(1, (2, 0), 3, 2), status=BAD_PARAM)
    yield Case(
        "zero_boxes", "zero", _changed(base=_drawn(1, (0, 0), 3, 2), height=2, width=2), status=BAD_PARAM
    )


CHANGES: tuple[tuple[str, str, Callable[[Array], Array]], ...] = (
    ("refused_boxes_half", "boxes", lambda a: a.astype(HALF)),
    ("refused_grad_output_half", "grad_output", lambda a: a.astype(HALF)),
    ("refused_grad_output_int32", "grad_output", lambda a: a.astype(np.int32)),
    ("refused_argmax_float", "argmax_idx", lambda a: a.astype(FLOAT)),
    ("refused_argmax_int64", "argmax_idx", lambda a: a.astype(np.int64)),
    ("refused_boxes_rank_2", "boxes", lambda a: a[0]),
    ("refused_boxes_rank_4", "boxes", lambda a: a[..., None]),
    ("refused_boxes_of_five", "boxes", lambda a: a[..., (0, 1, 2, 3, 0)]),
    ("refused_boxes_count", "boxes", lambda a: a[:, :3]),
    ("refused_grad_output_rank_3", "grad_output", lambda a: a[0]),
    ("refused_grad_output_rank_5", "grad_output", lambda a: a[..., None]),
    ("refused_grad_output_three_borders", "grad_output", lambda a: a[:, :, :3]),
    ("refused_grad_output_count", "grad_output", lambda a: a[:, :3]),
    ("refused_argmax_rank_3", "argmax_idx", lambda a: a[0]),
    ("refused_argmax_images", "argmax_idx", lambda a: np.repeat(a, 2, 0)),
    ("refused_argmax_count", "argmax_idx", lambda a: a[:, :3]),
    ("refused_argmax_three_borders", "argmax_idx", lambda a: a[:, :, :3]),
    ("refused_argmax_channels", "argmax_idx", lambda a: a[..., :-1]),
)


def _refused() -> Iterator[Case]:
    """Yield calls that the host refuses, each one change away from a good one."""
    note = "the document's second random scale: three images of boxes for ten of gradients"
    boxes = _changed("boxes", lambda a: a[:3], base=_drawn(10, (8, 10), 10, 2))
    yield Case("refused_document_10x80x4x10", "limit", boxes, status=BAD_PARAM, note=note)
    for height, width in ((1, 5), (5, 1), (2, 3)):
        make = _changed(height=height, width=width)
        yield Case(f"refused_cells_{height}x{width}_for_4_boxes", "limit", make, status=BAD_PARAM)
    for pool_size in (0, -1):
        yield Case(f"refused_pool_size_{pool_size}", "limit", _changed(pool_size=pool_size), status=BAD_PARAM)
    for name, tensor, change in CHANGES:
        yield Case(name, "limit", _changed(tensor, change), status=BAD_PARAM)


def _changed(
    name: str = "", change: Callable[[Array], Array] | None = None, base: Maker | None = None, **params: Any
) -> Maker:
    """Return a maker of a good call with one input changed, or with other *params*."""

    def make(generator: np.random.Generator) -> Made:
        inputs, good = (base or _drawn(1, (2, 2), 3, 2))(generator)
        if change is not None:
            inputs[name] = np.ascontiguousarray(change(inputs[name]))
        return inputs, good | params

    return make


CASES = tuple(chain(_network(), _golden(), _boundary(), _random(), _limit(), _zero(), _refused()))
