"""Copies between memories, and fills of a memory."""

from typing import Any

import numpy as np

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import DType, float32, half, int16, int32
from mlusim.isa.declare import ANY, Intrinsic, Tile, Value, between, intrinsic, multiple_of
from mlusim.memory.space import GDRAM, LDRAM, NRAM, SRAM, Direction, Space

# The third dimension of one side; in the header the parameters of dst come before those of src.
_SIDE = "int {0}_stride0, int {0}_segnum1, int {0}_stride1, int {0}_segnum2"
_SHAPES = ("", "int dst_stride, int src_stride, int segnum", f"{_SIDE.format('dst')}, {_SIDE.format('src')}")
_COPY_FORMS = {"shape": (*_SHAPES, *(f"{shape}, int cluster".lstrip(", ") for shape in _SHAPES))}


@intrinsic(
    "__memcpy",
    form="copy",
    c=_COPY_FORMS,
    pipe=Pipe.IO,
    memory_core=True,
    source="vendor declaration header, copies",
    aligned=False,
)
def memcpy(dst: Tile, src: Tile, size: int, direction: Direction, *shape: int) -> None:
    """Copy and wait: *size* bytes per segment from *src* to *dst*; sizes and strides are in bytes.

    1-D: ``(dst, src, size, direction)``. 2-D: ``(dst, src, size, direction, dst_stride, src_stride, segments
    - 1)``. 3-D: ``(dst, src, size, direction, dst_stride0, dst_segments1 - 1, dst_stride1, dst_segments2 - 1,
    src_stride0, src_segments1 - 1, src_stride1, src_segments2 - 1)``: the inner index runs over segments1
    with stride0, the outer one over segments2 with stride1. ``SRAM2SRAM`` takes the destination's cluster as
    one more argument. *dst* begins before *src*, exactly at *src*, or is apart from it; rows may also be
    packed in place if no byte is overwritten before it is read (inferred).
    """
    np.copyto(dst, src)


@intrinsic(
    "__memcpy_async",
    form="copy",
    c=_COPY_FORMS,
    pipe=Pipe.IO,
    memory_core=True,
    source="vendor declaration header, copies",
    aligned=False,
)
def memcpy_async(dst: Tile, src: Tile, size: int, direction: Direction, *shape: int) -> None:
    """Start a copy like ``__memcpy`` and continue; it is complete after the sync that waits for its pipe.

    ``__sync_io`` waits for copies with a side in GDRAM or LDRAM, ``__sync_move`` for the others,
    ``__sync`` and every barrier for all.  Copies of one pipe complete in order.
    """
    np.copyto(dst, src)


BOX = {"dst": (("stride1", "iter2"), ("stride0", "iter1"))}  # outermost first
_THREE_D = (
    "With four more arguments the *elem_count* elements are filled ``iter1 + 1`` times at distances of *stride0* "
    "bytes, and this whole pattern ``iter2 + 1`` times at distances of *stride1*."
)


def _fill(
    spelling: str, space: Space, pipe: Pipe, doc: str, *, memory_core: bool = False, aligned: bool = False
) -> Intrinsic:
    def body(
        dst: Tile,
        elem_count: int,
        value: Any,
        stride0: int | None = None,
        iter1: int | None = None,
        stride1: int | None = None,
        iter2: int | None = None,
    ) -> None:
        dst.fill(value)

    body.__doc__ = f"{doc}\n\n{_THREE_D}"
    return intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        dtypes=ANY,
        spaces={"dst": (space,)},
        strides=BOX,
        native="for (int64_t i = 0; i < elem_count; i++) dst[i] = value;",
        void={"dst": "value"},
        pipe=pipe,
        memory_core=memory_core,
        aligned=aligned,
        source="vendor declaration header, fills",
    )(body)


_WIDTH = "the width of an element is that of the type of the **value**, not of *dst*"
bang_write_value = _fill(
    "__bang_write_value", NRAM, Pipe.VECTOR, f"Fill NRAM: ``dst[i] = value``; {_WIDTH}.", aligned=True
)
nramset = _fill("__nramset", NRAM, Pipe.VECTOR, f"Fill NRAM: ``dst[i] = value``; {_WIDTH}.", aligned=True)
memset_nram = _fill(
    "__memset_nram", NRAM, Pipe.VECTOR, f"Fill NRAM: ``dst[i] = value``, any count on MLU2xx too; {_WIDTH}."
)
sramset = _fill("__sramset", SRAM, Pipe.MOVE, f"Fill SRAM: ``dst[i] = value``; {_WIDTH}.", memory_core=True)
gdramset = _fill("__gdramset", GDRAM, Pipe.IO, f"Fill GDRAM: ``dst[i] = value``; {_WIDTH}.", memory_core=True)
ldramset = _fill("__ldramset", LDRAM, Pipe.IO, f"Fill LDRAM: ``dst[i] = value``; {_WIDTH}.", memory_core=True)


def _typed_fill(spelling: str, dtype: DType) -> Intrinsic:
    def body(dst: Tile, elem_count: int, value: Value) -> None:
        dst.fill(value)

    body.__doc__ = f"Fill NRAM with numbers of one type: ``dst[i] = value``, both {dtype}; from course material for MLU270."
    return intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        dtypes=(dtype,),
        native="for (int64_t i = 0; i < elem_count; i++) dst[i] = value;",
        certainty="I",
        source="public kernels for MLU270",
    )(body)


nramset_half = _typed_fill("__nramset_half", half)
nramset_float = _typed_fill("__nramset_float", float32)
nramset_short = _typed_fill("__nramset_short", int16)
nramset_int = _typed_fill("__nramset_int", int32)


@intrinsic(
    "__bang_write_zero",
    writes={"dst": "elem_count"},
    dtypes=ANY,
    native="zero_(m, a_dst, elem_count * (int64_t)sizeof *dst);",
    source="vendor declaration header, fills",
)
def bang_write_zero(dst: Tile, elem_count: int) -> None:
    """Fill NRAM with zeros: ``dst[i] = 0``."""
    dst.fill(0)


@intrinsic(
    "__nramset_async",
    writes={"dst": "elem_count"},
    dtypes=ANY,
    strides={"dst": (("stride", "segnum"),)},
    void={"dst": "value"},
    pipe=Pipe.MOVE,
    form="async",
    since=322,
    aligned=False,
    certainty="I",
    source="vendor declaration header, fills",
)
def nramset_async(dst: Tile, elem_count: int, value: Any, stride: int, segnum: int) -> None:
    """Start to fill NRAM: *elem_count* elements, ``segnum + 1`` times at distances of *stride* bytes.

    ``dst[i] = value``; the type of **value** is the element type. It is complete after a sync that waits for
    the move-DMA (inferred).
    """
    dst.fill(value)


@intrinsic(
    "__bang_move",
    writes={"dst": "size"},
    reads={"src": "size"},
    dtypes=ANY,
    void={"dst": "uint8", "src": "uint8"},
    strides={"dst": (("dst_stride", "segnum"),), "src": (("src_stride", "segnum"),)},
    certainty="I",
    source="vendor kernels, copies",
    native="memmove(dst, src, (size_t)size);",  # in place, memcpy is undefined
)
def bang_move(
    dst: Tile,
    src: Tile,
    size: int,
    dst_stride: int | None = None,
    src_stride: int | None = None,
    segnum: int | None = None,
) -> None:
    """Copy *size* bytes inside NRAM in the compute stream: ``dst.byte[i] = src.byte[i]``, in order with vectors.

    With strides in bytes, ``segnum + 1`` pieces. *dst* may be exactly *src*, which has no effect.
    """
    dst[...] = src


@intrinsic(
    "__memcpy_nram_to_nram",
    writes={"dst": "size"},
    reads={"src": "size"},
    dtypes=ANY,
    void={"dst": "uint8", "src": "uint8"},
    strides={"dst": (("dst_stride", "segnum - 1"),), "src": (("src_stride", "segnum - 1"),)},
    form="strided",
    in_place=False,
    rules=(
        multiple_of("size", 128),
        between("segnum", 1, 4096),
        multiple_of("dst_stride", 64),
        multiple_of("src_stride", 64),
    ),
    native=(
        "for (int64_t k = 0; k < segnum; k++) memcpy(dst + k * dst_stride, src + k * src_stride, (size_t)size);"
    ),
    aligned=False,
    source="vendor declaration header, copies",
)
def memcpy_nram_to_nram(
    dst: Tile, src: Tile, size: int, dst_stride: int, src_stride: int, segnum: int
) -> None:
    """Copy inside NRAM in the compute stream: ``dst.byte[k * dst_stride + i] = src.byte[k * src_stride + i]``, k < *segnum*.

    Here *segnum* is **the number of pieces**, not the number minus one. An older form of ``__memcpy`` with
    strides.
    """
    dst[...] = src


@intrinsic(
    "__bang_incseq",
    writes={"dst": "elem_count"},
    dtypes=(int32,),
    since=593,
    certainty="I",
    source="vendor kernels, index generators",
    native="for (int64_t i = 0; i < elem_count; i++) dst[i] = (int32_t)i;",
)
def bang_incseq(dst: Tile, elem_count: int) -> None:
    """Count up: ``dst[i] = i``; on architectures above 592 only, of which the catalogue has no board."""
    dst[...] = np.arange(elem_count)
