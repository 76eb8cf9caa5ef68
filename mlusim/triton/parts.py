"""Parts of a block by index, which the card's Triton can read and store: ``x[:, i]``, ``x[2:4] = y``; and by a mask.

TTIR has neither. Reading a part becomes a gather by a range, which is lowered to a move. Storing a part
becomes a select between the new part and the rest, and from then on the block's name stands for the result.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence

import triton
import triton.language as tl
from attrs import frozen
from triton.compiler.code_generator import CodeGenerator
from triton.language import core
from triton.language.semantic import TritonSemantic

from mlusim.triton.ttir import count


@frozen
class AxisPart:
    """The indices of one axis of *whole* elements: *size* of them from *start*; without *stays*, a single one that removes the axis."""

    start: "int | core.tensor"
    size: int
    whole: int
    stays: bool = True

    @property
    def is_all(self) -> bool:
        """True if it selects the whole axis."""
        return self.size == self.whole


@frozen
class BlockIndex:
    """The parts of all axes, and the positions of new axes in the result."""

    parts: tuple[AxisPart, ...]
    new: tuple[int, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The size of each part."""
        return tuple(part.size for part in self.parts)

    @property
    def shape(self) -> list[int]:
        """The shape of the result, without new axes."""
        return [part.size for part in self.parts if part.stays]


def index_of(block: core.tensor, index: object) -> BlockIndex | None:
    """Return the parse of *index* into *block*; None if it selects everything, which Triton itself supports.

    Raises `ValueError` for an invalid index: a step, more indices than axes, or a constant beyond the axis.
    """
    words = [core._unwrap_if_constexpr(word) for word in _items(index)]  # noqa: SLF001 - Triton's own way
    if all(word is None or (_is_slice(word) and _ends(word) == (None, None)) for word in words):
        return None
    sizes = _sizes(block.shape)
    axes = [word for word in words if word is not None]
    if len(axes) > len(sizes):
        raise ValueError(f"{len(axes)} indices of a block of {len(sizes)} axes")
    axes += [slice(None)] * (len(sizes) - len(axes))
    parts = tuple(_part(word, size) for word, size in zip(axes, sizes, strict=True))
    dropped = BlockIndex(parts, ())
    return BlockIndex(parts, tuple(_new_axes(words, dropped)))


def _sizes(shape: Iterable[object]) -> list[int]:
    """Return the sizes of *shape*, which may be Triton constants."""
    return [int(core._unwrap_if_constexpr(size)) for size in shape]  # noqa: SLF001 - Triton's own way


def _items(index: object) -> Sequence[object]:
    if isinstance(index, core.tuple):
        return list(index.values)
    return index if isinstance(index, list | tuple) else [index]


def _new_axes(words: Sequence[object], index: BlockIndex) -> Iterator[int]:
    """Yield the positions of new axes among the remaining axes."""
    parts = iter(index.parts)
    at = 0
    for word in words:
        if word is None:
            yield at
        at += word is None or next(parts).stays


def _is_slice(word: object) -> bool:
    return isinstance(word, slice | core.slice)


def _ends(word: core.slice) -> tuple[core.constexpr, core.constexpr]:
    start, stop, step = (core._unwrap_if_constexpr(end) for end in (word.start, word.stop, word.step))  # noqa: SLF001 - as above
    if step not in (None, 1):
        raise ValueError(f"a part of a block with the step {step}; take it by a mask")
    return start, stop


def _part(word: object, whole: int) -> AxisPart:
    if _is_slice(word):
        start, stop = _ends(word)
        if isinstance(start, core.tensor) or isinstance(stop, core.tensor):
            raise ValueError(
                "the ends of a part of a block are constants; take one of another place by a mask"
            )
        first, end, _ = slice(start, stop).indices(whole)
        if end <= first:
            raise ValueError(f"a part of a block without elements: {start}:{stop} of {whole}")
        return AxisPart(first, end - first, whole)
    if isinstance(word, int):
        if not -whole <= word < whole:
            raise ValueError(f"the index {word} of an axis of {whole} elements")
        return AxisPart(word % whole, 1, whole, stays=False)
    if isinstance(word, core.tensor) and not word.type.is_block() and word.dtype.is_int():
        return AxisPart(word, 1, whole, stays=False)
    raise ValueError(f"unsupported tensor index: {word}")


def load(semantic: TritonSemantic, block: core.tensor, index: BlockIndex) -> core.tensor:
    """Return the part of *block* that *index* selects."""
    shape, taken = [part.whole for part in index.parts], block
    for axis, part in enumerate(index.parts):
        if not part.is_all:
            shape[axis] = part.size
            taken = semantic.gather(taken, _ramp(semantic, part.start, shape, axis), axis)
    if not index.shape and not index.new:
        return semantic.unsplat(semantic.reshape(taken, [1], can_reorder=False))
    taken = semantic.reshape(taken, index.shape or [1], can_reorder=False)
    for at in index.new[not index.shape :]:  # a part of one element already has its first axis
        taken = semantic.expand_dims(taken, at)
    return taken


def _ramp(
    semantic: TritonSemantic, start: "int | core.tensor", shape: Sequence[int], axis: int
) -> core.tensor:
    """Return a block of *shape* with consecutive numbers from *start* along *axis*."""
    ramp = semantic.arange(0, shape[axis])
    if isinstance(start, core.tensor) or start:
        ramp = semantic.add(ramp, start, False)
    for at in range(len(shape)):
        ramp = ramp if at == axis else semantic.expand_dims(ramp, at)
    return semantic.broadcast_impl_shape(ramp, [*shape])


def stored(semantic: TritonSemantic, block: core.tensor, index: BlockIndex, value: object) -> core.tensor:
    """Return *block* with the part that *index* selects replaced by *value*, a block or a number."""
    if index.new:
        raise ValueError("a store to a part of a block has no new axes")
    shape = [part.whole for part in index.parts]
    new = semantic.cast(semantic.to_tensor(value), block.dtype)
    new = _spread(semantic, new, index)
    on: core.tensor | None = None
    for axis, part in enumerate(index.parts):
        if part.is_all:
            continue
        now = _sizes([*new.shape[:axis], part.whole, *new.shape[axis + 1 :]])
        if part.size == 1:
            new = semantic.broadcast_impl_shape(new, now)
        else:  # elements outside the part are never selected
            new = semantic.gather(new, _ramp(semantic, -part.start, now, axis), axis)
        for test in _tests(semantic, part, _ramp(semantic, 0, shape, axis)):
            on = test if on is None else semantic.and_(on, test)
    return new if on is None else semantic.where(on, new, block)


def _tests(semantic: TritonSemantic, part: AxisPart, place: core.tensor) -> Iterator[core.tensor]:
    """Yield the masks that together select *part* in the indices *place*; masks that are always on are omitted."""
    if isinstance(part.start, core.tensor):
        yield semantic.equal(place, part.start)
        return
    if part.start:
        yield semantic.greater_equal(place, part.start)
    if part.start + part.size < part.whole:
        yield semantic.less_than(place, part.start + part.size)


def _spread(semantic: TritonSemantic, value: core.tensor, index: BlockIndex) -> core.tensor:
    """Return *value* broadcast to the sizes of *index*."""
    if not value.type.is_block():
        return semantic.splat(value, [*index.sizes])
    sizes = _sizes(value.shape)
    while len(sizes) > len(index.shape) and sizes[0] == 1:
        sizes.pop(0)
    sizes = [1] * (len(index.shape) - len(sizes)) + sizes
    if len(sizes) != len(index.shape) or any(
        a not in (1, b) for a, b in zip(sizes, index.shape, strict=True)
    ):
        raise ValueError(f"a block of shape {sizes} in the place of a part of shape {index.shape}")
    rest = iter(sizes)
    aligned = [next(rest) if part.stays else 1 for part in index.parts]
    assert count(aligned) == count(sizes)
    value = semantic.reshape(value, aligned, can_reorder=False)
    return semantic.broadcast_impl_shape(value, [*index.sizes])


@triton.jit
def masked_select(input, mask):  # type: ignore[no-untyped-def]  # noqa: A002, ANN001, ANN201 - the card's names; Triton reads the annotations
    """Return the elements of *input* where *mask* is on, packed at the start of a flat block of the same size, and their number."""
    values, chosen = tl.broadcast(input, mask)
    count: tl.constexpr = values.numel
    up_to = tl.cumsum(tl.reshape(chosen, (count,)).to(tl.int32), 0)
    # Before the k-th selected element (from 0) lie as many elements as have up to k selected ones.
    places = tl.cumsum(tl.histogram(up_to, count), 0)
    selected = tl.gather(tl.reshape(values, (count,)), tl.minimum(places, count - 1), 0)
    return selected, tl.sum(chosen.to(tl.int32))


# -- hooks in Triton's front end -----------------------------------------------------------------------


def lend(is_own: Callable[[], bool]) -> None:
    """Enable parts of blocks, ``tl.empty`` and ``tl.masked_select`` in kernels for which *is_own* is true: those compiled for a board."""
    plain_load, plain_store = core.tensor.__getitem__, CodeGenerator.visit_Subscript_Store

    def load_part(self: core.tensor, slices: object, _semantic: TritonSemantic | None = None) -> object:
        index = index_of(self, slices) if is_own() and self.type.is_block() else None
        return (
            plain_load(self, slices, _semantic=_semantic) if index is None else load(_semantic, self, index)
        )

    def visit_store(generator: CodeGenerator, node: ast.Subscript, value: object) -> object:
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        block = generator.visit(node.value) if is_own() and name else None
        if not isinstance(block, core.tensor) or not block.type.is_block():
            return plain_store(generator, node, value)
        index = index_of(block, generator.visit(node.slice))
        if index is None:
            index = BlockIndex(tuple(AxisPart(0, int(size), int(size)) for size in block.type.shape), ())
        return generator.set_value(name, stored(generator.semantic, block, index, value))

    def empty(shape: object, dtype: core.dtype, _semantic: TritonSemantic | None = None) -> object:
        return core.full(shape, 0, dtype, _semantic=_semantic)

    core.tensor.__getitem__ = core.builtin(load_part)
    CodeGenerator.visit_Subscript_Store = visit_store
    # Every element is stored before it is read; TTIR has no uninitialised block.
    tl.empty = core.builtin(empty)
    tl.masked_select = masked_select
