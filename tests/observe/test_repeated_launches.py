"""Launches that are given no memory, and are the same as one before: they have its findings, and do not run."""

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.machine.machine import Machine
from mlusim.machine.repeated import MOST
from mlusim.observe.collect import collecting

FILLED = """#include <bang.h>
__nram__ float a[64];
__mlu_entry__ void Filled(float value, int tasks) {
  __mlu_shared__ float s[64];
  int least = tasks * 0x10000000;
  if (taskId < tasks) __sramset(s, 64, value);
  __bang_write_value(a, 32, value);
  if (a[32] > 1.0f) least = 0;
  if (__is_ipu()) __bang_printf("%d", least);
}
__mlu_entry__ void Held(int n) { __bang_lock(n, n); }
__mlu_entry__ void Given(float *out, int n) { out[n] = taskId; }
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    path = tmp_path_factory.mktemp("filled") / "filled.mlu"
    path.write_text(FILLED)
    return bangc.load(path)


def seen(kernel, *given, dim=4, kind=mlusim.UNION1, **options):
    """What a user sees of a launch, and of all its checkers."""
    device = mlusim.Device("MLU370-X4")
    with collecting() as collector:
        launch = device.launch(kernel, dim, kind, given, **options)
    sums = launch.instructions, launch.traffic, launch.scalar_loads, launch.scalar_stores, launch.memory
    told = launch.findings, collector.found, collector.launches, collector.unchecked
    return *sums, launch.time_us, launch.printed, launch.engine, *map(str, told)


def test_the_same_launch_again_has_the_same_findings_and_does_not_run(module, calls_of):
    with calls_of(Machine.run) as runs:
        first, again = (seen(module["Filled"], 1.5, 9) for _ in range(2))

    assert 1 == len(runs)
    assert first == again
    for rule in ("racecheck-tasks-write-write", "valuecheck-overflow", "initcheck-undefined-scalar"):
        assert rule in first[-4]
    assert 4 == len(first[6])


@pytest.mark.parametrize(
    "other",
    [
        {"given": (-0.0, 4)},
        {"given": (0, 4)},
        {"given": (np.float32(0), 4)},
        {"dim": 8},
        {"kind": mlusim.UNION2, "dim": 8},
        {"effects": "eager"},
        {"timing": False},
        {"seed": 0},
        {"limit": 10_000},
        {"observe": [mlusim.EveryStep()]},
        {"observe": ["racecheck"]},
    ],
    ids=lambda one: next(iter(one)),
)
def test_another_launch_runs(module, calls_of, other):
    options = {"given": (0.0, 4), **other}
    seen(module["Filled"], 0.0, 4)
    with calls_of(Machine.run) as runs:
        seen(module["Filled"], *options.pop("given"), **options)

    assert runs


def test_a_launch_that_is_given_memory_runs_again(module, calls_of):
    device = mlusim.Device("MLU370-X4")
    with calls_of(Machine.run) as runs:
        for _ in range(2):
            device.launch(module["Given"], 2, args=(device.empty(4, np.float32), 1), observe=["racecheck"])

    assert 2 == len(runs)


def test_a_finding_that_names_the_place_of_the_launch_is_made_each_time(module, calls_of):
    with calls_of(Machine.run) as runs:
        found = [seen(module["Held"], 1, dim=1, kind=mlusim.BLOCK)[-4] for _ in range(2)]

    assert all("synccheck-mutex-held" in one for one in found)
    assert 2 == len(runs)


def test_the_last_launches_of_a_kernel_are_kept(module, calls_of):
    with calls_of(Machine.run) as runs:
        for n in (*range(MOST + 1), 0, MOST):
            seen(module["Filled"], 0.5, n)

    assert MOST + 2 == len(runs)
