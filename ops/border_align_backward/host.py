"""The vendor-shaped host function of border_align_backward: checks in the library's real order, launches."""

from typing import Any

import numpy as np

from mlusim.host import Handle, Status, TensorDescriptor
from mlusim.host.checks import (
    architectures,
    contiguous,
    demand,
    dim,
    dtype,
    layout,
    not_large,
    not_null,
    rank,
    same_dim,
    same_dtype,
    verify,
)
from ..fill import fill_zero
from .kernel import MLUUnion1BorderAlignBackward
from .plan import PLAN

# MLU2xx cannot compare int32 with a scalar (BA-3), tp_322 has no cluster to launch a Union1 task on.
ARCHITECTURES = ("mtp_372", "mtp_592")
BORDERS = 4
API = "mluOpBorderAlignBackward"


def _channels(a: Any) -> int:
    """Return C: the channels of grad_input are those of the four borders."""
    return int(a.grad_input_desc.shape[3]) // BORDERS


def _cells(a: Any) -> int:
    """Return H * W of grad_input."""
    return int(a.grad_input_desc.shape[1]) * int(a.grad_input_desc.shape[2])


def _is_pool_size(a: Any) -> bool:
    return isinstance(a.pool_size, int | np.integer) and 0 < int(a.pool_size) < 1 << 31


def _at_least_one(axis: int, name: str) -> Any:
    sentence = f"grad_input_desc: {name} (dim {axis}) is 0; it must be 1 or more"
    return demand(lambda a: a.grad_input_desc.shape[axis] != 0, sentence)


def _like_output(name: str) -> Any:
    """Return the checks of a tensor that must be [N, K, 4, C]."""
    return (
        same_dim(name, 0, "grad_input_desc", 0),
        same_dim(name, 1, "boxes_desc", 1),
        dim(name, 2, lambda _: BORDERS, "the borders of a box"),
        dim(name, 3, _channels, "a quarter of dim 3 of grad_input_desc"),
    )


CHECKS = (
    architectures(*ARCHITECTURES),
    not_null("grad_output_desc", "boxes_desc", "argmax_idx_desc", "grad_input_desc"),
    rank("grad_output_desc", 4),
    rank("boxes_desc", 3),
    rank("argmax_idx_desc", 4),
    rank("grad_input_desc", 4),
    contiguous("grad_output_desc", "boxes_desc", "argmax_idx_desc", "grad_input_desc"),
    dtype("grad_output_desc", "half", "float"),
    dtype("argmax_idx_desc", "int32"),
    same_dtype("boxes_desc", "grad_output_desc"),
    same_dtype("grad_input_desc", "grad_output_desc"),
    layout("grad_output_desc", "NHWC"),
    layout("argmax_idx_desc", "NHWC"),
    layout("grad_input_desc", "NHWC"),
    demand(
        lambda a: a.grad_input_desc.shape[3] % BORDERS == 0,
        "grad_input_desc: dim 3 must be a multiple of 4, the channels of the four borders",
    ),
    _at_least_one(0, "N"),
    _at_least_one(3, "4C"),
    _at_least_one(1, "H"),
    _at_least_one(2, "W"),
    dim("boxes_desc", 1, _cells, "H * W of grad_input_desc"),
    dim("boxes_desc", 2, lambda _: BORDERS, "x0, y0, x1, y1"),
    demand(lambda a: a.boxes_desc.shape[1] != 0, "boxes_desc: K (dim 1) is 0; it must be 1 or more"),
    demand(_is_pool_size, "pool_size must be an int32 of 1 or more"),
    _like_output("grad_output_desc"),
    same_dim("boxes_desc", 0, "grad_input_desc", 0),
    _like_output("argmax_idx_desc"),
    not_large("grad_output_desc", "boxes_desc", "grad_input_desc"),
    not_null("grad_output", "boxes", "argmax_idx", "grad_input"),
)


def mluOpBorderAlignBackward(
    handle: Handle | None,
    grad_output_desc: TensorDescriptor | None,
    grad_output: Any,
    boxes_desc: TensorDescriptor | None,
    boxes: Any,
    argmax_idx_desc: TensorDescriptor | None,
    argmax_idx: Any,
    pool_size: int,
    grad_input_desc: TensorDescriptor | None,
    grad_input: Any,
) -> Status:
    """Add the gradient of every pooled border channel to the four cells around its sampled point.

    grad_output is [N, K, 4, C] and boxes [N, K, 4], half or float; argmax_idx is int32 [N, K, 4, C];
    grad_input is [N, H, W, 4C] with H * W = K, and is overwritten.  pool_size, 1 or more, is the number
    of intervals of a border.  Returns BAD_PARAM or NOT_SUPPORTED with the reason in ``handle.last_error``.
    """
    arguments = {
        "grad_output_desc": grad_output_desc, "grad_output": grad_output, "boxes_desc": boxes_desc, "boxes": boxes,
        "argmax_idx_desc": argmax_idx_desc, "argmax_idx": argmax_idx, "pool_size": pool_size,
        "grad_input_desc": grad_input_desc, "grad_input": grad_input,
    }  # fmt: skip
    status = verify(handle, API, CHECKS, arguments)
    if status is not None:
        return status
    assert handle is not None
    assert boxes_desc is not None
    assert grad_input_desc is not None
    n, h, w, channels = grad_input_desc.shape
    k, c = boxes_desc.shape[1], channels // BORDERS
    chosen = PLAN.describe(handle.board, dtype=grad_input_desc.dtype, C=c)
    fill_zero(handle, grad_input, grad_input_desc)
    handle.launch(
        MLUUnion1BorderAlignBackward,
        (handle.cores_per_cluster, handle.clusters, 1),
        args=(grad_output, boxes, argmax_idx, int(pool_size), grad_input, n, k, h, w, c, chosen),
    )
    return Status.MLUOP_STATUS_SUCCESS
