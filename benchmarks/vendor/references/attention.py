"""Attention over sampled places of pictures of several sizes, and its gradient."""

from typing import Any

import numpy as np

from benchmarks.vendor.operators import Given, reference, sample
from benchmarks.vendor.references.bilinear import inside

Array = Any


def _levels(g: Given, prefix: str) -> Any:
    value = g[f"{prefix}value"].astype(float)
    places = g[f"{prefix}sampling_loc"].astype(float)
    starts, sizes = g[f"{prefix}level_start_index"], g[f"{prefix}spatial_shapes"]
    for level, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        h, w = (int(n) for n in size)
        x, y = places[:, :, :, level, :, 0] * w - 0.5, places[:, :, :, level, :, 1] * h - 0.5
        yield level, int(start), (h, w), value, x, y


@reference("mluOpMsDeformAttnForward")
def forward(g: Given) -> Given:
    """Weighted sums of sampled values."""
    weight = g["data_attn_weight"].astype(float)
    batch, queries, heads = weight.shape[:3]
    channels = g["data_value"].shape[-1]
    out = np.zeros((batch, queries, heads, channels))
    b, head = np.arange(batch)[:, None, None, None], np.arange(heads)[None, None, :, None]
    for level, start, (h, w), value, x, y in _levels(g, "data_"):
        for row, column, share, _, _ in inside((h, w), y, x):
            found = value[b, start + row * w + column, head]
            out += ((share * weight[:, :, :, level])[..., None] * found).sum(3)
    return {"data_col": out}


@reference("mluOpMsDeformAttnBackward")
def backward(g: Given) -> Given:
    """Gradients of values, places and weights."""
    weight, grad = g["attn_weight"].astype(float), g["grad_output"].astype(float)
    batch, queries, heads = weight.shape[:3]
    grad = grad.reshape(batch, queries, heads, 1, -1)
    to_value = np.zeros(g["value"].shape)
    to_place, to_weight = np.zeros(g["sampling_loc"].shape), np.zeros(weight.shape)
    b, head = np.arange(batch)[:, None, None, None], np.arange(heads)[None, None, :, None]
    for level, start, (h, w), value, x, y in _levels(g, ""):
        for row, column, share, down, across in inside((h, w), y, x):
            place = start + row * w + column
            dot = (value[b, place, head] * grad).sum(-1)
            to_weight[:, :, :, level] += share * dot
            to_place[:, :, :, level, :, 0] += across * dot * weight[:, :, :, level] * w
            to_place[:, :, :, level, :, 1] += down * dot * weight[:, :, :, level] * h
            given = (share * weight[:, :, :, level])[..., None] * grad
            np.add.at(to_value, (b, place, head), given)
    return {"grad_value": to_value, "grad_sampling_loc": to_place, "grad_attn_weight": to_weight}


def problem(
    random: np.random.Generator, channels: int, points: int, levels: int, queries: int = 11, heads: int = 2
) -> Any:
    """Values of pictures, places, weights."""
    sizes = np.array([[6, 5], [4, 7], [3, 3], [2, 2], [2, 3]][:levels], np.int32)
    counts = sizes.prod(1)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int32)
    value = random.normal(size=(2, counts.sum(), heads, channels)).astype(np.float32)
    places = random.uniform(-0.1, 1.1, (2, queries, heads, levels, points, 2)).astype(np.float32)
    weight = random.uniform(size=(2, queries, heads, levels, points)).astype(np.float32)
    return value, sizes, starts, places, weight


def _forward(random: np.random.Generator, *shape: int) -> Any:
    value, sizes, starts, places, weight = problem(random, *shape)
    out = np.zeros((2, places.shape[1], value.shape[2], value.shape[3]), np.float32)
    names = ("value", "spatial_shapes", "level_start_index", "sampling_loc", "attn_weight", "col")
    given = {f"data_{n}": v for n, v in zip(names, (value, sizes, starts, places, weight, out), strict=True)}
    return {**given, "im2col_step": 2}, {}


def _backward(random: np.random.Generator, *shape: int) -> Any:
    value, sizes, starts, places, weight = problem(random, *shape)
    grad = random.normal(size=(2, places.shape[1], value.shape[2], value.shape[3])).astype(np.float32)
    given = {
        "value": value, "spatial_shapes": sizes, "level_start_index": starts, "sampling_loc": places, "attn_weight": weight,
        "grad_output": grad, "im2col_step": 2, "grad_value": np.zeros_like(value), "grad_sampling_loc": np.zeros_like(places),
        "grad_attn_weight": np.zeros_like(weight),
    }  # fmt: skip
    return given, {}


for _shape in (
    (16, 4, 4),
    (8, 2, 2),
    (32, 4, 1),
    (300, 4, 2),
    (40, 8, 2),
    (5, 3, 5),
    (32, 33, 4),
    (100, 33, 4),
    (8, 33, 4),
):

    def _ours(random: np.random.Generator, shape: Any = _shape) -> Any:
        return _forward(random, *shape)

    def _gradient(random: np.random.Generator, shape: Any = _shape) -> Any:
        return _backward(random, *shape)

    _ours.__doc__ = _gradient.__doc__ = "channels {}, points {}, levels {}".format(*_shape)
    sample("mluOpMsDeformAttnForward")(_ours)
    sample("mluOpMsDeformAttnBackward")(_gradient)
