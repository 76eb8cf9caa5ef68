"""The draws for each argument of a kernel: the forms of ``--arg``, ranges of floats besides, and alternatives."""

import re
from collections.abc import Mapping
from math import isfinite

from attrs import evolve, frozen

from mlusim.errors import UsageError
from mlusim.programs.argument_forms import DRAW, DRAWS, IN, REAL, REAL_FORMS, ArgumentValue
from mlusim.programs.argument_values import value_of


@frozen
class ArgumentDraw:
    """One alternative for an argument: its ``value`` as ``--arg`` has it, and the range of the floats that are drawn for it."""

    value: ArgumentValue
    reals: tuple[float, float] | None = None

    @property
    def is_number(self) -> bool:
        """Return whether it is a number that is drawn."""
        return self.value.form == DRAW or (self.reals is not None and not self.value.is_array)

    @property
    def is_filled(self) -> bool:
        """Return whether it is an array whose values are drawn."""
        return self.value.form in (IN, DRAWS) and self.value.file is None

    @property
    def is_bounded(self) -> bool:
        """Return whether the elements of the array have a range."""
        return self.reals is not None or self.value.form == DRAWS


@frozen
class DrawnArgument:
    """An argument by the name of a parameter, or of a number for formulas alone, with its alternatives."""

    name: str
    options: tuple[ArgumentDraw, ...]


@frozen
class CallDraw:
    """The choices from which calls are drawn: arguments in their order, grids, boards."""

    arguments: tuple[DrawnArgument, ...]
    dims: tuple[tuple[int, int, int], ...]
    boards: tuple[str, ...]

    def argument(self, name: str) -> DrawnArgument:
        """Return the argument called *name*."""
        return next(one for one in self.arguments if one.name == name)


def specified(texts: Mapping[str, str]) -> tuple[DrawnArgument, ...]:
    """Return the arguments that *texts*, by name, describe.  Raises `UsageError` for what is none, with the legal forms."""
    return tuple(
        DrawnArgument(name, tuple(_option(part.strip(), f"--arg {name}") for part in text.split("|")))
        for name, text in texts.items()
    )


def _option(text: str, what: str) -> ArgumentDraw:
    found = re.match(rf"((?:host:)?(?:inout:)?){REAL}:", text)
    back = "" if found is None else found[1]
    word, _, rest = text.removeprefix(back).partition(":")
    if word != REAL:
        return ArgumentDraw(value_of(text, what))
    span, colon, array = rest.partition(":")
    low, _, high = span.partition("..")
    try:
        reals = float(low), float(high)
    except ValueError:
        reals = 0.0, -1.0
    if not (reals[0] <= reals[1] and all(map(isfinite, reals))) or (back and not colon):
        raise UsageError(f"{what} is given {text!r}; write {REAL_FORMS}, the lower number first")
    value = value_of(f"{back}in:{array}", what) if colon else value_of(repr(reals[0]), what)
    return ArgumentDraw(evolve(value, text=text), reals)
