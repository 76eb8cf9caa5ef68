"""BANG C files on the command line: compile, run, check, debug."""

import json

import numpy as np
import pytest

from mlusim.cli.main import main

SOURCE = """\
__nram__ float buffer[1024];

template <typename T>
__mlu_global__ void Scale(T *dst, const T *src, int n, float factor) {
  __memcpy(buffer, src + taskId * n, n * sizeof(T), GDRAM2NRAM);
  __bang_mul_scalar(buffer, buffer, factor, n);
  __memcpy(dst + taskId * n, buffer, n * sizeof(T), NRAM2GDRAM);
}
template __mlu_global__ void Scale<float>(float *, const float *, int, float);
"""
CALL = (
    "--kernel",
    "Scale<float>",
    "--dim",
    "4",
    "--arg",
    "src=in.npy",
    "--arg",
    "n=32",
    "--arg",
    "factor=2.5",
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the source, an input and a reference, as the working directory."""
    (tmp_path / "scale.mlu").write_text(SOURCE)
    np.save(tmp_path / "in.npy", np.arange(128, dtype=np.float32))
    (tmp_path / "expected_scale.py").write_text(
        "def scaled(src, n, factor):\n    return {'dst': src * factor}\n"
        "def wrong(src, n, factor):\n    return src * 3\n"
        "def shy(src):\n    return src\n"
        "def short(src, n, factor):\n    return src[:3]\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_compile_lists_kernels_with_memory_and_intrinsics(folder, capsys):
    """The document has the kernel, its parameters, what it declares and what it calls."""
    code = main(["compile", "scale.mlu", "--json"])
    file = json.loads(capsys.readouterr().out)["files"][0]
    kernel = file["kernels"][0]

    assert (code, file["parsed"], file["untranslated"], kernel["name"]) == (0, True, [], "Scale<float>")
    assert kernel["memory"] == {"NRAM": 4096, "WRAM": 0, "SRAM": 0}
    assert kernel["intrinsics"] == ["__bang_mul_scalar", "__memcpy"]
    assert kernel["parameters"][0] == {"name": "dst", "type": "float *"}


def test_compile_reports_what_does_not_translate_and_what_does_not_parse(folder, capsys):
    """A construct that is not supported is a finding, and other kernels stay; a syntax error is exit code 2."""
    (folder / "odd.mlu").write_text(
        "__mlu_global__ void Odd(int *p) {\n  if (p) goto in;\n{ in:\n  p[0] = 1; }\n}\n__mlu_global__ void Good(int *p) { p[0] = 1; }\n"
    )
    odd = main(["compile", "odd.mlu", "--json"])
    found = json.loads(capsys.readouterr().out)["files"][0]
    (folder / "broken.mlu").write_text("__mlu_global__ void K(int *p) {\n  p[0] = undeclared;\n}\n")
    broken = main(["compile", "broken.mlu"])

    assert (odd, broken) == (1, 2)
    assert [(u["function"], u["line"]) for u in found["untranslated"]] == [("Odd", 2)]
    assert {k["name"]: k["translated"] for k in found["kernels"]} == {"Odd": False, "Good": True}
    assert [None, None] == [k["interpreted"] for k in found["kernels"]]
    assert "broken.mlu:2:10: use of undeclared identifier 'undeclared'" in capsys.readouterr().err


def test_compile_says_what_runs_in_python(folder, capsys):
    """A kernel with something that has no C is told, with what it is."""
    (folder / "record.mlu").write_text(
        "struct Big { float v[20000]; };\n"
        "__mlu_func__ float sum(Big b, int n) { return n ? b.v[n] + sum(b, n - 1) : 0; }\n"
        "__mlu_entry__ void K(float *p) { Big b; b.v[0] = 1; p[0] = sum(b, 2); }\n"
        "__mlu_entry__ void L(float *p) { p[0] = 1; }\n"
        "union Two { vv_float a, b; };\n"
        "__mlu_entry__ void M(float *p) { Two x; __vv_index(x.a, 0.0f, 1.0f); p[0] = 1; }\n"
    )
    assert 0 == main(["compile", "record.mlu"])
    shown = capsys.readouterr().out
    assert 2 == shown.count("runs in Python: ")
    assert "runs in Python: a union with vectors in registers" in shown


def test_run_saves_and_compares(folder, capsys):
    """What comes back is written by name and compared with a reference; a wrong one is exit code 1."""
    arguments = ["run", "scale.mlu", *CALL, "--arg", "dst=out:float32:128"]
    right = main([*arguments, "--reference", "expected_scale:scaled", "--save", "out.npz"])
    wrong = main([*arguments, "--reference", "expected_scale:wrong"])

    assert (right, wrong) == (0, 1)
    assert "FAILED; worst at [127]: 317.5, the reference has 381\n" in capsys.readouterr().out
    with np.load("out.npz") as saved:
        np.testing.assert_array_equal(saved["dst"], np.arange(128, dtype=np.float32) * 2.5)


def test_check_compares_with_a_reference(folder, capsys):
    """A result that is not accurate is the problem of the run; the reference goes with one kernel."""
    arguments = ["check", "scale.mlu", *CALL, "--arg", "dst=out:float32:128", "--only", "memcheck"]
    right = main([*arguments, "--reference", "expected_scale:scaled"])
    clean = capsys.readouterr().out
    wrong = main([*arguments, "--reference", "expected_scale:wrong"])
    told = capsys.readouterr().out
    refused = main(["check", "tin_shift_forward", "--reference", "expected_scale:scaled"])

    assert (right, wrong, refused) == (0, 1, 2)
    assert "FAILED" not in clean
    assert "against expected_scale:wrong, dst: diff1" in told
    assert "FAILED; worst at [127]: 317.5, the reference has 381" in told
    assert "--reference goes with one kernel of a BANG C file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--kernel", "Scale<float>"), "float * dst of Scale<float>"),
        (("--kernel", "Scale<float>", "--arg", "dst=5"), "a pointer takes F.npy"),
        (("--kernel", "Other"), "there is no kernel 'Other'"),
        ((*CALL, "--arg", "dst=out:float32:128", "--arg", "m=1"), "has no parameter 'm'"),
        ((*CALL, "--arg", "dst=out:float32:x"), "write out:TYPE:SIZES"),
        (
            (*CALL, "--arg", "dst=out:float32:128", "--reference", "expected_scale:shy"),
            "the reference, called with src=float32[128], n=32, factor=2.5, ended with TypeError",
        ),
        (
            (*CALL, "--arg", "dst=out:float32:128", "--reference", "expected_scale:short"),
            "the reference gives float32[3] for dst, and float32[128] comes back; legal: numbers, 128 of them",
        ),
        ((*CALL, "--kind", "union3", "--arg", "dst=null"), "kind 'union3' is unknown"),
    ],
)
def test_a_wrong_call_is_one_sentence(folder, capsys, words, sentence):
    """What is missing, unknown or of the wrong kind is named, with exit code 2."""
    code = main(["run", "scale.mlu", *words])
    told = capsys.readouterr().err

    assert code == 2
    assert sentence in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        (
            "__bang_mul_scalar(",
            "__bang_mul_scaler(",
            (
                "scale.mlu:6:3: use of undeclared identifier '__bang_mul_scaler'; did you mean '__bang_mul_scalar'?\n"
                "  __bang_mul_scaler(buffer, buffer, factor, n);\n  ^\n"
            ),
        ),
        (
            "sizeof(T), GDRAM2NRAM)",
            "sizeof(T))",
            (
                "note: candidate function not viable: requires 4 arguments, but 3 were provided: "
                "void __memcpy(void *dst, const void *src, int size, mluMemcpyDirection_t direction)\n"
            ),
        ),
    ],
)
def test_a_mistake_in_the_source_is_shown_with_its_caret(folder, capsys, right, wrong, told):
    """The line of the source stands under the sentence as it is, then the prototypes that there are."""
    (folder / "scale.mlu").write_text(SOURCE.replace(right, wrong))
    code = main(["run", "scale.mlu", *CALL, "--arg", "dst=out:float32:128"])

    assert 2 == code
    assert told in capsys.readouterr().err


def test_what_to_do_is_said_in_the_language_of_the_source(folder, capsys):
    """A wait is `__sync_io()` in BANG C."""
    (folder / "scale.mlu").write_text(SOURCE.replace("__memcpy(buffer", "__memcpy_async(buffer"))
    code = main(["check", "scale.mlu", *CALL, "--arg", "dst=out:float32:128"])

    assert 1 == code
    assert "put __sync_io() before line 6" in capsys.readouterr().out


def test_check_finds_at_the_line_of_the_source(folder, capsys):
    """Tasks that write the same words race, and the finding is at the line of the copy."""
    (folder / "scale.mlu").write_text(SOURCE.replace("dst + taskId * n", "dst"))
    code = main(["check", "scale.mlu", *CALL, "--arg", "dst=out:float32:128", "--json"])
    findings = json.loads(capsys.readouterr().out)["findings"]

    assert code == 1
    assert {(f["file"].rsplit("/", 1)[-1], f["line"]) for f in findings} == {("scale.mlu", 7)}
    assert all("of tensor dst float" in f["message"] for f in findings if "racecheck" in f["id"])


def test_a_line_of_another_file_comes_with_its_file(folder, capsys):
    """What a header does to the bytes is named by it, not by a number of the file of the finding."""
    (folder / "put.h").write_text("__mlu_func__ void put(float *at, float value) {\n  at[0] = value;\n}\n")
    (folder / "pair.mlu").write_text(
        '#include <bang.h>\n#include "put.h"\n__nram__ float box[64];\n__mlu_entry__ void Pair(float *out) {\n'
        "  put(out, 1.0f);\n  __memcpy(box, out, 4, GDRAM2NRAM);\n  __memcpy(out + 1, box, 4, NRAM2GDRAM);\n}\n"
    )
    code = main(["check", "pair.mlu", "--arg", "out=out:float32:2", "--only", "racecheck", "--json"])
    (finding,) = json.loads(capsys.readouterr().out)["findings"]

    assert (code, finding["line"]) == (1, 6)
    assert "scalar store at put.h:2 may not have" in finding["message"].replace(f"{folder}/", "")


def test_debug_stops_in_the_source_and_shows_its_variables(folder, capsys):
    """A breakpoint at a line stops there, and the variables are the programmer's."""
    commands = [
        word for text in ("break scale.mlu:6", "run", "info locals", "list") for word in ("--command", text)
    ]
    code = main(["debug", "scale.mlu", *CALL, "--arg", "dst=out:float32:128", *commands])
    told = capsys.readouterr().out

    assert code == 0
    assert "scale.mlu:6" in told
    assert "T factor" in told or "float factor" in told
    assert "_c_" not in told


def test_a_comment_in_the_source_allows_a_finding(folder, capsys):
    """``// mlusim: allow <id>: <reason>`` at the line, or above it, accepts what is found there."""
    allowed = "// mlusim: allow racecheck-tasks-write-write: every task writes the same\n"
    text = SOURCE.replace("dst + taskId * n", "dst").replace("src + taskId * n", "src")
    (folder / "scale.mlu").write_text(text.replace("  __memcpy(dst", allowed + "  __memcpy(dst"))
    code = main(["check", "scale.mlu", *CALL, "--arg", "dst=out:float32:32", "--json"])
    document = json.loads(capsys.readouterr().out)

    assert (code, document["findings"]) == (0, [])


def test_what_if_retimes_and_compiles_for_other_architectures(folder, capsys):
    """Boards of one architecture are re-timed; for another the file is compiled again, and a fault there is the answer."""
    boards = ("MLU370-X8", "MLU590-H8", "MLU270-S4")
    given = ("--arg", "dst=out:float32:128", "--board", *boards, "--json")
    code = main(["what-if", "scale.mlu", *CALL, *given])
    rows = {row["board"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    wrong = main(["what-if", "scale.mlu", *CALL, "--case", "golden"])

    assert (0, 2) == (code, wrong)
    assert {"MLU370-X4": "recorded", "MLU370-X8": "re-timed", "MLU590-H8": "run", "MLU270-S4": "run"} == {
        board: row["how"] for board, row in rows.items()
    }
    assert all(row["time_us"] > 1 for row in rows.values())
    assert "--case goes with an operator" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["table", "json", "csv", "md", "html"])
def test_report_of_a_kernel_on_both_boards(folder, capsys, form):
    """Each board's launch in every format."""
    code = main(["report", "scale.mlu", *CALL, "--arg", "dst=out:float32:128", "--format", form])
    told = capsys.readouterr().out

    assert 0 == code
    assert all(word in told for word in ("MLU370-X4", "MLU590-H8"))
    assert ("Scale&lt;float&gt;" if form == "html" else "Scale<float>") in told
    if form == "json":
        assert 2 == len(json.loads(told)["launches"])


LAB = """\
#include <cstdio>
#include <cstdlib>
__mlu_entry__ void Store(int *p) { p[taskId] = taskId; }
int main(int argc, char **argv) {
  int *p = nullptr;
  CNRT_CHECK(cnrtMalloc((void **)&p, 16));
  cnrtDim3_t dim = {4, 1, 1};
  Store<<<dim, cnrtFuncTypeBlock, nullptr>>>(p);
  int back[4];
  CNRT_CHECK(cnrtMemcpy(back, p, sizeof(back), cnrtMemcpyDevToHost));
  printf("%d %s\\n", back[3], argc > 1 ? argv[1] : "-");
  return argc > 1 ? atoi(argv[1]) : 0;
}
"""


def test_a_program_with_main_runs_with_its_words_and_its_exit_status(folder, capfd):
    """Run prints what it prints and ends as it ends, --json lists launches, check watches them.

    ``-- data.c`` is an argument of main in every verb that runs it; before the dashes it is a file.
    """
    (folder / "lab.mlu").write_text(LAB)
    codes = [
        main(["run", "lab.mlu"]),
        main(["run", "lab.mlu", "--", "7"]),
        main(["run", "lab.mlu", "7", "x"]),
    ]
    said = capfd.readouterr()
    told = main(["run", "lab.mlu", "--json", "--", "5"])
    document = capfd.readouterr()
    checked = main(["check", "lab.mlu", "--json", "--", "5"])
    report = capfd.readouterr()

    assert ([0, 7, 7], "3 -\n3 7\n3 7\n") == (codes, said.out)
    facts = json.loads(document.out)
    assert (5, 5, ["Store"]) == (
        told,
        facts["exit_status"],
        [launch["kernel"] for launch in facts["launches"]],
    )
    assert "3 5\n" in document.err
    assert 1 == checked
    assert "it ended with exit code 5" in json.dumps(json.loads(report.out))

    codes = [main([word, "lab.mlu", "--board", "MLU370-X4", "--", "data.c"]) for word in ("run", "report")]
    said = capfd.readouterr()
    moved = main(["what-if", "lab.mlu", "--board", "MLU590-H8", "--json"])
    rows = json.loads(capfd.readouterr().out)["rows"]

    assert [0, 0] == codes, said.err
    assert 2 <= said.out.count("3 data.c\n")
    assert (0, ["recorded", "run"]) == (moved, [row["how"] for row in rows])
    assert [2] == [main(["run", "lab.mlu", "data.c"])]
    assert "data.c cannot be read" in capfd.readouterr().err


def test_a_kernel_of_a_program_with_main_and_sources_that_have_neither(folder, capsys):
    """--kernel launches one kernel of a program; without main and kernel the sentence says that there is none."""
    (folder / "lab.mlu").write_text(LAB)
    (folder / "plain.mlu").write_text("int f() { return 1; }\n")
    codes = [
        main(["run", "lab.mlu", "--kernel", "Store", "--dim", "4", "--arg", "p=out:int32:4"]),
        main(["run", "plain.mlu"]),
        main(["run", "lab.mlu", "--save", "x.npz"]),
    ]
    said = capsys.readouterr()

    assert [0, 2, 2] == codes
    assert "[0, 1, 2, 3]" in said.out
    assert (
        "plain.mlu has no kernel that could be launched; one of a template is named with its types"
        in said.err
    )
    assert "--save goes with one kernel" in said.err


def test_an_argument_shows_its_parameter_with_a_caret(folder, capsys):
    """The line of the source stands under the sentence."""
    code = main(["run", "scale.mlu", "--kernel", "Scale<float>", "--arg", "dst=out:int16:8"])
    told = capsys.readouterr().err.splitlines()

    assert 2 == code
    assert "elements of int16; it takes float" in told[0]
    assert "^" == told[2].strip()


def test_prints_of_a_launch_that_faults_are_shown(tmp_path, capsys):
    """Those of all tasks up to the fault, before its sentence; beside a JSON document they go to standard error."""
    source = tmp_path / "talks.mlu"
    source.write_text(
        "__mlu_entry__ void Talks(float *p, int n) {\n  __nram__ float x[16];\n"
        '  __bang_printf("task %d of %d\\n", taskId, n);\n  if (taskId) __memcpy(x, p, n, GDRAM2NRAM);\n}\n'
    )
    call = ["run", str(source), "--dim", "2", "--arg", "p=zeros:float:64", "--arg", "n=128"]

    for words, said in ((call, "out"), ([*call, "--engine", "python"], "out"), ([*call, "--json"], "err")):
        assert main(words) == 3
        streams = capsys.readouterr()
        assert getattr(streams, said).startswith("task 0 of 128\ntask 1 of 128\n")
        assert streams.err.count("error: ") == 1
