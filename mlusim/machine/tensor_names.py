"""Names of tensors: the variables of the program that hold them where it launches."""

import sys
from collections.abc import Iterable
from typing import Any

from attrs import evolve

from mlusim.kernel_frames import is_own
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.allocation import Allocation
from mlusim.memory.pointer import Ptr

DEEPEST = 16  # callers that are looked through


def name_by_variables(arguments: Iterable[Any]) -> None:
    """Give the tensors among *arguments* the names of the variables in the nearest caller outside of mlusim that has some.

    What has no variable keeps its name, and what a program names in other words, too.
    """
    unnamed = {a for a in map(_allocation_of, arguments) if a is not None and a.declared.told is None}
    frame = sys._getframe(1)  # noqa: SLF001 - who launches
    for _ in range(DEEPEST):
        if not unnamed or frame is None:
            return
        if not is_own(frame):
            for name, value in list(frame.f_locals.items()):
                held = _allocation_of(value) if not name.startswith(("_", "@")) else None
                if held in unnamed:
                    unnamed.discard(held)
                    held.declared = evolve(held.declared, name=name)
        frame = frame.f_back  # type: ignore[assignment]


def _allocation_of(value: Any) -> Allocation | None:
    """Return the allocation that a tensor, or a pointer to its first byte, is."""
    if isinstance(value, DeviceTensor):
        return value.allocation
    if isinstance(value, Ptr) and value.offset == 0:
        return value.view.allocation
    return None
