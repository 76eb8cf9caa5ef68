"""``mlusim tune``: candidates of a kernel that fit, are right and take least time; what is out, and why."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from mlusim.machine.limits import USUAL
from mlusim.programs.argument_forms import AskedCall
from mlusim.programs.kernel_call import KernelCall
from mlusim.tune.ranking import MECHANISMS, ranked
from mlusim.tune.space import grid, parameters_of
from mlusim.tune.tuning import compared_to, task_of, tune

SOURCE = """#include <bang.h>
#ifndef SECOND
#define SECOND (TILE * 4)
#endif
#ifndef FACTOR
#define FACTOR 2.0f
#endif
#define FIXED 1
__nram__ char pool[TILE * 8];
__mlu_global__ void Scale(float *dst, const float *src, int n, int step) {
  float *a = (float *)pool;
  float *b = (float *)(pool + SECOND);
  for (int i = taskId * TILE; i < n; i += taskDim * TILE) {
    int m = n - i < TILE ? n - i : TILE;
    __memcpy(a, src + i, m * sizeof(float), GDRAM2NRAM);
    __memcpy(b, src + i, m * sizeof(float), GDRAM2NRAM);
    __bang_mul_scalar(a, a, FACTOR, m);
    __memcpy(dst + i, a, m * sizeof(float), NRAM2GDRAM);
    __bang_add(b, b, b, step);
  }
}
"""
CALL = ("tune", "scale.mlu", "--engine", "python", "--jobs", 1, "--arg", "dst=out:float32:2048", "--arg", "src=in.npy", "--arg", "n=2048")  # fmt: skip


@pytest.fixture
def scale(tmp_path, monkeypatch):
    """A folder with the kernel and its input."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scale.mlu").write_text(SOURCE)
    np.save("in.npy", np.ones(2048, np.float32))
    (tmp_path / "twice.py").write_text("def same(src, n, step):\n    return src * 2\n")
    return tmp_path


def test_the_best_comes_first_and_what_is_out_last(cli, scale):
    """Macros, an argument and dims: ranks where bands meet, what moved, and the reason of each that is out."""
    words = (*CALL, "--param", "TILE=128,512,100000", "--param", "dim=1;4,1,1", "--param", "step=32")
    done = cli(*words, "--json", "--html", "page.html")
    found = done.json()
    rows = found["candidates"]
    able, out = rows[:4], rows[4:]

    assert 0 == done.code
    assert found["best"] == able[0]["parameters"] == {"TILE": "512", "dim": "4,1,1", "step": "32"}
    assert {"TILE": "128", "dim": "1,1,1", "step": "32"} == found["compared_with"]
    assert sorted(one["time_us"] for one in able) == [one["time_us"] for one in able]
    assert all(one["fits"] and one["right"] and one["carved"] for one in able)
    assert [1, 2, 2, 4] == [one["rank"] for one in able]
    assert "IO-DMA +" in able[3]["why"]
    assert "1 core works, not 4" in able[3]["why"]
    assert able[3]["mechanisms"]["IO-DMA"] > 3 * able[0]["mechanisms"]["IO-DMA"]
    assert [("refused", False, None), ("refused", False, None)] == [
        (o["verdict"], o["fits"], o["rank"]) for o in out
    ]
    assert "scale.mlu:" in out[0]["why"]
    page = (scale / "page.html").read_text()
    assert "TILE=512 dim=4,1,1 step=32 takes" in page
    assert "no other is surely faster" in page
    told = cli(*words).out
    assert "4 of 6 candidates fit and are right." in told
    assert max(map(len, told.splitlines()[:20])) <= 80


def test_what_is_wrong_or_overlaps_is_out(cli, scale):
    """A result unlike the first candidate's, or the reference's; a part that overwrites another; a source that does not compile."""
    words = (*CALL, "-D", "TILE=512", "--arg", "step=32")
    wrong = cli(*words, "--param", "FACTOR=two,2.0f,3.0f", "--json").json()["candidates"]
    judged = cli(*words, "--param", "-DFACTOR=3.0f,2.0f", "--reference", "twice:same", "--json").json()
    carved = cli(*words, "--param", "SECOND=2048,1024", "--json")
    partly = cli(
        *CALL[:10], "-D", "TILE=512", "--arg", "step=32", "--jobs", 1, "--param", "n=1024,2048", "--json"
    ).json()

    assert ["ok", "untranslated", "wrong"] == [one["verdict"] for one in wrong]
    assert "unlike FACTOR=2.0f: dst is wrong" in wrong[2]["why"].replace("-D", "")
    assert "'two'" in wrong[1]["why"]
    assert ({"FACTOR": "2.0f"}, [True, False]) == (
        judged["best"],
        [one["right"] for one in judged["candidates"]],
    )
    assert ["ok", "overlap"] == [one["verdict"] for one in carved.json()["candidates"]]
    assert (
        {"n": "2048"} == partly["compared_with"] == partly["best"]
    )  # 1024 leaves half of the output unwritten
    assert ["ok", "wrong"] == [one["verdict"] for one in partly["candidates"]]
    assert 1 == cli(*words, "--param", "FACTOR=3.0f", "--reference", "twice:same").code


def test_results_are_kept_and_reused(cli, scale):
    """The same command goes on from the file, with more candidates too; another call is refused."""
    words = (*CALL, "--arg", "step=32", "-o", "kept.jsonl", "--json")
    first = cli(*words, "--param", "TILE=64")
    more = cli(*words, "--param", "TILE=64,512")
    again = cli(*words, "--param", "TILE=64,512")
    other = cli(*words, "--param", "TILE=64,512", "--kind", "union1", "--dim", "4")

    assert "" == first.err
    assert "kept.jsonl: 1 of 2 candidates are there already\n" == more.err
    assert "kept.jsonl: 2 of 2 candidates are there already\n" == again.err
    assert more.out == again.out
    shares = cli(*words[:-1], "--param", "TILE=64,512", "--objective", "io").out
    largest = max(one["io_efficiency"] for one in again.json()["candidates"])
    assert f" {largest:.1%} " in next(line for line in shares.splitlines() if line.startswith("   1"))
    assert 2 == other.code
    assert "are of other sources" in other.err


def test_sweep_and_what_if_take_the_same_words(cli, scale):
    """All candidates in order on each board; each candidate on other boards; a case of a file in place of the words."""
    call = ("scale.mlu", "--engine", "python", *CALL[6:], "--arg", "step=32", "--param", "-DTILE=64,100000")
    kept = ("sweep", *call, "--jobs", 1, "--board", "MLU370-X4,MLU370-X8", "-o", "kept.jsonl")
    shown, swept = cli(*kept), cli(*kept, "--json")
    rows = swept.json()["candidates"]
    asked = cli("what-if", *call, "--board", "MLU370-X8", "--json")
    first, other = asked.json()["candidates"]
    (scale / "cases.toml").write_text(
        'program = "scale.mlu"\nreference = "twice:same"\n'
        '[case.small]\ndefine = {TILE = "64"}\nargs = {dst = "out:float32:2048", src = "in.npy", n = 2048, step = 32}\n'
    )
    told = cli(
        "tune", "cases.toml", "--param", "FACTOR=3.0f,2.0f", "--engine", "python", "--jobs", 1, "--json"
    ).json()

    assert 1 == swept.code
    out = [line.split()[:3] for line in shown.out.splitlines() if line.startswith("TILE=100000 ")]
    assert [["TILE=100000", board, "refused"] for board in ("MLU370-X4", "MLU370-X8")] == out
    assert [("64", "MLU370-X4", "ok"), ("100000", "MLU370-X4", "refused"), ("64", "MLU370-X8", "ok"), ("100000", "MLU370-X8", "refused")] == [
        (one["parameters"]["TILE"], one["board"], one["verdict"]) for one in rows
    ]  # fmt: skip
    assert 0 == asked.code
    assert ["recorded", "re-timed"] == [row["how"] for row in first["rows"]]
    assert rows[2]["time_us"] == first["rows"][1]["time_us"]
    assert "declares 800,000 bytes of NRAM" in other["failure"]
    words = ("--param", "FACTOR=3.0f", "--engine", "python", "--jobs", 1, "--board", "MLU370-X4")
    (wrong,) = cli("sweep", "cases.toml", *words, "--json").json()["candidates"]
    assert ("wrong", {"FACTOR": "3.0f"}) == (wrong["verdict"], wrong["parameters"])
    assert ("twice:same", {"FACTOR": "2.0f"}) == (told["reference"], told["best"])
    assert "--param goes with a BANG C file" in cli("what-if", "tin_shift_forward", "--param", "a=1").err
    assert "--param goes with a BANG C file" in cli("sweep", "tin_shift_forward", "--param", "a=1").err
    assert "--policy goes with operators" in cli("sweep", *call, "--policy", "all").err


def test_any_executor_gives_the_same(scale):
    """In the order of the grid, by threads too; each mechanism is a time."""
    texts = {"dst": "out:float32:2048", "src": "in.npy", "n": "2048", "step": "32"}
    call = KernelCall(AskedCall(("scale.mlu",), arguments=texts, engine="python"))
    wanted = grid(parameters_of(["TILE=256..512:256", "kind=block,union1", "dim=4"], call))
    task = compared_to(task_of(call, wanted, USUAL), wanted)
    alone = list(tune(task, wanted))
    with ThreadPoolExecutor(2) as threads:
        together = list(tune(task, wanted, threads))

    assert alone == together
    assert ["256", "256", "512", "512"] == [one["parameters"]["TILE"] for one in alone]
    assert {*MECHANISMS, "cores"} == set(alone[0]["mechanisms"])
    by_io = ranked(alone, "io")
    assert max(one["io_efficiency"] for one in alone) == by_io[0]["io_efficiency"]


def test_searches_of_large_spaces(cli, scale):
    """Draws are the same for the same seed; halving goes on with the best third, and says where the others stood."""
    words = (
        *CALL[:10],
        "--arg",
        "step=32",
        "--jobs",
        1,
        "--param",
        "TILE=64..2048:64",
        "--json",
    )  # without n
    random = ("--arg", "n=2048", "--search", "random", "--trials", 3)
    first, again, other = (cli(*words, *random, "--seed", seed).json() for seed in (1, 1, 2))
    halving = (*words, "--search", "halving", "--trials", 4, "--rungs", "n=512,2048", "-o", "kept.jsonl")
    halved = cli(*halving).json()["candidates"]
    told = cli(*(word for word in halving if word != "--json")).out
    kept = Path("kept.jsonl").read_text().splitlines(keepends=True)
    Path("kept.jsonl").write_text("".join(kept[:-1]) + kept[-1][:20])  # killed as the last one came
    resumed = cli(*halving)
    another = cli(*halving, "--seed", 5)

    assert first == again
    assert 3 == len(first["candidates"])
    assert first["candidates"] != other["candidates"]
    assert ["2048", "2048", "512", "512"] == [one["parameters"]["n"] for one in halved]
    assert [1, None] == [halved[0]["rank"], halved[2]["rank"]]
    assert "kept.jsonl: 5 candidates are there already" in resumed.err
    assert (halved, kept) == (
        resumed.json()["candidates"],
        Path("kept.jsonl").read_text().splitlines(keepends=True),
    )
    assert "reference, limit or search" in another.err
    assert "Right is what gives the same as the first of its rung;" in " ".join(told.split())
    assert [("pruned", True)] * 2 == [(one["verdict"], "which went on" in one["why"]) for one in halved[2:]]


def test_proposals_of_optuna_are_the_same_for_the_same_seed(cli, scale):
    """Different candidates, as many as asked for, and no more than there are."""
    pytest.importorskip("optuna")
    words = (
        *CALL,
        "--arg",
        "step=32",
        "--param",
        "TILE=64..512:64",
        "--search",
        "tpe",
        "--seed",
        3,
        "--json",
    )
    first = cli(*words, "--trials", 5, "-o", "kept.jsonl").json()["candidates"]
    again = cli(*words, "--trials", 5, "-o", "kept.jsonl", "--restart").json()["candidates"]
    kept = Path("kept.jsonl").read_text().splitlines(keepends=True)
    Path("kept.jsonl").write_text("".join(kept[:3]))  # the first line, and two candidates
    resumed = cli(*words, "--trials", 5, "-o", "kept.jsonl").json()["candidates"]
    few = cli(
        *CALL, "--arg", "step=32", "--param", "TILE=64,128", "--search", "tpe", "--trials", 9, "--json"
    ).json()

    assert first == again == resumed
    assert 5 == len({one["parameters"]["TILE"] for one in first})
    assert 2 == len(few["candidates"])


WRONG = (
    ((), "nothing is to be tried"),
    (("--param", "TILE"), "gives no values"),
    (("--param", "TILE=64,,128"), "has an empty value"),
    (("--param", "TILE=64..16"), "write LOW..HIGH:STEP"),
    (("--param", "TILE=64", "--param", "-DTILE=1"), "gives TILE twice"),
    (("-D", "TILE=64", "--param", "-DTILE=1"), "both give TILE"),
    (("-D", "TILE=64", "--param", "n=1,2"), "--param and --arg both give n"),
    (("-D", "TILE=64", "--param", "SECON=1"), "did you mean SECOND?"),
    (("-D", "TILE=64", "--param", "FIXED=1,2"), "scale.mlu:8 defines FIXED whatever -D says"),
    (("-D", "TILE=64", "--param", "dim=1,2,3,4"), "is not a grid; write NAME=V,V,... as TILE=64,128,256, or with ; between values that have commas: dim=4,1,1;4,8,1, so 1;2;3;4 here"),
    (("-D", "TILE=64", "--param", "kind=onion"), "is unknown"),
    (("--param", "SECOND=1"), "undeclared identifier 'TILE'"),
    (("-D", "TILE=64", "--param", "n=1..9999", "--param", "SECOND=1,2,3"), "a grid tries at most 10,000"),
    (("--param", "TILE=64,128"), "step of Scale"),
    (("--param", "TILE=64,128", "--search", "random"), "--search and --trials go together"),
    (("--param", "TILE=64,128", "--search", "halving", "--trials", 4), "--search halving and --rungs go together"),
    (("--param", "TILE=64,128", "--search", "tpe", "--trials", 4, "--board", "MLU370-X4", "MLU590-H8"), "takes one board"),
)  # fmt: skip


def test_wrong_input_is_one_sentence(cli, scale):
    """What is wrong with the words, and what to write; one folder, so that the source is parsed once."""
    for words, sentence in WRONG:
        given = CALL[:-2] if "n=1..9999" in words else CALL
        done = cli(*given, *words)

        assert (2, "") == (done.code, done.out)
        assert done.err.startswith("error: ")
        assert sentence in done.err
    assert "error: there is no file nosuch.txt\n" == cli("tune", "nosuch.txt", "--dim", 3).err


PROGRAM = """#include <bang.h>
#include <cnrt.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
#ifndef TILE
#define TILE 64
#endif
__nram__ float buffer[TILE];
__mlu_entry__ void twice(float *x, int n) {
  for (int i = taskId * TILE; i < n; i += taskDim * TILE) {
    __memcpy(buffer, x + i, TILE * sizeof(float), GDRAM2NRAM);
    __bang_add(buffer, buffer, buffer, TILE);
    __memcpy(x + i, buffer, TILE * sizeof(float), NRAM2GDRAM);
  }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  std::vector<float> h(n, 1.5f);
  float *d;
  cnrtMalloc(&d, n * sizeof(float));
  cnrtMemcpy(d, h.data(), n * sizeof(float), cnrtMemcpyHostToDev);
  cnrtDim3_t dim = {(unsigned)atoi(getenv("TASKS")), 1, 1};
  twice<<<dim, cnrtFuncTypeBlock, nullptr>>>(d, n);
  cnrtMemcpy(h.data(), d, n * sizeof(float), cnrtMemcpyDevToHost);
  for (float one : h)
    if (one != 3) { printf("%g is wrong\\n", one); return 1; }
}
"""


def test_a_program_with_a_main_is_tried_whole(cli, tmp_path, monkeypatch):
    """Macros, words behind -- and variables: one run each, right where it ends with 0, out with the driver's sentence where not."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TASKS", raising=False)
    (tmp_path / "lab.mlu").write_text(PROGRAM)
    (tmp_path / "other.sh").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "other.sh").chmod(0o755)
    words = (
        "tune",
        "lab.mlu",
        "--param",
        "TILE=64,100",
        "--param",
        "env:TASKS=4,1",
        "--param",
        "n=1024",
        "--jobs",
        1,
    )
    found = cli(*words, "--json", "--", "{n}").json()
    rows = found["candidates"]

    assert [row["parameters"] for row in rows[:2]] == [
        {"TILE": "64", "env:TASKS": tasks, "n": "1024"} for tasks in ("4", "1")
    ]
    assert rows[0]["time_us"] < rows[1]["time_us"]
    assert [(row["verdict"], row["rank"]) for row in rows[2:]] == [("wrong", None)] * 2
    assert rows[2]["why"].startswith("it ends with exit code 1: __memcpy: ")
    assert "TASKS" not in os.environ
    other = ("--param", "env:TASKS=4,1", "--board", "MLU370-X4", "--json")
    swept = cli("sweep", "lab.mlu", *other, "--jobs", 1, "--", "1024").json()["candidates"]
    asked = cli("what-if", "lab.mlu", *other, "--param", "n=1024", "--", "{n}").json()["candidates"]
    assert [one["time_us"] for one in rows[:2]] == [one["time_us"] for one in swept]
    assert [one["time_us"] for one in rows[:2]] == [one["rows"][0]["time_us"] for one in asked]
    for wrong, sentence in (
        (("--param", "N=1", "lab.mlu"), "its source uses no such macro"),
        (
            ("--param", "n=1", "./other.sh"),
            "no word of other.sh has {n}; write it as {NAME} behind --, or as",
        ),
        (("--param", "env:n=1", "./other.sh"), "it launches no kernel"),
        (("--param", "env:n=1", "--search", "tpe", "--trials", 2, "./other.sh"), "takes a grid, or random"),
        (("--param", "env:n=1", "--reference", "a:b", "./other.sh"), "--reference goes with a BANG C file"),
    ):
        done = cli("tune", "--jobs", 1, *wrong)
        assert (done.code, sentence in done.err) == (2, True), done.err
