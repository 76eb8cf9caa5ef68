"""Pooling in HWC order: one number for each window and channel.

Windows begin every *stride_h* rows and *stride_w* columns (among the arguments **width comes first**; without
strides, windows are adjacent); rows and columns left over at the end are dropped.

The instructions with indices have one more, smaller window if columns are left over at the right; an index is
the position in the window, ``row of the window * kernel_width + column`` (both inferred).
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlusim.arch.dtypes import DType, float32, half, int16, int32, uint16, uint32
from mlusim.isa.declare import (
    FLOATS,
    Cost,
    Flow,
    Intrinsic,
    Overlap,
    Passes,
    Refused,
    Tile,
    at_least,
    demand,
    intrinsic,
)
from mlusim.isa.extremes import EXTREMES, ZEROS, maximum, minimum

# max(1, ...): the extents are computed before a rule can refuse a stride or a window of 0.
_HIGH = "((height - kernel_height) // max(1, stride_h or kernel_height) + 1)"
_WIDE = "((width - kernel_width) // max(1, stride_w or kernel_width) + 1)"
_DILATED_HIGH = "((height - ((kernel_height - 1) * in_dh + 1)) // max(1, stride_h or kernel_height) + 1)"
_DILATED_WIDE = "((width - ((kernel_width - 1) * in_dw + 1)) // max(1, stride_w or kernel_width) + 1)"
# With a smaller last window, unless no column is left for it.
_WIDE_UP = (
    "min(-(-(width - kernel_width) // max(1, stride_w or kernel_width)) + 1, "
    "(width - 1) // max(1, stride_w or kernel_width) + 1)"
)

OVERLAP_ACC, OVERLAP_COVER = range(2)
# Each window reads its pixels line by line: a whole row of the window if its pixels are contiguous, else the
# channels of each pixel (inferred: 4,096 windows of 2 x 2 pixels of one channel, three apart, take 17 us on
# MLU370-X4, a cycle per pixel; a sum of 1,024 numbers of one channel takes less than half as many cycles).
_ROW = "kernel_height * (PAD_UP(kernel_width * channel * sizeof(T), 128) // sizeof(T))"
_APART = "kernel_height * kernel_width * (PAD_UP(channel * sizeof(T), 128) // sizeof(T))"
_LINES = f"({_ROW} if in_dw == 1 else {_APART})"
SOURCE = "vendor declaration header, shapes"
BOTH = (half, float32)
INDICES = (uint16, uint32)
DILATED = " (Max_Pooling_1D, 2D and 3D, kernels accepted on MLU370, have 1, 3, 1, 1 and 3, 3, 1, 1)"
TWO_SUMS = (
    "Sums of half: every second element is added to a second sum, and both are added at the end, each step rounded.  GroupNorm_ and "
    "InstanceNorm, kernels accepted on MLU370, correct a sum of 1024 squares by 0.9965 and 0.997, the effect of two sums "
    "(0.9962), not of one (0.989) or four (0.9986); that the two sums are of even and of odd elements is inferred."
)
PLACES = "dst exactly at src, or apart from src"

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
        "channel * sizeof(src) % 128",
        "{channel} channels are not multiples of 128 bytes",
        "channels of multiples of 128 bytes on MLU2xx",
        (2,),
    ),
)


_WITH_STRIDES = tuple(rule for rule in _RULES if "one stride is missing" not in rule.sentence)
_INDEX_RULE = demand(
    "sizeof(index) != sizeof(dst)",
    "dst and index have elements of different width",
    "indices of 16 bits for half, of 32 for float",
)


_DILATED_RULES = (
    *(rule for rule in _RULES if "exceeds" not in rule.sentence),
    at_least("in_dh", 1),
    at_least("in_dw", 1),
    demand(
        "(kernel_height - 1) * in_dh >= height",
        "kernel_height = {kernel_height}, every {in_dh}, exceeds {height}",
        "(kernel_height - 1) * in_dh + 1 up to height",
    ),
    demand(
        "(kernel_width - 1) * in_dw >= width",
        "kernel_width = {kernel_width}, every {in_dw}, exceeds {width}",
        "(kernel_width - 1) * in_dw + 1 up to width",
    ),
    demand(
        "out_dh != 1 or out_dw != 1",
        "out_dh = {out_dh}, out_dw = {out_dw}: what other numbers than 1 mean is not public",
        "1 and 1",
    ),
)


BY_WINDOWS = frozenset(
    f"bang_{name}"
    for name in (
        *("sumpool", "avgpool", "maxpool", "minpool"),
        *("maxpool_index", "minpool_index", "maxpool_value_index"),
    )
)
"""The pools whose results are each computed from one window of *src*."""


def window_rows(sizes: Mapping[str, int], element: int, count: int) -> list[range]:
    """Return the elements of *src* behind result number *element* of a pool with *count* results, as one range per window row.

    *sizes* has the integer arguments that were passed, by name.
    """
    channel, height, width = (sizes[name] for name in ("channel", "height", "width"))
    rows, columns = sizes["kernel_height"], sizes["kernel_width"]
    below, beside = sizes.get("in_dh", 1), sizes.get("in_dw", 1)
    down, right = sizes.get("stride_h") or rows, sizes.get("stride_w") or columns
    high = (height - (rows - 1) * below - 1) // down + 1
    pixel, lane = divmod(element, channel)
    y, x = divmod(pixel, count // (high * channel))
    # The last window of a row with indices shrinks to the remaining columns.
    held = len(range(x * right, min(width, x * right + columns * beside), beside))
    step = beside * channel
    firsts = (((y * down + row * below) * width + x * right) * channel + lane for row in range(rows))
    return [range(first, first + held * step, step) for first in firsts]


def _combined(
    combine: Callable[..., Any],
    picture: Tile,
    kernel: tuple[int, int],
    steps: tuple[int, int],
    dilations: tuple[int, int],
    mean: bool,
) -> Any:
    """Return the result of all windows at once, combining element by element, row by row; pairs are (height, width).

    Sums of half have two accumulators, see `TWO_SUMS`.
    """
    (high, wide), (down, right) = (
        (
            (size - (k - 1) * d - 1) // step + 1
            # strict=False: the picture has channels too.
            for size, k, d, step in zip(picture.shape, kernel, dilations, steps, strict=False)
        ),
        steps,
    )
    parts = (
        picture[i : i + high * down : down, j : j + wide * right : right][:high, :wide]
        for i in range(0, kernel[0] * dilations[0], dilations[0])
        for j in range(0, kernel[1] * dilations[1], dilations[1])
    )
    if combine is np.add and not mean and picture.dtype == half.dtype:
        terms = list(parts)
        sums = [functools.reduce(combine, side) for side in (terms[::2], terms[1::2]) if side]
        return functools.reduce(combine, sums)
    return functools.reduce(combine, parts)


_POOL_DOC = (
    "Pool windows: ``dst[y][x][c] = {formula}`` over the window at row ``y * stride_h``, column ``x * stride_w``.\n\n"
    "*dst* may be exactly *src*; with one window it may be any pixel that the window reads, as in vendor kernels "
    "(inferred); the manual requires them to be apart.  A window has every *in_dh*-th row and every *in_dw*-th column"
)


_POOL = dict[str, Any](
    writes={"dst": f"channel * {_DILATED_HIGH} * {_DILATED_WIDE}"},
    reads={"src": "channel * height * width"},
    flow=Flow.MIXING,
    rules=_DILATED_RULES,
    pieces=("src",),
    cost=Cost(f"{_LINES} * {_DILATED_HIGH} * {_DILATED_WIDE}", "src"),
    passes=Passes.POOLING,
    source=SOURCE,
)


def _pool(
    spelling: str, combine: Callable[..., Any], formula: str, *, mean: bool = False, **properties: Any
) -> Intrinsic:
    """``(dst, src, channel, height, width, kernel_height, kernel_width[, stride_w, stride_h[, in_dh, in_dw, out_dh, out_dw]])``."""

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
        in_dh: int = 1,
        in_dw: int = 1,
        out_dh: int = 1,
        out_dw: int = 1,
    ) -> None:
        steps = stride_h or kernel_height, stride_w or kernel_width
        picture = src.reshape(height, width, channel)
        pooled = _combined(combine, picture, (kernel_height, kernel_width), steps, (in_dh, in_dw), mean)
        apart = dst.__array_interface__["data"][0] - src.__array_interface__["data"][0]
        if pooled.size > channel and 0 < apart < src.nbytes:
            raise Refused("dst lies in src, and is more than one window", operand="dst", legal=PLACES)
        if mean:
            pooled = pooled / src.dtype.type(kernel_height * kernel_width)
        dst.reshape(pooled.shape)[...] = pooled

    dilated = DILATED if spelling == "__bang_maxpool" else ", like that of ``__bang_maxpool`` (inferred)"
    body.__doc__ = f"{_POOL_DOC.format(formula=formula)}{dilated}."
    if combine in EXTREMES:
        body.__doc__ += f"  {ZEROS}"
    if combine is np.add and not mean:
        body.__doc__ += f"  {TWO_SUMS}"
    return intrinsic(spelling, native=("pool", combine, mean), **_POOL | properties)(body)


bang_sumpool = _pool("__bang_sumpool", np.add, "sum of src[h][w][c]", dtypes=FLOATS)
bang_avgpool = _pool("__bang_avgpool", np.add, "mean of src[h][w][c]", mean=True, dtypes=BOTH, certainty="I")
bang_maxpool = _pool("__bang_maxpool", maximum, "max of src[h][w][c]", dtypes=FLOATS)
bang_minpool = _pool("__bang_minpool", minimum, "min of src[h][w][c]", dtypes=FLOATS)


def _largest(
    picture: Tile,
    kernel_height: int,
    kernel_width: int,
    down: int,
    right: int,
    combine: Callable[[Tile, Tile], Tile] = maximum,
) -> tuple[Any, Any]:
    """Return the largest number of each window (or the choice of *combine*) and its index there; NaN loses, the first of equals wins."""
    height, width, channel = picture.shape
    high = (height - kernel_height) // down + 1
    wide = min(-(-(width - kernel_width) // right) + 1, (width - 1) // right + 1)
    # A NaN loses against every number, so padding with NaN shrinks the last window to the remaining columns.
    room = np.full((height, (wide - 1) * right + kernel_width, channel), np.nan, picture.dtype)
    room[:, :width] = picture[:, : room.shape[1]]
    parts = np.stack(
        [
            room[i : i + high * down : down, j : j + wide * right : right][:high, :wide]
            for i in range(kernel_height)
            for j in range(kernel_width)
        ]
    )
    best = functools.reduce(combine, parts)
    return best, np.argmax(parts == best, axis=0)  # in a window of NaN no part equals the best: index 0


_WIDTH_RULE = demand(
    "sizeof(dst) != sizeof(src)",
    "src and dst have elements of different width",
    "uint16 indices for half, uint32 for float",
)


def _pool_index(
    spelling: str, combine: Callable[..., Any], which: str, source: str, **properties: Any
) -> Intrinsic:
    """``(dst, src, channel, height, width, kernel_height, kernel_width[, stride_w, stride_h])``: the index of the *which* number."""

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
        dst[...] = _largest(picture, kernel_height, kernel_width, down, right, combine)[1].reshape(-1)

    body.__doc__ = (
        f"Find the {which} of each window: ``dst[y][x][c]`` = its index in the window, the first of equals.\n\n"
        "A NaN loses against a number; a window of NaN gives 0 (unknown, default chosen)."
    )
    return intrinsic(
        spelling,
        writes={"dst": f"channel * {_HIGH} * {_WIDE_UP}"},
        reads={"src": "channel * height * width"},
        dtypes={"dst": INDICES, "src": BOTH},
        same=False,
        in_place=False,
        flow=Flow.MIXING,
        rules=(*_RULES, _WIDTH_RULE),
        certainty="I",
        source=source,
        cost=Cost(f"{_ROW} * {_HIGH} * {_WIDE_UP}", "src"),
        passes=Passes.POOLING,
        **properties,
    )(body)


bang_maxpool_index = _pool_index(
    "__bang_maxpool_index", maximum, "largest", SOURCE, native=("largest", False)
)
bang_minpool_index = _pool_index(
    "__bang_minpool_index",
    minimum,
    "smallest",
    "public kernels and an editor mode for them; as __bang_maxpool_index",
)


@intrinsic(
    "__bang_maxpool_value_index",
    writes={"dst": f"channel * {_HIGH} * {_WIDE_UP}"},
    reads={"src": "channel * height * width"},
    dtypes=BOTH,
    strides={"dst": (("value_index_stride", "1"),)},
    form="strided",
    flow=Flow.MIXING,
    rules=(
        *_WITH_STRIDES,
        demand(
            "in_dh is not None or in_dw is not None or out_dh is not None or out_dw is not None",
            "in_dh = {in_dh}, in_dw = {in_dw}, out_dh = {out_dh}, out_dw = {out_dw}: what they mean is not public",
            "the form that ends with value_index_stride",
        ),
    ),
    certainty="I",
    source=SOURCE,
    native=("largest", True),
)
def bang_maxpool_value_index(
    dst: Tile,
    src: Tile,
    channel: int,
    height: int,
    width: int,
    kernel_height: int,
    kernel_width: int,
    stride_w: int,
    stride_h: int,
    value_index_stride: int,
    in_dh: int | None = None,
    in_dw: int | None = None,
    out_dh: int | None = None,
    out_dw: int | None = None,
) -> None:
    """Find the largest of each window and where it is: ``dst[y][x][c] = max of src[h][w][c]``, and its index.

    The indices begin *value_index_stride* bytes after *dst*, as uint32 for float and uint16 for half; the
    first of equal numbers counts. *dst* may be exactly *src* if the stride is positive.
    """
    picture = src.reshape(height, width, channel)
    best, place = _largest(picture, kernel_height, kernel_width, stride_h, stride_w)
    values, places = dst.reshape(2, -1)
    values[...] = best.reshape(-1)
    places.view(f"u{dst.itemsize}")[...] = place.reshape(-1)


def _places(
    index: Tile, picture: tuple[int, int, int], window: tuple[int, int], down: int, right: int
) -> tuple[Any, Any, Any]:
    """Return the rows, columns and channels in the picture to which the window indices *index* point."""
    height, width, channel = picture
    rows, columns = window
    high = (height - rows) // down + 1
    y, x, c = np.indices((high, len(index) // (high * channel), channel)).reshape(3, -1)
    row, column = y * down + index // columns, x * right + index % columns
    wrong = np.flatnonzero((index < 0) | (index >= rows * columns) | (column >= width))
    if wrong.size:
        raise Refused(
            f"index[{wrong[0]}] = {index[wrong[0]]} is not a place in its window",
            operand="index",
            legal=f"places in a window of {rows} x {columns}, inside the picture",
        )
    return row, column, c


def _unpool(spelling: str, doc: str, indices: tuple[DType, ...], source: str, *, adds: bool) -> Intrinsic:
    """``(dst, src, index, channel, height, width, kernel_height, kernel_width[, stride_w, stride_h])``: write numbers at *index*."""

    def body(
        dst: Tile,
        src: Tile,
        index: Tile,
        channel: int,
        height: int,
        width: int,
        kernel_height: int,
        kernel_width: int,
        stride_w: int | None = None,
        stride_h: int | None = None,
    ) -> None:
        down, right = stride_h or kernel_height, stride_w or kernel_width
        places = _places(index, (height, width, channel), (kernel_height, kernel_width), down, right)
        dst[...] = 0
        picture = dst.reshape(height, width, channel)
        if adds:
            np.add.at(picture, places, src)  # unlike += it adds repeatedly at a repeated index
        else:
            picture[places] = src

    body.__doc__ = doc
    return intrinsic(
        spelling,
        writes={"dst": "channel * height * width"},
        reads={"src": f"channel * {_HIGH} * {_WIDE_UP}", "index": f"channel * {_HIGH} * {_WIDE_UP}"},
        dtypes={"dst": BOTH, "src": BOTH, "index": indices},
        same=("dst", "src"),
        in_place=False,
        flow=Flow.MIXING,
        rules=(*_RULES, _INDEX_RULE),
        certainty="U",
        source=source,
        native=("unpool", adds),
    )(body)


bang_unpool = _unpool(
    "__bang_unpool",
    "Put numbers back to the pixels in which ``__bang_maxpool_index`` found them: ``dst[y * sh + p / kw][x * sw + p % kw][c] = src[y][x][c]``.\n\n"
    "``p = index[y][x][c]``; all other pixels of the picture of *height* rows of *width* columns become 0, and if windows\n"
    "overlap, the number of the later one stays.  The order of the operands is unknown; this one is the default chosen.",
    INDICES,
    SOURCE,
    adds=False,
)
bang_maxpool_bp = _unpool(
    "__bang_maxpool_bp",
    "Add each window's gradient to its largest pixel: ``dst[h][w][c] = sum of src[y][x][c]`` over the windows whose ``index`` names it.\n\n"
    "*index* is a result of ``__bang_maxpool_index``.  The gradients of windows with the same largest pixel are added in\n"
    "their order; all other pixels become 0.  The addition follows from the meaning of a gradient; it and the meaning of\n"
    "*index* are unknown, default chosen.",
    (*INDICES, int16, int32),
    "public kernels for MLU270",
    adds=True,
)


@intrinsic(
    "__bang_avgpool_bp",
    writes={"dst": "channel * height * width"},
    reads={"src": f"channel * {_HIGH} * {_WIDE}"},
    dtypes=BOTH,
    in_place=False,
    flow=Flow.MIXING,
    rules=_WITH_STRIDES,
    certainty="U",
    source=SOURCE,
    native=("shares",),
)
def bang_avgpool_bp(
    dst: Tile,
    src: Tile,
    channel: int,
    height: int,
    width: int,
    kernel_height: int,
    kernel_width: int,
    stride_w: int,
    stride_h: int,
    overlap: Overlap,
) -> None:
    """Distribute the gradient of each window: ``dst[h][w][c] = sum of src[y][x][c] / (kernel_height * kernel_width)``.

    The sum is over the windows that hold (h, w), in order. With *overlap* ``OVERLAP_ACC`` they are added,
    with ``OVERLAP_COVER`` the last one is stored. Elements in no window become 0. The values of both names,
    and which window covers the others, are unknown; this is the default chosen.
    """
    if overlap not in (OVERLAP_ACC, OVERLAP_COVER):
        raise Refused(
            f"overlap = {overlap!r}", operand="overlap", legal="OVERLAP_ACC or OVERLAP_COVER, 0 or 1"
        )
    high, wide = (height - kernel_height) // stride_h + 1, (width - kernel_width) // stride_w + 1
    shares = src.reshape(high, wide, channel) / src.dtype.type(kernel_height * kernel_width)
    dst[...] = 0
    picture = dst.reshape(height, width, channel)
    for i in reversed(range(kernel_height)):  # so that at each element the windows come in order
        for j in reversed(range(kernel_width)):
            held = picture[i : i + high * stride_h : stride_h, j : j + wide * stride_w : stride_w][
                :high, :wide
            ]
            held[...] = held + shares if overlap == OVERLAP_ACC else shares
