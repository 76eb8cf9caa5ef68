"""Kernels on boxes and regions."""

import numpy as np

from benchmarks.vendor.bench import NAMES, Bench, case
from benchmarks.vendor.references.bilinear import between, inside


def overlap(a, b):
    """The area of two boxes in common over the area of both."""
    low, high = np.maximum(a[..., :2], b[..., :2]), np.minimum(a[..., 2:], b[..., 2:])
    sides = np.maximum(high - low, 0)
    common = sides[..., 0] * sides[..., 1]
    areas = [(z[..., 2] - z[..., 0]) * (z[..., 3] - z[..., 1]) for z in (a, b)]
    return common / np.maximum(areas[0] + areas[1] - common, 1e-12)


def some_boxes(b: Bench, count, largest=10):
    """Random boxes, corners in order."""
    corners = np.sort(b.random.uniform(0, largest, (count, 2, 2)), axis=1)
    return corners.reshape(count, 4).astype(np.float32)


@case("kernels/bbox_overlaps/bbox_overlaps_union1.mlu")
def bbox_overlaps(b: Bench) -> None:
    """Pairs of boxes, and every box with every other."""
    n = 30
    first, second = some_boxes(b, n), some_boxes(b, n)
    out = b.zeros(n, np.float32)
    name = "MLUUnion1BboxOverlapsKernel<float>"
    b.union(name, b.put(first), b.put(second), out, n, n, 0, True, 0)
    b.expect(out, overlap(first, second), 1e-4)
    out = b.zeros((n, n), np.float32)
    b.union(name, b.put(first), b.put(second), out, n, n, 0, False, 0)
    b.expect(out, overlap(first[:, None], second[None]), 1e-4)


@case("kernels/poly_nms/poly_nms_block_calc_area.mlu")
def areas(b: Bench) -> None:
    """The areas of quadrangles."""
    n = 20
    corners = b.random.uniform(0, 10, (n, 4, 2)).astype(np.float32)
    boxes = np.concatenate([corners.reshape(n, 8), b.random.uniform(size=(n, 1))], 1).astype(np.float32)
    out = b.zeros(n, np.float32)
    b.block("mluCalcArea", b.put(boxes), n, 9, out)
    x, y = corners[..., 0].astype(float), corners[..., 1].astype(float)
    wanted = np.abs((x * np.roll(y, -1, 1) - y * np.roll(x, -1, 1)).sum(1)) / 2
    b.expect(out, wanted, 1e-3)


@case("kernels/roi_crop/roi_crop_block.mlu")
def roi_crop(b: Bench) -> None:
    """Four neighbours of places on a grid, and the gradient."""
    batch, h, w, c, grids, high, wide = 2, 7, 9, 6, 4, 3, 3
    x = b.random.normal(size=(batch, h, w, c)).astype(np.float32)
    grid = b.random.uniform(-1.2, 1.2, (grids, high, wide, 2)).astype(np.float32)
    grad = b.random.normal(size=(grids, high, wide, c)).astype(np.float32)
    wanted, gradient = np.zeros(grad.shape), np.zeros(x.shape)
    for n in range(grids):
        source = n // (grids // batch)
        rows, columns = ((grid[n, ..., k] + np.float32(1)) * (size - 1) / 2 for k, size in enumerate((h, w)))
        for row, column, share, _, _ in inside((h, w), rows, columns):
            wanted[n] += share[..., None] * x[source, row, column]
            np.add.at(gradient[source], (row, column), share[..., None] * grad[n])
    out = b.zeros(wanted.shape, np.float32)
    b.block("MLUKernelRoiCropForward<float>", b.put(x), batch, h, w, c, b.put(grid), grids, out, high, wide)
    b.expect(out, wanted, 1e-5)
    out = b.zeros(gradient.shape, np.float32)
    b.block(
        "MLUKernelRoiCropBackward<float>", b.put(grad), high, wide, b.put(grid), grids, out, batch, h, w, c
    )
    b.expect(out, gradient, 1e-5)


@case("kernels/border_align/border_align_forward/border_align_forward_union1.mlu")
def border_align_forward(b: Bench) -> None:
    """The largest value along each border of each box, and where it is."""
    n, h, w, c, pool = 1, 6, 7, 8, 5
    k = h * w
    x = b.random.normal(size=(n, h, w, 4 * c)).astype(np.float32)
    boxes = np.sort(b.random.uniform(0, 6, (n, k, 2, 2)), axis=2).reshape(n, k, 4).astype(np.float32)
    out, index = b.zeros((n, k, 4, c), np.float32), b.zeros((n, k, 4, c), np.int32)
    name = f"MLUKernelBorderAlignForward<{NAMES[np.dtype(np.float32)]}>"
    b.union(name, b.put(x), b.put(boxes), pool, n, h, w, c, k, out, index)
    wanted = np.zeros((n, k, 4, c))
    for i, j in np.ndindex(n, k):
        x1, y1, x2, y2 = boxes[i, j].astype(float)
        starts = ((x1, y1, (x2 - x1) / pool, 0), (x1, y1, 0, (y2 - y1) / pool))
        starts += ((x2, y2, -(x2 - x1) / pool, 0), (x2, y2, 0, -(y2 - y1) / pool))
        for side, (column, row, right, down) in enumerate(starts):
            part = x[i, :, :, side * c : (side + 1) * c].astype(float)
            steps = np.arange(pool + 1)
            wanted[i, j, side] = between(part, row + steps * down, column + steps * right).max(0)
    b.expect(out, wanted, 1e-4)
