"""Findings as JUnit XML: one test case for each run and checker, which fails where the checker found something."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence

from attrs import frozen

from mlusim.check.findings import Checked, CheckReport, fold
from mlusim.counted import counted, plural
from mlusim.observe.finding import NOTE, Finding

_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@frozen
class _Test:
    """A test case: its name, what it failed with (type, message, text), and what it has to say besides."""

    name: str
    failure: tuple[str, str, str] | None = None
    remark: str = ""
    skipped: str = ""


def junit(report: CheckReport) -> str:
    """Return the XML document of *report*: a suite for each run, a case for each checker."""
    suites = [(run.name, run.program, list(_tests(run, report.checkers))) for run in report.runs]
    root = ET.Element("testsuites", name="mlusim check")
    for name, program, tests in suites:
        suite = ET.SubElement(root, "testsuite", {"name": _legal(name)} | _counts(tests))
        for test in tests:
            _add(suite, test, program)
    for key, value in _counts([test for _, _, tests in suites for test in tests]).items():
        root.set(key, value)
    if report.remarks and suites:
        ET.SubElement(root[-1], "system-out").text = _legal("\n".join(str(note) for note in report.remarks))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _counts(tests: Sequence[_Test]) -> dict[str, str]:
    failures = sum(test.failure is not None for test in tests)
    skipped = sum(bool(test.skipped) for test in tests)
    return {"tests": str(len(tests)), "failures": str(failures), "errors": "0", "skipped": str(skipped)}


def _add(suite: ET.Element, test: _Test, program: str) -> None:
    case = ET.SubElement(suite, "testcase", classname=_legal(program), name=_legal(test.name))
    if test.failure is not None:
        kind, message, text = (_legal(part) for part in test.failure)
        ET.SubElement(case, "failure", type=kind, message=message).text = text
    elif test.skipped:
        ET.SubElement(case, "skipped", message=_legal(test.skipped))
    if test.remark:
        ET.SubElement(case, "system-out").text = _legal(test.remark)


def _tests(run: Checked, checkers: Sequence[str]) -> Iterator[_Test]:
    """Yield a test for each checker, for each other who found something, and for what else went wrong."""
    by_checker: dict[str, list[Finding]] = {name: [] for name in checkers}
    for finding in fold(run.findings):
        by_checker.setdefault(_checker(finding.id, checkers), []).append(finding)
    for checker, found in by_checker.items():
        errors = [finding for finding in found if finding.level != NOTE]
        notes = "\n".join(str(finding) for finding in found if finding.level == NOTE)
        blind = bool(run.launches) and dict(run.unchecked).get(checker) == run.launches
        skipped = (
            f"{checker} saw nothing to check in {counted(run.launches, 'launch', 'launches')}"
            if blind and not found
            else ""
        )
        yield _Test(checker, _failure(errors) if errors else None, notes, skipped)
    if run.problem:
        yield _Test("outcome", ("outcome", run.problem, run.problem))


def _checker(rule: str, checkers: Sequence[str]) -> str:
    own = (name for name in checkers if rule == name or rule.startswith(f"{name}-"))
    return next(own, rule.partition("-")[0])


def _failure(errors: Sequence[Finding]) -> tuple[str, str, str]:
    first, *others = errors
    more = f" (and {len(others)} more)" if others else ""
    return first.id, f"{first.message}{more}", "\n".join(_line(finding) for finding in errors)


def _line(finding: Finding) -> str:
    times = "" if finding.count == 1 else f", {finding.count} {plural(finding.count, 'time')}"
    return f"{finding}{times}"


def _legal(text: str) -> str:
    """*text* without the characters that XML cannot hold."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
