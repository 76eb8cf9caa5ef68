"""The reference of three_interpolate_backward against its definition, and its cases."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mlusim.host import Status
from ops.three_interpolate_backward.cases import CASES, NETWORK
from ops.three_interpolate_backward.reference import reference, theory

LARGE = ("case_7", "case_4_half", "case_7_half", "case_10_half")
SMALL = [c for c in CASES if not c.long and c.status == Status.MLUOP_STATUS_SUCCESS and c.name not in LARGE]
VALUES = st.one_of(st.integers(-8, 8).map(float), st.sampled_from([np.nan, np.inf, -np.inf]))


def by_definition(inputs, m):
    """Sum with plain loops: one product after another."""
    grad, indices, weights = (inputs[name] for name in ("grad_output", "indices", "weights"))
    out = np.zeros((*grad.shape[:2], m))
    for b, c, n in np.ndindex(*grad.shape):
        for j in range(3):
            cell = indices[b, n, j]
            if 0 <= cell < m:
                out[b, c, cell] += float(grad[b, c, n]) * float(weights[b, n, j])
    return out.astype(grad.dtype)


@st.composite
def calls(draw, values=VALUES):
    """Draw a small call: exact values, or such that are not finite, and any indices."""
    b, c, n, m = (draw(st.integers(1, top)) for top in (2, 4, 6, 5))
    dtype = draw(st.sampled_from([np.float16, np.float32]))
    pick = lambda shape: draw(st.lists(values, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))  # noqa: E731
    index = st.integers(-2, m + 1)
    cells = draw(st.lists(index, min_size=b * n * 3, max_size=b * n * 3))
    inputs = {
        "grad_output": np.array(pick((b, c, n)), dtype).reshape(b, c, n),
        "indices": np.array(cells, np.int32).reshape(b, n, 3),
        "weights": np.array(pick((b, n, 3)), dtype).reshape(b, n, 3),
    }
    return inputs, m


@given(calls())
@settings(max_examples=150, deadline=None)
def test_it_is_the_definition(call):
    """Exact values give the exact sum, and NaN and infinity reach the cells that name them only."""
    inputs, m = call

    with np.errstate(invalid="ignore"):
        expected = by_definition(inputs, m)

    result = reference(inputs, {"m": m})["grad_features"]

    assert inputs["grad_output"].dtype == result.dtype
    np.testing.assert_array_equal(expected, result)


@given(calls(values=st.integers(-8, 8).map(float)))
@settings(max_examples=60, deadline=None)
def test_it_is_the_adjoint_of_the_interpolation(call):
    """The scatter and the gather are adjoint: <scatter(g), f> = <g, gather(f)> for every f."""
    inputs, m = call
    grad, indices, weights = (inputs[name] for name in ("grad_output", "indices", "weights"))
    features = np.arange(grad.shape[0] * grad.shape[1] * m, dtype=np.float64).reshape(*grad.shape[:2], m)
    padded = np.concatenate([features, np.zeros((*grad.shape[:2], 1))], axis=2)
    cells = np.where((indices >= 0) & (indices < m), indices, m)
    gathered = np.stack([(padded[b][:, cells[b]] * weights[b]).sum(axis=2) for b in range(len(grad))])

    scattered = reference({**inputs, "grad_output": grad.astype(np.float32)}, {"m": m})["grad_features"]

    assert np.sum(grad * gathered) == np.sum(scattered * features)


def test_the_case_by_hand():
    """Three points and two channels, summed by hand."""
    inputs, params = next(c for c in CASES if c.name == "by_hand").make(np.random.default_rng(0))

    expected = [[[0.5 + 1 + 0, 0.25 + 2 + 4 + 1.5, 0.25 + 3], [-0.5 + 0 + 0, -0.25 + 0 + 2, -0.25 + 4]]]

    assert expected == reference(inputs, params)["grad_features"].tolist()


def test_half_sums_are_rounded_once():
    """2048 + 1 + 1 is 2050 in half when it is rounded at the end, and 2048 when after every term."""
    inputs = {
        "grad_output": np.ones((1, 1, 1), np.float16),
        "indices": np.zeros((1, 1, 3), np.int32),
        "weights": np.array([[[2048, 1, 1]]], np.float16),
    }

    expected = 2050.0

    assert expected == reference(inputs, {"m": 1})["grad_features"].item()


def test_sums_beyond_the_range_are_infinite():
    """A sum that half cannot hold becomes infinite, without a warning."""
    inputs = {
        "grad_output": np.full((1, 2, 1), 60000, np.float16),
        "indices": np.array([[[0, 0, 2]]], np.int32),
        "weights": np.ones((1, 1, 3), np.float16),
    }

    expected = [[[np.inf, 0, 60000]] * 2]

    assert expected == reference(inputs, {"m": 3})["grad_features"].tolist()


@pytest.mark.parametrize(("name", "ops", "ios"), [("zoo_1", 589824, 205824), ("zoo_2", 958464, 559104)])
def test_theory_of_the_test_zoo(name, ops, ios):
    """The two cases of the vendor's test zoo have these published counts."""
    counted = theory(*next(c for c in CASES if c.name == name).make(np.random.default_rng(0)))

    assert (ops, ios) == (counted.ops, counted.ios)


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_cases_are_repeatable_and_have_a_result(case):
    """The same generator gives the same inputs, and the reference gives [B, C, M] of their dtype."""
    inputs, params = case.make(np.random.default_rng(7))
    again, _ = case.make(np.random.default_rng(7))
    result = reference(inputs, params)["grad_features"]

    assert all(np.array_equal(inputs[name], again[name], equal_nan=name != "indices") for name in inputs)
    assert (*inputs["grad_output"].shape[:2], params["m"]) == result.shape
    assert inputs["grad_output"].dtype == result.dtype
    not_finite = any(word in case.name for word in ("nan_w", "nan_g", "infinities"))
    assert (not_finite and "out_of_range" not in case.name) == (not np.isfinite(result).all())


def test_names_are_unique_and_the_document_is_complete():
    """Twenty scales of the document in both types, five of them refused, and no two cases share a name."""
    names = Counter(case.name for case in CASES)
    zero = {case.name: case.status for case in CASES if case.group == "zero"}
    types = ("", "_half")
    refused = (*(f"case_{n}{t}" for n in range(11, 16) for t in types), "no_channels")

    assert {1} == set(names.values())
    assert all(f"case_{number}{t}" in names for number in range(1, 21) for t in types)
    assert dict.fromkeys(refused, Status.MLUOP_STATUS_BAD_PARAM) == zero
    assert list(range(1, 11)) == list(NETWORK)


def test_the_documents_example_leaves_the_last_column_zero():
    """Indices drawn below M - 1 never name the last feature."""
    make = next(c for c in CASES if c.name == "document_example").make
    features = reference(*make(np.random.default_rng(3)))["grad_features"]

    assert not features[:, :, -1].any()
    assert features[:, :, :-1].all()


def test_weights_of_other_cells_do_not_leak():
    """NaN and infinite weights change the three cells they name, and no other."""
    make = next(c for c in CASES if c.name == "nan_weights_of_other_tiles").make
    features = reference(*make(np.random.default_rng(3)))["grad_features"]

    expected = [(0, 0), (0, 1500), (0, 2999)]
    touched = ~np.isfinite(features)

    assert expected == [(int(b), int(m)) for b, m in np.argwhere(touched.any(axis=1))]
    assert np.isnan(features[0, :, 0]).all()
