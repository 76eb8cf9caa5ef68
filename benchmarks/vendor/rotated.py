"""Kernels on boxes that are turned, and on quadrangles."""

import numpy as np

import mlusim
from benchmarks.vendor.bench import Bench, case
from benchmarks.vendor.references.points import area, clipped, corners


def turned(b: Bench, count, reach=6.0):
    """Random turned boxes."""
    places = b.random.uniform(0, reach, (count, 2))
    sizes, angles = b.random.uniform(1, 5, (count, 2)), b.random.uniform(-3, 3, (count, 1))
    return np.concatenate([places, sizes, angles], 1).astype(np.float32)


@case("kernels/box_iou_rotated/box_iou_rotated_union1.mlu")
def box_iou_rotated(b: Bench) -> None:
    """Areas in common of turned boxes over the area of both, or of the first; in pairs, and each with each."""
    first, second = turned(b, 20), turned(b, 20)
    for mode in (0, 1):
        for aligned, shape in ((True, (20,)), (False, (20, 20))):
            given = {"box1": first, "box2": second, "aligned": aligned, "mode": mode, "ious": np.zeros(shape)}
            out = b.zeros(shape, np.float32)
            b.union("MLUKernelBoxIouRotated", b.put(first), b.put(second), out, 20, 20, mode, aligned)
            b.expect(out, b.wanted("mluOpBoxIouRotated", **given)["ious"], 1e-3)


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
    none = np.full(40, -1, np.int32)
    left = b.wanted("mluOpNmsRotated", boxes=boxes, scores=scores, output=none, iou_threshold=0.3)
    kept = int(left["result_num"][0])
    out, count = b.put(none), b.zeros(1, np.int32)
    given = (b.put(boxes), b.zeros((5, 40), np.float32), b.put(scores), b.zeros(40, np.float32))
    b.launch("MLUKernelNmsRotated<float>", *given, out, count, 40, 5, 0.3, dim=(4, 1, 1), kind=mlusim.UNION1)
    b.expect(count, [kept])
    b.expect(out, np.where(np.arange(40) < kept, left["output"], -1))


def quadrangles(b: Bench):
    """Turned boxes as corners with a score, what they share, and the words that say which boxes each suppresses."""
    count = 37
    boxes = turned(b, count, 9.0)
    scores = b.random.permutation(count).astype(np.float32)
    shapes = np.stack([corners(box) for box in boxes]).astype(np.float32)
    rows = np.concatenate([shapes.reshape(count, 8), scores[:, None]], 1).astype(np.float32)
    shared = np.array([[area(clipped(p, q)) for q in shapes] for p in shapes])
    areas = np.array([area(p) for p in shapes], np.float32)
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
        given = {"rois": rois, "pooled_height": high, "pooled_width": wide, "sample_ratio": ratio}
        given |= {"spatial_scale": scale, "aligned": aligned, "clockwise": clockwise}
        wanted = b.wanted("mluOpRoiAlignRotatedForward", features=x, output=grad, **given)["output"]
        gradient = b.wanted("mluOpRoiAlignRotatedBackward", top_grad=grad, bottom_grad=x, **given)[
            "bottom_grad"
        ]
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
        given = {"bboxes": boxes, "spatial_scale": scale, "points": points}
        wanted = b.wanted("mluOpRotatedFeatureAlignForward", input=x, **given)["output"]
        gradient = b.wanted("mluOpRotatedFeatureAlignBackward", top_output=grad, **given)["bottom_input"]
        sizes = (n, h, w, c, 5, scale, points)
        out = b.zeros(x.shape, np.float32)
        b.block("MLUKernelRotatedFeatureAlignForward<float>", b.put(x), b.put(boxes), *sizes, out)
        b.expect(out, wanted, 1e-4)
        out = b.zeros(x.shape, np.float32)
        b.block("MLUKernelRotatedFeatureAlignBackward<float>", b.put(grad), b.put(boxes), *sizes, out)
        b.expect(out, gradient, 1e-4)
