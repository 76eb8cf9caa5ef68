"""Bytes of a result that no task has stored, told when the host copies it back."""

import numpy as np
import pytest

import mlusim
from mlusim.bang import NRAM2GDRAM, float32, kernel
from mlusim.machine.hub import tell_fetched
from mlusim.observe.collect import collecting

RULE = "initcheck-never-stored"


@kernel
def stores(mlu, out, first, count):
    part = mlu.nram(float32, 64)
    mlu.bang_write_zero(part, 64)
    if count:
        mlu.memcpy(out + first, part, 4 * count, NRAM2GDRAM)


def told(*calls, fetch="get", tensor=None):
    """What is found where the kernel stores (first, count) elements of 64, call by call, and the host fetches them."""
    device = mlusim.Device()
    out = device.empty(64, float32) if tensor is None else device.put(tensor)
    with collecting(["initcheck"]) as collector:
        for first, count in calls:
            device.launch(stores, args=(out, first, count))
        getattr(device, fetch)(out)
    return [(f.id, f.facts["offset"], f.facts["bytes"]) for f in collector.found]


@pytest.mark.parametrize("fetch", ["get", "take"])
def test_a_tail_a_head_and_a_gap_are_told(fetch):
    """The first byte of them, and how many there are; nothing of a tensor that is stored as a whole."""
    assert [] == told((0, 64), fetch=fetch)
    assert [(RULE, 4 * 60, 16)] == told((0, 60), fetch=fetch)
    assert [(RULE, 0, 8)] == told((2, 62), fetch=fetch)
    assert [(RULE, 80, 16)] == told((0, 20), (24, 40), fetch=fetch)
    assert [(RULE, 0, 256)] == told((0, 0), fetch=fetch)


@pytest.mark.parametrize(
    ("low", "high", "lacking"), [(0, 124, 0), (128, 192, 0), (122, 130, 4), (192, 256, 32)]
)
def test_only_the_bytes_that_are_copied_back_count(low, high, lacking):
    """A piece of a pool that is stored whole is whole, whatever the rest holds."""
    device = mlusim.Device()
    out = device.empty(64, float32)
    with collecting(["initcheck"]) as collector:
        device.launch(stores, args=(out, 0, 31))
        device.launch(stores, args=(out, 32, 24))
        tell_fetched(out.allocation, low, high)

    assert [lacking] * bool(lacking) == [f.facts["bytes"] for f in collector.found]


def test_several_launches_may_share_the_work():
    """Only what none of them stores is missing."""
    assert [] == told((0, 30), (30, 34))


def test_what_the_host_has_filled_is_whole():
    """A tensor that was put, whatever the kernel does."""
    assert [] == told((0, 60), tensor=np.zeros(64, np.float32))


def test_a_launch_that_nobody_watched_may_have_stored_everything():
    """Nothing is known then, and nothing is said."""
    device = mlusim.Device()
    out = device.empty(64, float32)
    device.launch(stores, args=(out, 0, 60))
    with collecting(["initcheck"]) as collector:
        device.get(out)

    assert [] == collector.found


def test_the_kernel_is_the_one_that_stored():
    """Another launch in between, which has nothing to do with the tensor, is not blamed."""
    device = mlusim.Device()
    out, other = device.empty(64, float32), device.empty(64, float32)

    @kernel
    def another(mlu, out):
        part = mlu.nram(float32, 64)
        mlu.bang_write_zero(part, 64)
        mlu.memcpy(out, part, 256, NRAM2GDRAM)

    with collecting(["initcheck"]) as collector:
        device.launch(stores, args=(out, 0, 60))
        device.launch(another, args=(other,))
        device.get(out)

    assert ["stores"] == [found.kernel for found in collector.found]


@kernel
def rows(mlu, out, count):
    part = mlu.nram(float32, 16)
    mlu.bang_write_zero(part, 16)
    for row in range(mlu.taskId, count, mlu.taskDim):
        mlu.memcpy(out + 16 * row, part, 64, NRAM2GDRAM)


def test_the_neighbour_of_what_is_missing_is_named():
    """The task that stored the row before, not the one that ran last."""
    device = mlusim.Device()
    out = device.empty(16 * 6, float32)
    with collecting(["initcheck"]) as collector:
        device.launch(rows, (3, 1, 1), args=(out, 4))
        device.get(out)
    (finding,) = collector.found

    assert "by task 0 stored up to byte 256" in finding.context[0]
    assert 256 == finding.facts["offset"]
