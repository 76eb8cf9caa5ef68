"""Regions of pictures: aligned and plain pooling of each with their gradients, boxes that overlap no better one."""

from typing import Any

import numpy as np

from mlusim.errors import Unsupported
from mlusim.frontend.bangc.runtime.cnnl import tensors
from mlusim.frontend.bangc.runtime.cnnl.places import put

_MAX, _AVERAGE = 0, 1  # of pool_mode
_MODE, _THRESHOLD, _MOST, _SCORE, _LAYOUT, _BOX = 0, 1, 2, 3, 5, 7  # of cnnlNmsDescAttribute_t


def neighbours(
    shape: tuple[int, int], row: tensors.Array, column: tensors.Array
) -> "tuple[list[tensors.Array], list[tensors.Array], list[tensors.Array]]":
    """Return the rows, columns and weights of the four pixels around each place; weights of 0 for places more than 1 outside."""
    height, width = shape
    outside = (row < -1) | (row > height) | (column < -1) | (column > width)
    row, column = np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)
    top, left = np.floor(row).astype(np.int64), np.floor(column).astype(np.int64)
    bottom, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    down, across = row - top, column - left
    weights = [(1 - down) * (1 - across), (1 - down) * across, down * (1 - across), down * across]
    return [top, top, bottom, bottom], [left, right, left, right], [np.where(outside, 0, w) for w in weights]


def _places(
    box: tensors.Array, pooled: tuple[int, int], ratio: int, scale: float, aligned: bool
) -> tuple[tensors.Array, tensors.Array]:
    """Return the rows and columns of samples of a region: an array of bins and samples along each axis."""
    shift = np.float32(0.5 if aligned else 0)
    x1, y1, x2, y2 = (np.float32(v) * np.float32(scale) - shift for v in box[1:])
    found = []
    for low, high, bins in ((y1, y2, pooled[0]), (x1, x2, pooled[1])):
        # What is not aligned has a pixel at least, as in frameworks.
        size = high - low if aligned else max(high - low, np.float32(1))
        step = np.float32(size / np.float32(bins))
        count = ratio if ratio > 0 else max(int(np.ceil(step)), 0)  # as many as a bin has pixels
        within = (np.arange(count, dtype=np.float32) + np.float32(0.5)) * step / np.float32(max(count, 1))
        found.append(low + np.arange(bins, dtype=np.float32)[:, None] * step + within)
    return found[0], found[1]


def _samples(
    box: tensors.Array, pooled: tuple[int, int], how: tuple[int, float, bool]
) -> tuple[tensors.Array, tensors.Array]:
    """Return the same by bin: rows and columns as [high, wide, samples]."""
    rows, columns = _places(box, pooled, *how)
    shape = (*pooled, rows.shape[1], columns.shape[1])
    grid = (np.broadcast_to(rows[:, None, :, None], shape), np.broadcast_to(columns[None, :, None, :], shape))
    return grid[0].reshape(*pooled, -1), grid[1].reshape(*pooled, -1)


def set_align(
    desc: tensors.Descriptor, high: int, wide: int, ratio: int, scale: float, mode: int, aligned: int
) -> int:
    """Do ``cnnlSetRoiAlignDescriptor_v2``: keep the sizes and the mode of an RoI align."""
    desc.values.update(pooled=(high, wide), how=(ratio, scale, bool(aligned)), mode=mode)
    return 0


def align(
    driver: tensors.StandInDevice,
    _handle: object,
    desc: tensors.Descriptor,
    x_desc: object,
    x: object,
    *given: object,
) -> int:
    """``cnnlRoiAlign_v2``: the mean or the largest of samples between pixels, and where the largest is."""
    box_desc, boxes, out_desc, out, column_desc, at_column, row_desc, at_row = given
    picture, regions = tensors.values(x_desc, x), tensors.values(box_desc, boxes)
    result = np.zeros(tensors.shape_of(out_desc))
    where = np.full((2, *result.shape), -1.0)
    for n, box in enumerate(regions):
        row, column = _samples(box, desc.values["pooled"], desc.values["how"])
        if not row.shape[-1]:
            continue
        plane = picture[int(box[0])]
        near = zip(*neighbours(plane.shape[:2], row, column), strict=True)
        each: Any = sum(plane[r, c].astype(np.float64) * w[..., None] for r, c, w in near)
        if desc.values["mode"] == _AVERAGE:
            result[n] = each.mean(2)
            continue
        best = each.argmax(2)
        result[n] = np.take_along_axis(each, best[:, :, None], 2)[:, :, 0]
        for kept, place in zip(where, (column, row), strict=True):
            kept[n] = np.take_along_axis(place, best.reshape(*best.shape[:2], -1), 2)
    if desc.values["mode"] == _MAX:
        tensors.store(driver, column_desc, at_column, where[0])
        tensors.store(driver, row_desc, at_row, where[1])
    return tensors.store(driver, out_desc, out, result)


def align_backward(
    driver: tensors.StandInDevice,
    _handle: tensors.Argument,
    grad_desc: tensors.Argument,
    grad: tensors.Argument,
    *given: tensors.Argument,
) -> int:
    """``cnnlRoiAlignBackward_v2``: each gradient goes to the pixels that its sample was between."""
    box_desc, boxes, column_desc, at_column, row_desc, at_row, scale, ratio, aligned, mode, out_desc, out = (
        given
    )
    gradients, regions = tensors.values(grad_desc, grad).astype(np.float64), tensors.values(box_desc, boxes)
    result = np.zeros(tensors.shape_of(out_desc))
    channels = np.arange(result.shape[-1])
    for n, box in enumerate(regions):
        spread = result[int(box[0])]
        if mode == _AVERAGE:
            row, column = _samples(box, gradients.shape[1:3], (ratio, scale, bool(aligned)))
            row, column = row[..., None], column[..., None]
            share = gradients[n][:, :, None] / max(row.shape[2], 1)
        else:
            row, column = tensors.values(row_desc, at_row)[n], tensors.values(column_desc, at_column)[n]
            share = np.where(row < 0, 0, gradients[n]) * (column >= 0)
        for r, c, w in zip(*neighbours(spread.shape[:2], row, column), strict=True):
            np.add.at(
                spread,
                (r, c, np.broadcast_to(channels, np.broadcast_shapes(r.shape, share.shape))),
                w * share,
            )
    return tensors.store(driver, out_desc, out, result)


def _bins(low: float, high: float, bins: int, scale: tensors.Argument, size: int) -> list[tuple[int, int]]:
    """Return the first and last pixel of each bin of a region along an axis."""
    # C's round: ties go away from zero.
    first, last = (int(np.floor(abs(v) + 0.5) * np.sign(v)) for v in (low * scale, high * scale))
    step = np.float32(max(last - first + 1, 1)) / np.float32(bins)  # the last pixel is inside
    ends = [(np.floor(np.float32(k) * step), np.ceil(np.float32(k + 1) * step)) for k in range(bins)]
    return [(min(max(int(a) + first, 0), size), min(max(int(b) + first, 0), size)) for a, b in ends]


def pooling(
    driver: tensors.StandInDevice,
    _handle: tensors.Argument,
    _mode: int,
    x_desc: tensors.Argument,
    x: tensors.Argument,
    *given: tensors.Argument,
) -> int:
    """``cnnlRoiPoolingForward``: the largest pixel of each bin and which one it is; 0 and -1 where a bin is empty."""
    box_desc, boxes, scale, out_desc, out, index = given
    picture = tensors.values(x_desc, x)
    _, height, width, channels = picture.shape
    result = np.zeros(tensors.shape_of(out_desc), picture.dtype)
    where = np.full(result.shape, -1, np.int32)
    for n, box in enumerate(tensors.values(box_desc, boxes).astype(np.float32)):
        rows = _bins(box[2], box[4], result.shape[1], np.float32(scale), height)
        columns = _bins(box[1], box[3], result.shape[2], np.float32(scale), width)
        for i, (top, bottom) in enumerate(rows):
            for j, (left, right) in enumerate(columns):
                part = picture[int(box[0]), top:bottom, left:right]
                if part.size:
                    at = part.reshape(-1, channels).argmax(0)
                    where[n, i, j] = (top + at // (right - left)) * width + left + at % (right - left)
                    result[n, i, j] = part.reshape(-1, channels).max(0)
    put(driver, index, where)
    return tensors.store(driver, out_desc, out, result)


def pooling_backward(
    driver: tensors.StandInDevice,
    _handle: object,
    _mode: int,
    grad_desc: object,
    grad: object,
    *given: object,
) -> int:
    """``cnnlRoiPoolingBackward``: each gradient goes to the pixel that was the largest."""
    box_desc, boxes, index_desc, index, _scale, out_desc, out = given
    result = np.zeros(tensors.shape_of(out_desc))
    planes = result.reshape(len(result), -1, result.shape[-1])
    channels = np.arange(result.shape[-1])
    for box, gradient, where in zip(
        tensors.values(box_desc, boxes),
        tensors.values(grad_desc, grad),
        tensors.values(index_desc, index),
        strict=True,
    ):
        shared = (np.maximum(where, 0), np.broadcast_to(channels, where.shape))
        np.add.at(planes[int(box[0])], shared, np.where(where < 0, 0, gradient))
    return tensors.store(driver, out_desc, out, result)


def nms(
    driver: tensors.StandInDevice,
    _handle: object,
    desc: tensors.Descriptor,
    box_desc: object,
    boxes: object,
    *given: object,
) -> int:
    """``cnnlNms_v2``: indices of boxes by their scores, best first, that overlap none kept before by more than a threshold.

    Boxes of two corners and their indices alone.  Raises `Unsupported` for another mode.
    """
    score_desc, scores, _work, _size, out_desc, out, count = given
    attributes = desc.values
    corners = tensors.values(box_desc, boxes).astype(np.float32)
    corners = corners.T if attributes[_LAYOUT] else corners
    if attributes[_MODE] or attributes[_BOX] or corners.ndim != 2 or corners.shape[1] != 4 or not scores:
        raise Unsupported(
            "cnnlNms of other boxes than [x1, y1, x2, y2] with scores, for their indices, is not known"
        )
    worth = tensors.values(score_desc, scores).reshape(-1)
    areas = np.prod(corners[:, 2:] - corners[:, :2], 1)
    kept: list[int] = []
    for n in np.argsort(-worth, kind="stable"):  # equal scores by their place
        if worth[n] <= attributes[_SCORE] or len(kept) == attributes[_MOST]:
            break
        low, high = (
            np.maximum(corners[kept, :2], corners[n, :2]),
            np.minimum(corners[kept, 2:], corners[n, 2:]),
        )
        common = np.prod(np.maximum(high - low, 0), 1)
        # Without a quotient: of empty boxes there is none.
        if not (common > attributes[_THRESHOLD] * (areas[kept] + areas[n] - common)).any():
            kept.append(int(n))
    result = np.zeros(tensors.shape_of(out_desc), np.int32)
    result.reshape(-1)[: len(kept)] = kept
    put(driver, count, np.array([len(kept)], np.int32))
    return tensors.store(driver, out_desc, out, result)
