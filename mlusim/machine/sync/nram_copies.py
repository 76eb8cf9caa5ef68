"""Copies from NRAM to NRAM: how they are in order with the compute stream, and the wait for them (inferred)."""

from typing import Any

from mlusim.arch.pipe import Pipe
from mlusim.machine.events import Sync
from mlusim.memory.space import NRAM
from mlusim.time.log import WAITS


def land_inside(core: Any, flight: Any) -> None:
    """Have, in compiled code, the bytes of a copy inside NRAM in order with vector instructions; its end is waited for.

    Behind other copies of the move-DMA that have not landed it waits as they do.
    """
    if all(f.landed for f in core.flights if f.pipe is Pipe.MOVE and f is not flight):
        core._land(flight)  # noqa: SLF001 - it is a method of the core
        flight.land, flight.effect, flight.landed = _nothing, None, True


def _nothing() -> None:
    """Do nothing: the bytes are there."""


def wait_inside(core: Any, name: str) -> None:
    """Wait for the asynchronous copies inside NRAM, and for what the move-DMA does before them."""
    flights = [f for f in core.flights if f.pipe is Pipe.MOVE]
    last = max((n for n, f in enumerate(flights) if f.inside), default=-1)
    if last >= 0:
        core._await(WAITS[Pipe.MOVE])  # noqa: SLF001 - it is a method of the core
        for flight in flights[: last + 1]:
            core.flights.remove(flight)
            core._land(flight)  # noqa: SLF001 - the same
        if flights[last + 1 :]:
            core.pending |= WAITS[Pipe.MOVE]
    if core.hub.sync is not None:
        core.hub.sync(Sync(name, core, (Pipe.MOVE.value,), route=(NRAM.name, NRAM.name)))
