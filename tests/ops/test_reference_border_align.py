"""border_align_backward: the reference against the definition, the document's example, the cases."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from mlusim.host import Status
from mlusim.operators.accuracy import bit_equal, judge
from mlusim.operators.spec import Case, Theory, Thresholds
from ops.border_align_backward.cases import CASES
from ops.border_align_backward.reference import reference, theory

NAMES = [case.name for case in CASES]
# Twice the gradient of one call, [C, H, W] of the framework: the document called the operator twice.
PRINTED = (
    ((0, 4, 24, 48), (0, 12, 0, 0), (0, 0, 0, 0)),
    ((24, 56, 0, 0), (0, 0, 0, 0), (96, 18, 22, 0)),
    ((0, 0, 0, 0), (0, 0, 6, -6), (0, -4, -2, -6)),
    ((0, -2, 16, 12), (0, 0, 0, 0), (0, -4, 0, 0)),
)


def named(name: str) -> Case:
    """Return the case of that name."""
    return next(case for case in CASES if case.name == name)


def made(name: str, seed: int = 0) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Return the inputs and parameters of the case of that name."""
    return named(name).make(np.random.default_rng(seed))


def axis(at: float, size: int) -> tuple[int, int, float]:
    """Return the cells before and after a coordinate and the part between, as the definition says."""
    at = max(at, 0.0)
    if int(at) >= size - 1:
        return size - 1, size - 1, 0.0
    return int(at), int(at) + 1, at - int(at)


def by_definition(inputs: dict[str, np.ndarray], params: dict[str, int]) -> np.ndarray:
    """Walk all points of all borders, as the board does, and add one tap at a time."""
    grads, boxes, picks = inputs["grad_output"], inputs["boxes"], inputs["argmax_idx"]
    images, count, _, channels = grads.shape
    height, width, pool = params["height"], params["width"], params["pool_size"]
    kind = boxes.dtype.type
    total = np.zeros((images, height, width, 4 * channels))
    for n, k, border in np.ndindex(images, count, 4):
        x0, y0, x1, y1 = boxes[n, k]
        strides = (((x1 - x0) / kind(pool), 0), (0, (y1 - y0) / kind(pool)))[border % 2]
        for point in range(pool + 1):
            step = kind(point) if border < 2 else -kind(point)
            x, y = (
                float((x0, x1)[border // 2] + strides[0] * step),
                float((y0, y1)[border // 2] + strides[1] * step),
            )
            if not (-1 <= y <= height and -1 <= x <= width):
                continue
            (yl, yh, ly), (xl, xh, lx) = axis(y, height), axis(x, width)
            taps = (
                (yl, xl, (1 - ly) * (1 - lx)),
                (yl, xh, (1 - ly) * lx),
                (yh, xl, ly * (1 - lx)),
                (yh, xh, ly * lx),
            )
            for c in np.flatnonzero(picks[n, k, border] == point):
                for yy, xx, weight in taps:
                    total[n, yy, xx, border * channels + c] += float(grads[n, k, border, c]) * weight
    return total.astype(grads.dtype)


@given(st.data())
def test_agrees_with_the_definition(data: st.DataObject) -> None:
    """Boxes in quarters of a pixel, on, in and around the features, in both types."""
    height, width, channels, pool = (data.draw(st.integers(1, top)) for top in (3, 3, 3, 4))
    dtype = data.draw(st.sampled_from([np.float16, np.float32]))
    count = height * width

    def drawn(values: st.SearchStrategy[float], *shape: int) -> np.ndarray:
        size = math.prod(shape)
        return np.array(data.draw(st.lists(values, min_size=size, max_size=size))).reshape(shape)

    inputs = {
        "grad_output": drawn(st.integers(-8, 8), 1, count, 4, channels).astype(dtype),
        "boxes": (drawn(st.integers(-6, 18), 1, count, 4) / 4).astype(dtype),
        "argmax_idx": drawn(st.integers(-1, pool + 1), 1, count, 4, channels).astype(np.int32),
    }
    params = {"pool_size": pool, "height": height, "width": width}
    expected = by_definition(inputs, params).astype(np.float64)

    assert np.allclose(expected, reference(inputs, params)["grad_input"], rtol=2e-3, atol=1e-5)


@pytest.mark.parametrize(
    "name", ["edges_half", "far_outside_float", "half_wide", "argmax_out_of_range_half", "infinite_gradients"]
)
def test_cases_agree_with_the_definition(name: str) -> None:
    """The corner cases, NaN and infinities included."""
    inputs, params = made(name)
    with np.errstate(invalid="ignore"):
        expected = by_definition(inputs, params)
    found = judge(reference(inputs, params)["grad_input"], expected, Thresholds(diff1=1e-6, diff2=1e-6))

    assert found.passed
    assert found.diff3_2 < 2e-3


@pytest.mark.parametrize("label", ["float", "half"])
def test_golden_of_the_document(label: str) -> None:
    """Twice one call is what the document prints."""
    inputs, params = made(f"golden_document_{label}")
    result = reference(inputs, params)["grad_input"]

    assert np.array_equal(np.array([PRINTED]), 2 * result.transpose(0, 3, 1, 2))


def test_zero_weight_taps_leak_infinity() -> None:
    """On a whole pixel, or past the last cell, three taps weigh nothing: infinity times zero is NaN there."""
    inputs = {
        "grad_output": np.full((1, 9, 4, 1), 0, np.float32),
        "boxes": np.ones((1, 9, 4), np.float32),
        "argmax_idx": np.zeros((1, 9, 4, 1), np.int32),
    }
    inputs["grad_output"][0, 0, 0, 0] = np.inf
    result = reference(inputs, {"pool_size": 1, "height": 3, "width": 3})["grad_input"][0, :, :, 0]
    at_the_end = inputs | {"boxes": np.full((1, 9, 4), 2.5, np.float32)}
    last = reference(at_the_end, {"pool_size": 1, "height": 3, "width": 3})["grad_input"][0, :, :, 0]

    assert result[1, 1] == np.inf
    assert [(1, 2), (2, 1), (2, 2)] == list(zip(*np.nonzero(np.isnan(result)), strict=True))
    assert [(2, 2)] == list(zip(*np.nonzero(np.isnan(last)), strict=True))


def test_unsampled_channels_add_nothing() -> None:
    """NaN in a channel whose argmax is out of range reaches no cell."""
    inputs, params = made("nan_in_unsampled_channels")

    assert np.isnan(inputs["grad_output"]).any()
    assert np.isfinite(reference(inputs, params)["grad_input"]).all()
    assert not reference(*made("never_sampled_half"))["grad_input"].any()


@pytest.mark.parametrize("step", [-1, 1])
def test_argmax_is_compared_as_an_integer(step: int) -> None:
    """2049 and 2048 are one half number but two points: only the one in range contributes."""
    inputs, params = made("half_large_argmax")
    inputs["argmax_idx"][:] = 2048 if step < 0 else 2049
    result = reference(inputs, params | {"pool_size": 2048})["grad_input"]

    assert result.any() == (step < 0)


def test_half_coordinates_are_quantised() -> None:
    """At 290.1 a half coordinate is 290: the point falls on a cell and has no part in the next."""
    wide = {
        "grad_output": np.ones((1, 300, 4, 1), np.float16),
        "boxes": np.tile(np.array([290.1, 0, 290.1, 0], np.float16), (1, 300, 1)),
        "argmax_idx": np.zeros((1, 300, 4, 1), np.int32),
    }
    result = reference(wide, {"pool_size": 1, "height": 1, "width": 300})["grad_input"]

    assert [290] * 4 == np.nonzero(result)[2].tolist()


@given(st.integers(0, 1000), st.integers(-4, 4))
def test_is_linear(seed: int, factor: int) -> None:
    """A power of two times the gradient gives that power of two times the result, exactly."""
    inputs, params = made("far_outside_float", seed)
    scaled = inputs | {"grad_output": inputs["grad_output"] * np.float32(2.0**factor)}

    assert bit_equal(
        reference(inputs, params)["grad_input"] * np.float32(2.0**factor),
        reference(scaled, params)["grad_input"],
    )


def test_gradient_is_conserved() -> None:
    """The four weights of a point sum to one, so nothing is lost from boxes that lie inside."""
    inputs, params = made("network_2x950x4x256_float")
    result = reference(inputs, params)["grad_input"].astype(np.float64)

    assert np.allclose(
        inputs["grad_output"].astype(np.float64).sum(axis=1).reshape(2, -1),
        result.sum(axis=(1, 2)),
        atol=1e-3,
    )


def test_theory_of_the_vendor() -> None:
    """The published counts, with the vendor's division by four; below four channels no operations."""
    assert Theory(26880, 434560) == theory(*made("vendor_1x70x4x129"))
    assert 0 == theory(*made("random_document_3x5x4x1_half")).ops


def test_names_are_unique() -> None:
    """A case is run by its name."""
    assert len(CASES) == len(set(NAMES))


@pytest.mark.parametrize("name", NAMES)
def test_a_case_makes_the_same_legal_inputs_from_its_seed(name: str) -> None:
    """A case makes the same inputs from the same seed, and a good one is a legal call."""
    case = named(name)
    inputs, params = made(name, 5)
    again, _ = made(name, 5)

    assert all(bit_equal(inputs[key], again[key]) for key in inputs)
    if case.status is Status.MLUOP_STATUS_SUCCESS:
        images, count, borders, channels = inputs["grad_output"].shape
        height, width = params["height"], params["width"]
        assert (count, 4) == (height * width, borders)
        assert (images, count, 4) == inputs["boxes"].shape
        assert inputs["grad_output"].shape == inputs["argmax_idx"].shape
        assert (images, height, width, 4 * channels) == reference(inputs, params)["grad_input"].shape


@pytest.mark.parametrize(
    ("board", "label", "expected"),
    [
        ("MLU370-X4", "float", 32736),
        ("MLU370-X4", "half", 54592),
        ("MLU590-H8", "float", 19648),
        ("MLU590-H8", "half", 32704),
    ],
)
def test_limit_cases_straddle_a_pass(board: str, label: str, expected: int) -> None:
    """The channels of a full pass are the document's deal_num."""
    channels = [
        made(f"pass_{name}_{label}_{board}")[0]["grad_output"].shape[3]
        for name in ("less", "full", "full_and_one", "two")
    ]

    assert [expected - 1, expected, expected + 1, 2 * expected] == channels
