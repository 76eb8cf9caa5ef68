"""Conversions against exact rational numbers: rounding suffixes, fixed-point positions, saturation, NaN."""

import math
import re
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from isa_exact import TAILS, fraction, nearest, same, whole
from isa_rows import execute

from mlusim.errors import RuleFault
from mlusim.isa.table import ISA

BF16 = np.dtype(ml_dtypes.bfloat16)
TYPES = {
    "float": np.dtype(np.float32),
    "half": np.dtype(np.float16),
    "bfloat16": BF16,
    "int32": np.dtype(np.int32),
    "int16": np.dtype(np.int16),
    "int8": np.dtype(np.int8),
    "uchar": np.dtype(np.uint8),
    "uint32": np.dtype(np.uint32),
    "int": np.dtype(np.int32),
    "short": np.dtype(np.int16),
}
WHOLE = tuple(name for name, dtype in TYPES.items() if dtype.kind in "iu")
NAME = re.compile(rf"bang_({'|'.join(TYPES)})2({'|'.join(TYPES)})(?:_(tz|oz|up|dn|rd|rn|rm))?")
ROWS = {name: NAME.fullmatch(name).groups() for name in ISA if NAME.fullmatch(name)}
FLOAT_TO_INT = [n for n, (s, t, _) in ROWS.items() if s not in WHOLE and t in WHOLE]
INT_TO_FLOAT = [n for n, (s, t, _) in ROWS.items() if s in WHOLE and t in ("float", "half")]
NARROWING = [n for n, (s, t, _) in ROWS.items() if s == "float" and t in ("half", "bfloat16")]
WIDENING = [n for n, (s, t, _) in ROWS.items() if s in ("half", "bfloat16") and t == "float"]
INT_TO_INT = [n for n, (s, t, _) in ROWS.items() if s in WHOLE and t in WHOLE]

SINGLES = st.integers(0, 0xFFFFFFFF)
HALVES = st.integers(0, 0xFFFF)
NEAR = st.tuples(st.integers(-140, 140), st.sampled_from([0, 0.25, 0.5, 0.75, 1e-3, -1e-3])).map(sum)
POSITIONS = st.sampled_from([0, 0, 0, 1, -1, 3, -5, 20, -20, 127, -127])


def test_every_conversion_row_is_tested_here():
    """Each conversion's name says what it converts, and one of the lists has it."""
    assert sorted(ROWS) == sorted(FLOAT_TO_INT + INT_TO_FLOAT + NARROWING + WIDENING + INT_TO_INT)
    assert {n for n in ISA if re.match(r"bang_\w+2(int|half|float|bfloat|uchar|uint|short)", n)} == set(ROWS)
    for name, (source, target, _) in ROWS.items():
        assert TYPES[source] == ISA[name].operands["src"].dtypes[0].dtype
        assert TYPES[target] == ISA[name].operands["dst"].dtypes[0].dtype


def convert(name, values, pos=0, board=None):
    """Execute a conversion row on an array."""
    extra = {"pos": pos} if pos else {}
    dst = np.zeros(values.size, TYPES[ROWS[name][1]])
    return execute(name, board, dst=dst, src=values, elem_count=values.size, **extra)["dst"]


def to_integer(value, dtype, mode, pos=0):
    """The definition: scale, round, saturate; NaN is 0."""
    limits = np.iinfo(dtype)
    value = float(value)
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return limits.max if value > 0 else limits.min
    rounded = whole(Fraction(value) / Fraction(2) ** pos, mode)
    return min(max(rounded, limits.min), limits.max)


SPECIAL = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.49999997,
    math.nan,
    math.inf,
    -math.inf,
    127.5,
    -128.5,
    255.5,
]
LARGE = [2147483520.0, 2147483648.0, -2147483648.0, -2147483904.0, 1e30, -1e30, 32767.5, 32768.0, -32768.5]


@pytest.mark.parametrize("name", FLOAT_TO_INT)
def test_float_to_integer_at_the_edges(name):
    """Ties, limits, infinities and NaN; every tail length."""
    source, target, mode = ROWS[name]
    with np.errstate(over="ignore"):
        values = np.array(SPECIAL + LARGE, np.float64).astype(TYPES[source])
    after = convert(name, values)

    assert [to_integer(v, TYPES[target], mode or "tz") for v in values] == after.tolist()
    for count in TAILS:
        data = (np.arange(count) / 4 - 9).astype(TYPES[source])

        assert [to_integer(v, TYPES[target], mode or "tz") for v in data] == convert(name, data).tolist()


@pytest.mark.parametrize("name", FLOAT_TO_INT)
@settings(max_examples=12)
@given(data=st.data())
def test_float_to_integer_of_any_bits(name, data):
    """Any bits of the source and any position: one exact rounding, then saturation."""
    source, target, mode = ROWS[name]
    bits, word = (SINGLES, np.uint32) if source == "float" else (HALVES, np.uint16)
    drawn = np.array(data.draw(st.lists(bits, min_size=8, max_size=40)), word).view(TYPES[source])
    values = np.concatenate([drawn, np.array(data.draw(st.lists(NEAR, max_size=20)), TYPES[source])])
    pos = data.draw(POSITIONS)

    after = convert(name, values, pos)

    assert [to_integer(v, TYPES[target], mode or "tz", pos) for v in values] == after.tolist()


@pytest.mark.parametrize("name", NARROWING)
@settings(max_examples=12)
@given(bits=st.lists(SINGLES, min_size=20, max_size=60))
def test_narrowing_of_any_bits(name, bits):
    """Any float: rounded once as the suffix says; NaN and infinities stay."""
    _, target, mode = ROWS[name]
    values = np.array(bits, np.uint32).view(np.float32)
    check_narrowing(values, convert(name, values), TYPES[target], mode or "rn")


def check_narrowing(values, after, dtype, mode):
    """Compare with the definition."""
    for value, found in zip(values, after, strict=True):
        expected = nearest(fraction(value), dtype, mode) if math.isfinite(value) else float(value)

        assert same(expected, found), (value, found)
        if expected == 0:
            assert np.signbit(found) == np.signbit(value)


@pytest.mark.parametrize("name", NARROWING)
def test_narrowing_at_the_edges(name):
    """The middle between two numbers, beside it, at the largest and below the smallest."""
    _, target, mode = ROWS[name]
    small = TYPES[target]
    info = np.finfo(np.float16) if small == np.float16 else ml_dtypes.finfo(BF16)
    largest, tiny = float(info.max), float(info.smallest_subnormal)
    step = largest - float(np.nextafter(info.max, small.type(0)))
    points = [
        largest + step / 2,
        largest + step / 2 - step / 64,
        largest + step / 64,
        tiny / 2,
        tiny / 2 + tiny / 64,
    ]
    points += [1 + k * 2.0**-13 for k in range(20)] + [3 * tiny / 2, tiny * 0.49]
    with np.errstate(over="ignore"):
        values = np.array(points + [-p for p in points], np.float32)

    check_narrowing(values, convert(name, values), small, mode or "rn")


@pytest.mark.parametrize("name", [n for n in NARROWING if ISA[n].available(270)])
def test_narrowing_saturates_on_2xx(name):
    """MLU2xx has no infinity: what overflows is the largest number."""
    values = np.full(64, 1e6, np.float32)
    values[1:3] = [-1e6, 2.0]

    after = convert(name, values, board="MLU270-S4")

    assert [65504.0, -65504.0, 2.0, 65504.0] == after[:4].tolist()


@pytest.mark.parametrize("name", WIDENING)
def test_widening_is_exact(name):
    """Every one of the 65,536 values."""
    values = np.arange(65536, dtype=np.uint16).view(TYPES[ROWS[name][0]])

    after = convert(name, values)

    with np.errstate(invalid="ignore"):  # among the values are signalling NaNs
        assert np.array_equal(values.astype(np.float64), after.astype(np.float64), equal_nan=True)


@pytest.mark.parametrize("name", INT_TO_FLOAT)
@settings(max_examples=12)
@given(data=st.data())
def test_integer_to_float(name, data):
    """Any integers, any position: multiplied by 2**pos and rounded once."""
    source, target, mode = ROWS[name]
    limits = np.iinfo(TYPES[source])
    edge = st.sampled_from([limits.min, limits.max, 0, min(limits.max, 2049), min(limits.max, 16777217)])
    drawn = data.draw(st.lists(st.integers(int(limits.min), int(limits.max)) | edge, min_size=8, max_size=40))
    pos = data.draw(POSITIONS)

    after = convert(name, np.array(drawn, TYPES[source]), pos)

    for value, found in zip(drawn, after, strict=True):
        assert nearest(Fraction(value) * Fraction(2) ** pos, TYPES[target], mode or "tz") == found


@pytest.mark.parametrize("name", INT_TO_INT)
@given(
    values=st.lists(st.integers(-(1 << 31), (1 << 31) - 1), min_size=5, max_size=30), a=POSITIONS, b=POSITIONS
)
@settings(max_examples=12)
def test_integer_to_integer(name, values, a, b):
    """Scaled by the difference of the positions, cut off, saturated."""
    source, target, _ = ROWS[name]
    given_values = np.array(values, np.int64).astype(TYPES[source])
    limits = np.iinfo(TYPES[target])

    after = execute(
        name,
        dst=np.zeros(len(values), TYPES[target]),
        src=given_values,
        elem_count=len(values),
        dst_pos=a,
        src_pos=b,
    )["dst"]

    for value, found in zip(given_values.tolist(), after.tolist(), strict=True):
        scaled = math.trunc(Fraction(value) * Fraction(2) ** (b - a))

        assert min(max(scaled, limits.min), limits.max) == found


def test_stochastic_rounding_takes_a_neighbour_as_often_as_it_is_near():
    """Each result is one of the two tf32 neighbours, the mean is the value; infinities and NaN stay."""
    count, step = 8192, 2.0**-10
    for rest in (0.25, 0.5, 0.9375):
        src = np.full(count, 1 + rest * step, np.float32)
        after = execute("bang_float2tf32_sr", dst=np.zeros(count, np.float32), src=src, elem_count=count)[
            "dst"
        ]

        assert {1.0, 1 + step} == set(after.tolist())
        assert abs(rest - np.mean(after > 1)) < 0.01

    special = np.array([math.inf, -math.inf, math.nan, 0.0, 1.5], np.float32)
    after = execute("bang_float2tf32_sr", dst=np.zeros(5, np.float32), src=special, elem_count=5)["dst"]

    assert np.array_equal(special, after, equal_nan=True)


def test_half_to_float_takes_strides():
    """Pieces at distances in bytes on either side."""
    src = np.arange(12, dtype=np.float16)
    dst = np.full(16, -1, np.float32)

    after = execute("bang_half2float", dst=dst, src=src, elem_count=2, dst_stride=20, src_stride=8, segnum=2)[
        "dst"
    ]

    expected = np.full(16, -1.0)
    for piece in range(3):
        expected[5 * piece : 5 * piece + 2] = [4 * piece, 4 * piece + 1]

    assert expected.tolist() == after.tolist()


# -- scalars ---------------------------------------------------------------------------------------

SCALAR = re.compile(r"(float|half|bfloat16)2(int32|int|short|half|float|bfloat16)(?:_(\w\w))?")
SCALARS = {name: SCALAR.fullmatch(name).groups() for name in ISA if SCALAR.fullmatch(name)}


@pytest.mark.parametrize("name", SCALARS)
def test_scalar_conversions_are_those_of_one_element(name):
    """The row for a register gives what the row for a vector gives; ints are Python's."""
    source, target, mode = SCALARS[name]
    with np.errstate(over="ignore"):
        values = np.array(SPECIAL + LARGE + [1.0004883, 65520.0], np.float64).astype(TYPES[source])
    for value in values:
        found = execute(name, value=value)["result"]
        if target in WHOLE:
            assert to_integer(value, TYPES[target], mode or "tz") == found
            assert type(found) is int
        elif target in ("half", "bfloat16"):
            check_narrowing([value], [found], TYPES[target], mode or "rn")
        else:
            assert same(float(value), found)
            assert found.dtype == np.float32


def test_a_scalar_conversion_takes_numbers_only():
    """The fault names the intrinsic and what is legal."""
    with pytest.raises(RuleFault, match=r"__float2int32: value is 'x'; legal: a number that float can hold"):
        execute("float2int32", value="x")
