"""The debugged program: it runs once, launch by launch, and its kernels are not observed.

Every stop inside a kernel is in another run of the launch (`mlusim.debug.run.runs`); the program
itself continues only if the debugger has nothing to stop for.
"""

from typing import TYPE_CHECKING, Any

from mlusim.debug.run.launches import DEFAULT_HISTORY, Holder, KeptLaunch, trim
from mlusim.debug.run.moments import RunObserver, Snapshot, counts_tell, elapsed, issues, mark_here
from mlusim.debug.run.output import Ear, ShownOutput
from mlusim.debug.stop.stops import INTERRUPTED
from mlusim.machine.scheduling.carrier import Strand
from mlusim.memory.allocation import Allocation, Bytes

if TYPE_CHECKING:
    from mlusim.errors import Fault
    from mlusim.machine.core import Core, RunningLaunch
    from mlusim.machine.machine import Machine
    from mlusim.programs.program import Program

LAUNCH, FAILED, ENDED = "at a launch", "in a fault", "ended"


NOTED = 512  # rare events that are recorded before every other one is skipped
COPIED = 500  # bytes that snapshots may copy for each moment of the program's own run


class ProgramRun(RunObserver):
    """Runs the program; ``state`` is its current state, ``result`` and ``failure`` are its outcome.

    It observes the launches of the program: their begin, at which it pauses, their end, and faults.  While no task is
    active it records the moment from the counters, so that C may run the launches.
    """

    between = True

    def __init__(self, program: "Program", history: int = DEFAULT_HISTORY) -> None:
        super().__init__()
        self.program = program
        self.history = history
        self.holder = Holder()
        self.launches: list[KeptLaunch] = []
        self.state = ""
        self.result: Any = None
        self.inside = False
        self.trapped = False
        self._ear = Ear(ShownOutput())
        self._ear.aside = True  # until a launch begins
        self.results: dict[Allocation, Bytes] = {}  # replacements for its tensors at the end
        self._issued = 0
        self._events, self._noted, self._stride, self._copied = 0, 0, 1, 0
        self._stop_at_faults = True
        self._strand = Strand(self._body)

    def advance(self, *, stop_at_faults: bool = True) -> str:
        """Run the program up to its next launch, to a fault in a kernel, or to its end; return the state."""
        self._stop_at_faults = stop_at_faults
        self.holder.take(None)
        self.inside, self.trapped = True, False
        try:
            with self._ear.listening(self._trap):
                self._strand.resume()
        finally:
            self.inside = False
        if self._strand.ended:
            self.state = ENDED
        return self.state

    @property
    def failure(self) -> BaseException | None:
        """The exception that ended the program, or None."""
        return self._strand.error

    @property
    def issued(self) -> int:
        """The number of instructions and scalar accesses that the launch has begun, from its cores' counters."""
        return self._issued + sum(issues(core) for core in self.cores)

    def interrupt(self) -> None:
        """Pause the program at its current position; called in its own thread, by a signal."""
        self._ear.outside(lambda: self._pause(INTERRUPTED))

    def _trap(self) -> None:
        """Pause since a kernel calls ``breakpoint()``."""
        self.trapped = True
        self._pause(INTERRUPTED)

    def close(self) -> None:
        """End the program at its current position."""
        self.holder.take(None)
        if self.state and not self._strand.ended:
            self._strand.abandon()
        self.state = ENDED

    def _body(self) -> None:
        self.result = self.program.run((self,))

    def _pause(self, state: str) -> None:
        self.state = state
        self._strand.pause()

    # -- what the machine announces --------------------------------------------------------------

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Store the launch, and pause."""
        super().launch_begin(launch)
        self.cores, self.finished, self.raised, self.failed = [], 0, None, None
        assert self.machine is not None
        self.launches.append(KeptLaunch.of(len(self.launches) + 1, self.machine, self.history // 4))
        trim(self.launches, self.history)
        for earlier in self.launches[:-1]:
            earlier.milestones.forget()
        self._issued, self._copied, self.latest = 0, 0, None
        self._events, self._noted, self._stride = 0, 0, 1
        self._ear.shown, self._ear.count, self._ear.aside = self.launches[-1].shown, 0, False
        self._pause(LAUNCH)

    def task_begin(self, core: "Core") -> None:
        """Record a moment from time to time; make a snapshot if a group of tasks begins and no other is active."""
        first = core.union is not self.latest
        super().task_begin(core)
        self.launches[-1].groups += first
        self._rare_event(snapshot=first and len(self.cores) == 1)

    def _rare_event(self, *, snapshot: bool = False, ending: "Core | None" = None) -> None:
        """Record the moment of a rare event; if there are many, only of every n-th."""
        self._events += 1
        if self._events % self._stride:
            return
        kept, machine = self.launches[-1], self.machine
        mark = None if kept.edits else mark_here(self, kept.groups, ending)
        if mark is None or machine is None:
            return
        self._noted += 1
        self._stride <<= self._noted % NOTED == 0
        kept.milestones.note(mark)
        if snapshot:
            self._snapshot(kept, machine, mark.moment, mark.rare - 1)

    def _snapshot(self, launch: KeptLaunch, machine: "Machine", moment: int, rare: int) -> None:
        """Make a snapshot at the beginning of a group, if copying the tensors costs little compared with the run."""
        cheap = self._copied + launch.nbytes <= moment * COPIED
        if cheap and launch.milestones.wanted(moment, launch.nbytes):
            self._copied += launch.nbytes
            tensors = {allocation: allocation.raw.copy() for allocation in launch.tensors or ()}
            ended, printed = frozenset(self.ended), tuple(machine.printed)
            groups, pieces = launch.groups - 1, self._ear.count
            launch.milestones.keep(
                Snapshot(moment, rare, groups, self.finished, tensors, ended, pieces, printed)
            )

    def task_end(self, core: "Core") -> None:
        """Add the core's counts to the launch's."""
        super().task_end(core)
        self._issued += issues(core)
        self._rare_event(ending=core)

    def launch_end(self, launch: "RunningLaunch") -> None:
        """Replace the program's tensors by those of a run changed by hand; from here on output is the program's."""
        super().launch_end(launch)
        kept, machine = self.launches[-1], self.machine
        kept.ended = kept.groups
        if not kept.edits and machine is not None and counts_tell(machine):
            kept.moments = elapsed(machine)[1] + 1
        for original, raw in self.results.items():
            original.raw[:] = raw
        self.results = {}
        self._ear.aside = True

    def fault(self, core: "Core", fault: "Fault") -> None:
        """Store the fault, and pause before the kernel is unwound."""
        super().fault(core, fault)
        self._fail()

    def error(self, core: "Core", error: BaseException) -> None:
        """Store the exception, and pause before the memories are freed."""
        super().error(core, error)
        self._fail()

    def _fail(self) -> None:
        self._ear.aside = True
        kept = self.launches[-1]
        kept.error, kept.ended = self.raised, kept.groups - 1 if self.only_latest() else 0
        if self._stop_at_faults:
            self._pause(FAILED)
