"""The draws for each argument of a kernel: the forms of ``--arg``, ranges of floats, alternatives, and integers where faults are likely."""

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from attrs import evolve, frozen

from mlusim.arch.board import Board
from mlusim.bangc import ir, types as t
from mlusim.bangc.ir.walk import walk
from mlusim.errors import UsageError
from mlusim.files.reading import read_text
from mlusim.programs.argument_forms import DRAW, DRAWS, IN, REAL, REAL_FORMS, ArgumentValue
from mlusim.programs.argument_values import value_of

if TYPE_CHECKING:
    from mlusim.bangc.module import Module


@frozen
class ArgumentDraw:
    """One alternative for an argument: its ``value`` in the form of ``--arg``, and the range of the floats drawn for it."""

    value: ArgumentValue
    reals: tuple[float, float] | None = None

    @property
    def is_number(self) -> bool:
        """Return whether it is a scalar whose value is drawn."""
        return self.value.form == DRAW or (self.reals is not None and not self.value.is_array)

    @property
    def is_filled(self) -> bool:
        """Return whether it is an array whose elements are drawn."""
        return self.value.form in (IN, DRAWS) and self.value.file is None

    @property
    def is_bounded(self) -> bool:
        """Return whether the elements of the array have a range."""
        return self.reals is not None or self.value.form == DRAWS


@frozen
class DrawnArgument:
    """An argument with its alternatives; its name is a parameter's, or that of a number used only in formulas."""

    name: str
    options: tuple[ArgumentDraw, ...]


@frozen
class CallDraw:
    """The choices from which calls are drawn: arguments in order, grids, boards."""

    arguments: tuple[DrawnArgument, ...]
    dims: tuple[tuple[int, int, int], ...]
    boards: tuple[str, ...]

    def argument(self, name: str) -> DrawnArgument:
        """Return the argument called *name*."""
        return next(argument for argument in self.arguments if argument.name == name)


def specified(texts: Mapping[str, str]) -> tuple[DrawnArgument, ...]:
    """Parse the arguments that *texts*, by name, describe.  Raises `UsageError` for any other text, with the legal forms."""
    return tuple(
        DrawnArgument(name, tuple(_option(part.strip(), f"--arg {name}") for part in text.split("|")))
        for name, text in texts.items()
    )


def _option(text: str, what: str) -> ArgumentDraw:
    prefix = re.match(rf"((?:host:)?(?:inout:)?){REAL}:", text)
    # host: and inout: say where an array is and whether it is an output; they may precede any form of it.
    back = "" if prefix is None else prefix[1]
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


# -- integers where faults are likely: ends of ranges, tails, primes, sizes of memories, constants of sources

ALIGNED = (16, 32, 64, 128)  # elements of 1, 2 and 4 bytes in 64 and 128 bytes
PRIMES = (2, 3, 5, 7, 11, 13, 17, 31, 61, 127, 251, 509, 1021, 2039, 4093, 8191, 16381, 32749, 65521, 131071)
# Above these a count does not fit a type, or a float no longer represents every integer.
NARROW = (1 << 15, 1 << 16, 1 << 24, 1 << 31, 1 << 32)
LARGEST = 1 << 32  # a larger constant in the sources is not a size
MOST = 64


@frozen
class Landmarks:
    """Numbers that are significant for a kernel: ``constants`` of its sources, and ``limits`` of memories, in elements."""

    constants: tuple[int, ...]
    limits: tuple[int, ...]


def landmarks(module: "Module", board: Board) -> Landmarks:
    """Return the landmarks of *module* on *board*: constants in its own files, and how many elements of 1 to 8 bytes the memories hold."""
    counts: dict[int, int] = {}
    paths = set(module.paths)
    for file in module.files:
        for function in file.form.functions.values():
            if function.span.file in paths:
                for node in walk(function.body):
                    if isinstance(node, ir.Const) and isinstance(node.value, int):
                        _count(counts, node.value)
                for local in function.locals:
                    _arrays(counts, local.type)
        for variable in file.form.globals.values():
            _arrays(counts, variable.type)
    constants = sorted(sorted(counts), key=lambda n: -counts[n])[:MOST]
    return Landmarks(tuple(constants), memory_limits(board))


def whole_constants(path: str) -> tuple[int, ...]:
    """Return the integers in a Python file, the most frequent first."""
    counts: dict[int, int] = {}
    for node in ast.walk(ast.parse(read_text(path))):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            _count(counts, node.value)
    return tuple(sorted(sorted(counts), key=lambda n: -counts[n])[:MOST])


def memory_limits(board: Board) -> tuple[int, ...]:
    """Return how many elements of 1 to 8 bytes fit the on-chip memories of *board*, and halves, thirds and quarters of them."""
    sizes = (board.arch.max_nram, board.arch.max_wram, board.arch.max_sram)
    limits = {
        size // (each * parts) for size in sizes if size for each in (1, 2, 4, 8) for parts in (1, 2, 3, 4)
    }
    return tuple(sorted(limits))


def _count(counts: dict[int, int], value: int) -> None:
    if 2 < value <= LARGEST:
        counts[value] = counts.get(value, 0) + 1


def _arrays(counts: dict[int, int], kind: t.Type) -> None:
    while isinstance(kind, t.Array):
        _count(counts, kind.count)
        kind = kind.of


class _Bounds(NamedTuple):
    """The range of a number that is drawn for a launch of ``tasks`` tasks, with what to draw it by."""

    random: Random
    marks: Landmarks
    tasks: int
    low: int
    high: int

    def one_of(self, values: Iterable[int]) -> int:
        """Draw one of the *values* in the range; without any, return its low end."""
        inside = [value for value in values if self.low <= value <= self.high]
        return self.random.choice(inside) if inside else self.low


def interesting(random: Random, low: int, high: int, marks: Landmarks, tasks: int) -> int:
    """Draw a number from *low* to *high* for a launch of *tasks* tasks."""
    bounds = _Bounds(random, marks, tasks, low, high)
    for _ in range(8):
        value = random.choice(_SOURCES)(bounds)
        if low <= value <= high:
            return value
    return _spread(bounds)


def _spread(bounds: _Bounds) -> int:
    """Draw evenly over the orders of magnitude of the distance from the low end."""
    random, distance = bounds.random, bounds.high - bounds.low
    return bounds.low + min(
        distance, (1 << random.randint(0, max(distance, 1).bit_length())) - 1 + random.randrange(3)
    )


def _tail(bounds: _Bounds) -> int:
    unit = bounds.random.choice(ALIGNED)
    return _spread(bounds) // unit * unit + bounds.random.choice((-1, 0, 1))


def _constant(bounds: _Bounds) -> int:
    """Draw a constant of the sources, a multiple of it, or a neighbour of these."""
    random = bounds.random
    constants = [n for n in bounds.marks.constants if n <= bounds.high + 1]
    value = random.choice(constants) if constants else bounds.low
    return value * random.choice((1, 1, 1, 2, 3)) + random.choice((-1, 0, 1))


def _shared(bounds: _Bounds) -> int:
    """Draw a count that leaves some tasks without work, or the last task with one element."""
    random, tasks = bounds.random, bounds.tasks
    each = random.choice((1, *ALIGNED, *bounds.marks.constants[:8]))
    whole = each * random.choice((tasks, max(tasks - 1, 1), tasks * 2, 1))
    return max(bounds.low, whole + random.choice((-1, 0, 1)))


_SOURCES: Sequence[Callable[[_Bounds], int]] = (
    lambda bounds: bounds.random.choice((bounds.low, bounds.low + 1, bounds.high, bounds.high - 1)),
    lambda bounds: max(bounds.low, 0) + bounds.random.randrange(9),
    *(_spread, _spread),
    lambda bounds: bounds.random.randint(bounds.low, bounds.high),
    *(_tail, _tail),
    # No tile size divides a prime, so that each loop has a remainder.
    lambda bounds: bounds.one_of(PRIMES),
    lambda bounds: bounds.one_of(NARROW) + bounds.random.choice((-1, 0, 1)),
    # As many elements as just fit a memory, or one more.
    lambda bounds: bounds.one_of(bounds.marks.limits) + bounds.random.choice((0, 1)),
    *(_constant, _constant),
    *(_shared, _shared),
)


def smaller(value: int, low: int) -> Iterable[int]:
    """Yield the numbers to try in place of *value*, the smallest first: *low* and the next two, then half of the distance, three quarters and so on, last *value* less one."""
    step = value - low
    yield from (low + n for n in range(min(step, 3)))
    while step > 0:
        step //= 2
        if step:
            yield value - step
