"""Calls on the elements of whole tensors: arithmetic, as products of matrices and sums; moves, as transposition, gathering and sorting."""

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


# Calls that move elements: transposition, padding, slices, gathering, scattering, sorting, unique rows.


def transpose(
    driver: tensors.StandInDevice,
    _handle: object,
    desc: tensors.Descriptor,
    x_desc: object,
    x: object,
    y_desc: object,
    y: object,
    *_work: object,
) -> int:
    """Do ``cnnlTranspose_v2``: permute the axes of a tensor."""
    return tensors.store(
        driver, y_desc, y, tensors.values(x_desc, x).transpose(desc.values["permute"]).copy()
    )


def pad(
    driver: tensors.StandInDevice,
    _handle: object,
    desc: object,
    x: object,
    paddings: object,
    value: object,
    out_desc: object,
    out: object,
) -> int:
    """``cnnlPad``: two numbers for each axis, before and behind."""
    given = tensors.values(desc, x)
    widths = np.array(tensors.numbers(paddings, 2 * given.ndim)).reshape(given.ndim, 2)
    # Without a value the library pads with zeros.
    fill = tensors.scalar(value, tensors.dtype_of(desc)) if value else 0
    return tensors.store(driver, out_desc, out, np.pad(given, widths, constant_values=fill))


def strided_slice(
    driver: tensors.StandInDevice,
    _handle: object,
    desc: object,
    x: object,
    begin: object,
    end: object,
    step: object,
    *out: object,
) -> int:
    """Do ``cnnlStridedSlice_v2``: copy every step-th element of a range of each axis."""
    given = tensors.values(desc, x)
    bounds = (tensors.numbers(pointer, given.ndim) for pointer in (begin, end, step))
    return tensors.store(
        driver, out[0], out[1], given[tuple(slice(*three) for three in zip(*bounds, strict=True))].copy()
    )


def concat(
    driver: tensors.StandInDevice,
    _handle: object,
    count: int,
    axis: int,
    descs: tensors.Argument,
    inputs: tensors.Argument,
    *given: object,
) -> int:
    """Do ``cnnlConcat``: join tensors along an axis."""
    parts = [tensors.values(descs[n], inputs[n]) for n in range(count)]
    return tensors.store(driver, given[2], given[3], np.concatenate(parts, axis))


def _inside(where: tensors.Array, sizes: tuple[int, ...]) -> tuple[tensors.Array, tuple[tensors.Array, ...]]:
    """Return which rows of numbers are an index into axes of these *sizes*, and those rows by axis."""
    rows = where.astype(np.int64)
    inside: tensors.Array = np.all((rows >= 0) & (rows < np.array(sizes[: rows.shape[-1]])), axis=-1)
    return inside, tuple(np.moveaxis(rows[inside], -1, 0))


def gather(
    driver: tensors.StandInDevice,
    _handle: object,
    _batch: int,
    desc: object,
    x: object,
    where_desc: object,
    where: object,
    *out: object,
) -> int:
    """``cnnlGatherNd_v2``: the last axis of the indices goes along the first axes of the tensor; 0 from outside."""
    given = tensors.values(desc, x)
    rows = tensors.values(where_desc, where)
    inside, index = _inside(rows, given.shape)
    found = np.zeros((*inside.shape, *given.shape[rows.shape[-1] :]), given.dtype)
    found[inside] = given[index]
    return tensors.store(driver, out[0], out[1], found)


def scatter(
    driver: tensors.StandInDevice,
    _handle: object,
    mode: int,
    where_desc: object,
    where: object,
    *given: object,
) -> int:
    """``cnnlScatterNd_v2``: add, subtract, multiply or put; a row with an index outside goes nowhere."""
    desc, x, first_desc, first, out_desc, out = given
    result = (
        tensors.values(first_desc, first).copy()
        if first
        else np.zeros(tensors.shape_of(out_desc), tensors.dtype_of(out_desc))
    )
    inside, index = _inside(tensors.values(where_desc, where), result.shape)
    updates = tensors.values(desc, x)[inside]
    if mode == _UPDATE:
        result[index] = updates
    else:
        # Not result[index] += updates: of equal indices NumPy would keep the last one alone.
        (np.add, np.subtract, np.multiply)[mode].at(result, index, updates)
    return tensors.store(driver, out_desc, out, result)


_UPDATE = 3  # of cnnlScatterNdMode_t; those below it are functions


def top_k(
    driver: tensors.StandInDevice,
    _handle: object,
    desc: object,
    x: object,
    k: int,
    axis: int,
    largest: int,
    *given: object,
) -> int:
    """``cnnlTopKTensor_v3``: the k first of each row in order, equal ones by their place, and where they were."""
    _sorted, _lower, _work, _size, out_desc, out, index_desc, index = given
    keys = tensors.values(desc, x)
    # Negated in double, where the smallest integer has a negative, too.
    order = np.argsort(-keys.astype(np.float64) if largest else keys, axis, kind="stable")
    chosen = np.take(order, range(k), axis)
    tensors.store(driver, index_desc, index, chosen)
    return tensors.store(driver, out_desc, out, np.take_along_axis(keys, chosen, axis))


def unique(
    driver: tensors.StandInDevice,
    _handle: object,
    _desc: object,
    x_desc: object,
    x: object,
    _work: object,
    _size: int,
    *given: object,
) -> int:
    """``cnnlUnique_v2``: rows in ascending order, how many; which one each was, how often each comes."""
    count, _out_desc, out, index_desc, index, times_desc, times = given
    rows = tensors.values(x_desc, x)
    axis = 0 if rows.ndim > 1 else None
    found, inverse, often = np.unique(rows, return_inverse=True, return_counts=True, axis=axis)
    put(driver, count, np.array([len(found)], np.int32))
    put(driver, out, found)
    if index:
        tensors.store(driver, index_desc, index, inverse)
    if times:
        put(driver, times, often.astype(tensors.dtype_of(times_desc)))
    return 0


def put(driver: tensors.StandInDevice, pointer: tensors.Argument, array: tensors.Array) -> None:
    """Store an array from where *pointer* is on the device."""
    raw = np.ascontiguousarray(array).tobytes()
    tensors.device_bytes(pointer, len(raw), "store")[:] = raw
    driver.filled(pointer, len(raw))
