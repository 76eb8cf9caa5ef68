"""Comparisons: the result is 1 or 0 in the sources' type for every element, or one bit per element.

A comparison with NaN is false, except "not equal", which is true.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlusim.arch.dtypes import uint8
from mlusim.isa.declare import (
    FLOATS,
    NUMBERS,
    Flow,
    Intrinsic,
    Tile,
    alias,
    binary,
    demand,
    intrinsic,
    with_scalar,
)

SOURCE = "vendor declaration header, comparisons"


def _compare(spelling: str, ufunc: Callable[..., Any], word: str, sign: str) -> Intrinsic:
    doc = f"{word}: ``dst[i] = src0[i] {sign} src1[i]``, 1 or 0."
    return binary(spelling, ufunc, doc, NUMBERS, dtypes_2xx=FLOATS, source=SOURCE)


def _compare_scalar(
    spelling: str, ufunc: Callable[..., Any], word: str, sign: str, **properties: Any
) -> Intrinsic:
    doc = f"{word} a scalar: ``dst[i] = src[i] {sign} value``, 1 or 0."
    return with_scalar(spelling, ufunc, doc, NUMBERS, source=SOURCE, **properties)


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


def _bits(spelling: str, ufunc: Callable[..., Any], formula: str) -> Intrinsic:
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
        source=SOURCE,
    )(body)


bang_eq_bitindex = _bits("__bang_eq_bitindex", np.equal, "src0[i] == src1[i]")
bang_ne_bitindex = _bits("__bang_ne_bitindex", np.not_equal, "src0[i] != src1[i]")
bang_lt_bitindex = _bits("__bang_lt_bitindex", np.less, "src0[i] < src1[i]")
bang_le_bitindex = _bits("__bang_le_bitindex", np.less_equal, "src0[i] <= src1[i]")
bang_gt_bitindex = _bits("__bang_gt_bitindex", np.greater, "src0[i] > src1[i]")
bang_ge_bitindex = _bits("__bang_ge_bitindex", np.greater_equal, "src0[i] >= src1[i]")
