"""What the document of three_interpolate_backward says literally, and why it cannot be meant: TI-1 to TI-11.

A literal reading replaces a device function or a loop of the kernel, meets the definition and loses; where it stands
here as a few lines of NumPy too, that says by itself what is lost.
"""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from three_interpolate_tools import (
    Recorder,
    directions,
    expected_of,
    integers,
    is_right,
    launched,
    layout_of,
)

import ops
from mlusim import UNION1, Device
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, NRAM2NRAM, float32, int8
from mlusim.errors import Fault, OutOfBounds, StatusError
from ops.three_interpolate_backward import kernel as ported
from ops.three_interpolate_backward.plan import DRAWING, PLAN

UNIT = 32
TILES = (UNIT, UNIT, UNIT)


def tiles(total, size=UNIT):
    """Split [0, total) into tiles with the tail."""
    return [(begin, min(begin + size, total)) for begin in range(0, total, size)]


def whole_tiles(total, size=UNIT):
    """Split [0, total) into total / size tiles of C integers: no tail."""
    return [(i * size, (i + 1) * size) for i in range(total // size)]


def by_steps(inputs, m, *, m_tiles=None, c_tiles=None, n_tiles=None, neighbours=3, reload=True):
    """Carry out steps 2 to 13 in NumPy for the given tiles; without *reload*, steps 2 and 3 only once per tile of C."""
    grad, indices, weights = (
        inputs[name].astype(np.float64) for name in ("grad_output", "indices", "weights")
    )
    b, c, n = grad.shape
    features = np.zeros((b, c, m))
    for batch, (m0, m1) in [(i, t) for i in range(b) for t in (m_tiles or tiles(m))]:
        for c0, c1 in c_tiles or tiles(c):
            rows = np.zeros((m1 - m0 + 1, c1 - c0))
            for n0, n1 in n_tiles or tiles(n):
                loaded = n0 if reload else 0
                for j, i in [(j, i) for j in range(neighbours) for i in range(n1 - n0)]:
                    cell = int(indices[batch, loaded + i, j])
                    row = cell - m0 if m0 <= cell < m1 else m1 - m0
                    rows[row] += grad[batch, c0:c1, n0 + i] * weights[batch, loaded + i, j]
            features[batch, c0:c1, m0:m1] = rows[:-1].T[:, : m - m0]
    return features


def test_the_steps_as_corrected_are_the_definition():
    """The NumPy form of the steps, from which the literal readings below depart, is right."""
    inputs = integers((2, 40, 70, 50))

    assert np.array_equal(expected_of(inputs, 50), by_steps(inputs, 50))


def test_ti_1_indices_and_weights_belong_to_the_tile_of_n():
    """Step 10 repeats steps 4 to 9 only: the second tile of N would meet the first one's indices and weights."""
    inputs = integers((1, 3, 64, 20))

    literal = by_steps(inputs, 20, reload=False)

    assert not is_right(literal, inputs, 20)


def test_ti_1_in_the_kernel(plant):
    """The same in the simulator: steps 2 and 3 left out of the loop over N."""
    inputs = integers((1, 3, 64, 20))
    load = ported.load_neighbours

    def only_the_first(mlu, nram, indices, weights, n_real, n_deal):
        if indices.offset == 0:
            load(mlu, nram, indices, weights, n_real, n_deal)

    plant(load_neighbours=only_the_first)
    literal, _ = launched(inputs, 20, TILES)

    assert not is_right(literal, inputs, 20)


def test_ti_1_steps_2_to_4_load_everything_once():
    """Step 2 names the same loads as steps 3 and 4: carried out literally the traffic would be twice as large."""
    inputs = integers((2, 20, 30, 25))

    traffic = ops.run("three_interpolate_backward", inputs, {"m": 25}).traffic

    assert sum(array.nbytes for array in inputs.values()) == traffic["GDRAM2NRAM"]
    assert (2 * 20 * 25 * 4) == traffic["NRAM2GDRAM"]


def test_ti_2_one_pass_over_steps_5_to_9_takes_one_neighbour():
    """Without a loop over the three neighbours only the first one contributes."""
    inputs = integers((2, 3, 20, 20))

    assert not is_right(by_steps(inputs, 20, neighbours=1), inputs, 20)
    assert not is_right(by_steps(inputs, 20, neighbours=2), inputs, 20)


@pytest.fixture
def plant(monkeypatch):
    """Plant a defect, ``plant(name=other)``: the ported kernel finds *other* by that name, for one test."""

    def planted(**others):
        for name, other in others.items():
            monkeypatch.setattr(ported, name, other, raising=False)

    return planted


def ranging(plant, literal):
    """Let the loops of the kernel run over what *literal* makes of the arguments of their `range`."""
    plant(range=lambda *ends: literal(*ends) or range(*ends))


def test_ti_2_in_the_kernel(plant):
    """The same in the simulator: the loop over the neighbours left out."""
    inputs = integers((2, 3, 20, 20))
    ranging(plant, lambda *ends: range(1) if ends == (3,) else None)
    literal, _ = launched(inputs, 20, TILES)

    assert not is_right(literal, inputs, 20)
    assert np.array_equal(by_steps(inputs, 20, neighbours=1), literal)


@pytest.mark.parametrize("which", ["m_tiles", "c_tiles", "n_tiles"])
def test_ti_3_in_the_kernel(which, plant):
    """Loops over whole tiles only, in the simulator: what no tile stores is still the sevens of the output."""
    b, c, n, m = 2, 40, 70, 50
    inputs = integers((b, c, n, m))
    total = {"m_tiles": m, "c_tiles": c, "n_tiles": n}[which]
    if which == "m_tiles":
        plant(DIV_UP=lambda whole, part: whole // part)
    ranging(plant, lambda *ends: range(0, total // UNIT * UNIT, UNIT) if ends == (0, total, UNIT) else None)
    literal, _ = launched(inputs, m, TILES)

    assert not is_right(literal, inputs, m)
    assert (literal[:, :, UNIT:] == 7).all() == (which == "m_tiles")
    assert (literal[:, UNIT:] == 7).all() == (which == "c_tiles")


@pytest.mark.parametrize("which", ["m_tiles", "c_tiles", "n_tiles"])
def test_ti_3_quotients_without_their_tails_lose_data(which):
    """M / Mo, C / Co and N / No of C integers leave the last, short tile out."""
    b, c, n, m = 2, 40, 70, 50
    inputs = integers((b, c, n, m))
    total = {"m_tiles": m, "c_tiles": c, "n_tiles": n}[which]

    literal = by_steps(inputs, m, **{which: whole_tiles(total)})

    assert not is_right(literal, inputs, m)


def test_ti_3_b_times_m_over_mo_straddles_batches():
    """B * M / Mo counts tiles of the flattened B * M: too few of them, and one that begins in one batch ends in the next.

    The document does not say which indices a tile in two batches would load, so its literal form cannot run: shown is
    which tiles there would be, and what the kernel stores.
    """
    b, m = 3, 50
    literal = [(i * UNIT, (i + 1) * UNIT) for i in range(b * m // UNIT)]

    covered = literal[-1][1]
    straddling = [t for t in literal if t[0] // m != (t[1] - 1) // m]
    _, launch = launched(integers((b, 1, 1, m)), m, TILES)

    assert b * m > covered
    assert [(32, 64), (96, 128)] == straddling
    stored = launch.traffic["NRAM2GDRAM"]
    assert b * m * 4 == stored
    assert covered * 4 < stored


def test_ti_4_transposing_the_output_before_the_sum_adds_what_was_there(plant):
    """Step 7 word by word loads grad_features and turns it: the sums then begin with what the output held, sevens."""
    inputs, m = integers((1, 3, 20, 20)), 20

    def step_7(mlu, nram, c_deal):
        """Load what the output holds, here sevens, in place of clearing the rows."""
        mlu.bang_write_value(nram.grad_features_transpose, UNIT * c_deal, float32(7))
        mlu.bang_transpose(nram.grad_features, nram.grad_features_transpose, c_deal, UNIT)
        mlu.bang_write_zero(nram.grad_features + UNIT * c_deal, c_deal)

    corrected, _ = launched(inputs, m, TILES)
    plant(clear_features=lambda mlu, nram, mo, c_deal: step_7(mlu, nram, c_deal))
    literal, _ = launched(inputs, m, TILES)

    assert np.array_equal(expected_of(inputs, m), corrected)
    assert np.array_equal(expected_of(inputs, m) + 7, literal)


def test_ti_4_step_11_without_a_transpose_back(plant):
    """Stored as summed, Mo x Co lands where Co x Mo belongs, even where both are equally large."""
    inputs = integers((1, UNIT, 20, UNIT))

    def step_11(mlu, nram, grad_features, m, m_real, m_deal, c_real, c_deal):
        """The store as printed: from grad_features, not from its transpose."""
        mlu.memcpy(grad_features, nram.grad_features, UNIT * UNIT * 4, NRAM2GDRAM)

    plant(store_features=step_11)
    literal, _ = launched(inputs, UNIT, TILES)

    assert not is_right(literal, inputs, UNIT)
    assert np.array_equal(expected_of(inputs, UNIT)[0].T, literal[0])


def test_ti_4_step_11_is_a_strided_store():
    """A tile of M is m_real columns of rows that are M apart: one copy of as many segments as channels."""
    recorder = Recorder()
    launched(integers((1, 3, 4, 50)), 50, TILES, observe=[recorder])
    stores = [e.writes[0] for e in recorder.effects if directions(e) == [NRAM2GDRAM]]

    expected = [(0, 32 * 4, ((50 * 4, 3),)), (32 * 4, 18 * 4, ((50 * 4, 3),))]

    assert expected == sorted((access.start, access.size, access.steps) for access in stores)


def gather_add_scatter(mlu, nram, rows, c_deal):
    """Steps 8 and 9 word by word: select the features of all rows, add the products, put them back."""
    offsets = [int(nram.indices_transpose_addition[i]) for i in range(len(rows))]
    for row, offset in zip(rows, offsets, strict=True):
        mlu.bang_add(row, row, nram.grad_features + offset, c_deal)
    for row, offset in zip(rows, offsets, strict=True):
        mlu.memcpy(nram.grad_features + offset, row, c_deal * row.dtype.size, NRAM2NRAM)


def _three_points(indices):
    ones = np.zeros((1, 3, 3), np.float32)
    ones[:, :, 0] = 1
    cells = np.full((1, 3, 3), -1, np.int32)
    cells[0, :, 0] = indices
    return {"grad_output": np.array([[[1, 2, 4]]], np.float32), "indices": cells, "weights": ones}


def test_ti_5_all_at_once_loses_repeated_features(plant):
    """Cells 1, 1, 2 receive 1, 2, 4: cell 1 is 3, and 2 when all rows are selected before any is put back."""
    found, _ = launched(_three_points([1, 1, 2]), 3, TILES)
    apart, _ = launched(_three_points([0, 1, 2]), 3, TILES)
    plant(add_rows=gather_add_scatter)
    literal, _ = launched(_three_points([1, 1, 2]), 3, TILES)
    literal_apart, _ = launched(_three_points([0, 1, 2]), 3, TILES)

    assert [0, 3, 4] == found[0, 0].tolist()
    assert [0, 2, 4] == literal[0, 0].tolist()
    assert np.array_equal(apart, literal_apart)


def without_a_window(mlu, nram, j, n_deal, m_begin, m_end, spare, c_deal):
    """Step 8 word by word: the index is the row of the tile, wherever the tile and the index are."""
    del m_end, spare
    cells = nram.indices_transpose + j * n_deal
    mlu.bang_sub_scalar(nram.indices_transpose_addition, cells, m_begin, n_deal)
    mlu.bang_mul_scalar(nram.indices_transpose_addition, nram.indices_transpose_addition, c_deal, n_deal)


def test_ti_6_indices_of_other_tiles_need_a_place(plant):
    """Without a window a feature of another tile is a row outside: it damages the rows that wait to be added."""
    inputs = integers((1, 3, UNIT, 64))
    inputs["indices"][:, ::2], inputs["indices"][:, 1::2] = 31, 40
    found, _ = launched(inputs, 64, TILES)
    plant(select_rows=without_a_window)
    literal, _ = launched(inputs, 64, TILES)

    assert np.array_equal(expected_of(inputs, 64), found)
    assert not is_right(literal, inputs, 64)


def test_ti_6_a_weight_of_zero_is_not_enough():
    """NaN * 0 is NaN: what belongs to no feature must land in the spare row, not in row 0 with weight 0."""
    inputs = integers((1, 2, 4, 3))
    inputs["grad_output"][0, 0, 1] = np.nan
    inputs["indices"][0, 1] = (-1, 3, 2**31 - 1)
    found, _ = launched(inputs, 3, TILES)

    kept = np.where((inputs["indices"] >= 0) & (inputs["indices"] < 3), inputs["weights"], 0)
    literal = by_steps({**inputs, "indices": np.clip(inputs["indices"], 0, 2), "weights": kept}, 3)

    assert np.isfinite(found).all()
    assert np.isnan(literal[0, 0]).any()


def into_row_zero(mlu, nram, j, n_deal, m_begin, m_end, spare, c_deal):
    """Step 8 with weight 0 and row 0 for an index outside the tile."""
    del spare
    cells, weight = nram.indices_transpose + j * n_deal, nram.weights_transpose + j * n_deal
    inside, other = nram.indices_transpose_inside, nram.indices_transpose_outside
    offsets = nram.indices_transpose_addition
    mlu.bang_ge_scalar(inside, cells, m_begin, n_deal)
    mlu.bang_lt_scalar(other, cells, m_end, n_deal)
    mlu.bang_and(inside, inside, other, n_deal)
    mlu.bang_sub_scalar(offsets, cells, m_begin, n_deal)
    mlu.bang_mul(offsets, offsets, inside, n_deal)
    mlu.bang_mul_scalar(offsets, offsets, c_deal, n_deal)
    mlu.bang_mul_scalar(inside, inside, -1, n_deal)
    mlu.bang_band(weight.cast(int8), weight.cast(int8), inside.cast(int8), n_deal * 4)


def test_ti_6_a_weight_of_zero_in_the_kernel(plant):
    """The same in the simulator: finite values do not tell, a NaN that belongs to no feature reaches row 0."""
    inputs = integers((1, 2, 4, 3))
    inputs["indices"][0, 1] = (-1, 3, 2**31 - 1)
    plant(select_rows=into_row_zero)
    finite, _ = launched(inputs, 3, TILES)
    inputs["grad_output"][0, 0, 1] = np.nan
    literal, _ = launched(inputs, 3, TILES)

    assert np.array_equal(
        by_steps(inputs | {"grad_output": np.nan_to_num(inputs["grad_output"])}, 3)[0, 1], finite[0, 1]
    )
    assert np.isnan(literal[0, 0, 0])


def spilled(plan, plant):
    """Return (result, bytes of row additions outside the region of the features) with *plan*."""
    inputs = integers((1, 3, UNIT, UNIT))
    inputs["indices"][:, 5] = UNIT  # one point whose neighbours belong to no tile
    plant(PLAN=plan)
    recorder = Recorder()
    found, _ = launched(inputs, UNIT, TILES, plan=plan, observe=[recorder])
    region = layout_of(TILES, plan=plan).stage("tile").region("grad_features")
    targets = [e.writes[0] for e in recorder.effects if e.name == "bang_add"]
    rows = [access for access in targets if region.offset <= access.start <= region.end]
    return is_right(found, inputs, UNIT), sum(max(0, a.span[1] - region.end) for a in rows)


def test_ti_7_the_spare_row_stands_behind_the_features(plant):
    """Where the drawing puts it, row Mo of the features is the first row of another region, which happens to be free."""
    assert (True, 3 * UNIT * 4) == spilled(DRAWING, plant)
    assert (True, 0) == spilled(PLAN, plant)
    assert layout_of(TILES).high_water == layout_of(TILES, plan=DRAWING).high_water


def test_ti_7_the_plan_check_names_the_spill():
    """The drawing as a plan touches more of grad_features than it holds; the port's plan does not."""
    drawn = {(finding.rule, finding.region) for finding in DRAWING.check()}
    right = {(finding.rule, finding.region) for finding in PLAN.check()}

    assert ("plan-spill", "grad_features") in drawn
    assert not [row for row in right if row[0] == "plan-spill"]


def without_presets(mlu, nram, indices, weights, n_real, n_deal):
    """Step 3 word by word: load and transpose; the lanes behind a tail keep what an earlier tile left."""
    mlu.memcpy(nram.indices, indices, n_real * 3 * 4, GDRAM2NRAM)
    mlu.bang_transpose(nram.indices_transpose, nram.indices, n_deal, 3)
    mlu.memcpy(nram.weights, weights, n_real * 3 * weights.dtype.size, GDRAM2NRAM)
    mlu.bang_transpose(nram.weights_transpose, nram.weights, n_deal, 3)


def gradients_without_presets(mlu, nram, grad_output, n, n_real, n_deal, c_real, c_deal):
    """Step 4 word by word: load, and nothing behind the last point or channel."""
    del c_deal
    es = grad_output.dtype.size
    mlu.memcpy(nram.grad_output, grad_output, n_real * es, GDRAM2NRAM, n_deal * es, n * es, c_real - 1)


def whole_tile_of_rows(mlu, nram, rows, c_deal):
    """Steps 6 to 9 word by word: all No rows of the product are added, the padding with them."""
    add = ported_add_rows
    add(
        mlu,
        nram,
        [nram.grad_output_transpose + i * c_deal for i in range(-(-len(rows) // UNIT) * UNIT)],
        c_deal,
    )


ported_add_rows = ported.add_rows


def test_ti_8_padding_lanes_name_no_feature(plant):
    """With -1 and 0 in the padding even No rows may be added; without, the tail repeats points of the tile before."""
    inputs = integers((1, 3, UNIT + 5, 20))
    plant(add_rows=whole_tile_of_rows)
    preset, _ = launched(inputs, 20, TILES)
    plant(load_neighbours=without_presets)
    plant(load_gradients=gradients_without_presets)
    literal, _ = launched(inputs, 20, TILES)

    assert np.array_equal(expected_of(inputs, 20), preset)
    assert not is_right(literal, inputs, 20)


def test_ti_10_an_output_of_n_features_is_left():
    """Launched on an output of the parameter table's [B, C, N], the kernel stores features past its end where M > N."""
    inputs = integers((1, 3, 4, 9))
    device = Device()
    tensors = [device.put(inputs[name]) for name in ("grad_output", "indices", "weights")]
    printed = device.put(np.zeros((1, 3, 4), np.float32))
    arguments = (*tensors, printed, 1, 3, 4, 9, layout_of(TILES))

    with pytest.raises(OutOfBounds, match="60 bytes past its end"):
        device.launch(ported.MLUUnion1ThreeInterpolateBackward, (4, 1, 1), UNION1, arguments)


def test_ti_10_n_counts_points_and_m_counts_features():
    """Read the other way round the shapes contradict each other, which the host says; it is wording, not code: no kernel runs."""
    inputs = integers((2, 3, 4, 9))
    swapped = {**inputs, "grad_output": np.zeros((2, 3, 9), np.float32)}

    with pytest.raises(StatusError, match="indices_desc dim 1 is 4; it must be 9"):
        ops.run("three_interpolate_backward", swapped, {"m": 4})


@pytest.mark.parametrize(("n", "m"), [(32, 96), (96, 32)])
def test_ti_11_step_10_counts_points(n, m):
    """The features' N direction is their only other dimension, M: as many tiles of N are too many or too few."""
    inputs = integers((1, 3, n, m))
    literal = tiles(m)  # as many repetitions as the features have tiles

    recorder = Recorder()
    launched(inputs, m, TILES, observe=[recorder])
    loads = [e for e in recorder.effects if directions(e) == [GDRAM2NRAM]]

    assert len(tiles(m)) * len(tiles(n)) * 3 == len(loads)
    if len(literal) < len(tiles(n)):
        assert not is_right(by_steps(inputs, m, n_tiles=tiles(n)[: len(literal)]), inputs, m)
    else:
        with pytest.raises(IndexError):
            by_steps(inputs, m, n_tiles=literal)


@pytest.mark.parametrize(("n", "m"), [(32, 96), (96, 32)])
def test_ti_11_step_10_in_the_kernel(n, m, plant):
    """The same in the simulator: a tile of N behind the last point is a fault, one that is left out is missing."""
    inputs = integers((1, 3, n, m))
    ranging(plant, lambda *ends: range(0, m, UNIT) if ends == (0, n, UNIT) else None)
    if m > n:
        with pytest.raises(Fault):
            launched(inputs, m, TILES)
        return
    literal, _ = launched(inputs, m, TILES)

    assert not is_right(literal, inputs, m)


def test_ti_11_step_13_counts_the_cores_own_tiles():
    """Each core repeats steps 2 to 12 for its share of the B * ceil(M / Mo) tiles: all of them, once each."""
    recorder = Recorder()
    launched(integers((5, 3, 4, 40)), 40, TILES, clusters=2, observe=[recorder])

    stores = [
        sum(name == "memcpy NRAM2GDRAM" for name, _ in recorder.rows.get(task, [])) for task in range(8)
    ]

    assert [2, 2, 1, 1, 1, 1, 1, 1] == stores


def test_every_defect_has_its_row_and_its_tests():
    """The page lists each correction once, and the tests that it names are these."""
    here = Path(__file__)
    page = (here.parents[2] / "docs/operators/three_interpolate_backward.md").read_text("utf-8")
    sources = "".join(
        path.read_text("utf-8") for path in here.parent.glob("test_three_interpolate_backward_*.py")
    )

    named = set(re.findall(r"`(test_ti_\w+)`", page))

    assert Counter(f"TI-{n}" for n in range(1, 13)) == Counter(
        re.findall(r"^\| (TI-\d+) \|", page, re.MULTILINE)
    )
    assert set(re.findall(r"^def (test_ti_\w+)", sources, re.MULTILINE)) == named
