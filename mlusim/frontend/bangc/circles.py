"""Functions that call themselves: which they are, and how many calls a core holds inside each other."""

from collections.abc import Iterable, Mapping

DEEP = 512
"""Calls of such functions inside each other; a further one is a fault (the device's own limit is unknown)."""


def circles(calls: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """Return the functions that call themselves, at whatever distance; *calls* has what each function calls."""
    found = set()
    for symbol, called_here in calls.items():
        seen: set[str] = set()
        work = list(called_here)
        while work:
            called = work.pop()
            if called not in seen:
                seen.add(called)
                work += calls.get(called, ())
        if symbol in seen:
            found.add(symbol)
    return frozenset(found)
