"""Reference and theory of mutual_information_backward, written from the recursion.

The argument of the exponential is formed in float32, in the order of the definition, because the
clamp, the absorption of px beside -1e30 and the test for a finite argument are float32 statements.
Everything after it is float64 limited to the range of float32: a value that would become infinity or
zero in float32 does so here too.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlusim.operators.spec import Arrays, Params, Theory

Array = np.ndarray[Any, Any]
Box = tuple[int, int, int, int]

LARGE_NEGATIVE = np.float32(-1.0e30)  # smaller values of p count as this
FLOPS_TERM = 7  # two for the argument, five for a safe exponential
FLOPS_NOT_FINITE = 3  # operations that an exponential of a non-finite argument omits


def device(inputs: Arrays, params: Params) -> dict[str, Array]:
    """Return the gradients with every step in float32, as on a device with another order of instructions than mlusim's."""
    return _gradients(inputs, params, np.float32, np.float32, np.float32)


def reference(inputs: Arrays, params: Params) -> dict[str, Array]:
    """Compute the gradients of px and py, and ans_grad after the call.

    *inputs*: px [B, S, T+1], py [B, S+1, T], p [B, S+1, T+1], ans_grad [B], all float32, and
    optionally opt_boundary [B, 4] int64.  *params*: overwrite_ans_grad.
    Returns px_grad like px, py_grad like py, and ans_grad [B], which differs from the input only if
    it is overwritten.  A batch with an inverted boundary has zero gradients and keeps its ans_grad.
    """
    return _gradients(inputs, params, np.float32, np.float64, np.float32)


def _gradients(inputs: Arrays, params: Params, argument: Any, inner: Any, result: Any) -> dict[str, Array]:
    """Return the gradients, given the types of the exponentials' arguments, of the steps after them, and of the outputs."""
    px, py, p = inputs["px"], inputs["py"], inputs["p"]
    ans_grad = np.array(inputs["ans_grad"], result)
    px_grad, py_grad = np.zeros(px.shape, result), np.zeros(py.shape, result)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for b, box in enumerate(boxes(inputs)):
            s0, t0, s1, t1 = box
            if s0 > s1 or t0 > t1:
                continue
            term1, term2 = (safe_exp(x, inner) for x in arguments(px[b], py[b], p[b], box, argument))
            g = lattice(term1, term2, float(ans_grad[b]), inner)
            px_grad[b, s0:s1, t0 : t1 + 1] = g[1:] * term1
            py_grad[b, s0 : s1 + 1, t0:t1] = g[:, 1:] * term2
            if params["overwrite_ans_grad"]:
                ans_grad[b] = g[0, 0]
    return {"px_grad": px_grad, "py_grad": py_grad, "ans_grad": ans_grad}


def theory(inputs: Arrays, params: Params) -> Theory:
    """Count operations by the vendor's rule, and bytes of all inputs and outputs.

    The vendor counts while its CPU baseline runs: clamped cells add one operation, non-finite arguments
    subtract three, and an inverted boundary still counts its empty edges.
    A zero-element call (B = 0, or S = 0 and T = 0) does nothing and counts nothing.
    """
    px, py, p = inputs["px"], inputs["py"], inputs["p"]
    if px.size == 0 and py.size == 0:
        return Theory(ops=0, ios=0)
    overwritten = int(bool(params["overwrite_ans_grad"]))
    ops = 0
    with np.errstate(over="ignore", invalid="ignore"):
        for b, box in enumerate(boxes(inputs)):
            ops += _flops(px[b], py[b], p[b], box, overwritten) + px[b].size + py[b].size
    outputs = px.nbytes + py.nbytes + inputs["ans_grad"].nbytes
    return Theory(ops=ops, ios=outputs + sum(a.nbytes for a in inputs.values() if a is not None))


def boxes(inputs: Arrays) -> list[Box]:
    """List the region of every batch as (s0, t0, s1, t1), ends included; by default the whole lattice."""
    boundary = inputs.get("opt_boundary")
    if boundary is None:
        batches, rows, columns = inputs["p"].shape
        return [(0, 0, rows - 1, columns - 1)] * batches
    return [(int(s0), int(t0), int(s1), int(t1)) for s0, t0, s1, t1 in boundary]


def arguments(px: Array, py: Array, p: Array, box: Box, kind: Any = np.float32) -> tuple[Array, Array]:
    """Form the arguments of both exponentials over the region: p + px - p below, p + py - p to the right.

    For a region of (s, t) cells the shapes are (s - 1, t) and (s, t - 1); of type *kind*.
    """
    s0, t0, s1, t1 = box
    q = p[s0 : s1 + 1, t0 : t1 + 1].astype(kind)
    q = np.where(q < LARGE_NEGATIVE, kind(LARGE_NEGATIVE), q)
    below = (q[:-1] + px[s0:s1, t0 : t1 + 1]) - q[1:]
    right = (q[:, :-1] + py[s0 : s1 + 1, t0:t1]) - q[:, 1:]
    return below, right


def safe_exp(x: Array, kind: Any = np.float64) -> Array:
    """Take the exponential in *kind*, or 0 where *x* is not finite or float32 cannot hold the result."""
    y = _in_float32_range(np.exp(x.astype(kind)))
    return np.where(np.isfinite(x) & np.isfinite(y), y, kind(0.0))


def lattice(term1: Array, term2: Array, last: float, kind: Any = np.float64) -> Array:
    """Compute the gradient of p over a region, from *last* back.

    ``g(s,t) = g(s+1,t) * term1(s,t) + g(s,t+1) * term2(s,t)``

    The recursion is computed without limits first; if a product or a sum leaves the range of float32, it is computed
    again with every step limited to that range.
    """
    line = 1 in (term2.shape[0], term1.shape[1])
    g = _along(term1, term2, last, kind) if line else _recursion(term1, term2, last, kind, lambda x: x)
    steps = (g, g[1:] * term1, g[:, 1:] * term2)
    if all(np.array_equal(x, _in_float32_range(x), equal_nan=True) for x in steps):
        return g
    return _recursion(term1, term2, last, kind, _in_float32_range)


def _along(term1: Array, term2: Array, last: float, kind: Any) -> Array:
    """Return the recursion of `lattice` for a single row or column: one product after another."""
    rows, columns = term2.shape[0], term1.shape[1]
    factors = (term1[:, 0] if columns == 1 else term2[0])[::-1].astype(kind)
    products = np.multiply.accumulate(np.concatenate((np.array([last], kind), factors)))
    line: Array = products[::-1] + kind(0.0)  # as if the zeros beside the line were added
    return line.reshape(rows, columns)


def _recursion(
    term1: Array, term2: Array, last: float, kind: Any, rounded: Callable[[Array], Array]
) -> Array:
    """Return the recursion of `lattice` with *rounded* applied to each product and sum.

    The arrays are flattened with one spare row and column of zeros, so that a missing neighbour
    contributes 0 and the cells of an anti-diagonal lie a constant step apart.
    """
    rows, columns = term2.shape[0], term1.shape[1]
    width = columns + 1
    padded = np.zeros((3, rows + 1, width), kind)
    g, down, right = (a.reshape(-1) for a in padded)
    padded[1, : rows - 1, :columns] = term1
    padded[2, :rows, : columns - 1] = term2
    padded[0, rows - 1, columns - 1] = last
    for d in range(rows + columns - 3, -1, -1):
        top, bottom = max(0, d - columns + 1), min(d, rows - 1)
        start, stop = d + top * columns, d + bottom * columns + 1
        cells = slice(start, stop, columns)
        around = g[
            start + 1 : stop + width : columns
        ]  # the next frame of each cell; of the last, its next symbol too
        g[cells] = rounded(rounded(around[1:] * down[cells]) + rounded(around[:-1] * right[cells]))
    return padded[0, :rows, :columns]


def _in_float32_range(x: Array) -> Array:
    """Return float64 *x*, but infinite or zero where float32 would be."""
    single = x.astype(np.float32)
    return np.where(np.isinf(single) | (single == 0), single, x)


def _flops(px: Array, py: Array, p: Array, box: Box, overwritten: int) -> int:
    """Count the operations of one batch, without the full-size products at the end."""
    s0, t0, s1, t1 = box
    s, t = s1 - s0, t1 - t0
    if s < 0 or t < 0:
        return 1 + max(s, 0) + max(t, 0)
    q = p[s0 : s1 + 1, t0 : t1 + 1]
    clamped = int(np.count_nonzero(q < LARGE_NEGATIVE))
    lost = sum(int(np.count_nonzero(~np.isfinite(x))) for x in arguments(px, py, p, box))
    terms = FLOPS_TERM * (s * (t + 1) + (s + 1) * t) - FLOPS_NOT_FINITE * lost
    return (s + 1) * (t + 1) + clamped + terms + 1 + s + t + 3 * s * t + overwritten
