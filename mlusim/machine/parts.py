"""The parts of on-chip arrays that a launch in C records for an observer: pointer variables, and the accesses through them."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from attrs import define

from mlusim.memory.allocation import Allocation

MOVED, ELSEWHERE, APART = 1, 2, 4
"""Flags of a pointer variable: it has held another offset in a call; it has held one in other memory; its place differs from that of the variable that it is computed from."""

# `spare` is the padding of the struct in C.
CHOICE = np.dtype([("offset", "i8"), ("part", "i4"), ("spare", "i4")])
"""A part that contains bytes from *offset* on, as in `screen.h`; the number is one more than that of the part."""


@define(eq=False)
class TaskParts:
    """The pointer variables of a task, and the accesses through them, in the tables of the C engine.

    For each row of ``kept``, ``led_to`` has the number of an allocation and the offset that the variable held first;
    ``allocations`` has the allocations by number; ``tasks`` lists the tasks that are equal to the first, and whether
    each is of a memory core. The last ``executed`` rows of ``touched`` belong to intrinsics that Python executed.
    Without ``whole`` there was not enough space for all rows.
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
        """Return whether *other* has the same tables: both tasks belong to the same launch and took the same path."""
        ours, theirs = (
            (t.whole, t.contexts.tobytes(), t.kept.tobytes(), t.touched.tobytes()) for t in (self, other)
        )
        return ours == theirs


TOUCH = "context", "site", "row", "given", "alloc", "kind"
"""The columns of `TaskParts.touched` that distinguish its rows."""


@define(eq=False, slots=False)
class PartChoices:
    """The parts through which each row of ``TaskParts.touched`` may access memory: those of row *k* are ``choices[first[k]:first[k + 1]]``.

    The row's part is the last that begins at or before its first byte, otherwise the last of all.
    """

    of: TaskParts
    first: np.ndarray[Any, Any]
    choices: np.ndarray[Any, Any]

    @classmethod
    def made(cls, of: TaskParts, rows: Sequence[Sequence[tuple[int, int]]]) -> "PartChoices":
        """Return the choices for the rows of *of*: for each row its pairs of offset and number, in the order of offsets."""
        first = np.cumsum([0, *map(len, rows)], dtype=np.int32)
        choices = np.zeros(int(first[-1]), CHOICE)
        for entry, (offset, part) in zip(choices, (c for row in rows for c in row), strict=True):
            entry["offset"], entry["part"] = offset, part
        return cls(of, first, choices)

    @property
    def known(self) -> int:
        """Return the number of rows recorded by C."""
        return len(self.of.touched) - self.of.executed

    @cached_property
    def _rows(self) -> Mapping[tuple[int, ...], int]:
        return {tuple(int(row[name]) for name in TOUCH): n for n, row in enumerate(self.of.touched)}

    def chosen(self, key: tuple[int, ...], low: int) -> int | None:
        """Return the part through which the row of *key* accesses bytes from *low* on; None if it is unknown."""
        row = self._rows.get(key)
        if row is None:
            return None
        mine = self.choices[self.first[row] : self.first[row + 1]]
        before = mine[mine["offset"] <= low]
        return int((before if len(before) else mine)["part"][-1])


@define
class Overwritten:
    """Bytes that part *by* wrote at one place and part *of* then read at another: the first occurrence, and how often.

    Parts are numbered from 1, places as in the program.
    """

    by: int
    of: int
    written: int
    read: int
    task: int
    nbytes: int
    times: int = 1


class KeptParts:
    """The parts of a launch: ``by_tables`` has the parts of its tasks, once for tasks with equal tables.

    With ``choices``, by task and whether it is a memory core, the launch is repeated and records which part wrote
    each byte, too: ``overwritten`` lists bytes that one part reads after another has overwritten them.
    """

    def __init__(self) -> None:
        self.choices: Mapping[tuple[int, bool], PartChoices] = {}
        self.overwritten: dict[tuple[int, int, int], Overwritten] = {}
        self.by_tables: dict[Any, TaskParts] = {}
