"""Findings of launches that C runs: each mistake is told as in Python, byte for byte, and Python runs no launch again whose kind C knows."""

import shlex

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.errors import Fault
from mlusim.machine.core import Core
from mlusim.machine.hub import attending
from mlusim.machine.native import screening, threads
from mlusim.machine.native.build import CHOICE, available
from mlusim.machine.native.screen import Screen
from mlusim.observe.names import CHECKERS

pytestmark = pytest.mark.skipif(available() is None, reason="there is no compiler")

SOURCE = """#include <bang.h>
#define N 64
__nram__ float a[4 * N], b[N];
__mlu_entry__ void Mistaken(float *out, const float *in, int turns, int mistake) {
  __nram__ short behind[N];
  float *mine = out + taskId * turns * N;
  const float *from = in + taskId * turns * N;
  if (coreId == 0x80) return;
  for (int i = 0; i < turns; ++i) {
    const int last = taskId == taskDim - 1 && i == turns - 1;
    __memcpy(a, from + i * N, N * sizeof(float), GDRAM2NRAM);
    if (last) switch (mistake) {
      case 1: __memcpy(b, from, 8 * N * sizeof(float), GDRAM2NRAM); break;
      case 2: __memcpy(b, in + (1 << 20), N * sizeof(float), GDRAM2NRAM); break;
      case 3: __memcpy(a, in, N * sizeof(float), NRAM2GDRAM); break;
      case 4: a[1 << 20] = 1; break;
      case 5: __bang_add((float *)b, a, (float *)in, N); break;
      case 6: __bang_maxpool(b, a, 64, 1, 1, 0, 1, 1, 1); break;
      case 7: a[N * 4 - 1] = in[-1]; break;
      case 8: turns = turns / (mistake - 8); break;
      case 9: __bang_add(b, b + 8, a, N); break;
    }
    __bang_add_scalar(b, a, 1.0f, N);
    __sync();
    __memcpy(mine + i * N, b, N * sizeof(float), NRAM2GDRAM);
  }
}
__mlu_entry__ void Unwritten(float *out, const float *in, int turns, int mistake) {
  __nram__ short whole[2 * N];
  float *mine = out + taskId * turns * N;
  const float *from = in + taskId * turns * N;
  __memcpy(b, from, N * sizeof(float), GDRAM2NRAM);
  for (int i = 0; i < turns; ++i) {
    const int last = taskId == taskDim - 1 && i == turns - 1;
    __memcpy(a, from + i * N, (N - 8) * sizeof(float), GDRAM2NRAM);
    switch (mistake) {
      case 1: __memcpy(mine + i * N, a, N * sizeof(float), NRAM2GDRAM); break;
      case 2: __bang_add(a + N, a, b, N); __memcpy(mine, a + N + 8, 32, NRAM2GDRAM, 64, 64, 3); break;
      case 3: __memcpy(mine, a, (last ? N : N - 8) * sizeof(float), NRAM2GDRAM);
        if (taskId == 1) __memcpy(mine, a + 3 * N, 64, NRAM2GDRAM);
        break;
      case 4: __memcpy_async(mine + i * N, a + 8, (N - 8) * sizeof(float), NRAM2GDRAM); __sync(); break;
      case 5: __bang_mul_scalar(a, a, 2.0f, N); __bang_atomic_reduce_add(mine, a, N); break;
      case 6: __memcpy(a + N, a, N * sizeof(float), NRAM2NRAM); __memcpy(mine, a + 2 * N - 16, 64, NRAM2GDRAM); break;
      case 7: __bang_mul(whole, whole, (short *)b, 2 * N); __memcpy(mine, whole, N * sizeof(short), NRAM2GDRAM); break;
      case 8: __bang_reduce_sum(a + N, a, N); __memcpy(mine, a + N, 64, NRAM2GDRAM); break;
      case 9:
        __bang_reduce_sum(a + N, a, N);
        __bang_mul_scalar(a + N + 32, a + N + 32, 2.0f, 1);
        __memcpy(a + 3 * N, a + N + 32, 4, NRAM2NRAM);
        __memcpy(mine, a + 3 * N, 4, NRAM2GDRAM);
        break;
      case 10: __bang_transpose(a + N, a, 8, 8); __memcpy(mine, a + N, 32, NRAM2GDRAM); break;
      case 11: if (a[N - 1] > 1.0f || whole[i] == 3) mine[0] = 2; break;
      case 12: __bang_reduce_sum(a + N, a, N); mine[0] = a[N + 32] * 2 > 1.0f ? 1 : 2; break;
      case 13: { float kept = a[N - 1]; if (kept > 1.0f) mine[0] = 2; } break;
      case 14: __bang_filter(a + N, a, b, N); __memcpy(mine, a + N, N * sizeof(float), NRAM2GDRAM); break;
      case 15:
        __bang_write_zero(b, 16);
        if (__bang_filter(a + 2 * N, a, b, 48) == 32) __memcpy(mine, a + 2 * N + 24, 64, NRAM2GDRAM);
        break;
      case 16: if (__bang_filter(a + N, b, a, N) > 60) mine[0] = 2; break;
      case 17: __bang_write_zero(b, N / 2); __bang_filter(a, a, b, N); __memcpy(mine, a, 128, NRAM2GDRAM); break;
      case 18: __bang_select(a + N, a + N - 16, b, 16); __memcpy(mine, a + N + 32, 64, NRAM2GDRAM); break;
      case 19: __bang_filter_bitindex(a + N, a, (char *)b + 8, N); __bang_mul_scalar(a + N, a + N, 2.0f, 16); __memcpy(mine, a + N, 64, NRAM2GDRAM); break;
      case 20: if (__bang_count(a, N - 4) > 4) mine[0] = 2; break;
      case 21: {
        const float kept = a[N - 1];
        for (int k = 0; k < 3; ++k)
          if (kept > k) mine[0] = 2;
        if (kept < 1.0f) mine[1] = 2;
      } break;
      case 22: {
        short kept = whole[i];
        int many = 0;
        while (many < 4 && kept != 3)
          many += 1;
        mine[0] = many;
      } break;
      case 23: {
        __bang_reduce_sum(a + N, a, N);
        float kept = a[N + 32];
        if (kept > 1.0f) mine[0] = 2;
        mine[1] = kept > 2.0f ? 3 : 4;
      } break;
      case 24: {
        float kept = a[last ? N - 1 : 0];
        if (kept > 1.0f)
          mine[1] = 2;
      } break;
      case 25: {
        float kept = a[N - 1];
        mine[1] = kept;
      } break;
      case 26: {
        float kept = a[N - 1], other = a[N - 2];
        if (kept > other) mine[1] = 1;
      } break;
      case 27: {
        float kept = a[N - 1];
        float twice = kept * 2;
        if (twice > 1.0f) mine[1] = 1;
      } break;
      case 28: {
        float kept = a[N - 1];
        kept += 1;
        if (kept > 1.0f) mine[1] = 1;
      } break;
      case 29: __bang_reduce_sum(a, a, N); __memcpy(mine, a, 4, NRAM2GDRAM); __memcpy(mine, a + 32, 4, NRAM2GDRAM); break;
      case 30: __bang_reduce_sum(a + 2 * N, a + 8, 2 * N - 20); __memcpy(mine, a + 2 * N, 4, NRAM2GDRAM, 4, 128, 3); break;
    }
    __sync();
  }
}
__wram__ float filters[2 * N];
__mlu_entry__ void Misplaced(float *out, const float *in, int turns, int mistake) {
  __nram__ char bytes[4 * N];
  float *mine = out + taskId * turns * N;
  const int on = taskId > 0 || coreId == 0x80;
  if (mistake == 1) __bang_write_zero((float *)bytes, N);
  for (int i = 0; i < turns; ++i) {
    switch (mistake) {
      case 1: if (on) mine[i] = *(int *)(bytes + 2 + 4 * i); break;
      case 2: if (on) { *(short *)((char *)mine + 1) = (short)i; *(double *)(bytes + 4) = i; } break;
      case 3: __sync_cluster(); if (on) { __sync_cluster(); __sync_all(); } break;
      case 4: filters[i + 1] = 1; if (on) mine[i] = filters[i + 1]; break;
      case 5: case 6: a[i] = 1; __bang_write_zero(b, N); if (taskId == 4) b[i] += a[i]; break;
      default: mine[0] += *(const float *)((const char *)in + 2 * i + 2);
    }
  }
}
__mlu_func__ float *shared() { __mlu_shared__ float sh[4 * N]; return sh; }
__mlu_func__ int *flag() { __mlu_shared__ int word[8]; return word; }
__mlu_entry__ void Racing(float *out, const float *in, int turns, int mistake) {
  __nram__ int seen[8];
  const int next = (taskId + 1) % taskDim;
  if (coreId == 0x80 && mistake != 5) return;
  __bang_write_zero(a, 4 * N);
  __bang_write_zero((float *)seen, 8);
  for (int i = 0; i < turns; ++i) switch (mistake) {
    case 1: out[i] = 0.1f; break;
    case 2: out[i] = taskId; break;
    case 3: __memcpy(out + i * N, a, N * sizeof(float), NRAM2GDRAM); __memcpy(out + 3 * N, a, 4, NRAM2GDRAM); break;
    case 4: __memcpy(out + i, a, 32, NRAM2GDRAM, 128, 32, 3); __memcpy_async(a, in, 64, GDRAM2NRAM); __sync(); break;
    case 5: out[taskId * N + i] = i; break;
    case 6:
      out[taskId * N] = i;
      __sync_all_ipu();
      if (out[next * N] > 2.0f) a[0] = 1;
      break;
    case 7: __memcpy(shared(), a, N * sizeof(float), NRAM2SRAM); __memcpy(a + N, shared() + 8, 64, SRAM2NRAM); break;
    case 8:
      if (taskId == 0) { __memcpy(out, a, 64, NRAM2GDRAM); out[N] = 1; __bang_atomic_add((int *)a, (int *)out + 2 * N, 1); }
      else { __bang_atomic_add((int *)a, (int *)out + 2 * N, 1); __memcpy(a, out, 64, GDRAM2NRAM); if (out[N] > 4.0f) a[3] = 1; }
      break;
    case 9: out[N * 2] += in[i]; __bang_atomic_reduce_add(out, a, N); __memcpy(a, out, 64, GDRAM2NRAM); break;
    case 10: __memcpy_async(a, in, 64, GDRAM2NRAM); __bang_add_scalar(b, a, 1.0f, 16); __sync(); __memcpy(out + taskId * N, b, 64, NRAM2GDRAM); break;
  }
}
__mlu_entry__ void Partly(float *out, const float *in, int turns, int mistake) {
  if (coreId == 0x80) return;
  for (int i = 0; i < turns; ++i) {
    __memcpy_async(a, in + i * N, N * sizeof(float), GDRAM2NRAM);
    __sync();
    __memcpy(out + (taskId * turns + i) * N, a, (N - mistake) * sizeof(float), NRAM2GDRAM);
  }
}
"""
LEAVING = """#include <bang.h>
#define N 64
__nram__ float a[4 * N], b[N];
struct Share {
  template <typename T> __mlu_func__ void go(T *to, int n) {
    if (n == 1) return;
    __sync_all(); if (coreId != 0x80) to[taskId * N] = 1; } };
template <typename T> __mlu_func__ void inner(T *to, int n) {
  for (int k = 0; k < 2; ++k) {
    if (n == 1 && k)
      return;
    __sync_all();
  }
}
__mlu_func__ void outer(float *to, int n) { inner(to, n); if (coreId != 0x80) to[taskId * N] = n; }
__mlu_func__ int skips(int turn) { if (turn & 1) return 1; __sync_all(); return 0; }
__mlu_entry__ void Leaving(float *out, const float *in, int turns, int mistake) {
  if (coreId != 0x80) __bang_write_zero(a, N);
  __sync_all();
  if (mistake == 0 && taskId == 1)
    return;
  for (int i = 0; i < turns; ++i) {
    if (mistake == 1 && taskId == i && skips(1)) return;
    while (mistake == 2) { if (taskId > 1 && i == 2) return; else break; }
    switch (mistake) {
      case 3: if (taskId == 3) return; break;
      case 4: if (taskId && i == 2) { Share s; s.go(out, taskId); } else __sync_all(); break;
      case 5: outer(out, taskId); break;
      case 6: { auto meet = [&](int n) { if (n == 1 + i) return; __sync_all_ipu(); }; if (coreId != 0x80) meet(taskId); } break;
      case 7: skips(taskId + i); break;
      case 8: if (coreId == 0x80) return; __sync_cluster(); break;
      case 9: if (taskId == 2) __sync_all_ipu(); else __sync_cluster(); break;
      case 10: if (taskId != 3) __sync_all_ipu(); break;
      case 11: if (coreId != 0x80) { do { __bang_atomic_add((int *)b, (int *)out, 0, 1); } while (((int *)b)[0] != 7 && taskId == 2); __sync_all_ipu(); } break;
    }
    __sync_all();
  }
  if (mistake == 12 && taskId == 1) {
    __sync_all();
  }
  if (coreId != 0x80) __memcpy(out + taskId * N, a, 64, NRAM2GDRAM);
}
struct Held { int *count; __mlu_func__ ~Held() { *count += 1; } };
__mlu_func__ void held(int n, int *count) { Held h{count}; if (n == 1) return; __sync_all(); }
__mlu_entry__ void Ending(float *out, const float *in, int turns, int mistake) {
  int count = 0;
  for (int i = 0; i < turns; ++i) held(taskId + i, &count);
}
"""
TURNS, TASKS = 3, 4
FAULTS, RACES, MISPLACED = range(1, 10), range(1, 10), range(1, 8)
MISTAKES = range(1, 31)  # of bytes without a value that escape
UNWRITTEN = dict.fromkeys(MISTAKES, 1) | {3: 2} | dict.fromkeys((16, 20, 25, 26, 27, 28), TASKS)
"""Of bytes without a value that escape, by the number of the mistake: how many of the tasks Python runs to tell the first at each place."""


@pytest.fixture(scope="module", autouse=True)
def _quick_compiler():
    """Let the compiler optimise nothing: it is most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CHOICE, shlex.join((*available(), "-O0")))
        yield


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("mistaken") / "mistaken.mlu"
    path.write_text(SOURCE)
    return path


@pytest.fixture(scope="module")
def mistaken(source):
    return bangc.load(source)


def told(kernel, mistake, engine, calls_of, *, union=False):
    """What all checkers say of a launch with a *mistake*, the bytes that it leaves, and on how many cores Python ran it."""
    with calls_of(Core.run) as ran:
        said = said_of(kernel, mistake, engine, union=union)
    return said, len(ran)


def said_of(kernel, mistake, engine, *, union=False):
    """What all checkers say of a launch with a *mistake*, and the bytes that it leaves."""
    device = mlusim.Device("MLU370-X4")
    many = TASKS * TURNS * 64
    out, given = device.put(np.zeros(many, np.float32)), device.put(np.ones(many, np.float32))
    fault = ""
    try:
        kind = mlusim.UNION1 if union else mlusim.BLOCK
        launch = device.launch(
            kernel, TASKS, kind, (out, given, TURNS, mistake), observe=list(CHECKERS), engine=engine
        )
        findings = launch.findings
    except Fault as error:
        fault, findings = str(error), error.findings
    return fault, findings, device.get(out).tobytes()


@pytest.mark.parametrize("mistake", FAULTS)
def test_a_fault_is_told_by_the_run_that_met_it(mistaken, mistake, calls_of):
    """With what lies beside the bytes; what the other checkers have found until then stays."""
    union = mistake % 2 == 1
    native, again = told(mistaken["Mistaken"], mistake, "native", calls_of, union=union)
    python, _ = told(mistaken["Mistaken"], mistake, "python", calls_of, union=union)

    assert native == python
    assert native[0]
    assert native[1]
    assert 0 == again


@pytest.mark.parametrize("mistake", RACES)
def test_races_between_tasks_are_told_by_a_second_run_in_c(source, mistake, calls_of):
    """By the same words, with the same hints, values and counts; atomics on a word put tasks in order there, too."""
    kernel = bangc.load(source)["Racing"]
    native, again = told(kernel, mistake, "native", calls_of, union=mistake > 4)
    known, _ = told(kernel, mistake, "native", calls_of, union=mistake > 4)
    python, _ = told(kernel, mistake, "python", calls_of, union=mistake > 4)

    assert native == python
    assert known == python
    assert {"racecheck"} <= {finding.id.partition("-")[0] for finding in native[1]}
    assert 0 == again


@pytest.mark.parametrize("mistake", range(1, 5))
def test_a_race_between_the_first_of_many_tasks_is_told_by_the_first_run(source, mistake, calls_of):
    """It has recorded every access of theirs, and goes on with that."""
    kernel, many, told = bangc.load(source)["Racing"], screening.WORTH_RECORDING, []
    device = mlusim.Device("MLU370-X4")
    out = device.put(np.zeros(many * TURNS * 64, np.float32))
    with calls_of(Screen.begin, Core.run) as calls:
        for engine in ("native", "python"):
            given = out, device.put(np.ones(64, np.float32)), TURNS, mistake
            told.append(
                device.launch(kernel, many, args=given, observe=list(CHECKERS), engine=engine).findings
            )

    assert told[1] == told[0]
    assert told[0]
    assert 2 * many == len(calls)
    assert 1 == len({id(call["self"]) for call in calls[:many]})


def test_a_kernel_that_raced_is_recorded_at_once_until_it_races_no_more(source, calls_of):
    kernel, runs = bangc.load(source)["Racing"], []
    device = mlusim.Device("MLU370-X4")
    out = device.put(np.zeros(64, np.float32))
    for turns in (TURNS, TURNS, 0, TURNS):
        with calls_of(Screen.begin) as begun:
            device.launch(kernel, TASKS, args=(out, out, turns, 1), observe=list(CHECKERS), engine="native")
        runs.append(len({id(call["self"]) for call in begun}))

    assert [2, 1, 1, 2] == runs


@pytest.mark.parametrize(("mistake", "runs"), [(1, [1, 1]), (10, [2, 1])])
def test_stores_to_large_memory_are_heard_for_one_checker(source, mistake, runs, calls_of):
    """Then nothing is copied before, unless a run that heard them has ended early: here, because a core does not wait."""
    kernel, device, begun, copied = bangc.load(source)["Racing"], mlusim.Device("MLU370-X4"), [], []
    out, given = device.put(np.zeros(screening.MUCH // 4, np.float32)), device.put(np.zeros(64, np.float32))
    for _ in range(2):
        with calls_of(Screen.begin, threads.room_for, Core.run) as calls:
            launch = device.launch(
                kernel, TASKS, args=(out, given, TURNS, mistake), observe=["valuecheck"], engine="native"
            )
        begun.append(len({id(c["self"]) for c in calls if type(c.get("self")) is Screen}))
        copied.append(any("nbytes" in call for call in calls))

    assert runs == begun
    assert [mistake == 10] * 2 == copied
    assert () == launch.findings


@pytest.mark.parametrize("shorter", [0, 5])
def test_a_union_that_stores_to_a_new_tensor_is_told_by_one_run_in_c(mistaken, shorter, calls_of):
    """Also if copies to its own memory do not wait; the host then reads what no task has stored."""

    def left(engine):
        device = mlusim.Device("MLU370-X4")
        out, given = device.empty(TASKS * TURNS * 64, "float32"), device.put(np.ones(TURNS * 64, np.float32))
        checker = CHECKERS["initcheck"]()
        with calls_of(Core.run) as ran, attending([checker, CHECKERS["racecheck"]()]):
            device.launch(
                mistaken["Partly"], TASKS, mlusim.UNION1, (out, given, TURNS, shorter), engine=engine
            )
            device.get(out)
        return checker.findings, len(ran)

    native, again = left("native")
    python, _ = left("python")

    assert native == python
    assert (shorter > 0) == any(finding.id == "initcheck-never-stored" for finding in native)
    assert 0 == again


@pytest.mark.parametrize("mistake", UNWRITTEN)
def test_unwritten_bytes_that_are_stored_are_counted_in_c(mistaken, mistake, calls_of):
    """Python runs the tasks of the first at each place, also where lanes were mixed on the way, or a test depends on them; all, where a variable keeps them."""
    native, again = told(mistaken["Unwritten"], mistake, "native", calls_of)
    python, _ = told(mistaken["Unwritten"], mistake, "python", calls_of)

    assert native == python
    assert "initcheck" in {finding.id.partition("-")[0] for finding in native[1]}
    assert UNWRITTEN[mistake] == again


@pytest.mark.parametrize("mistake", MISPLACED)
def test_scalars_and_barriers_out_of_place_are_counted_in_c(mistaken, mistake, calls_of):
    """Of scalars that are not aligned, or not where scalar code reaches, and of barriers of a cluster in Block tasks: the first at each place, and how many."""
    union = mistake in (5, 6)
    native, again = told(mistaken["Misplaced"], mistake, "native", calls_of, union=union)
    python, _ = told(mistaken["Misplaced"], mistake, "python", calls_of, union=union)

    assert native == python
    assert {"memcheck" if mistake != 3 else "synccheck"} == {f.id.partition("-")[0] for f in native[1]}
    assert 0 == again


@pytest.fixture(scope="module")
def leaving(tmp_path_factory):
    path = tmp_path_factory.mktemp("leaving") / "leaving.mlu"
    path.write_text(LEAVING)
    return bangc.load(path)


@pytest.mark.parametrize("mistake", range(13))
def test_a_barrier_that_cannot_complete_is_told_by_the_run_that_met_it(leaving, mistake, calls_of):
    """With who waits where, what the missing tasks passed last, and where they left the kernel, or a function below it; also where all wait, or look at memory."""
    native, again = told(leaving["Leaving"], mistake, "native", calls_of, union=True)
    python = said_of(leaving["Leaving"], mistake, "python", union=True)  # which follows calls itself

    assert native == python
    assert {"synccheck"} == {finding.id.partition("-")[0] for finding in native[1]}
    assert 0 == again


def test_python_tells_where_objects_end_on_a_return(leaving, calls_of):
    """Where a function that reaches a barrier destroys objects as it returns, the line depends on them."""
    native, again = told(leaving["Ending"], 0, "native", calls_of, union=True)
    python, _ = told(leaving["Ending"], 0, "python", calls_of, union=True)

    assert native == python
    assert 0 < again
