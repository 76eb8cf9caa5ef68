"""The vendor-shaped host functions of dynamic_scatter_backward: checks in the library's real order, launches."""

from collections.abc import MutableSequence
from enum import IntEnum
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
    not_large,
    not_null,
    rank,
    same_dim,
    stop,
    verify,
)
from mlusim.plan import Layout
from ..dims import union1_dims
from ..fill import MLUUnion1Fill
from .kernel import (
    FREE,
    WORD,
    max_reduce_scatter_grad_kernel,
    max_reduce_traceback_scatter_idx_kernel,
)
from .plan import DIRECT
from .schemes import plan_of

# The types that the library accepts.
ARCHITECTURES = ("mtp_372", "mtp_592")
TENSORS = (
    "grad_voxel_feats", "feats", "voxel_feats", "point2voxel_map", "voxel_points_count", "voxel_num", "grad_feats",
)  # fmt: skip
DESCRIPTORS = tuple(f"{name}_desc" for name in TENSORS)
RANKS = (2, 2, 2, 1, 1, 1, 2)
FLOATS = ("grad_voxel_feats_desc", "feats_desc", "voxel_feats_desc", "grad_feats_desc")
INTEGERS = ("point2voxel_map_desc", "voxel_points_count_desc", "voxel_num_desc")


class mluOpReduceMode_t(IntEnum):  # noqa: N801 - the vendor's name
    """How features of a voxel were reduced; the document's name of the maximum is an alias (decision D10)."""

    MLUOP_REDUCE_DSUM = 0
    MLUOP_REDUCE_DMEAN = 1
    MLUOP_REDUCE_DMAX = 2
    MLUOP_REDUCEMODE_MAX = 2


MAX = mluOpReduceMode_t.MLUOP_REDUCE_DMAX


def sizes(a: Any) -> tuple[int, int, int]:
    """Return N, M and C of a call whose ranks are right."""
    return a.feats_desc.shape[0], a.voxel_feats_desc.shape[0], a.feats_desc.shape[1]


def _needed(name: str) -> Check:
    """Return the check that the pointer *name* is not None, unless there is no voxel."""
    null = not_null(name)[0]
    return Check(lambda a: None if sizes(a)[1] == 0 else null.says(a))


def _fits(a: Any) -> str | None:
    """Return the sentence about a row so wide that not even one point fits the NRAM, or None."""
    c = sizes(a)[2]
    plan = plan_of(a.handle.policy)
    if c == 0 or plan.fits(a.handle.board, {"n": 1, "m": 1, "C": c}):
        return None
    widest = plan.largest("C", board=a.handle.board).largest
    return f"feats_desc dim 1 is {c}; one point fits the NRAM of {a.handle.board.name} with at most {widest} channels"


def workspace_bytes(voxels: int, channels: int) -> int:
    """Return the bytes of reduce_from [voxels, channels] and of one flag for each voxel, which only scheme 2 uses."""
    return voxels * (channels + 1) * WORD


REDUCE_TYPE = demand(
    lambda a: a.reduce_type in (MAX, "max"), "reduce_type must be MLUOP_REDUCE_DMAX, the maximum"
)

CHECKS: Checks = (
    architectures(*ARCHITECTURES),
    not_null(*DESCRIPTORS),
    contiguous(*DESCRIPTORS),
    [dtype(name, "float") for name in FLOATS],
    [dtype(name, "int32") for name in INTEGERS],
    [rank(name, dims) for name, dims in zip(DESCRIPTORS, RANKS, strict=True)],
    same_dim("feats_desc", 1, "grad_voxel_feats_desc", 1),
    same_dim("voxel_feats_desc", 0, "grad_voxel_feats_desc", 0),
    same_dim("voxel_feats_desc", 1, "grad_voxel_feats_desc", 1),
    same_dim("point2voxel_map_desc", 0, "feats_desc", 0),
    same_dim("voxel_points_count_desc", 0, "grad_voxel_feats_desc", 0),
    dim("voxel_num_desc", 0, lambda _: 1, "the number of voxels in use"),
    same_dim("grad_feats_desc", 0, "feats_desc", 0),
    same_dim("grad_feats_desc", 1, "feats_desc", 1),
    demand(
        lambda a: sizes(a)[0] >= sizes(a)[1],
        "voxel_feats_desc: M (dim 0) is larger than N, dim 0 of feats_desc; a voxel in use has a point of its own",
    ),
    REDUCE_TYPE,
    not_large("grad_voxel_feats_desc", "feats_desc"),
    Check(_fits),
    stop(lambda a: a.feats_desc.size == 0),
    _needed("grad_voxel_feats"),
    not_null("feats"),
    _needed("voxel_feats"),
    not_null("point2voxel_map"),
    _needed("voxel_points_count"),
    not_null("voxel_num", "grad_feats"),
    _needed("workspace"),
    demand(
        lambda a: a.workspace_size >= workspace_bytes(*sizes(a)[1:]),
        "workspace_size is too small; ask mluOpGetDynamicScatterBackwardWorkspaceSize for the bytes",
    ),
)

SIZE_CHECKS: Checks = (not_null("feats_desc", "workspace_size"), rank("feats_desc", 2), REDUCE_TYPE)


def mluOpGetDynamicScatterBackwardWorkspaceSize(
    handle: Handle | None,
    reduce_type: int | str,
    feats_desc: TensorDescriptor | None,
    workspace_size: MutableSequence[int] | None,
) -> Status:
    """Write the bytes of workspace that feats [N, C] may need into ``workspace_size[0]``.

    The query does not know M and assumes its largest possible value, N.  Returns BAD_PARAM with the reason
    in ``handle.last_error``.
    """
    arguments = {"reduce_type": reduce_type, "feats_desc": feats_desc, "workspace_size": workspace_size}
    status = verify(handle, "mluOpGetDynamicScatterBackwardWorkspaceSize", SIZE_CHECKS, arguments)
    if status is not None:
        return status
    assert feats_desc is not None
    assert workspace_size is not None
    workspace_size[0] = workspace_bytes(*feats_desc.shape) if feats_desc.size else 0
    return Status.MLUOP_STATUS_SUCCESS


def mluOpDynamicScatterBackward(
    handle: Handle | None,
    reduce_type: int | str,
    grad_voxel_feats_desc: TensorDescriptor | None,
    grad_voxel_feats: Any,
    feats_desc: TensorDescriptor | None,
    feats: Any,
    voxel_feats_desc: TensorDescriptor | None,
    voxel_feats: Any,
    point2voxel_map_desc: TensorDescriptor | None,
    point2voxel_map: Any,
    voxel_points_count_desc: TensorDescriptor | None,
    voxel_points_count: Any,
    voxel_num_desc: TensorDescriptor | None,
    voxel_num: Any,
    workspace: Any,
    workspace_size: int,
    grad_feats_desc: TensorDescriptor | None,
    grad_feats: Any,
) -> Status:
    """Give each voxel's gradient, channel by channel, to the first point that has the voxel's feature.

    grad_voxel_feats and voxel_feats are float [M, C], feats and grad_feats float [N, C], M <= N;
    point2voxel_map int32 [N] (negative: no voxel), voxel_points_count int32 [M] (not used by the maximum),
    voxel_num int32 [1].  Every element of grad_feats is written.  workspace has workspace_size bytes.
    Returns BAD_PARAM, NOT_SUPPORTED or ARCH_MISMATCH with the reason in ``handle.last_error``.
    """
    arguments = {
        "reduce_type": reduce_type, "workspace": workspace, "workspace_size": workspace_size,
        "grad_voxel_feats_desc": grad_voxel_feats_desc, "grad_voxel_feats": grad_voxel_feats,
        "feats_desc": feats_desc, "feats": feats,
        "voxel_feats_desc": voxel_feats_desc, "voxel_feats": voxel_feats,
        "point2voxel_map_desc": point2voxel_map_desc, "point2voxel_map": point2voxel_map,
        "voxel_points_count_desc": voxel_points_count_desc, "voxel_points_count": voxel_points_count,
        "voxel_num_desc": voxel_num_desc, "voxel_num": voxel_num,
        "grad_feats_desc": grad_feats_desc, "grad_feats": grad_feats,
    }  # fmt: skip
    status = verify(handle, "mluOpDynamicScatterBackward", CHECKS, arguments)
    if status is not None:
        return status
    assert handle is not None
    assert feats_desc is not None
    assert voxel_feats_desc is not None
    (points, channels), voxels = feats_desc.shape, voxel_feats_desc.shape[0]
    _fill(handle, grad_feats, points * channels, 0)
    if voxels:
        tensors = (grad_voxel_feats, feats, voxel_feats, point2voxel_map, voxel_num, grad_feats)
        _launch(handle, tensors, (workspace + 0).cast("int32"), (points, voxels, channels))
    return Status.MLUOP_STATUS_SUCCESS


def nram_layout(handle: Handle, points: int, voxels: int, channels: int) -> Layout:
    """Return the NRAM layout of a call: as many points and voxels per pass as fit, but no more than the first task has."""
    each = {}
    for name, total in (("N", points), ("M", voxels)):
        x, y, _ = union1_dims(handle, total)
        each[name] = -(-total // (x * y))
    return plan_of(handle.policy).describe(handle.board, C=channels, **each)


def _fill(handle: Handle, output: Any, count: int, value: int) -> None:
    """Launch the fill of *count* elements."""
    handle.launch(MLUUnion1Fill, union1_dims(handle, count), args=(output, count, value))


def _launch(handle: Handle, tensors: tuple[Any, ...], workspace: Any, sizes: tuple[int, int, int]) -> None:
    """Fill the workspace, find the points, scatter the gradients."""
    grad_voxel_feats, feats, voxel_feats, point2voxel_map, voxel_num, grad_feats = tensors
    points, voxels, channels = sizes
    reduce_from, is_occupy = workspace, None
    layout = nram_layout(handle, *sizes)
    _fill(handle, reduce_from, voxels * channels, points)  # DS-11
    if layout.plan != DIRECT.name:
        is_occupy = workspace + voxels * channels
        _fill(handle, is_occupy, voxels, FREE)  # DS-10
    handle.launch(
        max_reduce_traceback_scatter_idx_kernel,
        union1_dims(handle, points),
        args=(feats, voxel_feats, reduce_from, point2voxel_map, is_occupy, points, channels, layout),
    )
    handle.launch(
        max_reduce_scatter_grad_kernel,
        union1_dims(handle, voxels),
        args=(grad_feats, grad_voxel_feats, reduce_from, voxel_num, points, channels, layout),
    )
