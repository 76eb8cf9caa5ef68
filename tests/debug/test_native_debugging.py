"""The debugger on a kernel that C runs up to the place of interest: the same moments, bytes, faults and stops as in Python."""

import random

import numpy as np
import pytest
from debug_kernels import counting_program, staged_program
from debug_tools import console_on, place, refuses, says

import mlusim
from mlusim import bangc
from mlusim.debug import Position
from mlusim.debug.run.moments import Milestones
from mlusim.debug.run.runs import LaunchRun
from mlusim.debug.stop.stops import END
from mlusim.machine.hub import Observer
from mlusim.machine.native.build import available

pytestmark = pytest.mark.skipif(available() is None, reason="no C compiler")
SOURCE = """\
__nram__ float row[64];
__nram__ float other[64];
__mlu_shared__ float shared[64];
__mlu_global__ void K(float *out, const float *in, int rounds, int wrong) {
  for (int i = 0; i < rounds; i++) {
    __memcpy_async(row, in, 256, GDRAM2NRAM);
    if (coreId == 0x80) __memcpy_async(shared, in, 256, GDRAM2SRAM);
    __sync_cluster();
    __memcpy(other, shared, 256, SRAM2NRAM);
    __bang_add(row, row, other, 64);
    out[taskId] = out[taskId] + row[i];
    if (taskId == wrong) {
      __bang_add(row, row, other, 65);
    }
    __memcpy_async(other, row, 256, NRAM2NRAM);
    __sync();
  }
  if (coreId == 0x80) return;
  __bang_lock(0, 0);
  out[0] += 1;
  __bang_unlock(0, 0);
}
__mlu_global__ void B(float *out, const float *in, int rounds, int wrong) {
  for (int i = 0; i < rounds; i++) {
    __memcpy(row, in, 256, GDRAM2NRAM);
    __bang_add(row, row, row, taskId == wrong ? 65 : 64);
    out[taskId] = out[taskId] + row[i];
    __sync();
  }
}
__mlu_global__ void V(float *out, const float *in, int rounds, int wrong) {
  if (coreId == 0x80) return;
  for (int i = 0; i < rounds; i++) {
    __memcpy_async(row, in, 256, GDRAM2NRAM);
    __sync_io();
    __bang_add(row, row, row, 64);
    out[taskId] = out[taskId] + row[i] + out[0];
  }
}
__mlu_global__ void U(float *out) { out[0] = row[3]; }
__mlu_global__ void W(float *out, int from) {
  if (coreId == 0x80) return;
  __bang_printf("%d", taskId);
  if (taskId >= from) {
    out[taskId] = out[taskId] + 1;
    __bang_write_zero(row, 64);
    if (taskId == 13) __bang_add(row, row, row, 65);
  }
}
__mlu_global__ void R(float *out) {
  __bang_write_zero(row, 64);
  __sync();
  __memcpy_async(row, out, 256, GDRAM2NRAM);
  __bang_add(other, row, row, 64);
}
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """A kernel of unions, and one of Block tasks; translated once."""
    path = tmp_path_factory.mktemp("c") / "k.mlu"
    path.write_text(SOURCE)
    return bangc.load([path])


def _native(kernels, name="K", *, wrong=-1, beside=(), engine="auto"):
    def program(observe):
        kind = mlusim.UNION1 if name in "KV" else mlusim.BLOCK
        device = mlusim.Device("MLU370-X4")
        out, data = device.put(np.zeros(64, np.float32)), device.put(np.arange(64, dtype=np.float32))
        for rounds in (3, 9):
            device.launch(
                kernels[name],
                (16, 1, 1),
                kind,
                (out, data, rounds, wrong),
                observe=(*observe, *beside),
                engine=engine,
            )
        return device.get(out)

    return program


def _watched(recorded):
    """A run of the launch that is watched from the beginning to the end, with marks of its own."""
    kept, recorded.milestones = recorded.milestones, Milestones(0)
    run = LaunchRun(recorded)
    run.go(goal=Position(recorded.index, END))
    found, recorded.milestones = recorded.milestones, kept
    run.abandon()
    return run.tracer.moment, {mark.moment: mark for mark in found._marks}


@pytest.mark.parametrize("name", ["native", "apart", "python", "block", "staged"])
def test_marks_by_the_counters_are_those_of_a_watched_run(kernels, name):
    """The program's own run, of which nothing is announced, knows its moments by the counters of the cores."""
    programs = {
        "native": _native(kernels),
        "apart": _native(kernels, "V"),
        "python": _native(kernels, engine="python"),
        "block": lambda observe: counting_program(observe, tasks=9, rounds=4),
        "staged": lambda observe: staged_program(observe, tasks=8),
    }
    with console_on(programs[name]) as console:
        says(console, "run")
        last = console.session.launches[-1]
        assert (last.machine.native is not None) == (name in ("native", "apart"))
        moments, marks = _watched(last)
        known = last.milestones._marks
        assert last.moments == moments
        assert len(known) > 3
        assert [marks[mark.moment] for mark in known] == known
        assert {mark.members for mark in known} == ({*range(5)} if name == "apart" else {0})


@pytest.mark.parametrize("name", ["B", "V"])
def test_native_ways_lead_to_the_same_bytes(kernels, name):
    """C runs the groups of tasks before a moment, and of a union the cores that had ended; the machine is what it is from the beginning."""
    answers = [
        _walk(_native(kernels, name, engine=engine), native=engine == "auto") for engine in ("auto", "python")
    ]
    assert answers[0] == answers[1]


def _walk(program, *, native):
    """The state at moments all over the last launch, and what the console says on a way back from its end."""
    draw = random.Random(5)
    with console_on(program) as console:
        session = console.session
        says(console, "run")
        count = session.runs.moments(2)
        found = [count]
        for moment in [draw.randrange(count // 2, count) for _ in range(6)]:
            session.travel(Position(2, moment))
            found.append(session.digest())
            assert (session._run.machine.native is not None) == native
        commands = (
            "reverse-step",
            "reverse-stepi",
            "goto end",
            "reverse-stepi",
            "where",
            "print i",
            "reverse-next 3",
        )
        return found + [says(console, command) for command in commands]


def test_a_fault_of_c_has_its_frame(kernels):
    """The run in C tells that there is a fault; what is looked at is a run in Python that stands at it."""
    with console_on(_native(kernels, "B", wrong=6)) as console:
        text = says(console, "run")
        assert "task 6 in B at" in text
        assert place(console)[:2] == ("task 6", 26)
        assert says(console, "print i") == "i = 0"
        assert place(console) == (says(console, "reverse-stepi", "stepi") and place(console))
        assert "has ended with" in says(console, "continue")
        assert "has ended" in refuses(console, "continue")


def test_an_interrupt_of_c_stands_at_the_instruction(kernels):
    """Ctrl-C in a run of C stands behind the last instruction that had begun, and the program goes on from there."""

    class Press(Observer):
        between = True

        def task_end(self, core):
            if core.place.task == 5 and held and held[0].host.inside:
                held[0].interrupt()

    held = []
    with console_on(_native(kernels, "B", beside=(Press(),))) as console:
        held.append(console.session)
        assert says(console, "run").startswith("interrupted")
        assert place(console)[:2] == ("task 5", 27)
        assert "5 ended, 10 not begun" in says(console, "info tasks")
        says(console, "stepi", "reverse-stepi", "disable")
        held.clear()
        assert "the program has ended" in says(console, "continue")


def test_launches_in_which_nothing_can_stop_are_not_watched(kernels, calls_of):
    """C runs a launch that has none of the lines, and one in which it finds what no checker reports; a finding stops as ever."""

    def program(observe):
        device = mlusim.Device("MLU370-X4")
        out, data = device.put(np.zeros(64, np.float32)), device.put(np.arange(64, dtype=np.float32))
        for name, arguments in (("B", (out, data, 3, -1)), ("U", (out,)), ("B", (out, data, 2, -1))):
            device.launch(kernels[name], (4, 1, 1), mlusim.BLOCK, arguments, observe=observe)

    def watched(runs):
        return {run["recorded"].index for run in runs}

    with console_on(program) as console:
        with calls_of(LaunchRun.__init__) as runs:
            assert "initcheck" in says(console, "break finding initcheck", "run")
            assert console.session.position.launch == 2
            assert watched(runs) == {2}
            while not console.session.ended:
                says(console, "continue")
            assert watched(runs) == {2}
        says(console, "delete", "goto 2:end", "break U", "goto 1:begin")
        with calls_of(LaunchRun.__init__) as runs:
            assert "launch 2" in says(console, "continue", "info launch")
        assert watched(runs) == {2}


def test_a_finding_that_c_lets_checkers_tell_stops(kernels):
    def program(observe):
        device = mlusim.Device("MLU370-X4")
        device.launch(kernels["R"], args=(device.put(np.zeros(64, np.float32)),), observe=observe)

    with console_on(program) as console:
        assert "racecheck-read-after-write" in says(console, "break finding racecheck", "run")


STORE = 1 + SOURCE[: SOURCE.index("out[taskId] + 1;")].count("\n")
STOPS = {
    "a line": (f"break k.mlu:{STORE}", "run", "continue", "reverse-stepi", "continue", "continue"),
    "a task": (
        "break task 11",
        f"break k.mlu:{STORE} task 12",
        "run",
        "reverse-step",
        "continue",
        "continue",
    ),
    "an intrinsic of a task": ("break bang_write_zero task 10", "run", "stepi", "continue"),
    "a function": ("break W", "run", "continue 2", "reverse-continue"),
    "counted": (f"tbreak k.mlu:{STORE}", "ignore 1 3", "run", "continue"),
    "nowhere": (f"break k.mlu:{STORE} if 0", "run"),
}


@pytest.mark.parametrize("what", STOPS)
def test_c_runs_the_tasks_before_a_breakpoint(kernels, monkeypatch, calls_of, what):
    """It counts which task comes first to where one can stop; the stops, the way back and the fault are those of a run that is watched."""

    def program(observe):
        device = mlusim.Device("MLU370-X4")
        out = device.put(np.zeros(64, np.float32))
        for first in (99, 6):
            device.launch(kernels["W"], (16, 1, 1), mlusim.UNION1, (out, first), observe=observe)

    def walk():
        with console_on(program) as console, calls_of(LaunchRun.__init__) as runs:
            answers = []
            for command in STOPS[what]:
                answers += [console.execute(command).text, console.session.position, console.session.digest()]
            return answers, [run["ahead"] for run in runs]

    watched, made = walk()
    assert set(made) == {None}
    monkeypatch.setattr("mlusim.machine.engine.Engine.is_worth_compiling", lambda *_: True)
    answers, made = walk()
    assert answers == watched
    ahead = {"a function": None, "a task": (2, 4), "an intrinsic of a task": (2, 3)}.get(what, (1, 3))
    assert ahead in made
    assert ahead is not None or set(made) == {None}
