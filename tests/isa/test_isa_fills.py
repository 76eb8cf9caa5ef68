"""Fills and moves: dense, in boxes, later; loads, stores and pointers by space; asserts and mutexes."""

import ml_dtypes
import numpy as np
import pytest
from isa_rows import on_core

import mlusim
from mlusim.bang import float32, half, int8, int16, int32, kernel, uint8, uint64
from mlusim.errors import Deadlock, Fault, OutOfBounds, RuleFault, WrongSpace
from mlusim.isa.table import ISA

FILLS = {
    "bang_write_value": "nram",
    "nramset": "nram",
    "memset_nram": "nram",
    "ldramset": "ldram",
    "sramset": "sram",
    "gdramset": "gdram",
}


def memory(mlu, heap, space, dtype, count):
    """Memory of a space, filled with ones."""
    if space == "gdram":
        pointer = mlu.core.bind(heap.allocation, dtype)
    else:
        pointer = {"nram": mlu.nram, "ldram": mlu.ldram, "sram": mlu.shared}[space](dtype, count)
    pointer.view.raw.fill(1)
    return pointer


@pytest.mark.parametrize("name", FILLS)
def test_the_type_of_the_value_says_how_wide_an_element_is(name):
    """Whatever the type of the pointer: 8, 16, 32 or 64 bits, floats and integers, -1 as four bytes."""
    for value, word in (
        (int8(-3), np.array(-3, np.int8)),
        (half(0.5), np.array(0.5, np.float16)),
        (int16(700), np.array(700, np.int16)),
        (-1, np.array(-1, np.int32)),
        (0xFFFFFFFF, np.array(-1, np.int32)),
        (np.float32(-np.inf), np.array(-np.inf, np.float32)),
        (uint64(1 << 63), np.array(1 << 63, np.uint64)),
    ):
        for pointed in (float32, uint8):

            def run(mlu, heap, value=value, pointed=pointed):
                pointer = memory(mlu, heap, FILLS[name], pointed, 256)
                getattr(mlu, name)(pointer, 5, value)
                return pointer.view.raw[:64].copy()

            found = on_core(run)

            assert word.tobytes() * 5 == found[: 5 * word.itemsize].tobytes()
            assert (found[5 * word.itemsize :] == 1).all()


@pytest.mark.parametrize(
    ("name", "dtype", "value", "word"),
    [
        ("nramset_half", half, 0.1, np.float16(0.1)),
        ("nramset_float", float32, 0.1, np.float32(0.1)),
        ("nramset_short", int16, -700, np.int16(-700)),
        ("nramset_int", int32, -70000, np.int32(-70000)),
    ],
)
def test_fills_of_one_type(name, dtype, value, word):
    """The name says the type: the number is converted to it, and nothing beyond the count is touched."""

    def run(mlu, heap):
        pointer = memory(mlu, heap, "nram", dtype, 64)
        getattr(mlu, name)(pointer, 5, value)
        return pointer.view.raw[:64].copy()

    found = on_core(run)

    assert word.tobytes() * 5 == found[: 5 * word.itemsize].tobytes()
    assert (found[5 * word.itemsize :] == 1).all()


@pytest.mark.parametrize("name", FILLS)
def test_a_fill_of_a_box(name):
    """Two elements, three times at 16 bytes, and that twice at 64 bytes."""

    def run(mlu, heap):
        pointer = memory(mlu, heap, FILLS[name], int8, 128)
        getattr(mlu, name)(pointer, 2, np.int32(9), 16, 2, 64, 1)
        return pointer.view.raw[:128].copy()

    expected = np.full((2, 4, 16), 1, np.uint8)
    expected[:, :3, :8] = np.frombuffer(np.array([9, 9], np.int32).tobytes(), np.uint8)

    assert np.array_equal(expected.reshape(-1), on_core(run))


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((4, 2, 64, 1), "repetitions of dst overlap each other"),
        ((16, 2, 32, 1), "repetitions of dst overlap each other"),
        ((16, -1, 64, 1), "iter1 = -1 is out of range"),
        ((16, 2, 64, 70000), "iter2 = 70000 is out of range"),
        ((16,), "iter1 is missing|stride1 is missing"),
        ((16, 2, 1 << 20, 1), "past its end"),
    ],
)
def test_a_box_is_checked(shape, said):
    """Repetitions that overlap, counts out of range, missing strides, memory that ends."""

    def run(mlu, heap):
        try:
            mlu.bang_write_value(mlu.nram(int32, 64), 2, np.int32(9), *shape)
        except Fault as fault:
            return fault
        return None

    fault = on_core(run)

    assert fault.intrinsic == "__bang_write_value"
    assert fault.legal
    assert fault.file.endswith("test_isa_fills.py")
    with pytest.raises(Fault, match=said):
        raise fault


def test_a_box_is_refused_like_a_dense_fill():
    """The wrong memory, no pointer, no elements, a const tensor."""

    def run(mlu, heap):
        nram, shape = mlu.nram(int32, 64), (16, 2, 64, 1)
        pointer = mlu.core.bind(heap.allocation, int32)
        heap.allocation.writable = False
        faults = []
        for call in (
            lambda: mlu.bang_write_value(pointer, 2, np.int32(9), *shape),
            lambda: mlu.bang_write_value(None, 2, np.int32(9), *shape),
            lambda: mlu.bang_write_value(nram, 0, np.int32(9), *shape),
            lambda: mlu.gdramset(pointer, 2, np.int32(9), *shape),
            lambda: mlu.bang_move(nram + 1, nram, 8, 16, 16, 2),
            lambda: mlu.bang_half2float(nram.cast(half), nram.cast(half), 2, 16, 16, 2),
        ):
            with pytest.raises(Fault) as caught:
                call()
            faults.append(str(caught.value))
        return faults

    said = ("points into GDRAM", "not a pointer", "0 elements", "const", "overlaps", "dst is half")
    for expected, found in zip(said, on_core(run), strict=True):
        assert expected in found


def test_an_asynchronous_fill_lands_at_the_sync():
    """It is done after a sync that waits for the move-DMA, not before, and after every barrier."""

    def run(mlu, heap):
        a = mlu.nram(float32, 8, [1] * 8)
        mlu.nramset_async(a, 2, np.float32(5), 16, 1)
        early = a[0]
        mlu.sync_io()
        still = a[0]
        mlu.sync_move()
        return float(early), float(still), a.view.array.tolist()

    assert (1.0, 1.0, [5, 5, 1, 1, 5, 5, 1, 1]) == on_core(run)
    assert 5.0 == on_core(run, effects="eager")[0]


def test_move_copies_bytes_in_the_compute_stream():
    """Dense, and in pieces at distances in bytes."""

    def run(mlu, heap):
        src, dst = mlu.nram(int8, 16, range(16)), mlu.nram(int8, 16, [-1] * 16)
        mlu.bang_move(dst, src, 3)
        mlu.bang_move(dst + 4, src, 2, 4, 0, 2)
        return dst.view.array.tolist()

    assert [0, 1, 2, -1, 0, 1, -1, -1, 0, 1, -1, -1, 0, 1, -1, -1] == on_core(run)


def test_write_zero():
    """Zeros, and nothing beyond."""

    def run(mlu, heap):
        a = mlu.nram(float32, 4, [1, 2, 3, 4])
        mlu.bang_write_zero(a + 1, 2)
        return a.view.array.tolist()

    assert [1, 0, 0, 4] == on_core(run)


@pytest.mark.parametrize("space", ["nram", "gdram", "sram", "ldram"])
def test_loads_and_stores_name_their_space(space):
    """They move one element, count as scalar accesses, and refuse pointers into other memories."""

    def run(mlu, heap):
        pointer = memory(mlu, heap, space, int16, 8)
        getattr(mlu, f"store_{space}")(pointer + 2, 70000)
        other = mlu.nram(int16, 4) if space != "nram" else mlu.core.bind(heap.allocation, int16)
        with pytest.raises(WrongSpace, match=f"__load_{space}: src points into"):
            getattr(mlu, f"load_{space}")(other)
        with pytest.raises(OutOfBounds, match=f"__store_{space}"):
            getattr(mlu, f"store_{space}")(pointer - 1, 0)
        found = getattr(mlu, f"load_{space}")(pointer + 2)
        counts = mlu.core.loads, mlu.core.stores
        return found, [sum(c) for c in counts]

    found, counts = on_core(run)

    assert np.int16(70000 - 65536) == found
    assert isinstance(found, np.int16)
    assert [1, 1] == counts


def test_pointer_tests():
    """In which memory a pointer lies; something else than a pointer is refused."""

    def run(mlu, heap):
        pointers = [memory(mlu, heap, s, int8, 4) for s in ("nram", "gdram", "sram", "ldram")] + [
            mlu.wram(int8, 64)
        ]
        with pytest.raises(RuleFault, match="__is_nram: pointer is 3"):
            mlu.is_nram(3)
        return [[test(p) for p in pointers] for test in (mlu.is_nram, mlu.is_dram, mlu.is_sram, mlu.is_wram)]

    nram, dram, sram, wram = on_core(run)

    assert [True, False, False, False, False] == nram
    assert [False, True, False, True, False] == dram
    assert [False, False, True, False, False] == sram
    assert [False, False, False, False, True] == wram


def test_asserts_end_the_kernel_with_their_text():
    """A true assertion passes; a false one is a fault with file and line."""

    def run(mlu, heap):
        check = mlu.assert_
        check(mlu.taskId == 0)
        texts = []
        for call in (
            lambda: check(0, "n > 0"),
            lambda: check(False),
            lambda: mlu.assert_fail("n > 0", "kernel.mlu", 7, "main"),
        ):
            with pytest.raises(RuleFault) as caught:
                call()
            texts.append(caught.value.message)
        return texts

    expected = [
        "assertion failed: n > 0",
        "assertion failed",
        "assertion `n > 0` failed at kernel.mlu:7 in main",
    ]

    assert expected == on_core(run)
    assert ISA["assert_"].spelling == "__assert"


# -- mutexes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_mutex_makes_a_read_modify_write_whole(seed):
    """Sixteen tasks count to 320 with scalar loads and stores, one at a time."""
    device = mlusim.Device("MLU370-X4")
    counter = device.put(np.zeros(1, np.int32))

    @kernel
    def count(mlu, p):
        for _ in range(20):
            mlu.bang_lock(0, 0)
            seen = p[0]
            mlu.load_gdram(p)
            p[0] = seen + 1
            mlu.bang_unlock(0, 0)

    device.launch(count, dim=16, args=(counter,), seed=seed)

    assert [320] == device.get(counter).tolist()


def test_mutexes_are_checked():
    """Taken twice, given back without being held, the wrong pair of numbers, never given back."""

    def run(mlu, heap):
        mlu.bang_lock(1, 1)
        for call, said in (
            (lambda: mlu.bang_lock(1, 1), "this core already holds the mutex"),
            (lambda: mlu.bang_unlock(2, 2), "this core does not hold the mutex"),
            (lambda: mlu.bang_lock(1, 2), "id0 = 1 and id1 = 2"),
        ):
            with pytest.raises(RuleFault, match=said):
                call()
        return True

    assert on_core(run)

    @kernel
    def keep(mlu):
        mlu.bang_lock(0, 0)

    with pytest.raises(Deadlock):
        mlusim.Device("MLU370-X4").launch(keep, dim=2)


def test_printf_takes_up_to_sixteen_values():
    """C style; what does not fit its format, or is too much, is refused."""
    device = mlusim.Device("MLU370-X4")

    @kernel
    def say(mlu, out):
        mlu.bang_printf("%c%.2f %g", 104, np.float16(0.5), ml_dtypes.bfloat16(2))
        mlu.bang_printf("%lld %llu %zu|%x %u %hhd|%p %p %*d%%", -(1 << 40), -1, 5, -1, -1, 300, out, 0, 3, 7)
        mlu.bang_printf("task %d of %d: %.1f", mlu.taskId, mlu.taskDim, np.float32(0.5))
        for call, said in (
            (lambda: mlu.bang_printf("%d", *range(17)), "17 values to print; legal: at most 16"),
            (lambda: mlu.bang_printf("%d"), "does not fit its 0 values"),
            (lambda: mlu.bang_printf("%5d", 1.5), "takes an integer for '%5d' and is given a float"),
            (lambda: mlu.bang_printf("%%%*d %f", 4, 1, 2), "takes a float for '%f' and is given an integer"),
            (
                lambda: mlu.bang_printf("%ld %d", 1 << 40, -(1 << 40)),
                "an integer of 32 bits for '%d' and is given -1099511627776",
            ),
            (lambda: mlu.bang_printf("%s", np.int32(12)), "takes a text for '%s' and is given an integer"),
            (lambda: mlu.bang_printf("%lu", out), "takes an integer for '%lu' and is given a pointer"),
            (lambda: mlu.bang_printf("%d", "text"), "takes an integer for '%d' and is given a text"),
        ):
            with pytest.raises(RuleFault, match=said):
                call()

    tensor = device.empty(4, np.float32)
    launch = device.launch(say, dim=2, args=[tensor])

    sized = f"-1099511627776 18446744073709551615 5|ffffffff 4294967295 44|{hex(tensor.address)} (nil)   7%"
    assert ("h0.50 2", sized, "task 0 of 2: 0.5", "h0.50 2", sized, "task 1 of 2: 0.5") == launch.printed
