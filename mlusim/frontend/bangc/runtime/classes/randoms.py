"""Random numbers of the C and C++ libraries: the generators that Linux has, so that a program sees its own numbers."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from mlusim.frontend.bangc.runtime.classes.objects import ClassLayout, HostObject


class Twister(HostObject):
    """``std::mt19937``."""

    __slots__ = ("_bits",)

    def __init__(self, seed: int = 5489) -> None:
        self._bits: Any = np.random.MT19937()
        self._bits._legacy_seeding(seed & 0xFFFFFFFF)  # noqa: SLF001 - the generator's own seeding, which C++ has too

    def __call__(self) -> int:
        """The next 32 bits."""
        return int(self._bits.random_raw())


class Uniform(HostObject):
    """``std::uniform_real_distribution`` and, for integers, ``std::uniform_int_distribution``."""

    __slots__ = ("high", "low", "whole")

    def __init__(self, low: Any, high: Any, *, whole: bool) -> None:
        self.low, self.high, self.whole = low, high, whole

    def __call__(self, generator: Any) -> Any:
        """The next number."""
        if not self.whole:
            return self.low + (self.high - self.low) * (generator() / 4294967296.0)
        return self.low + generator() * (self.high - self.low + 1) // 4294967296


class Normal(HostObject):
    """``std::normal_distribution``, by the polar method; what is left of a pair is kept."""

    __slots__ = ("deviation", "kept", "mean")

    def __init__(self, mean: float = 0.0, deviation: float = 1.0) -> None:
        self.mean, self.deviation = mean, deviation
        self.kept: float | None = None

    def __call__(self, generator: Any) -> float:
        """The next number."""
        value, self.kept = self.kept, None
        while value is None:
            x, y = (generator() / 2147483648.0 - 1.0 for _ in range(2))
            square = x * x + y * y
            if 0 < square <= 1:
                scale = math.sqrt(-2 * math.log(square) / square)
                value, self.kept = y * scale, x * scale
        return value * self.deviation + self.mean


def twister(_layout: ClassLayout, *seed: int) -> Twister:
    """A generator; ``std::random_device`` is one that always begins in the same way."""
    return Twister(*seed)


def reals(_layout: ClassLayout, low: float = 0.0, high: float = 1.0) -> Uniform:
    """Reals from *low* up to *high*."""
    return Uniform(low, high, whole=False)


def integers(_layout: ClassLayout, low: int = 0, high: int = (1 << 31) - 1) -> Uniform:
    """Integers from *low* to *high*."""
    return Uniform(low, high, whole=True)


def normal(_layout: ClassLayout, mean: float = 0.0, deviation: float = 1.0) -> Normal:
    """Normally distributed reals."""
    return Normal(mean, deviation)


class Rand:
    """``rand`` and ``srand`` as the GNU C library has them."""

    def __init__(self) -> None:
        self.seed(1)

    def seed(self, seed: int) -> None:
        """``srand(seed)``."""
        state = [(seed or 1) & 0xFFFFFFFF]
        word = state[0] - (1 << 32) if state[0] >> 31 else state[0]
        for _ in range(30):
            high, low = int(word / 127773), 0
            low = word - high * 127773
            word = 16807 * low - 2836 * high
            word += 2147483647 if word < 0 else 0
            state.append(word)
        self._next = _numbers(state).__next__
        for _ in range(310):
            self()

    def __call__(self) -> int:
        """``rand()``."""
        return self._next()


def _numbers(state: list[int]) -> Iterator[int]:
    """What ``rand`` gives, from 31 words on; the one that is made next begins as the fourth."""
    steps = [(n, (n - 3) % 31) for n in (*range(3, 31), 0, 1, 2)]
    while True:
        for front, back in steps:
            word = state[front] = (state[front] + state[back]) & 0xFFFFFFFF
            yield word >> 1
