"""Pooling in HWC order: one number for each window and channel.

Windows begin every *stride_h* rows and *stride_w* columns (**width first** among the arguments; without
strides, windows lie side by side); rows and columns left over at the end are dropped.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from mlusim.arch.dtypes import float32, half
from mlusim.isa.declare import FLOATS, Flow, Intrinsic, Tile, intrinsic
from mlusim.isa.rules import at_least, demand

_HIGH = "((height - kernel_height) // max(1, stride_h or kernel_height) + 1)"
_WIDE = "((width - kernel_width) // max(1, stride_w or kernel_width) + 1)"

_RULES = (
    at_least("channel", 1),
    at_least("kernel_height", 1),
    at_least("kernel_width", 1),
    demand("kernel_height > height", "kernel_height = {kernel_height} exceeds {height}", "up to height"),
    demand("kernel_width > width", "kernel_width = {kernel_width} exceeds {width}", "up to width"),
    demand(
        "(stride_w is None) != (stride_h is None)",
        "one stride is missing: stride_w = {stride_w}, stride_h = {stride_h}",
        "both strides, or none",
    ),
    demand("stride_w is not None and stride_w < 1", "stride_w = {stride_w} is too small", "1 or more"),
    demand("stride_h is not None and stride_h < 1", "stride_h = {stride_h} is too small", "1 or more"),
    demand(
        "channel * src.view.itemsize % 128",
        "{channel} channels are no multiple of 128 bytes",
        "channels of multiples of 128 bytes on MLU2xx",
        (2,),
    ),
)


def _combined(
    combine: Callable[..., Any], picture: Tile, kernel_height: int, kernel_width: int, down: int, right: int
) -> Any:
    """All windows at once: one element of each window after the other, row by row."""
    height, width, _ = picture.shape
    high, wide = (height - kernel_height) // down + 1, (width - kernel_width) // right + 1
    parts = (
        picture[i : i + high * down : down, j : j + wide * right : right][:high, :wide]
        for i in range(kernel_height)
        for j in range(kernel_width)
    )
    return functools.reduce(combine, parts)


def _pool(
    spelling: str, combine: Callable[..., Any], formula: str, *, mean: bool = False, **properties: Any
) -> Intrinsic:
    """``(dst, src, channel, height, width, kernel_height, kernel_width[, stride_w, stride_h])``."""

    def body(
        dst: Tile,
        src: Tile,
        channel: int,
        height: int,
        width: int,
        kernel_height: int,
        kernel_width: int,
        stride_w: int | None = None,
        stride_h: int | None = None,
    ) -> None:
        down, right = stride_h or kernel_height, stride_w or kernel_width
        picture = src.reshape(height, width, channel)
        pooled = _combined(combine, picture, kernel_height, kernel_width, down, right)
        if mean:
            pooled = pooled / src.dtype.type(kernel_height * kernel_width)
        dst.reshape(pooled.shape)[...] = pooled

    body.__doc__ = (
        f"Pool windows: ``dst[y][x][c] = {formula}`` over the window at row ``y * stride_h``, column ``x * stride_w``.\n\n"
        "*dst* may be exactly *src*, as vendor kernels have it; the manual wants them apart."
    )
    return intrinsic(
        spelling,
        writes={"dst": f"channel * {_HIGH} * {_WIDE}"},
        reads={"src": "channel * height * width"},
        flow=Flow.MIXING,
        rules=_RULES,
        **{"source": "vendor declaration header, shapes"} | properties,
    )(body)


bang_sumpool = _pool("__bang_sumpool", np.add, "sum of src[h][w][c]", dtypes=FLOATS)
bang_avgpool = _pool(
    "__bang_avgpool", np.add, "mean of src[h][w][c]", mean=True, dtypes=(half, float32), certainty="I"
)
bang_maxpool = _pool("__bang_maxpool", np.fmax, "max of src[h][w][c]", dtypes=FLOATS)
bang_minpool = _pool("__bang_minpool", np.fmin, "min of src[h][w][c]", dtypes=FLOATS)
