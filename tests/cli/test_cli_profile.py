"""`mlusim profile`: every launch of whatever runs, with its time, its reasons and its lines."""

import json
import re
import sys

import numpy as np
import pytest

from mlusim.cli.arguments import running
from mlusim.cli.arguments.shared import divide
from mlusim.cli.verbs import Parser

SCRIPT = """import sys, numpy as np, mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, kernel

@kernel
def double(mlu, x, count):
    b = mlu.nram(float32, count)
    mlu.memcpy(b, x, count * 4, GDRAM2NRAM)
    mlu.bang_add(b, b, b, count)
    mlu.memcpy(x, b, count * 4, NRAM2GDRAM)

@kernel
def wrong(mlu, x, count):
    b = mlu.nram(float32, count)
    mlu.memcpy_async(b, x, count * 4, GDRAM2NRAM)
    mlu.bang_add(b, b, b, count)

def test_double():
    device = mlusim.Device("MLU590-H8")
    x = device.put(np.ones(8, np.float32))
    device.launch(double, args=(x, 8))

if __name__ == "__main__":
    print("words", sys.argv[1:])
    test_double()
    device = mlusim.Device("MLU370-X4")
    x = device.put(np.ones(65536, np.float32))
    device.launch(double, args=(x, 65536))
    if "fault" in sys.argv:
        device.launch(double, args=(x, 1 << 20))
    if "raise" in sys.argv:
        raise ValueError("boo")
    if "race" in sys.argv:
        device.launch(wrong, args=(x, 512))
"""
SOURCE = """template <typename T>
__mlu_global__ void Scale(T *dst, const T *src, int n) {
  __nram__ T buf[1024];
  __memcpy(buf, src, n * sizeof(T), GDRAM2NRAM);
  __bang_add(buf, buf, buf, n);
  __memcpy(dst, buf, n * sizeof(T), NRAM2GDRAM);
}
"""
KEYS = {
    "kernel", "board", "dim", "kind", "engine", "time_us", "time_band", "bound", "because", "instructions", "traffic",
    "memory", "lines",
}  # fmt: skip


@pytest.fixture
def script(tmp_path, monkeypatch):
    """A script with two launches, in the current directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "test_doubling", raising=False)  # pytest imports it from here
    path = tmp_path / "test_doubling.py"
    path.write_text(SCRIPT)
    return path


def test_a_script_shows_its_launches(cli, script):
    """Each launch has its time, its bound, the reasons, and its dearest lines."""
    done = cli("profile", script.name)

    assert 0 == done.code, done.err
    assert "2 launches" in done.out
    assert "double on MLU370-X4, 1,1,1 BLOCK" in done.out
    assert "because the IO-DMA sets the time" in done.out
    assert "test_doubling.py:7" in done.out
    assert "NRAM 256.0 KiB of 640.0 KiB" in done.out


def test_json_is_one_document_with_what_the_script_prints_aside(cli, script):
    """The document has a launch for each launch, whose lines' shares make one."""
    done = cli("profile", script.name, "--json", "--kernel", "double")
    document = done.json()
    shares = [sum(line["share"] for line in launch["lines"]) for launch in document["launches"]]

    assert script.name == document["program"]
    assert [["MLU590-H8"], ["MLU370-X4"]] == [[launch["board"]] for launch in document["launches"]]
    assert all(KEYS <= launch.keys() for launch in document["launches"])
    assert [pytest.approx(1), pytest.approx(1)] == shares
    assert {str(script)} == {line["file"] for line in document["launches"][0]["lines"] if line["line"]}
    assert "words []" in done.err


def test_words_behind_the_program_are_its_own(cli, script):
    """Options of mlusim are its own on both sides, all else is the script's, and behind -- everything."""
    done = cli("profile", "--launch", "2", script.name, "a", "--size", "3", "--lines", "--", "--json")

    assert 0 == done.code, done.err
    assert "words ['a', '--size', '3', '--json']" in done.out
    assert "MLU590-H8" not in done.out


def test_files_are_written(cli, script, tmp_path):
    """The trace is of the launches that are shown, the page has their source, and begins with how the program ended."""
    done = cli("profile", script.name, "--launch", "2", "--trace", "t.json", "--html", "p.html", "fault")
    trace = json.loads((tmp_path / "t.json").read_text())
    page = (tmp_path / "p.html").read_text()

    assert 3 == done.code, done.err
    ended = page.partition("<main>")[2].partition("</pre>")[0]
    assert "The program did not end well; this page has its launch." in ended
    assert "OutOfMemory: NRAM declaration" in ended
    assert ["double"] == trace["otherData"]["kernels"]
    assert "mlu.memcpy(b, x, count * 4, GDRAM2NRAM)" in page
    assert [] == re.findall(r"""(?:src|href)=["']?(?:https?:|//)""", page[: page.index("<script>")])


def test_an_operator_is_a_program(cli, samples):
    """An operator's first case is profiled where none is named."""
    launches = cli("profile", "tin_shift_forward", "--json").json()["launches"]

    assert launches
    assert launches[0]["because"]
    assert launches[0]["lines"]


def test_a_bang_c_file_is_a_program(cli, tmp_path):
    """A kernel of a .mlu file has its lines there, on either engine."""
    source, array = tmp_path / "scale.mlu", tmp_path / "in.npy"
    source.write_text(SOURCE)
    np.save(array, np.ones(1024, np.float32))
    call = (
        "--kernel",
        "Scale<float>",
        "--arg",
        "dst=out:float32:1024",
        "--arg",
        f"src={array}",
        "--arg",
        "n=1024",
    )
    (launch,) = cli("profile", source, *call, "--json").json()["launches"]
    (other,) = cli("profile", source, *call, "--json", "--engine", "python").json()["launches"]

    assert launch["lines"] == other["lines"]
    assert "python" == other["engine"]
    assert {4, 5, 6} <= {line["line"] for line in launch["lines"]}
    assert {str(source)} == {line["file"] for line in launch["lines"] if line["line"]}


def test_a_test_is_a_program(cli, script):
    """A node of pytest is run in this process, with what pytest says on standard error."""
    done = cli("profile", f"{script.name}::test_double", "--json")

    assert 0 == done.code, done.err
    assert ["MLU590-H8"] == [launch["board"] for launch in done.json()["launches"]]


def test_launches_are_timed_on_other_boards(cli, script):
    """Re-timed within the architecture, run again on another, where a fault there is the answer."""
    words = ("--launch", "2", "--json", "--what-if", "MLU370-X8", "MLU590-H8", "MLU220-M2")
    own, near, far, fails = cli("profile", script.name, *words).json()["what_if"]["rows"]

    assert [("MLU370-X4", "recorded"), ("MLU370-X8", "re-timed"), ("MLU590-H8", "run")] == [
        (row["board"], row["how"]) for row in (own, near, far)
    ]
    assert 1.0 == own["speed_up"]
    assert 0 < far["time_band"][0] <= far["time_us"] <= far["time_band"][1]
    assert "another architecture: mtp_592 instead of mtp_372" == far["why"]
    assert ("fails", None) == (fails["how"], fails["time_us"])
    assert "a multiple of 128" in fails["failure"]


def test_a_script_that_runs_elsewhere_changes_nothing_of_itself(cli, script):
    """The device of a script is of the other board: what it launches there is what it would."""
    moved = cli("profile", script.name, "--launch", "2", "--json", "--what-if", "MLU590-H8").json()
    script.write_text(SCRIPT.replace("MLU370-X4", "MLU590-H8"))
    real = cli("profile", script.name, "--launch", "2", "--json").json()

    assert real["launches"][0]["time_us"] == moved["what_if"]["rows"][1]["time_us"]


def test_a_profile_is_compared_with_a_stored_one(cli, script):
    """What got slower is a regression with its reason; what did not run this time is not missing."""
    stored = cli("profile", script.name, "--write-baseline", "base.json")
    same = cli("profile", script.name, "--launch", "1", "--baseline", "base.json")
    script.write_text(
        SCRIPT.replace("    mlu.bang_add(b, b, b, count)\n", "    mlu.bang_add(b, b, b, count)\n" * 9)
    )
    slower = cli("profile", script.name, "--baseline", "base.json", "--json")
    wrong = cli("report", "tin_shift_forward", "--baseline", "base.json")

    assert (0, "base.json: 2 launches\n") == (stored.code, stored.err)
    assert 0 == same.code
    assert "1 launch compared with base.json, threshold 5%: nothing moved." in same.out
    assert "note: not part of this run: 1 more of the baseline's launches" in same.out
    assert 1 == slower.code
    found = slower.json()["comparison"]
    assert [("double 1,1,1 BLOCK", "MLU590-H8"), ("double 1,1,1 BLOCK", "MLU370-X4")] == [
        (r["case"], r["board"]) for r in found["regressions"]
    ]
    assert "because instructions 3 -> 11" in found["regressions"][1]["message"]
    assert 2 == wrong.code
    assert "is a baseline of launches, as `mlusim profile` writes" in wrong.err


BUFFERED = """\
__nram__ float a[2][2048];
__mlu_entry__ void Powers(float *y, const float *x, int n) {
  __memcpy(a[0], x, 8192, GDRAM2NRAM);
  for (int k = 0; k < n; k++) {
    if (k + 1 < n) __memcpy_async(a[(k + 1) % 2], x + (k + 1) * 2048, 8192, GDRAM2NRAM);
    for (int i = 0; i < 8; i++) __bang_mul(a[k % 2], a[k % 2], a[k % 2], 2048);
    __sync();
    __memcpy(y + k * 2048, a[k % 2], 8192, NRAM2GDRAM);
  }
}
"""


def test_a_verdict_names_the_overlap_that_a_moved_wait_has_lost(cli, tmp_path):
    """Not the few instructions that came with the wait."""
    kernel, base = tmp_path / "powers.mlu", tmp_path / "base.json"
    words = (
        "profile",
        kernel,
        "--arg",
        "y=out:float32:32768",
        "--arg",
        "x=ones:float32:32768",
        "--arg",
        "n=16",
    )
    kernel.write_text(BUFFERED)
    stored = cli(*words, "--write-baseline", base)
    kernel.write_text(BUFFERED.replace("    for (int i", "    __sync_io();\n    for (int i"))
    slower = cli(*words, "--baseline", base)
    because = slower.out.partition("; because ")[2].partition(";")[0]

    assert (0, 1) == (stored.code, slower.code)
    assert because.startswith("overlap of pipes "), slower.out
    assert "instructions" not in because


@pytest.mark.parametrize(
    ("old", "new"),
    [("double", "twice"), ("launch(double, args", "launch(double, (2, 1, 1), args")],
)
def test_a_profile_that_was_compared_with_nothing_fails(cli, script, old, new):
    """After a rename or with another dim no launch is that of the baseline: the gate says so, and fails."""
    cli("profile", script.name, "--write-baseline", "base.json")
    script.write_text(SCRIPT.replace(old, new))
    done = cli("profile", script.name, "--baseline", "base.json")
    allowed = cli("profile", script.name, "--baseline", "base.json", "--allow-missing")

    assert (1, 0) == (done.code, allowed.code)
    assert "0 launches compared with base.json" in done.out
    assert "nothing was compared, which fails unless --allow-missing is given." in done.out
    assert 2 == done.out.count("missing: ")


def test_a_change_inside_the_band_says_so(cli, script):
    """A time that the model's constants allow before and after is not a certain change."""
    stored = cli("profile", script.name, "--launch", "2", "--write-baseline", "base.json")
    assert "base.json: 1 launch\n" == stored.err
    path = script.with_name("base.json")
    document = json.loads(path.read_text())
    document["launches"][0]["hardware_time_us"] *= 0.9
    path.write_text(json.dumps(document))
    done = cli("profile", script.name, "--launch", "2", "--baseline", "base.json")

    assert 1 == done.code
    assert "within the model's band" in done.out


def test_findings_on_request(cli, script):
    """Checkers watch where they are asked to; findings are shown and end in exit code 1."""
    done = cli("profile", script.name, "race", "--check", "racecheck")

    assert 1 == done.code
    assert "racecheck" in done.out
    assert 0 == cli("profile", script.name, "race").code


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["race.py"], 2, "race.py"),
        (["no_operator"], 2, "no_operator"),
        ([], 2, "name an operator or a script, as in `mlusim profile"),
        (["test_doubling.py", "--launch", "3"], 2, "--launch 3 is not there; 2 launches were made"),
        (["test_doubling.py", "--kernel", "other"], 2, "what was launched: double"),
        (
            ["test_doubling.py", "--seed", "0"],
            2,
            "--seed goes with an operator; the script decides for itself",
        ),
        (["test_doubling.py", "raise"], 2, "boo"),
        (["test_doubling.py", "fault"], 3, "NRAM"),
        (["test_doubling.py::nothing"], 2, "pytest found no such test"),
        (["tin_shift_forward", "word"], 2, "an operator takes no 'word'"),
    ],
)
def test_what_goes_wrong_is_a_sentence(cli, script, words, code, sentence):
    """One sentence on standard error, and the exit code of its kind; launches before are shown all the same."""
    done = cli("profile", *words)

    assert code == done.code
    assert sentence in done.err
    assert "Traceback" not in done.err
    assert ("raise" in words or "fault" in words) == ("2 launches" in done.out)


@pytest.mark.parametrize("word", ["run", "report", "what-if"])
def test_every_verb_takes_every_program(cli, script, word):
    """A script and a test, whose words are their own; the error of a script is a sentence, with exit code 2."""
    boards = ["--board", "MLU370-X4"] if word in ("report", "what-if") else []
    codes = [
        cli(word, script.name, *boards, "--", "a", "--json"),
        cli(word, f"{script.name}::test_double", *boards),
        cli(word, script.name, *boards, "--", "raise"),
    ]
    good, tested, wrong = codes

    assert [0, 0, 2] == [done.code for done in codes], tested.err
    assert "words ['a', '--json']" in good.out
    assert "1 passed" in tested.err
    assert "ValueError: boo" in wrong.err
    assert "Traceback" not in wrong.err


def test_a_profile_of_a_script_moves_it_to_each_board(cli, script):
    """Its devices are of the boards that were named, before the script or behind it, whatever board the script names."""
    boards = ("--board", "MLU370-X8", "MLU590-H8")
    done = cli("profile", *boards, script.name, "--json", "--kernel", "double")
    former = cli("report", script.name, *boards, "--json", "--kernel", "double")

    assert ["MLU370-X8"] * 2 + ["MLU590-H8"] * 2 == [launch["board"] for launch in done.json()["launches"]]
    assert done.json() == former.json()
    assert "note: `mlusim profile` with the same words answers this" in former.err


def test_a_report_of_a_program_has_a_baseline(cli, script):
    """It is that of the profile, which both write and compare with; on several boards each launch has its own line."""
    boards = ("--board", "MLU370-X4", "MLU370-X8")
    stored = cli("report", script.name, *boards, "--write-baseline", "base.json")
    same = cli("profile", script.name, *boards, "--baseline", "base.json", "-o", "page.html")

    assert "base.json: 4 launches\n" in stored.err
    assert (0, "words []\nwords []\n") == (same.code, same.out)
    assert "4 launches compared with base.json, threshold 5%: nothing moved." in same.err
    assert "page.html: 4 launches\n" in same.err


def test_run_shows_lines_and_traces_of_a_script(cli, script, tmp_path):
    """As of an operator; the exit status is the script's where it has one; the verb that stays is named."""
    done = cli("run", script.name, "--lines", "--trace", "t.json")

    assert "note: `mlusim profile` with the same words and --lines answers this" in done.err

    assert 0 == done.code
    assert "test_doubling.py:7" in done.out
    assert ["double", "double"] == json.loads((tmp_path / "t.json").read_text())["otherData"]["kernels"]


def test_words_are_divided_as_declared():
    """Values stay with their options, with and without =, joined or apart."""
    parser = Parser()
    running.profile(parser)
    words = [
        "-DN=2",
        "-I",
        "inc",
        "s.py",
        "--trace=t.json",
        "x",
        "--html",
        "h",
        "--odd",
        "-5",
        "--",
        "--lines",
    ]

    assert (
        ["-DN=2", "-I", "inc", "s.py", "--trace=t.json", "--html", "h"],
        ["x", "--odd", "-5"],
        ["--lines"],
    ) == divide(parser, words)


def test_a_page_of_no_launch_is_no_silent_loss(cli, tmp_path, monkeypatch):
    """Where the only launch ends in a fault there is nothing to draw, and a line says which files are not written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.mlu").write_text("__mlu_global__ void Bad(int *out) { out[9] = 1; }\n")
    done = cli("profile", "bad.mlu", "--arg", "out=out:int32:1", "--html", "p.html", "--trace", "t.json")

    assert 3 == done.code
    assert "note: no launch came to its end, so p.html and t.json are not written\n" in done.err
    assert ["bad.mlu"] == [path.name for path in tmp_path.iterdir()]
