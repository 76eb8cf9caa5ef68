"""Kernels that propose regions: boxes moved by what a network says, the best of them that overlap no better one."""

import numpy as np

import mlusim
from benchmarks.vendor.bench import Bench, case

FOLDER = "kernels/generate_proposals_v2/generate_proposals_v2_union"
MOST = np.log(1000 / 16)  # how far a side may grow, as a logarithm


def moved(anchors, deltas, variances, size, offset):
    """Anchors moved and resized, inside a picture of *size* (rows, columns)."""
    sides = anchors[:, 2:] - anchors[:, :2] + offset
    middles = anchors[:, :2] + sides / 2
    change = deltas * variances
    middles = middles + change[:, :2] * sides
    sides = sides * np.exp(np.minimum(change[:, 2:], MOST))
    boxes = np.concatenate([middles - sides / 2, middles + sides / 2 - offset], 1)
    return np.clip(boxes, 0, np.tile(size[::-1], 2) - offset)


def best(boxes, scores, threshold, most, offset):
    """The first *most* boxes, best first, that overlap none kept before by more than *threshold*."""
    areas = (boxes[:, 2] - boxes[:, 0] + offset) * (boxes[:, 3] - boxes[:, 1] + offset)
    kept = []
    for i in np.argsort(-scores, kind="stable"):
        low, high = np.maximum(boxes[kept, :2], boxes[i, :2]), np.minimum(boxes[kept, 2:], boxes[i, 2:])
        shared = np.maximum(high - low + offset, 0).prod(-1)
        if not (shared / (areas[kept] + areas[i] - shared) > threshold).any():
            kept.append(int(i))
    return kept[:most]


def propose(b: Bench, *, sorted_first: bool) -> None:
    """Run one of the two kernels on two pictures."""
    batch, count, h, w, before, after, threshold, least = 2, 3, 5, 6, 40, 12, 0.5, 3.0
    total = count * h * w
    corners = np.sort(b.random.uniform(0, 60, (total, 2, 2)), axis=1).reshape(total, 4).astype(np.float32)
    deltas = b.random.normal(scale=0.3, size=(batch, total, 4)).astype(np.float32)
    scores = np.stack([b.random.permutation(total) for _ in range(batch)]).astype(np.float32) / total
    sizes = np.array([[50, 55], [60, 40]], np.float32)
    variances = np.full((total, 4), 0.5, np.float32)
    order = np.argsort(-scores, 1, kind="stable")[:, :before].astype(np.int32)
    for pixel in (False, True):
        rows, probabilities, counts = [], [], []
        for i in range(batch):
            chosen = order[i]
            given = (corners[chosen].astype(float), deltas[i, chosen].astype(float), variances[chosen])
            boxes = moved(*given, sizes[i].astype(float), int(pixel))
            sides = boxes[:, 2:] - boxes[:, :2] + int(pixel)
            middles = boxes[:, :2] + sides / 2
            large = (sides >= max(least, 1)).all(1)
            large &= not pixel or (middles <= sizes[i, ::-1]).all(1)
            boxes, values = boxes[large], scores[i, chosen][large]
            kept = best(boxes, values, threshold, after, int(pixel))
            rows, probabilities = [*rows, *boxes[kept]], [*probabilities, *values[kept]]
            counts.append(len(kept))
        room = batch * after
        outs = b.zeros((room, 4), np.float32), b.zeros(room, np.float32), b.zeros(batch, np.int32)
        all_of_them = b.zeros(1, np.int32)
        taken = (np.take_along_axis(scores, order, 1), order) if sorted_first else (scores,)
        given = map(b.put, (*taken, deltas, sizes, corners, variances))
        numbers = (before, after, threshold, least, 1.0, pixel, batch, count, w, h)
        tensors = (*given, b.zeros(16 * total, np.float32), *outs, all_of_them)
        name = "mluOpGenerateProposalsV2Kernel<float>"
        b.launch(name, *tensors, *numbers, dim=(4, 1, 1), kind=mlusim.UNION1)
        b.expect(all_of_them, [sum(counts)])
        b.expect(outs[2], counts)
        left = room - len(rows)
        b.expect(outs[1], [*probabilities, *[0] * left], 1e-5)
        b.expect(outs[0], np.array([*rows, *np.zeros((left, 4))]), 1e-3)


@case(f"{FOLDER}1_500.mlu")
def of_sorted(b: Bench) -> None:
    """Scores that are sorted before."""
    propose(b, sorted_first=True)


@case(f"{FOLDER}_default.mlu")
def of_any(b: Bench) -> None:
    """Scores as they come."""
    propose(b, sorted_first=False)
