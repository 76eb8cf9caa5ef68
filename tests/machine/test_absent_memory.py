"""A memory core has no NRAM and no WRAM: declaring them there is harmless, using them is the fault."""

import pytest

import mlusim
from mlusim.bang import GDRAM2NRAM, float32, int8, kernel
from mlusim.errors import Unsupported, UsageError
from mlusim.observe.names import CHECKERS

USES = {
    "a load": lambda mlu, buffer, far: buffer[0],
    "a store": lambda mlu, buffer, far: buffer.__setitem__(0, 1.0),
    "a load through a cast": lambda mlu, buffer, far: (buffer + 3).cast(int8)[1],
    "a copy": lambda mlu, buffer, far: mlu.memcpy(buffer, far, 32, GDRAM2NRAM),
    "a vector": lambda mlu, buffer, far: mlu.bang_add(buffer, buffer, buffer, 8),
}


def launched(use, memory, observe=()):
    """Launch a kernel that declares above the return of the memory core, which does *use* first."""

    @kernel
    def declares(mlu, far):
        buffer = getattr(mlu, memory)(float32, 64, [1, 2])
        if mlu.is_mpu():
            use(mlu, buffer, far)
            return
        if memory == "nram":  # scalar code does not reach WRAM
            buffer[63] = buffer[0]

    device = mlusim.Device()
    return device.launch(declares, 4, mlusim.UNION1, (device.empty(64, float32),), observe=observe)


@pytest.mark.parametrize("memory", ["nram", "wram"])
def test_declaring_before_the_memory_core_returns_is_harmless(memory):
    """The usual place in BANG C; checkers have nothing to say, and moving the pointer is no use."""
    launch = launched(lambda mlu, buffer, far: repr(buffer + 8), memory, observe=list(CHECKERS))

    assert () == launch.findings


@pytest.mark.parametrize("use", USES)
def test_using_it_on_the_memory_core_is_a_fault(use):
    """It says that there is no such memory, and what to do."""
    with pytest.raises(Unsupported, match=r"a memory core .*no.* NRAM.*mlu\.is_[im]pu\(\)"):
        launched(USES[use], "nram")


@kernel
def doubled(mlu, out):
    out[0] = out[0] * 2


@pytest.mark.parametrize("arguments", [(), (1,), (None, 2)])
def test_a_kernel_called_on_the_host_says_how_to_launch_it(arguments):
    """No TypeError of Python's own."""
    with pytest.raises(UsageError, match=r"doubled is a kernel, called without an mlu.*device\.launch\("):
        doubled(*arguments)


def test_a_kernel_without_mlu_says_what_its_first_parameter_is():
    """With and without other parameters."""
    device = mlusim.Device()
    for body, args in ((kernel(lambda: None), ()), (kernel(lambda out: None), (1,))):
        with pytest.raises(UsageError, match="a kernel's first parameter is mlu"):
            device.launch(body, args=args)
