"""Vectors that helpers generate: arithmetic sequences and random numbers."""

from typing import Any

import numpy as np

from mlusim.arch.dtypes import DType, bfloat16, float32, half, int8, int16, int32, uint8, uint16, uint32
from mlusim.errors import RuleFault
from mlusim.frontend.mluops.checks import Helper, OperandSpan
from mlusim.isa.fusion import FUSION_FMA
from mlusim.isa.vv import BYTES, LANES, Register, vv_uint32
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
    """Return *count* as a number of elements; raise the fault unless dst has room for them."""
    number = helper.count(mlu, name, count)
    helper.vectors(mlu, number, dtypes, dst=dst)
    return number


def _term(helper: Helper, mlu: Mlu, dst: Ptr, name: str, value: object) -> Any:
    """Return *value* converted to the element type of dst, as a Python number."""
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
    """Fill what eight vector registers hold: ``dst[i] = start + i * step``, *n* elements of at most 2048 bytes.

    Elements of float, int32 and uint32 are computed in registers, from arch 372 on; others are a line of
    scalar stores and doublings.  Name certain (vendor's common.h), operands inferred.  Raises `RuleFault` for counts, `OutOfBounds` and
    `WrongSpace` for dst.
    """
    n = _ask(_VV, mlu, dst, "n", n)
    _VV.at_most(mlu, "n", n, REGISTERS * BYTES // dst.dtype.size, "mluop_gen_stage_index takes any count")
    _fill(_VV, mlu, dst, n, start, step)


def _fill(helper: Helper, mlu: Mlu, dst: Ptr, n: int, start: object, step: object) -> None:
    if dst.dtype in IN_REGISTERS and mlu.BANG_ARCH >= 372:
        filled = min(n, REGISTERS * LANES)
        first, stride = (_term(helper, mlu, dst, *pair) for pair in (("start", start), ("step", step)))
        begun = Register(dst.dtype)
        mlu.vv_index(begun, first, stride)
        mlu.vv_store(dst, begun, min(filled, LANES))
        for at in range(LANES, filled, LANES):
            register = Register(dst.dtype)
            mlu.vv_add(register, begun, dst.dtype(at * stride))
            mlu.vv_store(dst + at, register, min(filled - at, LANES))
    else:
        filled = min(n, LINE // dst.dtype.size)
        _store(helper, mlu, dst, filled, start, step)
    _double(helper, mlu, dst, n, filled, step)


def mluop_gen_stage_index(mlu: Mlu, dst: Ptr, n: int, start: object = 0, step: object = 1) -> None:
    """Fill a sequence: ``dst[i] = start + i * step``, *n* elements of any type up to 32 bits in NRAM.

    *start* and *step* are converted to the element type first.  The first 2048 bytes come from vector
    registers, where a type or an architecture has none a line of 128 bytes by scalar stores, and the rest is
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


# Random numbers by counting: Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011).
#
# Block b of a stream is a function of the key and of b alone, so any part of a stream can be generated by any task.  As
# the vendor's, it computes in vector registers, so it exists from arch 372 on.

ROUNDS = 10  # of the paper, which finds seven enough and adds three
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)  # of the paper, for counters of four words of 32 bits
WEYL = (0x9E3779B9, 0xBB67AE85)  # what the key's words grow by from round to round
ONE = 0x3F800000  # the bits of 1.0: with 23 random bits behind them a float in [1, 2)
MANTISSA = 23

_RANDOM, _CVT, _UNIFORM = (
    Helper(f"__mluop_{name}") for name in ("gen_random_u32", "cvt_uniform", "gen_uniform")
)


def mluop_gen_random_u32(
    mlu: Mlu, dst: Ptr, addition: Ptr, n: int, seed: int, offset: int = 0, subsequence: int = 0
) -> None:
    """Random words: ``dst[4 * b + w]`` is word w of block ``offset + b``, *n* uint32 in NRAM.

    *n* is a multiple of 4.  The key is *seed* and the counter *offset* + b below *subsequence*, each of 64
    bits, low word first; blocks wrap within their subsequence.  *addition* is room for *n* words,
    destroyed, apart from dst.  The generator is certain (published with test vectors, which it passes);
    operands and the order of words are inferred.  Raises `RuleFault` for counts and aliases,
    `OutOfBounds` and `WrongSpace` for operands.
    """
    n = _RANDOM.count(mlu, "n", n)
    (to,) = _RANDOM.vectors(mlu, n, (uint32,), dst=dst)
    _generate(_RANDOM, mlu, to, addition, n, (seed, offset, subsequence))


def mluop_cvt_uniform(mlu: Mlu, dst: Ptr, src: Ptr, n: int, low: object = 0.0, high: object = 1.0) -> None:
    """Turn words into uniform floats: ``low <= dst[i] < high`` from the upper 23 bits of ``src[i]``.

    *dst*: *n* floats, *src*: *n* uint32, both in NRAM; *dst* may be exactly *src*, else *src* is
    destroyed.  Name certain (vendor's philox_generator.h); operands, the bits used and the open upper end
    are unknown, this is the default chosen.  Raises `RuleFault` for counts and bounds, `OutOfBounds` and
    `WrongSpace` for operands.
    """
    n = _CVT.count(mlu, "n", n)
    _CVT.span(mlu, "dst", dst, n * float32.size, (float32,))
    _CVT.span(mlu, "src", src, n * uint32.size, (uint32,))
    bounds = _bounds(_CVT, mlu, float32, low, high)
    _convert(mlu, dst, src, n, *bounds)


def mluop_gen_uniform(
    mlu: Mlu,
    dst: Ptr,
    addition: Ptr,
    n: int,
    seed: int,
    offset: int = 0,
    subsequence: int = 0,
    low: object = 0.0,
    high: object = 1.0,
) -> None:
    """Uniform random numbers: ``low <= dst[i] < high``, *n* of half or float in NRAM.

    The words of `mluop_gen_random_u32`, which explains the operands, through `mluop_cvt_uniform`.  Half
    is made of floats in dst, rounded down: **dst needs room for n floats**, and its second half is
    destroyed.  Name certain (vendor's philox_generator.h), all else as of those two.
    """
    n = _UNIFORM.count(mlu, "n", n)
    _UNIFORM.vectors(mlu, n, dst=dst)
    hint = "half writes words into dst: give it twice the room" if dst.dtype is half else None
    to = _UNIFORM.span(mlu, "dst", dst, n * uint32.size, hint=hint)
    bounds = _bounds(_UNIFORM, mlu, dst.dtype, low, high)
    words, numbers = dst.cast(uint32), dst.cast(float32)
    _generate(_UNIFORM, mlu, OperandSpan("dst", words, to.nbytes), addition, n, (seed, offset, subsequence))
    _convert(mlu, numbers, words, n, *bounds)
    if dst.dtype is half:
        mlu.bang_float2half_dn(dst, numbers, n)


# -- the generator ---------------------------------------------------------------------------------


def _generate(
    helper: Helper, mlu: Mlu, to: OperandSpan, addition: object, n: int, words: tuple[int, int, int]
) -> None:
    if n % 4:
        said, hint = f"n = {n} is no multiple of 4", "pad n with PAD_UP and the buffers with it"
        legal = "multiples of 4, the words of a block"
        raise helper.refuse(mlu, RuleFault, said, operand="n", legal=legal, hint=hint)
    seed, offset, subsequence = (
        helper.word(mlu, name, value)
        for name, value in zip(("seed", "offset", "subsequence"), words, strict=True)
    )
    room = helper.span(mlu, "addition", addition, n * uint32.size)
    helper.apart(
        mlu, room, to, "the words lie in addition, one row for each of a block, before dst gets them"
    )
    blocks, rows = n // 4, room.pointer.cast(uint32)
    first = 0
    while first < blocks:
        low = (offset + first) & 0xFFFFFFFF
        count = min(LANES, blocks - first, (1 << 32) - low)  # up to where the low word wraps
        mixed = _blocks(mlu, low, (offset + first) >> 32, subsequence, seed)
        for i, register in enumerate(mixed):
            mlu.vv_store(rows + i * blocks + first, register, count)
        first += count
    mlu.bang_transpose(to.pointer, rows, 4, blocks)


def _blocks(mlu: Mlu, low: int, high: int, subsequence: int, seed: int) -> list[Register]:
    """Return the words of the blocks from (*low*, *high*) on, one register for each word, one lane for each block."""
    counter = [vv_uint32() for _ in range(4)]
    products = [vv_uint32() for _ in range(2)]
    mlu.vv_index(counter[0], uint32(low), 1)
    for register, word in zip(counter[1:], (high, subsequence, subsequence >> 32), strict=True):
        mlu.vv_move(register, uint32(word))
    for number in range(ROUNDS):
        keys = [uint32((seed >> 32 * i) + number * WEYL[i]) for i in range(2)]  # both wrap to 32 bits
        for i, factor in enumerate(MULTIPLIERS):
            mlu.vv_mulh(products[i], counter[2 * i], uint32(factor))
            mlu.vv_mul(counter[2 * i], counter[2 * i], uint32(factor))
        mlu.vv_trixor(counter[1], counter[1], products[1], keys[0])
        mlu.vv_trixor(counter[3], counter[3], products[0], keys[1])
        counter = [*counter[1:], counter[0]]  # the order in which the next round takes the words
    return counter


# -- floats ----------------------------------------------------------------------------------------


def _bounds(helper: Helper, mlu: Mlu, dtype: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Both bounds as floats that *dtype* holds."""
    first, last = (
        np.float32(dtype(helper.number(mlu, name, value))) for name, value in (("low", low), ("high", high))
    )
    width = float(last) - float(first)
    if not 0 < width <= float(np.finfo(np.float32).max):
        said = f"low = {low!r} and high = {high!r} enclose no {dtype}"
        legal = "low < high, both finite, and their difference too"
        raise helper.refuse(mlu, RuleFault, said, operand="high", legal=legal)
    return first, last


def _convert(mlu: Mlu, dst: Ptr, src: Ptr, n: int, low: Any, high: Any) -> None:
    mlu.bang_srl(src, src, 32 - MANTISSA, n)
    mlu.bang_add_scalar(src, src, uint32(ONE), n)
    mlu.bang_sub_scalar(dst, src.cast(float32), 1, n)
    if (low, high) != (0, 1):
        mlu.bang_fusion(FUSION_FMA, dst, dst, np.float32(high - low), low, n)
        # The sum may have been rounded up to the bound, which is excluded.
        mlu.bang_mineq_scalar(dst, dst, np.nextafter(high, low), n)
