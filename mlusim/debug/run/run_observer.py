"""The base of the debugger's observers: which cores take part in a run."""

from typing import TYPE_CHECKING, cast

from mlusim.debug.source.core_names import name_of
from mlusim.machine.hub import Observer

if TYPE_CHECKING:
    from mlusim.errors import Fault
    from mlusim.machine import observed
    from mlusim.machine.cluster import Union
    from mlusim.machine.core import Core
    from mlusim.machine.session import Session


class RunObserver(Observer):
    """Knows the cores of a run that have begun and not ended, and what went wrong."""

    name = "debugger"

    def __init__(self) -> None:
        self.session: Session | None = None
        self.cores: list[Core] = []
        self.finished = 0  # tasks and memory cores that have ended
        self.ended: set[str] = set()  # their names, as far as they were seen
        self.raised: BaseException | None = None
        self.failed: Core | None = None
        self.latest: Union | None = None  # the group of tasks that has begun last
        self.begun = 0  # cores of that group that have begun

    def launch_begin(self, launch: "observed.Launch") -> None:
        """Note whose launch it is."""
        self.session = cast("Session", launch)

    def task_begin(self, core: "observed.Core") -> None:
        """Note the core that runs the task, and its group."""
        self.cores.append(whole(core))
        self.begun = self.begun + 1 if whole(core).union is self.latest else 1
        self.latest = whole(core).union

    def only_latest(self, ending: "Core | None" = None) -> bool:
        """Return whether no group of tasks but the one that has begun last is under way, *ending* among its cores."""
        return all(core.union is self.latest for core in (*self.cores, *([ending] if ending else ())))

    def members(self, ending: "Core | None" = None) -> int:
        """Return how many cores of the group that has begun last have ended; 0 where the others may still deal with them.

        They do not where one core alone is under way, *ending* among them, and nothing has been declared in SRAM.
        """
        clusters = () if self.latest is None else self.latest.clusters
        if len(self.cores) + (ending is not None) != 1 or any(c.sram.high_water for c in clusters):
            return 0
        return self.begun - 1

    def task_end(self, core: "observed.Core") -> None:
        """Forget the core that ran the task."""
        self.cores.remove(whole(core))
        self.finished += 1
        self.ended.add(name_of(whole(core)))

    def fault(self, core: "observed.Core", fault: "Fault") -> None:
        """Note whose fault it is."""
        self.failed, self.raised = whole(core), fault

    def error(self, core: "observed.Core", error: BaseException) -> None:
        """Note an error of the kernel's own."""
        self.failed, self.raised = whole(core), error


def whole(core: "observed.Core") -> "Core":
    """*core* as the machine has it: the debugger reads, parks and resumes more than observers see."""
    return cast("Core", core)
