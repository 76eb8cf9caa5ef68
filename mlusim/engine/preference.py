"""The names of the engines, and which one launches take that leave it to be chosen."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from mlusim.errors import UsageError

ENGINES = AUTO, PYTHON, NATIVE = ("auto", "python", "native")
_PREFERRED: ContextVar[str] = ContextVar("preferred", default=AUTO)


def engine_of(name: Any) -> str:
    """*name* if it is an engine's; raises `UsageError` otherwise."""
    if name not in ENGINES:
        raise UsageError(f"engine = {name!r} is none; use one of {', '.join(ENGINES)}")
    return str(name)


@contextmanager
def preferring(engine: str) -> Iterator[None]:
    """Run launches of the block that leave the engine to be chosen on *engine*, one of `ENGINES`."""
    token = _PREFERRED.set(engine_of(engine))
    try:
        yield
    finally:
        _PREFERRED.reset(token)


def preferred() -> str:
    """Return the engine of launches that leave it to be chosen."""
    return _PREFERRED.get()
