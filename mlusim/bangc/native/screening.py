"""Screened runs in C, which record silent changes of values, variables without a value, and the pointer variables behind operands.

The changes are those that `bangc.render.arithmetic` reports in Python. Value ranges are not needed
here, because the C compiler removes superfluous tests itself.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from mlusim.bangc import ir, scalars, types as t
from mlusim.bangc.ir.walk import Root, address_roots, changed, effectful, roots, walk
from mlusim.bangc.native import emit
from mlusim.bangc.native.emit import CWalker, ctype, in_cell, in_register, name, real
from mlusim.machine.observed import ValueChange


@frozen
class FailedTest:
    """A range test of the native engine, described for its failure: ``a op b`` of type *have* does not fit type *to* (*rule*)."""

    rule: str
    have: str
    to: str
    low: int
    high: int
    op: str

    def __call__(self, a: float, b: float) -> ValueChange:
        """Return the change for a failure with operands *a* and *b*."""
        value = scalars.BINARY[self.op].whole(a, b)
        held = scalars.kept(value, self.rule, self.low, self.high)
        return ValueChange(self.rule, value, self.have, held, self.to, self.high - self.low + 1)


@frozen
class HalfTest:
    """Reports a finite number that is too large for half."""

    rule: str = scalars.HALF
    have: str = "float"
    to: str = "half"

    def __call__(self, a: float, b: float) -> ValueChange:
        """Return the change of *a*, which exceeds the largest half."""
        del b
        return ValueChange(self.rule, a, self.have, math.copysign(math.inf, a), self.to, 0)


@frozen
class FloatTest:
    """The test that ``a op b`` (or *a*) of finite floats is a finite float."""

    op: str
    rule: str = scalars.BEYOND
    have: str = "float"
    to: str = "float"

    def __call__(self, a: float, b: float) -> ValueChange:
        """Return the change for a failure with operands *a* and *b*."""
        real = scalars.BINARY[self.op].real
        assert real is not None
        value = real(a, b)
        return ValueChange(self.rule, value, self.have, scalars.to_single(value), self.to, 0)


def _single(c: CWalker, op: str, left: str, right: str, kind: t.Arithmetic, site: int) -> str:
    """Render ``left op right`` of floats or doubles (*kind*), tested as a float."""
    change = c.changes.setdefault(FloatTest(op), len(c.changes))
    return f"FLOAT_({ctype(kind)}, {op}, {left}, {right}, {change}, {site})"


def _half(c: CWalker, text: str, *, wide: bool, site: int) -> str:
    """Render the float (with *wide*: double) *text*, rounded to half with a test."""
    change = c.changes.setdefault(HalfTest(), len(c.changes))
    rounded = emit.rounded("z_", t.HALF, wide=wide)
    return f"HALF_({'double' if wide else 'float'}, {text}, {rounded}, {change}, {site})"


def computed(
    c: CWalker, op: str, left: str, right: str, kind: t.Arithmetic, site: int, *, steps: bool = False
) -> str:
    """Render ``left op right`` in the type *kind*; *steps* as in `change_of_operation`."""
    change = scalars.change_of_operation(op, kind, steps=steps)
    if change in (scalars.OVERFLOW, scalars.COUNTER):
        c_type, number = ctype(kind), _change(c, change, kind, kind, op)
        return f"FITS_({c_type}, {scalars.BINARY[op].tested}, ({c_type})({left}), ({c_type})({right}), {number}, {site})"
    if change == scalars.HALF:
        return _half(c, f"({real(left, kind)} {op} {real(right, kind)})", wide=False, site=site)
    if change == scalars.BEYOND:
        return _single(c, op, left, right, kind, site)
    if change == scalars.SHIFT:
        right = f"SHIFT_({right}, {8 * kind.size}, {_change(c, scalars.SHIFT, kind, kind)}, {site})"
    return emit.computed(op, left, right, kind, site)


def _change(c: CWalker, rule: str, have: t.Arithmetic, to: t.Arithmetic, op: str = "+") -> int:
    """Return the number of the test of ``a op b``, of type *have*, against type *to*."""
    failed = FailedTest(rule, have.name, to.name, to.low, to.high, op)
    return c.changes.setdefault(failed, len(c.changes))


def converted(
    c: CWalker,
    text: str,
    have: t.Arithmetic,
    to: t.Arithmetic,
    site: int,
    *,
    cast: bool = False,
    steps: bool = False,
) -> str:
    """Render the conversion of a number from *have* to *to*; *cast* and *steps* as in `change_of_conversion`."""
    change = scalars.change_of_conversion(have, to, cast=cast, steps=steps)
    if change == scalars.HALF:
        if have.kind != "float":
            return _half(c, f"(double)({text})", wide=True, site=site)
        return _half(c, real(text, have), wide=have.size == 8, site=site)
    if change == scalars.BEYOND:
        return _single(c, "-", text, "0.0", have, site)  # keeps the sign of a zero
    if change == scalars.FLOAT:
        low = float(to.low - 1).hex()
        # For signed 64-bit types low - 1 is not a double: it rounds to low itself, which fits.
        below = "<" if to.size < 8 or to.low == 0 else "<="
        inside = f"({low} {below} (double)z_ && (double)z_ < {float(to.high + 1).hex()})"
        whole = f"WITHIN_(double, (double)({real(text, have)}), {inside}, {_change(c, scalars.FLOAT, have, to)}, {site})"
        return f"{ctype(to)}_of({whole})"
    if change is None:
        return emit.converted(text, have, to)
    # The compiler's checked addition of 0 tests the range in one instruction.
    number = _change(c, change, have, to)
    return f"FITS_({ctype(to)}, add, ({ctype(have)})({text}), ({ctype(have)})0, {number}, {site})"


def negated(c: CWalker, text: str, kind: t.Arithmetic, site: int) -> str:
    """Render the negative of an integer."""
    c_type = ctype(kind)
    return f"FITS_({c_type}, sub, ({c_type})0, ({c_type})({text}), {_change(c, scalars.OVERFLOW, kind, kind, '-')}, {site})"


def unset(form: ir.Function) -> frozenset[ir.Local]:
    """Return the numbers and structs outside memory that *form* declares without a value."""
    nodes = (n for n in walk(form.body) if isinstance(n, ir.Declare))
    return frozenset(n.local for n in nodes if n.value is None and n.local.begins_unset)


def held(form: ir.Function) -> frozenset[ir.Local]:
    """Return the numbers outside memory whose only value is one element that their declaration loads, and nothing else."""
    nodes = walk(form.body)
    stores, declared_ = changed(nodes), [n for n in nodes if isinstance(n, ir.Declare)]
    once = Counter(n.local for n in declared_)
    return frozenset(
        n.local for n in declared_ if once[n.local] == 1 and not stores.get(n.local) and _holds(n)
    )


def _holds(node: ir.Declare) -> bool:
    local, value = node.local, node.value
    if local.storage is not ir.Storage.VALUE or not in_register(local) or not isinstance(value, ir.Load):
        return False
    kind = local.type
    plain = isinstance(kind, t.Arithmetic) and kind.kind != "bool" and value.type == kind
    loads = [n for n in walk(value) if isinstance(n, ir.Load) and not isinstance(n.place, ir.LocalStorage)]
    return plain and isinstance(value.place, ir.Element) and len(loads) == 1 and not effectful(value)


def held_read(c: CWalker, local: ir.Local, direct: str, span: ir.Span) -> str:
    """Render the read of *local*, which holds a loaded number: a test that depends on it alone, or another use."""
    site, number = c.site(span), emit.late(local)
    does = f"decides_late_(m, {number}, {site})" if c.deciding_late is local else f"used_late_(m, {site})"
    return f"LATE_({does}, {number}, {direct})"


def flag(local: ir.Local) -> str:
    """Render the C flag that says that a number in a register has no value yet."""
    return f"u_{local.name}"


def flags(local: ir.Local) -> str:
    """Render the C flags for the bytes of a variable with an address."""
    return f"f_{local.name}"


def declared(local: ir.Local) -> str:
    """Render a statement that marks *local* as having no value."""
    if local.storage is ir.Storage.VALUE:
        return f"{flag(local)} = 1;"
    numbers_ = " ".join(f"memset({flags(local)} + {at}, 1, {size});" for at, size in _numbers(local.type, 0))
    return f"memset({flags(local)}, 0, {local.type.size}); {numbers_}"


def _numbers(kind: t.Type, at: int) -> Iterator[tuple[int, int]]:
    """Yield the offsets and sizes of the numbers in a *kind* at offset *at*; as in Python, not those in arrays and unions."""
    if isinstance(kind, t.Arithmetic):
        yield at, kind.size
    elif isinstance(kind, t.Struct) and not kind.union:
        for part in kind.fields:
            yield from _numbers(part.type, at + part.offset)


def lacking(unset: frozenset[ir.Local], at: ir.Place) -> str | None:
    """Render the condition that the variable or member *at* has no value; None if it certainly has one."""
    within = _within(unset, at)
    if within is None:
        return None
    local, offset = within
    if local.storage is ir.Storage.VALUE:
        return flag(local)
    return f"any_({flags(local)} + {offset}, {at.type.size})"


def given(unset: frozenset[ir.Local], at: ir.Place) -> str:
    """Render a statement that marks *at* as having a value; "" if it is not tracked."""
    within = _within(unset, at)
    if within is None:
        return ""
    local, offset = within
    if local.storage is ir.Storage.VALUE:
        return f"{flag(local)} = 0;"
    return f"memset({flags(local)} + {offset}, 0, {at.type.size});"


def _within(unset: frozenset[ir.Local], at: ir.Place) -> tuple[ir.Local, int] | None:
    offset = 0
    while isinstance(at, ir.Member):
        offset, at = offset + at.offset, at.base
    return (at.local, offset) if isinstance(at, ir.LocalStorage) and at.local in unset else None


# The pointer variables behind an operand in a screened run: their values, and the calls of functions.
#
# `programs.native_parts` evaluates these records.

MOST = 8  # limit of variables tracked in a function, each computed from the next


def followed(root: Root) -> bool:
    """Return whether C can read the variable *root*: a pointer outside memory that is not a parameter."""
    local = root.local
    return (
        local is not None
        and not local.parameter
        and not root.path
        and local.storage in (ir.Storage.VALUE, ir.Storage.CELL)
        and isinstance(local.type, t.Pointer)
    )


def _held(local: ir.Local) -> str:
    """Render the value of a tracked variable."""
    return f"(*d_{local.name})" if in_cell(local) else name(local)


def _behind(c: CWalker, sources: Iterable[Root]) -> Iterator[tuple[ir.Local, ir.Local | None]]:
    """Yield the variables of *sources*, each with the variable from which it is computed."""
    for root in sources:
        for _ in range(MOST):
            if root.local is None or root.local.parameter:
                break
            befores = [] if root.path else [r for v in c.assigned.get(root.local, ()) for r in roots(v)]
            before = next((r for r in befores if r.local is not root.local), None)
            if followed(root):
                yield root.local, before.local if before is not None and followed(before) else None
            if before is None:
                break
            root = before  # noqa: PLW2901 - the next on the way


def _behind_kept(c: CWalker, sources: Iterable[Root], code: str, span: ir.Span) -> str:
    """Render *code* after code that records, in a screened run, the variables behind *sources* at *span*."""
    if not c.checked:
        return code
    keeping = " ".join(
        f"keeps_(m, {c.site(span)}, {c.locals.setdefault(local, len(c.locals))}, {_held(local)}, {_held(local if before is None else before)});"
        for local, before in dict(_behind(c, sources)).items()
    )
    return f"({{ if (FOLLOWS(m)) {{ {keeping} }} {code}; }})" if keeping else code


def with_pointers(c: CWalker, arguments: Sequence[ir.Expr], code: str, span: ir.Span) -> str:
    """Render *code*, which uses *arguments* at *span*, after code that records the variables behind its pointers."""
    return _behind_kept(
        c, (r for a in arguments if isinstance(a.type, t.Pointer) for r in roots(a)), code, span
    )


def with_pointer(c: CWalker, at: ir.Place, code: str, span: ir.Span) -> str:
    """Render *code*, an access to the place *at* at *span*, in the same way."""
    sources = address_roots(at) if isinstance(at, ir.Element | ir.Member) else ()
    return _behind_kept(c, sources, code, span)


def with_call(c: CWalker, node: ir.Call) -> str:
    """Render a call of a function; meanwhile the screen has the call as its context."""
    symbol = c.symbols.setdefault(node.symbol, len(c.symbols))
    head, ended = f"entered_(m, {c.site(node.span)}, {symbol})", ""
    if node.symbol in c.reaching:
        number = c.reached.setdefault((c.within[2], c.site(node.span)), len(c.reached))
        head, ended = f"reaches_({head}, {number})", " calls_ended_(m);"
    if c.order_matters(node.arguments) or any(
        map(effectful, node.arguments)
    ):  # the arguments are evaluated outside the call
        names = [c.temporary() for _ in node.arguments]
        first = " ".join(
            f"{ctype(a.type)} {n} = {c.value(a)};" for a, n in zip(node.arguments, names, strict=True)
        )
    else:
        first, names = "", [c.value(a) for a in node.arguments]
    call = f"k_{node.symbol}({', '.join((head, *names))})"
    outer = c.temporary()
    if isinstance(node.type, t.Void):
        done = f"{call}; m->context = {outer};{ended}"
    else:
        result = c.temporary()
        done = f"{ctype(node.type)} {result} = {call}; m->context = {outer};{ended} {result};"
    return f"({{ {first} const int32_t {outer} = m->context; {with_pointers(c, node.arguments, f'({{ {done} }})', node.span)}; }})"
