"""Launches that C runs for checkers: what is told is what the checkers tell in Python, and clean ones are left at that."""

import shlex
from types import SimpleNamespace

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from screen_programs import compared, loaded, told

import mlusim
from mlusim import bangc
from mlusim.errors import Fault
from mlusim.isa.table import ISA
from mlusim.machine.native import screen, screening
from mlusim.machine.native.build import CHOICE, available
from mlusim.machine.native.screening import LONG, TRIED, VECTORS, WORTH_RECORDING, Screening
from mlusim.machine.native.text.screen import HOW_WAITS, WINDOW, Suspicion
from mlusim.observe.collect import collecting
from mlusim.observe.initcheck import FirstEscapes, InitCheck
from mlusim.observe.names import CHECKERS
from mlusim.observe.racecheck import RaceCheck

pytestmark = pytest.mark.skipif(available() is None, reason="there is no compiler")


@pytest.fixture(scope="module", autouse=True)
def _quick_compiler():
    """Let the compiler optimise nothing: it is most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CHOICE, shlex.join((*available(), "-O0")))
        yield


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    return loaded(tmp_path_factory.mktemp("screen"))


def test_random_programs_are_told_as_in_python(kernel):
    found = []
    for seed in (*range(48), 2032, 3632, 9025):
        if seed % 2:
            screening.read_back.clear()
        found.append(compared(kernel, seed, launches=2 + seed % 3))

    assert any(ran and not findings for ran, findings in found)
    assert any(findings for _, findings in found)


def test_random_programs_are_told_as_in_python_on_mlu2xx(tmp_path):
    """There instructions refuse operands that are not at lines, on both engines alike."""
    kernel = loaded(tmp_path, "MLU270-S4")
    found = [compared(kernel, seed, board="MLU270-S4") for seed in range(24)]

    assert any(ran and not findings for ran, findings in found)
    assert any(findings for _, findings in found)


CLEAN = [
    (0, 255, 0, 64, 64, 0),
    (1, 255, 0, 0, 64, 128),
    (6, 255, 0, 0, 0, 0),
    (14, 511, 0, 0, 0, 0),
    (13, 15, 128, 0, 0, 0),
]
PROGRAMS = {
    "unwritten bytes stored": [(1, 255, 0, 512, 64, 128)],
    "an unwritten scalar": [*CLEAN, (11, 1, 0, 512, 0, 0)],
    "the same word from all tasks": [*CLEAN[:2], (12, 255, 0, 0, 0, 0)],
    "a read before the barrier": [*CLEAN[:3], CLEAN[4]],
    "a copy in flight": [(2, 255, 0, 64, 64, 0), (4, 255, 512, 0, 64, 0)],
    "out of bounds": [*CLEAN, (0, 2, 1000, 64, 64, 0)],
}


@pytest.mark.parametrize("union", [False, True])
def test_a_checked_launch_that_is_prepared_tells_what_others_do(kernel, union, calls_of):
    """Two launches without a mistake, and between such launches each mistake: findings, counts and bytes are those of Python."""
    clean = CLEAN if union else CLEAN[:3]
    programs = [
        clean,
        clean,
        *(ops for wrong in PROGRAMS.values() for ops in (clean, clean, wrong)),
        clean,
        clean,
    ]
    dim, kind = ((4, 2, 1), mlusim.UNION1) if union else ((3, 1, 1), mlusim.BLOCK)

    def seen(engine):
        device = mlusim.Device("MLU370-X4")
        out = device.put(np.zeros(4096, np.float32))
        given = device.put(np.arange(4096, dtype=np.float32))
        for ops in programs:
            arguments = out, given, device.share(np.array(ops, np.int32)), len(ops)
            try:
                launch = device.launch(kernel, dim, kind, arguments, observe=tuple(CHECKERS), engine=engine)
                yield launch.findings, launch.instructions, launch.traffic, launch.time_us
            except Fault as fault:
                yield str(fault), fault.findings
            yield device.get(out).tobytes()

    with calls_of(screen.Screen.takes_meetings) as calls:
        native = list(seen("native"))

    assert list(seen("python")) == native
    assert calls


@pytest.mark.parametrize("behind", [False, True])
def test_what_a_launch_reads_is_given_back_to_it(kernel, behind):
    """It is kept when something reads it, or, where that is behind a store, at the beginning of a second attempt; then Python runs."""
    screening.read_back.clear()
    stores, adds, ends = (1, 1, 0, 512, 64, 0), (17, 1, 0, 512, 64, 0), (22, 1, 0, 8, 64, 0)
    ops = np.array([(0, 1, 512, 64, 64, 0), *[stores] * behind, adds, ends], np.int32)
    how = {"union": False, "late": True, "dirty": False}
    findings = [told(kernel, ops, engine, **how) for engine in ("native", "python")]

    assert (3 if behind else 2) == len(screening.read_back[kernel.native])
    assert findings[0] == findings[1]
    assert any(findings[0][2])


def test_programs_of_many_tasks_are_told_as_in_python(kernel, calls_of):
    """Every access of the first two is recorded: if some are in no order, the run goes on so, otherwise without."""
    with calls_of(screen.SharedLog.stop) as stops:
        found = [compared(kernel, seed, union=False, tasks=WORTH_RECORDING) for seed in range(200, 224)]

    assert stops
    assert any(ran and not findings for ran, findings in found)
    assert any(findings for _, findings in found)


MANY = """#include <bang.h>
__mlu_entry__ void Many(int *out, int n, int apart) {
  for (int i = 0; i < n; ++i) out[taskId * apart + i] = i;
}
"""


@pytest.mark.parametrize("n", [screen.FIRST_SHARED // 3, screen.FIRST_SHARED * 2 // 3])
@pytest.mark.parametrize("ordered", [False, True])
def test_a_record_of_every_access_takes_more_space_if_it_is_needed(tmp_path, n, ordered, calls_of):
    """Without more it is given up, and a second run has it from the beginning if the accesses of two tasks are in no order."""
    (tmp_path / "many.mlu").write_text(MANY)
    kernel, device, told = bangc.load(tmp_path / "many.mlu")["Many"], mlusim.Device("MLU370-X4"), []
    out = device.put(np.zeros(WORTH_RECORDING * n, np.int32))
    given = out, n, n * ordered
    with calls_of(screen.Screen.begin) as begun:
        for engine in ("native", "python"):
            launch = device.launch(kernel, WORTH_RECORDING, args=given, observe=["racecheck"], engine=engine)
            told.append((launch.findings, launch.traffic, device.get(out).tobytes()))

    assert told[1] == told[0]
    assert ordered == (not told[0][0])
    assert (1 if ordered or 2 * n < screen.FIRST_SHARED else 2) == len({id(call["self"]) for call in begun})


def test_a_record_without_room_is_joined(kernel, monkeypatch, calls_of):
    """The accesses of each segment that meet are one, and what is told is the same; of lines and branches, too."""
    monkeypatch.setattr(screen, "MOST_ACCESSES", 12)
    with calls_of(screen.joined) as calls:
        found = [compared(kernel, 68, covered=True, threads=3)]
    found += [compared(kernel, seed, covered=True, threads=3) for seed in (*range(60, 68), *range(69, 75))]

    assert calls
    assert any(ran and not findings for ran, findings in found)


@hypothesis.given(
    st.integers(1, 200),
    st.lists(
        st.tuples(
            st.integers(0, 200), st.integers(0, 200), st.sampled_from(["has", "lacks", "says", "takes"])
        )
    ),
)
def test_what_is_said_of_lines_is_so_of_bytes(nbytes, stores):
    flags, plain = screen.Flags(nbytes), np.ones(nbytes, np.uint8)
    mask = np.arange(nbytes) // 70 % 2 == 0
    for a, b, what in stores:
        low, high = sorted((min(a, nbytes), min(b, nbytes)))
        if what == "says":
            flags.spell_out(low, high)[::2] = 0
            plain[low:high:2] = 0
        elif what == "takes":
            flags.take(low, high, mask)
            plain[low:high] = ~mask[low:high]
        else:
            flags.put(low, high, what == "lacks")
            plain[low:high] = what == "lacks"
    has = flags.having()

    assert plain.any() == (has is not None)
    assert has is None or plain.tolist() == (~has).tolist()
    assert plain.tolist() == flags.at_bytes(0, nbytes).tolist()


@pytest.mark.attack
@pytest.mark.parametrize("part", range(20))
def test_ten_thousand_random_programs_are_told_as_in_python(kernel, part):
    for seed in range(500 * part, 500 * (part + 1)):
        compared(kernel, 100 + seed)


HALVED = """#include <bang.h>
__nram__ float a[4096];
__mlu_entry__ void Half(float *out, const float *in, int n, int beyond) {
  for (int i = taskId * 1024; i < n; i += taskDim * 1024) {
    int m = n - i < 1024 ? n - i : 1024;
    __memcpy(a, in + i, m * sizeof(float), GDRAM2NRAM);
    __bang_mul_scalar(a + 1024, a, 0.5f, 1024);
    __memcpy(out + i, a + 1024, (m + beyond) * sizeof(float), NRAM2GDRAM);
  }
}
"""
TURNING = (
    HALVED.replace("beyond) {", "turns) {")
    .replace(" + beyond", "")
    .replace("  for", "  for (int turn = 0; turn < turns; ++turn) { a[turn & 7] = turn; }\n  for")
)


PADDED = """#include <bang.h>
__nram__ float a[256], b[256], c[256];
__mlu_entry__ void Padded(float *out, const float *in, int n) {
  __memcpy(a, in, n * sizeof(float), GDRAM2NRAM);
  __bang_fusion(FUSION_FMA, b, a, a, 2.0f, 128, 128);
  __bang_cycle_add(c, b, b + 64, 64, 32);
  __memcpy(out, c, 64 * sizeof(float), NRAM2GDRAM);
}
"""


def test_padding_without_a_value_stays_in_its_lanes(tmp_path):
    """Operands that are used again and again: each lane of the result depends on one of theirs."""
    (tmp_path / "padded.mlu").write_text(PADDED)
    kernel = bangc.load(tmp_path / "padded.mlu")["Padded"]
    engines = []
    for n in (100, 80):
        device = mlusim.Device("MLU370-X4")
        given = device.empty(64, np.float32), device.put(np.ones(n, np.float32)), n
        launch = device.launch(kernel, args=given, observe=["initcheck"], engine="native")
        engines.append((launch.engine, {f.id for f in launch.findings}))

    assert [("native", set()), ("native", {"initcheck-lanes-mixed"})] == engines


REGISTERS = """
#include <bang.h>
__nram__ float buf[64];
__mlu_entry__ void Twice(float *out, const float *in) {
  vv_float a;
  __memcpy(buf, in, __vv_get_length(), GDRAM2NRAM);
  __vv_load(a, buf);
  __vv_add(a, a, a);
  __vv_store(buf, a);
  __memcpy(out, buf, __vv_get_length(), NRAM2GDRAM);
}
"""


def test_a_checked_kernel_with_vector_registers_runs_in_python(tmp_path):
    """Only Python knows whether a register has a value; a row that returns a number needs no operands to be asked about."""
    (tmp_path / "twice.mlu").write_text(REGISTERS)
    kernel = bangc.load(tmp_path / "twice.mlu")["Twice"]
    device = mlusim.Device("MLU370-X4")
    out = device.empty(64, np.float32)
    launch = device.launch(
        kernel, args=(out, device.put(np.ones(64, np.float32))), observe=list(CHECKERS), engine="native"
    )

    assert ("python", ()) == (launch.engine, tuple(launch.findings))
    np.testing.assert_array_equal(np.full(64, 2, np.float32), device.get(out))


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    path = tmp_path_factory.mktemp("half") / "half.mlu"
    path.write_text(HALVED)
    return bangc.load(path)["Half"]


def launched(half, n, *, beyond=0, room=1024, **options):
    device = mlusim.Device("MLU370-X4")
    out, given = device.empty(n + room, np.float32), device.put(np.ones(n, np.float32))
    return device.launch(half, 4, args=(out, given, n, beyond), **options)


def test_c_checks_a_launch_of_many_bytes_and_leaves_a_short_one_to_python(half):
    every = {"observe": list(CHECKERS)}

    assert "python" == launched(half, 5000, **every).engine
    assert "python" == launched(half, 1 << 18, engine="python", **every).engine
    assert "native" == launched(half, 1 << 18, **every).engine
    # The end of the tensor is not stored to; what stored the rest is among the accesses that racecheck asks for.
    assert "python" == launched(half, 1 << 18, observe=["initcheck"]).engine
    assert "native" == launched(half, 1 << 18, observe=["memcheck", "racecheck", "valuecheck"]).engine


def test_c_knows_what_stored_the_rest_of_a_tensor(half):
    """The end of it that no task stores is told as in Python, when the host fetches it."""
    told = []
    for engine in ("native", "python"):
        device = mlusim.Device("MLU370-X4")
        out, given = device.empty(6024, np.float32), device.put(np.ones(5000, np.float32))
        with collecting(["initcheck", "racecheck"]) as collector:
            launch = device.launch(half, 4, args=(out, given, 5000, 0), engine=engine)
            device.get(out)
        assert engine == launch.engine
        told.append([(str(f), f.context, f.intrinsic) for f in collector.found])

    assert told[0] == told[1]
    assert "task 0 stored up to byte 20000" in told[0][0][1][0]


def test_a_launch_that_is_suspected_begins_again_with_the_memory_that_it_was_given(half):
    left = []
    for engine in ("native", "python"):
        device = mlusim.Device("MLU370-X4")
        data = device.put(np.ones(8192, np.float32))
        launch = device.launch(half, 4, args=(data, data, 4096, 1024), observe=["racecheck"], engine=engine)
        assert engine == launch.engine
        assert "racecheck-tasks-write-write" in {f.id for f in launch.findings}
        left.append(device.get(data).tobytes())

    assert left[0] == left[1]


TURNS = """#include <bang.h>
#define TWICE(a) __bang_add_scalar(a, a, 1.0f, 64); __bang_add_scalar(a, a, 1.0f, 64)
__nram__ float a[1024], b[1024];
template <typename T> __mlu_func__ void Doubled(float *x, T n) { __bang_mul_scalar(x, x, 2.0f, 64); if (n > (T)100) x[0] = n; }
__mlu_func__ void Own(float *out, const float *in) {
  __nram__ float t[256];
  __bang_write_zero(t, 256);
  __sync();
  __memcpy_async(t, in, 512, GDRAM2NRAM);
  __bang_add(t + 128, t, t, 64);
  __sync();
  __memcpy(out, t + 128, 256, NRAM2GDRAM);
}
__mlu_func__ void Turn(float *out, const float *in, int kind) {
  switch (kind) {
    case 1:
      if (b[0] + b[1] < 0) break;
      __memcpy_async(b, in, 256, GDRAM2NRAM);
      __memcpy_async(a, b, 128, NRAM2NRAM);
      break;
    case 2: __bang_mul(a, b, b, 64); __memcpy_async(b, in, 256, GDRAM2NRAM); __sync_compute(); a[0] = b[9]; break;
    case 3: __memcpy_async(b, in, 64, GDRAM2NRAM, 128, 64, 3); __bang_add(a + 64, b + 16, b + 64, 64); __sync_io(); __bang_add(a, b, b, 64); break;
    case 4: __memcpy_async(b, in, 64, GDRAM2NRAM, 128, 64, 3); __bang_add(a, b + 16, b + 16, 16); break;
    case 5: out[1] = 3; __memcpy(a, out, 64, GDRAM2NRAM); __memcpy(out, a, 64, NRAM2GDRAM); break;
    case 6: __memcpy_async(a, in, 256, GDRAM2NRAM); __sync_io_move_compute(true, false, false, false, false, true); __memcpy_async(b, a, 256, NRAM2NRAM); break;
    case 7: __memcpy_async(a, in, 256, GDRAM2NRAM); __memcpy_async(out, a, 256, NRAM2GDRAM); break;
    case 9: Own(out, in); break;
    case 8: for (int i = 0; i < 3; i++) __bang_add_scalar(b, b, 1.0f, 64); __memcpy_async(b, in, 256, GDRAM2NRAM); break;
    case 11: Doubled<float>(b, 3); Doubled<int>(b, 3); __memcpy_async(b, in, 256, GDRAM2NRAM); break;
    case 10: TWICE(b); __memcpy_async(b, in, 256, GDRAM2NRAM); break;
    case 12: for (int i = 0; i < 16400; i++) a[i & 1023] = i; __memcpy_async(b, in, 256, GDRAM2NRAM); __bang_add(a, b, b, 64); break;
  }
}
__mlu_entry__ void Moving(float *out, const float *in, int turns) {
  for (int i = 0; i < turns; i++) {
    __memcpy(a, in, 256, GDRAM2NRAM);
    __memcpy_async(a + i, in, 64, GDRAM2NRAM);
    a[i + 9] = 1;
    out[i] = 2;
    __memcpy(b, out + i, 64, GDRAM2NRAM);
    __sync();
  }
}
__mlu_entry__ void Turns(float *out, const float *in, int kind, int turns) {
  __bang_write_zero(a, 1024); __bang_write_zero(b, 1024);
  for (int i = 0; i < turns; i++) {
    Turn(out + 1024 * taskId, in + 64 * i, kind);
    __sync();
  }
  Turn(out + 1024 * taskId, in + 64 * turns, kind);
}
"""


@pytest.fixture(scope="module")
def turning(tmp_path_factory):
    path = tmp_path_factory.mktemp("turns") / "turns.mlu"
    path.write_text(TURNS)
    return bangc.load(path)


def test_what_is_in_no_order_in_each_turn_is_judged_once_and_counted(turning):
    """In C, but for two instructions of one line that could be one, also of two instances of a template, and for more between two waits than there is room for."""
    engines, counts = [], []
    for kind in range(1, 13):
        told = []
        for asked in ("native", "python"):
            device = mlusim.Device("MLU370-X4")
            given = (
                device.put(np.zeros(2048, np.float32)),
                device.put(np.ones(1024, np.float32)),
                kind,
                10 * (kind < 12),
            )
            launch = device.launch(turning["Turns"], 2, args=given, observe=list(CHECKERS), engine=asked)
            told.append((launch.engine, launch.findings, launch.instructions, device.get(given[0]).tobytes()))
        (ran, *native), (_, *python) = told
        assert native == python, kind
        engines.append(ran)
        counts.append(max(finding.count for finding in launch.findings))

    assert ["native"] * 9 + ["python"] * 3 == engines
    assert [40, 22, 22, 2, 44, 22, 2, 20, 22, 40, 40, 2] == counts


GATHERED = """#include <bang.h>
__nram__ float a[512];
__nram__ unsigned int off[64];
__nram__ unsigned char mask[16];
__mlu_entry__ void Gathered(float *out, const float *in, const unsigned int *offsets, int mistake) {
  __nram__ float initial[4] = {1, 2};
  __memcpy(a, in, 2048, GDRAM2NRAM);
  __memcpy(off, offsets, 256, GDRAM2NRAM);
  __bang_write_value(mask, 16, (unsigned char)0x5b);
  for (int i = 0; i < 3; ++i) {
    __sync();
    switch (mistake) {
      case 0: __memcpy_async(off, offsets, 256, GDRAM2NRAM); __gather(a, in + i * 16, off, 16, GDRAM2NRAM, 16, 8); break;
      case 1: __memcpy_async(off, offsets, 256, GDRAM2NRAM); __gather_async(a, a + 64, off, mask, 16, NRAM2NRAM, 16, 8); break;
      case 2: __gather_async(a, a + 64, off, 16, NRAM2NRAM, 16, 8); __bang_add_scalar(a + 128, a + i, 1.0f, 32); break;
      case 3: __scatter_async(out, a, off, 16, NRAM2GDRAM, 16, 8); a[8] = i; break;
      case 4: out[64] = i; __gather(a, a + 64, off, mask, 16, NRAM2NRAM, 16, 8); __memcpy(a, out + 64, 64, GDRAM2NRAM); break;
      case 5: __memcpy_async(a, in, 2048, GDRAM2NRAM); { __nram__ float t[4] = {3, 4}; if (t[1] + initial[1] > 9) out[i] = 1; } break;
    }
  }
  __sync();
}
"""


@pytest.mark.parametrize("union", [False, True])
@pytest.mark.parametrize("mistake", range(6))
def test_gathers_and_scatters_are_judged_by_the_record_of_the_run_in_c(tmp_path, mistake, union):
    """With what they read when they are issued. Of what a declaration begins with, no checker hears as of scalar stores."""
    path = tmp_path / "gathered.mlu"
    path.write_text(GATHERED)
    kernel, told = bangc.load(path, board="MLU590-H8")["Gathered"], []
    for engine in ("native", "python"):
        device = mlusim.Device("MLU590-H8")
        given = (
            device.put(np.zeros(512, np.float32)),
            device.put(np.ones(1024, np.float32)),
            device.put(np.arange(64, dtype=np.uint32) * 16),
            mistake,
        )
        kind = mlusim.UNION1 if union else mlusim.BLOCK
        launch = device.launch(kernel, 1 + 3 * union, kind, given, observe=list(CHECKERS), engine=engine)
        assert engine == launch.engine
        told.append((launch.findings, device.get(given[0]).tobytes()))

    assert told[0] == told[1]
    assert (mistake != 5 or union) == bool(told[0][0])


def test_who_finds_nothing_hears_nothing_of_the_run_in_python(half, calls_of):
    """Only racecheck has to see a launch whose tasks meet; what initcheck knows of the tensors is what C knows."""
    told = []
    for engine in ("native", "python"):
        device = mlusim.Device("MLU370-X4")
        data = device.empty(8192, np.float32)
        device.launch(half, 4, args=(data, device.put(np.ones(4096, np.float32)), 4096, 0))
        given = data.ptr + 512, data, 3584, 0
        with collecting(["racecheck", "initcheck"]) as collector, calls_of(InitCheck.effect) as heard:
            device.launch(half, 4, args=given, engine=engine)
            device.get(data)
        told.append([(str(f), f.context, f.count) for f in collector.found])
        assert bool(heard) == (engine == "python")

    assert told[0] == told[1]
    assert "racecheck-tasks-read-write" in str(told)


class Mistaken(InitCheck):
    """A checker with a mistake of its own, at the end of a run in C or in what it hears of one in Python."""

    screens = InitCheck.screens

    def __init__(self, at):
        super().__init__()
        self._at = at

    def screen_end(self, screen):
        return {}["screen_end"] if self._at == "screen_end" else super().screen_end(screen)

    def hears_again(self, screen):
        return MistakenEscapes(screen.escapes())


class MistakenEscapes(FirstEscapes):
    """What such a checker hears of the run in Python."""

    def effect(self, effect):
        return {}["effect", effect]


@pytest.mark.parametrize("at", ["screen_end", "effect"])
def test_a_mistake_in_a_checker_is_no_suspicion(half, at):
    """It comes out, and is not hidden by a run in Python."""
    with pytest.raises(KeyError, match=at):
        launched(half, 4000, beyond=8, observe=[Mistaken(at), RaceCheck()], engine="native")


def test_turns_that_are_elsewhere_in_each_memory_are_judged_as_one(turning):
    told = []
    for asked in ("native", "python"):
        device = mlusim.Device("MLU370-X4")
        given = device.put(np.zeros(256, np.float32)), device.put(np.ones(256, np.float32)), 20
        launch = device.launch(turning["Moving"], args=given, observe=list(CHECKERS), engine=asked)
        told.append((launch.engine, launch.findings))

    assert ["native", "python"] == [ran for ran, _ in told]
    assert told[0][1] == told[1][1]
    assert [20, 20] == [finding.count for finding in launch.findings]


class StandIn(SimpleNamespace):
    """A core that can be a key."""

    __hash__ = object.__hash__


def test_records_that_differ_are_kept_up_to_a_number():
    """Each would take memory; equal ones are counted."""
    window = np.zeros((), WINDOW)
    core = StandIn(seat=SimpleNamespace(window=window, keeps_window=True), views=[None], place=None)
    core.union = SimpleNamespace(block=False)
    core.machine = SimpleNamespace(native=SimpleNamespace(program=None))
    kept = screen.Windows(most=2)

    def ends(*waits):
        kept.begins(core)
        window["many"] = len(waits)
        for place, row in enumerate(waits):
            window["noted"][place] = place + 1, 0, list(ISA).index(row), HOW_WAITS, 0, 0, 0, -1, 0, 0, 0
        kept.ends(core)

    for waits in (["sync_io"], ["sync_move"], ["sync_io"]):
        ends(*waits)
    with pytest.raises(Suspicion):
        ends("sync_io", "sync_move")

    assert [2, 1] == [one.times for one in kept]


def test_who_hears_of_the_beginning_only_hears_of_it_once(half):
    class Counting(mlusim.Observer):
        begun = 0

        def launch_begin(self, launch):
            del launch
            self.begun += 1

    counting = Counting()
    for beyond in (0, 1000):
        launched(half, 5000, beyond=beyond, observe=[counting, "racecheck", "initcheck"], engine="native")

    assert 2 == counting.begun


def test_a_checker_of_others_is_not_screened(half):
    class Mine(RaceCheck):
        pass

    assert "python" == launched(half, 1 << 19, observe=[Mine()]).engine


@pytest.fixture
def fresh(half, tmp_path):
    """The kernel again, which was not launched before, with a loop of as many turns as its last argument says."""
    path = tmp_path / "fresh.mlu"
    path.write_text(TURNING)
    return bangc.load(path)["Half"]


@pytest.mark.parametrize(("turns", "engine"), [(1, "python"), (LONG, "native")])
def test_a_launch_that_may_be_long_is_tried_first(fresh, turns, engine):

    class Told(mlusim.Observer):
        begun = 0

        def launch_begin(self, launch):
            del launch
            self.begun += 1

    told = Told()
    launch = launched(fresh, 1 << 15, beyond=turns, observe=["racecheck", told])

    assert (engine, 1) == (launch.engine, told.begun)
    assert launch.instructions == launched(fresh, 1 << 15, beyond=turns, engine="python").instructions


def test_launches_that_are_short_are_long_together(fresh):
    """Python watches the first ones, C the next."""
    engines = [launched(fresh, 64, beyond=LONG // 5, observe=["racecheck"]).engine for _ in range(5)]

    assert ("python", "native") == (engines[0], engines[-1])
    assert sorted(engines, reverse=True) == engines


WIDE = """#include <bang.h>
__nram__ float a[32768];
__mlu_entry__ void Wide(float *out, int turns) {
  __bang_write_zero(a, 32768);
  for (int i = 0; i < turns; i++) __bang_add_scalar(a, a, 1.0f, 32768);
  __memcpy(out, a, 1024, NRAM2GDRAM);
}
"""


@pytest.mark.parametrize(("bytes_of_vectors", "engine"), [(VECTORS // 2, "python"), (VECTORS, "native")])
def test_large_vectors_make_a_launch_long(tmp_path, bytes_of_vectors, engine):
    (tmp_path / "wide.mlu").write_text(WIDE)
    device = mlusim.Device("MLU370-X4")
    given = device.empty(256, np.float32), LONG * bytes_of_vectors // (4 * 32768)
    launch = device.launch(bangc.load(tmp_path / "wide.mlu")["Wide"], args=given, observe=["initcheck"])

    assert engine == launch.engine


def test_a_kernel_that_was_long_is_checked_in_c_from_then_on(fresh):
    few = TRIED // 32  # floats, too few to try it
    engines = [launched(fresh, few, beyond=LONG, room=0, observe=["racecheck"]).engine for _ in range(2)]

    assert ["python", "native"] == engines


def test_a_kernel_that_is_short_is_tried_again_with_more_bytes_only(fresh, calls_of):
    many = []
    for count in (1000, 1000, 500, 2000):
        with calls_of(Screening.run) as tried:
            launched(fresh, count, beyond=1, observe=["racecheck"])
        many.append(len(tried))

    assert [1, 0, 0, 1] == many


CHANGING = """#include <bang.h>
__nram__ float a[1024];
__mlu_func__ int twice(int n) { return n * 2; }
__mlu_entry__ void Changing(float *out, const float *in, int n, int big, unsigned far, float wide) {
  __memcpy(a, in, 4096, GDRAM2NRAM);
  int s = 0;
  short small = 0;
  for (int i = 0; i < n; ++i) {
    s = big + i
      + i;
    small = big - i;
    s = twice(big) * 3;
    s = s << far;
    s = (int)(wide * i);
    s = -(-2147483647 - (i > 0));
    char c = s;
    s += c + (taskId == 1 ? big : 0);
  }
  for (char j = 100; j != -96; j += 20) s += 1;
  long long l = 0x7fffffffffffffffLL; l = l + big; l = l * n;
  unsigned long long u = l; s = u;
  out[taskId] = a[n] + small + s;
}
__mlu_entry__ void Smallest(float *out, const float *in, int n, int big) { out[0] = (-big - 48) / (n - 4); }
__mlu_entry__ void Racing(float *out, const float *in, int n) {
  __nram__ float b[256];
  for (int i = 0; i < n; ++i) {
    __memcpy_async(a, in, 256, GDRAM2NRAM);
    __bang_add(a + 128, a, a, 64);
    __sync();
  }
  if (n < 0) b[0] = 1;
  __memcpy(out + 64 * taskId, b, 256, NRAM2GDRAM);
}
"""


@pytest.fixture(scope="module")
def changing(tmp_path_factory):
    path = tmp_path_factory.mktemp("changing") / "changing.mlu"
    path.write_text(CHANGING)
    return bangc.load(path)


@pytest.mark.parametrize(("name", "engine"), [("Changing", "native"), ("Smallest", "python")])
def test_numbers_that_c_changes_are_told_from_its_own_run(changing, name, engine):
    """Each with the value, the place, the first task and the count of Python, but for a division that overflows."""
    told = []
    for asked in ("native", "python"):
        device = mlusim.Device("MLU370-X4")
        given = device.put(np.zeros(1024, np.float32)), device.put(np.ones(1024, np.float32))
        more = (3, 2147483600, 40, 2e9) if name == "Changing" else (3, 2147483600)
        launch = device.launch(changing[name], 2, args=(*given, *more), observe=["valuecheck"], engine=asked)
        told.append((launch.engine, launch.findings, device.get(given[0]).tobytes()))
    (ran, *native), (_, *python) = told

    assert engine == ran
    assert python == native
    assert launch.findings


def test_what_is_unwritten_leaves_the_rest_to_c(changing, calls_of):
    """Python runs the beginning of a task again, for initcheck alone; races on the core are those that C has seen."""
    told, heard = [], []
    for asked in ("native", "python"):
        device = mlusim.Device("MLU370-X4")
        given = device.put(np.zeros(1024, np.float32)), device.put(np.ones(1024, np.float32)), 5
        with calls_of(RaceCheck.task_begin, InitCheck.task_end) as calls:
            launch = device.launch(
                changing["Racing"], 2, args=given, observe=["racecheck", "initcheck"], engine=asked
            )
        told.append((launch.findings, device.get(given[0]).tobytes()))
        heard.append({type(call["self"]) for call in calls})

    assert [set(), {InitCheck, RaceCheck}] == heard
    assert told[0] == told[1]
    assert {"racecheck", "initcheck"} == {finding.id.partition("-")[0] for finding in launch.findings}


STORING = """#include <bang.h>
__nram__ float a[256];
__mlu_entry__ void Storing(float *out, const float *in, int kind) {
  float *same = (float *)in;
  __memcpy(a, in, 1024, GDRAM2NRAM);
  if (kind == 0) same[3] = a[1];
  if (kind == 1) __memcpy(same, a + 64, 256, NRAM2GDRAM);
  if (kind == 2) __memcpy_async(same, a + 64, 256, NRAM2GDRAM);
  if (kind == 3) __bang_atomic_reduce_add(same, a, 64);
  if (kind == 4) __gdramset(same, 64, 3);
  __sync();
  __memcpy(out, a, 1024, NRAM2GDRAM);
}
"""


def test_a_store_to_what_is_const_leaves_the_launch_to_python(tmp_path):
    """The bytes of what a kernel takes as const are not kept from before; C ends before they change."""
    (tmp_path / "storing.mlu").write_text(STORING)
    kernel = bangc.load(tmp_path / "storing.mlu")["Storing"]
    ran = []
    for kind in range(6):
        told = []
        for asked in ("native", "python"):
            device = mlusim.Device("MLU370-X4")
            given = device.put(np.zeros(256, np.float32)), device.put(np.arange(256, dtype=np.float32))
            launch = device.launch(kernel, args=(*given, kind), observe=["racecheck"], engine=asked)
            told.append((launch.engine, launch.findings, [device.get(one).tobytes() for one in given]))
        (engine, *native), (_, *python) = told
        assert python == native, kind
        ran.append(engine)

    assert ["python"] * 5 + ["native"] == ran


FOLLOWING = """#include <bang.h>
__mlu_entry__ void Following(float *out, long *places, int turns) {
  places[taskId] = (long)(out + 4);
  for (int i = 0; i < turns; ++i) { out[taskId] = i; }
  float *found = (float *)places[taskId];
  out[taskId] = found ? 1.0f : 2.0f;
}
"""


@pytest.mark.parametrize(("checker", "runs"), [("memcheck", 1), ("racecheck", 2)])
def test_a_run_that_a_pointer_ended_is_recorded_only_for_races(tmp_path, calls_of, checker, runs):
    """Where nothing looks for races there is no record, in front of which the values of small stores would be written."""
    (tmp_path / "following.mlu").write_text(FOLLOWING)
    kernel, device = bangc.load(tmp_path / "following.mlu")["Following"], mlusim.Device("MLU370-X4")
    out, places = device.put(np.zeros(8, np.float32)), device.put(np.zeros(4, np.int64))
    with calls_of(screen.Screen.begin) as begun:
        launch = device.launch(kernel, 4, args=(out, places, 5000), observe=[checker], engine="native")

    assert runs == len({id(call["self"]) for call in begun})
    assert () == tuple(launch.findings)
    assert [1.0] * 4 + [0.0] * 4 == device.get(out).tolist()
