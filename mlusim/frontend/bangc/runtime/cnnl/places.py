"""Calls that move elements: transposition, padding, slices, gathering, scattering, sorting, unique rows."""

import numpy as np

from mlusim.frontend.bangc.runtime.cnnl import tensors


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
