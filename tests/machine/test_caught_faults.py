"""What a kernel may catch: not the faults that concern other tasks."""

import contextlib

import numpy as np
import pytest

import mlusim
from mlusim.bang import float32, kernel
from mlusim.errors import Deadlock, Divergence, Fault, OutOfBounds

UNION = {"dim": (4, 1, 1), "kind": mlusim.UNION1}


@kernel
def leaves_first(mlu, leaver):
    if mlu.is_mpu() or mlu.taskId == leaver:
        return
    with contextlib.suppress(Fault):
        mlu.sync_all_ipu()


@kernel
def comes_again(mlu, leaver):
    if mlu.is_mpu() or mlu.taskId == leaver:
        return
    while True:
        with contextlib.suppress(Fault):
            mlu.sync_all_ipu()


@kernel
def in_two_places(mlu, leaver):
    with contextlib.suppress(Fault):
        if mlu.taskId == leaver:
            mlu.sync_cluster()
        else:
            mlu.sync_all()


@pytest.mark.parametrize("observe", [(), ("synccheck",)])
@pytest.mark.parametrize("leaver", [0, 3])
@pytest.mark.parametrize(
    ("body", "kind"), [(leaves_first, Divergence), (comes_again, Divergence), (in_two_places, Deadlock)]
)
def test_a_barriers_fault_ends_the_launch_caught_or_not(body, kind, leaver, observe):
    """No success, no StopIteration: the fault comes out, and synccheck tells it once."""
    with pytest.raises(kind) as caught:
        mlusim.Device().launch(body, args=(leaver,), observe=observe, **UNION)

    assert len(observe) == len(caught.value.findings)
    assert __file__ == caught.value.file


@kernel
def catches_its_own(mlu, out):
    buffer = mlu.nram(float32, 8)
    try:
        mlu.bang_add(buffer, buffer, buffer, 80)
    except OutOfBounds:
        out[0] = 1.0


def test_a_kernel_may_catch_what_is_wrong_with_its_own_instruction():
    """Tests of kernels do; the launch goes on."""
    device = mlusim.Device()
    out = device.put(np.zeros(1, np.float32))
    device.launch(catches_its_own, args=(out,))

    assert 1.0 == device.get(out)[0]
