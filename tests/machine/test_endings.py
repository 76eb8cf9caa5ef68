"""However a kernel ends, the launch ends with what ended it, and the next one is not touched by it."""

import threading

import numpy as np
import pytest
from greenlet import GreenletExit

import mlusim
from mlusim import UNION1, UNION2
from mlusim.bang import GDRAM2NRAM, float32, int32, kernel
from mlusim.errors import Deadlock, Divergence, UsageError


@pytest.fixture
def device():
    """Give an MLU370-X4."""
    return mlusim.Device("MLU370-X4")


def _union(body, device, *args):
    """Run *body* on the four IPU cores of one cluster."""

    @kernel
    def ipu(mlu, *args):
        if mlu.is_ipu():
            body(mlu, *args)

    return device.launch(ipu, dim=4, kind=UNION1, args=args)


def _second_raises(error):
    def body(mlu):
        if mlu.taskId == 1:
            raise error
        mlu.sync_all_ipu()

    return body


@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt(), SystemExit(3), GeneratorExit(), StopIteration(), MemoryError(), RecursionError()],
    ids=lambda e: type(e).__name__,
)
def test_what_a_kernel_raises_comes_out(device, error):
    """Also what is not an ordinary exception, from a task that others wait for."""
    with pytest.raises(type(error)) as caught:
        _union(_second_raises(error), device)

    assert error is caught.value


def test_the_machine_s_own_exit_is_not_for_kernels(device):
    """A task that ends itself as the machine would end it is named, and no task waits for it."""
    with pytest.raises(UsageError, match="task 1 raised GreenletExit"):
        _union(_second_raises(GreenletExit()), device)


def test_endless_recursion_is_an_ordinary_exception(device):
    """A kernel has the interpreter's own limit."""

    def body(mlu):
        body(mlu)

    with pytest.raises(RecursionError):
        _union(body, device)


def test_a_deadlock_ends_the_launch_even_if_the_kernel_catches_it(device):
    """What is caught is said again, by the launch."""

    def body(mlu):
        try:
            if mlu.taskId:
                mlu.sync_all_ipu()
            else:
                mlu.sync_all_ipu_within_cluster()
        except Exception:  # noqa: BLE001, S110 - what careless code does
            pass

    with pytest.raises(Deadlock, match="no task can go on"):
        _union(body, device)


@pytest.mark.parametrize("who", [0, 1, 3])
def test_a_divergence_ends_the_launch_even_if_the_kernel_catches_it(device, who):
    """Whether the one who leaves comes first, in between or last."""

    def body(mlu):
        while mlu.taskId != who:
            try:
                mlu.sync_all_ipu()
            except BaseException:  # noqa: BLE001, S110 - what careless code does
                pass
            else:
                return

    with pytest.raises((Divergence, Deadlock), match=f"task {who}"):
        _union(body, device)


@pytest.mark.parametrize("in_the_end", ["raise", "barrier", "catch all", "store"])
def test_tasks_that_are_ended_cannot_hide_the_reason(device, in_the_end):
    """What the others raise, or wait for, while they are ended changes nothing."""
    tensor = device.put(np.zeros(4, np.int32))

    def body(mlu, data):
        if mlu.taskId == 3:
            raise ZeroDivisionError("the reason")
        while True:
            try:
                mlu.sync_all_ipu()
            except BaseException:
                if in_the_end != "catch all":
                    raise
            finally:
                if in_the_end == "raise":
                    raise KeyError("another")
                if in_the_end == "barrier":
                    mlu.sync_all_ipu()
                if in_the_end == "store":
                    data[mlu.taskId] = 1

    with pytest.raises(ZeroDivisionError, match="the reason"):
        _union(body, device, tensor)
    assert [int(in_the_end == "store")] * 3 == device.get(tensor).tolist()[:3]


def test_the_next_launch_knows_nothing_of_the_last(device):
    """After a fault the same kernel on the same device runs as on a fresh one."""

    def body(mlu, data, fails):
        word = mlu.nram(int32, 4)
        mlu.memcpy_async(word, data, 16, GDRAM2NRAM)
        if fails and mlu.taskId == 2:
            raise ZeroDivisionError
        mlu.sync_all_ipu()
        data[mlu.taskId] = word[mlu.taskId] + 1

    tensor = device.put(np.zeros(4, np.int32))
    with pytest.raises(ZeroDivisionError):
        _union(body, device, tensor, True)
    launch = _union(body, device, tensor, False)

    assert [1, 1, 1, 1] == device.get(tensor).tolist()
    assert 4 == launch.instructions["memcpy_async"]
    assert {"GDRAM2NRAM": 64} == launch.traffic


def test_two_threads_launch_on_their_own_devices():
    """Nothing of a launch is shared between threads."""
    done = {}

    def work(number):
        device = mlusim.Device("MLU370-X4")
        tensor = device.put(np.zeros(8, np.int32))

        @kernel
        def count(mlu, data):
            if mlu.is_mpu():
                return
            for _ in range(50):
                mlu.sync_all_ipu()
                data[mlu.taskId] = data[mlu.taskId] + number

        device.launch(count, dim=8, kind=UNION2, args=(tensor,))
        done[number] = device.get(tensor).tolist()

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {n: [50 * n] * 8 for n in (1, 2, 3)} == done


@pytest.mark.parametrize("call", ["memcpy", "memcpy_async"])
@pytest.mark.parametrize("size", [4, 128, 65536])
def test_polling_with_copies_of_any_size_lets_others_run(device, size, call):
    """A flag may be looked at with whole lines, or more, waiting for them or not."""
    tensor = device.put(np.zeros(size // 4, np.int32))

    @kernel
    def wait(mlu, flag):
        line = mlu.nram(int32, size // 4)
        if mlu.taskId == 1:
            flag[0] = 1
            return
        while True:
            getattr(mlu, call)(line, flag, size, GDRAM2NRAM)
            mlu.sync()
            if line[0] == 1:
                return

    launch = device.launch(wait, dim=2, args=(tensor,))

    assert 1 < launch.instructions[call] < 100


def test_polling_with_work_in_between_that_can_never_end(device):
    """A task whose own memory is the same after each look waits for another, however busy it is."""

    @kernel
    def wait(mlu, flag):
        line = mlu.nram(float32, 16)
        while True:
            mlu.memcpy(line, flag, 4, GDRAM2NRAM)
            mlu.bang_add_scalar(line + 8, line, 1.0, 1)
            if line[8] == 2:
                return

    with pytest.raises(Deadlock, match="task 0 spins at"):
        device.launch(wait, dim=2, args=(device.put(np.zeros(16, np.float32)),))


def test_usage_errors_name_the_task_too(device):
    """What is not a fault of the machine has a note instead of a place."""

    def body(mlu):
        mlu.nram(int32, 4).cast("no type")

    with pytest.raises(UsageError, match="'no type' is not an element type") as caught:
        _union(body, device)
    assert ["in task 0 of kernel ipu"] == caught.value.__notes__
