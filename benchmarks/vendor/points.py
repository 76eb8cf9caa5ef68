"""Kernels on clouds of points: neighbours, balls, boxes, voxels."""

import numpy as np

from benchmarks.vendor.bench import Bench, case


@case("kernels/three_nn_forward/three_nn_forward_union1.mlu")
def three_neighbours(b: Bench) -> None:
    """The three nearest known points of each unknown one; the first of equals."""
    batch, n, k = 2, 37, 41
    unknown = b.random.normal(size=(batch, n, 3)).astype(np.float32)
    known = b.random.normal(size=(batch, k, 3)).astype(np.float32)
    distance, index = b.zeros((batch, n, 3), np.float32), b.zeros((batch, n, 3), np.int32)
    given = (b.put(unknown), b.put(known.transpose(0, 2, 1)))
    b.union("MLUKernelThreeNNForward<float>", batch, n, k, *given, distance, index)
    squares = ((unknown[:, :, None] - known[:, None]) ** 2).sum(-1)
    order = np.argsort(squares, -1, kind="stable")[..., :3]
    b.expect(distance, np.take_along_axis(squares, order, -1), 1e-4)
    b.expect(index, order)


@case("kernels/ball_query/ball_query_union1.mlu")
def ball_query(b: Bench) -> None:
    """The first points inside a ball around each centre; the first of all fills what is left."""
    batch, n, m, samples = 2, 60, 9, 5
    points = b.random.uniform(size=(batch, n, 3)).astype(np.float32)
    centres = b.random.uniform(size=(batch, m, 3)).astype(np.float32)
    index = b.zeros((batch, m, samples), np.int32)
    numbers = (batch, n, m, 0.0, 0.4, samples)
    b.union("MLUUnion1KernelBallQuery<float>", *numbers, b.put(centres), b.put(points), index)
    wanted = np.zeros((batch, m, samples), np.int32)
    for i in range(batch):
        for j in range(m):
            squares = ((points[i] - centres[i, j]) ** 2).sum(-1)
            hits = np.flatnonzero(squares < 0.16)[:samples]
            if len(hits):
                wanted[i, j] = hits[0]
                wanted[i, j, : len(hits)] = hits
    b.expect(index, wanted)


@case("kernels/voxel_pooling_forward/voxel_pooling_forward_union1.mlu")
def voxel_pooling(b: Bench) -> None:
    """The features of all points of a voxel, summed; where each point went."""
    batch, n, c, x, y, z = 2, 50, 40, 5, 4, 1
    places = b.random.integers(-1, 6, (batch, n, 3)).astype(np.int32)
    features = b.random.normal(size=(batch, n, c)).astype(np.float32)
    out = b.zeros((batch, y, x, c), np.float32)
    memo = b.put(np.full((batch, n, 3), -1, np.int32))
    b.union("MLUKernelVoxelPoolingForward", batch, n, c, x, y, z, b.put(places), b.put(features), out, memo)
    wanted, went = np.zeros((batch, y, x, c)), np.full((batch, n, 3), -1, np.int32)
    for i in range(batch):
        for k in range(n):
            px, py, pz = places[i, k]
            if 0 <= px < x and 0 <= py < y and 0 <= pz < z:
                wanted[i, py, px] += features[i, k]
                went[i, k] = i, py, px
    b.expect(out, wanted, 1e-4)
    b.expect(memo, went)


@case("kernels/dynamic_point_to_voxel/dynamic_point_to_voxel_forward/dynamic_point_to_voxel_mask_block.mlu")
def mask_coordinates(b: Bench) -> None:
    """A point with a negative coordinate has only negative ones."""
    points = b.random.integers(-1, 5, (300, 3)).astype(np.int32)
    tensor = b.put(points)
    b.block("MLUKernelMaskFillCoorsForward", 300, tensor)
    wanted = points.copy()
    wanted[(points < 0).any(1)] = -1
    b.expect(tensor, wanted)


@case("kernels/voxelization/voxelization_kernel.mlu")
def voxel_coordinates(b: Bench) -> None:
    """The voxel of each point, a row each of z, y and x; -1 outside the range."""
    n, features = 300, 4
    points = b.random.uniform(-1, 6, (n, features)).astype(np.float32)
    size = np.array([0.5, 0.5, 1], np.float32)
    span = np.array([0, 0, 0, 5, 4, 3], np.float32)
    out = b.zeros((3, n), np.int32)
    b.block("mluDynamicVoxelize", b.put(points), b.put(size), b.put(span), out, n, features)
    cells = np.floor((points[:, :3] - span[:3]) / size).astype(np.int64)
    grid = np.round((span[3:] - span[:3]) / size).astype(np.int64)
    inside = ((cells >= 0) & (cells < grid)).all(1)
    b.expect(out, np.where(inside, cells[:, ::-1].T, -1))


@case("kernels/points_in_boxes/points_in_boxes_block_kernel.mlu")
def points_in_boxes(b: Bench) -> None:
    """The first box around each point, turned about the vertical; -1 where there is none."""
    batch, n, m, deal = 2, 150, 6, 64
    points = b.random.uniform(-5, 5, (batch, n, 3)).astype(np.float32)
    boxes = b.random.uniform(-3, 3, (batch, m, 7)).astype(np.float32)
    boxes[..., 3:6] = b.random.uniform(2, 5, (batch, m, 3))
    x, y, z = np.moveaxis(points[:, :, None] - boxes[:, None, :, :3].astype(float), -1, 0)
    cos, sin = np.cos(-boxes[:, None, :, 6]), np.sin(-boxes[:, None, :, 6])
    across, along, up = boxes[:, None, :, 3] / 2, boxes[:, None, :, 4] / 2, boxes[:, None, :, 5] / 2
    inside = (abs(z) <= up) & (abs(x * cos - y * sin) < across) & (abs(x * sin + y * cos) < along)
    out = b.zeros((batch, n), np.int32)
    sizes = (batch, n, m, b.put(points), b.put(boxes), out, n * 3, m * 7, n, deal, deal * 3, deal)
    b.block("MLUBlockKernelPointsInBoxes", *sizes, dim=(2, 1, 1))
    b.expect(out, np.where(inside.any(-1), inside.argmax(-1), -1))
