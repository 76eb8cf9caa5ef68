"""Observers, and the hub that decides once per launch which of them hears which event."""

import functools
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from attrs import define

from mlusim.machine.observed import ChangedValue, CountedEscape, Site, Step, TaskPlace
from mlusim.machine.parts import KeptParts

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from mlusim.arch.board import Pipe
    from mlusim.arch.dtypes import DType
    from mlusim.errors import Fault
    from mlusim.isa.declare import Intrinsic
    from mlusim.machine.cluster import Cluster, Sync, Union
    from mlusim.machine.core import Core, RunningLaunch
    from mlusim.machine.kernel import Kernel
    from mlusim.machine.observed import (
        ChangedVector,
        EscapedAt,
        Follower,
        MutexTurn,
        TensorStore,
        ValueChange,
        WordSign,
    )
    from mlusim.memory.allocation import Allocation
    from mlusim.memory.footprint import Access, Ints, Mask
    from mlusim.memory.regions import Placement


EVENTS = (
    "launch_begin",
    "task_begin",
    "declare",
    "place",
    "scalar",
    "value",
    "taken",
    "passed",
    "branch",
    "left_out",
    "issue",
    "effect",
    "retire",
    "computes",
    "computed",
    "control",
    "block",
    "sync",
    "fault",
    "error",
    "task_end",
    "launch_end",
)


class TaskRan(NamedTuple):
    """The first task on a core: its place, and the cores that ran with it."""

    place: TaskPlace
    union: "Union"
    cluster: "Cluster | None"


class OnMemoryCore(NamedTuple):
    """An instruction that a memory core cannot execute: the first core that reached it, its place and name, and how often cores did."""

    core: TaskRan
    site: Site
    name: str
    times: int


class MisplacedScalar(NamedTuple):
    """A misaligned scalar access, or one where scalar code has no access: the first core that reached it, the step, the type, and how often cores did."""

    core: TaskRan
    step: Step
    dtype: "DType"
    times: int

    @property
    def site(self) -> Site:
        """Return the place of the access."""
        return self.step.site

    @property
    def name(self) -> str:
        """Return the name of the access, as in findings."""
        return self.step.name


class MetAlone(NamedTuple):
    """A barrier of the cluster in a Block task: the first core that reached it, its place and name, and how often cores did."""

    core: TaskRan
    site: Site
    name: str
    times: int


class ReturnedFrom(NamedTuple):
    """A return from a function that reaches a barrier: the function as `kernel_frames.function_of`, the place, the caller, the places of the call and of the kernel then."""

    function: tuple[str, int, str]
    site: Site
    caller: str
    call: Site
    kernel: Site


class TaskWay(NamedTuple):
    """A task's way past barriers: the last one that it passed, where its kernel returned, and how often it returned from functions."""

    passed: tuple[str, Site] | None
    returned: Site | None
    left: "Mapping[ReturnedFrom, int]"


LeftOut = OnMemoryCore | MisplacedScalar | MetAlone


class ObservedScreen:
    """The record that a launch in C keeps for checkers: what its cores have told, and the answers that C's records have.

    ``met`` are the tasks in the order in which they begin, each as ``()``, those that met at a barrier, and mutexes that
    changed hands; ``refused`` is the fault that has ended the launch.  `mlusim.machine.native.screen.Screen` has the answers.
    """

    def __init__(self, *, disordered: bool) -> None:
        self.disordered = disordered  # whether accesses to shared memory may be unordered
        self.met: list[tuple[int, ...] | MutexTurn] = []
        self.parts = KeptParts()  # parts of on-chip arrays, if needed
        self.refused: Fault | None = None
        self._left_out: dict[tuple[Site, str, bool], LeftOut] = {}
        self._changes: dict[tuple[Site, str, str, str], ChangedValue] = {}
        self._escapes: dict[EscapedAt, CountedEscape] = {}
        self._vectors: dict[tuple[Site, str, str], ChangedVector] = {}
        self._held: list[tuple[TaskRan, tuple[int, int], Site]] = []

    def held(self) -> Sequence[tuple[TaskRan, tuple[int, int], Site]]:
        """Return the mutexes that tasks held when they ended, in that order, each with the place where it was taken."""
        return self._held

    def left(self) -> Sequence[LeftOut]:
        """Return the instructions without effect on memory cores, the misplaced scalar accesses, and the barriers of a cluster in Block tasks."""
        return tuple(self._left_out.values())

    def changes(self) -> "Sequence[ChangedValue | ChangedVector]":
        """Return the values that C has silently changed, and those that vectors changed, in the order of the first of each."""
        return (*self._changes.values(), *self._vectors.values())

    def escapes(self) -> "Mapping[EscapedAt, CountedEscape]":
        """Return the places that stored uninitialized bytes to GDRAM, in the order of their first stores."""
        return self._escapes

    def _skip(self, out: LeftOut) -> None:
        """Record the first skipped instruction at each place, and how often."""
        key = out.site, out.name, out.core.place.memory_core
        first = self._left_out.get(key)
        self._left_out[key] = out if first is None else first._replace(times=first.times + out.times)

    def _change(self, site: Site, task: int, change: "ValueChange") -> None:
        """Record a value that C silently changed: the first of equal changes at a *site*, and how often."""
        key = site, change.rule, change.have, change.to
        first = self._changes.get(key)
        times = 1 if first is None else first.times + 1
        self._changes[key] = ChangedValue(
            change if first is None else first.change, site, task if first is None else first.task, times
        )

    def _escaped(self, at: "EscapedAt", again: CountedEscape) -> None:
        """Record a repeated store of uninitialized bytes to GDRAM."""
        before = self._escapes.get(at, again._replace(times=0))
        self._escapes[at] = CountedEscape(min(before.task, again.task), before.times + again.times)

    def lack(self, allocation: "Allocation", low: int, high: int, has: "Mask | None") -> None:
        """Set the bytes [*low*, *high*) of the tensor *allocation* to uninitialized, except those in *has*."""
        raise NotImplementedError

    def lacking(self) -> "Iterator[tuple[Allocation, Mask | None]]":
        """Yield the tensors that were passed to `lack` and then stored to, with the mask of bytes that are initialized now, or None if all are."""
        raise NotImplementedError

    def stores(self, allocation: "Allocation") -> "tuple[TensorStore, ...] | None":
        """Return the last and the furthest store of each place to a tensor that was passed to `lack`; None if they are unknown."""
        raise NotImplementedError

    def needs_values(self) -> bool:
        """Return whether a fault caused by uninitialized bytes has ended the launch."""
        raise NotImplementedError

    def sharing(self) -> "SharedRun | None":
        """Return all accesses to shared memory, and the events that order them; None if they are unknown."""
        raise NotImplementedError

    def unordered(self) -> "Iterator[Any]":
        """Yield the possibly unordered windows of cores (`machine.native.screen.Window`), each once with its number of occurrences."""
        raise NotImplementedError

    def shared(self, *, alone: bool = False) -> "Iterator[tuple[Allocation, np.ndarray[Any, Any]]]":
        """Yield each memory for which the order of accesses matters, with the accesses in their order: rows of low, high, kind, segment.

        Reads alone need no order, and neither do atomics; *alone* yields the memories with such accesses as well.
        """
        raise NotImplementedError

    def ways(self) -> "Mapping[str, TaskWay] | None":
        """Return the way of each task of the unions that have not ended, by its label, when a fault has ended them; None if C does not know all."""
        raise NotImplementedError


@define
class SharedRun:
    """All accesses of a launch to memory that tasks share, in their order; each piece of an operand is a separate access.

    A row of ``accesses`` has the first byte, the bytes, the kind (`READS`, `CHANGES` or `WRITES`), the task, the
    number of the statement and the number of the instruction among those that access such memory.  ``memory`` has the
    number of each one's memory, ``ends`` is true of the last piece of an operand. ``statement`` returns what a
    statement is, by its number, ``value`` what the small store of an instruction stores, None if that is unknown, and
    ``equal`` in which places the instructions of two lists store the same.  ``events`` are the events before the row
    of a number: a task began, tasks met at a barrier, an atomic had acted on one word, a mutex changed hands, or memories
    ended.
    """

    accesses: "Ints"
    memory: "Ints"
    ends: "Mask"
    memories: "Sequence[Allocation]"
    statement: "Callable[[int], tuple[str, Pipe, Site]]"
    value: "Callable[[int], Any]"
    equal: "Callable[[Ints, Ints], Mask]"
    events: "Sequence[tuple[int, TaskRan | WordSign | MutexTurn | tuple[int, ...] | list[Allocation]]]"


@define(eq=False)
class Effect:
    """One execution of a step by a core.

    ``number`` counts the launch's effects in the order of their issue.  ``landed`` is false until the
    bytes have changed.  ``arguments`` are the kernel's, in their order; ``result`` is the kernel's
    return value.  ``kept`` is data that an observer passes from `Observer.computes` to `Observer.computed`.
    """

    step: Step
    core: "Core"
    number: int
    arguments: tuple[Any, ...] = ()
    asynchronous: bool = False
    landed: bool = False
    result: Any = None
    kept: object = None

    @property
    def name(self) -> str:
        """Return the intrinsic's name without leading underscores."""
        return self.step.name

    @property
    def pipe(self) -> "Pipe":
        """Return the pipe that executes it."""
        return self.step.pipe

    @property
    def reads(self) -> "tuple[Access, ...]":
        """Return the bytes that it reads."""
        return self.step.reads

    @property
    def writes(self) -> "tuple[Access, ...]":
        """Return the bytes that it writes."""
        return self.step.writes

    @property
    def site(self) -> Site:
        """Return the file and line of the kernel statement that issued it."""
        return self.step.site


Result = TypeVar("Result")
Listener = Callable[..., Any] | None


class Observer:
    """The base of observers of a launch.  Override the methods you need; every one is empty.

    ``issue`` is called when an instruction is issued, ``effect`` just before its bytes change and
    ``retire`` just after; for a blocking instruction the three follow each other, and a scalar access
    has no ``retire``.  An observer never changes the machine.  ``findings`` is collected when the
    launch ends, or when a fault ends it.

    An observer that returns True from ``scalar``, ``issue`` or ``effect`` needs no more of that step:
    if all return True, the step is not announced again until an observer calls ``core.hub.renew()``.
    """

    name = "observer"
    every_step = False  # whether launches record every instruction for their timeline and lines
    afterwards = False  # whether it uses only finished launches, so that any engine may run them
    between = False
    """Set if it hears only the beginning and end of launches and tasks, so that any engine may run them."""
    counts = False
    """Set if it needs only the counts of statements and outcomes of conditions in kernels of BANG C, which C counts for ``counted``."""
    screens = 0
    """The problems for which C searches a launch on behalf of this class, but not of its subclasses (`mlusim.machine.observed.Screened`).

    0: it must observe the launch itself.
    """
    every_read = False
    """Set if C records reads of const parameters, too, when it looks for races."""

    @property
    def findings(self) -> Iterable[Any]:
        """Return the observer's findings, collected at the end."""
        return ()

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """A launch begins; *launch* has the board and the request."""

    def task_begin(self, core: "Core") -> None:
        """A task, or a memory core, begins on *core*."""

    def declare(self, core: "Core", allocation: "Allocation") -> None:
        """*core* declared on-chip memory."""

    def place(self, core: "Core", placements: "tuple[Placement, ...]") -> None:
        """*placements* are now the active plans of *core*'s buffers, as `mlusim.memory.regions.Placement`."""

    def scalar(self, effect: "Effect") -> bool | None:
        """A scalar load or store, before its issue, for observers that ignore other instructions.

        True: do not announce this step again until `renew`.
        """

    def value(self, core: "Core", change: "ValueChange", site: "Site") -> None:
        """Arithmetic of BANG C at *site* silently changed a number of *core*, as *change* describes.

        Code that reports it is generated only for launches with an observer that overrides this method.
        """

    def taken(self, core: "Core", value: object, variable: str = "") -> "Follower | None":
        """Code of BANG C on *core* stores *value*, which it may have just loaded; return a follower if it is uninitialized.

        With *variable* the value is that of a variable, or of a member, to which nothing has been assigned yet. Code
        that calls this is generated only for launches with an observer that overrides it; only the first such
        observer is called.
        """

    def passed(self, core: "Core", place: tuple[str, int, int]) -> None:
        """Code of BANG C on *core* has reached the statement, or the function, at *place* (file, line, column)."""

    def branch(self, core: "Core", place: tuple[str, int, int], outcome: bool) -> None:
        """The condition at *place* (file, line, column) in code of BANG C on *core* had this *outcome*.

        Code that reports it is generated only for launches with an observer that overrides this method.
        """

    def left_out(self, core: "Core", row: "Intrinsic") -> None:
        """Compiled code on the memory core *core* has reached *row*, which needs NRAM or WRAM and so has no effect there."""

    def issue(self, effect: "Effect") -> bool | None:
        """An instruction was issued.  True: do not announce this step again until `renew`."""

    def effect(self, effect: "Effect") -> bool | None:
        """The bytes are about to change.  True: do not announce this step again until `renew`."""

    def retire(self, effect: "Effect") -> None:
        """The bytes have changed."""

    def computes(self, effect: "Effect") -> bool | None:
        """An instruction other than a copy is about to act; announced every time.  True: never announce this step again."""

    def computed(self, effect: "Effect") -> None:
        """An instruction that `computes` announced has acted; ``effect.result`` is its return value."""

    def control(self, core: "Core", name: str) -> None:
        """*core* begins *name*: a wait for its pipes, for other cores or for a mutex, or the end of one."""

    def block(self, core: "Core", reason: str) -> None:
        """*core* waits at a barrier."""

    def sync(self, sync: "Sync") -> None:
        """A core waited for its pipes, or a barrier completed."""

    def fault(self, core: "Core", fault: "Fault") -> None:
        """*core* caused a fault; the launch ends here, without `launch_end`."""

    def error(self, core: "Core", error: BaseException) -> None:
        """The kernel raised an exception that is not a fault of the machine; the launch ends here, without `launch_end`."""

    def task_end(self, core: "Core") -> None:
        """A task has ended."""

    def launch_end(self, launch: "RunningLaunch") -> None:
        """The launch is over."""

    def fetched(self, allocation: "Allocation", low: int, high: int) -> None:
        """The host copied bytes [*low*, *high*) of a tensor back after launches; called for observers of every launch."""

    def host_mistake(self, finding: Any) -> None:
        """The host of a program made the mistake described by *finding*, or a fault that was not raised.

        It is called for observers of every launch.
        """

    def screen_begin(self, launch: "RunningLaunch", screen: "ObservedScreen") -> bool:
        """C is about to run *launch* and search it for the problems in ``screens``; False: Python has to run it.

        It is called before `launch_begin`, which is called at the end of a launch without findings.
        """
        del launch, screen
        return True

    def screen_end(self, screen: "ObservedScreen") -> bool:
        """The run is over, or its fault has ended it, and C has found nothing; return whether *screen*'s records confirm that."""
        del screen
        return True

    @property
    def complete(self) -> bool:
        """Return whether an observer from `hears_again` has heard all it needs."""
        return True

    def hears_again(self, screen: "ObservedScreen") -> "Observer | None":
        """Return the observer that has to hear some tasks once more, in Python, to describe the counts of *screen*; None if that is not necessary.

        It is called before `screened`, and the run is ended by an exception when the observer is ``complete``.
        """
        del screen
        return None

    def screened(self, screen: "ObservedScreen") -> None:
        """The launch is over, and Python need not run it: use the records of *screen* and report their findings.  A fault that ended it is announced afterwards."""

    def repeats(self, kernel: "Kernel") -> bool:
        """Return whether the next launch of *kernel* with the same arguments and no memory would have the same findings as the last."""
        del kernel
        return False

    def left(self) -> Any:
        """Return the findings of the last launch, for a later `take_over`, if it `repeats`."""

    def take_over(self, launch: "RunningLaunch", left: Any) -> None:
        """Adopt *left*, the result of `left` for a launch equal to *launch*, which does not run; called instead of `launch_begin`."""

    def counted(self, covers: Sequence[tuple[str, int, int, bool | None]], counts: object) -> None:
        """The statements (None) and outcomes of conditions in *covers* were executed so often: an array with a row for each task, the last for memory cores."""

    def launched(self, launch: Any) -> None:
        """A launch has returned *launch*, a `mlusim.Launch`; called last of all, and never after a fault."""


class Hub:
    """For each event: None, one bound method, or a function that calls all observers that override it."""

    __slots__ = (*EVENTS, "deaf", "epoch", "every_step")

    launch_begin: Listener
    task_begin: Listener
    declare: Listener
    place: Listener
    scalar: Listener
    value: Listener
    taken: Listener
    passed: Listener
    branch: Listener
    left_out: Listener
    issue: Listener
    effect: Listener
    retire: Listener
    computes: Listener
    computed: Listener
    control: Listener
    block: Listener
    sync: Listener
    fault: Listener
    error: Listener
    task_end: Listener
    launch_end: Listener

    def __init__(self, observers: Iterable[Observer], told: Collection[Observer] = ()) -> None:
        """Determine the observers of each event; those in *told* have already heard `launch_begin` and are not called again."""
        listening = tuple(observers)
        self.deaf = True  # no event of cores is observed
        for event in EVENTS:
            heard = [getattr(o, event) for o in listening if _overrides(o, event)] if listening else None
            if heard and told and event == "launch_begin":
                heard = [o.launch_begin for o in listening if _overrides(o, event) and o not in told]
            setattr(self, event, (_fan_out(heard) if event != "taken" else heard[0]) if heard else None)
            self.deaf = self.deaf and (not heard or event in ("launch_begin", "launch_end"))
        self.epoch = 0
        self.every_step = bool(listening) and any(getattr(o, "every_step", False) for o in listening)

    def renew(self) -> None:
        """Let steps that are no longer announced be announced again."""
        self.epoch += 1

    @property
    def watches(self) -> bool:
        """Return whether any observer hears single instructions."""
        return any(getattr(self, event) is not None for event in ("issue", "effect", "retire", "computes"))


def hears_the_ends(observer: Observer) -> bool:
    """Return whether *observer* hears only that launches begin, end, or end in a fault."""
    return not observer.every_step and not _hears_inside(observer)


def _hears_inside(observer: Observer) -> bool:
    ends = "launch_begin", "launch_end", "fault", "error"
    return any(_overrides(observer, e) for e in EVENTS if e not in ends)


def sorted_by_interest(
    observers: Iterable[Observer],
) -> tuple[tuple[Observer, ...], tuple[Observer, ...]] | None:
    """Return the checkers, and the observers that hear only ends or counts; None if there is no checker, or if any other observer hears more."""
    checkers, told = [], []
    for observer in observers:
        if type(observer).__dict__.get("screens", 0):
            checkers.append(observer)
        elif observer.counts or hears_the_ends(observer):
            told.append(observer)
        else:
            return None
    return (tuple(checkers), tuple(told)) if checkers else None


def looks_inside(observers: Iterable[Observer]) -> bool:
    """Return whether any of *observers* needs to know events during a launch."""
    return any(observer.every_step or not observer.afterwards for observer in observers)


def hears_of_instructions(observers: Iterable[Observer]) -> bool:
    """Return whether any of *observers* hears actions of a task that C does not report."""
    return any(o.every_step or not (o.afterwards or o.between) for o in observers)


def wants_counts(observers: Iterable[Observer]) -> bool:
    """Return whether C counts everything that *observers* need from inside a launch."""
    inside = [o for o in observers if o.every_step or not (o.afterwards or o.between)]
    return bool(inside) and all(o.counts and not o.every_step for o in inside)


def wants_steps(observers: Sequence[Observer]) -> bool:
    """Return whether *observers* need every instruction of a finished launch, and no events while it runs."""
    for observer in observers:
        if observer.every_step:
            return not any(map(_hears_inside, observers))
    return False


def handed(observers: Iterable[Observer], launch: "Result") -> "Result":
    """Pass *launch* to each of *observers*, and return it."""
    for observer in observers:
        observer.launched(launch)
    return launch


def _overrides(observer: Observer, event: str) -> bool:
    method = getattr(type(observer), event, None)
    return method is not None and method is not getattr(Observer, event)


def _fan_out(heard: list[Callable[..., Any]]) -> Callable[..., Any]:
    if len(heard) == 1:
        return heard[0]
    calls = tuple(heard)

    def tell(*arguments: object) -> bool:
        satisfied = True
        for call in calls:
            if call(*arguments) is not True:  # None, the usual result, keeps the step announced
                satisfied = False
        return satisfied

    return tell


class Attendance(NamedTuple):
    """The observers of every launch of a thread, and the lock that lets them hear one launch at a time."""

    observers: "tuple[Observer, ...]"
    turn: AbstractContextManager[Any]


TOLD = "MLUSIM_LAUNCHES"
"""The environment variable that names the file to which processes of an observed program write their launches."""


class Teller(Observer):
    """Writes the name of each kernel that this process launches to the file *path*, for another process that reads it."""

    name = "teller"
    afterwards = True  # it needs nothing else from an engine

    def __init__(self, path: str) -> None:
        self._path = path

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Announce *launch*; the reading process may have ended."""
        with suppress(OSError):
            number = os.open(self._path, os.O_WRONLY | os.O_APPEND)  # several processes append to the file
            try:
                os.write(number, f"{launch.request.kernel.name}\n".encode())
            finally:
                os.close(number)


_UNWRITTEN = Attendance((Teller(os.environ[TOLD]),) if os.environ.get(TOLD) else (), nullcontext())
_ATTENDING: ContextVar[Attendance] = ContextVar("attending", default=_UNWRITTEN)


@contextmanager
def attending(observers: Iterable[Observer]) -> Iterator[None]:
    """Within the block, *observers* observe every launch, before the launch's own observers."""
    outer = _ATTENDING.get()
    turn = outer.turn if outer.observers else threading.RLock()
    token = _ATTENDING.set(Attendance((*outer.observers, *observers), turn))
    try:
        yield
    finally:
        _ATTENDING.reset(token)


def attendants() -> tuple[Observer, ...]:
    """Return the current observers of every launch."""
    return _ATTENDING.get().observers


def tell_fetched(allocation: "Allocation", low: int, high: int) -> None:
    """Announce to the observers of every launch that the host copies bytes [*low*, *high*) of *allocation* back."""
    for observer in _ATTENDING.get().observers:
        if _overrides(observer, "fetched"):
            observer.fetched(allocation, low, high)


def tell_mistake(finding: object) -> None:
    """Announce a mistake of a program's host to the observers of every launch."""
    for observer in _ATTENDING.get().observers:
        if _overrides(observer, "host_mistake"):
            observer.host_mistake(finding)


def hears_of_mistakes() -> bool:
    """Return whether any observer of every launch hears mistakes of a program's host."""
    return any(_overrides(observer, "host_mistake") for observer in _ATTENDING.get().observers)


def turn() -> AbstractContextManager[Any]:
    """Return the lock that a launch holds while it runs, so that observers of several threads hear one launch after the other."""
    return _ATTENDING.get().turn


def adoption() -> Callable[[], object]:
    """Return a function that, called in another thread, lets the observers of this thread observe that one too."""
    return functools.partial(_ATTENDING.set, _ATTENDING.get())


_PLACE: ContextVar[tuple[Callable[[], str], bool] | None] = ContextVar("launched_from", default=None)


class launched_from:  # noqa: N801 - reads like a verb
    """Gives launches within the block a place in the host's source; *place* is called when a finding names it, and if *shown*, every finding does."""

    __slots__ = ("_token", "_told")

    def __init__(self, place: Callable[[], str], *, shown: bool = False) -> None:
        self._told = place, shown

    def __enter__(self) -> None:
        self._token = _PLACE.set(self._told)

    def __exit__(self, *_: object) -> None:
        _PLACE.reset(self._token)


def launch_place() -> str | None:
    """Return the place of the running launch, or None if it is unknown."""
    place = _PLACE.get()
    return None if place is None else place[0]()


def shown_launch_place() -> str | None:
    """Return the place of the running launch if every finding names it, otherwise None."""
    place = _PLACE.get()
    return launch_place() if place is not None and place[1] else None


class EveryStep(Observer):
    """Has every observed launch record its instructions: ``launch.timeline`` and ``launch.lines`` name them.

    It hears no events itself, so instructions are not announced for it.
    """

    name = "every step"
    every_step = True
