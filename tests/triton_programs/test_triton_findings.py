"""What is wrong with a Triton kernel is said at its line; what does not fit, and what has no form, is refused."""

import html
import json
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("triton")
import language_kernels as language
import triton
import triton_kernels as kernels
from triton.runtime.errors import OutOfResources

import mlusim.triton
from mlusim.cli.main import main
from mlusim.engine.preference import preferring
from mlusim.errors import MlusimError, OutOfBounds, Unsupported, UsageError, shown_file
from mlusim.machine.kernel import ESTIMATE

FILE = Path(kernels.__file__)


def line_of(text, *, after, file=FILE):
    """Return the number of the line of *file* with *text* in the kernel *after*."""
    lines = file.read_text().splitlines()
    first = next(n for n, line in enumerate(lines) if f"def {after}(" in line)
    return next(n for n in range(first, len(lines)) if text in lines[n]) + 1


def test_lanes_without_a_value_are_found():
    """A mask without ``other`` leaves them, and a sum takes them."""
    x = np.ones(100, np.float32)
    launch = mlusim.triton.run(
        kernels.no_other, (1,), x, np.zeros(1, np.float32), 90, B=128, observe=["initcheck"]
    )

    assert [(str(FILE), line_of("tl.sum", after="no_other"))] == [(f.file, f.line) for f in launch.findings]
    assert ESTIMATE == launch.estimate


@pytest.mark.parametrize("engine", ["python", "auto"])
def test_a_missing_mask_is_a_fault_at_its_line(engine):
    """On both engines."""
    x = np.ones(100, np.float32)
    with preferring(engine), pytest.raises(OutOfBounds) as raised:
        mlusim.triton.run(kernels.no_mask, (2,), x, np.zeros(100, np.float32), 100, B=64)

    assert (str(FILE), line_of("tl.load", after="no_mask")) == (raised.value.file, raised.value.line)


def test_what_does_not_fit_names_the_tiles_that_take_the_room():
    """In the words of the card's launcher, with lines behind."""
    out = np.zeros((64, 2048), np.float16)
    with pytest.raises(OutOfResources) as raised:
        mlusim.triton.run(kernels.softmax, (1,), out, out, 64, 2048, BM=64, BN=2048, board="MLU590-H8")

    told = str(raised.value)
    assert "an estimate of this lowering, not of the vendor's compiler" in told
    assert told.startswith("out of resource: NRAM, Required: ")
    assert "Hardware limit: 524288" in told
    assert f"(triton_kernels.py:{line_of('.to(tl.float32)', after='softmax')})" in told


def test_a_grid_beyond_the_limit_is_refused():
    """65,535 programs along an axis."""
    x = np.zeros(4, np.float32)
    with pytest.raises(OutOfResources, match="grid size, Required: 65536, Hardware limit: 65535"):
        mlusim.triton.run(kernels.add, (65536,), x, x, x, 4, B=64)


@pytest.mark.parametrize(
    ("kernel", "text", "dtype", "told"),
    [
        ("assembly", "tl.inline_asm", np.int32, "tt.elementwise_inline_asm has no form in BANG C here; write it in Triton"),
        ("eight_bits", "float8e5", np.float32, "Triton does not compile eight_bits: .*no board has fp8: use tl.float16, or tl.int8 with a scale"),
        ("pointers", "tl.where", np.float32, "a choice between pointers .*; choose between offsets, and add them to one pointer"),
        ("double_words", "tl.atomic_add", np.int64, "no instruction does atomic add of int64_t; use elements of 32 bits"),
        ("called", "apart(tl.load", np.int32, "tt.call .*; leave noinline=True out of the decorator"),
        ("unknown", "fast_tahn", np.float32, "Triton does not compile unknown: libdevice has no function fast_tahn; did you mean fast_tanh"),
        ("whole_root", "libdevice.sqrt", np.int32, r"Triton does not compile whole_root: libdevice.sqrt takes fp32 or fp16 or bf16, not int32; convert with"),
        ("another", "erfinv", np.float32, "the library function __nv_erfinvf has no form .*; write it with operations of tl"),
        ("wide_floats", "def wide", np.float64, "x: elements of f64 have no type in BANG C; use tl.float32"),
    ],
)  # fmt: skip
def test_what_has_no_form_is_refused_by_its_line(kernel, text, dtype, told):
    """With what to write instead."""
    line = line_of(text, after=kernel, file=Path(language.__file__))
    with pytest.raises((Unsupported, UsageError), match=rf"language_kernels\.py:{line}: {told}"):
        mlusim.triton.run(getattr(language, kernel), (1,), np.zeros(16, dtype), B=16)


@pytest.mark.parametrize("engine", ["python", "auto"])
def test_values_are_printed_and_assertions_end_a_kernel_at_their_line(engine, capfd):
    """Numbers, tensors and masks; assertions where the call asks for them with debug."""
    x = np.array([1, 2.5, 12], np.float32)
    with preferring(engine):
        lines = mlusim.triton.run(kernels.told, (1,), x, 2, B=2).printed
        kernels.told[(1,)](x, 2, B=2)
        with pytest.raises(
            MlusimError, match=rf"n is large.*triton_kernels\.py:{line_of('n is large', after='told')}"
        ):
            mlusim.triton.run(kernels.told, (1,), x, 11, B=2, debug=True)
        with pytest.raises(MlusimError, match="v is large"):
            mlusim.triton.run(kernels.told, (1,), x, 3, B=4, debug=True)

    assert [
        "pid (0, 0, 0) idx (0) 100%d of: 1.000000",
        "pid (0, 0, 0) idx (1) 100%d of: 2.500000",
        "pid (0, 0, 0) 100%d of: 2",
        "pid (0, 0, 0) idx (0) on: 1",
        "pid (0, 0, 0) idx (1) on: 1",
    ] == [line.rstrip() for line in lines]
    assert "".join(lines) == capfd.readouterr().out


ONES = np.ones(4, np.float32)
FIXED = np.ones(4, np.float32)
FIXED.setflags(write=False)


@pytest.mark.parametrize(
    ("grid", "arguments", "named", "told"),
    [
        ((1,), (ONES, ONES, ONES, 4), {}, r"add\(x, y, o, n, B\): missing a required argument: 'B'"),
        ((1,), (ONES, ONES, ONES, 4), {"B": 4, "C": 4}, "got an unexpected keyword argument 'C'"),
        ((1,), ([1.0], ONES, ONES, 4), {"B": 4}, r"x: \[1.0\] is not an array and no number"),
        ((1,), (ONES.astype(complex), ONES, ONES, 4), {"B": 4}, "an array of complex128 is not an argument of a kernel"),
        ((1,), (ONES, ONES, ONES, 1 << 70), {"B": 4}, "n is .*, which has no place in 64 bits"),
        ((1,), (3, ONES, ONES, 4), {"B": 4}, "Unsupported ptr type .*: pass an array"),
        ((1,), (ONES, ONES, FIXED, 4), {"B": 4}, "the kernel writes to an array that is read-only; pass a copy of it"),
        (4, (ONES, ONES, ONES, 4), {"B": 4}, r"the grid of add is programs in x, y and z, as \(48,\), not 4"),
        ((1, 1, 1, 1), (ONES, ONES, ONES, 4), {"B": 4}, "the grid of add is programs in x, y and z"),
        ((1,), (ONES, ONES, ONES, 4), {"B": 4, "num_stages": -1}, "num_stages=-1 of a kernel is not a whole number of at least 0"),
    ],
)  # fmt: skip
def test_arguments_that_are_none_of_the_kernel_are_refused(grid, arguments, named, told):
    """In a sentence that names them."""
    with pytest.raises(UsageError, match=told):
        mlusim.triton.run(kernels.add, grid, *arguments, **named)


def test_numbers_of_numpy_are_numbers():
    """As Python's."""
    out = np.zeros(4, np.float32)
    mlusim.triton.run(kernels.add, (1,), ONES, ONES, out, np.int64(3), B=np.int32(4))

    assert [2, 2, 2, 0] == out.tolist()


def test_a_word_of_c_is_no_name():
    """Of a parameter, which the text keeps."""
    with pytest.raises(Unsupported, match="long in word is a word of C"):
        mlusim.triton.run(kernels.word, (1,), np.zeros(1, np.int32), 2)


def test_a_call_of_the_kernel_chooses_by_predicted_time():
    """On arrays; what does not fit is a candidate that fails."""
    configs = [triton.Config({"B": block}) for block in (64, 256, 262144)]
    tuned = triton.autotune(configs, key=["n"], restore_value=["o"])(kernels.add)
    x, out = np.ones(1000, np.float32), np.zeros(1000, np.float32)
    tuned[lambda meta: (triton.cdiv(1000, meta["B"]),)](x, x, out, 1000)
    times = {config.kwargs["B"]: time for config, (time, *_) in tuned.configs_timings.items()}

    assert [2.0] * 1000 == out.tolist()
    assert float("inf") == times[262144]
    assert min(times, key=times.get) == tuned.best_config.kwargs["B"]


CALL = [
    "--kernel", "add", "--arg", "x=arange:float32:n", "--arg", "y=ones:float32:n", "--arg", "o=out:float32:n", "--arg", "n=100",
    "--grid", "2", "--constexpr", "B=64",
]  # fmt: skip


def test_verbs_take_a_triton_kernel(capsys):
    """As they take one of BANG C, with the lines of the Python file."""
    ran = main(["run", str(FILE), *CALL])
    out, told = capsys.readouterr()
    checked = main(["check", str(FILE), *CALL])
    main(["profile", str(FILE), *CALL])
    profiled = capsys.readouterr().out

    assert (0, 0) == (ran, checked)
    assert (
        "add: 512 bytes of NRAM and all times are an estimate of this lowering, not of the vendor's compiler"
        in told
    )
    assert re.search(r"o float32\[100\]: \[1\., 2\., 3\., ", out)
    assert f"triton_kernels.py:{line_of('tl.store', after='add')}" in profiled


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--kernel", "addd", "--grid", "1"], r"has no Triton kernel 'addd' \(meant: add\)"),
        (["--kernel", "add", "--grid", "1"], "x of add has no value; give one, as --arg x="),
        ([*CALL[:-2], "--constexpr", "C=1"], "add has no parameter C; its parameters: x, y, o, n, B"),
        ([*CALL, "--dim", "4"], "a Triton kernel takes --grid"),
        ([*CALL[:-4], "--grid", "cdiv(m, B)", *CALL[-2:]], r"--grid is given 'cdiv\(m, B\)'.*known are .*B"),
        ([*CALL[:-2], "--constexpr", "B=64,128"], "`mlusim tune --param B=64,128` tries them"),
        ([*CALL[:-2], "--constexpr", "B=0"], rf"{FILE}:\d+: Triton does not compile add: .*arange"),
        (
            [*CALL[:-2], "--constexpr", "B=524288"],
            r"Hardware limit: 786432.* load 2,097,152 bytes .*; it fits with B=65536",
        ),
    ],
)
def test_what_is_typed_wrong_is_said(capsys, words, told):
    """In a sentence."""
    code = main(["run", str(FILE), *words])

    assert code == 2
    assert re.search(told, capsys.readouterr().err)


def test_options_of_triton_without_a_kernel_of_it_are_refused(capsys, tmp_path):
    """They would have no effect."""
    (tmp_path / "k.mlu").write_text("__mlu_global__ void K(int *o) { *o = 1; }")
    code = main(["run", str(tmp_path / "k.mlu"), "--kernel", "K", "--grid", "4", "--arg", "o=out:int32:1"])

    assert code == 2
    assert "--grid goes with a Triton kernel" in capsys.readouterr().err


def test_compile_shows_the_text(capsys):
    """With the lines of the Python file, and what it needs."""
    code = main(["compile", str(FILE), *CALL])
    text = capsys.readouterr().out

    assert code == 0
    assert f'#line {line_of("tl.store", after="add")} "{FILE}"\n  __bang_add(' in text
    assert "// add: 512 bytes of NRAM and all times are an estimate of this lowering" in text


def test_a_grid_may_be_a_formula(capsys):
    """Of arguments and constants, as in Triton."""
    main(["run", str(FILE), *CALL[:-4], "--grid", "triton.cdiv(n, B)", *CALL[-2:], "--json"])

    launch = json.loads(capsys.readouterr().out)["launches"][0]

    assert [2, 1, 1] == launch["dim"]
    assert launch["estimate"] == ESTIMATE


@pytest.mark.parametrize(
    ("verb", "form", "more"),
    [
        ("profile", "csv", []),
        ("profile", "md", []),
        ("plan", "svg", []),
        ("plan", "html", []),
        ("plan", "html", ["--board", "MLU590-H8", "--board", "MLU370-X4"]),
        ("plan", "text", []),
    ],
)
def test_every_form_says_whose_time_and_memory_it_shows(capsys, verb, form, more):
    """On standard output, which is what is kept."""
    main([verb, str(FILE), *CALL, *more, "--format", form])

    assert "of this lowering, not of the vendor" in re.sub(
        r"</text>\s*<text[^>]*>", " ", capsys.readouterr().out
    )


def test_pages_say_whose_times_they_show(capsys, tmp_path):
    """In the words of the other outputs."""
    main(["profile", str(FILE), *CALL, "--html", str(tmp_path / "page.html")])

    assert f"Time and NRAM are {ESTIMATE}" in html.unescape((tmp_path / "page.html").read_text())
    assert f"time and NRAM   {ESTIMATE}" in capsys.readouterr().out


def test_the_debugger_stops_at_lines_of_the_file(capsys):
    """From the line of the function on."""
    stored = line_of("tl.store", after="add")
    commands = ["break add", f"break {FILE.name}:{stored}", "run", "continue", "info locals"]
    code = main(["debug", str(FILE), *CALL, *(word for text in commands for word in ("--command", text))])
    out = capsys.readouterr().out

    assert code == 0
    assert f"task 0 in add at {shown_file(str(FILE))}:{line_of('def add', after='add')}" in out
    assert f"Breakpoint 2, {shown_file(str(FILE))}:{stored}" in out
    assert "int i_part " in out


def test_fuzz_draws_calls_of_a_kernel(capsys, tmp_path):
    """Each is made into BANG C for its own types; a failing one is kept with its command."""
    draws = ["--arg", "n=int:1..200", "--arg", "x=in:float32:n", "--arg", "o=out:float32:n"]
    around = ["--grid", "cdiv(n, B)", "--constexpr", "B=64", "--runs", "4", "--corpus", str(tmp_path)]
    code = main(["fuzz", str(FILE), "--kernel", "no_mask", *draws, *around])
    out = capsys.readouterr().out

    assert code == 1
    assert f"{FILE.name}:{line_of('tl.load', after='no_mask')}, task 0" in out
    assert "--kernel no_mask --grid 'cdiv(n, B)' --constexpr B=64 --arg n=1 " in out


def test_tune_tries_constants(capsys):
    """By predicted time; what is over the limit, or what Triton refuses, is a candidate that fails."""
    param = ["--param", "B=64,128,524288,0"]
    code = main(["tune", str(FILE), *CALL[:-4], "--grid", "cdiv(n, B)", *param, "--json", "--jobs", "1"])
    document = json.loads(capsys.readouterr().out)
    told = {one["parameters"]["B"]: (one["rank"] is not None, one["why"]) for one in document["candidates"]}

    assert code == 0
    assert {"64": True, "128": True, "524288": False, "0": False} == {
        b: able for b, (able, _) in told.items()
    }
    assert told["524288"][1].startswith("out of resource: NRAM, Required: 4194304, Hardware limit: 786432")
    assert document["estimate"] == ESTIMATE


def test_tune_tries_what_autotune_has(capsys, tmp_path):
    """Where nothing else is to be tried."""
    lines = FILE.read_text().splitlines()
    source = "\n".join(lines[(first := line_of("def add", after="add") - 2) : first + 6])
    configs = "[triton.Config({'B': b}, num_warps=1, num_stages=1) for b in (64, 128)]"
    path = tmp_path / "tuned.py"
    path.write_text(
        f"import triton\nimport triton.language as tl\n\n@triton.autotune({configs}, key=['n'])\n{source}\n"
    )
    main(["tune", str(path), *CALL[:-4], "--grid", "cdiv(n, B)", "--json", "--jobs", "1"])
    tried = [one["parameters"] for one in json.loads(capsys.readouterr().out)["candidates"]]

    assert [{"B": b, "num_warps": "1", "num_stages": "1"} for b in ("128", "64")] == tried
