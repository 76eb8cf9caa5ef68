"""The base of the debugger's observers: which cores take part in a run."""

from typing import TYPE_CHECKING, Any

from mlusim.debug.source.core_names import name_of
from mlusim.machine.hub import Observer

if TYPE_CHECKING:
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

    def launch_begin(self, launch: Any) -> None:
        """Note whose launch it is."""
        self.session = launch

    def task_begin(self, core: Any) -> None:
        """Note the core."""
        self.cores.append(core)

    def task_end(self, core: Any) -> None:
        """Forget the core."""
        self.cores.remove(core)
        self.finished += 1
        self.ended.add(name_of(core))

    def fault(self, core: Any, fault: Any) -> None:
        """Note whose fault it is."""
        self.failed, self.raised = core, fault

    def error(self, core: Any, error: BaseException) -> None:
        """Note an error of the kernel's own."""
        self.failed, self.raised = core, error
