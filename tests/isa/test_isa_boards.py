"""Architectures agree: a row gives the same bytes on every one that has it, but where the tensor unit rounds to tf32."""

import pytest
from isa_rows import BOARDS, LATER, MEMORY_ROWS, Sample, dtype_cases, ids, on_core

from mlusim.arch.dtypes import float32
from mlusim.arch.pipe import Pipe

ARCHES = ((372, BOARDS[3]), (592, BOARDS[5]), (613, LATER))
OWN_LAYOUT = {"bang_fcmpfilter"}  # 372 puts the count right in front of the elements
BOTH = [
    row
    for row in MEMORY_ROWS
    if row.available(592) and row.pipe is not Pipe.TENSOR and row.name not in OWN_LAYOUT
]
TENSOR = [row for row in MEMORY_ROWS if row.pipe is Pipe.TENSOR]


def outcome(row, case, board):
    """What a sample call writes and returns on *board*."""

    def run(mlu, heap):
        sample = Sample(mlu, row, case, heap)
        result = sample.call()
        written = [sample.bytes_of(o.name).tobytes() for o in row.operands.values() if o.access != "read"]
        return repr(result), written

    return on_core(run, board=board)


@pytest.mark.parametrize("row", BOTH, ids=ids(BOTH))
def test_a_row_gives_the_same_on_every_architecture(row):
    """Every type: 372 where it has the row, 592, and one above."""
    boards = [board for arch, board in ARCHES if row.available(arch)]

    assert len(boards) >= 2
    for case in dtype_cases(row):
        first, *others = (outcome(row, case, board) for board in boards)

        assert all(first == other for other in others), case


@pytest.mark.parametrize("row", TENSOR, ids=ids(TENSOR))
def test_the_tensor_unit_agrees_on_what_tf32_holds(row):
    """Small numbers with few bits come out the same; the rounding of others is tested with the unit."""
    for case in dtype_cases(row):
        found = [outcome(row, case, board) for _, board in ARCHES]

        assert found[0] == found[1] == found[2], case
    assert any(float32 in case.values() for case in dtype_cases(row))
