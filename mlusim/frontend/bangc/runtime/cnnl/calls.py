"""The stand-ins by the names that programs have for them."""

import functools
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from mlusim.frontend.bangc.runtime.cnnl import algebra, norms, places, recurrent, regions, windows
from mlusim.frontend.bangc.runtime.cnnl.tensors import Argument, Descriptor, StandInDevice, numbers, scalar

_KINDS = ("OpTensorDescriptor", "TransposeDescriptor", "MatMulDescriptor", "MatMulAlgo", "MatMulHeuristicResult", "ReduceDescriptor", "UniqueDescriptor", "NmsDescriptor", "RoiAlignDescriptor", "DCNDescriptor", "PoolingDescriptor", "ConvolutionDescriptor", "GruDescriptor", "SeqDataDescriptor")  # fmt: skip
_WORKSPACES = (
    "AddN",
    "OpTensor",
    "TopKTensor",
    "Transpose",
    "Unique",
    "Concat",
    "SyncBatchNormStats",
    "SyncBatchnormBackwardReduce",
    "DCNForward",
    "DCNBakcwardData",  # the vendor's spelling
    "DCNBackwardWeight",
    "ConvolutionForward",
)


def _make(where: Argument) -> int:
    where[0] = Descriptor()
    return 0


def _done(*_given: object) -> int:
    return 0


def _no_workspace(*given: Argument) -> int:
    """Return a workspace of no bytes: the stand-ins need none."""
    given[-1][0] = 0
    return 0


def _set_transpose(desc: Descriptor, count: int, permute: object) -> int:
    desc.values["permute"] = numbers(permute, count)
    return 0


def _set_attribute(desc: Descriptor, which: int, value: object, _size: int) -> int:
    desc.values[which] = scalar(value)
    return 0


def _set_op(desc: Descriptor, op: int, *_rest: object) -> int:
    desc.values["op"] = op
    return 0


def _set_reduce(desc: Descriptor, axes: object, count: int, op: int, *_rest: object) -> int:
    desc.values.update(axes=numbers(axes, count), op=op)
    return 0


def _heuristic(*given: Argument) -> int:
    """Return that one algorithm is found."""
    given[-1][0] = 1
    return 0


_PLAIN: Mapping[str, Callable[..., int]] = MappingProxyType(
    {
        "Create": _make,
        "Destroy": _done,
        "SetQueue": _done,
        **{f"Create{kind}": _make for kind in _KINDS},
        **{f"Destroy{kind}": _done for kind in _KINDS},
        **{f"Get{name}WorkspaceSize": _no_workspace for name in _WORKSPACES},
        "GetReduceOpWorkspaceSize_v2": _no_workspace,
        "GetNmsWorkspaceSize_v4": _no_workspace,
        "GetPoolingWorkspaceSize_v2": _no_workspace,
        "GetGruWorkspaceSize_v3": _no_workspace,
        "SetTransposeDescriptor": _set_transpose,
        "SetDCNDescriptor": windows.set_deformed,
        "SetConvolutionDescriptor": windows.set_convolution,
        "SetGruDescriptor_v2": recurrent.set_gru,
        "SetPooling2dDescriptor_v2": windows.set_pooling,
        "SetSeqDataDescriptor": recurrent.set_sequence,
        "SetMatMulDescAttr": _set_attribute,
        "SetNmsDescAttr": _set_attribute,
        "SetRoiAlignDescriptor_v2": regions.set_align,
        "SetOpTensorDescriptor": _set_op,
        "SetReduceDescriptor_v2": _set_reduce,
        "SetUniqueDescriptor": _done,
        "GetMatMulAlgoHeuristic": _heuristic,
        "GetBatchMatMulExAlgoHeuristic": _heuristic,
        "GetMatMulHeuristicResult": _no_workspace,  # the last argument is the bytes of a workspace here, too
        "GetBatchMatMulExHeuristicResult": _no_workspace,
    }
)
_ON_TENSORS: Mapping[str, Callable[..., int]] = MappingProxyType(
    {
        "AddN_v2": algebra.add_n,
        "BatchMatMulEx": algebra.matmul,
        "Concat": places.concat,
        "ConvolutionForward": windows.convolve,
        "Copy_v2": algebra.copy,
        "DCNBackwardData": windows.deformed_data_gradient,
        "DCNBackwardWeight": windows.deformed_weight_gradient,
        "DCNForward": windows.convolve_deformed,
        "Fill_v3": algebra.fill,
        "GatherNd_v2": places.gather,
        "Gru_v2": recurrent.gru,
        "MatMul_v2": algebra.matmul,
        "Nms_v2": regions.nms,
        "OpTensor": algebra.op_tensor,
        "Pad": places.pad,
        "PoolingForward_v2": windows.pool,
        "Reduce_v2": algebra.reduce,
        "RoiAlignBackward_v2": regions.align_backward,
        "RoiAlign_v2": regions.align,
        "RoiPoolingBackward": regions.pooling_backward,
        "RoiPoolingForward": regions.pooling,
        "ScatterNd_v2": places.scatter,
        "StridedSlice_v2": places.strided_slice,
        "SyncBatchNormBackwardElemt": norms.backward_elemt,
        "SyncBatchNormBackwardElemtV2": norms.backward_elemt,
        "SyncBatchNormElemt": norms.elemt,
        "SyncBatchNormGatherStatsWithCounts": norms.gather_stats,
        "SyncBatchNormStats_v2": norms.stats,
        "SyncBatchnormBackwardReduce_v2": norms.backward_reduce,
        "TopKTensor_v3": places.top_k,
        "Transform_v2": algebra.transform,
        "Transpose_v2": places.transpose,
        "Unique_v2": places.unique,
    }
)


def calls(driver: StandInDevice) -> Iterator[tuple[str, Callable[..., int]]]:
    """Yield every call that has a stand-in, on the device of *driver*."""
    for name, function in _PLAIN.items():
        yield f"cnnl{name}", function
    for name, function in _ON_TENSORS.items():
        yield f"cnnl{name}", functools.partial(function, driver)
