"""border_align_backward for mlusim: its tensors, cases, reference, thresholds and theory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlusim.host import Handle, Status, TensorDescriptor
from mlusim.operators.spec import Arrays, Dynamic, Operator, Params, Rule, Scalar, Tensor, Thresholds
from .cases import CASES
from .host import ARCHITECTURES, BORDERS, mluOpBorderAlignBackward
from .plan import PLAN
from .reference import device, exact, reference, theory

DTYPES = ("half", "float")
# Chapter 1.5.1: diff1, diff2 and diff4 by dynamic thresholds [10, 10, 1], otherwise the static ones in cpu
# mode; the fixed thresholds are those of the standard's class "atomicAdd".
ACCURACY = Thresholds(
    diff1=3e-3, diff2=3e-3, dynamic=Dynamic(10.0, 10.0, 1.0, half=1e-3, single=1e-5, cpu_mode=True)
)
LIMITS = (
    "grad_output: [N, K, 4, C], boxes: [N, K, 4], grad_input: [N, H, W, 4C], one dtype, half or float, contiguous",
    "argmax_idx: int32 [N, K, 4, C]; a value outside [0, pool_size] contributes nothing",
    "H * W equals K; N, K, C, H and W are 1 or more; pool_size is 1 or more",
    "grad_output, boxes and grad_input have fewer than 2^31 elements",
    "the sum of a cell is rounded to its dtype at every addition, in an order that is not defined",
)


def _shapes(inputs: Arrays, params: Params) -> Mapping[str, tuple[tuple[int, ...], str]]:
    grads = inputs["grad_output"]
    shape = (grads.shape[0], params["height"], params["width"], BORDERS * grads.shape[-1])
    return {"grad_input": (shape, grads.dtype.name)}


def _call(
    handle: Handle, tensors: Mapping[str, Any], descs: Mapping[str, TensorDescriptor | None], params: Params
) -> Status:
    return mluOpBorderAlignBackward(
        handle,
        descs["grad_output"],
        tensors["grad_output"],
        descs["boxes"],
        tensors["boxes"],
        descs["argmax_idx"],
        tensors["argmax_idx"],
        params["pool_size"],
        descs["grad_input"],
        tensors["grad_input"],
    )


OPERATORS = (
    Operator(
        name="border_align_backward",
        summary="the gradient of border_align: what each border's maximum gave goes back to its four cells",
        inputs=(
            Tensor("grad_output", "[N, K, 4, C]", DTYPES, "NHWC"),
            Tensor("boxes", "[N, K, 4]", DTYPES),
            Tensor("argmax_idx", "[N, K, 4, C]", ("int32",), "NHWC"),
        ),
        params=(
            Scalar("pool_size", int, "intervals of a border; it has one point more"),
            Scalar("height", int, "H of grad_input"),
            Scalar("width", int, "W of grad_input"),
        ),
        outputs=(Tensor("grad_input", "[N, H, W, 4C]", DTYPES, "NHWC"),),
        shapes=_shapes,
        call=_call,
        reference=reference,
        cases=CASES,
        thresholds={"grad_input": ACCURACY},
        theory=theory,
        limits=LIMITS,
        plans=(PLAN,),
        listing=Path(__file__).with_name("listing.txt"),
        exact=exact,
        device=device,
        rule=Rule(0.5, 0.5, "design document, chapter 1.5.2"),
        architectures=ARCHITECTURES,
        draws={
            "DTYPE": "float32|half",
            "N": "int:1..4",
            "height": "int:1..7",
            "width": "int:1..7",
            "C": "int:1..60000",
            "pool_size": "int:1..12",
            "grad_output": "float:-2..2:DTYPE:N,height*width,4,C",
            "boxes": "float:-2..9:DTYPE:N,height*width,4",
            "argmax_idx": "int:-2..pool_size+3:int32:N,height*width,4,C",
        },
    ),
)
