"""Pooling and convolutions of pictures: windows that go along height and width."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from attrs import frozen

from mlusim.errors import Unsupported
from mlusim.frontend.bangc.runtime.cnnl.tensors import (
    Argument,
    Array,
    Descriptor,
    StandInDevice,
    numbers,
    scalar,
    shape_of,
    store,
    values,
)

_NCHW, _NHWC = 0, 1  # of cnnlTensorLayout_t
_MAX, _WITH_PADDING, _WITHOUT_PADDING = range(3)  # of cnnlPoolingMode_t


@frozen
class _Window:
    """A window of *size* rows and columns; *pad* is of the top, the bottom, the left and the right."""

    size: tuple[int, int]
    pad: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]

    def padded(self, picture: Array, fill: float) -> Array:
        """Return pictures, channels last, with *fill* around them."""
        top, bottom, left, right = self.pad
        if not any(self.pad):
            return picture
        return np.pad(picture, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)

    def taps(self, picture: Array, rows: int, columns: int) -> Iterator[tuple[int, int, Array]]:
        """Yield for each place of the window its row and column, and what it sees of padded pictures.

        Raises `Unsupported` for more results than there are places of the window.
        """
        for y in range(self.size[0]):
            for x in range(self.size[1]):
                top, left = y * self.dilation[0], x * self.dilation[1]
                bottom, right = (
                    top + (rows - 1) * self.stride[0] + 1,
                    left + (columns - 1) * self.stride[1] + 1,
                )
                if bottom > picture.shape[1] or right > picture.shape[2]:
                    raise Unsupported(
                        f"windows for {rows} x {columns} results reach past the padded picture of "
                        f"{picture.shape[1]} x {picture.shape[2]}; give the output the sizes that the window gives"
                    )
                yield y, x, picture[:, top : bottom : self.stride[0], left : right : self.stride[1]]


def _pictures(desc: Argument, array: Array) -> Array:
    """View a tensor with its channels last.  Raises `Unsupported` for other tensors than four axes in NCHW or NHWC."""
    if int(desc.dim) != 4 or int(desc.layout) not in (_NCHW, _NHWC):
        raise Unsupported("a stand-in of cnnl takes pictures of four axes, in the layout NCHW or NHWC")
    return array.transpose(0, 2, 3, 1) if int(desc.layout) == _NCHW else array


def _scaled(
    driver: StandInDevice, result: Array, alpha: object, beta: object, desc: Argument, y: Argument
) -> int:
    """Store ``alpha * result + beta * y``: pictures with channels last, in the layout of the output."""
    if alpha is not None and scalar(alpha) != 1:
        result = result * scalar(alpha)
    if beta is not None and scalar(beta):
        result = result + scalar(beta) * _pictures(desc, values(desc, y))
    return store(driver, desc, y, result.transpose(0, 3, 1, 2) if int(desc.layout) == _NCHW else result)


def set_pooling(desc: Descriptor, mode: int, propagates: int, *given: Argument) -> int:
    """``cnnlSetPooling2dDescriptor_v2``: the window, paddings of the four sides, strides, dilations."""
    height, width, top, bottom, left, right, *steps = map(int, given[:10])
    window = _Window((height, width), (top, bottom, left, right), tuple(steps[:2]), tuple(steps[2:]))
    desc.values.update(mode=mode, propagates=propagates, window=window)
    return 0


def pool(
    driver: StandInDevice,
    _handle: object,
    desc: Descriptor,
    alpha: object,
    x_desc: object,
    x: object,
    *given: object,
) -> int:
    """``cnnlPoolingForward_v2``: the largest or the mean of each window; sums in double precision, rounded once."""
    beta, _extra, y_desc, y, *_work = given
    mode, window = desc.values["mode"], desc.values["window"]
    pictures = _pictures(x_desc, values(x_desc, x))
    # For the shape alone: one byte is seen under all of it.
    shape = _pictures(y_desc, np.broadcast_to(np.int8(0), shape_of(y_desc))).shape
    if mode == _MAX:
        larger: Any = np.maximum if desc.values["propagates"] else np.fmax  # fmax leaves NaN out
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


def set_convolution(
    desc: Descriptor, rank: int, pad: object, stride: object, dilation: object, groups: int, _dtype: int
) -> int:
    """``cnnlSetConvolutionDescriptor``: paddings are of the top, the bottom, the left and the right."""
    if rank != 4:
        raise Unsupported(f"the stand-in of a convolution takes tensors of 4 axes, not of {rank}")
    desc.values.update(
        pad=tuple(numbers(pad, 4)),
        stride=tuple(numbers(stride, 2)),
        dilation=tuple(numbers(dilation, 2)),
        groups=groups,
    )
    return 0


def convolve(
    driver: StandInDevice, _handle: object, desc: Descriptor, _algo: int, alpha: object, *given: object
) -> int:
    """``cnnlConvolutionForward``: sums in double precision, rounded once."""
    x_desc, x, w_desc, w, bias_desc, bias, _work, _size, beta, y_desc, y = given
    pictures, filters = (
        _pictures(x_desc, values(x_desc, x)),
        _pictures(w_desc, values(w_desc, w)).astype(np.float64),
    )
    set_, groups = desc.values, desc.values["groups"]
    window = _Window(filters.shape[1:3], set_["pad"], set_["stride"], set_["dilation"])
    number, rows, columns, channels = _pictures(y_desc, np.broadcast_to(np.int8(0), shape_of(y_desc))).shape
    each, own = filters.shape[3], channels // groups
    if filters.shape[0] != channels or each * groups != pictures.shape[3] or own * groups != channels:
        raise Unsupported(
            f"{filters.shape[0]} filters of {each} channels in {groups} groups do not take {pictures.shape[3]} channels "
            f"to {channels}; look at the layouts of the descriptors"
        )
    result = np.zeros((number, rows, columns, channels))
    if bias:
        result += values(bias_desc, bias).reshape(-1)
    for n in range(number):  # one picture at a time: doubles of all would take eight times their memory
        for v, u, seen in window.taps(
            window.padded(pictures[n : n + 1].astype(np.float64), 0), rows, columns
        ):
            for group in range(groups):
                part, out = (
                    seen[0, ..., group * each : (group + 1) * each],
                    slice(group * own, (group + 1) * own),
                )
                result[n, ..., out] += part @ filters[out, v, u].T
    return _scaled(driver, result, alpha, beta, y_desc, y)
