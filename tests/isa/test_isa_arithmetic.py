"""Elementwise rows against definitions by loops over exact rational numbers."""

import math
import operator
from fractions import Fraction

import numpy as np
import pytest
from isa_exact import FLOATS, INTS, TAILS, exact, nan_wins, nearest, number_wins, same, samples
from isa_rows import execute, on_core

from mlusim.isa.table import ISA


def check_elementwise(name, dtype, count, reference, *, scalar=False, seed=0):
    """Compare an intrinsic with its definition, element by element."""
    arity = 1 if "src" in ISA[name].operands else 2
    sources = [samples(dtype, count, seed + n) for n in range(arity)]
    names = ["src"] if arity == 1 else ["src0", "src1"]
    arguments = dict(zip(names, sources, strict=True))
    if scalar:
        arguments["value"] = samples(dtype, 20, seed + 9)[-1]
    after = execute(name, dst=np.zeros(count, dtype), elem_count=count, **arguments)["dst"]
    for i in range(count):
        operands = [s[i] for s in sources] + ([arguments["value"]] if scalar else [])

        assert same(reference(*operands), after[i]), (name, dtype, operands, after[i])


ARITHMETIC = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


@pytest.mark.parametrize("dtype", FLOATS + INTS, ids=str)
@pytest.mark.parametrize("op", ARITHMETIC)
def test_arithmetic_rounds_once_to_its_own_type(op, dtype):
    """Add, sub and mul, with vectors and scalars, at every tail length."""
    for count in TAILS:
        check_elementwise(f"bang_{op}", dtype, count, lambda *x: exact(ARITHMETIC[op], dtype, *x), seed=count)
    check_elementwise(
        f"bang_{op}_scalar", dtype, 65, lambda *x: exact(ARITHMETIC[op], dtype, *x), scalar=True
    )


def test_addition_of_int64_wraps():
    """Sums of 64 bits, none of them through a float."""
    a = np.array([(1 << 62) + 1, (1 << 63) - 1, -5], np.int64)
    b = np.array([1, 1, 3], np.int64)

    after = execute("bang_add", "MLU590-H8", dst=np.zeros(3, np.int64), src0=a, src1=b, elem_count=3)["dst"]

    assert [(1 << 62) + 2, -(1 << 63), -2] == after.tolist()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", ARITHMETIC)
def test_the_older_spellings_with_a_scalar(op, dtype):
    """Add, sub and mul with ``_const`` in their names."""
    for count in TAILS:
        check_elementwise(
            f"bang_{op}_const",
            dtype,
            count,
            lambda *x: exact(ARITHMETIC[op], dtype, *x),
            scalar=True,
            seed=count,
        )


def toward_zero(op, a, b, dtype):
    """The exact result, cut off."""
    a, b = float(a), float(b)
    if math.isfinite(a) and math.isfinite(b):
        return nearest(ARITHMETIC[op](Fraction(a), Fraction(b)), dtype, "tz")
    return ARITHMETIC[op](a, b)


@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2]], ids=str)
@pytest.mark.parametrize("op", ARITHMETIC)
def test_arithmetic_toward_zero(op, dtype):
    """The exact result, cut off."""
    for seed in range(4):
        check_elementwise(f"bang_{op}_tz", dtype, 129, lambda a, b: toward_zero(op, a, b, dtype), seed=seed)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_square_and_absolute_value(dtype):
    """Square rounds once; the absolute value is exact."""
    check_elementwise("bang_square", dtype, 65, lambda x: exact(lambda v: v * v, dtype, x))
    check_elementwise("bang_abs", dtype, 65, lambda x: math.fabs(float(x)))
    check_elementwise("bang_neg", dtype, 65, lambda x: -float(x))


def quotient(a, b):
    """IEEE division of Python floats."""
    if b == 0:
        sign = math.copysign(1, a) * math.copysign(1, b)
        return math.nan if a == 0 or math.isnan(a) else sign * math.inf
    return a / b


def divided(a, b, dtype):
    """The quotient rounded once."""
    a, b = float(a), float(b)
    if math.isfinite(a) and math.isfinite(b) and b != 0:
        return nearest(Fraction(a) / Fraction(b), dtype)
    return quotient(a, b)


@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2]], ids=str)
def test_float_division_rounds_once(dtype):
    """Every pair of special values, and vectors at every tail length."""
    for count in TAILS:
        check_elementwise("bang_div", dtype, count, lambda a, b: divided(a, b, dtype), seed=count)


@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2]], ids=str)
def test_division_with_room_for_reciprocals(dtype, board):
    """The form with five arguments: the reciprocal, rounded, then the product, rounded; on 372, too."""
    for count in TAILS:
        a, b = samples(dtype, count, count), samples(dtype, count, count + 1)
        expected, room = [], []
        for x, y in zip(a, b, strict=True):
            room.append(divided(1.0, y, dtype))
            expected.append(exact(operator.mul, dtype, x, room[-1]))

        def run(mlu, _, a=a, b=b, named=bool(count % 2)):
            dst, addition, first, second = (mlu.nram(a.dtype, a.size) for _ in range(4))
            first.view.array[:], second.view.array[:] = a, b
            if named:
                mlu.bang_div(dst, first, second, src_addition=addition, elem_count=a.size)
            else:
                mlu.bang_div(dst, first, second, addition, a.size)
            return dst.view.array.copy(), addition.view.array.copy()

        quotients, reciprocals = on_core(run, board=board)
        after = execute(
            "bang_div_addition",
            board,
            dst=np.zeros(count, dtype),
            src0=a,
            src1=b,
            src_addition=np.zeros(count, dtype),
            elem_count=count,
        )

        assert all(map(same, room, reciprocals))
        assert all(map(same, expected, quotients))
        assert after["dst"].tobytes() == quotients.tobytes()
        assert after["src_addition"].tobytes() == reciprocals.tobytes()


@pytest.mark.parametrize("dtype", INTS[1:3] + INTS[4:], ids=str)
def test_integer_division_and_remainder_are_those_of_c(dtype):
    """Toward zero, the remainder with the sign of the dividend; the smallest integer by -1 wraps."""
    a, b = samples(dtype, 129, 1), samples(dtype, 129, 2)
    b[b == 0] = 1
    if dtype.kind == "i":
        a[5:7], b[5:7] = np.iinfo(dtype).min, -1
    given_vectors = {"dst": np.zeros(129, dtype), "src0": a, "src1": b, "elem_count": 129}
    quotients, remainders = (
        execute("bang_div", **given_vectors)["dst"],
        execute("bang_rem", **given_vectors)["dst"],
    )
    for x, y, q, r in zip(a.tolist(), b.tolist(), quotients.tolist(), remainders.tolist(), strict=True):
        expected = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)

        assert exact(lambda v: v, dtype, expected) == q
        assert x - y * expected == r


@pytest.mark.parametrize("dtype", [FLOATS[0], FLOATS[2]], ids=str)
def test_float_remainder_is_fmod(dtype):
    """The remainder of floats is exact."""

    def fmod(a, b):
        a, b = float(a), float(b)
        return math.nan if math.isinf(a) or b == 0 or math.isnan(a + b) else math.fmod(a, b)

    check_elementwise("bang_rem", dtype, 129, fmod)


COMPARE = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


@pytest.mark.parametrize("dtype", FLOATS + INTS, ids=str)
@pytest.mark.parametrize("op", COMPARE)
def test_comparisons_give_one_or_zero_in_the_same_type(op, dtype):
    """NaN compares false but for "not equal"; bits are packed from the least significant on."""
    compare = COMPARE[op]

    def reference(a, b):
        return float(compare(float(a), float(b)))

    for count in TAILS:
        check_elementwise(f"bang_{op}", dtype, count, reference, seed=count)
        a, b = samples(dtype, count, count), samples(dtype, count, count + 1)
        size = -(-count // 8)
        after = execute(
            f"bang_{op}_bitindex", dst=np.zeros(size, np.uint8), src0=a, src1=b, elem_count=count
        )["dst"]
        for i in range(8 * size):
            bit = after[i // 8] >> (i % 8) & 1

            assert bit == (reference(a[i], b[i]) if i < count else 0)
    check_elementwise(f"bang_{op}_scalar", dtype, 65, reference, scalar=True)


LOGIC = {
    "and": lambda a, b: a != 0 and b != 0,
    "or": lambda a, b: a != 0 or b != 0,
    "xor": lambda a, b: (a != 0) != (b != 0),
}


@pytest.mark.parametrize("dtype", FLOATS + INTS, ids=str)
@pytest.mark.parametrize("op", LOGIC)
def test_logic_takes_anything_but_zero_as_true(op, dtype):
    """-0.0 is false, NaN is true."""

    def reference(*operands):
        return float(LOGIC[op](*map(float, operands)))

    check_elementwise(f"bang_{op}", dtype, 129, reference)
    check_elementwise(f"bang_{op}_scalar", dtype, 65, reference, scalar=True)
    check_elementwise("bang_not", dtype, 65, lambda a: float(float(a) == 0))


BITWISE = {"band": operator.and_, "bor": operator.or_, "bxor": operator.xor}


@pytest.mark.parametrize("dtype", INTS, ids=str)
@pytest.mark.parametrize("op", BITWISE)
def test_bitwise_rows(op, dtype):
    """And, or, exclusive or, and not, on the bits of integers."""
    check_elementwise(f"bang_{op}", dtype, 129, lambda a, b: exact(BITWISE[op], dtype, a, b))
    check_elementwise("bang_bnot", dtype, 65, lambda a: exact(operator.invert, dtype, a))
    check_elementwise(
        "bang_band_scalar", dtype, 65, lambda a, b: exact(operator.and_, dtype, a, b), scalar=True
    )


@pytest.mark.parametrize("op", BITWISE)
def test_bitwise_rows_take_floats_by_their_bits(op):
    """As a kernel has it that combines masks which lie in float memory."""
    a, b = (np.array(x, np.uint32) for x in ([0, 1, 0x7F800001, 0xFFFFFFFF], [1, 1, 0x80000001, 0x0F0F0F0F]))

    after = execute(
        f"bang_{op}",
        dst=np.zeros(4, np.float32),
        src0=a.view(np.float32),
        src1=b.view(np.float32),
        elem_count=4,
    )

    assert [BITWISE[op](int(x), int(y)) for x, y in zip(a, b, strict=True)] == after["dst"].view(
        np.uint32
    ).tolist()


def test_masking_bytes_kills_nan_and_infinity():
    """The idiom of the kernels: a mask of 0 or -1 on the int8 view of floats."""
    data = np.array([math.nan, 1.5, math.inf, -2.0], np.float32)
    mask = np.array([0, -1, 0, -1], np.int32)

    after = execute(
        "bang_band",
        dst=np.zeros(16, np.int8),
        src0=data.view(np.int8),
        src1=mask.view(np.int8),
        elem_count=16,
    )["dst"]

    assert [0.0, 1.5, 0.0, -2.0] == after.view(np.float32).tolist()


def test_band_scalar_takes_the_bits_of_floats():
    """A float vector and a float scalar are combined bit by bit."""
    after = execute(
        "bang_band_scalar",
        dst=np.zeros(3, np.float32),
        src=np.array([-1.5, 2.0, math.nan], np.float32),
        value=np.uint32(0x7FFFFFFF).view(np.float32),
        elem_count=3,
    )["dst"]

    assert [1.5, 2.0] == after[:2].tolist()


def test_shift_right_fills_with_zeros():
    """A logical shift of uint32."""
    for shift in (0, 1, 31):
        after = execute(
            "bang_srl",
            dst=np.zeros(2, np.uint32),
            src=np.array([0x80000001, 7], np.uint32),
            shift=shift,
            elem_count=2,
        )["dst"]

        assert [0x80000001 >> shift, 7 >> shift] == after.tolist()


# -- minima and maxima -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("maximum", number_wins(max)),
        ("minimum", number_wins(min)),
        ("maxequal", number_wins(max)),
        ("minequal", number_wins(min)),
        ("nan_maximum", nan_wins(max)),
        ("nan_minimum", nan_wins(min)),
        ("maxeq_scalar", number_wins(max)),
        ("mineq_scalar", number_wins(min)),
    ],
)
def test_extremes_have_their_behaviour_toward_nan(name, reference):
    """A number is preferred, or a NaN propagates; integers where the row takes them."""
    row = ISA[f"bang_{name}"]
    for dtype in row.operands["dst"].dtypes:
        for seed in range(3):
            check_elementwise(
                row.name, dtype.dtype, 129, reference, scalar=name.endswith("scalar"), seed=seed
            )


# -- cycle -----------------------------------------------------------------------------------------

CYCLE = (
    {f"cycle_{k}": lambda a, b, d, f=f: exact(f, d, a, b) for k, f in {**ARITHMETIC, **BITWISE}.items()}
    | {
        f"cycle_{k}": lambda a, b, d, f=f: float(f(float(a), float(b)))
        for k, f in {**COMPARE, **LOGIC}.items()
    }
    | {
        "cycle_add_tz": lambda a, b, d: toward_zero("add", a, b, d),
        "cycle_maxequal": lambda a, b, d: number_wins(max)(a, b),
        "cycle_minequal": lambda a, b, d: number_wins(min)(a, b),
        "cycle_nan_maximum": lambda a, b, d: nan_wins(max)(a, b),
        "cycle_nan_minimum": lambda a, b, d: nan_wins(min)(a, b),
    }
)


def test_every_cycle_row_has_its_definition_here():
    """No row of the family is left untested."""
    assert {n for n in ISA if n.startswith("bang_cycle_")} == {f"bang_{n}" for n in CYCLE}


@pytest.mark.parametrize("name", CYCLE)
def test_cycle_repeats_its_segment(name):
    """dst[i] = src[i] op seg[i % seg_elem_num], in place and apart, for segments of 1 to the whole vector."""
    row = ISA[f"bang_{name}"]
    for dtype in row.operands["dst"].dtypes:
        for short, times in ((1, 5), (3, 7), (32, 4), (65, 1)):
            count = short * times
            src, seg = samples(dtype.dtype, count, short), samples(dtype.dtype, short, 3)
            after = execute(
                row.name,
                dst=np.zeros(count, dtype.dtype),
                src=src,
                seg=seg,
                src_elem_num=count,
                seg_elem_num=short,
            )["dst"]
            for i in range(count):
                assert same(CYCLE[name](src[i], seg[i % short], dtype.dtype), after[i]), (dtype, i)
