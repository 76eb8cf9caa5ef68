"""Rotations, mirror, padding, layouts, pooling: definitions by loops."""

import functools
import math

import numpy as np
import pytest
from isa_exact import exact, number_wins, same, samples
from isa_rows import execute

from mlusim.isa.table import ISA

SIZES = ((1, 1), (1, 7), (7, 1), (3, 5), (33, 64))


def dtypes_of(name):
    """The NumPy types of a row."""
    return [d.dtype for d in ISA[name].operands["dst"].dtypes]


TURNS = {
    "bang_rotate90": lambda i, j, h, w: ((w, h), (j, h - 1 - i)),
    "bang_rotate180": lambda i, j, h, w: ((h, w), (h - 1 - i, w - 1 - j)),
    "bang_rotate270": lambda i, j, h, w: ((w, h), (w - 1 - j, i)),
    "bang_mirror": lambda i, j, h, w: ((h, w), (i, w - 1 - j)),
}


@pytest.mark.parametrize("name", TURNS)
def test_turns(name):
    """Every element goes where the definition says."""
    for dtype in dtypes_of(name):
        for h, w in SIZES:
            src = samples(dtype, h * w, h).reshape(h, w)
            shape = TURNS[name](0, 0, h, w)[0]
            after = execute(name, dst=np.zeros(shape, dtype), src=src, height=h, width=w)["dst"]
            for i in range(h):
                for j in range(w):
                    assert src[i, j].tobytes() == after[TURNS[name](i, j, h, w)[1]].tobytes()


def test_three_turns_and_one_are_four():
    """A rotation by 270 degrees after one by 90 is the identity."""
    src = np.arange(15, dtype=np.float32).reshape(3, 5)
    once = execute("bang_rotate90", dst=np.zeros((5, 3), np.float32), src=src, height=3, width=5)["dst"]

    back = execute("bang_rotate270", dst=np.zeros((3, 5), np.float32), src=once, height=5, width=3)["dst"]

    assert np.array_equal(src, back)


@pytest.mark.parametrize("pads", [(1, 2, 3, 0), (0, 0, 0, 0), (2, 3)])
@pytest.mark.parametrize("value", [None, 7])
def test_pad_puts_a_border_around_the_picture(pads, value):
    """Four paddings, or two that count on both sides; zeros, or a value."""
    h, w, c = 3, 4, 5
    top, bottom, left, right = pads if len(pads) == 4 else (pads[0], pads[0], pads[1], pads[1])
    names = ("pad_top", "pad_bottom", "pad_left", "pad_right")
    for dtype in dtypes_of("bang_pad"):
        src = samples(dtype, h * w * c, 1).reshape(h, w, c)
        rows, columns = h + top + bottom, w + left + right
        extra = dict(zip(names, pads, strict=False)) | ({} if value is None else {"value": value})
        after = execute(
            "bang_pad",
            dst=np.full((rows, columns, c), 3, dtype),
            src=src,
            channel=c,
            height=h,
            width=w,
            **extra,
        )["dst"]
        for y in range(rows):
            for x in range(columns):
                inside = top <= y < top + h and left <= x < left + w
                expected = src[y - top, x - left] if inside else np.full(c, value or 0, dtype)

                assert expected.tobytes() == after[y, x].tobytes()


@pytest.mark.parametrize(("board", "near"), [("MLU370-X4", 4), ("MLU590-H8", 1)])
def test_reshape_filter_gives_each_lane_its_filters(board, near):
    """Filter i goes to lane i % 64, in order, lanes side by side on MLU3xx; filters of 64 bytes are legal."""
    n, size = 192, 32
    src = np.arange(n * size, dtype=np.int16).reshape(n, size)

    after = execute(
        "bang_reshape_filter",
        board,
        dst=np.zeros((64 // near, 3, near, size), np.int16),
        src=src,
        n=n,
        height=2,
        width=4,
        channel=4,
    )["dst"]

    for i in range(n):
        assert np.array_equal(src[i], after[i % 64 // near, i // 64, i % near])


def test_channels_move():
    """From the second axis to the last, and back."""
    n, h, w, c = 2, 3, 4, 5
    nchw = np.arange(n * h * w * c, dtype=np.float32).reshape(n, c, h, w)
    sizes = {"n": n, "height": h, "width": w, "channel": c}

    nhwc = execute("bang_reshape_nchw2nhwc", dst=np.zeros((n, h, w, c), np.float32), src=nchw, **sizes)["dst"]
    back = execute("bang_reshape_nhwc2nchw", dst=np.zeros((n, c, h, w), np.float32), src=nhwc, **sizes)["dst"]

    for i in range(n):
        for j in range(c):
            for y in range(h):
                for x in range(w):
                    assert nchw[i, j, y, x] == nhwc[i, y, x, j]
    assert np.array_equal(nchw, back)


COMBINE = {
    "bang_sumpool": lambda dtype, a, b: exact(lambda x, y: x + y, dtype, a, b),
    "bang_avgpool": lambda dtype, a, b: exact(lambda x, y: x + y, dtype, a, b),
    "bang_maxpool": lambda dtype, a, b: number_wins(max)(a, b),
    "bang_minpool": lambda dtype, a, b: number_wins(min)(a, b),
}


def pooled(name, src, dtype, window, corner, apart=(1, 1)):
    """One number of the result: the window is taken row by row, *apart* from each other; sums of half are two, of even and odd places."""
    (kh, kw), (y, x, c), (dh, dw) = window, corner, apart
    values = [float(src[y + i * dh, x + j * dw, c]) for i in range(kh) for j in range(kw)]
    combine = functools.partial(COMBINE[name], dtype)
    sides = 2 if name == "bang_sumpool" and dtype == np.float16 else 1
    total = functools.reduce(combine, [functools.reduce(combine, values[n::sides]) for n in range(sides)])
    if name == "bang_avgpool":
        return exact(lambda a, b: a / b, dtype, total, kh * kw) if math.isfinite(total) else total
    return total


@pytest.mark.parametrize(
    ("shape", "window", "strides", "apart"),
    [
        ((5, 7, 3), (2, 3), (2, 1), (1, 1)),
        ((4, 6, 2), (2, 2), None, (1, 1)),
        ((6, 5, 4), (6, 5), (1, 1), (1, 1)),
        ((5, 5, 1), (2, 2), (2, 2), (1, 1)),
        ((5, 9, 2), (2, 3), (2, 1), (2, 3)),
    ],
    ids=["overlapping", "side by side", "whole", "left over", "dilated"],
)
@pytest.mark.parametrize("name", COMBINE)
def test_pools(name, shape, window, strides, apart):
    """Strides of width first, dilations of height; rows and columns left over are dropped; each step is rounded."""
    h, w, c = shape
    right, down = strides or (window[1], window[0])
    high, wide = (
        (size - (k - 1) * d - 1) // step + 1
        for size, k, d, step in zip((h, w), window, apart, (down, right), strict=True)
    )
    extra = {} if strides is None else {"stride_w": right, "stride_h": down}
    for dtype in dtypes_of(name):
        src = samples(dtype, h * w * c, 4).reshape(shape)
        after = execute(
            name,
            dst=np.zeros((high, wide, c), dtype),
            src=src,
            channel=c,
            height=h,
            width=w,
            kernel_height=window[0],
            kernel_width=window[1],
            in_dh=apart[0],
            in_dw=apart[1],
            **extra,
        )["dst"]
        for y in range(high):
            for x in range(wide):
                for k in range(c):
                    expected = pooled(name, src, dtype, window, (y * down, x * right, k), apart)

                    assert same(expected, after[y, x, k]), (dtype, y, x, k)
