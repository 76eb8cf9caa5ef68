"""``mlusim run``: one case, many cases, own arrays; what it prints, writes and returns."""

import json
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest

import ops
from mlusim.machine.hub import Observer
from mlusim.observe import names
from mlusim.operators.registry import operators

RUN_KEYS = {
    "operator", "case", "board", "status", "accuracy", "efficiency", "traffic", "instructions", "memory",
    "launches", "findings",
}  # fmt: skip
EFFICIENCY_KEYS = {
    "hardware_time_us", "io_efficiency", "compute_efficiency", "theory_ops", "theory_ios", "compute_force",
    "io_bandwidth", "bottleneck",
}  # fmt: skip
GOLDEN = ("run", "tin_shift_forward", "--case", "golden_document")


class Complainer(Observer):
    """A checker that always has something to say."""

    name = "complainer"

    @property
    def findings(self):
        """One finding, of the shape that any third party may choose."""
        return ("something is odd",)


@pytest.fixture
def shift_file(tmp_path):
    """Arrays for tin_shift_forward, in a file."""
    data = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)
    np.savez(tmp_path / "in.npz", input=data, shifts=np.array([[1, 0], [-1, 2]], np.int32))
    return tmp_path / "in.npz"


def test_one_case_as_json_has_what_the_contract_names(cli):
    """The document of one case has every promised key, and the values of the run."""
    done = cli(*GOLDEN, "--json")
    document = done.json()

    assert (0, "") == (done.code, done.err)
    assert document.keys() >= RUN_KEYS
    assert EFFICIENCY_KEYS == document["efficiency"].keys()
    assert ("tin_shift_forward", "golden_document") == (document["operator"], document["case"])
    assert ("MLU370-X4", "MLUOP_STATUS_SUCCESS") == (document["board"], document["status"])
    assert document["accuracy"]["output"].keys() >= {"diff1", "diff2", "diff3", "passed"}
    assert document["accuracy"]["output"]["passed"] is True
    assert {"GDRAM2NRAM": 120, "NRAM2GDRAM": 144} == document["traffic"]
    assert {"NRAM", "SRAM", "WRAM"} == document["memory"].keys()
    assert {"capacity": 655360, "high_water": 128} == document["memory"]["NRAM"]
    assert {"kernel", "dim", "kind", "time_us"} <= document["launches"][0].keys()
    assert [] == document["findings"]


def test_the_same_run_gives_the_same_bytes(cli):
    """Nothing in the document depends on the host or the moment."""
    assert cli(*GOLDEN, "--json").out == cli(*GOLDEN, "--json").out


def test_one_case_as_text(cli):
    """A person sees the verdict, the accuracy, the efficiency and the work, in 80 columns."""
    done = cli(*GOLDEN)

    assert (0, "") == (done.code, done.err)
    for words in (
        "passed",
        "diff1 0",
        "IO efficiency",
        "hardware time       6.5 us, predicted; 4.8-8.8 us by the band of the model",
        "GDRAM2NRAM",
        "bang_write_zero",
        "NRAM",
    ):
        assert words in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_many_cases_are_a_list(cli, samples):
    """Without --case every case that is for the board runs; the document lists them."""
    done = cli("run", "sample", "--jobs", 1, "--json")
    document = done.json()

    assert 0 == done.code
    assert ["small", "refused", "big"] == [run["case"] for run in document["runs"]]
    assert document["passed"] is True
    assert all(run.keys() >= RUN_KEYS for run in document["runs"])
    assert "MLUOP_STATUS_BAD_PARAM" == document["runs"][1]["status"]
    assert document["runs"][1]["efficiency"] is None


def test_many_cases_as_a_table(cli, samples):
    """The table has a line for each case."""
    done = cli("run", "sample", "--jobs", 1)

    assert (0, "") == (done.code, done.err)
    assert "3 of 3 as expected" in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_all_cases_of_an_operator_in_two_processes(cli):
    """Processes change nothing: the records are those of one process, in the same order."""
    one, two = (cli("run", "tin_shift_forward", "--json", "--jobs", jobs) for jobs in (1, 2))

    assert (0, 0) == (one.code, two.code)
    assert one.out == two.out
    assert len(one.json()["runs"]) > 50


def test_a_case_brings_its_board(cli, samples):
    """A case that is for one board runs there when no board is named."""
    assert "MLU590-H8" == cli("run", "sample", "--case", "only_590", "--json").json()["board"]


def test_own_arrays_are_judged_and_saved(cli, shift_file, tmp_path):
    """The outputs of own arrays are compared with the reference and written under their names."""
    out = tmp_path / "out.npz"
    done = cli(
        "run", "tin_shift_forward", "--inputs", shift_file, "--board", "MLU590-H8", "--save", out, "--json"
    )
    document = done.json()
    with np.load(shift_file) as given, np.load(out) as saved:
        expected = ops.run("tin_shift_forward", dict(given), board="MLU590-H8").outputs["output"]

        assert 0 == done.code
        assert (None, "MLU590-H8", True) == (document["case"], document["board"], document["passed"])
        assert {"dtype": "float", "shape": [2, 3, 4, 5]} == document["inputs"]["input"]
        assert ["output"] == saved.files
        assert f"outputs written to {out}\n" in done.err
        assert np.array_equal(expected, saved["output"])


def test_parameters_take_the_declared_types(cli, samples, tmp_path):
    """--set converts each value as the operator declares; several may share one option."""
    np.savez(tmp_path / "in.npz", x=np.ones(8, np.float32))
    run = ("run", "sample", "--inputs", tmp_path / "in.npz", "--json", "--set")
    document = cli(*run, "offset=0,exact=false", "--set", "mode=fancy").json()

    assert {"offset": 0, "exact": False, "mode": "fancy"} == document["params"]
    assert [] == document["launches"]
    assert "faulty" not in document["message"]


def test_arrays_of_the_other_byte_order_are_read(cli, tmp_path):
    """The byte order of a file is not a property of its numbers."""
    np.savez(tmp_path / "in.npz", input=np.ones((1, 2, 2, 2), ">f4"), shifts=np.ones((1, 1), ">i4"))

    assert 0 == cli("run", "tin_shift_forward", "--inputs", tmp_path / "in.npz").code


def test_nan_and_infinity_are_words_in_json(cli, samples, tmp_path):
    """Errors that JSON has no number for are written as words; the accuracy fails with code 1."""
    np.savez(tmp_path / "in.npz", x=np.array([2e38, 1, 2, 3], np.float32))
    done = cli("run", "halved", "--inputs", tmp_path / "in.npz", "--json")

    assert 1 == done.code
    assert {"diff1": "inf", "diff2": "inf"}.items() <= done.json()["accuracy"]["y"].items()


def test_a_wrong_result_is_code_1(cli, samples):
    """An output that misses its reference fails the run, with the errors and the worst element."""
    one, many = cli("run", "wrong", "--case", "small", "--json"), cli("run", "wrong", "--jobs", 1)

    assert (1, 1) == (one.code, many.code)
    assert one.json()["accuracy"]["y"]["passed"] is False
    assert "FAILED" in many.out
    assert "wrong small on MLU370-X4: y: diff1 0.333" in many.out


def test_an_unexpected_status_is_code_1(cli, samples):
    """A case that is refused against its expectation fails, and says what the host said."""
    one, many = cli("run", "surprising", "--case", "small", "--json"), cli("run", "surprising", "--jobs", 1)

    assert (1, 1) == (one.code, many.code)
    assert ("MLUOP_STATUS_BAD_PARAM", False) == (one.json()["status"], one.json()["passed"])
    assert "x_desc has 2 dimensions; it must have 1" in " ".join(many.out.split())


def test_a_refusal_of_own_arrays_is_code_2_and_still_one_document(cli, samples, tmp_path):
    """The host interface refuses: the sentence goes to standard error, the record to standard output."""
    np.savez(tmp_path / "in.npz", x=np.ones((2, 2), np.float32))
    run = ("run", "sample", "--inputs", tmp_path / "in.npz", "--save", tmp_path / "out.npz")
    text, document = cli(*run), cli(*run, "--json")

    assert (2, 2) == (text.code, document.code)
    assert text.err == document.err
    assert "error: MLUOP_STATUS_BAD_PARAM: mluOpSample: x_desc has 2 dimensions; it must have 1\n" == text.err
    assert "" == text.out
    assert "MLUOP_STATUS_BAD_PARAM" == document.json()["status"]
    assert not (tmp_path / "out.npz").exists()


def test_a_fault_is_code_3(cli, samples, tmp_path):
    """A fault ends one case with its sentence; nothing is written; the document holds its facts."""
    run = ("run", "faulty", "--case", "small", "--save", tmp_path / "out.npz", "--trace", tmp_path / "t.json")
    text, document = cli(*run), cli(*run, "--json")
    fault = document.json()["fault"]

    assert (3, 3) == (text.code, document.code)
    assert ("", 2) == (text.out, text.err.count("\n"))
    assert "\nnote: `mlusim check` of the same call looks for the cause" in text.err
    assert text.err.startswith("error: __memcpy: ")
    assert "sample_operators.py:" in text.err
    assert ("OutOfBounds", "__memcpy", 0) == (fault["type"], fault["intrinsic"], fault["task"])
    assert "MLUOP_STATUS_EXECUTION_FAILED" == document.json()["status"]
    assert [] == list(tmp_path.iterdir())


def test_a_fault_in_one_of_many_cases_leaves_the_others(cli, samples):
    """Other cases still run and are shown; the code is that of the worst."""
    text, document = cli("run", "faulty", "--jobs", 1), cli("run", "faulty", "--jobs", 1, "--json").json()

    assert 3 == text.code
    assert "1 of 2 as expected" in text.out
    assert "faulty small on MLU370-X4: __memcpy: " in text.out
    assert [False, True] == [run["passed"] for run in document["runs"]]
    assert document["passed"] is False


def test_findings_are_code_1(cli, samples, only_entries):
    """What a checker finds is in the document and fails the run, though the outputs are right."""
    only_entries(names, [SimpleNamespace(name="complainer", value="here", load=lambda: Complainer)])
    one = cli("run", "sample", "--case", "small", "--check", "complainer", "--json")
    many = cli("run", "sample", "--check", "complainer", "--jobs", 1)

    assert (1, 1) == (one.code, many.code)
    assert one.json()["passed"] is True
    assert {"id", "message", "file", "line", "task", "hint"} <= one.json()["findings"][0].keys()
    assert "something is odd" == one.json()["findings"][0]["message"]
    assert "1 found" in many.out


def test_real_operators_are_clean_under_memcheck(cli):
    """--check takes the checkers' names; the golden case has no finding."""
    done = cli(*GOLDEN, "--check", "memcheck", "--json")

    assert (0, []) == (done.code, done.json()["findings"])


def test_seed_and_effects_reach_the_launch(cli):
    """Another schedule and eager effects give the same outputs of a kernel without races."""
    for words in (("--seed", 7), ("--effects", "eager"), ("--seed", "0x10", "--effects", "eager")):
        assert cli(*GOLDEN, *words, "--json").json()["passed"] is True


def test_the_trace_file_is_a_trace_event_document(cli, tmp_path):
    """--trace writes complete events inside the predicted time, and the same bytes each time."""
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    times = [cli(*GOLDEN, "--trace", path, "--json").json()["launches"][0]["time_us"] for path in paths]
    document = json.loads(paths[0].read_text())
    spans = [event for event in document["traceEvents"] if event["ph"] == "X"]

    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert 12 == sum(event["name"] == "__memcpy" for event in spans)
    assert max(event["ts"] + event["dur"] for event in spans) == pytest.approx(times[0])
    assert all(event["ts"] >= 0 and event["dur"] >= 0 for event in spans)


def test_saved_files_hold_nothing_but_the_outputs(cli, tmp_path):
    """The archive is whole, and no other file is left beside it."""
    out = tmp_path / "out.npz"
    cli(*GOLDEN, "--save", out)

    assert [out] == list(tmp_path.iterdir())
    assert zipfile.ZipFile(out).testzip() is None


@pytest.mark.parametrize("name", operators())
def test_every_operator_runs_a_small_case(cli, name):
    """The first golden or boundary case of each operator passes through the command line."""
    case = next(c for c in operators()[name].cases if c.group in {"golden", "boundary"} and not c.long)
    done = cli("run", name, "--case", case.name, "--json")

    assert (0, True) == (done.code, done.json()["passed"])


def test_a_policy_is_chosen_and_shown(cli):
    """--policy goes to the host function, for one case and for arrays; the operator's page lists what there is."""
    words = ("run", "three_interpolate_backward", "--case", "case_2", "--policy")
    runs = {policy: cli(*words, policy, "--json").json() for policy in ("document", "shipped")}
    refused = cli(*words, "fast")

    assert {"document": "document", "shipped": "shipped"} == {
        name: run["policy"] for name, run in runs.items()
    }
    assert runs["document"]["traffic"] != runs["shipped"]["traffic"]
    assert "policy              shipped" in cli(*words, "shipped").out
    assert (2, "") == (refused.code, refused.out)
    assert "no policy 'fast'; its policies are document, shipped" in refused.err
    assert ["document", "shipped"] == [
        policy["name"] for policy in cli("ops", "three_interpolate_backward", "--json").json()["policies"]
    ]


def test_cases_together_have_their_lines_trace_and_outputs(cli, samples, tmp_path):
    """Without --case all of them: a table of lines each, one trace, and outputs by CASE/OUTPUT."""
    done = cli("run", "sample", "--lines", "--trace", tmp_path / "t.json", "--save", tmp_path / "o.npz")
    trace = json.loads((tmp_path / "t.json").read_text())

    assert 0 == done.code, done.err
    assert 2 == done.out.count("lines of add_twice")
    assert ["add_twice"] * 2 == trace["otherData"]["kernels"]
    assert ["small/y", "big/y"] == list(np.load(tmp_path / "o.npz"))
