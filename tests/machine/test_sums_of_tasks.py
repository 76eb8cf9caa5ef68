"""What many tasks count adds up, however they are counted."""

import numpy as np
import pytest

import mlusim
from mlusim.bang import GDRAM2NRAM, Mlu, Ptr, float32, half, int32, kernel
from mlusim.machine.hub import EveryStep


@kernel
def steps(mlu: Mlu, src: Ptr) -> None:
    """Task n adds n + 1 times and looks at as many elements."""
    buffer = mlu.nram(float32, 64)
    mlu.memcpy(buffer, src, 256, GDRAM2NRAM)
    for n in range(mlu.taskId + 1):
        mlu.bang_add(buffer, buffer, buffer, 64)
        buffer[n % 64] = buffer[0] + 1.0


@pytest.mark.parametrize("tasks", [1, 64, 131])
@pytest.mark.parametrize("watched", [False, True])
def test_every_task_is_in_the_sums(tasks, watched):
    """Counts, traffic, lanes and scalar accesses are those of all tasks, counted together or each by itself."""
    device = mlusim.Device("MLU370-X4")

    class Length(mlusim.Observer):
        def launch_end(self, launch):
            self.length = launch.tally.length

    length = Length()
    observers = [length, EveryStep()] if watched else [length]
    given = (device.put(np.zeros(64, np.float32)),)
    launch = device.launch(steps, dim=(tasks, 1, 1), args=given, observe=observers)

    turns = tasks * (tasks + 1) // 2
    assert {"memcpy": tasks, "bang_add": turns} == dict(launch.instructions)
    assert {"GDRAM2NRAM": 256 * tasks} == launch.traffic
    assert 256 * turns == launch.lanes["bang_add"].used
    assert {"NRAM": turns} == launch.scalar_loads
    assert {"NRAM": turns} == launch.scalar_stores
    assert length.length == tasks + 3 * turns


@kernel
def scalars(mlu: Mlu, value: float) -> None:
    """Store a number as elements of several types."""
    mlu.nram(float32, 2)[1] = value
    mlu.nram(half, 2)[1] = value
    mlu.nram(int32, 2)[1] = value
    if mlu.nram(half, 1)[0] == value:
        mlu.sync()


def test_accesses_count_the_same_where_somebody_hears_of_them():
    """An observer of every step changes no count."""
    device = mlusim.Device("MLU370-X4")

    alone = device.launch(scalars, args=(1.5,))
    watched = device.launch(scalars, args=(1.5,), observe=[EveryStep()])

    assert watched.scalar_loads == alone.scalar_loads
    assert watched.scalar_stores == alone.scalar_stores
    assert {"NRAM": 3} == alone.scalar_stores
    assert watched.time_us == alone.time_us


@kernel
def keeps(mlu: Mlu, out: Ptr, value: float) -> None:
    """Store a number in halves and floats, and hand them back."""
    small, wide = mlu.nram(half, 1), mlu.nram(float32, 1)
    small[0], wide[0] = value, value
    out[0], out[1] = float(small[0]), float(wide[0])


@pytest.mark.parametrize("value", [0.1, -1e6, 1e300, float("inf"), 6e-8, -0.0])
def test_a_stored_float_rounds_as_numpy_does(value):
    """The short way of a store of a float gives the bits of NumPy's conversion."""
    device = mlusim.Device("MLU370-X4")
    out = device.empty(2, np.float32)

    device.launch(keeps, args=(out, value))

    with np.errstate(all="ignore"):
        expected = np.array([np.float16(value), np.float32(value)], np.float32)
    assert expected.tobytes() == device.get(out).tobytes()
