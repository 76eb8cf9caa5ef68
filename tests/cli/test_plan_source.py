"""``mlusim plan FILE.mlu``: the parts of on-chip arrays as a kernel of BANG C carves them."""

import html
import json
import re
from pathlib import Path

import numpy as np
import pytest

import ops
from mlusim.cli.main import main
from ops.mutual_information_backward.plan import PLAN as LATTICE
from ops.three_interpolate_backward.plan import PLAN as TILES

OPS = Path(ops.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "rules" / "plan-carved-overlap.md"
CALL = ("--arg", "out=out:float32:64", "--arg", "a=a.npy", "--arg", "b=a.npy", "--arg", "n=64")


@pytest.fixture
def plan(tmp_path, monkeypatch, capsys):
    """Run ``mlusim plan ... --json`` in a folder with the given arrays; the exit code and the document."""
    monkeypatch.chdir(tmp_path)

    def run(file, *words, **arrays):
        for name, array in arrays.items():
            np.save(f"{name}.npy", array)
        code = main(["plan", str(file), *words, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return run


def arguments(**values):
    """``--arg NAME=VALUE`` for each; arrays by their file."""
    return [word for name, value in values.items() for word in ("--arg", f"{name}={value}")]


def test_an_overlap_is_found_where_the_page_says(plan, tmp_path, capsys):
    """The kernel of the rule's page, and what is said of it."""
    page = PAGE.read_text()
    source = page.split("```c++\n")[1].split("```")[0]
    (tmp_path / "add.mlu").write_text(source)
    code, found = plan("add.mlu", *CALL, a=np.ones(64, np.float32))
    told = main(["plan", "add.mlu", *CALL]), capsys.readouterr().out
    (tmp_path / "good.mlu").write_text(source.replace(" - 8", ""))
    good, clean = plan("good.mlu", *CALL)
    (tmp_path / "meant.mlu").write_text(
        source.replace(
            "  __memcpy(right", "  // mlusim: allow plan-carved-overlap: on purpose\n  __memcpy(right"
        )
    )

    assert (1, 1, 0) == (code, told[0], good)
    assert page.split("```text\n")[1].split("```")[0].splitlines()[1] in told[1]
    (finding,) = found["findings"]
    assert ("plan-carved-overlap", "add.mlu", 8) == (
        finding["id"],
        Path(finding["file"]).name,
        finding["line"],
    )
    assert [] == clean["findings"]
    assert 0 == plan("meant.mlu", *CALL)[0]


ROWS = """
__nram__ int8_t buffer[4096];
__mlu_func__ void sort(int *found, int rows) {
  for (int i = 0; i < rows; ++i) {
    int *row = found + i * 16;
    __bang_write_value(found + i * 16, 16, 7);
    for (int j = 0; j < 3; ++j) row[j] = row[j] + j;
  }
}
__mlu_entry__ void Rows(int *out, int rows) {
  int *found = (int *)(buffer + 256), *other = (int *)(buffer + 256 + 64 * rows);
  __bang_write_value(other, 16, 1);
  sort(found, rows);
  __memcpy(out, found, 64 * rows, NRAM2GDRAM);
  __memcpy(out, other, 64, NRAM2GDRAM);
}
"""


@pytest.mark.parametrize("rows", [1, 3])
def test_a_row_is_a_part_of_its_table(plan, tmp_path, rows):
    """In the only turn of a loop its pointer stands still, and is a name of the table's beginning all the same."""
    (tmp_path / "rows.mlu").write_text(ROWS)
    code, found = plan("rows.mlu", "--arg", "out=out:int32:64", "--arg", f"rows={rows}")

    assert (0, []) == (code, found["findings"])


def test_check_tells_of_the_overlap_too(cli, tmp_path, monkeypatch):
    """What `plan` proves wrong is not a clean check; a comment allows it, and without plancheck nothing is inferred."""
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.ones(64, np.float32))
    source = PAGE.read_text().split("```c++\n")[1].split("```")[0]
    allow = "  // mlusim: allow plan-carved-overlap: on purpose\n  __memcpy(right"
    for name, text in (
        ("add", source),
        ("good", source.replace(" - 8", "")),
        ("meant", source.replace("  __memcpy(right", allow)),
    ):
        (tmp_path / f"{name}.mlu").write_text(text)
    done = {name: cli("check", f"{name}.mlu", *CALL) for name in ("add", "good", "meant")}
    without = cli("check", "add.mlu", *CALL, "--only", "memcheck,racecheck")
    written = cli("check", "add.mlu", *CALL, "--json").json()

    assert {"add": 1, "good": 0, "meant": 0} == {name: one.code for name, one in done.items()}
    assert "right overwrites 32 bytes of left that are read afterwards (inferred)" in done["add"].out
    assert "unused" not in done["meant"].out + done["meant"].err
    assert 0 == without.code
    assert [("plan-carved-overlap", "Add", 8)] == [
        (f["id"], f["kernel"], f["line"]) for f in written["findings"]
    ]


MAIN = """
int main() {
  float host[64] = {}, *a, *b, *out;
  cnrtMalloc((void **)&a, 256); cnrtMalloc((void **)&b, 256); cnrtMalloc((void **)&out, 256);
  cnrtMemcpy(a, host, 256, cnrtMemcpyHostToDev); cnrtMemcpy(b, host, 256, cnrtMemcpyHostToDev);
  cnrtDim3_t dim = {1, 1, 1};
  for (int turn = 0; turn < 3; ++turn) Add<<<dim, cnrtFuncTypeBlock, nullptr>>>(ARGS);
  cnrtSyncDevice();
  cnrtMemcpy(host, out, 256, cnrtMemcpyDevToHost);
  cnrtFree(a); cnrtFree(b); cnrtFree(out);
  return 0;
}
"""
SCRIPT = """
import numpy as np
import mlusim
device = mlusim.Device()
kernel = mlusim.bangc.load("add.mlu")["Add"]
out, a = device.empty(65, "float32"), device.put(np.ones(64, "float32"))
for n in (64, 64):
    device.launch(kernel, args=[ARGS])
device.get(out)
"""


def test_check_infers_the_plans_of_kernels_that_a_program_launches(cli, tmp_path, monkeypatch):
    """Those of a main and of a script, too: once for each kernel and shape, and a fault ends nothing else."""
    monkeypatch.chdir(tmp_path)
    source = PAGE.read_text().split("```c++\n")[1].split("```")[0]
    headers = "#include <bang.h>\n#include <cnrt.h>\n"
    (tmp_path / "add.mlu").write_text(headers + source + MAIN.replace("ARGS", "out, a, b, 64"))
    (tmp_path / "script.py").write_text(SCRIPT.replace("ARGS", "out + 1, a, a, n"))
    done = {name: cli("check", name, "--json") for name in ("add.mlu", "script.py")}
    alone = cli("check", "script.py", "--only", "memcheck", "--json")
    found = {
        name: [f for f in one.json()["findings"] if f["id"].startswith("plan")] for name, one in done.items()
    }

    for name in ("add.mlu", "script.py"):
        assert [("plan-carved-overlap", "Add", 10)] == [
            (f["id"], f["kernel"], f["line"]) for f in found[name]
        ]
        assert 1 == done[name].code
    assert "plan" not in alone.out


def test_parts_are_those_of_the_written_plan(plan):
    """Members of a record, tiles that do not fill, pointers that move: every region begins where the plan has it."""
    rng = np.random.default_rng(0)
    layout = TILES.layout("MLU370-X4", {"Co": 32, "No": 32, "Mo": 32}, dtype="float")
    code, found = plan(
        OPS / "three_interpolate_backward" / "kernel.mlu",
        "--kernel",
        "MLUUnion1ThreeInterpolateBackward<float>",
        *arguments(
            grad_output="go.npy", indices="i.npy", weights="w.npy", grad_features="out:float32:1,33,9"
        ),
        *arguments(b=1, c=33, n=33, m=9, Co=32, No=32, Mo=32),
        go=rng.random((1, 33, 33), np.float32),
        i=rng.integers(0, 9, (1, 33, 3), np.int32),
        w=rng.random((1, 33, 3), np.float32),
    )
    (array,) = found["arrays"]
    parts = {part["variable"].removeprefix("nram."): part for part in array["parts"]}

    assert (0, "nram_buffer", 655360) == (code, array["name"], array["bytes"])
    assert {r.name: r.offset for r in layout.stages[0].regions} == {n: p["offset"] for n, p in parts.items()}
    assert ["selected"] == parts["grad_features"]["moving"]
    assert ["cells"] == parts["indices_transpose"]["moving"]
    assert "int *" == parts["indices"]["type"]
    assert layout.high_water == array["touched"]


def test_stages_share_bytes_without_a_finding(plan):
    """Buffers of two stages in four functions; what the second takes from the first is not an overlap that is alive."""
    rng = np.random.default_rng(0)
    layout = LATTICE.layout("MLU370-X4", S=4, T=6)
    code, found = plan(
        OPS / "mutual_information_backward" / "kernel.mlu",
        *arguments(px="px.npy", py="py.npy", p="p.npy", ans_grad="inout:g.npy", opt_boundary="null"),
        *arguments(overwrite_ans_grad=1, workspace="null", px_grad="out:float32:2,4,7"),
        *arguments(py_grad="out:float32:2,5,6", batches=2, S=4, T=6),
        px=rng.random((2, 4, 7), np.float32),
        py=rng.random((2, 5, 6), np.float32),
        p=rng.random((2, 5, 7), np.float32),
        g=rng.random(2, np.float32),
    )
    parts = {part["variable"]: part for part in found["arrays"][0]["parts"]}
    regions = {r.name: r.offset for stage in layout.stages for r in stage.regions if r.name != "zero"}

    assert (0, []) == (code, found["findings"])
    assert regions == {name: part["offset"] for name, part in parts.items()}
    assert 4 == len(parts["term1"]["declared"])
    assert ["cur_p", "next_p", "large_neg", "mask"] == parts["p_grad"]["shares"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("add.mlu", *CALL[:-2]), "int n of Add"),
        (("add.mlu", *CALL, "--frontier", "n,m"), "has no integer 'm' to look for"),
        (("add.mlu", *CALL, "--frontier", "n,n"), "a frontier needs two variables, not n twice"),
        (("add.mlu", *CALL, "--frontier", "n"), "names 1 variable; give two"),
        (("add.mlu", *CALL, "--claim"), "a BANG C file states no limit; state one: --claim"),
        (("add.mlu", *CALL, "--claim", "m <= 4"), "it names 'm'; known are"),
        (("add.mlu", *CALL, "--set", "n=4"), "--set goes with an operator's plan"),
        (
            ("add.mlu", *CALL, "--max", "a"),
            "has no integer 'a' to look for; its integers, and macros of -D: n",
        ),
        (("add.mlu", *CALL, "-D", "TILE=4", "--max", "-DTILE"), "uses no macro TILE, which -D defines"),
        (
            ("add.mlu", *CALL, "-o", "plan.csv"),
            "plan.csv: this answer cannot be written as csv; use json, html",
        ),
        (("missing.mlu", *CALL, "--board", "MLU370-X4", "MLU590-H8"), "missing.mlu"),
        (("tin_shift_forward", "--kernel", "K"), "--kernel goes with a BANG C file"),
        (("tin_shift_forward", "other"), "takes one operator"),
        (("missing.txt", "--dim", "3"), "there is no file missing.txt, and no operator of that name"),
    ],
)
def test_a_wrong_question_is_one_sentence(tmp_path, monkeypatch, capsys, words, sentence):
    """What is missing or does not fit is named, with exit code 2."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "add.mlu").write_text(PAGE.read_text().split("```c++\n")[1].split("```")[0])
    np.save("a.npy", np.ones(64, np.float32))
    code = main(["plan", *words])

    assert (2, True) == (code, sentence in capsys.readouterr().err)


LOCAL = """\
__mlu_global__ void K(float *out, const float *in, int n) {{
  __nram__ float room[1024];
  {first}
  float *next = room + n;
  __memcpy({name}, in, n * sizeof(float), GDRAM2NRAM);
  __bang_add(next, {name}, {name}, n);
  __memcpy(out, next, n * sizeof(float), NRAM2GDRAM);
}}
"""


@pytest.mark.parametrize(("name", "first"), [("begin", "float *begin = room;"), ("room", "")])
def test_a_pointer_at_the_beginning_of_a_local_array_has_its_part(plan, tmp_path, name, first):
    """By the pointer's name where there is one, by the array's own where that is used."""
    (tmp_path / "k.mlu").write_text(LOCAL.format(name=name, first=first))
    words = ("--arg", "out=out:float32:64", "--arg", "in=in.npy", "--arg", "n=64")
    code, found = plan("k.mlu", *words, **{"in": np.ones(64, np.float32)})
    (array,) = found["arrays"]

    assert (0, "room", 512) == (code, array["name"], array["touched"])
    assert [(name, 0), ("next", 256)] == [(p["variable"], p["offset"]) for p in array["parts"]]


SIZED = """\
__nram__ char pool[__BANG_ARCH__ >= 500 ? 2048 : 4096];
__mlu_global__ void K(float *out, const float *in, int n) {
  float *left = (float *)pool;
  float *right = (float *)(pool + sizeof(pool) / 2);
  __memcpy(left, in, n * sizeof(float), GDRAM2NRAM);
  __bang_add(right, left, left, n);
  __memcpy(out, right, n * sizeof(float), NRAM2GDRAM);
}
"""
SIZED_CALL = ("--arg", "out=out:float32:4096", "--arg", "in=in.npy", "--board", "MLU370-X4", "MLU590-H8")


def test_several_boards_are_compiled_for_and_shown_side_by_side(cli, tmp_path, monkeypatch):
    """Each has its own sizes; -o writes the same document; where one board ends in a fault the other is shown."""
    monkeypatch.chdir(tmp_path)
    np.save("in.npy", np.ones(4096, np.float32))
    Path("k.mlu").write_text(SIZED)
    shown = cli("plan", "k.mlu", *SIZED_CALL, "--arg", "n=64")
    found = cli("plan", "k.mlu", *SIZED_CALL, "--arg", "n=64", "--json").json()
    written = cli("plan", "k.mlu", *SIZED_CALL, "--arg", "n=64", "-o", "plan.json")
    one = cli("plan", "k.mlu", *SIZED_CALL, "--arg", "n=512")
    alone = ("plan", "k.mlu", *SIZED_CALL[:-1], "--arg", "n=64")
    cli(*alone, "-o", "plan.html")
    drawn = Path("plan.html").read_text()

    assert (0, 0, "", 1) == (shown.code, written.code, written.out, one.code)
    assert ["MLU370-X4", "MLU590-H8"] == [board["board"] for board in found]
    assert [[0, 2048], [0, 1024]] == [[p["offset"] for p in board["arrays"][0]["parts"]] for board in found]
    assert found == json.loads(Path("plan.json").read_text())
    (row,) = (line.split() for line in shown.out.splitlines() if line.startswith("float * right"))
    assert ["2,048:", "[2,048,", "2,304)", "1,024:", "[1,024,", "1,280)"] == row[3:]
    assert "K on MLU370-X4\n" in one.out
    assert "MLU590-H8: " in one.out
    stages = [{s["name"]: [r["name"] for r in s["regions"]] for s in board["stages"]} for board in found]
    assert [{"NRAM": ["left", "right", "pool (untouched)", "stack"]}] * 2 == stages
    nram = found[0]["memory"]["NRAM"]
    assert (True, 4096, 0, 131072, 786432) == tuple(
        nram[key] for key in ("fits", "declared", "stack", "reserve", "limit")
    )
    assert "<title>right: 64 float at byte 2,048, 256 bytes</title>" in drawn
    untouched, painted = (
        drawn.partition(f"<title>{name}")[2].partition("</g>")[0] for name in ("pool", "right")
    )
    assert ('fill="none" stroke-dasharray' in untouched, 'fill="none"' in painted) == (True, False)
    assert re.search(
        r'<tr><td class="name">c</td><td class="n">[\d,]+</td><td class="n">-</td><td class="n">[\d,]+</td><td class="name">untouched</td>',
        drawn,
    )
    assert re.search(
        r'<h1>The plan of k.mlu</h1>\n<p class="answer good">K on MLU370-X4: NRAM fits, with [\d.]+ KiB to spare</p>',
        drawn,
    )
    assert ("limit 640 KiB" in drawn, "128 KiB for the stack" in drawn) == (True, True)
    assert re.search(r"\|c\| +\| +stack +\|\n", drawn)  # a part before a gap ends there
    assert "stack 0 of the 128 KiB that are left to it; 636 KiB more may be declared" in shown.out


def test_the_largest_value_that_runs_is_found_on_each_board(cli, tmp_path, monkeypatch):
    """It is where the arrays end; the next value fails with its fault, and the text says that values are samples.

    As a picture the same sentences stand above the map at the largest value; there is none where no value runs.
    """
    monkeypatch.chdir(tmp_path)
    np.save("in.npy", np.ones(4096, np.float32))
    Path("k.mlu").write_text(SIZED)
    found = cli("plan", "k.mlu", *SIZED_CALL, "--arg", "n=100", "--max", "n", "--json")
    shown = cli("plan", "k.mlu", *SIZED_CALL, "--max", "n")
    cli("plan", "k.mlu", *SIZED_CALL[:-2], SIZED_CALL[-1], "--max", "n", "-o", "F.svg")
    cli("plan", "k.mlu", *SIZED_CALL, "--max", "n", "-o", "two.svg")
    beside = re.findall(r">([^<>]*)</text>", Path("two.svg").read_text())
    half = ("--arg", "in=randn:float32:n/2", "--arg", "out=out:float32:n", "--arg", "n=4")
    none = cli("plan", "k.mlu", *half, "--max", "n", "--format", "svg")
    drawn = Path("F.svg").read_text()
    told = " ".join(html.unescape(" ".join(re.findall(r">([^<>]*)</text>", drawn))).split())

    assert ["K on MLU370-X4", "K on MLU590-H8"] == [text for text in beside if text.startswith("K on")]
    assert {"the largest n that runs is 512", "the largest n that runs is 256"} <= {*beside}
    assert (0, 0) == (found.code, shown.code)
    assert [(512, 513, "fault"), (256, 257, "fault")] == [
        (one["largest"], one["fails"]["value"], one["fails"]["kind"]) for one in found.json()
    ]
    assert all(one["sampled"] and one["fails"]["line"] == 6 for one in found.json())
    assert "K on MLU590-H8: the largest n that runs is 256\n" in shown.out
    assert "n = 257 fails: __bang_add: dst takes elem_count = 257 elements" in shown.out
    assert "Found by sampling" in shown.out
    lines = shown.out.splitlines()
    lines = lines[lines.index("K on MLU590-H8: the largest n that runs is 256") :][:3]
    assert [line.strip() for line in lines if line.strip() in told] == [line.strip() for line in lines]
    assert "<title>right: 256 float at byte 1,024, 1,024 bytes</title>" in drawn
    assert (1, True, False) == (none.code, "no n that was tried runs" in none.out, "<rect" in none.out)


def test_the_largest_number_of_tasks_is_found_in_steps_of_a_union(cli, tmp_path, monkeypatch):
    """Until the array that is given ends; a union has all of its cores."""
    monkeypatch.chdir(tmp_path)
    Path("k.mlu").write_text(
        "__mlu_global__ void K(float *z) { __nram__ float a[64]; __memcpy(z + taskId * 64, a, 256, NRAM2GDRAM); }\n"
    )
    call = ("plan", "k.mlu", "--arg", "z=out:float32:640", "--max", "dim.x", "--json")
    block, union = cli(*call), cli(*call, "--kind", "union1", "--dim", "4")

    assert [(10, 11), (8, 12)] == [
        (one["largest"], one["fails"]["value"]) for answer in (block, union) for one in [answer.json()]
    ]


CLOSE = """\
__nram__ char pool[4096];
__mlu_global__ void K(float *out, const float *in, int n) {
  float *left = (float *)pool;
  float *right = (float *)(pool + 400);
  __memcpy(left, in, n * sizeof(float), GDRAM2NRAM);
  __memcpy(right, in, n * sizeof(float), GDRAM2NRAM);
  __bang_add(left, left, left, n);
  __memcpy(out, left, n * sizeof(float), NRAM2GDRAM);
}
"""


def test_the_largest_value_has_no_overlap(cli, tmp_path, monkeypatch):
    """A kernel that runs but overwrites what is still read does not fit; what is given too small is named."""
    monkeypatch.chdir(tmp_path)
    np.save("in.npy", np.ones(4096, np.float32))
    Path("k.mlu").write_text(CLOSE)
    call = ("--arg", "in=in.npy", "--max", "n")
    one = cli("plan", "k.mlu", "--arg", "out=out:float32:4096", *call, "--json").json()
    small = cli("plan", "k.mlu", "--arg", "out=out:float32:64", *call)

    assert (100, 101, "overlap") == (one["largest"], one["fails"]["value"], one["fails"]["kind"])
    assert "right overwrites" in one["fails"]["sentence"]
    assert "right overwrites left" == one["binding"]
    assert "the largest n that runs is 64" in small.out
    assert "An array given with --arg is too small for n" in small.out


def test_a_macro_is_searched_for_from_a_value_of_its_own_that_does_not_fit(tmp_path, capsys):
    """The arrays that the file's own value declares are too large for the board; smaller ones fit."""
    source = tmp_path / "wide.mlu"
    source.write_text(
        "#ifndef TILE\n#define TILE 200000\n#endif\n__nram__ float wide[TILE];\n"
        "__mlu_entry__ void Wide(float *p) { __memcpy(wide, p, 64, GDRAM2NRAM); }\n"
    )

    assert main(["plan", str(source), "--arg", "p=zeros:float:16", "--max", "-DTILE"]) == 0
    told = capsys.readouterr().out.splitlines()[:2]

    assert (
        "Wide on MLU370-X4: the largest TILE that leaves the compiler its stack is 163,840" == told[0]
    )  # 640 KiB of floats
    assert (
        "  the largest TILE that runs is 196,608, with NRAM 768 of 768 KiB (128.0 KiB of them from the 128 KiB"
        in told[1]
    )
    assert main(["plan", str(source), "--arg", "p=zeros:float:16", "--max", "dim.x"]) == 2


@pytest.mark.parametrize(
    ("own", "wants", "safe", "runs", "steps"),
    [
        # The largest multiples of 64 below 640 and 768 KiB of floats.
        (
            "262144",
            "#if TILE % 64\n#error TILE is not a multiple of 64\n#endif",
            163776,
            196544,
            "steps of 64",
        ),
        # Of 96, of which the file's own value is none.
        ("(512 * 1024)", 'static_assert(TILE % 96 == 0, "");', 163776, 196512, "steps of 96"),
        ("262144", 'static_assert((TILE & (TILE - 1)) == 0, "");', 131072, 131072, "powers of two"),
        (
            "0x8000u  // too few",
            'constexpr int k = 2 * TILE; static_assert(k > 100000, "");',
            163839,
            196607,
            "",
        ),
    ],
)
def test_a_macro_is_searched_for_in_values_that_the_source_takes(
    own, wants, safe, runs, steps, tmp_path, capsys
):
    """Values that an assertion of the source refuses, the file's own among them, neither end the search nor hide a larger one that fits."""
    source = tmp_path / "wide.mlu"
    source.write_text(
        f"#ifndef TILE\n#define TILE {own}\n#endif\n{wants}\n"
        "__nram__ float wide[TILE + 1];\n"
        "__mlu_entry__ void Wide(float *p) { __memcpy(wide, p, 64, GDRAM2NRAM); }\n"
    )

    assert main(["plan", str(source), "--arg", "p=zeros:float:16", "--max", "-DTILE"]) == 0
    told = capsys.readouterr().out

    assert f"the largest TILE that leaves the compiler its stack is {safe:,}\n" in told or safe == runs
    assert f"the largest TILE that runs is {runs:,}" in told
    assert ("searched in" in told) == bool(steps)
    assert not steps or f"TILE was searched in {steps}: " in told


@pytest.mark.parametrize(
    ("space", "begin", "direction", "board", "safe", "runs"),
    [
        ("nram", "", "GDRAM2NRAM", "MLU370-X4", 163840, 196608),
        ("nram", "", "GDRAM2NRAM", "MLU590-H8", 98304, 131072),
        ("mlu_shared", "if (coreId != 0x80) return;", "GDRAM2SRAM", "MLU370-X4", 1015808, 1048576),
    ],
)
def test_the_largest_value_leaves_the_compiler_its_stack_first(
    space, begin, direction, board, safe, runs, tmp_path, capsys
):
    """The reserve of NRAM, and that of SRAM for the memory core; with the value up to which the kernel runs here beside it."""
    source = tmp_path / "wide.mlu"
    source.write_text(
        f"#ifndef TILE\n#define TILE 256\n#endif\n__{space}__ float wide[TILE];\n"
        f"__mlu_entry__ void Wide(float *p) {{ {begin} __memcpy(wide, p, 64, {direction}); }}\n"
    )
    launch = ["--kind", "union1", "--dim", "4"] if begin else []
    code = main(
        [
            "plan",
            str(source),
            *launch,
            "--arg",
            "p=zeros:float:16",
            "--board",
            board,
            "--max",
            "TILE",
            "--json",
        ]
    )
    found = json.loads(capsys.readouterr().out)

    assert (0, safe, runs) == (code, found["largest_with_stack"], found["largest"])
    assert {4 * runs} == {nbytes for nbytes in found["declared_at_largest"].values() if nbytes}
