"""The vendor-shaped host functions of mutual_information_backward: checks in the library's real order, launch."""

from typing import Any

from mlusim.host import BLOCK, Handle, Status, TensorDescriptor
from mlusim.host.checks import (
    NOT_SUPPORTED,
    Check,
    Checks,
    architectures,
    contiguous,
    demand,
    dim,
    dtype,
    is_null,
    not_large,
    not_null,
    out,
    rank,
    same_dim,
    same_shape,
    stop,
    verify,
)
from mlusim.plan import Layout
from .kernel import MLUKernelMutualInformationBackward
from .plan import PLAN

# The types that the library accepts.
ARCHITECTURES = ("mtp_372", "mtp_592")
TENSORS = ("px", "py", "p", "ans_grad", "px_grad", "py_grad")
DESCRIPTORS = tuple(f"{name}_desc" for name in TENSORS)
WORKSPACE_BYTES = 0  # everything lives in NRAM


def sizes(a: Any) -> tuple[int, int, int]:
    """Return B, S and T of a call whose ranks are right."""
    return a.px_desc.shape[0], a.px_desc.shape[1], a.py_desc.shape[2]


def _with_boundary(check: Check) -> Check:
    """Return *check*, applied only if there is a boundary descriptor."""
    return Check(lambda a: None if a.opt_boundary_desc is None else check.says(a), check.status)


def _needed(name: str, when: Any) -> Check:
    """Return the check that the pointer *name* is not null if *when* holds; the pointer of an empty tensor may be."""
    return demand(lambda a: not when(a) or not is_null(a, name), f"{name} is a null pointer")


def _both_or_none(a: Any) -> bool:
    return is_null(a, "opt_boundary_desc") == is_null(a, "opt_boundary")


def layout_of(handle: Handle, S: int, T: int) -> Layout:
    """Return the partition plan with numbers in it, on the handle's board."""
    return PLAN.layout(handle.board, S=S, T=T)


def _scale(a: Any) -> str | None:
    """Return the sentence about a lattice too large for either stage of the plan (MI-5, MI-11), or None."""
    _, S, T = sizes(a)
    layout = layout_of(a.handle, S, T)
    if layout.fits:
        return None
    return (
        f"px_desc and py_desc: S = {S} and T = {T} need {layout.high_water} bytes of NRAM; {layout.board} has"
        f" {layout.capacity} for a kernel, so S or T must be smaller (`mlusim plan mutual_information_backward`)"
    )


def _shapes() -> Checks:
    """Return the checks of the dimensions, in the library's order; B, S and T are those of px, px and py."""
    symbols = "S + 1 with S = dim 1 of px_desc"
    frames = "T + 1 with T = dim 2 of py_desc"
    return (
        [same_dim(name, 0, "px_desc", 0) for name in DESCRIPTORS[1:]],
        demand(
            lambda a: a.px_desc.shape[2] == a.py_desc.shape[2] + 1,
            "px_desc dim 2 must be T + 1 with T = dim 2 of py_desc; the modified mode is not supported",
            NOT_SUPPORTED,
        ),
        dim("py_desc", 1, lambda a: sizes(a)[1] + 1, symbols),
        _with_boundary(same_dim("opt_boundary_desc", 0, "px_desc", 0)),
        _with_boundary(
            dim("opt_boundary_desc", 1, lambda _: 4, "begin_symbol, begin_frame, end_symbol, end_frame")
        ),
        dim("p_desc", 1, lambda a: sizes(a)[1] + 1, symbols),
        dim("p_desc", 2, lambda a: sizes(a)[2] + 1, frames),
        same_shape("px_grad_desc", "px_desc"),
        same_shape("py_grad_desc", "py_desc"),
    )


CHECKS: Checks = (
    not_null(*DESCRIPTORS),
    architectures(*ARCHITECTURES),
    rank("px_desc", 3),
    rank("py_desc", 3),
    _with_boundary(rank("opt_boundary_desc", 2)),
    rank("p_desc", 3),
    rank("ans_grad_desc", 1),
    rank("px_grad_desc", 3),
    rank("py_grad_desc", 3),
    _shapes(),
    contiguous(
        "px_desc", "py_desc", "opt_boundary_desc", "p_desc", "ans_grad_desc", "px_grad_desc", "py_grad_desc"
    ),
    dtype("px_desc", "float", status=NOT_SUPPORTED),
    dtype("py_desc", "float", status=NOT_SUPPORTED),
    _with_boundary(dtype("opt_boundary_desc", "int64", status=NOT_SUPPORTED)),
    [dtype(name, "float", status=NOT_SUPPORTED) for name in DESCRIPTORS[2:]],
    not_large("px_desc", "py_desc", "opt_boundary_desc", "p_desc"),
    Check(_scale, NOT_SUPPORTED),
    stop(lambda a: sizes(a)[0] == 0 or sizes(a)[1:] == (0, 0)),
    demand(
        lambda a: a.workspace_size == 0 or not is_null(a, "workspace"),
        "workspace is a null pointer although workspace_size is not 0",
    ),
    _needed("px", lambda a: sizes(a)[1] > 0),
    _needed("px_grad", lambda a: sizes(a)[1] > 0),
    _needed("py", lambda a: sizes(a)[2] > 0),
    _needed("py_grad", lambda a: sizes(a)[2] > 0),
    not_null("p", "ans_grad"),
    demand(_both_or_none, "opt_boundary_desc and opt_boundary must both be null, or neither of them"),
)
"""The checks of the call: pointers are checked after the return for zero elements, and only if they are needed."""

QUERY_CHECKS: Checks = (not_null("px_desc", "py_desc", "p_desc", "ans_grad_desc"), out("workspace_size"))


def mluOpGetMutualInformationBackwardWorkspaceSize(
    handle: Handle | None,
    px_desc: TensorDescriptor | None,
    py_desc: TensorDescriptor | None,
    opt_boundary_desc: TensorDescriptor | None,
    p_desc: TensorDescriptor | None,
    ans_grad_desc: TensorDescriptor | None,
    overwrite_ans_grad: bool,
    workspace_size: Any,
) -> Status:
    """Store the bytes of workspace that the call needs in ``workspace_size[0]``: always 0 (decision D4).

    *workspace_size* stands for C's ``size_t *``: a list of one element, or anything that takes
    ``workspace_size[0] = bytes``.  Only opt_boundary_desc may be None; anything else gives BAD_PARAM,
    with the reason in ``handle.last_error``, and stores nothing.
    """
    del opt_boundary_desc, overwrite_ans_grad
    arguments = {
        "px_desc": px_desc, "py_desc": py_desc, "p_desc": p_desc, "ans_grad_desc": ans_grad_desc,
        "workspace_size": workspace_size,
    }  # fmt: skip
    status = verify(handle, "mluOpGetMutualInformationBackwardWorkspaceSize", QUERY_CHECKS, arguments)
    if status is not None:
        return status
    workspace_size[0] = WORKSPACE_BYTES
    return Status.MLUOP_STATUS_SUCCESS


def mluOpMutualInformationBackward(
    handle: Handle | None,
    px_desc: TensorDescriptor | None,
    px: Any,
    py_desc: TensorDescriptor | None,
    py: Any,
    opt_boundary_desc: TensorDescriptor | None,
    opt_boundary: Any,
    p_desc: TensorDescriptor | None,
    p: Any,
    ans_grad_desc: TensorDescriptor | None,
    ans_grad: Any,
    overwrite_ans_grad: bool,
    workspace: Any,
    workspace_size: int,
    px_grad_desc: TensorDescriptor | None,
    px_grad: Any,
    py_grad_desc: TensorDescriptor | None,
    py_grad: Any,
) -> Status:
    """Write the gradients of px and py; with *overwrite_ans_grad* also store the gradient of the first cell in ans_grad.

    px and px_grad are [B, S, T+1], py and py_grad [B, S+1, T], p [B, S+1, T+1], ans_grad [B], all
    float; opt_boundary is int64 [B, 4] (begin_symbol, begin_frame, end_symbol, end_frame, ends
    included) or None.  Returns BAD_PARAM, ARCH_MISMATCH or NOT_SUPPORTED with the reason in
    ``handle.last_error``.
    """
    arguments = {
        "px_desc": px_desc, "px": px, "py_desc": py_desc, "py": py, "opt_boundary_desc": opt_boundary_desc,
        "opt_boundary": opt_boundary, "p_desc": p_desc, "p": p, "ans_grad_desc": ans_grad_desc,
        "ans_grad": ans_grad, "workspace": workspace, "workspace_size": workspace_size,
        "px_grad_desc": px_grad_desc, "px_grad": px_grad, "py_grad_desc": py_grad_desc, "py_grad": py_grad,
    }  # fmt: skip
    status = verify(handle, "mluOpMutualInformationBackward", CHECKS, arguments)
    if status is not None:
        return status
    assert handle is not None
    assert px_desc is not None
    assert py_desc is not None
    B, S, T = px_desc.shape[0], px_desc.shape[1], py_desc.shape[2]
    layout = layout_of(handle, S, T)
    k_dim = (1, min(B, handle.board.cores), 1)
    tensors = (px, py, opt_boundary, p, ans_grad, overwrite_ans_grad, workspace, px_grad, py_grad)
    handle.launch(MLUKernelMutualInformationBackward, k_dim, BLOCK, (*tensors, B, S, T, layout))
    return Status.MLUOP_STATUS_SUCCESS
