"""Operators on points, boxes in space, grids and anchors."""

from typing import Any

import numpy as np

from benchmarks.vendor.operators import Given, reference, sample

Array = Any


def local(points: Array, box: Array) -> tuple[Array, Array, Array]:
    """Points as a box sees them: from its centre, turned back; the box stands on its z."""
    x, y, z = (points[..., n].astype(float) - float(box[n]) for n in range(3))
    z = z - float(box[5]) / 2
    cos, sin = np.cos(-float(box[6])), np.sin(-float(box[6]))
    return x * cos - y * sin, x * sin + y * cos, z


def inside(points: Array, box: Array, margin: float = 1e-5) -> Array:
    """Which points are in a box."""
    x, y, z = local(points, box)
    dx, dy, dz = (float(v) / 2 for v in box[3:6])
    return (np.abs(z) <= dz) & (np.abs(x) < dx + margin) & (np.abs(y) < dy + margin)


@reference("mluOpPointsInBoxes", 0)
def points_in_boxes(g: Given) -> Given:
    """The first box that each point is in."""
    out = np.full(g["points_indices"].shape, -1)
    for b, boxes in enumerate(g["boxes"]):
        for n in reversed(range(len(boxes))):
            base = boxes[n] - [0, 0, boxes[n][5] / 2, 0, 0, 0, 0]  # this one's place is its centre
            out[b][inside(g["points"][b], base)] = n
    return {"points_indices": out}


@sample("mluOpPointsInBoxes")
def _in_boxes(random: np.random.Generator) -> Any:
    """two batches of 200 points, nine boxes."""
    boxes = random.uniform(1, 6, (2, 9, 7)).astype(np.float32)
    points = random.uniform(0, 8, (2, 200, 3)).astype(np.float32)
    return {"points": points, "boxes": boxes, "points_indices": np.zeros((2, 200), np.int32)}, {}


@reference("mluOpRoiPointPool3d", 1e-3)
def pool_points(g: Given) -> Given:
    """The first points inside each box, with their features, repeated until there are enough."""
    points, features, out = g["points"], g["point_features"], np.zeros(g["pooled_features"].shape)
    empty = np.zeros(g["pooled_empty_flag"].shape)
    for b, m in np.ndindex(*out.shape[:2]):
        chosen = np.flatnonzero(inside(points[b], g["boxes3d"][b, m]))
        empty[b, m] = not len(chosen)
        if len(chosen):
            index = np.resize(chosen[: out.shape[2]], out.shape[2])
            out[b, m] = np.concatenate([points[b, index], features[b, index]], 1)
    return {"pooled_features": out, "pooled_empty_flag": empty}


def _pooled(boxes: int) -> Any:
    def made(random: np.random.Generator) -> Any:
        box = random.uniform(2, 6, (2, boxes, 7)).astype(np.float32)
        points = random.uniform(0, 8, (2, 300, 3)).astype(np.float32)
        features = random.normal(size=(2, 300, 5)).astype(np.float32)
        given = {
            "points": points,
            "point_features": features,
            "boxes3d": box,
            "batch_size": 2,
            "pts_num": 300,
            "boxes_num": boxes,
        }
        given |= {
            "feature_in_len": 5,
            "sampled_pts_num": 32,
            "pooled_features": np.zeros((2, boxes, 32, 8), np.float32),
        }
        return {**given, "pooled_empty_flag": np.zeros((2, boxes), np.int32)}, {}

    made.__doc__ = f"{boxes} boxes"
    return made


for _count in (7, 1100):
    sample("mluOpRoiPointPool3d")(_pooled(_count))


@reference("mluOpRoiawarePool3dForward", 1e-3)
def roiaware(g: Given) -> Given:
    """The points of each voxel of each box, and the largest or the mean of their features."""
    kept, out = np.zeros(g["pts_idx_of_voxels"].shape, int), np.zeros(g["pooled_features"].shape)
    argmax, most = np.full(out.shape, -1), kept.shape[-1]
    grid, pts, features = kept.shape[1:4], g["pts"], g["pts_feature"].astype(float)
    for r, roi in enumerate(g["rois"].astype(float)):
        xyz = np.stack(local(pts, roi), -1)
        half = roi[3:6] / 2
        here = (np.abs(xyz[:, 2]) <= half[2]) & (np.abs(xyz[:, :2]) < half[:2]).all(1)
        cells = ((xyz + half) / (roi[3:6] / np.array(grid))).astype(int)
        cells = np.clip(cells, 0, np.array(grid) - 1)
        for p in np.flatnonzero(here):
            voxel = kept[(r, *cells[p])]
            if voxel[0] < most - 1:
                voxel[0] += 1
                voxel[voxel[0]] = p
        for cell in np.ndindex(*grid):
            index = kept[(r, *cell)][1 : 1 + kept[(r, *cell)][0]]
            if len(index) and int(g["pool_method"]) == 0:
                argmax[(r, *cell)] = index[features[index].argmax(0)]
                out[(r, *cell)] = features[index].max(0)
            elif len(index):
                out[(r, *cell)] = features[index].mean(0)
    made = {"pts_idx_of_voxels": kept, "pooled_features": out}
    return {**made, "argmax": argmax} if int(g["pool_method"]) == 0 else made


@reference("mluOpRoiawarePool3dBackward", 1e-3)
def roiaware_gradient(g: Given) -> Given:
    """Gradients to the points that were largest, or to all of a voxel."""
    out, grad, kept = np.zeros(g["grad_in"].shape), g["grad_out"].astype(float), g["pts_idx_of_voxels"]
    for cell in np.ndindex(*kept.shape[:4]):
        if int(g["pool_method"]) == 0:
            for c, p in enumerate(g["argmax"][cell]):
                if p >= 0:
                    out[p, c] += grad[(*cell, c)]
        else:
            index = kept[cell][1 : 1 + max(int(kept[cell][0]), 0)]
            np.add.at(out, index, grad[cell] / max(len(index), 1))
    return {"grad_in": out}


@reference("mluOpPriorBox", 1e-4)
def prior_box(g: Given) -> Given:
    """Boxes of several sizes and ratios around each place, in fractions of the picture; variances."""
    high, wide = float(g["im_height"]), float(g["im_width"])
    sizes: list[tuple[float, float]] = []
    ratios = [float(r) for r in g["aspect_ratios"]]
    maxima = [] if g["max_sizes"] is None else [float(v) for v in g["max_sizes"]]
    for n, low in enumerate(float(v) for v in g["min_sizes"]):
        square = [(low, low)]
        larger = [(np.sqrt(low * maxima[n]),) * 2] if maxima else []
        others = [(low * np.sqrt(r), low / np.sqrt(r)) for r in ratios]
        if g["min_max_aspect_ratios_order"]:
            sizes += [
                *square,
                *larger,
                *(o for o, r in zip(others, ratios, strict=True) if abs(r - 1) > 1e-6),
            ]
        else:
            sizes += [*others, *larger]
    step_w = g["step_w"] or wide / g["width"]
    step_h = g["step_h"] or high / g["height"]
    out = np.zeros(g["output"].shape)
    for i, j in np.ndindex(int(g["height"]), int(g["width"])):
        x, y = (j + g["offset"]) * step_w, (i + g["offset"]) * step_h
        for n, (w, h) in enumerate(sizes):
            out[i, j, n] = (x - w / 2) / wide, (y - h / 2) / high, (x + w / 2) / wide, (y + h / 2) / high
    out = np.clip(out, 0, 1) if g["clip"] else out
    return {"output": out, "var": np.broadcast_to(g["variances"], out.shape)}


def clipped(polygon: Array, edges: Array) -> Array:
    """A convex polygon cut by the edges of another, both in the same order."""
    for n in range(len(edges)):
        a, b = edges[n], edges[(n + 1) % len(edges)]
        side = (b[0] - a[0]) * (polygon[:, 1] - a[1]) - (b[1] - a[1]) * (polygon[:, 0] - a[0])
        kept = []
        for k in range(len(polygon)):
            m = (k + 1) % len(polygon)
            if side[k] >= 0:
                kept.append(polygon[k])
            if (side[k] >= 0) != (side[m] >= 0):
                kept.append(polygon[k] + (polygon[m] - polygon[k]) * side[k] / (side[k] - side[m]))
        if len(kept) < 3:
            return np.zeros((0, 2))
        polygon = np.array(kept)
    return polygon


def area(polygon: Array) -> float:
    """The area of a polygon."""
    x, y = polygon[:, 0], polygon[:, 1]
    return abs(float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum())) / 2 if len(polygon) > 2 else 0.0


def corners(box: Array) -> Array:
    """The corners of a box of centre, width, height and angle, counterclockwise."""
    x, y, w, h, angle = (float(v) for v in box[:5])
    offsets = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * (w / 2, h / 2)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return offsets @ turn + (x, y)


def overlap(a: Array, b: Array, mode: int = 0) -> float:
    """The common area of two rotated boxes over both together, or over the first."""
    common = area(clipped(corners(a), corners(b)))
    first, second = float(a[2] * a[3]), float(b[2] * b[3])
    base = first + second - common if mode == 0 else first
    return common / base if base > 1e-14 else 0.0


@reference("mluOpBoxIouRotated", 3e-3)
def box_iou(g: Given) -> Given:
    """Of pairs, or of every box with every other."""
    first, second, out = g["box1"].astype(float), g["box2"].astype(float), np.zeros(g["ious"].shape)
    if g["aligned"]:
        out[:] = [overlap(a, b, int(g["mode"])) for a, b in zip(first, second, strict=True)]
    else:
        for i, j in np.ndindex(*out.shape):
            out[i, j] = overlap(first[i], second[j], int(g["mode"]))
    return {"ious": out}


def _boxes(random: np.random.Generator, count: int) -> Array:
    boxes = random.uniform(0, 10, (count, 5)).astype(np.float32)
    boxes[:, 2:4] += 1
    boxes[:, 4] = random.uniform(-3, 3, count)
    return boxes


@sample("mluOpBoxIouRotated")
def _pairs(random: np.random.Generator) -> Any:
    """20 boxes with 23."""
    given = {"mode": 0, "aligned": False, "box1": _boxes(random, 20), "box2": _boxes(random, 23)}
    return {**given, "ious": np.zeros((20, 23), np.float32)}, {}


@reference("mluOpNmsRotated", 0)
def nms_rotated(g: Given) -> Given:
    """The boxes that overlap none of those with higher scores that stay."""
    boxes, left = g["boxes"], list(np.argsort(-g["scores"], kind="stable"))
    kept = []
    while left:
        best = left.pop(0)
        kept.append(best)
        left = [n for n in left if overlap(boxes[best], boxes[n]) <= g["iou_threshold"]]
    out = np.zeros(g["output"].shape, int)
    out[: len(kept)] = kept
    return {"output": out, "result_num": [len(kept)]}


@reference("mluOpYoloBox", 3e-3)
def yolo_box(g: Given) -> Given:
    """Boxes and scores of anchors over a grid; zeros where the confidence is low."""
    x, anchors = g["x"].astype(float), g["anchors"].astype(float).reshape(-1, 2)
    n, _, h, w = x.shape
    classes, scale = int(g["class_num"]), float(g["scale"])
    if g["iou_aware"]:
        sure, x = x[:, : len(anchors)], x[:, len(anchors) :]
    x = x.reshape(n, len(anchors), 5 + classes, h, w)

    def sigmoid(v: Array) -> Array:
        return 1 / (1 + np.exp(-v))

    height, width = (g["img_size"][:, k].astype(float)[:, None, None, None] for k in (0, 1))
    ratio = anchors[None, :, :, None, None]
    cx = (np.arange(w) + sigmoid(x[:, :, 0]) * scale - 0.5 * (scale - 1)) * width / w
    cy = (np.arange(h)[:, None] + sigmoid(x[:, :, 1]) * scale - 0.5 * (scale - 1)) * height / h
    bw = np.exp(x[:, :, 2]) * ratio[:, :, 0] * width / (g["downsample_ratio"] * w)
    bh = np.exp(x[:, :, 3]) * ratio[:, :, 1] * height / (g["downsample_ratio"] * h)
    conf = sigmoid(x[:, :, 4])
    if g["iou_aware"]:
        conf = conf ** (1 - g["iou_aware_factor"]) * sigmoid(sure) ** g["iou_aware_factor"]
    kept = conf >= g["conf_thresh"]
    sides = [cx - bw / 2, cy - bh / 2, cx + bw / 2, cy + bh / 2]
    if g["clip_bbox"]:
        low = [np.maximum(sides[0], 0), np.maximum(sides[1], 0)]
        sides = [*low, np.minimum(sides[2], width - 1), np.minimum(sides[3], height - 1)]
    boxes = np.stack(sides, 2) * kept[:, :, None]
    scores = conf[:, :, None] * sigmoid(x[:, :, 5:]) * kept[:, :, None]
    return {"boxes": boxes.reshape(g["boxes"].shape), "scores": scores.reshape(g["scores"].shape)}
