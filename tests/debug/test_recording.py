"""Recordings: the same place, state and breakpoints from a file alone."""

import io
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from debug_kernels import scale_program
from debug_tools import console_on, refuses, says

from mlusim.cli.options import allowed
from mlusim.debug import Console, DebugSession, OperatorProgram, ScriptProgram
from mlusim.debug.recording import load, program_in, save, stand
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
    recording = load(f"{tmp_path}/here", trust=True)
    session = DebugSession(program_in(recording))

    assert [] == stand(session, recording)
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
        [sys.executable, "-m", "mlusim", "debug", "--replay", str(tmp_path / "here"), "--trust", "--command", "print r", "--command", "info breakpoints"],
        capture_output=True, text=True, cwd=tmp_path, check=False, timeout=300,
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
    session = DebugSession(program_in(recording))
    notes = stand(session, recording)

    assert "mutual_information_backward/kernel.py is not the file of the recording" in notes
    assert any(note.startswith("breakpoint 'bang_nothing' is left out") for note in notes)
    assert any(note.startswith("the machine is not in the state of the recording") for note in notes)
    session.close()


def test_what_cannot_be_recorded_or_read(tmp_path):
    """A function of this process; a file that is none; a file of another kind."""
    (tmp_path / "text").write_text("nothing")
    np.savez(tmp_path / "other.npz", record=np.frombuffer(b'{"format": "else"}', np.uint8))
    with console_on(scale_program) as console:
        assert "only operators, scripts and BANG C sources can be replayed" in refuses(
            console, f"record {tmp_path}/here"
        )
        assert "text is not a readable recording" in refuses(console, f"replay {tmp_path}/text")
        assert "nothing is not a file; it is not a recording of the debugger" in refuses(
            console, f"replay {tmp_path}/nothing"
        )
        assert "a recording of the kind 'else'" in refuses(console, f"replay {tmp_path}/other.npz")
        assert "launch 1 begins" in console.stop_text()


def replayed(path, *commands, cwd=None):
    """What another process says that stands at the place of a recording."""
    words = [word for command in commands for word in ("--command", command)]
    return subprocess.run(
        [sys.executable, "-m", "mlusim", "debug", "--replay", str(path), "--trust", *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        timeout=300,
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
        launch, moment, lines = recording.facts.position
        recording = evolve(recording, facts=evolve(recording.facts, position=(launch, moment, lines + shift)))
        session = DebugSession(program_in(recording))

        assert [] == stand(session, recording)
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

    assert program_in(load(f"{tmp_path}/here")).params["overwrite_ans_grad"] is True


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


# -- what came with the file runs nothing ------------------------------------------------------------


def rewritten(source, target, change):
    """Change the facts of a recording."""
    with np.load(source) as stored:
        arrays = dict(stored)
    facts = json.loads(arrays.pop("record").tobytes())
    change(facts)
    with target.open("wb") as file:
        np.savez(file, record=np.frombuffer(json.dumps(facts).encode(), np.uint8), **arrays)
    return str(target)


def test_conditions_of_a_recording_wait_for_a_person(operator, tmp_path):
    """They are shown and switched off; `enable` evaluates them, and even then they reach no file."""
    says(operator, "break bang_pow2 if num > 100", "run", f"record {tmp_path}/here")
    mark = tmp_path / "mark"
    evil = f"open({str(mark)!r}, 'w').write('x')"

    def poison(facts):
        facts["breakpoints"][0]["condition"] = evil

    name = rewritten(tmp_path / "here", tmp_path / "evil", poison)
    console = Console(DebugSession(operator.session.program))
    answer = says(console, f"replay {name}", "continue")

    assert not mark.exists()
    notes = stand(DebugSession(program_in(load(name))), load(name))
    assert any(note.startswith("breakpoint 1 is disabled: its condition `open(") for note in notes)
    assert "the program has ended" in answer
    assert "its condition cannot be evaluated: name 'open'" in says(
        console, f"replay --trust {name}", "continue"
    )
    assert not mark.exists()
    console.session.close()


def test_a_script_of_a_recording_waits_for_a_person(tmp_path):
    """Without a word it is refused, and not even written; `--show` prints it; `--trust` runs it."""
    mark = tmp_path / "mark"
    script = tmp_path / "program.py"
    script.write_text(EXAMPLE.read_text() + f"\nopen({str(mark)!r}, 'w').write('x')\n")
    session = DebugSession(ScriptProgram(str(script)))
    save(session, str(tmp_path / "here"))
    session.close()
    mark.unlink(missing_ok=True)
    words = [sys.executable, "-m", "mlusim", "debug", "--replay", str(tmp_path / "here")]

    def done(*more):
        return subprocess.run([*words, *more], capture_output=True, text=True, check=False, timeout=300)

    refused, seen = done("--command", "continue"), done("--show")

    assert (2, "") == (refused.returncode, refused.stdout)
    assert "holds a script and would run it (program.py)" in refused.stderr
    assert 0 == seen.returncode
    assert seen.stdout.startswith("--- program.py\n")
    assert "open(" in seen.stdout
    assert not mark.exists()
    with pytest.raises(UsageError, match="add --trust where it may run"):
        program_in(load(str(tmp_path / "here")))
    assert 0 == done("--trust", "--command", "continue").returncode
    assert mark.exists()


def test_a_person_at_a_terminal_is_asked(monkeypatch, capsys):
    """The code first, escapes shown as escapes; anything but yes is no."""
    terminal = type("Terminal", (io.StringIO,), {"isatty": lambda self: True})
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    unasked = allowed("f.rec", {"a.py": "print(1)"})  # the standard input is a test's
    monkeypatch.setattr(sys, "stdin", terminal("y\nn\n\n"))

    assert not unasked
    assert [True, False, False] == [allowed("f.rec", {"a.py": "print(1)\n\x1b[2J"}) for _ in range(3)]
    assert "--- a.py\nprint(1)\n\\x1b[2J\nf.rec would run this.  Run it? [y/N] " in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        lambda facts: facts.pop("position"),
        lambda facts: facts.update(position=[1, -1, 0]),
        lambda facts: facts.update(position=["1", 0, 0]),
        lambda facts: facts.update(program=3),
        lambda facts: facts["program"].pop("operator"),
        lambda facts: facts["program"].update(operator=None),
        lambda facts: facts["program"].update(operator="none"),
        lambda facts: facts["program"].update(board="none"),
        lambda facts: facts["program"].update(effects="none"),
        lambda facts: facts["program"].update(checks=["none"]),
        lambda facts: facts["program"].update(kind=None),
        lambda facts: facts["breakpoints"].append({}),
        lambda facts: facts["breakpoints"][0].update(ignore="x"),
        lambda facts: facts["breakpoints"][0].update(watch={"space": "NRAM"}),
        lambda facts: facts["breakpoints"][0].update(
            watch={"space": "X", "low": 0, "high": 4, "text": "", "dtype": None, "owner": None,
                   "anyone": True, "writes": True, "reads": True}
        ),
        lambda facts: facts["arrays"].update({"input.px": ["float32", [1 << 40]]}),
        lambda facts: facts["arrays"].update({"input.px": ["object", [1]]}),
        lambda facts: facts["arrays"].update({"input.none": ["float32", [1]]}),
        lambda facts: facts.update(sources=[]),
        lambda facts: facts.update(digest=None),
    ],
)  # fmt: skip
def test_what_is_no_recording_is_a_sentence(operator, tmp_path, change):
    """Whatever is missing, of another type, or out of range."""
    says(operator, "break bang_pow2", f"record {tmp_path}/here")
    name = rewritten(tmp_path / "here", tmp_path / "other", change)

    with pytest.raises(UsageError) as caught:
        load(name)
    assert "\n" not in str(caught.value)


def test_a_full_disk_leaves_the_recording_of_before(operator, tmp_path, no_file_larger):
    """And so does one that fails half-way in `dump`."""
    says(operator, "run", f"record {tmp_path}/here", f"dump px_grad {tmp_path}/a.npy")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    with no_file_larger(64):
        assert "File too large" in refuses(operator, f"record {tmp_path}/here")
        assert "File too large" in refuses(operator, f"dump px_grad {tmp_path}/a.npy")
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
