"""The state of a core's structure of C at the begin of a task, so that the core can begin another one."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from mlusim.machine.native.seat import FIRST_FLIGHTS, NO_SUMS, OWN_SUMS, REST
from mlusim.memory.allocation import Allocation, Bytes
from mlusim.memory.space import Space

if TYPE_CHECKING:
    from mlusim.machine.native.core import NativeCore
    from mlusim.machine.native.seat import Seat


class Start(NamedTuple):
    """How a core begins each of its tasks: how much it has before the kernel runs, and its structure's bytes.

    ``declared`` are the first free byte and the number of declarations of each memory, ``places`` the words of the
    variables at file scope, behind which those of functions are written as they are met.  ``filled`` are the declarations
    that begin with values, and those.
    """

    views: int
    bindings: int
    declared: Mapping[Space, tuple[int, int]]
    rest: bytes
    places: bytes
    filled: tuple[tuple[Allocation, Bytes], ...]

    @classmethod
    def of(cls, core: "NativeCore", seat: "Seat") -> "Start":
        """Return that of *core* on *seat*, which has declared its variables at file scope and nothing else."""
        return cls(
            views=len(core.views),
            bindings=len(core.bindings),
            declared={space: (arena.top, len(arena.allocations)) for space, arena in core.used.items()},
            rest=bytes(seat.bytes[REST:]),
            places=bytes(seat.places.bytes),
            filled=tuple(
                (a, a.raw.copy()) for arena in core.used.values() for a in arena.allocations if a.filled
            ),
        )

    def again(self, seat: "Seat") -> None:
        """Let *seat* be as it was, but for what all tasks of its core add to."""
        seat.bytes[:OWN_SUMS] = NO_SUMS
        seat.bytes[REST:] = self.rest
        seat.places.bytes[:] = self.places
        if seat.most_flights > FIRST_FLIGHTS:
            seat.c.flights, seat.c.most_flights = seat.flights_at, seat.most_flights
