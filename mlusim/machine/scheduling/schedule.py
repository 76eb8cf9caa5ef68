"""Schedules: departures from the default one, drawn from a seed, or given and repeated exactly.

The default lets cores run in the order of their tasks until they block, and lands asynchronous effects
as late as it may.  A decision departs from it at one point, which is counted by core, so that the same
decisions make the same schedule again, and a part of them makes a schedule, too.
"""

import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from mlusim.arch.board import Pipe
from mlusim.engine.preference import MEMORY_CORES
from mlusim.errors import UsageError

EFFECTS = ("late", "eager")  # when asynchronous effects land; the first is the default
LAND, STOP, NEXT = "land", "stop", "next"
STOPS, LANDS = 0.25, 0.5  # how often a drawn schedule departs where it may


class Decision(NamedTuple):
    """One departure from the default, in launch *launch* of a run.

    Cores are numbered as they begin, -1 is the start.  Before the *point*-th instruction of *core*,
    "land": the oldest effect in flight on the pipe called *value* lands; "stop": others go first.  "next":
    when *core* has stopped for the *point*-th time, core *value* goes on.
    """

    launch: int
    kind: str
    core: int
    point: int
    value: str | int

    def __str__(self) -> str:
        where = f"launch {self.launch + 1}, core {self.core}"
        if self.kind == LAND:
            return (
                f"{where}: the oldest effect on the {self.value} pipe lands before instruction {self.point}"
            )
        if self.kind == STOP:
            return f"{where}: lets others go before instruction {self.point}"
        if self.core < 0:
            return f"launch {self.launch + 1}: core {self.value} begins"
        return f"{where}: at stop {self.point}, core {self.value} goes next"


class Choices:
    """The choices of one launch; ``taken`` are those that departed from the default."""

    explains = False  # whether the decisions are wanted in words

    def __init__(self, launch: int = 0) -> None:
        self.launch = launch
        self.taken: list[Decision] = []
        self.words: dict[Decision, str] = {}
        self._instructions: Counter[int] = Counter()
        self._stops: Counter[int] = Counter()

    def land(self, core: int, pipes: Sequence[Pipe]) -> Pipe | None:
        """Return which of *pipes* lands its oldest effect before the next instruction; None: none."""
        self._instructions[core] += 1
        point = self._instructions[core]
        pipe = self._land(core, point, pipes) if pipes else None
        if pipe is not None:
            self.taken.append(Decision(self.launch, LAND, core, point, pipe.value))
        return pipe

    def stop(self, core: int) -> bool:
        """Return whether *core* lets others go before the instruction that `land` was asked about."""
        point = self._instructions[core]
        if not self._stop(core, point):
            return False
        self.taken.append(Decision(self.launch, STOP, core, point, 1))  # the value says nothing
        return True

    def explain(self, text: str) -> None:
        """Say in words what was decided last: which task, and where."""
        self.words[self.taken[-1]] = text

    def next(self, after: int, ready: Sequence[int]) -> int:
        """Return the place in *ready* of the core that goes on, *after* having stopped."""
        self._stops[after] += 1
        point = self._stops[after]
        place = self._next(after, point, ready)
        if place:  # 0 is the default
            self.taken.append(Decision(self.launch, NEXT, after, point, ready[place]))
        return place

    def _land(self, _core: int, _point: int, _pipes: Sequence[Pipe]) -> Pipe | None:
        return None

    def _stop(self, _core: int, _point: int) -> bool:
        return False

    def _next(self, _after: int, _point: int, _ready: Sequence[int]) -> int:
        return 0


class Drawn(Choices):
    """Choices drawn from a seed."""

    def __init__(self, seed: int, launch: int = 0) -> None:
        super().__init__(launch)
        self._rng = random.Random(seed)  # noqa: S311 - a schedule, no secret

    def _land(self, _core: int, _point: int, pipes: Sequence[Pipe]) -> Pipe | None:
        return self._rng.choice(pipes) if self._rng.random() < LANDS else None

    def _stop(self, _core: int, _point: int) -> bool:
        return self._rng.random() < STOPS

    def _next(self, _after: int, _point: int, ready: Sequence[int]) -> int:
        return self._rng.randrange(len(ready))


class ReplayedChoices(Choices):
    """The choices of another run, or some of them; what cannot be done any more is left undone."""

    explains = True

    def __init__(self, decisions: Iterable[Decision], launch: int = 0) -> None:
        super().__init__(launch)
        self._given = {(d.kind, d.core, d.point): d.value for d in decisions if d.launch == launch}

    def _land(self, core: int, point: int, pipes: Sequence[Pipe]) -> Pipe | None:
        wanted = self._given.get((LAND, core, point))
        return next((pipe for pipe in pipes if pipe.value == wanted), None)

    def _stop(self, core: int, point: int) -> bool:
        return (STOP, core, point) in self._given

    def _next(self, after: int, point: int, ready: Sequence[int]) -> int:
        wanted = self._given.get((NEXT, after, point))
        return ready.index(wanted) if isinstance(wanted, int) and wanted in ready else 0


class Director:
    """Directs the launches of a run: by a *seed*, or by *decisions*; ``taken`` is what was decided.

    ``effects`` says for all of them when asynchronous effects land; None: each launch says it itself.
    """

    def __init__(self, seed: int | None = None, decisions: Iterable[Decision] = ()) -> None:
        self.effects: str | None = None
        self._seed = seed
        self._decisions = tuple(decisions)
        self._launches: list[Choices] = []

    @property
    def taken(self) -> tuple[Decision, ...]:
        """The decisions of all launches so far."""
        return tuple(decision for choices in self._launches for decision in choices.taken)

    @property
    def words(self) -> dict[Decision, str]:
        """Those that were given, in words: which task went before which, and where each was."""
        return {decision: text for choices in self._launches for decision, text in choices.words.items()}

    def begin(self) -> Choices:
        """Return the choices of the next launch."""
        launch = len(self._launches)
        choices = (
            ReplayedChoices(self._decisions, launch) if self._seed is None else Drawn(self._seed, launch)
        )
        self._launches.append(choices)
        return choices


_DIRECTING: ContextVar[Director | None] = ContextVar("directing", default=None)


@contextmanager
def directing(director: Director) -> Iterator[Director]:
    """Let *director* direct every launch that is made in the block, whatever seed the launch has."""
    token = _DIRECTING.set(director)
    try:
        yield director
    finally:
        _DIRECTING.reset(token)


_OTHER_ORDER: ContextVar[bool] = ContextVar("the other order of memory cores", default=False)


@contextmanager
def other_order_of_memory_cores() -> Iterator[None]:
    """While it lasts, memory cores begin last where they would begin first, and first where last.

    Both orders are legal: no core waits for the beginning of another.
    """
    token = _OTHER_ORDER.set(not _OTHER_ORDER.get())
    try:
        yield
    finally:
        _OTHER_ORDER.reset(token)


def begin_memory_cores_first() -> bool:
    """Return whether the memory cores of a union begin before its other cores (decision 0006).

    Raises `UsageError` where `MEMORY_CORES` is an unknown word.
    """
    word = os.environ.get(MEMORY_CORES) or "first"
    if word not in ("first", "last"):
        raise UsageError(f"{MEMORY_CORES} is {word!r:.40}; it must be last or first, which is the default")
    return (word == "first") != _OTHER_ORDER.get()


def effects_of(effects: str) -> str:
    """Return when asynchronous effects of a launch land that asks for *effects*."""
    director = _DIRECTING.get()
    return effects if director is None or director.effects is None else director.effects


def directed() -> bool:
    """Return whether launches run within `directing`."""
    return _DIRECTING.get() is not None


def choices_of(seed: int | None) -> Choices | None:
    """Return the choices of a launch with *seed*; None for the default schedule."""
    director = _DIRECTING.get()
    if director is not None:
        return director.begin()
    return None if seed is None else Drawn(seed)
