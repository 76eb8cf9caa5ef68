"""The plain Python debugger in a kernel: one stop a task, `next` over barriers, Ctrl-C."""

import signal
import subprocess
import sys
import textwrap

PROGRAM = textwrap.dedent(
    """
    import mlusim
    from mlusim.bang import kernel

    @kernel
    def steps(mlu):
        if mlu.is_mpu():
            return
        breakpoint()
        a = mlu.taskId
        mlu.sync_all_ipu()
        b = mlu.taskId * 10
        c = b + 1

    mlusim.Device("MLU370-X4").launch(steps, dim=4, kind=mlusim.UNION1)
    print("finished")
    """
)


# Steps from the stop to behind the barrier: from 3.13 on the stop is at breakpoint() itself.
STEPS = 3 if sys.version_info >= (3, 13) else 2


def _pdb(tmp_path, commands):
    script = tmp_path / "steps.py"
    script.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(script)],
        input="\n".join(commands) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout


def _shown(output):
    return [line.split("(Pdb) ")[-1] for line in output.splitlines() if "TASK" in line]


def test_a_breakpoint_stops_once_per_task_with_the_right_mlu(tmp_path):
    """Each of the four tasks stops, and `mlu` in the frame is that task's."""
    output = _pdb(tmp_path, ["p 'TASK', mlu.taskId", "c"] * 4)

    assert [f"('TASK', {task})" for task in range(4)] == _shown(output)
    assert "finished" in output


def test_next_over_a_barrier_comes_back_to_the_same_task(tmp_path):
    """Every task steps to the barrier; after the last one arrives each stops behind it again."""
    output = _pdb(tmp_path, [*["n"] * (4 * STEPS), *["p 'TASK', mlu.taskId, a", "c"] * 4])

    assert [f"('TASK', {task}, {task})" for task in (3, 0, 1, 2)] == _shown(output)
    assert "finished" in output


def test_control_c_lands_in_the_kernel(tmp_path):
    """An interrupt ends a runaway kernel with a traceback into it."""
    script = tmp_path / "runaway.py"
    script.write_text(
        textwrap.dedent(
            """
            import signal

            import mlusim
            from mlusim.bang import kernel

            # A shell that runs this in the background tells it to ignore Ctrl-C.
            signal.signal(signal.SIGINT, signal.default_int_handler)

            @kernel
            def runaway(mlu):
                print("started", flush=True)
                while True:
                    mlu.taskId + 1

            mlusim.Device("MLU370-X4").launch(runaway)
            """
        )
    )
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)

    assert "KeyboardInterrupt" in errors
    assert "in runaway" in errors
