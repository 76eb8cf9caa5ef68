"""Lowers elementwise operations (arithmetic, comparisons, conversions, choices) on scalars, formulas and blocks."""

from collections.abc import Sequence

from attrs import evolve

from mlusim.isa.table import ISA
from mlusim.triton import ttir
from mlusim.triton.lowering import SCALAR_UNIT, KernelLowering, Lowered, Operations, result_of
from mlusim.triton.ttir import TtirOperation, count
from mlusim.triton.values import (
    BYTES,
    FLOATS,
    Bounded,
    Mask,
    Ramp,
    Runs,
    ScalarValue,
    Shape,
    Tensor,
    Tile,
    Uniform,
    Value,
    Wrapped,
    atom,
    common_held,
    element,
    minus,
    plus,
    times,
)

SCALAR = {
    "addi": "{0} + {1}", "subi": "{0} - {1}", "muli": "{0} * {1}", "divsi": "{0} / {1}", "remsi": "{0} % {1}",
    "andi": "{0} & {1}", "ori": "{0} | {1}", "xori": "{0} ^ {1}", "shli": "{0} << {1}", "shrsi": "{0} >> {1}",
    "addf": "{0} + {1}", "subf": "{0} - {1}", "mulf": "{0} * {1}", "divf": "{0} / {1}", "remf": "fmodf({0}, {1})",
    "minsi": "LEAST({0}, {1})", "maxsi": "MOST({0}, {1})",
    "minnumf": "fminf({0}, {1})", "maxnumf": "fmaxf({0}, {1})",
    "minimumf": "({0} != {0} || {1} != {1} ? NAN : LEAST({0}, {1}))", "maximumf": "({0} != {0} || {1} != {1} ? NAN : MOST({0}, {1}))",
    "negf": "-{0}", "absf": "fabsf({0})", "absi": "({0} < 0 ? -{0} : {0})", "floor": "floorf({0})", "ceil": "ceilf({0})",
    "sqrt": "sqrtf({0})", "rsqrt": "1.0f / sqrtf({0})", "exp": "expf({0})", "exp2": "exp2f({0})", "log": "logf({0})", "log2": "log2f({0})",
    "sin": "sinf({0})", "cos": "cosf({0})", "tanh": "tanhf({0})", "erf": "erff({0})", "fma": "{0} * {1} + {2}",
    "precise_sqrt": "sqrtf({0})", "precise_divf": "{0} / {1}",
    "mulhiui": "(int)(((unsigned long)(unsigned int){0} * (unsigned int){1}) >> 32)",
    "mulhsi": "(int)(((int64_t){0} * (int64_t){1}) >> 32)",
    **{name: f"{name}f({{0}})" for name in (
        "expm1", "log10", "log1p", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "erfc", "lgamma", "cbrt",
        "trunc", "rint", "round",
    )},
    "exp10": "powf(10.0f, {0})", "rcp": "1.0f / {0}", "silubp": "(1.0f + {0} / (1.0f + expf({0}))) / (1.0f + expf(-{0}))",
    **{name: f"{name}f({{0}}, {{1}})" for name in ("pow", "atan2", "copysign")}, "roundeven": "rintf({0})", "nearbyint": "rintf({0})",
    "sigmoid": "1.0f / (1.0f + expf(-{0}))", "silu": "{0} / (1.0f + expf(-{0}))", "gelu": "0.5f * {0} * (1.0f + erff({0} * 0.70710678f))",
    "isnan": "({0} != {0})", "isinf": "(fabsf({0}) == INFINITY)", "finite": "(fabsf({0}) < INFINITY)", "signbit": "(copysignf(1.0f, {0}) < 0.0f)",
    "select": "({0} ? {1} : {2})", "clampf": "fminf(fmaxf({0}, {1}), {2})",
}  # fmt: skip
"""The C expression of an operation, for scalars and for elements without a vector instruction."""
UNSIGNED = {"divui": "/", "remui": "%", "shrui": ">>", "minui": "LEAST", "maxui": "MOST"}
UNSIGNED_TYPES = {"i8": "uint8_t", "i16": "uint16_t", "i32": "unsigned int", "i64": "unsigned long"}
COMPARED = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
RISING = {"slt": ("high", 0), "sle": ("high", 1), "sgt": ("low", 1), "sge": ("low", 0)}
FALLING = {"slt": ("low", 1), "sle": ("low", 0), "sgt": ("high", 0), "sge": ("high", 1)}
"""The bound of index i that follows if ``base + i`` (or ``base - i``) is compared with 0: which end, and the constant added to it."""

# The instructions of an operation: on two vectors, a vector and a scalar, a vector and a repeating segment.
TWO = {
    "addf": "add", "subf": "sub", "mulf": "mul", "divf": "div", "precise_divf": "div", "addi": "add", "subi": "sub", "muli": "mul",
    "maxnumf": "max", "minnumf": "min", "maxsi": "max", "minsi": "min", "andi": "band", "ori": "bor", "xori": "bxor",
}  # fmt: skip
BY_A_NUMBER = {"divsi": "div", "remsi": "rem"}
"""Operations whose vector instruction is used for a scalar divisor only: in a vector of divisors, a masked lane may hold 0."""
FORMS = {
    "add": ("bang_add", "bang_add_scalar", "bang_cycle_add"),
    "sub": ("bang_sub", "bang_sub_scalar", "bang_cycle_sub"),
    "mul": ("bang_mul", "bang_mul_scalar", "bang_cycle_mul"),
    "div": ("bang_div", "bang_div", ""),
    "rem": ("bang_rem", "bang_rem", ""),
    **{
        word: (f"bang_{word}", f"bang_{word}_scalar", f"bang_cycle_{word}")
        for word in ("band", "bor", "bxor")
    },
    "max": ("bang_maxequal", "bang_maxeq_scalar", "bang_cycle_maxequal"),
    "min": ("bang_minequal", "bang_mineq_scalar", "bang_cycle_minequal"),
    **{word: (f"bang_{word}", f"bang_{word}_scalar", f"bang_cycle_{word}") for word in COMPARED},
}
# Every instruction takes the scalar as second operand, so some operations are swapped.
TURNED = {
    "add": "add",
    "mul": "mul",
    "max": "max",
    "min": "min",
    "lt": "gt",
    "le": "ge",
    "gt": "lt",
    "ge": "le",
    "eq": "eq",
    "ne": "ne",
    "band": "band",
    "bor": "bor",
    "bxor": "bxor",
}
"""The same operation with swapped operands."""
ONE = {
    "exp": "bang_active_exphp", "exp2": "bang_pow2", "log2": "bang_log2", "sqrt": "bang_sqrt",
    "precise_sqrt": "bang_sqrt", "rsqrt": "bang_rsqrt", "sin": "bang_sin", "absf": "bang_abs", "absi": "bang_abs",
    "tanh": "bang_active_tanh", "sigmoid": "bang_active_sigmoid", "gelu": "bang_active_gelu", "rcp": "bang_recip", "floor": "bang_floor", "negf": "bang_neg",
}  # fmt: skip
# Integers of 32 bits only: the other conversions have an argument for the fixed-point position, which C lacks.
CASTS = {
    ("half", "float"): "bang_half2float",
    ("float", "half"): "bang_float2half_rn",
    ("bfloat16_t", "float"): "bang_bfloat162float",
    ("float", "bfloat16_t"): "bang_float2bfloat16_rn",
    ("int", "float"): "bang_int322float",
    ("float", "int"): "bang_float2int32_tz",
}
"""Conversions with an instruction."""
BITS = {1: "int8_t", 2: "int16_t", 4: "int"}
"""The integer types of instructions, by size in bytes."""
# By the C names of the libraries, which Triton keeps: __nv_expf is Triton's own, __cn_ the card's.
LIBRARY = {
    "fast_dividef": "divf", "sqrt": "sqrt", "sqrt_rn": "sqrt", "rsqrt": "rsqrt", "exp": "exp", "fast_expf": "exp",
    "exp2": "exp2", "log": "log", "fast_logf": "log", "log2": "log2", "sin": "sin", "fast_sinf": "sin", "cos": "cos", "fast_cosf": "cos",
    **{name: name for name in (
        "exp10", "expm1", "log10", "log1p", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "erfc", "lgamma", "cbrt",
        "trunc", "rint", "round", "nearbyint", "pow", "atan2", "copysign", "isnan", "isinf", "finite", "signbit",
    )},
    "fast_powf": "pow", "fast_tanh": "tanh", "fast_erf": "erf", "fast_sigmoid": "sigmoid", "fast_silu": "silu", "fast_gelu": "gelu",
    "fast_exp2f": "exp2", "div_rn": "divf", "fast_sqrt": "sqrt", "fast_rcp": "rcp", "fast_log": "log", "fast_log2f": "log2", "fast_log10f": "log10",
    "fast_exp10f": "exp10", "fast_max": "maxnumf", "fast_min": "minnumf", "fast_silubp": "silubp", "ultra_pow": "pow",
    **{f"ultra_{name}": name for name in ("gelu", "silu", "silubp", "sigmoid", "tanh")},
    "tanh": "tanh", "fast_tanhf": "tanh", "erf": "erf", "floor": "floor", "ceil": "ceil", "fabs": "absf", "fmod": "remf",
}  # fmt: skip
"""The operation for each function of a device library, by its name without prefix and suffix."""


def arithmetic(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower an arithmetic or mathematical operation."""
    name = op.name.partition(".")[2] if not op.name.startswith("tt.") else op.name[3:]
    values = low.operands(op)
    shape, kind = result_of(op)
    return apply(low, name, values, shape, kind, op.results[0], is_logic=op.types[-1].endswith(("i1", "i1>")))


def apply(
    low: KernelLowering,
    name: str,
    values: Sequence[Value],
    shape: Shape,
    kind: str,
    word: str = "t",
    *,
    is_logic: bool = False,
) -> Value:
    """Lower operation *name* on *values*; the result has *shape* (empty: a scalar) and C type *kind*."""
    if not shape:
        return low.number(
            scalar(low, name, [atom(v.c) for v in values if isinstance(v, ScalarValue)], kind), kind, word
        )
    # Masks stay intervals as long as possible: a copy can use an interval, but lanes need a scalar loop.
    if is_logic and all(isinstance(v, Mask | Tile | Uniform) for v in values):
        return _logic(low, name, values, shape)
    if all(isinstance(v, Uniform) for v in values):
        c = scalar(low, name, [atom(v.c) for v in values if isinstance(v, Uniform)], kind)
        return Uniform(low.text.variable(c, kind, word), kind, shape)
    symbolic = _symbolic(low, name, values, shape, kind)
    if symbolic is not None:
        return symbolic
    tensors = [low.small(v) if isinstance(v, Mask | Ramp) else v for v in values]
    vector = _vector(low, name, tensors, shape, kind, word)
    return vector if vector is not None else lanes(low, name, tensors, shape, kind, word)


def scalar(low: KernelLowering, name: str, c: Sequence[str], kind: str) -> str:
    """Return the C expression of operation *name* on scalars."""
    if name in UNSIGNED:
        a, b = (f"(unsigned {'long' if kind == 'int64_t' else 'int'}){word}" for word in c)
        sign = UNSIGNED[name]
        return f"{sign}({a}, {b})" if sign.isupper() else f"{a} {sign} {b}"
    if name not in SCALAR:
        raise low.refuse(f"{name} has no form in BANG C here")
    return SCALAR[name].format(*c)


def lanes(
    low: KernelLowering, name: str, values: Sequence[Value], shape: Shape, kind: str, word: str
) -> Tile:
    """Compute element by element on the scalar unit, for operations without a vector instruction."""
    # Correct for all types and operations of C; the remark mentions the cost.
    low.text.remark(SCALAR_UNIT)
    held = common_held(values, len(shape))
    out = low.text.block(kind, held, name, word=word)
    low.loop(out, lambda indices: scalar(low, name, [element(v, indices) for v in values], kind))
    return evolve(out, shape=shape)


# -- offsets and pointers ------------------------------------------------------------------------------


def as_ramp(value: Value, shape: Shape) -> Ramp | None:
    """Return integers as a formula of their indices, with blocks of 32-bit integers as a term; None for other values."""
    flat = ("0",) * len(shape)
    if isinstance(value, Ramp):
        return value
    if isinstance(value, Uniform) and value.type not in FLOATS:
        return Ramp(value.c, flat, shape, value.type)
    if isinstance(value, Tile) and value.type in ("int", "int64_t", "int16_t", "int8_t") and not value.logic:
        return Ramp("0", flat, shape, value.type, terms=((value, "1"),))
    return None


def _symbolic(
    low: KernelLowering, name: str, values: Sequence[Value], shape: Shape, kind: str
) -> Ramp | None:
    """Return sums, differences, multiples and remainders of formulas as formulas; else None."""
    if name == "remsi" and isinstance(values[0], Ramp) and isinstance(values[1], Uniform):
        return _remainders(low, values[0], values[1], kind)
    if name not in ("addi", "subi", "muli") or not any(isinstance(v, Ramp) for v in values):
        return None
    a, b = (as_ramp(v, shape) for v in values)
    if a is None or b is None:
        return None
    if name == "addi":
        return summed(a, b, kind)
    if name == "subi":
        return summed(a, scaled(b, "-1", minus), kind)
    a, b = (a, b) if isinstance(values[1], Uniform) else (b, a)
    if not isinstance(values[0], Uniform) and not isinstance(values[1], Uniform):
        return None
    factor = low.text.variable(b.base, kind)
    return evolve(scaled(a, factor), type=kind)


def _remainders(low: KernelLowering, value: Ramp, divisor: Uniform, kind: str) -> Ramp | None:
    """Return consecutive integers modulo a number as runs, such as ``(pid * BLOCK + tl.arange(0, BLOCK)) % M``; else None."""
    axis = _neighbours(value)
    if axis is None:
        return None
    base, modulus = low.text.variable(value.base, kind), low.text.variable(divisor.c, kind)
    return _ramp_of(Wrapped(base, kind, value.shape, _along(value.shape, axis), modulus))


def _bounded(low: KernelLowering, mask: Value, yes: Value, no: Value, kind: str) -> Ramp | None:
    """Return integers that are consecutive up to a bound and constant after it, such as ``tl.where(at < M, at, 0)``; else None."""
    if not (isinstance(mask, Mask) and isinstance(yes, Ramp) and isinstance(no, Uniform)):
        return None
    axis = _neighbours(yes)
    bound = [d for d in range(len(mask.shape)) if mask.bounds(d)]
    if axis is None or mask.condition != "1" or mask.tests or bound != [axis] or mask.low[axis] != "0":
        return None
    base, other = low.text.variable(yes.base, kind), low.text.variable(no.c, kind)
    return _ramp_of(Bounded(base, kind, yes.shape, _along(yes.shape, axis), mask.high[axis], other))


def _neighbours(value: Ramp) -> int | None:
    """Return the only axis along which numbers are consecutive, or None."""
    along = [d for d, stride in enumerate(value.strides) if stride != "0" and value.shape[d] > 1]
    if value.pointer or value.terms or len(along) != 1 or value.strides[along[0]] != "1":
        return None
    return along[0]


def _along(shape: Shape, axis: int) -> Shape:
    return tuple(size if d == axis else 1 for d, size in enumerate(shape))


def _ramp_of(runs: Runs) -> Ramp:
    """Return *runs* as a formula of the indices."""
    return Ramp("0", ("0",) * len(runs.shape), runs.shape, runs.type, terms=((runs, "1"),))


def scaled(value: Ramp, factor: str, negative: object = None) -> Ramp:
    """Return a formula multiplied by a scalar, or its negative."""

    def by(text: str) -> str:
        return minus(text) if negative is not None else times(text, factor)

    terms = tuple(
        (block, f"(-{k})" if negative is not None else times(k, factor)) for block, k in value.terms
    )
    return evolve(value, base=by(value.base), strides=tuple(by(s) for s in value.strides), terms=terms)


def summed(a: Ramp, b: Ramp, kind: str) -> Ramp:
    """Return the sum of two formulas, one of which may be a pointer."""
    strides = tuple(plus(s, t) for s, t in zip(a.strides, b.strides, strict=True))
    return Ramp(plus(a.base, b.base), strides, a.shape, kind, a.pointer or b.pointer, (*a.terms, *b.terms))


# -- vectors -------------------------------------------------------------------------------------------


def _vector(
    low: KernelLowering, name: str, values: Sequence[Value], shape: Shape, kind: str, word: str
) -> Tile | None:
    """Return the result of a vector instruction; None if the architecture has none."""
    if name in TWO and len(values) == 2:
        return binary(low, TWO[name], values[0], values[1], shape, kind, word)
    if name in BY_A_NUMBER and isinstance(values[1], Uniform):
        return binary(low, BY_A_NUMBER[name], values[0], values[1], shape, kind, word)
    if name in SHIFTS and isinstance(values[0], Tile):
        return _shifted(low, name, values[0], values[1], shape, kind, word)
    if name == "log" and low.has("bang_log2", kind):
        # The board only has the logarithm to base 2, although one instruction is called bang_log.
        exponent = apply(low, "log2", values, shape, kind, word)
        return binary(low, "mul", exponent, Uniform("0.6931471805599453f", kind, shape), shape, kind, word)
    if name == "silu" and low.has(ONE["sigmoid"], kind):
        return binary(
            low, "mul", apply(low, "sigmoid", values, shape, kind, word), values[0], shape, kind, word
        )
    instruction = ONE.get(name, "")
    if len(values) == 1 and isinstance(values[0], Tile) and low.has(instruction, kind):
        source = values[0]
        out = low.text.block(kind, source.held, name, word=word)
        low.text.line(
            f"__{instruction}({out.name}, {source.name}, {count(source.held)});", out.name, [source.name]
        )
        return evolve(out, shape=shape)
    return None


def binary(
    low: KernelLowering,
    name: str,
    a: Value,
    b: Value,
    shape: Shape,
    kind: str,
    word: str,
    *,
    logic: bool = False,
) -> Tile | None:
    """Return an operation of `FORMS` on two tensors of *kind*; None if the architecture has no instruction for it."""
    rank = len(shape)
    held = common_held((a, b), rank)
    if not isinstance(a, Tile) or (
        a.held != held and isinstance(b, Tile) and b.held == held and name in TURNED
    ):
        if name not in TURNED:
            a = low.whole(a, held)
        else:
            a, b, name = b, a, TURNED[name]
    vectors, by_scalar, cycle = FORMS[name]
    # Try the forms in turn: a scalar, a vector of equal length, a repeating row, a column as scalars,
    # everything expanded.
    if not low.has(vectors, kind):
        return _by_reciprocal(low, a, b, shape, kind, word) if name == "div" and kind in FLOATS else None
    a = low.whole(evolve(a, shape=a.held) if isinstance(a, Tile) else a, held)
    if isinstance(b, ScalarValue | Uniform) and not low.has(by_scalar, kind):
        b = low.whole(b, held)
    out = low.text.block(kind, held, name, word=word, logic=logic)
    _issue(low, (vectors, by_scalar, cycle), out, a, b)
    return evolve(out, shape=shape)


def _issue(low: KernelLowering, forms: tuple[str, str, str], out: Tile, a: Tile, b: Value) -> None:
    """Write the instruction of *forms* for the layout of *b*: a scalar, a vector as long as *a*, a row, or a column."""
    vectors, by_scalar, cycle = forms
    held, kind = out.held, out.type
    n, width, ends = count(held), held[-1], f"{out.name}, {a.name}"
    if isinstance(b, ScalarValue | Uniform):
        low.text.line(f"__{by_scalar}({ends}, ({kind})({b.c}), {n});", out.name, [a.name])
    elif isinstance(b, Tile) and b.held == held:
        low.text.line(f"__{vectors}({ends}, {b.name}, {n});", out.name, [a.name, b.name])
    elif isinstance(b, Tile) and b.held == (*[1] * (len(held) - 1), width) and low.has(cycle, kind):
        # The segment must not overlap the result, so the result may only replace the long operand.
        low.text.line(f"__{cycle}({ends}, {b.name}, {n}, {width});", out.name, [a.name])
    elif isinstance(b, Tile) and b.held == (*held[:-1], 1) and low.has(by_scalar, kind):
        at = f"{out.name} + i * {width}, {a.name} + i * {width}, {b.name}[i], {width}"
        low.text.line(f"for (int i = 0; i < {n // width}; ++i) __{by_scalar}({at});", out.name, [a.name])
    else:
        b = low.whole(evolve(b, shape=b.held) if isinstance(b, Tile) else b, held)
        low.text.line(f"__{vectors}({ends}, {b.name}, {n});", out.name, [a.name, b.name])


SHIFTS = ("shli", "shrui")


def _shifted(
    low: KernelLowering, name: str, value: Tile, by: Value, shape: Shape, kind: str, word: str
) -> Tile | None:
    """Shift *value* by a constant count: left by a product, right by the instruction; None if neither is possible."""
    bits = int(by.c) if isinstance(by, Uniform) and by.c.isdigit() else 32
    if kind != "int" or bits > 30 or not low.has("bang_srl", "unsigned int"):
        return None
    out = low.text.block(kind, value.held, name, word=word)
    to, of = (f"(unsigned int *){block.name}" for block in (out, value))
    text = (
        f"__bang_srl({to}, {of}, {bits},"
        if name == "shrui"
        else f"__bang_mul_scalar({out.name}, {value.name}, {1 << bits},"
    )
    low.text.line(f"{text} {count(value.held)});", out.name, [value.name])
    return evolve(out, shape=shape)


def _by_reciprocal(
    low: KernelLowering, a: Value, b: Value, shape: Shape, kind: str, word: str
) -> Tile | None:
    """Divide on an architecture without division: multiply by the reciprocal, with two roundings."""
    if kind != "float":
        return None
    low.text.remark(
        "this architecture has no division of vectors: a reciprocal and a product, which round twice"
    )
    if isinstance(b, Uniform):
        b = Uniform(low.text.variable(f"1.0f / ({b.c})", kind, "inverse"), kind, shape)
    elif isinstance(b, Tile):
        inverse = low.text.block(kind, b.held, "1 / divisor")
        low.text.line(f"__bang_recip({inverse.name}, {b.name}, {count(b.held)});", inverse.name, [b.name])
        b = evolve(inverse, shape=shape)
    return binary(low, "mul", a, b, shape, kind, word)


# -- masks ---------------------------------------------------------------------------------------------


def compare(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``arith.cmpi`` and ``arith.cmpf``."""
    word = op.word(r"^\s*(\w+),")
    a, b = low.operands(op)
    shape, _ = result_of(op)
    kind = a.type if isinstance(a, ScalarValue | Uniform | Tile | Ramp) else "int"
    text = _comparison(low, op.name, word, kind)
    if isinstance(a, ScalarValue) and isinstance(b, ScalarValue):
        return low.number(text.format(atom(a.c), atom(b.c)), "int", op.results[0])
    if op.name == "arith.cmpi":
        mask = _interval(low, word, a, b, shape)
        if mask is not None:
            return mask
    values = [low.small(v) if isinstance(v, Mask | Ramp) else v for v in (a, b)]
    plain = word if word in COMPARED else word[1:]
    instructions = ("bang_bxor", FORMS[plain][0])
    unsigned = (
        word[0] == "u"
        and op.name == "arith.cmpi"
        and kind == "int"
        and all(low.has(i, kind) for i in instructions)
    )
    if unsigned:
        values = [_biased(low, v) for v in values]
    if unsigned or word[0] != "u" or (op.name == "arith.cmpf" and word == "une"):
        tile = binary(low, plain, values[0], values[1], shape, kind, op.results[0], logic=True)
        if tile is not None:
            return tile
    low.text.remark(SCALAR_UNIT)
    out = low.text.block(
        "float", common_held(values, len(shape)), "comparison", word=op.results[0], logic=True
    )
    low.loop(out, lambda indices: text.format(*(element(v, indices) for v in values)))
    return evolve(out, shape=shape)


def _biased(low: KernelLowering, value: Value) -> Value:
    """Return unsigned 32-bit integers with the top bit flipped; as signed integers they compare in the unsigned order."""
    upper = "(-2147483647 - 1)"
    if isinstance(value, ScalarValue | Uniform):
        return evolve(value, c=f"({value.c}) ^ {upper}")
    assert isinstance(value, Tile)
    turned = binary(low, "bxor", value, Uniform(upper, "int", value.shape), value.shape, "int", "t")
    assert turned is not None
    return turned


def _comparison(low: KernelLowering, name: str, word: str, kind: str) -> str:
    """Return the C expression of a comparison of two elements."""
    plain = word if word in COMPARED else word[1:]
    if plain not in COMPARED:
        raise low.refuse(f"the comparison {word} has no form in BANG C here")
    sign = COMPARED[plain]
    if name == "arith.cmpf":
        # Unordered comparisons also hold for NaN, which in C only != does.
        return (
            f"!({{0}} {_OPPOSITE[sign]} {{1}})" if word[0] == "u" and word != "une" else f"{{0}} {sign} {{1}}"
        )
    if word[0] == "u":
        width = "unsigned long" if kind == "int64_t" else "unsigned int"
        return f"({width}){{0}} {sign} ({width}){{1}}"
    return f"{{0}} {sign} {{1}}"


_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def _interval(low: KernelLowering, word: str, a: Value, b: Value, shape: Shape) -> Mask | None:
    """Return a comparison of formulas as an interval of one axis, or as one condition for all lanes; else None."""
    if not any(isinstance(v, Ramp) for v in (a, b)) and not all(isinstance(v, Uniform) for v in (a, b)):
        return None
    first, second = as_ramp(a, shape), as_ramp(b, shape)
    if first is None or second is None or first.terms or second.terms or first.pointer or second.pointer:
        return None
    # Subtract one side from the other: the difference shows along which axis the result changes.
    difference = summed(first, scaled(second, "-1", minus), "int")  # compared with 0
    axes = [d for d, stride in enumerate(difference.strides) if stride != "0" and shape[d] > 1]
    if not axes:
        sign = COMPARED[word if word in COMPARED else word[1:]]
        if word[0] == "u":
            return None
        return Mask.whole(shape, low.text.variable(f"({difference.base}) {sign} 0", "int", "on"))
    if len(axes) > 1 or word not in RISING or difference.strides[axes[0]] not in ("1", "(-1)"):
        return None
    axis = axes[0]
    rises = difference.strides[axis] == "1"
    side, more = (RISING if rises else FALLING)[word]
    gap = minus(difference.base) if rises else difference.base
    bound = low.text.variable(plus(gap, str(more)), "int", "bound")
    mask = Mask.whole(shape)
    bounds = list(mask.low if side == "low" else mask.high)
    bounds[axis] = bound
    return evolve(mask, low=tuple(bounds)) if side == "low" else evolve(mask, high=tuple(bounds))


OF_ONE_BIT = {"muli": "andi", "minui": "andi", "maxui": "ori", "addi": "xori", "subi": "xori"}
"""The logical operation that corresponds to an arithmetic operation on one-bit values."""


def _logic(low: KernelLowering, name: str, values: Sequence[Value], shape: Shape) -> Tensor:
    """Return the combination of masks."""
    name = OF_ONE_BIT.get(name, name)
    if name == "andi":
        masks = [_as_mask(v, shape) for v in values]
        return _both(low, masks[0], masks[1])
    if name == "select":
        return _chosen(low, values, shape, "float", "t", logic=True)
    kind = next((v.type for v in values if isinstance(v, Tile)), "float")
    a, b = (_logic_block(low, v, shape, kind) for v in values)
    held = common_held((a, b), len(shape))
    a, b = (low.whole(evolve(v, shape=v.held), held) for v in (a, b))
    names = {"ori": "bang_or", "xori": "bang_xor"}
    if name not in names or not low.has(names[name], kind):
        raise low.refuse(f"{name} of masks has no form in BANG C here")
    out = low.text.block(kind, held, name, logic=True)
    low.text.line(
        f"__{names[name]}({out.name}, {a.name}, {b.name}, {count(held)});", out.name, [a.name, b.name]
    )
    return evolve(out, shape=shape)


def _as_mask(value: Value, shape: Shape) -> Mask:
    if isinstance(value, Mask):
        return value
    if isinstance(value, Uniform):
        return Mask.whole(shape, value.c)
    assert isinstance(value, Tile)
    return evolve(Mask.whole(shape), tests=(value,))


def _both(low: KernelLowering, a: Mask, b: Mask) -> Mask:
    def narrower(x: str, y: str, plain: str, function: str) -> str:
        if y in (plain, x):
            return x
        return y if x == plain else low.text.variable(f"{function}({x}, {y})", "int", "bound")

    lows = tuple(narrower(x, y, "0", "MOST") for x, y in zip(a.low, b.low, strict=True))
    highs = tuple(narrower(x, y, str(n), "LEAST") for x, y, n in zip(a.high, b.high, a.shape, strict=True))
    condition = (
        a.condition
        if b.condition == "1"
        else b.condition
        if a.condition == "1"
        else f"({a.condition} && {b.condition})"
    )
    return Mask(a.shape, lows, highs, condition, (*a.tests, *b.tests))


def _logic_block(low: KernelLowering, value: Value, shape: Shape, kind: str) -> Tile:
    """Return a mask as ones and zeros in a block of *kind*."""
    block = value if isinstance(value, Tile) else low.small(_as_mask(value, shape))
    if isinstance(block, Uniform | Mask | Ramp):
        raise low.refuse("a mask that is the same everywhere cannot be combined here")
    return convert(low, block, kind, shape, "t", logic=True) if block.type != kind else block


# -- conversions ---------------------------------------------------------------------------------------


def cast(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower a conversion between element types."""
    (value,) = low.operands(op)
    shape, kind = result_of(op)
    source = ttir.shape_and_element(op.types[0])[1] if shape else op.types[0]
    if "rtz" in op.attributes:
        return _toward_zero(low, value, kind, shape, op.results[0])
    # In C the numbers are signed; reinterpreted as unsigned they keep their bits.
    unsigned = UNSIGNED_TYPES.get(source, "") if op.name in ("arith.uitofp", "arith.extui") else ""
    read = f"({unsigned})" if unsigned else ""
    if isinstance(value, ScalarValue):
        return low.number(f"({kind}){read}({value.c})", kind, op.results[0])
    if isinstance(value, Uniform):
        return Uniform(f"({kind}){read}({value.c})", kind, shape)
    if isinstance(value, Ramp) and kind not in FLOATS and not unsigned:
        return evolve(value, type=kind)
    block = low.small(value)
    assert isinstance(block, Tile)
    if unsigned:
        low.text.remark(SCALAR_UNIT)
        out = low.text.block(kind, block.held, op.name, word=op.results[0])
        low.loop(out, lambda indices: f"{read}{element(evolve(block, shape=block.held), indices)}")
        return evolve(out, shape=shape)
    if op.name == "arith.extsi" and source == "i1":
        return apply(
            low, "subi", [Uniform("0", kind, shape), convert(low, block, kind, shape, "t")], shape, kind
        )
    return convert(low, block, kind, shape, op.results[0])


TOWARD_ZERO = {"half": "bang_float2half_tz", "bfloat16_t": "bang_float2bfloat16_tz"}


def _toward_zero(low: KernelLowering, value: Value, kind: str, shape: Shape, word: str) -> Value:
    """Return floats converted to *kind* and truncated toward zero. Raises `Unsupported` if no instruction does that."""
    instruction = TOWARD_ZERO.get(kind, "")
    block = value if isinstance(value, Tile) else low.whole(value, (1,) * max(1, len(shape)))
    if block.type != "float" or not _has_cast(low, instruction):
        raise low.refuse(
            f"no instruction converts {block.type} to {kind} toward zero; leave fp_downcast_rounding out"
        )
    out = low.text.block(kind, block.held, "to fewer bits, toward zero", word=word)
    low.text.line(f"__{instruction}({out.name}, {block.name}, {count(block.held)});", out.name)
    return evolve(out, shape=shape) if shape else low.number(f"{out.name}[0]", kind, word)


def convert(
    low: KernelLowering, block: Tile, kind: str, shape: Shape, word: str, *, logic: bool = False
) -> Tile:
    """Return the elements of *block* converted to *kind* as in C; floats round to the nearest."""
    if block.type == kind:
        return evolve(block, logic=logic)
    ways = [(block.type, kind), (block.type, "float"), ("float", kind)]
    steps = ways[:1] if ways[0] in CASTS else ways[1:] if all(way in CASTS for way in ways[1:]) else []
    if not steps or not all(_has_cast(low, CASTS[way]) for way in steps):
        if block.type not in FLOATS and kind not in FLOATS:
            moved = _moved_words(low, block, kind, word, logic=logic)
            if moved is not None:
                return evolve(moved, shape=shape)
        low.text.remark(SCALAR_UNIT)
        out = low.text.block(kind, block.held, f"{block.type} to {kind}", word=word, logic=logic)
        low.loop(out, lambda indices: element(evolve(block, shape=block.held), indices))
        return evolve(out, shape=shape)
    for _, to in steps:
        out = low.text.block(to, block.held, f"{block.type} to {to}", word=word, logic=logic)
        over = [block.name] if BYTES[to] == BYTES[block.type] else []
        low.text.line(
            f"__{CASTS[block.type, to]}({out.name}, {block.name}, {count(block.held)});", out.name, over
        )
        block = out
    return evolve(block, shape=shape)


def _moved_words(low: KernelLowering, block: Tile, kind: str, word: str, *, logic: bool) -> Tile | None:
    """Convert integers to fewer bytes, or 32 bits to 64, by moving the common bytes; return None for other widenings."""
    size, before, n = BYTES[kind], BYTES[block.type], count(block.held)
    if size > before and ((block.type, kind) != ("int", "int64_t") or not low.has("bang_lt_scalar", "int")):
        return None
    out = low.text.block(kind, block.held, f"{block.type} to {kind}", word=word, logic=logic)
    piece = min(size, before)
    part = BITS[piece]
    to, of = f"({part} *){out.name}", f"({part} *){block.name}"
    low.text.line(f"__bang_move({to}, {of}, {piece}, {size}, {before}, {n - 1});", out.name)
    if size > before:  # the upper words repeat the sign
        sign = low.text.block("int", block.held, "sign")
        low.text.line(f"__bang_lt_scalar({sign.name}, {block.name}, 0, {n});", sign.name)
        low.text.line(f"__bang_mul_scalar({sign.name}, {sign.name}, -1, {n});")
        low.text.line(f"__bang_move({to} + 1, {sign.name}, 4, 8, 4, {n - 1});")
    return out


def _has_cast(low: KernelLowering, instruction: str) -> bool:
    return instruction in ISA and ISA[instruction].available(low.bang_arch)


# -- selection by a mask -------------------------------------------------------------------------------


def select(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``arith.select``: with an interval by a move, with data lane by lane."""
    values = low.operands(op)
    shape, kind = result_of(op)
    word = op.results[0]
    if any(isinstance(v, Ramp) and v.pointer for v in values):
        raise low.refuse(
            "a choice between pointers has no form in BANG C here; choose between offsets, and add them to one pointer"
        )
    if not shape:
        return apply(low, "select", values, shape, kind, word)
    if isinstance(values[0], ScalarValue):
        values[0] = Mask.whole(shape, values[0].c)
    bounded = _bounded(low, values[0], values[1], values[2], kind)
    if bounded is not None:
        return bounded
    return _chosen(low, values, shape, kind, word, logic=op.types[-1].endswith("i1>"))


def _chosen(
    low: KernelLowering, values: Sequence[Value], shape: Shape, kind: str, word: str, *, logic: bool
) -> Tensor:
    """Return the elements of the second value where the first is on, else those of the third."""
    if logic:
        kind = "float"  # a bool may have any of several types
        values = [values[0], *(_ones_and_zeros(low, v, kind) for v in values[1:])]
    values = [low.small(v) if isinstance(v, Ramp) else v for v in values]
    held = common_held(values, len(shape))
    mask, (yes, no) = _as_mask(values[0], shape), values[1:]
    bounds = evolve(mask, tests=())
    everywhere = bounds == Mask.whole(shape)
    if everywhere or len(held) <= 2:
        chosen = _blended(low, mask.tests, yes, no, held, kind, word) if mask.tests else yes
        if chosen is not None:
            out = chosen if everywhere else _moved(low, bounds, chosen, no, held, shape, kind, word)
            return evolve(low.whole(_shrunk(out), held), shape=shape, logic=logic)
    low.text.remark(SCALAR_UNIT)
    out = low.text.block(kind, held, "where", word=word, logic=logic)
    low.loop(
        out, lambda indices: f"{element(mask, indices)} ? {element(yes, indices)} : {element(no, indices)}"
    )
    return evolve(out, shape=shape)


BLENDING = ("bang_eq_scalar", "bang_sub_scalar", "bang_band", "bang_bnot", "bang_bor")


def _blended(
    low: KernelLowering, tests: Sequence[Tile], yes: Value, no: Value, held: Shape, kind: str, word: str
) -> Tile | None:
    """Return the elements of *yes* where all *tests* are on, else those of *no*; None if the architecture lacks the instructions."""
    bits, n = BITS.get(BYTES[kind], ""), count(held)
    if not all(low.has(name, bits) for name in BLENDING):
        return None
    on = _lanes_on(low, tests, held, kind, bits)
    if _is_zero(no):
        return _left(low, yes, on, held, word)
    off = low.text.block(bits, held, "where: lanes that are off")
    low.text.line(f"__bang_bnot({off.name}, {on.name}, {n});", off.name, [on.name])
    if _is_zero(yes):
        return _left(low, no, off, held, word)
    parts = _left(low, yes, on, held, word), _left(low, no, off, held, word)
    out = low.text.block(kind, held, "where", word=word)
    ends = ", ".join(f"({bits} *){block.name}" for block in (out, *parts))
    low.text.line(f"__bang_bor({ends}, {n});", out.name, [part.name for part in parts])
    return out


def _is_zero(value: Value) -> bool:
    return isinstance(value, ScalarValue | Uniform) and value.c in ("0", "0.0f")


def _left(low: KernelLowering, value: Value, lanes: Tile, held: Shape, word: str) -> Tile:
    """Return *value* with zeros in the lanes where *lanes* has no bits."""
    # By bits: a product would keep an infinity or NaN in a lane that is off.
    block = low.whole(_shrunk(value), held)
    out = low.text.block(block.type, held, "where", word=word)
    ends = f"({lanes.type} *){out.name}, ({lanes.type} *){block.name}"
    low.text.line(f"__bang_band({ends}, {lanes.name}, {count(held)});", out.name, [block.name, lanes.name])
    return out


def _lanes_on(low: KernelLowering, tests: Sequence[Tile], held: Shape, kind: str, bits: str) -> Tile:
    """Return all one bits in lanes where all *tests* are on, else zero bits; lanes are as wide as *kind*."""
    on: Tile | None = None
    for test in tests:
        block = test if BYTES[test.type] == BYTES[kind] else convert(low, test, kind, test.shape, "t")
        lanes, n = low.text.block(bits, block.held, "where: lanes that are on"), count(block.held)
        ends = f"{lanes.name}, ({bits} *){block.name}"
        low.text.line(f"__bang_eq_scalar({ends}, 0, {n});", lanes.name, [block.name])
        low.text.line(f"__bang_sub_scalar({lanes.name}, {lanes.name}, 1, {n});")
        lanes = low.whole(lanes, held)
        on = lanes if on is None else binary(low, "band", on, lanes, held, bits, "t")
    assert on is not None
    return on


def _ones_and_zeros(low: KernelLowering, value: Value, kind: str) -> Value:
    """Return bools as ones and zeros of *kind*; a number if all are equal."""
    if isinstance(value, ScalarValue | Uniform):
        return evolve(value, type=kind)
    block = low.small(value)
    assert isinstance(block, Tile)
    return evolve(convert(low, block, kind, block.shape, "t", logic=True), logic=True)


def _moved(
    low: KernelLowering, mask: Mask, yes: Value, no: Value, held: Shape, shape: Shape, kind: str, word: str
) -> Tile:
    """Select by an interval: its elements are moved over the other value, without arithmetic on masks."""
    # A move ignores the lanes that are off, so an infinity or a NaN there does no harm.
    source = low.whole(_shrunk(yes), held)
    other = low.whole(_shrunk(no), held) if isinstance(no, Tile) else None
    out = low.text.block(kind, held, "where", word=word)
    if other is None:
        assert isinstance(no, Uniform | ScalarValue)
        low.fill(out, no.c)
    else:
        low.text.line(
            f"__bang_move({out.name}, {other.name}, {count(held) * BYTES[kind]});", out.name, [other.name]
        )
    lows, sizes = extents(low, mask, held)
    at = plus(times(lows[0], str(held[-1])), lows[-1]) if len(held) == 2 else lows[-1]
    rows = sizes[0] if len(held) == 2 else "1"
    stride, size = held[-1] * BYTES[kind], BYTES[kind]
    low.text.line(
        f"if ({rows} > 0 && {sizes[-1]} > 0) __bang_move({out.name} + {at}, {source.name} + {at}, {sizes[-1]} * {size}, "
        f"{stride}, {stride}, {rows} - 1);"
    )
    return evolve(out, shape=shape)


def _shrunk(value: Value) -> Value:
    return evolve(value, shape=value.held) if isinstance(value, Tile) else value


def extents(low: KernelLowering, mask: Mask | None, shape: Shape) -> tuple[list[str], list[str]]:
    """Return, for each axis, the first active lane and the number of active lanes, as variables clamped to *shape*."""
    lows, sizes = [], []
    for axis, size in enumerate(shape):
        first, last = (mask.low[axis], mask.high[axis]) if mask is not None else ("0", str(size))
        if mask is not None and mask.shape[axis] != size:
            first, last = "0", str(size)
        first = "0" if first == "0" else low.text.variable(f"WITHIN({first}, 0, {size})", "int", "low")
        whole = last == str(size) and first == "0"
        lows.append(first)
        extent = f"WITHIN({last}, {first}, {size})" + ("" if first == "0" else f" - {first}")
        sizes.append(str(size) if whole else low.text.variable(extent, "int", "size"))
    if mask is not None and mask.condition != "1":
        sizes[0] = low.text.variable(f"({mask.condition}) ? {sizes[0]} : 0", "int", "size")
    return lows, sizes


def library(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower a function of a device library."""
    symbol = op.word(r'symbol = "([^"]*)"')
    plain = symbol.removeprefix("__nv_").removeprefix("__cn_")
    name = LIBRARY.get(plain) or LIBRARY.get(plain.removesuffix("f"))
    if not name:
        raise low.refuse(
            f"the library function {symbol} has no form in BANG C here; write it with operations of tl"
        )
    (shape, kind), values = result_of(op), low.operands(op)
    if op.types[-1].endswith("i1>"):  # a test of each element is a mask
        tensors = [low.small(v) if isinstance(v, Mask | Ramp) else v for v in values]
        return evolve(lanes(low, name, tensors, shape, "float", op.results[0]), logic=True)
    # Functions with a shorter result type compute in their operand type.
    takes = next((v.type for v in values if not isinstance(v, Mask) and v.type in FLOATS), kind)
    computed = apply(low, name, values, shape, takes, op.results[0])
    return convert(low, computed, kind, shape, op.results[0]) if isinstance(computed, Tile) else computed


def bitcast(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.bitcast``: the same bytes as another type of equal width, which Triton checks."""
    (value,) = low.operands(op)
    shape, kind = result_of(op)
    if isinstance(value, Ramp) and value.pointer:
        _refuse_wider(low, value.type, kind)
        return evolve(value, type=kind, pointer=f"(({kind} *){value.pointer})")
    if isinstance(value, ScalarValue | Uniform):
        return _bits(low, value, shape, kind, op.results[0])
    block = low.small(value)
    assert isinstance(block, Tile)
    out = low.text.block(kind, block.held, "bitcast", word=op.results[0])
    size = count(block.held) * BYTES[kind]
    low.text.line(f"__bang_move({out.name}, ({kind} *){block.name}, {size});", out.name, [block.name])
    return evolve(out, shape=shape)


def _refuse_wider(low: KernelLowering, kind: str, to: str) -> None:
    if BYTES[kind] != BYTES[to]:
        raise low.refuse(
            f"a pointer to {kind} read as one to {to} has no form in BANG C here; pass the array as {to}"
        )


def _bits(low: KernelLowering, value: ScalarValue | Uniform, shape: Shape, kind: str, word: str) -> Lowered:
    """Return the bytes of a number, or of a pointer, as another type."""
    if value.c in low.pointers:
        _refuse_wider(low, value.type, kind)
        name = low.text.variable(f"({kind} *){value.c}", f"{kind} *", word)
        low.pointers.add(name)
        return ScalarValue(name, kind)
    # Through a variable, because an expression has no address.
    held = low.text.name("bits")
    low.text.line(f"{value.type} {held} = {value.c};")
    number = low.number(f"*({kind} *)&{held}", kind, word)
    return Uniform(number.c, kind, shape) if shape else number


_ARITHMETIC = (*SCALAR, *UNSIGNED)
_CONVERSIONS = (
    "extf",
    "truncf",
    "sitofp",
    "uitofp",
    "fptosi",
    "fptoui",
    "extsi",
    "extui",
    "trunci",
    "index_cast",
)
OPERATIONS: Operations = {
    **{f"{family}.{name}": arithmetic for name in _ARITHMETIC for family in ("arith", "math")},
    **{f"tt.{name}": arithmetic for name in ("precise_sqrt", "precise_divf", "clampf", "mulhiui")},
    **{f"arith.{name}": cast for name in _CONVERSIONS},
    "tt.fp_to_fp": cast,
    "arith.cmpi": compare,
    "arith.cmpf": compare,
    "arith.select": select,
    "tt.extern_elementwise": library,
    "tt.bitcast": bitcast,
    "arith.bitcast": bitcast,
}
