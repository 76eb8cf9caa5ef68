"""Frames of kernels: which frames of a stack are a kernel's, not mlusim's own, who called an instruction, and tracebacks that end there."""

import linecache
import os
import sys
import sysconfig
from pathlib import Path
from types import CodeType, FrameType, TracebackType

from mlusim.errors import MlusimError

OWN = str(Path(__file__).resolve().parent) + os.sep  # frames below this are mlusim's own
OPERATORS = OWN + "ops" + os.sep  # in an installed mlusim, whose operators' kernels are treated as the user's
_GENERATED = ("<mlusim", OWN)
FROZEN = "<frozen "  # begins the files of modules that are within Python, as its importer
LIBRARIES = (
    *(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    FROZEN,
)
SCOPES = "_c_scopes"  # where the globals of a function of BANG C keep what tells the names of its frames


def kernel_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame at or above *frame* that belongs to a kernel, not to mlusim."""
    while frame is not None:
        if not is_own(frame):
            return frame
        frame = frame.f_back
    return None


def is_own(frame: FrameType) -> bool:
    """Return whether *frame* is mlusim's own, or of code that mlusim has generated."""
    return own_file(frame.f_code.co_filename)


def own_file(filename: str) -> bool:
    """Return whether *filename* is one of mlusim's own, or stands for code that mlusim has generated."""
    return filename.startswith(_GENERATED) and not filename.startswith(OPERATORS)


def installed(filename: str) -> bool:
    """Return whether *filename* is Python's, mlusim's, or an installed package's."""
    return filename.startswith((*LIBRARIES, OWN))


def kernel_site(frame: FrameType | None = None) -> tuple[str, int]:
    """Return the file and line of the kernel statement in progress; ("<unknown>", 0) outside any kernel."""
    caller = kernel_frame(frame if frame is not None else sys._getframe(1))  # noqa: SLF001 - the only way
    return (file_of(caller.f_code), caller.f_lineno) if caller is not None else ("<unknown>", 0)


def function_of(code: CodeType) -> tuple[str, int, str]:
    """Return a key of a function: one of BANG C has another code object while checkers watch its values."""
    return code.co_filename, code.co_firstlineno, code.co_name


def file_of(code: CodeType) -> str:
    """Return the file that *code* is in; for a notebook's cell, its name there, such as ``In [3]``."""
    name = code.co_filename
    return _cell_or(name) if "ipykernel_" in name or name.startswith("<ipython-") else name


def _cell_or(name: str) -> str:
    """Return the name of the cell that IPython compiled as *name*; its text can be read under that name from now on."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    label = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)(name)
    if label is None:
        return name
    cell = str(label[1]).replace("In[", "In [")
    linecache.cache.setdefault(cell, linecache.cache.get(name, (0, None, [], cell)))
    return cell


# Tracebacks that end in the kernel's frame: post-mortem debuggers open there, not inside mlusim.

FULL = "MLUSIM_TRACEBACK"
"""The environment variable that shows all frames where it is "full", for work on mlusim itself."""


def show_kernel(error: BaseException) -> None:
    """Leave mlusim's own frames out of the traceback of *error*, which a kernel raised or ran into.

    If mlusim raises the error on purpose, all of them are left out, so that its last frame is the kernel's; otherwise only
    those before the kernel's.  Nothing is left out if no kernel takes part, or if the environment variable
    ``MLUSIM_TRACEBACK`` is "full".
    """
    entries, traceback = [], error.__traceback__
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    foreign = [n for n, entry in enumerate(entries) if not is_own(entry.tb_frame)]
    if not foreign or os.environ.get(FULL) == "full":
        return
    on_purpose = isinstance(error, MlusimError)
    remaining = [entries[n] for n in foreign] if on_purpose else entries[foreign[0] :]
    shown = None
    for entry in reversed(remaining):
        line: int | None = entry.tb_lineno  # typeshed leaves None out
        if line is None:  # an alarm may come at an instruction that belongs to no line
            line = entry.tb_frame.f_code.co_firstlineno
        shown = TracebackType(shown, entry.tb_frame, entry.tb_lasti, line)
    error.__traceback__ = shown


# The place of an instruction: its method knows who called it, and passes that on, ``caller(1)``.  Mostly that is the kernel
# itself; where a helper of mlusim stands between, `KernelFrame` finds the kernel: the first frame that is not mlusim's.
# A caller that keeps what was found may ask with a guess first, as `ACCESSOR` is: of a frame that is not the kernel's
# nothing is kept.

caller = sys._getframe  # noqa: SLF001 - the only way
ACCESSOR = 3  # a guess at who makes a scalar access, of those it is told to: behind the core's account and the pointer


class _Files(dict[str, bool]):
    """A table of files that are mlusim's own, looked up once each."""

    def __missing__(self, filename: str) -> bool:
        ours = self[filename] = own_file(filename)
        return ours


class KernelFrame:
    """Finds the frame of the kernel at or above another frame."""

    __slots__ = ("_own",)

    def __init__(self) -> None:
        self._own = _Files()

    def __call__(self, frame: FrameType) -> FrameType:
        """Return the kernel's frame; *frame* itself, which is mlusim's, where no kernel is above it."""
        ours, above = self._own, frame
        while ours[above.f_code.co_filename]:
            above = above.f_back  # type: ignore[assignment]
            if above is None:
                return frame
        return above
