"""Probes of the time model whose answer is known: what takes longer than what, each by one mechanism alone."""

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.arch.catalog import find_board
from mlusim.bang import FUSION_FMA, GDRAM2NRAM, GDRAM2SRAM, NRAM2GDRAM, NRAM2NRAM, float32, half, kernel
from mlusim.time.rates import (
    ATOMIC_LINE,
    DMA_SETUP,
    DRAM_LATENCY,
    MOVE_PART,
    MOVE_SETUP,
    PART,
    SCALAR_BRANCH,
    SCALAR_NRAM,
    SCALAR_SRAM,
    SCALAR_STEP,
    STORE_LATENCY,
    THIN,
)

BOARD = "MLU370-X4"

SCALARS = """
#include <bang.h>
#define N 1000
__mlu_entry__ void Loops(float *out, int which) {
  __nram__ float a[2 * N];
  __nram__ int b[N];
  float s = 0;
  int at = 0;
  float *p = a;
  if (which == 0)
    for (int i = 0; i < N; i++) s += a[i] * a[i + N];
  else if (which == 1)
    for (int i = 0; i < N; i++) at = b[b[at] & 0] & 0;
  else if (which == 2)
    for (int i = 0; i < N; i++) s += a[i];
  else if (which == 3)
    for (int i = 0; i < N; i++) {
      float v = a[i];
      if (v > s) s = v;
    }
  else if (which == 4)
    for (int i = 0; i < N; i++) {
      float v = a[i];
      if (i != 7) s += v;
    }
  else if (which == 5) {
#pragma unroll
    for (int i = 0; i < N; i++) s += a[i];
  } else if (which == 6)
    for (int i = 0; i < N; i++) a[i] += 1;
  else if (which == 7)
    for (int i = 0; i < N; i++) {
      s += *p;
      ++p;
    }
  else
    for (int i = 0; i < 16; i++) s += a[i];
  out[0] = s + at;
}
__mlu_entry__ void Places(float *out, int far) {
  __nram__ float a[N];
  __mlu_shared__ float b[N];
  float s = 0;
  if (coreId == 0) {
    if (far)
      for (int i = 0; i < N; i++) s += b[i];
    else
      for (int i = 0; i < N; i++) s += a[i];
    out[0] = s;
  }
}
"""


@pytest.fixture(scope="module")
def scalars(tmp_path_factory):
    """The kernels of scalar loops."""
    path = tmp_path_factory.mktemp("probes") / "scalars.mlu"
    path.write_text(SCALARS)
    return bangc.load([path], board=BOARD)


# What a turn of each loop takes: how many accesses, how many waits, how many branches on data.
TURNS = {
    "two loads that do not depend on each other": (2, 1, 0),
    "an address that is loaded": (2, 2, 0),
    "one load": (1, 1, 0),
    "a branch on what is loaded": (1, 1, 1),
    "a branch on the counter": (1, 1, 0),
    "written out, as a pragma asks": (1, 0, 0),
    "a load and a store": (2, 1, 0),
    "a load through a pointer": (1, 1, 0),
}


@pytest.mark.parametrize("what", TURNS)
def test_scalar_loops_take_what_waits_for_what(scalars, what):
    """Loads that do not depend on each other share one wait, a chain waits for each; a branch on data takes more. Both engines agree."""
    accesses, waits, branches = TURNS[what]
    board = find_board(BOARD)
    python, native = (_scalar_us(scalars, [*TURNS].index(what), engine) for engine in ("python", "native"))
    turn = accesses * SCALAR_STEP.value + waits * SCALAR_NRAM.on(board).value + branches * SCALAR_BRANCH.value

    assert python == native == pytest.approx(1.2 + turn + 0.031)


def test_turns_that_a_compiler_writes_out_wait_together(scalars):
    """A loop of 16 turns has no wait left."""
    assert _scalar_us(scalars, len(TURNS), "python") == pytest.approx(
        1.2 + 16 * SCALAR_STEP.value / 1000 + 0.031
    )


def _scalar_us(scalars, which, engine):
    device = mlusim.Device(BOARD)
    return device.launch(scalars["Loops"], args=(device.empty(1, float32), which), engine=engine).time_us


def test_more_small_copies_of_the_same_bytes_take_longer():
    """Each blocking load of eight tasks waits for the memory, though their clusters' ports are busy."""

    @kernel
    def load(mlu, src, pieces):
        buffer = mlu.nram(float32, 16384)
        size = 4 * 16384 // pieces
        for n in range(pieces):
            mlu.memcpy(buffer, src + n * size // 4, size, GDRAM2NRAM)

    device = mlusim.Device(BOARD)
    src = device.put(np.zeros(16384, np.float32))
    one, four, sixteen = (device.launch(load, 8, args=(src, n)).time_us for n in (1, 4, 16))
    latency = DRAM_LATENCY.on(device.board).value / 1000

    assert four - one >= 3 * latency
    assert sixteen - four == pytest.approx(4 * (four - one))


@pytest.mark.parametrize("direction", [GDRAM2NRAM, NRAM2GDRAM])
def test_a_core_waits_for_the_data_of_a_load_and_not_for_a_store(direction):
    """Sixteen copies instead of one take their starts more, and the latency of their direction; a sync waits for it, too."""

    @kernel
    def copy(mlu, far, pieces, later):
        near = mlu.nram(float32, 1024)
        for n in range(0, 1024, 1024 // pieces):
            sides = (near, far) if direction is GDRAM2NRAM else (far, near)
            at = [side + n for side in sides]
            if later:
                mlu.memcpy_async(*at, 4096 // pieces, direction)
                mlu.sync()
            else:
                mlu.memcpy(*at, 4096 // pieces, direction)

    device = mlusim.Device(BOARD)
    far = device.put(np.zeros(1024, np.float32))
    rate = DRAM_LATENCY if direction is GDRAM2NRAM else STORE_LATENCY
    start = (DMA_SETUP.value + rate.on(device.board).value) / 1000
    few, many, few_later, many_later = (
        device.launch(copy, args=(far, pieces, later)).time_us
        for later in (False, True)
        for pieces in (1, 16)
    )

    assert many - few == pytest.approx(15 * start)
    assert many_later - few_later == pytest.approx(15 * start, rel=0.4)


def test_small_copies_on_the_chip_take_their_starts():
    """Sixteen copies of a line against one of 16 lines."""

    def move(mlu, pieces):
        src, dst = mlu.nram(half, 1024), mlu.nram(half, 1024)
        for n in range(0, 1024, 1024 // pieces):
            mlu.memcpy(dst + n, src + n, 2048 // pieces, NRAM2NRAM)

    one, many = (_vector_us(move, pieces)["move-DMA"] for pieces in (1, 16))

    assert many - one == pytest.approx(15 * MOVE_SETUP.on(find_board(BOARD)).value / 1000)


@pytest.mark.parametrize("engine", ["python", "native"])
def test_a_scalar_load_of_sram_takes_longer_than_one_of_nram(scalars, engine):
    """By the wait alone; memory cores have loads of SRAM only."""
    device = mlusim.Device(BOARD)
    near, shared = (
        device.launch(
            scalars["Places"], (4, 1, 1), mlusim.UNION1, (device.empty(1, float32), far), engine=engine
        ).busy_us["scalar"]
        for far in (0, 1)
    )
    board = device.board

    assert shared - near == pytest.approx(SCALAR_SRAM.value - SCALAR_NRAM.on(board).value)


def _vector_us(act, *args):
    """The busy time of the vector unit in a kernel that only does *act*."""

    @kernel
    def work(mlu):
        act(mlu, *args)

    return mlusim.Device(BOARD).launch(work).busy_us


def test_a_larger_window_takes_longer_and_a_few_channels_do_not():
    """Pooling reads the lines of each window: of each pixel where these lie apart, of a whole row where they lie side by side."""

    def pool(mlu, channels, window, apart):
        src, dst = mlu.nram(half, 64 * 34 * 34), mlu.nram(half, 64 * 34 * 34)
        mlu.bang_maxpool(dst, src, channels, 34, 34, window, window, 2, 2, apart, apart, 1, 1)

    small, large = (_vector_us(pool, 1, window, 3)["vector"] for window in (2, 4))
    line, beside = (_vector_us(pool, *how)["vector"] for how in ((64, 2, 3), (1, 2, 1)))

    assert small == line == pytest.approx(16 * 16 * 4 / 1000, abs=0.03)
    assert large == pytest.approx(13 * 13 * 16 / 1000, abs=0.03)
    assert beside == pytest.approx(17 * 17 * 2 / 1000, abs=0.03)


def test_a_few_channels_of_a_convolution_take_as_long_as_half_a_line():
    """3 channels of half take what 32 do, and 64 twice as long."""

    def convolve(mlu, channels):
        src, dst = mlu.nram(half, 64 * 256), mlu.nram(float32, 64 * 256)
        weight = mlu.wram(half, 64 * 64)
        mlu.bang_conv(dst, src, weight, channels, 16, 16, 1, 1, 1, 1, 64)

    few, some, many = (_vector_us(convolve, channels)["tensor"] for channels in (3, 32, 64))

    assert few == some
    assert many - some == pytest.approx(some, rel=0.3)


def test_two_operations_in_one_take_two_cycles_a_line():
    """A product and a sum."""

    def fuse(mlu):
        a = mlu.nram(float32, 3200)
        mlu.bang_fusion(FUSION_FMA, a, a, 2.0, a, 3200, 3200)

    assert _vector_us(fuse)["vector"] == pytest.approx(2 * 100 / 1000 + 0.02, abs=0.01)


def test_pieces_on_the_chip_take_longer_where_they_fill_no_line():
    """500 pieces of 2 bytes against 500 of 128."""

    def move(mlu, size):
        src, dst = mlu.nram(half, 65536), mlu.nram(half, 65536)
        mlu.memcpy(dst, src, size, NRAM2NRAM, 128, 128, 499)

    parts, whole = (_vector_us(move, size)["move-DMA"] for size in (2, 128))

    assert parts - whole == pytest.approx(500 * MOVE_PART.value / 1000)


@pytest.mark.parametrize("strided", ["dst", "src"])
def test_a_stored_piece_that_fills_no_line_waits_for_it(strided):
    """Whichever side the pieces lie apart on; loads of the same pieces do not."""

    @kernel
    def store(mlu, dst, size, rows, apart):
        buffer = mlu.nram(float32, 16384)
        to, frm = (128, size) if apart == "dst" else (size, 128)
        mlu.memcpy(dst, buffer, size, NRAM2GDRAM, to, frm, rows - 1)

    device = mlusim.Device(BOARD)
    dst = device.empty(65536, float32)
    one, many = (device.launch(store, args=(dst, 4, rows, strided)).time_us for rows in (2, 402))

    assert (many - one) / 0.4 == pytest.approx(PART.value, rel=0.25)


def test_pieces_of_stores_take_time_of_the_memory_that_all_share():
    """All cores store the same bytes in pieces of 512 bytes and of 4 KiB."""

    @kernel
    def store(mlu, dst, size):
        buffer = mlu.nram(float32, 65536)
        at = dst + mlu.taskId * 131072
        mlu.memcpy(at, buffer, size, NRAM2GDRAM, 2 * size, size, 262144 // size - 1)

    device = mlusim.Device(BOARD)
    dst = device.empty(32 * 131072, float32)
    small, large = (device.launch(store, 32, args=(dst, size)).time_us for size in (512, 4096))

    assert small > 1.1 * large


SUMS = """
#include <bang.h>
__mlu_entry__ void Sums(float *out, int apart, int form) {
  __nram__ float own[256];
  float *to = out + taskId * 256 * apart;
  if (form == 0) {
    __bang_atomic_reduce_add(to, own, 256);
  } else {
    __bang_atomic_reduce_add_async(to, own, 256);
    __sync_io();
  }
}
"""


@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("engine", ["python", "native"])
def test_atomics_of_many_cores_at_the_same_lines_wait_for_each_other(tmp_path, engine, form):
    """32 tasks that each add 1 KiB to the same 1 KiB wait at 16 lines for 31 others; where each has a place of its own, for none."""
    path = tmp_path / "sums.mlu"
    path.write_text(SUMS)
    kernel_ = bangc.load([path], board=BOARD)["Sums"]
    device = mlusim.Device(BOARD)

    def busy(apart):
        dst = device.put(np.zeros(256 * (32 if apart else 1), np.float32))
        return device.launch(kernel_, 32, args=(dst, apart, form), engine=engine).busy_us["IO-DMA"]

    assert busy(0) - busy(1) == pytest.approx(16 * 31 * ATOMIC_LINE.value / 1000)


def test_memory_cores_load_faster_what_others_have_loaded():
    """Eight unions that load the same MiB into their SRAM beat eight that load one each."""

    @kernel
    def fill(mlu, src, own):
        sram = mlu.shared(float32, 262144)
        if mlu.is_mpu():
            at = mlu.clusterId * 262144 * own
            mlu.memcpy(sram, src + at, 1 << 20, GDRAM2SRAM)

    device = mlusim.Device("MLU370-M8")
    grid = 4, device.board.clusters, 1
    same, apart = (
        device.launch(
            fill, grid, mlusim.UNION1, (device.put(np.zeros((1 + 7 * own) << 18, np.float32)), own)
        ).busy_us
        for own in (0, 1)
    )

    assert same["IO-DMA"] < 0.6 * apart["IO-DMA"]


def test_a_wide_band_names_what_makes_it_wide(scalars):
    """Pooling is shown by one measurement: its band is wider than that of a scalar loop, and says so in JSON."""

    @kernel
    def pool(mlu):
        src, dst = mlu.nram(half, 16900), mlu.nram(half, 4225)
        mlu.bang_maxpool(dst, src, 1, 130, 130, 2, 2, 2, 2, 3, 3, 1, 1)

    device = mlusim.Device(BOARD)
    launch = device.launch(pool)
    low, high = launch.time_band
    loop = device.launch(scalars["Loops"], args=(device.empty(1, float32), 2))
    (named,) = launch.unsure

    assert named.to_json() == {"mechanism": "pooling", "part": named.part, "rows": 1}
    assert named.part > 0.5
    assert "pooling, which one measurement shows" in str(named)
    assert not loop.unsure
    assert high / low > 1.1 * loop.time_band[1] / loop.time_band[0]
    assert high / low < 1.6 * THIN**2


def test_two_transpositions_on_mlu270_are_predicted_as_the_page_says():
    """A batch norm of two of 128 x 256 halves takes twice as long by its author's word: the band holds that, and names why it is wide."""

    @kernel
    def turn(mlu):
        a, b = mlu.nram(half, 128 * 256), mlu.nram(half, 128 * 256)
        mlu.bang_transpose(b, a, 128, 256)
        mlu.bang_transpose(a, b, 256, 128)

    launch = mlusim.Device("MLU270-S4").launch(turn)

    assert launch.busy_us["vector"] == pytest.approx(75.6, abs=0.05)
    assert 2 * launch.time_us <= launch.time_band[1]
    assert {"transpose", "transposition"} == {one.mechanism for one in launch.unsure}


def test_a_stride_that_equals_the_size_is_taken_to_cost_nothing():
    """A copy of 64 rows that lie side by side takes what one of as many bytes does."""

    @kernel
    def load(mlu, src, rows):
        buffer = mlu.nram(float32, 4096)
        if rows > 1:
            mlu.memcpy(buffer, src, 16384 // rows, GDRAM2NRAM, 16384 // rows, 16384 // rows, rows - 1)
        else:
            mlu.memcpy(buffer, src, 16384, GDRAM2NRAM)

    device = mlusim.Device(BOARD)
    src = device.put(np.zeros(4096, np.float32))
    one, many = (device.launch(load, args=(src, rows)).time_us for rows in (1, 64))

    assert one == many
