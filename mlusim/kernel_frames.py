"""Where in a kernel's source execution is: the frames that are a kernel's, not mlusim's own."""

import os
import sys
from pathlib import Path
from types import FrameType

_HERE = str(Path(__file__).resolve().parent) + os.sep  # frames below this are mlusim's own
_OWN = ("<mlusim", _HERE)


def kernel_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame at or above *frame* that belongs to a kernel, not to mlusim."""
    while frame is not None:
        if not is_own(frame):
            return frame
        frame = frame.f_back
    return None


def is_own(frame: FrameType) -> bool:
    """Whether *frame* is mlusim's own, or of code that mlusim has generated."""
    return frame.f_code.co_filename.startswith(_OWN)


def kernel_site(frame: FrameType | None = None) -> tuple[str, int]:
    """File and line of the kernel statement in progress; ("<unknown>", 0) outside any kernel."""
    found = kernel_frame(frame if frame is not None else sys._getframe(1))  # noqa: SLF001 - the only way
    return (found.f_code.co_filename, found.f_lineno) if found is not None else ("<unknown>", 0)
