"""One problem: run in processes of its own and compared with its reference."""

import contextlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field, frozen

from benchmarks.contest.checkout import Problem
from benchmarks.timing import cpu_of
from mlusim.errors import MlusimError

LIMITS = {"LocalResponseNorm": 1e-3}
LIMIT = 1e-2
OTHERWISE = "right otherwise"
"""The outcome of a submission that is right only by the reference as it runs after the submission has replaced functions."""
CHILD = Path(__file__).with_name("child.py")
MEMORY = 16 << 30
_PART = 1 << 22  # elements compared at once: a result may have 6 GB
_LIBRARY = re.compile(r"\bcnnl(?!Handle)[A-Z]\w*(?=\s*\()")
_COMMENT = re.compile(r"//.*?$|/\*.*?\*/", re.MULTILINE | re.DOTALL)
_FOLDERS = re.compile(r"(?:[^\s/:(]*/)+(?=[^\s/:]+\.mlu\b)")  # the folders before a source's name
_KERNEL = re.compile(r"<<<")


@define
class Verdict:
    """The outcome of a problem: "right", `OTHERWISE`, "wrong", "fails", "out of time" or "not built", with a remark.

    *apart* says why a submission is not a kernel, and is empty for a kernel.  A submission that is right by the true
    reference counts as a kernel even if it also replaces functions.
    """

    name: str
    outcome: str = ""
    difference: float | None = None
    time: float | None = None  # us
    findings: dict[str, int] | None = None  # None: not run under the checkers
    apart: str = ""
    remark: str = ""
    seconds: float = 0.0
    commit: str = ""
    examples: dict[str, str] = field(factory=dict)


@frozen
class Tested:
    """The outcome of a problem in the kit's tester, and the CPU seconds: with the build, and again without."""

    name: str
    outcome: str
    first: float
    second: float


@frozen
class Court:
    """The place where submissions run: a toolkit folder, caches beneath *cache*, *timeout* seconds each, on *boards*."""

    toolkit: Path
    cache: Path
    timeout: float
    boards: str = ""
    seed: int = 0

    def judge(self, problem: Problem, check: float = 0) -> Verdict:
        """Run and compare a problem; under all checkers if that ends within *check* seconds, otherwise without them."""
        start = time.perf_counter()
        verdict = Verdict(problem.title, commit=problem.commit)
        try:
            source = problem.source()
            verdict.apart = no_kernel(source)
            if not (check and self._run(problem, source, verdict, check, checked=True)):
                self._run(problem, source, verdict, self.timeout)
        except MlusimError as error:
            verdict.outcome, verdict.remark = "not built", str(error)
        verdict.seconds = time.perf_counter() - start
        return verdict

    def tested(self, problem: Problem) -> Tested:
        """Run the kit's own tester, unchanged, twice: the first run builds, the second finds the build."""
        with self._room() as room:
            source, solution = Path(room) / f"{problem.title}.mlu", Path(room) / "solution.py"
            source.write_text(f"{problem.source()}\n// {time.time_ns()}\n", encoding="utf-8")
            solution.write_text(problem.solution(source), encoding="utf-8")
            tester = str(problem.kit / "bangc_torch_tester.py")
            words = [sys.executable, tester, "-t", str(problem.reference()), "-b", str(solution)]
            code, first = cpu_of(lambda: self._call(words, self.timeout))
            _, second = cpu_of(lambda: self._call(words, self.timeout))
        outcome = (
            "out of time" if code[0] is None else "passed" if '"passed": true' in code[1] else "not passed"
        )
        return Tested(problem.title, outcome, first, second)

    def _run(
        self, problem: Problem, source: str, verdict: Verdict, seconds: float, *, checked: bool = False
    ) -> bool:
        """Run once and fill in *verdict*, under the checkers if *checked* is set; return whether the run ended within *seconds*."""
        with self._room() as room:
            folder = Path(room)
            request, report = self._request(problem, source, folder), folder / "findings.json"
            words = [sys.executable, str(CHILD), str(request)]
            if checked:
                check = [sys.executable, "-m", "mlusim", "check", "--format", "json", "-o", str(report)]
                words = [*check, words[0], "--", *words[1:]]
            code, said = self._call(words, seconds)
            if code is None and checked:
                return False
            settle(verdict, folder, code, said, seconds)
            if report.is_file() and verdict.outcome != "not built":
                findings = json.loads(report.read_text(encoding="utf-8"))["findings"]
                verdict.findings = dict(Counter(finding["id"] for finding in findings))
                for finding in findings:
                    shown = f"{Path(str(finding.get('file'))).name}:{finding.get('line')}: {finding.get('message')}"
                    verdict.examples.setdefault(finding["id"], shown)
        return True

    def _room(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(dir=self.cache, prefix="run-", ignore_cleanup_errors=True)

    def _request(self, problem: Problem, source: str, folder: Path) -> Path:
        """Write the child's request."""
        kernel, solution = folder / f"{problem.name}.mlu", folder / "solution.py"
        kernel.write_text(source, encoding="utf-8")
        solution.write_text(problem.solution(kernel), encoding="utf-8")
        request = folder / "request.json"
        words = {
            "reference": str(problem.reference()),
            "source": str(kernel),
            "solution": str(solution),
            "seed": self.seed,
            "seconds": self.timeout,
            "memory": MEMORY,
            "writable": str(self.cache),
        }
        request.write_text(json.dumps(words), encoding="utf-8")
        return request

    def _call(self, words: Sequence[str], seconds: float) -> tuple[int | None, str]:
        """Return the exit code, None after running out of time, and the output."""
        paths = [str(self.toolkit / "python"), str(Path(__file__).parents[2])]
        more = {
            "NEUWARE_HOME": str(self.toolkit),
            "PYTHONPATH": os.pathsep.join(paths),
            "MLUSIM_CACHE": str(self.cache / "kept"),
            "TMPDIR": str(self.cache),
            "OPENBLAS_NUM_THREADS": "1",
        }
        if self.boards:
            more["MLUSIM_BOARD"] = self.boards
        with (
            tempfile.TemporaryFile(dir=self.cache) as said,
            subprocess.Popen(  # noqa: S603 - this very interpreter
                words, stdout=said, stderr=said, env=os.environ | more, start_new_session=True
            ) as process,
        ):
            try:
                code: int | None = process.wait(seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            said.seek(0)
            return code, said.read().decode("utf-8", "replace")


def no_kernel(source: str) -> str:
    """Return why a submission is not a kernel, as far as its text shows, or ""."""
    text = _COMMENT.sub("", source)
    called = list(dict.fromkeys(_LIBRARY.findall(text)))
    work = [name for name in called if not re.match(r"cnnl(?:Create|Destroy|Set|Get)", name)]
    if work:
        return f"calls {', '.join(work)} of the closed library"
    return "" if _KERNEL.search(text) else "launches nothing: the host does it"


def settle(verdict: Verdict, folder: Path, code: int | None, said: str, timeout: float) -> None:
    """Fill in *verdict* from the child's files in *folder*, its exit code and its output."""
    path = folder / "told.json"
    told: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    verdict.time = told.get("time")
    if told.get("step") != "done":
        steps = {"build": "not built", "run": "fails"}
        verdict.outcome = (
            "out of time" if code is None else steps.get(told.get("step", ""), "reference fails")
        )
        verdict.remark = f"takes longer than {timeout:.0f} s" if code is None else reason(said, code)
        return
    expected, actual = _arrays(folder / "expected"), _arrays(folder / "actual")
    limit = LIMITS.get(_problem(verdict.name), LIMIT)
    verdict.outcome, remarks, apart = "wrong", [], [verdict.apart]
    try:
        verdict.difference = difference(verdict.name, expected, actual)
        verdict.outcome = "right" if verdict.difference < limit else "wrong"
    except ValueError as error:
        remarks.append(str(error))
    if any(array.any() for array in expected) and not any(array.any() for array in actual):
        apart.append("returns zeros")
    if replaced := told["replaced"]:
        (remarks if verdict.outcome == "right" else apart).append(f"replaces {', '.join(replaced)}")
        with contextlib.suppress(ValueError):
            other = difference(verdict.name, _arrays(folder / "changed"), actual)
            if verdict.outcome == "wrong":
                remarks.append(f"{other:.3g} from the reference that it leaves")
                if other < limit:
                    verdict.outcome = OTHERWISE
    if told["written"]:
        remarks.append(f"writes {told['written']} of its inputs")
    verdict.apart, verdict.remark = "; ".join(filter(None, apart)), "; ".join(remarks)


def _problem(title: str) -> str:
    """Return the name of the problem without the number that may precede it in a file name."""
    return re.sub(r"^\d{3}_", "", title)


def reason(said: str, code: int) -> str:
    """Return the line of a failed child's output that gives the reason."""
    lines = [_FOLDERS.sub("", line.strip()) for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"(?:^|\s)(?:error|\w*Error|\w*Exception): ", line)]
    if errors:
        return errors[-1]
    return f"ended by {signal.Signals(-code).name}" if code < 0 else (lines or ["it says nothing"])[-1]


def _arrays(path: Path) -> list[np.ndarray]:
    files = sorted(path.glob("*.npy"), key=lambda file: int(file.stem))
    return [np.load(file, mmap_mode="r") for file in files]


def difference(name: str, expected: list[np.ndarray], actual: list[np.ndarray]) -> float:
    """Return the largest difference, as the contest's own tester computes it: indices among equal values and signs of vectors do not count.

    Raises `ValueError` if the numbers or shapes of the results differ.
    """
    name = _problem(name)
    if name in ("TopK", "Max_Pool_2D_with_indices"):
        expected, actual = expected[:1], actual[:1]
        if actual and actual[0].ndim == expected[0].ndim + 1:
            actual = [actual[0][0]]  # the tester takes the first result, and may get a bare tensor
    if name == "SVD_decomposition" and len(actual) == len(expected):
        expected, actual = (
            [s, (u * s[..., None, :]) @ v]
            for u, s, v in (expected, [array.astype(np.float32) for array in actual])
        )
    if len(expected) != len(actual):
        raise ValueError(f"{len(actual)} results instead of {len(expected)}")
    return max(map(_apart, expected, actual), default=0.0)


def _apart(expected: np.ndarray, actual: np.ndarray) -> float:
    if expected.shape != actual.shape:
        raise ValueError(f"a result of {list(actual.shape)} instead of {list(expected.shape)}")
    if not expected.size:
        return 0.0
    worst, a, b = 0.0, expected.reshape(-1), actual.reshape(-1)
    for start in range(0, a.size, _PART):
        wanted, other = (side[start : start + _PART] for side in (a, b))
        with np.errstate(invalid="ignore", over="ignore"):
            same = wanted == other  # infinities are equal
            far = np.abs(wanted.astype(np.float64) - other.astype(np.float64))
            if other.dtype == np.float16:  # the nearest half, up to the error of sums in single precision
                same |= far <= 0.505 * np.spacing(np.abs(other)).astype(np.float64)
        here = float(np.where(same, 0.0, far).max())
        worst = max(worst, math.inf if math.isnan(here) else here)
    return worst
