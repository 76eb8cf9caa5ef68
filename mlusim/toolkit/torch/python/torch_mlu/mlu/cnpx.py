"""Ranges and marks for the vendor's profiler, which are not recorded here; the first call warns of that."""

import contextlib
import functools
import warnings
from collections.abc import Iterator

_open: list[str] = []


@functools.cache
def _say_once() -> None:
    warnings.warn(
        "torch.mlu.cnpx records nothing on the simulator; `mlusim profile` shows the launches of a script",
        stacklevel=3,
    )


def range_push(msg: str) -> int:
    """Open a range; return the number of ranges that were open before."""
    _say_once()
    _open.append(msg)
    return len(_open) - 1


def range_pop() -> int:
    """Close the innermost range; return the number of open ranges."""
    _say_once()
    if _open:
        _open.pop()
    return len(_open)


def range_start(msg: str) -> int:  # noqa: ARG001 - not recorded
    """Return the number of a range that `range_end` closes."""
    _say_once()
    return 0


def range_end(range_id: int) -> None:
    """Close the range *range_id*."""


def mark(msg: str) -> None:  # noqa: ARG001
    """Mark a moment with the text *msg*."""
    _say_once()


@contextlib.contextmanager
def range(msg: str, *words: object, **fields: object) -> Iterator[None]:  # noqa: A001 - the vendor's name
    """Open a range for a block."""
    range_push(msg.format(*words, **fields))
    try:
        yield
    finally:
        range_pop()
