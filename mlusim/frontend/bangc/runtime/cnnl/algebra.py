"""Arithmetic of whole tensors: products of matrices, sums, filling, copies."""

from typing import Any

import numpy as np

from mlusim.frontend.bangc.runtime.cnnl.tensors import (
    Argument,
    Array,
    Descriptor,
    StandInDevice,
    dtype_of,
    scalar,
    shape_of,
    store,
    values,
)  # fmt: skip

_TRANSPOSED = (0, 1)  # CNNL_MATMUL_DESC_TRANSA, CNNL_MATMUL_DESC_TRANSB


def fill(driver: StandInDevice, _handle: object, mode: int, value: object, desc: object, out: object) -> int:
    """``cnnlFill_v3``: every element is *value*, which has the tensor's type, on the host or on the device."""
    shape = shape_of(desc)
    dtype = dtype_of(desc)
    given = scalar(value, dtype) if mode == 0 else values(_One(desc), value)[0]  # CNNL_POINTER_MODE_HOST
    return store(driver, desc, out, np.full(shape, given, dtype))


class _One:
    """The descriptor of one element of a tensor."""

    def __init__(self, desc: Argument) -> None:
        self.dim, self.dtype, self.dims = 1, desc.dtype, (1,)


def _sides(desc: Descriptor, a: Array, b: Array) -> tuple[Array, Array]:
    turned = [
        np.swapaxes(side, -1, -2) if desc.values.get(which) else side
        for which, side in zip(_TRANSPOSED, (a, b), strict=True)
    ]
    return _wide(turned[0]), _wide(turned[1])


def _wide(array: Array) -> Array:
    """Return the elements as the sums of products are built: in double precision, or as integers."""
    return array.astype({"f": np.float64, "c": np.complex128}.get(array.dtype.kind, np.int64))


def matmul(
    driver: StandInDevice, _handle: object, desc: Descriptor, _algo: object, alpha: object, *given: object
) -> int:
    """``cnnlMatMul_v2`` and ``cnnlBatchMatMulEx``: ``alpha * a @ b + beta * c``, into c or a tensor of its own."""
    a_desc, a, b_desc, b, beta, c_desc, c = given[:7]
    out_desc, out = given[9:11] if len(given) > 9 else (c_desc, c)
    first, second = _sides(desc, values(a_desc, a), values(b_desc, b))
    result = scalar(alpha) * (first @ second)
    if scalar(beta):  # with 0, c may hold anything: a NaN in it does not count
        result = result + scalar(beta) * _wide(values(c_desc, c))
    return store(driver, out_desc, out, result)


def op_tensor(
    driver: StandInDevice, _handle: object, desc: Descriptor, alpha1: object, *given: object
) -> int:
    """``cnnlOpTensor``: ``alpha1 * in1 (+, -, *) alpha2 * in2 + beta * out``."""
    first_desc, first, alpha2, second_desc, second, _work, _size, beta, out_desc, out = given
    a = scalar(alpha1) * _wide(values(first_desc, first))
    b = scalar(alpha2) * _wide(values(second_desc, second))
    result = (a + b, a - b, a * b)[desc.values["op"]]  # by the numbers of cnnlOpTensorDesc_t
    if scalar(beta):
        result = result + scalar(beta) * _wide(values(out_desc, out))
    return store(driver, out_desc, out, result)


def add_n(
    driver: StandInDevice,
    _handle: object,
    descs: Argument,
    inputs: Argument,
    count: int,
    desc: object,
    out: object,
    *_work: object,
) -> int:
    """``cnnlAddN_v2``: the sum of several tensors."""
    total: Any = sum(_wide(values(descs[n], inputs[n])) for n in range(count))
    return store(driver, desc, out, total)


def copy(
    driver: StandInDevice,
    _handle: object,
    desc: object,
    given: object,
    out_desc: object,
    out: object,
    *_work: object,
) -> int:
    """Do ``cnnlCopy_v2``: copy a tensor element by element."""
    return store(driver, out_desc, out, values(desc, given).copy())


def transform(driver: StandInDevice, _handle: object, _mode: int, alpha: object, *given: object) -> int:
    """``cnnlTransform_v2``: ``alpha * x + beta``."""
    desc, x, beta, out_desc, out = given
    return store(driver, out_desc, out, scalar(alpha) * _wide(values(desc, x)) + scalar(beta))


def reduce(
    driver: StandInDevice, _handle: object, desc: Descriptor, x_desc: object, x: object, *given: object
) -> int:
    """``cnnlReduce_v2``: sum, mean, product, maximum or minimum along axes."""
    _alpha, _beta, _work, _size, out_desc, out, *_indices = given
    # By the numbers of cnnlReduceOp_t.
    how: Any = (np.sum, np.mean, np.prod, np.max, np.min)[desc.values["op"]]
    result = how(_wide(values(x_desc, x)), axis=tuple(desc.values["axes"]))
    return store(driver, out_desc, out, result)
