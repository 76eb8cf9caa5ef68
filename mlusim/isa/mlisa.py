"""Instructions of inline assembly: those that vendor kernels write as text, each with its operands as a call.

All of these are inferred from how the kernels use them; `isa.assembly` reads the text of a statement.  A fused
instruction applies up to five operations to each lane, one after the other, each rounded to the element type;
``bang::experimental::fusor`` is the same in C++.
"""

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import float32, half, int16, int32, uint16, uint32
from mlusim.isa.declare import Flow, Intrinsic, Refused, intrinsic
from mlusim.isa.extremes import ZEROS, maximum, minimum
from mlusim.isa.parameters import FuseOp, Tile, TileOrValue, Unsigned, Value

MOST = 5  # operations of one fused instruction, as many as any kernel has and one more
_SINCE: dict[str, Any] = {
    "since": 372,
    "certainty": "I",
    "source": "vendor operator kernels, inline assembly",
}

Operation = Callable[[Any, Any], Any]

ARITHMETIC: Mapping[str, Operation] = MappingProxyType(
    {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "max": maximum,
        "min": minimum,
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    }
)
OF_INTEGERS: Mapping[str, Operation] = MappingProxyType(
    {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
)
OF_FLOATS: Mapping[str, Operation] = MappingProxyType(
    {
        "div": np.divide,
        "sqrt": lambda x, _: np.sqrt(x),
        # In double: rounded once, as of one instruction.
        "rsqrt": lambda x, _: (1 / np.sqrt(x.astype(np.float64))).astype(x.dtype),
        "abs": lambda x, _: np.absolute(x),
    }
)


def _operation(name: Any, dtype: np.dtype[Any], at: int) -> Operation:
    known = {**ARITHMETIC, **(OF_INTEGERS if dtype.kind in "iu" else OF_FLOATS)}
    if name in known:
        return known[name]
    raise Refused(
        f"op{at} = {name!r} is no operation on {dtype.name}", operand=f"op{at}", legal=", ".join(known)
    )


def _fuse(steps: int) -> Intrinsic:
    """``(dst, src, elem_count, op0, value0, ...)`` with *steps* operations."""

    def body(dst: Tile, src: Tile, elem_count: int, *chain: Any) -> None:
        lanes = src
        for at, (name, value) in enumerate(zip(chain[::2], chain[1::2], strict=True)):
            lanes = np.asarray(_operation(name, dst.dtype, at)(lanes, value)).astype(dst.dtype, copy=False)
        dst[...] = lanes

    annotations = {"dst": Tile, "src": Tile, "elem_count": int}
    for n in range(steps):
        annotations |= {f"op{n}": FuseOp, f"value{n}": TileOrValue}
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind, annotation=given) for name, given in annotations.items()]
    # The chain is *args; a row's parameters have names and kinds, which are read from the signature.
    body.__signature__ = inspect.Signature(parameters, return_annotation=None)  # type: ignore[attr-defined]
    chain = "".join(f".op{n}(value{n})" for n in range(steps))
    body.__doc__ = (
        f"Apply {steps} operation{'s' * (steps > 1)} to each lane: ``dst[i] = src[i]{chain}``, each value a vector or a "
        "scalar.\n\n"
        f"``fuse.nram.TYPE [dst], elem_count, [src], {', '.join(f'.op{n}(value{n})' for n in range(steps))}``.  The "
        "operations by name: "
        + ", ".join(ARITHMETIC)
        + "; of integers "
        + ", ".join(OF_INTEGERS)
        + "; of floats "
        + ", ".join(OF_FLOATS)
        + ", the last three without looking at their value.  Comparisons give 1 or 0.  "
        f"For max and min {ZEROS}"
    )
    vectors = {f"value{n}": "elem_count" for n in range(steps)}
    return intrinsic(
        f"__mlisa_fuse_{steps}",
        writes={"dst": "elem_count"},
        reads={"src": "elem_count"} | vectors,
        dtypes=(float32, half, int16, int32, uint16, uint32),
        **_SINCE,
    )(body)


mlisa_fuse_1 = _fuse(1)
mlisa_fuse_2 = _fuse(2)
mlisa_fuse_3 = _fuse(3)
mlisa_fuse_4 = _fuse(4)
mlisa_fuse_5 = _fuse(5)


@intrinsic(
    "__mlisa_div_scalar",
    writes={"dst": "elem_count"},
    reads={"src": "elem_count"},
    dtypes=(half, float32),
    native=("map", "a / b"),
    **_SINCE,
)
def mlisa_div_scalar(dst: Tile, src: Tile, value: Value, elem_count: int) -> None:
    """Divide by a scalar: ``dst[i] = src[i] / value``, rounded once.

    ``div.scalar.nram.f16`` or ``.f32 [dst], [src], value, elem_count``; mtp_372 has it too, where there is no
    ``__bang_div``.
    """
    np.divide(src, value, out=dst)


@intrinsic(
    "__mlisa_findlast1",
    pipe=Pipe.SCALAR,
    flow=Flow.MIXING,
    memory_core=True,
    c={"value": "unsigned int"},
    native="uint32_t x_ = (uint32_t)value; result = x_ ? 31 - __builtin_clz(x_) : 0xffffffffll;",
    **_SINCE,
)
def mlisa_findlast1(value: Any) -> Unsigned:
    """Find the highest bit that is set: returns ``floor(log2(value))``, or 0xffffffff for 0.

    ``findlast1.gpr.b32 result, value``.
    """
    try:
        bits = int(value) & 0xFFFF_FFFF
    except (TypeError, ValueError, OverflowError):
        raise Refused(f"value is {value!r:.80}", operand="value", legal="an integer of 32 bits") from None
    return bits.bit_length() - 1 if bits else 0xFFFF_FFFF
