"""What would help: for kernels with a planted bottleneck the first advice is the right one, and its time comes true."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import mlusim
from mlusim import bangc
from mlusim.report.advice import LEAST, MOST, Advice, advice
from mlusim.report.figures import achieved
from mlusim.time import changed_work as work, quantities as q
from mlusim.time.log import COLUMNS, END, IO_FLIGHT, KIND, MEET, OWN, SUMS, CoreLog

BOARDS = ("MLU370-X4", "MLU590-H8")
N = 2048
SOURCE = """
#include <bang.h>
#define N 2048
#define EACH for (int at = taskId * N; at < n; at += taskDim * N)
__nram__ float a[N], b[N], a2[2][N], b2[2][N];

__mlu_entry__ void scalars(float *y, const float *x, int n) {
  EACH {
    __memcpy(a, x + at, N * 4, GDRAM2NRAM);
    for (int i = 0; i < N; i++) b[i] = a[i] * 2.0f;
    __memcpy(y + at, b, N * 4, NRAM2GDRAM);
  }
}
__mlu_entry__ void plain(float *y, const float *x, int n) {
  EACH {
    __memcpy(a, x + at, N * 4, GDRAM2NRAM);
    __bang_mul_scalar(b, a, 2.0f, N);
    __memcpy(y + at, b, N * 4, NRAM2GDRAM);
  }
}
__mlu_entry__ void short_copies(float *y, const float *x, int n) {
  EACH {
    for (int i = 0; i < N; i += 32) __memcpy(a + i, x + at + i, 32 * 4, GDRAM2NRAM);
    __bang_mul_scalar(b, a, 2.0f, N);
    for (int i = 0; i < N; i += 32) __memcpy(y + at + i, b + i, 32 * 4, NRAM2GDRAM);
  }
}
__mlu_entry__ void long_copies(float *y, const float *x, int n) {
  EACH {
    for (int i = 0; i < N; i += 1024) __memcpy(a + i, x + at + i, 4096, GDRAM2NRAM);
    __bang_mul_scalar(b, a, 2.0f, N);
    for (int i = 0; i < N; i += 1024) __memcpy(y + at + i, b + i, 4096, NRAM2GDRAM);
  }
}
__mlu_entry__ void short_vectors(float *y, const float *x, int n) {
  EACH {
    __memcpy(a, x + at, N * 4, GDRAM2NRAM);
    for (int k = 0; k < 20; k++)
      for (int i = 0; i < N; i += 32) __bang_mul_scalar(b + i, a + i, 2.0f, 32);
    __memcpy(y + at, b, N * 4, NRAM2GDRAM);
  }
}
__mlu_entry__ void long_vectors(float *y, const float *x, int n) {
  EACH {
    __memcpy(a, x + at, N * 4, GDRAM2NRAM);
    for (int k = 0; k < 20; k++)
      for (int i = 0; i < N; i += 1024) __bang_mul_scalar(b + i, a + i, 2.0f, 1024);
    __memcpy(y + at, b, N * 4, NRAM2GDRAM);
  }
}
__mlu_entry__ void turns(float *y, const float *x, int n) {
  EACH {
    __memcpy(a, x + at, N * 4, GDRAM2NRAM);
    for (int k = 0; k < 40; k++) __bang_mul_scalar(b, a, 2.0f, N);
    __memcpy(y + at, b, N * 4, NRAM2GDRAM);
  }
}
__mlu_entry__ void two_buffers(float *y, const float *x, int n) {
  int p = 0, first = taskId * N, step = taskDim * N;
  if (first < n) {
    __memcpy_async(a2[0], x + first, N * 4, GDRAM2NRAM);
    __sync_io();
  }
  for (int at = first; at < n; at += step) {
    if (at + step < n) __memcpy_async(a2[1 - p], x + at + step, N * 4, GDRAM2NRAM);
    if (at > first) __memcpy_async(y + at - step, b2[1 - p], N * 4, NRAM2GDRAM);
    for (int k = 0; k < 40; k++) __bang_mul_scalar(b2[p], a2[p], 2.0f, N);
    __sync();
    if (at + step >= n) __memcpy(y + at, b2[p], N * 4, NRAM2GDRAM);
    p = 1 - p;
  }
}
__mlu_entry__ void stores_at_once(float *y, const float *x, int n) {
  int p = 0, first = taskId * N, step = taskDim * N;
  if (first < n) {
    __memcpy_async(a2[0], x + first, N * 4, GDRAM2NRAM);
    __sync_io();
  }
  for (int at = first; at < n; at += step) {
    if (at + step < n) __memcpy_async(a2[1 - p], x + at + step, N * 4, GDRAM2NRAM);
    for (int k = 0; k < 40; k++) __bang_mul_scalar(b2[p], a2[p], 2.0f, N);
    __sync_compute();
    __memcpy_async(y + at, b2[p], N * 4, NRAM2GDRAM);
    __sync();
    p = 1 - p;
  }
}
__mlu_entry__ void stores_later(float *y, const float *x, int n) {
  int p = 0, first = taskId * N, step = taskDim * N;
  if (first < n) {
    __memcpy_async(a2[0], x + first, N * 4, GDRAM2NRAM);
    __sync_io();
  }
  for (int at = first; at < n; at += step) {
    if (at + step < n) __memcpy_async(a2[1 - p], x + at + step, N * 4, GDRAM2NRAM);
    for (int k = 0; k < 40; k++) __bang_mul_scalar(b2[p], a2[p], 2.0f, N);
    __sync();
    __memcpy_async(y + at, b2[p], N * 4, NRAM2GDRAM);
    p = 1 - p;
  }
}
__mlu_entry__ void copies_at_once(float *y, const float *x, int n) {
  int p = 0;
  EACH {
    __memcpy_async(a2[p], x + at, N * 4, GDRAM2NRAM);
    __sync_io(); // for the load
    for (int k = 0; k < 40; k++) __bang_mul_scalar(b2[p], a2[p], 2.0f, N);
    __sync_compute();
    __memcpy_async(y + at, b2[p], N * 4, NRAM2GDRAM);
    __sync_io();
    p = 1 - p;
  }
}
__mlu_entry__ void barriers(float *y, const float *x, int n) {
  EACH {
    __memcpy(a, x + at, N * 4, GDRAM2NRAM);
    for (int k = 0; k < 16; k++) {
      __bang_mul_scalar(b, a, 2.0f, N);
      __sync_cluster();
      __sync_cluster();
    }
    __memcpy(y + at, b, N * 4, NRAM2GDRAM);
  }
}
__mlu_entry__ void half_the_barriers(float *y, const float *x, int n) {
  EACH {
    __memcpy(a, x + at, N * 4, GDRAM2NRAM);
    for (int k = 0; k < 16; k++) {
      __bang_mul_scalar(b, a, 2.0f, N);
      __sync_cluster();
    }
    __memcpy(y + at, b, N * 4, NRAM2GDRAM);
  }
}
__mlu_entry__ void memory_core(float *y, const float *x, int n) {
  __mlu_shared__ float s[N];
  for (int at = 0; at < n; at += N) {
    if (__is_mpu())
      for (int i = 0; i < N; i += 32) __memcpy(s + i, x + at + i, 32 * 4, GDRAM2SRAM);
    __sync_cluster();
    if (__is_ipu()) {
      int own = N / coreDim;
      __memcpy(a, s + coreId * own, own * 4, SRAM2NRAM);
      __bang_mul_scalar(a, a, 2.0f, own);
      __memcpy(y + at + coreId * own, a, own * 4, NRAM2GDRAM);
    }
    __sync_cluster();
  }
}
"""
PLANTED = (
    # The kernel, the one with the advice followed, tasks for each core of the board, their kind, what is advised.
    ("scalars", "plain", 1, mlusim.BLOCK, "vectorise"),
    ("short_copies", "long_copies", 1, mlusim.BLOCK, "longer copies"),
    ("short_vectors", "long_vectors", 1, mlusim.BLOCK, "longer vectors"),
    ("turns", "two_buffers", 1, mlusim.BLOCK, "second buffer"),
    ("stores_at_once", "stores_later", 1, mlusim.BLOCK, "wait later"),
    ("copies_at_once", "two_buffers", 1, mlusim.BLOCK, "wait later"),
    ("barriers", "half_the_barriers", 1, mlusim.UNION1, "fewer barriers"),
    ("turns", "turns", 1 / 8, mlusim.BLOCK, "cores"),
)


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """The kernels, for each board."""
    path = tmp_path_factory.mktemp("advice") / "k.mlu"
    path.write_text(SOURCE)
    return {board: bangc.load(path, board=board) for board in BOARDS}


def launched(modules, name, board, dim, kind, observe=(), engine="auto"):
    """The launch of a kernel on eight pieces for each core, whose result is right."""
    device = mlusim.Device(board)
    x = np.arange(8 * N * mlusim.find_board(board).cores, dtype=np.float32)
    y = device.empty(x.shape, np.float32)
    launch = device.launch(
        modules[board][name], dim, kind, (y, device.put(x), x.size), observe=observe, engine=engine
    )
    np.testing.assert_array_equal(device.get(y), 2 * x)
    return launch


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize(("name", "better", "part", "kind", "advised"), PLANTED)
def test_the_first_advice_is_right_and_comes_true(modules, board, name, better, part, kind, advised):
    """What the source then takes is within a quarter of what was predicted."""
    cores = mlusim.find_board(board).cores
    launch = launched(modules, name, board, (int(cores * part), 1, 1), kind)
    first, *rest = advice(launch)
    after = launched(modules, better, board, (cores, 1, 1), kind)

    assert first.name == advised, [str(one) for one in (first, *rest)]
    assert first.gain == pytest.approx(launch.time_us / after.time_us, rel=0.25)
    assert first.time_us == min(one.time_us for one in launch.advice)


def test_advice_names_the_line_where_lines_are_kept(modules):
    """The line that the change is about."""
    launch = launched(
        modules, "scalars", BOARDS[0], (32, 1, 1), mlusim.BLOCK, [mlusim.EveryStep()], engine="python"
    )

    where = SOURCE.splitlines().index("    for (int i = 0; i < N; i++) b[i] = a[i] * 2.0f;") + 1
    assert launch.advice[0].where == f"line {where}"
    assert launch.advice[0].change in str(launch.advice[0])


@pytest.mark.parametrize("board", BOARDS)
def test_a_memory_core_that_sets_the_time_is_named(modules, board):
    """Beside the line at which the cores wait for it."""
    launch = launched(
        modules, "memory_core", board, (4, 1, 1), mlusim.UNION1, [mlusim.EveryStep()], engine="python"
    )
    said = next(words for words in launch.because if "sets the time" in words)

    assert said.startswith("the IO-DMA of the memory core of cluster 0 sets the time, busy ")
    lines = [n for n, line in enumerate(SOURCE.splitlines(), 1) if line == "    __sync_cluster();"]
    assert any(said.endswith(f"; the cores wait at line {line}") for line in lines)


def test_a_core_that_does_the_most_is_named():
    """Four of five pieces of work are one core's."""
    device = mlusim.Device(BOARDS[0])

    @mlusim.bang.kernel
    def uneven(mlu, n):
        row = mlu.nram(mlusim.bang.float32, 1024)
        for _ in range(n if mlu.taskId == 5 else n // 8):
            mlu.bang_write_zero(row, 1024)

    launch = device.launch(uneven, (8, 1, 1), mlusim.BLOCK, (800,))

    assert launch.because[0].startswith("the vector pipe of core 1 of cluster 1 sets the time, busy ")
    assert launch.advice[0].name == "cores"


@mlusim.bang.kernel
def scaled_rows(mlu, dst, src, w, pieces, once):
    """Rows of 4 KiB times *w*, which is loaded *once* or in each turn."""
    a, b = (mlu.nram(mlusim.bang.float32, 1024) for _ in range(2))
    for turn, piece in enumerate(range(mlu.taskId, pieces, mlu.taskDim)):
        if not (once and turn):
            mlu.memcpy(b, w, 4096, mlusim.bang.GDRAM2NRAM)
        mlu.memcpy(a, src + 1024 * piece, 4096, mlusim.bang.GDRAM2NRAM)
        mlu.bang_mul(a, a, b, 1024)
        mlu.memcpy(dst + 1024 * piece, a, 4096, mlusim.bang.NRAM2GDRAM)


def scaled(board, pieces, tasks, once):
    """The launch of `scaled_rows`."""
    device = mlusim.Device(board)
    src, w = device.put(np.zeros(1024 * pieces, np.float32)), device.put(np.zeros(1024, np.float32))
    dst = device.empty(src.shape, np.float32)
    return device.launch(scaled_rows, tasks, mlusim.BLOCK, (dst, src, w, pieces, once))


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("stores_at_once", "    __sync();\n    p = 1 - p;"),
        ("copies_at_once", "    __sync_io(); // for the load"),
    ],
)
def test_the_line_of_the_wait_is_named(modules, name, waits):
    """Not that of the copy; where there are two buffers no second one is advised."""
    launch = launched(
        modules, name, BOARDS[0], (32, 1, 1), mlusim.BLOCK, [mlusim.EveryStep()], engine="python"
    )
    later = next(one for one in launch.advice if one.name == "wait later")

    wait = SOURCE[: SOURCE.index(waits)].count("\n") + 1
    assert f"line {wait}" == later.where
    assert "second buffer" not in [one.name for one in launch.advice]


@mlusim.bang.kernel
def copied(mlu, dst, src, pieces, both):
    """Pieces of 64 KiB, one way after the other or *both* at once."""
    size, rows = 1 << 16, [mlu.nram(mlusim.bang.float32, 1 << 14) for _ in range(2)]
    mine = range(mlu.taskId, pieces, mlu.taskDim)
    if not both:
        for piece in mine:
            mlu.memcpy(rows[0], src + (piece << 14), size, mlusim.bang.GDRAM2NRAM)
            mlu.memcpy(dst + (piece << 14), rows[0], size, mlusim.bang.NRAM2GDRAM)
        return
    mlu.memcpy(rows[0], src + (mine[0] << 14), size, mlusim.bang.GDRAM2NRAM)
    for turn, piece in enumerate(mine):
        mlu.memcpy_async(dst + (piece << 14), rows[turn % 2], size, mlusim.bang.NRAM2GDRAM)
        if turn + 1 < len(mine):
            following = mine[turn + 1] << 14
            mlu.memcpy_async(rows[1 - turn % 2], src + following, size, mlusim.bang.GDRAM2NRAM)
        mlu.sync_io()


@pytest.mark.parametrize("board", [*BOARDS, "MLU290-M5"])
def test_copies_that_go_one_way_at_a_time_are_to_go_both(board):
    """A source that loads a piece while the one before is stored takes what was promised, and has nothing left to overlap."""
    cores, size = 4, 1 << 14

    def ran(both):
        device = mlusim.Device(board)
        src = device.put(np.arange(16 * cores * size, dtype=np.float32))
        dst = device.empty(src.shape, np.float32)
        launch = device.launch(copied, cores, mlusim.BLOCK, (dst, src, 16 * cores, both))
        np.testing.assert_array_equal(device.get(dst), device.get(src))
        return launch

    launch, after = ran(False), ran(True)
    both = next(one for one in launch.advice if one.name == "both directions")

    assert both.time_us == pytest.approx(after.time_us, rel=0.1)
    assert "both directions" not in [one.name for one in after.advice]


@pytest.mark.parametrize("board", BOARDS)
def test_what_each_turn_loads_again_is_to_be_loaded_once(board):
    """A row that is as long as every other: a third of the copies. The source that keeps it takes what was promised."""
    cores = mlusim.find_board(board).cores
    launch, after = (scaled(board, 16 * cores, cores, once) for once in (False, True))
    once = next(one for one in launch.advice if one.name == "load once")

    assert once.words == "load the 4,096 bytes once that each turn loads again"
    assert once.time_us == pytest.approx(after.time_us, rel=0.1)
    assert "load once" not in [one.name for one in after.advice]


def test_an_empty_tensor_is_not_loaded_again():
    """A copy of no bytes from one is not a load, however often it is made."""
    launch = scaled(BOARDS[0], 4, 2, True)
    tasks = [task._replace(reads=((0, 0, 0),)) for task in launch.tasks]

    assert work.loaded_once(tasks, 4096) == ([task._replace(steps=None) for task in tasks], 0)


@pytest.mark.parametrize("board", BOARDS)
def test_no_more_cores_are_promised_than_the_work_divides_into(board):
    """Ten pieces of two tasks are for ten cores, each of which then does one."""
    launch, after = (scaled(board, 10, tasks, True) for tasks in (2, 10))
    cores = next(one for one in launch.advice if one.name == "cores")

    assert cores.words == "give 10 cores work, of which 2 have some; it divides into no more pieces"
    assert cores.time_us == pytest.approx(after.time_us, rel=0.25)


def test_nothing_is_advised_where_starting_is_all_or_nothing_was_timed():
    """Fewer launches would help, and no change of the kernel."""
    device = mlusim.Device(BOARDS[0])
    x = np.zeros(32, np.float32)

    @mlusim.bang.kernel
    def small(mlu, out):
        mlu.memcpy(mlu.nram(mlusim.bang.float32, 32), out, 128, mlusim.bang.GDRAM2NRAM)

    assert device.launch(small, 1, mlusim.BLOCK, (device.put(x),)).advice == ()
    assert device.launch(small, 1, mlusim.BLOCK, (device.put(x),), timing=False).advice == ()


def test_scalar_stores_off_the_chip_are_explained():
    """They touch lines of the memory and carry no byte that is counted."""
    device = mlusim.Device(BOARDS[0])

    @mlusim.bang.kernel
    def store(mlu, out):
        for n in range(200):
            out[n] = 1.0

    launch = device.launch(store, 1, mlusim.BLOCK, (device.empty((200,), np.float32),))

    assert launch.because
    assert launch.advice[0].name == "vectorise"


def test_there_are_at_most_so_many_and_each_is_worth_it(modules):
    """The largest gain first."""
    launch = launched(modules, "short_copies", BOARDS[0], (4, 1, 1), mlusim.BLOCK)
    found = launch.advice

    assert 1 < len(found) <= MOST
    assert [one.time_us for one in found] == sorted(one.time_us for one in found)
    for one in found:
        assert isinstance(one, Advice)
        assert one.time_us < launch.time_us * (1 - LEAST)
        assert one.gain == pytest.approx(launch.time_us / one.time_us)


@pytest.mark.parametrize("board", BOARDS)
def test_what_a_launch_achieves(modules, board):
    """Bytes and operations over the time, against the board's own."""
    launch = launched(modules, "turns", board, (32, 1, 1), mlusim.BLOCK)
    found = {one.what: one for one in achieved([launch])}
    nbytes = 2 * 4 * 8 * N * mlusim.find_board(board).cores

    assert found["GDRAM"].rate == pytest.approx(nbytes / launch.time_us / 1e3)
    assert found["GDRAM"].peak == mlusim.find_board(board).io_bandwidth_gbs
    assert found["vector"].rate == pytest.approx(40 * nbytes / 8 / launch.time_us / 1e3)
    assert 0 < found["vector"].share < 1
    assert found["vector"].peak == pytest.approx(mlusim.find_board(board).compute_force("float") / 1e9)
    assert set(found) <= {"GDRAM", "vector", "scalar"}
    assert achieved([]) == ()


# -- changed logs ------------------------------------------------------------------------------------


@st.composite
def logs(draw):
    """The rows of a log, of a few kinds, and of no barrier."""
    distinct = draw(st.integers(1, 4))
    numbers = st.lists(st.integers(0, 50), min_size=COLUMNS, max_size=COLUMNS)
    rows = np.array(draw(st.lists(numbers, min_size=distinct, max_size=distinct)), np.int64)
    rows[:, KIND] = draw(st.lists(st.integers(0, MEET - 1), min_size=distinct, max_size=distinct))
    turns = np.array(
        [*draw(st.lists(st.integers(0, distinct), min_size=1, max_size=40)), distinct], np.uint16
    )
    return CoreLog(((np.concatenate([rows, np.zeros((1, COLUMNS), np.int64)]), turns),))


@given(logs(), st.floats(0.01, 1))
def test_longer_vectors_and_copies_change_nothing_else(log, part):
    """Each takes its part of the cycles or copies, a row at a time rounded up, and leaves all other sums as they are.

    Long copies have fewer pieces.
    """
    rows = sum(len(turns) for _, turns in log.chunks)
    for made, changed in (
        (work.longer_vectors(log, part), q.VECTOR),
        (work.longer_copies(log, part, 1.0), q.IO_STARTS),
    ):
        before, after = log.total[SUMS:].copy(), made.total[SUMS:].copy()
        assert before[changed] * part <= after[changed] + 1e-6
        assert after[changed] <= before[changed] * part + rows
        assert after[q.SEGMENTS] <= before[q.SEGMENTS]
        if changed == q.IO_STARTS:
            before[q.SEGMENTS] = after[q.SEGMENTS] = 0
        before[changed] = after[changed] = 0
        np.testing.assert_array_equal(before, after)


@given(logs(), st.floats(0, 1))
def test_a_second_buffer_keeps_the_work(log, stores):
    """At least what was computed and moved, in equal pieces, each rounded up."""
    made = work.second_buffer(log, stores)
    rows = np.concatenate(list(made))

    for column in (q.SCALAR, q.VECTOR, q.TENSOR, q.FUNCTIONS):
        before, after = int(log.total[SUMS + column]), int(made.total[SUMS + column])
        assert before <= after <= before + len(rows)
    flown = np.concatenate(list(log))
    flown = flown[flown[:, KIND] == IO_FLIGHT, OWN].sum() + log.total[SUMS + q.TRANSACTIONS]
    assert flown <= rows[rows[:, KIND] == IO_FLIGHT, OWN].sum() <= flown + len(rows)
    assert rows[-1, KIND] == END
