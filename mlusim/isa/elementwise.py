"""Row factories for the regular families: one NumPy function, one line of documentation each.

A row made here has a NumPy ufunc as its body: called as ``ufunc(sources..., destination)``.
"""

from collections.abc import Callable
from typing import Any

from attrs import evolve

from mlusim.arch.dtypes import DType
from mlusim.isa.declare import FLOATS, Intrinsic, Tile, Value, intrinsic


def _finish(row: Intrinsic, body: Callable[..., Any], doc: str) -> Intrinsic:
    return evolve(row, body=body, doc=doc, ufunc=True)


def binary(
    spelling: str,
    ufunc: Callable[..., Any],
    doc: str,
    dtypes: tuple[DType, ...] = FLOATS,
    **properties: Any,
) -> Intrinsic:
    """``(dst, src0, src1, elem_count)``."""

    def shape(dst: Tile, src0: Tile, src1: Tile, elem_count: int) -> None:
        """Give the parameters their names and kinds."""

    row = intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        reads={"src0": "elem_count", "src1": "elem_count"},
        dtypes=dtypes,
        **_with_source(properties, "bangc 5.3"),
    )(shape)
    return _finish(row, ufunc, doc)


def unary(
    spelling: str,
    ufunc: Callable[..., Any],
    doc: str,
    dtypes: tuple[DType, ...] = FLOATS,
    **properties: Any,
) -> Intrinsic:
    """``(dst, src, elem_count)``."""

    def shape(dst: Tile, src: Tile, elem_count: int) -> None:
        """Give the parameters their names and kinds."""

    row = intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        reads={"src": "elem_count"},
        dtypes=dtypes,
        **_with_source(properties, "bangc 5.3"),
    )(shape)
    return _finish(row, ufunc, doc)


def with_scalar(
    spelling: str,
    ufunc: Callable[..., Any],
    doc: str,
    dtypes: tuple[DType, ...] = FLOATS,
    **properties: Any,
) -> Intrinsic:
    """``(dst, src, value, elem_count)``; *value* is converted to the element type, as C does."""

    def shape(dst: Tile, src: Tile, value: Value, elem_count: int) -> None:
        """Give the parameters their names and kinds."""

    row = intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        reads={"src": "elem_count"},
        dtypes=dtypes,
        **_with_source(properties, "bangc 5.3"),
    )(shape)
    return _finish(row, ufunc, doc)


def _with_source(properties: dict[str, Any], source: str) -> dict[str, Any]:
    return {"source": source} | properties


