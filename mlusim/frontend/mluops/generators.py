"""Vectors that helpers generate: arithmetic sequences."""

from mlusim.arch.dtypes import DType, bfloat16, float32, half, int8, int16, int32, uint8, uint16, uint32
from mlusim.frontend.mluops.checks import Helper
from mlusim.isa.vv import LANES, Register
from mlusim.machine.mlu import Mlu
from mlusim.memory.pointer import Ptr

# Arithmetic sequences: what eight vector registers hold, then what is there doubled by vector additions.
#
# Registers hold elements of 32 bits and exist from arch 372 on; elsewhere a line of scalar stores comes first.
# Values are those of the element type: integers wrap, and floats are exact while they are whole numbers that the type
# holds exactly (below 2**24 in float, 2**11 in half).

LINE = 128  # bytes that a vector instruction takes in a cycle: what scalar stores begin with
IN_REGISTERS = (float32, int32, uint32)
REGISTERS = 8  # that a sequence begins with
NUMBERS = (half, bfloat16, float32, int8, int16, int32, uint8, uint16, uint32)

_STAGE, _TFUSE, _INDICES = (
    Helper(f"__mluop_{name}") for name in ("gen_stage_index", "get_stage_indices_tfuse", "get_indices")
)


def _ask(
    helper: Helper, mlu: Mlu, dst: Ptr, name: str, count: object, dtypes: tuple[DType, ...] = NUMBERS
) -> int:
    """Return *count* as a number of elements; raise the fault unless dst has room for them."""
    number = helper.count(mlu, name, count)
    helper.vectors(mlu, number, dtypes, dst=dst)
    return number


def _fill(helper: Helper, mlu: Mlu, dst: Ptr, n: int, start: object, step: object) -> None:
    # Python's numbers, of the element type of dst.
    first = dst.dtype(helper.number(mlu, "start", start)).item()
    stride = dst.dtype(helper.number(mlu, "step", step)).item()
    if dst.dtype in IN_REGISTERS and mlu.BANG_ARCH >= 372:
        filled = min(n, REGISTERS * LANES)
        begun = Register(dst.dtype)
        mlu.vv_index(begun, first, stride)
        mlu.vv_store(dst, begun, min(filled, LANES))
        for at in range(LANES, filled, LANES):
            register = Register(dst.dtype)
            mlu.vv_add(register, begun, dst.dtype(at * stride))
            mlu.vv_store(dst + at, register, min(filled - at, LANES))
    else:
        filled = min(n, LINE // dst.dtype.size)
        for i in range(filled):
            dst[i] = dst.dtype(first + i * stride)
    while filled < n:
        more = min(filled, n - filled)
        mlu.bang_add_scalar(dst + filled, dst, dst.dtype(filled * stride), more)
        filled += more


def mluop_gen_stage_index(mlu: Mlu, dst: Ptr, n: int, start: object = 0, step: object = 1) -> None:
    """Fill a sequence: ``dst[i] = start + i * step``, *n* elements of any type up to 32 bits in NRAM.

    *start* and *step* are converted to the element type first.  The first 2048 bytes come from vector
    registers, where a type or an architecture has none a line of 128 bytes by scalar stores, and the rest is
    doubled.  Certain (vendor's common.h) but for the defaults of *start* and *step* and for the length of
    the prologues, which are inferred.  Raises `RuleFault` for counts,
    `OutOfBounds` and `WrongSpace` for dst and for terms that are not numbers.
    """
    _fill(_STAGE, mlu, dst, _ask(_STAGE, mlu, dst, "n", n), start, step)


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
