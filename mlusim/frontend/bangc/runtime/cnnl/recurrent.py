"""The gated recurrent unit."""

import numpy as np
from attrs import define

from mlusim.errors import Unsupported
from mlusim.frontend.bangc.runtime.cnnl import tensors

_SIGMOID, _TANH = 0, 2  # of cnnlActivationMode_t
_NTC, _TNC = 0, 1  # of cnnlSeqDataLayout_t
_GATES = 3  # r, z and n of the input, then of the state: six filters a layer


@define
class _Sequence:
    """A tensor of a sequence, as other tensors are described."""

    dim: int
    dtype: int
    dims: list[int]


def set_gru(
    desc: tensors.Descriptor,
    algo: int,
    mode: int,
    direction: int,
    _order: int,
    gates: object,
    new: object,
    *given: object,
) -> int:
    """``cnnlSetGruDescriptor_v2``.  Raises `Unsupported` for what no public program shows: other modes, activations, clips."""
    _layout, _dtype, biased, *rest, layers = given
    if mode != 1 or direction != 0 or any(one is not None for one in rest):
        raise Unsupported(
            "the stand-in of a GRU takes CNNL_GRU_MODE_V2, CNNL_GRU_FORWARD and null pointers behind the bias only"
        )
    if tensors.numbers(gates, 1) != [_SIGMOID] or tensors.numbers(new, 1) != [_TANH]:
        raise Unsupported(
            "the stand-in of a GRU takes a sigmoid for the gates and a tanh for the new state only"
        )
    desc.values.update(layers=layers, biased=biased, algo=algo)
    return 0


def set_sequence(
    desc: tensors.Descriptor, layout: int, dtype: int, rank: int, dims: object, *given: object
) -> int:
    """``cnnlSetSeqDataDescriptor``: three axes, sequences of equal lengths."""
    count, lengths, _fill = given
    if layout not in (_NTC, _TNC) or rank != 3 or count or lengths is not None:
        raise Unsupported(
            "the stand-ins take sequences in the layouts NTC and TNC only, without lengths of their own"
        )
    desc.values.update(layout=layout, tensor=_Sequence(3, dtype, tensors.numbers(dims, 3)))
    return 0


def gru(
    driver: tensors.StandInDevice,
    _handle: tensors.Argument,
    desc: tensors.Descriptor,
    *given: tensors.Argument,
) -> int:
    """``cnnlGru_v2``: for each layer filters and biases of r, z and n, of the input and then of the state.

    Numbers are in double precision, and rounded where they are stored: no accumulation order of the closed library is known.
    """
    (
        first,
        second,
        x_seq,
        x,
        h_desc,
        h,
        third,
        fourth,
        w_descs,
        w,
        b_descs,
        b,
        _work,
        _size,
        y_seq,
        y,
        end_desc,
        end,
    ) = given
    if any(one is not None for one in (first, second, third, fourth)):
        raise Unsupported(
            "the stand-in of a GRU takes null pointers only behind its descriptor and behind the first state"
        )
    steps = _in_time(x_seq, tensors.values(x_seq.values["tensor"], x).astype(np.float64))
    states = tensors.values(h_desc, h).astype(np.float64)  # layers, directions, sequences, channels
    ends = states.copy()
    for layer in range(desc.values["layers"]):
        which = range(2 * _GATES * layer, 2 * _GATES * (layer + 1))
        filters = [tensors.values(w_descs[n], w[n]).astype(np.float64) for n in which]
        biases = [
            tensors.values(b_descs[n], b[n]).astype(np.float64).reshape(-1)
            if desc.values["biased"]
            else np.zeros(len(filters[0]))
            for n in which
        ]
        steps = _layer(steps, states[layer, 0], filters, biases)
        ends[layer, 0] = steps[-1]
    if end:
        tensors.store(driver, end_desc, end, ends)
    return tensors.store(driver, y_seq.values["tensor"], y, _in_time(y_seq, steps))


def _in_time(desc: tensors.Descriptor, array: tensors.Array) -> tensors.Array:
    """Swap the axes of a sequence where the first is not that of time."""
    return array.swapaxes(0, 1) if desc.values["layout"] == _NTC else array


def _layer(
    steps: tensors.Array, state: tensors.Array, filters: list[tensors.Array], biases: list[tensors.Array]
) -> tensors.Array:
    """Return the states of one layer behind each step."""
    given = [steps @ filters[gate].T + biases[gate] for gate in range(_GATES)]
    result = np.empty((*steps.shape[:2], state.shape[-1]))
    for time in range(len(steps)):
        r, z, n = (state @ filters[_GATES + gate].T + biases[_GATES + gate] for gate in range(_GATES))
        reset, update = (1 / (1 + np.exp(-(given[gate][time] + one))) for gate, one in enumerate((r, z)))
        # CNNL_GRU_MODE_V2 resets behind the product, as PyTorch does.
        new = np.tanh(given[2][time] + reset * n)
        state = result[time] = (1 - update) * new + update * state
    return result
