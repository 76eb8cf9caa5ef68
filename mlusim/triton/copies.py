"""Lowers loads and stores: runs and rows as copies, addresses in data row by row or element by element; and atomics."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile

from attrs import evolve, frozen

from mlusim.triton.elementwise import as_ramp, extents, summed
from mlusim.triton.lowering import KernelLowering, Lowered, Operations
from mlusim.triton.ttir import TtirOperation, count
from mlusim.triton.values import (
    BYTES,
    Bounded,
    Mask,
    Ramp,
    Runs,
    ScalarValue,
    Tile,
    Uniform,
    Value,
    Wrapped,
    atom,
    dims_of,
    element,
    plus,
    times,
)

LOAD, STORE = "GDRAM2NRAM", "NRAM2GDRAM"
ATOMIC = {
    "fadd": "add",
    "add": "add",
    "max": "max",
    "umax": "max",
    "min": "min",
    "umin": "min",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "exch": "exch",
}


def load(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.load``. Masked lanes without ``other`` stay undefined, so that initcheck finds uses of them."""
    pointer, mask, other = [*low.operands(op), None, None][:3]
    word = op.results[0]
    if isinstance(pointer, ScalarValue):
        return _load_scalar(low, pointer, mask, other, word)
    assert isinstance(pointer, Ramp)
    out = low.text.block(pointer.type, pointer.shape, "load", word=word)
    window = window_of(low, mask, pointer.shape)
    TileCopy(low, out, LOAD, None if window is None else other).write(pointer, window)
    return out


def _load_scalar(
    low: KernelLowering, pointer: ScalarValue, mask: Value | None, other: Value | None, word: str
) -> ScalarValue:
    if isinstance(mask, ScalarValue):
        otherwise = other.c if isinstance(other, ScalarValue) else "0"
        return low.number(f"({mask.c}) ? *({pointer.c}) : ({pointer.type})({otherwise})", pointer.type, word)
    name = low.text.name(word)
    low.text.line(f"{pointer.type} {name} = *({pointer.c});")
    return ScalarValue(name, pointer.type)


def store(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.store``; a tensor that is a formula is computed into a block first."""
    pointer, value, *rest = low.operands(op)
    mask = rest[0] if rest else None
    if isinstance(pointer, ScalarValue):
        c = element(value, ["0"])
        low.text.line(f"{f'if ({mask.c}) ' if isinstance(mask, ScalarValue) else ''}*({pointer.c}) = {c};")
        return None
    pointer, block, window = stored(low, op)
    TileCopy(low, block, STORE).write(pointer, window)
    return None


def stored(low: KernelLowering, op: TtirOperation) -> tuple[Ramp, Tile, Mask | None]:
    """Return the pointers, the block and the mask of a ``tt.store``."""
    pointer, value, mask = [*low.operands(op), None][:3]
    assert isinstance(pointer, Ramp)
    assert value is not None
    block = low.whole(value, pointer.shape, "store")
    if block.logic and block.type != pointer.type:
        raise low.refuse("a mask is stored with .to(tl.int8)")
    return pointer, block, window_of(low, mask, pointer.shape)


def window_of(low: KernelLowering, mask: Value | None, shape: tuple[int, ...]) -> Mask | None:
    """Return the mask of a load or a store; None if all lanes are on."""
    if mask is None:
        return None
    if isinstance(mask, Mask):
        return None if mask == Mask.whole(shape) else mask
    if isinstance(mask, Tile):
        return evolve(Mask.whole(shape), tests=(mask,))
    if isinstance(mask, Uniform | ScalarValue):
        return Mask.whole(shape, mask.c)
    raise low.refuse("this mask has no form in BANG C here")


class TileCopy:
    """A copy between the contiguous *block* and GDRAM; without waiting, it is complete after the next ``__sync``.

    If it does not wait and loads rows of the other axis, they stay untransposed, and *turned* has the block
    that must be transposed later.
    """

    def __init__(
        self,
        low: KernelLowering,
        block: Tile,
        direction: str,
        other: Value | None = None,
        *,
        waits: bool = True,
    ) -> None:
        self.low = low
        self.waits = waits
        self.turned: tuple[int, int] | None = None
        self.other = other  # value of masked lanes in a load
        self.text = low.text
        self.block = block
        self.direction = direction
        self.size = BYTES[block.type]

    def write(self, pointer: Ramp, mask: Mask | None) -> None:
        """Write the copy: loops over axes whose addresses depend on data and axes that no copy covers, with copies inside."""
        rank = len(pointer.shape)
        runs = _runs(pointer, mask)
        plain = evolve(pointer, terms=tuple(term for term in pointer.terms if term not in runs.values()))
        by_data = [plain.varies_by_data(d) or _tested(mask, d) for d in range(rank)]
        across = self._across(plain, runs, by_data)
        if across is not None:
            self._transposed(across, pointer, mask)
            return
        # The last axis depends on data: no two neighbours are known to be adjacent in GDRAM.
        if rank and by_data[-1] and pointer.shape[-1] > 1:
            self.text.remark("addresses or masks that are data: one element at a time")
            self._elements(pointer, mask)
            return
        lows, sizes = extents(self.low, mask, pointer.shape)
        self._prepare()
        self._parts([*runs.values()], _Part(plain, mask, by_data, lows, sizes, whole=not runs))

    def _parts(self, runs: Sequence[tuple[Runs, str]], part: "_Part") -> None:
        """Write the copies of *part*, one for each run along an axis with *runs*."""
        if not runs:
            self._copy(part)
            return
        (run, factor), *rest = runs
        axis, low, size = run.axis, part.lows[run.axis], part.sizes[run.axis]
        end = plus(low, size)
        if isinstance(run, Wrapped):
            self.text.remark("neighbours modulo a number: a copy for each run, one where none begins again")
            with self._each_run(run, low, end) as (first, length, number):
                self._parts(rest, part.along(axis, first, length, f"({number} - {first})", factor, "1"))
            return
        assert isinstance(run, Bounded)
        self.text.remark("neighbours up to a bound: one copy, and one for each index behind it")
        split = self.text.variable(f"WITHIN({run.high}, {low}, {end})", "int", "split")
        left = [(low, split, run.base, "1"), (split, end, run.other, "0")]
        for first, last, base, step in left:
            length = self.text.variable(last if first == "0" else f"{last} - {first}", "int", "run")
            self._parts(rest, part.along(axis, first, length, base, factor, step))

    @contextmanager
    def _each_run(self, run: Wrapped, low: str, end: str) -> Iterator[tuple[str, str, str]]:
        """Write the loop over the runs of the indices *low* to *end*; yields the first index of a run, its length, and its first number."""
        text = self.text
        first, length, end = text.name("first"), text.name("run"), text.variable(end, "int", "end")
        with text.inside(
            f"for (int {first} = {low}, {length}; {first} < {end}; {first} += {length})", loop=True
        ):
            number = text.variable(run.at(first), run.type, "at")
            # For negative numbers the remainder is that of C, and a run ends at 0.
            behind = f"({plus(run.base, first)} < 0 ? 1 : {run.modulus})"
            text.line(f"{length} = LEAST({behind} - {number}, {end} - {first});")
            yield first, length, number

    def _prepare(self) -> None:
        """Write ``other`` to the block before a masked load."""
        target = self.block
        if self.other is None:
            return
        if isinstance(self.other, Uniform | ScalarValue):
            self.low.fill(target, self.other.c)
        else:
            block = self.low.whole(self.other, target.shape)
            self.text.line(
                f"__bang_move({target.name}, {block.name}, {count(target.shape) * self.size});", target.name
            )

    def _copy(self, part: "_Part") -> None:
        """Write the copy of one or two axes, at most one of them with gaps, in loops over the other axes."""
        pointer, lows, sizes, strides = part.pointer, part.lows, part.sizes, part.pointer.strides
        axes = [d for d, extent in enumerate(pointer.shape) if extent > 1]
        inner = part.inner(axes)
        outer = [d for d in axes if d not in inner]
        if len(outer) > (1 if any(part.by_data) else 0) and part.whole:
            self.text.remark(f"{len(axes)} axes: a loop over all but {len(inner)}")
        indices = [low if extent > 1 else "0" for low, extent in zip(lows, pointer.shape, strict=True)]
        heads = []
        for axis in outer:
            indices[axis] = index = self.text.name("i")
            heads.append(
                f"for (int {index} = {lows[axis]}; {index} < {plus(lows[axis], sizes[axis])}; ++{index})"
            )
        tests = [f"{sizes[d]} > 0" for d in range(len(sizes)) if not sizes[d].isdigit() and d not in outer]
        tests += [
            f"{element(test, indices)} != 0" for test in (part.mask.tests if part.mask is not None else ())
        ]
        head = " ".join([*heads, f"if ({' && '.join(tests)})" if tests else ""]).strip()
        near, far = (
            f"&{element(evolve(self.block, shape=self.block.held), indices)}",
            element(pointer, indices),
        )
        # Under a condition or in a loop, one copy does not write the whole block.
        makes = self.block.name if self.direction == LOAD and part.whole and not head else ""
        if not inner:
            self._line(head, near, far, str(self.size), "", makes)
        elif strides[inner[-1]] != "1" or inner[-1] != axes[-1]:
            self._segments(head, pointer, inner, sizes, near, far, makes)
        else:
            row, width = inner[0], count(pointer.shape[inner[0] + 1 :])
            gaps = self._strides(width, strides[row], sizes[row]) if len(inner) == 2 else ""
            self._line(head, near, far, f"{sizes[inner[-1]]} * {self.size}", gaps, makes)

    def _strides(self, near: int, far: str, rows: str) -> str:
        """Return the last three arguments of a copy of rows, in bytes."""
        here, there = str(near * self.size), f"({far}) * {self.size}"
        pair = f"{here}, {there}" if self.direction == LOAD else f"{there}, {here}"
        return f", {pair}, {rows} - 1"

    def _line(self, head: str, near: str, far: str, size: str, strides: str, makes: str) -> None:
        ends = f"{near}, {far}" if self.direction == LOAD else f"{far}, {near}"
        name = "__memcpy" if self.waits else "__memcpy_async"
        self.text.line(f"{head} {name}({ends}, {size}, {self.direction}{strides});".lstrip(), makes)

    def _across(
        self, pointer: Ramp, runs: Mapping[int, tuple[Runs, str]], by_data: Sequence[bool]
    ) -> tuple[int, int] | None:
        """Return two axes if the load can copy the block as rows of its other axis and transpose it; else None."""
        axes = [d for d, extent in enumerate(pointer.shape) if extent > 1]
        alike = self.other is None or isinstance(self.other, Uniform | ScalarValue)
        if len(axes) != 2 or any(by_data[d] for d in axes) or self.direction != LOAD or not alike:
            return None
        first, second = (
            plus(pointer.strides[d], runs[d][1]) if d in runs else pointer.strides[d] for d in axes
        )
        return (axes[0], axes[1]) if first == "1" and second not in ("0", "1") else None

    def _transposed(self, axes: tuple[int, int], pointer: Ramp, mask: Mask | None) -> None:
        """Load rows of the other axis, and transpose them in NRAM."""
        # A copy of rows costs one descriptor each; segments of single elements would cost one per element.
        self.text.remark("rows of the other axis: copied as they lie, and transposed in NRAM")
        high, wide = (pointer.shape[d] for d in axes)
        order = [*range(len(pointer.shape))]
        order[axes[0]], order[axes[1]] = axes[1], axes[0]
        turned = pointer.turned(order)
        block = evolve(self.block, shape=turned.shape, held=turned.shape)
        if self.waits:
            block = self.text.block(self.block.type, turned.shape, "load, to be transposed")
        window = None if mask is None else mask.turned(order)
        TileCopy(self.low, block, LOAD, self.other, waits=self.waits).write(turned, window)
        if not self.waits:
            self.turned = wide, high
            return
        self.text.line(f"__bang_transpose({self.block.name}, {block.name}, {wide}, {high});", self.block.name)

    def _segments(
        self,
        head: str,
        pointer: Ramp,
        axes: Sequence[int],
        sizes: Sequence[str],
        near: str,
        far: str,
        makes: str,
    ) -> None:
        """Copy each element as a segment, because no axis is contiguous."""
        self.text.remark("no axis is contiguous: a segment for each element")
        last = axes[-1]
        here = count(pointer.shape[last + 1 :])
        if len(axes) == 2:
            row = self.text.name("i")
            head = f"{head} for (int {row} = 0; {row} < {sizes[axes[0]]}; ++{row})".strip()
            near = f"{near} + {row} * {count(pointer.shape[axes[0] + 1 :])}"
            far = f"{far} + {row} * ({pointer.strides[axes[0]]})"
            makes = ""
        self._line(
            head, near, far, str(self.size), self._strides(here, pointer.strides[last], sizes[last]), makes
        )

    def _elements(self, pointer: Ramp, mask: Mask | None) -> None:
        self._prepare()
        indices, loops = dims_of(self.block.shape, lambda: self.text.name("i"))
        heads = " ".join(f"for (int {index} = 0; {index} < {n}; ++{index})" for index, n in loops)
        test = "" if mask is None else f" if {element(mask, indices)}"
        here, there = element(self.block, indices), f"*{element(pointer, indices)}"
        ends = f"{here} = {there}" if self.direction == LOAD else f"{there} = {here}"
        self.text.line(
            f"{heads}{test} {ends};".lstrip(),
            self.block.name if self.direction == LOAD and mask is None else "",
        )


@frozen
class _Part:
    """The lanes of one copy: *sizes* lanes from *lows* on, at *pointer*, which has no runs any more; a whole block or a part."""

    pointer: Ramp
    mask: Mask | None
    by_data: Sequence[bool]
    lows: Sequence[str]
    sizes: Sequence[str]
    whole: bool

    def along(self, axis: int, low: str, size: str, base: str, factor: str, step: str) -> "_Part":
        """Return the part with *size* indices from *low* on along *axis*, where index i adds *factor* times ``base + step * i``."""

        def at(items: Sequence[str], item: str) -> list[str]:
            return [item if d == axis else old for d, old in enumerate(items)]

        strides = self.pointer.strides
        pointer = evolve(
            self.pointer,
            base=plus(self.pointer.base, times(base, factor)),
            strides=tuple(at(strides, plus(strides[axis], times(step, factor)))),
        )
        return evolve(self, pointer=pointer, lows=at(self.lows, low), sizes=at(self.sizes, size))

    def inner(self, axes: Sequence[int]) -> list[int]:
        """Return which of *axes* one copy covers: up to two at the end, or one before them."""
        able = [d for d in axes if not self.by_data[d] and self.pointer.strides[d] != "0"]
        last = [*takewhile(lambda d: d in able, reversed(axes))][:2][::-1]
        return last or able[-1:]


def _runs(pointer: Ramp, mask: Mask | None) -> dict[int, tuple[Runs, str]]:
    """Return the terms of *pointer* that are runs along an axis that depends on no data, by axis, with their factors."""
    runs = {block.axis: (block, factor) for block, factor in pointer.terms if isinstance(block, Runs)}
    alone = {
        d for d in runs if sum(block.held[d] > 1 for block, _ in pointer.terms) == 1 and not _tested(mask, d)
    }
    return {axis: term for axis, term in runs.items() if axis in alone}


def _tested(mask: Mask | None, axis: int) -> bool:
    return mask is not None and any(test.held[axis] > 1 for test in mask.tests)


# -- pointers ------------------------------------------------------------------------------------------


def add_pointer(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.addptr``; offsets are elements."""
    pointer, offset = low.operands(op)
    if isinstance(pointer, ScalarValue) and isinstance(offset, ScalarValue):
        name = low.text.variable(f"{pointer.c} + {offset.c}", f"{pointer.type} *", op.results[0])
        low.pointers.add(name)
        return ScalarValue(name, pointer.type)
    assert isinstance(pointer, Ramp)
    assert not isinstance(offset, ScalarValue)
    by = as_ramp(offset, pointer.shape)
    if by is None:
        raise low.refuse("offsets of this kind have no form in BANG C here")
    return summed(pointer, by, pointer.type)


# -- atomics -------------------------------------------------------------------------------------------


def atomic(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.atomic_rmw``: a vector atomic for a run of lanes, else one scalar atomic for each active lane."""
    word = op.word(r"^\s*(\w+),")
    # The instruction handles a whole run; single atomics cost a round trip each.
    name = f"bang_atomic_{ATOMIC.get(word)}"
    pointer, value, *rest = low.operands(op)
    mask = rest[0] if rest else None
    assert isinstance(pointer, ScalarValue | Ramp)
    kind = pointer.type
    # In C the numbers are signed, but the order of two bit patterns depends on the sign.
    seen = f"unsigned {kind}" if word in ("umax", "umin") else kind
    if not low.has(name, seen):
        raise low.refuse(f"no instruction does atomic {word} of {kind}; use elements of 32 bits")
    read = f"({seen} *)" if seen != kind else ""
    if isinstance(pointer, ScalarValue):
        return _atomic_of_one(low, op, name, seen, value)
    block = low.whole(value, pointer.shape, "atomic")
    old = low.text.block(kind, pointer.shape, "atomic", word="old")
    indices, loops = dims_of(pointer.shape, lambda: low.text.name("i"))
    window = window_of(low, mask, pointer.shape)
    run = len(pointer.shape) == 1 and pointer.strides == ("1",) and not pointer.terms
    if run and (window is None or not window.tests):
        lows, sizes = extents(low, window, pointer.shape)
        at = element(pointer, lows)
        ends = f"{read}&{old.name}[{lows[0]}], {read}{at}, {read}&{block.name}[{lows[0]}]"
        low.text.line(f"if ({sizes[0]} > 0) __{name}({ends}, {sizes[0]});")
        return old
    low.text.remark("atomics at addresses that are not a run: one at a time")
    heads = " ".join(f"for (int {index} = 0; {index} < {n}; ++{index})" for index, n in loops)
    test = "" if window is None else f" if {element(window, indices)}"
    ends = f"{read}&{element(old, indices)}, {read}{element(pointer, indices)}, ({seen}){element(block, indices)}, 1"
    low.text.line(f"{heads}{test} __{name}({ends});".lstrip())
    return old


def _atomic_of_one(low: KernelLowering, op: TtirOperation, name: str, seen: str, value: Value) -> ScalarValue:
    """Write the atomic of one number; elements are cast to the C type *seen*."""
    pointer, _, *masks = low.operands(op)
    assert isinstance(pointer, ScalarValue)
    old = low.text.block(pointer.type, (1,), "atomic", word="old")
    test = " ".join(f"if ({element(mask, [])})" for mask in masks)
    ends = f"({seen} *){old.name}, ({seen} *){atom(pointer.c)}, ({seen}){element(value, ['0'])}, 1"
    low.text.line(f"{test} __{name}({ends});".lstrip(), old.name if not test else "")
    # An unused result is not waited for.
    used = op.results[0] in low.used
    return (
        low.number(f"{old.name}[0]", pointer.type, op.results[0]) if used else ScalarValue("0", pointer.type)
    )


def compare_and_swap(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.atomic_cas``, one element after the other."""
    pointer, expected, new = low.operands(op)
    assert isinstance(pointer, ScalarValue | Ramp)
    kind = pointer.type
    if not low.has("bang_atomic_cas", kind):
        raise low.refuse(f"no instruction does atomic_cas of {kind}; use elements of 32 bits")
    shape = () if isinstance(pointer, ScalarValue) else pointer.shape
    old = low.text.block(kind, shape or (1,), "atomic", word="old")
    indices, loops = dims_of(shape, lambda: low.text.name("i"))
    heads = " ".join(f"for (int {index} = 0; {index} < {n}; ++{index})" for index, n in loops)
    values = [element(value, indices) for value in (pointer, expected, new)]
    place = element(old, indices or ["0"])
    low.text.line(
        f"{heads} __bang_atomic_cas(&{place}, {values[0]}, ({kind}){values[1]}, ({kind}){values[2]});".lstrip()
    )
    return old if shape else low.number(place, kind, op.results[0])


OPERATIONS: Operations = {
    "tt.load": load,
    "tt.store": store,
    "tt.addptr": add_pointer,
    "tt.atomic_rmw": atomic,
    "tt.atomic_cas": compare_and_swap,
}
