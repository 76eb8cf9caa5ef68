"""What the tab key offers in a shell, asked as argcomplete's function of bash asks."""

import os
import subprocess
import sys

import pytest

SOURCE = """
__mlu_global__ void Scale(float *dst, const float *src, int n) {}
__mlu_global__ void Shift(float *dst, int by) {}
"""
CASES = """
program = "k.mlu"
[case.small]
[case.large]
"""


@pytest.fixture
def offered(tmp_path):
    """The words that are offered behind a line."""
    (tmp_path / "k.mlu").write_text(SOURCE)
    (tmp_path / "cases.toml").write_text(CASES)

    def ask(line):
        asked = {
            "_ARGCOMPLETE": "1", "_ARGCOMPLETE_SHELL": "bash", "_ARGCOMPLETE_IFS": "\n", "COMP_TYPE": "9",
            "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "said"),
            "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        }  # fmt: skip
        command = [sys.executable, "-c", "from mlusim.cli.entry import main; main()"]
        subprocess.run(command, cwd=tmp_path, env=os.environ | asked, check=True, capture_output=True)
        return (tmp_path / "said").read_text().split("\n")

    return ask


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mlusim run k.mlu --ker", ["--kernel"]),
        ("mlusim run tin_shift_f", ["tin_shift_forward"]),
        ("mlusim profile cases.toml --case ", ["small", "large"]),
        ("mlusim run k.mlu --kernel ", ["Scale", "Shift"]),
        ("mlusim run k.mlu --kernel Shift --arg ", ["dst=", "by="]),
        ("mlusim run k.mlu --arg src=z", ["src=zeros"]),
        ("mlusim report --board MLU370-S4 MLU590-H", ["MLU590-H8"]),
        ("mlusim run absent.mlu --kernel ", [""]),
        ("mlusim run k.mlu --kernel Gone --arg ", [""]),
    ],
)
def test_values_are_completed_from_tables_and_files(offered, line, words):
    """Verbs and options, operators and files, and what the files named on the line hold."""
    assert words == offered(line)
