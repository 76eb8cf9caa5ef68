"""Debuggers of editors (debugpy, over its protocol) and post-mortem, on kernels with barriers and memory cores."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from debugpy_client import Client

ROOT = Path(__file__).parents[2]

PROGRAM = textwrap.dedent(
    """
    import mlusim
    from mlusim.bang import NRAM2GDRAM, float32, kernel

    def twice(mlu, n):
        return 2 * n

    @kernel
    def steps(mlu, out):
        if mlu.is_mpu():
            waits = mlu.taskId
            mlu.sync_cluster()
            return
        buffer = mlu.nram(float32, 4, [1, 2])
        a = mlu.taskId
        mlu.sync_cluster()
        b = twice(mlu, a)
        if a == 2:
            mlu.memcpy(out, buffer, 20, NRAM2GDRAM)
        mlu.memcpy(out, buffer, 16, NRAM2GDRAM)

    device = mlusim.Device("MLU370-X4")
    device.launch(steps, dim=4, kind=mlusim.UNION1, args=(device.empty(4, float32),))
    """
)


def line(text):
    """The number of the first line of the program that has *text*."""
    return next(n for n, source in enumerate(PROGRAM.splitlines(), 1) if text in source)


@pytest.fixture
def script(tmp_path):
    """The program in a file."""
    path = tmp_path / "steps.py"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def editor(script):
    """A client of debugpy, with the program waiting for it."""
    client = Client(script, script.parent)
    yield client
    client.close()


def test_an_editor_stops_once_per_task_and_on_the_memory_core(editor, script):
    """Each stop has the right `mlu`; a pointer shows what it points to; the memory core steps over the barrier."""
    editor.start({script: [line("a = mlu.taskId"), line("waits =")]})
    stops = []
    while len(stops) < 5:
        thread, frame = editor.stopped()
        stops.append((frame["line"], editor.value(frame, "mlu.coreId")))
        if len(stops) == 5:
            pointer = editor.value(frame, "buffer")
        editor.ask("continue", threadId=thread)

    assert [(line("waits ="), "128"), *((line("a ="), str(core)) for core in range(4))] == stops
    assert "<float * NRAM+0x0" in pointer
    assert "[1., 2., 0., 0.]" in pointer


def test_an_editor_steps_over_a_barrier_on_the_memory_core(editor, script):
    """`next` waits for the tasks that the memory core meets, and comes back to it."""
    script.write_text(PROGRAM.replace("buffer, 20", "buffer, 16"))
    editor.start({script: [line("waits =")]})
    thread, _ = editor.stopped()
    for _ in range(2):
        editor.ask("next", threadId=thread)
        thread, frame = editor.stopped()

    assert (line("waits =") + 2, "128") == (frame["line"], editor.value(frame, "mlu.coreId"))


def test_next_over_a_barrier_comes_back_to_the_same_task(editor, script):
    """`next` waits for the other tasks and the memory core; stepping in and out stays with the task."""
    editor.start({script: [{"line": line("a = mlu.taskId"), "condition": "mlu.taskId == 1"}]})
    thread, frame = editor.stopped()
    trail = []
    for command in ("next", "next", "stepIn", "stepOut"):
        editor.ask(command, threadId=thread)
        thread, frame = editor.stopped()
        trail.append((frame["name"], frame["line"], editor.value(frame, "mlu.taskId")))

    behind = line("b = twice")
    assert ("steps", behind - 1, "1") == trail[0]
    assert ("steps", behind, "1") == trail[1]
    assert ("twice", line("return 2 * n"), "1") == trail[2]
    assert ("steps", "1") == (trail[3][0], trail[3][2])


def test_an_editor_stops_at_a_fault_in_the_failing_task(editor, script):
    """A step over the barrier in a task that the fault of another one ends is over there: with the kernel's frame and its `mlu`."""
    editor.start({script: [line("waits =") + 1]}, exceptions=["uncaught"])
    thread, _ = editor.stopped()
    editor.ask("next", threadId=thread)
    thread = editor.event("stopped")["threadId"]
    frames = editor.ask("stackTrace", threadId=thread)["stackFrames"]
    kernel = next(frame for frame in frames if frame["name"] == "steps")

    assert line("memcpy(out, buffer, 20") == kernel["line"]
    assert "2" == editor.value(kernel, "mlu.taskId")


def test_the_checked_in_configuration_stays_in_the_kernel(editor, script):
    """With its options, stepping into an intrinsic goes to the kernel's next line, and into a function of the kernel."""
    configurations = json.loads((ROOT / ".vscode" / "launch.json").read_text())["configurations"]
    mine = next(one for one in configurations if one["name"] == "Kernel: this file")
    editor.start({script: [line("buffer = ")]}, justMyCode=mine["justMyCode"], rules=mine["rules"])
    thread, _ = editor.stopped()
    trail = []
    for _ in range(2):
        editor.ask("stepIn", threadId=thread)
        thread, frame = editor.stopped()
        trail.append((frame["name"], frame["line"]))

    assert [("steps", line("a = ")), ("steps", line("a = ") + 1)] == trail
    assert all(one["type"] == "debugpy" for one in configurations)


def test_post_mortem_names_the_failing_task(script):
    """The post-mortem of pdb opens the frame of the kernel that failed."""
    commands = "continue\np 'TASK', mlu.taskId, mlu\nquit\n"
    done = subprocess.run(
        [sys.executable, "-m", "pdb", str(script)],
        input=commands, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert "Uncaught exception" in done.stdout
    assert "('TASK', 2, <Mlu task 2 of 4>)" in done.stdout
