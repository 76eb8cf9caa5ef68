"""What a core's structure of C holds when a task begins, so that the core can begin another one."""

import ctypes
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mlusim.engine.native import layout
from mlusim.memory.space import Space
from mlusim.time.counters import CORE, LAUNCH

if TYPE_CHECKING:
    from mlusim.engine.native.core import NativeCore

OWN_SUMS = getattr(layout.Core, CORE[0].name).offset  # bytes of what a task counts by itself
REST = getattr(layout.Core, LAUNCH[0].name).offset  # behind what all tasks of the core add to


class Start(NamedTuple):
    """How a core begins each of its tasks: addresses, how much it has before the kernel runs, and its structure's bytes.

    ``declared`` are the first free byte and the number of declarations of each memory, ``places`` the words of the
    variables at file scope, behind which those of functions are written as they are met.
    """

    core: int
    words: int
    views: int
    bindings: int
    declared: Mapping[Space, tuple[int, int]]
    rest: bytes
    places: bytes
    renewable: bool
    kept: tuple[Any, ...]  # alive as long as C may use it

    @classmethod
    def of(cls, core: "NativeCore", words: Any, places: Any, up: Any) -> "Start":
        """That of *core*, which has declared its variables at file scope and nothing else."""
        c = core.c
        at = ctypes.addressof(c)
        return cls(
            core=at,
            words=ctypes.addressof(words),
            views=len(core.views),
            bindings=len(core.bindings),
            declared={space: (arena.top, len(arena.allocations)) for space, arena in core.used.items()},
            rest=ctypes.string_at(at + REST, ctypes.sizeof(c) - REST),
            places=bytes(places),
            renewable=core.union.block
            and core.session.alone
            and core.session.request.layout is None
            and not any(a.filled for arena in core.used.values() for a in arena.allocations),
            kept=(words, places, up),
        )

    def again(self, c: Any) -> None:
        """Let *c* be as it was, but for what all tasks of the core add to."""
        ctypes.memset(self.core, 0, OWN_SUMS)
        ctypes.memmove(self.core + REST, self.rest, len(self.rest))
        ctypes.memmove(c.globals, self.places, len(self.places))
