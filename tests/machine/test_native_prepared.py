"""The third launch of a kernel on the same grid: prepared, with other arguments, it does what the first did."""

import re
import sys

import greenlet
import numpy as np
import pytest
from attrs import evolve

import mlusim
from mlusim import bangc
from mlusim.arch.catalog import find_board
from mlusim.errors import MlusimError, UsageError
from mlusim.machine.native import seat
from mlusim.machine.native.build import available
from mlusim.machine.native.chain import Chain

pytestmark = pytest.mark.skipif(available() is None, reason="no C compiler")

SOURCE = """\
__nram__ float kept[32];
__nram__ float first[4];
__mlu_global__ void scale(float *out, const float *in, int n, float by, int what) {
  __nram__ float own[64];
  __memcpy_async(own, in + taskId * n, n * 4, GDRAM2NRAM);
  __sync();
  if (what == 1 && taskId == 2) { __bang_printf("task %d", (int)taskId); }
  if (what == 2 && taskId == 1) { __bang_add(own, own, kept, 1 << 20); }
  if (what == 3) { __bang_atomic_add(first, out, by, 1); }
  if (what == 4 && taskId == 0) { while (out[1] != 7.0f) {} }
  if (what == 5) { __nram__ float more[16]; __bang_write_value(more, 16, by); own[0] += more[3]; }
  if (what == 6) { __sync_all(); kept[0] = in[1 << 20]; }
  if (what == 7 && taskId == 3) { for (int i = 0; i < 3000; ++i) { __memcpy_async(kept, in, 4, GDRAM2NRAM); __sync_io(); } }
  __bang_mul_scalar(own, own, by, n);
  own[1] += kept[0] == kept[0];
  kept[0] = 1;
  __memcpy(out + taskId * n, own, n * 4, NRAM2GDRAM);
  if (what == 4 && taskId == 1) { out[1] = 7.0f; }
}
"""
UNIONS = """\
__nram__ float kept[32];
__nram__ float first[4] = {1, 2, 3, 4};
__mlu_shared__ float shared[64];
__mlu_shared__ float more_shared[64];
__mlu_func__ void deep(float *out, int k) {
  __nram__ float d[32];
  __bang_write_value(d, 32, 1.0f);
  if (k) { out[taskId] += d[3]; }
}
__mlu_global__ void meet(float *out, const float *in, int n, float by, int what) {
  __nram__ float own[64];
  __mlu_shared__ float here[32];
  __memcpy(shared, in + taskId, 64, GDRAM2SRAM);
  __memcpy(here, in + taskIdY, 64, GDRAM2SRAM);
  __sync_cluster();
  __memcpy(own, shared, 64, SRAM2NRAM);
  __bang_mul_scalar(own, own, by, n);
  kept[1] += kept[1] == kept[1];
  first[2] += 1;
  if (what == 1) { for (int i = 0; i < 4; i++) { __sync_cluster(); __sync_all(); } }
  if (what == 2 && coreId != 128) { __bang_atomic_add(kept, out + 40, by, 1); }
  if (what == 3) { __memcpy(more_shared, here, 64, SRAM2SRAM); __sync_cluster(); __memcpy(own, more_shared, 64, SRAM2NRAM); }
  if (what == 4 && coreId != 128 && taskId % 3 == 2) { __bang_printf("task %d", (int)taskId); }
  if (what == 5 && taskId == 5 && coreId != 128) { __bang_add(own, own, kept, 1 << 20); }
  if (what == 6 && coreId == 2) { return; }
  __sync_all_ipu();
  if (what == 7 && coreId == 0) { __sync_cluster(); }
  if (what == 8 && taskIdY == 1) { if (coreId == 0) { __sync_cluster(); } else { __sync_all(); } }
  if (what == 9) { for (int i = 0; i < 100; ++i) { __memcpy_async(kept, in, 4, GDRAM2NRAM); __sync_io(); __sync_cluster(); } }
  if (what == 10 && taskIdY < 2) { __sync_all(); if (coreId == 1) { __bang_printf("late %d", (int)taskId); } __sync_all(); }
  if (what == 11 && coreId != 128) { for (int i = 0; i < 3; i++) { deep(out, i + taskIdX); __sync_all_ipu(); } }
  if (what == 12 && coreId != 128) { __bang_atomic_add(kept, out + 40, 0.0f, 1); }
  if (what == 13) {
    __mlu_shared__ float late[16];
    __memcpy(late, in + 7, 64, GDRAM2SRAM);
    __sync_cluster();
    __memcpy(own, late, 64, SRAM2NRAM);
  }
  if (what == 14 && taskIdY == 1 && coreId == 2) { __sync_cluster(); kept[0] = in[1 << 20]; }
  if (what == 15) { __sync_cluster_arrive(1, 4); __sync_cluster_wait(1, 4); }
  if (coreId != 128) { own[1] += kept[1] + first[2]; }
  __memcpy(out + taskId * n, own, n * 4, NRAM2GDRAM);
}
"""
APART = """\
__nram__ float wide[65536];
__mlu_global__ void apart(float *out, const float *in, int n, float by, int what) {
  if (coreId == 128) { return; }
  __memcpy(wide + 40000, in + taskId, n * 4, GDRAM2NRAM);
  if (what == 1 && taskId % 5 == 3) { __bang_printf("task %d", (int)taskId); }
  if (what == 2 && taskId == 37) { while (out[16 * 44] == 0.0f) {} }
  if (what == 3 && taskId == 2) { while (out[16 * 79] == 0.0f) {} }
  if (what == 4 && taskId == 41) { __bang_add(wide, wide, wide, 1 << 20); }
  if (what == 5) { for (int i = 0; i < 3000; ++i) { __memcpy_async(wide, in, 4, GDRAM2NRAM); __sync_io(); } }
  wide[40000] += wide[65000] == wide[65000] ? 1.0f : by;
  wide[65000] = 1.0f;
  __memcpy(out + taskId * n, wide + 40000, n * 4, NRAM2GDRAM);
}
"""
GDRAM = re.compile("0x1[0-9a-f]{9}")  # an address there, which is another one in each launch
MEASURES = (
    "instructions", "traffic", "lanes", "memory", "scalar_loads", "scalar_stores", "busy_us", "time_us", "bound", "io_bytes", "printed", "engine",
    "kernel", "dim", "kind", "effects", "board",
)  # fmt: skip


@pytest.fixture(scope="module")
def scale(tmp_path_factory):
    """Return the kernel."""
    path = tmp_path_factory.mktemp("prepared") / "scale.mlu"
    path.write_text(SOURCE)
    return bangc.load([path], board="MLU370-X4")["scale"]


@pytest.fixture(scope="module")
def meet(tmp_path_factory):
    """Return the kernel of unions."""
    path = tmp_path_factory.mktemp("prepared") / "meet.mlu"
    path.write_text(UNIONS)
    return bangc.load([path], board="MLU370-X4")["meet"]


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """Return the kernel of unions whose cores do not meet."""
    path = tmp_path_factory.mktemp("prepared") / "apart.mlu"
    path.write_text(APART)
    return bangc.load([path], board="MLU370-X4")["apart"]


def launched(device, kernel, dim, what, by=2.0, kind=mlusim.BLOCK, **options):
    """Launch; return all that it says of itself, or its fault, and the bytes afterwards."""
    n, tasks = 16, int(np.prod(dim))
    given = device.put(np.arange(tasks * n + 64, dtype=np.float32) + by)
    out = device.put(np.zeros(tasks * n, np.float32))
    try:
        launch = device.launch(kernel, dim, kind, args=(out, given, n, by, what), engine="native", **options)
    except MlusimError as fault:
        return type(fault), GDRAM.sub("", str(fault)), device.get(out).tobytes()
    told = {m: getattr(launch, m) for m in MEASURES}
    places = [(base, [str(a) for a in every]) for base, every in launch.declared]
    tasks_told = [
        (
            t.task,
            t.memory_core,
            t.union,
            t.cluster,
            t.core,
            t.work,
            t.log.key,
            t.head,
            [read for *_, read in t.reads],
        )
        for t in launch.tasks
    ]
    return told, places, tasks_told, device.get(out).tobytes()


@pytest.mark.parametrize("what", range(8))
@pytest.mark.parametrize("tasks", [1, 4, 70])
def test_a_launch_that_is_prepared_does_what_the_first_did(scale, tasks, what):
    """Bytes, counts, times, logs, declarations, prints and faults are those of a launch on a fresh device, whatever it calls Python for."""
    expected, device = (
        launched(mlusim.Device("MLU370-X4"), scale, tasks, what, 3.0),
        mlusim.Device("MLU370-X4"),
    )
    for _ in range(3):
        launched(device, scale, tasks, 0)
    prepared = [launched(device, scale, tasks, what, 3.0) for _ in range(3)]

    assert [expected] * 3 == prepared


@pytest.mark.parametrize("what", range(16))
@pytest.mark.parametrize(("dim", "kind"), [((4, 6, 1), mlusim.UNION1), ((8, 2, 1), mlusim.UNION2)])
def test_unions_that_are_prepared_do_what_the_first_ones_did(meet, dim, kind, what):
    """So do more unions than are resident at once, with memory cores, SRAM and barriers, in the same order, wherever one of them calls for Python."""
    how = {"kind": kind, "effects": "eager" if what % 2 else "late"}
    expected, device = (
        launched(mlusim.Device("MLU370-X4"), meet, dim, what, 3.0, **how),
        mlusim.Device("MLU370-X4"),
    )
    for _ in range(2):
        launched(device, meet, dim, 0, **how)
    again = [launched(device, meet, dim, what, 3.0, **how) for _ in range(2)]

    assert [expected] * 2 == again


@pytest.mark.parametrize("what", range(6))
def test_unions_of_which_each_ends_before_the_next_begins_do_what_the_first_ones_did(apart, what):
    """C has cores for one of them; when Python takes over, as many are there as the board has place for, and one may wait for another."""
    how = {"kind": mlusim.UNION1, "effects": "eager" if what % 2 else "late"}
    fresh, device = mlusim.Device("MLU370-X4"), mlusim.Device("MLU370-X4")
    expected = launched(fresh, apart, (4, 20, 1), what, 3.0, **how)
    for _ in range(2):
        launched(device, apart, (4, 20, 1), 0, **how)
    again = [launched(device, apart, (4, 20, 1), what, 3.0, **how) for _ in range(2)]

    assert [expected] * 2 == again


def test_a_prepared_launch_is_made_in_the_usual_way_where_something_asks_for_it(scale):
    """Another engine, a seed, an observer, a limit, an argument that does not fit."""
    device = mlusim.Device("MLU370-X4")
    expected = [launched(device, scale, 4, 0)[-1] for _ in range(4)]
    given = device.put(np.zeros(64, np.float32))
    arguments = given, given, 16, 1.0, 0

    assert 1 == len(set(expected))
    assert "python" == device.launch(scale, 4, args=arguments, engine="python").engine
    assert 5 == device.launch(scale, 4, args=arguments, seed=5).seed
    assert "native" == device.launch(scale, 4, args=arguments, engine="native", limit="seconds=60").engine
    assert ("initcheck",) == tuple(
        o.name for o in device.launch(scale, 4, args=arguments, observe="initcheck").observers
    )
    for wrong in ((given, given, 16, 1.0), (given, given, 2**40, 1.0, 0), (given, 5, 16, 1.0, 0)):
        with pytest.raises(MlusimError):
            device.launch(scale, 4, args=wrong, engine="native")
    for dim in (1.0, (4.0, 1, 1)):
        with pytest.raises(MlusimError):
            device.launch(scale, dim, args=arguments, engine="native")


@pytest.mark.parametrize(("name", "kind"), [("scale", mlusim.BLOCK), ("meet", mlusim.UNION1)])
def test_a_launch_tells_its_own_counts_after_later_ones(name, kind, request):
    """C counts the next one in the same place, and may be asked for another kernel's launch meanwhile."""
    kernel, device = request.getfixturevalue(name), mlusim.Device("MLU370-X4")
    tensor = device.put(np.zeros(512, np.float32))
    launches = [device.launch(kernel, 8, kind, (tensor, tensor, n, 1.0, 0)) for n in range(1, 7)]

    stored = [launch.traffic["NRAM2GDRAM"] for launch in reversed(launches)]
    assert [n * stored[-1] for n in range(6, 0, -1)] == stored


def test_tensors_of_prepared_launches_are_not_kept(scale):
    """A tensor that was freed, or is of another device, is refused, and one that may only be read is not written."""
    device, other = (mlusim.Device("MLU370-X4") for _ in range(2))
    for _ in range(4):
        launched(device, scale, 4, 0)
    freed, there, lent = (
        device.put(np.zeros(64, np.float32)),
        other.put(np.zeros(64, np.float32)),
        device.share(np.zeros(64, np.float32)),
    )
    device.free(freed)

    for wrong in (freed, there):
        with pytest.raises(UsageError):
            device.launch(scale, 4, args=(wrong, lent, 16, 1.0, 0), engine="native")
    with pytest.raises(MlusimError, match="const"):
        device.launch(scale, 4, args=(lent, lent, 16, 1.0, 0), engine="native")
    assert 0 == np.count_nonzero(device.get(lent))


DEEP = """\
#define MANY 65536
__nram__ int wide[MANY];
__nram__ int small[64] = {7};
__mlu_func__ void store(int *p, vv_int32 v) { __vv_store(p, v); }
__mlu_func__ vv_int32 load(int *p) { vv_int32 v; __vv_load(v, p); return v; }
__mlu_global__ void deep(int *out, int at, int how) {
  __nram__ int own[MANY / 2];
  int *mine = out + taskId * 64, *here = wide + at;
  if (how == 0) { mine[0] = here[0]; mine[1] = own[at / 2]; own[0] = here[1] + small[0]; mine[2] = own[0]; }
  if (how == 1) { __memcpy(mine, here, 256, NRAM2GDRAM); }
  if (how == 2) { __bang_sub(here, here, own + at / 2, 64); __memcpy(mine, here, 256, NRAM2GDRAM); }
  if (how == 3) { __memcpy(mine, here - at % 1000, 8, NRAM2GDRAM, 8, 12, 9); }
  if (how == 4) { __memcpy_async(here, out, 8, GDRAM2NRAM); __sync(); __memcpy(mine, here, 256, NRAM2GDRAM); }
  if (how == 5) { mine[5] = (int)__bang_count((float *)here, 64); }
  if (how == 6) { __bang_write_value(own, 64, 1); mine[0] = (int)__bang_filter(here, here, own, 64); __memcpy(mine + 1, here, 64, NRAM2GDRAM); }
  if (how == 7) { store(own + at / 2, load(here)); __memcpy(mine, own + at / 2 - 8, 256, NRAM2GDRAM); }
  if (how == 8 && taskId % 3 == 1) { __bang_printf("%d %d", here[1], own[MANY / 2 - 1]); mine[1] = wide[MANY - 1]; }
  if (how == 9 && taskId % 3 == 1) { mine[0] = here[MANY]; }
  if (how == 10) { here[0] = own[7]; int *far = here + 5; mine[0] = far - wide; __memcpy(mine + 1, far, 128, NRAM2GDRAM); }
  __bang_write_value(wide, MANY, taskId);
  __bang_write_value(own, MANY / 2, taskId + 100);
  small[0] += 1;
  mine[63] = small[0];
}
"""


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    """Return the kernel of large memories."""
    path = tmp_path_factory.mktemp("prepared") / "deep.mlu"
    path.write_text(DEEP)
    return bangc.load([path], board="MLU370-X4")["deep"]


@pytest.mark.parametrize("how", range(11))
def test_memory_is_poison_as_far_as_a_task_goes(deep, how):
    """Each task finds no byte of the one before, which has written all of them, near the begin of an array and far behind it, whatever looks there."""

    def told(device, at, dim, kind, engine):
        out = device.put(np.zeros(64 * 8, np.int32))
        try:
            launch = device.launch(deep, dim, kind, (out, at, how), engine=engine)
        except MlusimError as fault:
            return GDRAM.sub("", str(fault)), device.get(out).tolist()
        return launch.printed, launch.instructions, launch.time_us, device.get(out).tolist()

    for dim, kind in (((8, 1, 1), mlusim.BLOCK), ((4, 2, 1), mlusim.UNION1)):
        device = mlusim.Device("MLU370-X4")
        for at in (1000, 4096, 16300, 65400, 5000):
            expected = told(mlusim.Device("MLU370-X4"), at, dim, kind, "python")

            assert [expected] * 2 == [told(device, at, dim, kind, "native") for _ in range(2)]


def test_a_task_that_none_follows_makes_no_chain(scale):
    """Tasks that are resident together, since they meet at atomics: only the first makes rows for further logs, for the next launch."""
    board, chains = find_board("MLU370-X4"), []

    def counts(frame, event, _):
        if event == "call" and frame.f_code is Chain.__init__.__code__:
            chains.append(frame.f_lineno)

    unmet = mlusim.Device(evolve(board, arch=evolve(board.arch, nram=700 << 10)))  # no arrays are foreseen
    greenlet.settrace(lambda *_: sys.setprofile(counts))
    launched(unmet, scale, 32, 3)
    greenlet.settrace(None)
    sys.setprofile(None)

    assert 1 == len(chains)


LONG = """\
__nram__ float own[64];
__nram__ float more[64];
__mlu_global__ void meets(float *out, const float *in, int n) { for (int i = 0; i < n; ++i) { __sync_cluster(); } }
__mlu_global__ void rounds(float *out, const float *in, int n, int what) {
  for (int i = 0; i < n; ++i) {
    __memcpy_async(own, in + (i * 4 + taskId) % 8192, 64, GDRAM2NRAM);
    if (i % 7 == coreId) { __bang_add(more, more, more, 64); }
    __sync_io();
    __sync_cluster();
    if (what == 1 && i == 700 && taskId == 5) { __bang_printf("%d", i); }
    if (what == 2 && i == n - 1 && taskId == 2) { return; }
  }
  if (what == 2) { __sync_cluster(); }
  if (what == 3) { more[1 << 20] = 1; }
  out[taskId] = own[3] == own[3];
}
"""


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """Return the kernels of tasks with many barriers."""
    path = tmp_path_factory.mktemp("prepared") / "long.mlu"
    path.write_text(LONG)
    return bangc.load([path], board="MLU370-X4")


def rounds(device, kernel, dim, n, what, engine="native", **options):
    """Launch *n* rounds of a union; return all that it says of itself, with the rows of the logs, or its fault."""
    given, out = device.put(np.ones(1 << 14, np.float32)), device.put(np.zeros(64, np.float32))
    try:
        launch = device.launch(kernel, dim, mlusim.UNION1, (out, given, n, what), engine=engine, **options)
    except MlusimError as fault:
        return GDRAM.sub("", str(fault))
    logs = [(task.task, task.core, task.log.key, task.head) for task in launch.tasks]
    return launch.time_us, launch.instructions, launch.traffic, launch.printed, logs


@pytest.mark.parametrize("what", range(4))
@pytest.mark.parametrize(("dim", "n"), [((4, 1, 1), 3000), ((4, 11, 1), 300)])
def test_a_union_with_full_logs_does_what_it_does_in_python(long, dim, n, what):
    """Rows, times and faults are the same where logs of 1,024 rows are full many times, are not, and where Python takes over after that."""
    kernel, device = long["rounds"], mlusim.Device("MLU370-X4")
    expected = rounds(mlusim.Device("MLU370-X4"), kernel, dim, n, what, "python")
    for _ in range(2):
        rounds(device, kernel, dim, 4, 0)
    again = [rounds(device, kernel, dim, n, what) for _ in range(2)]

    assert [expected] * 2 == again


def test_the_space_for_full_logs_is_bounded():
    """It grows twice; what is full after that is left to Python."""
    place, rooms = seat.Seat(), []
    for _ in range(3):
        place.lengthen()
        rooms.append(place.c.packed_room)

    assert [seat.MOST_PACKED // 8, seat.MOST_PACKED, seat.MOST_PACKED] == rooms


@pytest.mark.parametrize("observe", [(), ("racecheck", "initcheck", "synccheck")])
def test_a_union_with_more_barriers_calls_python_no_more_often(long, observe):
    """Five times as many barriers, each with a row of the log, are as many calls of Python functions, apart from those for signals: C packs the rows of full logs."""
    device = mlusim.Device("MLU370-X4")
    given, calls = device.put(np.zeros(64, np.float32)), []

    def count(frame, event, _):
        calls[-1] += event == "call" and frame.f_code.co_name != "_look"

    def launch(n):
        return device.launch(
            long["meets"], 4, mlusim.UNION1, (given, given, n), engine="native", observe=observe
        )

    for n in (2000, 2000, 2000, 10000):
        calls.append(0)
        greenlet.settrace(lambda *_: sys.setprofile(count))
        told = launch(n).engine
        greenlet.settrace(None)
        sys.setprofile(None)

    assert "native" == told
    assert calls[-1] <= calls[-2] + 4  # a collection of garbage may call for what it frees
