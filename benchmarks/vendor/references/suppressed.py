"""Boxes that are left after others: proposals of a network, quadrangles; voxels of points through host functions."""

from typing import Any

import numpy as np

from benchmarks.vendor.operators import Given, reference, sample
from benchmarks.vendor.proposals import best, moved
from benchmarks.vendor.references.points import area, clipped


@reference("mluOpGenerateProposalsV2", 2e-3)
def proposals(g: Given) -> Given:
    """Anchors moved by what the network says, the best of them that overlap no better one, picture by picture."""
    pixel, least = int(bool(g["pixel_offset"])), max(float(g["min_size"]), 1.0 if g["pixel_offset"] else 0.0)
    anchors, variances = (g[k].reshape(-1, 4).astype(float) for k in ("anchors", "variances"))
    rows, values, counts = [], [], []
    for scores, deltas, size in zip(g["scores"], g["bbox_deltas"], g["im_shape"].astype(float), strict=True):
        chosen = np.argsort(-scores.ravel(), kind="stable")[: int(g["pre_nms_top_n"])]
        boxes = moved(
            anchors[chosen], deltas.reshape(-1, 4)[chosen].astype(float), variances[chosen], size, pixel
        )
        sides = boxes[:, 2:] - boxes[:, :2] + pixel
        large = (sides >= least).all(1)
        if pixel:
            large &= (boxes[:, :2] + sides / 2 <= size[::-1]).all(1)
        boxes, worth = boxes[large], scores.ravel()[chosen][large]
        kept = best(boxes, worth, float(g["nms_thresh"]), int(g["post_nms_top_n"]), pixel)
        rows, values = [*rows, *boxes[kept]], [*values, *worth[kept]]
        counts.append(len(kept))
    return {
        "rpn_rois_batch_size": np.array([len(rows)]), "rpn_rois_num": np.array(counts),
        "rpn_rois": np.array(rows).reshape(-1, 4), "rpn_roi_probs": np.array(values).reshape(-1, 1),
    }  # fmt: skip


@reference("mluOpPolyNms", 0)
def quadrangles(g: Given) -> Given:
    """Indices in ascending order of quadrangles that share too little with any better one."""
    boxes, kept = g["boxes"].astype(float), []
    for n in np.argsort(-boxes[:, 8], kind="stable"):
        mine = boxes[n, :8].reshape(4, 2)
        others = [boxes[m, :8].reshape(4, 2) for m in kept]
        shared = [(area(clipped(mine, other)), area(other)) for other in others]
        if all(s <= g["iou_threshold"] * (area(mine) + a - s) for s, a in shared):
            kept.append(int(n))
    return {"output_size": np.array([len(kept)]), "output": np.array(sorted(kept))}


@reference("mluOpVoxelPoolingForward", 1e-4)
def voxel_pooling(g: Given) -> Given:
    """The features of all points of a voxel, summed; where each point went."""
    out, went = np.zeros(g["output_features"].shape), g["pos_memo"].copy()
    limits = [g[f"num_voxel_{axis}"] for axis in "xyz"]
    for batch, point in np.ndindex(g["geom_xyz"].shape[:2]):
        x, y, z = g["geom_xyz"][batch, point]
        if all(0 <= v < most for v, most in zip((x, y, z), limits, strict=True)):
            out[batch, y, x] += g["input_features"][batch, point]
            went[batch, point] = batch, y, x
    return {"output_features": out, "pos_memo": went}


@sample("mluOpVoxelPoolingForward")
def _pooling(random: np.random.Generator) -> Any:
    """2 x 70 points of 24 channels in 6 x 5 x 1 voxels."""
    given: Given = {
        "batch_size": 2,
        "num_points": 70,
        "num_channels": 24,
        "num_voxel_x": 6,
        "num_voxel_y": 5,
        "num_voxel_z": 1,
    }
    given["geom_xyz"] = random.integers(-1, 7, (2, 70, 3)).astype(np.int32)
    given["input_features"] = random.normal(size=(2, 70, 24)).astype(np.float32)
    given["output_features"], given["pos_memo"] = (
        np.zeros((2, 5, 6, 24), np.float32),
        np.full((2, 70, 3), -1, np.int32),
    )
    return given, {}


@reference("mluOpVoxelization", 0)
def voxels(g: Given) -> Given:
    """Points of each voxel in their order, as many as have room; voxels in the order in which points come to them."""
    size, span = g["voxel_size"], g["coors_range"]
    grid = np.round((span[3:] - span[:3]) / size).astype(int)
    found: dict[tuple[int, ...], list[int]] = {}
    for n, point in enumerate(g["points"]):
        cell = np.floor((point[:3] - span[:3]) / size).astype(int)
        key = tuple(int(v) for v in cell[::-1])
        if (cell >= 0).all() and (cell < grid).all() and (key in found or len(found) < g["max_voxels"]):
            found.setdefault(key, []).append(n)
    held = np.zeros(g["voxels"].shape)
    for n, everything in enumerate(found.values()):
        points = everything[: g["max_points"]]
        held[n, : len(points)] = g["points"][points]
    counts = [min(len(p), g["max_points"]) for p in found.values()]
    return {
        "voxel_num": np.array([len(found)]), "coors": np.array(list(found)), "num_points_per_voxel": np.array(counts),
        "voxels": held[: len(found)],
    }  # fmt: skip


@sample("mluOpVoxelization")
def _voxels(random: np.random.Generator) -> Any:
    """300 points of 5 in 10 x 8 x 3 voxels, at most 4 in each of 60."""
    given: Given = {
        "points": random.uniform(-1, 6, (300, 5)).astype(np.float32),
        "max_points": 4,
        "max_voxels": 60,
        "NDim": 3,
    }
    given["voxel_size"] = np.array([0.5, 0.5, 1], np.float32)
    given["coors_range"] = np.array([0, 0, 0, 5, 4, 3], np.float32)
    given |= {
        "deterministic": True,
        "voxels": np.zeros((60, 4, 5), np.float32),
        "coors": np.zeros((60, 3), np.int32),
    }
    return given | {"num_points_per_voxel": np.zeros(60, np.int32), "voxel_num": np.zeros(1, np.int32)}, {}
