"""The names by which kernels are asked for: where several share one, with namespace or parameters."""

import re
from collections import Counter
from collections.abc import Callable, Iterable

from mlusim.frontend.bangc import ir

_PART = re.compile(r"\d+")


def named_kernels(functions: Iterable[ir.Function]) -> dict[str, ir.Function]:
    """Each kernel by the shortest of its names that no other has: ``K``, ``a::K``, ``a::K(float *)``."""
    every = list({f.symbol: f for f in functions}.values())
    forms: tuple[Callable[[ir.Function], str], ...] = (lambda f: f.name, qualified, signature)
    counts = [Counter(form(f) for f in every) for form in forms]
    return {_shortest(f, forms, counts): f for f in every}


def _shortest(
    function: ir.Function, forms: tuple[Callable[[ir.Function], str], ...], counts: list[Counter[str]]
) -> str:
    for form, count in zip(forms, counts, strict=True):
        if count[form(function)] == 1:
            return form(function)
    return signature(function)


def qualified(function: ir.Function) -> str:
    """The name behind the namespaces around it, which the mangled name has: ``_ZN1a1KEPi`` is ``a::K``."""
    symbol, parts = function.symbol, []
    at = len("_ZN") if symbol.startswith("_ZN") else len(symbol)
    while (found := _PART.match(symbol, at)) is not None:
        at = found.end() + int(found.group())
        parts.append(symbol[found.end() : at])
    outer = [part for part in parts[:-1] if not part.startswith("_GLOBAL__N")]
    return "::".join([*outer, function.name])


def signature(function: ir.Function) -> str:
    """The qualified name with the types of the parameters."""
    return f"{qualified(function)}({', '.join(p.spelling for p in function.parameters)})"


def called(function: ir.Function, wanted: str) -> bool:
    """Whether *wanted* is a spelling of one of its names: spaces do not count, and the compiler calls half _Float16."""
    types = signature(function).removeprefix(qualified(function))
    names = (function.name, qualified(function), function.name + types, signature(function))
    plain = _plain(wanted.replace("_Float16", "half").replace("__bf16", "bfloat16_t"))
    return plain in map(_plain, names)


def _plain(name: str) -> str:
    return name.replace(" ", "")
