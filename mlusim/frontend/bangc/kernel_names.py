"""The names by which kernels are asked for: where several share one, with namespace or parameters."""

from collections import Counter
from collections.abc import Callable, Iterable

from mlusim.frontend.bangc import ir


def named_kernels(functions: Iterable[ir.Function]) -> dict[str, tuple[ir.Function, ...]]:
    """Return the kernels by the shortest of their names that no other has: ``K``, ``a::K``, ``a::K(float *)``.

    Static kernels of several files may share all of them.
    """
    every = list({f.definition: f for f in functions}.values())
    forms: tuple[Callable[[ir.Function], str], ...] = (lambda f: f.name, qualified, signature)
    counts = [Counter(form(f) for f in every) for form in forms]
    named: dict[str, tuple[ir.Function, ...]] = {}
    for function in every:
        name = _shortest(function, forms, counts)
        named[name] = (*named.get(name, ()), function)
    return named


def _shortest(
    function: ir.Function, forms: tuple[Callable[[ir.Function], str], ...], counts: list[Counter[str]]
) -> str:
    for form, count in zip(forms, counts, strict=True):
        if count[form(function)] == 1:
            return form(function)
    return signature(function)


def qualified(function: ir.Function) -> str:
    """Return the name behind the namespaces around it, ``a::K``."""
    return function.scope + function.name


def signature(function: ir.Function) -> str:
    """Return the qualified name with the types of the parameters."""
    return f"{qualified(function)}({', '.join(p.spelling for p in function.parameters)})"


def called(function: ir.Function, wanted: str) -> bool:
    """Return whether *wanted* is a spelling of one of its names: spaces do not count, and the compiler calls half _Float16."""
    types = signature(function).removeprefix(qualified(function))
    names = (function.name, qualified(function), function.name + types, signature(function))
    plain = _plain(wanted.replace("_Float16", "half").replace("__bf16", "bfloat16_t"))
    return plain in map(_plain, names)


def _plain(name: str) -> str:
    return name.replace(" ", "")
