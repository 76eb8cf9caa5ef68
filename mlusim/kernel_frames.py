"""Where in a kernel's source execution is: the frames that are a kernel's, not mlusim's own."""

import os
import sys
import sysconfig
from pathlib import Path
from types import FrameType

OWN = str(Path(__file__).resolve().parent) + os.sep  # frames below this are mlusim's own
OPERATORS = OWN + "ops" + os.sep  # of an installed mlusim; their kernels are as the user's
_GENERATED = ("<mlusim", OWN)
LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def kernel_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame at or above *frame* that belongs to a kernel, not to mlusim."""
    while frame is not None:
        if not is_own(frame):
            return frame
        frame = frame.f_back
    return None


def is_own(frame: FrameType) -> bool:
    """Whether *frame* is mlusim's own, or of code that mlusim has generated."""
    return own_file(frame.f_code.co_filename)


def own_file(filename: str) -> bool:
    """Whether *filename* is one of mlusim's own, or stands for code that mlusim has generated."""
    return filename.startswith(_GENERATED) and not filename.startswith(OPERATORS)


def installed(filename: str) -> bool:
    """Whether *filename* is Python's, mlusim's, or an installed package's."""
    return filename.startswith((*LIBRARIES, OWN))


def kernel_site(frame: FrameType | None = None) -> tuple[str, int]:
    """File and line of the kernel statement in progress; ("<unknown>", 0) outside any kernel."""
    found = kernel_frame(frame if frame is not None else sys._getframe(1))  # noqa: SLF001 - the only way
    return (found.f_code.co_filename, found.f_lineno) if found is not None else ("<unknown>", 0)
