"""Bodies of transcendental functions in C: NumPy's own loops (`engine.native.loops`), and what stands around them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlusim.arch.dtypes import DType
from mlusim.engine.native.loops import NAMES
from mlusim.isa.declare import Intrinsic

Types = Mapping[str, DType]

_TILES = "for (int64_t k = 0; k < elem_count; k += TILE) { int64_t n = smaller_(elem_count - k, TILE);"
_EXP, _EXP_WIDE, _TANH_WIDE = (
    NAMES[u, t] for u, t in ((np.exp, "f->f"), (np.exp, "d->d"), (np.tanh, "d->d"))
)
_EXP_HALF, _POWER_WIDE = NAMES[np.exp, "e->e"], NAMES[np.power, "dd->d"]
_BEND = float(np.sqrt(2 / np.pi))  # 0.7978846 in the formula of the error unit


def mapped(function: Any, names: list[str], types: Types) -> str | None:
    """``dst[i] = function(...)`` of *names*, all of one type, by NumPy's loop for it; None where there is none."""
    dtype = types["dst"]
    if any(types.get(n) is not dtype for n in names) or len(names) not in (1, 2):
        return None
    char = dtype.dtype.char
    name = NAMES.get((function, f"{char * len(names)}->{char}"))
    if name is None:
        return None
    given = (*names, names[0])[:2]  # of one operand the second is not looked at
    return (
        f"if (no_loop_(m, {name}) || {_crooked('dst', *names, size=dtype.size)}) SLOW;\n"
        f"  loop_(m, {name}, {len(names)}, dst, {given[0]}, {given[1]}, elem_count, {dtype.size}, {dtype.size});"
    )


def _crooked(*names: str, size: int) -> str:
    """Return whether any pointer is at no multiple of its elements: NumPy copies such operands first."""
    return f"({' | '.join(f'(uintptr_t){n}' for n in names)}) % {size}"


def loop(row: Intrinsic, types: Types, scalars: frozenset[str], function: object) -> str | None:
    """Render the loop of *function* over all sources."""
    del scalars
    return mapped(function, [n for n, o in row.operands.items() if o.access == "read"], types)


def one(row: Intrinsic, types: Types, scalars: frozenset[str], function: Any, dtype: str) -> str | None:
    """*function* of one number, computed in double and rounded to the type with suffix *dtype*."""
    del row, scalars
    if types["value"].kind != "float":
        return None
    name = NAMES[function, "d->d"]
    result = "GET_f16(narrow_to_f16(y_, RN))" if dtype == "f16" else "(float)y_"
    return (
        f"if (no_loop_(m, {name})) SLOW;\n  double x_ = (double)GET_{dtype}(PUT_{dtype}(GET_$value(value))), y_; "
        f"loop_(m, {name}, 1, &y_, &x_, &x_, 1, 8, 8); result = {result};"
    )


def exponential(row: Intrinsic, types: Types, scalars: frozenset[str]) -> str:
    """Render the power of e with the floors of the hardware's table."""
    del row, scalars
    if types["dst"].size == 2:
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


def sigmoid(row: Intrinsic, types: Types, scalars: frozenset[str]) -> str:
    """``1 / (1 + e ** -x)`` in double, cut off at both ends."""
    del row, types, scalars
    return (
        f"if (no_loop_(m, {_EXP_WIDE})) SLOW;\n  {_TILES} double e_[TILE], x_[TILE];\n"
        "    for (int64_t i = 0; i < n; i++) x_[i] = -(double)GET_$src(src[k + i]);\n"
        f"    loop_(m, {_EXP_WIDE}, 1, e_, x_, x_, n, 8, 8);\n"
        "    for (int64_t i = 0; i < n; i++) { double y_ = x_[i] > 7.75 ? 0 : x_[i] < -7.75 ? 1 : 1 / (1 + e_[i]); "
        "dst[k + i] = narrow_to_$dst(y_, RN); } }"
    )


def gelu(row: Intrinsic, types: Types, scalars: frozenset[str]) -> str:
    """Render the error unit by its hyperbolic tangent, in double."""
    del row, types, scalars
    return (
        f"if (no_loop_(m, {_TANH_WIDE}) || no_loop_(m, {_POWER_WIDE})) SLOW;\n"
        f"  {_TILES} double x_[TILE], y_[TILE]; const double three_ = 3;\n"
        "    for (int64_t i = 0; i < n; i++) x_[i] = (double)GET_$src(src[k + i]);\n"
        f"    loop_(m, {_POWER_WIDE}, 2, y_, x_, &three_, n, 8, 0);\n"  # a stride of 0: one exponent for all
        # In hexadecimal the doubles are Python's own.
        f"    for (int64_t i = 0; i < n; i++) y_[i] = {_BEND.hex()} * (x_[i] + {(0.044715).hex()} * y_[i]);\n"
        f"    loop_(m, {_TANH_WIDE}, 1, y_, y_, y_, n, 8, 8);\n"
        "    for (int64_t i = 0; i < n; i++) dst[k + i] = narrow_to_$dst(x_[i] / 2 * (1 + y_[i]), RN); }"
    )


TRANSCENDENTALS: Mapping[str, Callable[..., str | None]] = {
    "loop": loop,
    "one": one,
    "exponential": exponential,
    "sigmoid": sigmoid,
    "gelu": gelu,
}
