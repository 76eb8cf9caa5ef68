"""The element types of BANG C: vendor spelling, size in bytes, NumPy carrier."""

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
from attrs import field, frozen

from mlusim.errors import UsageError

_PLAIN = (int, float)


def is_number(value: object) -> bool:
    """Return whether *value* is one real number: a number of Python or NumPy, or an array without dimensions."""
    if isinstance(value, np.generic | np.ndarray):
        return value.ndim == 0 and _holds_numbers(value.dtype)
    return isinstance(value, int | float)


def as_elements(values: object, dtype: "DType") -> np.ndarray[Any, Any] | None:
    """Return a sequence of numbers as the elements of an array of *dtype*, or None for anything else.

    Integers wrap as in C and are never converted through a float. NumPy would do so for a list that mixes
    small integers with integers of 2^63 and above, or with floats.
    """
    array = values if isinstance(values, np.ndarray) else _of_list(values)
    if array is None or array.ndim != 1:
        return None
    if array.dtype != object:
        return array.astype(dtype.dtype) if _holds_numbers(array.dtype) else None
    elements = np.empty(array.size, dtype.dtype)
    for n, value in enumerate(array):
        whole = isinstance(value, int | np.integer)
        elements[n] = _of_whole(int(value), dtype) if whole else np.asarray(value).astype(dtype.dtype)
    return elements


def _of_list(values: object) -> np.ndarray[Any, Any] | None:
    """Return *values* as an array, of Python objects if NumPy would convert some integers to floats."""
    try:
        array = np.asarray(values)
        if array.ndim != 1 or array.dtype.kind in "biu":
            return array
        items = np.asarray(values, object)
    except ValueError:  # nested sequences of several lengths
        return None
    if not all(map(is_number, items)):
        return None
    mixed = array.dtype == object or any(isinstance(v, int | np.integer) for v in items)
    return items if mixed else array


def _of_whole(value: int, dtype: "DType") -> Any:
    if dtype.kind != "float":
        return dtype(value)  # an integer type wraps, see `DType.__call__`
    if -(1 << 63) <= value < 1 << 64:
        return np.asarray(value).astype(dtype.dtype)  # rounded once
    # No NumPy integer type holds the value: convert to double first, then to the type.
    return np.asarray(float(value)).astype(dtype.dtype)


def _holds_numbers(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "biuf" or dtype == ml_dtypes.bfloat16


@frozen(repr=False, eq=False)  # one object per type: pointer casts use it as the key of a view
class DType:
    """One element type.

    ``size`` is in bytes. ``dtype`` is the NumPy carrier, so ``numpy.empty(n, half)`` works. ``c`` is its name
    in C, with a 64-bit long.
    """

    name: str
    dtype: np.dtype[Any]
    kind: str  # "float", "int" or "uint"
    c: str
    size: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "size", self.dtype.itemsize)

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle by name, so that a type from another process becomes this process's object.
        return _named, (self.name,)

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name

    def __call__(self, value: object) -> Any:
        """Convert a Python number to a typed scalar, as a C cast does: integers wrap.

        An infinity becomes the nearest integer and NaN becomes 0 (unknown on the hardware, default
        chosen).  Raises `UsageError` for what is not a number.
        """
        if value.__class__ not in _PLAIN and not is_number(value):
            raise UsageError(f"{value!r:.80} is not a number and cannot become {self.name}")
        try:
            if self.kind == "float":
                return self.dtype.type(value)
            number = self._whole(value)
        except (TypeError, ValueError, OverflowError):
            raise UsageError(f"{value!r:.80} is not a number that {self.name} can hold") from None
        # Wrap to two's complement here: Python's integers have no width, and NumPy raises if one does not
        # fit.
        bits = 8 * self.size
        wrapped = number & ((1 << bits) - 1)
        if self.kind == "int" and wrapped >> (bits - 1):
            wrapped -= 1 << bits
        return self.dtype.type(wrapped)

    def _whole(self, value: Any) -> int:
        """Return *value* rounded toward zero; infinity saturates and NaN becomes 0."""
        try:
            return int(value)
        except (OverflowError, ValueError):
            if value != value:  # noqa: PLR0124 - NaN is what differs from itself
                return 0
            limits = np.iinfo(self.dtype)
            return int(limits.max if value > 0 else limits.min)


half = DType("half", np.dtype(np.float16), "float", "half")
bfloat16 = DType("bfloat16", np.dtype(ml_dtypes.bfloat16), "float", "bfloat16_t")
float32 = DType("float", np.dtype(np.float32), "float", "float")
int8 = DType("int8", np.dtype(np.int8), "int", "signed char")
int16 = DType("int16", np.dtype(np.int16), "int", "short")
int32 = DType("int32", np.dtype(np.int32), "int", "int")
int64 = DType("int64", np.dtype(np.int64), "int", "long")
uint8 = DType("uint8", np.dtype(np.uint8), "uint", "unsigned char")
uint16 = DType("uint16", np.dtype(np.uint16), "uint", "unsigned short")
uint32 = DType("uint32", np.dtype(np.uint32), "uint", "unsigned int")
uint64 = DType("uint64", np.dtype(np.uint64), "uint", "unsigned long")

DTYPES = (half, bfloat16, float32, int8, int16, int32, int64, uint8, uint16, uint32, uint64)

float64 = DType("double", np.dtype(np.float64), "float", "double")  # for scalars only, in no instruction
boolean = DType("bool", np.dtype(np.uint8), "uint", "bool")  # for masks only, never in memory
MEMORY_TYPES = (*DTYPES, float64)  # the types of scalar loads and stores in C

_BY_NAME: Mapping[str, DType] = (
    {d.name: d for d in DTYPES}
    | {d.dtype.name: d for d in DTYPES}
    | {"fp16": half, "fp32": float32, "bf16": bfloat16, "char": int8, "short": int16, "int": int32}
)
# Without double: a host array of doubles is refused, as narrowing it would silently change its values.
_BY_NUMPY: Mapping[np.dtype[Any], DType] = {d.dtype: d for d in DTYPES}


def _named(name: str) -> DType:
    return next(d for d in MEMORY_TYPES if d.name == name)


def as_dtype(value: Any) -> DType:
    """Return the `DType` that *value* names: a DType, a NumPy dtype or scalar type, or a name.

    Raises `UsageError` for a type that no memory of the board can hold.
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, str) and value in _BY_NAME:
        return _BY_NAME[value]
    try:
        dtype = _BY_NUMPY.get(np.dtype(value))
    except (TypeError, ValueError, SyntaxError):  # NumPy parses strings and tuples as dtype descriptions
        dtype = None
    if dtype is None:
        names = ", ".join(d.name for d in DTYPES)
        swapped = isinstance(value, np.dtype) and value.newbyteorder() in _BY_NUMPY
        hint = "; change the byte order with array.astype(array.dtype.newbyteorder())" if swapped else ""
        raise UsageError(f"{value!r:.80} is not an element type of BANG C; use one of {names}{hint}")
    return dtype
