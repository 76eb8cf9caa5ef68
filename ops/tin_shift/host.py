"""The vendor-shaped host functions of tin_shift: checks in the library's real order, launch policy."""

from typing import Any

from mlusim.host import Handle, Status, TensorDescriptor
from mlusim.host.checks import (
    Checks,
    architectures,
    contiguous,
    demand,
    dtype,
    not_large,
    not_null,
    rank,
    same_dim,
    same_dtype,
    stop,
    verify,
)
from mlusim.plan import choose
from .kernel import MLUUnion1TinShift
from .plan import FRAMES, FRAMES_NAME, PLANS, WHOLE_CHANNEL

# tp_322 has no cluster to launch a Union1 task on.
ARCHITECTURES = ("mtp_220", "mtp_270", "mtp_290", "mtp_372", "mtp_592")


def _checks(source: str, target: str) -> Checks:
    """Return the checks of one direction, whose tensors are called *source* and *target*."""
    source_desc, target_desc = f"{source}_desc", f"{target}_desc"

    def size(a: Any, axis: int) -> int:
        return int(getattr(a, source_desc).shape[axis])

    return (
        architectures(*ARCHITECTURES),
        not_null(source_desc, "shifts_desc", target_desc),
        rank(source_desc, 4),
        rank("shifts_desc", 2),
        rank(target_desc, 4),
        demand(lambda a: size(a, 2) != 0, f"{source_desc}: C (dim 2) is 0; it must be 1 or more"),
        demand(lambda a: a.shifts_desc.shape[1] != 0, "shifts_desc: G (dim 1) is 0; it must be 1 or more"),
        demand(
            lambda a: size(a, 2) % a.shifts_desc.shape[1] == 0,
            f"{source_desc}: C (dim 2) must be a multiple of G, dim 1 of shifts_desc",
        ),
        [same_dim(target_desc, axis, source_desc, axis) for axis in range(4)],
        same_dim("shifts_desc", 0, source_desc, 0),
        contiguous(source_desc, "shifts_desc", target_desc),
        dtype("shifts_desc", "int32"),
        dtype(source_desc, "half", "float"),
        same_dtype(target_desc, source_desc),
        demand(lambda a: size(a, 0) != 0, f"{source_desc}: N (dim 0) is 0; it must be 1 or more"),
        demand(lambda a: size(a, 3) != 0, f"{source_desc}: HW (dim 3) is 0; it must be 1 or more"),
        not_large(source_desc, "shifts_desc", target_desc),
        stop(lambda a: size(a, 1) == 0),
        not_null(source, "shifts", target),
    )


FORWARD_CHECKS = _checks("input", "output")
BACKWARD_CHECKS = _checks("grad_output", "grad_input")


def mluOpTinShiftForward(
    handle: Handle | None,
    input_desc: TensorDescriptor | None,
    input: Any,  # noqa: A002 - the vendor's name
    shifts_desc: TensorDescriptor | None,
    shifts: Any,
    output_desc: TensorDescriptor | None,
    output: Any,
) -> Status:
    """Shift groups of channels along T: output[n, t + shifts[n, g], c] = input[n, t, c].

    input and output are [N, T, C, HW] of half or float, shifts is int32 [N, G], C a multiple of G.
    Returns BAD_PARAM or NOT_SUPPORTED with the reason in ``handle.last_error``.
    """
    arguments = {
        "input_desc": input_desc, "input": input, "shifts_desc": shifts_desc, "shifts": shifts,
        "output_desc": output_desc, "output": output,
    }  # fmt: skip
    status = verify(handle, "mluOpTinShiftForward", FORWARD_CHECKS, arguments)
    return _launch(handle, input_desc, input, shifts_desc, shifts, output) if status is None else status


def mluOpTinShiftBackward(
    handle: Handle | None,
    grad_output_desc: TensorDescriptor | None,
    grad_output: Any,
    shifts_desc: TensorDescriptor | None,
    shifts: Any,
    grad_input_desc: TensorDescriptor | None,
    grad_input: Any,
) -> Status:
    """Shift groups of channels backward: the same kernel and the same shifts as forward (decision D7).

    grad_output and grad_input are [N, T, C, HW] of half or float, shifts is int32 [N, G].
    Returns BAD_PARAM or NOT_SUPPORTED with the reason in ``handle.last_error``.
    """
    arguments = {
        "grad_output_desc": grad_output_desc, "grad_output": grad_output, "shifts_desc": shifts_desc,
        "shifts": shifts, "grad_input_desc": grad_input_desc, "grad_input": grad_input,
    }  # fmt: skip
    status = verify(handle, "mluOpTinShiftBackward", BACKWARD_CHECKS, arguments)
    if status is not None:
        return status
    return _launch(handle, grad_output_desc, grad_output, shifts_desc, shifts, grad_input)


def _launch(
    handle: Handle | None,
    desc: TensorDescriptor | None,
    source: Any,
    shifts_desc: TensorDescriptor | None,
    shifts: Any,
    target: Any,
) -> Status:
    """Choose the regime and the task dimensions, and launch."""
    assert handle is not None
    assert desc is not None
    assert shifts_desc is not None
    n, t, c, hw = desc.shape
    plan, layout = choose(PLANS, handle.board, {"T": t, "HW": hw}, dtype=desc.dtype)
    if plan is WHOLE_CHANNEL:
        jobs = n * c
    elif plan is FRAMES:
        jobs = n * c * -(-t // layout.values[FRAMES_NAME])
    else:
        jobs = n * c * t
    cores = handle.cores_per_cluster
    tasks = min(jobs, handle.board.cores)
    k_dim = (cores, max(tasks // cores, 1), 1)
    handle.launch(
        MLUUnion1TinShift, k_dim, args=(source, shifts, target, n, t, c, hw, shifts_desc.shape[1], layout)
    )
    return Status.MLUOP_STATUS_SUCCESS
