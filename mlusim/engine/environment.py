"""A call's arguments as the values of a row's formulas."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mlusim.formula.condition import Fact
from mlusim.formula.expr import Expr, SizeOf, symbol
from mlusim.formula.python import to_python
from mlusim.memory.pointer import Ptr

if TYPE_CHECKING:
    from mlusim.isa.declare import Operand


def environment(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names that formulas of a row may use in a call with *arguments*: these, and the facts of its operands."""
    known: dict[str, Any] = {}
    for name, value in arguments.items():
        pointer = isinstance(value, Ptr)
        known[f"pointer_{name}"] = pointer
        if pointer:
            view = value.view
            known[f"sizeof_{name}"], known[f"phase_{name}"] = view.itemsize, view.phase
            known[f"kind_{name}"] = view.dtype.kind
        else:
            known[name] = value
    return known


def value(formula: Expr, arguments: Mapping[str, Any]) -> Any:
    """Return the value of *formula* in a call with *arguments*."""
    return formula.evaluate(environment(arguments))


def extent(operand: "Operand", arguments: Mapping[str, Any]) -> int:
    """Return the number of elements of *operand* in a call with *arguments*."""
    known = environment(arguments)
    known["sizeof_T"] = arguments[operand.name].view.itemsize
    return operand.extent.evaluate(known)


def in_code(formula: Expr, names: Mapping[str, str]) -> str:
    """Return the source of *formula*, with what *names* says for its leaves and their own names for the others."""
    return to_python(formula, lambda leaf: names.get(symbol(leaf), symbol(leaf)))


def asked_of_arguments(rule: Expr) -> str:
    """Return the source of *rule*, for code that has the arguments by their names."""
    return to_python(rule, _argument)


def _argument(leaf: Expr) -> str:
    if isinstance(leaf, SizeOf):
        return f"{leaf.type.name}.view.itemsize"
    if isinstance(leaf, Fact):
        how = {"phase": ".view.phase", "kind": ".view.dtype.kind", "pointer": ".__class__ is Ptr"}
        return leaf.operand + how[leaf.what]
    return symbol(leaf)
