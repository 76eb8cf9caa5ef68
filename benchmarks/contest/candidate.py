"""A candidate as a native program: built once for each text, run on arguments.  What PyTorch's device does takes the place of this file."""

import hashlib
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from attrs import field, frozen

import mlusim
from benchmarks.contest import records
from mlusim.arch.board import Board
from mlusim.frontend.bangc import form_data

HEADERS = Path(__file__).parent / "include"
_TIME = re.compile(r"^CONTEST_US ([\d.]+)$", re.MULTILINE)


class CandidateError(Exception):
    """A candidate does not build, or does not run; the text is the last that was said."""


@frozen
class Ran:
    """What a call gave: results, the inputs as it left them, and the time that the simulator gives, in us."""

    results: list[torch.Tensor]
    inputs: list[torch.Tensor]
    time: float


@frozen
class Builder:
    """Builds and runs with a toolkit folder, for a board; *cache* keeps what was built."""

    toolkit: Path
    board: Board
    cache: Path
    environment: dict[str, str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        paths = {"NEUWARE_HOME": str(self.toolkit), "LD_LIBRARY_PATH": str(self.toolkit / "lib64")}
        object.__setattr__(self, "environment", os.environ | paths)

    def build(self, name: str, source: str, timeout: float) -> Path:
        """The program that calls *source*'s ``bang_func``.  Raises `CandidateError` where it does not compile."""
        said = hashlib.sha256(f"{mlusim.__version__} {form_data.schema()} {source}".encode())
        for header in sorted(HEADERS.rglob("*.h")):
            said.update(header.read_bytes())
        folder = self.cache / f"{name}-{said.hexdigest()[:16]}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.mlu").write_text(source, encoding="utf-8")
        program, main = folder / "program", folder / "main.mlu"
        if not program.is_file():
            main.write_text(
                f'#include <driver.h>\n#include "{name}.mlu"\n'
                "int main(int, char **words) { return contest::run(&bang_func, words); }\n",
                encoding="utf-8",
            )
            words = [
                "cncc",
                "-O1",
                f"--bang-mlu-arch={self.board.arch.name}",
                f"-I{HEADERS}",
                str(main),
                "-o",
                str(program),
            ]
            words[0] = str(self.toolkit / "bin" / "cncc")
            self._call([*words, "-lcnrt", "-lcnnl"], timeout)
        return program

    def run(self, program: Path, arguments: Sequence[Any], timeout: float) -> Ran:
        """Call it with *arguments*.  Raises `CandidateError` where it fails."""
        given, got = program.with_name("arguments"), program.with_name("results")
        records.write(given, arguments)
        said = self._call([str(program), str(given), str(got)], timeout)
        left = Path(f"{got}.inputs")
        try:
            found = _TIME.search(said)
            return Ran(records.read(got), records.read(left), float(found[1]) if found else 0.0)
        finally:
            for path in (given, got, left):
                path.unlink(missing_ok=True)

    def _call(self, words: Sequence[str], timeout: float) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - the user's own compiler and program
                words, capture_output=True, timeout=timeout, check=False, env=self.environment
            )
        except subprocess.TimeoutExpired:
            raise CandidateError(f"takes longer than {timeout:.0f} s") from None
        said = (done.stdout + done.stderr).decode("utf-8", "replace")
        if done.returncode:
            errors = [line for line in said.splitlines() if "error:" in line] or said.strip().splitlines()
            raise CandidateError((errors or [f"ends with {done.returncode} and says nothing"])[0])
        return said
