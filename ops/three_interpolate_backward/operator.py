"""three_interpolate_backward for mlusim: its tensors, cases, reference, thresholds and theory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlusim.host import Handle, Status, TensorDescriptor
from mlusim.operators.spec import Arrays, Operator, Params, Scalar, Tensor, Thresholds
from .cases import CASES
from .host import ARCHITECTURES, mluOpThreeInterpolateBackward
from .plan import PLAN
from .reference import reference, theory
from .tiles import POLICIES

DTYPES = ("half", "float")
NAMES = ("grad_output", "indices", "weights", "grad_features")


def _shapes(inputs: Arrays, params: Params) -> Mapping[str, tuple[tuple[int, ...], str]]:
    grad = inputs["grad_output"]
    return {"grad_features": ((*grad.shape[:2], params["m"]), grad.dtype.name)}


def _call(
    handle: Handle, tensors: Mapping[str, Any], descs: Mapping[str, TensorDescriptor | None], params: Params
) -> Status:
    del params
    arguments = [value for name in NAMES for value in (descs[name], tensors[name])]
    return mluOpThreeInterpolateBackward(handle, *arguments)


OPERATORS = (
    Operator(
        name="three_interpolate_backward",
        summary="give each feature the weighted gradients of the points that it was interpolated into",
        inputs=(
            Tensor("grad_output", "[B, C, N]", DTYPES),
            Tensor("indices", "[B, N, 3]", ("int32",)),
            Tensor("weights", "[B, N, 3]", DTYPES),
        ),
        params=(Scalar("m", int, "features of a channel: the last dimension of grad_features"),),
        outputs=(Tensor("grad_features", "[B, C, M]", DTYPES),),
        shapes=_shapes,
        call=_call,
        reference=reference,
        cases=CASES,
        thresholds={"grad_features": Thresholds(diff1=3e-3, diff2=3e-3)},
        theory=theory,
        limits=(
            "grad_output [B, C, N], weights [B, N, 3] and grad_features [B, C, M]: half or float, one dtype",
            "indices: int32 [B, N, 3]; one outside [0, M - 1] contributes nothing; on MLU2xx M is at most 2^23",
            "all tensors: layout ARRAY, contiguous, fewer than 2^31 elements; B, C, N and M are 1 or more",
        ),
        plans=(PLAN,),
        listing=Path(__file__).with_name("listing.txt"),
        architectures=ARCHITECTURES,
        draws={
            "DTYPE": "float32|half",
            "B": "int:1..4",
            "C": "int:1..300",
            "N": "int:1..1200",
            "m": "int:N/6+1..1200",  # sums of 40 weighted values in half exceed the threshold
            "grad_output": "float:-2..2:DTYPE:B,C,N",
            "indices": "int:-2..m+2:int32:B,N,3",
            "weights": "float:0..1:DTYPE:B,N,3",
        },
        policies=POLICIES,
    ),
)
