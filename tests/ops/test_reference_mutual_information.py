"""The reference of mutual_information_backward against its definition, finite differences and hand."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ops.mutual_information_backward.inputs import forward, lattice_of_log_probabilities, single
from ops.mutual_information_backward.reference import reference, theory

F32 = np.float32
# Exponentials of these are between e**-5 and e**5, or 0, or overflow: no product is near the ends of float32.
FINITE = st.integers(-12, 12).map(lambda eighths: eighths / 8)
ANYTHING = st.one_of(FINITE, st.sampled_from([np.nan, np.inf, -np.inf, -2e30, -1e30, 200.0, -200.0]))


def by_definition(inputs, overwrite):
    """Walk the recursion cell by cell in float32, counting operations by the vendor's rule."""
    px, py, p, ans_grad = (inputs[name] for name in ("px", "py", "p", "ans_grad"))
    px_grad, py_grad, ans_grad = np.zeros_like(px), np.zeros_like(py), ans_grad.copy()
    ops = 0
    for b, (s0, t0, s1, t1) in enumerate(inputs["opt_boundary"]):
        ops += px[b].size + py[b].size
        if s0 > s1 or t0 > t1:
            ops += 1 + max(s1 - s0, 0) + max(t1 - t0, 0)
            continue
        g = {(s1, t1): ans_grad[b]}
        ops += 1
        for s in range(s1, s0 - 1, -1):
            for t in range(t1, t0 - 1, -1):
                ops += 1 + int(p[b, s, t] < F32(-1e30))
                parts = []
                if s < s1:
                    term, count = safe_exp(clamp(p[b, s, t]) + px[b, s, t] - clamp(p[b, s + 1, t]))
                    px_grad[b, s, t], ops = g[s + 1, t] * term, ops + 2 + count
                    parts.append(px_grad[b, s, t])
                if t < t1:
                    term, count = safe_exp(clamp(p[b, s, t]) + py[b, s, t] - clamp(p[b, s, t + 1]))
                    py_grad[b, s, t], ops = g[s, t + 1] * term, ops + 2 + count
                    parts.append(py_grad[b, s, t])
                if parts:
                    g[s, t], ops = sum(parts[1:], parts[0]), ops + 2 * len(parts) - 1
        if overwrite:
            ans_grad[b], ops = g[s0, t0], ops + 1
    return {"px_grad": px_grad, "py_grad": py_grad, "ans_grad": ans_grad}, ops


def clamp(x):
    """Keep NaN and everything from -1e30 on."""
    below = x < F32(-1e30)
    return F32(-1e30) if below else x


def safe_exp(x):
    """Return the exponential, or 0 for what is not finite before or after it, and its operations."""
    if not np.isfinite(x):
        return F32(0), 2
    y = np.exp(x)
    return (y if np.isfinite(y) else F32(0)), 5


@st.composite
def calls(draw, values=ANYTHING):
    """Draw up to three batches of up to 4 x 4 cells, with any legal or inverted boundary."""
    b, s, t = draw(st.integers(1, 3)), draw(st.integers(0, 4)), draw(st.integers(0, 4))
    shapes = {"px": (b, s, t + 1), "py": (b, s + 1, t), "p": (b, s + 1, t + 1), "ans_grad": (b,)}
    inputs = {}
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        inputs[name] = np.array(draw(st.lists(values, min_size=size, max_size=size)), F32).reshape(shape)
    corner = st.tuples(st.integers(0, s), st.integers(0, t), st.integers(0, s), st.integers(0, t))
    inputs["opt_boundary"] = np.array([draw(corner) for _ in range(b)], np.int64)
    return inputs, {"overwrite_ans_grad": draw(st.booleans())}


@given(calls())
@settings(max_examples=300, deadline=None)
def test_it_is_the_definition(call):
    """Any values, NaN and infinite too, and any boundary give what the recursion gives cell by cell."""
    inputs, params = call

    with np.errstate(all="ignore"):
        expected, _ = by_definition(inputs, params["overwrite_ans_grad"])
    result = reference(inputs, params)

    for name, array in expected.items():
        np.testing.assert_allclose(result[name], array, rtol=2e-5, err_msg=name)


@given(calls())
@settings(max_examples=200, deadline=None)
def test_theory_is_what_the_walk_counts(call):
    """The closed form equals the operations counted on the way, and bytes are inputs plus outputs."""
    inputs, params = call
    with np.errstate(all="ignore"):
        _, ops = by_definition(inputs, params["overwrite_ans_grad"])
    gradients = [inputs[name].nbytes for name in ("px", "py", "ans_grad")]
    ios = sum(array.nbytes for array in inputs.values()) + sum(gradients)
    nothing = inputs["px"].size + inputs["py"].size == 0

    counted = theory(inputs, params)

    assert ((0, 0) if nothing else (ops, ios)) == (counted.ops, counted.ios)


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


def slope(total, array, cell, step=1e-4):
    """Take the central difference of *total* () with respect to one element of *array*."""
    middle = array[cell]
    array[cell] = middle + step
    above = total()
    array[cell] = middle - step
    below = total()
    array[cell] = middle
    return (above - below) / (2 * step)


@pytest.mark.parametrize(("s", "t"), [(1, 1), (3, 2), (2, 4), (0, 3), (3, 0)])
def test_gradients_are_the_slopes_of_the_forward(s, t):
    """Central differences of the log-domain forward give px_grad and py_grad."""
    rng = np.random.default_rng(s * 10 + t)
    px, py = rng.normal(-1, 1, (s, t + 1)), rng.normal(-1, 1, (s + 1, t))
    inputs, params = single(px, py, log_sum(px, py), 1.5)

    result = reference(inputs, params)

    total = lambda: 1.5 * log_sum(px, py)[-1, -1]  # noqa: E731
    for array, gradient in [(px, result["px_grad"][0]), (py, result["py_grad"][0])]:
        expected = [slope(total, array, cell) for cell in np.ndindex(*array.shape)]

        np.testing.assert_allclose(gradient.reshape(-1), expected, rtol=2e-5, atol=1e-6)


def test_gradients_inside_a_boundary_are_slopes_too():
    """With a boundary, the forward of the region alone decides, and outside every gradient is 0."""
    rng = np.random.default_rng(5)
    inputs, params = lattice_of_log_probabilities(
        rng, b=1, s=5, t=6, boundary=[[1, 2, 4, 5]], ans_grad=1.0, outside=np.nan
    )
    px, py = inputs["px"][0, 1:4, 2:6].astype(float), inputs["py"][0, 1:5, 2:5].astype(float)
    total = lambda: log_sum(px, py)[-1, -1]  # noqa: E731

    result = reference(inputs, params)

    by_px = np.zeros((5, 7))
    by_px[1:4, 2:6] = np.reshape([slope(total, px, cell) for cell in np.ndindex(*px.shape)], px.shape)
    by_py = np.zeros((6, 6))
    by_py[1:5, 2:5] = np.reshape([slope(total, py, cell) for cell in np.ndindex(*py.shape)], py.shape)
    np.testing.assert_allclose(result["px_grad"][0], by_px, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(result["py_grad"][0], by_py, rtol=2e-5, atol=1e-6)


@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_the_forward_of_the_cases_is_the_log_sum(s, t, seed):
    """Anti-diagonals of a flattened lattice give what the walk over its cells gives."""
    rng = np.random.default_rng(seed)
    px, py = rng.normal(-1, 2, (s, t + 1)), rng.normal(-1, 2, (s + 1, t))

    np.testing.assert_allclose(forward(px, py), log_sum(px, py), rtol=1e-12, atol=1e-12)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_every_anti_diagonal_carries_the_whole_gradient(s, t, seed):
    """A path crosses each anti-diagonal once, so the gradients leaving it add up to ans_grad."""
    inputs, params = lattice_of_log_probabilities(np.random.default_rng(seed), b=1, s=s, t=t)

    result = reference(inputs, params)

    flow = np.zeros((s + 1, t + 1))
    flow[:s] += result["px_grad"][0]
    flow[:, :t] += result["py_grad"][0]
    sums = [np.trace(flow[::-1], offset=d - s) for d in range(s + t)]
    np.testing.assert_allclose(sums, [inputs["ans_grad"][0]] * (s + t), rtol=1e-4)
    np.testing.assert_allclose(result["ans_grad"], inputs["ans_grad"], rtol=1e-4)


@pytest.mark.parametrize(("s", "t"), [(1, 1), (2, 2), (5, 6), (0, 4), (4, 0)])
def test_zeros_give_binomial_coefficients(s, t):
    """When every term is 1, the gradient of p counts the paths to the end."""
    inputs, params = single(np.zeros((s, t + 1)), np.zeros((s + 1, t)), np.zeros((s + 1, t + 1)), 1.0)

    result = reference(inputs, params)

    paths = np.array([[comb(s - i + t - j, t - j) for j in range(t + 1)] for i in range(s + 1)])
    assert paths[1:].tolist() == result["px_grad"][0].tolist()
    assert paths[:, 1:].tolist() == result["py_grad"][0].tolist()
    assert [comb(s + t, s)] == result["ans_grad"].tolist()


def test_two_paths_share_the_gradient():
    """Paths of probability 1/8 and 3/8 take 1/4 and 3/4 of it, worked out by hand."""
    px, py = np.log([[3 / 4, 1 / 4]]), np.log([[1 / 2], [1 / 2]])
    inputs, params = single(px, py, np.log([[1, 1 / 2], [3 / 4, 1 / 2]]), 2.0)

    result = reference(inputs, params)

    np.testing.assert_allclose(result["px_grad"][0], [[1.5, 0.5]], rtol=1e-6)
    np.testing.assert_allclose(result["py_grad"][0], [[0.5], [1.5]], rtol=1e-6)


def row(p, py, ans_grad=1.0):
    """Run a lattice without symbols (S = 0) and give py_grad."""
    columns = len(p)
    inputs, params = single(np.zeros((0, columns)), np.array([py]), np.array([p]), ans_grad)
    return reference(inputs, params)["py_grad"][0, 0].tolist()


@pytest.mark.parametrize(
    ("p", "py", "expected"),
    [
        ([-np.inf, -np.inf], [-3.0], [1.0]),  # both clamped: py is absorbed, the argument is 0
        ([-np.inf, 0.0], [0.0], [0.0]),  # exp of -1e30
        ([0.0, -np.inf], [0.0], [0.0]),  # exp overflows
        ([np.nan, 0.0], [0.0], [0.0]),
        ([0.0, np.nan], [0.0], [0.0]),
        ([np.inf, np.inf], [0.0], [0.0]),
        ([0.0, np.inf], [0.0], [0.0]),  # the argument is minus infinity: no exponential at all
        ([0.0, 0.0], [88.8], [0.0]),  # exp overflows in float32 although not in float64
        ([0.0, 0.0, 0.0], [-np.inf, 0.0], [0.0, 1.0]),
        ([-np.inf, -np.inf, 0.0], [0.0, 0.0], [0.0, 0.0]),  # term2 is [1, 0]
    ],
)
def test_safe_exponential(p, py, expected):
    """The filter acts on argument and result of the exponential, after p is clamped."""
    result = row(p, py)

    assert expected == result


def test_products_are_not_filtered():
    """An infinite gradient times a term of 0 is NaN, and stays."""
    result = row([0.0, 0.0, 0.0], [-np.inf, 0.0], ans_grad=np.inf)

    assert np.isnan(result[0])
    assert np.isinf(result[1])


@pytest.mark.parametrize(("sign", "expected"), [(1, np.inf), (-1, 0.0)])
def test_intermediate_results_have_the_range_of_float32(sign, expected):
    """What overflows or vanishes on the way stays so, even where the last factor would bring it back."""
    result = row([0.0] * 4, [-80.0 * sign, 80.0 * sign, 80.0 * sign])

    assert [expected, expected] == result[:2]
    np.testing.assert_allclose(result[2], np.exp(80.0 * sign), rtol=1e-6)


def test_an_inverted_boundary_writes_zeros_and_keeps_ans_grad():
    """Both gradients of that batch are 0 and its ans_grad is not overwritten; the others are computed."""
    inputs, params = lattice_of_log_probabilities(np.random.default_rng(0), b=3, s=3, t=4)
    inputs["opt_boundary"] = np.array([[2, 0, 1, 4], [0, 0, 3, 4], [0, 3, 3, 2]])
    inputs["p"][1, 0, 0] += 1.0

    result = reference(inputs, params)

    computed = [False, True, False]
    assert computed == (result["ans_grad"] != inputs["ans_grad"]).tolist()
    assert computed == [bool(result["px_grad"][b].any()) for b in range(3)]
    assert computed == [bool(result["py_grad"][b].any()) for b in range(3)]


def test_ans_grad_is_overwritten_only_on_request():
    """A p that no forward produced changes ans_grad, if it is overwritten, and never the input."""
    inputs, _ = single(np.zeros((1, 2)), np.zeros((2, 1)), np.zeros((2, 2)), 1.0)

    kept = reference(inputs, {"overwrite_ans_grad": False})["ans_grad"]
    overwritten = reference(inputs, {"overwrite_ans_grad": True})["ans_grad"]

    given_value, paths = [1.0], [2.0]
    assert given_value == kept.tolist()
    assert paths == overwritten.tolist()
    assert given_value == inputs["ans_grad"].tolist()


@pytest.mark.parametrize(("s", "t"), [(0, 3), (4, 0)])
def test_one_empty_gradient_is_still_a_call(s, t):
    """S = 0 or T = 0 alone is computed: the only path takes the whole gradient."""
    inputs, params = lattice_of_log_probabilities(np.random.default_rng(1), b=2, s=s, t=t, ans_grad=1.0)

    result = reference(inputs, params)

    assert [2 * s, 2 * t] == [result["px_grad"].size, result["py_grad"].size]
    np.testing.assert_allclose(
        np.concatenate([result["px_grad"], result["py_grad"]], axis=None), 1.0, rtol=1e-5
    )


def test_theory_of_the_examples():
    """The network scale with overwriting, without a boundary, has these counts (worked out by hand)."""
    inputs, params = lattice_of_log_probabilities(np.random.default_rng(1), b=4, s=15, t=104)

    counted = theory(inputs, params)

    expected = (4 * (20 * 15 * 104 + 10 * (15 + 104) + 3), 130560)
    assert expected == (counted.ops, counted.ios)
