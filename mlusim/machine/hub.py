"""Observers, and the hub that settles once per launch which of them hears of which event."""

import functools
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from attrs import define

from mlusim.machine.observed import Site, Step, TaskPlace

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
        ChangedValue,
        ChangedVector,
        CountedEscape,
        EscapedAt,
        Follower,
        TensorStore,
        ValueChange,
        WordSign,
    )
    from mlusim.machine.parts import KeptParts
    from mlusim.memory.allocation import Allocation
    from mlusim.memory.footprint import Access, Mask
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


class ObservedScreen(Protocol):
    """The record that a launch in C has kept for checkers; `mlusim.machine.native.screen.Screen` says what each member is."""

    def lack(self, allocation: "Allocation", low: int, high: int, has: "Mask | None") -> None: ...
    def lacking(self) -> "Iterator[tuple[Allocation, Mask | None]]": ...
    def stores(self, allocation: "Allocation") -> "tuple[TensorStore, ...] | None": ...

    refused: "Fault | None"
    whole: bool
    met: list[tuple[int, ...]]
    parts: "KeptParts"

    def needs_values(self) -> bool: ...
    def sharing(self) -> "SharedRun | None": ...
    def unordered(self) -> "Iterator[Any]": ...  # each a `machine.native.screen.Window`
    def shared(self) -> "Iterator[tuple[Allocation, np.ndarray[Any, Any]]]": ...
    def changes(self) -> "Sequence[ChangedValue | ChangedVector]": ...
    def escapes(self) -> "Mapping[EscapedAt, CountedEscape]": ...
    def left(self) -> "Sequence[LeftOut]": ...


class TaskRan(NamedTuple):
    """The core on which a task began: which task it ran, and with which others."""

    place: TaskPlace
    union: "Union"
    cluster: "Cluster | None"


class OnMemoryCore(NamedTuple):
    """An instruction that a memory core cannot execute: the core that came to it first, its place and name, and how often cores did."""

    core: TaskRan
    site: Site
    name: str
    times: int


class MisplacedScalar(NamedTuple):
    """A scalar access that is not aligned, or not where scalar code reaches: the core that came to it first, the step, the type, how often cores did."""

    core: TaskRan
    step: Step
    dtype: "DType"
    times: int

    @property
    def site(self) -> Site:
        """The place of the access."""
        return self.step.site

    @property
    def name(self) -> str:
        """The name of the access, as findings have it."""
        return self.step.name


class MetAlone(NamedTuple):
    """A barrier of the cluster in a Block task: the core that came to it first, its place and name, and how often cores did."""

    core: TaskRan
    site: Site
    name: str
    times: int


LeftOut = OnMemoryCore | MisplacedScalar | MetAlone


@define
class SharedRun:
    """All accesses of a launch to memory that tasks share, in their order, each piece of an operand by itself.

    A row of ``accesses`` has the first byte, the bytes, the kind (`READS`, `CHANGES` or `WRITES`), the task, the number of the statement and the number of
    the instruction among those that touch such memory.  ``memory`` has the number of each one's memory, ``ends`` is true of the last piece of an operand.
    The rows ``valued`` are small stores of which the ``values`` are known.  ``events`` are what happened before the row of a number: a task began, tasks met
    at a barrier, an atomic had acted on one word, or memories ended.
    """

    accesses: "np.ndarray[Any, np.dtype[np.int64]]"
    memory: "np.ndarray[Any, np.dtype[np.int64]]"
    ends: "np.ndarray[Any, np.dtype[np.bool_]]"
    memories: "Sequence[Allocation]"
    statements: "Sequence[tuple[str, Pipe, Site]]"
    valued: Sequence[int]
    values: Sequence[Any]
    events: "Sequence[tuple[int, TaskRan | WordSign | tuple[int, ...] | list[Allocation]]]"


@define(eq=False)
class Effect:
    """One execution of a step by a core.

    ``number`` counts the launch's effects in the order of their issue.  ``landed`` is false until the
    bytes have changed.  ``arguments`` are the kernel's, in their order; ``result`` is what the kernel
    gets back.  ``kept`` is what an observer keeps from `Observer.computes` to `Observer.computed`.
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
        """The intrinsic, without leading underscores."""
        return self.step.name

    @property
    def pipe(self) -> "Pipe":
        """The pipe that carries it."""
        return self.step.pipe

    @property
    def reads(self) -> "tuple[Access, ...]":
        """The bytes that it reads."""
        return self.step.reads

    @property
    def writes(self) -> "tuple[Access, ...]":
        """The bytes that it writes."""
        return self.step.writes

    @property
    def site(self) -> Site:
        """File and line of the kernel statement that issued it."""
        return self.step.site


Result = TypeVar("Result")
Listener = Callable[..., Any] | None


class Observer:
    """The base of observers of a launch.  Override what you care about; every method is empty.

    ``issue`` comes when an instruction is issued, ``effect`` just before its bytes change and
    ``retire`` just after; for a blocking instruction the three follow each other, and a scalar access
    has no ``retire``.  An observer never changes the machine.  ``findings`` is collected when the
    launch ends, or when a fault ends it.

    An observer that returns True from ``scalar``, ``issue`` or ``effect`` has learned all that it wants of that step:
    where all say so, the same step is not announced again until an observer calls ``core.hub.renew()``.
    """

    name = "observer"
    every_step = False  # whether launches keep every instruction for their timeline and lines
    afterwards = False  # whether it only looks at launches that are over, so that any engine may run them
    between = False
    """Whether it hears only that launches and tasks begin and end, so that any engine may run them."""
    counts = False
    """Whether it wants, of kernels of BANG C, no more than how often statements and outcomes of tests came; C counts them for ``counted``."""
    screens = 0
    """What C has to look for in a launch that it runs for this class, not for one derived of it (`mlusim.machine.observed.Screened`).

    0: it has to hear of the launch itself.
    """
    every_read = False
    """Whether C keeps reads of what a kernel takes as const, too, where it looks for races."""

    @property
    def findings(self) -> Iterable[Any]:
        """The observer's findings, collected at the end."""
        return ()

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """A launch begins; and has a board and what was asked of it."""

    def task_begin(self, core: "Core") -> None:
        """A task, or a memory core, begins on *core*."""

    def declare(self, core: "Core", allocation: "Allocation") -> None:
        """*core* declared on-chip memory."""

    def place(self, core: "Core", placements: "tuple[Placement, ...]") -> None:
        """*placements* are now the plans of *core*'s buffers, as `mlusim.memory.regions.Placement`."""

    def scalar(self, effect: "Effect") -> bool | None:
        """A scalar load or store, for those who do not care for other instructions; before its issue.

        True: say nothing of this step until something is new.
        """

    def value(self, core: "Core", change: "ValueChange", site: "Site") -> None:
        """Arithmetic of BANG C at *site* silently changed a number of *core*, as *change* says.

        Code that reports it is made only for launches that someone with this method watches.
        """

    def taken(self, core: "Core", value: object, variable: str = "") -> "Follower | None":
        """Code of BANG C on *core* keeps *value*, which it may have just loaded; return what follows it if it has no value.

        With *variable* the value is that of a variable, or of a member, to which nothing has been assigned yet.
        Code that asks is made only for launches that someone with this method watches; the first of them is asked.
        """

    def passed(self, core: "Core", place: tuple[str, int, int]) -> None:
        """Code of BANG C on *core* has come to the statement, or the function, at *place* (file, line, column)."""

    def branch(self, core: "Core", place: tuple[str, int, int], outcome: bool) -> None:
        """The test at *place* (file, line, column) in code of BANG C on *core* had this *outcome*.

        Code that reports it is made only for launches that someone with this method watches.
        """

    def left_out(self, core: "Core", row: "Intrinsic") -> None:
        """Compiled code on the memory core *core* is at *row*, which needs NRAM or WRAM and so has no effect there."""

    def issue(self, effect: "Effect") -> bool | None:
        """An instruction was issued.  True: say nothing of this step until something is new."""

    def effect(self, effect: "Effect") -> bool | None:
        """The bytes are about to change.  True: say nothing of this step until something is new."""

    def retire(self, effect: "Effect") -> None:
        """The bytes have changed."""

    def computes(self, effect: "Effect") -> bool | None:
        """An instruction other than a copy is about to act, which is announced each time.  True: never announce this step again."""

    def computed(self, effect: "Effect") -> None:
        """An instruction that was announced by `computes` has acted; of one that returns something ``effect.result`` is that."""

    def control(self, core: "Core", name: str) -> None:
        """*core* begins *name*: a wait for its pipes, for other cores or for a mutex, or the end of one."""

    def block(self, core: "Core", reason: str) -> None:
        """*core* waits at a barrier."""

    def sync(self, sync: "Sync") -> None:
        """A core waited for its pipes, or a barrier completed."""

    def fault(self, core: "Core", fault: "Fault") -> None:
        """*core* did what the machine cannot do; the launch ends here, without `launch_end`."""

    def error(self, core: "Core", error: BaseException) -> None:
        """The kernel raised an exception that is not a fault of the machine; the launch ends here, without `launch_end`."""

    def task_end(self, core: "Core") -> None:
        """A task has ended."""

    def launch_end(self, launch: "RunningLaunch") -> None:
        """The launch is over."""

    def fetched(self, allocation: "Allocation", low: int, high: int) -> None:
        """The host copied bytes [*low*, *high*) of a tensor back, after launches; heard by those who attend every launch."""

    def host_mistake(self, finding: Any) -> None:
        """The host of a program did what it should not have, as *finding* says, or a fault that was not raised.

        It is heard by those who attend every launch.
        """

    def screen_begin(self, launch: "RunningLaunch", screen: "ObservedScreen") -> bool:
        """C is going to run *launch*, and look for what is in ``screens``; False: Python has to.

        It is called before `launch_begin`, which comes at the end of a launch in which nothing was found.
        """
        del launch, screen
        return True

    def screen_end(self, screen: "ObservedScreen") -> bool:
        """The run is over, or its fault has ended it, and C has found nothing; return whether that also holds for what *screen* has kept."""
        del screen
        return True

    @property
    def complete(self) -> bool:
        """True where one that `hears_again` has heard all that it has to."""
        return True

    def hears_again(self, screen: "ObservedScreen") -> "Observer | None":
        """Return who has to hear of some tasks once more, in Python, to say what *screen* has counted; None if that is not necessary.

        It comes before `screened`, and ends the run by an exception when it is ``complete``.
        """
        del screen
        return None

    def screened(self, screen: "ObservedScreen") -> None:
        """The launch is over, and Python need not run it: take over what *screen* knows; report what follows.  The fault comes after that, if one ended it."""

    def repeats(self, kernel: "Kernel") -> bool:
        """Return whether it would find in the next launch of *kernel* what it found in the last, of the same arguments and no memory."""
        del kernel
        return False

    def left(self) -> Any:
        """Return what it has found in the last launch, which `take_over` takes, where it `repeats`."""

    def take_over(self, launch: "RunningLaunch", left: Any) -> None:
        """*launch* is the same as the one that has *left* this, so that it does not run; comes in place of its beginning."""

    def counted(self, covers: Sequence[tuple[str, int, int, bool | None]], counts: object) -> None:
        """The statements (None) and outcomes of tests of *covers* came so often: an array with a row for each task, the last for memory cores."""

    def launched(self, launch: Any) -> None:
        """A launch has left *launch*, a `mlusim.Launch`; comes last of all, and never after a fault."""


class Hub:
    """For each event: None, one bound method, or a fan-out over those who override it."""

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
        """Settle who hears of what; those who were *told* that the launch begins are not told again."""
        listening = tuple(observers)
        self.deaf = True  # nothing is heard of what cores do
        for event in EVENTS:
            heard = [getattr(o, event) for o in listening if _overrides(o, event)] if listening else None
            if heard and told and event == "launch_begin":
                heard = [o.launch_begin for o in listening if _overrides(o, event) and o not in told]
            setattr(self, event, (_fan_out(heard) if event != "taken" else heard[0]) if heard else None)
            self.deaf = self.deaf and (not heard or event in ("launch_begin", "launch_end"))
        self.epoch = 0
        self.every_step = bool(listening) and any(getattr(o, "every_step", False) for o in listening)

    def renew(self) -> None:
        """Let steps that were left unannounced be announced again."""
        self.epoch += 1

    @property
    def watches(self) -> bool:
        """True where any observer listens to single instructions."""
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
    """Return those who look for something, and those who hear of the ends, or of counts, only; None where none looks, or someone hears of more."""
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
    """Return whether any of *observers* wants to know what happens during a launch."""
    return any(observer.every_step or not observer.afterwards for observer in observers)


def hears_of_instructions(observers: Iterable[Observer]) -> bool:
    """Return whether any of *observers* hears of what a task does, which C does not tell."""
    return any(o.every_step or not (o.afterwards or o.between) for o in observers)


def wants_counts(observers: Iterable[Observer]) -> bool:
    """Return whether what *observers* want to know of what is in a launch is counted by C."""
    inside = [o for o in observers if o.every_step or not (o.afterwards or o.between)]
    return bool(inside) and all(o.counts and not o.every_step for o in inside)


def wants_steps(observers: Sequence[Observer]) -> bool:
    """Return whether *observers* want to know every instruction of a launch behind it, and hear of nothing while it runs."""
    for observer in observers:
        if observer.every_step:
            return not any(map(_hears_inside, observers))
    return False


def handed(observers: Iterable[Observer], launch: "Result") -> "Result":
    """Give *launch* to each of *observers*, and return it."""
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
            if call(*arguments) is not True:  # None, as most answer, wants to hear more
                satisfied = False
        return satisfied

    return tell


class Attendance(NamedTuple):
    """The observers of every launch of a thread, and their lock: they hear of one launch at a time."""

    observers: "tuple[Observer, ...]"
    turn: AbstractContextManager[Any]


TOLD = "MLUSIM_LAUNCHES"
"""The variable of the environment that names the file to which processes of a watched program tell their launches."""


class Teller(Observer):
    """Writes the name of each kernel that this process launches to the file *path*, for the process that reads it."""

    name = "teller"
    afterwards = True  # no engine has to tell it more

    def __init__(self, path: str) -> None:
        self._path = path

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Announce *launch*; the process that watched may be gone."""
        with suppress(OSError):
            number = os.open(self._path, os.O_WRONLY | os.O_APPEND)  # several processes append to it
            try:
                os.write(number, f"{launch.request.kernel.name}\n".encode())
            finally:
                os.close(number)


_UNWRITTEN = Attendance((Teller(os.environ[TOLD]),) if os.environ.get(TOLD) else (), nullcontext())
_ATTENDING: ContextVar[Attendance] = ContextVar("attending", default=_UNWRITTEN)


@contextmanager
def attending(observers: Iterable[Observer]) -> Iterator[None]:
    """While it lasts, *observers* watch every launch that is made, before those that the launch names."""
    outer = _ATTENDING.get()
    turn = outer.turn if outer.observers else threading.RLock()
    token = _ATTENDING.set(Attendance((*outer.observers, *observers), turn))
    try:
        yield
    finally:
        _ATTENDING.reset(token)


def attendants() -> tuple[Observer, ...]:
    """Return those who watch every launch just now."""
    return _ATTENDING.get().observers


def tell_fetched(allocation: "Allocation", low: int, high: int) -> None:
    """Tell those who watch every launch that the host copies bytes [*low*, *high*) of *allocation* back."""
    for observer in _ATTENDING.get().observers:
        if _overrides(observer, "fetched"):
            observer.fetched(allocation, low, high)


def tell_mistake(finding: object) -> None:
    """Tell those who watch every launch what the host of a program did wrong."""
    for observer in _ATTENDING.get().observers:
        if _overrides(observer, "host_mistake"):
            observer.host_mistake(finding)


def hears_of_mistakes() -> bool:
    """Return whether someone who watches every launch wants to know what the host of a program does wrong."""
    return any(_overrides(observer, "host_mistake") for observer in _ATTENDING.get().observers)


def turn() -> AbstractContextManager[Any]:
    """Return the lock that a launch holds while it runs, so that those who watch several threads hear of one after the other."""
    return _ATTENDING.get().turn


def adoption() -> Callable[[], object]:
    """Return a function that, called in another thread, lets the observers of this thread watch that one too."""
    return functools.partial(_ATTENDING.set, _ATTENDING.get())


_PLACE: ContextVar[tuple[Callable[[], str], bool] | None] = ContextVar("launched_from", default=None)


class launched_from:  # noqa: N801 - reads as what it does
    """Says that launches within the block were written at *place*, which is called when a finding names it; each does where it is *shown*."""

    __slots__ = ("_token", "_told")

    def __init__(self, place: Callable[[], str], *, shown: bool = False) -> None:
        self._told = place, shown

    def __enter__(self) -> None:
        self._token = _PLACE.set(self._told)

    def __exit__(self, *_: object) -> None:
        _PLACE.reset(self._token)


def launch_place() -> str | None:
    """Return the place of the launch that runs; None where it was not told."""
    place = _PLACE.get()
    return None if place is None else place[0]()


def shown_launch_place() -> str | None:
    """Return the same where each finding of the launch names it, None elsewhere."""
    place = _PLACE.get()
    return launch_place() if place is not None and place[1] else None


class EveryStep(Observer):
    """Has every launch that it watches keep its instructions: ``launch.timeline`` and ``launch.lines`` name them.

    It hears of nothing itself, so instructions are not announced on its account.
    """

    name = "every step"
    every_step = True
