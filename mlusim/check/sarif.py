"""Findings as SARIF 2.1.0, which code hosts and editors show beside the lines.

Source: the OASIS standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlusim
from mlusim.check.findings import CheckReport
from mlusim.observe.checker import Allowed
from mlusim.observe.finding import Finding, RelatedPlace, columns
from mlusim.observe.rules import RULES

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "SRCROOT"
PAGES = "docs/reference/rules"
LEVELS = ("error", "warning", "note", "none")


def sarif(report: CheckReport, version: str, root: Path) -> dict[str, Any]:
    """Return the log of *report*, made by mlusim *version*; files below *root* get relative addresses."""
    apart = [("inSource", a) for a in report.allowed] + [("external", a) for a in report.accepted]
    every = [*report.findings, *(a.finding for _, a in apart)]
    rules = list(dict.fromkeys(finding.id for finding in every))
    # The last level of a rule counts; all findings of a rule have the same but where a checker raises one.
    levels = {finding.id: finding.level for finding in every}
    results = [_result(finding, rules, root) for finding in report.findings]
    results += [_suppressed(kind, a, rules, root) for kind, a in apart]
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
    known = RULES.get(rule)
    summary = known.summary if known else rule.replace("-", " ")
    page = rule_page(rule) if known else None
    described: dict[str, Any] = {
        "id": rule,
        "shortDescription": {"text": summary},
        "defaultConfiguration": {"level": _level(known.level if known else level)},
    }
    if page is None:
        return described | {"help": {"text": f"{summary[:1].upper()}{summary[1:]}."}}
    text = page.read_text(encoding="utf-8")
    # The summary of a page stands between its title and its first section.
    about = " ".join(text.partition("\n")[2].partition("\n## ")[0].split())
    return described | {"helpUri": page.as_uri(), "help": {"text": about, "markdown": text}}


def rule_page(rule: str) -> Path | None:
    """Return the page of *rule*, installed with mlusim or beside it in the repository; None: not there."""
    package = Path(mlusim.__file__).resolve().parent
    found = (folder / f"{rule}.md" for folder in (package / "rule_pages", package.parent / PAGES))
    return next((page for page in found if page.is_file()), None)


def _level(level: str) -> str:
    return level if level in LEVELS else "error"


def _result(finding: Finding, rules: list[str], root: Path) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.id,
        "ruleIndex": rules.index(finding.id),
        "level": _level(finding.level),
        "message": {"text": _message(finding)},
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
        result["relatedLocations"] = [_related(place, root) for place in finding.places]
    return result


def _suppressed(kind: str, allowed: Allowed, rules: list[str], root: Path) -> dict[str, Any]:
    suppression = {"kind": kind, "justification": allowed.reason}
    return _result(allowed.finding, rules, root) | {"suppressions": [suppression]}


def _message(finding: Finding) -> str:
    parts = [finding.message, *finding.context, finding.note, finding.hint and f"Hint: {finding.hint}"]
    return "\n".join(part for part in parts if part)


def _fingerprint(finding: Finding) -> str:
    """Build an identity that stays when lines move: the rule, the file's name, the kernel, the intrinsic."""
    # No line and no message: a code host would take a finding for a new one whenever lines are added above.
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
    """Return the address of *file*: relative to *root*, or absolute."""
    path = root.absolute() / file
    base = root.absolute().as_uri().rstrip("/") + "/"
    address = path.as_uri()
    if address.startswith(base):
        return {"uri": address.removeprefix(base), "uriBaseId": ROOT}
    return {"uri": address}


def _related(place: RelatedPlace, root: Path) -> dict[str, Any]:
    return {
        "physicalLocation": _location(place.file, place.line, None, root),
        "message": {"text": place.told},
    }
