"""Kernels that move elements to places: columns of pictures, experts, shifts in time."""

import numpy as np

import mlusim
from benchmarks.vendor.bench import FLOATS, NAMES, Bench, case
from ops.border_align_backward.reference import reference as border_align_gradient
from ops.three_interpolate_backward.reference import reference as interpolation_gradient
from ops.tin_shift.reference import shifted

FLOAT, HALF = 2, 1  # of mluOpDataType_t


@case("kernels/tin_shift/tin_shift_union1.mlu")
def tin_shift(b: Bench) -> None:
    """Groups of channels, each moved in time by its own shift; both kernels."""
    for dtype, number in ((np.float32, FLOAT), (np.float16, HALF)):
        x = b.random.normal(size=(2, 8, 16, 24)).astype(dtype)
        shifts = b.random.integers(-9, 10, (2, 4)).astype(np.int32)
        shape = (2, 8, 16, 24, 4, 4)
        for name, more in (("mluUnion1TinShift", ()), ("mluUnion1TinShiftSplitSequence", (10, 3))):
            out = b.zeros(x.shape, dtype)
            b.union(name, b.put(x), b.put(shifts), out, *shape, *more, number)
            b.expect(out, shifted(x, shifts))


@case("kernels/border_align/border_align_backward/border_align_backward_union1.mlu")
def border_align_backward(b: Bench) -> None:
    """The gradient of border pooling."""
    n, h, w, c, pool = 2, 7, 10, 8, 10
    k = h * w
    for dtype, tolerance in ((np.float32, 1e-5), (np.float16, 2e-2)):
        grad = b.random.normal(size=(n, k, 4, c)).astype(dtype)
        boxes = np.sort(b.random.uniform(-1, 9, (n, k, 2, 2)), axis=2).reshape(n, k, 4).astype(dtype)
        index = b.random.integers(0, pool + 1, (n, k, 4, c)).astype(np.int32)
        out = b.zeros((n, h, w, 4 * c), dtype)
        name = f"MLUKernelBorderAlignBackward<{NAMES[np.dtype(dtype)]}>"
        b.union(name, b.put(grad), b.put(boxes), b.put(index), pool, n, h, w, c, k, out)
        given = {"grad_output": grad, "boxes": boxes, "argmax_idx": index}
        wanted = border_align_gradient(given, {"height": h, "width": w, "pool_size": pool})
        b.expect(out, wanted["grad_input"], tolerance)


@case("kernels/three_interpolate/three_interpolate_union1.mlu")
def three_interpolate(b: Bench) -> None:
    """Three weighted neighbours, and the gradient."""
    batch, c, n, m = 2, 20, 50, 40
    for dtype, tolerance in ((np.float32, 1e-5), (np.float16, 2e-2)):
        name = NAMES[np.dtype(dtype)]
        grad, x = (b.random.normal(size=(batch, c, size)).astype(dtype) for size in (n, m))
        index = b.random.integers(0, m, (batch, n, 3)).astype(np.int32)
        weights = b.random.uniform(size=(batch, n, 3)).astype(dtype)
        limits = (batch, c, m, n, 64, 64, 64)
        out = b.zeros((batch, c, m), dtype)
        b.union(
            f"MLUKernelThreeInterpolateBackward<{name}>",
            b.put(grad),
            b.put(index),
            b.put(weights),
            *limits,
            out,
        )
        given = {"grad_output": grad, "indices": index, "weights": weights}
        b.expect(out, interpolation_gradient(given, {"m": m})["grad_features"], tolerance)
        out = b.zeros((batch, c, n), dtype)
        b.union(
            f"MLUKernelThreeInterpolateForward<{name}>", b.put(x), b.put(index), b.put(weights), *limits, out
        )
        wide, factors = x.astype(float), weights.astype(float)
        wanted = [sum(wide[i][:, index[i, :, k]] * factors[i, :, k] for k in range(3)) for i in range(batch)]
        b.expect(out, np.stack(wanted), tolerance)


@case("kernels/masked_im2col/masked_im2col_forward/masked_im2col_forward_union1.mlu")
def masked_im2col(b: Bench) -> None:
    """Windows of a picture at chosen places, as rows."""
    h, w, c, kh, kw, ph, pw, count = 9, 11, 5, 3, 3, 1, 1, 17
    for dtype, number in ((np.float32, FLOAT), (np.float16, HALF)):
        x = b.random.normal(size=(h, w, c)).astype(dtype)
        rows, columns = (b.random.integers(0, size, count).astype(np.int32) for size in (h, w))
        out = b.zeros((count, kh * kw, c), dtype)
        where = (b.put(rows), b.put(columns), count)
        b.union("MLUUnion1MaskedIm2colForward", number, b.put(x), h, w, c, kh, kw, ph, pw, *where, out)
        wanted = np.zeros((count, kh * kw, c), dtype)
        for i in range(count):
            for at in range(kh * kw):
                y, z = rows[i] - ph + at // kw, columns[i] - pw + at % kw
                if 0 <= y < h and 0 <= z < w:
                    wanted[i, at] = x[y, z]
        b.expect(out, wanted)


@case("kernels/masked_im2col/masked_col2im_forward/masked_col2im_forward_union1.mlu")
def masked_col2im(b: Bench) -> None:
    """Rows put back to chosen places of a picture."""
    h, w, c, count = 9, 11, 50, 17
    for dtype in FLOATS:
        index = b.random.permutation(h * w)[:count]
        rows, columns = (index // w).astype(np.int32), (index % w).astype(np.int32)
        col, image = b.random.normal(size=(count, c)).astype(dtype), b.zeros((h, w, c), dtype)
        name = f"MLUUnion1MaskedCol2imForward<{NAMES[np.dtype(dtype)]}>"
        b.union(name, b.put(col), h, w, c, b.put(rows), b.put(columns), count, image)
        wanted = np.zeros((h, w, c), dtype)
        wanted[rows, columns] = col
        b.expect(image, wanted)


def experts(b: Bench):
    """Samples given to experts with room for some: gates, places, samples, what the experts hold."""
    samples, hidden, number, capacity = 6, 70, 4, 6
    indices = b.random.integers(0, number, samples).astype(np.int32)
    locations, counts = np.zeros(samples, np.int32), [0] * number
    for i in range(samples):
        locations[i] = counts[indices[i]]
        counts[indices[i]] += 1
    gates = b.random.normal(size=samples).astype(np.float32)
    x = b.random.normal(size=(samples, hidden)).astype(np.float32)
    held = b.random.normal(size=(number * capacity, hidden)).astype(np.float32)
    places = indices * capacity + locations
    return gates, indices, locations, x, held, places, (samples, capacity, hidden, number)


@case("kernels/moe_dispatch/moe_dispatch_forward/moe_dispatch_forward_block.mlu")
def dispatch(b: Bench) -> None:
    """Each sample to its expert, times its gate."""
    gates, indices, locations, x, held, places, sizes = experts(b)
    out = b.zeros(held.shape, np.float32)
    b.block("MLUKernelMoeDispatchFwd<float>", *map(b.put, (gates, indices, locations, x)), *sizes, out)
    wanted = np.zeros_like(held)
    wanted[places] = gates[:, None] * x
    b.expect(out, wanted, 1e-5)


@case("kernels/moe_dispatch/moe_dispatch_backward_data/moe_dispatch_backward_data_union1.mlu")
def dispatch_data(b: Bench) -> None:
    """The gradient of the samples, by both kernels."""
    gates, indices, locations, x, held, places, sizes = experts(b)
    for number in "12":
        out = b.zeros(x.shape, np.float32)
        name = f"MLUKernelMoeDispatchBwdData{number}<float>"
        b.union(name, *map(b.put, (gates, indices, locations, held)), *sizes, out)
        b.expect(out, gates[:, None] * held[places], 1e-5)


@case("kernels/moe_dispatch/moe_dispatch_backward_gate/moe_dispatch_backward_gate_union1.mlu")
def dispatch_gate(b: Bench) -> None:
    """The gradient of the gates, by both kernels."""
    _, indices, locations, x, held, places, sizes = experts(b)
    wanted = (held[places].astype(float) * x).sum(1)
    given = list(map(b.put, (indices, locations, x, held)))
    for number, more in (("1", (b.zeros(4096, np.float32),)), ("2", ())):
        out = b.zeros(len(x), np.float32)
        name = f"MLUKernelMoeDispatchBwdGate{number}<float>"
        b.launch(name, *given, *sizes, *more, out, dim=(8, 1, 1), kind=mlusim.UNION2)
        b.expect(out, wanted, 1e-3)


def strided(b: Bench, dtype):
    """A tensor with gaps: its shape as the library's structure, its elements' places, an array with room for it."""
    dims, strides = (3, 4, 5, 6), (600, 150, 29, 4)
    places = np.tensordot(strides, np.indices(dims), 1)
    room = int(places.max()) + 1
    shape = ((*dims, *[1] * 4), (*strides, *[1] * 4), places.size, room, False)
    return shape, places, b.random.integers(-9, 9, room).astype(dtype)


@case("kernels/tensor_stride_process/tensor_stride_in_block.mlu")
def strided_in(b: Bench) -> None:
    """A tensor with gaps, without them."""
    for dtype, name in ((np.float32, "float"), (np.float16, "half"), (np.int8, "signed char")):
        shape, places, x = strided(b, dtype)
        out = b.zeros(places.shape, dtype)
        b.block(f"MLUUnionKernelTensorStrideIn<{name}>", b.put(x), shape, out)
        b.expect(out, x[places])


@case("kernels/tensor_stride_process/tensor_stride_out_block.mlu")
def strided_out(b: Bench) -> None:
    """A dense tensor with gaps between; what lies in the gaps stays."""
    for dtype, name in ((np.float32, "float"), (np.float16, "half"), (np.int8, "signed char")):
        shape, places, x = strided(b, dtype)
        values = b.random.integers(-9, 9, places.shape).astype(dtype)
        out, wanted = b.put(x), x.copy()
        wanted[places] = values
        b.block(f"MLUUnionKernelTensorStrideOut<{name}>", b.put(values), out, shape)
        b.expect(out, wanted)
