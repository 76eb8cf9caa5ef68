"""Vector registers: each instruction by a loop over its lanes, sequences and random numbers made of them."""

import operator

import numpy as np
import pytest
from isa_exact import exact, same, samples
from isa_rows import on_core

import mlusim
from mlusim.bang import (
    NRAM2GDRAM,
    Register,
    float32,
    int32,
    kernel,
    uint32,
    vv_float,
    vv_half,
    vv_int16,
    vv_int32,
    vv_uint16,
    vv_uint32,
)
from mlusim.errors import Fault, RuleFault, Unsupported
from mlusim.isa.table import ISA
from mlusim.time.rates import VECTOR_START
from mlusim.time.timing import launch_us

BOARDS = ("MLU370-X4", "MLU590-H8")
DECLARE = {
    np.dtype(np.float32): vv_float,
    np.dtype(np.int32): vv_int32,
    np.dtype(np.uint32): vv_uint32,
    np.dtype(np.float16): vv_half,
    np.dtype(np.int16): vv_int16,
    np.dtype(np.uint16): vv_uint16,
}
LANES = 512  # of 32 bits
FLOAT, INT, UINT, HALF, SHORT, USHORT = DECLARE
ALL, WHOLE = tuple(DECLARE), (INT, UINT, SHORT, USHORT)


def lanes(dtype):
    """How many elements a register of *dtype* has."""
    return 2048 // np.dtype(dtype).itemsize


def high(dtype):
    """The upper half of a product of twice the bits."""
    return lambda a, b: (a * b) >> 8 * np.dtype(dtype).itemsize


OPERATIONS = {
    "add": (lambda _: operator.add, 2, ALL),
    "sub": (lambda _: operator.sub, 2, ALL),
    "mul": (lambda _: operator.mul, 2, ALL),
    "neg": (lambda _: operator.neg, 1, ALL),
    "not": (lambda _: operator.invert, 1, WHOLE),
    "and": (lambda _: operator.and_, 2, WHOLE),
    "or": (lambda _: operator.or_, 2, WHOLE),
    "mulh": (high, 2, WHOLE),
    "xor": (lambda _: operator.xor, 2, WHOLE),
    "trixor": (lambda _: lambda a, b, c: a ^ b ^ c, 3, WHOLE),
}


def loaded(dtype, values):
    """A register with *values*."""
    register = DECLARE[dtype]()
    register.values = values.copy()
    return register


def stored(mlu, register, *count):
    """The elements of a register, by way of NRAM."""
    memory = mlu.nram(register.dtype, register.lanes)
    memory.view.array[:] = 77
    mlu.vv_store(memory, register, *count)
    return memory.view.array.copy()


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_each_lane_is_computed_by_itself(name, board):
    """Registers and numbers as sources, every type of the row; the destination may be a source."""
    operation_of, arity, types = OPERATIONS[name]
    for dtype in types:
        operation = operation_of(dtype)
        sources = [samples(dtype, lanes(dtype), n) for n in range(arity)]

        def run(mlu, _, dtype=dtype, sources=sources):
            given = [loaded(dtype, values) for values in sources]
            scalars = [*given[:-1], sources[-1][-1]]
            dst, other = DECLARE[dtype](), DECLARE[dtype]()
            getattr(mlu, f"vv_{name}")(dst, *given)
            getattr(mlu, f"vv_{name}")(other, *scalars)
            getattr(mlu, f"vv_{name}")(given[0], *given)
            return [stored(mlu, register) for register in (dst, other, given[0])]

        vectors, scalars, in_place = on_core(run, board=board)

        assert vectors.tobytes() == in_place.tobytes()
        for i in range(lanes(dtype)):
            lane = [values[i] for values in sources]
            expected = [exact(operation, dtype, *lane), exact(operation, dtype, *lane[:-1], sources[-1][-1])]

            assert same(expected[0], vectors[i]), (dtype, lane)
            assert same(expected[1], scalars[i]), (dtype, lane)


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("dtype", DECLARE, ids=str)
def test_move_and_index(dtype, board):
    """One number in every lane, another register's lanes, and a sequence from start by step."""

    def run(mlu, _):
        moved, copied, counted = (DECLARE[dtype]() for _ in range(3))
        mlu.vv_move(moved, 7)
        mlu.vv_index(counted, 5, 3)
        mlu.vv_move(copied, counted)
        mlu.vv_move(counted, 0)
        return stored(mlu, moved), stored(mlu, copied)

    moved, counted = on_core(run, board=board)
    for i in range(lanes(dtype)):
        assert 7 == moved[i]
        assert same(
            exact(
                lambda a, b: a + b,
                dtype,
                dtype.type(5),
                exact(lambda a, b: a * b, dtype, dtype.type(i), dtype.type(3)),
            ),
            counted[i],
        )


@pytest.mark.parametrize("count", [1, 31, 512])
def test_store_writes_as_many_elements_as_asked(count):
    """The rest of the memory stays."""

    def run(mlu, _):
        register = vv_int32()
        mlu.vv_index(register, 0, 1)
        return stored(mlu, register, count), stored(mlu, register)

    part, whole = on_core(run)
    for i in range(LANES):
        assert (i if i < count else 77) == part[i]
        assert i == whole[i]


def test_the_length_is_that_of_a_register_in_bytes():
    """512 elements of 32 bits."""
    assert 4 * LANES == on_core(lambda mlu, _: mlu.vv_get_length())


def philox(counter, key, rounds=10):
    """Philox 4x32 of one counter, as published."""
    for _ in range(rounds):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [
            (b >> 32) ^ counter[1] ^ key[0],
            b & 0xFFFFFFFF,
            (a >> 32) ^ counter[3] ^ key[1],
            a & 0xFFFFFFFF,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


@kernel
def random_numbers(mlu, out, seed):
    word = [vv_uint32() for _ in range(4)]
    high0, high1, low0, low1 = (vv_uint32() for _ in range(4))
    mlu.vv_index(word[0], mlu.taskId * 512, 1)
    for other in word[1:]:
        mlu.vv_move(other, 0)
    key = [seed, 1]
    for _ in range(10):
        mlu.vv_mulh(high0, word[0], 0xD2511F53)
        mlu.vv_mul(low0, word[0], 0xD2511F53)
        mlu.vv_mulh(high1, word[2], 0xCD9E8D57)
        mlu.vv_mul(low1, word[2], 0xCD9E8D57)
        mlu.vv_trixor(word[0], high1, word[1], key[0])
        mlu.vv_trixor(word[2], high0, word[3], key[1])
        mlu.vv_move(word[1], low1)
        mlu.vv_move(word[3], low0)
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    numbers = mlu.nram(uint32, 512)
    for n in range(4):
        mlu.vv_store(numbers, word[n])
        mlu.memcpy(out + (4 * mlu.taskId + n) * 512, numbers, 2048, NRAM2GDRAM)


def test_random_numbers_of_registers_are_those_of_the_generator():
    """Ten rounds of Philox on two tasks against a loop over counters."""
    device = mlusim.Device("MLU590-H8")
    out = device.empty((2, 4, 512), uint32)
    device.launch(random_numbers, dim=2, args=(out, 42), observe=("initcheck", "racecheck"))
    numbers = device.get(out)
    for task in range(2):
        for i in range(0, 512, 37):
            assert philox([task * 512 + i, 0, 0, 0], [42, 1]) == numbers[task, :, i].tolist()


def refusals(mlu, _):
    """Bad calls."""
    numbers, empty, fractions = vv_int32(), vv_int32(), vv_float()
    mlu.vv_move(numbers, 1)
    mlu.vv_move(fractions, 1)
    memory = mlu.nram(int32, 512)
    for call in (
        lambda: mlu.vv_move(memory, 1),
        lambda: mlu.vv_move(numbers, memory),
        lambda: mlu.vv_add(numbers, numbers, empty),
        lambda: mlu.vv_add(numbers, numbers, fractions),
        lambda: mlu.vv_xor(fractions, fractions, fractions),
        lambda: mlu.vv_trixor(numbers, numbers, numbers, "3"),
        lambda: mlu.vv_store(memory, empty),
        lambda: mlu.vv_store(memory, fractions),
        lambda: mlu.vv_store(memory, 3),
        lambda: mlu.vv_store(memory, numbers, 513),
        lambda: mlu.vv_store(memory + 1, numbers),
    ):
        try:
            call()
        except Fault as fault:
            yield fault


def test_bad_calls_are_refused_with_a_sentence():
    """Memory for registers, registers without a value, mixed types, counts beyond the register."""
    said = [
        "dst is <int32 * NRAM",
        "src is <int32 * NRAM",
        "src1 is a register that nothing has written",
        "src1 is a register of float, dst of int32",
        "dst is a register of float",
        "src2 is '3'",
        "register is one that nothing has written",
        "register is of float and dst of int32",
        "register is 3",
        "elem_count = 513 is out of range",
        "reach 4 bytes past its end",
    ]
    faults = on_core(lambda mlu, heap: list(refusals(mlu, heap)))

    assert len(said) == len(faults)
    for text, fault in zip(said, faults, strict=True):
        assert text in fault.message
        assert fault.file == __file__


@pytest.mark.parametrize("name", [n for n in ISA if n.startswith("vv_")])
def test_registers_came_with_372(name):
    """MLU270 has none of them."""
    with pytest.raises(Unsupported, match="from __BANG_ARCH__ 372 on"):
        on_core(lambda mlu, _: getattr(mlu, name)(), board="MLU270-S4")


@pytest.mark.parametrize("name", [n for n in ISA if n.startswith("vv_") and n != "vv_get_length"])
def test_registers_are_not_for_memory_cores(name):
    """A memory core has no vector unit; only the length of a register is a constant there, too."""

    def body(mlu, _):
        if mlu.is_mpu():
            getattr(mlu, name)()

    with pytest.raises(Unsupported, match="memory core"):
        mlusim.Device("MLU370-X4").launch(body, dim=4, kind=mlusim.UNION1, args=(0,))


def test_an_instruction_on_registers_takes_a_register_s_lines():
    """2048 bytes are 16 lines of 128 bytes, and the start of a vector instruction."""

    @kernel
    def only(mlu):
        register = vv_uint32()
        mlu.vv_move(register, 1)
        mlu.vv_add(register, register, register)

    launch = mlusim.Device("MLU370-X4").launch(only)

    assert (
        pytest.approx(launch_us(mlusim.find_board("MLU370-X4")) + 2 * (16 + VECTOR_START.value) / 1000)
        == launch.time_us
    )
    assert 1 == launch.instructions["__vv_add"]


def test_a_register_shows_what_it_is():
    """For a debugger."""
    register = vv_float()

    assert "<vv_float>" == repr(register)
    register.values = np.arange(512, dtype=np.float32)
    assert "0. 1. 2. 3." in repr(register)
    assert isinstance(register, Register)
    assert register.dtype is float32


def test_what_is_no_number_is_refused_by_name():
    """The fault names the argument."""
    with pytest.raises(RuleFault, match="start is None"):
        on_core(lambda mlu, _: mlu.vv_index(vv_int32(), None, 1))
