"""Loops of BANG C that look at memory again and again: those that end do, and of those that cannot it is said, on both engines."""

import shlex

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from engines import NATIVE, alike

import mlusim
from mlusim.engine.contract import PATIENCE
from mlusim.errors import Deadlock, Fault
from mlusim.machine.hub import Observer
from mlusim.machine.native.build import CHOICE, available

LOOKS = {
    "atomic": "__bang_atomic_or(old, flag, 0, 1); seen = old[0];",
    "copy": "__memcpy(old, flag, 4, GDRAM2NRAM); seen = old[0];",
    "function": "seen = looked(flag);",
}
COUNTS = {  # how a loop counts, and how often it looks in each turn
    "local": "for (int i = 0; i < {many}; ++i) {{ {look} if (seen) return; }}",
    "pointed": "int i = 0; for (count(&i); i < {many}; count(&i)) {{ {look} if (seen) return; }}",
    "member": "Turns turns; while (turns.made++ < {many}) {{ {look} if (seen) return; }}",
    "memory": "kept[0] = 0; while (kept[0] < {many}) {{ kept[0] += 1; {look} if (seen) return; }}",
    "deeper": "for (int i = 0; i < {many} / 4; ++i) {{ for (int k = 0; k < 4; ++k) {{ {look} }} if (seen) return; }}",
}
SOURCE = """\
struct Turns {{ int made = 0; }};
__nram__ int old[16];
__nram__ int kept[16];
__mlu_func__ void count(int *at) {{ *at += 1; }}
__mlu_func__ int looked(int *flag) {{ __bang_atomic_or(old, flag, 0, 1); return old[0]; }}

__mlu_global__ void looks(int *flag, int *out) {{
  int seen = 0;
  {loop}
  out[taskId] = 1;
}}
"""


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("look", ["atomic", "function"])
def test_a_loop_that_counts_its_turns_ends(load_once, counts, look):
    """However it counts: what moves to its end is not stuck, though no task changes what it looks at."""
    loop = COUNTS[counts].format(look=LOOKS[look], many=3000)
    out = np.zeros(2, np.int32)

    alike(load_once(SOURCE.format(loop=loop))["looks"], (np.zeros(1, np.int32), out), dim=(2, 1, 1))


@pytest.mark.parametrize("look", LOOKS)
def test_a_loop_that_only_looks_is_a_deadlock(load_once, look):
    """However it looks, with a loop inside that ends each time."""
    loop = f"while (!seen) {{ for (int k = 0; k < 3; ++k) {{ {LOOKS[look]} }} }}"

    fault = alike(
        load_once(SOURCE.format(loop=loop))["looks"],
        (np.zeros(1, np.int32), np.zeros(2, np.int32)),
        dim=(2, 1, 1),
    )

    assert isinstance(fault, Deadlock)
    assert "; task 1 spins at line " in str(fault)


READS = """\
__mlu_func__ int read(const int *from, int at) { return from[at]; }

__mlu_global__ void sums(const int *from, int *out, int many) {
  int sum = 0;
  for (int i = 0; i < many; ++i) sum += read(from, i % 4);
  out[taskId] = sum;
}

__mlu_global__ void waits(const int *from, int *out, int many) {
  int sum = 0;
  while (!sum) for (int i = 0; i < many; ++i) sum |= from[i];
  out[taskId] = sum;
}
"""


@pytest.fixture
def board():
    """Return a board whose kernels run in C."""
    return mlusim.Device("MLU370-X4")


def test_millions_of_loads_of_the_same_elements_are_work(load_once, board):
    """A sum over four elements again and again changes nothing that tasks share, and comes to its end."""
    out = board.put(np.zeros(2, np.int32))

    board.launch(
        load_once(READS)["sums"], dim=2, args=(board.put(np.arange(4, dtype=np.int32)), out, 2_000_000)
    )

    assert [3_000_000] * 2 == board.get(out).tolist()


def test_loads_that_wait_for_no_task_are_a_deadlock(load_once, board):
    """Three flags in turn that no task raises."""
    flags, out = board.put(np.zeros(3, np.int32)), board.put(np.zeros(2, np.int32))

    with pytest.raises(Deadlock, match=r"task 0 spins at .*task 1 spins at"):
        board.launch(load_once(READS)["waits"], dim=2, args=(flags, out, 3))


@pytest.mark.skipif(available() is None, reason="there is no compiler")
@pytest.mark.parametrize("look", ["seen = flag[0];", LOOKS["atomic"], LOOKS["copy"]])
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_a_wait_in_vain_is_told_however_c_is_compiled(load, monkeypatch, look, level):
    """Without optimisation, as for a debugger, the engine's own numbers are on C's stack, too; none of them grows with each look."""
    monkeypatch.setenv(CHOICE, shlex.join((*available(), level)))
    loop = f"while (!seen) {{ {look} }}"

    fault = alike(
        load(SOURCE.format(loop=loop))["looks"],
        (np.zeros(1, np.int32), np.zeros(2, np.int32)),
        dim=(2, 1, 1),
    )

    assert isinstance(fault, Deadlock)


ADDS = """\
__nram__ float box[4];
__nram__ float sum[16];
__mlu_global__ void adds(const float *boxes, float *out, int many) {
  __bang_write_value(sum, 16, 0.1f + 1e6f * taskId);
  for (int i = 0; i < many; ++i) {
    __memcpy(box, boxes + i / 8 * 4, 16, GDRAM2NRAM);
    __bang_mul_scalar(sum, sum, box[0], 16);
    __bang_atomic_reduce_add(out, sum, 16);
  }
}
__mlu_global__ void tells(int *flag) {
  __nram__ int seen[16];
  seen[0] = 0;
  for (int i = 0; taskId == 0 && !seen[0]; ++i) { __memcpy(seen, flag, 4, GDRAM2NRAM); flag[1] = i; }
  if (taskId == 1) { flag[0] = 1; }
}
"""


def test_a_task_that_reads_again_and_works_keeps_its_turn(load_once, board):
    """Float sums have the bits of the order of tasks, for an input that was lent and for a copy of it."""
    boxes, many, tasks = np.linspace(0.99, 1.01, 64, dtype=np.float32), 128, 4
    expected, sums = np.float32(0), []
    for task in range(tasks):
        added = np.float32(0.1) + np.float32(1e6) * np.float32(task)
        for turn in range(many):
            added = added * boxes[turn // 8 * 4]
            expected += added
    for given in (board.share(boxes), board.put(boxes)):
        out = board.put(np.zeros(16, np.float32))
        board.launch(load_once(ADDS)["adds"], dim=tasks, args=(given, out, many))
        sums.append(board.get(out).tolist())

    assert [[expected] * 16] * 2 == sums


def test_a_task_that_tells_that_it_waits_lets_others_go_on(load_once):
    """It stores between its looks, as one that works does; the task that it waits for has its turn all the same."""
    launch = alike(load_once(ADDS)["tells"], (np.zeros(2, np.int32),), dim=(2, 1, 1))

    assert PATIENCE <= launch.instructions["__memcpy"] < 2 * PATIENCE


UNSET = """\
__mlu_shared__ int flag[16];
__mlu_global__ void waits(int *out) {
  if (__is_mpu()) return;
  if (taskId == 3) while (flag[0] != 1);
  out[taskId] = 1;
}
"""


class Accesses(Observer):
    """Counts what is announced of scalar accesses and instructions."""

    made = 0

    def effect(self, effect):
        """Count it."""
        del effect
        self.made += 1


def test_a_wait_for_what_nobody_stores_is_told_soon_where_it_is_observed(load_once, board):
    """The same sentence as without initcheck, after some thousand loads: each is announced, and followed."""
    kernel, said, accesses = load_once(UNSET)["waits"], [], Accesses()
    for observe in ((), ("initcheck", accesses)):
        with pytest.raises(Deadlock) as caught:
            board.launch(kernel, 4, mlusim.UNION1, (board.empty(4, np.int32),), observe=observe)
        said.append(str(caught.value))

    assert said[0] == said[1]
    assert "initcheck-undefined-scalar" in [f.id for f in caught.value.findings]
    assert 1 < accesses.made < 10_000


STEPS = """\
__nram__ int steps[16];
__nram__ int one[1];
__nram__ int old[1];
__mlu_func__ int looked(int *flag) { __bang_atomic_or(old, flag, 0, 1); return old[0]; }

__mlu_global__ void acts(const int *programs, int *flags, int *out, int many) {
  if (__is_mpu()) return;
  __memcpy(steps, programs + taskId * 16, 64, GDRAM2NRAM);
  one[0] = 1;
  for (int i = 0; i < many; ++i) {
    const int which = steps[2 * i + 1];
    switch (steps[2 * i]) {
      case 0: __bang_atomic_exch(old, flags + which, 1, 1); break;
      case 1: __memcpy(flags + which, one, 4, NRAM2GDRAM); break;
      case 2: __memcpy_async(flags + which, one, 4, NRAM2GDRAM); break;
      case 3: while (!looked(flags + which)) {} break;
      case 4: do __memcpy(old, flags + which, 4, GDRAM2NRAM); while (!old[0]); break;
      case 5: while (!flags[which]) {} break;
      case 6: for (int k = 0; k < 50 && !looked(flags + which); ++k) {} break;
      case 7: __bang_lock(which, which); out[4] += 1; __sync(); __bang_unlock(which, which); break;
      case 8: __bang_lock(which, which); break;
    }
  }
  out[taskId] = 1;
}
"""
RAISES, WAITS, KEEPS = (0, 1, 2), (3, 4, 5), 8
TASKS, MANY = 4, 5


def ending(programs):
    """Return the tasks that come to their ends: a flag, once raised, stays so, and no mutex is kept."""
    raised, at = set(), [0] * TASKS
    while True:
        before = list(at)
        for task, program in enumerate(programs):
            while at[task] < MANY and (program[at[task]][0] not in WAITS or program[at[task]][1] in raised):
                what, which = program[at[task]]
                raised |= {which} if what in RAISES else set()
                at[task] += 1
        if before == at:
            return [task for task in range(TASKS) if at[task] == MANY]


def given(programs):
    """Return the arguments of the kernel that acts by *programs*."""
    steps = np.zeros((TASKS, 16), np.int32)
    for row, program in zip(steps, programs, strict=True):
        row[: 2 * MANY] = np.ravel(program)
    return steps, np.zeros(4, np.int32), np.zeros(8, np.int32), MANY


@hypothesis.settings(max_examples=60, deadline=None, derandomize=True)
@hypothesis.given(
    programs=st.lists(
        st.lists(st.tuples(st.integers(0, 8), st.integers(0, 3)), min_size=MANY, max_size=MANY),
        min_size=TASKS,
        max_size=TASKS,
    ),
    union=st.booleans(),
    checked=st.booleans(),
)
def test_tasks_that_wait_for_each_other_end_or_are_told_alike(load_once, programs, union, checked):
    """A deadlock is told if, and only if, some task can come no further, of just those tasks, and by both engines in the same sentence."""
    kernel, how = load_once(STEPS)["acts"], {"dim": (TASKS, 1, 1)}
    how |= {"kind": mlusim.UNION1} if union else {}
    how |= {"observe": ["synccheck"]} if checked else {}
    outcomes = []
    for engine in ("python", NATIVE):
        device = mlusim.Device("MLU370-X4")
        arguments = [device.put(a) if isinstance(a, np.ndarray) else a for a in given(programs)]
        try:
            launch = device.launch(kernel, args=arguments, engine=engine, **how)
            spins, told = (), (launch.findings, launch.instructions, launch.time_us)
        except Fault as fault:
            spins, told = getattr(fault, "spins", ()), (str(fault), fault.task, fault.findings)
        outcomes.append(
            ([label for label, *_ in spins], told, [device.get(a).tolist() for a in arguments[1:3]])
        )

    assert outcomes[0] == outcomes[1]
    if not any(what == KEEPS for program in programs for what, _ in program):
        ended = ending(programs)
        assert [f"task {task}" for task in range(TASKS) if task not in ended] == outcomes[0][0]
        assert [task in ended for task in range(TASKS)] == outcomes[0][2][1][:TASKS]


def test_the_first_of_those_that_wait_is_told_of(load_once):
    """However many wait, and whichever was found last: the fault is that of the first."""
    for many in range(1, TASKS + 1):
        programs = [[(3 if task < many else 6, 0)] * MANY for task in range(TASKS)]
        fault = alike(load_once(STEPS)["acts"], given(programs), dim=(TASKS, 1, 1))
        assert isinstance(fault, Deadlock)
        assert (0, many) == (fault.task, len(fault.spins))


def test_a_copy_in_flight_lands_before_no_task_can_go_on(load_once):
    """The task that has issued it waits for another one, which waits for the copy: a card ends it, though no task waits for it."""
    programs = [[(2, 0), (5, 1), (6, 2), (6, 2), (6, 2)], [(4, 0), (1, 1), (6, 2), (6, 2), (6, 2)]]

    launch = alike(load_once(STEPS)["acts"], given([*programs, *programs]), dim=(2, 1, 1))

    assert NATIVE == launch.engine


def test_a_copy_in_flight_lands_at_the_same_moment_on_both_engines(load_once):
    """A task polls its own copy: it looks equally often, whatever C's stack has beside its variables."""
    programs = [[(7, 3), (1, 2), (0, 3), (2, 1), (5, 1)]]
    programs += [[(0, 0), (0, 0), (0, 2), (5, 0), (0, 2)], [(0, 3), (0, 3), (0, 3), (6, 0), (0, 2)]]
    programs += [[(0, 3), (3, 3), (3, 3), (0, 0), (0, 3)]]

    launch = alike(load_once(STEPS)["acts"], given(programs), dim=(TASKS, 1, 1))

    assert NATIVE == launch.engine


LATER = """\
__mlu_global__ void counts(int *flag, int *out, int many) {
  __nram__ int left[1];
  __nram__ int old[1];
  left[0] = many;
  if (taskId % 2) while (left[0]) { __bang_atomic_or(old, flag, 0, 1); left[0] -= 1; }
  __bang_write_value(old, 1, taskId + 1);
  __memcpy(out + taskId, old, 4, NRAM2GDRAM);
}
"""


@pytest.mark.parametrize("tasks", [2, 6, 40])
def test_a_later_task_of_a_row_calls_first(load_once, tasks):
    """C has run tasks of which Python has not heard when one polls: each runs once, and what it counts in its own array is looked at."""
    for _ in range(2):  # the second launch knows the arrays of the first
        launch = alike(
            load_once(LATER)["counts"],
            (np.zeros(1, np.int32), np.zeros(tasks, np.int32), 300),
            dim=(tasks, 1, 1),
        )
        assert 300 * (tasks // 2) == launch.instructions["__bang_atomic_or"]
