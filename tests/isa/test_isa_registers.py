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
    int8,
    int32,
    kernel,
    uint8,
    uint32,
    vv_bool,
    vv_float,
    vv_half,
    vv_int8,
    vv_int16,
    vv_int32,
    vv_uint8,
    vv_uint16,
    vv_uint32,
)
from mlusim.errors import Fault, OutOfBounds, RuleFault, Unsupported
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
    np.dtype(np.int8): vv_int8,
    np.dtype(np.uint8): vv_uint8,
}
LANES = 64  # of 32 bits
FLOAT, INT, UINT, HALF, SHORT, USHORT, CHAR, UCHAR = DECLARE
ALL, WHOLE = tuple(DECLARE), (INT, UINT, SHORT, USHORT, CHAR, UCHAR)


def lanes(dtype):
    """How many elements a register of *dtype* has."""
    return 256 // np.dtype(dtype).itemsize


def high(dtype):
    """The upper half of a product of twice the bits."""
    return lambda a, b: (a * b) >> 8 * np.dtype(dtype).itemsize


def shifted(shift, dtype):
    """A shift of Python's integers, by a count without a sign; *shift* takes the number, its bits, the count and the width."""
    bits = 8 * np.dtype(dtype).itemsize
    return lambda a, b: shift(a % (1 << bits), a, b % (1 << bits), bits)


def arithmetic(unsigned, a, count, bits):
    """To the right, with the sign."""
    return (unsigned - (1 << bits) if unsigned >> (bits - 1) else unsigned) >> min(count, bits)


COMPARED = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
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
    "land": (lambda _: lambda a, b: int(bool(a) and bool(b)), 2, ALL),
    "lor": (lambda _: lambda a, b: int(bool(a) or bool(b)), 2, ALL),
    "lxor": (lambda _: lambda a, b: int(bool(a) != bool(b)), 2, ALL),
    "lnot": (lambda _: lambda a: int(not a), 1, ALL),
    "sll": (lambda dtype: shifted(lambda u, _, n, bits: u << n if n < bits else 0, dtype), 2, WHOLE),
    "srl": (lambda dtype: shifted(lambda u, _, n, bits: u >> n if n < bits else 0, dtype), 2, WHOLE),
    "sra": (lambda dtype: shifted(arithmetic, dtype), 2, WHOLE),
    **{
        name: (lambda _, compare=compare: lambda a, b: int(compare(a, b)), 2, ALL)
        for name, compare in COMPARED.items()
    },
}
MASKED = [
    "move",
    "add",
    "sub",
    "mul",
    "neg",
    "and",
    "or",
    "xor",
    "not",
    "land",
    "lor",
    "lxor",
    "lnot",
    "div",
    "rem",
]


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
        if name in ("sll", "srl", "sra"):  # counts within the bits, and beyond them
            sources[1] = np.arange(lanes(dtype)).astype(dtype) % dtype.type(40)

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


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
def test_integers_are_divided_as_in_c(dtype):
    """Toward 0, and the remainder has the sign of the dividend; the smallest by -1 wraps."""
    a, b = samples(dtype, lanes(dtype), 1), samples(dtype, lanes(dtype), 2)
    a[0], b[0] = np.iinfo(dtype).min, dtype.type(-1 if dtype.kind == "i" else 1)
    b[b == 0] = 3

    def run(mlu, _):
        made = [DECLARE[dtype]() for _ in range(3)]
        mlu.vv_div(made[0], loaded(dtype, a), loaded(dtype, b))
        mlu.vv_rem(made[1], loaded(dtype, a), loaded(dtype, b))
        mlu.vv_rem(made[2], loaded(dtype, a), 7)
        return [stored(mlu, register) for register in made]

    quotients, remainders, of_seven = on_core(run)
    for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        expected = [quotient, x - quotient * y, abs(x) % 7 * (1 if x >= 0 else -1)]
        made = [quotients[i], remainders[i], of_seven[i]]
        assert [np.int64(value).astype(dtype) for value in expected] == made


@pytest.mark.parametrize("dtype", [FLOAT, HALF], ids=str)
def test_floats_are_divided_and_rounded_once(dtype):
    """Zeros of both signs, infinities and NaN among them; a double has more than twice the bits."""
    a, b = samples(dtype, lanes(dtype), 1), samples(dtype, lanes(dtype), 2)

    def run(mlu, _):
        dst = DECLARE[dtype]()
        mlu.vv_div(dst, loaded(dtype, a), loaded(dtype, b))
        return stored(mlu, dst)

    quotients = on_core(run)
    with np.errstate(all="ignore"):
        for i in range(lanes(dtype)):
            assert same(dtype.type(np.float64(a[i]) / np.float64(b[i])), quotients[i])


def some_lanes(mlu, dtype):
    """A mask that has two of three lanes of a register of *dtype* set."""
    mask = vv_bool()
    mlu.vv_setp_ne(mask, loaded(dtype, (np.arange(lanes(dtype)) % 3).astype(dtype)), 0)
    return mask


@pytest.mark.parametrize("how", ["m", "z"])
@pytest.mark.parametrize("name", MASKED)
def test_a_mask_leaves_lanes_out(name, how):
    """They stay, or become 0; the others are what the row without a mask gives."""
    arity = {"move": 1, "neg": 1, "not": 1, "lnot": 1}.get(name, 2)
    for dtype in (INT, CHAR, USHORT, *(FLOAT, HALF) * (name == "div")):

        def run(mlu, _, dtype=dtype):
            sources = [loaded(dtype, samples(dtype, lanes(dtype), n)) for n in range(arity)]
            if name in ("div", "rem"):
                sources[1].values[sources[1].values == 0] = 5
            plain, dst, mask = DECLARE[dtype](), DECLARE[dtype](), some_lanes(mlu, dtype)
            mlu.vv_move(dst, 77)
            getattr(mlu, f"vv_{name}")(plain, *sources)
            getattr(mlu, f"vv_{name}_{how}")(dst, *sources, mask)
            return plain.values, stored(mlu, dst)

        plain, masked = on_core(run)
        for i in range(lanes(dtype)):
            assert same(plain[i] if i % 3 else 77 * (how == "m"), masked[i])


@pytest.mark.parametrize("name", COMPARED)
def test_comparisons_make_masks(name):
    """Of registers, and of a register and a number; there are as many lanes as the registers have."""
    for dtype in ALL:
        a, b = samples(dtype, lanes(dtype), 1), samples(dtype, lanes(dtype), 2)
        b[::5] = a[::5]

        def run(mlu, _, dtype=dtype, a=a, b=b):
            masks = vv_bool(), vv_bool()
            getattr(mlu, f"vv_setp_{name}")(masks[0], loaded(dtype, a), loaded(dtype, b))
            getattr(mlu, f"vv_setp_{name}")(masks[1], loaded(dtype, a), a[3])
            return [mask.values for mask in masks]

        vectors, number = on_core(run)
        for i in range(lanes(dtype)):
            assert [COMPARED[name](a[i], b[i]), COMPARED[name](a[i], a[3])] == [vectors[i], number[i]]
        assert {2} >= {*vectors[lanes(dtype) :].tolist()}


def test_masks_are_combined_and_chosen_by():
    """Where one has fewer lanes, the result has; a select takes the first where the mask is set."""

    def run(mlu, _):
        wide, narrow, made = some_lanes(mlu, INT), some_lanes(mlu, SHORT), [vv_bool() for _ in range(5)]
        mlu.vv_move(made[0], narrow)
        mlu.vv_not(made[1], narrow)
        for n, name in enumerate(("and", "or", "xor")):
            getattr(mlu, f"vv_{name}")(made[n + 2], made[0], wide)
        dst = vv_int32()
        mlu.vv_select(
            dst, loaded(INT, np.arange(LANES, dtype=INT)), loaded(INT, np.full(LANES, -1, INT)), wide
        )
        return [mask.values for mask in made], stored(mlu, dst)

    (moved, inverted, *combined), chosen = on_core(run)
    for i in range(2 * LANES):
        assert [i % 3 > 0, i % 3 == 0] == [moved[i], inverted[i]]
        expected = [i % 3 > 0, i % 3 > 0, False] if i < LANES else [2, 2, 2]
        assert expected == [mask[i] for mask in combined]
    assert [i if i % 3 else -1 for i in range(LANES)] == chosen.tolist()


@pytest.mark.parametrize("count", [1, 100, 256])
def test_load_reads_as_many_elements_as_asked(count):
    """The lanes behind them are 0; with a mask they stay or become 0, and a store leaves what is not set."""

    def run(mlu, _):
        memory = mlu.nram(int8, 256, np.arange(256).astype(CHAR))
        part, whole, kept, cleared = (vv_int8() for _ in range(4))
        mlu.vv_load(part, memory, count)
        mlu.vv_load(whole, memory)
        mask, made = some_lanes(mlu, CHAR), [part.values]
        for counts in ((), (count,)):  # in front of the mask
            mlu.vv_move(kept, 5)
            mlu.vv_load_m(kept, memory, *counts, mask)
            mlu.vv_load_z(cleared, memory, *counts, mask)
            target = mlu.nram(int8, 256, np.full(256, 9, CHAR))
            mlu.vv_store_m(target, whole, *counts, mask)
            made += kept.values, cleared.values, target.view.array.copy()
        return [whole.values, *made]

    made = on_core(run)
    for i in range(256):
        value = CHAR.type(np.int64(i).astype(CHAR))
        masked = [value] * 3 if i % 3 else [5, 0, 9]
        counted = masked if i < count else [5, 0, 9]
        expected = [value, value if i < count else 0, *masked, *counted]
        assert expected == [values[i] for values in made]


def test_a_masked_store_needs_the_memory_that_it_writes():
    """What ends in front of a lane that is not set is enough."""

    def run(mlu, _):
        register, mask = vv_int32(), vv_bool()
        mlu.vv_index(register, 0, 1)
        mlu.vv_setp_lt(mask, register, 10)
        memory = mlu.nram(int32, 10, np.zeros(10, INT))
        mlu.vv_store_m(memory, register, mask)
        with pytest.raises(OutOfBounds, match="the mask has lane 9 set, the length of dst is 9"):
            mlu.vv_store_m(memory + 1, register, mask)
        return memory.view.array.copy()

    assert list(range(10)) == on_core(run).tolist()


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
                exact(lambda a, b: a * b, dtype, np.int64(i).astype(dtype), dtype.type(3)),
            ),
            counted[i],
        )


@pytest.mark.parametrize("count", [1, 31, 64])
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
    """64 elements of 32 bits."""
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
    mlu.vv_index(word[0], mlu.taskId * LANES, 1)
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
    numbers = mlu.nram(uint32, LANES)
    for n in range(4):
        mlu.vv_store(numbers, word[n])
        mlu.memcpy(out + (4 * mlu.taskId + n) * LANES, numbers, 256, NRAM2GDRAM)


def test_random_numbers_of_registers_are_those_of_the_generator():
    """Ten rounds of Philox on two tasks against a loop over counters."""
    device = mlusim.Device("MLU590-H8")
    out = device.empty((2, 4, LANES), uint32)
    device.launch(random_numbers, dim=2, args=(out, 42), observe=("initcheck", "racecheck"))
    numbers = device.get(out)
    for task in range(2):
        for i in range(0, LANES, 7):
            assert philox([task * LANES + i, 0, 0, 0], [42, 1]) == numbers[task, :, i].tolist()


def refusals(mlu, _):
    """Bad calls."""
    numbers, empty, fractions = vv_int32(), vv_int32(), vv_float()
    mlu.vv_move(numbers, 1)
    mlu.vv_move(fractions, 1)
    memory = mlu.nram(int32, LANES)
    divisors, last = loaded(INT, np.r_[np.ones(61), 0, 1, 0].astype(INT)), vv_bool()
    mlu.vv_setp_eq(last, loaded(INT, np.arange(LANES, dtype=INT)), LANES - 1)
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
        lambda: mlu.vv_store(memory, numbers, 65),
        lambda: mlu.vv_store(memory + 1, numbers),
        lambda: mlu.vv_load(fractions, memory),
        lambda: mlu.vv_load(numbers, memory, 65),
        lambda: mlu.vv_move_m(numbers, 1, numbers),
        lambda: mlu.vv_move_m(numbers, 1, vv_bool()),
        lambda: mlu.vv_move_z(vv_half(), 1, some_lanes(mlu, INT)),
        lambda: mlu.vv_move_m(empty, 1, some_lanes(mlu, INT)),
        lambda: mlu.vv_move_m(vv_bool(), some_lanes(mlu, INT), some_lanes(mlu, INT)),
        lambda: mlu.vv_div(numbers, numbers, divisors),
        lambda: mlu.vv_rem(numbers, numbers, 0),
        lambda: mlu.vv_div_z(numbers, numbers, divisors, last),
        lambda: mlu.vv_store_m(memory, numbers, 65, last),
        lambda: mlu.vv_setp_eq(numbers, numbers, numbers),
        lambda: mlu.vv_setp_eq(vv_bool(), 1, numbers),
        lambda: mlu.vv_move(vv_bool(), 1),
        lambda: mlu.vv_store(mlu.nram(uint8, 256), some_lanes(mlu, CHAR)),
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
        "elem_count = 65 is out of range",
        "reach 4 bytes past its end",
        "dst is a register of float, src of int32",
        "elem_count = 65 is out of range",
        "mask is <vv_int32",
        "mask is one that nothing has written",
        "the lanes of mask are 64, those of the register 128",
        "dst is a register that nothing has written, and the mask may leave lanes",
        "dst is a register of bool",
        "src1[61] is 0, and integers cannot be divided by it",
        "src1 is 0, and integers",
        "src1[63] is 0, and integers",
        "elem_count = 65 is out of range",
        "dst is a register of int32",
        "src0 is 1",
        "src is 1",
        "register is of bool and dst of uint8",
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
    """256 bytes are 2 lines of 128 bytes, and the start of a vector instruction."""

    @kernel
    def only(mlu):
        register = vv_uint32()
        mlu.vv_move(register, 1)
        mlu.vv_add(register, register, register)

    launch = mlusim.Device("MLU370-X4").launch(only)

    assert (
        pytest.approx(launch_us(mlusim.find_board("MLU370-X4")) + 2 * (2 + VECTOR_START.value) / 1000)
        == launch.time_us
    )
    assert 1 == launch.instructions["__vv_add"]


def test_a_register_shows_what_it_is():
    """For a debugger."""
    register = vv_float()

    assert "<vv_float>" == repr(register)
    register.values = np.arange(LANES, dtype=np.float32)
    assert "0. 1. 2. 3." in repr(register)
    assert isinstance(register, Register)
    assert register.dtype is float32


def test_what_is_no_number_is_refused_by_name():
    """The fault names the argument."""
    with pytest.raises(RuleFault, match="start is None"):
        on_core(lambda mlu, _: mlu.vv_index(vv_int32(), None, 1))
