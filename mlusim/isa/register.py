"""Vector registers: values of one type that the ``__vv_`` instructions compute with."""

from typing import Any

import numpy as np

from mlusim.arch.dtypes import DType, float32, half, int16, int32, uint16, uint32
from mlusim.isa.declare import Refused

BYTES = 2048  # of a register; what the vendor's index generators assume
LANES = BYTES // 4  # of 32 bits


class Register:
    """One vector register of 2048 bytes, 512 elements of 32 bits or 1024 of 16.

    It has no value until an instruction gives it one; ``values`` are the elements, None before.  Make one with
    `vv_float`, `vv_int32`, `vv_uint32`, `vv_half`, `vv_int16` or `vv_uint16`, as a kernel in C declares it.
    """

    __slots__ = ("dtype", "values")

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        self.values: np.ndarray[Any, Any] | None = None

    @property
    def lanes(self) -> int:
        """How many elements it holds."""
        return BYTES // self.dtype.size

    def __repr__(self) -> str:
        return f"<vv_{self.dtype}{'' if self.values is None else f' {self.values[:4]}...'}>"


def vv_float() -> Register:
    """Declare a register of float."""
    return Register(float32)


def vv_int32() -> Register:
    """Declare a register of int32."""
    return Register(int32)


def vv_uint32() -> Register:
    """Declare a register of uint32."""
    return Register(uint32)


def vv_half() -> Register:
    """Declare a register of half."""
    return Register(half)


def vv_int16() -> Register:
    """Declare a register of int16."""
    return Register(int16)


def vv_uint16() -> Register:
    """Declare a register of uint16."""
    return Register(uint16)


def target_of(dst: Any, *, whole: bool = False) -> Register:
    """*dst* if it is a register, with *whole* one of integers; raises `Refused` otherwise."""
    if not isinstance(dst, Register):
        raise Refused(
            f"dst is {dst!r:.80}", operand="dst", legal="a register: vv_float(), vv_int32(), vv_half(), ..."
        )
    if whole and dst.dtype.kind == "float":
        raise Refused(f"dst is a register of {dst.dtype}", operand="dst", legal="a register of integers")
    return dst


def source_of(name: str, value: Any, dtype: DType) -> Any:
    """Return the elements of a source, or a number as one of *dtype*; raises `Refused` for anything else."""
    if isinstance(value, Register):
        if value.values is None:
            raise Refused(
                f"{name} is a register that nothing has written",
                operand=name,
                legal="a register with a value",
            )
        if value.dtype is not dtype:
            text = f"{name} is a register of {value.dtype}, dst of {dtype}"
            raise Refused(text, operand=name, legal="one element type for all registers")
        return value.values
    try:
        if isinstance(value, int | float | np.generic):
            return dtype.dtype.type(dtype(value))
    except (TypeError, ValueError, OverflowError):
        pass
    raise Refused(
        f"{name} is {value!r:.80}", operand=name, legal=f"a register, or a number that {dtype} can hold"
    )
