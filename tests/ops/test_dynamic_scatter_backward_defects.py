"""For each defect of the document's listing: its literal form is wrong, its correction is right.

`listing("DS-n")` is the document's first kernel with all corrections but one.
"""

import dynamic_scatter_listing
import numpy as np
import pytest
from dynamic_scatter_listing import listing
from dynamic_scatter_tools import MAX, Recorder, expected_winners, inputs_of, is_right, winners_of

import ops
from mlusim import UNION1, Device
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, half, int32, kernel
from mlusim.errors import Deadlock, OutOfBounds, UsageError, WrongSpace
from mlusim.isa.table import find_intrinsic
from mlusim.memory.space import DIRECTIONS
from ops.dynamic_scatter_backward.kernel import (
    max_reduce_scatter_grad_kernel,
    max_reduce_traceback_scatter_idx_kernel,
)
from ops.dynamic_scatter_backward.plan import PLAN

NAME = "dynamic_scatter_backward"
SPINS = 20_000  # attempts at a flag after which a launch that cannot end has ended


MANY = inputs_of([0, 1, 2, -1, 1, 0, 2, 2, 1, 0, 0, -1, 1, 2, 0, 1] * 2, 5, levels=2)


def test_the_listing_with_every_correction_is_right():
    """With all corrections the listing finds what the definition finds, whatever the size of a pass."""
    for points_per_pass in (1, 3, 32):
        assert np.array_equal(expected_winners(MANY), winners_of(listing(), MANY, points_per_pass))


@pytest.mark.parametrize(("literal", "expected"), [(True, [0, -1, -1, -1]), (False, [0, 1, 2, 3])])
def test_ds_1_the_loop_that_increments_its_bound(literal, expected):
    """`i < n, n++` is a comma expression: i stays 0 and n grows, so that only row 0 is ever written."""

    def rows(n):
        if not literal:
            yield from range(n)
        i = 0
        while literal and n and n < 100:  # the right side of the comma, n++, is the condition; C has no 100
            n += 1
            yield i

    @kernel
    def index_mask(mlu, out):
        """Write the number of each row into it."""
        mask = mlu.nram(int32, 4 * 8)
        for i in rows(4):
            mlu.bang_write_value(mask + i * 8, 8, i)
        mlu.memcpy(out, mask, 4 * 8 * 4, NRAM2GDRAM)

    device = Device()
    out = device.empty((4, 8), "int32")
    device.launch(index_mask, args=(out,))

    assert expected == device.get(out)[:, 0].tolist()


def test_ds_2_the_index_of_a_row_is_local():
    """Every pass, and every task, must add where it starts: points 1 and 2 of a pass are not points 1 and 2."""
    found = winners_of(listing("DS-2"), MANY, 3)

    assert not np.array_equal(expected_winners(MANY), found)
    assert found.max() < 3


def test_ds_3_without_an_outer_loop():
    """One pass of n points finds nothing of the points behind it."""
    inputs = inputs_of([0, 0, 0, 0, 1, 1, 2, 2], 4, levels=1)
    found = winners_of(listing("DS-3"), inputs, 4)

    assert [[0] * 4, [4] * 4, [6] * 4] == expected_winners(inputs).tolist()
    assert [[0] * 4, [8] * 4, [8] * 4] == found.tolist()


def test_ds_4_masks_and_indices_are_of_two_types():
    """The comparison gives floats, the index is an int32: no instruction multiplies the two."""
    with pytest.raises(WrongSpace, match=r"src1 is int32 and dst is float"):
        winners_of(listing("DS-4"), MANY, 4)


def test_ds_4_indices_as_floats_are_exact_to_2_24_only():
    """With an index mask of floats the arithmetic runs, and point 16777217 becomes 16777216."""

    @kernel
    def product(mlu, out):
        """Multiply the mask by the index in floats, as the listing does, and in integers."""
        a, b = mlu.nram(float32, 1), mlu.nram(int32, 1)
        mlu.bang_write_value(a, 1, float32(16777217))
        mlu.bang_mul_scalar(a, a, 1.0, 1)
        mlu.bang_float2int32(b, a, 1, 0)
        mlu.memcpy(out, b, 4, NRAM2GDRAM)
        mlu.bang_write_value(b, 1, 16777217)
        mlu.bang_mul_scalar(b, b, 1, 1)
        mlu.memcpy(out + 1, b, 4, NRAM2GDRAM)

    device = Device()
    out = device.empty(2, "int32")
    device.launch(product, args=(out,))

    assert [16777216, 16777217] == device.get(out).tolist()


@pytest.mark.parametrize("batch", [0, 3, 31])
def test_ds_5_a_sentinel_that_is_a_point(batch):
    """Batch has no meaning here; a value below N wins against the points behind it.

    The document defines Batch nowhere, so its literal form cannot run: this shows what values do, not which one it means.
    """
    inputs = inputs_of([1, 0, 2] * 11, 6, levels=4)
    inputs["feats"][32] = inputs["voxel_feats"][2] = (
        9  # the last point is the only one with voxel 2's maximum
    )
    found = winners_of(listing(sentinel=batch), inputs, 4)

    assert [32] * 6 == expected_winners(inputs)[2].tolist()
    assert [batch] * 6 == found[2].tolist()
    assert np.array_equal(expected_winners(inputs), winners_of(listing(sentinel=33), inputs, 4))


def test_ds_6_points_without_voxel_are_written():
    """Without mask1 a point of voxel -1 looks for its flag in front of all flags."""
    with pytest.raises(OutOfBounds, match=r"before its start") as caught:
        winners_of(listing("DS-6"), MANY, 4)

    assert "__bang_atomic_cas" == caught.value.intrinsic


def test_ds_6_what_is_compared_for_a_point_without_voxel_is_stale():
    """Its row of reduce_feats still holds the voxel of an earlier pass, and may well be equal."""
    inputs = inputs_of([0, -1], 3, rows=1, levels=1)
    device = Device()
    seen = device.empty(3, "int32")

    @kernel
    def two_passes(mlu, feats, reduce_feats, coors_map, out):
        """Compare point 0 with its voxel, then point 1 with what is left of it."""
        buffer, row = mlu.nram(float32, 3), mlu.nram(float32, 3)
        for point in range(2):
            mlu.memcpy(row, feats + point * 3, 12, GDRAM2NRAM)
            if coors_map[point] != -1:
                mlu.memcpy(buffer, reduce_feats + int(coors_map[point]) * 3, 12, GDRAM2NRAM)
            mlu.bang_eq(row, row, buffer, 3)
        mlu.bang_float2int32(row.cast(int32), row, 3, 0)
        mlu.memcpy(out, row.cast(int32), 12, NRAM2GDRAM)

    tensors = [device.put(inputs[name]) for name in ("feats", "voxel_feats", "point2voxel_map")]
    device.launch(two_passes, args=(*tensors, seen))

    assert [1, 1, 1] == device.get(seen).tolist()
    assert [[0, 0, 0]] == expected_winners(inputs).tolist()


def test_ds_7_voxel_0_is_a_voxel():
    """`offset > 0` leaves out voxel 0, and no other."""
    expected = expected_winners(MANY)
    found = winners_of(listing("DS-7"), MANY, 4)

    assert np.array_equal(expected[1:], found[1:])
    assert (found[0] == len(MANY["feats"])).all()
    assert (expected[0] < len(MANY["feats"])).all()


def attempts(recorder):
    """Return how often a flag was tried for."""
    return sum(
        entry[0] == "bang_atomic_cas" for entries in recorder.launches[-1].values() for entry in entries
    )


@pytest.mark.parametrize("seed", [None, 1])
def test_ds_8_taking_the_flag_before_the_loop_that_takes_it(seed):
    """As an assignment the first test takes the flag from the loop behind it; no task goes on, said at once."""
    recorder = Recorder()
    with pytest.raises(Deadlock, match=r"spins at .*dynamic_scatter_listing.py:\d+"):
        winners_of(listing("DS-8"), MANY, 4, observe=[recorder], seed=seed)

    assert attempts(recorder) < SPINS


def test_ds_8_as_written_does_nothing():
    """As a comparison it has no effect, so that nothing can show it: the port, without it, takes each flag once."""
    inputs = inputs_of([0, 1, 2, 3], 3)
    launch = ops.run(NAME, inputs, MAX).launches[3]

    assert 4 == launch.instructions["__bang_atomic_cas"] == launch.instructions["__bang_atomic_exch"]


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
@pytest.mark.parametrize("clusters", [1, 8])
def test_ds_9_a_flag_that_is_never_released(clusters, seed):
    """The second point of a voxel spins on a flag that no task changes: a deadlock, said at once.

    The listing's release is a comparison, which does nothing; here the line is left out, so the test cannot show the
    comparison itself, only what follows where nothing releases.
    """
    recorder = Recorder()
    with pytest.raises(Deadlock, match=r"spins at .* on memory that no task changes") as caught:
        winners_of(listing("DS-9"), MANY, 4, clusters=clusters, observe=[recorder], seed=seed)

    assert "release the lock on every path" in str(caught.value)
    assert caught.value.file == dynamic_scatter_listing.__file__
    assert attempts(recorder) < SPINS


def test_ds_9_one_point_per_voxel_hides_it():
    """Where no voxel has two points no flag is asked for twice: the vendor's own case cannot show it."""
    inputs = inputs_of([0, 1, -1, 2, 3], 4)

    assert np.array_equal(expected_winners(inputs), winners_of(listing("DS-9"), inputs, 4))


def test_without_the_flag_minima_are_lost():
    """Two tasks that load the same row before either stores it lose one of the minima, on some schedule."""
    inputs = inputs_of([0] * 16, 6, levels=4)
    expected = expected_winners(inputs)

    def right(wrong, seed):
        return np.array_equal(expected, winners_of(listing(*wrong), inputs, 4, seed=seed))

    assert not all(right(["no lock"], seed) for seed in range(30))
    assert all(right((), seed) for seed in range(30))


def test_ds_10_flags_for_batch_voxels():
    """There must be one for each voxel: with fewer the first task of a later voxel leaves the array."""
    with pytest.raises(OutOfBounds, match="__bang_atomic_cas"):
        winners_of(listing(), MANY, 4, flags=2)


def test_ds_10_flags_that_nobody_freed():
    """Fresh device memory is not a false: every task waits for a flag that was never taken."""
    device = Device()
    tensors = [device.put(MANY[name]) for name in ("feats", "voxel_feats", "point2voxel_map")]
    rows, width = MANY["voxel_feats"].shape
    points = len(MANY["feats"])
    result = device.put(np.full((rows, width), points, np.int32))
    layout = PLAN.layout("MLU370-X4", {"n": 4, "m": 1, "C": width})
    arguments = (*tensors[:2], result, tensors[2], device.empty(rows, "int32"), points, width, layout)

    with pytest.raises(Deadlock, match="on memory that no task changes"):
        device.launch(max_reduce_traceback_scatter_idx_kernel, (4, 1, 1), UNION1, arguments)


def test_ds_11_minima_with_what_was_there():
    """Fresh device memory holds -1 here: smaller than every point, so that no point ever wins."""
    found = winners_of(max_reduce_traceback_scatter_idx_kernel, MANY, 4, filled=False)

    assert (found == -1).all()


def test_ds_12_sizes_of_another_type():
    """With T = half the copies of indices by c * sizeof(T) bytes leave half of each row behind."""
    inputs = inputs_of([0, 0, 1, 1, 2], 8, levels=2)
    expected = expected_winners(inputs)
    found = winners_of(listing(word=half), inputs, 4)

    assert np.array_equal(expected[:, :4], found[:, :4])
    assert (found[:, 4:] == len(inputs["feats"])).all()
    assert np.array_equal(expected, winners_of(listing(word=float32), inputs, 4))


@kernel
def literal_scatter(mlu, grad_feats, grad_reduced_feats, reduce_from, num_reduced, num_feats):
    """Do what the text for the other card says: store without asking whether there is a point."""
    for x in range(num_reduced):
        for i in range(num_feats):
            at = x * num_feats + i
            grad_feats[int(reduce_from[at]) * num_feats + i] = grad_reduced_feats[at]


def scattered(inputs):
    """Run the second kernel's text on *inputs* and return grad_feats."""
    device = Device()
    points, width = inputs["feats"].shape
    rows = int(inputs["voxel_num"][0])
    grad_feats = device.put(np.zeros((points, width), np.float32))
    winners = device.put(expected_winners(inputs).astype(np.int32))
    grads = device.put(inputs["grad_voxel_feats"])
    device.launch(literal_scatter, args=(grad_feats, grads, winners, rows, width))
    return device.get(grad_feats)


def test_ds_13_a_channel_without_a_point():
    """Its gradient would go behind the last row; the port drops it."""
    inputs = inputs_of([0, 1, 1], 4)
    inputs["voxel_feats"][1, 2] += 1

    with pytest.raises(OutOfBounds, match="scalar store"):
        scattered(inputs)
    assert is_right(ops.run(NAME, inputs, MAX), inputs)


def test_ds_13_where_every_channel_has_a_point():
    """There the text and the port agree, element by element."""
    assert np.array_equal(scattered(MANY), ops.run(NAME, MANY, MAX).outputs["grad_feats"])


def test_ds_13_output_that_nobody_zeroed():
    """The second kernel writes the rows of points that won something; the rest is what was there."""
    device = Device()
    points, width = MANY["feats"].shape
    rows = len(MANY["voxel_feats"])
    tensors = [device.put(MANY[name]) for name in ("grad_voxel_feats", "voxel_num")]
    winners = device.put(expected_winners(MANY).astype(np.int32))
    output = device.empty((points, width), "float")
    layout = PLAN.layout("MLU370-X4", {"n": 1, "m": rows, "C": width})
    arguments = (output, tensors[0], winners, tensors[1], points, width, layout)
    device.launch(max_reduce_scatter_grad_kernel, (4, 1, 1), UNION1, arguments)
    without = np.isnan(device.get(output)).all(axis=1)

    assert set(range(points)) - set(expected_winners(MANY).flat) == set(np.flatnonzero(without))
    assert without.any()
    assert not np.isnan(ops.run(NAME, MANY, MAX).outputs["grad_feats"]).any()


@pytest.mark.parametrize(
    ("literal", "meant"), [("__bang_equal", "__bang_eq"), ("__bang_mul_saclar", "__bang_mul_scalar")]
)
def test_ds_14_names_of_instructions(literal, meant):
    """The listing's spellings name nothing, in a kernel neither; the ones that they mean exist."""

    @kernel
    def printed(mlu):
        a = mlu.nram(float32, 32)
        getattr(mlu, literal.removeprefix("__"))(a, a, a, 32)

    with pytest.raises(UsageError, match=literal):
        find_intrinsic(literal)
    with pytest.raises(AttributeError, match=literal.removeprefix("__")):
        Device().launch(printed)
    assert meant == find_intrinsic(meant).spelling


def test_ds_14_name_of_a_direction():
    """GRRAM2NRAM is none, and ends a kernel that copies with it; and the output's name is grad_feats."""

    @kernel
    def printed(mlu, src):
        mlu.memcpy(mlu.nram(float32, 8), src, 32, GRRAM2NRAM)  # noqa: F821 - that is the defect

    device = Device()
    with pytest.raises(NameError, match="GRRAM2NRAM"):
        device.launch(printed, args=(device.put(np.zeros(8, np.float32)),))
    names = {direction.name for direction in DIRECTIONS}

    assert "GRRAM2NRAM" not in names
    assert "GDRAM2NRAM" in names
    assert ["grad_feats"] == list(ops.run(NAME, MANY, MAX).outputs)


def owner_computes(tasks, inputs, *, asks_first=True):
    """Find flat indices of the winners as the shipped kernel does: voxel v belongs to core v % taskDim."""
    feats, voxel_feats, voxel_of = inputs["feats"], inputs["voxel_feats"], inputs["point2voxel_map"]
    points, width = feats.shape
    voxel_from = np.full(voxel_feats.shape, points * width)
    for task in range(tasks):
        for point in range(points - 1, -1, -1):
            voxel = int(voxel_of[point])
            if voxel % tasks == task and (voxel >= 0 or not asks_first):
                same = feats[point] == voxel_feats[voxel]
                voxel_from[voxel, same] = (point * width + np.arange(width))[same]
    return voxel_from


@pytest.mark.parametrize("tasks", [1, 4, 32])
def test_ds_15_the_shipped_plan_finds_the_same(tasks):
    """Owned voxels and flat indices with the sentinel N*C, without flags, scatter to the same gradients.

    This is not a defect but another plan, here in NumPy.
    """
    inputs = inputs_of([3, 0, -1, 2, 3, 1, 0, 2] * 5, 6, levels=3)
    inputs["voxel_feats"][2, 1] += 1
    points, width = inputs["feats"].shape
    voxel_from = owner_computes(tasks, inputs)
    output = np.zeros(points * width, np.float32)
    matched = voxel_from < points * width
    output[voxel_from[matched]] = inputs["grad_voxel_feats"][matched]

    assert np.array_equal(output.reshape(points, width), ops.run(NAME, inputs, MAX).outputs["grad_feats"])
    assert np.array_equal(np.where(matched, voxel_from // width, points), expected_winners(inputs))


def test_ds_15_the_owner_of_no_voxel():
    """In C -1 % taskDim is not a core's id; in Python it is the last core's, which then takes voxel M - 1."""
    inputs = inputs_of([-1, 0, 1, 1], 3, levels=1)

    assert [[3, 4, 5], [6, 7, 8]] == owner_computes(4, inputs).tolist()
    assert [0, 1, 2] == owner_computes(4, inputs, asks_first=False)[1].tolist()
