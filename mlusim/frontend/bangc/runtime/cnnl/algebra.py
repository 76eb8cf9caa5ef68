"""Arithmetic of whole tensors: products of matrices, sums, filling, copies."""

from typing import Any

import numpy as np

from mlusim.frontend.bangc.runtime.cnnl import tensors

_TRANSPOSED = (0, 1)  # CNNL_MATMUL_DESC_TRANSA, CNNL_MATMUL_DESC_TRANSB


def fill(
    driver: tensors.StandInDevice, _handle: object, mode: int, value: object, desc: object, out: object
) -> int:
    """``cnnlFill_v3``: every element is *value*, which has the tensor's type, on the host or on the device."""
    shape = tensors.shape_of(desc)
    dtype = tensors.dtype_of(desc)
    # Mode 0 is CNNL_POINTER_MODE_HOST.
    given = tensors.scalar(value, dtype) if mode == 0 else tensors.values(_One(desc), value)[0]
    return tensors.store(driver, desc, out, np.full(shape, given, dtype))


class _One:
    """The descriptor of one element of a tensor."""

    def __init__(self, desc: tensors.Argument) -> None:
        self.dim, self.dtype, self.dims = 1, desc.dtype, (1,)


def _sides(
    desc: tensors.Descriptor, a: tensors.Array, b: tensors.Array
) -> tuple[tensors.Array, tensors.Array]:
    turned = [
        np.swapaxes(side, -1, -2) if desc.values.get(which) else side
        for which, side in zip(_TRANSPOSED, (a, b), strict=True)
    ]
    return _wide(turned[0]), _wide(turned[1])


def _wide(array: tensors.Array) -> tensors.Array:
    """Return the elements as the sums of products are built: in double precision, or as integers."""
    return array.astype({"f": np.float64, "c": np.complex128}.get(array.dtype.kind, np.int64))


def matmul(
    driver: tensors.StandInDevice,
    _handle: object,
    desc: tensors.Descriptor,
    _algo: object,
    alpha: object,
    *given: object,
) -> int:
    """``cnnlMatMul_v2`` and ``cnnlBatchMatMulEx``: ``alpha * a @ b + beta * c``, into c or a tensor of its own."""
    a_desc, a, b_desc, b, beta, c_desc, c = given[:7]
    out_desc, out = given[9:11] if len(given) > 9 else (c_desc, c)
    first, second = _sides(desc, tensors.values(a_desc, a), tensors.values(b_desc, b))
    result = tensors.scalar(alpha) * (first @ second)
    if tensors.scalar(beta):  # with 0, c may hold anything: a NaN in it does not count
        result = result + tensors.scalar(beta) * _wide(tensors.values(c_desc, c))
    return tensors.store(driver, out_desc, out, result)


def op_tensor(
    driver: tensors.StandInDevice, _handle: object, desc: tensors.Descriptor, alpha1: object, *given: object
) -> int:
    """``cnnlOpTensor``: ``alpha1 * in1 (+, -, *) alpha2 * in2 + beta * out``."""
    first_desc, first, alpha2, second_desc, second, _work, _size, beta, out_desc, out = given
    a = tensors.scalar(alpha1) * _wide(tensors.values(first_desc, first))
    b = tensors.scalar(alpha2) * _wide(tensors.values(second_desc, second))
    result = (a + b, a - b, a * b)[desc.values["op"]]  # by the numbers of cnnlOpTensorDesc_t
    if tensors.scalar(beta):
        result = result + tensors.scalar(beta) * _wide(tensors.values(out_desc, out))
    return tensors.store(driver, out_desc, out, result)


def add_n(
    driver: tensors.StandInDevice,
    _handle: object,
    descs: tensors.Argument,
    inputs: tensors.Argument,
    count: int,
    desc: object,
    out: object,
    *_work: object,
) -> int:
    """``cnnlAddN_v2``: the sum of several tensors."""
    total: Any = sum(_wide(tensors.values(descs[n], inputs[n])) for n in range(count))
    return tensors.store(driver, desc, out, total)


def copy(
    driver: tensors.StandInDevice,
    _handle: object,
    desc: object,
    given: object,
    out_desc: object,
    out: object,
    *_work: object,
) -> int:
    """Do ``cnnlCopy_v2``: copy a tensor element by element."""
    return tensors.store(driver, out_desc, out, tensors.values(desc, given).copy())


def transform(
    driver: tensors.StandInDevice, _handle: object, _mode: int, alpha: object, *given: object
) -> int:
    """``cnnlTransform_v2``: ``alpha * x + beta``."""
    desc, x, beta, out_desc, out = given
    return tensors.store(
        driver, out_desc, out, tensors.scalar(alpha) * _wide(tensors.values(desc, x)) + tensors.scalar(beta)
    )


def reduce(
    driver: tensors.StandInDevice,
    _handle: object,
    desc: tensors.Descriptor,
    x_desc: object,
    x: object,
    *given: object,
) -> int:
    """``cnnlReduce_v2``: sum, mean, product, maximum or minimum along axes."""
    _alpha, _beta, _work, _size, out_desc, out, *_indices = given
    # By the numbers of cnnlReduceOp_t.
    how: Any = (np.sum, np.mean, np.prod, np.max, np.min)[desc.values["op"]]
    result = how(_wide(tensors.values(x_desc, x)), axis=tuple(desc.values["axes"]))
    return tensors.store(driver, out_desc, out, result)
