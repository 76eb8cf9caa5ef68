"""Fuzzing with and without guidance: what is tried, how, and a search that keeps inputs which reach new lines.

A `Target` is a body with hypothesis strategies for its arguments.  `spread` lets hypothesis draw them.
`guided` drives the same body with bytes: it mutates those of inputs that reached lines of the product
which no input had reached before, so that it works its way past one check after the other.
"""

import faulthandler
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

from attrs import define, field, frozen
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

import mlusim

PRODUCT = str(Path(mlusim.__file__).parent)
HANGS = 300.0  # seconds after which a try counts as hung, on a machine however loaded
SIZE = 1500  # bytes of a fresh input


@frozen
class Target:
    """Something to attack: *body* is called with values drawn from *strategies*; it asserts what must hold."""

    name: str
    body: Callable[..., None]
    strategies: tuple[SearchStrategy[Any], ...]

    def test(self, tries: int) -> Any:
        """A hypothesis test of *tries* tries; a try that hangs ends the process with a traceback."""

        def attempt(values):
            faulthandler.dump_traceback_later(HANGS, exit=True, file=sys.__stderr__)
            try:
                self.body(*values)
            finally:
                faulthandler.cancel_dump_traceback_later()

        from hypothesis.strategies import tuples  # noqa: PLC0415 - beside its only use

        attempt.__qualname__ = f"attempt_{self.name}"
        checks = list(HealthCheck)
        return settings(max_examples=tries, deadline=None, suppress_health_check=checks, database=None)(
            given(tuples(*self.strategies))(attempt)
        )

    def spread(self, tries: int) -> None:
        """Let hypothesis draw *tries* inputs."""
        self.test(tries)()


class Lines:
    """The lines of code below *folder* that run while this is entered, in ``seen``."""

    def __init__(self, folder: str = PRODUCT) -> None:
        self.seen: set[tuple[CodeType, int]] = set()
        self._folder = folder
        self._own: dict[CodeType, bool] = {}

    def __enter__(self):
        self._before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_):
        sys.settrace(self._before)

    def _call(self, frame, *_):
        code = frame.f_code
        own = self._own.get(code)
        if own is None:
            own = self._own[code] = code.co_filename.startswith(self._folder)
        return self._line if own else None

    def _line(self, frame, event, _):
        if event == "line":
            self.seen.add((frame.f_code, frame.f_lineno))
        return self._line


@define
class Search:
    """What a guided search has tried and kept: the bytes of inputs that reached new lines."""

    tries: int = 0
    lines: set[tuple[CodeType, int]] = field(factory=set)
    corpus: list[bytes] = field(factory=list)


def guided(target: Target, tries: int, *, seed: int = 0, folder: str = PRODUCT) -> Search:
    """Try *tries* inputs of *target*; what it raises comes out."""
    once = target.test(1).hypothesis.fuzz_one_input
    rng, search = random.Random(seed), Search()
    while search.tries < tries:
        fresh = not search.corpus or rng.random() < 0.15
        given_bytes = rng.randbytes(SIZE) if fresh else mutated(rng, search.corpus)
        with Lines(folder) as lines:
            used = once(given_bytes)
        search.tries += 1
        if used is not None and not lines.seen <= search.lines:
            search.lines |= lines.seen
            search.corpus.append(used)
    return search


def mutated(rng: random.Random, corpus: list[bytes]) -> bytes:
    """One of *corpus*, the newer the likelier, with some bytes changed, left out, put in or taken from another."""
    chosen = bytearray(corpus[max(rng.randrange(len(corpus)), rng.randrange(len(corpus)))])
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        at = rng.randrange(len(chosen) + 1)
        size = rng.choice((1, 1, 2, 4, 16))
        other = rng.choice(corpus)
        start = rng.randrange(len(other) + 1)
        new = (rng.randbytes(size), bytes([rng.choice((0, 1, 127, 255))]), other[start : start + size])
        kept = rng.choice((0, size))  # put in, or put in the place of as many
        chosen[at : at + kept] = rng.choice((*new, b""))
    return bytes(chosen) + rng.randbytes(64)
