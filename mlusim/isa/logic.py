"""Logic: comparisons, logical operations (any value but zero is true) and bitwise operations.

The result of a comparison is 1 or 0 in the sources' type for every element, or one bit per element; with NaN it
is false, except "not equal", which is true. In logical operations on floats, -0.0 is false and NaN is true
(inferred). The bitwise rows count elements of the pointers' type. To mask floats, cast to ``int8`` and count
bytes; a mask also clears NaN and infinity.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlusim.arch.dtypes import int8, uint8, uint32
from mlusim.isa.declare import (
    FLOATS,
    INTS,
    NUMBERS,
    Flow,
    Intrinsic,
    Tile,
    Value,
    alias,
    between,
    binary,
    demand,
    intrinsic,
    unary,
    with_scalar,
)

COMPARISONS, SOURCE = "vendor declaration header, comparisons", "vendor declaration header, logic"
BYTES = (int8, uint8)  # MLU2xx has bitwise rows for bytes only


def _compare(spelling: str, ufunc: Callable[..., Any], word: str, sign: str) -> Intrinsic:
    doc = f"{word}: ``dst[i] = src0[i] {sign} src1[i]``, 1 or 0."
    return binary(spelling, ufunc, doc, NUMBERS, dtypes_2xx=FLOATS, source=COMPARISONS)


def _compare_scalar(
    spelling: str, ufunc: Callable[..., Any], word: str, sign: str, **properties: Any
) -> Intrinsic:
    doc = f"{word} a scalar: ``dst[i] = src[i] {sign} value``, 1 or 0."
    return with_scalar(spelling, ufunc, doc, NUMBERS, source=COMPARISONS, **properties)


bang_eq = _compare("__bang_eq", np.equal, "Equal", "==")
bang_ne = _compare("__bang_ne", np.not_equal, "Not equal", "!=")
bang_lt = _compare("__bang_lt", np.less, "Less", "<")
bang_le = _compare("__bang_le", np.less_equal, "Less or equal", "<=")
bang_gt = _compare("__bang_gt", np.greater, "Greater", ">")
bang_ge = _compare("__bang_ge", np.greater_equal, "Greater or equal", ">=")
bang_eq_scalar = _compare_scalar("__bang_eq_scalar", np.equal, "Equal to", "==", since=322)
bang_ne_scalar = _compare_scalar("__bang_ne_scalar", np.not_equal, "Not equal to", "!=", since=322)
bang_lt_scalar = _compare_scalar("__bang_lt_scalar", np.less, "Less than", "<", since=322)
bang_le_scalar = _compare_scalar("__bang_le_scalar", np.less_equal, "Less than or equal to", "<=", since=322)
bang_gt_scalar = _compare_scalar("__bang_gt_scalar", np.greater, "Greater than", ">", since=322)
bang_ge_scalar = _compare_scalar(
    "__bang_ge_scalar", np.greater_equal, "Greater than or equal to", ">=", dtypes_2xx=FLOATS
)
bang_ge_const = alias("__bang_ge_const", bang_ge_scalar)


def _compare_bits(spelling: str, ufunc: Callable[..., Any], formula: str) -> Intrinsic:
    """``(dst, src0, src1, elem_count)`` with one bit for each element."""

    def body(dst: Tile, src0: Tile, src1: Tile, elem_count: int) -> None:
        # Little-endian in the byte: the bit order of the `bitindex` selects and filters.
        dst[...] = np.packbits(ufunc(src0, src1), None, "little")

    body.__doc__ = (
        f"Compare to bits: bit ``i % 8`` of byte ``i / 8`` of *dst* ``= {formula}``.\n\n"
        "*dst* may be exactly a source.  If *elem_count* is not a multiple of 8, the remaining bits of the last "
        "byte become 0 (unknown, default chosen); on MLU2xx the sources are multiples of 512 bytes."
    )
    return intrinsic(
        spelling,
        writes={"dst": "(elem_count + 7) // 8"},
        reads={"src0": "elem_count", "src1": "elem_count"},
        dtypes={"dst": (uint8,), "src0": NUMBERS, "src1": NUMBERS},
        dtypes_2xx=(*FLOATS, uint8),
        same=("src0", "src1"),
        void={"dst": "uint8"},
        flow=Flow.MIXING,
        native=("bits", ufunc),
        aligned=("src0", "src1"),
        rules=(
            demand(
                "elem_count * sizeof(src0) % 512",
                "{elem_count} elements are not multiples of 512 bytes",
                "multiples of 512 bytes on MLU2xx",
                (2,),
            ),
        ),
        source=COMPARISONS,
    )(body)


bang_eq_bitindex = _compare_bits("__bang_eq_bitindex", np.equal, "src0[i] == src1[i]")
bang_ne_bitindex = _compare_bits("__bang_ne_bitindex", np.not_equal, "src0[i] != src1[i]")
bang_lt_bitindex = _compare_bits("__bang_lt_bitindex", np.less, "src0[i] < src1[i]")
bang_le_bitindex = _compare_bits("__bang_le_bitindex", np.less_equal, "src0[i] <= src1[i]")
bang_gt_bitindex = _compare_bits("__bang_gt_bitindex", np.greater, "src0[i] > src1[i]")
bang_ge_bitindex = _compare_bits("__bang_ge_bitindex", np.greater_equal, "src0[i] >= src1[i]")


def _scalar(spelling: str, ufunc: Callable[..., Any], doc: str) -> Intrinsic:
    return with_scalar(spelling, ufunc, doc, NUMBERS, since=322, certainty="I", source=SOURCE)


_PLAIN: dict[str, Any] = {"dtypes": NUMBERS, "dtypes_2xx": FLOATS, "source": SOURCE}
bang_and = binary(
    "__bang_and", np.logical_and, "Logical and: ``dst[i] = src0[i] && src1[i]``, 1 or 0.", **_PLAIN
)
bang_or = binary("__bang_or", np.logical_or, "Logical or: ``dst[i] = src0[i] || src1[i]``, 1 or 0.", **_PLAIN)
bang_xor = binary(
    "__bang_xor", np.logical_xor, "Logical exclusive or: ``dst[i] = !src0[i] != !src1[i]``, 1 or 0.", **_PLAIN
)
bang_not = unary("__bang_not", np.logical_not, "Logical not: ``dst[i] = !src[i]``, 1 or 0.", **_PLAIN)
bang_and_scalar = _scalar(
    "__bang_and_scalar", np.logical_and, "Logical and with a scalar: ``dst[i] = src[i] && value``, 1 or 0."
)
bang_or_scalar = _scalar(
    "__bang_or_scalar", np.logical_or, "Logical or with a scalar: ``dst[i] = src[i] || value``, 1 or 0."
)
bang_xor_scalar = _scalar(
    "__bang_xor_scalar",
    np.logical_xor,
    "Logical exclusive or with a scalar: ``dst[i] = !src[i] != !value``, 1 or 0.",
)


def _bits(spelling: str, ufunc: Callable[..., Any], formula: str) -> Intrinsic:
    """``(dst, src0, src1, elem_count)`` on the bits of both."""

    def body(dst: Tile, src0: Tile, src1: Tile, elem_count: int) -> None:
        if dst.dtype.kind in "iu":
            ufunc(src0, src1, out=dst)
        else:
            word = f"u{dst.itemsize}"
            # NumPy has no bitwise operation for floats.
            ufunc(src0.view(word), src1.view(word), out=dst.view(word))

    body.__doc__ = f"Bitwise {formula}; floats by their bits (inferred)."
    return intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        reads={"src0": "elem_count", "src1": "elem_count"},
        dtypes=NUMBERS,
        dtypes_2xx=BYTES,
        native=("bitwise", ufunc),
        source=SOURCE,
    )(body)


bang_band = _bits("__bang_band", np.bitwise_and, "and: ``dst[i] = src0[i] & src1[i]``")
bang_bor = _bits("__bang_bor", np.bitwise_or, "or: ``dst[i] = src0[i] | src1[i]``")
bang_bxor = _bits("__bang_bxor", np.bitwise_xor, "exclusive or: ``dst[i] = src0[i] ^ src1[i]``")
bang_bnot = unary(
    "__bang_bnot", np.invert, "Bitwise not: ``dst[i] = ~src[i]``.", INTS, dtypes_2xx=BYTES, source=SOURCE
)


@intrinsic(
    "__bang_band_scalar",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count"},
    dtypes=NUMBERS,
    since=322,
    source=SOURCE,
    native=("mask",),
)
def bang_band_scalar(dst: Tile, src: Tile, value: Value, elem_count: int) -> None:
    """Bitwise and with a scalar: ``dst[i] = src[i] & value``; floats by the bits of both."""
    word = np.dtype(f"u{dst.itemsize}")
    # A mask of all ones keeps the number; 0 gives +0, even for a NaN.
    np.bitwise_and(src.view(word), value.view(word), out=dst.view(word))


@intrinsic(
    "__bang_bxor_scalar",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count"},
    dtypes=INTS,
    since=322,
    certainty="I",
    source="public kernels for MLU370",
    native="for (int64_t i = 0; i < elem_count; i++) dst[i] = src[i] ^ value;",
)
def bang_bxor_scalar(dst: Tile, src: Tile, value: Value, elem_count: int) -> None:
    """Bitwise exclusive or with a scalar: ``dst[i] = src[i] ^ value``."""
    np.bitwise_xor(src, value, out=dst)


@intrinsic(
    "__bang_srl",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count"},
    dtypes=(uint32,),
    rules=(between("shift", 0, 31),),
    since=322,
    certainty="I",
    source=SOURCE,
    native="for (int64_t i = 0; i < elem_count; i++) dst[i] = src[i] >> shift;",
)
def bang_srl(dst: Tile, src: Tile, shift: int, elem_count: int) -> None:
    """Shift right, filling with zeros: ``dst[i] = src[i] >> shift``."""
    np.right_shift(src, np.uint32(shift), out=dst)
