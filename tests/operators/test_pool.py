"""Work on executors: what comes back, in which state, and what becomes of processes that die."""

import os
import platform
import resource
import signal
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import active_children, get_context
from pathlib import Path

import numpy as np
import pytest

from mlusim.engine.preference import asked_threads, on_threads, preferred, preferring
from mlusim.errors import UsageError
from mlusim.machine.limits import Limit, limit_of, limiting
from mlusim.operators import executors
from mlusim.operators.campaign import spread
from mlusim.operators.executors import WorkerDied, carried


def work(job):
    """Double a number, raise for an odd one, and take the process along for 100."""
    if job == 100:
        os._exit(1)
    if job % 2:
        raise ValueError(f"{job} is odd")
    return 2 * job


def settings(_):
    """The limit, the engine and the threads of launches here."""
    return str(limit_of(None)), preferred(), asked_threads()


def outcomes(ended):
    """What became of each position."""
    return {index: future.exception() or future.result() for index, future in ended}


def plain(found):
    """Results as they are, errors by type and words."""
    return {key: v if isinstance(v, int) else (type(v).__name__, str(v)) for key, v in found.items()}


JOBS = [2, 3, 4, 6]
EXPECTED = {0: 4, 1: ("ValueError", "3 is odd"), 2: 8, 3: 12}


def test_in_this_process_one_comes_after_the_other():
    """An error is an outcome, not the end."""
    found = carried(work, JOBS)

    assert [0, 1, 2, 3] == [index for index, _ in found]
    assert EXPECTED == plain(outcomes(carried(work, JOBS)))


def test_any_executor_gives_the_same_outcomes():
    """Processes of our own, threads and a caller's processes."""
    with ThreadPoolExecutor(2) as threads:
        on_threads = plain(outcomes(carried(work, JOBS, executor=threads)))

    assert EXPECTED == on_threads
    assert EXPECTED == plain(outcomes(carried(work, JOBS, workers=2)))


def test_launches_elsewhere_are_as_in_the_block():
    """The limit, the engine and the threads of the caller hold in threads and processes too."""
    asked = Limit(instructions=7)
    with limiting(asked), preferring("native"), on_threads(3), ThreadPoolExecutor(1) as threads:
        found = [
            outcomes(carried(settings, JOBS[:1], **where))[0]
            for where in ({}, {"executor": threads}, {"workers": 1})
        ]

    assert [(str(asked), "native", 3)] * 3 == found


def pages_touched(nbytes):
    """How many pages of memory the system gives for an array, when one of the size has been freed before."""
    counts = [resource.getrusage(resource.RUSAGE_SELF).ru_minflt]
    for _ in range(2):
        np.ones(nbytes, np.uint8)
        counts.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
    return counts[2] - counts[1]


def test_processes_keep_what_they_free():
    """The next array takes the memory of the last one, which ``malloc`` would have given back: 768 pages."""
    (ended,) = carried(pages_touched, [3 << 20], workers=1)

    assert platform.libc_ver()[0] != "glibc" or ended[1].result() < 100


def test_a_process_that_dies_names_its_job_and_the_rest_goes_on():
    """What dies once more alone ends in `WorkerDied`; what only ran beside it has its result."""
    found = outcomes(carried(work, [2, 100, 4, 6, 8], workers=2))

    assert {0: 4, 2: 8, 3: 12, 4: 16} == {index: v for index, v in found.items() if index != 1}
    assert isinstance(found[1], WorkerDied)
    assert "the process that ran 100 has died" in str(found[1])
    assert [] == active_children()


def test_what_a_broken_executor_loses_runs_in_processes_of_our_own():
    """A caller's pool is broken for good once a process of it died."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        found = outcomes(carried(work, [100, 2, 4], executor=pool))

    assert isinstance(found[0], WorkerDied)
    assert {1: 4, 2: 8} == {index: v for index, v in found.items() if index != 0}


def test_a_campaign_says_which_case_its_process_died_of():
    """There the first accident ends all; the sentence says what to do."""
    with pytest.raises(
        UsageError, match="the process that ran 100 has died, and again .*; run it while the machine is free"
    ):
        spread(work, [2, 100], 2)


def test_leaving_early_gives_up_what_has_not_started():
    """Closing the iterator cancels what waits on a caller's executor."""
    gate, ran = threading.Event(), []

    def slow(job):
        if job:
            gate.wait()
        ran.append(job)

    with ThreadPoolExecutor(1) as threads:
        ended = carried(slow, [0, 1, 2, 3], executor=threads)
        first, _ = next(ended)
        ended.close()  # 1 waits for the gate, or has not started; 2 and 3 wait for 1
        gate.set()

    assert 0 == first
    assert ran in ([0], [0, 1])


def test_leaving_early_ends_our_own_processes():
    """Nothing of ours goes on behind the caller's back."""
    ended = carried(work, [2, 4, 6, 8], workers=2)
    next(ended)
    ended.close()
    for process in active_children():
        process.join(30)

    assert [] == active_children()


UNGUARDED = """
from mlusim.operators.campaign import Job
from mlusim.operators.sweep import sweep

list(sweep([Job("tin_shift_forward", case, "MLU370-X4") for case in ("jobs_33", "jobs_49")], workers=2))
"""


def test_a_script_without_a_guard_is_told_so(tmp_path):
    """Its processes would begin the sweep again; it ends at once, in a sentence."""
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=300)

    assert 1 == done.returncode
    said = "mlusim.errors.UsageError: processes of this program die as they start; put what the program does under"
    # Behind it, Python may warn of semaphores of the processes that died.
    assert any(line.startswith(said) for line in done.stderr.splitlines())


def endless(begun):
    """Say that it has begun, and say where it is when it is interrupted."""
    try:
        Path(begun).write_text("begun", encoding="ascii")
        while True:
            pass
    except KeyboardInterrupt as stop:
        stop.add_note("at here")
        raise


def test_the_interrupt_key_tells_where_the_processes_were(tmp_path, monkeypatch):
    """The key is this process's alone; those of the pool are asked, say so, and are gone."""
    monkeypatch.setattr(executors, "GRACE", 60.0)
    usual = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # ignored in what a shell runs behind itself
    begun = tmp_path / "begun"
    os.mkfifo(begun)

    def press():
        begun.read_text(encoding="ascii")
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    with pytest.raises(KeyboardInterrupt) as stopped:
        list(carried(endless, [str(begun)], workers=1))
    signal.signal(signal.SIGINT, usual)
    for process in active_children():
        process.join(30)

    assert ["at here"] == stopped.value.__notes__
    assert [] == active_children()
