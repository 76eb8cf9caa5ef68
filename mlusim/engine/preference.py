"""The names of the engines, and which one launches take that leave it to be chosen; on how many threads it runs their tasks."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from mlusim.errors import UsageError

ENGINES = AUTO, PYTHON, NATIVE = ("auto", "python", "native")
COVERAGE = "coverage"  # the package whose trace function is not a debugger's
MEMORY_CORES = "MLUSIM_MEMORY_CORES"
"""The variable of the environment that says when memory cores begin: ``first`` of their union, or ``last``, each behind its cluster."""
THREADS = "MLUSIM_THREADS"  # names how many threads the native engine takes
_MONITORING: Any = getattr(sys, "monitoring", None)  # from Python 3.12 on
_PREFERRED: ContextVar[str] = ContextVar("preferred", default=AUTO)
_THREADS: ContextVar[int | None] = ContextVar("threads", default=None)


def engine_of(name: object) -> str:
    """*name* if it is an engine's; raises `UsageError` otherwise."""
    if name not in ENGINES:
        raise UsageError(f"engine = {name!r} is not an engine; use one of {', '.join(ENGINES)}")
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


def asked_of(engine: object) -> str:
    """Return the engine that a launch with *engine* asks for: where that leaves it to be chosen, the preferred one.

    Raises `UsageError` for what is not an engine.
    """
    return preferred() if engine_of(engine) == AUTO else str(engine)


def debugged() -> bool:
    """Return whether a debugger of Python, as pdb or debugpy, watches lines: any trace function but that of coverage."""
    tracer = sys.gettrace()
    if tracer is not None and COVERAGE not in (_package(tracer), _package(type(tracer))):
        return True
    return _MONITORING is not None and _MONITORING.get_tool(_MONITORING.DEBUGGER_ID) is not None


def _package(tracer: object) -> str:
    return str(getattr(tracer, "__module__", "")).partition(".")[0]


@contextmanager
def on_threads(many: int | None) -> Iterator[None]:
    """While it lasts, devices that are made run the tasks of native launches on so *many* threads; None changes nothing."""
    token = _THREADS.set(_THREADS.get() if many is None else threads_of(many))
    try:
        yield
    finally:
        _THREADS.reset(token)


def asked_threads() -> int | None:
    """Return the number of threads that the block asks for; None where it asks for none."""
    return _THREADS.get()


def threads_of(threads: object = None, environ: Mapping[str, str] = os.environ) -> int:
    """Return the number of threads that *threads* asks for, else that of the block, of the environment, or 1.

    Raises `UsageError` for what is not a number from 1 on.
    """
    if threads is None:
        threads = _THREADS.get()
    if threads is not None:
        if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
            raise UsageError(f"threads = {threads!r} is not a number of threads; give 1 or more")
        return threads
    text = environ.get(THREADS, "").strip() or "1"
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"{THREADS}={text} is not a number of threads; set 1 or more, or unset it")
    return int(text)
