"""border_align_backward from its definition, in NumPy, summed in float64 and rounded once.

For box k of image n with corners (x0, y0, x1, y1), w = x1 - x0, h = y1 - y0, pool size P and
i = argmax_idx[n, k, e, c], border e (0 top, 1 left, 2 bottom, 3 right) was sampled at ::

    e = 0: (x0 + i*(w/P), y0)    e = 1: (x0, y0 + i*(h/P))
    e = 2: (x1 - i*(w/P), y1)    e = 3: (x1, y1 - i*(h/P))

and grad_output[n, k, e, c], times the bilinear weight, goes to the four cells around that point in
channel e*C + c of grad_input[n].  i counts P + 1 points; any other i was never sampled and adds
nothing.  Each step of a coordinate rounds to the type of the boxes, as on the board: a half
coordinate above 256 moves in quarters.  i itself is compared as an integer.
"""

from typing import Any

import numpy as np

from mlusim.operators.spec import Arrays, Params, Theory

Array = np.ndarray[Any, Any]

BORDERS = 4


def reference(inputs: Arrays, params: Params) -> dict[str, Array]:
    """Return {"grad_input"}: [N, H, W, 4C] of grad_output's dtype, H and W from *params*.

    `grad_output` and `argmax_idx` are [N, K, 4, C], `boxes` [N, K, 4].  A tap of weight zero still
    adds gradient * 0, so an infinite or NaN gradient makes the cell of every tap NaN or infinite.
    """
    return _gradients(inputs, params, inputs["grad_output"].dtype, np.dtype(np.float64))


def exact(inputs: Arrays, params: Params) -> dict[str, Array]:
    """Return the sums in float64, not rounded; points still lie at coordinates computed in the boxes' type."""
    return _gradients(inputs, params, np.dtype(np.float64), np.dtype(np.float64))


def device(inputs: Arrays, params: Params) -> dict[str, Array]:
    """Return the gradients with weights, products and sums in the type of the gradients, one addition after the other."""
    kind = inputs["grad_output"].dtype
    return _gradients(inputs, params, kind, kind)


def _gradients(inputs: Arrays, params: Params, result: Any, inner: Any) -> dict[str, Array]:
    """Return the gradients in type *result*, with weights and sums in type *inner*."""
    grads, picks = inputs["grad_output"], inputs["argmax_idx"]
    height, width = int(params["height"]), int(params["width"])
    images, _, _, channels = grads.shape
    result = np.empty((images, height, width, BORDERS * channels), result)
    with np.errstate(over="ignore", invalid="ignore"):
        for image in range(images):
            xs, ys = _positions(inputs["boxes"][image], picks[image], int(params["pool_size"]))
            result[image] = _scatter(grads[image], xs, ys, height, width, inner)
    return {"grad_input": result}


def _positions(boxes: Array, picks: Array, pool_size: int) -> tuple[Array, Array]:
    """Return x and y, each float64 [K, 4, C], of the sampled points; NaN where none was sampled."""
    kind = boxes.dtype.type
    low, high = boxes[:, :2], boxes[:, 2:]
    stride = ((high - low) / kind(pool_size)).astype(boxes.dtype)  # per box: along x, along y
    way = picks.astype(boxes.dtype)
    x = np.repeat(boxes[:, (0, 0, 2, 2), None], picks.shape[2], axis=2)
    y = np.repeat(boxes[:, (1, 1, 3, 3), None], picks.shape[2], axis=2)
    x[:, 0] += stride[:, 0, None] * way[:, 0]
    y[:, 1] += stride[:, 1, None] * way[:, 1]
    x[:, 2] += -stride[:, 0, None] * way[:, 2]
    y[:, 3] += -stride[:, 1, None] * way[:, 3]
    x[(picks < 0) | (picks > pool_size)] = np.nan
    return x.astype(np.float64), y.astype(np.float64)


def _scatter(grads: Array, xs: Array, ys: Array, height: int, width: int, kind: Any) -> Array:
    """Return [H, W, 4C], computed in *kind*: gradients [K, 4, C] spread over the cells around their points.

    A point is dropped when it is more than one pixel before the first cell, beyond H or W, or NaN.
    """
    valid = (ys >= -1) & (ys <= height) & (xs >= -1) & (xs <= width)
    _, border, channel = np.nonzero(valid)
    lane = border * grads.shape[2] + channel
    lanes = BORDERS * grads.shape[2]
    gradient = grads[valid].astype(kind)
    y_low, y_high, y_part = _neighbours(ys[valid], height)
    x_low, x_high, x_part = _neighbours(xs[valid], width)
    total = np.zeros(height * width * lanes, kind)
    rows = ((y_low, (1 - y_part).astype(kind)), (y_high, y_part.astype(kind)))
    columns = ((x_low, (1 - x_part).astype(kind)), (x_high, x_part.astype(kind)))
    for y, y_weight in rows:
        for x, x_weight in columns:
            cell = (y * width + x) * lanes + lane
            added = gradient * (y_weight * x_weight)
            if kind == np.float64:
                total += np.bincount(cell, added, total.size)
            else:
                np.add.at(total, cell, added)
    return total.reshape(height, width, lanes)


def _neighbours(at: Array, size: int) -> tuple[Array, Array, Array]:
    """Return the cells before and after each coordinate on an axis of *size*, and the part between.

    At or past the last cell both are the last, and the part is zero.
    """
    at = np.maximum(at, 0)
    low = at.astype(np.int64)
    last = low >= size - 1
    low = np.where(last, size - 1, low)
    return low, np.where(last, low, low + 1), np.where(last, 0, at - low)


def theory(inputs: Arrays, params: Params) -> Theory:
    """Return the vendor's counts: ops = N*K*4*(C div 4)*3, ios = bytes of all inputs and the output.

    The vendor divides by four a C that is already that of one border, and does so in integers; so with fewer than
    four channels the operations are 0, and otherwise about a quarter of the real number.  The rule is kept so that
    efficiencies can be compared with published ones.
    """
    grads, boxes = inputs["grad_output"], inputs["boxes"]
    images, count, borders, channels = grads.shape
    output = images * int(params["height"]) * int(params["width"]) * BORDERS * channels
    ios = grads.itemsize * (grads.size + boxes.size + output) + 4 * grads.size
    return Theory(ops=images * count * borders * (channels // 4) * 3, ios=ios)
