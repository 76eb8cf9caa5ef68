"""The state of lowering one Triton kernel: its values, and the text generated so far."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from attrs import evolve

from mlusim.arch.dtypes import DType, as_dtype
from mlusim.errors import Unsupported
from mlusim.isa.table import ISA
from mlusim.triton import ttir
from mlusim.triton.text import KernelText
from mlusim.triton.ttir import TtirOperation, count
from mlusim.triton.values import (
    BYTES,
    C_TYPES,
    Mask,
    Ramp,
    ScalarValue,
    Shape,
    Tensor,
    Tile,
    Uniform,
    Value,
    dims_of,
    element,
    held_of,
    times,
)

Lowered = Value | Sequence[Value] | None
FEW = 4  # up to this many copies of a column, single moves are faster than a fill per element
_DTYPES = {
    "half": "half",
    "bfloat16_t": "bfloat16",
    "float": "float",
    "int8_t": "int8",
    "int16_t": "int16",
    "int": "int32",
    "unsigned int": "uint32",
}
SCALAR_UNIT = "no vector instruction does this: element by element on the scalar unit"

INSTEAD = {
    "tt.call": "; leave noinline=True out of the decorator of the function that is called",
    "tt.dot_scaled": "; scale the operands, and use tl.dot",
    "tt.elementwise_inline_asm": "; write it in Triton",
}
"""Replacements for operations that cannot be lowered, by prefix of the operation's name; the end of the message."""


class KernelLowering:
    """The lowering of one kernel for one architecture."""

    def __init__(
        self, function: ttir.JitFunction, bang_arch: int, operations: "Operations", num_stages: int = 1
    ) -> None:
        self.num_stages = num_stages
        self.function = function
        self.bang_arch = bang_arch
        self.operations = operations
        results = (name for operation in every(function.body) for name in operation.results)
        self.text = KernelText((name for name, _ in function.parameters), results)
        self.pointers = {
            name for name, kind in function.parameters if kind.startswith("!tt.ptr")
        }  # C names of variables that hold addresses
        self.values: dict[str, Value] = {}
        self.text.place = function.place
        self.used = {name for operation in every(function.body) for name in operation.operands}
        # Parameters are scalars or pointers, as passed by C; tensors exist only in the body.
        for name, kind in function.parameters:
            try:
                of = pointed_type(kind) if name in self.pointers else c_type(kind)
            except NoType as error:
                raise self.refuse(f"{name}: {error}") from None
            self.values[name] = ScalarValue(name, of)

    # -- operations ------------------------------------------------------------------------------------

    def body(self, operations: Sequence[TtirOperation]) -> None:
        """Lower *operations*, one after the other."""
        for operation in operations:
            self.text.place = operation.place or self.text.place
            lowered = self._lowered(operation)
            if lowered is not None:
                values = [lowered] if isinstance(lowered, Value) else list(lowered)
                self.values.update(zip(operation.results, values, strict=True))

    def _lowered(self, operation: TtirOperation) -> Lowered:
        function = self.operations.get(operation.name)
        if function is None:
            instead = next((text for start, text in INSTEAD.items() if operation.name.startswith(start)), "")
            raise self.refuse(f"{operation.name} has no form in BANG C here{instead}")
        try:
            lowered: Lowered = function(self, operation)
        except NoType as error:
            raise self.refuse(str(error)) from None
        return lowered

    def operands(self, operation: TtirOperation) -> list[Value]:
        """Return the values of the operands of *operation*, in order."""
        return [self.values[name] for name in operation.operands]

    def refuse(self, sentence: str) -> Unsupported:
        """Return the error for the current line."""
        place = self.text.place
        where = "" if place is None else f"{place.file}:{place.line}: "
        return Unsupported(f"{where}{sentence}")

    # -- instructions of the architecture ------------------------------------------------------------

    def has(self, name: str, kind: str) -> bool:
        """Return whether the architecture has instruction *name* for elements of C type *kind*."""
        # The table's row is the only source for the instructions of a board.
        row = ISA.get(name)
        dtype = dtype_of(kind)
        if row is None or dtype is None or not row.available(self.bang_arch):
            return False
        return all(dtype in operand.dtypes for operand in row.operands.values())

    # -- values in memory --------------------------------------------------------------------------------

    def whole(self, value: Value, shape: Shape, why: str = "broadcast") -> Tile:
        """Return *value* as a block in NRAM with all elements of *shape*."""
        if isinstance(value, Tile) and value.held == shape:
            return evolve(value, shape=shape)
        if isinstance(value, Tile) and count(value.held) == count(shape):
            return evolve(value, shape=shape, held=shape)
        if isinstance(value, ScalarValue | Uniform):
            block = self.text.block(value.type, shape, "one value everywhere")
            self.fill(block, value.c)
            return block
        if isinstance(value, Tile):
            return self._spread(value, shape, why)
        return self._formula(value, shape)

    def small(self, value: Tensor) -> Tensor:
        """Return *value* as a block with only the axes along which it differs; a uniform value is returned unchanged."""
        if isinstance(value, Uniform | Tile):
            return value
        held = held_of(value, len(value.shape))
        all_on = self._all_on(value, held) if isinstance(value, Mask) else None
        block = self._formula(value, held) if all_on is None else all_on
        return evolve(block, shape=value.shape, held=held)

    def _all_on(self, mask: Mask, held: Shape) -> Tile | None:
        """Return *mask* as the combination of its tests; None if it also has bounds, or if the tests differ in type."""
        kinds = {test.type for test in mask.tests if test.logic}
        kind = "".join(kinds)
        unlike = len(kinds) != 1 or not all(test.logic for test in mask.tests)
        if unlike or evolve(mask, tests=()) != Mask.whole(mask.shape) or not self.has("bang_and", kind):
            return None
        on = self.whole(evolve(mask.tests[0], shape=mask.tests[0].held), held)
        for test in mask.tests[1:]:
            also = self.whole(evolve(test, shape=test.held), held)
            both = self.text.block(kind, held, "mask as data", logic=True)
            ends = f"{both.name}, {on.name}, {also.name}"
            self.text.line(f"__bang_and({ends}, {count(held)});", both.name, [on.name, also.name])
            on = both
        return on

    def fill(self, block: Tile, c: str) -> None:
        """Write a fill of *block* with the scalar *c*."""
        n = count(block.held)
        self.text.line(f"__bang_write_value({block.name}, {n}, ({block.type})({c}));", block.name)

    def _spread(self, value: Tile, shape: Shape, why: str) -> Tile:
        """Expand a broadcast, axis by axis, the last axis first."""
        for axis in reversed(range(len(shape))):
            if value.held[axis] != shape[axis]:
                value = self._repeated(value, axis, shape[axis], why)
        return evolve(value, shape=shape)

    def _repeated(self, value: Tile, axis: int, size: int, why: str) -> Tile:
        """Expand *value*, which has one element along *axis*, to *size* elements: rows and pieces by moves, columns by fills."""
        held = (*value.held[:axis], size, *value.held[axis + 1 :])
        out = self.text.block(value.type, held, why, logic=value.logic)
        outer, inner = count(held[:axis]), count(held[axis + 1 :])
        to, width = f"{out.name} + i * {inner}", inner * BYTES[value.type]
        if outer == 1:
            rounds, text = size, f"__bang_move({to}, {value.name}, {width});"
        elif inner > 1 or size <= FEW:
            ends = f"{width}, {size * width}, {width}, {outer - 1}"
            rounds, text = size, f"__bang_move({to}, {value.name}, {ends});"
        else:
            rounds, text = (
                outer,
                f"__bang_write_value({out.name} + i * {size}, {size}, {value.name}[i]);",
            )
        with self.text.inside(f"for (int i = 0; i < {rounds}; ++i)", loop=True):
            self.text.line(text)
        return out

    def _formula(self, value: Ramp | Mask, shape: Shape) -> Tile:
        """Compute integers or a mask into a block of *shape*."""
        if isinstance(value, Ramp) and value.pointer:
            raise self.refuse("addresses as data have no form in BANG C here; load what they point to")
        logic = isinstance(value, Mask)
        kind = value.type if isinstance(value, Ramp) else "float"
        out = self.text.block(kind, shape, "mask as data" if logic else "indices as data", logic=logic)
        if isinstance(value, Ramp) and not value.terms and self.has("bang_add_scalar", kind):
            self._count_up(out, value)
            return out
        self.text.remark("indices or a mask as data are written element by element on the scalar unit")
        self.loop(out, lambda indices: element(value, indices))
        return out

    def _count_up(self, out: Tile, value: Ramp) -> None:
        """Write ``base + strides * indices``: the first number, then along each axis, last axis first, repeated doubling."""
        self.text.line(f"__bang_write_value({out.name}, 1, ({out.type})({value.base}));")
        inner = 1
        for size, stride in zip(reversed(out.held), reversed(value.strides), strict=True):
            there = 1
            while there < size:
                more = min(there, size - there)
                step = f"({out.type})({times(stride, str(there))})"
                to = f"{out.name} + {there * inner}"
                self.text.line(f"__bang_add_scalar({to}, {out.name}, {step}, {more * inner});")
                there += more
            inner *= size

    def loop(self, out: Tile, expression: Callable[[list[str]], str]) -> None:
        """Write ``out[...] = expression(indices)`` for all elements of *out*."""
        indices, loops = dims_of(out.held, lambda: self.text.name("i"))
        place = element(evolve(out, shape=out.held), indices)
        heads = " ".join(f"for (int {index} = 0; {index} < {size}; ++{index})" for index, size in loops)
        self.text.line(f"{heads} {place} = ({out.type})({expression(indices)});".lstrip(), out.name)

    def number(self, expression: str, kind: str, word: str = "n") -> ScalarValue:
        """Return a new scalar variable with the value of *expression*."""
        return ScalarValue(self.text.variable(expression, kind, word), kind)


Operations = dict[str, Callable[[KernelLowering, TtirOperation], Any]]


def every(operations: Iterable[TtirOperation]) -> Iterator[TtirOperation]:
    """Yield *operations* and all operations nested in them."""
    for operation in operations:
        yield operation
        for region in operation.regions:
            yield from every(region)


class NoType(Unsupported):
    """An element type without a type in BANG C; `KernelLowering` adds the source line."""


def c_type(element_type: str) -> str:
    """Return the C type of a TTIR element type. Raises `NoType` if BANG C has none."""
    kind = C_TYPES.get(element_type)
    if kind is None:
        raise NoType(
            f"elements of {element_type} have no type in BANG C; use tl.float32, or whole numbers of up to 64 bits"
        )
    return kind


def pointed_type(kind: str) -> str:
    """Return the C type at which a TTIR pointer points; a bool in memory is one byte."""
    inner = ttir.pointed(kind)
    return "int8_t" if inner == "i1" else c_type(inner)


def dtype_of(kind: str) -> DType | None:
    """Return the element type of the instruction set for a C type."""
    name = _DTYPES.get(kind)
    return None if name is None else as_dtype(name)


def result_of(operation: TtirOperation, number: int = -1) -> tuple[Shape, str]:
    """Return shape and C type of a result (for pointers: of their targets); the shape of a scalar is empty."""
    kind = operation.types[number]
    shape, element_type = ttir.shape_and_element(kind) if ttir.is_tensor(kind) else ((), kind)
    return shape, pointed_type(element_type) if element_type.startswith("!tt.ptr") else c_type(element_type)
