"""Commands of mlusim on native programs, and on commands that start some."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest

from mlusim.cli.main import main
from mlusim.errors import UsageError
from mlusim.programs.command_program import CommandProgram, is_command

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
    assert not is_command(str(plain))
    assert is_command(sys.executable)

    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF no program")
    broken.chmod(0o755)
    with pytest.raises(UsageError, match="cannot be started"):
        CommandProgram(str(broken)).run(())


def test_an_interruption_ends_the_program(native):
    """Ctrl-C of the command ends the program, too."""
    program = native.compile(
        '#include "cnrt.h"\n#include <unistd.h>\nint main() { void *d; cnrtMalloc(&d, 8); puts("on"); fflush(stdout); for (;;) pause(); }'
    )
    words = [sys.executable, "-m", "mlusim", "run", str(program)]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "on\n"
    os.kill(running.pid, signal.SIGINT)

    assert running.wait() == 130
    assert running.stdout.read() == ""  # ends when the program has ended
    with contextlib.closing(running.stderr), contextlib.closing(running.stdout):
        assert running.stderr.read() == "error: interrupted\n"
