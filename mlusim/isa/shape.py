"""Shape movers: rotations, mirror, padding, weight layouts, orders of channels.

The destination must not overlap the source.
"""

import numpy as np

from mlusim.isa.declare import NUMBERS, Flow, Intrinsic, Tile, Value, intrinsic
from mlusim.isa.rules import at_least, demand, multiple_of

SOURCE = "vendor declaration header, shapes"
_PLANE = (at_least("height", 1), at_least("width", 1))


def _rotation(spelling: str, quarters: int, formula: str) -> Intrinsic:
    """A matrix turned clockwise by *quarters* right angles."""

    def body(dst: Tile, src: Tile, height: int, width: int) -> None:
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
        source=SOURCE,
    )(body)


bang_rotate90 = _rotation("__bang_rotate90", 1, "dst[w][height - 1 - h] = src[h][w]")
bang_rotate180 = _rotation("__bang_rotate180", 2, "dst[height - 1 - h][width - 1 - w] = src[h][w]")
bang_rotate270 = _rotation("__bang_rotate270", 3, "dst[width - 1 - w][h] = src[h][w]")


@intrinsic(
    "__bang_mirror",
    writes={"dst": "height * width"},
    reads={"src": "height * width"},
    dtypes=NUMBERS,
    in_place=False,
    flow=Flow.MIXING,
    rules=_PLANE,
    source=SOURCE,
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
            f"height == 1 and {_SIDE} * channel * src.view.itemsize >= 64",
            "the padding of the only row takes 64 bytes or more",
            "less than 64 bytes of padding left and right where height is 1",
            (3,),
        ),
    ),
    source=SOURCE,
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

    With two paddings only they are those of the height and of the width, on both sides.
    """
    top, left = pad_top, pad_bottom if pad_left is None else pad_left
    rows = height + (2 * pad_top if pad_left is None else pad_top + pad_bottom)
    dst.fill(value[()])
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
            "height * width * channel * src.view.itemsize % 128",
            "a filter of {height} x {width} x {channel} elements is no multiple of 128 bytes",
            "filters of multiples of 128 bytes",
        ),
    ),
    certainty="I",
    source=SOURCE,
)
def bang_reshape_filter(dst: Tile, src: Tile, n: int, height: int, width: int, channel: int) -> None:
    """Lay *n* filters out for WRAM: ``dst[l][b] = src[b * 64 + l]``, dst as 64 lanes of n / 64 filters each (inferred)."""
    size = height * width * channel
    dst.reshape(64, n // 64, size)[...] = src.reshape(n // 64, 64, size).transpose(1, 0, 2)


def _channels(spelling: str, formula: str, axes: tuple[int, ...], order: str) -> Intrinsic:
    """A change of the order of axes."""

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
        rules=(at_least("n", 1), *_PLANE, at_least("channel", 1)),
        source=SOURCE,
    )(body)


bang_reshape_nchw2nhwc = _channels(
    "__bang_reshape_nchw2nhwc", "dst[n][h][w][c] = src[n][c][h][w]", (0, 2, 3, 1), "nchw"
)
bang_reshape_nhwc2nchw = _channels(
    "__bang_reshape_nhwc2nchw", "dst[n][c][h][w] = src[n][h][w][c]", (0, 3, 1, 2), "nhwc"
)
