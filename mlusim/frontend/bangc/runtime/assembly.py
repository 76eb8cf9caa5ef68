"""Inline assembly: each instruction of its text as a call of the row that it is."""

import functools
from typing import Any

from mlusim.errors import Unsupported, UsageError
from mlusim.isa.assembly import Argument, AssemblyCall, Reference, assembly_calls
from mlusim.isa.register import Register

_calls = functools.cache(assembly_calls)  # a text is read once


def run(mlu: object, text: str, operands: dict[str, Any]) -> None:
    """Execute *text* with its *operands* by name: pointers to what it writes, values of what it reads.

    Raises `Unsupported` for an instruction that is not known.
    """
    try:
        calls = _calls(text)
    except UsageError as error:
        raise Unsupported(str(error), hint="call the intrinsic that does the same") from None
    for call in calls:
        _execute(mlu, call, operands)


def _execute(mlu: object, call: AssemblyCall, operands: dict[str, Any]) -> None:
    result = getattr(mlu, call.row)(*(_given(argument, operands) for argument in call.arguments))
    if call.result is not None:
        operands[call.result.name][0] = result


def _given(argument: Argument, operands: dict[str, Any]) -> Any:
    """Return the operand that an argument stands for among *operands*: memory as its type, a register itself, a number."""
    if not isinstance(argument, Reference):
        return argument
    value = operands[argument.name]
    if argument.memory:
        return value if argument.dtype is None else value.cast(argument.dtype)
    if isinstance(value, Register | int | float) or not hasattr(value, "__getitem__"):
        return value
    return value[0]
