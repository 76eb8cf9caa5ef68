"""racecheck: the rules of the pipes of one core, each as a kernel that is right and one that is not."""

import numpy as np
import pytest
from observe_tools import floats, found, line_of

from mlusim.bang import (
    GDRAM2NRAM,
    NRAM2GDRAM,
    NRAM2NRAM,
    float32,
    uint32,
)

RACE = ["racecheck"]
N = 64
BYTES = 4 * N


def _ids(body, *args, **options):
    return [f.id for f in found(body, *args, observe=RACE, **options)]


# -- one core: what needs no sync ------------------------------------------------------------------


def blocking_copies(mlu, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    for _ in range(3):
        mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
        mlu.bang_add(b, a, a, N)
        mlu.memcpy(a, b, BYTES, NRAM2NRAM)
        mlu.memcpy(dst, a, BYTES, NRAM2GDRAM)


def scalars_and_vectors(mlu, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    mlu.bang_add(a, a, a, N)
    a[0] = a[1] + 1
    mlu.bang_add(a, a, a, N)
    mlu.memcpy(dst, a, BYTES, NRAM2GDRAM)


def one_pipe_in_order(mlu, dst, src):
    a = mlu.nram(float32, N)
    for _ in range(3):
        mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
        mlu.memcpy_async(dst, a, BYTES, NRAM2GDRAM)
    mlu.sync_io()


def atomics_between_vectors(mlu, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    for _ in range(3):
        mlu.bang_add(a, a, a, N)
        mlu.bang_atomic_reduce_add(dst, a, N)


def ping_pong(mlu, dst, src):
    ping = mlu.nram(float32, 2 * N)
    out = mlu.nram(float32, 2 * N)
    for turn in range(5):
        half = turn % 2 * N
        if turn < 4:
            mlu.memcpy_async(ping + half, src, BYTES, GDRAM2NRAM)
        if turn > 0:
            mlu.bang_add(out + (N - half), ping + (N - half), ping + (N - half), N)
        if turn > 1:
            mlu.memcpy_async(dst, out + half, BYTES, NRAM2GDRAM)
        mlu.sync()


def waited_for_each(mlu, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
    mlu.sync_io()
    mlu.bang_add(b, a, a, N)
    mlu.sync_compute()
    mlu.memcpy_async(a, b, BYTES, NRAM2NRAM)
    mlu.sync_move()
    mlu.memcpy_async(dst, a, BYTES, NRAM2GDRAM)
    mlu.sync_io_move_compute()
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)


def neighbouring_halves(mlu, dst, src):
    a = mlu.nram(float32, 2 * N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    mlu.memcpy_async(a + N, src, BYTES, GDRAM2NRAM)
    mlu.bang_add(a, a, a, N)
    mlu.sync()
    mlu.memcpy(dst, a, BYTES, NRAM2GDRAM)


def columns_of_one_buffer(mlu, dst, src):
    a = mlu.nram(float32, 2 * N)
    mlu.memcpy_async(a, src, 4, GDRAM2NRAM, 8, 4, N - 1)
    mlu.memcpy_async(a + 1, a + 1, 4, NRAM2NRAM, 8, 8, N - 1)
    mlu.sync()
    mlu.memcpy(dst, a, BYTES, NRAM2GDRAM)


def scalar_store_then_load(mlu, dst, src):
    del src
    dst[3] = 2.0
    dst[4] = dst[3]
    mlu.sync()
    a = mlu.nram(float32, N)
    mlu.memcpy(a, dst, BYTES, GDRAM2NRAM)


SAFE = (
    blocking_copies,
    scalars_and_vectors,
    one_pipe_in_order,
    atomics_between_vectors,
    ping_pong,
    waited_for_each,
    neighbouring_halves,
    columns_of_one_buffer,
    scalar_store_then_load,
)


@pytest.mark.parametrize("body", SAFE, ids=lambda b: b.__name__)
@pytest.mark.parametrize("effects", ["late", "eager"])
def test_what_needs_no_sync_is_silent(body, effects):
    """The pipes' own order, blocking copies, and syncs where they are owed."""
    assert [] == _ids(body, floats(N), floats(N), effects=effects)


# -- one core: what was a real bug ------------------------------------------------------------------


def vector_reads_copy_in_flight(mlu, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
    mlu.bang_add(b, a, a, N)  # here
    mlu.memcpy(dst, b, BYTES, NRAM2GDRAM)


def scalar_reads_copy_in_flight(mlu, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
    x = a[0]  # here
    mlu.sync()
    dst[0] = x


def copy_overtakes_vector(mlu, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    mlu.bang_add(b, a, a, N)
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)  # here
    mlu.sync()
    mlu.memcpy(dst, b, BYTES, NRAM2GDRAM)


def copy_overtakes_scalar_load(mlu, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    x = a[5]
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)  # here
    mlu.sync()
    dst[0] = x


def store_overtakes_vector(mlu, dst, src):
    a = mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    mlu.bang_add(a, a, a, N)
    mlu.memcpy_async(dst, a, BYTES, NRAM2GDRAM)  # here


def move_overtakes_store(mlu, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    mlu.memcpy(b, src, BYTES, GDRAM2NRAM)
    mlu.memcpy_async(dst, a, BYTES, NRAM2GDRAM)
    mlu.memcpy_async(a, b, BYTES, NRAM2NRAM)  # here
    mlu.sync()


def blocking_move_overtakes_store(mlu, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
    mlu.memcpy(b, src, BYTES, GDRAM2NRAM)
    mlu.memcpy_async(dst, a, BYTES, NRAM2GDRAM)
    mlu.memcpy(a, b, BYTES, NRAM2NRAM)  # here


def two_pipes_write(mlu, dst, src):
    a, b = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy(b, src, BYTES, GDRAM2NRAM)
    mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
    mlu.memcpy_async(a, b, BYTES, NRAM2NRAM)  # here
    mlu.sync()
    mlu.memcpy(dst, a, BYTES, NRAM2GDRAM)


def copy_reads_scalar_store(mlu, dst, src):
    del src
    a = mlu.nram(float32, N)
    dst[3] = 2.0
    mlu.memcpy(a, dst, BYTES, GDRAM2NRAM)  # here


UNSAFE = (
    (vector_reads_copy_in_flight, "racecheck-read-after-write", "sync_io"),
    (scalar_reads_copy_in_flight, "racecheck-read-after-write", "sync_io"),
    (copy_overtakes_vector, "racecheck-write-after-read", "sync_compute"),
    (copy_overtakes_scalar_load, "racecheck-write-after-read", "sync"),
    (store_overtakes_vector, "racecheck-read-after-write", "sync_compute"),
    (move_overtakes_store, "racecheck-write-after-read", "sync_io"),
    (blocking_move_overtakes_store, "racecheck-write-after-read", "sync_io"),
    (two_pipes_write, "racecheck-write-after-write", "sync_io"),
    (copy_reads_scalar_store, "racecheck-scalar-store", "sync"),
)


@pytest.mark.parametrize(("body", "rule", "sync"), UNSAFE, ids=lambda v: getattr(v, "__name__", v))
@pytest.mark.parametrize("options", [{}, {"effects": "eager"}, {"seed": 5}], ids=str)
def test_real_bugs_are_found_on_their_line_with_the_cheapest_sync(body, rule, sync, options):
    """Whatever the schedule: the rule, the line of the later access, and a sync that was tried out."""
    (finding,) = found(body, floats(N), floats(N), observe=RACE, **options)

    assert rule == finding.id
    line = line_of(body, "# here")
    assert line == finding.line
    assert f"put mlu.{sync}() before line {line}" == finding.hint
    assert finding.facts["hint_verified"]
    assert finding.places


def test_the_hint_works_in_the_kernel():
    """With the sync of the hint in front of the line, nothing is left to report."""

    def mended(mlu, dst, src):
        a, b = mlu.nram(float32, N), mlu.nram(float32, N)
        mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
        mlu.bang_add(b, a, a, N)
        mlu.sync_compute()
        mlu.memcpy_async(a, src, BYTES, GDRAM2NRAM)
        mlu.sync()
        mlu.memcpy(dst, b, BYTES, NRAM2GDRAM)

    assert [] == _ids(mended, floats(N), floats(N))


def test_a_vector_that_was_announced_long_ago_still_counts():
    """A step that observers hear no more of, since it repeats, races with the copy behind its last run."""

    def repeats(mlu, dst, src):
        a, b = mlu.nram(float32, N), mlu.nram(float32, N)
        for turn in range(6):
            mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
            mlu.bang_add(b, a, a, N)
            if turn == 5:
                mlu.memcpy_async(b, src, BYTES, GDRAM2NRAM)  # here
        mlu.sync()
        mlu.memcpy(dst, b, BYTES, NRAM2GDRAM)

    (finding,) = found(repeats, floats(N), floats(N), observe=RACE)

    assert line_of(repeats, "# here") == finding.line
    assert [line_of(repeats, "bang_add")] == [p.line for p in finding.places]


def test_on_2xx_a_copy_inside_nram_is_work_of_the_vector_unit():
    """There the asynchronous form of NRAM2NRAM is in order with vector instructions."""

    def move(mlu, dst, src):
        a, b = mlu.nram(float32, N), mlu.nram(float32, N)
        mlu.memcpy(a, src, BYTES, GDRAM2NRAM)
        mlu.bang_add(a, a, a, N)
        mlu.memcpy_async(b, a, BYTES, NRAM2NRAM)
        mlu.bang_add(b, b, b, N)
        mlu.memcpy(dst, b, BYTES, NRAM2GDRAM)

    assert [] == _ids(move, floats(N), floats(N), board="MLU270-S4")
    assert ["racecheck-read-after-write"] * 2 == _ids(move, floats(N), floats(N))


@pytest.mark.parametrize("waits", [True, False])
def test_a_blocking_gather_reads_its_offsets_when_it_is_issued(waits):
    """It waits for the end, and has read what a copy before it on its own pipe had not brought yet."""

    def gather(mlu, dst, src, places):
        a, offset = mlu.nram(float32, N), mlu.nram(uint32, 8)
        mlu.memcpy_async(offset, places, 32, GDRAM2NRAM)
        if waits:
            mlu.sync_io()
        mlu.gather(a, src, offset, 4, GDRAM2NRAM, 4, 8)  # here
        mlu.memcpy(dst, a, 32, NRAM2GDRAM)

    places = np.arange(8, dtype=np.uint32) * 4
    findings = found(gather, floats(N), floats(N), places, observe=RACE, board="MLU590-H8")

    assert [("racecheck-read-after-write", line_of(gather, "# here"))] * (not waits) == [
        (f.id, f.line) for f in findings
    ]
