"""One problem: run in processes of its own, compared with its reference."""

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
"""By the reference that a submission leaves, whose functions it has replaced, and not by the true one."""
CHILD = Path(__file__).with_name("child.py")
MEMORY = 16 << 30
_PART = 1 << 22  # elements that are compared at once: a result may have 6 GB
_LIBRARY = re.compile(r"\bcnnl(?!Handle)[A-Z]\w*(?=\s*\()")
_COMMENT = re.compile(r"//.*?$|/\*.*?\*/", re.MULTILINE | re.DOTALL)
_FOLDERS = re.compile(r"(?:[^\s/:(]*/)+(?=[^\s/:]+\.mlu\b)")  # of a source: only its name is the submission's
_KERNEL = re.compile(r"<<<")


@define
class Verdict:
    """How a problem went: "right", `OTHERWISE`, "wrong", "fails", "out of time" or "not built", with what it says.

    *apart* is why a submission is not a kernel, empty where it is one; one that is right by the true reference is a kernel, whatever
    it replaces besides.
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
    """How a problem went in the kit's tester, and the seconds of CPU: with the build, and again without."""

    name: str
    outcome: str
    first: float
    second: float


@frozen
class Court:
    """Where submissions run: with a toolkit folder, beneath *cache*, *timeout* seconds each, on *boards*."""

    toolkit: Path
    cache: Path
    timeout: float
    boards: str = ""
    seed: int = 0

    def judge(self, problem: Problem, check: float = 0) -> Verdict:
        """Run, and compare; under all checkers where that ends within *check* seconds, else without them."""
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
        """Run the kit's own tester, unchanged, twice: the first time builds, the second finds what was built."""
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
        """Run once and fill in *verdict*; with *checked*, only where it ends within *seconds*, which is returned."""
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
        """Write what the child reads."""
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
        """The exit code, None where it ran out of time, and what was said."""
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
    """Why a submission is not a kernel, as far as its text tells."""
    text = _COMMENT.sub("", source)
    called = list(dict.fromkeys(_LIBRARY.findall(text)))
    work = [name for name in called if not re.match(r"cnnl(?:Create|Destroy|Set|Get)", name)]
    if work:
        return f"calls {', '.join(work)} of the closed library"
    return "" if _KERNEL.search(text) else "launches nothing: the host does it"


def settle(verdict: Verdict, folder: Path, code: int | None, said: str, timeout: float) -> None:
    """Fill in *verdict* from what the child left in *folder*, its exit code and its words."""
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
    """Return the name of the problem, before which a file may have its number."""
    return re.sub(r"^\d{3}_", "", title)


def reason(said: str, code: int) -> str:
    """The one line of a failed child's words that says why."""
    lines = [_FOLDERS.sub("", line.strip()) for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"(?:^|\s)(?:error|\w*Error|\w*Exception): ", line)]
    if errors:
        return errors[-1]
    return f"ended by {signal.Signals(-code).name}" if code < 0 else (lines or ["it says nothing"])[-1]


def _arrays(path: Path) -> list[np.ndarray]:
    files = sorted(path.glob("*.npy"), key=lambda file: int(file.stem))
    return [np.load(file, mmap_mode="r") for file in files]


def difference(name: str, expected: list[np.ndarray], actual: list[np.ndarray]) -> float:
    """The largest difference, as the contest's own tester takes it: indices among equals and signs of vectors do not count.

    Raises `ValueError` where numbers or shapes of results differ.
    """
    name = _problem(name)
    if name in ("TopK", "Max_Pool_2D_with_indices"):
        expected, actual = expected[:1], actual[:1]
        if actual and actual[0].ndim == expected[0].ndim + 1:
            actual = [
                actual[0][0]
            ]  # the tester takes the first of what it is given, and may be given a tensor
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
            if (
                other.dtype == np.float16
            ):  # no other number of half is nearer, but for what sums in single precision are off
                same |= far <= 0.505 * np.spacing(np.abs(other)).astype(np.float64)
        here = float(np.where(same, 0.0, far).max())
        worst = max(worst, math.inf if math.isnan(here) else here)
    return worst
