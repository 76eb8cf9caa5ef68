"""The check that the arguments of a launch fit the kernel's parameters."""

from typing import Any

from mlusim.arch.dtypes import DType
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.machine.tensor import DeviceTensor

LONG = 128  # bits of a number that is written out
_BITS_OF_BFLOAT16 = 2  # bytes; files have no bfloat16, and integers carry it


def limits_of(parameter: ir.Local) -> tuple[int, int]:
    """Return the least and the greatest whole number that *parameter* takes as it is; an empty range where it takes none."""
    kind = parameter.type
    if isinstance(kind, t.Arithmetic) and kind.whole and kind.kind != "bool":
        return kind.low, kind.high
    return 1, 0


class Fitting:
    """The check of arguments for one *parameter*, which recognises at a glance what has fitted before."""

    def __init__(self, parameter: ir.Local) -> None:
        self.parameter = parameter
        self._low, self._high = limits_of(parameter)
        self._elements: set[DType] = set()

    def misfit(self, argument: Any) -> str | None:
        """Return what `misfit` of the parameter says."""
        tensor = argument.__class__ is DeviceTensor
        if (
            argument.dtype in self._elements
            if tensor
            else argument.__class__ is int and self._low <= argument <= self._high
        ):
            return None
        found = misfit(self.parameter.type, argument)
        if tensor and found is None:
            self._elements.add(argument.dtype)
        return found


def misfit(kind: t.Type, argument: object) -> str | None:
    """Return the words for what type *kind* takes, where *argument* is something else; None where it fits."""
    if isinstance(kind, t.Pointer):
        if isinstance(argument, DeviceTensor):
            wanted = other_elements(argument.dtype, kind.to)
            return None if wanted is None else f"a tensor of {argument.dtype}; it takes {wanted}"
        if isinstance(argument, int | float):
            return f"{argument!r}; it takes a tensor, a pointer or None"
    if isinstance(kind, t.Arithmetic) and kind.whole and kind.kind != "bool":
        value = argument.item() if hasattr(argument, "item") else argument
        if isinstance(value, float) and not value.is_integer():
            return f"{value!r}; it takes a whole number"
        if isinstance(value, int | float) and not kind.low <= value <= kind.high:
            return f"{_said(value)}; it takes {kind.low} to {kind.high}"
    if isinstance(kind, t.Arithmetic) and kind.kind == "float" and isinstance(argument, int):
        try:
            float(argument)
        except OverflowError:
            return f"{_said(argument)}; it takes what a double holds"
    return None


def _said(value: float) -> str:
    """Return a number as a sentence has room for it."""
    long = isinstance(value, int) and value.bit_length() > LONG
    return f"a number of {int(value).bit_length()} bits" if long else repr(value)


def other_elements(have: DType, to: t.Type) -> DType | None:
    """Return the elements that a pointer to *to* takes, where *have* is another kind; bytes and untyped memory take all."""
    if not isinstance(to, t.Arithmetic) or to.size == 1 or to == t.DOUBLE:
        return None
    wanted = t.DTYPE_OF[next(s for s in t.SCALARS if (s.kind, s.size) == (to.kind, to.size))]
    raw = have.size == _BITS_OF_BFLOAT16 and to.name == t.BFLOAT16.name and have.kind != "float"
    fits = raw or (have.size == to.size and (have.kind == "float") == (to.kind == "float"))
    return None if fits else wanted
