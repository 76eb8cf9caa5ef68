"""tin_shift: the reference against the definition, the document's drawing, and the cases."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, strategies as st

from mlusim.host import Status
from mlusim.operators.accuracy import bit_equal
from mlusim.operators.spec import Case, Theory
from ops.tin_shift.cases import BACKWARD_CASES, FORWARD_CASES
from ops.tin_shift.reference import reference, shifted, theory

NAMES = [case.name for case in FORWARD_CASES]


def named(name: str, cases: tuple[Case, ...] = FORWARD_CASES) -> Case:
    """Return the case of that name."""
    return next(case for case in cases if case.name == name)


def by_definition(data: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Move one element at a time."""
    result = np.zeros_like(data)
    for n, t, c, hw in np.ndindex(data.shape):
        to = t + int(shifts[n, c // (data.shape[2] // shifts.shape[1])])
        if 0 <= to < data.shape[1]:
            result[n, to, c, hw] = data[n, t, c, hw]
    return result


@given(st.data())
def test_agrees_with_the_definition(data: st.DataObject) -> None:
    """Whole groups moved at once equal elements moved one by one, bit for bit."""
    batch, frames, groups, each, width = (data.draw(st.integers(1, top)) for top in (3, 6, 3, 3, 3))
    moves = st.integers(-2 * frames, 2 * frames) | st.sampled_from([-(2**31), 2**31 - 1])
    shifts = np.array(data.draw(st.lists(moves, min_size=batch * groups, max_size=batch * groups)), np.int32)
    shifts = shifts.reshape(batch, groups)
    bits = np.random.default_rng(data.draw(st.integers(0, 99))).integers(
        0, 1 << 16, (batch, frames, groups * each, width), np.uint16
    )

    assert bit_equal(by_definition(bits, shifts).view(np.float16), shifted(bits.view(np.float16), shifts))


def test_golden_of_the_document() -> None:
    """The drawing: two channels move left by one, two stay, two move right by two; zeros come in."""
    inputs, params = named("golden_document").make(np.random.default_rng(0))
    expected = [
        [21, 22, 13, 14, 0, 0],
        [31, 32, 23, 24, 0, 0],
        [41, 42, 33, 34, 15, 16],
        [51, 52, 43, 44, 25, 26],
        [61, 62, 53, 54, 35, 36],
        [0, 0, 63, 64, 45, 46],
    ]

    assert expected == reference(inputs, params)["output"][0, :, :, 0].tolist()


def test_backward_moves_the_same_way() -> None:
    """Backward is the same movement under other names, not the adjoint."""
    inputs, params = named("golden_document").make(np.random.default_rng(0))
    backward = {"grad_output": inputs["input"], "shifts": inputs["shifts"]}

    assert bit_equal(reference(inputs, params)["output"], reference(backward, params)["grad_input"])
    assert theory(inputs, params) == theory(backward, params)


def test_nan_payloads_survive() -> None:
    """Every half there is comes out with its bits."""
    data = np.arange(1 << 16, dtype=np.uint16).view(np.float16).reshape(1, 1, 1, -1)

    assert bit_equal(data, shifted(data, np.zeros((1, 1), np.int32)))


@pytest.mark.parametrize(
    ("cases", "width", "expected"),
    [(FORWARD_CASES, 45435, (32713200, 130852896)), (BACKWARD_CASES, 262144, (188743680, 754974816))],
)
def test_network_scale(cases: tuple[Case, ...], width: int, expected: tuple[int, int]) -> None:
    """The vendor's scales: published counts, right frames, and no memory but the two tensors."""
    case = named(f"network_3x15x16x{width}_half", cases)
    tracemalloc.start()
    inputs, params = case.make(np.random.default_rng(1))
    (result,) = reference(inputs, params).values()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    data = next(iter(inputs.values()))

    assert Theory(*expected) == theory(inputs, params)
    assert peak < 2.01 * data.nbytes
    assert bit_equal(data[0, :1, 0], result[0, 14:, 0])
    assert bit_equal(data[2, :, 2:4], result[2, :, 2:4])
    assert not result[1, :, 4:6].any()
    assert not case.long


@pytest.mark.parametrize("cases", [FORWARD_CASES, BACKWARD_CASES])
def test_names_are_unique(cases: tuple[Case, ...]) -> None:
    """A case is run by its name."""
    assert len(cases) == len({case.name for case in cases})


@pytest.mark.parametrize("name", [name for name in NAMES if "network" not in name])
def test_a_case_makes_the_same_legal_inputs_from_its_seed(name: str) -> None:
    """A case makes the same inputs from the same seed, in both directions, and a good one is legal."""
    case = named(name)
    inputs, params = case.make(np.random.default_rng(7))
    again, _ = case.make(np.random.default_rng(7))
    other, _ = named(name, BACKWARD_CASES).make(np.random.default_rng(7))
    data, shifts = inputs["input"], inputs["shifts"]

    assert all(bit_equal(inputs[key], again[key]) for key in inputs)
    assert bit_equal(data, other["grad_output"])
    if case.status is Status.MLUOP_STATUS_SUCCESS:
        assert (4, 2, 0) == (data.ndim, shifts.ndim, data.shape[2] % shifts.shape[1])
        assert data.shape[0] == shifts.shape[0]
        assert (data.shape, data.dtype) == (reference(inputs, params)["output"].shape, data.dtype)


@pytest.mark.parametrize(("board", "nram"), [("MLU370-X4", 655360), ("MLU590-H8", 393216)])
def test_limit_cases_straddle_each_cut(board: str, nram: int) -> None:
    """For each type there is a channel and a frame that just fits, and one that just does not."""
    for size in (2, 4):
        shapes = [
            inputs["input"].shape
            for inputs, _ in (c.make(np.random.default_rng(0)) for c in FORWARD_CASES if board in c.boards)
            if inputs["input"].itemsize == size
        ]
        channels = {frames * width * size for _, frames, _, width in shapes}
        frames = {width * size for _, _, _, width in shapes}

        assert nram in channels
        assert any(nram < n <= nram + 2 * size for n in channels)
        assert {nram, nram + size} <= frames
