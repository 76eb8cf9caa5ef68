"""Pooling with places, the way back, shares of averages: definitions by loops."""

import math

import numpy as np
import pytest
from isa_exact import exact, same, samples
from isa_rows import BOARDS, execute, on_core, refused

from mlusim.bang import OVERLAP_ACC, OVERLAP_COVER, float32
from mlusim.errors import RuleFault
from mlusim.isa.table import ISA

SHAPES = (
    ((5, 7, 3), (2, 3), (2, 1)),  # height, width, channels; window; strides, width first
    ((4, 6, 2), (2, 2), (2, 2)),
    ((4, 8, 2), (2, 3), (3, 2)),  # columns are left over: the last window shrinks
    ((3, 7, 1), (1, 1), (3, 1)),
    ((6, 5, 33), (6, 5), (1, 1)),
)
NAMES = ["overlapping", "side by side", "shrinking", "with gaps", "whole"]
TYPES = {np.dtype(np.float16): np.uint16, np.dtype(np.float32): np.uint32}


def windows(shape, window, strides):
    """The rows and columns of windows; one more column of them where it still begins inside."""
    (h, w, _), (kh, kw), (right, down) = shape, window, strides
    wide = 1
    while (wide - 1) * right + kw < w and wide * right < w:
        wide += 1
    return (h - kh) // down + 1, wide


def largest(src, window, strides, corner):
    """The largest number of a window and its first place; NaN loses."""
    (kh, kw), (right, down), (y, x, c) = window, strides, corner
    best, place = math.nan, 0
    for i in range(kh):
        for j in range(kw):
            if x * right + j < src.shape[1]:
                value = float(src[y * down + i, x * right + j, c])
                if value > best or (math.isnan(best) and not math.isnan(value)):
                    best, place = value, i * kw + j
    return best, place


def arguments(shape, window, strides):
    """The counts of a call."""
    sizes = {"channel": shape[2], "height": shape[0], "width": shape[1]}
    sizes |= {"kernel_height": window[0], "kernel_width": window[1]}
    return sizes | {"stride_w": strides[0], "stride_h": strides[1]}


@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
@pytest.mark.parametrize(("shape", "window", "strides"), SHAPES, ids=NAMES)
def test_places_of_the_largest(board, shape, window, strides):
    """Each number and its place in the window; what lies right of the picture does not count."""
    high, wide = windows(shape, window, strides)
    counts = arguments(shape, window, strides)
    for dtype, places in TYPES.items():
        src = samples(dtype, math.prod(shape), 4).reshape(shape)
        index = execute(
            "bang_maxpool_index", board, dst=np.zeros((high, wide, shape[2]), places), src=src, **counts
        )["dst"]
        room = high * wide * shape[2]
        both = execute(
            "bang_maxpool_value_index",
            board,
            dst=np.zeros(2 * room + 3, dtype),
            src=src,
            value_index_stride=(room + 3) * dtype.itemsize,
            **counts,
        )["dst"]
        values = both[:room].reshape(high, wide, shape[2])
        found = both[room + 3 :].view(places).reshape(values.shape)

        assert [0, 0, 0] == both[room : room + 3].tolist()
        for y in range(high):
            for x in range(wide):
                for c in range(shape[2]):
                    best, place = largest(src, window, strides, (y, x, c))

                    assert same(best, values[y, x, c])
                    assert place == index[y, x, c] == found[y, x, c]


def test_values_and_places_may_begin_where_the_picture_does():
    """In place as vendor kernels have it: the places lie behind the picture."""

    def run(mlu, _):
        picture = mlu.nram(float32, 64, list(range(32)))
        mlu.bang_maxpool_value_index(picture, picture, 2, 4, 4, 2, 2, 2, 2, 128)
        return picture.view.array[:8].tolist(), picture.view.array[32:40].view(np.uint32).tolist()

    values, places = on_core(run)

    assert [10, 11, 14, 15, 26, 27, 30, 31] == values
    assert [3] * 8 == places


def test_places_inside_the_picture_that_is_read_are_refused():
    """The second part of the destination must not meet the source."""
    row = ISA["bang_maxpool_value_index"]

    def onto(sample):
        sample.arguments["dst"] = sample.arguments["src"]
        sample.arguments["value_index_stride"] = 3072
        sample.arguments["height"] = 40

    fault = refused(row, onto)

    assert isinstance(fault, RuleFault)
    assert "dst overlaps src" in fault.message


@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
@pytest.mark.parametrize(("shape", "window", "strides"), SHAPES, ids=NAMES)
def test_unpool_puts_numbers_back_to_their_places(shape, window, strides, board):
    """Zeros but at the places; of two windows that have the same place the later one stays."""
    high, wide = windows(shape, window, strides)
    (h, w, c), (_, kw), (right, down) = shape, window, strides
    counts = arguments(shape, window, strides)
    for dtype, places in TYPES.items():
        picture = samples(dtype, h * w * c, 7).reshape(shape)
        index = np.zeros((high, wide, c), places)
        src = samples(dtype, index.size, 8).reshape(index.shape)
        expected = np.zeros(shape, dtype)
        for y in range(high):
            for x in range(wide):
                for k in range(c):
                    place = index[y, x, k] = largest(picture, window, strides, (y, x, k))[1]
                    expected[y * down + place // kw, x * right + place % kw, k] = src[y, x, k]

        after = execute("bang_unpool", board, dst=np.ones(shape, dtype), src=src, index=index, **counts)[
            "dst"
        ]

        assert expected.tobytes() == after.tobytes()


@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("shape", "window", "strides"), SHAPES, ids=NAMES)
def test_gradients_go_to_the_largest_and_add_up(shape, window, strides, signed, board):
    """The reverse of a pooling: of windows that share their largest the numbers add up, in their order."""
    high, wide = windows(shape, window, strides)
    (h, w, c), (_, kw), (right, down) = shape, window, strides
    counts = arguments(shape, window, strides)
    for dtype, places in TYPES.items():
        picture = samples(dtype, h * w * c, 7).reshape(shape)
        index = np.zeros((high, wide, c), np.dtype(places).str.replace("u", "i") if signed else places)
        src = np.random.default_rng(8).uniform(-9, 9, index.shape).astype(dtype)
        expected = np.zeros(shape, dtype)
        for y in range(high):
            for x in range(wide):
                for k in range(c):
                    place = index[y, x, k] = largest(picture, window, strides, (y, x, k))[1]
                    at = y * down + place // kw, x * right + place % kw, k
                    expected[at] = exact(lambda a, b: a + b, dtype, expected[at], src[y, x, k])

        after = execute("bang_maxpool_bp", board, dst=np.ones(shape, dtype), src=src, index=index, **counts)

        assert expected.tobytes() == after["dst"].tobytes()


def test_unpool_undoes_a_pooling_without_overlap():
    """Pool the picture that unpool made: the same numbers, the same places."""
    shape, counts = (4, 6, 2), arguments((4, 6, 2), (2, 3), (3, 2))
    picture = np.random.default_rng(1).uniform(1, 9, shape).astype(np.float32)
    index = execute("bang_maxpool_index", dst=np.zeros((2, 2, 2), np.uint32), src=picture, **counts)["dst"]
    pooled = execute("bang_maxpool", dst=np.zeros((2, 2, 2), np.float32), src=picture, **counts)["dst"]
    back = execute("bang_unpool", dst=np.ones(shape, np.float32), src=pooled, index=index, **counts)["dst"]

    again = execute("bang_maxpool", dst=np.zeros((2, 2, 2), np.float32), src=back, **counts)["dst"]

    assert np.array_equal(pooled, again)


@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
@pytest.mark.parametrize("overlap", [OVERLAP_ACC, OVERLAP_COVER])
@pytest.mark.parametrize(("shape", "window", "strides"), SHAPES, ids=NAMES)
def test_average_gives_each_window_s_share_back(board, shape, window, strides, overlap):
    """Window after window: its number over the size of the window, added or put."""
    (h, w, c), (kh, kw), (right, down) = shape, window, strides
    high, wide = (h - kh) // down + 1, (w - kw) // right + 1
    for dtype in TYPES:
        src = np.random.default_rng(3).uniform(-9, 9, (high, wide, c)).astype(dtype)
        expected = np.zeros(shape, dtype)
        for y in range(high):
            for x in range(wide):
                for k in range(c):
                    share = exact(lambda a, b: a / b, dtype, src[y, x, k], kh * kw)
                    for i in range(kh):
                        for j in range(kw):
                            at = y * down + i, x * right + j, k
                            total = exact(lambda a, b: a + b, dtype, expected[at], share)
                            expected[at] = share if overlap == OVERLAP_COVER else total
        after = execute(
            "bang_avgpool_bp",
            board,
            dst=np.ones(shape, dtype),
            src=src,
            overlap=overlap,
            **arguments(shape, window, strides),
        )["dst"]

        assert np.array_equal(expected, after)


def test_the_places_are_as_wide_as_the_numbers():
    """uint16 for half, uint32 for float."""
    fault = refused(
        ISA["bang_maxpool_index"],
        lambda s: s.arguments.update(src=s.pointer("src").cast(float32)),
        board=BOARDS[3],
    )

    assert isinstance(fault, RuleFault)
    assert "uint16 indices for half" in fault.legal
