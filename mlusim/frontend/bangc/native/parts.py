"""Which pointer variables an operand goes through, in a screened run: what each holds, and which function was called where.

What comes of it is `programs.native_parts`.
"""

from collections.abc import Iterator, Sequence

from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.native.numbers import ctype, in_cell
from mlusim.frontend.bangc.native.rendering import Rendering, effectful
from mlusim.frontend.bangc.pointer_roots import Root, address_roots, roots

MOST = 8  # variables that are followed, one computed from the other, in one function


def followed(root: Root) -> bool:
    """Return whether C knows what the variable *root* holds: a pointer outside of memory that is no parameter."""
    local = root.local
    return (
        local is not None
        and not local.parameter
        and not root.path
        and local.storage in (ir.Storage.VALUE, ir.Storage.CELL)
        and isinstance(local.type, t.Pointer)
    )


def _held(local: ir.Local) -> str:
    """Render what a variable that is followed holds."""
    return f"(*d_{local.name})" if in_cell(local) else f"v_{local.name}"


def _behind(c: Rendering, found: Sequence[Root]) -> Iterator[tuple[ir.Local, ir.Local | None]]:
    """Yield the variables that *found* are computed from, and they themselves, each with the one that it is computed from."""
    for root in found:
        for _ in range(MOST):
            if root.local is None or root.local.parameter:
                break
            befores = [] if root.path else [r for v in c.given.get(root.local, ()) for r in roots(v)]
            before = next((r for r in befores if r.local is not root.local), None)
            if followed(root):
                yield root.local, before.local if before is not None and followed(before) else None
            if before is None:
                break
            root = before  # noqa: PLW2901 - the next on the way


def _kept(c: Rendering, found: Sequence[Root], span: ir.Span) -> str:
    """Render what is kept of the variables behind *found* at *span*; empty where there are none."""
    made = " ".join(
        f"keeps_(m, {c.site(span)}, {c.locals.setdefault(local, len(c.locals))}, {_held(local)}, {_held(local if before is None else before)});"
        for local, before in dict(_behind(c, found)).items()
    )
    return f"if (FOLLOWS(m)) {{ {made} }}" if made else ""


def used(c: Rendering, arguments: Sequence[ir.Expr], made: str, span: ir.Span) -> str:
    """Render *made*, which uses *arguments* at *span*, behind what is kept of the variables of the pointers among them."""
    if not c.screened:
        return made
    kept = _kept(c, [r for a in arguments if isinstance(a.type, t.Pointer) for r in roots(a)], span)
    return f"({{ {kept} {made}; }})" if kept else made


def accessed(c: Rendering, at: ir.Place, made: str, span: ir.Span) -> str:
    """Render *made*, an access of the place *at* at *span*, in the same way."""
    if not c.screened:
        return made
    kept = _kept(c, address_roots(at), span) if isinstance(at, ir.Element | ir.Member) else ""
    return f"({{ {kept} {made}; }})" if kept else made


def called(c: Rendering, node: ir.Call) -> str:
    """Render a call of a function, during which the screen knows that it is inside."""
    symbol = c.symbols.setdefault(node.symbol, len(c.symbols))
    head = f"entered_(m, {c.site(node.span)}, {symbol})"
    if any(effectful(a) for a in node.arguments):  # inside are not its arguments
        names = [c.temporary() for _ in node.arguments]
        first = " ".join(
            f"{ctype(a.type)} {n} = {c.value(a)};" for a, n in zip(node.arguments, names, strict=True)
        )
    else:
        first, names = "", [c.value(a) for a in node.arguments]
    call = f"k_{node.symbol}({', '.join((head, *names))})"
    outer = c.temporary()
    if isinstance(node.type, t.Void):
        done = f"{call}; m->context = {outer};"
    else:
        result = c.temporary()
        done = f"{ctype(node.type)} {result} = {call}; m->context = {outer}; {result};"
    return f"({{ {first} const int32_t {outer} = m->context; {used(c, node.arguments, f'({{ {done} }})', node.span)}; }})"
