"""Atomics at offsets: the definition of each by a loop, repeats, masks, many tasks, refusals."""

import numpy as np
import pytest
from isa_exact import same, samples
from isa_rows import BOARDS, on_core
from test_isa_atomics import CHANGES, changed

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, int8, int32, kernel, uint8, uint32
from mlusim.errors import Fault, OutOfBounds, ReadOnly, RuleFault, Unsupported, WrongSpace
from mlusim.isa.table import ISA

BOARD = BOARDS[5]
ROOM = 24
OFFSETS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def run(op, dtype, old, offsets, src, mask=None):
    """Execute on 592; memory, what was handed back, and whether it took part."""
    device = mlusim.Device(BOARD)
    memory = device.put(old)
    after = []

    @kernel
    def body(mlu, memory):
        offset, dst = mlu.nram(offsets.dtype, offsets.size), mlu.nram(dtype, offsets.size)
        offset.view.array[:], dst.view.array[:] = offsets, 0
        given = src
        if isinstance(src, np.ndarray):
            given = mlu.nram(dtype, src.size)
            given.view.array[:] = src
        bits = () if mask is None else (mlu.nram(uint8, len(mask), list(mask)),)
        getattr(mlu, f"bang_discrete_atomic_{op}")(dst, memory, offset, given, *bits, offsets.size)
        after.append(dst.view.array.copy())

    device.launch(body, args=(memory,))
    return device.get(memory), after[0]


def test_every_discrete_row_is_tested_here():
    """Each change of a dense atomic row has a discrete row, except compare and swap."""
    assert {n for n in ISA if "discrete" in n} == {f"bang_discrete_atomic_{op}" for op in CHANGES}


@pytest.mark.parametrize("op", CHANGES)
def test_each_element_is_changed_where_its_offset_leads(op):
    """In the order of i, with repeats; every type, vectors and scalars, with and without a mask."""
    for element in ISA[f"bang_atomic_{op}"].operands["dst"].dtypes:
        dtype = element.dtype
        for count, scalar, masked in ((1, False, False), (33, False, True), (40, True, False)):
            rng = np.random.default_rng(count)
            old, new = samples(dtype, ROOM, 1), samples(dtype, count, 2)
            places = rng.integers(0, ROOM, count)
            mask = rng.integers(0, 256, -(-count // 8)).astype(np.uint8) if masked else None
            memory, fetched = list(old), [dtype.type(0)] * count
            for i in range(count):
                if mask is None or mask[i // 8] >> (i % 8) & 1:
                    fetched[i] = memory[places[i]]
                    memory[places[i]] = changed(op, dtype, fetched[i], new[0] if scalar else new[i])
                    memory[places[i]] = np.array(memory[places[i]]).astype(dtype)[()]

            given = new[0] if scalar else new
            after, back = run(op, dtype, old, (places * dtype.itemsize).astype(np.uint32), given, mask)

            assert all(map(same, memory, after)), (dtype, op)
            assert all(map(same, fetched, back)), (dtype, op)


@pytest.mark.parametrize("kind", OFFSETS)
def test_offsets_of_every_width(kind):
    """8, 16, 32 and 64 bits, signed or not, are bytes from the base."""
    offsets = np.array([4, 8, 4, 0, 92], kind)
    memory, back = run("add", np.dtype(np.int32), np.arange(ROOM, dtype=np.int32), offsets, 10)

    assert [10, 21, 12, 3] == memory[:4].tolist()
    assert [33] == memory[23:].tolist()
    assert [1, 2, 11, 0, 23] == back.tolist()


def test_signed_offsets_lead_back():
    """A base in the middle of a tensor."""

    def body(mlu, heap):
        base = mlu.core.bind(heap.allocation, int32)
        base.view.array[:8] = np.arange(8)
        offset, dst = mlu.nram(int8, 2, [-8, 4]), mlu.nram(int32, 2)
        mlu.bang_discrete_atomic_exch(dst, base + 4, offset, -1, elem_count=2)
        return base.view.array[:8].tolist(), dst.view.array.tolist()

    memory, old = on_core(body, board=BOARD)

    assert [0, 1, -1, 3, 4, -1, 6, 7] == memory
    assert [2, 5] == old


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_a_histogram_of_many_tasks_loses_nothing(seed):
    """48 tasks count into 16 bins at places that the data give."""
    device = mlusim.Device(BOARD)
    data = np.random.default_rng(5).integers(0, 16, (48, 64)).astype(np.int32)
    bins, source = device.put(np.zeros(16, np.int32)), device.put(data)

    @kernel
    def count(mlu, bins, source):
        numbers, old = mlu.nram(int32, 64), mlu.nram(int32, 64)
        mlu.memcpy(numbers, source + mlu.taskId * 64, 256, GDRAM2NRAM)
        mlu.bang_mul_scalar(numbers, numbers, 4, 64)
        mlu.bang_discrete_atomic_add(old, bins, numbers, 1, 64)

    launch = device.launch(count, dim=48, args=(bins, source), seed=seed)

    assert np.bincount(data.reshape(-1), minlength=16).tolist() == device.get(bins).tolist()
    assert 48 == launch.instructions["__bang_discrete_atomic_add"]


def refusals(mlu, heap):
    """Bad calls: what is said of each."""
    base = mlu.core.bind(heap.allocation, int32)
    offset, src, dst = mlu.nram(uint32, 8, range(0, 32, 4)), mlu.nram(int32, 8, range(8)), mlu.nram(int32, 8)
    floats, odd = mlu.nram(float32, 8), mlu.nram(uint32, 8, [0, 0, 6])
    far = mlu.nram(uint32, 8, [0, 1 << 20])
    bits = mlu.nram(uint8, 1, [255])
    for given in (
        (dst, base, offset, src, 0),
        (dst, src, offset, src, 8),
        (dst, base, floats, src, 8),
        (floats, base, offset, src, 8),
        (dst, base.cast(int8), offset, src, 8),
        (dst, base, offset, src, 9),
        (dst, base, odd, src, 8),
        (dst, base, far, src, 8),
        (dst, base, offset, src, bits, 16),
        (dst, base, dst.cast(uint32), src, 8),
        (dst + 1, base, offset, dst, 4),
        (dst, base, offset, "one", 8),
        (dst, base, offset, src),
        (None, base, offset, src, 8),
        (dst, base, offset, src, 8, 8, 8),
        (dst, base, offset, src, 8.5),
    ):
        try:
            mlu.bang_discrete_atomic_add(*given)
        except Fault as fault:
            yield fault


SAID = (
    (RuleFault, "elem_count = 0"),
    (WrongSpace, "base points into NRAM"),
    (WrongSpace, "offset is float"),
    (WrongSpace, "dst is float and base is int32"),
    (WrongSpace, "base is int8"),
    (OutOfBounds, "reach 4 bytes past its end"),
    (RuleFault, "offset[2] = 6 is not aligned"),
    (OutOfBounds, "offset[1] = 1048576 of base"),
    (OutOfBounds, "NRAM int32[8]"),
    (RuleFault, "dst overlaps offset"),
    (RuleFault, "dst overlaps src"),
    (WrongSpace, "src is 'one'"),
    (RuleFault, "4 arguments"),
    (WrongSpace, "dst is None, which is not a pointer"),
    (RuleFault, "7 arguments"),
    (RuleFault, "elem_count = 8.5 is not an integer"),
)


def test_bad_calls_are_refused_with_a_sentence():
    """Counts, memories, types, room, alignment, offsets beyond the tensor, overlap, arguments."""
    faults = on_core(lambda mlu, heap: list(refusals(mlu, heap)), board=BOARD)

    assert len(SAID) == len(faults)
    for (kind, text), fault in zip(SAID, faults, strict=True):
        assert kind is type(fault), text
        assert text in fault.message
        assert "__bang_discrete_atomic_add" == fault.intrinsic
        assert fault.file == __file__


def test_a_const_tensor_and_older_boards_refuse():
    """What the host passed for reading is not changed; MLU370 has no discrete atomics."""

    def const(mlu, heap):
        heap.allocation.writable = False
        base, vector = mlu.core.bind(heap.allocation, int32), mlu.nram(int32, 8, [0])
        mlu.bang_discrete_atomic_or(mlu.nram(int32, 8), base, vector, 1, 8)

    with pytest.raises(ReadOnly, match="passed as const"):
        on_core(const, board=BOARD)
    with pytest.raises(Unsupported, match="from __BANG_ARCH__ 592 on"):
        on_core(lambda mlu, _: mlu.bang_discrete_atomic_or(), board=BOARDS[3])


def test_it_takes_its_lines_and_elements():
    """Time grows with the elements; bytes are those of the elements that take part."""
    device = mlusim.Device(BOARD)
    memory = device.put(np.zeros(4096, np.int32))
    times = []
    for count in (8, 512):

        @kernel
        def add(mlu, memory, count=count):
            offset, old = mlu.nram(int32, 512), mlu.nram(int32, 512)
            mlu.bang_write_value(offset, 512, 0)
            mlu.bang_discrete_atomic_add(old, memory, offset, 1, count)
            mlu.memcpy(memory + 8, old, 4 * count, NRAM2GDRAM)

        times.append(device.launch(add, args=(memory,)).time_us)

    assert times[0] < times[1]
    assert 520 == device.get(memory)[0]
