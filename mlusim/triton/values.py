"""The values of a Triton kernel during its lowering: numbers, tensors that are formulas of their indices, and blocks in NRAM.

Offsets, pointers and masks stay formulas as long as possible, so that loads and stores become copies. All
texts are C expressions without side effects.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from attrs import evolve, frozen

from mlusim.triton.ttir import count

C_TYPES = {
    "i1": "int",
    "i8": "int8_t",
    "i16": "int16_t",
    "i32": "int",
    "i64": "int64_t",
    "index": "int",
    "f16": "half",
    "bf16": "bfloat16_t",
    "f32": "float",
}
"""The C type of an element type of TTIR."""
BYTES = {"half": 2, "bfloat16_t": 2, "float": 4, "int8_t": 1, "int16_t": 2, "int": 4, "int64_t": 8}
FLOATS = ("half", "bfloat16_t", "float")
Shape = tuple[int, ...]


@frozen
class ScalarValue:
    """A scalar."""

    c: str
    type: str


@frozen
class Uniform:
    """A tensor with one value everywhere; no instruction is issued until one needs it in memory."""

    c: str
    type: str
    shape: Shape


@frozen
class Tile:
    """A tensor in NRAM in the C variable *name*, row by row.

    *held* is its shape in memory: 1 for an axis along which all elements are equal, as after a broadcast. A
    *logic* tile is a mask, with the values 1 and 0.
    """

    name: str
    type: str
    shape: Shape
    held: Shape
    logic: bool = False

    @property
    def is_whole(self) -> bool:
        """True if all elements are in memory."""
        return self.held == self.shape


@frozen
class Runs:
    """Integers that are consecutive, in runs from *base* on, along the only axis with *held* > 1."""

    base: str
    type: str
    shape: Shape
    held: Shape

    @property
    def axis(self) -> int:
        """The axis along which the numbers differ."""
        return next(d for d, size in enumerate(self.held) if size > 1)

    def at(self, index: str) -> str:
        """Return the C text of the number at *index*."""
        return plus(self.base, index)


@frozen
class Wrapped(Runs):
    """``(base + i) % modulus``: each run starts again at 0."""

    modulus: str

    def at(self, index: str) -> str:
        """Return the C text of the number at *index*."""
        return f"({plus(self.base, index)} % {self.modulus})"


@frozen
class Bounded(Runs):
    """``base + i`` below index *high*, and *other* from *high* on."""

    high: str
    other: str

    def at(self, index: str) -> str:
        """Return the C text of the number at *index*."""
        return f"({index} < {self.high} ? {plus(self.base, index)} : {self.other})"


@frozen
class Ramp:
    """Integers, or with *pointer* addresses: ``base`` plus ``strides[d]`` for each step along axis d, plus *terms*.

    A term is a block of integers, or runs of them, with a factor. All counts are in elements.
    """

    base: str
    strides: tuple[str, ...]
    shape: Shape
    type: str
    pointer: str = ""
    terms: tuple[tuple[Tile | Runs, str], ...] = ()

    def turned(self, order: Sequence[int]) -> "Ramp":
        """Return the value with its axes in another *order*; the terms keep their storage, so none may differ along two axes."""
        shape = tuple(self.shape[d] for d in order)
        terms = tuple(
            (evolve(t, shape=shape, held=tuple(t.held[d] for d in order)), f) for t, f in self.terms
        )
        return evolve(self, shape=shape, strides=tuple(self.strides[d] for d in order), terms=terms)

    def varies_by_data(self, axis: int) -> bool:
        """Return whether the value along *axis* depends on data."""
        return any(block.held[axis] > 1 for block, _ in self.terms)


@frozen
class Mask:
    """A mask: lane i is on if ``low[d] <= i[d] < high[d]`` for each axis, *condition* holds, and all *tests* are on."""

    shape: Shape
    low: tuple[str, ...]
    high: tuple[str, ...]
    condition: str = "1"
    tests: tuple[Tile, ...] = ()

    @staticmethod
    def whole(shape: Shape, condition: str = "1") -> "Mask":
        """Return the mask with all lanes on, provided that *condition* holds."""
        return Mask(shape, ("0",) * len(shape), tuple(str(size) for size in shape), condition)

    def turned(self, order: Sequence[int]) -> "Mask":
        """Return the mask, which has no tests, with its axes in another *order*."""
        low, high = (tuple(items[d] for d in order) for items in (self.low, self.high))
        return Mask(tuple(self.shape[d] for d in order), low, high, self.condition)

    def bounds(self, axis: int) -> bool:
        """Return whether the mask has bounds along *axis*."""
        return (self.low[axis], self.high[axis]) != ("0", str(self.shape[axis]))


Item = TypeVar("Item")
Tensor = Uniform | Tile | Ramp | Mask
Value = ScalarValue | Tensor


def plus(a: str, b: str) -> str:
    """Return the C text of a sum."""
    if a.isdigit() and b.isdigit():
        return str(int(a) + int(b))
    return b if a == "0" else a if b == "0" else f"({a} + {b})"


def times(a: str, b: str) -> str:
    """Return the C text of a product."""
    if "0" in (a, b):
        return "0"
    if a.isdigit() and b.isdigit():
        return str(int(a) * int(b))
    return b if a == "1" else a if b == "1" else f"({a} * {b})"


def atom(text: str) -> str:
    """Return *text* as an operand, in parentheses unless it is a single word."""
    return (
        text
        if text.replace(".", "").replace("_", "").isalnum()
        or ((text[0], text[-1]) == ("(", ")") and text.count("(") == 1)
        else f"({text})"
    )


def minus(a: str) -> str:
    """Return the C text of the negative of *a*."""
    if a.startswith("(-") and a.endswith(")") and a[2:-1].isidentifier():
        return a[2:-1]
    return "0" if a == "0" else f"(-{a})"


# An axis along which all elements are equal does not contribute to the index of an element.
def place_in(held: Sequence[int], indices: Sequence[str]) -> str:
    """Return the C text of the element's index in a block with shape *held* in memory."""
    at = "0"
    for size, index in zip(held, indices, strict=True):
        if size > 1:
            at = plus(times(at, str(size)), index)
    return at


def element(value: Value | Runs, indices: Sequence[str]) -> str:
    """Return the C expression of one element."""
    if isinstance(value, Runs):
        return value.at(indices[value.axis])
    if isinstance(value, ScalarValue | Uniform):
        return atom(value.c)
    if isinstance(value, Tile):
        return f"{value.name}[{place_in(value.held, indices)}]"
    if isinstance(value, Ramp):
        at = value.base
        for stride, index in zip(value.strides, indices, strict=True):
            at = plus(at, times(stride, index))
        for block, factor in value.terms:
            at = plus(at, times(element(block, indices), factor))
        return f"({value.pointer} + {at})" if value.pointer else f"({at})"
    tests = [value.condition] if value.condition != "1" else []
    for low, high, size, index in zip(value.low, value.high, value.shape, indices, strict=True):
        tests += [f"{index} >= {low}"] if low != "0" else []
        tests += [f"{index} < {high}"] if high != str(size) else []
    tests += [f"{element(block, indices)} != 0" for block in value.tests]
    return f"({' && '.join(tests) or '1'})"


def held_of(value: Value, rank: int) -> Shape:
    """Return, for each axis, the extent along which *value* differs: 1 if it is constant."""
    if isinstance(value, ScalarValue | Uniform):
        return (1,) * rank
    if isinstance(value, Tile):
        return value.held
    if isinstance(value, Ramp):
        differs = [value.varies_by_data(d) or value.strides[d] != "0" for d in range(rank)]
    else:
        differs = [value.bounds(d) or any(t.held[d] > 1 for t in value.tests) for d in range(rank)]
    return tuple(size if there else 1 for size, there in zip(value.shape, differs, strict=True))


def common_held(values: Sequence[Value], rank: int) -> Shape:
    """Return the smallest shape for the result of an elementwise operation on *values*."""
    return tuple(max(sizes) for sizes in zip(*(held_of(v, rank) for v in values), strict=True))


def with_axis(value: Tensor, axis: int, shape: Shape) -> Tensor:
    """Return *value* with another axis of one element, as in ``tt.expand_dims``."""

    def wider(items: tuple[Item, ...], filler: Item) -> tuple[Item, ...]:
        return (*items[:axis], filler, *items[axis:])

    if isinstance(value, Uniform):
        return evolve(value, shape=shape)
    if isinstance(value, Tile):
        return evolve(value, shape=shape, held=wider(value.held, 1))
    if isinstance(value, Ramp):
        terms = tuple(
            (evolve(block, shape=shape, held=wider(block.held, 1)), by) for block, by in value.terms
        )
        return evolve(value, shape=shape, strides=wider(value.strides, "0"), terms=terms)
    tests = tuple(evolve(block, shape=shape, held=wider(block.held, 1)) for block in value.tests)
    return evolve(value, shape=shape, low=wider(value.low, "0"), high=wider(value.high, "1"), tests=tests)


def broadcast(value: Tensor, shape: Shape) -> Tensor:
    """Return *value* broadcast to *shape*, as in ``tt.broadcast``: constant along axes that had one element."""
    if isinstance(value, Uniform):
        return evolve(value, shape=shape)
    if isinstance(value, Tile):
        return evolve(value, shape=shape)
    if isinstance(value, Ramp):
        grown = zip(value.strides, value.shape, shape, strict=True)
        strides = tuple("0" if old == 1 and new > 1 else s for s, old, new in grown)
        terms = tuple((evolve(block, shape=shape), factor) for block, factor in value.terms)
        return evolve(value, shape=shape, strides=strides, terms=terms)
    # Formulas stay formulas: a broadcast issues no instruction.
    low, high, condition = list(value.low), list(value.high), value.condition
    for axis, (old, new) in enumerate(zip(value.shape, shape, strict=True)):
        if old != new:  # an axis of one lane, on or off, applies to all lanes
            if value.bounds(axis):
                inside = f"({low[axis]} <= 0 && {high[axis]} > 0)"
                condition = inside if condition == "1" else f"({condition} && {inside})"
            low[axis], high[axis] = "0", str(new)
    tests = tuple(evolve(block, shape=shape) for block in value.tests)
    return Mask(shape, tuple(low), tuple(high), condition, tests)


def reshaped(value: Tensor, shape: Shape) -> Tensor | None:
    """Return *value* reshaped as in ``tt.reshape`` if that needs no data movement, else None."""
    if isinstance(value, Uniform):
        return evolve(value, shape=shape)
    if isinstance(value, Tile) and value.is_whole:
        return evolve(value, shape=shape, held=shape)
    return None


def dims_of(shape: Shape, name: Callable[[], str]) -> tuple[list[str], list[tuple[str, int]]]:
    """Return an index for each axis of *shape*, and the loops over axes with more than one element."""
    indices, loops = [], []
    for size in shape:
        index = "0" if size == 1 else name()
        indices.append(index)
        if size > 1:
            loops.append((index, size))
    return indices, loops


def bytes_of(kind: str, shape: Shape) -> int:
    """Return the size of a block in bytes, rounded up to 128, the bytes that a vector instruction processes per cycle."""
    return -(-count(shape) * BYTES[kind] // 128) * 128
