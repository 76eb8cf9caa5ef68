"""``mlusim fuzz`` finds the kinds of bugs that ordinary inputs do not show, from what its arguments may be alone."""

import json
import pickle
import re
import shlex
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from attrs import evolve

from mlusim.bang import Mlu, Ptr, kernel
from mlusim.cli.main import main
from mlusim.fuzz.draws import CallDraw, Landmarks, specified
from mlusim.fuzz.trial import TrialDraws
from mlusim.host import BLOCK, Status
from mlusim.operators import registry
from mlusim.operators.registry import find_operator

HERE = Path(__file__).parent
KINDS = {
    "Pairs": (
        "rows=int:0..40",
        "cols=int:1..65",
        "x=float:-9..9:float32:rows,cols",
        "y=out:float32:rows,cols",
    ),
    "Pipeline": ("steps=int:1..40", "x=float:-9..9:float32:steps,64", "y=out:float32:steps,64"),
    "Kept": ("k=int:1..9000", "scores=in:float32:k", "y=out:float32:k"),
    "Nearest": ("n=int:0..200", "x=float:-900..900:float32:n", "y=out:int32:n"),
    "Blocks": ("rows=int:0..200000", "cols=int:0..200000", "blocks=out:int64:1"),
    "Weighted": (
        "n=int:0..200",
        "x=float:-9..9:float32:n",
        "weight=null|float:-9..9:float32:n",
        "y=out:float32:n",
    ),
    "Lookup": (
        "entries=int:2..300",
        "n=int:0..100",
        "table=float:-99..99:float32:entries",
        "at=int:0..entries:n",
        "y=out:float32:n",
    ),
}


@pytest.fixture
def fuzzed(tmp_path, monkeypatch, capsys):
    """Run a verb of the command line in a folder that has the kernels and their references: its code and its document."""
    for name in ("historic_kinds.mlu", "fuzz_references.py"):
        shutil.copy(HERE / name, tmp_path)
    monkeypatch.chdir(tmp_path)

    def run(*words):
        capsys.readouterr()
        code = main([*words, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


def words(kind, *, fixed, runs=40, seed=0):
    """The search for the bug of *kind*, or in its fixed twin."""
    arguments = [word for one in KINDS[kind] for word in ("--arg", one)]
    name = f"{kind}<{str(fixed).lower()}>"
    end = ["--reference", f"fuzz_references:{kind.lower()}", "--runs", str(runs), "--seed", str(seed)]
    return ["fuzz", "historic_kinds.mlu", "--kernel", name, *arguments, *end]


@pytest.mark.parametrize("kind", ["Pairs", "Lookup"])
def test_a_search_finds_what_is_wrong_and_nothing_else(fuzzed, kind, capsys):
    """The failing call is as small as can be, and its line fails again; nothing is found in the fixed twin, whose last line says what it took."""
    code, found = fuzzed(*words(kind, fixed=False))
    again, report = fuzzed(*shlex.split(found["failing"]["command"])[1:])
    silent, fixed = fuzzed(*words(kind, fixed=True, runs=20))

    assert [1, 0] == [code, silent]
    smallest = {"Pairs": {"rows": "1", "cols": "1"}, "Lookup": {"entries": "2", "n": "1"}}[kind]
    assert smallest == {name: found["failing"]["arguments"][name] for name in smallest}
    ids = {f["id"] for f in report["findings"]} | (
        {"wrong-result"} if report["runs"][0]["problem"] else set()
    )
    assert [True, True] == [again != 0, found["failing"]["id"] in ids]
    assert [20, 0] == [fixed["draws"], fixed["cut_off"]]
    assert [[]] == [one["missing"] for one in fixed["lines"]]
    _, kept = fuzzed(*words(kind, fixed=False))
    assert [None, found["failing"]["command"]] == [kept["failing"]["draw"], kept["failing"]["command"]]
    _, onward = fuzzed(*words(kind, fixed=True, runs=2))
    assert [20, 2] == [onward["first"], onward["draws"]]
    assert 0 == main(words(kind, fixed=True, runs=1))
    last = capsys.readouterr().out.splitlines()[-1]
    assert re.fullmatch(
        r"1 draw without a finding in \d+\.\d s \(\d+\.\d s of CPU\): 22 to 23 of seed 0", last
    )


UNWAITED = """\
#include <bang.h>
__nram__ float part[TILE];
__mlu_entry__ void Add(float *y, const float *x, float s, int n) {
  for (int i = taskId * TILE; i < n; i += taskDim * TILE) {
    int count = n - i < TILE ? n - i : TILE;
    __memcpy_async(part, x + i, count * sizeof(float), GDRAM2NRAM);
#if __BANG_ARCH__ < 500
    __sync_io();
#endif
    for (int k = 0; k < count; ++k) part[k] = part[k] * s + y[i + k];
    __memcpy(y + i, part, count * sizeof(float), NRAM2GDRAM);
  }
}
"""


def test_boards_grids_and_macros_are_drawn_and_typed(fuzzed, tmp_path):
    """What is wrong on one of two boards is found there, and kept; the line has the macro, the board and the grid."""
    (tmp_path / "add.mlu").write_text(UNWAITED)
    drawn = ["n=int:0..TILE*9", "s=float:-2..2", "x=in:float32:n", "y=inout:float:-9..9:float32:n"]
    arguments = [word for one in drawn for word in ("--arg", one)]
    around = ["-D", "TILE=64", "--dim", "1|4|2,2", "--board", "MLU370-X4", "MLU590-H8"]

    code, found = fuzzed("fuzz", "add.mlu", *around, *arguments, "--runs", "30")
    command = shlex.split(found["failing"]["command"])
    again, report = fuzzed(*command[1:])

    assert [1, 1] == [code, again]
    assert ["racecheck-read-after-write"] == [
        f["id"] for f in report["findings"] if f["id"].startswith("race")
    ]
    assert {"TILE=64", "MLU590-H8", "n=1", "s=0.0"} <= set(command)
    assert "1" == command[command.index("--dim") + 1]


def test_other_processes_draw_the_same_calls():
    """A specification that was sent to one has the forms that were written, and the same numbers and arrays."""
    texts = dict(
        one.split("=", 1) for one in (*KINDS["Lookup"], "w=null|in:half:n", "r=float:0..1", "z=zeros:int8:n")
    )
    draw = CallDraw(specified(texts), ((1, 1, 1), (4, 1, 1)), ("MLU370-X4",))
    here, there = (
        TrialDraws(one, {}, {}, Landmarks((), ())) for one in (draw, pickle.loads(pickle.dumps(draw)))
    )

    for number in range(30):
        calls = [made.made(made.drawn(3, number), tuple(texts)) for made in (here, there)]
        assert calls[0].texts == calls[1].texts
        assert all(np.array_equal(a, calls[1].arrays[n], equal_nan=True) for n, a in calls[0].arrays.items())
        entries, at = int(calls[0].texts["entries"]), calls[0].arrays["at"]
        assert calls[0].arrays["table"].shape == (entries,)
        assert at.size == 0 or 0 <= at.min() <= at.max() < entries


def drops_a_last_frame(handle, tensors, descs, _):
    """A host function of a shift that moves nothing, and forgets the last element of odd rows."""
    given, width = handle.device.get(tensors["input"]), descs["input"].shape[-1]
    if width > 640:
        handle.last_error = "shift: HW is too large; it is at most 640"
        return Status.MLUOP_STATUS_NOT_SUPPORTED
    count = given.size
    handle.launch(shift, (1, 1, 1), BLOCK, (tensors["output"], tensors["input"], count, count - width % 2))
    return Status.MLUOP_STATUS_SUCCESS


@kernel
def shift(mlu: Mlu, y: Ptr, x: Ptr, count: int, kept: int) -> None:
    """Y = x, of which the first *kept* elements alone are right."""
    for n in range(count):
        y[n] = x[n] if n < kept else 0


def test_an_operator_is_searched_from_what_it_declares(fuzzed, only_entries):
    """Types go together, what the host function refuses is counted, and the failing call is typed again from a file of inputs."""
    sound = find_operator("tin_shift_forward")
    draws = {**sound.draws, "N": "1", "T": "int:1..4", "G": "1", "each": "1", "HW": "int:2..700"}
    broken = evolve(sound, call=drops_a_last_frame, draws={**draws, "shifts": "zeros:int32:N,G"}, plans=())
    only_entries(registry, [SimpleNamespace(name="broken", value="broken", load=lambda: broken)])

    code, found = fuzzed("fuzz", sound.name, "--runs", "60")
    again, report = fuzzed(*shlex.split(found["failing"]["command"])[1:])
    _, even = fuzzed("fuzz", sound.name, "--arg", "HW=640|642", "--runs", "8", "--corpus", "even")

    assert [1, 1] == [code, again]
    assert "not accurate enough" in report["runs"][0]["problem"]
    with np.load(Path("tin_shift_forward.fuzz").glob("*/inputs.npz").__next__()) as inputs:
        assert (1, 1, 1, 3) == inputs["input"].shape
    assert [None, 8] == [even["failing"], even["draws"]]
    assert 0 < even["refused"] < 8


PYTHON = """\
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, Mlu, Ptr, float32, kernel


@kernel
def halve(mlu: Mlu, y: Ptr, x: Ptr, n: int, by: float = 0.5) -> None:
    part = mlu.nram(float32, 1024)
    for at in range(mlu.taskId * 1024, n, mlu.taskDim * 1024):
        count = min(n - at, 1024)
        mlu.memcpy(part, x + at, count * 4, GDRAM2NRAM)
        mlu.bang_mul_scalar(part, part, by, count if n != 1025 else 1)
        mlu.memcpy(y + at, part, count * 4, NRAM2GDRAM)


if __name__ == "__main__":
    raise SystemExit("it is loaded, and not run")
"""
REFERENCES = """\
def halve(x, n, by=0.5):
    return x * by


def doubled(data, n):
    return {"data": data * 2, "size": [n * 4]}
"""
HOST = """\
#include <bang.h>
#include <cnrt.h>
__nram__ float part[4096];
__mlu_global__ void Scale(float *data, int n, float factor) {
  __memcpy(part, data + taskId * n, n * sizeof(float), GDRAM2NRAM);
  __bang_mul_scalar(part, part, factor, n);
  __memcpy(data + taskId * n, part, n * sizeof(float), NRAM2GDRAM);
}
cnrtRet_t KernelScale(cnrtDim3_t dim, cnrtFunctionType_t kind, cnrtQueue_t queue, void *data, int n, size_t *size) {
  *size = n * sizeof(float);
  if (n > 2000) return cnrtErrorArgsInvalid;
  Scale<<<dim, kind, queue>>>((float *)data, n / dim.x, 2.0f);
  return cnrtGetLastError();
}
"""


def test_kernels_in_python_are_searched_and_checked(fuzzed, tmp_path, capsys):
    """By the constants of their file; defaults are left out, and the file is loaded, not run."""
    (tmp_path / "kernels.py").write_text(PYTHON)
    (tmp_path / "of_python.py").write_text(REFERENCES)
    drawn = ["--arg", "n=int:1..9000", "--arg", "x=float:1..2:float32:n", "--arg", "y=out:float32:n"]

    code, found = fuzzed("fuzz", "kernels.py", *drawn, "--reference", "of_python:halve", "--runs", "120")
    again, report = fuzzed(*shlex.split(found["failing"]["command"])[1:])

    assert [1, 1, "1025"] == [code, again, found["failing"]["arguments"]["n"]]
    assert "against of_python:halve, y" in report["runs"][0]["problem"]
    for words, said in (
        (("--kernel", "half"), "kernels.py has no kernel 'half'; its kernels: halve"),
        (
            ("--arg", "z=1", "--arg", "n=1", "--arg", "x=null", "--arg", "y=null"),
            "halve has no parameter 'z', and no formula names it; its parameters: y, x, n, by",
        ),
        (("--arg", "y=out:float32:8"), "x of halve (kernels.py) has no value"),
    ):
        assert 2 == main(["check", "kernels.py", *words])
        assert said in capsys.readouterr().err


def test_host_functions_are_searched_and_checked(fuzzed, tmp_path, capsys):
    """The grid is given to them, a wrong share shows in their output, a size comes back, and one process calls them all."""
    (tmp_path / "scale.mlu").write_text(HOST)
    (tmp_path / "of_host.py").write_text(REFERENCES)
    drawn = ["--arg", "n=int:2..3000", "--arg", "data=inout:float:1..2:float32:n", "--dim", "1|2"]
    size = ["--arg", "size=host:out:uint64:1"]
    call = ["scale.mlu", "--function", "KernelScale", *drawn, "--reference", "of_host:doubled"]

    code, found = fuzzed("fuzz", *call, *size, "--runs", "40")
    again, report = fuzzed(*shlex.split(found["failing"]["command"])[1:])

    assert [1, 1, "3"] == [code, again, found["failing"]["arguments"]["n"]]
    assert [2, 1, 1] == found["failing"]["dim"]
    assert "against of_host:doubled, data" in report["runs"][0]["problem"]
    large = [word.replace("n=int:2", "n=int:2001") for word in call]
    _, refused = fuzzed("fuzz", *large, *size, "--runs", "3", "--corpus", "large")
    assert [None, 3] == [refused["failing"], refused["refused"]]
    words = ("n=1", "data=inout:zeros:float32:1", "size=out:uint64:1")
    given = [word for one in words for word in ("--arg", one)]
    assert 2 == main(["check", "scale.mlu", "--function", "KernelScale", *given])
    assert "pointer to memory of the host" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("n=int:5..5",), "no whole number is 5 or more and below 5"),
        (("n=int:1..9", "x=in:float32:n-50"), "a size is -"),
        (("n=int:1000000000..2000000000",), "give smaller ranges"),
        (("n=float:3..1",), "the lower number first"),
        (
            ("odd=int:1..4",),
            "Nearest<1> has no parameter 'odd', and no formula names it; its parameters: y, x, n",
        ),
        (("y=",), "gives no value"),
        (("y",), "as --arg y=in:int32:64"),  # it is left out
        (("--dim=4|0",), "dim.x = 0 is out of range; MLU370-X4 takes 1 to 65535"),
        (("x=in:int32:n",), "it takes float"),
    ],
)
def test_what_cannot_be_drawn_is_refused(fuzzed, capsys, change, said):
    """In a sentence that says what is legal, before anything is searched or where the first call is made."""
    grid = [one for one in change if one.startswith("--")]
    changed = {one.partition("=")[0]: one for one in (*KINDS["Nearest"], *change) if one not in grid}
    arguments = [word for one in changed.values() if one != "y" for word in ("--arg", one)] + grid

    code = main(["fuzz", "historic_kinds.mlu", "--kernel", "Nearest<true>", *arguments, "--runs", "2"])

    assert code == 2
    assert said in capsys.readouterr().err


@pytest.mark.attack
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_found_from_its_arguments(fuzzed, kind):
    """With three seeds; the fixed twin stays silent over a thousand draws."""
    for seed in range(3):
        code, found = fuzzed(*words(kind, fixed=False, runs=600, seed=seed), "--corpus", f"of-{seed}")
        again, _ = fuzzed(*shlex.split(found["failing"]["command"])[1:])
        assert [1, True] == [code, again != 0]
    silent, _ = fuzzed(*words(kind, fixed=True, runs=1000))
    assert silent == 0
