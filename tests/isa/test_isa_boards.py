"""Architectures agree: a row gives the same bytes on every one that has it, but where the tensor unit rounds to tf32."""

from functools import partial

import pytest
from isa_rows import BOARDS, LATER, MEMORY_ROWS, Sample, counts_of, dtype_cases, ids, large, on_core

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import float32

ARCHES = ((372, BOARDS[3]), (592, BOARDS[5]), (613, LATER))
OWN_LAYOUT = {"bang_fcmpfilter"}  # 372 puts the count right in front of the elements
BOTH = [
    row
    for row in MEMORY_ROWS
    if row.available(592) and row.pipe is not Pipe.TENSOR and row.name not in OWN_LAYOUT
]
TENSOR = [row for row in MEMORY_ROWS if row.pipe is Pipe.TENSOR]


def outcomes(row, board):
    """What a sample call of each type writes and returns on *board*: in one launch where a core's memory holds them."""
    cases = dtype_cases(row)
    at_once = 1 if large(counts_of(row)) else 4

    def run(mlu, heap, some):
        samples = [Sample(mlu, row, case, heap) for case in some]
        return [outcome(sample) for sample in samples]

    parts = [cases[n : n + at_once] for n in range(0, len(cases), at_once)]
    return [one for some in parts for one in on_core(partial(run, some=some), board=board)]


def outcome(sample):
    """What a sample call writes and returns."""
    result = repr(sample.call())
    written = [o.name for o in sample.row.operands.values() if o.access != "read"]
    return result, [sample.bytes_of(name).tobytes() for name in written]


@pytest.mark.parametrize("row", BOTH, ids=ids(BOTH))
def test_a_row_gives_the_same_on_every_architecture(row):
    """Every type: 372 where it has the row, 592, and one above."""
    boards = [board for arch, board in ARCHES if row.available(arch)]

    assert len(boards) >= 2
    first, *others = (outcomes(row, board) for board in boards)

    assert all(first == other for other in others)


@pytest.mark.parametrize("row", TENSOR, ids=ids(TENSOR))
def test_the_tensor_unit_agrees_on_what_tf32_holds(row):
    """Small numbers with few bits come out the same; the rounding of others is tested with the unit."""
    found = [outcomes(row, board) for _, board in ARCHES]

    assert found[0] == found[1] == found[2]
    assert any(float32 in case.values() for case in dtype_cases(row))
