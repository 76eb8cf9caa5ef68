"""Kernels that sample pictures between their pixels: attention, deformed regions, upsampling."""

import math

import numpy as np

from benchmarks.vendor.bench import Bench, case

FORWARD = "kernels/ms_deform_attn/ms_deform_attn_forward/msda_forward"
BACKWARD = "kernels/ms_deform_attn/ms_deform_attn_backward/ms_deform_attn_backward"


def corners(row, column, h, w):
    """The pixels around a place that are inside, with their weights and the weights' slopes along both axes."""
    top, left = math.floor(row), math.floor(column)
    dy, dx = row - top, column - left
    for i, wy, sy in ((top, 1 - dy, -1), (top + 1, dy, 1)):
        for j, wx, sx in ((left, 1 - dx, -1), (left + 1, dx, 1)):
            if 0 <= i < h and 0 <= j < w:
                yield i, j, wy * wx, sy * wx, wy * sx


def attention(b: Bench, channels=16):
    """Attention at deformed places: what is given, what comes out, and the gradients."""
    batch, heads, queries, points, shapes = 2, 2, 5, 3, ((6, 5), (3, 4))
    starts = np.cumsum([0, *(h * w for h, w in shapes)])
    value = b.random.normal(size=(batch, starts[-1], heads, channels)).astype(np.float32)
    places = b.random.uniform(-0.1, 1.1, (batch, queries, heads, len(shapes), points, 2)).astype(np.float32)
    weights = b.random.uniform(size=places.shape[:-1]).astype(np.float32)
    grad = b.random.normal(size=(batch, queries, heads, channels)).astype(np.float32)
    wanted = np.zeros(grad.shape)
    gradients = [np.zeros(a.shape) for a in (value, places, weights)]
    for at in np.ndindex(weights.shape):
        n, q, head, level, _ = at
        h, w = shapes[level]
        row, column = places[at][1] * np.float32(h) - 0.5, places[at][0] * np.float32(w) - 0.5
        if not (-1 < row < h and -1 < column < w):
            continue
        for i, j, share, down, right in corners(float(row), float(column), h, w):
            pixel = (n, starts[level] + i * w + j, head)
            wanted[n, q, head] += weights[at] * share * value[pixel].astype(float)
            gradients[0][pixel] += weights[at] * share * grad[n, q, head].astype(float)
            along = float(value[pixel].astype(float) @ grad[n, q, head].astype(float))
            gradients[1][at] += np.array([right * w, down * h]) * along * weights[at]
            gradients[2][at] += share * along
    levels = np.array(shapes, np.int32), starts[:-1].astype(np.int32)
    sizes = (batch, starts[-1], heads, channels, len(shapes), queries, points)
    return (value, *levels, places, weights), grad, sizes, wanted, gradients


def forward(b: Bench, name: str) -> None:
    """Run one of the kernels of attention."""
    given, _, sizes, wanted, _ = attention(b)
    out = b.zeros(wanted.shape, np.float32)
    b.union(name, *map(b.put, given), *map(int, sizes), out)
    b.expect(out, wanted, 1e-4)


def backward(b: Bench, name: str) -> None:
    """Run one of the kernels of its gradients."""
    given, grad, sizes, _, gradients = attention(b)
    outs = [b.zeros(g.shape, np.float32) for g in gradients]
    b.union(name, *map(b.put, given), b.put(grad), *map(int, sizes), *outs)
    for out, gradient in zip(outs, gradients, strict=True):
        b.expect(out, gradient, 1e-3)


@case(f"{FORWARD}_union1_default.mlu")
def attention_default(b: Bench) -> None:
    """A query at a time."""
    forward(b, "MLUKernelMsDeformAttnForwardDefault<float>")


@case(f"{FORWARD}_small_channel_union1.mlu")
def attention_small(b: Bench) -> None:
    """Few channels."""
    forward(b, "MLUKernelMsDeformAttnForwardSmallChannel<float>")


@case(f"{FORWARD}_fast_union1.mlu")
def attention_fast(b: Bench) -> None:
    """With gathers."""
    forward(b, "MLUKernelMsDeformAttnForwardFast<float>")


@case(f"{BACKWARD}_union1.mlu")
def attention_gradient(b: Bench) -> None:
    """A query at a time."""
    backward(b, "MLUUnion1KernelMsDeformAttnBackwardDefault")


@case(f"{BACKWARD}_small_channels_union1.mlu")
def attention_gradient_small(b: Bench) -> None:
    """Few channels."""
    backward(b, "MLUUnion1KernelMsDeformAttnBackwardSmallChannelsKernel")


@case(f"{BACKWARD}_fast_union1.mlu")
def attention_gradient_fast(b: Bench) -> None:
    """With gathers and matrix products."""
    backward(b, "MLUUnion1KernelMsDeformAttnBackwardFastKernel")


def edges(row, column, h, w):
    """The pixels around a place that is held inside, each with its weight; none beyond one pixel outside."""
    if row < -1 or row > h or column < -1 or column > w:
        return
    top, left = min(int(max(row, 0.0)), h - 1), min(int(max(column, 0.0)), w - 1)
    bottom, right = min(top + 1, h - 1), min(left + 1, w - 1)
    dy = max(row, 0.0) - top if top < h - 1 else 0.0
    dx = max(column, 0.0) - left if left < w - 1 else 0.0
    above, below, before, behind = (
        bottom - row,
        row - top,
        right - column,
        column - left,
    )  # slopes: as the place is
    yield top, left, (1 - dy) * (1 - dx), -before, -above
    yield top, right, (1 - dy) * dx, -behind, above
    yield bottom, left, dy * (1 - dx), before, -below
    yield bottom, right, dy * dx, behind, below


@case("kernels/deform_roi_pool/deform_roi_pool_union1.mlu")
def deform_roi_pool(b: Bench) -> None:
    """The mean of the samples of each bin, each bin moved by its own offset; and the gradients."""
    batch, h, w, c, count, pooled, scale, ratio, gamma = 2, 9, 8, 12, 4, 3, 0.5, 2, 0.1
    x = b.random.normal(size=(batch, h, w, c)).astype(np.float32)
    boxes = np.sort(b.random.uniform(0, 16, (count, 2, 2)), axis=1).reshape(count, 4)
    rois = np.concatenate([b.random.integers(0, batch, (count, 1)), boxes], 1).astype(np.float32)
    offset = b.random.normal(size=(count, 2, pooled, pooled)).astype(np.float32)
    grad = b.random.normal(size=(count, pooled, pooled, c)).astype(np.float32)
    wanted, gradient, moved = np.zeros(grad.shape), np.zeros(x.shape), np.zeros(offset.shape)
    for n, i, j in np.ndindex(count, pooled, pooled):
        x1, y1, x2, y2 = rois[n, 1:].astype(float) * scale - 0.5
        wide, high = x2 - x1, y2 - y1
        x1, y1 = (
            low + gamma * size * offset[n, k, i, j] for k, (low, size) in enumerate(((x1, wide), (y1, high)))
        )
        for p, q in np.ndindex(ratio, ratio):
            row = y1 + (i + (p + 0.5) / ratio) * high / pooled
            column = x1 + (j + (q + 0.5) / ratio) * wide / pooled
            for top, left, share, down, right in edges(row, column, h, w):
                pixel = (int(rois[n, 0]), top, left)
                wanted[n, i, j] += share * x[pixel] / ratio**2
                gradient[pixel] += share * grad[n, i, j] / ratio**2
                along = float(x[pixel].astype(float) @ grad[n, i, j].astype(float)) / ratio**2
                moved[n, 0, i, j] += right * along * gamma * wide
                moved[n, 1, i, j] += down * along * gamma * high
    given, sizes = (
        (b.put(x), b.put(rois), b.put(offset)),
        (batch, c, h, w, count, pooled, pooled, scale, ratio, gamma),
    )
    out = b.zeros(wanted.shape, np.float32)
    b.union("MLUUnion1DeformRoiPoolForward<float>", *given, out, *sizes)
    b.expect(out, wanted, 1e-4)
    out, turned = b.zeros(x.shape, np.float32), b.zeros(offset.shape, np.float32)
    b.union("MLUUnion1DeformRoiPoolBackward<float>", b.put(grad), *given, out, turned, *sizes)
    b.expect(out, gradient, 1e-4)
    b.expect(turned, moved, 1e-3)


@case("kernels/carafe/carafe_block.mlu")
def carafe(b: Bench) -> None:
    """Each pixel of a larger picture from a window of the smaller, weighted by its own mask; and the gradients."""
    n, h, w, groups, k, scale = 2, 4, 5, 2, 3, 2
    c, half = groups * 9, (k - 1) // 2
    for dtype, name, tolerance in ((np.float32, "float", 1e-4), (np.float16, "half", 2e-2)):
        x = b.random.normal(size=(n, h, w, c)).astype(dtype)
        mask = b.random.uniform(size=(n, h * scale, w * scale, groups * k * k)).astype(dtype)
        grad = b.random.normal(size=(n, h * scale, w * scale, c)).astype(dtype)
        wanted, back, weights = np.zeros(grad.shape), np.zeros(x.shape), np.zeros(mask.shape)
        wide, factors, given = x.astype(float), mask.astype(float), grad.astype(float)
        for i, j, g, p, q in np.ndindex(h * scale, w * scale, groups, k, k):
            row, column, channels = i // scale + p - half, j // scale + q - half, slice(g * 9, g * 9 + 9)
            if 0 <= row < h and 0 <= column < w:
                at = g * k * k + p * k + q
                wanted[:, i, j, channels] += wide[:, row, column, channels] * factors[:, i, j, at, None]
                back[:, row, column, channels] += given[:, i, j, channels] * factors[:, i, j, at, None]
                weights[:, i, j, at] = (wide[:, row, column, channels] * given[:, i, j, channels]).sum(-1)
        out = b.zeros(wanted.shape, dtype)
        sizes = (n, h, w, c, k, groups, scale)
        b.block(f"MLUKernelCarafeForward<{name}>", b.put(x), b.put(mask), out, *sizes, 2, 3, 1, 9, 2, 2, 2, 1)
        b.expect(out, wanted, tolerance)
        outs = b.zeros(x.shape, dtype), b.zeros(mask.shape, dtype)
        b.block(f"MLUKernelCarafeBackward<{name}>", b.put(x), b.put(mask), b.put(grad), *outs, *sizes)
        b.expect(outs[0], back, tolerance)
        b.expect(outs[1], weights, tolerance)
