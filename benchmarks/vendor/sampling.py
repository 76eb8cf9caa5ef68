"""Kernels that sample pictures between their pixels: attention, deformed regions, upsampling."""

import numpy as np

from benchmarks.vendor.bench import Bench, case
from benchmarks.vendor.references.attention import problem

NAMES = ("value", "spatial_shapes", "level_start_index", "sampling_loc", "attn_weight")
FORWARD = "kernels/ms_deform_attn/ms_deform_attn_forward/msda_forward"
BACKWARD = "kernels/ms_deform_attn/ms_deform_attn_backward/ms_deform_attn_backward"


def attention(b: Bench, channels=16):
    """Attention at deformed places: what is given, and the sizes."""
    given = problem(b.random, channels, 3, 2, queries=5)
    value, _, _, places, _ = given
    batch, pixels, heads, _ = value.shape
    grad = b.random.normal(size=(batch, places.shape[1], heads, channels)).astype(np.float32)
    return given, grad, (batch, pixels, heads, channels, places.shape[3], places.shape[1], places.shape[4])


def forward(b: Bench, name: str) -> None:
    """Run one of the kernels of attention."""
    given, grad, sizes = attention(b)
    names = (f"data_{n}" for n in NAMES)
    wanted = b.wanted("mluOpMsDeformAttnForward", **dict(zip(names, given, strict=True)))["data_col"]
    out = b.zeros(grad.shape, np.float32)
    b.union(name, *map(b.put, given), *map(int, sizes), out)
    b.expect(out, wanted, 1e-4)


def backward(b: Bench, name: str) -> None:
    """Run one of the kernels of its gradients."""
    given, grad, sizes = attention(b)
    wanted = b.wanted("mluOpMsDeformAttnBackward", **dict(zip(NAMES, given, strict=True)), grad_output=grad)
    outs = [b.zeros(g.shape, np.float32) for g in wanted.values()]
    b.union(name, *map(b.put, given), b.put(grad), *map(int, sizes), *outs)
    for out, gradient in zip(outs, wanted.values(), strict=True):
        b.expect(out, gradient, 1e-3)


@case(f"{FORWARD}_union1_default.mlu")
def attention_default(b: Bench) -> None:
    """A query at a time."""
    forward(b, "MLUKernelMsDeformAttnForwardDefault<float>")


@case(f"{FORWARD}_small_channel_union1.mlu")
def attention_small(b: Bench) -> None:
    """Few channels."""
    forward(b, "MLUKernelMsDeformAttnForwardSmallChannel<float>")


@case(f"{FORWARD}_fast_union1.mlu")
def attention_fast(b: Bench) -> None:
    """With gathers."""
    forward(b, "MLUKernelMsDeformAttnForwardFast<float>")


@case(f"{BACKWARD}_union1.mlu")
def attention_gradient(b: Bench) -> None:
    """A query at a time."""
    backward(b, "MLUUnion1KernelMsDeformAttnBackwardDefault")


@case(f"{BACKWARD}_small_channels_union1.mlu")
def attention_gradient_small(b: Bench) -> None:
    """Few channels."""
    backward(b, "MLUUnion1KernelMsDeformAttnBackwardSmallChannelsKernel")


@case(f"{BACKWARD}_fast_union1.mlu")
def attention_gradient_fast(b: Bench) -> None:
    """With gathers and matrix products."""
    backward(b, "MLUUnion1KernelMsDeformAttnBackwardFastKernel")


@case("kernels/deform_roi_pool/deform_roi_pool_union1.mlu")
def deform_roi_pool(b: Bench) -> None:
    """The mean of the samples of each bin, each bin moved by its own offset; and the gradients."""
    batch, h, w, c, count, pooled, scale, ratio, gamma = 2, 9, 8, 12, 4, 3, 0.5, 2, 0.1
    x = b.random.normal(size=(batch, h, w, c)).astype(np.float32)
    boxes = np.sort(b.random.uniform(0, 16, (count, 2, 2)), axis=1).reshape(count, 4)
    rois = np.concatenate([b.random.integers(0, batch, (count, 1)), boxes], 1).astype(np.float32)
    offset = b.random.normal(size=(count, 2, pooled, pooled)).astype(np.float32)
    grad = b.random.normal(size=(count, pooled, pooled, c)).astype(np.float32)
    numbers = {
        "pooled_height": pooled,
        "pooled_width": pooled,
        "spatial_scale": scale,
        "sampling_ratio": ratio,
    }
    shared = {"input": x, "rois": rois, "offset": offset, "gamma": gamma, **numbers}
    wanted = b.wanted("mluOpDeformRoiPoolForward", **shared, output=grad)["output"]
    back = b.wanted("mluOpDeformRoiPoolBackward", **shared, grad_output=grad, grad_offset=offset)
    gradient, moved = back["grad_input"], back["grad_offset"]
    given, sizes = (
        (b.put(x), b.put(rois), b.put(offset)),
        (batch, c, h, w, count, pooled, pooled, scale, ratio, gamma),
    )
    out = b.zeros(wanted.shape, np.float32)
    b.union("MLUUnion1DeformRoiPoolForward<float>", *given, out, *sizes)
    b.expect(out, wanted, 1e-4)
    out, turned = b.zeros(x.shape, np.float32), b.zeros(offset.shape, np.float32)
    b.union("MLUUnion1DeformRoiPoolBackward<float>", b.put(grad), *given, out, turned, *sizes)
    b.expect(out, gradient, 1e-4)
    b.expect(turned, moved, 1e-3)


@case("kernels/carafe/carafe_block.mlu")
def carafe(b: Bench) -> None:
    """Each pixel of a larger picture from a window of the smaller, weighted by its own mask; and the gradients."""
    n, h, w, groups, k, scale = 2, 4, 5, 2, 3, 2
    c = groups * 9
    for dtype, name, tolerance in ((np.float32, "float", 1e-4), (np.float16, "half", 2e-2)):
        x = b.random.normal(size=(n, h, w, c)).astype(dtype)
        mask = b.random.uniform(size=(n, h * scale, w * scale, groups * k * k)).astype(dtype)
        grad = b.random.normal(size=(n, h * scale, w * scale, c)).astype(dtype)
        numbers = {"kernel_size": k, "group_size": groups, "scale_factor": scale}
        wanted = b.wanted("DriveCarafeForward", input=x, mask=mask, output=grad, **numbers)["output"]
        gradients = b.wanted("DriveCarafeBackward", input=x, mask=mask, grad_output=grad, **numbers)
        back, weights = gradients["grad_input"], gradients["grad_mask"]
        out = b.zeros(wanted.shape, dtype)
        sizes = (n, h, w, c, k, groups, scale)
        b.block(f"MLUKernelCarafeForward<{name}>", b.put(x), b.put(mask), out, *sizes, 2, 3, 1, 9, 2, 2, 2, 1)
        b.expect(out, wanted, tolerance)
        outs = b.zeros(x.shape, dtype), b.zeros(mask.shape, dtype)
        b.block(f"MLUKernelCarafeBackward<{name}>", b.put(x), b.put(mask), b.put(grad), *outs, *sizes)
        b.expect(outs[0], back, tolerance)
        b.expect(outs[1], weights, tolerance)
