"""The cases of mutual_information_backward: limits of the plan, gaps of the document, results."""

import numpy as np
import pytest

from mlusim.host import Status
from ops.mutual_information_backward.cases import CASES, FAMILIES, GAPS, largest_t, plan_floats
from ops.mutual_information_backward.reference import reference, theory

TALLEST = "fits_mlu370_s81917_t0"  # as many anti-diagonals
SUCCESS, NOT_SUPPORTED = Status.MLUOP_STATUS_SUCCESS, Status.MLUOP_STATUS_NOT_SUPPORTED
COMPUTED = [case for case in CASES if case.status == SUCCESS and case.name != TALLEST]
SIZED = [case for case in CASES if not case.name.startswith("refused")]
FORWARD = [case for case in COMPUTED if case.name.startswith(("network", "forward", "fits"))]


def document_admits(s, t, capacity):
    """Apply the scale limit as the document prints it."""
    terms = t * (s + 1) + (t + 1) * s
    return terms + 5 * t <= capacity and terms + (t + 1) * (s + 1) + 3 * min(s, t) + 1 <= capacity


def largest_admitted(s, capacity):
    """Find the largest T that the document admits with *s* symbols, or -1, by bisection."""
    low, high = -1, capacity
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if document_admits(s, middle, capacity) else (low, middle - 1)
    return low


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_gaps_are_all_there_are(family):
    """The listed shapes are every one that the document admits and the plan cannot hold."""
    _, capacity = FAMILIES[family]

    found = {
        (s, t)
        for s in range(capacity // 2 + 1)
        for t in range(max(0, largest_admitted(s, capacity) - 4), largest_admitted(s, capacity) + 1)
        if plan_floats(s, t) > capacity
    }

    assert found == set(GAPS[family])
    assert {"mlu370": 11, "mlu590": 22}[family] == len(GAPS[family])


@pytest.mark.parametrize(
    ("family", "s", "t"),
    [
        *(("mlu370", s, t) for s, t in [(0, 27305), (1, 20479), (3, 13652), (9, 5647), (232, 233)]),
        *(("mlu590", s, t) for s, t in [(0, 16383), (1, 12287), (4, 7019), (179, 180), (180, 179)]),
    ],
)
def test_largest_lattices(family, s, t):
    """The search finds these, worked out from the regions of the plan, and the next ones overflow."""
    boards, capacity = FAMILIES[family]
    chosen = {case.name: case for case in CASES}

    fits = chosen[f"fits_{family}_s{s}_t{t}"]
    past, gap = (chosen.get(f"{kind}_{family}_s{s}_t{t + 1}") for kind in ("past", "gap"))
    beyond = past or gap

    assert t == largest_t(s, capacity)
    assert (boards, boards) == (fits.boards, beyond.boards)
    assert fits.status == SUCCESS
    assert beyond.status == NOT_SUPPORTED


@pytest.mark.parametrize("case", SIZED, ids=lambda case: case.name)
def test_cases_say_the_status_that_their_size_asks_for(case):
    """A case that succeeds fits the plan of each of its boards; one that is too large fits none."""
    inputs, _ = case.make(np.random.default_rng(7))
    s, t = inputs["px"].shape[1], inputs["py"].shape[2]
    fits = [plan_floats(s, t) <= capacity for boards, capacity in FAMILIES.values() if meets(case, boards)]

    assert [case.status == SUCCESS] * len(fits) == fits


def meets(case, boards):
    """Tell whether the case runs on one of *boards*."""
    return not case.boards or bool(set(case.boards) & set(boards))


@pytest.mark.parametrize("case", COMPUTED, ids=lambda case: case.name)
def test_cases_are_repeatable_and_have_a_result(case):
    """The same generator gives the same inputs, and each output has the shape of what it belongs to."""
    inputs, params = case.make(np.random.default_rng(7))
    again, _ = case.make(np.random.default_rng(7))
    result = reference(inputs, params)

    assert all(np.array_equal(inputs[name], again[name], equal_nan=True) for name in inputs)
    for name, like in [("px_grad", "px"), ("py_grad", "py"), ("ans_grad", "ans_grad")]:
        assert (inputs[like].shape, np.float32) == (result[name].shape, result[name].dtype)
    finite = all(np.isfinite(array).all() for array in result.values())
    assert finite == (not case.name.startswith("ans_grad_") and case.name != "zoo_1")


@pytest.mark.parametrize("case", FORWARD, ids=lambda case: case.name)
def test_a_forward_pass_gives_ans_grad_back(case):
    """With p from the forward pass, the gradient of the first cell is the one of the last."""
    inputs, params = case.make(np.random.default_rng(7))

    result = reference(inputs, params)

    np.testing.assert_allclose(result["ans_grad"], inputs["ans_grad"], rtol=1e-3)


def test_names_are_unique():
    """No two cases share a name."""
    names = [case.name for case in CASES]

    assert len(names) == len(set(names))


def test_theory_of_the_test_zoo():
    """The first case of the vendor's test zoo has these counts."""
    counted = theory(*next(case for case in CASES if case.name == "zoo_1").make(np.random.default_rng(0)))

    expected = (631910, 648752)
    assert expected == (counted.ops, counted.ios)
