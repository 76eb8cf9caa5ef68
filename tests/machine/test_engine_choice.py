"""Which engine takes a launch of compiled code, where something stands against C."""

import sys
import types
import warnings

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.engine.native.build import BuildError, EngineWarning, available
from mlusim.errors import UsageError
from mlusim.machine.native import run as native_run
from mlusim.machine.native.choose import debugged

pytestmark = pytest.mark.skipif(available() is None, reason="no C compiler")


@pytest.fixture
def launch(tmp_path):
    """Launches a kernel of its own with the options given."""
    (tmp_path / "k.mlu").write_text("__mlu_global__ void once(int *o, int n) { o[0] = n; }\n")
    kernel = bangc.load(tmp_path / "k.mlu", board="MLU370-X4")["once"]
    device = mlusim.Device("MLU370-X4")
    tensor = device.put(np.zeros(4, np.int32))
    return lambda **options: device.launch(kernel, args=(tensor, 3), **options)


def test_a_limit_of_instructions_is_pythons(launch):
    """Python counts them; "native" says so, and takes the other limits."""
    assert launch(limit="instructions=1000").engine == "python"
    assert launch(limit="seconds=100,growth=1MiB", engine="native").engine == "native"
    with pytest.raises(UsageError, match="limit of instructions is counted by the Python engine"):
        launch(limit=1000, engine="native")


def test_a_compiler_that_fails_is_asked_once(launch, monkeypatch):
    """Automatic launches say it once, at the line of the launch, and run in Python; "native" asks again."""
    asked = []

    def fail(*_):
        asked.append(1)
        raise BuildError("cc failed")

    monkeypatch.setattr(native_run, "library_of", fail)
    native_run.entry_of.cache_clear()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        engines = [launch().engine for _ in range(3)]

    assert engines == ["python"] * 3
    assert len(asked) == 1
    assert [(EngineWarning, __file__)] == [(w.category, w.filename) for w in said]
    with pytest.raises(BuildError, match="cc failed"):
        launch(engine="native")


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
