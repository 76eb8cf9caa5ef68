"""Parts of blocks by index, which the card's Triton reads and stores, give what NumPy gives."""

import numpy as np
import pytest

pytest.importorskip("triton")
import triton
import triton.language as tl

import mlusim.triton
from mlusim.errors import UsageError


@triton.jit
def parts(x, column, corner, out, n, i, m: tl.constexpr, w: tl.constexpr, a: tl.constexpr, b: tl.constexpr):
    """Read a column, a corner, an element and a row; store rows, columns, elements and a piece, in a loop, too."""
    rows, columns = tl.arange(0, m)[:, None], tl.arange(0, w)[None, :]
    block = tl.load(x + rows * w + columns)
    tl.store(column + tl.arange(0, m), block[:, i])
    tl.store(corner + tl.arange(0, b - a)[:, None] * (w - 1) + tl.arange(0, w - 1), block[a:b, 1:])
    new = tl.empty([m, w], dtype=x.dtype.element_ty)
    new[:, :] = block
    new[i, :] = block[None, -1, :]
    new[a:b, : w - 1] = block[a:b, 1:]
    new[:, 0] = block[i, 0]
    new[0, 1] += 2
    for k in range(n):
        new[k, w - 1] = k
    tl.store(out + rows * w + columns, new)


@pytest.mark.parametrize(
    ("board", "dtype", "m", "w", "a", "b", "n", "i"),
    [
        ("MLU370-X4", np.float16, 1, 4, 0, 1, 1, 0),
        ("MLU370-X4", np.float32, 5, 40, 2, 5, 0, 4),
        ("MLU590-H8", np.int32, 4, 8, 1, 3, 4, 0),
        ("MLU590-H8", np.float16, 6, 9, 0, 6, 3, 5),
    ],
)
def test_parts_are_those_of_numpy(board, dtype, m, w, a, b, n, i):
    """Of blocks of any size, by constants and by numbers of the kernel."""
    x = (10 * np.random.default_rng(m * w).standard_normal((m, w))).astype(dtype)
    expected = x.copy()
    expected[i, :] = x[-1, :]
    expected[a:b, : w - 1] = x[a:b, 1:]
    expected[:, 0] = x[i, 0]
    expected[0, 1] += 2
    expected[:n, w - 1] = np.arange(n)
    column, corner, out = np.zeros(m, dtype), np.zeros((b - a, w - 1), dtype), np.zeros_like(x)
    launch = mlusim.triton.run(
        parts, (1,), x, column, corner, out, n, i, m=m, w=w, a=a, b=b, board=board, observe=["memcheck"]
    )

    assert () == launch.findings
    assert x[:, i].tolist() == column.tolist()
    assert x[a:b, 1:].tolist() == corner.tolist()
    assert expected.tolist() == out.tolist()


@triton.jit
def truths(x, out, n, b: tl.constexpr):
    """Choose between truth values by an interval, and read and store parts of them."""
    at = tl.arange(0, b)
    on = tl.load(x + at) > 0
    chosen = tl.where(at < n, on, at < b - 2)
    constant = tl.where(at < n, at < 0, on)
    on[: b // 2] = on[b // 2 :] & (at < b)[: b // 2]
    on[b - 1] = on[0]
    product = chosen * on
    tl.store(
        out + at,
        chosen.to(tl.int32) + 2 * constant.to(tl.int32) + 4 * on.to(tl.int32) + 8 * product.to(tl.int32),
    )


@pytest.mark.parametrize(("board", "dtype"), [("MLU370-X4", np.float16), ("MLU590-H8", np.float32)])
def test_truth_values_are_chosen_whatever_type_holds_them(board, dtype):
    """A comparison's result has the type of what it compared, and that of an interval another."""
    x = np.random.default_rng(3).standard_normal(16).astype(dtype)
    on, at, out = x > 0, np.arange(16), np.zeros(16, np.int32)
    chosen, constant = np.where(at < 5, on, at < 14), np.where(at < 5, 0, on)
    on[:8] = on[8:]
    on[15] = on[0]
    mlusim.triton.run(truths, (1,), x, out, 5, b=16, board=board)

    assert (chosen + 2 * constant + 4 * on + 8 * (chosen & on)).tolist() == out.tolist()


@triton.jit
def converted(out, n, b: tl.constexpr):
    """Convert a quotient that is a constant where *n* is 1."""
    tl.store(out, tl.cdiv(n, b).to(tl.float32) + 0.5)


@pytest.mark.parametrize("n", [1, 9])
def test_a_constant_may_be_converted(n):
    """Triton makes a parameter that is 1 a constant."""
    out = np.zeros(1, np.float32)
    mlusim.triton.run(converted, (1,), out, n, b=4)

    assert [(n + 3) // 4 + 0.5] == out.tolist()


@triton.jit
def digits(out, base, n, b: tl.constexpr):
    """Store the digits of 0, 1, ..., the last first, of which a loop carries the rest."""
    rest = tl.arange(0, b)
    block = tl.zeros([b, 4], tl.int32)
    for k in range(n):
        block[:, 3 - k] = rest % base
        rest //= base
    tl.store(out + tl.arange(0, b)[:, None] * 4 + tl.arange(0, 4)[None, :], block)


def test_whole_numbers_of_a_loop_become_data():
    """They begin as a formula of the index."""
    out = np.zeros((64, 4), np.int32)
    mlusim.triton.run(digits, (1,), out, 3, 4, b=64)

    assert [[n // 3**k % 3 for k in (3, 2, 1, 0)] for n in range(64)] == out.tolist()


@triton.jit
def step(x):
    """Read every other element."""
    tl.store(x + tl.arange(0, 2), (tl.arange(0, 4) * 1.0)[::2])


@triton.jit
def beyond(x):
    """Read an element that is not there."""
    tl.store(x, (tl.arange(0, 4) * 1.0)[4])


@triton.jit
def other_shape(x):
    """Store four elements in the place of two."""
    block = tl.arange(0, 4) * 1.0
    block[:2] = tl.arange(0, 4)
    tl.store(x + tl.arange(0, 4), block)


@triton.jit
def no_index(x):
    """Read at a float."""
    tl.store(x, (tl.arange(0, 4) * 1.0)[1.5])


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        (step, "a part of a block with the step 2"),
        (beyond, "the index 4 of an axis of 4 elements"),
        (other_shape, r"a block of shape \[4\] in the place of a part of shape \[2\]"),
        (no_index, "unsupported tensor index: 1.5"),
    ],
)
def test_what_is_no_part_is_refused(kernel, told):
    """With what it is."""
    with pytest.raises(UsageError, match=told):
        mlusim.triton.run(kernel, (1,), np.zeros(4, np.float32))
