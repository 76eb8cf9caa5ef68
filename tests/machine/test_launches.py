"""Illegal launches, the task of an exception, determinism and seeds."""

import numpy as np
import pytest

import mlusim
from mlusim import BLOCK, UNION1, UNION8, UNION16
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, kernel
from mlusim.errors import Fault, LaunchError
from mlusim.machine.hub import Observer


@kernel
def idle(mlu):
    """Do nothing."""


@pytest.mark.parametrize(
    ("launch", "sentence"),
    [
        ({"dim": (3, 1, 1), "kind": UNION1}, r"dim.x = 3 is not a multiple of 4"),
        ({"dim": (4, 1, 1), "kind": UNION8}, r"dim.x = 4 is not a multiple of 32"),
        ({"dim": (64, 1, 1), "kind": UNION16}, r"UNION16 needs 16 clusters.*allows up to UNION8"),
        ({"dim": (0, 1, 1)}, r"dim.x = 0 is out of range"),
        ({"dim": (1, -1, 1)}, r"dim.y = -1 is out of range"),
        ({"dim": (1, 1, 65536)}, r"dim.z = 65536 is out of range; MLU370-X4 takes 1 to 65535"),
        ({"dim": (1, 1)}, r"give three integers"),
        ({"dim": (1.5, 1, 1)}, r"give three integers"),
        ({"dim": "abc"}, r"give three integers"),
        ({"dim": None}, r"give three integers"),
        ({"kind": "UNION1"}, r"is not a task type; use one of BLOCK, UNION1"),
        ({"effects": "soon"}, r"use 'late' or 'eager'"),
        ({"seed": "x"}, r"is not an integer"),
    ],
)
def test_illegal_launches_are_refused_with_a_sentence(launch, sentence):
    """What the board would refuse never starts."""
    with pytest.raises(LaunchError, match=sentence):
        mlusim.Device("MLU370-X4").launch(idle, **launch)


def test_a_board_without_unions_takes_blocks_only():
    """The edge chip has no union launches."""
    device = mlusim.Device("CE3226-V101")

    with pytest.raises(LaunchError, match="allows up to BLOCK"):
        device.launch(idle, dim=4, kind=UNION1)
    device.launch(idle, dim=2, kind=BLOCK)


def test_something_that_is_no_kernel_is_refused():
    """A launch needs something callable."""
    with pytest.raises(LaunchError, match="is not a kernel"):
        mlusim.Device("MLU370-X4").launch(3)


def test_exceptions_of_a_kernel_name_their_task():
    """What a kernel raises comes out as it is, with a note, and its frame has the right mlu."""

    @kernel
    def fails(mlu):
        """Fail in task 2."""
        if mlu.taskId == 2:
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as caught:
        mlusim.Device("MLU370-X4").launch(fails, dim=4)
    assert ["in task 2 of kernel fails"] == caught.value.__notes__
    frame = caught.traceback[-1].frame
    assert frame.f_locals["mlu"].taskId == 2


def test_faults_carry_their_facts():
    """A fault has task, intrinsic, operand, address, space, legal range, file and line as attributes."""
    device = mlusim.Device("MLU370-X4")

    @kernel
    def over(mlu, src):
        """Read one element too many."""
        a = mlu.nram(float32, 8)
        mlu.memcpy(a, src, 36, GDRAM2NRAM)

    with pytest.raises(Fault) as caught:
        device.launch(over, dim=2, args=(device.empty(16, "float"),))
    fault = caught.value
    assert ("__memcpy", "dst", "NRAM", 0) == (fault.intrinsic, fault.operand, fault.space, fault.task)
    assert fault.address == 0x200000
    assert fault.file == __file__
    assert fault.legal.startswith("bytes [0, 32)")


class Trace(Observer):
    """Writes every event down."""

    def __init__(self):
        self.lines = []

    def issue(self, effect):
        """Note the issue."""
        self.lines.append(
            f"issue {effect.number} {effect.name} {effect.core.place} {effect.reads and effect.reads[0].start}"
        )

    def effect(self, effect):
        """Note the landing."""
        self.lines.append(f"effect {effect.number} {effect.name} {effect.site[1]}")

    def sync(self, sync):
        """Note the sync."""
        self.lines.append(f"sync {sync.name} {sync.core.place.task}")


@kernel
def pipeline(mlu, dst, src, tile, count):
    """Load, double and store tiles with asynchronous copies."""
    if mlu.is_mpu():
        return
    a = mlu.nram(float32, 2 * tile)
    for i, start in enumerate(range(mlu.taskId * tile, count, mlu.taskDim * tile)):
        buffer = a + (i % 2) * tile
        mlu.sync()
        mlu.memcpy_async(buffer, src + start, 4 * tile, GDRAM2NRAM)
        mlu.sync_io()
        mlu.bang_add(buffer, buffer, buffer, tile)
        mlu.memcpy_async(dst + start, buffer, 4 * tile, NRAM2GDRAM)
    mlu.sync_all_ipu()


def _trace(seed, effects="late"):
    device = mlusim.Device("MLU370-X4")
    data = np.arange(4096, dtype=np.float32)
    src, dst = device.put(data), device.empty(4096, "float")
    trace = Trace()
    device.launch(
        pipeline, dim=8, kind=UNION1, args=(dst, src, 64, 4096), observe=[trace], seed=seed, effects=effects
    )

    assert np.array_equal(2 * data, device.get(dst))
    return trace.lines


def test_the_same_launch_gives_the_same_trace():
    """Without a seed, and for each seed, the event trace is the same byte for byte."""
    for seed in (None, 1, 2):
        assert _trace(seed) == _trace(seed)


def test_seeds_pick_different_schedules_with_the_same_result():
    """Different seeds order the events differently; a correct kernel does not care."""
    traces = {tuple(_trace(seed)) for seed in range(8)}

    assert len(traces) == 8


def test_eager_and_late_effects_agree_on_a_synchronised_kernel():
    """Both corners of the landing time give the same result (checked inside `_trace`)."""
    late, eager = _trace(None), _trace(None, "eager")

    assert sorted(late) == sorted(eager)


def test_a_missing_sync_shows_as_a_wrong_value():
    """Late effects make a forgotten sync visible; eager ones hide it."""
    device = mlusim.Device("MLU370-X4")
    data = np.arange(64, dtype=np.float32)
    src = device.put(data)

    @kernel
    def forgetful(mlu, dst, src):
        """Forget the sync after an asynchronous load."""
        a = mlu.nram(float32, 64)
        mlu.memcpy_async(a, src, 256, GDRAM2NRAM)
        mlu.bang_add(a, a, a, 64)
        mlu.memcpy(dst, a, 256, NRAM2GDRAM)

    results = {}
    for effects in ("late", "eager"):
        dst = device.empty(64, "float")
        device.launch(forgetful, args=(dst, src), effects=effects)
        results[effects] = device.get(dst)

    assert np.array_equal(2 * data, results["eager"])
    assert not np.array_equal(2 * data, results["late"])


def test_an_observer_that_listens_to_nothing_is_free():
    """A base Observer overrides nothing, so the fast path stays."""
    device = mlusim.Device("MLU370-X4")
    watched = []

    @kernel
    def look(mlu):
        """Note whether an observer watches."""
        watched.append(mlu.watch)

    device.launch(look, observe=[Observer()])

    assert [None] == watched
