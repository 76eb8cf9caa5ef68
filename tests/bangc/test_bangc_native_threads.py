"""Launches whose tasks run on several threads: bytes, counts and times as on one, or one thread after all."""

import random

import numpy as np
import pytest
from engines import MEASURES, NATIVE, run

import mlusim
from mlusim import bangc
from mlusim.errors import Fault, LimitReached, MlusimError, UsageError
from mlusim.machine.native import beside as at_once, core, screen, sums
from mlusim.machine.native.beside import Crew
from mlusim.machine.native.build import available
from mlusim.machine.native.core import NativeCore
from mlusim.memory.allocation import POISON, Arena
from mlusim.observe.coverage import LineCoverage

pytestmark = pytest.mark.skipif(available() is None, reason="needs a C compiler")

BOARD = "MLU590-H8"
PIECE = 96  # elements of a task
MUCH = (
    2 << 20
)  # words of 8 MB, from which on a launch has more than one thread; the tasks touch a few of them
CHECKS = ("initcheck", "memcheck", "racecheck", "synccheck")
HEAD = f"""\
#define PIECE {PIECE}
__nram__ float a[PIECE];
__nram__ float b[PIECE];
__nram__ float far[4];
__nram__ int whole[4];
__mlu_shared__ float shared[PIECE];
__mlu_global__ void kernel(float *out, float *inout, const float *x, int *count, int n, int reach) {{
  int at = taskId * PIECE;
"""
TAIL = "}\n"

# Statements in which a task keeps to its own piece,
OWN = (
    "__memcpy(a, x + at, PIECE * 4, GDRAM2NRAM);",
    "__memcpy(a, inout + at, PIECE * 4, GDRAM2NRAM);",
    "__memcpy(b, x + (at + 7 * PIECE) % n, 32, GDRAM2NRAM);",
    "__bang_add(a, a, b, PIECE);",
    "__bang_mul_scalar(b, a, 0.5f, PIECE);",
    "__memcpy(out + at, a, PIECE * 4, NRAM2GDRAM);",
    "__memcpy(inout + at, b, PIECE * 4, NRAM2GDRAM);",
    "__memcpy_async(out + at, a, PIECE * 2, NRAM2GDRAM); __sync();",
    "__memcpy(out + at, a, 16, NRAM2GDRAM, 32, 16, 5);",
    "for (int i = 0; i < 9; ++i) { out[at + i] = x[at + i] + i; }",
    "inout[at + 5] = inout[at + 5] + taskId;",
    "if (taskId % 3 == 1) { __bang_write_value(a, PIECE, 2.0f); }",
    "__bang_atomic_add(far, inout + at + 3, 1.0f);",
    "__memcpy(out + at, x + at, PIECE * 4, GDRAM2GDRAM);",
    "__bang_atomic_reduce_add(inout + at + 3, a, 40);",
)
# and such in which it may not, depending on how far it reaches.
SHARED = (
    "__memcpy(b, inout + (at + reach) % n, 32, GDRAM2NRAM);",
    "__memcpy(out + (at + reach) % n, a, 32, NRAM2GDRAM);",
    "out[(at + reach) % n] = taskId;",
    "((float *)x)[at] = 3.0f;",
    "__bang_atomic_add(whole, count, 1);",
    "__bang_atomic_reduce_add(out + reach, b, PIECE);",
    "if (taskId == 5 && reach > 90) { out[-1] = 1.0f; }",
    '__bang_printf("%d\\n", taskId);',
)
UNION = ("__sync_cluster();", "if (coreId == 1) { __memcpy(shared, a, PIECE * 4, NRAM2SRAM); } __sync_cluster();", "__memcpy(b, shared, PIECE * 4, SRAM2NRAM); __sync_cluster();")  # fmt: skip


def source(rng, *, union):
    """A random kernel."""
    pool = [*OWN * 3, *(UNION * 3 if union else ())]
    lines = [rng.choice(pool) for _ in range(rng.randrange(6, 16))]
    for _ in range(rng.choice((0, 0, 1, 2))):
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(SHARED))
    head = HEAD if union else HEAD.replace("__mlu_shared__ float shared[PIECE];\n", "")
    return head + "".join(f"  {line}\n" for line in lines) + TAIL


def loaded(folder, text):
    """The kernel of a source."""
    (folder / "k.mlu").write_text(text)
    return bangc.load(folder / "k.mlu", board=BOARD)["kernel"]


def same(kernel, arguments, threads, **options):
    """Compare a launch on one thread with two on *threads*, the second of which knows what tasks begin with; what it gave."""
    alone = run(kernel, arguments, NATIVE, board=BOARD, threads=1, **options)
    equal(alone, run(kernel, arguments, NATIVE, board=BOARD, threads=threads, **options))
    return equal(alone, run(kernel, arguments, NATIVE, board=BOARD, threads=threads, **options))


def equal(one, several):
    """Compare a launch on one thread with one on several; what the latter gave."""
    (alone, first), (beside, second) = one, several
    assert [a.tobytes() for a in first] == [a.tobytes() for a in second]
    assert type(alone) is type(beside)
    if isinstance(alone, MlusimError):
        assert (str(alone), alone.file, alone.line, alone.task) == (
            str(beside),
            beside.file,
            beside.line,
            beside.task,
        )
        return beside
    assert alone.engine == beside.engine
    assert declared(alone) == declared(beside)
    assert [str(f) for f in alone.findings] == [str(f) for f in beside.findings]
    assert {m: getattr(alone, m) for m in MEASURES} == {m: getattr(beside, m) for m in MEASURES}
    assert alone.timeline == beside.timeline or list(alone.timeline) == list(beside.timeline)
    key = [(t.task, t.memory_core, t.work, t.log.key, t.reads) for t in beside.tasks]
    assert sorted(key) == sorted((t.task, t.memory_core, t.work, t.log.key, t.reads) for t in alone.tasks)
    return beside


def declared(launch):
    """What the first task of a launch declared."""
    return [
        (base, [(a.address, a.nbytes, str(a.declared)) for a in arrays]) for base, arrays in launch.declared
    ]


def compare(folder, seed, observe=()):
    """Run a random kernel on one thread and on several, under the checkers *observe*; on how many it ran."""
    rng = random.Random(seed)
    union = rng.random() < 0.4
    kernel = loaded(folder, source(rng, union=union))
    tasks = 16
    n = tasks * PIECE
    data = np.random.default_rng(seed).normal(size=(3, n)).astype(np.float32)
    given = (*data, np.zeros(MUCH, np.int32), n, rng.choice((0, 8, 40, 91, 2 * PIECE)))
    options = {
        "dim": (tasks, 1, 1),
        "kind": mlusim.UNION1 if union else mlusim.BLOCK,
        "observe": observe,
    }
    outcome = same(kernel, given, rng.choice((2, 3)), effects=rng.choice(("late", "eager")), **options)
    return getattr(outcome, "threads", 1)


@pytest.fixture(autouse=True)
def _quick_compiler(monkeypatch):
    """No optimisation for kernels that run once."""
    monkeypatch.setenv("MLUSIM_CC", " ".join((*available(), "-O0")))


def test_random_kernels(tmp_path):
    """Tasks that keep to their own bytes, and tasks that do not."""
    assert {1, 2} <= {min(2, compare(tmp_path, seed)) for seed in (1, 2, 7)}


def test_random_kernels_under_checkers(tmp_path):
    """Findings are those on one thread; launches without any run on several."""
    assert {1, 2} <= {min(2, compare(tmp_path, seed, CHECKS[1:])) for seed in (1, 9)}


def test_checkers_see_what_all_threads_did(tmp_path):
    """A clean launch is made on two threads; bytes without a value, and a conflict between two threads, are found as on one."""
    device, kernel, given = copies(tmp_path)
    launch = device.launch(kernel, 8, args=given, engine="native", observe=CHECKS)
    assert (launch.threads, launch.engine, launch.findings) == (2, "native", ())
    assert device.get(given[0]).tolist() == device.get(given[2]).tolist()
    assert not device.launch(
        kernel, 8, args=given, engine="native", observe=CHECKS
    ).findings  # all have values now
    for reach, why in ((400, "initcheck"), (500, "racecheck")):
        told = []
        for threads in (1, 2):
            device, kernel, given = copies(tmp_path, reach)
            launch = device.launch(kernel, 8, args=given, engine="native", observe=CHECKS, threads=threads)
            told.append(([str(f) for f in launch.findings], device.get(given[0]).tobytes()))
        assert told[0] == told[1]
        assert why in str(told[0][0])


def test_threads_count_what_their_tasks_pass(tmp_path):
    """With checkers and without: the lines and branches of tasks on two threads are those that Python counts."""
    device, kernel, given = copies(tmp_path)
    ran = []
    for engine in ("python", "native"):
        for checkers in ((), CHECKS[1:]):
            counting = LineCoverage()
            launch = device.launch(kernel, 8, args=given, engine=engine, observe=[counting, *checkers])
            ran.append((launch.engine, launch.threads, counting.lines, counting.branches))
    assert [("python", 1)] * 2 + [("native", 2)] * 2 == [one[:2] for one in ran]
    assert all(one[2:] == ran[0][2:] for one in ran)


@pytest.mark.attack
@pytest.mark.parametrize("seed", range(100, 400))
def test_many_random_kernels(tmp_path, seed):
    """The same of three hundred."""
    compare(tmp_path, seed)
    compare(tmp_path, seed, CHECKS)


COPY = (
    HEAD.replace("__mlu_shared__ float shared[PIECE];\n", "")
    + """\
  __memcpy(a, x + at, PIECE * 4, GDRAM2NRAM);
  if (reach == 100) { inout[at] = 3.0f; if (taskId == 2) { out[n] = 1.0f; } }
  if (reach == 300) { ((float *)x)[at] = 3.0f; }
  if (reach == 400) { __bang_add(a, a, b, PIECE); }
  if (reach == 500) { out[0] = a[0]; }
  if (reach == 200) { __bang_printf("%d", taskId); }
  while (taskId >= reach) { a[0] = a[0] + 1.0f; }
  __memcpy(out + at, a, PIECE * 4, NRAM2GDRAM);
}
"""
)


def copies(folder, reach=8):
    """A device of two threads, a kernel whose tasks copy their pieces, and what it is given: poison, and values."""
    device = mlusim.Device(BOARD, threads=2)
    n = 8 * PIECE
    tensors = (
        device.empty(n, "float"),
        device.put(np.ones(n, np.float32)),
        device.put(np.zeros(n, np.float32)),
    )
    return device, loaded(folder, COPY), (*tensors, device.put(np.zeros(MUCH, np.int32)), n, reach)


def test_the_device_says_how_many(tmp_path):
    """Threads of a device are those of its launches, which may name others; where little is given, there is one, whatever engine is named."""
    device, kernel, given = copies(tmp_path)
    assert device.launch(kernel, 8, args=given, engine="native").threads == 2
    assert device.launch(kernel, 8, args=given, engine="native", threads=3).threads == 3
    assert device.launch(kernel, 1, args=given, engine="native").threads == 1  # no second task
    assert device.launch(kernel, 8, args=given).threads == 2
    few = (*given[:3], device.put(np.zeros(4, np.int32)), *given[4:])
    assert device.launch(kernel, 8, args=few).threads == 1
    assert device.launch(kernel, 8, args=few, engine="native").threads == 1
    assert device.launch(kernel, 8, args=given, engine="python").threads == 1


def test_a_fault_leaves_what_a_fault_in_order_leaves(tmp_path):
    """What later tasks have done by then is undone, of poison and of values."""
    found = []
    for threads in (1, 2):
        device, kernel, given = copies(tmp_path, 100)
        with pytest.raises(Fault) as error:
            device.launch(kernel, 8, args=given, engine="native", threads=threads)
        assert error.value.task == 2
        found.append([device.get(tensor).tobytes() for tensor in given[:2]])
    assert found[0] == found[1]


def test_prints_come_in_order(tmp_path):
    """A kernel that prints runs on one thread."""
    device, kernel, given = copies(tmp_path, 200)
    launch = device.launch(kernel, 8, args=given, engine="native")
    assert (launch.threads, "".join(launch.printed)) == (1, "01234567")


def test_a_store_to_what_is_const_is_no_secret(tmp_path):
    """What is read of tensors that a kernel takes as const is in no record; a store there ends the attempt."""
    device, kernel, given = copies(tmp_path, 300)
    launch = device.launch(kernel, 8, args=given, engine="native")
    assert launch.threads == 1
    assert device.get(given[2])[::PIECE].tolist() == [3.0] * 8


@pytest.mark.parametrize("reach", [0, 7])
def test_a_limit_ends_every_thread(tmp_path, reach):
    """Whether the thread that launches is in a loop without end, or waits for one that is."""
    device, kernel, given = copies(tmp_path, reach)
    with pytest.raises(LimitReached, match=r"has run for 0\.2 seconds"):
        device.launch(kernel, 8, args=given, engine="native", limit="seconds=0.2")


FREE = """\
#define PIECE 96
__mlu_global__ void kernel(float *out, const float *x, int n, int what) {
  __nram__ float a[PIECE];
  int at = taskId * PIECE;
  __memcpy_async(a, x + at, PIECE * 4, GDRAM2NRAM);
  __sync();
  if (taskId % 3 == 0 && what != 6) {
    __nram__ float more[8];
    out[at] = more[3];
    more[3] = 1.0f;
  }
  if (taskId == 7) {
    if (what == 1) { __bang_printf("seven"); }
    if (what == 2) { out[-n] = 1.0f; }
    while (what == 3) { a[0] = a[0] + 1.0f; }
  }
  if (what == 4) { out[0] = taskId; }
  if (what == 5) { __nram__ half other[5]; out[at + 1] = other[3]; }
  __bang_add(a, a, a, PIECE);
  __memcpy_async(out + at + 2, a, (PIECE - 2) * 4, NRAM2GDRAM);
  __sync();
}
"""


def test_threads_take_the_tasks_that_are_left(tmp_path, calls_of):
    """Once a launch has shown what tasks declare, their threads are all in C: the same counts, logs, memory and declarations."""
    kernel, tasks = loaded(tmp_path, FREE), 30
    n = tasks * PIECE
    given = (np.zeros(MUCH, np.float32), np.arange(n, dtype=np.float32), n, 0)
    with calls_of(Crew.run) as shared:
        launch = same(kernel, given, 2, dim=(5, 3, 2))
        launch = same(kernel, given, 3, dim=(5, 3, 2), effects="eager")
    assert [2, 3, 3] == [len(call["self"].notes) for call in shared]
    assert len(launch.declared[0][1]) == 2
    fewer = (*given[:3], 6)  # than in the launches before
    assert len(same(kernel, fewer, 2, dim=(5, 3, 2)).declared[0][1]) == 1


@pytest.mark.parametrize("what", [1, 2, 4, 5])
def test_a_task_that_calls_for_python_ends_what_threads_began(tmp_path, calls_of, what):
    """A print, a fault, another task's bytes or another declaration stops the threads; the result is the same as on one."""
    kernel, n = loaded(tmp_path, FREE), 12 * PIECE
    given = (np.zeros(MUCH, np.float32), np.arange(n, dtype=np.float32), n)
    for _ in range(2):
        same(kernel, (*given, 0), 2, dim=(12, 1, 1))
    with calls_of(Crew.run) as shared:
        outcome = same(kernel, (*given, what), 2, dim=(12, 1, 1))
    assert len(shared) == 1
    assert getattr(outcome, "threads", 1) == (2 if what == 5 else 1)
    assert same(kernel, (*given, 0), 2, dim=(12, 1, 1)).engine == "native"


def test_a_limit_ends_threads_that_share_tasks(tmp_path):
    """The task without an end is one that another thread has, or the one that launches."""
    kernel, n = loaded(tmp_path, FREE), 12 * PIECE
    given = (np.zeros(MUCH, np.float32), np.arange(n, dtype=np.float32), n)
    for _ in range(2):
        same(kernel, (*given, 0), 2, dim=(12, 1, 1))
    outcome, _ = run(kernel, (*given, 3), NATIVE, board=BOARD, threads=2, dim=(12, 1, 1), limit="seconds=0.2")
    assert isinstance(outcome, LimitReached)
    assert "has run for 0.2 seconds" in str(outcome)


SUMS = """\
#define PIECE 700
#define ROUNDS 3
template <typename T> __mlu_func__ void added(T *to, T *from, const T *x, int n, int at, T one) {
  __memcpy(from, x + at % n, PIECE * sizeof(T), GDRAM2NRAM);
  for (int i = 0; i < ROUNDS; ++i) {
    __bang_atomic_reduce_add(to + (taskId * 37 + i * 501) % n, from, PIECE - i);
    __bang_atomic_reduce_add(to + taskId % 3, one, 11);
  }
}
__nram__ float a[PIECE];
__nram__ half b[PIECE];
__nram__ int c[PIECE];
__mlu_global__ void kernel(float *f, half *h, int *w, const float *x, const half *y, const int *z, float *out, int n, int what) {
  added(f, a, x, n, taskId * 11, 0.1f);
  added(h, b, y, n, taskId * 13, (half)0.1f);
  added(w, c, z, n, taskId * 17, 3);
  added((int *)f + n, c, z, n, taskId * 5, 1 << 20);
  added(f + n, a, x, n, taskId * 7, -0.0f);
  if (what == 1) { out[taskId] = f[2 * n + 1000]; }
  if (what == 2) { out[taskId] = f[0]; }
  if (what == 3) { f[taskId] = 1.0f; }
  if (what == 4) { __bang_atomic_reduce_add(out + taskId * 16, a, 1); out[taskId * 16] = out[taskId * 16] * 2.0f; }
  if (what == 5) { __bang_atomic_reduce_add((float *)x, a, 1); }
}
"""


@pytest.mark.parametrize("union", [False, True])
def test_sums_are_made_in_the_order_of_tasks(tmp_path, monkeypatch, union):
    """Of floats that meet, zeros of both signs and NaN among them, with other types at the same bytes; in waves, and where there is room.

    The second run does without the vectors of the processor.
    """
    if union:
        monkeypatch.setenv("MLUSIM_CC", " ".join((*available(), "-O0", "-DPLAIN")))
    kernel, tasks, n = loaded(tmp_path, SUMS), 24, 3000
    generator = np.random.default_rng(0)
    floats = generator.normal(size=(2, 3 * n)).astype(np.float32) * (generator.random((2, 3 * n)) < 0.2)
    floats[:, ::11], floats[0, 5], floats[1, :9] = -0.0, np.nan, -0.0
    whole = generator.integers(-(1 << 30), 1 << 30, (2, n + 700), np.int32)
    half = floats[:, : n + 700].astype(np.float16)
    given = (floats[0], half[0], whole[0], floats[1], half[1], whole[1], np.zeros(MUCH, np.float32), n)
    options = {"dim": (tasks, 1, 1), "kind": mlusim.UNION1 if union else mlusim.BLOCK}

    def threads(what, many=2):
        return same(kernel, (*given, what), many, **options).threads

    assert (threads(0), threads(0, 3), threads(1)) == (2, 3, 2)
    if union:
        return
    for what in (4, 2, 3, 5):  # the first makes sums where it reads, each task for itself
        kernel = loaded(tmp_path, SUMS)  # of which nothing is known
        assert threads(what) == 1, what
    kernel = loaded(tmp_path, SUMS)
    monkeypatch.setattr(at_once, "_from_both_ends", lambda left, place: left if place else ())
    assert threads(0) == 2  # all of it is written down, in waves of four tasks and of all others,
    monkeypatch.setattr(sums, "ROOM", 1 << 13)  # of the rooms that the launches before have left
    assert threads(0) == 1


LOCALS = """\
struct Pair { int n; float x; };
__mlu_func__ void last(float *out, long n) {
  __nram__ float c[8];
  out[n] = c[n];
}
__mlu_global__ void kernel(float *out, int n) {
  float *mine = out + taskId * 32;
  if (taskId % 4 != 2) {
    __nram__ half odd[5];
    __wram__ int8_t weights[64];
    mine[0] = odd[4];
    odd[4] = 1;
    (void)weights;
  }
  __nram__ float a[8];
  __ldram__ int l[4];
  __memcpy(mine + 2, a, 32, NRAM2GDRAM);
  __bang_write_value(a, 8, (float)taskId);
  __memcpy(mine + 10, a, 32, NRAM2GDRAM);
  mine[18] = l[3];
  l[3] = taskId;
  if (taskId % 2) {
    __nram__ Pair pairs[3];
    mine[19] = pairs[2].n;
    pairs[2].n = 4;
  }
  Pair kept[2];
  kept[1].n = taskId;
  __memcpy(mine + 20, kept, 16, LDRAM2GDRAM);
  if (taskId == n) { last(mine, 8); }
}
"""


@pytest.mark.parametrize("wrong", [-1, 15])
def test_a_further_task_declares_what_it_would_as_the_first(tmp_path, monkeypatch, calls_of, wrong):
    """Arrays of functions, some of them declared by some tasks only: their addresses, places and poison, and what a fault says."""
    kernel, given = loaded(tmp_path, LOCALS), (np.zeros(MUCH, np.float32), wrong)
    declared, declare = {}, NativeCore.declare_local

    def declares(core, *given, **options):
        pointer = declare(core, *given, **options)
        allocation = pointer.view.allocation
        assert allocation.live
        assert allocation.writable
        assert (allocation.raw == POISON).all()
        assert pointer.view.array.tobytes() == allocation.raw.tobytes()
        assert core.used[allocation.space].allocations[-1] is allocation
        what = allocation.address, str(allocation.declared), allocation.declared.stack
        declared.setdefault(core.place.task, []).append(what)
        return pointer

    monkeypatch.setattr(NativeCore, "declare_local", declares)

    def launched(engine, threads):
        """What a launch gave, and what its tasks declared."""
        declared.clear()
        with calls_of(Arena.allocate_again) as kept:
            outcome, arrays = run(kernel, given, engine, board=BOARD, dim=(16, 1, 1), threads=threads)
        told = (
            (str(outcome), outcome.file, outcome.line, outcome.task)
            if wrong >= 0
            else [getattr(outcome, m) for m in MEASURES]
        )
        return (told, arrays[0].tobytes()), dict(declared), len(kept)

    used = launched(NATIVE, 1)
    beside = launched(NATIVE, 2)
    python = launched("python", 1)
    monkeypatch.setattr(core, "repeats", lambda _core: False)
    fresh = launched(NATIVE, 1)

    assert len(fresh[1]) == 16
    assert len({len(found) for found in fresh[1].values()}) > 1
    assert used[0] == fresh[0] == beside[0] == python[0]
    # C declares what the first task did, in that order, until a task declares something else.
    # After a fault on two threads the tasks run once more, in order.
    for declared_again in (used[1], *([beside[1]] if wrong < 0 else ())):
        assert all(fresh[1][task][-len(found) :] == found for task, found in declared_again.items())
    assert set(range(16)).difference(used[1]) == {4, 8, 12}  # which are as the first, and call for nothing
    assert {len(fresh[1][task]) - len(found) for task, found in used[1].items()} == {0, 4}
    assert used[2] > 20
    assert fresh[2] == 0


def rows(*given):
    """Rows of a record: low, high, whether written, task, memory."""
    return np.array(given, np.int64).reshape(-1, 5)


@pytest.mark.parametrize(
    ("given", "alone"),
    [
        ((), True),
        (((0, 8, 1, 0, 0), (8, 16, 1, 1, 0)), True),
        (((0, 9, 1, 0, 0), (8, 16, 1, 1, 0)), False),
        (((0, 9, 1, 0, 0), (8, 16, 1, 0, 0)), True),  # the same task
        (((0, 9, 1, 0, 0), (8, 16, 1, 1, 1)), True),  # another memory
        (((0, 9, 0, 0, 0), (8, 16, 0, 1, 0)), True),  # reads
        (((0, 9, 0, 0, 0), (8, 16, 1, 1, 0)), False),
        (((0, 64, 0, 0, 0), (8, 16, 1, 0, 0), (16, 24, 1, 1, 0), (24, 32, 1, 0, 0)), False),
        (((20, 24, 0, 0, 0), (0, 16, 1, 0, 0), (24, 40, 1, 1, 0)), True),  # between two
        (((0, 100, 1, 0, 0), (10, 20, 1, 0, 0), (50, 60, 1, 1, 0)), False),  # inside of the first
    ],
)
def test_apart(given, alone):
    """What one task writes no other touches."""
    assert screen.apart(rows(*given)) is alone
    assert screen.apart(rows(*given)[::-1]) is alone


def test_pieces_that_meet_are_one():
    """Of one task, memory and kind."""
    given = rows(
        (0, 8, 1, 0, 0),
        (8, 16, 1, 0, 0),
        (4, 6, 1, 0, 0),
        (17, 18, 1, 0, 0),
        (0, 8, 0, 0, 0),
        (8, 9, 1, 1, 0),
    )
    assert screen.joined(given).tolist() == [
        [0, 8, 0, 0, 0],
        [0, 16, 1, 0, 0],
        [17, 18, 1, 0, 0],
        [8, 9, 1, 1, 0],
    ]


def test_what_is_no_number_is_refused(monkeypatch):
    """For a device, a launch, and in the environment."""
    for given in (0, -1, True, "2", 1.5):
        with pytest.raises(UsageError, match="is not a number of threads"):
            mlusim.Device(BOARD, threads=given)
    monkeypatch.setenv("MLUSIM_THREADS", "many")
    with pytest.raises(
        UsageError, match="MLUSIM_THREADS=many is not a number of threads; set 1 or more, or unset it"
    ):
        mlusim.Device(BOARD)
    monkeypatch.setenv("MLUSIM_THREADS", "4")
    assert mlusim.Device(BOARD).threads == 4


CHAINED = """\
__mlu_global__ void kernel(float *out, float **kept, int stale) {
  float *mine = out + taskId * 64;
  if (taskId == stale) { mine[0] = *kept[0]; }
  __nram__ float a[64];
  __memcpy_async(a, mine, 256, GDRAM2NRAM);
  __sync();
  for (int i = 0; i < taskId % 3; i++) { __bang_add_scalar(a, a, 1, 64); }
  int cells[2] = {1, 2};
  int *cell = &cells[taskId % 2];
  *cell += taskId;
  a[cells[1] % 64] = cells[0];
  if (taskId == 1) { kept[0] = a; }
  __memcpy_async(mine, a, 256, NRAM2GDRAM);
  if (taskId % 5) { __sync(); }
}
"""


def test_tasks_that_follow_one_another_in_c_are_counted_as_others(tmp_path, calls_of):
    """What they log, leave in flight and keep in cells; an array of a task that has ended is none of a later one."""
    kernel, out = loaded(tmp_path, CHAINED), np.ones(24 * 64, np.float32)
    for stale in (-1, 9):
        found = []
        for engine, threads in ((NATIVE, 1), ("python", 1), (NATIVE, 2)):
            with calls_of(NativeCore.run) as begun:
                outcome, arrays = run(
                    kernel,
                    (out, np.zeros(1, np.uint64), stale),
                    engine,
                    board=BOARD,
                    dim=(24, 1, 1),
                    threads=threads,
                )
            faulty = isinstance(outcome, MlusimError)
            told = (
                (str(outcome), outcome.line, outcome.task)
                if faulty
                else [getattr(outcome, m) for m in MEASURES]
            )
            found.append((told, arrays[0].tobytes()))
            if stale < 0 and engine == NATIVE and threads == 1:
                assert (
                    len(begun) == 6
                )  # the first, and one behind each of those that leave something in flight
                assert [task.task for task in outcome.tasks] == list(range(24))
        assert found[0] == found[1] == found[2]
        assert faulty == (stale > 0)


MOSTLY_SUMS = """\
#define MANY 16384
__mlu_global__ void kernel(float *out, const float *given) {
  __nram__ float a[MANY];
  __memcpy(a, given + taskId * MANY, MANY * 4, GDRAM2NRAM);
  for (int i = 0; i < 7; i++) { __bang_atomic_reduce_add(out, a, MANY); }
}
"""


def test_a_kernel_that_does_little_but_add_runs_in_order(tmp_path):
    """To write sums down takes what a second thread saves: the first launch finds that out, and those that follow have one thread."""
    kernel = loaded(tmp_path, MOSTLY_SUMS)
    given = np.zeros(MUCH, np.float32), np.random.default_rng(3).random(16 * 16384, np.float32) + 0.1
    alone, *several = (
        run(kernel, given, NATIVE, board=BOARD, threads=threads, dim=(16, 1, 1)) for threads in (1, 2, 2)
    )
    assert [equal(alone, launched).threads for launched in several] == [2, 1]
