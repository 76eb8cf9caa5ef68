"""The order of cores: first come, first served, in task order, or any legal choice; and whether any core can still continue."""

import contextlib
import copy
import functools
import itertools
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import Context
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from attrs import frozen

from mlusim.errors import Fault, Outside, UsageError, shown_file
from mlusim.machine.cluster import most_missed, stuck
from mlusim.machine.observed import TaskPlace
from mlusim.machine.scheduling.carrier import Carrier, Carriers, Home
from mlusim.machine.scheduling.schedule import Choices

if TYPE_CHECKING:
    from mlusim.machine.core import Core


SPIN_LIMIT = 2000
"""Rounds of polling memory that no task changes, after which the scheduler checks whether any task can continue.

A task whose state shows all that decides what it does next is checked from the beginning on, after 2, 4, 8 rounds and so on,
since an observed round costs much: compiled code, and most kernels in Python.  Others are not: the position of an
iterator, for example, is in none of their variables."""


LANDS = 64  # such rounds after which effects in flight land, although no task waits for them


QUIET = Context()  # copied by each strand: NumPy does not warn of overflows and invalid operations
QUIET.run(np.seterr, all="ignore")


@frozen(eq=False)
class UnionToCome:
    """A union that is created when the first of its cores runs: the number of its cores, and a function that creates them."""

    many: int
    make: Callable[[], "list[Core]"]


class BlockToCome(NamedTuple):
    """The Block task at a *place*, whose core is created when it runs."""

    place: TaskPlace
    make: Callable[[TaskPlace], "Core"]

    def __call__(self) -> "Core":
        """Return the core for the place."""
        return self.make(self.place)


class TakenUp(NamedTuple):
    """The state of a launch of unions that Python continues: the running core, and by number the cores of each union that has begun and not ended.

    ``ready`` lists the next cores, and the numbers of unions; ``admitted`` is the number of unions that have been
    ready so far.
    """

    running: "Core"
    begun: "dict[int, list[Core]]"
    ready: "list[Core | int]"
    admitted: int


class Scheduler:
    """Runs cores cooperatively: each continues until it blocks, pauses or ends.

    The order is total: admitted cores run in the order of their tasks, woken ones after those that
    were ready before.  With *choices* another ready core may be next, and `point` may switch.
    """

    def __init__(self, body: Callable[["Core"], None], choices: Choices | None) -> None:
        self._body = body
        self._choices = choices
        self._last = -1
        self._admitted = 0
        self._ready: deque[Any] = deque()  # cores, or for future ones the number and their factory
        self._coming = 0
        # An iterator of `itertools.tee`, a copy of which shows future groups without consuming them.
        self._groups: Iterator[list[Core] | UnionToCome | BlockToCome] = iter(())
        # The group that is admitted next.
        self._pending: list[Core] | UnionToCome | BlockToCome | None = None
        self._room = 0  # groups that may still become resident
        self._carriers = Carriers(QUIET)
        self._alive: list[Core] = []
        self._spinning: set[Core] = set()
        self._idle_rounds = 0
        self._shared_progress = -1
        # The states of spinning tasks at an earlier check; nothing shared has changed since.
        self._states: dict[Core, bytes] = {}
        self._stuck: set[Core] = set()  # tasks that have been in the same state twice since then
        # Tasks whose state is compared at their next spin, and whether that is the first comparison of a check.
        self._asked: dict[Core, bool] = {}
        self._looks = 0  # checks since then
        self._late = False  # whether the last check was one after `SPIN_LIMIT` rounds
        self._landed = -1  # the progress when effects in flight landed, because no task could go on
        # Tasks that wait for a mutex which no task has released since they tried to take it.
        self._locked: set[Core] = set()
        self.running: Core | None = None
        self.last: Core | None = None  # the core that ran last
        self.doomed: tuple[Core, Fault] | None = None  # the first fault, and its core
        self.chains = False  # whether a task may follow another without further work
        self.ending = False  # the launch has ended; the remaining tasks clean up

    def run(self, groups: Iterator["list[Core] | UnionToCome | BlockToCome"], room: int) -> None:
        """Run *groups* of cores that must be resident together; *room* groups at once.

        A group may be a factory of its only core, or of its cores, called when it first runs; there are no choices
        then.
        """
        (self._groups,), self._room = itertools.tee(groups, 1), room
        self._pending = next(self._groups, None)
        try:
            self._run_rest()
        finally:
            self._kill()

    @property
    def more_to_begin(self) -> bool:
        """Return whether there are groups whose tasks have not begun."""
        return self._pending is not None or self._coming > 0

    def _run_rest(self) -> None:
        while self._alive or self.more_to_begin:
            self._fill()
            self._made_room(self._step())

    def _made_room(self, core: "Core") -> None:
        if core.ended and core.union.finished():
            self._room += 1

    def take_up(
        self,
        groups: Iterator["list[Core] | UnionToCome | BlockToCome"],
        room: int,
        core: "Core",
        carrier: Carrier,
    ) -> None:
        """Set the state of `run` with the first task, that of *core*, running on its strand, which calls this; `go_on` follows."""
        (self._groups,), self._room = itertools.tee(groups, 1), room - 1
        next(self._groups)
        self._pending = next(self._groups, None)
        core.carrier, self._admitted, self._last = carrier, 1, 0
        self._alive.append(core)
        self.running = self.last = core
        self._fill()

    def take_up_unions(self, groups: Iterator[UnionToCome], room: int, taken: TakenUp, home: Home) -> None:
        """Set the state of `run` for the launch of unions in *taken*, on the strand of the running core; `go_on` follows on the strand *home*."""
        every = list(groups)
        many = every[0].many
        coming = [what for what in taken.ready if isinstance(what, int)]
        self._ready.extend(
            (what * many, every[what]) if isinstance(what, int) else what for what in taken.ready
        )
        self._coming = many * len(coming)
        self._admitted = many * taken.admitted
        self._room = room - len(taken.begun) - len(coming)
        (self._groups,) = itertools.tee(iter(every[taken.admitted :]), 1)
        self._pending = next(self._groups, None)
        for union, cores in taken.begun.items():
            for number, core in enumerate(cores, many * union):
                if core.carrier is None and not core.ended:
                    self._begin(number, core, home)
                elif not core.ended:
                    core.number = number
                    self._alive.append(core)
        self.running = self.last = taken.running
        self._last = taken.running.number

    def go_on(self, error: BaseException | None) -> None:
        """Run the rest of a launch that was taken up: the first task has parked or ended, or raised *error*."""
        try:
            if error is not None:
                raise error
            self._made_room(self._settled())
            self._run_rest()
        finally:
            self._kill()

    def _fill(self) -> None:
        """Admit groups while there is room."""
        while self._room and self._pending is not None:
            self._room -= 1
            self._admit(self._pending)
            self._pending = next(self._groups, None)

    def _admit(self, cores: "list[Core] | UnionToCome | BlockToCome") -> None:
        if not isinstance(cores, list):
            many = cores.many if isinstance(cores, UnionToCome) else 1
            self._ready.append((self._admitted, cores))
            self._admitted += many
            self._coming += many
            return
        for core in cores:
            self._begin(self._admitted, core)
            self._admitted += 1
            self._ready.append(core)

    def _begin(self, number: int, core: "Core", home: Home | None = None) -> None:
        core.number = number
        core.carrier = self._carriers.carry(functools.partial(self.live, core), home)
        self._alive.append(core)

    def live(self, core: "Core") -> None:
        """Run *core* with its task on a strand, and the following tasks while no other core is ready before them."""
        self._body(core)
        while self._follows():
            core = self._follower(core)
            self._body(core)
        assert core.carrier is not None
        core.carrier.ended = True

    def _follows(self) -> bool:
        """Return whether the next task may begin directly after an ended one, with the same order as otherwise and without a switch."""
        coming = self._ready[0] if self._ready else self._pending
        if self._ready and coming.__class__ is tuple:  # a future group, as stored by `_admit`
            coming = coming[1]
        elif self._ready:
            return False
        if coming is None or isinstance(coming, list | UnionToCome):
            return False
        return self.doomed is None and sys.gettrace() is None

    def _follower(self, core: "Core") -> "Core":
        """Return the core of the next task, on the strand of *core*, whose task has ended: the same one if it is renewable."""
        self._room += 1
        self._fill()
        number, make = self._ready.popleft()
        self._coming -= 1
        self._alive.remove(core)
        self._spinning.discard(core)
        self.changed()
        following: Core = make()
        if following is not core:
            assert core.carrier is not None
            following.carrier = self._carriers.follow(core.carrier)
            self.running = self.last = following
        self._alive.append(following)
        following.number = self._last = number
        return following

    def ahead(self, most: int) -> list[BlockToCome]:
        """Return up to *most* Block tasks after the running one, in order: none has begun, and no other task comes between."""
        if (
            not self.chains
            or self._choices is not None
            or self.doomed is not None
            or sys.gettrace() is not None
        ):
            return []
        ready = (coming[1] if coming.__class__ is tuple else None for coming in self._ready)
        pending = () if self._pending is None else (self._pending,)
        blocks: list[BlockToCome] = []
        for coming in itertools.islice(itertools.chain(ready, pending, copy.copy(self._groups)), most):
            if not isinstance(coming, BlockToCome):
                break
            blocks.append(coming)
        return blocks

    def passed(self, core: "Core", many: int) -> None:
        """Record that *core* has ended its task and the next *many* except the last, at which it is now."""
        for _ in range(many):
            self._room += 1
            self._fill()
            core.number = self._last = self._ready.popleft()[0]
            self._coming -= 1
        self._spinning.discard(core)
        self.changed()

    def _made(self, number: int, make: "UnionToCome | BlockToCome") -> "Core":
        """Return the future core that is next; the others of its union become ready after it."""
        cores = make.make() if isinstance(make, UnionToCome) else [make()]
        self._coming -= len(cores)
        for nth, core in enumerate(cores):
            self._begin(number + nth, core)
        self._ready.extendleft(reversed(cores[1:]))
        return cores[0]

    def _step(self) -> "Core":
        """Run the next core until it parks or ends, and return it."""
        if not self._ready:
            waiting = [c for c in self._alive if c.waiting is not None]
            self._fail(most_missed(waiting), stuck(waiting, []))
        picked = self._pick()
        core: Core = self._made(*picked) if picked.__class__ is tuple else picked
        self.running = self.last = core
        self._last = core.number
        assert core.carrier is not None
        core.carrier.resume()
        return self._settled()

    def _settled(self) -> "Core":
        """Return the core that ran last, which has parked or ended, and update the state of the others."""
        # A core that parks may have resumed another directly.
        core, self.running = self.last, None
        assert core is not None
        if self.doomed is not None:
            self._end(*self.doomed)
        if core.ended:
            self._retire(core)
        elif core.carrier is not None and core.carrier.dead:
            raise UsageError(
                f"{core.place.label} raised GreenletExit, which mlusim itself uses to end tasks; let the kernel return instead"
            )
        return core

    def _pick(self) -> Any:
        if self._choices is None or len(self._ready) == 1:
            return self._ready.popleft()
        at = self._choices.next(self._last, [core.number for core in self._ready])
        core = self._ready[at]
        if at and self._choices.explains:
            first = self._ready[0]
            self._choices.explain(
                f"{core.place.label}, {_where(core)}, goes before {first.place.label}, {_where(first)}"
            )
        del self._ready[at]
        return core

    def _retire(self, core: "Core") -> None:
        self._alive.remove(core)
        self._spinning.discard(core)
        self.changed()
        fault = core.union.check_left(core)
        if fault is not None:
            victim = next(c for c in self._alive if c.waiting is not None and core in c.waiting.missing)
            self._fail(victim, fault)

    def _fail(self, victim: "Core", fault: Fault) -> None:
        """Raise *fault* in the kernel of *victim*, so that the traceback ends at its wait."""
        self.doom(victim, victim.blame(fault))
        self.running = victim
        assert victim.carrier is not None
        victim.carrier.throw(fault)
        self._end(victim, fault)

    def doom(self, core: "Core", fault: Fault) -> None:
        """End the launch with *fault* of *core*, even if the kernel catches it."""
        if self.doomed is None and not self.ending:
            self.doomed = core, fault

    def refuse_success(self) -> None:
        """Raise the fault that ends the launch, if there is one, although a kernel caught it."""
        if self.doomed is not None:
            raise self.doomed[1]

    def _end(self, core: "Core", fault: Fault) -> NoReturn:
        """End the launch with *fault*, which the kernel of *core* has caught."""
        if core.hub.fault is not None:
            core.hub.fault(core, fault)
        raise fault

    def _kill(self) -> None:
        """End the remaining tasks; exceptions during their clean-up do not replace the launch's fault."""
        self.ending = True
        for core in self._alive:
            self.running = core
            with contextlib.suppress(Exception):
                if core.carrier is not None:
                    core.carrier.kill()
            core.release()
            for cluster in core.union.clusters:
                cluster.sram.release()
        self.running = None
        self._carriers.close()
        self._alive.clear()
        self._ready.clear()

    # -- called from inside a core -------------------------------------------------------------

    def block(self, core: "Core") -> None:
        """Park *core* until `wake`."""
        assert core.carrier is not None
        if not core.carrier.current:
            raise core.blame(Outside(core.place.label))
        core.carrier.park(self._next())

    def _next(self) -> "Carrier | None":
        """Return the parked core to resume when the running one parks, if it is simply next and no choice is needed."""
        ready = self._ready
        if self._choices is not None or self.doomed is not None or not ready:
            return None
        core = ready[0]
        if core.__class__ is tuple or not core.carrier.begun or sys.gettrace() is not None:
            return None
        ready.popleft()
        self.running = self.last = core
        self._last = core.number
        carrier: Carrier = core.carrier
        return carrier

    def wake(self, cores: list["Core"]) -> None:
        """Make parked *cores* ready, in their order."""
        self.changed()
        self._ready.extend(cores)

    def pause(self, core: "Core") -> None:
        """Let other cores run, because *core* has changed something they may wait for; it goes to the end of the queue."""
        self._spinning.discard(core)
        self.changed()
        if self._ready:
            self._ready.append(core)
            self.block(core)

    def spin(self, core: "Core", *, locked: bool = False) -> None:
        """Let other cores run, because *core* polled unchanged shared memory, or a mutex that another has *locked*; raise a fault if it is stuck."""
        self._spinning.add(core)
        if locked:
            self._locked.add(core)
        waiting = [c for c in self._alive if c.waiting is not None]
        if len(self._spinning.union(waiting)) >= len(self._alive) + self._coming:
            self._idle_rounds += 1
            self._look(core, waiting)
            spinning = self._spinning.difference(waiting)
            if self._none_goes_on(spinning):
                order = sorted(spinning, key=lambda c: (c.place.task, c.place.memory_core))
                if core is order[0]:  # if it is another, that comes soon: which was found last says nothing
                    raise core.blame(stuck(waiting, order))
        if self._ready:
            self._ready.append(core)
            self.block(core)

    def _none_goes_on(self, spinning: "set[Core]") -> bool:
        """Return whether none of those *spinning* can continue, and so no task."""
        if not self._stuck.union(self._locked) >= spinning:
            return False
        if not (self._locked >= spinning or self._shared() == self._shared_progress):
            return False
        # What is in flight otherwise changes nothing that tasks share.
        return self._landed == self._shared() or not any(core.in_flight for core in spinning)

    def _land(self, spinning: "set[Core]") -> None:
        """Land what is in flight on cores that only poll, as a card does in the end: both engines at the same moment."""
        flying = sorted((core for core in spinning if core.in_flight), key=lambda core: core.number)
        if flying and self._landed != self._shared():
            for core in flying:
                core.land()
            self.changed()
            self._landed = self._shared()

    def _look(self, core: "Core", waiting: list["Core"]) -> None:
        """Compare the state of *core* if that has been requested: in rounds 2, 4, 8 and so on, and in every `SPIN_LIMIT`-th."""
        rounds = self._idle_rounds
        late = rounds % SPIN_LIMIT == 0
        if late or (2 <= rounds < SPIN_LIMIT and rounds & (rounds - 1) == 0):
            if rounds >= LANDS:
                self._land(self._spinning.difference(waiting))
            self._ask(waiting, late=late)
        if core in self._asked:
            first, shows = self._asked.pop(core), core.shows_all()
            if shows or self._late:
                self._compare(core, first=first, shows=shows)

    def _ask(self, waiting: list["Core"], *, late: bool) -> None:
        """Request the state of every spinning task at its next spin, unless a task has made progress since the last time."""
        shared = self._shared()
        if shared != self._shared_progress:
            self._shared_progress = shared
            self.changed()
            return
        self._looks += 1
        self._late = late
        self._asked = dict.fromkeys(self._spinning.difference(waiting, self._stuck, self._locked), True)

    def _compare(self, core: "Core", *, first: bool, shows: bool) -> None:
        """Record that *core* is stuck if it has returned to an earlier state, while nothing shared has changed.

        It will then return to it for ever: a state contains everything that determines the task's future.  A task
        whose variables or memories differ each time, such as a counter that approaches its end, is not stuck.
        If the state *shows* all of that, it is compared with the next one, too; otherwise only with that of another check.
        """
        state = core.state()
        if state == self._states.get(core):
            self._stuck.add(core)
        # The stored state is replaced at growing intervals, so that a cycle of any length is found.
        elif first and (core not in self._states or self._looks & (self._looks - 1) == 0):
            self._states[core] = state
            if shows:
                self._asked[core] = False

    def _shared(self) -> int:
        """Return a number that grows whenever a task may have changed memory that others see."""
        return sum(c.shared_progress() for c in self._alive)

    def changed(self) -> None:
        """Discard the recorded states of waiting tasks, because something that they share has changed."""
        if self._looks or self._locked:
            self._looks = 0
            self._states.clear()
            self._stuck.clear()
            self._asked.clear()
            self._locked.clear()

    def point(self, core: "Core") -> None:
        """Switch to another core if the explored schedule requires it."""
        if self._choices is not None and self._ready and self._choices.stop(core.number):
            if self._choices.explains:
                first, *others = self._ready
                more = f" and {len(others)} more" if others else ""
                self._choices.explain(
                    f"{core.place.label}, {_where(core)}, lets {first.place.label}, {_where(first)},{more} go first"
                )
            self._ready.append(core)
            self.block(core)


def _where(core: "Core") -> str:
    """Return the place of *core*, for a sentence."""
    if core.machine.scheduler.running is not core and (core.carrier is None or core.carrier.frame is None):
        return "at its beginning"
    file, line = core.site()
    return f"at {shown_file(file)}:{line}"
