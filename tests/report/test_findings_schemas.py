"""Documents of findings, of every rule, against their schemas: the one of ``check --json``, SARIF 2.1.0, JUnit."""

import json
import re
import runpy
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from mlusim.check.findings import Checked, CheckReport
from mlusim.check.formats import junit, sarif
from mlusim.document import json_text
from mlusim.errors import Fault
from mlusim.observe.checker import Allowed
from mlusim.observe.collect import collecting
from mlusim.observe.rules import RULES

ROOT = Path(__file__).parents[2]
RULE_PAGES = ROOT / "docs" / "reference" / "rules"


def schema(path):
    """The validator of the schema in *path*."""
    read = json.loads(path.read_text())
    Draft202012Validator.check_schema(read)
    return Draft202012Validator(read)


JSON = schema(ROOT / "docs" / "reference" / "schemas" / "check.schema.json")
SARIF = schema(Path(__file__).parent / "sarif-2.1.0.schema.json")
JUNIT = schema(Path(__file__).parent / "junit.schema.json")
PROGRAMS = [rule for rule in RULES if "```python" in (RULE_PAGES / f"{rule}.md").read_text()]


def as_lists(element):
    """An XML element as a schema of JSON can look at it."""
    return [element.tag, dict(element.attrib), [as_lists(below) for below in element], element.text or ""]


def report_on(rule, folder, monkeypatch):
    """What all checkers say of the program that has *rule*, each finding once more as an accepted one."""
    program = re.findall(r"```python\n(.*?)```", (RULE_PAGES / f"{rule}.md").read_text(), re.DOTALL)[0]
    monkeypatch.chdir(folder)
    Path("kernel.py").write_text(program)
    with collecting(notes=True) as collector:
        try:
            runpy.run_path("kernel.py")
        except Fault as fault:
            collector.add(fault)
    found = tuple(collector.found)
    accepted = tuple(Allowed(finding, "because") for finding in found)
    run = Checked(
        "kernel.py",
        None,
        "MLU370-X4",
        found,
        accepted,
        collector.launches,
        len(collector.faults),
        "",
        accepted,
    )
    return CheckReport(("memcheck",), (run, Checked("op", problem="it failed")))


@pytest.mark.parametrize("rule", PROGRAMS)
def test_documents_are_as_their_schemas_say(rule, tmp_path, monkeypatch):
    """Every property is known, of its type, and there where it must be."""
    report = report_on(rule, tmp_path, monkeypatch)

    assert [] == [e.message for e in JSON.iter_errors(json.loads(json_text(report.to_json())))]
    assert [] == [
        e.message for e in SARIF.iter_errors(json.loads(json_text(sarif(report, "0.1.0", tmp_path))))
    ]
    assert [] == [e.message for e in JUNIT.iter_errors(as_lists(ET.fromstring(junit(report))))]  # noqa: S314


def test_the_schemas_refuse_what_is_wrong():
    """A property more, one less, one of another type."""
    report = CheckReport(("memcheck",), (Checked("op"),))
    document, log = report.to_json(), sarif(report, "0.1.0", ROOT)

    assert JSON.is_valid(document)
    assert SARIF.is_valid(log)
    assert not JSON.is_valid(document | {"more": 1})
    assert not JSON.is_valid({key: value for key, value in document.items() if key != "runs"})
    assert not JSON.is_valid(document | {"launches": "1"})
    assert not SARIF.is_valid(log | {"version": "2.0.0"})
    assert not SARIF.is_valid(log | {"runs": [{}]})
    assert JUNIT.is_valid(as_lists(ET.fromstring(junit(report))))  # noqa: S314
    assert not JUNIT.is_valid(as_lists(ET.fromstring(junit(report).replace("testcase", "case"))))  # noqa: S314
    assert not JUNIT.is_valid(as_lists(ET.fromstring(junit(report).replace(' name="', ' title="'))))  # noqa: S314
