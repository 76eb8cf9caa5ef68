"""The regular families: factories of rows with one NumPy function and one line of documentation each, and functions that NumPy lacks.

A row made here has a NumPy ufunc as its body, which the door calls without a frame in between.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import evolve

from mlusim.arch.dtypes import DType
from mlusim.isa.declare import FLOATS, CallStyle, Intrinsic, Tile, Value, intrinsic

# NumPy casts their bools piece by piece into out=: 64 floats take 1.7 us, and 1.1 us as an assignment.
PREDICATES = (
    np.equal,
    np.not_equal,
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
    np.logical_and,
    np.logical_or,
    np.logical_xor,
    np.logical_not,
)


def _finish(row: Intrinsic, body: Callable[..., Any], doc: str) -> Intrinsic:
    """Make *body*, a ufunc, the body of *row*, called the cheapest way that NumPy allows.

    The truth value of a predicate is assigned, and so becomes 1 or 0 of the destination's type.
    """
    call = CallStyle.ASSIGN if body in PREDICATES else CallStyle.INTO
    return evolve(row, body=body, doc=doc, call=call)


def binary(
    spelling: str,
    ufunc: Callable[..., Any],
    doc: str,
    dtypes: tuple[DType, ...] = FLOATS,
    **properties: Any,
) -> Intrinsic:
    """Declare a row of ``(dst, src0, src1, elem_count)``."""

    def shape(dst: Tile, src0: Tile, src1: Tile, elem_count: int) -> None:
        """Give the parameters their names and kinds."""

    row = intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        reads={"src0": "elem_count", "src1": "elem_count"},
        dtypes=dtypes,
        **_with_source(properties, "vendor declaration header, arithmetic"),
    )(shape)  # read for its parameters; the ufunc takes the place of its body
    return _finish(row, ufunc, doc)


def unary(
    spelling: str,
    ufunc: Callable[..., Any],
    doc: str,
    dtypes: tuple[DType, ...] = FLOATS,
    **properties: Any,
) -> Intrinsic:
    """Declare a row of ``(dst, src, elem_count)``."""

    def shape(dst: Tile, src: Tile, elem_count: int) -> None:
        """Give the parameters their names and kinds."""

    row = intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        reads={"src": "elem_count"},
        dtypes=dtypes,
        **_with_source(properties, "vendor declaration header, arithmetic"),
    )(shape)
    return _finish(row, ufunc, doc)


def with_scalar(
    spelling: str,
    ufunc: Callable[..., Any],
    doc: str,
    dtypes: tuple[DType, ...] = FLOATS,
    **properties: Any,
) -> Intrinsic:
    """Declare a row of ``(dst, src, value, elem_count)``; *value* is converted to the element type, as C does."""

    def shape(dst: Tile, src: Tile, value: Value, elem_count: int) -> None:
        """Give the parameters their names and kinds."""

    row = intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        reads={"src": "elem_count"},
        dtypes=dtypes,
        **_with_source(properties, "vendor declaration header, arithmetic"),
    )(shape)
    return _finish(row, ufunc, doc)


def _with_source(properties: dict[str, Any], source: str) -> dict[str, Any]:
    return {"source": source} | properties  # what a row says of itself counts


# -- maximum and minimum, of -0 and +0 too, wherever they run ------------------------------------------

# NumPy leaves the sign of a zero to the vector unit, so that it differs between processors, element types and the
# places of one array.  Here -0 is below +0, as IEEE 754-2019 has it; that the device does so is inferred.
# Of a signalling NaN and a float the vector unit takes the float, the C library the NaN, which NumPy asks about the last
# elements of an array, and on aarch64 about all.  Here a NaN of any kind loses, as of halves and bfloat16.

ZEROS = "-0 is below +0 (inferred)."
"""What the pages of these rows say."""
_SINGLE = np.dtype(np.float32)
_QUIET = np.uint32(1 << 22)


def _quiet(numbers: Any) -> Any:
    """*numbers*, floats, with the bit set in each NaN that makes it a quiet one."""
    bits = np.asarray(numbers, _SINGLE).view(np.uint32)
    return np.where(np.isnan(numbers), bits | _QUIET, bits).view(_SINGLE)


def _extreme(choose: np.ufunc, ties: np.ufunc, doc: str) -> Callable[..., Any]:
    """*choose* with the sign of zeros by *ties*, which joins the bits of equal numbers; *fmax* and *fmin* say that NaN loses."""
    loses = choose in (np.fmax, np.fmin)

    def extreme(a: Any, b: Any, out: Any = None) -> Any:
        if loses and getattr(a, "dtype", None) == _SINGLE and np.count_nonzero(np.isnan(np.maximum(a, b))):
            a, b = _quiet(a), _quiet(b)
        equal = np.equal(a, b)
        # Equal integers have the same bits.
        if not np.count_nonzero(equal) or np.result_type(a, b).kind in "iu":
            return choose(a, b, out=out)
        dtype = np.result_type(a, b)
        word = np.dtype(f"u{dtype.itemsize}")
        # Equal floats differ in their bits only as +0 and -0: `and` gives -0 of two, `or` of one.
        joined = ties(np.asarray(a, dtype).view(word), np.asarray(b, dtype).view(word))
        made = np.asarray(choose(a, b, out=out))
        np.copyto(made.view(word), joined, where=equal)
        return made if made.ndim else made[()]

    extreme.__doc__ = doc
    return extreme


maximum = _extreme(np.fmax, np.bitwise_and, "The larger number; a NaN loses against a number.")
minimum = _extreme(np.fmin, np.bitwise_or, "The smaller number; a NaN loses against a number.")
nan_maximum = _extreme(np.maximum, np.bitwise_and, "The larger number, or NaN where either is.")
nan_minimum = _extreme(np.minimum, np.bitwise_or, "The smaller number, or NaN where either is.")
EXTREMES = (maximum, minimum, nan_maximum, nan_minimum)
