"""Triton kernels give what NumPy gives, on both boards, with tails."""

import math
import warnings

import numpy as np
import pytest

pytest.importorskip("triton")
import language_kernels as language
import triton_kernels as kernels
from hypothesis import given, settings, strategies as st
from triton.tools.tensor_descriptor import TensorDescriptor

import mlusim.triton
from mlusim.engine.preference import preferring
from mlusim.errors import LaunchError, Remark, UsageError

BOARDS = ("MLU370-X4", "MLU590-H8")
pytestmark = [
    pytest.mark.parametrize("board", BOARDS),
    pytest.mark.filterwarnings("ignore:tl.make_block_ptr is deprecated"),
]


@pytest.fixture(autouse=True)
def python_engine():
    """Interpret: compiling each kernel is what takes the time, and `test_triton_interpreter` compares both engines."""
    with preferring("python"):
        yield


def drawn(*shape, dtype=np.float32, seed=0):
    """Return normal numbers."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def numbers(n, low, high, dtype=np.int32):
    """Return whole numbers of low to high - 1."""
    return np.random.default_rng(n).integers(low, high, n).astype(dtype)


def run(board, kernel, grid, *arguments, **named):
    """Run a kernel under initcheck."""
    launch = mlusim.triton.run(
        kernel, (grid,), *arguments, board=board, observe=["initcheck", "memcheck"], **named
    )

    assert launch.findings == ()
    return launch


def softmax_of(x):
    """Return the softmax of rows."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@settings(max_examples=4, deadline=None)
@given(
    n=st.integers(1, 700),
    block=st.sampled_from([64, 256]),
    dtype=st.sampled_from([np.float16, np.float32, np.int32]),
)
def test_elements_beyond_the_mask_stay(board, n, block, dtype):
    """For any length."""
    x, y = ((100 * drawn(n, seed=seed)).astype(dtype) for seed in (1, 2))
    out = np.full(n + 9, 7, dtype)
    run(board, kernels.add, -(-n // block), x, y, out, n, B=block)

    assert (x + y).tobytes() == out[:n].tobytes()
    assert [7] * 9 == out[n:].tolist()


@settings(max_examples=3, deadline=None)
@given(rows=st.integers(1, 20), columns=st.integers(1, 130))
def test_softmax(board, rows, columns):
    """For any matrix that fits a block of columns."""
    x, out = drawn(rows, columns, dtype=np.float16), np.zeros((rows, columns), np.float16)
    run(board, kernels.softmax, 3, out, x, rows, columns, BM=4, BN=256)

    np.testing.assert_allclose(softmax_of(x.astype(float)), out, atol=2e-3)


def test_layer_norm(board):
    """Rows and columns are broadcast."""
    x, w, b = drawn(13, 100), drawn(100), drawn(100, seed=1)
    out = np.zeros_like(x)
    run(board, kernels.layer_norm, 4, out, x, w, b, 13, 100, 1e-5, BM=4, BN=128)
    wide = x.astype(float)
    normal = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)

    np.testing.assert_allclose(normal * w + b, out, atol=1e-4)


@pytest.mark.parametrize("transposed", [False, True])
def test_matmul(board, transposed):
    """The tutorial's, with groups and remainders, and either order of the right matrix."""
    m, n, k = 40, 70, 50
    a, b, out = drawn(m, k, dtype=np.float16), drawn(k, n, dtype=np.float16), np.zeros((m, n), np.float16)
    right, strides = (np.ascontiguousarray(b.T), (1, k)) if transposed else (b, (n, 1))
    sizes = {"BM": 32, "BN": 32, "BK": 16, "G": 2}
    run(board, kernels.matmul, 6, a, right, out, m, n, k, k, 1, *strides, **sizes)

    np.testing.assert_allclose(a.astype(float) @ b.astype(float), out, atol=0.05)


def test_a_remainder_costs_no_more_than_a_block(board):
    """Nor does a bound, where the matrices are whole blocks: the copies are those of the tutorial without them."""
    a, b = drawn(64, 64, dtype=np.float16), drawn(64, 64, dtype=np.float16)
    outs = [np.zeros((64, 64), np.float16) for _ in range(3)]
    sizes = {"BM": 32, "BN": 32, "BK": 32, "G": 2}
    plain, *others = (
        run(board, kernels.persistent, 2, a, b, out, 64, 64, 64, WRAPS=wraps, **sizes).time_us
        for wraps, out in enumerate(outs)
    )

    assert outs[0].tobytes() == outs[1].tobytes() == outs[2].tobytes()
    assert max(others) < 1.05 * plain


@settings(max_examples=6, deadline=None)
@given(m=st.integers(1, 40), first=st.integers(-40, 80), high=st.integers(-1, 18))
def test_runs_that_begin_again(board, m, first, high):
    """In loads of one and two axes, either of which is the contiguous one, and in stores; below zero a remainder is C's."""
    rows, columns = 16, 4
    x, out = drawn(2000), np.zeros(2 * rows + 6 * rows * columns + 100, np.float32)
    run(board, kernels.around, 1, x, out, m, first, high, B=rows, C=columns)
    i, c = np.arange(rows), np.arange(columns)
    r, b = np.fmod(first + i, m), np.where(i < high, i, 1)
    at = m * columns
    pairs = [
        np.where(i < high, x[at + r], -1), x[at + b],
        np.where(c < high, x[at + r[:, None] * columns + c], -2), np.where(i[:, None] > 2, x[at + c * m + r[:, None]], -3),
        x[at + b[:, None] * columns + c], x[at + b[:, None] + c * rows],
        x[at + c[:, None] * m + r * 2], x[at + b + c[:, None] * m],
    ]  # fmt: skip
    told = np.zeros(100, np.float32)
    told[m + r[: min(m, rows)]] = i[: min(m, rows)]

    assert (
        np.concatenate([*(one.ravel() for one in pairs), told]).astype(np.float32).tobytes() == out.tobytes()
    )


@pytest.mark.parametrize("causal", [False, True])
def test_attention(board, causal):
    """Two products, what a loop carries, and masks of two axes."""
    length, depth = 50, 32
    q, k, v = (drawn(length, depth, dtype=np.float16, seed=seed) for seed in range(3))
    out = np.zeros_like(q)
    run(board, kernels.attention, 2, q, k, v, out, length, 0.125, D=depth, BM=32, BN=32, CAUSAL=causal)
    scores = q.astype(float) @ k.astype(float).T * 0.125
    scores = np.where(np.tri(length) > 0, scores, -np.inf) if causal else scores

    np.testing.assert_allclose(softmax_of(scores) @ v.astype(float), out, atol=5e-3)


def test_what_data_addresses(board):
    """Rows, elements, stores and atomics whose places come from memory."""
    table, rows = drawn(20, 60, dtype=np.float16), numbers(7, 0, 20)
    found = np.zeros((7, 60), np.float16)
    run(board, kernels.embedding, 7, found, rows, table, 60, B=64)
    x, order = drawn(150), np.random.default_rng(0).permutation(150)
    moved = np.zeros_like(x)
    run(board, kernels.permute, 2, x, moved, order, 150, B=128)
    bins, sums = numbers(150, 0, 9), np.zeros(9, np.float32)
    run(board, kernels.histogram, 2, x, sums, bins, 150, B=128)
    expected = np.zeros(9)
    np.add.at(expected, bins, x)

    assert table[rows].tobytes() == found.tobytes()
    assert x.tobytes() == moved.tobytes()
    np.testing.assert_allclose(expected, sums, atol=1e-4)


def test_whole_numbers(board):
    """Division and remainder are C's."""
    x, y = numbers(150, -1000, 1000), numbers(151, 1, 50)[:150]
    out = np.zeros_like(x)
    run(board, kernels.whole_numbers, 2, x, y, out, 150, B=128)
    quotient = np.abs(x) // y * np.sign(x)
    r = (
        quotient * 3
        + (x - quotient * y)
        - (x & y)
        + ((x ^ y) << 2)
        + (x >> 1)
        + np.minimum(x, y) * np.maximum(x, y)
    )

    assert np.where(x > y, r, -r).tolist() == out.tolist()


@pytest.mark.parametrize(
    ("dtype", "tested"),
    [
        (np.float32, np.float16),
        (np.float16, np.int32),
        (np.int16, np.int8),
        (np.int64, np.int64),
    ],
)
def test_choices_by_data(board, dtype, tested):
    """Neither NaN, an infinity nor a lane without a value comes through from what is left out."""
    (x, y), c = ((9 * drawn(4, 16, seed=k)).astype(dtype) for k in (0, 1)), (3 * drawn(4, 16)).astype(tested)
    on, first, w = c > 0, c[:, :1] > 0, np.arange(16)
    if np.dtype(dtype).kind == "f":
        x[~on], y[on & first] = np.nan, np.inf
    left = np.where(on & (w < 9), x, dtype(0)) + np.where(first, y, dtype(3))
    expected = [np.where(on, x, y), left, np.where(on & first, dtype(0), y)]
    outs = [np.zeros_like(x) for _ in expected]
    run(board, kernels.choices, 1, x, y, c, *outs, 9, M=4, N=16)

    assert all(
        np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(expected, outs, strict=True)
    )


def test_words_and_numbers_of_lanes(board):
    """Numbers of 64 bits and fewer, those of lanes as data, and operations on bits, of which none takes a loop over the elements."""
    times = []
    for n in (64, 1024):
        x = numbers(n, -90_000, 90_000)
        wide, narrow, counted, bits = (
            np.zeros(shape, dtype)
            for shape, dtype in ((n, np.int64), (n, np.int8), ((5, n), np.int32), (n, np.int32))
        )
        launch = run(board, kernels.words, 1, x, wide, narrow, counted, bits, 4, 7, M=5, N=n)
        times.append(launch.time_us)
        r, w = np.arange(5)[:, None], np.arange(n, dtype=np.int32)
        at = r * 7 + w * 3 - 4
        upper = (x.view(np.uint32) >> 9).view(np.int32) + (x.view(np.uint32) > 77)

        assert x.tolist() == wide.tolist()
        assert x.astype(np.int8).tolist() == narrow.tolist()
        assert (np.where(np.fmod(at, 2) > 0, at, r * n) + at * at).tolist() == counted.tolist()
        assert (
            ((x ^ 85) & w | 6) + (np.fmod(x << 4, 7) / 3).astype(np.int32) + upper
        ).tolist() == bits.tolist()

    # MLU370 has no division of whole numbers.
    assert times[1] < 4 * times[0] or board == "MLU370-X4"


@pytest.mark.parametrize(
    ("shape", "dtype"), [((3, 5, 7), np.int32), ((1, 16, 1), np.int32), ((4, 1, 8), np.float32)]
)
def test_reductions_and_scans_by_vectors(board, shape, dtype):
    """Along each axis, of lengths that are no power of two, too, and from the end."""
    x = numbers(math.prod(shape), -9, 9).reshape(shape).astype(dtype)
    expected = [
        x.max(0), x.prod(1), x.sum(2), x.cumsum(1) + ((x > 1) & (x < 5)) + x.sum(2).sum(0)[None, :, None],
        x[:, :, ::-1].cumsum(2)[:, :, ::-1] + x.cumprod(0), x.sum(keepdims=True),
    ]  # fmt: skip
    outs = [np.zeros(part.shape, dtype) for part in expected]
    run(board, kernels.folds, 1, x, *outs, **dict(zip("ABC", shape, strict=True)))

    assert [part.tolist() for part in expected] == [out.tolist() for out in outs]


def test_order(board):
    """Index of the largest, running sums, sorting."""
    x = drawn(2, 30)
    largest, sums, ordered = np.zeros(2, np.int32), np.zeros_like(x), np.zeros((2, 32), np.float32)
    run(board, kernels.order, 2, x, largest, sums, ordered, 30, B=32)

    assert x.argmax(axis=1).tolist() == largest.tolist()
    np.testing.assert_allclose(x.cumsum(axis=1), sums, atol=1e-5)
    assert np.sort(x, axis=1).tobytes() == ordered[:, 2:].tobytes()


def test_products_of_stacks(board):
    """One after another; the products of floats are the board's, of which one has fewer bits."""
    x, y = drawn(4, 16, 16), drawn(4, 16, 16, seed=1)
    out = np.zeros_like(x)
    run(board, kernels.stacked, 1, x, y, out, B=16)

    np.testing.assert_allclose(x.astype(float) @ y, out, atol=0.02)


def test_the_device_library(board):
    """By the names of the card's, beside those of Triton's own; Philox counts as `tl.rand` does."""
    x = np.abs(drawn(20))
    x[3] = np.nan
    out, words, expected = np.zeros_like(x), np.zeros((8, 4), np.int32), np.ones((8, 4), np.int32)
    run(board, kernels.library, 1, x, out, 20, B=32)
    run(board, kernels.random, 1, words, expected, 42, B=8)
    wide = x.astype(float)
    y = wide**2 + np.tanh(wide) + 1 / (1 + np.exp(-wide)) + np.arctan(wide)
    y += np.log1p(wide) + np.log2(wide + 1) + 10**wide

    np.testing.assert_allclose(np.where(np.isnan(x), 7, y), out, atol=1e-5, rtol=1e-5)
    assert expected.tolist() == words.tolist()


def test_a_conversion_toward_zero(board):
    """Nothing gets larger, and what a half holds stays."""
    x, out = drawn(64), np.zeros(64, np.float16)
    run(board, kernels.cut, 1, x, out, B=64)
    nearest = x.astype(np.float16)
    larger = np.abs(nearest.astype(np.float32)) > np.abs(x)

    assert np.where(larger, np.nextafter(nearest, np.float16(0)), nearest).tobytes() == out.tobytes()


def test_control(board):
    """A loop of one's own, a branch that gives back a tensor, elements at a stride."""
    x, out = drawn(50), np.zeros((2, 32), np.float32)
    run(board, kernels.strided, 2, x, out, 50, B=32)
    every = np.zeros(32)
    every[:25] = x[::2]

    np.testing.assert_allclose([every - x[::2].sum(), every + x[1::2].sum()], out, atol=1e-5)


@pytest.mark.parametrize("warps", [1, 4])
def test_a_program_is_a_task_whatever_its_warps(board, warps):
    """None is run for another's sake, in Block and in Union1."""
    for grid in (3, 4):
        out = np.zeros((grid, 8), np.int32)
        run(board, kernels.programs, grid, out, B=8, num_warps=warps)

        assert (np.arange(8) + 100 * np.arange(grid)[:, None] + 10000 * grid).tolist() == out.tolist()


@pytest.mark.parametrize(("task_type", "kind"), [("block", "BLOCK"), ("union1", "UNION1"), (None, "UNION1")])
def test_a_call_may_ask_for_its_kind(board, task_type, kind):
    """In place of what the launcher chooses for a grid that fills clusters."""
    launch = run(board, kernels.programs, 4, np.zeros((4, 8), np.int32), B=8, task_type=task_type)

    assert kind == launch.kind


def test_a_kind_that_the_grid_does_not_fill_is_refused(board):
    """Nor is one taken that says nothing here."""
    out = np.zeros((3, 8), np.int32)
    with pytest.raises(
        LaunchError, match="'union1' takes whole clusters, and 3 programs along x are not multiples of 4"
    ):
        run(board, kernels.programs, 3, out, B=8, task_type="union1")
    with pytest.raises(UsageError, match="task_type='union9' of a kernel says nothing here"):
        run(board, kernels.programs, 3, out, B=8, task_type="union9")


def test_unsigned_numbers_and_truth_values(board):
    """Bits are kept when they get wider, and a truth value is a byte."""
    x = np.array([1, 1 << 31, (1 << 32) - 1, 5], np.uint32)
    on, out = np.array([True, True, True, False]), np.zeros(4, np.int64)
    run(board, kernels.wider, 1, x, on, out, 4, B=4)

    assert [1, 1 << 31, (1 << 32) - 1, -1] == out.tolist()


@pytest.mark.parametrize(("rows", "columns"), [(3, 100), (5, 6), (8, 15), (1, 7)])
def test_blocks_of_any_size(board, rows, columns):
    """Beside those of powers of two, in one kernel, and through a reshape."""
    x = drawn(rows, columns)
    sums, out = np.zeros(rows, np.float32), np.zeros(rows * columns, np.float32)
    run(board, kernels.odd_sizes, 1, x, sums, out, A=rows, B=columns)

    np.testing.assert_allclose(x.sum(axis=1, dtype=float), sums, atol=1e-4)
    assert [*x.ravel()[:5], *[6] * (x.size - 5)] == out.tolist()


def test_views_that_are_not_contiguous_are_refused(board):
    """Their elements do not lie where a kernel would look for them."""
    x = drawn(8, 8)
    with pytest.raises(UsageError, match="is not a contiguous one; pass numpy.ascontiguousarray"):
        mlusim.triton.run(kernels.add, (1,), x, x.T, np.zeros_like(x), 64, B=64, board=board)


def test_block_pointers_and_transposition(board):
    """What lies beyond the matrix is neither read nor written."""
    x, out = drawn(20, 37), np.zeros((37, 20), np.float32)
    run(board, kernels.blocks, 2, x, out, 20, 37, BM=16, BN=32)

    assert (x.T * 2).tobytes() == out.tobytes()


def test_products_of_short_floats(board):
    """Exact products, added up in 32 bits."""
    x, y, out = drawn(16, 8), drawn(8, 32), np.zeros((16, 32), np.float32)
    run(board, language.short_floats, 1, x, y, out, M=16, N=32, K=8)
    a, b = (
        (v.view(np.uint32) + 0x7FFF + (v.view(np.uint32) >> 16 & 1) & 0xFFFF0000).view(np.float32)
        for v in (x, y)
    )

    np.testing.assert_allclose(a.astype(float) @ b.astype(float), out, atol=1e-5)


def test_a_function_of_each_element(board):
    """Which may branch."""
    x, out = drawn(16), np.zeros(16, np.float32)
    run(board, language.mapped, 1, x, out, B=16)

    assert np.where(x > 0, x * 2, x - 1).tobytes() == out.tobytes()


@pytest.mark.filterwarnings("ignore::mlusim.errors.Remark")
def test_a_precision_that_the_board_has_not_is_told(board):
    """From MLU5xx on floats are multiplied as tf32; boards before have whole floats."""
    x, y, out = drawn(1, 16, 8), drawn(1, 8, 32), np.zeros((1, 16, 32), np.float32)
    sizes = {"S": 1, "M": 16, "N": 32, "K": 8, "P": "ieee"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Remark)
        run(board, language.products, 1, x, y, out, np.zeros((16, 32), np.float16), **sizes)
    told = [str(one.message) for one in caught if "input_precision ieee" in str(one.message)]

    assert ("590" in board) == bool(told)
    np.testing.assert_allclose(
        x[0].astype(float) @ y[0].astype(float), out[0], atol=1e-5 if "370" in board else 0.1
    )


def test_descriptors_may_be_passed(board):
    """Of arrays, in place of pointers; what lies beyond the tensor is neither read nor written."""
    x, out = drawn(20, 40), np.zeros((20, 40), np.float32)
    d, e = (TensorDescriptor(one, [20, 40], [40, 1], [16, 32]) for one in (x, out))
    run(board, language.passed, 1, d, e, 3, 20, 40, BM=16, BN=32)
    expected = x + np.float32(3)
    expected[16:, :32] += x[:4, :32]

    assert expected.tobytes() == out.tobytes()


def test_quick_functions_of_the_library(board):
    """As their names in full, in the accuracy of C."""
    x, out, short = drawn(16), np.zeros((8, 16), np.float32), np.zeros(16, np.float16)
    run(board, language.quick, 1, x, out, short, B=16)
    v, p = x.astype(float), np.abs(x.astype(float)) + 0.5
    sigmoid = 1 / (1 + np.exp(-v))
    expected = [
        np.sqrt(p), 1 / p, np.log2(p) + np.log(p), np.maximum(v, p - 1) - np.minimum(v, p), sigmoid * (1 + v * (1 - sigmoid)),
        sigmoid + np.tanh(v), v ** (np.arange(16) % 4) + 10**v, v**3 + 2**v,
    ]  # fmt: skip

    np.testing.assert_allclose(expected, out, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(v * sigmoid, short, atol=2e-3)


def test_elements_are_selected_by_a_mask(board):
    """In their order, of a flat block of an odd size, and their number: none, some and all."""
    x, number = drawn(51), np.zeros(1, np.int32)
    for share in (0, 0.3, 1):
        mask, out = (np.random.default_rng(3).random(51) < share).astype(np.int8), np.zeros(51, np.float32)
        run(board, language.selected, 1, x, mask, out, number, M=3, N=17)

        np.testing.assert_array_equal(np.pad(x[mask > 0], (0, int((mask == 0).sum()))), out)
        assert mask.sum() == number[0]
