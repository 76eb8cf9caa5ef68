"""`--engine` on the command line, with a compiler and without one."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from mlusim.counted import counted
from mlusim.machine.native.build import available

SOURCE = """\
__nram__ float buf[64];

__mlu_global__ void twice(float *out, float *in) {
  __memcpy(buf, in, 256, GDRAM2NRAM);
  __bang_add(buf, buf, buf, 64);
  __memcpy(out, buf, 256, NRAM2GDRAM);
}
"""
LAUNCHES = """\
import numpy as np, mlusim
from mlusim import bangc
twice = bangc.load(["k.mlu"], board="MLU370-X4")["twice"]
device = mlusim.Device("MLU370-X4")
x = device.put(np.ones(64, np.float32))
for engine in ("auto", "native", "python"):
    print(engine, device.launch(twice, args=(x, x), engine=engine).engine)
print(device.get(x)[0])
"""
NATIVE = "native" if available() is not None else "python"
CASE = ("tin_shift_forward", "--case", "golden_document")


@pytest.fixture
def call(tmp_path, monkeypatch):
    """The words that call a kernel of BANG C in the current directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.mlu").write_text(SOURCE)
    np.save("in.npy", np.ones(64, np.float32))
    return ("k.mlu", "--arg", "out=out:float32:64", "--arg", "in=in.npy")


def bare(*words):
    """Run Python on *words* where no compiler is to be found."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    environ |= {"PATH": "", "MLUSIM_CC": "/no/compiler"}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=environ, check=False)


@pytest.mark.parametrize("engine", ["auto", "python", "native"])
def test_a_kernel_runs_on_the_engine_that_was_asked_for(cli, call, engine):
    """The document says which engine it was; without a compiler Python runs, and a line says so."""
    done = cli("run", *call, "--engine", engine, "--json")

    assert 0 == done.code, done.err
    assert ("python" if engine == "python" else NATIVE) == done.json()["launches"][0]["engine"]
    assert (engine != "python" and NATIVE == "python") == ("the Python engine runs" in done.err)


def test_the_debugger_says_the_same_on_each_engine(cli, call):
    """C runs up to the place of interest, and Python from there on."""
    words = ["debug", *call, "--command", "run", "--command", "reverse-step"]
    said = [cli(*words, "--engine", engine) for engine in ("native", "auto", "python")]

    assert [0, 0, 0] == [done.code for done in said]
    assert 1 == len({done.out for done in said})


def test_checkers_say_the_same_of_a_kernel_in_c(cli, call):
    told = [cli("check", *call, "--engine", engine, "--json") for engine in ("python", "native")]

    assert [0, 0] == [done.code for done in told]
    assert told[0].json() == told[1].json()


def test_a_profile_is_native_where_it_can_be(cli, call):
    """Of a kernel of BANG C; one that is Python stays so."""
    own = cli("profile", *call, "--engine", "native", "--json").json()["launches"]
    python = cli("profile", *CASE, "--engine", "python", "--json").json()["launches"]

    assert [NATIVE] == [launch["engine"] for launch in own]
    assert {"python"} == {launch["engine"] for launch in python}


@pytest.mark.parametrize("verb", ["run", "report", "what-if"])
def test_operators_take_an_engine(cli, verb):
    """The Python engine executes every operator."""
    done = cli(verb, *CASE, "--engine", "python", "--json")

    assert 0 == done.code, done.err
    assert "python" not in done.err


@pytest.mark.skipif(available() is None, reason="no C compiler")
def test_what_if_is_native_on_boards_of_every_generation(cli):
    """MLU2xx has rules of its own for where operands are; its launch is native, too."""
    boards = ("MLU370-X4", "MLU270-S4", "MLU590-H8")
    done = cli("what-if", *CASE, "--board", *boards, "--engine", "native", "--json")

    assert 0 == done.code, done.err
    assert [(board, ["native"]) for board in boards] == [
        (row["board"], row["engines"]) for row in done.json()["rows"]
    ]


def test_a_plan_runs_on_no_engine(cli):
    """The option is taken and changes nothing."""
    assert (
        cli("plan", "tin_shift_forward", "--json").out
        == cli("plan", "tin_shift_forward", "--json", "--engine", "auto").out
    )


def test_without_a_compiler_python_runs_and_one_line_says_so(call):
    """On the command line where an engine was asked for; from Python as a warning."""
    (silent, said, report), script = (
        [
            bare("-m", "mlusim", "run", *call, "--json"),
            bare("-m", "mlusim", "run", *call, "--json", "--engine", "native"),
            bare("-m", "mlusim", "report", *CASE, "--engine", "auto", "--jobs", "2"),
        ],
        bare("-c", LAUNCHES),
    )

    assert [0, 0, 0, 0] == [done.returncode for done in (silent, said, report, script)]
    assert silent.stderr == ""
    assert json.loads(silent.stdout) == json.loads(said.stdout)
    assert "python" == json.loads(said.stdout)["launches"][0]["engine"]
    line = "note: MLUSIM_CC=/no/compiler names no program: the Python engine runs"
    assert 1 == said.stderr.count("\n") == said.stderr.count(line)
    assert 1 == report.stderr.count(line)
    assert "auto python\nnative python\npython python\n8.0\n" == script.stdout
    assert 1 == script.stderr.count("EngineWarning: MLUSIM_CC=/no/compiler names no program")


def test_the_cache_is_emptied(cli, call, tmp_path, monkeypatch):
    """Translations and compiled kernels are counted and removed; then there are none."""
    monkeypatch.setenv("MLUSIM_CACHE", str(tmp_path / "cache"))
    cli("run", *call)
    kernels = int(NATIVE == "native")
    first = cli("compile", "--clean-cache")

    assert 0 == first.code, first.err
    assert f"{counted(kernels, 'compiled kernel')} and 1 translation removed" in first.out
    assert [] == list((tmp_path / "cache").iterdir())
    assert {"folder": str(tmp_path / "cache"), "kernels": 0, "translations": 0} == cli(
        "compile", "--clean-cache", "--json"
    ).json()
    assert "name a BANG C file" in cli("compile").err
