"""The kernel and the calls of the public surface, as a first user types them."""

import numpy as np
import pytest

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, Mlu, Ptr, float32, half, kernel


@kernel
def double(mlu: Mlu, dst: Ptr, src: Ptr, count: int) -> None:
    buffer = mlu.nram(float32, count)
    mlu.memcpy(buffer, src, count * float32.size, GDRAM2NRAM)
    mlu.bang_add(buffer, buffer, buffer, count)
    mlu.memcpy(dst, buffer, count * float32.size, NRAM2GDRAM)


def test_ten_line_kernel_gives_the_result_and_the_counts():
    """A launch returns the data, the counts, the traffic, the memory and a time."""
    device = mlusim.Device("MLU370-X4")
    data = np.arange(1000, dtype=np.float32)
    src = device.put(data)
    dst = device.empty(src.shape, src.dtype)

    launch = device.launch(double, dim=(1, 1, 1), kind=mlusim.BLOCK, args=(dst, src, src.size))

    assert np.array_equal(2 * data, device.get(dst))
    assert {"memcpy": 2, "bang_add": 1} == launch.instructions
    assert launch.instructions["bang_add"] == launch.instructions["__bang_add"] == 1
    assert {"GDRAM2NRAM": 4000, "NRAM2GDRAM": 4000} == launch.traffic
    assert (655360, 4000) == (launch.memory["NRAM"].capacity, launch.memory["NRAM"].high_water)
    assert launch.time_us > 0
    assert launch.findings == ()


def test_put_keeps_shape_and_dtype_and_copies():
    """`put` copies: changing the host array afterwards changes nothing on the device."""
    device = mlusim.Device("MLU590-H8")
    host = np.ones((2, 3), np.float16)
    tensor = device.put(host)
    host[:] = 7

    assert (2, 3) == tensor.shape
    assert half is tensor.dtype
    assert np.array_equal(np.ones((2, 3), np.float16), device.get(tensor))


def test_fresh_memory_is_poison():
    """Unwritten memory is NaN in floats and -1 in integers, on the device and on chip."""
    device = mlusim.Device("MLU370-X4")
    seen = {}

    @kernel
    def look(mlu, out):
        """Look at fresh NRAM."""
        seen["nram"] = mlu.nram(float32, 4)[3]
        seen["gdram"] = out[0]

    device.launch(look, args=(device.empty(3, "int32"),))

    assert np.isnan(seen["nram"])
    assert seen["gdram"] == -1
    assert np.isnan(device.get(device.empty(5, "bfloat16")).astype(np.float32)).all()


def test_memory_limits_are_exact_to_the_byte():
    """163840 floats fit an MLU370 core and 98304 an MLU590 core, and not a byte more."""
    for board, floats in (("MLU370-X4", 163840), ("MLU590-H8", 98304)):
        device = mlusim.Device(board)

        @kernel
        def fill(mlu, count, extra):
            """Declare NRAM."""
            mlu.nram("float", count)
            if extra:
                mlu.nram("int8", extra)

        device.launch(fill, args=(floats, 0))  # fits
        with pytest.raises(mlusim.errors.OutOfMemory, match=rf"1 byte does not fit: 0 of {4 * floats} bytes"):
            device.launch(fill, args=(floats, 1))
        with pytest.raises(
            mlusim.errors.OutOfMemory, match=rf"{4 * floats + 4} bytes does not fit: {4 * floats} of"
        ):
            device.launch(fill, args=(floats + 1, 0))


def test_two_devices_and_nested_launches_live_in_one_process():
    """A kernel may launch on another device; each launch keeps its own counts."""
    outer, inner = mlusim.Device("MLU370-X4"), mlusim.Device("MLU590-H8")
    data = np.arange(8, dtype=np.float32)
    src = inner.put(data)
    dst = inner.empty(8, "float")
    launches = []

    @kernel
    def nest(mlu):
        """Launch on the other device, then go on here."""
        launches.append(inner.launch(double, args=(dst, src, 8)))
        a = mlu.nram(float32, 8)
        mlu.bang_write_zero(a, 8)

    launch = outer.launch(nest, dim=2)

    assert {"bang_write_zero": 2} == launch.instructions
    assert [{"memcpy": 2, "bang_add": 1}] * 2 == [one.instructions for one in launches]
    assert np.array_equal(2 * data, inner.get(dst))


def test_a_tensor_of_another_device_is_refused():
    """Tensors do not travel between devices by themselves."""
    one, two = mlusim.Device("MLU370-X4"), mlusim.Device("MLU370-X4")

    with pytest.raises(mlusim.errors.UsageError, match="belongs to another device"):
        two.launch(double, args=(one.empty(4, "float"), one.empty(4, "float"), 4))


def test_a_host_array_as_argument_is_refused():
    """A kernel takes device tensors; the sentence says how to make one."""
    device = mlusim.Device("MLU370-X4")

    with pytest.raises(mlusim.errors.LaunchError, match="put it on the device first"):
        device.launch(double, args=(np.zeros(4, np.float32), np.zeros(4, np.float32), 4))


def test_const_tensors_cannot_be_written():
    """A tensor lent to the device is read-only for kernels."""
    device = mlusim.Device("MLU370-X4")
    data = np.zeros(4, np.float32)

    with pytest.raises(mlusim.errors.ReadOnly, match="const"):
        device.launch(double, args=(device.share(data), device.put(data), 4))


def test_gdram_is_bounded_by_the_board():
    """More than the board's GDRAM does not fit; freeing gives it back."""
    device = mlusim.Device("MLU370-X4")
    capacity = device.board.gdram

    with pytest.raises(
        mlusim.errors.OutOfMemory, match=rf"of {capacity + 1} bytes does not fit: {capacity} bytes are left"
    ):
        device.empty(capacity + 1, "int8")
    tensor = device.empty(16, "int8")
    device.free(tensor)
    with pytest.raises(mlusim.errors.UsageError, match="was freed"):
        device.get(tensor)


def test_pointers_of_a_finished_launch_do_not_answer():
    """A pointer that escaped its launch is refused, and says why."""
    device = mlusim.Device("MLU370-X4")
    kept = []

    @kernel
    def leak(mlu):
        """Keep a pointer."""
        kept.append(mlu.nram(float32, 4))

    device.launch(leak)

    with pytest.raises(mlusim.errors.OutOfBounds, match="ended with its task or launch"):
        kept[0][0]
    assert "ended" in repr(kept[0])
