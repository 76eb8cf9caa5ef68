"""Instructions of inline assembly that occur in vendor kernels; each is a row that is called with its operands.

All of these are inferred from how the kernels use them; `assembly_calls` parses the text of a statement. A
fused instruction applies up to five operations to each lane, one after the other, each rounded to the element
type; ``bang::experimental::fusor`` is the same in C++.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from attrs import frozen

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import DType, float32, half, int16, int32, uint16, uint32
from mlusim.errors import UsageError
from mlusim.isa.declare import Flow, FuseOp, Intrinsic, Refused, Tile, TileOrValue, Unsigned, Value, intrinsic
from mlusim.isa.extremes import ZEROS, maximum, minimum

MOST = 5  # operations of one fused instruction, one more than in any vendor kernel
_SINCE: dict[str, Any] = {
    "since": 372,
    "certainty": "I",
    "source": "vendor operator kernels, inline assembly",
}

Operation = Callable[[Any, Any], Any]

ARITHMETIC: Mapping[str, Operation] = {
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
OF_INTEGERS: Mapping[str, Operation] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
OF_FLOATS: Mapping[str, Operation] = {
    "div": np.divide,
    "sqrt": lambda x, _: np.sqrt(x),
    # In double: rounded once, as by one instruction.
    "rsqrt": lambda x, _: (1 / np.sqrt(x.astype(np.float64))).astype(x.dtype),
    "abs": lambda x, _: np.absolute(x),
}


def _operation(name: Any, dtype: np.dtype[Any], at: int) -> Operation:
    operations = {**ARITHMETIC, **(OF_INTEGERS if dtype.kind in "iu" else OF_FLOATS)}
    if name in operations:
        return operations[name]
    raise Refused(
        f"op{at} = {name!r} is not an operation on {dtype.name}",
        operand=f"op{at}",
        legal=", ".join(operations),
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
    parameters = [
        inspect.Parameter(name, kind, annotation=annotation) for name, annotation in annotations.items()
    ]
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
        + ", the last three ignoring their value.  Comparisons give 1 or 0.  "
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


# -- parsing the text of an assembly statement --------------------------------------------------------

# ``%[name]`` and ``%0`` stand for operands of the statement; brackets mean the memory at such a pointer. The
# suffix of a mnemonic is the element type to which a pointer operand is cast.

TYPES: Mapping[str, DType] = {
    "f32": float32,
    "f16": half,
    "s32": int32,
    "u32": uint32,
    "s16": int16,
    "u16": uint16,
}


@frozen
class Reference:
    """An operand of the statement: its name or number, and for memory the element type to which it is cast."""

    name: str
    dtype: DType | None = None
    memory: bool = False


Argument = Reference | int | float | str


@frozen
class AssemblyCall:
    """A call of the row called ``row``; ``result`` is the operand of the statement that receives the result."""

    row: str
    arguments: tuple[Argument, ...] = ()
    result: Reference | None = None


def assembly_calls(text: str) -> tuple[AssemblyCall, ...]:
    """Return the calls to which the instructions of *text* translate, in order.

    Raises `UsageError` for an unknown instruction or unexpected operands.
    """
    statements = (part.strip() for part in re.split(r"[;\n]", re.sub(r"//[^\n]*|/\*.*?\*/", "", text)))
    return tuple(_call(part) for part in _joined(statements))


def _joined(statements: Iterable[str]) -> list[str]:
    """Return the non-empty statements; a line that ends with a comma continues on the next line."""
    joined: list[str] = []
    for part in statements:
        if joined and joined[-1].endswith(","):
            joined[-1] += " " + part
        elif part:
            joined.append(part)
    return joined


def _call(text: str) -> AssemblyCall:
    mnemonic, _, rest = text.partition(" ")
    # The steps of `fuse` have operands in parentheses, which contain commas too.
    operands = [part.strip() for part in re.split(r",(?![^(]*\))", rest) if part.strip()]
    for instruction, read in INSTRUCTIONS.items():
        if mnemonic == instruction or mnemonic.startswith(f"{instruction}."):
            try:
                return read(mnemonic[len(instruction) :].lstrip("."), operands)  # the rest is the type
            # The readers below unpack operands without a check; if unpacking fails, the instruction has other
            # operands.
            except (KeyError, IndexError, ValueError):
                raise UsageError(
                    f"`{text}` has other operands or another type than the `{instruction}` that is known"
                ) from None
    raise UsageError(
        f"`{mnemonic}` is not an instruction of assembly that is known; these are: {', '.join(INSTRUCTIONS)}"
    )


def _argument(text: str, dtype: DType | None = None) -> Argument:
    """Parse one operand: a memory operand, a register or a number."""
    memory = re.fullmatch(r"\[\s*%\[?(\w+)\]?\s*\]", text)
    if memory:
        return Reference(memory[1], dtype, memory=True)
    register = re.fullmatch(r"%\[?(\w+)\]?", text)
    if register:
        return Reference(register[1])
    # 0xE is an integer although it contains an E.
    return float(text) if re.search(r"[.eE]", text) and not text.startswith("0x") else int(text, 0)


def _sync(suffix: str, operands: list[str]) -> AssemblyCall:
    if suffix or operands:
        raise ValueError(operands)
    return AssemblyCall("sync")


def _fused(suffix: str, operands: list[str]) -> AssemblyCall:
    dtype = TYPES[suffix]
    dst, count, src, *steps = operands
    chain: list[Argument] = []
    for step in steps:
        match = re.fullmatch(r"\.(\w+)\(\s*(.*?)\s*\)", step)
        if match is None:
            raise ValueError(step)
        name, value = match.groups()
        chain += [name, _argument(value, dtype) if value else 0]
    if not 1 <= len(steps) <= MOST:
        raise ValueError(steps)
    arguments = (_argument(dst, dtype), _argument(src, dtype), _argument(count), *chain)
    return AssemblyCall(f"mlisa_fuse_{len(steps)}", arguments)


def _div_scalar(suffix: str, operands: list[str]) -> AssemblyCall:
    dtype = TYPES[suffix]
    dst, src, value, count = operands
    return AssemblyCall(
        "mlisa_div_scalar", (_argument(dst, dtype), _argument(src, dtype), _argument(value), _argument(count))
    )


def _gather(suffix: str, operands: list[str]) -> AssemblyCall:
    if suffix != "nram.nram.nram.u32":
        raise ValueError(suffix)
    dst, src, offset, *counts = operands
    size, count, stride = counts
    arguments = (_argument(dst), _argument(src), _argument(offset, uint32))
    return AssemblyCall("mlisa_gather_vector", (*arguments, *map(_argument, (size, count, stride))))


def _index(suffix: str, operands: list[str]) -> AssemblyCall:
    dst, start, step = operands
    if suffix not in TYPES:
        raise ValueError(suffix)
    return AssemblyCall("vv_index", (_argument(dst), _argument(start), _argument(step)))


def _find_last(suffix: str, operands: list[str]) -> AssemblyCall:
    dst, value = operands
    target = _argument(dst)
    if suffix != "b32" or not isinstance(target, Reference):
        raise ValueError(suffix)
    return AssemblyCall("mlisa_findlast1", (_argument(value),), target)


INSTRUCTIONS: Mapping[str, Callable[[str, list[str]], AssemblyCall]] = {
    "sync": _sync,
    "fuse.nram": _fused,
    "div.scalar.nram": _div_scalar,
    "gather.vector": _gather,
    "index.vvr": _index,
    "findlast1.gpr": _find_last,
}
