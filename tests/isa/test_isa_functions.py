"""Functions of one number against Python's own mathematics."""

import math

import ml_dtypes
import numpy as np
import pytest
from isa_exact import TAILS, same
from isa_rows import execute

from mlusim.isa.table import ISA


def ulp(value, dtype):
    """The distance of *value* to its neighbour in a float type."""
    info = np.finfo(dtype)
    if not math.isfinite(value) or value == 0:
        return float(info.smallest_subnormal)
    exponent = max(math.frexp(value)[1] - 1, int(info.minexp))
    return math.ldexp(float(info.eps), exponent)


def log2(x):
    """The binary logarithm with its values at and below zero."""
    return -math.inf if x == 0 else math.nan if x < 0 else math.log2(x)


def natural(x):
    """The natural logarithm with its values at and below zero."""
    return -math.inf if x == 0 else math.nan if x < 0 else math.log(x)


def power(x):
    """Two to the power of x."""
    return math.inf if x > 1023 else 2.0**x


def root(x):
    """The square root, NaN below zero."""
    return math.nan if x < 0 else math.sqrt(x)


def reciprocal(x):
    """One over x, signed infinities at zero."""
    return math.copysign(math.inf, x) if x == 0 else 1 / x


def reciprocal_root(x):
    """One over the square root of x."""
    return math.nan if x < 0 else reciprocal(math.sqrt(x))


def rounded(x):
    """To the nearest integer, ties away from zero."""
    return math.copysign(math.floor(abs(x) + 0.5), x)


def kept(function):
    """A function to integers of Python as one of floats that keeps infinities."""
    return lambda x: float(function(x)) if math.isfinite(x) else x


def sine(function):
    """Sine or cosine, NaN of an infinity."""
    return lambda x: math.nan if math.isinf(x) else function(x)


def exponential(dtype):
    """The approximate exponential with its documented floor."""

    def reference(x):
        if dtype == np.float16:
            return 2.0**-24 if x < -7.75 else math.exp(min(x, 700))
        return math.exp(min(max(x, -15), 700))

    return reference


def sigmoid(x):
    """One over one plus e**-x; 0 and 1 beyond 7.75."""
    return 0.0 if x < -7.75 else 1.0 if x > 7.75 else 1 / (1 + math.exp(-x))


def gelu(x):
    """The form with a hyperbolic tangent."""
    return (
        x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        if math.isfinite(x)
        else max(x, 0) * x
    )


FUNCTIONS = {
    "bang_recip": reciprocal,
    "bang_active_reciphp": reciprocal,
    "bang_pow2": power,
    "bang_log2": log2,
    "bang_log": log2,
    "bang_sqrt": root,
    "bang_rsqrt": reciprocal_root,
    "bang_sin": sine(math.sin),
    "bang_cos": sine(math.cos),
    "bang_floor": kept(math.floor),
    "bang_ceil": kept(math.ceil),
    "bang_trunc": kept(math.trunc),
    "bang_round": kept(rounded),
    "bang_active_tanh": math.tanh,
    "bang_active_sigmoid": sigmoid,
    "bang_relu": lambda x: max(x, 0.0),
    "bang_active_relu": lambda x: max(x, 0.0),
    "bang_active_abs": abs,
    "bang_active_exp_less_0": lambda x: math.exp(min(x, 700)),
    "bang_active_log": natural,
    "bang_active_loghp": natural,
    "bang_active_sqrt": root,
    "bang_active_sqrthp": root,
    "bang_active_rsqrt": reciprocal_root,
    "bang_active_rsqrthp": reciprocal_root,
    "bang_active_recip": reciprocal,
    "bang_active_recip_greater_1": reciprocal,
    "bang_active_sin": sine(math.sin),
    "bang_active_cos": sine(math.cos),
    "bang_active_pow2": power,
    "bang_active_sign": lambda x: (x > 0) - (x < 0),
    "cn_vector_sin_f32": sine(math.sin),
    "cn_vector_cos_f32": sine(math.cos),
}
EXACT_OF = {
    "bang_active_reciphp": reciprocal,
    "bang_active_exphp": math.exp,
    "bang_active_exp": math.exp,
    "bang_active_sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "bang_active_tanh": math.tanh,
    "bang_active_gelu": lambda x: x / 2 * (1 + math.erf(x / math.sqrt(2))),
}
FUNCTIONS_OF_TYPE = dict.fromkeys(("bang_active_exp", "bang_active_exphp"), exponential)
ARGUMENTS = [0.0, -0.0, 0.5, 1.5, -2.5, 1.0, -7.8, 7.8, -15.5, 9.0, 1e4, math.inf, -math.inf, 0.3, -0.7]


def arguments(dtype, count, seed):
    """Numbers of every size, the special ones in front."""
    rng = np.random.default_rng(seed)
    with np.errstate(over="ignore"):
        values = (rng.standard_normal(count) * 2.0 ** rng.integers(-10, 5, count)).astype(dtype)
    values[: len(ARGUMENTS)] = np.array(ARGUMENTS)[:count]
    return values


@pytest.mark.parametrize("name", [*FUNCTIONS, *FUNCTIONS_OF_TYPE])
def test_functions_are_right_to_two_units_in_the_last_place(name):
    """In float and, where the row takes it, in half and bfloat16; at every tail length; NaN stays NaN."""
    for element in ISA[name].operands["src"].dtypes:
        dtype = element.dtype
        if dtype == ml_dtypes.bfloat16:
            continue
        reference = FUNCTIONS[name] if name in FUNCTIONS else FUNCTIONS_OF_TYPE[name](dtype)
        for count in TAILS:
            src = arguments(dtype, count, count)
            after = execute(name, dst=np.zeros(count, dtype), src=src, elem_count=count)["dst"]
            for x, found in zip(src.tolist(), after.tolist(), strict=True):
                expected = reference(x)
                with np.errstate(over="ignore"):
                    stored = float(dtype.type(expected))

                assert same(stored, found) or abs(expected - found) <= 2 * ulp(expected, dtype), (x, dtype)
        nan = execute(name, dst=np.zeros(1, dtype), src=np.full(1, math.nan, dtype), elem_count=1)["dst"]

        assert math.isnan(nan[0])


def test_gelu_has_the_documented_form():
    """The form with a hyperbolic tangent, the default chosen."""
    src = np.linspace(-6, 6, 65, dtype=np.float32)

    after = execute("bang_active_gelu", dst=np.zeros(65, np.float32), src=src, elem_count=65)["dst"]

    assert np.allclose([gelu(x) for x in src.tolist()], after, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
@pytest.mark.parametrize("count", TAILS)
def test_relun_cuts_off_at_both_ends(dtype, count, board):
    """Nothing below 0 and nothing above the scalar; NaN stays."""
    src = np.random.default_rng(count).uniform(-9, 9, count).astype(dtype)
    src[-1] = math.nan
    after = execute("bang_relun", board, dst=np.zeros(count, dtype), src=src, elem_count=count, value=4)[
        "dst"
    ]

    for x, y in zip(src.tolist(), after.tolist(), strict=True):
        assert same(math.nan if math.isnan(x) else 0.0 if x < 0 else 4.0 if x > 4 else x, y)


APPROXIMATE = [row for row in ISA.values() if row.approximation is not None and row.name in EXACT_OF]


@pytest.mark.parametrize("row", APPROXIMATE, ids=[row.name for row in APPROXIMATE])
def test_what_the_hardware_approximates_is_here_within_its_error(row):
    """Over the documented range our result is nearer to the function than the hardware's average error."""
    for dtype in row.operands["src"].dtypes:
        low, high = row.approximation.ranges[dtype.name]
        src = np.linspace(-6 if low is None else low, 6 if high is None else min(high, 16), 500).astype(
            dtype.dtype
        )
        after = execute(row.name, dst=np.zeros(500, src.dtype), src=src, elem_count=500)["dst"].astype(float)
        expected = np.array([EXACT_OF[row.name](x) for x in src.astype(float).tolist()])
        told = np.abs(expected) > 1e-2  # an error relative to next to nothing tells nothing

        assert row.approximation.error > np.mean(np.abs(after - expected)[told] / np.abs(expected)[told])


def test_every_approximation_says_how_far_it_may_be_off():
    """The rows that the manual calls approximate carry their documented error, the others say that it is not published."""
    told = {row.name for row in ISA.values() if row.approximation is not None}
    active = {name for name in ISA if name.startswith("bang_active_")}
    exact = {"bang_active_abs", "bang_active_relu", "bang_active_sign"}
    silent = {name for name in active if "not published" in ISA[name].doc}

    assert told == active - exact - silent | {"bang_div_addition"}
    assert 12 == len(silent)


def test_sigmoid_of_bfloat16():
    """Rounded once from the exact value, and cut off at both ends."""
    src = np.array([-8.5, -2.25, 0.0, 1.5, 8.5], ml_dtypes.bfloat16)

    after = execute("bang_active_sigmoid", "MLU590-H8", dst=np.zeros(5, src.dtype), src=src, elem_count=5)

    assert np.array([sigmoid(float(x)) for x in src], src.dtype).tobytes() == after["dst"].tobytes()


def test_relu_of_bfloat16():
    """Negative numbers become zero."""
    src = np.array([-1.5, 2.5, -math.inf], ml_dtypes.bfloat16)

    after = execute("bang_relu", dst=np.zeros(3, src.dtype), src=src, elem_count=3)["dst"]

    assert [0.0, 2.5, 0.0] == after.astype(float).tolist()


def test_accurate_roots_and_finite_numbers():
    """Roots are rounded once from the exact value, of one float as of a vector."""
    values = np.array([0, 2, 3e38, 1e-45, -1, math.inf], np.float32)
    exact = np.array([0, math.sqrt(2), math.sqrt(values[2]), math.sqrt(values[3]), math.nan, math.inf])
    roots = execute(
        "cn_vector_accurate_sqrt_f32", elem_count=6, dst=np.zeros(6, np.float32), src=values.copy()
    )["dst"]
    singly = [execute("cn_scalar_accurate_sqrt_f32", value=x)["result"] for x in values]
    finite = [int(execute("cn_scalar_isfinite_f32", value=x)["result"]) for x in (*values, math.nan)]

    assert np.array_equal(exact.astype(np.float32), roots, equal_nan=True)
    assert np.array_equal(roots, singly, equal_nan=True)
    assert [1, 1, 1, 1, 1, 0, 0] == finite


def test_library_functions_of_two_vectors():
    """The length of complex numbers does not overflow on the way; remainders of uint64; conversion toward zero."""
    a, b = np.array([3, 3e38, -5], np.float32), np.array([4, 1e38, 12], np.float32)
    lengths = execute("cn_vector_hypot_f32", elem_count=3, dst=np.zeros(3, np.float32), src0=a, src1=b)["dst"]

    assert np.allclose([5, math.hypot(3e38, 1e38), 13], lengths, rtol=1e-6)

    big = np.array([(1 << 64) - 1, 10, 7], np.uint64)
    rest = execute("cn_vector_mod_scalar_u64", elem_count=3, dst=np.zeros(3, np.uint64), src=big, value=7)[
        "dst"
    ]

    assert [((1 << 64) - 1) % 7, 3, 0] == rest.tolist()

    src = np.array([2.9, -2.9, 3e9, math.nan], np.float32)
    cast = execute("cn_vector_cast_f32_to_s32", elem_count=4, dst=np.zeros(4, np.int32), src=src)["dst"]

    assert [2, -2, (1 << 31) - 1, 0] == cast.tolist()


@pytest.mark.parametrize(
    ("name", "function", "dtype"),
    [
        ("cn_scalar_sin_f32", math.sin, np.float32),
        ("cn_scalar_cos_f32", math.cos, np.float32),
        ("cn_scalar_sin_f16", math.sin, np.float16),
        ("cn_scalar_cos_f16", math.cos, np.float16),
    ],
)
def test_library_functions_of_one_number(name, function, dtype):
    """The result has the type in the name."""
    for x in (0.0, 1.25, -3.0, 100.0):
        found = execute(name, value=x)["result"]

        assert np.dtype(dtype) == found.dtype
        assert abs(function(x) - float(found)) <= 2 * ulp(function(x), dtype)
