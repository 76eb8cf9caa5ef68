"""The element types: sizes, NumPy carriers, names, and casts as C does them."""

import attrs
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

from mlusim.arch.dtypes import DTYPES, as_dtype, bfloat16, float32, half, int8, int32, int64, uint8, uint32
from mlusim.errors import UsageError

INTEGERS = [d for d in DTYPES if d.kind != "float"]

# The vendor's names, with the size of an element in bytes.
SIZES = {
    "half": 2,
    "bfloat16": 2,
    "float": 4,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
}


def test_names_and_sizes():
    """Every element type has the vendor's name and its size in bytes."""
    assert {d.name: d.size for d in DTYPES} == SIZES


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numpy_accepts_a_dtype(dtype):
    """A DType stands where NumPy wants a dtype, and its size is that of an array element."""
    array = np.empty(3, dtype)

    assert dtype.dtype == array.dtype
    assert 3 * dtype.size == array.nbytes


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_as_dtype_finds_every_spelling(dtype):
    """A DType, its name, its NumPy dtype, its scalar type and its NumPy name all name the same type."""
    spellings = [dtype, dtype.name, dtype.dtype, dtype.dtype.type, dtype.dtype.name]

    assert all(as_dtype(s) is dtype for s in spellings)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("fp16", half),
        ("float16", half),
        ("fp32", float32),
        ("float32", float32),
        ("bf16", bfloat16),
        ("char", int8),
        ("int", int32),
        (ml_dtypes.bfloat16, bfloat16),
    ],
)
def test_as_dtype_knows_the_common_names(name, dtype):
    """C's and the framework's names of a type are understood."""
    assert as_dtype(name) is dtype


def test_float_means_the_c_type():
    """The name "float" is C's 32-bit float, although NumPy and Python use it for 64 bits."""
    assert as_dtype("float") is float32
    assert np.dtype("float").itemsize == 8


@pytest.mark.parametrize("value", ["float64", np.float64, float, bool, "complex64", "", "tensor", object, 7])
def test_as_dtype_refuses_what_no_memory_holds(value):
    """A type that BANG C lacks is refused with the list of those it has."""
    with pytest.raises(UsageError) as caught:
        as_dtype(value)

    assert f"{value!r} is not an element type of BANG C; use one of {', '.join(SIZES)}" == str(caught.value)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_dtype_prints_as_its_name(dtype):
    """Messages show the vendor's name."""
    assert (dtype.name, dtype.name) == (str(dtype), repr(dtype))


def test_dtypes_are_frozen_and_hashable():
    """An element type is a value: it does not change and may key a table."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        half.size = 4

    assert len(DTYPES) == len(set(DTYPES))


@given(st.sampled_from(INTEGERS), st.integers(-(2**70), 2**70))
def test_integers_wrap(dtype, value):
    """An integer cast keeps the low bits: in range, and equal to the value modulo 2^bits."""
    modulus = 1 << (8 * dtype.size)
    low = -modulus // 2 if dtype.kind == "int" else 0
    got = dtype(value)

    assert dtype.dtype == got.dtype
    assert low <= int(got) < low + modulus
    assert (int(got) - value) % modulus == 0


@given(st.sampled_from(INTEGERS), st.data())
def test_integers_in_range_stay(dtype, data):
    """An integer that the type can hold is not changed."""
    limits = np.iinfo(dtype.dtype)
    value = data.draw(st.integers(int(limits.min), int(limits.max)))

    assert value == int(dtype(value))


@given(st.integers(-(2**40), 2**40), st.integers(-(2**40), 2**40))
def test_wrapping_commutes_with_addition(x, y):
    """Wrapping before or after a sum gives the same 32-bit result, as two's complement does."""
    assert int(int32(x + y)) == int(int32(int(int32(x)) + int(int32(y))))


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        (int8, 128, -128),
        (int8, -129, 127),
        (uint8, 256, 0),
        (uint8, -1, 255),
        (int32, 2**31, -(2**31)),
        (uint32, -1, 2**32 - 1),
        (int64, 2**63, -(2**63)),
        (int32, 2.9, 2),
        (int32, -2.9, -2),
        (int32, np.float32(7.5), 7),
    ],
)
def test_integer_casts(dtype, value, expected):
    """Casts wrap at the edges of the type and drop the fraction towards zero."""
    assert expected == int(dtype(value))


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float_holds_its_own_values(value):
    """A 32-bit value passes through the float cast unchanged."""
    assert value == float(float32(value))


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        (half, 2049.0, 2048.0),
        (half, 2051.0, 2052.0),
        (float32, 2**24 + 1, 2.0**24),
        (bfloat16, 257.0, 256.0),
        (bfloat16, 259.0, 260.0),
    ],
)
def test_float_casts_round_to_nearest_even(dtype, value, expected):
    """A value between two neighbours goes to the nearer, and a tie to the even one."""
    got = dtype(value)

    assert expected == float(got)
    assert dtype.dtype == got.dtype


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "value",
    [None, "1", b"1", [1], [1, 2], np.array([1]), 1j, np.complex64(1), np.datetime64("2020"), np.str_("1")],
    ids=repr,
)
def test_only_numbers_become_elements(dtype, value):
    """Texts, arrays and complex numbers are refused; None is not a NaN."""
    with pytest.raises(UsageError, match="is not a number and cannot become"):
        dtype(value)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "value", [True, np.bool_(True), np.array(1), np.float64(1), ml_dtypes.bfloat16(1), np.uint8(1)]
)
def test_every_kind_of_number_becomes_an_element(dtype, value):
    """Of Python, NumPy and ml_dtypes, and an array without dimensions."""
    assert dtype.dtype.type(1) == dtype(value)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.kind == "float"], ids=str)
def test_an_integer_beyond_every_float_is_refused(dtype):
    """Python's integers have no end, floats have."""
    with pytest.raises(UsageError, match="is not a number that"):
        dtype(10**400)


@pytest.mark.parametrize("value", [np.dtype(">f4"), np.dtype(">i2"), np.dtype(np.int32).newbyteorder()])
def test_the_other_byte_order_says_how_to_change_it(value):
    """The element type is known; its bytes are swapped."""
    with pytest.raises(UsageError, match="change the byte order with array.astype"):
        as_dtype(value)
