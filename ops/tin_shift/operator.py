"""tin_shift for mlusim: both directions, their tensors, cases, reference, thresholds and theory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlusim.host import Handle, Status, TensorDescriptor
from mlusim.operators.spec import Arrays, Case, Operator, Params, Tensor, Thresholds
from .cases import BACKWARD_CASES, FORWARD_CASES
from .host import ARCHITECTURES, mluOpTinShiftBackward, mluOpTinShiftForward
from .plan import PLANS
from .reference import reference, theory

DTYPES = ("half", "float")
LIMITS = (
    "input and output: [N, T, C, HW], half or float, contiguous, fewer than 2^31 elements",
    "shifts: int32 [N, G]; C is a multiple of G",
    "T may be 0 (success, nothing written); N, C, HW and G may not",
)


def _operator(
    name: str, source: str, target: str, host: Any, cases: tuple[Case, ...], summary: str
) -> Operator:
    def shapes(inputs: Arrays, params: Params) -> Mapping[str, tuple[tuple[int, ...], str]]:
        del params
        return {target: (inputs[source].shape, inputs[source].dtype.name)}

    def call(
        handle: Handle,
        tensors: Mapping[str, Any],
        descs: Mapping[str, TensorDescriptor | None],
        params: Params,
    ) -> Status:
        del params
        names = (source, "shifts", target)
        arguments = [value for name in names for value in (descs[name], tensors[name])]
        result: Status = host(handle, *arguments)
        return result

    return Operator(
        name=name,
        summary=summary,
        inputs=(Tensor(source, "[N, T, C, HW]", DTYPES), Tensor("shifts", "[N, G]", ("int32",))),
        params=(),
        outputs=(Tensor(target, "[N, T, C, HW]", DTYPES),),
        shapes=shapes,
        call=call,
        reference=reference,
        cases=cases,
        thresholds={target: Thresholds(diff3=0.0)},
        theory=theory,
        limits=LIMITS,
        plans=PLANS,
        listing=Path(__file__).with_name("listing.txt"),
        architectures=ARCHITECTURES,
        draws={
            "DTYPE": "float32|half",
            "N": "int:1..5",
            "T": "int:0..33",
            "G": "int:1..8",
            "each": "int:1..5",
            "HW": "int:1..700000",
            source: "in:DTYPE:N,T,G*each,HW",
            "shifts": "int:-T-2..T+3:int32:N,G",
        },
    )


OPERATORS = (
    _operator(
        "tin_shift_forward", "input", "output", mluOpTinShiftForward, FORWARD_CASES,
        "shift groups of channels along time, zeros where nothing arrives",
    ),
    _operator(
        "tin_shift_backward", "grad_output", "grad_input", mluOpTinShiftBackward, BACKWARD_CASES,
        "the gradient of tin_shift: the same kernel with the same shifts",
    ),
)  # fmt: skip
