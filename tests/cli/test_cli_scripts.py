"""Scripts under `check` and `debug` run as by themselves, and whatever they raise is told."""

import subprocess
import sys

import pytest

BASE = """import numpy as np, mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, kernel

@kernel
def double(mlu, x):
    b = mlu.nram(float32, 8)
    mlu.memcpy(b, x, 32, GDRAM2NRAM)
    mlu.bang_add(b, b, b, 8)
    mlu.memcpy(x, b, 32, NRAM2GDRAM)

def go():
    device = mlusim.Device("MLU370-X4")
    x = device.put(np.ones(8, np.float32))
    device.launch(double, args=(x,))
    return float(device.get(x)[0])

"""
SPAWNING = """import multiprocessing

def work(job):
    function, n = job
    return function.name, n * go()

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(work, [(double, 1), (double, 2)]))
    go()
"""
ENDINGS = {
    "an exception of another kind": (
        "go()\nclass Odd(BaseException): pass\nraise Odd('boo')\n",
        "line 19: Odd: boo",
        "Odd: boo",
    ),
    "an exception that cannot be told": (
        "go()\nclass Odd(Exception):\n    def __str__(self): raise RuntimeError\nraise Odd('boo')\n",
        "line 20: Odd: its text raises RuntimeError",
        "Odd: its text raises RuntimeError",
    ),
    "a code behind an exception": (
        "import sys\ngo()\ntry: raise ValueError('x')\nfinally: sys.exit(7)\n",
        "it ended with exit code 7, in line 19: ValueError: x",
        "SystemExit: 7",
    ),
    "an exception": ("go()\nraise ValueError('x')\n", "line 18: ValueError: x", "ValueError: x"),
}


@pytest.mark.parametrize(
    ("verb", "code"), [(("check",), 2), (("debug", "--command", "continue"), 0)], ids=["check", "debug"]
)
def test_processes_of_a_script_find_its_kernels(tmp_path, verb, code):
    """Spawned processes import the script, and kernels and functions of it are pickled by their names.

    What they launch is counted and named, and fails a check, because nothing has checked it.
    """
    script = tmp_path / "spawning.py"
    script.write_text(BASE + SPAWNING)
    done = subprocess.run(
        [sys.executable, "-m", "mlusim", verb[0], str(script), *verb[1:]],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    told = "it launched kernels in other processes, which are not checked: double 2 times; launch them in this one"
    assert code == done.returncode
    assert ("" if code == 0 else f"error: {script}: {told}\n") == done.stderr
    assert "[('double', 2.0), ('double', 4.0)]" in done.stdout


@pytest.mark.parametrize("ending", ENDINGS)
def test_whatever_a_script_raises_is_told(cli, tmp_path, ending):
    """The report is there, the exit code is that of a script's error, and so it is in the debugger."""
    text, checked, debugged = ENDINGS[ending]
    script = tmp_path / "script.py"
    script.write_text(BASE + text)
    report = cli("check", script, "--json")
    session = cli("debug", script, "--command", "continue")

    assert 2 == report.code
    assert (1, checked) == (report.json()["launches"], report.json()["runs"][0]["problem"])
    assert 2 == session.code
    assert f"the program has ended with {debugged}" in session.out


def test_a_script_finds_itself_as_main(cli, tmp_path):
    """Its module is the one that Python calls ``__main__``, fresh each time, and afterwards ours is again."""
    script = tmp_path / "script.py"
    script.write_text(BASE + "import sys\nassert sys.modules['__main__'].go is go\ngo()\n")
    before = sys.modules["__main__"]

    assert 0 == cli("check", script, "--schedules", 1).code
    assert before is sys.modules["__main__"]
