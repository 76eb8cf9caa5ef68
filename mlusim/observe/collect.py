"""`Collector`: the findings of checkers in all launches of a program, in any thread or library."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attrs import evolve

from mlusim.errors import Fault, SyncFault
from mlusim.machine.hub import Hub, Observer, attending, shown_launch_place
from mlusim.observe.checker import Allowed, Checker, told_of
from mlusim.observe.finding import ERROR, Finding
from mlusim.observe.memcheck import MemCheck, MemCheckFilters, MemCheckNotes
from mlusim.observe.names import checkers, observers_of
from mlusim.observe.rules import RULES
from mlusim.observe.suppress import Comment, comments_in
from mlusim.observe.valuecheck import ValueCheck, ValueCheckVectors

if TYPE_CHECKING:
    from mlusim.machine.core import Core, RunningLaunch


class Collector(Observer):
    """Collects the findings of *watching* over many launches.

    A checker discards its findings when the next launch begins, so that the collector hears of each beginning before
    the checkers do and copies their findings; `close` copies those of the last launch. ``findings`` is empty, so that
    a launch does not report them twice: ``found`` has them, ``allowed`` those that comments in the kernels allow,
    ``comments`` the comments, ``faults`` the faults, and ``launches`` their number.  A fault that no checker has
    reported also becomes a finding, whose id begins with ``fault``.
    """

    name = "collector"

    def __init__(self, watching: Iterable[Observer]) -> None:
        self.watching = tuple(watching)
        self.found: list[Finding] = []
        self.allowed: list[Allowed] = []
        self.faults: list[Fault] = []
        self.launches = 0
        # The number of launches that each checker could not check, by its name.
        self.unchecked: dict[str, int] = {}
        self.comments: dict[Comment, None] = {}
        self._kernel: str | None = None
        self._open = False
        self._place: str | None = None
        self._untold: Fault | None = None
        self._read: set[Any] = set()

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Copy the findings of the previous launch."""
        self.close()
        self.launches += 1
        self._kernel = launch.request.kernel.name
        self._place = shown_launch_place()
        if launch.request.kernel not in self._read:
            self._read.add(launch.request.kernel)
            self.comments.update(dict.fromkeys(comments_in(launch.request.kernel.body)))
        self._open = True

    def fault(self, _core: "Core", fault: Fault) -> None:
        """Note the fault; the checkers hear of it later."""
        self.faults.append(fault)
        self._untold = fault

    def host_mistake(self, finding: Finding | Fault) -> None:
        """Add the host's mistake *finding*, after the findings of the previous launch."""
        self.close()
        self.found.append(finding_of(finding, None) if isinstance(finding, Fault) else finding)

    def add(self, fault: Fault) -> None:
        """Add a fault that ended the program, unless a launch has reported it."""
        if fault not in self.faults:
            self.close()
            self.faults.append(fault)
            self.found.append(finding_of(fault, None))

    def close(self) -> None:
        """Copy the findings of the last launch."""
        if not self._open:
            return
        for checker in self.watching:
            if isinstance(checker, Checker) and not checker.checked:
                self.unchecked[checker.name] = self.unchecked.get(checker.name, 0) + 1
        fresh = [
            as_finding(reported, checker.name, self._kernel)
            for checker in self.watching
            for reported in checker.findings
        ]
        fault = self._untold
        if fault is not None:
            # A checker's finding about the fault replaces the fault's own.
            teller = "synccheck-" if isinstance(fault, SyncFault) else "memcheck-"
            if not any(
                f.id.startswith(teller) and (f.file, f.line) == (fault.file, fault.line) for f in fresh
            ):
                fresh.append(finding_of(fault, self._kernel))
        launched = f"launched at {self._place}"
        if self._place is not None:
            fresh = [evolve(f, context=tuple(dict.fromkeys((*f.context, launched)))) for f in fresh]
        self.found += fresh
        self.allowed += [
            a for checker in self.watching if isinstance(checker, Checker) for a in checker.allowed
        ]
        self._open, self._untold = False, None


@contextmanager
def collecting(
    names: Iterable[str] = (), *, notes: bool = False, vectors: bool = False
) -> Iterator[Collector]:
    """Check every launch in the block with the checkers *names* (empty: all of them); yields the collector.

    With *vectors* or *notes* valuecheck also examines the results of vector instructions.

    Raises `UsageError` for an unknown name.
    """
    wanted = tuple(names) or tuple(checkers())
    collector = Collector(
        _noting(name) if notes else _plain(name, wanted, vectors=vectors) for name in wanted
    )
    try:
        with attending((collector, *collector.watching)):
            yield collector
    finally:
        collector.close()


def _plain(name: str, wanted: tuple[str, ...], *, vectors: bool) -> Observer:
    """Return the checker *name*; memcheck also checks filters if another checker of *wanted* has instructions announced anyway."""
    checker = observers_of(name)[0]
    if type(checker) is ValueCheck and vectors:
        return ValueCheckVectors()
    if type(checker) is MemCheck and any(
        Hub(observers_of(other)).watches for other in wanted if other != name
    ):
        return MemCheckFilters()
    return checker


def _noting(name: str) -> Observer:
    """Return the checker *name*, with its notes."""
    checker = observers_of(name)[0]
    if type(checker) is MemCheck:
        return MemCheckNotes()
    if type(checker) is ValueCheck:
        return ValueCheckVectors(notes=True)
    if isinstance(checker, Checker):
        checker.notes = True
    return checker


def as_finding(reported: Any, checker: str, kernel: str | None) -> Finding:
    """Convert *reported*, of whatever class another package's *checker* has, to a `Finding`."""
    if isinstance(reported, Finding):
        return reported
    return Finding(
        id=str(getattr(reported, "id", None) or checker),
        message=str(getattr(reported, "message", None) or reported),
        file=getattr(reported, "file", None),
        line=getattr(reported, "line", None),
        task=getattr(reported, "task", None),
        hint=getattr(reported, "hint", None),
        level=str(getattr(reported, "level", None) or ERROR),
        kernel=kernel,
    )


def finding_of(fault: Fault, kernel: str | None) -> Finding:
    """Convert *fault* to a finding, as ``fault-out-of-bounds``: the rule of its class or of its nearest base class."""
    return told_of(
        fault,
        fault.rule or next(rule for kind in type(fault).__mro__ if (rule := _rule_of(kind)) in RULES),
        context=() if fault.legal is None else (f"legal: {fault.legal}",),
        note="the launch ended here" if kernel else None,
        kernel=kernel,
    )


def _rule_of(kind: type) -> str:
    words = re.sub(r"(?<!^)(?=[A-Z])", "-", kind.__name__).lower()
    return "fault" if words == "fault" else f"fault-{words}"
