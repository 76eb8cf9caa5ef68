"""Which engine takes a launch of compiled code, where something stands against C."""

import sys
import types
import warnings

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.engine.preference import debugged
from mlusim.errors import UsageError
from mlusim.machine.native.build import CHOICE, BuildError, EngineWarning, available

pytestmark = pytest.mark.skipif(available() is None, reason="no C compiler")


@pytest.fixture
def launch(tmp_path):
    """Launches a kernel of its own with the options given."""
    (tmp_path / "k.mlu").write_text("__mlu_global__ void once(int *o, int n) { o[0] = n; }\n")
    kernel = bangc.load(tmp_path / "k.mlu", board="MLU370-X4")["once"]
    device = mlusim.Device("MLU370-X4")
    tensor = device.put(np.zeros(1 << 20, np.int32))
    return lambda **options: device.launch(kernel, args=(tensor, 3), **options)


def test_a_limit_of_instructions_is_pythons(launch):
    """Python counts them; "native" says so, and takes the other limits."""
    assert launch(limit="instructions=1000").engine == "python"
    assert launch(limit="seconds=100,growth=1MiB", engine="native").engine == "native"
    with pytest.raises(UsageError, match="only the Python engine counts instructions"):
        launch(limit=1000, engine="native")


@pytest.mark.parametrize("watched", [{}, {"observe": ["memcheck"]}], ids=["alone", "checked"])
def test_a_compiler_that_fails_is_asked_once(launch, monkeypatch, tmp_path, watched):
    """Automatic launches say it once, at the line of the launch, and run in Python; "native" asks again."""
    compiler, asked = tmp_path / "cc", tmp_path / "asked"
    compiler.write_text(f"#!/bin/sh\necho once >> {asked}\necho error: no >&2\nexit 1\n")
    compiler.chmod(0o700)
    monkeypatch.setenv(CHOICE, str(compiler))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        engines = [launch(**watched).engine for _ in range(3)]

    assert engines == ["python"] * 3
    assert asked.read_text() == "once\n"
    assert [(EngineWarning, __file__)] == [(w.category, w.filename) for w in said]
    with pytest.raises(BuildError, match="cc failed on the C of a kernel: error: no"):
        launch(engine="native", **watched)


def test_coverage_is_no_debugger():
    """Its trace function, an object of its package, does not move launches to Python; another one does."""
    tracer = types.ModuleType("coverage.tracer")
    exec("class CTracer:\n    def __call__(self, frame, what, more):\n        return None\n", tracer.__dict__)  # noqa: S102 - a class of that module
    before = sys.gettrace()
    found = []
    for trace in (tracer.CTracer(), lambda *_: None):
        sys.settrace(trace)
        found.append(debugged())
        sys.settrace(before)

    assert found == [False, True]
