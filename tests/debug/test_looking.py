"""Looking around: tasks, barriers, pipes, clusters, stacks, source, history, completion, help."""

import random

import numpy as np
from debug_kernels import line, scale_program, staged_program
from debug_tools import console_on, says

import mlusim
from mlusim.bang import GDRAM2SRAM, Mlu, Ptr, float32, kernel
from mlusim.debug import COMMANDS


def test_every_task_says_what_it_does_and_waits_for():
    """At the barrier some wait for those that are missing, one is stopped."""
    with console_on(staged_program) as console:
        says(console, f"break {line('staged-barrier')} task 3", "run")
        rows = {text[3:9].strip(): text for text in says(console, "info tasks").splitlines()[1:-1]}

        assert "waiting  staged at" in rows["task 0"]
        assert "__sync_cluster: task 3 missing" in rows["task 2"]
        assert "stopped  staged at" in rows["task 3"]
        assert says(console, "info tasks").endswith("0 ended, 0 not begun")
        assert "task 0m, task 0, task 1, task 2 arrived; task 3 missing" in says(console, "info barriers")


def test_focus_moves_without_moving_the_schedule():
    """Another task's stack and variables, while the stopped one stays where it is."""
    with console_on(staged_program) as console:
        says(console, f"break {line('staged-barrier')} task 3", "run")
        position = console.session.position
        answer = says(console, "task 1")

        assert f"task 1 in staged at tests/debug/debug_kernels.py:{line('staged-barrier')}" in answer
        assert "mlu.taskId = 1" == says(console, "print mlu.taskId")
        assert "own = float * NRAM" in says(console, "print own")
        assert position == console.session.position


def test_pipes_show_what_is_in_flight_and_what_it_will_touch():
    """An asynchronous copy that has not landed, with its bytes."""
    with console_on(staged_program) as console:
        says(console, f"break {line('staged-barrier')} task 0", "run")
        answer = says(console, "info pipes")

        copy = f"memcpy_async of tests/debug/debug_kernels.py:{line('staged-bias')}"
        assert f"IO-DMA    in flight: {copy}, writes own[0:64], reads bias[0:64]" in answer
        assert "vector    idle" in answer


def test_clusters_cores_and_memory():
    """Two unions of one cluster each run at once, with their own SRAM."""
    with console_on(staged_program, tasks=8) as console:
        says(console, f"break {line('staged-barrier')} task 5", "run")

        assert "cluster 0 of the union of task 4" in says(console, "info clusters")
        assert "256" in says(console, "info cores").splitlines()[1]
        assert "SRAM: 256 of" in says(console, "info nram")


def test_the_stack_and_its_frames():
    """`where`, `up` and `down`, and the variables of each function."""
    with console_on(scale_program) as console:
        says(console, "break scaled", "run")
        text = says(console, "where").splitlines()
        assert [f":{line('scaled-mul')}" in text[1], f":{line('scale-call')}" in text[2]] == [True, True]

        says(console, "up")
        assert "share   16" in says(console, "info locals")
        assert f"scale at tests/debug/debug_kernels.py:{line('scale-call')}" == says(console, "info line")
        says(console, "down")
        assert "times" not in says(console, "info locals")


def test_list_marks_the_line_and_the_breakpoints():
    """The current line has an arrow, lines with breakpoints a B."""
    with console_on(scale_program) as console:
        says(console, f"break {line('scale-add')}", "break scaled", "run", "up")
        text = says(console, "list")

        assert f" -> {line('scale-call'):4}  " in text
        assert f"B  {line('scale-add'):5}  " in text


def test_history_is_the_last_operations():
    """The last of them is the one that is about to happen."""
    with console_on(scale_program) as console:
        says(console, "break bang_add_scalar task 1", "run")
        rows = says(console, "history 3").splitlines()[1:]

        assert ["memcpy", "bang_mul_scalar", "bang_add_scalar"] == [
            row.split(":")[1].split()[1].rstrip(",") for row in rows
        ]
        assert all("task 1" in row for row in says(console, "history 20 task").splitlines()[1:])
        assert "task 0" in says(console, "history 20")


def test_completion_knows_commands_functions_places_and_views():
    """What can follow is what the session knows."""
    with console_on(scale_program) as console:
        says(console, "break scaled", "run")

        assert [
            "reverse-continue",
            "reverse-finish",
            "reverse-next",
            "reverse-step",
            "reverse-stepi",
        ] == console.complete("rev")
        assert {"scale", "scaled"} <= set(console.complete("break sc"))
        assert "bang_add" in console.complete("break bang_a")
        assert ["factor"] == console.complete("print fac")
        assert ["pipes"] == console.complete("info pi")
        assert ["0"] == console.complete("task ")
        assert ["1"] == console.complete("delete ")
        assert [] == console.complete("florp x")


def test_help_shows_every_command():
    """The list has all of them, and each says more on its own."""
    with console_on(scale_program) as console:
        text = says(console, "help")

        assert all(f"  {c.name}" in text for c in COMMANDS)
        for command in COMMANDS:
            assert command.summary in says(console, f"help {command.name}")


def test_no_two_commands_share_a_word():
    """Names and aliases are unique."""
    words = [word for c in COMMANDS for word in (c.name, *c.aliases)]

    assert len(words) == len(set(words))


def test_an_empty_line_repeats_a_step():
    """And nothing else."""
    with console_on(scale_program) as console:
        says(console, "start", "next")
        first = console.session.position
        says(console, "")
        second = console.session.position
        says(console, "where", "")

        assert first < second
        assert second == console.session.position


def test_commands_from_a_file(tmp_path):
    """`source` executes the commands in order and shows the answer of each."""
    script = tmp_path / "commands"
    script.write_text("# to the function\nbreak scaled\nrun\n\nprint count\n")
    with console_on(scale_program) as console:
        answer = says(console, f"source {script}")

        assert answer.endswith("count = 16")


@kernel
def halves(mlu: Mlu, out: Ptr) -> None:
    """The memory core arrives, twice; the others wait for it and say that they have read."""
    room = mlu.shared(float32, 64)
    for turn in range(2):
        if mlu.is_mpu():
            if turn:
                mlu.sync_cluster_wait(1, 4)
            mlu.memcpy(room, out, 256, GDRAM2SRAM)
            mlu.sync_cluster_arrive(0, 1)
        else:
            mlu.sync_cluster_wait(0, 1)
            mlu.sync_cluster_arrive(1, 4)


def halves_program(observe):
    """One cluster."""
    device = mlusim.Device("MLU370-X4")
    device.launch(halves, 4, mlusim.UNION1, (device.put(np.ones(64, np.float32)),), observe=observe)


def test_barriers_in_two_halves():
    """Who has arrived, how many of how many, who waits; a step over the wait comes back to the same task."""
    with console_on(halves_program) as console:
        says(console, "tbreak sync_cluster_arrive task 2", "run")
        assert "about to execute __sync_cluster_arrive" in console.stop_text()
        says(console, "next")
        assert "1, 3 of 4 arrived" in says(console, "info barriers")
        assert "task 0, task 1, task 2 arrived; task 0m waiting; task 3 missing" in says(
            console, "info barriers"
        )

        says(console, "break memcpy", "c")
        tasks = says(console, "info tasks")
        assert 4 == tasks.count("__sync_cluster_wait 0, 0 of 1 arrived: task 0m missing")
        assert "__sync_cluster_wait 0, 0 of 1 arrived (" in says(console, "info barriers")
        assert "none arrived; task 0, task 1, task 2, task 3 waiting; task 0m missing" in says(
            console, "info barriers"
        )


def test_back_and_forth_over_barriers_in_two_halves():
    """Every moment of the launch, there and back again in a drawn order: the same bytes, counts and frames."""
    with console_on(halves_program) as console:
        session = console.session
        seen = {}
        for moment in range(1, session.runs.moments(1)):
            says(console, f"goto {moment}")
            seen[session.position] = session.digest(), says(console, "info barriers")
        for position in random.Random(3).sample(list(seen), len(seen)):
            session.travel(position)

            assert seen[position] == (session.digest(), says(console, "info barriers"))
