"""The stand-ins by the names that programs have for them."""

from collections.abc import Callable, Iterator, Mapping

from mlusim.frontend.bangc.runtime.cnnl import elements, layers, pictures
from mlusim.frontend.bangc.runtime.cnnl.tensors import Argument, Descriptor, StandInDevice, numbers, scalar

_KINDS = ("OpTensorDescriptor", "TransposeDescriptor", "MatMulDescriptor", "MatMulAlgo", "MatMulHeuristicResult", "ReduceDescriptor", "UniqueDescriptor", "NmsDescriptor", "RoiAlignDescriptor", "DCNDescriptor", "PoolingDescriptor", "ConvolutionDescriptor", "GruDescriptor", "SeqDataDescriptor")  # fmt: skip
# One with the vendor's spelling.
_WORKSPACES = ("AddN", "OpTensor", "TopKTensor", "Transpose", "Unique", "Concat", "SyncBatchNormStats", "SyncBatchnormBackwardReduce", "DCNForward", "DCNBakcwardData", "DCNBackwardWeight", "ConvolutionForward")  # fmt: skip


def _make(where: Argument) -> int:
    where[0] = Descriptor()
    return 0


def _done(*_arguments: object) -> int:
    return 0


def _answering(number: int) -> Callable[..., int]:
    """Return a call that stores *number* at its last argument."""

    def answer(*arguments: Argument) -> int:
        arguments[-1][0] = number
        return 0

    return answer


_no_workspace = _answering(0)  # bytes: the stand-ins need none


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


_PLAIN: Mapping[str, Callable[..., int]] = {
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
    "SetDCNDescriptor": pictures.set_deformed,
    "SetConvolutionDescriptor": pictures.set_convolution,
    "SetGruDescriptor_v2": layers.set_gru,
    "SetPooling2dDescriptor_v2": pictures.set_pooling,
    "SetSeqDataDescriptor": layers.set_sequence,
    "SetMatMulDescAttr": _set_attribute,
    "SetNmsDescAttr": _set_attribute,
    "SetRoiAlignDescriptor_v2": pictures.set_align,
    "SetOpTensorDescriptor": _set_op,
    "SetReduceDescriptor_v2": _set_reduce,
    "SetUniqueDescriptor": _done,
    "GetMatMulAlgoHeuristic": _answering(1),  # algorithms are found
    "GetBatchMatMulExAlgoHeuristic": _answering(1),
    "GetMatMulHeuristicResult": _no_workspace,  # the last argument is the bytes of a workspace here, too
    "GetBatchMatMulExHeuristicResult": _no_workspace,
}
_ON_TENSORS: Mapping[str, Callable[..., int]] = {
    "AddN_v2": elements.add_n,
    "BatchMatMulEx": elements.matmul,
    "Concat": elements.concat,
    "ConvolutionForward": pictures.convolve,
    "Copy_v2": elements.copy,
    "DCNBackwardData": pictures.deformed_data_gradient,
    "DCNBackwardWeight": pictures.deformed_weight_gradient,
    "DCNForward": pictures.convolve_deformed,
    "Fill_v3": elements.fill,
    "GatherNd_v2": elements.gather,
    "Gru_v2": layers.gru,
    "MatMul_v2": elements.matmul,
    "Nms_v2": pictures.nms,
    "OpTensor": elements.op_tensor,
    "Pad": elements.pad,
    "PoolingForward_v2": pictures.pool,
    "Reduce_v2": elements.reduce,
    "RoiAlignBackward_v2": pictures.align_backward,
    "RoiAlign_v2": pictures.align,
    "RoiPoolingBackward": pictures.pooling_backward,
    "RoiPoolingForward": pictures.pooling,
    "ScatterNd_v2": elements.scatter,
    "StridedSlice_v2": elements.strided_slice,
    "SyncBatchNormBackwardElemt": layers.backward_elemt,
    "SyncBatchNormBackwardElemtV2": layers.backward_elemt,
    "SyncBatchNormElemt": layers.elemt,
    "SyncBatchNormGatherStatsWithCounts": layers.gather_stats,
    "SyncBatchNormStats_v2": layers.stats,
    "SyncBatchnormBackwardReduce_v2": layers.backward_reduce,
    "TopKTensor_v3": elements.top_k,
    "Transform_v2": elements.transform,
    "Transpose_v2": elements.transpose,
    "Unique_v2": elements.unique,
}


def calls(driver: StandInDevice) -> Iterator[tuple[str, Callable[..., int]]]:
    """Yield every call that has a stand-in, on the device of *driver*."""
    for name, function in _PLAIN.items():
        yield f"cnnl{name}", function
    for name, function in _ON_TENSORS.items():
        yield f"cnnl{name}", lambda _handle, *arguments, function=function: function(driver, *arguments)
