"""Launches of a script in other threads and processes: the ones are checked, the others counted."""

import threading

import pytest

from mlusim.check.checking import check_script

SCRIPT = """
import os, sys, threading
from concurrent.futures import ThreadPoolExecutor
import mlusim
from mlusim.bang import NRAM2GDRAM, float32, kernel

@kernel
def forgets(mlu, dst):
    mlu.memcpy(dst, mlu.nram(float32, 8), 32, NRAM2GDRAM)

@kernel
def faults(mlu, dst):
    mlu.memcpy(dst, mlu.nram(float32, 8), 3200, NRAM2GDRAM)

def launch(body=forgets):
    device = mlusim.Device()
    device.launch(body, args=(device.empty(8, float32),))

def by_threads(body=forgets):
    threads = [threading.Thread(target=launch, args=(body,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

def by_a_pool():
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(launch, [forgets] * 3))

def unwaited_for():
    threading.Thread(target=launch).start()

def by_a_fork():
    if (child := os.fork()) == 0:
        launch()
        launch()
        os._exit(0)
    os.waitpid(child, 0)

"""


def checked(tmp_path, call):
    """The script under all checkers, which ends with *call*."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT + call)
    return check_script(str(path))


@pytest.mark.parametrize(
    ("call", "launches"), [("by_threads()", 3), ("by_a_pool()", 3), ("unwaited_for()", 1)]
)
def test_threads_of_a_script_are_checked(tmp_path, call, launches):
    """Side by side or not, with nothing that waits for them: as if they were launched one after the other."""
    done = checked(tmp_path, call)

    assert (launches, "") == (done.launches, done.problem)
    assert launches == sum(f.count for f in done.findings)
    assert {"initcheck-undefined-stored"} == {f.id for f in done.findings}
    assert threading.getprofile() is None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_fault_in_a_thread_is_a_finding(tmp_path):
    """Though the thread's error ends nothing but the thread."""
    done = checked(tmp_path, "by_threads(faults)")

    assert 3 == done.faults
    assert {"memcheck-out-of-bounds"} == {f.id for f in done.findings}


def test_launches_of_a_forked_process_are_counted_and_named(tmp_path):
    """Their findings are lost with the process, so that the check is not clean."""
    done = checked(tmp_path, "by_a_fork()")

    assert 0 == done.launches
    assert "it launched kernels in other processes, which are not checked: forgets 2 times" in done.problem
