"""The table of all stand-ins by name, and the stand-ins for network layers.

The layers are batch normalisation over several devices (channels last) and the gated recurrent unit.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from attrs import define

from mlusim.bangc.runtime.cnnl import elements, pictures
from mlusim.bangc.runtime.cnnl.elements import (
    Argument,
    Array,
    Descriptor,
    StandInDevice,
    doubles,
    dtype_of,
    numbers,
    put,
    scalar,
    store,
)
from mlusim.errors import Unsupported


def _or(desc: object, pointer: object, other: float) -> Any:
    """Return a tensor, or *other* if the pointer is null."""
    return doubles(desc, pointer) if pointer else other


def _rows(array: Array) -> Array:
    return array.reshape(-1, array.shape[-1])


def stats(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlSyncBatchNormStats_v2``: mean and ``1 / sqrt(variance + eps)`` of each channel."""
    x_desc, x, _work, _size, eps, mean_desc, mean, invstd_desc, invstd = arguments
    rows = _rows(doubles(x_desc, x))
    store(driver, mean_desc, mean, rows.mean(0))
    return store(driver, invstd_desc, invstd, 1 / np.sqrt(rows.var(0) + eps))


def gather_stats(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlSyncBatchNormGatherStatsWithCounts``: statistics over all devices, from each device's statistics and counts."""
    means_desc, means, invstds_desc, invstds, running_desc, running, spread_desc, spread = arguments[:8]
    momentum, eps, counts_desc, counts, mean_desc, mean, invstd_desc, invstd = arguments[8:]
    each, often = doubles(means_desc, means), doubles(counts_desc, counts).reshape(-1, 1)
    variances = doubles(invstds_desc, invstds) ** -2.0 - eps  # back from 1 / sqrt(variance + eps)
    total = often.sum()
    middle = (often * each).sum(0) / total
    # Variance around the common mean: each device's variance plus the squared distance of its mean.
    squares = (often * (variances + (each - middle) ** 2)).sum(0)
    for desc, pointer, now in (
        (running_desc, running, middle),
        (spread_desc, spread, squares / (total - 1)),  # unbiased, as in frameworks
    ):
        if pointer:
            store(driver, desc, pointer, (1 - momentum) * doubles(desc, pointer) + momentum * now)
    store(driver, mean_desc, mean, middle)
    return store(driver, invstd_desc, invstd, 1 / np.sqrt(squares / total + eps))


def elemt(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlSyncBatchNormElemt``: ``(x - mean) * invstd * filter + bias``; filter and bias may be absent."""
    x_desc, x, mean_desc, mean, invstd_desc, invstd, filter_desc, filter_, bias_desc, bias, y_desc, y = (
        arguments
    )
    result = (doubles(x_desc, x) - doubles(mean_desc, mean)) * doubles(invstd_desc, invstd)
    return store(driver, y_desc, y, result * _or(filter_desc, filter_, 1) + _or(bias_desc, bias, 0))


def backward_reduce(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlSyncBatchnormBackwardReduce_v2``: sums of the gradient, alone and times ``x - mean``; only the requested results."""
    dz_desc, dz, x_desc, x, mean_desc, mean, invstd_desc, invstd, _work, _size = arguments[:10]
    dfilter_desc, dfilter, dbias_desc, dbias, sum_desc, sum_dy, product_desc, product = arguments[10:18]
    of_input, of_filter, of_bias = arguments[18:]
    gradient = doubles(dz_desc, dz)
    plain = _rows(gradient).sum(0)
    times = _rows(gradient * (doubles(x_desc, x) - doubles(mean_desc, mean))).sum(0)
    for wanted, desc, pointer, result in (
        (of_input, sum_desc, sum_dy, plain),
        (of_input, product_desc, product, times),
        (of_filter, dfilter_desc, dfilter, times * doubles(invstd_desc, invstd)),
        (of_bias, dbias_desc, dbias, plain),
    ):
        if wanted and pointer:
            put(driver, pointer, result.astype(dtype_of(desc)))
    return 0


def backward_elemt(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlSyncBatchNormBackwardElemt`` and its ``V2``: the gradient of x, from means, or from sums with counts."""
    dy_desc, dy, x_desc, x, mean_desc, mean, invstd_desc, invstd, filter_desc, filter_ = arguments[:10]
    plain_desc, plain, times_desc, times, *counts, dx_desc, dx = arguments[10:]
    total = doubles(*counts).sum() if counts else 1.0  # without counts, these are means already
    scale = doubles(invstd_desc, invstd)
    slope = doubles(times_desc, times) / total * scale**2
    centred = doubles(dy_desc, dy) - doubles(plain_desc, plain) / total
    result = centred - (doubles(x_desc, x) - doubles(mean_desc, mean)) * slope
    return store(driver, dx_desc, dx, result * scale * _or(filter_desc, filter_, 1))


# The gated recurrent unit.

_SIGMOID, _TANH = 0, 2  # of cnnlActivationMode_t
_NTC, _TNC = 0, 1  # of cnnlSeqDataLayout_t
_GATES = 3  # r, z and n of the input, then of the state: six filters per layer


@define
class _Sequence:
    """The descriptor of a sequence, with the members of a tensor descriptor."""

    dim: int
    dtype: int
    dims: list[int]


def set_gru(desc: Descriptor, *arguments: Argument) -> int:
    """``cnnlSetGruDescriptor_v2``. Raises `Unsupported` for modes, activations and clips that no public program uses."""
    algo, mode, direction, _order, gates, new, _layout, _dtype, biased, *rest, layers = arguments
    if mode != 1 or direction != 0 or any(argument is not None for argument in rest):
        raise Unsupported(
            "the stand-in of a GRU takes CNNL_GRU_MODE_V2, CNNL_GRU_FORWARD and null pointers behind the bias only"
        )
    if numbers(gates, 1) != [_SIGMOID] or numbers(new, 1) != [_TANH]:
        raise Unsupported(
            "the stand-in of a GRU takes a sigmoid for the gates and a tanh for the new state only"
        )
    desc.values.update(layers=layers, biased=biased, algo=algo)
    return 0


def set_sequence(desc: Descriptor, *arguments: Argument) -> int:
    """``cnnlSetSeqDataDescriptor``: three axes, sequences of equal length."""
    layout, dtype, rank, dims, count, lengths, _fill = arguments
    if layout not in (_NTC, _TNC) or rank != 3 or count or lengths is not None:
        raise Unsupported(
            "the stand-ins take sequences in the layouts NTC and TNC only, without lengths of their own"
        )
    desc.values.update(layout=layout, tensor=_Sequence(3, dtype, numbers(dims, 3)))
    return 0


def gru(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlGru_v2``: for each layer, filters and biases of r, z and n for the input, then for the state.

    It computes in double precision and rounds when it stores, because the closed library's order of
    accumulation is unknown.
    """
    desc, first, second, x_seq, x, h_desc, h, third, fourth, *rest = arguments
    w_descs, w, b_descs, b, _work, _size, y_seq, y, end_desc, end = rest
    if any(argument is not None for argument in (first, second, third, fourth)):
        raise Unsupported(
            "the stand-in of a GRU takes null pointers only behind its descriptor and behind the first state"
        )
    steps = _in_time(x_seq, doubles(x_seq.values["tensor"], x))
    states = doubles(h_desc, h)  # layers, directions, sequences, channels
    ends = states.copy()
    for layer in range(desc.values["layers"]):
        which = range(2 * _GATES * layer, 2 * _GATES * (layer + 1))
        filters = [doubles(w_descs[n], w[n]) for n in which]
        biases = [
            doubles(b_descs[n], b[n]).reshape(-1) if desc.values["biased"] else np.zeros(len(filters[0]))
            for n in which
        ]
        steps = _layer(steps, states[layer, 0], filters, biases)
        ends[layer, 0] = steps[-1]
    if end:
        store(driver, end_desc, end, ends)
    return store(driver, y_seq.values["tensor"], y, _in_time(y_seq, steps))


def _in_time(desc: Descriptor, array: Array) -> Array:
    """Return the sequence with the time axis first."""
    return array.swapaxes(0, 1) if desc.values["layout"] == _NTC else array


def _layer(steps: Array, state: Array, filters: list[Array], biases: list[Array]) -> Array:
    """Return the states of one layer after each step."""
    inputs = [steps @ filters[gate].T + biases[gate] for gate in range(_GATES)]
    result = np.empty((*steps.shape[:2], state.shape[-1]))
    for time in range(len(steps)):
        r, z, n = (state @ filters[_GATES + gate].T + biases[_GATES + gate] for gate in range(_GATES))
        reset, update = (
            1 / (1 + np.exp(-(inputs[gate][time] + product))) for gate, product in enumerate((r, z))
        )
        # CNNL_GRU_MODE_V2 applies the reset gate after the product, as PyTorch does.
        new = np.tanh(inputs[2][time] + reset * n)
        state = result[time] = (1 - update) * new + update * state
    return result


_KINDS = ("OpTensorDescriptor", "TransposeDescriptor", "MatMulDescriptor", "MatMulAlgo", "MatMulHeuristicResult", "ReduceDescriptor", "UniqueDescriptor", "NmsDescriptor", "RoiAlignDescriptor", "DCNDescriptor", "PoolingDescriptor", "ConvolutionDescriptor", "GruDescriptor", "SeqDataDescriptor")  # fmt: skip
# One name is in the vendor's spelling.
_WORKSPACES = ("AddN", "OpTensor", "TopKTensor", "Transpose", "Unique", "Concat", "SyncBatchNormStats", "SyncBatchnormBackwardReduce", "DCNForward", "DCNBakcwardData", "DCNBackwardWeight", "ConvolutionForward")  # fmt: skip


def _make(where: Argument) -> int:
    where[0] = Descriptor()
    return 0


def _done(*_arguments: object) -> int:
    return 0


def _answering(number: int) -> Callable[..., int]:
    """Return a call that stores *number* in its last argument."""

    def answer(*arguments: Argument) -> int:
        arguments[-1][0] = number
        return 0

    return answer


_no_workspace = _answering(0)  # bytes: the stand-ins need none


def _set(desc: Descriptor, **values: object) -> int:
    desc.values.update(values)
    return 0


def _set_attribute(desc: Descriptor, which: int, value: object, _size: int) -> int:
    desc.values[which] = scalar(value)
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
    "SetTransposeDescriptor": lambda desc, count, permute: _set(desc, permute=numbers(permute, count)),
    "SetDCNDescriptor": pictures.set_deformed,
    "SetConvolutionDescriptor": pictures.set_convolution,
    "SetGruDescriptor_v2": set_gru,
    "SetPooling2dDescriptor_v2": pictures.set_pooling,
    "SetSeqDataDescriptor": set_sequence,
    "SetMatMulDescAttr": _set_attribute,
    "SetNmsDescAttr": _set_attribute,
    "SetRoiAlignDescriptor_v2": pictures.set_align,
    "SetOpTensorDescriptor": lambda desc, op, *_: _set(desc, op=op),
    "SetReduceDescriptor_v2": lambda desc, axes, count, op, *_: _set(desc, axes=numbers(axes, count), op=op),
    "SetUniqueDescriptor": _done,
    "GetMatMulAlgoHeuristic": _answering(1),  # one algorithm is available
    "GetBatchMatMulExAlgoHeuristic": _answering(1),
    "GetMatMulHeuristicResult": _no_workspace,  # here too, the last argument is the size of a workspace
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
    "Gru_v2": gru,
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
    "SyncBatchNormBackwardElemt": backward_elemt,
    "SyncBatchNormBackwardElemtV2": backward_elemt,
    "SyncBatchNormElemt": elemt,
    "SyncBatchNormGatherStatsWithCounts": gather_stats,
    "SyncBatchNormStats_v2": stats,
    "SyncBatchnormBackwardReduce_v2": backward_reduce,
    "TopKTensor_v3": elements.top_k,
    "Transform_v2": elements.transform,
    "Transpose_v2": elements.transpose,
    "Unique_v2": elements.unique,
}


def calls(driver: StandInDevice) -> Iterator[tuple[str, Callable[..., int]]]:
    """Yield the name and function of every stand-in, for the device of *driver*."""
    for name, function in _PLAIN.items():
        yield f"cnnl{name}", function
    for name, function in _ON_TENSORS.items():
        yield f"cnnl{name}", lambda _handle, *arguments, function=function: function(driver, *arguments)
