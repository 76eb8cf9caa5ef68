"""The arguments of the stand-ins, and the stand-ins for calls on the elements of whole tensors.

Arguments are tensors on the device, numbers behind pointers, and descriptors. The calls are arithmetic, such as
sums and products of matrices, and moves of elements, such as transposition, gathering and sorting.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from attrs import define, field

from mlusim.arch.dtypes import as_dtype, float64
from mlusim.counted import plural
from mlusim.errors import Ended, MemoryFault, OutOfBounds, Unsupported, WrongSpace
from mlusim.memory.pointer import Ptr


class StandInDevice(Protocol):
    """Records which bytes of device memory were initialised."""

    def filled(self, pointer: Ptr, nbytes: int) -> None: ...


Array = np.ndarray[Any, Any]
Argument = Any
"""An argument of the closed library as passed by C: a number, a pointer, or a descriptor."""
# Indexed by cnnlDataType_t; missing numbers are types that NumPy lacks.
DTYPES: Mapping[int, Any] = {
    1: np.float16, 2: np.float32, 3: np.int8, 4: np.int16, 6: np.int32, 7: np.uint8, 8: np.bool_, 9: np.int64,
    11: np.uint32, 12: np.uint64, 13: np.uint16, 14: np.float64, 16: np.complex64,
}  # fmt: skip


@define(eq=False)
class Descriptor:
    """A descriptor other than of a tensor: its settings by name."""

    values: dict[Any, Any] = field(factory=dict)


def dtype_of(desc: Argument) -> Any:
    """Return the NumPy element type of a tensor. Raises `Unsupported` if NumPy lacks it."""
    dtype = DTYPES.get(int(desc.dtype))
    if dtype is None:
        raise Unsupported(
            f"a tensor of cnnlDataType_t {int(desc.dtype)} is given to a stand-in of cnnl; give one of a type that NumPy has"
        )
    return np.dtype(dtype)


def shape_of(desc: Argument) -> tuple[int, ...]:
    """Return the sizes of a tensor."""
    return tuple(int(desc.dims[axis]) for axis in range(int(desc.dim)))


def device_bytes(pointer: object, count: int, verb: str) -> Any:
    """Return the *count* bytes of the device from *pointer* on.

    Raises `WrongSpace` for a pointer of the host, `MemoryFault` for the null pointer and for bytes that are
    not there.
    """
    what = f"a {verb} of {count} {plural(count, 'byte')} of device memory"
    if pointer is None:
        raise MemoryFault(f"{what} through the null pointer", hint="test the pointer first")
    if not isinstance(pointer, Ptr):
        raise WrongSpace(f"{what} through a pointer of the host", hint="look at the order of the pointers")
    allocation, start = pointer.view.allocation, pointer.offset
    if not allocation.live:
        fault = Ended(f"{what} that was freed", address=pointer.address)
        fault.rule = "hostcheck-use-after-free"
        raise fault
    if start < 0 or start + count > allocation.nbytes:
        rest = max(allocation.nbytes - start, 0)
        raise OutOfBounds(
            f"{what} at byte {start} of {allocation.nbytes}",
            address=pointer.address,
            legal=f"{rest} {plural(rest, 'byte')} are there",
        )
    return allocation.raw.data[start : start + count]


def values(desc: object, pointer: object, verb: str = "load") -> Array:
    """Return a tensor in device memory as an array that shares its bytes."""
    dtype, shape = dtype_of(desc), shape_of(desc)
    count = int(np.prod(shape, dtype=np.int64))  # without axes it is 1, for a single element
    if not count:
        return np.zeros(shape, dtype)
    raw = device_bytes(pointer, count * dtype.itemsize, verb)
    return np.frombuffer(raw, dtype, count).reshape(shape)


def doubles(desc: object, pointer: object) -> Array:
    """Return a tensor's elements in double precision, because sums in half would lose small terms."""
    return values(desc, pointer).astype(np.float64)


def store(driver: StandInDevice, desc: object, pointer: Argument, result: object) -> int:
    """Store *result* to a tensor in device memory, and return the status of success."""
    target = values(desc, pointer, "store")
    target[...] = np.asarray(result).reshape(target.shape)
    driver.filled(pointer, target.nbytes)
    return 0


def scalar(pointer: Argument, dtype: Any = None) -> Any:
    """Return the number at a host pointer, read as *dtype* (None: as declared)."""
    if dtype is None:
        return pointer[0]
    if np.dtype(dtype).kind == "c":
        return complex(pointer[0])
    name = np.dtype(dtype).name
    name = {"float16": "half", "float32": "float", "bool": "uint8"}.get(name, name)
    # Device memory has no float64.
    return pointer.cast(float64 if name == "float64" else as_dtype(name))[0]


def numbers(pointer: Argument, count: int) -> list[int]:
    """Return *count* integers at a host pointer."""
    return [int(pointer[n]) for n in range(count)]


# -- the calls -------------------------------------------------------------------------------------------

_TRANSPOSED = (0, 1)  # CNNL_MATMUL_DESC_TRANSA, CNNL_MATMUL_DESC_TRANSB


def fill(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlFill_v3``: set every element to *value*, a host or device number of the tensor's type."""
    mode, value, desc, out = arguments
    dtype = dtype_of(desc)
    if mode == 0:  # CNNL_POINTER_MODE_HOST
        element = scalar(value, dtype)
    else:
        element = np.frombuffer(device_bytes(value, dtype.itemsize, "load"), dtype)[0]
    return store(driver, desc, out, np.full(shape_of(desc), element, dtype))


def _sides(desc: Descriptor, a: Array, b: Array) -> tuple[Array, Array]:
    turned = [
        np.swapaxes(side, -1, -2) if desc.values.get(which) else side
        for which, side in zip(_TRANSPOSED, (a, b), strict=True)
    ]
    return _wide(turned[0]), _wide(turned[1])


def _wide(array: Array) -> Array:
    """Return the elements in the type for sums of products: double precision, or integers."""
    return array.astype({"f": np.float64, "c": np.complex128}.get(array.dtype.kind, np.int64))


def matmul(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlMatMul_v2`` and ``cnnlBatchMatMulEx``: ``alpha * a @ b + beta * c``, stored to c or to another tensor."""
    desc, _algo, alpha, a_desc, a, b_desc, b, beta, c_desc, c, *rest = arguments
    out_desc, out = rest[2:4] if len(rest) > 2 else (c_desc, c)
    first, second = _sides(desc, values(a_desc, a), values(b_desc, b))
    result = scalar(alpha) * (first @ second)
    if scalar(beta):  # with beta 0, NaN in c has no effect
        result = result + scalar(beta) * _wide(values(c_desc, c))
    return store(driver, out_desc, out, result)


def op_tensor(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlOpTensor``: ``alpha1 * in1 (+, -, *) alpha2 * in2 + beta * out``."""
    desc, alpha1, first_desc, first, alpha2, second_desc, second, _work, _size, beta, out_desc, out = (
        arguments
    )
    a = scalar(alpha1) * _wide(values(first_desc, first))
    b = scalar(alpha2) * _wide(values(second_desc, second))
    result = (a + b, a - b, a * b)[desc.values["op"]]  # indexed by cnnlOpTensorDesc_t
    if scalar(beta):
        result = result + scalar(beta) * _wide(values(out_desc, out))
    return store(driver, out_desc, out, result)


def add_n(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlAddN_v2``: the sum of several tensors."""
    descs, inputs, count, desc, out, *_work = arguments
    total: Any = sum(_wide(values(descs[n], inputs[n])) for n in range(count))
    return store(driver, desc, out, total)


def copy(driver: StandInDevice, *arguments: Argument) -> int:
    """Do ``cnnlCopy_v2``: copy a tensor element by element."""
    desc, x, out_desc, out, *_work = arguments
    return store(driver, out_desc, out, values(desc, x).copy())


def transform(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlTransform_v2``: ``alpha * x + beta``."""
    _mode, alpha, desc, x, beta, out_desc, out = arguments
    return store(driver, out_desc, out, scalar(alpha) * _wide(values(desc, x)) + scalar(beta))


def reduce(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlReduce_v2``: sum, mean, product, maximum or minimum along axes."""
    desc, x_desc, x, _alpha, _beta, _work, _size, out_desc, out, *_indices = arguments
    # Indexed by cnnlReduceOp_t.
    how: Any = (np.sum, np.mean, np.prod, np.max, np.min)[desc.values["op"]]
    result = how(_wide(values(x_desc, x)), axis=tuple(desc.values["axes"]))
    return store(driver, out_desc, out, result)


# Functions that move elements: transposition, padding, slices, gathering, scattering, sorting, unique rows.


def transpose(driver: StandInDevice, *arguments: Argument) -> int:
    """Do ``cnnlTranspose_v2``: permute the axes of a tensor."""
    desc, x_desc, x, y_desc, y, *_work = arguments
    return store(driver, y_desc, y, values(x_desc, x).transpose(desc.values["permute"]).copy())


def pad(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlPad``: *paddings* has two numbers per axis, before and after."""
    desc, x, paddings, value, out_desc, out = arguments
    array = values(desc, x)
    widths = np.array(numbers(paddings, 2 * array.ndim)).reshape(array.ndim, 2)
    # Without a value the library pads with zeros.
    fill = scalar(value, dtype_of(desc)) if value else 0
    return store(driver, out_desc, out, np.pad(array, widths, constant_values=fill))


def strided_slice(driver: StandInDevice, *arguments: Argument) -> int:
    """Do ``cnnlStridedSlice_v2``: copy every step-th element of a range in each axis."""
    desc, x, begin, end, step, out_desc, out = arguments
    array = values(desc, x)
    bounds = (numbers(pointer, array.ndim) for pointer in (begin, end, step))
    part = array[tuple(slice(*three) for three in zip(*bounds, strict=True))]
    return store(driver, out_desc, out, part.copy())


def concat(driver: StandInDevice, *arguments: Argument) -> int:
    """Do ``cnnlConcat``: join tensors along an axis."""
    count, axis, descs, inputs, _work, _size, out_desc, out = arguments
    parts = [values(descs[n], inputs[n]) for n in range(count)]
    return store(driver, out_desc, out, np.concatenate(parts, axis))


def _inside(where: Array, sizes: tuple[int, ...]) -> tuple[Array, tuple[Array, ...]]:
    """Return which rows of indices are inside axes of these *sizes*, and these rows by axis."""
    rows = where.astype(np.int64)
    inside: Array = np.all((rows >= 0) & (rows < np.array(sizes[: rows.shape[-1]])), axis=-1)
    return inside, tuple(np.moveaxis(rows[inside], -1, 0))


def gather(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlGatherNd_v2``: the last axis of the indices addresses the first axes of the tensor; outside gives 0."""
    _batch, desc, x, where_desc, where, out_desc, out = arguments
    array = values(desc, x)
    rows = values(where_desc, where)
    inside, index = _inside(rows, array.shape)
    gathered = np.zeros((*inside.shape, *array.shape[rows.shape[-1] :]), array.dtype)
    gathered[inside] = array[index]
    return store(driver, out_desc, out, gathered)


def scatter(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlScatterNd_v2``: add, subtract, multiply or replace; rows with an index outside are ignored."""
    mode, where_desc, where, desc, x, first_desc, first, out_desc, out = arguments
    result = values(first_desc, first).copy() if first else np.zeros(shape_of(out_desc), dtype_of(out_desc))
    inside, index = _inside(values(where_desc, where), result.shape)
    updates = values(desc, x)[inside]
    if mode == _UPDATE:
        result[index] = updates
    else:
        # Not result[index] += updates: of equal indices, NumPy would apply only the last.
        (np.add, np.subtract, np.multiply)[mode].at(result, index, updates)
    return store(driver, out_desc, out, result)


_UPDATE = 3  # of cnnlScatterNdMode_t; lower values select functions


def top_k(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlTopKTensor_v3``: the first k of each row in order (equal ones by index), and their indices."""
    desc, x, k, axis, largest, _sorted, _lower, _work, _size, out_desc, out, index_desc, index = arguments
    keys = values(desc, x)
    # Negated in double, where the smallest integer has a negative too.
    order = np.argsort(-keys.astype(np.float64) if largest else keys, axis, kind="stable")
    chosen = np.take(order, range(k), axis)
    store(driver, index_desc, index, chosen)
    return store(driver, out_desc, out, np.take_along_axis(keys, chosen, axis))


def unique(driver: StandInDevice, *arguments: Argument) -> int:
    """``cnnlUnique_v2``: the distinct rows in ascending order and their number; the index and the count of each row."""
    _desc, x_desc, x, _work, _size, count, _out_desc, out, index_desc, index, times_desc, times = arguments
    rows = values(x_desc, x)
    axis = 0 if rows.ndim > 1 else None
    distinct, inverse, often = np.unique(rows, return_inverse=True, return_counts=True, axis=axis)
    put(driver, count, np.array([len(distinct)], np.int32))
    put(driver, out, distinct)
    if index:
        store(driver, index_desc, index, inverse)
    if times:
        put(driver, times, often.astype(dtype_of(times_desc)))
    return 0


def put(driver: StandInDevice, pointer: Argument, array: Array) -> None:
    """Store an array in device memory at *pointer*."""
    raw = np.ascontiguousarray(array).tobytes()
    device_bytes(pointer, len(raw), "store")[:] = raw
    driver.filled(pointer, len(raw))
