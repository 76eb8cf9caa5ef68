"""Pointers to functions in C: the words that they are, and calls through them.

A pointer is the address of its function, which no memory has.  C takes calls through one apart by the functions of the type whose
address is taken somewhere in the program.
"""

from collections.abc import Iterator, Mapping, Sequence

from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir.walk import walk
from mlusim.frontend.bangc.native import registers
from mlusim.frontend.bangc.native.numbers import NoForm, ctype
from mlusim.frontend.bangc.native.rendering import Rendering, Signature
from mlusim.frontend.bangc.runtime.core import code_address


def pointer(c: Rendering, node: ir.FunctionAddress) -> str:
    """Render the address of a function."""
    return f"((Ptr){code_address(c.pointed[node.symbol])}ull)"


def invoked(c: Rendering, node: ir.Invoke) -> str:
    """Render a call through a pointer; what it leads to is looked at first, as Python does."""
    signature = ctype(node.type), *(ctype(a.type) for a in node.arguments)
    number = c.signatures.setdefault(signature, len(c.signatures))
    given = (node.function, *node.arguments)
    made = c.in_order(given, lambda *a: f"through_{number}({', '.join(('m', *a))}, {c.site(node.span)})")
    return registers.kept(c, made, node.span) if isinstance(node.type, t.VectorRegister) else made


def heads(c: Rendering) -> Iterator[str]:
    """Render the prototypes of the functions that call through pointers."""
    for signature, number in c.signatures.items():
        yield f"{_head(signature, number)};"


def _head(signature: Signature, number: int) -> str:
    result, *parameters = signature
    given = "".join(f", {kind} a_{n}" for n, kind in enumerate(parameters))
    return f"static {result} through_{number}(Core *m, Ptr f{given}, int site)"


def bodies(c: Rendering, forms: Mapping[str, ir.Function]) -> Iterator[str]:
    """Render the functions that call through pointers, each for the functions of one signature."""
    for signature, number in c.signatures.items():
        result, *parameters = signature
        given = "".join(f", a_{n}" for n in range(len(parameters)))
        cases = []
        for symbol, place in c.pointed.items():
            if signature_of(forms.get(symbol)) == signature:
                done = (
                    f"k_{symbol}(m{given}); return;" if result == "void" else f"return k_{symbol}(m{given});"
                )
                cases.append(f"case {code_address(place)}ull: {done}")
        # The program ends in Python there: the function that is behind it for the compiler is never reached.
        lost = f"CALL_UP(m, {c.function('__no_code')}, site, a_pointer(f, -1)); __builtin_unreachable();"
        yield f"{_head(signature, number)} {{ switch (f) {{ {' '.join(cases)} default: break; }} {lost} }}"


def signature_of(form: ir.Function | None) -> Signature | None:
    """Return the signature of a function in C; None where it has none."""
    if form is None:
        return None
    try:
        return ctype(form.result), *(ctype(p.type) for p in form.parameters)
    except NoForm:
        return None


def calls(forms: Sequence[ir.Function], pointed: Sequence[str]) -> dict[str, set[str]]:
    """Return the functions that each function may call: by name, or by an address that is taken somewhere."""
    found: dict[str, set[str]] = {}
    for form in forms:
        nodes = walk(form.body)
        named = {n.symbol for n in nodes if isinstance(n, ir.Call | ir.FunctionAddress)}
        named.update(*(n.targets.values() for n in nodes if isinstance(n, ir.Dispatch)))
        if any(isinstance(n, ir.Invoke) for n in nodes):
            named.update(pointed)
        found[form.symbol] = named
    return found
