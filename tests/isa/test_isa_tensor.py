"""The tensor unit: products, convolutions and layers by their definitions, weights laid out for WRAM."""

import numpy as np
import pytest
from isa_rows import execute, on_core

import mlusim
from mlusim.arch.dtypes import bfloat16
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, NRAM2WRAM, float32, kernel
from mlusim.errors import RuleFault
from mlusim.isa.factors import factor
from mlusim.isa.table import ISA
from mlusim.time.rates import TENSOR_START
from mlusim.time.timing import launch_us

BOARDS = ("MLU370-X4", "MLU590-H8")
GENERATOR = np.random.default_rng(5)


def lanes(weight, board="MLU370-X4"):
    """A weight of n filters, one a row, as 64 lanes hold it: filter b * 64 + l is the b-th of lane l; on MLU3xx four lie side by side."""
    n, near = len(weight), 4 if mlusim.find_board(board).arch.generation == 3 else 1
    held = np.empty_like(weight).reshape(64 // near, n // 64, near, -1)
    for i in range(n):
        held[i % 64 // near, i // 64, i % near] = weight[i].reshape(-1)
    return held.reshape(-1)


def whole(*shape, dtype=np.float32):
    """Small whole numbers: sums of their products are exact in every type."""
    return GENERATOR.integers(-4, 5, shape).astype(dtype)


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.int16])
@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 64), (3, 7, 64), (5, 64, 192)])
def test_matmul_is_the_product_with_the_filters(board, dtype, m, k, n):
    """Element (i, j) is the product of row i and filter j, for every type of the operands."""
    left, right = whole(m, k, dtype=dtype), whole(n, k, dtype=dtype)
    out = np.int32 if np.issubdtype(dtype, np.integer) else dtype
    after = execute(
        "bang_matmul",
        board,
        dst=np.zeros((m, n), out),
        left=left,
        right=lanes(right, board),
        m=m,
        k=k,
        n=n,
        fix_pos=1,
    )
    rows, filters = left.astype(int).tolist(), right.astype(int).tolist()
    for i in range(m):
        for j in range(n):
            total = 0
            for x in range(k):
                total += rows[i][x] * filters[j][x]

            assert 2 * total == after["dst"][i, j]


def test_128_filters_lie_where_an_accepted_kernel_puts_them():
    """Dilated_conv_2D copies them to WRAM in this order, by bits of the filter's number, and takes 128 channels in theirs."""
    weight = whole(128, 32)
    laid = np.empty_like(weight)
    for o in range(128):
        laid[(o & 3) + ((o >> 6 & 1) << 2) + ((o >> 2 & 7) << 3) + ((o >> 5 & 1) << 6)] = weight[o]
    sizes = {"n": 128, "height": 1, "width": 1, "channel": 32}
    after = execute("bang_reshape_filter", "MLU370-X4", dst=np.zeros_like(weight), src=weight, **sizes)

    assert np.array_equal(laid, after["dst"])
    assert np.array_equal(laid.reshape(-1), lanes(weight))


def test_matmul_takes_no_plain_matrix_for_filters():
    """A row-major right matrix gives another result: the layout matters, where data do not hide it."""
    left, right = whole(4, 64), whole(64, 128)
    after = execute(
        "bang_matmul", dst=np.zeros((4, 128), np.float32), left=left, right=right, m=4, k=64, n=128
    )

    assert not np.array_equal(left @ right, after["dst"])


def test_only_mlu5xx_rounds_floats_to_tf32():
    """10 bits of mantissa: 1 + 2^-11 ties to 1, 1 + 3 * 2^-11 goes up; MLU370 keeps both."""
    left = np.array([[1 + 2.0**-11, 1 + 3 * 2.0**-11]], np.float32)
    right = np.zeros((64, 2), np.float32)
    right[0, 0] = right[1, 1] = 1
    got = {
        board: execute(
            "bang_matmul",
            board,
            dst=np.zeros((1, 64), np.float32),
            left=left,
            right=lanes(right),
            m=1,
            k=2,
            n=64,
        )["dst"][0, :2]
        for board in BOARDS
    }

    assert np.array_equal(left[0], got["MLU370-X4"])
    assert [1, 1 + 2.0**-9] == got["MLU590-H8"].tolist()


def test_integers_saturate():
    """Products of the largest numbers stay within int32."""
    big = np.full((1, 4), 32767, np.int16)
    after = execute(
        "bang_matmul", dst=np.zeros((1, 64), np.int32), left=big, right=lanes(np.full((64, 4), 32767, np.int16)),
        m=1, k=4, n=64,
    )  # fmt: skip

    assert np.iinfo(np.int32).max == after["dst"].max()


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("name", ["bang_conv", "bang_conv_bias"])
@pytest.mark.parametrize(("stride", "dilation", "size"), [((1, 1), (1, 1), (3, 3)), ((2, 3), (2, 1), (2, 3))])
def test_conv_by_its_definition(stride, dilation, size, name, board):
    """Each output is the sum over the window, width first among strides, and the bias if there is one."""
    (sw, sh), (dw, dh), (kh, kw) = stride, dilation, size
    h, w, ci, co = 7, 8, 3, 64
    src, weight, bias = whole(h, w, ci), whole(co, kh, kw, ci), whole(co)
    high, wide = (h - (kh - 1) * dh - 1) // sh + 1, (w - (kw - 1) * dw - 1) // sw + 1
    after = execute(
        name, board, dst=np.zeros((high, wide, co), np.float32), src=src, weight=lanes(weight, board), ci=ci, height=h, width=w,
        kernel_height=kh, kernel_width=kw, stride_w=sw, stride_h=sh, co=co, fix_pos=1, dilation_w=dw, dilation_h=dh,
        **({"bias": bias} if "bias" in name else {}),
    )["dst"]  # fmt: skip

    for y in range(high):
        for x in range(wide):
            for o in range(co):
                total = 0.0
                for i in range(kh):
                    for j in range(kw):
                        for c in range(ci):
                            total += src[y * sh + i * dh, x * sw + j * dw, c] * weight[o, i, j, c]

                assert 2 * total + (bias[o] if "bias" in name else 0) == after[y, x, o]


def convolve(with_bias, *more, **named):
    """A 2 x 2 kernel over a 3 x 4 picture by positional arguments, the bias where the vendor has it."""

    def run(mlu, _):
        src, weight = mlu.nram(float32, 36, list(range(36))), mlu.wram(float32, 64 * 12)
        weight.view.array[:] = np.arange(64 * 12) % 5
        dst = mlu.nram(float32, 2 * 3 * 64)
        given = (mlu.nram(float32, 64, list(range(64))),) if with_bias else ()
        if named.get("bias") == "here":
            named["bias"] = mlu.nram(float32, 64, list(range(64)))
        mlu.bang_conv(dst, src, weight, *given, 3, 3, 4, 2, 2, 1, 1, 64, *more, **named)
        return dst.view.array.copy()

    return on_core(run).reshape(6, 64)


def test_the_bias_comes_behind_the_weight():
    """The vendor's order: with and without a bias, a fixed-point position and dilations behind it, and by name."""
    plain = convolve(False)
    doubled = convolve(False, 1)

    assert np.array_equal(plain + np.arange(64), convolve(True))
    assert np.array_equal(plain + np.arange(64), convolve(True, 0, 1, 1))
    assert np.array_equal(doubled + np.arange(64), convolve(True, 1))
    assert np.array_equal(doubled + np.arange(64), convolve(False, fix_pos=1, bias="here"))


def test_four_numbers_behind_the_channels_are_dilations_alone():
    """As an accepted kernel has it: ``2, 2, 1, 1`` are the dilations of height and width, without a fixed-point position."""
    src, weight = whole(7, 8, 3), whole(64, 2, 3, 3)
    words = {
        "src": src, "weight": lanes(weight), "ci": 3, "height": 7, "width": 8, "kernel_height": 2, "kernel_width": 3,
        "stride_w": 1, "stride_h": 1, "co": 64,
    }  # fmt: skip
    named = execute(
        "bang_conv", dst=np.zeros((4, 4, 64), np.float32), **words, fix_pos=0, dilation_w=2, dilation_h=3
    )
    given = execute(
        "bang_conv",
        dst=np.zeros((4, 4, 64), np.float32),
        **words,
        fix_pos=3,
        dilation_w=2,
        dilation_h=1,
        out_dw=1,
    )

    assert np.array_equal(named["dst"], given["dst"])


def test_a_bias_that_is_no_memory_is_refused():
    """A number where the weight is followed by the channels is a count, and says so."""
    with pytest.raises(RuleFault, match="co = left out is not an integer"):
        on_core(lambda mlu, _: mlu.bang_conv(*[mlu.nram(float32, 64)] * 3, 1, 3, 3, 4, 2, 2, 1))


def test_a_one_by_one_conv_is_a_matmul_of_one_row():
    """As vendor kernels use it."""
    src, weight = whole(1, 24), whole(128, 24)
    conv = execute(
        "bang_conv", dst=np.zeros(128, np.float32), src=src, weight=lanes(weight), ci=24, height=1, width=1,
        kernel_height=1, kernel_width=1, stride_w=1, stride_h=1, co=128,
    )["dst"]  # fmt: skip

    assert np.array_equal((src @ weight.T)[0], conv)


def test_mlp_is_a_layer_with_bias():
    """One output a filter."""
    src, weight, bias = whole(33), whole(64, 33), whole(64)
    after = execute(
        "bang_mlp_bias",
        dst=np.zeros(64, np.float32),
        src=src,
        bias=bias,
        weight=lanes(weight),
        outputs=64,
        inputs=33,
    )

    for o in range(64):
        total = bias[o]
        for x in range(33):
            total += src[x] * weight[o, x]

        assert total == after["dst"][o]


def padded(weight, board):
    """Filters of runs of elements, (n, runs, run), whose number is not a multiple of 64: each run begins at a multiple of 64 bytes."""
    n, runs, run = weight.shape
    near = 4 if mlusim.find_board(board).arch.generation == 3 else 1
    blocks, step = -(-n // 64), -(-run * weight.itemsize // 64) * 64 // weight.itemsize
    held = np.full((64 // near, blocks, near, runs, step), 99, weight.dtype)
    for i in range(n):
        held[i % 64 // near, i // 64, i % near, :, :run] = weight[i]
    last = ((n - 1) * runs + runs - 1) * step + run  # what is read of fewer than 64
    return held.reshape(-1)[: last if n < 64 else None]


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
@pytest.mark.parametrize("n", [1, 3, 63, 65, 130])
def test_filters_that_are_no_multiple_of_64_are_padded(board, dtype, n):
    """A product and a convolution, whose results are those of the filters alone; not one element further is read."""
    left, right = whole(2, 5, dtype=dtype), whole(n, 1, 5, dtype=dtype)
    picture, taps = whole(3, 4, 5, dtype=dtype), whole(n, 4, 5, dtype=dtype)
    dst = np.zeros((2, n), np.float32)

    product = execute("bang_matmul", board, dst=dst, left=left, right=padded(right, board), m=2, k=5, n=n)
    conv = execute(
        "bang_conv", board, dst=np.zeros((2, 3, n), np.float32), src=picture, weight=padded(taps, board), ci=5,
        height=3, width=4, kernel_height=2, kernel_width=2, stride_w=1, stride_h=1, co=n,
    )["dst"]  # fmt: skip

    windows = np.lib.stride_tricks.sliding_window_view(picture.astype(int), (2, 2), (0, 1))
    expected = np.einsum(
        "yxcij,ijcn->yxn", windows, taps.astype(int).T.reshape(5, 2, 2, n).transpose(1, 2, 0, 3)
    )
    assert np.array_equal(left.astype(int) @ right[:, 0].astype(int).T, product["dst"])
    assert np.array_equal(expected, conv)


def test_on_mlu2xx_filters_are_whole_lanes():
    """No published kernel for it has others."""
    with pytest.raises(RuleFault, match="n = 3 is not a multiple of 64"):
        execute(
            "bang_matmul",
            "MLU270-S4",
            dst=np.zeros(6, np.float32),
            left=whole(2, 5),
            right=whole(320),
            m=2,
            k=5,
            n=3,
        )


@kernel
def product(mlu, dst, left, right, m, k, n):
    """Dst = left times the n filters of right, laid out on the chip."""
    a, b, c = mlu.nram(float32, m * k), mlu.nram(float32, n * k), mlu.nram(float32, n * k)
    held, out = mlu.wram(float32, n * k), mlu.nram(float32, m * n)
    mlu.memcpy(a, left, 4 * m * k, GDRAM2NRAM)
    mlu.memcpy(b, right, 4 * n * k, GDRAM2NRAM)
    mlu.bang_reshape_filter(c, b, n, 1, 1, k)
    mlu.memcpy(held, c, 4 * n * k, NRAM2WRAM)
    mlu.bang_matmul(out, a, held, m, k, n)
    mlu.memcpy(dst, out, 4 * m * n, NRAM2GDRAM)


def test_reshape_filter_lays_out_what_matmul_reads():
    """The whole way from GDRAM through NRAM and WRAM."""
    m, k, n = 6, 32, 128
    left, right = whole(m, k), whole(n, k)
    device = mlusim.Device("MLU370-X4")
    dst = device.empty((m, n), float32)
    device.launch(product, args=(dst, device.put(left), device.put(right), m, k, n))

    assert np.array_equal(left @ right.T, device.get(dst))


@pytest.mark.parametrize(("dtype", "rate"), [(np.float32, 384), (np.float16, 1536), (np.int8, 4096)])
def test_products_take_the_published_rate(dtype, rate):
    """The tensor unit's time is products over the rate of the type, and its start."""
    out = np.int32 if dtype is np.int8 else dtype

    @kernel
    def only(mlu):
        left, right, dst = mlu.nram(dtype, 64 * 96), mlu.wram(dtype, 64 * 96), mlu.nram(out, 64 * 64)
        mlu.bang_matmul(dst, left, right, 64, 96, 64)

    time_us = mlusim.Device("MLU370-X4").launch(only).time_us

    assert (
        pytest.approx(
            launch_us(mlusim.find_board("MLU370-X4")) + (64 * 96 * 64 / rate + TENSOR_START.value) / 1000
        )
        == time_us
    )


def test_rows_are_inferred_but_for_what_an_accepted_kernel_shows():
    """Nothing about the tensor unit's arguments is published as a specification."""
    for name in ("bang_conv_bias", "bang_mlp_bias"):
        assert "I" == ISA[name].certainty
    for name in ("bang_matmul", "bang_conv"):
        assert "C" == ISA[name].certainty
        assert "accepted on MLU370" in ISA[name].source


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_weights_that_are_kept_follow_their_bytes(dtype):
    """Weights of the same shape that alternate, change in place or differ in their last element give products of their own."""
    board = "MLU590-H8"  # which rounds floats, so that both types are kept
    left, right = whole(2, 64, dtype=dtype), whole(64, 64, dtype=dtype)
    other = right.copy()
    other[-1, -1] += 1
    for weight in (right, other, right, -right, other):
        after = execute(
            "bang_matmul",
            board,
            dst=np.zeros((2, 64), np.float32),
            left=left,
            right=lanes(weight, board),
            m=2,
            k=64,
            n=64,
        )

        assert np.array_equal(left.astype(int) @ weight.astype(int).T, after["dst"])


def test_every_half_and_bfloat16_is_multiplied_as_it_is():
    """They are multiplied as what NumPy and ml_dtypes convert them to, NaN and infinity too."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    for dtype in (np.dtype(np.float16), bfloat16.dtype):
        values = bits.view(dtype)
        assert factor(values, 3).tobytes() == values.astype(np.float32).tobytes()


def test_sums_of_integers_are_exact_where_float_ends():
    """Beyond 2^24 sums are in double: products of 16 bits, odd, whose sum no float32 holds."""
    left = np.full((1, 3), 32767, np.int16)
    right = np.full((64, 3), 32767, np.int16)
    found = [
        execute(
            "bang_matmul",
            "MLU370-X4",
            dst=np.zeros((1, 64), np.int32),
            left=a,
            right=lanes(b),
            m=1,
            k=a.shape[1],
            n=64,
        )["dst"][0, 0]
        for a, b in (
            (left[:, :1], right[:, :1]),
            (np.full((1, 64), 511, np.int16), np.full((64, 64), 513, np.int16)),
        )
    ]

    assert [32767 * 32767, 64 * 511 * 513] == found
