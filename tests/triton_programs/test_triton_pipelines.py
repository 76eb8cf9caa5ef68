"""With two stages or more loops load ahead and store behind: the same results, in more NRAM and less time."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("triton")
import pipelined_kernels as kernels
import triton_kernels
from hypothesis import given, settings, strategies as st

import mlusim.triton
from mlusim.engine.preference import preferring
from mlusim.errors import Remark

CHECKERS = ["memcheck", "initcheck", "racecheck", "synccheck"]
BOARDS = ("MLU370-X4", "MLU590-H8")


def drawn(*shape, dtype=np.float32, seed=0):
    """Return normal numbers."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def both(kernel, grid, make, out, board, engine="python", **named):
    """Return the launches with one stage and with three; the results of argument *out* are the same, and nothing is found."""
    results, launches = [], []
    for stages in (1, 3):
        arguments = make()
        with preferring(engine):
            launches.append(
                mlusim.triton.run(
                    kernel, (grid,), *arguments, board=board, observe=CHECKERS, num_stages=stages, **named
                )
            )
        results.append(arguments[out].tobytes())

    assert results[0] == results[1]
    assert [(), ()] == [one.findings for one in launches]
    return launches


@settings(max_examples=3, deadline=None)
@given(
    rows=st.integers(0, 9),
    columns=st.integers(1, 70),
    grid=st.integers(1, 3),
    dtype=st.sampled_from([np.float16, np.float32]),
    board=st.sampled_from(BOARDS),
)
def test_rows_are_the_same(rows, columns, grid, dtype, board):
    """Of any number, none and one among them, with tails."""

    def make():
        return [np.zeros((rows + 1, columns), dtype), drawn(rows + 1, columns, dtype=dtype), rows, columns]

    both(triton_kernels.softmax, grid, make, 0, board, BM=2, BN=128)
    both(kernels.copied, grid, make, 0, board, B=128)


def test_products_are_the_same():
    """Pointers that move on, rows of the other axis, what a loop carries, and filters in WRAM."""
    m, n, k = 20, 70, 40
    a, right = drawn(m, k, dtype=np.float16), drawn(n, k, dtype=np.float16)
    sizes = {"BM": 32, "BN": 64, "BK": 16, "G": 1}
    q, key, v = (drawn(40, 32, dtype=np.float16, seed=seed) for seed in range(3))
    attention = {"D": 32, "BM": 32, "BN": 16, "CAUSAL": True}

    def factors():
        return [a, right, np.zeros((m, n), np.float16), m, n, k, k, 1, 1, k]

    both(triton_kernels.matmul, 2, factors, 2, BOARDS[0], **sizes)
    both(
        triton_kernels.attention,
        2,
        lambda: [q, key, v, np.zeros_like(q), 40, 0.125],
        3,
        BOARDS[1],
        **attention,
    )


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("engine", ["python", "auto"])
def test_time_overlaps(board, engine):
    """Copies run beside what is computed, in about twice the NRAM."""
    x = drawn(64, 1000)
    make = lambda: [np.zeros_like(x), x, 64, 1000]  # noqa: E731
    serial, early = both(kernels.heavy, 4, make, 0, board, engine, B=1024)

    assert early.time_us < 0.8 * serial.time_us
    assert serial.memory["NRAM"].high_water < early.memory["NRAM"].high_water


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (kernels.followed, "where it loads depends on what it loads or computes"),
        (kernels.in_place, "it stores to what it loads"),
        (kernels.counted, r"write it as `for \.\.\. in range\(\.\.\.\)`"),
    ],
)
def test_a_loop_that_cannot_says_why(kernel, reason):
    """At its line, in a warning; the result is that of one stage."""
    lines = Path(kernels.__file__).read_text().splitlines()
    first = next(n for n, line in enumerate(lines, 1) if f"def {kernel.__name__}(" in line)
    line = next(n for n in range(first, len(lines)) if re.match(r" +(for|while) ", lines[n])) + 1
    x, order = np.arange(40, dtype=np.float32), np.random.default_rng(0).permutation(40).astype(np.int32)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        both(kernel, 1, lambda: [x.copy(), order, np.zeros(40, np.float32), 40], 0, "MLU370-X4", B=16)
    told = [str(one.message) for one in caught if issubclass(one.category, Remark)]

    assert [True] == [bool(re.search(rf":{line}: with num_stages 3: .*{reason}$", one)) for one in told]
