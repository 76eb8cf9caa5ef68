"""Stand-ins of the closed library for whole operators: normalisation, regions, suppression, moved taps."""

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.errors import Unsupported

SOURCE = """\
#include "cnnl.h"
static cnnlTensorDescriptor_t Of(int a, int b, int c, int d, cnnlDataType_t type = CNNL_DTYPE_FLOAT) {
  cnnlTensorDescriptor_t made;
  int64_t dims[4] = {a, b, c, d};
  cnnlCreateTensorDescriptor(&made);
  cnnlSetTensorDescriptor_v2(made, CNNL_LAYOUT_NHWC, type, d ? 4 : b ? 2 : 1, dims);
  return made;
}
void Normalise(void *x, void *mean, void *invstd, void *y, void *dx) {
  cnnlTensorDescriptor_t all = Of(1, 2, 1, 2), one = Of(2, 0, 0, 0);
  cnnlSyncBatchNormStats_v2(nullptr, all, x, nullptr, 0, 0.0f, one, mean, one, invstd);
  cnnlSyncBatchNormElemt(nullptr, all, x, one, mean, one, invstd, one, nullptr, one, nullptr, all, y);
  cnnlSyncBatchnormBackwardReduce_v2(nullptr, all, y, all, x, one, mean, one, invstd, nullptr, 0, one, nullptr, one, nullptr, one, nullptr,
                                     one, dx, true, true, true);
}
void Align(void *x, void *boxes, void *out, void *back, int mode, void *column, void *row) {
  cnnlRoiAlignDescriptor_t desc;
  cnnlTensorDescriptor_t picture = Of(1, 4, 4, 1), bins = Of(1, 2, 2, 1), box = Of(1, 5, 0, 0);
  cnnlCreateRoiAlignDescriptor(&desc);
  cnnlSetRoiAlignDescriptor_v2(desc, 2, 2, 2, 1.0f, mode, true);
  cnnlRoiAlign_v2(nullptr, desc, picture, x, box, boxes, bins, out, bins, column, bins, row);
  cnnlRoiAlignBackward_v2(nullptr, bins, out, box, boxes, bins, column, bins, row, 1.0f, 2, true, mode, picture, back);
}
void Pool(void *x, void *boxes, void *out, void *index, void *back) {
  cnnlTensorDescriptor_t picture = Of(1, 4, 4, 1), bins = Of(1, 2, 2, 1), box = Of(1, 5, 0, 0);
  cnnlRoiPoolingForward(nullptr, CNNL_POOLING_MAX, picture, x, box, boxes, 1.0f, bins, out, index);
  cnnlRoiPoolingBackward(nullptr, CNNL_POOLING_MAX, bins, out, box, boxes, Of(1, 2, 2, 1, CNNL_DTYPE_INT32), index, 1.0f, picture, back);
}
static void Boxes(void *boxes, void *scores, void *out, void *count, int mode, int rows, int numbers, int most) {
  cnnlNmsDescriptor_t desc;
  float half = 0.5f, low = 0.1f;
  int layout = 0, box = 0;
  cnnlCreateNmsDescriptor(&desc);
  cnnlSetNmsDescAttr(desc, CNNL_NMS_DESC_IOU_THRESHOLD, &half, sizeof(float));
  cnnlSetNmsDescAttr(desc, CNNL_NMS_DESC_CONFIDENCE_THRESHOLD, &low, sizeof(float));
  cnnlSetNmsDescAttr(desc, CNNL_NMS_DESC_MAX_OUTPUT_SIZE, &most, sizeof(int));
  cnnlSetNmsDescAttr(desc, CNNL_NMS_DESC_INPUT_LAYOUT, &layout, sizeof(int));
  cnnlSetNmsDescAttr(desc, CNNL_NMS_DESC_BOX_MODE, &box, sizeof(int));
  cnnlSetNmsDescAttr(desc, CNNL_NMS_DESC_OUTPUT_MODE, &mode, sizeof(int));
  cnnlNms_v2(nullptr, desc, Of(rows, numbers, 0, 0), boxes, Of(rows, 0, 0, 0), scores, nullptr, 0, Of(most, 0, 0, 0, CNNL_DTYPE_INT32), out, count);
}
void Suppress(void *boxes, void *scores, void *out, void *count, int mode) { Boxes(boxes, scores, out, count, mode, 4, 4, 3); }
void Above(void *boxes, void *out, void *count, int most) { Boxes(boxes, nullptr, out, count, 0, 7, 7, most); }
void Deform(void *x, void *offset, void *mask, void *weight, void *y, void *dx, void *doffset, void *dmask, void *dweight) {
  cnnlDCNDescriptor_t desc;
  int pad[4] = {0, 0, 0, 0}, one[2] = {1, 1};
  cnnlTensorDescriptor_t all = Of(1, 2, 2, 1), moves = Of(1, 2, 2, 2), tap = Of(1, 1, 1, 1);
  cnnlCreateDCNDescriptor(&desc);
  cnnlSetDCNDescriptor(desc, 4, pad, one, one, 1, 1, 1, CNNL_DTYPE_FLOAT);
  cnnlDCNForward(nullptr, desc, all, x, moves, offset, all, mask, tap, weight, tap, nullptr, nullptr, 0, all, y);
  cnnlDCNBackwardData(nullptr, desc, all, x, moves, offset, all, mask, tap, weight, all, y, nullptr, 0, all, dx, moves, doffset, all, dmask);
  cnnlDCNBackwardWeight(nullptr, desc, all, x, moves, offset, all, mask, all, y, nullptr, 0, tap, dweight, tap, nullptr);
}
"""
PICTURE = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Call a function of the source on tensors: what they hold afterwards."""
    path = tmp_path_factory.mktemp("regions") / "calls.cpp"
    path.write_text(SOURCE)
    module = bangc.load(path)

    def call(name, *given):
        device = mlusim.Device()
        put = [device.put(g) if isinstance(g, np.ndarray) else g for g in given]
        module.functions[name](device, *put)
        return [
            device.get(p).ravel().tolist()
            for p, g in zip(put, given, strict=True)
            if isinstance(g, np.ndarray)
        ]

    return call


def zeros(*shape, dtype=np.float32):
    """A tensor of zeros."""
    return np.zeros(shape, dtype)


def test_channels_are_normalised(run):
    """The last axis is the channels; a filter and a bias may be absent."""
    x = np.array([1, 10, 3, 30], np.float32).reshape(1, 2, 1, 2)
    _, mean, invstd, y, times = run("Normalise", x, zeros(2), zeros(2), zeros(1, 2, 1, 2), zeros(2))

    assert ([2.0, 20.0], [1.0, pytest.approx(0.1)]) == (mean, invstd)
    assert pytest.approx([-1.0, -1.0, 1.0, 1.0]) == y
    assert pytest.approx([2.0, 20.0]) == times


def test_regions_are_pooled_and_gradients_go_back(run):
    """Samples between pixels for their mean and their largest; whole pixels for plain pooling."""
    box = np.array([[0, 0, 0, 4, 4]], np.float32)
    mean = run("Align", PICTURE, box, zeros(1, 2, 2, 1), zeros(1, 4, 4, 1), 1, zeros(4), zeros(4))
    most = run("Align", PICTURE, box, zeros(1, 2, 2, 1), zeros(1, 4, 4, 1), 0, zeros(4), zeros(4))
    pooled = run(
        "Pool",
        PICTURE,
        np.array([[0, 0, 0, 3, 3]], np.float32),
        zeros(1, 2, 2, 1),
        zeros(4, dtype=np.int32),
        zeros(1, 4, 4, 1),
    )

    assert ([2.5, 4.5, 10.5, 12.5], 30.0) == (mean[2], sum(mean[3]))
    assert ([5.0, 7.0, 13.0, 15.0], [1.0, 3.0, 1.0, 3.0], [1.0, 1.0, 3.0, 3.0]) == (most[2], most[4], most[5])
    assert {5: 5.0, 7: 7.0, 13: 13.0, 15: 15.0} == {n: v for n, v in enumerate(most[3]) if v}
    assert ([5.0, 7.0, 13.0, 15.0], [5, 7, 13, 15], most[3]) == (pooled[2], pooled[3], pooled[4])


def test_boxes_that_overlap_a_better_one_are_left_out(run):
    """The best first, those with a score below the threshold never; what is not known is refused."""
    boxes = np.array([[0, 0, 4, 4], [0, 0, 4, 3], [9, 9, 12, 12], [20, 20, 30, 30]], np.float32)
    given = (
        boxes,
        np.array([0.5, 0.9, 0.7, 0.05], np.float32),
        zeros(3, dtype=np.int32),
        zeros(1, dtype=np.int32),
    )
    *_, kept, count = run("Suppress", *given, 0)

    assert ([1, 2, 0], [2]) == (kept, count)
    with pytest.raises(Unsupported, match="for their indices, is not known"):
        run("Suppress", *given, 1)


def test_taps_move_between_pixels(run):
    """Offsets of half a row, a mask, and every gradient; pixels outside are 0."""
    x, weight = np.array([1, 2, 3, 4], np.float32).reshape(1, 2, 2, 1), np.full((1, 1, 1, 1), 2, np.float32)
    offset = np.zeros((1, 2, 2, 2), np.float32)
    offset[..., 0] = 0.5
    mask = np.array([1, 1, 1, 0.5], np.float32).reshape(1, 2, 2, 1)
    results = (zeros(4), zeros(4), zeros(8), zeros(4), zeros(1))
    *_, y, dx, doffset, dmask, dweight = run("Deform", x, offset, mask, weight, *results)

    assert [4.0, 6.0, 3.0, 2.0] == y
    assert [4.0, 6.0, 7.0, 7.0] == dx
    assert [16.0, 8.0, 24.0, -36.0, -18.0, 3.0, -8.0, -4.0] == doffset
    assert [16.0, 36.0, 9.0, 8.0] == dmask
    assert [8.0 + 18.0 + 4.5 + 2.0] == dweight


@pytest.mark.parametrize(("most", "kept"), [(7, [0, 3, 4, 6]), (2, [0, 3])])
def test_boxes_of_seven_numbers_are_chosen_from_above(run, most, kept):
    """In their own order: what covers the same ground is left out, however it is turned and whatever its height."""
    quarter = np.pi / 2
    boxes = [
        [0, 0, 0, 4, 2, 1, 0],
        [0, 0, 9, 4, 2, 1, np.pi],
        [0, 0, 0, 2, 4, 1, quarter],  # the same ground
        [2, 0, 0, 4, 2, 1, 0],  # a third of both
        [0, 0, 0, 4, 2, 1, quarter],  # a cross: a third
        [0.5, 0, 0, 4, 2, 1, 0],  # 7 of 9
        [50, 50, 0, 4, 2, 1, 1],
    ]
    _, found, count = run(
        "Above", np.array(boxes, np.float32), zeros(most, dtype=np.int32), zeros(1, dtype=np.int32), most
    )

    assert kept == found[: len(kept)]
    assert [len(kept)] == count


def _heights(box, x):
    """Where lines across a box of seven numbers enter it from below and leave it: an empty span where they miss it."""
    middle, half, turn = box[:2], box[3:5] / 2, box[6]
    low, high = np.full(x.shape, -np.inf), np.full(x.shape, np.inf)
    away = x - middle[0]
    for slope, start, most in (
        (np.sin(turn), away * np.cos(turn), half[0]),
        (np.cos(turn), -away * np.sin(turn), half[1]),
    ):
        if abs(slope) < 1e-9:
            high = np.where(np.abs(start) <= most, high, low)
        else:
            ends = np.sort([(-most - start) / slope, (most - start) / slope], 0)
            low, high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
    return low + middle[1], high + middle[1]


def _shared(one, other):
    """The part of what two boxes cover together that both cover, in 2,000 slices: no corner is looked for."""
    reach = np.hypot(one[3], one[4]) / 2
    edges = np.linspace(one[0] - reach, one[0] + reach, 2001)
    x = (edges[1:] + edges[:-1]) / 2
    (low, high), (below, above) = _heights(one, x), _heights(other, x)
    common = np.maximum(np.minimum(high, above) - np.maximum(low, below), 0).sum() * (edges[1] - edges[0])
    return common / (one[3] * one[4] + other[3] * other[4] - common)


def test_turned_boxes_are_chosen_as_by_slices_of_what_they_share(run):
    """Against another way to the same areas: the vendor's five boxes, and drawn ones whose overlap is not at the threshold."""
    draw = np.random.default_rng(5)
    vendor = [
        [2, 2, 2, 2, 2, 2, 0],
        [1, 1, 1, 2, 2, 2, 0],
        [3, 3, 3, 3, 2, 2, 0],
        [3, 3.2, 3.2, 3, 2, 2, 0.3],
        [3, 3, 3, 3, 2, 2, 0.3],
    ]
    sets = [np.array([*vendor, [9, 9, 0, 1, 1, 1, 2], [9.1, 9, 5, 1, 1.2, 1, -1]])]
    while len(sets) < 5:
        boxes = np.column_stack(
            [*draw.uniform(0, 2, (3, 7)), *draw.uniform(1, 3, (3, 7)), draw.uniform(-4, 4, 7)]
        )
        parts = [_shared(a, b) for n, a in enumerate(boxes) for b in boxes[:n]]
        if np.abs(np.array(parts) - 0.5).min() > 0.01:
            sets.append(boxes)
    wanted, chosen = [], []
    for boxes in sets:
        kept = []
        for n, box in enumerate(boxes):
            if all(_shared(boxes[k], box) <= 0.5 for k in kept):
                kept.append(n)
        wanted.append(kept)
        given = boxes.astype(np.float32), zeros(7, dtype=np.int32), zeros(1, dtype=np.int32)
        *_, found, count = run("Above", *given, 7)
        chosen.append(list(found[: count[0]]))

    assert wanted == chosen
    assert len({len(kept) for kept in wanted}) > 1
