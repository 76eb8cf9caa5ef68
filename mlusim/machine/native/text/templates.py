"""The bodies of rows in C, by the name in the row's ``native``, for the element types of one call.

A template is C text in which ``$operand`` is the suffix of the operand's element type: ``T_$dst`` is the type of an
element in memory, ``GET_$src(x)`` and ``PUT_$dst(x)`` convert to and from the computing type.  Operands are pointers
with their own names, counts and values numbers; ``SLOW`` leaves the call to Python's body, before anything was
written.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import numpy as np

from mlusim.arch.dtypes import DType, half
from mlusim.isa.declare import CallStyle, Intrinsic
from mlusim.isa.extremes import maximum, minimum, nan_maximum, nan_minimum
from mlusim.isa.factors import EXACT, LANES, TOGETHER, beside
from mlusim.machine.native.text.loops import NAMES

SUFFIX: Mapping[str, str] = {
    "half": "f16", "bfloat16": "b16", "float": "f32", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
}  # fmt: skip
# Only UP is taken: the macro that calls Python.
MODES: Mapping[str, str] = {**{m: m.upper() for m in ("tz", "oz", "dn", "rd", "rn", "rm")}, "up": "UP_"}


class RowCall(NamedTuple):
    """A row with the element types of its operands in one call; *scalars* are the operands that are numbers."""

    row: Intrinsic
    types: Mapping[str, DType]
    scalars: frozenset[str] = frozenset()

    @property
    def dst(self) -> DType:
        """Return the element type of the destination."""
        return self.types["dst"]

    @property
    def sources(self) -> list[str]:
        """Return the names of the operands that are only read."""
        return [n for n, o in self.row.operands.items() if o.access == "read"]


class Each(NamedTuple):
    """The number that a row stores in element ``i`` of ``dst``: the expression *text* of letters, in the type with suffix *suffix*.

    *reads* are the letters of elements ``i`` of operands, *numbers* those of scalars: each a letter, a name and a suffix.
    """

    text: str
    reads: tuple[tuple[str, str, str], ...]
    numbers: tuple[tuple[str, str, str], ...]
    suffix: str

    def loop(self) -> str:
        """Render the row as a loop over its elements."""
        numbers = "".join(f"const U_{s} {x} = GET_{s}({name}); " for x, name, s in self.numbers)
        reads = " ".join(f"U_{s} {x} = GET_{s}(((const T_{s} *){name})[i]);" for x, name, s in self.reads)
        # INDEPENDENT is valid: the only overlap that the door accepts is a source exactly at the destination.
        return (
            f"{numbers}INDEPENDENT for (int64_t i = 0; i < elem_count; i++) "
            f"{{ {reads} ((T_{self.suffix} *)dst)[i] = PUT_{self.suffix}({self.text}); }}"
        )


def body(call: RowCall) -> str | None:
    """Render the C statements of *call*; None if its row has none."""
    text = _rendered(call)
    return None if text is None else _substituted(call, _as_loop(text))


def each(call: RowCall) -> Each | None:
    """Return what *call* does to each element; None if its row is no such loop."""
    text = _rendered(call)
    if not isinstance(text, Each):
        return None

    def filled(letters: tuple[tuple[str, str, str], ...]) -> tuple[tuple[str, str, str], ...]:
        return tuple((x, name, _substituted(call, suffix)) for x, name, suffix in letters)

    expression, suffix = _substituted(call, text.text), _substituted(call, text.suffix)
    return Each(expression, filled(text.reads), filled(text.numbers), suffix)


def _rendered(call: RowCall) -> "Each | str | None":
    row = call.row
    if row.call is not CallStyle.BODY:
        return _mapped(call, row.body)
    if isinstance(row.native, str):
        return row.native or None
    name, *details = row.native
    template = TEMPLATES[name]
    return template if isinstance(template, str) else template(call, *details)


def _as_loop(text: Each | str) -> str:
    return text.loop() if isinstance(text, Each) else text


def _substituted(call: RowCall, text: str) -> str:
    return Template(text).substitute({n: SUFFIX[d.name] for n, d in call.types.items()})


def _mapped(call: RowCall, function: Callable[..., Any]) -> Each | str | None:
    """Render one NumPy function, element by element; an argument that is not an operand is a scalar."""
    names = [p.name for p in call.row.given if p.kind != "count" and p.name != "dst"]
    expression = _expression(function, call.dst)
    if expression is None:
        return None if call.scalars & set(names) else _looped(call, function, names)
    return _elementwise(call, expression, names)


def _elementwise(call: RowCall, text: str, names: Sequence[str]) -> Each | str:
    """Render ``dst[i] = text`` over the sources *names*, called a, b, c in the expression.

    Halves and bfloat16 are widened and narrowed in tiles, for which vector code handles eight at a time.
    """
    letters = dict(zip(names, "abc", strict=False))
    tiles = [n for n in names if n in call.types and n not in call.scalars]
    if call.dst.size != 2 or call.dst.kind != "float":
        reads = tuple((letters[n], n, f"${n}") for n in tiles)
        return Each(text, reads, tuple((letters[n], n, "$dst") for n in names if n not in tiles), "$dst")
    lines = [f"const U_$dst {letters[n]} = GET_$dst({n});" for n in names if n not in tiles]
    lines.append(
        "for (int64_t k = 0; k < elem_count; k += TILE) { int64_t n = smaller_(elem_count - k, TILE); float out_[TILE];"
    )
    lines += [f"float {letters[n]}_[TILE]; widen_${n}({letters[n]}_, {n} + k, n);" for n in tiles]
    get = " ".join(f"float {letters[n]} = {letters[n]}_[i];" for n in tiles)
    lines.append(
        f"for (int64_t i = 0; i < n; i++) {{ {get} out_[i] = {text}; }} narrow_$dst(dst + k, out_, n); }}"
    )
    return "\n  ".join(lines)


# -- NumPy's functions: halves and bfloat16 compute in float and are rounded once, integers wrap (``-fwrapv``) --

_ALL = ("float", "int", "uint")


def _same(text: str, *kinds: str) -> dict[str, str]:
    return dict.fromkeys(kinds or _ALL, text)


EXPRESSIONS: Mapping[Callable[..., Any], Mapping[str, str]] = {
    np.add: _same("a + b"),
    np.subtract: _same("a - b"),
    np.multiply: _same("a * b"),
    np.square: _same("a * a"),
    np.absolute: {"float": "fabsf(a)", "int": "a < 0 ? -a : a"},
    np.reciprocal: _same("1 / a", "float"),
    np.sqrt: _same("sqrtf(a)", "float"),
    np.floor: _same("floorf(a)", "float"),
    np.ceil: _same("ceilf(a)", "float"),
    np.trunc: _same("truncf(a)", "float"),
    np.sign: _same("a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a", "float"),  # the last case is NaN
    np.equal: _same("a == b"),
    np.not_equal: _same("a != b"),
    np.less: _same("a < b"),
    np.less_equal: _same("a <= b"),
    np.greater: _same("a > b"),
    np.greater_equal: _same("a >= b"),
    # & and | instead of &&, which branches and prevents vector code.
    np.logical_and: _same("(a != 0) & (b != 0)"),
    np.logical_or: _same("(a != 0) | (b != 0)"),
    np.logical_xor: _same("(a != 0) != (b != 0)"),
    np.logical_not: _same("a == 0"),
    np.bitwise_and: _same("a & b", "int", "uint"),
    np.bitwise_or: _same("a | b", "int", "uint"),
    np.bitwise_xor: _same("a ^ b", "int", "uint"),
    np.invert: _same("~a", "int", "uint"),
    maximum: _same("FMAX_$dst(a, b)"),
    minimum: _same("FMIN_$dst(a, b)"),
    nan_maximum: _same("MAX_$dst(a, b)"),
    nan_minimum: _same("MIN_$dst(a, b)"),
}


def _expression(function: Callable[..., Any] | str, dtype: DType) -> str | None:
    """Render the C expression of *function*, NumPy's or a text, on elements of *dtype*; None if there is none."""
    return function if isinstance(function, str) else EXPRESSIONS.get(function, {}).get(dtype.kind)


# -- the families whose factories name a template and its mode ---------------------------------------


def _cycle(call: RowCall, function: Callable[..., Any]) -> str | None:
    expression = _expression(function, call.dst)
    if expression is None:
        return None
    get = "U_$src a = GET_$src(src[k + i]); U_$seg b = GET_$seg(seg[i]);"
    return (
        "for (int64_t k = 0; k < src_elem_num; k += seg_elem_num)\n    INDEPENDENT for (int64_t i = 0; i < seg_elem_num; i++) "
        f"{{ {get} dst[k + i] = PUT_$dst({expression}); }}"
    )


def _bits(call: RowCall, function: Callable[..., Any]) -> str | None:
    expression = _expression(function, call.types["src0"])
    return (
        "int64_t whole = (elem_count + 7) / 8;\n  for (int64_t k = 0; k < whole; k++) { int64_t n = smaller_(elem_count - 8 * k, 8); "
        "unsigned byte = 0;\n    for (int64_t i = 0; i < n; i++) { U_$src0 a = GET_$src0(src0[8 * k + i]); "
        f"U_$src1 b = GET_$src1(src1[8 * k + i]); byte |= (unsigned)(!!({expression})) << i; }}\n    dst[k] = (uint8_t)byte; }}"
    )


def _to_int(call: RowCall, mode: str) -> str:
    value = f"whole_(scaled_((double)GET_$src(src[i]), -pos), {MODES[mode]})"
    # From the end where in place a wider result would overwrite the sources behind its own.
    wider = call.dst.size > call.types["src"].size
    turns = "int64_t i = elem_count; i-- > 0;" if wider else "int64_t i = 0; i < elem_count; i++"
    return f"for ({turns}) dst[i] = (T_$dst)saturate_({value}, LOW_$dst, HIGH_$dst);"


def _narrowing(_call: RowCall, mode: str) -> str:
    value = "PUT_$dst(src[i])" if mode == "rn" else f"narrow_to_$dst((double)src[i], {MODES[mode]})"
    return (
        f"for (int64_t i = 0; i < elem_count; i++) {{ T_$dst x_ = {value};\n"
        # MLU2xx, which has no other narrow type than half, has no infinity.
        "    if (generation == 2 && isinf(GET_$dst(x_))) x_ = PUT_$dst(copysignf(65504.0f, GET_$dst(x_)));\n"
        "    dst[i] = x_; }"
    )


def _reduction(call: RowCall, function: Any) -> Each | None:
    """Render an atomic without a result; *function* is NumPy's or a text in a (the old value) and b."""
    expression = _expression(function, call.dst)
    if expression is None:
        return None
    old, new = ("a", "dst", "$dst"), ("b", "src", "$dst")
    return (
        Each(expression, (old,), (new,), "$dst")
        if "src" in call.scalars
        else Each(expression, (old, new), (), "$dst")
    )


def _fetching(call: RowCall, function: Any) -> str | None:
    """Render the same with the old value in dst, which may be the source."""
    expression = _expression(function, call.dst)
    if expression is None:
        return None
    get = "GET_$dst(src2)" if "src2" in call.scalars else "GET_$dst(src2[i])"
    return (
        f"for (int64_t i = 0; i < elem_count; i++) {{ T_$dst was = src1[i]; U_$dst a = GET_$dst(was), b = {get}; (void)a;\n"
        f"    T_$dst now = PUT_$dst({expression}); dst[i] = was; changed_ |= memcmp(&was, &now, sizeof was); src1[i] = now; }}"
    )


def _divide(call: RowCall) -> Each | str:
    """Render a quotient, for integers rounded toward zero; Python rejects a divisor of 0."""
    if call.dst.kind == "float":
        return _elementwise(call, "a / b", _BOTH)
    text = "(int64_t)a / (int64_t)b"  # in 32 bits the lowest divided by -1 would trap
    return _no_zero(call, _elementwise(call, text, _BOTH))


def _remainder(call: RowCall) -> str:
    if call.dst.kind == "float":
        return _as_loop(_elementwise(call, "fmodf(a, b)", _BOTH))  # no vector code has this function
    return _no_zero(call, _elementwise(call, "(int64_t)a % (int64_t)b", _BOTH))


def _compared_filter(call: RowCall) -> str:
    """Render the count of elements that compare true, then those elements; in place, Python does it from a copy."""
    second = "const U_$dst b_ = GET_$dst(src1);" if "src1" in call.scalars else ""
    other = "b_" if second else "GET_$src1(src1[i])"
    test = f"compared_(mode, GET_$src0(src0[i]), {other})"
    each = "for (int64_t i = 0; i < elem_count; i++)"
    return (
        f"if (mode < 0 || mode > 5 || (const void *)dst == (const void *)src0) SLOW; {second}\n"
        "  const int64_t head_ = (generation == 3 ? 4 : 128) / (int64_t)sizeof *dst;\n"
        f"  int64_t kept_ = 0; {each} kept_ += {test};\n"
        "  const int64_t end_ = generation == 3 ? head_ + kept_ : head_ * (1 + (kept_ + head_ - 1) / head_);\n"
        "  if (end_ > room_dst) SLOW;\n"
        "  if (generation == 2) memset(dst, 0, 128);\n"
        "  uint32_t number_ = (uint32_t)kept_; memcpy(dst, &number_, 4); int64_t k = head_;\n"
        f"  {each} if ({test}) dst[k++] = src0[i];\n"
        "  memset(dst + k, 0, (size_t)((end_ - k) * (int64_t)sizeof *dst));"
    )


_BOTH = ("src0", "src1")


def _no_zero(call: RowCall, quotients: Each | str) -> str:
    """Render *quotients* after a look for divisors of 0."""
    text = _as_loop(quotients)
    if "src1" in call.scalars:
        return f"if (src1 == 0) SLOW;\n  {text}"
    return f"for (int64_t i = 0; i < elem_count; i++) if (src1[i] == 0) SLOW;\n  {text}"


def _mask(call: RowCall) -> str:
    """Render an operation on the bits of elements and of a scalar, floats too."""
    word = f"u{8 * call.dst.size}"
    return (
        f"T_{word} bits; memcpy(&bits, &value, sizeof bits); T_{word} *to = (T_{word} *)dst; const T_{word} *frm = (const T_{word} *)src;\n"
        "  INDEPENDENT for (int64_t i = 0; i < elem_count; i++) to[i] = frm[i] & bits;"
    )


def _bitwise(call: RowCall, function: Callable[..., Any]) -> Each:
    """Render an operation on the bits of two sources, floats too."""
    word = f"u{8 * call.dst.size}"
    return Each(EXPRESSIONS[function]["uint"], (("a", "src0", word), ("b", "src1", word)), (), word)


def _extreme(_call: RowCall, beats: str, absolute: bool) -> str:
    """Render the first element that no other exceeds, and its index; a NaN loses against every number."""
    key = "fabsf(GET_$src(src[i]))" if absolute else "GET_$src(src[i])"
    value = "PUT_$dst(best)" if absolute else "src[place]"
    return (
        "int64_t place = -1; float best = 0;\n"
        f"  for (int64_t i = 0; i < elem_count; i++) {{ float key = {key}; if (!IS_NAN(key) && (place < 0 || key {beats} best)) {{ place = i; best = key; }} }}\n"
        f"  if (place < 0) SLOW;\n  T_$dst found = {value}; uint64_t index = (uint64_t)place;\n"
        "  memcpy(dst + 1, &index, 8); dst[0] = found;"
    )


def _pad(call: RowCall) -> str:
    names = {p.name for p in call.row.given} - call.scalars
    sides = "pad_left" in names
    left, right = ("pad_left", "pad_right") if sides else ("pad_bottom", "pad_bottom")
    below = "pad_bottom" if sides else "pad_top"
    return (
        f"int64_t high = height + pad_top + {below}, wide = width + {left} + {right};\n"
        "  for (int64_t i = 0; i < high * wide * channel; i++) dst[i] = value;\n"
        f"  for (int64_t h = 0; h < height; h++) memcpy(dst + ((h + pad_top) * wide + {left}) * channel, src + h * width * channel, (size_t)(width * channel) * sizeof *dst);"
    )


def _transpose(call: RowCall) -> str:
    """Render the transposition of a matrix, in squares that fit the cache."""
    if call.dst.size == 4:
        return "turned_(dst, src, height, width);"
    return (
        "for (int64_t h = 0; h < height; h += 16) for (int64_t w = 0; w < width; w += 16) { int64_t "
        "hh = smaller_(height, h + 16), ww = smaller_(width, w + 16); for (int64_t y = w; y < ww; "
        "y++) for (int64_t x = h; x < hh; x++) dst[y * height + x] = src[x * width + y]; }"
    )


def _expand(_call: RowCall, add: bool) -> str:
    total = "PUT_$dst(GET_$dst(product) + GET_$add(add[at_]))" if add else "product"
    return (
        "for (int64_t i = 0; i < (channels + 63) / 64; i++) wram[i] = PUT_$wram(1);\n"
        "  for (int64_t i = 0; i < n; i++) for (int64_t c = 0; c < channels; c++) { int64_t at_ = i * channels + c;\n"
        f"    T_$dst product = PUT_$dst(GET_$small(small[i]) * GET_$big(big[at_])); dst[at_] = {total}; }}"
    )


_FUSIONS = (
    "a * b + c", "a * b - c", "(a + b) * c", "(a - b) * c", "a + b + c", "a + b - c", "a - b - c", "a - b + c"
)  # fmt: skip


def _fusion(call: RowCall) -> str:
    """Render two operations selected by a number; the vectors of the second and third operand are repeated."""
    get = "".join(
        f" U_$dst {x} = GET_$dst({n});" for n, x in (("src1", "b"), ("src2", "c")) if n in call.scalars
    )
    each = " ".join(
        ["U_$dst a = GET_$dst(src0[k + i]);"]
        + [
            f"U_$dst {x} = GET_$dst({n}[i]);"
            for n, x in (("src1", "b"), ("src2", "c"))
            if n not in call.scalars
        ]
    )
    lines = [
        f"if (op < 0 || op >= {len(_FUSIONS)}) SLOW;\n  int64_t m_ = src12_elem_count_given ? src12_elem_count : elem_count;{get}"
    ]
    for number, text in enumerate(_FUSIONS):
        lines.append(
            f"if (op == {number}) for (int64_t k = 0; k < elem_count; k += m_) for (int64_t i = 0; i < m_; i++) "
            f"{{ {each} dst[k + i] = {_fused(number, text, call.dst)}; }}"
        )
    return "\n  ".join(lines)


def _fused(number: int, text: str, dst: DType) -> str:
    """Render one fusion of a, b and c: products with a sum of floats round once, all others after each operation."""
    if dst.kind != "float":
        return f"PUT_$dst({text})"
    if number < 2:  # FMA and FMS
        product = "(double)a * (double)b"
        total = f"odd_sum_({product}, {'-' if number else ''}(double)c)"
        return f"narrow_to_$dst({total}, RN)"
    first, last = text.rsplit(" ", 2)[0], text.rsplit(" ", 2)[1:]
    return f"PUT_$dst(GET_$dst(PUT_$dst({first})) {' '.join(last)})"


# -- pools: pictures in HWC order, as in `isa.pool` ---------------------------------------------


def _strides(call: RowCall) -> tuple[str, str]:
    # Without strides windows lie side by side.
    down = "kernel_height" if "stride_h" in call.scalars else "stride_h"
    return down, "kernel_width" if "stride_w" in call.scalars else "stride_w"


def _pool(call: RowCall, combine: Any, mean: bool) -> str | None:
    """Render one number for each window and channel, the result of *combine* or its mean."""
    expression = _expression(combine, call.dst)
    down, right = _strides(call)
    # Sums of half have two accumulators, as kernels accepted on the card show (`isa.pool.TWO_SUMS`).
    if combine is np.add and not mean and call.dst is half:
        return _two_sums(down, right)
    rest = "U_$dst b = GET_$dst(PUT_$dst(kernel_height * kernel_width)); for (int64_t c = 0; c < channel; c++) to[c] = PUT_$dst(GET_$dst(to[c]) / b);"
    return (
        f"int64_t high = (height - (kernel_height - 1) * in_dh - 1) / {down} + 1, wide = (width - (kernel_width - 1) * in_dw - 1) / {right} + 1;\n"
        "  for (int64_t y = 0; y < high; y++) for (int64_t x = 0; x < wide; x++) { T_$dst *to = dst + (y * wide + x) * channel;\n"
        f"    for (int64_t h = 0; h < kernel_height; h++) for (int64_t w = 0; w < kernel_width; w++) {{ const T_$src *frm = src + ((y * {down} + h * in_dh) * width + x * {right} + w * in_dw) * channel;\n"
        "      if (!h && !w) memmove(to, frm, (size_t)channel * sizeof *to); else\n"
        f"      for (int64_t c = 0; c < channel; c++) {{ U_$dst a = GET_$dst(to[c]), b = GET_$dst(frm[c]); to[c] = PUT_$dst({expression}); }} }}\n"
        f"    {rest if mean else ''} }}"
    )


def _two_sums(down: str, right: str) -> str:
    """Render sums of half: of even and of odd elements, then of the two, some channels at a time."""
    return (
        f"int64_t high = (height - (kernel_height - 1) * in_dh - 1) / {down} + 1, wide = (width - (kernel_width - 1) * in_dw - 1) / {right} + 1;\n"
        "  for (int64_t y = 0; y < high; y++) for (int64_t x = 0; x < wide; x++) for (int64_t first = 0; first < channel; first += 64) {\n"
        "    const int64_t many = smaller_(channel - first, 64); T_$dst sums[2][64]; int64_t place = 0;\n"
        f"    for (int64_t h = 0; h < kernel_height; h++) for (int64_t w = 0; w < kernel_width; w++, place++) {{ const T_$src *frm = src + ((y * {down} + h * in_dh) * width + x * {right} + w * in_dw) * channel + first;\n"
        "      T_$dst *to = sums[place & 1]; if (place < 2) memcpy(to, frm, (size_t)many * sizeof *to); else\n"
        "      for (int64_t c = 0; c < many; c++) to[c] = PUT_$dst(GET_$dst(to[c]) + GET_$src(frm[c])); }\n"
        "    T_$dst *to = dst + (y * wide + x) * channel + first;\n"
        "    for (int64_t c = 0; c < many; c++) to[c] = place < 2 ? sums[0][c] : PUT_$dst(GET_$dst(sums[0][c]) + GET_$dst(sums[1][c])); }"
    )


def _windows(call: RowCall) -> str:
    """Render the number of windows when the last of a row may be smaller."""
    down, right = _strides(call)
    return (
        f"const int64_t down_ = {down}, right_ = {right}, high = (height - kernel_height) / down_ + 1;\n"
        "  const int64_t wide = smaller_(ceil_div(width - kernel_width, right_) + 1, (width - 1) / right_ + 1);"
    )


def _largest(call: RowCall, values: bool) -> str:
    """Render the index of the largest number of each window, followed with *values* by the number; a NaN loses, the first of equals wins."""
    size = call.types["src"].size
    value = f"dst[at_] = PUT_$dst(top); memcpy((uint8_t *)(dst + at_) + step_dst, &found, {size});"
    index = "dst[at_] = (T_$dst)place;"
    # The value of a window is stored before the next is read; in place, Python does it from a copy.
    apart = f"if ((const void *)dst == (const void *)src) SLOW;\n  uint{8 * size}_t found;" if values else ""
    return (
        f"{apart}{_windows(call)}\n"
        "  for (int64_t y = 0; y < high; y++) for (int64_t x = 0; x < wide; x++) for (int64_t c = 0; c < channel; c++) {\n"
        "    int64_t place = 0, at_ = (y * wide + x) * channel + c; float best = NAN, top = NAN;\n"
        "    for (int64_t h = 0; h < kernel_height; h++) for (int64_t w = 0; w < smaller_(kernel_width, width - x * right_); w++) {\n"
        "      float a = GET_$src(src[((y * down_ + h) * width + x * right_ + w) * channel + c]); top = h | w ? FMAX_f32(top, a) : a;\n"
        "      if (!IS_NAN(a) && !(a <= best)) { best = a; place = h * kernel_width + w; } }\n"
        f"    {f'found = (uint{8 * size}_t)place; {value}' if values else index} }}"
    )


def _unpool(call: RowCall, add: bool) -> str:
    """Render numbers put or added back at their indices in the windows; Python rejects an index outside of its window."""
    total = "PUT_$dst(GET_$dst(*to) + GET_$src(src[at_]))" if add else "src[at_]"
    each = "for (int64_t y = 0; y < high; y++) for (int64_t x = 0; x < wide; x++) for (int64_t c = 0; c < channel; c++)"
    place = "int64_t at_ = (y * wide + x) * channel + c, p = (int64_t)index[at_], w = x * right_ + p % kernel_width;"
    return (
        f"{_windows(call)}\n"
        f"  {each} {{ {place} if (p < 0 || p >= kernel_height * kernel_width || w >= width) SLOW; }}\n"
        "  memset(dst, 0, (size_t)(height * width * channel) * sizeof *dst);\n"
        f"  {each} {{ {place} T_$dst *to = dst + ((y * down_ + p / kernel_width) * width + w) * channel + c; *to = {total}; }}"
    )


# Each window's share at each of its indices, added up or only the last one.
_SHARES = (
    "if (overlap != 0 && overlap != 1) SLOW;\n"
    "  const int64_t high = (height - kernel_height) / stride_h + 1, wide = (width - kernel_width) / stride_w + 1;\n"
    "  const float many = GET_$dst(PUT_$dst(kernel_height * kernel_width)); memset(dst, 0, (size_t)(height * width * channel) * sizeof *dst);\n"
    "  for (int64_t y = 0; y < high; y++) for (int64_t x = 0; x < wide; x++)\n"
    "    for (int64_t h = 0; h < kernel_height; h++) for (int64_t w = 0; w < kernel_width; w++) for (int64_t c = 0; c < channel; c++) {\n"
    "      T_$dst share = PUT_$dst(GET_$src(src[(y * wide + x) * channel + c]) / many), *to = dst + ((y * stride_h + h) * width + x * stride_w + w) * channel + c;\n"
    "      *to = overlap ? share : PUT_$dst(GET_$dst(*to) + GET_$dst(share)); }"
)


# -- transcendental functions: NumPy's own loops (`machine.native.text.loops`), with code around them ----

_TILES = "for (int64_t k = 0; k < elem_count; k += TILE) { int64_t n = smaller_(elem_count - k, TILE);"
_EXP, _EXP_WIDE, _TANH_WIDE = (
    NAMES[u, t] for u, t in ((np.exp, "f->f"), (np.exp, "d->d"), (np.tanh, "d->d"))
)
_EXP_HALF, _POWER_WIDE = NAMES[np.exp, "e->e"], NAMES[np.power, "dd->d"]
_BEND = float(np.sqrt(2 / np.pi))  # 0.7978846 in the formula of the error unit


def _looped(call: RowCall, function: Any, names: list[str]) -> str | None:
    """Render ``dst[i] = function(...)`` of *names*, all of one type, by NumPy's loop for it; None if there is none."""
    dtype = call.dst
    if any(call.types.get(n) is not dtype for n in names) or len(names) not in (1, 2):
        return None
    char = dtype.dtype.char
    name = NAMES.get((function, f"{char * len(names)}->{char}"))
    if name is None:
        return None
    operands = (*names, names[0])[:2]  # with one operand the second is ignored
    # NumPy first copies operands whose addresses are not multiples of the element size.
    crooked = f"({' | '.join(f'(uintptr_t){n}' for n in ('dst', *names))}) % {dtype.size}"
    return (
        f"if (no_loop_(m, {name}) || {crooked}) SLOW;\n"
        f"  loop_(m, {name}, {len(names)}, dst, {operands[0]}, {operands[1]}, elem_count, {dtype.size}, {dtype.size});"
    )


def _one(call: RowCall, function: Any, dtype: str) -> str | None:
    """Render *function* of one number, computed in double and rounded to the type with suffix *dtype*."""
    if call.types["value"].kind != "float":
        return None
    name = NAMES[function, "d->d"]
    result = "GET_f16(narrow_to_f16(y_, RN))" if dtype == "f16" else "(float)y_"
    return (
        f"if (no_loop_(m, {name})) SLOW;\n  double x_ = (double)GET_{dtype}(PUT_{dtype}(GET_$value(value))), y_; "
        f"loop_(m, {name}, 1, &y_, &x_, &x_, 1, 8, 8); result = {result};"
    )


def _exponential(call: RowCall) -> str:
    """Render the power of e with the lower limits of the hardware's table."""
    if call.dst.size == 2:
        return (
            f"if (no_loop_(m, {_EXP_HALF})) SLOW;\n  {_TILES} f16 e_[TILE], x_[TILE]; memcpy(x_, src + k, (size_t)n * 2);\n"
            f"    loop_(m, {_EXP_HALF}, 1, e_, x_, x_, n, 2, 2);\n"
            "    for (int64_t i = 0; i < n; i++) dst[k + i] = from_f16(x_[i]) < -7.75f ? (f16)1 : e_[i]; }"
        )
    return (
        f"if (no_loop_(m, {_EXP})) SLOW;\n  {_TILES} float e_[TILE], x_[TILE];\n"
        "    for (int64_t i = 0; i < n; i++) { float a = src[k + i]; x_[i] = MAX_f32(a, -15.0f); }\n"
        f"    loop_(m, {_EXP}, 1, e_, x_, x_, n, 4, 4); memcpy(dst + k, e_, (size_t)n * 4); }}"
    )


# ``1 / (1 + e ** -x)`` in double, clamped at both ends.
_SIGMOID = (
    f"if (no_loop_(m, {_EXP_WIDE})) SLOW;\n  {_TILES} double e_[TILE], x_[TILE];\n"
    "    for (int64_t i = 0; i < n; i++) x_[i] = -(double)GET_$src(src[k + i]);\n"
    f"    loop_(m, {_EXP_WIDE}, 1, e_, x_, x_, n, 8, 8);\n"
    "    for (int64_t i = 0; i < n; i++) { double y_ = x_[i] > 7.75 ? 0 : x_[i] < -7.75 ? 1 : 1 / (1 + e_[i]); "
    "dst[k + i] = narrow_to_$dst(y_, RN); } }"
)

# The error unit by its hyperbolic tangent, in double.
_GELU = (
    f"if (no_loop_(m, {_TANH_WIDE}) || no_loop_(m, {_POWER_WIDE})) SLOW;\n"
    f"  {_TILES} double x_[TILE], y_[TILE]; const double three_ = 3;\n"
    "    for (int64_t i = 0; i < n; i++) x_[i] = (double)GET_$src(src[k + i]);\n"
    f"    loop_(m, {_POWER_WIDE}, 2, y_, x_, &three_, n, 8, 0);\n"  # a stride of 0: the same exponent for all
    # In hexadecimal the doubles are exactly Python's.
    f"    for (int64_t i = 0; i < n; i++) y_[i] = {_BEND.hex()} * (x_[i] + {(0.044715).hex()} * y_[i]);\n"
    f"    loop_(m, {_TANH_WIDE}, 1, y_, y_, y_, n, 8, 8);\n"
    "    for (int64_t i = 0; i < n; i++) dst[k + i] = narrow_to_$dst(x_[i] / 2 * (1 + y_[i]), RN); }"
)


# -- the tensor unit: its rows use ``c/tensor.h``, included by kernels that multiply -----------

TENSOR_MARK = "Tensor_"  # occurs in the text of each row that needs the header


def tensor_header() -> str:
    """Return the C before the rows."""
    text = (Path(__file__).parents[1] / "c" / "tensor.h").read_text(encoding="utf-8")
    return f"#include <stdlib.h>\nenum {{ EXACT = {EXACT}, TOGETHER = {TOGETHER} }};\n{text}"


def _weight(name: str, count: str, terms: str) -> str:
    """Render the filters in the operand *name*, and the way they are multiplied."""
    near = f"generation == 3 ? {beside(3)} : {beside(5)}"
    return (
        f"({TENSOR_MARK}){{.weight = {name}, .size = sizeof *{name}, .count = {count}, .terms = {terms}, .near = {near}, "
        f".kind = generation >= 5 && E_${name} == E_f32 ? E_tf32 : E_${name}}}"
    )


# A product of matrices, and a fully connected layer.
_MATMUL = f"if (n % {LANES} || E_$dst == E_i16 || !matmul_(m, {_weight('right', 'n', 'k')}, dst, E_$dst, left, m_, fix_pos)) SLOW;"


def _mlp(call: RowCall) -> str:
    """Render a fully connected layer."""
    bias = "bias, E_$bias" if "bias" in call.row.operands else "0, 0"
    weight = _weight("weight", "outputs", "inputs")
    return f"if (outputs % {LANES} || !mlp_(m, {weight}, dst, E_$dst, src, {bias}, fix_pos)) SLOW;"


def _conv(call: RowCall) -> str:
    """Render a convolution; with four numbers at its end the first of them is the dilation down, and there is no scale."""
    down, power = ("dilation_h", "fix_pos") if "out_dw" in call.scalars else ("fix_pos", "0")
    bias = "bias, E_$bias" if "bias" in call.row.operands else "0, 0"
    weight = _weight("weight", "co", "kernel_height * kernel_width * ci")
    return (
        f"const int64_t down_ = {down}, high_ = (height - (kernel_height - 1) * down_ - 1) / stride_h + 1, wide_ = (width - (kernel_width - 1) * dilation_w - 1) / stride_w + 1;\n"
        "  const Windows_ windows_ = {height, width, ci, high_, wide_, kernel_height, kernel_width, stride_h, stride_w, down_, dilation_w};\n"
        f"  if (co % {LANES} || !conv_(m, {weight}, windows_, dst, E_$dst, src, {bias}, {power})) SLOW;"
    )


TEMPLATES: Mapping[str, str | Callable[..., Each | str | None]] = {
    "compared_filter": _compared_filter,
    "cycle": _cycle,
    # An expression of all sources that is the same for every kind of element.
    "map": lambda call, text: _elementwise(
        call, text, [*call.sources, *(p.name for p in call.row.given if p.kind == "value")]
    ),
    "bits": _bits,
    "to_int": _to_int,
    "narrowing": _narrowing,
    "from_int": lambda _call, mode: (
        "for (int64_t i = 0; i < elem_count; i++) "
        f"dst[i] = narrow_to_$dst(scaled_((double)src[i], pos), {MODES[mode]});"
    ),
    "reduction": _reduction,
    "fetching": _fetching,
    "divide": _divide,
    "remainder": _remainder,
    "mask": _mask,
    "bitwise": _bitwise,
    "extreme": _extreme,
    "pad": _pad,
    "transpose": _transpose,
    "expand": _expand,
    "fusion": _fusion,
    "pool": _pool,
    "largest": _largest,
    "unpool": _unpool,
    "shares": _SHARES,
    "loop": lambda call, function: _looped(call, function, call.sources),
    "one": _one,
    "exponential": _exponential,
    "sigmoid": _SIGMOID,
    "gelu": _GELU,
    "matmul": _MATMUL,
    "mlp": _mlp,
    "conv": _conv,
}
