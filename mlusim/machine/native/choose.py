"""Which engine runs a launch."""

import sys
import warnings
import weakref
from typing import TYPE_CHECKING, Any

from mlusim.arch.board import Arch, Board
from mlusim.engine.native.build import BuildError, EngineWarning, available, no_compiler
from mlusim.engine.preference import AUTO, NATIVE, PYTHON, asked_of
from mlusim.errors import UsageError

if TYPE_CHECKING:
    from mlusim.machine.native.run import Loaded


COVERAGE = "coverage"  # the package whose trace function is no debugger's
_failing: "weakref.WeakKeyDictionary[Any, set[tuple[str, ...]]]" = weakref.WeakKeyDictionary()
"""By kernel, the architectures and compilers with which compiling it failed."""


def choose(
    engine: str,
    kernel: Any,
    board: Board,
    *,
    watched: bool,
    counted: bool,
    drawn: bool,
    covered: bool = False,
) -> "Loaded | None":
    """Return the compiled program of *kernel* where C runs it, None where Python does.

    *covered* C counts what it passes.  *watched* launches have observers, *counted* ones a limit of instructions, *drawn* ones another schedule; all are Python's.  "native" raises `UsageError`
    where C cannot run the launch, and warns where there is no compiler; "auto" takes Python,
    also under a debugger of Python, whose breakpoints C would pass, and where the compiler has failed before.  Raises `UsageError`
    for a name that is no engine's.
    """
    engine = asked_of(engine)
    if engine == PYTHON or (engine == AUTO and debugged()):
        return None
    why = _why_not(kernel, board, watched=watched, counted=counted, drawn=drawn)
    if why is None:
        compiler = available()
        if compiler is None:
            if engine == NATIVE:
                warnings.warn(no_compiler(), EngineWarning, stacklevel=6)
            return None
        key = (board.arch.name, *compiler)
        if engine == AUTO and key in _failing.get(kernel.native, ()):
            return None
        try:
            loaded: Loaded | None = kernel.native.loaded(board.arch, compiler, covered=covered)
            if loaded is not None:
                return loaded
        except BuildError as error:
            if engine == NATIVE:
                raise
            _failing.setdefault(kernel.native, set()).add(key)
            warnings.warn(f"{error}; the Python engine runs {kernel.name}", EngineWarning, stacklevel=6)
            return None
        what = getattr(kernel.native, "problem", None) or "something"
        why = f"{kernel.name} uses something that the native engine has no C for: {what}"
    if engine == NATIVE:
        raise UsageError(f"the native engine cannot run this launch: {why}")
    return None


def debugged() -> bool:
    """Return whether a debugger of Python, as pdb or debugpy, watches lines: any trace function but that of coverage."""
    # sys.monitoring: from Python 3.12 on.
    monitoring, tracer = getattr(sys, "monitoring", None), sys.gettrace()
    traced = tracer is not None and COVERAGE not in (_package(tracer), _package(type(tracer)))
    return traced or (monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID) is not None)


def _package(found: object) -> str:
    return str(getattr(found, "__module__", "")).partition(".")[0]


def compiles(arch: Arch) -> bool:
    """Return whether kernels for *arch* become C: not where operands have to be aligned, which only Python checks."""
    return arch.generation != 2


def engine_of_operators(engine: str) -> str:
    """Return the engine for the launches of an operator that is asked to take *engine*: C by name only with a compiler.

    Warns where there is none, and Python executes the operator.
    """
    asked = asked_of(engine)
    if asked != NATIVE or available() is not None:
        return asked
    warnings.warn(no_compiler(), EngineWarning, stacklevel=4)
    return PYTHON


def _why_not(kernel: Any, board: Board, *, watched: bool, counted: bool, drawn: bool) -> str | None:
    if getattr(kernel, "native", None) is None:
        return f"{kernel.name} is Python; only kernels of BANG C sources become C"
    if watched:
        return "it is observed; leave the observers out, or take the Python engine"
    if counted:
        return "only the Python engine counts instructions, which have a limit here; limit seconds or growth, or take that engine"
    if drawn:
        return "only the Python engine draws a schedule from a seed; leave the seed out, or take the Python engine"
    if not compiles(board.arch):
        return f"{board.arch.name} has alignment rules that only the Python engine checks"
    return None
