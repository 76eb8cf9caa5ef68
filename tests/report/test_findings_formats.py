"""Findings as text, JSON, SARIF and JUnit: structure by the formats' own rules, and nothing lost."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given, strategies as st

from mlusim.check.findings import Checked, CheckReport, fold
from mlusim.check.formats import findings_text, junit, sarif
from mlusim.document import json_text
from mlusim.observe.checker import Allowed
from mlusim.observe.finding import Finding, RelatedPlace

HERE = str(Path(__file__))
ROOT = Path(__file__).parents[2]
RACE = Finding(
    "racecheck-read-after-write",
    "reads bytes [0, 16) at 0x200000",
    file=HERE,
    line=5,
    task=3,
    intrinsic="bang_add",
    kernel="forgets",
    context=("it runs on the vector pipe",),
    places=(RelatedPlace(HERE, 7, "was issued"),),
    hint="put mlu.sync_io() before line 5",
    count=2,
)
NOTE = Finding("memcheck-lanes-wasted", "5 lanes idle", file="/elsewhere/k.py", line=9, level="note")
BARE = Finding("theirs", "something is odd")
REPORT = CheckReport(
    ("memcheck", "racecheck"),
    (
        Checked("op", "one", "MLU370-X4", (RACE, NOTE), (Allowed(evolve(RACE, line=6), "known"),), 2),
        Checked(
            "op",
            "two",
            "MLU370-X4",
            (evolve(RACE, message="reads bytes [0, 32) at 0x300000"), BARE),
            (),
            1,
            1,
        ),
        Checked("op", "three", "MLU370-X4", launches=1, problem="the output y is not accurate enough"),
    ),
    (Finding("suppression-unused", "covers nothing", file="s.toml", line=3, level="note"),),
)
CLEAN = CheckReport(("memcheck",), (Checked("op", "one", "MLU370-X4", launches=1),))

SARIF_LEVELS = {"none", "note", "warning", "error"}


def check_sarif(log):
    """Assert what the SARIF 2.1.0 specification requires of a log (sections 3.13 to 3.52)."""
    assert {"$schema", "version", "runs"} == log.keys()
    assert "2.1.0" == log["version"]
    for run in log["runs"]:
        assert isinstance(run["tool"]["driver"]["name"], str)
        assert re.fullmatch(r"\d+\.\d+\.\d+.*", run["tool"]["driver"]["semanticVersion"])
        assert all(isinstance(i["executionSuccessful"], bool) for i in run["invocations"])
        rules = run["tool"]["driver"]["rules"]
        assert len(rules) == len({rule["id"] for rule in rules})
        assert all(rule["shortDescription"]["text"] for rule in rules)
        assert all(rule["defaultConfiguration"]["level"] in SARIF_LEVELS for rule in rules)
        assert all(base["uri"].endswith("/") for base in run["originalUriBaseIds"].values())
        for result in run["results"]:
            check_result(result, rules, run["originalUriBaseIds"])


def check_result(result, rules, bases):
    """Assert what the specification requires of a result."""
    assert result["message"]["text"]
    assert result["ruleId"] == rules[result["ruleIndex"]]["id"]
    assert result["level"] in SARIF_LEVELS
    assert result["occurrenceCount"] >= 1
    assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
    for suppression in result.get("suppressions", ()):
        assert suppression["kind"] in {"inSource", "external"}
        assert suppression["justification"]
    for location in (*result.get("locations", ()), *result.get("relatedLocations", ())):
        artifact = location["physicalLocation"]["artifactLocation"]
        assert " " not in artifact["uri"]
        assert artifact["uri"].startswith("file:///") or artifact["uriBaseId"] in bases
        assert location["physicalLocation"].get("region", {"startLine": 1})["startLine"] >= 1


def check_junit(text):
    """Assert the structure that readers of JUnit XML rely on; return the root."""
    root = ET.fromstring(text)  # noqa: S314 - made above
    assert "testsuites" == root.tag
    for suite in root:
        assert "testsuite" == suite.tag
        cases = suite.findall("testcase")
        assert str(len(cases)) == suite.get("tests")
        assert str(len(suite.findall("testcase/failure"))) == suite.get("failures")
        assert len(cases) == len({(case.get("classname"), case.get("name")) for case in cases})
        for case in cases:
            assert {"failure", "system-out"} >= {part.tag for part in case}
            assert all(f.get("type") and f.get("message") for f in case.findall("failure"))
    for count in ("tests", "failures", "errors", "skipped"):
        assert root.get(count) == str(sum(int(suite.get(count)) for suite in root))
    return root


def test_findings_of_a_kind_fold_with_their_counts():
    """Addresses and sizes may differ; the statement, the kernel and the words may not."""
    other = evolve(RACE, message="reads bytes [0, 32) at 0x300000", count=5)
    elsewhere = evolve(RACE, kernel="another")

    assert [("forgets", 7), ("another", 2)] == [(f.kernel, f.count) for f in fold([RACE, other, elsewhere])]


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 9)), max_size=12))
def test_folding_loses_no_count_and_is_done_once(rows):
    """The sum of the counts stays; folding what is folded changes nothing."""
    found = [evolve(RACE, line=line, count=count) for line, count in rows]
    folded = fold(found)

    assert sum(count for _, count in rows) == sum(f.count for f in folded)
    assert len({line for line, _ in rows}) == len(folded)
    assert folded == fold(folded)


def test_the_report_counts_what_is_different():
    """Errors, notes and faults over all runs; remarks count as what they are."""
    assert (2, 2, 1, 4) == (REPORT.errors, REPORT.notes, REPORT.faults, REPORT.launches)
    assert (False, True) == (REPORT.clean, CLEAN.clean)
    assert [("known", 2)] == [(a.reason, a.finding.count) for a in REPORT.allowed]


@pytest.mark.parametrize(
    "changes",
    [{"findings": (RACE,)}, {"faults": 1}, {"problem": "wrong"}],
    ids=["finding", "fault", "problem"],
)
def test_any_error_makes_it_unclean(changes):
    """Each of the three is enough; a note is not."""
    assert not evolve(CLEAN, runs=(evolve(CLEAN.runs[0], **changes),)).clean
    assert evolve(CLEAN, runs=(evolve(CLEAN.runs[0], findings=(NOTE,)),)).clean


def test_text_has_the_source_line_a_caret_and_the_hint():
    """A person sees where, how often, and what to do; the last line sums up."""
    text = findings_text(REPORT)

    assert "error: racecheck-read-after-write\n× reads bytes [0, 16) at 0x200000\n" in text
    assert re.search(
        r":5, task 3, kernel forgets, 4 times\n      import xml\.etree\.ElementTree as ET\n      \^{34}\n",
        text,
    )
    assert "hint: put mlu.sync_io() before line 5\n" in text
    assert "failed: op three on MLU370-X4: the output y is not accurate enough\n" in text
    assert text.endswith(
        "2 findings, 2 notes, 1 fault, 1 suppressed in 4 launches of 3 runs, checked by memcheck, racecheck.\n"
    )


def test_clean_text_is_one_line():
    """The sentence where nothing was found names what was checked, and by which checkers."""
    assert "no findings in 1 launch of 1 run, checked by memcheck.\n" == findings_text(CLEAN)


def test_json_has_every_fact():
    """The document tells the counts, each finding once, what is accepted with its reason, and each run."""
    document = json.loads(json_text(REPORT.to_json()))

    assert ["memcheck-lanes-wasted", "racecheck-read-after-write", "suppression-unused", "theirs"] == sorted(
        f["id"] for f in document["findings"]
    )
    assert (False, 2, 2, 1) == tuple(document[key] for key in ("clean", "errors", "notes", "faults"))
    assert ["known"] == [f["reason"] for f in document["suppressed"]]
    assert [("one", 1, 0), ("two", 2, 1), ("three", 0, 0)] == [
        (run["case"], run["findings"], run["faults"]) for run in document["runs"]
    ]


@pytest.mark.parametrize("report", [REPORT, CLEAN], ids=["findings", "clean"])
def test_sarif_is_as_the_specification_requires(report):
    """Required properties, legal values, rules that results refer to."""
    log = json.loads(json_text(sarif(report, "0.1.0", ROOT)))

    check_sarif(log)
    assert len(report.findings) + len(report.allowed) == len(log["runs"][0]["results"])


def test_sarif_names_places_relative_to_the_root():
    """A code host finds the file; one outside of the root has its whole address."""
    results = sarif(REPORT, "0.1.0", ROOT)["runs"][0]["results"]
    by_rule = {r["ruleId"]: r for r in reversed(results)}
    race = by_rule["racecheck-read-after-write"]

    assert {
        "artifactLocation": {"uri": "tests/report/test_findings_formats.py", "uriBaseId": "SRCROOT"},
        "region": {"startLine": 5, "startColumn": 1, "endColumn": 35},
    } == race["locations"][0]["physicalLocation"]
    assert ("error", 4, "was issued") == (
        race["level"],
        race["occurrenceCount"],
        race["relatedLocations"][0]["message"]["text"],
    )
    note = by_rule["memcheck-lanes-wasted"]["locations"][0]["physicalLocation"]
    assert {"uri": "file:///elsewhere/k.py"} == note["artifactLocation"]
    assert "locations" not in by_rule["theirs"]


def test_sarif_tells_columns_and_what_a_rule_is_about(tmp_path):
    """The call below the caret; the rule's page as address and text; of a third party's rule what there is."""
    file = tmp_path / "k.py"
    file.write_text("def k(mlu):\n    ä = 1; mlu.bang_add(a, a, a, 4)  # here\n")
    finding = evolve(RACE, file=str(file), line=2)
    log = sarif(CheckReport((), (Checked("op", findings=(finding, BARE)),)), "0.1.0", tmp_path)
    result = next(result for result in log["runs"][0]["results"] if "locations" in result)
    rules = {rule["id"]: rule for rule in log["runs"][0]["tool"]["driver"]["rules"]}
    known = rules["racecheck-read-after-write"]

    assert {"startLine": 2, "startColumn": 12, "endColumn": 24} == result["locations"][0]["physicalLocation"][
        "region"
    ]
    assert known["helpUri"].startswith("file:///")
    assert known["helpUri"].endswith("/racecheck-read-after-write.md")
    assert known["help"]["markdown"].startswith("# racecheck-read-after-write")
    assert "#" not in known["help"]["text"]
    assert ("Theirs.", None) == (rules["theirs"]["help"]["text"], rules["theirs"].get("helpUri"))


def test_sarif_sets_accepted_findings_apart():
    """Only what is accepted carries a suppression: in the source for a comment, external for a file."""
    run = Checked("op", allowed=(Allowed(RACE, "a comment"),), accepted=(Allowed(BARE, "a file"),))
    results = sarif(evolve(CLEAN, runs=(run, Checked("op", findings=(NOTE,)))), "0.1.0", ROOT)["runs"][0][
        "results"
    ]

    assert [
        ("memcheck-lanes-wasted", []),
        ("racecheck-read-after-write", [{"kind": "inSource", "justification": "a comment"}]),
        ("theirs", [{"kind": "external", "justification": "a file"}]),
    ] == [(r["ruleId"], r.get("suppressions", [])) for r in results]


def test_what_is_accepted_is_counted_and_told_with_its_reason():
    """Comments and suppressions alike, in text and JSON."""
    run = Checked(
        "op", allowed=(Allowed(RACE, "a comment"),), accepted=(Allowed(BARE, "a file"),), launches=1
    )
    report = evolve(CLEAN, runs=(run,))

    assert findings_text(report).startswith("no findings, 2 suppressed in 1 launch of 1 run")
    assert ["a comment", "a file"] == [f["reason"] for f in report.to_json()["suppressed"]]


def test_a_fingerprint_survives_moved_lines():
    """A line inserted above makes no new finding of an old one; another kernel does."""

    def printed(**changes):
        report = evolve(CLEAN, runs=(evolve(CLEAN.runs[0], findings=(evolve(RACE, **changes),)),))
        return sarif(report, "0.1.0", ROOT)["runs"][0]["results"][0]["partialFingerprints"]

    assert printed() == printed(line=50, message="reads other bytes")
    assert printed() != printed(kernel="another")


def test_junit_fails_where_a_checker_found_something():
    """A suite for each run, a case for each checker; notes fail nothing."""
    root = check_junit(junit(REPORT))
    failed = {
        (s.get("name"), c.get("name"))
        for s in root
        for c in s.iter("testcase")
        if c.find("failure") is not None
    }

    assert {
        ("op one on MLU370-X4", "racecheck"),
        ("op two on MLU370-X4", "racecheck"),
        ("op two on MLU370-X4", "theirs"),
        ("op three on MLU370-X4", "outcome"),
    } == failed
    assert ("8", "4") == (root.get("tests"), root.get("failures"))
    assert "5 lanes idle" in root.find("testsuite/testcase[@name='memcheck']/system-out").text


def test_clean_junit_has_no_failure():
    """Every checker is a case that passed."""
    assert ("1", "0") == tuple(check_junit(junit(CLEAN)).get(key) for key in ("tests", "failures"))


@given(st.text())
def test_any_text_makes_legal_xml(message):
    """Characters that XML cannot hold, quotes and tags do no harm."""
    report = evolve(CLEAN, runs=(evolve(CLEAN.runs[0], findings=(evolve(BARE, message=message + "."),)),))
    root = check_junit(junit(report))

    assert "1" == root.get("failures")


def test_findings_fold_by_their_cause():
    """Other sizes and tasks are the same finding again; another operand, region or statement is another one."""

    def found(size, region, line):
        facts = {"bytes": size, "region": region}
        return Finding(
            "plancheck-slack",
            f"{size} bytes",
            file="k.py",
            line=1,
            facts=facts,
            places=(RelatedPlace("k.py", line, "x"),),
        )

    every = [found(4, "x", 7), found(8, "x", 7), found(4, "y", 7), found(4, "x", 9)]

    assert [2, 1, 1] == [finding.count for finding in fold(every)]
