"""dynamic_scatter_backward for mlusim: its tensors, cases, reference, thresholds and theory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlusim.host import Handle, Status, TensorDescriptor
from mlusim.operators.spec import Arrays, Operator, Params, Rule, Scalar, Tensor, Thresholds
from .cases import CASES
from .host import (
    ARCHITECTURES,
    mluOpDynamicScatterBackward,
    mluOpGetDynamicScatterBackwardWorkspaceSize,
    mluOpReduceMode_t,
    workspace_bytes,
)
from .plan import PLAN
from .reference import reference, theory
from .schemes import POLICIES

INPUTS = (
    Tensor("grad_voxel_feats", "[M, C]", ("float",)),
    Tensor("feats", "[N, C]", ("float",)),
    Tensor("voxel_feats", "[M, C]", ("float",)),
    Tensor("point2voxel_map", "[N]", ("int32",)),
    Tensor("voxel_points_count", "[M]", ("int32",)),
    Tensor("voxel_num", "[1]", ("int32",)),
)
OUTPUTS = (Tensor("grad_feats", "[N, C]", ("float",)),)
REDUCE_TYPES: Mapping[str, int] = {
    "max": mluOpReduceMode_t.MLUOP_REDUCE_DMAX,
    "mean": mluOpReduceMode_t.MLUOP_REDUCE_DMEAN,
    "sum": mluOpReduceMode_t.MLUOP_REDUCE_DSUM,
}


def _shapes(inputs: Arrays, params: Params) -> Mapping[str, tuple[tuple[int, ...], str]]:
    del params
    return {"grad_feats": (inputs["feats"].shape, "float")}


def _workspace(inputs: Arrays, params: Params) -> int:
    del params
    points, channels = inputs["feats"].shape
    return workspace_bytes(points, channels) if points and channels else 0


def _call(
    handle: Handle, tensors: Mapping[str, Any], descs: Mapping[str, TensorDescriptor | None], params: Params
) -> Status:
    mode = REDUCE_TYPES.get(params["reduce_type"], params["reduce_type"])
    size = [0]
    mluOpGetDynamicScatterBackwardWorkspaceSize(handle, mode, descs["feats"], size)
    workspace = handle.device.empty(size[0], "uint8")
    pairs = [value for tensor in INPUTS for value in (descs[tensor.name], tensors[tensor.name])]
    rest: list[Any] = [*pairs, workspace, size[0], descs["grad_feats"], tensors["grad_feats"]]
    return mluOpDynamicScatterBackward(handle, mode, *rest)


OPERATORS = (
    Operator(
        name="dynamic_scatter_backward",
        summary="give the gradient of each voxel's maximum to the first point that has it",
        inputs=INPUTS,
        params=(Scalar("reduce_type", str, 'how the features of a voxel were reduced: "max"', "max"),),
        outputs=OUTPUTS,
        shapes=_shapes,
        call=_call,
        reference=reference,
        cases=CASES,
        thresholds={"grad_feats": Thresholds(diff3=0.0)},
        theory=theory,
        workspace=_workspace,
        limits=(
            "grad_voxel_feats and voxel_feats: float [M, C]; feats and grad_feats: float [N, C]; M <= N",
            "point2voxel_map: int32 [N], negative for a point without voxel; voxel_num: int32 [1], at most M",
            "voxel_points_count: int32 [M], not used by the maximum",
            "all tensors contiguous; fewer than 2^31 elements; 24C + 4 bytes fit the NRAM",
            "N * C or M may be 0: success, and grad_feats is zero wherever it has elements",
        ),
        plans=(PLAN,),
        listing=Path(__file__).with_name("listing.txt"),
        rule=Rule(source="design document, chapter 1.5.2: nothing so far", asked=False),
        architectures=ARCHITECTURES,
        draws={
            "N": "int:0..3000",
            "M": "int:0..N+1",
            "C": "int:0..30000",
            "used": "int:0..M+1",
            "grad_voxel_feats": "in:float32:M,C",
            "feats": "float:-3..4:float32:N,C",
            "voxel_feats": "float:-3..4:float32:M,C",
            "point2voxel_map": "int:-1..max(M,1):int32:N",
            "voxel_points_count": "int:0..N+1:int32:M",
            "voxel_num": "int:used..used+1:int32:1",
        },
        policies=POLICIES,
    ),
)
