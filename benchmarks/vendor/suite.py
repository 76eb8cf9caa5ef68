"""One case of the vendor's test program and its result."""

import json
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from attrs import define, field

from benchmarks.timing import cpu_of
from benchmarks.vendor.checkout import Checkout

_PATH = re.compile(r"\[\^ +(?:OK|FAILED) \] \S*?([^/\s]+)/test_?case/(\S+?)\.(?:prototxt|pb)\b")
_NUMBER = re.compile(r"^\[MLU (Hardware Time|IO Efficiency|Compute Efficiency) *\]: ([-+.\w]+)", re.MULTILINE)
_DIFFERENCE = re.compile(r"^DIFF\w+: ([-+.\de]+)", re.MULTILINE)
_REASON = re.compile(
    r"^(?:error: .*|.*(?:is over DIFF|Exception|not supported|failed to open).*)", re.MULTILINE
)


@define
class CaseRun:
    """The result of a case (passed, failed, crashed or timed out), with the test program's output."""

    operator: str
    filter: str
    case: str = ""
    outcome: str = ""
    difference: float | None = None  # the largest result of the vendor's formulas
    hardware_us: float | None = None
    io_efficiency: float | None = None
    compute_efficiency: float | None = None
    seconds: float = 0.0
    cpu: float | None = None  # seconds of the test program and of its simulator
    remark: str = ""
    findings: dict[str, int] | None = None  # None: not run under the checkers
    examples: dict[str, str] = field(factory=dict)
    check_cpu: float | None = None  # seconds, under the checkers


def run_case(checkout: Checkout, operator: str, name: str, timeout: float) -> CaseRun:
    """Run the case that the filter *name* selects."""
    start = time.perf_counter()
    words = ["./mluop_gtest", f"--gtest_filter={name}"]
    (code, said), cpu = cpu_of(lambda: checkout.run(words, timeout))
    run = judged(operator, name, code, said)
    run.cpu = cpu
    run.seconds = time.perf_counter() - start
    return run


def judged(operator: str, name: str, code: int | None, said: str) -> CaseRun:
    """Return the result of a case that printed *said* and ended with *code*, None if it ran out of time."""
    run = CaseRun(operator, name)
    if path := _PATH.search(said):
        run.case = f"{path[1]}/{path[2]}"
    run.case = run.case or f"{operator}/{name.rpartition('/')[2]}"
    passed = code == 0 and "[  PASSED  ] 1 test" in said
    run.outcome = "timed out" if code is None else "passed" if passed else "crashed" if code < 0 else "failed"
    numbers = {key: float(value) for key, value in _NUMBER.findall(said)}
    run.hardware_us = numbers.get("Hardware Time")
    run.io_efficiency = numbers.get("IO Efficiency")
    run.compute_efficiency = numbers.get("Compute Efficiency")
    run.difference = max(map(float, _DIFFERENCE.findall(said)), default=None)
    if not passed:
        reason = _REASON.search(said)
        run.remark = (
            reason[0].removeprefix("error: ")
            if reason
            else (said.strip().splitlines() or ["nothing is said"])[-1]
        )
    return run


def check_case(checkout: Checkout, run: CaseRun, timeout: float) -> None:
    """Run the case of *run* again under all checkers, and store their findings."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "findings.json"
        words = [sys.executable, "-m", "mlusim", "check", "--format", "json", "-o", str(out)]
        words += ["./mluop_gtest", "--", f"--gtest_filter={run.filter}"]
        (code, said), run.check_cpu = cpu_of(lambda: checkout.run(words, timeout))
        if not out.is_file():
            run.remark = f"under checkers: {'timed out' if code is None else said.strip()[-200:]}"
            return
        findings = json.loads(out.read_text())["findings"]
    run.findings = dict(Counter(finding["id"] for finding in findings))
    run.examples = {}
    for finding in findings:
        run.examples.setdefault(
            finding["id"], f"{finding.get('file')}:{finding.get('line')}: {finding.get('message')}"
        )
