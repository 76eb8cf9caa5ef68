"""The example project: CMake builds it through the folder, with clang from the wheel, and its tests pass."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import ziglang

PROJECT = Path(__file__).parents[2] / "examples" / "project"
BIN = Path(sys.executable).parent


def _tool(name):
    return shutil.which(name) or str(BIN / name)


def test_the_example_project_builds_and_passes(toolkit, tmp_path):
    """Its static library of two files with kernels links with a test program of plain C++, and both tests pass on two boards.

    `mlusim cover` counts the lines and branches of its kernels over a whole ctest.
    """
    zig = Path(ziglang.__file__).parent / "zig"
    environment = os.environ | {
        "NEUWARE_HOME": str(toolkit),
        "MLUSIM_CLANG": f"{zig} clang --driver-mode=g++ --target={os.uname().machine}-linux-gnu",
    }

    def run(*words, **more):
        done = subprocess.run(
            words, env=environment | more, capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(
        *(_tool("cmake"), "-S", str(PROJECT), "-B", "build", "-G", "Unix Makefiles"),
        f"-DCMAKE_CXX_COMPILER={toolkit}/bin/cncc",
    )
    assert "warning" not in run(_tool("cmake"), "--build", "build")
    for board in ("MLU370-X4", "MLU590-H8"):
        assert run("build/kernel_tests", MLUSIM_BOARD=board) == "scale: passed\nrow_sum: passed\n"
    words = ("cover", "ctest", "--json", "--keep", "c.json", "--", "--test-dir", "build")
    found = json.loads(run(sys.executable, "-m", "mlusim", *words, PATH=f"{BIN}:{os.environ['PATH']}"))
    for file in found["summary"]:
        assert [1, []] == [file["file"].count(str(PROJECT)), file["missing"]]
        assert file["branches_ran"] > 0
    assert 2 == len(found["summary"])
    (tmp_path / "build" / "kernel_tests").touch()
    assert "Generating" not in run(
        _tool("cmake"), "--build", "build"
    )  # what did not change is not compiled again
