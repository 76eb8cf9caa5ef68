"""A launch in C that looks for what checkers may report: its flags, its accesses to shared memory, and what comes of them.

Nothing is told here.  A run in which nothing may be found is the launch; of any other the bytes are restored, and Python makes
the launch again, whose checkers tell what it was.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mlusim.engine.native.layout import OFFSET_BITS
from mlusim.engine.native.screen import LISTS, Screened
from mlusim.machine.events import Sync
from mlusim.machine.hub import Observer
from mlusim.machine.task_parts import TaskParts
from mlusim.memory.allocation import Allocation, Bytes
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import GDRAM, NRAM

if TYPE_CHECKING:
    from mlusim.isa.declare import Intrinsic
    from mlusim.machine.native.core import NativeCore

HEAD = 64  # bytes in front of the flags of an allocation; the last of them says whether something was stored
COLUMNS = 5  # of an access: low, high, kind, segment, key of the memory
MOST_ACCESSES = 1 << 20
WAIT = "sync_io_move_compute"
HARMLESS = frozenset(
    {"bang_printf", "assert_", "sync_all_mpu"}
)  # rows that Python executes in a run in C and that touch no memory


class Suspicion(Exception):
    """A checker may have something to report of a run in C."""


class Looks(Protocol):
    """The record of a launch in C, as its cores write it: that of a screen, or of tasks that run at once."""

    def begin(self, core: "NativeCore") -> None:
        """A task begins on *core*."""

    def again(self, core: "NativeCore") -> None:
        """A further task begins on *core*, with the declarations of the one before."""

    def looked_at(self, core: "NativeCore", allocation: Allocation) -> tuple[int, int]:
        """Return the address of what C keeps of *allocation* on *core*, 0 for nothing, and its number."""

    def row(self, core: "NativeCore", row: "Intrinsic", given: Sequence[Any], *, native: bool) -> None:
        """Let Python execute *row*, which has no C, or is *native* and has none for what it is *given*; raises `Suspicion`."""

    def allows(self, given: Sequence[Any]) -> bool:
        """Return whether Python may do something with what is *given*."""

    def suspected(self) -> None:
        """C has called for the record; raises `Suspicion` where that ends the launch."""


class Screen(Observer):
    """The record of a launch that C runs for checkers; *looks* says what they want to know.

    ``flags`` has the flags of tensors, ``met`` the tasks in the order in which they begin, each ``()``, and those that met at a
    barrier.  A task's time is cut into segments: one when it begins, and one behind each barrier.
    """

    name = "screen"

    def __init__(self, looks: int) -> None:
        self.looks = looks
        self.flags: dict[Allocation, Bytes] = {}
        self.met: list[tuple[int, ...]] = []
        self.hopeless = False  # whether the kernel calls what no screen knows
        self._parts: dict[Any, TaskParts] = {}  # of on-chip arrays, where they are looked for
        self._segments = 0
        self._tasks: dict[NativeCore, int] = {}
        self._begun = 0
        self._keys: dict[
            Allocation, int
        ] = {}  # which keep the allocations alive, so that no two have one key
        self._own: dict[NativeCore, dict[Allocation, Bytes]] = {}
        self._accesses = np.zeros((2 if not looks & Screened.RACE else MOST_ACCESSES + 1, COLUMNS), np.int64)
        self._accesses[0, 1] = MOST_ACCESSES

    # -- what cores ask for ----------------------------------------------------------------------

    def begin(self, core: "NativeCore") -> None:
        """Begin a task on *core*."""
        assert core.seat is not None
        c = core.c
        c.screens = self.looks
        c.screen = core.seat.spans()
        c.cell_flags = core.seat.cell_flags()
        c.records = self._accesses.ctypes.data
        c.context = 0
        c.parts = core.seat.parts() if self.looks & Screened.PARTS else 0
        self._tasks[core] = self._begun
        self._begun += 1
        self.met.append(())
        self._next(core)

    def _next(self, core: "NativeCore") -> None:
        core.c.segment = self._segments
        self._segments += 1

    def again(self, core: "NativeCore") -> None:
        """Take the values from the declarations that *core* keeps from task to task."""
        for allocation, flags in list(self._own.get(core, {}).items()):
            if allocation.live:
                flags[HEAD:] = 1
            else:
                del self._own[core][allocation]

    def looked_at(self, core: "NativeCore", allocation: Allocation) -> tuple[int, int]:
        """Return the address of the flags of *allocation*, 0 where each byte has a value, and its key."""
        key = self._keys.setdefault(allocation, len(self._keys))
        if allocation.space is GDRAM:
            flags = self.flags.get(allocation)
        elif allocation.filled or not self.looks & Screened.INIT:
            flags = None
        elif allocation.space.shared:
            flags = self.flags.get(allocation)
            if flags is None:
                flags = self.flags[allocation] = no_values(allocation)
        else:
            flags = self._own.setdefault(core, {})[allocation] = no_values(allocation)
        return (0 if flags is None else int(flags.ctypes.data) + HEAD), key

    def row(self, core: "NativeCore", row: "Intrinsic", given: Sequence[Any], *, native: bool) -> None:
        """Python is going to execute *row*, which has no C, or is *native* and has none for what it is *given*."""
        if row.name == WAIT:
            flags = [*given, *[True] * (6 - len(given))]
            assert core.seat is not None
            if all(flags[3:]):  # otherwise only some pipes wait; then what is in flight counts as not over
                core.seat.over(name for name, waits in zip(LISTS, flags, strict=False) if waits)
        elif row.name not in HARMLESS:
            self.hopeless = not native
            raise Suspicion

    @staticmethod
    def allows(given: Sequence[Any]) -> bool:
        """Return whether Python may do something with what is *given*: no pointers."""
        return not any(isinstance(a, Ptr) for a in given)

    def suspected(self) -> None:
        """A checker may report what C has found."""
        raise Suspicion

    # -- what happens ----------------------------------------------------------------------------

    def task_end(self, core: Any) -> None:
        """Keep the parts of on-chip arrays, and ask whether the stack had room for the local variables."""
        if self.looks & Screened.PARTS:
            self._keep_parts(core)
        variables = core.session.request.kernel.on_stack
        if not (variables and self.looks & Screened.MEMORY) or core.place.memory_core:
            return
        if sum(v.nbytes for v in variables) > core.session.board.arch.stack_left(core.arenas[NRAM].top):
            raise Suspicion

    def _keep_parts(self, core: "NativeCore") -> None:
        assert core.seat is not None
        whole, tables = core.seat.parts_now()
        contexts, kept, touched = tables
        numbers = {
            *touched["alloc"].tolist(),
            *(kept["first"] + (1 << OFFSET_BITS - 1) >> OFFSET_BITS).tolist(),
        }
        named = {n: view.allocation for n in sorted(numbers) if (view := core.views[n]) is not None}
        key = (
            *(table.tobytes() for table in tables),
            *((a.declared.file, a.declared.line, a if a.space.shared else a.space) for a in named.values()),
        )
        task = core.place.task
        found = self._parts.setdefault(key, TaskParts(whole, contexts, kept, touched, named, {task}))
        found.tasks.add(task)

    def sync(self, sync: Sync) -> None:
        """Let cores meet at a barrier."""
        if len(sync.participants) > 1:
            cores: Sequence[Any] = sync.participants
            self.met.append(tuple(self._tasks[core] for core in cores))
            for core in cores:
                self._next(core)

    # -- what is left ----------------------------------------------------------------------------

    def parts(self) -> Iterator[TaskParts]:
        """Yield what was kept of the parts of on-chip arrays; once of tasks that are alike."""
        yield from self._parts.values()

    def lack(self, allocation: Allocation, flags: "np.ndarray[Any, Any]") -> None:
        """Take the values from the bytes of the tensor *allocation* where *flags* say so."""
        self.flags[allocation] = held = no_values(allocation)
        held[HEAD:] = flags

    def lacking(self) -> Iterator[tuple[Allocation, Bytes]]:
        """Yield the tensors that were passed to `lack`, and their flags now."""
        for allocation, flags in self.flags.items():
            if allocation.space is GDRAM:
                yield allocation, flags[HEAD:]

    def stored(self, allocation: Allocation) -> bool:
        """Return whether something was stored to a tensor that was passed to `lack`."""
        return bool(self.flags[allocation][HEAD - 1])

    def shared(self) -> Iterator["tuple[Allocation, np.ndarray[Any, Any]]"]:
        """Yield each memory and the accesses to it in their order: rows of low, high, kind, segment."""
        table = self._accesses[1 : 1 + int(self._accesses[0, 0])]
        keys, memories = table[:, 4], tuple(self._keys)
        for key in np.unique(keys).tolist():
            yield memories[key], table[keys == key, :4]


def no_values(allocation: Allocation) -> Bytes:
    """Return the flags of which each says that its byte has no value, behind `HEAD` others."""
    flags = np.ones(HEAD + allocation.nbytes, np.uint8)
    flags[:HEAD] = 0
    return flags
