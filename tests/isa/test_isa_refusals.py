"""Bad calls of every row: each operand, each rule; the fault names intrinsic, operand, legal range and line."""

from functools import partial

import numpy as np
import pytest
from isa_rows import (
    BOARDS,
    DENSE_ROWS,
    MEMORY_ROWS,
    Sample,
    all_refused,
    board_of,
    check_teaches,
    counts_of,
    dtype_cases,
    ids,
    on_core,
    refused,
    space_of,
)

from mlusim.arch.dtypes import DTYPES
from mlusim.engine.refuse import extent
from mlusim.errors import OutOfBounds, ReadOnly, RuleFault, WrongSpace
from mlusim.formula.expr import ONE
from mlusim.formula.parse import names_in
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import GDRAM, LDRAM, NRAM, WRAM

HERE = __file__.rsplit("/", 1)[-1]
OPERANDS = [(row, o) for row in MEMORY_ROWS for o in row.operands.values()]


def other_memories(row):
    """A pointer into a memory that the row does not take, for each operand."""
    for operand in row.operands.values():
        wrong = next(s for s in (WRAM, LDRAM, NRAM, GDRAM) if s not in operand.spaces)

        def change(sample, operand=operand, wrong=wrong):
            dtype = sample.pointer(operand.name).dtype
            heap = next(
                (a for a in sample.arguments.values() if isinstance(a, Ptr) and a.space is GDRAM), None
            )
            assert wrong is not GDRAM or heap is not None
            sample.arguments[operand.name] = sample.declare(wrong, dtype, 4096, heap)

        yield change, operand, WrongSpace, (space_of(operand).name, wrong.name)


def no_pointers(row):
    """None, an array of the host and a word, where the row takes memory."""
    for operand in row.operands.values():
        for wrong in (None, np.zeros(4, np.float32), "memory"):
            yield partial(given, {operand.name: wrong}), operand, WrongSpace, ()


def other_types(row):
    """A pointer of an element type that the row does not take, or that the others do not have."""
    for operand in row.operands.values():
        if operand.name in row.void:  # cast
            continue
        right = dtype_cases(row)[0][operand.name]
        wrong = [d for d in DTYPES if d not in operand.dtypes]
        if len(row.same) > 1 and operand.name in row.same:
            wrong += [d for d in operand.dtypes if d is not right][:1]

        def recast(sample, operand, dtype):
            sample.arguments[operand.name] = sample.pointer(operand.name).cast(dtype)

        for dtype in wrong:
            yield partial(recast, operand=operand, dtype=dtype), None, WrongSpace, ()


def edges(row):
    """The operand moved so that one element is missing, behind its memory and in front of it."""

    def behind(sample, operand):
        pointer = sample.pointer(operand.name)
        count = 1 if operand.partial else extent(operand, sample.arguments)
        sample.arguments[operand.name] = pointer + (pointer.view.size - count + 1)

    def before(sample, operand):
        sample.arguments[operand.name] = sample.pointer(operand.name) - 1

    for operand in row.operands.values():
        for change in (behind, before):
            yield partial(change, operand=operand), operand, OutOfBounds, ("addresses 0x",)


def no_counts(row):
    """A count of zero or less."""
    for name in counts_of(row):
        if (
            not name.startswith("pad_")  # may be 0; their rules refuse less
            and name != "fix_pos"  # the dilation of height in a form of its own
            and any(name in names_in(o.extent) for o in row.operands.values())
        ):
            for count in (0, -1, -(1 << 40)):
                yield partial(given, {name: count}), None, RuleFault, ()


def given(values, sample):
    """Give these arguments."""
    sample.arguments.update(values)


@pytest.mark.parametrize("row", MEMORY_ROWS, ids=ids(MEMORY_ROWS))
def test_bad_operands_and_counts_are_refused(row):
    """Each operand: of another memory, no pointer, of another type, one past its allocation; each count that is not positive."""
    mistakes = [
        one for kind in (other_memories, no_pointers, other_types, edges, no_counts) for one in kind(row)
    ]
    faults = all_refused(row, *(change for change, *_ in mistakes))

    for fault, (_, operand, error, words) in zip(faults, mistakes, strict=True):
        check_teaches(fault, row, operand)
        assert isinstance(fault, error)
        assert all(word in f"{fault.legal} {fault.message}" for word in words)


@pytest.mark.parametrize("row", MEMORY_ROWS, ids=ids(MEMORY_ROWS))
def test_a_count_that_is_no_integer_is_refused(row):
    """A float where a count is asked; NumPy integers are welcome."""
    counts = counts_of(row)
    faults = all_refused(row, *(partial(given, {name: float(count)}) for name, count in counts.items()))

    for fault, name in zip(faults, counts, strict=True):
        check_teaches_count(fault, row, name)

    def numpy_counts(mlu, heap):
        Sample(mlu, row, dtype_cases(row)[0], heap).call(**{n: np.int64(c) for n, c in counts.items()})
        return True

    assert on_core(numpy_counts, board=board_of(row))


def check_teaches_count(fault, row, name):
    """The fault of a count names it."""
    assert isinstance(fault, RuleFault)
    assert row.spelling == fault.intrinsic
    assert name == fault.operand
    assert "integer" in fault.message


PAIRS = [
    (row, target, source)
    for row in DENSE_ROWS
    for target in row.operands.values()
    for source in row.operands.values()
    if target.access != "read" and source.name in row.overlap and set(target.spaces) & set(source.spaces)
]
PAIRED = tuple({row.name: row for row, *_ in PAIRS}.values())


def partial_overlaps(row):
    """Each destination one step into each source, from either side; or at its very start where forbidden."""

    def change(sample, target, source, step):
        first = sample.pointer(source.name)
        count = extent(source, sample.arguments)
        first.view.array[64 : 64 + count] = first.view.array[:count]
        at = (first + 64).cast(sample.pointer(target.name).dtype)
        sample.arguments[source.name] = first + 64
        sample.arguments[target.name] = at + step

    for one, target, source in PAIRS:
        if one is row:
            steps = (1, -1, 0) if row.overlap[source.name] in ("disjoint", "tail") else (1, -1)
            if target.extent == ONE:  # one element in front of the source does not reach into it
                steps = (1, 0)
            yield from (partial(change, target=target, source=source, step=step) for step in steps)


@pytest.mark.parametrize("row", PAIRED, ids=ids(PAIRED))
def test_a_partial_overlap_is_refused(row):
    """The destination one byte-size step into a source."""
    board = BOARDS[5] if row.reads_first and row.available(592) else board_of(row)
    for fault in all_refused(row, *partial_overlaps(row), board=board):
        check_teaches(fault, row)
        assert isinstance(fault, RuleFault)
        assert "overlap" in fault.message


EXACT = [
    (row, t, o)
    for row, t, o in PAIRS
    if row.overlap[o.name] in ("exact", "whole")
    and not (t.partial and row.returns == "None")  # what is not written stays: tested where the row is
]


@pytest.mark.parametrize(("row", "target", "source"), EXACT, ids=[f"{r.name}-{s.name}" for r, _, s in EXACT])
def test_an_exact_overlap_gives_the_same_result(row, target, source):
    """Where a row may work in place, it does so and leaves what it leaves apart from its source."""

    def run(mlu, heap, case, in_place):
        sample = Sample(mlu, row, case, heap)
        pointer = sample.pointer(target.name)
        if in_place:
            pointer = sample.pointer(source.name).cast(pointer.dtype)
            sample.arguments[target.name] = pointer
        elif target.access == "update":
            pointer.view.raw[:1024] = sample.pointer(source.name).view.raw[:1024]
        result = sample.call()
        step = target.step_on(mlu.core.machine.board.arch.generation, pointer.view.itemsize)
        count = result if target.partial else extent(target, sample.arguments)
        return result, pointer.view.array[:count:step].tobytes()

    def both(mlu, heap, case):
        return [run(mlu, heap, case, in_place) for in_place in (False, True)]

    for case in dtype_cases(row):
        apart, same = on_core(partial(both, case=case), board=board_of(row))

        assert apart == same


WRITTEN_GDRAM = [(row, o) for row, o in OPERANDS if o.access != "read" and GDRAM in o.spaces]


@pytest.mark.parametrize(("row", "operand"), WRITTEN_GDRAM, ids=[r.name for r, _ in WRITTEN_GDRAM])
def test_a_const_tensor_is_not_written(row, operand):
    """GDRAM that the host shares for reading."""

    def change(sample):
        sample.pointer(operand.name).view.allocation.writable = False

    fault = refused(row, change)

    assert isinstance(fault, ReadOnly)
    assert operand.name == fault.operand
