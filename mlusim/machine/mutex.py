"""The mutexes of a launch, which a core takes and gives back."""

from typing import Any

from mlusim.errors import RuleFault
from mlusim.machine.events import Sync


def lock(core: Any, name: str, key: tuple[int, int]) -> None:
    """Take the mutex *key* of the launch; let others run until it is free."""
    core.refuse_elsewhere()
    if core.hub.control is not None:
        core.hub.control(core, name)
    locks, scheduler = core.session.locks, core.session.scheduler
    if locks.get(key) is core:
        raise core.blame(
            RuleFault(
                f"the mutex {key} is held by this core already",
                intrinsic=name,
                hint="give it back before it is taken again",
            )
        )
    while locks.setdefault(key, core) is not core:  # a free one is taken by the look itself
        scheduler.spin(core)
    _tell_mutex(core, name, key)
    scheduler.pause(core)


def unlock(core: Any, name: str, key: tuple[int, int]) -> None:
    """Release the mutex *key*."""
    if core.hub.control is not None:
        core.hub.control(core, name)
    locks = core.session.locks
    if locks.get(key) is not core:
        raise core.blame(RuleFault(f"the mutex {key} is not held by this core", intrinsic=name))
    _tell_mutex(core, name, key)
    del locks[key]
    core.session.scheduler.changed()  # those who spin for it look again


def _tell_mutex(core: Any, name: str, key: tuple[int, int]) -> None:
    if core.hub.sync is not None:
        core.hub.sync(Sync(name, core, (), "mutex", (core,), key))
