"""Which pointer variables an operand goes through, in a screened run: what each holds, and which function was called where.

What comes of it is `programs.native_parts`.
"""

from collections.abc import Iterator, Sequence

from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.native.numbers import ctype
from mlusim.frontend.bangc.native.rendering import Rendering, effectful
from mlusim.frontend.bangc.pointer_roots import Root, address_roots, roots

MOST = 8  # variables that are followed, one computed from the other, in one function


def followed(root: Root) -> bool:
    """Return whether C knows what the variable *root* holds: a pointer in a register that is no parameter."""
    local = root.local
    return (
        local is not None
        and not local.parameter
        and not root.path
        and local.storage is ir.Storage.VALUE
        and isinstance(local.type, t.Pointer)
    )


def _behind(c: Rendering, found: Sequence[Root]) -> Iterator[ir.Local]:
    """Yield the variables that *found* are computed from, and they themselves."""
    for root in found:
        for _ in range(MOST):
            if root.local is None or root.local.parameter:
                break
            if followed(root):
                yield root.local
            befores = [] if root.path else [r for v in c.given.get(root.local, ()) for r in roots(v)]
            befores = [r for r in befores if r.local is not root.local]
            if not befores:
                break
            root = befores[0]  # noqa: PLW2901 - the next on the way


def _kept(c: Rendering, found: Sequence[Root]) -> str:
    """Render what is kept of the variables behind *found*; empty where there are none."""
    names = dict.fromkeys(_behind(c, found))
    made = " ".join(
        f"keeps_(m, {c.locals.setdefault(local, len(c.locals))}, v_{local.name});" for local in names
    )
    return f"if (FOLLOWS(m)) {{ {made} }}" if made else ""


def used(c: Rendering, arguments: Sequence[ir.Expr], made: str) -> str:
    """Render *made*, which uses *arguments*, behind what is kept of the variables of the pointers among them."""
    if not c.screened:
        return made
    kept = _kept(c, [r for a in arguments if isinstance(a.type, t.Pointer) for r in roots(a)])
    return f"({{ {kept} {made}; }})" if kept else made


def accessed(c: Rendering, at: ir.Place, made: str) -> str:
    """Render *made*, an access of the place *at*, in the same way."""
    if not c.screened:
        return made
    kept = _kept(c, address_roots(at)) if isinstance(at, ir.Element | ir.Member) else ""
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
    return (
        f"({{ {first} const int32_t {outer} = m->context; {used(c, node.arguments, f'({{ {done} }})')}; }})"
    )
