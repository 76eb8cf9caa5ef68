"""Calls of intrinsics and of the C library in C."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from mlusim.counted import plural
from mlusim.engine.native.door import NUMBERS, NativeArgument, Use, door
from mlusim.engine.native.layout import MOST_ARGUMENTS
from mlusim.engine.native.rows import MEETS, REGISTERS, WAITS
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.native import classes, parts, registers
from mlusim.frontend.bangc.native.numbers import (
    IDS,
    NoForm,
    ctype,
    dtype_of,
    real,
    rounded,
)
from mlusim.frontend.bangc.native.rendering import Rendering
from mlusim.isa.table import ISA


def intrinsic(c: Rendering, node: ir.IntrinsicCall) -> str:
    """Render a call of a row: the run-time's own, a door in C, or Python's door."""
    made = _intrinsic(c, node)
    return made if node.row in WAITS or node.row in MEETS else parts.used(c, node.arguments, made, node.span)


def _intrinsic(c: Rendering, node: ir.IntrinsicCall) -> str:
    number, site = NUMBERS[node.row], c.site(node.span)
    if node.row in WAITS:
        return f"(m->site = {site}, wait_(m, {number}, {WAITS[node.row]}))"
    if node.row in MEETS:
        passes = "m->memory_core" if MEETS[node.row] == "ipu" else "0"
        return f"meet_(m, {number}, {site}, {passes})"
    if node.row == "sync_compute":
        return f"(m->site = {site}, wait_compute_(m, {number}))"
    if node.row in ("is_mpu", "is_ipu"):
        return f"(m->counts[{number}]++, {'' if node.row == 'is_mpu' else '!'}m->memory_core)"
    # Copies of one dimension and of two; others go up to Python.
    if node.row in ("memcpy", "memcpy_async") and len(node.arguments) in (4, 7):
        return _copy(c, node, number, site)
    if node.row in REGISTERS:
        return registers.call(c, node, _kinds(node))
    use = _use(node)
    if use is not None and door(use, c.arch, c.mode) is not None:
        c.uses[use] = None
        made = c.in_order(node.arguments, lambda *a: f"{use.name}({', '.join(('m', *a, str(site)))})")
        return _result(node, made)
    return _python(c, node, f"UP(m, {number}, {site}")


def _kinds(node: ir.IntrinsicCall) -> list[t.Type]:
    return [*node.overload, *(a.type for a in node.arguments[len(node.overload) :])]


def _use(node: ir.IntrinsicCall) -> Use | None:
    """Return how the row's door is called, where all arguments are numbers and pointers."""
    given = []
    for kind in _kinds(node):
        if isinstance(kind, t.Pointer):
            given.append(NativeArgument(True, dtype_of(kind.to)))
        # Doors take no double.
        elif isinstance(kind, t.Arithmetic) and not (kind.kind == "float" and kind.size == 8):
            given.append(NativeArgument(False, dtype_of(kind)))
        else:
            return None
    return Use(node.row, tuple(given))


def _copy(c: Rendering, node: ir.IntrinsicCall, number: int, site: int) -> str:
    ids = [_id(k) for k in _kinds(node)[:2]]

    def made(dst: str, src: str, size: str, direction: str, *shape: str) -> str:
        given = f"m, {number}, {dst}, {src}, {size}, {direction}"
        if node.row == "memcpy":
            name = "memcpy_rows" if shape else "memcpy_1d"
            return f"{name}({', '.join((given, *shape))}, {ids[0]}, {ids[1]}, {site})"
        shaped = ", ".join(("1", *shape)) if shape else "0, 0, 0, 0"
        return f"memcpy_start({given}, {shaped}, {ids[0]}, {ids[1]}, {site})"

    return c.in_order(node.arguments, made)


def _id(kind: t.Type) -> int:
    found = dtype_of(kind.to) if isinstance(kind, t.Pointer) else None
    return -1 if found is None else IDS[found]


def _python(c: Rendering, node: ir.IntrinsicCall | ir.LibraryCall, head: str) -> str:
    """Leave the call to Python."""
    if len(node.arguments) > MOST_ARGUMENTS:
        raise NoForm(
            f"a call with {len(node.arguments)} {plural(len(node.arguments), 'argument')} (more than {MOST_ARGUMENTS})"
        )
    kinds = _kinds(node) if isinstance(node, ir.IntrinsicCall) else [a.type for a in node.arguments]
    texts = [c.text(a.value) if isinstance(a, ir.Text) else None for a in node.arguments]
    plain = tuple(a for a in node.arguments if not isinstance(a, ir.Text))
    typed = ISA[node.row].typing if isinstance(node, ir.IntrinsicCall) else ()

    def made(*values: str) -> str:
        left = iter(values)
        arguments = [
            f"a_text({text})" if text is not None else _argument(next(left), kind, typed=n in typed)
            for n, (text, kind) in enumerate(zip(texts, kinds, strict=True))
        ]
        if not arguments:
            return f"row_up{head[2:]}, 0, 0)" if head.startswith("UP") else f"library_up{head[7:]}, 0, 0)"
        return f"{head}, {', '.join(arguments)})"

    called = c.in_order(plain, made)
    if isinstance(node.type, t.Void):
        return f"((void){called})"
    return _answer(called, node.type)


def _argument(text: str, kind: t.Type, *, typed: bool) -> str:
    """Render an argument for Python: a number of its element type where it is *typed*, else a plain one."""
    if isinstance(kind, t.Pointer):
        return f"a_pointer({text}, {_id(kind)})"
    if not isinstance(kind, t.Arithmetic):
        raise NoForm(f"an argument of {kind}")
    if kind.name == "mluMemcpyDirection_t":
        return f"a_direction({text})"
    plain = not typed or kind.kind == "bool" or (kind.kind == "float" and kind.size == 8)
    found = -1 if plain else IDS[dtype_of(kind)]  # type: ignore[index]
    if kind.kind == "float":
        return f"a_float({real(text, kind)}, {found})"
    # An int64_t holds the numbers of all other types.
    made = "a_unsigned" if plain and kind.kind == "uint" and kind.size == 8 else "a_integer"
    return f"{made}((int64_t)({text}), {found})"


def _answer(called: str, kind: t.Type) -> str:
    """Render Python's answer as a value of *kind*."""
    if isinstance(kind, t.Pointer):
        return f"({called}.bits)"
    if not isinstance(kind, t.Arithmetic):
        raise NoForm(f"a result of {kind}")
    if kind.kind == "float":
        return rounded(f"number_of({called})", kind, wide=True)
    return f"(({ctype(kind)})whole_of({called}))"


def _result(node: ir.IntrinsicCall, made: str) -> str:
    """Render the result of a door in C as a value of the type that the source says."""
    kind = node.type
    if isinstance(kind, t.Void) or ISA[node.row].returns == "None":
        return made
    assert isinstance(kind, t.Arithmetic)
    if kind.kind == "float":
        return rounded(made, kind, wide=False)
    return f"(({ctype(kind)})({made}))"


# -- the C library -----------------------------------------------------------------------------------

_IN_DOUBLE: Mapping[str, str] = MappingProxyType(
    {
        "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "fabs": "fabs",
        "round": "round_half_away",
    }
)  # fmt: skip


def library(c: Rendering, node: ir.LibraryCall) -> str:
    """Render a function of the C library: C's own where it is exact, else what the Python engine computes with."""
    if node.name == classes.BECOME:
        return classes.become(c, node)
    own = _own(node)
    if own is not None:
        return c.in_order(node.arguments, own)
    return _python(c, node, f"CALL_UP(m, {c.function(node.name)}, {c.site(node.span)}")


def _own(node: ir.LibraryCall) -> Callable[..., str] | None:
    name, kind = node.name, node.type
    bare = name.removesuffix("f") if name.removesuffix("f") in _IN_DOUBLE else name
    if bare in _IN_DOUBLE and isinstance(kind, t.Arithmetic) and kind.kind == "float":
        have = node.arguments[0].type
        if isinstance(have, t.Arithmetic):
            return lambda a: rounded(f"{_IN_DOUBLE[bare]}((double){_number(a, have)})", kind, wide=True)
    if name in ("min", "max") and isinstance(kind, t.Arithmetic) and len(node.arguments) == 2:
        sign = "<" if name == "min" else ">"
        return lambda a, b: _smaller(a, b, sign, kind)
    if name in ("abs", "labs") and isinstance(kind, t.Arithmetic) and kind.kind == "int":
        return lambda a: f"({{ {ctype(kind)} x_ = {a}; ({ctype(kind)})(x_ < 0 ? -x_ : x_); }})"
    if name == "__builtin_expect":
        return lambda a, _: a
    return None


def _smaller(a: str, b: str, sign: str, kind: t.Arithmetic) -> str:
    """Render the first of two, unless the second is beyond it."""
    made = ctype(kind)
    test = f"{real('y_', kind)} {sign} {real('x_', kind)}" if kind.kind == "float" else f"y_ {sign} x_"
    return f"({{ {made} x_ = {a}; {made} y_ = {b}; {test} ? y_ : x_; }})"


def _number(text: str, kind: t.Arithmetic) -> str:
    return real(text, kind) if kind.kind == "float" else text
