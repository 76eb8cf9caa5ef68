"""What kernels print, and `breakpoint()` in them: once, however often a launch runs again."""

import functools
import sys
from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pytest
from debug_tools import console_on, says

import mlusim
from mlusim.bang import GDRAM2NRAM, Mlu, Ptr, float32, kernel
from mlusim.debug.run.moments import SPACING


@kernel
def talking(mlu: Mlu, data: Ptr, rounds: int) -> None:
    """Say something in every round, on both streams."""
    buffer = mlu.nram(float32, 8)
    for i in range(rounds):
        mlu.memcpy(buffer, data, 32, GDRAM2NRAM)
        mlu.bang_add(buffer, buffer, buffer, 8)
        print("said", mlu.taskId, i)  # noqa: T201
        print("meant", mlu.taskId, i, file=sys.stderr)  # noqa: T201
        mlu.bang_printf("noted %d", i)


@kernel
def trapping(mlu: Mlu, data: Ptr) -> None:
    """Call `breakpoint()` in one task."""
    buffer = mlu.nram(float32, 8)
    mlu.memcpy(buffer, data, 32, GDRAM2NRAM)
    if mlu.taskId == 1:
        breakpoint()  # noqa: T100
    mlu.bang_add(buffer, buffer, buffer, 8)


def talking_program(observe, rounds=3, tasks=2):
    """One launch, and the host's own word at the end."""
    device = mlusim.Device("MLU370-X4")
    data = device.put(np.ones(8, np.float32))
    device.launch(talking, tasks, mlusim.BLOCK, (data, rounds), observe=observe)
    print("over")  # noqa: T201


def trapping_program(observe):
    """Three tasks, the second of which stops."""
    device = mlusim.Device("MLU370-X4")
    device.launch(trapping, 3, mlusim.BLOCK, (device.put(np.ones(8, np.float32)),), observe=observe)


EVERYTHING = [f"said {task} {i}" for task in range(2) for i in range(3)] + ["over"]


@pytest.mark.parametrize(
    "lines",
    [
        ["run"],
        ["break bang_add", "run", "c", "c", "delete", "c"],
        ["break bang_add", "run", "c 4", "reverse-continue", "reverse-stepi", "goto begin", "delete", "c"],
        [
            "start",
            "next 9",
            "reverse-next 4",
            "history",
            "goto end",
            "who-wrote data",
            "diff data @begin",
            "c",
        ],
        ["run", "rsi", "rsi", "goto 3", "info pipes", "c", "run"],
        ["break bang_add if print('by the way')", "goto end", "c"],
    ],
)
def test_prints_appear_once(capsys, lines):
    """Whatever runs behind the scenes: each line once, in order, where the user first comes by."""
    with console_on(talking_program) as console:
        says(console, *lines)
        done = capsys.readouterr()

        assert EVERYTHING == [line for line in done.out.splitlines() if line != "by the way"]
        assert [line.replace("said", "meant") for line in EVERYTHING[:-1]] == done.err.splitlines()


def test_prints_appear_where_the_user_is(capsys):
    """At a stop everything before it has been printed, and nothing behind it."""
    with console_on(talking_program) as console:
        says(console, "break bang_add task 1 if i == 1", "run")

        assert ["said 0 0", "said 0 1", "said 0 2", "said 1 0"] == capsys.readouterr().out.splitlines()


def test_prints_are_counted_from_a_snapshot_on(capsys):
    """A run that leaves the beginning of a long launch out knows what has been printed there."""
    rounds, tasks = 10, SPACING // 10
    talking_program((), rounds=rounds, tasks=tasks)
    plain = capsys.readouterr().out.splitlines()
    with console_on(talking_program, rounds=rounds, tasks=tasks) as console:
        session = console.session
        says(console, "break cycle 1", "run", "delete", "goto end", "goto 20")
        before = session.runs.moments(1) - 40
        says(console, f"goto {before}", "info printed", "c")

        assert session.launches[0].milestones.snapshot(before) is not None
        assert plain == capsys.readouterr().out.splitlines()
        says(console, f"goto 1:{before}")
        assert (
            plain.index("over") - 40 < len(says(console, "info printed").splitlines()) < plain.index("over")
        )


def test_a_kernel_that_redirects_its_prints_keeps_them_over_a_stop(capsys):
    """The redirection holds behind a stop, and the console is not caught in it."""
    said = StringIO()

    @kernel
    def aside(mlu: Mlu, data: Ptr) -> None:
        buffer = mlu.nram(float32, 8)
        with redirect_stdout(said):
            print("first")  # noqa: T201
            mlu.memcpy(buffer, data, 32, GDRAM2NRAM)
            print("second")  # noqa: T201

    def program(observe):
        device = mlusim.Device("MLU370-X4")
        device.launch(aside, args=(device.put(np.ones(8, np.float32)),), observe=observe)

    with console_on(program) as console:
        says(console, "break memcpy", "run")
        print("mine")  # noqa: T201
        says(console, "step", "step")

        assert "first\nsecond\n" == said.getvalue()
        assert "mine\n" == capsys.readouterr().out


def test_breakpoint_in_a_kernel_stops_the_debugger_once():
    """In a run that is watched at the line behind it, in the program's own run where it is; not when it runs again."""
    for lines in (["break cycle 2", "run", "continue"], ["run"]):
        with console_on(trapping_program) as console:
            answer = says(console, *lines)
            assert answer.startswith("the kernel calls breakpoint()\ntask 1 in trapping")
            assert "buffer  float * NRAM" in says(console, "info locals")

            says(console, "delete", "goto end", "goto begin")
            assert "the program has ended" in says(console, "c")


def test_the_hook_and_the_streams_are_given_back(capsys):
    """Outside a run Python's own are in place."""
    before = sys.stdout, sys.stderr, sys.breakpointhook
    with console_on(functools.partial(talking_program, rounds=1)) as console:
        says(console, "break bang_add", "run")
        assert before == (sys.stdout, sys.stderr, sys.breakpointhook)
        says(console, "c", "reverse-step")

        assert before == (sys.stdout, sys.stderr, sys.breakpointhook)
    capsys.readouterr()
