"""Calls that move elements: transposition, padding, slices, gathering, scattering, sorting, unique rows."""

import numpy as np

from mlusim.frontend.bangc.runtime.cnnl.tensors import (
    Argument,
    Array,
    Descriptor,
    StandInDevice,
    device_bytes,
    dtype_of,
    numbers,
    scalar,
    shape_of,
    store,
    values,
)  # fmt: skip


def transpose(
    driver: StandInDevice,
    _handle: object,
    desc: Descriptor,
    x_desc: object,
    x: object,
    y_desc: object,
    y: object,
    *_work: object,
) -> int:
    """Do ``cnnlTranspose_v2``: permute the axes of a tensor."""
    return store(driver, y_desc, y, values(x_desc, x).transpose(desc.values["permute"]).copy())


def pad(
    driver: StandInDevice,
    _handle: object,
    desc: object,
    x: object,
    paddings: object,
    value: object,
    out_desc: object,
    out: object,
) -> int:
    """``cnnlPad``: two numbers for each axis, before and behind."""
    given = values(desc, x)
    widths = np.array(numbers(paddings, 2 * given.ndim)).reshape(given.ndim, 2)
    # Without a value the library pads with zeros.
    fill = scalar(value, dtype_of(desc)) if value else 0
    return store(driver, out_desc, out, np.pad(given, widths, constant_values=fill))


def strided_slice(
    driver: StandInDevice,
    _handle: object,
    desc: object,
    x: object,
    begin: object,
    end: object,
    step: object,
    *out: object,
) -> int:
    """Do ``cnnlStridedSlice_v2``: copy every step-th element of a range of each axis."""
    given = values(desc, x)
    bounds = (numbers(pointer, given.ndim) for pointer in (begin, end, step))
    return store(
        driver, out[0], out[1], given[tuple(slice(*three) for three in zip(*bounds, strict=True))].copy()
    )


def concat(
    driver: StandInDevice,
    _handle: object,
    count: int,
    axis: int,
    descs: Argument,
    inputs: Argument,
    *given: object,
) -> int:
    """Do ``cnnlConcat``: join tensors along an axis."""
    parts = [values(descs[n], inputs[n]) for n in range(count)]
    return store(driver, given[2], given[3], np.concatenate(parts, axis))


def _inside(where: Array, sizes: tuple[int, ...]) -> tuple[Array, tuple[Array, ...]]:
    """Return which rows of numbers are an index into axes of these *sizes*, and those rows by axis."""
    rows = where.astype(np.int64)
    inside: Array = np.all((rows >= 0) & (rows < np.array(sizes[: rows.shape[-1]])), axis=-1)
    return inside, tuple(np.moveaxis(rows[inside], -1, 0))


def gather(
    driver: StandInDevice,
    _handle: object,
    _batch: int,
    desc: object,
    x: object,
    where_desc: object,
    where: object,
    *out: object,
) -> int:
    """``cnnlGatherNd_v2``: the last axis of the indices goes along the first axes of the tensor; 0 from outside."""
    given = values(desc, x)
    rows = values(where_desc, where)
    inside, index = _inside(rows, given.shape)
    found = np.zeros((*inside.shape, *given.shape[rows.shape[-1] :]), given.dtype)
    found[inside] = given[index]
    return store(driver, out[0], out[1], found)


def scatter(
    driver: StandInDevice, _handle: object, mode: int, where_desc: object, where: object, *given: object
) -> int:
    """``cnnlScatterNd_v2``: add, subtract, multiply or put; a row with an index outside goes nowhere."""
    desc, x, first_desc, first, out_desc, out = given
    result = values(first_desc, first).copy() if first else np.zeros(shape_of(out_desc), dtype_of(out_desc))
    inside, index = _inside(values(where_desc, where), result.shape)
    updates = values(desc, x)[inside]
    if mode == _UPDATE:
        result[index] = updates
    else:
        # Not result[index] += updates: of equal indices NumPy would keep the last one alone.
        (np.add, np.subtract, np.multiply)[mode].at(result, index, updates)
    return store(driver, out_desc, out, result)


_UPDATE = 3  # of cnnlScatterNdMode_t; those below it are functions


def top_k(
    driver: StandInDevice,
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
    keys = values(desc, x)
    # Negated in double, where the smallest integer has a negative, too.
    order = np.argsort(-keys.astype(np.float64) if largest else keys, axis, kind="stable")
    chosen = np.take(order, range(k), axis)
    store(driver, index_desc, index, chosen)
    return store(driver, out_desc, out, np.take_along_axis(keys, chosen, axis))


def unique(
    driver: StandInDevice,
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
    rows = values(x_desc, x)
    axis = 0 if rows.ndim > 1 else None
    found, inverse, often = np.unique(rows, return_inverse=True, return_counts=True, axis=axis)
    put(driver, count, np.array([len(found)], np.int32))
    put(driver, out, found)
    if index:
        store(driver, index_desc, index, inverse)
    if times:
        put(driver, times, often.astype(dtype_of(times_desc)))
    return 0


def put(driver: StandInDevice, pointer: Argument, array: Array) -> None:
    """Store an array from where *pointer* is on the device."""
    raw = np.ascontiguousarray(array).tobytes()
    device_bytes(pointer, len(raw), "store")[:] = raw
    driver.filled(pointer, len(raw))
