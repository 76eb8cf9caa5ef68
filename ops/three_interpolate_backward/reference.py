"""Reference and theory of three_interpolate_backward, written from the sum that defines it."""

from typing import Any

import numpy as np

from mlusim.operators.spec import Arrays, Params, Theory

Array = np.ndarray[Any, Any]


def reference(inputs: Arrays, params: Params) -> dict[str, Array]:
    """Sum grad_output * weight over all points and neighbours that name a cell.

    *inputs*: grad_output [B, C, N] (half or float), indices [B, N, 3] int32, weights [B, N, 3] like
    grad_output.  *params*: m.  Returns grad_features [B, C, m] like grad_output; a cell that no point
    names is 0, and an index outside [0, m - 1] contributes nothing.  Sums are float64, rounded once.
    """
    grad, indices, weights = inputs["grad_output"], inputs["indices"], inputs["weights"]
    m = int(params["m"])
    features = np.zeros((grad.shape[0], grad.shape[1], m), grad.dtype)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for b in range(grad.shape[0]):
            _scatter(features[b], grad[b], indices[b].reshape(-1), weights[b].reshape(-1))
    return {"grad_features": features}


def theory(inputs: Arrays, params: Params) -> Theory:
    """Count nine operations for each element of grad_output, and the bytes of all inputs and the output."""
    grad = inputs["grad_output"]
    features = grad.shape[0] * grad.shape[1] * int(params["m"]) * grad.itemsize
    return Theory(ops=9 * grad.size, ios=features + sum(a.nbytes for a in inputs.values()))


def _scatter(features: Array, grad: Array, cells: Array, weights: Array) -> None:
    """Fill *features* [C, m] from *grad* [C, N], *cells* [3N] and *weights* [3N].

    Each cell is summed separately, so a non-finite value reaches only the cell that its index names.
    """
    m = features.shape[1]
    named = np.flatnonzero((cells >= 0) & (cells < m))
    targets, sources = cells[named].astype(np.intp), named // 3
    factors = weights[named].astype(np.float64)
    for channel, gradient in enumerate(grad):
        features[channel] = np.bincount(targets, gradient.astype(np.float64)[sources] * factors, m)
