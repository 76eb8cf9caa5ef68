"""What people type first and gets refused: words of other languages, a memory that is forgotten, bytes for elements, tests as scripts."""

import pytest

SOURCE = """\
#include <bang.h>

__nram__ float tile[64];

__mlu_global__ void Local(float *out, const float *x) {
  float mine[64];
  __bang_add(mine, mine, mine, 64);
}

__mlu_global__ void Loaded(float *out, const float *x) {
  float mine[64];
  __memcpy(mine, x, 256, GDRAM2NRAM);
}

__mlu_global__ void Summed(float *out, const float *x) {
  float sum;
  __bang_reduce_sum(&sum, tile, 64);
}

struct Pair {
  float first, second;
};

__mlu_global__ void Member(float *out, const float *x) {
  Pair pair;
  __memcpy(&pair.second, x, 4, GDRAM2NRAM);
}

__mlu_global__ void Null(float *out, const float *x) {
  float *nothing = nullptr;
  __memcpy(nothing, x, 4, GDRAM2NRAM);
}

__mlu_global__ void Counted(float *out, const float *x) {
  __memcpy(tile, x, 256, GDRAM2NRAM);
  __bang_add(tile, tile, tile, 64 * sizeof(float));
}

__mlu_global__ void Shifted(float *out, const float *x) {
  __memcpy(tile, x, 256, GDRAM2NRAM);
  __bang_add(tile + 4, tile + 4, tile + 4, 64);
}

__mlu_global__ void Odd(float *out, const float *x) {
  __memcpy(tile, x, 256, GDRAM2NRAM);
  __bang_add(tile, tile, tile, 65);
}

__mlu_global__ void Stored(float *out, const float *x) {
  __memcpy(tile, x, 256, GDRAM2NRAM);
  __memcpy(out, tile, 64, NRAM2GDRAM);
}

__nram__ char pool[1024];

__mlu_global__ void Pooled(float *out, const float *x) {
  float *mine = (float *)(pool + 256), *sum = (float *)(pool + 512);
  __memcpy(mine, x, 64, GDRAM2NRAM);
  __bang_add(sum, mine, mine, 64);
  __memcpy(out, sum, 256, NRAM2GDRAM);
}

__mlu_global__ void Beyond(float *out, const float *x) {
  float *mine = (float *)(pool + 512);
  __memcpy(mine, x + 8, 256,
           GDRAM2NRAM);
  __memcpy(out, mine, 128, NRAM2GDRAM);
}

__mlu_global__ void Early(float *out, const float *x) {
  float *mine = (float *)pool, *sum = (float *)(pool + 256);
  __memcpy_async(mine, x, 256, GDRAM2NRAM);
  __bang_add(sum,
             mine, mine, 32);
  __memcpy(out + taskId * 8, sum, 160, NRAM2GDRAM);
}

__mlu_global__ void Read(float *out, const float *x) {
  __memcpy(tile, x, 64, GDRAM2NRAM);
  __bang_add(tile, tile, tile, 64);
  __memcpy(out, tile, 256, NRAM2GDRAM);
}
"""
ARGUMENTS = ("--arg", "out=out:float32:64", "--arg", "x=randn:float32:64")
FORGOTTEN = "declare it `__nram__ float mine[64]`: a local array that names no memory lies on the task's stack, in LDRAM"
SCALAR = "sum is one float in LDRAM; give an array, declared as `__nram__ float sum[N]`"
SIZED = "the size of a copy is in bytes, so multiply a count of elements by sizeof(float)"
GPU = """\
#include <bang.h>
__global__ void K(float *out) {
  __shared__ float s[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = s[i];
}
"""
TESTS = "import numpy\n\n\ndef test_it():\n    assert numpy\n"


@pytest.fixture
def source(tmp_path, monkeypatch):
    """The file of kernels, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "first.mlu").write_text(SOURCE)
    return "first.mlu"


@pytest.mark.parametrize(
    ("kernel", "engine", "hint"),
    [
        ("Local", "python", FORGOTTEN),
        ("Loaded", "python", FORGOTTEN),
        ("Summed", "python", SCALAR),
        ("Summed", "native", SCALAR),
        (
            "Member",
            "python",
            "pair lies in LDRAM, as local variables do; declare it `__nram__` if NRAM is meant",
        ),
        ("Null", "python", "let it point to an array first"),
        *(
            (
                "Counted",
                engine,
                "elem_count counts elements, and 256 bytes of float are 64: leave sizeof out if that is meant",
            )
            for engine in ("python", "native")
        ),
        ("Odd", "python", "check the count against what is left at that offset"),
        ("Shifted", "python", "check the count against what is left at that offset"),
    ],
)
def test_a_fault_says_what_was_forgotten_and_which_verb_looks_further(cli, source, kernel, engine, hint):
    """A local array or scalar without a memory, a size where a count is meant; a count that is merely too large has the usual hint."""
    done = cli("run", source, "--kernel", kernel, *ARGUMENTS, "--engine", engine)
    first, *_, last = done.err.splitlines()

    assert 3 == done.code
    assert f"; {hint} (first.mlu:" in first
    assert last.startswith("note: `mlusim check` of the same call looks for the cause")


@pytest.mark.parametrize("engine", ["python", "native"])
def test_each_operand_of_a_race_has_its_name_in_the_source(cli, source, engine):
    """Pointers into a pool, shares of a tensor, and what has no value there; on both engines."""
    shaped = ("--arg", "out=out:float32:2,4,8", "--arg", "x=randn:float32:64")
    done = cli("check", source, "--kernel", "Early", "--dim", 2, *shaped, "--engine", engine, "--json")
    told = {one["id"]: one["context"] for one in done.json()["findings"]}
    copied = SOURCE[: SOURCE.index("__memcpy_async(mine")].count("\n") + 1

    assert [
        f"src0 is mine in __bang_add at line {copied + 1}",
        f"dst is mine in __memcpy_async at line {copied}",
    ] == told["racecheck-read-after-write"][1:]
    assert ["src is sum", "the first of them goes to out[0, 0, 0]"] == told["initcheck-undefined-stored"][-2:]
    first, *_, element = told["racecheck-tasks-write-write"]
    assert ("; dst is out + taskId * 8", "the first of them is out[0, 1, 0]") == (first[-25:], element)


def test_a_finding_names_the_pointer_and_the_element(cli, source):
    """What stands in the source for the operand, and where in a tensor of several dimensions it begins."""
    shaped = ("--arg", "out=out:float32:4,4,4", "--arg", "x=randn:float32:4,4,4")
    beyond = cli("check", source, "--kernel", "Beyond", *shaped).out
    half = cli("check", source, "--kernel", "Stored", *shaped).out

    assert "│   src is x + 8\n" in beyond
    assert "│   it begins in const tensor x float[4, 4, 4] at x[0, 2, 0], which ends at" in beyond
    assert "│   the first of them is out[1, 0, 0]\n" in half


@pytest.mark.parametrize(
    ("kernel", "hint"),
    [
        ("Stored", f"64 bytes were written, and the tensor has 64 elements: {SIZED}"),
        ("Pooled", f"64 bytes were written, and 64 elements are read: {SIZED}"),
        ("Read", f"64 bytes were written, and 64 elements are read: {SIZED}"),
    ],
)
def test_a_count_of_elements_as_the_size_of_a_copy_has_its_hint(cli, source, kernel, hint):
    """Where as many bytes have a value as there are elements."""
    done = cli("check", source, "--kernel", kernel, *ARGUMENTS)

    assert 1 == done.code
    assert f"hint: {hint}" in done.out.splitlines()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("dim=4,8,14",),
            "'dim=4,8,14' is not an argument of a kernel; that of the launch is given as --dim 4,8,14",
        ),
        (
            ("--arg", "dim=4,8,14"),
            "Local has no parameter 'dim', and no formula names it; that of the launch is given as --dim",
        ),
    ],
)
def test_a_grid_that_is_typed_as_an_argument_is_told_its_option(cli, source, words, told):
    """Behind the file, and behind --arg."""
    done = cli("run", source, "--kernel", "Local", *words, *ARGUMENTS)

    assert (2, f"error: {told}") == (done.code, done.err.splitlines()[0])


@pytest.mark.parametrize("verb", ["run", "check", "plan", "compile", "fuzz"])
@pytest.mark.parametrize(
    ("typed", "told"), [("frist.mlu", "did you mean first.mlu?"), ("other.mlu", "No such file")]
)
def test_a_file_that_is_not_there_is_named_with_one_that_is_like_it(cli, source, verb, typed, told):
    """The name as it was typed."""
    done = cli(verb, typed)

    assert 2 == done.code
    assert typed in done.err
    assert done.err.endswith(f"{told}\n" if "mean" in told else f"{told} or directory\n")


def test_words_of_gpus_get_those_of_bang_c(cli, source, tmp_path):
    """The first in its sentence, the others below it, once for each answer."""
    (tmp_path / source).write_text(GPU)
    first, *below = cli("compile", source).err.splitlines()

    assert (
        "error: first.mlu:2:1: unknown type name '__global__'; in BANG C a kernel is __mlu_global__" == first
    )
    assert [
        "__shared__: in BANG C __mlu_shared__ is the memory of a cluster, and __nram__ that of a core",
        "blockIdx: in BANG C it is taskIdX, taskIdY and taskIdZ",
        "blockDim, threadIdx: a task has no threads: call __bang_* on whole arrays, and share the work out by taskId and taskDim",
    ] == below[3:]


@pytest.mark.parametrize(
    "words",
    [("run",), ("check",), ("profile",), ("cover",), ("debug", "--command", "run")],
    ids=lambda words: words[0],
)
def test_a_file_of_tests_that_ran_as_a_script_names_the_form_that_runs_them(
    cli, tmp_path, monkeypatch, words
):
    """Whatever the verb; the form takes all tests of the file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_kernel.py").write_text(TESTS)
    told = "it has tests for pytest, and ran as a script; name it test_kernel.py:: to run them"

    done = cli(words[0], "test_kernel.py", *words[1:])

    assert told in done.out + done.err
