"""Mutexes and atomics that ordered nothing, because a store was still in flight, and what a sync would change."""

from typing import Any, NamedTuple

from mlusim.machine.observed import Site
from mlusim.memory.footprint import Ints

MOST = 1 << 12  # events that are remembered of a launch


class Withheld(NamedTuple):
    """A mutex given back, or a word changed, by *task* behind effect *number*, with a store on its way."""

    site: Site
    task: int
    number: int
    key: Any


class Handing:
    """The releases that were withheld, and who took over the same mutex or word behind them."""

    def __init__(self) -> None:
        self._withheld: list[Withheld] = []
        self._taken: list[tuple[Withheld, int, int]] = []

    def withhold(self, event: Withheld) -> None:
        """Note that *event* ordered nothing."""
        if len(self._withheld) < MOST:
            self._withheld.append(event)

    def take(self, task: int, key: object, number: int) -> None:
        """Note that *task* took over *key* behind effect *number*."""
        for event in self._withheld:
            if event.key == key and event.task != task and len(self._taken) < MOST:
                self._taken.append((event, task, number))

    def missed(self, pairs: Ints) -> Withheld | None:
        """Return the event that would have put each of *pairs* in order, had its task waited for its stores before it.

        A pair is (task, time, task, time) of the earlier and the later access.
        """
        for site, example in {event.site: event for event, _, _ in self._taken}.items():
            handed = [taken for taken in self._taken if taken[0].site == site]
            if all(any(_between(pair, *taken) for taken in handed) for pair in pairs.tolist()):
                return example
        return None


def _between(pair: list[int], event: Withheld, taker: int, number: int) -> bool:
    task, time, other, later = pair
    return event.task == task and taker == other and time <= event.number and number <= later
