"""The mechanisms of predicted time one by one: channels, the cache, first loads, passes, elements off the chip, bands."""

import itertools
import math

import numpy as np
import pytest
from attrs import evolve

import mlusim
from mlusim.arch.board import Pipe
from mlusim.arch.catalog import find_board
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, kernel, uint32
from mlusim.time.confidence import Certainty, Unsure
from mlusim.time.copy_costs import UNIT
from mlusim.time.quantities import IO, IO_STARTS, PLACES, TRANSACTIONS
from mlusim.time.rates import (
    CLUSTER_IO,
    CORE_IO,
    DRAM_CEILING,
    ELEMENT,
    EXPONENTIAL,
    FUNCTION,
    INHERITED,
    LAUNCH,
    MODEL,
    PART,
    RATES,
    REDUCTION,
    SCALAR_NRAM,
    SCALAR_STEP,
    SEGMENT,
    TASK_START,
    THIN,
    TRANSPOSE,
    TRANSPOSE_START,
    Bound,
    printed_rows,
)
from mlusim.time.timing import Need, delayed, launch_us, schedule
from mlusim.time.work import charge_line, rows_load

BOARD = "MLU370-X4"


@kernel
def both_ways(mlu, dst, src, count, apart):
    """Load one buffer and store another at the same time, or one after the other."""
    first, second = mlu.nram(float32, count), mlu.nram(float32, count)
    mlu.bang_write_zero(second, count)
    mlu.memcpy_async(first, src, 4 * count, GDRAM2NRAM)
    if apart:
        mlu.sync()
    mlu.memcpy_async(dst, second, 4 * count, NRAM2GDRAM)
    mlu.sync()


def test_loads_and_stores_have_a_channel_each():
    """A load and a store of 64 KiB side by side take what one of them takes."""
    count = 16384
    device = mlusim.Device(BOARD)
    src, dst = device.put(np.zeros(count, np.float32)), device.empty(count, float32)
    together, apart = (device.launch(both_ways, args=(dst, src, count, a)).time_us for a in (False, True))
    one_way = 4 * count / CORE_IO.value / 1000

    assert apart - together == pytest.approx(one_way, rel=0.2)


def test_the_rate_off_the_chip_does_not_follow_the_clock_of_the_cores():
    """The same copy on boards of one architecture at 1 and at 1.3 GHz differs by cycles of set-up only."""
    slow, fast = (_loaded(board, 65536).time_us for board in ("MLU370-X8", "MLU370-M8"))

    assert slow == pytest.approx(fast, rel=0.01)


def _loaded(board, count, tasks=1, whole=True):
    @kernel
    def load(mlu, src):
        buffer = mlu.nram(float32, count)
        at = 0 if whole else mlu.taskId * count
        mlu.memcpy(buffer, src + at, 4 * count, GDRAM2NRAM)

    device = mlusim.Device(board)
    src = device.put(np.zeros(count * (1 if whole else tasks), np.float32))
    return device.launch(load, tasks, args=(src,))


def test_what_every_task_reads_comes_from_memory_once_while_it_fits():
    """64 tasks that read the same 128 KiB beat 64 that read bytes of their own; without a cache they do not."""
    count, tasks = 32768, 64
    board = find_board(BOARD)
    bare = evolve(board, l2=0)
    same, own = (_loaded(board, count, tasks, whole).time_us for whole in (True, False))
    uncached = _loaded(bare, count, tasks).time_us
    floor = tasks * 4 * count / (board.bandwidth * DRAM_CEILING.on(board).value) * 1e6

    assert own >= floor
    assert uncached == pytest.approx(own)
    assert same < 0.7 * own


def test_what_does_not_fit_in_the_cache_is_read_again():
    """A tensor larger than the cache comes from memory every time."""
    count = 65536
    small = evolve(find_board(BOARD), l2=4 * count - 1)
    fits = evolve(find_board(BOARD), l2=4 * count)

    assert _loaded(small, count, 64).time_us > 1.5 * _loaded(fits, count, 64).time_us


def test_first_loads_of_one_wave_wait_for_each_other():
    """All cores load before any can compute, and the compute behind it hides none of that."""

    @kernel
    def load_and_work(mlu, src, adds):
        buffer = mlu.nram(float32, 32768)
        mlu.memcpy(buffer, src + mlu.taskId * 32768, 4 * 32768, GDRAM2NRAM)
        for _ in range(adds):
            mlu.bang_add(buffer, buffer, buffer, 32768)
        mlu.memcpy(src + mlu.taskId * 32768, buffer, 4, NRAM2GDRAM)

    device = mlusim.Device(BOARD)
    cores = device.board.cores
    src = device.put(np.zeros(32768 * cores, np.float32))
    one, every = (device.launch(load_and_work, n, args=(src, 40)).time_us for n in (1, cores))
    waits = cores * 4 * 32768 / (device.board.bandwidth * DRAM_CEILING.on(device.board).value) * 1e6
    alone = 4 * 32768 / CORE_IO.value / 1000

    assert every - one == pytest.approx(waits - alone, rel=0.15)


def test_more_in_any_first_load_ends_no_group_earlier():
    """Every end stays or moves back when a group needs more first, or later."""
    generator = np.random.default_rng(0)
    for _ in range(200):
        needs = [
            Need(*generator.uniform(1, 50, 1), 1000.0, *generator.uniform(0, 900, 1), 0.5) for _ in range(6)
        ]
        at = int(generator.integers(6))
        more = [
            evolve(n, first=n.first + 50, nbytes=n.nbytes + 50) if i == at else n for i, n in enumerate(needs)
        ]
        before, after = (delayed(n, 4, 100.0) for n in (needs, more))

        assert all(b[0] <= a[0] for b, a in zip(before, after, strict=True))


@pytest.mark.parametrize("name", ["bang_recip", "bang_sqrt", "bang_log2"])
def test_functions_take_several_cycles_a_line(name):
    """A reciprocal, a root or a logarithm takes what its rate says beyond an absolute value."""

    @kernel
    def apply(mlu, which):
        buffer = mlu.nram(float32, 4096)
        mlu.bang_write_value(buffer, 4096, float32(1.0))
        getattr(mlu, which)(buffer, buffer, 4096)

    device = mlusim.Device(BOARD)
    plain, function = (device.launch(apply, args=(which,)).time_us for which in ("bang_abs", name))

    assert math.isclose(function - plain, (FUNCTION.value - 1) * 128 / 1000, rel_tol=1e-9)


def test_elements_at_places_of_their_own_take_their_cycles():
    """A gather of 1,024 floats takes 28 cycles an element; a strided copy of the same elements its lines only."""

    @kernel
    def pick(mlu, src, gathers):
        buffer, offsets = mlu.nram(float32, 1024), mlu.nram(uint32, 1024)
        mlu.bang_write_value(offsets, 1024, uint32(64))
        if gathers:
            mlu.gather(buffer, src, offsets, 4, GDRAM2NRAM, 4, 1024)
        else:
            mlu.memcpy(buffer, src, 4, GDRAM2NRAM, 4, 64, 1023)

    device = mlusim.Device("MLU590-H8")
    src = device.put(np.zeros(1024 * 16, np.float32))
    strided, gathered = (device.launch(pick, args=(src, gathers)).time_us for gathers in (False, True))

    assert gathered == pytest.approx(LAUNCH.value + 1024 * ELEMENT.value / 1500, rel=0.1)
    assert strided < 0.3 * gathered


def test_a_line_written_whole_is_not_read_first():
    """Stores of whole lines move half as much as as many stores of half lines, of which each waits for its line besides."""

    @kernel
    def store(mlu, dst, size, rows):
        buffer = mlu.nram(float32, 16384)
        mlu.bang_write_zero(buffer, 16384)
        mlu.memcpy(dst, buffer, size, NRAM2GDRAM, 128, size, rows - 1)

    device = mlusim.Device(BOARD)
    dst = device.empty(65536, float32)
    nothing, whole, half = (
        device.launch(store, args=(dst, *a)).time_us for a in ((64, 1), (64, 1024), (32, 1024))
    )

    line = 64 / CORE_IO.value / 1000

    assert whole - nothing == pytest.approx(1023 * line + 1024 * SEGMENT.on(device.board).value / 1000)
    assert half - whole == pytest.approx(1024 * (line + PART.value / 1000))


@pytest.mark.parametrize("direction", [GDRAM2NRAM, NRAM2GDRAM])
def test_the_cost_of_a_copy_is_that_of_the_lines_that_it_touches(direction):
    """The functions that are made of the table of costs count what one counts line by line, for one piece and for rows."""
    stores = direction is NRAM2GDRAM
    for start, size in itertools.product((0, 1, 60, 63), (1, 3, 64, 65, 127, 128, 200)):
        lines = {byte // UNIT for byte in range(start, start + size)}
        whole = {line for line in lines if line * UNIT >= start and (line + 1) * UNIT <= start + size}
        moved = len(lines) + stores * len(lines - whole)
        counted = [0] * PLACES
        charge_line(counted, Pipe.IO, direction.value, start, start, size)
        load = rows_load(Pipe.IO, direction.value, start, 256, start, 256, size, 3)

        assert (counted[TRANSACTIONS], counted[IO], counted[IO_STARTS]) == (moved, size, 1), (start, size)
        assert (load.transactions, load.stores, load.lines) == (3 * moved, 3 * moved * stores, 3), (
            start,
            size,
        )


def test_the_band_holds_the_time_and_follows_the_marks():
    """The band is on both sides of the time; certain constants have none."""
    launch = _loaded("MLU590-H8", 4096, 8)
    low, high = launch.time_band

    assert low < launch.time_us < high
    assert all(value.band is None for rate in RATES for value in rate.values if value.mark == "C")


@pytest.mark.parametrize("kind", sorted(MODEL))
def test_a_band_reaches_as_far_as_its_kind_of_time_says(kind):
    """A launch of one kind of time is off by its factor, one of two by their mean, one that no row shows by the largest; a board without rows more."""
    own, other = find_board(BOARD), find_board("MLU370-M8")
    unseen = Unsure("pooling", 1.0, 1)
    second = min(MODEL.keys() - {kind})
    half = Certainty({kind: 0.5, second: 0.5})

    assert pytest.approx(MODEL[kind]) == Certainty({kind: 1.0}).factor(own)
    assert pytest.approx(math.sqrt(MODEL[kind] * MODEL[second])) == half.factor(own)
    assert pytest.approx(THIN) == Certainty({kind: 1.0}, (unseen,)).factor(own)
    assert pytest.approx(INHERITED * MODEL[kind]) == Certainty({kind: 1.0}).factor(other)


def test_what_a_launch_is_made_of():
    """All of its time is of some kind: most of that of long copies beside each other flows, most of a short launch is launching."""
    device = mlusim.Device(BOARD)
    src, dst = device.put(np.zeros(32768, np.float32)), device.empty(32768, float32)
    long, short = (device.launch(both_ways, args=(dst, src, count, True)) for count in (32768, 64))
    kinds = [launch.forecast.certainty.kinds for launch in (long, short)]
    low, high = short.time_band

    assert [pytest.approx(1), pytest.approx(1)] == [sum(parts.values()) for parts in kinds]
    assert ["copies beside other work", "launching"] == [max(parts, key=parts.get) for parts in kinds]
    assert high / short.time_us >= short.forecast.certainty.factor(device.board)
    assert short.time_us / low >= short.forecast.certainty.factor(device.board)


def test_a_launch_without_timing_has_no_band():
    """What is not timed is not a number."""
    device = mlusim.Device(BOARD)
    launch = device.launch(
        both_ways,
        args=(device.empty(64, float32), device.put(np.zeros(64, np.float32)), 64, True),
        timing=False,
    )

    assert all(map(math.isnan, launch.time_band))


BOARDS = ("MLU370-X4", "MLU370-X8", "MLU370-M8", "MLU590-M9", "MLU590-H8", "MLU290-M5", "MLU270-S4")


@pytest.mark.parametrize("name", BOARDS)
def test_every_constant_has_one_value_on_a_board(name):
    """The board's own, that of its series, or the usual one; usual is what the middle of a band says."""
    board = find_board(name)
    for rate in RATES:
        wheres = [value.where for value in rate.values]

        assert len(set(wheres)) == len(wheres)
        assert rate.at(Bound.USUAL, board) == rate.on(board).value
        assert all(value.rows or not value.measured for value in rate.values)


def test_a_value_that_a_board_printed_nothing_for_has_a_wider_band():
    """MLU370-X8 takes the ceiling of MLU370-X4, with both ends of the band further out."""
    own, other = find_board("MLU370-X4"), find_board("MLU370-X8")
    value = DRAM_CEILING.on(other)
    shorter, longer = value.band

    assert value is DRAM_CEILING.on(own)
    assert not value.inherited(own)
    assert value.inherited(other)
    assert (shorter, longer) == value.ends(own)
    assert pytest.approx((shorter * INHERITED, longer / INHERITED)) == value.ends(other)
    assert printed_rows(other)
    assert not printed_rows(find_board("MLU370-M8"))


def test_values_of_boards_are_their_own():
    """What rows of MLU370 gave moves no constant of a board that printed rows of its own."""
    assert DRAM_CEILING.on(find_board("MLU590-M9")).value == 0.825
    assert (
        SCALAR_NRAM.on(find_board("MLU370-X8")).value == SCALAR_NRAM.on(find_board("MLU370-X4")).value == 24
    )
    assert SCALAR_NRAM.on(find_board("MLU270-S4")).value == 72
    assert CLUSTER_IO.on(find_board("MLU370-X8")).value > CLUSTER_IO.on(find_board("MLU370-X4")).value


@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
def test_pieces_of_a_strided_copy_take_their_cycles(board):
    """256 pieces apart from each other take 256 times a segment; pieces behind each other are one."""
    device = mlusim.Device(board)
    src = device.put(np.zeros(1 << 15, np.float32))
    contiguous, apart = (device.launch(rows_of, args=(src, stride)).time_us for stride in (64, 128))
    segments = 256 * SEGMENT.on(device.board).value / device.board.clock_mhz

    assert apart - contiguous == pytest.approx(segments)


@kernel
def rows_of(mlu, src, stride):
    """256 rows of 64 bytes."""
    buffer = mlu.nram(float32, 4096)
    mlu.memcpy(buffer, src, 64, GDRAM2NRAM, 64, stride, 255)


def test_each_task_begins_a_moment_after_the_one_before_it():
    """One task alone pays nothing; 32 begin one after the other, and a second wave begins behind the first."""

    @kernel
    def nothing(mlu):
        del mlu

    device = mlusim.Device(BOARD)
    apart = TASK_START.on(device.board).value / 1000
    one, wave, two = (device.launch(nothing, tasks).time_us for tasks in (1, 32, 64))

    assert one == pytest.approx(launch_us(device.board), abs=0.01)
    assert wave - one == pytest.approx(31 * apart, abs=0.01)
    assert two - wave == pytest.approx(32 * apart, abs=0.01)


def test_tasks_that_begin_late_hide_nothing_of_long_ones():
    """Two waves of tasks that are longer than all starts take two durations and the starts of one wave."""
    ends = [slot.end for slot in schedule([(50.0, 0.0)] * 8, 4, 1000.0, 1.0)]

    assert max(ends) == pytest.approx(2 * 50 + 3)


def test_cores_of_a_cluster_share_its_port():
    """Four cores that load take what the port gives them, one takes its own rate; another cluster does not matter."""
    device = mlusim.Device(BOARD)
    own, shared = CORE_IO.value, CLUSTER_IO.on(device.board).value / 4
    one, four, eight = (_loaded(BOARD, 65536, tasks, whole=False).time_us for tasks in (1, 4, 8))
    starts = TASK_START.on(device.board).value / 1000

    assert shared < own
    assert four - one == pytest.approx(4 * 65536 * (1 / shared - 1 / own) / 1000 + 3 * starts, rel=0.1)
    assert eight - four == pytest.approx(4 * starts, rel=0.1)


@pytest.mark.parametrize(
    ("name", "rate"),
    [("bang_active_exp", EXPONENTIAL), ("bang_reduce_sum", REDUCTION), ("bang_argmax", REDUCTION)],
)
def test_exponentials_and_reductions_take_several_cycles_a_line(name, rate):
    """Each line takes what its rate says beyond one of an absolute value."""

    @kernel
    def apply(mlu, which):
        src, dst = mlu.nram(float32, 4096), mlu.nram(float32, 4096)
        mlu.bang_write_value(src, 4096, float32(-1.0))
        getattr(mlu, which)(dst, src, 4096)

    device = mlusim.Device(BOARD)
    plain, several = (device.launch(apply, args=(which,)).time_us for which in ("bang_abs", name))

    assert math.isclose(several - plain, (rate.on(device.board).value - 1) * 128 / 1000, rel_tol=1e-9)


def test_transpositions_take_a_time_for_each_element():
    """32 elements a cycle on MLU370; four on MLU270, behind a start of their own."""

    @kernel
    def turn(mlu):
        src, dst = mlu.nram(float32, 4096), mlu.nram(float32, 4096)
        mlu.bang_write_value(src, 4096, float32(1.0))
        mlu.bang_transpose(dst, src, 64, 64)

    for name in ("MLU370-X4", "MLU270-S4"):
        board = find_board(name)
        time_us = mlusim.Device(board).launch(turn).time_us - launch_us(board)
        elements = TRANSPOSE.on(board).value * 4096 + TRANSPOSE_START.on(board).value

        assert time_us == pytest.approx((elements + 128 + 2 * 20 + 3 * 2) / board.clock_mhz, rel=0.02)


def test_a_scalar_access_on_the_chip_takes_what_its_board_says():
    """1,000 loads of NRAM on MLU370-X4 and on MLU370-X8: of those of kernels in Python every second one is waited for."""

    @kernel
    def loads(mlu):
        buffer = mlu.nram(float32, 1024)
        mlu.bang_write_zero(buffer, 1024)
        sum(float(buffer[i]) for i in range(1000))

    for name in ("MLU370-X4", "MLU370-X8"):
        board = find_board(name)
        step = SCALAR_NRAM.on(board).value / 2 + SCALAR_STEP.value

        assert mlusim.Device(board).launch(loads).time_us == pytest.approx(
            launch_us(board) + step, rel=0.01, abs=0.1
        )
