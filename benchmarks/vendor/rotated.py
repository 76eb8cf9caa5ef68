"""Kernels on boxes that are turned, and on quadrangles."""

import math

import numpy as np

import mlusim
from benchmarks.vendor.bench import Bench, case
from benchmarks.vendor.sampling import edges


def outline(box):
    """The corners of a turned box, counter-clockwise: [4, 2]."""
    x, y, w, h, angle = (float(v) for v in box[:5])
    turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    return np.array([[-w, -h], [w, -h], [w, h], [-w, h]]) / 2 @ turn + (x, y)


def area(polygon):
    """The area inside, positive where the corners go counter-clockwise."""
    x, y = np.array(polygon, float).reshape(-1, 2).T
    return float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum() / 2)


def clipped(subject, clip):
    """What two convex polygons have in common: each edge of the second cuts the first."""
    left = [np.array(p) for p in subject]
    for a, b in zip(clip, np.roll(clip, -1, 0), strict=True):
        edge, kept = b - a, []
        sides = [edge[0] * (p[1] - a[1]) - edge[1] * (p[0] - a[0]) for p in left]
        for i, (p, side) in enumerate(zip(left, sides, strict=True)):
            before, at = left[i - 1], sides[i - 1]
            if (side >= 0) != (at >= 0):
                kept.append(before + (p - before) * at / (at - side))
            if side >= 0:
                kept.append(p)
        left = kept
    return left


def common(a, b):
    """The area that two convex polygons have in common."""
    ordered = [p if area(p) > 0 else p[::-1] for p in (a, b)]
    left = clipped(*ordered)
    return area(left) if len(left) > 2 else 0.0


def turned(b: Bench, count, reach=6.0):
    """Random turned boxes."""
    places = b.random.uniform(0, reach, (count, 2))
    sizes, angles = b.random.uniform(1, 5, (count, 2)), b.random.uniform(-3, 3, (count, 1))
    return np.concatenate([places, sizes, angles], 1).astype(np.float32)


@case("kernels/box_iou_rotated/box_iou_rotated_union1.mlu")
def box_iou_rotated(b: Bench) -> None:
    """Areas in common of turned boxes over the area of both, or of the first; in pairs, and each with each."""
    first, second = turned(b, 20), turned(b, 20)
    shared = np.array([[common(outline(p), outline(q)) for q in second] for p in first])
    areas = [(boxes[:, 2] * boxes[:, 3]).astype(float) for boxes in (first, second)]
    for mode in (0, 1):
        wanted = shared / ((areas[0][:, None] + areas[1] - shared) if mode == 0 else areas[0][:, None])
        for aligned, answer in ((True, wanted.diagonal()), (False, wanted)):
            out = b.zeros(answer.shape, np.float32)
            b.union("MLUKernelBoxIouRotated", b.put(first), b.put(second), out, 20, 20, mode, aligned)
            b.expect(out, answer, 1e-3)


def survivors(shared, areas, scores, threshold):
    """The boxes, best score first, that overlap none better by more than *threshold*."""
    kept = []
    for i in np.argsort(-scores, kind="stable"):
        if all(shared[i, j] / (areas[i] + areas[j] - shared[i, j]) <= threshold for j in kept):
            kept.append(int(i))
    return kept


@case("kernels/nms_rotated/nms_rotated_union1.mlu")
def nms_rotated(b: Bench) -> None:
    """Turned boxes without those that a better one covers."""
    boxes = turned(b, 40, 12.0)
    scores = b.random.permutation(40).astype(np.float32) / 40
    shared = np.array([[common(outline(p), outline(q)) for q in boxes] for p in boxes])
    wanted = survivors(shared, boxes[:, 2] * boxes[:, 3], scores, 0.3)
    out, count = b.put(np.full(40, -1, np.int32)), b.zeros(1, np.int32)
    given = (b.put(boxes), b.zeros((5, 40), np.float32), b.put(scores), b.zeros(40, np.float32))
    b.launch("MLUKernelNmsRotated<float>", *given, out, count, 40, 5, 0.3, dim=(4, 1, 1), kind=mlusim.UNION1)
    b.expect(count, [len(wanted)])
    b.expect(out, np.array(wanted + [-1] * (40 - len(wanted))))


def quadrangles(b: Bench):
    """Turned boxes as corners with a score, what they share, and the words that say which boxes each suppresses."""
    count = 37
    boxes = turned(b, count, 9.0)
    scores = b.random.permutation(count).astype(np.float32)
    corners = np.stack([outline(box) for box in boxes]).astype(np.float32)
    rows = np.concatenate([corners.reshape(count, 8), scores[:, None]], 1).astype(np.float32)
    shared = np.array([[common(p, q) for q in corners] for p in corners])
    areas = np.array([abs(area(p)) for p in corners], np.float32)
    ratio = shared / (areas[:, None] + areas - shared)
    stays = ~((ratio > 0.3) & (scores[:, None] > scores))
    width = -(-count // 32)
    padded = np.ones((count, width * 32), bool)
    padded[:, :count] = stays
    words = np.packbits(padded, axis=1).view(">u4").astype(np.uint32).reshape(count, width)
    order = np.argsort(-scores, kind="stable").astype(np.int32)
    return rows, areas, words, order, survivors(shared, areas, scores, 0.3)


@case("kernels/poly_nms/poly_nms_block_gen_mask.mlu")
def mask_of_quadrangles(b: Bench) -> None:
    """Which quadrangles each suppresses, a bit each, and the order of the scores."""
    rows, areas, words, order, _ = quadrangles(b)
    mask, found = b.zeros(words.shape, np.uint32), b.zeros(order.shape, np.int32)
    b.block("mluGenNmsMask", b.put(rows), len(rows), 9, 0.3, b.put(areas), mask, found)
    b.expect(mask, words)
    b.expect(found, order)


@case("kernels/poly_nms/poly_nms_block_gen_result.mlu")
def quadrangles_left(b: Bench) -> None:
    """Who is left, best score first or in the order of the boxes."""
    _, _, words, order, kept = quadrangles(b)
    for sort, wanted in ((0, kept), (1, sorted(kept))):
        out, count = b.put(np.full(len(order), -1, np.int32)), b.zeros(1, np.int32)
        given = (len(order), b.put(words), b.put(order), out, count)
        b.block(f"mluGenNmsResult<{sort}>", *given, dim=(1, 1, 1))
        b.expect(count, [len(wanted)])
        b.expect(out, np.array(wanted + [-1] * (len(order) - len(wanted))))


def align(b: Bench, vector):
    """Pool turned regions; and where *vector* does not say forward only, the gradient."""
    batch, h, w, c, count, high, wide, ratio, scale = 2, 9, 10, 11, 5, 2, 3, 2, 0.5
    x = b.random.normal(size=(batch, h, w, c)).astype(np.float32)
    rois = np.concatenate([b.random.integers(0, batch, (count, 1)), turned(b, count, 18)], 1).astype(
        np.float32
    )
    rois[:, 3:5] *= 2
    grad = b.random.normal(size=(count, high, wide, c)).astype(np.float32)
    for aligned, clockwise in ((True, False), (False, True)):
        wanted, gradient = np.zeros(grad.shape), np.zeros(x.shape)
        for n, i, j in np.ndindex(count, high, wide):
            cx, cy = rois[n, 1:3].astype(float) * scale - (0.5 if aligned else 0)
            rw, rh = rois[n, 3:5].astype(float) * scale
            angle = float(rois[n, 5]) * (-1 if clockwise else 1)
            rw, rh = (rw, rh) if aligned else (max(rw, 1.0), max(rh, 1.0))
            for p, q in np.ndindex(ratio, ratio):
                y = -rh / 2 + (i + (p + 0.5) / ratio) * rh / high
                z = -rw / 2 + (j + (q + 0.5) / ratio) * rw / wide
                row = y * math.cos(angle) - z * math.sin(angle) + cy
                column = y * math.sin(angle) + z * math.cos(angle) + cx
                for top, left, share, _, _ in edges(row, column, h, w):
                    wanted[n, i, j] += share * x[int(rois[n, 0]), top, left] / ratio**2
                    gradient[int(rois[n, 0]), top, left] += share * grad[n, i, j] / ratio**2
        params = (aligned, clockwise, high, wide, ratio, scale)
        sizes = (batch, h, w, c, count, params)
        out = b.zeros(wanted.shape, np.float32)
        name = "roiAlignRotatedForward<float, 1>" if vector else "roiAlignRotatedForward<float>"
        b.block(name, b.put(x), b.put(rois), *sizes, out)
        b.expect(out, wanted, 1e-4)
        if not vector:
            out = b.zeros(x.shape, np.float32)
            b.block("roiAlignRotatedBackward<float>", b.put(grad), b.put(rois), *sizes, out)
            b.expect(out, gradient, 1e-4)


@case("kernels/roi_align_rotated/roi_align_rotated_block.mlu")
def roi_align_rotated(b: Bench) -> None:
    """A bin at a time, and the gradient."""
    align(b, vector=False)


@case("kernels/roi_align_rotated/roi_align_rotated_forward_vector.mlu")
def roi_align_rotated_vector(b: Bench) -> None:
    """Many places at once."""
    align(b, vector=True)


@case("kernels/rotated_feature_align/rotated_feature_align_block.mlu")
def rotated_feature_align(b: Bench) -> None:
    """Each pixel, and the samples at the centre and the corners of its box; and the gradient."""
    n, h, w, c, scale = 2, 5, 6, 10, 0.5
    x, grad = (b.random.normal(size=(n, h, w, c)).astype(np.float32) for _ in range(2))
    boxes = turned(b, n * h * w, 12.0).reshape(n, h, w, 5)
    for points in (1, 5):
        wanted, gradient = x.astype(float), grad.astype(float)
        for i, j, k in np.ndindex(n, h, w):
            y, z, width, height = boxes[i, j, k, :4].astype(float) * scale
            sin, cos = math.sin(boxes[i, j, k, 4]), math.cos(boxes[i, j, k, 4])
            across, down = np.array([sin, cos]) * width / 2, np.array([cos, -sin]) * height / 2
            spots = [np.array([y, z])]
            spots += [spots[0] + p * across + q * down for p in (1, -1) for q in (1, -1)][: points - 1]
            for row, column in spots:
                for top, left, share, _, _ in edges(row, column, h, w):
                    wanted[i, j, k] += share * x[i, top, left]
                    gradient[i, top, left] += share * grad[i, j, k]
        sizes = (n, h, w, c, 5, scale, points)
        out = b.zeros(x.shape, np.float32)
        b.block("MLUKernelRotatedFeatureAlignForward<float>", b.put(x), b.put(boxes), *sizes, out)
        b.expect(out, wanted, 1e-4)
        out = b.zeros(x.shape, np.float32)
        b.block("MLUKernelRotatedFeatureAlignBackward<float>", b.put(grad), b.put(boxes), *sizes, out)
        b.expect(out, gradient, 1e-4)
