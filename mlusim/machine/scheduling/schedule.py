"""Schedules: departures from the default one, drawn from a seed, or given and repeated exactly.

By default cores run in the order of their tasks until they block, and asynchronous effects land
as late as possible.  A decision departs from this at one point, which is counted by core, so that the same
decisions reproduce the schedule, and any part of them makes a schedule, too.
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
STOPS, LANDS = 0.25, 0.5  # probabilities of a departure in a drawn schedule


class Decision(NamedTuple):
    """One departure from the default, in launch *launch* of a run.

    Cores are numbered as they begin, -1 is the start.  Before the *point*-th instruction of *core*,
    "land": the oldest effect in flight on the pipe called *value* lands; "stop": other cores run first.  "next":
    when *core* has stopped for the *point*-th time, core *value* runs.
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
    """The choices of one launch; ``taken`` lists those that departed from the default."""

    explains = False  # whether the decisions are also recorded in words

    def __init__(self, launch: int = 0) -> None:
        self.launch = launch
        self.taken: list[Decision] = []
        self.words: dict[Decision, str] = {}
        self._instructions: Counter[int] = Counter()
        self._stops: Counter[int] = Counter()

    def land(self, core: int, pipes: Sequence[Pipe]) -> Pipe | None:
        """Return the pipe of *pipes* whose oldest effect lands before the next instruction, or None."""
        self._instructions[core] += 1
        point = self._instructions[core]
        pipe = self._land(core, point, pipes) if pipes else None
        if pipe is not None:
            self.taken.append(Decision(self.launch, LAND, core, point, pipe.value))
        return pipe

    def stop(self, core: int) -> bool:
        """Return whether *core* lets others run before the instruction of the last `land`."""
        point = self._instructions[core]
        if not self._stop(core, point):
            return False
        self.taken.append(Decision(self.launch, STOP, core, point, 1))  # the value has no meaning
        return True

    def explain(self, text: str) -> None:
        """Record the last decision in words: the task and its place."""
        self.words[self.taken[-1]] = text

    def next(self, after: int, ready: Sequence[int]) -> int:
        """Return the index in *ready* of the core that runs next, *after* having stopped."""
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
    """The choices of another run, or some of them; those that are no longer possible are ignored."""

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
    """Directs the launches of a run, by a *seed* or by *decisions*; ``taken`` lists its decisions.

    ``effects`` sets for all launches when asynchronous effects land; None: each launch's own setting.
    """

    def __init__(self, seed: int | None = None, decisions: Iterable[Decision] = ()) -> None:
        self.effects: str | None = None
        self._seed = seed
        self._decisions = tuple(decisions)
        self._launches: list[Choices] = []

    @property
    def taken(self) -> tuple[Decision, ...]:
        """Return the decisions of all launches so far."""
        return tuple(decision for choices in self._launches for decision in choices.taken)

    @property
    def words(self) -> dict[Decision, str]:
        """Return the recorded decisions in words: which task ran before which, and where each was."""
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
    """Within the block, memory cores begin last if they would begin first, and first if last.

    Both orders are legal: no core waits for the beginning of another.
    """
    token = _OTHER_ORDER.set(not _OTHER_ORDER.get())
    try:
        yield
    finally:
        _OTHER_ORDER.reset(token)


def begin_memory_cores_first() -> bool:
    """Return whether the memory cores of a union begin before its other cores (decision 0006).

    Raises `UsageError` if `MEMORY_CORES` is an unknown word.
    """
    word = os.environ.get(MEMORY_CORES) or "first"
    if word not in ("first", "last"):
        raise UsageError(f"{MEMORY_CORES} is {word!r:.40}; it must be last or first, which is the default")
    return (word == "first") != _OTHER_ORDER.get()


def effects_of(effects: str) -> str:
    """Return when asynchronous effects land in a launch that requests *effects*."""
    director = _DIRECTING.get()
    return effects if director is None or director.effects is None else director.effects


def directed() -> bool:
    """Return whether launches are within `directing`."""
    return _DIRECTING.get() is not None


def choices_of(seed: int | None) -> Choices | None:
    """Return the choices of a launch with *seed*; None for the default schedule."""
    director = _DIRECTING.get()
    if director is not None:
        return director.begin()
    return None if seed is None else Drawn(seed)
