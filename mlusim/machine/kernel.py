"""What the machine runs: a kernel, its launch kind, and where its source is."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from attrs import frozen

_HERE = str(Path(__file__).resolve().parent.parent)  # frames below this are mlusim's own


class Kernel:
    """A function that the machine runs once per task as ``body(mlu, *args)``.

    A kernel is also callable, so that one kernel may use another as a device function.
    """

    def __init__(self, body: Callable[..., Any]) -> None:
        functools.update_wrapper(self, body)
        self.body = body
        self.name: str = body.__name__

    def __call__(self, mlu: Any, *args: Any, **kwargs: Any) -> Any:
        """Run the body as a device function on the calling core."""
        return self.body(mlu, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"


@frozen
class Kind:
    """How tasks are grouped: ``unions`` is the N of UnionN, 0 for a Block task."""

    name: str
    unions: int

    def __repr__(self) -> str:
        return self.name


BLOCK = Kind("BLOCK", 0)
UNION1 = Kind("UNION1", 1)
UNION2 = Kind("UNION2", 2)
UNION4 = Kind("UNION4", 4)
UNION8 = Kind("UNION8", 8)
UNION16 = Kind("UNION16", 16)
KINDS = (BLOCK, UNION1, UNION2, UNION4, UNION8, UNION16)


def kernel_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame at or above *frame* that belongs to a kernel, not to mlusim."""
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(("<mlusim", _HERE)):
            return frame
        frame = frame.f_back
    return None


def kernel_site(frame: FrameType | None = None) -> tuple[str, int]:
    """File and line of the kernel statement in progress; ("<unknown>", 0) outside any kernel."""
    found = kernel_frame(frame if frame is not None else sys._getframe(1))  # noqa: SLF001 - the only way
    return (found.f_code.co_filename, found.f_lineno) if found is not None else ("<unknown>", 0)
