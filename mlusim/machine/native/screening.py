"""Launches in C that checkers observe: which launches, on how many threads, and a run without findings, or one undone for Python to repeat."""

import contextlib
import functools
import math
import operator
import warnings
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import zip_longest
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, evolve

from mlusim.arch.board import Arch, Pipe
from mlusim.engine.contract import Mode
from mlusim.engine.values import Look, Types, TypesInC, VectorChange, look_at
from mlusim.errors import Fault, MlusimError
from mlusim.isa.declare import Intrinsic
from mlusim.isa.table import NUMBERS
from mlusim.machine.announcer import accesses_of, arguments_behind
from mlusim.machine.hub import Observer, sorted_by_interest
from mlusim.machine.limits import UNLIMITED, Meter
from mlusim.machine.native import threads
from mlusim.machine.native.build import BuildError, EngineWarning
from mlusim.machine.native.screen import (
    KEY,
    KIND,
    SEGMENT,
    UNCLEAR,
    ReadyLaunch,
    Rows,
    Screen,
    apart,
    at_flags,
    note,
)
from mlusim.machine.native.text.screen import (
    HOW_FLIES,
    HOW_PIPE,
    LISTS,
    MOST_SPANS,
    SPAN_LISTS,
    SPAN_WORDS,
    Suspicion,
)
from mlusim.machine.observed import CHANGES, READS, WRITES, HeardEnough, Screened
from mlusim.memory.allocation import POISON, Allocation, Bytes
from mlusim.memory.footprint import Access
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import GDRAM
from mlusim.time.log import WAITS

if TYPE_CHECKING:
    from mlusim.machine.machine import Machine
    from mlusim.machine.native.core import NativeCore
    from mlusim.machine.native.run import Loaded
    from mlusim.machine.options import Request


LARGE = 1 << 20  # bytes of arguments with which Python takes longer than a compiler
LONG = 20_000  # instructions and scalar accesses of earlier launches with which it does, too
VECTORS = 1 << 13  # bytes of vectors that cost observers as much as one more instruction
TASK = 20  # instructions that cost observers as much as a task's beginning and end
TRIED = 1 << 10  # bytes with which a new kernel is tried in Python, to measure its length
MUCH = 1 << 25  # bytes of memory that take longer to copy than stores take to be heard
# Block tasks of which the first have every access recorded, in case that some are in no order.
WORTH_RECORDING = 8
WORTH_WAITING = 1 << 14  # bytes of memory that are kept only when a task first reads some of them
_long: "weakref.WeakSet[Any]" = weakref.WeakSet()  # kernels with a long launch
_watched: "weakref.WeakKeyDictionary[Any, int]" = weakref.WeakKeyDictionary()
"""By kernel, the total length of its launches observed in Python, in the units of `LONG`."""
_short: "weakref.WeakKeyDictionary[Any, int]" = weakref.WeakKeyDictionary()
"""By kernel that was tried and is short, the bytes of its arguments: no launch with fewer is tried again."""
_left: "weakref.WeakKeyDictionary[Any, set[str]]" = weakref.WeakKeyDictionary()
"""By kernel, the architectures on which no screen can run it."""
read_back: "weakref.WeakKeyDictionary[Any, set[int]]" = weakref.WeakKeyDictionary()
"""By kernel, which of the memories that it is given its tasks read: what they held before is kept from the beginning."""
_clashing: "weakref.WeakKeyDictionary[Any, bool]" = weakref.WeakKeyDictionary()
"""The kernels of which the last checked launch had unordered events, and whether these were accesses to shared memory: the next one records everything from the beginning."""
_unheard: "weakref.WeakSet[Any]" = weakref.WeakSet()
"""Kernels whose stores are not heard for checkers that look for no races: a run that heard them has ended early."""
_failing: "weakref.WeakKeyDictionary[Any, set[str]]" = weakref.WeakKeyDictionary()
"""By kernel, the architectures for which its code for checkers does not compile."""


@define
class Screening:
    """A launch that C may run for checkers: its observers, the problems they look for, the compiled kernel.

    The observers ``told`` hear only its beginning and end, and C's counts if they need them.  Without ``loaded``
    Python runs it; if it is to be ``tried`` before it is compiled, Python also runs it if it is short.  ``beside``
    runs its tasks on several threads, as `screen_beside` does with their number. ``cleared`` are the checkers whose
    findings C knows completely; they do not observe a launch that others need in Python. If it ``only_hears`` stores,
    it looks for races because they are heard then, and no checker needs them.
    """

    request: "Request"
    checkers: tuple[Observer, ...]
    told: tuple[Observer, ...]
    looks: Screened
    loaded: "Callable[[], Loaded | None]"
    tried: bool = False
    beside: "Callable[[Machine, Screen, Callable[[], None]], bool] | None" = None
    cleared: tuple[Observer, ...] = ()
    only_hears: bool = False
    _ended: "tuple[NativeCore, Fault] | None" = None  # set by a fault that all checkers have heard
    _before: "_Before | None" = None  # the original memory, while it runs

    def run(
        self,
        machine_of: "Callable[..., Machine]",
        meter: "Meter | None",
        ready: ReadyLaunch | None = None,
    ) -> "Machine | None":
        """Run it in C; return the machine if C knows all findings of the checkers, otherwise restore the memory and return None.

        If events on a core may be unordered, it runs twice, and the second run gives the checkers the details.
        *machine_of* makes the machine from its observers, the choices of a schedule, the engine, the meter and the
        screen.  A launch that is *ready* runs first.
        """
        told, self.told = self.told, ()  # in Python all hear everything
        self._ended = self._before = None
        if self.tried and not self._long(machine_of, meter):
            return None
        with contextlib.nullcontext() if meter is None else meter.paused():
            loaded = self.loaded()
        if loaded is None:
            return None
        self.told = told
        again = None if ready is None else self._again(ready)
        if again is not None:
            return again
        machine, self.cleared = self._screened(machine_of, loaded, meter)
        if len(self.cleared) < len(self.checkers):
            return None
        self._told_of(machine)
        return machine

    def _told_of(self, machine: "Machine") -> None:
        """Tell those who hear of no more how the launch ended.  Raises the fault that has ended it."""
        for observer in self._counting:
            observer.counted(machine.counts.covers, machine.counts.counts)
        if self._ended is not None:
            for observer in self.told:
                observer.fault(*self._ended)
            raise self._ended[1]
        for observer in self.told:
            observer.launch_end(machine)

    @property
    def may_be_ready(self) -> bool:
        """Return whether C may begin the tasks of a launch like this."""
        variables = self.request.variables or self.request.kernel.on_stack
        return not (self.beside or self.told or variables or self.looks & Screened.PARTS)

    def _again(self, ready: ReadyLaunch) -> "Machine | None":
        """Make the launch by one that is *ready*; None where that has not succeeded: memory is as before then."""
        screen, machine = Screen(self.looks, RowWatch), ready.machine_of(self.request)
        begins = [checker.screen_begin(machine, screen) for checker in self.checkers]
        if not all(begins) or screen.flags:
            return None
        before = self._kept_before(screen)
        sums = ready.check(screen, self.request.arguments)
        if sums is None:
            ready.end()
        if sums is None or not all(checker.screen_end(screen) for checker in self.checkers):
            before.restore()
            return None
        before.end()
        machine.sums, self.cleared = sums, self.checkers
        for checker in self.checkers:
            checker.hears_again(screen)
            checker.launch_begin(machine)
            checker.screened(screen)
        return ready.machine_of(evolve(self.request, arguments=()))  # it keeps no tensors

    @property
    def _records_at_first(self) -> bool:
        """Return whether every access of the first tasks is recorded: there are enough of them, they run one after another, and races are looked for."""
        request = self.request
        many = math.prod(request.dim)
        return (
            self._seeks_races and self.beside is None and not request.kind.unions and many >= WORTH_RECORDING
        )

    @property
    def _seeks_races(self) -> bool:
        """Return whether a checker looks for races; otherwise there is no order to record."""
        return bool(self.looks & Screened.RACE) and not self.only_hears

    @property
    def _counting(self) -> list[Observer]:
        return [observer for observer in self.told if observer.counts]

    def seeing(self, watching: Sequence[Observer]) -> tuple[Observer, ...]:
        """Return the observers of *watching* that observe Python's repetition of the launch."""
        return tuple(observer for observer in watching if observer not in self.cleared)

    def _screened(
        self, machine_of: "Callable[..., Machine]", loaded: "Loaded", meter: "Meter | None"
    ) -> "tuple[Machine, tuple[Observer, ...]]":
        """Return the machine of the launch, and the checkers whose findings C knows completely and that have received them."""
        native, told = self.request.kernel.native, self.told
        whole = remembered = native in _clashing and self._seeks_races
        disordered = whole and _clashing.pop(native)
        while True:
            at_first = not whole and self._records_at_first
            screen = Screen(self.looks, RowWatch, whole=whole, at_first=at_first, disordered=disordered)
            machine = self._begun(machine_of((screen,), None, loaded, meter, screen), told)
            if whole:
                self.beside = None  # a thread knows only its own tasks
            cleared = self._cleared(machine_of, machine, screen)
            screen.drop()  # another run has a record of its own
            if screen.read_late and self._before is not None:
                self._reads_back()
            elif self.only_hears and not cleared and not screen.hopeless:
                self._copies_all()
            elif cleared or not (remembered if screen.whole else screen.clashed and self._seeks_races):
                break
            else:
                whole, remembered, disordered = not whole, False, screen.disordered and not whole
            loaded, told = loaded.again(), ()
        if cleared and screen.whole and (screen.clashed or screen.disordered):
            _clashing[native] = screen.disordered
        if self._before is not None:
            self._before.end()
        if len(cleared) < len(self.checkers) and screen.hopeless:
            _left.setdefault(native, set()).add(machine.board.arch.name)
        return machine, cleared

    def _begun(self, machine: "Machine", told: Sequence[Observer]) -> "Machine":
        """Return *machine*, with the counts that observers need, once those *told* have heard its beginning."""
        if self._counting:
            machine.count_lines()
        for observer in told:
            observer.launch_begin(machine)
        return machine

    def _copies_all(self) -> None:
        """Keep copies of all memory, because a run that heard stores has ended early, as for events that may be in no order."""
        assert self._before is not None
        _unheard.add(self.request.kernel.native)
        self.looks, self.only_hears = self.looks & ~Screened.RACE, False
        self._before.end()
        self._before = None

    def _reads_back(self) -> None:
        """Keep all memory from the beginning, because a task has read some after a store to it."""
        assert self._before is not None
        read_back[self.request.kernel.native] = set(range(len(self.request.allocations)))
        self._before.end()
        self._before = None

    def _cleared(
        self, machine_of: "Callable[..., Machine]", machine: "Machine", screen: Screen
    ) -> tuple[Observer, ...]:
        """Run the tasks, and give their results to the checkers for which *screen* is sufficient; if any other is left, restore the memory.

        If a fault ends the launch, they hear it while the machine is still in that state.
        """
        if not all(checker.screen_begin(machine, screen) for checker in self.checkers):
            return ()
        before = self._kept_before(screen)
        hear = functools.partial(_hears, machine_of, machine.meter, before, screen)
        beside = self.beside

        def undo() -> None:
            before.restore()
            screen.flags.clear()
            for checker in self.checkers:
                checker.screen_begin(machine, screen)

        def ends(core: "NativeCore", fault: Fault) -> None:
            if self._ended is None:
                self._ended, heard[:] = (core, fault), self._told(machine, screen, hear)
            for checker in heard:
                checker.fault(core, fault)

        heard: list[Observer] = []
        screen.ends = ends
        screen.asks = None if screen.whole else functools.partial(self._in_order, screen)
        try:
            machine.run(None if beside is None else functools.partial(beside, machine, screen, undo))
            heard = self._told(machine, screen, hear)
        except (Suspicion, MlusimError) as error:  # a possible finding: Python determines which
            if self._ended is None or self._ended[1] is not error:
                heard = []
        cleared = tuple(heard)
        if len(cleared) < len(self.checkers):
            self._ended = None
            before.restore()
        return cleared

    def _kept_before(self, screen: Screen) -> "_Before":
        """Return a copy of the memory that the launch may change, and tell *screen* which memory the kernel only reads."""
        # A screen detects stores to such memory if it looks for races.
        left_out = self.looks & Screened.RACE and not any(checker.every_read for checker in self.checkers)
        screen.read = threads.only_read(self.request) if left_out else ()
        request = self.request
        native = request.kernel.native
        if self._before is None:
            waits = left_out and self.beside is None
            read = read_back.get(native, ())
            later = [a for n, a in enumerate(request.allocations) if n not in read] if waits else ()
            self._before = _Before(request, screen.read, later)
        before = self._before

        def keep(allocation: Allocation) -> None:
            read_back.setdefault(native, set()).add(request.allocations.index(allocation))
            before.keep(allocation)

        screen.only_written, screen.keep = before.only_written, keep
        return self._before

    def _told(
        self, machine: "Machine", screen: Screen, hear: "Callable[[Observer | None], bool]"
    ) -> list[Observer]:
        """Give the results to the checkers for which *screen* is sufficient, after the partial repetitions for those that *hear* some tasks again; return them."""
        ordered = {checker: checker.screen_end(screen) for checker in self._of_order}
        if not screen.whole and not self._goes_on(screen, ordered=all(ordered.values())):
            return []
        candidates = [checker for checker in self.checkers if not checker.screens & screen.doubted]
        heard = [checker for checker in candidates if ordered.get(checker) or checker.screen_end(screen)]
        heard = [checker for checker in heard if hear(checker.hears_again(screen))]
        for checker in heard:
            checker.launch_begin(machine)
            checker.screened(screen)
        return heard

    def _in_order(self, screen: Screen) -> bool:
        """Return whether all accesses are ordered so far; if not, the launch is repeated with every access recorded, if that can find the unordered ones."""
        return self._goes_on(screen, ordered=all(checker.screen_end(screen) for checker in self._of_order))

    @property
    def _of_order(self) -> list[Observer]:
        return [checker for checker in self.checkers if checker.screens & Screened.RACE]

    @staticmethod
    def _goes_on(screen: Screen, *, ordered: bool) -> bool:
        screen.clashed |= not ordered and screen.tells
        return ordered or not screen.tells

    def _long(self, machine_of: "Callable[..., Machine]", meter: "Meter | None") -> bool:
        """Return whether the launch is as long as `LONG`, without observers; the memory is restored."""
        before = _Before(self.request)
        trial = (meter or Meter(UNLIMITED)).trial(LONG)
        machine = machine_of((), None, None, trial, None)
        with contextlib.suppress(MlusimError):  # the run in Python with all observers reports it
            machine.run()
        before.restore()
        before.end()
        long = trial.spent or _length(machine) >= LONG
        if long:
            _long.add(self.request.kernel.native)
        else:
            _short[self.request.kernel.native] = self.request.bytes_given
        return long


def _hears(
    machine_of: "Callable[..., Machine]",
    meter: "Meter | None",
    before: "_Before",
    screen: Screen,
    observer: Observer | None,
) -> bool:
    """Let *observer*, if there is one, observe in Python the tasks for which C has counts; return whether that was sufficient."""
    if observer is None:
        return True
    starts = screen.starts_at()
    machine = machine_of((observer,), None, None, meter, None)
    # It ends when *observer* has heard enough, or with an error that Python's run will report.
    with before.again(screen.written(starts)), contextlib.suppress(HeardEnough, MlusimError):
        if starts:
            observer.launch_begin(machine)
            machine.run_some(starts)
        else:
            machine.run()
    return observer.complete


class _Before:
    """A copy of the memory that *request* may change, without memory that is only *read*; fresh poison of the device is not copied.

    Large memory that is copied *later*, in ``only_written``, is not copied either, until a task reads it: if the launch is
    repeated, the same bytes are written again, and the old ones are not read.
    """

    def __init__(
        self, request: "Request", read: Collection[Allocation] = (), later: Collection[Allocation] = ()
    ) -> None:
        self._kept: dict[Allocation, Bytes | None] = {}
        self.only_written: set[Allocation] = set()
        for allocation in request.allocations:
            if not allocation.writable or allocation in read:
                continue
            if threads.is_fresh(allocation):
                self._kept[allocation] = None
            elif allocation in later and allocation.nbytes >= WORTH_WAITING:
                self.only_written.add(allocation)
            else:
                self.keep(allocation)

    def keep(self, allocation: Allocation) -> None:
        """Copy the bytes of *allocation*, to which nothing has been stored yet."""
        self.only_written.discard(allocation)
        self._kept[allocation] = room = threads.room_for(allocation.nbytes)
        room[:] = allocation.raw

    def restore(self) -> None:
        """Restore the original bytes."""
        for allocation in self._kept:
            self._restore(allocation, 0, allocation.nbytes)

    def _restore(self, allocation: Allocation, low: int, high: int) -> None:
        if allocation in self.only_written:
            return
        room = self._kept[allocation]
        allocation.raw[low:high] = POISON if room is None else room[low:high]

    @contextlib.contextmanager
    def again(self, spans: Iterable[tuple[Allocation, int, int]] | None) -> Iterator[None]:
        """Restore the original bytes of *spans*, or all bytes without any, while the block runs, and the present ones after it."""
        if spans is None:
            spans = [(a, 0, a.nbytes) for a in (*self._kept, *self.only_written)]
        held = [(a, low, a.raw[low:high].copy()) for a, low, high in spans]
        for allocation, low, room in held:
            self._restore(allocation, low, low + len(room))
        try:
            yield
        finally:
            for allocation, low, room in held:
                allocation.raw[low : low + len(room)] = room

    def end(self) -> None:
        """Make the space available to later launches."""
        for room in self._kept.values():
            if room is not None:
                threads.give_room(room)
        self._kept = {}


def screening_of(
    request: "Request", arch: Arch, watching: Sequence[Observer], compiler: tuple[str, ...], *, tries: bool
) -> Screening | None:
    """Return how C runs a launch for the observers *watching*; None if it does not.

    With *tries*, short launches stay in Python, and new kernels are first tried there to measure their length.  A
    warning is then given if the code for checkers does not compile; without *tries* that raises `BuildError`.
    """
    native, sorted_watching = request.kernel.native, sorted_by_interest(watching)
    tried = tries and not is_long(request)
    short = tried and request.bytes_given <= _short.get(native, TRIED - 1)
    if short or sorted_watching is None:
        return None
    checkers, told = sorted_watching
    looks = functools.reduce(operator.or_, (observer.screens for observer in checkers), Screened(0))
    # To hear stores costs less than to copy large memory before.
    hears = not looks & Screened.RACE and request.bytes_given >= MUCH and native not in _unheard
    looks |= Screened.RACE if hears else Screened(0)
    left, covered = _left.setdefault(native, set()), any(observer.counts for observer in told)

    failing = _failing.setdefault(native, set()) if tries else set()

    def loaded() -> "Loaded | None":
        if arch.name in left | failing:
            return None
        try:
            program: Loaded | None = native.loaded(arch, compiler, Mode.SCREENED, covered=covered)
        except BuildError as error:
            if not tries:
                raise
            failing.add(arch.name)
            text = f"{error}; the Python engine runs {request.kernel.name} for the checkers"
            warnings.warn(text, EngineWarning, stacklevel=8)
            return None
        if program is None:
            left.add(arch.name)
        return program

    tried = tried and arch.name not in left | failing
    return Screening(request, checkers, told, looks, loaded, tried, only_hears=hears)


def is_long(request: "Request") -> bool:
    """Return whether a launch observed in Python is expected to take longer than a compiler."""
    return request.kernel.native in _long or request.bytes_given >= LARGE


def note_watched(machine: "Machine") -> None:
    """Record the kernel of launches that were observed in Python and were long, one of them or all together."""
    native = getattr(machine.request.kernel, "native", None)
    if native is None or machine.native is not None or native in _long:
        return
    length = _watched[native] = _watched.get(native, 0) + _length(machine)
    if length >= LONG:
        _long.add(native)


def _length(machine: "Machine") -> int:
    """Return the length of a launch for its observers, in instructions."""
    tally = machine.tally
    return tally.length + tally.vector_bytes // VECTORS + TASK * math.prod(machine.dim)


# Launches in C that checkers observe, whose tasks run on several cores of the host: each thread has a screen,
# which the launch's screen adopts.  The threads share the flags of tensors. Their off-chip accesses are in
# their screens; if one thread has written, or changed by an atomic, bytes that another has accessed, the
# order of tasks matters, and the launch is repeated in order.

_left_beside: "weakref.WeakKeyDictionary[Any, set[str]]" = weakref.WeakKeyDictionary()
"""By kernel, the architectures on which its tasks have to run in order."""


class ThreadScreen(Screen):
    """The screen of one thread, for the problems of *whole*; shared accesses are always recorded."""

    def __init__(self, whole: Screen, ending: threads.Ending) -> None:
        # With RACE it records the accesses that `apart` compares.
        super().__init__(whole.looks | Screened.RACE, whole.watch)
        self.read = whole.read
        self.flags.update(whole.flags)
        self._ending = ending

    def begin(self, core: "NativeCore") -> None:
        """Begin a task on *core*."""
        super().begin(core)
        self._ending.watched_by(core.c)

    def row(self, core: "NativeCore", row: "Intrinsic", arguments: Sequence[Any], *, native: bool) -> None:
        """Check *row* before Python executes it; raises `Suspicion` for rows that depend on the order of tasks."""
        if row.name in threads.IN_ORDER:
            raise Suspicion
        super().row(core, row, arguments, native=native)

    def may_undo(self, pointer: object) -> bool:
        """Return False: other threads access the bytes, too."""
        del pointer
        return False


def threads_of_screen(request: "Request", arch: Arch, looks: Screened, asked: int) -> int:
    """Return how many of the *asked* threads may run the tasks of a screened launch: one if its arguments are small."""
    many = min(asked, threads.groups_of(request, arch))
    if many < 2 or looks & Screened.PARTS or arch.name in _left_beside.get(request.kernel.native, ()):
        return 1
    return many if request.bytes_given >= threads.WORTH_THREADS else 1


def screen_beside(many: int, machine: "Machine", screen: Screen, undo: Callable[[], None]) -> bool:
    """Run all tasks of *machine* on *many* threads, and add their results to its tally and to *screen*.

    False if they have to run in order: then *undo* has restored memory and the flags of tensors.
    """
    limit = None if machine.meter is None else machine.meter.limit
    # The instruction at which a limit ends the launch depends on the order of tasks.
    if not machine.alone or (limit is not None and limit.instructions is not None):
        return False

    def part(ending: threads.Ending, place: int) -> "tuple[Machine, ThreadScreen]":
        del place
        of_thread = ThreadScreen(screen, ending)
        loaded: Loaded = machine.native.again()
        loaded.beside = True
        return machine.beside(loaded, of_thread, (of_thread,)), of_thread

    for allocation, flags in screen.flags.items():
        flags.spell_out(0, allocation.nbytes)  # several threads would share the summary of a line
    groups = threads.groups_of(machine.request, machine.board.arch)
    parts = threads.Threads(machine, many, part, lambda place: range(place, groups, many)).run()
    if parts is None or not apart(
        np.concatenate([_touched(screen, of_thread, n) for n, (_, of_thread) in enumerate(parts)])
    ):
        undo()
        _left_beside.setdefault(machine.request.kernel.native, set()).add(machine.board.arch.name)
        return False
    machine.threads = many
    machine.join([tally for tally, _ in parts])
    for _, of_thread in parts:
        screen.take(of_thread)
    return True


def _touched(screen: Screen, of_thread: Screen, number: int) -> Rows:
    """Return the rows of thread *number*'s accesses, as `apart` takes them, with the numbers of memories in *screen*."""
    rows = of_thread.accesses()
    rows[:, KEY] = screen.keys_for(of_thread)[rows[:, KEY]]
    rows[:, KIND] = rows[:, KIND] != READS  # 1: changed, by a store or an atomic
    rows[:, SEGMENT] = number
    return rows


# Rows that Python executes in a screened run in C: their accesses go to
# the same record.

Accesses = tuple[Access, ...]
EXACT = ("gather", "discrete", "copy")  # forms whose accesses list exactly the accessed bytes
# A form that reads its offsets and its mask first, and then a piece for each that it writes.
OFFSETS = ("gather",)
APART_AT_MOST = 4  # accesses of an asynchronous instruction that are kept as spans of their own
BLOCKING = {Pipe.IO: "MOVE", Pipe.MOVE: "IO"}  # the pipe for which a row on this one does not wait


@define
class _Announced:
    look: tuple[Look, bool] | None = None  # the check of its numbers, and whether its result is checked
    result: Any = None
    landed: bool = False


class RowWatch:
    """Hears the rows that Python executes on *core*, before they act, and records in *screen* the same data as `screen.h`.

    Raises `Suspicion` for a possible finding of a checker.
    """

    def __init__(self, screen: "Screen", core: "NativeCore") -> None:
        self._screen = screen
        self._core = core
        self.heard = False

    def row(
        self, row: Intrinsic, frame: FrameType, operands: tuple[Any, ...], arguments: tuple[Any, ...]
    ) -> _Announced:
        """Hear a dense row; *operands* are (view, first element, one after the last) of each in turn."""
        del frame
        generation = self._core.machine.board.arch.generation
        reads, writes = accesses_of(row, operands, generation)
        effect = self.copy(row, row.pipe, reads, writes, arguments)
        look = look_at(row, reads, writes, arguments) if self._screen.looks & Screened.VECTORS else None
        if look is not None:
            change, goes_on = look.before(arguments)
            self._made(change, *(self._types.read(row, part) for part in look.floats_read))
            effect.look = look, goes_on
        return effect

    @property
    def _types(self) -> Types:
        core = self._core
        return TypesInC(core.seat.typed, core.machine.native.program.sites, lambda: core.c.site)

    def _made(self, *changes: VectorChange | None) -> None:
        for change in changes:
            if change is not None:
                self._screen.made(self._core, change)

    def copy(
        self, row: Intrinsic, pipe: Pipe, reads: Accesses, writes: Accesses, arguments: tuple[Any, ...]
    ) -> _Announced:
        """Check a blocking effect against effects in flight, if races are searched."""
        self.heard = True
        if self._screen.looks & Screened.RACE:
            ahead = [BLOCKING[pipe], "STORES"] if pipe in BLOCKING else ["IO", "MOVE"]
            self._in_order(ahead, reads, writes)
            self._in_order([pipe.name] * (pipe in BLOCKING), _at_issue(row, reads, writes), ())
            if pipe in BLOCKING:
                self._core.seat.over((pipe.name, "COMPUTE", "SCALAR"))
            elif self._core.flies:
                self._keep("COMPUTE", reads, writes)
            note(self._core, row, HOW_PIPE * WAITS.get(pipe, 0), reads, writes)
        self._told(row, pipe, reads, writes, arguments)
        return _Announced()

    def flight(
        self, row: Intrinsic, pipe: Pipe, reads: Accesses, writes: Accesses, arguments: tuple[Any, ...]
    ) -> _Announced:
        """Hear the issue of an asynchronous effect."""
        self.heard = True
        if row.form == "discrete" or not self._core.flies:
            raise Suspicion
        if self._screen.looks & Screened.RACE:
            self._in_order([name for name in LISTS if name != pipe.name], reads, writes)
            self._in_order(LISTS, _at_issue(row, reads, writes), ())
            self._keep(pipe.name, reads, writes)
            note(self._core, row, HOW_FLIES | HOW_PIPE * WAITS[pipe], reads, writes)
        self._told(row, pipe, reads, writes, arguments)
        return _Announced()

    def lands(self, effect: _Announced) -> None:
        """Do nothing when an effect lands."""

    def retire(self, effect: _Announced) -> None:
        """Record that it is over."""
        effect.landed = True
        if effect.look is None:
            return
        look, goes_on = effect.look
        self._made(look.after(effect.result) if goes_on else None)
        for part in look.targets:
            self._types.wrote(part, self._core.site())

    # -- on the core -----------------------------------------------------------------------------

    def _spans(self) -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]":
        words = self._core.seat.span_words()
        return words[:SPAN_LISTS], words[SPAN_LISTS:SPAN_WORDS].reshape(SPAN_LISTS, MOST_SPANS, 4)

    def _in_order(self, names: Sequence[str], reads: Accesses, writes: Accesses) -> None:
        """Check whether a pending effect in the lists *names* overlaps one of the accesses, where one of the two is a write."""
        many, spans = self._spans()
        for name in names:
            number = LISTS.index(name)
            held = spans[number, : many[number]]
            for accesses, stores in ((reads, 0), (writes, 1)):
                for access in accesses if len(held) else ():
                    low, high = access.span
                    met = (held[:, 0] == self._core.number_of(access.allocation)) & (held[:, 1] < high)
                    if (met & (held[:, 2] > low) & (held[:, 3] | stores).astype(bool)).any():
                        self._screen.clashes(self._core, access.allocation)

    def _keep(self, name: str, reads: Accesses, writes: Accesses) -> None:
        """Record that the accesses are pending."""
        many, spans = self._spans()
        number = LISTS.index(name)
        for accesses, stores in ((reads, 0), (writes, 1)):
            for allocation, low, high in _around(accesses):
                if many[number] == MOST_SPANS:
                    raise Suspicion
                spans[number, many[number]] = self._core.number_of(allocation), low, high, stores
                many[number] += 1

    # -- values, and shared memory ----------------------------------------------------------------

    def _told(
        self, row: Intrinsic, pipe: Pipe, reads: Accesses, writes: Accesses, arguments: tuple[Any, ...]
    ) -> None:
        screen = self._screen
        if screen.looks & Screened.PARTS:
            pointers = [(n, a) for n, a in enumerate(arguments) if isinstance(a, Ptr)]
            behind = arguments_behind(row, arguments)
            for kind, accesses, numbers in ((READS, reads, behind[0]), (WRITES, writes, behind[1])):
                for access, argument in zip_longest(accesses, numbers[: len(accesses)]):
                    through = (
                        n
                        for n, p in pointers
                        if argument in (None, n)
                        and p.view.allocation is access.allocation
                        and p.offset == access.start
                    )
                    pointer, memory = next(through, len(arguments)), self._core.number_of(access.allocation)
                    what = NUMBERS[row.name], pointer, memory, kind
                    screen.part_record.touches(self._core, what, access)
        lacks = any(at_flags(screen.flags_of(self._core, a.allocation), a).any() for a in reads)
        if lacks:
            screen.guesses()
        if lacks and (row.returns != "None" or row.form != "dense"):
            screen.doubt(self._core, Screened.INIT)
        exact = row.form in EXACT or not any(o.partial for o in row.operands.values() if o.access != "read")
        for access in writes:
            self._put(access, lacks=lacks, exact=exact)
        if screen.looks & Screened.RACE:
            self._share(row, pipe, reads, writes)

    def _put(self, access: Access, *, lacks: bool, exact: bool) -> None:
        """Set the flags of *access*, or with *exact* of all its bytes, by whether its sources *lack* a value."""
        flags = self._screen.flags_of(self._core, access.allocation)
        if flags is None:
            if lacks:
                self._screen.doubt(self._core, Screened.INIT)
            return
        if access.allocation.space is GDRAM and (lacks or not exact):
            self._screen.doubt(self._core, Screened.INIT)
        if exact or lacks:  # otherwise uninitialized bytes may remain
            flags.stored[:] = True
            for low in access.starts.tolist():
                flags.put(low, low + access.size, int(lacks))

    def _share(self, row: Intrinsic, pipe: Pipe, reads: Accesses, writes: Accesses) -> None:
        changed = writes if row.atomic else ()
        kinds = [(CHANGES if row.atomic else WRITES, a) for a in writes]
        kinds += [(READS, a) for a in reads if a not in changed and a.allocation.writable]
        shared = [(kind, access) for kind, access in kinds if access.allocation.space.shared]
        self._screen.shares(self._core, row, pipe, shared)


def _at_issue(row: Intrinsic, reads: Accesses, writes: Accesses) -> Accesses:
    """Return the accesses that a gather, a scatter or a discrete atomic may read when it is issued: its offsets and its mask; of the last all that it reads."""
    if row.form not in UNCLEAR + OFFSETS:
        return ()
    return reads[: len(reads) - len(writes)] if row.form in OFFSETS else reads


def _around(accesses: Accesses) -> Iterator[tuple[Allocation, int, int]]:
    """Yield a span for each access; for more than `APART_AT_MOST`, one around those of each memory."""
    if len(accesses) <= APART_AT_MOST:
        yield from ((access.allocation, *access.span) for access in accesses)
        return
    for allocation in dict.fromkeys(access.allocation for access in accesses):
        spans = [access.span for access in accesses if access.allocation is allocation]
        yield allocation, min(low for low, _ in spans), max(high for _, high in spans)
