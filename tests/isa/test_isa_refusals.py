"""Bad calls of every row: each operand, each rule; the fault names intrinsic, operand, legal range and line."""

from functools import partial

import numpy as np
import pytest
from isa_rows import (
    BOARDS,
    DENSE_ROWS,
    MEMORY_ROWS,
    Sample,
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
from mlusim.engine.environment import extent
from mlusim.errors import OutOfBounds, ReadOnly, RuleFault, WrongSpace
from mlusim.formula.rows import ONE, names_in
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import GDRAM, LDRAM, NRAM, WRAM

HERE = __file__.rsplit("/", 1)[-1]
OPERANDS = [(row, o) for row in MEMORY_ROWS for o in row.operands.values()]
OPERAND_IDS = [f"{row.name}-{o.name}" for row, o in OPERANDS]


@pytest.mark.parametrize(("row", "operand"), OPERANDS, ids=OPERAND_IDS)
def test_an_operand_in_the_wrong_memory_is_refused(row, operand):
    """A pointer into a memory that the row does not take."""
    wrong = next(s for s in (WRAM, LDRAM, NRAM, GDRAM) if s not in operand.spaces)

    def change(sample):
        dtype = sample.pointer(operand.name).dtype
        heap = next((a for a in sample.arguments.values() if isinstance(a, Ptr) and a.space is GDRAM), None)
        assert wrong is not GDRAM or heap is not None
        sample.arguments[operand.name] = sample.declare(wrong, dtype, 4096, heap)

    fault = refused(row, change)

    check_teaches(fault, row, operand)
    assert isinstance(fault, WrongSpace)
    assert space_of(operand).name in fault.legal
    assert wrong.name in fault.message


@pytest.mark.parametrize(("row", "operand"), OPERANDS, ids=OPERAND_IDS)
def test_something_that_is_no_pointer_is_refused(row, operand):
    """None, and an array of the host, where the row takes memory."""
    wrong = (None, np.zeros(4, np.float32), "memory")
    for fault in refused(row, *(lambda s, w=w: s.arguments.update({operand.name: w}) for w in wrong)):
        check_teaches(fault, row, operand)
        assert isinstance(fault, WrongSpace)


TYPED = [(row, o) for row, o in OPERANDS if o.name not in row.void]  # the others are cast


@pytest.mark.parametrize(("row", "operand"), TYPED, ids=[f"{r.name}-{o.name}" for r, o in TYPED])
def test_an_operand_of_the_wrong_type_is_refused(row, operand):
    """A pointer of an element type that the row does not take, or that the others do not have."""
    right = dtype_cases(row)[0][operand.name]
    wrong = [d for d in DTYPES if d not in operand.dtypes]
    if len(row.same) > 1 and operand.name in row.same:
        wrong += [d for d in operand.dtypes if d is not right][:1]

    def recast(sample, dtype):
        sample.arguments[operand.name] = sample.pointer(operand.name).cast(dtype)

    faults = refused(row, *(partial(recast, dtype=d) for d in wrong))

    for fault in [faults] if len(wrong) == 1 else faults:
        check_teaches(fault, row)
        assert isinstance(fault, WrongSpace)


@pytest.mark.parametrize(("row", "operand"), OPERANDS, ids=OPERAND_IDS)
def test_one_past_an_allocation_is_refused(row, operand):
    """The operand moved so that one element is missing, behind its memory and in front of it."""

    def behind(sample):
        pointer = sample.pointer(operand.name)
        count = 1 if operand.partial else extent(operand, sample.arguments)
        sample.arguments[operand.name] = pointer + (pointer.view.size - count + 1)

    def before(sample):
        sample.arguments[operand.name] = sample.pointer(operand.name) - 1

    for fault in refused(row, behind, before):
        check_teaches(fault, row, operand)
        assert isinstance(fault, OutOfBounds)
        assert "addresses 0x" in fault.legal


COUNTED = [
    (row, name)
    for row in MEMORY_ROWS
    for name in counts_of(row)
    if not name.startswith("pad_")  # may be 0; their rules refuse less
    and name != "fix_pos"  # the dilation of height in a form of its own
    and any(name in names_in(o.extent) for o in row.operands.values())
]


@pytest.mark.parametrize(("row", "name"), COUNTED, ids=[f"{r.name}-{n}" for r, n in COUNTED])
def test_zero_and_negative_counts_are_refused(row, name):
    """A count of zero or less."""
    counts = (0, -1, -(1 << 40))
    for fault in refused(row, *(lambda s, c=c: s.arguments.update({name: c}) for c in counts)):
        check_teaches(fault, row)
        assert isinstance(fault, RuleFault)


@pytest.mark.parametrize("row", MEMORY_ROWS, ids=ids(MEMORY_ROWS))
def test_a_count_that_is_no_integer_is_refused(row):
    """A float where a count is asked; NumPy integers are welcome."""
    for name, count in counts_of(row).items():
        fault = refused(row, lambda s, name=name, count=count: s.arguments.update({name: float(count)}))

        check_teaches_count(fault, row, name)

        def numpy_count(mlu, heap, name=name, count=count):
            Sample(mlu, row, dtype_cases(row)[0], heap).call(**{name: np.int64(count)})
            return True

        assert on_core(numpy_count, board=board_of(row))


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
PAIR_IDS = [f"{r.name}-{t.name}-{s.name}" for r, t, s in PAIRS]


@pytest.mark.parametrize(("row", "target", "source"), PAIRS, ids=PAIR_IDS)
def test_a_partial_overlap_is_refused(row, target, source):
    """The destination one byte-size step into a source, from either side; or at its very start where forbidden."""
    board = BOARDS[5] if row.reads_first and row.available(592) else board_of(row)
    steps = (1, -1, 0) if row.overlap[source.name] in ("disjoint", "tail") else (1, -1)
    if target.extent == ONE:  # one element in front of the source does not reach into it
        steps = (1, 0)
    for step in steps:

        def change(sample, step=step):
            first = sample.pointer(source.name)
            count = extent(source, sample.arguments)
            first.view.array[64 : 64 + count] = first.view.array[:count]
            at = (first + 64).cast(sample.pointer(target.name).dtype)
            sample.arguments[source.name] = first + 64
            sample.arguments[target.name] = at + step

        fault = refused(row, change, board=board)

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
        step = target.step_on(mlu.core.session.board.arch.generation, pointer.view.itemsize)
        count = result if target.partial else extent(target, sample.arguments)
        return result, pointer.view.array[:count:step].tobytes()

    for case in dtype_cases(row):
        apart, same = (
            on_core(lambda mlu, heap, p=p, case=case: run(mlu, heap, case, p), board=board_of(row))
            for p in (False, True)
        )

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
