"""Candidates that are right, wrong and dishonest: one run of all of them, and what each verdict says."""

import json
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from attrs import evolve
from jsonschema import Draft202012Validator
from judged import CANDIDATES, REFERENCE

from mlusim.cli.main import main
from mlusim.document import plain
from mlusim.errors import UsageError
from mlusim.files.reading import LARGEST
from mlusim.judge.judging import candidates, judge, task_of
from mlusim.programs.argument_forms import AskedCall

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "docs/reference/schemas/judge.schema.json").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the reference and all candidates."""
    made = tmp_path_factory.mktemp("judge")
    (made / "reference.py").write_text(REFERENCE)
    for name, text in CANDIDATES.items():
        (made / f"{name}.mlu").write_text(text)
    return made


@pytest.fixture(scope="module")
def task(folder):
    """What all are judged by."""
    return task_of(str(folder / "reference.py"), AskedCall((), board="MLU370-X4", seed=5))


@pytest.fixture(scope="module")
def verdicts(folder, task):
    """The verdict of each candidate, by its name."""
    (endless,) = candidates(evolve(task, seconds=1.0), [str(folder / "endless.mlu")])
    names = [name for name in CANDIDATES if name != "endless"]
    wanted = candidates(task, [str(folder / f"{name}.mlu") for name in names])
    found = {"endless": next(judge([endless], workers=1))}
    return found | dict(zip(names, judge(wanted, workers=1), strict=True))


def test_the_right_one(verdicts):
    """Everything that a verdict has, of a kernel with which nothing is wrong."""
    found = verdicts["good"]

    assert (found["verdict"], found["right"], found["translated"], found["error"]) == (
        "right",
        True,
        True,
        None,
    )
    assert (found["function"], found["seed"], found["launches"]) == ("Fused", 5, 4)
    assert found["time_band"][0] < found["time_us"] < found["time_band"][1]
    assert sum(case["time_us"] for case in found["cases"]) == pytest.approx(found["time_us"])
    assert found["bottleneck"] == "io"
    assert found["io_efficiency"] > found["compute_efficiency"] >= 0
    assert found["lines"][0]["line"] in (8, 9, 12)
    assert (found["findings"], found["wrote_inputs"], found["notes"]) == ([], [], [])


@pytest.mark.parametrize(
    ("name", "verdict", "said"),
    [
        ("input_returned", "wrong", "elements are wrong there"),
        ("nothing_written", "wrong", "out[0] is nan and"),
        ("constant_for_a_shape", "fault", "past its end"),
        ("other_shapes_left_out", "wrong", "of case n=300"),
        ("constant_output", "wrong", "is 0.25 and"),
        ("tail_left_out", "wrong", "1 of 300 elements are wrong"),
        ("printed_verdict", "wrong", "wrong there"),
        ("swaps_its_inputs", "wrong", "wrong there"),
        ("not_c", "untranslated", "__bang_nonsense"),
        ("out_of_bounds", "fault", "past its end"),
        ("endless", "limit", "seconds"),
        ("unknown_parameter", "refused", "takes float factor, for which the reference has nothing"),
    ],
)
def test_what_is_wrong_with_the_others(verdicts, name, verdict, said):
    """Each is caught, and told in a sentence."""
    found = verdicts[name]

    assert (found["verdict"], found["right"]) == (verdict, False)
    assert said in found["error"]
    assert "computed in half" not in str(found["notes"])


def test_a_candidate_allows_itself_nothing(verdicts):
    """A comment that allows a finding does not hide it from the judge."""
    found = verdicts["allows_itself"]

    assert found["verdict"] == "wrong"
    assert {f["id"] for f in found["findings"]} >= {"racecheck-tasks-same-word"}


MARKED = """\
import numpy as np

outputs = {"out": "int32"}


def inputs(rng, case):
    return {"x": rng.integers(0, 10, 64).astype("i4")}


def reference(x):
    return np.where(x > 5, x, -1).astype("i4")
"""
MARKS = """\
#include <bang.h>
__mlu_entry__ void Mark(int *out, const int *x, int n) {
  for (int i = 0; i < n; i++) {
    if (x[i] > 5) out[i] = x[i];%s
  }
}
"""


def test_a_result_that_equals_the_poison(tmp_path):
    """Elements that no task has stored are a finding even where -1 is expected."""
    (tmp_path / "reference.py").write_text(MARKED)
    (tmp_path / "left.mlu").write_text(MARKS % "")
    (tmp_path / "stored.mlu").write_text(MARKS % " else out[i] = -1;")
    task = task_of(str(tmp_path / "reference.py"), AskedCall((), board="MLU370-X4", seed=5))
    wanted = candidates(task, [str(tmp_path / f"{name}.mlu") for name in ("left", "stored")])

    left, stored = judge(wanted, workers=1)

    assert ("wrong", True) == (left["verdict"], left["right"])
    assert ["initcheck-never-stored"] == [f["id"] for f in left["findings"]]
    assert ("right", []) == (stored["verdict"], stored["findings"])


def test_what_is_written_to_inputs_is_said(verdicts):
    """Outputs that are right do not hide it."""
    assert verdicts["changes_its_input"]["wrote_inputs"] == ["x"]
    assert verdicts["changes_its_input"]["right"]


def test_the_place_of_an_error(verdicts, folder):
    """A file that does not compile has its errors with line and column."""
    (error,) = verdicts["not_c"]["errors"]

    assert (error["file"], error["line"]) == (str(folder / "not_c.mlu"), 10)


def test_what_cannot_be_read_keeps_no_other_from_being_judged(tmp_path, capsys):
    """A folder of candidates has one verdict for each entry, also where that is no file, leads nowhere, or is too large."""
    (tmp_path / "reference.py").write_text(REFERENCE)
    folder = tmp_path / "candidates"
    folder.mkdir()
    (folder / "a.mlu").write_text(CANDIDATES["good"])
    os.mkfifo(folder / "b.mlu")
    (folder / "c.mlu").mkdir()
    (folder / "d.mlu").symlink_to("nothing.mlu")
    with (folder / "e.mlu").open("wb") as large:
        large.truncate(LARGEST + 1)

    code = main(["judge", str(folder), "--reference", str(tmp_path / "reference.py"), "--json"])
    verdicts = json.loads(capsys.readouterr().out)["verdicts"]

    assert 1 == code
    assert ["right", *["refused"] * 4] == [verdict["verdict"] for verdict in verdicts]
    assert [
        f"it was not judged: {folder / 'b.mlu'} is not a regular file; name one",
        f"it was not judged: {folder / 'c.mlu'} is a directory; name a file",
    ] == [verdict["error"] for verdict in verdicts[1:3]]
    assert "No such file" in verdicts[3]["error"]
    assert "more than 64 MiB" in verdicts[4]["error"]


def test_the_schema(verdicts):
    """Every verdict is as the schema says."""
    Draft202012Validator.check_schema(SCHEMA)

    Draft202012Validator(SCHEMA).validate(plain({"mlusim": "0", "verdicts": list(verdicts.values())}))


def test_the_same_seed_gives_the_same_verdict(verdicts, folder, task):
    """To the last digit, and whatever ran before it."""
    names = ["nothing_written", "good"]
    again = judge(candidates(task, [str(folder / f"{name}.mlu") for name in names]), workers=1)

    assert list(again) == [verdicts[name] for name in names]


def test_an_executor_gives_the_same(verdicts, folder, task):
    """Such as that of a cluster: what is sent is plain data, and verdicts come in the order of the candidates."""
    wanted = candidates(task, [str(folder / f"{name}.mlu") for name in ("input_returned", "good")])

    assert pickle.loads(pickle.dumps(wanted)) == wanted
    with ThreadPoolExecutor(2) as executor:
        assert list(judge(wanted, executor)) == [verdicts["input_returned"], verdicts["good"]]


def test_a_worker_with_other_files(folder, task):
    """A candidate or a reference that is not the same there ends the run, with the machine."""
    (one,) = candidates(task, [str(folder / "good.mlu")])

    with pytest.raises(UsageError, match="has other sources of mlusim, another reference or another"):
        list(judge([evolve(one, digest="other")], workers=1))


def test_the_command_line(folder, capsys, monkeypatch):
    """A table, a file from which the next run goes on, and exit code 1 where one is wrong."""
    monkeypatch.chdir(folder)
    words = ["judge", "good.mlu", "input_returned.mlu", "--reference", str(folder / "reference.py")]
    words += ["--jobs", "1"]

    assert main([*words, "-o", "v.jsonl", "--seed", "5"]) == 1
    shown = capsys.readouterr().out
    assert "1 of 2 are right; drawn with --seed 5." in shown
    Path("input_returned.mlu").write_text(CANDIDATES["good"])
    assert main([*words, "-o", "v.jsonl", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "v.jsonl: 1 of 2 verdicts are there already" in err
    assert [v["seed"] for v in json.loads(out)["verdicts"]] == [5, 5]
    (folder / "input_returned.mlu").write_text(CANDIDATES["input_returned"])
    assert main([*words, "-o", "v.jsonl", "--seed", "6"]) == 2
    assert "of another reference, seed, board, selection or limit" in capsys.readouterr().err
