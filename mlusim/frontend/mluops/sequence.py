"""Arithmetic sequences: what a vector register holds, then what is there doubled by vector additions.

Registers hold elements of 32 bits and exist from arch 372 on; elsewhere a line of scalar stores comes first.
Values are those of the element type: integers wrap, and floats are
exact while they are whole numbers that the type holds exactly (below 2**24 in float, 2**11 in half).
"""

from typing import Any

from mlusim.arch.dtypes import DType, bfloat16, float32, half, int8, int16, int32, uint8, uint16, uint32
from mlusim.frontend.mluops.checks import Helper
from mlusim.isa.register import BYTES, LANES, Register
from mlusim.machine.mlu import Mlu
from mlusim.memory.pointer import Ptr

LINE = 128  # bytes that a vector instruction takes in a cycle: what scalar stores begin with
IN_REGISTERS = (float32, int32, uint32)
NUMBERS = (half, bfloat16, float32, int8, int16, int32, uint8, uint16, uint32)

_BASE, _EXPAND, _VV, _STAGE, _SEQ, _TFUSE, _INDICES = (
    Helper(f"__mluop_{name}")
    for name in (
        "arange_base_",
        "arange_by_expand_",
        "arange_vv_",
        "gen_stage_index",
        "gen_integer_incr_seq_",
        "get_stage_indices_tfuse",
        "get_indices",
    )
)


def _ask(
    helper: Helper, mlu: Mlu, dst: Ptr, name: str, count: object, dtypes: tuple[DType, ...] = NUMBERS
) -> int:
    """Return the number of elements, which dst has room for."""
    number = helper.count(mlu, name, count)
    helper.vectors(mlu, number, dtypes, dst=dst)
    return number


def _term(helper: Helper, mlu: Mlu, dst: Ptr, name: str, value: object) -> Any:
    """*value* converted to the element type, as a Python number."""
    return dst.dtype(helper.number(mlu, name, value)).item()


def mluop_arange_base_(mlu: Mlu, dst: Ptr, n: int, start: object = 0, step: object = 1) -> None:
    """Begin a sequence: ``dst[i] = start + i * step``, *n* elements in NRAM by one scalar store each.

    The scalar prologue of `mluop_gen_stage_index`.  Name certain (vendor's common.h), operands inferred.
    Raises `RuleFault` for counts, `OutOfBounds` and `WrongSpace` for dst.
    """
    n = _ask(_BASE, mlu, dst, "n", n)
    _store(_BASE, mlu, dst, n, start, step)


def _store(helper: Helper, mlu: Mlu, dst: Ptr, n: int, start: object, step: object) -> None:
    first, stride = (_term(helper, mlu, dst, *pair) for pair in (("start", start), ("step", step)))
    for i in range(n):
        dst[i] = dst.dtype(first + i * stride)


def mluop_arange_by_expand_(mlu: Mlu, dst: Ptr, n: int, filled: int, step: object = 1) -> None:
    """Complete a sequence of *n* elements whose first *filled* are there, by doubling.

    ``dst[filled + i] = dst[i] + filled * step`` by ``__bang_add_scalar``, again and again; any *filled*
    from 1 on, and nothing happens where it is *n* or more.  Name certain (vendor's common.h), operands
    inferred.  Raises `RuleFault` for counts, `OutOfBounds` and `WrongSpace` for dst.
    """
    n = _ask(_EXPAND, mlu, dst, "n", n)
    _double(_EXPAND, mlu, dst, n, _EXPAND.count(mlu, "filled", filled), step)


def _double(helper: Helper, mlu: Mlu, dst: Ptr, n: int, filled: int, step: object) -> None:
    stride = _term(helper, mlu, dst, "step", step)
    while filled < n:
        more = min(filled, n - filled)
        mlu.bang_add_scalar(dst + filled, dst, dst.dtype(filled * stride), more)
        filled += more


def mluop_arange_vv_(mlu: Mlu, dst: Ptr, n: int, start: object = 0, step: object = 1) -> None:
    """Fill what one vector register holds: ``dst[i] = start + i * step``, *n* elements of at most 2048 bytes.

    Elements of float, int32 and uint32 are computed in a register, from arch 372 on; others are a line of
    scalar stores and doublings.  Name certain (vendor's common.h), operands inferred.  Raises `RuleFault` for counts, `OutOfBounds` and
    `WrongSpace` for dst.
    """
    n = _ask(_VV, mlu, dst, "n", n)
    _VV.at_most(mlu, "n", n, BYTES // dst.dtype.size, "mluop_gen_stage_index takes any count")
    _fill(_VV, mlu, dst, n, start, step)


def _fill(helper: Helper, mlu: Mlu, dst: Ptr, n: int, start: object, step: object) -> None:
    if dst.dtype in IN_REGISTERS and mlu.BANG_ARCH >= 372:
        filled = min(n, LANES)
        first, stride = (_term(helper, mlu, dst, *pair) for pair in (("start", start), ("step", step)))
        register = Register(dst.dtype)
        mlu.vv_index(register, first, stride)
        mlu.vv_store(dst, register, filled)
    else:
        filled = min(n, LINE // dst.dtype.size)
        _store(helper, mlu, dst, filled, start, step)
    _double(helper, mlu, dst, n, filled, step)


def mluop_gen_stage_index(mlu: Mlu, dst: Ptr, n: int, start: object = 0, step: object = 1) -> None:
    """Fill a sequence: ``dst[i] = start + i * step``, *n* elements of any type up to 32 bits in NRAM.

    *start* and *step* are converted to the element type first.  The first 2048 bytes come from a vector
    register, where a type or an architecture has none a line of 128 bytes by scalar stores, and the rest is
    doubled.  Certain (vendor's common.h) but for the defaults of *start* and *step* and for the length of
    the prologues, which are inferred.  Raises `RuleFault` for counts,
    `OutOfBounds` and `WrongSpace` for dst and for terms that are no numbers.
    """
    _fill(_STAGE, mlu, dst, _ask(_STAGE, mlu, dst, "n", n), start, step)


def mluop_gen_integer_incr_seq_(mlu: Mlu, dst: Ptr, n: int) -> None:
    """Count: ``dst[i] = i``, *n* int32 in NRAM.

    ``__bang_incseq`` on architectures above 592, doubling on all others.  Name certain (vendor's common.h),
    operands inferred.  Raises faults as `mluop_gen_stage_index` does.
    """
    n = _ask(_SEQ, mlu, dst, "n", n, (int32,))
    if mlu.BANG_ARCH > 592:
        mlu.bang_incseq(dst, n)
    else:
        _fill(_SEQ, mlu, dst, n, 0, 1)


def mluop_get_stage_indices_tfuse(mlu: Mlu, dst: Ptr, length: int) -> None:
    """Count: ``dst[i] = i``, *length* int32 in NRAM, any length.

    The vendor doubles with the fused instruction of the assembler; here it is ``__bang_add_scalar``, which
    costs the same.  Certain (vendor's common.h).  Raises faults as `mluop_gen_stage_index` does.
    """
    _fill(_TFUSE, mlu, dst, _ask(_TFUSE, mlu, dst, "length", length, (int32,)), 0, 1)


def mluop_get_indices(mlu: Mlu, dst: Ptr, start_index: float, length: int) -> None:
    """Count in floats: ``dst[i] = start_index + i``, *length* floats in NRAM; exact below 2**24.

    Certain (vendor's common.h).  Raises faults as `mluop_gen_stage_index` does.
    """
    number = _ask(_INDICES, mlu, dst, "length", length, (float32,))
    _fill(_INDICES, mlu, dst, number, _INDICES.number(mlu, "start_index", start_index), 1)
