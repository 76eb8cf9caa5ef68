"""Limits of a launch: simulated instructions, CPU time, growth.  A launch without a limit has no extra cost."""

import ctypes
import heapq
import itertools
import math
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from types import CodeType, FrameType, TracebackType
from typing import Any, Self

from attrs import evolve, field, frozen

from mlusim.counted import counted
from mlusim.errors import LimitReached, UsageError
from mlusim.kernel_frames import LIBRARIES, file_of, is_own, own_file

UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
WAITING = 10  # a launch may take this many times its limit of seconds by the clock
AGAIN = 0.05  # seconds until a kernel that caught an interruption is interrupted again
KEPT = 64  # the most stopped alarms before they are removed
LOOKS = 300  # attempts to find the kernel's own code, a millisecond apart
ENTRIES = ("run", "__call__")  # mlusim's own functions that call kernels
FORM = "as in --limit seconds=60,instructions=1e6,growth=256MiB, or --limit none"


def _positive(_: object, attribute: Any, value: Any) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (number and 0 < value < math.inf):
        raise UsageError(
            f"{attribute.name} = {value!r} is not a limit; give a positive number, or None for no limit"
        )


@frozen
class Limit:
    """The limits after which a launch ends with `LimitReached`; None: no limit.

    ``instructions`` counts simulated instructions of all tasks together, as ``launch.instructions`` does, and limits
    the iterations of loops to the same number, so that loops of scalar code end too (not under a debugger);
    ``seconds`` is CPU time of the process, and at least as much by the clock: a launch on a busy machine may take up
    to `WAITING` times as long, which also ends one that waits without using a CPU; ``growth`` limits, in bytes, the
    data that the launch stores until its end: the text that kernels print and the logs from which the time is
    predicted.
    """

    instructions: float | None = field(default=None, validator=_positive)
    seconds: float | None = field(default=None, validator=_positive)
    growth: float | None = field(default=None, validator=_positive)

    def __str__(self) -> str:
        growth = None if self.growth is None else f"{self.growth / UNITS['MiB']:g}MiB"
        named = {"instructions": self.instructions, "seconds": self.seconds, "growth": growth}
        return ",".join(f"{name}={value}" for name, value in named.items() if value is not None) or "none"


UNLIMITED = Limit()
USUAL = Limit(seconds=300, growth=1024 * UNITS["MiB"])
"""The limit of `check`, `report` and the plugin of pytest, which run programs of unknown origin."""


def limit_in(text: str, base: Limit) -> Limit:
    """Return the limit described by *text*, such as ``seconds=60,instructions=1e6,growth=256MiB``; other fields are those of *base*.

    ``none`` means no limit.  Raises `UsageError` for anything else.
    """
    if text.strip() == "none":
        return UNLIMITED
    fields: dict[str, float | None] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name.strip() not in ("instructions", "seconds", "growth"):
            raise UsageError(f"{part!r} is not a limit; give instructions, seconds or growth, {FORM}")
        fields[name.strip()] = None if value.strip() == "none" else _number(part, value.strip())
    return evolve(base, **fields)


def _number(part: str, text: str) -> float:
    number = number_in(text)
    if number is None:
        raise UsageError(f"{part!r} needs a number, {FORM}")
    return number


def number_in(text: str) -> float | None:
    """Return the number in *text*, with or without a unit: 60, 1e6, 2M, 256MiB; None if it is not a number."""
    digits = text.rstrip("".join(set("".join(UNITS)))).rstrip()
    try:
        return float(digits) * UNITS[text[len(digits) :].lstrip()]
    except (KeyError, ValueError):
        return None


_LIMITING: ContextVar[Limit] = ContextVar("limiting", default=UNLIMITED)


@contextmanager
def limiting(limit: Limit) -> Iterator[None]:
    """Apply *limit* to every launch of the block that has no limit of its own."""
    token = _LIMITING.set(limit)
    try:
        yield
    finally:
        _LIMITING.reset(token)


def take_over(limit: Limit) -> None:
    """Apply *limit* to all further launches of this thread, as `limiting` does for a block."""
    _LIMITING.set(limit)


def limit_of(limit: Any) -> Limit:
    """Return the limit given as *limit*: a `Limit`, a text, a number of instructions; None means that of the block."""
    if limit is None or isinstance(limit, Limit):
        return limit or _LIMITING.get()
    if isinstance(limit, str):
        return limit_in(limit, UNLIMITED)
    return Limit(instructions=limit)


class Overdue(BaseException):
    """Raised inside a kernel by the alarm of its launch; no `except Exception` of a kernel catches it."""


class Meter:
    """Checks one launch against its limit."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.left = math.inf if limit.instructions is None else limit.instructions
        self.turns = self.left
        self.room = math.inf if limit.growth is None else limit.growth
        self._alarm = None if limit.seconds is None else Alarm(limit.seconds)
        self.over = False  # set if it has run for too long

    def raised(self, overdue: Overdue) -> bool:
        """Return whether *overdue* was raised by the alarm of this launch, not by that of an outer one."""
        return self._alarm is not None and type(overdue) is self._alarm.kind

    def trial(self, instructions: int) -> "Meter":
        """Return a meter that ends after so many *instructions*, with the same alarm."""
        meter = Meter(Limit(instructions=instructions))
        meter._alarm = self._alarm
        return meter

    @property
    def spent(self) -> bool:
        """Return whether its limit of instructions is reached."""
        return self.left <= 0 or self.turns <= 0

    def __enter__(self) -> Self:
        if self._alarm is not None:
            self._alarm.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.quiet()

    def begin_again(self) -> None:
        """Restart the counting of growth; the time continues."""
        self.room = math.inf if self.limit.growth is None else self.limit.growth

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the alarm while a block runs that may take its time, such as a compiler, and start a new one afterwards."""
        self.quiet()
        try:
            yield
        finally:
            if self._alarm is not None:
                self._alarm = Alarm(self.limit.seconds or 0)
                self._alarm.start()

    def quiet(self) -> None:
        """Cancel the alarm of the launch."""
        if self._alarm is not None:
            self._alarm.stop()

    def joins(self, core: Any) -> None:
        """Count the instructions of *core*, if there is a limit for them."""
        if self.limit.instructions is not None:
            core.mlu.counts = Counts(core, self)

    @contextmanager
    def running(self, core: Any) -> Iterator[None]:
        """Count the iterations of the kernel's loops in the block on *core*, if there is a limit of instructions."""
        # A thread has one trace function, so a debugger's is not replaced.
        if self.limit.instructions is None or sys.gettrace() is not None:
            yield
            return
        sys.settrace(_Turns(core, self).call)
        try:
            yield
        finally:
            sys.settrace(None)

    def grows(self, core: Any, nbytes: int) -> None:
        """Count *nbytes* more of data that the launch stores because of *core*."""
        self.room -= nbytes
        if self.room < 0:
            what = (
                f"what the launch prints and logs takes more than {self.limit.growth:,.0f} bytes, its limit"
            )
            self.stop(core, what, "growth")

    def stop(self, core: Any, what: str, name: str) -> None:
        """End the launch at *core*; a kernel that catches the fault once is not resumed again."""
        scheduler = core.machine.scheduler
        if scheduler.doomed is not None and core.carrier is not None and core.carrier.current:
            core.carrier.hold()
        raise core.blame(_reached(what, name, getattr(self.limit, name)))

    def late(self, core: Any, traceback: TracebackType | None) -> LimitReached:
        """Return the fault of *core*, which was interrupted at the end of *traceback*; *core* is None before the first task."""
        self.quiet()
        self.over = True
        assert self._alarm is not None
        assert self.limit.seconds is not None
        what = f"the launch has run for {self.limit.seconds:g} seconds, its limit"
        if self._alarm.used() < self.limit.seconds:
            what = f"the launch has waited until {WAITING * self.limit.seconds:g} seconds were over, {WAITING} times its limit"
        fault = _reached(what, "seconds", self.limit.seconds)
        if core is not None:
            core.blame(fault)
        inside = False
        while traceback is not None:
            if not is_own(traceback.tb_frame):
                inside = True
                fault.file, fault.line = file_of(traceback.tb_frame.f_code), traceback.tb_lineno
            elif inside:  # functions that mlusim itself calls are not the kernel's
                break
            traceback = traceback.tb_next
        return fault


def _reached(what: str, name: str, value: float | None) -> LimitReached:
    more = f"{name}={10 * (value or 1):.12g}"
    return LimitReached(
        what,
        hint=f"look for a loop that does not end, or raise the limit with --limit {more} or launch(limit='{more}')",
    )


class _Turns:
    """A trace function that counts backward jumps in the code of a kernel and of the functions that it calls."""

    def __init__(self, core: Any, meter: Meter) -> None:
        self._core, self._meter = core, meter
        self._counted: dict[CodeType, bool] = {}

    def call(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        """Return the trace function for *frame* at its beginning; None for mlusim's own code and for installed packages."""
        code = frame.f_code
        counted = self._counted.get(code)
        if counted is None:
            name = code.co_filename
            counted = self._counted[code] = not own_file(name) and not name.startswith(LIBRARIES)
        if not counted:
            return None
        last = -1

        def line(frame: FrameType, event: str, _argument: Any) -> Any:
            nonlocal last
            if event == "line":
                if frame.f_lasti <= last:  # a jump back, or the same line once more
                    self._turn()
                last = frame.f_lasti
            return line

        return line

    def _turn(self) -> None:
        meter = self._meter
        if meter.turns <= 0 and self._core.machine.scheduler.doomed is None:
            what = f"the launch has made {meter.limit.instructions:,.0f} turns of its loops, its limit of instructions"
            # Raised here without holding the strand: a strand that parks in a trace function leaves the
            # thread untraced.
            raise self._core.blame(_reached(what, "instructions", meter.limit.instructions))
        meter.turns -= 1


class Counts(list[int]):
    """The counters of one core's instructions, which also check the launch's limit."""

    __slots__ = ("_core", "_meter")

    def __init__(self, core: Any, meter: Meter) -> None:
        super().__init__(core.mlu.counts)
        self._core, self._meter = core, meter

    def __setitem__(self, index: Any, value: Any) -> None:
        meter = self._meter
        if meter.left <= 0:
            limit = counted(round(meter.limit.instructions or 0), "simulated instruction")
            meter.stop(self._core, f"the launch has executed {limit}, its limit", "instructions")
        meter.left -= 1
        list.__setitem__(self, index, value)


def left_of(seconds: float, cpu: float, clock: float) -> float:
    """Return the smallest rest of a limit of *seconds*, after *cpu* seconds of CPU time and *clock* seconds by the clock."""
    return min(seconds - cpu, WAITING * seconds - clock)


class Alarm:
    """Interrupts the thread that starts it after *seconds* of CPU time, if possible in code that is not mlusim's own."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._fired = False
        self._begun = 0.0, 0.0
        self._target = 0
        self._looks = LOOKS
        self.over = False

    @cached_property
    def kind(self) -> type[Overdue]:
        """Return the class of the exception that it raises, created when it is due."""
        return type("Overdue", (Overdue,), {})

    def start(self) -> None:
        """Start the alarm of the launch."""
        self._target = threading.get_ident()
        self._begun = time.monotonic(), time.process_time()
        _CLOCK.wind(self, self._seconds)

    def stop(self) -> None:
        """Stop interrupting, and let a pending interruption pass."""
        with self._lock:
            self.over = True
        if self._fired:
            _let_pass(self._target, self.kind)

    def used(self) -> float:
        """Return the seconds of CPU time that the process has used since it began."""
        return time.process_time() - self._begun[1]

    def ring(self) -> float | None:
        """Interrupt the thread if it is in a kernel; return the seconds until the next attempt, or None if there is none."""
        left = left_of(self._seconds, self.used(), time.monotonic() - self._begun[0])
        if left > 0 and not self._fired and not self.over:
            return left
        with self._lock:
            frame = sys._current_frames().get(self._target)  # noqa: SLF001 - where the kernel is
            if self.over or frame is None:
                return None
            self._looks -= 1
            if self._looks >= 0 and not _in_kernel(frame):
                return 0.001
            self._fired, self._looks = True, LOOKS
            _raise_in(self._target, self.kind)
            return AGAIN


class AlarmClock:
    """Rings every due alarm, in one thread that begins with the first alarm: a thread per launch would take longer than a launch."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Start without alarms, as in a child process, which has only its own thread."""
        self._changed = threading.Condition(threading.Lock())
        self._due: list[tuple[float, int, Alarm]] = []
        self._numbers = itertools.count()
        self._most = KEPT
        self._begun = False

    def wind(self, alarm: Alarm, seconds: float) -> None:
        """Ring *alarm* after so many *seconds*."""
        with self._changed:
            if len(self._due) >= self._most:
                self._due = [entry for entry in self._due if not entry[2].over]
                heapq.heapify(self._due)
                self._most = max(KEPT, 2 * len(self._due))
            due = time.monotonic() + seconds
            heapq.heappush(self._due, (due, next(self._numbers), alarm))
            if not self._begun:
                threading.Thread(target=self._watch, name="mlusim-alarm", daemon=True).start()
                self._begun = True
            elif self._due[0][2] is alarm:
                self._changed.notify()

    def _watch(self) -> None:
        while True:
            with self._changed:
                while (wait := self._due[0][0] - time.monotonic() if self._due else None) is None or wait > 0:
                    self._changed.wait(wait)
                alarm = heapq.heappop(self._due)[2]
            again = alarm.ring()
            if again is not None:
                self.wind(alarm, again)


_CLOCK = AlarmClock()
os.register_at_fork(after_in_child=_CLOCK.begin)


def _in_kernel(frame: FrameType | None) -> bool:
    """Return whether *frame* belongs to a kernel or to a function that it calls, and not to a function that mlusim calls."""
    if frame is None or is_own(frame):
        return False
    while frame is not None and not is_own(frame):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name in ENTRIES


def _raise_in(thread: int, kind: type[BaseException]) -> None:
    """Raise *kind* in *thread* at one of its next bytecodes, instead of any exception still pending there."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind))


def _let_pass(thread: int, kind: type[BaseException]) -> None:
    """Raise here the exception that is pending in *thread*, the caller's own.

    Withdrawing it would leave CPython 3.11 with a flag set permanently, and a traced function with that flag never
    gets beyond its first line.
    """
    try:
        _raise_in(thread, kind)
        for _ in range(LOOKS):
            pass
    except kind:
        pass
