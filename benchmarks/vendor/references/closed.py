"""Entry points that call the closed library alone: batch normalisation over devices, pooled regions, moved taps.

Its stand-ins are ours; what is compared is that the host function hands the right things to the right places.
"""

import math
from typing import Any

import numpy as np

from benchmarks.vendor.operators import Given, reference, sample

Array = Any


def _rows(x: Array) -> Array:
    return x.reshape(-1, x.shape[-1]).astype(float)


@reference("mluOpSyncBatchNormStats_v2")
def stats(g: Given) -> Given:
    """Mean and inverse deviation of each channel."""
    x = _rows(g["x"])
    mean = x.sum(0) / len(x)
    return {"mean": mean, "invstd": ((x * x).sum(0) / len(x) - mean**2 + g["eps"]) ** -0.5}


@reference("mluOpSyncBatchNormGatherStatsWithCounts", 3e-3)
def gathered(g: Given) -> Given:
    """The same of all devices: first and second moments, weighted by how many each counted."""
    counts = g["count_all"].astype(float)[:, None]
    means, variances = g["mean_all"].astype(float), g["invstd_all"].astype(float) ** -2 - g["eps"]
    mean = (counts * means).sum(0) / counts.sum()
    variance = (counts * (variances + means**2)).sum(0) / counts.sum() - mean**2
    return {"mean": mean, "invstd": (variance + g["eps"]) ** -0.5}


@reference("mluOpSyncBatchNormElemt")
def normalised(g: Given) -> Given:
    """Each channel moved to mean 0 and deviation 1, then scaled and moved."""
    y = (g["x"].astype(float) - g["mean"]) * g["invstd"]
    return {"y": y if g["filter"] is None else y * g["filter"] + g["bias"]}


@reference("mluOpSyncBatchNormBackwardReduce_v2", 1e-2)
def reduced(g: Given) -> Given:
    """Sums of the gradient, alone and times the centred input."""
    dz, x = _rows(g["dz"]), _rows(g["x"])
    products = np.einsum("nc,nc->c", dz, x) - dz.sum(0) * g["mean"]
    dbias = dz.sum(0)
    return {"sum_dy": dbias, "sum_dy_xmu": products, "dfilter": products * g["invstd"], "dbias": dbias}


def _gradient(g: Given, plain: Array, products: Array) -> Given:
    weight = 1.0 if g["filter"] is None else g["filter"].astype(float)
    invstd = g["invstd"].astype(float)
    hat = (g["x"].astype(float) - g["mean"]) * invstd
    return {"diff_x": weight * invstd * (g["diff_y"] - plain - hat * invstd * products)}


@reference("mluOpSyncBatchNormBackwardElemt")
def gradient(g: Given) -> Given:
    """The gradient of the input, of means."""
    return _gradient(g, g["mean_dy"].astype(float), g["mean_dy_xmu"].astype(float))


@reference("mluOpSyncBatchNormBackwardElemtV2")
def gradient_of_sums(g: Given) -> Given:
    """The same, of sums."""
    total = float(g["count"].sum())
    return _gradient(g, g["sum_dy"] / total, g["sum_dy_xmu"] / total)


@sample("mluOpSyncBatchnormBackwardReduce_v2")
@sample("mluOpSyncBatchNormBackwardReduce_v2")
def _reduce(random: np.random.Generator) -> Any:
    """batch 3, 4 x 5, channels 7."""
    made: Given = {k: random.normal(size=(3, 4, 5, 7)).astype(np.float32) for k in ("dz", "x")}
    for name in ("mean", "invstd", "dfilter", "dbias", "sum_dy", "sum_dy_xmu"):
        made[name] = random.uniform(1, 2, 7).astype(np.float32)
    made.update({f"needs_input_grad{n}": True for n in range(3)})
    return made, {"dz": "NHWC", "x": "NHWC"}


reference("mluOpSyncBatchnormBackwardReduce_v2", 1e-2)(reduced)


def _near(shape: tuple[int, ...], y: float, x: float) -> list[tuple[int, int, float]]:
    """The pixels around a place, and how much each weighs."""
    high, wide = shape[:2]
    if not (-1 <= y <= high and -1 <= x <= wide):
        return []
    y, x = min(max(y, 0), high - 1), min(max(x, 0), wide - 1)
    i, j = int(y), int(x)
    below, right = min(i + 1, high - 1), min(j + 1, wide - 1)
    upper = [(i, j, (i + 1 - y) * (j + 1 - x)), (i, right, (i + 1 - y) * (x - j))]
    return [*upper, (below, j, (y - i) * (j + 1 - x)), (below, right, (y - i) * (x - j))]


def _grid(box: Array, bins: tuple[int, int], g: Given) -> Any:
    """The places of the samples of each bin."""
    half = 0.5 if g["aligned"] else 0.0
    scale = np.float32(g["spatial_scale"])
    x1, y1, x2, y2 = (float(np.float32(v) * scale - np.float32(half)) for v in box[1:])
    sides = [(y2 - y1), (x2 - x1)] if half else [max(y2 - y1, 1.0), max(x2 - x1, 1.0)]
    steps = sides[0] / bins[0], sides[1] / bins[1]
    many = [int(g["sampling_ratio"]) or math.ceil(np.float32(step)) for step in steps]
    for i, j in np.ndindex(*bins):
        ys = [y1 + (i + (a + 0.5) / many[0]) * steps[0] for a in range(many[0])]
        xs = [x1 + (j + (a + 0.5) / many[1]) * steps[1] for a in range(many[1])]
        yield i, j, [(y, x) for y in ys for x in xs]


@reference("DriveRoiAlign", 1e-3)
def aligned(g: Given) -> Given:
    """The mean or the largest of samples on a grid inside each bin."""
    out = np.zeros(g["output"].shape)
    for n, box in enumerate(g["boxes"].astype(np.float32)):
        plane = g["input"][int(box[0])].astype(float)
        for i, j, places in _grid(box, out.shape[1:3], g):
            found = np.zeros((len(places), plane.shape[2]))
            for k, place in enumerate(places):
                for row, column, weight in _near(plane.shape, *place):
                    found[k] += plane[row, column] * weight
            if places:
                out[n, i, j] = found.mean(0) if g["pool_mode"] else found.max(0)
    return {"output": out}


@reference("mluOpRoiAlignBackward_v2", 1e-3)
def aligned_gradient(g: Given) -> Given:
    """Each gradient to the pixels around its samples, or around the largest."""
    out = np.zeros(g["grads_image"].shape)
    for n, box in enumerate(g["boxes"].astype(np.float32)):
        plane = out[int(box[0])]
        if g["pool_mode"]:
            for i, j, places in _grid(box, g["grads"].shape[1:3], g):
                for place in places:
                    for row, column, weight in _near(plane.shape, *place):
                        plane[row, column] += g["grads"][n, i, j] * weight / len(places)
            continue
        for i, j, c in np.ndindex(g["grads"].shape[1:]):
            y, x = (float(g[name][n, i, j, c]) for name in ("argmax_y", "argmax_x"))
            if y >= 0 and x >= 0:
                for row, column, weight in _near(plane.shape, y, x):
                    plane[row, column, c] += g["grads"][n, i, j, c] * weight
    return {"grads_image": out}


@reference("mluOpRoiPoolingForward", 0)
def pooled(g: Given) -> Given:
    """The largest pixel of each bin."""
    out, index = np.zeros(g["output"].shape), np.full(g["output"].shape, -1)
    _, height, width, _ = g["input"].shape
    for n, i, j, c in np.ndindex(out.shape):
        image, *corners = g["rois"][n]
        x1, y1, x2, y2 = (
            math.floor(np.float32(v) * np.float32(g["spatial_scale"]) + np.float32(0.5)) for v in corners
        )
        tall, broad = max(y2 - y1 + 1, 1) / out.shape[1], max(x2 - x1 + 1, 1) / out.shape[2]
        rows = range(max(y1 + math.floor(i * tall), 0), min(y1 + math.ceil((i + 1) * tall), height))
        columns = range(max(x1 + math.floor(j * broad), 0), min(x1 + math.ceil((j + 1) * broad), width))
        places = [(a, b) for a in rows for b in columns]
        if places:
            best = max(places, key=lambda at: g["input"][int(image), *at, c])
            out[n, i, j, c], index[n, i, j, c] = g["input"][int(image), *best, c], best[0] * width + best[1]
    return {"output": out, "argmax": index}


@reference("mluOpRoiPoolingBackward")
def pooled_gradient(g: Given) -> Given:
    """Each gradient where the largest pixel was."""
    out = np.zeros(g["grads_image"].shape)
    for n, i, j, c in np.ndindex(g["grads"].shape):
        at = int(g["argmax"][n, i, j, c])
        if at >= 0:
            out[int(g["rois"][n, 0]), at // out.shape[2], at % out.shape[2], c] += g["grads"][n, i, j, c]
    return {"grads_image": out}


@sample("mluOpRoiPoolingForward")
def _pool(random: np.random.Generator) -> Any:
    """2 pictures of 9 x 11 x 5, 4 regions in 3 x 2 bins."""
    rois = np.concatenate(
        [random.integers(0, 2, (4, 1)), np.sort(random.uniform(0, 17, (4, 2, 2)), 1).reshape(4, 4)], 1
    )
    made: Given = {
        "input": random.normal(size=(2, 9, 11, 5)).astype(np.float32),
        "rois": rois.astype(np.float32),
    }
    made["output"], made["argmax"] = np.zeros((4, 3, 2, 5), np.float32), np.zeros((4, 3, 2, 5), np.int32)
    return made | {"pooling_mode": 0, "spatial_scale": 0.5}, {"input": "NHWC", "output": "NHWC"}


@reference("DriveNms", 0)
def suppressed(g: Given) -> Given:
    """Indices of boxes, best first, without those that overlap one before too much."""
    boxes = g["boxes"].astype(float)
    left = [
        n
        for n in sorted(range(len(boxes)), key=lambda n: -g["confidence"][n])
        if g["confidence"][n] > g["confidence_threshold"]
    ]
    kept: list[int] = []
    while left and len(kept) < g["max_output_boxes"]:
        x1, y1, x2, y2 = boxes[left[0]]
        kept.append(left[0])
        rest = []
        for n in left[1:]:
            a1, b1, a2, b2 = boxes[n]
            common = max(min(x2, a2) - max(x1, a1), 0) * max(min(y2, b2) - max(y1, b1), 0)
            if common <= g["iou_threshold"] * ((x2 - x1) * (y2 - y1) + (a2 - a1) * (b2 - b1) - common):
                rest.append(n)
        left = rest
    return {"output": np.array(kept), "output_size": np.array([len(kept)])}
