"""Row factories for the regular families: one NumPy function, one line of documentation each.

A row made here has a NumPy ufunc as its body, which the door calls without a frame in between.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import evolve

from mlusim.arch.dtypes import DType
from mlusim.isa.declare import FLOATS, CallStyle, Intrinsic, intrinsic
from mlusim.isa.parameters import Tile, Value

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
