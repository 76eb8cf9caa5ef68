"""synccheck: which task waits where for which, on the line where it waits."""

import sys

import numpy as np
import pytest
from observe_tools import floats, found, line_of

import mlusim
from mlusim.bang import GDRAM2SRAM, float32, int32
from mlusim.errors import Fault
from mlusim.machine.hub import launched_from
from mlusim.machine.native.build import available

SYNC = ["synccheck"]
ENGINES = ["python"] if available() is None else ["python", "native"]
UNION = {"dim": (4, 1, 1), "kind": mlusim.UNION1}


def everybody_meets(mlu):
    mlu.sync_cluster()
    if mlu.is_mpu():
        return
    mlu.sync_all_ipu()


def memory_core_leaves(mlu):
    if mlu.is_mpu():
        return
    mlu.sync_all_ipu()
    mlu.sync_cluster()  # here


def one_task_returns(mlu):
    mlu.sync_all()
    if mlu.taskId == 2 and mlu.is_ipu():
        return
    mlu.sync_all()  # here


def different_barriers(mlu):
    if mlu.is_mpu():
        mlu.sync_cluster()  # here
    else:
        mlu.sync_all_ipu()
        if mlu.taskId:
            mlu.sync_all_ipu()
        else:
            mlu.sync_cluster()


def mutex_never_given_back(mlu):
    if mlu.is_mpu():
        return
    mlu.bang_lock(1, 1)  # here


FAULTS = (
    (memory_core_leaves, "synccheck-memory-core-left"),
    (one_task_returns, "synccheck-early-return"),
    (different_barriers, "synccheck-divergence"),
    (mutex_never_given_back, "synccheck-stuck"),
)


@pytest.mark.parametrize(("body", "rule"), FAULTS, ids=lambda v: getattr(v, "__name__", v))
def test_barriers_that_cannot_complete(body, rule):
    """The rule, and the line where a task waits."""
    (finding,) = found(body, observe=SYNC, **UNION)

    assert rule == finding.id
    assert line_of(body, "# here") in {finding.line, *(place.line for place in finding.places)}
    assert finding.hint


def test_the_finding_says_what_the_absent_one_passed_last():
    """Task 2 met the others once, at the first barrier, and then left."""
    (finding,) = found(one_task_returns, observe=SYNC, **UNION)
    first = one_task_returns.__code__.co_firstlineno + 1

    assert ["task 2"] == finding.facts["absent"]
    assert f"{__file__.rsplit('/', 1)[1]}:{first}: task 2 passed __sync_all here last" in [
        str(p).rsplit("/", 1)[1] for p in finding.places
    ]


def test_barriers_that_everybody_reaches_are_silent():
    """Different barriers for memory cores and IPU cores, the same for all of one kind."""
    assert () == found(everybody_meets, observe=SYNC, **UNION)


def test_a_barrier_of_the_cluster_in_a_block_task_meets_nobody():
    """It is a plain sync there: said once, with how often; a barrier of all is common style and silent."""

    def lonely(mlu):
        mlu.sync_cluster()
        mlu.sync_all()

    (finding,) = found(lonely, observe=SYNC, dim=(3, 1, 1))

    assert ("synccheck-block-cluster", 3) == (finding.id, finding.count)
    assert lonely.__code__.co_firstlineno + 1 == finding.line


def test_faults_of_memory_are_others_business():
    """No word is said of an access out of bounds."""

    def overrun(mlu, src):
        mlu.memcpy(mlu.shared(float32, 1), src, 8, GDRAM2SRAM)

    assert () == found(overrun, floats(2), observe=SYNC, **UNION)


def test_polling_that_ends_is_not_stuck():
    """A flag that another task sets sooner or later."""

    def wait_for_flag(mlu, flag):
        if mlu.is_mpu():
            return
        old = mlu.nram(int32, 1)
        if mlu.taskId == 3:
            mlu.bang_atomic_reduce_exch(flag, 1, 1)
            return
        while True:
            mlu.bang_atomic_add(old, flag, 0, 1)
            if old[0]:
                break

    assert () == found(wait_for_flag, np.zeros(1, np.int32), observe=SYNC, **UNION)


@pytest.mark.parametrize("gives_back", [True, False])
def test_a_mutex_that_is_held_at_the_end_is_told_where_it_was_taken(gives_back):
    """Who takes it next would wait without end.  Where the host of a native program tells it, the launch is named."""

    def count(mlu):
        if mlu.is_ipu() and mlu.taskId == 2:
            mlu.bang_lock(1, 1)  # here
            if gives_back:
                mlu.bang_unlock(1, 1)

    with launched_from(lambda: "lab.mlu:10 in main"):
        findings = found(count, observe=SYNC, **UNION)

    assert all(("launched at lab.mlu:10 in main",) == one.context for one in findings)
    assert [("synccheck-mutex-held", line_of(count, "# here"), 2)] * (not gives_back) == [
        (f.id, f.line, f.task) for f in findings
    ]


FIRST = "task 0, memory core of cluster 0"  # both have the number 0
RETURNS = """\
__mlu_func__ bool odd(int n) { if (n & 1) return true; return false; }
__mlu_entry__ void K(int *out, int how) {
  if (how == 0 && taskId == 1)
    return;  // 0
  for (int i = 0; i < 4; ++i) {
    if (how == 1 && taskId == i && odd(taskId))
      return;  // 1
    while (how == 2) { if (taskId > 1 && i == 3) return; else break; }  // 2
  }
  switch (how) { case 3: if (taskId == 0) return; break; default: break; }  // 3
  if (how != 4 || taskId)
    __sync_cluster();
  out[taskId] = 1;
}  // 4
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("checkers", [["synccheck"], ["synccheck", "valuecheck"]], ids="-".join)
@pytest.mark.parametrize(("how", "who"), list(enumerate(("task 1", "task 1", "task 2", FIRST, FIRST))))
def test_a_return_before_a_barrier_is_named(tmp_path, checkers, how, who, engine):
    """The line at which a task that is missing left the kernel: out of loops, too, and at its end."""
    (tmp_path / "k.mlu").write_text(RETURNS)
    kernel = mlusim.bangc.load(tmp_path / "k.mlu")["K"]
    device = mlusim.Device()
    arguments = [device.empty(4, "int32"), how]
    with pytest.raises(Fault) as caught:
        device.launch(kernel, (4, 1, 1), mlusim.UNION1, arguments, observe=checkers, engine=engine)
    (finding,) = caught.value.findings
    line = next(n for n, text in enumerate(RETURNS.splitlines(), 1) if text.endswith(f"// {how}"))

    assert "synccheck-early-return" == finding.id
    assert [(line, f"{who} returned here")] == [
        (p.line, p.message) for p in finding.places if "returned" in p.message
    ]
    assert finding.places[0].file.endswith("k.mlu")
    assert sys.getprofile() is None


HELPERS = """\
struct Share {
  template <typename T> __mlu_func__ void go(T *out, int n) {
    if (n == 0) return;  // 0
    __sync_cluster(); out[taskId] = 1; } };
template <typename T> __mlu_func__ void inner(T *out, int n) {
  if (n == 0)
    return;  // 1
  __sync_cluster();
}
__mlu_func__ void outer(int *out, int n) { inner(out, n); out[taskId] = n; }
__mlu_func__ int skips(int turn) { if (turn & 1) return 1; __sync_cluster(); return 0; }
__mlu_entry__ void K(int *out, int how) {
  if (how == 0) { Share s; s.go(out, taskId); }
  if (how == 1) outer(out, taskId);
  if (how == 2) { auto meet = [&](int n) { if (n == 0) return; __sync_cluster(); }; meet(taskId); }  // 2
  for (int turn = 0; turn < 4; ++turn) {
    if (how == 3 && turn == 2 && taskId == 1)
      return;  // 3
    if (how >= 3) skips(turn);
  }
  out[taskId] = 1;
}
"""
LEFT = (
    f"{FIRST} returned from go here, called by K at line 13",
    f"{FIRST} returned from inner<int> here, called by outer at line 10",
    f"{FIRST} returned from lambda:15 here, called by K at line 15",
    "task 1 returned here",
)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_return_of_a_function_below_the_kernel_is_named(tmp_path, engine):
    """The `return` by which a task left it, with its caller; ways out that all tasks take are not."""
    (tmp_path / "k.mlu").write_text(HELPERS)
    kernel = mlusim.bangc.load(tmp_path / "k.mlu")["K"]
    device = mlusim.Device()
    for how, text in enumerate(LEFT):
        arguments = [device.empty(4, "int32"), how]
        with pytest.raises(Fault) as caught:
            device.launch(kernel, (4, 1, 1), mlusim.UNION1, arguments, observe=SYNC, engine=engine)
        (finding,) = caught.value.findings
        line = next(n for n, t in enumerate(HELPERS.splitlines(), 1) if t.endswith(f"// {how}"))

        returned = [(p.line, p.message) for p in finding.places if "returned" in p.message]
        assert (line, text) == returned[0]
        assert "synccheck-early-return" == finding.id
        assert sys.getprofile() is None
    arguments = [device.empty(4, "int32"), 4]
    device.launch(kernel, (4, 1, 1), mlusim.UNION1, arguments, observe=SYNC, engine=engine)
    assert sys.getprofile() is None


def test_a_kernel_without_a_function_of_its_own_leaves_no_profile_behind():
    """What is waited for at the begin of a task ends with it, in a fault, too."""

    class Body:
        __name__, __code__ = "body", one_task_returns.__code__

        def __call__(self, _mlu, dst):
            dst[0] = 1.0

    for values in (np.ones(1, np.float32), np.ones(1, np.int32)):
        found(mlusim.bang.kernel(Body()), values, observe=SYNC)
        assert sys.getprofile() is None


def share(mlu, last):
    """Meet the others, but for the task *last*."""
    if mlu.taskId == last:
        return  # leaves
    mlu.sync_all_ipu()


def test_a_return_of_a_function_in_python_is_named():
    """The first that the waiting ones did not take; the barrier of the kernel let the task pass once more."""

    def again(mlu):
        share(mlu, 1)

    def kernel(mlu):
        if mlu.is_ipu():
            again(mlu)
            mlu.sync_all_ipu()

    (finding,) = found(kernel, observe=SYNC, **UNION)

    assert (line_of(share, "# leaves"), "task 1 returned from share here, called by again") == (
        finding.places[0].line,
        finding.places[0].message.partition(" at ")[0],
    )


def test_a_return_of_a_kernel_in_python_is_named():
    """Python keeps the line at which a frame has ended."""
    (finding,) = found(one_task_returns, observe=SYNC, **UNION)

    assert [one_task_returns.__code__.co_firstlineno + 3] == [
        p.line for p in finding.places if "returned here" in p.message
    ]
