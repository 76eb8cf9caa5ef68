"""Kernels on clouds of points inside boxes and voxels, with features."""

import numpy as np

import mlusim
from benchmarks.vendor.bench import Bench, case

DMEAN, DMAX = 1, 2  # of mluOpReduceMode_t


def local(points, boxes):
    """Where each point is in the frame of each box, whose third number is the bottom: [boxes, points, 3]."""
    apart = points[None].astype(float) - boxes[:, None, :3]
    cos, sin = np.cos(-boxes[:, None, 6].astype(float)), np.sin(-boxes[:, None, 6].astype(float))
    x, y, z = np.moveaxis(apart, -1, 0)
    return np.stack([x * cos - y * sin, x * sin + y * cos, z], -1)


def within(places, boxes):
    """Whether each place is in its box."""
    half = boxes[:, None, 3:6] / 2
    flat = (abs(places[..., :2]) < half[..., :2]).all(-1)
    return flat & (abs(places[..., 2] - half[..., 2]) <= half[..., 2])


def some(b: Bench, boxes, points):
    """Random boxes and points."""
    given = b.random.uniform(-2, 2, (boxes, 7)).astype(np.float32)
    given[:, 3:6] = b.random.uniform(2, 5, (boxes, 3))
    return given, b.random.uniform(-4, 4, (points, 3)).astype(np.float32)


@case("kernels/roiaware_pool3d/roiaware_pool3d_union1.mlu")
def roiaware_pool(b: Bench) -> None:
    """Points by voxel of each box; their largest or mean features; and both gradients."""
    count, n, c, most, (x, y, z) = 5, 150, 6, 9, (3, 4, 2)
    boxes, points = some(b, count, n)
    features = b.random.normal(size=(n, c)).astype(np.float32)
    places = local(points, boxes)
    inside = within(places, boxes)
    sides = boxes[:, None, 3:6].astype(float)
    cells = np.floor((places + sides / 2 * (1, 1, 0)) / sides * (x, y, z)).astype(int)
    cells = np.clip(cells, 0, np.array([x, y, z]) - 1)
    held = np.zeros((count, x, y, z, most), np.int32)
    for i, k in zip(*np.nonzero(inside), strict=True):
        room = held[i, *cells[i, k]]
        if room[0] < most - 1:
            room[0] += 1
            room[room[0]] = k
    index = b.zeros(held.shape, np.int32)
    given = (count, n, most, x, y, z, b.put(boxes), b.put(points.T), index)
    b.union("MLUMultiKernelPtsIdxOfVoxels<float>", 0, *given)
    b.expect(index, held)
    grad = b.random.normal(size=(count, x, y, z, c)).astype(np.float32)
    largest, mean = np.zeros(grad.shape), np.zeros(grad.shape)
    chosen = np.full(grad.shape, -1, np.int32)
    gradients = np.zeros((n, c)), np.zeros((n, c))
    for voxel in np.ndindex(count, x, y, z):
        some_points = held[voxel][1 : held[voxel][0] + 1]
        if len(some_points):
            values = features[some_points].astype(float)
            largest[voxel], mean[voxel] = values.max(0), values.mean(0)
            chosen[voxel] = some_points[values.argmax(0)]
            np.add.at(gradients[0], (chosen[voxel], np.arange(c)), grad[voxel])
            gradients[1][some_points] += grad[voxel].astype(float) / max(len(some_points), 1)
    for method, wanted in ((0, largest), (1, mean)):
        out, best = b.zeros(grad.shape, np.float32), b.put(np.full(grad.shape, -1, np.int32))
        sizes = (method, count, n, c, most, x, y, z)
        b.union("MLUMultiKernelRoiawarePool3dForward<float>", *sizes, b.put(features.T), index, out, best)
        b.expect(out, wanted, 1e-5)
        b.expect(best, chosen if method == 0 else np.full(grad.shape, -1))
    out = b.zeros((n, c), np.float32)
    b.union(
        "MLUMultiKernelRoiawareMaxPool3dBackward<float>", count, x, y, z, c, b.put(chosen), b.put(grad), out
    )
    b.expect(out, gradients[0], 1e-5)
    out = b.zeros((n, c), np.float32)
    b.union(
        "MLUMultiKernelRoiawareAvgPool3dBackward<float>", count, x, y, z, c, most, index, b.put(grad), out
    )
    b.expect(out, gradients[1], 1e-5)


def roipoint(b: Bench, name: str) -> None:
    """The first points inside each box with their features, again from the first where there are too few."""
    batch, n, m, c, sampled = 2, 256, 5, 4, 17
    clouds = [some(b, m, n) for _ in range(batch)]
    boxes, points = (np.stack(parts) for parts in zip(*clouds, strict=True))
    boxes[0, 0, :3] = 100
    features = b.random.normal(size=(batch, n, c)).astype(np.float32)
    wanted, empty = np.zeros((batch, m, sampled, 3 + c)), np.ones((batch, m), np.int32)
    for i, j in np.ndindex(batch, m):
        hits = np.flatnonzero(within(local(points[i], boxes[i, j : j + 1]), boxes[i, j : j + 1])[0])
        if len(hits):
            taken = np.resize(hits, sampled)
            wanted[i, j] = np.concatenate([points[i, taken], features[i, taken]], 1)
            empty[i, j] = 0
    out, flags = b.zeros(wanted.shape, np.float32), b.zeros(empty.shape, np.int32)
    given = (b.put(points.transpose(2, 0, 1)), b.put(features.transpose(0, 2, 1)), b.put(boxes))
    b.union(name, batch, n, m, c, sampled, *given, out, flags)
    b.expect(flags, empty)
    b.expect(out, wanted)


@case("kernels/roipoint_pool3d/roipoint_pool3d_union1.mlu")
def roipoint_pool(b: Bench) -> None:
    """All boxes of a batch on chip."""
    roipoint(b, "MLUKernelRoipointPool3d<float>")


@case("kernels/roipoint_pool3d/roipoint_pool3d_union1_large_boxes_num.mlu")
def roipoint_pool_of_many(b: Bench) -> None:
    """Boxes by the piece."""
    roipoint(b, "MLUKernelRoipointPool3dLargeBoxesNum<float>")


@case(
    "kernels/dynamic_point_to_voxel/dynamic_point_to_voxel_forward/dynamic_point_to_voxel_forward_union1.mlu"
)
def to_voxels(b: Bench) -> None:
    """The largest or mean features of the points of each voxel; a first voxel of points outside is dropped."""
    n, c, voxels = 90, 7, 11
    features = b.random.normal(size=(n, c)).astype(np.float32)
    for mode, dropped in ((DMAX, False), (DMEAN, False), (DMEAN, True)):
        where = b.random.integers(0, voxels, n).astype(np.int32)
        where[:voxels] = np.arange(voxels)
        counts = np.bincount(where, minlength=voxels).astype(np.int32)
        coordinates = b.random.integers(0, 9, (voxels, 3)).astype(np.int32)
        wanted = np.full((voxels, c), -np.inf) if mode == DMAX else np.zeros((voxels, c))
        if dropped:
            coordinates[0] = -1
        left = voxels - dropped
        start = wanted.astype(np.float32)
        for k, place in zip(features.astype(float), where - dropped, strict=True):
            if place >= 0:
                wanted[place] = np.maximum(wanted[place], k) if mode == DMAX else wanted[place] + k
        if mode == DMEAN:
            wanted[:left] /= counts[dropped:, None]
        rows = np.concatenate([coordinates, coordinates])  # there is room for a voxel of each point
        room = np.concatenate([counts, counts])
        tensors = [b.put(a) for a in (rows, np.array([voxels], np.int32), where, room, start)]
        given = (mode, b.put(features), n, c, *tensors)
        b.union(
            "MLUKernelDynamicPointToVoxelForward", *given, dim=(4, 1, 1)
        )  # one union: it waits for all tasks
        b.expect(tensors[1], [left])
        b.expect(tensors[2], where - dropped)
        b.expect(tensors[4], wanted, 1e-5)


@case(
    "kernels/dynamic_point_to_voxel/dynamic_point_to_voxel_backward/dynamic_point_to_voxel_backward_union1.mlu"
)
def from_voxels(b: Bench) -> None:
    """Which point each largest feature came from: the first of equals, as an index of its number."""
    n, c, voxels = 60, 5, 8
    features = b.random.integers(0, 6, (n, c)).astype(np.float32)
    where = b.random.integers(-1, voxels, n).astype(np.int32)
    where[:voxels] = np.arange(voxels)
    largest = np.stack([features[where == v].max(0) for v in range(voxels)]).astype(np.float32)
    wanted = np.full((voxels, c), n * c, np.int32)
    for k in reversed(range(n)):
        if where[k] >= 0:
            same = features[k] == largest[where[k]]
            wanted[where[k]][same] = (k * c + np.arange(c))[same]
    out = b.put(np.full((voxels, c), n * c, np.int32))
    given = (b.put(features), b.put(largest), out, b.put(where), b.put(np.array([voxels], np.int32)), n, c)
    b.launch("MLUKernelMaxReduceTracebackScatterIdx<float>", *given, dim=(4, 2, 1), kind=mlusim.UNION1)
    b.expect(out, wanted)


@case("kernels/diff_iou_rotated_sort_vertices_forward/diff_iou_rotated_sort_vertices_forward_block.mlu")
def sort_vertices(b: Bench) -> None:
    """Valid corners by angle around the middle, the first once more, the rest with an index of an invalid one."""
    batch, n, m = 2, 13, 24
    vertices = b.random.uniform(-1, 1, (batch, n, m, 2)).astype(np.float32)
    mask = b.random.uniform(size=(batch, n, m)) < 0.3
    valid = np.minimum(mask.sum(-1), 7).astype(np.int32)
    mask &= np.cumsum(mask, -1) <= 7
    given = {"vertices": vertices, "mask": mask, "num_valid": valid, "idx": np.zeros((batch, n, 9))}
    wanted = b.wanted("mluOpDiffIouRotatedSortVerticesForward", **given)["idx"]
    out = b.zeros(wanted.shape, np.int32)
    name = "MLUKernelDiffIouRotatedSortVerticesForward<float>"
    b.block(name, b.put(vertices), b.put(mask.view(np.uint8)), b.put(valid), out, batch, n, m)
    b.expect(out, wanted)
