"""Commands of mlusim on native programs, and on commands that start some."""

import contextlib
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys

import pytest

from mlusim.cli.main import main
from mlusim.cli.programs import is_native
from mlusim.errors import UsageError
from mlusim.programs.native_program import CommandProgram

COUNTS = r"""
#include "cnrt.h"
int main(int argc, char **argv) {
  unsigned count;
  cnrtGetDeviceCount(&count);
  cnrtDeviceProp_t p;
  cnrtGetDeviceProperties(&p, 0);
  printf("%s %u %s\n", argc > 1 ? argv[1] : "", count, p.name);
  return argc > 2;
}
"""


@pytest.fixture
def counts(native):
    """A program that prints its boards and ends with 1 where it gets two words."""
    return native.compile(COUNTS)


def test_a_program_runs(counts, capfd):
    """It gets its words, the board of its toolkit or the one that is named, and its exit status is that of the command."""
    assert main(["run", str(counts), "--", "-x"]) == 0
    assert main(["run", str(counts), "--board", "MLU590-H8", "--", "a", "b"]) == 1
    assert capfd.readouterr().out == "-x 1 MLU370-X4\na 1 MLU590-H8\n"


def test_children_count(counts, capfd):
    """A shell that starts the program, twice at once, is one program whose processes all have this simulator."""
    script = f"{counts} one & {counts} two; wait"

    assert main(["run", "sh", "--", "-c", script]) == 0
    assert sorted(capfd.readouterr().out.splitlines()) == ["one 1 MLU370-X4", "two 1 MLU370-X4"]


def test_json_stands_alone(counts, capfd):
    """With --json what the program prints goes to standard error."""
    assert main(["run", str(counts), "--json"]) == 0

    out, err = capfd.readouterr()
    assert out.startswith("{")
    assert "MLU370-X4" in err


def test_what_is_no_program_is_an_operator(tmp_path):
    """A file that may not be executed is none."""
    plain = tmp_path / "plain"
    plain.write_text("text")
    assert not is_native(str(plain))
    assert is_native(sys.executable)

    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF no program")
    broken.chmod(0o755)
    with pytest.raises(UsageError, match="cannot be started"):
        CommandProgram(str(broken)).run(())


SILENCE = 120  # seconds without a word, behind which a test fails instead of waiting for ever
ADDS = r"""
#include <cnrt.h>
#include <cstdio>
__mlu_entry__ void add(int *x, int n) {
  int sum = x[0] + n;
  x[0] = sum;
}
int main() {
  int host = 40, *there;
  cnrtMalloc((void **)&there, sizeof host);
  cnrtMemcpy(there, &host, sizeof host, cnrtMemcpyHostToDev);
  cnrtDim3_t dim = {1, 1, 1};
  add<<<dim, cnrtFuncTypeBlock, nullptr>>>(there, 2);
  cnrtMemcpy(&host, there, sizeof host, cnrtMemcpyDevToHost);
  printf("%d\n", host);
}
"""


@pytest.mark.skipif(shutil.which("gdb") is None, reason="no gdb")
def test_gdb_on_the_host_and_the_kernels_in_one_terminal(toolkit, tmp_path):
    """The host's debugger gives the terminal to the program that it runs; the kernels' console takes it while it reads, and gives it back."""
    (tmp_path / "lab.mlu").write_text(ADDS)
    words = [str(toolkit / "bin" / "cncc"), "-g", "lab.mlu", "-o", "lab"]
    subprocess.run(words, cwd=tmp_path, check=True)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        environment = {**os.environ, "TERM": "dumb", "HOME": str(tmp_path)}
        words = [sys.executable, "-m", "mlusim", "debug", "gdb", "--", "-q", "-nx", "--args", "./lab"]
        os.execve(sys.executable, words, environment)  # noqa: S606 - ours
    said = _until(terminal, r"\(gdb\) $")
    for line, answer in (
        ("break main", r"Breakpoint 1 at .*\(gdb\) $"),
        ("run", r"main \(\) at lab\.mlu:9\s.*\(gdb\) $"),
        ("next", r"\n10\s.*\(gdb\) $"),
        ("continue", r"launch 1 begins.*\(mlusim\) $"),
        ("break lab.mlu:6", r"breakpoint 1: lab\.mlu:6.*\(mlusim\) $"),
        ("continue", r"task 0 in add at lab\.mlu:6.*\(mlusim\) $"),
        ("print sum", r"sum = 42.*\(mlusim\) $"),
        ("continue", r"\n42\r\n.*exited normally.*\(gdb\) $"),
        ("quit", r"the program has ended.*\(mlusim\) $"),
        ("quit", r"\Z(?!)"),
    ):
        os.write(terminal, f"{line}\n".encode())
        said += _until(terminal, answer)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for sentence in (
        "main () at lab.mlu:9",
        "task 0 in add at lab.mlu:6",
        "sum = 42",
        "\n42\r\n",
        "the program has ended",
    ):
        assert sentence in said


def _until(terminal, pattern):
    """What is written to *terminal* up to *pattern*, or to its end."""
    said = ""
    with contextlib.suppress(OSError):  # the end of a terminal
        while not re.search(pattern, said, re.DOTALL):
            ready, _, _ = select.select([terminal], [], [], SILENCE)
            assert ready, f"nothing more is said behind {said!r}"
            said += os.read(terminal, 4096).decode()
    return said


def test_signals_end_the_program(native):
    """Ctrl-C of the command ends the program, too, and so does what ends the command or kills it."""
    program = native.compile(
        '#include "cnrt.h"\n#include <unistd.h>\nint main() { void *d; cnrtMalloc(&d, 8); puts("on"); fflush(stdout); for (;;) pause(); }'
    )
    words = [sys.executable, "-m", "mlusim", "run", str(program)]
    # A suite in the background of a shell ignores the key, and so would what it starts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    commands = {
        number: subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    }
    signal.signal(signal.SIGINT, before)
    for number, running in commands.items():
        assert running.stdout.readline() == "on\n"
        os.kill(running.pid, number)

    said = {signal.SIGINT: (130, "error: interrupted\n"), signal.SIGTERM: (143, ""), signal.SIGKILL: (-9, "")}
    for number, running in commands.items():
        with contextlib.closing(running.stderr), contextlib.closing(running.stdout):
            assert running.stdout.read() == ""  # ends when the program has ended
            assert (running.wait(), running.stderr.read()) == said[number]
