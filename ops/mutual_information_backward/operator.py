"""mutual_information_backward for mlusim: its tensors, cases, reference, thresholds and theory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlusim.host import Handle, Status, TensorDescriptor
from mlusim.operators.spec import Arrays, Dynamic, Operator, Params, Rule, Scalar, Tensor, Thresholds
from .cases import CASES
from .host import (
    ARCHITECTURES,
    mluOpGetMutualInformationBackwardWorkspaceSize,
    mluOpMutualInformationBackward,
)
from .plan import PLAN
from .reference import device, reference, theory

FLOAT = ("float",)
# The document asks for dynamic thresholds; the fixed ones are those of the standard's class "composite".
ACCURACY = Thresholds(diff1=3e-3, diff2=3e-3, dynamic=Dynamic())
LIMITS = (
    "every float tensor: float, contiguous; px, py, opt_boundary and p: fewer than 2^31 elements",
    "both stages of the partition plan fit into NRAM (`mlusim plan mutual_information_backward --max T`)",
    "px is [B, S, T+1]: the modified mode is not supported",
    "boundaries are not checked: 0 <= begin <= end <= S (T) is the caller's duty; an inverted one gives zeros",
    "B = 0, or S = T = 0: success, nothing written; S = 0 or T = 0 alone is computed",
)
INPUTS = (
    Tensor("px", "[B, S, T+1]", FLOAT),
    Tensor("py", "[B, S+1, T]", FLOAT),
    Tensor("opt_boundary", "[B, 4]", ("int64",), optional=True),
    Tensor("p", "[B, S+1, T+1]", FLOAT),
    Tensor("ans_grad", "[B]", FLOAT),
)
OUTPUTS = (
    Tensor("px_grad", "[B, S, T+1]", FLOAT),
    Tensor("py_grad", "[B, S+1, T]", FLOAT),
    Tensor("ans_grad", "[B]", FLOAT),
)
OVERWRITE = Scalar(
    "overwrite_ans_grad",
    bool,
    "whether ans_grad becomes the gradient that arrives at the first cell",
    default=True,
)


def _shapes(inputs: Arrays, params: Params) -> Mapping[str, tuple[tuple[int, ...], str]]:
    del params
    same = {"px_grad": "px", "py_grad": "py", "ans_grad": "ans_grad"}
    return {name: (inputs[like].shape, "float") for name, like in same.items()}


def _call(
    handle: Handle, tensors: Mapping[str, Any], descs: Mapping[str, TensorDescriptor | None], params: Params
) -> Status:
    overwrite = params["overwrite_ans_grad"]
    px, py, boundary, p, ans_grad = (descs[t.name] for t in INPUTS)
    size = [0]
    status = mluOpGetMutualInformationBackwardWorkspaceSize(
        handle, px, py, boundary, p, ans_grad, overwrite, size
    )
    if status != Status.MLUOP_STATUS_SUCCESS:
        return status
    workspace = handle.device.empty(size[0], "uint8") if size[0] else None
    return mluOpMutualInformationBackward(
        handle, px, tensors["px"], py, tensors["py"], boundary, tensors["opt_boundary"], p, tensors["p"],
        ans_grad, tensors["ans_grad"], overwrite, workspace, size[0],
        descs["px_grad"], tensors["px_grad"], descs["py_grad"], tensors["py_grad"],
    )  # fmt: skip


OPERATORS = (
    Operator(
        name="mutual_information_backward",
        summary="the gradients of px and py in the RNN-T lattice of k2",
        inputs=INPUTS,
        params=(OVERWRITE,),
        outputs=OUTPUTS,
        shapes=_shapes,
        call=_call,
        reference=reference,
        cases=CASES,
        thresholds={t.name: ACCURACY for t in OUTPUTS},
        theory=theory,
        limits=LIMITS,
        plans=(PLAN,),
        listing=Path(__file__).with_name("listing.txt"),
        rule=Rule(source="design document, chapter 1.5.2: function first, efficiency later", asked=False),
        device=device,
        architectures=ARCHITECTURES,
        draws={
            "B": "int:0..9",
            "S": "int:0..400",
            "T": "int:0..400",
            "px": "float:-3..0:float32:B,S,T+1",
            "py": "float:-3..0:float32:B,S+1,T",
            "opt_boundary": "null|int:0..min(S,T)+1:int64:B,4",
            "p": "float:-3..3:float32:B,S+1,T+1",
            "ans_grad": "float:-2..2:float32:B",
            "overwrite_ans_grad": "true|false",
        },
    ),
)
