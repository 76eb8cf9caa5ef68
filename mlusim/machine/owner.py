"""The part of a launch that its cores need."""

import itertools
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Protocol

from mlusim.arch.board import Board
from mlusim.engine.recipes.recipe import LaunchPolicy
from mlusim.engine.routes import Routes
from mlusim.machine.hub import Hub
from mlusim.memory.allocation import Arena
from mlusim.memory.regions import RegionMap
from mlusim.memory.space import Space
from mlusim.time.log import Log

if TYPE_CHECKING:
    from mlusim.machine.scheduling.scheduler import Scheduler


class Owner(Protocol):
    """The launch of a core, as `mlusim.machine.session.Session` is."""

    board: Board
    dim: tuple[int, int, int]
    kind: Any
    effects: str
    built_ins: tuple[int, ...]
    hub: Hub
    request: Any
    scheduler: "Scheduler"
    tally: Any
    printed: list[str]
    locks: dict[tuple[int, int], Any]
    numbers: "itertools.count[int]"
    layouts: dict[Hashable, RegionMap]
    native: Any
    compiled: bool
    alone: bool
    policies: tuple[LaunchPolicy, LaunchPolicy]
    meter: Any
    rows: int
    shared_rows: tuple[int, ...]
    shared_directions: tuple[int, ...]

    def counters(self) -> tuple[list[int], list[int]]:
        """Return the lists in which a core counts its instructions, and the bytes it copies by direction."""

    def make_mlu(self, core: Any) -> Any:
        """Make the object that the kernel of *core* is handed."""

    def make_log(self, core: Any) -> Log | None:
        """Return the log of *core*; None where time is not predicted."""

    def watches(self, core: Any) -> tuple[Any, Any]:
        """Return the announcers of intrinsics and of scalar accesses of *core*; None where nothing listens."""

    def lone_cluster(self, core: Any) -> Any:
        """Return the cluster that a lone Block task of compiled code has for itself; None: it has none."""

    def private_arenas(self, *, memory_core: bool) -> dict[Space, Arena]:
        """Return fresh memories for one core."""

    def core_directions(self, *, memory_core: bool) -> Routes:
        """Return the copy directions that a core of this launch has."""
