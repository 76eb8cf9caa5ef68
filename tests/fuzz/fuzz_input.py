"""Launch parameters, files and command lines of any kind: they work, or one sentence says why not."""

import contextlib
import io
import json
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from fuzz_guided import Target
from hypothesis import strategies as st

import mlusim
from mlusim.bang import kernel
from mlusim.check.schedules import replay_in
from mlusim.cli.main import main
from mlusim.errors import MlusimError, UsageError
from mlusim.files.arrays import read_arrays
from mlusim.machine.kernel import KINDS
from mlusim.machine.scheduling.schedule import EFFECTS
from mlusim.observe.names import CHECKERS
from mlusim.observe.suppress import suppressions_in
from mlusim.report.compare import Baseline, Entry, baseline_in, baseline_text

ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=6),
    st.lists(st.one_of(st.integers(-2, 9), st.floats(), st.text(max_size=2)), max_size=4),
    st.just(np.zeros(3, np.float32)),
    st.just(np.complex64(1)),
)


def mostly(usual):
    """*usual*, and in one draw of four anything."""
    return st.integers(0, 3).flatmap(lambda n: usual if n else ANYTHING)


# -- launches --------------------------------------------------------------------------------------


@kernel
def nothing(mlu, *arguments):
    del arguments
    mlu.sync()


def launch(board, dim, kind, arguments, options):
    """A grid, a kind, arguments and options of any type: a launch, or an error of mlusim's own."""
    if isinstance(dim, int | np.integer) and not isinstance(dim, bool) and dim > 64:
        dim = 65  # a grid of so many tasks is legal and would only take long
    with contextlib.suppress(MlusimError):
        assert mlusim.Device(board).launch(nothing, dim, kind, arguments, **options).kernel == "nothing"


LAUNCHES = Target(
    "launches",
    launch,
    (
        mostly(st.sampled_from(["MLU370-X4", "MLU270-S4"])),
        mostly(st.one_of(st.tuples(*[st.integers(-1, 8)] * 3), st.integers(-1, 9))),
        mostly(st.sampled_from(KINDS)),
        st.lists(ANYTHING, max_size=3),
        st.fixed_dictionaries(
            {},
            optional={
                "observe": mostly(st.lists(st.sampled_from([*CHECKERS, "nope"]), max_size=3)),
                "seed": mostly(st.integers(0, 9)),
                "effects": mostly(st.sampled_from(EFFECTS)),
            },
        ),
    ),
)

# -- files -----------------------------------------------------------------------------------------


def archive(members):
    """The bytes of a zip file with *members*, whose sums of checks are right."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return stream.getvalue()


def npy(array):
    """The bytes of an ``.npy`` file."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


GOOD = npy(np.arange(6.0).reshape(2, 3)), npy(np.array([1, 2], np.int16))
EDITS = st.lists(st.tuples(st.integers(0, 600), st.integers(0, 3), st.binary(max_size=4)), max_size=6)


def edited(content, edits):
    """*content* with flipped, missing and added bytes."""
    raw = bytearray(content)
    for at, gone, new in edits:
        start = at % (len(raw) + 1)
        raw[start : start + gone] = new
    return bytes(raw)


def read(inner, outer, key):
    """Read arrays, or raise a `UsageError` that names the file; broken inside, and broken as a whole."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "broken.npz"
        path.write_bytes(edited(archive({f"{key}.npy": edited(GOOD[0], inner), "b.npy": GOOD[1]}), outer))
        arrays, said = {}, None
        try:
            arrays = read_arrays(str(path), "name a file")
        except UsageError as error:
            said = str(error)

    assert all(isinstance(array, np.ndarray) for array in arrays.values())
    assert said is None or ("broken.npz" in said and "\n" not in said)


NPZ = Target(
    "npz", read, (EDITS, st.one_of(st.just([]), EDITS), st.sampled_from(["a", "a/b", "..", "", "é"]))
)

dtypes = st.sampled_from(
    [
        "float32",
        "float16",
        "int32",
        "int64",
        "float64",
        "bool",
        "complex64",
        "U3",
        "datetime64[s]",
        "S2",
        ">f4",
        "uint8",
    ]
)
shapes = st.lists(st.sampled_from([0, 1, 2, 3, 4, 8]), max_size=5)


def run(command, operator, shaped, typed, settings, key):
    """Arrays of any shape and type as the inputs of an operator: an exit code, and one sentence with it."""
    names = {
        "tin_shift_forward": ("input", "shifts"),
        "three_interpolate_backward": ("grad_output", "indices"),
    }
    arrays = {
        name: np.ones(shape, dtype)
        for name, shape, dtype in zip((*names[operator], key), shaped, typed, strict=True)
    }
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "mine.npz")
        np.savez(path, **arrays)
        told([command, operator, "--inputs", path, *(w for s in settings for w in ("--set", s))])


RUNS = Target(
    "runs",
    run,
    (
        st.sampled_from(["run", "check"]),
        st.sampled_from(["tin_shift_forward", "three_interpolate_backward"]),
        st.tuples(
            shapes, st.one_of(st.lists(st.sampled_from([1, 2, 3]), min_size=2, max_size=2), shapes), shapes
        ),
        st.tuples(dtypes, st.one_of(st.just("int32"), dtypes), st.one_of(st.just("float32"), dtypes)),
        st.lists(
            st.one_of(st.sampled_from(["m=1", "m=4", "m=-1", "m=1e9", "x=1", "m"]), st.text(max_size=5)),
            max_size=2,
        ),
        st.sampled_from(["weights", "spare"]),
    ),
)

words = st.one_of(
    st.sampled_from(
        [
            "[[suppress]]",
            "id",
            "place",
            "reason",
            "=",
            '"',
            "'",
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\n",
            "null",
            "true",
            "1",
            "-1",
            "1e999",
            '"*"',
            '"racecheck-idle-sync"',
        ]
    ),
    st.sampled_from(
        ['"replay": 1', '"operator": "x"', '"decisions": ', '[0, "land", 0, 1, "io"]', '"seed": 1']
    ),
    st.text(max_size=3),
)
BASES = (
    "",
    '[[suppress]]\nid = "racecheck-idle-sync"\nplace = "x.py:3"\nreason = "x"\n',
    (
        '{"replay": 1, "operator": "x", "case": "y", "board": "z", "seed": 1, "effects": "late", '
        '"decisions": [[0, "land", 0, 1, "io"], [0, "stop", 1, 2, 1]]}'
    ),
)
times = st.sampled_from([1] * 9 + [9999])
changes = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 9), words, times), max_size=6)


def settle(base, edits):
    """Texts that are a file of suppressions, a replay file, or half of one."""
    text = base
    for at, gone, new, often in edits:
        start = at % (len(text) + 1)
        text = text[:start] + new * often + text[start + gone :]
    said = []
    for reader in (suppressions_in, replay_in):
        try:
            reader(text, "file.json")
        except UsageError as error:
            said.append(str(error))

    assert all("file.json" in sentence for sentence in said)


CALLS = (
    Entry("tin_shift_forward", "golden_document", "MLU370-X4", 3.5, 0.25, 0.125, {"GDRAM2NRAM": 64}, 9, 9),
)
STORED = baseline_text(Baseline("0.1.0", {entry.key: entry for entry in CALLS}))
figures = st.one_of(
    words,
    st.sampled_from(["NaN", "Infinity", "-0.0", "1e400", "-7", "0.5", '"x"', "{}", "[[]]", '"bytes"', "2"]),
)
spots = st.integers(0, len(STORED) + 9)
revisions = st.lists(st.tuples(spots, st.one_of(st.just(0), spots), figures, times), max_size=4)


def stored(edits):
    """A stored run with changes: a baseline that can be written again, or a sentence that names the file."""
    text, said = STORED, "stored.json"
    for at, gone, new, often in edits:
        text = text[:at] + new * often + text[at + gone :]
    try:
        found = baseline_in(text, "stored.json")
        assert found == baseline_in(baseline_text(found), "again.json")
    except UsageError as error:
        said = str(error)

    assert said.startswith("stored.json")
    assert "\n" not in said
    assert len(said) < 400


BASELINES = Target("baselines", stored, (revisions,))

TEXTS = Target("texts", settle, (st.sampled_from(BASES), changes))

# -- command lines ---------------------------------------------------------------------------------

WORDS = st.sampled_from(
    [
        *(
            "boards",
            "isa",
            "ops",
            "plan",
            "check",
            "run",
            "debug",
            "report",
            "memcpy",
            "bang_add",
            "MLU370-X4",
        ),
        *("tin_shift_forward", "golden_document", "--case", "--board", "--json", "--set", "--max", "--only"),
        *("--format", "sarif", "-o", "--help", "--seed", "--effects", "--schedules", "--notes", "--inputs"),
        *(
            "--check",
            "--trace",
            "--save",
            "--jobs",
            "1",
            "--record",
            "--replay",
            "--suppress",
            "--group",
            "zero",
        ),
        *("--baseline", "stored.json", "--write-baseline", "other.json", "--threshold", "5%", "0.1", "x.py"),
        *("--compare", "--svg", "--all", "--slow", "--arch", "--command", "quit", "late", "eager", "junit"),
        *(
            "--policy",
            "--restart",
            "--html",
            "--what-if",
            "--limit",
            "steps=9",
            "time=1",
            "--trust",
            "--show",
            "--engine",
        ),
        *(
            "native",
            "python",
            "--kernel",
            "K",
            "--dim",
            "1,1,1",
            "--kind",
            "block",
            "--arg",
            "n=1",
            "-D",
            "-I",
            "-v",
        ),
        *(
            "--launch",
            "--lines",
            "--claim",
            "--frontier",
            "T,HW",
            "x.rec",
            "x.mlu",
            "kept.jsonl",
            "\x1b[2J",
            "a\nb",
        ),
        *("S=15,T=104", "m=1", "-1", "0", "1e9", "nope", "", "/", "--", "--no-such", "x.npz", "x.py", "é"),
    ]
)
SMALL = ("tin_shift_forward", "--case", "golden_document")
HEADS = st.sampled_from(
    [
        *(("boards",), ("isa",), ("ops",), ()),
        *(("plan", "tin_shift_forward"), ("plan", "mutual_information_backward")),
        *(
            ("check", *SMALL),
            ("run", *SMALL),
            ("check", *SMALL, "--json"),
            ("check", *SMALL, "--schedules", "1"),
        ),
        *(("report", "tin_shift_forward", "--board", "nope"), ("report", *SMALL)),
        *(
            ("report", *SMALL, "--baseline", "stored.json"),
            ("report", *SMALL, "--write-baseline", "stored.json"),
        ),
        *(
            ("profile", *SMALL),
            ("what-if", *SMALL, "--board", "MLU270-S4"),
            ("sweep", "nope"),
            ("compile", "x.mlu"),
        ),
        *(
            ("debug", "--replay", "x.rec"),
            ("debug", "--replay", "x.rec", "--show"),
            ("check", "--replay", "stored.json"),
        ),
        *(
            ("profile", "x.py"),
            ("run", "x.mlu", "--kernel", "K"),
            ("plan", "x.py"),
            ("report", *SMALL, "--html"),
        ),
        *(("debug", "tin_shift_forward", "--command", "quit"), ("debug", *SMALL, "--command", "step")),
    ]
)


def told(argv):
    """Run ``mlusim``: a known exit code, and what goes with it on the two streams."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(argv)

    said = err.getvalue()
    assert code in (0, 1, 2, 3), (argv, said)
    assert "a bug of mlusim" not in said, (argv, said)
    assert "Traceback" not in out.getvalue() + said, (argv, said)
    if code == 2 and "debug" in argv and out.getvalue():  # a transcript, with the mistake in its place
        assert "error: " in out.getvalue(), (argv, said)
    elif code == 2:
        assert ("", 1, True) == (out.getvalue(), said.count("\n"), said.startswith("error: ")), (argv, said)
    else:
        assert (code == 3) == ("error: " in said), (argv, said)
    if "--json" in argv and code < 2 and "--help" not in argv and out.getvalue().startswith("{"):
        json.loads(out.getvalue())


def command(head, words):
    """A command line in a folder of its own."""
    argv = [*head, *words]
    if {"--all", "demo"} & set(argv) or (
        {"run", "check", "report", "sweep"} & set(argv) and "--case" not in argv
    ):
        argv += ["--board", "nope"]  # hours of work are legal, and would only take long
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("stored.json").write_text(STORED)
        told(argv)


COMMANDS = Target("commands", command, (HEADS, st.lists(st.one_of(WORDS, st.text(max_size=4)), max_size=5)))

INPUTS = (LAUNCHES, NPZ, RUNS, TEXTS, BASELINES, COMMANDS)
