"""Syncs and barriers by their definition: what each waits for, which cores meet, and which core is which."""

import itertools

import numpy as np
import pytest
from isa_rows import on_core

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, NRAM2NRAM, float32, int32, kernel

IO, MOVE = "IO-DMA", "move-DMA"
BOARDS = ("MLU370-X4", "MLU590-H8")
WAITS = {
    "sync": {IO, MOVE},
    "sync_io": {IO},
    "sync_move": {MOVE},
    "sync_compute": {MOVE},  # as the copy is one inside NRAM
    "sync_io_move_compute": {IO, MOVE},
}
FLAGS = tuple(itertools.product((False, True), repeat=6))


def left_after(name, board, flags=()):
    """The pipes on which something is in flight behind a sync, and whether what has landed is there."""

    def run(mlu, heap):
        far, near = mlu.core.bind(heap.allocation, float32), mlu.nram(float32, 64, range(64))
        far.view.array[:32] = np.arange(32)
        loaded, moved = mlu.nram(float32, 32), mlu.nram(float32, 32)
        mlu.memcpy_async(loaded, far, 128, GDRAM2NRAM)
        mlu.memcpy_async(moved, near, 128, NRAM2NRAM)
        getattr(mlu, name)(*flags)
        there = {
            pipe
            for pipe, memory in ((IO, loaded), (MOVE, moved))
            if memory.view.array.tolist() == list(range(32))
        }
        return {flight.pipe.value for flight in mlu.core.flights}, there

    return on_core(run, board=board, effects="late")


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("name", WAITS)
def test_a_sync_waits_for_its_pipes_and_for_no_other(name, board):
    """What it waits for has landed, the rest is still in flight."""
    flying, there = left_after(name, board)

    assert WAITS[name] == there
    assert {IO, MOVE} - WAITS[name] == flying


@pytest.mark.parametrize("flags", FLAGS, ids=lambda f: "".join("01"[x] for x in f))
def test_a_directed_sync_waits_for_its_producers(flags):
    """With six flags, for the pipes of the first three, if any of the last three is to wait."""
    flying, there = left_after("sync_io_move_compute", BOARDS[0], flags)
    expected = {pipe for pipe, waited in zip((IO, MOVE), flags[:2], strict=True) if waited and any(flags[3:])}

    assert expected == there
    assert {IO, MOVE} - expected == flying


@pytest.mark.parametrize("name", ["sync_compute", "sync"])
def test_a_sync_puts_the_vector_unit_in_order_with_a_copy(name):
    """Without it the asynchronous store may overtake the addition, and the race check says so."""
    device = mlusim.Device("MLU370-X4")
    out = device.empty(64, float32)

    @kernel
    def store(mlu, out, waits):
        a = mlu.nram(float32, 64)
        mlu.bang_write_value(a, 64, np.float32(1))
        mlu.bang_add(a, a, a, 64)
        if waits:
            getattr(mlu, name)()
        mlu.memcpy_async(out, a, 256, NRAM2GDRAM)

    assert () == device.launch(store, args=(out, True), observe=["racecheck"]).findings
    assert device.launch(store, args=(out, False), observe=["racecheck"]).findings


# -- barriers --------------------------------------------------------------------------------------

WIDTH = 2  # clusters of the union
CORES = [(cluster, core) for cluster in range(WIDTH) for core in (0, 1, 2, 3, 128)]


def ipu(place):
    """Whether a place is an IPU core."""
    return place[1] != 128


MEET = {
    "sync_cluster": lambda a, b: a[0] == b[0],
    "sync_all": lambda a, b: True,
    "sync_all_ipu": lambda a, b: ipu(a) and ipu(b),
    "sync_all_mpu": lambda a, b: not ipu(a) and not ipu(b),
    "sync_all_ipu_within_cluster": lambda a, b: ipu(a) and ipu(b) and a[0] == b[0],
}


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
@pytest.mark.parametrize("name", MEET)
@pytest.mark.parametrize("board", BOARDS)
def test_a_barrier_lets_nobody_go_on_before_all_have_come(board, name, seed):
    """A core that passes has behind it the arrival of all that it meets; the others need not have come."""
    come, passed = [], {}

    @kernel
    def meet(mlu):
        here = mlu.clusterId, mlu.coreId
        for _ in range(mlu.coreId % 3 + mlu.clusterId):
            mlu.core.machine.scheduler.pause(mlu.core)
        come.append(here)
        getattr(mlu, name)()
        passed[here] = set(come)

    mlusim.Device(board).launch(meet, dim=4 * WIDTH, kind=mlusim.UNION2, seed=seed)

    assert set(CORES) == set(passed)
    for here in CORES:
        for other in CORES:
            if MEET[name](here, other):
                assert other in passed[here], (here, other)


@pytest.mark.parametrize(
    ("alone", "name"), [(0, "sync_all_mpu"), (128, "sync_all_ipu"), (128, "sync_all_ipu_within_cluster")]
)
def test_who_does_not_take_part_passes(alone, name):
    """The other kind of core comes to the barrier first, alone, and goes on."""
    order = []

    @kernel
    def pass_by(mlu):
        if mlu.coreId == alone and mlu.clusterId == 0:
            getattr(mlu, name)()
            order.append("passed")
        else:
            for _ in range(3):
                mlu.core.machine.scheduler.pause(mlu.core)
            order.append("comes")
            getattr(mlu, name)()

    mlusim.Device("MLU370-X4").launch(pass_by, dim=4 * WIDTH, kind=mlusim.UNION2)

    assert "passed" == order[0]


@pytest.mark.parametrize("name", ["sync_cluster_arrive", "sync_all_arrive"])
@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_half_a_barrier_is_over_with_its_count_of_arrivals(name, seed):
    """A waiting core goes on behind *count* arrivals in its scope; an arriving one goes on at once."""
    scope, wait = name.split("_")[1], name.replace("arrive", "wait")
    arrived, seen = [], {}
    count = 3 if scope == "cluster" else 6

    @kernel
    def half(mlu):
        if mlu.coreId in (0, 1, 2):
            for _ in range(mlu.coreId):
                mlu.core.machine.scheduler.pause(mlu.core)
            arrived.append(mlu.clusterId)
            getattr(mlu, name)(4, count)
        else:
            getattr(mlu, wait)(4, count)
            seen[mlu.clusterId, mlu.coreId] = [arrived.count(cluster) for cluster in range(WIDTH)]

    mlusim.Device("MLU370-X4").launch(half, dim=4 * WIDTH, kind=mlusim.UNION2, seed=seed)

    assert {(cluster, core) for cluster in range(WIDTH) for core in (3, 128)} == set(seen)
    for (cluster, _), counts in seen.items():
        assert 3 == counts[cluster]
        assert 3 == counts[1 - cluster] or scope == "cluster"


def test_every_core_knows_what_it_is():
    """The memory core has the number 128; the tests for either kind say so on every core."""
    kinds = {}

    @kernel
    def look(mlu):
        kinds[mlu.clusterId, mlu.coreId] = mlu.is_mpu(), mlu.is_ipu()

    mlusim.Device("MLU370-X4").launch(look, dim=4 * WIDTH, kind=mlusim.UNION2)

    assert {place: (not ipu(place), ipu(place)) for place in CORES} == kinds


@pytest.mark.parametrize("seed", [None, 0, 1, 2, 3])
def test_a_mutex_is_held_by_one_task_at_a_time(seed):
    """Between taking and giving back no other core is inside."""
    inside, most = [], []

    @kernel
    def guarded(mlu, counter):
        mlu.bang_lock(1, 1)
        inside.append(mlu.taskId)
        most.append(len(inside))
        value = mlu.load_gdram(counter)
        mlu.core.machine.scheduler.pause(mlu.core)
        mlu.store_gdram(counter, value + 1)
        inside.remove(mlu.taskId)
        mlu.bang_unlock(1, 1)

    device = mlusim.Device("MLU370-X4")
    counter = device.put(np.zeros(1, np.int32))
    device.launch(guarded, dim=8, args=(counter,), seed=seed)

    assert [1] * 8 == most
    assert [8] == device.get(counter).tolist()


def test_alone_in_a_block_a_barrier_is_a_sync():
    """Every barrier of a Block task lands what is in flight and waits for no other core."""
    device = mlusim.Device("MLU370-X4")
    for name in ("sync_cluster", "sync_all", "sync_all_ipu", "sync_all_ipu_within_cluster", "sync_all_mpu"):
        found = []

        @kernel
        def alone(mlu, source, name=name, found=found):
            a = mlu.nram(int32, 16)
            mlu.memcpy_async(a, source, 64, GDRAM2NRAM)
            getattr(mlu, name)()
            found.append((len(mlu.core.flights), a.view.array.tolist()))

        device.launch(alone, args=(device.put(np.arange(16, dtype=np.int32)),))

        assert [(0, list(range(16)))] == found, name
