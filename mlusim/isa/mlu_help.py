"""The answer of the class `Mlu`, which has no intrinsics of its own, when it is asked for one: what `help` shows."""

import inspect
from collections.abc import Callable
from typing import Any

from mlusim.errors import UsageError
from mlusim.isa.declare import Intrinsic
from mlusim.isa.table import ISA


def names() -> tuple[str, ...]:
    """Return the names of all intrinsics."""
    return tuple(ISA)


def described(name: str) -> Callable[..., Any] | None:
    """Return a function that stands for the intrinsic called *name*; None where there is none."""
    row = ISA.get(name)
    return None if row is None else _standing_for(row)


def _standing_for(row: Intrinsic) -> Callable[..., Any]:
    """Return a function with the name, the signature and the documentation of *row*; only a kernel's `Mlu` can execute it."""

    def intrinsic(*given: Any, **named: Any) -> Any:
        del given, named
        raise UsageError(f"{row.name} runs in a kernel; call it on the `mlu` that the kernel is handed")

    kinds = inspect.Parameter
    parameters = [kinds("mlu", kinds.POSITIONAL_OR_KEYWORD)]
    for p in row.given:
        kind = kinds.VAR_POSITIONAL if p.kind == "rest" else kinds.POSITIONAL_OR_KEYWORD
        default = kinds.empty if p.kind == "rest" else p.default
        parameters.append(kinds(p.name, kind, default=default))
    intrinsic.__name__ = row.name
    intrinsic.__qualname__ = f"Mlu.{row.name}"
    intrinsic.__doc__ = "\n\n".join([inspect.cleandoc(row.doc), *_facts(row)])
    intrinsic.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return intrinsic


def _facts(row: Intrinsic) -> list[str]:
    """Return the spelling, pipe and rules; the page of the reference has the rest."""
    rules = "\n".join(f"* {rule.legal}" for rule in row.rules)
    way = any(p.name == "direction" for p in row.given)  # which decides the pipe of a copy
    pipe = "" if way else f"; runs on the {row.pipe.value} pipe"
    told = f"Spelled {row.spelling} in BANG C{pipe}.  `mlusim isa {row.name}` says more."
    return [told, *([f"Rules:\n\n{rules}"] if rules else [])]
