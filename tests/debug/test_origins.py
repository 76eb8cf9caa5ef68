"""Who wrote a byte, across several launches on one tensor and one device; the host is not followed."""

import numpy as np
from debug_kernels import scale_program
from debug_tools import console_on, refuses, says

import mlusim
from mlusim import bangc
from mlusim.bang import NRAM2GDRAM, Mlu, Ptr, float32, kernel

COUNT = 16


@kernel
def filling(mlu: Mlu, out: Ptr, value: float) -> None:
    """Store one value everywhere."""
    buffer = mlu.nram(float32, COUNT)
    mlu.bang_write_value(buffer, COUNT, float32(value))
    mlu.memcpy(out, buffer, 4 * COUNT, NRAM2GDRAM)


@kernel
def looking(mlu: Mlu, out: Ptr) -> None:
    """Do nothing with a tensor."""
    mlu.sync()
    del out


def after(prepare):
    """A program that fills a tensor, lets *prepare* give the tensor for the second launch, and looks at that."""

    def program(observe):
        device = mlusim.Device("MLU370-X4")
        out = device.put(np.zeros(COUNT, np.float32))
        device.launch(filling, args=(out, 3.0), observe=observe)
        other, second = prepare(device, out)
        other.launch(looking, args=(second,), observe=observe)

    return program


def told(prepare, **options):
    """What is said about the first element of the second launch's tensor."""
    with console_on(after(prepare), **options) as console:
        says(console, "run")
        assert "launch 2 (looking)" in console.stop_text()
        return says(console, "who-wrote out[0]").splitlines()


def test_the_launch_before_wrote_the_tensor():
    """Its intrinsic, moment and line, and on to its sources."""
    lines = told(lambda device, out: (device, out))

    assert "written at launch 1, moment 3 by task 0, __memcpy" in lines[0]
    assert "__bang_write_value" in lines[1]


def test_what_the_host_has_changed_since():
    """The launch before wrote another value there."""

    def prepare(device, out):
        device.set(out, 0)
        return device, out

    assert ["out[0]: the host has changed it between launch 1 and launch 2"] == told(prepare)


def test_a_tensor_of_another_device_at_the_same_address():
    """Addresses of two devices mean different bytes."""

    def prepare(device, out):
        other = mlusim.Device("MLU370-X4")
        return other, other.put(np.full(COUNT, 3, np.float32))

    assert ["out[0]: as the host gave it to the device"] == told(prepare)


def test_what_is_behind_the_history():
    """The chain ends there, and says how to keep more."""
    with console_on(scale_program, history=0) as console:
        says(console, "break scale", "run", "delete", "tbreak scaled", "goto end", "c", "who-wrote nram+0")
        lines = says(console, "who-wrote nram+0").splitlines()

        assert "launch 1 is no longer in the debugger's history" in lines[-1]


def test_moments_of_launches_that_had_another_tensor():
    """A comparison with them would compare with something else, and is refused."""

    def prepare(device, out):
        other = mlusim.Device("MLU370-X4")
        return other, other.put(np.full(COUNT, 3, np.float32))

    with console_on(after(prepare)) as console:
        says(console, "run")
        assert "launch 1 was not given the tensor that out is in" in refuses(console, "diff out @1:end")
        assert "no difference" in says(console, "diff out @begin")
    with console_on(after(lambda device, out: (device, out))) as console:
        says(console, "run")
        assert "no difference" in says(console, "diff out @1:end")
        assert "16 of 16 elements differ" in says(console, "diff out @1:begin")


POOL = """\
__nram__ char pool[1024];
__mlu_entry__ void Pooled(float *out) {
  float *left = (float *)pool, *right = (float *)(pool + 256);
  __bang_write_value(left, 32, 1.0f);
  __bang_add(right, left, left, 32);
  __bang_maxpool(left + 32, right, 4, 4, 2, 2, 2);
  __memcpy(out, left + 32, 32, NRAM2GDRAM);
}
"""


def test_parts_of_a_pool_have_the_names_of_their_pointers(tmp_path):
    """Beside the bytes of the pool, of which each pointer has a part."""
    (tmp_path / "pool.mlu").write_text(POOL)
    kernel = bangc.load(tmp_path / "pool.mlu")["Pooled"]

    def program(observe):
        device = mlusim.Device("MLU370-X4")
        device.launch(kernel, args=(device.empty((8,), np.float32),), observe=observe)

    with console_on(program) as console:
        says(console, "run")
        told = [line.partition(": ")[0].strip() for line in says(console, "who-wrote out[1]").splitlines()]

    assert [
        "out[1]",
        "from pool[132:136] (left + 32, bytes 4:8)",
        "from pool[256:384] (right), mixed",
        *["from pool[0:4] (left, bytes 0:4)"] * 2,
    ] == told
