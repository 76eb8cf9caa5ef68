"""Vector registers: functions of ``__mlu_vector__`` kernels that compute without memory.

All of these are inferred from the vendor's index generators and random numbers.  A register holds 2048
bytes, 512 elements of 32 bits or 1024 of 16; declare one with `vv_float()`, `vv_int32()`, `vv_uint32()`, `vv_half()`,
`vv_int16()` or `vv_uint16()` of `mlusim.bang`.
Where a source is a register, a number may stand for one with the same number in every lane.
"""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import DType, float32, half, int16, int32, uint16, uint32
from mlusim.isa.declare import Cost, CType, Intrinsic, Refused, Tile, demand, intrinsic

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


ELEMENTS = (float32, int32, uint32, half, int16, uint16)
INTEGERS = (int32, uint32, int16, uint16)
Whole = Annotated[Register, CType("{vv}")]
Number = Annotated[Register | int | float | np.generic, CType("{T}")]
Target = Annotated[Register, CType("{vv} &")]
Source = Annotated[Register | int | float | np.generic, CType("{vv}", "{T}")]  # a number is one for all lanes

_SINCE: dict[str, Any] = {
    "since": 372,
    "certainty": "I",
    "source": "vendor kernels, index generators and random numbers",
}


def _row(spelling: str, elements: tuple[DType, ...] = ELEMENTS) -> Callable[[Callable[..., Any]], Intrinsic]:
    return intrinsic(spelling, form="register", elements=elements, **_SINCE)


@intrinsic("__vv_get_length", pipe=Pipe.SCALAR, memory_core=True, native=f"result = {BYTES};", **_SINCE)
def vv_get_length() -> int:
    """Say how many bytes a register holds: returns ``2048``, on a memory core too, where kernels divide by it."""
    return BYTES


@_row("__vv_move")
def vv_move(dst: Target, src: Source) -> None:
    """Set a register: ``dst[i] = src[i]``, or ``src`` in every lane."""
    target = target_of(dst)
    target.values = np.array(np.broadcast_to(source_of("src", src, target.dtype), (target.lanes,)))


@_row("__vv_index")
def vv_index(dst: Target, start: Number, step: Number) -> None:
    """Count: ``dst[i] = start + i * step``."""
    target = target_of(dst)
    # In the register's type from the start, so that the lanes wrap and round as the device's would (inferred).
    lane = np.arange(target.lanes).astype(target.dtype.dtype)
    first, distance = source_of("start", start, target.dtype), source_of("step", step, target.dtype)
    target.values = first + lane * distance


def _binary(spelling: str, ufunc: Callable[..., Any], formula: str, *, whole: bool = False) -> Intrinsic:
    """Declare a row of ``(dst, src0, src1)``."""

    def body(dst: Target, src0: Source, src1: Source) -> None:
        target = target_of(dst, whole=whole)
        sources = source_of("src0", src0, target.dtype), source_of("src1", src1, target.dtype)
        target.values = np.array(np.broadcast_to(ufunc(*sources), (target.lanes,)), target.dtype.dtype)

    kept = "; of integers" if whole else ""
    body.__doc__ = f"Compute lane by lane: ``dst[i] = {formula}``{kept}."
    return _row(spelling, INTEGERS if whole else ELEMENTS)(body)


def _high(a: Tile, b: Tile) -> Any:
    """Return the upper half of the products' bits."""
    dtype = np.asarray(a).dtype
    wide = np.int64 if dtype.kind == "i" else np.uint64  # the whole product has twice the bits
    return np.multiply(a, b, dtype=wide) >> wide(8 * dtype.itemsize)


vv_add = _binary("__vv_add", np.add, "src0[i] + src1[i]")
vv_sub = _binary("__vv_sub", np.subtract, "src0[i] - src1[i]")
vv_mul = _binary("__vv_mul", np.multiply, "src0[i] * src1[i]")
vv_mulh = _binary("__vv_mulh", _high, "(src0[i] * src1[i]) >> bits of an element", whole=True)
vv_and = _binary("__vv_and", np.bitwise_and, "src0[i] & src1[i]", whole=True)
vv_or = _binary("__vv_or", np.bitwise_or, "src0[i] | src1[i]", whole=True)
vv_xor = _binary("__vv_xor", np.bitwise_xor, "src0[i] ^ src1[i]", whole=True)


@_row("__vv_not", INTEGERS)
def vv_not(dst: Target, src: Source) -> None:
    """Invert the bits: ``dst[i] = ~src[i]``; of integers."""
    target = target_of(dst, whole=True)
    target.values = np.array(np.broadcast_to(~source_of("src", src, target.dtype), (target.lanes,)))


@_row("__vv_neg")
def vv_neg(dst: Target, src: Source) -> None:
    """Change the sign: ``dst[i] = -src[i]``."""
    target = target_of(dst)
    # 0 - x would lose the sign of a zero; unsigned numbers wrap.
    target.values = np.array(
        np.broadcast_to(np.negative(source_of("src", src, target.dtype)), (target.lanes,))
    )


@_row("__vv_trixor", INTEGERS)
def vv_trixor(dst: Target, src0: Source, src1: Source, src2: Source) -> None:
    """Combine three: ``dst[i] = src0[i] ^ src1[i] ^ src2[i]``; of integers."""
    target = target_of(dst, whole=True)
    first, second, third = (
        source_of(name, value, target.dtype)
        for name, value in (("src0", src0), ("src1", src1), ("src2", src2))
    )
    target.values = np.array(np.broadcast_to(first ^ second ^ third, (target.lanes,)))


_STORED = f"{BYTES} // sizeof(T) if elem_count is None else elem_count"


@intrinsic(
    "__vv_store",
    writes={"dst": _STORED},
    dtypes=ELEMENTS,
    cost=Cost(_STORED, "dst"),
    rules=(
        demand(
            f"elem_count is not None and (elem_count < 1 or elem_count * sizeof(dst) > {BYTES})",
            "elem_count = {elem_count} is out of range",
            f"1 to {BYTES // 4} elements of 32 bits, or {BYTES // 2} of 16",
        ),
    ),
    **_SINCE,
)
def vv_store(dst: Tile, register: Whole, elem_count: int | None = None) -> None:
    """Store the first elements of a register in NRAM: ``dst[i] = register[i]``, all of them without a count."""
    if not isinstance(register, Register):
        raise Refused(f"register is {register!r:.80}", operand="register", legal="a register")
    if register.dtype.dtype != dst.dtype:
        text = f"register is of {register.dtype} and dst of {dst.dtype}"
        raise Refused(text, operand="register", legal="one element type for both")
    if register.values is None:
        text = "register is one that nothing has written"
        raise Refused(text, operand="register", legal="a register with a value")
    dst[...] = register.values[: len(dst)]
