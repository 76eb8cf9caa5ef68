"""Cores that run one Block task after another, and one union after another: what each task gets fresh, and what the core keeps."""

import functools
import sys
from collections.abc import Sequence
from typing import Any

from mlusim.engine.polls import Polls
from mlusim.machine.placements import Placements
from mlusim.machine.task_place import TaskPlace
from mlusim.time.counters import LOADS, STORES, WORK
from mlusim.time.first_loads import OPENING, Head

KEPT = 2  # references to an `Mlu` that has its core only: that one, and the question's own


def repeats(core: Any) -> bool:
    """Return whether *core* may run further tasks: those that nothing looks at, of a kernel that keeps nothing of them."""
    session, union = core.session, core.union
    together = len(union.cores) - len(union.clusters) * session.board.arch.memory_core
    return bool(session.alone and core.mlu.taskDim > together and session.request.options.layout is None)


def run(core: Any, kernel: Any, arguments: Sequence[Any]) -> None:
    """Run the body of *kernel* on *core*, for this task and, where that can be prepared, for others that follow."""
    if kernel.prepared is None:
        result = kernel.body(core.mlu, *arguments)
        if result is not None:
            kernel.refuse_later(result)
        return
    if core.prepared is None:
        core.arguments_bound = len(core.bindings)
        core.prepared = kernel.prepared(core.mlu, arguments)
    core.prepared()
    core.renewable = repeats(core)


def polls(core: Any) -> Polls:
    """Return the record of the memory that *core* polls; it is made when the core polls first."""
    return Polls(functools.partial(core.session.scheduler.spin, core))


def placements(core: Any) -> Placements:
    """Return the plans of the buffers of *core*, from the first one on."""
    return Placements(core.session, core)


def forget(core: Any) -> None:
    """Cut the circles that *core* is part of, which has ended: it is freed at once, unless the kernel keeps its `Mlu`."""
    if core.arguments is None:  # it was released before
        return
    core.arguments = None
    if core.union.block:
        core.union.cores.clear()
    own = core.__dict__
    own.pop("polls", None)
    own.pop("placements", None)
    if sys.getrefcount(core.mlu) == KEPT:
        del core.mlu.core


def renew(core: Any, place: TaskPlace, union: Any) -> None:
    """Let *core* run the task of *place* next, with the same arguments, as a core that begins."""
    core.begin(place, union)
    core.close_bindings(core.arguments_bound)
    for arena in core.used.values():
        arena.cut(0, 0)
    mlu = core.mlu
    mlu.work, core.loads, core.stores = WORK.zeros(), LOADS.zeros(), STORES.zeros()
    for made in ("polls", "placements"):
        core.__dict__.pop(made, None)
    core.away.clear()
    core.source, core.source_at = None, 0


def begin(core: Any, place: TaskPlace, union: Any) -> None:
    """Let *core* be at the beginning of the task of *place*, as far as both engines share it."""
    core.place, core.union, core.ended, core.renewable = place, union, False, False
    mlu = core.mlu
    mlu.taskId, mlu.taskIdX, mlu.taskIdY, mlu.taskIdZ, _, mlu.coreId, _ = place
    core.log, core.head = core.session.make_log(core), Head()
    core.pending, core.fence = OPENING, False
    for binding in core.bindings:
        for view in binding.values():
            view.read = 0
