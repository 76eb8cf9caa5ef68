"""Files that others may send, changed in their structure and in their bytes: recordings, sweeps, profiles, plans as text.

They are read as if nothing had been changed, or refused in one sentence that names the file; reading runs nothing.
"""

import contextlib
import copy
import functools
import io
import json
import tempfile
from pathlib import Path

import numpy as np
from fuzz_guided import Target
from fuzz_input import archive, changes, edited, npy, told
from hypothesis import strategies as st

from mlusim.cli.main import main
from mlusim.debug import DebugSession, OperatorProgram, ScriptProgram
from mlusim.debug.recording import load, save
from mlusim.document import plain
from mlusim.errors import UsageError
from mlusim.files.arrays import read_arrays
from mlusim.operators.campaign import Job, perform
from mlusim.operators.kept_work import Keep
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import case_generator
from mlusim.operators.sweep import SWEEP
from mlusim.report.compare import LAUNCHES, baseline_in, baseline_text
from mlusim.report.record import restored

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from(
        [10**30, -1, 2**63, 1e308, float("nan"), float("inf"), "", "nope", "\0", "\x1b[2J", "../x", [], {}]
    ),
    st.sampled_from(
        [[None], {"a": 1}, "float64", "float16", "NRAM", "operator", "script", [0, 0, 0], "[" * 2000]
    ),
    st.text(max_size=4),
)
# Where: a number for each level, taken modulo what there is; what: leave out, put instead, or twice.
STRUCTURE = st.lists(
    st.tuples(
        st.lists(st.integers(0, 40), min_size=1, max_size=6), st.sampled_from(["out", "in", "twice"]), JUNK
    ),
    max_size=3,
)
BYTES = st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 6), st.binary(max_size=6)), max_size=3)


def restructured(document, edits):
    """*document* with values left out, exchanged or doubled, anywhere in it."""
    whole = [copy.deepcopy(document)]
    for path, what, junk in edits:
        holder, key = whole, 0
        for step in path:
            inner = holder[key]
            if not inner or not isinstance(inner, dict | list):
                break
            holder, key = (
                inner,
                list(inner)[step % len(inner)] if isinstance(inner, dict) else step % len(inner),
            )
        if what == "in" or holder is whole:
            holder[key] = copy.deepcopy(junk)
        elif what == "out":
            del holder[key]
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        else:
            holder[f"{key}2"] = holder[key]
    return whole[0]


def refused(reader, name):
    """What *reader* returns, or None where it refuses in one sentence that names *name*."""
    try:
        return reader()
    except UsageError as error:
        said = str(error)
    assert name in said
    assert "\n" not in said
    assert said.isprintable(), said
    assert len(said) < 600
    return None


# -- recordings -----------------------------------------------------------------------------------

SCRIPT = """
import pathlib

import numpy as np
import mlusim
from mlusim.bang import kernel

@kernel
def body(mlu, x):
    x[0] = 1.0

pathlib.Path("ran.txt").write_text("it ran")
device = mlusim.Device()
device.launch(body, args=(device.put(np.zeros(4, np.float32)),))
"""


@functools.cache
def recordings():
    """(facts, arrays) of a recording of an operator's call and of one of a script."""
    spec = find_operator("tin_shift_forward")
    case = find_case(spec, "golden_document")
    made = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("script.py").write_text(SCRIPT)
        inputs, params = case.make(case_generator(case))
        for program in (OperatorProgram(spec, inputs, params, case=case.name), ScriptProgram("script.py")):
            session = DebugSession(program)
            save(session, "here.rec")
            session.close()
            arrays = read_arrays("here.rec", "name a file")
            facts = json.loads(arrays.pop("record").tobytes())
            facts["breakpoints"] = [BREAKPOINT, BREAKPOINT | {"watch": WATCH}]
            made.append((facts, arrays))
    return tuple(made)


BREAKPOINT = {
    "words": "bang_add", "enabled": True, "temporary": False, "task": "1", "ignore": 0,
    "condition": "__import__('pathlib').Path('ran.txt').write_text('it ran')",
}  # fmt: skip
WATCH = {
    "space": "NRAM", "low": 0, "high": 8, "text": "x", "dtype": "float32", "owner": None, "anyone": True,
    "writes": True, "reads": False,
}  # fmt: skip


def recording(which, structure, flipped):
    """A recording with changes is one, or is refused; no flag allows anything of it to run."""
    facts, arrays = recordings()[which]
    text = json.dumps(restructured(facts, structure)).encode()
    members = {"record.npy": npy(np.frombuffer(text, np.uint8))} | {
        f"{k}.npy": npy(a) for k, a in arrays.items()
    }
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("sent.rec").write_bytes(edited(archive(members), flipped))
        found = refused(lambda: load("sent.rec"), "sent.rec")
        if found is not None:
            shown = io.StringIO()
            with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(io.StringIO()):
                assert main(["debug", "--replay", "sent.rec", "--show"]) in (0, 2)
            assert "\x1b" not in shown.getvalue()

        assert not Path("ran.txt").exists()


RECORDINGS = Target("recordings", recording, (st.integers(0, 1), STRUCTURE, st.one_of(st.just([]), BYTES)))

# -- sweeps ---------------------------------------------------------------------------------------

JOBS = tuple(
    Job("tin_shift_forward", case, "MLU370-X4") for case in ("golden_document", "refused_data_rank_3")
)


@functools.cache
def swept():
    """The lines of a finished sweep."""
    with tempfile.TemporaryDirectory() as folder:
        keep = Keep(f"{folder}/kept.jsonl", JOBS, "these", SWEEP)
        for job in JOBS:
            keep.add(job, plain(perform(job).to_json()))
        keep.close()
        return tuple(Path(folder, "kept.jsonl").read_bytes().splitlines(keepends=True))


def sweep(line, structure, flipped, summed):
    """The file of a sweep with changes goes on, or is refused and not a byte of it is changed."""
    lines = list(swept())
    if structure:
        found = restructured(json.loads(lines[line]), structure)
        if summed and isinstance(found, dict) and "job" in found and "record" in found:
            from mlusim.operators.kept_work import _sum  # noqa: PLC0415 - who changes a file on purpose can sum

            found["sum"] = _sum({key: found[key] for key in found if key != "sum"})
        lines[line] = json.dumps(found).encode() + b"\n"
    content = edited(b"".join(lines), flipped)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sent.jsonl")
        path.write_bytes(content)
        keep = refused(lambda: Keep(str(path), JOBS, "these", SWEEP), "sent.jsonl")
        if keep is None:
            assert content == path.read_bytes()
        else:
            keep.close()
            for job, document in keep.known.items():
                assert job.case == restored(document, "sent.jsonl").case


SWEEPS = Target("sweeps", sweep, (st.integers(0, 2), STRUCTURE, st.one_of(st.just([]), BYTES), st.booleans()))

# -- stored profiles, and results under names of others --------------------------------------------

PROFILE = {
    "operator": "script.py", "case": "launch 1 of body", "board": "MLU370-X4", "hardware_time_us": 3.5,
    "io_efficiency": None, "compute_efficiency": None, "bytes": {"GDRAM2NRAM": 64}, "nram_high_water": 9,
    "instructions": 9,
}  # fmt: skip


def profile(structure, text):
    """A stored profile with changes can be written again as it was read, or is refused."""
    document = {"mlusim baseline": 1, "mlusim": "0.1.0", "of": LAUNCHES, "launches": [PROFILE, PROFILE]}
    raw = json.dumps(restructured(document, structure))
    for at, gone, new, often in text:
        start = at % (len(raw) + 1)
        raw = raw[:start] + new * often + raw[start + gone :]
    found = refused(lambda: baseline_in(raw, "sent.json", LAUNCHES), "sent.json")

    assert found is None or found == baseline_in(baseline_text(found), "again.json", LAUNCHES)


PROFILES = Target("profiles", profile, (STRUCTURE, st.one_of(st.just([]), changes)))

# -- plans and limits as text ---------------------------------------------------------------------

TOKENS = st.sampled_from(
    [
        *(
            "T",
            "HW",
            "S",
            "NRAM",
            "CORES",
            "x",
            "0",
            "1",
            "-",
            "+",
            "*",
            "/",
            "//",
            "%",
            "**",
            "(",
            ")",
            ",",
            " ",
        ),
        *(
            "PAD_UP(",
            "PAD_DOWN(",
            "CEIL_DIV(",
            "min(",
            "max(",
            "sizeof(float)",
            "sizeof(",
            "half",
            "<=",
            ">=",
            "<",
        ),
        *(
            "==",
            "and",
            "if",
            "lambda",
            "[",
            "]",
            "{",
            "}",
            "'",
            '"',
            "\\",
            "\n",
            "\0",
            "1e9",
            "10**9",
            "999999999",
        ),
        *(
            "__import__('os')",
            "T.x",
            "T[0]",
            "\x1b[2J",
            "é",
            "#",
            ":=",
            "@",
            "...",
            "5*T*HW",
            "T*HW*4 <= NRAM",
        ),
    ]
)
FORMULAS = st.one_of(
    st.lists(TOKENS, max_size=9).map("".join),
    st.tuples(TOKENS, st.integers(1, 3000)).map(lambda pair: pair[0] * pair[1]),
    st.text(max_size=9),
)
SETTINGS = st.one_of(
    st.sampled_from(["T=5,HW=40", "T=0,HW=0", "T=1", "HW=1e9", "T=99999999999,HW=3"]), FORMULAS
)


def plan(option, formula, settings, board):
    """A plan with claims, values and variables of any text."""
    words = {
        "claim": ["--claim", formula],
        "max": ["--max", formula, "--set", settings],
        "frontier": ["--frontier", formula],
        "set": ["--set", settings],
        "dtype": ["--dtype", formula, "--set", settings],
    }[option]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        told(["plan", "tin_shift_forward", *words, "--board", *board])


PLANS = Target(
    "plans",
    plan,
    (
        st.sampled_from(["claim", "claim", "max", "frontier", "set", "dtype"]),
        FORMULAS,
        SETTINGS,
        st.one_of(
            st.just(["MLU370-X4"]),
            st.lists(
                st.one_of(st.sampled_from(["MLU590-H8", ",", ""]), st.text(max_size=3)),
                min_size=1,
                max_size=2,
            ),
        ),
    ),
)

FILES = (RECORDINGS, SWEEPS, PROFILES, PLANS)
