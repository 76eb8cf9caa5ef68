"""Whole numbers where faults live: ends of ranges, tails, primes, sizes of memories, constants of the sources."""

import ast
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import TYPE_CHECKING

from attrs import frozen

from mlusim.arch.board import Board
from mlusim.files.reading import read_text
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir.walk import walk

if TYPE_CHECKING:
    from mlusim.frontend.bangc.module import Module

ALIGNED = (16, 32, 64, 128)  # elements in 64 and 128 bytes
PRIMES = (2, 3, 5, 7, 11, 13, 17, 31, 61, 127, 251, 509, 1021, 2039, 4093, 8191, 16381, 32749, 65521, 131071)
NARROW = (
    1 << 15,
    1 << 16,
    1 << 24,
    1 << 31,
    1 << 32,
)  # past which a count does not fit a type, or a float counts no more
LARGEST = 1 << 32  # of a constant that may be a size
MOST = 64


@frozen
class Landmarks:
    """Numbers that mean something to a kernel: ``constants`` of its sources, and ``limits`` of memories, in elements."""

    constants: tuple[int, ...]
    limits: tuple[int, ...]


def landmarks(module: "Module", board: Board) -> Landmarks:
    """Return those of *module* on *board*: what its own files write, and what memories hold of elements of 1 to 8 bytes."""
    found: dict[int, int] = {}
    own = set(module.paths)
    for file in module.files:
        for function in file.form.functions.values():
            if function.span.file in own:
                for node in walk(function.body):
                    if isinstance(node, ir.Const) and isinstance(node.value, int):
                        _count(found, node.value)
                for local in function.locals:
                    _arrays(found, local.type)
        for variable in file.form.globals.values():
            _arrays(found, variable.type)
    constants = sorted(sorted(found), key=lambda n: -found[n])[:MOST]
    return Landmarks(tuple(constants), memory_limits(board))


def whole_constants(path: str) -> tuple[int, ...]:
    """Return the whole numbers that a Python file writes, the most frequent first."""
    found: dict[int, int] = {}
    for node in ast.walk(ast.parse(read_text(path))):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            _count(found, node.value)
    return tuple(sorted(sorted(found), key=lambda n: -found[n])[:MOST])


def memory_limits(board: Board) -> tuple[int, ...]:
    """Return how many elements of 1 to 8 bytes the on-chip memories of *board*, and even parts of them, hold."""
    sizes = (board.arch.max_nram, board.arch.max_wram, board.arch.max_sram)
    limits = {
        size // (each * parts) for size in sizes if size for each in (1, 2, 4, 8) for parts in (1, 2, 3, 4)
    }
    return tuple(sorted(limits))


def _count(found: dict[int, int], value: int) -> None:
    if 2 < value <= LARGEST:
        found[value] = found.get(value, 0) + 1


def _arrays(found: dict[int, int], kind: t.Type) -> None:
    while isinstance(kind, t.Array):
        _count(found, kind.count)
        kind = kind.of


def interesting(random: Random, low: int, high: int, marks: Landmarks, tasks: int) -> int:
    """Draw a number from *low* to *high* for a launch of *tasks* tasks."""
    for _ in range(8):
        value = random.choice(_SOURCES)(random, marks, tasks, low, high)
        if low <= value <= high:
            return value
    return _spread(random, marks, tasks, low, high)


def _edge(random: Random, _marks: Landmarks, _tasks: int, low: int, high: int) -> int:
    return random.choice((low, low + 1, high, high - 1))


def _small(random: Random, _marks: Landmarks, _tasks: int, low: int, _high: int) -> int:
    return max(low, 0) + random.randrange(9)


def _spread(random: Random, _marks: Landmarks, _tasks: int, low: int, high: int) -> int:
    """Draw evenly over orders of magnitude above *low*."""
    return low + min(
        high - low, (1 << random.randint(0, max(high - low, 1).bit_length())) - 1 + random.randrange(3)
    )


def _even(random: Random, _marks: Landmarks, _tasks: int, low: int, high: int) -> int:
    return random.randint(low, high)


def _tail(random: Random, marks: Landmarks, tasks: int, low: int, high: int) -> int:
    unit = random.choice(ALIGNED)
    return _spread(random, marks, tasks, low, high) // unit * unit + random.choice((-1, 0, 1))


def _prime(random: Random, _marks: Landmarks, _tasks: int, low: int, high: int) -> int:
    return _of([p for p in PRIMES if low <= p <= high], random, low)


def _narrow(random: Random, _marks: Landmarks, _tasks: int, low: int, high: int) -> int:
    return _of([n for n in NARROW if low <= n <= high], random, low) + random.choice((-1, 0, 1))


def _limit(random: Random, marks: Landmarks, _tasks: int, low: int, high: int) -> int:
    return _of([n for n in marks.limits if low <= n <= high], random, low) + random.choice((0, 1))


def _constant(random: Random, marks: Landmarks, _tasks: int, low: int, high: int) -> int:
    """Draw a constant of the sources, a multiple of it, or a neighbour."""
    value = _of([n for n in marks.constants if n <= high + 1], random, low)
    return value * random.choice((1, 1, 1, 2, 3)) + random.choice((-1, 0, 1))


def _shared(random: Random, marks: Landmarks, tasks: int, low: int, _high: int) -> int:
    """Draw a count that leaves tasks without work, or the last task with one element."""
    each = random.choice((1, *ALIGNED, *marks.constants[:8]))
    whole = each * random.choice((tasks, max(tasks - 1, 1), tasks * 2, 1))
    return max(low, whole + random.choice((-1, 0, 1)))


def _of(values: Sequence[int], random: Random, otherwise: int) -> int:
    return random.choice(values) if values else otherwise


_SOURCES: Sequence[Callable[[Random, Landmarks, int, int, int], int]] = (
    _edge, _small, _spread, _spread, _even, _tail, _tail, _prime, _narrow, _limit, _constant, _constant, _shared, _shared,
)  # fmt: skip


def smaller(value: int, low: int) -> Iterable[int]:
    """Yield the numbers to try in place of *value*, the smallest first: *low* and the next ones, then halves of the way, then one less."""
    step = value - low
    yield from (low + n for n in range(min(step, 3)))
    while step > 0:
        step //= 2
        if step:
            yield value - step
