"""Types, locals and arithmetic of the intermediate form in C: sizes, places, conversions, operators with the device's rules."""

from collections.abc import Mapping

from mlusim.arch.dtypes import MEMORY_TYPES, DType, bfloat16
from mlusim.frontend.bangc import ir, types as t
from mlusim.frontend.bangc.scalars import BINARY, REALS, SHIFTS, Real, most_shift

IDS: Mapping[DType, int] = {d: n for n, d in enumerate(MEMORY_TYPES)}
_REALS: Mapping[str, Real] = {one.c: one for one in REALS.values()}


class NoForm(Exception):
    """Something that has no C here; the message says what."""


def floating(kind: t.Arithmetic) -> str:
    """Return which floating type *kind* is: "f16", "b16", "f32" or "f64"."""
    if kind.size == 8:
        return "f64"
    return suffix(kind)


def suffix(kind: t.Arithmetic) -> str:
    """Render the suffix of the element type through which memory of *kind* is seen."""
    seen = t.memory_dtype(kind)
    number = f"{seen.kind[0]}{8 * seen.size}"
    return "b16" if seen is bfloat16 else number


def dtype_of(kind: t.Type) -> DType | None:
    """Return the element type of memory of *kind*; None where it is no number."""
    while isinstance(kind, t.Array):
        kind = kind.of
    return t.memory_dtype(kind) if isinstance(kind, t.Arithmetic) else None


def ctype(kind: t.Type) -> str:
    """Render the C type that holds a value of *kind*."""
    if isinstance(kind, t.Pointer | t.FunctionType):
        return "Ptr"
    if isinstance(kind, t.Void):
        return "void"
    if isinstance(kind, t.Record):
        return f"R_{kind.size}"
    if isinstance(kind, t.VectorRegister):
        return "const uint8_t *"
    if not isinstance(kind, t.Arithmetic):
        raise NoForm(f"a value of {kind}")
    if kind.kind != "float":
        return f"{'uint' if kind.kind == 'bool' else kind.kind}{8 * kind.size}_t"
    return _REALS[floating(kind)].c_type


def real(text: str, kind: t.Arithmetic) -> str:
    """Render a number of type *kind* as float or double."""
    return _REALS[floating(kind)].c_read.format(text)


def rounded(text: str, kind: t.Arithmetic, *, wide: bool) -> str:
    """Render a float, or with *wide* a double, rounded to *kind*."""
    row = _REALS[floating(kind)]
    return (row.c_of_double if wide else row.c_of_float).format(text)


def converted(text: str, have: t.Arithmetic, to: t.Arithmetic) -> str:
    """Render a number of type *have* as one of type *to*."""
    if to.kind == "bool":
        return f"({real(text, have) if have.kind == 'float' else text} != 0)"
    if to.kind == "float":
        if have.kind != "float":
            return _REALS[floating(to)].c_of_whole.format(text)
        if floating(have) == floating(to):
            return text
        return rounded(real(text, have), to, wide=have.size == 8)
    if have.kind == "float":
        # Not a cast: what does not fit is undefined in C, and saturates on the device.
        return f"{ctype(to)}_of({real(text, have)})"
    return f"(({ctype(to)})({text}))"


def computed(op: str, left: str, right: str, kind: t.Arithmetic, site: int) -> str:
    """``left op right`` in the type *kind*; the right side of a shift may be of any integer type."""
    if kind.kind == "float":
        return rounded(f"({real(left, kind)} {op} {real(right, kind)})", kind, wide=False)
    made = ctype(kind)
    if BINARY[op].c:
        return f"{BINARY[op].c}_{suffix(kind)}(m, {left}, {right}, {site})"
    if op in SHIFTS:
        # The count is taken modulo the width; checked runs refuse a shift too far before.
        right = f"({right} & {most_shift(kind)})"
    return f"(({made})({left} {op} {right}))"


def name(local: ir.Local) -> str:
    """Render a local's name in C."""
    return f"v_{local.name}"


def in_register(local: ir.Local) -> bool:
    """Return whether a local is a variable of C."""
    return local.storage is ir.Storage.VALUE and not isinstance(local.type, t.VectorRegister)


def in_bytes(local: ir.Local) -> bool:
    """Return whether the bytes of a local are in simulated memory: numbers of a static array are, too."""
    kind = local.type
    while isinstance(kind, t.Array):
        kind = kind.of
    numbers = isinstance(local.type, t.Array) and isinstance(kind, t.Arithmetic) and kind != t.DOUBLE
    return local.storage is ir.Storage.MEMORY or (local.storage is ir.Storage.STATIC and numbers)


def in_cell(local: ir.Local) -> bool:
    """Return whether a local is a variable outside memory that has an address."""
    return in_frame(local) or (local.storage is ir.Storage.STATIC and not in_bytes(local))


def in_frame(local: ir.Local) -> bool:
    """Return whether a local ends when its function is left."""
    register = isinstance(local.type, t.VectorRegister) and local.storage is ir.Storage.VALUE
    return local.storage is ir.Storage.CELL or register


def element_size(kind: t.Type) -> int:
    """Return the size that `run.NativeForm.nowhere` takes of a variable: the bytes of an array's elements, a record's negative size."""
    inner = kind
    while isinstance(inner, t.Array):
        inner = inner.of
    if inner is not kind:
        return inner.size
    return -kind.size if isinstance(kind, t.Record | t.VectorRegister) else 0


def literal(value: object, kind: t.Type) -> str:
    """Render a constant as a literal of C."""
    if value is None:
        return "((Ptr)0)"
    if isinstance(kind, t.Pointer):
        return f"((Ptr){int(value)}ull)"  # type: ignore[call-overload]
    assert isinstance(kind, t.Arithmetic)
    if kind.kind != "float":
        number = int(value)  # type: ignore[call-overload]
        if kind.kind in ("uint", "bool"):
            return f"(({ctype(kind)}){number}ull)"
        # The smallest long has no literal: C reads the minus as an operator on a number that does not fit.
        return f"(({ctype(kind)})({number}ll))" if number > -(1 << 63) else f"(({ctype(kind)})INT64_MIN)"
    return rounded(_real_literal(float(value)), kind, wide=True)  # type: ignore[arg-type]


def _real_literal(value: float) -> str:
    if value != value:  # noqa: PLR0124 - NaN is what differs from itself
        return "((double)NAN)"
    if value in (float("inf"), float("-inf")):
        return f"((double){'-' if value < 0 else ''}INFINITY)"
    # In hexadecimal a compiler has nothing to round.
    return f"({value.hex()})"
