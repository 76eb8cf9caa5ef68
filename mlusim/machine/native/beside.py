"""Launches in C whose tasks run on several cores of the host: each thread runs every n-th Block task, or union.

The order of tasks cannot matter if no task reads or writes off-chip bytes that another writes.  That is known only at
the end, from the record of each task's accesses; until then copies of changed pages of GDRAM are kept.  Sums of
atomics without a result are added in the order of tasks, so several tasks may add to the same bytes if they access
them in no other way (`machine.native.sums`). If this does not hold, or after any other problem (a fault, a print, a
lock, memory without a record), the bytes are restored, and the tasks run in order.

If an earlier launch has shown the declarations of Block tasks, threads take tasks from a counter, all in C: one has
the core that Python prepares, the others twins of it.  Making a machine, a core and its first task in Python takes
each thread 0.5 ms under a shared lock; a twin is a copy of the core's structure with memories of its own, and takes a
tenth of that.  If a task calls Python, the attempt ends, and the launch runs in the other way.
"""

import contextlib
import ctypes
import functools
import itertools
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlusim.arch.board import Board
from mlusim.engine.contract import Mode
from mlusim.errors import MlusimError
from mlusim.isa.table import ISA
from mlusim.lazy import lazy
from mlusim.machine.limits import Overdue
from mlusim.machine.native import threads
from mlusim.machine.native.build import BuildError
from mlusim.machine.native.chain import Chain
from mlusim.machine.native.screen import COLUMNS, HIGH, KEY, LOW, Rows, apart, joined
from mlusim.machine.native.seat import Seat, shared_counters
from mlusim.machine.native.sums import KEPT, Sums, add_up, apart_from
from mlusim.machine.native.text import layout
from mlusim.machine.native.text.screen import KEPT_PAGE, Suspicion
from mlusim.machine.native.text.sums import AT_ONCE, IN_THE_RECORD, LATER, adds
from mlusim.memory.allocation import POISON, Allocation, Bytes, on_chip_bytes
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import GDRAM, Space
from mlusim.time.log import COLUMNS as LOG_COLUMNS
from mlusim.time.quantities import CORE

if TYPE_CHECKING:
    from concurrent import futures

    from mlusim.isa.declare import Intrinsic
    from mlusim.machine.machine import Machine
    from mlusim.machine.native.core import NativeCore
    from mlusim.machine.native.run import Loaded
    from mlusim.machine.options import Request
    from mlusim.machine.tally import Tally
else:  # for launches on threads
    (futures,) = lazy("concurrent.futures")

READ = (1 << 64) - 1  # the number of memory that is only read: -1 in C
MOST_TOUCHES = 1 << 13  # rows of a record before C requests more space
MANY_TOUCHES = 1 << 16  # rows of a thread before adjacent ones are joined
MOST_JOINED = 1 << 19  # rows that may remain then; more take longer than the tasks

ADDS = tuple(number for number, row in enumerate(ISA.values()) if adds(row))
DEAR = 8  # if one of this many instructions is a sum, recording sums costs what a second thread saves
DEAR_BYTES = 4 << 20  # bytes carried by the IO-DMA; smaller launches need no rule

_left: "weakref.WeakKeyDictionary[Any, set[str]]" = weakref.WeakKeyDictionary()
"""By kernel, the architectures on which its tasks have to run in order, or gain nothing from threads."""
_not_together: "weakref.WeakKeyDictionary[Any, set[str]]" = weakref.WeakKeyDictionary()
"""By kernel, the architectures on which its tasks call Python, or may not run at the same time."""
_mixing: "weakref.WeakKeyDictionary[Any, set[str]]" = weakref.WeakKeyDictionary()
"""By kernel, the architectures on which it reads or writes memory that it also adds to."""


class _Kept:
    """The original bytes of the pages of an allocation, as laid out in `beside.h`."""

    def __init__(self, allocation: Allocation) -> None:
        self.allocation = allocation
        self._copy = threads.room_for(allocation.nbytes)
        self._state = np.zeros(8 + -(-allocation.nbytes // KEPT_PAGE), np.uint8)
        self._state[:8].view(np.uint64)[0] = self._copy.ctypes.data
        self.at = int(self._state.ctypes.data)

    def end(self) -> None:
        """Make the space available to later launches."""
        threads.give_room(self._copy)

    def restore(self) -> None:
        """Write back the original bytes."""
        raw, nbytes = self.allocation.raw, self.allocation.nbytes
        for page in np.flatnonzero(self._state[8:]).tolist():
            start, stop = page * KEPT_PAGE, min((page + 1) * KEPT_PAGE, nbytes)
            raw[start:stop] = self._copy[start:stop]


class _Memory:
    """The GDRAM of a launch: the numbers of its allocations, and their original bytes.

    *read* lists the kernel's const arguments: reads of them are not recorded, and a store ends the attempt.
    """

    def __init__(self, allocations: Sequence[Allocation], read: Collection[Allocation]) -> None:
        self.keys = {a: READ if a in read else key for key, a in enumerate(allocations)}
        self.numbers = {a: key for a, key in self.keys.items() if key != READ}
        self._fresh = [a for a in allocations if a.writable and threads.is_fresh(a)]
        changing = [a for a in allocations if a.writable and a.nbytes and a not in read]
        self.kept = {a: _Kept(a) for a in changing if not threads.is_fresh(a)}

    def targets(self) -> "np.ndarray[Any, Any]":
        """Return the address, the bytes, and the address of kept pages, of the memory of each number."""
        words = np.zeros((len(self.keys), 3), np.uint64)
        for allocation, key in self.numbers.items():
            if allocation.nbytes:
                pages = self.kept.get(allocation)
                words[key] = allocation.where(), allocation.nbytes, 0 if pages is None else pages.at
        return words

    def end(self) -> None:
        """Give up the copies: nothing will be restored."""
        for pages in self.kept.values():
            pages.end()

    def restore(self) -> None:
        """Restore every byte from the copies."""
        for pages in self.kept.values():
            pages.restore()
        for allocation in self._fresh:
            allocation.raw.fill(POISON)


class Notes:
    """The record of off-chip accesses by the tasks of one thread, used in place of a launch's screen, with its *sums*."""

    knows_declarations = False

    def __init__(self, memory: _Memory, ending: threads.Ending, sums: Sums) -> None:
        self._memory, self._ending, self._sums = memory, ending, sums
        self._table = np.empty((MOST_TOUCHES + 1, COLUMNS), np.int64)
        self._table[0] = 0, MOST_TOUCHES, -1, 0, 0
        self._pieces: list[Rows] = []
        self._many, self._most = 0, MANY_TOUCHES

    def begin(self, core: "NativeCore") -> None:
        """A task begins on *core*."""
        core.c.records = self._table.ctypes.data
        core.c.segment = core.union.number
        core.c.sums = self._sums.at
        self._sums.begin(core.union.number)
        self._ending.watched_by(core.c)

    def again(self, core: "NativeCore") -> None:
        """Do nothing for the declarations that *core* keeps from task to task."""

    def records(self, twin: "Twin") -> None:
        """Let the C of *twin* write the record; its sums are recorded as reads and writes."""
        twin.c.records, twin.c.sums = self._table.ctypes.data, self._sums.at

    def looked_at(self, _core: "NativeCore", allocation: Allocation) -> tuple[int, int, bool, bool]:
        """Return the address of the kept pages of *allocation* (0: none), its number, and twice False."""
        if allocation.space is not GDRAM:
            return 0, 0, False, False
        key = self._memory.keys.get(allocation)
        if key is None:
            raise Suspicion
        pages = self._memory.kept.get(allocation)
        return (0 if pages is None else pages.at), key, False, False

    def row(self, _core: "NativeCore", row: "Intrinsic", arguments: Sequence[Any], *, native: bool) -> None:
        """Check *row* before Python executes it."""
        del native
        if row.name in threads.IN_ORDER or not self.allows(arguments):
            raise Suspicion

    def executed(self, core: "NativeCore", row: "Intrinsic") -> None:
        """Do nothing: a row that Python executes accesses nothing off chip."""

    @staticmethod
    def allows(arguments: Sequence[Any]) -> bool:
        """Return whether Python may act on *arguments*: none of them is off chip."""
        return not any(isinstance(a, Ptr) and a.view.space is GDRAM for a in arguments)

    def may_undo(self, pointer: object) -> bool:
        """Return False: the original bytes are kept only by accesses that C records."""
        del pointer
        return False

    def suspected(self, core: "NativeCore", why: int, change: object = None) -> None:
        """Make space in the record; *why* is not 0 after a store to memory that is only read."""
        del core, change
        if why:
            raise Suspicion
        self.more_room()

    def more_room(self) -> None:
        """Save the rows of a full record, joined if they are many, and let C begin again."""
        self._pieces.append(self._table[1:].copy())
        self._table[0, 0] = 0
        self._many += MOST_TOUCHES
        if self._many >= self._most:
            self._pieces = [joined(np.concatenate(self._pieces))]
            self._many = len(self._pieces[0])
            self._most = max(MANY_TOUCHES, 2 * self._many)
            if self._many > MOST_JOINED:
                raise Suspicion

    def touched(self) -> Rows:
        """Return the rows of all accesses."""
        return np.concatenate((*self._pieces, self._table[1 : 1 + int(self._table[0, 0])]))


# -- Block tasks that threads take one by one, all in C ------------------------------------------------

MOST_SHARED = 4096  # tasks of a launch, each with a row of counters
MOST_TWINS = 16  # twins that a process keeps for its next launches
NEXT, RUNNING, OVER = range(3)
"""The words that the threads share: the next task, the number of other running threads, and whether the launch is over."""

_kept: "list[Twin]" = []


class Twin:
    """A copy of a core's structure in C, with memories, counters and a record of its own."""

    def __init__(self) -> None:
        self._seat = Seat()
        self._seat.called = self.called
        self.c = self._seat.c
        self._shared, self.lines = shared_counters()
        self._none = memoryview(bytes(self.lines[0].nbytes)).cast("q")
        self._memories: dict[tuple[Space, int], Bytes] = {}
        self._chain = layout.Chain()
        self._kept: list[Any] = []  # memory that C reads through its chain
        self.rows = np.empty((layout.CHAIN_ROWS, LOG_COLUMNS), np.int64)  # rows of the logs of its tasks
        self._ends = itertools.count()
        self.notes: Notes

    def begin(
        self,
        core: "NativeCore",
        chain: Chain,
        notes: "Notes",
        ending: "threads.Ending",
        who: int,
        words: Rows,
    ) -> None:
        """Become a copy of *core*, which is about to run *chain*, as thread *who* of those that share *words*."""
        seat, theirs = self._seat, core.seat
        self.notes, self._ends = notes, itertools.count()
        moves = {}
        for space, arena in core.used.items():
            if arena.raw is not None:
                memory = self._memories.get((space, arena.raw.size))
                if memory is None:
                    memory = self._memories[space, arena.raw.size] = on_chip_bytes(arena.raw.size)
                moves[space] = int(memory.ctypes.data) - int(arena.raw.ctypes.data)
        at = [0 if view is None else moves.get(view.space, 0) for view in core.views]
        seat.copy(theirs, at, *self._shared)
        for counts in self.lines:
            counts[:] = self._none
        self._chain, self._kept = chain.twin(seat.bytes, moves, self.rows)
        self._kept.append(words)  # a thread may still access it at the very end
        self._chain.who, self._chain.crew = who, words.ctypes.data
        self.c.chain = ctypes.addressof(self._chain)
        notes.records(self)
        ending.watched_by(self.c)

    @property
    def at(self) -> int:
        """Return the address of its structure in C."""
        return self._seat.at

    @property
    def failed(self) -> bool:
        """Return whether a task has called Python."""
        return bool(self._chain.called)

    def called(self, why: int, a: int, _: int) -> None:
        """Make space in the record; any other call from C ends the attempt."""
        if why != layout.SUSPECT or a:
            raise Suspicion
        self.notes.more_room()

    def add_to(self, tally: "Tally") -> None:
        """Add its counts that belong to no single task."""
        traffic, counts = (self._seat.counters[field.name] for field in CORE)
        tally.add_counts(counts, traffic, *self.lines)

    def leave(self) -> None:
        """Make it available to a later launch, once both its thread and the launching thread have called this."""
        if next(self._ends) == 1 and len(_kept) < MOST_TWINS:
            _kept.append(self)


class Crew:
    """The *many* threads that run *tasks*, rows of `layout.CHAIN_TASK`, together with a core; *notes* makes a thread's record."""

    def __init__(
        self,
        pool: "futures.ThreadPoolExecutor",
        many: int,
        tasks: Rows,
        notes: "Callable[[], Notes]",
        ending: "threads.Ending",
    ) -> None:
        self._pool, self._many, self._make, self._ending = pool, many, notes, ending
        self.tasks = tasks
        self.notes: list[Notes] = [notes()]  # the first is that of the core in Python

    def run(self, core: "NativeCore", chain: Chain, loaded: "Loaded", tally: "Tally") -> None:
        """Run the tasks of *chain* on *core* and its twins; *core* is then in the state after the last task.

        Raises `Suspicion` after a task called Python and the others have ended.
        """
        words, arguments = np.zeros(OVER + 1, np.int64), core.seat.given.at
        twins = [_kept.pop() if _kept else Twin() for _ in range(1, self._many)]
        for who, twin in enumerate(twins, 1):
            self.notes.append(self._make())
            twin.begin(core, chain, self.notes[-1], self._ending, who, words)

        def work(twin: Twin) -> None:
            # Exceptions from C are in the twin, too: it has called Python.
            with contextlib.suppress(Exception):
                loaded.run_crew(twin.at, arguments)
            twin.leave()

        chain.c.crew = words.ctypes.data
        others = [self._pool.submit(work, twin) for twin in twins]
        try:
            loaded.run_crew(core.seat.at, arguments)
            while words[RUNNING] and futures.wait(others, threads.MOMENT).not_done:
                pass
        except BaseException:
            self._end(words, others)
            raise
        else:
            self._take_over(core.seat, chain, twins, tally)
        finally:
            for twin in twins:
                twin.leave()

    @staticmethod
    def _take_over(seat: Seat, chain: Chain, twins: Sequence[Twin], tally: "Tally") -> None:
        if chain.c.called or any(twin.failed for twin in twins):
            raise Suspicion
        seat.takes(*chain.shared([twin.rows for twin in twins]))
        for twin in twins:
            twin.add_to(tally)

    def _end(self, words: Rows, others: "Sequence[futures.Future[None]]") -> None:
        """End the other threads; repeat the check, because the alarm may ring before a starved thread has ended."""
        self._ending.stopped = True
        words[OVER] = 1
        while words[RUNNING]:
            with contextlib.suppress(Overdue):
                futures.wait(others)


def threads_for(
    request: "Request",
    board: Board,
    native: "Loaded | None",
    asked: int,
    compiler: tuple[str, ...] | None,
    *,
    covered: bool,
) -> int:
    """Return how many of the *asked* threads may run the tasks of a launch; *compiler* makes the program for it, *covered* or not.

    Launches with little memory have one thread.
    """
    if asked < 2 or native is None:
        return 1
    form, arch = request.kernel.native, board.arch
    many = min(asked, threads.groups_of(request, arch))
    if many < 2 or arch.name in _left.get(form, ()):
        return 1
    if request.bytes_given < threads.WORTH_THREADS:
        return 1
    with contextlib.suppress(BuildError):
        if form.loaded(arch, compiler, Mode.BESIDE, covered=covered) is not None:
            return many
    _left.setdefault(form, set()).add(arch.name)
    return 1


def run_beside(machine: "Machine", many: int) -> bool:
    """Run all tasks of *machine* on *many* threads, and add their sums to its tally; return False if they have to run in order."""
    limit = None if machine.meter is None else machine.meter.limit
    if not machine.alone or (limit is not None and limit.instructions is not None):
        return False
    form, name = machine.request.kernel.native, machine.board.arch.name
    launch = _Launch(machine, many)
    try:
        done = launch.run_together() or (name not in _mixing.get(form, ()) and launch.add_in_order())
        if not done and launch.mixes:
            _mixing.setdefault(form, set()).add(name)
            done = launch.add_at_once()
        if not done or launch.dear:
            _left.setdefault(form, set()).add(name)
        if not done:
            return False
        machine.threads = many
        machine.join(launch.tallies)
        return True
    finally:
        launch.memory.end()


class _Launch:
    """The attempt to run all tasks of *machine* on *many* threads; after a failure its changes are undone.

    ``tallies`` are the sums of each thread.  ``dear`` says that later launches are faster in order.  ``mixes`` says
    that the only problem is that the tasks read or write memory that they add to.
    """

    def __init__(self, machine: "Machine", many: int) -> None:
        # The off-chip memories that the kernel can access: by an argument, or by an address in memory.
        heaps = (
            {a.heap for a in machine.given if a.heap is not None} if machine.native.program.follows else ()
        )
        within_reach = dict.fromkeys((*machine.given, *(a for heap in heaps for a in heap.kept.values())))
        self.memory = _Memory(list(within_reach), threads.only_read(machine.request))
        self.tallies: list[Tally] = []
        self.dear = False
        self._machine, self._many = machine, many
        self._form, self._arch = machine.request.kernel.native, machine.board.arch
        self._loaded = self._compiled()
        self._groups = threads.groups_of(machine.request, self._arch)
        self.mixes = self._loaded.program.adds

    def _compiled(self) -> "Loaded":
        covered = self._machine.counts is not None
        loaded: Loaded = self._form.loaded(self._arch, None, Mode.BESIDE, covered=covered)
        return loaded

    def run_together(self) -> bool:
        """Run all Block tasks on twins of one core, which threads take one by one, if an earlier launch has shown a task's declarations."""
        program, machine, name = self._loaded.program, self._machine, self._arch.name
        laid_out = tuple(machine.memory_limits.values()) in program.locals
        apart_from_all = not (
            program.adds or program.recursive or machine.kind.unions or machine.counts is not None
        )
        if (
            not laid_out
            or not apart_from_all
            or self._groups > MOST_SHARED
            or name in _not_together.get(self._form, ())
        ):
            return False
        ending, sums = threads.Ending(), Sums({}, self._many, IN_THE_RECORD)
        tasks = machine.block_tasks()
        crew = Crew(threads.pool(), self._many, tasks, lambda: Notes(self.memory, ending, sums), ending)
        together = machine.beside(self._loaded, crew.notes[0])
        together.crew = crew
        try:
            together.run_some([self._groups - 1])  # requesting the last one runs all others
        except (Suspicion, MlusimError):
            if machine.meter is not None and machine.meter.over:
                raise
            rows = None
        else:
            rows = np.concatenate([notes.touched() for notes in crew.notes])
        if rows is None or not apart(rows):
            _not_together.setdefault(self._form, set()).add(name)
            self.memory.restore()
            if machine.meter is not None:
                machine.meter.begin_again()
            return False
        self.tallies.append(together.tally)
        return True

    def add_at_once(self) -> bool:
        """Run all tasks; sums are recorded as reads and writes."""
        sums = [Sums({}, self._many, IN_THE_RECORD) for _ in range(self._many)]
        rows = self._wave(sums, lambda place: range(place, self._groups, self._many))
        return self._judged(rows is not None and apart(rows))

    def add_in_order(self) -> bool:
        """Run all tasks in waves, after each of which the recorded sums of the threads are added."""
        if not self._loaded.program.adds:
            return self.add_at_once()
        manners = [AT_ONCE] + [LATER] * (self._many - 1)
        sums = [Sums(self.memory.numbers, self._many, manner) for manner in manners]
        try:
            rows = self._waves(sums)
            mixed = rows is not None and not apart_from(rows[:, [LOW, HIGH, KEY]], sums)
            alone = rows is not None and apart(rows)
        finally:
            for of_thread in sums:
                of_thread.end()
        self.mixes = alone and mixed
        return self._judged(alone and not mixed)

    def _judged(self, alone: bool) -> bool:
        if not alone:
            self.memory.restore()
            self.tallies.clear()
            self._machine.leave()
        return alone

    def _waves(self, sums: Sequence[Sums]) -> "Rows | None":
        """Return the record of all tasks, None if a problem has ended one of them."""
        targets, records, first, wide = self.memory.targets(), [], 0, 2 * self._many
        while first < self._groups:
            end = min(first + wide, self._groups)
            # The first thread adds at once, and so do the others if they would do little else than record
            # sums.
            left = deque(range(first, end))
            groups = _first_only if self.dear else _from_both_ends
            rows = self._wave(sums, functools.partial(groups, left))
            if rows is None:
                return None
            records.append(rows)
            most = max(of_thread.nbytes for of_thread in sums) * self._many
            self.dear = self._mostly_adds()
            wide = min(self._groups, max(wide, (end - first) * KEPT * self._many // max(most, 1)))
            add_up(self._loaded.library, targets, sums, threads.pool())
            first = end
        return np.concatenate(records)

    def _mostly_adds(self) -> bool:
        added = sum(tally.counts[number] for tally in self.tallies for number in ADDS)
        every = sum(tally.length for tally in self.tallies)
        carried = sum(tally.io_bytes for tally in self.tallies)
        return added * DEAR >= every and carried >= DEAR_BYTES

    def _wave(self, sums: Sequence[Sums], groups: "Callable[[int], Iterable[int]]") -> "Rows | None":
        """Run the groups of tasks that *groups* yields for each thread; return the record of their accesses."""

        def part(ending: threads.Ending, place: int) -> "tuple[Machine, Notes]":
            notes = Notes(self.memory, ending, sums[place])
            machine = self._machine.beside(self._compiled(), notes)
            machine.scheduler.chains &= sums[place].manner == IN_THE_RECORD  # the records belong to a task
            return machine, notes

        parts = threads.Threads(self._machine, self._many, part, groups).run()
        if parts is None:
            return None
        self.tallies += [tally for tally, _ in parts]
        return np.concatenate([notes.touched() for _, notes in parts])


def _first_only(left: "deque[int]", place: int) -> "Iterable[int]":
    return () if place else left


def _from_both_ends(left: "deque[int]", place: int) -> Iterator[int]:
    """Yield the next of the numbers *left*: for the first thread, which adds at once, from the beginning, for the others from the end."""
    take = left.pop if place else left.popleft
    with contextlib.suppress(IndexError):
        while True:
            yield take()
