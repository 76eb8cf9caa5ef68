"""`Engine`: whether a launch runs in C, with which compiler, and on how many threads.

A device, the debugger, the operators and the verbs use it and nothing else of the C engine.
"""

import contextlib
import functools
import warnings
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import frozen

from mlusim.arch.board import Arch, Board
from mlusim.engine.contract import Mode
from mlusim.engine.preference import AUTO, NATIVE, PYTHON, asked_of, debugged
from mlusim.errors import UsageError
from mlusim.machine.hub import Observer, hears_of_instructions, wants_counts, wants_steps
from mlusim.machine.native import build
from mlusim.machine.native.beside import run_beside, threads_for
from mlusim.machine.native.build import BuildError, EngineWarning, available, no_compiler
from mlusim.machine.native.prepared import Counted, Preparations
from mlusim.machine.native.screening import (
    Screening,
    is_long,
    note_watched,
    screen_beside,
    screening_of,
    threads_of_screen,
)
from mlusim.machine.native.text.door import is_native

if TYPE_CHECKING:
    from mlusim.isa.declare import Intrinsic
    from mlusim.machine.kernel import Kernel
    from mlusim.machine.limits import Meter
    from mlusim.machine.machine import Machine
    from mlusim.machine.native.run import Loaded
    from mlusim.machine.native.screen import Screen
    from mlusim.machine.options import Request
    from mlusim.memory.allocation import Heap


PreparedCounts: TypeAlias = Counted
PreparedLaunches: TypeAlias = Preparations
PreparedRun: TypeAlias = "PreparedCounts | Machine"
"""The result of a prepared launch: its counts, or its machine if a task has called Python."""

_failing: "weakref.WeakKeyDictionary[Any, set[tuple[str, ...]]]" = weakref.WeakKeyDictionary()
"""By kernel, the architectures and compilers with which its compilation failed."""


@frozen
class Engine:
    """The engine for a launch: ``name`` is one of `ENGINES`, ``compiler`` the command of a C compiler or None, ``threads`` the most threads.

    "auto" uses C if possible, but runs short observed launches in Python, which is done before a compiler would be.
    """

    name: str
    compiler: tuple[str, ...] | None
    threads: int = 1

    @classmethod
    def asked(cls, name: object = AUTO, threads: int = 1) -> "Engine":
        """Return the engine *name*; for "auto", the one that the block prefers.  Raises `UsageError` for an unknown engine."""
        return cls(asked_of(name), available(), threads)

    @property
    def lack(self) -> str | None:
        """Return the sentence that there is no C compiler, and what to do; None if there is one."""
        return no_compiler() if self.compiler is None else None

    def at_hand(self) -> str:
        """Return its name; "python", with a warning, if that is C and there is no compiler."""
        if self.name != NATIVE or self.compiler is not None:
            return self.name
        warnings.warn(no_compiler(), EngineWarning, stacklevel=4)
        return PYTHON

    @staticmethod
    def performs(row: "Intrinsic", arch: Arch) -> bool:
        """Return whether *row* has C on *arch* for at least one element type; otherwise C calls Python for it."""
        return is_native(row, arch)

    # -- one launch ------------------------------------------------------------------------------

    def course(
        self,
        request: "Request",
        board: Board,
        watching: Sequence[Observer],
        *,
        inside: bool,
        counted: bool,
        drawn: bool,
    ) -> "Course":
        """Return how *request* runs while the observers *watching* observe it, *inside* the launch or only at its ends.

        *counted* launches have a limit of instructions, *drawn* ones another schedule. Raises `UsageError` if C is
        requested by name and cannot run it, and `BuildError` if that does not compile; warns if there is no compiler,
        and if compilation fails and Python runs it.
        """
        if inside:
            screening = self.screening(request, board, watching, counted=counted, drawn=drawn)
            if screening is not None:
                return Course(request, board.arch, None, 1, screening, self.threads)
        counting = inside and wants_counts(watching) and self.is_worth_compiling(request)
        noting = bool(watching) and request.options.timing and wants_steps(watching)
        watched = bool(watching) and not (counting or noting) and hears_of_instructions(watching)
        why = _why_not(request.kernel, watched=watched, counted=counted, drawn=drawn)
        mode = Mode.NOTED if noting else Mode.ALONE
        loaded = self._loaded(request.kernel, board, why, mode, covered=counting)
        asked = 1 if noting else self.threads
        many = threads_for(request, board, loaded, asked, self.compiler, covered=counting)
        return Course(request, board.arch, loaded, many, None, self.threads)

    def screening(
        self, request: "Request", board: Board, watching: Sequence[Observer], *, counted: bool, drawn: bool
    ) -> Screening | None:
        """Return how C searches a launch for anything that the observers *watching* may report; None if it does not."""
        native = getattr(request.kernel, "native", None)
        if self.name == PYTHON or self.compiler is None or counted or drawn or native is None:
            return None
        if self.name == AUTO and debugged():
            return None
        return screening_of(request, board.arch, watching, self.compiler, tries=self.name == AUTO)

    def is_worth_compiling(self, request: "Request") -> bool:
        """Return whether a launch that Python may observe runs in C: if requested, and if "auto" expects it to be long."""
        return self.name == NATIVE or (self.name == AUTO and is_long(request))

    def _loaded(
        self, kernel: "Kernel", board: Board, why: str | None, mode: Mode, *, covered: bool
    ) -> "Loaded | None":
        """Return the compiled program of *kernel*, with counters of statements if *covered*; None if Python runs it, because of *why* or as "auto" prefers."""
        if self.name == PYTHON or (self.name == AUTO and debugged()):
            return None
        if why is None and self.compiler is None:
            if self.name == NATIVE:
                warnings.warn(no_compiler(), EngineWarning, stacklevel=6)
            return None
        loaded = self._compiled(kernel, board.arch, mode, covered=covered) if why is None else None
        if loaded is None and self.name == NATIVE:
            what = getattr(kernel.native, "problem", None) or "something"
            why = why or f"{kernel.name} uses something that the native engine has no C for: {what}"
            raise UsageError(f"the native engine cannot run this launch: {why}")
        return loaded

    def _compiled(self, kernel: "Kernel", arch: Arch, mode: Mode, *, covered: bool) -> "Loaded | None":
        """Return the compiled program; None if something in the kernel has no C, or if "auto" has a compiler that fails."""
        key = (arch.name, *(self.compiler or ()))
        if self.name == AUTO and key in _failing.get(kernel.native, ()):
            return None
        try:
            loaded: Loaded | None = kernel.native.loaded(arch, self.compiler, mode, covered=covered)
        except BuildError as error:
            if self.name == NATIVE:
                raise
            _failing.setdefault(kernel.native, set()).add(key)
            warnings.warn(f"{error}; the Python engine runs {kernel.name}", EngineWarning, stacklevel=7)
            return None
        return loaded

    def counting(self, kernel: "Kernel", arch: Arch) -> "Loaded | None":
        """Return the compiled program of *kernel* with counters of statements, or None if there is none."""
        loaded: Loaded | None = None
        with contextlib.suppress(BuildError):
            loaded = kernel.native.loaded(arch, self.compiler, covered=True)
        return loaded

    # -- caches ----------------------------------------------------------------------------

    @staticmethod
    def preparations(heap: "Heap") -> Preparations:
        """Return an empty store of prepared launches in C for a device with this *heap*."""
        return Preparations(heap)

    @staticmethod
    def cache_folder() -> Path:
        """Return the folder of compiled kernels.  Raises `BuildError` if there is no folder."""
        return build.cache_folder()

    @staticmethod
    def clean_cache() -> int:
        """Remove every compiled kernel; return how many there were."""
        return build.clean_cache()

    @staticmethod
    def abandon() -> None:
        """End the running compilers, in a process that is about to end at once."""
        build.abandon()


@frozen
class Course:
    """How one launch runs: ``loaded`` is its kernel in C, None if Python runs it; ``threads`` is the number of threads for its tasks.

    ``screening`` is not None if C first searches, on at most ``most`` threads, for anything that checkers may report.
    """

    request: "Request"
    arch: Arch
    loaded: "Loaded | None"
    threads: int
    screening: Screening | None
    most: int

    def spared(
        self, machine_of: "Callable[..., Machine]", meter: "Meter | None", preparations: Preparations
    ) -> "Machine | None":
        """Return the machine of a launch in C without findings, or with findings that are all known; None if Python has to run it.

        *machine_of* makes a machine from its observers, the choices of a schedule, the engine, the meter and the
        screen.
        """
        screening = self.screening
        if screening is None:
            return None
        many = threads_of_screen(self.request, self.arch, screening.looks, self.most)
        if many > 1:
            screening.beside = functools.partial(screen_beside, many)
        usual, ready = meter is None and screening.may_be_ready, None
        if usual:
            ready = preparations.checked(
                self.request, screening.looks, functools.partial(_ready_session, screening, machine_of)
            )
        machine = screening.run(machine_of, meter, ready)
        if usual and machine is not None and machine.screen.quiet:
            preparations.note_checked(self.request, screening.looks)
        return machine

    def seeing(self, watching: Sequence[Observer]) -> tuple[Sequence[Observer], Sequence[Observer]]:
        """Return the observers of *watching* that see the launch in Python, and those that have heard of its beginning."""
        if self.screening is None:
            return watching, ()
        return self.screening.seeing(watching), self.screening.told

    def run(self, machine: "Machine") -> None:
        """Run the tasks of *machine*, and remember the kernel if its observers took long."""
        machine.run(None if self.threads < 2 else functools.partial(run_beside, machine, self.threads))
        if not machine.alone:
            note_watched(machine)


def _ready_session(
    screening: Screening, machine_of: "Callable[..., Machine]", screen: "Screen"
) -> "Machine | None":
    """Return the machine of a checked launch that is prepared; None where C cannot run it."""
    loaded = screening.loaded()
    return None if loaded is None else machine_of((screen,), None, loaded, None, screen)


def _why_not(kernel: "Kernel", *, watched: bool, counted: bool, drawn: bool) -> str | None:
    """Return why C cannot run a launch of *kernel*; None if it can."""
    if getattr(kernel, "native", None) is None:
        return f"{kernel.name} is Python; only kernels of BANG C sources become C"
    if watched:
        return "it is observed; leave the observers out, or take the Python engine"
    if counted:
        return "only the Python engine counts instructions, which have a limit here; limit seconds or growth, or take that engine"
    if drawn:
        return "only the Python engine draws a schedule from a seed; leave the seed out, or take the Python engine"
    return None
