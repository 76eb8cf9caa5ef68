"""Recordings of BANG C sources: named by digest, found again, or told as missing."""

import json
from pathlib import Path

import numpy as np
import pytest
from debug_tools import says

from mlusim.debug import Console, DebugSession
from mlusim.debug.recording import load, program_in, stand
from mlusim.errors import UsageError
from mlusim.programs.argument_forms import AskedCall, Criterion
from mlusim.programs.expectation import expectation_of
from mlusim.programs.kernel_call import KernelCall
from mlusim.programs.native_program import HostProgram

KERNEL = """#include <bang.h>
#include "scale.h"
__nram__ float b[64];
__mlu_entry__ void K(float *out, const float *x) {
  __memcpy(b, x, 256, GDRAM2NRAM);
  scale(b);
  __memcpy(out, b, SIZE, NRAM2GDRAM);
}
"""
HEADER = "__mlu_func__ void scale(float *b) { __bang_mul_scalar(b, b, 3.0f, 64); }\n"
MAIN = """#include <cnrt.h>
__mlu_entry__ void K(int *out) { out[0] = 5; }
int main(int argc, char **argv) {
  int *out;
  cnrtMalloc((void **)&out, 4);
  cnrtDim3_t dim = {1, 1, 1};
  cnrtQueue_t queue;
  cnrtQueueCreate(&queue);
  K<<<dim, cnrtFuncTypeBlock, queue>>>(out);
  cnrtQueueSync(queue);
  return argc - 2;
}
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with sources below it, in which this process stands."""
    folder = tmp_path / "home"
    (folder / "headers").mkdir(parents=True)
    (folder / "k.mlu").write_text(KERNEL)
    (folder / "headers" / "scale.h").write_text(HEADER)
    (folder / "main.mlu").write_text(MAIN)
    np.save(folder / "x.npy", np.arange(64, dtype=np.float32))
    monkeypatch.chdir(folder)
    return folder


def _record(program, *lines):
    """The state at the place where *lines* lead, which goes into the file ``here``."""
    session = DebugSession(program)
    says(Console(session), *lines, "record here")
    state = session.digest(), session.position
    session.close()
    return state


def _recorded_kernel():
    texts = {"out": "out:float32:64", "x": "x.npy"}
    call = KernelCall(
        AskedCall(("k.mlu",), "K", arguments=texts, include=("headers",), define={"SIZE": "256"})
    )
    return _record(call, "break 7 if b[1] > 2", "run")


def _replayed(name):
    recording = load(name, trust=True)
    session = DebugSession(program_in(recording))
    notes = stand(session, recording)
    state = session.digest(), session.position
    session.close()
    return notes, state


def test_a_kernel_is_replayed_from_its_sources(home):
    """Without the file of its array, which goes with the recording."""
    state = _recorded_kernel()
    (home / "x.npy").unlink()

    assert ([], state) == _replayed("here")


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        ({"expect": {"out": "x.npy"}}, "out: diff1 2, diff2 2, FAILED"),
        ({"reference": "refs:scaled"}, "out: diff1 0, diff2 0, passed"),
    ],
)
def test_what_a_case_expects_goes_with_the_recording(home, expected, told):
    """Its comparison is told as in the run, without the files; an array that goes in is kept once.  Numbers are drawn as they were."""
    (home / "refs.py").write_text("def scaled(x, **rest):\n    return x * 3\n")
    source = KERNEL.replace("const float *x)", "const float *x, int n)").replace("256, GDRAM", "n, GDRAM")
    (home / "k.mlu").write_text(source)
    args = {"out": "out:float32:64", "x": "x.npy", "n": "int:256..257"}
    sources = {"include": ("headers",), "define": {"SIZE": "256"}}
    asked = AskedCall(
        ("k.mlu",), "K", arguments=args, **sources, draws=7, criterion=Criterion(folder=".", **expected)
    )
    call = KernelCall(asked, expectation=expectation_of(asked.criterion, "expect of cases.toml:1"))
    session = DebugSession(call)
    whole = says(Console(session), "break 7", "run", "record here", "continue")
    session.close()
    (home / "x.npy").unlink()
    (home / "refs.py").unlink()
    recording = load("here", trust=True)
    again = DebugSession(program_in(recording))
    notes = stand(again, recording)
    replayed = says(Console(again), "continue")
    again.close()

    assert [] == notes
    assert told in whole
    assert whole.partition("the program has ended")[2] == replayed.partition("the program has ended")[2]
    assert 1 + ("reference" in expected) == len(recording.arrays)


def _rewritten(name):
    """The recording *name* as the first format has it: the parts of what is asked beside each other, sources by themselves."""
    with np.load(name) as stored:
        members = dict(stored)
    facts = json.loads(members["record"].tobytes())
    program = facts["program"]
    asked = program.pop("asked")
    program["sources"] = {"paths": asked.pop("program"), "folder": program.pop("folder")}
    program["sources"] |= {"digests": program.pop("digests")}
    program["sources"] |= {n: asked.pop(n) for n in ("include", "define", "board")}
    words, kind = asked.pop("words"), asked.pop("kind")
    main = {"arguments": words, **{n: asked[n] for n in ("checks", "seed", "effects", "engine")}}
    program |= main if program["kind"] == "main" else {**asked, "type": kind}
    facts["format"] = "mlusim debug 1"
    members["record"] = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    with Path(name).open("wb") as file:
        np.savez(file, **members)


@pytest.mark.parametrize("of", ["kernel", "main"])
def test_a_recording_of_the_first_format_is_read(home, of):
    """It leads to the same call of the same sources."""
    if of == "kernel":
        _recorded_kernel()
    else:
        _record(HostProgram(AskedCall(("main.mlu",), words=("word",))))
    before = program_in(load("here", trust=True)).asked
    _rewritten("here")

    assert before == program_in(load("here", trust=True)).asked


def test_a_program_with_a_main_is_replayed(home):
    """Its arguments go with it."""
    state = _record(HostProgram(AskedCall(("main.mlu",), words=("word",))), "break K", "run")

    assert ([], state) == _replayed("here")


def test_sources_are_found_beside_the_recording(home, tmp_path, monkeypatch):
    """Where they lay is nothing, the whole folder has moved."""
    state = _recorded_kernel()
    home.rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path)

    assert ([], state) == _replayed(str(tmp_path / "moved" / "here"))


def test_missing_sources_are_named(home):
    """All of them at once, and where they lay; `--show` says the same."""
    _recorded_kernel()
    (home / "k.mlu").unlink()
    (home / "headers" / "scale.h").unlink()
    recording = load("here", trust=True)
    sentence = (
        f"here was recorded from sources that are missing here: headers/scale.h, k.mlu of {home}; "
        "put them there, beside the recording, or into the current folder"
    )

    with pytest.raises(UsageError) as refused:
        program_in(recording)
    assert sentence == str(refused.value)
    with pytest.raises(UsageError, match="sources that are missing"):
        _ = recording.code


def test_another_source_is_told(home):
    """A header that has changed, by its name; the file that has not is preferred."""
    _recorded_kernel()
    (home / "headers" / "scale.h").write_text(HEADER.replace("3.0f", "4.0f"))
    notes, _ = _replayed("here")

    assert "headers/scale.h is not the file of the recording" in notes
    assert any("not in the state of the recording" in note for note in notes)
    (home / "copy" / "headers").mkdir(parents=True)
    (home / "copy" / "headers" / "scale.h").write_text(HEADER)
    (home / "copy" / "k.mlu").write_text(KERNEL)
    (home / "here").rename(home / "copy" / "here")

    assert [] == _replayed("copy/here")[0]


def test_sources_wait_for_a_person(home):
    """Without trust nothing is compiled; what would run is shown, with what it would be called with."""
    _recorded_kernel()
    recording = load("here")

    with pytest.raises(UsageError, match="here names BANG C sources and would run them"):
        program_in(recording)
    assert {
        str(home / "k.mlu"): KERNEL,
        str(home / "headers" / "scale.h"): HEADER,
    }.items() <= recording.code.items()
    assert ("SIZE=256", "out=out:float32:64\nx=x.npy") == (
        recording.code["definitions"],
        recording.code["arguments"],
    )
