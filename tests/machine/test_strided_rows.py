"""The strided forms of rows that are not copies: what may interleave, and that all their numbers are given."""

import pytest

import mlusim
from mlusim.bang import int8, int32, kernel
from mlusim.errors import RuleFault


def on_core(body):
    """Run *body* as a kernel on one core."""
    return mlusim.Device().launch(kernel(body))


def test_a_move_may_interleave_with_its_source():
    """Columns of one matrix move to other columns of it; onto themselves too; not half onto themselves."""

    def body(mlu):
        matrix = mlu.nram(int32, 16, range(16))
        mlu.bang_move(matrix + 2, matrix, 8, 16, 16, 3)
        mlu.bang_move(matrix, matrix, 8, 16, 16, 3)
        got.extend(matrix[i] for i in range(16))
        mlu.bang_move(matrix + 1, matrix, 8, 16, 16, 3)

    got = []
    with pytest.raises(RuleFault, match="dst overlaps src; legal: dst exactly at src or apart from src"):
        on_core(body)

    assert [0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13] == got


@pytest.mark.parametrize(
    "given_strides", [{"src_stride": 8}, {"segnum": 1}, {"dst_stride": 8, "segnum": 1}, {"dst_stride": 8}]
)
def test_half_a_strided_form_is_refused(given_strides):
    """Any of its numbers asks for it, and then all are needed."""
    with pytest.raises(RuleFault, match="is missing; legal: all strides and iterations, or none"):
        on_core(lambda m: m.bang_move(m.nram(int8, 64), m.nram(int8, 64), 4, **given_strides))
