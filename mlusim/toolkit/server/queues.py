"""Queues and notifiers: the clock of each queue is the predicted time of its launches, worked out when it is asked for."""

from attrs import define, field

from mlusim.machine.launch import Launch

MOST_PENDING = 256  # launches of a queue whose time is not worked out yet


@define(eq=False)
class NativeNotifier:
    """A notifier: the queue that it was placed in last, and the number of steps in front of it there; None before."""

    queue: "NativeQueue | None" = None
    step: int = 0
    clock: dict[int, int] = field(factory=dict)  # the last work of each queue that is over when it is met

    @property
    def us(self) -> float:
        """When it is met."""
        assert self.queue is not None
        return self.queue.at(self.step)


@define(eq=False)
class NativeQueue:
    """A queue: what was given to it since the first notifier, each step a launch or a wait for another queue's notifier."""

    number: int
    caller: int = 0
    error: int = 0  # of the launches since the last sync
    _times: list[float] = field(factory=lambda: [0.0])  # the clock behind each step
    _pending: list["Launch | tuple[NativeQueue, int]"] = field(factory=list)

    @property
    def steps(self) -> int:
        """How many steps were given to it."""
        return len(self._times) - 1 + len(self._pending)

    def add(self, step: "Launch | tuple[NativeQueue, int]") -> None:
        """Give it a launch, or the place of a notifier to wait for."""
        self._pending.append(step)
        if len(self._pending) > MOST_PENDING:
            self.at(self.steps)

    def at(self, step: int) -> float:
        """Return the clock in us behind *step*."""
        while len(self._times) <= step:
            given = self._pending.pop(0)
            now = self._times[-1]
            self._times.append(
                now + given.time_us if isinstance(given, Launch) else max(now, given[0].at(given[1]))
            )
        return self._times[step]
