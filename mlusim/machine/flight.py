"""An asynchronous effect between its issue and its landing."""

from collections.abc import Callable

from attrs import define

from mlusim.isa.declare import Pipe
from mlusim.machine.events import Effect


@define(eq=False)
class Flight:
    """An asynchronous effect in flight on a pipe; ``inside`` is true of a copy from NRAM to NRAM."""

    pipe: Pipe
    land: Callable[[], None]
    effect: Effect | None
    inside: bool = False
