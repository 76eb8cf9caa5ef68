"""The ways of tasks past barriers in a screened run in C: what each passed last, and where it returned from its kernel and from functions below it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mlusim.machine.hub import ReturnedFrom, TaskWay
from mlusim.machine.native.text.screen import Returns
from mlusim.machine.observed import Site, TaskPlace

if TYPE_CHECKING:
    from mlusim.machine.cluster import Sync


class Ways:
    """The ways of the tasks of unions that have not ended, with what C has recorded of each."""

    def __init__(self) -> None:
        self._passed: dict[Any, tuple[TaskPlace, str, int]] = {}
        self._ended: dict[Any, tuple[TaskPlace, Any]] = {}

    def meets(self, sync: "Sync") -> None:
        """Note that the participants of a barrier pass it."""
        core: Any  # in C
        for core in sync.participants:
            self._passed[core] = core.place, sync.name, core.c.site

    def task_end(self, core: Any) -> None:
        """Keep the record of a task that ends; that of a union that ends is over."""
        self._ended[core] = core.place, core.seat.leaving[0].copy()
        if core.union.finished():
            for member in core.union.cores:
                self._passed.pop(member, None)
                self._ended.pop(member, None)

    def end(self, running: Sequence[Any]) -> None:
        """Keep the records of the tasks on the cores *running*, which have not returned: a fault ends them."""
        for core in running:
            if core.c.leaving:
                record = core.seat.leaving[0].copy()
                record["returned"] = 0
                self._ended[core] = core.place, record

    def told(self, returns: Returns | None, sites: Sequence[tuple[str, int]]) -> dict[str, TaskWay] | None:
        """Return the way of each task by its label; None if some is not known."""
        if returns is None or any(record["unclear"] for _, record in self._ended.values()):
            return None
        ways: dict[str, TaskWay] = {}
        for core, (place, record) in self._ended.items():
            at, name, site = self._passed.get(core, (None, "", 0))
            passed = (name, Site(*sites[site])) if at is place else None
            left = {
                _returned(returns, sites, *numbers): times
                for *numbers, times in record["row"][: record["many"]].tolist()
            }
            number = int(record["returned"])
            returned = Site(*sites[returns.returns[number - 1][1]]) if number else None
            ways[place.label] = TaskWay(passed, returned, left)
        return ways


def _returned(
    returns: Returns, sites: Sequence[tuple[str, int]], number: int, call: int, outermost: int
) -> ReturnedFrom:
    function, site = returns.returns[number]
    caller, called_at = returns.calls[call]
    kernel = returns.calls[outermost][1]
    return ReturnedFrom(function, Site(*sites[site]), caller, Site(*sites[called_at]), Site(*sites[kernel]))
