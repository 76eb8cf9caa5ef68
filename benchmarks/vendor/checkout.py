"""A checkout of the vendor's library: a toolkit folder for it, its own build, and its test programs."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import define, field

from mlusim.arch.board import Board
from mlusim.errors import UsageError

_CASE = re.compile(r"  (mluOp/\d+)\b")
_WARNING = re.compile(r"^(\S+\.(?:mlu|mluh|h|hpp)):\d+:\d+: (warning|error): (.*)")


@define
class Checkout:
    """The checkout at *root*, built for *board*, whose kernels run on *engine*."""

    root: Path
    board: Board
    engine: str = "auto"
    environment: dict[str, str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        if not (self.root / "build.sh").is_file() or not (self.root / "mlu_op.h").is_file():
            raise UsageError(
                f"{self.root} is not a checkout of the vendor's library: there is no build.sh with a mlu_op.h beside it"
            )
        folder = str(self.folder)
        self.environment = {
            **os.environ,
            "NEUWARE_HOME": folder,
            "MLUOP_MLU_ARCH_LIST": f"{self.board.arch.name};",
            "MLUSIM_ENGINE": self.engine,
            "MLUOP_GTEST_SET_GDRAM": "NAN",  # otherwise the date decides between NaN and infinity
            "PATH": f"{folder}/bin:{os.environ.get('PATH', '')}",
            "LD_LIBRARY_PATH": f"{folder}/lib64:{self.root / 'build/lib'}",
        }

    @property
    def folder(self) -> Path:
        """Return the toolkit folder, which is named in the built files."""
        return self.root / "build" / f"toolkit-{self.board.name}"

    @property
    def tests(self) -> Path:
        """Return the folder of the test programs, which find their cases by paths relative to it."""
        return self.root / "build" / "test"

    def make_folder(self) -> None:
        """Make the toolkit folder."""
        make = [sys.executable, "-m", "mlusim", "toolkit", str(self.folder), "--board", self.board.name]
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - ours

    def build(self, jobs: int, log: Path) -> int:
        """Make the folder and run the checkout's own build with its output in *log*; return the exit code."""
        self.make_folder()
        with log.open("wb") as file:
            words = ["./build.sh", "-j", str(jobs)]
            return subprocess.run(  # noqa: S603 - the user's own build
                words, cwd=self.root, env=self.environment, stdout=file, stderr=file, check=False
            ).returncode

    def run(self, words: Sequence[str], timeout: float) -> tuple[int | None, str]:
        """Run a test program; return its exit code (None if it took more than *timeout* seconds) and its output."""
        try:
            done = subprocess.run(  # noqa: S603 - the user's own build
                words,
                cwd=self.tests,
                env=self.environment,
                capture_output=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            return None, _text(error.stdout) + _text(error.stderr)
        return done.returncode, _text(done.stdout) + _text(done.stderr)

    def cases(self) -> list[tuple[str, str]]:
        """Return each case of the test program: its operator and the name for a filter.  Raises `UsageError` if there are none."""
        program = self.tests / "mluop_gtest"
        if not program.is_file():
            raise UsageError(f"{program} is not there; build the checkout first, without --no-build")
        _, said = self.run([str(program), "--gtest_list_tests"], 300)
        names, suite = [], ""
        for line in said.splitlines():
            if line.endswith("/TestSuite."):
                suite = line.removesuffix(".")
            elif line and not line.startswith(" "):
                suite = ""
            elif suite and (case := _CASE.match(line)):
                names.append((suite.removesuffix("/TestSuite"), f"{suite}.{case[1]}"))
        if not names:
            raise UsageError(f"{program} has no cases: {said[-200:]}")
        return names


def untranslated(log: str) -> Mapping[str, str]:
    """Return for each source the first construct in it that does not translate, from the log of a build."""
    said: dict[str, str] = {}
    for line in log.splitlines():
        if match := _WARNING.match(line):
            said.setdefault(match[1], match[3])
    return said


def _text(output: bytes | None) -> str:
    return (output or b"").decode(errors="replace")
