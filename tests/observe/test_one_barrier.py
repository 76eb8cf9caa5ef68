"""One missing barrier is one finding for each memory, with all accesses there that it would have put in order below."""

import numpy as np
import pytest
from observe_tools import floats, found, line_of

import mlusim
from mlusim.bang import GDRAM2NRAM, GDRAM2SRAM, NRAM2GDRAM, SRAM2NRAM, float32

N = 64
SHARE = N // 4
UNION = {"dim": (4, 1, 1), "kind": mlusim.UNION1, "observe": ["racecheck"]}
TENSORS = tuple(floats(N) for _ in range(3))


def _exchange(missing, **options):
    """Each task stores its share of three tensors, then reads its neighbours'; *missing*: no barrier between."""

    def body(mlu, x, y, z):
        if mlu.is_mpu():
            return
        a, own, other = mlu.nram(float32, N), mlu.taskId * SHARE, (mlu.taskId + 1) % 4 * SHARE
        mlu.memcpy(x + own, a, 4 * SHARE, NRAM2GDRAM)
        mlu.memcpy(y + own, a, 4 * SHARE, NRAM2GDRAM)
        mlu.memcpy(z + own, a, 4 * SHARE, NRAM2GDRAM)
        if not missing:
            mlu.sync_cluster() if mlu.is_mpu() else mlu.sync_all_ipu()
        mlu.memcpy(a, x + other, 4 * SHARE, GDRAM2NRAM)  # first
        mlu.memcpy(a, y + other, 4 * SHARE, GDRAM2NRAM)  # second
        float(z[other])  # third
        mlu.memcpy(a, x + (mlu.taskId + 2) % 4 * SHARE, 4 * SHARE, GDRAM2NRAM)  # fourth

    return body, found(body, *TENSORS, **UNION, **options)


@pytest.mark.parametrize("options", [{}, {"seed": 2}, {"seed": 5}, {"effects": "eager"}], ids=str)
def test_one_missing_barrier_is_one_finding_for_each_memory(options):
    """The barrier stands where it puts all in order, whichever comes first; what else races on x is below it."""
    body, findings = _exchange(missing=True, **options)
    first = line_of(body, "# first")
    lines = {
        name: {line for f in findings if f.line in own for line in (f.line, *(p.line for p in f.places))}
        for name in "xyz"
        for own in [{line_of(body, f"mlu.memcpy({name} + own"), *_reads(body, name)}]
    }

    assert 3 == len(findings)
    for finding in findings:
        barrier = f"put mlu.sync_all_ipu_within_cluster() before line {first}, where all of them pass"
        assert barrier == finding.hint
        assert finding.facts["hint_verified"]
    for name, touched in lines.items():
        assert touched <= {line_of(body, f"mlu.memcpy({name} + own"), *_reads(body, name)}
    assert 1 == sum(place.victim for finding in findings for place in finding.places)
    assert () == _exchange(missing=False, **options)[1]


def _reads(body, name):
    """The lines that read the tensor *name*."""
    return {
        line_of(body, f"# {n}") for n in {"x": ("first", "fourth"), "y": ("second",), "z": ("third",)}[name]
    }


@pytest.mark.parametrize("missing", [True, False])
def test_the_memory_core_meets_the_others_behind_its_last_load(missing):
    """Three arrays through SRAM: one barrier behind the third load and before the first use is enough for all."""

    def through(mlu, dst, src, _):
        arrays = [mlu.shared(float32, N) for _ in range(3)]
        if mlu.is_mpu():
            mlu.memcpy(arrays[0], src, 4 * N, GDRAM2SRAM)
            mlu.memcpy(arrays[1], src, 4 * N, GDRAM2SRAM)
            mlu.memcpy(arrays[2], src, 4 * N, GDRAM2SRAM)  # last load
        if not missing:
            mlu.sync_cluster()
        if mlu.is_ipu():
            a = mlu.nram(float32, N)
            mlu.memcpy(a, arrays[0], 4 * N, SRAM2NRAM)  # first use
            mlu.memcpy(a, arrays[1], 4 * N, SRAM2NRAM)
            mlu.memcpy(a, arrays[2], 4 * N, SRAM2NRAM)

    findings = found(through, *TENSORS, **UNION | {"dim": (8, 1, 1)})

    assert len(findings) == 3 * missing
    for finding in findings:
        lines = line_of(through, "# last load"), line_of(through, "# first use")
        assert f"put mlu.sync_cluster() behind line {lines[0]} and before line {lines[1]}, so" in finding.hint
        assert not any(place.victim for place in finding.places)


def test_two_missing_barriers_are_two_findings():
    """What is read behind the first gap is written over in a second one, which the first barrier is too early for."""

    def turns(mlu, x, y, z):
        if mlu.is_mpu():
            return
        a, own, other = mlu.nram(float32, N), mlu.taskId * SHARE, (mlu.taskId + 1) % 4 * SHARE
        mlu.memcpy(x + own, a, 4 * SHARE, NRAM2GDRAM)
        mlu.memcpy(a, x + other, 4 * SHARE, GDRAM2NRAM)  # first
        mlu.memcpy(y + own, a, 4 * SHARE, NRAM2GDRAM)
        mlu.memcpy(z + own, a, 4 * SHARE, NRAM2GDRAM)
        mlu.memcpy(a, y + other, 4 * SHARE, GDRAM2NRAM)  # second
        mlu.memcpy(a, z + other, 4 * SHARE, GDRAM2NRAM)

    findings = found(turns, *TENSORS, **UNION)

    assert [f"line {line_of(turns, f'# {n}')}" for n in ("first", "second", "second")] == [
        finding.hint.split("before ")[1].split(",")[0] for finding in findings
    ]


def test_a_loop_without_its_barriers_is_one_finding_for_each_memory():
    """Each turn overwrites what the neighbours may still read: two places for the barrier, one cause."""

    def turns(mlu, x, y, z):
        if mlu.is_mpu():
            return
        a, own, other = mlu.nram(float32, N), mlu.taskId * SHARE, (mlu.taskId + 1) % 4 * SHARE
        for _ in range(3):
            mlu.memcpy(x + own, a, 4 * SHARE, NRAM2GDRAM)  # write
            mlu.memcpy(y + own, a, 4 * SHARE, NRAM2GDRAM)
            mlu.memcpy(a, x + other, 4 * SHARE, GDRAM2NRAM)  # read
            mlu.memcpy(a, y + other, 4 * SHARE, GDRAM2NRAM)

    findings = found(turns, *TENSORS, **UNION)
    lines = line_of(turns, "# write"), line_of(turns, "# read")

    assert 2 == len(findings)
    for finding in findings:
        assert f"before line {lines[0]} and before line {lines[1]}, where all of them pass" in finding.hint


def test_a_barrier_reaches_as_far_as_the_tasks_that_share():
    """Neighbours in another cluster need the barrier of the whole union, the pair that is shown first or not."""

    def neighbours(mlu, x, y, z):
        if mlu.is_mpu():
            return
        a = mlu.nram(float32, 8)
        mlu.memcpy(x + mlu.taskId * 8, a, 32, NRAM2GDRAM)
        mlu.memcpy(a, x + (mlu.taskId + 1) % 8 * 8, 32, GDRAM2NRAM)

    (finding,) = found(neighbours, *TENSORS, **UNION | {"dim": (8, 1, 1), "kind": mlusim.UNION2})

    assert finding.hint.startswith("put mlu.sync_all_ipu() before")


def test_between_block_tasks_another_launch_is_the_hint():
    """Two stores, two loads of what the neighbour stored: the second launch begins with the first load."""

    def neighbours(mlu, x, y, z):
        a, own, other = mlu.nram(float32, N), mlu.taskId * SHARE, (mlu.taskId + 1) % 4 * SHARE
        mlu.memcpy(x + own, a, 4 * SHARE, NRAM2GDRAM)
        mlu.memcpy(y + own, a, 4 * SHARE, NRAM2GDRAM)
        mlu.memcpy(a, x + other, 4 * SHARE, GDRAM2NRAM)
        mlu.memcpy(a, y + other, 4 * SHARE, GDRAM2NRAM)

    findings = found(neighbours, *TENSORS, dim=(4, 1, 1), observe=["racecheck"])

    assert ["make it two launches" in finding.hint for finding in findings] == [True, True]


def test_a_comment_that_allows_the_cause_hides_nothing_else():
    """The next one that the same barrier would help is told in its place."""

    def allowed(mlu, x, y, z):
        if mlu.taskId == 0:
            a = mlu.nram(float32, N)
            mlu.memcpy(x, a, 4 * N, NRAM2GDRAM)
            mlu.memcpy(y, a, 4 * N, NRAM2GDRAM)
        else:
            float(x[0])  # mlusim: allow racecheck-tasks-read-write: any value will do
            float(y[0])  # told

    (finding,) = found(allowed, *TENSORS, dim=(2, 1, 1), observe=["racecheck"])

    assert line_of(allowed, "# told") == finding.line


def test_launches_with_other_victims_have_one_cause():
    """`check` folds over cases; what suffers is gathered from all of them."""
    from mlusim.check.findings import fold  # noqa: PLC0415 - beside its only use

    def some(mlu, x, y, count):
        if mlu.is_mpu():
            return
        a, own, other = mlu.nram(float32, N), mlu.taskId * SHARE, (mlu.taskId + 1) % 4 * SHARE
        mlu.memcpy(x + own, a, 4 * SHARE, NRAM2GDRAM)
        mlu.memcpy(a, x + other, 4 * SHARE, GDRAM2NRAM)
        if count == 1:
            mlu.memcpy(a, x + other, 4 * SHARE, GDRAM2NRAM)  # here
        if count == 2:
            float(x[other])  # there

    folded = fold(
        finding for count in range(3) for finding in found(some, *TENSORS[:2], np.int64(count), **UNION)
    )

    assert 1 == len(folded)
    assert {line_of(some, "# here"), line_of(some, "# there")} == {
        p.line for p in folded[0].places if p.victim
    }
