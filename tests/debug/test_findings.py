"""Breakpoints at what checkers find: whenever they are set, and whenever it is found."""

import numpy as np
import pytest
from debug_kernels import COUNT, line, unwritten_program
from debug_tools import console_on, refuses, says

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, Mlu, Ptr, float32, kernel


@kernel
def clashing(mlu: Mlu, out: Ptr, data: Ptr) -> None:
    """Every task stores to the same place."""
    buffer = mlu.nram(float32, COUNT)
    mlu.memcpy(buffer, data, COUNT * 4, GDRAM2NRAM)
    mlu.memcpy(out, buffer, COUNT * 4, NRAM2GDRAM)


@kernel
def early(mlu: Mlu) -> None:
    """One task leaves before the barrier."""
    if mlu.taskId != 2:
        mlu.sync_all()


def clashing_program(observe):
    """Two launches, both of which clash."""
    device = mlusim.Device("MLU370-X4")
    data, out = device.put(np.ones(COUNT, np.float32)), device.empty(COUNT, float32)
    for _ in range(2):
        device.launch(clashing, 2, mlusim.BLOCK, (out, data), observe=observe)


def early_program(observe):
    """A barrier that is never complete."""
    mlusim.Device("MLU370-X4").launch(early, 4, mlusim.UNION1, observe=observe)


@pytest.mark.parametrize(
    "before", [["start"], ["break bang_add_scalar", "run", "delete"], ["goto begin"], []]
)
def test_a_breakpoint_at_findings_that_is_set_later(before):
    """The run that has begun had no checkers; the breakpoint stops all the same."""
    with console_on(unwritten_program) as console:
        says(console, *before, "info pipes", "break finding initcheck")

        assert "initcheck-undefined-stored" in says(console, "c")
        assert line("unwritten-store") == console.session.site()[1]


def test_what_is_found_at_the_end_of_a_launch_stops_there():
    """Clashes between tasks are known when all have ended: each launch stops once, with its line and task."""
    with console_on(clashing_program) as console:
        says(console, "break finding racecheck")
        for launch in (1, 2):
            answer = says(console, "c")

            assert answer.startswith("Breakpoint 1, racecheck-tasks-write-write: __memcpy of task 1")
            assert f"launch {launch} (clashing) has ended after" in answer
        assert "the program has ended" in says(console, "c")
        assert "2 hits" in says(console, "info breakpoints")


def test_a_fault_that_a_checker_explains():
    """The finding stands above the fault."""
    with console_on(early_program) as console:
        answer = says(console, "break finding synccheck", "run")

        assert answer.startswith("Breakpoint 1, synccheck-early-return: ")
        assert "fault: __sync_all" in answer


def test_tasks_that_can_never_arrive_are_marked():
    """A barrier waits for a task that has ended: `info` says so."""
    with console_on(early_program) as console:
        says(console, "run")

        assert "missing" in says(console, "info barriers")
        assert "task 2 (ended)" in says(console, "info barriers")
        assert "task 2 (ended)" in says(console, "info tasks")
        assert "task 2 has ended" in refuses(console, "task 2")


def test_rules_that_do_not_exist_are_refused():
    """With those that the checker has."""
    with console_on(clashing_program) as console:
        assert "memcheck has no rule 'memcheck-florp'; it has memcheck-out-of-bounds" in refuses(
            console, "break finding memcheck-florp"
        )
        says(console, "break finding memcheck-out-of-bounds")
