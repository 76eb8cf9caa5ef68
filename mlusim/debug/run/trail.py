"""`Trail`: the statements that one core executed in a run, with the values that they assigned, and the scalars that they loaded."""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Mapping
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from attrs import define, field

from mlusim.bangc.runtime.layouts import FieldPointer, Object
from mlusim.bangc.runtime.pointers import Items
from mlusim.bangc.runtime.variables import Cell
from mlusim.debug.source import c_pieces
from mlusim.debug.source.frames import kernel_frames, name_of, owner_of
from mlusim.debug.source.pieces import FunctionPieces, SourcePiece, pieces_of
from mlusim.debug.stop.stops import Position, Stopper, Tracing
from mlusim.kernel_frames import SCOPES
from mlusim.machine.hub import Effect
from mlusim.memory.footprint import Access
from mlusim.memory.pointer import Ptr

if TYPE_CHECKING:
    from mlusim.debug.run.tracer import Tracer
    from mlusim.machine.core import Core

LEFT = 32  # functions that have returned last, through which a fault may have passed
ITEMS = 64  # elements of an array in registers that are recorded
EVENTS = 400_000  # statements that are recorded; about 300 bytes each


class Began(NamedTuple):
    """The begin of a statement in the activation ``where``; without a ``piece``, the return of ``value`` from it.

    It is ``lines`` lines after ``moment``.  ``changes`` are the values of variables to which the statement before it,
    in the same activation, may have written.
    """

    where: int
    piece: SourcePiece | None
    moment: int
    lines: int
    changes: Mapping[str, Any]
    value: Any = None


class LoadedBytes(NamedTuple):
    """The bytes that a scalar load, or another instruction, read in the activation ``where``; ``after`` is how many statements had begun."""

    after: int
    where: int
    moment: int
    access: Access
    owner: str | None
    raw: bytes


@define(eq=False)
class Activation:
    """A call of a function: the statement ``called`` of the activation ``parent`` made it; -1 for none.

    ``events`` are the numbers of its statements in the trail.  ``whole`` is true if it began in the trail.
    """

    function: FunctionPieces
    parent: int
    called: int
    whole: bool
    events: list[int] = field(factory=list)
    shadow: dict[str, Any] = field(factory=dict)
    last: SourcePiece | None = None


@define(eq=False)
class TrailEnd:
    """The point of a trail from which a search starts: the activation of the frame in focus, -1 if it is not in the trail.

    ``before`` is the statement in progress, or the number of the next one if none is; ``coming`` is the statement
    that begins with the current line, ``held`` are the values of the frame's locals.
    """

    where: int
    before: int
    coming: SourcePiece | None
    held: Mapping[str, Any]


class Trail(Stopper):
    """Records the core *label* in a run: ``events`` in their order, ``activations`` by number, ``loads``.

    It never stops the run.  At the line *until* it ends, and ``standing`` is the point of the frame *level* then: a
    pause inside of a trace function would keep other code in the thread from being traced.  If there are too many
    statements the older half is dropped, and ``cut`` is set.  With *every* all variables are recorded at each
    statement, since they may be changed by hand.
    """

    lines = True  # the window of the run determines the beginning of the trail

    def __init__(
        self, label: str, until: Position | None = None, level: int = 0, *, every: bool = False
    ) -> None:
        self.label = label
        self._every = every
        self.standing: TrailEnd | None = None
        self._until, self._level = until, level
        self.events: list[Began] = []
        self.activations: list[Activation] = []
        self.loads: list[LoadedBytes] = []
        self.cut = False
        self.core: Core | None = None
        self._tracer: Tracer | None = None
        self._active: dict[FrameType, int] = {}
        self._left: deque[tuple[FrameType, int]] = deque(maxlen=LEFT)
        self._functions: dict[CodeType, FunctionPieces | None] = {}

    def begin(self, tracer: Tracing) -> None:
        """Listen to the run of *tracer*."""
        self._tracer = tracer  # type: ignore[assignment]

    def follows_lines(self, core: "Core | None") -> bool:
        """Return whether *core* is recorded; other cores count if changes by hand belong to lines."""
        return self._every or self.follows_instructions(core)

    def follows_instructions(self, core: "Core | None") -> bool:
        """Return whether *core* is the recorded one."""
        return core is not None and name_of(core) == self.label

    def at_line(self, core: "Core | None", frame: FrameType, _tracer: Tracing, _entered: bool) -> str | None:
        """Note that the end of the trail is reached; never stop."""
        here, until = self._tracer, self._until
        if here is None or until is None or core is None or self.standing is not None:
            return None
        if (here.moment, here.lines) == (until.moment, until.lines) and name_of(core) == self.label:
            self.standing = self.stand(list(kernel_frames(frame)), self._level, line=True)
        return None

    def stand(self, stack: list[FrameType], level: int, *, line: bool = False) -> TrailEnd:
        """Return the point of frame *level* of *stack*: before a *line* that has not begun, or inside a statement."""
        frame = stack[min(level, len(stack) - 1)] if stack else None
        where = -1
        if frame is not None:  # after a fault, the frame has been left
            where = self._active.get(frame, next((n for one, n in self._left if one is frame), -1))
        if frame is None or where < 0:
            return TrailEnd(where, len(self.events), None, {})
        active = self.activations[where]
        fresh = line and level == 0
        coming = active.function.begins.get(frame.f_lasti) if fresh else None
        begun = [n for n in active.events[-2:] if self.events[n].piece is not None]
        before = len(self.events) if fresh or not begun else begun[-1]
        held = {name: seen(value) for name, value in frame.f_locals.items()}
        return TrailEnd(where, before, None if coming is None else coming[0], held)

    def at_instruction(self, core: "Core", frame: FrameType) -> None:
        """Record the statement that a Python instruction in *frame* begins, if it begins one."""
        if self.standing is not None:
            return
        number = self._active.get(frame)
        if number is None:
            number = self._enter(core, frame)
        if number < 0:
            return
        active = self.activations[number]
        begun = active.function.begins.get(frame.f_lasti)
        if begun is None or (begun[0] is active.last and not begun[1]):
            return
        self._note(number, active, begun[0], frame)

    def at_return(self, frame: FrameType, value: Any) -> None:
        """Record the value that the function of *frame* returns."""
        number = self._active.pop(frame, -1)
        self._left.append((frame, number))
        if number >= 0 and self.standing is None:
            self._note(number, self.activations[number], None, frame, value)

    # -- recording -------------------------------------------------------------------------------

    def _enter(self, core: "Core", frame: FrameType) -> int:
        self.core = core
        code = frame.f_code
        if code not in self._functions:
            self._functions[code] = _function(frame)
        function = self._functions[code]
        if function is None:
            self._active[frame] = -1
            return -1
        parent = called = -1
        for outer in kernel_frames(frame.f_back):
            parent = self._active[outer] if outer in self._active else self._enter(core, outer)
            if parent >= 0:
                events = self.activations[parent].events
                called = events[-1] if events else -1
                break
        number = self._active[frame] = len(self.activations)
        whole = frame.f_lasti <= min(function.begins, default=0)
        self.activations.append(Activation(function, parent, called, whole))
        return number

    def _note(
        self, number: int, active: Activation, piece: SourcePiece | None, frame: FrameType, value: Any = None
    ) -> None:
        held, changes = frame.f_locals, {}
        function, shadow = active.function, active.shadow
        names: Iterable[str] = () if active.last is None else active.last.names
        for name in function.named if self._every or not active.events else names:
            if name in held:
                raw = held[name]
                shadow[name] = changes[name] = raw if name in function.leading else seen(raw)
        for name, key in function.looked_at:
            if name in held and key not in changes:
                now = seen(held[name])
                if key not in shadow or shadow[key] != now:
                    shadow[key] = changes[key] = now
        active.events.append(len(self.events))
        active.last = piece
        at = (0, 0) if self._tracer is None else (self._tracer.moment, self._tracer.lines)
        self.events.append(Began(number, piece, *at, changes, value))
        if len(self.events) >= EVENTS:
            self._forget()

    def _forget(self) -> None:
        """Drop the older half of the statements."""
        half = len(self.events) // 2
        del self.events[:half]
        for active in self.activations:
            gone = bisect_left(active.events, half)
            active.whole = active.whole and not gone
            active.events = [n - half for n in active.events[gone:]]
            active.called = active.called - half if active.called >= half else -1
        self.loads = [load._replace(after=load.after - half) for load in self.loads if load.after > half]
        self.cut = True

    def loaded(self, effect: Effect, frame: FrameType | None) -> None:
        """Record the bytes that *effect*, issued by a statement in *frame*, reads."""
        where = -1 if frame is None else self._active.get(frame, -1)
        if where < 0 or self._tracer is None or self.standing is not None:
            return
        for access in effect.reads:
            small = access.size <= 8 and not access.steps
            raw = access.allocation.raw[access.start : access.start + access.size].tobytes() if small else b""
            owner = owner_of(effect.core, access.allocation)
            self.loads.append(LoadedBytes(len(self.events), where, self._tracer.moment, access, owner, raw))


def _function(frame: FrameType) -> FunctionPieces | None:
    """Return the pieces of the function of *frame*; None if there is no source for it."""
    scopes = frame.f_globals.get(SCOPES)
    if scopes is None:
        return pieces_of(frame.f_code)
    function = scopes.function(frame.f_code)
    return None if function is None else c_pieces.pieces_of(function.function, frame.f_code)


def seen(raw: Any) -> Any:
    """Return a copy of a variable's current value: the content of a cell, or the members of a struct."""
    kind = raw.__class__
    if kind is int or kind is float or kind is Ptr:
        return raw
    if isinstance(raw, Cell):
        return seen(raw.v)
    if isinstance(raw, Object):
        return {name: seen(value) for name, value in vars(raw).items() if value is not raw}
    if isinstance(raw, Items) and len(raw.items) <= ITEMS:
        return {f"[{n - raw.offset}]": seen(value) for n, value in enumerate(raw.items)}
    if isinstance(raw, FieldPointer):
        return seen(getattr(raw.owner, raw.name))
    return raw
