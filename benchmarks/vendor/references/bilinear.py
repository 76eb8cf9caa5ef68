"""Pictures between their pixels: the four pixels around places, by the two rules that operators have."""

from collections.abc import Iterator
from typing import Any

import numpy as np

Array = Any
Neighbour = tuple[Array, Array, Array, Array, Array]


def around(size: tuple[int, int], y: Array, x: Array) -> Iterator[Neighbour]:
    """Places are held inside, and have nothing beyond one pixel outside: rows, columns, weights, slopes down and across."""
    h, w = size
    y, x = np.asarray(y, float), np.asarray(x, float)
    outside = (y < -1) | (y > h) | (x < -1) | (x > w)
    top, left = (np.floor(np.clip(v, 0, n - 1)).astype(int) for v, n in ((y, h), (x, w)))
    bottom, right = np.minimum(top + 1, h - 1), np.minimum(left + 1, w - 1)
    dy, dx = np.clip(y, 0, h - 1) - top, np.clip(x, 0, w - 1) - left
    for down, across in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weight = (dy if down else 1 - dy) * (dx if across else 1 - dx)
        fall = (2 * down - 1) * (x - left if across else right - x)  # of the place as it is given
        rise = (2 * across - 1) * (y - top if down else bottom - y)
        row, column = bottom if down else top, right if across else left
        yield row, column, *(np.where(outside, 0, v) for v in (weight, fall, rise))


def inside(size: tuple[int, int], y: Array, x: Array) -> Iterator[Neighbour]:
    """What lies outside of the picture is zero: rows, columns, weights, slopes down and across."""
    h, w = size
    y, x = np.asarray(y, float), np.asarray(x, float)
    top, left = np.floor(y).astype(int), np.floor(x).astype(int)
    dy, dx = y - top, x - left
    for down, across in ((0, 0), (0, 1), (1, 0), (1, 1)):
        row, column = top + down, left + across
        here = (row >= 0) & (row < h) & (column >= 0) & (column < w)
        fy, fx = (dy if down else 1 - dy), (dx if across else 1 - dx)
        shares = fy * fx, fx * (2 * down - 1), fy * (2 * across - 1)
        yield np.clip(row, 0, h - 1), np.clip(column, 0, w - 1), *(v * here for v in shares)


def between(picture: Array, y: Array, x: Array) -> Array:
    """A picture at places that are held inside."""
    return sum(
        weight[..., None] * picture[row, column]
        for row, column, weight, _, _ in around(picture.shape[:2], y, x)
    )
