"""Kernels of the tutorials, and views with any masks, strides, shapes and types, give what Triton's own interpreter and NumPy give.

Tolerances: whole numbers and what is only moved are the same bits; floats differ by 1e-5 of the largest, after a product of halves or
through a half by 2e-3.
"""

import os
import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("triton")
if find_spec("torch") is None:  # which the interpreter imports in its own process
    pytest.skip("without PyTorch", allow_module_level=True)
import language_kernels as language
import triton_kernels as kernels
from hypothesis import given, settings, strategies as st

import mlusim.triton
from mlusim.engine.preference import preferring

BOARDS = ("MLU370-X4", "MLU590-H8")
pytestmark = pytest.mark.filterwarnings("ignore:tl.make_block_ptr is deprecated")


@pytest.fixture(scope="module")
def interpreter():
    """One process for all: a function that returns the arrays as the kernel of a name leaves them."""
    command = [sys.executable, str(Path(__file__).with_name("interpreter.py"))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env={**os.environ, "TRITON_INTERPRET": "1"}, **pipes) as process:

        def ask(kernel, grid, arguments, named):
            pickle.dump((kernel, grid, arguments, named), process.stdin)
            process.stdin.flush()
            return pickle.load(process.stdout)

        yield ask


def drawn(*shape, dtype=np.float32, seed=0):
    """Return numbers with both signs."""
    return (3 * np.random.default_rng([seed, *shape]).standard_normal(shape)).astype(dtype)


def whole(n, low, high, dtype=np.int32):
    """Return *n* whole numbers of *low* to *high* - 1."""
    return np.random.default_rng(n).integers(low, high, n).astype(dtype)


def compared(interpreter, kernel, grid, *arguments, tolerance, boards=BOARDS, engines=("python",), **named):
    """Return the arrays that the interpreter leaves, after those of each board are held against them, of the first by all *engines*."""
    expected = interpreter(kernel, (grid,), arguments, named)
    for board, tried in zip(boards, (engines, engines[:1]), strict=False):
        left = []
        for engine in tried:
            own = [one.copy() if isinstance(one, np.ndarray) else one for one in arguments]
            with preferring(engine):
                mlusim.triton.run(
                    getattr(language if hasattr(language, kernel) else kernels, kernel),
                    (grid,),
                    *own,
                    board=board,
                    **named,
                )
            left.append([one for one in own if isinstance(one, np.ndarray)])
        for a, b in zip(expected, left[0], strict=True):
            np.testing.assert_allclose(
                a.astype(float),
                b.astype(float),
                rtol=0,
                atol=tolerance * max(1, np.abs(a).max()) * (a.dtype.kind == "f"),
            )
        assert all(a.tobytes() == b.tobytes() for a, b in zip(left[0], left[-1], strict=True))
    return expected


TIES = np.array(
    [[1, 3, 3, 0, -1, 3, 2, 1], [0] * 8, [7, np.nan, 3, 2, 1, 0, -1, -1], [np.nan, 2, np.nan, 4, 5, 1, 5, 0]], np.float32
)  # fmt: skip
ODD = np.array([0.1, 2.5, -2.5, 65519, -1e-8, 1e-7, 1 / 3, 100.7], np.float32)
HALVES = {"dtype": np.float16}
CASES = {
    "add": lambda: ((2, drawn(100), drawn(100, seed=1), np.zeros(100, np.float32), 100), {"B": 64}, 0),
    "softmax": lambda: ((3, np.zeros((7, 30), np.float32), drawn(7, 30), 7, 30), {"BM": 2, "BN": 32}, 1e-5),
    "layer_norm": lambda: (
        (3, np.zeros((5, 30), np.float32), drawn(5, 30), drawn(30), drawn(30, seed=1), 5, 30, 1e-5), {"BM": 2, "BN": 32}, 1e-5,
    ),
    "matmul": lambda: (
        (4, drawn(20, 24, **HALVES), drawn(24, 18, **HALVES), np.zeros((20, 18), np.float16), 20, 18, 24, 24, 1, 18, 1),
        {"BM": 16, "BN": 16, "BK": 16, "G": 2}, 2e-3,
    ),
    "persistent": lambda: (
        (3, drawn(20, 24, **HALVES), drawn(24, 18, **HALVES), np.zeros((20, 18), np.float16), 20, 18, 24),
        {"BM": 16, "BN": 16, "BK": 16, "G": 2, "WRAPS": 2}, 2e-3,
    ),
    "attention": lambda: (
        (2, *(drawn(20, 16, seed=k, **HALVES) for k in range(3)), np.zeros((20, 16), np.float16), 20, 0.125),
        {"D": 16, "BM": 16, "BN": 16, "CAUSAL": True}, 2e-3,
    ),
    "dropout": lambda: ((2, drawn(100), np.zeros(100, np.float32), 100, 0.5, 123), {"B": 64}, 1e-6),
    "whole_numbers": lambda: (
        (1, np.arange(-40, 23, dtype=np.int32), np.arange(1, 64, dtype=np.int32), np.zeros(63, np.int32), 63), {"B": 64}, 0,
    ),
    "order": lambda: (
        (2, drawn(2, 13), np.zeros(2, np.int32), np.zeros((2, 13), np.float32), np.zeros((2, 16), np.float32), 13), {"B": 16}, 1e-6,
    ),
    "extremes": lambda: ((1, TIES, np.zeros(28, np.int32), np.zeros(8, np.float32)), {"M": 4, "N": 8}, 0),
    "products": lambda: (
        (1, drawn(2, 16, 8), drawn(2, 8, 32), drawn(2, 16, 32), np.zeros((16, 32), np.float16)),
        {"S": 2, "M": 16, "N": 32, "K": 8, "P": "tf32"}, 2e-3,
    ),
    "halves": lambda: (
        (1, drawn(16, 8, **HALVES), drawn(8, 32, **HALVES), drawn(2, 16, 32, **HALVES)), {"M": 16, "N": 32, "K": 8}, 2e-3,
    ),
    "scans": lambda: ((1, drawn(4, 8), np.zeros(5 * 32 + 4, np.float32), np.zeros(32, np.int32)), {"M": 4, "N": 8}, 1e-5),
    "moved": lambda: (
        (1, drawn(4, 8), whole(32, 0, 8), np.zeros(7 * 32, np.float32), np.zeros(16, np.int32)), {"M": 4, "N": 8}, 0,
    ),
    "converted": lambda: (
        (1, ODD, whole(8, -128, 128, np.int8), np.zeros(25, np.float16), np.zeros(24, np.int32), np.zeros(8, np.float32)), {"B": 8}, 0,
    ),
    "atomics": lambda: (
        (1, whole(8, -99, 99), whole(56, -99, 99), np.zeros(1, np.int32), np.zeros(64, np.int32)), {"B": 8}, 0,
    ),
    "float_atomics": lambda: ((1, drawn(8), drawn(24)), {"B": 8}, 1e-6),
    "described": lambda: (
        (1, drawn(20, 40), np.arange(16, 0, -2, dtype=np.int32), np.zeros((20, 40), np.float32), np.zeros(24 * 32 + 800, np.float32), 20, 40),
        {"BM": 16, "BN": 32}, 0,
    ),
    "ways": lambda: ((3, drawn(8), np.zeros(16, np.float32), 7), {"B": 8}, 1e-6),
}  # fmt: skip


NATIVE = ("softmax", "matmul", "moved", "atomics", "ways")


@pytest.mark.parametrize("kernel", CASES)
def test_kernels_of_the_tutorials(interpreter, kernel):
    """On both boards; of groups that a compiler takes quickly, on both engines."""
    arguments, named, tolerance = CASES[kernel]()
    engines = ("python", "auto") if kernel in NATIVE else ("python",)
    left = compared(interpreter, kernel, *arguments, tolerance=tolerance, engines=engines, **named)

    assert any(a.any() for a in left)


@settings(max_examples=4, deadline=None)
@given(data=st.data())
def test_views(interpreter, data):
    """By NumPy, too, and on both engines."""
    rows, columns = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 20))
    low, high, every = (
        data.draw(st.integers(-1, 4)),
        data.draw(st.integers(-1, 9)),
        data.draw(st.integers(1, 3)),
    )
    board = data.draw(st.sampled_from(BOARDS))
    dtype = data.draw(st.sampled_from([np.float32, np.float16, np.int32, np.int16, np.int8]))
    (sxm, sxn), (som, son) = (
        data.draw(st.sampled_from([(columns + 2, 1), (1, rows), (2 * columns, 2)])) for _ in range(2)
    )
    x, o = drawn(400, dtype=dtype), drawn(400, dtype=dtype, seed=1)
    before = o.copy()
    left = compared(
        interpreter, "views", -(-rows // 4), x, o, rows, columns, sxm, sxn, som, son, low, high, every,
        tolerance=0, boards=[board], engines=("auto", "python"), BM=4, BN=32,
    )  # fmt: skip
    for r in range(rows):
        for c in range(max(0, low), columns):
            if r <= high and (every == 1 or (r + c) % every):
                v = x[r * sxm + c * sxn]
                before[r * som + c * son] = v + v if v > 0 else v - dtype(1)

    assert before.tobytes() == left[1].tobytes()
