"""Meetings of cores: who takes part, who has arrived."""

from typing import TYPE_CHECKING

from attrs import define, field

if TYPE_CHECKING:
    from mlusim.machine.core import Core

SCOPES = {
    "cluster": "the IPU cores and the memory core of the cluster",
    "cluster_ipu": "the IPU cores of the cluster",
    "all": "every core of the union",
    "all_ipu": "the IPU cores of the union",
    "all_mpu": "the memory cores of the union",
}


@define(eq=False)
class Meeting:
    """A barrier that some have reached and others have not; *left* had ended before the first came."""

    name: str
    scope: str
    expected: tuple["Core", ...]
    arrived: list["Core"] = field(factory=list)
    left: list["Core"] = field(factory=list)

    @property
    def missing(self) -> list["Core"]:
        """The cores that have not arrived."""
        return [core for core in self.expected if core not in self.arrived]

    @property
    def wanted(self) -> str:
        """Name the arrivals that would end the wait, where these are not all cores that are missing."""
        return ""


def participants(core: "Core", scope: str) -> tuple["Core", ...]:
    """Return the cores that must arrive at a barrier of *scope* that *core* reaches."""
    cores = core.cluster.cores if scope.startswith("cluster") and core.cluster else core.union.cores
    if scope.endswith("_ipu"):
        return tuple(c for c in cores if not c.place.memory_core)
    if scope.endswith("_mpu"):
        return tuple(c for c in cores if c.place.memory_core)
    return tuple(cores)
