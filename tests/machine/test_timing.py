"""Predicted time: bounds, growth, overlap, sharing, waves, memory cores; it changes nothing but itself."""

import math

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given, settings, strategies as st

import mlusim
from mlusim.arch.catalog import find_board
from mlusim.bang import (
    GDRAM2NRAM,
    GDRAM2SRAM,
    NRAM2GDRAM,
    SRAM2NRAM,
    float32,
    half,
    kernel,
)
from mlusim.machine.hub import Observer
from mlusim.time.rates import (
    CORE_IO,
    DRAM_CEILING,
    DRAM_LATENCY,
    RATES,
    SEGMENT,
    STORE_LATENCY,
    TASK_START,
    VECTOR_START,
)
from mlusim.time.timing import launch_us, predict, schedule

BOARDS = ("MLU580-H5", "MLU370-X4", "MLU370-X8", "MLU590-H8")
ROOM = 8192  # floats a task
START = launch_us(find_board("MLU370-X4"))


@kernel
def work(mlu, src, plan):
    """Do what *plan* says for the task: (floats to copy, lanes, times)."""
    copied, lanes, times = plan[mlu.taskId % len(plan)]
    buffer = mlu.nram(float32, ROOM)
    mlu.bang_write_zero(buffer, ROOM)
    for _ in range(times):
        if copied:
            mlu.memcpy(buffer, src, 4 * copied, GDRAM2NRAM)
        if lanes:
            mlu.bang_add(buffer, buffer, buffer, lanes)


def time_of(plan, tasks=4, board="MLU370-X4"):
    """The predicted time of `work`, and its launch."""
    device = mlusim.Device(evolve(find_board(board), l2=0))  # all tasks read the same bytes, off the chip
    launch = device.launch(work, tasks, args=(device.put(np.zeros(ROOM, np.float32)), plan))
    return launch.time_us, launch


def test_a_time_is_predicted_when_it_is_asked_for(calls_of):
    """A launch whose results alone are wanted predicts nothing; asked twice, it predicts once."""
    device = mlusim.Device()
    with calls_of(predict) as asked:
        launch = device.launch(work, 4, args=(device.put(np.zeros(ROOM, np.float32)), [(8, 8, 1)]))
        before = len(asked)
        twice = launch.time_us, max(span.end_us for span in launch.timeline) + START

    assert twice[0] == twice[1]
    assert (before, len(asked)) == (0, 1)


steps = st.tuples(st.integers(0, ROOM), st.integers(0, ROOM), st.integers(1, 3))


@settings(deadline=None, max_examples=60)
@given(
    plan=st.lists(steps, min_size=1, max_size=6),
    tasks=st.integers(1, 70),
    more=st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(1, 4000)),
)
def test_more_work_in_any_task_never_takes_less_time(plan, tasks, more):
    """Bytes, lanes or repetitions added to any kind of task, however the tasks share the memory."""
    which, what, amount = more
    larger = [list(step) for step in plan]
    chosen = larger[which % len(plan)]
    chosen[what] = min(chosen[what] + amount, ROOM) if what < 2 else chosen[what] + 1

    assert time_of(plan, tasks)[0] <= time_of(larger, tasks)[0]


@settings(deadline=None, max_examples=60)
@given(plan=st.lists(steps, min_size=1, max_size=4), tasks=st.integers(1, 40), board=st.sampled_from(BOARDS))
def test_never_faster_than_the_roofline(plan, tasks, board):
    """At least the bytes over the bandwidth, and the additions over the compute force."""
    time_us, launch = time_of(plan, tasks, board)
    known = mlusim.Device(board).board
    done = [plan[task % len(plan)] for task in range(tasks)]
    additions = sum(lanes * times for _, lanes, times in done)

    assert time_us >= launch.io_bytes / known.bandwidth * 1e6
    assert time_us >= additions / known.compute_force("float") * 1e6


@settings(deadline=None, max_examples=40)
@given(
    needs=st.lists(st.tuples(st.floats(0.01, 50), st.integers(0, 10**6)), min_size=1, max_size=30),
    slots=st.integers(1, 8),
    which=st.integers(0, 29),
    more=st.tuples(st.floats(0, 50), st.integers(0, 10**6)),
)
def test_no_group_ends_earlier_when_one_needs_more(needs, slots, which, more):
    """Places and fair shares: every end stays or moves back."""
    at = which % len(needs)
    larger = list(needs)
    larger[at] = (needs[at][0] + more[0], needs[at][1] + more[1])
    before, after = (max(s.end for s in schedule(n, slots, 20_000.0)) for n in (needs, larger))

    assert before <= after * (1 + 1e-9)
    assert after >= sum(nbytes for _, nbytes in larger) / 20_000.0 * (1 - 1e-9)


def test_the_time_of_one_addition_is_lines_start_and_launch():
    """1,024 floats are 32 lines of 128 bytes; the buffer is zeroed first."""
    zeroes = ROOM * 4 // 128 + VECTOR_START.value
    expected = START + (zeroes + 32 + VECTOR_START.value) / 1000

    assert math.isclose(expected, time_of([(0, 1024, 1)], 1)[0])


def test_a_line_that_is_begun_counts_whole():
    """33 floats take as long as 64, and longer than 32."""
    times = [time_of([(0, lanes, 1)], 1)[0] for lanes in (32, 33, 64)]

    assert times[0] < times[1] == times[2]


def test_the_same_launch_takes_the_same_time_with_any_seed_and_effects():
    """Neither the schedule nor when effects land is part of the time."""
    device = mlusim.Device("MLU370-X4")
    src, dst = device.put(np.arange(4096, dtype=np.float32)), device.empty(4096, float32)
    options = [{}, {"seed": 1}, {"seed": 2}, {"effects": "eager"}]
    times = {device.launch(pipelined, 8, args=(dst, src, 512, True), **o).time_us for o in options}

    assert 1 == len(times)


@kernel
def pipelined(mlu, dst, src, tile, asynchronous):
    """Dst = 2 src, tile by tile; two buffers and one sync a step, or blocking."""
    buffers = [mlu.nram(float32, tile), mlu.nram(float32, tile)]
    at = list(range(mlu.taskId * tile, 4096, mlu.taskDim * tile))
    if not asynchronous:
        for i in at:
            mlu.memcpy(buffers[0], src + i, 4 * tile, GDRAM2NRAM)
            mlu.bang_add(buffers[0], buffers[0], buffers[0], tile)
            mlu.memcpy(dst + i, buffers[0], 4 * tile, NRAM2GDRAM)
        return
    for step in range(len(at) + 2):
        if step >= 2:
            mlu.memcpy_async(dst + at[step - 2], buffers[step % 2], 4 * tile, NRAM2GDRAM)
        if step < len(at):
            mlu.memcpy_async(buffers[step % 2], src + at[step], 4 * tile, GDRAM2NRAM)
        if 1 <= step <= len(at):
            one = buffers[(step - 1) % 2]
            mlu.bang_add(one, one, one, tile)
        mlu.sync()


def run_pipelined(asynchronous, tile=64, **options):
    """The launch and its result."""
    device = mlusim.Device("MLU370-X4")
    src, dst = device.put(np.arange(4096, dtype=np.float32)), device.empty(4096, float32)
    launch = device.launch(pipelined, 1, args=(dst, src, tile, asynchronous), **options)
    return launch, device.get(dst)


def test_overlap_pays():
    """A pipeline of asynchronous copies beats blocking ones by what stores and sums take; the latency of a load stays. The results are the same."""
    blocking, plain = run_pipelined(asynchronous=False, tile=512)
    overlapped, piped = run_pipelined(asynchronous=True, tile=512)

    assert np.array_equal(plain, piped)
    assert overlapped.time_us < 0.9 * blocking.time_us


def test_time_changes_no_result_and_no_order():
    """Without timing the instructions, the traffic and the bytes are the same; only the time is missing."""
    timed, result = run_pipelined(asynchronous=True)
    untimed, same = run_pipelined(asynchronous=True, timing=False)

    assert np.array_equal(result, same)
    assert timed.instructions == untimed.instructions
    assert timed.traffic == untimed.traffic
    assert math.isnan(untimed.time_us)
    assert "not timed" == untimed.bound


def test_tasks_beyond_the_cores_run_in_waves():
    """Tasks beyond the cores come in waves; of compute alone each wave takes the same, behind the starts of the first."""
    single, one, two, three = (time_of([(0, 4096, 50)], tasks)[0] - START for tasks in (1, 32, 64, 65))
    starts = 31 * TASK_START.on(find_board("MLU370-X4")).value / 1000

    assert math.isclose(single + starts, one)
    assert math.isclose(2 * single + starts, two)
    assert math.isclose(3 * single, three)


def test_cores_that_copy_share_the_memory():
    """One core has its own limit; all together have the ceiling; a few do not disturb each other."""
    board = find_board("MLU370-X8")
    one, four, all_cores = (time_of([(ROOM, 0, 50)], tasks, board.name)[0] - START for tasks in (1, 4, 16))
    nbytes = 16 * 50 * 4 * ROOM

    assert math.isclose(one + 3 * TASK_START.on(board).value / 1000, four)
    assert one >= 50 * 4 * ROOM / CORE_IO.value / 1000
    assert all_cores > 1.4 * one
    assert math.isclose(nbytes / (307.2e3 * DRAM_CEILING.on(board).value), all_cores, rel_tol=0.03)


def test_cores_that_end_leave_their_share_to_the_others():
    """15 short tasks and a long one: the long one is slow while they run, and at its own limit after."""
    board = "MLU370-X8"
    long_alone = time_of([(ROOM, 0, 400)], 1, board)[0]
    together = time_of([(ROOM, 0, 400)] + [(ROOM, 0, 20)] * 15, 16, board)[0]
    everyone = time_of([(ROOM, 0, 400)], 16, board)[0]

    assert long_alone <= together < 0.7 * everyone


@kernel
def strided(mlu, dst, src, size, dst_stride, src_stride, count, back):
    """One strided copy in, or out."""
    buffer = mlu.nram(float32, ROOM)
    mlu.bang_write_zero(buffer, ROOM)
    if back:
        mlu.memcpy(dst, buffer, size, NRAM2GDRAM, dst_stride, src_stride, count - 1)
    else:
        mlu.memcpy(buffer, src, size, GDRAM2NRAM, dst_stride, src_stride, count - 1)


def time_strided(size, dst_stride, src_stride, count, back=False, shift=0):
    """The predicted time of a strided copy; *shift* moves the off-chip side by floats."""
    device = mlusim.Device("MLU370-X4")
    src, dst = device.put(np.zeros(1 << 16, np.float32)), device.empty(1 << 16, float32)
    args = (dst + shift, src + shift, size, dst_stride, src_stride, count, back)
    return device.launch(strided, args=args).time_us


@pytest.mark.parametrize(("runs", "size"), [(512, 32), (1024, 16), (4096, 4)])
def test_small_runs_are_dear(runs, size):
    """Runs that fill a part of their lines move whole lines; runs of whole lines cost bytes in a row, and their number."""
    one = time_strided(64, 64, 64, 1)
    small, whole = time_strided(size, size, 64, runs) - one, time_strided(64, 64, 64, 256) - one

    assert small > 1.9 * whole
    pieces = 224 * SEGMENT.on(find_board("MLU370-X4")).value / 1000
    assert time_strided(64, 64, 128, 256) == pytest.approx(time_strided(512, 512, 1024, 32) + pieces)


def test_writes_in_part_and_off_a_line_are_dear():
    """Writing pieces of lines reads them first, and touches one line more; whole lines cost what reading them costs, but for the wait for the data."""
    board = find_board("MLU370-X4")
    wait = (DRAM_LATENCY.on(board).value - STORE_LATENCY.on(board).value) / 1000
    read = time_strided(4096, 4096, 4096, 4)
    aligned = time_strided(4096, 4096, 4096, 4, back=True)
    shifted = time_strided(4096, 4096, 4096, 4, back=True, shift=1)

    assert read - wait == pytest.approx(aligned)
    assert aligned < shifted


@kernel
def staged(mlu, dst, src, steps, tile, ahead):
    """The memory core stages tiles in SRAM for four cores, *ahead* of them or in step with them."""
    parts = [mlu.shared(float32, 4 * tile), mlu.shared(float32, 4 * tile)]
    own = None if mlu.is_mpu() else mlu.nram(float32, tile)
    for step in range(steps + 1):
        if mlu.is_mpu() and step < steps:
            mlu.memcpy_async(parts[step % 2], src + 4 * tile * step, 16 * tile, GDRAM2SRAM)
        if not ahead:
            mlu.sync_cluster()
        first = step if not ahead else step - 1
        if mlu.is_ipu() and 0 <= first < steps:
            mlu.memcpy(own, parts[first % 2] + mlu.coreId * tile, 4 * tile, SRAM2NRAM)
            for _ in range(8):
                mlu.bang_add(own, own, own, tile)
            mlu.memcpy(dst + 4 * tile * first + mlu.coreId * tile, own, 4 * tile, NRAM2GDRAM)
        mlu.sync_cluster()


def run_staged(ahead, steps=6, tile=2048):
    """The launch and its result."""
    device = mlusim.Device("MLU370-X4")
    src = device.put(np.ones(4 * tile * steps, np.float32))
    dst = device.empty(4 * tile * steps, float32)
    launch = device.launch(staged, (4, 1, 1), mlusim.UNION1, (dst, src, steps, tile, ahead))
    return launch, device.get(dst)


def test_a_memory_core_that_runs_ahead_hides_its_loads():
    """Double buffering in SRAM beats loading in step; both give the same."""
    in_step, first = run_staged(ahead=False)
    ahead, second = run_staged(ahead=True)

    assert np.all(first == 256)
    assert np.array_equal(first, second)
    assert ahead.time_us < 0.9 * in_step.time_us


def test_a_barrier_ends_for_all_when_the_last_has_come():
    """Four cores with unlike work before a barrier take as long as four with the most."""

    @kernel
    def uneven(mlu, lanes):
        if mlu.is_mpu():
            return
        buffer = mlu.nram(float32, 4096)
        mlu.bang_write_zero(buffer, 4096)
        for turn in range(4):
            mlu.bang_add(buffer, buffer, buffer, lanes[(mlu.coreId + turn) % 4])
            mlu.sync_all_ipu()

    device = mlusim.Device("MLU370-X4")
    unlike, most = (
        device.launch(uneven, (4, 1, 1), mlusim.UNION1, (lanes,)).time_us
        for lanes in ((4096, 64, 64, 64), (4096, 4096, 4096, 4096))
    )

    assert unlike == most


def test_scalar_loads_off_the_chip_cost_their_latency():
    """A scalar loop on GDRAM is far slower than the same loop on NRAM."""

    @kernel
    def total(mlu, src, near):
        buffer = mlu.nram(float32, 1000)
        mlu.memcpy(buffer, src, 4000, GDRAM2NRAM)
        from_where = buffer if near else src
        sum(float(from_where[i]) for i in range(1000))

    device = mlusim.Device("MLU370-X4")
    src = device.put(np.zeros(1000, np.float32))
    near, far = (device.launch(total, args=(src, near)).time_us - START for near in (True, False))

    assert far > 5 * near
    assert near > 15


def test_half_goes_twice_as_fast_as_float_and_bytes_no_faster_than_half():
    """128 bytes a cycle, but no more than 64 lanes."""

    @kernel
    def many(mlu, dtype):
        a = mlu.nram(dtype, 8192)
        for _ in range(10):
            mlu.bang_band(a, a, a, 8192) if dtype == "int8" else mlu.bang_add(a, a, a, 8192)

    device = mlusim.Device("MLU370-X4")
    start = 10 * VECTOR_START.value / 1000
    times = {d: device.launch(many, args=(d,)).time_us - START - start for d in ("float", "half", "int8")}

    assert math.isclose(2 * times["half"], times["float"])
    assert half.size == 2
    assert times["int8"] <= times["half"]


def test_long_pipelines_keep_a_bounded_log():
    """Logs are packed while a task runs: of many equal steps only the distinct ones are kept."""

    @kernel
    def forever(mlu, src):
        buffer = mlu.nram(float32, 64)
        for _ in range(3000):
            mlu.memcpy_async(buffer, src, 256, GDRAM2NRAM)
            mlu.sync()

    device = mlusim.Device("MLU370-X4")
    src = device.put(np.zeros(64, np.float32))
    logs = []

    class Keep(Observer):
        """Keep the machine."""

        def launch_end(self, launch):
            logs.extend(task.log for task in launch.tally.tasks)

    launch = device.launch(forever, args=(src,), observe=[Keep()])

    assert launch.time_us > 3000 * 0.2
    assert 6001 == sum(len(turns) for _, turns in logs[0].chunks)
    assert sum(len(distinct) for distinct, _ in logs[0].chunks) < 40


def test_every_constant_has_a_unit_a_mark_and_a_source():
    """One table, nothing unnamed in it."""
    assert len(RATES) == len({rate.name for rate in RATES})
    assert all(rate.unit and rate.says and rate.source and rate.value > 0 for rate in RATES)
