"""The vendor's metrics: known values, the rules for NaN and infinity, and bounded memory."""

import math
import tracemalloc

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

from mlusim.errors import UsageError
from mlusim.operators.accuracy import PAIRS, Accuracy, bit_equal, judge
from mlusim.operators.spec import Thresholds

LOOSE = Thresholds(diff1=3e-3, diff2=3e-3)
EXACT = Thresholds(diff3=0.0)
INF, NAN = math.inf, math.nan


def f32(*values: float) -> np.ndarray:
    """Return float elements."""
    return np.array(values, np.float32)


def by_definition(o: list[float], r: list[float], floor: float) -> tuple[float, ...]:
    """Compute the five metrics one element at a time."""
    pairs = list(zip(o, r, strict=True))
    diff1 = sum(abs(a - b) for a, b in pairs) / (sum(abs(b) for b in r) + 1e-9)
    diff2 = math.sqrt(sum((a - b) ** 2 for a, b in pairs) / (sum(b * b for b in r) + 1e-9))
    diff3 = max(abs(a - b) if abs(b) < floor else abs(a - b) / (abs(b) + 1e-9) for a, b in pairs)
    unequal = {(a, b) for a, b in pairs if a != b}
    diff4 = sum(a < b for a, b in unequal) / len(unequal) if len(unequal) >= 100 else -1.0
    return diff1, diff2, diff3, max(abs(a - b) for a, b in pairs), diff4


def measured(found: Accuracy) -> tuple[float | None, ...]:
    """Return the five metrics in the order of `by_definition`."""
    return found.diff1, found.diff2, found.diff3, found.diff3_2, found.diff4


def test_known_values() -> None:
    """Four elements whose metrics can be worked out on paper."""
    found = judge(f32(1, 2, 3, 5), f32(1, 2, 4, 4), LOOSE)

    assert (2 / 11, math.sqrt(2 / 37), 1 / 4, 1.0, -1.0) == pytest.approx(measured(found))
    assert (2,) == found.worst_index
    assert not found.passed


def test_threshold_is_inclusive() -> None:
    """An error equal to its threshold passes, the next float below it does not."""
    o, r = f32(1.5), f32(1.0)
    error = judge(o, r, Thresholds()).diff1

    assert judge(o, r, Thresholds(diff1=error)).passed
    assert not judge(o, r, Thresholds(diff1=math.nextafter(error, 0))).passed


@pytest.mark.parametrize(
    ("dtype", "small", "expected"),
    [
        (np.float32, 5e-7, 5e-7),
        (np.float32, 2e-6, 2e-6 / (2e-6 + 1e-9)),
        (np.float16, 5e-5, 5e-5),
        (np.float16, 2e-4, 2e-4 / (2e-4 + 1e-9)),
        (ml_dtypes.bfloat16, 5e-5, 5e-5),
        (np.int32, 3, 3 / (3 + 1e-9)),
        (np.int32, 0, 7e9),
    ],
)
def test_diff3_switches_at_the_floor_of_the_dtype(dtype: type, small: float, expected: float) -> None:
    """Below the floor of its dtype an error counts absolutely, above it relatively."""
    r = np.array([small], dtype)
    o = np.array([7 if small == 0 else 2 * small], dtype)

    assert expected == pytest.approx(judge(o, r, EXACT).diff3, rel=5e-3)


@given(st.data())
def test_agrees_with_the_definition(data: st.DataObject) -> None:
    """The chunked metrics equal those computed one element at a time."""
    value = st.floats(-100, 100, width=16)
    r = data.draw(st.lists(value, min_size=1, max_size=250))
    o = [v + data.draw(st.sampled_from([0.0, 0.0, 0.5, -0.25])) for v in r]
    o, r = np.array(o, np.float32), np.array(r, np.float32)

    assert by_definition(o.tolist(), r.tolist(), 1e-6) == pytest.approx(measured(judge(o, r, LOOSE)))


@pytest.mark.parametrize(("pairs", "expected"), [(99, -1.0), (100, 0.25), (500, 0.25)])
def test_diff4_counts_distinct_pairs(pairs: int, expected: float) -> None:
    """Repeated pairs count once, equal ones never, and below 100 distinct pairs the answer is -1."""
    r = np.arange(pairs, dtype=np.float32)
    o = np.where(np.arange(pairs) % 4 == 0, r - 1, r + 1).astype(np.float32)
    o, r = np.concatenate([o, o, r]), np.concatenate([r, r, r])

    assert expected == judge(o, r, Thresholds(diff4=1.0)).diff4


@pytest.mark.parametrize(("step", "passed"), [(1, False), (-1, False), (0, True)])
def test_diff4_refuses_one_sided_errors(step: int, passed: bool) -> None:
    """Errors that all have one sign fail, whatever the threshold; mixed signs pass."""
    r = np.arange(200, dtype=np.float32)
    errors = np.full(200, step, np.float32) if step else np.tile(f32(1, -1), 100)

    assert passed == judge(r + errors, r, Thresholds(diff4=1.0)).passed


def test_diff4_in_several_walks() -> None:
    """When the pairs do not fit at once they are counted part by part, with the same result."""
    generator = np.random.default_rng(3)
    r = generator.integers(0, 200, PAIRS * 9 // 8).astype(np.float16)
    o = r + generator.integers(-300, 900, r.size).astype(np.float16)
    unequal = np.unique((o.view(np.uint16).astype(np.uint32) << 16 | r.view(np.uint16))[o != r])
    below = (unequal >> 16).astype(np.uint16).view(np.float16) < unequal.astype(np.uint16).view(np.float16)

    assert below.mean() == judge(o, r, Thresholds(diff4=1.0)).diff4
    assert judge(o, r, LOOSE).diff4 is None


@pytest.mark.parametrize("thresholds", [LOOSE, EXACT])
@pytest.mark.parametrize(
    ("o", "r"),
    [((1, NAN), (1, 2)), ((1, 2), (1, NAN)), ((1, INF), (1, -INF)), ((1, INF), (1, NAN)), ((1, 2), (1, INF))],
)
def test_unmatched_nan_or_infinity_fails(o: tuple[float], r: tuple[float], thresholds: Thresholds) -> None:
    """A NaN or an infinity on one side only, or of the other sign, fails under every threshold."""
    found = judge(f32(*o), f32(*r), thresholds)

    assert (False, (1,), INF) == (found.passed, found.worst_index, found.diff1)


def test_matched_infinity_leaves_values_unjudged_above_zero() -> None:
    """With a threshold above zero matching positions are enough; the note says so."""
    found = judge(f32(NAN, INF, -INF, 1), f32(NAN, INF, -INF, 2), LOOSE)

    assert found.passed
    assert "positions" in found.note
    assert (3,) == found.worst_index


def test_matched_infinity_counts_as_zero_under_threshold_zero() -> None:
    """With a threshold of zero the finite values are still judged."""
    assert judge(f32(NAN, INF, 0.0), f32(-NAN, INF, -0.0), EXACT).passed
    assert not judge(f32(NAN, INF, 1.0), f32(NAN, INF, 2.0), EXACT).passed


def test_nan_payloads() -> None:
    """NaN with other payload bits match in value; only `bit_equal` tells them apart."""
    a = np.array([0x7E01, 0x3C00], np.uint16).view(np.float16)
    b = np.array([0xFE02, 0x3C00], np.uint16).view(np.float16)

    assert bit_equal(a, a.copy())
    assert not bit_equal(a, b)
    assert (True, "equal in value, not in bits") == (judge(a, b, EXACT).passed, judge(a, b, EXACT).note)
    assert (True, "") == (judge(a, a.copy(), EXACT).passed, judge(a, a.copy(), EXACT).note)


def test_bit_equal_looks_at_shape_dtype_and_bits() -> None:
    """Equal values of another shape, dtype or sign of zero are not equal bits."""
    a = np.zeros((2, 3), np.float32)

    assert bit_equal(a, a.copy())
    assert bit_equal(a.T, np.zeros((3, 2), np.float32))
    assert not bit_equal(a, a.reshape(3, 2))
    assert not bit_equal(a, a.astype(np.float16))
    assert not bit_equal(a, -a)


def test_integers_are_exact() -> None:
    """Neighbouring 64-bit integers, equal in float64, differ; so do opposite ends of the range."""
    big = np.array([2**63 - 1, -(2**63)], np.int64)

    assert not judge(big - np.array([1, 0]), big, EXACT).passed
    assert 2.0**64 == judge(big, big[::-1].copy(), EXACT).diff3_2


def test_worst_index_is_many_dimensional() -> None:
    """The index of the largest difference has one entry per dimension, strides or not."""
    r = np.zeros((3, 4, 5), np.float32)
    o = r.copy()
    o[2, 1, 3], o[0, 0, 1] = -9, 8

    assert (2, 1, 3) == judge(o, r, LOOSE).worst_index
    assert (3, 1, 2) == judge(o.T, r.T, LOOSE).worst_index


def test_empty_and_unjudged() -> None:
    """No elements pass; and without a threshold nothing can fail."""
    empty = np.zeros((0, 4), np.float32)

    assert Accuracy(0.0, 0.0, 0.0, 0.0, -1.0, passed=True) == judge(empty, empty.copy(), EXACT)
    assert judge(f32(1), f32(NAN), Thresholds()).passed


def test_shapes_must_agree() -> None:
    """Another shape is a mistake of the caller, told in one sentence."""
    with pytest.raises(UsageError, match=r"shape \(2,\) against shape \(3,\)"):
        judge(f32(1, 2), f32(1, 2, 3), LOOSE)


@pytest.mark.parametrize("wrong", [0, 1, 1 << 23])
def test_temporaries_are_bounded(wrong: int) -> None:
    """8 Mi half elements, equal, nearly equal or all wrong, need less than 64 MiB on top."""
    r = np.random.default_rng(0).integers(0, 1 << 14, 1 << 23, np.uint16).view(np.float16)
    o = r.copy()
    o[:wrong] += np.float16(1)
    tracemalloc.start()
    found = judge(o, r, Thresholds(diff3=0.0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert (wrong == 0) == found.passed
    assert peak < 64 << 20
