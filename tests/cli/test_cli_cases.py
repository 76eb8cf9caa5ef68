"""A file of cases in place of a program: run, check, profile and debug, and what is said of a wrong file."""

import re
import shlex
import sys

import numpy as np
import pytest

from mlusim.errors import UsageError
from mlusim.programs.cases import cases_in

SOURCE = """\
#include "scale.h"
__nram__ float buffer[TILE];
__mlu_entry__ void Scale(float *dst, const float *src, int n, float factor) {
  __memcpy(buffer, src + taskId * n, n * sizeof(float), GDRAM2NRAM);
  __bang_mul_scalar(buffer, buffer, factor, n);
  __memcpy(dst + taskId * n, buffer, n * sizeof(float), NRAM2GDRAM);
}
"""
CASES = """\
program = "scale.mlu"
include = "headers"
define = { TILE = 64 }
args = { dst = "out:float32:total", src = "randn:float32:total", n = 32, total = "n*2", factor = 2.5 }
dim = 2

[case.small]
reference = "reference:scaled"
tolerance = 1e-3
seed = 7

[case.file]
args = { src = "in.npy" }
expect = { dst = "expected.npz:twice" }

[case.wrong]
dim = [2, 1, 1]
tolerance = { diff1 = 0.5 }
reference = "reference:wrong"

[case.large]

[case.large.args]
n = 65
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with cases and what they need; the working directory is another one."""
    home = tmp_path / "home"
    (home / "headers").mkdir(parents=True)
    (home / "headers" / "scale.h").write_text("#include <bang.h>\n")
    (home / "scale.mlu").write_text(SOURCE)
    (home / "cases.toml").write_text(CASES)
    (home / "reference.py").write_text(
        "import numpy as np\n"
        "def scaled(src, n, factor):\n    assert n == 32\n    return src * np.float32(factor)\n"
        "def wrong(src, n, factor):\n    return src * 9\n"
    )
    values = np.arange(64, dtype=np.float32)
    np.save(home / "in.npy", values)
    np.savez(home / "expected.npz", twice=values * 2.5)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "reference.py").write_text("")
    monkeypatch.chdir(elsewhere)
    monkeypatch.setitem(
        sys.modules, "reference", None
    )  # so that what is imported here goes behind the test, too
    monkeypatch.delitem(sys.modules, "reference")
    return home


def test_cases_run_with_what_they_expect(project, cli):
    """Each by its own exit code; a fault or a wrong result ends no other; what is typed stands before the case."""
    file = project / "cases.toml"
    every = cli("run", file, "--engine", "python", "--json")
    one = cli("run", file, "--case", "small", "--engine", "python", "--json")
    typed = cli("run", file, "--case", "file", "--arg", "src=zeros:float32:64", "--json")
    refused = cli("run", file, "--case", "smal")

    assert 3 == every.code
    assert [("small", 0), ("file", 0), ("wrong", 1), ("large", 3)] == [
        (case["case"], case["exit_code"]) for case in every.json()["cases"]
    ]
    assert f"case large at {file}:21: " in every.err
    assert (0, True) == (one.code, one.json()["accuracy"]["dst"]["passed"])
    assert every.json()["cases"][0]["accuracy"] == one.json()["accuracy"]
    assert (1, False) == (typed.code, typed.json()["accuracy"]["dst"]["passed"])
    assert (2, True) == (refused.code, "no case 'smal'; its cases: small, file, wrong, large" in refused.err)
    assert "--save goes with one case; name it with --case" in cli("run", file, "--save", "x.npz").err


def test_other_verbs_take_cases(project, cli):
    """Check gives one report of all, profile and report the launches of each, debug one session."""
    file = project / "cases.toml"
    found = cli("check", file, "--only", "memcheck", "--json")
    profiled = cli("profile", file, "--case", "small", "--engine", "native", "--json")
    planned = cli("plan", file, "--case", "file", "--board", "MLU370-X4", "--json")
    asked = cli("what-if", file, "--case", "small", "--from", "MLU590-H8", "--board", "MLU370-X4", "--json")
    reported = cli("report", file, "--case", "small", "file", "--board", "MLU370-X4", "--json")
    several = cli("debug", file, "--command", "run")
    debugged = cli(
        "debug",
        file,
        "--case",
        "file",
        "--command",
        "break 5 task 0",
        "--command",
        "run",
        "--command",
        "p n",
        "--command",
        "c",
    )
    wrong = cli("debug", file, "--case", "wrong", "--command", "run")

    assert 3 == found.code
    assert ["small", "file", "wrong", "large"] == [one["case"] for one in found.json()["runs"]]
    assert "against reference:wrong, dst: diff1" in found.out
    assert (0, 256) == (planned.code, planned.json()["memory"]["NRAM"]["declared"])
    assert ["Scale"] == [launch["kernel"] for launch in profiled.json()["launches"]]
    assert ["MLU590-H8", "MLU370-X4"] == [answer["board"] for answer in asked.json()["rows"]]
    assert [("small", ["Scale"]), ("file", ["Scale"])] == [
        (one["case"], [launch["kernel"] for launch in one["launches"]]) for one in reported.json()["cases"]
    ]
    assert "holds several cases; name one with --case: small, file, wrong, large" in several.err
    assert (0, True) == (debugged.code, "32" in debugged.out)
    assert "the program has ended\ndst: diff1 0, diff2 0, passed" in debugged.out
    assert (1, True) == (wrong.code, "the program has ended\ndst: diff1" in wrong.out)
    assert "FAILED; worst at [" in wrong.out


def test_a_debugged_call_is_compared_with_what_is_typed(project, cli):
    """At its end, by the reference in place of the case's; nothing else has outputs to compare."""
    words = ("--command", "run", "--reference", "reference:wrong")
    (project.parent / "elsewhere" / "reference.py").write_text((project / "reference.py").read_text())
    done = cli("debug", project / "cases.toml", "--case", "small", *words)
    refused = cli("debug", "tin_shift_forward", *words)

    assert "the program has ended\ndst: diff1" in done.out
    assert "FAILED; worst at [" in done.out
    assert "--reference goes with a BANG C file" in refused.err


@pytest.mark.parametrize(
    ("verb", "words"), [("profile", ()), ("cover", ()), ("what-if", ("--board", "MLU590-H8"))]
)
def test_a_verb_that_launches_compares_as_run_does(project, cli, verb, words):
    """With what the case expects or what is typed: the same line, the same exit code; of a document the line stands beside it."""
    case = (project / "cases.toml", "--case", "small")
    typed = ("--expect", "dst=zeros:float32:64")
    ran, wrong = cli("run", *case), cli("run", *case, *typed)
    right, failed, told = (cli(verb, *case, *words, *more) for more in ((), typed, (*typed, "--json")))
    refused = cli(verb, "tin_shift_forward", *typed)

    line, odd = ([row for row in one.out.splitlines() if "  dst: diff1" in row] for one in (ran, wrong))
    assert (line, 0) == ([row for row in right.out.splitlines() if "dst: diff1" in row], right.code)
    assert (odd, 1) == ([row for row in failed.out.splitlines() if "dst: diff1" in row], failed.code)
    assert (1, 1, True) == (wrong.code, told.code, "FAILED; worst at [" in odd[0])
    assert (
        odd[0].strip() in told.err
        if verb != "profile"
        else not told.json()["accuracy"]["MLU370-X4"]["dst"]["passed"]
    )
    assert "--expect goes with a BANG C file" in refused.err


def test_a_report_of_a_kernel_explains(project, cli):
    """Each launch says why in the table, and in the other forms, too; there the option is refused with that."""
    words = ("report", project / "cases.toml", "--case", "small", "--board", "MLU370-X4", "--explain")
    told, refused = cli(*words), cli(*words, "--json")

    assert "  because " in told.out
    assert "--explain goes with the tables of the terminal; the page and --json say why anyway" in refused.err


def test_all_cases_are_on_one_page(project, cli):
    """Each kernel has the name of its case, and a case that fails is told at the top; the exit code is the largest of theirs."""
    done = cli("profile", project / "cases.toml", "--format", "html")

    assert 3 == done.code
    assert [] == [name for name in ("small", "file", "wrong") if f"Scale ({name})" not in done.out]
    assert "Scale (large)" not in done.out
    assert re.search(
        r'<pre class="bad">wrong: dst: .*FAILED.*\nlarge: [A-Za-z]+: __memcpy',
        done.out.partition("<main>")[2],
    )


def test_all_cases_are_planned_and_drawn(project, cli):
    """One document and one table; a case that fails leaves the others, and with what is drawn each case searches by itself."""
    file = project / "cases.toml"
    plans, shown = cli("plan", file, "--json"), cli("plan", file)
    drawn = cli("fuzz", file, "--only", "memcheck", "--runs", "1", "--json")

    assert 3 == plans.code
    assert ["small", "file", "wrong"] == [one["case"] for one in plans.json()["cases"]]
    assert ["small", "file", "wrong"] == [line.split()[0] for line in shown.out.splitlines()[-3:]]
    assert [("small", 0), ("file", 2), ("wrong", 1), ("large", 1)] == [
        (one["case"], one["exit_code"]) for one in drawn.json()["cases"]
    ]


def test_a_candidate_is_ranked_by_all_cases(project, cli):
    """Times are added up; what is out with one case is out, with the case's name."""
    file = project / "two.toml"
    file.write_text(CASES.partition("[case.small]")[0] + "[case.small]\n\n[case.large.args]\nn = 65\n")
    together = cli("tune", file, "--param", "TILE=64,128", "--json").json()["candidates"]
    alone = [
        cli("tune", file, "--case", name, "--param", "TILE=128", "--json").json()["candidates"]
        for name in ("small", "large")
    ]

    assert ["128", "64"] == [one["parameters"]["TILE"] for one in together]
    assert pytest.approx(sum(one["time_us"] for (one,) in alone)) == together[0]["time_us"]
    assert (None, "case large: ") == (together[1]["rank"], together[1]["why"][:12])


@pytest.mark.parametrize("form", ["md", "csv"])
def test_all_cases_are_one_table(form, project, cli):
    """A row for each launch, with its case in front; the exit code is the largest of theirs."""
    words = ("profile", project / "cases.toml")
    done, each = cli(*words, "--format", form), cli(*words, "--json")
    lines = [line.strip("| ").replace(" | ", ",") if form == "md" else line for line in done.out.splitlines()]
    heads = [line.split(",")[:2] for line in lines if "---" not in line]

    assert [
        ["case", "kernel"],
        *([one["case"], "Scale"] for one in each.json()["cases"] if one.get("launches")),
    ] == heads
    assert each.code == done.code


def test_a_baseline_holds_every_case(project, cli):
    """Each under its own name: all are compared at once, or one of them."""
    file, kept = project / "cases.toml", project / "times.json"
    cli("profile", file, "--write-baseline", kept)
    names = kept.read_text()
    one = cli("profile", file, "--case", "small", "--baseline", kept, "--json")

    assert [] == [name for name in ("small", "file") if f"{file} {name}" not in names]
    assert (0, True) == (one.code, one.json()["comparison"]["passed"])


def test_lines_of_all_cases_are_counted_together(project, cli):
    """What one case does not reach another may."""
    every = cli("cover", project / "cases.toml", "--json")
    one = cli("cover", project / "cases.toml", "--case", "small", "--json")

    assert (1, True) == (one.json()["launches"], every.json()["launches"] > 2)


def test_a_case_is_searched(project, cli):
    """With its reference, from beside its file, and its tolerance; the line that fails again names the case."""
    file = project / "cases.toml"
    words = ("--only", "memcheck", "--corpus", "kept", "--json")
    clean = cli("fuzz", file, "--case", "small", "--runs", "2", *words)
    wrong = cli("fuzz", file, "--case", "wrong", "--arg", "n=int:1..9", "--runs", "9", *words)
    again = cli(*shlex.split(wrong.json()["failing"]["command"])[1:])
    refused = {
        "case file at {}:12 has expect, arrays for one call": ("--case", "file"),
        "a case calls a kernel; leave --function out": ("--case", "small", "--function", "F"),
    }

    assert (0, 7, 2) == (clean.code, clean.json()["seed"], clean.json()["draws"])
    assert (1, "wrong-result", 1) == (wrong.code, wrong.json()["failing"]["id"], again.code)
    assert "reference:wrong" in wrong.json()["failing"]["message"]
    assert "against reference:wrong, dst: diff1" in again.out
    for sentence, more in refused.items():
        assert sentence.format(file) in cli("fuzz", file, *more).err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "[case.a]\nkernl = 'K'",
            ":2 has the unknown key 'kernl' (meant: kernel); known are program, kernel",
        ),
        ("kernel = 'K'\n[case.a]\nprogram = 5", ":3: program is 5; name a BANG C file or a list"),
        ("[case.a]\ndim = 4", "case a at {}:1 has no program"),
        ("program = 'k.mlu'", "holds no case; write each as [case.NAME]"),
        ("[[case]]\nname = 'a'", "has cases without a name; write each as [case.NAME]"),
        (
            "[case.a]\nprogram = 'k.mlu'\n[case.b]\n\nargs = [1]",
            ":5: args is [1]; give a table of what --arg takes",
        ),
        (
            "[case.a.args]\nx = 'rnd:half:8'",
            ":1: args x is given 'rnd:half:8'; rnd is not a word of --arg (meant: rand:",
        ),
        ("[case.a]\ntolerance = -1", ":2: tolerance is -1; give a number of 0 or more"),
        ("[case.a]\nargs = { x = }", "is not TOML: Invalid value (at line 2"),
    ],
)
def test_a_wrong_file_is_one_sentence(tmp_path, text, sentence):
    """With the line, what is wrong, and what is possible."""
    path = tmp_path / "cases.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as refused:
        cases_in(str(path))

    assert sentence.format(path) in str(refused.value)
    assert str(refused.value).startswith((str(path), "case a at"))


def test_other_boards_of_all_cases_are_on_one_page(project, cli):
    """Each answer has the name of its case, and a grid that is drawn ranks by all of them."""
    file, page = project / "two.toml", project / "boards.html"
    file.write_text(CASES.partition("[case.small]")[0] + "[case.small]\nseed = 3\n\n[case.other]\n")
    done = cli("what-if", file, "--board", "MLU370-X8", "--html", page)
    tried = ("tune", file, "--param", "TILE=64,128,256,512")
    drawn = cli(*tried, "--search", "random", "--trials", "2", "--seed", "5", "--json").json()["candidates"]
    refused = cli(*tried, "-o", project / "kept.jsonl")

    assert 0 == done.code
    assert [] == [name for name in ("small, 1 launch", "other, 1 launch") if name not in page.read_text()]
    assert [["other", "small"]] * 2 == [sorted(one["cases"]) for one in drawn]
    assert "-o goes with one case, as in `mlusim tune" in refused.err
