"""Operators that are asked to take the native engine: their kernel.mlu runs, and says what kernel.py says."""

from contextlib import nullcontext

import pytest
from bangc_twins import NATIVE

from mlusim.engine.native.preference import preferring
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import run_case


@pytest.mark.parametrize("engine", ["native", "auto"])
def test_an_operator_takes_its_source(engine):
    """Asked by name or for the whole command; the fill before it is the library's, and Python.

    Without a compiler all of it is Python, and a warning says so.
    """
    spec = find_operator("border_align_backward")
    case = find_case(spec, "golden_document_float")
    port = run_case(spec, case, engine="python")
    said = (
        pytest.warns(RuntimeWarning, match="the Python engine runs") if NATIVE == "python" else nullcontext()
    )
    with preferring("native"), said:
        run = run_case(spec, case, engine=engine)

    assert run.passed
    assert ["python", NATIVE] == [launch.engine for launch in run.launches]
    assert [launch.kernel for launch in port.launches] == [launch.kernel for launch in run.launches]
    assert [launch.time_us for launch in port.launches] == [launch.time_us for launch in run.launches]
    assert port.layouts == run.layouts
    assert port.instructions == run.instructions
