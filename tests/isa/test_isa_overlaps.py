"""Overlaps of a destination with its sources that vendor kernels use, and those that stay faults."""

import numpy as np
import pytest
from isa_rows import board_of, dtype_cases, execute, on_core, refused

from mlusim.bang import FUSION_FAM, FUSION_FMA, FUSION_FMS
from mlusim.errors import RuleFault
from mlusim.isa.table import ISA

WIDENING = [row for row in ISA.values() if row.overlap.get("src") == "tail"]
IDS = [row.name for row in WIDENING]
COUNT = 100


def converted(row, distance):
    """The floats of 100 narrow elements whose source begins *distance* bytes behind the destination."""
    case = dtype_cases(row)[0]
    target, source = case["dst"], case["src"]
    values = np.arange(COUNT).astype(source.dtype)

    def run(mlu, _):
        room = mlu.nram(np.int8, 2048)
        src = (room + distance).cast(source)
        src.view.raw[src.offset : src.offset + values.nbytes] = values.view(np.uint8)
        getattr(mlu, row.name)(room.cast(target), src, COUNT)
        return room.cast(target).view.array[:COUNT].copy()

    return on_core(run, board=board_of(row)), values.astype(target.dtype)


@pytest.mark.parametrize("row", WIDENING, ids=IDS)
def test_a_widening_conversion_may_have_its_source_in_its_end(row):
    """The narrow source ends with the wide destination, or behind it, and is read before it is overwritten."""
    case = dtype_cases(row)[0]
    more = COUNT * (case["dst"].size - case["src"].size)
    for distance in (more, more + 3 * case["src"].size):
        found, expected = converted(row, distance)

        assert expected.tobytes() == found.tobytes()


@pytest.mark.parametrize("row", WIDENING, ids=IDS)
def test_a_widening_conversion_refuses_a_source_that_it_would_overwrite(row):
    """One element in front of the end, and at the start."""
    case = dtype_cases(row)[0]
    more = COUNT * (case["dst"].size - case["src"].size)
    for distance in (more - case["src"].size, 0):
        with pytest.raises(
            RuleFault, match="dst overlaps src by .* in front of src and ending with it or before"
        ):
            converted(row, distance)


def test_a_short_vector_of_a_fusion_is_apart_from_the_destination():
    """A vector that is used again and again would be overwritten before its second use."""
    row = ISA["bang_fusion"]

    def short(sample):
        sample.arguments |= {"dst": sample.arguments["src1"], "src12_elem_count": 64}

    fault = refused(row, short)

    assert "dst overlaps src1 by 128 bytes" in fault.message
    assert "exactly at src1 and as long" in fault.legal


def test_logic_may_write_either_source():
    """`dst == src1`, as in four vendor kernels."""
    a, b = np.array([0, 1, 0, 2], np.float32), np.array([0, 0, 3, 4], np.float32)

    def run(mlu, _):
        first, second = mlu.nram(np.float32, 4), mlu.nram(np.float32, 4)
        first.view.array[:], second.view.array[:] = a, b
        mlu.bang_and(second, first, second, 4)
        return second.view.array.tolist()

    assert [0, 0, 0, 1] == on_core(run)


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.uint16, np.uint32])
def test_fusion_of_integers_wraps(dtype):
    """Multiply-add and add-multiply in the element type, modulo its width."""
    a = np.array([0, 1, 7, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    bits = 8 * a.itemsize
    for op, formula in (
        (FUSION_FMA, lambda x: x * 3 + 5),
        (FUSION_FMS, lambda x: x * 3 - 5),
        (FUSION_FAM, lambda x: (x + 3) * 5),
    ):
        after = execute("bang_fusion", op=op, dst=np.zeros(5, dtype), src0=a, src1=3, src2=5, elem_count=5)
        expected = [formula(int(x)) % (1 << bits) for x in a]

        assert expected == [int(x) % (1 << bits) for x in after["dst"]]


def test_the_bits_of_a_mask_are_turned_around():
    """(mask + 1) * -1 makes 0 of -1 and -1 of 0, as vendor kernels have it."""
    mask = np.array([0, -1, -1, 0], np.int32)

    after = execute("bang_fusion", op=FUSION_FAM, dst=mask.copy(), src0=mask, src1=1, src2=-1, elem_count=4)

    assert [-1, 0, 0, -1] == after["dst"].tolist()


def test_a_row_without_a_destination_says_nothing_of_overlaps():
    """Of a sum or a load there is nothing that a source could meet; of a source elsewhere neither."""
    for row in ISA.values():
        for name in row.overlap:
            meets = [
                o
                for o in row.operands.values()
                if o.access != "read" and set(o.spaces) & set(row.operands[name].spaces)
            ]

            assert meets, (row.name, name)
    assert {} == dict(ISA["bang_sum"].overlap)
