"""Findings as text for people, as JUnit XML for systems that run tests, and as SARIF for code hosts and editors."""

import hashlib
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen
from rich.console import Console, RenderableType
from rich.text import Text

from mlusim.check.findings import Checked, CheckReport, fold
from mlusim.counted import counted, plural
from mlusim.installing import shipped
from mlusim.observe.finding import NOTE, Finding, columns
from mlusim.observe.names import checkers
from mlusim.observe.rules import RULES

# -- text: each finding in the manner of pip, with its source line, then a summary ------------------------


def findings_text(report: CheckReport) -> str:
    """Return the report as text without colours and without line breaks for a width."""
    return rendered(renderables(report))


def rendered(parts: Iterable[RenderableType]) -> str:
    """Render *parts* with rich, one below the other, as text without colours."""
    file = io.StringIO()
    console = Console(file=file, width=200, highlight=False, emoji=False, markup=False, no_color=True)
    for part in parts:
        console.print(part, soft_wrap=True)
    return file.getvalue()


def renderables(report: CheckReport) -> Iterator[RenderableType]:
    """Yield the findings with blank lines between them, the problems, and the summary."""
    for finding in report.findings:
        yield finding
        yield ""
    for problem in report.problems:
        yield Text(f"failed: {problem}", style="bold red")
    yield Text(summary(report), style="green" if report.clean else "bold red")


def summary(report: CheckReport) -> str:
    """Return one line with the number of findings, faults, suppressed findings and launches, and the names of the checkers."""
    parts = [counted(report.errors, "finding") if report.errors else "no findings"]
    parts += [counted(report.notes, "note")] if report.notes else []
    parts += [counted(report.faults, "fault")] if report.faults else []
    suppressed = len(report.allowed) + len(report.accepted)
    parts += [f"{suppressed} suppressed"] if suppressed else []
    runs = f"{counted(report.launches, 'launch', 'launches')} of {counted(len(report.runs), 'run')}"
    if report.schedules:
        runs += f" and {counted(report.schedules, 'other schedule')}"
    return f"{', '.join(parts)} in {runs}, {_checked_by(report)}."


def _checked_by(report: CheckReport) -> str:
    """Return a phrase with the names of the checkers, and of those that lacked what they compare with: ``checked by memcheck; plancheck saw no plan``."""
    blind = {name: number for name, number in report.unchecked.items() if name in report.checkers}
    every = {name for name, number in blind.items() if number == report.launches}
    names = ", ".join(name for name in report.checkers if name not in every)
    told = [f"checked by {names}"] if names else ["checked by no checker"]
    for name, number in blind.items():
        where = "" if name in every else f" in {number} of {counted(report.launches, 'launch', 'launches')}"
        # What a launch must have for this checker, in one word.
        needs = getattr(checkers().get(name), "needs", "") or "subject"
        told.append(f"{name} saw no {needs}{where}")
    return "; ".join(told)


# -- JUnit: one test case for each run and checker, which fails if the checker has findings ---------------

_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@frozen
class _Test:
    """A test case: its name, its failure (type, message, text), and its remarks."""

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
    """Yield a test for each checker, for any other source of findings, and for the problem of the run."""
    by_checker: dict[str, list[Finding]] = {name: [] for name in checkers}
    for finding in fold(run.findings):
        # Names of checkers first: the name of another package's checker may contain a hyphen.
        named = (name for name in checkers if finding.id == name or finding.id.startswith(f"{name}-"))
        by_checker.setdefault(next(named, finding.id.partition("-")[0]), []).append(finding)
    for checker, findings in by_checker.items():
        errors = [finding for finding in findings if finding.level != NOTE]
        notes = "\n".join(str(finding) for finding in findings if finding.level == NOTE)
        blind = bool(run.launches) and dict(run.unchecked).get(checker) == run.launches
        skipped = (
            f"{checker} saw nothing to check in {counted(run.launches, 'launch', 'launches')}"
            if blind and not findings
            else ""
        )
        yield _Test(checker, _failure(errors) if errors else None, notes, skipped)
    if run.problem:
        yield _Test("outcome", ("outcome", run.problem, run.problem))


def _failure(errors: Sequence[Finding]) -> tuple[str, str, str]:
    first, *others = errors
    more = f" (and {len(others)} more)" if others else ""
    lines = (
        f"{finding}, {finding.count} {plural(finding.count, 'time')}" if finding.count != 1 else str(finding)
        for finding in errors
    )
    return first.id, f"{first.message}{more}", "\n".join(lines)


def _legal(text: str) -> str:
    """Return *text* without the characters that XML cannot hold."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


# -- SARIF 2.1.0, which code hosts and editors show beside the lines --------------------------------------
#
# Source: the OASIS standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "SRCROOT"
PAGES = "docs/reference/rules"
LEVELS = ("error", "warning", "note", "none")


def sarif(report: CheckReport, version: str, root: Path) -> dict[str, Any]:
    """Return the log of *report*, made by mlusim *version*; files below *root* get relative addresses."""
    apart = [("inSource", a) for a in report.allowed] + [("external", a) for a in report.accepted]
    every = [*report.findings, *(a.finding for _, a in apart)]
    rules = list(dict.fromkeys(finding.id for finding in every))
    # The last level of a rule counts; all findings of a rule have the same level unless a checker raises it.
    levels = {finding.id: finding.level for finding in every}
    results = [_result(finding, rules, root) for finding in report.findings]
    for kind, allowed in apart:
        suppression = {"kind": kind, "justification": allowed.reason}
        results.append(_result(allowed.finding, rules, root) | {"suppressions": [suppression]})
    run = {
        "tool": {
            "driver": {
                "name": "mlusim",
                "semanticVersion": version,
                "rules": [_rule(rule, levels[rule]) for rule in rules],
            }
        },
        "invocations": [{"executionSuccessful": report.faults == 0 and not report.problems}],
        "originalUriBaseIds": {ROOT: {"uri": f"{root.absolute().as_uri().rstrip('/')}/"}},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: str, level: str) -> dict[str, Any]:
    row = RULES.get(rule)
    summary = row.summary if row else rule.replace("-", " ")
    page = rule_page(rule) if row else None
    described: dict[str, Any] = {
        "id": rule,
        "shortDescription": {"text": summary},
        "defaultConfiguration": {"level": _level(row.level if row else level)},
    }
    if page is None:
        return described | {"help": {"text": f"{summary[:1].upper()}{summary[1:]}."}}
    text = page.read_text(encoding="utf-8")
    # The summary of a page is the text between its title and its first section.
    about = " ".join(text.partition("\n")[2].partition("\n## ")[0].split())
    return described | {"helpUri": page.as_uri(), "help": {"text": about, "markdown": text}}


def rule_page(rule: str) -> Path | None:
    """Return the page of *rule*, installed with mlusim or beside it in the repository; None if there is none."""
    return shipped(f"rule_pages/{rule}.md", f"{PAGES}/{rule}.md")


def _level(level: str) -> str:
    return level if level in LEVELS else "error"


def _result(finding: Finding, rules: list[str], root: Path) -> dict[str, Any]:
    parts = [finding.message, *finding.context, finding.note, finding.hint and f"Hint: {finding.hint}"]
    result: dict[str, Any] = {
        "ruleId": finding.id,
        "ruleIndex": rules.index(finding.id),
        "level": _level(finding.level),
        "message": {"text": "\n".join(part for part in parts if part)},
        "occurrenceCount": max(1, finding.count),
        "partialFingerprints": {"mlusimFinding/v1": _fingerprint(finding)},
        "properties": {
            key: value
            for key, value in (
                ("task", finding.task),
                ("kernel", finding.kernel),
                ("intrinsic", finding.intrinsic),
                ("hint", finding.hint),
            )
            if value is not None
        },
    }
    if finding.file is not None:
        result["locations"] = [
            {"physicalLocation": _location(finding.file, finding.line, finding.intrinsic, root)}
        ]
    if finding.places:
        result["relatedLocations"] = [
            {
                "physicalLocation": _location(place.file, place.line, None, root),
                "message": {"text": place.told},
            }
            for place in finding.places
        ]
    return result


def _fingerprint(finding: Finding) -> str:
    """Return an identity that stays the same when lines move: the rule, the file's name, the kernel, the intrinsic."""
    # Without line and message: otherwise a finding would be new to a code host whenever lines are added above
    # it.
    facts = (finding.id, Path(finding.file or "").name, finding.kernel or "", finding.intrinsic or "")
    return hashlib.sha256("\0".join(facts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _location(file: str, line: int | None, intrinsic: str | None, root: Path) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": _artifact(file, root)}
    # SARIF counts lines from 1; a region with another number makes code hosts refuse the whole file.
    if line is not None and line >= 1:
        location["region"] = {"startLine": line}
        ends = columns(str(root / file), line, intrinsic)
        if ends is not None:
            location["region"] |= {"startColumn": ends[0], "endColumn": ends[1]}
    return location


def _artifact(file: str, root: Path) -> Mapping[str, str]:
    """Return the URI of *file*: relative to *root* if it is below, otherwise absolute."""
    path = root.absolute() / file
    base = root.absolute().as_uri().rstrip("/") + "/"
    address = path.as_uri()
    if address.startswith(base):
        return {"uri": address.removeprefix(base), "uriBaseId": ROOT}
    return {"uri": address}
