"""A kernel that does whatever a plan says, for tests of its time; and plans."""

import numpy as np
from attrs import evolve
from hypothesis import strategies as st

import mlusim
from mlusim.arch.catalog import find_board
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, NRAM2NRAM, float32, kernel

ROOM = 2048  # floats


def halves(mlu, other, n):
    """A barrier in two halves, with work of the own between them."""
    mlu.sync_cluster_arrive(0, 5)
    if other is not None:
        mlu.bang_add(other, other, other, n)
    mlu.sync_cluster_wait(0, 5)


DOES = {
    "load": lambda mlu, memory, near, other, n: mlu.memcpy(near, memory, 4 * n, GDRAM2NRAM),
    "store": lambda mlu, memory, near, other, n: mlu.memcpy(memory, near, 4 * n, NRAM2GDRAM),
    "move": lambda mlu, memory, near, other, n: mlu.memcpy(other, near, 4 * n, NRAM2NRAM),
    "load later": lambda mlu, memory, near, other, n: mlu.memcpy_async(near, memory, 4 * n, GDRAM2NRAM),
    "store later": lambda mlu, memory, near, other, n: mlu.memcpy_async(memory, near, 4 * n, NRAM2GDRAM),
    "move later": lambda mlu, memory, near, other, n: mlu.memcpy_async(other, near, 4 * n, NRAM2NRAM),
    "add": lambda mlu, memory, near, other, n: mlu.bang_add(other, other, other, n),
    "sync": lambda mlu, memory, near, other, n: mlu.sync(),
    "sync compute": lambda mlu, memory, near, other, n: mlu.sync_compute(),
    "meet": lambda mlu, memory, near, other, n: mlu.sync_cluster(),
    "halves": lambda mlu, memory, near, other, n: halves(mlu, other, n),
    "read": lambda mlu, memory, near, other, n: near[0],
    "write": lambda mlu, memory, near, other, n: near.__setitem__(0, 1.0),
    "far": lambda mlu, memory, near, other, n: memory[0],
}


@kernel
def anything(mlu, memory, plan):
    """Do what *plan* says: (what, how many floats); of three tasks each takes half of the one before."""
    near = other = None
    if mlu.is_ipu():
        near, other = mlu.nram(float32, ROOM), mlu.nram(float32, ROOM)
        mlu.bang_write_zero(near, ROOM)
        mlu.bang_write_zero(other, ROOM)
    for what, count in plan:
        if mlu.is_ipu() or what in ("meet", "halves"):
            DOES[what](mlu, memory, near, other, max(1, count >> (mlu.taskId % 3)))


plans = st.lists(st.tuples(st.sampled_from(sorted(DOES)), st.integers(1, ROOM)), min_size=1, max_size=20)


def launched(plan, tasks=4, kind=mlusim.UNION1, **options):
    """A launch of `anything`."""
    device = mlusim.Device(
        evolve(find_board("MLU370-X4"), l2=0)
    )  # all tasks read the same bytes, off the chip
    memory = device.put(np.zeros(ROOM, np.float32))
    return device.launch(anything, tasks, kind, (memory, plan), **options)
