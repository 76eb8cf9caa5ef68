"""A core as observers know it: where it runs, what is in flight, what it declared; they change nothing of it."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from mlusim.engine.contract import Flight
from mlusim.machine.hub import Hub
from mlusim.machine.place import Place
from mlusim.memory.allocation import Arena
from mlusim.memory.space import Space


class Core(Protocol):
    """The core of an effect or of a sync."""

    hub: Hub
    number: int
    place: Place

    @property
    def mlu(self) -> Any:
        """What its kernel was handed."""

    @property
    def session(self) -> Any:
        """Its launch."""

    @property
    def placements(self) -> Any:
        """The plans of its buffers, as `mlusim.machine.placements.Placements`."""

    @property
    def union(self) -> Any:
        """The cores that may meet it at a barrier."""

    @property
    def cluster(self) -> Any:
        """Its cluster; None for a Block task."""

    @property
    def flights(self) -> Iterable[Flight]:
        """Its asynchronous effects that have not landed."""

    @property
    def arenas(self) -> Mapping[Space, Arena]:
        """Its own memories."""

    def site(self) -> tuple[str, int]:
        """File and line of the kernel statement that it is at."""

    def land_one(self, pipe: Any) -> None:
        """Land the oldest effect in flight on *pipe*."""
