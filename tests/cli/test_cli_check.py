"""``mlusim check``: operators and scripts under checkers, in every format, and its exit codes."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

SCRIPT = """
import sys

import numpy as np

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, kernel


@kernel
def copy(mlu, dst, src, wait, count):
    a = mlu.nram(float32, 4)
    mlu.memcpy_async(a, src, count, GDRAM2NRAM)
    if wait:
        mlu.sync_io()
    mlu.bang_add(a, a, a, 4)
    mlu.memcpy(dst, a, 16, NRAM2GDRAM)


def launch(wait, count=16):
    device = mlusim.Device()
    device.launch(copy, args=(device.empty(4, float32), device.put(np.ones(4, np.float32)), wait, count))


print("the script speaks", *sys.argv[1:])
launch("race" not in sys.argv)
launch("race" not in sys.argv)
if "fault" in sys.argv:
    launch(True, 64)
if "bug" in sys.argv:
    raise ValueError("a bug of the script")
if "leave" in sys.argv:
    sys.exit(7)
"""
RACE = "racecheck-read-after-write"


@pytest.fixture
def script(tmp_path):
    """A script whose arguments say what goes wrong in it."""
    path = tmp_path / "kernels.py"
    path.write_text(SCRIPT)
    return path


def test_a_clean_case(cli):
    """A golden case of an operator is clean under every checker."""
    done = cli("check", "tin_shift_forward", "--case", "golden_document")

    assert (0, "") == (done.code, done.err)
    assert "no findings in 1 launch of 1 run, checked by memcheck, initcheck, racecheck" in done.out


def test_all_cases_of_an_operator(cli, samples):
    """Without --case every case runs, except the long ones; a refusal that is expected is clean."""
    document = cli("check", "sample", "--only", "memcheck", "--jobs", "1", "--json").json()

    assert ["small", "refused"] == [run["case"] for run in document["runs"]]
    assert (True, 1) == (document["clean"], document["launches"])


def test_a_fault_of_an_operator_is_a_finding(cli, samples):
    """Exit code 3; the other cases run all the same."""
    done = cli("check", "faulty", "--only", "memcheck", "--jobs", "1", "--json")
    document = done.json()

    assert 3 == done.code
    assert ["memcheck-out-of-bounds"] == [f["id"] for f in document["findings"]]
    assert [("small", 1), ("fine", 0)] == [(run["case"], run["faults"]) for run in document["runs"]]


def test_failed_accuracy_and_a_surprising_status_are_told(cli, samples):
    """The check is the run: what `mlusim run` would complain of fails here too."""
    wrong = cli("check", "wrong", "--case", "small")
    surprising = cli("check", "surprising")

    assert (1, 1) == (wrong.code, surprising.code)
    assert "failed: wrong small on MLU370-X4: the output y is not accurate enough" in wrong.out
    assert "the status is MLUOP_STATUS_BAD_PARAM, not MLUOP_STATUS_SUCCESS" in surprising.out


def test_own_arrays(cli, samples, tmp_path):
    """Arrays of the user run in place of a case; a fault and a refusal are told as ever."""
    path = tmp_path / "in.npz"
    np.savez(path, x=np.ones(8, np.float32))
    words = ("check", "sample", "--only", "memcheck", "--inputs", path)
    clean, fault = cli(*words), cli(*words, "--set", "offset=8")
    np.savez(path, x=np.ones((2, 4), np.float32))
    refused = cli(*words)

    assert (0, 3, 2) == (clean.code, fault.code, refused.code)
    assert "no findings in 1 launch of 1 run" in clean.out
    assert "error: memcheck-out-of-bounds" in fault.out
    assert refused.err.startswith("error: MLUOP_STATUS_BAD_PARAM: ")


def test_a_clean_script(cli, script):
    """Its own output is there, then the line that sums up."""
    done = cli("check", script, "word")

    assert (0, "") == (done.code, done.err)
    assert done.out.startswith("the script speaks word\n")
    assert "no findings in 2 launches of 1 run" in done.out


def test_a_race_in_a_script(cli, script):
    """Every launch is watched; the finding is there once, with its count, source line and caret."""
    done = cli("check", script, "race")

    assert 1 == done.code
    assert 1 == done.out.count(f"error: {RACE}")
    assert (
        ":16, task 0, kernel copy, 2 times\n      mlu.bang_add(a, a, a, 4)\n      ^^^^^^^^^^^^\n" in done.out
    )


def test_only_the_checkers_that_are_named(cli, script):
    """--only leaves the others out."""
    done = cli("check", script, "race", "--only", "memcheck,initcheck")

    assert 0 == done.code
    assert done.out.endswith("checked by memcheck, initcheck.\n")


@pytest.mark.parametrize("only", ["memcheck", "racecheck"])
def test_a_fault_in_a_script(cli, script, only):
    """Exit code 3, and the fault is among the findings of every checker."""
    done = cli("check", script, "fault", "--only", only)

    assert 3 == done.code
    assert "reach 48 bytes past its end" in done.out
    assert "1 finding, 1 fault in 3 launches" in done.out


@pytest.mark.parametrize(
    ("word", "sentence"),
    [("bug", "line 31: ValueError: a bug of the script"), ("leave", "it ended with exit code 7")],
)
def test_an_error_of_the_script_is_one_sentence(cli, script, word, sentence):
    """Exit code 2 and no traceback; what the launches before it did is told."""
    done = cli("check", script, word)

    assert 2 == done.code
    assert f"error: {script}: {sentence}\n" == done.err
    assert "no findings in 2 launches" in done.out


def test_findings_weigh_more_than_an_error_of_the_script(cli, script):
    """A check that finds what broke the script says findings."""
    assert 1 == cli("check", script, "race", "bug").code


def test_a_script_that_is_no_python(cli, tmp_path):
    """The line is named."""
    path = tmp_path / "broken.py"
    path.write_text("x = 1\nif:\n")
    done = cli("check", path)

    assert (2, f"error: {path}: line 2: SyntaxError: invalid syntax\n") == (done.code, done.err)


def test_a_script_that_launches_nothing_is_not_clean(cli, tmp_path):
    """A check of nothing would pass for ever."""
    path = tmp_path / "empty.py"
    path.write_text("x = 1\n")
    done = cli("check", path)

    assert 2 == done.code
    assert "it launched no kernel that could be watched" in done.err


def test_json_stands_alone_on_standard_output(cli, script):
    """What the script prints goes to standard error."""
    done = cli("check", script, "race", "--json")

    assert 1 == done.code
    assert [(RACE, 2)] == [(f["id"], f["count"]) for f in done.json()["findings"]]
    assert "the script speaks race\n" == done.err


def test_the_name_of_the_output_says_the_format(cli, script, tmp_path):
    """SARIF, XML and JSON by their suffixes, text otherwise; the summary goes to standard error."""
    for name in ("f.sarif", "f.xml", "f.json", "f.txt"):
        done = cli("check", script, "race", "-o", tmp_path / name)

        assert 1 == done.code
        assert f"{tmp_path / name}: 1 finding in 2 launches" in done.err

    assert "2.1.0" == json.loads((tmp_path / "f.sarif").read_text())["version"]
    assert "testsuites" == ET.fromstring((tmp_path / "f.xml").read_text()).tag  # noqa: S314 - made above
    assert [RACE] == [f["id"] for f in json.loads((tmp_path / "f.json").read_text())["findings"]]
    assert (tmp_path / "f.txt").read_text().startswith(f"error: {RACE}\n")


def test_accepted_findings_fail_nothing(cli, script, tmp_path):
    """A suppression with its reason makes the run clean, an unused one is a note."""
    path = tmp_path / "accepted.toml"
    entry = '[[suppress]]\nid = "{}"\nplace = "{}"\nreason = "shown on purpose"\n'
    path.write_text(entry.format(RACE, "kernels.py") + entry.format("memcheck-misaligned", "gone.py"))
    done = cli("check", script, "race", "--suppress", path)

    assert 0 == done.code
    assert "note: suppression-unused" in done.out
    assert "no findings, 1 note, 1 suppressed in 2 launches" in done.out


def test_a_suppression_does_not_undo_a_fault(cli, script, tmp_path):
    """The launch ended all the same."""
    path = tmp_path / "accepted.toml"
    path.write_text('[[suppress]]\nid = "memcheck-out-of-bounds"\nplace = "*"\nreason = "shown"\n')
    done = cli("check", script, "fault", "--suppress", path)

    assert 3 == done.code
    assert "no findings, 1 fault, 1 suppressed" in done.out


def test_notes_on_request(cli, script):
    """A remark appears with --notes and fails nothing."""
    quiet, noting = cli("check", script), cli("check", script, "--notes")

    assert (0, 0) == (quiet.code, noting.code)
    assert "memcheck-lanes-wasted" not in quiet.out
    assert "note: memcheck-lanes-wasted" in noting.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("tin_shift_forwrd",), "tin_shift_forward"),
        (("missing.py",), "missing.py is not a file; name a Python script"),
        (("tin_shift_forward", "--only", "racechek"), "'racechek' is not a checker; known by name: memcheck"),
        (("tin_shift_forward", "--case", "nothing"), "nothing"),
        (("tin_shift_forward", "word"), "an operator takes no 'word'"),
        (("tin_shift_forward", "--jobs", "0"), "0 is too few"),
        (("tin_shift_forward", "--board", "MLU999"), "MLU999"),
        ((), "name an operator or a script, as in"),
        (("tin_shift_forward", "--inputs", "f.npz", "--case", "x"), "--case and --inputs exclude each other"),
        (("tin_shift_forward", "--set", "a=1"), "--set goes with --inputs"),
        (("missing.py", "--inputs", "f.npz"), "--inputs goes with an operator"),
        (("missing.py", "--case", "x"), "--case goes with an operator"),
        (("missing.py", "--effects", "eager"), "--effects goes with an operator"),
        (("missing.mlu", "--notes", "--engine", "native"), "--notes has Python look at every instruction"),
        (("tin_shift_forward", "--json", "--format", "sarif"), "--json and --format sarif exclude each other"),
        (("tin_shift_forward", "-o", "/nowhere/f.json"), "there is no directory /nowhere"),
        (("tin_shift_forward", "--suppress", "missing.toml"), "missing.toml cannot be read: No such file"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(cli, words, sentence):
    """Exit code 2, one line on standard error, nothing else."""
    done = cli("check", *words)

    assert (2, "", 1) == (done.code, done.out, done.err.count("\n"))
    assert sentence in done.err


def test_all_operators_on_both_boards(cli, only_samples):
    """`--all` takes every operator and every case that a board has, the long ones on request."""
    document = cli("check", "--all", "--jobs", 1, "--json").json()
    long = cli("check", "--all", "--long", "--board", "MLU590-H8,MLU370-X4", "--jobs", 1, "--json").json()

    runs = {(run["program"], run["case"], run["board"]) for run in document["runs"]}
    assert {("sample", "small", board) for board in ("MLU370-X4", "MLU590-H8")} <= runs
    assert [("sample", "only_590", "MLU590-H8")] == [run for run in sorted(runs) if run[1] == "only_590"]
    assert {("sample", "big", board) for board in ("MLU370-X4", "MLU590-H8")} == {
        (run["program"], run["case"], run["board"]) for run in long["runs"]
    } - runs


@pytest.mark.parametrize(
    "words",
    [
        ("--long",),
        ("sample", "--long", "--case", "small"),
        ("sample", "--all"),
        ("x.py", "--all"),
        ("--all", "--case", "small"),
        ("--all", "--inputs", "x.npz"),
        ("--all", "--set", "m=1"),
        ("--all", "--record", "x.json"),
        ("--all", "--replay", "x.json"),
        ("--all", "--board", "nope"),
    ],
)
def test_what_does_not_go_with_all(cli, words):
    """One sentence says so."""
    done = cli("check", *words)

    assert (2, "", 1) == (done.code, done.out, done.err.count("\n"))


COMMENTED = """
import numpy as np

import mlusim
from mlusim.bang import NRAM2GDRAM, float32, kernel


@kernel
def fill(mlu, dst):
    a = mlu.nram(float32, 4, [1.0] * 4)
    # mlusim: allow racecheck-tasks-same-word: every task writes ones
    mlu.memcpy(dst, a, 4, NRAM2GDRAM)
    mlu.memcpy(dst + 1, a, 4, NRAM2GDRAM)  # mlusim: allow racecheck-tasks-same-word
    mlu.memcpy(dst + 4 + mlu.taskId, a, 4, NRAM2GDRAM)  # mlusim: allow racecheck-tasks-write-write: once
    mlu.bang_add(a, a, a, 4)  # mlusim: allow memcheck-lanes-wasted: four will do
    mlu.sync()  # mlusim: allow racecheck-idle-sync: for the looks


device = mlusim.Device()
device.launch(fill, 4, args=(device.put(np.zeros(16, np.float32)),))
"""


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ((), [13, 14]),
        (("--notes",), [13, 14]),
        (("--only", "memcheck"), []),
        (("--only", "racecheck"), [13, 14]),
    ],
)
def test_comments_that_allow_nothing_are_told(cli, tmp_path, words, lines):
    """Without a reason, or without a finding; not those whose rule no checker could report."""
    path = tmp_path / "kernels.py"
    path.write_text(COMMENTED)
    document = cli("check", path, "--json", *words).json()

    assert lines == [f["line"] for f in document["findings"] if f["id"] == "suppression-unused"]


def test_a_suppression_of_a_checker_that_does_not_watch_is_not_unused(cli, script, tmp_path):
    """It may be of use as soon as all watch."""
    path = tmp_path / "accepted.toml"
    path.write_text('[[suppress]]\nid = "initcheck-lanes-mixed"\nplace = "*"\nreason = "known"\n')
    ids = [
        {
            finding["id"]
            for finding in cli("check", script, "--suppress", path, "--json", *words).json()["findings"]
        }
        for words in ((), ("--only", "memcheck"))
    ]

    assert [{"suppression-unused"}, set()] == ids
