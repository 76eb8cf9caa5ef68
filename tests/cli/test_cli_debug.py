"""``mlusim debug``: commands from the line, a file and a pipe; JSON; exit codes; Ctrl-C."""

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "05_memory_core.py"

RUNAWAY = textwrap.dedent(
    """
    import numpy as np
    import mlusim
    from mlusim.bang import GDRAM2NRAM, float32, kernel

    @kernel
    def runaway(mlu, data):
        buffer = mlu.nram(float32, 8)
        mlu.memcpy(buffer, data, 32, GDRAM2NRAM)
        rounds = 0
        print("started", flush=True)
        while True:
            rounds = rounds + 1

    device = mlusim.Device("MLU370-X4")
    device.launch(runaway, args=(device.put(np.ones(8, np.float32)),))
    """
)


def test_commands_of_the_line_and_of_a_file(cli, tmp_path):
    """They are executed in order, the file's behind the line's, and shown with their answers."""
    (tmp_path / "commands").write_text("# where it is\nwhere\n")
    done = cli(
        "debug", "mutual_information_backward", "--case", "network", "--command", "break bang_pow2",
        "--command", "run", "--script", tmp_path / "commands",
    )  # fmt: skip

    assert (0, "") == (done.code, done.err)
    assert done.out.startswith("(mlusim) break bang_pow2\nbreakpoint 1: __bang_pow2\n(mlusim) run\n")
    assert "* 0  computeExp at" in done.out


def test_json_is_one_document(cli):
    """The commands, whether they were understood, the answers, and where the debugger stands."""
    done = cli("debug", "tin_shift_forward", "--case", "golden_document", "--json", "--command", "start")
    document = done.json()

    assert (0, "tin_shift_forward golden_document") == (done.code, document["program"])
    assert [("start", True)] == [(c["command"], c["ok"]) for c in document["commands"]]
    assert ("task 0m", 1, False) == (document["task"], document["position"]["moment"], document["ended"])
    assert document["file"].endswith("tin_shift/kernel.py")


def test_a_script_is_debugged_with_its_arguments(cli):
    """Its own output goes where it always goes."""
    done = cli("debug", EXAMPLE, "--command", "tbreak bang_add task 0", "--command", "run", "--command", "c")

    assert (0, "") == (done.code, done.err)
    assert "task 0 in add_one_row_to_all" in done.out
    assert "equal: True" in done.out


def test_your_own_arrays(cli, tmp_path):
    """The inputs of an ``.npz`` file, with their parameters, and as arrays for comparisons."""
    import numpy as np  # noqa: PLC0415

    arrays = {"input": np.ones((1, 2, 3, 4), np.float32), "shifts": np.zeros((1, 3), np.int32)}
    np.savez(tmp_path / "my.npz", **arrays)
    done = cli(
        "debug", "tin_shift_forward", "--inputs", tmp_path / "my.npz", "--command", "run",
        "--command", "diff output reference.output",
    )  # fmt: skip

    assert done.code == 0
    assert "no difference in 24 elements" in done.out


def test_a_mistake_ends_the_script(cli):
    """What comes behind it is not executed, and the exit code says so."""
    done = cli("debug", "tin_shift_forward", "--command", "florp", "--command", "run")

    assert done.code == 2
    assert "error: there is no command 'florp'" in done.out
    assert "(mlusim) run" not in done.out


def test_a_fault_is_exit_code_3(cli, tmp_path):
    """Whether the debugger stands in it or the program has ended with it."""
    script = tmp_path / "fault.py"
    script.write_text(RUNAWAY.replace("memcpy(buffer, data, 32", "memcpy(buffer, data, 36"))

    assert [3, 3] == [
        cli("debug", script, *commands).code
        for commands in (("--command", "run"), ("--command", "run", "--command", "c"))
    ]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "name an operator or a script"),
        (("nothing",), "nothing"),
        (("nothing.py",), "nothing.py is not a file"),
        (("tin_shift_forward", "more"), "an operator takes no 'more'"),
        (("tin_shift_forward", "--set", "a=1"), "--set goes with --inputs"),
        (("tin_shift_forward", "--check", "florp"), "'florp' is not a checker"),
        (("tin_shift_forward", "--history", "-1"), "--history -1 is negative"),
        (("tin_shift_forward", "--script", "nothing.txt"), "nothing.txt cannot be read"),
        (("tin_shift_forward", "--replay", "f"), "--replay names the program"),
        (("--replay", "nothing"), "nothing is not a file; it is not a recording"),
        ((str(EXAMPLE), "--case", "x"), "--case goes with an operator"),
    ],
)
def test_wrong_usage_is_one_sentence(cli, words, sentence):
    """On standard error, with exit code 2."""
    done = cli("debug", *words)

    assert (2, 1) == (done.code, done.err.count("\n"))
    assert sentence in done.err


def _piped(tmp_path, text, commands, **options):
    script = tmp_path / "script.py"
    script.write_text(text)
    return subprocess.Popen(
        [sys.executable, "-m", "mlusim", "debug", str(script)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, **options,
    ), "".join(f"{c}\n" for c in commands)  # fmt: skip


def test_commands_from_a_pipe(tmp_path):
    """Without a terminal the lines are shown with their answers, and the end of the pipe ends it."""
    process, text = _piped(
        tmp_path, EXAMPLE.read_text(), ["break bang_add task 0", "run", "print r", "quit", "run"]
    )
    out, errors = process.communicate(text, timeout=60)

    assert (0, "") == (process.returncode, errors)
    assert "(mlusim) print r\nr = 0\n" in out
    assert "(mlusim) run" not in out.partition("quit")[2]


def test_control_c_stops_a_runaway_kernel(tmp_path):
    """The kernel is where it was interrupted; looking, stepping and going back go on from there."""
    process, text = _piped(tmp_path, RUNAWAY, ["run"])
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(text)
    process.stdin.flush()
    while process.stdout.readline() != "started\n":
        pass
    process.send_signal(signal.SIGINT)
    rest = "print rounds >= 0\nprint data[7]\ninfo pipes\nhistory\nstep\nbreak runaway\nreverse-continue\ndelete\nquit\n"
    out, errors = process.communicate(rest, timeout=60)

    assert (0, "") == (process.returncode, errors)
    assert "interrupted\ntask 0 in runaway at" in out
    assert "rounds >= 0 = True" in out
    assert "data[7] = 1.0 (float32)" in out
    assert "IO-DMA    idle" in out
    assert "(mlusim) history\nnothing has been watched here\n" in out
    assert "(mlusim) step\ntask 0 in runaway at" in out
    assert "Breakpoint 1, runaway" in out


def test_json_is_alone_on_standard_output(cli, tmp_path):
    """What the script and its kernels print goes to standard error."""
    script = tmp_path / "prints.py"
    script.write_text(
        "import mlusim\nfrom mlusim.bang import kernel\n\n\n@kernel\ndef body(mlu):\n    print('inside')\n    mlu.sync()\n\n\n"
        "mlusim.Device('MLU370-X4').launch(body)\nprint('outside')\n"
    )
    done = cli(
        "debug",
        str(script),
        "--json",
        "--command",
        "break sync",
        "--command",
        "run",
        "--command",
        "delete",
        "--command",
        "c",
    )

    assert (4, True) == (len(done.json()["commands"]), done.json()["ended"])
    assert "inside\noutside\n" == done.err


def test_a_script_that_fails_before_it_launches(cli, tmp_path):
    """The sentence has the error and its line."""
    script = tmp_path / "broken.py"
    script.write_text("x = 1\nx / 0\n")
    done = cli("debug", str(script), "--command", "run")

    assert 2 == done.code
    assert (
        "the program has launched no kernel, so there is nothing to look at; it has ended with ZeroDivisionError"
        in done.out
    )
    assert "broken.py:2" in done.out
