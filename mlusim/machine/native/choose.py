"""Which engine runs a launch."""

import sys
import warnings
from typing import TYPE_CHECKING, Any

from mlusim.arch.board import Arch, Board
from mlusim.engine.native.build import BuildError, EngineWarning, available, no_compiler
from mlusim.engine.preference import AUTO, NATIVE, PYTHON, engine_of, preferred
from mlusim.errors import UsageError

if TYPE_CHECKING:
    from mlusim.machine.native.run import Loaded


def choose(engine: str, kernel: Any, board: Board, *, watched: bool, drawn: bool) -> "Loaded | None":
    """The compiled program of *kernel* where C runs it, None where Python does.

    *watched* launches have observers, *drawn* ones another schedule; both are Python's.  "native" raises `UsageError`
    where C cannot run the launch, and warns where there is no compiler; "auto" takes Python,
    also under a debugger of Python, whose breakpoints C would pass.  Raises `UsageError`
    for a name that is no engine's.
    """
    engine = preferred() if engine_of(engine) == AUTO else engine
    if engine == PYTHON or (engine == AUTO and debugged()):
        return None
    why = _why_not(kernel, board, watched=watched, drawn=drawn)
    if why is None:
        compiler = available()
        if compiler is None:
            if engine == NATIVE:
                warnings.warn(no_compiler(), EngineWarning, stacklevel=3)
            return None
        try:
            loaded: Loaded | None = kernel.native.loaded(board.arch, compiler)
            if loaded is not None:
                return loaded
        except BuildError as error:
            if engine == NATIVE:
                raise
            warnings.warn(f"{error}; the Python engine runs {kernel.name}", EngineWarning, stacklevel=4)
            return None
        what = getattr(kernel.native, "problem", None) or "something"
        why = f"{kernel.name} uses what has no C: {what}"
    if engine == NATIVE:
        raise UsageError(f"the native engine cannot run this launch: {why}")
    return None


def debugged() -> bool:
    """Whether a debugger of Python, as pdb or debugpy, watches lines."""
    monitoring = getattr(sys, "monitoring", None)
    return sys.gettrace() is not None or (
        monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID) is not None
    )


def compiles(arch: Arch) -> bool:
    """Whether kernels for *arch* become C: not where operands have to be aligned, which only Python checks."""
    return arch.generation != 2


def engine_of_operators(engine: str) -> str:
    """The engine for the launches of an operator that is asked to take *engine*: C by name only with a compiler.

    Warns where there is none, and Python executes the operator.
    """
    asked = preferred() if engine_of(engine) == AUTO else engine
    if asked != NATIVE or available() is not None:
        return asked
    warnings.warn(no_compiler(), EngineWarning, stacklevel=4)
    return PYTHON


def _why_not(kernel: Any, board: Board, *, watched: bool, drawn: bool) -> str | None:
    if getattr(kernel, "native", None) is None:
        return f"{kernel.name} is Python; only kernels of BANG C sources become C"
    if watched:
        return "it is observed; leave the observers out, or take the Python engine"
    if drawn:
        return (
            "a seed draws the schedule where Python announces; leave the seed out, or take the Python engine"
        )
    if not compiles(board.arch):
        return f"{board.arch.name} has alignment rules that only the Python engine checks"
    return None
