"""Recordings: the same place, state and breakpoints from a file alone."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from debug_kernels import scale_program
from debug_tools import console_on, refuses, says

from mlusim.debug import Console, DebugSession, OperatorProgram, ScriptProgram
from mlusim.debug.recording import load, save, stand
from mlusim.errors import UsageError
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import case_generator

EXAMPLE = Path(__file__).parents[2] / "examples" / "05_memory_core.py"


@pytest.fixture
def operator():
    """A console on a case of an operator."""
    spec = find_operator("mutual_information_backward")
    case = find_case(spec, "network")
    inputs, params = case.make(case_generator(case))
    session = DebugSession(OperatorProgram(spec, inputs, params, case=case.name))
    yield Console(session)
    session.close()


def test_an_operator_is_replayed_to_the_byte(operator, tmp_path):
    """Inputs, place, focus, breakpoints with their conditions, and the state."""
    says(operator, "break bang_pow2 task 1 if num > 100", "run", "watch term2[3:5]", "tbreak 209", "step")
    says(operator, f"record {tmp_path}/here")
    digest, position = operator.session.digest(), operator.session.position
    breakpoints = says(operator, "info breakpoints").replace("; 1 hit", "")
    following = says(operator, "continue")
    operator.session.close()
    recording = load(f"{tmp_path}/here")
    session = DebugSession(recording.program)

    assert [] == stand(session, recording.facts)
    assert (digest, position) == (session.digest(), session.position)
    assert breakpoints == says(Console(session), "info breakpoints")
    assert following == says(Console(session), "continue")
    session.close()


def test_the_end_can_be_replayed(operator, tmp_path):
    """A recording of the end stands at the end."""
    says(operator, "run", f"record {tmp_path}/end", "goto 40")
    answer = says(operator, f"replay {tmp_path}/end")

    assert "the program has ended with MLUOP_STATUS_SUCCESS" in answer
    assert "px_grad" in says(operator, "info tensors")


def test_a_script_is_replayed_elsewhere(tmp_path):
    """The text goes with the recording; another process, in another folder, stands at the same place."""
    script = tmp_path / "program.py"
    shutil.copy(EXAMPLE, script)
    session = DebugSession(ScriptProgram(str(script)))
    says(Console(session), "break bang_add task 2", "run")
    save(session, str(tmp_path / "here"))
    session.close()
    script.unlink()
    done = subprocess.run(
        [sys.executable, "-m", "mlusim", "debug", "--replay", str(tmp_path / "here"), "--command", "print r", "--command", "info breakpoints"],
        capture_output=True, text=True, cwd=tmp_path, check=False, timeout=60,
    )  # fmt: skip

    assert (0, "") == (done.returncode, done.stderr)
    assert "r = 2" in done.stdout
    assert "breakpoint 1: __bang_add, in task 2 only" in done.stdout


def test_what_is_not_as_recorded_is_said(operator, tmp_path):
    """Another state, another source file, a breakpoint that has no place any more."""
    says(operator, "break bang_pow2", "run", f"record {tmp_path}/here")
    with np.load(tmp_path / "here") as stored:
        arrays = dict(stored)
    facts = json.loads(arrays.pop("record").tobytes())
    facts["digest"] = "0" * 64
    facts["sources"] = dict.fromkeys(facts["sources"], "1")
    facts["breakpoints"][0]["words"] = "bang_nothing"
    text = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    with (tmp_path / "other").open("wb") as file:
        np.savez(file, record=text, **arrays)
    recording = load(str(tmp_path / "other"))
    session = DebugSession(recording.program)
    notes = stand(session, recording.facts)

    assert "mutual_information_backward/kernel.py is not the file of the recording" in notes
    assert any(note.startswith("breakpoint 'bang_nothing' is left out") for note in notes)
    assert any(note.startswith("the machine is not in the state of the recording") for note in notes)
    session.close()


def test_what_cannot_be_recorded_or_read(tmp_path):
    """A function of this process; a file that is none; a file of another kind."""
    (tmp_path / "text").write_text("nothing")
    np.savez(tmp_path / "other.npz", record=np.frombuffer(b'{"format": "else"}', np.uint8))
    with console_on(scale_program) as console:
        assert "only operators and scripts can be replayed" in refuses(console, f"record {tmp_path}/here")
        assert "text is no recording of the debugger" in refuses(console, f"replay {tmp_path}/text")
        assert "nothing is no recording of the debugger" in refuses(console, f"replay {tmp_path}/nothing")
        assert "is a recording of the kind 'else'" in refuses(console, f"replay {tmp_path}/other.npz")
        assert "launch 1 begins" in console.stop_text()


def replayed(path, *commands, cwd=None):
    """What another process says that stands at the place of a recording."""
    words = [word for command in commands for word in ("--command", command)]
    return subprocess.run(
        [sys.executable, "-m", "mlusim", "debug", "--replay", str(path), *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        timeout=60,
    )


def test_what_a_script_imports_goes_with_it(tmp_path):
    """Modules and packages beside the script; breakpoints keep their lines, whatever the path was."""
    home, away = tmp_path / "home", tmp_path / "away"
    (home / "parts").mkdir(parents=True)
    away.mkdir()
    (home / "parts" / "__init__.py").write_text("")
    (home / "parts" / "helper.py").write_text(
        "def twice(mlu, data, count):\n    mlu.bang_add(data, data, data, count)\n    return count\n"
    )
    (home / "main.py").write_text(
        "import mlusim\nfrom mlusim.bang import float32, kernel\nfrom parts import helper\n\n\n"
        "@kernel\ndef body(mlu):\n    data = mlu.nram(float32, 8, [1])\n    helper.twice(mlu, data, 8)\n    mlu.sync()\n\n\n"
        "mlusim.Device('MLU370-X4').launch(body)\n"
    )
    session = DebugSession(ScriptProgram(str(home / "main.py")))
    console = Console(session)
    says(console, f"break {home}/parts/helper.py:3", "run", "break", f"record {away}/there")
    session.close()
    for module in ("parts", "parts.helper"):
        sys.modules.pop(module)
    shutil.rmtree(home)
    done = replayed(away / "there", "where", "info breakpoints", cwd=away)

    assert (0, "") == (done.returncode, done.stderr)
    assert "twice at " in done.stdout
    assert 2 == done.stdout.count("/parts/helper.py:3\nbreakpoint") + done.stdout.count(
        "/parts/helper.py:3; "
    ) + (done.stdout.rstrip().endswith("helper.py:3"))
    assert not [p for p in Path(tempfile.gettempdir()).glob("mlusim-replay-*") if str(p) in done.stdout]


def test_another_count_of_lines_is_made_good(operator, tmp_path):
    """Another version of Python counts lines otherwise: the state decides which line it was."""
    says(operator, "break storePxGradAndPyGrad", "run", f"record {tmp_path}/here")
    assert operator.session.position.lines > 2
    digest, site = operator.session.digest(), operator.session.site()
    operator.session.close()  # only one session of a thread can step by line
    for shift in (-2, 2):
        recording = load(f"{tmp_path}/here")
        recording.facts["position"][2] += shift
        session = DebugSession(recording.program)

        assert [] == stand(session, recording.facts)
        assert (digest, site) == (session.digest(), session.site())
        session.close()


def test_numbers_of_numpy_among_the_parameters(operator, tmp_path):
    """They are written as Python's own."""
    program = operator.session.program
    params = {
        name: np.int64(value) if isinstance(value, int) else value for name, value in program.params.items()
    }
    session = DebugSession(
        OperatorProgram(program.operator, program.inputs, params | {"overwrite_ans_grad": np.True_})
    )
    says(Console(session), f"record {tmp_path}/here")
    session.close()

    assert load(f"{tmp_path}/here").program.params["overwrite_ans_grad"] is True


def test_a_recording_writes_nowhere_else(tmp_path):
    """A file that would leave its folder is refused."""
    shutil.copy(EXAMPLE, tmp_path / "program.py")
    session = DebugSession(ScriptProgram(str(tmp_path / "program.py")))
    save(session, str(tmp_path / "here"))
    session.close()
    facts = json.loads(np.load(tmp_path / "here")["record"].tobytes())
    facts["program"]["beside"] = {"../outside.py": "1"}
    with (tmp_path / "other").open("wb") as file:
        np.savez(file, record=np.frombuffer(json.dumps(facts).encode(), np.uint8))

    with pytest.raises(UsageError, match="outside its folder"):
        load(str(tmp_path / "other"))
    assert not list(Path(tempfile.gettempdir()).glob("outside.py"))
