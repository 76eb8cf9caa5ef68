"""The checkers where operands lie in many places: gathers, scatters, discrete atomics, strided vector instructions."""

import numpy as np
import pytest
from observe_tools import found, line_of

from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, NRAM2NRAM, float32, int32, kernel, uint8, uint32

BOARD = "MLU590-H8"
INIT, RACE = ["initcheck"], ["racecheck"]


@kernel
def gathered(mlu, out, size, count, defined):
    source, target = mlu.nram(uint8, 256), mlu.nram(uint8, 256)
    offset = mlu.nram(uint32, 4, [96, 0, 48, 24])
    mlu.bang_write_value(source, defined, np.uint8(1))
    mlu.gather_async(target, source, offset, size, NRAM2NRAM, size, 4)
    mlu.sync()
    mlu.memcpy(out, target, size * count, NRAM2GDRAM)


@pytest.mark.parametrize("size", [4, 8, 12, 24])
def test_each_gathered_piece_takes_its_flags_along(size):
    """The first piece comes from where nothing was written; without it nothing is said, whatever the size of a piece."""
    assert () == found(gathered, (256, uint8), size, 4, 128, observe=INIT, board=BOARD)
    (finding,) = found(gathered, (256, uint8), size, 4, 96, observe=INIT, board=BOARD)

    assert "initcheck-undefined-stored" == finding.id
    assert size == finding.facts["bytes"]


@kernel
def by_unknown_offsets(mlu, out):
    source, target = mlu.nram(float32, 8, [1]), mlu.nram(float32, 8)
    offset = mlu.nram(uint32, 8)
    mlu.bang_write_zero(offset, 4)
    offset.view.array[4:] = 0
    mlu.gather(target, source, offset, 4, NRAM2NRAM, 4, 8)
    mlu.memcpy(out, target, 32, NRAM2GDRAM)


def test_offsets_without_a_value_are_reported_where_they_are_needed():
    """Half of the offsets were never written."""
    (finding,) = found(by_unknown_offsets, (8, float32), observe=INIT, board=BOARD)

    assert "initcheck-undefined-address" == finding.id
    assert line_of(by_unknown_offsets, "mlu.gather(") == finding.line


@kernel
def counted(mlu, bins, written):
    offset, ones, old = mlu.nram(uint32, 4, [0, 4, 4, 8]), mlu.nram(int32, 4), mlu.nram(int32, 4)
    mlu.bang_write_value(ones, written, 1)
    mlu.bang_discrete_atomic_add(old, bins, offset, ones, 4)


def test_discrete_atomics_add_what_has_a_value_and_order_nothing_wrongly():
    """All written: silent, by many tasks too; one element of the source missing: reported."""
    zeros = np.zeros(4, np.int32)

    assert () == found(counted, zeros, 4, observe=[*INIT, *RACE], board=BOARD, dim=(8, 1, 1))
    (finding,) = found(counted, zeros, 3, observe=INIT, board=BOARD)

    assert "initcheck-undefined-stored" == finding.id


@kernel
def counted_and_stored(mlu, bins):
    offset, old = mlu.nram(uint32, 4, [0, 4, 4, 8]), mlu.nram(int32, 4, [0])
    if mlu.taskId == 0:
        mlu.bang_discrete_atomic_add(old, bins, offset, 1, 4)
    else:
        mlu.memcpy(bins, old, 16, NRAM2GDRAM)


def test_a_copy_over_what_others_count_is_a_race():
    """Atomics are in no order with plain stores of another task."""
    findings = found(counted_and_stored, np.zeros(4, np.int32), observe=RACE, board=BOARD, dim=(2, 1, 1))

    assert findings
    assert all(f.id.startswith("racecheck-tasks") for f in findings)


@kernel
def overtaken(mlu, source, form, waits):
    a, b = mlu.nram(float32, 256, [1]), mlu.nram(float32, 512)
    if form == "move":
        mlu.bang_move(b, a, 128, 256, 128, 3)
    elif form == "copy":
        mlu.memcpy_nram_to_nram(b, a, 128, 256, 128, 4)
    elif form == "tile":
        mlu.bang_tiling_2d_b32(b, a, 4, 16, 4, 2)
    else:
        mlu.bang_maxpool_value_index(b, a, 8, 4, 4, 2, 2, 2, 2, 512)
    if waits:
        mlu.sync_compute()
    mlu.memcpy_async(a, source, 512, GDRAM2NRAM)
    mlu.sync()


@pytest.mark.parametrize("form", ["move", "copy", "tile", "pool"])
def test_an_asynchronous_copy_may_overtake_a_strided_vector_instruction(form):
    """The copy overwrites bytes that the vector unit still reads, unless a sync stands between them."""
    source = np.ones(128, np.float32)
    (finding,) = found(overtaken, source, form, False, observe=RACE, board=BOARD)

    assert "racecheck-write-after-read" == finding.id
    assert () == found(overtaken, source, form, True, observe=RACE, board=BOARD)
