"""tin_shift: all cases on both boards, the corrections TS-1 to TS-9, the checks, the plan to the byte."""

import numpy as np
import pytest

import mlusim
import ops
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, kernel
from mlusim.errors import OutOfBounds, RuleFault, StatusError
from mlusim.host import Handle, Status, TensorDescriptor
from mlusim.machine.hub import Observer
from mlusim.operators.accuracy import bit_equal
from mlusim.operators.registry import find_operator
from mlusim.operators.runner import run_case
from mlusim.plan import choose
from ops.host import mluOpTinShiftBackward, mluOpTinShiftForward
from ops.tin_shift.kernel import channel_start, shift_of
from ops.tin_shift.plan import FRAMES, PIXELS, PLANS, WHOLE_CHANNEL
from ops.tin_shift.reference import shifted

BOARDS = ("MLU370-X4", "MLU590-H8")
ALL = [
    (name, case, board)
    for name in ("tin_shift_forward", "tin_shift_backward")
    for case in find_operator(name).cases
    for board in BOARDS
    if not case.boards or board in case.boards
]


@pytest.mark.parametrize(("name", "case", "board"), ALL, ids=lambda v: getattr(v, "name", v))
def test_a_case_has_its_status_and_exact_output(name, case, board):
    """The status is the expected one and every bit equals the reference's."""
    run = run_case(name, case, board=board)

    assert case.status == run.status
    assert all(accuracy.diff3 == 0 for accuracy in run.accuracy.values())
    assert run.passed


def _data(shape, dtype=np.float32, seed=0):
    words = np.dtype(f"u{np.dtype(dtype).itemsize}")
    return (
        np.random.default_rng(seed)
        .integers(0, np.iinfo(words).max, shape, words.type, endpoint=True)
        .view(dtype)
    )


def _forward(x, shifts, **options):
    return ops.run("tin_shift_forward", {"input": x, "shifts": np.array(shifts, np.int32)}, **options)


def test_nan_payloads_survive():
    """Every bit pattern of half arrives as it left."""
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16).reshape(1, 4, 2, 8192)
    run = _forward(x, [[1, -1]])

    assert bit_equal(shifted(x, np.array([[1, -1]], np.int32)), run.outputs["output"])


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_regimes_change_exactly_at_the_limits(board, dtype):
    """At the limit the larger cut still runs; one element more takes the next; all are right."""
    nram = mlusim.find_board(board).arch.max_nram
    elements = nram // np.dtype(dtype).itemsize
    seen = []
    for t, hw in ((4, elements // 4), (4, elements // 4 + 1), (2, elements), (2, elements + 1)):
        plan, layout = choose(PLANS, board, {"T": t, "HW": hw}, dtype=dtype)
        x = _data((1, t, 2, hw), dtype)
        run = _forward(x, [[1, -1]], board=board)
        seen.append(plan)

        assert bit_equal(shifted(x, np.array([[1, -1]], np.int32)), run.outputs["output"])
        assert layout.high_water == run.memory["NRAM"].high_water

    assert [WHOLE_CHANNEL, FRAMES, FRAMES, PIXELS] == seen


class Touched(Observer):
    """The highest byte of NRAM that any effect touches, and the sequence of operations of each task."""

    def __init__(self):
        self.high = 0
        self.sequences = {}

    def effect(self, effect):
        """Note the spans and the operation."""
        for access in (*effect.reads, *effect.writes):
            if access.allocation.space.name == "NRAM":
                self.high = max(self.high, access.span[1])
        if effect.name in ("memcpy", "bang_write_zero"):
            own = self.sequences.setdefault(effect.core.place.task, [])
            own.append((effect.name, *(a.nbytes for a in effect.writes)))


@pytest.mark.parametrize(("t", "hw"), [(5, 1000), (8, 40000), (3, 170000)])
def test_nram_is_used_to_the_byte(t, hw):
    """What the kernel touches, what it declares and what its plan says are the same number of bytes."""
    touched = Touched()
    run = _forward(_data((1, t, 2, hw)), [[1]], observe=[touched])
    _, layout = choose(PLANS, "MLU370-X4", {"T": t, "HW": hw}, dtype="float")

    assert layout.high_water == touched.high == run.memory["NRAM"].high_water


@pytest.mark.parametrize("hw", [3, 40])
def test_sequence_of_steps_1_1_to_1_3(hw):
    """Each channel: fill T*HW up to 128 bytes, load T - |shift| frames in one copy, or none, store T frames."""
    t, c, shifts = 5, 8, [2, -1, 0, 5]
    touched = Touched()
    _forward(_data((1, t, c, hw)), [shifts], observe=[touched])
    padded = -(-t * hw * 4 // 128) * 128
    expected = {}
    for channel in range(c):  # eight jobs on eight tasks
        moved = t - abs(shifts[channel // 2])
        load = [("memcpy", moved * hw * 4)] if moved > 0 else []
        expected[channel] = [("bang_write_zero", padded), *load, ("memcpy", t * hw * 4)]

    assert expected == touched.sequences


# -- the corrections of the document ------------------------------------------------------------------


def _literal(body, x, shifts, *, board="MLU370-X4", **launch):
    """Run a literal form of regime 1 on one task and return its output."""
    device = mlusim.Device(board)
    out = device.empty(x.shape, x.dtype)
    device.launch(kernel(body), args=(device.put(x), device.put(np.array(shifts, np.int32)), out), **launch)
    return device.get(out)


def test_ts1_without_the_zero_fill_the_previous_channel_shows():
    """Leaving out the fill stores stale frames; with it the result is right."""
    x = _data((1, 4, 2, 3))
    x[np.isnan(x)] = 1

    def without(mlu, src, shifts, dst, fill=False):
        """Regime 1 for two channels, with or without the fill."""
        a = mlu.nram(float32, 12)
        for channel in range(2):
            index, s = channel_start(channel, 4, 2, 3), shift_of(shifts, channel, 2, 2)
            if fill:
                mlu.bang_write_zero(a, 12)
            mlu.memcpy(a + s * 3, src + index, 12, GDRAM2NRAM, 12, 24, 3 - s)
            mlu.memcpy(dst + index, a, 12, NRAM2GDRAM, 24, 12, 3)

    expected = shifted(x, np.array([[0, 2]], np.int32))
    literal = _literal(without, x, [[0, 2]])

    assert not np.array_equal(expected, literal)
    assert np.array_equal(x[0, :2, 0], literal[0, :2, 1])
    assert bit_equal(expected, _literal(lambda *a: without(*a, fill=True), x, [[0, 2]]))


def test_ts2_a_literal_load_of_a_large_shift_is_a_fault():
    """A shift of T or more makes the segment argument negative, which the machine refuses."""

    def literal(mlu, src, shifts, dst):
        """Step 1.2.1 as printed."""
        a = mlu.nram(float32, 12)
        t_shift = int(shifts[0])
        mlu.memcpy(a + t_shift * 3, src, 12, GDRAM2NRAM, 12, 24, 4 - 1 - t_shift)

    with pytest.raises(RuleFault, match="segment count argument is -1"):
        _literal(literal, _data((1, 4, 2, 3)), [[4, 0]])


def test_ts3_group_of_a_channel():
    """Batch and group follow from the running channel; the same shift for all channels would be wrong."""
    x = _data((2, 3, 4, 2))
    shifts = np.array([[0, 1], [-1, 2]], np.int32)
    run = _forward(x, shifts)

    assert bit_equal(shifted(x, shifts), run.outputs["output"])
    assert not bit_equal(shifted(x, np.repeat(shifts[:1], 2, 0)), run.outputs["output"])
    assert channel_start(5, 3, 4, 2) == 1 * 3 * 4 * 2 + 1 * 2


@pytest.mark.parametrize("name", ["n_index", "group_id"])
def test_ts3_the_index_names_what_nothing_defines(name):
    """Step 1.1 as printed ends the kernel: neither the batch of a channel nor its group is given a value there."""

    def literal(mlu, src, shifts, dst):
        """The formula of step 1.1, and the shift of the channel's group."""
        a, cur_channel_index = mlu.nram(float32, 12), 1
        if name == "n_index":
            index = (cur_channel_index % 2) * 3 + n_index * 4 * 2 * 3  # noqa: F821 - that is the defect
            mlu.memcpy(a, src + index, 12, GDRAM2NRAM, 12, 24, 3)
        return int(shifts[group_id])  # noqa: F821 - so is that

    with pytest.raises(NameError, match=name):
        _literal(literal, _data((1, 4, 2, 3)), [[0, 0]])


def test_ts4_offset_is_a_name_that_nothing_has():
    """Branching on `offset`, as printed, ends the kernel: the listing only ever gives the shift the name t_shift."""

    def literal(mlu, src, shifts, dst):
        """The headings of steps 1.2.1 and 1.2.2, the formulas below them."""
        a = mlu.nram(float32, 12)
        t_shift = int(shifts[0])
        if offset > 0:  # noqa: F821 - that is the defect
            mlu.memcpy(a + t_shift * 3, src, 12, GDRAM2NRAM, 12, 24, 4 - 1 - t_shift)

    with pytest.raises(NameError, match="offset"):
        _literal(literal, _data((1, 4, 2, 3)), [[1, 0]])


@pytest.mark.parametrize("forward", [True, False])
def test_ts4_both_branches_load_the_same_for_a_zero_shift(forward):
    """Which of the two takes 0 cannot be shown: the printed loads, run, give the same bits."""

    def literal(mlu, src, shifts, dst):
        """One channel of four frames, through either branch."""
        a, t_shift = mlu.nram(float32, 12), int(shifts[0])
        if forward:
            mlu.memcpy(a + t_shift * 3, src, 12, GDRAM2NRAM, 12, 12, 4 - 1 - t_shift)
        else:
            mlu.memcpy(a, src - t_shift * 3, 12, GDRAM2NRAM, 12, 12, 4 - 1 + t_shift)
        mlu.memcpy(dst, a, 12, NRAM2GDRAM, 12, 12, 3)

    x = _data((1, 4, 1, 3))

    assert bit_equal(x, _literal(literal, x, [[0]]))


def test_ts5_bytes_on_a_typed_pointer_leave_the_buffer():
    """Adding bytes to an element pointer, as printed, ends outside the channel's buffer."""

    def literal(mlu, src, shifts, dst):
        """The mixed units of step 1.2.1."""
        a = mlu.nram(float32, 4 * 3)
        t_shift = int(shifts[0])
        mlu.memcpy(a + t_shift * 3 * 4, src, 12, GDRAM2NRAM, 12, 24, 4 - 1 - t_shift)

    with pytest.raises(OutOfBounds, match="past its end"):
        _literal(literal, _data((1, 4, 2, 3)), [[2, 0]])


@pytest.mark.parametrize("t", [1, 2, 7, 12])
def test_ts6_every_segment_and_shift(t):
    """The port's range of valid frames holds for every segment length and shift, against the definition.

    The document has pictures of regimes 2 and 3 and no formulas, so there is no literal form that could run and fail.
    """
    for frames in range(1, t + 1):
        for shift in range(-t - 2, t + 3):
            for first in range(0, t, frames):
                count = min(frames, t - first)
                low, high = max(first, shift, 0), min(first + count, t + shift, t)
                valid = [f for f in range(first, first + count) if 0 <= f - shift < t]

                assert list(range(low, max(low, high))) == valid


def test_ts7_a_full_length_store_of_the_last_segment_leaves_the_tensor():
    """Storing G frames for the short last segment reaches past the tensor, which is a fault."""

    def literal(mlu, src, shifts, dst):
        """The last segment of T = 5 with G = 3, stored at full length."""
        a = mlu.nram(float32, 9)
        mlu.bang_write_zero(a, 9)
        mlu.memcpy(dst + 3 * 3, a, 12, NRAM2GDRAM, 12, 12, 3 - 1)

    with pytest.raises(OutOfBounds, match="12 bytes past its end"):
        _literal(literal, _data((1, 5, 1, 3)), [[0]])


def test_ts8_the_example_of_the_document():
    """[1, 6, 6, 1] with shifts -1, 0, 2: left by one, unchanged, right by two."""
    x = np.arange(1, 37, dtype=np.float32).reshape(1, 6, 6, 1)
    out = _forward(x, [[-1, 0, 2]]).outputs["output"][0, :, :, 0]

    assert np.array_equal(np.vstack([x[0, 1:, :2, 0], [[0, 0]]]), out[:, :2])
    assert np.array_equal(x[0, :, 2:4, 0], out[:, 2:4])
    assert np.array_equal(np.vstack([[[0, 0]] * 2, x[0, :4, 4:, 0]]), out[:, 4:])


@pytest.mark.parametrize("board", ["MLU220-M2", "MLU270-X5K", "MLU290-M5"])
@pytest.mark.parametrize("shape", [(2, 5, 4, 3), (1, 3, 4, 45435), (1, 2, 2, 200_001)])
def test_ts9_every_regime_on_the_second_series(board, shape):
    """Fills there take 128 bytes at a time; a channel, some frames and a part of a frame of any size are right."""
    x, shifts = _data(shape, np.float16), np.array([[1, -1]] * shape[0], np.int32)

    assert bit_equal(shifted(x, shifts), _forward(x, shifts, board=board).outputs["output"])


def test_ts9_a_fill_of_just_the_frames_is_a_fault_there():
    """T * HW elements that are not multiples of 128 bytes: MLU2xx cannot fill them, later boards can."""

    def literal(mlu, src, shifts, dst):
        """Clear one channel of four frames of three floats."""
        a = mlu.nram(float32, 12)
        mlu.bang_write_zero(a, 12)
        mlu.memcpy(dst, a, 48, NRAM2GDRAM)

    x = _data((1, 4, 1, 3))
    with pytest.raises(RuleFault, match="multiple of 128 bytes"):
        _literal(literal, x, [[0]], board="MLU270-X5K")
    assert not _literal(literal, x, [[0]]).any()


@pytest.mark.parametrize("host", [mluOpTinShiftForward, mluOpTinShiftBackward])
def test_boards_without_a_cluster_are_refused_by_the_host(host):
    """A Union1 task needs a cluster, which CE3226 does not have: ARCH_MISMATCH, before anything is launched."""
    handle = Handle("CE3226-V101")

    assert Status.MLUOP_STATUS_ARCH_MISMATCH == _call(host, handle, _descs())
    assert "CE3226-V101 is tp_322; the architectures supported are mtp_220, mtp_270" in handle.last_error
    assert [] == handle.launches


def test_any_schedule_gives_the_same_result():
    """Fifty seeds and both landing times give the same bits."""
    x, shifts = _data((2, 3, 4, 5)), np.array([[1, -1], [0, 2]], np.int32)
    expected = shifted(x, shifts)
    for seed in range(50):
        assert bit_equal(expected, _forward(x, shifts, seed=seed).outputs["output"])
    assert bit_equal(expected, _forward(x, shifts, effects="eager").outputs["output"])


# -- the host interface ------------------------------------------------------------------------------

SHAPE, SHIFTS = (4, 3, 4, 3), (4, 2)
BAD, UNSUPPORTED = Status.MLUOP_STATUS_BAD_PARAM, Status.MLUOP_STATUS_NOT_SUPPORTED
BIG = (1 << 11, 1 << 10, 4, 1 << 8)


STRIDED = TensorDescriptor(SHAPE, "float", strides=(100, 12, 3, 1))


def _descs(x=SHAPE, s=SHIFTS, o=None, xd="float", sd="int32", od=None):
    return {
        "x": TensorDescriptor(x, xd),
        "s": TensorDescriptor(s, sd),
        "o": TensorDescriptor(x if o is None else o, xd if od is None else od),
    }


CHECKS = [
    ("rank of the input", _descs(x=(4, 3, 4)), BAD, "input_desc has 3 dimensions"),
    ("rank of the shifts", _descs(s=(4,)), BAD, "shifts_desc has 1 dimension"),
    ("rank 3 of the shifts", _descs(s=(4, 2, 1)), BAD, "shifts_desc has 3 dimensions"),
    ("rank of the output", _descs(o=(4, 3, 4)), BAD, "output_desc has 3 dimensions"),
    ("C = 0", _descs(x=(4, 3, 0, 3)), BAD, "C (dim 2) is 0"),
    ("G = 0", _descs(s=(4, 0)), BAD, "G (dim 1) is 0"),
    ("C no multiple of G", _descs(s=(4, 3)), BAD, "must be a multiple of G"),
    ("output dim 0", _descs(o=(5, 3, 4, 3)), BAD, "output_desc dim 0 is 5; it must be 4"),
    ("output dim 1", _descs(o=(4, 2, 4, 3)), BAD, "output_desc dim 1 is 2; it must be 3"),
    ("output dim 2", _descs(o=(4, 3, 8, 3)), BAD, "output_desc dim 2 is 8; it must be 4"),
    ("output dim 3", _descs(o=(4, 3, 4, 4)), BAD, "output_desc dim 3 is 4; it must be 3"),
    ("batch of the shifts", _descs(s=(2, 2)), BAD, "shifts_desc dim 0 is 2; it must be 4"),
    ("strided input", {**_descs(), "x": STRIDED}, UNSUPPORTED, "input_desc is strided"),
    ("float shifts", _descs(sd="float"), BAD, "shifts_desc is float; it must be int32"),
    ("int32 data", _descs(xd="int32"), BAD, "input_desc is int32; it must be half or float"),
    ("double data", _descs(xd="float64"), BAD, "input_desc is float64"),
    ("two dtypes", _descs(od="half"), BAD, "output_desc is half; it must be float"),
    ("N = 0", _descs(x=(0, 3, 4, 3), s=(0, 2)), BAD, "N (dim 0) is 0"),
    ("HW = 0", _descs(x=(4, 3, 4, 0)), BAD, "HW (dim 3) is 0"),
    ("large", _descs(x=BIG, s=(BIG[0], 2)), UNSUPPORTED, "must have fewer than 2147483648"),
]


def _call(host, handle, descs, null=()):
    device = mlusim.Device("MLU370-X4") if handle is None else handle.device
    tensors = {
        "x": device.empty(SHAPE, "float"),
        "s": device.put(np.zeros(SHIFTS, np.int32)),
        "o": device.empty(SHAPE, "float"),
    }
    given = [value for key in "xso" for value in (descs[key], tensors[key])]
    for at in null:
        given[at] = None
    return host(handle, *given)


@pytest.mark.parametrize(("name", "descs", "status", "sentence"), CHECKS, ids=[c[0] for c in CHECKS])
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_checks(name, descs, status, sentence, direction):
    """Each check answers with its status and names the parameter; nothing is launched."""
    backward = direction == "backward"
    host = mluOpTinShiftBackward if backward else mluOpTinShiftForward
    if backward:  # input is grad_output there, and output is grad_input
        sentence = {"input_desc": "grad_output_desc", "output_desc": "grad_input_desc"}.get(
            sentence.split()[0], sentence.split()[0]
        ) + sentence[len(sentence.split()[0]) :]
    handle = Handle("MLU370-X4")
    found = _call(host, handle, descs)

    assert status == found
    assert sentence in handle.last_error
    assert [] == handle.launches


def test_ts10_a_layout_is_not_looked_at():
    """Frames of HW elements move alike whatever the descriptors call their layout."""
    handle = Handle("MLU370-X4")
    descs = {**_descs(), "x": TensorDescriptor(SHAPE, "float", layout="NCHW")}

    assert Status.MLUOP_STATUS_SUCCESS == _call(mluOpTinShiftForward, handle, descs)
    assert 1 == len(handle.launches)


@pytest.mark.parametrize("at", range(6))
def test_null_arguments(at):
    """Each null descriptor and each null pointer is BAD_PARAM and named."""
    names = ("input_desc", "input", "shifts_desc", "shifts", "output_desc", "output")
    handle = Handle("MLU370-X4")

    assert BAD == _call(mluOpTinShiftForward, handle, _descs(), null=(at,))
    assert handle.last_error.startswith(f"mluOpTinShiftForward: {names[at]} is a null")


def test_a_null_handle_is_bad_param():
    """Without a handle there is nothing to keep the sentence in."""
    assert BAD == _call(mluOpTinShiftForward, None, _descs())


def test_no_frames_succeed_before_the_pointers_are_looked_at():
    """T = 0 with null data pointers is success; T = 0 together with N = 0 is not."""
    handle = Handle("MLU370-X4")

    assert Status.MLUOP_STATUS_SUCCESS == _call(
        mluOpTinShiftForward, handle, _descs(x=(4, 0, 4, 3)), null=(1, 3, 5)
    )
    assert BAD == _call(mluOpTinShiftForward, handle, _descs(x=(0, 0, 4, 3), s=(0, 2)), null=(1, 3, 5))
    assert [] == handle.launches


def test_last_error_is_cleared_by_a_success():
    """After a failure and a success the handle has no error."""
    handle = Handle("MLU370-X4")
    _call(mluOpTinShiftForward, handle, _descs(s=(4, 3)))
    assert handle.last_error

    assert Status.MLUOP_STATUS_SUCCESS == _call(mluOpTinShiftForward, handle, _descs())
    assert handle.last_error == ""
    assert len(handle.launches) == 1


def test_ops_run_raises_the_status():
    """A refusal by the host interface is a StatusError with the status and the sentence."""
    with pytest.raises(StatusError, match="must be a multiple of G") as caught:
        _forward(_data(SHAPE), np.zeros((4, 3)))
    assert BAD == caught.value.status


@pytest.mark.parametrize(
    ("jobs", "dim"), [((1, 7), (4, 1, 1)), ((1, 8), (4, 2, 1)), ((2, 40), (4, 8, 1)), ((1, 1), (4, 1, 1))]
)
def test_launch_policy(jobs, dim):
    """Union1 with a cluster's cores in x and whole clusters in y, at most the board."""
    n, c = jobs
    run = _forward(_data((n, 2, c, 3)), np.zeros((n, 1), np.int32))

    assert dim == run.launches[0].dim
    assert run.launches[0].kind == "UNION1"
