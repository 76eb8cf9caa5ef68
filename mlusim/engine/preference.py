"""The names of the engines, the default engine and the default number of threads of native launches."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from mlusim.errors import UsageError

ENGINES = AUTO, PYTHON, NATIVE = ("auto", "python", "native")
COVERAGE = "coverage"  # the package whose trace function is not a debugger
MEMORY_CORES = "MLUSIM_MEMORY_CORES"
"""The environment variable for the start order of memory cores: ``first`` in their union, or ``last``, each after its cluster."""
THREADS = "MLUSIM_THREADS"  # environment variable for the number of threads of the native engine
_MONITORING: Any = getattr(sys, "monitoring", None)  # from Python 3.12 on
_PREFERRED: ContextVar[str] = ContextVar("preferred", default=AUTO)
_THREADS: ContextVar[int | None] = ContextVar("threads", default=None)


def engine_of(name: object) -> str:
    """Return *name* if it is the name of an engine; raises `UsageError` otherwise."""
    if name not in ENGINES:
        raise UsageError(f"engine = {name!r} is not an engine; use one of {', '.join(ENGINES)}")
    return str(name)


@contextmanager
def preferring(engine: str) -> Iterator[None]:
    """In this context, run launches that name no engine on *engine*, one of `ENGINES`."""
    token = _PREFERRED.set(engine_of(engine))
    try:
        yield
    finally:
        _PREFERRED.reset(token)


def preferred() -> str:
    """Return the engine for launches that name none."""
    return _PREFERRED.get()


def asked_of(engine: object) -> str:
    """Return the engine for a launch with argument *engine*; ``auto`` becomes the preferred engine.

    Raises `UsageError` for an unknown name.
    """
    return preferred() if engine_of(engine) == AUTO else str(engine)


def debugged() -> bool:
    """Return whether a Python debugger, such as pdb or debugpy, is active: any trace function except that of coverage."""
    tracer = sys.gettrace()
    if tracer is not None and COVERAGE not in (_package(tracer), _package(type(tracer))):
        return True
    return _MONITORING is not None and _MONITORING.get_tool(_MONITORING.DEBUGGER_ID) is not None


def _package(tracer: object) -> str:
    return str(getattr(tracer, "__module__", "")).partition(".")[0]


@contextmanager
def on_threads(many: int | None) -> Iterator[None]:
    """In this context, new devices run the tasks of native launches on *many* threads; None changes nothing."""
    token = _THREADS.set(_THREADS.get() if many is None else threads_of(many))
    try:
        yield
    finally:
        _THREADS.reset(token)


def asked_threads() -> int | None:
    """Return the number of threads that the current context sets, or None."""
    return _THREADS.get()


def threads_of(threads: object = None) -> int:
    """Return *threads*, or the number of threads from the context or the environment variable, or 1.

    Raises `UsageError` if the value is not a positive integer.
    """
    if threads is None:
        threads = _THREADS.get()
    if threads is not None:
        if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
            raise UsageError(f"threads = {threads!r} is not a number of threads; give 1 or more")
        return threads
    text = os.environ.get(THREADS, "").strip() or "1"
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"{THREADS}={text} is not a number of threads; set 1 or more, or unset it")
    return int(text)
