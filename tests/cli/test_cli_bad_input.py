"""Bad input: one sentence on standard error, the right exit code, nothing half-written, no traceback."""

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from mlusim.cli.main import main
from mlusim.operators.registry import operators
from mlusim.report import launch_files as written

GOLDEN = ("run", "tin_shift_forward", "--case", "golden_document")
OWN = ("run", "tin_shift_forward", "--inputs")
DATA, SHIFTS = np.ones((2, 3, 4, 5), np.float32), np.ones((2, 2), np.int32)


def archive(**arrays):
    """The bytes of an .npz file."""
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def one_array():
    """The bytes of an .npy file."""
    file = io.BytesIO()
    np.save(file, DATA)
    return file.getvalue()


WORDS = {
    "no such verb": (("frobnicate",), "there is no verb 'frobnicate'"),
    "misspelt verb": (("repotr",), "did you mean report?"),
    "no such option": (("boards", "--foo"), "mlusim boards takes no '--foo'"),
    "abbreviated option": ((*GOLDEN, "--js"), "takes no '--js'"),
    "one word too many": (("isa", "bang_add", "bang_sub"), "takes no 'bang_sub'"),
    "option without value": ((*GOLDEN, "--seed"), "expected one argument"),
    "missing operator": (("run",), "name what to run, as in `mlusim run tin_shift_forward`"),
    "unknown board": (("boards", "MLU999"), "no board is called 'MLU999'"),
    "unknown board of run": ((*GOLDEN, "--board", "MLU1"), "no board is called 'MLU1'"),
    "unknown intrinsic": (("isa", "bang_trnaspose"), "did you mean bang_transpose"),
    "unknown helper": (("isa", "__mluop_dib"), "there is no helper '__mluop_dib'; did you mean mluop_div"),
    "helper like no other": (("isa", "mluop_xyzzy_qqq"), "docs/reference/helpers.md lists them"),
    "unknown operator": (("ops", "tin_shift"), "did you mean tin_shift_forward"),
    "unknown operator of run": (("run", "nothing_like_it"), "`mlusim ops` lists them"),
    "unknown case": (("run", "tin_shift_forward", "--case", "golden"), "did you mean golden_document"),
    "case of another board": (
        ("run", "tin_shift_forward", "--case", "frame_fits_half_MLU590-H8", "--board", "MLU370-X4"),
        "is for MLU590-H8, not for MLU370-X4",
    ),
    "unknown checker": ((*GOLDEN, "--check", "memcheck,nocheck"), "'nocheck' is not a checker"),
    "seed that is not a number": ((*GOLDEN, "--seed", "NaN"), "'NaN' is not a whole number"),
    "unknown effects": ((*GOLDEN, "--effects", "never"), "invalid choice: 'never'"),
    "no jobs": (("run", "tin_shift_forward", "--jobs", "0"), "give 1 or more"),
    "no jobs for one case": (
        ("run", "tin_shift_forward", "--case", "golden_document", "--jobs", "-3"),
        "--jobs: -3 is too few; give 1 or more",
    ),
    "case and inputs": ((*GOLDEN, "--inputs", "x.npz"), "exclude each other"),
    "parameters of a case": ((*GOLDEN, "--set", "m=1"), "--set goes with --inputs"),
    "script's case": (("run", "s.py", "--case", "x"), "--case goes with an operator; the script decides"),
    "option of a report": (("report", "tin_shift_forward", "--odd"), "mlusim report takes no '--odd'"),
    "save of a refusal": (
        ("run", "tin_shift_forward", "--case", "refused_data_rank_3", "--save", "x.npz"),
        "there are no outputs for --save",
    ),
    "unknown format": (("report", "--format", "xml"), "invalid choice: 'xml'"),
    "two formats": (("report", "--json", "--format", "csv"), "exclude each other"),
    "table in a file": (("report", "-o", "x.txt"), "a table goes to the terminal"),
    "report of no operator": (("report", "nothing_like_it"), "there is no operator"),
    "run of no file": (
        ("run", "build/nothing", "--dim", "4"),
        "there is no file build/nothing, and no operator of that name",
    ),
    "run of a folder": (("run", "/", "--dim", "4"), "/ is neither an operator nor a file that can be run"),
    "check of no operator": (("check", "nothing_like_it", "--dim", "4"), "there is no operator"),
    "report of no case": (("report", "--case", "nothing"), "has no case 'nothing'"),
    "report of no group": (("report", "--group", "nothing"), "the groups are"),
    "report of case and group": (("report", "--case", "a", "--group", "b"), "exclude each other"),
    "report on no board": (("report", "--board", "MLU1"), "no board is called"),
    "report under no checker": (("report", "--check", "nocheck"), "is not a checker"),
}

FILES = {
    "empty": (b"", "is not a readable .npz file"),
    "text": (b"input = 1, 2, 3", "is not a readable .npz file (it holds no plain arrays)"),
    "truncated": (archive(input=DATA, shifts=SHIFTS)[:300], "is not a readable .npz file"),
    "one array": (one_array(), "holds one array without a name"),
    "objects": (archive(input=np.array([{}], object), shifts=SHIFTS), "holds Python objects"),
    "text array": (archive(input=np.array(["a"]), shifts=SHIFTS), "input in"),
    "records": (archive(input=np.zeros(3, [("a", "f4")]), shifts=SHIFTS), "store an array of numbers"),
    "wrong key": (archive(data=DATA, shifts=SHIFTS), "has no input 'data'; its inputs are input, shifts"),
    "missing key": (archive(input=DATA), "needs the input 'shifts'"),
    "no arrays": (archive(), "needs the input 'input'"),
    "float64": (archive(input=DATA.astype(np.float64), shifts=SHIFTS), "it must be half or float"),
    "complex": (archive(input=DATA.astype(complex), shifts=SHIFTS), "it must be half or float"),
    "int64 shifts": (archive(input=DATA, shifts=SHIFTS.astype(np.int64)), "it must be int32"),
    "rank 0": (archive(input=DATA[0, 0, 0, 0], shifts=SHIFTS), "it must have 4"),
    "rank 1": (archive(input=DATA.ravel(), shifts=SHIFTS), "it must have 4"),
    "shapes that do not agree": (archive(input=DATA, shifts=SHIFTS[:1]), "shifts_desc dim 0 is 1"),
    "zero channels": (archive(input=DATA[:, :, :0], shifts=SHIFTS), "C (dim 2) is 0"),
}  # fmt: skip

PATHS = {
    "no directory": "nowhere/out",
    "below a file": "file/out",
    "a directory": "folder",
    "the root of processes": "/proc/out",
}


def refused(done, sentence):
    """Check that *done* was refused with one *sentence* and code 2."""
    assert 2 == done.code
    assert "" == done.out
    assert sentence in done.err
    assert done.err.startswith("error: ")
    assert 1 == done.err.count("\n")


@pytest.mark.parametrize("words", WORDS)
def test_words_that_make_no_sense(cli, words, tmp_path, monkeypatch):
    """Unknown names, options and combinations are refused before anything runs or is written."""
    monkeypatch.chdir(tmp_path)
    arguments, sentence = WORDS[words]

    refused(cli(*arguments), sentence)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", FILES)
def test_files_that_do_not_fit(cli, kind, tmp_path):
    """A broken file, wrong keys, dtypes, ranks and shapes are refused with one sentence."""
    content, sentence = FILES[kind]
    path = tmp_path / "in.npz"
    path.write_bytes(content)

    refused(cli(*OWN, path, "--save", tmp_path / "out.npz"), sentence)
    assert [path] == list(tmp_path.iterdir())


def test_inputs_that_are_no_file(cli, tmp_path):
    """A missing file and a directory are told apart."""
    refused(cli(*OWN, tmp_path / "none.npz"), "is not a file; --inputs takes an .npz file")
    refused(cli(*OWN, tmp_path), "is a directory; --inputs takes an .npz file")


def test_zero_elements_that_are_allowed(cli, tmp_path):
    """No frames at all: the call succeeds, launches nothing, and its outputs can be saved."""
    (tmp_path / "in.npz").write_bytes(archive(input=DATA[:, :0], shifts=SHIFTS))
    done = cli(*OWN, tmp_path / "in.npz", "--save", tmp_path / "out.npz", "--json")
    document = done.json()

    assert 0 == done.code
    assert ([], None, {}) == (document["launches"], document["efficiency"], document["traffic"])
    with np.load(tmp_path / "out.npz") as saved:
        assert (2, 0, 4, 5) == saved["output"].shape


@pytest.mark.parametrize("name", operators())
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 2), (1, 2, 3), (2, 2, 2, 2), (1, 1, 1, 1, 1)], ids=str)
def test_any_shape_for_any_operator(cli, name, shape, tmp_path):
    """Arrays of one shape for every input never get further than the host interface, or run."""
    operator = operators()[name]
    arrays = {t.name: np.zeros(shape, "float32" if "float" in t.dtypes else "int32") for t in operator.inputs}
    (tmp_path / "in.npz").write_bytes(archive(**arrays))
    values = {int: "2", bool: "true", str: "max"}
    settings = [w for p in operator.params for w in ("--set", f"{p.name}={values[p.type]}")]
    done = cli("run", name, "--inputs", tmp_path / "in.npz", *settings)

    assert done.code in {0, 2}
    assert "unexpected" not in done.err
    assert (done.code == 2) == done.err.startswith("error: MLUOP_STATUS_")


PARAMETERS = {
    "no value": ("offset", "gives no value"),
    "no name": ("=1", "gives no name"),
    "unknown": ("size=1", "sample has no parameter 'size'; its parameters: offset, exact, mode"),
    "twice": ("offset=1,offset=2", "gives offset twice"),
    "no number": ("offset=one", "is a whole number"),
    "a fraction": ("offset=1.5", "is a whole number"),
    "not a number": ("offset=nan", "is a whole number"),
    "empty": ("offset=", "is a whole number"),
    "no boolean": ("exact=maybe", "is true or false"),
}


@pytest.mark.parametrize("kind", PARAMETERS)
def test_parameters_that_do_not_fit(cli, samples, kind, tmp_path):
    """--set refuses what is not a name=value of the declared type."""
    words, sentence = PARAMETERS[kind]
    (tmp_path / "in.npz").write_bytes(archive(x=DATA.ravel()))

    refused(cli("run", "sample", "--inputs", tmp_path / "in.npz", "--set", words), sentence)


def test_a_parameter_that_is_missing(cli, tmp_path):
    """A parameter without a default must be given; the sentence says what it means."""
    arrays = {
        "grad_output": DATA[0],
        "indices": np.zeros((3, 5, 3), np.int32),
        "weights": np.zeros((3, 5, 3), "f4"),
    }
    (tmp_path / "in.npz").write_bytes(archive(**arrays))

    refused(
        cli("run", "three_interpolate_backward", "--inputs", tmp_path / "in.npz"), "needs the parameter 'm'"
    )


@pytest.mark.parametrize("kind", PATHS)
@pytest.mark.parametrize(
    "words",
    [(*GOLDEN, "--save"), (*GOLDEN, "--trace"), ("report", "--format", "json", "-o"), ("demo", "-o")],
    ids=str,
)
def test_places_that_cannot_be_written(cli, kind, words, tmp_path, monkeypatch):
    """A path that cannot be written is refused with one sentence, and leaves nothing behind."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("kept")
    (tmp_path / "folder").mkdir()
    done = cli(*words, PATHS[kind])

    assert 2 == done.code
    assert done.err.startswith("error: ")
    assert 1 == done.err.count("\n")
    assert ["file", "folder"] == sorted(path.name for path in tmp_path.iterdir())
    assert "kept" == (tmp_path / "file").read_text()


def test_a_disk_that_is_full(cli):
    """A write that fails half-way is a sentence, too."""
    done = cli(*GOLDEN, "--save", "/dev/full")

    assert 2 == done.code
    assert "IO efficiency" in done.out
    assert "/dev/full cannot be written: No space left on device; what was computed is in /" in done.err
    kept = Path(done.err.rpartition(" is in ")[2].strip())
    assert "output" in np.load(kept)
    kept.unlink()


def test_a_failed_write_keeps_the_old_file(cli, tmp_path, no_file_larger):
    """A file that was there stays as it was when its successor cannot be finished."""
    out = tmp_path / "trace.json"
    out.write_text("old")
    with no_file_larger(64):
        done = cli(*GOLDEN, "--trace", out)

    assert 2 == done.code
    assert "File too large" in done.err
    assert "old" == out.read_text()
    assert [out] == list(tmp_path.iterdir())


def test_an_interrupt_keeps_the_old_file(cli, tmp_path, monkeypatch):
    """The interrupt key ends a write with code 130 and a line, and leaves nothing half-written."""
    out = tmp_path / "trace.json"

    def interrupt(file, *_):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(written, "write_trace", interrupt)
    done = cli(*GOLDEN, "--trace", out)

    assert (130, "error: interrupted\n") == (done.code, done.err)
    assert [] == list(tmp_path.iterdir())


def test_a_bug_is_a_sentence_with_its_place(cli, shift_calls):
    """An unforeseen error names its type and line, and shows no traceback."""

    def broken(*_, **__):
        raise ZeroDivisionError("by\nzero")

    shift_calls(lambda _: broken)
    done = cli(*GOLDEN)

    assert (3, "") == (done.code, done.out)
    assert done.err.startswith("error: unexpected ZeroDivisionError at test_cli_bad_input.py:")
    assert 1 == done.err.count("\n")


def test_a_host_without_memory(cli, shift_calls):
    """A host that runs out of memory is told so."""

    def hungry(*_, **__):
        raise MemoryError

    shift_calls(lambda _: hungry)

    refused(cli(*GOLDEN), "the host has not enough memory")


WHOLE = archive(input=DATA, shifts=SHIFTS)


@given(st.data())
def test_no_damage_to_a_file_gets_through(tmp_path_factory, data):
    """Whatever byte is changed, or wherever the file ends, the answer is a result or a sentence."""
    content = bytearray(WHOLE[: data.draw(st.integers(0, len(WHOLE)))])
    for _ in range(data.draw(st.integers(0, 3))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.npz"
    path.write_bytes(content)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([*OWN, str(path)])

    assert code in {0, 2}
    assert err.getvalue().count("\n") == (code == 2)
    assert "unexpected" not in err.getvalue()
