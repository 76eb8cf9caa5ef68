"""`Recorder`: every instruction of a launch in the order of issue, with its work; what traces are made from."""

from typing import Any

from attrs import define, field, frozen

from mlusim.machine.events import Effect, Sync
from mlusim.machine.hub import Observer
from mlusim.memory.direction import Direction

IDLE = (0, 0, 0, 0, 0)


@frozen
class RecordedCore:
    """Who ran a task: its taskId, its union's number in the launch, its place in the union."""

    task: int
    union: int
    cluster: int
    core: int
    memory_core: bool


@define
class Step:
    """One instruction, a run of scalar accesses, or a wait, of the core with index *core*.

    ``work`` is by pipe: scalar operations, vector cycles, tensor MACs, IO bytes, move bytes.
    ``waits`` names the pipes that a wait is for; ``meets`` lists the cores of a barrier.
    """

    core: int
    name: str
    pipe: str
    site: tuple[str, int]
    detail: str = ""
    asynchronous: bool = False
    count: int = 1
    work: tuple[int, ...] = IDLE
    waits: tuple[str, ...] = ()
    meets: tuple[int, ...] = ()


@define
class Recording:
    """One launch: its cores in the order in which they began, its steps in the order of issue."""

    cores: list[RecordedCore] = field(factory=list)
    steps: list[Step] = field(factory=list)


@define
class _Watch:
    """What is remembered of a core while it runs."""

    index: int
    done: tuple[int, ...] = IDLE
    last: Step | None = None


class Recorder(Observer):
    """Records launches, one `Recording` each, in ``recordings``.

    Consecutive scalar loads, or stores, of one statement make one step.
    """

    name = "recorder"

    def __init__(self) -> None:
        self.recordings: list[Recording] = []
        self._watched: dict[Any, _Watch] = {}
        self._unions: dict[int, int] = {}

    def launch_begin(self, launch: Any) -> None:
        """Begin a recording."""
        del launch
        self.recordings.append(Recording())
        self._watched, self._unions = {}, {}

    def task_begin(self, core: Any) -> None:
        """Note the core."""
        cores, place = self.recordings[-1].cores, core.place
        union = self._unions.setdefault(id(core.union), len(self._unions))
        self._watched[core] = _Watch(len(cores))
        cores.append(RecordedCore(place.task, union, place.cluster_id, place.core_id, place.memory_core))

    def issue(self, effect: Effect) -> None:
        """Note the instruction; its work is known when the next one comes."""
        watch = self._settle(effect.core)
        scalar, site, last = effect.name.startswith("scalar "), effect.site, watch.last
        if scalar and last is not None and (last.name, last.site) == (effect.name, site):
            last.count += 1
            last.work = (last.count, *IDLE[1:])
            return
        detail = next((a.name for a in effect.arguments if isinstance(a, Direction)), "")
        work = (1, *IDLE[1:]) if scalar else IDLE
        step = Step(watch.index, effect.name, effect.pipe.value, site, detail, effect.asynchronous, work=work)
        self._add(watch, step)

    def sync(self, sync: Sync) -> None:
        """Note a wait for pipes, or a barrier and whom it joins."""
        watch = self._settle(sync.core)
        joined = {core: other.index for core, other in self._watched.items()}
        meets = tuple(joined[core] for core in sync.participants if core in joined)
        self._add(
            watch, Step(watch.index, sync.name, "scalar", sync.core.site(), waits=sync.pipes, meets=meets)
        )

    def task_end(self, core: Any) -> None:
        """The last instruction's work is known now."""
        self._settle(core)

    def launch_end(self, launch: Any) -> None:
        """Let go of the cores."""
        del launch
        self._watched, self._unions = {}, {}

    def _settle(self, core: Any) -> _Watch:
        """Give the core's last step the work that has been done since."""
        watch, done = self._watched[core], tuple(core.mlu.work[: len(IDLE)])
        if done != watch.done:
            if watch.last is not None:
                since = (a - b for a, b in zip(done, watch.done, strict=True))
                watch.last.work = tuple(a + b for a, b in zip(watch.last.work, since, strict=True))
            watch.done = done
        return watch

    def _add(self, watch: _Watch, step: Step) -> None:
        self.recordings[-1].steps.append(step)
        watch.last = step
