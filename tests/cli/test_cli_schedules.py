"""``mlusim check --schedules`` and ``--replay``: outputs that depend on the schedule, made small and run again."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from sample_operators import made, sample

from mlusim.bang import int32, kernel
from mlusim.host import Status
from mlusim.operators import registry
from mlusim.operators.spec import Case, Tensor


@kernel
def racy_count(mlu, total):
    if mlu.is_mpu():
        return
    seen = total[0]
    mlu.memset_nram(mlu.nram(int32, 4), 4, int32(0))
    total[0] = seen + 1


@kernel
def atomic_count(mlu, total):
    if mlu.is_mpu():
        return
    mlu.bang_atomic_reduce_add(total, mlu.nram(int32, 1, values=[1]), 1)


def counting(name, counter):
    """An operator whose tasks count themselves with *counter*."""

    def call(handle, tensors, descriptors, params):
        handle.device.set(tensors["y"], 0)
        handle.launch(counter, (8, 1, 1), args=(tensors["y"],))
        return Status.MLUOP_STATUS_SUCCESS

    return sample(
        name,
        call=call,
        outputs=(Tensor("y", "[1]", ("int32",)),),
        shapes=lambda inputs, params: {"y": ((1,), "int32")},
        reference=lambda inputs, params: {"y": np.array([8], np.int32)},
        cases=(Case("small", "network", made()),),
    )


@pytest.fixture
def counters(only_entries):
    """Register an operator that counts with a race, and one that counts with atomics."""
    both = (counting("racy", racy_count), counting("atomic", atomic_count))
    entry = SimpleNamespace(name="counters", value="counters", load=lambda: both)
    only_entries(registry, [entry])


def test_a_race_shows_in_some_schedule(cli, counters):
    """A checker that does not watch for races finds nothing; the outputs tell."""
    quiet = cli("check", "racy", "--only", "memcheck")
    done = cli("check", "racy", "--only", "memcheck", "--schedules", "3")

    assert (0, 1) == (quiet.code, done.code)
    assert "error: schedule-difference" in done.out
    assert "1 of 1 elements of y differ, the first at [0]" in done.out
    assert "instead of 8" in done.out


def test_atomics_give_the_same_in_every_schedule(cli, counters):
    """What is right is clean, however it is scheduled."""
    done = cli("check", "atomic", "--schedules", "3")

    assert (0, "") == (done.code, done.err)


def test_a_difference_is_recorded_and_replayed(cli, counters, tmp_path):
    """The file names the smallest schedule; running it shows the same difference."""
    path = tmp_path / "replay.json"
    found = cli(
        "check",
        "racy",
        "--case",
        "small",
        "--only",
        "memcheck",
        "--schedules",
        "3",
        "--record",
        path,
        "--json",
    )
    replayed = cli("check", "--replay", path, "--only", "memcheck", "--json")
    document = json.loads(path.read_text())

    assert (1, 1) == (found.code, replayed.code)
    assert ("racy", "small", "MLU370-X4", 0, "late") == tuple(
        document[key] for key in ("operator", "case", "board", "seed", "effects")
    )
    assert found.json()["findings"] == replayed.json()["findings"]
    assert f"{path}: run it with `mlusim check --replay {path}`\n" == found.err
    assert "the output y is not accurate enough" in replayed.json()["runs"][0]["problem"]


def test_a_difference_is_reduced_to_one_decision(cli, counters, tmp_path):
    """One task that lets others go between its load and its store is enough to lose what they count."""
    path = tmp_path / "replay.json"
    done = cli("check", "racy", "--case", "small", "--schedules", "1", "--record", path)
    ((launch, kind, *_),) = json.loads(path.read_text())["decisions"]
    said = r"launch 1: task \d+, at [\w/.-]+\.py:\d+, lets [\w ]+, at [\w./: -]+,( and \d+ more)? go first"

    assert re.search(said, " ".join(done.out.split()))
    assert (0, "stop") == (launch, kind)
    assert "with 1 decision of seed 0 and late effects" in done.out


def test_without_a_difference_no_file_is_written(cli, counters, tmp_path):
    """It is said, and the run is clean."""
    path = tmp_path / "replay.json"
    done = cli("check", "atomic", "--case", "small", "--schedules", "1", "--record", path)

    assert (0, False) == (done.code, path.exists())
    assert f"{path}: not written, for no schedule differs\n" == done.err


def test_a_kernel_that_was_mended_replays_clean(cli, counters, tmp_path):
    """A replay of what is right now exits with 0."""
    path = tmp_path / "replay.json"
    cli("check", "racy", "--case", "small", "--schedules", "1", "--record", path)
    path.write_text(path.read_text().replace("racy", "atomic"))

    assert 0 == cli("check", "--replay", path).code


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "is not a replay file"),
        ("[]", "is not a replay file of format 1"),
        ('{"replay": 9}', "is not a replay file of format 1"),
        ('{"replay": 1}', "names no operator"),
        ('{"replay": 1, "operator": "racy", "case": 3, "board": "MLU370-X4"}', "names no case"),
        ('{"replay": 1, "operator": "racy", "case": "small", "board": "b", "seed": "x"}', "has the seed 'x'"),
        ('{"replay": 1, "operator": "racy", "case": "small", "board": "b", "seed": 1}', "has the effects None"),
        (('{"replay": 1, "operator": "racy", "case": "small", "board": "b", "seed": 1, "effects": "late", '
         '"decisions": [[0, "jump", 1, 2, 3]]}'), "has the decision [0, 'jump', 1, 2, 3]"),
        (('{"replay": 1, "operator": "racy", "case": "small", "board": "b", "seed": 1, "effects": "late", '
         '"decisions": 7}'), "has the decision 7"),
        ('{"replay": 1, "operator": "rac", "case": "s", "board": "b", "seed": 1, "effects": "late"}', "'rac'"),
    ],
)  # fmt: skip
def test_a_broken_replay_file_is_refused(cli, counters, tmp_path, text, sentence):
    """One sentence that says what is wrong with it."""
    path = tmp_path / "replay.json"
    path.write_text(text)
    done = cli("check", "--replay", path)

    assert (2, "", 1) == (done.code, done.out, done.err.count("\n"))
    assert sentence in done.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("racy", "--schedules", "0"), "--schedules 0 is too few"),
        (("racy", "--schedules", "2", "--seed", "1"), "leave --seed and --effects out"),
        (("racy", "--schedules", "2", "--record", "r.json"), "name it with --case"),
        (("racy", "--case", "small", "--record", "r.json"), "--record goes with --schedules"),
        (("racy", "--replay", "r.json"), "--replay says what to run"),
        (("--replay", "missing.json"), "missing.json cannot be read: No such file"),
        (("missing.py", "--schedules", "2"), "missing.py is not a file"),
        (("missing.py", "--record", "r.json"), "--record goes with --schedules"),
    ],
)
def test_options_that_do_not_go_together(cli, counters, words, sentence):
    """One sentence that says what to do."""
    done = cli("check", *words)

    assert (2, "", 1) == (done.code, done.out, done.err.count("\n"))
    assert sentence in done.err


COUNTS = """
import sys

import numpy as np

import mlusim
from mlusim.bang import int32, kernel


@kernel
def count(mlu, total):
    if "right" in sys.argv:
        mlu.bang_atomic_reduce_add(total, mlu.nram(int32, 1, values=[1]), 1)
        return
    seen = total[0]
    mlu.memset_nram(mlu.nram(int32, 4), 4, int32(0))
    total[0] = seen + 1


device = mlusim.Device()
device.launch(count, 4, args=(device.put(np.zeros(1, np.int32)),))
"""


def test_a_script_is_compared_recorded_and_replayed(cli, tmp_path):
    """As an operator is: what its launches leave differs, and the file repeats it."""
    script, path = tmp_path / "counts.py", tmp_path / "replay.json"
    script.write_text(COUNTS)
    words = ("check", script, "wrong", "--only", "memcheck", "--schedules", 3, "--json")
    found = cli(*words, "--record", path)
    replayed = cli("check", "--replay", path, "--trust", "--only", "memcheck", "--json")
    right = cli("check", script, "right", "--schedules", 3, "--json")

    assert (1, 1, 0) == (found.code, replayed.code, right.code)
    assert found.json()["findings"] == replayed.json()["findings"]
    assert (str(script), ["wrong"]) == tuple(json.loads(path.read_text())[k] for k in ("script", "arguments"))
    assert (0, 3) == (len(right.json()["findings"]), right.json()["schedules"])


def test_a_replay_file_may_name_a_script(cli, tmp_path):
    """Its arguments are words."""
    path = tmp_path / "replay.json"
    path.write_text('{"replay": 1, "script": "x.py", "arguments": 3, "seed": 1, "effects": "late"}')
    done = cli("check", "--replay", path)

    assert (2, "") == (done.code, done.out)
    assert "has the arguments 3; they must be a list of words" in done.err


LAST = """\
__nram__ float tile[64];
__mlu_entry__ void Last(float *out, const float *x, int step) {
  __memcpy(tile, x + taskId * 64, 256, GDRAM2NRAM);
  __memcpy(out + taskId * step, tile, 256, NRAM2GDRAM);
}
"""


@pytest.mark.parametrize(("step", "code"), [(0, 1), (64, 0)])
def test_a_call_of_a_kernel_is_compared_in_other_schedules(step, code, cli, tmp_path):
    """Tasks that write the same bytes leave those of the last; the difference names what went first, and the debugger's options."""
    (tmp_path / "k.mlu").write_text(LAST)
    call = (
        "--dim",
        "4",
        "--arg",
        "out=out:float32:256",
        "--arg",
        "x=randn:float32:256",
        "--arg",
        f"step={step}",
    )
    done = cli("check", tmp_path / "k.mlu", *call, "--schedules", "2", "--only", "memcheck", "--json")
    document = done.json()

    assert (code, 1 if code else 2) == (done.code, document["schedules"])
    assert ["schedule-difference"] * code == [finding["id"] for finding in document["findings"]]
    for finding in document["findings"]:
        assert "launch 1, Last: 64 of 256 elements of argument 0 differ" in finding["message"]
        assert "goes before task 0" in finding["context"][1]
        assert "`mlusim debug` of the same call and --seed 0 --effects late" in finding["hint"]


def test_schedules_of_cases_are_compared_and_no_replay_is_kept_of_them(cli, tmp_path):
    """Each case of a file by itself; a replay file names operators and scripts."""
    (tmp_path / "k.mlu").write_text(LAST)
    args = 'args = {{ out = "out:float32:256", x = "randn:float32:256", step = {} }}\n'
    text = f'program = "k.mlu"\ndim = 4\n[case.apart]\n{args.format(64)}[case.same]\n{args.format(0)}'
    (tmp_path / "cases.toml").write_text(text)
    done = cli("check", tmp_path / "cases.toml", "--schedules", "2", "--only", "memcheck", "--json")
    refused = cli("check", tmp_path / "k.mlu", "--schedules", "2", "--record", tmp_path / "r.json")

    assert (1, ["schedule-difference"]) == (done.code, [finding["id"] for finding in done.json()["findings"]])
    assert (2, "error: --record goes with an operator or a script\n") == (refused.code, refused.err)
