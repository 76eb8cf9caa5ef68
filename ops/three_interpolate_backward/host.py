"""The vendor-shaped host function of three_interpolate_backward: checks in the library's real order, tiles, launch."""

from typing import Any

from mlusim.host import Handle, Status, TensorDescriptor
from mlusim.host.checks import (
    Check,
    Checks,
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
    same_shape,
    verify,
)
from mlusim.operators.spec import policy_of
from mlusim.plan import Layout
from ..dims import union1_dims
from .kernel import INDEX_LIMIT, MLUUnion1ThreeInterpolateBackward
from .plan import PLAN, Mo
from .tiles import POLICIES

# tp_322 has no cluster to launch a Union1 task on.
ARCHITECTURES = ("mtp_220", "mtp_270", "mtp_290", "mtp_372", "mtp_592")
DESCRIPTORS = ("grad_output_desc", "indices_desc", "weights_desc", "grad_features_desc")


def _not_zero(name: str, axis: int, letter: str) -> Check:
    def holds(a: Any) -> bool:
        return bool(getattr(a, name).shape[axis] != 0)

    return demand(holds, f"{name}: {letter} (dim {axis}) is 0; it must be 1 or more")


def _are_indices_exact(a: Any) -> str | None:
    """Return the sentence about an M larger than the float comparisons of MLU2xx can distinguish (TI-12), or None."""
    board, m = a.handle.board, a.grad_features_desc.shape[2]
    if board.arch.bang_arch >= 300 or m <= INDEX_LIMIT:
        return None
    return (
        f"grad_features_desc: M (dim 2) is {m}; on {board.name} ({board.arch.name}) indices go to 2^23 - 1, so M is "
        f"at most {INDEX_LIMIT}; take a board of mtp_372 or mtp_592"
    )


CHECKS: Checks = (
    architectures(*ARCHITECTURES),
    not_null(*DESCRIPTORS),
    [rank(name, 3) for name in DESCRIPTORS],
    [layout(name, "ARRAY") for name in DESCRIPTORS],
    same_dtype("weights_desc", "grad_output_desc", either=True),
    dtype("indices_desc", "int32"),
    same_dtype("grad_features_desc", "weights_desc"),
    dtype("grad_output_desc", "half", "float"),
    same_dim("indices_desc", 0, "grad_output_desc", 0),
    same_shape("weights_desc", "indices_desc", either=True),
    dim("weights_desc", 2, lambda _: 3, "the neighbours of a point"),
    same_dim("grad_features_desc", 0, "grad_output_desc", 0),
    same_dim("grad_features_desc", 1, "grad_output_desc", 1),
    same_dim("indices_desc", 1, "grad_output_desc", 2),
    contiguous(*DESCRIPTORS),
    not_large(*DESCRIPTORS),
    Check(_are_indices_exact, Status.MLUOP_STATUS_NOT_SUPPORTED),
    # The document's rule (decision D5): M = 0 is an error too; later versions of the library let it pass.
    _not_zero("grad_output_desc", 0, "B"),
    _not_zero("grad_output_desc", 1, "C"),
    _not_zero("grad_output_desc", 2, "N"),
    _not_zero("grad_features_desc", 2, "M"),
    not_null("grad_output", "indices", "weights", "grad_features"),
)


def mluOpThreeInterpolateBackward(
    handle: Handle | None,
    grad_output_desc: TensorDescriptor | None,
    grad_output: Any,
    indices_desc: TensorDescriptor | None,
    indices: Any,
    weights_desc: TensorDescriptor | None,
    weights: Any,
    grad_features_desc: TensorDescriptor | None,
    grad_features: Any,
) -> Status:
    """Overwrite grad_features with the sums of grad_output * weights over the points that name each feature.

    grad_output is [B, C, N], indices int32 [B, N, 3], weights [B, N, 3], grad_features [B, C, M]; all but
    indices half or float, of one dtype.  An index outside [0, M - 1] contributes nothing.  On MLU2xx M is at most 2^23.
    Returns BAD_PARAM or NOT_SUPPORTED with the reason in ``handle.last_error``.
    """
    arguments = {
        "grad_output_desc": grad_output_desc, "grad_output": grad_output,
        "indices_desc": indices_desc, "indices": indices,
        "weights_desc": weights_desc, "weights": weights,
        "grad_features_desc": grad_features_desc, "grad_features": grad_features,
    }  # fmt: skip
    status = verify(handle, "mluOpThreeInterpolateBackward", CHECKS, arguments)
    if status is not None:
        return status
    assert handle is not None
    assert grad_output_desc is not None
    assert grad_features_desc is not None
    b, c, n = grad_output_desc.shape
    m = grad_features_desc.shape[2]
    tiles = tile_layout(handle, grad_output_desc.dtype, c, n, m, b=b)
    handle.launch(
        MLUUnion1ThreeInterpolateBackward,
        union1_dims(handle, b * -(-m // tiles.values[Mo.name])),
        args=(grad_output, indices, weights, grad_features, b, c, n, m, tiles),
    )
    return Status.MLUOP_STATUS_SUCCESS


def tile_layout(handle: Handle, element_type: Any, c: int, n: int, m: int, *, b: int = 1) -> Layout:
    """Return the NRAM layout of the tiles for C, N and M elements and B batches.

    They follow the document's rule (decision D6), or the policy of *handle*.
    """
    rule = policy_of("three_interpolate_backward", POLICIES, handle.policy).rule
    tiles = rule(handle.board, element_type, B=b, C=c, N=n, M=m)
    return PLAN.layout(handle.board, {"Co": tiles.Co, "No": tiles.No, "Mo": tiles.Mo}, dtype=element_type)
