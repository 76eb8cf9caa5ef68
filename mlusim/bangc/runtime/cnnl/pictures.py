"""Stand-ins on pictures: pooling and convolutions with windows along height and width, pooling of regions, and non-maximum suppression."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from attrs import frozen

from mlusim.bangc.runtime.cnnl.elements import (
    Argument,
    Array,
    Descriptor,
    StandInDevice,
    doubles,
    dtype_of,
    numbers,
    put,
    scalar,
    shape_of,
    store,
    values,
)
from mlusim.errors import Unsupported

_NCHW, _NHWC = 0, 1  # of cnnlTensorLayout_t
_MAX, _WITH_PADDING, _WITHOUT_PADDING = range(3)  # of cnnlPoolingMode_t


@frozen
class _Window:
    """A window of *size* rows and columns; *pad* is (top, bottom, left, right)."""

    size: tuple[int, int]
    pad: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]

    def padded(self, picture: Array, fill: float) -> Array:
        """Return pictures (channels last) padded with *fill*."""
        top, bottom, left, right = self.pad
        if not any(self.pad):
            return picture
        return np.pad(picture, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)

    def taps(self, picture: Array, rows: int, columns: int) -> Iterator[tuple[int, int, Array]]:
        """Yield each row and column of the window, with the elements of the padded pictures under it, for all results.

        Raises `Unsupported` if *rows* or *columns* exceeds the number of window positions.
        """
        for y in range(self.size[0]):
            for x in range(self.size[1]):
                top, left = y * self.dilation[0], x * self.dilation[1]
                bottom = top + (rows - 1) * self.stride[0] + 1
                right = left + (columns - 1) * self.stride[1] + 1
                if bottom > picture.shape[1] or right > picture.shape[2]:
                    raise Unsupported(
                        f"windows for {rows} x {columns} results reach past the padded picture of "
                        f"{picture.shape[1]} x {picture.shape[2]}; give the output the sizes that the window gives"
                    )
                yield y, x, picture[:, top : bottom : self.stride[0], left : right : self.stride[1]]


def _pictures(desc: Argument, array: Array) -> Array:
    """Return a tensor with channels last. Raises `Unsupported` unless it has four axes in NCHW or NHWC."""
    if int(desc.dim) != 4 or int(desc.layout) not in (_NCHW, _NHWC):
        raise Unsupported("a stand-in of cnnl takes pictures of four axes, in the layout NCHW or NHWC")
    return array.transpose(0, 2, 3, 1) if int(desc.layout) == _NCHW else array


def _scaled(
    driver: StandInDevice, result: Array, alpha: object, beta: object, desc: Argument, y: Argument
) -> int:
    """Store ``alpha * result + beta * y``; *result* has channels last and is stored in the output's layout."""
    if alpha is not None and scalar(alpha) != 1:
        result = result * scalar(alpha)
    if beta is not None and scalar(beta):
        result = result + scalar(beta) * _pictures(desc, values(desc, y))
    return store(driver, desc, y, result.transpose(0, 3, 1, 2) if int(desc.layout) == _NCHW else result)


def set_pooling(desc: Descriptor, *arguments: Argument) -> int:
    """``cnnlSetPooling2dDescriptor_v2``: window, paddings of the four sides, strides, dilations."""
    mode, propagates, height, width, top, bottom, left, right, *steps = map(int, arguments[:12])
    window = _Window((height, width), (top, bottom, left, right), tuple(steps[:2]), tuple(steps[2:]))
    desc.values.update(mode=mode, propagates=propagates, window=window)
    return 0


def pool(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlPoolingForward_v2``: maximum or mean of each window; sums in double precision, rounded once."""
    desc, alpha, x_desc, x, beta, _extra, y_desc, y, *_work = arguments
    mode, window = desc.values["mode"], desc.values["window"]
    pictures = _pictures(x_desc, values(x_desc, x))
    # Only the shape is needed: all elements share one byte.
    shape = _pictures(y_desc, np.broadcast_to(np.int8(0), shape_of(y_desc))).shape
    if mode == _MAX:
        larger: Any = np.maximum if desc.values["propagates"] else np.fmax  # fmax ignores NaN
        result = np.full(shape, -np.inf)
        for *_at, seen in window.taps(window.padded(pictures, -np.inf), *shape[1:3]):
            result = larger(result, seen)
    else:
        result = np.zeros(shape)
        for *_at, seen in window.taps(window.padded(pictures, 0), *shape[1:3]):
            result += seen
        count: Any = window.size[0] * window.size[1]
        if mode == _WITHOUT_PADDING:
            ones = window.padded(np.ones((1, *pictures.shape[1:3], 1)), 0)
            count = sum(seen for *_at, seen in window.taps(ones, *shape[1:3]))
        result /= count
    return _scaled(driver, result, alpha, beta, y_desc, y)


def set_convolution(desc: Descriptor, *arguments: Argument) -> int:
    """``cnnlSetConvolutionDescriptor``: the paddings are (top, bottom, left, right)."""
    rank, pad, stride, dilation, groups, _dtype = arguments
    if rank != 4:
        raise Unsupported(f"the stand-in of a convolution takes tensors of 4 axes, not of {rank}")
    desc.values.update(
        pad=tuple(numbers(pad, 4)),
        stride=tuple(numbers(stride, 2)),
        dilation=tuple(numbers(dilation, 2)),
        groups=groups,
    )
    return 0


def convolve(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlConvolutionForward``: sums in double precision, rounded once."""
    desc, _algo, alpha, x_desc, x, w_desc, w, bias_desc, bias, _work, _size, beta, y_desc, y = arguments
    pictures, filters = (
        _pictures(x_desc, values(x_desc, x)),
        _pictures(w_desc, values(w_desc, w)).astype(np.float64),
    )
    set_, groups = desc.values, desc.values["groups"]
    window = _Window(filters.shape[1:3], set_["pad"], set_["stride"], set_["dilation"])
    number, rows, columns, channels = _pictures(y_desc, np.broadcast_to(np.int8(0), shape_of(y_desc))).shape
    each, outputs = filters.shape[3], channels // groups
    if filters.shape[0] != channels or each * groups != pictures.shape[3] or outputs * groups != channels:
        raise Unsupported(
            f"{filters.shape[0]} filters of {each} channels in {groups} groups do not take {pictures.shape[3]} channels "
            f"to {channels}; look at the layouts of the descriptors"
        )
    result = np.zeros((number, rows, columns, channels))
    if bias:
        result += values(bias_desc, bias).reshape(-1)
    for n in range(number):  # one picture at a time: all in double would take eight times their memory
        for v, u, seen in window.taps(
            window.padded(pictures[n : n + 1].astype(np.float64), 0), rows, columns
        ):
            for group in range(groups):
                part, out = (
                    seen[0, ..., group * each : (group + 1) * each],
                    slice(group * outputs, (group + 1) * outputs),
                )
                result[n, ..., out] += part @ filters[out, v, u].T
    return _scaled(driver, result, alpha, beta, y_desc, y)


# Deformable convolutions, whose taps are moved by offsets and weighted by a mask: forward, and gradients of
# data and weights.


def set_deformed(desc: Descriptor, *arguments: Argument) -> int:
    """``cnnlSetDCNDescriptor``: the paddings are (top, bottom, left, right)."""
    rank, pad, stride, dilation, deformable, convolution, *_rest = arguments
    axes = rank - 2
    groups = {"deformable": int(deformable), "convolution": int(convolution)}
    steps = {"stride": numbers(stride, axes), "dilation": numbers(dilation, axes)}
    # Of top and left; the size of the output determines the others.
    desc.values.update(pad=numbers(pad, 2 * axes)[::2], **steps, **groups)
    return 0


@frozen
class _Tap:
    """A tap of the kernel in one deformable group: the pixels around its sampling point with weights and slopes, and the mask."""

    at: tuple[int, int]
    channels: slice
    number: int  # index among the taps of all groups
    # Row, column, weight, slopes along both axes.
    corners: list[tuple[Array, Array, Array, Array, Array]]
    mask: Argument

    def read(self, picture: Array, which: int) -> Array:
        """Return the sum of the pixels times their weights (2) or slopes (3, 4)."""
        first = np.arange(len(picture))[:, None, None]
        near = (picture[first, c[0], c[1], self.channels] * c[which][..., None] for c in self.corners)
        total: Any = sum(near)
        return np.asarray(total)


def _corners(row: Array, column: Array, shape: tuple[int, int]) -> Iterator[tuple[Array, ...]]:
    """Yield the four pixels around each point; pixels outside have weight 0."""
    height, width = shape
    top, left = np.floor(row).astype(np.int64), np.floor(column).astype(np.int64)
    down, across = row - top, column - left
    for below in (0, 1):
        for right in (0, 1):
            r, c = top + below, left + right
            inside = (r >= 0) & (r < height) & (c >= 0) & (c < width)
            share = (down if below else 1 - down), (across if right else 1 - across)
            slopes = (2 * below - 1) * share[1], (2 * right - 1) * share[0]
            parts = (np.where(inside, p, 0) for p in (share[0] * share[1], *slopes))
            yield (np.clip(r, 0, height - 1), np.clip(c, 0, width - 1), *parts)


def _taps(
    desc: Descriptor, picture: Array, offset: Array, mask: Argument, kernel: tuple[int, int]
) -> Iterator[_Tap]:
    groups, (high, wide) = desc.values["deformable"], kernel
    part = picture.shape[-1] // groups
    (pad_y, pad_x), (step_y, step_x) = desc.values["pad"], desc.values["stride"]
    far_y, far_x = desc.values["dilation"]
    rows, columns = (np.arange(n) for n in offset.shape[1:3])
    for number in range(groups * high * wide):
        y, x = number // wide % high, number % wide
        row = (rows * step_y - pad_y + y * far_y)[:, None] + offset[..., 2 * number]
        column = (columns * step_x - pad_x + x * far_x) + offset[..., 2 * number + 1]
        group = number // (high * wide)
        corners: Any = list(_corners(row, column, picture.shape[1:3]))
        weight = 1.0 if mask is None else mask[..., number, None]
        yield _Tap((y, x), slice(group * part, (group + 1) * part), number, corners, weight)


def _tensors(*pairs: object) -> list[Any]:
    """Return the tensors in double precision; None for absent ones."""
    return [doubles(d, p) if p else None for d, p in zip(pairs[::2], pairs[1::2], strict=True)]


def _split(tap: _Tap, inputs: int, groups: int, outputs: int) -> Iterator[tuple[slice, slice, slice]]:
    """Yield for each group the slices of a tap's channels: in the outputs, in the filters, and in the tap."""
    each = inputs // groups
    for group in range(groups):
        low, high = max(tap.channels.start, group * each), min(tap.channels.stop, (group + 1) * each)
        if low < high:
            out = slice(group * outputs // groups, (group + 1) * outputs // groups)
            start = tap.channels.start
            yield out, slice(low - group * each, high - group * each), slice(low - start, high - start)


def convolve_deformed(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlDCNForward``; mask and bias may be absent."""
    desc, *rest = arguments
    picture, offset, mask, weight, bias = _tensors(*rest[:10])
    _work, _size, out_desc, out = rest[10:]
    outputs, high, wide, _ = weight.shape
    result = np.zeros((*offset.shape[:3], outputs)) + (0 if bias is None else bias)
    for tap in _taps(desc, picture, offset, mask, (high, wide)):
        read = tap.read(picture, 2) * tap.mask
        for to, inner, part in _split(tap, picture.shape[-1], desc.values["convolution"], outputs):
            result[..., to] += read[..., part] @ weight[to, tap.at[0], tap.at[1], inner].T
    return store(driver, out_desc, out, result)


def deformed_data_gradient(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlDCNBackwardData``: the gradients of the picture, the offsets and the mask."""
    desc, *rest = arguments
    picture, offset, mask, weight, grad = _tensors(*rest[:10])
    _work, _size, *results = rest[10:]
    gradients = [np.zeros_like(picture), np.zeros_like(offset), None if mask is None else np.zeros_like(mask)]
    outputs, high, wide, _ = weight.shape
    for tap in _taps(desc, picture, offset, mask, (high, wide)):
        back = np.zeros((*offset.shape[:3], tap.channels.stop - tap.channels.start))
        for to, inner, part in _split(tap, picture.shape[-1], desc.values["convolution"], outputs):
            back[..., part] += grad[..., to] @ weight[to, tap.at[0], tap.at[1], inner]
        if gradients[2] is not None:  # before `back` includes the mask
            gradients[2][..., tap.number] = (back * tap.read(picture, 2)).sum(-1)
        back *= tap.mask
        for axis in (0, 1):
            gradients[1][..., 2 * tap.number + axis] = (back * tap.read(picture, 3 + axis)).sum(-1)
        first = np.arange(len(picture))[:, None, None]
        for row, column, share, *_ in tap.corners:
            # Taps share pixels, so gradients are accumulated.
            np.add.at(gradients[0][..., tap.channels], (first, row, column), back * share[..., None])
    for n, result in enumerate(gradients):
        if result is not None and results[2 * n + 1]:
            store(driver, results[2 * n], results[2 * n + 1], result)
    return 0


def deformed_weight_gradient(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlDCNBackwardWeight``: the gradients of the filters and of the bias."""
    desc, *rest = arguments
    picture, offset, mask, grad = _tensors(*rest[:8])
    _work, _size, weight_desc, weight, bias_desc, bias = rest[8:]
    result = np.zeros(shape_of(weight_desc))
    outputs, high, wide, _ = shape_of(weight_desc)
    for tap in _taps(desc, picture, offset, mask, (high, wide)):
        read = tap.read(picture, 2) * tap.mask
        for to, inner, part in _split(tap, picture.shape[-1], desc.values["convolution"], outputs):
            flat = grad[..., to].reshape(-1, to.stop - to.start)
            result[to, tap.at[0], tap.at[1], inner] += flat.T @ read[..., part].reshape(len(flat), -1)
    if bias:
        put(driver, bias, grad.sum((0, 1, 2)).astype(dtype_of(bias_desc)))
    return store(driver, weight_desc, weight, result)


# Regions of pictures: RoI align and RoI pooling with their gradients, and non-maximum suppression.

_MAX_MODE, _AVERAGE = 0, 1  # of pool_mode
_MODE, _THRESHOLD, _MOST, _SCORE, _LAYOUT, _BOX = 0, 1, 2, 3, 5, 7  # of cnnlNmsDescAttribute_t


def neighbours(
    shape: tuple[int, int], row: Array, column: Array
) -> "tuple[list[Array], list[Array], list[Array]]":
    """Return rows, columns and weights of the four pixels around each point; weights are 0 for points more than 1 outside."""
    height, width = shape
    outside = (row < -1) | (row > height) | (column < -1) | (column > width)
    row, column = np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)
    top, left = np.floor(row).astype(np.int64), np.floor(column).astype(np.int64)
    bottom, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    down, across = row - top, column - left
    weights = [(1 - down) * (1 - across), (1 - down) * across, down * (1 - across), down * across]
    return [top, top, bottom, bottom], [left, right, left, right], [np.where(outside, 0, w) for w in weights]


def _places(
    box: Array, pooled: tuple[int, int], ratio: int, scale: float, aligned: bool
) -> tuple[Array, Array]:
    """Return the rows and columns of a region's sampling points: arrays of bins and samples for each axis."""
    shift = np.float32(0.5 if aligned else 0)
    x1, y1, x2, y2 = (np.float32(v) * np.float32(scale) - shift for v in box[1:])
    places = []
    for low, high, bins in ((y1, y2, pooled[0]), (x1, x2, pooled[1])):
        # Without alignment a region has at least one pixel, as in frameworks.
        size = high - low if aligned else max(high - low, np.float32(1))
        step = np.float32(size / np.float32(bins))
        count = ratio if ratio > 0 else max(int(np.ceil(step)), 0)  # as many as the bin has pixels
        within = (np.arange(count, dtype=np.float32) + np.float32(0.5)) * step / np.float32(max(count, 1))
        places.append(low + np.arange(bins, dtype=np.float32)[:, None] * step + within)
    return places[0], places[1]


def _samples(box: Array, pooled: tuple[int, int], how: tuple[int, float, bool]) -> tuple[Array, Array]:
    """Return the rows and columns of a region's samples, each as an array of [high, wide, samples]."""
    rows, columns = _places(box, pooled, *how)
    shape = (*pooled, rows.shape[1], columns.shape[1])
    grid = (np.broadcast_to(rows[:, None, :, None], shape), np.broadcast_to(columns[None, :, None, :], shape))
    return grid[0].reshape(*pooled, -1), grid[1].reshape(*pooled, -1)


def set_align(desc: Descriptor, *arguments: Argument) -> int:
    """Do ``cnnlSetRoiAlignDescriptor_v2``: keep the sizes and the mode of an RoI align."""
    high, wide, ratio, scale, mode, aligned = arguments
    desc.values.update(pooled=(high, wide), how=(ratio, scale, bool(aligned)), mode=mode)
    return 0


def align(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlRoiAlign_v2``: mean or maximum of interpolated samples, and the position of the maximum."""
    desc, x_desc, x, box_desc, boxes, out_desc, out, column_desc, at_column, row_desc, at_row = arguments
    picture, regions = values(x_desc, x), values(box_desc, boxes)
    result = np.zeros(shape_of(out_desc))
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
        for target, place in zip(where, (column, row), strict=True):
            target[n] = np.take_along_axis(place, best.reshape(*best.shape[:2], -1), 2)
    if desc.values["mode"] == _MAX_MODE:
        store(driver, column_desc, at_column, where[0])
        store(driver, row_desc, at_row, where[1])
    return store(driver, out_desc, out, result)


def align_backward(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlRoiAlignBackward_v2``: distribute each gradient to the pixels from which its sample was interpolated."""
    grad_desc, grad, box_desc, boxes, column_desc, at_column, row_desc, at_row, *rest = arguments
    scale, ratio, aligned, mode, out_desc, out = rest
    gradients, regions = doubles(grad_desc, grad), values(box_desc, boxes)
    result = np.zeros(shape_of(out_desc))
    channels = np.arange(result.shape[-1])
    for n, box in enumerate(regions):
        spread = result[int(box[0])]
        if mode == _AVERAGE:
            row, column = _samples(box, gradients.shape[1:3], (ratio, scale, bool(aligned)))
            row, column = row[..., None], column[..., None]
            share = gradients[n][:, :, None] / max(row.shape[2], 1)
        else:
            row, column = values(row_desc, at_row)[n], values(column_desc, at_column)[n]
            share = np.where(row < 0, 0, gradients[n]) * (column >= 0)
        for r, c, w in zip(*neighbours(spread.shape[:2], row, column), strict=True):
            np.add.at(
                spread,
                (r, c, np.broadcast_to(channels, np.broadcast_shapes(r.shape, share.shape))),
                w * share,
            )
    return store(driver, out_desc, out, result)


def _bins(low: float, high: float, bins: int, scale: Argument, size: int) -> list[tuple[int, int]]:
    """Return the first and last pixel of each bin of a region along an axis."""
    # C's round: ties away from zero.
    first, last = (int(np.floor(abs(v) + 0.5) * np.sign(v)) for v in (low * scale, high * scale))
    step = np.float32(max(last - first + 1, 1)) / np.float32(bins)  # the last pixel is included
    ends = [(np.floor(np.float32(k) * step), np.ceil(np.float32(k + 1) * step)) for k in range(bins)]
    return [(min(max(int(a) + first, 0), size), min(max(int(b) + first, 0), size)) for a, b in ends]


def pooling(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlRoiPoolingForward``: the maximum of each bin and its index; 0 and -1 for an empty bin."""
    _mode, x_desc, x, box_desc, boxes, scale, out_desc, out, index = arguments
    picture = values(x_desc, x)
    _, height, width, channels = picture.shape
    result = np.zeros(shape_of(out_desc), picture.dtype)
    where = np.full(result.shape, -1, np.int32)
    for n, box in enumerate(values(box_desc, boxes).astype(np.float32)):
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
    return store(driver, out_desc, out, result)


def pooling_backward(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlRoiPoolingBackward``: add each gradient to the pixel that was the maximum."""
    _mode, grad_desc, grad, box_desc, boxes, index_desc, index, _scale, out_desc, out = arguments
    result = np.zeros(shape_of(out_desc))
    planes = result.reshape(len(result), -1, result.shape[-1])
    channels = np.arange(result.shape[-1])
    for box, gradient, where in zip(
        values(box_desc, boxes), values(grad_desc, grad), values(index_desc, index), strict=True
    ):
        shared = (np.maximum(where, 0), np.broadcast_to(channels, where.shape))
        np.add.at(planes[int(box[0])], shared, np.where(where < 0, 0, gradient))
    return store(driver, out_desc, out, result)


def nms(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlNms_v2``: the indices, by descending score, of the boxes that overlap no box of a higher score by more than a threshold.

    Boxes have two corners, or seven numbers [x, y, z, dx, dy, dz, angle], of which the projection to x and y
    counts; without scores the order of the boxes is used. Raises `Unsupported` for another mode.
    """
    desc, box_desc, boxes, score_desc, scores, _work, _size, out_desc, out, count = arguments
    attributes = desc.values
    every = values(box_desc, boxes).astype(np.float32)
    every = every.T if attributes[_LAYOUT] else every
    numbers = every.shape[1] if every.ndim == 2 else 0
    if attributes[_MODE] or not (numbers == 7 or (numbers == 4 and scores and not attributes[_BOX])):
        raise Unsupported(
            "cnnlNms of other boxes than [x1, y1, x2, y2] with scores or [x, y, z, dx, dy, dz, angle], for their indices, is not known"
        )
    common = _common_of_corners if numbers == 4 else _common_from_above
    areas = np.prod(every[:, 2:] - every[:, :2] if numbers == 4 else every[:, 3:5], 1)
    worth = values(score_desc, scores).reshape(-1) if scores else None
    # Equal scores are ordered by index.
    order = range(len(every)) if worth is None else np.argsort(-worth, kind="stable")
    chosen: list[int] = []
    for n in order:
        if len(chosen) == attributes[_MOST] or (worth is not None and worth[n] <= attributes[_SCORE]):
            break
        shared = common(every[chosen], every[n])
        # Without a division: empty boxes would divide by zero.
        if not (shared > attributes[_THRESHOLD] * (areas[chosen] + areas[n] - shared)).any():
            chosen.append(int(n))
    result = np.zeros(shape_of(out_desc), np.int32)
    result.reshape(-1)[: len(chosen)] = chosen
    put(driver, count, np.array([len(chosen)], np.int32))
    return store(driver, out_desc, out, result)


def _common_of_corners(boxes: Array, box: Array) -> Array:
    """Return the area that each of *boxes*, [x1, y1, x2, y2], shares with *box*."""
    low, high = np.maximum(boxes[:, :2], box[:2]), np.minimum(boxes[:, 2:], box[2:])
    shared: Array = np.prod(np.maximum(high - low, 0), 1)
    return shared


def _common_from_above(boxes: Array, box: Array) -> Array:
    """Return the area that each of *boxes*, [x, y, z, dx, dy, dz, angle], shares with *box* in x and y."""
    shared = np.zeros(len(boxes))
    apart = np.hypot(*(boxes[:, :2] - box[:2]).T)
    reach = (np.hypot(boxes[:, 3], boxes[:, 4]) + np.hypot(box[3], box[4])) / 2
    outline = _outline(box)
    for n in np.flatnonzero(apart < reach):  # other boxes are too far away
        x, y = _clipped(_outline(boxes[n]), outline).T
        # The area of a counterclockwise polygon.
        shared[n] = float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2
    return shared


def _outline(box: Array) -> Array:
    """Return the four corners of a seven-number box in x and y, counterclockwise: an array of [4, 2]."""
    x, y, _, dx, dy, _, angle = (float(v) for v in box)
    corners = np.array([[-dx, -dy], [dx, -dy], [dx, dy], [-dx, dy]]) / 2
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    outline: Array = corners @ turn + (x, y)
    return outline


def _clipped(polygon: Array, by: Array) -> Array:
    """Return the intersection of a convex *polygon* with the convex polygon *by*, both counterclockwise: an array of [corners, 2]."""
    for first, second in zip(by, np.roll(by, -1, 0), strict=True):
        if not len(polygon):
            break
        (along_x, along_y), away = second - first, polygon - first
        side = along_x * away[:, 1] - along_y * away[:, 0]  # >= 0 is inside
        corners = []
        for n, (here, before) in enumerate(zip(side, np.roll(side, 1), strict=True)):
            if (here >= 0) != (before >= 0):
                corners.append(polygon[n - 1] + (polygon[n] - polygon[n - 1]) * (before / (before - here)))
            if here >= 0:
                corners.append(polygon[n])
        polygon = np.array(corners).reshape(-1, 2)
    return polygon
