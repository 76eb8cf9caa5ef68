"""dynamic_scatter_backward: the reference against the definition, a call by hand, and the cases."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from mlusim.host import Status
from mlusim.operators.accuracy import bit_equal
from mlusim.operators.spec import Case, Theory
from ops.dynamic_scatter_backward.cases import BOARDS, CASES
from ops.dynamic_scatter_backward.reference import reference, theory

NAMES = [case.name for case in CASES]


def named(name: str) -> Case:
    """Return the case of that name."""
    return next(case for case in CASES if case.name == name)


def made(name: str, seed: int = 0) -> tuple[dict[str, np.ndarray], dict[str, object]]:
    """Return the inputs and parameters of the case of that name."""
    return named(name).make(np.random.default_rng(seed))


def by_definition(inputs: dict[str, np.ndarray]) -> np.ndarray:
    """Look for the first point of each voxel and channel, one element at a time."""
    feats, maxima, grads = inputs["feats"], inputs["voxel_feats"], inputs["grad_voxel_feats"]
    result = np.zeros_like(feats)
    for m, c in np.ndindex(int(inputs["voxel_num"][0]), feats.shape[1]):
        for n, voxel in enumerate(inputs["point2voxel_map"]):
            if voxel == m and feats[n, c] == maxima[m, c]:
                result[n, c] = grads[m, c]
                break
    return result


VALUES = st.sampled_from([0.0, -0.0, 1.0, 2.0, np.inf, -np.inf, np.nan])


@given(st.data())
def test_agrees_with_the_definition(data: st.DataObject) -> None:
    """Few values, many ties, points without voxel: assignment in bulk equals the search."""
    points, width = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 3))
    rows = data.draw(st.integers(1, points))
    voxels = data.draw(st.integers(0, rows))
    floats = [
        np.array(data.draw(st.lists(VALUES, min_size=n * width, max_size=n * width)), np.float32).reshape(
            n, width
        )
        for n in (points, rows, rows)
    ]
    voxel_of = data.draw(st.lists(st.integers(-1, voxels - 1), min_size=points, max_size=points))
    inputs = {
        "feats": floats[0],
        "voxel_feats": floats[1],
        "grad_voxel_feats": floats[2],
        "point2voxel_map": np.array(voxel_of, np.int32),
        "voxel_points_count": np.zeros(rows, np.int32),
        "voxel_num": np.array([voxels], np.int32),
    }

    assert bit_equal(by_definition(inputs), reference(inputs, {"reduce_type": "max"})["grad_feats"])


def test_golden_by_hand() -> None:
    """Ties go to the first point, NaN to no point, zeros of both signs are equal, padding is ignored."""
    inputs, params = made("golden_by_hand")
    expected = [[0, 20], [10, 0], [0, 0], [0, 0], [0, 40], [50, 60]]

    assert expected == reference(inputs, params)["grad_feats"].tolist()
    assert [3, 1, 1, 0] == inputs["voxel_points_count"].tolist()


def test_padded_rows_are_ignored() -> None:
    """Rows past voxel_num that hold the features of real points give no gradient."""
    inputs, params = made("padded_rows_match")
    shorter = inputs | {name: inputs[name][:6] for name in ("grad_voxel_feats", "voxel_feats")}

    assert bit_equal(reference(shorter, params)["grad_feats"], reference(inputs, params)["grad_feats"])


def test_voxel_of_nan_gets_nothing() -> None:
    """A channel whose points are all NaN is dropped; NaN beside numbers changes nothing."""
    inputs, params = made("voxel_of_nan")
    gradient = reference(inputs, params)["grad_feats"]
    voxel_of = inputs["point2voxel_map"]

    assert not gradient[voxel_of == 1].any()
    assert (5, 5) == tuple(np.count_nonzero(gradient[voxel_of == v]) for v in (0, 2))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("vendor_34x34x5", (340, 2996)), ("network_17176x13743x128", (3957632, 31784736))],
)
def test_network_scale(name: str, expected: tuple[int, int]) -> None:
    """The published counts; and every gradient of a voxel in use arrives once."""
    inputs, params = made(name)
    gradient = reference(inputs, params)["grad_feats"]
    voxels = int(inputs["voxel_num"][0])

    assert Theory(*expected) == theory(inputs, params)
    assert np.array_equal(
        np.sort(inputs["grad_voxel_feats"][:voxels], axis=0),
        np.sort(np.where(gradient == 0, np.inf, gradient), axis=0)[:voxels],
    )


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
        (points, width), rows = inputs["feats"].shape, len(inputs["voxel_feats"])
        assert rows <= points
        assert inputs["voxel_feats"].shape == inputs["grad_voxel_feats"].shape == (rows, width)
        assert -1 <= inputs["point2voxel_map"].min(initial=0)
        assert inputs["point2voxel_map"].max(initial=-1) < inputs["voxel_num"][0] <= rows
        assert (points, width) == reference(inputs, params)["grad_feats"].shape


@pytest.mark.parametrize(("board", "each"), [("MLU370-X4", 6), ("MLU590-H8", 3)])
def test_limit_cases_straddle_a_pass(board: str, each: int) -> None:
    """With the full pass each core holds exactly what fits; the widest row leaves no byte for one more."""
    nram, cores = BOARDS[board]
    full, width = made(f"pass_full_{board}")[0]["feats"].shape
    more = made(f"pass_full_and_one_{board}")[0]["feats"].shape[0]
    widest = made(f"widest_{board}")[0]["feats"].shape[1]

    assert (each * cores, (each + 1) * cores) == (full, more)
    assert each * (20 * width + 4) + 4 * width <= nram < (each + 1) * (20 * width + 4) + 4 * width
    assert 24 * widest + 4 <= nram < 24 * (widest + 1) + 4
    assert Status.MLUOP_STATUS_BAD_PARAM is named(f"wider_than_widest_{board}").status
