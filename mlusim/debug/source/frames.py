"""The position of a core: its name, the user's frames of the kernel, and their source lines."""

import linecache
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from mlusim.errors import Fault, UsageError, said, shown_file
from mlusim.kernel_frames import LIBRARIES, OWN, SCOPES, installed, kernel_frame
from mlusim.memory.space import GDRAM, SRAM

if TYPE_CHECKING:
    from mlusim.machine.core import Core
    from mlusim.machine.observed import TaskPlace
    from mlusim.memory.allocation import Allocation

LONGEST = 48  # characters of a path that is shown with its folders


def variables_of(frame: FrameType) -> dict[str, Any]:
    """Return the variables of a frame by name; for BANG C those in scope, by their names in the source.

    A variable of C whose address is taken is shown with its value.
    """
    scopes = frame.f_globals.get(SCOPES)
    if scopes is None:
        return dict(frame.f_locals)
    names = scopes.frame(frame)
    return {} if names is None else {n: getattr(v, "shown", v) for n, v in names.values().items()}


def parameters_of(frame: FrameType) -> Sequence[str]:
    """Return the names of the parameters of a frame's function, as its source spells them."""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    scopes = frame.f_globals.get(SCOPES)
    function = None if scopes is None else scopes.function(code)
    return names if function is None else [p.source_name for p in function.function.parameters]


def returns_nothing(frame: FrameType) -> bool:
    """Return whether the function of a frame is a C function whose return type is void."""
    scopes = frame.f_globals.get(SCOPES)
    function = None if scopes is None else scopes.function(frame.f_code)
    return function is not None and function.returns_nothing


class Owned:
    """Distinguishes the user's files from others: mlusim's, Python's, and those of installed packages other than the kernel's."""

    def __init__(self, kernel_file: str, names: Mapping[str, Any] | None = None) -> None:
        self.names = names or {}  # the kernel's own namespace, which may be a script's and not a module's
        self.kernel_file = kernel_file
        # Files that are not the user's, which a tracer skips without a question.
        self.foreign: set[str] = set()
        self._known: dict[str, bool] = {}
        self._home = _package_of(kernel_file)

    def __call__(self, filename: str) -> bool:
        """Return whether *filename* is the user's, so that the debugger steps through its lines."""
        known = self._known.get(filename)
        if known is None:
            known = self._known[filename] = self._decide(filename)
            if not known:
                self.foreign.add(filename)
        return known

    def _decide(self, filename: str) -> bool:
        if filename == self.kernel_file:
            return True
        if filename.startswith(("<", OWN)) and not filename.startswith("<ipython"):
            return False  # generated code has names like <string>
        return not filename.startswith(LIBRARIES) or filename.startswith(self._home)


def _package_of(filename: str) -> str:
    """Return the folder of the package that contains *filename*, or the file itself outside of any package."""
    path = Path(filename)
    if not (path.parent / "__init__.py").is_file():
        return filename
    folder = path.parent
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
    return str(folder)


def at_file_scope(frame: FrameType) -> bool:
    """Return whether *frame* initializes BANG C variables at file scope, as each task does before its kernel; no step stops there."""
    return frame.f_code.co_name == "<module>" and SCOPES in frame.f_globals


def kernel_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames at and above *frame* that are not mlusim's, innermost first."""
    found = kernel_frame(frame)
    while found is not None:
        yield found
        found = kernel_frame(found.f_back)


def stack_of(core: "Core", error: BaseException | None = None) -> list[FrameType]:
    """Return the kernel's frames on the paused *core*, innermost first; with *error* those that the error passed."""
    if error is not None:
        raised = [tb.tb_frame for tb in _tracebacks(error.__traceback__)]
        return [frame for frame in reversed(raised) if kernel_frame(frame) is frame]
    return list(kernel_frames(core.carrier.frame if core.carrier is not None else None))


def line_of(frame: FrameType, error: BaseException | None = None) -> int:
    """Return the current line of *frame*; with *error* its line when the error passed it."""
    for tb in _tracebacks(error.__traceback__ if error is not None else None):
        if tb.tb_frame is frame:
            return tb.tb_lineno
    return frame.f_lineno


def _tracebacks(tb: TracebackType | None) -> Iterator[TracebackType]:
    while tb is not None:
        yield tb
        tb = tb.tb_next


def raised_at(error: BaseException) -> str:
    """Return `` at FILE:LINE`` with the user's innermost line that *error* passed, or ""."""
    lines = [(tb.tb_frame.f_code.co_filename, tb.tb_lineno) for tb in _tracebacks(error.__traceback__)]
    mine = [(file, line) for file, line in lines if not installed(file) and not file.startswith("<")]
    return f" at {shown_file(mine[-1][0])}:{mine[-1][1]}" if mine else ""


def place_of(file: str) -> str:
    """Return *file* for display: relative to the current folder, or its name alone if that path is long."""
    text = shown_file(file)
    return text if len(text) <= LONGEST else Path(file).name


def source_line(frame: FrameType, error: BaseException | None = None) -> list[str]:
    """Return the current source line of *frame* with its number; [] if there is no source."""
    line = line_of(frame, error)
    text = linecache.getline(frame.f_code.co_filename, line).rstrip()
    return [f"{line}\t{text}"] if text else []


def depth_of(frame: FrameType | None) -> int:
    """Return how many kernel frames are on the stack at *frame*."""
    return sum(1 for _ in kernel_frames(frame))


def failed_text(failure: BaseException) -> str:
    """Describe the error that ended the program itself, and its line."""
    text = said(failure)
    known = isinstance(failure, Fault) and failure.task is not None  # a launch's own, reported at its stop
    told = f": {text}" if text and not known else ""
    placed = told and isinstance(failure, Fault) and failure.line is not None  # its text names the line
    return f"{type(failure).__name__}{told}" + ("" if placed else raised_at(failure))


# -- the names of cores ----------------------------------------------------------------------------
#
# ``task 3`` is an IPU core, ``task 4m`` the memory core whose cluster begins with task 4.

_NAME = re.compile(r"(?:task\s+)?(\d+)\s*(m|mpu|memory)?$", re.IGNORECASE)


def name_of(core: "Core") -> str:
    """Return the debugger's name of *core*."""
    return name_at(core.place)


def name_at(place: "TaskPlace") -> str:
    """Return the debugger's name of the core at *place*."""
    return f"task {place.task}{'m' * place.memory_core}"


def full_name(core: "Core") -> str:
    """Return the name, with the cluster for a memory core."""
    place, name = core.place, name_of(core)
    return f"{name} (memory core of cluster {place.cluster})" if place.memory_core else name


def parse_name(text: str) -> str:
    """Return the name that ``3``, ``task 3`` or ``4m`` means; raises `UsageError` for anything else."""
    match = _NAME.match(text.strip())
    if match is None:
        raise UsageError(
            f"{text!r} is not a task; give its number, as in `task 3`, or `task 4m` for a memory core"
        )
    return f"task {int(match[1])}{'m' * bool(match[2])}"


def cluster_name(core: "Core") -> str:
    """Return the debugger's name of the cluster of *core*: its number, and the union's first task unless that is 0."""
    assert core.cluster is not None
    first = min(c.place.task for c in core.union.cores)
    return f"cluster {core.cluster.number}" + (f" of the union of task {first}" if first else "")


def owner_of(core: "Core", allocation: "Allocation") -> str | None:
    """Return the name of the core or cluster that owns *allocation*, as seen from *core*; None for the device's memory."""
    if allocation.space is GDRAM:
        return None
    if allocation.space is not SRAM:
        return name_of(core)
    holders = (
        c for c in core.union.cores if c.cluster is not None and allocation in c.cluster.sram.allocations
    )
    holder = next(holders, None)
    return None if holder is None else cluster_name(holder)
