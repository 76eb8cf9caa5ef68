"""Cases that leave kernel.py where no engine was chosen: those that take minutes there, where nothing watches."""

import importlib.util
from typing import Any

from mlusim.engine.native.build import available
from mlusim.engine.preference import AUTO, engine_of, preferred
from mlusim.machine.hub import attendants, looks_inside
from mlusim.machine.limits import limit_of
from mlusim.operators.spec import Case

PARSER = "clang"  # reads kernel.mlu; an extra


def takes_source(case: Case, engine: str, observe: Any, seed: int | None) -> bool:
    """Return whether *case* runs from ``kernel.mlu``: a long one, on an engine that is left to be chosen, and unwatched.

    False where there is no C compiler, or no parser for BANG C.
    """
    if not case.long or engine_of(engine) != AUTO or preferred() != AUTO:
        return False
    watched = bool(observe) or seed is not None or looks_inside(attendants())
    if watched or limit_of(None).instructions is not None:
        return False
    return source_compiles()


def source_compiles() -> bool:
    """Return whether ``kernel.mlu`` can run on the native engine: there are a C compiler and a parser for BANG C."""
    return available() is not None and importlib.util.find_spec(PARSER) is not None
