"""Kernels that pool, mask or lay out regions of pictures."""

import math

import numpy as np

from benchmarks.vendor.bench import Bench, case


def bins(roi, sizes, pooled, scale):
    """Where each bin of a region begins and ends: rows and columns, clipped to the picture; in floats, as it rounds."""
    half, one, scale = np.float32(0.5), np.float32(1), np.float32(scale)
    x1, y1 = (np.floor(v + half) * scale for v in roi[1:3])
    x2, y2 = ((np.floor(v + half) + one) * scale for v in roi[3:5])
    limits = []
    for low, high, size in ((y1, y2, sizes[0]), (x1, x2, sizes[1])):
        step = max(high - low, np.float32(0.1)) / np.float32(pooled)
        numbers = [np.float32(i) for i in range(pooled + 1)]
        edges = [(math.floor(i * step + low), math.ceil((i + one) * step + low)) for i in numbers[:-1]]
        limits.append([tuple(min(max(edge, 0), size) for edge in pair) for pair in edges])
    return limits


@case("kernels/psroipool/psroipool_block.mlu")
def position_sensitive(b: Bench) -> None:
    """The mean of each bin, of the channel that belongs to the bin; and the gradient."""
    batch, h, w, pooled, outputs, count, scale = 2, 9, 11, 3, 5, 7, 0.5
    c = pooled * pooled * outputs
    x = b.random.normal(size=(batch, h, w, c)).astype(np.float32)
    corners = np.sort(b.random.uniform(0, 20, (count, 2, 2)), axis=1).reshape(count, 4)
    rois = np.concatenate([b.random.integers(0, batch, (count, 1)), corners], 1).astype(np.float32)
    wanted = np.zeros((count, pooled, pooled, outputs))
    channels = np.zeros(wanted.shape, np.int32)
    grad = b.random.normal(size=wanted.shape).astype(np.float32)
    gradient = np.zeros(x.shape)
    for n, i, j in np.ndindex(count, pooled, pooled):
        rows, columns = bins(rois[n], (h, w), pooled, scale)
        channels[n, i, j] = np.arange(outputs) * pooled * pooled + i * pooled + j
        at = (int(rois[n, 0]), slice(*rows[i]), slice(*columns[j]))
        area = (rows[i][1] - rows[i][0]) * (columns[j][1] - columns[j][0])
        if area > 0:
            wanted[n, i, j] = x[at][..., channels[n, i, j]].mean((0, 1))
            gradient[at][..., channels[n, i, j]] += grad[n, i, j] / area
    out, index = b.zeros(wanted.shape, np.float32), b.zeros(wanted.shape, np.int32)
    given = (b.put(x), b.put(rois), out, index, batch, h, w, c, pooled, pooled, outputs, pooled, count, 5)
    b.block("MLUKernelPsroipoolForward<float>", *given, scale)
    b.expect(out, wanted, 1e-5)
    b.expect(index, channels)
    out = b.zeros(x.shape, np.float32)
    given = (b.put(grad), b.put(channels), b.put(rois), out, batch, h, w, c, pooled, pooled, outputs, count)
    b.block("MLUKernelPsroipoolBackward<float>", *given, 5, scale)
    b.expect(out, gradient, 1e-4)


@case("kernels/prior_box/prior_box_block.mlu")
def prior_box(b: Bench) -> None:
    """Boxes of each size and shape around each cell, and their variances."""
    h, w, picture_h, picture_w, step_h, step_w, offset = 5, 7, 40, 60, 8.0, 9.0, 0.5
    least, most, ratios = (np.array(v, np.float32) for v in ([4, 9], [7, 16], [1, 2, 0.5]))
    variances = np.array([0.1, 0.1, 0.2, 0.2], np.float32)
    for ordered in (False, True):
        halves = []
        for small, large in zip(least.astype(float), most.astype(float), strict=True):
            square = [(math.sqrt(small * large) / 2,) * 2]
            shapes = [(small * math.sqrt(r) / 2, small / math.sqrt(r) / 2) for r in ratios.astype(float)]
            halves += [shapes[0], *square, *shapes[1:]] if ordered else [*shapes, *square]
        half = np.array(halves)
        rows, columns = np.meshgrid(
            (np.arange(h) + offset) * step_h, (np.arange(w) + offset) * step_w, indexing="ij"
        )
        centre = np.stack([columns, rows], -1)[:, :, None]
        wanted = np.concatenate([centre - half, centre + half], -1) / [
            picture_w,
            picture_h,
            picture_w,
            picture_h,
        ]
        out = b.zeros(wanted.shape, np.float32)
        sizes = (b.put(least), 2, b.put(ratios), 3, b.put(most), 2, h, w, picture_h, picture_w)
        more = (step_h, step_w, offset, len(half), True, ordered, out, out.size)
        b.block("mluKernelPriorBox<float>", *sizes, *more)
        b.expect(out, np.clip(wanted, 0, 1), 1e-5)
    out = b.zeros(wanted.shape, np.float32)
    b.block("mluKernelPriorVar<float>", h, w, len(half), b.put(variances), 4, out)
    b.expect(out, np.broadcast_to(variances, wanted.shape))


@case("kernels/psamask/psamask_union1.mlu")
def psamask(b: Bench) -> None:
    """A mask around each pixel as a picture of its own, collected or distributed; and back."""
    n, h, w, mask_h, mask_w = 2, 7, 6, 5, 3
    half_h, half_w = (mask_h - 1) // 2, (mask_w - 1) // 2
    x = b.random.normal(size=(n, h, w, mask_h * mask_w)).astype(np.float32)
    grad = b.random.normal(size=(n, h, w, h * w)).astype(np.float32)
    for kind in (0, 1):
        given = {"psa_type": kind, "h_mask": mask_h, "w_mask": mask_w}
        wanted = b.wanted("mluOpPsamaskForward", x=x, y=grad, **given)["y"]
        gradient = b.wanted("mluOpPsamaskBackward", dy=grad, dx=x, **given)["dx"]
        split = (1, 0, n, h, w, mask_h, mask_w)
        more = (half_h, half_w, 1, 2, 1, 7, 1, 2, w)
        out = b.zeros(wanted.shape, np.float32)
        sizes = (mask_h * mask_w, h * w)
        b.union("MLUKernelPsamaskForward<float>", b.put(x), out, kind, *split, *sizes, *more)
        b.expect(out, wanted)
        out = b.zeros(gradient.shape, np.float32)
        b.union("MLUKernelPsamaskBackward<float>", b.put(grad), out, kind, *split, *sizes, *more)
        b.expect(out, gradient)


def sigmoid(x):
    """1 / (1 + exp(-x)) in doubles."""
    return 1 / (1 + np.exp(-x.astype(float)))


@case("kernels/yolo_box/yolo_box_block.mlu")
def yolo_box(b: Bench) -> None:
    """Boxes and scores of each anchor in each cell; both are 0 where the confidence is below the threshold."""
    n, anchors, classes, h, w, ratio, threshold, factor = 2, 3, 4, 5, 6, 16, 0.4, 0.3
    sizes = np.array([[160, 170], [90, 100]], np.int32)
    shapes = b.random.integers(5, 60, (anchors, 2)).astype(np.int32)
    for aware, clip, scale in ((False, True, 1.0), (True, False, 1.2)):
        x = b.random.normal(size=(n, anchors * (5 + classes + aware), h, w)).astype(np.float32)
        overlap = sigmoid(x[:, :anchors]) if aware else None
        parts = x[:, anchors if aware else 0 :].reshape(n, anchors, 5 + classes, h, w)
        sure = sigmoid(parts[:, :, 4])
        sure = sure if overlap is None else sure ** (1 - factor) * overlap**factor
        sure = np.where(sure < threshold, 0, sure)
        rows, columns = np.indices((h, w))
        high, wide = (sizes[:, k, None, None, None].astype(float) for k in (0, 1))
        shift = (scale - 1) / 2
        cx = (columns + sigmoid(parts[:, :, 0]) * scale - shift) * wide / w
        cy = (rows + sigmoid(parts[:, :, 1]) * scale - shift) * high / h
        bw = np.exp(parts[:, :, 2].astype(float)) * shapes[:, 0, None, None] * wide / (ratio * w)
        bh = np.exp(parts[:, :, 3].astype(float)) * shapes[:, 1, None, None] * high / (ratio * h)
        boxes = np.stack([cx - bw / 2, cy - bh / 2, cx + bw / 2, cy + bh / 2], 2)
        if clip:
            boxes[:, :, :2] = np.maximum(boxes[:, :, :2], 0)
            last = np.stack([wide, high], 2) - 1
            boxes[:, :, 2:] = np.minimum(boxes[:, :, 2:], last)
        boxes = np.where(sure[:, :, None] > 0, boxes, 0)
        out, scores = b.zeros(boxes.shape, np.float32), b.zeros((n, anchors, classes, h, w), np.float32)
        given = (b.put(x), b.put(sizes), b.put(shapes), classes, threshold, ratio, clip, scale, aware, factor)
        b.block("MLUKernelYoloBox<float>", *given, n, anchors, x.shape[1], h, w, out, scores)
        b.expect(out, boxes, 1e-4)
        b.expect(scores, sure[:, :, None] * sigmoid(parts[:, :, 5:]), 1e-4)
