"""Shape movers: transposition, rotations, mirror, padding, weight layouts, orders of channels, tiles, products along channels.

The destination must not overlap the source.
"""

from typing import Any

import numpy as np

from mlusim.arch.dtypes import uint8, uint16, uint32, uint64
from mlusim.isa.declare import (
    FLOATS,
    NUMBERS,
    Flow,
    Generation,
    Intrinsic,
    Passes,
    Tile,
    Value,
    at_least,
    demand,
    intrinsic,
    multiple_of,
)
from mlusim.isa.factors import laid_out
from mlusim.memory.space import WRAM

SOURCE = "vendor declaration header, shapes"
_PLANE = (at_least("height", 1), at_least("width", 1))
_WHOLE_LINES = "rows and columns of multiples of 128 bytes on MLU2xx"


@intrinsic(
    "__bang_transpose",
    writes={"dst": "height * width"},
    reads={"src": "height * width"},
    dtypes=NUMBERS,
    in_place=False,
    flow=Flow.MIXING,
    passes=Passes.TRANSPOSE,
    rules=(
        *_PLANE,
        demand(
            "height * sizeof(src) % 128",
            "a column of {height} elements is not a multiple of 128 bytes",
            _WHOLE_LINES,
            (2,),
        ),
        demand(
            "width * sizeof(src) % 128",
            "a row of {width} elements is not a multiple of 128 bytes",
            _WHOLE_LINES,
            (2,),
        ),
    ),
    source=SOURCE,
    native=("transpose",),
)
def bang_transpose(dst: Tile, src: Tile, height: int, width: int) -> None:
    """Transpose a matrix of *height* rows: ``dst[w][h] = src[h][w]``.

    *dst* must not overlap *src*.
    """
    dst.reshape(width, height)[...] = src.reshape(height, width).T


def _rotation(spelling: str, quarters: int, formula: str, place: str) -> Intrinsic:
    """Declare a clockwise rotation of a matrix by *quarters* right angles; *place* is the index of ``src[h][w]`` in dst, in C."""

    def body(dst: Tile, src: Tile, height: int, width: int) -> None:
        # NumPy rotates counterclockwise.
        turned = np.rot90(src.reshape(height, width), -quarters)
        dst.reshape(turned.shape)[...] = turned

    body.__doc__ = f"Rotate a matrix of *height* rows clockwise by {90 * quarters} degrees: ``{formula}``."
    return intrinsic(
        spelling,
        writes={"dst": "height * width"},
        reads={"src": "height * width"},
        dtypes=NUMBERS,
        in_place=False,
        flow=Flow.MIXING,
        rules=_PLANE,
        native=f"for (int64_t h = 0; h < height; h++) for (int64_t w = 0; w < width; w++) dst[{place}] = src[h * width + w];",
        source=SOURCE,
    )(body)


bang_rotate90 = _rotation(
    "__bang_rotate90", 1, "dst[w][height - 1 - h] = src[h][w]", "w * height + height - 1 - h"
)
bang_rotate180 = _rotation(
    "__bang_rotate180",
    2,
    "dst[height - 1 - h][width - 1 - w] = src[h][w]",
    "(height - 1 - h) * width + width - 1 - w",
)
bang_rotate270 = _rotation(
    "__bang_rotate270", 3, "dst[width - 1 - w][h] = src[h][w]", "(width - 1 - w) * height + h"
)


@intrinsic(
    "__bang_mirror",
    writes={"dst": "height * width"},
    reads={"src": "height * width"},
    dtypes=NUMBERS,
    in_place=False,
    flow=Flow.MIXING,
    rules=_PLANE,
    source=SOURCE,
    native=(
        "for (int64_t h = 0; h < height; h++) for (int64_t w = 0; w < width; w++) dst[h * width + "
        "width - 1 - w] = src[h * width + w];"
    ),
)
def bang_mirror(dst: Tile, src: Tile, height: int, width: int) -> None:
    """Mirror each of *height* rows, left to right: ``dst[h][width - 1 - w] = src[h][w]``."""
    dst.reshape(height, width)[...] = src.reshape(height, width)[:, ::-1]


_ROWS = "height + (2 * pad_top if pad_left is None else pad_top + pad_bottom)"
_COLUMNS = "width + (2 * pad_bottom if pad_left is None else pad_left + pad_right)"
_SIDE = "(2 * pad_bottom if pad_left is None else pad_left + pad_right)"


@intrinsic(
    "__bang_pad",
    writes={"dst": f"channel * ({_ROWS}) * ({_COLUMNS})"},
    reads={"src": "channel * height * width"},
    dtypes=NUMBERS,
    in_place=False,
    flow=Flow.MIXING,
    rules=(
        at_least("channel", 1),
        *_PLANE,
        at_least("pad_top", 0),
        at_least("pad_bottom", 0),
        demand("pad_left is not None and pad_left < 0", "pad_left = {pad_left} is too small", "0 or more"),
        demand(
            "pad_left is not None and (pad_right is None or pad_right < 0)",
            "pad_right = {pad_right} is too small",
            "0 or more, given together with pad_left",
        ),
        demand(
            f"height == 1 and {_SIDE} * channel * sizeof(src) >= 64",
            "the padding of the only row takes 64 bytes or more",
            "less than 64 bytes of padding left and right where height is 1",
            (3,),
        ),
    ),
    source=SOURCE,
    native=("pad",),
)
def bang_pad(
    dst: Tile,
    src: Tile,
    channel: int,
    height: int,
    width: int,
    pad_top: int,
    pad_bottom: int,
    pad_left: int | None = None,
    pad_right: int | None = None,
    value: Value = 0,
) -> None:
    """Pad a picture in HWC order: ``dst[pad_top + h][pad_left + w][c] = src[h][w][c]``, *value* around it.

    With only two paddings, they apply to both sides of the height and of the width.
    """
    top, left = pad_top, pad_bottom if pad_left is None else pad_left
    rows = height + (2 * pad_top if pad_left is None else pad_top + pad_bottom)
    dst.fill(value[()])  # a scalar operand arrives as an array without dimensions
    picture = dst.reshape(rows, -1, channel)
    picture[top : top + height, left : left + width] = src.reshape(height, width, channel)


@intrinsic(
    "__bang_reshape_filter",
    writes={"dst": "n * height * width * channel"},
    reads={"src": "n * height * width * channel"},
    dtypes=NUMBERS,
    in_place=False,
    flow=Flow.MIXING,
    rules=(
        at_least("n", 1),
        *_PLANE,
        at_least("channel", 1),
        multiple_of("n", 64),
        demand(
            "height * width * channel * sizeof(src) % 64",
            "a filter of {height} x {width} x {channel} elements is not a multiple of 64 bytes",
            "filters of multiples of 64 bytes",
        ),
    ),
    certainty="C",
    source=f"{SOURCE}; fused_matmul_fwd, accepted on MLU370",
    native=(
        "int64_t size = height * width * channel, near_ = generation == 3 ? 4 : 1; for (int64_t l = 0; l < 64; l++) "
        "for (int64_t b = 0; b < n / 64; b++) memcpy(dst + ((l / near_ * (n / 64) + b) * near_ + l % near_) * size, "
        "src + (b * 64 + l) * size, (size_t)size * sizeof *dst);"
    ),
)
def bang_reshape_filter(
    dst: Tile, src: Tile, n: int, height: int, width: int, channel: int, generation: Generation
) -> None:
    """Lay *n* filters out for WRAM: ``dst[l][b] = src[b * 64 + l]``, dst as 64 lanes of n / 64 filters each (inferred).

    On MLU3xx four lanes lie side by side: ``dst[l / 4][b][l % 4] = src[b * 64 + l]``, as Dilated_conv_2D, a
    kernel accepted on MLU370, does without this instruction.

    The size of a filter is a multiple of 64 bytes: the manual says 128, but the vendor's Fourier transforms
    use 64 (inferred).
    """
    del height, width, channel
    lanes = laid_out(src, n, generation)
    dst.reshape(lanes.shape)[...] = lanes


def _channels(spelling: str, formula: str, axes: tuple[int, ...], order: str) -> Intrinsic:
    named = {"n": "n", "h": "height", "w": "width", "c": "channel"}
    loops = " ".join(f"for (int64_t {x}_ = 0; {x}_ < {named[x]}; {x}_++)" for x in (order[a] for a in axes))
    place = f"{order[0]}_"
    for axis in order[1:]:
        place = f"({place}) * {named[axis]} + {axis}_"

    def body(dst: Tile, src: Tile, n: int, height: int, width: int, channel: int) -> None:
        sizes = {"n": n, "h": height, "w": width, "c": channel}
        moved = src.reshape([sizes[axis] for axis in order]).transpose(axes)
        dst.reshape(moved.shape)[...] = moved

    body.__doc__ = f"Move the channels: ``{formula}``."
    return intrinsic(
        spelling,
        writes={"dst": "n * height * width * channel"},
        reads={"src": "n * height * width * channel"},
        dtypes=NUMBERS,
        in_place=False,
        flow=Flow.MIXING,
        passes=Passes.TRANSPOSE,
        rules=(at_least("n", 1), *_PLANE, at_least("channel", 1)),
        native=f"int64_t at_ = 0; {loops} dst[at_++] = src[{place}];",
        source=SOURCE,
    )(body)


bang_reshape_nchw2nhwc = _channels(
    "__bang_reshape_nchw2nhwc", "dst[n][h][w][c] = src[n][c][h][w]", (0, 2, 3, 1), "nchw"
)
bang_reshape_nhwc2nchw = _channels(
    "__bang_reshape_nhwc2nchw", "dst[n][c][h][w] = src[n][h][w][c]", (0, 3, 1, 2), "nhwc"
)


_UNIT = 64  # unit of the strides of tiling rows, in bytes
_WORDS = {8: uint8, 16: uint16, 32: uint32, 64: uint64}


def _tiling_in_c(size: int, *, transposed: bool) -> str:
    to, frm = f"(uint8_t *)dst + {{}} * dst_stride * {_UNIT}", "(const uint8_t *)src"
    rows = (
        f"for (int64_t h = 0; h < height; h++) {{}} memcpy({{}}, {frm} + h * src_stride * {_UNIT}{{}}, {{}});"
    )
    if not transposed:
        return rows.format("", to.format("h"), "", f"(size_t)(width * {size})")
    columns = "for (int64_t w = 0; w < width; w++)"
    return rows.format(columns, f"{to.format('w')} + h * {size}", f" + w * {size}", size)


def _tiling(spelling: str, bits: int, *, transposed: bool) -> Intrinsic:
    """``(dst, src, height, width, dst_stride, src_stride)`` for elements of *bits* bits."""
    word = _WORDS[min(bits, 64)]  # NumPy has no wider type: 128 bits and more are several words
    words = bits // (8 * word.size)
    long, count = ("height", "width") if transposed else ("width", "height")

    def body(dst: Tile, src: Tile, height: int, width: int, dst_stride: int, src_stride: int) -> None:
        tile = src.reshape(height, width, words)
        target = dst.reshape(width, height, words) if transposed else dst.reshape(tile.shape)
        target[...] = tile.swapaxes(0, 1) if transposed else tile

    verb, formula = (
        ("Transpose", "dst[w][h] = src[h][w]") if transposed else ("Copy", "dst[h][w] = src[h][w]")
    )
    body.__doc__ = (
        f"{verb} a tile of *height* rows of *width* elements of {bits} bits: ``{formula}``.\n\n"
        "*dst_stride* and *src_stride* are the distances of the rows of each side in units of 64 bytes; the rest "
        "of the arguments is unknown, default chosen."
    )
    return intrinsic(
        spelling,
        writes={"dst": f"{long} * {words}"},
        reads={"src": f"width * {words}"},
        dtypes=(word,),
        void={"dst": word.name, "src": word.name},
        strides={
            "dst": ((f"dst_stride * {_UNIT}", f"{count} - 1"),),
            "src": ((f"src_stride * {_UNIT}", "height - 1"),),
        },
        form="strided",
        in_place=False,
        flow=Flow.MIXING,
        rules=(*_PLANE, at_least("src_stride", 0)),
        native=_tiling_in_c(bits // 8, transposed=transposed),
        aligned=False,
        certainty="U",
        source=SOURCE,
    )(body)


bang_tiling_2d_b8 = _tiling("__bang_tiling_2d_b8", 8, transposed=False)
bang_tiling_2d_b16 = _tiling("__bang_tiling_2d_b16", 16, transposed=False)
bang_tiling_2d_b32 = _tiling("__bang_tiling_2d_b32", 32, transposed=False)
bang_tiling_2d_b64 = _tiling("__bang_tiling_2d_b64", 64, transposed=False)
bang_tiling_2d_b128 = _tiling("__bang_tiling_2d_b128", 128, transposed=False)
bang_tiling_2d_b256 = _tiling("__bang_tiling_2d_b256", 256, transposed=False)
bang_tiling_2d_b512 = _tiling("__bang_tiling_2d_b512", 512, transposed=False)
bang_tiling_2d_b1024 = _tiling("__bang_tiling_2d_b1024", 1024, transposed=False)
bang_trans_tiling_2d_b8 = _tiling("__bang_trans_tiling_2d_b8", 8, transposed=True)
bang_trans_tiling_2d_b16 = _tiling("__bang_trans_tiling_2d_b16", 16, transposed=True)
bang_trans_tiling_2d_b32 = _tiling("__bang_trans_tiling_2d_b32", 32, transposed=True)


_EXPAND: dict[str, Any] = {
    "dtypes": FLOATS,
    "spaces": {"wram": (WRAM,)},
    "flow": Flow.MIXING,
    "since": 592,
    "certainty": "I",
    "source": "vendor kernels, products along channels",
}
_ROOM = "(channels + 63) // 64"  # one factor per channel, over the 64 lanes of WRAM


@intrinsic(
    "__bang_expand_channel_mul",
    writes={"dst": "n * channels", "wram": _ROOM},
    reads={"small": "n", "big": "n * channels"},
    in_place=("big",),
    native=("expand", False),
    **_EXPAND,
)
def bang_expand_channel_mul(dst: Tile, small: Tile, wram: Tile, big: Tile, n: int, channels: int) -> None:
    """Multiply all channels of each position by one factor: ``dst[i][c] = small[i] * big[i][c]``, i below *n*.

    *dst* may be exactly *big*. *wram* is a buffer of one element per channel in the lanes of WRAM, which is
    left filled with ones (all of this is inferred).
    """
    wram[...] = 1
    dst[...] = (big.reshape(n, channels) * small[:, None]).reshape(-1)


@intrinsic(
    "__bang_expand_channel_mul_add",
    writes={"dst": "n * channels", "wram": _ROOM},
    reads={"small": "n", "big": "n * channels", "add": "n * channels"},
    in_place=("big", "add"),
    native=("expand", True),
    **_EXPAND,
)
def bang_expand_channel_mul_add(
    dst: Tile, small: Tile, wram: Tile, big: Tile, add: Tile, n: int, channels: int
) -> None:
    """Multiply all channels of each position by one factor and add: ``dst[i][c] = small[i] * big[i][c] + add[i][c]``.

    *dst* may be exactly *big* or *add*; *wram* is as in ``__bang_expand_channel_mul``. The product is rounded
    first (all of this is inferred).
    """
    wram[...] = 1
    product = (big.reshape(n, channels) * small[:, None]).reshape(-1)
    np.add(product, add, out=dst)
