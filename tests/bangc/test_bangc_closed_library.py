"""Calls of the closed library in host functions: what their stand-ins in NumPy give; what has none."""

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.errors import Unsupported, UsageError

SOURCE = """\
#include "cnnl.h"
#include "cn_api.h"
static cnnlTensorDescriptor_t Tensor(int rows, int columns, cnnlDataType_t type = CNNL_DTYPE_FLOAT) {
  cnnlTensorDescriptor_t made;
  int64_t dims[2] = {rows, columns};
  cnnlCreateTensorDescriptor(&made);
  cnnlSetTensorDescriptor_v2(made, CNNL_LAYOUT_ARRAY, type, 2, dims);
  return made;
}
int Move(void *x, void *y, void *fresh) {
  cnnlHandle_t handle;
  cnnlTransposeDescriptor_t turn;
  int permute[2] = {1, 0}, widths[2][2] = {{1, 0}, {0, 2}};
  float seven = 7;
  size_t bytes = 1;
  cnnlCreate(&handle);
  cnnlCreateTransposeDescriptor(&turn);
  cnnlSetTransposeDescriptor(turn, 2, permute);
  cnnlGetTransposeWorkspaceSize(handle, Tensor(2, 3), turn, &bytes);
  cnnlTranspose_v2(handle, turn, Tensor(2, 3), x, Tensor(3, 2), y, nullptr, bytes);
  cnnlPad(handle, Tensor(2, 3), x, widths, &seven, Tensor(3, 5), fresh);
  return (int)bytes;
}
void Fill(void *y) {
  int zero_bits = 0x40000000;
  cnnlFill_v3(nullptr, CNNL_POINTER_MODE_HOST, &zero_bits, Tensor(2, 2), y);
}
void Multiply(void *a, void *b, void *c) {
  cnnlMatMulDescriptor_t desc;
  cnnlMatMulAlgo_t algo;
  int yes = 1;
  float alpha = 2, beta = 1;
  cnnlCreateMatMulDescriptor(&desc);
  cnnlCreateMatMulAlgo(&algo);
  cnnlSetMatMulDescAttr(desc, CNNL_MATMUL_DESC_TRANSB, &yes, sizeof(int));
  cnnlTensorDescriptor_t out = Tensor(2, 2);
  cnnlMatMul_v2(nullptr, desc, algo, &alpha, Tensor(2, 3), a, Tensor(2, 3), b, &beta, out, c, nullptr, 0, out, c);
}
void Add(void *a, void *b, void *c) {
  cnnlOpTensorDescriptor_t desc;
  float one = 1, zero = 0;
  cnnlCreateOpTensorDescriptor(&desc);
  cnnlSetOpTensorDescriptor(desc, CNNL_OP_TENSOR_SUB, CNNL_DTYPE_FLOAT, CNNL_NOT_PROPAGATE_NAN);
  cnnlOpTensor(nullptr, desc, &one, Tensor(2, 3), a, &one, Tensor(2, 3), b, nullptr, 0, &zero, Tensor(2, 3), c);
}
void Scatter(cnnlScatterNdMode_t mode, void *where, void *x, void *first, void *out) {
  cnnlScatterNd_v2(nullptr, mode, Tensor(4, 1, CNNL_DTYPE_INT32), where, Tensor(4, 2), x, Tensor(3, 2), first, Tensor(3, 2), out);
}
void Gather(void *where, void *x, void *out) {
  cnnlGatherNd_v2(nullptr, 0, Tensor(3, 2), x, Tensor(4, 1, CNNL_DTYPE_INT32), where, Tensor(4, 2), out);
}
void Unique(void *rows, void *count, void *out, void *which, void *often) {
  cnnlUniqueDescriptor_t desc;
  cnnlCreateUniqueDescriptor(&desc);
  cnnlSetUniqueDescriptor(desc, CNNL_SORT_ASCEND, 0, true, true);
  cnnlTensorDescriptor_t line = Tensor(4, 1, CNNL_DTYPE_INT32);
  cnnlUnique_v2(nullptr, desc, Tensor(4, 2, CNNL_DTYPE_INT32), rows, nullptr, 0, (int *)count, Tensor(4, 2, CNNL_DTYPE_INT32), out, line, which, line, often);
}
void Best(void *x, void *out, void *where) {
  cnnlTopKTensor_v3(nullptr, Tensor(2, 3), x, 2, 1, true, true, true, nullptr, 0, Tensor(2, 2), out, Tensor(2, 2, CNNL_DTYPE_INT32), where);
}
static cnnlTensorDescriptor_t Picture(cnnlTensorLayout_t layout, int a, int b, int c, int d) {
  cnnlTensorDescriptor_t made;
  int dims[4] = {a, b, c, d};
  cnnlCreateTensorDescriptor(&made);
  cnnlSetTensorDescriptor(made, layout, CNNL_DTYPE_FLOAT, 4, dims);
  return made;
}
void Pool(cnnlPoolingMode_t mode, void *x, void *y) {
  cnnlPoolingDescriptor_t desc;
  float one = 1, zero = 0;
  cnnlCreatePoolingDescriptor(&desc);
  cnnlSetPooling2dDescriptor_v2(desc, mode, CNNL_NOT_PROPAGATE_NAN, 2, 3, 1, 0, 0, 1, 2, 1, 1, 2, false);
  cnnlPoolingForward_v2(nullptr, desc, &one, Picture(CNNL_LAYOUT_NCHW, 2, 3, 5, 6), x, &zero, nullptr,
                        Picture(CNNL_LAYOUT_NCHW, 2, 3, 3, 3), y, nullptr, 0);
}
void Convolve(int groups, int rows, void *x, void *w, void *bias, void *y) {
  cnnlConvolutionDescriptor_t desc;
  int pad[4] = {1, 0, 0, 1}, stride[2] = {2, 1}, dilation[2] = {1, 2};
  cnnlCreateConvolutionDescriptor(&desc);
  cnnlSetConvolutionDescriptor(desc, 4, pad, stride, dilation, groups, CNNL_DTYPE_FLOAT);
  cnnlConvolutionForward(nullptr, desc, CNNL_CONVOLUTION_FWD_ALGO_DIRECT, nullptr, Picture(CNNL_LAYOUT_NHWC, 2, 5, 6, 4), x,
                         Picture(CNNL_LAYOUT_NHWC, 6, 2, 3, 4 / groups), w, Tensor(1, 6), bias, nullptr, 0, nullptr,
                         Picture(CNNL_LAYOUT_NHWC, 2, rows, 3, 6), y);
}
cnnlStatus_t cnnlSoftmax(...);
void Normal(void *x) { cnnlSoftmax(nullptr, Tensor(2, 3), x); }
int Seen() {
  CNcontext context;
  CNctxConfigParam found;
  cnCtxGetCurrent(&context);
  cnGetCtxConfigParam(context, CN_CTX_CONFIG_VISIBLE_CLUSTER_NUM, &found);
  return found.visibleClusterNumber;
}
int Reach() { int found = 0; cnDeviceGetAttribute(&found, CN_DEVICE_ATTRIBUTE_MAX_CLUSTER_COUNT, 0); return found; }
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    """The source, loaded once."""
    path = tmp_path_factory.mktemp("closed") / "calls.cpp"
    path.write_text(SOURCE)
    return bangc.load(path)


@pytest.fixture
def device():
    """A device of its own."""
    return mlusim.Device()


A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = A[::-1] * 2 + 1


def test_tensors_are_filled_moved_and_multiplied(module, device):
    """The value of a fill has the bits that the tensor's type has; a product takes the factors that it is given."""
    x, other = device.put(A), device.put(B.copy())
    y, fresh = device.empty((3, 2), np.float32), device.empty((3, 5), np.float32)
    c = device.put(np.ones((2, 2), np.float32))
    bytes_wanted = module.functions["Move"](device, x, y, fresh)
    module.functions["Multiply"](device, x, other, c)
    product, difference = device.get(c).tolist(), device.empty((2, 3), np.float32)
    module.functions["Fill"](device, c)
    module.functions["Add"](device, x, other, difference)

    assert 0 == bytes_wanted
    assert A.T.tolist() == device.get(y).tolist()
    assert np.pad(A, ((1, 0), (0, 2)), constant_values=7).tolist() == device.get(fresh).tolist()
    assert (2 * (A @ B.T) + 1).tolist() == product
    assert [[2.0, 2.0], [2.0, 2.0]] == device.get(c).tolist()
    assert (A - B).tolist() == device.get(difference).tolist()


def test_rows_go_to_places_and_come_from_them(module, device):
    """A place outside is nowhere for a scatter, and 0 from a gather."""
    rows, first = np.arange(8, dtype=np.float32).reshape(4, 2), np.full((3, 2), 10, np.float32)
    where, x, given = device.put(np.array([2, 0, 2, -1], np.int32)), device.put(rows), device.put(first)
    outside, beyond = (
        device.put(np.array([2, 3, 2, -1], np.int32)),
        device.put(np.full((4, 2), 7, np.float32)),
    )
    out, back = device.empty((3, 2), np.float32), device.empty((4, 2), np.float32)
    module.functions["Scatter"](device, "CNNL_SCATTERND_ADD", where, x, given, out)
    summed = device.get(out).tolist()
    module.functions["Scatter"](device, "CNNL_SCATTERND_UPDATE", where, x, None, out)
    module.functions["Gather"](device, device.put(np.array([2, 0, 2, 1], np.int32)), given, back)
    module.functions["Gather"](device, outside, given, beyond)
    module.functions["Scatter"](device, "CNNL_SCATTERND_ADD", outside, x, given, given)

    assert [[12.0, 13.0], [10.0, 10.0], [14.0, 16.0]] == summed
    assert [[2.0, 3.0], [0.0, 0.0], [4.0, 5.0]] == device.get(out).tolist()
    assert [[10.0, 10.0]] * 4 == device.get(back).tolist()
    assert [[10.0, 10.0], [0.0, 0.0], [10.0, 10.0], [0.0, 0.0]] == device.get(beyond).tolist()
    assert [[10.0, 10.0], [10.0, 10.0], [14.0, 16.0]] == device.get(given).tolist()


def windows(padded):
    """What a window of 2 by 3, with steps of 2 and 1, and every second column, sees: channels first, its places last."""
    seen = np.lib.stride_tricks.sliding_window_view(padded, (2, 5), axis=(2, 3))[:, :, ::2, :, :, ::2]
    return seen.reshape(*seen.shape[:4], 6)


def test_windows_are_pooled_and_convolved(module, device):
    """Paddings of one side, steps and dilations; a mean of what is there, or of the whole window; groups of channels."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 3, 5, 6), np.float32), device.empty((2, 3, 3, 3), np.float32)
    wide, sides = (lambda fill: np.pad(x, sides, constant_values=fill)), ((0, 0), (0, 0), (1, 0), (0, 1))
    found = {}
    for mode in ("MAX", "AVERAGE_COUNT_INCLUDE_PADDING", "AVERAGE_COUNT_EXCLUDE_PADDING"):
        module.functions["Pool"](device, f"CNNL_POOLING_{mode}", device.put(x), y)
        found[mode] = device.get(y).copy()
    count = windows(np.pad(np.ones_like(x), sides)).sum(-1)
    np.testing.assert_array_equal(found["MAX"], windows(wide(-np.inf)).max(-1))
    total = windows(wide(0)).sum(-1)
    np.testing.assert_allclose(found["AVERAGE_COUNT_INCLUDE_PADDING"], total / 6, atol=1e-6)
    np.testing.assert_allclose(found["AVERAGE_COUNT_EXCLUDE_PADDING"], total / count, atol=1e-6)

    x, bias = rng.standard_normal((2, 5, 6, 4), np.float32), rng.standard_normal((1, 6), np.float32)
    seen, out = windows(np.pad(x.transpose(0, 3, 1, 2), sides)), device.empty((2, 3, 3, 6), np.float32)
    for groups in (1, 2):
        w = rng.standard_normal((6, 2, 3, 4 // groups), np.float32)
        module.functions["Convolve"](device, groups, 3, *map(device.put, (x, w, bias)), out)
        parts = zip(np.split(seen, groups, 1), np.split(w.reshape(6, 6, -1), groups), strict=True)
        expected = np.concatenate([np.einsum("ncyxk,okc->nyxo", a, b) for a, b in parts], -1) + bias[0]
        np.testing.assert_allclose(device.get(out), expected, atol=1e-5)
    with pytest.raises(Unsupported, match="windows for 4 x 3 results reach past the padded picture of 6 x 7"):
        module.functions["Convolve"](
            device, 2, 4, *map(device.put, (x, w, bias)), device.empty((2, 4, 3, 6), np.float32)
        )


def test_rows_are_sorted_and_made_unique(module, device):
    """Unique rows ascend, with which one each row was and how often it comes; equal keys keep their order."""
    given = np.array([[3, 1], [0, 5], [3, 1], [0, 4]], np.int32)
    tensors = [device.put(np.full(shape, -7, np.int32)) for shape in (1, (4, 2), (4, 1), (4, 1))]
    module.functions["Unique"](device, device.put(given), *tensors)
    count, rows, which, often = (device.get(t) for t in tensors)
    best, where = device.empty((2, 2), np.float32), device.empty((2, 2), np.int32)
    module.functions["Best"](device, device.put(np.array([[1, 3, 3], [9, 2, 5]], np.float32)), best, where)

    assert ([3], [[0, 4], [0, 5], [3, 1]]) == (count.tolist(), rows[:3].tolist())
    assert ([2, 1, 2, 0], [1, 1, 2]) == (which.ravel().tolist(), often.ravel()[:3].tolist())
    assert ([[3.0, 3.0], [9.0, 5.0]], [[1, 2], [0, 2]]) == (
        device.get(best).tolist(),
        device.get(where).tolist(),
    )


def test_a_call_without_a_stand_in_is_said(module, device):
    """It is not silent success."""
    with pytest.raises(UsageError, match="Normal calls a function that no loaded file defines"):
        module.functions["Normal"](device, device.put(A))

    assert device.board.clusters == module.functions["Reach"](device) == module.functions["Seen"](device)
