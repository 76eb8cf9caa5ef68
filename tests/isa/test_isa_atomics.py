"""Atomics: the definition of each, under one task and under many."""

import itertools
import operator
import re

import numpy as np
import pytest
from isa_exact import exact, number_wins, same, samples
from isa_rows import execute

import mlusim
from mlusim.bang import int32, kernel
from mlusim.isa.table import ISA

CHANGES = {
    "add": operator.add,
    "max": number_wins(max),
    "min": number_wins(min),
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "exch": lambda old, new: new,
    "inc": lambda old, limit: 0 if old >= limit else old + 1,
    "dec": lambda old, limit: limit if old == 0 or old > limit else old - 1,
}


def changed(op, dtype, old, new):
    """What will be in memory."""
    if op not in ("max", "min") and (dtype.kind in "iu" or op == "add"):
        return exact(CHANGES[op], dtype, old, new)
    return CHANGES[op](float(old), float(new))


def test_every_atomic_row_is_tested_here():
    """Each change has a reduction and a fetching row; compare and swap has both too, and the sum one that goes on at once."""
    names = {f"bang_atomic_{p}{op}" for op in [*CHANGES, "cas"] for p in ("", "reduce_")}
    names.add("bang_atomic_reduce_add_async")

    assert {n for n in ISA if "atomic" in n and "discrete" not in n} == names


@pytest.mark.parametrize("op", CHANGES)
def test_reductions_and_fetches(op):
    """Vectors and scalars, every type of the row; the fetching row hands back what was there."""
    for element in ISA[f"bang_atomic_{op}"].operands["dst"].dtypes:
        dtype = element.dtype
        for count, scalar in ((1, False), (65, False), (33, True)):
            old, new = samples(dtype, count, 1), samples(dtype, count, 2)
            given = new[0] if scalar else new
            each = itertools.repeat(new[0]) if scalar else new
            expected = [changed(op, dtype, a, b) for a, b in zip(old, each, strict=False)]

            names = [name for name in ISA if re.fullmatch(f"bang_atomic_reduce_{op}(_async)?", name)]
            every = [execute(name, dst=old, src=given, elem_count=count)["dst"] for name in names]
            after = execute(
                f"bang_atomic_{op}", dst=np.zeros(count, dtype), src1=old, src2=given, elem_count=count
            )

            assert all(all(map(same, expected, reduced)) for reduced in every)
            assert all(map(same, expected, after["src1"]))
            assert old.tobytes() == after["dst"].tobytes()


STRIDED = ("add", "max", "min", "and", "or", "xor", "exch")


@pytest.mark.parametrize("op", STRIDED)
@pytest.mark.parametrize("strides", [(96, 8, 16, 32), (-8, 96, 16, 32), (0, 0, 16, 32)])
def test_reductions_with_strides(op, strides):
    """Two times three pieces of four elements, apart, interlaced with a negative stride, and all at one place."""
    count, dtype = 4, np.dtype(np.int32)
    old, new = samples(dtype, 128, 1), samples(dtype, 64, 2)
    dst_stride1, dst_stride2, src_stride1, src_stride2 = strides
    expected = old.copy()
    for j in range(3):
        for i in range(2):
            for k in range(count):
                to = 32 + k + (i * dst_stride1 + j * dst_stride2) // 4
                expected[to] = changed(
                    op, dtype, expected[to], new[k + (i * src_stride1 + j * src_stride2) // 4]
                )
    device = mlusim.Device("MLU590-H8")
    target = device.put(old)

    @kernel
    def run(mlu, dst):
        src = mlu.nram(dtype, 64)
        src.view.array[:] = new
        getattr(mlu, f"bang_atomic_reduce_{op}")(dst + 32, src, count, 1, 2, *strides)

    launch = device.launch(run, args=(target,))

    assert expected.tolist() == device.get(target).tolist()
    assert {f"bang_atomic_reduce_{op}": 1} == {name.lstrip("_"): n for name, n in launch.instructions.items()}


def test_compare_and_swap():
    """It stores where the comparison holds, and hands back what was there either way."""
    for old, swapped in ((4, True), (5, False)):
        memory = np.array([old, 9], np.int32)
        after = execute("bang_atomic_cas", dst=np.zeros(1, np.int32), src1=memory, compare=4, new=-1)

        assert [old] == after["dst"].tolist()
        assert [-1 if swapped else old, 9] == after["src1"].tolist()
        assert [-1 if swapped else old, 9] == execute(
            "bang_atomic_reduce_cas", dst=memory, compare=4, new=-1
        )["dst"].tolist()


def test_count_is_one_for_a_scalar():
    """A scalar call without a count changes one element."""
    after = execute("bang_atomic_reduce_add", dst=np.zeros(3, np.float32), src=2.5)

    assert [2.5, 0, 0] == after["dst"].tolist()


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_many_tasks_add_to_the_same_elements(seed):
    """32 tasks on 16 cores, vectors and scalars: no addition is lost."""
    device = mlusim.Device("MLU370-X8")
    total = device.put(np.zeros(8, np.int32))

    @kernel
    def add(mlu, total):
        ones = mlu.nram(int32, 8, [mlu.taskId + 1] * 8)
        for _ in range(3):
            mlu.bang_atomic_reduce_add(total, ones, 8)
            mlu.bang_atomic_reduce_add(total + 1, 1, 4)

    device.launch(add, dim=32, args=(total,), seed=seed)

    expected = [3 * 32 * 33 // 2 + (96 if 1 <= i < 5 else 0) for i in range(8)]

    assert expected == device.get(total).tolist()


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_fetched_tickets_are_all_different(seed):
    """Every task draws a number; no two draw the same."""
    device = mlusim.Device("MLU370-X4")
    counter, drawn = device.put(np.zeros(1, np.int32)), device.empty(64, np.int32)

    @kernel
    def draw(mlu, counter, drawn):
        old = mlu.nram(int32, 1)
        mlu.bang_atomic_add(old, counter, 1)
        drawn[int(old[0])] = mlu.taskId

    device.launch(draw, dim=64, args=(counter, drawn), seed=seed)

    assert list(range(64)) == sorted(device.get(drawn).tolist())
    assert [64] == device.get(counter).tolist()


@pytest.mark.parametrize("seed", [None, 3, 4])
def test_spinning_on_compare_and_swap_lets_the_holder_go_on(seed):
    """A lock of one word, taken in turn by all tasks of all unions."""
    device = mlusim.Device("MLU370-X4")
    lock, shared = device.put(np.zeros(1, np.int32)), device.put(np.zeros(1, np.int32))

    @kernel
    def locked(mlu, lock, shared):
        if mlu.is_mpu():
            return
        old = mlu.nram(int32, 1)
        for _ in range(3):
            mlu.bang_atomic_cas(old, lock, 0, 1)
            while old[0] != 0:
                mlu.bang_atomic_cas(old, lock, 0, 1)
            seen = mlu.load_gdram(shared)
            for _ in range(3):
                mlu.load_gdram(lock)
            mlu.store_gdram(shared, seen + 1)
            mlu.bang_atomic_exch(old, lock, 0)

    device.launch(locked, dim=(4, 8, 1), kind=mlusim.UNION1, args=(lock, shared), seed=seed)

    assert [96] == device.get(shared).tolist()
    assert [0] == device.get(lock).tolist()


def test_increments_wrap_at_their_limit():
    """A ring of four slots: 0, 1, 2, 3, 0."""
    device = mlusim.Device("MLU370-X4")
    ring = device.put(np.zeros(1, np.uint32))
    seen = []

    @kernel
    def turn(mlu, ring):
        old = mlu.nram(np.uint32, 1)
        for _ in range(6):
            mlu.bang_atomic_inc(old, ring, 3)
            seen.append(int(old[0]))
        for _ in range(3):
            mlu.bang_atomic_dec(old, ring, 3)
            seen.append(int(old[0]))

    device.launch(turn, args=(ring,))

    assert [0, 1, 2, 3, 0, 1, 2, 1, 0] == seen
    assert [3] == device.get(ring).tolist()
