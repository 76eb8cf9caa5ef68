"""mutual_information_backward on the simulated boards: cases, finite differences, schedules, use."""

import re

import numpy as np
import pytest
from bangc_twins import NATIVE
from hypothesis import given, settings, strategies as st

import ops
from mlusim import BLOCK, DEFAULT_BOARDS
from mlusim.errors import StatusError, UsageError
from mlusim.host import Status
from mlusim.operators.registry import find_operator
from mlusim.operators.runner import run_case
from ops.mutual_information_backward.inputs import lattice_of_log_probabilities, single, uniform
from ops.mutual_information_backward.reference import reference

NAME = "mutual_information_backward"
OPERATOR = find_operator(NAME)
SUCCESS = Status.MLUOP_STATUS_SUCCESS


RUNS = [
    pytest.param(case, board, id=f"{case.name}-{board}")
    for case in OPERATOR.cases
    for board in DEFAULT_BOARDS
    if not case.boards or board in case.boards
]
SIZED = re.compile(r"fits_\w+_s(\d+)_t(\d+)")
MANY = 10_000  # anti-diagonals, each a turn of the kernel's loop


def diagonals(case):
    """The anti-diagonals of a limit case, 0 of any other."""
    sizes = SIZED.fullmatch(case.name)
    return sum(map(int, sizes.groups())) + 1 if sizes else 0


@pytest.mark.parametrize(("case", "board"), RUNS)
def test_a_case_has_its_status_and_accuracy(case, board):
    """Each case gives the expected status and, computed, all three outputs; many diagonals in BANG C."""
    run = run_case(OPERATOR, case, board=board, engine=NATIVE if diagonals(case) > MANY else "auto")

    assert case.status == run.status, run.message
    assert run.passed, run.accuracy
    launched = run.status == SUCCESS and case.group != "zero"
    assert launched == bool(run.launches)
    assert (set(OPERATOR.thresholds) if run.status == SUCCESS else set()) == set(run.accuracy)


NUMBERS = st.one_of(
    st.integers(-12, 12).map(lambda eighths: eighths / 8),
    st.sampled_from([np.nan, np.inf, -np.inf, -2e30, -1e30, 200.0, -200.0]),
)


@st.composite
def calls(draw):
    """Draw up to three batch entries of up to 4 x 4 cells, with any legal or inverted boundary, or none."""
    b, s, t = draw(st.integers(1, 3)), draw(st.integers(0, 4)), draw(st.integers(0, 4))
    shapes = {"px": (b, s, t + 1), "py": (b, s + 1, t), "p": (b, s + 1, t + 1), "ans_grad": (b,)}
    inputs = {}
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        drawn = draw(st.lists(NUMBERS, min_size=size, max_size=size))
        inputs[name] = np.array(drawn, np.float32).reshape(shape)
    if draw(st.booleans()):
        corner = st.tuples(st.integers(0, s), st.integers(0, t), st.integers(0, s), st.integers(0, t))
        inputs["opt_boundary"] = np.array([draw(corner) for _ in range(b)], np.int64)
    return inputs, {"overwrite_ans_grad": draw(st.booleans())}


@given(calls())
@settings(max_examples=150, deadline=None)
def test_it_is_the_reference(call):
    """Any values, NaN and infinity among them, and any boundary give what the definition gives, element by element."""
    inputs, params = call

    run = ops.run(NAME, inputs, params)

    for name, expected in reference(inputs, params).items():
        np.testing.assert_allclose(run.outputs[name], expected, rtol=1e-4, err_msg=name)


def log_sum(px, py):
    """Sum the probabilities of all paths in the log domain, cell by cell; px [S, T+1], py [S+1, T]."""
    p = np.full((py.shape[0], px.shape[1]), -np.inf)
    p[0, 0] = 0.0
    for s, t in np.ndindex(*p.shape):
        if s:
            p[s, t] = np.logaddexp(p[s, t], p[s - 1, t] + px[s - 1, t])
        if t:
            p[s, t] = np.logaddexp(p[s, t], p[s, t - 1] + py[s, t - 1])
    return p


def slopes(array, total, step=1e-4):
    """Central differences of *total* () with respect to every element of *array*, in its shape."""
    found = np.zeros(array.shape)
    for cell in np.ndindex(*array.shape):
        middle = array[cell]
        array[cell] = middle + step
        above = total()
        array[cell] = middle - step
        found[cell] = (above - total()) / (2 * step)
        array[cell] = middle
    return found


@pytest.mark.parametrize("board", DEFAULT_BOARDS)
@pytest.mark.parametrize(("s", "t"), [(1, 1), (3, 2), (2, 6), (5, 4), (0, 3), (3, 0)])
def test_gradients_are_the_slopes_of_the_forward(s, t, board):
    """Finite differences of an independent forward, the sum over all paths in the log domain, give both gradients."""
    rng = np.random.default_rng(s * 10 + t)
    px, py = rng.normal(-1, 1, (s, t + 1)), rng.normal(-1, 1, (s + 1, t))
    inputs, params = single(px, py, log_sum(px, py), 1.5)

    run = ops.run(NAME, inputs, params, board=board)

    total = lambda: 1.5 * log_sum(px, py)[-1, -1]  # noqa: E731
    np.testing.assert_allclose(run.outputs["px_grad"][0], slopes(px, total), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(run.outputs["py_grad"][0], slopes(py, total), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(run.outputs["ans_grad"], [1.5], rtol=1e-5)


def test_gradients_inside_a_boundary_are_slopes():
    """With a boundary the region's own forward decides, and outside every gradient is 0."""
    inputs, params = lattice_of_log_probabilities(
        np.random.default_rng(5), b=1, s=5, t=6, boundary=[[1, 2, 4, 5]], ans_grad=1.0, outside=np.nan
    )
    px, py = inputs["px"][0, 1:4, 2:6].astype(float), inputs["py"][0, 1:5, 2:5].astype(float)

    run = ops.run(NAME, inputs, params)

    total = lambda: log_sum(px, py)[-1, -1]  # noqa: E731
    by_px, by_py = np.zeros((5, 7)), np.zeros((6, 6))
    by_px[1:4, 2:6], by_py[1:5, 2:5] = slopes(px, total), slopes(py, total)
    np.testing.assert_allclose(run.outputs["px_grad"][0], by_px, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(run.outputs["py_grad"][0], by_py, rtol=1e-4, atol=1e-5)


def same_bits(left, right):
    """Assert that two runs have the same outputs to the bit."""
    for name in OPERATOR.thresholds:
        assert left.outputs[name].tobytes() == right.outputs[name].tobytes()


SMALL = lattice_of_log_probabilities(
    np.random.default_rng(3), b=3, s=3, t=4, boundary=[[0, 0, 3, 4], [1, 0, 3, 3], [2, 2, 1, 4]]
)


@pytest.mark.parametrize("seed", range(50))
def test_every_schedule_gives_the_same_bits(seed):
    """Batch entries are independent and every copy is blocking: no schedule can tell."""
    same_bits(ops.run(NAME, *SMALL), ops.run(NAME, *SMALL, seed=seed))


def test_eager_effects_give_the_same_bits():
    """Nothing is asynchronous, so it does not matter when effects land."""
    same_bits(ops.run(NAME, *SMALL), ops.run(NAME, *SMALL, effects="eager"))


@pytest.mark.parametrize("board", DEFAULT_BOARDS)
@pytest.mark.parametrize("b", [1, 5, 31, 32, 33, 47, 48, 49, 100])
def test_batch_entries_are_shared_out(b, board):
    """A Block launch of one task an entry, up to the cores of the board; entries do not know of each other."""
    inputs, params = uniform(np.random.default_rng(b), b=b, s=2, t=3, reach=1.0)
    one, _ = uniform(np.random.default_rng(b), b=b, s=2, t=3, reach=1.0)
    last = {name: array[-1:] for name, array in one.items()}

    run = ops.run(NAME, inputs, params, board=board, reference=True)
    alone = ops.run(NAME, last, params, board=board)

    cores = {"MLU370-X4": 32, "MLU590-H8": 48}[board]
    assert run.passed
    assert [((1, min(b, cores), 1), BLOCK.name)] == [(la.dim, la.kind) for la in run.launches]
    for name in OPERATOR.thresholds:
        assert alone.outputs[name].tobytes() == run.outputs[name][-1:].tobytes()


def test_use_as_in_the_contract():
    """Run by name on arrays: outputs, launches and efficiency; ans_grad of the caller stays as it was."""
    inputs, _ = lattice_of_log_probabilities(np.random.default_rng(1), b=4, s=15, t=104, ans_grad=1.0)
    inputs["p"][:, 0, 0] += 1.0
    before = inputs["ans_grad"].copy()

    run = ops.run(NAME, inputs, {"overwrite_ans_grad": True}, board="MLU370-X4", reference=True)
    kept = ops.run(NAME, inputs, {"overwrite_ans_grad": False}, board="MLU590-H8")

    assert run.status == SUCCESS
    assert run.passed
    assert [(4, 15, 105), (4, 16, 104), (4,)] == [
        run.outputs[n].shape for n in ("px_grad", "py_grad", "ans_grad")
    ]
    assert before.tobytes() == inputs["ans_grad"].tobytes()
    assert before.tobytes() == kept.outputs["ans_grad"].tobytes()
    assert before.tobytes() != run.outputs["ans_grad"].tobytes()
    assert (129572, 130560) == (run.efficiency.theory_ops, run.efficiency.theory_ios)
    assert "MLUKernelMutualInformationBackward" == run.launches[0].kernel


def test_overwriting_is_the_default():
    """As in the framework that the operator comes from, ans_grad is overwritten unless asked otherwise."""
    inputs, params = uniform(np.random.default_rng(2), b=2, s=2, t=2, reach=1.0, overwrite=True)

    same_bits(ops.run(NAME, inputs, params), ops.run(NAME, inputs))


def test_traffic_is_every_byte_once():
    """Without a boundary px, py and the gradients cross once, and inner rows of p are read with both neighbours."""
    B, S, T = 2, 5, 7
    inputs, params = uniform(np.random.default_rng(2), b=B, s=S, t=T, reach=1.0)

    run = ops.run(NAME, inputs, params)

    gradients = 4 * B * (S * (T + 1) + (S + 1) * T)
    assert gradients == run.traffic["NRAM2GDRAM"]
    assert gradients + 4 * B * (2 * S + 1) * (T + 1) == run.traffic["GDRAM2NRAM"]
    assert "GDRAM2GDRAM" not in run.traffic


def test_refusals_name_the_parameter():
    """`ops.run` raises the status and the sentence of the host interface, and knows its own parameters."""
    inputs, _ = uniform(np.random.default_rng(2), b=2, s=2, t=2, reach=1.0)

    with pytest.raises(StatusError, match="py_desc is half; it must be float") as refused:
        ops.run(NAME, inputs | {"py": inputs["py"].astype(np.float16)})
    assert Status.MLUOP_STATUS_NOT_SUPPORTED == refused.value.status
    with pytest.raises(UsageError, match="needs the input 'p'"):
        ops.run(NAME, {name: array for name, array in inputs.items() if name != "p"})
    with pytest.raises(UsageError, match="overwrite_ans_grad = 3 must be of type bool"):
        ops.run(NAME, inputs, {"overwrite_ans_grad": 3})
