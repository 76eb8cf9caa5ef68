"""Convolutions with moved taps: their columns by padded pictures, and what follows from them."""

from typing import Any

import numpy as np

from benchmarks.vendor.operators import Given, reference

Array = Any


def _seen(picture: Array, y: Array, x: Array) -> Array:
    """A picture that is 0 outside, between its pixels; y and x are [n, high, wide]."""
    room = np.pad(picture, ((0, 0), (2, 2), (2, 2), (0, 0)))
    y, x = (np.clip(v, -2, size + 0.5) for v, size in ((y, picture.shape[1]), (x, picture.shape[2])))
    i, j = np.floor(y).astype(int), np.floor(x).astype(int)
    first, down, across = np.arange(len(picture))[:, None, None], (y - i)[..., None], (x - j)[..., None]
    upper = room[first, i + 2, j + 2] * (1 - across) + room[first, i + 2, j + 3] * across
    lower = room[first, i + 3, j + 2] * (1 - across) + room[first, i + 3, j + 3] * across
    return upper * (1 - down) + lower * down


def _places(g: Given, kernel: tuple[int, int]) -> Any:
    """Each deformable group and tap: its number, its channels, where it reads."""
    groups, count = int(g["deformable_group"]), kernel[0] * kernel[1]
    part = g["input"].shape[-1] // groups
    rows, columns = np.meshgrid(*(np.arange(n) for n in g["offset"].shape[1:3]), indexing="ij")
    for group in range(groups):
        for tap in range(count):
            number = group * count + tap
            moved = g["offset"][..., 2 * number : 2 * number + 2].astype(float)
            y = rows * g["stride"][0] - g["pad"][0] + tap // kernel[1] * g["dilation"][0] + moved[..., 0]
            x = columns * g["stride"][1] - g["pad"][2] + tap % kernel[1] * g["dilation"][1] + moved[..., 1]
            yield number, tap, slice(group * part, (group + 1) * part), y, x


def _columns(g: Given, kernel: tuple[int, int]) -> Array:
    picture = g["input"].astype(float)
    found = np.zeros((*g["offset"].shape[:3], kernel[0] * kernel[1], picture.shape[-1]))
    for number, tap, part, y, x in _places(g, kernel):
        weight = 1.0 if g["mask"] is None else g["mask"][..., number, None]
        found[..., tap, part] = _seen(picture[..., part], y, x) * weight
    return found


def _grouped(g: Given, array: Array) -> Array:
    return np.split(array, int(g["conv_group"]), -1)


@reference("DriveDCNForward", 2e-3)
def forward(g: Given) -> Given:
    """Products of the columns and the filters, group by group."""
    weight = g["weight"].astype(float)
    kernel = weight.shape[1:3]
    filters = np.split(weight.reshape(len(weight), -1, weight.shape[-1]), int(g["conv_group"]))
    parts = [
        np.einsum("nhwtc,otc->nhwo", c, f, optimize=True)
        for c, f in zip(_grouped(g, _columns(g, kernel)), filters, strict=True)
    ]
    return {"output": np.concatenate(parts, -1) + (0 if g["bias"] is None else g["bias"])}


@reference("DriveDCNBackwardWeight", 2e-3)
def weight_gradient(g: Given) -> Given:
    """Products of the columns and the gradient."""
    kernel = g["grad_weight"].shape[1:3]
    pairs = zip(_grouped(g, g["grad_output"].astype(float)), _grouped(g, _columns(g, kernel)), strict=True)
    parts = [np.einsum("nhwo,nhwtc->otc", d, c, optimize=True) for d, c in pairs]
    return {
        "grad_weight": np.concatenate(parts).reshape(g["grad_weight"].shape),
        "grad_bias": g["grad_output"].sum((0, 1, 2)),
    }


@reference("DriveDCNBackwardData", 2e-3)
def data_gradient(g: Given) -> Given:
    """The gradient of offsets by differences inside a cell; that of the picture by scattering."""
    weight, picture = g["weight"].astype(float), g["input"].astype(float)
    kernel = weight.shape[1:3]
    filters = np.split(weight.reshape(len(weight), -1, weight.shape[-1]), int(g["conv_group"]))
    pairs = zip(_grouped(g, g["grad_output"].astype(float)), filters, strict=True)
    back = np.concatenate([np.einsum("nhwo,otc->nhwtc", d, f, optimize=True) for d, f in pairs], -1)
    moved = np.zeros(g["offset"].shape)
    room = np.zeros((len(picture), picture.shape[1] + 4, picture.shape[2] + 4, picture.shape[3]))
    first = np.arange(len(picture))[:, None, None]
    for number, tap, part, y, x in _places(g, kernel):
        scale = 1.0 if g["mask"] is None else g["mask"][..., number, None]
        each = back[..., tap, part] * scale
        i, j = np.floor(y), np.floor(x)
        plane = picture[..., part]
        moved[..., 2 * number] = (each * (_seen(plane, i + 1, x) - _seen(plane, i, x))).sum(-1)
        moved[..., 2 * number + 1] = (each * (_seen(plane, y, j + 1) - _seen(plane, y, j))).sum(-1)
        for row, column, share in (
            (i, j, (i + 1 - y) * (j + 1 - x)), (i, j + 1, (i + 1 - y) * (x - j)),
            (i + 1, j, (y - i) * (j + 1 - x)), (i + 1, j + 1, (y - i) * (x - j)),
        ):  # fmt: skip
            rows, columns = (
                np.clip(v + 2, 0, n - 1).astype(int)
                for v, n in ((row, room.shape[1]), (column, room.shape[2]))
            )
            np.add.at(room[..., part], (first, rows, columns), each * share[..., None])
    return {"grad_offset": moved, "grad_input": room[:, 2:-2, 2:-2]}
