"""Lowers constants, indices and shape operations: views that cost nothing, and moves of elements."""

import math
import re
import struct

from attrs import evolve

from mlusim.triton import ttir
from mlusim.triton.lowering import SCALAR_UNIT, KernelLowering, Lowered, Operations, c_type, result_of
from mlusim.triton.ttir import TtirOperation, count, shape_and_element
from mlusim.triton.values import (
    BYTES,
    Mask,
    Ramp,
    ScalarValue,
    Tensor,
    Tile,
    Uniform,
    Value,
    broadcast,
    element,
    reshaped,
    with_axis,
)


def constant(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``arith.constant``: a scalar, or a uniform tensor."""
    kind, text = op.types[-1] if op.types else "i1", op.attributes.strip()
    text = re.sub(r"^\{[^}]*\}\s*", "", text)
    if not ttir.is_tensor(kind):
        return ScalarValue(number(text, kind), c_type(kind))
    shape, element_type = shape_and_element(kind)
    inside = text[text.index("<") + 1 : text.rindex(">")]
    # Triton creates such constants only for inlined library code, which no known kernel needs.
    if "[" in inside or '"' in inside:
        raise low.refuse("a tensor of several constants has no form in BANG C here")
    if element_type == "i1":
        return Mask.whole(shape, "1" if inside == "true" else "0")
    return Uniform(number(inside, element_type), c_type(element_type), shape)


_BITS = {"f16": ("<e", "<H"), "f32": ("<f", "<I")}


def number(text: str, element_type: str) -> str:
    """Return a TTIR constant in C."""
    if text in ("true", "false"):
        return "1" if text == "true" else "0"
    if not element_type.startswith(("f", "bf")):
        return f"({text})" if text.startswith("-") else text
    if text.startswith("0x"):
        bits = int(text, 16)
        if element_type == "bf16":
            element_type, bits = "f32", bits << 16
        to, of = _BITS[element_type]
        value = struct.unpack(to, struct.pack(of, bits))[0]
    else:
        # MLIR writes a number in decimal if that is exact, else as bits.
        value = float(text)
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    return f"{value!r}f" if value >= 0 else f"({value!r}f)"


def program_id(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.get_program_id``: a program is a task."""
    return ScalarValue("taskId" + op.attributes.split()[0].upper(), "int")


def programs(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.get_num_programs``: the number of tasks along an axis."""
    return ScalarValue("taskDim" + op.attributes.split()[0].upper(), "int")


def indices(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.make_range`` to a formula of the index."""
    shape, kind = result_of(op)
    return Ramp(str(op.number("start")), ("1",), shape, kind)


def splat(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.splat``: a uniform tensor, which needs no storage."""
    (value,) = low.operands(op)
    shape, element_type = shape_and_element(op.types[-1])
    assert isinstance(value, ScalarValue)
    if element_type.startswith("!tt.ptr"):
        return Ramp("0", ("0",) * len(shape), shape, value.type, value.c)
    return Mask.whole(shape, value.c) if element_type == "i1" else Uniform(value.c, value.type, shape)


def expand(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.expand_dims``: add an axis of one element."""
    (value,) = low.operands(op)
    assert not isinstance(value, ScalarValue)
    axis = op.number("axis")
    return with_axis(value, axis, (*value.shape[:axis], 1, *value.shape[axis:]))


def widen(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.broadcast``: the stored elements stay the same."""
    (value,) = low.operands(op)
    assert not isinstance(value, ScalarValue)
    return broadcast(value, shape_and_element(op.types[-1])[0])


def reshape(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.reshape``: rows are contiguous, so it is another view of a block."""
    (value,) = low.operands(op)
    assert not isinstance(value, ScalarValue)
    shape = shape_and_element(op.types[-1])[0]
    seen = reshaped(value, shape)
    if seen is not None:
        return seen
    if isinstance(value, Ramp) and len(value.shape) == 1 and shape.count(1) == len(shape) - 1:
        axis = max(range(len(shape)), key=lambda d: shape[d])
        widened: Tensor = value
        for d in range(len(shape)):
            if d != axis:
                widened = with_axis(widened, d, (*widened.shape[:d], 1, *widened.shape[d:]))
        return widened
    if isinstance(value, Ramp) and value.pointer:
        raise low.refuse("a reshape of pointers has no form in BANG C here; reshape what they load")
    return evolve(low.whole(value, value.shape), shape=shape, held=shape)


def transpose(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.trans``: formulas are transposed at no cost, two axes of a block by an instruction."""
    (value,) = low.operands(op)
    assert not isinstance(value, ScalarValue)
    # Older versions of Triton omit the order for two axes.
    listed = op.word(r"order = array<i32: ([\d, ]+)>")
    order = [int(word) for word in listed.split(",")] if listed else [*range(len(value.shape))][::-1]
    shape = tuple(value.shape[d] for d in order)

    if isinstance(value, Uniform):
        return evolve(value, shape=shape)
    if isinstance(value, Ramp) and not value.terms:
        return value.turned(order)
    if isinstance(value, Mask) and not value.tests:
        return value.turned(order)
    block = low.whole(value, value.shape)
    out = low.text.block(block.type, shape, "trans", word=op.results[0], logic=block.logic)
    # Axes of one element can be permuted without moving data.
    moved = [d for d in order if value.shape[d] > 1]
    if moved == sorted(moved):
        return evolve(block, shape=shape, held=shape)
    if len(moved) == 2:
        high, wide = (value.shape[d] for d in sorted(moved))
        low.text.line(f"__bang_transpose({out.name}, {block.name}, {high}, {wide});", out.name)
        return out
    low.text.remark(SCALAR_UNIT)
    low.loop(out, lambda at: element(block, [at[order.index(d)] for d in range(len(order))]))
    return out


def join(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.join`` and ``tt.cat``: two tensors side by side along a new last axis, or concatenated."""
    a, b = low.operands(op)
    shape, kind = result_of(op)
    assert not isinstance(a, ScalarValue)
    assert not isinstance(b, ScalarValue)
    first, second = (low.whole(v, v.shape) for v in (a, b))
    out = low.text.block(kind, shape, op.name, word=op.results[0])
    n, size = count(first.shape), BYTES[kind]
    if op.name == "tt.cat":
        low.text.line(f"__bang_move({out.name}, {first.name}, {n * size});")
        low.text.line(f"__bang_move({out.name} + {n}, {second.name}, {n * size});")
        return out
    # The elements are interleaved: a move of single-element pieces with gaps in the destination.
    for k, block in enumerate((first, second)):
        low.text.line(f"__bang_move({out.name} + {k}, {block.name}, {size}, {2 * size}, {size}, {n - 1});")
    return out


def split(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.split``: the two halves of the last axis."""
    (value,) = low.operands(op)
    assert not isinstance(value, ScalarValue)
    block = low.whole(value, value.shape)
    shape, kind = value.shape[:-1], block.type
    parts = []
    for k, word in enumerate(op.results):
        out = low.text.block(kind, shape, op.name, word=word)
        size = BYTES[kind]
        low.text.line(
            f"__bang_move({out.name}, {block.name} + {k}, {size}, {size}, {2 * size}, {count(shape) - 1});",
            out.name,
        )
        parts.append(out)
    return parts


def unsplat(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.unsplat``: the only element of a tensor."""
    (value,) = low.operands(op)
    assert not isinstance(value, ScalarValue)
    return scalar_of(low, value, op.results[0])


def scalar_of(low: KernelLowering, value: Value, word: str) -> ScalarValue:
    """Return the only element of a tensor as a scalar."""
    if isinstance(value, ScalarValue):
        return value
    kind = value.type if isinstance(value, Tile | Uniform | Ramp) else "int"
    return low.number(element(value, ["0"] * len(value.shape)), kind, word)


def nothing(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower an operation that is only a hint for the compiler: no code is produced."""
    return None


def gather(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.gather``: select elements of a block along an axis by a block of indices."""
    source, index = low.operands(op)
    shape, _ = shape_and_element(op.types[-1])
    assert not isinstance(source, ScalarValue)
    if isinstance(source, Uniform):
        return evolve(source, shape=shape)
    axis, block = op.number("axis"), low.whole(source, source.shape)
    out = low.text.block(block.type, shape, "gather", word=op.results[0], logic=block.logic)
    if _is_run(index, axis):
        _move_run(low, out, block, axis, index)
        return out
    low.text.remark(SCALAR_UNIT)
    low.loop(
        out,
        lambda at: element(block, [element(index, at) if d == axis else at[d] for d in range(len(shape))]),
    )
    return out


def histogram(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.histogram``: count each number in a block; numbers beyond the bins are ignored."""
    value, *masks = low.operands(op)
    assert not isinstance(value, ScalarValue)
    shape, kind = result_of(op)
    low.text.remark(SCALAR_UNIT)
    out = low.text.block(kind, shape, "histogram", word=op.results[0])
    low.fill(out, "0")
    index = low.text.name("i")
    number = element(value, [index])
    inside = [f"{number} >= 0", f"{number} < {count(shape)}", *(element(mask, [index]) for mask in masks)]
    head = f"for (int {index} = 0; {index} < {count(value.shape)}; ++{index}) if ({' && '.join(inside)})"
    low.text.line(f"{head} {out.name}[{number}] += 1;")
    return out


def _is_run(index: Value, axis: int) -> bool:
    """Return whether *index* counts up along *axis* and is constant along the other axes."""
    if isinstance(index, Uniform):
        return index.shape[axis] == 1
    if not isinstance(index, Ramp) or index.terms:
        return False
    return all(stride == str(int(d == axis)) or index.shape[d] == 1 for d, stride in enumerate(index.strides))


def _move_run(low: KernelLowering, out: Tile, block: Tile, axis: int, index: Value) -> None:
    """Move the elements from an offset along *axis* on; for a constant offset, elements outside *block* are not written."""
    start = element(index, ["0"] * len(out.shape))
    literal = re.fullmatch(r"\(*(-?\d+)\)*", start)
    first = int(literal[1]) if literal else 0
    inner, size = count(out.shape[axis + 1 :]), BYTES[block.type]
    low_end, high_end = max(0, -first), min(out.shape[axis], block.shape[axis] - first)
    at = str(first + low_end) if literal else start
    to, of = (f"{b.name} + {n} * {inner}" for b, n in ((out, low_end), (block, at)))
    piece, pieces = (high_end - low_end) * inner * size, count(out.shape[:axis])
    steps = (out.shape[axis] * inner * size, block.shape[axis] * inner * size)
    more = f", {steps[0]}, {steps[1]}, {pieces - 1}" if pieces > 1 else ""
    low.text.line(f"__bang_move({to}, {of}, {piece}{more});", out.name)


OPERATIONS: Operations = {
    "tt.histogram": histogram,
    "arith.constant": constant,
    "tt.get_program_id": program_id,
    "tt.get_num_programs": programs,
    "tt.make_range": indices,
    "tt.splat": splat,
    "tt.expand_dims": expand,
    "tt.broadcast": widen,
    "tt.reshape": reshape,
    "tt.trans": transpose,
    "tt.join": join,
    "tt.cat": join,
    "tt.split": split,
    "tt.unsplat": unsplat,
    "tt.gather": gather,
    "llvm.intr.assume": nothing,
    "gpu.barrier": nothing,
    "ttg.barrier": nothing,
    "ub.poison": lambda low, op: _poison(op),
}


def _poison(op: TtirOperation) -> Value:
    """Return a placeholder for a value that must not be used."""
    shape, kind = result_of(op)
    return Uniform("0", kind, shape) if shape else ScalarValue("0", kind)
