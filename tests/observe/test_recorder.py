"""The recorder: every instruction once, with its work, in the order of issue."""

from collections import Counter

import numpy as np
import pytest

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, Mlu, Ptr, float32, kernel
from mlusim.isa.table import ISA
from mlusim.machine.rates import VECTOR_START
from mlusim.observe.recorder import Recorder
from mlusim.operators.registry import operators
from mlusim.operators.runner import run_case

COUNT = 512


@kernel
def two_buffers(mlu: Mlu, dst: Ptr, src: Ptr) -> None:
    """Load the next part while the last is squared; meet; look at a few numbers."""
    if mlu.is_mpu():
        mlu.sync_all()
        return
    first, second = mlu.nram(float32, COUNT), mlu.nram(float32, COUNT)
    base = mlu.taskId * 2 * COUNT
    mlu.memcpy_async(first, src + base, COUNT * 4, GDRAM2NRAM)
    mlu.sync_io()
    mlu.memcpy_async(second, src + base + COUNT, COUNT * 4, GDRAM2NRAM)
    mlu.bang_mul(first, first, first, COUNT)
    mlu.sync_io()
    mlu.bang_mul(second, second, second, COUNT)
    for i in range(3):
        first[i] = second[i]
    mlu.sync_all()
    mlu.memcpy(dst + base, first, COUNT * 4, NRAM2GDRAM)


def recorded(dim=(4, 1, 1), **options):
    """A launch of `two_buffers` and its recorder."""
    device, recorder = mlusim.Device(), Recorder()
    src = device.put(np.ones(2 * COUNT * dim[0], np.float32))
    launch = device.launch(
        two_buffers,
        dim,
        mlusim.UNION1,
        (device.empty(src.shape, "float"), src),
        observe=[recorder],
        **options,
    )
    return launch, recorder


@pytest.mark.parametrize("options", [{}, {"effects": "eager"}, {"seed": 3}], ids=str)
def test_every_instruction_is_recorded_once(options):
    """Counts by intrinsic and bytes of the IO-DMA are those of the launch, whatever the schedule."""
    launch, recorder = recorded(**options)
    steps = recorder.recordings[0].steps
    counted = Counter(step.name for step in steps if step.name in ISA and not step.meets and not step.waits)

    assert {
        name: n for name, n in launch.instructions.items() if ISA[name].operands or "memcpy" in name
    } == counted
    assert launch.io_bytes == sum(step.work[3] for step in steps)
    assert 8 * (COUNT * 4 // 128 + VECTOR_START.value) == sum(step.work[1] for step in steps)


def test_scalar_accesses_of_one_line_are_runs():
    """A load and a store alternate: each step says how many accesses it stands for."""
    _, recorder = recorded()
    scalar = [step for step in recorder.recordings[0].steps if step.name.startswith("scalar ")]

    assert 4 * 3 == sum(step.count for step in scalar if step.name == "scalar load")
    assert 4 * 3 == sum(step.count for step in scalar if step.name == "scalar store")
    assert all(step.work == (step.count, 0, 0, 0, 0) for step in scalar)


def test_steps_know_their_line_and_direction():
    """A step names the kernel's line; a copy its direction and whether it waits."""
    _, recorder = recorded()
    copies = [step for step in recorder.recordings[0].steps if step.name.startswith("memcpy")]

    assert {("GDRAM2NRAM", True), ("NRAM2GDRAM", False)} == {(s.detail, s.asynchronous) for s in copies}
    assert all(step.site[0].endswith("test_recorder.py") and step.site[1] > 0 for step in copies)


def test_a_barrier_names_whom_it_joins():
    """The four IPU cores and the memory core of a cluster meet once."""
    _, recorder = recorded(dim=(8, 1, 1))
    recording = recorder.recordings[0]
    met = [step.meets for step in recording.steps if step.meets]

    assert [5, 5] == [len(cores) for cores in met]
    assert all(1 == len({recording.cores[core].union for core in cores}) for cores in met)


def test_launches_are_kept_apart():
    """One recorder may watch several launches: each has its own recording."""
    launch, recorder = recorded()
    device = mlusim.Device()
    src = device.put(np.ones(8 * COUNT, np.float32))
    device.launch(
        two_buffers, (4, 1, 1), mlusim.UNION1, (device.empty(src.shape, "float"), src), observe=[recorder]
    )
    first, second = recorder.recordings

    assert launch.io_bytes == sum(step.work[3] for step in second.steps)
    assert first == second


@pytest.mark.parametrize("name", operators())
def test_operators_can_be_recorded(name):
    """For every operator the recorded bytes are those of its launches, one recording a launch."""
    case = next(c for c in operators()[name].cases if c.group == "golden")
    recorder = Recorder()
    run = run_case(name, case, observe=[recorder])

    assert [launch.io_bytes for launch in run.launches] == [
        sum(step.work[3] for step in recording.steps) for recording in recorder.recordings
    ]
