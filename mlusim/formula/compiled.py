"""Formulas as straight-line code: one function for many formulas, every common part computed once.

A kernel asks its plan for pointers once per task, and a solver asks thousands of times, so the
formulas are written out as Python source and compiled once.  The source stays readable in
`Compiled.source`; it holds nothing but names, integers, ``+ - * //``, ``min`` and ``max``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import frozen

from mlusim.arch.dtypes import DType
from mlusim.errors import UsageError
from mlusim.formula.expr import Amount, Expr, Operation, SizeOf, symbol


@frozen
class Compiled:
    """A function of *params* (names, in order) that returns the value of every formula, in order."""

    params: tuple[str, ...]
    source: str
    function: Callable[..., tuple[Any, ...]]

    def __call__(self, env: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the values of all formulas for *env*; raises `UsageError` for a missing name or a zero divisor."""
        try:
            return self.function(*[env[p] for p in self.params])
        except KeyError as missing:
            raise UsageError(f"the formulas need a value for {missing.args[0]}") from None
        except ZeroDivisionError:
            raise UsageError(
                "a size formula divides by zero; give the divisor's variable a larger value"
            ) from None


class _Writer:
    """Turns formulas into assignments, one per distinct operation."""

    def __init__(self, vector: bool) -> None:
        self.vector = vector
        self.names: dict[Expr, str] = {}
        self.params: set[str] = set()
        self.lines: list[str] = []

    def value(self, expr: Expr) -> str:
        """Return the name or the number that stands for *expr*."""
        if isinstance(expr, Amount):
            return f"({expr.value})" if expr.value < 0 else str(expr.value)
        if isinstance(expr, SizeOf) and isinstance(expr.type, DType):
            return str(expr.type.size)
        if not isinstance(expr, Operation):
            name = symbol(expr)
            self.params.add(name)
            return name
        if expr not in self.names:
            form = expr.op.vector if self.vector else expr.op.source
            code = self.value(expr.args[0])
            for arg in expr.args[1:]:
                code = self.assign(form.format(code, self.value(arg)))
            self.names[expr] = code
        return self.names[expr]

    def assign(self, code: str) -> str:
        name = f"_{len(self.lines)}"
        self.lines.append(f"    {name} = {code}")
        return name


def compile_exprs(exprs: Sequence[Expr], *, vector: bool = False) -> Compiled:
    """Return one function for all of *exprs*; with *vector* it takes NumPy integer arrays as well."""
    writer = _Writer(vector)
    results = [writer.value(e) for e in exprs]
    params = tuple(sorted(writer.params))
    body = "".join(f"{line}\n" for line in writer.lines)
    returned = "".join(f"{r}, " for r in results)
    source = f"def sizes({', '.join(params)}):\n{body}    return ({returned})\n"
    # Formulas name no other function.
    scope: dict[str, Any] = {"np": np, "min": min, "max": max, "__builtins__": {}}
    exec(compile(source, "<plan>", "exec"), scope)  # noqa: S102 - source made above from formulas only
    return Compiled(params, source, scope["sizes"])
