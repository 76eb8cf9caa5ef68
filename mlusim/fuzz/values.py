"""Values of arrays by pattern: ordinary ones, and those that kernels forget: specials, ties, duplicates, sorted, constant."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Generator = np.random.Generator


def _sprinkled(random: Generator, count: int, _: np.dtype[Any]) -> Array:
    """Draw ordinary values, one in a few of them special."""
    values = random.standard_normal(count)
    # Denormals and the largest floats besides: they overflow where a kernel squares or adds.
    specials = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, -1e-40, 1e38])
    return np.where(random.random(count) < 0.2, random.choice(specials, count), values)


FLOATS: Mapping[str, Callable[[Generator, int, np.dtype[Any]], Array]] = MappingProxyType(
    {
        "zeros": lambda _, n, __: np.zeros(n),
        "ones": lambda _, n, __: np.ones(n),
        "counted": lambda _, n, __: np.arange(n) % 1000,
        "whole": lambda r, n, _: r.integers(-8, 9, n),
        "normal": lambda r, n, _: r.standard_normal(n),
        "constant": lambda r, n, _: np.full(n, r.standard_normal()),
        "halves": lambda r, n, _: r.integers(-8, 9, n) + 0.5,
        "sorted": lambda r, n, _: np.sort(r.standard_normal(n)),
        "reversed": lambda r, n, _: np.sort(r.standard_normal(n))[::-1],
        "large": lambda r, n, _: r.standard_normal(n) * 1e4,
        "tiny": lambda r, n, d: r.standard_normal(n) * (1e-7 if d.itemsize < 4 else 1e-39),
        "specials": _sprinkled,
    }
)
"""Patterns of floating-point values, the simplest first."""

WHOLES: Mapping[str, Callable[[Generator, int, int, int], Array]] = MappingProxyType(
    {
        "lowest": lambda _, n, low, __: np.full(n, low),
        "counted": lambda _, n, low, high: low + np.arange(n) % (high - low + 1),
        "highest": lambda _, n, __, high: np.full(n, high),
        "few": lambda r, n, low, high: r.integers(low, min(low + 3, high), n, endpoint=True),
        "even": lambda r, n, low, high: r.integers(low, high, n, endpoint=True),
        "sorted": lambda r, n, low, high: np.sort(r.integers(low, high, n, endpoint=True)),
        "reversed": lambda r, n, low, high: np.sort(r.integers(low, high, n, endpoint=True))[::-1],
        "ends": lambda r, n, low, high: r.choice(np.array([low, high]), n),
    }
)
"""Patterns of whole numbers from a lowest to a highest, the simplest first."""

REALS: Mapping[str, Callable[[Generator, int, float, float], Array]] = MappingProxyType(
    {
        "lowest": lambda _, n, low, __: np.full(n, low),
        "highest": lambda _, n, __, high: np.full(n, high),
        "whole": lambda r, n, low, high: np.rint(r.uniform(low, high, n)),
        "halves": lambda r, n, low, high: np.floor(r.uniform(low, high, n)) + 0.5,
        "even": lambda r, n, low, high: r.uniform(low, high, n),
        "few": lambda r, n, low, high: r.choice(r.uniform(low, high, 3), n),
        "sorted": lambda r, n, low, high: np.sort(r.uniform(low, high, n)),
        "reversed": lambda r, n, low, high: np.sort(r.uniform(low, high, n))[::-1],
        "ends": lambda r, n, low, high: r.choice(np.array([low, high]), n),
    }
)
"""Patterns of floating-point values from a lowest to a highest, the simplest first."""


def patterns(dtype: np.dtype[Any], bounded: bool, *, whole: bool) -> tuple[str, ...]:
    """Return the names of the patterns of arrays of *dtype*, the simplest first.

    *bounded* ones stay in their range, and are *whole* numbers or not.
    """
    if not _is_float(dtype) or (bounded and whole):
        return tuple(WHOLES)
    return tuple(REALS if bounded else FLOATS)


def filled(
    pattern: str,
    seed: int,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    bounds: tuple[int, int] | tuple[float, float] | None,
) -> Array:
    """Return the array of *pattern* and *seed*, within *bounds*, lowest and highest, where there are some."""
    random, count = np.random.default_rng(seed), int(np.prod(shape, dtype=np.int64))
    low, high = bounds or _usual(dtype)
    # Values beyond the type become infinite, which is one of the things that are tried.
    with np.errstate(all="ignore"):
        if bounds is None and _is_float(dtype):
            values = FLOATS[pattern](random, count, dtype)
        elif isinstance(low, float):
            values = np.clip(REALS[pattern](random, count, low, high), low, high)
        else:
            values = WHOLES[pattern](random, count, low, int(high))
        return np.asarray(values).astype(dtype).reshape(shape)


def _usual(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the usual range of whole numbers without bounds: small enough that sums of some fit 32 bits."""
    if dtype.kind == "b" or _is_float(dtype):
        return 0, 1
    info = np.iinfo(dtype)
    return max(int(info.min), -(1 << 15)), min(int(info.max), 1 << 15)


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind not in "biu"
