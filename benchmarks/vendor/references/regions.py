"""Operators on regions of pictures: pooled, aligned, reassembled, masked."""

from collections.abc import Iterator
from math import ceil, floor
from typing import Any

import numpy as np

from benchmarks.vendor.operators import Given, reference, sample
from benchmarks.vendor.references.bilinear import around

Array = Any


def _rotated_places(g: Given, boxes: Array) -> tuple[Array, Array]:
    """Rows and columns of the points of each box: its centre and its corners."""
    y, x, w, h, angle = (boxes[..., n].astype(float) for n in range(5))
    y, x, w, h = (v * g["spatial_scale"] for v in (y, x, w, h))
    if int(g["points"]) == 1:
        return y[..., None], x[..., None]
    wx, wy = np.cos(angle) * w / 2, np.sin(angle) * w / 2
    hx, hy = -np.sin(angle) * h / 2, np.cos(angle) * h / 2
    xs = (x, x + wx + hx, x - wx + hx, x - wx - hx, x + wx - hx)
    ys = (y, y + wy + hy, y - wy + hy, y - wy - hy, y + wy - hy)
    return np.stack(ys, -1), np.stack(xs, -1)


@reference("mluOpRotatedFeatureAlignForward", 3e-3)
def feature_align(g: Given) -> Given:
    """A picture plus itself at the points of the box of each place."""
    x = g["input"].astype(float)
    n, h, w, _ = x.shape
    rows, columns = _rotated_places(g, g["bboxes"])
    out, batch = x.copy(), np.arange(n)[:, None, None, None]
    for row, column, weight, _, _ in around((h, w), rows, columns):
        out += (x[batch, row, column] * weight[..., None]).sum(3)
    return {"output": out}


@reference("mluOpRotatedFeatureAlignBackward", 3e-3)
def feature_align_gradient(g: Given) -> Given:
    """Its gradient."""
    grad = g["top_output"].astype(float)
    n, h, w, _ = grad.shape
    rows, columns = _rotated_places(g, g["bboxes"])
    out, batch = grad.copy(), np.arange(n)[:, None, None, None]
    for row, column, weight, _, _ in around((h, w), rows, columns):
        np.add.at(
            out, (np.broadcast_to(batch, row.shape), row, column), grad[:, :, :, None] * weight[..., None]
        )
    return {"bottom_input": out}


@sample("mluOpRotatedFeatureAlignForward")
@sample("mluOpRotatedFeatureAlignBackward")
def _align(random: np.random.Generator) -> Any:
    """[2, 6, 7, 20], five points."""
    boxes = random.uniform(0, 8, (2, 6, 7, 5)).astype(np.float32)
    one, two = (random.normal(size=(2, 6, 7, 20)).astype(np.float32) for _ in range(2))
    given = {"bboxes": boxes, "spatial_scale": 0.5, "points": 5, "input": one, "output": np.zeros_like(one)}
    given |= {"top_output": two, "bottom_input": np.zeros_like(two)}
    return given, dict.fromkeys(("input", "output", "top_output", "bottom_input"), "NHWC")


def _bins(g: Given, roi: Array) -> Iterator[tuple[int, int, Array, Array]]:
    """The sampled rows and columns of each bin of a rotated region."""
    ph, pw, ratio, scale = (g[n] for n in ("pooled_height", "pooled_width", "sample_ratio", "spatial_scale"))
    shift = 0.5 if g["aligned"] else 0.0
    cx, cy, w, h = (float(v) * scale for v in roi[1:5])
    theta = -float(roi[5]) if g["clockwise"] else float(roi[5])
    if not g["aligned"]:
        w, h = max(w, 1.0), max(h, 1.0)
    many = (ratio, ratio) if ratio > 0 else (max(ceil(h / ph), 0), max(ceil(w / pw), 0))
    for i, j in np.ndindex(ph, pw):
        yy = (-h / 2 + (i + (np.arange(many[0]) + 0.5) / max(many[0], 1)) * h / ph)[:, None]
        xx = (-w / 2 + (j + (np.arange(many[1]) + 0.5) / max(many[1], 1)) * w / pw)[None]
        y = yy * np.cos(theta) - xx * np.sin(theta) + cy - shift
        x = yy * np.sin(theta) + xx * np.cos(theta) + cx - shift
        yield i, j, y, x


@reference("mluOpRoiAlignRotatedForward", 3e-3)
def roi_align_rotated(g: Given) -> Given:
    """Means over the bins of rotated regions."""
    x = g["features"].astype(float)
    out = np.zeros(g["output"].shape)
    for r, roi in enumerate(g["rois"]):
        for i, j, rows, columns in _bins(g, roi):
            for row, column, weight, _, _ in around(x.shape[1:3], rows, columns):
                out[r, i, j] += (x[int(roi[0]), row, column] * weight[..., None]).sum((0, 1)) / max(
                    rows.size, 1
                )
    return {"output": out}


@reference("mluOpRoiAlignRotatedBackward", 3e-3)
def roi_align_rotated_gradient(g: Given) -> Given:
    """Its gradient."""
    grad, out = g["top_grad"].astype(float), np.zeros(g["bottom_grad"].shape)
    for r, roi in enumerate(g["rois"]):
        for i, j, rows, columns in _bins(g, roi):
            for row, column, weight, _, _ in around(out.shape[1:3], rows, columns):
                np.add.at(
                    out, (int(roi[0]), row, column), grad[r, i, j] * weight[..., None] / max(rows.size, 1)
                )
    return {"bottom_grad": out}


def _regions(random: np.random.Generator, count: int = 9, batch: int = 2, size: float = 8) -> Array:
    rois = random.uniform(1, size, (count, 6)).astype(np.float32)
    rois[:, 0] = random.integers(0, batch, count)
    return rois


def _rotated(clockwise: bool, aligned: bool, ratio: int) -> Any:
    def made(random: np.random.Generator) -> Any:
        x = random.normal(size=(2, 9, 10, 24)).astype(np.float32)
        rois, out = _regions(random), random.normal(size=(9, 3, 4, 24)).astype(np.float32)
        given = {
            "features": x,
            "rois": rois,
            "pooled_height": 3,
            "pooled_width": 4,
            "sample_ratio": ratio,
            "spatial_scale": 0.5,
        }
        given |= {
            "aligned": aligned,
            "clockwise": clockwise,
            "output": np.zeros_like(out),
            "top_grad": out,
            "bottom_grad": np.zeros_like(x),
        }
        return given, dict.fromkeys(("features", "output", "top_grad", "bottom_grad"), "NHWC")

    made.__doc__ = f"clockwise {clockwise}, aligned {aligned}, samples {ratio}"
    return made


for _flags in ((True, True, 2), (False, False, 0)):
    sample("mluOpRoiAlignRotatedForward")(_rotated(*_flags))
    sample("mluOpRoiAlignRotatedBackward")(_rotated(*_flags))


def _moved_bins(g: Given) -> Iterator[tuple[Any, tuple[float, float], Array, Array]]:
    """Each bin of each region, moved by its offset: where it is, the region's width and height, rows, columns."""
    ph, pw, scale, ratio = (
        g[n] for n in ("pooled_height", "pooled_width", "spatial_scale", "sampling_ratio")
    )
    for r, roi in enumerate(g["rois"].astype(float)):
        x1, y1, x2, y2 = roi[1:] * scale - 0.5
        h, w = y2 - y1, x2 - x1
        many = (ratio, ratio) if ratio > 0 else (ceil(h / ph), ceil(w / pw))
        for i, j in np.ndindex(ph, pw):
            left, top = x1, y1
            if g["offset"] is not None:
                left += g["gamma"] * w * float(g["offset"][r, 0, i, j])
                top += g["gamma"] * h * float(g["offset"][r, 1, i, j])
            rows = top + (i + (np.arange(many[0]) + 0.5) / max(many[0], 1)) * h / ph
            columns = left + (j + (np.arange(many[1]) + 0.5) / max(many[1], 1)) * w / pw
            yield (r, i, j), (w, h), *np.meshgrid(rows, columns, indexing="ij")


@reference("mluOpDeformRoiPoolForward", 3e-3)
def deform_roi_pool(g: Given) -> Given:
    """Means over the bins of regions, each bin moved by an offset."""
    x, out = g["input"].astype(float), np.zeros(g["output"].shape)
    for at, _, rows, columns in _moved_bins(g):
        picture = x[int(g["rois"][at[0], 0])]
        for row, column, weight, _, _ in around(x.shape[1:3], rows, columns):
            out[at] += (picture[row, column] * weight[..., None]).sum((0, 1)) / max(rows.size, 1)
    return {"output": out}


@reference("mluOpDeformRoiPoolBackward", 3e-3)
def deform_roi_pool_gradient(g: Given) -> Given:
    """Gradients of the picture and of the offsets."""
    x, grad = g["input"].astype(float), g["grad_output"].astype(float)
    to_input, to_offset = np.zeros(x.shape), np.zeros(g["grad_offset"].shape)
    for (r, i, j), sides, rows, columns in _moved_bins(g):
        batch, given = int(g["rois"][r, 0]), grad[r, i, j] / max(rows.size, 1)
        for row, column, weight, fall, rise in around(x.shape[1:3], rows, columns):
            np.add.at(to_input, (batch, row, column), given * weight[..., None])
            along = x[batch, row, column] @ given * g["gamma"]
            to_offset[r, :, i, j] += (rise * along).sum() * sides[0], (fall * along).sum() * sides[1]
    return {"grad_input": to_input, "grad_offset": to_offset}


@sample("mluOpDeformRoiPoolForward")
def _deformed(random: np.random.Generator) -> Any:
    """[2, 9, 10, 24], bins of 3 x 4."""
    rois = np.sort(random.uniform(0, 16, (7, 2, 2)), axis=1).reshape(7, 4)
    rois = np.concatenate([random.integers(0, 2, (7, 1)), rois], 1).astype(np.float32)
    x, offset = random.normal(size=(2, 9, 10, 24)), random.normal(size=(7, 2, 3, 4))
    given = {
        "input": x.astype(np.float32),
        "rois": rois,
        "offset": offset.astype(np.float32),
        "pooled_height": 3,
        "pooled_width": 4,
    }
    given |= {
        "spatial_scale": 0.5,
        "sampling_ratio": 2,
        "gamma": 0.1,
        "output": np.zeros((7, 3, 4, 24), np.float32),
    }
    return given, {"input": "NHWC", "output": "NHWC"}


@reference("mluOpPsRoiPoolForward", 3e-3)
def position_sensitive(g: Given) -> Given:
    """Means over bins, each of a channel of its own."""
    x, out = g["input"].astype(float), np.zeros(g["output"].shape)
    group, scale, channels = g["group_size"], g["spatial_scale"], np.zeros(g["output"].shape)
    h, w = x.shape[1:3]
    for r, roi in enumerate(g["rois"].astype(float)):
        x1, y1 = (floor(v + 0.5) * scale for v in roi[1:3])
        x2, y2 = ((floor(v + 0.5) + 1) * scale for v in roi[3:5])
        high, wide = max(y2 - y1, 0.1) / group, max(x2 - x1, 0.1) / group
        for i, j, c in np.ndindex(group, group, out.shape[-1]):
            rows = slice(*(min(max(v, 0), h) for v in (floor(y1 + i * high), ceil(y1 + (i + 1) * high))))
            columns = slice(*(min(max(v, 0), w) for v in (floor(x1 + j * wide), ceil(x1 + (j + 1) * wide))))
            channels[r, i, j, c] = channel = (c * group + i) * group + j
            part = x[int(roi[0]), rows, columns, channel]
            out[r, i, j, c] = part.mean() if part.size else 0
    return {"output": out, "mapping_channel": channels}


def reassembled(g: Given) -> Iterator[tuple[Array, Array, slice, int]]:
    """For each step of the kernel and each group: source rows, columns, the channels, the mask's channel."""
    k, group, scale = (int(g[n]) for n in ("kernel_size", "group_size", "scale_factor"))
    _, h, w, c = g["input"].shape
    rows, columns = np.arange(h * scale)[:, None] // scale, np.arange(w * scale)[None] // scale
    for i, j, part in np.ndindex(k, k, group):
        channels = slice(part * (c // group), (part + 1) * (c // group))
        yield rows + i - k // 2, columns + j - k // 2, channels, (part * k + i) * k + j


@reference("DriveCarafeForward", 3e-3)
def carafe(g: Given) -> Given:
    """Windows of a picture, weighted by a mask of each place of the larger one."""
    x, mask, out = g["input"].astype(float), g["mask"].astype(float), np.zeros(g["output"].shape)
    h, w = x.shape[1:3]
    for row, column, channels, which in reassembled(g):
        inside = ((row >= 0) & (row < h) & (column >= 0) & (column < w))[None, :, :, None]
        found = x[:, np.clip(row, 0, h - 1), np.clip(column, 0, w - 1), channels]
        out[..., channels] += found * mask[..., which : which + 1] * inside
    return {"output": out}


@reference("DriveCarafeBackward", 3e-3)
def carafe_gradient(g: Given) -> Given:
    """Gradients of the picture and of the mask."""
    x, mask, grad = (g[n].astype(float) for n in ("input", "mask", "grad_output"))
    to_input, to_mask = np.zeros_like(x), np.zeros_like(mask)
    h, w = x.shape[1:3]
    for row, column, channels, which in reassembled(g):
        inside = ((row >= 0) & (row < h) & (column >= 0) & (column < w))[None, :, :, None]
        r, c = np.broadcast_arrays(np.clip(row, 0, h - 1), np.clip(column, 0, w - 1))
        to_mask[..., which] += (x[:, r, c, channels] * grad[..., channels] * inside).sum(-1)
        given = grad[..., channels] * mask[..., which : which + 1] * inside
        for n in range(len(x)):
            np.add.at(to_input[n, :, :, channels], (r, c), given[n])
    return {"grad_input": to_input, "grad_mask": to_mask}


@reference("mluOpPsamaskForward", 0)
def psamask(g: Given) -> Given:
    """Masks around each place, collected by the place or distributed to it."""
    x, y = g["x"], np.zeros(g["y"].shape, g["x"].dtype)
    for here, there, which, w in _masked(g, x.shape[1:3]):
        if int(g["psa_type"]) == 0:
            y[:, here[0], here[1], there[0] * w + there[1]] = x[:, here[0], here[1], which]
        else:
            y[:, there[0], there[1], here[0] * w + here[1]] = x[:, here[0], here[1], which]
    return {"y": y}


@reference("mluOpPsamaskBackward", 0)
def psamask_gradient(g: Given) -> Given:
    """The way back."""
    dy, dx = g["dy"], np.zeros(g["dx"].shape, g["dy"].dtype)
    for here, there, which, w in _masked(g, dx.shape[1:3]):
        if int(g["psa_type"]) == 0:
            dx[:, here[0], here[1], which] = dy[:, here[0], here[1], there[0] * w + there[1]]
        else:
            dx[:, here[0], here[1], which] = dy[:, there[0], there[1], here[0] * w + here[1]]
    return {"dx": dx}


def _masked(g: Given, size: Any) -> Iterator[tuple[Array, Array, int, int]]:
    h, w = size
    row, column = (v.ravel() for v in np.meshgrid(np.arange(h), np.arange(w), indexing="ij"))
    high, wide = int(g["h_mask"]), int(g["w_mask"])
    for i, j in np.ndindex(high, wide):
        down, right = row + i - (high - 1) // 2, column + j - (wide - 1) // 2
        kept = (down >= 0) & (down < h) & (right >= 0) & (right < w)
        yield (row[kept], column[kept]), (down[kept], right[kept]), i * wide + j, w


def _psamask(kind: int) -> Any:
    def made(random: np.random.Generator) -> Any:
        x, dy = (
            random.normal(size=(2, 5, 6, 15)).astype(np.float32),
            random.normal(size=(2, 5, 6, 30)).astype(np.float32),
        )
        given = {
            "psa_type": kind,
            "x": x,
            "y": np.zeros_like(dy),
            "dy": dy,
            "dx": np.zeros_like(x),
            "h_mask": 3,
            "w_mask": 5,
        }
        return given, dict.fromkeys(("x", "y", "dx", "dy"), "NHWC")

    made.__doc__ = f"type {kind}"
    return made


for _kind in (0, 1):
    sample("mluOpPsamaskForward")(_psamask(_kind))
    sample("mluOpPsamaskBackward")(_psamask(_kind))


@reference("mluOpActiveRotatedFilterForward", 0)
def rotated_filter(g: Given) -> Given:
    """Filters with their elements at the places of each rotation."""
    x, where, out = g["input"], g["indices"], np.zeros(g["output"].shape, g["input"].dtype)
    turns = where.shape[-1]
    outer, inner = x.shape[:2]
    flat, places = x.reshape(outer, inner, -1), where.reshape(-1, turns) - 1
    found = out.reshape(outer, turns, inner, -1)
    for k in range(turns):
        found[:, k][:, :, places[:, k]] = flat
    return {"output": out}
