"""Which task a core runs, and where."""

from typing import NamedTuple


class TaskPlace(NamedTuple):
    """The identity of a task and the core on which it runs."""

    task: int
    task_x: int
    task_y: int
    task_z: int
    cluster_id: int
    core_id: int
    memory_core: bool = False

    @property
    def label(self) -> str:
        """How messages name the core."""
        return f"memory core of cluster {self.cluster_id}" if self.memory_core else f"task {self.task}"
