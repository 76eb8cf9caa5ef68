"""A pointer is a core's own: what another core, another launch or the host made does not answer."""

import numpy as np
import pytest

import mlusim
from mlusim import UNION1
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, NRAM2NRAM, float32, kernel
from mlusim.errors import Ended, RuleFault, WrongSpace


@pytest.fixture
def device():
    """Give an MLU370-X4."""
    return mlusim.Device("MLU370-X4")


def _shared_by_closure(use):
    """Make a kernel in which task 1 uses the pointers (NRAM, GDRAM) of task 0."""
    of_task_0 = {}

    @kernel
    def borrow(mlu, data):
        if mlu.is_mpu():
            return
        own = mlu.nram(float32, 16)
        if mlu.taskId == 0:
            of_task_0.update(nram=own, gdram=data, mlu=mlu)
        mlu.sync_all_ipu()
        if mlu.taskId == 1:
            use(mlu, own, data, of_task_0)
        mlu.sync_all_ipu()

    return borrow


USES = {
    "intrinsic": lambda m, own, g, other: m.bang_add(own, own, other["nram"], 4),
    "scalar operand": lambda m, own, g, other: m.bang_add_scalar(other["nram"], own, 1.0, 4),
    "copy from": lambda m, own, g, other: m.memcpy(own, other["nram"], 4, NRAM2NRAM),
    "copy to": lambda m, own, g, other: m.memcpy(other["nram"], g, 4, GDRAM2NRAM),
    "2-D copy": lambda m, own, g, other: m.memcpy(g, other["nram"], 4, NRAM2GDRAM, 8, 4, 2),
    "asynchronous copy": lambda m, own, g, other: m.memcpy_async(own, other["gdram"], 4, GDRAM2NRAM),
    "strided move": lambda m, own, g, other: m.bang_move(own, other["nram"], 4, 8, 8, 1),
    "fill": lambda m, own, g, other: m.nramset_async(other["nram"], 4, 1, 16, 0),
    "load": lambda m, own, g, other: other["nram"][0],
    "load of GDRAM": lambda m, own, g, other: other["gdram"][0],
    "store": lambda m, own, g, other: other["nram"].__setitem__(0, 1.0),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_pointer_of_another_task_is_refused(device, use):
    """An address of NRAM means another memory on every core; the fault names both tasks and the place."""
    with pytest.raises(WrongSpace, match="is a pointer of task 0, not of task 1, into") as caught:
        device.launch(_shared_by_closure(use), dim=4, kind=UNION1, args=(device.empty(64, "float"),))

    assert 1 == caught.value.task
    assert __file__ == caught.value.file


def test_the_mlu_of_another_task_cannot_wait(device):
    """A barrier through another task's mlu would park the wrong one."""

    def use(mlu, own, data, other):
        other["mlu"].sync_all_ipu()

    with pytest.raises(RuleFault, match="the mlu of task 0 is used outside its own task"):
        device.launch(_shared_by_closure(use), dim=4, kind=UNION1, args=(device.empty(64, "float"),))


def test_pointers_of_the_host_are_refused(device):
    """A pointer from a closure belongs to no launch: it may be of another device, or freed."""
    other = mlusim.Device("MLU590-H8").put(np.zeros(16, np.float32))
    freed = device.put(np.zeros(16, np.float32))
    pointers = [other.ptr, freed.ptr]
    device.free(freed)

    for pointer in pointers:

        @kernel
        def load(mlu, pointer=pointer):
            mlu.memcpy(mlu.nram(float32, 16), pointer, 64, GDRAM2NRAM)

        with pytest.raises(WrongSpace, match="src is a pointer of the host.*pass tensors as arguments"):
            device.launch(load)


def test_pointers_of_an_outer_launch_are_refused(device):
    """A kernel that runs inside another one has memories of its own."""

    @kernel
    def outer(mlu):
        far = mlu.nram(float32, 16)

        def inner(near):
            near.bang_write_zero(near.nram(float32, 16), 16)
            near.bang_write_zero(far, 16)

        mlusim.Device("MLU590-H8").launch(inner)

    with pytest.raises(WrongSpace, match="dst is a pointer of another launch"):
        device.launch(outer)


def test_a_pointer_of_a_task_that_ended_says_so(device):
    """The older fault comes first: there is no such memory any more."""
    kept = []

    @kernel
    def keep(mlu):
        own = mlu.nram(float32, 16)
        if kept:
            mlu.bang_add(own, own, kept[0], 4)
        kept.append(own)

    with pytest.raises(Ended, match="ended with its task or launch"):
        device.launch(keep, dim=2)


def test_one_kernel_may_run_inside_another(device):
    """On the same device and inside a union, barriers and pointers of both do not mix."""
    tensor = device.put(np.zeros(8, np.int32))

    def inner(mlu, data, at):
        if mlu.is_mpu():
            return
        mlu.sync_all_ipu()
        if mlu.taskId == 0:
            data[at] = data[at] + 1
        mlu.sync_all_ipu()

    @kernel
    def outer(mlu, data):
        if mlu.is_mpu():
            return
        mlu.sync_all_ipu()
        device.launch(inner, dim=4, kind=UNION1, args=(data, mlu.taskId))
        mlu.sync_all_ipu()
        data[4 + mlu.taskId] = data[mlu.taskId]

    launch = device.launch(outer, dim=4, kind=UNION1, args=(tensor,))

    assert [1] * 8 == device.get(tensor).tolist()
    assert {"GDRAM": 4} == launch.scalar_stores


@pytest.mark.parametrize(
    "use",
    [
        lambda m, n, tensor: m.memcpy(n, tensor, 4, GDRAM2NRAM),
        lambda m, n, tensor: m.memcpy_async(tensor, n, 4, NRAM2GDRAM, 4, 4, 0),
        lambda m, n, tensor: m.bang_atomic_reduce_add(tensor, n, 1),
        lambda m, n, tensor: m.gdramset(tensor, 1, 1, 8, 1, 32, 1),
    ],
)
def test_a_tensor_from_a_closure_says_how_to_pass_it(device, use):
    """It becomes a pointer when it is an argument."""
    tensor = device.empty(16, "float")

    with pytest.raises(
        WrongSpace, match="not a pointer; legal: a pointer into GDRAM; a tensor becomes a pointer when"
    ):
        device.launch(lambda mlu: use(mlu, mlu.nram(float32, 16), tensor))
