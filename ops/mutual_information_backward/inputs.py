"""Inputs for the cases of mutual_information_backward, among them a forward pass for p."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .reference import boxes

Array = np.ndarray[Any, Any]
Inputs = dict[str, Array]
Made = tuple[Inputs, dict[str, Any]]
Boundary = Sequence[Sequence[int]] | None


def lattice_of_log_probabilities(
    rng: np.random.Generator,
    *,
    b: int,
    s: int,
    t: int,
    boundary: Boundary = None,
    overwrite: bool = True,
    ans_grad: float | None = None,
    outside: float = 0.0,
) -> Made:
    """Make inputs like those of a network: px and py are log probabilities, p comes from the forward pass.

    In each cell a symbol has odds of about (S + 1) : (T + 1) against a frame, so the whole lattice is
    likely to end in its last cell and p stays moderate at every size.  If *ans_grad* is None, it is drawn;
    *outside* is the value of p, px and py outside the boundary.
    """
    odds = np.log((s + 1) / (t + 1)) + rng.uniform(-1.0, 1.0, (b, s + 1, t + 1))
    inputs = {
        "px": -np.logaddexp(0.0, -odds)[:, :s],
        "py": -np.logaddexp(0.0, odds)[:, :, :t],
        "p": np.full((b, s + 1, t + 1), outside),
        "ans_grad": rng.uniform(0.5, 1.5, b) if ans_grad is None else np.full(b, ans_grad),
    }
    inputs = _typed(inputs, boundary)
    for batch, (s0, t0, s1, t1) in enumerate(boxes(inputs)):
        px, py, p = (inputs[name][batch] for name in ("px", "py", "p"))
        if s0 <= s1 and t0 <= t1:
            rows, columns = slice(s0, s1 + 1), slice(t0, t1 + 1)
            p[rows, columns] = forward(px[s0:s1, columns], py[rows, t0:t1])
            px[:s0], px[s1:], px[:, :t0], px[:, t1 + 1 :] = (outside,) * 4
            py[:s0], py[s1 + 1 :], py[:, :t0], py[:, t1:] = (outside,) * 4
    return inputs, {"overwrite_ans_grad": overwrite}


def uniform(
    rng: np.random.Generator,
    *,
    b: int,
    s: int,
    t: int,
    reach: float,
    boundary: Boundary = None,
    overwrite: bool = True,
) -> Made:
    """Draw every float tensor from U(-reach, reach): no forward pass would give such a p."""
    shapes = {"px": (b, s, t + 1), "py": (b, s + 1, t), "p": (b, s + 1, t + 1), "ans_grad": (b,)}
    inputs = {name: rng.uniform(-reach, reach, shape) for name, shape in shapes.items()}
    return _typed(inputs, boundary), {"overwrite_ans_grad": overwrite}


def zeros(_rng: np.random.Generator, *, b: int, s: int, t: int, boundary: Boundary = None) -> Made:
    """Make zeros of the right shapes, for calls that compute nothing."""
    shapes = {"px": (b, s, t + 1), "py": (b, s + 1, t), "p": (b, s + 1, t + 1), "ans_grad": (b,)}
    inputs = {name: np.zeros(shape) for name, shape in shapes.items()}
    return _typed(inputs, boundary), {"overwrite_ans_grad": True}


def single(px: Array, py: Array, p: Array, ans_grad: float) -> Made:
    """Make one batch from px [S, T+1], py [S+1, T] and p [S+1, T+1]."""
    inputs = {"px": px[None], "py": py[None], "p": p[None], "ans_grad": np.array([ans_grad])}
    return _typed(inputs, None), {"overwrite_ans_grad": True}


def edited(
    rng: np.random.Generator, *, base: Callable[[np.random.Generator], Made], edit: Callable[[Inputs], None]
) -> Made:
    """Make the inputs of *base* and change them in place by *edit*."""
    inputs, params = base(rng)
    edit(inputs)
    return inputs, params


def forward(px: Array, py: Array) -> Array:
    """Compute the log of the summed probabilities of all paths from cell (0, 0), float64 [S+1, T+1].

    ``p(s,t) = log(exp(p(s-1,t) + px(s-1,t)) + exp(p(s,t-1) + py(s,t-1)))``, along anti-diagonals of
    the flattened lattice, which has a spare first row and column of minus infinity.
    """
    rows, columns = py.shape[0], px.shape[1]
    if 1 in (rows, columns):  # one path to each cell
        steps = px[:, 0] if columns == 1 else py[0]
        return np.cumsum(np.concatenate(([0.0], steps)), dtype=np.float64).reshape(rows, columns)
    width = columns + 1
    padded = np.full((3, rows + 1, width), -np.inf)
    p, down, right = (a.reshape(-1) for a in padded)
    padded[1, 2:, 1:], padded[2, 1:, 2:] = px, py
    padded[0, 1, 1] = 0.0
    for d in range(1, rows + columns - 1):
        top, bottom = max(0, d - columns + 1), min(d, rows - 1)
        start = (top + 1) * width + d - top + 1
        stop = (bottom + 1) * width + d - bottom + 2
        cells = slice(start, stop, columns)
        above, left = slice(start - width, stop - width, columns), slice(start - 1, stop - 1, columns)
        p[cells] = np.logaddexp(p[above] + down[cells], p[left] + right[cells])
    return padded[0, 1:, 1:]


def _typed(inputs: Inputs, boundary: Boundary) -> Inputs:
    typed = {name: array.astype(np.float32) for name, array in inputs.items()}
    if boundary is not None:
        typed["opt_boundary"] = np.array(boundary, np.int64)
    return typed
