"""Operators that are asked to take the native engine: their kernel.mlu runs, and says what kernel.py says."""

import sys
from contextlib import nullcontext

import pytest
from attrs import evolve
from bangc_twins import NATIVE, SCALARS

from mlusim.arch.catalog import find_board
from mlusim.engine.preference import preferring
from mlusim.machine.options import LaunchOptions
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import attempt, made_of, run_case
from mlusim.operators.spec import SLOW

PYTHONS = "the Python engine runs"


def compare(engine):
    """Run a case on the Python engine and as *engine* has it; on which engine each launch of the latter ran."""
    spec = find_operator("dynamic_scatter_backward")
    case = find_case(spec, "ties")
    port = run_case(spec, case, engine="python")
    with preferring("native"):
        run = run_case(spec, case, engine=engine)

    assert run.passed
    assert [launch.kernel for launch in port.launches] == [launch.kernel for launch in run.launches]
    times = [[launch.time_us for launch in one.launches] for one in (port, run)]
    assert times[0] == pytest.approx(times[1], rel=SCALARS)
    assert port.layouts == run.layouts
    assert port.instructions == run.instructions
    return [launch.engine for launch in run.launches]


@pytest.mark.parametrize("engine", ["native", "auto"])
def test_an_operator_takes_its_source(engine):
    """Asked by name or for the whole command; so do the fills before it."""
    with nullcontext() if NATIVE == "native" else pytest.warns(RuntimeWarning, match=PYTHONS):
        launched = compare(engine)

    assert [NATIVE] * 5 == launched


def test_without_a_compiler_an_operator_is_python(monkeypatch):
    """A warning says so, and nothing else is different."""
    monkeypatch.setenv("MLUSIM_CC", "/no/compiler")
    with pytest.warns(RuntimeWarning, match=PYTHONS):
        launched = compare("native")

    assert ["python"] * 5 == launched


@pytest.mark.parametrize(
    ("watch", "engine"),
    [
        ({}, NATIVE),
        ({"observe": ["memcheck"]}, "python"),
        ({"seed": 1}, "python"),
        ({"engine": "python"}, "python"),
    ],
    ids=str,
)
def test_a_slow_case_takes_its_source_where_nothing_watches(watch, engine):
    """Left to choose, a case of a second in Python runs from kernel.mlu, a shorter one never does."""
    spec = find_operator("tin_shift_forward")
    case = find_case(spec, "golden_document")
    slow, short = (run_case(spec, evolve(case, effort=effort), **watch) for effort in (SLOW, SLOW / 2))

    assert slow.passed
    assert [engine] == [launch.engine for launch in slow.launches]
    assert ["python"] == [launch.engine for launch in short.launches]


@pytest.mark.skipif(NATIVE == "python", reason="no C compiler")
def test_later_calls_take_what_the_earlier_ones_have_prepared():
    """On another device, with other tensors: they do the same, and a third and a fourth call fewer functions than the second."""
    spec = find_operator("border_align_backward")
    # No other test has prepared anything on it.
    board = evolve(find_board("MLU370-X4"), name="MLU370 of this test")
    case, calls, told = find_case(spec, "far_outside_float"), [], []
    prepared = made_of(spec, case)
    for _ in range(4):
        count = [0]
        before = sys.getprofile()
        sys.setprofile(
            lambda _frame, event, _, count=count: count.__setitem__(0, count[0] + (event == "call"))
        )
        try:
            done = attempt(
                spec, prepared.inputs, prepared.params, board=board, options=LaunchOptions(engine="native")
            )
        finally:
            sys.setprofile(before)
        calls.append(count[0])
        facts = [(x.kernel, x.instructions, x.traffic, x.memory, x.time_us, x.engine) for x in done.launches]
        told.append((facts, done.layouts, done.efficiency, {n: a.tobytes() for n, a in done.outputs.items()}))

    assert [told[0]] * 3 == told[1:]
    assert max(calls[2:]) < calls[1] * 0.8
