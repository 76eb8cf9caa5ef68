"""How three_interpolate_backward compares indices: as integers (TI-9), on MLU2xx as floats of their bits (TI-12)."""

import numpy as np
import pytest
from bangc_twins import SCALARS, performed, steps
from three_interpolate_tools import layout_of

import ops
from mlusim import BLOCK, Device
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, int32, kernel
from mlusim.operators.registry import find_case, find_operator
from ops.three_interpolate_backward import kernel as ported
from ops.three_interpolate_backward.plan import PLAN

TILES = (32, 32, 32)


def select_by_floats(mlu, nram, j, n_deal, m_begin, m_end, spare, c_deal):
    """The window as the document's names of the regions suggest: indices as float, where 2^24 + 1 does not exist."""
    cells = nram.indices_transpose + j * n_deal
    regions = (nram.indices_transpose_inside, nram.indices_transpose_outside)
    as_float, other = (region.cast(float32) for region in regions)
    mlu.bang_int322float(as_float, cells, n_deal, 0)
    mlu.bang_ge_scalar(other, as_float, m_begin, n_deal)
    mlu.bang_lt_scalar(as_float, as_float, m_end, n_deal)
    mlu.bang_and(other, other, as_float, n_deal)
    mlu.bang_int322float(as_float, cells, n_deal, 0)
    mlu.bang_sub_scalar(as_float, as_float, m_begin, n_deal)
    mlu.bang_mul(as_float, as_float, other, n_deal)
    mlu.bang_not(other, other, n_deal)
    mlu.bang_mul_scalar(other, other, spare, n_deal)
    mlu.bang_add(as_float, as_float, other, n_deal)
    mlu.bang_mul_scalar(as_float, as_float, c_deal, n_deal)
    mlu.bang_float2int32(nram.indices_transpose_addition, as_float, n_deal, 0)


def selected(select, cells, m_begin, board="MLU370-X4"):
    """Return the rows that *select* gives to *cells* in the tile of features that begins at *m_begin*."""
    lanes = 32

    @kernel
    def window(mlu, target, source):
        nram = PLAN.place(
            mlu.nram("int8", layout_of(TILES, board=board).high_water), dtype="float32", Co=32, No=32, Mo=32
        )
        mlu.bang_write_value(nram.indices_transpose, 3 * lanes, int32(-1))
        mlu.bang_write_zero(nram.weights_transpose, 3 * lanes)
        mlu.memcpy(nram.indices_transpose, source, len(cells) * 4, GDRAM2NRAM)
        select(mlu, nram, 0, lanes, m_begin, m_begin + 32, 32, 1)
        mlu.memcpy(target, nram.indices_transpose_addition, len(cells) * 4, NRAM2GDRAM)

    device = Device(board)
    target = device.empty(len(cells), int32)
    device.launch(window, (1, 1, 1), BLOCK, (target, device.put(np.array(cells, np.int32))))
    return device.get(target).tolist()


def test_ti_9_floats_cannot_tell_large_indices_apart():
    """Up to 2^24 both select the same rows; above, odd indices become even ones as float."""
    for begin in (0, 64, 2**24 - 32):
        cells = [begin - 1, begin, begin + 1, begin + 31, begin + 32, -1]

        assert [32, 0, 1, 31, 32, 32] == selected(ported.select_rows, cells, begin)
        assert [32, 0, 1, 31, 32, 32] == selected(select_by_floats, cells, begin)

    begin = 2**24
    cells = [begin - 1, begin, begin + 1, begin + 3, begin + 31, begin + 32]

    assert [32, 0, 1, 3, 31, 32] == selected(ported.select_rows, cells, begin)
    assert [32, 0, 0, 2, 30, 32] == selected(select_by_floats, cells, begin)


def test_ti_9_the_largest_indices():
    """The window of the last features of an int32, and indices at both ends of its range."""
    begin = 2**31 - 1 - 32
    cells = [-(2**31), -1, 0, begin - 1, begin, 2**31 - 2, 2**31 - 1]

    assert [32, 32, 32, 32, 0, 31, 32] == selected(ported.select_rows, cells, begin)


def test_ti_9_a_feature_above_two_to_the_24():
    """The whole operator with more features than floats can count: neighbouring ones stay apart."""
    m = 2**24 + 4
    inputs = {
        "grad_output": np.array([[[1, 2]]], np.float32),
        "indices": np.array([[[m - 3, m - 2, 5], [m - 1, m - 3, -1]]], np.int32),
        "weights": np.array([[[1, 10, 100], [1000, 10000, 1]]], np.float32),
    }

    found = ops.run("three_interpolate_backward", inputs, {"m": m}).outputs["grad_features"][0, 0]

    assert {5: 100, m - 3: 20001, m - 2: 10, m - 1: 2000} == {int(i): found[i] for i in np.flatnonzero(found)}


@pytest.mark.parametrize("board", ["MLU220-M2", "MLU270-S4", "MLU290-M5"])
def test_ti_12_the_last_index_of_mlu2xx(board):
    """Windows at both ends of the document's range; no other int32 lies in one, whatever float its bits make."""
    wild = [-(2**31), -(2**31) + 5, -1, 2**23, 2**23 + 1, 2**24 + 1, 0x34800000, 0x7F800001, 2**31 - 1]
    for begin in (0, 64, 2**23 - 32):
        cells = [begin - 1, begin, begin + 1, begin + 31, begin + 32, *wild]

        assert [32, 0, 1, 31, 32, *[32] * len(wild)] == selected(ported.select_rows, cells, begin, board)


@pytest.mark.parametrize(
    "case", ["extreme_indices", "nan_weights_of_other_tiles_half", "one_point", "zoo_2", "cube_65_float16"]
)
def test_ti_12_indices_on_mlu2xx(case):
    """Right by the reference, and the same bytes and steps from kernel.py and from kernel.mlu, which says what waits for scalar loads."""
    spec = find_operator("three_interpolate_backward")
    found = [
        performed(spec.name, find_case(spec, case), "MLU290-M5", source=source) for source in (False, True)
    ]

    assert all(run.passed for run in found)
    assert found[0].outputs["grad_features"].tobytes() == found[1].outputs["grad_features"].tobytes()
    for ours, theirs in zip(found[0].launches, found[1].launches, strict=True):
        assert [steps(task.log) for task in ours.tasks] == [steps(task.log) for task in theirs.tasks]
        assert ours.time_us == pytest.approx(theirs.time_us, rel=SCALARS)
