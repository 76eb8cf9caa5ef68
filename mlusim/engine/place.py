"""The place of a kernel: who called an instruction, and which frame above that is the kernel's.

An instruction's method knows who called it, and passes that on: ``caller(1)``.  Mostly that is the kernel itself; where
a helper of mlusim stands between, `KernelFrame` finds the kernel by what its frame is: the first that is not mlusim's.
A caller that keeps what was found may ask with a guess first, as `ACCESSOR` is: of a frame that is not the kernel's nothing
is kept.
"""

import sys
from types import FrameType

from mlusim.kernel_frames import own_file

caller = sys._getframe  # noqa: SLF001 - the only way
ACCESSOR = 3  # a guess at who makes a scalar access, of those it is told to: behind the core's account and the pointer


class _Files(dict[str, bool]):
    """A table of files that are mlusim's own, looked up once each."""

    def __missing__(self, filename: str) -> bool:
        own = self[filename] = own_file(filename)
        return own


class KernelFrame:
    """Finds the frame of the kernel at or above another frame."""

    __slots__ = ("_own",)

    def __init__(self) -> None:
        self._own = _Files()

    def __call__(self, frame: FrameType) -> FrameType:
        """Return the kernel's frame; *frame* itself, which is mlusim's, where no kernel is above it."""
        own, found = self._own, frame
        while own[found.f_code.co_filename]:
            found = found.f_back  # type: ignore[assignment]
            if found is None:
                return frame
        return found
