"""The parts of on-chip arrays as a launch in C keeps them for an observer that asks: pointer variables, and what is touched through them."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from attrs import define

from mlusim.memory.allocation import Allocation

MOVED, ELSEWHERE, APART = 1, 2, 4
"""A pointer variable has held another place in a call, one in other memory; it was seen at another place than the variable that it is computed from."""

# `spare` is what C fills the struct up with.
CHOICE = np.dtype([("offset", "i8"), ("part", "i4"), ("spare", "i4")])
"""A part that bytes from *offset* on belong to, as `screen.h` has it; the number is one more than that of the part."""


@define(eq=False)
class TaskParts:
    """The pointer variables of a task, and what was touched through them, in the tables of the C engine.

    ``led_to`` has for each row of ``kept`` the number of an allocation and the offset that the variable held first, ``allocations`` those of the
    numbers; ``tasks`` the tasks that are like the first, and whether each is of a memory core.
    The last ``executed`` rows of ``touched`` are of rows that Python executed.  Without ``whole`` there was no room for all.
    """

    whole: bool
    contexts: np.ndarray[Any, Any]
    kept: np.ndarray[Any, Any]
    touched: np.ndarray[Any, Any]
    executed: int
    led_to: list[tuple[int, int]]
    allocations: dict[int, Allocation]
    tasks: set[tuple[int, bool]]

    def like(self, other: "TaskParts") -> bool:
        """Return whether *other* has the same tables: both are of the same launch, which went the same way."""
        ours, theirs = (
            (t.whole, t.contexts.tobytes(), t.kept.tobytes(), t.touched.tobytes()) for t in (self, other)
        )
        return ours == theirs


TOUCH = "context", "site", "row", "given", "alloc", "kind"
"""The columns of `TaskParts.touched` that tell its rows apart."""


@define(eq=False, slots=False)
class PartChoices:
    """The parts that each row of ``TaskParts.touched`` may go through: those of row *k* are ``choices[first[k]:first[k + 1]]``.

    A row goes through the last that begins at or before its first byte, or through the last of all.
    """

    of: TaskParts
    first: np.ndarray[Any, Any]
    choices: np.ndarray[Any, Any]

    @classmethod
    def made(cls, of: TaskParts, rows: Sequence[Sequence[tuple[int, int]]]) -> "PartChoices":
        """Return those of the pairs of offset and number, for each of the *rows* of *of*, in the order of their offsets."""
        first = np.cumsum([0, *map(len, rows)], dtype=np.int32)
        choices = np.zeros(int(first[-1]), CHOICE)
        for entry, (offset, part) in zip(choices, (c for row in rows for c in row), strict=True):
            entry["offset"], entry["part"] = offset, part
        return cls(of, first, choices)

    @property
    def known(self) -> int:
        """The number of the rows that C has."""
        return len(self.of.touched) - self.of.executed

    @cached_property
    def _rows(self) -> Mapping[tuple[int, ...], int]:
        return {tuple(int(row[name]) for name in TOUCH): n for n, row in enumerate(self.of.touched)}

    def chosen(self, key: tuple[int, ...], low: int) -> int | None:
        """Return the part through which the row that *key* names touches bytes from *low* on; None where that is not known."""
        row = self._rows.get(key)
        if row is None:
            return None
        mine = self.choices[self.first[row] : self.first[row + 1]]
        before = mine[mine["offset"] <= low]
        return int((before if len(before) else mine)["part"][-1])


@define
class Overwritten:
    """Bytes that part *by* wrote at a place and part *of* read afterwards at another: the first time, and how often.

    Parts are numbers from 1 on, places those of the program.
    """

    by: int
    of: int
    written: int
    read: int
    task: int
    nbytes: int
    times: int = 1


class KeptParts:
    """The parts of a launch: ``by_tables`` has those of its tasks, once of tasks with the same tables.

    With ``choices``, by task and whether it is a memory core, the launch is made again, and which part wrote each byte is kept,
    too: ``overwritten`` are bytes that one part reads and another has overwritten.
    """

    def __init__(self) -> None:
        self.choices: Mapping[tuple[int, bool], PartChoices] = {}
        self.overwritten: dict[tuple[int, int, int], Overwritten] = {}
        self.by_tables: dict[Any, TaskParts] = {}
