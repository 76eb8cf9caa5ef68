"""``--arg`` and ``--expect``: the forms of the table, what they make, and what is said of wrong ones."""

import json

import numpy as np
import pytest

from mlusim.arch.catalog import find_board
from mlusim.cli.main import main
from mlusim.errors import UsageError
from mlusim.programs import argument_forms as forms
from mlusim.programs.argument_values import ArgumentScope, value_of

BOARD = find_board("MLU370-X4")
SOURCE = """\
__nram__ float buffer[1024];
__nram__ int chosen[64];

__mlu_entry__ void Gather(float *out, const float *x, const int *index, int n, int count, float factor) {
  __memcpy(buffer, x, n * sizeof(float), GDRAM2NRAM);
  __memcpy(chosen, index, count * sizeof(int), GDRAM2NRAM);
  for (int i = 0; i < count; ++i) out[i] += factor * buffer[chosen[i]];
}
"""
GATHER = {
    "out": "inout:ones:float32:count",
    "x": "arange:float32:rows,n/rows",
    "index": "int:0..n:count",
    "n": "rows*16",
    "rows": "int:4..5",
    "count": "64",
    "factor": "2",
}


def scope(seed=0, macros=(), **texts):
    """The arguments *texts*."""
    return ArgumentScope(texts, dict(macros), BOARD, seed)


def made(name, seed=0, macros=(), **texts):
    """The array that argument *name* is among *texts*."""
    read = scope(seed, macros, **texts)
    return read.array(name, read.value(name, name), name)


def words(arguments):
    """*arguments* as words of a command line."""
    return [word for name, text in arguments.items() for word in ("--arg", f"{name}={text}")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a kernel and files, as the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.mlu").write_text(SOURCE)
    np.savez("two.npz", x=np.arange(3), y=np.ones(2))
    np.savez("one.npz", x=np.arange(3))
    np.save("x.npy", np.arange(5))
    return tmp_path


@pytest.mark.parametrize("form", [form for form in forms.FORMS if form.word], ids=lambda form: form.spelling)
def test_every_form_reads_its_own_example(form):
    """What the documents show is what is read, and gives the form that it is shown for."""
    read = value_of(form.example.partition("=")[2], "x")

    assert read.form is {forms.INOUT: forms.FILE, forms.HOST: forms.OUT}.get(form, form)
    assert read.on_host == (form is forms.HOST)
    assert read.comes_back is (form in (forms.INOUT, forms.OUT, forms.HOST))


def test_arrays_are_made_as_written():
    """Values, element types, and shapes by numbers, by names, by formulas, and with x between them."""
    assert np.array_equal(made("x", x="zeros:float32:8x2"), np.zeros((8, 2), np.float32))
    assert np.array_equal(made("x", x="ones:half:2,3"), np.ones((2, 3), np.float16))
    assert np.array_equal(
        made("x", x="arange:int32:a,b", a="2", b="a+1"), np.arange(6, dtype=np.int32).reshape(2, 3)
    )
    shapes = {"rowsxcols": (4, 6), "rows x cols": (4, 6), "rows/2x8": (2, 8), "(rows+1)x8xcols": (5, 8, 6)}
    for sizes, shape in {**shapes, "max(rows,cols),TILE": (6, 32), "NRAM/NRAM": (1,)}.items():
        assert made("x", macros={"TILE": "32"}, x=f"in:int8:{sizes}", rows="4", cols="6").shape == shape
    for text in ("rand:half:1000", "randn:bfloat16:1000", "in:uint8:1000", "int:-3..4:float32:1000"):
        assert made("x", x=text).dtype.name == text.split(":")[-2].replace("half", "float16")
    assert set(range(-3, 4)) == set(made("x", x="int:-3..4:int64:1000").tolist())
    drawn = made("x", x="rand:float32:1000")
    assert 0 <= drawn.min() < 0.1
    assert 0.9 < drawn.max() <= 1


def test_draws_depend_on_the_seed_and_the_name_alone():
    """The same seed gives the same values, whatever else is given; another name or seed gives others."""
    first = made("x", 3, x="randn:float32:n", n="int:100..10000")
    assert np.array_equal(first, made("x", 3, y="randn:float32:4", n="int:100..10000", x="randn:float32:n"))
    others = [made(name, seed, **{name: "int:0..1000000000:1"})[0] for seed in range(5) for name in "ab"]
    assert len(set(others)) == len(others)
    assert len({scope(seed, n="int:0..1000000").whole("n") for seed in range(8)}) == 8


def test_files_give_one_array(folder):
    """A member of an archive by its name, or the only one; what is not there is named."""
    del folder
    assert np.array_equal(made("x", x="two.npz:y"), np.ones(2))
    assert np.array_equal(made("x", x="one.npz"), np.arange(3))
    assert np.array_equal(made("x", x="in:x.npy"), np.arange(5))
    for text, sentence in (("two.npz", "holds x, y; name one"), ("two.npz:z", "holds no z; it holds x, y")):
        with pytest.raises(UsageError, match=sentence):
            made("x", x=text)


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (
            {"x": "randm:float32:8"},
            "'randm:float32:8'; randm is not a word of --arg (meant: rand: or randn:); use NUMBER",
        ),
        ({"x": "zeros:float32"}, "write zeros:TYPE:SIZES, as zeros:float32:8,1024"),
        ({"x": "zeros:flot:8"}, "is given 'zeros:flot:8'; 'flot' is not an element type"),
        ({"x": "zeros:half:8,,8"}, "write zeros:TYPE:SIZES, as zeros:float32:8,1024: a size is missing"),
        (
            {"x": "zeros:half:0x10"},
            "0x10 may be hexadecimal, or a 0 with x behind it; write 0,10 or 16",
        ),
        ({"x": "zeros:half:nx0x1F", "n": "8"}, "0x1F may be hexadecimal, or a 0 with x behind it; write 31"),
        ({"x": "zeros:half:n-9", "n": "8"}, "a size is -1"),
        ({"x": "zeros:half:m", "n": "8"}, "it names 'm'; known are"),
        ({"x": "zeros:half:n", "n": "m", "m": "n"}, "n and m cannot be known from each other"),
        ({"x": "zeros:half:n", "n": "2.5"}, "give a whole number or a formula"),
        ({"x": "rand:int32:8"}, "rand draws floats; for integers write int:LOW..HIGH:TYPE:SIZES"),
        ({"x": "int:0..n:int8:8", "n": "200"}, "int8 does not hold 0 to 199"),
        ({"x": "int:5..5:8"}, "no whole number is 5 or more and below 5"),
        ({"x": "int:5:8"}, "write int:LOW..HIGH or int:LOW..HIGH:TYPE:SIZES"),
        ({"x": "inout:out:half:8"}, "behind inout: stands what goes in, F.npy"),
        ({"x": "zeros:half:1000000,1000000"}, "an array that goes in has at most 4,294,967,296"),
    ],
)
def test_a_wrong_value_is_one_sentence(texts, sentence):
    """What was given, what is wrong with it, and what is possible."""
    with pytest.raises(UsageError) as refused:
        made("x", **texts)

    assert sentence in str(refused.value)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ({"n": "int:8", "x": "in:half:m"}, "--arg x is given 'in:half:m', and 'm' is not an argument or macro; known are n, NRAM"),
        ({"n": "8", "x": "in:half:colz", "cols": "n"}, "K has no parameter 'cols', and no formula names it; did you mean colz, which --arg x=in:half:colz names?"),
        ({"n": "8", "x": "in:half:2xcolz,cols", "cols": "n"}, "'colz' is not an argument or macro; did you mean cols?"),
        ({"n": "8", "x": "in:half:nxcolzx4", "cols": "n", "m": "cols"}, "K has no parameter 'm', and no formula names it; its parameters: n, x, y"),
        ({"n": "8", "xs": "in:half:n"}, "K has no parameter 'xs', and no formula names it; did you mean x?"),
        ({"nn": "8", "x": "in:half:nn"}, "K has no parameter 'nn'; did you mean n, which has no value?"),
        ({"n": "8", "x": "in:half:n", "scale": "2"}, "K has no parameter 'scale', and no formula names it; its parameters: n, x, y"),
        ({"n": "rowz*2", "rows": "4", "x": "in:half:rows"}, "--arg n is given 'rowz*2', and 'rowz' is not an argument or macro; did you mean rows?"),
        ({"n": "int:0..WIDHT", "x": "in:half:8"}, "'WIDHT' is not an argument or macro; did you mean WIDTH?"),
        ({"n": "8", "x": "in:half:y", "y": "out:half:max(n,WIDTH)xsizeof(float)xPAD_UP(n, 4)x NRAM"}, "'y' is not a number; known are n"),
    ],
)  # fmt: skip
def test_a_misspelt_name_is_told_before_what_follows_from_it(texts, sentence):
    """Of an argument or in a formula, with what was meant; words of other kinds are none of them."""
    with pytest.raises(UsageError) as refused:
        scope(macros={"WIDTH": "8"}, **texts).refuse_misspelt("K", ["n", "x", "y"], ["n", "x"], ())

    assert sentence in str(refused.value)


def test_names_that_are_no_slip():
    """Numbers of formulas, those of texts that were replaced, enumerators, files, and x between sizes."""
    texts = {
        "n": "MODE_A",
        "x": "rows.npy",
        "y": "out:half:4xrows x colsx0",
        "rows": "4",
        "cols": "2",
        "old": "3",
    }
    scope(**texts).refuse_misspelt("K", ["n", "x", "y"], ["n", "x", "y"], ("in:half:oldx4",))


def test_the_forms_in_run_and_check(folder, capsys):
    """Numbers and sizes by formulas, draws by the seed, arrays that come back, and what they are compared with."""
    given = [*words(GATHER), "--seed", "5"]
    assert 0 == main(["run", "k.mlu", *given, "--save", "out.npz"])
    with np.load("out.npz") as saved:
        index = made("index", 5, index="int:0..n:count", n="64", count="64")
        assert np.array_equal(saved["out"], 1 + 2 * index.astype(np.float32))
    assert 0 == main(["run", "k.mlu", *given, "--expect", "out=out.npz:out"])
    capsys.readouterr()
    assert 1 == main(["check", "k.mlu", *given, "--expect", "out=zeros:float32:count", "--only", "memcheck"])
    assert "against --expect out=zeros:float32:count, out: diff1" in capsys.readouterr().out
    (folder / "ref.py").write_text(
        "def gathered(out, x, index, n, count, factor):\n"
        "    assert (n, count, factor) == (64, 64, 2.0)\n"
        "    return out + factor * x.reshape(-1)[index]\n"
    )
    assert 0 == main(["run", "k.mlu", *given, "--reference", "ref:gathered", "--engine", "native"])
    refused = {
        ("--expect", "out=ones:float32:64", "--reference", "ref:gathered"): "both give 'out'",
        ("--expect", "y=x.npy"): "expect gives 'y', which does not come back; out does",
        ("--expect", "out=out:float32:8"): "it takes F.npy, F.npz:NAME, zeros:TYPE:SIZES",
        ("--expect", "out=ones:float32:7"): "expect gives float32[7] for out, and float32",
        ("--expect", "out"): "--expect 'out' gives no value; write NAME=VALUE, as --expect y=ref.npy",
        ("--arg", "rowz=3"): "Gather has no parameter 'rowz'",
    }
    for more, sentence in refused.items():
        assert 2 == main(["run", "k.mlu", *given, *more])
        assert sentence in capsys.readouterr().err
    np.save("wide.npy", np.zeros(64))
    assert 2 == main(["run", "k.mlu", *words(GATHER | {"x": "wide.npy"})])
    assert "is given 'wide.npy'; its elements: dtype('float64') is not" in capsys.readouterr().err


@pytest.mark.parametrize("spelling", ["const float *", "float const *", "const float *__restrict__ "])
def test_what_only_comes_back_is_no_value_of_a_pointer_to_const(folder, capsys, spelling):
    """Nothing would write it; that it comes back behind what goes in is no harm.  Of a pointer that is const itself it is legal."""
    (folder / "k.mlu").write_text(SOURCE.replace("const float *x", f"{spelling}x"))
    (folder / "const.mlu").write_text(SOURCE.replace("float *out", "float *const out"))
    bad = words({**GATHER, "x": "out:float32:64"})
    refused = [main([verb, "k.mlu", *bad]) for verb in ("run", "check", "plan")]
    told = capsys.readouterr().err
    both = main(["run", "k.mlu", *words({**GATHER, "x": "inout:ones:float32:64"})])
    fixed = main(["run", "const.mlu", *words({**GATHER, "out": "out:float32:count"})])

    assert ([2, 2, 2], 0, 0) == (refused, both, fixed)
    assert 3 == told.count(
        "x of Gather (k.mlu:4) is given 'out:float32:64'; it points to const, so that nothing writes what comes back; give what "
        "goes in, as x=in:float32:64\n"
    )


def test_the_seed_of_verbs_that_run_the_usual_schedule(folder, capsys):
    """``plan``, ``report`` and ``what-if`` draw other values by ``--seed``, which goes with a BANG C file."""
    del folder
    calls = {**GATHER, "index": "int:0..n:50", "count": "int:1..3"}
    assert 0 == main(["plan", "k.mlu", *words(calls), "--seed", "4", "--json"])
    touched = {a["name"]: a["touched"] for a in json.loads(capsys.readouterr().out)["arrays"]}
    assert touched["chosen"] == 4 * scope(4, count="int:1..3").whole("count")
    assert 2 == main(["report", "tin_shift_forward", "--seed", "4"])
    assert "--seed goes with a BANG C file" in capsys.readouterr().err


def test_fuzz_takes_several_files_and_says_what_it_takes(tmp_path, monkeypatch, capsys):
    """The kernel may be in any of the files; a program, another file and one that is not there are told from operators."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "host.mlu").write_text("__mlu_func__ void none(float *p) {}\n")
    (tmp_path / "device.mlu").write_text("__mlu_entry__ void Store(float *p, int n) { p[0] = n; }\n")
    (tmp_path / "notes.txt").touch()
    call = ["--kernel", "Store", "--arg", "p=inout:zeros:float32:4", "--arg", "n=int:1..4", "--runs", "1"]

    assert main(["fuzz", "host.mlu", "device.mlu", *call]) == 0
    capsys.readouterr()
    for name, what in (
        ("/bin/sh", "is a program"),
        ("notes.txt", "is a file of another kind"),
        ("build/x", "is not there"),
    ):
        assert main(["fuzz", name]) == 2
        said = capsys.readouterr().err
        assert said.startswith(
            f"error: {name} {what}; calls are drawn of one kernel: name its BANG C or Python file"
        )
    assert main(["plan", "/bin/sh"]) == 2
    assert "error: /bin/sh is a program; plans are those of operators" in capsys.readouterr().err
