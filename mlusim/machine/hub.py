"""Who listens to what, settled once per launch."""

from collections.abc import Callable, Iterable
from typing import Any

EVENTS = (
    "launch_begin",
    "task_begin",
    "declare",
    "scalar",
    "issue",
    "effect",
    "retire",
    "block",
    "sync",
    "fault",
    "task_end",
    "launch_end",
)

Listener = Callable[..., None] | None


class Observer:
    """Somebody who watches a launch.  Override what you care about; every method is empty.

    ``issue`` comes when an instruction is issued, ``effect`` just before its bytes change and
    ``retire`` just after; for a blocking instruction the three follow each other, and a scalar access
    has no ``retire``.  An observer never changes the machine.  ``findings`` is collected when the
    launch ends, or when a fault ends it.
    """

    name = "observer"

    @property
    def findings(self) -> Iterable[Any]:
        """What the observer has to say at the end."""
        return ()

    def launch_begin(self, launch: Any) -> None:
        """A launch begins; *launch* is the machine's session."""

    def task_begin(self, core: Any) -> None:
        """A task, or a memory core, begins on *core*."""

    def declare(self, core: Any, allocation: Any) -> None:
        """*core* declared on-chip memory."""

    def scalar(self, effect: Any) -> None:
        """A scalar load or store, for those who do not care for other instructions; before its issue."""

    def issue(self, effect: Any) -> None:
        """An instruction was issued."""

    def effect(self, effect: Any) -> None:
        """The bytes are about to change."""

    def retire(self, effect: Any) -> None:
        """The bytes have changed."""

    def block(self, core: Any, reason: str) -> None:
        """*core* waits at a barrier."""

    def sync(self, sync: Any) -> None:
        """A core waited for its pipes, or a barrier completed."""

    def fault(self, core: Any, fault: Any) -> None:
        """*core* did what the machine cannot do; the launch ends here, without `launch_end`."""

    def task_end(self, core: Any) -> None:
        """A task has ended."""

    def launch_end(self, launch: Any) -> None:
        """The launch is over."""


class Hub:
    """For each event: None, one bound method, or a fan-out over those who override it."""

    __slots__ = EVENTS

    launch_begin: Listener
    task_begin: Listener
    declare: Listener
    scalar: Listener
    issue: Listener
    effect: Listener
    retire: Listener
    block: Listener
    sync: Listener
    fault: Listener
    task_end: Listener
    launch_end: Listener

    def __init__(self, observers: Iterable[Any]) -> None:
        listening = tuple(observers)
        for event in EVENTS:
            heard = [getattr(o, event) for o in listening if _overrides(o, event)]
            setattr(self, event, _fan_out(heard))

    @property
    def watches(self) -> bool:
        """Whether anybody wants to hear of single instructions."""
        return any(getattr(self, event) is not None for event in ("issue", "effect", "retire"))


def _overrides(observer: Any, event: str) -> bool:
    method = getattr(type(observer), event, None)
    return method is not None and method is not getattr(Observer, event)


def _fan_out(heard: list[Callable[..., None]]) -> Listener:
    if not heard:
        return None
    if len(heard) == 1:
        return heard[0]
    calls = tuple(heard)

    def tell(*arguments: Any) -> None:
        for call in calls:
            call(*arguments)

    return tell
